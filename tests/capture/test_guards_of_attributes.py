"""Attributes that a captured function looked at: of tensors, by patterns, and what a tensor says of its memory."""

from typing import Any

import pytest

import thixo as tx
from tests.capture.test_guards_of_arguments import agrees, both, x


class Point:
    __match_args__ = ("c", "d")

    def __init__(self, c: Any, d: Any = None) -> None:
        self.c, self.d = c, d


@both
def test_patterns_look_at_attributes(capture: Any) -> None:
    def f(p: Any, x: Any) -> Any:
        match p:
            case Point(c=0):
                return x
            case Point(c=1, d=Point(d)) if d > 3:
                return x * d
            case [Point(2), *_]:
                return x * 5
            case _:
                return x * 9

    points = [
        Point(0),
        Point(1, Point(4)),
        Point(1, Point(5)),
        Point(1, Point(2)),
        [Point(2)],
        [Point(3)],
        Point(0),
    ]
    agrees(capture, f, *[lambda p=p: (p, x()) for p in points])


@both
def test_patterns_look_at_objects_outside(capture: Any) -> None:
    point = Point(0)

    @capture
    def f(x: Any) -> Any:
        match point:
            case Point(c=0):
                return x
            case Point(c=n):
                return x * n

    for c in (0, 0, 0, 3, 4):
        point.c = c
        assert f(x()).tolist() == (x() * (c or 1)).tolist()


def with_scale(t: Any, scale: Any) -> Any:
    t.scale = scale
    return t


@both
def test_attributes_that_python_hangs_on_tensors(capture: Any) -> None:
    def f(x: Any) -> Any:
        return x * x.scale if hasattr(x, "scale") else x + 1

    agrees(
        capture, f, *[lambda: (x(),)] * 3, lambda: (with_scale(x(), 3.0),), lambda: (with_scale(x(), 4.0),),
        lambda: (with_scale(x(), tx.tensor(2.0)),), lambda: (with_scale(x(), tx.tensor(5.0)),), lambda: (x(),),
    )  # fmt: skip


@both
def test_attributes_of_parameters(capture: Any) -> None:
    weight = tx.nn.Parameter(tx.ones(2))
    weight.decay = 1.0  # type: ignore[attr-defined]
    decayed = capture(lambda x: (x * weight.decay * getattr(weight, "rate", 1.0)).detach())  # type: ignore[attr-defined]
    for decay in (1.0, 1.0, 1.0, 2.0):
        weight.decay = decay  # type: ignore[attr-defined]
        assert decayed(x()).tolist() == [decay, 2 * decay]
    weight.rate = 5.0  # type: ignore[attr-defined]
    assert decayed(x()).tolist() == [10, 20]
    agrees(
        capture, lambda p: p.detach() * (2 if isinstance(p, tx.nn.Parameter) else 3),
        lambda: (x(),), lambda: (tx.nn.Parameter(x()),), lambda: (x(),), lambda: (x().requires_grad_(),),
    )  # fmt: skip


SQUARE = tx.arange(4.0).reshape(2, 2)
LAID = [lambda: (SQUARE,)] * 3 + [lambda: (SQUARE.t(),), lambda: (SQUARE,), lambda: (SQUARE[1:],)]


@both
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2 if x.is_contiguous() else x - 1,
        lambda x: x * x.stride(0) + x.stride()[1],
        lambda x: x + x.storage_offset(),
        lambda x: x + x.nbytes,
    ],
)
def test_how_an_argument_lies_in_memory(capture: Any, f: Any) -> None:
    agrees(capture, f, *LAID, *LAID)


def test_how_a_result_lies_in_memory() -> None:
    def f(x: Any) -> Any:
        return x * 2 if x.t().is_contiguous() else x * 3

    agrees(tx.compile, f, *LAID)
    with pytest.raises(tx.errors.CaptureError, match="how a tensor of a graph lies in memory"):
        tx.jit.script(f)(SQUARE)


@both
def test_where_an_argument_is_from(capture: Any) -> None:
    leaf = x().requires_grad_()
    kept = leaf * 2
    kept.retain_grad()
    calls = [lambda: (x(),), lambda: (leaf,), lambda: (leaf * 2,), lambda: (kept,)]
    agrees(capture, lambda x: x.detach() * 2 if x.is_leaf else x.detach(), *calls, *calls)
    agrees(capture, lambda x: x.detach() * 2 if x.retains_grad else x.detach(), *calls, *calls)


def test_views_of_arguments() -> None:
    whole = tx.ones(4)
    agrees(
        tx.compile, lambda x: x if x._base is None else x * 3,
        *[lambda: (tx.ones(2),)] * 3, lambda: (whole[2:],), lambda: (tx.ones(2),),
    )  # fmt: skip


@both
def test_gradient_of_an_argument(capture: Any) -> None:
    t = x()
    f = capture(lambda x: x * x.grad if x.grad is not None else x.clone())
    for grad, expected in [(None, [1, 2])] * 3 + [([5.0, 6.0], [5, 12]), (None, [1, 2])]:
        t.grad = None if grad is None else tx.tensor(grad)
        assert f(t).tolist() == expected


class Doubled(tx.nn.Parameter):
    def twice(self) -> Any:
        return self * 2


@both
def test_methods_of_users_parameters(capture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Doubled(x()), Doubled(x() + 1)
    twice = lambda p: p.twice().detach()  # noqa: E731
    agrees(capture, twice, *[lambda: (one,)] * 3, lambda: (two,))
    f = capture(lambda x: (x * one.twice()).detach())
    for k in (2, 2, 2, 3):
        monkeypatch.setattr(Doubled, "twice", lambda self, k=k: self * k)
        assert f(x()).tolist() == [k, 4 * k]
