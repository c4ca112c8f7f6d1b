"""erf, erfc and ndtr."""

from __future__ import annotations

import math

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LOG2_E, TABLES
from thixo.codegen.math.exponentials import exp_pieces, remainder, small_expm1, whole_powers
from thixo.codegen.math.formats import at_most, format_of, polynomial, sign_of, with_sign

ROOT_2 = math.sqrt(2)
# From here erf rounds to 1, and erfc to 0; the fits go as far.
FLAT = {"f32": 3.9375, "f64": 5.9375}
GONE = {"f32": 10.25, "f64": 27.5}
ERF = {"f32": "ERF", "f64": "ERF_WIDE"}
ERFC = {"f32": "ERFC", "f64": "ERFC_WIDE"}


def erf(b: Builder, x: Value) -> Value:
    """1 - erfc(|x|), whose logarithm is smooth enough for one polynomial: -expm1(-|x| - |x| q(|x|))."""
    f = format_of(x)
    size = at_most(b, abs(x), FLAT[x.type])
    q = polynomial(b, size, [-c for c in TABLES[ERF[x.type]][x.type]])
    w = b.fma(size, q, -size)
    n, held = whole_powers(b, w, LOG2_E[x.type][0], f.bias)
    p = small_expm1(b, remainder(b, w, n))
    power = (held.bits(f.whole) << f.fraction).bits(x.type)
    return with_sign(b, abs(b.fma(power, p, power - 1.0)), sign_of(b, x))


def erfc(b: Builder, x: Value) -> Value:
    """Its tail, or 2 less that for negative x."""
    size = at_most(b, abs(x), GONE[x.type])
    square = size * size
    y = _tail(b, size, square, b.fma(size, size, -square))
    return b.select(x < 0.0, 2.0 - y, y)


def ndtr(b: Builder, x: Value) -> Value:
    """The normal distribution, erfc(-x / sqrt(2)) / 2; the square is taken of x itself, whose digits all count."""
    size = at_most(b, abs(x), GONE[x.type] * ROOT_2)
    half = size * 0.5
    square = size * half
    y = _tail(b, size * (1 / ROOT_2), square, b.fma(size, half, -square)) * 0.5
    return b.select(x > 0.0, 1.0 - y, y)


def _tail(b: Builder, size: Value, square: Value, lost: Value) -> Value:
    """exp(-square - lost) (1 + u q(u - 1)) / (1 + 2 size), u = 2 size / (size + 2), for a size that is not negative."""
    p, n = exp_pieces(b, -square, lost)
    twice = size + size
    u = twice / (size + 2.0)
    uq = polynomial(b, u - 1.0, TABLES[ERFC[size.type]][size.type]) * u
    # Near 0 the factor of p is little less than 1, and more exact as 1 - ...
    small = size < 0.5
    quotient = b.select(small, twice - uq, b.fma(p, uq, p)) / (twice + 1.0)
    return b.emit("scale", b.select(small, b.fma(-p, quotient, p), quotient), n)
