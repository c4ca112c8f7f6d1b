"""Complex numbers: their parts, and how they are made."""

import cmath
import math

import numpy as np

from thixo.dtype import COMPLEX, float32, float64, get_default_dtype
from thixo.errors import DTypeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Pointwise, Spec
from thixo.ops.references import elementwise
from thixo.ops.samples import Bad, Sample, binary_samples, unary_samples
from thixo.shape import broadcast_shapes


class Real(Composite):
    """The real part, which shares memory with a complex input; a real input is returned itself.

    >>> tx.real(tx.tensor([1 + 2j]))
    tensor([1.])
    """

    signature = "real(input) -> y"
    attribute = True

    def compose(input):
        return tx.select(tx.view_as_real(input), -1, 0) if input.dtype.is_complex else input

    reference = elementwise(lambda a: a.real)
    samples = unary_samples()


class Imag(Composite):
    """The imaginary part, which shares memory with the input.

    >>> tx.imag(tx.tensor([1 + 2j]))
    tensor([2.])
    """

    signature = "imag(input) -> y"
    dtypes = COMPLEX
    attribute = True

    def compose(input):
        return tx.select(tx.view_as_real(input), -1, 1)

    reference = elementwise(lambda a: a.imag)
    samples = unary_samples()


class ConjPhysical(Pointwise):
    """The complex conjugate, in memory of its own.

    >>> tx.conj_physical(tx.tensor([1 + 2j]))
    tensor([1.-2.j])
    """

    signature = "conj_physical(input) -> y"
    inplace = True

    def scalar(k, input):
        return k.conj(input) if k.is_complex(input) else input

    def vjp(g):
        return g.conj()

    reference = elementwise(lambda a: complex(a.real, -a.imag) if isinstance(a, complex) else a)
    samples = unary_samples()


class Conj(Composite):
    """The complex conjugate; a real input is returned itself.

    >>> tx.conj(tx.tensor([1 + 2j]))
    tensor([1.-2.j])
    """

    signature = "conj(input) -> y"

    def compose(input):
        return tx.conj_physical(input) if input.dtype.is_complex else input

    reference = ConjPhysical.reference
    samples = unary_samples()


class ResolveConj(Composite):
    """The input itself: conjugates are computed when they are asked for.

    >>> tx.resolve_conj(tx.tensor([1 + 2j]))
    tensor([1.+2.j])
    """

    signature = "resolve_conj(input) -> y"

    def compose(input):
        return input

    def reference(input):
        return input

    samples = unary_samples()


class ResolveNeg(Composite):
    """The input itself: negatives are computed when they are asked for.

    >>> tx.resolve_neg(tx.tensor([1.0]))
    tensor([1.])
    """

    signature = "resolve_neg(input) -> y"

    def compose(input):
        return input

    def reference(input):
        return input

    samples = unary_samples()


class Angle(Op):
    """The angle of a complex number in radians; 0 or pi for real ones.

    >>> tx.angle(tx.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    """

    total = True
    signature = "angle(input) -> y"

    def infer(input):
        dtype = input.dtype.to_real()
        return Spec(tuple(input.shape), dtype if dtype.is_floating_point else get_default_dtype())

    def kernel(input):
        if np.iscomplexobj(input):
            return np.arctan2(input.imag, input.real)
        angles = np.where(input < 0, math.pi, 0.0)
        return np.where(input != input, input, angles)

    def vjp(g, input):
        if not input.dtype.is_complex:
            return tx.zeros_like(g)
        x, y = input.real, input.imag
        square = x * x + y * y
        slope = g / tx.where(square == 0, 1, square)
        return tx.where(square == 0, 0, tx.complex(-y * slope, x * slope))

    def reference(input):
        def phase(z):
            return z if z != z and not isinstance(z, complex) else cmath.phase(z)

        return elementwise(phase)(input + 0.0 if input.dtype.kind == "f" else input)

    def samples(s):
        yield from unary_samples(avoid=(0,))(s)
        if s.dtype.is_complex:
            yield Sample(s.array([0j, 1j, -1 + 0j]), grad=False)


def _check_parts(operation, first, second, *names):
    for t in (first, second):
        if t.dtype is not float32 and t.dtype is not float64:
            raise DTypeError(
                f"{operation}: {names[0]} is {describe(first)}, {names[1]} is {describe(second)}; "
                f"both must be f32 or f64"
            )
    if first.dtype is not second.dtype:
        raise DTypeError(
            f"{operation}: {names[0]} is {describe(first)}, {names[1]} is {describe(second)}; both "
            f"must be of one dtype"
        )


class Complex(Op):
    """Complex numbers from their real and imaginary parts.

    >>> tx.complex(tx.tensor([1.0]), tx.tensor([2.0]))
    tensor([1.+2.j])
    """

    total = True
    signature = "complex(real, imag) -> y"
    dtypes = (float32, float64)
    method = False

    def infer(real, imag):
        _check_parts("complex", real, imag, "real", "imag")
        return Spec(broadcast_shapes(real.shape, imag.shape), real.dtype.to_complex())

    def kernel(real, imag):
        real, imag = np.broadcast_arrays(real, imag)
        result = np.empty(real.shape, np.result_type(real.dtype, np.complex64))
        result.real = real
        result.imag = imag
        return result

    def vjp_real(g):
        return g.real

    def vjp_imag(g):
        return g.imag

    reference = elementwise(complex)
    samples = binary_samples(numbers="none")

    def bad(s):
        yield Bad(
            Sample(s.real(2, dtype=float32), s.real(2, dtype=float64)), DTypeError, "one dtype"
        )


class Polar(Composite):
    """Complex numbers from their modulus and angle.

    >>> tx.polar(tx.tensor([2.0]), tx.tensor([0.0]))
    tensor([2.+0.j])
    """

    signature = "polar(abs, angle) -> y"
    dtypes = (float32, float64)
    method = False

    def compose(abs, angle):
        _check_parts("polar", abs, angle, "abs", "angle")
        return tx.complex(abs * tx.cos(angle), abs * tx.sin(angle))

    reference = elementwise(lambda r, a: cmath.rect(r, a))
    samples = binary_samples(numbers="none")
