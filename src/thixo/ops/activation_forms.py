"""The activations of `nn.functional` that take `inplace`."""

from thixo.dtype import FLOATS, INTEGERS
from thixo.errors import ValueRangeError
from thixo.ops import public as tx
from thixo.ops.activation import Hardsigmoid, Hardswish, Hardtanh, LeakyRelu, Relu, Threshold
from thixo.ops.activation_smooth import Celu, Elu, Mish, Selu, Silu
from thixo.ops.base import Composite
from thixo.ops.references import elementwise, is_nan
from thixo.ops.samples import Bad, Sample, unary_samples


def _without_inplace(reference):
    return lambda *args: reference(*args[:-1])


class FunctionalRelu(Composite):
    """The input where it is positive, 0 elsewhere.

    >>> tx.nn.functional.relu(tx.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    signature = "relu(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Relu.dtypes
    inplace = True

    def compose(input, inplace):
        return tx.relu_(input) if inplace else tx.relu(input)

    reference = _without_inplace(Relu.reference)
    samples = Relu.samples


class FunctionalLeakyRelu(Composite):
    """The input where it is positive, negative_slope times it elsewhere.

    >>> tx.nn.functional.leaky_relu(tx.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """

    signature = "leaky_relu(input, negative_slope: float = 0.01, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = LeakyRelu.dtypes
    inplace = True

    def compose(input, negative_slope, inplace):
        form = tx.leaky_relu_ if inplace else tx.leaky_relu
        return form(input, negative_slope)

    reference = _without_inplace(LeakyRelu.reference)
    samples = LeakyRelu.samples


class FunctionalElu(Composite):
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere.

    >>> tx.nn.functional.elu(tx.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    signature = "elu(input, alpha: scalar = 1.0, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Elu.dtypes
    inplace = True

    def compose(input, alpha, inplace):
        return tx.elu_(input, alpha) if inplace else tx.elu(input, alpha)

    reference = _without_inplace(Elu.reference)
    samples = Elu.samples


class FunctionalCelu(Composite):
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere.

    >>> tx.nn.functional.celu(tx.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """

    signature = "celu(input, alpha: scalar = 1.0, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Celu.dtypes
    inplace = True

    def compose(input, alpha, inplace):
        return tx.celu_(input, alpha) if inplace else tx.celu(input, alpha)

    reference = _without_inplace(Celu.reference)
    samples = Celu.samples


class FunctionalSelu(Composite):
    """elu with the scale and alpha that keep mean 0 and variance 1.

    >>> tx.nn.functional.selu(tx.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    signature = "selu(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Selu.dtypes
    inplace = True

    def compose(input, inplace):
        return tx.selu_(input) if inplace else tx.selu(input)

    reference = _without_inplace(Selu.reference)
    samples = Selu.samples


class FunctionalSilu(Composite):
    """Input times sigmoid of input.

    >>> tx.nn.functional.silu(tx.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    signature = "silu(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Silu.dtypes

    def compose(input, inplace):
        return tx.silu_(input) if inplace else tx.silu(input)

    reference = _without_inplace(Silu.reference)
    samples = Silu.samples


class FunctionalMish(Composite):
    """Input times the hyperbolic tangent of softplus of input.

    >>> tx.nn.functional.mish(tx.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    signature = "mish(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Mish.dtypes

    def compose(input, inplace):
        return tx.mish_(input) if inplace else tx.mish(input)

    reference = _without_inplace(Mish.reference)
    samples = Mish.samples


class FunctionalHardsigmoid(Composite):
    """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1.

    >>> tx.nn.functional.hardsigmoid(tx.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    signature = "hardsigmoid(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Hardsigmoid.dtypes

    def compose(input, inplace):
        return tx.hardsigmoid_(input) if inplace else tx.hardsigmoid(input)

    reference = _without_inplace(Hardsigmoid.reference)
    samples = Hardsigmoid.samples


class FunctionalHardswish(Composite):
    """Input times hardsigmoid of input.

    >>> tx.nn.functional.hardswish(tx.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000, 0.6667, 4.0000])
    """

    signature = "hardswish(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Hardswish.dtypes

    def compose(input, inplace):
        return tx.hardswish_(input) if inplace else tx.hardswish(input)

    reference = _without_inplace(Hardswish.reference)
    samples = Hardswish.samples


class FunctionalHardtanh(Composite):
    """Input brought into [min_val, max_val]; the gradient is 0 at the ends.

    >>> tx.nn.functional.hardtanh(tx.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    signature = (
        "hardtanh(input, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = Hardtanh.dtypes
    inplace = True

    def compose(input, min_val, max_val, inplace):
        form = tx.hardtanh_ if inplace else tx.hardtanh
        return form(input, min_val, max_val)

    reference = _without_inplace(Hardtanh.reference)
    samples = Hardtanh.samples


class FunctionalThreshold(Composite):
    """The input where it is above threshold, value elsewhere.

    >>> tx.nn.functional.threshold(tx.tensor([-1.0, 2.0]), 0.5, 9.0)
    tensor([9., 2.])
    """

    signature = "threshold(input, threshold: float, value: float, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = Threshold.dtypes
    inplace = True

    def compose(input, threshold, value, inplace):
        form = tx.threshold_ if inplace else tx.threshold
        return form(input, threshold, value)

    reference = _without_inplace(Threshold.reference)
    samples = Threshold.samples


class Relu6(Composite):
    """Input brought into [0, 6].

    >>> tx.nn.functional.relu6(tx.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """

    signature = "relu6(input, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = INTEGERS + FLOATS

    def compose(input, inplace):
        return tx.hardtanh_(input, 0, 6) if inplace else tx.hardtanh(input, 0, 6)

    reference = elementwise(lambda a, _: a if is_nan(a) else min(max(a, type(a)(0)), type(a)(6)))
    samples = unary_samples(low=-3, high=9, avoid=(0, 6))


class Rrelu(Composite):
    """leaky_relu whose slope is drawn from [lower, upper] when training, their mean otherwise.

    >>> tx.nn.functional.rrelu(tx.tensor([-12.0, 2.0]), 0.0, 0.5)
    tensor([-3.,  2.])
    """

    signature = (
        "rrelu(input, lower: float = 0.125, upper: float = 0.3333333333333333,"
        " training: bool = False, inplace: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    inplace = True

    def compose(input, lower, upper, training, inplace):
        if lower > upper:
            raise ValueRangeError(
                f"rrelu: lower is {lower}, upper is {upper}; lower must not be greater"
            )
        if training:
            slopes = lower + (upper - lower) * tx.rand_like(input)
            y = tx.where(input > 0, input, slopes * tx.clamp_max(input, 0))
        else:
            y = tx.leaky_relu(input, (lower + upper) / 2)
        return input.copy_(y) if inplace else y

    def reference(input, lower, upper, training, inplace):
        slope = (lower + upper) / 2
        return elementwise(lambda a: a if a > 0 else slope * a)(input)

    samples = unary_samples(avoid=(0,), options=({}, {"lower": 0.2, "upper": 0.4}))

    def bad(s):
        yield Bad(Sample(s.real(2), 0.5, 0.25), ValueRangeError, "lower")
