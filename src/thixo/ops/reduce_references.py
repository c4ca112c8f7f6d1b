"""Slow roads to the meaning of reductions, scans and sorts: loops over lists of Python numbers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def over_axes(array: Any, dim: Any, keepdim: bool, fn: Callable[[list[Any]], Any]) -> np.ndarray:
    """`fn` of the list of Python numbers that each result is made of.

    >>> over_axes(np.array([[1, 2], [3, 4]]), 1, False, max)
    array([2, 4])
    """
    array = np.asarray(array)
    if array.ndim == 0:
        return np.asarray(fn([array.item()]))
    if dim is None or dim == () or dim == []:
        dim = tuple(range(array.ndim))
    dims = [d % array.ndim for d in (dim if isinstance(dim, tuple | list) else [dim])]
    rest = [d for d in range(array.ndim) if d not in dims]
    size = math.prod(array.shape[d] for d in dims)
    rows = array.transpose(rest + dims).reshape([array.shape[d] for d in rest] + [size])
    results = [fn(rows[i].tolist()) for i in np.ndindex(*rows.shape[:-1])]
    shape = [1 if d in dims else s for d, s in enumerate(array.shape)]
    if not keepdim:
        shape = [array.shape[d] for d in rest]
    return np.asarray(results).reshape(shape)


def along(array: Any, dim: int, fn: Callable[[list[Any]], list[Any]]) -> np.ndarray:
    """`fn` from list to list (of any one length) along an axis.

    >>> along(np.array([[3, 1], [2, 4]]), 1, sorted)
    array([[1, 3],
           [2, 4]])
    """
    array = np.asarray(array)
    if array.ndim == 0:
        return np.asarray(fn([array.item()])).reshape(())
    rows = np.moveaxis(array, dim, -1)
    results = [fn(rows[i].tolist()) for i in np.ndindex(*rows.shape[:-1])]
    length = len(results[0]) if results else rows.shape[-1]
    return np.moveaxis(np.asarray(results).reshape(*rows.shape[:-1], length), -1, dim)


def total(values: list[Any]) -> Any:
    """The sum, correctly rounded, of Python numbers; infinities and NaN as IEEE adds them."""
    if any(isinstance(v, complex) for v in values):
        return complex(total([v.real for v in values]), total([v.imag for v in values]))
    if all(isinstance(v, int) for v in values) and values:
        return wrap(sum(values))
    if any(math.isnan(v) for v in values):
        return math.nan
    infinities = {v for v in values if math.isinf(v)}
    if infinities:
        return infinities.pop() if len(infinities) == 1 else math.nan
    return math.fsum(values)


def wrap(value: int) -> int:
    """An integer as int64 holds it."""
    return (value + 2**63) % 2**64 - 2**63


def product(values: list[Any]) -> Any:
    """The product, one factor after another."""
    result: Any = 1
    for v in values:
        result = result * v
    return wrap(result) if isinstance(result, int) else result


def nan_last(value: Any) -> tuple[bool, Any]:
    """A sort key under which NaN is the greatest of all and equal to itself."""
    missing = value != value
    return (missing, 0 if missing else value)


def converted(array: Any, dtype: Any) -> np.ndarray:
    """A reference's input in the type that the operator was asked to work in."""
    array = np.asarray(array)
    if dtype is None:
        return array
    if dtype.kind == "b":
        return array != 0
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array.real
    wide = {"f": np.float64, "c": np.complex128}.get(dtype.kind)
    return array.astype(wide if wide is not None else dtype.numpy)
