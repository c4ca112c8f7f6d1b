"""What NumPy's linear algebra lacks, on stacks of matrices: LU, triangular systems, LDL, exp.

Plain arrays in, fresh arrays out; a stack is worked on at once wherever its members take the same steps.
Pivots and `info` follow LAPACK: rows are counted from 1, and `info` is 0 or the first step that failed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from thixo.errors import LinearAlgebraError

_SMALL = 16  # triangular systems of this size are solved row by row, larger ones by halves


def widened(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays in double precision, so that float32 loses nothing but its last rounding."""
    return tuple(a.astype(np.complex128 if a.dtype.kind == "c" else np.float64) for a in arrays)


def adjoint(a: np.ndarray) -> np.ndarray:
    """The conjugate transpose of each matrix."""
    return a.mT.conj()


def stacked(*arrays: np.ndarray) -> list[np.ndarray]:
    """Matrices with their leading axes broadcast against each other."""
    lead = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    return [np.broadcast_to(a, lead + a.shape[-2:]) for a in arrays]


def _size_of(z: np.ndarray) -> np.ndarray:
    # LAPACK compares complex numbers by |re| + |im| when it looks for a pivot.
    return np.abs(z.real) + np.abs(z.imag) if z.dtype.kind == "c" else np.abs(z)


# ---- LU


def lu_factor(a: np.ndarray, pivot: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L below and U on and above the diagonal of one matrix, the row swaps, and `info`."""
    *lead, m, n = a.shape
    k = min(m, n)
    (packed,) = widened(a.reshape(int(np.prod(lead)), m, n))
    every = np.arange(len(packed))
    pivots = np.empty((len(packed), k), np.int32)
    info = np.zeros(len(packed), np.int32)
    with np.errstate(all="ignore"):
        for j in range(k):
            row = np.full(len(packed), j)
            if pivot and len(packed):
                row = j + np.argmax(_size_of(packed[:, j:, j]), axis=1)
                kept = packed[every, row].copy()
                packed[every, row] = packed[:, j]
                packed[:, j] = kept
            pivots[:, j] = row + 1
            head = packed[:, j, j]
            info[(info == 0) & (head == 0)] = j + 1
            packed[:, j + 1 :, j] /= np.where(head == 0, 1, head)[:, None]
            packed[:, j + 1 :, j + 1 :] -= packed[:, j + 1 :, j, None] * packed[:, j, None, j + 1 :]
    return packed.reshape(a.shape), pivots.reshape(*lead, k), info.reshape(lead)


def permutation(pivots: np.ndarray, rows: int) -> np.ndarray:
    """Row i of P.T @ A is row `permutation[i]` of A: the swaps of `pivots`, done one after the other."""
    *lead, k = pivots.shape
    swaps = pivots.reshape(int(np.prod(lead)), k) - 1
    order = np.tile(np.arange(rows), (len(swaps), 1))
    every = np.arange(len(swaps))
    for j in range(k):
        kept = order[every, swaps[:, j]].copy()
        order[every, swaps[:, j]] = order[:, j]
        order[:, j] = kept
    return order.reshape(*lead, rows)


# ---- triangular systems


def solve_triangular(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool = False) -> np.ndarray:
    """X with A X = B, reading one triangle of A; a zero on the diagonal gives infinities."""
    a, b = stacked(a, b)
    x = np.array(b, np.result_type(a, b))
    with np.errstate(all="ignore"):
        _substitute(a, x, upper, unit)
    return x


def _substitute(a: np.ndarray, x: np.ndarray, upper: bool, unit: bool) -> None:
    """Turns the right-hand sides `x` into solutions, in place."""
    n = a.shape[-1]
    if n > _SMALL:
        top, bottom = slice(0, n // 2), slice(n // 2, n)
        first, last = (bottom, top) if upper else (top, bottom)
        _substitute(a[..., first, first], x[..., first, :], upper, unit)
        x[..., last, :] -= a[..., last, first] @ x[..., first, :]
        _substitute(a[..., last, last], x[..., last, :], upper, unit)
        return
    for i in reversed(range(n)) if upper else range(n):
        done = slice(i + 1, n) if upper else slice(0, i)
        x[..., i, :] -= (a[..., i, None, done] @ x[..., done, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]


# ---- general systems


def solve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """X with A X = B, and `info`; where a matrix is singular its X is meaningless."""
    a, b = widened(a, b)
    lead = a.shape[:-2]
    a, b = stacked(a, b)
    info = np.zeros(lead, np.int32)
    try:
        return np.linalg.solve(a, b), info
    except np.linalg.LinAlgError:  # which of them it was, only the factors tell
        packed, pivots, info = lu_factor(a)
        order = permutation(pivots, a.shape[-1])
        x = np.take_along_axis(np.array(b), order[..., None], axis=-2)
        x = solve_triangular(packed, x, upper=False, unit=True)
        x = solve_triangular(packed, x, upper=True)
        return x, info.reshape(-1)[: int(np.prod(lead))].reshape(lead)


def inverse(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The inverse of each matrix and `info`."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1]), a.shape))


def refuse(operation: str, info: np.ndarray, reason: str) -> None:
    """Raises for the first matrix of a stack that `info` says failed; `reason` may name {step}."""
    failed = np.argwhere(info)
    if len(failed) == 0:
        return
    where = tuple(int(i) for i in failed[0])
    member = f" (matrix {where} of the batch)" if where else ""
    raise LinearAlgebraError(f"{operation}: {reason.format(step=int(info[where]))}{member}")


def converged(operation: str, compute: Callable[..., Any], *arguments: Any) -> Any:
    """What NumPy computes; that it did not converge is said in the operation's name."""
    # LAPACK's routines may run forever on infinities. (Of a Hermitian matrix they read one half only.)
    half = compute in (np.linalg.eigh, np.linalg.eigvalsh)
    if not half and not np.isfinite(arguments[0]).all():
        raise LinearAlgebraError(f"{operation}: did not converge: there are NaNs or infinities")
    try:
        return compute(*arguments)
    except np.linalg.LinAlgError as error:
        reason = f"{str(error).lower()}; are there NaNs or infinities?"
        raise LinearAlgebraError(f"{operation}: {reason}") from None


# ---- Cholesky


def cholesky(a: np.ndarray, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    """The factor of each matrix and `info`: the order of the first minor that is not positive."""
    (a,) = widened(adjoint(a) if upper else a)
    info = np.zeros(a.shape[:-2], np.int32)
    try:
        factor = np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        factor = _cholesky_by_columns(a, info)
    return (adjoint(factor) if upper else factor), info


def _cholesky_by_columns(a: np.ndarray, info: np.ndarray) -> np.ndarray:
    """Like LAPACK it stops at a bad minor and leaves what follows in that matrix as it was."""
    factor = np.tril(a)
    with np.errstate(all="ignore"):
        for j in range(a.shape[-1]):
            row, rest = factor[..., j, :j], factor[..., j + 1 :, :j]
            head = factor[..., j, j].real - np.sum(np.abs(row) ** 2, axis=-1)
            good, stopped = (info == 0) & (head > 0), info > 0
            info[~good & ~stopped] = j + 1
            root = np.sqrt(np.where(good, head, 1))
            below = (factor[..., j + 1 :, j] - (rest @ row.conj()[..., None])[..., 0]) / root[
                ..., None
            ]
            factor[..., j, j] = np.where(stopped, factor[..., j, j], np.where(good, root, head))
            factor[..., j + 1 :, j] = np.where(good[..., None], below, factor[..., j + 1 :, j])
    return factor


# ---- exp


_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_PADE_REACH = 5.371920351148152  # the norm up to which degree 13 is exact in double precision


def matrix_exp(a: np.ndarray) -> np.ndarray:
    """exp of each matrix: halved until small, a rational approximation, then squared as often."""
    (a,) = widened(a)
    norm = np.abs(a).sum(axis=-2).max(axis=-1, initial=0.0)
    with np.errstate(all="ignore"):
        halvings = np.ceil(np.log2(norm / _PADE_REACH))
    halvings = np.where(np.isfinite(halvings), np.maximum(halvings, 0), 0)[..., None, None]
    a = a / 2.0**halvings
    one = np.eye(a.shape[-1])
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    c = _PADE
    odd = (
        a6 @ (c[13] * a6 + c[11] * a4 + c[9] * a2) + c[7] * a6 + c[5] * a4 + c[3] * a2 + c[1] * one
    )
    even = (
        a6 @ (c[12] * a6 + c[10] * a4 + c[8] * a2) + c[6] * a6 + c[4] * a4 + c[2] * a2 + c[0] * one
    )
    odd = a @ odd
    result, _ = solve(even - odd, even + odd)
    for i in range(int(halvings.max(initial=0))):
        result = np.where(i < halvings, result @ result, result)
    return result


# ---- LDL


_BUNCH_KAUFMAN = (1 + 17**0.5) / 8  # bounds the growth of the factors


def ldl_factor(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L and the blocks of D packed into the lower triangle, the swaps, and `info`."""
    (packed,) = widened(np.tril(a))
    pivots = np.zeros(a.shape[:-1], np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    for where in np.ndindex(a.shape[:-2]):
        packed[where], pivots[where], info[where] = _ldl_of_one(packed[where], hermitian)
    return packed, pivots, info


def _mirror(a: np.ndarray, hermitian: bool) -> np.ndarray:
    return a.conj().T if hermitian else a.T


def _ldl_of_one(lower: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, int]:
    a = np.tril(lower) + _mirror(np.tril(lower, -1), hermitian)
    if hermitian:
        np.fill_diagonal(a, a.diagonal().real)
    n, k, info = len(a), 0, 0
    pivots = np.zeros(n, np.int32)
    while k < n:
        step, row = _ldl_pivot(a, k)
        if row < 0:  # the column is zero: nothing to eliminate, and D is singular
            info = info or k + 1
            pivots[k] = k + 1
            k += 1
            continue
        last = k + step - 1
        if row != last:
            a[[last, row], k:] = a[[row, last], k:]
            a[k:, [last, row]] = a[k:, [row, last]]
        block, below = a[k : k + step, k : k + step], a[k + step :, k : k + step]
        ratios = np.linalg.solve(block.T, below.T).T if step == 2 else below / block
        a[k + step :, k + step :] -= ratios @ _mirror(below, hermitian)
        a[k + step :, k : k + step] = ratios
        pivots[k : k + step] = row + 1 if step == 1 else -(row + 1)
        k += step
    return np.tril(a), pivots, info


def _ldl_pivot(a: np.ndarray, k: int) -> tuple[int, int]:
    """The size of the next block of D (1 or 2) and the row to swap in; row -1 if all is zero."""
    here = _size_of(a[k, k])
    column = _size_of(a[k + 1 :, k])
    if max(here, column.max(initial=0)) == 0:
        return 1, -1
    if here >= _BUNCH_KAUFMAN * column.max(initial=0):
        return 1, k
    row = k + 1 + int(np.argmax(column))
    others = _size_of(np.delete(a[k:, row], row - k)).max()
    if here >= _BUNCH_KAUFMAN * column.max() * (column.max() / others):
        return 1, k
    return (1, row) if _size_of(a[row, row]) >= _BUNCH_KAUFMAN * others else (2, row)


def ldl_solve(packed: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool) -> np.ndarray:
    """X with A X = B, from what `ldl_factor` made of A."""
    packed, b = widened(*stacked(packed, b))
    pivots = np.broadcast_to(pivots, packed.shape[:-1])
    x = np.array(b, np.result_type(packed, b))
    with np.errstate(all="ignore"):
        for where in np.ndindex(x.shape[:-2]):
            _ldl_solve_one(packed[where], pivots[where], x[where], hermitian)
    return x


def _ldl_solve_one(a: np.ndarray, pivots: np.ndarray, x: np.ndarray, hermitian: bool) -> None:
    n, k = len(a), 0
    steps: list[Any] = []
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        steps.append((slice(k, k + size), slice(k + size, n), k + size - 1, abs(pivots[k]) - 1))
        k += size
    for here, rest, last, row in steps:
        x[[last, row]] = x[[row, last]]
        x[rest] -= a[rest, here] @ x[here]
        block = a[here, here].copy()
        if len(block) == 2:
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
            x[here] = np.linalg.solve(block, x[here])
        else:
            x[here] /= block
    for here, rest, last, row in reversed(steps):
        x[here] -= _mirror(a[rest, here], hermitian) @ x[rest]
        x[[last, row]] = x[[row, last]]
