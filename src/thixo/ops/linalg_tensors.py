"""Tensors read as matrices: their inverse and their systems."""

import numpy as np

from thixo.errors import IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.linalg_checks import FACTORABLE, check_dtype, check_same_dtype
from thixo.ops.linalg_samples import regular
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim, numel


class Tensorinv(Composite):
    """The inverse of a tensor as a map from its last axes to its first `ind` axes.

    >>> tx.linalg.tensorinv(tx.eye(4).reshape(2, 2, 4), ind=2).shape
    Size([4, 2, 2])
    """

    signature = "tensorinv(input, ind: int = 2) -> X"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(input, ind):
        if ind <= 0:
            raise ShapeError(f"linalg.tensorinv: ind is {ind}; it must be positive")
        rows, columns = list(input.shape[:ind]), list(input.shape[ind:])
        if numel(rows) != numel(columns):
            raise ShapeError(
                f"linalg.tensorinv: input is {describe(input)}; its first {ind} axes have "
                f"{numel(rows)} elements, the others {numel(columns)}, and they must be equal"
            )
        matrix = input.reshape(numel(rows), numel(columns))
        return tx.linalg.inv(matrix).reshape(columns + rows)

    def reference(input, ind):
        return np.linalg.tensorinv(input, ind)

    def samples(s):
        yield Sample(regular(s, 6, 6).reshape(2, 3, 6))
        yield Sample(regular(s, 6, 6).reshape(6, 3, 2), ind=1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4)), ShapeError, "must be equal")
        yield Bad(Sample(s.real(2, 2), ind=0), ShapeError, "must be positive")


class Tensorsolve(Composite):
    """X such that `tensordot(input, X, X.ndim)` is `other`.

    >>> tx.linalg.tensorsolve(tx.eye(4).reshape(2, 2, 4), tx.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """

    signature = "tensorsolve(input, other, dims: ints? = None) -> X"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(input, other, dims):
        op = "linalg.tensorsolve"
        check_dtype(op, "input", input)
        check_same_dtype(op, input=input, other=other)
        if dims is not None:
            last = [normalize_dim(d, input.ndim, op) for d in dims]
            first = [d for d in range(input.ndim) if d not in last]
            input = tx.permute(input, first + last)
        shape = list(input.shape[other.ndim :])
        if numel(shape) != numel(other.shape):
            raise ShapeError(
                f"{op}: input is {describe(input)}, other is {describe(other)}; input's first "
                f"{other.ndim} axes and its others must have as many elements as other"
            )
        if numel(input.shape[: other.ndim]) != numel(shape):
            raise ShapeError(
                f"{op}: input is {describe(input)}; as a matrix for other, {describe(other)}, "
                f"it would not be square"
            )
        matrix = input.reshape(numel(other.shape), numel(shape))
        return tx.linalg.solve(matrix, other.reshape(numel(other.shape))).reshape(shape)

    def reference(input, other, dims):
        return np.linalg.tensorsolve(input, other, dims)

    def samples(s):
        yield Sample(regular(s, 6, 6).reshape(2, 3, 6), s.real(2, 3))
        yield Sample(regular(s, 6, 6).reshape(2, 3, 3, 2), s.real(2, 3))
        yield Sample(
            np.moveaxis(regular(s, 6, 6).reshape(2, 3, 6), 2, 0).copy(), s.real(2, 3), dims=0
        )

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4), s.real(2, 3)), ShapeError, "as many elements")


class LinalgDiagonal(Composite):
    """The diagonals of matrices, the last two axes by default; they share the input's memory.

    >>> tx.linalg.diagonal(tx.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """

    signature = "diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> A"
    namespace = "linalg"

    def compose(A, offset, dim1, dim2):
        return tx.diagonal(A, offset, dim1, dim2)

    def reference(A, offset, dim1, dim2):
        rest = [d for d in range(A.ndim) if d not in (dim1 % A.ndim, dim2 % A.ndim)]
        x = np.transpose(A, [dim1 % A.ndim, dim2 % A.ndim, *rest])
        first, second = max(-offset, 0), max(offset, 0)
        count = max(0, min(x.shape[0] - first, x.shape[1] - second))
        y = [x[first + i, second + i] for i in range(count)]
        return np.stack(y, -1) if y else np.zeros((*x.shape[2:], 0), A.dtype)

    def samples(s):
        yield Sample(s.real(s.n, s.n))
        yield Sample(s.real(s.b, s.n, s.n + s.m), offset=1)
        yield Sample(s.real(3, s.m, 4), offset=-1, dim1=0, dim2=2)

    def bad(s):
        yield Bad(Sample(s.real(2, 2), dim1=2), IndexOutOfRange, "dim 2")
        yield Bad(Sample(s.real(2, 2), dim1=1), ShapeError, "must differ")
