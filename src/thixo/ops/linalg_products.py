"""Products with something added, products of many matrices, powers, and products over chosen axes."""

import math
from typing import Any

import numpy as np

from thixo.dtype import BOOL, COMPLEX, FLOATS, result_type
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.linalg_checks import (
    FACTORABLE,
    check_dtype,
    check_ndim,
    check_same_dtype,
    check_square,
)
from thixo.ops.loops import build
from thixo.ops.matmul import NUMBERS, check_batches, slow_matmul
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes, hint_of, normalize_dim, numel

# ---- a product added to something


def check_factor(op: str, name: str, factor: Any, x: Any) -> None:
    """Refuses to scale whole numbers by a fraction, or real numbers by a complex one."""
    kind = "complex" if isinstance(factor, complex) else "float" if isinstance(factor, float) else "int"
    fits = {"complex": x.dtype.is_complex, "float": not (x.dtype.is_integer or x.dtype is bool_)}
    if not fits.get(kind, True):
        raise DTypeError(f"{op}: {name} is {factor!r}, which does not fit {describe(x)}")


def _add_product(op: str, input: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; input is broadcast, and ignored (NaNs too) where beta is 0."""
    check_factor(op, "beta", beta, product)
    check_factor(op, "alpha", alpha, product)
    shape = broadcast_shapes(input.shape, product.shape, op=op)
    if len(shape) != product.ndim or any(a != b for a, b in zip(shape, product.shape, strict=True)):
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must broadcast to the product, {describe(product)}"
        )
    scaled = product if _is_one(alpha) else product * alpha
    if beta == 0:
        return scaled
    return (input if _is_one(beta) else input * beta) + scaled


def _is_one(factor: Any) -> bool:
    return isinstance(factor, int) and factor == 1


def _check_inner(op: str, first: str, a: Any, second: str, b: Any) -> None:
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ShapeError(
            f"{op}: inner sizes differ: {first} is {describe(a)}, {second} is {describe(b)}"
        )


class Addmm(Composite):
    """`beta * input + alpha * (mat1 @ mat2)`; input is broadcast.

    >>> tx.addmm(tx.ones(2), tx.eye(2), tx.eye(2))
    tensor([[2., 1.],
            [1., 2.]])
    """

    signature = "addmm(input, mat1, mat2, *, beta: scalar = 1, alpha: scalar = 1) -> y"
    dtypes = NUMBERS
    inplace = True

    def compose(input, mat1, mat2, beta, alpha):
        check_ndim("addmm", "mat1", mat1, 2)
        check_ndim("addmm", "mat2", mat2, 2)
        check_same_dtype("addmm", input=input, mat1=mat1, mat2=mat2)
        _check_inner("addmm", "mat1", mat1, "mat2", mat2)
        product = tx.matmul(widened(mat1), widened(mat2))
        return _add_product("addmm", widened(input), product, beta, alpha).to(input.dtype)

    def reference(input, mat1, mat2, beta, alpha):
        return (0 if beta == 0 else beta * input) + alpha * slow_matmul(mat1, mat2)

    def samples(s):
        yield Sample(s.real(s.n, s.k), s.real(s.n, s.m), s.real(s.m, s.k))
        yield Sample(s.real(s.k), s.real(s.n, s.m), s.real(s.m, s.k), beta=2, alpha=3)
        yield Sample(s.real(), s.real(s.n, s.m), s.real(s.m, s.k), beta=s.number(), alpha=s.number())
        yield Sample(s.real(s.n, s.k), s.real(s.n, 0), s.real(0, s.k))

    def bad(s):
        yield Bad(Sample(s.real(3, 3), s.real(2, 3), s.real(3, 2)), ShapeError, "addmm")
        yield Bad(Sample(s.real(2), s.real(2, 3), s.real(2, 3)), ShapeError, "inner sizes differ")
        yield Bad(Sample(s.real(2), s.real(3), s.real(3, 2)), ShapeError, "mat1 is")


class Addmv(Composite):
    """`beta * input + alpha * (mat @ vec)`.

    >>> tx.addmv(tx.ones(2), tx.eye(2), tx.ones(2))
    tensor([2., 2.])
    """

    signature = "addmv(input, mat, vec, *, beta: scalar = 1, alpha: scalar = 1) -> y"
    dtypes = NUMBERS
    inplace = True

    def compose(input, mat, vec, beta, alpha):
        check_ndim("addmv", "mat", mat, 2)
        check_ndim("addmv", "vec", vec, 1)
        check_same_dtype("addmv", input=input, mat=mat, vec=vec)
        _check_inner("addmv", "mat", mat, "vec", vec)
        product = tx.matmul(widened(mat), widened(vec))
        return _add_product("addmv", widened(input), product, beta, alpha).to(input.dtype)

    def reference(input, mat, vec, beta, alpha):
        return (0 if beta == 0 else beta * input) + alpha * slow_matmul(mat, vec)

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.n, s.m), s.real(s.m))
        yield Sample(s.real(), s.real(s.n, s.m), s.real(s.m), beta=s.number(), alpha=s.number())
        yield Sample(s.real(s.n), s.real(s.n, 0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(2, 3), s.real(2)), ShapeError, "inner sizes differ")


class Addbmm(Composite):
    """`beta * input + alpha * sum of batch1[i] @ batch2[i]`.

    >>> tx.addbmm(tx.zeros(1), tx.ones(3, 1, 2), tx.ones(3, 2, 1))
    tensor([[6.]])
    """

    signature = "addbmm(input, batch1, batch2, *, beta: scalar = 1, alpha: scalar = 1) -> y"
    dtypes = NUMBERS
    inplace = True

    def compose(input, batch1, batch2, beta, alpha):
        check_batches("addbmm", batch1=batch1, batch2=batch2)
        check_same_dtype("addbmm", input=input, batch1=batch1, batch2=batch2)
        _check_inner("addbmm", "batch1", batch1, "batch2", batch2)
        # Side by side and one below the other, a single product adds up the batch.
        left = tx.flatten(tx.transpose(widened(batch1), 0, 1), 1)  # (n, batch * m)
        product = tx.matmul(left, tx.flatten(widened(batch2), 0, 1))
        return _add_product("addbmm", widened(input), product, beta, alpha).to(input.dtype)

    def reference(input, batch1, batch2, beta, alpha):
        product = slow_matmul(batch1, batch2).sum(axis=0)
        return (0 if beta == 0 else beta * input) + alpha * product

    def samples(s):
        yield Sample(s.real(s.n, s.k), s.real(s.b, s.n, s.m), s.real(s.b, s.m, s.k))
        yield Sample(s.real(), s.real(2, s.n, s.m), s.real(2, s.m, s.k), beta=s.number(), alpha=2)
        yield Sample(s.real(s.n, s.k), s.real(0, s.n, s.m), s.real(0, s.m, s.k))

    def bad(s):
        yield Bad(Sample(s.real(1), s.real(2, 1, 3), s.real(3, 3, 1)), ShapeError, "batch sizes differ")


class Baddbmm(Composite):
    """`beta * input + alpha * (batch1 @ batch2)`, pair by pair.

    >>> tx.baddbmm(tx.ones(1), tx.ones(2, 1, 3), tx.ones(2, 3, 1)).flatten()
    tensor([4., 4.])
    """

    signature = "baddbmm(input, batch1, batch2, *, beta: scalar = 1, alpha: scalar = 1) -> y"
    dtypes = NUMBERS
    inplace = True

    def compose(input, batch1, batch2, beta, alpha):
        check_batches("baddbmm", batch1=batch1, batch2=batch2)
        check_same_dtype("baddbmm", input=input, batch1=batch1, batch2=batch2)
        _check_inner("baddbmm", "batch1", batch1, "batch2", batch2)
        product = tx.matmul(widened(batch1), widened(batch2))
        return _add_product("baddbmm", widened(input), product, beta, alpha).to(input.dtype)

    def reference(input, batch1, batch2, beta, alpha):
        return (0 if beta == 0 else beta * input) + alpha * slow_matmul(batch1, batch2)

    def samples(s):
        yield Sample(s.real(s.b, s.n, s.k), s.real(s.b, s.n, s.m), s.real(s.b, s.m, s.k))
        yield Sample(s.real(s.k), s.real(2, s.n, s.m), s.real(2, s.m, s.k), beta=s.number(), alpha=2)
        yield Sample(s.real(), s.real(0, s.n, s.m), s.real(0, s.m, s.k))

    def bad(s):
        yield Bad(Sample(s.real(3, 1, 1), s.real(2, 1, 3), s.real(2, 3, 1)), ShapeError, "baddbmm")


class Addr(Composite):
    """`beta * input + alpha * outer(vec1, vec2)`.

    >>> tx.addr(tx.zeros(2, 2), tx.tensor([1.0, 2.0]), tx.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """

    signature = "addr(input, vec1, vec2, *, beta: scalar = 1, alpha: scalar = 1) -> y"
    dtypes = BOOL + NUMBERS
    inplace = True

    def compose(input, vec1, vec2, beta, alpha):
        check_ndim("addr", "vec1", vec1, 1)
        check_ndim("addr", "vec2", vec2, 1)
        product = widened(vec1).unsqueeze(1) * widened(vec2)
        if input.dtype is bool_ and product.dtype is bool_:
            return (input & bool(beta)) | (product & bool(alpha))
        dtype = result_type(input, result_type(vec1, vec2))
        return _add_product("addr", widened(input), product, beta, alpha).to(dtype)

    def reference(input, vec1, vec2, beta, alpha):
        outer = build((len(vec1), len(vec2)), vec1.dtype, lambda i: vec1[i[0]] * vec2[i[1]])
        if input.dtype == np.bool_:
            return np.logical_or(input & bool(beta), outer & bool(alpha))
        return (0 if beta == 0 else beta * input) + alpha * outer

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n), s.real(s.m))
        yield Sample(s.real(s.m), s.real(s.n), s.real(s.m), beta=s.number(), alpha=s.number())
        yield Sample(s.real(), s.real(0), s.real(s.m))

    def bad(s):
        yield Bad(Sample(s.real(3, 3), s.real(2), s.real(3)), ShapeError, "addr")


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
            _check_inner(op, f"tensors[{i - 1}]", tensors[i - 1], name, x)
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
        return tx.cumprod(tx.cat([tx.ones_like(x), factors], -1), -1, dtype=x.dtype)

    def reference(x, N):
        x = np.atleast_1d(x)
        count = x.shape[-1] if N is None else N
        return build((*x.shape, count), x.dtype, lambda i: math.prod([x[i[:-1]]] * i[-1]))

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m), N=3)
        yield Sample(s.real(0, s.m), N=2)
        yield Sample(s.real(), N=3)

    def bad(s):
        yield Bad(Sample(s.real()), ValueRangeError, "greater than 1")
        yield Bad(Sample(s.real(3), N=1), ValueRangeError, "greater than 1")
