"""What masked operators share: the mask, what stands where an element is missing, slow references.

A mask is True where an element counts. It has at most as many axes as the input and broadcasts to its
shape; one that is not bool counts as True where it is not zero. An element that is masked out has no part
in any result and its gradient is 0, whatever its value, NaN included.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thixo.dtype import DType, iinfo, int64
from thixo.dtype import bool as bool_
from thixo.errors import ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.samples import Bad, Maker, Sample
from thixo.shape import broadcast_shapes


def present(op: str, input: Any, mask: Any) -> Any:
    """The mask as bool in the input's own shape."""
    fits = mask.ndim <= input.ndim
    if fits and tuple(mask.shape) != tuple(input.shape):
        try:
            fits = broadcast_shapes(mask.shape, input.shape) == tuple(input.shape)
        except ShapeError:
            fits = False
    if not fits:
        raise ShapeError(
            f"{op}: mask is {describe(mask)}, input is {describe(input)}; a mask must broadcast to the "
            "input's shape"
        )
    return tx.broadcast_to(mask.to(bool_), tuple(input.shape))


def kept(op: str, input: Any, mask: Any, fill: Any) -> Any:
    """The input with `fill` in place of what is masked out."""
    return input if mask is None else tx.where(present(op, input, mask), input, fill)


def least(dtype: DType) -> Any:
    """The number that is no greater than any other of a dtype."""
    if dtype.is_integer:
        return iinfo(dtype).min
    return False if dtype is bool_ else -math.inf


def greatest(dtype: DType) -> Any:
    """The number that is no less than any other of a dtype."""
    if dtype.is_integer:
        return iinfo(dtype).max
    return True if dtype is bool_ else math.inf


# ---- references: lists of the elements that count


def over_present(
    array: Any, mask: Any, dim: Any, keepdim: bool, fn: Callable[[list[Any]], Any]
) -> np.ndarray:
    """`fn` of the list of elements that count for each result of a reduction.

    >>> over_present(np.array([[1, 2], [3, 4]]), np.array([True, False]), 1, False, sum)
    array([1, 3])
    """
    return over_places(array, mask, dim, keepdim, lambda found: fn([value for _, value in found]))


def over_places(
    array: Any, mask: Any, dim: Any, keepdim: bool, fn: Callable[[list[tuple[int, Any]]], Any]
) -> np.ndarray:
    """`fn` of the list of (place, element) of those that count for each result of a reduction."""
    array = np.asarray(array)
    values, counts = _flat(array, mask)

    def run(at: list[int]) -> Any:
        return fn([(place, values[i]) for place, i in enumerate(at) if counts[i]])

    if array.ndim == 0:
        return np.asarray(run([0]))
    every = tuple(range(array.ndim))
    dims = every if dim is None or dim == () else dim if isinstance(dim, tuple) else (dim,)
    dims = tuple(d % array.ndim for d in dims)
    rest = tuple(d for d in every if d not in dims)
    shape = [array.shape[d] for d in rest]
    at = np.arange(array.size).reshape(array.shape).transpose(rest + dims)
    found = [run(at[i].ravel().tolist()) for i in np.ndindex(*shape)]
    if keepdim:
        shape = [1 if d in dims else array.shape[d] for d in every]
    return np.asarray(found).reshape(shape)


def along_present(
    array: Any, mask: Any, dim: int, fn: Callable[[list[Any], list[bool]], list[Any]]
) -> np.ndarray:
    """`fn(values, which count)` from list to list of the same length, along an axis."""
    array = np.asarray(array)
    values, counts = _flat(array, mask)
    if array.ndim == 0:
        return np.asarray(fn(values, counts)[0])
    at = np.moveaxis(np.arange(array.size).reshape(array.shape), dim, -1)
    rows = [at[i].tolist() for i in np.ndindex(*at.shape[:-1])]
    found = [fn([values[i] for i in row], [counts[i] for i in row]) for row in rows]
    return np.moveaxis(np.asarray(found).reshape(at.shape), -1, dim)


def _flat(array: Any, mask: Any) -> tuple[list[Any], list[bool]]:
    array = np.asarray(array)
    whole = np.broadcast_to(True if mask is None else np.asarray(mask) != 0, array.shape)
    return array.ravel().tolist(), whole.ravel().tolist()


# ---- samples


def some(s: Maker, *shape: Any) -> np.ndarray:
    """A mask that leaves two elements at least along every axis, so that all results exist."""
    mask = s.bools(*shape)
    for axis in range(mask.ndim):
        mask[(slice(None),) * axis + (slice(0, 2),)] = True
    return mask


def far(s: Maker) -> Callable[..., np.ndarray]:
    """Draws elements no two of which have one magnitude, away from 0: norms are smooth there."""
    return lambda *shape: s.distinct(*shape, low=0.5, high=3)


def reductions(
    draw: str = "real", whole: bool = True, several: bool = True, **given: Any
) -> Callable[[Maker], Iterator[Sample]]:
    """One array and a mask of every sort, reduced over axes in every way the operator has."""

    def samples(s: Maker) -> Iterator[Sample]:
        array = far(s) if draw == "far" else getattr(s, draw)
        if whole:
            yield Sample(array(s.n, s.m), **given)
            yield Sample(array(s.n, s.m), mask=some(s, s.n, s.m), **given)
        yield Sample(array(), dim=0, mask=s.array(True, bool_), **given)
        yield Sample(array(s.n), dim=0, mask=some(s, s.n), **given)
        yield Sample(array(s.n, s.m), dim=1, mask=some(s, s.m), **given)
        yield Sample(array(s.n, s.m), dim=0, keepdim=True, mask=some(s, s.n, 1), **given)
        yield Sample(array(s.n, s.m, s.k), dim=-2, mask=some(s, s.n, s.m, s.k), **given)
        yield Sample(array(s.n, s.m), dim=-1, mask=some(s, s.n, s.m).astype(np.int64), **given)
        if several:
            yield Sample(array(s.n, s.m, s.k), dim=(0, 2), mask=some(s, s.n, 1, s.k), **given)

    return samples


def nothing(s: Maker, **given: Any) -> Iterator[Sample]:
    """Two rows, and nothing counts in the second."""
    mask = s.array([[1, 0, 1], [0, 0, 0]], int64)
    yield Sample(s.real(2, 3), dim=1, mask=mask, grad=False, **given)


def along_axis(s: Maker, array: Callable[..., np.ndarray], **given: Any) -> Iterator[Sample]:
    """One array and a mask for operators that keep the shape and work along one axis."""
    yield Sample(array(s.n), dim=0, **given)
    yield Sample(array(), dim=0, mask=s.array(True, bool_), **given)
    yield Sample(array(s.n, s.m), dim=1, mask=some(s, s.n, s.m), **given)
    yield Sample(array(s.n, s.m), dim=0, mask=some(s, s.n, 1), **given)
    yield Sample(array(s.n, s.m, s.k), dim=-2, mask=some(s, s.n, s.m, 1), **given)


def bad_masks(s: Maker) -> Iterator[Bad]:
    """Masks that do not fit."""
    yield Bad(Sample(s.real(3), dim=0, mask=s.bools(2)), ShapeError, "mask is bool[2], input is")
    yield Bad(Sample(s.real(3), dim=0, mask=s.bools(2, 3)), ShapeError, "mask must broadcast")
    yield Bad(Sample(s.real(1), dim=0, mask=s.bools(3)), ShapeError, "mask must broadcast")
