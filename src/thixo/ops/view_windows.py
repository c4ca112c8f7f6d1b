"""Views along more than one axis at once: diagonals and sliding windows."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.errors import ArgumentError, ShapeError
from thixo.ops import public as tx
from thixo.ops.base import View
from thixo.ops.layout import same_type_as
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_max, dim_min, normalize_dim, shape_text


class Diagonal(View):
    """The elements input[..., i, ..., i + offset, ...] of two axes, as a last axis.

    >>> tx.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4])
    """

    signature = "diagonal(input, offset: int = 0, dim1: int = 0, dim2: int = 1) -> input"

    def geometry(shape, strides, start, offset=0, dim1=0, dim2=1):
        a, b, length = diagonal_axes("diagonal", shape, offset, dim1, dim2)
        if length != 0:
            start = start + (-offset * strides[a] if offset < 0 else offset * strides[b])
        rest = [d for d in range(len(shape)) if d not in (a, b)]
        return (
            (*(shape[d] for d in rest), length),
            (*(strides[d] for d in rest), strides[a] + strides[b]),
            start,
        )

    infer = same_type_as(geometry)

    def vjp(g, input_type, offset, dim1, dim2):
        return tx.diagonal_scatter(g.new_zeros(input_type.shape), g, offset, dim1, dim2)

    def reference(input, offset=0, dim1=0, dim2=1):
        return np.diagonal(input, offset, dim1, dim2)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), offset=1)
        yield Sample(s.real(s.n, s.m), offset=-1, dim1=-1, dim2=0)
        yield Sample(s.real(s.n, s.m, s.k), 0, 2, 1)
        yield Sample(s.real(s.n, s.m), offset=100)
        yield Sample(s.real(s.n, 0))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "two axes")
        yield Bad(Sample(s.real(3, 3), 0, 1, -1), ShapeError, "must differ")


def diagonal_axes(
    operation: str, shape: Sequence[Any], offset: int, dim1: int, dim2: int
) -> tuple[int, int, Any]:
    """The two axes of a diagonal counted from the front, and its length."""
    if len(shape) < 2:
        raise ShapeError(f"{operation}: needs two axes or more, input is {shape_text(shape)}")
    a, b = normalize_dim(dim1, len(shape), operation), normalize_dim(dim2, len(shape), operation)
    if a == b:
        raise ShapeError(f"{operation}: dim1 and dim2 must differ, both are {a}")
    rows = shape[a] + offset if offset < 0 else shape[a]
    columns = shape[b] - offset if offset > 0 else shape[b]
    return a, b, dim_max(dim_min(rows, columns), 0)


class Unfold(View):
    """Windows of `size` elements of an axis, one every `step`; they become the last axis.

    >>> tx.arange(5).unfold(0, 3, 1)
    tensor([[0, 1, 2],
            [1, 2, 3],
            [2, 3, 4]])
    """

    signature = "unfold(input, dimension: int, size: int, step: int) -> input"

    def geometry(shape, strides, offset, dimension, size, step):
        d = normalize_dim(dimension, len(shape), "unfold")
        length = shape[d] if shape else 1
        if size < 0 or step <= 0:
            raise ArgumentError(
                f"unfold: needs size of at least 0 and step of at least 1, got {size} and {step}"
            )
        if size > length:
            raise ShapeError(
                f"unfold: a window of {size} does not fit axis {d} of {shape_text(shape)}"
            )
        if not shape:
            return (size,), (1,), offset
        windows = (length - size) // step + 1
        return (
            (*shape[:d], windows, *shape[d + 1 :], size),
            (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]),
            offset,
        )

    infer = same_type_as(geometry)

    def vjp(g, input_type, dimension, size, step):
        shape = tuple(input_type.shape)
        if not shape:
            return tx.sum(g)
        d = normalize_dim(dimension, len(shape), "unfold")
        windows = g.shape[d]
        starts = tx.arange(windows).unsqueeze(1) * step
        index = (starts + tx.arange(size)).reshape(windows * size)
        g = tx.movedim(g, -1, d + 1)  # (..., windows, size, ...)
        g = tx.reshape(g, (*shape[:d], windows * size, *shape[d + 1 :]))
        return tx.index_add(g.new_zeros(shape), d, index, g)

    def reference(input, dimension, size, step):
        if input.ndim == 0:
            return np.repeat(input, size)
        last = np.moveaxis(input, dimension, -1)
        starts = range(0, last.shape[-1] - size + 1, step)
        windows = np.array([last[..., i : i + size] for i in starts])
        return np.moveaxis(windows, 0, dimension % input.ndim)

    def samples(s):
        yield Sample(s.real(s.n + 3), 0, 2, 1)
        yield Sample(s.real(s.n, s.m + 3), 1, 3, 2)
        yield Sample(s.real(s.n, s.m), -2, 2, 3)
        yield Sample(s.real(s.n), 0, 0, 1)
        yield Sample(s.real(), 0, 1, 1)

    def bad(s):
        yield Bad(Sample(s.real(3), 0, 4, 1), ShapeError, "does not fit")
        yield Bad(Sample(s.real(3), 0, 2, 0), ArgumentError, "step of at least 1")
