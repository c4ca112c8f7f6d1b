"""Conversions between dtypes, as the core's `copy` has them; they are shipped, so that the core finds them by name.

To a half type a number is rounded once, from its own value. What comes from wider types than float32 is brought
there first, rounded to odd: an inexact result ends in a 1 bit, so the second rounding sees which side it is on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from thixo.codegen.builder import Builder, Value
from thixo.codegen.kernel import Kernel, Operand

if TYPE_CHECKING:
    from thixo.codegen.llvm.target import Target

DTYPES = ("bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64")
_HALVES = ("f16", "bf16")
_WIDE = ("i32", "i64", "f64")  # not all of their values are float32's


def conversion(source: str, target: str) -> Kernel:
    """The kernel that makes elements of one dtype from another's."""
    b = Builder()
    operands = (Operand(source), Operand(target, written=True))
    value = b.load(0, operands[0].register)
    if target in _HALVES and source in _WIDE:
        value = _odd_float(b, _odd_double(b, value) if source == "i64" else value.cast("f64"))
    b.store(1, value.cast(operands[1].register))
    return Kernel(operands, tuple(b.instructions))


def _odd_double(b: Builder, x: Value) -> Value:
    """An int64 as float64, rounded to odd: the lowest of large ones' bits say only whether there is something."""
    low = (1 << 11) - 1
    rest = b.select((x & low) != 0, b.constant(low + 1, "i64"), b.constant(0, "i64"))
    rounded = (x & ~low) | rest
    far = (x >> 52) + 1  # 0 or 1 for those that float64 holds
    return b.select((far & ~1) != 0, rounded, x).cast("f64")


def _odd_float(b: Builder, x: Value) -> Value:
    near = x.cast("f32")
    back = near.cast("f64")
    bits = near.bits("i32")
    toward_zero = b.select(abs(back) > abs(x), bits - 1, bits) | 1
    exact = (back == x) | (x != x)
    return b.select(exact, bits, toward_zero).bits("f32")


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """(name, module) of each of them."""
    from thixo.codegen.llvm.pointwise import pointwise

    for source in DTYPES:
        for to in DTYPES:
            if source != to:
                name = f"convert_{source}_{to}"
                yield name, pointwise(conversion(source, to), name, target)
