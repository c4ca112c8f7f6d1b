"""Activations as layers."""

from typing import Any

import thixo as tx
from thixo.errors import ValueRangeError
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter


class _Activation(Module):
    """A layer that calls one function of `nn.functional` with its own attributes."""

    function: str
    options: tuple[str, ...] = ()
    inplace = False

    def forward(self, input: Any) -> Any:
        """Apply the function to each element."""
        given = {name: getattr(self, name) for name in self.options}
        if self.inplace:
            given["inplace"] = True
        return getattr(F, self.function)(input, **given)

    def extra_repr(self) -> str:
        """The options."""
        parts = [f"{name}={getattr(self, name)}" for name in self.options]
        return ", ".join([*parts, "inplace=True"] if self.inplace else parts)


class _Inplace(_Activation):
    """An activation whose only option is to write into its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class ReLU(_Inplace):
    """max(0, x).

    >>> tx.nn.ReLU()(tx.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    function = "relu"


class ReLU6(_Inplace):
    """min(max(0, x), 6).

    >>> tx.nn.ReLU6()(tx.tensor([-1.0, 9.0]))
    tensor([0., 6.])
    """

    function = "relu6"


class SiLU(_Inplace):
    """x * sigmoid(x), also called swish.

    >>> tx.nn.SiLU()(tx.zeros(1))
    tensor([0.])
    """

    function = "silu"


class Mish(_Inplace):
    """x * tanh(softplus(x)).

    >>> tx.nn.Mish()(tx.zeros(1))
    tensor([0.])
    """

    function = "mish"


class SELU(_Inplace):
    """The self-normalising scaled exponential unit.

    >>> tx.nn.SELU()(tx.ones(1))
    tensor([1.0507])
    """

    function = "selu"


class Hardswish(_Inplace):
    """x * relu6(x + 3) / 6.

    >>> tx.nn.Hardswish()(tx.tensor([0.0, 3.0]))
    tensor([0., 3.])
    """

    function = "hardswish"


class Hardsigmoid(_Inplace):
    """relu6(x + 3) / 6.

    >>> tx.nn.Hardsigmoid()(tx.tensor([-3.0, 0.0, 3.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    function = "hardsigmoid"


class Sigmoid(_Activation):
    """1 / (1 + exp(-x)).

    >>> tx.nn.Sigmoid()(tx.zeros(1))
    tensor([0.5000])
    """

    function = "sigmoid"


class Tanh(_Activation):
    """Hyperbolic tangent.

    >>> tx.nn.Tanh()(tx.zeros(1))
    tensor([0.])
    """

    function = "tanh"


class LogSigmoid(_Activation):
    """log(sigmoid(x)).

    >>> tx.nn.LogSigmoid()(tx.zeros(1))
    tensor([-0.6931])
    """

    function = "logsigmoid"


class Softsign(_Activation):
    """x / (1 + |x|).

    >>> tx.nn.Softsign()(tx.ones(1))
    tensor([0.5000])
    """

    function = "softsign"


class Tanhshrink(_Activation):
    """x - tanh(x).

    >>> tx.nn.Tanhshrink()(tx.zeros(1))
    tensor([0.])
    """

    function = "tanhshrink"


class GELU(_Activation):
    """x times the normal distribution function of x; approximate="tanh" is faster.

    >>> tx.nn.GELU()(tx.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """

    function = "gelu"
    options = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def extra_repr(self) -> str:
        """The option."""
        return f"approximate={self.approximate!r}"


class ELU(_Activation):
    """x above zero, alpha * (exp(x) - 1) below.

    >>> tx.nn.ELU()(tx.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

    function = "elu"
    options = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace


class CELU(_Activation):
    """x above zero, alpha * (exp(x / alpha) - 1) below.

    >>> tx.nn.CELU()(tx.tensor([0.0, 2.0]))
    tensor([0., 2.])
    """

    function = "celu"
    options = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if alpha == 0:
            raise ValueRangeError("CELU: alpha is 0; it must not be")
        self.alpha = alpha
        self.inplace = inplace


class LeakyReLU(_Activation):
    """x above zero, negative_slope * x below.

    >>> tx.nn.LeakyReLU(0.5)(tx.tensor([-2.0, 2.0]))
    tensor([-1.,  2.])
    """

    function = "leaky_relu"
    options = ("negative_slope",)

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace


class RReLU(_Activation):
    """x above zero; below, x times a slope drawn from [lower, upper] in training, their mean otherwise.

    >>> tx.nn.RReLU(0.25, 0.75).eval()(tx.tensor([-2.0, 2.0]))
    tensor([-1.,  2.])
    """

    function = "rrelu"
    options = ("lower", "upper", "training")

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def extra_repr(self) -> str:
        """The range of slopes."""
        return f"lower={self.lower}, upper={self.upper}" + (
            ", inplace=True" if self.inplace else ""
        )


class Hardtanh(_Activation):
    """x clipped to [min_val, max_val].

    >>> tx.nn.Hardtanh()(tx.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    function = "hardtanh"
    options = ("min_val", "max_val")

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if min_val >= max_val:
            raise ValueRangeError(f"Hardtanh: min_val {min_val} must be below max_val {max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace


class Softplus(_Activation):
    """log(1 + exp(beta * x)) / beta, and x itself above the threshold.

    >>> tx.nn.Softplus()(tx.zeros(1))
    tensor([0.6931])
    """

    function = "softplus"
    options = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold


class Softshrink(_Activation):
    """x moved towards zero by lambd, and zero nearer than that.

    >>> tx.nn.Softshrink()(tx.tensor([-2.0, 0.25, 2.0]))
    tensor([-1.5000,  0.0000,  1.5000])
    """

    function = "softshrink"
    options = ("lambd",)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """The option."""
        return str(self.lambd)


class Hardshrink(Softshrink):
    """x, but zero where |x| is at most lambd.

    >>> tx.nn.Hardshrink()(tx.tensor([-2.0, 0.25, 2.0]))
    tensor([-2.,  0.,  2.])
    """

    function = "hardshrink"


class Threshold(_Activation):
    """x where it is above the threshold, `value` elsewhere.

    >>> tx.nn.Threshold(1.0, -9.0)(tx.tensor([0.5, 2.0]))
    tensor([-9.,  2.])
    """

    function = "threshold"
    options = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace


class GLU(_Activation):
    """The first half of an axis times the sigmoid of the second.

    >>> tx.nn.GLU()(tx.tensor([2.0, 0.0]))
    tensor([1.])
    """

    function = "glu"
    options = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim


class _AlongAxis(_Activation):
    options = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongAxis):
    """Positive numbers along an axis that sum to 1.

    >>> tx.nn.Softmax(dim=0)(tx.zeros(2))
    tensor([0.5000, 0.5000])
    """

    function = "softmax"


class Softmin(_AlongAxis):
    """`Softmax` of -x.

    >>> tx.nn.Softmin(dim=0)(tx.zeros(2))
    tensor([0.5000, 0.5000])
    """

    function = "softmin"


class LogSoftmax(_AlongAxis):
    """The logarithm of `Softmax`.

    >>> tx.nn.LogSoftmax(dim=0)(tx.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    function = "log_softmax"


class Softmax2d(Module):
    """Softmax over the channels of each pixel of (batch, channels, height, width).

    >>> tx.nn.Softmax2d()(tx.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Any) -> Any:
        """Softmax over the third axis from the end."""
        return F.softmax(input, -3)


class PReLU(Module):
    """Leaky relu whose slope is learned, one for all or one for each channel.

    >>> tx.nn.PReLU(init=0.5)(tx.tensor([-2.0, 2.0])).detach()
    tensor([-1.,  2.])
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(tx.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """All slopes begin alike."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """Apply the slopes."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes."""
        return f"num_parameters={self.num_parameters}"


from thixo.nn.modules.attention import MultiheadAttention as MultiheadAttention  # noqa: E402
