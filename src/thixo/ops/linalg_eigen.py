"""Eigenvalues and eigenvectors of Hermitian and of general matrices."""

import numpy as np

from thixo.errors import ShapeError, ValueRangeError
from thixo.ops import linalg_routines as routines
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_square
from thixo.ops.linalg_rules import differences, mH, off_diagonal, ratio, scale_columns
from thixo.ops.linalg_samples import hermitian, positive_definite, symmetrised
from thixo.ops.samples import Bad, Sample


def _check_triangle(op: str, UPLO: str) -> None:
    if UPLO.upper() not in ("L", "U"):
        raise ValueRangeError(f"{op}: UPLO is {UPLO!r}; it must be 'L' or 'U'")


def _full(input, UPLO):
    """The Hermitian matrix that one triangle describes."""
    lower = np.tril(input) if UPLO.upper() == "L" else np.triu(input).mT.conj()
    strict = np.tril(lower, -1)
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1).real
    return strict + strict.mT.conj() + diagonal[..., None] * np.eye(input.shape[-1])


def _slow_eigh(input, UPLO):
    """Jacobi's method: rotate away the largest element beside the diagonal until none is left."""
    a = _full(input, UPLO).astype(complex)
    n = a.shape[-1]
    values, vectors = np.zeros(a.shape[:-1]), np.zeros_like(a)
    for where in np.ndindex(a.shape[:-2]):
        m, v = a[where].copy(), np.eye(n, dtype=complex)
        for _ in range(60 * n * n):
            beside = np.abs(m) * (1 - np.eye(n))
            if n < 2 or beside.max() < 1e-15 * np.abs(m).max():
                break
            p, q = np.unravel_index(beside.argmax(), m.shape)
            angle = 0.5 * np.arctan2(2 * abs(m[p, q]), (m[q, q] - m[p, p]).real)
            phase = m[p, q] / abs(m[p, q])
            turn = np.eye(n, dtype=complex)
            turn[p, p] = turn[q, q] = np.cos(angle)
            turn[p, q], turn[q, p] = phase * np.sin(angle), -phase.conj() * np.sin(angle)
            m, v = turn.conj().T @ m @ turn, v @ turn
        order = np.argsort(m.diagonal().real)
        values[where], vectors[where] = m.diagonal().real[order], v[:, order]
    return values, vectors if input.dtype.kind == "c" else vectors.real


def _projectors(values, vectors):
    """Free of signs and phases: the values, and each vector's magnitudes."""
    return values, abs(vectors)


class Eigh(Op):
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix, one triangle of it.

    >>> values, vectors = tx.linalg.eigh(tx.tensor([[2.0, 0.0], [0.0, 1.0]]))
    >>> values
    tensor([1., 2.])
    """

    signature = "eigh(input, UPLO: str = 'L') -> (eigenvalues, eigenvectors)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(input, UPLO):
        check_square("linalg.eigh", "input", input)
        _check_triangle("linalg.eigh", UPLO)
        shape = tuple(input.shape)
        return Spec(shape[:-1], input.dtype.to_real()), Spec(shape, input.dtype)

    def kernel(input, UPLO):
        return tuple(routines.converged("linalg.eigh", np.linalg.eigh, input, UPLO.upper()))

    def vjp(g_eigenvalues, g_eigenvectors, eigenvalues, eigenvectors):
        middle = off_diagonal(tx.matmul(mH(eigenvectors), g_eigenvectors))
        middle = ratio(middle, differences(eigenvalues))
        middle = (middle + mH(middle)) * 0.5 + tx.diag_embed(g_eigenvalues)
        return tx.matmul(eigenvectors, tx.matmul(middle, mH(eigenvectors)))

    reference = _slow_eigh

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), before=symmetrised, after=_projectors)
        yield Sample(hermitian(s, s.b, s.n, s.n), "U", before=symmetrised, after=_projectors)
        yield Sample(s.real(0, s.n, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
        yield Bad(Sample(s.real(2, 2), "wrong"), ValueRangeError, "must be 'L' or 'U'")


class Eigvalsh(Op):
    """The eigenvalues of a Hermitian matrix, ascending.

    >>> tx.linalg.eigvalsh(tx.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """

    signature = "eigvalsh(input, UPLO: str = 'L') -> eigenvalues"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(input, UPLO):
        check_square("linalg.eigvalsh", "input", input)
        _check_triangle("linalg.eigvalsh", UPLO)
        return Spec(tuple(input.shape[:-1]), input.dtype.to_real())

    def kernel(input, UPLO):
        return routines.converged("linalg.eigvalsh", np.linalg.eigvalsh, input, UPLO.upper())

    def vjp(g, input, UPLO):
        vectors = tx.linalg.eigh(input, UPLO).eigenvectors
        return tx.matmul(scale_columns(vectors, g), mH(vectors))

    def reference(input, UPLO):
        return _slow_eigh(input, UPLO)[0]

    def samples(s):
        yield Sample(positive_definite(s, s.n, s.n), before=symmetrised)
        yield Sample(hermitian(s, s.b, s.n, s.n), "U", before=symmetrised)
        yield Sample(s.real(0, s.n, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
        yield Bad(Sample(s.real(2, 2), "wrong"), ValueRangeError, "must be 'L' or 'U'")


# ---- general matrices


def _slow_eig(input):
    """Upper triangular by Schur's method (scipy), then back substitution for the vectors."""
    import scipy.linalg

    n = input.shape[-1]
    values = np.zeros(input.shape[:-1], complex)
    vectors = np.zeros(input.shape, complex)
    for where in np.ndindex(input.shape[:-2]):
        if n == 0:
            continue
        T, Z = scipy.linalg.schur(input[where], output="complex")
        for k in range(n):
            x = np.zeros(n, complex)
            x[k] = 1
            for i in reversed(range(k)):
                x[i] = -(T[i, i + 1 : k + 1] @ x[i + 1 : k + 1]) / (T[i, i] - T[k, k])
            values[(*where, k)] = T[k, k]
            vectors[(*where, slice(None), k)] = Z @ x / np.linalg.norm(x)
    return values, vectors


def _without_order(values, vectors):
    """Free of the order of the values and the phases of the vectors: sums over all of them."""
    powers = (values.sum(-1), (values**2).sum(-1), (values**3).sum(-1))
    return *powers, (abs(vectors) ** 2).sum(-1), (abs(vectors) ** 2 * values[..., None, :]).sum(-1)


class Eig(Op):
    """The eigenvalues and eigenvectors (of length 1) of a square matrix, complex always.

    >>> tx.linalg.eig(tx.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.abs()
    tensor([1., 1.])
    """

    signature = "eig(input) -> (eigenvalues, eigenvectors)"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(input):
        check_square("linalg.eig", "input", input)
        shape, dtype = tuple(input.shape), input.dtype.to_complex()
        return Spec(shape[:-1], dtype), Spec(shape, dtype)

    def kernel(input):
        return tuple(routines.converged("linalg.eig", np.linalg.eig, input))

    def vjp(g_eigenvalues, g_eigenvectors, eigenvalues, eigenvectors):
        V = eigenvectors
        inner = tx.matmul(mH(V), g_eigenvectors)
        # The vectors keep length 1: what a gradient says about their length does not count.
        lengths = tx.diagonal(inner, 0, -2, -1).real
        inner = inner - scale_columns(tx.matmul(mH(V), V), lengths)
        middle = ratio(off_diagonal(inner), differences(eigenvalues).conj())
        middle = middle + tx.diag_embed(g_eigenvalues)
        return tx.linalg.solve(mH(V), tx.matmul(middle, mH(V)))

    reference = _slow_eig

    def samples(s):
        yield Sample(_spread(s, s.n, s.n), after=_without_order)
        yield Sample(_spread(s, s.b, s.n, s.n), after=_without_order)
        yield Sample(s.real(0, s.n, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")


def _spread(s, *shape):
    """General matrices with eigenvalues well apart."""
    a = s.real(*shape, low=-0.5, high=0.5)
    i = np.arange(a.shape[-1])
    a[..., i, i] += (2 * i).astype(a.dtype)
    return a


class Eigvals(Op):
    """The eigenvalues of a square matrix, complex always.

    >>> tx.linalg.eigvals(tx.tensor([[0.0, 1.0], [-1.0, 0.0]])).real
    tensor([0., 0.])
    """

    signature = "eigvals(input) -> eigenvalues"
    namespace = "linalg"
    dtypes = FACTORABLE

    def infer(input):
        check_square("linalg.eigvals", "input", input)
        return Spec(tuple(input.shape[:-1]), input.dtype.to_complex())

    def kernel(input):
        return routines.converged("linalg.eigvals", np.linalg.eigvals, input)

    def vjp(g, input):
        V = tx.linalg.eig(input).eigenvectors
        return tx.linalg.solve(mH(V), g.unsqueeze(-1) * mH(V))

    def reference(input):
        return _slow_eig(input)[0]

    def samples(s):
        def without_order(values):
            return values.sum(-1), (values**2).sum(-1), (values**3).sum(-1)

        yield Sample(_spread(s, s.n, s.n), after=without_order)
        yield Sample(_spread(s, s.b, s.n, s.n), after=without_order)
        yield Sample(s.real(0, s.n, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2, 3)), ShapeError, "must be equal")
