"""Losses by the book: one sample after the other, with Python's own mathematics."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def elementwise(fn: Callable[..., float], *arrays: Any) -> np.ndarray:
    """fn of one number of each array at a time."""
    arrays = np.broadcast_arrays(*arrays)
    values = [fn(*map(float, v)) for v in zip(*(a.ravel() for a in arrays), strict=True)]
    return np.array(values, np.float64).reshape(arrays[0].shape)


def _mode(size_average: Any, reduce: Any, reduction: str) -> str:
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduced(losses: Any, size_average: Any, reduce: Any, reduction: str) -> Any:
    """Losses as they are, their mean or their sum."""
    mode = _mode(size_average, reduce, reduction)
    if mode == "none":
        return np.asarray(losses)
    total = np.asarray(losses).sum()
    return total if mode == "sum" else total / np.size(losses)


def weighted(losses: Any, weight: Any, size_average: Any, reduce: Any, reduction: str) -> Any:
    """Weighted losses; their mean is the weighted mean."""
    if weight is None:
        return reduced(losses, size_average, reduce, reduction)
    mode = _mode(size_average, reduce, reduction)
    if mode == "mean":
        return (losses * weight).sum() / weight.sum()
    return reduced(losses * weight, None, None, mode)


def _log_softmax(x: np.ndarray) -> np.ndarray:
    return x - math.log(sum(math.exp(v - x.max()) for v in x)) - x.max()


def _samples(input: np.ndarray) -> tuple[np.ndarray, Any]:
    """Scores as (samples, classes), and the shape that one number for each sample has."""
    if input.ndim == 1:
        return input[None], ()
    moved = np.moveaxis(input, 1, -1)
    return moved.reshape(-1, input.shape[1]), moved.shape[:-1]


def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """The reference of `nll_loss`."""
    rows, shape = _samples(input)
    losses, weights = [], []
    for row, t in zip(rows, np.ravel(target), strict=True):
        w = 0.0 if t == ignore_index else 1.0 if weight is None else weight[t]
        losses.append(-w * row[t] if t != ignore_index else 0.0)
        weights.append(w)
    mode = _mode(size_average, reduce, reduction)
    if mode == "mean":
        return np.float64(sum(losses)) / sum(weights)
    return reduced(np.array(losses).reshape(shape), None, None, mode)


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None,
    reduction="mean", label_smoothing=0.0,
):  # fmt: skip
    """The reference of `cross_entropy`."""
    rows, shape = _samples(input)
    mode, classes = _mode(size_average, reduce, reduction), rows.shape[1]
    w = np.ones(classes) if weight is None else weight
    losses, weights = [], []
    if np.issubdtype(target.dtype, np.floating):
        for row, p in zip(rows, _samples(target)[0], strict=True):
            p = p * (1 - label_smoothing) + label_smoothing / classes
            losses.append(-sum(w * p * _log_softmax(row)))
            weights.append(1.0)
    else:
        for row, t in zip(rows, np.ravel(target), strict=True):
            if t == ignore_index:
                losses.append(0.0)
                weights.append(0.0)
                continue
            logs = _log_softmax(row)
            smooth = -sum(w * logs) * label_smoothing / classes
            losses.append((1 - label_smoothing) * -w[t] * logs[t] + smooth)
            weights.append(w[t])
    if mode == "mean":
        return np.float64(sum(losses)) / sum(weights)
    return reduced(np.array(losses).reshape(shape), None, None, mode)


def multi_margin_loss(
    input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The reference of `multi_margin_loss`."""
    rows = np.atleast_2d(input)
    losses = []
    for row, t in zip(rows, np.ravel(target), strict=True):
        w = 1.0 if weight is None else weight[t]
        terms = [w * max(0.0, margin - row[t] + x) ** p for j, x in enumerate(row) if j != t]
        losses.append(sum(terms) / len(row))
    losses = np.array(losses) if input.ndim == 2 else losses[0]
    return reduced(losses, size_average, reduce, reduction)


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The reference of `multilabel_margin_loss`."""
    losses = []
    for row, labels in zip(np.atleast_2d(input), np.atleast_2d(target), strict=True):
        wanted = list(itertools.takewhile(lambda t: t >= 0, labels))
        others = [i for i in range(len(row)) if i not in wanted]
        terms = [max(0.0, 1 - row[j] + row[i]) for j in wanted for i in others]
        losses.append(sum(terms) / len(row))
    losses = np.array(losses) if input.ndim == 2 else np.float64(losses[0])
    return reduced(losses, size_average, reduce, reduction)


def distance(a, b, p=2.0, eps=1e-6):
    """p-norms of the differences along the last axis, with `eps` added to each difference."""
    return (abs(a - b + eps) ** p).sum(axis=-1) ** (1 / p)


def _spellings(log_probs: np.ndarray, labels: list[int], blank: int) -> list[Any]:
    """(path, its probability) for every path in time that collapses to `labels`."""
    steps, classes = log_probs.shape
    found = []
    for path in itertools.product(range(classes), repeat=steps):
        kept = [c for c, _ in itertools.groupby(path)]
        if [c for c in kept if c != blank] == labels:
            found.append((path, math.exp(sum(log_probs[t, c] for t, c in enumerate(path)))))
    return found


def ctc_loss(log_probs: np.ndarray, labels: list[int], blank: int) -> float:
    """-log of the probability of `labels`: the sum over every path that spells them."""
    total = sum(p for _, p in _spellings(log_probs, labels, blank))
    return -math.log(total) if total else math.inf


def ctc_occupancy(
    log_probs: np.ndarray, labels: list[int], blank: int, v: np.ndarray | None = None
) -> np.ndarray:
    """How likely each class is at each time, over the paths that spell `labels`; or its slope along v."""
    paths = _spellings(log_probs, labels, blank)
    total = sum(p for _, p in paths)
    slopes = [0.0 if v is None else sum(v[t, c] for t, c in enumerate(q)) for q, _ in paths]
    mean = sum(p * s for (_, p), s in zip(paths, slopes, strict=True)) / (total or 1)
    y = np.zeros(log_probs.shape)
    for (path, p), slope in zip(paths, slopes, strict=True):
        for t, c in enumerate(path):
            y[t, c] += p / total * (1.0 if v is None else slope - mean)
    return y
