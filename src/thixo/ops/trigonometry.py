"""Circular and hyperbolic functions and their inverses."""

import cmath
import math

from thixo.dtype import BOOL, FLOATS, INTEGERS
from thixo.ops import public as tx
from thixo.ops.base import Pointwise
from thixo.ops.references import elementwise, real_or_complex, with_limits
from thixo.ops.samples import binary_samples, unary_samples

REALS = BOOL + INTEGERS + FLOATS


class Sin(Pointwise):
    """Sine of an angle in radians.

    >>> tx.sin(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8415])
    """

    signature = "sin(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.sin(input)

    def vjp(g, input):
        return g * tx.cos(input).conj()

    reference = elementwise(cmath.sin)
    samples = unary_samples(low=-6, high=6)


class Cos(Pointwise):
    """Cosine of an angle in radians.

    >>> tx.cos(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 0.5403])
    """

    signature = "cos(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.cos(input)

    def vjp(g, input):
        return -g * tx.sin(input).conj()

    reference = elementwise(cmath.cos)
    samples = unary_samples(low=-6, high=6)


class Tan(Pointwise):
    """Tangent of an angle in radians.

    >>> tx.tan(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5574])
    """

    signature = "tan(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.tan(input)

    def vjp(g, y):
        return g * (1 + y * y).conj()

    reference = elementwise(cmath.tan)
    samples = unary_samples(low=-1.2, high=1.2)


class Asin(Pointwise):
    """Angle whose sine is input; NaN outside [-1, 1].

    >>> tx.asin(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 1.5708])
    """

    signature = "asin(input) -> y"
    aliases = ("arcsin",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.asin(input)

    def vjp(g, input):
        return g * tx.rsqrt(1 - input * input).conj()

    reference = elementwise(cmath.asin)
    samples = unary_samples(low=-0.9, high=0.9)


class Acos(Pointwise):
    """Angle whose cosine is input; NaN outside [-1, 1].

    >>> tx.acos(tx.tensor([0.0, 1.0]))
    tensor([1.5708, 0.0000])
    """

    signature = "acos(input) -> y"
    aliases = ("arccos",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.acos(input)

    def vjp(g, input):
        return -g * tx.rsqrt(1 - input * input).conj()

    reference = elementwise(cmath.acos)
    samples = unary_samples(low=-0.9, high=0.9)


class Atan(Pointwise):
    """Angle whose tangent is input.

    >>> tx.atan(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7854])
    """

    signature = "atan(input) -> y"
    aliases = ("arctan",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.atan(input)

    def vjp(g, input):
        return g / (input * input + 1).conj()

    reference = elementwise(cmath.atan)
    samples = unary_samples(low=-4, high=4)


class Atan2(Pointwise):
    """Angle of the point (other, input) seen from the origin, in (-pi, pi].

    >>> tx.atan2(tx.tensor([1.0, -1.0]), tx.tensor([-1.0, 1.0]))
    tensor([ 2.3562, -0.7854])
    """

    signature = "atan2(input, other) -> y"
    aliases = ("arctan2",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input, other):
        return k.atan2(input, other)

    def vjp_input(g, input, other):
        return g * other * _inverse_square(input, other)

    def vjp_other(g, input, other):
        return -g * input * _inverse_square(input, other)

    reference = elementwise(math.atan2)
    samples = binary_samples(numbers="none", avoid=(0,), other_avoid=(0,))


def _inverse_square(y, x):
    """1 / (x*x + y*y), and 0 at the origin, which has no direction."""
    square = x * x + y * y
    return tx.where(square == 0, 0, 1 / tx.where(square == 0, 1, square))


class Sinh(Pointwise):
    """Hyperbolic sine.

    >>> tx.sinh(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 1.1752])
    """

    signature = "sinh(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.sinh(input)

    def vjp(g, input):
        return g * tx.cosh(input).conj()

    reference = elementwise(cmath.sinh)
    samples = unary_samples(low=-4, high=4)


class Cosh(Pointwise):
    """Hyperbolic cosine.

    >>> tx.cosh(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 1.5431])
    """

    signature = "cosh(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.cosh(input)

    def vjp(g, input):
        return g * tx.sinh(input).conj()

    reference = elementwise(cmath.cosh)
    samples = unary_samples(low=-4, high=4)


class Tanh(Pointwise):
    """Hyperbolic tangent.

    >>> tx.tanh(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    signature = "tanh(input) -> y"
    aliases = ("nn.functional.tanh",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.tanh(input)

    def vjp(g, y):
        return g * (1 - y * y).conj()

    reference = elementwise(cmath.tanh)
    samples = unary_samples(low=-4, high=4)


class Asinh(Pointwise):
    """Number whose hyperbolic sine is input.

    >>> tx.asinh(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8814])
    """

    signature = "asinh(input) -> y"
    aliases = ("arcsinh",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.asinh(input)

    def vjp(g, input):
        return g * tx.rsqrt(input * input + 1).conj()

    reference = elementwise(cmath.asinh)
    samples = unary_samples(low=-4, high=4)


class Acosh(Pointwise):
    """Number whose hyperbolic cosine is input; NaN below 1.

    >>> tx.acosh(tx.tensor([1.0, 2.0]))
    tensor([0.0000, 1.3170])
    """

    signature = "acosh(input) -> y"
    aliases = ("arccosh",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.acosh(input)

    def vjp(g, input):
        if input.dtype.is_complex:  # two roots: the branch cut is that of acosh
            return g * (tx.rsqrt(input + 1) * tx.rsqrt(input - 1)).conj()
        return g * tx.rsqrt(input * input - 1)

    reference = elementwise(cmath.acosh)
    samples = unary_samples(low=1.1, high=5)


class Atanh(Pointwise):
    """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond.

    >>> tx.atanh(tx.tensor([0.0, 0.5]))
    tensor([0.0000, 0.5493])
    """

    signature = "atanh(input) -> y"
    aliases = ("arctanh",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.atanh(input)

    def vjp(g, input):
        return g / (1 - input * input).conj()

    reference = real_or_complex(
        with_limits(math.atanh, {1.0: math.inf, -1.0: -math.inf}), cmath.atanh
    )
    samples = unary_samples(low=-0.9, high=0.9)


class Deg2rad(Pointwise):
    """Degrees to radians.

    >>> tx.deg2rad(tx.tensor([180.0]))
    tensor([3.1416])
    """

    signature = "deg2rad(input) -> y"
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return input * (math.pi / 180)

    def vjp(g):
        return g * (math.pi / 180)

    reference = elementwise(math.radians)
    samples = unary_samples(low=-360, high=360)


class Rad2deg(Pointwise):
    """Radians to degrees.

    >>> tx.rad2deg(tx.tensor([0.5]))
    tensor([28.6479])
    """

    signature = "rad2deg(input) -> y"
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return input * (180 / math.pi)

    def vjp(g):
        return g * (180 / math.pi)

    reference = elementwise(math.degrees)
    samples = unary_samples(low=-6, high=6)


class Sinc(Pointwise):
    """sin(pi x) / (pi x), and 1 at 0.

    >>> tx.sinc(tx.tensor([0.0, 0.5]))
    tensor([1.0000, 0.6366])
    """

    signature = "sinc(input) -> y"
    aliases = ("special.sinc",)
    result = "float"
    inplace = True

    def scalar(k, input):
        zero = input == 0
        angle = k.where(zero, k.constant(1, input), input * math.pi)
        return k.where(zero, k.constant(1, input), k.sin(angle) / angle)

    def vjp(g, input):
        zero = input == 0
        x = tx.where(zero, 1, input)
        angle = x * math.pi
        slope = (tx.cos(angle) - tx.sin(angle) / angle) / x
        return g * tx.where(zero, 0, slope).conj()

    reference = real_or_complex(
        lambda a: math.sin(math.pi * a) / (math.pi * a) if a else 1.0,
        lambda z: cmath.sin(cmath.pi * z) / (cmath.pi * z) if z else 1 + 0j,
    )
    samples = unary_samples(low=-3, high=3, avoid=(0,))
