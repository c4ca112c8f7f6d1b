"""Windows on memory as views of a graph value.

A lazy tensor is a window: sizes and strides from an offset on in some storage. A graph has no memory, so a window
becomes views (select, slice, permute, reshape, expand) of the value that the whole storage holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo.ops import public as tx
from thixo.shape import contiguous_strides


class Window(NamedTuple):
    """Where a tensor lies; `memory` tells storages apart."""

    memory: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any


Step = tuple[Any, ...]  # the name of a view and its numbers


def steps_to(root: Window, window: Window) -> list[Step] | None:
    """The views that show a window of `root`; None where these cannot.

    >>> whole = Window(0, 0, (2, 3), (3, 1), tx.float32)
    >>> column = Window(0, 1, (2,), (3,), tx.float32)
    >>> steps_to(whole, column)
    [('select', 1, 1)]
    """
    if root.dtype is not window.dtype or 0 in window.sizes:
        return None
    if root[1:4] == window[1:4]:
        return []
    direct = _direct(root, window)
    if direct is not None:
        return direct
    # Axes that lie together are seen as one, then cut again.
    joined, order = _joined(window)
    for whole in (root, _flat(root)):
        seen = None if whole is None else _direct(whole, joined)
        if seen is not None and whole is not None:
            before: list[Step] = [] if whole is root else [("reshape", whole.sizes)]
            cut: Step = ("reshape", tuple(window.sizes[d] for d in order))
            return [*before, *seen, cut, *_arranged(order, window)]
    return None


def look(t: Any, steps: Sequence[Step]) -> Any:
    """What the views show of a tensor.

    >>> look(tx.arange(6.0).reshape(2, 3), [("select", 1, 1)])
    tensor([1., 4.])
    """
    for name, *numbers in steps:
        t = getattr(tx, name)(t, *numbers)
    return t


def _flat(root: Window) -> Window | None:
    if root.strides != contiguous_strides(root.sizes):
        return None
    count = 1
    for size in root.sizes:
        count *= size
    return root._replace(sizes=(count,), strides=(1,))


def _moving(sizes: Sequence[int], strides: Sequence[int]) -> list[int]:
    """The axes along which a window goes somewhere, the longest step first."""
    found = [d for d, (n, s) in enumerate(zip(sizes, strides, strict=True)) if n > 1 and s != 0]
    return sorted(found, key=lambda d: -strides[d])


def _joined(window: Window) -> tuple[Window, list[int]]:
    order = _moving(window.sizes, window.strides)
    sizes: list[int] = []
    strides: list[int] = []
    for d in order:
        if sizes and strides[-1] == window.sizes[d] * window.strides[d]:
            sizes[-1] *= window.sizes[d]
            strides[-1] = window.strides[d]
        else:
            sizes.append(window.sizes[d])
            strides.append(window.strides[d])
    return window._replace(sizes=tuple(sizes), strides=tuple(strides)), order


def _direct(root: Window, window: Window) -> list[Step] | None:
    """Each axis of the window goes along one axis of the whole."""
    axes = _moving(root.sizes, root.strides)
    if len({root.strides[d] for d in axes}) < len(axes):
        return None
    rest = window.offset - root.offset
    starts: dict[int, int] = {}
    for d in axes:
        starts[d] = min(rest // root.strides[d], root.sizes[d] - 1) if rest > 0 else 0
        rest -= starts[d] * root.strides[d]
    if rest != 0:
        return None
    taken: dict[int, tuple[int, int]] = {}  # axis of the whole -> axis of the window, step
    order = _moving(window.sizes, window.strides)
    for d in order:
        size, stride = window.sizes[d], window.strides[d]
        for along in axes:
            step, odd = divmod(stride, root.strides[along])
            fits = step > 0 and starts[along] + step * (size - 1) < root.sizes[along]
            if not odd and fits and along not in taken:
                taken[along] = (d, step)
                break
        else:
            return None

    steps: list[Step] = []
    for along in range(len(root.sizes) - 1, -1, -1):  # from the back: none before them moves
        start = starts.get(along, 0)
        if along not in taken:
            steps.append(("select", along, start))
            continue
        d, step = taken[along]
        end = start + step * (window.sizes[d] - 1) + 1
        if (start, end, step) != (0, root.sizes[along], 1):
            steps.append(("slice", along, start, end, step))
    left = [taken[along][0] for along in range(len(root.sizes)) if along in taken]
    return [*steps, *_arranged(left, window)]


def _arranged(left: list[int], window: Window) -> list[Step]:
    """From axes as in `left` to the window's order, with the axes that go nowhere."""
    steps: list[Step] = []
    order = sorted(range(len(left)), key=lambda i: left[i])
    if order != list(range(len(left))):
        steps.append(("permute", tuple(order)))
    steps += [("unsqueeze", d) for d in range(len(window.sizes)) if d not in left]
    if any(n > 1 and s == 0 for n, s in zip(window.sizes, window.strides, strict=True)):
        steps.append(("expand", window.sizes))
    return steps
