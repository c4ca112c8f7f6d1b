"""Convolutions by the book: zeros are written out for padding, stride and dilation, then SciPy correlates."""

from typing import Any

import numpy as np


def _spread(a: np.ndarray, steps: Any) -> np.ndarray:
    """`a` with `steps - 1` zeros between its entries along each of the trailing axes."""
    sizes = [(n - 1) * s + 1 for n, s in zip(a.shape[-len(steps) :], steps, strict=True)]
    room = np.zeros(a.shape[: -len(steps)] + tuple(sizes), a.dtype)
    room[(..., *(slice(None, None, s) for s in steps))] = a
    return room


def _pad(a: np.ndarray, padding: Any) -> np.ndarray:
    return np.pad(a, [(0, 0)] * (a.ndim - len(padding)) + [(p, p) for p in padding])


def _correlate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    import scipy.signal

    return scipy.signal.correlate(a, np.conj(b), mode="valid", method="direct")


def convolve(input, weight, stride, padding, dilation, groups, bias=None):
    """The reference of the primitive `convolve`."""
    every = tuple(slice(None, None, s) for s in stride)
    x, w = _pad(input, padding), _spread(weight, dilation)
    inner, outer = weight.shape[1], weight.shape[0] // groups
    sizes = [
        len(range(0, a - b + 1, s))
        for a, b, s in zip(x.shape[2:], w.shape[2:], stride, strict=True)
    ]
    y = np.zeros((len(x), len(w), *sizes), input.dtype)
    for n in range(len(x)):
        for o in range(len(w)):
            for i in range(inner):
                channel = x[n, o // outer * inner + i]
                y[n, o] += _correlate(channel, w[o, i])[every]
            if bias is not None:
                y[n, o] += bias[o]
    return y


def convolve_transposed(input, weight, output_size, stride, padding, dilation, groups):
    """The reference of `convolve_transposed`."""
    import scipy.signal

    x, w = _spread(input, stride), _spread(weight, dilation)
    outer, inner = weight.shape[0] // groups, weight.shape[1]
    room = [o + 2 * p for o, p in zip(output_size, padding, strict=True)]
    y = np.zeros((len(x), inner * groups, *room), input.dtype)
    for n in range(len(x)):
        for o in range(len(w)):
            for i in range(inner):
                full = scipy.signal.convolve(x[n, o], w[o, i], mode="full", method="direct")
                place = tuple(map(slice, full.shape))
                y[(n, o // outer * inner + i, *place)] += full
    return y[(..., *(slice(p, p + o) for p, o in zip(padding, output_size, strict=True)))]


def convolve_weight(input, output, kernel_size, stride, padding, dilation, groups):
    """The reference of `convolve_weight`."""
    x, g = _pad(input, padding), _spread(output, stride)
    outer, inner = output.shape[1] // groups, input.shape[1] // groups
    y = np.zeros((output.shape[1], inner, *kernel_size), input.dtype)
    taps = tuple(slice(0, (k - 1) * d + 1, d) for k, d in zip(kernel_size, dilation, strict=True))
    for n in range(len(x)):
        for o in range(output.shape[1]):
            for i in range(inner):
                y[o, i] += _correlate(x[n, o // outer * inner + i], g[n, o])[taps]
    return y


def _each(value: Any, axes: int) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * axes if len(values) == 1 else values


def _add_bias(y: np.ndarray, bias: Any, axes: int) -> np.ndarray:
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The reference of conv1d to conv3d."""
    axes = weight.ndim - 2
    dilation, stride = _each(dilation, axes), _each(stride, axes)
    x = input if input.ndim == axes + 2 else input[None]
    if padding == "same":
        total = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        x = np.pad(x, [(0, 0), (0, 0)] + [(t // 2, t - t // 2) for t in total])
        padding = 0
    elif padding == "valid":
        padding = 0
    y = convolve(x, weight, stride, _each(padding, axes), dilation, groups)
    y = _add_bias(y, bias, axes)
    return y if input.ndim == axes + 2 else y[0]


def conv_transpose(
    input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
):
    """The reference of conv_transpose1d to conv_transpose3d."""
    axes = weight.ndim - 2
    stride, padding = _each(stride, axes), _each(padding, axes)
    dilation, extra = _each(dilation, axes), _each(output_padding, axes)
    x = input if input.ndim == axes + 2 else input[None]
    sizes = [
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(
            x.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True
        )
    ]
    y = convolve_transposed(x, weight, sizes, stride, padding, dilation, groups)
    y = _add_bias(y, bias, axes)
    return y if input.ndim == axes + 2 else y[0]
