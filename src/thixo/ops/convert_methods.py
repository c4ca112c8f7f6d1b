"""Conversions by method: x.float(), x.long() and so on. The module's names of these are dtypes."""

from thixo import dtype as types
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.convert import Cast
from thixo.ops.create_options import check_memory_format
from thixo.ops.samples import Sample


def conversion(input, dtype, memory_format):
    """The tensor itself if it has the dtype already, else a copy that does."""
    check_memory_format(dtype.name, memory_format)
    return input if input.dtype is dtype else tx.cast(input, dtype)


def small_values(s):
    """Values that every dtype holds."""
    yield Sample(s.positive(s.n, s.m))
    yield Sample(s.positive())
    yield Sample(s.positive(0))


class ToFloat(Composite):
    """The elements as 32-bit floats.

    >>> tx.tensor([0, 2]).float()
    tensor([0., 2.])
    """

    signature = "float(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.float32, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.float32)


class ToDouble(Composite):
    """The elements as 64-bit floats.

    >>> tx.tensor([0, 2]).double()
    tensor([0., 2.], dtype=thixo.float64)
    """

    signature = "double(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.float64, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.float64)


class ToHalf(Composite):
    """The elements as 16-bit floats.

    >>> tx.tensor([0, 2]).half()
    tensor([0., 2.], dtype=thixo.float16)
    """

    signature = "half(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.float16, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.float16)


class ToBFloat16(Composite):
    """The elements as bfloat16: 16-bit floats with the range of 32-bit ones.

    >>> tx.tensor([0, 2]).bfloat16()
    tensor([0., 2.], dtype=thixo.bfloat16)
    """

    signature = "bfloat16(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.bfloat16, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.bfloat16)


class ToBool(Composite):
    """The elements as bool: whether each is not 0.

    >>> tx.tensor([0, 2]).bool()
    tensor([False,  True])
    """

    signature = "bool(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.bool, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.bool)


class ToLong(Composite):
    """The elements as 64-bit integers.

    >>> tx.tensor([0, 2]).long()
    tensor([0, 2])
    """

    signature = "long(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.int64, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.int64)


class ToInt(Composite):
    """The elements as 32-bit integers.

    >>> tx.tensor([0, 2]).int()
    tensor([0, 2], dtype=thixo.int32)
    """

    signature = "int(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.int32, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.int32)


class ToShort(Composite):
    """The elements as 16-bit integers.

    >>> tx.tensor([0, 2]).short()
    tensor([0, 2], dtype=thixo.int16)
    """

    signature = "short(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.int16, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.int16)


class ToChar(Composite):
    """The elements as 8-bit integers.

    >>> tx.tensor([0, 2]).char()
    tensor([0, 2], dtype=thixo.int8)
    """

    signature = "char(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.int8, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.int8)


class ToByte(Composite):
    """The elements as 8-bit unsigned integers.

    >>> tx.tensor([0, 2]).byte()
    tensor([0, 2], dtype=thixo.uint8)
    """

    signature = "byte(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.uint8, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.uint8)


class ToCFloat(Composite):
    """The elements as complex numbers of 32-bit floats.

    >>> tx.tensor([0, 2]).cfloat()
    tensor([0.+0.j, 2.+0.j])
    """

    signature = "cfloat(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.complex64, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.complex64)


class ToCDouble(Composite):
    """The elements as complex numbers of 64-bit floats.

    >>> tx.tensor([0, 2]).cdouble()
    tensor([0.+0.j, 2.+0.j], dtype=thixo.complex128)
    """

    signature = "cdouble(input, memory_format: any? = None) -> y"
    method_only = True
    samples = small_values

    def compose(input, memory_format):
        return conversion(input, types.complex128, memory_format)

    def reference(input, memory_format=None):
        return Cast.reference(input, types.complex128)
