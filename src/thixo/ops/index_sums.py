"""Sums into zeros by index, which are the gradients of reading by index."""

import numpy as np

from thixo.dtype import int64
from thixo.errors import IndexOutOfRange, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.index_checks import (
    add_lines,
    at_least_1d,
    check_along,
    check_inside,
    check_lines,
    checked_index,
    grid,
)
from thixo.ops.indexing import checked_indices, indexed_shape
from thixo.ops.layout import broadcasts_to
from thixo.ops.loops import replaced
from thixo.ops.samples import Bad, Sample
from thixo.ops.scatter import reach
from thixo.shape import shape_text


class IndexSum(Op):
    """Zeros of a size along an axis, with the slices of source added at an index.

    >>> tx.index_sum(tx.tensor([1.0, 2.0, 3.0]), 0, tx.tensor([2, 0, 2]), 4)
    tensor([2., 0., 4., 0.])
    """

    signature = "index_sum(source, dim: int, index, size: int) -> y"
    method = False

    def infer(source, dim, index, size):
        if source.ndim == 0:
            raise ShapeError("index_sum: source is 0-d and has no axis to sum along")
        d = check_lines("index_sum", source, dim, index)
        if size < 0:
            raise ValueRangeError(f"index_sum: size cannot be negative, got {size}")
        count = index.shape[0] if index.ndim else 1
        if count != source.shape[d]:
            raise ShapeError(
                f"index_sum: source must have a slice for each index, source is {describe(source)}, "
                f"index is {describe(index)}"
            )
        return Spec((*source.shape[:d], size, *source.shape[d + 1 :]), source.dtype)

    def kernel(source, dim, index, size):
        lines = np.moveaxis(source, dim, 0)
        y = np.zeros((size, *lines.shape[1:]), source.dtype)
        index = checked_index("index_sum", at_least_1d(index), size, dim % source.ndim)
        add_lines(y, index, lines)
        return np.moveaxis(y, 0, dim)

    def vjp_source(g, dim, index):
        return tx.index_select(g, dim, index)

    def reference(source, dim, index, size):
        lines = np.moveaxis(source, dim, 0)
        y = np.zeros((size, *lines.shape[1:]), source.dtype)
        for place, line in zip(at_least_1d(index), lines, strict=True):
            y[place] += line
        return np.moveaxis(y, 0, dim)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.n, high=s.k), s.k)
        yield Sample(s.real(s.n, s.m, s.k), -2, s.ints(s.m, high=2), 5)
        yield Sample(s.real(1, s.m), 0, s.ints(high=s.k), s.k)
        yield Sample(s.real(s.n), 0, s.ints(s.n, high=1), 1)
        yield Sample(s.real(0, s.m), 0, s.ints(0), s.k)

    def bad(s):
        yield Bad(Sample(s.real(2), 0, s.ints(3), 4), ShapeError, "a slice for each index")
        yield Bad(Sample(s.real(2), 0, s.ints(2), -1), ValueRangeError, "cannot be negative")
        yield Bad(Sample(s.real(), 0, s.ints(1), 1), ShapeError, "0-d")
        yield Bad(
            Sample(s.real(2), 0, s.array([0, 3], int64), 3), IndexOutOfRange, "index 3 is out"
        )


class ScatterSum(Op):
    """Zeros of a shape, with elements added along an axis: y[index[i][j]][j] += src[i][j] for dim 0.

    With `distinct` the caller knows that no two elements go to the same place, as behind a sort; if two do, one of them is lost.

    >>> tx.scatter_sum(tx.tensor([1.0, 2.0]), 0, tx.tensor([2, 2]), (3,))
    tensor([0., 0., 3.])
    """

    signature = "scatter_sum(src, dim: int, index, shape: ints, distinct: bool = False) -> y"
    method = False

    def infer(src, dim, index, shape, distinct):
        result = Spec(tuple(shape), src.dtype)
        d = check_along("scatter_sum", result, dim, index)
        check_inside("scatter_sum", index, result, "the result", except_dim=d)
        check_along("scatter_sum", src, dim, index)
        check_inside("scatter_sum", index, src, "src")
        return result

    def kernel(src, dim, index, shape, distinct):
        y = at_least_1d(np.zeros(shape, src.dtype))
        if index.size:
            index = at_least_1d(index)
            d = dim % y.ndim
            index = checked_index("scatter_sum", index, y.shape[d], d)
            np.add.at(y, grid(index, d), at_least_1d(src)[tuple(slice(n) for n in index.shape)])
        return y.reshape(shape)

    def vjp_src(g, dim, index, src_type):
        return reach(tx.gather(g, dim, index), src_type)

    def reference(src, dim, index, shape, distinct):
        y = at_least_1d(np.zeros(shape, src.dtype))
        index, src = at_least_1d(index), at_least_1d(src)
        for i in np.ndindex(*index.shape):
            y[replaced(i, dim, index[i])] += src[i]
        return y.reshape(shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, s.ints(s.n, s.m, high=s.k), (s.k, s.m))
        yield Sample(s.real(s.n, s.m + 1), 1, s.ints(2, s.m, high=s.k), (s.n, s.k))
        yield Sample(s.real(s.n, s.m, s.k), -1, s.ints(s.n, 1, s.k, high=3), (s.n, s.m, 3))
        yield Sample(s.real(s.m), 0, s.ints(0), (s.n,))
        yield Sample(s.real(), 0, s.ints(high=1), ())

    def bad(s):
        yield Bad(
            Sample(s.real(1, 5), 0, s.ints(2, 2, high=3), (3, 5)), ShapeError, "larger than src"
        )
        yield Bad(
            Sample(s.real(1), 0, s.array([3], int64), (3,)), IndexOutOfRange, "index 3 is out"
        )


class PlaceSum(Op):
    """Zeros of a shape, with values added at the places that index tensors name on its first axes.

    >>> tx.place_sum(tx.tensor([1.0, 2.0]), [tx.tensor([0, 0]), tx.tensor([1, 1])], (2, 2))
    tensor([[0., 3.],
            [0., 0.]])
    """

    signature = "place_sum(values, indices: tensors, shape: ints, axes: ints? = None) -> y"
    method = False

    def infer(values, indices, shape, axes=None):
        result = Spec(tuple(shape), values.dtype)
        picked = indexed_shape("place_sum", result, indices)
        if not broadcasts_to(tuple(values.shape), picked):
            raise ShapeError(
                f"place_sum: the values must broadcast to the elements they are added to, "
                f"{shape_text(picked)}, values is {describe(values)}"
            )
        return result

    def kernel(values, indices, shape, axes=None):
        y = np.zeros(shape, values.dtype)
        places = np.broadcast_arrays(*checked_indices("place_sum", y.shape, indices, axes))
        rest = y.shape[len(places) :]
        lines = np.broadcast_to(values, (*places[0].shape, *rest)).reshape(places[0].size, *rest)
        flat = np.ravel_multi_index([p.ravel() for p in places], y.shape[: len(places)])
        if y.size:
            add_lines(y.reshape(-1, *rest), flat, lines)
        return y

    def vjp_values(g, indices, axes):
        return tx.index_get(g, indices, axes)

    def reference(values, indices, shape, axes=None):
        y = np.zeros(shape, values.dtype)
        indices = np.broadcast_arrays(*indices)
        values = np.broadcast_to(values, (*indices[0].shape, *y.shape[len(indices) :]))
        for i in np.ndindex(*indices[0].shape):
            y[tuple(index[i] for index in indices)] += values[i]
        return y

    def samples(s):
        yield Sample(s.real(s.n, s.m), [s.ints(s.n, high=s.k)], (s.k, s.m))
        yield Sample(s.real(s.n), [s.ints(s.n, high=s.k), s.ints(s.n, high=s.m)], (s.k, s.m))
        yield Sample(s.real(s.m), [s.ints(s.n, 1, high=s.k), s.ints(s.b, high=2)], (s.k, 2, s.m))
        yield Sample(s.real(), [s.ints(s.n, high=s.k)], (s.k,))
        yield Sample(s.real(0), [s.ints(0)], (s.k,))

    def bad(s):
        yield Bad(Sample(s.real(3), [s.ints(2, high=3)], (3,)), ShapeError, "must broadcast")
        yield Bad(Sample(s.real(1), [s.array([3], int64)], (3,)), IndexOutOfRange, "index 3 is out")
