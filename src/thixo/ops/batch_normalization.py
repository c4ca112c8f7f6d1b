"""Normalisation with statistics that are kept: batch and instance norm; and local response norm."""

from typing import Any

from thixo.dtype import FLOATS
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops import normalization_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.normalization import affine, check_channels, check_parameter, per_channel
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import is_symbolic, numel


def _keep(running: Any, batch: Any, momentum: float) -> None:
    """Move a running statistic towards this batch's, in place and outside of the tape."""
    if running is not None:
        batch = batch.detach()
        if batch.dtype is not running.dtype:
            batch = batch.to(running.dtype)
        running.mul_(1 - momentum).add_(batch, alpha=momentum)


def _unbiased(var: Any, count: Any) -> Any:
    return var * count / (count - 1)


def _check_statistics(op: str, input: Any, mean: Any, var: Any, needed: bool) -> None:
    check_channels(op, input, 2)
    if needed and (mean is None or var is None):
        raise ArgumentError(f"{op}: running_mean and running_var are needed when not training")
    for name, value in (("running_mean", mean), ("running_var", var)):
        if value is not None:
            check_parameter(op, name, value, (input.shape[1],))


def _batch_norm(
    op: str, input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool,
    momentum: float, eps: float, statistics: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    _check_statistics(op, input, running_mean, running_var, needed=not training)
    sizes = tuple(input.shape)
    channels = sizes[1]
    check_parameter(op, "weight", weight, (channels,))
    check_parameter(op, "bias", bias, (channels,))
    shape = (1, channels, *(1,) * (len(sizes) - 2))
    axes = (0, *range(2, len(sizes)))
    if training:
        if statistics:  # with gradients of their own
            y, mean, var = tx.nn.functional.standardize(widened(input), axes, eps)
            y = affine(y, widened(weight), widened(bias), shape).to(input.dtype)
        else:
            weight = None if weight is None else weight.reshape(shape)
            bias = None if bias is None else bias.reshape(shape)
            y, mean, _, var = tx.nn.functional.scaled_standardize(input, weight, bias, axes, eps)
            if running_mean is None and running_var is None:
                return y, mean, var
        mean, var = mean.reshape(channels), var.reshape(channels)
        _keep(running_mean, mean, momentum)
        if running_var is not None:
            count = numel(sizes[d] for d in axes)
            _keep(running_var, _unbiased(var.detach(), count), momentum)
        return y, mean, var
    mean, var = widened(running_mean), widened(running_var)
    # One line for each channel, so that the input is gone through once.
    scale = tx.rsqrt(var + eps)
    if weight is not None:
        scale = scale * widened(weight)
    shift = -mean * scale if bias is None else widened(bias) - mean * scale
    y = tx.addcmul(shift.reshape(shape), widened(input), scale.reshape(shape))
    return y.to(input.dtype), mean, var


class BatchNorm(Composite):
    """Normalise each channel over the batch, or by running statistics when not training.

    In training the running statistics, where given, are moved towards this batch's by `momentum`.

    >>> x = tx.tensor([[1.0], [3.0]])
    >>> mean, var = tx.zeros(1), tx.ones(1)
    >>> tx.nn.functional.batch_norm(x, mean, var, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    >>> mean, var
    (tensor([0.2000]), tensor([1.1000]))
    """

    signature = (
        "batch_norm(input, running_mean: tensor?, running_var: tensor?, weight = None, bias = None, "
        "training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, running_mean, running_var, weight, bias, training, momentum, eps):
        sizes = tuple(input.shape)
        if len(sizes) == 1 and not is_symbolic(sizes[0]) and sizes[0] == 0:
            return input.clone()  # nothing at all, which PyTorch takes without an axis of channels
        if training:
            check_channels("batch_norm", input, 2)
            count = numel((sizes[0], *sizes[2:]))
            if not is_symbolic(count) and count == 1:
                raise ShapeError(
                    f"batch_norm: input is {describe(input)}; training needs more than one value "
                    f"per channel"
                )
        return _batch_norm(
            "batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps
        )[0]

    reference = slow.batch_norm

    def samples(s):
        yield Sample(s.real(s.n, 3, s.m), s.real(3), s.positive(3))
        yield Sample(s.real(s.n, 3, s.m), None, None, s.real(3), s.real(3), True)
        yield Sample(
            s.real(s.n, 2, 2, s.m), s.real(2), s.positive(2), s.real(2), None, False, 0.3, 1e-2
        )
        yield Sample(s.real(s.n + 1, 2), None, None, None, s.real(2), True, 0.3, 1e-2)

    def bad(s):
        x = s.real(3, 2, 4)
        yield Bad(Sample(x, None, None), ArgumentError, "needed when not training")
        yield Bad(Sample(x, s.real(3), s.real(3)), ShapeError, "running_mean")
        yield Bad(Sample(x, s.real(2), s.real(2), s.real(3)), ShapeError, "weight")
        yield Bad(Sample(s.real(3), s.real(2), s.real(2)), ShapeError, "at least 2 dimensions")
        yield Bad(
            Sample(s.real(1, 2), s.real(2), s.real(2), training=True),
            ShapeError,
            "more than one value",
        )


class TopBatchNorm(Composite):
    """`nn.functional.batch_norm` in the argument order of PyTorch's top-level function.

    >>> x, one, zero = tx.tensor([[1.0], [3.0]]), tx.ones(1), tx.zeros(1)
    >>> tx.batch_norm(x, one, zero, None, None, True, 0.1, 0.0, True)
    tensor([[-1.],
            [ 1.]])
    """

    signature = (
        "batch_norm(input, weight: tensor?, bias: tensor?, running_mean: tensor?, "
        "running_var: tensor?, training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(
        input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
    ):
        return _batch_norm(
            "batch_norm", input, running_mean, running_var, weight, bias, training, momentum, eps
        )[0]

    def reference(input, weight, bias, mean, var, training, momentum, eps, cudnn_enabled):
        return slow.batch_norm(input, mean, var, weight, bias, training, momentum, eps)

    def samples(s):
        yield Sample(
            s.real(s.n, 3, s.m),
            s.real(3),
            s.real(3),
            s.real(3),
            s.positive(3),
            False,
            0.1,
            1e-3,
            True,
        )


class NativeBatchNorm(Composite):
    """Batch norm together with the batch's mean and reciprocal standard deviation (empty when not training).

    >>> x = tx.tensor([[1.0], [3.0]])
    >>> y, mean, rstd = tx.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    >>> mean, rstd
    (tensor([2.]), tensor([1.]))
    """

    signature = (
        "native_batch_norm(input, weight: tensor?, bias: tensor?, running_mean: tensor?, "
        "running_var: tensor?, training: bool, momentum: float, eps: float) -> (y, mean, rstd)"
    )
    method = False
    dtypes = FLOATS

    def compose(input, weight, bias, running_mean, running_var, training, momentum, eps):
        y, mean, var = _batch_norm(
            "native_batch_norm",
            input,
            running_mean,
            running_var,
            weight,
            bias,
            training,
            momentum,
            eps,
            statistics=True,
        )
        if not training:
            return y, mean.new_zeros((0,)), mean.new_zeros((0,))
        return y, mean, tx.rsqrt(var + eps)

    reference = slow.native_batch_norm

    def samples(s):
        yield Sample(s.real(s.n, 3, s.m), s.real(3), s.real(3), None, None, True, 0.1, 1e-3)
        yield Sample(s.real(s.n, 3, s.m), None, None, s.real(3), s.positive(3), False, 0.1, 1e-3)


class InstanceNorm(Composite):
    """Normalise each channel of each sample over its own values, then scale and shift.

    >>> tx.nn.functional.instance_norm(tx.tensor([[[1.0, 3.0]]]), eps=0.0)
    tensor([[[-1.,  1.]]])
    """

    signature = (
        "instance_norm(input, running_mean = None, running_var = None, weight = None, bias = None, "
        "use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
        op = "instance_norm"
        _check_statistics(op, input, running_mean, running_var, needed=not use_input_stats)
        if not use_input_stats:
            return _batch_norm(
                op, input, running_mean, running_var, weight, bias, False, momentum, eps
            )[0]
        count = numel(input.shape[2:])
        if input.ndim < 3 or (not is_symbolic(count) and count == 1):
            raise ShapeError(
                f"{op}: input is {describe(input)}; each channel of a sample needs more than one value"
            )
        check_parameter(op, "weight", weight, (input.shape[1],))
        check_parameter(op, "bias", bias, (input.shape[1],))
        axes = tuple(range(2, input.ndim))
        shape = per_channel(input)
        weight = None if weight is None else weight.reshape(shape)
        bias = None if bias is None else bias.reshape(shape)
        y, mean, _, var = tx.nn.functional.scaled_standardize(input, weight, bias, axes, eps)
        channels = (input.shape[0], input.shape[1])
        if running_mean is not None:
            _keep(running_mean, mean.detach().reshape(channels).mean(0), momentum)
        if running_var is not None:
            _keep(running_var, _unbiased(var.detach().reshape(channels), count).mean(0), momentum)
        return y

    reference = slow.instance_norm

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m))
        yield Sample(s.real(s.n, 2, 2, s.m), None, None, s.real(2), s.real(2), True, 0.1, 1e-2)
        yield Sample(s.real(s.n, 2, s.m), s.real(2), s.positive(2), use_input_stats=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 1)), ShapeError, "more than one value")
        yield Bad(Sample(s.real(2, 3, 4), use_input_stats=False), ArgumentError, "are needed")


class TopInstanceNorm(Composite):
    """`nn.functional.instance_norm` in the argument order of PyTorch's top-level function.

    >>> x = tx.tensor([[[1.0, 3.0]]])
    >>> tx.instance_norm(x, None, None, None, None, True, 0.1, 0.0, True)
    tensor([[[-1.,  1.]]])
    """

    signature = (
        "instance_norm(input, weight: tensor?, bias: tensor?, running_mean: tensor?, "
        "running_var: tensor?, use_input_stats: bool, momentum: float, eps: float, "
        "cudnn_enabled: bool) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(
        input,
        weight,
        bias,
        running_mean,
        running_var,
        use_input_stats,
        momentum,
        eps,
        cudnn_enabled,
    ):
        return tx.nn.functional.instance_norm(
            input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
        )

    def reference(input, weight, bias, mean, var, use_input_stats, momentum, eps, cudnn_enabled):
        return slow.instance_norm(input, mean, var, weight, bias, use_input_stats, momentum, eps)

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m), s.real(2), s.real(2), None, None, True, 0.1, 1e-3, True)


class LocalResponseNorm(Composite):
    """Divide each value by a power of the mean square of its neighbouring channels.

    >>> tx.nn.functional.local_response_norm(tx.ones(1, 1, 2), 2, alpha=2.0, beta=1.0, k=1.0)
    tensor([[[0.5000, 0.5000]]])
    """

    signature = (
        "local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, "
        "k: float = 1.0) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, size, alpha, beta, k):
        op = "local_response_norm"
        check_channels(op, input, 3)
        if size < 1:
            raise ValueRangeError(f"{op}: size is {size}; it must be at least 1")
        x = widened(input)
        batch, channels = input.shape[:2]
        square = (x * x).reshape(batch, 1, channels, numel(input.shape[2:]))
        square = tx.nn.functional.pad(square, [0, 0, size // 2, (size - 1) // 2])
        ones = x.new_ones((1, 1, size, 1))
        total = tx.nn.functional.convolve(square, ones, (1, 1), (0, 0), (1, 1), 1)
        mean = (total / size).reshape(tuple(input.shape))
        return (x / (mean * alpha + k).pow(beta)).to(input.dtype)

    reference = slow.local_response_norm

    def samples(s):
        yield Sample(s.real(s.n, 4, s.m), 3, 0.1)
        yield Sample(s.real(s.n, 3, 2, s.m), 2, 0.5, 0.5, 2.0)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 2), ShapeError, "at least 3 dimensions")
        yield Bad(Sample(s.real(2, 3, 4), 0), ValueRangeError, "size is 0")
