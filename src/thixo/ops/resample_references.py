"""Resizing by the book: for each new place, a list of (old place, weight), along one axis at a time."""

import math
from typing import Any

import numpy as np


def _key_cubic(x: float, a: float) -> float:
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def _taps(i: int, size: int, wanted: int, factor: Any, mode: str, align: bool, antialias: bool):
    """The (old place, weight) pairs of new place i."""
    if mode == "area":
        places = range(i * size // wanted, math.ceil((i + 1) * size / wanted))
        return [(p, 1 / len(places)) for p in places]
    if align:
        scale = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        scale = 1 / factor if factor else size / wanted
    if mode == "nearest":
        return [(min(int(i * scale), size - 1), 1.0)]
    if mode == "nearest-exact":
        return [(min(int((i + 0.5) * scale), size - 1), 1.0)]
    if antialias:
        return _wide_taps(i, size, scale, mode)
    x = i * scale if align else (i + 0.5) * scale - 0.5
    if mode == "bicubic":
        near = range(math.floor(x) - 1, math.floor(x) + 3)
        return [(min(max(p, 0), size - 1), _key_cubic(x - p, -0.75)) for p in near]
    x = max(x, 0.0)
    left = min(int(x), size - 1)
    return [(left, 1 - (x - left)), (min(left + 1, size - 1), x - left)]


def _wide_taps(i: int, size: int, scale: float, mode: str) -> list[tuple[int, float]]:
    stretch = max(scale, 1.0)
    reach = (1 if mode == "bilinear" else 2) * stretch
    center = (i + 0.5) * scale
    places = range(max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), size))
    gaps = [(p - center + 0.5) / stretch for p in places]
    if mode == "bilinear":
        weights = [max(0.0, 1 - abs(g)) for g in gaps]
    else:
        weights = [_key_cubic(g, -0.5) for g in gaps]
    return [(p, w / sum(weights)) for p, w in zip(places, weights, strict=True)]


def interpolate(
    input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute=None,
    antialias=False,
):  # fmt: skip
    """The reference of `interpolate`."""
    axes = input.ndim - 2
    given = size if scale_factor is None else scale_factor
    values = list(given) if isinstance(given, (tuple, list)) else [given] * axes
    y = input
    for axis, value in enumerate(values, 2):
        n = input.shape[axis]
        wanted = value if scale_factor is None else math.floor(n * value)
        factor = None if scale_factor is None or recompute else value
        planes = []
        for i in range(wanted):
            taps = _taps(i, n, wanted, factor, mode, bool(align_corners), antialias)
            if len(taps) == 1:
                planes.append(np.take(y, taps[0][0], axis=axis))
            else:
                planes.append(sum(w * np.take(y, p, axis=axis) for p, w in taps))
        y = np.stack(planes, axis=axis)
    return y


# ---- sampling at free places


def _fold(x: float, size: int, padding: str, align: bool) -> float:
    """A place outside brought inside, as the padding says."""
    if padding == "reflection":
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        if high == low:
            x = 0.0
        else:
            turns, rest = divmod(abs(x - low), high - low)
            x = rest + low if turns % 2 == 0 else high - rest
    if padding != "zeros":
        x = min(max(x, 0.0), size - 1.0)
    return x


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The reference of `grid_sample`."""
    axes, align = input.ndim - 2, bool(align_corners)
    sizes = input.shape[2:]
    y = np.zeros((*input.shape[:2], *grid.shape[1:-1]))
    for at in np.ndindex(grid.shape[:-1]):
        value = np.zeros(input.shape[1])
        for place, weight in _neighbours(grid[at][::-1], sizes, mode, padding_mode, align):
            if all(0 <= p < n for p, n in zip(place, sizes, strict=True)):
                value += weight * input[(at[0], slice(None), *place)]
        y[(at[0], slice(None), *at[1:])] = value
    assert len(sizes) == axes
    return y


def _neighbours(point: Any, sizes: Any, mode: str, padding: str, align: bool):
    """The pixels around a point in [-1, 1] coordinates, with their weights."""
    each = []
    for c, n in zip(point, sizes, strict=True):
        x = (c + 1) / 2 * (n - 1) if align else ((c + 1) * n - 1) / 2
        if mode == "bicubic":
            near = range(math.floor(x) - 1, math.floor(x) + 3)
            each.append(
                [(int(_fold(p, n, padding, align)), _key_cubic(x - p, -0.75)) for p in near]
            )
            continue
        x = _fold(x, n, padding, align)
        if mode == "nearest":
            each.append([(round(x), 1.0)])
        else:
            left = math.floor(x)
            each.append([(left, 1 - (x - left)), (left + 1, x - left)])
    found = [((), 1.0)]
    for axis in each:
        found = [((*place, p), w * v) for place, w in found for p, v in axis]
    return found


def affine_grid(theta, size, align_corners=None):
    """The reference of `affine_grid`."""
    sizes = size[2:]
    lines = []
    for n in sizes:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        lines.append(line if align_corners else line * (n - 1) / n)
    y = np.zeros((size[0], *sizes, len(sizes)))
    for at in np.ndindex(y.shape[:-1]):
        point = [line[i] for line, i in zip(lines, at[1:], strict=True)][::-1]
        y[at] = theta[at[0]] @ np.array([*point, 1.0])
    return y
