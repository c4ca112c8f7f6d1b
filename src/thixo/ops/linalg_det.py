"""Determinants, their logarithms, and the exponential of a matrix."""

import itertools

import numpy as np

from thixo.dtype import finfo
from thixo.errors import ShapeError
from thixo.ops import linalg_routines as routines
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_square
from thixo.ops.linalg_rules import mH
from thixo.ops.linalg_samples import full_rank, regular
from thixo.ops.rules import conj, is_complex
from thixo.ops.samples import Bad, Sample


def _slow_det(A):
    """Leibniz: the sum over all permutations."""
    n = A.shape[-1]
    total = np.zeros(A.shape[:-2], A.dtype)
    for order in itertools.permutations(range(n)):
        swaps = sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        product = np.ones(A.shape[:-2], A.dtype)
        for row, column in enumerate(order):
            product = product * A[..., row, column]
        total = total + (-1) ** swaps * product
    return total


class Det(Op):
    """The determinant of a square matrix.

    >>> tx.linalg.det(tx.tensor([[1.0, 2.0], [3.0, 4.0]])).round(decimals=4)
    tensor(-2.)
    """

    signature = "det(A) -> y"
    namespace = "linalg"
    aliases = ("det",)
    method = True
    dtypes = FACTORABLE

    def infer(A):
        check_square("linalg.det", "A", A)
        return Spec(tuple(A.shape[:-2]), A.dtype)

    def kernel(A):
        return np.asarray(np.linalg.det(A))

    def vjp(g, A):
        # The cofactors are det(A) A^-H. They exist for a singular A too: a zero pivot is replaced by one
        # too small to matter, which cancels between the determinant and the inverse.
        LU, pivots, _ = tx.linalg.lu_factor_ex(A)
        pivot = tx.diagonal(LU, 0, -2, -1)
        nudge = tx.where(pivot == 0, finfo(A.dtype).eps, 0.0).to(A.dtype)
        LU = LU + tx.diag_embed(nudge)
        P = tx.lu_unpack(LU, pivots, unpack_data=False).P
        one = tx.eye(A.shape[-1], dtype=A.dtype)
        inverse = tx.linalg.lu_solve(LU, pivots, tx.expand(one, tuple(A.shape)))
        det = tx.prod(tx.diagonal(LU, 0, -2, -1), -1) * tx.linalg.det(P)
        return (g * conj(det)).unsqueeze(-1).unsqueeze(-1) * mH(inverse)

    reference = _slow_det

    def samples(s):
        yield Sample(s.real(s.n, s.n))
        yield Sample(s.real(s.b, s.n, s.n))
        yield Sample(s.real(2, 0, 0))
        yield Sample(s.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0]]), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class Slogdet(Op):
    """The sign (or phase) of the determinant, and the logarithm of its magnitude.

    >>> tx.linalg.slogdet(tx.tensor([[1.0, 0.0], [0.0, -1.0]])).sign
    tensor(-1.)
    """

    signature = "slogdet(A) -> (sign, logabsdet)"
    namespace = "linalg"
    aliases = ("slogdet",)
    method = True
    dtypes = FACTORABLE

    def infer(A):
        check_square("linalg.slogdet", "A", A)
        lead = tuple(A.shape[:-2])
        return Spec(lead, A.dtype), Spec(lead, A.dtype.to_real())

    def kernel(A):
        sign, logabsdet = np.linalg.slogdet(A)
        return np.asarray(sign), np.asarray(logabsdet)

    def vjp(g_sign, g_logabsdet, A, sign):
        g = g_logabsdet
        if is_complex(sign):
            g = tx.complex(g, (g_sign * conj(sign)).imag)
        return g.unsqueeze(-1).unsqueeze(-1) * mH(tx.linalg.inv_ex(A).inverse)

    def reference(A):
        det = _slow_det(A)
        with np.errstate(divide="ignore"):
            magnitude = np.abs(det)
            sign = det / np.where(magnitude == 0, 1, magnitude)
            return sign, np.log(magnitude)

    def samples(s):
        yield Sample(regular(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n, s.n))
        yield Sample(s.real(2, 0, 0))
        yield Sample(s.array(np.zeros((2, 2))), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")


class Logdet(Composite):
    """The logarithm of the determinant; NaN where it is negative.

    >>> tx.logdet(tx.eye(2))
    tensor(0.)
    """

    signature = "logdet(input) -> y"
    dtypes = FACTORABLE

    def compose(input):
        sign, logabsdet = tx.linalg.slogdet(input)
        if is_complex(sign):
            return logabsdet + tx.log(sign)
        return tx.where(sign < 0, float("nan"), logabsdet)

    def reference(input):
        with np.errstate(all="ignore"):
            return np.log(_slow_det(input))

    def samples(s):
        yield Sample(regular(s, s.n, s.n))
        yield Sample(regular(s, s.b, s.n, s.n))
        yield Sample(s.array([[1.0, 0.0], [0.0, -1.0]]), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")


class MatrixExp(Op):
    """The exponential of a square matrix: the sum of its powers A^k / k!.

    >>> tx.linalg.matrix_exp(tx.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    signature = "matrix_exp(input) -> y"
    namespace = "linalg"
    aliases = ("matrix_exp",)
    method = True
    dtypes = FACTORABLE

    def infer(input):
        check_square("linalg.matrix_exp", "input", input)
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input):
        return routines.matrix_exp(input)

    def vjp(g, input):
        # exp of [[A, E], [0, A]] has in its corner the derivative of exp at A along E.
        n = input.shape[-1]
        A = mH(input)
        top = tx.cat([A, g], -1)
        bottom = tx.cat([tx.zeros_like(A), A], -1)
        return tx.linalg.matrix_exp(tx.cat([top, bottom], -2))[..., :n, n:]

    def reference(input):
        term = np.zeros_like(input) + np.eye(input.shape[-1])
        total = term
        for k in range(1, 80):
            term = term @ input / k
            total = total + term
        return total

    def samples(s):
        yield Sample(s.real(s.n, s.n))
        yield Sample(s.real(s.b, s.n, s.n, low=-0.3, high=0.3))
        yield Sample(s.real(2, 0, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
