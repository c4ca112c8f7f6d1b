"""The ways to capture a program, those that are there, and what each promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import thixo as tx


@dataclass(frozen=True)
class Route:
    """One way: `make` gives, of a function and arguments like those to come, what is called in its place."""

    name: str
    make: Callable[[Any, list[Any]], Callable[..., Any]]
    may_refuse: bool  # an error of capture is an answer
    loose: bool = False  # Python's numbers may come out as tensors
    each_set: bool = (
        False  # made anew for each set of arguments, and for programs without effects alone
    )


def _eager(f: Any, arguments: list[Any]) -> Callable[..., Any]:
    return f


def _trace(f: Any, arguments: list[Any]) -> Callable[..., Any]:
    return tx.jit.trace(f, tuple(arguments))


def _script(f: Any, arguments: list[Any]) -> Callable[..., Any]:
    return tx.jit.script(f)


def _compile(f: Any, arguments: list[Any]) -> Callable[..., Any]:
    return tx.compile(f)


def _lazy(f: Any, arguments: list[Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        before = tx.get_mode()
        tx.set_mode("lazy")
        try:
            return f(*args)
        finally:
            tx.set_mode(before)

    return call


EAGER = Route("eager", _eager, may_refuse=False)
ROUTES = {
    route.name: route
    for route in (
        EAGER,
        Route("trace", _trace, may_refuse=True, each_set=True),
        Route("script", _script, may_refuse=True),
        Route("compile", _compile, may_refuse=False),
        Route("lazy", _lazy, may_refuse=False),
    )
}


def available() -> list[str]:
    """The routes that this version has."""
    has = {
        "script": hasattr(tx.jit, "script"),
        "compile": _has("compile"),
        "lazy": _has("set_mode"),
    }
    return [name for name in ROUTES if has.get(name, True)]


def _has(name: str) -> bool:
    try:
        return callable(getattr(tx, name))
    except AttributeError:
        return False


def is_refusal(error: BaseException) -> bool:
    """Whether it is a public error of capture, which says that something cannot be captured."""
    kinds = (tx.errors.TraceError, getattr(tx.errors, "ScriptError", tx.errors.TraceError))
    kinds = (*kinds, getattr(tx.errors, "CaptureError", tx.errors.TraceError))
    # A number of Python's that does not fit 64 bits is noticed when it is computed.
    return isinstance(error, (*kinds, OverflowError))
