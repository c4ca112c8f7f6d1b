"""Elements read by index: gather, index_select, take, masked_select and the general index_get."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.dtype import bool as bool_
from thixo.dtype import int64
from thixo.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.index_checks import (
    at_least_1d,
    check_along,
    check_inside,
    check_lines,
    checked_index,
    require_index,
)
from thixo.ops.loops import build, replaced
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes, normalize_dim, numel, same


class Gather(Op):
    """The elements that `index` names along an axis: y[i][j] = input[index[i][j]][j] for dim 0.

    >>> tx.gather(tx.tensor([[1, 2], [3, 4]]), 1, tx.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """

    signature = "gather(input, dim: int, index, *, sparse_grad: bool = False) -> y"

    def infer(input, dim, index, sparse_grad=False):
        d = check_along("gather", input, dim, index)
        check_inside("gather", index, input, "input", except_dim=d)
        return Spec(tuple(index.shape), input.dtype)

    def kernel(input, dim, index, sparse_grad=False):
        if index.size == 0:
            return np.empty(index.shape, input.dtype)
        shape = index.shape
        input, index = at_least_1d(input), at_least_1d(index)
        d = dim % input.ndim
        index = checked_index("gather", index, input.shape[d], d)
        part = input[tuple(slice(None) if i == d else slice(n) for i, n in enumerate(index.shape))]
        return np.take_along_axis(part, index, d).reshape(shape)

    def vjp_input(g, input_type, dim, index):
        return tx.scatter_sum(g, dim, index, tuple(input_type.shape))

    def reference(input, dim, index, sparse_grad=False):
        if input.ndim == 0:
            return np.full(index.shape, input)
        return build(index.shape, input.dtype, lambda i: input[replaced(i, dim, index[i])])

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.k, s.m, high=s.n))
        yield Sample(s.real(s.n, s.m), 1, s.ints(1, s.b, high=s.m))
        yield Sample(s.real(s.n, s.m, s.k), -1, s.ints(s.n, 2, s.b, high=s.k))
        yield Sample(s.real(s.n), 0, s.ints(0))
        yield Sample(s.real(), 0, s.ints(high=1))

    def bad(s):
        yield Bad(Sample(s.real(2, 2), 1, s.ints(2)), ShapeError, "as many axes")
        yield Bad(Sample(s.real(2, 2), 1, s.ints(3, 1)), ShapeError, "larger than input on axis 0")
        yield Bad(Sample(s.real(2), 0, s.array([1, 2], int64)), IndexOutOfRange, "index 2 is out")
        yield Bad(Sample(s.real(2), 0, s.array([0, -1], int64)), IndexOutOfRange, "index -1 is out")
        yield Bad(Sample(s.real(2), 0, s.bools(2)), DTypeError, "must hold integers")


class IndexSelect(Op):
    """The slices along an axis that a vector of indices names.

    >>> tx.index_select(tx.tensor([[1, 2], [3, 4]]), 0, tx.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """

    signature = "index_select(input, dim: int, index) -> y"

    def infer(input, dim, index):
        d = check_lines("index_select", input, dim, index)
        if input.ndim == 0:
            if numel(index.shape) != 1:
                raise ShapeError(
                    f"index_select: a 0-d input takes one index, index is {describe(index)}"
                )
            return Spec((), input.dtype)
        count = index.shape[0] if index.ndim else 1
        return Spec((*input.shape[:d], count, *input.shape[d + 1 :]), input.dtype)

    def kernel(input, dim, index):
        whole = at_least_1d(input)
        index = checked_index(
            "index_select", at_least_1d(index), whole.shape[dim], dim % whole.ndim
        )
        y = np.take(whole, index, axis=dim)
        return y if input.ndim else y.reshape(())

    def vjp_input(g, input_type, dim, index):
        if not len(input_type.shape):
            return g
        return tx.index_sum(g, dim, index, input_type.shape[dim])

    def reference(input, dim, index):
        if input.ndim == 0:
            return input
        lines = np.moveaxis(input, dim, 0)
        picked = [lines[i] for i in index.ravel()]
        result = np.array(picked, input.dtype).reshape(len(picked), *lines.shape[1:])
        return np.moveaxis(result, 0, dim)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.b, high=s.n))
        yield Sample(s.real(s.n, s.m), -1, s.ints(s.k, high=s.m))
        yield Sample(s.real(s.n, s.m), 1, s.ints(high=s.m))
        yield Sample(s.real(s.n), 0, s.ints(0))
        yield Sample(s.real(), 0, s.ints(1, high=1))

    def bad(s):
        yield Bad(Sample(s.real(2), 0, s.ints(2, 2, high=2)), ShapeError, "must be a vector")
        yield Bad(Sample(s.real(2), 0, s.array([2], int64)), IndexOutOfRange, "index 2 is out")


class Take(Op):
    """Elements by their number in the flat input, negative ones from the end.

    >>> tx.take(tx.tensor([[1, 2], [3, 4]]), tx.tensor([0, -1]))
    tensor([1, 4])
    """

    signature = "take(input, index) -> y"

    def infer(input, index):
        require_index("take", index)
        return Spec(tuple(index.shape), input.dtype)

    def kernel(input, index):
        flat = input.reshape(-1)
        return flat[checked_index("take", index, flat.size, None, negative=True)]

    def vjp_input(g, input_type, index):
        return tx.put(g.new_zeros(input_type.shape), index, g, True)

    def reference(input, index):
        flat = input.ravel().tolist()
        return build(index.shape, input.dtype, lambda i: flat[index[i]])

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.ints(s.k, 2, low=-4, high=4))
        yield Sample(s.real(s.n), s.ints(high=2))
        yield Sample(s.real(), s.ints(s.n, low=-1, high=1))
        yield Sample(s.real(0), s.ints(0))

    def bad(s):
        yield Bad(Sample(s.real(2, 2), s.array([4], int64)), IndexOutOfRange, "for 4 elements")
        yield Bad(Sample(s.real(2), s.real(2, dtype=bool_)), DTypeError, "must hold integers")


class TakeAlongDim(Composite):
    """gather with an index that broadcasts; without dim the input and index are flattened.

    >>> tx.take_along_dim(tx.tensor([[1, 2], [3, 4]]), tx.tensor([[1]]), dim=1)
    tensor([[2],
            [4]])
    """

    signature = "take_along_dim(input, indices, dim: int? = None) -> y"

    def compose(input, indices, dim):
        require_index("take_along_dim", indices, "indices")
        if dim is None:
            flat = tx.reshape(indices, (numel(indices.shape),))
            return tx.take(input, flat)
        if input.ndim != indices.ndim:
            raise ShapeError(
                f"take_along_dim: input and indices must have equally many axes, input is "
                f"{describe(input)}, indices is {describe(indices)}"
            )
        d = normalize_dim(dim, input.ndim, "take_along_dim")
        rest = broadcast_shapes(
            (*input.shape[:d], 1, *input.shape[d + 1 :]),
            (*indices.shape[:d], 1, *indices.shape[d + 1 :]),
            op="take_along_dim",
        )
        input = tx.expand(input, (*rest[:d], *input.shape[d : d + 1], *rest[d + 1 :]))
        indices = tx.expand(indices, (*rest[:d], *indices.shape[d : d + 1], *rest[d + 1 :]))
        if indices.dtype.is_signed:
            indices = tx.where(indices < 0, indices + input.shape[d], indices)
        return tx.gather(input, d, indices)

    def reference(input, indices, dim=None):
        return np.take_along_axis(input, indices, axis=dim)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.ints(s.n, 1, high=s.m), dim=1)
        yield Sample(s.real(s.n, 1), s.ints(s.k, s.m, low=-2, high=2), dim=0)
        yield Sample(s.real(s.n, s.m), s.ints(s.n, high=6))

    def bad(s):
        yield Bad(Sample(s.real(2, 2), s.ints(2), dim=0), ShapeError, "equally many axes")


class MaskedSelect(Composite):
    """The elements where the mask is true, as a vector in row order.

    >>> tx.masked_select(tx.tensor([1, 2, 3]), tx.tensor([True, False, True]))
    tensor([1, 3])
    """

    signature = "masked_select(input, mask) -> y"

    def compose(input, mask):
        if mask.dtype is not bool_:
            raise DTypeError(f"masked_select: mask must be bool, mask is {describe(mask)}")
        shape = broadcast_shapes(input.shape, mask.shape, op="masked_select")
        flat = (numel(shape),)
        places = tx.nonzero_places(tx.reshape(tx.expand(mask, shape), flat))
        return tx.index_select(
            tx.reshape(tx.expand(input, shape), flat), 0, tx.select(places, 1, 0)
        )

    def reference(input, mask):
        input, mask = np.broadcast_arrays(input, mask)
        chosen = [input[i] for i in np.ndindex(*input.shape) if mask[i]]
        return np.array(chosen, input.dtype)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.bools(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.bools(s.m))
        yield Sample(s.real(s.m), s.bools(s.n, 1))
        yield Sample(s.real(), s.bools(s.n))
        yield Sample(s.real(0), s.bools(0))

    def bad(s):
        yield Bad(Sample(s.real(2), s.ints(2)), DTypeError, "mask must be bool")
        yield Bad(Sample(s.real(2), s.bools(3)), ShapeError, "do not broadcast")


class IndexGet(Op):
    """The elements that index tensors name on the first axes; all other axes are kept whole.

    The index tensors broadcast to the first axes of the result. `axes` says what the first axes are
    called in errors, where they were moved there.

    >>> tx.index_get(tx.tensor([[1, 2], [3, 4]]), [tx.tensor([0, 1]), tx.tensor([-1, 0])])
    tensor([2, 3])
    """

    signature = "index_get(input, indices: tensors, axes: ints? = None) -> y"
    method = False

    def infer(input, indices, axes=None):
        return Spec(indexed_shape("index", input, indices), input.dtype)

    def kernel(input, indices, axes=None):
        return np.array(input[checked_indices("index", input.shape, indices, axes)])

    def vjp_input(g, input_type, indices, axes):
        return tx.place_sum(g, indices, tuple(input_type.shape), axes)

    def reference(input, indices, axes=None):
        indices = np.broadcast_arrays(*indices)
        first = indices[0].ndim
        shape = indices[0].shape + input.shape[len(indices) :]
        return build(
            shape,
            input.dtype,
            lambda i: input[(*(int(k[i[:first]]) for k in indices), *i[first:])],
        )

    def samples(s):
        yield Sample(s.real(s.n, s.m), [s.ints(s.b, low=-2, high=2)])
        yield Sample(s.real(s.n, s.m), [s.ints(s.k, 1, high=s.n), s.ints(s.b, high=s.m)])
        yield Sample(s.real(s.n, s.m, s.k), [s.ints(high=s.n), s.ints(2, high=s.m)])
        yield Sample(s.real(s.n, s.m), [s.ints(0)])
        yield Sample(s.real(s.n, s.m, 0), [s.ints(2, high=s.n), s.ints(2, high=s.m)])

    def bad(s):
        yield Bad(Sample(s.real(2), [s.array([2], int64)]), IndexOutOfRange, "index 2 is out")
        yield Bad(
            Sample(s.real(2, 2), [s.ints(2, high=2), s.ints(3, high=2)]),
            ShapeError,
            "do not broadcast",
        )


def indexed_shape(operation: str, input: Any, indices: Sequence[Any]) -> tuple[Any, ...]:
    """The shape of the elements that index tensors name on the first axes."""
    if not 0 < len(indices) <= input.ndim:
        raise IndexOutOfRange(
            f"{operation}: {len(indices)} index tensors for the axes of {describe(input)}"
        )
    for index in indices:
        require_index(operation, index)
    return (*joint_shape(operation, indices), *input.shape[len(indices) :])


def joint_shape(operation: str, indices: Sequence[Any]) -> tuple[Any, ...]:
    """The shape that index tensors broadcast to; equal ones decide nothing about their sizes."""
    shapes = [tuple(i.shape) for i in indices]
    first = shapes[0]
    if all(len(s) == len(first) and all(map(same, s, first)) for s in shapes):
        return first
    return broadcast_shapes(*shapes, op=operation)


def checked_indices(
    operation: str, shape: Sequence[int], indices: Sequence[np.ndarray], axes: Any
) -> tuple[np.ndarray, ...]:
    """Index arrays for NumPy, each checked against its axis."""
    names = range(len(indices)) if axes is None else axes
    if len(names) != len(indices):
        raise ArgumentError(
            f"{operation}: axes is {tuple(names)}, but there are {len(indices)} indices"
        )
    return tuple(
        checked_index(operation, index, size, name, negative=True)
        for index, size, name in zip(indices, shape, names, strict=False)
    )
