"""Copies with elements written by index: index_add, index_copy, index_put, put, masked_scatter."""

from typing import Any

import numpy as np

from thixo.dtype import bool as bool_
from thixo.dtype import int64
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.index_checks import (
    add_lines,
    at_least_1d,
    check_lines,
    checked_index,
    require_index,
    require_same_dtype,
    unique_index,
)
from thixo.ops.indexing import checked_indices, indexed_shape
from thixo.ops.layout import broadcasts_to
from thixo.ops.plain import number_in
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes, numel


def check_source(operation: str, input: Any, d: int, index: Any, source: Any) -> None:
    """The source of index_add and its kin: one slice for each index, shaped as the input's."""
    require_same_dtype(operation, input, source, "source")
    count = index.shape[0] if index.ndim else 1
    shape = (*input.shape[:d], count, *input.shape[d + 1 :]) if input.ndim else (count,)
    if source.ndim == 0 and (input.ndim == 0 or input.ndim == 1) and count == 1:
        return
    if tuple(source.shape) != shape:
        raise ShapeError(
            f"{operation}: source must have a slice for each index and the input's other sizes, "
            f"input is {describe(input)}, index is {describe(index)}, source is {describe(source)}"
        )


def numbered(shape: Any) -> Any:
    """The numbers of the elements of a shape, in its shape."""
    return tx.reshape(tx.arange(numel(shape)), tuple(shape))


def of_the_last(picked: Any, seen: Any, numbers: Any) -> Any:
    """Gradients of what was written, where several may have been written to one place: only the last is still there.

    `seen` is what one sees, where each was written, after their `numbers` were written likewise.
    """
    last = seen == numbers
    last = tx.reshape(last, (*last.shape, *[1] * (picked.ndim - last.ndim)))
    return tx.where(last, picked, 0)


class IndexAdd(Op):
    """A copy of the input with alpha times the source added to the slices that the index names.

    >>> tx.index_add(tx.zeros(3), 0, tx.tensor([0, 2, 2]), tx.ones(3))
    tensor([1., 0., 2.])
    """

    signature = "index_add(input, dim: int, index, source, *, alpha: scalar = 1) -> y"
    inplace = True

    def infer(input, dim, index, source, alpha=1):
        d = check_lines("index_add", input, dim, index)
        check_source("index_add", input, d, index, source)
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, dim, index, source, alpha=1):
        y = at_least_1d(np.array(input))
        index = checked_index("index_add", at_least_1d(index), y.shape[dim], dim % y.ndim)
        lines = np.moveaxis(at_least_1d(source), dim, 0)
        scaled = lines if alpha == 1 else (lines * np.asarray(alpha)).astype(y.dtype)
        add_lines(np.moveaxis(y, dim, 0), index, scaled)
        return y.reshape(input.shape)

    def vjp_input(g):
        return g

    def vjp_source(g, source_type, dim, index, alpha):
        picked = tx.reshape(tx.index_select(g, dim, index), source_type.shape)
        return picked if alpha == 1 else picked * alpha

    def reference(input, dim, index, source, alpha=1):
        y = at_least_1d(np.array(input))
        lines = np.moveaxis(y, dim, 0)
        for i, line in zip(index.ravel(), np.moveaxis(at_least_1d(source), dim, 0), strict=True):
            lines[i] = lines[i] + (alpha * line).astype(y.dtype)
        return y.reshape(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.b, high=s.n), s.real(s.b, s.m))
        yield Sample(s.real(s.n, s.m), -1, s.ints(s.k, high=s.m), s.real(s.n, s.k), alpha=2)
        yield Sample(s.real(s.n), 0, s.ints(0), s.real(0))
        yield Sample(s.real(s.n), 0, s.ints(high=2), s.real(1))
        yield Sample(s.real(), 0, s.ints(1, high=1), s.real(1))

    def bad(s):
        yield Bad(Sample(s.real(3, 2), 0, s.ints(2), s.real(2)), ShapeError, "a slice for each")
        yield Bad(
            Sample(s.real(3), 0, s.array([3], int64), s.real(1)), IndexOutOfRange, "index 3 is out"
        )


class IndexCopy(Op):
    """A copy of the input with the slices that the index names replaced by those of the source.

    >>> tx.index_copy(tx.zeros(3), 0, tx.tensor([0, 2]), tx.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """

    signature = "index_copy(input, dim: int, index, source) -> y"
    inplace = True

    def infer(input, dim, index, source):
        d = check_lines("index_copy", input, dim, index)
        check_source("index_copy", input, d, index, source)
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, dim, index, source):
        y = at_least_1d(np.array(input))
        index = checked_index("index_copy", at_least_1d(index), y.shape[dim], dim % y.ndim)
        np.moveaxis(y, dim, 0)[index] = np.moveaxis(at_least_1d(source), dim, 0)
        return y.reshape(input.shape)

    def vjp_input(g, dim, index):
        return tx.index_fill(g, dim, index, 0)

    def vjp_source(g, source_type, dim, index):
        picked = tx.index_select(g, dim, index)
        d = dim % max(g.ndim, 1)
        index = tx.reshape(index, (numel(index.shape),))
        numbers = numbered(index.shape)
        board = g.new_zeros((g.shape[d] if g.ndim else 1,), dtype=int64)
        seen = tx.index_select(tx.index_copy(board, 0, index, numbers), 0, index)
        lines = tx.moveaxis(picked, d, 0) if g.ndim else tx.reshape(picked, (1,))
        lines = of_the_last(lines, seen, numbers)
        return tx.reshape(tx.moveaxis(lines, 0, d), source_type.shape)

    def reference(input, dim, index, source):
        y = at_least_1d(np.array(input))
        lines = np.moveaxis(y, dim, 0)
        for i, line in zip(index.ravel(), np.moveaxis(at_least_1d(source), dim, 0), strict=True):
            lines[i] = line
        return y.reshape(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, unique_index(s, s.n, dim=0), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), -1, s.array([1, 0], int64), s.real(s.n, 2))
        yield Sample(s.real(s.n), 0, s.ints(0), s.real(0))
        yield Sample(s.real(), 0, s.ints(1, high=1), s.real(1))

    def bad(s):
        yield Bad(Sample(s.real(3, 2), 0, s.ints(2), s.real(3, 2)), ShapeError, "a slice for each")
        yield Bad(
            Sample(s.real(3), 0, s.array([-4], int64), s.real(1)),
            IndexOutOfRange,
            "index -4 is out",
        )


class IndexFill(Op):
    """A copy of the input with the slices that the index names set to one value.

    >>> tx.index_fill(tx.zeros(3), 0, tx.tensor([0, -1]), 5)
    tensor([5., 0., 5.])
    """

    signature = "index_fill(input, dim: int, index, value: operand) -> y"
    inplace = True

    def infer(input, dim, index, value):
        check_lines("index_fill", input, dim, index)
        if getattr(value, "ndim", 0) != 0:
            raise ShapeError(
                f"index_fill: value must be a number or a 0-d tensor, value is {describe(value)}"
            )
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, dim, index, value):
        y = at_least_1d(np.array(input))
        index = checked_index("index_fill", index, y.shape[dim], dim % y.ndim, negative=True)
        if not isinstance(value, np.ndarray):
            value = number_in("index_fill", value, y.dtype)
        np.moveaxis(y, dim, 0)[index] = value
        return y.reshape(input.shape)

    def vjp_input(g, dim, index):
        return tx.index_fill(g, dim, index, 0)

    def vjp_value(g, dim, index):
        return tx.sum(g - tx.index_fill(g, dim, index, 0))  # each place once, however often named

    def reference(input, dim, index, value):
        y = at_least_1d(np.array(input))
        chosen = {int(i) % y.shape[dim] for i in index.ravel()}
        for place in np.ndindex(*y.shape):
            if place[dim] in chosen:
                y[place] = value
        return y.reshape(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.k, low=-2, high=2), 3)
        yield Sample(s.real(s.n, s.m), -1, s.ints(s.k, high=s.m), s.real())
        yield Sample(s.real(s.n), 0, s.ints(0), 1)
        yield Sample(s.real(), 0, s.ints(high=1), 1)

    def bad(s):
        yield Bad(Sample(s.real(3), 0, s.ints(1), s.real(1)), ShapeError, "a 0-d tensor")
        yield Bad(Sample(s.real(3), 0, s.array([3], int64), 1), IndexOutOfRange, "index 3 is out")


class IndexSet(Op):
    """A copy of the input with values written, or added, where index tensors on the first axes say.

    >>> tx.index_set(tx.zeros(3), [tx.tensor([0, 0])], tx.ones(2), True)
    tensor([2., 0., 0.])
    """

    signature = (
        "index_set(input, indices: tensors, values, accumulate: bool = False, axes: ints? = None)"
        " -> y"
    )
    method = False
    inplace = True

    def infer(input, indices, values, accumulate=False, axes=None):
        shape = indexed_shape("setitem", input, indices)
        require_same_dtype("setitem", input, values, "values")
        if not broadcasts_to(tuple(values.shape), shape):
            raise ShapeError(
                f"setitem: the value must broadcast to the elements it replaces, "
                f"[{','.join(map(str, shape))}], values is {describe(values)}"
            )
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, indices, values, accumulate=False, axes=None):
        y = np.array(input, order="C")
        places = checked_indices("setitem", y.shape, indices, axes)
        if not accumulate:
            y[places] = values
            return y
        places = np.broadcast_arrays(*places)
        lines = np.broadcast_to(values, (*places[0].shape, *y.shape[len(places) :]))
        lines = lines.reshape(places[0].size, *y.shape[len(places) :])
        flat = np.ravel_multi_index([p.ravel() for p in places], y.shape[: len(places)])
        if y.size:
            add_lines(y.reshape(-1, *y.shape[len(places) :]), flat, lines)
        return y

    def vjp_input(g, indices, values_type, accumulate, axes):
        return g if accumulate else tx.index_set(g, indices, g.new_zeros(()), False, axes)

    def vjp_values(g, indices, accumulate, axes):
        picked = tx.index_get(g, indices, axes)
        if accumulate:
            return picked
        numbers = numbered(broadcast_shapes(*(tuple(i.shape) for i in indices)))
        board = g.new_zeros(tuple(g.shape[: len(indices)]), dtype=int64)
        seen = tx.index_get(tx.index_set(board, indices, numbers, False, axes), indices, axes)
        return of_the_last(picked, seen, numbers)

    def reference(input, indices, values, accumulate=False, axes=None):
        y = np.array(input)
        indices = np.broadcast_arrays(*indices)
        shape = indices[0].shape
        values = np.broadcast_to(values, shape + input.shape[len(indices) :])
        for i in np.ndindex(*shape):
            place = tuple(int(k[i]) for k in indices)
            y[place] = y[place] + values[i] if accumulate else values[i]
        return y

    def samples(s):
        for accumulate in (False, True):
            index = s.ints(s.b, high=s.n) if accumulate else unique_index(s, s.n, dim=0)
            size = s.b if accumulate else s.n
            yield Sample(s.real(s.n, s.m), [index], s.real(size, s.m), accumulate)
            yield Sample(s.real(s.n, s.m), [index], s.real(s.m), accumulate)
        yield Sample(
            s.real(s.n, s.m), [s.ints(s.b, high=s.n), s.ints(s.b, high=s.m)], s.real(s.b), True
        )
        yield Sample(s.real(s.n, s.m), [s.ints(high=s.n), s.array([1, -2], int64)], s.real(2))
        yield Sample(s.real(s.n), [s.ints(0)], s.real(0))

    def bad(s):
        yield Bad(
            Sample(s.real(3), [s.array([3], int64)], s.real(1)), IndexOutOfRange, "index 3 is out"
        )
        yield Bad(Sample(s.real(3), [s.ints(2, high=3)], s.real(3)), ShapeError, "must broadcast")


class IndexPut(Composite):
    """A copy of the input with values written, or added, where a tuple of index tensors says.

    >>> tx.index_put(tx.zeros(3), (tx.tensor([0, 2]),), tx.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """

    signature = "index_put(input, indices: any, values, accumulate: bool = False) -> y"
    inplace = True

    def compose(input, indices, values, accumulate):
        from thixo.ops.getitem import index_put

        return index_put(input, indices, values, accumulate)

    def reference(input, indices, values, accumulate=False):
        y = np.array(input)
        if accumulate:
            np.add.at(y, tuple(indices), values)
        else:
            y[tuple(indices)] = values
        return y

    def samples(s):
        yield Sample(s.real(s.n, s.m), (unique_index(s, s.n, dim=0),), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), (s.ints(s.b, high=s.n),), s.real(s.b, s.m), True)
        yield Sample(s.real(s.n, s.m), (s.bools(s.n, s.m),), s.real())
        yield Sample(s.real(s.n, s.m), (s.bools(s.n),), s.real(s.m), accumulate=True)
        yield Sample(
            s.real(s.n, s.m), (s.ints(s.b, high=s.n), s.ints(s.b, high=s.m)), s.real(s.b), True
        )

    def bad(s):
        yield Bad(
            Sample(s.real(3), (s.array([3], int64),), s.real(1)), IndexOutOfRange, "index 3 is out"
        )


class Put(Op):
    """A copy of the input with elements written, or added, by their number in the flat input.

    >>> tx.put(tx.zeros(2, 2), tx.tensor([0, -1]), tx.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """

    signature = "put(input, index, source, accumulate: bool = False) -> y"
    inplace = True

    def infer(input, index, source, accumulate=False):
        require_index("put", index)
        require_same_dtype("put", input, source, "source")
        if numel(index.shape) != numel(source.shape):
            raise ShapeError(
                f"put: needs an element of source for each index, index is {describe(index)}, "
                f"source is {describe(source)}"
            )
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, index, source, accumulate=False):
        y = np.array(input, order="C")
        flat = y.reshape(-1)
        index = checked_index("put", index, flat.size, None, negative=True).reshape(-1)
        if accumulate:
            add_lines(flat, index, source.reshape(-1))
        else:
            flat[index] = source.reshape(-1)
        return y

    def vjp_input(g, index, source_type, accumulate):
        return g if accumulate else tx.put(g, index, g.new_zeros(source_type.shape))

    def vjp_source(g, source_type, index, accumulate):
        picked = tx.take(g, index)
        if not accumulate:
            numbers = numbered(index.shape)
            seen = tx.take(tx.put(g.new_zeros(tuple(g.shape), dtype=int64), index, numbers), index)
            picked = of_the_last(picked, seen, numbers)
        return tx.reshape(picked, source_type.shape)

    def reference(input, index, source, accumulate=False):
        flat = input.ravel().tolist()
        for i, value in zip(index.ravel(), source.ravel().tolist(), strict=True):
            flat[i] = flat[i] + value if accumulate else value
        return np.array(flat).astype(input.dtype).reshape(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.array([0, -1, 3], int64), s.real(3))
        yield Sample(s.real(s.n, s.m), s.ints(s.k, 2, high=4), s.real(2, s.k), True)
        yield Sample(s.real(s.n), s.ints(0), s.real(0))
        yield Sample(s.real(), s.ints(high=1), s.real())

    def bad(s):
        yield Bad(Sample(s.real(3), s.ints(2), s.real(3)), ShapeError, "for each index")
        yield Bad(
            Sample(s.real(3), s.array([3], int64), s.real(1)), IndexOutOfRange, "for 3 elements"
        )


class MaskedScatter(Op):
    """The input with its elements replaced, in order, by those of the source where the mask is true.

    >>> tx.masked_scatter(tx.zeros(3), tx.tensor([True, False, True]), tx.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """

    signature = "masked_scatter(input, mask, source) -> y"
    inplace = True

    def infer(input, mask, source):
        if mask.dtype is not bool_:
            raise DTypeError(f"masked_scatter: mask must be bool, mask is {describe(mask)}")
        require_same_dtype("masked_scatter", input, source, "source")
        shape = broadcast_shapes(input.shape, mask.shape, op="masked_scatter")
        return Spec(shape, input.dtype)

    def kernel(input, mask, source):
        mask = np.broadcast_to(mask, np.broadcast_shapes(input.shape, mask.shape))
        y = np.array(np.broadcast_to(input, mask.shape))
        count = int(mask.sum())
        if count > source.size:
            raise ShapeError(
                f"masked_scatter: the mask has {count} true elements, source only {source.size}"
            )
        y[mask] = source.reshape(-1)[:count]
        return y

    def vjp_input(g, mask):
        return tx.masked_fill(g, mask, 0)

    def vjp_source(g, mask, source_type):
        taken = tx.masked_select(g, mask)
        rest = numel(source_type.shape) - taken.shape[0]
        return tx.reshape(tx.constant_pad_nd(taken, (0, rest), 0), source_type.shape)

    def reference(input, mask, source):
        input, mask = (np.array(a) for a in np.broadcast_arrays(input, mask))
        values = iter(source.ravel())
        for i in np.ndindex(*input.shape):
            if mask[i]:
                input[i] = next(values)
        return input

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.bools(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.bools(s.m), s.real(s.n * s.m))
        yield Sample(s.real(s.m), s.bools(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(), s.bools(), s.real(2))

    def bad(s):
        yield Bad(Sample(s.real(2), s.ints(2), s.real(2)), DTypeError, "mask must be bool")
        yield Bad(
            Sample(s.real(2), s.array([True, True], bool_), s.real(1)), ShapeError, "source only 1"
        )
