"""LDL factors of symmetric and Hermitian matrices, packed as LAPACK does."""

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
from thixo.ops.linalg_rules import named
from thixo.ops.linalg_samples import hermitian, positive_definite
from thixo.ops.samples import Bad, Sample


def _slow_factor(input, hermitian):
    """The routine of LAPACK itself, through scipy."""
    import scipy.linalg

    LD, pivots = np.zeros_like(input), np.zeros(input.shape[:-1], np.int32)
    for where in np.ndindex(input.shape[:-2]):
        if input.shape[-1] == 0:
            continue
        complex_ = input.dtype.kind == "c"
        name = ("zhetrf" if hermitian else "zsytrf") if complex_ else "dsytrf"
        packed, swaps, _ = getattr(scipy.linalg.lapack, name)(input[where], lower=1)
        LD[where], pivots[where] = np.tril(packed), swaps
    return LD, pivots


class LdlFactorEx(Op):
    """L and D of `A = L D L^T` (`L^H` if hermitian) in one matrix, the swaps, and 0 or a zero of D.

    >>> tx.linalg.ldl_factor_ex(tx.tensor([[2.0, 1.0], [1.0, 2.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 1.5000]])
    """

    signature = (
        "ldl_factor_ex(input, *, hermitian: bool = False, check_errors: bool = False) "
        "-> (LD, pivots, info)"
    )
    namespace = "linalg"
    dtypes = FACTORABLE
    vjp = None

    def infer(input, hermitian, check_errors):
        check_square("linalg.ldl_factor", "input", input)
        shape = tuple(input.shape)
        return Spec(shape, input.dtype), Spec(shape[:-1], int32), Spec(shape[:-2], int32)

    def kernel(input, hermitian, check_errors):
        LD, pivots, info = routines.ldl_factor(input, hermitian and input.dtype.kind == "c")
        if check_errors:
            routines.refuse(
                "linalg.ldl_factor", info, "input is singular: block {step} of D is zero"
            )
        return LD, pivots, info

    def reference(input, hermitian, check_errors):
        return *_slow_factor(input, hermitian), np.zeros(input.shape[:-2], np.int32)

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), hermitian=True)
        yield Sample(hermitian(s, s.b, s.n, s.n), hermitian=True, check_errors=True)
        yield Sample(s.real(s.n, s.n))
        yield Sample(s.real(0, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
        zeros = s.array(np.zeros((2, 2)))
        yield Bad(Sample(zeros, check_errors=True), LinearAlgebraError, "singular")


class LdlFactor(Composite):
    """L and D of `A = L D L^T` (`L^H` if hermitian) packed into one matrix, and the swaps.

    >>> tx.linalg.ldl_factor(tx.tensor([[2.0, 1.0], [1.0, 2.0]])).pivots
    tensor([1, 2], dtype=thixo.int32)
    """

    signature = "ldl_factor(input, *, hermitian: bool = False) -> (LD, pivots)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(input, hermitian):
        LD, pivots, _ = tx.linalg.ldl_factor_ex(input, hermitian=hermitian, check_errors=True)
        return named("ldl_factor", LD=LD, pivots=pivots)

    reference = _slow_factor

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), hermitian=True, grad=False)
        yield Sample(s.real(s.b, s.n, s.n), grad=False)

    def bad(s):
        yield Bad(Sample(s.array(np.zeros((2, 2)))), LinearAlgebraError, "singular")


class LdlSolve(Op):
    """The solution of `A X = B` from what `linalg.ldl_factor` made of A.

    >>> LD, pivots = tx.linalg.ldl_factor(tx.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> tx.linalg.ldl_solve(LD, pivots, tx.ones(2, 1))
    tensor([[0.5000],
            [0.2500]])
    """

    signature = "ldl_solve(LD, pivots, B, *, hermitian: bool = False) -> X"
    namespace = "linalg"
    dtypes = FACTORABLE
    vjp = None

    def infer(LD, pivots, B, hermitian):
        op = "linalg.ldl_solve"
        check_square(op, "LD", LD)
        check_matrix(op, "B", B)
        check_same_dtype(op, LD=LD, B=B)
        if not pivots.dtype.is_integer:
            raise DTypeError(f"{op}: pivots is {describe(pivots)}; it must be integers")
        if pivots.ndim != LD.ndim - 1 or any(
            a != b for a, b in zip(pivots.shape, LD.shape, strict=False)
        ):
            raise ShapeError(
                f"{op}: LD is {describe(LD)}, pivots is {describe(pivots)}; there must be one for each row"
            )
        if B.shape[-2] != LD.shape[-1]:
            raise ShapeError(
                f"{op}: sizes differ: LD is {describe(LD)}, B is {describe(B)}; "
                f"B must have as many rows as LD"
            )
        return Spec((*broadcast_batch(op, LD, B), *B.shape[-2:]), LD.dtype)

    def kernel(LD, pivots, B, hermitian):
        return routines.ldl_solve(LD, pivots, B, hermitian and LD.dtype.kind == "c")

    def reference(LD, pivots, B, hermitian):
        import scipy.linalg

        LD, B = (np.array(x) for x in routines.stacked(LD, B))
        pivots = np.broadcast_to(pivots, LD.shape[:-1])
        X = np.zeros_like(B)
        complex_ = LD.dtype.kind == "c"
        for where in np.ndindex(LD.shape[:-2]):
            if B[where].size:
                name = ("zhetrs" if hermitian else "zsytrs") if complex_ else "dsytrs"
                solve = getattr(scipy.linalg.lapack, name)
                X[where], _ = solve(LD[where], pivots[where], B[where], lower=1)
        return X

    def samples(s):
        order = s.ints(s.n, dtype=int32)
        order[...] = np.arange(1, len(order) + 1)
        yield Sample(positive_definite(s, s.n, s.n), order, s.real(s.n, s.m))
        yield Sample(hermitian(s, s.n, s.n), order, s.real(s.b, s.n, s.m), hermitian=True)

    def bad(s):
        pivots = s.ints(2, low=1, high=2, dtype=int32)
        yield Bad(Sample(s.real(2, 2), pivots, s.real(3, 1)), ShapeError, "as many rows")
        yield Bad(Sample(s.real(2, 2), s.real(2), s.real(2, 1)), DTypeError, "must be integers")
