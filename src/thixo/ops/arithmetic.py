"""Addition to division, and the fused forms with a factor."""

import math

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, INTEGERS
from thixo.errors import ArgumentError, DTypeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise, is_nan
from thixo.ops.rules import conj, is_tensor
from thixo.ops.samples import Bad, Sample, binary_samples

NUMBERS = INTEGERS + FLOATS + COMPLEX


def _nonzero(s, *shape):
    x = s.real(*shape)
    x[np.abs(x.astype(np.complex128)) < 0.1] = 1
    return x


def _check_factor(operation, name, factor, *operands):
    """A factor may not be of a higher kind than what it multiplies."""
    if isinstance(factor, (bool, int)):
        return
    first = getattr(operands[0], "dtype", None)
    if first is not None and (
        first.kind == "c" or (first.kind == "f" and isinstance(factor, float))
    ):
        return  # as it mostly is, found fast
    kinds = {o.dtype.kind for o in operands if is_tensor(o)}
    numbers = {type(o) for o in operands if not is_tensor(o)}
    if isinstance(factor, complex):
        fits = "c" in kinds or complex in numbers
    else:
        fits = bool(kinds & {"f", "c"}) or bool(numbers & {float, complex})
    if not fits:
        raise DTypeError(
            f"{operation}: {name} is {describe(factor)}, but the operands are "
            f"{', '.join(map(describe, operands))}; {name} must not be of a higher kind than these"
        )


class Add(Pointwise):
    """Sum of input and alpha times other.

    >>> tx.add(tx.tensor([1.0, 2.0]), tx.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """

    signature = "add(input: operand, other: operand, *, alpha: scalar = 1) -> y"
    inplace = True
    commutative = True

    def check(input, other, alpha):
        _check_factor("add", "alpha", alpha, input, other)

    def scalar(k, input, other, alpha):
        return input + k.scale(other, alpha)

    def vjp_input(g):
        return g

    def vjp_other(g, alpha):
        return g if alpha == 1 else g * conj(alpha)

    def reference(input, other, alpha):
        def plus(a, b):
            both_bool = isinstance(a, bool) and isinstance(b, bool)
            return (a or (b and bool(alpha))) if both_bool else a + alpha * b

        return elementwise(plus)(input, other)

    def samples(s):
        yield from binary_samples()(s)
        yield Sample(s.real(s.n, s.m), s.real(s.m), alpha=2)
        yield Sample(s.real(s.n), 3)
        yield Sample(2, s.real(s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(4, 3)), ValueError, "add")


class Sub(Pointwise):
    """Input less alpha times other.

    >>> tx.sub(tx.tensor([5, 6]), tx.tensor([1, 2]))
    tensor([4, 4])
    """

    signature = "sub(input: operand, other: operand, *, alpha: scalar = 1) -> y"
    aliases = ("subtract",)
    dtypes = NUMBERS
    inplace = True

    def check(input, other, alpha):
        for operand in (input, other):
            if is_tensor(operand) and operand.dtype.kind == "b":
                raise DTypeError(
                    f"sub: input is {describe(input)}, other is {describe(other)}; booleans have "
                    f"no difference, use ^ or logical_xor, or ~ to invert"
                )
        _check_factor("sub", "alpha", alpha, input, other)

    def scalar(k, input, other, alpha):
        return input - k.scale(other, alpha)

    def vjp_input(g):
        return g

    def vjp_other(g, alpha):
        return -g if alpha == 1 else g * -conj(alpha)

    def reference(input, other, alpha):
        return elementwise(lambda a, b: a - alpha * b)(input, other)

    def samples(s):
        yield from binary_samples()(s)
        yield Sample(s.real(s.n, s.m), s.real(s.m), alpha=3)
        yield Sample(5, s.real(s.n))


class Rsub(Composite):
    """Other less alpha times input: subtraction with its operands exchanged.

    >>> tx.rsub(tx.tensor([1, 2]), 10)
    tensor([9, 8])
    """

    signature = "rsub(input, other: operand, *, alpha: scalar = 1) -> y"
    dtypes = NUMBERS

    def compose(input, other, alpha):
        return tx.sub(other, input, alpha=alpha)

    def reference(input, other, alpha):
        return elementwise(lambda a, b: b - alpha * a)(input, other)

    def samples(s):
        yield from binary_samples()(s)
        yield Sample(s.real(s.n), 2, alpha=3)


class Mul(Pointwise):
    """Product of two tensors, element by element.

    >>> tx.mul(tx.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """

    signature = "mul(input: operand, other: operand) -> y"
    aliases = ("multiply",)
    inplace = True
    commutative = True

    def scalar(k, input, other):
        return input * other

    def vjp_input(g, other):
        return g * conj(other)

    def vjp_other(g, input):
        return g * conj(input)

    reference = elementwise(lambda a, b: (a and b) if a is bool(a) and b is bool(b) else a * b)
    samples = binary_samples()


class TrueDivide(Pointwise):
    """Quotient; integers give floats.

    >>> tx.true_divide(tx.tensor([1, 2]), 4)
    tensor([0.2500, 0.5000])
    """

    signature = "true_divide(input: operand, other: operand) -> y"
    result = "float"
    inplace = True

    def scalar(k, input, other):
        return input / other

    def vjp_input(g, other):
        return g / conj(other)

    def vjp_other(g, input, other):
        return -g * conj((input / other) / other)

    reference = elementwise(lambda a, b: _quotient(a, b))

    def samples(s):
        yield from binary_samples(other_nonzero=True)(s)
        yield Sample(3, _nonzero(s, s.n))


def _quotient(a, b):
    """One number over another; over a zero infinity with the sign of both, or NaN."""
    return a / b if b else _by_zero(a, b)


def _by_zero(a, b):
    if a == 0 or is_nan(a) or isinstance(a, complex) or isinstance(b, complex):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


class Div(Composite):
    """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype.

    >>> tx.div(tx.tensor([7, -7]), 2, rounding_mode="trunc")
    tensor([ 3, -3])
    """

    signature = "div(input: operand, other: operand, *, rounding_mode: str? = None) -> y"
    aliases = ("divide",)
    inplace = True

    def compose(input, other, rounding_mode):
        if rounding_mode is None:
            return tx.true_divide(input, other)
        if rounding_mode == "trunc":
            return tx.trunc_divide(input, other)
        if rounding_mode == "floor":
            return tx.floor_divide(input, other)
        raise ArgumentError(
            f"div: rounding_mode is {rounding_mode!r}; it must be None, 'trunc' or 'floor'"
        )

    def reference(input, other, rounding_mode):
        if rounding_mode is None:
            return TrueDivide.reference(input, other)
        return (TruncDivide if rounding_mode == "trunc" else FloorDivide).reference(input, other)

    def samples(s):
        yield from binary_samples(other_nonzero=True)(s)
        if s.dtype.kind in "iuf":
            yield Sample(s.real(s.n, s.m), _nonzero(s, s.m), rounding_mode="trunc", grad=False)
            yield Sample(s.real(s.n, s.m), _nonzero(s, s.m), rounding_mode="floor", grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2), 2, rounding_mode="up"), ArgumentError, "rounding_mode")


class FloorDivide(Pointwise):
    """Quotient rounded down.

    >>> tx.floor_divide(tx.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """

    total = False  # integers cannot be divided by 0
    signature = "floor_divide(input: operand, other: operand) -> y"
    dtypes = INTEGERS + FLOATS
    inplace = True

    def scalar(k, input, other):
        return k.floordiv(input, other)

    def vjp_input(g):
        return tx.zeros_like(g)

    def vjp_other(g):
        return tx.zeros_like(g)

    reference = elementwise(lambda a, b: a // b if b else _by_zero(a, b))

    samples = binary_samples(other_nonzero=True)


class TruncDivide(Pointwise):
    """Quotient rounded towards zero: div with rounding_mode "trunc".

    >>> tx.trunc_divide(tx.tensor([7, -7]), 2)
    tensor([ 3, -3])
    """

    total = False  # integers cannot be divided by 0
    signature = "trunc_divide(input: operand, other: operand) -> y"
    dtypes = INTEGERS + FLOATS
    method = False

    def scalar(k, input, other):
        return k.truncdiv(input, other)

    def vjp_input(g):
        return tx.zeros_like(g)

    def vjp_other(g):
        return tx.zeros_like(g)

    def reference(input, other):
        def quotient(a, b):
            if not isinstance(a, float) and not isinstance(b, float):
                whole = abs(a) // abs(b)
                return whole if (a < 0) == (b < 0) else -whole
            exact = _quotient(a, b)
            if not math.isfinite(exact):
                return exact
            return math.copysign(exact - math.fmod(exact, 1.0), exact)

        return elementwise(quotient)(input, other)

    samples = binary_samples(other_nonzero=True)


class Remainder(Pointwise):
    """What division rounded down leaves: it has the sign of other.

    >>> tx.remainder(tx.tensor([-3.0, 3.0]), 2)
    tensor([1., 1.])
    """

    total = False  # integers cannot be divided by 0
    signature = "remainder(input: operand, other: operand) -> y"
    dtypes = INTEGERS + FLOATS
    inplace = True

    def scalar(k, input, other):
        return k.remainder(input, other)

    def vjp_input(g):
        return g

    def vjp_other(g, input, other):
        return -g * tx.floor_divide(input, other)

    reference = elementwise(lambda a, b: a % b)

    def samples(s):
        yield from binary_samples(other_nonzero=True)(s)
        yield Sample(7, _nonzero(s, s.n))


class Fmod(Pointwise):
    """What division rounded towards zero leaves: it has the sign of input.

    >>> tx.fmod(tx.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """

    total = False  # integers cannot be divided by 0
    signature = "fmod(input, other: operand) -> y"
    dtypes = INTEGERS + FLOATS
    inplace = True

    def scalar(k, input, other):
        return k.fmod(input, other)

    def vjp_input(g):
        return g

    def vjp_other(g, input, other):
        return -g * tx.trunc_divide(input, other)

    def reference(input, other):
        def rest(a, b):
            if isinstance(a, float) or isinstance(b, float):
                return math.fmod(a, b)
            return abs(a) % abs(b) * (-1 if a < 0 else 1)

        return elementwise(rest)(input, other)

    samples = binary_samples(other_nonzero=True)


class Addcmul(Pointwise):
    """Input plus value times the product of tensor1 and tensor2.

    >>> tx.addcmul(tx.tensor([1.0]), tx.tensor([2.0]), tx.tensor([3.0]), value=10)
    tensor([61.])
    """

    signature = "addcmul(input, tensor1: operand, tensor2: operand, *, value: scalar = 1) -> y"
    dtypes = NUMBERS
    inplace = True

    def scalar(k, input, tensor1, tensor2, value):
        return input + k.scale(tensor1 * tensor2, value)

    def vjp_input(g):
        return g

    def vjp_tensor1(g, tensor2, value):
        return g * conj(tensor2 * value)

    def vjp_tensor2(g, tensor1, value):
        return g * conj(tensor1 * value)

    def reference(input, tensor1, tensor2, value):
        return elementwise(lambda a, b, c: a + value * b * c)(input, tensor1, tensor2)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.m), s.real(s.n, 1), value=2)
        yield Sample(s.real(), s.real(s.m), s.real(), value=3)
        yield Sample(s.real(0, s.m), s.real(s.m), s.real(0, s.m))


class Addcdiv(Pointwise):
    """Input plus value times the quotient of tensor1 and tensor2.

    >>> tx.addcdiv(tx.tensor([1.0]), tx.tensor([6.0]), tx.tensor([3.0]), value=10)
    tensor([21.])
    """

    signature = "addcdiv(input, tensor1: operand, tensor2: operand, *, value: scalar = 1) -> y"
    dtypes = FLOATS + COMPLEX
    inplace = True

    def check(input, tensor1, tensor2, value):
        if all(is_tensor(t) and t.dtype.kind in "biu" for t in (tensor1, tensor2)):
            raise DTypeError(
                f"addcdiv: tensor1 is {describe(tensor1)}, tensor2 is {describe(tensor2)}; integers "
                f"are not divided here, use input + value * tx.true_divide(tensor1, tensor2)"
            )

    def scalar(k, input, tensor1, tensor2, value):
        return input + k.constant(value, input) * tensor1 / tensor2

    def vjp_input(g):
        return g

    def vjp_tensor1(g, tensor2, value):
        return g * conj(value / tensor2)

    def vjp_tensor2(g, tensor1, tensor2, value):
        return -g * conj(value * tensor1 / (tensor2 * tensor2))

    def reference(input, tensor1, tensor2, value):
        return elementwise(lambda a, b, c: a + _quotient(value * b, c))(input, tensor1, tensor2)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), _nonzero(s, s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.m), _nonzero(s, s.n, 1), value=2)
        yield Sample(s.real(), s.real(s.m), _nonzero(s), value=0.5)
        yield Sample(s.real(0, s.m), s.real(s.m), _nonzero(s, 0, s.m))

    def bad(s):
        yield Bad(Sample(s.real(2), s.ints(2), s.ints(2)), DTypeError, "addcdiv")


class Lerp(Pointwise):
    """The point at weight on the way from input to end.

    >>> tx.lerp(tx.tensor([0.0, 10.0]), tx.tensor([4.0, 20.0]), 0.25)
    tensor([ 1.0000, 12.5000])
    """

    signature = "lerp(input, end, weight: operand) -> y"
    dtypes = FLOATS + COMPLEX
    inplace = True

    def check(input, end, weight):
        if input.dtype not in Lerp.dtypes:
            raise DTypeError(
                f"lerp: input is {describe(input)}; it must be floating-point or complex"
            )
        if input.dtype is not end.dtype:
            raise DTypeError(
                f"lerp: input is {describe(input)}, end is {describe(end)}; they must be of one dtype"
            )
        if is_tensor(weight) and weight.shape and weight.dtype is not input.dtype:
            raise DTypeError(
                f"lerp: input is {describe(input)}, weight is {describe(weight)}; they must be of "
                f"one dtype"
            )

    def scalar(k, input, end, weight):
        # from the nearer end, so that both ends are exact
        far = k.abs(weight) >= 0.5
        return k.where(far, end - (end - input) * (1 - weight), input + weight * (end - input))

    def vjp_input(g, weight):
        return g * conj(1 - weight)

    def vjp_end(g, weight):
        return g * conj(weight)

    def vjp_weight(g, input, end):
        return g * conj(end - input)

    reference = elementwise(lambda a, b, w: (1 - w) * a + w * b)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), 0.25)
        yield Sample(s.real(s.n, s.m), s.real(s.m), s.real(s.n, 1))
        yield Sample(s.real(), s.real(s.m), s.real())
        yield Sample(s.real(0), s.real(0), 2.0)

    def bad(s):
        yield Bad(Sample(s.real(2), s.ints(2), 0.5), DTypeError, "lerp")
