"""Whether tensors are equal, or nearly so."""

import cmath
import math

from thixo.errors import DTypeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.references import elementwise, is_nan
from thixo.ops.samples import Bad, Sample


class Isclose(Composite):
    """Whether |input - other| <= atol + rtol * |other|; equal infinities are close.

    >>> tx.isclose(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 2.1]))
    tensor([ True, False])
    """

    signature = (
        "isclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False)"
        " -> y"
    )
    vjp = None

    def compose(input, other, rtol, atol, equal_nan):
        _check_tolerances("isclose", input, other, rtol, atol)
        close = tx.eq(input, other)
        inexact = input.dtype.is_floating_point or input.dtype.is_complex
        if equal_nan and inexact:
            close = close | (tx.isnan(input) & tx.isnan(other))
        if rtol == 0 and atol == 0:
            return close
        if not inexact:
            input, other = tx.mul(input, 1.0), tx.mul(other, 1.0)
        difference = tx.abs(input - other)
        return close | (tx.isfinite(difference) & (difference <= atol + tx.abs(other) * rtol))

    def reference(input, other, rtol, atol, equal_nan):
        def near(a, b):
            if is_nan(a) or is_nan(b):
                return equal_nan and is_nan(a) and is_nan(b)
            if cmath.isinf(a) or cmath.isinf(b):
                return a == b
            return abs(a - b) <= atol + rtol * abs(b)

        return elementwise(near)(input, other)

    def samples(s):
        x = s.real(s.n, s.m)
        yield Sample(x, x)
        yield Sample(s.real(s.n, s.m), s.real(s.m), 0.5, 0.5)
        yield Sample(s.real(), s.real(), rtol=0.0, atol=0.0)
        yield Sample(s.real(0), s.real(1))
        if s.dtype.is_floating_point:
            x = s.array([math.nan, math.inf, -math.inf, 1.0])
            yield Sample(x, x, equal_nan=True)
            yield Sample(x, x)

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(2), rtol=-1.0), ValueRangeError, "rtol")


def _check_tolerances(operation, input, other, rtol, atol):
    if input.dtype is not other.dtype:
        raise DTypeError(
            f"{operation}: input is {describe(input)}, other is {describe(other)}; they must be of "
            f"one dtype"
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise ValueRangeError(f"{operation}: {name} is {value}; it must not be negative")


class Allclose(Composite):
    """Whether all elements are close, as a Python bool.

    >>> tx.allclose(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 2.0]))
    True
    """

    signature = (
        "allclose(input, other, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False)"
        " -> y"
    )
    vjp = None

    def compose(input, other, rtol, atol, equal_nan):
        _check_tolerances("allclose", input, other, rtol, atol)
        return bool(tx.isclose(input, other, rtol, atol, equal_nan).all())

    def reference(input, other, rtol, atol, equal_nan):
        return bool(Isclose.reference(input, other, rtol, atol, equal_nan).all())

    def samples(s):
        x = s.real(s.n, s.m)
        yield Sample(x, x)
        yield Sample(s.real(s.n, s.m), s.real(s.m), 0.5, 0.5)
        yield Sample(s.real(0), s.real(1))


class Equal(Composite):
    """Whether two tensors have the same sizes and elements, as a Python bool.

    >>> tx.equal(tx.tensor([1, 2]), tx.tensor([1, 2]))
    True
    """

    signature = "equal(input, other) -> y"
    vjp = None

    def compose(input, other):
        return tuple(input.shape) == tuple(other.shape) and bool(tx.eq(input, other).all())

    def reference(input, other):
        return input.shape == other.shape and input.tolist() == other.tolist()

    def samples(s):
        x = s.real(s.n, s.m)
        yield Sample(x, x)
        yield Sample(x, s.real(s.n, s.m))
        yield Sample(x, s.real(s.n))
        yield Sample(s.real(0), s.real(0))
