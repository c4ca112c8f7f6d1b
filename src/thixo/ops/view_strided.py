"""as_strided: any window on a tensor's memory, and what its gradient and its pure forms need."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thixo.dtype import int64
from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, View
from thixo.ops.layout import same_type_as
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.ops.view_scatter import require_shape
from thixo.shape import contiguous_strides, is_symbolic, numel


def places(size: Sequence[Any], stride: Sequence[Any], offset: Any) -> Any:
    """Where in memory each element of a strided window lies: an int64 tensor of shape `size`."""
    result = tx.full((), offset, dtype=int64)
    for d, (n, step) in enumerate(zip(size, stride, strict=True)):
        along = tx.arange(n) * step
        result = result + tx.reshape(along, (n, *[1] * (len(size) - d - 1)))
    return tx.expand(result, tuple(size))


def extent(size: Sequence[Any], stride: Sequence[Any], offset: Any) -> Any:
    """How many elements of memory a window needs, counted from the start of the storage."""
    if any(n == 0 for n in size):
        return offset
    return offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1


class Memory(NamedTuple):
    """Where a tensor lies: the tensor whose memory it is (itself, if it has data), its strides and offset there."""

    base: Any
    strides: tuple[Any, ...]
    offset: Any


# While tracing no tensor has memory. The trace knows what a view looks at, and sets this to say so.
traced_memory: Callable[[Any], Memory] | None = None


def memory_of(input: Any) -> Memory:
    """Where a tensor lies; while tracing, what is no view lies row by row."""
    if input._value is not None and traced_memory is not None:
        return traced_memory(input)
    return Memory(input, tuple(input.stride()), input.storage_offset())


def check_window(operation: str, size: Sequence[Any], stride: Sequence[Any], offset: Any) -> None:
    """Refuse sizes and strides that are no window on memory."""
    if len(size) != len(stride):
        raise ShapeError(
            f"{operation}: needs a stride for each size, got {len(size)} sizes, {len(stride)} strides"
        )
    for name, values in (("size", size), ("stride", stride), ("storage_offset", (offset,))):
        if any(isinstance(v, int) and v < 0 for v in values):
            raise ArgumentError(f"{operation}: {name} cannot be negative, got {tuple(values)}")


class StridedView(View):
    """The window `size, stride, storage_offset` on the memory of a tensor whose own is known.

    Its gradient collects what overlapping elements receive, so it has to know where the input lies;
    `as_strided` looks that up.

    >>> tx.strided_view(tx.arange(4), (2, 2), (1, 1), 0, (1,), 0)
    tensor([[0, 1],
            [1, 2]])
    """

    signature = (
        "strided_view(input, size: ints, stride: ints, storage_offset: int, input_stride: ints, "
        "input_offset: int) -> input"
    )
    layout_matters = True
    method = False

    def geometry(shape, strides, offset, size, stride, storage_offset, input_stride, input_offset):
        return tuple(size), tuple(stride), storage_offset

    infer = same_type_as(geometry)

    def vjp(g, input_type, size, stride, storage_offset, input_stride, input_offset):
        shape = tuple(input_type.shape)
        # Only what both windows cover matters: count from the first element of either.
        length = extent(size, stride, storage_offset) + extent(shape, input_stride, input_offset)
        out = tx.reshape(places(size, stride, storage_offset), (numel(size),))
        memory = tx.index_add(g.new_zeros((length,)), 0, out, tx.reshape(g, (numel(size),)))
        own = tx.reshape(places(shape, input_stride, input_offset), (numel(shape),))
        result = tx.index_select(memory, 0, own)
        if overlaps(shape, input_stride):
            ones = tx.ones((numel(shape),), dtype=g.dtype)
            count = tx.index_add(g.new_zeros((length,)), 0, own, ones)
            result = result / tx.index_select(count, 0, own)
        return tx.reshape(result, shape)

    def reference(input, size, stride, storage_offset, input_stride, input_offset):
        memory = np.zeros(10_000, input.dtype)
        for index in np.ndindex(*input.shape):
            memory[input_offset + int(np.dot(index, input_stride))] = input[index]
        return build(size, input.dtype, lambda i: memory[storage_offset + int(np.dot(i, stride))])

    def samples(s):
        yield Sample(s.real(s.n, s.m), (s.m, s.n), (1, s.m), 0, (s.m, 1), 0)
        yield Sample(s.real(s.n + s.m), (s.n, s.m), (1, 1), 0, (1,), 0)
        yield Sample(s.real(s.n + 1), (s.n,), (1,), 1, (1,), 0)


def overlaps(shape: Sequence[Any], strides: Sequence[Any]) -> bool:
    """Whether a window may see one element of memory twice."""
    if is_symbolic((*shape, *strides)):
        return False  # while tracing, tensors lie row by row
    reach = 0  # the farthest element seen from any place with the axes so far
    for step, n in sorted((step, n) for n, step in zip(shape, strides, strict=True) if n > 1):
        if step <= reach:
            return True
        reach += (n - 1) * step
    return False


class AsStrided(Composite):
    """A view on the input's memory with any sizes and strides, also overlapping ones.

    >>> tx.arange(4).as_strided((2, 3), (1, 1))
    tensor([[0, 1, 2],
            [1, 2, 3]])
    """

    signature = "as_strided(input, size: ints, stride: ints, storage_offset: int? = None) -> input"
    layout_matters = True

    def compose(input, size, stride, storage_offset):
        base, own, start = memory_of(input)
        offset = start if storage_offset is None else storage_offset
        check_window("as_strided", size, stride, offset)
        if base is not input:
            own, start = contiguous_strides(base.shape), 0
        return tx.strided_view(base, size, stride, offset, own, start)

    def reference(input, size, stride, storage_offset=None):
        flat = input.ravel()
        start = storage_offset or 0
        return build(size, input.dtype, lambda i: flat[start + int(np.dot(i, stride))])

    def samples(s):
        yield Sample(s.real(s.n, s.m), (s.n, s.m), (s.m, 1))
        yield Sample(s.real(s.n, s.m), (s.m, s.n), (1, s.m))
        yield Sample(s.real(s.n + s.m), (s.n, s.m), (1, 1), 1)
        yield Sample(s.real(4), (2, 2, 2), (1, 0, 1), 1)
        yield Sample(s.real(s.n), (), (), 1)

    def bad(s):
        yield Bad(Sample(s.real(4), (2, 2), (1,)), ShapeError, "a stride for each size")
        yield Bad(Sample(s.real(4), (2,), (-1,)), ArgumentError, "cannot be negative")
        yield Bad(Sample(s.real(4), (3,), (2,)), IndexOutOfRange, "storage")


class AsStridedScatter(Composite):
    """A copy of the input with the window that as_strided would show replaced.

    >>> tx.as_strided_scatter(tx.zeros(4), tx.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """

    signature = (
        "as_strided_scatter(input, src, size: ints, stride: ints, storage_offset: int? = None) -> y"
    )
    layout_matters = True

    def compose(input, src, size, stride, storage_offset):
        _, own, start = memory_of(input)
        offset = start if storage_offset is None else storage_offset
        check_window("as_strided_scatter", size, stride, offset)
        require_shape("as_strided_scatter", src, size)
        shape = tuple(input.shape)
        length = extent(shape, own, start)
        if extent(size, stride, offset) > length:
            raise IndexOutOfRange(
                f"as_strided_scatter: size {tuple(size)} with stride {tuple(stride)} goes beyond "
                f"the memory of input, {describe(input)}"
            )
        memory = input.new_zeros((length,))
        here = tx.reshape(places(shape, own, start), (numel(shape),))
        there = tx.reshape(places(size, stride, offset), (numel(size),))
        memory = tx.index_copy(memory, 0, here, tx.reshape(input, (numel(shape),)))
        memory = tx.index_copy(memory, 0, there, tx.reshape(src, (numel(size),)).to(input.dtype))
        return tx.reshape(tx.index_select(memory, 0, here), shape)

    def reference(input, src, size, stride, storage_offset=None):
        flat = np.array(input).ravel()
        for index in np.ndindex(*size):
            flat[(storage_offset or 0) + int(np.dot(index, stride))] = src[index]
        return flat.reshape(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n), (s.n,), (s.m,), 1)
        yield Sample(s.real(s.n, s.m), s.real(s.m, s.n), (s.m, s.n), (1, s.m))
        yield Sample(s.real(2), s.real(), (), (), 1)

    def bad(s):
        yield Bad(Sample(s.real(4), s.real(2), (2,), (200,)), IndexOutOfRange, "beyond the memory")
        yield Bad(Sample(s.real(4), s.real(3), (2,), (1,)), ShapeError, "shape of the view")
