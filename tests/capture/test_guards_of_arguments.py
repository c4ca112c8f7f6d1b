"""What a captured function was handed, and what it assumed of that: a later call with other arguments is another program."""

from collections.abc import Callable
from typing import Any

import pytest

import thixo as tx
from thixo.errors import CaptureError

F = tx.nn.functional
both = pytest.mark.parametrize("capture", [tx.compile, tx.jit.script])


def x() -> Any:
    return tx.tensor([1.0, 2.0])


def agrees(capture: Callable[..., Any], f: Callable[..., Any], *calls: Callable[[], Any]) -> None:
    """Call by call the same as the plain function; `calls` make the arguments, anew for each of the two."""
    captured = capture(f)
    for make in calls:
        assert str(captured(*make())) == str(f(*make()))


@both
def test_empty_containers_are_no_others(capture: Any) -> None:
    empty = lambda: ([], x())  # noqa: E731
    agrees(
        capture, lambda a, x: x + sum(a), empty, empty, empty,
        lambda: ([5], x()), lambda: ((5, 6), x()), lambda: ({}, x()), lambda: ({3: 1}, x()), empty,
    )  # fmt: skip


@both
def test_default_that_is_empty(capture: Any) -> None:
    def f(x: Any, hist: Any = None) -> Any:
        return tx.stack(hist).sum(0) + x if hist else x

    agrees(capture, f, *[lambda: (x(), [])] * 3, lambda: (x(), [x()]), lambda: (x(), [x(), x()]))


@both
def test_operators_that_are_handed_over(capture: Any) -> None:
    agrees(capture, lambda act, x: act(x), lambda: (F.relu, -x()), lambda: (F.gelu, -x()))
    agrees(capture, lambda op, x: op([x, x]), lambda: (tx.stack, x()), lambda: (tx.cat, x()))


@both
def test_methods_of_tensors_that_are_handed_over(capture: Any) -> None:
    tensors = [tx.tensor([a, 1.0]) for a in (1.0, 2.0, 3.0)]
    calls = [lambda t=t: (t.sum, x()) for t in tensors]
    agrees(capture, lambda t, x: x * t(), *calls, *calls)


@both
def test_one_list_that_is_handed_over_twice(capture: Any) -> None:
    def f(d: Any, e: Any, x: Any) -> Any:
        d.append(x)
        return len(e)

    def same() -> Any:
        one: list[Any] = []
        return one, one, x()

    def other() -> Any:
        return [], [], x()

    agrees(capture, f, same, other, other, other, same, other)


@both
def test_an_argument_that_is_found_outside_too(capture: Any) -> None:
    outside = [1.0]

    @capture
    def f(a: Any, x: Any) -> Any:
        a.append(2.0)
        return x * sum(outside)

    for _ in range(3):
        assert f([], x()).tolist() == [1, 2]
    if capture is tx.jit.script:
        with pytest.raises(CaptureError, match="another path leads to that object"):
            f(outside, x())
    else:
        assert f(outside, x()).tolist() == [3, 6]
        assert f([], x()).tolist() == [3, 6]


class Holder:
    def __init__(self, v: Any) -> None:
        self.v = v


@both
def test_objects_that_are_one(capture: Any) -> None:
    def f(o: Any, p: Any, x: Any) -> Any:
        o.v = x * 2
        return p.v

    def other() -> Any:
        return Holder(0), Holder(x() * 9), x()

    def same() -> Any:
        one = Holder(x() * 9)
        return one, one, x()

    agrees(capture, f, other, other, same, other)
    agrees(capture, f, same, same, other, same)


@both
def test_attributes_that_were_one_object(capture: Any) -> None:
    one = Holder(2.0)
    pair = Holder(None)
    pair.a = pair.b = one  # type: ignore[attr-defined]

    @capture
    def f(x: Any) -> Any:
        return x * pair.a.v + pair.b.v  # type: ignore[attr-defined]

    for _ in range(3):
        assert f(x()).tolist() == [4, 6]
    pair.b = Holder(5.0)  # type: ignore[attr-defined]
    assert f(x()).tolist() == [7, 9]
    one.v = 3.0
    assert f(x()).tolist() == [8, 11]
