"""sin, cos, tan.

x = q pi + r by three parts of pi and fused multiply-adds: the first leaves an exact difference, so what is lost
is far below r, even where r nearly vanishes. Beyond the range where that holds, `turns` has the long way.
"""

from __future__ import annotations

from ..builder import Builder, Value
from ..instructions import width
from .coefficients import PI, TABLES
from .formats import flipped, format_of, polynomial, rarely
from .turns import turned

# Up to here the quotient by pi is known well enough.
USUAL = {"f32": 2.0**17, "f64": 2.0**38}


def _less(b: Builder, x: Value, q: Value, scale: float) -> Value:
    """X - q pi scale."""
    for part in PI[x.type]:
        x = b.fma(q, -part * scale, x)
    return x


def _reduced(b: Builder, x: Value, per_pi: int, shift: float) -> tuple[Value, Value]:
    """R, and an integer whose lowest bit is that of n, where x = (n + shift) pi / per_pi + r."""
    f = format_of(x)
    if shift:
        held = b.fma(x, per_pi / PI["f64"][0], -shift) + f.magic
        q = (held - f.magic) + shift
    else:
        held = b.fma(x, per_pi / PI["f64"][0], f.magic)
        q = held - f.magic
    r, n = _less(b, x, q, 1 / per_pi), held.bits(f.whole)
    far = abs(x) > USUAL[x.type]
    slow_r, slow_n = turned(b, x, per_pi, shift)
    return rarely(b, far, slow_r, r), rarely(b, far, slow_n, n)


def _sin(b: Builder, r: Value) -> Value:
    square = r * r
    return b.fma(polynomial(b, square, TABLES["SIN"][r.type]) * square, r, r)


def _alternating(b: Builder, y: Value, n: Value) -> Value:
    """Y times (-1)^n."""
    return flipped(b, y, n << width(n.type) - 1)


def sin(b: Builder, x: Value) -> Value:
    """The sine."""
    r, n = _reduced(b, x, 1, 0.0)
    return b.select(x == 0.0, x, _alternating(b, _sin(b, r), n))


def cos(b: Builder, x: Value) -> Value:
    """The cosine: cos((n + 1/2) pi + r) = -(-1)^n sin(r)."""
    r, n = _reduced(b, x, 1, 0.5)
    return _alternating(b, _sin(b, r), ~n)


def tan(b: Builder, x: Value) -> Value:
    """The tangent: of r, or -1 / tan(r), as n is even or odd."""
    r, n = _reduced(b, x, 2, 0.0)
    square = r * r
    y = b.fma(polynomial(b, square, TABLES["TAN"][x.type]) * square, r, r)
    odd = (n & 1) != 0
    one = b.constant(1.0, x.type)
    return b.select(x == 0.0, x, b.select(odd, -one, y) / b.select(odd, y, one))
