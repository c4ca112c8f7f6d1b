"""Linear systems and inverses of general matrices."""

from typing import Any

import numpy as np

from thixo.dtype import int32
from thixo.errors import LinearAlgebraError, ShapeError, describe
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
from thixo.ops.linalg_rules import mH
from thixo.ops.linalg_samples import regular
from thixo.ops.rules import conj
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes


def _singular(op: str, info: np.ndarray) -> None:
    routines.refuse(op, info, "A is singular: its pivot {step} is zero")


# ---- general systems


def holds_vectors(A: Any, B: Any) -> bool:
    """Whether B is a vector, or a batch of them that matches A's batch, and no matrix."""
    if B.ndim == 1:
        return True
    return A.ndim - 1 == B.ndim and all(a == b for a, b in zip(A.shape[:-1], B.shape, strict=True))


def _solution_shape(op: str, A: Any, B: Any, left: bool) -> tuple[Any, ...]:
    check_square(op, "A", A)
    check_same_dtype(op, A=A, B=B)
    if holds_vectors(A, B):
        if not left:
            raise ShapeError(
                f"{op}: B is {describe(B)}, which for A, {describe(A)}, is a vector; "
                f"with left=False it must be a matrix"
            )
        if B.shape[-1] != A.shape[-1]:
            raise ShapeError(f"{op}: sizes differ: A is {describe(A)}, B is {describe(B)}")
        return (*broadcast_shapes(A.shape[:-2], B.shape[:-1], op=op), B.shape[-1])
    check_matrix(op, "B", B)
    if B.shape[-2 if left else -1] != A.shape[-1]:
        raise ShapeError(
            f"{op}: sizes differ: A is {describe(A)}, B is {describe(B)}; "
            f"B must have as many {'rows' if left else 'columns'} as A"
        )
    return (*broadcast_batch(op, A, B), *B.shape[-2:])


def _slow_solve(A, B, left):
    """Cramer's rule: quotients of determinants."""
    if not left:
        return _slow_solve(A.mT, B.mT, True).mT
    if holds_vectors(A, B):
        return _slow_solve(A, B[..., None], True)[..., 0]
    A, B = routines.stacked(A, B)
    x = np.empty(B.shape, np.result_type(A, B))
    for i in range(A.shape[-1]):
        for j in range(B.shape[-1]):
            replaced = A.copy()
            replaced[..., :, i] = B[..., :, j]
            x[..., i, j] = np.linalg.det(replaced) / np.linalg.det(A)
    return x


class SolveEx(Op):
    """The solution of `A X = B`, and 0 for each system or the pivot at which it failed.

    >>> tx.linalg.solve_ex(tx.tensor([[2.0]]), tx.tensor([[4.0]])).result
    tensor([[2.]])
    """

    signature = "solve_ex(A, B, *, left: bool = True, check_errors: bool = False) -> (result, info)"
    namespace = "linalg"
    dtypes = FACTORABLE
    nondifferentiable = ("info",)

    def infer(A, B, left, check_errors):
        shape = _solution_shape("linalg.solve", A, B, left)
        return Spec(shape, A.dtype), Spec(tuple(A.shape[:-2]), int32)

    def kernel(A, B, left, check_errors):
        vectors = holds_vectors(A, B)
        a, b = (A, B[..., None] if vectors else B) if left else (A.mT, B.mT)
        x, info = routines.solve(a, b)
        if check_errors:
            _singular("linalg.solve", info)
        return (x[..., 0] if vectors else x if left else x.mT), info

    def vjp_A(g_result, A, B_type, result, left):  # noqa: N802
        if not left:
            return -tx.matmul(mH(result), tx.linalg.solve_ex(mH(A), g_result, left=False).result)
        if not holds_vectors(A, B_type):
            return -tx.matmul(tx.linalg.solve_ex(mH(A), g_result).result, mH(result))
        g = tx.linalg.solve_ex(mH(A), g_result.unsqueeze(-1)).result
        return -g * conj(result).unsqueeze(-2)

    def vjp_B(g_result, A, B_type, left):  # noqa: N802
        if not holds_vectors(A, B_type):
            return tx.linalg.solve_ex(mH(A), g_result, left=left).result
        return tx.linalg.solve_ex(mH(A), g_result.unsqueeze(-1)).result.squeeze(-1)

    def reference(A, B, left, check_errors):
        return _slow_solve(A, B, left), np.zeros(A.shape[:-2], np.int32)

    def samples(s):
        yield Sample(regular(s, s.n, s.n), s.real(s.n, s.m))
        yield Sample(regular(s, s.n, s.n), s.real(s.n))
        yield Sample(regular(s, s.n, s.n), s.real(s.m, s.n), left=False)
        yield Sample(regular(s, s.b, s.n, s.n), s.real(s.n, s.m), check_errors=True)
        yield Sample(regular(s, s.n, s.n), s.real(s.b, s.n, s.m))
        yield Sample(regular(s, s.b, s.n, s.n), s.real(s.b, s.n))
        yield Sample(s.real(0, 0), s.real(0, s.m))
        yield Sample(regular(s, s.n, s.n), s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2)), ShapeError, "must be equal")
        yield Bad(Sample(regular(s, 2, 2), s.real(3)), ShapeError, "sizes differ")
        yield Bad(Sample(regular(s, 2, 2), s.real(3, 2)), ShapeError, "as many rows")
        yield Bad(Sample(regular(s, 2, 2), s.real(2), left=False), ShapeError, "must be a matrix")
        zeros = s.array(np.zeros((2, 2)))
        yield Bad(Sample(zeros, s.real(2), check_errors=True), LinearAlgebraError, "singular")


class Solve(Composite):
    """The solution of `A X = B`, or of `X A = B` with `left=False`.

    B may be a vector; batches are broadcast.

    >>> tx.linalg.solve(tx.tensor([[2.0, 0.0], [0.0, 4.0]]), tx.tensor([1.0, 1.0]))
    tensor([0.5000, 0.2500])
    """

    signature = "solve(A, B, *, left: bool = True) -> X"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(A, B, left):
        return tx.linalg.solve_ex(A, B, left=left, check_errors=True).result

    def reference(A, B, left):
        return _slow_solve(A, B, left)

    def samples(s):
        yield Sample(regular(s, s.n, s.n), s.real(s.n, s.m))
        yield Sample(regular(s, s.n, s.n), s.real(s.n))
        yield Sample(regular(s, s.n, s.n), s.real(s.m, s.n), left=False)
        yield Sample(regular(s, s.b, 1, s.n, s.n), s.real(s.m, s.n, s.k))
        yield Sample(s.real(0, s.n, s.n), s.real(0, s.n, s.k))

    def bad(s):
        zeros = s.array(np.zeros((2, 2)))
        yield Bad(Sample(zeros, s.real(2)), LinearAlgebraError, "singular")


# ---- inverses


def _slow_inverse(A):
    """The adjugate over the determinant."""
    n = A.shape[-1]
    x = np.empty_like(A)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(A, j, axis=-2), i, axis=-1)
            x[..., i, j] = (-1) ** (i + j) * np.linalg.det(minor) / np.linalg.det(A)
    return x


class InvEx(Op):
    """The inverse of a square matrix, and 0 or the pivot at which it failed.

    >>> tx.linalg.inv_ex(tx.tensor([[2.0]])).info
    tensor(0, dtype=thixo.int32)
    """

    signature = "inv_ex(A, *, check_errors: bool = False) -> (inverse, info)"
    namespace = "linalg"
    dtypes = FACTORABLE
    nondifferentiable = ("info",)

    def infer(A, check_errors):
        check_square("linalg.inv", "A", A)
        return Spec(tuple(A.shape), A.dtype), Spec(tuple(A.shape[:-2]), int32)

    def kernel(A, check_errors):
        inverse, info = routines.inverse(A)
        if check_errors:
            _singular("linalg.inv", info)
        return inverse, info

    def vjp(g_inverse, inverse):
        return -tx.matmul(mH(inverse), tx.matmul(g_inverse, mH(inverse)))

    def reference(A, check_errors):
        return _slow_inverse(A), np.zeros(A.shape[:-2], np.int32)

    def samples(s):
        yield Sample(regular(s, s.n, s.n))
        yield Sample(regular(s, s.b, s.n, s.n), check_errors=True)
        yield Sample(s.real(s.b, 0, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")


class Inv(Composite):
    """The inverse of a square matrix.

    >>> tx.linalg.inv(tx.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """

    signature = "inv(A) -> X"
    namespace = "linalg"
    aliases = ("inverse",)
    method = True
    dtypes = FACTORABLE

    def compose(A):
        return tx.linalg.inv_ex(A, check_errors=True).inverse

    reference = _slow_inverse

    def samples(s):
        yield Sample(regular(s, s.n, s.n))
        yield Sample(regular(s, s.b, s.n, s.n))
        yield Sample(s.real(0, s.n, s.n))

    def bad(s):
        yield Bad(Sample(s.array(np.zeros((2, 2)))), LinearAlgebraError, "singular")
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
