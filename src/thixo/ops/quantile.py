"""Quantiles, with and without NaN."""

import math

import numpy as np

from thixo.dtype import FLOATS, float32, float64, int64
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import over_axes
from thixo.ops.reduce_rules import axes, cast, reduced_shape, require_dtype
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample


class CheckedRange(Op):
    """The tensor itself, refused where an element lies outside of [low, high].

    >>> tx.checked_range(tx.tensor([0.5]), 0.0, 1.0, "quantile: q")
    tensor([0.5000])
    """

    signature = "checked_range(input, low: float, high: float, where: str) -> y"
    method = False
    dtypes = FLOATS

    def infer(input, low, high, where):
        return Spec(input.shape, input.dtype)

    def kernel(input, low, high, where):
        wrong = ~((input >= low) & (input <= high))  # NaN is wrong too
        if np.any(wrong):
            raise ValueRangeError(f"{where} has {input[wrong][0]}; needs {low} to {high}")
        return input.copy()

    def vjp(g):
        return g

    def reference(input, low, high, where):
        return np.array([min(max(v, low), high) for v in input.ravel()]).reshape(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, low=0.1, high=0.9), 0.0, 1.0, "quantile: q")
        yield Sample(s.real(low=0.1, high=0.9), 0.0, 1.0, "quantile: q")

    def bad(s):
        yield Bad(Sample(s.array([0.5, 1.5]), 0.0, 1.0, "q"), ValueRangeError, "q has 1.5")


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(op, input, q, dim, keepdim, interpolation):
    if interpolation not in _INTERPOLATIONS:
        known = ", ".join(_INTERPOLATIONS)
        raise ArgumentError(f"{op}: interpolation is {interpolation!r}; needs one of {known}")
    if any(size == 0 for size in input.shape):
        raise ShapeError(f"{op}: input is {describe(input)}; needs at least one element")
    dims = axes(dim, input.ndim, op)
    if is_tensor(q):
        if q.ndim > 1 or q.dtype is not input.dtype:
            raise (ShapeError if q.ndim > 1 else DTypeError)(
                f"{op}: q is {describe(q)}; needs at most one axis and input's dtype, "
                f"{input.dtype.name}"
            )
        q = tx.checked_range(q, 0.0, 1.0, f"{op}: q")
    elif isinstance(q, complex):
        raise ArgumentError(f"{op}: q must be a real number, got {q}")
    elif not 0 <= q <= 1:
        raise ValueRangeError(f"{op}: q is {q}; needs 0 to 1")
    else:
        q = tx.full((), q, dtype=input.dtype)

    # Rows to be ranked in the last axis, one rank for each q: (..., size) -> (..., q)
    rows = input if dim is not None else tx.reshape(input, (-1,))
    rows = tx.reshape(rows, (1,)) if rows.ndim == 0 else rows
    if dim is not None and input.ndim:
        rows = tx.movedim(rows, dims[0], -1)
    ranked = tx.sort(rows, -1)[0]
    last = rows.shape[-1] - 1
    present = tx.logical_not(tx.isnan(rows))
    ranks = tx.reshape(q, (-1,))
    if op == "nanquantile":
        ranks = ranks * tx.clamp_min(cast(tx.sum(present, -1, True), input.dtype) - 1, 0)
    else:  # a NaN sorts last, so the last rank is NaN
        ranks = tx.where(tx.all(present, -1, True), ranks, 1) * last
    y = _interpolate(ranked, ranks, interpolation)  # (..., q)

    y = tx.movedim(y, -1, 0)
    if keepdim and input.ndim:
        kept = reduced_shape(input.shape, dims, True)
        y = tx.reshape(y, (y.shape[0], *kept))
    elif input.ndim == 0:
        y = tx.reshape(y, (y.shape[0],))
    return tx.squeeze(y, 0) if q.ndim == 0 else y


def _interpolate(ranked, ranks, interpolation):
    if interpolation == "lower":
        ranks = tx.floor(ranks)
    elif interpolation == "higher":
        ranks = tx.ceil(ranks)
    elif interpolation == "nearest":
        ranks = tx.round(ranks)
    below = tx.floor(ranks)
    low = tx.gather(ranked, -1, cast(below, int64))
    if interpolation not in ("linear", "midpoint"):
        return low
    high = tx.gather(ranked, -1, cast(tx.ceil(ranks), int64))
    weight = tx.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    nothing_between = tx.logical_and(tx.isinf(low), tx.eq(low, high))
    return tx.where(nothing_between, low, tx.lerp(low, high, weight))


def _quantile_reference(input, q, dim, keepdim, interpolation, skip_nan):
    def pick(one):
        def quantile(values):
            rest = sorted(v for v in values if v == v)
            if not rest or (len(rest) < len(values) and not skip_nan):
                return math.nan
            rank = one * (len(rest) - 1)
            low, high = rest[math.floor(rank)], rest[math.ceil(rank)]
            if interpolation == "linear":
                return low + (high - low) * (rank - math.floor(rank)) if low != high else low
            if interpolation == "midpoint":
                return low + (high - low) / 2 if low != high else low
            if interpolation == "nearest":
                return rest[round(rank)]
            return low if interpolation == "lower" else high

        return over_axes(input, dim, keepdim, quantile)

    if np.ndim(q) == 0:
        return pick(float(q))
    return np.stack([pick(float(one)) for one in q]) if len(q) else pick(0.0)[None][:0]


def _quantile_samples(s):
    yield Sample(s.distinct(s.n, s.m), 0.3)
    yield Sample(s.distinct(s.n, s.m), 0.3, keepdim=True)
    yield Sample(s.distinct(s.n, s.m), s.array([0.1, 0.55, 0.7]), 1)
    yield Sample(s.distinct(s.n, s.m), s.array([0.1, 0.7]), -2, True)
    yield Sample(s.distinct(s.n), s.array(0.55), 0)
    yield Sample(s.distinct(), 0.5)
    yield Sample(s.distinct(), s.array([0.5, 0.2]), 0, True)
    for interpolation in _INTERPOLATIONS:
        yield Sample(s.distinct(3, 4), 0.45, 1, interpolation=interpolation)
    yield Sample(s.array([[1.0, math.nan, 2.0], [math.nan] * 3]), 0.25, 1, grad=False)
    yield Sample(s.array([1.0, math.inf, math.inf]), 1, grad=False)


def _quantile_bad(s):
    yield Bad(Sample(s.real(2), 1.5), ValueRangeError, "q is 1.5")
    yield Bad(Sample(s.real(2), s.array([1.5])), ValueRangeError, "q has 1.5")
    yield Bad(Sample(s.real(2), s.real(1, 1)), ShapeError, "needs at most one axis")
    yield Bad(Sample(s.real(0), 0.5), ShapeError, "needs at least one element")
    yield Bad(Sample(s.real(2), 0.5, interpolation="cubic"), ArgumentError, "needs one of linear")
    yield Bad(Sample(s.ints(2), 0.5), DTypeError, "quantile")


class Quantile(Composite):
    """The q-quantiles of all elements, or along the axis `dim`; several q come as a first axis.

    >>> tx.quantile(tx.tensor([1.0, 2.0, 4.0]), 0.75)
    tensor(3.)
    """

    signature = (
        "quantile(input, q: operand, dim: int? = None, keepdim: bool = False, "
        "*, interpolation: str = 'linear') -> y"
    )
    dtypes = (float32, float64)

    def compose(input, q, dim, keepdim, interpolation):
        require_dtype("quantile", input, Quantile.dtypes)
        return _quantile("quantile", input, q, dim, keepdim, interpolation)

    def reference(input, q, dim, keepdim, interpolation):
        return _quantile_reference(input, q, dim, keepdim, interpolation, False)

    samples = _quantile_samples
    bad = _quantile_bad


class Nanquantile(Composite):
    """The q-quantiles of what is not NaN, of all elements or along the axis `dim`.

    >>> tx.nanquantile(tx.tensor([1.0, float("nan"), 4.0]), 0.5)
    tensor(2.5000)
    """

    signature = (
        "nanquantile(input, q: operand, dim: int? = None, keepdim: bool = False, "
        "*, interpolation: str = 'linear') -> y"
    )
    dtypes = (float32, float64)

    def compose(input, q, dim, keepdim, interpolation):
        require_dtype("nanquantile", input, Nanquantile.dtypes)
        return _quantile("nanquantile", input, q, dim, keepdim, interpolation)

    def reference(input, q, dim, keepdim, interpolation):
        return _quantile_reference(input, q, dim, keepdim, interpolation, True)

    samples = _quantile_samples
    bad = _quantile_bad
