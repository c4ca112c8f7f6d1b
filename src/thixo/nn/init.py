"""Values to begin with. Each function writes into the tensor it is given, outside of the tape.

>>> w = tx.empty(3, 5)
>>> tx.nn.init.constant_(w, 0.5).sum()
tensor(7.5000)
"""

import math
import warnings
from typing import Any

import thixo as tx
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.tensor import Tensor

_UNIT_GAIN = {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "sigmoid",
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """How much a nonlinearity shrinks its input's standard deviation, for the functions below.

    >>> calculate_gain("relu") == 2 ** 0.5
    True
    """
    if nonlinearity in _UNIT_GAIN:
        return 1.0
    if nonlinearity == "tanh":
        return 5 / 3
    if nonlinearity == "relu":
        return math.sqrt(2)
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueRangeError(f"calculate_gain: the slope {param!r} is no number")
        slope = 0.01 if param is None else param
        return math.sqrt(2 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3 / 4
    raise ValueRangeError(f"calculate_gain: unknown nonlinearity {nonlinearity!r}")


# ---- plain distributions and constants


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from the uniform distribution on [a, b).

    >>> w = tx.nn.init.uniform_(tx.empty(100), -1, 1)
    >>> bool((w.abs() <= 1).all())
    True
    """
    with tx.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from a normal distribution.

    >>> w = tx.nn.init.normal_(tx.empty(1000), mean=5.0, std=0.1)
    >>> round(w.mean().item())
    5
    """
    with tx.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Draw from a normal distribution cut to [a, b], by inverting its distribution function.

    >>> w = tx.nn.init.trunc_normal_(tx.empty(1000), std=1.0, a=-0.5, b=0.5)
    >>> bool((w.abs() <= 0.5).all())
    True
    """

    def below(x: float) -> float:
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"trunc_normal_: the mean {mean} is more than 2 std from [{a}, {b}]; the distribution "
            f"may be off",
            stacklevel=2,
        )
    with tx.no_grad():
        tensor.uniform_(2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
        tensor.copy_(tx.erfinv(tensor) * (std * math.sqrt(2)) + mean)
        return tensor.clamp_(min=a, max=b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value.

    >>> tx.nn.init.constant_(tx.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    with tx.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> tx.nn.init.ones_(tx.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> tx.nn.init.zeros_(tx.ones(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    >>> tx.nn.init.eye_(tx.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ShapeError(f"eye_: tensor is {describe(tensor)}; it must have 2 dimensions")
    with tx.no_grad():
        return tensor.copy_(tx.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight so that it hands its input on, as far as channels go.

    >>> tx.nn.init.dirac_(tx.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError(f"dirac_: tensor is {describe(tensor)}; it must have 3, 4 or 5 dimensions")
    if tensor.shape[0] % groups != 0:
        raise ValueRangeError(f"dirac_: groups={groups} does not divide {tensor.shape[0]} channels")
    each = tensor.shape[0] // groups
    center = tuple(n // 2 for n in tensor.shape[2:])
    with tx.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(each, tensor.shape[1])):
                tensor[(group * each + channel, channel, *center)] = 1
    return tensor


# ---- scaled to the number of connections


def fans(tensor: Tensor, op: str = "init") -> tuple[int, int]:
    """(inputs of each output, outputs of each input) of a weight.

    >>> fans(tx.empty(4, 3, 5, 5))
    (75, 100)
    """
    if tensor.ndim < 2:
        raise ShapeError(
            f"{op}: tensor is {describe(tensor)}; fan in and fan out need at least 2 dimensions"
        )
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


_calculate_fan_in_and_fan_out = fans  # the name PyTorch's users know


def fan_in_uniform_(weight: Tensor, bias: Tensor | None) -> None:
    """What linear layers and convolutions begin with: uniform(-b, b), b = 1 / sqrt(fan in).

    >>> w, b = tx.empty(2, 100), tx.empty(2)
    >>> fan_in_uniform_(w, b)
    >>> bool((w.abs() <= 0.1).all() and (b.abs() <= 0.1).all())
    True
    """
    fan_in, _ = fans(weight)
    kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
        uniform_(bias, -bound, bound)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform with variance 2 gain^2 / (fan in + fan out) (Glorot and Bengio, 2010).

    >>> w = tx.nn.init.xavier_uniform_(tx.empty(3, 3))
    >>> bool((w.abs() <= 1).all())  # sqrt(6 / (3 + 3))
    True
    """
    std = gain * math.sqrt(2 / sum(fans(tensor, "xavier_uniform_")))
    bound = math.sqrt(3) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with variance 2 gain^2 / (fan in + fan out).

    >>> w = tx.nn.init.xavier_normal_(tx.empty(100, 100))
    >>> round(w.std().item(), 1)
    0.1
    """
    std = gain * math.sqrt(2 / sum(fans(tensor, "xavier_normal_")))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueRangeError(f"{op}: mode is {mode!r}; it must be 'fan_in' or 'fan_out'")
    fan = fans(tensor, op)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Uniform with variance gain^2 / fan (He and others, 2015).

    >>> w = tx.nn.init.kaiming_uniform_(tx.empty(2, 6), nonlinearity="relu")
    >>> bool((w.abs() <= 1).all())  # sqrt(3) sqrt(2 / 6)
    True
    """
    if 0 in tensor.shape:
        warnings.warn("kaiming_uniform_: nothing to draw, the tensor is empty", stacklevel=2)
        return tensor
    bound = math.sqrt(3) * _kaiming_std("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Normal with variance gain^2 / fan.

    >>> w = tx.nn.init.kaiming_normal_(tx.empty(100, 200), nonlinearity="relu")
    >>> round(w.std().item(), 1)  # sqrt(2 / 200)
    0.1
    """
    if 0 in tensor.shape:
        warnings.warn("kaiming_normal_: nothing to draw, the tensor is empty", stacklevel=2)
        return tensor
    std = _kaiming_std("kaiming_normal_", tensor, a, mode, nonlinearity)
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A (semi-)orthogonal matrix, in the shape of the tensor (Saxe and others, 2013).

    >>> w = tx.nn.init.orthogonal_(tx.empty(2, 3))
    >>> tx.allclose(w @ w.T, tx.eye(2), atol=1e-5)
    True
    """
    if tensor.ndim < 2:
        raise ShapeError(
            f"orthogonal_: tensor is {describe(tensor)}; it needs 2 or more dimensions"
        )
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with tx.no_grad():
        noise = tx.empty(rows, columns, dtype=tensor.dtype).normal_(0, 1, generator=generator)
        q, r = tx.linalg.qr(noise.T if rows < columns else noise)
        q = q * tx.sign(tx.diagonal(r))  # so that all orthogonal matrices are alike likely
        q = q.T if rows < columns else q
        return tensor.copy_(q.reshape(tensor.shape) * gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal numbers, of which a share in each column is zero.

    >>> w = tx.nn.init.sparse_(tx.empty(10, 2), sparsity=0.3)
    >>> (w == 0).sum(0)
    tensor([3, 3])
    """
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_: tensor is {describe(tensor)}; it must have 2 dimensions")
    rows, columns = tensor.shape
    count = math.ceil(sparsity * rows)
    with tx.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            zeros = tx.randperm(rows, generator=generator)[:count]
            tensor[zeros, column] = 0
    return tensor


# the names of old programs
uniform, normal, constant, eye, dirac = uniform_, normal_, constant_, eye_, dirac_
xavier_uniform, xavier_normal = xavier_uniform_, xavier_normal_
kaiming_uniform, kaiming_normal = kaiming_uniform_, kaiming_normal_
orthogonal, sparse = orthogonal_, sparse_
