"""Views that read the same bytes as another element type."""

import numpy as np

from thixo.dtype import (
    COMPLEX,
    FLOATS,
    bfloat16,
    float16,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from thixo.errors import ShapeError, ValueRangeError
from thixo.ops import public as tx
from thixo.ops.base import Composite, Spec, View
from thixo.ops.samples import Bad, Sample
from thixo.shape import contiguous_strides, shape_text


class ViewAsReal(View):
    """A complex tensor as real numbers: a last axis of size 2 holds real and imaginary part.

    >>> tx.view_as_real(tx.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """

    signature = "view_as_real(input) -> input"
    dtypes = COMPLEX
    method = False

    def geometry(shape, strides, offset):
        return (*shape, 2), (*(2 * n for n in strides), 1), 2 * offset

    def infer(input):
        return Spec((*input.shape, 2), input.dtype.to_real())

    def vjp(g):
        return tx.complex(tx.select(g, -1, 0), tx.select(g, -1, 1))

    def reference(input):
        return np.stack([input.real, input.imag], -1)

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real())
        yield Sample(s.real(0))


class ViewAsComplex(View):
    """Pairs of real numbers on the last axis as complex numbers.

    >>> tx.view_as_complex(tx.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """

    signature = "view_as_complex(input) -> input"
    layout_matters = True
    dtypes = tuple(t for t in FLOATS if t.itemsize >= 4)
    method = False

    def geometry(shape, strides, offset):
        if not shape or shape[-1] != 2:
            raise ShapeError(
                f"view_as_complex: the last axis must have size 2, input is {shape_text(shape)}"
            )
        if 0 in shape:
            return shape[:-1], contiguous_strides(shape[:-1]), 0
        if strides[-1] != 1 or offset % 2 or any(n % 2 for n in strides[:-1]):
            raise ShapeError(
                f"view_as_complex: pairs must lie side by side, strides are {tuple(strides)} and "
                f"the offset {offset}; call contiguous first"
            )
        return shape[:-1], tuple(n // 2 for n in strides[:-1]), offset // 2

    def infer(input):
        if input.ndim == 0 or input.shape[-1] != 2:
            raise ShapeError(
                f"view_as_complex: the last axis must have size 2, input is {shape_text(input.shape)}"
            )
        return Spec(tuple(input.shape[:-1]), input.dtype.to_complex())

    def vjp(g):
        return tx.view_as_real(g)

    def reference(input):
        return input[..., 0] + 1j * input[..., 1]

    def samples(s):
        yield Sample(s.real(s.n, 2))
        yield Sample(s.real(2))
        yield Sample(s.real(s.n, 0, 2))

    def bad(s):
        yield Bad(Sample(s.real(3)), ShapeError, "must have size 2")


class BitView(View):
    """The same bytes as `grow` smaller elements each, or as elements of `shrink` together.

    >>> tx.bit_view(tx.tensor([1.0]), tx.int8, 4, 1)
    tensor([   0,    0, -128,   63], dtype=thixo.int8)
    """

    signature = "bit_view(input, dtype: dtype, grow: int = 1, shrink: int = 1) -> input"
    layout_matters = True
    method = False
    vjp = None

    def geometry(shape, strides, offset, dtype, grow=1, shrink=1):
        if grow < 1 or shrink < 1:
            raise ValueRangeError(
                f"bit_view: grow is {grow}, shrink is {shrink}; both must be positive"
            )
        if grow == shrink:
            return tuple(shape), tuple(strides), offset
        if not shape or strides[-1] != 1:
            raise ShapeError(
                f"view: elements of the last axis must lie side by side to become {dtype.name}, "
                f"input is {shape_text(shape)} with strides {tuple(strides)}; call contiguous first"
            )
        if shape[-1] % shrink or offset % shrink or any(n % shrink for n in strides[:-1]):
            raise ShapeError(
                f"view: {shrink} elements make one {dtype.name}; last size, strides and offset must "
                f"be multiples of that, input is {shape_text(shape)} with strides {tuple(strides)}"
            )
        return (
            (*shape[:-1], shape[-1] * grow // shrink),
            (*(n * grow // shrink for n in strides[:-1]), 1),
            offset * grow // shrink,
        )

    def infer(input, dtype, grow=1, shrink=1):
        if grow == shrink:
            return Spec(tuple(input.shape), dtype)
        if not input.shape or input.shape[-1] % shrink:
            raise ShapeError(
                f"view: {shrink} elements make one {dtype.name}; the last axis must be a multiple "
                f"of that, input is {shape_text(input.shape)}"
            )
        return Spec((*input.shape[:-1], input.shape[-1] * grow // shrink), dtype)

    def reference(input, dtype, grow=1, shrink=1):
        size = dtype.itemsize * grow // shrink  # of the elements before they were made float64
        if input.dtype.kind in "fc" and input.dtype.kind == dtype.kind:
            return input
        if input.dtype.kind in "fc":
            input = input.astype(f"{input.dtype.kind}{size}")
        raw = np.ascontiguousarray(input).tobytes()
        step = dtype.itemsize
        parts = [raw[i : i + step] for i in range(0, len(raw), step)]
        values = [np.frombuffer(part, dtype.numpy)[0] for part in parts]
        shape = input.shape if grow == shrink else (*input.shape[:-1], -1)
        return np.array(values, dtype.numpy).reshape(shape)

    def samples(s):
        size = s.dtype.itemsize
        if s.dtype in (float16, bfloat16):
            yield Sample(s.real(s.n, s.m), s.dtype)
            return
        yield Sample(s.real(s.n, s.m), uint8, size, 1)
        if size < 16:
            yield Sample(s.real(s.n, s.m), {1: int8, 2: int16, 4: int32, 8: int64}[size])
        if size < 8:
            yield Sample(s.real(s.n, 2 * s.m), {1: int16, 2: int32, 4: int64}[size], 1, 2)


class ViewDType(Composite):
    """The same bytes read as another element type; the last axis changes its size to fit.

    >>> tx.view_dtype(tx.tensor([1.0]), tx.int32)
    tensor([1065353216], dtype=thixo.int32)
    """

    signature = "view_dtype(input, dtype: dtype) -> input"
    layout_matters = True
    method = False

    def compose(input, dtype):
        if dtype is input.dtype:
            return input
        grow = max(input.dtype.itemsize // dtype.itemsize, 1)
        shrink = max(dtype.itemsize // input.dtype.itemsize, 1)
        return tx.bit_view(input, dtype, grow, shrink)

    def reference(input, dtype):
        return np.ascontiguousarray(input).view(dtype.numpy)

    dtypes = (float64, int32)

    def samples(s):
        yield Sample(s.real(s.n, 2), int8)
        yield Sample(s.real(s.n, 2), int64)
