"""A slow interpreter of kernels, on NumPy: what every backend is judged by.

Operands are arrays of shape (rows, columns) that broadcast: (rows, 1) for `row`, (1, columns) for `column`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from thixo.codegen.instructions import FUNCTIONS, SPECIAL, is_float
from thixo.codegen.kernel import Kernel
from thixo.errors import InternalError

NUMPY = {"bool": np.dtype(bool), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
         "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "c64": np.dtype(np.complex64),
         "c128": np.dtype(np.complex128),
         **{t: np.dtype(t.replace("u", "uint").replace("i", "int") if t[0] == "i" else f"uint{t[1:]}")
            for t in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")}}  # fmt: skip

Array = Any


def interpret(kernel: Kernel, arrays: Sequence[Array], columns: int | None = None) -> int:
    """Run it; the written operands are filled in place. Returns the status word."""
    values: list[Array] = []
    shape = np.broadcast_shapes(*(a.shape for a in arrays)) if arrays else (1, 1)
    if columns is not None:
        shape = (shape[0], columns)
    status = 0
    with np.errstate(all="ignore"):
        for one in kernel.body:
            arguments = [values[a] for a in one.arguments]
            value = None
            if one.op == "const":
                value = np.asarray(one.attribute).astype(NUMPY[one.type])
            elif one.op == "load":
                at, part = one.attribute
                value = arrays[at]
                if kernel.operands[at].parts == 2:
                    value = value.imag if part else value.real
                value = value.astype(NUMPY[one.type])
            elif one.op == "store":
                at, part = one.attribute
                target = arrays[at]
                if kernel.operands[at].parts == 2:
                    target = target.imag if part else target.real
                if kernel.operands[at].view == "column":  # the sum over all rows
                    arguments = [np.broadcast_to(arguments[0], shape).sum(0, keepdims=True)]
                target[...] = np.broadcast_to(arguments[0], target.shape).astype(target.dtype)
            elif one.op == "index":
                value = np.broadcast_to(np.arange(shape[1]).astype(NUMPY[one.type]), shape)
            elif one.op == "pick":
                at, part = one.attribute
                chosen = np.broadcast_to(arguments[0], (shape[0], 1)).clip(0, shape[1] - 1)
                value = np.take_along_axis(np.broadcast_to(arrays[at], shape), chosen, 1)
                if kernel.operands[at].parts == 2:
                    value = value.imag if part else value.real
                value = value.astype(NUMPY[one.type])
            elif one.op == "columns":
                value = np.asarray(shape[1], NUMPY[one.type])
            elif one.op == "check":
                status |= 0 if np.all(arguments[0]) or 0 in shape else 1 << one.attribute
            elif one.op == "rare":
                value = _rare(one.attribute, *arguments)
            elif one.op == "lookup":
                table = np.asarray(one.attribute, NUMPY[one.type])
                value = table[arguments[0] & (len(table) - 1)]
            elif one.op == "reduce":
                value = _reduce(one.attribute, np.broadcast_to(arguments[0], shape))
            else:
                value = evaluate(one.op, one.type, arguments)
            values.append(value)
    return status


def _rare(kernel: Kernel, condition: Array, usual: Array, *arguments: Array) -> Array:
    condition, usual, *others = np.broadcast_arrays(condition, usual, *arguments)
    value = usual.copy()
    made = np.empty((1, np.count_nonzero(condition)), value.dtype)
    interpret(kernel, [*(a[condition].reshape(1, -1) for a in others), made])
    value[condition] = made[0]
    return value


def _reduce(combiner: str, value: Array) -> Array:
    function = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
                "and": np.logical_and, "or": np.logical_or}[combiner]  # fmt: skip
    start: dict[str, Any] = {}
    if combiner in ("max", "min"):
        kind = value.dtype
        limits = (-np.inf, np.inf) if kind.kind == "f" else _limits(kind)
        start["initial"] = limits[0] if combiner == "max" else limits[1]
    return function.reduce(value, axis=1, keepdims=True, dtype=value.dtype, **start)


def _limits(kind: Any) -> tuple[Any, Any]:
    if kind.kind == "b":
        return False, True
    info = np.iinfo(kind)
    return info.min, info.max


def evaluate(op: str, type: str, arguments: Sequence[Array]) -> Array:
    """One arithmetic instruction, on arrays."""
    a = arguments[0]
    dtype = NUMPY[type]
    match op:
        case "add" | "sub" | "mul":
            return {"add": np.add, "sub": np.subtract, "mul": np.multiply}[op](a, arguments[1])
        case "div":
            return np.divide(a, arguments[1]) if is_float(type) else _quotient(a, arguments[1])
        case "rem":
            b = np.where(arguments[1] == 0, dtype.type(1), arguments[1])
            return np.fmod(a, b)
        case "fma":
            return _fma(*arguments)
        case "neg":
            return np.negative(a)
        case "abs":
            return np.abs(a)
        case "scale":
            return np.ldexp(a, np.nan_to_num(arguments[1]).astype(np.int32))
        case "exponent" | "mantissa":
            return _parts(a)[op == "mantissa"]
        case "sqrt" | "floor" | "ceil" | "trunc" | "rint":
            return getattr(np, op)(a)
        case "eq" | "ne" | "lt" | "le":
            named = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal}
            return named[op](a, arguments[1])
        case "select":
            return np.where(a, arguments[1], arguments[2])
        case "and" | "or" | "xor":
            return getattr(np, f"bitwise_{op}")(a, arguments[1])
        case "not":
            return np.invert(a)
        case "shl":
            return np.left_shift(a, arguments[1])
        case "shr":
            return np.right_shift(a, arguments[1])
        case "cast":
            return _cast(a, dtype)
        case "bits":
            return np.ascontiguousarray(a).view(dtype).reshape(np.shape(a))
    if op in FUNCTIONS:
        return _FUNCTIONS[op](*arguments)
    raise InternalError(f"kernel: the interpreter has no instruction {op}")


def _parts(a: Array) -> tuple[Array, Array]:
    fraction, power = np.frexp(a)  # from 1/2
    low = fraction < 0.75
    return (power - low).astype(a.dtype), np.where(low, fraction + fraction, fraction)


def _quotient(a: Array, b: Array) -> Array:
    b = np.where(b == 0, np.ones_like(b), b)
    floored, rest = np.floor_divide(a, b), np.remainder(a, b)
    return floored + ((rest != 0) & ((a < 0) != (b < 0))).astype(floored.dtype)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """A * b + c, rounded once."""
    if a.dtype == np.float32:
        product = a.astype(np.float64) * b  # exact
        return _odd_sum(product, c.astype(np.float64)).astype(np.float32)
    a, b, c = np.broadcast_arrays(a, b, c)
    plain = a * b + c
    sizes = [np.abs(a), np.abs(b), np.abs(c)]
    if all(np.all((x > 1e-60) & (x < 1e60)) for x in sizes):
        return _fma_near_one(a, b, c, 0.0)
    # Elsewhere the product is brought near one first, and the sum put back after.
    (fa, ea), (fb, eb) = np.frexp(a), np.frexp(b)
    power = ea + eb
    moved = np.ldexp(c, -power)
    moved = np.where((np.abs(moved) < 1e-90) & (c != 0), np.copysign(1e-90, c), moved)
    far = np.abs(moved) > 1e90  # the product is nothing beside it
    moved = np.where(far, 1.0, moved)
    near = _fma_near_one(fa, fb, moved, 0.0)
    # Below the normal numbers the last bit that counts is that of the smallest: the last one of `grain`.
    subnormal = np.frexp(near)[1] + power < -1021
    grain = np.copysign(np.ldexp(2.0**52, -1074 - np.maximum(power, -1500)), near)
    near = np.where(subnormal, _fma_near_one(fa, fb, moved, grain), near)
    exact = np.where(far, c, np.ldexp(near, power))
    usual = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    return np.where(usual, exact, plain)


def _fma_near_one(a: Array, b: Array, c: Array, grain: Array) -> Array:
    """With parts below the last bit of `grain` rounded away, if it is not 0."""
    product, rest = _two_product(a, b)
    middle, low = _two_sum(c, rest)
    high, lost = _two_sum(product, middle)
    tail = _odd_sum(low, lost)
    total, left = _two_sum(grain, high)
    return (total + _odd_sum(left, tail)) - grain


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum, and what rounding lost."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    wide = [x * 134217729.0 for x in (a, b)]
    high = [w - (w - x) for w, x in zip(wide, (a, b), strict=True)]
    low = [x - h for h, x in zip(high, (a, b), strict=True)]
    return product, ((high[0] * high[1] - product) + high[0] * low[1] + low[0] * high[1]) + low[
        0
    ] * low[1]


def _odd_sum(a: Array, b: Array) -> Array:
    """The sum in float64, rounded to the neighbour whose last bit is 1: rounding it again is as rounding once."""
    total, lost = _two_sum(a, b)
    bits = np.ascontiguousarray(total).view(np.int64).reshape(np.shape(total))
    outwards = np.where((lost > 0) == (total > 0), 1, -1)
    moves = (lost != 0) & (bits & 1 == 0) & np.isfinite(total)
    return (bits + np.where(moves, outwards, 0)).view(np.float64)


def _cast(a: Array, dtype: Any) -> Array:
    if a.dtype.kind == "f" and dtype.kind in "iu":
        wide = np.int64 if dtype.itemsize == 8 or dtype == np.uint32 else np.int32
        low, high = float(np.iinfo(wide).min), -float(np.iinfo(wide).min)
        fits = (a >= low) & (a < high)
        whole = np.where(fits, a, np.zeros_like(a)).astype(wide)
        whole = np.where(fits, whole, np.iinfo(wide).min)
        if dtype == np.uint64:
            above = (a >= high) & (a < 2 * high)
            rest = np.where(above, a - high, np.zeros_like(a)).astype(np.uint64) + np.uint64(
                1 << 63
            )
            return np.where(above, rest, whole.astype(np.uint64))
        return whole.astype(dtype)
    return np.asarray(a).astype(dtype)


_FUNCTIONS: dict[str, Any] = {
    name: getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
                       "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "pow": "power"}.get(name, name))
    for name in FUNCTIONS if name not in SPECIAL
}  # fmt: skip


def _special(name: str) -> Any:
    def call(x: Array) -> Array:
        from thixo import _core

        return _core.special1(name, np.ascontiguousarray(x))

    return call


_FUNCTIONS |= {name: _special(name) for name in SPECIAL}
