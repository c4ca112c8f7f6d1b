"""Pooling over sliding windows: largest value, average, p-norm.

One primitive finds the largest value of each window and where it was; averages are convolutions with ones.
"""

import itertools
from typing import Any

import numpy as np

from thixo.dtype import FLOATS, INTEGERS, int64
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, ValueRangeError, describe
from thixo.ops import pooling_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.samples import Bad, Sample
from thixo.ops.scalars import k as scalars
from thixo.ops.windows import exactly, output_size, per_axis, require
from thixo.shape import dim_min, numel


def pooled_size(
    size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Any:
    """How many windows there are; with `ceil` also those that end beyond, but start inside."""
    if not ceil:
        return output_size(size, kernel, stride, padding, dilation)
    started = output_size(size + stride - 1, kernel, stride, padding, dilation)
    return dim_min(started, (size + padding + stride - 1) // stride)


def window_of(
    op: str, axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The window's numbers for each axis, checked, and the sizes of the result."""
    kernel = per_axis(op, "kernel_size", kernel_size, axes)
    absent = stride is None or (isinstance(stride, tuple | list) and not stride)
    stride = kernel if absent else per_axis(op, "stride", stride, axes)
    padding = per_axis(op, "padding", padding, axes)
    dilation = per_axis(op, "dilation", dilation, axes)
    require(op, "kernel_size", kernel, 1)
    require(op, "stride", stride, 1)
    require(op, "padding", padding, 0)
    require(op, "dilation", dilation, 1)
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if 2 * p > d * (k - 1) + 1:
            raise ValueRangeError(
                f"{op}: padding is {padding}; it must be at most half of the window, which is "
                f"{kernel} with dilation {dilation}"
            )
    if input.ndim not in (axes + 1, axes + 2) or any(n == 0 for n in input.shape[-axes - 1 :]):
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must be (batch, channels, sizes) or (channels, "
            f"sizes) with {axes} sizes, and only the batch may be empty"
        )
    sizes = tuple(
        pooled_size(n, k, s, p, d, ceil_mode)
        for n, k, s, p, d in zip(
            input.shape[-axes:], kernel, stride, padding, dilation, strict=True
        )
    )
    if any(n < 1 for n in sizes):
        raise ShapeError(
            f"{op}: the window is larger than the padded input: input is {describe(input)}, "
            f"kernel_size is {kernel}, padding is {padding}, dilation is {dilation}"
        )
    return kernel, stride, padding, dilation, sizes


# ---- largest value


class MaxPoolWithIndices(Op):
    """The largest value of each window and its place in the flattened input, in any number of dimensions.

    >>> tx.nn.functional.max_pool_with_indices(tx.tensor([[[1.0, 3.0, 2.0]]]), (2,), (1,), (0,), (1,), False)
    max_pool_with_indices(values=tensor([[[3., 3.]]]), indices=tensor([[[1, 1]]]))
    """

    total = True
    signature = (
        "max_pool_with_indices(input, kernel_size: ints, stride: ints, padding: ints, "
        "dilation: ints, ceil_mode: bool) -> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + INTEGERS
    nondifferentiable = ("indices",)
    first_alone = "nn.functional.max_pool_values"

    def infer(input, kernel_size, stride, padding, dilation, ceil_mode):
        op, axes = "max_pool_with_indices", len(kernel_size)
        exactly(op, axes, stride=stride, padding=padding, dilation=dilation)
        *_, sizes = window_of(op, axes, input, kernel_size, stride, padding, dilation, ceil_mode)
        shape = (*input.shape[:-axes], *sizes)
        return Spec(shape, input.dtype), Spec(shape, int64)

    def kernel(input, kernel_size, stride, padding, dilation, ceil_mode):
        axes = len(kernel_size)
        lead, sizes = input.shape[:-axes], input.shape[-axes:]
        places = tuple(
            pooled_size(n, k, s, p, d, ceil_mode)
            for n, k, s, p, d in zip(sizes, kernel_size, stride, padding, dilation, strict=True)
        )
        room = tuple(
            max((m - 1) * s + d * (k - 1) + 1, n + 2 * p)
            for m, s, d, k, n, p in zip(
                places, stride, dilation, kernel_size, sizes, padding, strict=True
            )
        )
        inside = tuple(slice(p, p + n) for p, n in zip(padding, sizes, strict=True))
        padded = np.zeros(lead + room, input.dtype)
        padded[(..., *inside)] = input
        number = np.full(room, -1, np.int64)  # of each place in the input, -1 in the padding
        number[inside] = np.arange(numel(sizes)).reshape(sizes)
        values = np.zeros(lead + places, input.dtype)
        chosen = np.full(lead + places, -1, np.int32)  # which tap has the value
        numbers = []
        for tap in itertools.product(*map(range, kernel_size)):
            reach = tuple(
                slice(t * d, t * d + (m - 1) * s + 1, s)
                for t, d, m, s in zip(tap, dilation, places, stride, strict=True)
            )
            # Contiguous, so that what follows is one loop over all elements.
            value, at = np.ascontiguousarray(padded[(..., *reach)]), number[reach]
            take = value > values
            take |= value != value  # a NaN wins
            take |= chosen < 0
            if (at < 0).any():
                take &= at >= 0
            values = scalars.where(take, value, values)
            chosen = scalars.where(take, np.int32(len(numbers)), chosen)
            numbers.append(at.reshape(-1))
        numbers.append(np.full(numel(places), -1))  # for -1: nothing but padding
        table = np.stack(numbers, axis=-1)  # (place, tap)
        flat = chosen.reshape(-1, numel(places))
        indices = table[np.arange(numel(places)), flat].reshape(chosen.shape)
        return values, indices

    def vjp(g_values, indices, input_type, kernel_size):
        sizes = tuple(input_type.shape[-len(kernel_size) :])
        return tx.nn.functional.add_at_indices(g_values, indices, sizes)

    reference = slow.max_pool

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 1), (2,), (1,), (0,), (1,), False)
        yield Sample(s.distinct(s.n, 2, s.m + 3, 5), (3, 2), (2, 1), (1, 0), (1, 2), False)
        yield Sample(s.distinct(2, s.n + 3, 6), (2, 3), (3, 2), (1, 1), (1, 1), True)
        yield Sample(
            s.distinct(2, 2, 3, s.m + 1, 4), (2, 2, 2), (1, 2, 2), (1, 0, 1), (1, 1, 2), True
        )
        yield Sample(s.distinct(0, 2, 4), (2,), (2,), (0,), (1,), False)


class MaxPoolValues(Op):
    """The largest value of each window, in any number of dimensions; not where it was.

    >>> tx.nn.functional.max_pool_values(tx.tensor([[[1.0, 3.0, 2.0]]]), (2,), (1,), (0,), (1,), False)
    tensor([[[3., 3.]]])
    """

    total = True
    signature = (
        "max_pool_values(input, kernel_size: ints, stride: ints, padding: ints, dilation: ints, "
        "ceil_mode: bool) -> y"
    )
    images = "kept"
    namespace = "nn.functional"
    dtypes = FLOATS + INTEGERS

    def infer(input, kernel_size, stride, padding, dilation, ceil_mode):
        op, axes = "max_pool_values", len(kernel_size)
        exactly(op, axes, stride=stride, padding=padding, dilation=dilation)
        *_, sizes = window_of(op, axes, input, kernel_size, stride, padding, dilation, ceil_mode)
        return Spec((*input.shape[:-axes], *sizes), input.dtype)

    def kernel(input, kernel_size, stride, padding, dilation, ceil_mode):
        return MaxPoolWithIndices.kernel(input, kernel_size, stride, padding, dilation, ceil_mode)[
            0
        ]

    def vjp(g, input, kernel_size, stride, padding, dilation, ceil_mode):
        sizes = tuple(input.shape[-len(kernel_size) :])
        both = tx.nn.functional.max_pool_with_indices(
            input, kernel_size, stride, padding, dilation, ceil_mode
        )
        return tx.nn.functional.add_at_indices(g, both[1], sizes)

    def reference(input, kernel_size, stride, padding, dilation, ceil_mode):
        return slow.max_pool(input, kernel_size, stride, padding, dilation, ceil_mode)[0]

    def samples(s):
        yield from MaxPoolWithIndices.samples(s)


def planes_spec(op: str, input: Any, indices: Any, sizes: Any) -> Spec:
    """The type of planes that get values at places of theirs."""
    if indices.dtype != int64:
        raise DTypeError(f"{op}: indices is {describe(indices)}; it must be int64")
    same = len(indices.shape) == len(input.shape) and all(
        a == b for a, b in zip(indices.shape, input.shape, strict=True)
    )
    if not same or input.ndim < len(sizes):
        raise ShapeError(
            f"{op}: input is {describe(input)}, indices is {describe(indices)}; both must have one shape "
            f"with at least the {len(sizes)} axes of sizes"
        )
    require(op, "sizes", tuple(sizes), 0)
    return Spec((*input.shape[: input.ndim - len(sizes)], *sizes), input.dtype)


def planes(op: str, input: Any, indices: Any, sizes: Any) -> tuple[Any, Any, Any, Any]:
    """Flat planes of zeros, the number of each, and the places in it and the values that it gets."""
    size, count = int(np.prod(sizes)), int(np.prod(input.shape[: input.ndim - len(sizes)]))
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        raise IndexOutOfRange(
            f"{op}: index {indices.min() if indices.min() < 0 else indices.max()} is out of range "
            f"for planes of {size} elements"
        )
    each = (count, indices.size // count if count else 0)
    rows = np.arange(count).reshape(count, 1)
    return np.zeros((count, size), input.dtype), rows, indices.reshape(each), input.reshape(each)


class AddAtIndices(Op):
    """Planes of zeros to which values are added at their places in the flattened plane: the gradient of pooling.

    >>> tx.nn.functional.add_at_indices(tx.tensor([[1.0, 2.0, 4.0]]), tx.tensor([[0, 2, 2]]), (3,))
    tensor([[1., 0., 6.]])
    """

    signature = "add_at_indices(input, indices, sizes: ints) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(input, indices, sizes):
        return planes_spec("add_at_indices", input, indices, sizes)

    def kernel(input, indices, sizes):
        y, rows, places, values = planes("add_at_indices", input, indices, sizes)
        np.add.at(y, (rows, places), values)
        return y.reshape(*input.shape[: input.ndim - len(sizes)], *sizes)

    def vjp_input(g, indices, sizes):
        axes = len(sizes)
        if axes == 0:
            return g.expand(indices.shape)
        lead = tuple(indices.shape[: indices.ndim - axes])
        flat = g.reshape(*lead, numel(sizes))
        count = numel(tuple(indices.shape[indices.ndim - axes :]))
        return flat.gather(-1, indices.reshape(*lead, count)).reshape(indices.shape)

    reference = slow.add_at

    def samples(s):
        yield Sample(s.real(s.n, 2, 3), s.ints(s.n, 2, 3, low=0, high=4), (5,))
        yield Sample(s.real(s.n, s.m, 2), s.ints(s.n, s.m, 2, low=0, high=5), (2, 3))
        yield Sample(s.real(0, 2, 3), s.ints(0, 2, 3, low=0, high=1), (4,))

    def bad(s):
        yield Bad(
            Sample(s.real(2, 3), s.ints(2, 2, low=0, high=1), (4,)),
            ShapeError,
            "must have one shape",
        )


def _max_pool(
    op: str, axes: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    kernel, stride, padding, dilation, _ = window_of(
        op, axes, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    both = tx.nn.functional.max_pool_with_indices(
        input, kernel, stride, padding, dilation, ceil_mode
    )
    return both if return_indices else both[0]


class MaxPool1d(Composite):
    """The largest value in each window of a signal; with `return_indices` also where it was.

    >>> tx.nn.functional.max_pool1d(tx.tensor([[1.0, 5.0, 2.0, 3.0]]), 2)
    tensor([[5., 3.]])
    """

    signature = (
        "max_pool1d(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "dilation: ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> y"
    )
    namespace = "nn.functional"
    aliases = ("max_pool1d",)
    dtypes = FLOATS + INTEGERS

    def compose(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        return _max_pool(
            "max_pool1d",
            1,
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            return_indices,
        )

    reference = slow.public_max_pool(1)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2), 3)
        yield Sample(s.distinct(2, s.m + 4), 3, 2, 1, 2, True)
        yield Sample(s.distinct(s.n, 2, 5), 2, return_indices=True)

    def bad(s):
        x = s.real(2, 3, 5)
        yield Bad(Sample(x, 2, padding=-1), ValueRangeError, "padding")
        yield Bad(Sample(x, 2, padding=2), ValueRangeError, "at most half of the window")
        yield Bad(Sample(x, 2, stride=0), ValueRangeError, "stride")
        yield Bad(Sample(x, 2, dilation=0), ValueRangeError, "dilation")
        yield Bad(Sample(x, 0), ValueRangeError, "kernel_size")
        yield Bad(Sample(x, 6), ShapeError, "larger than the padded input")
        yield Bad(Sample(s.real(0, 5), 1), ShapeError, "only the batch may be empty")
        yield Bad(Sample(s.real(5), 1), ShapeError, "(batch, channels, sizes)")


class MaxPool2d(Composite):
    """The largest value in each window of an image; with `return_indices` also where it was.

    >>> tx.nn.functional.max_pool2d(tx.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """

    signature = (
        "max_pool2d(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "dilation: ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> y"
    )
    namespace = "nn.functional"
    aliases = ("max_pool2d",)
    dtypes = FLOATS + INTEGERS

    def compose(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        return _max_pool(
            "max_pool2d",
            2,
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            return_indices,
        )

    reference = slow.public_max_pool(2)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2, 4), 2)
        yield Sample(s.distinct(2, s.m + 4, 5), (3, 2), (2, 1), (1, 1), (1, 2), True)
        yield Sample(s.distinct(s.n, 1, 5, 5), 3, 1, 1, return_indices=True)

    def bad(s):
        yield Bad(Sample(s.real(1, 1, 4), 2), ShapeError, "larger than the padded input")


class MaxPool3d(Composite):
    """The largest value in each window of a volume; with `return_indices` also where it was.

    >>> tx.nn.functional.max_pool3d(tx.arange(8.0).reshape(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """

    signature = (
        "max_pool3d(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "dilation: ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> y"
    )
    namespace = "nn.functional"
    aliases = ("max_pool3d",)
    dtypes = FLOATS + INTEGERS

    def compose(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        return _max_pool(
            "max_pool3d",
            3,
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            return_indices,
        )

    reference = slow.public_max_pool(3)

    def samples(s):
        yield Sample(s.distinct(2, 1, s.m + 2, 3, 4), 2, 1)
        yield Sample(s.distinct(2, 4, s.m + 2, 3), (2, 3, 2), 2, (1, 1, 0), return_indices=True)


class MaxPool1dWithIndices(Composite):
    """`max_pool1d` that always gives the indices too.

    >>> tx.nn.functional.max_pool1d_with_indices(tx.tensor([[1.0, 5.0, 2.0]]), 2)[1]
    tensor([[1]])
    """

    signature = (
        "max_pool1d_with_indices(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "dilation: ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> (values, indices)"
    )
    namespace = "nn.functional"
    aliases = ("max_pool1d_with_indices",)
    dtypes = FLOATS + INTEGERS

    def compose(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        return _max_pool(
            "max_pool1d_with_indices",
            1,
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            True,
        )

    reference = slow.public_max_pool(1, always=True)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2), 2, 1)


class MaxPool2dWithIndices(Composite):
    """`max_pool2d` that always gives the indices too.

    >>> tx.nn.functional.max_pool2d_with_indices(tx.arange(16.0).reshape(1, 4, 4), 2)[1]
    tensor([[[ 5,  7],
             [13, 15]]])
    """

    signature = (
        "max_pool2d_with_indices(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "dilation: ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + INTEGERS

    def compose(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        return _max_pool(
            "max_pool2d_with_indices",
            2,
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            True,
        )

    reference = slow.public_max_pool(2, always=True)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2, 3), 2, 1)


class MaxPool3dWithIndices(Composite):
    """`max_pool3d` that always gives the indices too.

    >>> tx.nn.functional.max_pool3d_with_indices(tx.arange(8.0).reshape(1, 2, 2, 2), 2)[1]
    tensor([[[[7]]]])
    """

    signature = (
        "max_pool3d_with_indices(input, kernel_size: ints, stride: ints? = None, padding: ints = 0, "
        "dilation: ints = 1, ceil_mode: bool = False, return_indices: bool = False) -> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + INTEGERS

    def compose(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
        return _max_pool(
            "max_pool3d_with_indices",
            3,
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
            True,
        )

    reference = slow.public_max_pool(3, always=True)

    def samples(s):
        yield Sample(s.distinct(2, s.n + 1, 3, 3), 2, 1)
