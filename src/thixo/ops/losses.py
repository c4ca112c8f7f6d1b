"""Losses that compare numbers with numbers, and distributions with distributions."""

import math

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, INTEGERS
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops import loss_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.loss_reduction import (
    check_broadcast,
    reduced,
    reduction_of,
    warn_of_broadcast,
    weighted,
)
from thixo.ops.samples import Bad, Sample


class MseLoss(Composite):
    """Squared error.

    >>> tx.nn.functional.mse_loss(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
    tensor(2.)
    """

    signature = (
        "mse_loss(input, target, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean', weight = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX

    def compose(input, target, size_average, reduce, reduction, weight):
        reduction = reduction_of("mse_loss", size_average, reduce, reduction)
        check_broadcast("mse_loss", input, target)
        warn_of_broadcast("mse_loss", input, target)
        error = input - target
        return weighted("mse_loss", error * error, input, weight, reduction)

    def reference(input, target, size_average, reduce, reduction, weight):
        return slow.weighted((input - target) ** 2, weight, size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), reduction="none")
        yield Sample(s.real(s.n, s.m), s.real(s.m), reduction="sum")
        yield Sample(s.real(s.n), s.real(s.n), None, False)
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), weight=s.positive(s.n, s.m))
        yield Sample(s.real(), s.real())

    def bad(s):
        yield Bad(
            Sample(s.real(2), s.real(2), reduction="avg"), ValueRangeError, "reduction is 'avg'"
        )
        yield Bad(Sample(s.real(2), s.real(3)), ShapeError, "shapes differ")
        yield Bad(Sample(s.real(2), s.real(2), weight=s.real(1)), ShapeError, "weight")


class L1Loss(Composite):
    """Absolute error.

    >>> tx.nn.functional.l1_loss(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 4.0]))
    tensor(1.)
    """

    signature = (
        "l1_loss(input, target, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean', weight = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX

    def compose(input, target, size_average, reduce, reduction, weight):
        reduction = reduction_of("l1_loss", size_average, reduce, reduction)
        check_broadcast("l1_loss", input, target)
        warn_of_broadcast("l1_loss", input, target)
        return weighted("l1_loss", tx.abs(input - target), input, weight, reduction)

    def reference(input, target, size_average, reduce, reduction, weight):
        return slow.weighted(abs(input - target), weight, size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m) + 5)
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m) + 5, reduction="none")
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m) + 5, weight=s.positive(s.n, s.m).real)

    def bad(s):
        yield Bad(
            Sample(s.real(2), s.real(2), reduction="avg"), ValueRangeError, "reduction is 'avg'"
        )
        yield Bad(Sample(s.real(5, 4), s.real(5)), ShapeError, "shapes differ")


class SmoothL1Loss(Composite):
    """Absolute error, but quadratic where it is below `beta`.

    >>> tx.nn.functional.smooth_l1_loss(tx.tensor([0.0, 3.0]), tx.zeros(2), reduction="none")
    tensor([0.0000, 2.5000])
    """

    signature = (
        "smooth_l1_loss(input, target, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean', beta: float = 1.0) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, size_average, reduce, reduction, beta):
        op = "smooth_l1_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        if beta < 0:
            raise ValueRangeError(f"{op}: beta is {beta}; it must not be negative")
        check_broadcast(op, input, target)
        warn_of_broadcast(op, input, target)
        error = tx.abs(input - target)
        if beta != 0:
            error = tx.where(error < beta, error * error * (0.5 / beta), error - 0.5 * beta)
        return reduced(error, reduction)

    def reference(input, target, size_average, reduce, reduction, beta):
        def one(d):
            return 0.5 * d * d / beta if d < beta else d - 0.5 * beta

        errors = slow.elementwise(one, abs(input - target))
        return slow.reduced(errors, size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), beta=0.0, reduction="sum")
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), beta=2.0, reduction="none")

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(2), beta=-1.0), ValueRangeError, "beta")


class HuberLoss(Composite):
    """Half the squared error, but linear where the error is above `delta`.

    >>> tx.nn.functional.huber_loss(tx.tensor([1.0, 3.0]), tx.zeros(2), reduction="none")
    tensor([0.5000, 2.5000])
    """

    signature = (
        "huber_loss(input, target, reduction: str = 'mean', delta: float = 1.0, weight = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, reduction, delta, weight):
        reduction = reduction_of("huber_loss", None, None, reduction)
        if delta <= 0:
            raise ValueRangeError(f"huber_loss: delta is {delta}; it must be positive")
        check_broadcast("huber_loss", input, target)
        warn_of_broadcast("huber_loss", input, target)
        error = tx.abs(input - target)
        loss = tx.where(error <= delta, 0.5 * error * error, delta * (error - 0.5 * delta))
        if weight is not None:
            if tuple(weight.shape) != tuple(input.shape):
                raise ShapeError(
                    f"huber_loss: weight is {describe(weight)}, input is {describe(input)}; the "
                    f"shapes must agree"
                )
            loss = loss * weight
        return reduced(loss, reduction)

    def reference(input, target, reduction, delta, weight):
        def one(d):
            return 0.5 * d * d if d <= delta else delta * (d - 0.5 * delta)

        errors = slow.elementwise(one, abs(input - target))
        return slow.reduced(errors if weight is None else errors * weight, None, None, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), "sum", 2.0)
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), "none", 0.5, s.positive(s.n, s.m))

    def bad(s):
        yield Bad(Sample(s.real(2), s.real(2), delta=0.0), ValueRangeError, "delta")
        yield Bad(Sample(s.real(2), s.real(2), "avg"), ValueRangeError, "reduction is 'avg'")


class KlDiv(Composite):
    """Kullback-Leibler divergence of `target` from `input`, which holds log-probabilities.

    >>> p = tx.tensor([0.25, 0.75])
    >>> tx.nn.functional.kl_div(p.log(), p, reduction="sum")
    tensor(0.)
    """

    signature = (
        "kl_div(input, target, size_average: bool? = None, reduce: bool? = None, "
        "reduction: str = 'mean', log_target: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, size_average, reduce, reduction, log_target):
        by_batch = reduction == "batchmean" and size_average is None and reduce is None
        reduction = reduction_of("kl_div", size_average, reduce, "sum" if by_batch else reduction)
        check_broadcast("kl_div", input, target)
        if log_target:
            loss = tx.exp(target) * (target - input)
        else:
            loss = tx.xlogy(target, target) - target * input
        if by_batch and input.ndim:
            return loss.sum() / input.shape[0]
        return reduced(loss, reduction)

    def reference(input, target, size_average, reduce, reduction, log_target):
        t, x = np.broadcast_arrays(target, input)
        losses = slow.elementwise(
            (lambda t, x: math.exp(t) * (t - x)) if log_target
            else (lambda t, x: t * (math.log(t) - x) if t > 0 else 0.0),
            t, x,
        )  # fmt: skip
        if reduction == "batchmean":
            return losses.sum() / input.shape[0]
        return slow.reduced(losses, size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.positive(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), log_target=True, reduction="none")
        yield Sample(s.real(s.n, s.m), s.positive(s.n, s.m), reduction="batchmean")
        yield Sample(s.real(2), s.array([0.0, 1.0]), reduction="sum", grad=False)

    def bad(s):
        yield Bad(
            Sample(s.real(2), s.real(2), reduction="avg"), ValueRangeError, "reduction is 'avg'"
        )


class PoissonNllLoss(Composite):
    """Negative log-likelihood of counts under a Poisson distribution (whose log-rate is `input`).

    >>> tx.nn.functional.poisson_nll_loss(tx.zeros(1), tx.ones(1))
    tensor(1.)
    """

    signature = (
        "poisson_nll_loss(input, target, log_input: bool = True, full: bool = False, "
        "size_average: bool? = None, eps: float = 1e-8, reduce: bool? = None, "
        "reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + INTEGERS

    def compose(input, target, log_input, full, size_average, eps, reduce, reduction):
        op = "poisson_nll_loss"
        reduction = reduction_of(op, size_average, reduce, reduction)
        check_broadcast(op, input, target)
        if log_input:
            loss = tx.exp(input) - target * input
        else:
            loss = input - target * tx.log(input + eps)
        if full:  # Stirling's formula for log(target!), which is 0 for 0 and 1
            large = target > 1
            t = tx.where(large, target, 2)
            stirling = t * tx.log(t) - t + 0.5 * tx.log(2 * math.pi * t)
            loss = loss + tx.where(large, stirling, 0)
        return reduced(loss, reduction)

    def reference(input, target, log_input, full, size_average, eps, reduce, reduction):
        def one(x, t):
            loss = math.exp(x) - t * x if log_input else x - t * math.log(x + eps)
            if full and t > 1:
                loss += t * math.log(t) - t + 0.5 * math.log(2 * math.pi * t)
            return loss

        return slow.reduced(slow.elementwise(one, input, target), size_average, reduce, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.positive(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.positive(s.n, s.m, high=5), full=True, reduction="none")
        yield Sample(s.positive(s.n, s.m), s.positive(s.n, s.m), False, reduction="sum")

    def bad(s):
        yield Bad(
            Sample(s.real(2), s.real(2), reduction="avg"), ValueRangeError, "reduction is 'avg'"
        )
        yield Bad(Sample(s.real(5, 4), s.real(5)), ShapeError, "shapes differ")


class GaussianNllLoss(Composite):
    """Negative log-likelihood under normal distributions of mean `input` and variance `var`.

    >>> tx.nn.functional.gaussian_nll_loss(tx.zeros(1), tx.ones(1), tx.ones(1))
    tensor(0.5000)
    """

    signature = (
        "gaussian_nll_loss(input, target, var: operand, full: bool = False, eps: float = 1e-6, "
        "reduction: str = 'mean') -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, target, var, full, eps, reduction):
        op = "gaussian_nll_loss"
        reduction = reduction_of(op, None, None, reduction)
        check_broadcast(op, input, target)
        if isinstance(var, complex):
            raise ArgumentError(f"{op}: var must be a real number or a Tensor, got {var}")
        if isinstance(var, (int, float)):
            if var < 0:
                raise ValueRangeError(f"{op}: var is {var}; it must not be negative")
            var = tx.full_like(input, var)
        shape = tuple(input.shape)
        if tuple(var.shape) != shape:
            if tuple(var.shape) == shape[:-1]:
                var = var.unsqueeze(-1)
            elif input.ndim == 0 or tuple(var.shape) != (*shape[:-1], 1):
                raise ShapeError(
                    f"{op}: var is {describe(var)}, input is {describe(input)}; the shapes must "
                    f"agree, but for a last axis that may be missing or 1"
                )
        # small variances are raised to eps, but their gradient stays
        var = var + (tx.clamp(var, min=eps) - var).detach()
        error = input - target
        loss = 0.5 * (tx.log(var) + error * error / var)
        if full:
            loss = loss + 0.5 * math.log(2 * math.pi)
        return reduced(loss, reduction)

    def reference(input, target, var, full, eps, reduction):
        var = np.asarray(var)
        if var.ndim and var.ndim < input.ndim:
            var = var[..., None]

        def one(x, t, v):
            v = max(v, eps)
            rest = 0.5 * math.log(2 * math.pi) if full else 0.0
            return 0.5 * (math.log(v) + (x - t) ** 2 / v) + rest

        return slow.reduced(slow.elementwise(one, input, target, var), None, None, reduction)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), s.positive(s.n, s.m))
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), s.positive(s.n), True, reduction="none")
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), s.positive(s.n, 1), reduction="sum")
        yield Sample(s.real(s.n, s.m), s.real(s.m), 0.5)

    def bad(s):
        x = s.real(2, 3)
        yield Bad(Sample(x, x, s.positive(2, 2)), ShapeError, "var is")
        yield Bad(Sample(x, x, -1.0), ValueRangeError, "var is -1.0")
        yield Bad(Sample(x, s.real(2, 2), s.positive(2, 3)), ShapeError, "shapes differ")
