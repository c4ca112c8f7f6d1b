"""Random tensors of a given size. Every number comes from a generator's stream: its seed and how far it has been read."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo import _core
from thixo.dtype import FLOATS, DType, finfo, float64, int64
from thixo.errors import ArgumentError, DTypeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Creation, Spec
from thixo.ops.create_options import check_options, check_size, float_type
from thixo.ops.samples import Bad, Sample


def stream(generator: Any) -> Any:
    """The given generator, or the default one."""
    return _core.default_generator if generator is None else generator


def uniform_array(shape: tuple[int, ...], dtype: np.dtype[Any], generator: Any) -> np.ndarray:
    """Numbers in [0, 1), in float32 for the half types and double for integers."""
    wide = dtype if dtype.kind == "f" and dtype.itemsize >= 4 else np.dtype(np.float32)
    values = stream(generator).uniform(math.prod(shape), _code(wide))
    return np.asarray(values, wide).reshape(shape)


def normal_array(shape: tuple[int, ...], dtype: np.dtype[Any], generator: Any) -> np.ndarray:
    """Numbers from the standard normal distribution; complex ones have variance 1 together."""
    if dtype.kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        pairs = normal_array((*shape, 2), part, generator) * part.type(math.sqrt(0.5))
        return (pairs[..., 0] + 1j * pairs[..., 1]).astype(dtype)
    wide = dtype if dtype.kind == "f" and dtype.itemsize >= 4 else np.dtype(np.float32)
    values = stream(generator).normal(math.prod(shape), _code(wide))
    return np.asarray(values, wide).reshape(shape)


def _code(dtype: np.dtype[Any]) -> int:
    return float64.code if dtype.itemsize == 8 else FLOATS[2].code


def numpy_type(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype to draw in for a tensor's dtype."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype.numpy


def seed_of(generator: Any) -> list[int]:
    """A seed from the stream, for what NumPy's generator draws."""
    return [int(b) % 2**64 for b in stream(generator).bits64(2)]


def drawn(shape: Sequence[int]) -> np.ndarray:
    """A stand-in for the reference of a random operator: its values are not compared."""
    return np.zeros(shape)


class Rand(Creation):
    """Random numbers, each value in [0, 1) equally likely.

    >>> tx.rand(2, 3).shape
    Size([2, 3])
    """

    total = True
    signature = (
        "rand(size: ints..., *, generator: generator? = None, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "pin_memory: bool = False) -> y"
    )
    random = True

    def infer(size, generator=None, dtype=None, layout=None, device=None, *options):
        check_options("rand", device, layout)
        return Spec(check_size("rand", size), float_type("rand", dtype))

    def kernel(size, generator=None, dtype=None, *options):
        dtype = float_type("rand", dtype)
        if dtype.is_complex:
            parts = uniform_array((*size, 2), numpy_type(dtype.to_real()), generator)
            return parts[..., 0] + 1j * parts[..., 1]
        draws = uniform_array(size, numpy_type(dtype), generator)
        if dtype.itemsize == 2:  # cut off what does not fit: rounding would give 1 at times
            step = np.float32(finfo(dtype).eps / 2)
            draws = np.floor(draws / step) * step
        return draws

    def reference(size, *options):
        return drawn(size)

    def samples(s):
        yield Sample((s.n, s.m))
        yield Sample(())
        yield Sample((0, s.n))

    def bad(s):
        yield Bad(Sample((-1,)), ValueRangeError, "cannot be negative")
        yield Bad(Sample((1,), dtype=int64), DTypeError, "floating-point")


class Randn(Creation):
    """Random numbers from the standard normal distribution.

    >>> tx.randn(2, 3).shape
    Size([2, 3])
    """

    total = True
    signature = (
        "randn(size: ints..., *, generator: generator? = None, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "pin_memory: bool = False) -> y"
    )
    random = True

    def infer(size, generator=None, dtype=None, layout=None, device=None, *options):
        check_options("randn", device, layout)
        return Spec(check_size("randn", size), float_type("randn", dtype))

    def kernel(size, generator=None, dtype=None, *options):
        return normal_array(size, numpy_type(float_type("randn", dtype)), generator)

    def reference(size, *options):
        return drawn(size)

    samples = Rand.samples
    bad = Rand.bad


class RandomIntegers(Creation):
    """Random whole numbers from low to high - 1.

    >>> tx.random_integers(0, 10, (2, 3)).shape
    Size([2, 3])
    """

    signature = (
        "random_integers(low: int, high: int, size: ints, *, generator: generator? = None, "
        "dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False) -> y"
    )
    random = True

    def infer(low, high, size, generator=None, dtype=None, layout=None, device=None, *options):
        check_options("randint", device, layout)
        if low >= high:
            raise ValueRangeError(f"randint: low must be below high, got low {low}, high {high}")
        return Spec(check_size("randint", size), dtype or int64)

    def kernel(low, high, size, generator=None, dtype=None, *options):
        values = stream(generator).integers(math.prod(size), int(low), int(high))
        return np.asarray(values).reshape(size)

    def reference(low, high, size, *options):
        return drawn(size)

    def samples(s):
        yield Sample(0, 5, (s.n, s.m))
        yield Sample(-3, 3, (0,))

    def bad(s):
        yield Bad(Sample(2, 2, (3,)), ValueRangeError, "low must be below high")


class Randint(Composite):
    """Random whole numbers from low (0 if left out) to high - 1.

    >>> tx.randint(10, (2, 3)).shape, tx.randint(5, 6, (1,))
    (Size([2, 3]), tensor([5]))
    """

    signature = (
        "randint(low: any, high: any? = None, size: any? = None, *, generator: generator? = None, "
        "dtype: dtype? = None, layout: any? = None, device: device? = None, "
        "requires_grad: bool = False, pin_memory: bool = False) -> y"
    )
    random = True

    def compose(low, high, size, generator, dtype, layout, device, requires_grad, pin_memory):
        if isinstance(high, list | tuple):  # randint(high, size)
            low, high, size = 0, low, high
        elif high is None:
            low, high = 0, low
        if not isinstance(size, list | tuple):
            raise ArgumentError(
                f"randint: needs randint(high, size) or randint(low, high, size), size is "
                f"{describe(size)}"
            )
        return tx.random_integers(
            low, high, tuple(size), generator=generator, dtype=dtype, layout=layout, device=device,
            requires_grad=requires_grad,
        )  # fmt: skip

    def reference(low, high=None, size=None, *options):
        return drawn(high if size is None else size)

    def samples(s):
        yield Sample(5, (s.n, s.m))
        yield Sample(2, 5, (s.n,))
        yield Sample(5, size=(s.n,))


class Randperm(Creation):
    """The numbers from 0 to n - 1 in a random order.

    >>> sorted(tx.randperm(4).tolist())
    [0, 1, 2, 3]
    """

    signature = (
        "randperm(n: int, *, generator: generator? = None, dtype: dtype? = None, "
        "layout: any? = None, device: device? = None, requires_grad: bool = False, "
        "pin_memory: bool = False) -> y"
    )
    random = True

    def infer(n, generator=None, dtype=None, layout=None, device=None, *options):
        check_options("randperm", device, layout)
        if n < 0:
            raise ValueRangeError(f"randperm: n cannot be negative, got {n}")
        return Spec((n,), dtype or int64)

    def kernel(n, generator=None, *options):
        return np.asarray(stream(generator).permutation(n))

    def reference(n, *options):
        return drawn((n,))

    def samples(s):
        yield Sample(s.n)
        yield Sample(0)

    def bad(s):
        yield Bad(Sample(-1), ValueRangeError, "cannot be negative")
