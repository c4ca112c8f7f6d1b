"""lgamma: the logarithm of the absolute value of the gamma function.

It is computed in float64 for float32 too: so near to its zeros, of which two are 1 and 2 and the others negative, all
digits of float32 are right.
"""

from __future__ import annotations

import math

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import LN2, PI, TABLES
from thixo.codegen.math.formats import INF, NAN, alone, polynomial, rarely
from thixo.codegen.math.logarithms import natural, split

LARGE = 8.5  # from here on Stirling's series
# Where 1 + a lies within the fit, which both zeros are divided out of: a (a - 1) q(a - MIDDLE).
LOW, HIGH, MIDDLE = -0.125, 1.375, 0.625
HALF_LOG_TWO_PI = math.log(2 * math.pi) / 2


def lgamma(b: Builder, x: Value) -> Value:
    """Of positive x; the others are reflected."""
    short = x.type == "f32"
    wide = x.cast("f64")
    small, near, product = _near(b, wide, "LGAMMA_SHORT" if short else "LGAMMA")
    large = wide >= LARGE
    log = _logarithm(b, b.select(large, wide, product), short)
    far = _stirling(b, wide, log, "STIRLING_SHORT" if short else "STIRLING")
    usual = b.select(large, far, near + b.select(small, -log, log)).cast(x.type)
    return rarely(b, ~((x > 0.0) & (x < INF)), alone(x.type, _reflected), usual, x)


def _logarithm(b: Builder, x: Value, short: bool) -> Value:
    """Of a positive number; with as many digits as float32 needs if it is short."""
    k, f = split(b, x)
    if not short:
        return natural(b, k, f)
    return b.fma(polynomial(b, f, TABLES["POWER_LOG2"]["f64"]), f, k) * LN2["f64"][0]


def _near(b: Builder, x: Value, table: str) -> tuple[Value, Value, Value]:
    """Lgamma of a + 1, which whole steps lead to, for x that are not large: gamma(x) = gamma(a + 1) (x - 1) (x - 2) ...

    Whether x is small, the logarithm there, and the product; of small x gamma(x) = gamma(1 + x) / x, and the product is x.
    """
    one = b.constant(1.0, "f64")
    small = x < 1.0 + LOW
    steps = b.emit("ceil", x - HIGH)
    steps = b.select(small, b.constant(0.0, "f64"), b.select(steps < 1.0, one, steps))
    a = x - steps
    near = a * (a - 1.0) * polynomial(b, a - MIDDLE, TABLES[table]["f64"])
    product = b.select(small, x, one)
    for j in range(1, math.ceil(LARGE - HIGH)):
        factor = x - float(j)
        product = b.select(factor > HIGH, product * factor, product)
    return small, near, product


def _stirling(b: Builder, x: Value, log: Value, table: str) -> Value:
    """Of large x and its logarithm."""
    inverse = 1.0 / x
    series = polynomial(b, inverse * inverse, TABLES[table]["f64"])
    return b.fma(x - 0.5, log - 1.0, b.fma(inverse, series, HALF_LOG_TWO_PI - 0.5))


def _reflected(b: Builder, x: Value) -> Value:
    """Of negative x: -log|x s| - lgamma(-x), where s is sin(pi x) / pi. And of zeros, infinities and NaN."""
    size = abs(x.cast("f64"))
    turn = size - b.emit("rint", size)  # exact
    r = turn * PI["f64"][0]
    square = r * r
    sine = abs(b.fma(polynomial(b, square, TABLES["SIN"]["f64"]) * square, turn, turn))
    small, near, product = _near(b, size, "LGAMMA")
    # of small ones lgamma(-x) has a logarithm of x, too: they cancel
    y = -near - natural(b, *split(b, b.select(small, sine, size * sine * product)))
    y = rarely(b, size >= LARGE, alone("f64", _far_reflected, 2), y, size, sine)
    y = b.select(turn == 0.0, b.constant(INF, "f64"), y)  # whole numbers, 0, the largest
    y = b.select(size == size, y, b.constant(NAN, "f64"))
    return b.select(size == INF, size, y).cast(x.type)


def _far_reflected(b: Builder, size: Value, sine: Value) -> Value:
    log = natural(b, *split(b, size))
    return -natural(b, *split(b, size * sine)) - _stirling(b, size, log, "STIRLING")
