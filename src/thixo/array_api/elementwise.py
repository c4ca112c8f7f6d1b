"""Elementwise functions that differ from the operator table's: in promotion, in a name, in a corner.

Functions of one array that agree with the table are the table's own; see `__init__`.
"""

from thixo.array_api.promotion import Number, convert, together
from thixo.dtype import iinfo
from thixo.ops import public as tx
from thixo.tensor import Tensor

__all__ = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "clip", "copysign", "divide", "equal", "expm1", "floor_divide", "greater",
    "greater_equal", "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder",
    "round", "sign", "subtract", "tanh",
]  # fmt: skip

Operand = Tensor | Number


# ---- one array


def round(x: Tensor, /) -> Tensor:
    """Each element rounded to the nearest whole number, halves to the even one.

    Both parts of a complex number are rounded.

    >>> xp.round(xp.asarray([0.5, 1.5, -2.7]))
    tensor([ 0.,  2., -3.])
    """
    if x.dtype.is_complex:
        return tx.complex(tx.round(tx.real(x)), tx.round(tx.imag(x)))
    return tx.round(x)


def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1 by the sign of each element, z / |z| for a complex one; NaN stays NaN.

    >>> xp.sign(xp.asarray([-2.0, 0.0, xp.nan]))
    tensor([-1.,  0., nan])
    """
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return tx.where(tx.isnan(x), x, tx.sgn(x))
    return tx.sgn(x)


def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1 without loss of digits where x is small; a complex zero gives +0, whatever its sign.

    >>> xp.expm1(xp.asarray([0.0, 1e-10]))
    tensor([0.0000e+00, 1.0000e-10])
    """
    y = tx.expm1(x)
    if not x.dtype.is_complex:
        return y
    imaginary = tx.imag(x)
    return tx.where(x == 0, tx.complex(tx.zeros_like(imaginary), imaginary), y)


def tanh(x: Tensor, /) -> Tensor:
    """Hyperbolic tangent; at a real infinity a zero imaginary part has the sign that it had in x.

    >>> xp.tanh(xp.asarray([0.0, xp.inf]))
    tensor([0., 1.])
    """
    y = tx.tanh(x)
    if not x.dtype.is_complex:
        return y
    far = tx.isinf(tx.real(x)) & tx.isfinite(tx.imag(x))
    zero = tx.copysign(tx.zeros_like(tx.imag(x)), tx.imag(x))
    return tx.where(far, tx.complex(tx.real(y), zero), y)


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Each element moved into the range from `min` to `max`; the dtype stays that of x.

    >>> xp.clip(xp.asarray([-3, 1, 300]), 0, 255)
    tensor([  0,   1, 255])
    """
    low, high = _bound(x, min), _bound(x, max)
    if low is None and high is None:
        return tx.clone(x)
    return convert(tx.clamp(x, low, high), x.dtype)


def _bound(x: Tensor, bound: Operand | None) -> Tensor | None:
    if bound is None:
        return None
    if x.dtype.is_integer and isinstance(bound, int):
        limits = iinfo(x.dtype)
        bound = sorted((limits.min, bound, limits.max))[1]
    return together(x, bound, op="clip")[1]


# ---- arithmetic of two


def add(x1: Operand, x2: Operand, /) -> Tensor:
    """The sum of each element of x1 and its partner in x2.

    >>> xp.add(xp.asarray([1, 2]), 3)
    tensor([4, 5])
    """
    return tx.add(*together(x1, x2, op="add"))


def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """The difference of each element of x1 and its partner in x2.

    >>> xp.subtract(xp.asarray([1, 2]), 3)
    tensor([-2, -1])
    """
    return tx.sub(*together(x1, x2, op="subtract"))


def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """The product of each element of x1 and its partner in x2.

    >>> xp.multiply(xp.asarray([1, 2]), 3)
    tensor([3, 6])
    """
    return tx.mul(*together(x1, x2, op="multiply"))


def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The quotient of each element of x1 and its partner in x2; integers become floats.

    >>> xp.divide(xp.asarray([1.0, 2.0]), 4)
    tensor([0.2500, 0.5000])
    """
    return tx.true_divide(*together(x1, x2, op="divide"))


def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """The quotient of each element of x1 and its partner in x2, rounded down.

    An infinity over a number is an infinity (it is NaN in `x1 // x2`, as in Python).

    >>> xp.floor_divide(xp.asarray([7.0, -7.0, xp.inf]), 2)
    tensor([ 3., -4., inf])
    """
    x1, x2 = together(x1, x2, op="floor_divide")
    quotient = tx.floor_divide(x1, x2)
    if not x1.dtype.is_floating_point:
        return quotient
    return tx.where(tx.isinf(x1) | tx.isinf(x2), tx.floor(x1 / x2), quotient)


def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """What floor division leaves over; it has the sign of the divisor.

    >>> xp.remainder(xp.asarray([7, -7]), 3)
    tensor([1, 2])
    """
    return tx.remainder(*together(x1, x2, op="remainder"))


def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """Each element of x1 to the power of its partner in x2.

    >>> xp.pow(xp.asarray([2.0, 3.0]), 2)
    tensor([4., 9.])
    """
    return tx.pow(*together(x1, x2, op="pow"))


def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """The angle of the point (x2, x1), between -pi and pi.

    >>> xp.atan2(xp.asarray([0.0, 1.0]), 0.0)
    tensor([0.0000, 1.5708])
    """
    return tx.atan2(*together(x1, x2, op="atan2"))


def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """The length of the longest side of right-angled triangles with legs x1 and x2.

    >>> xp.hypot(xp.asarray([3.0]), xp.asarray([4.0]))
    tensor([5.])
    """
    return tx.hypot(*together(x1, x2, op="hypot"))


def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """log(exp(x1) + exp(x2)) without overflow.

    >>> xp.logaddexp(xp.asarray([1000.0]), 1000.0)
    tensor([1000.6932])
    """
    return tx.logaddexp(*together(x1, x2, op="logaddexp"))


def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """The magnitude of x1 with the sign of x2, that of a zero included.

    >>> xp.copysign(xp.asarray([1.0, 2.0]), xp.asarray([-0.0, 3.0]))
    tensor([-1.,  2.])
    """
    return tx.copysign(*together(x1, x2, op="copysign"))


def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """The next number that x1's dtype has in the direction of x2.

    >>> xp.nextafter(xp.asarray([1.0]), 2.0) - 1
    tensor([1.1921e-07])
    """
    return tx.nextafter(*together(x1, x2, op="nextafter"))


def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """The larger of each two elements; NaN if one of them is.

    >>> xp.maximum(xp.asarray([1, 5]), 3)
    tensor([3, 5])
    """
    return tx.maximum(*together(x1, x2, op="maximum"))


def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """The smaller of each two elements; NaN if one of them is.

    >>> xp.minimum(xp.asarray([1, 5]), 3)
    tensor([1, 3])
    """
    return tx.minimum(*together(x1, x2, op="minimum"))


# ---- comparisons


def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each element of x1 equals its partner in x2 (not one answer, as `thixo.equal` gives).

    >>> xp.equal(xp.asarray([1, 2]), 2)
    tensor([False,  True])
    """
    return tx.eq(*together(x1, x2, op="equal"))


def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each element of x1 differs from its partner in x2.

    >>> xp.not_equal(xp.asarray([1, 2]), 2)
    tensor([ True, False])
    """
    return tx.ne(*together(x1, x2, op="not_equal"))


def less(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each element of x1 is less than its partner in x2.

    >>> xp.less(xp.asarray([1, 2]), 2)
    tensor([ True, False])
    """
    return tx.lt(*together(x1, x2, op="less"))


def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each element of x1 is at most its partner in x2.

    >>> xp.less_equal(xp.asarray([1, 3]), 2)
    tensor([ True, False])
    """
    return tx.le(*together(x1, x2, op="less_equal"))


def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each element of x1 is greater than its partner in x2.

    >>> xp.greater(xp.asarray([1, 3]), 2)
    tensor([False,  True])
    """
    return tx.gt(*together(x1, x2, op="greater"))


def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether each element of x1 is at least its partner in x2.

    >>> xp.greater_equal(xp.asarray([1, 2]), 2)
    tensor([False,  True])
    """
    return tx.ge(*together(x1, x2, op="greater_equal"))


# ---- logic and bits


def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether both of each two elements are true.

    >>> xp.logical_and(xp.asarray([True, False]), True)
    tensor([ True, False])
    """
    return tx.logical_and(*together(x1, x2, op="logical_and"))


def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether at least one of each two elements is true.

    >>> xp.logical_or(xp.asarray([True, False]), False)
    tensor([ True, False])
    """
    return tx.logical_or(*together(x1, x2, op="logical_or"))


def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether exactly one of each two elements is true.

    >>> xp.logical_xor(xp.asarray([True, False]), True)
    tensor([False,  True])
    """
    return tx.logical_xor(*together(x1, x2, op="logical_xor"))


def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits that both elements have.

    >>> xp.bitwise_and(xp.asarray([6, 3]), 5)
    tensor([4, 1])
    """
    return tx.bitwise_and(*together(x1, x2, op="bitwise_and"))


def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits that at least one of the elements has.

    >>> xp.bitwise_or(xp.asarray([6, 3]), 5)
    tensor([7, 7])
    """
    return tx.bitwise_or(*together(x1, x2, op="bitwise_or"))


def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits that exactly one of the elements has.

    >>> xp.bitwise_xor(xp.asarray([6, 3]), 5)
    tensor([3, 6])
    """
    return tx.bitwise_xor(*together(x1, x2, op="bitwise_xor"))


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits of x1 moved up by x2 places.

    >>> xp.bitwise_left_shift(xp.asarray([1, 3]), 2)
    tensor([ 4, 12])
    """
    return tx.bitwise_left_shift(*together(x1, x2, op="bitwise_left_shift"))


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """The bits of x1 moved down by x2 places; the sign is kept.

    >>> xp.bitwise_right_shift(xp.asarray([8, -8]), 2)
    tensor([ 2, -2])
    """
    return tx.bitwise_right_shift(*together(x1, x2, op="bitwise_right_shift"))
