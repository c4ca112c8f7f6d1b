"""Functions that come in the place of others after a capture: methods, functions of libraries, names of Python's own."""

import builtins
import math
from collections.abc import Callable
from typing import Any

import pytest

import thixo as tx
from tests.capture.test_guards_of_arguments import both, x

F = tx.nn.functional


def follows(capture: Any, f: Callable[[Any], Any], *changes: Callable[[], Any]) -> None:
    """After each change the captured function does what the plain one does; first it is served some times without one."""
    captured = capture(f)
    for change in [*[lambda: None] * 3, *changes]:
        change()
        for _ in range(3):
            assert str(captured(x())) == str(f(x()))


class Base:
    def inherited(self, x: Any) -> Any:
        return x


def made_class() -> Any:
    class Own(Base):
        def __init__(self) -> None:
            self.k = 1.0

        def method(self, x: Any) -> Any:
            return x * self.k

        def inherited(self, x: Any) -> Any:
            return super().inherited(x) * 2

        @staticmethod
        def static(x: Any) -> Any:
            return x

        @classmethod
        def of_class(cls, x: Any) -> Any:
            return x

        @property
        def number(self) -> float:
            return 2.0

        def __call__(self, x: Any) -> Any:
            return x * 1

        def __getitem__(self, i: int) -> float:
            return 1.0

        def __add__(self, other: Any) -> float:
            return 1.0

        def __len__(self) -> int:
            return 1

    return Own


CHANGES: dict[str, Any] = {
    "method": lambda self, x: x * 7,
    "static": staticmethod(lambda x: x * 7),
    "of_class": classmethod(lambda cls, x: x * 7),
    "number": property(lambda self: 7.0),
    "__call__": lambda self, x: x * 7,
    "__getitem__": lambda self, i: 7.0,
    "__add__": lambda self, other: 7.0,
    "__len__": lambda self: 7,
    "__init__": lambda self: setattr(self, "k", 7.0),
}


@both
@pytest.mark.parametrize("name", CHANGES)
def test_methods_of_a_class(capture: Any, name: str) -> None:
    cls = made_class()
    o = cls()

    def f(x: Any) -> Any:
        y = o.method(x) + cls.static(x) + cls.of_class(x) + x * o.number + o(x)
        return y + x * o[0] + x * (o + 1) + x * len(o) + cls().method(x)

    follows(capture, f, lambda: setattr(cls, name, CHANGES[name]))


@both
def test_methods_behind_super(capture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    o = made_class()()
    follows(
        capture, lambda x: o.inherited(x),
        lambda: monkeypatch.setattr(Base, "inherited", lambda self, x: x * 5),
    )  # fmt: skip


def times(k: float) -> Any:
    return lambda self, x: x * k


@both
def test_methods_of_one_object(capture: Any) -> None:
    cls = made_class()
    o = cls()
    follows(
        capture, lambda x: o.method(x),
        lambda: setattr(o, "method", lambda x: x * 3), lambda: delattr(o, "method"),
        lambda: setattr(cls, "method", times(4)), lambda: setattr(cls, "method", times(5)),
    )  # fmt: skip


@both
def test_forward_of_a_layer(capture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    net = tx.nn.Sequential(tx.nn.ReLU())
    follows(
        capture, lambda x: net(x),
        lambda: setattr(net[0], "forward", lambda x: x * 7), lambda: delattr(net[0], "forward"),
        lambda: monkeypatch.setattr(tx.nn.ReLU, "forward", lambda self, x: x * 3), monkeypatch.undo,
    )  # fmt: skip


@both
def test_functions_of_libraries(capture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        return F.relu(x) + tx.exp(x) * math.sqrt(4.0)

    for owner, name in ((F, "relu"), (tx, "exp"), (math, "sqrt")):
        follows(
            capture, f, lambda o=owner, n=name: monkeypatch.setattr(o, n, lambda x: x * 3), monkeypatch.undo
        )  # fmt: skip


def divided(x: Any) -> Any:
    return x * divmod(7, 2)[0]


@both
def test_names_of_python(capture: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    follows(
        capture, divided,
        lambda: monkeypatch.setitem(globals(), "divmod", lambda a, b: (9, 0)), monkeypatch.undo,
        lambda: monkeypatch.setattr(builtins, "divmod", lambda a, b: (8, 0)), monkeypatch.undo,
    )  # fmt: skip


@both
def test_own_gradients(capture: Any) -> None:
    class Double(tx.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    def f(x: Any) -> Any:
        y = Double.apply(x * weight)
        return y.detach(), tx.autograd.grad(y.sum(), weight)[0]

    weight = tx.ones(2).requires_grad_()
    follows(
        capture, f, lambda: setattr(Double, "backward", staticmethod(lambda ctx, g: g * 5)),
        lambda: setattr(Double, "forward", staticmethod(lambda ctx, x: x * 3)),
    )  # fmt: skip
