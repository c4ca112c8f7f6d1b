"""Averages and p-norms over sliding windows: convolutions with ones."""

from typing import Any

from thixo.dtype import FLOATS, int64
from thixo.errors import ShapeError, ValueRangeError
from thixo.ops import pooling_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.pooling import window_of
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.ops.windows import per_axis
from thixo.shape import numel


def _window_sums(
    x: Any, kernel: Any, stride: Any, padding: Any, sizes: Any, ceil_mode: bool
) -> Any:
    """The sum of each window of x (lead, sizes)."""
    axes = len(kernel)
    lead = tuple(x.shape[:-axes])
    if ceil_mode:  # windows may reach beyond the padding: pad (or cut) to what they cover
        ends = [
            (p, (m - 1) * s + k - n - p)
            for p, m, s, k, n in zip(padding, sizes, stride, kernel, x.shape[-axes:], strict=True)
        ]
        x = tx.nn.functional.pad(x, [v for pair in reversed(ends) for v in pair])
        padding = (0,) * axes
    planes = x.reshape(numel(lead), 1, *x.shape[-axes:])
    ones = x.new_ones((1, 1, *kernel))
    sums = tx.nn.functional.convolve(planes, ones, stride, padding, (1,) * axes, 1)
    return sums.reshape(*lead, *sizes)


def _counts(x: Any, kernel: Any, stride: Any, padding: Any, sizes: Any, include_pad: bool) -> Any:
    """How many places each window averages over, shaped like the windows."""
    axes = len(kernel)
    total = None
    for axis, (k, s, p, m) in enumerate(zip(kernel, stride, padding, sizes, strict=True)):
        n = x.shape[axis - axes]
        start = tx.arange(m, device=x.device) * s - p
        stop = (start + k).clamp(max=n + p)
        if not include_pad:
            start, stop = start.clamp(min=0), stop.clamp(max=n)
        count = (stop - start).reshape(*(m if i == axis else 1 for i in range(axes)))
        total = count if total is None else total * count
    return total


def _avg_pool(
    op: str, axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    if divisor_override == 0:
        raise ValueRangeError(f"{op}: divisor_override is 0; it must not be")
    kernel, stride, padding, _, sizes = window_of(
        op, axes, input, kernel_size, stride, padding, 1, ceil_mode
    )
    x = widened(input)
    sums = _window_sums(x, kernel, stride, padding, sizes, ceil_mode)
    if divisor_override is not None:
        divisor = divisor_override
    elif ceil_mode or (any(padding) and not count_include_pad):
        divisor = _counts(x, kernel, stride, padding, sizes, count_include_pad)
    else:
        divisor = numel(kernel)
    if not x.dtype.is_floating_point:
        return tx.div(sums, divisor, rounding_mode="trunc")
    return (sums / divisor).to(input.dtype)


class AvgPool1d(Composite):
    """The average of each window of a signal.

    >>> tx.nn.functional.avg_pool1d(tx.tensor([[1.0, 3.0, 5.0]]), 2, 1)
    tensor([[2., 4.]])
    """

    signature = (
        "avg_pool1d(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "ceil_mode: bool = False, count_include_pad: bool = True) -> y"
    )
    namespace = "nn.functional"
    aliases = ("avg_pool1d",)
    dtypes = (*FLOATS, int64)

    def compose(input, kernel_size, stride, padding, ceil_mode, count_include_pad):
        return _avg_pool(
            "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad
        )

    reference = slow.avg_pool(1)

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 2), 3)
        yield Sample(s.real(2, s.m + 4), 3, 2, 1)
        yield Sample(s.real(s.n, 1, s.m + 3), 2, 2, 1, True)
        yield Sample(s.real(s.n, 2, s.m + 3), 3, 2, 1, True, False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 5), 2, padding=-1), ValueRangeError, "padding")
        yield Bad(Sample(s.real(2, 3, 5), 2, padding=2), ValueRangeError, "at most half")
        yield Bad(Sample(s.real(5), 2), ShapeError, "(batch, channels, sizes)")


class AvgPool2d(Composite):
    """The average of each window of an image.

    >>> tx.nn.functional.avg_pool2d(tx.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    """

    signature = (
        "avg_pool2d(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = (*FLOATS, int64)

    def compose(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        return _avg_pool(
            "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
            divisor_override,
        )  # fmt: skip

    reference = slow.avg_pool(2)

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 1, 4), 2)
        yield Sample(s.real(2, s.m + 4, 5), (3, 2), (2, 1), (1, 1), True, False)
        yield Sample(s.real(s.n, 1, 5, 5), 3, 2, 1, False, False)
        yield Sample(s.real(s.n, 1, 5, 4), 2, 1, divisor_override=3)

    def bad(s):
        yield Bad(
            Sample(s.real(1, 3, 3), 2, divisor_override=0), ValueRangeError, "divisor_override"
        )


class AvgPool3d(Composite):
    """The average of each window of a volume.

    >>> tx.nn.functional.avg_pool3d(tx.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[3.5000]]]])
    """

    signature = (
        "avg_pool3d(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = (*FLOATS, int64)

    def compose(
        input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    ):
        return _avg_pool(
            "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
            divisor_override,
        )  # fmt: skip

    reference = slow.avg_pool(3)

    def samples(s):
        yield Sample(s.real(2, 1, s.m + 1, 3, 4), 2, 1)
        yield Sample(s.real(2, 4, s.m + 2, 3), (2, 3, 2), 2, (1, 1, 0), True, False)


def _lp_pool(
    op: str, axes: int, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Any:
    kernel = per_axis(op, "kernel_size", kernel_size, axes)
    if norm_type == 0:
        raise ValueRangeError(f"{op}: norm_type must not be 0")
    x = widened(input).pow(norm_type)
    mean = _avg_pool(op, axes, x, kernel, stride, 0, ceil_mode, True)
    total = tx.sign(mean) * tx.relu(tx.abs(mean)) * numel(kernel)
    return total.pow(1.0 / norm_type).to(input.dtype)


class LpPool1d(Composite):
    """The p-norm of each window of a signal (windows cut short by ceil_mode count as whole ones).

    >>> tx.nn.functional.lp_pool1d(tx.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """

    signature = (
        "lp_pool1d(input, norm_type: float, kernel_size: ints, stride: ints? = None, "
        "ceil_mode: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, norm_type, kernel_size, stride, ceil_mode):
        return _lp_pool("lp_pool1d", 1, input, norm_type, kernel_size, stride, ceil_mode)

    reference = slow.lp_pool(1)

    def samples(s):
        yield Sample(s.positive(s.n, 2, s.m + 2), 2.0, 3)
        yield Sample(s.positive(2, s.m + 3), 3.0, 2, 2, True)


class LpPool2d(Composite):
    """The p-norm of each window of an image.

    >>> tx.nn.functional.lp_pool2d(tx.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """

    signature = (
        "lp_pool2d(input, norm_type: float, kernel_size: ints, stride: ints? = None, "
        "ceil_mode: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, norm_type, kernel_size, stride, ceil_mode):
        return _lp_pool("lp_pool2d", 2, input, norm_type, kernel_size, stride, ceil_mode)

    reference = slow.lp_pool(2)

    def samples(s):
        yield Sample(s.positive(s.n, 2, s.m + 2, 3), 2.0, 2, 1)


class LpPool3d(Composite):
    """The p-norm of each window of a volume.

    >>> tx.nn.functional.lp_pool3d(tx.ones(1, 2, 2, 2), 1, 2)
    tensor([[[[8.]]]])
    """

    signature = (
        "lp_pool3d(input, norm_type: float, kernel_size: ints, stride: ints? = None, "
        "ceil_mode: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, norm_type, kernel_size, stride, ceil_mode):
        return _lp_pool("lp_pool3d", 3, input, norm_type, kernel_size, stride, ceil_mode)

    reference = slow.lp_pool(3)

    def samples(s):
        yield Sample(s.positive(1, s.m + 1, 3, 3), 2.0, 2, 1)
