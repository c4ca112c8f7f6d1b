"""Functions of complex numbers, from those of real ones, with the special values of C's annex G as NumPy has them.

A product of an infinity and a zero is no number, so each function says what it is where that happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from thixo.codegen.builder import Builder, Value
from thixo.codegen.instructions import BITS, width
from thixo.codegen.scalars import Pair

INF, NAN = math.inf, math.nan
LN2, LOG2_E, LOG10_E = math.log(2), 1 / math.log(2), 1 / math.log(10)
# Up to here exp is finite, with room for one product.
STEEP = {"f32": 88.0, "f64": 709.0}
# Scales that keep squares within range, and what must lie between.
SCALES = {"f32": (2.0**40, 2.0**-60, 2.0**60), "f64": (2.0**300, 2.0**-500, 2.0**500)}


def _finite(x: Value) -> Value:
    return abs(x) < INF


def _sign(b: Builder, x: Value) -> Value:
    whole = BITS[x.type]
    return x.bits(whole) & b.constant(1 << width(whole) - 1, whole)


def _like(b: Builder, size: Value, x: Value) -> Value:
    """A number that is not negative, with the sign of x."""
    return (abs(size).bits(BITS[x.type]) | _sign(b, x)).bits(x.type)


def _times_sign(b: Builder, y: Value, x: Value) -> Value:
    return (y.bits(BITS[x.type]) ^ _sign(b, x)).bits(x.type)


def _turned(z: Pair) -> Pair:
    """Z times i."""
    return Pair(-z.im, z.re)


def _turned_back(z: Pair) -> Pair:
    return Pair(z.im, -z.re)


def exp(b: Builder, z: Pair) -> Pair:
    """exp(x) cos(y) and exp(x) sin(y); exp of a large x in two factors, as the product may still be finite."""
    x, y = z.re, z.im
    steep = x > STEEP[z.type]
    size = b.function("exp", b.select(steep, x - STEEP[z.type], x))
    factor = b.select(
        steep, b.function("exp", b.constant(STEEP[z.type], z.type)), b.constant(1.0, z.type)
    )
    re = b.function("cos", y) * factor * size
    im = b.function("sin", y) * factor * size
    zero, none = b.constant(0.0, z.type), ~_finite(y)
    re = b.select((x == -INF) & none, zero, b.select((x == INF) & none, x, re))
    im = b.select((x == -INF) & none, zero, im)
    return Pair(b.select(y == 0.0, factor * size, re), b.select(y == 0.0, y, im))


def exp2(b: Builder, z: Pair) -> Pair:
    """exp(z log 2)."""
    return exp(b, Pair(z.re * LN2, z.im * LN2))


def expm1(b: Builder, z: Pair) -> Pair:
    """expm1(x) cos(y) - 2 sin(y/2)^2, exp(x) sin(y); where there are infinities, exp(z) - 1."""
    x, y = z.re, z.im
    half = b.function("sin", y * 0.5)
    re = b.function("expm1", x) * b.function("cos", y) - 2.0 * half * half
    im = b.function("exp", x) * b.function("sin", y)
    plain = exp(b, z)
    usual = _finite(x) & _finite(y)
    return Pair(b.select(usual, re, plain.re - 1.0), b.select(usual, im, plain.im))


def _scaled_size(b: Builder, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """Both parts scaled so that their squares are in range, and the factor that was used."""
    large = b.select(abs(x) < abs(y), abs(y), abs(x))
    factor, low, high = SCALES[x.type]
    one = b.constant(1.0, x.type)
    scale = b.select(
        large > high,
        b.constant(1 / factor, x.type),
        b.select(large < low, b.constant(factor, x.type), one),
    )
    return x * scale, y * scale, scale


def log(b: Builder, z: Pair) -> Pair:
    """log|z|, and the angle. Near the circle of radius 1 from |z|^2 - 1, which keeps the digits."""
    x, y, scale = _scaled_size(b, z.re, z.im)
    factor = SCALES[z.type][0]
    moved = b.select(scale == 1.0, b.constant(0.0, z.type), b.select(
        scale > 1.0, b.constant(-math.log(factor), z.type), b.constant(math.log(factor), z.type)))  # fmt: skip
    size = b.function("hypot", x, y)
    far = b.function("log", size) + moved
    wide = abs(x) > abs(y)
    large, small = b.select(wide, abs(x), abs(y)), b.select(wide, abs(y), abs(x))
    near = b.function("log1p", b.fma(large - 1.0, large + 1.0, small * small)) * 0.5
    close = (size > 0.7) & (size < 1.4) & (scale == 1.0)
    return Pair(b.select(close, near, far), b.function("atan2", z.im, z.re))


def log2(b: Builder, z: Pair) -> Pair:
    """To base 2."""
    made = log(b, z)
    return Pair(made.re * LOG2_E, made.im * LOG2_E)


def log10(b: Builder, z: Pair) -> Pair:
    """To base 10."""
    made = log(b, z)
    return Pair(made.re * LOG10_E, made.im * LOG10_E)


def log1p(b: Builder, z: Pair) -> Pair:
    """log|1 + z| from |1 + z|^2 - 1 for small z."""
    near = b.function("log1p", b.fma(z.re, z.re + 2.0, z.im * z.im)) * 0.5
    far = b.function("log", b.function("hypot", z.re + 1.0, z.im))
    small = b.function("hypot", z.re, z.im) < 0.5
    return Pair(b.select(small, near, far), b.function("atan2", z.im, z.re + 1.0))


def sqrt(b: Builder, z: Pair) -> Pair:
    """T = sqrt((|x| + |z|) / 2) is the larger part, and y / 2 t the other."""
    x, y, scale = _scaled_size(b, z.re, z.im)
    factor = math.sqrt(SCALES[z.type][0])
    one = b.constant(1.0, z.type)
    back = b.select(scale == 1.0, one, b.select(
        scale > 1.0, b.constant(1 / factor, z.type), b.constant(factor, z.type)))  # fmt: skip
    t = b.emit("sqrt", (abs(x) + b.function("hypot", x, y)) * 0.5)
    other = abs(y) / (t + t)
    right = z.re >= 0.0
    re, im = b.select(right, t, other) * back, b.select(right, other, t) * back
    zero, infinite = b.constant(0.0, z.type), b.constant(INF, z.type)
    nothing = (z.re == 0.0) & (z.im == 0.0)
    re, im = b.select(nothing, zero, re), b.select(nothing, zero, im)
    # along the real axis, and everything where y is infinite
    im = b.select((z.re == INF) & _finite(z.im), zero, im)
    re = b.select((z.re == -INF) & _finite(z.im), zero, re)
    re = b.select((z.re == -INF) & (z.im != z.im), b.constant(NAN, z.type), re)
    im = b.select(z.re == -INF, infinite, im)
    im = b.select((z.re == INF) & (z.im != z.im), b.constant(NAN, z.type), im)
    re = b.select((z.re == INF) | (abs(z.im) == INF), infinite, re)
    im = b.select(abs(z.im) == INF, infinite, im)
    return Pair(re, _like(b, im, z.im))


def _steep_parts(b: Builder, x: Value, name: str) -> tuple[Value, Value]:
    """sinh or cosh as a number and a factor that is multiplied last, so that only the product overflows."""
    size = abs(x)
    steep = size > STEEP[x.type]
    grown = b.function("exp", size - STEEP[x.type])
    grown = _like(b, grown, x) if name == "sinh" else grown
    factor = b.function("exp", b.constant(STEEP[x.type], x.type)) * 0.5
    return b.select(steep, factor, b.constant(1.0, x.type)), b.select(
        steep, grown, b.function(name, x)
    )


def sinh(b: Builder, z: Pair) -> Pair:
    """sinh(x) cos(y), cosh(x) sin(y)."""
    x, y = z.re, z.im
    factor, odd = _steep_parts(b, x, "sinh")
    _, even = _steep_parts(b, x, "cosh")
    re = b.function("cos", y) * factor * odd
    im = b.function("sin", y) * factor * even
    re = b.select(_finite(y), re, b.select(x == 0.0, x, b.select(abs(x) == INF, abs(x), re)))
    re = b.select(y == 0.0, factor * odd, re)
    return Pair(re, b.select(y == 0.0, y, im))


def cosh(b: Builder, z: Pair) -> Pair:
    """cosh(x) cos(y), sinh(x) sin(y)."""
    x, y = z.re, z.im
    factor, odd = _steep_parts(b, x, "sinh")
    _, even = _steep_parts(b, x, "cosh")
    re = b.function("cos", y) * factor * even
    im = b.function("sin", y) * factor * odd
    re = b.select((abs(x) == INF) & ~_finite(y), abs(x), re)
    im = b.select((x == 0.0) & ~_finite(y), b.constant(0.0, z.type), im)
    im = b.select(y == 0.0, b.select(x == x, _times_sign(b, y, x), y), im)
    return Pair(b.select(y == 0.0, factor * even, re), im)


def tanh(b: Builder, z: Pair) -> Pair:
    """sinh(x) cosh(x) / d and sin(y) cos(y) / d with d = sinh(x)^2 + cos(y)^2; 1 for large x."""
    x, y = z.re, z.im
    far = abs(x) > STEEP[z.type] / 4
    near_x = b.select(far, b.constant(1.0, z.type), x)
    odd, even = b.function("sinh", near_x), b.function("cosh", near_x)
    s, c = b.function("sin", y), b.function("cos", y)
    below = b.fma(odd, odd, c * c)
    one, zero = b.constant(1.0, z.type), b.constant(0.0, z.type)
    flat = _finite(y) | (abs(x) == INF)
    re = b.select(far, b.select(flat, _like(b, one, x), s), odd * even / below)  # s is NaN there
    rest = (
        b.select((abs(x) == INF) & ~_finite(y), zero, s * c)
        * 4.0
        * b.function("exp", abs(x) * -2.0)
    )
    im = b.select(far, rest, s * c / below)
    re = b.select((x == 0.0) & ~_finite(y) | (x != x) & (y == 0.0), x, re)
    return Pair(re, b.select(y == 0.0, y, im))


def sin(b: Builder, z: Pair) -> Pair:
    """-i sinh(i z)."""
    made = _turned_back(sinh(b, _turned(z)))
    both = (abs(z.im) == INF) & ~_finite(z.re)
    return Pair(made.re, b.select(both, b.constant(INF, z.type), made.im))


def cos(b: Builder, z: Pair) -> Pair:
    """cosh(i z)."""
    return cosh(b, _turned(z))


def tan(b: Builder, z: Pair) -> Pair:
    """-i tanh(i z)."""
    return _turned_back(tanh(b, _turned(z)))


def sign(b: Builder, z: Pair) -> Pair:
    """Z / |z|, and 0 at 0; of one infinite part its direction, of two of them none."""
    x, y, _ = _scaled_size(b, z.re, z.im)
    size = b.function("hypot", x, y)
    nothing = size == 0.0
    zero, one, none = (b.constant(c, z.type) for c in (0.0, 1.0, NAN))
    along, up = abs(z.re) == INF, abs(z.im) == INF

    def part(mine: Value, infinite: Value, other_infinite: Value, whole: Value) -> Value:
        usual = b.select(nothing, zero, mine / size)
        usual = b.select(infinite, _like(b, one, whole), b.select(other_infinite, zero, usual))
        return b.select(infinite & other_infinite | (size != size), none, usual)

    return Pair(part(x, along, up, z.re), part(y, up, along, z.im))


COMPLEX: dict[str, Callable[[Builder, Pair], Pair]] = {
    one.__name__: one
    for one in (
        exp,
        exp2,
        expm1,
        log,
        log2,
        log10,
        log1p,
        sqrt,
        sin,
        cos,
        tan,
        sinh,
        cosh,
        tanh,
        sign,
    )
}
