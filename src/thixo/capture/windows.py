"""Windows on memory as views of a graph value.

A lazy tensor is a window: sizes and strides from an offset on in some storage. A graph has no memory, so a window
becomes views (select, slice, permute, reshape, expand) of the value that the whole storage holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


Look = Callable[[Any], Any]  # from a tensor of the whole to one of the window


def looker(root: Window, window: Window) -> Look | None:
    """How to see a window in a tensor that has all of `root`; None where these views cannot show it.

    >>> whole = Window(0, 0, (2, 3), (3, 1), tx.float32)
    >>> column = Window(0, 1, (2,), (3,), tx.float32)
    >>> looker(whole, column)(tx.arange(6.0).reshape(2, 3))
    tensor([1., 4.])
    """
    if root.dtype is not window.dtype or 0 in window.sizes:
        return None
    if root[1:4] == window[1:4]:
        return lambda t: t
    direct = _direct(root, window)
    if direct is not None:
        return direct
    # Axes that lie together are seen as one, then cut again.
    joined, order = _joined(window)
    for whole in (root, _flat(root)):
        seen = None if whole is None else _direct(whole, joined)
        if seen is not None and whole is not None:
            return _Again(None if whole is root else whole.sizes, seen, window, order)
    return None


class _Again:
    """Join the axes of the whole, look, cut the axes of the window, put them into their order."""

    def __init__(
        self, sizes: tuple[int, ...] | None, seen: Look, window: Window, order: list[int]
    ) -> None:
        self.sizes, self.seen, self.window, self.order = sizes, seen, window, order

    def __call__(self, t: Any) -> Any:
        if self.sizes is not None:
            t = tx.reshape(t, self.sizes)
        t = self.seen(t)
        sizes, strides = self.window.sizes, self.window.strides
        t = tx.reshape(t, tuple(sizes[d] for d in self.order))
        return _arranged(t, self.order, sizes, strides)


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


def _direct(root: Window, window: Window) -> Look | None:
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

    def look(t: Any) -> Any:
        for along in range(
            len(root.sizes) - 1, -1, -1
        ):  # from the back: axes that go away move none before
            start = starts.get(along, 0)
            if along not in taken:
                t = tx.select(t, along, start)
                continue
            d, step = taken[along]
            end = start + step * (window.sizes[d] - 1) + 1
            if (start, end, step) != (0, root.sizes[along], 1):
                t = tx.slice(t, along, start, end, step)
        left = [taken[along][0] for along in range(len(root.sizes)) if along in taken]
        return _arranged(t, left, window.sizes, window.strides)

    return look


def _arranged(t: Any, left: list[int], sizes: Sequence[int], strides: Sequence[int]) -> Any:
    """A tensor whose axes are those of `left`, in the window's order, with the axes that go nowhere."""
    order = sorted(range(len(left)), key=lambda i: left[i])
    if order != list(range(len(left))):
        t = tx.permute(t, tuple(order))
    for d in range(len(sizes)):
        if d not in left:
            t = tx.unsqueeze(t, d)
    if any(n > 1 and s == 0 for n, s in zip(sizes, strides, strict=True)):
        t = tx.expand(t, tuple(sizes))
    return t
