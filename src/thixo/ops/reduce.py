"""Reductions that add, multiply or ask: sum, mean, prod, all, any, logsumexp."""

import cmath
import math

import numpy as np

from thixo.dtype import BOOL, FLOATS, INTEGERS, complex128, float32, float64, int64, uint8
from thixo.dtype import bool as bool_
from thixo.errors import DTypeError, IndexOutOfRange, ThixoError, ValueRangeError
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import converted, over_axes, product, total
from thixo.ops.reduce_rules import (
    as_type,
    axes,
    cast,
    count,
    flatten_axes,
    float_type,
    keep_axes,
    reduced_shape,
    require_dtype,
    require_float,
    shift,
    spread,
    sum_type,
    unflatten_axes,
)
from thixo.ops.samples import Bad, Sample, reduction_samples


class Sum(Op):
    """The sum of all elements, or along the axes `dim`; integers and bool add up in int64.

    >>> tx.sum(tx.tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
    tensor([4., 6.])
    """

    total = True
    signature = "sum(input, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None) -> y"
    images = "any"

    def infer(input, dim, keepdim, dtype):
        dims = axes(dim, input.ndim, "sum")
        return Spec(reduced_shape(input.shape, dims, keepdim), sum_type(input.dtype, dtype))

    def kernel(input, dim, keepdim, dtype):
        array = as_type(input, dtype)
        wrapping = np.int64 if dtype is None and array.dtype.kind in "biu" else array.dtype
        dims = axes(dim, array.ndim, "sum")
        return np.add.reduce(array, axis=dims, dtype=wrapping, keepdims=keepdim)

    row_type = "sum"

    def rows(k, input):
        return k.reduce_sum(input)

    def vjp(g, input_type, dim, keepdim):
        shape = input_type.shape
        return spread(g, shape, axes(dim, len(shape), "sum"), keepdim)

    def reference(input, dim, keepdim, dtype):
        return over_axes(converted(input, dtype), dim, keepdim, total)

    samples = reduction_samples(options=({}, {"dtype": float64}))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), dim=2), IndexOutOfRange, "2 is out of range")
        yield Bad(Sample(s.real(2, 3), dim=(0, -2)), ThixoError, "twice")


class Nansum(Composite):
    """The sum along the axes `dim`, with NaN counted as 0.

    >>> tx.nansum(tx.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """

    signature = (
        "nansum(input, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None) -> y"
    )
    dtypes = BOOL + INTEGERS + FLOATS

    def compose(input, dim, keepdim, dtype):
        require_dtype("nansum", input, Nansum.dtypes)
        if input.dtype.is_floating_point:
            input = tx.where(tx.isnan(input), 0, input)
        return tx.sum(input, dim, keepdim, dtype=dtype)

    def reference(input, dim, keepdim, dtype):
        input = np.where(input == input, input, np.zeros((), input.dtype))
        return over_axes(converted(input, dtype), dim, keepdim, total)

    def samples(s):
        yield from reduction_samples()(s)
        if s.dtype.is_floating_point:
            yield Sample(s.array([[1.0, math.nan], [math.nan, math.nan]]), dim=1, grad=False)


class Mean(Op):
    """The mean of all elements, or along the axes `dim`.

    >>> tx.mean(tx.tensor([[1.0, 2.0], [3.0, 4.0]]), 1)
    tensor([1.5000, 3.5000])
    """

    total = True
    signature = (
        "mean(input, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None) -> y"
    )
    images = "any"

    def infer(input, dim, keepdim, dtype):
        if dtype is None:
            require_float("mean", input)
        elif not (dtype.is_floating_point or dtype.is_complex):
            raise DTypeError(
                f"mean: dtype is {dtype.name}; needs a floating-point or complex dtype"
            )
        dims = axes(dim, input.ndim, "mean")
        return Spec(reduced_shape(input.shape, dims, keepdim), dtype or input.dtype)

    def kernel(input, dim, keepdim, dtype):
        array = as_type(input, dtype)
        dims = axes(dim, array.ndim, "mean")
        # Added up in double precision: a sum may overflow where the mean does not.
        wide = np.promote_types(array.dtype, np.float64)
        sums = np.add.reduce(array, axis=dims, dtype=wide, keepdims=keepdim)
        return np.true_divide(sums, count(array.shape, dims))

    row_type = "float"

    def rows(k, input):
        total = k.reduce_sum(input)
        if k.is_complex(total):
            return k.complex(total.re / k.columns(), total.im / k.columns())
        return total / k.columns()

    def vjp(g, input_type, dim, keepdim):
        shape = input_type.shape
        dims = axes(dim, len(shape), "mean")
        return spread(g / count(shape, dims), shape, dims, keepdim)

    def reference(input, dim, keepdim, dtype):
        def mean(values):
            return total(values) / len(values) if values else math.nan

        return over_axes(converted(input, dtype), dim, keepdim, mean)

    def samples(s):
        inexact = s.dtype.is_floating_point or s.dtype.is_complex
        yield from reduction_samples(options=({},) if inexact else ({"dtype": float32},))(s)
        yield Sample(s.real(s.n, s.m), dtype=complex128 if s.dtype.is_complex else float64)

    def bad(s):
        yield Bad(Sample(s.ints(2, 3)), DTypeError, "needs a floating-point or complex dtype")
        yield Bad(Sample(s.real(2, 3), dtype=int64), DTypeError, "dtype is int64")
        yield Bad(Sample(s.real(2, 3), dim=(1, 1)), ValueRangeError, "names an axis twice")


class Nanmean(Composite):
    """The mean along the axes `dim` of the elements that are not NaN.

    >>> tx.nanmean(tx.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """

    signature = (
        "nanmean(input, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None) -> y"
    )
    dtypes = FLOATS

    def compose(input, dim, keepdim, dtype):
        require_dtype("nanmean", input, Nanmean.dtypes)
        present = tx.sum(tx.logical_not(tx.isnan(input)), dim, keepdim)
        return tx.nansum(input, dim, keepdim, dtype=dtype) / present

    def reference(input, dim, keepdim, dtype):
        def mean(values):
            present = [v for v in values if v == v]
            return math.fsum(present) / len(present) if present else math.nan

        return over_axes(input, dim, keepdim, mean)

    def samples(s):
        yield from reduction_samples()(s)
        yield Sample(s.array([[1.0, math.nan], [math.nan, math.nan]]), dim=1, grad=False)

    def bad(s):
        yield Bad(Sample(s.ints(2, 3)), DTypeError, "nanmean")


class Prod(Op):
    """The product of all elements, or along the axes `dim`; integers and bool multiply in int64.

    >>> tx.prod(tx.tensor([[1.0, 2.0], [3.0, 4.0]]), 0)
    tensor([3., 8.])
    """

    total = True
    signature = (
        "prod(input, dim: ints? = None, keepdim: bool = False, *, dtype: dtype? = None) -> y"
    )

    def infer(input, dim, keepdim, dtype):
        dims = axes(dim, input.ndim, "prod")
        return Spec(reduced_shape(input.shape, dims, keepdim), sum_type(input.dtype, dtype))

    def kernel(input, dim, keepdim, dtype):
        array = as_type(input, dtype)
        wrapping = np.int64 if dtype is None and array.dtype.kind in "biu" else array.dtype
        dims = axes(dim, array.ndim, "prod")
        return np.multiply.reduce(array, axis=dims, dtype=wrapping, keepdims=keepdim)

    row_type = "sum"

    def rows(k, input):
        return k.reduce_prod(input)

    def vjp(g, input, dim, keepdim):
        # The product of all others is that of those before times that of those after, which needs
        # no division and so is right where elements are 0.
        dims = axes(dim, input.ndim, "prod")
        if not dims:
            return g
        x = flatten_axes(cast(input, g.dtype), dims)
        before = tx.cumprod(shift(x, x.ndim - 1, 1), -1)
        after = tx.flip(tx.cumprod(shift(tx.flip(x, (-1,)), x.ndim - 1, 1), -1), (-1,))
        g = flatten_axes(keep_axes(g, dims, keepdim), dims)
        return unflatten_axes(g * (before * after).conj(), input.shape, dims)

    def reference(input, dim, keepdim, dtype):
        return over_axes(converted(input, dtype), dim, keepdim, product)

    def samples(s):
        yield from reduction_samples()(s)
        yield Sample(s.real(s.n, s.m), dim=0, dtype=complex128)
        yield Sample(s.array([[2, 0, 3], [0, 4, 0], [1, 2, 3]]), dim=1)
        yield Sample(s.array([[2, 0, 3], [1, 4, 2]]))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), dim=-3), IndexOutOfRange, "dim -3 is out of range")


class All(Op):
    """Whether all elements, or all along the axes `dim`, are true (not 0).

    >>> tx.all(tx.tensor([[True, False], [True, True]]), 1)
    tensor([False,  True])
    """

    total = True
    signature = "all(input, dim: ints? = None, keepdim: bool = False) -> y"
    vjp = None

    def infer(input, dim, keepdim):
        dims = axes(dim, input.ndim, "all", empty_is_all=False)
        return Spec(reduced_shape(input.shape, dims, keepdim), _truth_type(input.dtype))

    def kernel(input, dim, keepdim):
        dims = axes(dim, input.ndim, "all", empty_is_all=False)
        return np.logical_and.reduce(input != 0, axis=dims, keepdims=keepdim)

    row_type = "truth"

    def rows(k, input):
        return k.reduce_all(input)

    def row_axes(input, dim, keepdim):
        return axes(dim, input.ndim, "all", empty_is_all=False)

    def reference(input, dim, keepdim):
        if dim == ():
            return np.asarray(input, bool)
        return over_axes(input, dim, keepdim, lambda values: 0 not in values)

    def samples(s):
        yield from reduction_samples(-1, 1)(s)
        yield Sample(s.bools(s.n, s.m), dim=())

    def bad(s):
        yield Bad(Sample(s.real(2, 3), dim=(0, 0)), ValueRangeError, "names an axis twice")


class AnyTrue(Op):
    """Whether any element, or any along the axes `dim`, is true (not 0).

    >>> tx.any(tx.tensor([[False, False], [False, True]]), 1)
    tensor([False,  True])
    """

    total = True
    signature = "any(input, dim: ints? = None, keepdim: bool = False) -> y"
    vjp = None

    def infer(input, dim, keepdim):
        dims = axes(dim, input.ndim, "any", empty_is_all=False)
        return Spec(reduced_shape(input.shape, dims, keepdim), _truth_type(input.dtype))

    def kernel(input, dim, keepdim):
        dims = axes(dim, input.ndim, "any", empty_is_all=False)
        return np.logical_or.reduce(input != 0, axis=dims, keepdims=keepdim)

    row_type = "truth"

    def rows(k, input):
        return k.reduce_any(input)

    def row_axes(input, dim, keepdim):
        return axes(dim, input.ndim, "any", empty_is_all=False)

    def reference(input, dim, keepdim):
        if dim == ():
            return np.asarray(input, bool)
        return over_axes(input, dim, keepdim, lambda values: any(v != 0 for v in values))

    def samples(s):
        yield from reduction_samples(-1, 1)(s)
        yield Sample(s.bools(s.n, s.m), dim=())

    def bad(s):
        yield Bad(Sample(s.real(2, 3), dim=(0, 0)), ValueRangeError, "names an axis twice")


def _truth_type(dtype):
    return uint8 if dtype is uint8 else bool_  # PyTorch keeps uint8, its first type for truth


class CountNonzero(Op):
    """How many elements, in all or along the axes `dim`, are not 0.

    >>> tx.count_nonzero(tx.tensor([[0, 2], [3, 4]]), 0)
    tensor([1, 2])
    """

    total = True
    signature = "count_nonzero(input, dim: ints? = None, keepdim: bool = False) -> y"
    vjp = None

    def infer(input, dim, keepdim):
        dims = axes(dim, input.ndim, "count_nonzero")
        return Spec(reduced_shape(input.shape, dims, keepdim), int64)

    def kernel(input, dim, keepdim):
        dims = axes(dim, input.ndim, "count_nonzero")
        return np.add.reduce(input != 0, axis=dims, dtype=np.int64, keepdims=keepdim)

    row_type = "index"

    def rows(k, input):
        return k.reduce_sum(k.truth(input))

    def reference(input, dim, keepdim):
        return over_axes(input, dim, keepdim, lambda values: len(values) - values.count(0))

    samples = reduction_samples(-1, 1)


class Logsumexp(Op):
    """The logarithm of the sum of exponentials along the axes `dim`, without overflow.

    >>> tx.logsumexp(tx.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """

    total = True
    signature = "logsumexp(input, dim: ints, keepdim: bool = False) -> y"
    aliases = ("special.logsumexp",)

    def infer(input, dim, keepdim):
        dims = axes(dim, input.ndim, "logsumexp")
        return Spec(reduced_shape(input.shape, dims, keepdim), float_type(input.dtype))

    def kernel(input, dim, keepdim):
        x = input.astype(np.float64) if input.dtype.kind in "biu" else input
        dims = axes(dim, x.ndim, "logsumexp")
        top = np.max(x.real, axis=dims, keepdims=True, initial=-np.inf)
        top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
        sums = np.add.reduce(np.exp(x - top), axis=dims, keepdims=True)
        y = np.log(sums) + top
        return y if keepdim else np.squeeze(y, axis=dims)

    def rows(k, input):
        if not k.is_floating(input):
            if k.is_complex(input):
                return k.refuse("logsumexp of complex numbers")
            input = input.cast("f64")
        top = k.reduce_max(input)
        top = k.where(k.isfinite(top), top, 0.0)
        return k.log(k.reduce_sum(k.exp(input - top))) + top

    def vjp(g, input, y, dim, keepdim):
        dims = axes(dim, input.ndim, "logsumexp")
        g, y = keep_axes(g, dims, keepdim), keep_axes(y, dims, keepdim)
        if y.dtype.is_complex:
            return g * tx.exp(input - y).conj()
        return tx.logsumexp_gradient(g, input, y, dims)

    def reference(input, dim, keepdim):
        def direct(values):
            sums = total([cmath.exp(v) if isinstance(v, complex) else math.exp(v) for v in values])
            if isinstance(sums, complex):
                return cmath.log(sums)
            return math.log(sums) if sums > 0 else -math.inf if sums == 0 else math.nan

        return over_axes(input, dim, keepdim, direct)

    def samples(s):
        yield from reduction_samples(whole=False)(s)
        yield Sample(s.real(s.n, s.m), dim=())
        if s.dtype.is_floating_point:
            yield Sample(s.array([[1.0, -math.inf], [-math.inf, -math.inf]]), dim=1, grad=False)
            yield Sample(s.array([[1.0, math.inf], [math.nan, 0.0]]), dim=1, grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), dim=2), IndexOutOfRange, "dim 2 is out of range")
