"""Tensors converted and copied: cast, to, clone, contiguous, copy_, fill."""

from typing import Any

import numpy as np

from thixo.device import as_device, device
from thixo.dtype import (
    ALIASES,
    ALL,
    BY_NAME,
    BY_SHORT,
    DType,
    as_dtype,
    complex128,
    float16,
    float32,
    float64,
    int64,
)
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.create import fill_type
from thixo.ops.create_options import check_memory_format
from thixo.ops.layout import broadcasts_to
from thixo.ops.loops import build
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample


def converted(array: np.ndarray, dtype: Any) -> np.ndarray:
    """An array in another NumPy dtype: a fraction is cut off, an imaginary part dropped."""
    if np.iscomplexobj(array) and dtype.kind not in "cb":
        array = array.real
    with np.errstate(all="ignore"):
        return array.astype(dtype)


class Cast(Op):
    """The elements converted to another dtype.

    >>> tx.cast(tx.tensor([1.5, -2.5]), tx.int64)
    tensor([ 1, -2])
    """

    total = True
    signature = "cast(input, dtype: dtype) -> y"
    method = False

    def infer(input, dtype):
        return Spec(tuple(input.shape), dtype)

    def kernel(input, dtype):
        return converted(input, dtype.numpy)

    def vjp(g, input_type):
        if g.dtype.is_complex and not input_type.dtype.is_complex:
            g = g.real
        return tx.cast(g, input_type.dtype)

    def reference(input, dtype):
        def element(i):
            value = input[i]
            if dtype is bool_:
                return value != 0
            if np.iscomplexobj(value) and not dtype.is_complex:
                value = value.real
            return int(value) if dtype.is_integer else value

        kind = np.int64 if dtype.is_integer else {"b": bool, "c": complex}.get(dtype.kind, float)
        return build(input.shape, kind, element)

    def samples(s):
        for dtype in (float64, int64, bool_, complex128):
            yield Sample(s.positive(s.n, s.m), dtype)
        yield Sample(s.positive(s.n), float32, grad=False)  # its rounding spoils finite differences
        yield Sample(s.real(), float16, grad=False)
        yield Sample(s.real(0, s.n), s.dtype)


class Clone(Op):
    """A copy of its own.

    >>> x = tx.ones(2)
    >>> y = x.clone(); y[0] = 5.0; x
    tensor([1., 1.])
    """

    total = True
    signature = "clone(input, *, memory_format: any? = None) -> y"

    def infer(input, memory_format=None):
        check_memory_format("clone", memory_format)
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, memory_format=None):
        return np.array(input, order="C")

    def vjp(g):
        return g

    def reference(input, memory_format=None):
        return build(input.shape, input.dtype, lambda i: input[i])

    def samples(s):
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real())
        yield Sample(s.real(0, s.n))

    def bad(s):
        yield Bad(Sample(s.real(2), memory_format="channels_last"), ArgumentError, "memory_format")


class Contiguous(Composite):
    """The tensor itself if its elements lie in order without gaps, else a copy that does.

    >>> tx.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """

    signature = "contiguous(input, memory_format: any? = None) -> y"

    def compose(input, memory_format):
        check_memory_format("contiguous", memory_format)
        return input if input.is_contiguous() else tx.clone(input)

    reference = Clone.reference
    samples = Clone.samples


class Copy(Op):
    """The source, broadcast to the input's shape and converted to its dtype; `copy_` writes it there.

    >>> tx.zeros(2, 2).copy_(tx.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """

    total = True
    signature = "copy(input, src: operand, non_blocking: bool = False) -> y"
    inplace = True
    method = False

    def infer(input, src, non_blocking=False):
        shape = tuple(input.shape)
        if hasattr(src, "shape") and not broadcasts_to(src.shape, shape):
            raise ShapeError(
                f"copy_: src must broadcast to the tensor it is written to, which is "
                f"{describe(input)}, src is {describe(src)}"
            )
        return Spec(shape, input.dtype)

    def kernel(input, src, non_blocking=False):
        return converted(np.broadcast_to(src, input.shape), input.dtype)

    def vjp_input(g):
        return tx.zeros_like(g)

    def vjp_src(g):
        return g  # summed to the shape of src by the tape

    def reference(input, src, non_blocking=False):
        source = np.broadcast_to(src, input.shape)
        return build(input.shape, input.dtype, lambda i: source[i])

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.m))
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(), s.real())

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(3)), ShapeError, "must broadcast to the tensor")
        yield Bad(Sample(s.real(2), s.real(2, 2)), ShapeError, "must broadcast to the tensor")


class Fill(Op):
    """One value, a number or a 0-d tensor, in the shape and dtype of the input.

    >>> tx.zeros(2).fill_(3)
    tensor([3., 3.])
    """

    total = True
    signature = "fill(input, value: operand) -> y"
    inplace = True

    def infer(input, value):
        if getattr(value, "ndim", 0) != 0:
            raise ShapeError(
                f"fill: value must be a number or a 0-d tensor, value is {describe(value)}"
            )
        if not hasattr(value, "dtype"):
            fill_type("fill", value, input.dtype)
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, value):
        return converted(np.broadcast_to(value, input.shape), input.dtype)

    def vjp_input(g):
        return tx.zeros_like(g)

    def vjp_value(g):
        return tx.sum(g)

    def reference(input, value):
        return build(input.shape, input.dtype, lambda i: value)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.number())
        yield Sample(s.real(s.n, s.m), s.real())
        yield Sample(s.real(), 1)
        yield Sample(s.real(0), 1)

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(1)), ShapeError, "a 0-d tensor")
        yield Bad(Sample(s.real(2), 1j), DTypeError, "does not fit")


class Zero(Composite):
    """Zeros in the shape and dtype of the input; `zero_` writes them there.

    >>> tx.ones(2).zero_()
    tensor([0., 0.])
    """

    signature = "zero(input) -> y"
    inplace = True
    method = False

    def compose(input):
        return tx.zeros(tuple(input.shape), dtype=input.dtype)

    def reference(input):
        return np.zeros_like(input)

    samples = Clone.samples


class To(Composite):
    """The tensor in another dtype or on another device; the tensor itself if nothing changes.

    Takes a dtype, a device, both, or a tensor to be like.

    >>> tx.ones(2).to(tx.int64)
    tensor([1, 1])
    """

    signature = (
        "to(input, target: any? = None, second: any? = None, third: any? = None, "
        "fourth: any? = None, *, dtype: dtype? = None, device: device? = None, other: any? = None, "
        "non_blocking: bool = False, copy: bool = False, memory_format: any? = None) -> y"
    )

    def compose(
        input,
        target,
        second,
        third,
        fourth,
        dtype,
        device,
        other,
        non_blocking,
        copy,
        memory_format,
    ):
        check_memory_format("to", memory_format)
        given = [target, second, third, fourth]
        # Forms: to(dtype, non_blocking, copy), to(device, dtype, ...), to(other, ...).
        if hasattr(target, "dtype") and hasattr(target, "shape"):
            other, given = target, given[1:]
        elif is_device(target):
            device, given = target, given[1:]
            if given[0] is not None and not isinstance(given[0], bool):
                dtype, given = given[0], given[1:]
            elif given[0] is None:
                given = given[1:]
        elif target is not None:
            dtype, given = target, given[1:]
        elif second is not None and not isinstance(second, bool):
            dtype, given = second, given[2:]
        flags = [flag for flag in given if flag is not None]
        if any(not isinstance(flag, bool) for flag in flags):
            raise ArgumentError(
                f"to: takes a dtype, a device and a dtype, or a tensor, then non_blocking and copy; "
                f"got {', '.join(describe(a) for a in (target, second, third) if a is not None)}"
            )
        copy = copy or (len(flags) > 1 and flags[1])
        if other is not None:
            if not is_tensor(other):
                raise ArgumentError(f"to: other must be a Tensor, got {describe(other)}")
            dtype, device = dtype or other.dtype, other.device if device is None else device
        if device is not None:
            as_device(device)
        dtype = input.dtype if dtype is None else as_dtype(dtype, "to")
        if dtype is not input.dtype:
            return tx.cast(input, dtype)
        return tx.clone(input) if copy else input

    def reference(input, target=None, *rest):
        dtype = next((a for a in (target, *rest) if isinstance(a, DType)), None)
        dtype = getattr(target, "dtype", dtype) if isinstance(target, np.ndarray) else dtype
        if dtype is None or isinstance(dtype, np.dtype):
            return input
        return Cast.reference(input, dtype)

    def samples(s):
        yield Sample(s.positive(s.n, s.m), float64)
        yield Sample(s.positive(s.n), "cpu", int64)
        yield Sample(s.positive(s.n), "cpu")
        yield Sample(s.positive(s.n), dtype=float64)
        yield Sample(s.positive(s.n), s.positive(2))
        yield Sample(s.positive(s.n), copy=True)

    def bad(s):
        yield Bad(Sample(s.real(2), 1.5), ArgumentError, "needs a dtype")


def is_device(value: Any) -> bool:
    """Whether a value names a place for tensors."""
    if isinstance(value, str):
        return not any(value in names for names in (BY_NAME, BY_SHORT, ALIASES))
    return isinstance(value, device)


class Cpu(Composite):
    """The tensor in the memory of the CPU; itself if it is there.

    >>> tx.ones(1).cpu().device
    device(type='cpu')
    """

    signature = "cpu(input, memory_format: any? = None) -> y"
    method_only = True

    def compose(input, memory_format):
        return tx.to(input, device="cpu", memory_format=memory_format)

    def reference(input, memory_format=None):
        return input.copy()

    samples = Clone.samples


class PinMemory(Composite):
    """The tensor itself: there is no device yet that would read pinned memory faster.

    >>> tx.ones(2).pin_memory()
    tensor([1., 1.])
    """

    signature = "pin_memory(input, device: any? = None) -> y"
    method_only = True

    def compose(input, device):
        return input

    def reference(input, device=None):
        return input.copy()

    samples = Clone.samples


class TypeAs(Composite):
    """The tensor in the dtype of another.

    >>> tx.ones(2).type_as(tx.tensor([1]))
    tensor([1, 1])
    """

    signature = "type_as(input, other) -> y"

    def compose(input, other):
        return input if input.dtype is other.dtype else tx.cast(input, other.dtype)

    def reference(input, other):
        return converted(input, other.dtype)

    def samples(s):
        yield Sample(s.positive(s.n, s.m), s.positive(2))

    dtypes = ALL
