"""Order statistics: median, mode, the k-th value."""

import math
from collections import Counter

import numpy as np

from thixo.dtype import BOOL, FLOATS, INTEGERS, int64
from thixo.errors import ArgumentError, DTypeError, IndexOutOfRange, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import nan_last, over_axes
from thixo.ops.reduce_rules import (
    axis,
    place,
    reduced_shape,
    require_dtype,
    require_elements,
)
from thixo.ops.samples import Bad, Sample, reduction_samples
from thixo.shape import normalize_dim


def _picked_infer(op, input, dim, keepdim):
    d = axis(dim, input.ndim, op)
    dims = () if d is None else (d,)
    require_elements(op, input, dims)
    shape = reduced_shape(input.shape, dims, keepdim)
    return Spec(shape, input.dtype), Spec(shape, int64)


def _at_rank(input, dim, keepdim, rank):
    """The element of each sorted row whose rank `rank(row lengths without NaN, length)` gives."""
    rows = np.moveaxis(np.atleast_1d(input), dim if input.ndim else 0, -1)
    length = rows.shape[-1]
    present = length - np.count_nonzero(rows != rows, axis=-1, keepdims=True)
    order = np.argsort(rows, axis=-1, kind="stable")  # NaN last
    indices = np.take_along_axis(order, rank(present, length), axis=-1)
    values = np.take_along_axis(rows, indices, axis=-1)
    return _restore(values, indices, input.ndim, dim, keepdim)


def _restore(values, indices, ndim, dim, keepdim):
    """Results with one element in the last axis, in the place of the axis they came from."""
    if ndim == 0:
        return values.reshape(()).copy(), indices.reshape(())
    if not keepdim:
        return values[..., 0].copy(), indices[..., 0]
    return np.moveaxis(values, -1, dim).copy(), np.moveaxis(indices, -1, dim)


def _ranked(position):
    """(value, index) that `position(sorted pairs)` picks from a list; NaN sorts last."""

    def pick(values):
        pairs = sorted(enumerate(values), key=lambda pair: (nan_last(pair[1]), pair[0]))
        return pairs[position([v for _, v in pairs])]

    return pick


def _both(input, dim, keepdim, pick):
    values = over_axes(input, dim, keepdim, lambda row: pick(row)[1])
    return values, over_axes(input, dim, keepdim, lambda row: pick(row)[0])


# ---- median


def _median_rank(present, length):
    # With a NaN in the row the first NaN is the answer: NaN sorts last and the sort is stable.
    return np.where(present < length, present, (length - 1) // 2)


def _nanmedian_rank(present, length):
    return np.maximum(present - 1, 0) // 2


def _median_position(values):
    present = sum(v == v for v in values)
    return present if present < len(values) else (len(values) - 1) // 2


def _nanmedian_position(values):
    return max(sum(v == v for v in values) - 1, 0) // 2


def _median_infer(op, input, dim, keepdim):
    if dim is None:
        require_elements(op, input, tuple(range(input.ndim)))
        return Spec((), input.dtype), Spec((), int64)
    return _picked_infer(op, input, dim, keepdim)


def _median_kernel(input, dim, keepdim, rank):
    if dim is None:
        return _at_rank(input.reshape(-1), 0, False, rank)
    return _at_rank(input, dim, keepdim, rank)


def _median_gradient(g, input, values, indices, dim, keepdim):
    if (
        dim is None
    ):  # in equal parts to all elements that attain it; a NaN in the input is what the median is
        attains = tx.logical_or(tx.eq(input, values), tx.ne(input, input))
        return tx.where(attains, g / tx.sum(attains), 0)
    return place(g, indices, input.shape, dim, keepdim)


def _median_samples(s):
    yield from reduction_samples(distinct=True, identity=False, several=False)(s)
    yield Sample(s.array([[1, 0, 1, 1], [2, 2, 2, 2]]), 1, grad=False)
    if s.dtype.is_floating_point:
        rows = [[1.0, math.nan, 2.0, 0.0], [math.nan] * 4]
        yield Sample(s.array(rows), 1, grad=False)
        yield Sample(s.array(rows), grad=False)


def _median_bad(s):
    yield Bad(Sample(s.real(0, 2), 0), IndexOutOfRange, "of nothing has no value")
    yield Bad(Sample(s.bools(2)), DTypeError, "median")


class MedianDim(Op):
    """The median along an axis (of all, without one) and where it is; the lower of two middle ones.

    >>> tx.median_dim(tx.tensor([[1.0, 5.0, 3.0]]), 1).indices
    tensor([2])
    """

    signature = "median_dim(input, dim: int? = None, keepdim: bool = False) -> (values, indices)"
    dtypes = INTEGERS + FLOATS
    method = False
    nondifferentiable = ("indices",)

    def infer(input, dim, keepdim):
        return _median_infer("median", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        return _median_kernel(input, dim, keepdim, _median_rank)

    def vjp(g_values, input, values, indices, dim, keepdim):
        return _median_gradient(g_values, input, values, indices, dim, keepdim)

    def reference(input, dim, keepdim):
        return _both(input, dim, keepdim, _ranked(_median_position))

    samples = _median_samples
    bad = _median_bad


def _nanmedian_gradient(g, input, values, indices, dim, keepdim):
    if dim is None:  # a NaN attains the median only where there is nothing else
        attains = tx.logical_or(tx.eq(input, values), tx.ne(values, values))
        return tx.where(attains, g / attains.sum(), 0)
    return place(g, indices, input.shape, dim, keepdim)


class NanmedianDim(Op):
    """The median of what is not NaN along an axis (of all, without one), and where it is.

    >>> tx.nanmedian_dim(tx.tensor([[1.0, float("nan"), 3.0]]), 1).values
    tensor([1.])
    """

    signature = "nanmedian_dim(input, dim: int? = None, keepdim: bool = False) -> (values, indices)"
    dtypes = INTEGERS + FLOATS
    method = False
    nondifferentiable = ("indices",)

    def infer(input, dim, keepdim):
        return _median_infer("nanmedian", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        return _median_kernel(input, dim, keepdim, _nanmedian_rank)

    def vjp(g_values, input, values, indices, dim, keepdim):
        return _nanmedian_gradient(g_values, input, values, indices, dim, keepdim)

    def reference(input, dim, keepdim):
        return _both(input, dim, keepdim, _ranked(_nanmedian_position))

    samples = _median_samples
    bad = _median_bad


def _median(op, operator, input, dim, keepdim):
    if dim is not None:
        return operator(input, dim, keepdim)
    if keepdim:
        raise ArgumentError(f"{op}: keepdim needs a dim")
    if any(size == 0 for size in input.shape) and input.dtype.is_floating_point:
        return tx.full((), math.nan, dtype=input.dtype)
    return operator(input)[0]


class Median(Composite):
    """The median of all elements, the lower of two middle ones; with `dim` along it, and where.

    >>> tx.median(tx.tensor([1.0, 5.0, 3.0, 2.0]))
    tensor(2.)
    """

    signature = "median(input, dim: int? = None, keepdim: bool = False) -> y"
    dtypes = INTEGERS + FLOATS

    def compose(input, dim, keepdim):
        require_dtype("median", input, Median.dtypes)
        return _median("median", tx.median_dim, input, dim, keepdim)

    def reference(input, dim, keepdim):
        if not input.size and dim is None:
            return np.asarray(math.nan)
        found = _both(input, dim, keepdim, _ranked(_median_position))
        return found[0] if dim is None else found

    samples = _median_samples
    bad = _median_bad


class Nanmedian(Composite):
    """The median of what is not NaN; with `dim` along it, and where.

    >>> tx.nanmedian(tx.tensor([1.0, float("nan"), 3.0]))
    tensor(1.)
    """

    signature = "nanmedian(input, dim: int? = None, keepdim: bool = False) -> y"
    dtypes = INTEGERS + FLOATS

    def compose(input, dim, keepdim):
        require_dtype("nanmedian", input, Nanmedian.dtypes)
        return _median("nanmedian", tx.nanmedian_dim, input, dim, keepdim)

    def reference(input, dim, keepdim):
        found = _both(input, dim, keepdim, _ranked(_nanmedian_position))
        return found[0] if dim is None else found

    samples = _median_samples
    bad = _median_bad


# ---- mode and k-th value


class Mode(Op):
    """The most frequent element along an axis, the least of equally frequent ones, and its last place.

    >>> tx.mode(tx.tensor([3, 1, 1, 2])).values
    tensor(1)
    """

    signature = "mode(input, dim: int = -1, keepdim: bool = False) -> (values, indices)"
    dtypes = BOOL + INTEGERS + FLOATS
    nondifferentiable = ("indices",)

    def infer(input, dim, keepdim):
        return _picked_infer("mode", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        rows = np.moveaxis(np.atleast_1d(input), dim if input.ndim else 0, -1)
        order = np.argsort(rows, axis=-1, kind="stable")
        ranked = np.take_along_axis(rows, order, axis=-1)
        same = (ranked[..., 1:] == ranked[..., :-1]) | (
            (ranked[..., 1:] != ranked[..., 1:]) & (ranked[..., :-1] != ranked[..., :-1])
        )
        length = np.ones(ranked.shape, np.int64)  # of the run of equals that ends here
        for i in range(1, ranked.shape[-1]):
            length[..., i] = np.where(same[..., i - 1], length[..., i - 1] + 1, 1)
        end = np.argmax(length, axis=-1)[..., None]
        indices = np.take_along_axis(order, end, axis=-1)
        values = np.take_along_axis(rows, indices, axis=-1)
        return _restore(values, indices, input.ndim, dim, keepdim)

    def vjp(g_values, indices, input_type, dim, keepdim):
        return place(g_values, indices, input_type.shape, dim, keepdim)

    def reference(input, dim, keepdim):
        def pick(values):
            keys = [nan_last(v) for v in values]
            times = Counter(keys)
            best = min(times, key=lambda k: (-times[k], k))
            index = len(keys) - 1 - keys[::-1].index(best)
            return index, values[index]

        return _both(input, dim, keepdim, pick)

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False, several=False, whole=False)(s)
        yield Sample(s.array([[3, 1, 1, 3, 3, 1], [2, 0, 1, 2, 0, 2]]), grad=False)
        if s.dtype.is_floating_point:
            yield Sample(s.array([math.nan, 1.0, math.nan]), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(0, 2), 0), IndexOutOfRange, "mode of nothing has no value")


class Kthvalue(Op):
    """The k-th least element along an axis (k counts from 1), and where it is.

    >>> tx.kthvalue(tx.tensor([5.0, 1.0, 3.0]), 2).values
    tensor(3.)
    """

    signature = "kthvalue(input, k: int, dim: int = -1, keepdim: bool = False) -> (values, indices)"
    dtypes = INTEGERS + FLOATS
    nondifferentiable = ("indices",)

    def infer(input, k, dim, keepdim):
        d = normalize_dim(dim, input.ndim, "kthvalue")
        size = input.shape[d] if input.ndim else 1
        found = _picked_infer("kthvalue", input, dim, keepdim)
        if k < 1 or k > size:
            raise ValueRangeError(
                f"kthvalue: k is {k} for axis {d} of {describe(input)}; needs 1 to {size}"
            )
        return found

    def kernel(input, k, dim, keepdim):
        return _at_rank(input, dim, keepdim, lambda present, length: np.full_like(present, k - 1))

    def vjp(g_values, indices, input_type, dim, keepdim):
        return place(g_values, indices, input_type.shape, dim, keepdim)

    def reference(input, k, dim, keepdim):
        return _both(input, dim, keepdim, _ranked(lambda values: k - 1))

    def samples(s):
        yield Sample(s.distinct(s.n), 1)
        yield Sample(s.distinct(s.n, s.m), 2, 1)
        yield Sample(s.distinct(s.n, s.m), 2, -2, True)
        yield Sample(s.distinct(), 1)
        yield Sample(s.distinct(), 1, 0, True)
        yield Sample(s.distinct(s.n, 0), 2, 0)
        if s.dtype.is_floating_point:
            yield Sample(s.array([3.0, math.nan, 1.0]), 3, grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 2), 3, 0), ValueRangeError, "needs 1 to 2")
        yield Bad(Sample(s.real(2, 2), 0), ValueRangeError, "k is 0")
        yield Bad(Sample(s.real(), 3), ValueRangeError, "needs 1 to 1")
