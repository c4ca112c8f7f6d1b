"""Reductions over the elements that a mask lets through, as `torch.masked` has them."""

import cmath
import math

from thixo.dtype import COMPLEX, FLOATS, float32, float64
from thixo.errors import ArgumentError, DTypeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.masked_rules import (
    bad_masks,
    kept,
    nothing,
    over_present,
    present,
    reductions,
    some,
)
from thixo.ops.reduce_references import converted, product, total
from thixo.ops.reduce_rules import axes, cast, count, require_dtype
from thixo.ops.samples import Bad, Sample


def _reductions(s):
    yield from reductions()(s)
    yield from nothing(s)


class MaskedSum(Composite):
    """The sum of the elements that count; 0 where none does.

    >>> x, mask = tx.tensor([[1.0, 2.0], [3.0, 4.0]]), tx.tensor([[True, True], [True, False]])
    >>> tx.masked.sum(x, 1, mask=mask)
    tensor([3., 3.])
    """

    signature = (
        "sum(input, dim: ints? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"

    def compose(input, dim, keepdim, dtype, mask):
        dims = axes(dim, input.ndim, "masked.sum")
        return tx.sum(kept("masked.sum", input, mask, 0), dims, keepdim, dtype=dtype)

    def reference(input, dim, keepdim, dtype, mask):
        return over_present(converted(input, dtype), mask, dim, keepdim, lambda v: total(v or [0]))

    def samples(s):
        yield from _reductions(s)
        yield Sample(s.real(s.n, s.m), dim=0, dtype=float64, mask=some(s, s.n, s.m))

    bad = bad_masks


class MaskedProd(Composite):
    """The product of the elements that count; 1 where none does.

    >>> tx.masked.prod(tx.tensor([2.0, 3.0, 5.0]), mask=tx.tensor([True, False, True]))
    tensor(10.)
    """

    signature = (
        "prod(input, dim: ints? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"

    def compose(input, dim, keepdim, dtype, mask):
        dims = axes(dim, input.ndim, "masked.prod")
        return tx.prod(kept("masked.prod", input, mask, 1), dims, keepdim, dtype=dtype)

    def reference(input, dim, keepdim, dtype, mask):
        return over_present(converted(input, dtype), mask, dim, keepdim, product)

    samples = _reductions
    bad = bad_masks


class MaskedMean(Composite):
    """The mean of the elements that count; NaN where none does.

    >>> tx.masked.mean(tx.tensor([1.0, 2.0, 6.0]), mask=tx.tensor([True, False, True]))
    tensor(3.5000)
    """

    signature = (
        "mean(input, dim: ints? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"

    def compose(input, dim, keepdim, dtype, mask):
        wanted = dtype or input.dtype
        if not (wanted.is_floating_point or wanted.is_complex):
            raise DTypeError(
                f"masked.mean: input is {describe(input)}, dtype is {dtype and dtype.short}; needs a "
                "floating-point or complex dtype for one of them"
            )
        dims = axes(dim, input.ndim, "masked.mean")
        if mask is None:
            return tx.sum(input, dims, keepdim, dtype=dtype) / count(input.shape, dims)
        mask = present("masked.mean", input, mask)
        return tx.masked.sum(input, dims, keepdim=keepdim, dtype=dtype, mask=mask) / tx.sum(
            mask, dims, keepdim
        )

    def reference(input, dim, keepdim, dtype, mask):
        def mean(values):
            return total(values) / len(values) if values else math.nan

        return over_present(converted(input, dtype), mask, dim, keepdim, mean)

    def samples(s):
        inexact = s.dtype.is_floating_point or s.dtype.is_complex
        given = {} if inexact else {"dtype": float32}
        yield from reductions(**given)(s)
        yield from nothing(s, **given)

    def bad(s):
        yield from bad_masks(s)
        yield Bad(Sample(s.ints(3)), DTypeError, "needs a floating-point or complex dtype")


# ---- sums of functions of elements


class MaskedLogsumexp(Composite):
    """The logarithm of the sum of exponentials of the elements that count; -inf where none does.

    >>> x, mask = tx.tensor([1000.0, 1000.0, 2000.0]), tx.tensor([True, True, False])
    >>> tx.masked.logsumexp(x, mask=mask)
    tensor(1000.6932)
    """

    signature = (
        "logsumexp(input, dim: ints? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = FLOATS + COMPLEX

    def compose(input, dim, keepdim, dtype, mask):
        require_dtype("masked.logsumexp", input, MaskedLogsumexp.dtypes)
        dims = axes(dim, input.ndim, "masked.logsumexp")
        y = tx.logsumexp(kept("masked.logsumexp", input, mask, -math.inf), dims, keepdim)
        return cast(y, dtype or input.dtype)

    def reference(input, dim, keepdim, dtype, mask):
        def direct(values):
            whole = total([cmath.exp(v) for v in values] or [0j])
            return cmath.log(whole) if whole else -math.inf

        y = over_present(input, mask, dim, keepdim, direct)
        return y if input.dtype.kind == "c" else y.real

    def samples(s):
        yield from reductions()(s)
        if s.dtype.is_floating_point:
            yield from nothing(s)

    bad = bad_masks


class MaskedNorm(Composite):
    """The norm of order `ord` of the elements that count: (sum |x|^ord)^(1/ord).

    >>> x, mask = tx.tensor([3.0, 7.0, 4.0]), tx.tensor([True, False, True])
    >>> tx.masked.norm(x, mask=mask)
    tensor(5.)
    """

    signature = (
        "norm(input, ord: float = 2.0, dim: ints? = None, *, keepdim: bool = False, "
        "dtype: dtype? = None, mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = FLOATS + COMPLEX

    def compose(input, ord, dim, keepdim, dtype, mask):
        require_dtype("masked.norm", input, MaskedNorm.dtypes)
        dims = axes(dim, input.ndim, "masked.norm")
        x = kept("masked.norm", input, mask, math.inf if ord < 0 else 0)
        return tx.linalg.vector_norm(x, ord, dims, keepdim, dtype=dtype)

    def reference(input, ord, dim, keepdim, dtype, mask):
        def norm(values):
            sizes = [abs(v) for v in values]
            if math.isinf(ord):
                return max(sizes, default=0.0) if ord > 0 else min(sizes, default=math.inf)
            if ord == 0:
                return float(sum(v != 0 for v in sizes))
            return math.fsum(v**ord for v in sizes) ** (1 / ord)

        return over_present(input, mask, dim, keepdim, norm)

    def samples(s):
        for ord in (2.0, 1, 3, math.inf, -math.inf, -1.5):
            yield from reductions("far", ord=ord)(s)
        yield Sample(s.real(s.n, s.m), 0, 1, mask=some(s, s.n, s.m), grad=False)
        yield from nothing(s)

    bad = bad_masks


# ---- spread


def _variance(op, input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"{op}: takes either unbiased or correction, not both")
    if correction is None:
        correction = 0 if unbiased is False else 1
    if dtype is None:
        inexact = input.dtype.is_floating_point or input.dtype.is_complex
        dtype = input.dtype if inexact else float32
    require_dtype(op, tx.empty((0,), dtype=dtype), FLOATS + COMPLEX)
    dims = axes(dim, input.ndim, op)
    x = cast(input, dtype)
    if mask is None:
        mask = tx.full(tuple(input.shape), True)
    mask = present(op, input, mask)
    size = tx.sum(mask, dims, True)
    x = tx.where(mask, x, 0)
    centred = tx.where(mask, x - tx.sum(x, dims, True) / size, 0)
    squares = tx.sum(centred * centred.conj(), dims, keepdim)
    free = tx.clamp_min(tx.sum(mask, dims, keepdim).to(dtype.to_real()) - correction, 0)
    return squares / free


def _variance_reference(input, dim, unbiased, correction, keepdim, dtype, mask):
    if correction is None:
        correction = 0 if unbiased is False else 1

    def variance(values):
        if not values:
            return math.nan
        mean = total(values) / len(values)
        squares = math.fsum(abs(v - mean) ** 2 for v in values)
        free = max(len(values) - correction, 0)
        return squares / free if free else math.inf if squares else math.nan

    return over_present(input, mask, dim, keepdim, variance)


def _variance_samples(s):
    yield from reductions("distinct")(s)
    yield Sample(s.distinct(s.n, s.m), 1, False, mask=some(s, s.n, s.m))
    yield Sample(s.distinct(s.n, s.m), 0, correction=0, keepdim=True, mask=some(s, s.n, 1))
    yield Sample(s.distinct(s.n, s.m), correction=0.5, mask=some(s, s.n, s.m))
    yield from nothing(s, unbiased=False)


def _variance_bad(s):
    yield from bad_masks(s)
    yield Bad(Sample(s.real(3), 0, True, correction=1), ArgumentError, "not both")


class MaskedVar(Composite):
    """The variance of the elements that count: squares over their number less `correction` (1).

    >>> x, mask = tx.tensor([1.0, 2.0, 5.0]), tx.tensor([True, False, True])
    >>> tx.masked.var(x, mask=mask)
    tensor(8.)
    """

    signature = (
        "var(input, dim: ints? = None, unbiased: bool? = None, *, correction: float? = None, "
        "keepdim: bool = False, dtype: dtype? = None, mask: tensor? = None) -> y"
    )
    namespace = "masked"

    def compose(input, dim, unbiased, correction, keepdim, dtype, mask):
        return _variance("masked.var", input, dim, unbiased, correction, keepdim, dtype, mask)

    reference = _variance_reference
    samples = _variance_samples
    bad = _variance_bad


class MaskedStd(Composite):
    """The standard deviation of the elements that count: the root of `masked.var`.

    >>> x, mask = tx.tensor([1.0, 2.0, 3.0]), tx.tensor([True, False, True])
    >>> tx.masked.std(x, unbiased=False, mask=mask)
    tensor(1.)
    """

    signature = (
        "std(input, dim: ints? = None, unbiased: bool? = None, *, correction: float? = None, "
        "keepdim: bool = False, dtype: dtype? = None, mask: tensor? = None) -> y"
    )
    namespace = "masked"

    def compose(input, dim, unbiased, correction, keepdim, dtype, mask):
        return tx.sqrt(
            _variance("masked.std", input, dim, unbiased, correction, keepdim, dtype, mask)
        )

    def reference(input, dim, unbiased, correction, keepdim, dtype, mask):
        return _variance_reference(input, dim, unbiased, correction, keepdim, dtype, mask) ** 0.5

    samples = _variance_samples
    bad = _variance_bad
