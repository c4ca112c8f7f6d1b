"""Matrices without an inverse: rank, pseudo-inverse and least squares."""

from typing import Any

import numpy as np

from thixo.dtype import int64
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import linalg_routines as routines
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_matrix, check_same_dtype, check_square
from thixo.ops.linalg_rules import mH
from thixo.ops.linalg_samples import full_rank, hermitian, symmetrised
from thixo.ops.linalg_solve import holds_vectors
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes, dim_min

# ---- tolerances: below them a singular value counts as zero


def _check_tolerance(op: str, name: str, tolerance: Any) -> None:
    if hasattr(tolerance, "dtype") and tolerance.dtype.is_complex:
        raise DTypeError(f"{op}: {name} is {describe(tolerance)}; it must be real")


def tolerance_of(values, shape, dtype, atol, rtol):
    """The greatest of atol and rtol times the greatest value, for each matrix; the usual ones for None."""
    if rtol is None:
        eps = np.finfo(np.float32 if dtype in (np.float32, np.complex64) else np.float64).eps
        given = atol is not None and np.all(np.asarray(atol) > 0)
        mixed = np.asarray(0.0 if atol is None else atol)
        rtol = 0.0 if given else np.where(mixed > 0, 0.0, max(shape[-2:]) * eps)
    greatest = values.max(axis=-1, initial=0.0)
    return np.maximum(0.0 if atol is None else atol, np.asarray(rtol) * greatest)


def _values(A, hermitian):
    if hermitian:
        return np.abs(np.linalg.eigvalsh(A))
    return np.linalg.svdvals(A)


class MatrixRank(Op):
    """How many singular values of a matrix exceed the tolerance.

    `tol` is an absolute tolerance; else the greater of atol and rtol times the largest value.

    >>> tx.linalg.matrix_rank(tx.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """

    signature = (
        "matrix_rank(input, tol: operand? = None, hermitian: bool = False, *, "
        "atol: operand? = None, rtol: operand? = None) -> rank"
    )
    namespace = "linalg"
    dtypes = FACTORABLE
    vjp = None

    def infer(input, tol, hermitian, atol, rtol):
        op = "linalg.matrix_rank"
        (check_square if hermitian else check_matrix)(op, "input", input)
        shape = tuple(input.shape[:-2])
        for name, tolerance in (("tol", tol), ("atol", atol), ("rtol", rtol)):
            _check_tolerance(op, name, tolerance)
            shape = broadcast_shapes(shape, getattr(tolerance, "shape", ()), op=op)
        if tol is not None and (atol is not None or rtol is not None):
            raise ArgumentError(f"{op}: give either tol, or atol and rtol")
        return Spec(shape, int64)

    def kernel(input, tol, hermitian, atol, rtol):
        values = routines.converged("linalg.matrix_rank", _values, input, hermitian)
        if tol is not None:
            atol, rtol = tol, 0.0
        limit = tolerance_of(values, input.shape, input.dtype, atol, rtol)
        return np.asarray((values > limit[..., None]).sum(axis=-1))

    def reference(input, tol, hermitian, atol, rtol):
        tolerance = 0.0 if tol is None else tol
        if tol is None and (atol is not None or rtol is not None):
            largest = np.linalg.norm(input, 2, axis=(-2, -1))
            tolerance = np.maximum(
                0 if atol is None else atol, largest * (0 if rtol is None else rtol)
            )
        elif tol is None:
            tolerance = None
        return np.asarray(np.linalg.matrix_rank(input, tolerance, hermitian))

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(s.array([[1.0, 2.0], [2.0, 4.0]]))
        yield Sample(hermitian(s, s.n, s.n), hermitian=True)
        yield Sample(full_rank(s, s.b, s.n, s.n), 1.5)
        yield Sample(full_rank(s, s.n, s.n), atol=0.5, rtol=0.5)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
        yield Bad(Sample(s.real(2, 3), hermitian=True), ShapeError, "must be equal")


def pinv_rule(g: Any, A: Any, P: Any) -> Any:
    """From the gradient towards the pseudo-inverse P of A to the one towards A."""
    PgP = tx.matmul(mH(P), tx.matmul(g, mH(P)))
    gP = mH(g)
    left = tx.matmul(gP, P) - tx.matmul(A, tx.matmul(P, tx.matmul(gP, P)))
    right = tx.matmul(P, gP) - tx.matmul(tx.matmul(P, gP), tx.matmul(P, A))
    return tx.matmul(left, mH(P)) + tx.matmul(mH(P), right) - PgP


class LinalgPinv(Op):
    """The pseudo-inverse: singular values above the tolerance inverted, the others dropped.

    >>> tx.linalg.pinv(tx.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """

    signature = (
        "pinv(input, rcond: operand? = None, hermitian: bool = False, *, "
        "atol: operand? = None, rtol: operand? = None) -> P"
    )
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(input, rcond, hermitian, atol, rtol):
        op = "linalg.pinv"
        (check_square if hermitian else check_matrix)(op, "input", input)
        lead = tuple(input.shape[:-2])
        for name, tolerance in (("rcond", rcond), ("atol", atol), ("rtol", rtol)):
            _check_tolerance(op, name, tolerance)
            lead = broadcast_shapes(lead, getattr(tolerance, "shape", ()), op=op)
        if rcond is not None and (atol is not None or rtol is not None):
            raise ArgumentError(f"{op}: give either rcond, or atol and rtol")
        m, n = input.shape[-2:]
        return Spec((*lead, n, m), input.dtype)

    def kernel(input, rcond, hermitian, atol, rtol):
        if rcond is not None:
            atol, rtol = None, rcond
        if hermitian:
            values, V = routines.converged("linalg.pinv", np.linalg.eigh, input)
            U, Vh, S = V * np.sign(values)[..., None, :], V.mT.conj(), np.abs(values)
        else:
            U, S, Vh = routines.converged("linalg.pinv", np.linalg.svd, input, False)
        limit = tolerance_of(S, input.shape, input.dtype, atol, rtol)[..., None]
        inverted = np.where(limit < S, 1 / np.where(S == 0, 1, S), 0)
        return Vh.mT.conj() @ (inverted[..., :, None] * U.mT.conj())

    def vjp_input(g, input, P):
        return pinv_rule(g, input, P)

    def reference(input, rcond, hermitian, atol, rtol):
        """The limit of (A^H A + x)^-1 A^H, by the rank-revealing normal equations of scipy."""
        import scipy.linalg

        *lead, m, n = input.shape
        P = np.zeros((*lead, n, m), input.dtype)
        for where in np.ndindex(*lead):
            if input[where].size:
                options = {} if atol is None else {"atol": float(atol)}
                relative = rcond if rcond is not None else rtol
                options |= {} if relative is None else {"rtol": float(relative)}
                P[where] = scipy.linalg.pinv(input[where], **options)
        return P

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m))
        yield Sample(hermitian(s, s.n, s.n), hermitian=True, before=symmetrised)
        yield Sample(full_rank(s, s.n, s.n), 1e-3)
        yield Sample(full_rank(s, s.n, s.n), atol=1e-3, rtol=1e-3)
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class Pinverse(Composite):
    """The pseudo-inverse; singular values up to rcond times the largest are dropped.

    >>> tx.pinverse(tx.tensor([[2.0]]))
    tensor([[0.5000]])
    """

    signature = "pinverse(input, rcond: float = 1e-15) -> P"
    dtypes = FACTORABLE

    def compose(input, rcond):
        return tx.linalg.pinv(input, rcond)

    def reference(input, rcond):
        return np.linalg.pinv(input, rcond)

    def samples(s):
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n), rcond=1e-3)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


# ---- least squares

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


class Lstsq(Op):
    """X for which `input @ X` comes nearest to b; its squared distance, the rank and singular values.

    Which of the others are computed depends on the driver, as in LAPACK; one that is not is empty.
    "gels" (which takes the rank to be full) gives residuals, "gelsy" (the default) the rank,
    "gelsd" and "gelss" everything.

    >>> tx.linalg.lstsq(tx.tensor([[1.0], [1.0]]), tx.tensor([[1.0], [3.0]])).solution
    tensor([[2.]])
    """

    signature = (
        "lstsq(input, b, rcond: float? = None, *, driver: str? = None) "
        "-> (solution, residuals, rank, singular_values)"
    )
    namespace = "linalg"
    dtypes = FACTORABLE
    nondifferentiable = ("rank", "singular_values")

    def infer(input, b, rcond, driver):
        op = "linalg.lstsq"
        check_matrix(op, "input", input)
        check_same_dtype(op, input=input, b=b)
        if driver is not None and driver not in _DRIVERS:
            raise ValueRangeError(
                f"{op}: driver is {driver!r}; it must be one of {', '.join(_DRIVERS)}"
            )
        if not 0 <= input.ndim - b.ndim <= 1 or b.ndim == 0:
            raise ShapeError(
                f"{op}: input is {describe(input)}, b is {describe(b)}; "
                f"b must be matrices or vectors in the same batch"
            )
        vectors = holds_vectors(input, b)
        rows = b.shape[-1] if vectors else b.shape[-2]
        *_, m, n = input.shape
        if rows != m:
            raise ShapeError(
                f"{op}: sizes differ: input is {describe(input)}, b is {describe(b)}; "
                f"b must have as many rows as input"
            )
        lead = broadcast_shapes(input.shape[:-2], b.shape[: -1 if vectors else -2], op=op)
        columns = () if vectors else b.shape[-1:]
        none = (0,)
        sums = m > n and driver not in (None, "gelsy")
        values = driver in ("gelsd", "gelss")
        return (
            Spec((*lead, n, *columns), input.dtype),
            Spec((*lead, *(columns or (1,))) if sums else none, input.dtype.to_real()),
            Spec(none if driver == "gels" else lead, int64),
            Spec((*lead, dim_min(m, n)) if values else none, input.dtype.to_real()),
        )

    def kernel(input, b, rcond, driver):
        vectors = holds_vectors(input, b)
        A, B = routines.widened(input, b[..., None] if vectors else b)
        U, S, Vh = routines.converged("linalg.lstsq", np.linalg.svd, A, False)
        eps = np.finfo(input.dtype).eps
        cut = max(A.shape[-2:]) * eps if rcond is None else rcond
        limit = S.max(axis=-1, keepdims=True, initial=0.0) * (0.0 if driver == "gels" else cut)
        inverted = np.where(limit < S, 1 / np.where(S == 0, 1, S), 0)
        X = Vh.mT.conj() @ (inverted[..., :, None] * (U.mT.conj() @ B))
        lead = X.shape[:-2]
        none = np.empty(0, S.dtype)
        sums, rank, values = none, none, none
        if A.shape[-2] > A.shape[-1] and driver not in (None, "gelsy"):
            sums = (np.abs(A @ X - B) ** 2).sum(axis=-2)
        if driver != "gels":
            rank = np.broadcast_to((limit < S).sum(axis=-1), lead).copy()
        if driver in ("gelsd", "gelss"):
            values = np.broadcast_to(S, (*lead, S.shape[-1])).copy()
        return (X[..., 0] if vectors else X), sums, rank, values

    def vjp(g_solution, g_residuals, input, b, solution, driver):
        vectors = holds_vectors(input, b)
        B, X, g = (x.unsqueeze(-1) if vectors else x for x in (b, solution, g_solution))
        P = tx.linalg.pinv(input)
        g_input, g_b = pinv_rule(tx.matmul(g, mH(B)), input, P), tx.matmul(mH(P), g)
        m, n = input.shape[-2:]
        if driver not in (None, "gelsy") and m > n:
            # At the least squares, moving the solution changes nothing: only A and B count.
            pull = (tx.matmul(input, X) - B) * (2 * g_residuals).unsqueeze(-2)
            g_input, g_b = g_input + tx.matmul(pull, mH(X)), g_b - pull
        return g_input, (g_b.squeeze(-1) if vectors else g_b)

    def reference(input, b, rcond, driver):
        """scipy's, one system at a time."""
        import scipy.linalg

        vectors = holds_vectors(input, b)
        A, B = routines.stacked(input, b[..., None] if vectors else b)
        *lead, m, n = A.shape
        X = np.zeros((*lead, n, B.shape[-1]), A.dtype)
        rank = np.zeros(lead, int)
        values = np.zeros((*lead, min(m, n)))
        for where in np.ndindex(*lead):
            if A[where].size and B[where].size:
                X[where], _, rank[where], values[where] = scipy.linalg.lstsq(
                    A[where], B[where], rcond, lapack_driver="gelss"
                )
        sums = (np.abs(A @ X - B) ** 2).sum(axis=-2)
        none = np.empty(0)
        return (
            X[..., 0] if vectors else X,
            none if m <= n or driver in (None, "gelsy") else sums,
            none if driver == "gels" else rank,
            values if driver in ("gelsd", "gelss") else none,
        )

    def samples(s):
        yield Sample(full_rank(s, s.n + s.m, s.n), s.real(s.n + s.m, s.k))
        yield Sample(full_rank(s, s.n, s.n + s.m), s.real(s.n, s.k))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n), s.real(s.b, s.n + s.m, s.k), driver="gels")
        yield Sample(full_rank(s, s.n + s.m, s.n), s.real(s.n + s.m), driver="gelsd")
        yield Sample(full_rank(s, s.b, s.n, s.n), s.real(s.b, s.n), driver="gelss")
        yield Sample(full_rank(s, s.n, s.n), s.real(s.n, s.k), rcond=1e-3)

    def bad(s):
        yield Bad(Sample(s.real(3, 2), s.real(2, 1)), ShapeError, "as many rows")
        yield Bad(Sample(s.real(3), s.real(3)), ShapeError, "at least 2 axes")
        yield Bad(Sample(s.real(2, 2), s.real(2, 1), driver="x"), ValueRangeError, "one of gels")
