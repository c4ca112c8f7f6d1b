"""Exponentials, logarithms and what is made of them."""

import cmath
import math

from thixo.dtype import BOOL, COMPLEX, FLOATS, INTEGERS
from thixo.ops import public as tx
from thixo.ops.base import Pointwise
from thixo.ops.references import elementwise, from_scipy, real_or_complex, with_limits
from thixo.ops.samples import Sample, binary_samples, unary_samples

REALS = BOOL + INTEGERS + FLOATS
LN2 = math.log(2)
LN10 = math.log(10)


class Exp(Pointwise):
    """e to the power of input.

    >>> tx.exp(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """

    signature = "exp(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.exp(input)

    def vjp(g, y):
        return g * y.conj()

    reference = elementwise(cmath.exp)
    samples = unary_samples(low=-4, high=4)


class Exp2(Pointwise):
    """2 to the power of input.

    >>> tx.exp2(tx.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """

    signature = "exp2(input) -> y"
    aliases = ("special.exp2",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.exp2(input)

    def vjp(g, y):
        return g * (y.conj() * LN2)

    reference = elementwise(lambda a: 2.0**a)
    samples = unary_samples(low=-4, high=4)


class Expm1(Pointwise):
    """exp(input) - 1, exact for small input.

    >>> tx.expm1(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """

    signature = "expm1(input) -> y"
    aliases = ("special.expm1",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.expm1(input)

    def vjp(g, y):
        return g * (y.conj() + 1)

    reference = real_or_complex(
        math.expm1,
        lambda z: complex(
            math.expm1(z.real) * math.cos(z.imag) - 2 * math.sin(z.imag / 2) ** 2,
            math.exp(z.real) * math.sin(z.imag),
        ),
    )
    samples = unary_samples(low=-4, high=4)


class Log(Pointwise):
    """Natural logarithm; NaN for negative real numbers, -inf at 0.

    >>> tx.log(tx.tensor([1.0, 2.0]))
    tensor([0.0000, 0.6931])
    """

    signature = "log(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.log(input)

    def vjp(g, input):
        return g / input.conj()

    reference = real_or_complex(with_limits(math.log, {0.0: -math.inf}), cmath.log)
    samples = unary_samples(low=0.1, high=5)


class Log2(Pointwise):
    """Logarithm to base 2.

    >>> tx.log2(tx.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """

    signature = "log2(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.log2(input)

    def vjp(g, input):
        return g / (input.conj() * LN2)

    reference = real_or_complex(
        with_limits(math.log2, {0.0: -math.inf}), lambda z: cmath.log(z) / LN2
    )
    samples = unary_samples(low=0.1, high=5)


class Log10(Pointwise):
    """Logarithm to base 10.

    >>> tx.log10(tx.tensor([1.0, 100.0]))
    tensor([0., 2.])
    """

    signature = "log10(input) -> y"
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.log10(input)

    def vjp(g, input):
        return g / (input.conj() * LN10)

    reference = real_or_complex(
        with_limits(math.log10, {0.0: -math.inf}), lambda z: cmath.log(z) / LN10
    )
    samples = unary_samples(low=0.1, high=5)


class Log1p(Pointwise):
    """log(1 + input), exact for small input.

    >>> tx.log1p(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """

    signature = "log1p(input) -> y"
    aliases = ("special.log1p",)
    result = "float"
    inplace = True

    def scalar(k, input):
        return k.log1p(input)

    def vjp(g, input):
        return g / (input + 1).conj()

    reference = real_or_complex(
        with_limits(math.log1p, {-1.0: -math.inf}),
        lambda z: cmath.log(1 + z),
    )
    samples = unary_samples(low=-0.8, high=4)


def _log_of_sum(a, b, base=math.e):
    """log(base**a + base**b): the larger, and what the smaller adds to it."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    low, high = sorted((a, b))
    if math.isinf(low) or math.isinf(high):
        return high + 0.0  # the logarithm of 1 is 0.0, not -0.0
    return high + math.log(1 + math.pow(base, low - high), base)


class Logaddexp(Pointwise):
    """log(exp(input) + exp(other)) without overflow.

    >>> tx.logaddexp(tx.tensor([0.0, 1000.0]), tx.tensor([0.0, 1000.0]))
    tensor([6.9315e-01, 1.0007e+03])
    """

    signature = "logaddexp(input, other) -> y"
    dtypes = FLOATS + COMPLEX

    def scalar(k, input, other):
        if k.is_complex(input):
            first = k.real(input) >= k.real(other)
            larger, smaller = k.where(first, input, other), k.where(first, other, input)
            same = k.isinf(k.real(input)) & (k.real(input) == k.real(other))
            plain = larger + k.log1p(k.exp(smaller - larger))
            return k.where(
                same, k.where(k.real(input) < 0, input, k.log(k.exp(input) + k.exp(other))), plain
            )
        same = k.isinf(input) & (input == other)
        return k.where(same, input, k.maximum(input, other) + k.log1p(k.exp(-k.abs(input - other))))

    def vjp_input(g, input, other):
        return g * tx.sigmoid(input - other).conj()

    def vjp_other(g, input, other):
        return g * tx.sigmoid(other - input).conj()

    reference = elementwise(
        lambda a, b: (
            cmath.log(cmath.exp(a) + cmath.exp(b)) if isinstance(a, complex) else _log_of_sum(a, b)
        )
    )
    samples = binary_samples(numbers="none")


class Logaddexp2(Pointwise):
    """log2(2**input + 2**other) without overflow.

    >>> tx.logaddexp2(tx.tensor([3.0]), tx.tensor([3.0]))
    tensor([4.])
    """

    signature = "logaddexp2(input, other) -> y"
    dtypes = FLOATS

    def scalar(k, input, other):
        same = k.isinf(input) & (input == other)
        rest = k.log1p(k.exp2(-k.abs(input - other))) * (1 / LN2)
        return k.where(same, input, k.maximum(input, other) + rest)

    def vjp_input(g, input, other):
        return g * tx.sigmoid((input - other) * LN2)

    def vjp_other(g, input, other):
        return g * tx.sigmoid((other - input) * LN2)

    reference = elementwise(lambda a, b: _log_of_sum(a, b, 2.0))
    samples = binary_samples(numbers="none")


class Xlogy(Pointwise):
    """input * log(other), and 0 where input is 0 (unless other is NaN).

    >>> tx.xlogy(tx.tensor([0.0, 2.0]), tx.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """

    signature = "xlogy(input: operand, other: operand) -> y"
    aliases = ("special.xlogy",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input, other):
        still = (input == 0) & ~k.isnan(other)
        return k.where(still, k.constant(0, input), input * k.log(other))

    def vjp_input(g, input, other):
        still = (input == 0) & (other <= 0)
        return g * tx.where(still, 0, tx.log(tx.where(still, 1, other)))

    def vjp_other(g, input, other):
        return g * input / other

    reference = from_scipy("special.xlogy")

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.positive(s.m))
        yield Sample(s.real(s.n, 1), s.positive(s.n, s.m))
        yield Sample(2.0, s.positive(s.n))
        yield Sample(s.real(s.n), 3.0)
        yield Sample(s.real(), s.positive())
        yield Sample(s.real(0), s.positive(0))


class Xlog1py(Pointwise):
    """input * log1p(other), and 0 where input is 0 (unless other is NaN).

    >>> tx.special.xlog1py(tx.tensor([0.0, 2.0]), tx.tensor([-1.0, 0.0]))
    tensor([0., 0.])
    """

    signature = "xlog1py(input: operand, other: operand) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input, other):
        still = (input == 0) & ~k.isnan(other)
        return k.where(still, k.constant(0, input), input * k.log1p(other))

    def vjp_input(g, input, other):
        still = (input == 0) & (other <= -1)
        return g * tx.where(still, 0, tx.log1p(tx.where(still, 1, other)))

    def vjp_other(g, input, other):
        return g * input / (other + 1)

    reference = from_scipy("special.xlog1py")

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.positive(s.m))
        yield Sample(s.real(s.n, 1), s.positive(s.n, s.m))
        yield Sample(2.0, s.positive(s.n))
        yield Sample(s.real(s.n), 3.0)
        yield Sample(s.real(), s.positive())
        yield Sample(s.real(0), s.positive(0))


class Entr(Pointwise):
    """Entropy of one probability: -input * log(input), 0 at 0, -inf below.

    >>> tx.special.entr(tx.tensor([0.0, 1.0, -1.0]))
    tensor([0., -0., -inf])
    """

    signature = "entr(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        inside = k.where(input == 0, k.constant(0, input), -input * k.log(input))
        return k.where(input < 0, k.constant(-math.inf, input), inside)

    def vjp(g, input):
        return g * -(1 + tx.log(input))

    reference = from_scipy("special.entr")
    samples = unary_samples(low=0.1, high=3)


class Sigmoid(Pointwise):
    """The logistic function 1 / (1 + exp(-input)).

    >>> tx.sigmoid(tx.tensor([0.0]))
    tensor([0.5000])
    """

    signature = "sigmoid(input) -> y"
    aliases = ("special.expit", "nn.functional.sigmoid")
    result = "float"
    inplace = True

    def scalar(k, input):
        return 1 / (1 + k.exp(-input))

    def vjp(g, y):
        return g * ((1 - y) * y).conj()

    reference = real_or_complex(
        lambda a: 0.5 * (1 + math.tanh(a / 2)), lambda z: 0.5 * (1 + cmath.tanh(z / 2))
    )
    samples = unary_samples(low=-4, high=4)


class Logit(Pointwise):
    """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given.

    >>> tx.logit(tx.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """

    signature = "logit(input, eps: float? = None) -> y"
    aliases = ("special.logit",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input, eps):
        p = input
        if eps is not None:
            p = k.where(
                p < eps, k.constant(eps, p), k.where(p > 1 - eps, k.constant(1 - eps, p), p)
            )
        return k.log(p / (1 - p))

    def vjp(g, input, eps):
        low = 0.0 if eps is None else eps
        outside = (input < low) | (input > 1 - low)
        p = tx.where(outside, 0.5, input)
        return tx.where(outside, math.nan if eps is None else 0.0, g / (p * (1 - p)))

    def reference(input, eps):
        def of(p):
            p = float(p)
            if eps is not None:
                p = min(max(p, eps), 1 - eps)
            return math.log(p) - math.log1p(-p) if 0 < p < 1 else _edge(p)

        return elementwise(of)(input)

    def samples(s):
        yield from unary_samples(low=0.1, high=0.9)(s)
        yield Sample(s.real(s.n, s.m, low=-0.5, high=1.5), eps=0.2)
        yield Sample(s.real(s.n, low=0.1, high=0.9), 0.01)


def _edge(p):
    return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
