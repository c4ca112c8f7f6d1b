"""Pooling over windows at random places, and pooling undone."""

from typing import Any

from thixo.dtype import FLOATS, int64
from thixo.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    ValueRangeError,
    describe,
)
from thixo.ops import pooling_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op
from thixo.ops.plain import real
from thixo.ops.pooling import AddAtIndices, planes, planes_spec
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.ops.windows import batched, per_axis, require
from thixo.shape import numel


def _fractional_sizes(
    op: str, axes: int, input: Any, kernel: Any, output_size: Any, output_ratio: Any
) -> tuple[Any, ...]:
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(f"{op}: give either output_size or output_ratio")
    sizes = input.shape[-axes:]
    if output_size is None:
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,)
        ratios = ratios * axes if len(ratios) == 1 else ratios
        ratios = tuple(real(op, "output_ratio", r) for r in ratios)
        if len(ratios) != axes or not all(0 < r < 1 for r in ratios):
            raise ValueRangeError(
                f"{op}: output_ratio is {output_ratio!r}; it must be {axes} numbers between 0 and 1"
            )
        output_size = tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))
    wanted = per_axis(op, "output_size", output_size, axes)
    require(op, "output_size", wanted, 1)
    for n, k, m in zip(sizes, kernel, wanted, strict=True):
        if m + k - 1 > n:
            raise ShapeError(
                f"{op}: input is {describe(input)}; windows of {kernel} at {wanted} places need "
                f"sizes of at least {tuple(a + b - 1 for a, b in zip(wanted, kernel, strict=True))}"
            )
    return wanted


def _starts(sample: Any, size: Any, count: Any, kernel: Any) -> Any:
    """Where each window begins: (batch, channels, count), steps of random rounding, the last at the end."""
    last = size - kernel
    number = tx.arange(count, device=sample.device)
    if count == 1:
        return tx.zeros_like(sample, dtype=int64).unsqueeze(-1) + last
    step = last / (count - 1)
    sample = sample.unsqueeze(-1)
    start = ((sample + number) * step).to(int64) - (sample * step).to(int64)
    return tx.where(number == count - 1, last, start)


def _fractional_max_pool(
    op: str, axes: int, input: Any, kernel_size: Any, output_size: Any, output_ratio: Any,
    with_indices: bool, random_samples: Any,
) -> Any:  # fmt: skip
    x, lone = batched(op, input, axes)
    kernel = per_axis(op, "kernel_size", kernel_size, axes)
    require(op, "kernel_size", kernel, 1)
    counts = _fractional_sizes(op, axes, x, kernel, output_size, output_ratio)
    batch, channels = x.shape[:2]
    if random_samples is None:
        dtype = widened(x).dtype
        random_samples = tx.rand(batch, channels, axes, dtype=dtype, device=x.device)
    if tuple(random_samples.shape) != (batch, channels, axes):
        raise ShapeError(
            f"{op}: _random_samples is {describe(random_samples)}; it must be "
            f"[{batch},{channels},{axes}]"
        )
    number = None
    for i, (size, k, count) in enumerate(zip(x.shape[2:], kernel, counts, strict=True)):
        # the samples of a plane stand in the order (width, height)
        sample = random_samples[:, :, axes - 1 - i if axes == 2 else i]
        places = _starts(sample, size, count, k).unsqueeze(-1) + tx.arange(k, device=x.device)
        ahead, behind = (1,) * i, (1,) * (axes - 1 - i)
        places = places.reshape(batch, channels, *ahead, count, *behind, *ahead, k, *behind)
        number = places if number is None else number * size + places
    number = number.reshape(batch, channels, *counts, numel(kernel))
    flat = x.flatten(2)
    values = flat.gather(2, number.flatten(2)).reshape(number.shape)
    largest, which = values.max(-1)
    if lone:
        largest = largest.squeeze(0)
    if not with_indices:
        return largest
    where = number.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    return largest, where.squeeze(0) if lone else where


class FractionalMaxPool2d(Composite):
    """The largest value of windows whose places are drawn at random (Graham, 2014).

    >>> tx.nn.functional.fractional_max_pool2d(tx.ones(1, 4, 4), 2, output_size=3).shape
    Size([1, 3, 3])
    """

    signature = (
        "fractional_max_pool2d(input, kernel_size: ints, output_size: ints? = None, "
        "output_ratio: any = None, return_indices: bool = False, _random_samples = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, kernel_size, output_size, output_ratio, return_indices, _random_samples):
        return _fractional_max_pool(
            "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio,
            return_indices, _random_samples,
        )  # fmt: skip

    reference = slow.fractional_max_pool(2)

    def samples(s):
        u = s.positive(2, 3, 2) / 4
        yield Sample(s.distinct(2, 3, 6, 7), 2, (4, 3), _random_samples=u)
        yield Sample(s.distinct(2, 3, 6, 7), (2, 3), None, 0.5, True, u)
        yield Sample(s.distinct(3, 6, 7), 2, 1, _random_samples=u[:1])

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 6, 7), 2), ArgumentError, "output_size or output_ratio")
        yield Bad(Sample(s.real(2, 3, 6, 7), 4, (4, 2)), ShapeError, "need sizes of at least")
        yield Bad(Sample(s.real(2, 3, 6, 7), 2, None, 1.5), ValueRangeError, "between 0 and 1")


class FractionalMaxPool3d(Composite):
    """The largest value of boxes whose places are drawn at random.

    >>> tx.nn.functional.fractional_max_pool3d(tx.ones(1, 4, 4, 4), 2, output_ratio=0.5).shape
    Size([1, 2, 2, 2])
    """

    signature = (
        "fractional_max_pool3d(input, kernel_size: ints, output_size: ints? = None, "
        "output_ratio: any = None, return_indices: bool = False, _random_samples = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, kernel_size, output_size, output_ratio, return_indices, _random_samples):
        return _fractional_max_pool(
            "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio,
            return_indices, _random_samples,
        )  # fmt: skip

    reference = slow.fractional_max_pool(3)

    def samples(s):
        u = s.positive(2, 2, 3) / 4
        yield Sample(s.distinct(2, 2, 4, 4, 5), 2, (2, 3, 3), _random_samples=u)
        yield Sample(s.distinct(2, 2, 4, 4, 5), (1, 2, 3), 2, None, True, u)


class FractionalMaxPool2dWithIndices(Composite):
    """`fractional_max_pool2d` that always gives the indices too.

    >>> x = tx.arange(16.0).reshape(1, 4, 4)
    >>> tx.nn.functional.fractional_max_pool2d_with_indices(x, 2, output_size=1)[1]
    tensor([[[15]]])
    """

    signature = (
        "fractional_max_pool2d_with_indices(input, kernel_size: ints, output_size: ints? = None, "
        "output_ratio: any = None, return_indices: bool = False, _random_samples = None) "
        "-> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, kernel_size, output_size, output_ratio, return_indices, _random_samples):
        return _fractional_max_pool(
            "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, True,
            _random_samples,
        )  # fmt: skip

    reference = slow.fractional_max_pool(2, always=True)

    def samples(s):
        u = s.positive(2, 3, 2) / 4
        yield Sample(s.distinct(2, 3, 5, 5), 2, 3, _random_samples=u)


class FractionalMaxPool3dWithIndices(Composite):
    """`fractional_max_pool3d` that always gives the indices too.

    >>> x = tx.arange(8.0).reshape(1, 2, 2, 2)
    >>> tx.nn.functional.fractional_max_pool3d_with_indices(x, 2, output_size=1)[1]
    tensor([[[[7]]]])
    """

    signature = (
        "fractional_max_pool3d_with_indices(input, kernel_size: ints, output_size: ints? = None, "
        "output_ratio: any = None, return_indices: bool = False, _random_samples = None) "
        "-> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, kernel_size, output_size, output_ratio, return_indices, _random_samples):
        return _fractional_max_pool(
            "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, True,
            _random_samples,
        )  # fmt: skip

    reference = slow.fractional_max_pool(3, always=True)

    def samples(s):
        u = s.positive(2, 2, 3) / 4
        yield Sample(s.distinct(2, 2, 4, 4, 4), 2, 2, _random_samples=u)


# ---- max pooling undone


def _unpooled_sizes(
    op: str, axes: int, input: Any, kernel: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[Any, ...]:
    usual = tuple(
        (n - 1) * s - 2 * p + k
        for n, s, p, k in zip(input.shape[-axes:], stride, padding, kernel, strict=True)
    )
    if output_size is None:
        return usual
    sizes = tuple(output_size)
    if len(sizes) == axes + 2:
        sizes = sizes[2:]
    if len(sizes) != axes:
        raise ArgumentError(f"{op}: output_size is {output_size}; it must be {axes} sizes")
    for n, d, s in zip(sizes, usual, stride, strict=True):
        if not d - s < n < d + s:
            raise ValueRangeError(
                f"{op}: output_size is {sizes}; each must be within a stride ({stride}) of {usual}"
            )
    return sizes


class PlaceAtIndices(Op):
    """Planes of zeros with values at their places in the flattened plane; of several at one place the last stays.

    All of those get that place's gradient: where windows overlap they are one maximum, found more than once.

    >>> tx.nn.functional.place_at_indices(tx.tensor([[1.0, 2.0]]), tx.tensor([[0, 2]]), (3,))
    tensor([[1., 0., 2.]])
    """

    signature = "place_at_indices(input, indices, sizes: ints) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(input, indices, sizes):
        return planes_spec("place_at_indices", input, indices, sizes)

    def kernel(input, indices, sizes):
        y, rows, places, values = planes("place_at_indices", input, indices, sizes)
        y[rows, places] = values
        return y.reshape(*input.shape[: input.ndim - len(sizes)], *sizes)

    vjp_input = AddAtIndices.vjp_input
    reference = slow.place_at

    def samples(s):
        yield Sample(s.real(2, 3), s.array([[4, 0, 2], [1, 2, 3]], int64), (5,))
        yield Sample(s.real(2, 1, 2), s.array([[[5, 1]], [[0, 3]]], int64), (2, 3))
        yield Sample(s.real(0, 2, 3), s.ints(0, 2, 3, low=0, high=1), (4,))

    def bad(s):
        yield Bad(
            Sample(s.real(2, 3), s.ints(2, 2, low=0, high=1), (4,)),
            ShapeError,
            "must have one shape",
        )
        yield Bad(
            Sample(s.real(1, 2), s.array([[0, 7]], int64), (4,)), IndexOutOfRange, "index 7 is out"
        )


def _max_unpool(
    op: str, axes: int, input: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Any:  # fmt: skip
    kernel = per_axis(op, "kernel_size", kernel_size, axes)
    stride = kernel if stride is None else per_axis(op, "stride", stride, axes)
    padding = per_axis(op, "padding", padding, axes)
    if indices.dtype != int64:
        raise DTypeError(f"{op}: indices is {describe(indices)}; it must be int64")
    if input.ndim not in (axes + 1, axes + 2):
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must have {axes + 2} dimensions, or {axes + 1} "
            f"without the batch"
        )
    if tuple(input.shape) != tuple(indices.shape):
        raise ShapeError(
            f"{op}: input is {describe(input)}, indices is {describe(indices)}; the shapes must agree"
        )
    sizes = _unpooled_sizes(op, axes, input, kernel, stride, padding, output_size)
    return tx.nn.functional.place_at_indices(input, indices, sizes)


class MaxUnpool1d(Composite):
    """Puts pooled values back where `max_pool1d` found them, zeros elsewhere.

    >>> y, where = tx.nn.functional.max_pool1d(tx.tensor([[1.0, 5.0, 4.0, 2.0]]), 2, return_indices=True)
    >>> tx.nn.functional.max_unpool1d(y, where, 2)
    tensor([[0., 5., 4., 0.]])
    """

    signature = (
        "max_unpool1d(input, indices, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "output_size: ints? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, indices, kernel_size, stride, padding, output_size):
        return _max_unpool(
            "max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size
        )

    reference = slow.max_unpool(1)

    def samples(s):
        where = s.array([[[1, 2, 5]]], int64)
        yield Sample(s.real(1, 1, 3), where, 2)
        yield Sample(s.real(1, 3), where[0], 2, output_size=(7,))

    def bad(s):
        where = s.array([[[1, 2, 5]]], int64)
        yield Bad(Sample(s.real(1, 1, 4), where, 2), ShapeError, "shapes must agree")
        yield Bad(
            Sample(s.real(1, 1, 3), where, 2, output_size=(9,)), ValueRangeError, "within a stride"
        )


class MaxUnpool2d(Composite):
    """Puts pooled values back where `max_pool2d` found them, zeros elsewhere.

    >>> y, where = tx.nn.functional.max_pool2d(tx.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    >>> tx.nn.functional.max_unpool2d(y, where, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """

    signature = (
        "max_unpool2d(input, indices, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "output_size: ints? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, indices, kernel_size, stride, padding, output_size):
        return _max_unpool(
            "max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size
        )

    reference = slow.max_unpool(2)

    def samples(s):
        where = s.array([[[[0, 3], [8, 14]]]], int64)
        yield Sample(s.real(1, 1, 2, 2), where, 2)
        yield Sample(s.real(1, 2, 2), where[0], 2, output_size=(4, 5))


class MaxUnpool3d(Composite):
    """Puts pooled values back where `max_pool3d` found them, zeros elsewhere.

    >>> x = tx.arange(8.0).reshape(1, 2, 2, 2)
    >>> y, where = tx.nn.functional.max_pool3d(x, 2, return_indices=True)
    >>> tx.nn.functional.max_unpool3d(y, where, 2).sum()
    tensor(7.)
    """

    signature = (
        "max_unpool3d(input, indices, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "output_size: ints? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, indices, kernel_size, stride, padding, output_size):
        return _max_unpool(
            "max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size
        )

    reference = slow.max_unpool(3)

    def samples(s):
        where = s.array([[[[[2, 13]]]]], int64)
        yield Sample(s.real(1, 1, 1, 1, 2), where, 2)
