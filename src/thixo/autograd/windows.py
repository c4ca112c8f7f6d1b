"""Gradients through strided windows, for views whose memory was written in place.

A geometry is (sizes, strides, offset) in elements of one storage. `x` stands for the base in its logical
order; the window is found in it by the position of each element. All in public operators, so that higher
orders follow.
"""

import math
from typing import Any

import numpy as np

from thixo import _core
from thixo.ops import public as tx

Geometry = tuple[tuple[int, ...], tuple[int, ...], int]


def _positions(geometry: Geometry) -> np.ndarray:
    """Where each element lies in the storage."""
    sizes, strides, offset = geometry
    at = np.full(sizes, offset, dtype=np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        steps = np.arange(size, dtype=np.int64) * stride
        at += steps.reshape((size,) + (1,) * (len(sizes) - axis - 1))
    return at


def _index(base: Geometry, view: Geometry) -> Any:
    """For each element of the window, its place in the flattened base."""
    places = _positions(base).ravel()
    wanted = _positions(view).ravel()
    order = np.argsort(places, kind="stable")
    return _core.from_numpy(order[np.searchsorted(places[order], wanted)])


def read(x: Any, base: Geometry, view: Geometry) -> Any:
    """The window's elements of x."""
    return x.reshape(-1).index_select(0, _index(base, view)).reshape(view[0])


def write(x: Any, new: Any, base: Geometry, view: Geometry) -> Any:
    """x with the window replaced by `new`, or by zeros where there is none."""
    flat, index = x.reshape(-1), _index(base, view)
    if new is None:
        return flat.index_fill(0, index, 0).reshape(x.shape)
    return flat.index_copy(0, index, new.reshape(-1)).reshape(x.shape)


def spread(g: Any, base: Geometry, view: Geometry) -> Any:
    """The gradient of `read`: elements that the window shows twice add up."""
    flat = tx.zeros(math.prod(base[0]), dtype=g.dtype)
    return flat.index_add(0, _index(base, view), g.reshape(-1)).reshape(base[0])
