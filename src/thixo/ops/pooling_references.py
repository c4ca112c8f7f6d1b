"""Pooling by the book: every window is cut out and looked at by itself."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def each(value: Any, axes: int) -> tuple[int, ...]:
    """One number for each axis."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * axes if len(values) == 1 else values


def _count(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    """Windows whose footprint fits, or with `ceil` those that begin before the end of the input."""
    span = d * (k - 1) + 1
    count = 0
    while count * s + span <= n + 2 * p:
        count += 1
    if ceil and count * s < n + p and (count - 1) * s + span < n + 2 * p:
        count += 1
    return count


def _windows(
    sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool
) -> Iterator[tuple[Any, Any]]:
    """(place of the window, its taps along each axis, in the input's coordinates)."""
    counts = map(_count, sizes, kernel, stride, padding, dilation, itertools.repeat(ceil))
    for place in itertools.product(*map(range, counts)):
        yield (
            place,
            [
                [i * s - p + t * d for t in range(k)]
                for i, k, s, p, d in zip(place, kernel, stride, padding, dilation, strict=True)
            ],
        )


def _result(windows: list[Any], lead: Any, dtype: Any) -> np.ndarray:
    last = windows[-1][0]
    return np.zeros((*lead, *(i + 1 for i in last)), dtype)


def add_at(input, indices, sizes):
    """Each value is added at its place of its plane."""
    lead = input.shape[: input.ndim - len(sizes)]
    y = np.zeros((*lead, math.prod(sizes)), input.dtype)
    for place in np.ndindex(*input.shape):
        y[(*place[: len(lead)], indices[place])] += input[place]
    return y.reshape(*lead, *sizes)


def place_at(input, indices, sizes):
    """Each value is written to its place of its plane."""
    lead = input.shape[: input.ndim - len(sizes)]
    y = np.zeros((*lead, math.prod(sizes)), input.dtype)
    for place in np.ndindex(*input.shape):
        y[(*place[: len(lead)], indices[place])] = input[place]
    return y.reshape(*lead, *sizes)


def max_pool(input, kernel_size, stride, padding, dilation, ceil_mode):
    """The largest value of each window, and its place in the flattened input."""
    axes = len(kernel_size)
    sizes, lead = input.shape[-axes:], input.shape[:-axes]
    windows = list(_windows(sizes, kernel_size, stride, padding, dilation, ceil_mode))
    values, indices = _result(windows, lead, input.dtype), _result(windows, lead, np.int64)
    for place, taps in windows:
        inside = [[t for t in axis if 0 <= t < n] for axis, n in zip(taps, sizes, strict=True)]
        numbers = np.array(
            [np.ravel_multi_index(at, sizes) for at in itertools.product(*inside)], np.int64
        )
        cut = input.reshape(*lead, math.prod(sizes))[..., numbers]
        best = np.argmax(cut, axis=-1)
        values[(..., *place)] = np.max(cut, axis=-1)
        indices[(..., *place)] = numbers[best]
    return values, indices


def public_max_pool(axes: int, always: bool = False) -> Callable[..., Any]:
    """The reference of max_pool{axes}d, with indices where they are asked for."""

    def reference(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        kernel = each(kernel_size, axes)
        stride = each(stride, axes) if stride else kernel
        both = max_pool(input, kernel, stride, each(padding, axes), each(dilation, axes), ceil_mode)
        return both if return_indices or always else both[0]

    return reference


def avg_pool(axes: int) -> Callable[..., Any]:
    """The reference of avg_pool{axes}d."""

    def reference(
        input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
        divisor_override=None,
    ):  # fmt: skip
        kernel, padding = each(kernel_size, axes), each(padding, axes)
        stride = each(stride, axes) if stride else kernel
        sizes, lead = input.shape[-axes:], input.shape[:-axes]
        windows = list(_windows(sizes, kernel, stride, padding, (1,) * axes, ceil_mode))
        y = _result(windows, lead, input.dtype)
        for place, taps in windows:
            spans = list(zip(taps, sizes, padding, strict=True))
            inside = [[t for t in axis if 0 <= t < n] for axis, n, _ in spans]
            padded = [[t for t in axis if t < n + p] for axis, n, p in spans]
            counted = padded if count_include_pad else inside
            divisor = divisor_override or math.prod(map(len, counted))
            total = input[(..., *np.ix_(*inside))].sum(axis=tuple(range(-axes, 0)))
            y[(..., *place)] = np.trunc(total / divisor) if y.dtype.kind == "i" else total / divisor
        return y

    return reference


def lp_pool(axes: int) -> Callable[..., Any]:
    """The reference of lp_pool{axes}d."""

    def reference(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        mean = avg_pool(axes)(input**norm_type, kernel_size, stride, 0, ceil_mode)
        return (mean * math.prod(each(kernel_size, axes))) ** (1 / norm_type)

    return reference


# ---- adaptive


def _bins(n: int, count: int) -> list[range]:
    return [range(math.floor(i * n / count), math.ceil((i + 1) * n / count)) for i in range(count)]


def _output_size(output_size: Any, sizes: Any) -> list[int]:
    wanted = each(output_size, len(sizes))
    return [n if w is None else w for w, n in zip(wanted, sizes, strict=True)]


def adaptive_avg_pool(axes: int) -> Callable[..., Any]:
    """The reference of adaptive_avg_pool{axes}d."""

    def reference(input, output_size):
        sizes = input.shape[-axes:]
        counts = _output_size(output_size, sizes)
        y = np.zeros((*input.shape[:-axes], *counts), input.dtype)
        bins = [_bins(n, c) for n, c in zip(sizes, counts, strict=True)]
        for place in itertools.product(*map(range, counts)):
            cut = np.ix_(*(b[i] for b, i in zip(bins, place, strict=True)))
            y[(..., *place)] = input[(..., *cut)].mean(axis=tuple(range(-axes, 0)))
        return y

    return reference


def adaptive_max_pool(axes: int, always: bool = False) -> Callable[..., Any]:
    """The reference of adaptive_max_pool{axes}d."""

    def reference(input, output_size, return_indices=False):
        sizes, lead = input.shape[-axes:], input.shape[:-axes]
        counts = _output_size(output_size, sizes)
        values = np.zeros((*lead, *counts), input.dtype)
        indices = np.zeros((*lead, *counts), np.int64)
        bins = [_bins(n, c) for n, c in zip(sizes, counts, strict=True)]
        flat = input.reshape(*lead, -1)
        for place in itertools.product(*map(range, counts)):
            cut = itertools.product(*(b[i] for b, i in zip(bins, place, strict=True)))
            numbers = np.array([np.ravel_multi_index(at, sizes) for at in cut])
            values[(..., *place)] = flat[..., numbers].max(axis=-1)
            indices[(..., *place)] = numbers[np.argmax(flat[..., numbers], axis=-1)]
        return (values, indices) if return_indices or always else values

    return reference


# ---- fractional, and back


def _starts(sample: float, n: int, count: int, kernel: int) -> list[int]:
    if count == 1:
        return [n - kernel]
    step = (n - kernel) / (count - 1)
    starts = [int((i + sample) * step) - int(sample * step) for i in range(count - 1)]
    return [*starts, n - kernel]


def fractional_max_pool(axes: int, always: bool = False) -> Callable[..., Any]:
    """The reference of fractional_max_pool{axes}d with given samples."""

    def reference(
        input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
        _random_samples=None,
    ):  # fmt: skip
        sizes, kernel = input.shape[-axes:], each(kernel_size, axes)
        if output_size is None:
            ratios = each(output_ratio, axes)
            output_size = [int(n * r) for n, r in zip(sizes, ratios, strict=True)]
        counts = each(output_size, axes)
        x = input.reshape(-1, input.shape[-axes - 1], *sizes)
        values = np.zeros((*x.shape[:2], *counts), input.dtype)
        indices = np.zeros((*x.shape[:2], *counts), np.int64)
        order = [1, 0] if axes == 2 else [0, 1, 2]
        for b, c in itertools.product(*map(range, x.shape[:2])):
            samples = [_random_samples[b, c, i] for i in order]
            starts = list(map(_starts, samples, sizes, counts, kernel))
            for place in itertools.product(*map(range, counts)):
                corner = [s[i] for s, i in zip(starts, place, strict=True)]
                window = [range(a, a + k) for a, k in zip(corner, kernel, strict=True)]
                numbers = np.array(
                    [np.ravel_multi_index(at, sizes) for at in itertools.product(*window)]
                )
                cut = x[b, c].ravel()[numbers]
                values[(b, c, *place)] = cut.max()
                indices[(b, c, *place)] = numbers[np.argmax(cut)]
        lead = input.shape[:-axes]
        values, indices = values.reshape(*lead, *counts), indices.reshape(*lead, *counts)
        return (values, indices) if return_indices or always else values

    return reference


def max_unpool(axes: int) -> Callable[..., Any]:
    """The reference of max_unpool{axes}d."""

    def reference(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel, padding = each(kernel_size, axes), each(padding, axes)
        stride = each(stride, axes) if stride else kernel
        sizes = [
            (n - 1) * s - 2 * p + k
            for n, s, p, k in zip(input.shape[-axes:], stride, padding, kernel, strict=True)
        ]
        if output_size is not None:
            sizes = list(output_size)[-axes:]
        return place_at(input, indices, sizes)

    return reference
