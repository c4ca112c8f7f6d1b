"""Shapes brought together: expand_as, broadcast_to, atleast_1d and the sum that undoes them."""

import itertools
from typing import Any

import numpy as np

from thixo.errors import ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.layout import broadcasts_to
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes, shape_text


class ExpandAs(Composite):
    """The input expanded to the shape of another tensor.

    >>> tx.ones(1).expand_as(tx.zeros(2, 3)).shape
    Size([2, 3])
    """

    signature = "expand_as(input, other) -> input"

    def compose(input, other):
        return tx.expand(input, other.shape)

    def reference(input, other):
        return np.broadcast_to(input, other.shape)

    def samples(s):
        yield Sample(s.real(s.n, 1), s.real(s.k, s.n, s.m))
        yield Sample(s.real(), s.real(s.n))
        yield Sample(s.real(1), s.real(0))

    def bad(s):
        yield Bad(Sample(s.real(3), s.real(2)), ShapeError, "of size 1")


class BroadcastTo(Composite):
    """The input repeated to a shape it broadcasts to, without a copy.

    >>> tx.broadcast_to(tx.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """

    signature = "broadcast_to(input, size: ints) -> input"

    def compose(input, size):
        return tx.expand(input, size)

    def reference(input, size):
        return np.broadcast_to(input, size)

    def samples(s):
        yield Sample(s.real(s.n, 1), (s.k, s.n, s.m))
        yield Sample(s.real(s.n), (s.n,))
        yield Sample(s.real(), (s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(3), (2,)), ShapeError, "of size 1")


class BroadcastTensors(Composite):
    """The tensors, each repeated to the shape they all broadcast to.

    >>> [t.shape for t in tx.broadcast_tensors(tx.zeros(3, 1), tx.zeros(2))]
    [Size([3, 2]), Size([3, 2])]
    """

    signature = "broadcast_tensors(tensors: tensors...) -> tensors"

    def compose(tensors):
        shape = broadcast_shapes(*(t.shape for t in tensors), op="broadcast_tensors")
        return tuple(tx.expand(t, shape) for t in tensors)

    def reference(tensors):
        return [np.array(t) for t in np.broadcast_arrays(*tensors)]

    def samples(s):
        yield Sample([s.real(s.n, 1), s.real(s.m)])
        yield Sample([s.real(s.n), s.real(), s.real(1)])
        yield Sample([s.real(s.n)])

    def bad(s):
        yield Bad(Sample([s.real(2), s.real(3)]), ShapeError, "do not broadcast")


class Atleast1d(Composite):
    """Each tensor with one axis at least.

    >>> tx.atleast_1d(tx.tensor(2))
    tensor([2])
    """

    signature = "atleast_1d(tensors: tensors...) -> tensors"

    def compose(tensors):
        return one_or_all([t if t.ndim else tx.reshape(t, (1,)) for t in tensors])

    def reference(tensors):
        return [np.array(t, ndmin=1) for t in tensors]

    def samples(s):
        yield Sample([s.real(), s.real(s.n), s.real(s.n, s.m)])
        yield Sample([s.real(0), s.real(s.n, s.m, s.k)])


class Atleast2d(Composite):
    """Each tensor with two axes at least; a new one comes first.

    >>> tx.atleast_2d(tx.tensor([1, 2]))
    tensor([[1, 2]])
    """

    signature = "atleast_2d(tensors: tensors...) -> tensors"

    def compose(tensors):
        return one_or_all(
            [t if t.ndim >= 2 else tx.reshape(t, (1, *(t.shape or (1,)))) for t in tensors]
        )

    def reference(tensors):
        return [np.array(t, ndmin=2) for t in tensors]

    samples = Atleast1d.samples


class Atleast3d(Composite):
    """Each tensor with three axes at least: a vector in the middle one, a matrix in the first two.

    >>> tx.atleast_3d(tx.zeros(2, 3)).shape, tx.atleast_3d(tx.zeros(2)).shape
    (Size([2, 3, 1]), Size([1, 2, 1]))
    """

    signature = "atleast_3d(tensors: tensors...) -> tensors"

    def compose(tensors):
        results = []
        for t in tensors:
            shape = tuple(t.shape)
            if t.ndim == 2:
                t = tx.unsqueeze(t, -1)
            elif t.ndim < 2:
                t = tx.reshape(t, (1, *(shape or (1,)), 1))
            results.append(t)
        return one_or_all(results)

    def reference(tensors):
        return [np.atleast_3d(t) for t in tensors]

    samples = Atleast1d.samples


def one_or_all(tensors: list[Any]) -> Any:
    """One tensor by itself, several as a tuple."""
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


class SumToSize(Composite):
    """The input summed to a shape that broadcasts to its own.

    >>> tx.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """

    signature = "sum_to_size(input, size: ints...) -> y"

    def compose(input, size):
        shape = tuple(input.shape)
        extra = len(shape) - len(size)
        if not broadcasts_to(size, shape):
            raise ShapeError(
                f"sum_to_size: {shape_text(size)} must broadcast to the input's shape, "
                f"input is {describe(input)}"
            )
        dims = [
            d
            for d in range(extra, len(shape))
            if size[d - extra] is not shape[d] and shape[d] != 1 and size[d - extra] == 1
        ]
        if dims:
            input = tx.sum(input, tuple(dims), keepdim=True)
        if extra:
            input = tx.sum(input, tuple(range(extra)))
        return input

    def reference(input, size):
        result = np.zeros(
            size, np.result_type(input, np.int64) if input.dtype.kind in "biu" else input.dtype
        )
        extra = input.ndim - len(size)
        for index in itertools.product(*map(range, input.shape)):
            place = tuple(0 if n == 1 else i for n, i in zip(size, index[extra:], strict=True))
            result[place] += input[index]
        return result

    def samples(s):
        yield Sample(s.real(s.k, s.n, s.m), (s.n, 1))
        yield Sample(s.real(s.n, s.m), (1, 1))
        yield Sample(s.real(s.n, s.m), ())
        yield Sample(s.real(s.n, s.m), (s.n, s.m))
        yield Sample(s.real(s.n, 0), (1,))

    def bad(s):
        yield Bad(Sample(s.real(2, 3), (2, 2)), ShapeError, "must broadcast")
