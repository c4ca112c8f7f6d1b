"""Variance, deviation, covariance and correlation."""

import math
import statistics
from collections import namedtuple

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, INTEGERS, float64, get_default_dtype, int64, promote_types
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import over_axes, total
from thixo.ops.reduce_rules import (
    axes,
    cast,
    count,
    keep_axes,
    reduced_shape,
    require_dtype,
)
from thixo.ops.samples import Bad, Sample, reduction_samples
from thixo.shape import dim_max, is_symbolic


def _options(op, dim, unbiased, correction):
    """The axes and the correction from PyTorch's three ways to give them.

    var(x, unbiased), var(x, dim, unbiased, keepdim) and var(x, dim, *, correction, keepdim).
    """
    if isinstance(dim, bool):
        if unbiased is not None:
            raise ArgumentError(f"{op}: unbiased is given twice, as {dim} and {unbiased}")
        dim, unbiased = None, dim
    several = isinstance(dim, tuple | list) and all(type(d) is int for d in dim)
    if not (dim is None or isinstance(dim, int) or several):
        raise ArgumentError(
            f"{op}: dim must be an int or a sequence of ints or None, got {describe(dim)}"
        )
    if unbiased is not None and not isinstance(unbiased, bool):
        raise ArgumentError(f"{op}: unbiased must be True or False, got {describe(unbiased)}")
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{op}: takes either unbiased or correction, not both")
    if correction is None:
        correction = 0 if unbiased is False else 1
    return dim, correction


def _freedom(size, correction, dtype):
    """What the squares are divided by: the number of elements less the correction, at least 0."""
    if isinstance(correction, int):
        return dim_max(size - correction, 0)
    if not is_symbolic(size):
        return max(size - correction, 0)
    return tx.clamp_min(tx.full((), size, dtype=dtype) - correction, 0)


def _spread_infer(op, input, dim, unbiased, keepdim, correction):
    if not (input.dtype.is_floating_point or input.dtype.is_complex):
        raise DTypeError(
            f"{op}: input is {describe(input)}; needs a floating-point or complex dtype"
        )
    dim, _ = _options(op, dim, unbiased, correction)
    dims = axes(dim, input.ndim, op)
    return Spec(reduced_shape(input.shape, dims, keepdim), input.dtype.to_real())


def _variance(op, input, dim, unbiased, keepdim, correction):
    dim, correction = _options(op, dim, unbiased, correction)
    dims = axes(dim, input.ndim, op)
    x = input.astype(np.promote_types(input.dtype, np.float64))
    size = count(x.shape, dims)
    mean = np.true_divide(np.add.reduce(x, axis=dims, keepdims=True), size)
    squares = np.square((x - mean).real)
    if x.dtype.kind == "c":
        squares += np.square((x - mean).imag)
    sums = np.add.reduce(squares, axis=dims, keepdims=keepdim)
    return np.true_divide(sums, max(size - correction, 0))


def _row_variance(k, input, dim, unbiased, correction):
    if correction is None:
        unbiased = dim if isinstance(dim, bool) else unbiased
        correction = 0.0 if unbiased is False else 1.0
    x = k.wide(input)
    parts = [x.re, x.im] if k.is_complex(x) else [x]
    squares = None
    for part in parts:
        centred = part - k.reduce_sum(part) / k.columns()
        square = k.reduce_sum(centred * centred)
        squares = square if squares is None else squares + square
    freedom = k.number(k.columns(), squares) - correction
    return squares / k.maximum(freedom, 0.0)


def _variance_gradient(op, g, input, dim, unbiased, keepdim, correction):
    dim, correction = _options(op, dim, unbiased, correction)
    dims = axes(dim, input.ndim, op)
    freedom = _freedom(count(input.shape, dims), correction, g.dtype)
    g = keep_axes(g, dims, keepdim)
    if input.dtype.is_complex:
        return g * ((input - tx.mean(input, dims, True)) * 2 / freedom)
    return tx.deviation(input, g * 2 / freedom, dims)


def _variance_reference(op, input, dim, unbiased, keepdim, correction):
    dim, correction = _options(op, dim, unbiased, correction)

    def variance(values):
        parts = [[v.real for v in values], [v.imag for v in values]]
        free = max(len(values) - correction, 0)
        if not values:
            return math.nan
        squares = sum(statistics.pvariance(p) for p in parts) * len(values)
        return squares / free if free else math.inf if squares else math.nan

    return over_axes(input, dim, keepdim, variance)


def _variance_samples(s):
    yield from reduction_samples()(s)
    yield Sample(s.real(s.n, s.m), False)
    yield Sample(s.real(s.n, s.m), 1, False, True)
    yield Sample(s.real(s.n, s.m), unbiased=False)
    yield Sample(s.real(s.n, s.m), dim=(0, 1), unbiased=True, keepdim=True)
    yield Sample(s.real(s.n, s.m), dim=0, correction=0)
    yield Sample(s.real(s.n, s.m, s.k), correction=1.5, keepdim=True)
    yield Sample(s.real(s.n, s.m), dim=0, correction=-2)
    yield Sample(s.real(2, 3), dim=0, correction=2, grad=False)


def _variance_bad(s):
    yield Bad(Sample(s.ints(2, 3)), DTypeError, "is not supported")
    yield Bad(Sample(s.real(2, 3), (0, 0)), ValueRangeError, "names an axis twice")
    yield Bad(Sample(s.real(2, 3), 0, True, correction=1), ArgumentError, "not both")


class Var(Op):
    """The variance of all elements, or along the axes `dim`: squares over size less `correction`.

    >>> tx.var(tx.tensor([1.0, 2.0, 4.0, 5.0]))
    tensor(3.3333)
    """

    total = True
    signature = (
        "var(input, dim: any = None, unbiased: any = None, keepdim: bool = False, "
        "*, correction: float? = None) -> y"
    )

    def infer(input, dim, unbiased, keepdim, correction):
        return _spread_infer("var", input, dim, unbiased, keepdim, correction)

    def kernel(input, dim, unbiased, keepdim, correction):
        return _variance("var", input, dim, unbiased, keepdim, correction)

    def rows(k, input, dim, unbiased, correction):
        return _row_variance(k, input, dim, unbiased, correction)

    def row_axes(input, dim, unbiased, keepdim, correction):
        return axes(_options("var", dim, unbiased, correction)[0], input.ndim, "var")

    def vjp(g, input, dim, unbiased, keepdim, correction):
        return _variance_gradient("var", g, input, dim, unbiased, keepdim, correction)

    def reference(input, dim, unbiased, keepdim, correction):
        return _variance_reference("var", input, dim, unbiased, keepdim, correction)

    dtypes = FLOATS + COMPLEX
    samples = _variance_samples
    bad = _variance_bad


class Std(Op):
    """The standard deviation of all elements, or along the axes `dim`: the root of `var`.

    >>> tx.std(tx.tensor([1.0, 2.0, 4.0, 5.0]))
    tensor(1.8257)
    """

    total = True
    signature = (
        "std(input, dim: any = None, unbiased: any = None, keepdim: bool = False, "
        "*, correction: float? = None) -> y"
    )

    def infer(input, dim, unbiased, keepdim, correction):
        return _spread_infer("std", input, dim, unbiased, keepdim, correction)

    def kernel(input, dim, unbiased, keepdim, correction):
        return np.sqrt(_variance("std", input, dim, unbiased, keepdim, correction))

    def rows(k, input, dim, unbiased, correction):
        return k.sqrt(_row_variance(k, input, dim, unbiased, correction))

    def row_axes(input, dim, unbiased, keepdim, correction):
        return axes(_options("std", dim, unbiased, correction)[0], input.ndim, "std")

    def vjp(g, input, y, dim, unbiased, keepdim, correction):
        # Equal elements have no deviation and, as a choice, no gradient.
        g = tx.where(tx.eq(y, 0), 0, g / (2 * tx.where(tx.eq(y, 0), 1, y)))
        return _variance_gradient("std", g, input, dim, unbiased, keepdim, correction)

    def reference(input, dim, unbiased, keepdim, correction):
        return np.sqrt(_variance_reference("std", input, dim, unbiased, keepdim, correction))

    dtypes = FLOATS + COMPLEX
    samples = _variance_samples
    bad = _variance_bad


_VarMean = namedtuple("var_mean", ("var", "mean"))
_StdMean = namedtuple("std_mean", ("std", "mean"))


def _mean_reference(input, dim, keepdim):
    dim = None if isinstance(dim, bool) else dim
    return over_axes(
        input, dim, keepdim, lambda values: total(values) / len(values) if values else math.nan
    )


class VarMean(Composite):
    """The variance and the mean, of all elements or along the axes `dim`.

    >>> tx.var_mean(tx.tensor([1.0, 2.0, 3.0]))
    var_mean(var=tensor(1.), mean=tensor(2.))
    """

    signature = (
        "var_mean(input, dim: any = None, unbiased: any = None, keepdim: bool = False, "
        "*, correction: float? = None) -> (var, mean)"
    )
    method = False
    dtypes = FLOATS + COMPLEX

    def compose(input, dim, unbiased, keepdim, correction):
        require_dtype("var_mean", input, VarMean.dtypes)
        variance = tx.var(input, dim, unbiased, keepdim, correction=correction)
        axes_given, _ = _options("var_mean", dim, unbiased, correction)
        return _VarMean(variance, tx.mean(input, axes_given, keepdim))

    def reference(input, dim, unbiased, keepdim, correction):
        variance = _variance_reference("var_mean", input, dim, unbiased, keepdim, correction)
        return variance, _mean_reference(input, dim, keepdim)

    samples = _variance_samples
    bad = _variance_bad


class StdMean(Composite):
    """The standard deviation and the mean, of all elements or along the axes `dim`.

    >>> tx.std_mean(tx.tensor([1.0, 2.0, 3.0]))
    std_mean(std=tensor(1.), mean=tensor(2.))
    """

    signature = (
        "std_mean(input, dim: any = None, unbiased: any = None, keepdim: bool = False, "
        "*, correction: float? = None) -> (std, mean)"
    )
    method = False
    dtypes = FLOATS + COMPLEX

    def compose(input, dim, unbiased, keepdim, correction):
        require_dtype("std_mean", input, StdMean.dtypes)
        deviation = tx.std(input, dim, unbiased, keepdim, correction=correction)
        axes_given, _ = _options("std_mean", dim, unbiased, correction)
        return _StdMean(deviation, tx.mean(input, axes_given, keepdim))

    def reference(input, dim, unbiased, keepdim, correction):
        variance = _variance_reference("std_mean", input, dim, unbiased, keepdim, correction)
        return np.sqrt(variance), _mean_reference(input, dim, keepdim)

    samples = _variance_samples
    bad = _variance_bad


# ---- between variables


class CheckedWeights(Op):
    """The weights themselves, refused where one is negative or all of them are 0.

    >>> tx.checked_weights(tx.tensor([1.0, 2.0]), "cov: fweights")
    tensor([1., 2.])
    """

    signature = "checked_weights(input, where: str) -> y"
    method = False
    dtypes = INTEGERS + FLOATS

    def infer(input, where):
        return Spec(input.shape, input.dtype)

    def kernel(input, where):
        if np.any(input < 0):
            raise ValueRangeError(f"{where} has {input.min()}; needs weights that are not negative")
        if input.size and not np.any(input):
            raise ValueRangeError(f"{where} is 0 everywhere; needs weights whose sum is not 0")
        return input.copy()

    def vjp(g):
        return g

    def reference(input, where):
        return np.array([w + 0 for w in input.ravel().tolist()]).reshape(input.shape)

    def samples(s):
        yield Sample(s.positive(s.n), "cov: fweights")
        yield Sample(s.positive(0), "cov: fweights")

    def bad(s):
        yield Bad(Sample(s.array([1.0, -1.0], dtype=float64), "f"), ValueRangeError, "not negative")
        yield Bad(Sample(s.array([0, 0]), "f"), ValueRangeError, "is 0 everywhere")


def _weights(op, name, given, observations, integral):
    if given is None:
        return None
    right = given.dtype.is_integer if integral else given.dtype.is_floating_point
    if not right:
        kind = "an integer" if integral else "a floating-point"
        raise DTypeError(f"{op}: {name} is {describe(given)}; needs {kind} dtype")
    if given.ndim > 1 or (1 if given.ndim == 0 else given.shape[0]) != observations:
        raise ShapeError(
            f"{op}: {name} is {describe(given)}; needs one weight for each of {observations} observations"
        )
    return tx.reshape(tx.checked_weights(given, f"{op}: {name}"), (observations,))


class Cov(Composite):
    """The covariance matrix of variables (rows) from observations (columns), weighted if asked.

    >>> tx.cov(tx.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """

    signature = "cov(input, *, correction: int = 1, fweights: tensor? = None, aweights: tensor? = None) -> y"
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(input, correction, fweights, aweights):
        require_dtype("cov", input, Cov.dtypes)
        if input.ndim > 2:
            raise ShapeError(f"cov: input is {describe(input)}; needs at most two axes")
        x = tx.reshape(input, (1, *(input.shape or (1,)))) if input.ndim < 2 else input
        observations = x.shape[1]
        fweights = _weights("cov", "fweights", fweights, observations, integral=True)
        aweights = _weights("cov", "aweights", aweights, observations, integral=False)
        dtype = x.dtype if x.dtype.kind in "fc" else get_default_dtype()
        if aweights is not None:
            dtype = promote_types(dtype, aweights.dtype)
        x = cast(x, dtype)
        w = fweights if aweights is None else aweights if fweights is None else fweights * aweights
        if w is None:
            mean = tx.mean(x, (1,), True)
            freedom = dim_max(observations - correction, 0)
        else:
            weight = tx.sum(w)
            mean = tx.sum(x * w, (1,), True) / weight
            lost = correction if aweights is None else correction * tx.sum(w * aweights) / weight
            freedom = tx.clamp_min(weight - lost, 0)
        centred = x - mean
        weighted = centred if w is None else centred * w
        y = tx.matmul(centred, weighted.conj().transpose(0, 1)) / freedom
        return tx.reshape(y, ()) if x.shape[0] == 1 else y  # one variable has a variance

    def reference(input, correction, fweights, aweights):
        x = np.atleast_2d(np.asarray(input))
        rows = [x[i].tolist() for i in range(x.shape[0])]
        n = x.shape[1]
        f = [1] * n if fweights is None else np.atleast_1d(fweights).tolist()
        a = [1.0] * n if aweights is None else np.atleast_1d(aweights).tolist()
        w = [p * q for p, q in zip(f, a, strict=True)]
        weight = math.fsum(w)
        if not weight:
            return np.full((len(rows), len(rows)) if len(rows) > 1 else (), math.nan)
        means = [sum(v * c for v, c in zip(r, w, strict=True)) / weight for r in rows]
        free = weight - correction * sum(p * q for p, q in zip(w, a, strict=True)) / weight
        free = max(free, 0.0)
        y = np.empty((len(rows), len(rows)), np.result_type(x, np.float64))
        for i, r in enumerate(rows):
            for j, q in enumerate(rows):
                product = sum(
                    c * (u - means[i]) * (v - means[j]).conjugate()
                    for c, u, v in zip(w, r, q, strict=True)
                )
                y[i, j] = product / free if free else math.inf if product else math.nan
        return y if len(rows) > 1 else y.reshape(())

    def samples(s):
        yield Sample(s.real(s.m))
        yield Sample(s.real(1, s.m))
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), correction=0)
        yield Sample(s.real(s.n, s.m), fweights=s.ints(s.m, low=1))
        real = s.dtype.to_real() if s.dtype.kind in "fc" else float64
        yield Sample(s.real(s.n, s.m), aweights=s.positive(s.m, dtype=real))
        yield Sample(
            s.real(s.n, s.m),
            correction=0,
            fweights=s.ints(s.m, low=1),
            aweights=s.positive(s.m, dtype=real),
        )

    def bad(s):
        yield Bad(Sample(s.real(2, 2, 2)), ShapeError, "needs at most two axes")
        yield Bad(Sample(s.real(5), fweights=s.real(5, dtype=float64)), DTypeError, "an integer")
        yield Bad(Sample(s.real(5), aweights=s.ints(5)), DTypeError, "a floating-point")
        yield Bad(Sample(s.real(5), fweights=s.ints(2)), ShapeError, "each of 5 observations")
        yield Bad(Sample(s.real(2), fweights=s.array([1, -1], int64)), ValueRangeError, "negative")


class Corrcoef(Composite):
    """The correlation coefficients of variables (rows) from observations (columns).

    >>> tx.corrcoef(tx.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """

    signature = "corrcoef(input) -> y"
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(input):
        require_dtype("corrcoef", input, Corrcoef.dtypes)
        if input.ndim > 2:
            raise ShapeError(f"corrcoef: input is {describe(input)}; needs at most two axes")
        c = tx.cov(input)
        if c.ndim == 0:
            return c / c
        scale = tx.sqrt(tx.real(tx.diagonal(c)))
        y = c / tx.unsqueeze(scale, 1) / tx.unsqueeze(scale, 0)
        if y.dtype.is_complex:  # rounding may leave a part just above 1
            return tx.complex(tx.clamp(tx.real(y), -1, 1), tx.clamp(tx.imag(y), -1, 1))
        return tx.clamp(y, -1, 1)

    def reference(input):
        with np.errstate(all="ignore"):
            return np.asarray(np.corrcoef(input))

    def samples(s):
        yield Sample(s.distinct(s.m), grad=False)
        yield Sample(s.distinct(s.n, s.b))
        yield Sample(s.distinct(s.k, s.m + 1))

    def bad(s):
        yield Bad(Sample(s.real(2, 2, 2)), ShapeError, "needs at most two axes")
