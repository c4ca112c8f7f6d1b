"""Products of matrices and vectors. `matmul` is the primitive; the others are names for its cases."""

import math

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, INTEGERS
from thixo.errors import ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.linalg_checks import check_ndim, check_same_dtype
from thixo.ops.loops import build
from thixo.ops.rules import conj
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes

NUMBERS = INTEGERS + FLOATS + COMPLEX


def slow_matmul(a, b):
    """Every product written out, then added up: the reference of all products."""
    left, right = a.ndim == 1, b.ndim == 1
    a = a[None, :] if left else a
    b = b[:, None] if right else b
    y = (a[..., :, :, None] * b[..., None, :, :]).sum(axis=-2)
    y = y[..., 0] if right else y
    return np.take(y, 0, axis=-1 if right else -2) if left else y


class Matmul(Op):
    """The product of two matrices, of batches of them (broadcast), or with a vector on either side.

    >>> tx.matmul(tx.tensor([[1.0, 2.0], [3.0, 4.0]]), tx.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """

    total = True
    signature = "matmul(input, other) -> y"
    dtypes = NUMBERS
    aliases = ("linalg.matmul",)

    def cost(results, input, other):
        return 2 * math.prod(results[0].shape) * input.shape[-1]

    def infer(input, other):
        for name, x in (("input", input), ("other", other)):
            if x.ndim == 0:
                raise ShapeError(
                    f"matmul: {name} is {describe(x)}; it must have at least 1 axis; use * for numbers"
                )
        check_same_dtype("matmul", input=input, other=other)
        inner = other.shape[-1 if other.ndim == 1 else -2]
        if input.shape[-1] != inner:
            axis = "only axis" if other.ndim == 1 else "second to last"
            raise ShapeError(
                f"matmul: inner sizes differ: input is {describe(input)}, other is {describe(other)}; "
                f"input's last axis must equal other's {axis}"
            )
        lead = broadcast_shapes(input.shape[:-2], other.shape[:-2], op="matmul")
        rows = input.shape[-2:-1]  # none for a vector
        columns = other.shape[-1:] if other.ndim > 1 else ()
        return Spec((*lead, *rows, *columns), input.dtype)

    def kernel(input, other):
        if other.ndim == 2 and input.ndim > 2:  # one large product instead of many small ones
            rows = input.reshape(int(np.prod(input.shape[:-1])), input.shape[-1])
            return (rows @ other).reshape(*input.shape[:-1], other.shape[-1])
        return np.asarray(np.matmul(input, other))

    def vjp_input(g, input_type, other):
        other = conj(other)
        if other.ndim == 1:
            return g.unsqueeze(-1) * other
        if len(input_type.shape) == 1:
            return tx.matmul(g.unsqueeze(-2), other.mT).squeeze(-2)
        return tx.matmul(g, other.mT)

    def vjp_other(g, input, other_type):
        input = conj(input)
        if input.ndim == 1:
            return input * g if g.ndim == 0 else input.unsqueeze(-1) * g.unsqueeze(-2)
        if len(other_type.shape) == 1:
            return tx.matmul(g.flatten(), tx.flatten(input, 0, -2))
        if (
            len(other_type.shape) == 2 and input.ndim > 2
        ):  # the sum over the batch is in the product
            return tx.matmul(tx.flatten(input, 0, -2).mT, tx.flatten(g, 0, -2))
        return tx.matmul(input.mT, g)

    reference = slow_matmul

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.m, s.k))
        yield Sample(s.real(s.n), s.real(s.n))
        yield Sample(s.real(s.n, s.m), s.real(s.m))
        yield Sample(s.real(s.n), s.real(s.n, s.m))
        yield Sample(s.real(s.b, s.n, s.m), s.real(s.m, s.k))
        yield Sample(s.real(s.n, s.m), s.real(s.b, s.m, s.k))
        yield Sample(s.real(s.b, s.n, s.m), s.real(s.m))
        yield Sample(s.real(s.m), s.real(s.b, s.m, s.k))
        yield Sample(s.real(s.b, 1, s.n, s.m), s.real(s.k, s.m, s.n))
        yield Sample(s.real(s.n, 0), s.real(0, s.m))
        yield Sample(s.real(0, s.n, s.m), s.real(s.m, s.k))
        yield Sample(s.real(0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(4, 5)), ShapeError, "inner sizes differ")
        yield Bad(Sample(s.real(2, 3), s.real(2)), ShapeError, "inner sizes differ")
        yield Bad(Sample(s.real(), s.real(2)), ShapeError, "at least 1 axis")
        yield Bad(Sample(s.real(2, 3, 4), s.real(3, 4, 2)), ShapeError, "do not broadcast")


class Mm(Composite):
    """The product of two matrices.

    >>> tx.mm(tx.tensor([[1, 2]]), tx.tensor([[3], [4]]))
    tensor([[11]])
    """

    signature = "mm(input, mat2) -> y"
    dtypes = NUMBERS

    def compose(input, mat2):
        check_ndim("mm", "input", input, 2)
        check_ndim("mm", "mat2", mat2, 2)
        return _product("mm", input=input, mat2=mat2)

    reference = slow_matmul

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.m, s.k))
        yield Sample(s.real(s.n, 0), s.real(0, s.m))
        yield Sample(s.real(0, s.n), s.real(s.n, s.m))

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4), s.real(4, 2)), ShapeError, "input is")
        yield Bad(Sample(s.real(2, 3), s.real(3)), ShapeError, "mat2 is")
        yield Bad(Sample(s.real(2, 3), s.real(2, 3)), ShapeError, "inner sizes differ")


def _product(op, **pair):
    """matmul, but a mismatch is reported under the name and parameters the user wrote."""
    (first, a), (second, b) = pair.items()
    check_same_dtype(op, **pair)
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ShapeError(
            f"{op}: inner sizes differ: {first} is {describe(a)}, {second} is {describe(b)}; "
            f"{first}'s last axis must equal {second}'s {'first' if b.ndim < 3 else 'second'}"
        )
    return tx.matmul(a, b)


class Bmm(Composite):
    """The products of the matrices of two batches, pair by pair.

    >>> tx.bmm(tx.ones(2, 1, 3), tx.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """

    signature = "bmm(input, mat2) -> y"
    dtypes = NUMBERS

    def compose(input, mat2):
        check_batches("bmm", input=input, mat2=mat2)
        return _product("bmm", input=input, mat2=mat2)

    reference = slow_matmul

    def samples(s):
        yield Sample(s.real(s.b, s.n, s.m), s.real(s.b, s.m, s.k))
        yield Sample(s.real(0, s.n, s.m), s.real(0, s.m, s.k))
        yield Sample(s.real(s.b, s.n, 0), s.real(s.b, 0, s.k))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(3, 2)), ShapeError, "batch of matrices")
        yield Bad(Sample(s.real(2, 2, 3), s.real(3, 3, 2)), ShapeError, "batch sizes differ")
        yield Bad(Sample(s.real(2, 2, 3), s.real(2, 4, 2)), ShapeError, "inner sizes differ")


def check_batches(op, **pair):
    """Refuses anything but two batches of matrices of one length."""
    (first, a), (second, b) = pair.items()
    check_ndim(op, first, a, 3)
    check_ndim(op, second, b, 3)
    if a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"{op}: batch sizes differ: {first} is {describe(a)}, {second} is {describe(b)}; "
            f"their first axes must be equal"
        )


class Mv(Composite):
    """The product of a matrix and a vector.

    >>> tx.mv(tx.tensor([[1, 2], [3, 4]]), tx.tensor([1, 1]))
    tensor([3, 7])
    """

    signature = "mv(input, vec) -> y"
    dtypes = NUMBERS

    def compose(input, vec):
        check_ndim("mv", "input", input, 2)
        check_ndim("mv", "vec", vec, 1)
        return _product("mv", input=input, vec=vec)

    reference = slow_matmul

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.m))
        yield Sample(s.real(s.n, 0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(3, 1)), ShapeError, "vec is")
        yield Bad(Sample(s.real(2, 3), s.real(2)), ShapeError, "inner sizes differ")


class Dot(Composite):
    """The sum of the products of two vectors, element by element.

    >>> tx.dot(tx.tensor([1, 2]), tx.tensor([3, 4]))
    tensor(11)
    """

    signature = "dot(input, tensor) -> y"
    dtypes = NUMBERS

    def compose(input, tensor):
        check_ndim("dot", "input", input, 1)
        check_ndim("dot", "tensor", tensor, 1)
        return _product("dot", input=input, tensor=tensor)

    def reference(input, tensor):
        return (input * tensor).sum()

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.n))
        yield Sample(s.real(0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(3)), ShapeError, "input is")
        yield Bad(Sample(s.real(2), s.real(3)), ShapeError, "inner sizes differ")


class Vdot(Composite):
    """The dot product of two vectors, the first one conjugated.

    >>> tx.vdot(tx.tensor([1j]), tx.tensor([1j]))
    tensor(1.+0.j)
    """

    signature = "vdot(input, other) -> y"
    dtypes = NUMBERS

    def compose(input, other):
        check_ndim("vdot", "input", input, 1)
        check_ndim("vdot", "other", other, 1)
        return _product("vdot", input=conj(input), other=other)

    def reference(input, other):
        return (np.conj(input) * other).sum()

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.n))
        yield Sample(s.real(0), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(3)), ShapeError, "inner sizes differ")


class Inner(Composite):
    """The dot products of all vectors along the last axes of two tensors.

    >>> tx.inner(tx.tensor([[1, 2], [3, 4]]), tx.tensor([1, 1]))
    tensor([3, 7])
    """

    signature = "inner(input, other) -> y"
    dtypes = NUMBERS

    def compose(input, other):
        check_same_dtype("inner", input=input, other=other)
        if input.ndim == 0 or other.ndim == 0:
            return input * other
        if input.shape[-1] != other.shape[-1]:
            raise ShapeError(
                f"inner: last sizes differ: input is {describe(input)}, other is {describe(other)}"
            )
        return tx.tensordot(input, other, ((-1,), (-1,)))

    def reference(input, other):
        if input.ndim == 0 or other.ndim == 0:
            return input * other
        shape = input.shape[:-1] + other.shape[:-1]
        cut = input.ndim - 1
        return build(shape, input.dtype, lambda i: (input[i[:cut]] * other[i[cut:]]).sum())

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.n))
        yield Sample(s.real(s.n, s.m), s.real(s.k, s.b, s.m))
        yield Sample(s.real(s.n, s.m), s.real())
        yield Sample(s.real(s.n, 0), s.real(s.m, 0))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2)), ShapeError, "last sizes differ")


class Outer(Composite):
    """Every product of an element of one vector with one of another.

    >>> tx.outer(tx.tensor([1, 2]), tx.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """

    signature = "outer(input, vec2) -> y"
    aliases = ("ger",)

    def compose(input, vec2):
        check_ndim("outer", "input", input, 1)
        check_ndim("outer", "vec2", vec2, 1)
        return input.unsqueeze(1) * vec2

    def reference(input, vec2):
        return build((len(input), len(vec2)), input.dtype, lambda i: input[i[0]] * vec2[i[1]])

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.m))
        yield Sample(s.real(0), s.real(s.m))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(3)), ShapeError, "input is")


class Vecdot(Composite):
    """The dot products of the vectors along an axis, the first ones conjugated.

    >>> tx.linalg.vecdot(tx.tensor([[1.0, 2.0], [3.0, 4.0]]), tx.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """

    signature = "vecdot(x, y, *, dim: int = -1) -> z"
    namespace = "linalg"
    dtypes = NUMBERS

    def compose(x, y, dim):
        check_same_dtype("linalg.vecdot", x=x, y=y)
        shape = broadcast_shapes(x.shape, y.shape, op="linalg.vecdot")
        moved = [tx.movedim(tx.expand(t, shape), dim, -1) for t in (x, y)]
        rows, columns = moved[0].unsqueeze(-2), moved[1].unsqueeze(-1)
        return tx.matmul(conj(rows), columns).squeeze(-1).squeeze(-1)

    def reference(x, y, dim):
        return (np.conj(x) * y).sum(axis=dim)

    def samples(s):
        yield Sample(s.real(s.n), s.real(s.n))
        yield Sample(s.real(s.n, s.m), s.real(s.m))
        yield Sample(s.real(s.n, s.m, 1), s.real(s.m, s.k), dim=-2)
        yield Sample(s.real(s.n, 0), s.real(s.n, 0), dim=1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2, 4)), ShapeError, "do not broadcast")
