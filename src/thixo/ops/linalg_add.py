"""Products with something added: the steps of linear layers and of rank-one updates."""

from typing import Any

import numpy as np

from thixo.dtype import BOOL, result_type
from thixo.dtype import bool as bool_
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.linalg_checks import check_inner, check_ndim, check_same_dtype
from thixo.ops.loops import build
from thixo.ops.matmul import NUMBERS, check_batches, slow_matmul
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes


def check_factor(op: str, name: str, factor: Any, x: Any) -> None:
    """Refuses to scale whole numbers by a fraction, or real numbers by a complex one."""
    kind = (
        "complex"
        if isinstance(factor, complex)
        else "float"
        if isinstance(factor, float)
        else "int"
    )
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
        check_inner("addmm", "mat1", mat1, "mat2", mat2)
        product = tx.matmul(widened(mat1), widened(mat2))
        return _add_product("addmm", widened(input), product, beta, alpha).to(input.dtype)

    def reference(input, mat1, mat2, beta, alpha):
        return (0 if beta == 0 else beta * input) + alpha * slow_matmul(mat1, mat2)

    def samples(s):
        yield Sample(s.real(s.n, s.k), s.real(s.n, s.m), s.real(s.m, s.k))
        yield Sample(s.real(s.k), s.real(s.n, s.m), s.real(s.m, s.k), beta=2, alpha=3)
        yield Sample(
            s.real(), s.real(s.n, s.m), s.real(s.m, s.k), beta=s.number(), alpha=s.number()
        )
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
        check_inner("addmv", "mat", mat, "vec", vec)
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
        check_inner("addbmm", "batch1", batch1, "batch2", batch2)
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
        yield Bad(
            Sample(s.real(1), s.real(2, 1, 3), s.real(3, 3, 1)), ShapeError, "batch sizes differ"
        )


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
        check_inner("baddbmm", "batch1", batch1, "batch2", batch2)
        product = tx.matmul(widened(batch1), widened(batch2))
        return _add_product("baddbmm", widened(input), product, beta, alpha).to(input.dtype)

    def reference(input, batch1, batch2, beta, alpha):
        return (0 if beta == 0 else beta * input) + alpha * slow_matmul(batch1, batch2)

    def samples(s):
        yield Sample(s.real(s.b, s.n, s.k), s.real(s.b, s.n, s.m), s.real(s.b, s.m, s.k))
        yield Sample(
            s.real(s.k), s.real(2, s.n, s.m), s.real(2, s.m, s.k), beta=s.number(), alpha=2
        )
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
