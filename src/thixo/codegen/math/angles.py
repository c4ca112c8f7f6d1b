"""asin, acos, atan, atan2."""

from __future__ import annotations

from thixo.codegen.builder import Builder, Value
from thixo.codegen.math.coefficients import PI, TABLES
from thixo.codegen.math.formats import flipped, sign_of, with_sign
from thixo.codegen.math.formats import polynomial as _polynomial


def _odd(b: Builder, name: str, x: Value, square: Value) -> Value:
    """X + x^3 q(x^2)."""
    return b.fma(_polynomial(b, square, TABLES[name][x.type]) * square, x, x)


def _pi(b: Builder, type: str, scale: float) -> tuple[float, float]:
    high, low = PI[type][:2]
    return high * scale, low * scale


def _folded(b: Builder, x: Value) -> tuple[Value, Value]:
    """Whether |x| > 1/2, and asin(|x|), or there asin(sqrt((1 - |x|) / 2))."""
    size = abs(x)
    large = size > 0.5
    square = b.select(large, b.fma(size, -0.5, 0.5), x * x)
    root = b.select(large, b.emit("sqrt", square), size)
    return large, _odd(b, "ASIN", root, square)


def asin(b: Builder, x: Value) -> Value:
    """The arc sine: of larger |x|, pi/2 - 2 asin(sqrt((1 - |x|) / 2))."""
    large, y = _folded(b, x)
    high, low = _pi(b, x.type, 0.5)
    y = b.select(large, (b.fma(y, -2.0, low)) + high, y)
    return with_sign(b, y, sign_of(b, x))


def acos(b: Builder, x: Value) -> Value:
    """The arc cosine."""
    large, y = _folded(b, x)
    sign = sign_of(b, x)
    high, low = _pi(b, x.type, 0.5)
    negative = x < 0.0
    # 2 y, or pi - 2 y; pi/2 -+ y
    far = b.select(negative, b.constant(2 * high, x.type) - b.fma(y, 2.0, -2 * low), y + y)
    near = b.constant(high, x.type) - (flipped(b, y, sign) - low)
    return b.select(large, far, near)


def _atan_unit(b: Builder, t: Value) -> Value:
    """Of 0 <= t <= 1."""
    return _odd(b, "ATAN", t, t * t)


def atan(b: Builder, x: Value) -> Value:
    """The arc tangent: of larger |x|, pi/2 - atan(1 / |x|)."""
    size = abs(x)
    large = size > 1.0
    y = _atan_unit(b, b.select(large, 1.0 / size, size))
    high, low = _pi(b, x.type, 0.5)
    y = b.select(large, (low - y) + high, y)
    return with_sign(b, y, sign_of(b, x))


def atan2(b: Builder, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), with the signs of zeros."""
    down, across = abs(y), abs(x)
    steep = down > across
    small, large = b.select(steep, across, down), b.select(steep, down, across)
    # 0 / 0 is 0 here, and infinity / infinity 1
    equal = b.select(large == 0.0, b.constant(0.0, x.type), b.constant(1.0, x.type))
    angle = _atan_unit(b, b.select(small == large, equal, small / large))
    high, low = _pi(b, x.type, 0.5)
    angle = b.select(steep, (low - angle) + high, angle)
    left = x.bits(sign_of(b, x).type) < 0
    angle = b.select(left, (2 * low - angle) + 2 * high, angle)
    return with_sign(b, angle, sign_of(b, y))
