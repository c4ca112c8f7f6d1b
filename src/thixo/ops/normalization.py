"""Normalisation by statistics of the values themselves.

`standardize` (to mean 0 and variance 1 over some axes) is the one primitive; layer, batch, group and
instance norm say over which axes, and scale and shift the result.
"""

from typing import Any

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, bfloat16, finfo, float16, float32
from thixo.errors import DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import normalization_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dims, numel


class Standardize(Op):
    """Values less their mean, over their standard deviation, along some axes; and both statistics.

    The variance is the biased one; mean and variance keep their axes with size 1.

    >>> tx.nn.functional.standardize(tx.tensor([1.0, 3.0]), (0,), 0.0)[0]
    tensor([-1.,  1.])
    """

    total = True
    signature = "standardize(input, dim: ints, eps: float = 1e-5) -> (y, mean, var)"
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(input, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize")
        shape = tuple(1 if i in dims else n for i, n in enumerate(input.shape))
        wide = float32 if input.dtype in (float16, bfloat16) else input.dtype
        return Spec(tuple(input.shape), input.dtype), Spec(shape, wide), Spec(shape, wide)

    def kernel(input, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize")
        with np.errstate(all="ignore"):
            count = max(1, numel(input.shape[d] for d in dims))
            mean = input.sum(axis=dims, keepdims=True) / input.dtype.type(count)
            y = input - mean
            var = np.square(y).sum(axis=dims, keepdims=True) / input.dtype.type(count)
            y /= np.sqrt(var + input.dtype.type(eps))
        return y, mean, var

    def rows(k, input, eps):
        mean = k.reduce_sum(input) / k.columns()
        centred = input - mean
        var = k.reduce_sum(centred * centred) / k.columns()
        return centred / k.sqrt(var + eps), mean, var

    def vjp(g_y, g_mean, g_var, y, var, input_type, dim, eps):
        scale = tx.rsqrt(var + eps)
        shape = input_type.shape
        count = numel(shape[d] for d in normalize_dims(dim, len(shape), "standardize"))
        g, x = widened(g_y), widened(y)
        # what the statistics' own gradients add is a constant, and a multiple of y
        offset = g.mean(dim, keepdim=True) - g_mean / (scale * count)
        slope = (g * x).mean(dim, keepdim=True) - 2 * g_var / (scale * scale * count)
        return scale * (g - offset - x * slope)

    reference = slow.standardize

    def samples(s):
        yield Sample(s.real(s.n, s.m + 1), (1,))
        yield Sample(s.real(s.n, 3, s.m), (0, -1), 0.1)
        yield Sample(s.real(4), (0,), 1e-3)
        yield Sample(s.real(0, 3), (1,))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), (2,)), IndexError, "out of range")


def affine(y: Any, weight: Any, bias: Any, shape: Any = None) -> Any:
    """Scale and shift, either of which may be absent; `shape` is how they meet y."""
    if weight is not None:
        y = y * (weight if shape is None else weight.reshape(shape))
    if bias is not None:
        y = y + (bias if shape is None else bias.reshape(shape))
    return y


def check_parameter(op: str, name: str, value: Any, shape: tuple[Any, ...]) -> None:
    """Refuse a weight, bias or statistic of another shape."""
    if value is None:
        return
    if tuple(value.shape) != shape:
        raise ShapeError(f"{op}: {name} is {describe(value)}; its shape must be {list(shape)}")
    if not value.dtype.is_floating_point and not value.dtype.is_complex:
        raise DTypeError(f"{op}: {name} is {describe(value)}; it must be of a floating type")


# ---- over the last axes of each sample


def _normalized_axes(op: str, input: Any, normalized_shape: Any) -> tuple[int, ...]:
    shape = tuple(normalized_shape)
    count = len(shape)
    if count == 0:
        raise ShapeError(f"{op}: normalized_shape is empty; it must name at least one size")
    if input.ndim < count or tuple(input.shape[-count:]) != shape:
        raise ShapeError(
            f"{op}: input is {describe(input)}; its last sizes must be normalized_shape={list(shape)}"
        )
    return tuple(range(-count, 0))


def _layer_norm(
    op: str,
    input: Any,
    normalized_shape: Any,
    weight: Any,
    bias: Any,
    eps: float,
    statistics: bool = False,
) -> tuple[Any, Any, Any]:
    axes = _normalized_axes(op, input, normalized_shape)
    check_parameter(op, "weight", weight, tuple(normalized_shape))
    check_parameter(op, "bias", bias, tuple(normalized_shape))
    if statistics:  # with gradients of their own
        y, mean, var = tx.nn.functional.standardize(widened(input), axes, eps)
        return affine(y, widened(weight), widened(bias)).to(input.dtype), mean, var
    y, mean, _, var = tx.nn.functional.scaled_standardize(input, weight, bias, axes, eps)
    return y, mean, var


class LayerNorm(Composite):
    """Normalise each sample over its last axes, then scale and shift.

    >>> tx.nn.functional.layer_norm(tx.tensor([[1.0, 3.0]]), [2], eps=0.0)
    tensor([[-1.,  1.]])
    """

    signature = "layer_norm(input, normalized_shape: ints, weight = None, bias = None, eps: float = 1e-5) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, normalized_shape, weight, bias, eps):
        return _layer_norm("layer_norm", input, normalized_shape, weight, bias, eps)[0]

    reference = slow.layer_norm

    def samples(s):
        yield Sample(s.real(s.n, s.m), (s.m,))
        yield Sample(s.real(s.n, 2, s.m), (2, s.m), s.real(2, s.m), s.real(2, s.m), 1e-2)
        yield Sample(s.real(s.n, s.m), (s.m,), None, s.real(s.m))
        yield Sample(s.real(0, 3), (3,), s.real(3))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), (4,)), ShapeError, "last sizes must be normalized_shape")
        yield Bad(Sample(s.real(2, 3), ()), ShapeError, "normalized_shape is empty")
        yield Bad(Sample(s.real(2, 3), (3,), s.real(2)), ShapeError, "weight")


class TopLayerNorm(Composite):
    """`nn.functional.layer_norm` with the switch that PyTorch's top-level function has.

    >>> tx.layer_norm(tx.tensor([[1.0, 3.0]]), [2], eps=0.0)
    tensor([[-1.,  1.]])
    """

    signature = (
        "layer_norm(input, normalized_shape: ints, weight = None, bias = None, eps: float = 1e-5, "
        "cudnn_enable: bool = True) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(input, normalized_shape, weight, bias, eps, cudnn_enable):
        return _layer_norm("layer_norm", input, normalized_shape, weight, bias, eps)[0]

    def reference(input, normalized_shape, weight, bias, eps, cudnn_enable):
        return slow.layer_norm(input, normalized_shape, weight, bias, eps)

    def samples(s):
        yield Sample(s.real(s.n, s.m), (s.m,), s.real(s.m))


class NativeLayerNorm(Composite):
    """Layer norm together with each sample's mean and reciprocal standard deviation.

    >>> y, mean, rstd = tx.native_layer_norm(tx.tensor([[1.0, 3.0]]), [2], None, None, 0.0)
    >>> mean, rstd
    (tensor([[2.]]), tensor([[1.]]))
    """

    signature = (
        "native_layer_norm(input, normalized_shape: ints, weight: tensor?, bias: tensor?, eps: float) "
        "-> (y, mean, rstd)"
    )
    method = False
    dtypes = FLOATS

    def compose(input, normalized_shape, weight, bias, eps):
        y, mean, var = _layer_norm(
            "native_layer_norm", input, normalized_shape, weight, bias, eps, statistics=True
        )
        return y, mean, tx.rsqrt(var + eps)

    reference = slow.native_layer_norm

    def samples(s):
        yield Sample(s.real(s.n, s.m), (s.m,), s.real(s.m), s.real(s.m), 1e-3)
        yield Sample(s.real(s.n, 2, s.m), (2, s.m), None, None, 1e-3)


class RmsNorm(Composite):
    """Divide each sample by the root of its mean square over the last axes, then scale.

    >>> tx.nn.functional.rms_norm(tx.tensor([[3.0, -3.0]]), [2])
    tensor([[ 1., -1.]])
    """

    signature = "rms_norm(input, normalized_shape: ints, weight = None, eps: float? = None) -> y"
    namespace = "nn.functional"
    aliases = ("rms_norm",)
    dtypes = FLOATS + COMPLEX

    def compose(input, normalized_shape, weight, eps):
        axes = _normalized_axes("rms_norm", input, normalized_shape)
        check_parameter("rms_norm", "weight", weight, tuple(normalized_shape))
        x = widened(input)
        # PyTorch's default follows the type that is computed in
        eps = finfo(x.dtype).eps if eps is None else eps
        square = x * x if not x.dtype.is_complex else x.pow(2)
        y = x * tx.rsqrt(square.mean(axes, keepdim=True) + eps)
        return affine(y, widened(weight), None).to(input.dtype)

    reference = slow.rms_norm

    def samples(s):
        # large, so that the types' own eps, which the reference does not know, hardly matters
        yield Sample(s.real(s.n, s.m, low=-100, high=100), (s.m,))
        yield Sample(s.real(s.n, 2, s.m), (2, s.m), s.real(2, s.m), 1e-2)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), (4,)), ShapeError, "last sizes must be normalized_shape")
        yield Bad(Sample(s.real(2, 3), (3,), s.real(2)), ShapeError, "weight")


# ---- over groups of channels


def check_channels(op: str, input: Any, least: int) -> None:
    """Refuse an input of too few axes."""
    if input.ndim < least:
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must be (batch, channels, sizes) with at least "
            f"{least} dimensions"
        )


def per_channel(input: Any) -> tuple[Any, ...]:
    """The shape in which one number for each channel meets the input."""
    return (1, input.shape[1], *(1,) * (input.ndim - 2))


def _group_norm(
    op: str, input: Any, groups: int, weight: Any, bias: Any, eps: float, statistics: bool = False
) -> tuple[Any, Any, Any]:
    check_channels(op, input, 2)
    batch, channels = input.shape[:2]
    if groups < 1 or channels % groups != 0:
        raise ValueRangeError(
            f"{op}: num_groups is {groups}; it must divide the channels of input {describe(input)}"
        )
    check_parameter(op, "weight", weight, (channels,))
    check_parameter(op, "bias", bias, (channels,))
    x = widened(input).reshape(batch, groups, channels // groups * numel(input.shape[2:]))
    if statistics:  # with gradients of their own
        y, mean, var = tx.nn.functional.standardize(x, (2,), eps)
    else:
        y, mean, _, var = tx.nn.functional.scaled_standardize(x, None, None, (2,), eps)
    y = y.reshape(tuple(input.shape))
    y = affine(y, widened(weight), widened(bias), per_channel(input))
    return y.to(input.dtype), mean.squeeze(2), var.squeeze(2)


class GroupNorm(Composite):
    """Normalise each sample over groups of its channels, then scale and shift each channel.

    >>> tx.nn.functional.group_norm(tx.tensor([[1.0, 3.0, 4.0, 8.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """

    signature = (
        "group_norm(input, num_groups: int, weight = None, bias = None, eps: float = 1e-5) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, num_groups, weight, bias, eps):
        return _group_norm("group_norm", input, num_groups, weight, bias, eps)[0]

    reference = slow.group_norm

    def samples(s):
        yield Sample(s.real(s.n, 4, s.m), 2)
        yield Sample(s.real(s.n, 6, 2, s.m), 3, s.real(6), s.real(6), 1e-2)
        yield Sample(s.real(s.n, 4), 1, s.real(4))

    def bad(s):
        yield Bad(Sample(s.real(4), 2), ShapeError, "at least 2 dimensions")
        yield Bad(Sample(s.real(2, 5), 2), ValueRangeError, "must divide the channels")
        yield Bad(Sample(s.real(2, 4), 2, s.real(3)), ShapeError, "weight")


class TopGroupNorm(Composite):
    """`nn.functional.group_norm` with the switch that PyTorch's top-level function has.

    >>> tx.group_norm(tx.tensor([[1.0, 3.0, 4.0, 8.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """

    signature = (
        "group_norm(input, num_groups: int, weight = None, bias = None, eps: float = 1e-5, "
        "cudnn_enabled: bool = True) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(input, num_groups, weight, bias, eps, cudnn_enabled):
        return _group_norm("group_norm", input, num_groups, weight, bias, eps)[0]

    def reference(input, num_groups, weight, bias, eps, cudnn_enabled):
        return slow.group_norm(input, num_groups, weight, bias, eps)

    def samples(s):
        yield Sample(s.real(s.n, 4, s.m), 2, s.real(4))


class NativeGroupNorm(Composite):
    """Group norm of (N, C, HxW) values, with each group's mean and reciprocal standard deviation.

    >>> y, mean, rstd = tx.native_group_norm(tx.tensor([[[1.0, 3.0]]]), None, None, 1, 1, 2, 1, 0.0)
    >>> mean, rstd
    (tensor([[2.]]), tensor([[1.]]))
    """

    signature = (
        "native_group_norm(input, weight: tensor?, bias: tensor?, N: int, C: int, HxW: int, "
        "group: int, eps: float) -> (y, mean, rstd)"
    )
    method = False
    dtypes = FLOATS

    def compose(input, weight, bias, N, C, HxW, group, eps):
        if input.ndim < 2 or input.shape[0] != N or input.shape[1] != C:
            raise ShapeError(f"native_group_norm: input is {describe(input)}, but N={N} and C={C}")
        if numel(input.shape[2:]) != HxW:
            raise ShapeError(f"native_group_norm: input is {describe(input)}, but HxW={HxW}")
        y, mean, var = _group_norm("native_group_norm", input, group, weight, bias, eps, True)
        return y, mean, tx.rsqrt(var + eps)

    reference = slow.native_group_norm

    def samples(s):
        yield Sample(s.real(s.n, 4, s.m), s.real(4), s.real(4), s.n, 4, s.m, 2, 1e-3)
