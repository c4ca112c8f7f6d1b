"""Runs a case of the corpus through jit.script or another route, beside eager, on all its sets with one object."""

import contextlib
import copy
import io
import sys
from dataclasses import dataclass, field
from typing import Any

import thixo as tx
from tests.capture.corpus import Case, snapshot
from tests.capture.corpus.registry import SEED, require_grad
from tests.capture.test_traced_corpus import compare, gradients, leaves


@dataclass
class Outcome:
    """What happened to one case."""

    refused: str | None = None
    graphs: int = 0
    results: list[Any] = field(default_factory=list)


@dataclass
class Turn:
    """One call: what it returned, printed, changed."""

    result: Any
    printed: str
    arguments: Any
    after: Any
    globals: dict[str, Any]
    numbers: Any


def turns(case: Case, through) -> list[Turn]:
    """All sets of a case, one after the other, on one object; globals are put back afterwards."""
    target = case.callable()
    called = through(target)
    owner = getattr(target, "__self__", target)
    scope = vars(sys.modules[case.function.__module__])
    kept = {name: copy.deepcopy(scope[name]) for name in case.changes}
    found = []
    try:
        for index in range(len(case.sets)):
            arguments = case.arguments(index)
            for where in case.grad:
                require_grad(arguments, where)
            printed = io.StringIO()
            tx.manual_seed(SEED + 2)
            with contextlib.redirect_stdout(printed):
                result = called(*arguments.args, **arguments.kwargs)
            left = {name: copy.deepcopy(scope[name]) for name in case.changes}
            state = (None if case.build is None else owner, arguments.args, arguments.kwargs)
            numbers = snapshot(tx.get_rng_state())
            found.append(Turn(result, printed.getvalue(), arguments, state, left, numbers))
            found[-1].after = [copy_of(x) for x in leaves(state)]
    finally:
        scope.update(kept)
    return found


def copy_of(x):
    return x.detach().clone() if isinstance(x, tx.Tensor) else x


def check(case: Case, through=tx.jit.script) -> str | None:
    """Compare script, or another route, with eager; the refusal, if it was refused. An AssertionError says what is wrong."""
    expected = turns(case, lambda target: target)
    try:
        found = turns(case, through)
    except tx.errors.CaptureError as error:
        return str(error)
    agree(case, found, expected)
    return None


def agree(case: Case, found: list[Turn], expected: list[Turn]) -> None:
    """All that can be seen of the calls is the same."""
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        try:
            compare(list(leaves(one.result)), list(leaves(other.result)))
            same_kinds(one.result, other.result)
            assert one.printed == other.printed
            compare(one.after, other.after)
            assert one.numbers == other.numbers, "other random numbers were drawn"
            compare(list(leaves(one.globals)), list(leaves(other.globals)))
            if case.grad and not case.mutates:
                compare(gradients(case, one), gradients(case, other))
        except AssertionError as error:
            raise AssertionError(f"set {index}: {error}") from error


def same_kinds(found, expected) -> None:
    """The same classes all through: a number is no tensor."""
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert type(one) is type(other), f"{type(one).__name__} in place of {type(other).__name__}"
