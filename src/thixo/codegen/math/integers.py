"""Powers of integers, which wrap."""

from __future__ import annotations

import functools

from thixo.codegen.builder import Builder, Value
from thixo.codegen.instructions import is_signed, width
from thixo.codegen.kernel import Kernel
from thixo.codegen.math.formats import alone, rarely

_USUAL = 6  # bits of an exponent: beyond 63 only powers of -1, 0 and 1 are not wrapped many times


def _power(b: Builder, x: Value, y: Value, bits: int) -> Value:
    """By squaring, for exponents of this many bits."""
    one = b.constant(1, x.type)
    result = one
    for i in range(bits):
        chosen = (y & (1 << i)) != 0
        result = b.select(chosen, result * x, result) if i else b.select(chosen, x, one)
        if i < bits - 1:
            x = x * x
    return result


@functools.cache
def _long(type: str) -> Kernel:
    # A negative exponent has no use for its sign here.
    return alone(type, lambda b, x, y: _power(b, x, y, width(type) - is_signed(type)), 2)


def _by_squaring(x: Value, exponent: int) -> Value:
    """For an exponent that is known, and positive."""
    if exponent == 1:
        return x
    half = _by_squaring(x, exponent // 2)
    return half * half * x if exponent % 2 else half * half


def integer_power(b: Builder, x: Value, y: Value) -> Value:
    """X to the power of y; of a negative one the whole part, which is 0 but for 1 and -1."""
    known = b.instructions[y.number]
    if known.op == "const" and 0 < known.attribute < 8:
        return _by_squaring(x, known.attribute)
    short = min(_USUAL, width(x.type) - is_signed(x.type))
    result = rarely(b, y > (1 << short) - 1, _long(x.type), _power(b, x, y, short), x, y)
    if not is_signed(x.type):
        return result
    one, zero = b.constant(1, x.type), b.constant(0, x.type)
    turns = b.select((y & 1) != 0, x, one)  # of -1
    inverse = b.select(x == 1, one, b.select(x == -1, turns, zero))
    return b.select(y < 0, inverse, result)
