"""Linear algebra: determinants, decompositions, solvers, norms."""

# Written by tools/build_stubs.py from the operator table: do not edit.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from thixo._core._native import Generator as Generator, Tensor as Tensor, _EigenvaluesEigenvectors, _InverseInfo, _LInfo, _LdPivots, _LdPivotsInfo, _LuPivots, _LuPivotsInfo, _PLU, _QR, _ResultInfo, _SignLogabsdet, _SolutionResidualsRankSingular_values, _USVh
from thixo.device import device as Device
from thixo.dtype import DType as DType
from thixo.errors import LinearAlgebraError as LinAlgError

_Number = _float | _complex  # an int or a bool is one too

def cholesky(input: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """L, lower triangular, with `A = L @ L^H`; or U with `A = U^H @ U`."""
def cholesky_ex(input: Tensor, *, upper: _bool = False, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _LInfo:
    """The Cholesky factor, and 0 or the order of the first minor that is not positive."""
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number: how much solving with the matrix can magnify an error."""
def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The cross products of the vectors of size 3 along an axis."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of a square matrix."""
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The diagonals of matrices, the last two axes by default; they share the input's memory."""
def eig(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _EigenvaluesEigenvectors:
    """The eigenvalues and eigenvectors (of length 1) of a square matrix, complex always."""
def eigh(input: Tensor, UPLO: _str = 'L', *, out: tuple[Tensor, ...] | None = None) -> _EigenvaluesEigenvectors:
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix, one triangle of it."""
def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a square matrix, complex always."""
def eigvalsh(input: Tensor, UPLO: _str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a Hermitian matrix, ascending."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections I - tau v v^H, given as `geqrf` keeps them."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix."""
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _InverseInfo:
    """The inverse of a square matrix, and 0 or the pivot at which it failed."""
def ldl_factor(input: Tensor, *, hermitian: _bool = False, out: tuple[Tensor, ...] | None = None) -> _LdPivots:
    """L and D of `A = L D L^T` (`L^H` if hermitian) packed into one matrix, and the swaps."""
def ldl_factor_ex(input: Tensor, *, hermitian: _bool = False, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _LdPivotsInfo:
    """L and D of `A = L D L^T` (`L^H` if hermitian) in one matrix, the swaps, and 0 or a zero of D."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` from what `linalg.ldl_factor` made of A."""
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = None, *, driver: _str | None = None, out: tuple[Tensor, ...] | None = None) -> _SolutionResidualsRankSingular_values:
    """X for which `input @ X` comes nearest to b; its squared distance, the rank and singular values."""
def lu(A: Tensor, *, pivot: _bool = True, out: tuple[Tensor, ...] | None = None) -> _PLU:
    """Factors P, L, U with `A = P @ L @ U`: a permutation, a lower and an upper triangle."""
def lu_factor(A: Tensor, *, pivot: _bool = True, out: tuple[Tensor, ...] | None = None) -> _LuPivots:
    """L (below the diagonal) and U in one matrix, and the row swaps, counted from 1."""
def lu_factor_ex(A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _LuPivotsInfo:
    """L (below the diagonal) and U in one matrix, the row swaps, and 0 or the first zero pivot."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B`, `A^H X = B` (adjoint) or `X A = B` from the packed factors of A."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices, of batches of them (broadcast), or with a vector on either side."""
def matrix_exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of a square matrix: the sum of its powers A^k / k!."""
def matrix_norm(input: Tensor, ord: Any = 'fro', dim: _int | Sequence[_int] = (-2, -1), keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """A norm of matrices: "fro", "nuc", or by order 1, -1, 2, -2, inf, -inf."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix times itself, n factors in all; a negative n takes the inverse."""
def matrix_rank(input: Tensor, tol: Tensor | _Number | None = None, hermitian: _bool = False, *, atol: Tensor | _Number | None = None, rtol: Tensor | _Number | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values of a matrix exceed the tolerance."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that takes the least work."""
def norm(input: Tensor, ord: Any = None, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """A norm of vectors or, where two axes (or a matrix and an order) are given, of matrices."""
def pinv(input: Tensor, rcond: Tensor | _Number | None = None, hermitian: _bool = False, *, atol: Tensor | _Number | None = None, rtol: Tensor | _Number | None = None, out: Tensor | None = None) -> Tensor:
    """The pseudo-inverse: singular values above the tolerance inverted, the others dropped."""
def qr(A: Tensor, mode: _str = 'reduced', *, out: tuple[Tensor, ...] | None = None) -> _QR:
    """Q with orthonormal columns and R, upper triangular, with `A = Q @ R`."""
def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _SignLogabsdet:
    """The sign (or phase) of the determinant, and the logarithm of its magnitude."""
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B`, or of `X A = B` with `left=False`."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: tuple[Tensor, ...] | None = None) -> _ResultInfo:
    """The solution of `A X = B`, and 0 for each system or the pivot at which it failed."""
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = B` (or `X A = B`) for a triangular A; its other triangle is not read."""
def svd(A: Tensor, full_matrices: _bool = True, *, driver: _str | None = None, out: tuple[Tensor, ...] | None = None) -> _USVh:
    """U, S, Vh with `A = U @ diag(S) @ Vh`: orthonormal vectors and singular values, descending."""
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of a matrix, descending."""
def tensorinv(input: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor as a map from its last axes to its first `ind` axes."""
def tensorsolve(input: Tensor, other: Tensor, dims: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """X such that `tensordot(input, X, X.ndim)` is `other`."""
def vander(x: Tensor, *, N: _int | None = None, out: Tensor | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, along a new last axis."""
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The dot products of the vectors along an axis, the first ones conjugated."""
def vector_norm(input: Tensor, ord: _float = 2, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of order `ord` of all elements, or of those along `dim`: (sum |x|^ord)^(1/ord)."""
