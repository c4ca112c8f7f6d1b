"""What all indexing operators check: index dtypes, shapes and bounds."""

from typing import Any

import numpy as np

from thixo.dtype import DType, int64
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops.samples import Maker
from thixo.shape import normalize_dim


def require_index(operation: str, index: Any, name: str = "index") -> None:
    """Refuse an index tensor that does not hold integers."""
    if not index.dtype.is_integer:
        raise DTypeError(f"{operation}: {name} must hold integers, {name} is {describe(index)}")


def require_same_dtype(operation: str, input: Any, other: Any, name: str) -> None:
    """Refuse a source whose elements would have to be converted silently."""
    if isinstance(other.dtype, DType) and other.dtype is not input.dtype:
        raise DTypeError(
            f"{operation}: input and {name} must have one dtype, input is {describe(input)}, "
            f"{name} is {describe(other)}"
        )


def checked_index(
    operation: str, index: np.ndarray, size: int, axis: int | None, negative: bool = False
) -> np.ndarray:
    """An index array as int64, counted from the front; the first one out of range is named."""
    index = np.asarray(index).astype(np.int64, copy=False)
    if index.size == 0:
        return index
    low = -size if negative else 0
    least, most = index.min(), index.max()
    if least < low or most >= size:
        wrong = least if least < low else most
        where = f"axis {axis} with size {size}" if axis is not None else f"{size} elements"
        raise IndexOutOfRange(f"{operation}: index {wrong} is out of range for {where}")
    return index + size * (index < 0) if least < 0 else index


def check_along(operation: str, input: Any, dim: int, index: Any) -> int:
    """The axis of gather and scatter; the index must fit inside the input on all other axes."""
    d = normalize_dim(dim, input.ndim, operation)
    require_index(operation, index)
    if any(isinstance(n, int) and n == 0 for n in index.shape):
        return d
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise ShapeError(
            f"{operation}: index must have as many axes as input, input is {describe(input)}, "
            f"index is {describe(index)}"
        )
    return d


def check_inside(
    operation: str, inner: Any, outer: Any, name: str, except_dim: int | None = None
) -> None:
    """Refuse an index that is larger than another tensor on some axis."""
    if any(isinstance(n, int) and n == 0 for n in inner.shape):
        return
    sizes = zip(tuple(inner.shape) or (1,), tuple(outer.shape) or (1,), strict=False)  # 0-d is one
    for d, (n, size) in enumerate(sizes):
        if d != except_dim and n is not size and n > size:
            raise ShapeError(
                f"{operation}: index is larger than {name} on axis {d}, index is "
                f"{describe(inner)}, {name} is {describe(outer)}"
            )


def check_lines(operation: str, input: Any, dim: int, index: Any) -> int:
    """The axis of index_select and its kin, whose index is a vector (or 0-d)."""
    d = normalize_dim(dim, input.ndim, operation)
    require_index(operation, index)
    if index.ndim > 1:
        raise ShapeError(f"{operation}: index must be a vector, index is {describe(index)}")
    return d


def at_least_1d(array: np.ndarray) -> np.ndarray:
    """A 0-d array as one with a single element."""
    return array.reshape(1) if array.ndim == 0 else array


def grid(index: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """Index arrays that walk every element of `index`, with its values on axis `dim`."""
    places = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[dim] = index
    return tuple(places)


def add_lines(target: np.ndarray, index: np.ndarray, lines: np.ndarray) -> None:
    """target[index] += lines along the first axis, repeated indices added one after the other."""
    if lines.size == 0:
        return
    order = np.argsort(index, kind="stable")
    places, starts = np.unique(index[order], return_index=True)
    if target.dtype == bool:
        target[places] |= np.logical_or.reduceat(lines[order], starts, axis=0)
    else:
        target[places] += np.add.reduceat(lines[order], starts, axis=0, dtype=target.dtype)


def unique_index(s: Maker, *shape: Any, dim: int) -> np.ndarray:
    """A sample index without repeats along an axis."""
    values = np.argsort(np.asarray(s.distinct(*shape)).real, axis=dim)
    return s._wrap(values, shape, int64)
