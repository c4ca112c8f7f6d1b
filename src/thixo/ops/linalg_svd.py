"""Singular values and vectors, whole or only the largest."""

from typing import Any

import numpy as np

from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.ops import linalg_routines as routines
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_matrix
from thixo.ops.linalg_rules import (
    differences,
    mH,
    named,
    off_diagonal,
    ratio,
    scale_columns,
    scale_rows,
    skew,
)
from thixo.ops.linalg_samples import full_rank
from thixo.ops.rules import is_complex
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_min, hint_of


def _check_driver(op: str, driver: Any) -> None:
    if driver is not None:
        raise ValueRangeError(f"{op}: driver is {driver!r}; drivers are for CUDA, leave it None")


def _slow_svd(A, full_matrices):
    """scipy's other routine, by bidiagonal QR instead of divide and conquer."""
    import scipy.linalg

    *lead, m, n = A.shape
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    U, Vh = np.zeros((*lead, m, rows), A.dtype), np.zeros((*lead, columns, n), A.dtype)
    S = np.zeros((*lead, k))
    for where in np.ndindex(*lead):
        if k:
            U[where], S[where], Vh[where] = scipy.linalg.svd(
                A[where], full_matrices=full_matrices, lapack_driver="gesvd"
            )
        else:
            U[where], Vh[where] = np.eye(m, rows), np.eye(columns, n)
    return U, S, Vh


def _unsigned(U, S, Vh):
    """Free of signs and phases; columns beyond the singular values are any basis of what is left."""
    k = S.shape[-1]
    return (
        abs(U[..., :, :k]),
        S,
        abs(Vh[..., :k, :]),
        (U[..., :, :k] * S[..., None, :]) @ Vh[..., :k, :],
    )


class LinalgSvd(Op):
    """U, S, Vh with `A = U @ diag(S) @ Vh`: orthonormal vectors and singular values, descending.

    >>> tx.linalg.svd(tx.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """

    signature = "svd(A, full_matrices: bool = True, *, driver: str? = None) -> (U, S, Vh)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(A, full_matrices, driver):
        check_matrix("linalg.svd", "A", A)
        _check_driver("linalg.svd", driver)
        *lead, m, n = A.shape
        k = dim_min(m, n)
        return (
            Spec((*lead, m, m if full_matrices else k), A.dtype),
            Spec((*lead, k), A.dtype.to_real()),
            Spec((*lead, n if full_matrices else k, n), A.dtype),
        )

    def kernel(A, full_matrices, driver):
        return tuple(routines.converged("linalg.svd", np.linalg.svd, A, full_matrices))

    def vjp(g_U, g_S, g_Vh, U, S, Vh):
        # Only the vectors that belong to singular values are differentiable.
        k = S.shape[-1]
        U, g_U, Vh, g_Vh = U[..., :k], g_U[..., :k], Vh[..., :k, :], g_Vh[..., :k, :]
        UgU, VgV = tx.matmul(mH(U), g_U), tx.matmul(Vh, mH(g_Vh))
        apart = differences(S) * (
            S.unsqueeze(-1) + S.unsqueeze(-2)
        )  # s_j^2 - s_i^2 off the diagonal
        left = ratio(off_diagonal(skew(UgU)), apart)
        right = ratio(off_diagonal(skew(VgV)), apart)
        middle = scale_columns(left, S) + scale_rows(S, right) + tx.diag_embed(g_S)
        if is_complex(U):
            phases = tx.diagonal(UgU, 0, -2, -1).imag
            middle = middle + tx.diag_embed(tx.complex(tx.zeros_like(S), ratio(phases, S)))
        g = tx.matmul(U, tx.matmul(middle, Vh))
        if U.shape[-2] > k:
            beyond = g_U - tx.matmul(U, UgU)
            g = g + tx.matmul(ratio(beyond, S.unsqueeze(-2)), Vh)
        if Vh.shape[-1] > k:
            beyond = g_Vh - tx.matmul(mH(VgV), Vh)
            g = g + tx.matmul(U, ratio(beyond, S.unsqueeze(-1)))
        return g

    def reference(A, full_matrices, driver):
        return _slow_svd(A, full_matrices)

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n), after=_unsigned)
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n), full_matrices=False, after=_unsigned)
        yield Sample(full_rank(s, s.n, s.n + s.m), full_matrices=False, after=_unsigned)
        yield Sample(full_rank(s, s.n, s.n + s.m), after=_unsigned)
        yield Sample(s.real(0, s.n, s.m), full_matrices=False)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class Svd(Composite):
    """U, S, V with `input = U @ diag(S) @ V^H`; square U and V with `some=False`.

    >>> tx.svd(tx.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """

    signature = "svd(input, some: bool = True, compute_uv: bool = True) -> (U, S, V)"
    dtypes = FACTORABLE

    def compose(input, some, compute_uv):
        check_matrix("svd", "input", input)
        if not compute_uv:
            lead, m, n = list(input.shape[:-2]), *input.shape[-2:]
            U, V = (tx.zeros((*lead, size, size), dtype=input.dtype) for size in (m, n))
            return named("svd", U=U, S=tx.linalg.svdvals(input), V=V)
        U, S, Vh = tx.linalg.svd(input, full_matrices=not some)
        return named("svd", U=U, S=S, V=mH(Vh))

    def reference(input, some, compute_uv):
        U, S, Vh = _slow_svd(input, not some or not compute_uv)
        V = Vh.mT.conj()
        return (U, S, V) if compute_uv else (np.zeros_like(U), S, np.zeros_like(V))

    def samples(s):
        def unsigned(U, S, V):
            k = S.shape[-1]
            return abs(U[..., :k]), S, abs(V[..., :k])

        yield Sample(full_rank(s, s.b, s.n + s.m, s.n), after=unsigned)
        yield Sample(full_rank(s, s.n, s.n + s.m), some=False, after=unsigned)
        yield Sample(full_rank(s, s.n, s.n + s.m), compute_uv=False, after=unsigned)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class Svdvals(Op):
    """The singular values of a matrix, descending.

    >>> tx.linalg.svdvals(tx.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """

    signature = "svdvals(A, *, driver: str? = None) -> S"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(A, driver):
        check_matrix("linalg.svdvals", "A", A)
        _check_driver("linalg.svdvals", driver)
        *lead, m, n = A.shape
        return Spec((*lead, dim_min(m, n)), A.dtype.to_real())

    def kernel(A, driver):
        return routines.converged("linalg.svdvals", np.linalg.svdvals, A)

    def vjp(g, A):
        U, _, Vh = tx.linalg.svd(A, full_matrices=False)
        return tx.matmul(scale_columns(U, g), Vh)

    def reference(A, driver):
        """The roots of the eigenvalues of A^H A or A A^H, whichever is smaller."""
        import scipy.linalg

        gram = A.mT.conj() @ A if A.shape[-2] >= A.shape[-1] else A @ A.mT.conj()
        S = np.zeros(gram.shape[:-1])
        for where in np.ndindex(gram.shape[:-2]):
            if gram.shape[-1]:
                squares = scipy.linalg.eigvalsh(gram[where])
                S[where] = np.sqrt(np.maximum(squares, 0))[::-1]
        return S

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m))
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


# ---- the largest ones, by random projection


def _range_of(A: Any, q: Any, niter: int) -> Any:
    """Orthonormal columns that span most of what A maps to: a random sample of it, sharpened."""
    sample = tx.randn((A.shape[-1], q), dtype=A.dtype)
    Q = tx.linalg.qr(tx.matmul(A, sample)).Q
    for _ in range(niter):
        Q = tx.linalg.qr(tx.matmul(mH(A), Q)).Q
        Q = tx.linalg.qr(tx.matmul(A, Q)).Q
    return Q


class SvdLowrank(Composite):
    """The q largest singular values and their vectors, approximately; M is taken from A first.

    >>> U, S, V = tx.svd_lowrank(tx.eye(3), q=2)
    >>> S.shape
    Size([2])
    """

    signature = "svd_lowrank(A, q: int? = 6, niter: int = 2, M: tensor? = None) -> (U, S, V)"
    dtypes = FACTORABLE
    random = True
    method = False

    def compose(A, q, niter, M):
        check_matrix("svd_lowrank", "A", A)
        q = 6 if q is None else q
        m, n = A.shape[-2:]
        if not 0 <= q <= dim_min(m, n):
            raise ValueRangeError(
                f"svd_lowrank: q is {q}; it must be from 0 to {dim_min(m, n)} for {describe(A)}"
            )
        A = A if M is None else A - M
        if m < n:
            V, S, U = _lowrank(mH(A), q, niter)
        else:
            U, S, V = _lowrank(A, q, niter)
        return named("svd_lowrank", U=U, S=S, V=V)

    def reference(A, q, niter, M):
        U, S, Vh = _slow_svd(A if M is None else A - M, False)
        return U[..., :q], S[..., :q], Vh.mT.conj()[..., :q]

    def samples(s):
        def unsigned(U, S, V):
            return abs(U), S, abs(V)

        # With all values asked for, the approximation is exact.
        yield Sample(full_rank(s, s.n + s.m, s.n), q=s.n, after=unsigned)
        yield Sample(
            full_rank(s, s.b, s.n, s.n + s.m), q=s.n, M=s.real(s.n, s.n + s.m), after=unsigned
        )

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
        yield Bad(Sample(s.real(3, 2), q=3), ValueRangeError, "from 0 to 2")


def _lowrank(A: Any, q: Any, niter: int) -> tuple[Any, Any, Any]:
    Q = _range_of(A, q, niter)
    U, S, Vh = tx.linalg.svd(tx.matmul(mH(Q), A), full_matrices=False)
    return tx.matmul(Q, U), S, mH(Vh)


class PcaLowrank(Composite):
    """The q principal components of the rows of A, approximately.

    >>> U, S, V = tx.pca_lowrank(tx.eye(3), q=2)
    >>> V.shape
    Size([3, 2])
    """

    signature = "pca_lowrank(A, q: int? = None, center: bool = True, niter: int = 2) -> (U, S, V)"
    dtypes = FACTORABLE
    random = True
    method = False

    def compose(A, q, center, niter):
        check_matrix("pca_lowrank", "A", A)
        m, n = A.shape[-2:]
        q = min(6, hint_of(m), hint_of(n)) if q is None else q
        if not 0 <= q <= dim_min(m, n):
            raise ValueRangeError(
                f"pca_lowrank: q is {q}; it must be from 0 to {dim_min(m, n)} for {describe(A)}"
            )
        if niter < 0:
            raise ValueRangeError(f"pca_lowrank: niter is {niter}; it must not be negative")
        if center:
            A = A - tx.mean(A, -2, True)
        U, S, V = tx.svd_lowrank(A, q, niter)
        return named("pca_lowrank", U=U, S=S, V=V)

    def reference(A, q, center, niter):
        A = A - A.mean(axis=-2, keepdims=True) if center else A
        U, S, Vh = _slow_svd(A, False)
        q = min(6, *A.shape[-2:]) if q is None else q
        return U[..., :q], S[..., :q], Vh.mT.conj()[..., :q]

    def samples(s):
        def unsigned(U, S, V):
            return abs(U), S, abs(V)

        yield Sample(full_rank(s, s.n + s.m, s.n), q=s.n, after=unsigned)
        yield Sample(full_rank(s, s.b, 3, 5), center=False, after=unsigned)

    def bad(s):
        yield Bad(Sample(s.real(3, 2), q=3), ValueRangeError, "from 0 to 2")
        yield Bad(Sample(s.real(3, 2), niter=-1), ValueRangeError, "must not be negative")
