"""A short run of random programs, and that it would find what is wrong."""

import statistics
import sys
from collections import Counter

import pytest

from tests.programs.bugs import programs_until_found
from tests.programs.check import Tally, TooSlow, Verdict, check, patience, performed
from tests.programs.compare import difference
from tests.programs.constructs import WANTED, constructs, statements
from tests.programs.plants import PLANTS, planted
from tests.programs.program import SETS, Generator
from tests.programs.routes import EAGER, available
from tests.programs.shrink import Shrinker, as_file

COUNT = 12  # programs; the command runs as many as one likes
CALLS = [(index, 0) for index in range(SETS)]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("route", [n for n in available() if n != "eager"])
def test_a_captured_program_does_what_python_does(route):
    tally, generator = Tally(), Generator(1)
    for number in range(COUNT):
        check(number, generator.make(number), [route], tally)
    assert not tally.failures, f"{tally.failures[0].verdict}\n{tally.failures[0].program.text}"


def test_programs_are_what_was_asked_for():
    made = [Generator(2).make(number) for number in range(150)]
    assert statistics.median(statements(program.text) for program in made) >= 10
    uses = Counter(name for program in made for name in constructs(program.text))
    assert {name: uses[name] for name in WANTED if not uses[name]} == {}


def lines_of(program) -> list[Counter]:
    """Which lines each set of arguments runs, and how often."""
    loaded, found = program.load(), []
    for index in range(SETS):
        lines: Counter = Counter()

        def step(frame, event, argument, lines=lines):
            if frame.f_code.co_filename != program.file:
                return None
            lines[frame.f_lineno] += event == "line"
            return step

        arguments = program.arguments(index, 0, loaded)
        sys.settrace(step)
        try:
            loaded.function(*arguments)
        except Exception:  # as in Python: a few do
            pass
        finally:
            sys.settrace(None)
        found.append(lines)
    return found


def test_arguments_lead_along_different_paths():
    made = [Generator(2).make(number) for number in range(30)]
    paths = [len({frozenset(c.items()) for c in lines_of(p)}) for p in made]
    assert sum(n >= 2 for n in paths) >= 0.8 * len(made)
    assert sum(n == SETS for n in paths) >= 0.5 * len(made)


def test_a_number_is_a_program():
    assert Generator(3).make(5) == Generator(3).make(5)


def test_python_twice_is_the_same():
    for number in range(10):
        program = Generator(4).make(number)
        one, other = (performed(program, EAGER, CALLS) for _ in range(2))
        assert [difference(a, b) for a, b in zip(one, other, strict=True)] == [None] * len(one)


def shows(program, what, expected) -> bool:
    """Whether a bug changes what a program does."""
    broken = planted(program, what)
    if broken is None:
        return False
    try:
        with patience(0.5):
            found = performed(broken, EAGER, CALLS)
    except TooSlow:
        return True
    return any(difference(a, b) is not None for a, b in zip(expected, found, strict=False))


def test_a_bug_of_a_converter_is_found():
    left = dict.fromkeys(PLANTS)
    for number in range(200):
        program = Generator(5).make(number)
        if not any(planted(program, what) for what in left):
            continue
        expected = performed(program, EAGER, CALLS)
        for what in list(left):
            if shows(program, what, expected):
                del left[what]
        if not left:
            break
    assert not left


# The others take more programs: `python -m tests.programs --bugs`.
@pytest.mark.parametrize(
    "what",
    [
        "if: its sides swapped",
        "comparison: only the start of a chain",
        "-=: taken for +=",
        "for: the last statement lost",
    ],
)
def test_a_bug_planted_in_a_converter_of_ours_is_found(what):
    assert programs_until_found(what, "script", seed=8, most=8) is not None


def test_what_fails_becomes_small():
    what = "ternary: swapped"
    fails = lambda p: shows(p, what, performed(p, EAGER, CALLS))  # noqa: E731
    program = next(p for p in Generator(6).programs(100) if fails(p))
    small = Shrinker(program, fails, seconds=20).run()
    assert fails(small)
    assert statements(small.text) <= 6
    compile(as_file(small, "script", Verdict("wrong", "here", (1, 0))), "small", "exec")
