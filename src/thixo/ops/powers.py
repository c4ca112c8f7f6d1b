"""Powers and roots."""

import cmath
import math
from typing import ClassVar

from thixo.dtype import COMPLEX, FLOATS, INTEGERS, complex128, float64
from thixo.errors import ArgumentError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise, real_or_complex
from thixo.ops.rules import conj, is_complex, is_tensor
from thixo.ops.samples import Bad, Sample, binary_samples, unary_samples


def _power(base, exponent):
    """One number to the power of another, as IEEE 754's pow says; integers are truncated."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent < 0:
        return {1: 1, -1: (-1) ** (exponent % 2)}.get(base, 0)
    if isinstance(base, complex) or isinstance(exponent, complex):
        if base == 0:
            return complex(exponent == 0)
        return cmath.exp(exponent * cmath.log(base))
    if isinstance(base, int) and isinstance(exponent, int):
        return base**exponent
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        if base < 0 and exponent % 1 != 0:
            return math.nan
        # too large, or a negative power of zero: an odd power keeps the sign of its base
        return math.copysign(math.inf, base if exponent % 2 == 1 else 1.0)


class Pow(Pointwise):
    """Input to the power of exponent.

    >>> tx.pow(tx.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """

    signature = "pow(input: operand, exponent: operand) -> y"
    dtypes = INTEGERS + FLOATS + COMPLEX
    inplace = True
    simpler_with: ClassVar = {"exponent": (2, 3, 4, 0.5, -0.5, -1, -2)}

    def check(input, exponent):
        is_integer = is_tensor(input) and input.dtype.kind in "biu"
        if is_integer and isinstance(exponent, int) and exponent < 0:
            raise ValueRangeError(
                f"pow: input is {describe(input)}, exponent is {exponent}; integers have no negative "
                f"integer powers, use a float exponent or a float input"
            )

    def scalar(k, input, exponent):
        return k.pow(input, exponent)

    def vjp_input(g, input, exponent):
        if not is_tensor(exponent):
            if exponent == 0:
                return tx.zeros_like(g)
            return g * conj(exponent * tx.pow(input, exponent - 1))
        slope = exponent * tx.pow(input, tx.where(exponent == 0, 1, exponent) - 1)
        return g * conj(tx.where(exponent == 0, 0, slope))

    def vjp_exponent(g, input, exponent, y):
        # 0 to a power stays 0 (or 1 at 0) as the power grows: no slope, where log(0) would give NaN
        order = exponent.real if exponent.dtype.is_complex else exponent
        if not is_tensor(input):
            if input != 0:
                return g * conj(y * (cmath.log(input) if is_complex(y) else _log(input)))
            return g * tx.where(order >= 0, 0, conj(y) * -math.inf)
        flat = tx.logical_and(input == 0, order >= 0)
        base = input.to(
            y.dtype
        )  # a real negative base has a complex logarithm beside a complex power
        return g * conj(tx.where(flat, 0, y * tx.log(tx.where(flat, 1, base))))

    reference = elementwise(_power)

    def samples(s):
        if s.dtype.kind in "iu":
            yield Sample(s.real(s.n, s.m), s.ints(s.m, high=4, dtype=s.dtype))
            yield Sample(s.real(s.n), 3)
            yield Sample(s.real(0), 2)
            yield Sample(2, s.positive(s.n))
            return
        yield Sample(s.real(s.n, s.m), 2)
        yield Sample(s.real(s.n), 3)
        yield Sample(s.real(s.n), 0)
        yield Sample(s.positive(s.n), -1.5)
        yield Sample(s.positive(s.n, s.m), s.real(s.m))
        yield Sample(s.positive(s.n, 1), s.real(s.n, s.m))
        yield Sample(s.positive(), s.real())
        yield Sample(2.5, s.real(s.n))
        yield Sample(s.positive(0, s.m), s.real(s.m))

    def bad(s):
        yield Bad(Sample(s.ints(3), -1), ValueRangeError, "negative")


def _log(x):
    return math.log(x) if x > 0 else math.nan


class FloatPower(Composite):
    """Input to the power of exponent, computed in float64 or complex128.

    >>> tx.float_power(tx.tensor([2, 3]), 2)
    tensor([4., 9.], dtype=thixo.float64)
    """

    signature = "float_power(input: operand, exponent: operand) -> y"
    inplace = True

    def compose(input, exponent):
        if not is_tensor(input) and not is_tensor(exponent):
            raise ArgumentError(
                f"float_power: input is {input}, exponent is {exponent}; one must be a tensor"
            )
        wide = complex128 if is_complex(input) or is_complex(exponent) else float64
        if is_tensor(input):
            input = input.to(wide)
        else:
            exponent = exponent.to(wide)
        if is_tensor(exponent):
            exponent = exponent.to(wide)
        return tx.pow(input, exponent)

    def reference(input, exponent):
        if any(map(is_complex_array, (input, exponent))):
            return elementwise(_power)(input, exponent)
        return elementwise(lambda a, b: _power(float(a), float(b)))(input, exponent)

    def samples(s):
        yield Sample(s.positive(s.n, s.m), s.real(s.m))
        yield Sample(s.positive(s.n), 2)
        yield Sample(s.positive(), s.positive(s.n))
        yield Sample(2, s.positive(s.n))
        yield Sample(s.positive(0), 2)


def is_complex_array(x):
    """Whether a reference's argument, an array or a number, is complex."""
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


class Square(Composite):
    """Input times itself; booleans become integers.

    >>> tx.square(tx.tensor([1.0, -2.0]))
    tensor([1., 4.])
    """

    signature = "square(input) -> y"
    inplace = True

    def compose(input):
        return tx.pow(input, 2) if input.dtype.kind == "b" else tx.mul(input, input)

    reference = elementwise(lambda a: a * a)
    samples = unary_samples()


class Sqrt(Pointwise):
    """Square root; NaN for negative real numbers.

    >>> tx.sqrt(tx.tensor([1.0, 4.0]))
    tensor([1., 2.])
    """

    signature = "sqrt(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.sqrt(input)

    def vjp(g, y):
        return g / (2 * y.conj())

    reference = elementwise(cmath.sqrt)
    samples = unary_samples(low=0.1, high=5)


def _inverse(a):
    return 1 / a if a else math.copysign(math.inf, a)


class Rsqrt(Pointwise):
    """One over the square root.

    >>> tx.rsqrt(tx.tensor([1.0, 4.0]))
    tensor([1.0000, 0.5000])
    """

    signature = "rsqrt(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return 1 / k.sqrt(input)

    def vjp(g, y):
        return g * (-0.5 * (y * y * y).conj())

    reference = real_or_complex(lambda a: _inverse(math.sqrt(a)), lambda z: 1 / cmath.sqrt(z))
    samples = unary_samples(low=0.1, high=5)


class Reciprocal(Pointwise):
    """One over the number; integers give floats.

    >>> tx.reciprocal(tx.tensor([2.0, 4.0]))
    tensor([0.5000, 0.2500])
    """

    signature = "reciprocal(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return 1 / input

    def vjp(g, y):
        return -g * (y * y).conj()

    reference = real_or_complex(lambda a: _inverse(a), lambda z: 1 / z)
    samples = unary_samples(low=0.2, high=4)


class Hypot(Pointwise):
    """Length of the hypotenuse: the root of the sum of the squares, without overflow on the way.

    >>> tx.hypot(tx.tensor([3.0]), tx.tensor([4.0]))
    tensor([5.])
    """

    signature = "hypot(input, other) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input, other):
        return k.hypot(input, other)

    def vjp_input(g, input, y):
        return g * (
            input / tx.where(y == 0, 1, y)
        )  # at its tip a cone has no slope: 0, as for a norm

    def vjp_other(g, other, y):
        return g * (other / tx.where(y == 0, 1, y))

    reference = elementwise(math.hypot)
    samples = binary_samples(numbers="none")
