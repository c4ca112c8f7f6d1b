"""Norms of vectors and of matrices, and the condition number."""

import math
from typing import Any

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, bfloat16, float16, promote_types
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import FACTORABLE, check_dtype, check_matrix, check_square
from thixo.ops.linalg_samples import full_rank, regular
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dims, reduced_shape

# ---- arguments


def _check_order(op: str, ord: Any, words: tuple[str, ...] = ()) -> None:
    if isinstance(ord, str):
        if ord not in words:
            known = f"; known by name: {', '.join(words)}" if words else ""
            raise ValueRangeError(f"{op}: ord is {ord!r}; it must be a number here{known}")
    elif isinstance(ord, (bool, complex)) or not isinstance(ord, (int, float)):
        raise ArgumentError(
            f"{op}: ord is {ord!r}; it must be a number{' or a name' if words else ''}"
        )


def _computed_in(op: str, input: Any, dtype: Any) -> Any:
    """The type a norm is computed in: the input's, or a wider one of its kind that was asked for."""
    if dtype is None:
        return input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise DTypeError(f"{op}: dtype is {dtype.name}; it must be floating point or complex")
    if input.dtype.is_complex != dtype.is_complex:
        kind = "complex" if input.dtype.is_complex else "real"
        raise DTypeError(
            f"{op}: dtype is {dtype.name}; for input, {describe(input)}, it must be {kind}"
        )
    narrows = promote_types(input.dtype, dtype) is not dtype
    if narrows:
        raise DTypeError(f"{op}: dtype is {dtype.name}; it would narrow input, {describe(input)}")
    return dtype


def _axes(op: str, dim: Any, ndim: int) -> tuple[int, ...]:
    return normalize_dims(None if dim == () else dim, ndim, op) if ndim else ()


def _uneven(s: Any, *shape: Any) -> Any:
    """Values of which no two have the same magnitude: the largest and the smallest are clear."""
    return s.distinct(*shape, low=-1.17, high=2.03)


# ---- vectors


class VectorNorm(Op):
    """The norm of order `ord` of all elements, or of those along `dim`: (sum |x|^ord)^(1/ord).

    Order 0 counts what is not zero; inf and -inf give the largest and smallest magnitude.

    >>> tx.linalg.vector_norm(tx.tensor([3.0, 4.0]))
    tensor(5.)
    """

    total = True
    signature = (
        "vector_norm(input, ord: float = 2, dim: ints? = None, keepdim: bool = False, *, "
        "dtype: dtype? = None) -> norm"
    )
    namespace = "linalg"
    dtypes = FLOATS + COMPLEX

    def infer(input, ord, dim, keepdim, dtype):
        op = "linalg.vector_norm"
        _check_order(op, ord)
        if dim is not None and input.ndim == 0:
            normalize_dims(dim, 0, op)
        dims = _axes(op, dim, input.ndim)
        result = _computed_in(op, input, dtype).to_real()
        if ord < 0 or ord == math.inf:
            for d in dims:
                if input.shape[d] == 0:
                    raise ShapeError(
                        f"{op}: ord is {ord}, which has no value over an empty axis; "
                        f"input is {describe(input)}"
                    )
        return Spec(reduced_shape(tuple(input.shape), dims, keepdim), result)

    def kernel(input, ord, dim, keepdim, dtype):
        x = input if dtype is None else input.astype(np.result_type(input, dtype.numpy))
        dims = _axes("linalg.vector_norm", dim, x.ndim)
        size = np.abs(x)
        with np.errstate(all="ignore"):
            if ord == math.inf:
                return np.asarray(size.max(axis=dims, keepdims=keepdim))
            if ord == -math.inf:
                return np.asarray(size.min(axis=dims, keepdims=keepdim))
            wide = size.astype(np.float64)
            if ord == 0:
                return np.asarray((wide != 0).sum(axis=dims, keepdims=keepdim))
            if ord == 1:
                return np.asarray(wide.sum(axis=dims, keepdims=keepdim))
            if ord == 2:
                return np.asarray(np.sqrt((wide * wide).sum(axis=dims, keepdims=keepdim)))
            return np.asarray((wide**ord).sum(axis=dims, keepdims=keepdim) ** (1.0 / ord))

    row_fixed = ("ord",)

    def rows(k, input, ord):
        if ord == math.inf:
            return k.reduce_max(k.abs(input))
        if ord == -math.inf:
            return k.reduce_min(k.abs(input))
        if ord == 0:
            return k.reduce_sum(k.truth(input))
        if ord == 2:
            wide = k.wide(input)
            square = wide.re * wide.re + wide.im * wide.im if k.is_complex(wide) else wide * wide
            return k.sqrt(k.reduce_sum(square))
        size = k.wide(k.abs(input))
        if ord == 1:
            return k.reduce_sum(size)
        return k.pow(k.reduce_sum(k.pow(size, float(ord))), 1.0 / ord)

    def vjp(g, input, norm, ord, dim, keepdim):
        dims = _axes("linalg.vector_norm", dim, input.ndim)
        if not keepdim:
            for d in sorted(dims):
                g, norm = g.unsqueeze(d), norm.unsqueeze(d)
        if ord == 0:
            return tx.zeros_like(input)
        if ord == 1:
            return g * tx.sgn(input)
        if ord == 2:
            return input * tx.where(norm == 0, 0, g / tx.where(norm == 0, 1, norm))
        size = tx.abs(input)
        if ord in (math.inf, -math.inf):
            # Magnitudes that tie share the gradient.
            same = (size == norm) | (tx.isnan(size) & tx.isnan(norm))
            ties = tx.sum(same, dims, True) if dims else 1
            return tx.where(same, tx.sgn(input) * (g / ties), 0)
        still = size == 0
        power = tx.where(still, 0, tx.where(still, 1, size) ** (ord - 1))
        scale = tx.where(norm == 0, 0, g / tx.where(norm == 0, 1, norm) ** (ord - 1))
        return tx.sgn(input) * power * scale

    def reference(input, ord, dim, keepdim, dtype):
        dims = (
            tuple(range(input.ndim))
            if dim in (None, ())
            else tuple(d % max(input.ndim, 1) for d in dim)
        )
        dims = dims if input.ndim else ()
        kept = [d for d in range(input.ndim) if d not in dims]
        rows = np.transpose(input, kept + sorted(dims))
        rows = (
            rows.reshape(*rows.shape[: len(kept)], -1)
            if rows.size
            else np.zeros((*rows.shape[: len(kept)], 0), input.dtype)
        )
        result = np.zeros(rows.shape[:-1])
        for where in np.ndindex(result.shape):
            result[where] = np.linalg.norm(rows[where], ord) if rows.shape[-1] else 0.0
        if not keepdim:
            return result
        return result.reshape([1 if d in dims else input.shape[d] for d in range(input.ndim)])

    def samples(s):
        for ord in (2, 1, 0, 3, 0.5, -1, -2.5, math.inf, -math.inf):
            yield Sample(_uneven(s, s.n, s.m), ord)
            yield Sample(_uneven(s, s.n, s.m, s.k), ord, dim=(0, -1), keepdim=True)
        yield Sample(_uneven(s, s.n, s.m), dim=1)
        yield Sample(s.real(low=0.5))
        yield Sample(s.real(low=0.5), 3, dim=0)
        yield Sample(s.real(s.n, 0))
        yield Sample(s.real(0), 3.5)

    def bad(s):
        yield Bad(Sample(s.real(0), -1), ShapeError, "empty axis")
        yield Bad(Sample(s.real(2, 0), math.inf, dim=1), ShapeError, "empty axis")


# ---- matrices


_MATRIX_ORDERS = ("fro", "nuc")


def _matrix_norm(op: str, A: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    _check_order(op, ord, _MATRIX_ORDERS)
    if A.ndim < 2:
        raise ShapeError(f"{op}: input is {describe(A)}; it must have at least 2 axes")
    if dim is None or len(dim) != 2:
        raise ShapeError(f"{op}: dim is {dim}; it must name 2 axes")
    rows, columns = normalize_dims(tuple(dim), A.ndim, op)
    wanted = _computed_in(op, A, dtype)
    if ord == "fro":
        return tx.linalg.vector_norm(A, 2, (rows, columns), keepdim, dtype=dtype)
    if not isinstance(ord, str) and abs(ord) not in (1, 2, math.inf):
        raise ValueRangeError(
            f"{op}: ord is {ord!r}; a matrix norm is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    A = A.to(wanted)
    if ord == "nuc" or abs(ord) == 2:
        check_dtype(op, "input", A, FACTORABLE)
        S = tx.linalg.svdvals(tx.movedim(A, (rows, columns), (-2, -1)))
        norm = tx.sum(S, -1) if ord == "nuc" else _extreme(op, A, S, ord, -1)
    else:
        over, rest = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = tx.linalg.vector_norm(A, 1, over, True)
        norm = _extreme(op, A, sums, ord, rest).squeeze(over - (rest < over))
    if keepdim:
        for d in sorted((rows, columns)):
            norm = norm.unsqueeze(d)
    return norm


def _extreme(op: str, A: Any, values: Any, ord: Any, dim: int) -> Any:
    if values.shape[dim] == 0:
        raise ShapeError(
            f"{op}: ord is {ord}, which has no value for an empty matrix, {describe(A)}"
        )
    return tx.amax(values, dim) if ord > 0 else tx.amin(values, dim)


def _slow_matrix_norm(input, ord, dim, keepdim, dtype):
    return np.asarray(np.linalg.norm(input, ord, tuple(dim), keepdim))


class MatrixNorm(Composite):
    """A norm of matrices: "fro", "nuc", or by order 1, -1, 2, -2, inf, -inf.

    >>> tx.linalg.matrix_norm(tx.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """

    signature = (
        "matrix_norm(input, ord: any = 'fro', dim: ints = (-2, -1), keepdim: bool = False, *, "
        "dtype: dtype? = None) -> norm"
    )
    namespace = "linalg"
    dtypes = FLOATS + COMPLEX

    def compose(input, ord, dim, keepdim, dtype):
        return _matrix_norm("linalg.matrix_norm", input, ord, dim, keepdim, dtype)

    reference = _slow_matrix_norm

    def samples(s):
        half = s.dtype in (float16, bfloat16)
        for ord in ("fro", 1, -1, math.inf, -math.inf) + (() if half else ("nuc", 2, -2)):
            yield Sample(full_rank(s, s.n + s.m, s.n), ord)
        yield Sample(s.real(s.n, s.m, s.k), 1, dim=(0, 2), keepdim=True)
        yield Sample(s.real(s.n, s.m, s.k), -1, dim=(2, 0))
        yield Sample(s.real(s.n, s.m, s.k), math.inf, dim=(-1, 0))
        yield Sample(s.real(0, s.n, s.m))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
        yield Bad(Sample(s.real(3, 2), 3), ValueRangeError, "ord is 3")
        yield Bad(Sample(s.real(3, 2), "bad"), ValueRangeError, "ord is 'bad'")
        yield Bad(Sample(s.real(3, 2), dim=0), ShapeError, "must name 2 axes")


class LinalgNorm(Composite):
    """A norm of vectors or, where two axes (or a matrix and an order) are given, of matrices.

    >>> tx.linalg.norm(tx.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """

    signature = (
        "norm(input, ord: any = None, dim: ints? = None, keepdim: bool = False, *, "
        "dtype: dtype? = None) -> norm"
    )
    namespace = "linalg"
    dtypes = FLOATS + COMPLEX

    def compose(input, ord, dim, keepdim, dtype):
        op = "linalg.norm"
        if dim is not None and len(dim) not in (1, 2):
            raise ShapeError(f"{op}: dim is {dim}; it must name 1 or 2 axes")
        if ord is not None and dim is None and input.ndim not in (1, 2):
            raise ShapeError(
                f"{op}: input is {describe(input)}; with ord and no dim it must have 1 or 2 axes"
            )
        matrix = ord is not None and (len(dim) == 2 if dim is not None else input.ndim == 2)
        if matrix:
            return _matrix_norm(op, input, ord, (0, 1) if dim is None else dim, keepdim, dtype)
        if isinstance(ord, str):
            raise ValueRangeError(
                f"{op}: ord is {ord!r}, a norm of matrices; for vectors it is a number"
            )
        return tx.linalg.vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)

    def reference(input, ord, dim, keepdim, dtype):
        if ord is None and dim is None:
            total = np.sqrt((np.abs(input) ** 2).sum())
            return total.reshape([1] * input.ndim) if keepdim else total
        dims = dim if dim is None or len(dim) == 2 else dim[0]
        return np.asarray(np.linalg.norm(input, ord, dims, keepdim))

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k))
        yield Sample(s.real(s.n, s.m, s.k), keepdim=True)
        yield Sample(s.real(s.n), 3)
        yield Sample(s.real(s.n, s.m), math.inf)
        yield Sample(s.real(s.n, s.m), 1, dim=1)
        yield Sample(s.real(s.n, s.m, s.k), "fro", dim=(0, 2), keepdim=True)

    def bad(s):
        yield Bad(Sample(s.real(2, 2, 2), 2), ShapeError, "1 or 2 axes")
        yield Bad(Sample(s.real(3), "nuc"), ValueRangeError, "a norm of matrices")
        yield Bad(Sample(s.real(2, 2, 2), dim=(0, 1, 2)), ShapeError, "1 or 2 axes")


class Cond(Composite):
    """The condition number: how much solving with the matrix can magnify an error.

    >>> tx.linalg.cond(tx.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor(2.)
    """

    signature = "cond(input, p: any = None) -> y"
    namespace = "linalg"
    dtypes = FACTORABLE

    def compose(input, p):
        op = "linalg.cond"
        check_matrix(op, "input", input)
        if p is not None:
            _check_order(op, p, _MATRIX_ORDERS)
        if p is None or (not isinstance(p, str) and abs(p) == 2):
            S = tx.linalg.svdvals(input)
            if isinstance(S.shape[-1], int) and S.shape[-1] == 0:
                return tx.zeros(tuple(input.shape[:-2]), dtype=S.dtype)
            first, last = S[..., 0], S[..., -1]
            return last / first if p == -2 else first / last
        check_square(op, "input", input)
        inverse, info = tx.linalg.inv_ex(input)
        regular = info == 0
        inverse = tx.where(regular.unsqueeze(-1).unsqueeze(-1), inverse, 0)  # no NaNs in its norm
        product = tx.linalg.matrix_norm(input, p) * tx.linalg.matrix_norm(inverse, p)
        return tx.where(regular, product, math.inf)

    def reference(input, p):
        if 0 in input.shape[-2:]:
            return np.zeros(input.shape[:-2])
        return np.asarray(np.linalg.cond(input, p))

    def samples(s):
        for p in (None, 2, -2, "fro", "nuc", 1, -1, math.inf, -math.inf):
            yield Sample(regular(s, s.n, s.n), p)
        yield Sample(full_rank(s, s.b, s.n + s.m, s.n))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "at least 2 axes")
        yield Bad(Sample(s.real(2, 3), 1), ShapeError, "must be equal")
        yield Bad(Sample(s.real(2, 2), "wrong"), ValueRangeError, "ord is")
