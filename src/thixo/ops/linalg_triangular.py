"""Systems whose matrix is triangular, or known by its Cholesky factor."""

from typing import Any

import numpy as np

from thixo.errors import ShapeError, describe
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
from thixo.ops.linalg_samples import regular, triangular
from thixo.ops.samples import Bad, Sample


class SolveTriangular(Op):
    """The solution of `A X = B` (or `X A = B`) for a triangular A; its other triangle is not read.

    >>> A = tx.tensor([[1.0, 0.0], [1.0, 1.0]])
    >>> tx.linalg.solve_triangular(A, tx.ones(2, 1), upper=False)
    tensor([[1.],
            [0.]])
    """

    signature = "solve_triangular(input, B, *, upper: bool, left: bool = True, unitriangular: bool = False) -> X"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(input, B, upper, left, unitriangular):
        op = "linalg.solve_triangular"
        check_square(op, "input", input)
        check_matrix(op, "B", B)
        check_same_dtype(op, input=input, B=B)
        if B.shape[-2 if left else -1] != input.shape[-1]:
            raise ShapeError(
                f"{op}: sizes differ: input is {describe(input)}, B is {describe(B)}; "
                f"B must have as many {'rows' if left else 'columns'} as input"
            )
        return Spec((*broadcast_batch(op, input, B), *B.shape[-2:]), input.dtype)

    def kernel(input, B, upper, left, unitriangular):
        a, b = routines.widened(input, B)
        if left:
            return routines.solve_triangular(a, b, upper, unitriangular)
        return routines.solve_triangular(a.mT, b.mT, not upper, unitriangular).mT

    def vjp_input(g, input, X, upper, left, unitriangular):
        g = _back_substituted(g, input, upper, left, unitriangular)
        g = -tx.matmul(g, mH(X)) if left else -tx.matmul(mH(X), g)
        cut = 1 if unitriangular else 0
        return tx.triu(g, cut) if upper else tx.tril(g, -cut)

    def vjp_B(g, input, upper, left, unitriangular):  # noqa: N802
        return _back_substituted(g, input, upper, left, unitriangular)

    def reference(input, B, upper, left, unitriangular):
        a = np.triu(input) if upper else np.tril(input)
        if unitriangular:
            a = a * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1])
        a, b = routines.stacked(a, B)
        return np.linalg.solve(a, b) if left else np.linalg.solve(a.mT, b.mT).mT

    def samples(s):
        yield Sample(regular(s, s.n, s.n), s.real(s.n, s.m), upper=True)
        yield Sample(regular(s, s.n, s.n), s.real(s.n, s.m), upper=False)
        yield Sample(regular(s, s.n, s.n), s.real(s.m, s.n), upper=True, left=False)
        yield Sample(regular(s, s.b, s.n, s.n), s.real(s.n, s.k), upper=False)
        yield Sample(s.real(s.n, s.n), s.real(s.b, s.n, s.k), upper=True, unitriangular=True)
        yield Sample(s.real(0, 0), s.real(0, s.k), upper=True)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2, 1), upper=True), ShapeError, "must be equal")
        yield Bad(Sample(s.real(2, 2), s.real(2), upper=True), ShapeError, "B is")
        yield Bad(Sample(s.real(2, 2), s.real(3, 1), upper=True), ShapeError, "as many rows")


def _back_substituted(g: Any, A: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return tx.linalg.solve_triangular(
        mH(A), g, upper=not upper, left=left, unitriangular=unitriangular
    )


class TriangularSolve(Composite):
    """The solution of `A X = input` for a triangular A, and a copy of A.

    >>> tx.triangular_solve(tx.ones(1, 1), tx.tensor([[2.0]])).solution
    tensor([[0.5000]])
    """

    signature = (
        "triangular_solve(input, A, upper: bool = True, transpose: bool = False, "
        "unitriangular: bool = False) -> (solution, cloned_coefficient)"
    )
    dtypes = FACTORABLE

    def compose(input, A, upper, transpose, unitriangular):
        check_matrix("triangular_solve", "input", input)
        check_square("triangular_solve", "A", A)
        matrix, above = (A.mT, not upper) if transpose else (A, upper)
        solution = tx.linalg.solve_triangular(
            matrix, input, upper=above, unitriangular=unitriangular
        )
        lead = broadcast_batch("triangular_solve", input, A)
        copy = tx.expand(A, (*lead, *A.shape[-2:])).clone()
        return named("triangular_solve", solution=solution, cloned_coefficient=copy)

    def reference(input, A, upper, transpose, unitriangular):
        a = np.triu(A) if upper else np.tril(A)
        if unitriangular:
            a = a * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1])
        a, b = routines.stacked(a.mT if transpose else a, input)
        return np.linalg.solve(a, b), np.broadcast_to(A, a.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), regular(s, s.n, s.n))
        yield Sample(s.real(s.n, s.m), regular(s, s.b, s.n, s.n), upper=False, transpose=True)
        yield Sample(s.real(s.b, s.n, s.m), s.real(s.n, s.n), unitriangular=True)

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(2, 2)), ShapeError, "input is")


# ---- from a Cholesky factor


def _from_factor(g: Any, factor: Any, upper: bool) -> Any:
    """From the gradient towards L L^H (or U^H U) to the one towards the factor."""
    g = g + mH(g)
    return tx.matmul(factor, g) if upper else tx.matmul(g, factor)


def _slow_product(factor, upper):
    factor = np.triu(factor) if upper else np.tril(factor)
    return factor.mT.conj() @ factor if upper else factor @ factor.mT.conj()


class CholeskySolve(Op):
    """The solution of `A X = input`, from the Cholesky factor of A.

    >>> tx.cholesky_solve(tx.ones(1, 1), tx.tensor([[2.0]]))
    tensor([[0.2500]])
    """

    signature = "cholesky_solve(input, input2, upper: bool = False) -> X"
    dtypes = FACTORABLE

    def infer(input, input2, upper):
        op = "cholesky_solve"
        check_matrix(op, "input", input)
        check_square(op, "input2", input2)
        check_same_dtype(op, input=input, input2=input2)
        if input.shape[-2] != input2.shape[-1]:
            raise ShapeError(
                f"{op}: sizes differ: input is {describe(input)}, input2 is {describe(input2)}; "
                f"input must have as many rows as input2"
            )
        return Spec((*broadcast_batch(op, input, input2), *input.shape[-2:]), input.dtype)

    def kernel(input, input2, upper):
        b, factor = routines.widened(input, input2)
        lower = routines.adjoint(factor) if upper else factor
        half = routines.solve_triangular(lower, b, upper=False)
        return routines.solve_triangular(routines.adjoint(lower), half, upper=True)

    def vjp_input(g, input2, upper):
        return tx.cholesky_solve(g, input2, upper)

    def vjp_input2(g, input2, X, upper):
        g = tx.cholesky_solve(g, input2, upper)
        return _from_factor(-tx.matmul(g, mH(X)), input2, upper)

    def reference(input, input2, upper):
        return np.linalg.solve(*routines.stacked(_slow_product(input2, upper), input))

    def samples(s):
        # The rule of PyTorch: the gradient is that of (L L^H)^-1 B for any L, not only its triangle.
        yield Sample(s.real(s.n, s.m), triangular(s, s.n, s.n), grad=False)
        yield Sample(s.real(s.n, s.m), triangular(s, s.b, s.n, s.n, upper=True), True, grad=False)
        yield Sample(s.real(s.b, s.n, s.m), triangular(s, s.n, s.n), grad=False)
        yield Sample(s.real(0, s.m), s.real(0, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 1), s.real(2, 3)), ShapeError, "must be equal")
        yield Bad(Sample(s.real(3, 1), s.real(2, 2)), ShapeError, "as many rows")


class CholeskyInverse(Op):
    """The inverse of A, from its Cholesky factor.

    >>> tx.cholesky_inverse(tx.tensor([[2.0]]))
    tensor([[0.2500]])
    """

    signature = "cholesky_inverse(input, upper: bool = False) -> X"
    dtypes = FACTORABLE

    def infer(input, upper):
        check_square("cholesky_inverse", "input", input)
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, upper):
        (factor,) = routines.widened(input)
        lower = routines.adjoint(factor) if upper else factor
        one = np.broadcast_to(np.eye(input.shape[-1]), input.shape)
        half = routines.solve_triangular(lower, one, upper=False)
        return routines.adjoint(half) @ half

    def vjp(g, input, X, upper):
        return _from_factor(-tx.matmul(X, tx.matmul(g, X)), input, upper)

    def reference(input, upper):
        return np.linalg.inv(_slow_product(input, upper))

    def samples(s):
        yield Sample(triangular(s, s.n, s.n), grad=False)
        yield Sample(triangular(s, s.b, s.n, s.n, upper=True), True, grad=False)
        yield Sample(s.real(s.b, 0, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
