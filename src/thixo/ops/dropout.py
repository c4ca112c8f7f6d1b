"""Noise in training: values dropped at random, choices drawn."""

import math
from typing import Any

import numpy as np

from thixo.dtype import ALL, FLOATS, float32
from thixo.dtype import bool as bool_
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.samples import Bad, Sample


def _check_probability(op: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ValueRangeError(f"{op}: p is {p}; a probability is between 0 and 1")


def _kept(input: Any, p: float, shape: Any = None) -> Any:
    """True with probability 1 - p, for each element (or for each of `shape`)."""
    like = input if shape is None else input.new_empty(shape)
    return tx.rand_like(like, dtype=float32) >= p


def _finish(input: Any, y: Any, inplace: bool) -> Any:
    return input.copy_(y) if inplace else y


def _dropout(
    op: str, input: Any, p: float, training: bool, inplace: bool, shape: Any = None
) -> Any:
    """Drop elements (or, by `shape`, whole channels) and scale up what stays."""
    _check_probability(op, p)
    if not training or p == 0:
        return input
    if p == 1:
        return _finish(input, input * 0, inplace)
    kept = _kept(input, p, shape)
    return _finish(input, input * (kept.to(input.dtype) * (1 / (1 - p))), inplace)


def _channels(op: str, input: Any, lone: int | None) -> tuple[Any, ...]:
    """The shape of one draw for each channel: (batch, channels, 1...), without batch where `lone` axes."""
    if input.ndim < 2:
        raise ShapeError(f"{op}: input is {describe(input)}; it must have at least 2 dimensions")
    lead = 1 if lone is not None and input.ndim == lone else 2
    return (*input.shape[:lead], *(1,) * (input.ndim - lead))


def _identity_when_resting(input, p=0.5, training=False, inplace=False):
    """A reference for what is not random: nothing is dropped, or everything is."""
    return input * 0 if training and p == 1 else input


def _resting_samples(s):
    yield Sample(s.real(s.n, s.m, 2), 0.5, False)
    yield Sample(s.real(s.n, s.m, 2), 0.0, True)
    yield Sample(s.real(s.n, 0, 2), 0.0, True)


def _bad_probability(s):
    yield Bad(Sample(s.real(2, 3, 4), 1.5, True), ValueRangeError, "between 0 and 1")
    yield Bad(Sample(s.real(2, 3, 4), -0.5, True), ValueRangeError, "between 0 and 1")


class Dropout(Composite):
    """Zero each element with probability p and scale the rest by 1 / (1 - p), in training.

    >>> tx.nn.functional.dropout(tx.ones(3), 0.5, training=False)
    tensor([1., 1., 1.])
    """

    signature = "dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, p, training, inplace):
        return _dropout("dropout", input, p, training, inplace)

    reference = _identity_when_resting

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0.5, False)
        yield Sample(s.real(s.n, s.m), 0.0)
        yield Sample(s.real(), 1.0)

    bad = _bad_probability


class Dropout1d(Composite):
    """Zero whole channels of signals (batch, channels, length) with probability p, in training.

    >>> tx.nn.functional.dropout1d(tx.ones(1, 2, 3), 0.5, training=False).sum()
    tensor(6.)
    """

    signature = (
        "dropout1d(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, p, training, inplace):
        _check_probability("dropout1d", p)
        if input.ndim not in (2, 3):
            raise ShapeError(
                f"dropout1d: input is {describe(input)}; it must be (batch, channels, length) or "
                f"(channels, length)"
            )
        shape = _channels("dropout1d", input, 2)
        return _dropout("dropout1d", input, p, training, inplace, shape)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class Dropout2d(Composite):
    """Zero whole channels of images (batch, channels, height, width) with probability p, in training.

    >>> tx.nn.functional.dropout2d(tx.ones(1, 2, 3, 3), 0.5, training=False).sum()
    tensor(18.)
    """

    signature = (
        "dropout2d(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, p, training, inplace):
        # three dimensions are read as (batch, channels, length) here, as PyTorch does
        _check_probability("dropout2d", p)
        shape = _channels("dropout2d", input, None)
        return _dropout("dropout2d", input, p, training, inplace, shape)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class Dropout3d(Composite):
    """Zero whole channels of volumes (batch, channels, depth, height, width), in training.

    >>> tx.nn.functional.dropout3d(tx.ones(1, 2, 1, 3, 3), 0.5, training=False).sum()
    tensor(18.)
    """

    signature = (
        "dropout3d(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, p, training, inplace):
        _check_probability("dropout3d", p)
        shape = _channels("dropout3d", input, 4)
        return _dropout("dropout3d", input, p, training, inplace, shape)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


_SELU_FLOOR = -1.7580993408473766  # what selu tends to at minus infinity


def _alpha_dropout(
    op: str, input: Any, p: float, training: bool, inplace: bool, shape: Any = None
) -> Any:
    """Set elements to selu's lower limit, then restore mean and variance."""
    _check_probability(op, p)
    if not training or p == 0:
        return input
    if p == 1:
        return _finish(input, input * 0, inplace)
    scale = 1 / math.sqrt((1 - p) * (1 + p * _SELU_FLOOR**2))
    kept = _kept(input, p, shape).to(input.dtype)
    y = input * (kept * scale) + ((1 - kept) * (_SELU_FLOOR * scale) - _SELU_FLOOR * scale * p)
    return _finish(input, y, inplace)


class AlphaDropout(Composite):
    """Dropout that keeps mean and variance of self-normalising networks (with selu).

    >>> tx.nn.functional.alpha_dropout(tx.ones(3), 0.5)
    tensor([1., 1., 1.])
    """

    signature = (
        "alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, p, training, inplace):
        return _alpha_dropout("alpha_dropout", input, p, training, inplace)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class FeatureAlphaDropout(Composite):
    """`alpha_dropout` of whole channels.

    >>> tx.nn.functional.feature_alpha_dropout(tx.ones(1, 2, 2), 0.5).sum()
    tensor(4.)
    """

    signature = (
        "feature_alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) "
        "-> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, p, training, inplace):
        op = "feature_alpha_dropout"
        shape = _channels(op, input, None) if training else None
        return _alpha_dropout(op, input, p, training, inplace, shape)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


# ---- PyTorch's top-level spellings: (input, p, train)


class TopDropout(Composite):
    """`nn.functional.dropout` in the form of PyTorch's top-level function.

    >>> tx.dropout(tx.ones(3), 0.5, False)
    tensor([1., 1., 1.])
    """

    signature = "dropout(input, p: float, train: bool) -> y"
    method = False

    def compose(input, p, train):
        return _dropout("dropout", input, p, train, False)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class TopFeatureDropout(Composite):
    """Dropout of whole channels, in the form of PyTorch's top-level function.

    >>> tx.feature_dropout(tx.ones(1, 2, 2), 0.5, False).sum()
    tensor(4.)
    """

    signature = "feature_dropout(input, p: float, train: bool) -> y"
    method = False

    def compose(input, p, train):
        shape = _channels("feature_dropout", input, None) if train else None
        return _dropout("feature_dropout", input, p, train, False, shape)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class TopAlphaDropout(Composite):
    """`nn.functional.alpha_dropout` in the form of PyTorch's top-level function.

    >>> tx.alpha_dropout(tx.ones(3), 0.5, False)
    tensor([1., 1., 1.])
    """

    signature = "alpha_dropout(input, p: float, train: bool) -> y"
    method = False

    def compose(input, p, train):
        return _alpha_dropout("alpha_dropout", input, p, train, False)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class TopFeatureAlphaDropout(Composite):
    """`nn.functional.feature_alpha_dropout` in the form of PyTorch's top-level function.

    >>> tx.feature_alpha_dropout(tx.ones(1, 2, 2), 0.5, False).sum()
    tensor(4.)
    """

    signature = "feature_alpha_dropout(input, p: float, train: bool) -> y"
    method = False

    def compose(input, p, train):
        return tx.nn.functional.feature_alpha_dropout(input, p, train)

    reference = _identity_when_resting
    samples = _resting_samples
    bad = _bad_probability


class NativeDropout(Composite):
    """Dropout together with the mask of what was kept.

    >>> tx.native_dropout(tx.ones(2), 0.5, False)[1]
    tensor([True, True])
    """

    signature = "native_dropout(input, p: float, train: bool?) -> (y, mask)"
    method = False
    nondifferentiable = ("mask",)
    dtypes = FLOATS

    def compose(input, p, train):
        _check_probability("native_dropout", p)
        if train is False or p == 0:
            return input.clone(), tx.ones_like(input, dtype=bool_)
        if p == 1:
            return input * 0, tx.zeros_like(input, dtype=bool_)
        kept = _kept(input, p)
        return input * (kept.to(input.dtype) * (1 / (1 - p))), kept

    def reference(input, p, train):
        return (input * 0 if train and p == 1 else input), np.full(input.shape, not train or p == 0)

    samples = _resting_samples
    bad = _bad_probability


# ---- random choices


class GumbelSoftmax(Composite):
    """A random choice among the last axis, soft or (with `hard`) one-hot with the soft one's gradient.

    >>> tx.nn.functional.gumbel_softmax(tx.zeros(4), hard=True).sum()
    tensor(1.)
    """

    signature = (
        "gumbel_softmax(logits, tau: float = 1, hard: bool = False, eps: float = 1e-10, "
        "dim: int = -1) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(logits, tau, hard, eps, dim):
        uniform = tx.clamp(tx.rand_like(logits, dtype=float32), min=1e-20)
        noise = -tx.log(-tx.log(uniform))
        soft = tx.softmax((logits + noise.to(logits.dtype)) / tau, dim)
        if not hard:
            return soft
        choice = soft.argmax(dim, keepdim=True)
        one_hot = tx.zeros_like(soft).scatter(dim, choice, 1.0)
        return one_hot - soft.detach() + soft

    def reference(logits, tau, hard, eps, dim):
        return np.ones_like(logits)

    def samples(s):
        yield Sample(s.real(s.n, 1), 0.5, grad=False)  # one choice only: nothing is random
        yield Sample(s.real(1, s.n), 1.0, True, dim=0, grad=False)
