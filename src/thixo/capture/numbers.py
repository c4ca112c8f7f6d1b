"""Python's arithmetic on numbers that the data decide.

Whole numbers are int64 and checked: what Python would compute with more digits is an error when the program runs, never another
number. A division by zero raises as Python's does. With tensors a number counts as little as a Python number: it takes their dtype.
"""

import operator
from typing import Any

from thixo import _core
from thixo.capture.effects import check
from thixo.capture.refusal import Refused
from thixo.capture.values import DTYPES, Number, kind_of
from thixo.dtype import float64, get_default_dtype, int64
from thixo.ops import public as tx
from thixo.symbolic import Dim

SAFE = float(2**62)  # beyond it a whole number may not fit
OPERATORS: dict[str, Any] = {
    n: getattr(operator, n)
    for n in "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift "
    "lt le gt ge eq ne neg pos invert".split()
}
COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
ZERO_DIVISION = {  # what Python says
    ("floordiv", "int"): "integer division or modulo by zero",
    ("floordiv", "float"): "float floor division by zero",
    ("mod", "int"): "integer modulo by zero",
    ("mod", "float"): "float modulo",
}


def as_tensor(x: Any, kind: str | None = None) -> Any:
    """A number as a 0-d tensor of its kind, or of a wider one."""
    own = kind_of(x)
    kind = kind or own
    assert kind is not None
    dtype = DTYPES[kind]
    if isinstance(x, Number):
        return x.tensor if x.kind == kind else tx.to(x.tensor, dtype)
    if type(x) is int and not -(2**63) <= x < 2**63:
        raise Refused(f"number {x}", "it does not fit into 64 bits", "use smaller numbers")
    if isinstance(x, Dim):
        made = tx.full((), x, dtype=int64)
        return made if kind == "int" else tx.to(made, dtype)
    return tx.full((), TYPES_BY[kind](x), dtype=dtype)


TYPES_BY: dict[str, Any] = {"bool": bool, "int": int, "float": float}


def number(tensor: Any, kind: str) -> Number:
    """A tensor of one element as a Python number, which has no gradient."""
    if tensor.ndim:
        tensor = tx.reshape(tensor, ())
    if tensor.requires_grad or kind == "float":
        tensor = tx.detach(tensor)
    dtype = DTYPES[kind]
    return Number(kind, tensor if tensor.dtype is dtype else tx.to(tensor, dtype))


def weak(x: Number, other: Any) -> Any:
    """A number as a tensor that changes nothing about the dtype of another tensor, as Python's numbers do not."""
    order = {"bool": 0, "int": 1, "float": 2}
    dtype = other.dtype
    level = (
        3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype.kind == "b" else 1
    )
    if order[x.kind] <= level:
        return tx.to(x.tensor, dtype)
    return tx.to(x.tensor, get_default_dtype()) if x.kind == "float" else x.tensor


def calculate(op: str, a: Any, b: Any) -> Any:
    """A binary operator on two numbers of which one at least the data decide, or a number and a tensor."""
    if isinstance(a, _core.Tensor):
        return OPERATORS[op](a, weak(b, a))
    if isinstance(b, _core.Tensor):
        return OPERATORS[op](weak(a, b), b)
    kinds = kind_of(a), kind_of(b)
    if None in kinds:
        return NotImplemented
    wide = "float" if "float" in kinds else "int"
    if op in COMPARISONS:
        return Number("bool", OPERATORS[op](as_tensor(a, wide), as_tensor(b, wide)))
    if op in ("and_", "or_", "xor"):
        kind = "bool" if kinds == ("bool", "bool") else "int"
        if wide == "float":
            raise Refused(op, "Python has no such operator for floats", "use whole numbers")
        return Number(kind, OPERATORS[op](as_tensor(a, kind), as_tensor(b, kind)))
    rule = _RULES.get(op)
    if rule is None:
        raise Refused(
            f"operator {op}", "it is not known for numbers that the data decide", "use tensors"
        )
    return rule(a, b, wide)


def _plain(op: str) -> Any:
    def rule(a: Any, b: Any, kind: str) -> Number:
        left, right = as_tensor(a, kind), as_tensor(b, kind)
        made = OPERATORS[op](left, right)
        if kind == "int" and not (op != "mul" and (_small(a) or _small(b))):
            rough = OPERATORS[op](tx.to(left, float64), tx.to(right, float64))
            check(
                tx.abs(rough) < SAFE,
                "OverflowError",
                "a whole number of captured code needs more than 64 bits",
            )
        return Number(kind, made)

    return rule


def _small(x: Any) -> bool:
    return isinstance(x, Dim) or (type(x) in (int, bool) and abs(x) < 2**31)


def _divide(a: Any, b: Any, kind: str) -> Number:
    right = as_tensor(b, "float")
    _need_divisor(b, right, "division by zero" if kind == "int" else "float division by zero")
    return Number("float", as_tensor(a, "float") / right)


def _floor(op: str) -> Any:
    def rule(a: Any, b: Any, kind: str) -> Number:
        right = as_tensor(b, kind)
        _need_divisor(b, right, ZERO_DIVISION[op, kind])
        return Number(kind, OPERATORS[op](as_tensor(a, kind), right))

    return rule


def _need_divisor(b: Any, tensor: Any, text: str) -> None:
    if isinstance(b, Number) or not b:
        check(tensor != 0, "ZeroDivisionError", text)


def _power(a: Any, b: Any, kind: str) -> Number:
    whole = type(b) is int and 0 <= b <= 64
    if kind == "float" and not whole:
        base, power = as_tensor(a, "float"), as_tensor(b, "float")
        check(
            tx.logical_or(base > 0, tx.logical_and(base == 0, power > 0)),
            "ValueError",
            "a power of a number that is not positive, in captured code",
        )
        return Number("float", tx.pow(base, power))
    if not whole:
        raise Refused(
            "operator **",
            "its kind of result depends on the numbers",
            "use tensors, or a whole exponent",
        )
    base = as_tensor(a, kind)
    if kind == "int":
        rough = tx.pow(tx.to(base, float64), float(b))
        check(
            tx.abs(rough) < SAFE,
            "OverflowError",
            "a whole number of captured code needs more than 64 bits",
        )
        return Number("int", tx.pow(base, b))
    return Number("float", tx.pow(base, b if whole else as_tensor(b, "float")))


def _shift(op: str) -> Any:
    def rule(a: Any, b: Any, kind: str) -> Number:
        if kind == "float":
            raise Refused(
                f"operator {op}", "Python has no such operator for floats", "use whole numbers"
            )
        left, right = as_tensor(a, "int"), as_tensor(b, "int")
        check(right >= 0, "ValueError", "negative shift count")
        few = tx.clamp(right, 0, 63)  # farther to the right nothing is left but the sign
        if op == "rshift":
            return Number("int", tx.bitwise_right_shift(left, few))
        rough = tx.to(left, float64) * tx.pow(2.0, tx.to(right, float64))
        check(
            tx.abs(rough) < SAFE,
            "OverflowError",
            "a whole number of captured code needs more than 64 bits",
        )
        return Number("int", tx.bitwise_left_shift(left, few))

    return rule


_RULES: dict[str, Any] = {
    "add": _plain("add"), "sub": _plain("sub"), "mul": _plain("mul"), "truediv": _divide,
    "floordiv": _floor("floordiv"), "mod": _floor("mod"), "pow": _power,
    "lshift": _shift("lshift"), "rshift": _shift("rshift"),
}  # fmt: skip


def negate(op: str, x: Number) -> Number:
    """A unary operator."""
    kind = "int" if x.kind == "bool" else x.kind
    if op == "invert" and kind == "float":
        raise Refused("operator ~", "Python has no such operator for floats", "use whole numbers")
    tensor = as_tensor(x, kind)
    return Number(kind, tensor if op == "pos" else -tensor if op == "neg" else -tensor - 1)
