"""Comparisons, extrema of two tensors, and questions about one number."""

import cmath
import math

from thixo.dtype import BOOL, FLOATS, INTEGERS
from thixo.errors import DTypeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Pointwise
from thixo.ops.references import elementwise, is_nan
from thixo.ops.samples import Bad, Sample, binary_samples, unary_samples

REALS = BOOL + INTEGERS + FLOATS


class Eq(Pointwise):
    """Whether the elements are equal.

    >>> tx.eq(tx.tensor([1, 2]), tx.tensor([1, 3]))
    tensor([ True, False])
    """

    signature = "eq(input, other: operand) -> y"
    result = "bool"
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return input == other

    reference = elementwise(lambda a, b: a == b)
    samples = binary_samples()


class Ne(Pointwise):
    """Whether the elements differ.

    >>> tx.ne(tx.tensor([1, 2]), tx.tensor([1, 3]))
    tensor([False,  True])
    """

    signature = "ne(input, other: operand) -> y"
    aliases = ("not_equal",)
    result = "bool"
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return input != other

    reference = elementwise(lambda a, b: a != b)
    samples = binary_samples()


class Lt(Pointwise):
    """Whether input is less than other.

    >>> tx.lt(tx.tensor([1, 2]), 2)
    tensor([ True, False])
    """

    signature = "lt(input, other: operand) -> y"
    aliases = ("less",)
    result = "bool"
    dtypes = REALS
    inplace = True
    vjp = None

    def scalar(k, input, other):
        return input < other

    reference = elementwise(lambda a, b: b - a > 0)
    samples = binary_samples()

    def bad(s):
        yield Bad(Sample(s.real(3), s.real(2)), ValueError, "lt")


class Le(Pointwise):
    """Whether input is less than or equal to other.

    >>> tx.le(tx.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """

    signature = "le(input, other: operand) -> y"
    aliases = ("less_equal",)
    result = "bool"
    dtypes = REALS
    inplace = True
    vjp = None

    def scalar(k, input, other):
        return input <= other

    reference = elementwise(lambda a, b: a == b or b - a > 0)
    samples = binary_samples()


class Gt(Pointwise):
    """Whether input is greater than other.

    >>> tx.gt(tx.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """

    signature = "gt(input, other: operand) -> y"
    aliases = ("greater",)
    result = "bool"
    dtypes = REALS
    inplace = True
    vjp = None

    def scalar(k, input, other):
        return input > other

    reference = elementwise(lambda a, b: a - b > 0)
    samples = binary_samples()


class Ge(Pointwise):
    """Whether input is greater than or equal to other.

    >>> tx.ge(tx.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """

    signature = "ge(input, other: operand) -> y"
    aliases = ("greater_equal",)
    result = "bool"
    dtypes = REALS
    inplace = True
    vjp = None

    def scalar(k, input, other):
        return input >= other

    reference = elementwise(lambda a, b: a == b or a - b > 0)
    samples = binary_samples()


# ---- the larger and the smaller of two


class Maximum(Pointwise):
    """The larger element; NaN if either is. Equal elements share the gradient.

    >>> tx.maximum(tx.tensor([1.0, 5.0]), tx.tensor([3.0, 2.0]))
    tensor([3., 5.])
    """

    signature = "maximum(input, other) -> y"
    dtypes = REALS
    commutative = True

    def scalar(k, input, other):
        return k.maximum(input, other)

    def vjp_input(g, input, other):
        return tx.where(input < other, 0, tx.where(input == other, g / 2, g))

    def vjp_other(g, input, other):
        return tx.where(input > other, 0, tx.where(input == other, g / 2, g))

    reference = elementwise(lambda a, b: math.nan if is_nan(a) or is_nan(b) else max(a, b))
    samples = binary_samples(numbers="none")


class Minimum(Pointwise):
    """The smaller element; NaN if either is. Equal elements share the gradient.

    >>> tx.minimum(tx.tensor([1.0, 5.0]), tx.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """

    signature = "minimum(input, other) -> y"
    dtypes = REALS
    commutative = True

    def scalar(k, input, other):
        return k.minimum(input, other)

    def vjp_input(g, input, other):
        return tx.where(input > other, 0, tx.where(input == other, g / 2, g))

    def vjp_other(g, input, other):
        return tx.where(input < other, 0, tx.where(input == other, g / 2, g))

    reference = elementwise(lambda a, b: math.nan if is_nan(a) or is_nan(b) else min(a, b))
    samples = binary_samples(numbers="none")


class Fmax(Pointwise):
    """The larger element, the other one where one is NaN.

    >>> tx.fmax(tx.tensor([1.0, float("nan")]), tx.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """

    signature = "fmax(input, other) -> y"
    dtypes = REALS

    def scalar(k, input, other):
        return k.fmax(input, other)

    def vjp_input(g, input, other):
        return tx.where((input >= other) | (other != other), g, 0)

    def vjp_other(g, input, other):
        return tx.where((input >= other) | (other != other), 0, g)

    reference = elementwise(lambda a, b: b if is_nan(a) else a if is_nan(b) else max(a, b))

    def samples(s):
        yield from binary_samples(numbers="none")(s)
        if s.dtype.is_floating_point:
            yield Sample(
                s.array([math.nan, 1, math.nan]), s.array([2, math.nan, math.nan]), grad=False
            )


class Fmin(Pointwise):
    """The smaller element, the other one where one is NaN.

    >>> tx.fmin(tx.tensor([1.0, float("nan")]), tx.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """

    signature = "fmin(input, other) -> y"
    dtypes = REALS

    def scalar(k, input, other):
        return k.fmin(input, other)

    def vjp_input(g, input, other):
        return tx.where((input <= other) | (other != other), g, 0)

    def vjp_other(g, input, other):
        return tx.where((input <= other) | (other != other), 0, g)

    reference = elementwise(lambda a, b: b if is_nan(a) else a if is_nan(b) else min(a, b))

    def samples(s):
        yield from binary_samples(numbers="none")(s)
        if s.dtype.is_floating_point:
            yield Sample(
                s.array([math.nan, 1, math.nan]), s.array([2, math.nan, math.nan]), grad=False
            )


class Heaviside(Pointwise):
    """0 below zero and for NaN, 1 above, values at zero.

    >>> tx.heaviside(tx.tensor([-1.5, 0.0, 2.0]), tx.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    signature = "heaviside(input, values) -> y"
    dtypes = REALS
    inplace = True
    vjp = None

    def check(input, values):
        if input.dtype is not values.dtype:
            raise DTypeError(
                f"heaviside: input is {describe(input)}, values is {describe(values)}; they must be "
                f"of one dtype"
            )

    def scalar(k, input, values):
        return k.where(input == 0, values, k.cast(input > 0, values))

    reference = elementwise(lambda a, v: v if a == 0 else type(v)(a > 0))

    def samples(s):
        yield from binary_samples(numbers="none")(s)
        yield Sample(s.array([-1, 0, 1, 0]), s.real())

    def bad(s):
        yield Bad(Sample(s.ints(2), s.bools(2)), DTypeError, "one dtype")


# ---- questions about one number


def _special_values(s):
    yield from unary_samples()(s)
    if s.dtype.is_floating_point or s.dtype.is_complex:
        yield Sample(s.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0]))
    if s.dtype.is_complex:
        yield Sample(s.array([complex(1, math.nan), complex(math.inf, math.nan), 1 + 0j]))


class Isnan(Pointwise):
    """Whether the number is NaN.

    >>> tx.isnan(tx.tensor([1.0, float("nan")]))
    tensor([False,  True])
    """

    signature = "isnan(input) -> y"
    result = "bool"
    vjp = None

    def scalar(k, input):
        return input != input

    reference = elementwise(cmath.isnan)
    samples = _special_values


class Isinf(Pointwise):
    """Whether the number is infinite, or a part of it for a complex one.

    >>> tx.isinf(tx.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """

    signature = "isinf(input) -> y"
    result = "bool"
    vjp = None

    def scalar(k, input):
        return k.isinf(input)

    reference = elementwise(cmath.isinf)
    samples = _special_values


class Isfinite(Pointwise):
    """Whether the number is neither infinite nor NaN.

    >>> tx.isfinite(tx.tensor([1.0, float("inf"), float("nan")]))
    tensor([ True, False, False])
    """

    signature = "isfinite(input) -> y"
    result = "bool"
    vjp = None

    def scalar(k, input):
        return k.isfinite(input)

    reference = elementwise(cmath.isfinite)
    samples = _special_values


class Isposinf(Pointwise):
    """Whether the number is positive infinity.

    >>> tx.isposinf(tx.tensor([float("-inf"), float("inf")]))
    tensor([False,  True])
    """

    signature = "isposinf(input) -> y"
    result = "bool"
    dtypes = REALS
    vjp = None

    def scalar(k, input):
        return k.isinf(input) & (input > 0)

    reference = elementwise(lambda a: a == math.inf)
    samples = _special_values


class Isneginf(Pointwise):
    """Whether the number is negative infinity.

    >>> tx.isneginf(tx.tensor([float("-inf"), float("inf")]))
    tensor([ True, False])
    """

    signature = "isneginf(input) -> y"
    result = "bool"
    dtypes = REALS
    vjp = None

    def scalar(k, input):
        return k.isinf(input) & (input < 0)

    reference = elementwise(lambda a: a == -math.inf)
    samples = _special_values


class Isreal(Pointwise):
    """Whether the number has no imaginary part.

    >>> tx.isreal(tx.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """

    signature = "isreal(input) -> y"
    result = "bool"
    vjp = None

    def scalar(k, input):
        return k.imag(input) == 0

    reference = elementwise(lambda a: complex(a).imag == 0)

    def samples(s):
        yield from unary_samples()(s)
        if s.dtype.is_complex:
            yield Sample(s.array([1 + 0j, 1 + 1j, 0j]))
