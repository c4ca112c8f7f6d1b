"""Elements at run time: `x[key]` of tensors and containers, at places that Python or the data know, and unpacking."""

from collections import defaultdict
from typing import Any

from thixo import _core
from thixo.capture import control, operators, partial
from thixo.capture.builtin_sequences import iterate
from thixo.capture.callees import call, call_function
from thixo.capture.frames import current
from thixo.capture.items import indexed, row
from thixo.capture.journal import CONTAINERS
from thixo.capture.keys import pinned
from thixo.capture.numbers import as_tensor, weak
from thixo.capture.paths import look
from thixo.capture.ragged import can_be_cut, cut, keep, put_at_end
from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import whole_number
from thixo.capture.values import Choice, Mixed, Number, Symbolic, is_partial, is_ragged
from thixo.graph.trace import make_symbolic
from thixo.ops import public as tx


def slice_(*parts: Any) -> slice:
    """`a:b:c`"""
    for p in parts:
        if isinstance(p, Symbolic | _core.Tensor):
            raise Refused(
                "a slice", "its bounds are known only when the program runs", "use a mask"
            )
    return slice(*map(whole_number, parts))


def item(x: Any, key: Any) -> Any:
    """`x[key]`"""
    if isinstance(x, Choice):
        return operators.spread(x, lambda v: item(v, key))
    if isinstance(key, Choice):
        return operators.spread(key, lambda v: item(x, v))
    if isinstance(x, Mixed):
        x = operators.as_plain_tensor(x, "[...]")
    if isinstance(x, dict):
        key = pinned(key)
    elif isinstance(x, list | tuple | str | bytes | range | _core.Tensor):
        key = whole_number(key)
    if isinstance(x, _core.Tensor):
        place = _index(key)
        return row(x, place) if _is_one_place(place) else indexed(x, place)
    if is_ragged(x) and type(key) is int and key in (0, -1):
        look(current(), x, ragged=True)
        return _end_of(x if key == 0 else x[::-1])
    if is_ragged(x) and can_be_cut(key):
        return cut(x, key)
    if isinstance(x, dict) and is_partial(x) and not isinstance(key, Symbolic | _core.Tensor):
        return partial.item(x, key)
    look(current(), x)
    if isinstance(key, Number | _core.Tensor) and isinstance(x, list | tuple):
        return _chosen(x, key)
    if isinstance(key, Number | _core.Tensor) and isinstance(x, str) and 0 < len(x) <= 64:
        return Choice(list(x), _place(x, key).tensor)
    if isinstance(key, slice) and hasattr(x, "_modules") and hasattr(x, "forward"):
        return current().made(list(iterate(x))[key])  # layers of a list of layers
    method = operators._user_method(x, "__getitem__")
    if method is not None:
        return call_function(method, (x, key), {})
    if isinstance(x, list) and isinstance(key, slice):
        return current().made(x[key])
    if isinstance(x, defaultdict) and key not in x and x.default_factory is not None:
        set_item(x, key, call(x.default_factory))
    return control.usable(x[key], "an element")


def set_item(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value`"""
    capture = current()
    if isinstance(x, dict):
        key = pinned(key)
    elif isinstance(x, list | _core.Tensor):
        key = whole_number(key)
    if isinstance(x, _core.Tensor):
        if isinstance(value, Number):
            value = weak(value, x)
        elif isinstance(value, Mixed):
            value = (
                value.tensor
                if value.kind != "none"
                else operators.as_plain_tensor(value, "[...] =")
            )
        elif isinstance(value, Symbolic) or _holds_symbols(value):
            raise Refused("[...] =", f"the value is {value!r}", "write a tensor")
        x[key.tensor if isinstance(key, Number) else _index(key)] = value
        return
    method = operators._user_method(x, "__setitem__")
    if method is not None:
        call_function(method, (x, key, value), {})
        return
    if is_ragged(x) and type(key) is int and key in (0, -1):
        put_at_end(x, key, value)
        return
    if isinstance(x, list) and isinstance(key, Number | _core.Tensor):
        _put(x, key, value)
        return
    if isinstance(key, Choice):
        operators.spread(key, lambda k: set_item(x, k, value))
        return
    if isinstance(key, Symbolic | _core.Tensor):
        raise Refused("[...] =", "a key is known only when the program runs", "use a tensor")
    if isinstance(x, dict) and is_partial(x):
        partial.set_item(x, key, value)
        return
    if _is_changeable(x, "[...] ="):
        look(capture, x)
        capture.changing(x)
    x[key] = value


def change_item(x: Any, key: Any, op: str, later: Any) -> None:
    """`x[key] += ...`; `later` computes the other side."""
    set_item(x, key, operators.inplace(op, _at(x, key), later()))


def del_item(x: Any, key: Any) -> None:
    """`del x[key]`"""
    if isinstance(key, Symbolic | _core.Tensor):
        raise Refused("del", "a key is known only when the program runs", "use a tensor")
    if isinstance(x, dict):
        key = pinned(key)
    method = operators._user_method(x, "__delitem__")
    if method is not None:
        call_function(method, (x, key), {})
        return
    if is_ragged(x) and can_be_cut(key) and key.start is not None and key.stop is None:
        keep(x, slice(None, key.start))
        return
    if _is_changeable(x, "del"):
        look(current(), x)
        current().changing(x)
    del x[key]


def unpack(x: Any, count: int, star: int | None) -> Any:
    """The parts of `a, b = x`; `star` is the place of the part that takes the rest."""
    if isinstance(x, Choice):
        raise Refused("unpacking", f"of {x!r}", "take one part at a time")
    if isinstance(x, _core.Tensor) and star is None and x.ndim:
        size = x.shape[0]
        if size != count:  # a guard, where it is symbolic
            many = "too many values to unpack" if size > count else "not enough values to unpack"
            raise ValueError(many)
        return [indexed(x, i) for i in range(count)]
    items = [control.usable(e, "a part of what is unpacked") for e in iterate(x)]
    if star is not None:
        after = count - star - 1
        if len(items) < count - 1:
            raise ValueError(
                f"not enough values to unpack (expected at least {count - 1}, got {len(items)})"
            )
        middle = current().made(items[star : len(items) - after])
        parts = [*items[:star], middle, *(items[len(items) - after :] if after else [])]
        return parts
    return items


def _index(key: Any) -> Any:
    if isinstance(key, Number):
        return key.tensor
    if isinstance(key, _core.Tensor) and key._value is None and not key.ndim:
        trace = control.current_trace()
        assert trace is not None
        return make_symbolic(trace.value_of(key))  # else its number would be taken now
    if isinstance(key, Symbolic):
        raise Refused("[...]", f"an index is {key!r}", "use a tensor")
    key = whole_number(key)
    if isinstance(key, tuple | list):
        look(current(), key)
    if isinstance(key, tuple):
        return tuple(map(_index, key))
    if isinstance(key, list) and any(isinstance(k, Symbolic | _core.Tensor) for k in key):
        return tx.stack([as_tensor(k) if not isinstance(k, _core.Tensor) else k for k in key])
    return key


def _is_one_place(index: Any) -> bool:
    """Whether it is a view for Python, at a place that the data decide: single numbers among slices."""
    parts = index if isinstance(index, tuple) else (index,)
    tensors = [p for p in parts if isinstance(p, _core.Tensor)]
    rest = [p for p in parts if not isinstance(p, _core.Tensor)]
    return (
        len(tensors) > 0
        and all(t.ndim == 0 and t.dtype.kind in "iu" for t in tensors)
        and not any(isinstance(p, bool | list) for p in rest)
    )


def _holds_symbols(x: Any) -> bool:
    return isinstance(x, Symbolic) or (isinstance(x, list | tuple) and any(map(_holds_symbols, x)))


def _is_changeable(x: Any, what: str) -> bool:
    """Whether it is a container that is known here; Python itself has an error for what cannot be changed."""
    if isinstance(x, CONTAINERS):
        return True
    if isinstance(x, str | bytes | tuple | range | frozenset | int | float | None):
        return False
    raise Refused(what, f"a {type(x).__name__} is changed", "use a list, a dict or a tensor")


def _at(x: Any, key: Any) -> Any:
    """What an augmented assignment reads; not kept, so a row need not be a view."""
    return indexed(x, _index(key)) if isinstance(x, _core.Tensor) else item(x, key)


def _place(x: Any, key: Any) -> Number:
    at = Number("int", key) if isinstance(key, _core.Tensor) else key
    from thixo.capture.effects import check

    size = len(x)
    what = "string" if isinstance(x, str) else "list"
    inside = tx.logical_and(at.tensor >= -size, at.tensor < size)
    check(inside, "IndexError", f"{what} index out of range")
    return Number("int", tx.where(at.tensor < 0, at.tensor + size, at.tensor))


def _chosen(x: Any, key: Any) -> Any:
    """An element of a list at a place that the data decide."""
    if not x:
        raise IndexError("list index out of range")
    place = _place(x, key)

    def part(i: int) -> Any:
        if i == len(x) - 1:
            return x[i]
        test = operators.binary("eq", place, i)
        return control.ifexp(test, lambda: x[i], lambda: part(i + 1), None, None, ())

    return part(0)


def _end_of(x: list[Any]) -> Any:
    """The first element that is there."""

    def part(i: int) -> Any:
        if i == len(x):
            raise IndexError("list index out of range")
        e = x[i]
        if not isinstance(e, control.Maybe):
            return e
        return control.ifexp(e.flag, lambda: e.value, lambda: part(i + 1), None, None, ())

    return part(0)


def _put(x: list[Any], key: Any, value: Any) -> None:
    capture = current()
    look(capture, x)
    place = _place(x, key)
    capture.changing(x)
    for i in range(len(x)):
        test = operators.binary("eq", place, i)
        x[i] = control.ifexp(test, lambda: value, lambda i=i: x[i], None, None, ())
