"""Views that read the same bytes as another element type."""

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, float32, float64, int8, int32
from thixo.errors import ShapeError
from thixo.ops import public as tx
from thixo.ops.base import Composite, Spec, View
from thixo.ops.samples import Bad, Sample
from thixo.shape import shape_text


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
    dtypes = tuple(t for t in FLOATS if t.itemsize >= 4)
    method = False

    def geometry(shape, strides, offset):
        if not shape or shape[-1] != 2:
            raise ShapeError(
                f"view_as_complex: the last axis must have size 2, input is {shape_text(shape)}"
            )
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

    >>> tx.ops.bit_view(tx.tensor([1.0]), tx.int8, 4, 1)
    tensor([  0,   0, -128,  63], dtype=thixo.int8)
    """

    signature = "bit_view(input, dtype: dtype, grow: int = 1, shrink: int = 1) -> input"
    method = False
    vjp = None

    def geometry(shape, strides, offset, dtype, grow=1, shrink=1):
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
        # The bytes of the tested dtype are gone (references see float64), so only sizes that keep
        # them are compared: see the samples.
        size = input.dtype.itemsize * shrink // grow
        raw = np.ascontiguousarray(input).tobytes()
        count = len(raw) // size
        parts = [raw[i * size : (i + 1) * size] for i in range(count)]
        values = [np.frombuffer(part, dtype.numpy)[0] for part in parts]
        shape = input.shape if grow == shrink else (*input.shape[:-1], -1)
        return np.array(values, dtype.numpy).reshape(shape)

    dtypes = (float64, int32)

    def samples(s):
        if s.dtype is float64:
            yield Sample(s.real(s.n, s.m), int32, 2, 1)
            yield Sample(s.real(s.n, s.m), int8, 8, 1)
        else:
            yield Sample(s.ints(s.n, 2 * s.m), float64, 1, 2)
            yield Sample(s.ints(s.n), float32)


class ViewDType(Composite):
    """The same bytes read as another element type; the last axis changes its size to fit.

    >>> tx.ops.view_dtype(tx.tensor([1.0]), tx.int32)
    tensor([1065353216], dtype=thixo.int32)
    """

    signature = "view_dtype(input, dtype: dtype) -> input"
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
        yield Sample(s.ints(s.n, 2) if s.dtype is int32 else s.real(s.n, 2), int8)
        yield Sample(s.ints(s.n, 2) if s.dtype is int32 else s.real(s.n, 2), float64)
