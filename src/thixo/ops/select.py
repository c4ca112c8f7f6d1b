"""Choosing between values: where, clamp, masks, replacements of NaN."""

import math

from thixo.dtype import BOOL, FLOATS, INTEGERS, finfo
from thixo.errors import ArgumentError, DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise, is_nan
from thixo.ops.rules import is_complex, is_tensor
from thixo.ops.samples import Bad, Sample, binary_samples, unary_samples

REALS = BOOL + INTEGERS + FLOATS


class Where(Pointwise):
    """Elements of input where the condition holds, of other elsewhere.

    >>> tx.where(tx.tensor([True, False]), tx.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """

    signature = "where(condition, input: operand, other: operand) -> y"
    promotes = ("input", "other")
    method = False

    def overload(condition):
        """where(condition): the indices of what holds."""
        return tx.nonzero(condition, as_tuple=True)

    def check(condition, input, other):
        _check_mask("where", "condition", condition)

    def scalar(k, condition, input, other):
        return k.where(condition, input, other)

    def vjp_input(g, condition):
        return tx.where(condition, g, 0)

    def vjp_other(g, condition):
        return tx.where(condition, 0, g)

    reference = elementwise(lambda c, a, b: a if c else b)

    def samples(s):
        yield Sample(s.bools(s.n, s.m), s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.bools(s.m), s.real(s.n, 1), s.real())
        yield Sample(s.bools(), s.real(s.n), s.real(s.n))
        yield Sample(s.bools(s.n), s.real(s.n), s.number())
        yield Sample(s.bools(s.n), s.number(), s.real(s.n))
        yield Sample(s.bools(0, 1), s.real(s.n), s.real(s.n))

    def bad(s):
        yield Bad(Sample(s.ints(2), s.real(2), s.real(2)), DTypeError, "condition")
        yield Bad(Sample(s.bools(2), s.real(3), s.real(3)), ShapeError, "where")


def _check_mask(operation, name, mask):
    if mask.dtype.kind != "b":
        raise DTypeError(f"{operation}: {name} is {describe(mask)}; it must be of dtype bool")


class MaskedFill(Pointwise):
    """Input with value where the mask holds.

    >>> tx.masked_fill(tx.tensor([1.0, 2.0]), tx.tensor([True, False]), -1)
    tensor([-1.,  2.])
    """

    signature = "masked_fill(input, mask, value: operand) -> y"
    promotes = ("input",)
    inplace = True

    def check(input, mask, value):
        _check_mask("masked_fill", "mask", mask)
        if is_tensor(value) and len(value.shape):
            raise ShapeError(
                f"masked_fill: value is {describe(value)}; it must be a number or a 0-d tensor"
            )
        if is_complex(value) and not is_complex(input):
            raise DTypeError(
                f"masked_fill: input is {describe(input)}, value is {describe(value)}; a complex value "
                f"needs a complex input"
            )

    def scalar(k, input, mask, value):
        return k.where(mask, k.cast(value, input), input)

    def vjp_input(g, mask):
        return tx.where(mask, 0, g)

    def vjp_value(g, mask):
        return tx.where(mask, g, 0)

    reference = elementwise(lambda a, m, v: type(a)(v) if m else a)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.bools(s.n, s.m), s.number())
        yield Sample(s.real(s.n, s.m), s.bools(s.m), s.real())
        yield Sample(s.real(s.m), s.bools(s.n, 1), 1)
        yield Sample(s.real(), s.bools(), 0)
        yield Sample(s.real(0), s.bools(0), 0)

    def bad(s):
        yield Bad(Sample(s.real(2), s.ints(2), 1), DTypeError, "mask")
        yield Bad(Sample(s.real(2), s.bools(2), s.real(2)), ShapeError, "0-d")


# ---- bounds


class Clamp(Pointwise):
    """Input brought into the range from min to max; max where the two are crossed.

    >>> tx.clamp(tx.tensor([-3.0, 0.5, 3.0]), -1, 1)
    tensor([-1.0000,  0.5000,  1.0000])
    """

    signature = "clamp(input, min: operand? = None, max: operand? = None) -> y"
    aliases = ("clip",)
    dtypes = REALS
    inplace = True

    def check(input, min, max):
        if min is None and max is None:
            raise ArgumentError("clamp: neither min nor max is given; it needs one of them")

    def scalar(k, input, min, max):
        y = input
        if min is not None:
            y = k.maximum(y, min)
        if max is not None:
            y = k.minimum(y, max)
        return y

    def vjp_input(g, input, min, max):
        inside = None if min is None else input >= min
        if max is not None:
            inside = input <= max if inside is None else inside & (input <= max)
        return tx.where(inside, g, 0)

    def vjp_min(g, input, min, max):
        below = input < min
        return tx.where(below if max is None else below & (min < max), g, 0)

    def vjp_max(g, input, min, max):
        above = input > max
        return tx.where(above if min is None else above | (max < min), g, 0)

    def reference(input, min, max):
        def bounded(a, low, high):
            if low is not None and not a >= low:  # not: a NaN of either wins
                a = a if is_nan(a) else low
            if high is not None and not a <= high:
                a = a if is_nan(a) else high
            return a

        return elementwise(bounded)(input, min, max)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0 if s.dtype.kind == "u" else -1, 1)
        yield Sample(s.real(s.n, s.m), min=s.real(s.m), max=s.real(s.n, 1))
        yield Sample(s.real(s.n), max=s.number())
        yield Sample(s.real(s.n), min=1)
        yield Sample(s.real(s.n), 1, 0)
        yield Sample(s.real(), s.real(), s.real())
        yield Sample(s.real(s.n, 0), 0, 1)

    def bad(s):
        yield Bad(Sample(s.real(2)), ArgumentError, "min")


class ClampMin(Pointwise):
    """Input, but nowhere less than min.

    >>> tx.clamp_min(tx.tensor([-3.0, 0.5]), 0)
    tensor([0.0000, 0.5000])
    """

    signature = "clamp_min(input, min: operand) -> y"
    dtypes = REALS
    inplace = True

    def scalar(k, input, min):
        return k.maximum(input, min)

    def vjp_input(g, input, min):
        return tx.where(input >= min, g, 0)

    def vjp_min(g, input, min):
        return tx.where(input < min, g, 0)

    reference = elementwise(lambda a, low: a + low if is_nan(a) or is_nan(low) else max(a, low))
    samples = binary_samples()


class ClampMax(Pointwise):
    """Input, but nowhere more than max.

    >>> tx.clamp_max(tx.tensor([-3.0, 0.5]), 0)
    tensor([-3.,  0.])
    """

    signature = "clamp_max(input, max: operand) -> y"
    dtypes = REALS
    inplace = True

    def scalar(k, input, max):
        return k.minimum(input, max)

    def vjp_input(g, input, max):
        return tx.where(input <= max, g, 0)

    def vjp_max(g, input, max):
        return tx.where(input > max, g, 0)

    reference = elementwise(lambda a, high: a + high if is_nan(a) or is_nan(high) else min(a, high))
    samples = binary_samples()


class NanToNum(Composite):
    """Input with NaN, positive and negative infinity replaced: by 0 and the dtype's extremes.

    >>> tx.nan_to_num(tx.tensor([float("nan"), float("inf"), 1.0]), posinf=9.0)
    tensor([0., 9., 1.])
    """

    signature = (
        "nan_to_num(input, nan: float? = None, posinf: float? = None, neginf: float? = None) -> y"
    )
    dtypes = REALS
    inplace = True

    def compose(input, nan, posinf, neginf):
        if not input.dtype.is_floating_point:
            return tx.clone(input)
        limits = finfo(input.dtype)
        return tx.replace_nonfinite(
            input,
            0.0 if nan is None else nan,
            limits.max if posinf is None else posinf,
            limits.min if neginf is None else neginf,
        )

    def reference(input, nan, posinf, neginf):
        def of(a):
            if is_nan(a):
                return 0.0 if nan is None else nan
            if math.isinf(a):
                return posinf if a > 0 else neginf
            return a

        return elementwise(of)(input)

    def samples(s):
        given = {"posinf": 5.0, "neginf": -6.0}
        yield from unary_samples(options=(given,))(s)
        if s.dtype.is_floating_point:
            yield Sample(s.array([math.nan, math.inf, -math.inf, 1.0]), **given, grad=False)
            yield Sample(s.array([math.nan, math.inf, -math.inf, 1.0]), 2.0, 3.0, 4.0, grad=False)


class ReplaceNonfinite(Pointwise):
    """Input with these numbers in place of NaN and the infinities.

    >>> tx.replace_nonfinite(tx.tensor([float("nan"), 1.0]), 0.0, 8.0, -8.0)
    tensor([0., 1.])
    """

    signature = "replace_nonfinite(input, nan: float, posinf: float, neginf: float) -> y"
    dtypes = FLOATS
    method = False

    def scalar(k, input, nan, posinf, neginf):
        y = k.where(input == math.inf, k.constant(posinf, input), input)
        y = k.where(input == -math.inf, k.constant(neginf, input), y)
        return k.where(input != input, k.constant(nan, input), y)

    def vjp(g, input):
        return tx.where(tx.isfinite(input), g, 0)

    def reference(input, nan, posinf, neginf):
        return NanToNum.reference(input, nan, posinf, neginf)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0.0, 1.0, -1.0)
        yield Sample(s.array([math.nan, math.inf, -math.inf, 1.0]), 2.0, 3.0, 4.0, grad=False)
        yield Sample(s.real(0), 0.0, 1.0, -1.0)
