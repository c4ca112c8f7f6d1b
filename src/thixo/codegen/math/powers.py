"""pow, hypot, nextafter."""

from __future__ import annotations

from collections.abc import Callable

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LOG2_E_TWICE, TABLES, THIRD
from thixo.codegen.math.formats import (
    INF,
    NAN,
    at_least,
    at_most,
    flipped,
    format_of,
    polynomial,
    sign_of,
    with_sign,
)
from thixo.codegen.math.logarithms import split


def pow(b: Builder, x: Value, y: Value) -> Value:
    """X to the power of y, with all special values of IEEE 754."""
    known = b.instructions[y.number]
    if known.op == "const" and known.attribute in _SIMPLE:
        return _SIMPLE[known.attribute](b, x)
    size, height = abs(x), abs(y)
    result = (_through_f64 if x.type == "f32" else _in_two_parts)(b, size, y)
    # At 0 and infinity there is no logarithm to multiply with.
    zero, infinite = b.constant(0.0, x.type), b.constant(INF, x.type)
    grows = ~((size > 1.0) ^ (y > 0.0))
    special = (size == 0.0) | (size == INF) | (height == INF)
    result = b.select(special, b.select(grows, infinite, zero), result)
    half = y * 0.5
    whole = b.emit("rint", y) == y
    odd = whole & (b.emit("rint", half) != half)
    no_sign = b.constant(0, format_of(x).whole)
    result = flipped(b, result, b.select(odd, sign_of(b, x), no_sign))
    undefined = (x < 0.0) & (size < INF) & ~whole | (x != x) | (y != y)
    result = b.select(undefined, b.constant(NAN, x.type), result)
    one = (y == 0.0) | (x == 1.0) | ((size == 1.0) & (height == INF))
    return b.select(one, b.constant(1.0, x.type), result)


def _root(b: Builder, x: Value) -> Value:
    """The square root where pow differs from it: of -infinity it is infinity, of -0 it is 0."""
    root = b.emit("sqrt", x) + 0.0
    return b.select(x == -INF, b.constant(INF, x.type), root)


# Exponents that need no logarithm. All within two roundings of the exact power.
_SIMPLE: dict[float, Callable[[Builder, Value], Value]] = {
    0: lambda b, x: b.constant(1.0, x.type),
    1: lambda b, x: x,
    2: lambda b, x: x * x,
    3: lambda b, x: x * x * x,
    4: lambda b, x: (x * x) * (x * x),
    0.5: _root,
    -0.5: lambda b, x: 1.0 / _root(b, x),
    -1: lambda b, x: 1.0 / x,
    -2: lambda b, x: 1.0 / (x * x),
}


def _through_f64(b: Builder, size: Value, y: Value) -> Value:
    """For float32: float64 has all the digits that the product of y and the logarithm needs."""
    k, f = split(b, size.cast("f64"))
    log2 = b.fma(polynomial(b, f, TABLES["POWER_LOG2"]["f64"]), f, k)
    product = at_most(b, at_least(b, y.cast("f64") * log2, -200.0), 200.0)
    magic = format_of(f).magic + format_of(f).bias
    held = product + magic
    power = (held.bits("i64") << 52).bits("f64")
    return (polynomial(b, product - (held - magic), TABLES["POWER_EXP2"]["f64"]) * power).cast(
        "f32"
    )


def _in_two_parts(b: Builder, size: Value, y: Value) -> Value:
    """For float64: the logarithm and its product with y as sums of two floats."""
    high, low = log2_parts(b, size)
    product = y * high
    rest = b.fma(y, low, b.fma(y, high, -product))
    # Beyond the range of exponents `rest` may be no number.
    rest = b.select(abs(product) < 1100.0, rest, b.constant(0.0, y.type))
    product = at_most(b, at_least(b, product, -1100.0), 1100.0)
    n = b.emit("rint", product)
    r = (product - n) + rest
    return b.emit("scale", b.fma(polynomial(b, r, TABLES["EXP2"]["f64"]), r, 1.0), n)


def log2_parts(b: Builder, x: Value) -> tuple[Value, Value]:
    """The logarithm to base 2 as two floats, to 2^-65 or so, by atanh(s) with s = f / (2 + f)."""
    k, f = split(b, x)
    below = f + 2.0
    below_low = f - (below - 2.0)
    inverse = 1.0 / below
    s = f * inverse
    s_low = b.fma(-s, below_low, b.fma(-s, below, f)) * inverse
    z = s * s
    z_low = b.fma(s + s, s_low, b.fma(s, s, -z))
    # u = z/3 + z^2 q
    third, third_low = THIRD["f64"]
    first = z * third
    first_low = b.fma(z_low, third, b.fma(z, third_low, b.fma(z, third, -first)))
    second = z * z * polynomial(b, z, TABLES["POWER_ATANH"]["f64"])
    u = first + second
    u_low = (first - u) + second + first_low
    # atanh(s) = s + s u
    v = s * u
    v_low = b.fma(s_low, u, b.fma(s, u_low, b.fma(s, u, -v)))
    total = s + v
    total_low = (s - total) + v + (v_low + s_low)
    # twice that, to base 2, and the whole powers
    factor, factor_low = LOG2_E_TWICE["f64"]
    part = total * factor
    part_low = b.fma(total_low, factor, b.fma(total, factor_low, b.fma(total, factor, -part)))
    high = k + part
    low = (k - high) + part + part_low
    return high, low


def hypot(b: Builder, x: Value, y: Value) -> Value:
    """The length of (x, y), which overflows only if it must."""
    a, c = abs(x), abs(y)
    if x.type == "f32":
        wide, other = a.cast("f64"), c.cast("f64")
        length = b.emit("sqrt", b.fma(wide, wide, other * other)).cast("f32")
    else:
        large = b.select(a < c, c, a)
        up, down = b.constant(2.0**600, x.type), b.constant(2.0**-600, x.type)
        one = b.constant(1.0, x.type)
        huge, tiny = large > 2.0**500, large < 2.0**-500
        scale = b.select(huge, down, b.select(tiny, up, one))
        back = b.select(huge, up, b.select(tiny, down, one))
        a, c = a * scale, c * scale
        length = b.emit("sqrt", b.fma(a, a, c * c)) * back
    return b.select((abs(x) == INF) | (abs(y) == INF), b.constant(INF, x.type), length)


def nextafter(b: Builder, x: Value, y: Value) -> Value:
    """The next number from x towards y: one more or less, as an integer."""
    bits = x.bits(format_of(x).whole)
    one = b.constant(1, bits.type)
    away = (x < y) ^ (x < 0.0)
    moved = b.select(away, bits + one, bits - one).bits(x.type)
    moved = b.select(x == 0.0, with_sign(b, one.bits(x.type), sign_of(b, y)), moved)
    moved = b.select(x == y, y, moved)
    return b.select((x != x) | (y != y), x + y, moved)
