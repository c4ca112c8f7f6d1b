"""sin, cos, tan.

x = q pi + r by three parts of pi and fused multiply-adds: the first leaves an exact difference, so what is lost
is far below r, even where r nearly vanishes. Beyond the range where that holds, `turns` has the long way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from thixo.codegen.builder import Builder, Value
from thixo.codegen.instructions import width
from thixo.codegen.kernel import Kernel
from thixo.codegen.math.coefficients import PI, TABLES
from thixo.codegen.math.formats import (
    alone,
    at_least,
    at_most,
    flipped,
    format_of,
    polynomial,
    rarely,
)
from thixo.codegen.math.turns import turned

# Up to here the quotient by pi is known well enough.
USUAL = {"f32": 2.0**17, "f64": 2.0**38}

# From r and n, where x = (n + shift) pi / per_pi + r, to the function of x.
Finish = Callable[[Builder, Value, Value], Value]


def _reduced(b: Builder, x: Value, per_pi: int, shift: float) -> tuple[Value, Value]:
    """R, and an integer whose lowest bit is that of n, where x = (n + shift) pi / per_pi + r."""
    f = format_of(x)
    if shift:
        held = b.fma(x, per_pi / PI["f64"][0], -shift) + f.magic
        q = (held - f.magic) + shift
    else:
        held = b.fma(x, per_pi / PI["f64"][0], f.magic)
        q = held - f.magic
    for part in PI[x.type]:
        x = b.fma(q, -part / per_pi, x)
    return x, held.bits(f.whole)


@functools.cache
def _far(finish: Finish, type: str, per_pi: int, shift: float) -> Kernel:
    return alone(type, lambda b, x: finish(b, *turned(b, x, per_pi, shift)))


def _anywhere(b: Builder, x: Value, finish: Finish, per_pi: int, shift: float) -> Value:
    y = finish(b, *_reduced(b, x, per_pi, shift))
    return rarely(b, abs(x) > USUAL[x.type], _far(finish, x.type, per_pi, shift), y, x)


def _sin(b: Builder, r: Value, n: Value) -> Value:
    """sin(r) (-1)^n."""
    square = r * r
    y = b.fma(polynomial(b, square, TABLES["SIN"][r.type]) * square, r, r)
    y = at_most(b, at_least(b, y, -1.0), 1.0)  # rounding may lead beyond
    return flipped(b, y, n << width(n.type) - 1)


def _cos(b: Builder, r: Value, n: Value) -> Value:
    """cos((n + 1/2) pi + r) = -(-1)^n sin(r)."""
    return _sin(b, r, ~n)


def _tan(b: Builder, r: Value, n: Value) -> Value:
    """tan(n pi / 2 + r) = tan(r), or -1 / tan(r) for odd n."""
    square = r * r
    y = b.fma(polynomial(b, square, TABLES["TAN"][r.type]) * square, r, r)
    odd = (n & 1) != 0
    one = b.constant(1.0, r.type)
    return b.select(odd, -one, y) / b.select(odd, y, one)


def sin(b: Builder, x: Value) -> Value:
    """The sine."""
    return b.select(x == 0.0, x, _anywhere(b, x, _sin, 1, 0.0))


def cos(b: Builder, x: Value) -> Value:
    """The cosine."""
    return _anywhere(b, x, _cos, 1, 0.5)


def tan(b: Builder, x: Value) -> Value:
    """The tangent."""
    return b.select(x == 0.0, x, _anywhere(b, x, _tan, 2, 0.0))
