"""One program through one route beside plain Python, and what came of many."""

from __future__ import annotations

import contextlib
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.programs.compare import difference
from tests.programs.constructs import seen_in
from tests.programs.interpreted import interpreted
from tests.programs.observe import Loaded, Observation, observe
from tests.programs.program import Program
from tests.programs.routes import EAGER, ROUTES, Route, is_refusal
from thixo import _core
from thixo.errors import ArgumentError

PATIENCE = 60  # seconds of the processor for one program on one route


class Subject(Protocol):
    """A function that is captured and compared: a random program, or one that somebody wrote."""

    @property
    def calls(self) -> list[tuple[int, int]]: ...
    @property
    def rough(self) -> bool: ...
    @property
    def closed(self) -> bool: ...
    def load(self) -> Loaded: ...
    def arguments(self, index: int, variant: int, loaded: Loaded) -> list[Any]: ...


class TooSlow(BaseException):
    """A program that takes longer than any should."""


@dataclass
class Verdict:
    """What came of one program on one route."""

    kind: str  # same, refused, wrong, or skipped where the route promises nothing
    reason: str = ""
    call: tuple[int, int] | None = None


@dataclass
class Failure:
    """A program on which a route is wrong."""

    number: int
    program: Program
    route: str
    verdict: Verdict
    whole: bool = True


@dataclass
class Tally:
    """What was seen in a run."""

    programs: int = 0
    whole: int = 0  # of them through the whole compiler, the others with graphs interpreted
    sizes: list[int] = field(default_factory=list)
    constructs: Counter[str] = field(default_factory=Counter)
    refused: dict[str, Counter[str]] = field(default_factory=dict)  # constructs, by route
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    errors: int = 0  # programs that end with one in Python
    no_gradient: int = 0
    varied: int = 0  # programs whose sets of arguments take different paths
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("programs", "whole", "errors", "no_gradient", "varied"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sizes += other.sizes
        self.constructs += other.constructs
        self.verdicts += other.verdicts
        self.failures += other.failures
        for mine, theirs in ((self.refused, other.refused), (self.reasons, other.reasons)):
            for route, counts in theirs.items():
                mine.setdefault(route, Counter()).update(counts)


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """So much time of the processor, then TooSlow; modes of gradients are then as they were before.

    It comes between any two instructions, also inside of a mode's own `__enter__`, which no `with` undoes.
    """
    graded, inference = _core.is_grad_enabled(), _core.is_inference_mode()

    def stop(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except TooSlow:
        _core.set_grad_enabled(graded)
        _core.set_inference_mode(inference)
        raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def performed(
    subject: Subject, route: Route, calls: list[tuple[int, int]] | None = None
) -> list[Observation]:
    """The calls, one after the other, up to the first that ends with an error."""
    loaded = subject.load()
    seen: list[Observation] = []
    called: Any = None
    for number, (index, variant) in enumerate(subject.calls if calls is None else calls):
        loaded.before(number)
        if called is None:
            try:
                called = route.make(loaded.function, subject.arguments(index, variant, loaded))
            except Exception as error:
                return [Observation(error=error)]
        seen.append(observe(called, subject.arguments(index, variant, loaded), loaded))
        if seen[-1].error is not None:
            break
    return seen


def compared(
    subject: Subject,
    route: Route,
    calls: list[tuple[int, int]],
    expected: list[Observation] | None = None,
) -> Verdict:
    """The calls on a route beside Python's."""
    if expected is None:
        expected = performed(subject, EAGER, calls)
    found = performed(subject, route, calls)
    options = {"effects": not route.each_set, "loose": route.loose, "rough": subject.rough}
    for at, (one, other) in enumerate(zip(expected, found, strict=False)):
        if other.error is not None and type(other.error) is not type(one.error):
            fixed = route.each_set and isinstance(other.error, ArgumentError)
            if route.may_refuse and (is_refusal(other.error) or fixed):
                return Verdict("refused", f"{type(other.error).__name__}: {other.error}", calls[at])
        problem = difference(one, other, **options)
        if problem is not None:
            return Verdict("wrong", problem, calls[at])
    return Verdict("same")


def judge(subject: Subject, route: Route, expected: list[Observation] | None = None) -> Verdict:
    """One function on one route."""
    try:
        with warnings.catch_warnings(), patience(PATIENCE):
            warnings.simplefilter("ignore")
            if not route.each_set:
                return compared(subject, route, subject.calls, expected)
            return _judge_each(subject, route)
    except TooSlow:
        return Verdict("wrong", f"takes more than {PATIENCE} s")


def _judge_each(subject: Subject, route: Route) -> Verdict:
    """A capture for each set of arguments, where Python's run changes no Python object."""
    if not subject.closed:
        return Verdict("skipped")
    verdicts = []
    for index in sorted({index for index, _ in subject.calls}):
        calls = [(index, 0), (index, 1), (index, 0)]
        expected = performed(subject, EAGER, calls)
        if any(o.error or not o.pure for o in expected):
            verdicts.append(Verdict("skipped"))
            continue
        verdicts.append(compared(subject, route, calls, expected))
    order = ["wrong", "same", "refused", "skipped"]
    return min(verdicts, key=lambda verdict: order.index(verdict.kind))


def check(
    number: int, program: Program, routes: list[str], tally: Tally, whole: bool = True
) -> None:
    """A program through routes, with the whole compiler or graphs interpreted; what came of it goes into the tally."""
    names, size = seen_in(program.text)
    tally.programs += 1
    tally.whole += whole
    tally.constructs.update(names)
    tally.sizes.append(size)
    try:
        with warnings.catch_warnings(), patience(PATIENCE):
            warnings.simplefilter("ignore")
            expected = performed(program, EAGER)
    except TooSlow:
        tally.failures.append(Failure(number, program, "eager", Verdict("wrong", "never ends")))
        return
    tally.errors += expected[-1].error is not None
    tally.no_gradient += any(isinstance(o.gradients, str) for o in expected)
    for name in routes:
        with contextlib.nullcontext() if whole else interpreted():
            verdict = judge(program, ROUTES[name], expected)
        tally.verdicts[name, verdict.kind] += 1
        if verdict.kind == "refused":
            tally.refused.setdefault(name, Counter()).update(names)
            tally.reasons.setdefault(name, Counter())[_kind(verdict.reason)] += 1
        if verdict.kind == "wrong":
            tally.failures.append(Failure(number, program, name, verdict, whole))


def _kind(reason: str) -> str:
    """A message without its line and numbers, to be counted with others like it."""
    text = re.sub(r"0x\w+", "", reason.partition(" (<program")[0])
    return "".join("0" if c.isdigit() else c for c in text)[:90]
