"""Triangles and diagonals: tril, triu, diag, diag_embed, trace and the indices of triangles."""

from typing import Any

import numpy as np

from thixo.dtype import DType, int64
from thixo.errors import DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Creation, Op, Spec
from thixo.ops.create_options import check_options
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.shape import contiguous_strides, dim_min, normalize_dim, numel


def matrices_type(operation: str, input: Any) -> Spec:
    """The type of a result with the input's shape; the input needs two axes."""
    if input.ndim < 2:
        raise ShapeError(f"{operation}: needs two axes or more, input is {describe(input)}")
    return Spec(tuple(input.shape), input.dtype)


class Tril(Op):
    """The lower triangle of matrices; all above the given diagonal is 0.

    >>> tx.tril(tx.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """

    total = True
    signature = "tril(input, diagonal: int = 0) -> y"
    inplace = True

    def infer(input, diagonal=0):
        return matrices_type("tril", input)

    def kernel(input, diagonal=0):
        return np.tril(input, near_offset(diagonal, *input.shape[-2:]))

    def vjp(g, diagonal):
        return tx.tril(g, diagonal)

    def reference(input, diagonal=0):
        return build(
            input.shape, input.dtype, lambda i: input[i] if i[-1] - i[-2] <= diagonal else 0
        )

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(s.k, s.n, s.m), -1)
        yield Sample(s.real(s.n, s.m), 100)
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(2)), ShapeError, "two axes or more")


class Triu(Op):
    """The upper triangle of matrices; all below the given diagonal is 0.

    >>> tx.triu(tx.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """

    total = True
    signature = "triu(input, diagonal: int = 0) -> y"
    inplace = True

    def infer(input, diagonal=0):
        return matrices_type("triu", input)

    def kernel(input, diagonal=0):
        return np.triu(input, near_offset(diagonal, *input.shape[-2:]))

    def vjp(g, diagonal):
        return tx.triu(g, diagonal)

    def reference(input, diagonal=0):
        return build(
            input.shape, input.dtype, lambda i: input[i] if i[-1] - i[-2] >= diagonal else 0
        )

    samples = Tril.samples
    bad = Tril.bad


def triangle_size(rows: int, columns: int, offset: int) -> int:
    """How many elements of a matrix lie on or below the diagonal at `offset`."""
    first = min(max(offset + 1, 0), columns)  # elements in row 0
    full = max(min(rows, rows + offset - columns + 1), 0) if columns else 0  # rows that are full
    if rows == 0 or columns == 0:
        return 0
    start = max(-offset, 0)  # the first row with any element
    growing = max(rows - start - full, 0)
    lowest = max(offset + 1 + start, 0) if growing else first
    return growing * lowest + growing * (growing - 1) // 2 + full * columns


def check_triangle(
    operation: str, row: Any, col: Any, dtype: DType | None, device: Any, layout: Any
) -> None:
    """Refuse what makes no triangle of indices."""
    if row < 0 or col < 0:
        raise ValueRangeError(f"{operation}: row and col cannot be negative, got {row} and {col}")
    check_options(operation, device, layout)
    if dtype is not None and not dtype.is_integer:
        raise DTypeError(f"{operation}: indices need an integer dtype, got {dtype.name}")


def near_offset(offset: int, row: int, col: int) -> int:
    """The offset, or the nearest one beyond the corners: NumPy computes with it."""
    return max(-row - 1, min(offset, col + 1))


class TrilIndices(Creation):
    """The row and column numbers of a lower triangle, as a (2, count) tensor.

    >>> tx.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """

    signature = (
        "tril_indices(row: int, col: int, offset: int = 0, *, dtype: dtype? = None, "
        "device: device? = None, layout: any? = None, pin_memory: bool = False) -> y"
    )

    def infer(row, col, offset=0, dtype=None, device=None, layout=None, pin_memory=False):
        check_triangle("tril_indices", row, col, dtype, device, layout)
        row, col = int(row), int(col)
        return Spec((2, triangle_size(row, col, offset)), dtype or int64)

    def kernel(row, col, offset=0, dtype=None, *options):
        return np.array(np.tril_indices(row, near_offset(offset, row, col), col))

    def reference(row, col, offset=0, dtype=None, *options):
        pairs = [(i, j) for i in range(row) for j in range(col) if j - i <= offset]
        return np.array(pairs, np.int64).reshape(-1, 2).T

    def samples(s):
        yield Sample(3, 4)
        yield Sample(4, 3, 1)
        yield Sample(4, 3, -2)
        yield Sample(2, 5, 10)
        yield Sample(5, 2, -10)
        yield Sample(0, 3)

    def bad(s):
        yield Bad(Sample(-1, 3), ValueRangeError, "cannot be negative")


class TriuIndices(Creation):
    """The row and column numbers of an upper triangle, as a (2, count) tensor.

    >>> tx.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """

    signature = (
        "triu_indices(row: int, col: int, offset: int = 0, *, dtype: dtype? = None, "
        "device: device? = None, layout: any? = None, pin_memory: bool = False) -> y"
    )

    def infer(row, col, offset=0, dtype=None, device=None, layout=None, pin_memory=False):
        check_triangle("triu_indices", row, col, dtype, device, layout)
        row, col = int(row), int(col)
        return Spec((2, row * col - triangle_size(row, col, offset - 1)), dtype or int64)

    def kernel(row, col, offset=0, dtype=None, *options):
        return np.array(np.triu_indices(row, near_offset(offset, row, col), col))

    def reference(row, col, offset=0, dtype=None, *options):
        pairs = [(i, j) for i in range(row) for j in range(col) if j - i >= offset]
        return np.array(pairs, np.int64).reshape(-1, 2).T

    samples = TrilIndices.samples
    bad = TrilIndices.bad


class DiagEmbed(Composite):
    """Matrices whose diagonals are the last axis of the input; all else is 0.

    >>> tx.diag_embed(tx.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """

    signature = "diag_embed(input, offset: int = 0, dim1: int = -2, dim2: int = -1) -> y"

    def compose(input, offset, dim1, dim2):
        if input.ndim == 0:
            raise ShapeError("diag_embed: needs an axis or more, input is 0-d")
        ndim = input.ndim + 1
        a, b = normalize_dim(dim1, ndim, "diag_embed"), normalize_dim(dim2, ndim, "diag_embed")
        if a == b:
            raise ShapeError(f"diag_embed: dim1 and dim2 must differ, both are {a}")
        size = input.shape[-1] + abs(offset)
        shape = list(input.shape[:-1])
        for d in sorted((a, b)):
            shape.insert(d, size)
        return tx.diagonal_scatter(input.new_zeros(shape), input, offset, a, b)

    def reference(input, offset=0, dim1=-2, dim2=-1):
        size = input.shape[-1] + abs(offset)
        result = np.zeros((*input.shape[:-1], size, size), input.dtype)
        for index in np.ndindex(*input.shape):
            i = index[-1]
            result[(*index[:-1], i + max(-offset, 0), i + max(offset, 0))] = input[index]
        ndim = input.ndim + 1
        return np.moveaxis(result, (-2, -1), (dim1 % ndim, dim2 % ndim))

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(s.n, s.m), -2, 0, 2)
        yield Sample(s.real(s.n, s.m), 0, 1, 0)
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(2), 0, 1, -1), ShapeError, "must differ")


class Diag(Composite):
    """A vector's diagonal matrix, or a matrix's diagonal as a copy.

    >>> tx.diag(tx.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """

    signature = "diag(input, diagonal: int = 0) -> y"

    def compose(input, diagonal):
        if input.ndim == 1:
            return tx.diag_embed(input, diagonal)
        if input.ndim == 2:
            return tx.clone(tx.diagonal(input, diagonal))
        raise ShapeError(f"diag: needs a vector or a matrix, input is {describe(input)}")

    def reference(input, diagonal=0):
        return np.diag(input, diagonal)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n), -1)
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 2, 2)), ShapeError, "a vector or a matrix")


class Diagflat(Composite):
    """The matrix with all elements of the input on a diagonal.

    >>> tx.diagflat(tx.tensor([[1, 2]]))
    tensor([[1, 0],
            [0, 2]])
    """

    signature = "diagflat(input, offset: int = 0) -> y"

    def compose(input, offset):
        return tx.diag_embed(tx.reshape(input, (numel(input.shape),)), offset)

    def reference(input, offset=0):
        return np.diagflat(input, offset)

    def samples(s):
        yield Sample(s.real(s.n, s.k))
        yield Sample(s.real(s.n), 2)
        yield Sample(s.real())
        yield Sample(s.real(0), -1)


class FillDiagonal(Composite):
    """The input with one number on the main diagonal, where all indices are equal.

    With wrap=True the diagonal of a tall matrix starts again below its end.

    >>> tx.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """

    signature = "fill_diagonal(input, fill_value: scalar, wrap: bool = False) -> y"
    inplace = True
    method = False

    def compose(input, fill_value, wrap):
        shape = tuple(input.shape)
        if input.ndim < 2 or (input.ndim > 2 and any(n != shape[0] for n in shape)):
            raise ShapeError(
                f"fill_diagonal_: needs a matrix, or more axes of one size, input is {describe(input)}"
            )
        step = sum(contiguous_strides(shape))
        count = numel(shape)
        if not wrap and input.ndim == 2:
            count = dim_min(count, shape[1] * shape[1])
        index = tx.arange(0, count, step)
        value = tx.full((index.shape[0],), fill_value, dtype=input.dtype)
        return tx.put(input, index, value)

    def reference(input, fill_value, wrap=False):
        result = np.array(input)
        np.fill_diagonal(result, fill_value, wrap)
        return result

    def samples(s):
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(s.n + 5, 2), 1)
        yield Sample(s.real(7, 2), 1, wrap=True)
        yield Sample(s.real(s.n, s.n, s.n), 1)

    def bad(s):
        yield Bad(Sample(s.real(3), 1), ShapeError, "needs a matrix")
        yield Bad(Sample(s.real(2, 2, 3), 1), ShapeError, "more axes of one size")


class Trace(Composite):
    """The sum of a matrix's diagonal.

    >>> tx.trace(tx.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """

    signature = "trace(input) -> y"

    def compose(input):
        if input.ndim != 2:
            raise ShapeError(f"trace: needs a matrix, input is {describe(input)}")
        return tx.sum(tx.diagonal(input))

    def reference(input):
        total = sum(input[i, i] for i in range(min(input.shape)))
        whole = input.dtype.kind in "biu"
        return np.asarray(total, np.int64 if whole else input.dtype)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.n))
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2)), ShapeError, "needs a matrix")
