"""Normalisation by the book: NumPy's own mean and variance, one group of values at a time."""

import numpy as np


def _shaped(p, ndim):
    return p.reshape(1, -1, *[1] * (ndim - 2))


def _scaled(y, weight, bias):
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def standardize(input, dim, eps=1e-5):
    """The reference of `standardize`."""
    dim = tuple(dim)
    with np.errstate(all="ignore"):
        mean, var = np.mean(input, axis=dim, keepdims=True), np.var(input, axis=dim, keepdims=True)
        return (input - mean) / np.sqrt(var + eps), mean, var


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """The reference of `native_layer_norm`."""
    count = len(normalized_shape)
    y, mean, var = standardize(input, tuple(range(-count, 0)), eps)
    return _scaled(y, weight, bias), mean, (var + eps) ** -0.5


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """The reference of `layer_norm`."""
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """The reference of `rms_norm`."""
    if eps is None:
        eps = float(np.finfo(np.float32).eps)  # too small to tell the types apart here
    flat = input.reshape(-1, int(np.prod(normalized_shape)))
    y = np.stack([row / np.sqrt(np.mean(row**2) + eps) for row in flat]).reshape(input.shape)
    return _scaled(y, weight, None)


def native_group_norm(input, weight, bias, batch, channels, places, groups, eps):
    """The reference of `native_group_norm`."""
    y = np.empty_like(input)
    mean, rstd = np.empty((batch, groups)), np.empty((batch, groups))
    each = channels // groups
    for b in range(batch):
        for g in range(groups):
            part = input[b, g * each : (g + 1) * each]
            mean[b, g], rstd[b, g] = part.mean(), 1 / np.sqrt(part.var() + eps)
            y[b, g * each : (g + 1) * each] = (part - mean[b, g]) * rstd[b, g]
    shape = (1, -1, *[1] * (input.ndim - 2))
    weight = None if weight is None else weight.reshape(shape)
    bias = None if bias is None else bias.reshape(shape)
    return _scaled(y, weight, bias), mean, rstd


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """The reference of `group_norm`."""
    batch, channels = input.shape[:2]
    return native_group_norm(input, weight, bias, batch, channels, None, num_groups, eps)[0]


def native_batch_norm(input, weight, bias, mean, var, training, momentum, eps):
    """The reference of `native_batch_norm`."""
    channels = [input[:, c] for c in range(input.shape[1])]
    if training:
        mean = np.array([c.mean() for c in channels])
        var = np.array([c.var() for c in channels])
    y = np.stack(
        [(c - m) / np.sqrt(v + eps) for c, m, v in zip(channels, mean, var, strict=True)], axis=1
    )
    weight = None if weight is None else _shaped(weight, input.ndim)
    bias = None if bias is None else _shaped(bias, input.ndim)
    y = _scaled(y, weight, bias)
    return (y, mean, 1 / np.sqrt(var + eps)) if training else (y, np.zeros(0), np.zeros(0))


def batch_norm(input, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """The reference of `batch_norm`."""
    return native_batch_norm(input, weight, bias, mean, var, training, momentum, eps)[0]


def instance_norm(
    input, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5
):
    """The reference of `instance_norm`."""
    if not use_input_stats:
        return batch_norm(input, mean, var, weight, bias, False, momentum, eps)
    samples = [
        batch_norm(one[None], None, None, weight, bias, True, momentum, eps) for one in input
    ]
    return np.concatenate(samples)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """The reference of `local_response_norm`."""
    y = np.empty_like(input)
    for c in range(input.shape[1]):
        near = input[:, max(0, c - size // 2) : c + (size - 1) // 2 + 1]
        y[:, c] = input[:, c] / (k + alpha * (near**2).sum(axis=1) / size) ** beta
    return y
