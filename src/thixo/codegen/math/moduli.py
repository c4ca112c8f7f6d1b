"""fmod, exact: what division by y leaves of x."""

from __future__ import annotations

import functools
import math

from thixo.codegen.builder import Builder, NotLowered, Value
from thixo.codegen.kernel import Kernel
from thixo.codegen.math.formats import INF, NAN, alone, rarely, sign_of, with_sign

_BITS = 50  # of a quotient, which one division gives for certain
_RANGE = 280  # bits of the largest quotient of two float32


def _rest(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """X less a multiple of y, both positive, and the quotient. The latter may be rounded up, so once y comes back."""
    quotient = x / y
    rest = b.fma(-b.emit("trunc", quotient), y, x)
    return b.select(rest < 0.0, rest + y, rest), quotient


def _in_steps(b: Builder, x: Value, y: Value) -> Value:
    """By multiples of y that leave a small quotient, the largest first."""
    for step in reversed(range(math.ceil(_RANGE / _BITS))):
        # a multiple that exceeds x changes nothing
        x, _ = _rest(b, x, y * 2.0 ** (step * _BITS))
    return x


@functools.cache
def _long(type: str) -> Kernel:
    return alone(type, _in_steps, 2)


def fmod(b: Builder, x: Value, y: Value) -> Value:
    """X less the multiple of y next to it towards zero. Float32 in float64, where all steps are exact."""
    if x.type != "f32":
        raise NotLowered(f"fmod of {x.type}")
    size, divisor = abs(x).cast("f64"), abs(y).cast("f64")
    usual, quotient = _rest(b, size, divisor)
    rest = rarely(b, quotient > 2.0**_BITS, _long("f64"), usual, size, divisor).cast("f32")
    rest = b.select(abs(y) == INF, abs(x), rest)
    defined = (abs(x) < INF) & (y == y) & (y != 0.0)
    return b.select(defined, with_sign(b, rest, sign_of(b, x)), b.constant(NAN, x.type))
