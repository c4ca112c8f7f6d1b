"""scale, exponent and mantissa by integer instructions, for processors that have none of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable

from thixo.codegen.builder import Builder, Value
from thixo.codegen.kernel import Kernel
from thixo.codegen.math.formats import alone, format_of


def scale(b: Builder, a: Value, n: Value) -> Value:
    """In two factors, each of half the exponent: n may exceed the range of a float, and rounding happens once."""
    f = format_of(a)
    bits = (n + (f.magic + 2 * f.bias)).bits(f.whole)
    half = (bits >> 1) << f.fraction
    rest = (bits << f.fraction) - half
    return a * half.bits(a.type) * rest.bits(a.type)


def _above(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """Whether x is subnormal, the bits of x, or then of a multiple of it, and the same less those of 3/4."""
    f = format_of(x)
    small = x < f.smallest
    bits = b.select(small, x * 2.0**f.fraction, x).bits(f.whole)
    return small, bits, bits - b.constant(f.bits(0.75), f.whole)


def exponent(b: Builder, x: Value) -> Value:
    """What a shift leaves."""
    f = format_of(x)
    small, _, above = _above(b, x)
    moved = b.select(small, b.constant(f.fraction, x.type), b.constant(0.0, x.type))
    return (above >> f.fraction).cast(x.type) - moved


def mantissa(b: Builder, x: Value) -> Value:
    """What is left without the exponent."""
    f = format_of(x)
    _, bits, above = _above(b, x)
    return (bits - (above & b.constant(-1 << f.fraction, f.whole))).bits(x.type)


WRITERS: dict[str, Callable[..., Value]] = {
    "scale": scale,
    "exponent": exponent,
    "mantissa": mantissa,
}


@functools.cache
def written(op: str, type: str) -> Kernel:
    """One of them as a kernel."""
    return alone(type, WRITERS[op], 2 if op == "scale" else 1)
