"""Counting into bins: bincount, histc, histogram, histogramdd."""

import bisect
import math
from collections import Counter, namedtuple

import numpy as np

from thixo.dtype import FLOATS, INTEGERS, float32, float64, int64
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.plain import ordered
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample
from thixo.shape import fresh_dim


class Bincount(Op):
    """How often each whole number occurs, or the sum of the weights where it does.

    >>> tx.bincount(tx.tensor([1, 3, 1]))
    tensor([0, 2, 0, 1])
    """

    signature = "bincount(input, weights: tensor? = None, minlength: int = 0) -> y"
    dtypes = INTEGERS
    vjp = None

    def infer(input, weights, minlength):
        if input.ndim != 1:
            raise ShapeError(f"bincount: input is {describe(input)}; needs one axis")
        if minlength < 0:
            raise ValueRangeError(f"bincount: minlength is {minlength}; needs 0 or more")
        if weights is not None and (weights.ndim != 1 or weights.shape[0] != input.shape[0]):
            raise ShapeError(
                f"bincount: weights is {describe(weights)}, input is {describe(input)}; "
                "needs the same size"
            )
        if weights is not None and weights.dtype.is_complex:
            raise DTypeError(f"bincount: weights is {describe(weights)}; needs a real dtype")
        dtype = int64 if weights is None else float64
        if weights is not None and weights.dtype is float32:
            dtype = float32
        return Spec((fresh_dim("bins"),), dtype)

    def kernel(input, weights, minlength):
        if input.size and input.min() < 0:
            raise ValueRangeError(f"bincount: input has {input.min()}; needs numbers of 0 or more")
        return np.bincount(input.astype(np.int64), weights, minlength)

    def reference(input, weights, minlength):
        length = max([minlength - 1, *input.tolist()]) + 1
        found = [0] * length
        for i, w in zip(
            input.tolist(), [1] * len(input) if weights is None else weights, strict=True
        ):
            found[i] += w
        return np.array(found, np.int64 if weights is None else np.float64)

    def samples(s):
        yield Sample(s.array([1, 3, 1, 0]))
        yield Sample(s.array([1, 3, 1, 0]), minlength=7)
        yield Sample(s.array([1, 3, 1]), s.real(3, dtype=float32))
        yield Sample(s.array([1, 3, 1]), s.ints(3))
        yield Sample(s.real(0))
        yield Sample(s.real(0), minlength=2)

    def bad(s):
        yield Bad(Sample(s.real(2, 2, low=0)), ShapeError, "needs one axis")
        yield Bad(Sample(s.array([-1, 2], int64)), ValueRangeError, "input has -1")
        yield Bad(Sample(s.array([1, 2]), minlength=-1), ValueRangeError, "minlength is -1")
        yield Bad(Sample(s.array([1, 2]), s.real(3, dtype=float32)), ShapeError, "the same size")
        yield Bad(Sample(s.real(2, dtype=float32)), DTypeError, "bincount")


# ---- bins of floating-point numbers


def _limits(op, x, low, high):
    """The range that bins divide: what was asked for, or that of the data."""
    if low == high and x.size:
        low, high = x.min(), x.max()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueRangeError(f"{op}: the range [{low}, {high}] is not finite")
    return low, high


def _check_bins(op, bins):
    if isinstance(bins, bool) or not hasattr(bins, "__index__"):
        raise ArgumentError(
            f"{op}: bins is {describe(bins)}; needs an int or a 1-d tensor of edges"
        )
    if bins <= 0:
        raise ValueRangeError(f"{op}: bins is {bins}; needs at least one bin")


def _into(edges, x):
    """The bin of each element, the last edge inside the last bin; -1 where it is in none."""
    last = len(edges) - 1
    places = np.searchsorted(edges, x, side="right") - 1
    places = np.where((places == last) & (x == edges[-1]), last - 1, places)
    return np.where((x >= edges[0]) & (x <= edges[-1]), places, -1)


class Histc(Op):
    """How many elements fall into each of `bins` equal bins from `min` to `max` (or of the data).

    >>> tx.histc(tx.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """

    signature = "histc(input, bins: int = 100, min: float = 0, max: float = 0) -> y"
    dtypes = FLOATS
    vjp = None

    def infer(input, bins, min, max):
        _check_bins("histc", bins)
        ordered("histc", min=min, max=max)
        if max < min:
            raise ValueRangeError(f"histc: min is {min}, max is {max}; needs max above min")
        if not (math.isfinite(min) and math.isfinite(max)):
            raise ValueRangeError(f"histc: the range [{min}, {max}] is not finite")
        return Spec((bins,), input.dtype)

    def kernel(input, bins, min, max):
        low, high = (input.dtype.type(v) for v in _limits("histc", input, min, max))
        if low == high:
            low, high = low - 1, high + 1
        x = input[(input >= low) & (input <= high)]
        places = ((x - low) / (high - low) * bins).astype(np.int64)
        return np.bincount(np.minimum(places, bins - 1), minlength=bins)

    def reference(input, bins, min, max):
        values = np.asarray(input).ravel().tolist()
        low, high = (min, max) if min != max or not values else (np.min(values), np.max(values))
        if low == high:
            low, high = low - 1, high + 1
        found = Counter(
            bins - 1 if v == high else math.floor((v - low) / (high - low) * bins)
            for v in values
            if low <= v <= high
        )
        return np.array([float(found[i]) for i in range(bins)])

    def samples(s):
        values = [0.1, 0.9, 1.3, 1.9, -0.7, 3.6, 1.2]
        yield Sample(s.array(values), 4, 0, 2)
        yield Sample(s.array(values), bins=3, min=-1.5, max=1.5)
        yield Sample(s.array([0.0, 1.3, 4.0, 2.2]), 4)
        yield Sample(s.array([1.0, 1.0]), 4)
        yield Sample(s.array([[1.0, math.nan], [0.3, 1.7]]), 2, 0, 2)
        yield Sample(s.array(0.5), 3)
        yield Sample(s.real(0), 3)

    def bad(s):
        yield Bad(Sample(s.real(3), 0), ValueRangeError, "needs at least one bin")
        yield Bad(Sample(s.real(3), 4, 3, 2), ValueRangeError, "needs max above min")
        yield Bad(Sample(s.real(3), 4, 0, math.inf), ValueRangeError, "is not finite")
        yield Bad(Sample(s.array([1.0, math.nan]), 4), ValueRangeError, "is not finite")
        yield Bad(Sample(s.ints(3)), DTypeError, "histc")


def _check_edges(op, input, edges, where="bins"):
    if edges.ndim != 1 or edges.shape[0] < 2:
        raise ShapeError(
            f"{op}: {where} is {describe(edges)}; needs one axis with two edges or more"
        )
    if edges.dtype is not input.dtype:
        raise DTypeError(
            f"{op}: {where} is {describe(edges)}, input is {describe(input)}; needs the same dtype"
        )


def _check_weight(op, weight, input, shape):
    if weight is None:
        return
    if weight.dtype is not input.dtype:
        raise DTypeError(
            f"{op}: weight is {describe(weight)}, input is {describe(input)}; needs the same dtype"
        )
    if weight.ndim != len(shape) or any(a != b for a, b in zip(weight.shape, shape, strict=True)):
        raise ShapeError(
            f"{op}: weight is {describe(weight)}, input is {describe(input)}; needs one weight for "
            "each point"
        )


def _check_range(op, range, dims):
    if range is None:
        return
    numbers = isinstance(range, list | tuple) and all(
        isinstance(v, int | float) and not isinstance(v, bool) for v in range
    )
    if not numbers or len(range) != 2 * dims:
        raise ArgumentError(f"{op}: range is {describe(range)}; needs {2 * dims} numbers")
    for low, high in zip(range[::2], range[1::2], strict=True):
        if low > high:
            raise ValueRangeError(f"{op}: range has {low} above {high}; needs low, high")


def _edges(op, x, bins, range):
    low, high = _limits(op, x, 0, 0) if range is None else range
    if not x.size and range is None:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueRangeError(f"{op}: the range [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, bins + 1).astype(x.dtype)


class Histogram(Op):
    """How many elements (or what weight) fall into bins, given as a number or by their edges.

    >>> tx.histogram(tx.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 3.0)).hist
    tensor([2., 1.])
    """

    signature = (
        "histogram(input, bins: operand = 100, *, range: any = None, weight: tensor? = None, "
        "density: bool = False) -> (hist, bin_edges)"
    )
    dtypes = (float32, float64)
    vjp = None

    def infer(input, bins, range, weight, density):
        if is_tensor(bins):
            if range is not None:
                raise ArgumentError("histogram: range has no meaning where bins are given by edges")
            _check_edges("histogram", input, bins)
            count = bins.shape[0] - 1
        else:
            _check_bins("histogram", bins)
            count = bins
        _check_range("histogram", range, 1)
        _check_weight("histogram", weight, input, input.shape)
        return Spec((count,), input.dtype), Spec((count + 1,), input.dtype)

    def kernel(input, bins, range, weight, density):
        given = isinstance(bins, np.ndarray)
        edges = bins.copy() if given else _edges("histogram", input, bins, range)
        hist = _counts([edges], input.reshape(-1, 1), weight)
        return _density(hist, [edges]) if density else hist, edges

    def reference(input, bins, range, weight, density):
        values = np.asarray(input).ravel()
        given = isinstance(bins, np.ndarray)
        limits = range or (None if values.size else (0.0, 1.0))
        weights = None if weight is None else np.asarray(weight).ravel()
        return np.histogram(values, bins if given else int(bins), limits, density, weights)

    def samples(s):
        values = [0.1, 0.9, 1.3, 1.9, -0.7, 3.6, 1.2, 2.0]
        yield Sample(s.array(values), 4)
        yield Sample(s.array(values), 4, range=(0.0, 2.0))
        yield Sample(s.array(values).reshape(2, 4), s.array([0.0, 1.0, 1.25, 2.0]))
        yield Sample(s.array(values), 3, weight=s.positive(8))
        yield Sample(s.array(values), 3, weight=s.positive(8), density=True)
        yield Sample(s.array(values), s.array([0.0, 1.0, 1.25, 2.0]), density=True)
        yield Sample(s.array([1.0, 1.0]), 2)
        yield Sample(s.real(0), 2)

    def bad(s):
        yield Bad(Sample(s.real(3), 0), ValueRangeError, "needs at least one bin")
        yield Bad(Sample(s.real(3), s.real(1)), ShapeError, "needs one axis with two edges")
        yield Bad(Sample(s.real(3), 2, range=(2.0, 1.0)), ValueRangeError, "needs low, high")
        yield Bad(Sample(s.real(3), 2, weight=s.real(2)), ShapeError, "one weight for each point")
        yield Bad(Sample(s.array([1.0, math.nan]), 2), ValueRangeError, "is not finite")
        yield Bad(Sample(s.ints(3), 2), DTypeError, "histogram")


def _counts(edges, points, weight):
    """The weight of the points (rows) in each cell of a grid."""
    shape = [len(e) - 1 for e in edges]
    places = [_into(e, points[:, i]) for i, e in enumerate(edges)]
    inside = np.all([p >= 0 for p in places], axis=0) if places else np.ones(len(points), bool)
    flat = np.ravel_multi_index([p[inside] for p in places], shape)
    weights = None if weight is None else weight.reshape(-1)[inside]
    return np.bincount(flat, weights, math.prod(shape)).reshape(shape).astype(points.dtype)


def _density(hist, edges):
    hist = hist / hist.sum()
    for axis, e in enumerate(edges):
        widths = np.diff(e)
        hist = hist / widths.reshape([-1 if i == axis else 1 for i in range(len(edges))])
    return hist


class GridCount(Op):
    """How many points (rows of the last axis), or what weight, fall into each cell of a grid.

    >>> edges = [tx.tensor([0.0, 1.0, 2.0]), tx.tensor([0.0, 2.0])]
    >>> tx.grid_count(tx.tensor([[0.5, 1.0], [1.5, 1.0], [1.5, 0.0]]), edges)
    tensor([[1.],
            [2.]])
    """

    signature = "grid_count(input, bin_edges: tensors, weight: tensor? = None, density: bool = False) -> hist"
    method = False
    dtypes = (float32, float64)
    vjp = None

    def infer(input, bin_edges, weight, density):
        if input.ndim < 2:
            raise ShapeError(f"histogramdd: input is {describe(input)}; needs two axes or more")
        if input.shape[-1] != len(bin_edges):
            raise ShapeError(
                f"histogramdd: input is {describe(input)}, bins has {len(bin_edges)} entries; "
                "needs one for each element of the last axis"
            )
        for i, edges in enumerate(bin_edges):
            _check_edges("histogramdd", input, edges, f"bins[{i}]")
        _check_weight("histogramdd", weight, input, input.shape[:-1])
        return Spec(tuple(e.shape[0] - 1 for e in bin_edges), input.dtype)

    def kernel(input, bin_edges, weight, density):
        points = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
        hist = _counts(bin_edges, points, weight)
        return _density(hist, bin_edges) if density else hist

    def reference(input, bin_edges, weight, density):
        edges = [np.asarray(e).tolist() for e in bin_edges]
        hist = np.zeros([len(e) - 1 for e in edges])
        for place in np.ndindex(*input.shape[:-1]):
            point = input[place].tolist()
            if all(e[0] <= v <= e[-1] for e, v in zip(edges, point, strict=True)):
                cell = tuple(
                    min(bisect.bisect_right(e, v) - 1, len(e) - 2)
                    for e, v in zip(edges, point, strict=True)
                )
                hist[cell] += 1 if weight is None else weight[place]
        if density:
            whole = hist.sum()
            for cell in np.ndindex(*hist.shape):
                volume = math.prod(e[i + 1] - e[i] for e, i in zip(edges, cell, strict=True))
                hist[cell] /= whole * volume
        return hist

    def samples(s):
        edges = [s.array([-2.0, 0.0, 0.5, 2.0]), s.array([-1.5, 1.5])]
        yield Sample(s.real(s.n, 2), edges)
        yield Sample(s.real(s.n, s.m, 2), edges, s.positive(s.n, s.m))
        yield Sample(s.array([[0.0, 1.0], [0.2, 0.3], [1.0, 1.0]]), edges, density=True)
        yield Sample(s.real(0, 2), edges)

    def bad(s):
        edges = [s.array([-2.0, 0.0])]
        yield Bad(Sample(s.real(3), edges), ShapeError, "needs two axes or more")
        yield Bad(Sample(s.real(3, 2), edges), ShapeError, "one for each element of the last axis")


_HistogramddResult = namedtuple("histogramdd", ("hist", "bin_edges"))


class Histogramdd(Composite):
    """How many points (rows of the last axis), or what weight, fall into the cells of a grid.

    >>> tx.histogramdd(tx.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """

    signature = (
        "histogramdd(input, bins: any, range: any = None, weight: tensor? = None, "
        "density: bool = False) -> (hist, bin_edges)"
    )
    method = False
    dtypes = (float32, float64)

    def compose(input, bins, range, weight, density):
        if input.ndim < 2:
            raise ShapeError(f"histogramdd: input is {describe(input)}; needs two axes or more")
        dims = input.shape[-1]
        if dims == 0:
            raise ShapeError(
                f"histogramdd: input is {describe(input)}; its last axis must not be empty"
            )
        if not isinstance(bins, list | tuple):
            bins = [bins] * int(dims)
        if len(bins) != dims:
            raise ShapeError(
                f"histogramdd: input is {describe(input)}, bins has {len(bins)} entries; needs one "
                "for each element of the last axis"
            )
        _check_range("histogramdd", range, len(bins))
        edges = []
        for i, b in enumerate(bins):
            if not is_tensor(b):
                _check_bins("histogramdd", b)
                limits = None if range is None else (range[2 * i], range[2 * i + 1])
                b = tx.histogram(tx.select(input, -1, i), b, range=limits)[1]
            edges.append(b)
        return _HistogramddResult(tx.grid_count(input, edges, weight, density), tuple(edges))

    def reference(input, bins, range, weight, density):
        dims = input.shape[-1]
        bins = bins if isinstance(bins, list | tuple) else [bins] * dims
        limits = None if range is None else list(zip(range[::2], range[1::2], strict=True))
        points = np.asarray(input).reshape(-1, dims)
        weights = None if weight is None else np.asarray(weight).ravel()
        return np.histogramdd(points, bins, limits, density, weights)

    def samples(s):
        yield Sample(s.real(s.b, 2), [2, 3])
        yield Sample(s.real(s.b, 2), 2, (-1.0, 1.0, -2.0, 2.0), s.positive(s.b))
        edges = [s.array([-2.0, 0.0, 0.5, 2.0]), s.array([-1.5, 1.5])]
        yield Sample(s.array([[0.0, 1.0], [0.2, 0.3], [1.0, 1.0]]), edges, density=True)

    def bad(s):
        yield Bad(Sample(s.real(5, 6), [1, 1, 1, 1, 1]), ShapeError, "bins has 5 entries")
        yield Bad(Sample(s.real(5), [1]), ShapeError, "needs two axes or more")
        yield Bad(Sample(s.real(5, 2), [2, 2], [0.0, 1.0]), ArgumentError, "needs 4 numbers")
