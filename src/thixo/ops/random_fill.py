"""Tensors filled in place with random numbers: uniform_, normal_, exponential_ and their kin."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from thixo._core import Tensor
from thixo.dtype import BOOL, FLOATS, INTEGERS, DType, finfo, float32, float64, iinfo
from thixo.dtype import bool as bool_
from thixo.errors import DTypeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.plain import real
from thixo.ops.random import drawn
from thixo.ops.samples import Bad, Maker, Sample


def require_float(operation: str, input: Any) -> None:
    """Refuse a tensor that cannot hold fractions."""
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{operation}: needs a floating-point tensor, input is {describe(input)}")


def draw_type(input: Any) -> DType:
    """The dtype to draw in: half types and integers are rounded from a wider one."""
    wide = input.dtype.is_floating_point and input.dtype.itemsize >= 4
    return input.dtype if wide else float32 if input.dtype.is_floating_point else float64


def uniform(input: Any, generator: Any) -> Any:
    """Numbers in [0, 1) for each element of a tensor."""
    return tx.rand(tuple(input.shape), generator=generator, dtype=draw_type(input))


def one_sample(s: Maker) -> Iterator[Sample]:
    """A tensor to fill."""
    yield Sample(s.real(s.n, s.m))


class FillUniform(Composite):
    """Fill with random numbers between two bounds, each value equally likely.

    >>> tx.zeros(2).uniform_(5, 5)
    tensor([5., 5.])
    """

    signature = (
        "uniform_(input!, from: float = 0.0, to: float = 1.0, *, generator: generator? = None)"
        " -> input!"
    )
    random = True
    dtypes = FLOATS

    def compose(input, low, high, generator):
        require_float("uniform_", input)
        if not low <= high:
            raise ValueRangeError(f"uniform_: from must not be above to, got {low} and {high}")
        draws = uniform(input, generator)
        return tx.copy_(input, draws if (low, high) == (0, 1) else draws * (high - low) + low)

    def reference(input, *options):
        return drawn(input.shape)

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 3, -1), ValueRangeError, "must not be above")


class FillNormal(Composite):
    """Fill with random numbers from a normal distribution.

    >>> tx.zeros(2).normal_(5, 0)
    tensor([5., 5.])
    """

    signature = (
        "normal_(input!, mean: float = 0.0, std: float = 1.0, *, generator: generator? = None)"
        " -> input!"
    )
    random = True
    dtypes = FLOATS

    def compose(input, mean, std, generator):
        if not std >= 0:
            raise ValueRangeError(f"normal_: std cannot be negative, got {std}")
        dtype = input.dtype if input.dtype.is_complex else draw_type(input)
        if not dtype.is_complex:
            require_float("normal_", input)
        draws = tx.randn(tuple(input.shape), generator=generator, dtype=dtype)
        return tx.copy_(input, draws if (mean, std) == (0, 1) else draws * std + mean)

    def reference(input, *options):
        return drawn(input.shape)

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 0, -1), ValueRangeError, "cannot be negative")


class FillExponential(Composite):
    """Fill with random numbers from the exponential distribution with rate lambd.

    >>> bool((tx.zeros(4).exponential_() >= 0).all())
    True
    """

    signature = (
        "exponential_(input!, lambd: float = 1.0, *, generator: generator? = None) -> input!"
    )
    random = True
    dtypes = FLOATS

    def compose(input, lambd, generator):
        require_float("exponential_", input)
        if not lambd > 0:
            raise ValueRangeError(f"exponential_: lambd must be positive, got {lambd}")
        return tx.copy_(input, tx.log1p(-uniform(input, generator)) / -lambd)

    def reference(input, *options):
        return drawn(input.shape)

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 0), ValueRangeError, "must be positive")


class FillGeometric(Composite):
    """Fill with the number of trials up to the first success, each of which has probability p.

    >>> bool((tx.zeros(4).geometric_(0.5) >= 1).all())
    True
    """

    signature = "geometric_(input!, p: float, *, generator: generator? = None) -> input!"
    random = True
    dtypes = INTEGERS + FLOATS

    def compose(input, p, generator):
        if not 0 < p < 1:
            raise ValueRangeError(f"geometric_: p must be between 0 and 1, got {p}")
        draws = tx.log1p(-uniform(input, generator)) / math.log1p(-p)
        return tx.copy_(input, tx.floor(draws) + 1)

    def reference(input, *options):
        return drawn(input.shape)

    def samples(s):
        yield Sample(s.real(s.n, s.m), 0.5)

    def bad(s):
        yield Bad(Sample(s.real(2), -1), ValueRangeError, "between 0 and 1")


class FillCauchy(Composite):
    """Fill with random numbers from the Cauchy distribution.

    >>> tx.zeros(4).cauchy_().shape
    Size([4])
    """

    signature = (
        "cauchy_(input!, median: float = 0.0, sigma: float = 1.0, *, generator: generator? = None)"
        " -> input!"
    )
    random = True
    dtypes = FLOATS

    def compose(input, median, sigma, generator):
        require_float("cauchy_", input)
        if not sigma > 0:
            raise ValueRangeError(f"cauchy_: sigma must be positive, got {sigma}")
        angle = (uniform(input, generator) - 0.5) * math.pi
        return tx.copy_(input, tx.tan(angle) * sigma + median)

    def reference(input, *options):
        return drawn(input.shape)

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 0, 0), ValueRangeError, "must be positive")


class FillLogNormal(Composite):
    """Fill with random numbers whose logarithm is normally distributed.

    >>> bool((tx.zeros(4).log_normal_() > 0).all())
    True
    """

    signature = (
        "log_normal_(input!, mean: float = 1.0, std: float = 2.0, *, generator: generator? = None)"
        " -> input!"
    )
    random = True
    dtypes = FLOATS

    def compose(input, mean, std, generator):
        require_float("log_normal_", input)
        if not std > 0:
            raise ValueRangeError(f"log_normal_: std must be positive, got {std}")
        draws = tx.randn(tuple(input.shape), generator=generator, dtype=draw_type(input))
        return tx.copy_(input, tx.exp(draws * std + mean))

    def reference(input, *options):
        return drawn(input.shape)

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 0, 0), ValueRangeError, "must be positive")


class FillRandom(Composite):
    """Fill with random whole numbers: random_(), random_(to) or random_(from, to).

    Without bounds all that the dtype holds exactly, from 0 on.

    >>> tx.zeros(2).random_(5, 6)
    tensor([5., 5.])
    """

    signature = (
        "random_(input!, from: int? = None, to: int? = None, *, generator: generator? = None)"
        " -> input!"
    )
    random = True
    dtypes = BOOL + INTEGERS + FLOATS

    def compose(input, low, high, generator):
        if high is None:
            low, high = 0, (exact_limit(input.dtype) if low is None else low)
        if low is None or not low < high:
            raise ValueRangeError(f"random_: from must be below to, got {low} and {high}")
        return tx.copy_(
            input, tx.random_integers(low, high, tuple(input.shape), generator=generator)
        )

    def reference(input, *options):
        return drawn(input.shape)

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 3, 3), ValueRangeError, "must be below")


def exact_limit(dtype: DType) -> int:
    """One more than the largest whole number up to which a dtype holds all."""
    if dtype is bool_:
        return 2
    if dtype.is_integer:
        return min(iinfo(dtype).max, 2**63 - 2) + 1
    return int(2 / finfo(dtype).eps) + 1


class FillBernoulli(Composite):
    """Fill with 1 with probability p, a number or a tensor that broadcasts, else with 0.

    >>> tx.zeros(2).bernoulli_(1.0)
    tensor([1., 1.])
    """

    signature = "bernoulli_(input!, p: any = 0.5, *, generator: generator? = None) -> input!"
    random = True
    dtypes = BOOL + INTEGERS + FLOATS

    def compose(input, p, generator):
        if isinstance(p, Tensor):
            return tx.copy_(
                input, tx.bernoulli(tx.expand(p, tuple(input.shape)), generator=generator)
            )
        if not 0 <= real("bernoulli_", "p", p) <= 1:
            raise ValueRangeError(f"bernoulli_: p must be between 0 and 1, got {p}")
        return tx.copy_(input, uniform(input, generator) < p)

    def reference(input, *options):
        return drawn(np.shape(input))

    samples = one_sample

    def bad(s):
        yield Bad(Sample(s.real(2), 2.0), ValueRangeError, "between 0 and 1")
