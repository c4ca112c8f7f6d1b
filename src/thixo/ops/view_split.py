"""A tensor taken apart along an axis: split, chunk, unbind. The parts are views of it."""

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.samples import Bad, Sample
from thixo.shape import Dim, normalize_dim

_MOST_EMPTY = 2**20


def parts(input: Any, dim: int, borders: Sequence[Any]) -> tuple[Any, ...]:
    """The pieces of an axis between consecutive borders, as a tuple of views."""
    return tuple(tx.slice(input, dim, a, b) for a, b in itertools.pairwise(borders))


def split_axis(operation: str, input: Any, dim: int) -> int:
    """The axis to split counted from the front; a 0-d tensor has none."""
    if input.ndim == 0:
        raise ShapeError(f"{operation}: a 0-d tensor has no axis to split")
    return normalize_dim(dim, input.ndim, operation)


def whole_number(operation: str, name: str, value: Any) -> Any:
    """An int or symbolic size, also from a 0-d tensor or NumPy number."""
    if isinstance(value, Dim):
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ArgumentError(f"{operation}: {name} must be an int, got {describe(value)}") from None
    if not -(2**63) <= number < 2**63:
        raise ValueRangeError(f"{operation}: {name} does not fit in 64 bits: {number}")
    return number


def check_count(operation: str, sections: Any, length: Any) -> None:
    """Refuse a number of sections that no list could hold, nearly all of them empty."""
    if sections > _MOST_EMPTY and sections > length:
        raise ValueRangeError(
            f"{operation}: {sections} sections of an axis of {length} elements are too many; at most "
            f"{_MOST_EMPTY} may be empty"
        )


def numbers(operation: str, name: str, value: Any) -> list[Any]:
    """A list of ints from a sequence or a 1-d tensor of them."""
    if hasattr(value, "dtype"):
        value = value.tolist()
    return [whole_number(operation, name, v) for v in value]


def even_parts(operation: str, input: Any, d: int, size: Any) -> tuple[Any, ...]:
    """Pieces of `size` elements; the last may be smaller."""
    length = input.shape[d]
    if size < 0 or (size == 0 and length != 0):
        raise ValueRangeError(f"{operation}: a part needs a size of at least 1, got {size}")
    count = 1 if length == 0 else int((length + size - 1) // size)
    return parts(input, d, [*(size * i for i in range(count)), length])


def given_parts(operation: str, input: Any, d: int, sizes: Sequence[Any]) -> tuple[Any, ...]:
    """Pieces of the given sizes, which must add up to the axis."""
    if any(isinstance(n, int) and n < 0 for n in sizes) or sum(sizes) != input.shape[d]:
        raise ShapeError(
            f"{operation}: sizes {list(sizes)} must be positive and add up to axis {d} of "
            f"{describe(input)}"
        )
    borders = [0]
    for size in sizes:
        borders.append(borders[-1] + size)
    return parts(input, d, borders)


def loop_parts(input: np.ndarray, dim: int, borders: Sequence[int]) -> list[np.ndarray]:
    """The reference: each piece collected slice by slice."""
    moved = np.moveaxis(input, dim, 0)
    result = []
    for a, b in itertools.pairwise(borders):
        piece = np.array([moved[i] for i in range(a, min(b, len(moved)))], input.dtype)
        piece = piece.reshape(-1 if len(piece) else 0, *moved.shape[1:])
        result.append(np.moveaxis(piece, 0, dim))
    return result


class Split(Composite):
    """Pieces of one size, the last maybe smaller, or pieces of given sizes.

    >>> tx.split(tx.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """

    signature = "split(tensor, split_size_or_sections: any, dim: int = 0) -> tensors"

    def compose(tensor, split_size_or_sections, dim):
        d = split_axis("split", tensor, dim)
        sections = split_size_or_sections
        if isinstance(sections, list | tuple):
            return given_parts("split", tensor, d, numbers("split", "a size", sections))
        size = whole_number("split", "split_size_or_sections", sections)
        return even_parts("split", tensor, d, size)

    def reference(tensor, split_size_or_sections, dim=0):
        length, sections = tensor.shape[dim], split_size_or_sections
        if not isinstance(sections, list | tuple):
            count = max(-(-length // sections), 1)
            sections = [sections] * (count - 1) + [length - sections * (count - 1)]
        return loop_parts(tensor, dim, np.cumsum([0, *sections]))

    def samples(s):
        yield Sample(s.real(6, s.m), 2)
        yield Sample(s.real(s.m, 5), 2, -1)
        yield Sample(s.real(s.n, s.m), [1, s.m - 1], 1)
        yield Sample(s.real(s.n, s.m), [0, s.n, 0])
        yield Sample(s.real(0, s.m), 3)
        yield Sample(s.real(s.n), s.n)

    def bad(s):
        yield Bad(Sample(s.real(3), 0), ValueRangeError, "size of at least 1")
        yield Bad(Sample(s.real(3), [1, 1]), ShapeError, "add up to axis 0")
        yield Bad(Sample(s.real(), 1), ShapeError, "0-d")
        yield Bad(Sample(s.real(3), "abc"), ArgumentError, "must be an int")


class UnsafeSplit(Composite):
    """Pieces of one size, the last maybe smaller, each a tensor of its own.

    >>> tx.unsafe_split(tx.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """

    signature = "unsafe_split(tensor, split_size: int, dim: int = 0) -> tensors"

    def compose(tensor, split_size, dim):
        d = split_axis("unsafe_split", tensor, dim)
        return tuple(tx.clone(p) for p in even_parts("unsafe_split", tensor, d, split_size))

    reference = Split.reference

    def samples(s):
        yield Sample(s.real(6, s.m), 2)
        yield Sample(s.real(s.m, 5), 3, 1)


class SplitWithSizes(Composite):
    """Pieces of the given sizes.

    >>> tx.split_with_sizes(tx.arange(4), [1, 3])
    (tensor([0]), tensor([1, 2, 3]))
    """

    signature = "split_with_sizes(input, split_sizes: ints, dim: int = 0) -> tensors"

    def compose(input, split_sizes, dim):
        d = split_axis("split_with_sizes", input, dim)
        return given_parts("split_with_sizes", input, d, split_sizes)

    def reference(input, split_sizes, dim=0):
        return loop_parts(input, dim, np.cumsum([0, *split_sizes]))

    def samples(s):
        yield Sample(s.real(s.n, s.m), (1, s.m - 1), 1)
        yield Sample(s.real(s.n, s.m), (0, s.n), -2)
        yield Sample(s.real(s.n), (s.n,))

    def bad(s):
        yield Bad(Sample(s.real(3), (1, 1)), ShapeError, "add up to axis 0")


class UnsafeSplitWithSizes(Composite):
    """Pieces of the given sizes, each a tensor of its own.

    >>> tx.unsafe_split_with_sizes(tx.arange(4), [1, 3])
    (tensor([0]), tensor([1, 2, 3]))
    """

    signature = "unsafe_split_with_sizes(input, split_sizes: ints, dim: int = 0) -> tensors"

    def compose(input, split_sizes, dim):
        d = split_axis("unsafe_split_with_sizes", input, dim)
        pieces = given_parts("unsafe_split_with_sizes", input, d, split_sizes)
        return tuple(tx.clone(p) for p in pieces)

    reference = SplitWithSizes.reference
    samples = SplitWithSizes.samples


class Chunk(Composite):
    """At most `chunks` pieces of one size, the last maybe smaller.

    >>> tx.chunk(tx.arange(5), 3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """

    signature = "chunk(input, chunks: int, dim: int = 0) -> tensors"

    def compose(input, chunks, dim):
        return chunk("chunk", input, chunks, dim)

    def reference(input, chunks, dim=0):
        length = input.shape[dim]
        if length == 0:
            return [input] * chunks
        size = -(-length // chunks)
        return loop_parts(input, dim, [*range(0, length, size), length])

    def samples(s):
        yield Sample(s.real(6, s.m), 3)
        yield Sample(s.real(s.n, 5), 4, 1)
        yield Sample(s.real(2 * s.n, s.m), 2, -2)
        yield Sample(s.real(s.n), 1)
        yield Sample(s.real(0, s.n), 2)

    def bad(s):
        yield Bad(Sample(s.real(3), 0), ValueRangeError, "chunks must be at least 1")
        yield Bad(Sample(s.real(), 1), ShapeError, "0-d")


def chunk(operation: str, input: Any, chunks: Any, dim: int) -> tuple[Any, ...]:
    """Pieces of ceil(length / chunks) elements; an empty axis gives `chunks` empty pieces."""
    d = split_axis(operation, input, dim)
    if chunks < 1:
        raise ValueRangeError(f"{operation}: chunks must be at least 1, got {chunks}")
    length = input.shape[d]
    if length == 0:
        return parts(input, d, [0] * (chunks + 1))
    size = (length + chunks - 1) // chunks
    if length % chunks == 0:
        return parts(input, d, [size * i for i in range(chunks + 1)])
    return even_parts(operation, input, d, size)


class UnsafeChunk(Composite):
    """At most `chunks` pieces of one size, each a tensor of its own.

    >>> tx.unsafe_chunk(tx.arange(3), 2)
    (tensor([0, 1]), tensor([2]))
    """

    signature = "unsafe_chunk(input, chunks: int, dim: int = 0) -> tensors"

    def compose(input, chunks, dim):
        return tuple(tx.clone(p) for p in chunk("unsafe_chunk", input, chunks, dim))

    reference = Chunk.reference
    samples = Chunk.samples


class TensorSplit(Composite):
    """A number of pieces whose sizes differ by one at most, or pieces between given indices.

    >>> tx.tensor_split(tx.arange(5), 2), tx.tensor_split(tx.arange(4), (1, 3))
    ((tensor([0, 1, 2]), tensor([3, 4])), (tensor([0]), tensor([1, 2]), tensor([3])))
    """

    signature = "tensor_split(input, indices_or_sections: any, dim: int = 0) -> tensors"

    def compose(input, indices_or_sections, dim):
        return tensor_split("tensor_split", input, indices_or_sections, dim)

    def reference(input, indices_or_sections, dim=0):
        where = indices_or_sections
        if isinstance(where, np.ndarray):
            where = where.tolist()
        return np.array_split(input, where, axis=dim)

    def samples(s):
        yield Sample(s.real(7, s.m), 3)
        yield Sample(s.real(s.n, 5), 7, -1)
        yield Sample(s.real(s.n, 6), (1, 4), 1)
        yield Sample(s.real(6), (4, 1, -1, 100))
        yield Sample(s.real(0, s.n), 2)
        yield Sample(s.real(s.n, s.m), ())

    def bad(s):
        yield Bad(Sample(s.real(3), 0), ValueRangeError, "at least 1 section")
        yield Bad(Sample(s.real(), 1), ShapeError, "0-d")
        yield Bad(Sample(s.real(3), 1.5), ArgumentError, "must be an int")


def tensor_split(operation: str, input: Any, indices_or_sections: Any, dim: int) -> tuple[Any, ...]:
    """The rule of tensor_split for an axis."""
    d = split_axis(operation, input, dim)
    length, where = input.shape[d], indices_or_sections
    if hasattr(where, "dtype"):
        if getattr(where, "ndim", 2) > 1 or where.dtype.name != "int64":
            raise ArgumentError(
                f"{operation}: a tensor of sections or indices must be int64 with at most one "
                f"axis, got {describe(where)}"
            )
        where = where.tolist()
    if not isinstance(where, list | tuple):
        sections = whole_number(operation, "indices_or_sections", where)
        if sections < 1:
            raise ValueRangeError(f"{operation}: needs at least 1 section, got {sections}")
        check_count(operation, sections, length)
        borders = [0]
        for i in range(sections):
            borders.append(borders[-1] + (length + sections - 1 - i) // sections)
        return parts(input, d, borders)
    indices = numbers(operation, "an index", where)
    starts, ends = [0, *indices], [*indices, length]
    return tuple(tx.slice(input, d, a, b) for a, b in zip(starts, ends, strict=True))


def split_equally(
    operation: str, input: Any, indices_or_sections: Any, dim: int, least: int
) -> tuple[Any, ...]:
    """hsplit and its kin: a number of sections must divide the axis."""
    if input.ndim < least:
        raise ShapeError(
            f"{operation}: needs a tensor with {least} axes or more, input is {describe(input)}"
        )
    if not isinstance(indices_or_sections, list | tuple):
        sections = whole_number(operation, "indices_or_sections", indices_or_sections)
        if sections < 1 or input.shape[dim] % sections != 0:
            raise ShapeError(
                f"{operation}: axis {dim} of {describe(input)} does not divide into {sections}"
            )
        check_count(operation, sections, input.shape[dim])
        size = input.shape[dim] // sections
        return parts(input, dim, [size * i for i in range(sections + 1)])
    return tensor_split(operation, input, indices_or_sections, dim)


class Hsplit(Composite):
    """Pieces side by side: along axis 1, or axis 0 of a vector.

    >>> tx.hsplit(tx.arange(4), 2)
    (tensor([0, 1]), tensor([2, 3]))
    """

    signature = "hsplit(input, indices_or_sections: any) -> tensors"

    def compose(input, indices_or_sections):
        return split_equally("hsplit", input, indices_or_sections, 0 if input.ndim == 1 else 1, 1)

    def reference(input, indices_or_sections):
        return np.hsplit(input, indices_or_sections)

    def samples(s):
        yield Sample(s.real(s.n, 6), 3)
        yield Sample(s.real(6), 2)
        yield Sample(s.real(s.n, 6), (1, 4))

    def bad(s):
        yield Bad(Sample(s.real(), 1), ShapeError, "1 axes or more")
        yield Bad(Sample(s.real(5), 2), ShapeError, "does not divide into 2")
        yield Bad(Sample(s.real(5), "abc"), ArgumentError, "must be an int")


class Vsplit(Composite):
    """Pieces one below the other: along axis 0.

    >>> [p.shape for p in tx.vsplit(tx.zeros(4, 2), 2)]
    [Size([2, 2]), Size([2, 2])]
    """

    signature = "vsplit(input, indices_or_sections: any) -> tensors"

    def compose(input, indices_or_sections):
        return split_equally("vsplit", input, indices_or_sections, 0, 2)

    def reference(input, indices_or_sections):
        return np.vsplit(input, indices_or_sections)

    def samples(s):
        yield Sample(s.real(6, s.n), 3)
        yield Sample(s.real(6, s.n), (1, 4))

    def bad(s):
        yield Bad(Sample(s.real(4), 2), ShapeError, "2 axes or more")
        yield Bad(Sample(s.real(5, 2), 0), ShapeError, "does not divide into 0")


class Dsplit(Composite):
    """Pieces one behind the other: along axis 2.

    >>> [p.shape for p in tx.dsplit(tx.zeros(1, 2, 4), 2)]
    [Size([1, 2, 2]), Size([1, 2, 2])]
    """

    signature = "dsplit(input, indices_or_sections: any) -> tensors"

    def compose(input, indices_or_sections):
        return split_equally("dsplit", input, indices_or_sections, 2, 3)

    def reference(input, indices_or_sections):
        return np.dsplit(input, indices_or_sections)

    def samples(s):
        yield Sample(s.real(s.n, s.m, 6), 3)
        yield Sample(s.real(s.n, s.m, 6), (1, 4))

    def bad(s):
        yield Bad(Sample(s.real(4, 4), 2), ShapeError, "3 axes or more")


class Unbind(Composite):
    """The slices along an axis, which disappears.

    >>> tx.unbind(tx.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """

    signature = "unbind(input, dim: int = 0) -> tensors"

    def compose(input, dim):
        if input.ndim == 0:
            raise IndexOutOfRange("unbind: a 0-d tensor has no axis to take apart")
        d = normalize_dim(dim, input.ndim, "unbind")
        return tuple(tx.select(input, d, i) for i in range(int(input.shape[d])))

    def reference(input, dim=0):
        return list(np.moveaxis(input, dim, 0))

    def samples(s):
        yield Sample(s.real(3, s.m))
        yield Sample(s.real(s.n, 2, s.m), 1)
        yield Sample(s.real(s.n, 2), -1)
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2), 1), IndexOutOfRange, "dim 1 is out of range")
        yield Bad(Sample(s.real()), IndexOutOfRange, "0-d")
