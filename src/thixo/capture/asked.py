"""What captured code asks of a tensor besides its values: how it lies in memory, and what Python code has hung on it.

Of a tensor from outside, the caller's own is asked, and the answer is assumed to stay. One that is made inside has no memory before
the program runs.
"""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType
from typing import Any

from thixo import _core
from thixo.capture.frames import current
from thixo.capture.gradients import path_of_tensor
from thixo.capture.open_numbers import read_number
from thixo.capture.paths import Assumed, Path, read
from thixo.capture.refusal import Refused

PLACED = ("is_leaf", "_base", "retains_grad")  # attributes that say where a tensor came from
_NOTHING = object()


class Answer:
    """Assumed: a tensor answers as it did."""

    def __init__(self, name: str, args: tuple[Any, ...] | None, answer: Any) -> None:
        self.name = name
        self.args = args  # of a method
        self.answer = answer

    def __call__(self, found: Any, leaves: list[Any]) -> bool:
        return isinstance(found, _core.Tensor) and _ask(found, self.name, self.args) == self.answer

    def __repr__(self) -> str:
        return f"{self.name} {self.answer!r}"


def _ask(x: Any, name: str, args: tuple[Any, ...] | None) -> Any:
    if name == "_base":
        return x._base is None
    if name == "class":
        return type(x)
    found = getattr(x, name)
    return found if args is None else found(*args)


def caller_of(x: Any) -> Any:
    """The caller's own tensor, where captured code has one that stands for it."""
    return current().callers.get(id(x), x)


def is_from(x: Any) -> bool:
    """Whether a tensor is from outside."""
    return path_of_tensor(current(), x) is not None


def answer(x: Any, name: str, args: tuple[Any, ...] | None = None) -> Any:
    """What a tensor answers, noted where it is from outside."""
    capture = current()
    path = path_of_tensor(capture, x)
    if path is None or x.ndim != caller_of(x).ndim:
        raise Refused(
            f".{name}", "how a tensor of a graph lies in memory is not part of it", "ask outside"
        )
    found = _ask(caller_of(x), name, args)
    key = (path.key, name, args)
    capture.guards.setdefault(key, Assumed(path, "holds", Answer(name, args, found)))
    return found


def method(name: str) -> Any:
    """A method of tensors that asks."""

    def ask(x: Any, *args: Any) -> Any:
        return answer(x, name, args)

    return ask


METHODS = {name: method(name) for name in ("is_contiguous", "stride", "storage_offset")}


def is_hung(x: Any, name: str) -> bool:
    """Whether an attribute is none of all tensors: Python code has set it, or has not."""
    owner = caller_of(x)
    return inspect.getattr_static(_core.Tensor, name, _NOTHING) is _NOTHING or name in vars(owner)


def hung(x: Any, name: str) -> Any:
    """An attribute that Python code has set on a tensor, or that its class has."""
    capture = current()
    path = path_of_tensor(capture, x)
    if path is None:
        return getattr(x, name)
    owner = caller_of(x)
    kind = inspect.getattr_static(type(owner), name, _NOTHING)
    if kind is not _NOTHING and name not in vars(owner):
        if not isinstance(kind, FunctionType):
            what = f"of a {type(owner).__name__}, whose class runs code"
            raise Refused(f".{name}", what, "call it outside")
        answer(x, "class")
        read(capture, Path(type(owner), type(owner).__name__).step("attr", name), kind)
        return MethodType(kind, x)
    way = path.step("attr", name)
    if not hasattr(owner, name):
        capture.guards.setdefault((way.key, "missing"), Assumed(way, "missing", name))
    return read_number(capture, way, getattr(owner, name))
