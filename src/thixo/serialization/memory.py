"""Which tensors share memory, so that each piece is stored once and sharing is restored.

Tied weights are one tensor under two names: one entry serves both. A tensor that is a part of another (a
row of a matrix) becomes a view of that one's entry. Tensors with parts in common of which none has the
whole share an entry with the memory of all.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from thixo.tensor import Tensor

# Where the exact answer costs more steps than this, memory that may be shared counts as shared.
WORK_LIMIT = 10_000


class Place(NamedTuple):
    """Where the elements of a tensor are: an entry, and for a part of it strides and offset."""

    entry: int
    view: tuple[tuple[int, ...], tuple[int, ...], int] | None  # shape, strides, offset in elements


class Layout(NamedTuple):
    """The arrays to store, and a place for each tensor."""

    arrays: list[np.ndarray]
    owners: list[int | None]  # for each array the first tensor that is all of it
    places: list[Place]


def lay_out(tensors: list[Tensor]) -> Layout:
    """Decide what to store for a list of distinct tensors."""
    arrays = [x.detach()._ndarray() for x in tensors]
    layout = Layout([], [], [Place(-1, None)] * len(tensors))
    for group in _groups(arrays):
        _place_group(group, arrays, layout)
    return layout


def _groups(arrays: list[np.ndarray]) -> list[list[int]]:
    """The indices of arrays with elements in common, directly or through others, in order."""
    spans = sorted((*_span(a), i) for i, a in enumerate(arrays))
    parent = list(range(len(arrays)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    active: list[tuple[int, int]] = []  # (end, index) of spans that a later one may overlap
    for start, end, i in spans:
        active = [(stop, j) for stop, j in active if stop > start]
        for _, j in active:
            if root(i) != root(j) and _share(arrays[i], arrays[j]):
                parent[max(root(i), root(j))] = min(root(i), root(j))
        if end > start:
            active.append((end, i))
    groups: dict[int, list[int]] = {}
    for i in range(len(arrays)):
        groups.setdefault(root(i), []).append(i)
    return list(groups.values())


def _span(array: np.ndarray) -> tuple[int, int]:
    return np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)


def _share(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype or (a.ctypes.data - b.ctypes.data) % a.itemsize:
        return False  # one memory read in two ways: stored as two
    if _geometry(a) == _geometry(b):
        return True
    if any(stride < 0 for stride in a.strides + b.strides):  # NumPy's; no view here is like that
        return False
    try:
        return np.shares_memory(a, b, max_work=WORK_LIMIT)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _geometry(array: np.ndarray) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    return array.ctypes.data, array.shape, array.strides


def _place_group(group: list[int], arrays: list[np.ndarray], layout: Layout) -> None:
    geometries = {_geometry(arrays[i]) for i in group}
    entry = len(layout.arrays)
    low = min(_span(arrays[i])[0] for i in group)
    high = max(_span(arrays[i])[1] for i in group)
    whole = next(
        (i for i in group if arrays[i].flags.c_contiguous and _span(arrays[i]) == (low, high)), None
    )
    if len(geometries) == 1:
        whole = group[0]
    if whole is not None:
        layout.arrays.append(arrays[whole])
    else:
        layout.arrays.append(_memory(low, high, arrays[group[0]].dtype))
    layout.owners.append(whole)
    for i in group:
        same = whole is not None and _geometry(arrays[i]) == _geometry(arrays[whole])
        layout.places[i] = Place(entry, None if same else _part(arrays[i], low))


def _memory(low: int, high: int, dtype: np.dtype) -> np.ndarray:
    """The memory between two addresses, all of which belongs to living tensors, as one axis."""
    window = SimpleNamespace(
        __array_interface__={
            "version": 3,
            "shape": (high - low,),
            "typestr": "|u1",
            "data": (low, True),
        }
    )
    return np.asarray(window).view(dtype)


def _part(array: np.ndarray, low: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    strides = tuple(s // array.itemsize for s in array.strides)
    return array.shape, strides, (array.ctypes.data - low) // array.itemsize
