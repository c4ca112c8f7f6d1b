"""A copy of a tensor with one of its views overwritten: the pure forms of writing through a view."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.errors import IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.layout import position, slice_bounds
from thixo.ops.samples import Bad, Sample
from thixo.ops.view_windows import diagonal_axes
from thixo.shape import normalize_dim, shape_text


def require_shape(operation: str, src: Any, shape: Sequence[Any]) -> None:
    """Refuse a source of another shape than the view it is written to."""
    if tuple(src.shape) != tuple(shape):
        raise ShapeError(
            f"{operation}: src must have the shape of the view, {shape_text(shape)}, "
            f"src is {describe(src)}"
        )


class SelectScatter(Op):
    """A copy of the input with one slice across an axis replaced.

    >>> tx.select_scatter(tx.zeros(2, 2), tx.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """

    total = True
    signature = "select_scatter(input, src, dim: int, index: int) -> y"

    def infer(input, src, dim, index):
        if input.ndim == 0:
            raise IndexOutOfRange("select_scatter: a 0-d tensor has no axis to select from")
        d = normalize_dim(dim, input.ndim, "select_scatter")
        position(index, input.shape[d], "select_scatter", d)
        require_shape("select_scatter", src, (*input.shape[:d], *input.shape[d + 1 :]))
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, src, dim, index):
        y = np.array(input)
        np.moveaxis(y, dim, 0)[index] = src
        return y

    def vjp_input(g, src_type, dim, index):
        return tx.select_scatter(g, g.new_zeros(src_type.shape), dim, index)

    def vjp_src(g, dim, index):
        return tx.select(g, dim, index)

    def reference(input, src, dim, index):
        chosen = np.arange(input.shape[dim]) == index % input.shape[dim]
        chosen = chosen.reshape([-1 if d == dim % input.ndim else 1 for d in range(input.ndim)])
        return np.where(chosen, np.expand_dims(src, dim), input)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.m), 0, 1)
        yield Sample(s.real(s.n, s.m, s.k), s.real(s.n, s.k), -2, -1)
        yield Sample(s.real(s.n), s.real(), 0, 0)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(2), 0, 0), ShapeError, "shape of the view, [3]")
        yield Bad(Sample(s.real(2, 3), s.real(3), 0, 2), IndexOutOfRange, "index 2 is out of range")


class SliceScatter(Op):
    """A copy of the input with a slice along an axis replaced.

    >>> tx.slice_scatter(tx.zeros(4), tx.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """

    total = True
    signature = (
        "slice_scatter(input, src, dim: int = 0, start: int? = None, end: int? = None, "
        "step: int = 1) -> y"
    )

    def infer(input, src, dim=0, start=None, end=None, step=1):
        if input.ndim == 0:
            raise IndexOutOfRange("slice_scatter: a 0-d tensor has no axis to slice")
        d = normalize_dim(dim, input.ndim, "slice_scatter")
        _, length = slice_bounds(start, end, step, input.shape[d], "slice_scatter")
        require_shape("slice_scatter", src, (*input.shape[:d], length, *input.shape[d + 1 :]))
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, src, dim=0, start=None, end=None, step=1):
        y = np.array(input)
        first, length = slice_bounds(start, end, step, y.shape[dim])
        np.moveaxis(y, dim, 0)[first : first + length * step : step] = np.moveaxis(src, dim, 0)
        return y

    def vjp_input(g, src_type, dim, start, end, step):
        return tx.slice_scatter(g, g.new_zeros(src_type.shape), dim, start, end, step)

    def vjp_src(g, dim, start, end, step):
        return tx.slice(g, dim, start, end, step)

    def reference(input, src, dim=0, start=None, end=None, step=1):
        rows = list(np.moveaxis(input, dim, 0))
        for i, place in enumerate(range(len(rows))[start:end:step]):
            rows[place] = np.moveaxis(src, dim, 0)[i]
        if not rows:
            return input
        return np.stack(rows, dim)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m - 1), 1, 1)
        yield Sample(s.real(s.n, s.m), s.real(1, s.m), -2, 0, 2, 2)
        yield Sample(s.real(s.n, s.m), s.real(2, s.m), 0, -2, 100)
        yield Sample(s.real(s.n), s.real(0), 0, 1, 1)

    def bad(s):
        yield Bad(Sample(s.real(4), s.real(3), 0, 1, 3), ShapeError, "shape of the view, [2]")


class DiagonalScatter(Op):
    """A copy of the input with a diagonal of two axes replaced.

    >>> tx.diagonal_scatter(tx.zeros(2, 2), tx.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    total = True
    signature = "diagonal_scatter(input, src, offset: int = 0, dim1: int = 0, dim2: int = 1) -> y"

    def infer(input, src, offset=0, dim1=0, dim2=1):
        a, b, length = diagonal_axes("diagonal_scatter", tuple(input.shape), offset, dim1, dim2)
        rest = [n for d, n in enumerate(input.shape) if d not in (a, b)]
        require_shape("diagonal_scatter", src, (*rest, length))
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, src, offset=0, dim1=0, dim2=1):
        y = np.array(input)
        matrices = np.moveaxis(y, (dim1, dim2), (-2, -1))
        row = np.arange(src.shape[-1]) + max(-offset, 0)
        matrices[..., row, row + offset] = src
        return y

    def vjp_input(g, src_type, offset, dim1, dim2):
        return tx.diagonal_scatter(g, g.new_zeros(src_type.shape), offset, dim1, dim2)

    def vjp_src(g, offset, dim1, dim2):
        return tx.diagonal(g, offset, dim1, dim2)

    def reference(input, src, offset=0, dim1=0, dim2=1):
        a, b = dim1 % input.ndim, dim2 % input.ndim
        result = np.array(input)
        for index in np.ndindex(*input.shape):
            if index[b] - index[a] == offset:
                rest = tuple(i for d, i in enumerate(index) if d not in (a, b))
                result[index] = src[(*rest, min(index[a], index[b]))]
        return result

    def samples(s):
        yield Sample(s.real(s.n, s.n), s.real(s.n))
        yield Sample(s.real(s.n, s.n), s.real(s.n - 1), 1)
        yield Sample(s.real(s.n, s.k, s.n), s.real(s.k, s.n - 1), -1, 2, 0)
        yield Sample(s.real(s.n, s.m), s.real(0), 100)

    def bad(s):
        yield Bad(Sample(s.real(3, 3), s.real(2)), ShapeError, "shape of the view, [3]")
