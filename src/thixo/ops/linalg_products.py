"""Products of many matrices, powers, cross products, and products over chosen axes."""

import math
from typing import Any

import numpy as np

from thixo.dtype import COMPLEX, FLOATS
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.linalg_checks import (
    FACTORABLE,
    check_dtype,
    check_inner,
    check_ndim,
    check_same_dtype,
    check_square,
)
from thixo.ops.loops import build
from thixo.ops.matmul import NUMBERS, slow_matmul
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes, hint_of, normalize_dim, numel

# ---- many matrices


def _chain_order(sizes: list[int]) -> list[list[int]]:
    """Where to cut each stretch of a chain of matrices (i is sizes[i] x sizes[i + 1]) for least work."""
    count = len(sizes) - 1
    work = [[0.0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = (
                (work[i][c] + work[c + 1][j] + sizes[i] * sizes[c + 1] * sizes[j + 1], c)
                for c in range(i, j)
            )
            work[i][j], cut[i][j] = min(options)
    return cut


class MultiDot(Composite):
    """The product of several matrices, in the order that takes the least work.

    The first and the last may be vectors.

    >>> tx.linalg.multi_dot([tx.ones(2, 3), tx.ones(3, 4), tx.ones(4)])
    tensor([12., 12.])
    """

    signature = "multi_dot(tensors: tensors) -> y"
    namespace = "linalg"
    dtypes = NUMBERS

    def compose(tensors):
        return _multiply_chain("linalg.multi_dot", tensors)

    def reference(tensors):
        y = tensors[0]
        for x in tensors[1:]:
            y = slow_matmul(y, x)
        return y

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.m, s.k)])
        yield Sample([s.real(s.n, s.m), s.real(s.m, s.k), s.real(s.k, s.b), s.real(s.b, s.n)])
        yield Sample([s.real(s.m), s.real(s.m, s.k), s.real(s.k)])
        yield Sample([s.real(s.n, 0), s.real(0, s.k), s.real(s.k)])

    def bad(s):
        yield Bad(Sample([s.real(2, 3)]), ShapeError, "at least 2")
        yield Bad(Sample([s.real(2, 3), s.real(2, 3)]), ShapeError, "inner sizes differ")
        yield Bad(Sample([s.real(2, 3), s.real(3), s.real(3, 2)]), ShapeError, "a matrix")


def _multiply_chain(op: str, tensors: Any) -> Any:
    count = len(tensors)
    if count < 2:
        raise ShapeError(f"{op}: needs at least 2 tensors, got {count}")
    for i, x in enumerate(tensors):
        name = f"tensors[{i}]"
        if x.ndim != 1 or i not in (0, count - 1):
            check_ndim(op, name, x, 2)
        check_same_dtype(op, **{"tensors[0]": tensors[0], name: x})
        if i:
            check_inner(op, f"tensors[{i - 1}]", tensors[i - 1], name, x)
    if count == 2:
        return tx.matmul(*tensors)
    rows = [1 if x.ndim == 1 else hint_of(x.shape[0]) for x in tensors[:1]]
    rows += [hint_of(x.shape[0]) for x in tensors[1:]]
    last = tensors[-1]
    cut = _chain_order([*rows, hint_of(last.shape[1]) if last.ndim == 2 else 1])

    def multiply(i: int, j: int) -> Any:
        if i == j:
            return tensors[i]
        return tx.matmul(multiply(i, cut[i][j]), multiply(cut[i][j] + 1, j))

    return multiply(0, count - 1)


class ChainMatmul(Composite):
    """The product of several matrices, in the order that takes the least work.

    >>> tx.chain_matmul(tx.ones(1, 3), tx.ones(3, 4), tx.ones(4, 1))
    tensor([[12.]])
    """

    signature = "chain_matmul(matrices: tensors...) -> y"
    dtypes = NUMBERS
    method = False

    def compose(matrices):
        for i, x in enumerate(matrices):
            check_ndim("chain_matmul", f"matrices[{i}]", x, 2)
        return matrices[0] if len(matrices) == 1 else _multiply_chain("chain_matmul", matrices)

    def reference(matrices):
        y = matrices[0]
        for x in matrices[1:]:
            y = slow_matmul(y, x)
        return y

    def samples(s):
        yield Sample([s.real(s.n, s.m), s.real(s.m, s.k), s.real(s.k, s.b)])
        yield Sample([s.real(s.n, s.m)])

    def bad(s):
        yield Bad(Sample([s.real(2, 3), s.real(3)]), ShapeError, "a matrix")


# ---- products over chosen axes


def _contracted_axes(a: Any, b: Any, dims: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ValueRangeError(
                f"tensordot: dims is {dims}; it must be from 0 to {min(a.ndim, b.ndim)} for "
                f"{describe(a)} and {describe(b)}"
            )
        return tuple(range(a.ndim - dims, a.ndim)), tuple(range(dims))
    try:
        first, second = ((d,) if isinstance(d, int) else tuple(map(int, d)) for d in dims)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"tensordot: dims is {dims!r}; it must be an int or two lists of axes"
        ) from None
    if len(first) != len(second):
        raise ShapeError(f"tensordot: dims is {dims!r}; both lists must be equally long")
    over_a = tuple(normalize_dim(d, a.ndim, "tensordot") for d in first)
    over_b = tuple(normalize_dim(d, b.ndim, "tensordot") for d in second)
    if len(set(over_a)) != len(over_a) or len(set(over_b)) != len(over_b):
        raise ValueRangeError(f"tensordot: dims is {dims!r}; it names an axis twice")
    return over_a, over_b


class Tensordot(Composite):
    """The products of two tensors, summed over pairs of their axes.

    With a number, the last `dims` axes of a against the first of b.

    >>> tx.tensordot(tx.ones(2, 3), tx.ones(3, 2), 1)
    tensor([[3., 3.],
            [3., 3.]])
    """

    signature = "tensordot(a, b, dims: any = 2) -> y"
    dtypes = NUMBERS
    method = False

    def compose(a, b, dims):
        check_same_dtype("tensordot", a=a, b=b)
        over_a, over_b = _contracted_axes(a, b, dims)
        for i, j in zip(over_a, over_b, strict=True):
            if a.shape[i] != b.shape[j]:
                if a.shape[i] != 1 and b.shape[j] != 1:
                    raise ShapeError(
                        f"tensordot: sizes differ: a is {describe(a)}, b is {describe(b)}; "
                        f"a's axis {i} must equal b's axis {j}"
                    )
                wide = broadcast_shapes(a.shape[i : i + 1], b.shape[j : j + 1])[0]
                a = tx.expand(a, [wide if d == i else -1 for d in range(a.ndim)])
                b = tx.expand(b, [wide if d == j else -1 for d in range(b.ndim)])
        kept_a = [d for d in range(a.ndim) if d not in over_a]
        kept_b = [d for d in range(b.ndim) if d not in over_b]
        shape_a, shape_b = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
        inner = numel([a.shape[d] for d in over_a])
        left = tx.permute(a, [*kept_a, *over_a]).reshape(numel(shape_a), inner)
        right = tx.permute(b, [*over_b, *kept_b]).reshape(inner, numel(shape_b))
        return tx.matmul(left, right).reshape(shape_a + shape_b)

    def reference(a, b, dims):
        over_a, over_b = _contracted_axes(a, b, dims)
        labels_b = [a.ndim + d for d in range(b.ndim)]
        for i, j in zip(over_a, over_b, strict=True):
            labels_b[j] = i
        kept = [d for d in range(a.ndim) if d not in over_a]
        kept += [a.ndim + d for d in range(b.ndim) if d not in over_b]
        return np.einsum(a, list(range(a.ndim)), b, labels_b, kept)

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k), s.real(s.m, s.k, s.b))
        yield Sample(s.real(s.n, s.m), s.real(s.m, s.k), dims=1)
        yield Sample(s.real(s.n), s.real(s.m), dims=0)
        yield Sample(s.real(s.n, s.m, s.k), s.real(s.k, s.b, s.n), dims=([0, -1], [2, 0]))
        yield Sample(s.real(s.n, 0), s.real(0, s.m), dims=1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(4, 5), dims=1), ShapeError, "sizes differ")
        yield Bad(Sample(s.real(2, 3), s.real(3), dims=([0], [0, 1])), ShapeError, "equally long")
        yield Bad(Sample(s.real(2, 3), s.real(3), dims=2), ValueRangeError, "from 0 to 1")


# ---- cross products


def _cross(op: str, input: Any, other: Any, dim: int) -> Any:
    if input.ndim != other.ndim:
        raise ShapeError(
            f"{op}: input is {describe(input)}, other is {describe(other)}; "
            f"they must have the same number of axes"
        )
    for name, x in (("input", input), ("other", other)):
        if x.ndim == 0 or x.shape[normalize_dim(dim, x.ndim, op)] != 3:
            raise ShapeError(f"{op}: {name} is {describe(x)}; its axis {dim} must have size 3")
    shape = broadcast_shapes(input.shape, other.shape, op=op)
    a, b = tx.expand(input, shape), tx.expand(other, shape)
    return tx.roll(a, -1, dim) * tx.roll(b, 1, dim) - tx.roll(a, 1, dim) * tx.roll(b, -1, dim)


def _slow_cross(input, other, dim):
    a, b = (np.moveaxis(x, dim, 0) for x in np.broadcast_arrays(input, other))
    y = np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    return np.moveaxis(y, 0, dim)


class LinalgCross(Composite):
    """The cross products of the vectors of size 3 along an axis.

    >>> tx.linalg.cross(tx.tensor([1, 0, 0]), tx.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """

    signature = "cross(input, other, *, dim: int = -1) -> y"
    namespace = "linalg"
    dtypes = NUMBERS

    def compose(input, other, dim):
        return _cross("linalg.cross", input, other, dim)

    reference = _slow_cross

    def samples(s):
        yield Sample(s.real(3), s.real(3))
        yield Sample(s.real(s.n, 3), s.real(1, 3))
        yield Sample(s.real(3, s.m), s.real(3, s.m), dim=0)
        yield Sample(s.real(0, 3), s.real(0, 3))

    def bad(s):
        yield Bad(Sample(s.real(2, 2), s.real(2, 2)), ShapeError, "must have size 3")
        yield Bad(Sample(s.real(2, 3), s.real(3)), ShapeError, "number of axes")


class Cross(Composite):
    """The cross products of the vectors along an axis: the first of size 3 if none is named.

    >>> tx.cross(tx.tensor([1, 0, 0]), tx.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """

    signature = "cross(input, other, dim: int? = None) -> y"
    dtypes = NUMBERS

    def compose(input, other, dim):
        if dim is None:
            dim = next((d for d, size in enumerate(input.shape) if size == 3), None)
            if dim is None:
                raise ShapeError(f"cross: input is {describe(input)}; it has no axis of size 3")
        return _cross("cross", input, other, dim)

    def reference(input, other, dim):
        return _slow_cross(input, other, input.shape.index(3) if dim is None else dim)

    def samples(s):
        yield Sample(s.real(3), s.real(3))
        yield Sample(s.real(2, 3, s.m), s.real(2, 3, s.m), dim=1)
        yield Sample(s.real(2, 3), s.real(2, 3))

    def bad(s):
        yield Bad(Sample(s.real(2, 2), s.real(2, 2)), ShapeError, "no axis of size 3")


# ---- powers


class MatrixPower(Composite):
    """A square matrix times itself, n factors in all; a negative n takes the inverse.

    >>> tx.linalg.matrix_power(tx.tensor([[1.0, 1.0], [0.0, 1.0]]), 5)
    tensor([[1., 5.],
            [0., 1.]])
    """

    signature = "matrix_power(input, n: int) -> y"
    namespace = "linalg"
    aliases = ("matrix_power",)
    method = True
    dtypes = FLOATS + COMPLEX

    def compose(input, n):
        check_square("linalg.matrix_power", "input", input)
        if n < 0:
            check_dtype("linalg.matrix_power", "input", input, FACTORABLE)
            input, n = tx.linalg.inv(input), -n
        if n == 0:
            # Through `where` the result still counts as computed from the input; its gradient is 0.
            one = tx.eye(input.shape[-1], dtype=input.dtype)
            return tx.where(tx.ones((), dtype=bool_), one, input)
        if n == 1:
            return input.clone()
        power, square = None, input
        while n:
            if n & 1:
                power = square if power is None else tx.matmul(power, square)
            n >>= 1
            square = tx.matmul(square, square) if n else square
        return power

    def reference(input, n):
        factor = np.linalg.inv(input) if n < 0 else input
        y = np.zeros_like(input) + np.eye(input.shape[-1])
        for _ in range(abs(n)):
            y = slow_matmul(y, factor)
        return y

    def samples(s):
        for n in (0, 1, 2, 3, 6):
            yield Sample(s.real(s.n, s.n, low=-1, high=1), n)
        yield Sample(s.real(s.b, s.n, s.n), 2)
        yield Sample(s.real(2, 0, 0), 3)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 2), ShapeError, "must be equal")


class LinalgVander(Composite):
    """The powers 0 to N - 1 of each element, along a new last axis.

    >>> tx.linalg.vander(tx.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """

    signature = "vander(x, *, N: int? = None) -> y"
    namespace = "linalg"
    dtypes = NUMBERS

    def compose(x, N):
        x = x.unsqueeze(0) if x.ndim == 0 else x
        count = x.shape[-1] if N is None else N
        if count < 2:
            raise ValueRangeError(f"linalg.vander: N is {count}; it must be greater than 1")
        x = x.unsqueeze(-1)
        factors = tx.expand(x, [*x.shape[:-1], count - 1])
        return tx.cumprod(tx.cat([tx.ones_like(x), factors], -1), -1)

    def reference(x, N):
        x = np.atleast_1d(x)
        count = x.shape[-1] if N is None else N
        dtype = np.int64 if x.dtype.kind in "iu" else x.dtype
        return build((*x.shape, count), dtype, lambda i: math.prod([x[i[:-1]]] * i[-1]))

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m), N=3)
        yield Sample(s.real(0, s.m), N=2)
        yield Sample(s.real(), N=3)

    def bad(s):
        yield Bad(Sample(s.real()), ValueRangeError, "greater than 1")
        yield Bad(Sample(s.real(3), N=1), ValueRangeError, "greater than 1")
