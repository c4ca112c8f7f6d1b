"""Rounding, and the parts of a floating-point number."""

import math

import numpy as np

from thixo.dtype import FLOATS, INTEGERS, float32, float64, int32
from thixo.errors import DTypeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Pointwise, Spec
from thixo.ops.references import elementwise
from thixo.ops.samples import Bad, Sample, binary_samples, unary_samples

WHOLE_OR_REAL = INTEGERS + FLOATS


def _steps(s):
    """Samples away from the whole and half numbers, where rounding jumps."""
    yield from unary_samples(avoid=(-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2))(s)


def _whole(fn):
    """The rounding of one number; infinities and NaN stay, and a zero has the number's sign."""

    def rounded(a):
        if isinstance(a, int) or not math.isfinite(a):
            return a
        return math.copysign(fn(a), a)

    return elementwise(rounded)


class Floor(Pointwise):
    """The largest whole number that is not above input.

    >>> tx.floor(tx.tensor([-0.5, 1.5]))
    tensor([-1.,  1.])
    """

    signature = "floor(input) -> y"
    dtypes = WHOLE_OR_REAL
    inplace = True

    def scalar(k, input):
        return k.floor(input)

    def vjp(g):
        return tx.zeros_like(g)

    reference = _whole(math.floor)
    samples = _steps


class Ceil(Pointwise):
    """The smallest whole number that is not below input.

    >>> tx.ceil(tx.tensor([-0.5, 1.5]))
    tensor([-0., 2.])
    """

    signature = "ceil(input) -> y"
    dtypes = WHOLE_OR_REAL
    inplace = True

    def scalar(k, input):
        return k.ceil(input)

    def vjp(g):
        return tx.zeros_like(g)

    reference = _whole(math.ceil)
    samples = _steps


class Trunc(Pointwise):
    """Input without its fractional part.

    >>> tx.trunc(tx.tensor([-1.5, 1.5]))
    tensor([-1.,  1.])
    """

    signature = "trunc(input) -> y"
    aliases = ("fix",)
    dtypes = WHOLE_OR_REAL
    inplace = True

    def scalar(k, input):
        return k.trunc(input)

    def vjp(g):
        return tx.zeros_like(g)

    reference = _whole(math.trunc)
    samples = _steps


class Round(Pointwise):
    """The nearest number with that many decimals; a half goes to the even neighbour.

    >>> tx.round(tx.tensor([0.5, 1.5, 2.345]))
    tensor([0., 2., 2.])
    """

    signature = "round(input, *, decimals: int = 0) -> y"
    aliases = ("special.round",)
    dtypes = WHOLE_OR_REAL
    inplace = True

    def check(input, decimals):
        if decimals != 0 and not input.dtype.is_floating_point:
            raise DTypeError(
                f"round: input is {describe(input)}, decimals is {decimals}; integers are rounded "
                f"with decimals=0 only"
            )
        if abs(decimals) > 308:
            raise ValueRangeError(f"round: decimals is {decimals}; it must be in [-308, 308]")

    def scalar(k, input, decimals):
        if decimals == 0:
            return k.round(input)
        scale = 10.0 ** abs(decimals)
        if decimals > 0:
            return k.round(input * scale) / scale
        return k.round(input / scale) * scale

    def vjp(g):
        return tx.zeros_like(g)

    def reference(input, decimals):
        return elementwise(lambda a: round(a, decimals) if math.isfinite(a) else a)(input)

    def samples(s):
        yield from _steps(s)
        if s.dtype in (float32, float64):
            yield Sample(s.real(s.n, s.m), decimals=2, grad=False)
            yield Sample(s.real(s.n, low=-900, high=900), decimals=-2, grad=False)

    def bad(s):
        yield Bad(Sample(s.ints(3), decimals=2), DTypeError, "decimals")


class Frac(Pointwise):
    """The fractional part, with the sign of input.

    >>> tx.frac(tx.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """

    signature = "frac(input) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input):
        return input - k.trunc(input)

    def vjp(g):
        return g

    reference = elementwise(lambda a: math.fmod(a, 1.0) + 0.0)  # no -0.0
    samples = _steps


class Ldexp(Composite):
    """Input times 2 to the power of other.

    >>> tx.ldexp(tx.tensor([1.0, 3.0]), tx.tensor([2, 3]))
    tensor([ 4., 24.])
    """

    signature = "ldexp(input, other) -> y"
    inplace = True

    def compose(input, other):
        return tx.mul(input, tx.pow(2.0, other))

    reference = elementwise(lambda a, b: a * 2.0**b)
    samples = binary_samples(numbers="none")


class Frexp(Op):
    """The mantissa in [0.5, 1) and the power of two whose product is input.

    >>> tx.frexp(tx.tensor([6.0])).mantissa, tx.frexp(tx.tensor([6.0])).exponent
    (tensor([0.7500]), tensor([3], dtype=thixo.int32))
    """

    signature = "frexp(input) -> (mantissa, exponent)"
    dtypes = FLOATS
    nondifferentiable = ("exponent",)

    def infer(input):
        shape = tuple(input.shape)
        return Spec(shape, input.dtype), Spec(shape, int32)

    def kernel(input):
        mantissa, exponent = np.frexp(input)
        return mantissa, exponent.astype(np.int32)

    def vjp(g_mantissa, exponent):
        return g_mantissa * tx.pow(2.0, -exponent)

    def reference(input):
        pairs = [math.frexp(a) for a in input.ravel().tolist()]
        mantissa = np.array([p[0] for p in pairs], np.float64).reshape(input.shape)
        return mantissa, np.array([p[1] for p in pairs], np.int32).reshape(input.shape)

    samples = unary_samples(avoid=(-2, -1, -0.5, 0, 0.5, 1, 2))


class Nextafter(Pointwise):
    """The next number that the dtype has after input, towards other.

    >>> tx.nextafter(tx.tensor([1.0]), tx.tensor([2.0])) > 1
    tensor([True])
    """

    signature = "nextafter(input, other) -> y"
    dtypes = (float32, float64)  # the half types are computed in float32, whose steps are smaller
    inplace = True

    def scalar(k, input, other):
        return k.nextafter(input, other)

    def vjp_input(g):
        return g

    def vjp_other(g):
        return tx.zeros_like(g)

    reference = elementwise(math.nextafter)
    samples = binary_samples(numbers="none")
