"""Lists whose elements may be missing (`values.is_ragged`): numbered, cut and changed where Python's places say."""

import functools
import operator
from collections.abc import Callable
from typing import Any

from thixo.capture.frames import current
from thixo.capture.numbers import OPERATORS, calculate
from thixo.capture.paths import look
from thixo.capture.values import Maybe, Number
from thixo.dtype import int64
from thixo.ops import public as tx

MOST = 12  # elements that may be missing: each is asked for by whoever goes over what is left


def _look(x: list[Any]) -> None:
    few = sum(isinstance(e, Maybe) for e in x) <= MOST
    look(current(), x, ragged=few)


def numbered(x: list[Any], start: Any) -> list[Any]:
    """`enumerate(x, start)`"""
    _look(x)
    found: list[Any] = []
    for place, e in zip(_places(x, start), x, strict=False):
        found.append(Maybe((place, e.value), e.flag) if isinstance(e, Maybe) else (place, e))
    return found


def can_be_cut(key: Any) -> bool:
    """Whether a slice has plain bounds, and takes every element between them."""
    return (
        isinstance(key, slice)
        and key.step in (None, 1)
        and all(b is None or type(b) is int for b in (key.start, key.stop))
    )


def cut(x: list[Any], key: slice) -> list[Any]:
    """`x[start:stop]`"""
    _look(x)
    before, after = _places(x, 0), _places(x[::-1], 0)[-2::-1]
    found = []
    for e, left, right in zip(x, before, after, strict=False):
        flags = [e.flag] if isinstance(e, Maybe) else []
        if key.start is not None:
            flags.append(
                _is(left, "ge", key.start) if key.start >= 0 else _is(right, "lt", -key.start)
            )
        if key.stop is not None:
            flags.append(
                _is(left, "lt", key.stop) if key.stop >= 0 else _is(right, "ge", -key.stop)
            )
        if any(flag is False for flag in flags):
            continue
        value = e.value if isinstance(e, Maybe) else e
        open_flags = [flag.tensor for flag in flags if flag is not True]
        there = functools.reduce(tx.logical_and, open_flags) if open_flags else None
        found.append(value if there is None else Maybe(value, Number("bool", there)))
    return current().made(found)


def _is(place: Any, op: str, bound: int) -> Any:
    return OPERATORS[op](place, bound) if isinstance(place, int) else calculate(op, place, bound)


def change(x: list[Any], name: str, args: Any) -> Any:
    """A function that changes a list as its method of this name does; None where it cannot be."""
    if name in ("reverse", "clear") or (name == "insert" and args[:1] == (0,)):
        return lambda: _changed(x, lambda: getattr(x, name)(*args))
    return (lambda: _popped(x)) if name == "pop" and not args else None


def _popped(x: list[Any]) -> Any:
    from thixo.capture.elements import item

    last = item(x, -1)
    keep(x, slice(None, -1))
    return last


def keep(x: list[Any], key: slice) -> None:
    """Let a list be a part of itself."""
    left = cut(x, key)
    _changed(x, lambda: operator.setitem(x, slice(None), left))


def put_at_end(x: list[Any], key: int, value: Any) -> None:
    """`x[0] = value` and `x[-1] = value`"""
    from thixo.capture.control import ifexp
    from thixo.capture.elements import item

    item(x, key)  # an IndexError where nothing is there
    made = []
    for e, place in zip(
        x, _places(x, 0) if key == 0 else _places(x[::-1], 0)[-2::-1], strict=False
    ):
        test, old = _is(place, "eq", 0), e.value if isinstance(e, Maybe) else e
        if test is False:
            made.append(e)
            continue
        new = value if test is True else ifexp(test, lambda: value, lambda o=old: o, None, None, ())
        made.append(Maybe(new, e.flag) if isinstance(e, Maybe) else new)
    _changed(x, lambda: operator.setitem(x, slice(None), made))


def _changed(x: list[Any], how: Callable[[], Any]) -> Any:
    _look(x)
    current().changing(x, grows=True)
    return how()


def _places(x: list[Any], start: Any) -> list[Any]:
    """How many elements there are before each, and at the end."""
    found = [start]
    for e in x:
        one = Number("int", tx.to(e.flag.tensor, int64)) if isinstance(e, Maybe) else 1
        place = found[-1]
        known = isinstance(place, int) and isinstance(one, int)
        found.append(place + one if known else calculate("add", place, one))
    return found
