"""The views: operators whose result looks at their input's memory in another way."""

import numpy as np

from thixo.dtype import DType
from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, ValueRangeError
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec, View
from thixo.ops.layout import (
    position,
    regroup_strides,
    resolve_shape,
    same_type_as,
    slice_bounds,
)
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim, normalize_dims, shape_text
from thixo.symbolic import Dim, same


class ViewShape(View):
    """The same elements in another shape, without a copy; one size may be -1.

    >>> tx.arange(6).view(2, 3)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """

    signature = "view(input, shape: ints...) -> input"
    keeps_axes = True
    layout_matters = True

    def overload(input, dtype):
        """view(input, dtype): the same bytes as another element type."""
        if not isinstance(dtype, DType):
            raise TypeError("this form takes a dtype")
        return tx.view_dtype(input, dtype)

    def geometry(shape, strides, offset, target):
        target = resolve_shape(shape, target, "view")
        regrouped = regroup_strides(shape, strides, target)
        if regrouped is None:
            raise ShapeError(
                f"view: {shape_text(shape)} with strides {tuple(strides)} cannot be seen as "
                f"{shape_text(target)} without a copy; use reshape"
            )
        return target, regrouped, offset

    def infer(input, shape):
        return Spec(resolve_shape(input.shape, shape, "view"), input.dtype)

    def vjp(g, input_type):
        return tx.reshape(g, input_type.shape)

    def reference(input, shape):
        flat = iter(input.flat)
        return build(np.empty(input.size).reshape(shape).shape, input.dtype, lambda i: next(flat))

    def samples(s):
        yield Sample(s.real(s.n, s.m), shape=(s.n * s.m,))
        yield Sample(s.real(s.n * s.m, s.k), shape=(s.n, s.m, -1))
        yield Sample(s.real(s.n, 0), shape=(0, s.m))
        yield Sample(s.real(), shape=(1, 1))
        yield Sample(s.real(1), shape=())

    def bad(s):
        yield Bad(Sample(s.real(2, 3), shape=(4,)), ShapeError, "has 6 elements")
        yield Bad(Sample(s.real(2, 3), shape=(-1, -1)), ShapeError, "only one size can be -1")
        yield Bad(Sample(s.real(0, 3), shape=(0, -1)), ShapeError, "because another size is 0")


class Reshape(Op):
    """The same elements in another shape: a view where strides allow it, else a copy.

    >>> tx.arange(6).reshape(3, -1)
    tensor([[0, 1],
            [2, 3],
            [4, 5]])
    """

    total = True
    signature = "reshape(input, shape: ints...) -> y"

    def infer(input, shape):
        return Spec(resolve_shape(input.shape, shape, "reshape"), input.dtype)

    def kernel(input, shape):
        return np.array(input, order="C").reshape(shape)

    def vjp(g, input_type):
        return tx.reshape(g, input_type.shape)

    reference = ViewShape.reference
    samples = ViewShape.samples

    def bad(s):
        yield Bad(Sample(s.real(2, 3), shape=(4, 2)), ShapeError, "has 6 elements")
        yield Bad(Sample(s.real(2, 3), shape=(4, -1)), ShapeError, "has 6 elements")


class Transpose(View):
    """The input with two axes exchanged.

    >>> tx.tensor([[1, 2], [3, 4]]).transpose(0, 1)
    tensor([[1, 3],
            [2, 4]])
    """

    signature = "transpose(input, dim0: int, dim1: int) -> input"

    def geometry(shape, strides, offset, dim0, dim1):
        a, b = (
            normalize_dim(dim0, len(shape), "transpose"),
            normalize_dim(dim1, len(shape), "transpose"),
        )
        if not shape:
            return shape, strides, offset
        shape, strides = list(shape), list(strides)
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
        return tuple(shape), tuple(strides), offset

    infer = same_type_as(geometry)

    def vjp(g, dim0, dim1):
        return tx.transpose(g, dim0, dim1)

    def reference(input, dim0, dim1):
        return np.swapaxes(input, dim0, dim1) if input.ndim else input

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, 1)
        yield Sample(s.real(s.n, s.m, s.k), -1, 0)
        yield Sample(s.real(s.n, 0), 1, 0)
        yield Sample(s.real(), 0, -1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 0, 2), IndexOutOfRange, "2 is out of range")


class Permute(View):
    """The input with its axes in another order.

    >>> tx.zeros(2, 3, 5).permute(2, 0, 1).shape
    Size([5, 2, 3])
    """

    signature = "permute(input, dims: ints...) -> input"

    def geometry(shape, strides, offset, dims):
        if len(dims) != len(shape):
            raise ShapeError(
                f"permute: needs each of the {len(shape)} axes of {shape_text(shape)} once, "
                f"got dims {tuple(dims)}"
            )
        order = normalize_dims(dims, len(shape), "permute")
        return tuple(shape[d] for d in order), tuple(strides[d] for d in order), offset

    infer = same_type_as(geometry)

    def vjp(g, dims):
        order = normalize_dims(dims, len(dims), "permute")
        return tx.permute(g, tuple(order.index(d) for d in range(len(order))))

    def reference(input, dims):
        def element(index):
            source = [0] * input.ndim
            for place, d in enumerate(dims):
                source[d] = index[place]
            return input[tuple(source)]

        return build([input.shape[d] for d in dims], input.dtype, element)

    def samples(s):
        yield Sample(s.real(s.n, s.m, s.k), dims=(2, 0, 1))
        yield Sample(s.real(s.n, s.m, s.k), dims=(-2, -1, 0))
        yield Sample(s.real(0, s.m), dims=(1, 0))
        yield Sample(s.real(), dims=())

    def bad(s):
        yield Bad(Sample(s.real(2, 3), dims=(0,)), ShapeError, "each of the 2")
        yield Bad(Sample(s.real(2, 3), dims=(0, 0)), ValueRangeError, "twice")


class Expand(View):
    """The input repeated along axes of size 1, and along new ones in front, without a copy.

    -1 keeps an axis as it is.

    >>> tx.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """

    signature = "expand(input, size: ints...) -> input"

    def geometry(shape, strides, offset, size):
        new = len(size) - len(shape)
        if new < 0:
            raise ShapeError(
                f"expand: {shape_text(shape)} has more axes than {shape_text(size)}; "
                "needs at least as many sizes as axes"
            )
        wanted, steps = [], []
        for d, target in enumerate(size):
            keeps = isinstance(target, int) and target == -1
            if d < new:
                if keeps or target < 0:
                    raise ShapeError(
                        f"expand: {target} at place {d} of {shape_text(size)} is no size; "
                        "-1 can stand only for an axis that exists"
                    )
                wanted.append(target)
                steps.append(0)
                continue
            have = shape[d - new]
            if keeps or target is have or same(target, have):
                wanted.append(have)
                steps.append(strides[d - new])
            elif have == 1:
                if target < 0:
                    raise ShapeError(f"expand: sizes cannot be negative, got {shape_text(size)}")
                wanted.append(target)
                # Of a symbolic size nothing is asked: an axis of 1 may have any stride.
                stays = not isinstance(target, Dim) and target == 1
                steps.append(strides[d - new] if stays else 0)
            elif have == target:
                wanted.append(have)
                steps.append(strides[d - new])
            else:
                raise ShapeError(
                    f"expand: axis {d - new} of {shape_text(shape)} has size {have} and cannot "
                    f"become {target}; only an axis of size 1 can grow"
                )
        return tuple(wanted), tuple(steps), offset

    infer = same_type_as(geometry)

    def vjp(g):
        return g  # still broadcast: summed to the input's shape by the tape

    def reference(input, size):
        new = len(size) - input.ndim
        shape = [input.shape[d - new] if n == -1 else n for d, n in enumerate(size)]
        return build(
            shape,
            input.dtype,
            lambda i: input[
                tuple(0 if n == 1 else k for n, k in zip(input.shape, i[new:], strict=True))
            ],
        )

    def samples(s):
        yield Sample(s.real(s.n, 1), size=(s.n, s.m))
        yield Sample(s.real(1, s.m), size=(s.k, s.n, -1))
        yield Sample(s.real(), size=(s.n,))
        yield Sample(s.real(s.n, 1), size=(-1, 0))
        yield Sample(s.real(), size=())

    def bad(s):
        yield Bad(Sample(s.real(2, 3), size=(2, 4)), ShapeError, "of size 1")
        yield Bad(Sample(s.real(2, 3), size=(3,)), ShapeError, "[3]")
        yield Bad(Sample(s.real(3), size=(-1, 3)), ShapeError, "[-1,3]")


class Squeeze(View):
    """The input without its axes of size 1: all of them, or those named.

    >>> tx.zeros(1, 3, 1).squeeze().shape, tx.zeros(1, 3, 1).squeeze(0).shape
    (Size([3]), Size([3, 1]))
    """

    signature = "squeeze(input, dim: ints? = None) -> input"
    keeps_axes = True

    def geometry(shape, strides, offset, dim=None):
        dims = range(len(shape)) if dim is None else normalize_dims(dim, len(shape), "squeeze")
        kept = [d for d in range(len(shape)) if d not in dims or shape[d] != 1]
        return tuple(shape[d] for d in kept), tuple(strides[d] for d in kept), offset

    infer = same_type_as(geometry)

    def vjp(g, input_type):
        return tx.reshape(g, input_type.shape)

    def reference(input, dim=None):
        if dim is None:
            return np.squeeze(input)
        ndim = max(input.ndim, 1)
        return np.squeeze(input, tuple(d % ndim for d in dim if input.ndim and input.shape[d] == 1))

    def samples(s):
        yield Sample(s.real(s.n, 1, s.m, 1))
        yield Sample(s.real(s.n, 1, s.m, 1), dim=1)
        yield Sample(s.real(s.n, 1, s.m, 1), dim=(-1, 0, 1))
        yield Sample(s.real(1, 0), dim=0)
        yield Sample(s.real(), dim=0)
        yield Sample(s.real())

    def bad(s):
        yield Bad(Sample(s.real(1, 3), dim=2), IndexOutOfRange, "2 is out of range")
        yield Bad(Sample(s.real(1, 3), dim=(0, -2)), ValueRangeError, "twice")


class Unsqueeze(View):
    """The input with a new axis of size 1 at place `dim`.

    >>> tx.tensor([1, 2]).unsqueeze(1)
    tensor([[1],
            [2]])
    """

    signature = "unsqueeze(input, dim: int) -> input"
    keeps_axes = True

    def geometry(shape, strides, offset, dim):
        d = normalize_dim(dim, len(shape) + 1, "unsqueeze")
        step = shape[d] * strides[d] if d < len(shape) else 1
        return (*shape[:d], 1, *shape[d:]), (*strides[:d], step, *strides[d:]), offset

    infer = same_type_as(geometry)

    def vjp(g, dim):
        return tx.squeeze(g, dim)

    def reference(input, dim):
        shape = list(input.shape)
        shape.insert(dim if dim >= 0 else dim + input.ndim + 1, 1)
        return input.reshape(shape)

    def samples(s):
        for dim in (0, 1, -1, -3):
            yield Sample(s.real(s.n, s.m), dim)
        yield Sample(s.real(), 0)
        yield Sample(s.real(0), -1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 3), IndexOutOfRange, "3 is out of range")


class Select(View):
    """One slice of the input across an axis, which disappears.

    >>> tx.tensor([[1, 2], [3, 4]]).select(1, -1)
    tensor([2, 4])
    """

    signature = "select(input, dim: int, index: int) -> input"
    keeps_axes = True
    is_part = True

    def geometry(shape, strides, offset, dim, index):
        if not shape:
            raise IndexOutOfRange("select: a 0-d tensor has no axis to select from")
        d = normalize_dim(dim, len(shape), "select")
        place = position(index, shape[d], "select", d)
        return (
            (*shape[:d], *shape[d + 1 :]),
            (*strides[:d], *strides[d + 1 :]),
            offset + place * strides[d],
        )

    infer = same_type_as(geometry)

    def vjp(g, input_type, dim, index):
        return tx.select_scatter(g.new_zeros(input_type.shape), g, dim, index)

    def reference(input, dim, index):
        return np.take(input, index, axis=dim)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0, 1)
        yield Sample(s.real(s.n, s.m, s.k), 1, -1)
        yield Sample(s.real(s.n, s.m), -1, 0)
        yield Sample(s.real(s.n), 0, -2)
        yield Sample(s.real(s.n, 0), 0, 1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), 1, 3), IndexOutOfRange, "index 3 is out of range")
        yield Bad(Sample(s.real(), 0, 0), IndexOutOfRange, "0-d")


class Slice(View):
    """Every `step`-th element of an axis from `start` up to, not including, `end`.

    >>> tx.slice(tx.arange(6), 0, 1, -1, 2)
    tensor([1, 3])
    """

    signature = (
        "slice(input, dim: int = 0, start: int? = None, end: int? = None, step: int = 1) -> input"
    )
    keeps_axes = True
    is_part = True
    method = False

    def geometry(shape, strides, offset, dim=0, start=None, end=None, step=1):
        if not shape:
            raise IndexOutOfRange("slice: a 0-d tensor has no axis to slice")
        d = normalize_dim(dim, len(shape), "slice")
        first, length = slice_bounds(start, end, step, shape[d])
        return (
            (*shape[:d], length, *shape[d + 1 :]),
            (*strides[:d], strides[d] * step, *strides[d + 1 :]),
            offset + first * strides[d],
        )

    infer = same_type_as(geometry)

    def vjp(g, input_type, dim, start, end, step):
        return tx.slice_scatter(g.new_zeros(input_type.shape), g, dim, start, end, step)

    def reference(input, dim=0, start=None, end=None, step=1):
        kept = range(input.shape[dim])[start:end:step]
        return np.take(input, np.array(kept, int), axis=dim)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), 1, 1)
        yield Sample(s.real(s.n, s.m), -1, -2, None)
        yield Sample(s.real(s.n, s.m), 0, 0, 100, 2)
        yield Sample(s.real(s.n, s.m), 0, None, -1)
        yield Sample(s.real(s.n), 0, 2, 1)
        yield Sample(s.real(0, s.n), 0, 0, 1)

    def bad(s):
        yield Bad(Sample(s.real(3), 0, None, None, -1), ArgumentError, "step must be positive")
        yield Bad(Sample(s.real(3), 0, None, None, 0), ArgumentError, "step must be positive")
        yield Bad(Sample(s.real(3), 1), IndexOutOfRange, "dim 1 is out of range")
