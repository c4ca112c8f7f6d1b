"""Functions that search, sort and find the distinct values."""

from typing import Literal, NamedTuple

from thixo.array_api.promotion import Number, together
from thixo.array_api.statistical import Axes, axes_of
from thixo.dtype import bool as bool_
from thixo.dtype import int64
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.tensor import Tensor

__all__ = [
    "argmax", "argmin", "argsort", "count_nonzero", "nonzero", "searchsorted", "sort",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "where",
]  # fmt: skip


# ---- places


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first largest element, along an axis or in the flattened array.

    >>> xp.argmax(xp.asarray([[1, 5], [7, 2]]), axis=1)
    tensor([1, 0])
    """
    return tx.argmax(x, axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the first smallest element, along an axis or in the flattened array.

    >>> xp.argmin(xp.asarray([[1, 5], [7, 2]]), axis=1)
    tensor([0, 1])
    """
    return tx.argmin(x, axis, keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero.

    >>> xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=0)
    tensor([1, 2])
    """
    axes = axes_of(x, axis, "count_nonzero")
    found = tx.ne(x, 0)
    return found.to(int64) if axes == () else tx.sum(found, axes, keepdims, dtype=int64)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, an array for each axis.

    >>> xp.nonzero(xp.asarray([[0, 1], [2, 0]]))
    (tensor([0, 1]), tensor([1, 0]))
    """
    if x.ndim == 0:
        raise ShapeError(f"nonzero: needs an array with axes, got {describe(x)}")
    return tuple(tx.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor,
    x2: Tensor | Number,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each element of x2 belongs in the sorted x1, before ("left") or after equal ones.

    `sorter` has the indices that sort x1 where it is not sorted itself.

    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]))
    tensor([1, 2])
    """
    if x1.ndim != 1:
        raise ShapeError(f"searchsorted: x1 must have one axis, got {describe(x1)}")
    x1, x2 = together(x1, x2, op="searchsorted")
    if sorter is not None:
        sorter = sorter.to(int64)
    return tx.searchsorted(x1, x2, side=side, sorter=sorter)


def where(condition: Tensor, x1: Tensor | Number, x2: Tensor | Number, /) -> Tensor:
    """The element of x1 where the condition holds, else that of x2.

    >>> xp.where(xp.asarray([True, False]), xp.asarray([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """
    if condition.dtype is not bool_:
        raise DTypeError(f"where: condition must be boolean, got {describe(condition)}")
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        return tx.where(condition, x1, x2)
    return tx.where(condition, *together(x1, x2, op="where"))


# ---- order


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along an axis.

    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    tensor([3, 2, 1])
    """
    return tx.sort(x, axis, descending, stable=stable)[0]


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """The indices that put the elements in order along an axis; equal ones keep theirs.

    >>> xp.argsort(xp.asarray([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return tx.argsort(x, axis, descending, stable=stable)


# ---- sets


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct values in order, where each is first found, which each element is, how many.

    Every NaN is a value of its own.

    >>> xp.unique_all(xp.asarray([5, 3, 5])).indices
    tensor([1, 0])
    """
    flat = tx.reshape(x, (-1,))
    order = _order(flat)
    ordered = flat[order]
    is_new = tx.cat([tx.ones(min(1, len(ordered)), dtype=bool_), ordered[1:] != ordered[:-1]], 0)
    group = tx.cumsum(is_new, 0) - 1  # the number of the distinct value that each is
    starts = tx.nonzero(is_new, as_tuple=True)[0]
    ends = tx.cat([starts[1:], tx.full((min(1, len(starts)),), len(ordered))], 0)
    inverse = tx.scatter(tx.empty_like(group), 0, order, group)
    return UniqueAll(ordered[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def _order(flat: Tensor) -> Tensor:
    """Indices that bring equal elements together, the first found first."""
    if not flat.dtype.is_complex:
        return tx.argsort(flat, 0, stable=True)
    by_imaginary = tx.argsort(tx.imag(flat), 0, stable=True)
    return by_imaginary[tx.argsort(tx.real(flat)[by_imaginary], 0, stable=True)]


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct values in order, and how many there are of each.

    >>> xp.unique_counts(xp.asarray([5, 3, 5])).counts
    tensor([1, 2])
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct values in order, and which of them each element is.

    >>> xp.unique_inverse(xp.asarray([5, 3, 5])).inverse_indices
    tensor([1, 0, 1])
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values in order.

    >>> xp.unique_values(xp.asarray([5, 3, 5]))
    tensor([3, 5])
    """
    return unique_all(x).values
