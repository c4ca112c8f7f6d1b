"""Tensors with the type of another: zeros_like, new_zeros, empty_strided and their kin."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thixo.dtype import DType
from thixo.errors import ShapeError, ValueRangeError
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.create_options import check_memory_format
from thixo.ops.samples import Bad, Maker, Sample
from thixo.ops.view_strided import check_window, extent
from thixo.shape import normalize_dims


def options(
    input: Any, dtype: DType | None, layout: Any, device: Any, requires_grad: bool
) -> dict[str, Any]:
    """The options of a new tensor; what is not given is as the input's."""
    return {
        "dtype": dtype or input.dtype,
        "layout": layout,
        "device": input.device if device is None else device,
        "requires_grad": requires_grad,
    }


def like_samples(s: Maker) -> Iterator[Sample]:
    """Tensors of every shape, alone and with another dtype."""
    yield Sample(s.real(s.n, s.m))
    yield Sample(s.real())
    yield Sample(s.real(0, s.n))
    yield Sample(s.real(s.n), dtype=s.dtype)


class ZerosLike(Composite):
    """Zeros in the shape and dtype of another tensor.

    >>> tx.zeros_like(tx.tensor([1, 2]))
    tensor([0, 0])
    """

    signature = (
        "zeros_like(input, *, dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, memory_format: any? = None) -> y"
    )
    method = False

    def compose(input, dtype, layout, device, requires_grad, memory_format):
        check_memory_format("zeros_like", memory_format)
        return tx.zeros(input.shape, **options(input, dtype, layout, device, requires_grad))

    def reference(input, *given):
        return np.zeros_like(input)

    samples = like_samples


class OnesLike(Composite):
    """Ones in the shape and dtype of another tensor.

    >>> tx.ones_like(tx.tensor([1, 2]))
    tensor([1, 1])
    """

    signature = (
        "ones_like(input, *, dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, memory_format: any? = None) -> y"
    )
    method = False

    def compose(input, dtype, layout, device, requires_grad, memory_format):
        check_memory_format("ones_like", memory_format)
        return tx.ones(input.shape, **options(input, dtype, layout, device, requires_grad))

    def reference(input, *given):
        return np.ones_like(input)

    samples = like_samples


class EmptyLike(Composite):
    """A tensor without meaning yet, in the shape and dtype of another.

    >>> tx.empty_like(tx.tensor([1, 2])).shape
    Size([2])
    """

    signature = (
        "empty_like(input, *, dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, memory_format: any? = None) -> y"
    )
    method = False

    def compose(input, dtype, layout, device, requires_grad, memory_format):
        check_memory_format("empty_like", memory_format)
        return tx.empty(input.shape, **options(input, dtype, layout, device, requires_grad))

    def reference(input, *given):
        return np.zeros_like(input)

    samples = like_samples


class FullLike(Composite):
    """One number in the shape and dtype of another tensor.

    >>> tx.full_like(tx.tensor([1, 2]), 7)
    tensor([7, 7])
    """

    signature = (
        "full_like(input, fill_value: scalar, *, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False, memory_format: any? = None) -> y"
    )
    method = False

    def compose(input, fill_value, dtype, layout, device, requires_grad, memory_format):
        check_memory_format("full_like", memory_format)
        given = options(input, dtype, layout, device, requires_grad)
        return tx.full(input.shape, fill_value, **given)

    def reference(input, fill_value, *given):
        return np.full_like(input, fill_value)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.number())
        yield Sample(s.real(), 1)
        yield Sample(s.real(0, s.n), 1)


def new_samples(s: Maker) -> Iterator[Sample]:
    """Sizes of every sort."""
    yield Sample(s.real(s.n), (s.n, s.m))
    yield Sample(s.real(), ())
    yield Sample(s.real(s.n), (0, s.n))


class NewZeros(Composite):
    """Zeros in a new shape, with the dtype and device of a tensor.

    >>> tx.tensor([1, 2]).new_zeros(3)
    tensor([0, 0, 0])
    """

    signature = (
        "new_zeros(input, size: ints..., *, dtype: dtype? = None, device: device? = None, "
        "requires_grad: bool = False, layout: any? = None, pin_memory: bool = False) -> y"
    )

    def compose(input, size, dtype, device, requires_grad, layout, pin_memory):
        return tx.zeros(size, **options(input, dtype, layout, device, requires_grad))

    def reference(input, size, *given):
        return np.zeros(size, input.dtype)

    samples = new_samples

    def bad(s):
        yield Bad(Sample(s.real(2), (-1,)), ValueRangeError, "cannot be negative")


class NewOnes(Composite):
    """Ones in a new shape, with the dtype and device of a tensor.

    >>> tx.tensor([1, 2]).new_ones(3)
    tensor([1, 1, 1])
    """

    signature = (
        "new_ones(input, size: ints..., *, dtype: dtype? = None, device: device? = None, "
        "requires_grad: bool = False, layout: any? = None, pin_memory: bool = False) -> y"
    )

    def compose(input, size, dtype, device, requires_grad, layout, pin_memory):
        return tx.ones(size, **options(input, dtype, layout, device, requires_grad))

    def reference(input, size, *given):
        return np.ones(size, input.dtype)

    samples = new_samples


class NewEmpty(Composite):
    """A tensor without meaning yet in a new shape, with the dtype and device of another.

    >>> tx.tensor([1, 2]).new_empty(3).shape
    Size([3])
    """

    signature = (
        "new_empty(input, size: ints..., *, dtype: dtype? = None, device: device? = None, "
        "requires_grad: bool = False, layout: any? = None, pin_memory: bool = False) -> y"
    )

    def compose(input, size, dtype, device, requires_grad, layout, pin_memory):
        return tx.empty(size, **options(input, dtype, layout, device, requires_grad))

    def reference(input, size, *given):
        return np.zeros(size, input.dtype)

    samples = new_samples


class NewFull(Composite):
    """One number in a new shape, with the dtype and device of a tensor.

    >>> tx.tensor([1, 2]).new_full((2,), 7)
    tensor([7, 7])
    """

    signature = (
        "new_full(input, size: ints, fill_value: scalar, *, dtype: dtype? = None, "
        "device: device? = None, requires_grad: bool = False, layout: any? = None, "
        "pin_memory: bool = False) -> y"
    )

    def compose(input, size, fill_value, dtype, device, requires_grad, layout, pin_memory):
        return tx.full(size, fill_value, **options(input, dtype, layout, device, requires_grad))

    def reference(input, size, fill_value, *given):
        return np.full(size, fill_value, input.dtype)

    def samples(s):
        yield Sample(s.real(s.n), (s.n, s.m), s.number())
        yield Sample(s.real(), (), 1)


class EmptyStrided(Composite):
    """A tensor without meaning yet, with given sizes and strides.

    >>> tx.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """

    signature = (
        "empty_strided(size: ints, stride: ints, *, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False, pin_memory: bool = False) -> y"
    )
    method = False

    def compose(size, stride, dtype, layout, device, requires_grad, pin_memory):
        check_window("empty_strided", size, stride, 0)
        memory = tx.empty((extent(size, stride, 0),), dtype=dtype, layout=layout, device=device)
        y = tx.as_strided(memory, size, stride, 0)
        return y.requires_grad_() if requires_grad else y

    def reference(size, stride, *given):
        return np.zeros(size)

    def samples(s):
        yield Sample((s.n, s.m), (1, s.n))
        yield Sample((s.n, s.m), (s.m, 1))
        yield Sample((), ())
        yield Sample((0, s.n), (1, 1))

    def bad(s):
        yield Bad(Sample((2, 3), (1,)), ShapeError, "a stride for each size")


class NewEmptyStrided(Composite):
    """A tensor without meaning yet, with given sizes and strides and the dtype of another.

    >>> tx.tensor([1, 2]).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """

    signature = (
        "new_empty_strided(input, size: ints, stride: ints, *, dtype: dtype? = None, "
        "device: device? = None, requires_grad: bool = False, layout: any? = None, "
        "pin_memory: bool = False) -> y"
    )

    def compose(input, size, stride, dtype, device, requires_grad, layout, pin_memory):
        given = options(input, dtype, layout, device, requires_grad)
        return tx.empty_strided(size, stride, **given)

    def reference(input, size, stride, *given):
        return np.zeros(size, input.dtype)

    def samples(s):
        yield Sample(s.real(s.n), (s.n, s.m), (1, s.n))
        yield Sample(s.real(), (), ())


class EmptyPermuted(Composite):
    """A tensor without meaning yet whose axes lie in memory in the order physical_layout.

    >>> tx.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
    (15, 1, 3)
    """

    signature = (
        "empty_permuted(size: ints, physical_layout: ints, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "pin_memory: bool = False) -> y"
    )
    method = False

    def compose(size, physical_layout, dtype, layout, device, requires_grad, pin_memory):
        if len(size) != len(physical_layout):
            raise ShapeError(
                f"empty_permuted: physical_layout needs each axis of {tuple(size)} once, "
                f"got {tuple(physical_layout)}"
            )
        order = normalize_dims(physical_layout, len(size), "empty_permuted")
        memory = tx.empty(tuple(size[d] for d in order), dtype=dtype, layout=layout, device=device)
        y = tx.permute(memory, tuple(order.index(d) for d in range(len(order))))
        return y.requires_grad_() if requires_grad else y

    def reference(size, physical_layout, *given):
        return np.zeros(size)

    def samples(s):
        yield Sample((s.n, s.m, s.k), (0, 2, 1))
        yield Sample((s.n, s.m), (1, 0))
        yield Sample((), ())

    def bad(s):
        yield Bad(Sample((2,), (0, 1)), ShapeError, "each axis")
        yield Bad(Sample((2, 3), (0, 0)), ValueRangeError, "an axis twice")
