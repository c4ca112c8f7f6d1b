"""Users' objects in code that is not written in Python: print, "%", math.sqrt, hash, list.index call their special methods.

Such code gets a stand-in for the object, whose special methods run the user's as captured code, so what they read is noted.
"""

from __future__ import annotations

import dataclasses
import operator
from collections import deque
from enum import Enum
from types import FunctionType
from typing import Any

from thixo import _core
from thixo.capture.frames import current
from thixo.capture.held import BUFFERS, LIBRARIES, is_value
from thixo.capture.paths import path_of
from thixo.capture.refusal import Refused
from thixo.capture.values import Maybe, Symbolic, Text
from thixo.symbolic import Dim

_SPECIAL = (
    "index int float complex abs round trunc floor ceil divmod rdivmod bool len hash eq ne lt le gt ge "
    "contains getitem iter reversed format add radd sub rsub mul rmul truediv rtruediv pow rpow neg"
).split()
_GROUPS = (list, tuple, dict, set, frozenset, deque)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def special(x: Any, name: str) -> Any:
    """A special method that is written in Python, of a user's class; None for all others."""
    kind = type(x)
    if kind.__module__ == "builtins" or isinstance(x, _core.Tensor | Dim | Symbolic | Maybe | type):
        return None
    found = getattr(kind, f"__{name}__", None)
    if not isinstance(found, FunctionType):
        return None
    return None if (found.__module__ or "").partition(".")[0] in LIBRARIES else found


def is_told(x: Any, depth: int = 0) -> bool:
    """Whether code of its class says how an object is shown or compared, or that of something in it."""
    kind = type(x)
    if kind in _GROUPS or (isinstance(x, _GROUPS) and kind.__module__ == "collections"):
        parts = (*x, *x.values()) if isinstance(x, dict) else x
        return depth < 20 and any(is_told(e, depth + 1) for e in parts)
    if isinstance(x, BaseException):
        return path_of(current(), x) is not None  # what is in it is not looked at
    if kind.__module__ == "builtins" or isinstance(x, _core.Tensor | Dim | Symbolic | Maybe | Enum):
        return False
    if isinstance(x, type | StandIn | BUFFERS | _core.Size) or is_value(x):
        return False
    if isinstance(x, _PLAIN) or (isinstance(x, tuple) and not is_told(tuple(x))):
        return any(special(x, name) for name in ("repr", "str", "format", "eq", "hash"))
    return not kind.__module__.startswith("thixo") or hasattr(x, "__dict__")


class StandIn:
    """An object for code that is not written in Python."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def __repr__(self) -> str:
        return _plain_text(show(self._own, "r"))

    def __str__(self) -> str:
        return _plain_text(show(self._own, "s"))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        from thixo.capture.operators import compare

        if not isinstance(other, StandIn):
            return NotImplemented
        for x in (self._own, other._own):
            if type(x).__eq__ is not object.__eq__ and special(x, "eq") is None:
                raise Refused(
                    f"== of a {type(x).__name__}",
                    "it is not known what it does",
                    "compare its parts",
                )
        return bool(compare("is", self._own, other._own))

    __hash__ = object.__hash__


def _plain_text(made: Any) -> str:
    if isinstance(made, Text):
        raise Refused(
            "text", "it is that of an object which holds tensors", "show them by themselves"
        )
    return str(made)


def _class_for(kind: type) -> type:
    from thixo.capture.callees import call_function

    def forward(method: Any) -> Any:
        def called(self: Any, *args: Any) -> Any:
            given = [a._own if isinstance(a, StandIn) else a for a in args]
            return call_function(method, (self._own, *given), {})

        return called

    body: dict[str, Any] = {}
    for name in _SPECIAL:
        method = getattr(kind, f"__{name}__", None)
        if isinstance(method, FunctionType):
            body[f"__{name}__"] = forward(method)
        elif issubclass(kind, _PLAIN) and method is not getattr(object, f"__{name}__", None):
            body[f"__{name}__"] = _native(method)
    body.setdefault("__hash__", StandIn.__hash__)
    return type(kind.__name__, (StandIn,), body)


def _native(method: Any) -> Any:
    """A method that the class of a number or a text has from Python's own, whose value is assumed."""
    return lambda self, *args: method(
        self._own, *(a._own if isinstance(a, StandIn) else a for a in args)
    )


def stand_in(x: Any, known: dict[int, Any] | None = None) -> Any:
    """What code that is not written in Python gets for an object; a container gets one for what is in it.

    `known` are those that there are: one object has one.
    """
    if not is_told(x):
        return x
    known = {} if known is None else known
    kind = type(x)
    if kind is dict:
        return {k: stand_in(v, known) for k, v in x.items()}
    if kind in _GROUPS:
        return kind(stand_in(e, known) for e in x)
    if id(x) not in known:
        known[id(x)] = _class_for(kind)(x)
    return known[id(x)]


def call_told(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Call code that is not written in Python, for a plain result."""
    known: dict[int, Any] = {}
    made = f(
        *(stand_in(a, known) for a in args), **{k: stand_in(v, known) for k, v in kwargs.items()}
    )
    if not isinstance(made, _PLAIN) and not (
        type(made) is tuple and all(isinstance(e, _PLAIN) for e in made)
    ):
        what = getattr(f, "__name__", "a call")
        raise Refused(what, "it gets an object whose class has code of its own", "call its methods")
    return made


def whole_number(x: Any) -> Any:
    """A user's object as the whole number that it stands for, where it stands for one."""
    return operator.index(stand_in(x)) if special(x, "index") is not None else x


def show(x: Any, how: str) -> Any:
    """`str(x)` or `repr(x)`."""
    from thixo.capture.callees import call_function

    forms: dict[str, Any] = {"s": str, "r": repr, "a": ascii}
    if not is_told(x):
        return forms[how](x)
    if type(x) in _GROUPS or how == "a":
        return forms[how](stand_in(x))
    if isinstance(x, tuple) and hasattr(x, "_fields") and special(x, "repr") is None:
        parts = [f"{n}={_plain_text(show(e, 'r'))}" for n, e in zip(x._fields, x, strict=True)]
        return f"{type(x).__name__}({', '.join(parts)})"
    method = special(x, "str") if how == "s" else None
    method = special(x, "repr") if method is None else method
    if method is None:
        raise Refused(
            f"text of a {type(x).__name__}",
            "it says where it lies in memory, or what no graph looks at",
            "give its class a __repr__",
        )
    if (
        method.__name__ == "__repr__"
        and hasattr(method, "__wrapped__")
        and dataclasses.is_dataclass(x)
    ):
        return _as_dataclass(x)
    return call_function(method, (x,), {})


def _as_dataclass(x: Any) -> Any:
    """The text that a dataclass has without writing it."""
    from thixo.capture.attributes import attr
    from thixo.capture.effects import shown, text

    parts: list[Any] = []
    for field in dataclasses.fields(x):
        if field.repr:
            parts += [
                ", " if parts else "",
                f"{field.name}=",
                shown(attr(x, field.name), ord("r"), ""),
            ]
    return text(f"{type(x).__qualname__}(", *parts, ")")


def formatted(x: Any, spec: Any) -> Any:
    """`format(x, spec)`"""
    from thixo.capture.callees import call_function

    method = special(x, "format")
    if method is not None:
        return call_function(method, (x, spec), {})
    if type(x) in _GROUPS and spec:
        return format(x, spec)  # raises
    return show(x, "s") if not spec else format(x, spec)
