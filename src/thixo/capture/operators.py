"""Operators at run time: on numbers that the data decide, on choices, and by the methods of users' classes."""

import operator
from collections.abc import Callable
from enum import Enum
from types import FunctionType
from typing import Any

from thixo import _core
from thixo.capture.control import ifexp, or_
from thixo.capture.effects import Text, check, text
from thixo.capture.frames import current
from thixo.capture.keys import pinned
from thixo.capture.numbers import (
    COMPARISONS,
    OPERATORS,
    ZERO_DIVISION,
    as_tensor,
    calculate,
    negate,
)
from thixo.capture.paths import look, note_identity, path_of
from thixo.capture.refusal import Refused, refusal_of
from thixo.capture.stand_ins import call_told, is_told, special, whole_number
from thixo.capture.values import (
    Choice,
    Mixed,
    Number,
    Symbolic,
    Union,
    is_open_size,
    is_partial,
    kind_of,
)
from thixo.errors import ShapeError, describe
from thixo.ops import public as tx
from thixo.symbolic import Dim
from thixo.symbolic import compare as compare_sizes

INPLACE = {
    n: getattr(operator, "i" + n.rstrip("_"))
    for n in OPERATORS
    if hasattr(operator, "i" + n.rstrip("_"))
}
_METHODS = {"and_": "and", "or_": "or"}
_REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def spread(choice: Choice, use: Callable[[Any], Any]) -> Any:
    """Use each of the objects that a choice may be; what comes out is merged."""
    return _spread(choice, lambda i: use(choice.options[i]))


def _spread(choice: Choice, use: Callable[[int], Any]) -> Any:
    """The same by the places of the objects. What comes out of each may be a choice that goes with this one."""
    count = len(choice.options)
    made: dict[int, Any] = {}

    def one(i: int) -> Any:
        try:
            made[i] = use(i)
        except ShapeError as error:
            shapes = {str(x.shape): x for x in choice.options if isinstance(x, _core.Tensor)}
            if len(shapes) < 2:
                raise
            raise _of_several_shapes(list(shapes.values()), error) from error
        return made[i]

    def part(i: int) -> Any:
        if i == count - 1:
            return one(i)
        test = Number("bool", choice.index == i)
        return ifexp(test, lambda: one(i), lambda: part(i + 1), None, None, ())

    found = part(0)
    if isinstance(found, Choice) and found is not choice and found.source is None:
        parts = [made.get(i) for i in range(count)]
        if len(found.options) == count and not any(isinstance(x, Choice) for x in parts):
            same = all(x is y for x, y in zip(found.options, parts, strict=True))
            if same or isinstance(found, Union):
                found.source = choice if choice.source is None else choice.source
    return found


def _of_several_shapes(values: list[Any], error: ShapeError) -> Refused:
    """A refusal of what does not do for all shapes that a tensor may have."""
    refused = refusal_of(error)
    shapes = ", ".join(map(describe, values[:-1])) + f" or {describe(values[-1])}"
    return Refused(
        refused.construct,
        f"a tensor is {shapes} here, since a branch or each turn of a loop makes another shape, and it cannot be captured "
        "for each of them",
        "make it of its full size before the loop, write a part in each turn, and mask the rest",
        refused.line,
    )


def as_plain_tensor(x: Mixed, what: str) -> Any:
    """A tensor, where a number or None would be an error when the program runs."""
    other = "NoneType" if x.kind == "none" else x.kind
    check(tx.logical_not(x.flag.tensor), "TypeError", f"{what}: a tensor is needed, got {other}")
    return x.tensor


_BITS = frozenset(("and_", "or_", "xor", "lshift", "rshift"))


def binary(op: str, a: Any, b: Any) -> Any:
    """`a + b` and its like."""
    if isinstance(a, Choice) and isinstance(b, Choice) and a.goes_with(b):
        return _spread(a, lambda i: binary(op, a.options[i], b.options[i]))
    for x, use in ((a, lambda v: binary(op, v, b)), (b, lambda v: binary(op, a, v))):
        if isinstance(x, Choice):
            return spread(x, use)
    if isinstance(a, Mixed) or isinstance(b, Mixed):
        return _mixed(op, a, b)
    if op == "add" and isinstance(a, str | Text) and isinstance(b, str | Text):
        return text(a, b)
    if op in COMPARISONS or op == "truediv":
        a, b = (Number("int", as_tensor(x)) if is_open_size(x) else x for x in (a, b))
    if isinstance(a, Number) or isinstance(b, Number):
        made = calculate(op, a, b)
        if made is not NotImplemented:
            return made
    found = _by_method(op, a, b)
    if found is not NotImplemented:
        return found
    if op in _BITS:  # which no open size has
        a, b = pinned(a), pinned(b)
    if op in ("floordiv", "mod") and isinstance(a, int | Dim) and isinstance(b, int | Dim):
        _need_divisor(b, ZERO_DIVISION[op, "int"])
    _need_known(op, a, b)
    capture = current()
    look(capture, a)
    look(capture, b)
    if (op in COMPARISONS or isinstance(a, str | bytes)) and (is_told(a) or is_told(b)):
        return call_told(OPERATORS[op], a, b)
    made = OPERATORS[op](whole_number(a), whole_number(b))
    if isinstance(made, list | dict | set):
        capture.made(made)
    return made


def _need_divisor(b: Any, text: str) -> None:
    """Raise as Python does where a size is divided by zero: its quotient is a formula, which nobody may look at."""
    if is_open_size(b):
        if compare_sizes(b, "==", 0) is None:
            check(as_tensor(b) != 0, "ZeroDivisionError", text)
    elif isinstance(b, int | Dim) and b == 0:  # a guard, where it is symbolic
        raise ZeroDivisionError(text)


def _need_known(op: str, a: Any, b: Any) -> None:
    for x in (a, b):
        if isinstance(x, Symbolic):
            raise Refused(f"operator {op}", f"one side is {x!r}", "use tensors")


def _mixed(op: str, a: Any, b: Any) -> Any:
    m, other, first = (a, b, True) if isinstance(a, Mixed) else (b, a, False)

    def apply(x: Any) -> Any:
        return binary(op, x, other) if first else binary(op, other, x)

    if m.kind == "none":
        return apply(as_plain_tensor(m, f"operator {op}"))
    number = Number(m.kind, tx.to(tx.detach(m.tensor), _dtype(m.kind)))
    dtype = m.tensor.dtype
    if isinstance(other, _core.Tensor):
        made = apply(m.tensor)
        if apply(number).dtype is made.dtype:
            return made
    elif isinstance(other, Mixed):
        pass
    elif op == "truediv" and first and dtype is _dtype("float"):
        if isinstance(other, Number) or not other:
            zero = tx.logical_and(m.flag.tensor, _as_tensor(other) == 0)
            check(tx.logical_not(zero), "ZeroDivisionError", "division by zero")
        return Mixed("float", apply(m.tensor), m.flag)
    elif op in ("add", "sub", "mul", *COMPARISONS):
        made, kind = apply(m.tensor), apply(number).kind
        if made.dtype is _dtype(kind) or (kind == "int" and made.dtype is _dtype("float")):
            return Mixed(kind, made, m.flag)
    return ifexp(m.flag, lambda: apply(number), lambda: apply(m.tensor), None, None, ())


def _as_tensor(x: Any) -> Any:
    from thixo.capture.numbers import as_tensor

    return as_tensor(x, "float")


def _dtype(kind: str) -> Any:
    from thixo.capture.values import DTYPES

    return DTYPES[kind]


def _user_method(x: Any, name: str) -> Any:
    """A method of a class of the user's, None for all others."""
    kind = type(x)
    if kind.__module__ == "builtins" or isinstance(x, _core.Tensor | Dim | Symbolic | type):
        return None
    found = getattr(kind, name, None)
    return found if isinstance(found, FunctionType) else None


def _by_method(op: str, a: Any, b: Any) -> Any:
    from thixo.capture.callees import call_function

    name = _METHODS.get(op, op)
    method = _user_method(a, f"__{name}__")
    if method is not None:
        made = call_function(method, (a, b), {})
        if made is not NotImplemented:
            return made
    other = _REFLECTED[op] if op in COMPARISONS else f"r{name}"
    method = _user_method(b, f"__{other}__")
    if method is not None:
        made = call_function(method, (b, a), {})
        if made is not NotImplemented:
            return made
    if op == "ne" and (special(a, "eq") or special(b, "eq")):  # what Python makes of that
        equal = _by_method("eq", a, b)
        return a is not b if equal is NotImplemented else _not(truth(equal))
    return NotImplemented


def unary(op: str, x: Any) -> Any:
    """`-x` and its like."""
    from thixo.capture.callees import call_function

    if isinstance(x, Choice):
        return spread(x, lambda v: unary(op, v))
    if isinstance(x, Number):
        return negate(op, x)
    if isinstance(x, Mixed):
        if x.kind == "none":
            return unary(op, as_plain_tensor(x, f"operator {op}"))
        if op == "invert":
            raise Refused("operator ~", f"of {x!r}", "use tensors on all paths")
        return Mixed("int" if x.kind == "bool" else x.kind, OPERATORS[op](x.tensor), x.flag)
    method = _user_method(x, f"__{op}__")
    return OPERATORS[op](x) if method is None else call_function(method, (x,), {})


def inplace(op: str, a: Any, b: Any) -> Any:
    """`a += b`"""
    from thixo.capture.callees import call_function

    if isinstance(a, Union):
        return spread(a, lambda one: inplace(op, one, b))
    if isinstance(a, Mixed) and current().copies.others(a.tensor):
        raise Refused(
            "an assignment in place", "the tensor may be one that others know", "write x = x + y"
        )
    if isinstance(a, list | dict | set):
        capture = current()
        look(capture, b)
        if isinstance(b, _core.Tensor):
            return binary(op, a, b)
        if op != "add":
            look(capture, a)
        capture.changing(a, grows=op == "add")
        return INPLACE[op](a, b)
    if isinstance(a, _core.Tensor):
        if isinstance(b, Union):
            return spread(b, lambda one: inplace(op, a, one))
        if isinstance(b, Mixed) and b.kind != "none":
            b = b.tensor if b.tensor.dtype is a.dtype else _refuse_mixed(b)
        if isinstance(b, Number):
            from thixo.capture.numbers import weak

            b = weak(b, a)
        _need_known(op, a, b)
        return INPLACE[op](a, b) if op in INPLACE else binary(op, a, b)
    method = _user_method(a, f"__i{_METHODS.get(op, op)}__")
    if method is not None:
        return call_function(method, (a, b), {})
    return binary(op, a, b)


def _refuse_mixed(x: Mixed) -> Any:
    raise Refused("an assignment in place", f"of {x!r}", "use tensors on all paths")


def compare(op: str, a: Any, b: Any) -> Any:
    """A comparison."""
    if op in ("in", "not in"):
        found = contains(b, a)
        return found if op == "in" else _not(found)
    if op in ("is", "is not"):
        return _identity(op, a, b)
    return binary(op, a, b)


def _not(x: Any) -> Any:
    from thixo.capture.control import not_

    return not_(x)


def _identity(op: str, a: Any, b: Any) -> Any:
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Choice):
            return spread(x, lambda v: _identity(op, v, y))  # noqa: B023  used at once
        if isinstance(x, Mixed) and x.kind == "none" and y is None:
            return x.flag if op == "is" else _not(x.flag)
    one_of = (bool, type(None), type, Enum)
    if isinstance(a, Symbolic) or isinstance(b, Symbolic):
        if a is None or b is None:
            return op == "is not"
        raise Refused(f"`{op}`", "whether numbers are one object is not part of a graph", "use ==")
    if isinstance(a, _core.Tensor) and isinstance(b, _core.Tensor) and a is not b:
        merged = current().merged
        if any(id(t) in merged and merged[id(t)]() is t for t in (a, b)):
            raise Refused(
                f"`{op}`", "of two tensors: identity is not part of a graph", "compare values"
            )
    if not isinstance(a, one_of) and not isinstance(b, one_of) and a is not b:
        capture = current()
        for x in (a, b):
            path = path_of(capture, x)
            if path is not None and path.is_of_argument:
                raise Refused(f"`{op}`", "of two arguments' objects", "compare something they hold")
    for x in (a, b):
        if not isinstance(x, (*one_of, _core.Tensor)):
            note_identity(current(), x)
    return (a is b) == (op == "is")


def _is_or_equals(e: Any, x: Any) -> Any:
    """What `in` asks of each element."""
    if e is x:
        return True
    made = binary("eq", e, x)
    if isinstance(made, _core.Tensor) and any(not isinstance(s, int) or s != 1 for s in made.shape):
        shape = ", ".join(map(str, made.shape))
        raise Refused(
            "in", f"it asks whether an element equals another, and a tensor of shape [{shape}] has no one truth",
            "say any((e == x).all() for e in group), or e is x",
        )  # fmt: skip
    return truth(made)


def contains(group: Any, x: Any) -> Any:
    """`x in group`"""
    from thixo.capture.callees import call_function

    if isinstance(group, Choice):
        return spread(group, lambda g: contains(g, x))
    if isinstance(group, _core.Tensor):
        return Number("bool", tx.any(binary("eq", group, x)))
    method = _user_method(group, "__contains__")
    if method is not None:
        return truth(call_function(method, (group, x), {}))
    if not isinstance(group, list | tuple | range | str):
        x = pinned(x)
    if is_partial(group) and not isinstance(x, Symbolic | _core.Tensor):
        from thixo.capture.partial import flag_of

        return flag_of(group, x)
    look(current(), group)
    if isinstance(group, list | tuple) and (
        isinstance(x, Symbolic | _core.Tensor)
        or any(isinstance(e, Symbolic | _core.Tensor) for e in group)
        or any(special(e, "eq") for e in (x, *group))
    ):
        if not group:
            return False
        parts = [lambda e=e: _is_or_equals(e, x) for e in group]
        return or_(parts, None, None, ())
    if isinstance(x, Choice):
        return spread(x, lambda v: contains(group, v))
    if isinstance(x, Number) and isinstance(group, range):
        inside = binary("ge", x, group.start), binary("lt", x, group.stop)
        if group.step == 1:
            return Number("bool", tx.logical_and(inside[0].tensor, inside[1].tensor))
    if isinstance(x, Number) and isinstance(group, set | frozenset | dict):
        return contains(list(group), x)
    if isinstance(group, list | tuple) and (is_told(x) or is_told(group)):
        return call_told(operator.contains, group, x)
    return x in group


def truth(x: Any) -> Any:
    """`bool(x)`"""
    from thixo.capture.control import predicate, settled
    from thixo.capture.values import decides

    x = settled(x)
    if decides(x):
        return x if isinstance(x, Number) and x.kind == "bool" else Number("bool", predicate(x))
    return bool(x)


__all__ = ["binary", "compare", "inplace", "kind_of", "unary"]
