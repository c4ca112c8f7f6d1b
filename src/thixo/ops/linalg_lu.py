"""LU factors with row swaps: A = P L U, packed into one matrix as LAPACK does, or one by one."""

from typing import Any

import numpy as np

from thixo.dtype import int32
from thixo.errors import DTypeError, LinearAlgebraError, ShapeError, describe
from thixo.ops import linalg_routines as routines
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import (
    FACTORABLE,
    broadcast_batch,
    check_matrix,
    check_same_dtype,
    check_square,
)
from thixo.ops.linalg_rules import mH, named
from thixo.ops.linalg_samples import full_rank, regular
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_min

# ---- factors


def _slow_factors(A):
    """P, L, U by scipy, one matrix at a time."""
    import scipy.linalg

    *lead, m, n = A.shape
    k = min(m, n)
    P, L, U = (np.zeros((*lead, *size), A.dtype) for size in ((m, m), (m, k), (k, n)))
    for where in np.ndindex(*lead):
        if A[where].size:
            P[where], L[where], U[where] = scipy.linalg.lu(A[where])
        else:
            P[where] = np.eye(m)
    return P.real if P.dtype.kind == "c" else P, L, U


def _slow_packed(A):
    P, L, U = _slow_factors(A)
    *lead, m, n = A.shape
    k = min(m, n)
    packed = np.zeros_like(A)
    packed[..., :, :k] += np.tril(L, -1)
    packed[..., :k, :] += np.triu(U)
    pivots = np.zeros((*lead, k), np.int32)
    for where in np.ndindex(*lead):
        order, wanted = list(range(m)), P[where].argmax(axis=0) if m else []
        for i in range(k):  # the swaps that bring row wanted[i] to place i
            j = order.index(wanted[i])
            order[i], order[j] = order[j], order[i]
            pivots[(*where, i)] = j + 1
    return packed, pivots


class LuFactorEx(Op):
    """L (below the diagonal) and U in one matrix, the row swaps, and 0 or the first zero pivot.

    >>> tx.linalg.lu_factor_ex(tx.tensor([[0.0, 1.0], [2.0, 3.0]])).pivots
    tensor([2, 2], dtype=thixo.int32)
    """

    signature = (
        "lu_factor_ex(A, *, pivot: bool = True, check_errors: bool = False) -> (LU, pivots, info)"
    )
    namespace = "linalg"
    dtypes = FACTORABLE
    nondifferentiable = ("pivots", "info")

    def infer(A, pivot, check_errors):
        check_matrix("linalg.lu_factor", "A", A)
        *lead, m, n = A.shape
        return (
            Spec(tuple(A.shape), A.dtype),
            Spec((*lead, dim_min(m, n)), int32),
            Spec(tuple(lead), int32),
        )

    def kernel(A, pivot, check_errors):
        packed, pivots, info = routines.lu_factor(A, pivot)
        if check_errors:
            routines.refuse("linalg.lu_factor", info, "A is singular: its pivot {step} is zero")
        return packed, pivots, info

    def vjp(g_LU, LU, pivots):
        m, n = LU.shape[-2:]
        if m == n:
            g = _square_rule(LU, tx.tril(g_LU, -1), tx.triu(g_LU))
        elif m < n:  # U = [U1, U2], where U2 = L^-1 A2
            first, g1 = LU[..., :m], g_LU[..., :m]
            g2 = tx.linalg.solve_triangular(
                mH(first), g_LU[..., m:], upper=True, unitriangular=True
            )
            g_L = tx.tril(g1, -1) - tx.matmul(g2, mH(LU[..., m:]))
            g = tx.cat([_square_rule(first, g_L, tx.triu(g1)), g2], -1)
        else:  # L = [L1, L2] one below the other, where L2 = A2 U^-1
            first, g1 = LU[..., :n, :], g_LU[..., :n, :]
            g2 = tx.linalg.solve_triangular(mH(first), g_LU[..., n:, :], upper=False, left=False)
            g_U = tx.triu(g1) - tx.matmul(mH(LU[..., n:, :]), g2)
            g = tx.cat([_square_rule(first, tx.tril(g1, -1), g_U), g2], -2)
        return tx.matmul(tx.lu_unpack(LU, pivots, unpack_data=False).P, g)

    def reference(A, pivot, check_errors):
        return *_slow_packed(A), np.zeros(A.shape[:-2], np.int32)

    def samples(s):
        yield Sample(regular(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n, s.n), check_errors=True)
        yield Sample(full_rank(s, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m))
        yield Sample(s.real(s.b, s.n, s.n), grad=False)
        yield Sample(s.real(s.b, 0, 0))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
        zeros = s.array(np.zeros((2, 2)))
        yield Bad(Sample(zeros, check_errors=True), LinearAlgebraError, "singular")


def _square_rule(LU: Any, g_L: Any, g_U: Any) -> Any:
    """The gradient towards P^T A: L^-H (strictly lower of L^H gL + upper of gU U^H) U^-H."""
    L = tx.tril(LU, -1) + tx.eye(LU.shape[-1], dtype=LU.dtype)
    middle = tx.tril(tx.matmul(mH(L), g_L), -1) + tx.triu(tx.matmul(g_U, mH(tx.triu(LU))))
    middle = tx.linalg.solve_triangular(mH(LU), middle, upper=True, unitriangular=True)
    return tx.linalg.solve_triangular(mH(LU), middle, upper=False, left=False)


class LuFactor(Composite):
    """L (below the diagonal) and U in one matrix, and the row swaps, counted from 1.

    >>> tx.linalg.lu_factor(tx.tensor([[0.0, 1.0], [2.0, 3.0]])).LU
    tensor([[2., 3.],
            [0., 1.]])
    """

    signature = "lu_factor(A, *, pivot: bool = True) -> (LU, pivots)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(A, pivot):
        LU, pivots, _ = tx.linalg.lu_factor_ex(A, pivot=pivot, check_errors=True)
        return named("lu_factor", LU=LU, pivots=pivots)

    def reference(A, pivot):
        return _slow_packed(A)

    def samples(s):
        yield Sample(regular(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(regular(s, s.n, s.n), pivot=False)

    def bad(s):
        yield Bad(Sample(s.array(np.zeros((2, 2)))), LinearAlgebraError, "singular")


class Lu(Composite):
    """Factors P, L, U with `A = P @ L @ U`: a permutation, a lower and an upper triangle.

    >>> tx.linalg.lu(tx.tensor([[0.0, 1.0], [2.0, 3.0]])).P
    tensor([[0., 1.],
            [1., 0.]])
    """

    signature = "lu(A, *, pivot: bool = True) -> (P, L, U)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(A, pivot):
        LU, pivots, _ = tx.linalg.lu_factor_ex(A, pivot=pivot)
        P, L, U = tx.lu_unpack(LU, pivots)
        return named("lu", P=P if pivot else tx.zeros((0,), dtype=A.dtype), L=L, U=U)

    def reference(A, pivot):
        P, L, U = _slow_factors(A)
        return (P.astype(A.dtype) if pivot else np.empty(0, A.dtype)), L, U

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))
        yield Sample(full_rank(s, s.n, s.n + s.m))
        yield Sample(regular(s, s.n, s.n), pivot=False)
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class TopLu(Composite):
    """What `linalg.lu_factor_ex` gives, `info` only with `get_infos`.

    >>> LU, pivots = tx.lu(tx.eye(2))
    >>> pivots
    tensor([1, 2], dtype=thixo.int32)
    """

    signature = "lu(A, pivot: bool = True, get_infos: bool = False) -> tensors"
    dtypes = FACTORABLE

    def compose(A, pivot, get_infos):
        LU, pivots, info = tx.linalg.lu_factor_ex(A, pivot=pivot)
        return (LU, pivots, info) if get_infos else (LU, pivots)

    def reference(A, pivot, get_infos):
        info = (np.zeros(A.shape[:-2], np.int32),) if get_infos else ()
        return _slow_packed(A) + info

    def samples(s):
        yield Sample(full_rank(s, s.n, s.n))
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n), get_infos=True)

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class LuUnpack(Op):
    """The permutation and the two triangles of what `linalg.lu_factor` packed.

    >>> LU, pivots = tx.linalg.lu_factor(tx.tensor([[0.0, 1.0], [2.0, 3.0]]))
    >>> P, L, U = tx.lu_unpack(LU, pivots)
    >>> P @ L @ U
    tensor([[0., 1.],
            [2., 3.]])
    """

    signature = (
        "lu_unpack(LU_data, LU_pivots, unpack_data: bool = True, unpack_pivots: bool = True) "
        "-> (P, L, U)"
    )
    dtypes = FACTORABLE
    nondifferentiable = ("P",)

    def infer(LU_data, LU_pivots, unpack_data, unpack_pivots):
        check_matrix("lu_unpack", "LU_data", LU_data)
        *lead, m, n = LU_data.shape
        k = dim_min(m, n)
        if LU_pivots.dtype is not int32:
            raise DTypeError(f"lu_unpack: LU_pivots is {describe(LU_pivots)}; it must be int32")
        if LU_pivots.ndim != LU_data.ndim - 1 or LU_pivots.shape[-1] != k:
            raise ShapeError(
                f"lu_unpack: LU_data is {describe(LU_data)}, LU_pivots is {describe(LU_pivots)}; "
                f"LU_pivots must have a pivot for each of {k} columns"
            )
        none = Spec((0,), LU_data.dtype)
        return (
            Spec((*lead, m, m), LU_data.dtype) if unpack_pivots else none,
            Spec((*lead, m, k), LU_data.dtype) if unpack_data else none,
            Spec((*lead, k, n), LU_data.dtype) if unpack_data else none,
        )

    def kernel(LU_data, LU_pivots, unpack_data, unpack_pivots):
        m, n = LU_data.shape[-2:]
        k = min(m, n)
        P, L, U = (np.empty(0, LU_data.dtype) for _ in range(3))
        if unpack_pivots:
            if np.any((LU_pivots < 1) | (LU_pivots > m)):
                raise LinearAlgebraError(f"lu_unpack: LU_pivots must be rows from 1 to {m}")
            order = routines.permutation(LU_pivots, m)
            P = (order[..., None, :] == np.arange(m)[:, None]).astype(LU_data.dtype)
        if unpack_data:
            L = np.tril(LU_data[..., :k], -1) + np.eye(m, k, dtype=LU_data.dtype)
            U = np.triu(LU_data[..., :k, :])
        return P, L, U

    def vjp_LU_data(g_L, g_U, LU_data_type, unpack_data):  # noqa: N802
        if not unpack_data:
            return None
        *_, m, n = LU_data_type.shape
        k = dim_min(m, n)
        below = tx.constant_pad_nd(tx.tril(g_L, -1), (0, n - k))
        return below + tx.constant_pad_nd(tx.triu(g_U), (0, 0, 0, m - k))

    def reference(LU_data, LU_pivots, unpack_data, unpack_pivots):
        *lead, m, n = LU_data.shape
        k = min(m, n)
        P = np.zeros((*lead, m, m))
        for where in np.ndindex(*lead):
            rows = np.eye(m)
            for i, j in enumerate(LU_pivots[where] - 1):
                rows[[i, j]] = rows[[j, i]]
            P[where] = rows.T
        column, row = np.arange(k), np.arange(k)[:, None]
        L = LU_data[..., :k] * (np.arange(m)[:, None] > column) + np.eye(m, k)
        U = LU_data[..., :k, :] * (row <= np.arange(n))
        none = np.empty(0)
        return (P if unpack_pivots else none), *((L, U) if unpack_data else (none, none))

    def samples(s):
        swaps = s.ints(s.n, low=s.n, high=s.n + 1, dtype=int32)
        yield Sample(s.real(s.n, s.n), swaps)
        yield Sample(s.real(s.n + s.m, s.n), swaps)
        yield Sample(s.real(s.n, s.n + s.m), swaps)
        yield Sample(s.real(s.b, 2, 3), s.ints(s.b, 2, low=2, high=3, dtype=int32))
        yield Sample(s.real(s.n, s.n), swaps, unpack_data=False, grad=False)
        yield Sample(s.real(s.n, s.n), swaps, unpack_pivots=False)

    def bad(s):
        yield Bad(Sample(s.real(2, 2), s.ints(2)), DTypeError, "must be int32")
        yield Bad(Sample(s.real(2, 2), s.ints(3, dtype=int32)), ShapeError, "a pivot for each")
        zero = s.ints(2, high=1, dtype=int32)
        yield Bad(Sample(s.real(2, 2), zero), LinearAlgebraError, "rows from 1")


# ---- systems


class LinalgLuSolve(Composite):
    """The solution of `A X = B`, `A^H X = B` (adjoint) or `X A = B` from the packed factors of A.

    >>> LU, pivots = tx.linalg.lu_factor(tx.tensor([[0.0, 1.0], [2.0, 4.0]]))
    >>> tx.linalg.lu_solve(LU, pivots, tx.ones(2, 1))
    tensor([[-1.5000],
            [ 1.0000]])
    """

    signature = "lu_solve(LU, pivots, B, *, left: bool = True, adjoint: bool = False) -> X"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(LU, pivots, B, left, adjoint):
        op = "linalg.lu_solve"
        check_square(op, "LU", LU)
        check_matrix(op, "B", B)
        check_same_dtype(op, LU=LU, B=B)
        broadcast_batch(op, LU, B)
        if pivots.dtype is not int32:
            raise DTypeError(f"{op}: pivots is {describe(pivots)}; it must be int32")
        if pivots.ndim != LU.ndim - 1 or pivots.shape[-1] != LU.shape[-1]:
            raise ShapeError(f"{op}: LU is {describe(LU)}, pivots is {describe(pivots)}")
        if B.shape[-2 if left else -1] != LU.shape[-1]:
            raise ShapeError(
                f"{op}: sizes differ: LU is {describe(LU)}, B is {describe(B)}; "
                f"B must have as many {'rows' if left else 'columns'} as LU"
            )
        P = tx.lu_unpack(LU, pivots, unpack_data=False).P
        if not left:
            return mH(_lu_solve(LU, P, mH(B), not adjoint))
        return _lu_solve(LU, P, B, adjoint)

    def reference(LU, pivots, B, left, adjoint):
        return _slow_lu_solve(LU, pivots, B, left, adjoint)

    def samples(s):
        ones = s.ints(s.n, low=s.n, high=s.n + 1, dtype=int32)
        yield Sample(regular(s, s.n, s.n), ones, s.real(s.n, s.m))
        yield Sample(regular(s, s.n, s.n), ones, s.real(s.b, s.n, s.m), adjoint=True)
        yield Sample(regular(s, s.n, s.n), ones, s.real(s.m, s.n), left=False)
        yield Sample(regular(s, s.n, s.n), ones, s.real(s.m, s.n), left=False, adjoint=True)

    def bad(s):
        ones = s.ints(2, low=1, high=2, dtype=int32)
        yield Bad(Sample(s.real(2, 2), ones, s.real(3, 1)), ShapeError, "as many rows")
        yield Bad(Sample(s.real(2, 3), ones, s.real(2, 1)), ShapeError, "must be equal")


def _lu_solve(LU: Any, P: Any, B: Any, adjoint: bool) -> Any:
    solve = tx.linalg.solve_triangular
    if adjoint:
        half = solve(mH(LU), B, upper=False)
        return tx.matmul(P, solve(mH(LU), half, upper=True, unitriangular=True))
    half = solve(LU, tx.matmul(P.mT, B), upper=False, unitriangular=True)
    return solve(LU, half, upper=True)


def _slow_lu_solve(LU, pivots, B, left=True, adjoint=False):
    """The matrix put together again, then solved."""
    P, L, U = LuUnpack.reference(LU, pivots, True, True)
    A = P @ L @ U
    A, B = routines.stacked(A.mT.conj() if adjoint else A, B)
    return np.linalg.solve(A, B) if left else np.linalg.solve(A.mT, B.mT).mT


class LuSolve(Composite):
    """The solution of `A X = input` from the packed factors of A.

    >>> LU, pivots = tx.linalg.lu_factor(tx.tensor([[2.0]]))
    >>> tx.lu_solve(tx.ones(1, 1), LU, pivots)
    tensor([[0.5000]])
    """

    signature = "lu_solve(input, LU_data, LU_pivots) -> X"
    dtypes = FACTORABLE

    def compose(input, LU_data, LU_pivots):
        return tx.linalg.lu_solve(LU_data, LU_pivots, input)

    def reference(input, LU_data, LU_pivots):
        return _slow_lu_solve(LU_data, LU_pivots, input)

    def samples(s):
        ones = s.ints(s.n, low=s.n, high=s.n + 1, dtype=int32)
        yield Sample(s.real(s.n, s.m), regular(s, s.n, s.n), ones)
        yield Sample(s.real(s.b, s.n, s.m), regular(s, s.n, s.n), ones)

    def bad(s):
        ones = s.ints(2, low=1, high=2, dtype=int32)
        yield Bad(Sample(s.real(3, 1), s.real(2, 2), ones), ShapeError, "as many rows")
