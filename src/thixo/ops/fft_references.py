"""Fourier transforms by their defining sums."""

from typing import Any

import numpy as np


def resized(x: np.ndarray, size: int, dim: int) -> np.ndarray:
    """x cut to a size along an axis, or filled up with zeros."""
    x = np.moveaxis(x, dim, 0)
    y = np.zeros((size, *x.shape[1:]), x.dtype)
    y[: min(size, len(x))] = x[:size]
    return np.moveaxis(y, 0, dim)


def scale(size: int, norm: str | None, forward: bool) -> float:
    """What a transform along one axis is divided by."""
    whole = {"forward": forward, "ortho": False}.get(norm or "backward", not forward)
    return np.sqrt(size) if norm == "ortho" else size if whole else 1


def along(x: np.ndarray, size: int, dim: int, norm: str | None, forward: bool) -> np.ndarray:
    """The sum over j of x[j] exp(-2 pi i j k / n) for each k; with + for the inverse."""
    steps = np.arange(size)
    sign = -1 if forward else 1
    waves = np.exp(sign * 2j * np.pi * (np.outer(steps, steps) % size) / size)
    y = np.tensordot(waves, resized(x, size, dim), ([1], [dim]))
    return np.moveaxis(y, 0, dim) / scale(size, norm, forward)


def axes_and_sizes(x: np.ndarray, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    """The transformed axes and how many points each has."""
    if dim is None:
        dim = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = [d % x.ndim for d in dim]
    given = [-1] * len(axes) if s is None else s
    return axes, [x.shape[d] if n == -1 else n for d, n in zip(axes, given, strict=True)]


def fftn(x, s, dim, norm, forward=True):
    """The sum along one axis after the other."""
    y = x + 0j
    for d, n in zip(*axes_and_sizes(x, s, dim), strict=True):
        y = along(y, n, d, norm, forward)
    return y


def ifftn(x, s, dim, norm):
    """The same with the other sign."""
    return fftn(x, s, dim, norm, forward=False)


def rfftn(x, s, dim, norm):
    """The first half of the last axis of the whole transform."""
    axes, sizes = axes_and_sizes(x, s, dim)
    y = fftn(x, s, dim, norm)
    return np.take(y, range(sizes[-1] // 2 + 1), axes[-1])


def irfftn(x, s, dim, norm):
    """The inverse of the whole spectrum, put together from its half."""
    axes, sizes = axes_and_sizes(x, s, dim)
    last, n = axes[-1], sizes[-1]
    if s is None or s[-1] == -1:
        n = 2 * (x.shape[last] - 1)
    y = x + 0j
    for d, size in zip(axes[:-1], sizes[:-1], strict=True):
        y = along(y, size, d, norm, False)
    half = np.moveaxis(resized(y, n // 2 + 1, last), last, 0)
    whole = np.zeros((n, *half.shape[1:]), complex)
    for k in range(n):  # the other half mirrors this one, conjugated
        whole[k] = half[k] if k <= n // 2 else half[n - k].conj()
    whole[0] = whole[0].real
    if n % 2 == 0:
        whole[n // 2] = whole[n // 2].real
    return along(np.moveaxis(whole, 0, last), n, last, norm, False).real


OTHER_NORM = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfftn(x, s, dim, norm):
    """The inverse of a half spectrum, run forward."""
    return irfftn(np.conj(x), s, dim, OTHER_NORM[norm])


def ihfftn(x, s, dim, norm):
    """The transform of real input, run backward."""
    return rfftn(x, s, dim, OTHER_NORM[norm]).conj()


def one_axis(transform: Any) -> Any:
    """The same transform along a single axis."""

    def reference(x: np.ndarray, n: int | None, dim: int, norm: str | None) -> np.ndarray:
        return transform(x, None if n is None else (n,), (dim,), norm)

    return reference
