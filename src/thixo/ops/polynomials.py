"""Orthogonal polynomials of `special`, by their three-term recurrences."""

import numpy as np

from thixo.dtype import BOOL, FLOATS, INTEGERS, get_default_dtype, int64, result_type
from thixo.errors import ArgumentError, DTypeError, ValueRangeError, describe
from thixo.ops.base import Op, Spec
from thixo.ops.samples import Sample
from thixo.shape import broadcast_shapes

_HIGHEST = 100_000  # a degree takes as many steps over all elements


def _by_recurrence(first, step, shifted=False):
    """A kernel: P_0 = 1, P_1 = first(x), P_(k+1) = step(k, x, P_k, P_(k-1)); 0 below degree 0."""

    def kernel(input, n):
        x, n = np.broadcast_arrays(np.asarray(input, np.float64), np.trunc(n))
        highest = n.max(initial=0)
        if not highest <= _HIGHEST:
            raise ValueRangeError(
                f"the degree of a polynomial is {highest}; at most {_HIGHEST} is served"
            )
        if shifted:
            x = 2 * x - 1
        before, now = np.ones(x.shape), first(x)
        result = np.where(n < 0, 0.0, np.where(n == 0, before, now))
        result = np.where(np.isnan(x), x, result)
        for k in range(1, int(highest)):
            before, now = now, step(k, x, now, before)
            result = np.where(n == k + 1, now, result)
        return result

    return kernel


def _by_angle(of_angle, recurrence, shifted=False):
    """A kernel for Chebyshev's polynomials: inside (-1, 1) a high degree is a function of the angle."""

    def kernel(input, n):
        x, n = np.broadcast_arrays(np.asarray(input, np.float64), np.trunc(n))
        inside = (n > 8) & (np.abs(2 * x - 1 if shifted else x) < 1)
        result = np.asarray(recurrence(x, np.where(inside, 0, n)))
        angle = np.arccos((2 * x - 1 if shifted else x)[inside])
        result[inside] = of_angle(angle, n[inside])
        return result

    return kernel


def _chebyshev(kind, shifted=False):
    def twice(k, x, now, before):
        return 2 * x * now - before

    first, of_angle = {
        "t": (lambda x: x, lambda a, n: np.cos(n * a)),
        "u": (lambda x: 2 * x, lambda a, n: np.sin((n + 1) * a) / np.sin(a)),
        "v": (lambda x: 2 * x - 1, lambda a, n: np.cos((n + 0.5) * a) / np.cos(a / 2)),
        "w": (lambda x: 2 * x + 1, lambda a, n: np.sin((n + 0.5) * a) / np.sin(a / 2)),
    }[kind]
    return _by_angle(of_angle, _by_recurrence(first, twice, shifted), shifted)


def _scipy(name, shift=0):
    """A polynomial of scipy; degree n plus `shift` times degree n - 1."""

    def reference(input, n):
        import scipy.special

        evaluate = getattr(scipy.special, "eval_" + name)
        x = np.asarray(input, np.float64)
        n = np.asarray(n).astype(np.int64)
        y = np.asarray(evaluate(n, x))
        if shift:
            y = y + shift * np.where(n > 0, evaluate(np.maximum(n - 1, 0), x), 0.0)
        return np.where(n < 0, 0.0, y)

    return reference


class Polynomial(Op, abstract=True):
    """A family of polynomials: the one of degree n at input."""

    namespace = "special"
    dtypes = BOOL + INTEGERS + FLOATS
    vjp = None

    def infer(input, n):
        shapes = [x.shape for x in (input, n) if hasattr(x, "shape")]
        if not shapes:
            raise ArgumentError(f"polynomial: input is {input}, n is {n}; one must be a tensor")
        dtype = result_type(input, n)
        if dtype.is_complex:
            raise DTypeError(
                f"polynomial: input is {describe(input)}, n is {describe(n)}; needs real numbers"
            )
        is_float = dtype.is_floating_point
        return Spec(broadcast_shapes(*shapes), dtype if is_float else get_default_dtype())

    def samples(s):
        yield Sample(s.real(s.n, s.m), 3)
        whole = s.dtype if s.dtype.is_integer else int64
        yield Sample(s.real(s.n, s.m), s.ints(s.m, high=7, dtype=whole))
        yield Sample(s.real(s.n, 1, low=-0.9, high=0.9), s.ints(s.n, s.m, high=14, dtype=whole))
        yield Sample(s.real(), s.ints(s.n, high=7, dtype=whole))
        yield Sample(0.5, s.ints(s.n, high=7, dtype=s.dtype))
        yield Sample(s.real(s.n), -1)
        yield Sample(s.real(0), 2)


class ChebyshevPolynomialT(Polynomial):
    """Chebyshev polynomial of the first kind of degree n.

    >>> tx.special.chebyshev_polynomial_t(tx.tensor([0.5]), 2)
    tensor([-0.5000])
    """

    signature = "chebyshev_polynomial_t(input: operand, n: operand) -> y"
    kernel = _chebyshev("t")
    reference = _scipy("chebyt")


class ChebyshevPolynomialU(Polynomial):
    """Chebyshev polynomial of the second kind of degree n.

    >>> tx.special.chebyshev_polynomial_u(tx.tensor([0.25]), 2)
    tensor([-0.7500])
    """

    signature = "chebyshev_polynomial_u(input: operand, n: operand) -> y"
    kernel = _chebyshev("u")
    reference = _scipy("chebyu")


class ChebyshevPolynomialV(Polynomial):
    """Chebyshev polynomial of the third kind of degree n.

    >>> tx.special.chebyshev_polynomial_v(tx.tensor([0.25]), 1)
    tensor([-0.5000])
    """

    signature = "chebyshev_polynomial_v(input: operand, n: operand) -> y"
    kernel = _chebyshev("v")
    reference = _scipy("chebyu", shift=-1)


class ChebyshevPolynomialW(Polynomial):
    """Chebyshev polynomial of the fourth kind of degree n.

    >>> tx.special.chebyshev_polynomial_w(tx.tensor([0.25]), 1)
    tensor([1.5000])
    """

    signature = "chebyshev_polynomial_w(input: operand, n: operand) -> y"
    kernel = _chebyshev("w")
    reference = _scipy("chebyu", shift=1)


class ShiftedChebyshevPolynomialT(Polynomial):
    """Chebyshev polynomial of the first kind at 2 * input - 1 of degree n.

    >>> tx.special.shifted_chebyshev_polynomial_t(tx.tensor([0.75]), 2)
    tensor([-0.5000])
    """

    signature = "shifted_chebyshev_polynomial_t(input: operand, n: operand) -> y"
    kernel = _chebyshev("t", shifted=True)
    reference = _scipy("sh_chebyt")


class ShiftedChebyshevPolynomialU(Polynomial):
    """Chebyshev polynomial of the second kind at 2 * input - 1 of degree n.

    >>> tx.special.shifted_chebyshev_polynomial_u(tx.tensor([0.625]), 2)
    tensor([-0.7500])
    """

    signature = "shifted_chebyshev_polynomial_u(input: operand, n: operand) -> y"
    kernel = _chebyshev("u", shifted=True)
    reference = _scipy("sh_chebyu")


class ShiftedChebyshevPolynomialV(Polynomial):
    """Chebyshev polynomial of the third kind at 2 * input - 1 of degree n.

    >>> tx.special.shifted_chebyshev_polynomial_v(tx.tensor([0.625]), 1)
    tensor([-0.5000])
    """

    signature = "shifted_chebyshev_polynomial_v(input: operand, n: operand) -> y"
    kernel = _chebyshev("v", shifted=True)
    reference = _scipy("sh_chebyu", shift=-1)


class ShiftedChebyshevPolynomialW(Polynomial):
    """Chebyshev polynomial of the fourth kind at 2 * input - 1 of degree n.

    >>> tx.special.shifted_chebyshev_polynomial_w(tx.tensor([0.625]), 1)
    tensor([1.5000])
    """

    signature = "shifted_chebyshev_polynomial_w(input: operand, n: operand) -> y"
    kernel = _chebyshev("w", shifted=True)
    reference = _scipy("sh_chebyu", shift=1)


class HermitePolynomialH(Polynomial):
    """Physicist's Hermite polynomial of degree n.

    >>> tx.special.hermite_polynomial_h(tx.tensor([1.5]), 2)
    tensor([7.])
    """

    signature = "hermite_polynomial_h(input: operand, n: operand) -> y"
    kernel = _by_recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - 2 * k * before)
    reference = _scipy("hermite")


class HermitePolynomialHe(Polynomial):
    """Probabilist's Hermite polynomial of degree n.

    >>> tx.special.hermite_polynomial_he(tx.tensor([2.0]), 2)
    tensor([3.])
    """

    signature = "hermite_polynomial_he(input: operand, n: operand) -> y"
    kernel = _by_recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before)
    reference = _scipy("hermitenorm")


class LaguerrePolynomialL(Polynomial):
    """Laguerre polynomial of degree n.

    >>> tx.special.laguerre_polynomial_l(tx.tensor([2.0]), 2)
    tensor([-1.])
    """

    signature = "laguerre_polynomial_l(input: operand, n: operand) -> y"
    kernel = _by_recurrence(
        lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
    )
    reference = _scipy("laguerre")


class LegendrePolynomialP(Polynomial):
    """Legendre polynomial of degree n.

    >>> tx.special.legendre_polynomial_p(tx.tensor([2.0]), 2)
    tensor([5.5000])
    """

    signature = "legendre_polynomial_p(input: operand, n: operand) -> y"
    kernel = _by_recurrence(
        lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)
    )
    reference = _scipy("legendre")
