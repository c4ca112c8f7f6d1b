"""Cholesky and QR factors."""

from typing import Any

import numpy as np

from thixo.dtype import int32
from thixo.errors import AutogradError, LinearAlgebraError, ShapeError, ValueRangeError, describe
from thixo.ops import linalg_routines as routines
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_matrix, check_square
from thixo.ops.linalg_rules import half_diagonal_lower, mH, named, real_part
from thixo.ops.linalg_samples import full_rank, positive_definite, symmetrised
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_min

# ---- Cholesky


def _slow_cholesky(input, upper):
    """Column by column, from the definition."""
    a = input.mT.conj() if upper else input
    L = np.zeros_like(a)
    for i in range(a.shape[-1]):
        for j in range(i + 1):
            rest = a[..., i, j] - (L[..., i, :j] * L[..., j, :j].conj()).sum(axis=-1)
            L[..., i, j] = np.sqrt(rest) if i == j else rest / L[..., j, j]
    return L.mT.conj() if upper else L


class CholeskyEx(Op):
    """The Cholesky factor, and 0 or the order of the first minor that is not positive.

    >>> tx.linalg.cholesky_ex(tx.tensor([[1.0, 0.0], [0.0, -1.0]])).info
    tensor(2, dtype=thixo.int32)
    """

    signature = (
        "cholesky_ex(input, *, upper: bool = False, check_errors: bool = False) -> (L, info)"
    )
    namespace = "linalg"
    dtypes = FACTORABLE
    nondifferentiable = ("info",)

    def infer(input, upper, check_errors):
        check_square("linalg.cholesky", "input", input)
        return Spec(tuple(input.shape), input.dtype), Spec(tuple(input.shape[:-2]), int32)

    def kernel(input, upper, check_errors):
        L, info = routines.cholesky(input, upper)
        if check_errors:
            routines.refuse(
                "linalg.cholesky",
                info,
                "input is not positive definite: its leading minor of order {step} is not positive",
            )
        return L, info

    def vjp(g_L, L, upper):
        if upper:
            g_L, L = mH(g_L), mH(L)
        middle = half_diagonal_lower(tx.matmul(mH(L), g_L))
        middle = (middle + mH(middle)) * 0.5
        middle = tx.linalg.solve_triangular(mH(L), middle, upper=True)
        return tx.linalg.solve_triangular(L, middle, upper=False, left=False)

    def reference(input, upper, check_errors):
        return _slow_cholesky(input, upper), np.zeros(input.shape[:-2], np.int32)

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), before=symmetrised)
        yield Sample(positive_definite(s, s.b, s.n, s.n), upper=True, before=symmetrised)
        yield Sample(s.real(s.b, 0, 0), check_errors=True)

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
        minus = s.array(-np.eye(2))
        yield Bad(Sample(minus, check_errors=True), LinearAlgebraError, "leading minor of order 1")


class LinalgCholesky(Composite):
    """L, lower triangular, with `A = L @ L^H`; or U with `A = U^H @ U`.

    >>> tx.linalg.cholesky(tx.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """

    signature = "cholesky(input, *, upper: bool = False) -> L"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(input, upper):
        return tx.linalg.cholesky_ex(input, upper=upper, check_errors=True).L

    reference = _slow_cholesky

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), before=symmetrised)
        yield Sample(positive_definite(s, s.b, s.n, s.n), upper=True, before=symmetrised)
        yield Sample(s.real(0, s.n, s.n))

    def bad(s):
        yield Bad(Sample(s.array(-np.eye(2))), LinearAlgebraError, "not positive definite")


class Cholesky(Composite):
    """L, lower triangular, with `A = L @ L^H`; or U with `A = U^H @ U`.

    >>> tx.cholesky(tx.tensor([[4.0]]))
    tensor([[2.]])
    """

    signature = "cholesky(input, upper: bool = False) -> L"
    dtypes = FACTORABLE

    def compose(input, upper):
        return tx.linalg.cholesky(input, upper=upper)

    reference = _slow_cholesky

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), before=symmetrised)
        yield Sample(positive_definite(s, s.b, s.n, s.n), upper=True, before=symmetrised)

    def bad(s):
        yield Bad(Sample(s.array(-np.eye(2))), LinearAlgebraError, "not positive definite")


# ---- QR


def _slow_qr(A, mode):
    """scipy's, one matrix at a time."""
    import scipy.linalg

    *lead, m, n = A.shape
    k = m if mode == "complete" else min(m, n)
    Q = np.zeros((*lead, m, k), A.dtype)
    R = np.zeros((*lead, k, n), A.dtype)
    economic = "full" if mode == "complete" else "economic"
    for where in np.ndindex(*lead):
        if A[where].size:
            Q[where], R[where] = scipy.linalg.qr(A[where], mode=economic)
        else:
            Q[where] = np.eye(m, k)
    return (np.empty(0, A.dtype) if mode == "r" else Q), R


class LinalgQr(Op):
    """Q with orthonormal columns and R, upper triangular, with `A = Q @ R`.

    mode "complete" gives a square Q, "r" only R.

    >>> Q, R = tx.linalg.qr(tx.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> Q @ R
    tensor([[3.0000, 1.0000],
            [4.0000, 2.0000]])
    """

    signature = "qr(A, mode: str = 'reduced') -> (Q, R)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(A, mode):
        check_matrix("linalg.qr", "A", A)
        if mode not in ("reduced", "complete", "r"):
            raise ValueRangeError(
                f"linalg.qr: mode is {mode!r}; it must be 'reduced', 'complete' or 'r'"
            )
        *lead, m, n = A.shape
        k = m if mode == "complete" else dim_min(m, n)
        Q = Spec((0,) if mode == "r" else (*lead, m, k), A.dtype)
        return Q, Spec((*lead, k, n), A.dtype)

    def kernel(A, mode):
        if mode == "r":
            return np.empty(0, A.dtype), np.linalg.qr(A, "r")
        return tuple(np.linalg.qr(A, mode))

    def vjp(g_Q, g_R, A, Q, R, mode):
        m, n = A.shape[-2:]
        if mode == "r":
            Q = tx.linalg.qr(A).Q
            g_Q = tx.zeros_like(Q)
        if mode == "complete" and m > n:
            raise AutogradError(
                f"linalg.qr: mode='complete' has no gradient for A, {describe(A)}, which has more "
                f"rows than columns: Q's last columns are not unique; use mode='reduced'"
            )
        if m >= n:
            return _qr_rule(g_Q, g_R, Q, R)
        # R = [U, V], where V = Q^H A2
        g_V = g_R[..., m:]
        g_Q = g_Q + tx.matmul(A[..., m:], mH(g_V))
        first = _qr_rule(g_Q, g_R[..., :m], Q, R[..., :m])
        return tx.cat([first, tx.matmul(Q, g_V)], -1)

    reference = _slow_qr

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m))
        yield Sample(full_rank(s, s.n, s.n + s.m), mode="complete")
        yield Sample(full_rank(s, s.n + s.m, s.n), mode="r")
        yield Sample(full_rank(s, s.n, s.n), mode="complete")
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
        yield Bad(Sample(s.real(2, 2), mode="hello"), ValueRangeError, "must be 'reduced'")


def _qr_rule(g_Q: Any, g_R: Any, Q: Any, R: Any) -> Any:
    """(gQ + Q S) R^-H, where S is the upper triangle of gR R^H - Q^H gQ, mirrored."""
    middle = tx.triu(tx.matmul(g_R, mH(R)) - tx.matmul(mH(Q), g_Q))
    diagonal = real_part(tx.diagonal(middle, 0, -2, -1))
    above = tx.triu(middle, 1)
    middle = above + mH(above) + tx.diag_embed(diagonal)
    g = g_Q + tx.matmul(Q, middle)
    return tx.linalg.solve_triangular(mH(R), g, upper=False, left=False)


class Qr(Composite):
    """Q with orthonormal columns and R, upper triangular; Q is square with `some=False`.

    >>> tx.qr(tx.tensor([[2.0]])).R.abs()
    tensor([[2.]])
    """

    signature = "qr(input, some: bool = True) -> (Q, R)"
    dtypes = FACTORABLE

    def compose(input, some):
        Q, R = tx.linalg.qr(input, "reduced" if some else "complete")
        return named("qr", Q=Q, R=R)

    def reference(input, some):
        return _slow_qr(input, "reduced" if some else "complete")

    def samples(s):
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m), some=False)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
