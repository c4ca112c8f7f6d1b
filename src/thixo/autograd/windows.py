"""Gradients through strided windows, for views whose memory was written in place.

A geometry is (sizes, strides, offset, is_complex) in elements of one storage. `x` stands for the base in
its logical order; the window is found in it by the position of each element. Where only one of the two
is complex (view_as_real, view_as_complex), both are seen as pairs of real numbers. All in public
operators, so that higher orders follow.
"""

import math
from typing import Any

import numpy as np

from thixo import _core
from thixo.ops import public as tx

Geometry = tuple[tuple[int, ...], tuple[int, ...], int, bool]


def _positions(geometry: Geometry) -> np.ndarray:
    """Where each element lies in the storage."""
    sizes, strides, offset, _ = geometry
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


def _as_pairs(geometry: Geometry) -> Geometry:
    """The same elements as real numbers, two for each complex one."""
    sizes, strides, offset, is_complex = geometry
    if not is_complex:
        return geometry
    return (*sizes, 2), (*(2 * s for s in strides), 1), 2 * offset, False


def _common(base: Geometry, view: Geometry) -> tuple[Geometry, Geometry]:
    return (base, view) if base[3] == view[3] else (_as_pairs(base), _as_pairs(view))


def _enter(x: Any, own: Geometry, seen: Geometry) -> Any:
    """x, whose elements `own` describes, in the elements of `seen`."""
    return tx.view_as_real(x) if own[3] and not seen[3] else x


def _leave(x: Any, own: Geometry, seen: Geometry) -> Any:
    return tx.view_as_complex(x.contiguous()) if own[3] and not seen[3] else x


def read(x: Any, base: Geometry, view: Geometry) -> Any:
    """The window's elements of x."""
    whole, part = _common(base, view)
    flat = _enter(x, base, whole).reshape(-1)
    return _leave(flat.index_select(0, _index(whole, part)).reshape(part[0]), view, part)


def write(x: Any, new: Any, base: Geometry, view: Geometry) -> Any:
    """x with the window replaced by `new`, or by zeros where there is none."""
    whole, part = _common(base, view)
    seen = _enter(x, base, whole)
    flat, index = seen.reshape(-1), _index(whole, part)
    if new is None:
        made = flat.index_fill(0, index, 0)
    else:
        made = flat.index_copy(0, index, _enter(new, view, part).reshape(-1))
    return _leave(made.reshape(seen.shape), base, whole)


def spread(g: Any, base: Geometry, view: Geometry) -> Any:
    """The gradient of `read`: elements that the window shows twice add up."""
    whole, part = _common(base, view)
    seen = _enter(g, view, part)
    flat = tx.zeros(math.prod(whole[0]), dtype=seen.dtype)
    made = flat.index_add(0, _index(whole, part), seen.reshape(-1)).reshape(whole[0])
    return _leave(made, base, whole)
