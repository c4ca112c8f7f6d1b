"""Smooth activations, and the gated linear unit."""

import cmath
import math

from thixo.dtype import COMPLEX, FLOATS, INTEGERS
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise, real_or_complex
from thixo.ops.samples import Bad, Sample, unary_samples
from thixo.shape import normalize_dim

SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805
SQRT_2_OVER_PI = math.sqrt(2 / math.pi)


class Elu(Pointwise):
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere.

    >>> tx.elu(tx.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    signature = "elu(input, alpha: scalar = 1.0) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input, alpha):
        return k.where(input > 0, input, alpha * k.expm1(k.minimum(input, k.constant(0, input))))

    def vjp(g, input, alpha):
        return tx.where(input > 0, g, g * alpha * tx.exp(tx.clamp_max(input, 0)))

    def reference(input, alpha):
        return elementwise(lambda a: a if a >= 0 else alpha * (math.exp(a) - 1))(input)

    samples = unary_samples(avoid=(0,), options=({}, {"alpha": 0.5}))


class Celu(Pointwise):
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere.

    >>> tx.celu(tx.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """

    signature = "celu(input, alpha: scalar = 1.0) -> y"
    dtypes = FLOATS
    method = False
    inplace = True

    def check(input, alpha):
        if alpha == 0:
            raise ValueRangeError("celu: alpha is 0; it must not be")

    def scalar(k, input, alpha):
        low = alpha * k.expm1(k.minimum(input, k.constant(0, input)) / alpha)
        return k.where(input > 0, input, low)

    def vjp(g, input, alpha):
        return tx.where(input > 0, g, g * tx.exp(tx.clamp_max(input, 0) / alpha))

    def reference(input, alpha):
        return elementwise(lambda a: a if a >= 0 else alpha * (math.exp(a / alpha) - 1))(input)

    samples = unary_samples(avoid=(0,), options=({}, {"alpha": 0.5}))

    def bad(s):
        yield Bad(Sample(s.real(2), 0), ValueRangeError, "alpha")


class Selu(Pointwise):
    """elu with the scale and alpha that keep mean 0 and variance 1.

    >>> tx.selu(tx.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    signature = "selu(input) -> y"
    dtypes = FLOATS
    method = False
    inplace = True

    def scalar(k, input):
        low = SELU_ALPHA * k.expm1(k.minimum(input, k.constant(0, input)))
        return SELU_SCALE * k.where(input > 0, input, low)

    def vjp(g, input):
        low = SELU_ALPHA * tx.exp(tx.clamp_max(input, 0))
        return g * (SELU_SCALE * tx.where(input > 0, 1, low))

    reference = elementwise(
        lambda a: SELU_SCALE * (a if a >= 0 else SELU_ALPHA * (math.exp(a) - 1))
    )
    samples = unary_samples(avoid=(0,))


class Silu(Pointwise):
    """Input times sigmoid of input.

    >>> tx.silu(tx.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    signature = "silu(input) -> y"
    dtypes = FLOATS + COMPLEX
    inplace = True

    def scalar(k, input):
        return input / (1 + k.exp(-input))

    def vjp(g, input):
        s = tx.sigmoid(input)
        return g * (s * (1 + input * (1 - s))).conj()

    reference = real_or_complex(
        lambda a: a * (0.5 + 0.5 * math.tanh(a / 2)), lambda z: z * (0.5 + 0.5 * cmath.tanh(z / 2))
    )
    samples = unary_samples(low=-4, high=4)


class Mish(Pointwise):
    """Input times the hyperbolic tangent of softplus of input.

    >>> tx.mish(tx.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    signature = "mish(input) -> y"
    dtypes = FLOATS
    inplace = True

    def scalar(k, input):
        softplus = k.maximum(input, k.constant(0, input)) + k.log1p(k.exp(-k.abs(input)))
        return input * k.tanh(softplus)

    def vjp(g, input):
        t = tx.tanh(tx.nn.functional.softplus(input))
        return g * (t + input * (1 - t * t) * tx.sigmoid(input))

    reference = elementwise(lambda a: a * math.tanh(math.log1p(math.exp(min(a, 700.0)))))
    samples = unary_samples(low=-4, high=4)


class Gelu(Pointwise):
    """Input times the probability that a normal variable is below it; or its tanh approximation.

    >>> tx.nn.functional.gelu(tx.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    signature = "gelu(input, *, approximate: str = 'none') -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def check(input, approximate):
        if approximate not in ("none", "tanh"):
            raise ArgumentError(
                f"gelu: approximate is {approximate!r}; it must be 'none' or 'tanh'"
            )

    def scalar(k, input, approximate):
        if approximate == "tanh":
            inner = SQRT_2_OVER_PI * (input + 0.044715 * (input * input * input))
            return 0.5 * input * (1 + k.tanh(inner))
        return input * k.special("ndtr", input)

    def vjp(g, input, approximate):
        if approximate == "tanh":
            square = input * input
            t = tx.tanh(SQRT_2_OVER_PI * (input + 0.044715 * (square * input)))
            slope = SQRT_2_OVER_PI * (1 + (3 * 0.044715) * square)
            return g * (0.5 * (1 + t) + 0.5 * input * (1 - t * t) * slope)
        density = tx.exp(-0.5 * (input * input)) * (1 / math.sqrt(2 * math.pi))
        return g * (tx.special.ndtr(input) + input * density)

    def reference(input, approximate):
        def exact(a):
            return a * 0.5 * (1 + math.erf(a / math.sqrt(2)))

        def near(a):
            return a / (1 + math.exp(-2 * SQRT_2_OVER_PI * (a + 0.044715 * a**3)))

        return elementwise(near if approximate == "tanh" else exact)(input)

    samples = unary_samples(low=-4, high=4, options=({}, {"approximate": "tanh"}))

    def bad(s):
        yield Bad(Sample(s.real(2), approximate="fast"), ArgumentError, "approximate")


class Softplus(Pointwise):
    """log(1 + exp(beta * input)) / beta, and input itself where beta * input exceeds threshold.

    >>> tx.nn.functional.softplus(tx.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    signature = "softplus(input, beta: scalar = 1, threshold: scalar = 20) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def scalar(k, input, beta, threshold):
        scaled = input * beta
        soft = k.log1p(k.exp(k.minimum(scaled, k.constant(threshold, input)))) / beta
        return k.where(scaled > threshold, input, soft)

    def vjp(g, input, beta, threshold):
        scaled = input * beta
        return tx.where(scaled > threshold, g, g * tx.sigmoid(scaled))

    def reference(input, beta, threshold):
        def of(a):
            return a if a * beta > threshold else math.log1p(math.exp(a * beta)) / beta

        return elementwise(of)(input)

    samples = unary_samples(
        low=-3, high=3, avoid=(2,), options=({}, {"beta": 2}, {"beta": 0.5, "threshold": 1})
    )


class Logsigmoid(Pointwise):
    """log(sigmoid(input)) without underflow.

    >>> tx.nn.functional.logsigmoid(tx.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """

    signature = "logsigmoid(input) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def scalar(k, input):
        return k.minimum(input, k.constant(0, input)) - k.log1p(k.exp(-k.abs(input)))

    def vjp(g, input):
        return g * tx.sigmoid(-input)

    reference = elementwise(
        lambda a: 0.0 - math.log1p(math.exp(-a)) if a > 0 else a - math.log1p(math.exp(a))
    )
    samples = unary_samples(low=-4, high=4)


class Softsign(Composite):
    """input / (1 + |input|).

    >>> tx.nn.functional.softsign(tx.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """

    signature = "softsign(input) -> y"
    namespace = "nn.functional"
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(input):
        return input / (1 + tx.abs(input))

    reference = elementwise(lambda a: a / (1 + abs(a)))
    samples = unary_samples(avoid=(0,))


class Tanhshrink(Composite):
    """input - tanh(input).

    >>> tx.nn.functional.tanhshrink(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.2384])
    """

    signature = "tanhshrink(input) -> y"
    namespace = "nn.functional"
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(input):
        return input - tx.tanh(input)

    reference = real_or_complex(lambda a: a - math.tanh(a), lambda z: z - cmath.tanh(z))
    samples = unary_samples(low=-4, high=4)


class Glu(Composite):
    """The first half of an axis, gated by the sigmoid of the second.

    >>> tx.nn.functional.glu(tx.tensor([4.0, 0.0]))
    tensor([2.])
    """

    signature = "glu(input, dim: int = -1) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, dim):
        if input.ndim == 0:
            raise ShapeError("glu: input is a scalar; it needs an axis to halve")
        dim = normalize_dim(dim, input.ndim, "glu")
        size = input.shape[dim]
        if size % 2 != 0:
            raise ShapeError(
                f"glu: input is {describe(input)}; axis {dim} must have an even size to be halved"
            )
        half = size // 2
        return tx.narrow(input, dim, 0, half) * tx.sigmoid(tx.narrow(input, dim, half, half))

    def reference(input, dim):
        half = input.shape[dim] // 2
        moved = input.swapaxes(dim, -1)
        gated = elementwise(lambda a, b: a * (0.5 + 0.5 * math.tanh(b / 2)))
        return gated(moved[..., :half], moved[..., half:]).swapaxes(dim, -1)

    def samples(s):
        yield Sample(s.real(s.n, 4))
        yield Sample(s.real(2 * s.n, s.m), dim=0)
        yield Sample(s.real(s.n, 6, s.m), dim=-2)
        yield Sample(s.real(0, 2), dim=1)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "even")
