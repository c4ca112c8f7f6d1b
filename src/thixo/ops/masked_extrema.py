"""The largest, the least and the middle of the elements that a mask lets through."""

import math

from thixo.dtype import BOOL, FLOATS, INTEGERS, int64
from thixo.errors import DTypeError, IndexOutOfRange
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.masked_rules import (
    bad_masks,
    greatest,
    kept,
    least,
    nothing,
    over_places,
    over_present,
    reductions,
)
from thixo.ops.reduce_rules import axes, cast, require_dtype
from thixo.ops.samples import Bad, Sample

REAL = BOOL + INTEGERS + FLOATS


class MaskedAmax(Composite):
    """The largest element that counts; the dtype's least number where none does.

    >>> tx.masked.amax(tx.tensor([1.0, 9.0, 4.0]), mask=tx.tensor([True, False, True]))
    tensor(4.)
    """

    signature = (
        "amax(input, dim: ints? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = REAL

    def compose(input, dim, keepdim, dtype, mask):
        require_dtype("masked.amax", input, REAL)
        dims = axes(dim, input.ndim, "masked.amax")
        y = tx.amax(kept("masked.amax", input, mask, least(input.dtype)), dims, keepdim)
        return cast(y, dtype or y.dtype)

    def reference(input, dim, keepdim, dtype, mask):
        return over_present(input, mask, dim, keepdim, lambda v: max(v, default=-math.inf))

    samples = reductions("distinct")

    def bad(s):
        yield from bad_masks(s)
        yield Bad(Sample(s.real(2, 0), dim=1, mask=s.bools(2, 0)), IndexOutOfRange, "is empty")


class MaskedAmin(Composite):
    """The least element that counts; the dtype's largest number where none does.

    >>> tx.masked.amin(tx.tensor([1.0, 9.0, 4.0]), mask=tx.tensor([False, True, True]))
    tensor(4.)
    """

    signature = (
        "amin(input, dim: ints? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = REAL

    def compose(input, dim, keepdim, dtype, mask):
        require_dtype("masked.amin", input, REAL)
        dims = axes(dim, input.ndim, "masked.amin")
        y = tx.amin(kept("masked.amin", input, mask, greatest(input.dtype)), dims, keepdim)
        return cast(y, dtype or y.dtype)

    def reference(input, dim, keepdim, dtype, mask):
        return over_present(input, mask, dim, keepdim, lambda v: min(v, default=math.inf))

    samples = reductions("distinct")
    bad = bad_masks


def _position(best):
    """Where the best of the elements that count is: `best` is max or min."""

    def reference(input, dim, keepdim, dtype, mask):
        def place(found):
            wanted = best(value for _, value in found)
            return next(place for place, value in found if value == wanted)

        return over_places(input, mask, dim, keepdim, place)

    return reference


def _position_samples(s):
    if s.dtype not in BOOL:  # a bool cannot say where
        yield from reductions("distinct", several=False, dtype=int64)(s)
        yield from reductions("distinct", several=False)(s)


class MaskedArgmax(Composite):
    """Where the largest element that counts is, as a number of the input's dtype (or `dtype`).

    >>> x, mask = tx.tensor([1.0, 9.0, 4.0]), tx.tensor([True, False, True])
    >>> tx.masked.argmax(x, mask=mask, dtype=tx.int64)
    tensor(2)
    """

    signature = (
        "argmax(input, dim: int? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = INTEGERS + FLOATS

    def compose(input, dim, keepdim, dtype, mask):
        require_dtype("masked.argmax", input, MaskedArgmax.dtypes)
        y = tx.argmax(kept("masked.argmax", input, mask, least(input.dtype)), dim, keepdim)
        return cast(y, dtype or input.dtype)

    reference = _position(max)
    samples = _position_samples
    bad = bad_masks


class MaskedArgmin(Composite):
    """Where the least element that counts is, as a number of the input's dtype (or `dtype`).

    >>> x, mask = tx.tensor([1.0, 9.0, 4.0]), tx.tensor([False, True, True])
    >>> tx.masked.argmin(x, mask=mask, dtype=tx.int64)
    tensor(2)
    """

    signature = (
        "argmin(input, dim: int? = None, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = INTEGERS + FLOATS

    def compose(input, dim, keepdim, dtype, mask):
        require_dtype("masked.argmin", input, MaskedArgmin.dtypes)
        y = tx.argmin(kept("masked.argmin", input, mask, greatest(input.dtype)), dim, keepdim)
        return cast(y, dtype or input.dtype)

    reference = _position(min)
    samples = _position_samples
    bad = bad_masks


class MaskedMedian(Composite):
    """The median along an axis of the elements that count and are not NaN; NaN where none is.

    >>> x, mask = tx.tensor([1.0, 5.0, 3.0]), tx.tensor([False, True, True])
    >>> tx.masked.median(x, mask=mask)
    tensor(3.)
    """

    signature = (
        "median(input, dim: int = -1, *, keepdim: bool = False, dtype: dtype? = None, "
        "mask: tensor? = None) -> y"
    )
    namespace = "masked"
    dtypes = FLOATS  # integers have no number for a row in which nothing counts

    def compose(input, dim, keepdim, dtype, mask):
        require_dtype("masked.median", input, FLOATS)
        x = kept("masked.median", input, mask, math.nan)
        return cast(tx.nanmedian_dim(x, dim, keepdim)[0], dtype or input.dtype)

    def reference(input, dim, keepdim, dtype, mask):
        def middle(values):
            values = sorted(v for v in values if v == v)
            return values[(len(values) - 1) // 2] if values else math.nan

        return over_present(input, mask, dim, keepdim, middle)

    def samples(s):
        yield from reductions("distinct", whole=False, several=False)(s)
        yield from nothing(s)

    def bad(s):
        yield from bad_masks(s)
        yield Bad(Sample(s.ints(3)), DTypeError, "is not supported")
