"""Sorting: sort, argsort, msort, topk. Sorts are stable, and NaN is the greatest of all."""

import math

import numpy as np

from thixo.dtype import BOOL, FLOATS, INTEGERS, complex64, int64
from thixo.errors import DTypeError, IndexOutOfRange, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import along, nan_last
from thixo.ops.reduce_rules import place, require_dtype
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim

REAL = BOOL + INTEGERS + FLOATS


def _order(x, dim, descending):
    """The positions of the elements in sorted order along an axis; equal ones stay in order."""
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # Sorted backwards twice: the order of equal ones is reversed, and reversed again.
    backwards = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return np.flip(x.shape[dim] - 1 - backwards, dim)


def _places(descending):
    def order(values):
        keys = [nan_last(v) for v in values]
        # sorted() keeps the order of equal elements under `reverse` too.
        return sorted(range(len(values)), key=keys.__getitem__, reverse=descending)

    return order


def _sorted_reference(input, dim, descending, count=None):
    order = _places(descending)
    indices = along(input, dim, lambda row: order(row)[:count])
    values = along(input, dim, lambda row: [row[i] for i in order(row)[:count]])
    return values, indices


def _sort_samples(s):
    yield Sample(s.distinct(s.n))
    yield Sample(s.distinct(s.n, s.m), 0)
    yield Sample(s.distinct(s.n, s.m, s.k), -2, True)
    yield Sample(s.distinct(s.n, s.m), dim=1, descending=True, stable=True)
    yield Sample(s.distinct())
    yield Sample(s.distinct(), 0, True)
    yield Sample(s.distinct(0, s.n), 0)
    yield Sample(s.real(3, 20), stable=True, grad=False)
    yield Sample(s.array([1, 0, 1, 2, 0, 2]), 0, True, grad=False)
    if s.dtype.is_floating_point:
        values = [math.nan, 1.0, -math.inf, math.nan, 2.0, math.inf]
        yield Sample(s.array(values), grad=False)
        yield Sample(s.array(values), descending=True, grad=False)


def _sort_bad(s):
    yield Bad(Sample(s.real(2, 3), 2), IndexOutOfRange, "dim 2 is out of range")
    yield Bad(Sample(s.real(2, dtype=complex64)), DTypeError, "sort")


class Sort(Op):
    """The elements in ascending (or descending) order along an axis, and where they came from.

    >>> tx.sort(tx.tensor([3.0, 1.0, 2.0])).indices
    tensor([1, 2, 0])
    """

    total = True
    signature = (
        "sort(input, dim: int = -1, descending: bool = False, *, stable: bool? = False) "
        "-> (values, indices)"
    )
    dtypes = REAL
    nondifferentiable = ("indices",)

    def infer(input, dim, descending, stable):
        normalize_dim(dim, input.ndim, "sort")
        return Spec(input.shape, input.dtype), Spec(input.shape, int64)

    def kernel(input, dim, descending, stable):
        if input.ndim == 0:
            return input.copy(), np.zeros((), np.int64)
        indices = _order(input, dim, descending)
        return np.take_along_axis(input, indices, axis=dim), indices

    def vjp(g_values, indices, dim):
        return place(g_values, indices, g_values.shape, dim, True, distinct=True)

    def reference(input, dim, descending, stable):
        return _sorted_reference(input, dim, descending)

    samples = _sort_samples
    bad = _sort_bad


class Argsort(Composite):
    """Where the elements in ascending (or descending) order along an axis came from.

    >>> tx.argsort(tx.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """

    signature = (
        "argsort(input, dim: int = -1, descending: bool = False, *, stable: bool? = False) -> y"
    )
    dtypes = REAL

    def compose(input, dim, descending, stable):
        require_dtype("argsort", input, Argsort.dtypes)
        return tx.sort(input, dim, descending, stable=stable)[1]

    def reference(input, dim, descending, stable):
        return _sorted_reference(input, dim, descending)[1]

    samples = _sort_samples
    bad = _sort_bad


class Msort(Composite):
    """The elements in ascending order along the first axis.

    >>> tx.msort(tx.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """

    signature = "msort(input) -> y"
    dtypes = REAL

    def compose(input):
        require_dtype("msort", input, Msort.dtypes)
        return tx.sort(input, 0)[0]

    def reference(input):
        return _sorted_reference(input, 0, False)[0]

    def samples(s):
        yield Sample(s.distinct(s.n))
        yield Sample(s.distinct(s.n, s.m))
        yield Sample(s.distinct())


class Topk(Op):
    """The k greatest (or least) elements along an axis, best first, and where they are.

    >>> tx.topk(tx.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """

    total = True
    signature = (
        "topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) "
        "-> (values, indices)"
    )
    dtypes = INTEGERS + FLOATS
    nondifferentiable = ("indices",)

    def infer(input, k, dim, largest, sorted):
        d = normalize_dim(dim, input.ndim, "topk")
        size = input.shape[d] if input.ndim else 1
        if k < 0 or k > size:
            raise ValueRangeError(
                f"topk: k is {k} for axis {d} of {describe(input)}; needs 0 to {size}"
            )
        shape = (*input.shape[:d], k, *input.shape[d + 1 :]) if input.ndim else ()
        return Spec(shape, input.dtype), Spec(shape, int64)

    def kernel(input, k, dim, largest, sorted):
        if input.ndim == 0:
            return input.copy(), np.zeros((), np.int64)
        indices = np.moveaxis(np.moveaxis(_order(input, dim, largest), dim, 0)[:k], 0, dim)
        return np.take_along_axis(input, indices, axis=dim), indices.copy()

    def vjp(g_values, indices, input_type, dim):
        return place(g_values, indices, input_type.shape, dim, True, distinct=True)

    def reference(input, k, dim, largest, sorted):
        if input.ndim and k == 0:
            shape = list(input.shape)
            shape[dim] = 0
            return np.zeros(shape), np.zeros(shape, np.int64)
        return _sorted_reference(input, dim, largest, max(k, 1))

    def samples(s):
        yield Sample(s.distinct(s.n), 2)
        yield Sample(s.distinct(s.n, s.m), 1, 0)
        yield Sample(s.distinct(s.n, s.m, s.k), 2, -2, False)
        yield Sample(s.distinct(s.n, s.m), 2, sorted=False)
        yield Sample(s.distinct(s.n), s.n)
        yield Sample(s.distinct(s.n), 0)
        yield Sample(s.distinct(), 1)
        if s.dtype.is_floating_point:
            yield Sample(s.array([1.0, math.nan, 3.0]), 2, grad=False)
            yield Sample(s.array([1.0, math.nan, 3.0]), 2, largest=False, grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 4), ValueRangeError, "needs 0 to 3")
        yield Bad(Sample(s.real(2, 3), -1), ValueRangeError, "k is -1")
        yield Bad(Sample(s.bools(3), 1), DTypeError, "topk")
