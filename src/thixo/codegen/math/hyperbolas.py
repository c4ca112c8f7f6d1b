"""sinh, cosh, tanh and their inverses."""

from __future__ import annotations

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LN2, LOG2_E, TABLES
from thixo.codegen.math.exponentials import remainder, whole_powers
from thixo.codegen.math.formats import NAN, at_most, format_of, polynomial, sign_of, with_sign
from thixo.codegen.math.logarithms import log1p

OVERFLOW = {"f32": 90.0, "f64": 711.0}
# From here tanh rounds to 1.
FLAT = {"f32": 9.25, "f64": 19.25}
# From here 1 + x^2 rounds to x^2, by far; squares still do not overflow.
LARGE = {"f32": 2.0**30, "f64": 2.0**60}


def _halves(b: Builder, size: Value) -> tuple[Value, Value, Value, Value]:
    """cosh(r), sinh(r), 2^n / 8 and 2^-n / 8, where size = n log 2 + r."""
    f = format_of(size)
    n, held = whole_powers(
        b, at_most(b, size, OVERFLOW[size.type]), LOG2_E[size.type][0], f.bias - 3
    )
    r = remainder(b, at_most(b, size, OVERFLOW[size.type]), n)
    square = r * r
    even = b.fma(polynomial(b, square, TABLES["COSH"][size.type]), square, 1.0)
    odd = b.fma(polynomial(b, square, TABLES["SINH"][size.type]) * square, r, r)
    grown = held.bits(f.whole) << f.fraction
    shrunk = b.constant(2 * (f.bias - 3) << f.fraction, f.whole) - grown
    shrunk = b.select(shrunk < 0, b.constant(0, f.whole), shrunk)
    return even, odd, grown.bits(size.type), shrunk.bits(size.type)


def sinh(b: Builder, x: Value) -> Value:
    """(2^n - 2^-n) / 2 cosh(r) + (2^n + 2^-n) / 2 sinh(r), which is sinh(r) itself for small x."""
    size = abs(x)
    even, odd, grown, shrunk = _halves(b, size)
    y = b.fma(grown - shrunk, even, (grown + shrunk) * odd) * 4.0
    tiny = size < 2.0 ** -(format_of(x).fraction // 2 + 1)
    return b.select(tiny, x, with_sign(b, y, sign_of(b, x)))


def cosh(b: Builder, x: Value) -> Value:
    """(2^n + 2^-n) / 2 cosh(r) + (2^n - 2^-n) / 2 sinh(r)."""
    even, odd, grown, shrunk = _halves(b, abs(x))
    return b.fma(grown + shrunk, even, (grown - shrunk) * odd) * 4.0


def tanh(b: Builder, x: Value) -> Value:
    """e / (e + 2) with e = expm1(2 |x|) = 2^n expm1(2 r) + (2^n - 1)."""
    f = format_of(x)
    size = at_most(b, abs(x), FLAT[x.type])
    n, held = whole_powers(b, size, 2 * LOG2_E[x.type][0], f.bias)
    high, low = LN2[x.type]
    r = b.fma(n, -low / 2, b.fma(n, -high / 2, size))
    square = r * r
    p = b.fma(polynomial(b, r, TABLES["TWICE"][x.type], square), square, r + r)
    power = (held.bits(f.whole) << f.fraction).bits(x.type)
    e = b.fma(power, p, power - 1.0)
    return with_sign(b, e / (e + 2.0), sign_of(b, x))


def asinh(b: Builder, x: Value) -> Value:
    """log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))."""
    size = abs(x)
    large = size > LARGE[x.type]
    square = x * x
    u = size + square / (b.emit("sqrt", square + 1.0) + 1.0)
    y = log1p(b, b.select(large, size, u))
    y = b.select(large, y + LN2[x.type][0], y)
    return with_sign(b, y, sign_of(b, x))


def acosh(b: Builder, x: Value) -> Value:
    """log1p(t + sqrt(t (t + 2))) with t = x - 1."""
    t = x - 1.0
    large = x > LARGE[x.type]
    root = b.emit("sqrt", b.fma(t, t, t + t))
    y = log1p(b, b.select(large, x, t + root))
    y = b.select(large, y + LN2[x.type][0], y)
    return b.select(x < 1.0, b.constant(NAN, x.type), y)


def atanh(b: Builder, x: Value) -> Value:
    """log1p(2 |x| / (1 - |x|)) / 2."""
    size = abs(x)
    y = log1p(b, (size + size) / (1.0 - size)) * 0.5
    tiny = size < 2.0 ** -(format_of(x).fraction // 2 + 1)
    return b.select(tiny, x, with_sign(b, y, sign_of(b, x)))
