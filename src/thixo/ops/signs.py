"""Signs and magnitudes."""

import math

from thixo.dtype import BOOL, COMPLEX, FLOATS, INTEGERS
from thixo.ops import public as tx
from thixo.ops.base import Composite, Pointwise
from thixo.ops.references import elementwise, sign
from thixo.ops.samples import binary_samples, unary_samples

NUMBERS = INTEGERS + FLOATS + COMPLEX
REALS = BOOL + INTEGERS + FLOATS


class Neg(Pointwise):
    """The number with its sign changed.

    >>> tx.neg(tx.tensor([1, -2]))
    tensor([-1,  2])
    """

    signature = "neg(input) -> y"
    aliases = ("negative",)
    dtypes = NUMBERS
    inplace = True

    def scalar(k, input):
        return -input

    def vjp(g):
        return -g

    reference = elementwise(lambda a: -a)
    samples = unary_samples()


class Positive(Composite):
    """The input itself; booleans are refused.

    >>> tx.positive(tx.tensor([1, -2]))
    tensor([ 1, -2])
    """

    signature = "positive(input) -> y"
    dtypes = NUMBERS

    def compose(input):
        return input

    def reference(input):
        return input

    samples = unary_samples()


class Abs(Pointwise):
    """Absolute value; the modulus of a complex number, which is real.

    >>> tx.abs(tx.tensor([-1.5, 2.0]))
    tensor([1.5000, 2.0000])
    """

    signature = "abs(input) -> y"
    aliases = ("absolute",)
    result = "real"
    dtypes = NUMBERS
    inplace = True

    def scalar(k, input):
        return k.abs(input)

    def vjp(g, input):
        return g * tx.sgn(input)

    reference = elementwise(abs)
    samples = unary_samples()


class Sign(Pointwise):
    """-1, 0 or 1 with the sign of the number; 0 for NaN.

    >>> tx.sign(tx.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """

    signature = "sign(input) -> y"
    dtypes = REALS
    inplace = True

    def scalar(k, input):
        return k.sign(input)

    def vjp(g):
        return tx.zeros_like(g)

    reference = elementwise(sign)
    samples = unary_samples()


class Sgn(Pointwise):
    """The sign of a real number; of a complex one, the point on the unit circle in its direction.

    >>> tx.sgn(tx.tensor([3 + 4j]))
    tensor([0.6000+0.8000j])
    """

    signature = "sgn(input) -> y"
    inplace = True

    def scalar(k, input):
        return k.sign(input)

    def vjp(g, input, y):
        if not input.dtype.is_complex:
            return tx.zeros_like(g)
        along = (g * y.conj()).real * y
        size = tx.abs(input)
        return tx.where(size == 0, 0, (g - along) / tx.where(size == 0, 1, size))

    reference = elementwise(sign)
    samples = unary_samples()


class Signbit(Pointwise):
    """Whether the sign bit is set, as it is for -0.0.

    >>> tx.signbit(tx.tensor([1.0, -0.0]))
    tensor([False,  True])
    """

    signature = "signbit(input) -> y"
    result = "bool"
    dtypes = REALS
    vjp = None

    def scalar(k, input):
        return k.signbit(input)

    reference = elementwise(lambda a: math.copysign(1.0, a) < 0)
    samples = unary_samples()


class Copysign(Pointwise):
    """The magnitude of input with the sign of other.

    >>> tx.copysign(tx.tensor([1.0, 2.0]), tx.tensor([-0.0, 5.0]))
    tensor([-1.,  2.])
    """

    signature = "copysign(input, other: operand) -> y"
    result = "float"
    dtypes = REALS
    inplace = True

    def scalar(k, input, other):
        return k.copysign(input, other)

    def vjp_input(g, input, y):
        return g * (tx.sign(input) * tx.sign(y))

    def vjp_other(g):
        return tx.zeros_like(g)

    reference = elementwise(math.copysign)
    samples = binary_samples()
