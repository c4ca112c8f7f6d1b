"""Tensors drawn from distributions that other tensors describe: bernoulli, normal, multinomial and their kin."""

from typing import Any

import numpy as np

from thixo.dtype import FLOATS, int64
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.create_options import check_options, float_type
from thixo.ops.random import drawn, normal_array, seed_of, uniform_array
from thixo.ops.samples import Bad, Sample
from thixo.shape import broadcast_shapes


def no_gradient(g: Any) -> Any:
    """A drawn number does not move with what it was drawn from."""
    return tx.zeros_like(g)


class Bernoulli(Op):
    """1 with the probability that each element gives (or with probability p), else 0.

    >>> tx.bernoulli(tx.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """

    signature = "bernoulli(input, p: float? = None, *, generator: generator? = None) -> y"
    random = True

    def infer(input, p=None, generator=None):
        if p is None and not input.dtype.is_floating_point:
            raise DTypeError(f"bernoulli: probabilities must be floats, input is {describe(input)}")
        if p is not None and not 0 <= p <= 1:
            raise ValueRangeError(f"bernoulli: p must be between 0 and 1, got {p}")
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, p=None, generator=None):
        if p is None and input.size and not (input.min() >= 0 and input.max() <= 1):
            wrong = next(v for v in input.flat if not 0 <= v <= 1)
            raise ValueRangeError(f"bernoulli: probabilities must be between 0 and 1, got {wrong}")
        drawn = uniform_array(input.shape, np.dtype(np.float64), generator)
        return (drawn < (input if p is None else p)).astype(input.dtype)

    def vjp(g):
        return no_gradient(g)

    def reference(input, p=None, generator=None):
        return drawn(input.shape)

    dtypes = FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m, low=0, high=1))
        yield Sample(s.real(s.n), 0.5)

    def bad(s):
        yield Bad(Sample(s.array([1.5])), ValueRangeError, "between 0 and 1")
        yield Bad(Sample(s.real(2), -0.5), ValueRangeError, "between 0 and 1")


class Poisson(Op):
    """Random counts from the Poisson distribution with each element as rate.

    >>> tx.poisson(tx.zeros(3))
    tensor([0., 0., 0.])
    """

    signature = "poisson(input, generator: generator? = None) -> y"
    dtypes = FLOATS
    random = True
    method = False

    def infer(input, generator=None):
        return Spec(tuple(input.shape), input.dtype)

    def kernel(input, generator=None):
        rates = np.asarray(input, np.float64)
        if rates.size and not rates.min() >= 0:
            raise ValueRangeError(f"poisson: rates cannot be negative, got {rates.min()}")
        drawn = np.random.default_rng(seed_of(generator)).poisson(rates)
        return np.asarray(drawn, np.float64)

    def vjp(g):
        return no_gradient(g)

    def reference(input, generator=None):
        return drawn(input.shape)

    def samples(s):
        yield Sample(s.positive(s.n, s.m))

    def bad(s):
        yield Bad(Sample(s.array([-1.0])), ValueRangeError, "cannot be negative")


class Binomial(Op):
    """Random counts of successes among `count` trials with probability `prob` each.

    >>> tx.binomial(tx.tensor([3.0]), tx.tensor([1.0]))
    tensor([3.])
    """

    signature = "binomial(count, prob, generator: generator? = None) -> y"
    dtypes = FLOATS
    random = True
    method = False

    def infer(count, prob, generator=None):
        if count.dtype is not prob.dtype:
            raise DTypeError(
                f"binomial: count and prob must have one dtype, count is {describe(count)}, "
                f"prob is {describe(prob)}"
            )
        return Spec(broadcast_shapes(count.shape, prob.shape, op="binomial"), count.dtype)

    def kernel(count, prob, generator=None):
        if np.any(~(count >= 0)) or np.any(~((prob >= 0) & (prob <= 1))):
            raise ValueRangeError("binomial: needs counts of at least 0 and prob between 0 and 1")
        drawing = np.random.default_rng(seed_of(generator))
        return drawing.binomial(count.astype(np.int64), prob).astype(np.float64)

    def vjp(g):
        return no_gradient(g), no_gradient(g)

    def reference(count, prob, generator=None):
        return drawn(np.broadcast_shapes(count.shape, prob.shape))

    def samples(s):
        yield Sample(
            s.array([1, 2, 3]), s.real(s.n, 3, low=0.1, high=0.9), grad=False
        )  # a draw's gradient is 0

    def bad(s):
        yield Bad(Sample(s.array([1.0]), s.array([1.5])), ValueRangeError, "between 0 and 1")


class Multinomial(Op):
    """Places drawn from each row of weights, without putting them back unless told to.

    >>> tx.multinomial(tx.tensor([0.0, 1.0, 0.0]), 1)
    tensor([1])
    """

    signature = (
        "multinomial(input, num_samples: int, replacement: bool = False, *, "
        "generator: generator? = None) -> y"
    )
    dtypes = FLOATS
    random = True
    vjp = None

    def infer(input, num_samples, replacement=False, generator=None):
        if input.ndim not in (1, 2):
            raise ShapeError(f"multinomial: needs one or two axes, input is {describe(input)}")
        if num_samples <= 0:
            raise ValueRangeError(f"multinomial: num_samples must be positive, got {num_samples}")
        if not replacement and num_samples > input.shape[-1]:
            raise ValueRangeError(
                f"multinomial: {num_samples} samples of {input.shape[-1]} need replacement=True"
            )
        if input.shape[-1] > 2**24:
            raise ValueRangeError(
                f"multinomial: at most 2**24 places to draw from, input is {describe(input)}"
            )
        return Spec((*input.shape[:-1], num_samples), int64)

    def kernel(input, num_samples, replacement=False, generator=None):
        weights = np.asarray(input, np.float64)
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise ValueRangeError("multinomial: weights must be finite and not negative")
        if np.any(weights.sum(-1) <= 0):
            raise ValueRangeError("multinomial: each row needs a weight above 0")
        if not replacement and np.any((weights > 0).sum(-1) < num_samples):
            raise ValueRangeError(
                f"multinomial: a row has fewer than {num_samples} weights above 0; "
                "use replacement=True"
            )
        if replacement:
            heights = np.cumsum(weights, -1)
            heights /= heights[..., -1:]
            shape = (*weights.shape[:-1], num_samples)
            draws = uniform_array(shape, np.dtype(np.float64), generator)
            return (draws[..., None] >= heights[..., None, :]).sum(-1)
        # The first arrivals of exponential clocks with these rates are a draw without replacement.
        draws = uniform_array(weights.shape, np.dtype(np.float64), generator)
        with np.errstate(all="ignore"):
            arrival = np.where(weights > 0, -np.log1p(-draws) / weights, np.inf)
        return np.argsort(arrival, -1, kind="stable")[..., :num_samples]

    def reference(input, num_samples, replacement=False, generator=None):
        return drawn((*input.shape[:-1], num_samples))

    def samples(s):
        yield Sample(s.positive(s.n, s.m), 2)
        yield Sample(s.positive(s.m), 5, True)

    def bad(s):
        yield Bad(Sample(s.positive(1, 2, 3), 1), ShapeError, "one or two axes")
        yield Bad(Sample(s.positive(2), 0), ValueRangeError, "must be positive")
        yield Bad(Sample(s.positive(2), 3), ValueRangeError, "replacement=True")
        yield Bad(Sample(s.array([0.0, 0.0]), 1), ValueRangeError, "above 0")
        yield Bad(Sample(s.array([-1.0, 1.0]), 1), ValueRangeError, "not negative")


class NormalDraw(Op):
    """Random numbers from normal distributions with these means and deviations.

    >>> tx.normal_draw(tx.tensor([3.0]), 0.0)
    tensor([3.])
    """

    signature = "normal_draw(mean, std: operand, *, generator: generator? = None) -> y"
    dtypes = FLOATS
    random = True
    method = False

    def infer(mean, std, generator=None):
        shape = tuple(mean.shape)
        if hasattr(std, "shape"):
            if std.dtype.is_complex:
                raise DTypeError(f"normal: std must be real, got {describe(std)}")
            shape = broadcast_shapes(shape, std.shape, op="normal")
        elif isinstance(std, complex):
            raise ArgumentError(f"normal: std must be a real number, got {std}")
        elif std < 0:
            raise ValueRangeError(f"normal: std cannot be negative, got {std}")
        return Spec(shape, mean.dtype)

    def kernel(mean, std, generator=None):
        if isinstance(std, np.ndarray) and std.size and std.min() < 0:
            raise ValueRangeError(f"normal: std cannot be negative, got {std.min()}")
        shape = np.broadcast_shapes(mean.shape, np.shape(std))
        return mean + std * normal_array(shape, mean.dtype, generator)

    def vjp(g):
        return no_gradient(g), no_gradient(g)

    def reference(mean, std, generator=None):
        return drawn(np.broadcast_shapes(mean.shape, np.shape(std)))

    def samples(s):
        yield Sample(s.real(s.n, s.m), 2.0, grad=False)  # a draw's gradient is 0
        yield Sample(s.real(s.n, s.m), s.positive(s.m), grad=False)

    def bad(s):
        yield Bad(Sample(s.real(2), -1.0), ValueRangeError, "cannot be negative")


class Normal(Composite):
    """Random numbers from normal distributions; mean and std are tensors, or numbers with a size.

    >>> tx.normal(0.0, 1.0, (2, 3)).shape, tx.normal(tx.zeros(4)).shape
    (Size([2, 3]), Size([4]))
    """

    signature = (
        "normal(mean: operand = 0.0, std: operand = 1.0, size: ints? = None, *, "
        "generator: generator? = None, dtype: dtype? = None, layout: any? = None, "
        "device: device? = None, requires_grad: bool = False, pin_memory: bool = False) -> y"
    )
    random = True
    method = False

    def compose(mean, std, size, generator, dtype, layout, device, requires_grad, pin_memory):
        check_options("normal", device, layout)
        if hasattr(mean, "dtype"):
            if size is not None:
                raise ArgumentError("normal: takes a size only where mean and std are numbers")
            return tx.normal_draw(mean, std, generator=generator)
        if hasattr(std, "dtype"):
            return tx.normal_draw(tx.full_like(std, mean), std, generator=generator)
        if size is None:
            raise ArgumentError("normal: needs a size where mean and std are numbers")
        dtype = float_type("normal", dtype)
        y = tx.normal_draw(tx.full(size, mean, dtype=dtype), std, generator=generator)
        return y.requires_grad_() if requires_grad else y

    def reference(mean=0.0, std=1.0, size=None, *options):
        return drawn(np.broadcast_shapes(np.shape(mean), np.shape(std), size or ()))

    dtypes = FLOATS

    def samples(s):
        yield Sample(s.real(s.n, s.m), 2.0, grad=False)  # a draw's gradient is 0
        yield Sample(s.real(s.n, s.m), s.positive(s.m), grad=False)
        yield Sample(0.0, s.positive(s.m), grad=False)
        yield Sample(0.0, 1.0, (s.n, s.m))

    def bad(s):
        yield Bad(Sample(0.0, 1.0), ArgumentError, "needs a size")
        yield Bad(Sample(s.real(2), -1.0), ValueRangeError, "cannot be negative")
