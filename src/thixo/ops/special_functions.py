"""Error functions, gamma functions and the normal distribution."""

import math

from thixo.dtype import BOOL, FLOATS, INTEGERS
from thixo.errors import AutogradError, ValueRangeError
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise, from_mpmath, from_scipy
from thixo.ops.samples import Bad, Sample, unary_samples

REALS = BOOL + INTEGERS + FLOATS
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


# ---- error functions


class Erf(Pointwise):
    """Error function.

    >>> tx.erf(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """

    signature = "erf(input) -> y"
    aliases = ("special.erf",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.special("erf", input)

    def vjp(g, input):
        return g * (TWO_OVER_ROOT_PI * tx.exp(-(input * input)))

    reference = elementwise(math.erf)
    samples = unary_samples(low=-4, high=4)


class Erfc(Pointwise):
    """1 - erf(input), exact where that is small.

    >>> tx.erfc(tx.tensor([0.0, 1.0]))
    tensor([1.0000, 0.1573])
    """

    signature = "erfc(input) -> y"
    aliases = ("special.erfc",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.special("erfc", input)

    def vjp(g, input):
        return g * (-TWO_OVER_ROOT_PI * tx.exp(-(input * input)))

    reference = elementwise(math.erfc)
    samples = unary_samples(low=-4, high=4)


class Erfcx(Pointwise):
    """exp(input**2) * erfc(input), which does not underflow.

    >>> tx.special.erfcx(tx.tensor([0.0, 100.0]))
    tensor([1.0000, 0.0056])
    """

    signature = "erfcx(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("erfcx", input)

    def vjp(g, input, y):
        return g * (2 * input * y - TWO_OVER_ROOT_PI)

    reference = from_scipy("special.erfcx")
    samples = unary_samples(low=-2, high=4)


class Erfinv(Pointwise):
    """The number whose erf is input; infinite at -1 and 1, NaN beyond.

    >>> tx.erfinv(tx.tensor([0.0, 0.5]))
    tensor([0.0000, 0.4769])
    """

    signature = "erfinv(input) -> y"
    aliases = ("special.erfinv",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.special("erfinv", input)

    def vjp(g, y):
        return g * (0.5 * math.sqrt(math.pi) * tx.exp(y * y))

    reference = from_scipy("special.erfinv")
    samples = unary_samples(low=-0.95, high=0.95)


# ---- the normal distribution


class Ndtr(Pointwise):
    """The probability that a standard normal variable is below input.

    >>> tx.special.ndtr(tx.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    signature = "ndtr(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("ndtr", input)

    def vjp(g, input):
        return g * (tx.exp(-0.5 * (input * input)) * (1 / math.sqrt(2 * math.pi)))

    reference = elementwise(lambda a: 0.5 * math.erfc(-a / math.sqrt(2)))
    samples = unary_samples(low=-4, high=4)


class Ndtri(Pointwise):
    """The number that a standard normal variable is below with probability input.

    >>> tx.special.ndtri(tx.tensor([0.5, 0.9]))
    tensor([0.0000, 1.2816])
    """

    signature = "ndtri(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("ndtri", input)

    def vjp(g, y):
        return g * (math.sqrt(2 * math.pi) * tx.exp(0.5 * (y * y)))

    reference = from_scipy("special.ndtri")
    samples = unary_samples(low=0.05, high=0.95)


class LogNdtr(Pointwise):
    """Logarithm of ndtr(input), which does not underflow.

    >>> tx.special.log_ndtr(tx.tensor([0.0, -40.0]))
    tensor([-6.9315e-01, -8.0461e+02])
    """

    signature = "log_ndtr(input) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input):
        return k.special("log_ndtr", input)

    def vjp(g, input):
        # density over probability, where both underflow
        return g * (math.sqrt(2 / math.pi) / tx.special.erfcx(input * -math.sqrt(0.5)))

    reference = from_scipy("special.log_ndtr")
    samples = unary_samples(low=-8, high=4)


# ---- gamma functions


class Lgamma(Pointwise):
    """Logarithm of the absolute value of the gamma function.

    >>> tx.lgamma(tx.tensor([1.0, 4.0]))
    tensor([0.0000, 1.7918])
    """

    signature = "lgamma(input) -> y"
    aliases = ("special.gammaln",)
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.special("lgamma", input)

    def vjp(g, input):
        return g * tx.digamma(input)

    reference = elementwise(
        lambda a: math.inf if a == -math.inf or (a <= 0 and a % 1 == 0) else math.lgamma(a)
    )
    samples = unary_samples(low=0.2, high=6)


class Digamma(Pointwise):
    """Derivative of lgamma.

    >>> tx.digamma(tx.tensor([1.0, 0.5]))
    tensor([-0.5772, -1.9635])
    """

    signature = "digamma(input) -> y"
    aliases = ("special.digamma", "special.psi")
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.special("digamma", input)

    def vjp(g, input):
        return g * tx.polygamma(1, input)

    def reference(input):
        from scipy.special import psi

        def of(a):
            if a == 0:
                return math.copysign(math.inf, -math.copysign(1.0, a))
            return math.nan if a == -math.inf or (a < 0 and a % 1 == 0) else float(psi(a))

        return elementwise(of)(input)

    samples = unary_samples(low=0.2, high=6)


class Polygamma(Pointwise):
    """The n-th derivative of digamma.

    >>> tx.polygamma(1, tx.tensor([1.0]))
    tensor([1.6449])
    """

    signature = "polygamma(n: int, input) -> y"
    aliases = ("special.polygamma",)
    promotes = ("input",)
    result = "float"
    dtypes = REALS
    method = False

    def check(n, input):
        if n < 0:
            raise ValueRangeError(f"polygamma: n is {n}; it must not be negative")
        if n > 169:
            raise ValueRangeError(f"polygamma: n is {n}; from 170 on its factor n! overflows")

    def scalar(k, n, input):
        if n == 0:
            return k.special("digamma", input)
        factor = math.exp(math.lgamma(n + 1)) if n > 20 else float(math.factorial(n))
        return (factor if n % 2 else -factor) * k.special("zeta", k.constant(n + 1, input), input)

    def vjp(g, n, input):
        return g * tx.polygamma(n + 1, input)

    def reference(n, input):
        return from_mpmath(lambda mp, a: mp.polygamma(n, a) if a else mp.inf * (-1) ** (n + 1))(
            input
        )

    def samples(s):
        for n in (0, 1, 2, 4):
            yield Sample(n, s.positive(s.n, s.m, low=0.5, high=4))
        yield Sample(1, s.positive())
        yield Sample(2, s.positive(0))

    def bad(s):
        yield Bad(Sample(-1, s.positive(2)), ValueRangeError, "negative")


class Mvlgamma(Composite):
    """Logarithm of the multivariate gamma function of dimension p.

    >>> tx.mvlgamma(tx.tensor([3.0]), 2)
    tensor([1.5502])
    """

    signature = "mvlgamma(input, p: int) -> y"
    aliases = ("special.multigammaln",)
    dtypes = INTEGERS + FLOATS
    inplace = True

    def compose(input, p):
        if p < 1:
            raise ValueRangeError(f"mvlgamma: p is {p}; it must be at least 1")
        if p > 100_000:
            raise ValueRangeError(f"mvlgamma: p is {p}; at most 100000 terms are summed")
        y = tx.lgamma(input)
        for j in range(1, p):
            y = y + tx.lgamma(input - j / 2)
        return y + p * (p - 1) / 4 * math.log(math.pi)

    def reference(input, p):
        from scipy.special import multigammaln

        return elementwise(lambda a: float(multigammaln(a, p)))(input)

    def samples(s):
        for p in (1, 2, 3):
            yield Sample(s.positive(s.n, s.m, low=2, high=5), p)
        yield Sample(s.positive(low=2, high=5), 1)
        yield Sample(s.positive(0), 2)

    def bad(s):
        yield Bad(Sample(s.positive(2), 0), ValueRangeError, "at least 1")


class Igamma(Pointwise):
    """Lower incomplete gamma function of input up to other, as a part of the whole.

    >>> tx.igamma(tx.tensor([4.0]), tx.tensor([4.0]))
    tensor([0.5665])
    """

    signature = "igamma(input: operand, other: operand) -> y"
    aliases = ("special.gammainc",)
    dtypes = FLOATS
    inplace = True

    def scalar(k, input, other):
        return k.special("igamma", input, other)

    def vjp_input(g):
        raise AutogradError("igamma: there is no gradient for input (the order), only for other")

    def vjp_other(g, input, other):
        return g * _gamma_density(input, other)

    reference = from_scipy("special.gammainc")

    def samples(s):
        yield Sample(s.positive(s.n, s.m), s.positive(s.m, high=4), grad=False)
        yield Sample(s.positive(s.n, 1, high=6), s.positive(), grad=False)
        yield Sample(2.5, s.positive(s.n, high=5))
        yield Sample(0.5, s.positive())
        yield Sample(s.positive(0), s.positive(0), grad=False)


def _gamma_density(order, x):
    if not hasattr(order, "dtype"):
        return tx.exp((order - 1) * tx.log(x) - x - math.lgamma(order))
    return tx.exp((order - 1) * tx.log(x) - x - tx.lgamma(order))


class Igammac(Pointwise):
    """Upper incomplete gamma function of input from other on, as a part of the whole.

    >>> tx.igammac(tx.tensor([4.0]), tx.tensor([4.0]))
    tensor([0.4335])
    """

    signature = "igammac(input: operand, other: operand) -> y"
    aliases = ("special.gammaincc",)
    dtypes = FLOATS
    inplace = True

    def scalar(k, input, other):
        return k.special("igammac", input, other)

    def vjp_input(g):
        raise AutogradError("igammac: there is no gradient for input (the order), only for other")

    def vjp_other(g, input, other):
        return -g * _gamma_density(input, other)

    reference = from_scipy("special.gammaincc")
    samples = Igamma.samples


class Zeta(Pointwise):
    """Hurwitz zeta function: the sum of (n + other)**-input over n = 0, 1, ...

    >>> tx.special.zeta(tx.tensor([2.0]), 1.0)
    tensor([1.6449])
    """

    signature = "zeta(input: operand, other: operand) -> y"
    namespace = "special"
    result = "float"
    dtypes = REALS

    def scalar(k, input, other):
        return k.special("zeta", input, other)

    def vjp_input(g):
        raise AutogradError("zeta: there is no gradient for input (the exponent), only for other")

    def vjp_other(g, input, other):
        return g * (-input * tx.special.zeta(input + 1, other))

    reference = from_scipy("special.zeta")

    def samples(s):
        yield Sample(s.real(s.n, s.m, low=2, high=5), s.positive(s.m), grad=False)
        yield Sample(s.real(s.n, 1, low=2, high=5), s.positive(), grad=False)
        yield Sample(2.5, s.positive(s.n, high=5))
        yield Sample(3, s.positive())
        yield Sample(s.real(0, low=2, high=5), s.positive(0), grad=False)
