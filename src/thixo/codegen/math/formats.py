"""The two floats, and the small steps that most functions share.

Functions here are straight lines of instructions. Where one needs a long way round for arguments that hardly
ever occur, that is a kernel of its own in a `rare` instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from thixo.codegen.builder import Builder, Value
from thixo.codegen.kernel import Kernel, Operand

INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Format:
    """A float: its integer of equal width, the bits of its fraction, and what follows from them."""

    name: str
    whole: str
    fraction: int
    bias: int

    @property
    def magic(self) -> float:
        """Adding it rounds to an integer, which is then in the low bits."""
        return 1.5 * 2.0**self.fraction

    @property
    def smallest(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << self.fraction + (self.bias + 1).bit_length()

    def bits(self, number: float) -> int:
        """The bits of a number."""
        return int(np.array(number, np.float32 if self.name == "f32" else np.float64).view(
            np.int32 if self.name == "f32" else np.int64))  # fmt: skip


FORMATS = {"f32": Format("f32", "i32", 23, 127), "f64": Format("f64", "i64", 52, 1023)}


def format_of(x: Value) -> Format:
    """Of a value."""
    return FORMATS[x.type]


def polynomial(
    b: Builder, x: Value, coefficients: Sequence[float], square: Value | None = None
) -> Value:
    """By Horner's rule; long ones in blocks of coefficients, which run side by side and are as accurate."""
    size = 4 if len(coefficients) <= 12 else 8
    blocks = [coefficients[i : i + size] for i in range(0, len(coefficients), size)]
    if len(blocks) > 1 and len(blocks[-1]) <= size // 2:
        last = blocks.pop()
        blocks[-1] = [*blocks[-1], *last]
    value = _horner(b, x, blocks.pop())
    if blocks:
        power = x * x if square is None else square
        for _ in range(size.bit_length() - 2):
            power = power * power
        for block in reversed(blocks):
            value = b.fma(value, power, _horner(b, x, block))
    return value


def _horner(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    value = b.constant(coefficients[-1], x.type)
    for c in reversed(coefficients[:-1]):
        value = b.fma(value, x, c)
    return value


def at_most(b: Builder, x: Value, limit: float) -> Value:
    """The smaller of both; NaN stays."""
    bound = b.constant(limit, x.type)
    return b.select(bound < x, bound, x)


def at_least(b: Builder, x: Value, limit: float) -> Value:
    """The larger of both; NaN stays."""
    bound = b.constant(limit, x.type)
    return b.select(x < bound, bound, x)


def sign_of(b: Builder, x: Value) -> Value:
    """Its bit, as an integer."""
    f = format_of(x)
    return x.bits(f.whole) & b.constant(f.sign, f.whole)


def with_sign(b: Builder, magnitude: Value, sign: Value) -> Value:
    """A number that is not negative, with this bit of a sign."""
    return (magnitude.bits(sign.type) | sign).bits(magnitude.type)


def flipped(b: Builder, x: Value, sign: Value) -> Value:
    """Negated where the bit is set."""
    return (x.bits(sign.type) ^ sign).bits(x.type)


def rarely(b: Builder, condition: Value, unusual: Kernel, usual: Value, *arguments: Value) -> Value:
    """What the kernel makes of the arguments where the condition holds, which is hardly ever."""
    return b.emit("rare", condition, usual, *arguments, attribute=unusual)


def alone(type: str, write: Callable[..., Value], count: int = 1) -> Kernel:
    """A function of some arguments of one type as a kernel of its own."""
    b = Builder()
    b.store(count, write(b, *(b.load(i, type) for i in range(count))))
    return Kernel((*[Operand(type)] * count, Operand(type, written=True)), tuple(b.instructions))
