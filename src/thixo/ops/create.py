"""Tensors from sizes and numbers: zeros, ones, full, arange, linspace, eye."""

import math
from typing import Any

import numpy as np

from thixo.dtype import (
    DType,
    complex64,
    get_default_dtype,
    iinfo,
    int64,
    result_type,
    type_of_number,
)
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops.base import Creation, Spec
from thixo.ops.create_options import check_options, check_size
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.shape import Dim


class Zeros(Creation):
    """A tensor of zeros.

    >>> tx.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """

    total = True
    signature = (
        "zeros(size: ints..., *, dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False) -> y"
    )

    def infer(size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        check_options("zeros", device, layout)
        return Spec(check_size("zeros", size), dtype or get_default_dtype())

    def kernel(size, dtype=None, *options):
        return np.zeros(size, (dtype or get_default_dtype()).numpy)

    def reference(size, dtype=None, *options):
        return build(size, np.float64, lambda i: 0)

    def samples(s):
        yield Sample((s.n, s.m), dtype=s.dtype)
        yield Sample((0, s.n))
        yield Sample(())
        yield Sample((s.n,), dtype=s.dtype, device="cpu")

    def bad(s):
        yield Bad(Sample((2, -1)), ValueRangeError, "cannot be negative")
        yield Bad(Sample((2,), layout="sparse_coo"), ArgumentError, "only layout is strided")


class Ones(Creation):
    """A tensor of ones.

    >>> tx.ones(2)
    tensor([1., 1.])
    """

    total = True
    signature = (
        "ones(size: ints..., *, dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False) -> y"
    )

    def infer(size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        check_options("ones", device, layout)
        return Spec(check_size("ones", size), dtype or get_default_dtype())

    def kernel(size, dtype=None, *options):
        return np.ones(size, (dtype or get_default_dtype()).numpy)

    def reference(size, dtype=None, *options):
        return build(size, np.float64, lambda i: 1)

    samples = Zeros.samples
    bad = Zeros.bad


class Empty(Creation):
    """A tensor whose elements hold nothing of meaning yet.

    >>> tx.empty(2, 3).shape
    Size([2, 3])
    """

    signature = (
        "empty(size: ints..., *, dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False, memory_format: any? = None) -> y"
    )

    def infer(size, dtype=None, layout=None, device=None, *options):
        check_options("empty", device, layout)
        return Spec(check_size("empty", size), dtype or get_default_dtype())

    def kernel(size, dtype=None, *options):
        # Zeros cost next to nothing here, and make programs that forget to write repeatable.
        return np.zeros(size, (dtype or get_default_dtype()).numpy)

    def reference(size, dtype=None, *options):
        return build(size, np.float64, lambda i: 0)

    samples = Zeros.samples
    bad = Zeros.bad


def fill_type(operation: str, fill_value: Any, dtype: DType | None) -> DType:
    """The dtype of a filled tensor: the given one, or what the number becomes by itself."""
    own = type_of_number(fill_value)
    if dtype is None:
        return own
    if dtype is bool_:
        return dtype
    if own.is_complex and not dtype.is_complex:
        raise DTypeError(f"{operation}: the complex {fill_value} does not fit in {dtype.name}")
    if dtype.is_integer and not isinstance(fill_value, Dim):
        limits = iinfo(dtype)
        # A negative number wraps in an unsigned type, as a conversion would have it.
        if not -limits.max - 1 <= fill_value <= limits.max:
            raise ValueRangeError(f"{operation}: {fill_value} does not fit in {dtype.name}")
    return dtype


class Full(Creation):
    """A tensor filled with one number.

    >>> tx.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """

    total = True
    signature = (
        "full(size: ints, fill_value: scalar, *, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False, pin_memory: bool = False) -> y"
    )

    def infer(size, fill_value, dtype=None, layout=None, device=None, *options):
        check_options("full", device, layout)
        return Spec(check_size("full", size), fill_type("full", fill_value, dtype))

    def kernel(size, fill_value, dtype=None, *options):
        dtype = fill_type("full", fill_value, dtype)
        return filled(size, fill_value, dtype.numpy)

    def reference(size, fill_value, dtype=None, *options):
        return build(size, np.asarray(fill_value).dtype, lambda i: fill_value)

    def samples(s):
        yield Sample((s.n, s.m), 2)
        yield Sample((s.n,), True)
        yield Sample((), 2.5)
        yield Sample((0, s.n), 1 + 2j)
        yield Sample((s.n,), s.number(), dtype=s.dtype)

    def bad(s):
        yield Bad(Sample((-2,), 1), ValueRangeError, "cannot be negative")
        if not s.dtype.is_complex:
            yield Bad(Sample((2,), 1j, dtype=s.dtype), DTypeError, "does not fit")


def filled(size: Any, fill_value: Any, dtype: Any) -> np.ndarray:
    """An array of one number; integers wrap as a conversion would."""
    if dtype.kind in "iu":
        number = np.array(fill_value)
        return np.broadcast_to(number.astype(dtype), size).copy()
    return np.full(size, fill_value, dtype)


class Eye(Creation):
    """A matrix with ones on the diagonal and zeros elsewhere.

    >>> tx.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """

    total = True
    signature = (
        "eye(n: int, m: int? = None, *, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False, pin_memory: bool = False) -> y"
    )
    counts = True

    def infer(n, m=None, dtype=None, layout=None, device=None, *options):
        check_options("eye", device, layout)
        size = check_size("eye", (n, n if m is None else m))
        return Spec(size, dtype or get_default_dtype())

    def kernel(n, m=None, dtype=None, *options):
        return np.eye(n, m, dtype=(dtype or get_default_dtype()).numpy)

    def reference(n, m=None, *options):
        return build((n, n if m is None else m), np.float64, lambda i: i[0] == i[1])

    def samples(s):
        yield Sample(s.n, dtype=s.dtype)
        yield Sample(s.n, s.m)
        yield Sample(3, 0)

    def bad(s):
        yield Bad(Sample(-1), ValueRangeError, "cannot be negative")
        yield Bad(Sample(2, -1), ValueRangeError, "cannot be negative")


def arange_bounds(start: Any, end: Any, step: Any, dtype: DType | None) -> list[Any]:
    """Start, end and step: arange(end) starts at 0, and int64 cuts off all fractions first."""
    if end is None:
        start, end = 0, start
    bounds = [0 if start is None else start, end, step]
    if end is None or any(isinstance(b, complex) for b in bounds):
        raise ArgumentError(f"arange: needs real numbers and at least an end, got {bounds}")
    if all(map(is_whole, bounds)):
        return bounds
    bounds = [float(b) for b in bounds]
    if not all(map(math.isfinite, bounds)):
        raise ValueRangeError(
            "arange: needs finite numbers, got start {}, end {}, step {}".format(*bounds)
        )
    return [int(b) for b in bounds] if dtype is int64 else bounds


def is_whole(number: Any) -> bool:
    """Whether a number is an integer or a symbolic size."""
    return isinstance(number, int | np.integer | Dim)


class Arange(Creation):
    """The numbers from start up to, not including, end in steps.

    >>> tx.arange(4), tx.arange(1, 2, 0.5)
    (tensor([0, 1, 2, 3]), tensor([1.0000, 1.5000]))
    """

    signature = (
        "arange(start: scalar? = None, end: scalar? = None, step: scalar = 1, *, "
        "dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False) -> y"
    )
    counts = True

    def infer(start=None, end=None, step=1, dtype=None, layout=None, device=None, *options):
        check_options("arange", device, layout)
        if dtype is not None and not (dtype.is_integer or dtype.is_floating_point):
            raise DTypeError(f"arange: needs a dtype of integers or floats, got {dtype.name}")
        start, end, step = arange_bounds(start, end, step, dtype)
        if step == 0:
            raise ValueRangeError("arange: step must not be 0")
        if start is not end and (start > end if step > 0 else start < end):
            raise ValueRangeError(
                f"arange: steps of {step} do not lead from {start} to {end}; step needs the other sign"
            )
        if is_whole(start):
            return Spec(check_size("arange", (-((start - end) // step),)), dtype or int64)
        size = check_size("arange", (math.ceil((end - start) / step),))
        return Spec(size, dtype or get_default_dtype())

    def kernel(start=None, end=None, step=1, dtype=None, *options):
        start, end, step = arange_bounds(start, end, step, dtype)
        if is_whole(start):
            return np.arange(start, end, step, np.int64)
        count = math.ceil((end - start) / step)
        if dtype is not None and dtype.is_integer:
            return int(start) + np.arange(count) * int(step)
        return start + np.arange(count) * step

    def reference(start=None, end=None, step=1, dtype=None, *options):
        if end is None:
            start, end = 0, start
        values = []
        while start + len(values) * step < end if step > 0 else start + len(values) * step > end:
            values.append(start + len(values) * step)
        if dtype is not None and dtype.is_integer:
            return np.array([int(start) + i * int(step) for i in range(len(values))], np.int64)
        return np.array(values, np.float64 if isinstance(step + start, float) else np.int64)

    def samples(s):
        yield Sample(s.n)
        yield Sample(1, s.n + 4, 2)
        yield Sample(5, 0, -2)
        yield Sample(0, 1, 0.25)
        yield Sample(2.5, -1, -0.5)
        yield Sample(3, 3)
        yield Sample(0)
        if not (s.dtype.is_complex or s.dtype.name == "bool"):
            yield Sample(0, 6, 2, dtype=s.dtype)

    def bad(s):
        yield Bad(Sample(), ArgumentError, "at least an end")
        yield Bad(Sample(3, dtype=complex64), DTypeError, "integers or floats")
        yield Bad(Sample(0, 3, 0), ValueRangeError, "step must not be 0")
        yield Bad(Sample(0, -3, 2), ValueRangeError, "do not lead from 0 to -3")
        yield Bad(Sample(0, math.inf), ValueRangeError, "finite")


def space_type(operation: str, start: Any, end: Any, steps: Any, dtype: DType | None) -> DType:
    """The dtype of linspace and logspace, their arguments checked."""
    for name, value in (("start", start), ("end", end)):
        if getattr(value, "ndim", 0) != 0:
            raise ShapeError(
                f"{operation}: {name} must be a number or a 0-d tensor, {name} is {describe(value)}"
            )
    if steps < 0:
        raise ValueRangeError(f"{operation}: steps cannot be negative, got {steps}")
    default = get_default_dtype()
    if result_type(start, end).is_complex:
        default = default.to_complex()
    if dtype is None:
        return default
    if dtype is bool_:
        raise DTypeError(f"{operation}: needs a dtype of numbers, got bool")
    if default.is_complex and not dtype.is_complex:
        raise DTypeError(f"{operation}: complex bounds do not fit in {dtype.name}")
    return dtype


def spaced(start: Any, end: Any, steps: int, whole: bool) -> np.ndarray:
    """Evenly spaced numbers, computed from both ends so that each is met exactly."""
    start, end = (np.asarray(v)[()] for v in (start, end))
    if whole:
        start, end = int(start), int(end)
    if steps == 1:
        return np.array([start * 1.0]) if not whole else np.array([start])
    i = np.arange(steps)
    step = (end - start) / max(steps - 1, 1)
    return np.where(i < steps / 2, start + step * i, end - step * (steps - 1 - i))


class Linspace(Creation):
    """Evenly spaced numbers from start to end, both included.

    >>> tx.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """

    signature = (
        "linspace(start: operand, end: operand, steps: int, *, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "pin_memory: bool = False) -> y"
    )
    counts = True

    def infer(start, end, steps, dtype=None, layout=None, device=None, *options):
        check_options("linspace", device, layout)
        return Spec(
            check_size("linspace", (steps,)), space_type("linspace", start, end, steps, dtype)
        )

    def kernel(start, end, steps, dtype=None, *options):
        return spaced(start, end, steps, dtype is not None and dtype.is_integer)

    def reference(start, end, steps, dtype=None, *options):
        return np.linspace(np.asarray(start)[()], np.asarray(end)[()], steps)

    def samples(s):
        yield Sample(0, 1, s.n)
        yield Sample(-2.0, 3, s.m)
        yield Sample(4, 4, 1)
        yield Sample(0, 1, 0)
        yield Sample(1j, 2, s.n)
        if not (s.dtype.is_integer or s.dtype.name == "bool"):
            yield Sample(s.real(), s.real(), s.n, dtype=s.dtype)

    def bad(s):
        yield Bad(Sample(0, 1, -1), ValueRangeError, "cannot be negative")
        yield Bad(Sample(s.real(2), 1, 3), ShapeError, "a 0-d tensor")


class Logspace(Creation):
    """Powers of `base` with evenly spaced exponents from start to end.

    >>> tx.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """

    signature = (
        "logspace(start: operand, end: operand, steps: int, base: float = 10.0, *, "
        "dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False) -> y"
    )

    def infer(start, end, steps, base=10.0, dtype=None, layout=None, device=None, *options):
        check_options("logspace", device, layout)
        return Spec(
            check_size("logspace", (steps,)), space_type("logspace", start, end, steps, dtype)
        )

    def kernel(start, end, steps, base=10.0, dtype=None, *options):
        exponents = spaced(start, end, steps, False)
        with np.errstate(all="ignore"):
            return np.power(np.asarray(base, exponents.dtype), exponents)

    def reference(start, end, steps, base=10.0, dtype=None, *options):
        exponents = np.linspace(np.asarray(start)[()], np.asarray(end)[()], steps)
        return np.exp(np.log(base) * exponents)

    def samples(s):
        yield Sample(0, 1, s.n)
        yield Sample(-2.0, 3, s.m, 2.0)
        yield Sample(1, 1, 1)
        yield Sample(0, 1, 0)

    def bad(s):
        yield Bad(Sample(0, 1, -1), ValueRangeError, "cannot be negative")


class ScalarTensor(Creation):
    """A 0-d tensor of a number, of the default float type unless another is given.

    >>> tx.scalar_tensor(2)
    tensor(2.)
    """

    signature = (
        "scalar_tensor(s: scalar, *, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False, pin_memory: bool = False) -> y"
    )

    def infer(s, dtype=None, layout=None, device=None, *options):
        check_options("scalar_tensor", device, layout)
        default = get_default_dtype()
        if isinstance(s, complex):
            default = default.to_complex()
        return Spec((), fill_type("scalar_tensor", s, dtype or default))

    def kernel(s, dtype=None, *options):
        return np.asarray(s)

    def reference(s, *options):
        return build((), type(s), lambda i: s)

    def samples(s):
        yield Sample(2)
        yield Sample(2.5)
        yield Sample(1 + 2j)
        yield Sample(s.number(), dtype=s.dtype)
