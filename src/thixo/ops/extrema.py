"""The greatest and the least: amax, amin, max, min, aminmax, argmax, argmin.

NaN counts as greater and as less than all else, so it always comes through.
"""

import math
from collections import namedtuple

import numpy as np

from thixo.dtype import BOOL, FLOATS, INTEGERS, int64
from thixo.errors import ArgumentError, DTypeError, IndexOutOfRange, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import over_axes
from thixo.ops.reduce_rules import (
    axes,
    axis,
    place,
    reduced_shape,
    require_dtype,
    require_elements,
    share_ties,
)
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample, reduction_samples

REAL = BOOL + INTEGERS + FLOATS


def _greatest(values):
    return next((v for v in values if v != v), max(values, default=None))


def _least(values):
    return next((v for v in values if v != v), min(values, default=None))


def _first(pick):
    """The position of what `pick` finds, the first of equals."""

    def position(values):
        found = pick(values)
        return next(i for i, v in enumerate(values) if v == found or (v != v and found != found))

    return position


def _with_nan(s):
    if s.dtype.is_floating_point:
        yield Sample(s.array([[1.0, math.nan, 2.0], [math.nan, 0.0, math.nan]]), dim=1, grad=False)


class Amax(Op):
    """The greatest element, or the greatest along the axes `dim`; equal ones share the gradient.

    >>> tx.amax(tx.tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
    tensor([5., 4.])
    """

    total = True
    signature = "amax(input, dim: ints? = None, keepdim: bool = False) -> y"
    dtypes = REAL

    def infer(input, dim, keepdim):
        dims = axes(dim, input.ndim, "amax")
        require_elements("amax", input, dims)
        return Spec(reduced_shape(input.shape, dims, keepdim), input.dtype)

    def kernel(input, dim, keepdim):
        return np.maximum.reduce(input, axis=axes(dim, input.ndim, "amax"), keepdims=keepdim)

    row_type = "same"

    def rows(k, input):
        return k.reduce_max(input)

    def vjp(g, input, y, dim, keepdim):
        return share_ties(g, input, y, axes(dim, input.ndim, "amax"), keepdim, True)

    def reference(input, dim, keepdim):
        return over_axes(input, dim, keepdim, _greatest)

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False)(s)
        yield Sample(s.array([[1, 0, 1], [2, 2, 2]]), dim=1, grad=False)
        yield from _with_nan(s)

    def bad(s):
        yield Bad(Sample(s.real(5, 0, 5)), IndexOutOfRange, "axis 1 of")
        yield Bad(Sample(s.real(5, 0, 5), dim=1), IndexOutOfRange, "is empty")
        yield Bad(Sample(s.real(2, 3), dim=(0, -2)), ValueRangeError, "names an axis twice")


class Amin(Op):
    """The least element, or the least along the axes `dim`; equal ones share the gradient.

    >>> tx.amin(tx.tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
    tensor([1., 3.])
    """

    total = True
    signature = "amin(input, dim: ints? = None, keepdim: bool = False) -> y"
    dtypes = REAL

    def infer(input, dim, keepdim):
        dims = axes(dim, input.ndim, "amin")
        require_elements("amin", input, dims)
        return Spec(reduced_shape(input.shape, dims, keepdim), input.dtype)

    def kernel(input, dim, keepdim):
        return np.minimum.reduce(input, axis=axes(dim, input.ndim, "amin"), keepdims=keepdim)

    row_type = "same"

    def rows(k, input):
        return k.reduce_min(input)

    def vjp(g, input, y, dim, keepdim):
        return share_ties(g, input, y, axes(dim, input.ndim, "amin"), keepdim, False)

    def reference(input, dim, keepdim):
        return over_axes(input, dim, keepdim, _least)

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False)(s)
        yield Sample(s.array([[1, 0, 0], [2, 2, 2]]), dim=1, grad=False)
        yield from _with_nan(s)

    def bad(s):
        yield Bad(Sample(s.real(5, 0, 5)), IndexOutOfRange, "axis 1 of")
        yield Bad(Sample(s.real(5, 0, 5), dim=1), IndexOutOfRange, "is empty")
        yield Bad(Sample(s.real(2, 3), dim=(0, -2)), ValueRangeError, "names an axis twice")


_AminmaxResult = namedtuple("aminmax", ("min", "max"))


class Aminmax(Composite):
    """The least and the greatest element, or those along the axis `dim`.

    >>> tx.aminmax(tx.tensor([3.0, 1.0, 2.0])).min
    tensor(1.)
    """

    signature = "aminmax(input, *, dim: int? = None, keepdim: bool = False) -> (min, max)"
    dtypes = REAL

    def compose(input, dim, keepdim):
        require_dtype("aminmax", input, Aminmax.dtypes)
        require_elements("aminmax", input, axes(dim, input.ndim, "aminmax"))
        return _AminmaxResult(tx.amin(input, dim, keepdim), tx.amax(input, dim, keepdim))

    def reference(input, dim, keepdim):
        least = over_axes(input, dim, keepdim, _least)
        return least, over_axes(input, dim, keepdim, _greatest)

    samples = reduction_samples(distinct=True, identity=False, several=False)

    def bad(s):
        yield Bad(Sample(s.real(5, 0, 5)), IndexOutOfRange, "aminmax of nothing has no value")


# ---- along one axis, with positions


def _first_of(k, input, best):
    """The best value of a row and its first position: a second walk over what the cache still has."""
    found = (input == best) | k.isnan(input)
    place = k.where(found, k.index(), 2**31 - 1)
    return best, k.reduce_min(place)


def _pick_infer(op, input, dim, keepdim):
    d = axis(dim, input.ndim, op)
    dims = () if d is None else (d,)
    require_elements(op, input, dims)
    shape = reduced_shape(input.shape, dims, keepdim)
    return Spec(shape, input.dtype), Spec(shape, int64)


def _pick(argument, input, dim, keepdim):
    if input.ndim == 0:
        return input.copy(), np.zeros((), np.int64)
    indices = np.expand_dims(argument(input, axis=dim), dim)
    values = np.take_along_axis(input, indices, axis=dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


class MaxDim(Op):
    """The greatest elements along an axis and their positions, the first of equals.

    >>> tx.max_dim(tx.tensor([[1.0, 5.0], [3.0, 4.0]]), 1).indices
    tensor([1, 1])
    """

    total = True
    signature = "max_dim(input, dim: int, keepdim: bool = False) -> (values, indices)"
    dtypes = REAL
    method = False
    nondifferentiable = ("indices",)

    def infer(input, dim, keepdim):
        return _pick_infer("max", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        return _pick(np.argmax, input, dim, keepdim)

    def rows(k, input):
        return _first_of(k, input, k.reduce_max(input))

    def vjp(g_values, indices, input_type, dim, keepdim):
        return place(g_values, indices, input_type.shape, dim, keepdim)

    def reference(input, dim, keepdim):
        values = over_axes(input, dim, keepdim, _greatest)
        return values, over_axes(input, dim, keepdim, _first(_greatest))

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False, several=False, whole=False)(s)
        yield Sample(s.array([[1, 0, 1], [2, 2, 2]]), 1, grad=False)
        yield from _with_nan(s)

    def bad(s):
        yield Bad(Sample(s.real(0, 5), 0), IndexOutOfRange, "max of nothing has no value")


class MinDim(Op):
    """The least elements along an axis and their positions, the first of equals.

    >>> tx.min_dim(tx.tensor([[1.0, 5.0], [3.0, 4.0]]), 1).indices
    tensor([0, 0])
    """

    total = True
    signature = "min_dim(input, dim: int, keepdim: bool = False) -> (values, indices)"
    dtypes = REAL
    method = False
    nondifferentiable = ("indices",)

    def infer(input, dim, keepdim):
        return _pick_infer("min", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        return _pick(np.argmin, input, dim, keepdim)

    def rows(k, input):
        return _first_of(k, input, k.reduce_min(input))

    def vjp(g_values, indices, input_type, dim, keepdim):
        return place(g_values, indices, input_type.shape, dim, keepdim)

    def reference(input, dim, keepdim):
        values = over_axes(input, dim, keepdim, _least)
        return values, over_axes(input, dim, keepdim, _first(_least))

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False, several=False, whole=False)(s)
        yield Sample(s.array([[1, 0, 0], [2, 2, 2]]), 1, grad=False)
        yield from _with_nan(s)

    def bad(s):
        yield Bad(Sample(s.real(0, 5), 0), IndexOutOfRange, "min of nothing has no value")


def _overloaded(op, input, dim, keepdim, other, whole, along, pair):
    """max and min, whose second argument is an axis, a tensor, or not there."""
    if is_tensor(dim) and not isinstance(dim, np.generic) and other is None:
        dim, other = None, dim
    if other is not None:
        if dim is not None or keepdim:
            raise ArgumentError(f"{op}: takes either other or dim and keepdim, not both")
        return pair(input, other)
    if dim is None:
        if keepdim:
            raise ArgumentError(f"{op}: keepdim needs a dim; for all axes see a{op}")
        require_elements(op, input, tuple(range(input.ndim)))
        return whole(input)
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise ArgumentError(f"{op}: dim must be an int (or other a tensor), got {describe(dim)}")
    return along(input, dim, keepdim)


class Max(Composite):
    """The greatest element; with `dim` the greatest along it and where; with `other` elementwise.

    >>> tx.max(tx.tensor([[1.0, 5.0], [3.0, 4.0]]), 1).values
    tensor([5., 4.])
    """

    signature = "max(input, dim: any = None, keepdim: bool = False, *, other: any = None) -> y"
    dtypes = REAL

    def compose(input, dim, keepdim, other):
        require_dtype("max", input, Max.dtypes)
        return _overloaded("max", input, dim, keepdim, other, tx.amax, tx.max_dim, tx.maximum)

    def reference(input, dim, keepdim, other):
        if isinstance(dim, np.ndarray):
            return np.where((input >= dim) | (input != input), input, dim)
        if dim is None:
            return over_axes(input, None, False, _greatest)
        values = over_axes(input, dim, keepdim, _greatest)
        return values, over_axes(input, dim, keepdim, _first(_greatest))

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False, several=False)(s)
        yield Sample(s.distinct(s.n, s.m), s.distinct(s.m, low=-1.9, high=2.1))

    def bad(s):
        yield Bad(Sample(s.real(0)), IndexOutOfRange, "max of nothing has no value")
        yield Bad(Sample(s.real(2), "rows"), ArgumentError, "dim must be an int")
        yield Bad(Sample(s.real(2, 3), keepdim=True), ArgumentError, "keepdim needs a dim")
        yield Bad(Sample(s.real(3), 2), IndexOutOfRange, "dim 2 is out of range")


class Min(Composite):
    """The least element; with `dim` the least along it and where; with `other` elementwise.

    >>> tx.min(tx.tensor([[1.0, 5.0], [3.0, 4.0]]), 1).values
    tensor([1., 3.])
    """

    signature = "min(input, dim: any = None, keepdim: bool = False, *, other: any = None) -> y"
    dtypes = REAL

    def compose(input, dim, keepdim, other):
        require_dtype("min", input, Min.dtypes)
        return _overloaded("min", input, dim, keepdim, other, tx.amin, tx.min_dim, tx.minimum)

    def reference(input, dim, keepdim, other):
        if isinstance(dim, np.ndarray):
            return np.where((input <= dim) | (input != input), input, dim)
        if dim is None:
            return over_axes(input, None, False, _least)
        values = over_axes(input, dim, keepdim, _least)
        return values, over_axes(input, dim, keepdim, _first(_least))

    def samples(s):
        yield from reduction_samples(distinct=True, identity=False, several=False)(s)
        yield Sample(s.distinct(s.n, s.m), s.distinct(s.m, low=-1.9, high=2.1))

    def bad(s):
        yield Bad(Sample(s.real(0)), IndexOutOfRange, "min of nothing has no value")
        yield Bad(Sample(s.real(2), "rows"), ArgumentError, "dim must be an int")
        yield Bad(Sample(s.real(2, 3), keepdim=True), ArgumentError, "keepdim needs a dim")
        yield Bad(Sample(s.real(3), 2), IndexOutOfRange, "dim 2 is out of range")


# ---- positions alone


def _position_infer(op, input, dim, keepdim):
    dims = axes(dim, input.ndim, op)
    require_elements(op, input, dims)
    return Spec(reduced_shape(input.shape, dims, keepdim), int64)


def _position(argument, input, dim, keepdim):
    if dim is None:
        index = np.asarray(argument(input, axis=None))
        return index.reshape((1,) * input.ndim) if keepdim else index
    return (
        np.zeros((), np.int64) if input.ndim == 0 else argument(input, axis=dim, keepdims=keepdim)
    )


class Argmax(Op):
    """The position of the greatest element, in the flat order or along the axis `dim`.

    >>> tx.argmax(tx.tensor([[1.0, 5.0], [7.0, 4.0]]), 1)
    tensor([1, 0])
    """

    total = True
    signature = "argmax(input, dim: int? = None, keepdim: bool = False) -> y"
    dtypes = INTEGERS + FLOATS
    vjp = None

    def infer(input, dim, keepdim):
        return _position_infer("argmax", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        return _position(np.argmax, input, dim, keepdim)

    row_type = "index"

    def rows(k, input):
        return _first_of(k, input, k.reduce_max(input))[1]

    def reference(input, dim, keepdim):
        return over_axes(input, dim, keepdim, _first(_greatest))

    def samples(s):
        yield from reduction_samples(identity=False, several=False)(s)
        yield Sample(s.real(s.n, s.m), keepdim=True)
        yield from _with_nan(s)

    def bad(s):
        yield Bad(Sample(s.bools(2)), DTypeError, "argmax")
        yield Bad(Sample(s.real(0)), IndexOutOfRange, "argmax of nothing has no value")


class Argmin(Op):
    """The position of the least element, in the flat order or along the axis `dim`.

    >>> tx.argmin(tx.tensor([[1.0, 5.0], [7.0, 4.0]]), 1)
    tensor([0, 1])
    """

    total = True
    signature = "argmin(input, dim: int? = None, keepdim: bool = False) -> y"
    dtypes = INTEGERS + FLOATS
    vjp = None

    def infer(input, dim, keepdim):
        return _position_infer("argmin", input, dim, keepdim)

    def kernel(input, dim, keepdim):
        return _position(np.argmin, input, dim, keepdim)

    row_type = "index"

    def rows(k, input):
        return _first_of(k, input, k.reduce_min(input))[1]

    def reference(input, dim, keepdim):
        return over_axes(input, dim, keepdim, _first(_least))

    def samples(s):
        yield from reduction_samples(identity=False, several=False)(s)
        yield Sample(s.real(s.n, s.m), keepdim=True)
        yield from _with_nan(s)

    def bad(s):
        yield Bad(Sample(s.bools(2)), DTypeError, "argmin")
        yield Bad(Sample(s.real(0)), IndexOutOfRange, "argmin of nothing has no value")
