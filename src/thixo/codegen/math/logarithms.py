"""log, log2, log10, log1p.

x = 2^k (1 + f) with 3/4 <= 1 + f < 3/2; then a polynomial in f.
"""

from __future__ import annotations

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LN2, LOG10_2, TABLES
from thixo.codegen.math.formats import INF, NAN, format_of, polynomial

LEAST = 0.75  # 1 + f


def split(b: Builder, x: Value) -> tuple[Value, Value]:
    """K as a float, and f, of a number that is positive and finite."""
    return b.emit("exponent", x), b.emit("mantissa", x) - 1.0


def ends(b: Builder, x: Value, y: Value) -> Value:
    """The logarithm y with its values at 0, infinity, NaN and for negative x."""
    y = b.select(x < INF, y, x)
    return b.select(
        x > 0.0, y, b.select(x == 0.0, b.constant(-INF, x.type), b.constant(NAN, x.type))
    )


def natural(b: Builder, k: Value, f: Value) -> Value:
    """log(2^k (1 + f))."""
    high, low = LN2[f.type]
    square = f * f
    tail = b.fma(polynomial(b, f, TABLES["LOG"][f.type], square), square, k * low)
    return b.fma(k, high, f + tail)


def log(b: Builder, x: Value) -> Value:
    """The natural logarithm."""
    return ends(b, x, natural(b, *split(b, x)))


def log2(b: Builder, x: Value) -> Value:
    """The logarithm to base 2."""
    k, f = split(b, x)
    y = b.fma(polynomial(b, f, TABLES["LOG2"][x.type]), f, f)
    return ends(b, x, k + y)


def log10(b: Builder, x: Value) -> Value:
    """The logarithm to base 10."""
    high, low = LOG10_2[x.type]
    k, f = split(b, x)
    y = b.fma(f, 0.5, polynomial(b, f, TABLES["LOG10"][x.type]) * f)
    return ends(b, x, b.fma(k, high, b.fma(k, low, y)))


def log1p(b: Builder, x: Value) -> Value:
    """log(1 + x). K is that of the rounded sum; f = (1 + x) 2^-k - 1 comes from x itself, rounded once."""
    f = format_of(x)
    total = x + 1.0
    above = total.bits(f.whole) - b.constant(f.bits(LEAST), f.whole)
    k = (above >> f.fraction).cast(x.type)
    # 4 * 2^-k, which is normal for each k; x / 4 is exact, for smaller ones are handled below
    power = b.constant(f.bits(4.0), f.whole) - (above & b.constant(-1 << f.fraction, f.whole))
    scale = power.bits(x.type)
    y = natural(b, k, b.fma(x * 0.25, scale, b.fma(scale, 0.25, -1.0)))
    return b.select(abs(x) < 2.0 ** -(f.fraction + 2), x, ends(b, total, y))
