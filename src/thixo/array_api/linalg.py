"""The linear algebra extension, and the four functions of it that the main namespace has too."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from thixo.array_api.promotion import accumulator, together
from thixo.dtype import DType
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.shape import broadcast_shapes
from thixo.tensor import Tensor

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip


# ---- products


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product; an array with one axis is a row before and a column after the other.

    >>> xp.matmul(xp.ones((2, 3)), xp.ones(3))
    tensor([3., 3.])
    """
    return tx.matmul(*together(x1, x2, op="matmul"))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Each matrix with rows and columns exchanged.

    >>> xp.matrix_transpose(xp.ones((4, 2, 3))).shape
    Size([4, 3, 2])
    """
    return tx.mT(x)


def tensordot(
    x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """The sum of products over axes: so many last ones of x1 and first ones of x2, or pairs.

    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    Size([2, 4])
    """
    return tx.tensordot(*together(x1, x2, op="tensordot"), axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The scalar products along an axis; x1 is conjugated.

    >>> xp.vecdot(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor(11)
    """
    x1, x2 = together(x1, x2, op="vecdot")
    for x in (x1, x2):
        if not -x.ndim <= axis < max(x1.ndim, x2.ndim):
            raise ShapeError(f"vecdot: {describe(x)} has no axis {axis}")
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(
            f"vecdot: the sizes of axis {axis} differ: x1 is {describe(x1)}, x2 is {describe(x2)}"
        )
    return tx.sum(tx.conj(x1) * x2, (axis,), dtype=x1.dtype)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Each element of x1 times each of x2.

    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    return tx.outer(*together(x1, x2, op="outer"))


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The vector at right angles to two vectors of three along an axis.

    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    tensor([0, 0, 1])
    """
    x1, x2 = together(x1, x2, op="cross")
    if x1.ndim != x2.ndim and x1.ndim * x2.ndim > 0:  # axes are counted from the end then
        axis = axis - max(x1.ndim, x2.ndim) if axis >= 0 else axis
        ndim = max(x1.ndim, x2.ndim)
        x1, x2 = (tx.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape)) for x in (x1, x2))
    return tx.linalg.cross(x1, x2, dim=axis)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Each matrix to a whole power; a negative one inverts it.

    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    return tx.linalg.matrix_power(x, n)


# ---- parts and measures


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """A diagonal of each matrix.

    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return tx.diagonal(x, offset, -2, -1)


def trace(x: Tensor, /, *, offset: int = 0, dtype: DType | None = None) -> Tensor:
    """The sum of a diagonal of each matrix.

    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)
    """
    return tx.sum(diagonal(x, offset=offset), (-1,), dtype=accumulator(x, dtype))


def det(x: Tensor, /) -> Tensor:
    """The determinant of each matrix.

    >>> xp.linalg.det(xp.asarray([[2.0, 0.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return tx.linalg.det(x)


def matrix_norm(
    x: Tensor,
    /,
    *,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = "fro",
) -> Tensor:
    """The norm of each matrix: Frobenius, nuclear, or by columns (1), rows (inf), stretch (2).

    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    return tx.linalg.matrix_norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def vector_norm(
    x: Tensor,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Tensor:
    """The norm of the elements along axes, or of all.

    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
    """
    if axis == ():  # each element alone
        return tx.linalg.vector_norm(tx.unsqueeze(x, 0), ord, 0)
    return tx.linalg.vector_norm(x, ord, axis, keepdims)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """How many singular values are more than `rtol` times the largest.

    >>> xp.linalg.matrix_rank(xp.ones((2, 2)))
    tensor(1)
    """
    return tx.linalg.matrix_rank(x, rtol=rtol)


# ---- factors


class QR(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


class Eigh(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class Slogdet(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


class SVD(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor L of each symmetric positive matrix L L^H, or its transpose.

    >>> xp.linalg.cholesky(xp.asarray([[4.0]]))
    tensor([[2.]])
    """
    return tx.linalg.cholesky(x, upper=upper)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QR:
    """Q with orthonormal columns and the upper triangular R whose product is each matrix.

    >>> q, r = xp.linalg.qr(xp.ones((3, 2))); q.shape, r.shape
    (Size([3, 2]), Size([2, 2]))
    """
    if mode not in ("reduced", "complete"):
        raise ValueRangeError(f"qr: mode must be 'reduced' or 'complete', got {mode!r}")
    return QR(*tx.linalg.qr(x, mode))


def eigh(x: Tensor, /) -> Eigh:
    """The eigenvalues of each symmetric matrix, smallest first, and its eigenvectors as columns.

    >>> xp.linalg.eigh(xp.asarray([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return Eigh(*tx.linalg.eigh(x))


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of each symmetric matrix, smallest first.

    >>> xp.linalg.eigvalsh(xp.asarray([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    return tx.linalg.eigvalsh(x)


def slogdet(x: Tensor, /) -> Slogdet:
    """The sign of the determinant of each matrix and the logarithm of its absolute value.

    >>> xp.linalg.slogdet(xp.asarray([[-1.0]]))
    Slogdet(sign=tensor(-1.), logabsdet=tensor(0.))
    """
    return Slogdet(*tx.linalg.slogdet(x))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVD:
    """The singular values S of each matrix U diag(S) Vh, largest first, and U and Vh.

    >>> xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    return SVD(*tx.linalg.svd(x, full_matrices))


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of each matrix, largest first.

    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    return tx.linalg.svdvals(x)


# ---- inverses


def inv(x: Tensor, /) -> Tensor:
    """The inverse of each matrix.

    >>> xp.linalg.inv(xp.asarray([[2.0]]))
    tensor([[0.5000]])
    """
    return tx.linalg.inv(x)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """The pseudo-inverse of each matrix; singular values up to `rtol` times the largest are zero.

    >>> xp.linalg.pinv(xp.asarray([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return tx.linalg.pinv(x, rtol=rtol)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """What each matrix of x1 must be multiplied by to give x2: one vector, or matrices.

    >>> xp.linalg.solve(xp.asarray([[2.0]]), xp.asarray([3.0]))
    tensor([1.5000])
    """
    x1, x2 = together(x1, x2, op="solve")
    if x2.ndim == 1:
        return tx.squeeze(solve(x1, tx.unsqueeze(x2, -1)), -1)
    # An x2 with one axis less than x1 would be a stack of vectors to `thixo.linalg.solve`.
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x2 = tx.broadcast_to(x2, (*batch, *x2.shape[-2:]))
    return tx.linalg.solve(tx.broadcast_to(x1, (*batch, *x1.shape[-2:])), x2)
