"""Scans: what a reduction has seen so far, at each element along an axis."""

import cmath
import math
import operator
from itertools import accumulate

import numpy as np

from thixo.dtype import BOOL, COMPLEX, FLOATS, INTEGERS, float64, int64
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.reduce_references import along, converted, wrap
from thixo.ops.reduce_rules import as_type, axis, cast, place, shift, sum_type
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim


def _scan_samples(draw, options=({},)):
    def samples(s):
        for given in options:
            yield Sample(draw(s)(s.n), 0, **given)
            yield Sample(draw(s)(s.n, s.m, s.k), 1, **given)
            yield Sample(draw(s)(s.n, s.m), -2, **given)
            yield Sample(draw(s)(), -1, **given)
            yield Sample(draw(s)(1), 0, **given)
            yield Sample(draw(s)(s.n, 0), 1, **given)
            yield Sample(draw(s)(0, s.n), 1, **given)

    return samples


def _scan_bad(s):
    yield Bad(Sample(s.real(2, 3), 2), IndexOutOfRange, "dim 2 is out of range")
    yield Bad(Sample(s.real(), 1), IndexOutOfRange, "dim 1 is out of range")


def _accumulated(input, dim, step):
    def scan(values):
        found = list(accumulate(values, step))
        return [wrap(v) for v in found] if found and type(found[0]) is int else found

    return along(input, dim, scan)


class Cumsum(Op):
    """The sum of the elements up to each, along an axis; integers and bool add up in int64.

    With `reverse`, the sum of each element and of those after it.

    >>> tx.cumsum(tx.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    >>> tx.cumsum(tx.tensor([1.0, 2.0, 3.0]), 0, reverse=True)
    tensor([6., 5., 3.])
    """

    total = True
    signature = "cumsum(input, dim: int, *, dtype: dtype? = None, reverse: bool = False) -> y"
    inplace = True

    def infer(input, dim, dtype, reverse):
        normalize_dim(dim, input.ndim, "cumsum")
        return Spec(input.shape, sum_type(input.dtype, dtype))

    def kernel(input, dim, dtype, reverse):
        array = as_type(input, dtype)
        if array.ndim == 0:
            return array.copy()
        wrapping = np.int64 if dtype is None and array.dtype.kind in "biu" else array.dtype
        if reverse:
            return np.flip(np.add.accumulate(np.flip(array, dim), axis=dim, dtype=wrapping), dim)
        return np.add.accumulate(array, axis=dim, dtype=wrapping)

    def vjp(g, dim, reverse):
        return g if g.ndim == 0 else tx.cumsum(g, dim, reverse=not reverse)

    def reference(input, dim, dtype, reverse):
        array = converted(input, dtype)
        if not reverse or not array.ndim:
            return _accumulated(array, dim, operator.add)
        return np.flip(_accumulated(np.flip(array, dim), dim, operator.add), dim)

    samples = _scan_samples(lambda s: s.real, ({}, {"dtype": float64}, {"reverse": True}))
    bad = _scan_bad


class Cumprod(Op):
    """The product of the elements up to each, along an axis; integers and bool multiply in int64.

    >>> tx.cumprod(tx.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """

    total = True
    signature = "cumprod(input, dim: int, *, dtype: dtype? = None) -> y"
    inplace = True

    def infer(input, dim, dtype):
        normalize_dim(dim, input.ndim, "cumprod")
        return Spec(input.shape, sum_type(input.dtype, dtype))

    def kernel(input, dim, dtype):
        array = as_type(input, dtype)
        if array.ndim == 0:
            return array.copy()
        wrapping = np.int64 if dtype is None and array.dtype.kind in "biu" else array.dtype
        return np.multiply.accumulate(array, axis=dim, dtype=wrapping)

    def vjp(g, input, y, dim):
        # x_i is a factor of all products from i on: y_k = y_(i-1) x_i (x_(i+1) ... x_k). The sum of
        # g_k times the last bracket is a recurrence from the end, and nothing is divided by 0.
        d = axis(dim, g.ndim, "cumprod")
        if d is None:
            return g
        return shift(y, d, 1).conj() * _from_the_end(g, cast(input, g.dtype), d)

    def reference(input, dim, dtype):
        return _accumulated(converted(input, dtype), dim, operator.mul)

    def samples(s):
        yield from _scan_samples(lambda s: s.real, ({}, {"dtype": float64}))(s)
        yield Sample(s.array([[2, 0, 3], [0, 4, 0], [1, 2, 3]]), 1)

    bad = _scan_bad


def _from_the_end(g, decay, d):
    """t_i = g_i + conj(decay_(i+1)) t_(i+1), which a linear recurrence's gradient is."""
    back = shift(tx.flip(decay.conj(), (d,)), d, 0)
    return tx.flip(tx.linear_recurrence(tx.flip(g, (d,)), back, d), (d,))


class LinearRecurrence(Op):
    """y_i = decay_i y_(i-1) + input_i along an axis, from y = 0.

    Its gradient is a recurrence of the same kind, so it serves as that of other scans.

    >>> tx.linear_recurrence(tx.tensor([1.0, 1.0, 1.0]), tx.tensor([0.5, 0.5, 0.5]), 0)
    tensor([1.0000, 1.5000, 1.7500])
    """

    total = True
    signature = "linear_recurrence(input, decay, dim: int) -> y"
    method = False
    dtypes = FLOATS + COMPLEX

    def infer(input, decay, dim):
        normalize_dim(dim, input.ndim, "linear_recurrence")
        if input.dtype is not decay.dtype:
            raise DTypeError(
                f"linear_recurrence: input is {describe(input)}, decay is {describe(decay)}; "
                "needs the same dtype"
            )
        same = input.ndim == decay.ndim and all(
            a == b for a, b in zip(input.shape, decay.shape, strict=True)
        )
        if not same:
            raise ShapeError(
                f"linear_recurrence: input is {describe(input)}, decay is {describe(decay)}; "
                "needs the same shape"
            )
        return Spec(input.shape, input.dtype)

    def kernel(input, decay, dim):
        if input.ndim == 0:
            return input.copy()
        y = np.array(input)
        rows, factors = np.moveaxis(y, dim, 0), np.moveaxis(decay, dim, 0)
        for i in range(1, len(rows)):
            rows[i] += factors[i] * rows[i - 1]
        return y

    def vjp_input(g, decay, dim):
        d = axis(dim, g.ndim, "linear_recurrence")
        return g if d is None else _from_the_end(g, decay, d)

    def vjp_decay(g, decay, y, dim):
        d = axis(dim, g.ndim, "linear_recurrence")
        if d is None:
            return tx.zeros_like(g)
        return _from_the_end(g, decay, d) * shift(y, d, 0).conj()

    def reference(input, decay, dim):
        if input.ndim == 0:
            return input
        # Each result as the sum of all inputs before it, each times all decays after it.
        x, a = np.moveaxis(input, dim, -1), np.moveaxis(decay, dim, -1)
        y = np.zeros_like(x)
        for i in np.ndindex(*x.shape):
            *row, last = i
            for j in range(last + 1):
                y[i] += x[(*row, j)] * np.prod(a[(*row, slice(j + 1, last + 1))])
        return np.moveaxis(y, -1, dim)

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.n), 0)
        yield Sample(s.real(s.n, s.m, s.k), s.real(s.n, s.m, s.k), 1)
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), -1)
        yield Sample(s.array([1.0, 2.0, 3.0]), s.array([2.0, 0.0, 0.0]), 0)
        yield Sample(s.real(), s.real(), 0)
        yield Sample(s.real(0, s.n), s.real(0, s.n), 0)

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(3), 0), ShapeError, "needs the same shape")
        yield Bad(Sample(s.real(2), s.ints(2), 0), DTypeError, "needs the same dtype")


# ---- extremes so far


def _extreme_infer(op, input, dim):
    normalize_dim(dim, input.ndim, op)
    return Spec(input.shape, input.dtype), Spec(input.shape, int64)


def _extreme(function, input, dim):
    if input.ndim == 0:
        return input.copy(), np.zeros((), np.int64)
    values = function.accumulate(input, axis=dim)
    attains = (input == values) | (input != input)
    shape = [1] * input.ndim
    shape[dim] = input.shape[dim]
    places = np.arange(input.shape[dim]).reshape(shape)
    return values, np.maximum.accumulate(np.where(attains, places, 0), axis=dim)


def _extreme_reference(input, dim, beats):
    """The last place that is as good as any before it; a NaN is better than all but a NaN."""

    def places(values):
        found = []
        for i, v in enumerate(values):
            best = values[found[-1]] if found else v
            found.append(i if v != v or (best == best and beats(v, best)) else found[-1])
        return found

    indices = along(input, dim, places)
    values = along(input, dim, lambda row: [row[i] for i in places(row)])
    return values, indices


def _extreme_samples(s):
    yield from _scan_samples(lambda s: s.distinct)(s)
    yield Sample(s.array([1, 1, 2, 2, 0, 2]), 0, grad=False)
    if s.dtype.is_floating_point:
        yield Sample(s.array([1.0, math.nan, 2.0, math.nan, 0.0]), 0, grad=False)


class Cummax(Op):
    """The greatest element up to each, along an axis, and where it is (the last of equals).

    >>> tx.cummax(tx.tensor([1.0, 3.0, 2.0]), 0).values
    tensor([1., 3., 3.])
    """

    total = True
    signature = "cummax(input, dim: int) -> (values, indices)"
    dtypes = BOOL + INTEGERS + FLOATS
    nondifferentiable = ("indices",)

    def infer(input, dim):
        return _extreme_infer("cummax", input, dim)

    def kernel(input, dim):
        return _extreme(np.maximum, input, dim)

    def vjp(g_values, indices, dim):
        return place(g_values, indices, g_values.shape, dim, True)

    def reference(input, dim):
        return _extreme_reference(input, dim, operator.ge)

    samples = _extreme_samples
    bad = _scan_bad


class Cummin(Op):
    """The least element up to each, along an axis, and where it is (the last of equals).

    >>> tx.cummin(tx.tensor([2.0, 3.0, 1.0]), 0).values
    tensor([2., 2., 1.])
    """

    total = True
    signature = "cummin(input, dim: int) -> (values, indices)"
    dtypes = BOOL + INTEGERS + FLOATS
    nondifferentiable = ("indices",)

    def infer(input, dim):
        return _extreme_infer("cummin", input, dim)

    def kernel(input, dim):
        return _extreme(np.minimum, input, dim)

    def vjp(g_values, indices, dim):
        return place(g_values, indices, g_values.shape, dim, True)

    def reference(input, dim):
        return _extreme_reference(input, dim, operator.le)

    samples = _extreme_samples
    bad = _scan_bad


# ---- in the logarithm


class Logcumsumexp(Op):
    """The logarithm of the sum of exponentials up to each element, along an axis.

    >>> tx.logcumsumexp(tx.tensor([0.0, 0.0, 0.0]), 0)
    tensor([0.0000, 0.6931, 1.0986])
    """

    signature = "logcumsumexp(input, dim: int) -> y"
    dtypes = FLOATS + COMPLEX

    def infer(input, dim):
        normalize_dim(dim, input.ndim, "logcumsumexp")
        return Spec(input.shape, input.dtype)

    def kernel(input, dim):
        if input.ndim == 0:
            return input.copy()
        x = input.astype(np.promote_types(input.dtype, np.float64))
        if x.dtype.kind != "c":
            return np.logaddexp.accumulate(x, axis=dim)
        rows = np.moveaxis(x, dim, 0)
        for i in range(1, len(rows)):
            # The greater one plus a small correction, so that its imaginary part does not wrap.
            swap = rows[i - 1].real < rows[i].real
            high = np.where(swap, rows[i], rows[i - 1])
            low = np.where(swap, rows[i - 1], rows[i])
            added = high + np.log1p(np.exp(low - high))
            rows[i] = np.where(np.isneginf(high.real), high, added)
        return x

    def vjp(g, input, y, dim):
        # d y_k / d x_i = exp(x_i - y_k) = exp(x_i - y_i) exp(y_i - y_(i+1)) ... exp(y_(k-1) - y_k),
        # where no factor overflows.
        d = axis(dim, g.ndim, "logcumsumexp")
        if d is None:
            return g
        before = shift(y, d, 0)
        both_infinite = tx.logical_and(tx.isinf(y), tx.eq(before, y))
        step = tx.exp(tx.where(both_infinite, 0, before - y))
        return tx.exp(input - y).conj() * _from_the_end(g, step, d)

    def reference(input, dim):
        def direct(values):
            if any(isinstance(v, complex) for v in values):
                return [cmath.log(v) for v in accumulate(map(cmath.exp, values))]
            sums = accumulate(map(math.exp, values))
            return [math.log(v) if v > 0 else -math.inf if v == 0 else math.nan for v in sums]

        return along(input, dim, direct)

    def samples(s):
        yield from _scan_samples(lambda s: s.real)(s)
        if s.dtype.is_floating_point:
            yield Sample(s.array([-math.inf, -math.inf, 1.0, math.inf, 2.0]), 0, grad=False)

    bad = _scan_bad
