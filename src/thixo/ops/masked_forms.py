"""Operators along an axis that leave out what a mask hides: shares, norms, running sums.

The result has the input's shape. What it holds where the mask is False has no meaning beyond what each
sentence says; the gradient there is 0.
"""

import itertools
import math
import operator

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, float64
from thixo.errors import DTypeError, ShapeError
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.masked_rules import along_axis, along_present, bad_masks, far, kept, some
from thixo.ops.reduce_references import converted, wrap
from thixo.ops.reduce_rules import cast, require_dtype
from thixo.ops.samples import Bad, Sample


def _scores(op, input, mask, dtype, fill):
    """What shares are taken of: `fill` has the share 0."""
    x = input if dtype is None else cast(input, dtype)
    require_dtype(op, x, FLOATS)
    return kept(op, x, mask, fill)


def _logits(s):
    yield from along_axis(s, s.real)
    yield Sample(s.ints(s.n, s.m), 1, dtype=float64, mask=some(s, s.n, s.m))
    rows = s.array([[1, 2, 3], [4, 5, 6]]), s.array([[1, 0, 1], [0, 0, 0]])
    yield Sample(rows[0], 1, mask=rows[1], grad=False)  # nothing counts in the second row


def _bad_scores(s):
    yield from bad_masks(s)
    yield Bad(Sample(s.ints(3), dim=0), DTypeError, "i64 is not supported")


def _shares(sign, log):
    def reference(input, dim, dtype, mask):
        def shares(values, counts):
            weights = [
                math.exp(sign * v) if c else 0.0 for v, c in zip(values, counts, strict=True)
            ]
            whole = math.fsum(weights)
            if not whole:
                return [math.nan] * len(weights)
            if log:
                return [math.log(w / whole) if w else -math.inf for w in weights]
            return [w / whole for w in weights]

        return along_present(converted(input, dtype), mask, dim, shares)

    return reference


class MaskedSoftmax(Composite):
    """Shares that add up to 1 over the elements that count: 0 elsewhere, NaN where none counts.

    >>> tx.masked.softmax(tx.zeros(3), 0, mask=tx.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """

    signature = "softmax(input, dim: int, *, dtype: dtype? = None, mask: tensor? = None) -> y"
    namespace = "masked"

    def compose(input, dim, dtype, mask):
        return tx.softmax(_scores("masked.softmax", input, mask, dtype, -math.inf), dim)

    reference = _shares(1, log=False)
    samples = _logits
    bad = _bad_scores
    dtypes = FLOATS


class MaskedLogSoftmax(Composite):
    """The logarithm of `masked.softmax`: -inf where an element does not count.

    >>> tx.masked.log_softmax(tx.zeros(3), 0, mask=tx.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """

    signature = "log_softmax(input, dim: int, *, dtype: dtype? = None, mask: tensor? = None) -> y"
    namespace = "masked"

    def compose(input, dim, dtype, mask):
        return tx.log_softmax(_scores("masked.log_softmax", input, mask, dtype, -math.inf), dim)

    reference = _shares(1, log=True)

    def samples(s):
        for sample in _logits(s):  # a difference of two -inf is no derivative
            sample.after = lambda y: y.clip(-1000, 1000)
            yield sample

    bad = _bad_scores
    dtypes = FLOATS


class MaskedSoftmin(Composite):
    """`masked.softmax` of the negated input: the least element has the largest share.

    >>> tx.masked.softmin(tx.zeros(3), 0, mask=tx.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """

    signature = "softmin(input, dim: int, *, dtype: dtype? = None, mask: tensor? = None) -> y"
    namespace = "masked"

    def compose(input, dim, dtype, mask):
        return tx.softmax(-_scores("masked.softmin", input, mask, dtype, math.inf), dim)

    reference = _shares(-1, log=False)
    samples = _logits
    bad = _bad_scores
    dtypes = FLOATS


class MaskedNormalize(Composite):
    """The elements that count over their norm of order `ord`, or over `eps` if that is larger.

    >>> x, mask = tx.tensor([3.0, 7.0, 4.0]), tx.tensor([True, False, True])
    >>> tx.masked.normalize(x, 2.0, 0, mask=mask)
    tensor([0.6000, 0.0000, 0.8000])
    """

    signature = (
        "normalize(input, ord: float, dim: int, *, eps: float = 1e-12, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = FLOATS + COMPLEX

    def compose(input, ord, dim, eps, dtype, mask):
        require_dtype("masked.normalize", input, MaskedNormalize.dtypes)
        norm = tx.masked.norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
        return kept("masked.normalize", input, mask, 0) / tx.clamp_min(norm, eps)

    def reference(input, ord, dim, eps, dtype, mask):
        def normalize(values, counts):
            sizes = [abs(v) for v, c in zip(values, counts, strict=True) if c]
            if math.isinf(ord):
                norm = max(sizes) if ord > 0 else min(sizes)
            else:
                norm = math.fsum(v**ord for v in sizes) ** (1 / ord)
            return [v / max(norm, eps) if c else 0 for v, c in zip(values, counts, strict=True)]

        return along_present(input, mask, dim, normalize)

    def samples(s):
        for ord in (2.0, 1, 3, math.inf, -math.inf):
            yield from along_axis(s, far(s), ord=ord)
        yield Sample(s.real(s.n, s.m), 2.0, 1, eps=0.5, mask=some(s, s.n, s.m))

    def bad(s):
        x, mask = s.real(3), s.bools(2)
        yield Bad(Sample(x, 2.0, 0, mask=mask), ShapeError, "a mask must broadcast")


def _running(step, start):
    def reference(input, dim, dtype, mask):
        def run(values, counts):
            chosen = [v if c else start for v, c in zip(values, counts, strict=True)]
            found = list(itertools.accumulate(chosen, step))
            return [wrap(v) if isinstance(v, int) else v for v in found]

        return along_present(converted(input, dtype), mask, dim, run)

    return reference


def _running_samples(s):
    yield from along_axis(s, s.real)
    yield Sample(s.real(s.n, s.m), 1, dtype=float64, mask=some(s, s.n, s.m))


class MaskedCumsum(Composite):
    """The sum up to each element along an axis, of those that count, in the input's dtype.

    >>> tx.masked.cumsum(tx.tensor([1, 2, 3]), 0, mask=tx.tensor([True, False, True]))
    tensor([1, 1, 4])
    """

    signature = "cumsum(input, dim: int, *, dtype: dtype? = None, mask: tensor? = None) -> y"
    namespace = "masked"

    def compose(input, dim, dtype, mask):
        x = kept("masked.cumsum", input, mask, 0)
        return tx.cumsum(x, dim, dtype=dtype or input.dtype)

    reference = _running(operator.add, 0)
    samples = _running_samples
    bad = bad_masks


class MaskedCumprod(Composite):
    """The product up to each element along an axis, of those that count, in the input's dtype.

    >>> tx.masked.cumprod(tx.tensor([2, 3, 5]), 0, mask=tx.tensor([True, False, True]))
    tensor([ 2,  2, 10])
    """

    signature = "cumprod(input, dim: int, *, dtype: dtype? = None, mask: tensor? = None) -> y"
    namespace = "masked"

    def compose(input, dim, dtype, mask):
        x = kept("masked.cumprod", input, mask, 1)
        return tx.cumprod(x, dim, dtype=dtype or input.dtype)

    reference = _running(operator.mul, 1)
    samples = _running_samples
    bad = bad_masks


class MaskedLogaddexp(Composite):
    """log(exp(input) + exp(other)) over what counts of each; -inf where neither does.

    >>> x, mask = tx.zeros(3), tx.tensor([True, False, False])
    >>> tx.masked.logaddexp(x, x, input_mask=mask, other_mask=tx.tensor([True, True, False]))
    tensor([0.6931, 0.0000,   -inf])
    """

    signature = (
        "logaddexp(input, other, *, dtype: dtype? = None, input_mask: tensor? = None, "
        "other_mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = FLOATS

    def compose(input, other, dtype, input_mask, other_mask):
        require_dtype("masked.logaddexp", input, FLOATS)
        a = kept("masked.logaddexp", input, input_mask, -math.inf)
        b = kept("masked.logaddexp", other, other_mask, -math.inf)
        return cast(tx.logaddexp(a, b), dtype or input.dtype)

    def reference(input, other, dtype, input_mask, other_mask):
        weights = [
            np.exp(x) * (1 if mask is None else np.asarray(mask) != 0)
            for x, mask in ((input, input_mask), (other, other_mask))
        ]
        return np.log(weights[0] + weights[1])

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), input_mask=some(s, s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.m), other_mask=some(s, s.m))
        both = {"input_mask": s.array([1, 0, 1, 0]), "other_mask": s.array([1, 1, 0, 0])}
        yield Sample(s.real(4), s.real(4), **both, grad=False)

    def bad(s):
        x, mask = s.real(3), s.bools(2)
        yield Bad(Sample(x, x, other_mask=mask), ShapeError, "a mask must broadcast")
