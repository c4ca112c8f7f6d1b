"""Conversions by method: x.float(), x.long() and so on; `tx.float` and such are dtypes."""

from collections.abc import Iterator
from typing import Any

from thixo.dtype import (
    DType,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from thixo.dtype import bool as bool_
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.convert import Cast
from thixo.ops.create_options import check_memory_format
from thixo.ops.samples import Maker, Sample


def conversion(input: Any, dtype: DType, memory_format: Any) -> Any:
    """The tensor itself if it has the dtype already, else a copy that does."""
    check_memory_format(dtype.name, memory_format)
    return input if input.dtype is dtype else tx.cast(input, dtype)


def small_values(s: Maker) -> Iterator[Sample]:
    """Values that every dtype holds."""
    yield Sample(s.positive(s.n, s.m))
    yield Sample(s.positive())
    yield Sample(s.positive(0))


def rounded_values(s: Maker) -> Iterator[Sample]:
    """The same for a dtype that rounds float64, which finite differences would see as steps."""
    for sample in small_values(s):
        sample.grad = False
        yield sample


class ToFloat(Composite):
    """The elements as 32-bit floats.

    >>> tx.tensor([0, 2]).float()
    tensor([0., 2.])
    """

    signature = "float(input, memory_format: any? = None) -> y"
    method_only = True
    samples = rounded_values

    def compose(input, memory_format):
        return conversion(input, float32, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, float32)


class ToDouble(Composite):
    """The elements as 64-bit floats.

    >>> tx.tensor([0, 2]).double()
    tensor([0., 2.], dtype=thixo.float64)
    """

    signature = "double(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, float64, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, float64)


class ToHalf(Composite):
    """The elements as 16-bit floats.

    >>> tx.tensor([0, 2]).half()
    tensor([0., 2.], dtype=thixo.float16)
    """

    signature = "half(input, memory_format: any? = None) -> y"
    method_only = True
    samples = rounded_values

    def compose(input, memory_format):
        return conversion(input, float16, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, float16)


class ToBFloat16(Composite):
    """The elements as bfloat16: 16-bit floats with the range of 32-bit ones.

    >>> tx.tensor([0, 2]).bfloat16()
    tensor([0., 2.], dtype=thixo.bfloat16)
    """

    signature = "bfloat16(input, memory_format: any? = None) -> y"
    method_only = True
    samples = rounded_values

    def compose(input, memory_format):
        return conversion(input, bfloat16, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, bfloat16)


class ToBool(Composite):
    """The elements as bool: whether each is not 0.

    >>> tx.tensor([0, 2]).bool()
    tensor([False,  True])
    """

    signature = "bool(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, bool_, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, bool_)


class ToLong(Composite):
    """The elements as 64-bit integers.

    >>> tx.tensor([0, 2]).long()
    tensor([0, 2])
    """

    signature = "long(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, int64, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, int64)


class ToInt(Composite):
    """The elements as 32-bit integers.

    >>> tx.tensor([0, 2]).int()
    tensor([0, 2], dtype=thixo.int32)
    """

    signature = "int(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, int32, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, int32)


class ToShort(Composite):
    """The elements as 16-bit integers.

    >>> tx.tensor([0, 2]).short()
    tensor([0, 2], dtype=thixo.int16)
    """

    signature = "short(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, int16, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, int16)


class ToChar(Composite):
    """The elements as 8-bit integers.

    >>> tx.tensor([0, 2]).char()
    tensor([0, 2], dtype=thixo.int8)
    """

    signature = "char(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, int8, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, int8)


class ToByte(Composite):
    """The elements as 8-bit unsigned integers.

    >>> tx.tensor([0, 2]).byte()
    tensor([0, 2], dtype=thixo.uint8)
    """

    signature = "byte(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, uint8, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, uint8)


class ToCFloat(Composite):
    """The elements as complex numbers of 32-bit floats.

    >>> tx.tensor([0, 2]).cfloat()
    tensor([0.+0.j, 2.+0.j])
    """

    signature = "cfloat(input, memory_format: any? = None) -> y"
    method_only = True
    samples = rounded_values

    def compose(input, memory_format):
        return conversion(input, complex64, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, complex64)


class ToCDouble(Composite):
    """The elements as complex numbers of 64-bit floats.

    >>> tx.tensor([0, 2]).cdouble()
    tensor([0.+0.j, 2.+0.j], dtype=thixo.complex128)
    """

    signature = "cdouble(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, complex128, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, complex128)
