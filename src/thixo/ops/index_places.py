"""From elements to their places and back: nonzero, argwhere, one_hot, unravel_index."""

import math

import numpy as np

from thixo.dtype import INTEGERS, int64
from thixo.errors import DTypeError, IndexOutOfRange, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.shape import fresh_dim


class NonzeroPlaces(Op):
    """The indices of the elements that are not 0, a row each, in row order.

    >>> tx.nonzero_places(tx.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """

    signature = "nonzero_places(input) -> index"
    method = False
    vjp = None

    def infer(input):
        return Spec((fresh_dim("nonzero"), input.ndim), int64)

    def kernel(input):
        return np.argwhere(input).astype(np.int64)

    def reference(input):
        rows = [i for i in np.ndindex(*input.shape) if input[i] != 0]
        return np.array(rows, np.int64).reshape(len(rows), input.ndim)

    def samples(s):
        yield Sample(s.real(s.n, s.m, low=-1, high=1))
        yield Sample(s.real(s.n))
        yield Sample(s.real())
        yield Sample(s.real(s.n, 0))
        yield Sample(s.array([0, 1, 1, 0]))


class Nonzero(Composite):
    """The indices of the elements that are not 0: a row each, or a tuple of one vector per axis.

    >>> tx.nonzero(tx.tensor([0, 5, 7]), as_tuple=True)
    (tensor([1, 2]),)
    """

    signature = "nonzero(input, *, as_tuple: bool = False) -> y"

    def compose(input, as_tuple):
        if not as_tuple:
            return tx.nonzero_places(input)
        if input.ndim == 0:
            input = tx.reshape(input, (1,))
        places = tx.nonzero_places(input)
        return tuple(tx.select(places, 1, d) for d in range(input.ndim))

    def reference(input, as_tuple=False):
        if as_tuple:
            return [np.array(a) for a in np.nonzero(np.atleast_1d(input))]
        return NonzeroPlaces.reference(input)

    def samples(s):
        yield Sample(s.real(s.n, s.m, low=-1, high=1))
        yield Sample(s.real(s.n, s.m, low=-1, high=1), as_tuple=True)
        yield Sample(s.real(), as_tuple=True)
        yield Sample(s.real(0))


class Argwhere(Composite):
    """The indices of the elements that are not 0, a row each.

    >>> tx.argwhere(tx.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """

    signature = "argwhere(input) -> index"

    def compose(input):
        return tx.nonzero_places(input)

    reference = NonzeroPlaces.reference
    samples = NonzeroPlaces.samples


class NonzeroStatic(Op):
    """The first `size` indices of elements that are not 0; rows that are missing hold fill_value.

    >>> tx.nonzero_static(tx.tensor([0, 5]), size=2)
    tensor([[ 1],
            [-1]])
    """

    signature = "nonzero_static(input, *, size: int, fill_value: int = -1) -> index"
    vjp = None

    def infer(input, size, fill_value=-1):
        if size < 0:
            raise ValueRangeError(f"nonzero_static: size cannot be negative, got {size}")
        return Spec((size, input.ndim), int64)

    def kernel(input, size, fill_value=-1):
        found = np.argwhere(input)[:size]
        result = np.full((size, input.ndim), fill_value, np.int64)
        result[: len(found)] = found
        return result

    def reference(input, size, fill_value=-1):
        rows = [i for i in np.ndindex(*input.shape) if input[i] != 0]
        rows = (rows + [(fill_value,) * input.ndim] * size)[:size]
        return np.array(rows, np.int64).reshape(size, input.ndim)

    def samples(s):
        yield Sample(s.real(s.n, s.m, low=-1, high=1), size=4)
        yield Sample(s.real(s.n), size=s.m, fill_value=7)
        yield Sample(s.real(), size=1)
        yield Sample(s.real(s.n), size=0)

    def bad(s):
        yield Bad(Sample(s.real(2), size=-1), ValueRangeError, "cannot be negative")


class OneHot(Op):
    """A last axis with 1 at the place each element names and 0 elsewhere.

    Without num_classes there are as many places as the greatest element asks for.

    >>> tx.nn.functional.one_hot(tx.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """

    signature = "one_hot(input, num_classes: int = -1) -> y"
    namespace = "nn.functional"
    dtypes = (int64,)
    vjp = None

    def infer(input, num_classes=-1):
        if input.dtype is not int64:
            raise DTypeError(f"one_hot: needs int64 class numbers, input is {describe(input)}")
        if num_classes == -1:
            if any(isinstance(n, int) and n == 0 for n in input.shape):
                raise ValueRangeError("one_hot: an empty input needs num_classes")
            return Spec((*input.shape, fresh_dim("classes")), int64)
        if num_classes < 1:
            raise ValueRangeError(f"one_hot: num_classes must be positive, got {num_classes}")
        return Spec((*input.shape, num_classes), int64)

    def kernel(input, num_classes=-1):
        if input.size and input.min() < 0:
            raise ValueRangeError(f"one_hot: class numbers cannot be negative, got {input.min()}")
        count = int(input.max()) + 1 if num_classes == -1 else num_classes
        if input.size and input.max() >= count:
            raise ValueRangeError(
                f"one_hot: class {input.max()} needs num_classes above it, got {num_classes}"
            )
        return (np.expand_dims(input, -1) == np.arange(count)).astype(np.int64)

    def reference(input, num_classes=-1):
        count = int(input.max()) + 1 if num_classes == -1 else num_classes
        return build((*input.shape, count), np.int64, lambda i: int(input[i[:-1]] == i[-1]))

    def samples(s):
        yield Sample(s.ints(s.n, high=3), 4)
        yield Sample(s.ints(s.n, s.m, high=3))
        yield Sample(s.ints(high=3), 3)
        yield Sample(s.ints(0), 2)

    def bad(s):
        yield Bad(Sample(s.array([0, 3]), 3), ValueRangeError, "class 3")
        yield Bad(Sample(s.array([0, -1])), ValueRangeError, "cannot be negative")
        yield Bad(Sample(s.array([0]), 0), ValueRangeError, "must be positive")


class UnravelIndex(Op):
    """The coordinates, one tensor for each axis of `shape`, of indices into the flat tensor.

    >>> tx.unravel_index(tx.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """

    signature = "unravel_index(indices, shape: ints) -> tensors"
    dtypes = INTEGERS
    method = False
    vjp = None

    def infer(indices, shape):
        if any(isinstance(n, int) and n < 0 for n in shape):
            raise ValueRangeError(f"unravel_index: sizes cannot be negative, got {shape}")
        return [Spec(tuple(indices.shape), int64) for _ in shape]

    def kernel(indices, shape):
        flat = indices.astype(np.int64)
        outside = (flat < 0) | (flat >= math.prod(shape))
        if outside.any():
            raise IndexOutOfRange(
                f"unravel_index: index {flat[outside][0]} is out of range for a shape of "
                f"{math.prod(shape)} elements, {tuple(shape)}"
            )
        result = []
        for n in reversed(shape):
            result.append(flat % n if n else flat)
            flat = flat // n if n else flat
        return result[::-1]

    def reference(indices, shape):
        return [np.array(a) for a in np.unravel_index(indices.astype(np.int64), shape)]

    def samples(s):
        yield Sample(s.ints(s.n, high=4, dtype=s.dtype), (s.n, s.m))
        yield Sample(s.ints(s.n, s.m, high=4, dtype=s.dtype), (2, 1, 2))
        yield Sample(s.ints(high=2, dtype=s.dtype), (s.n,))
        yield Sample(s.ints(0, dtype=s.dtype), (2, 2))

    def bad(s):
        yield Bad(Sample(s.array([1, 6]), (2, 3)), IndexOutOfRange, "index 6 is out of range")
        yield Bad(Sample(s.array([1]), (2, -3)), ValueRangeError, "cannot be negative")
