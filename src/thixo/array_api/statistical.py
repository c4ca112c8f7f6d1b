"""Reductions and running sums, with the standard's axes and dtypes; also `all`, `any` and `diff`."""

from thixo.array_api.promotion import accumulator, together
from thixo.dtype import DType
from thixo.errors import ValueRangeError, describe
from thixo.ops import public as tx
from thixo.shape import normalize_dim, normalize_dims
from thixo.tensor import Tensor

__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var",
]  # fmt: skip

Axes = int | tuple[int, ...] | None


def axes_of(x: Tensor, axis: Axes, op: str) -> tuple[int, ...] | None:
    """The axes to reduce; None is all of them."""
    if axis is None:
        return None
    return tuple(normalize_dims(axis, x.ndim, op))


def sum(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The sum of the elements along axes; small integers are added in 64 bits.

    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    tensor([4, 6])
    """
    axes = axes_of(x, axis, "sum")
    wanted = accumulator(x, dtype)
    if axes == ():
        return tx.to(x, wanted, copy=True)
    return tx.sum(x, axes, keepdims, dtype=wanted)


def prod(
    x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """The product of the elements along axes; small integers are multiplied in 64 bits.

    >>> xp.prod(xp.asarray([[1, 2], [3, 4]]))
    tensor(24)
    """
    axes = axes_of(x, axis, "prod")
    wanted = accumulator(x, dtype)
    if axes == ():
        return tx.to(x, wanted, copy=True)
    return tx.prod(x, axes, keepdims, dtype=wanted)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest element along axes; NaN if there is one.

    >>> xp.max(xp.asarray([[1, 2], [3, 4]]), axis=0)
    tensor([3, 4])
    """
    axes = axes_of(x, axis, "max")
    return tx.clone(x) if axes == () else tx.amax(x, _all(x, axes), keepdims)


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest element along axes; NaN if there is one.

    >>> xp.min(xp.asarray([[1, 2], [3, 4]]), axis=0)
    tensor([1, 2])
    """
    axes = axes_of(x, axis, "min")
    return tx.clone(x) if axes == () else tx.amin(x, _all(x, axes), keepdims)


def _all(x: Tensor, axes: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axes is None else axes


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean of the elements along axes.

    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    tensor([2., 3.])
    """
    axes = axes_of(x, axis, "mean")
    return tx.clone(x) if axes == () else tx.mean(x, axes, keepdims)


def var(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance along axes: the squares' sum is divided by the number of elements - correction.

    >>> xp.var(xp.asarray([1.0, 3.0]))
    tensor(1.)
    """
    axes = axes_of(x, axis, "var")
    if axes == ():  # each element alone
        return tx.var(tx.unsqueeze(x, 0), (0,), correction=correction)
    return tx.var(x, axes, correction=correction, keepdim=keepdims)


def std(
    x: Tensor, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation along axes, the square root of `var`.

    >>> xp.std(xp.asarray([1.0, 3.0]))
    tensor(1.)
    """
    axes = axes_of(x, axis, "std")
    if axes == ():  # each element alone
        return tx.std(tx.unsqueeze(x, 0), (0,), correction=correction)
    return tx.std(x, axes, correction=correction, keepdim=keepdims)


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along axes are true, that is not zero.

    >>> xp.all(xp.asarray([[True, False], [True, True]]), axis=0)
    tensor([ True, False])
    """
    axes = axes_of(x, axis, "all")
    truth = tx.ne(x, 0)
    return truth if axes == () else tx.all(truth, axes, keepdims)


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether some element along axes is true, that is not zero.

    >>> xp.any(xp.asarray([[True, False], [True, False]]), axis=0)
    tensor([ True, False])
    """
    axes = axes_of(x, axis, "any")
    truth = tx.ne(x, 0)
    return truth if axes == () else tx.any(truth, axes, keepdims)


# ---- along one axis


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The sum of each element and those before it; `include_initial` puts the empty sum first.

    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    tensor([0, 1, 3, 6])
    """
    place = _one_axis(x, axis, "cumulative_sum")
    sums = tx.cumsum(x, place, dtype=accumulator(x, dtype))
    return _after(sums, place, 0) if include_initial else sums


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Tensor:
    """The product of each element and those before it; `include_initial` puts a one first.

    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    tensor([1, 2, 6])
    """
    place = _one_axis(x, axis, "cumulative_prod")
    products = tx.cumprod(x, place, dtype=accumulator(x, dtype))
    return _after(products, place, 1) if include_initial else products


def _one_axis(x: Tensor, axis: int | None, op: str) -> int:
    if axis is not None:
        return normalize_dim(axis, x.ndim, op)
    if x.ndim != 1:
        raise ValueRangeError(f"{op}: {describe(x)} has not one axis; say which: axis=")
    return 0


def _after(x: Tensor, axis: int, first: int) -> Tensor:
    shape = tuple(1 if i == axis else size for i, size in enumerate(x.shape))
    return tx.cat([tx.full(shape, first, dtype=x.dtype), x], axis)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The n-th differences of neighbours along an axis, with more elements put before and after.

    >>> xp.diff(xp.asarray([1, 4, 9]), prepend=xp.asarray([0]))
    tensor([1, 3, 5])
    """
    given = [part for part in (prepend, x, append) if part is not None]
    joined = tx.cat(together(*given, op="diff"), axis) if len(given) > 1 else x
    return tx.diff(joined, n, axis)
