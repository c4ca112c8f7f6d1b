"""Logic on truth values, and on the bits of integers; divisors of integers."""

import math

from thixo.dtype import BOOL, INTEGERS
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise
from thixo.ops.samples import Sample, binary_samples, unary_samples

BITS = BOOL + INTEGERS


class LogicalNot(Pointwise):
    """Whether the element is zero.

    >>> tx.logical_not(tx.tensor([0.0, 2.0]))
    tensor([ True, False])
    """

    signature = "logical_not(input) -> y"
    result = "bool"
    inplace = True
    vjp = None

    def scalar(k, input):
        return ~k.truth(input)

    reference = elementwise(lambda a: not a)
    samples = unary_samples()


class LogicalAnd(Pointwise):
    """Whether both elements are non-zero.

    >>> tx.logical_and(tx.tensor([True, True]), tx.tensor([True, False]))
    tensor([ True, False])
    """

    signature = "logical_and(input, other) -> y"
    result = "bool"
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return k.truth(input) & k.truth(other)

    reference = elementwise(lambda a, b: bool(a and b))
    samples = binary_samples(numbers="none")


class LogicalOr(Pointwise):
    """Whether one of the elements is non-zero.

    >>> tx.logical_or(tx.tensor([True, False]), tx.tensor([False, False]))
    tensor([ True, False])
    """

    signature = "logical_or(input, other) -> y"
    result = "bool"
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return k.truth(input) | k.truth(other)

    reference = elementwise(lambda a, b: bool(a or b))
    samples = binary_samples(numbers="none")


class LogicalXor(Pointwise):
    """Whether exactly one of the elements is non-zero.

    >>> tx.logical_xor(tx.tensor([True, False]), tx.tensor([True, True]))
    tensor([False,  True])
    """

    signature = "logical_xor(input, other) -> y"
    result = "bool"
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return k.truth(input) ^ k.truth(other)

    reference = elementwise(lambda a, b: bool(a) is not bool(b))
    samples = binary_samples(numbers="none")


# ---- bits


class BitwiseNot(Pointwise):
    """Every bit changed; logical not for booleans.

    >>> tx.bitwise_not(tx.tensor([0, 5]))
    tensor([-1, -6])
    """

    signature = "bitwise_not(input) -> y"
    aliases = ("bitwise_invert",)
    dtypes = BITS
    inplace = True
    vjp = None

    def scalar(k, input):
        return ~input

    reference = elementwise(lambda a: (not a) if isinstance(a, bool) else -1 - a)
    samples = unary_samples()


def _bit_by_bit(combine):
    """A reference that goes through the 64 bits of two numbers."""

    def of(a, b):
        bits = sum(combine(a >> i & 1, b >> i & 1) << i for i in range(64))
        return bool(bits) if isinstance(a, bool) and isinstance(b, bool) else bits

    return elementwise(of)


class BitwiseAnd(Pointwise):
    """The bits that both have.

    >>> tx.bitwise_and(tx.tensor([6, 12]), 10)
    tensor([2, 8])
    """

    signature = "bitwise_and(input: operand, other: operand) -> y"
    dtypes = BITS
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return input & other

    reference = _bit_by_bit(lambda a, b: a * b)
    samples = binary_samples(numbers="both")


class BitwiseOr(Pointwise):
    """The bits that one of them has.

    >>> tx.bitwise_or(tx.tensor([6, 12]), 10)
    tensor([14, 14])
    """

    signature = "bitwise_or(input: operand, other: operand) -> y"
    dtypes = BITS
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return input | other

    reference = _bit_by_bit(lambda a, b: a + b - a * b)
    samples = binary_samples(numbers="both")


class BitwiseXor(Pointwise):
    """The bits that exactly one of them has.

    >>> tx.bitwise_xor(tx.tensor([6, 12]), 10)
    tensor([12,  6])
    """

    signature = "bitwise_xor(input: operand, other: operand) -> y"
    dtypes = BITS
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return input ^ other

    reference = _bit_by_bit(lambda a, b: (a + b) % 2)
    samples = binary_samples(numbers="both")


class BitwiseLeftShift(Pointwise):
    """Input with its bits moved up; 0 where they leave the number.

    >>> tx.bitwise_left_shift(tx.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """

    signature = "bitwise_left_shift(input: operand, other: operand) -> y"
    dtypes = INTEGERS
    inplace = True
    vjp = None

    def scalar(k, input, other):
        return k.shift_left(input, other)

    reference = elementwise(lambda a, b: a * 2**b if 0 <= b < 64 else 0)

    def samples(s):
        yield from binary_samples(other_low=0, other_high=4)(s)
        if s.dtype.itemsize == 8:
            yield Sample(s.array([1, 1, 3]), s.array([63, 64, 62]))


class BitwiseRightShift(Pointwise):
    """Input with its bits moved down; the sign stays.

    >>> tx.bitwise_right_shift(tx.tensor([12, -3]), 1)
    tensor([ 6, -2])
    """

    signature = "bitwise_right_shift(input: operand, other: operand) -> y"
    dtypes = INTEGERS
    inplace = True
    vjp = None

    def scalar(k, input, other):
        return k.shift_right(input, other)

    reference = elementwise(lambda a, b: a // 2**b if b >= 0 else -1 if a < 0 else 0)

    def samples(s):
        yield from binary_samples(-100, 100, other_low=0, other_high=4)(s)
        yield Sample(s.array([1, 100, 3]), s.array([63, 64, 0]))


# ---- divisors


class Gcd(Pointwise):
    """Greatest common divisor.

    >>> tx.gcd(tx.tensor([12, 18]), tx.tensor([18, 27]))
    tensor([6, 9])
    """

    signature = "gcd(input, other) -> y"
    dtypes = INTEGERS
    inplace = True
    commutative = True
    vjp = None

    def scalar(k, input, other):
        return k.gcd(input, other)

    reference = elementwise(math.gcd)
    samples = binary_samples(-30, 30, numbers="none")


class Lcm(Composite):
    """Least common multiple.

    >>> tx.lcm(tx.tensor([4, 6]), tx.tensor([6, 9]))
    tensor([12, 18])
    """

    signature = "lcm(input, other) -> y"
    dtypes = INTEGERS
    inplace = True

    def compose(input, other):
        divisor = tx.gcd(input, other)
        multiple = tx.trunc_divide(input, tx.where(divisor == 0, 1, divisor)) * other
        return tx.abs(multiple)

    reference = elementwise(math.lcm)
    samples = binary_samples(-10, 10, numbers="none")
