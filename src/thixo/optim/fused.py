"""Steps of optimizers as kernels: one pass over parameter, gradient and state, all parameters in one launch.

A step is written like an operator's `scalar`: what one element of each tensor becomes, with numbers that are
known when it runs. It must say the same as the optimizer's own `_update`, which runs wherever this does not.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.codegen.builder import Builder
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.scalars import KernelScalars
from thixo.runtime.kernels import address, grain
from thixo.tensor import Tensor

# (k, tensors, numbers) -> the new values of the written tensors, in order
Step = Callable[[Any, list[Any], list[Any]], list[Any]]


def run(
    step: Step, written: Sequence[int], groups: Sequence[Sequence[Tensor]], numbers: Sequence[float]
) -> bool:
    """Do the step for each group of tensors (parameter, gradient, state); False if none of it can be done so.

    `written` says which tensors of a group get new values.
    """
    dtype = groups[0][0].dtype
    if not dtype.is_floating_point or any(
        t.dtype is not dtype or not t.is_contiguous() or t.shape != group[0].shape
        for group in groups
        for t in group
    ):
        return False
    found = _found(step, len(groups[0]), tuple(written), len(numbers), dtype.short)
    if found is None:
        return False
    code, chunk = found
    _core.run_together(
        code, chunk, tuple(written), [tuple(g) for g in groups], tuple(map(float, numbers))
    )
    return True


@functools.cache
def _found(step: Step, tensors: int, written: tuple[int, ...], numbers: int, dtype: str) -> Any:
    kernel = build(step, tensors, written, numbers, dtype)
    code = address(kernel)
    return None if code is None else (code, grain(kernel))


def build(step: Step, tensors: int, written: tuple[int, ...], numbers: int, dtype: str) -> Kernel:
    """The kernel of a step: tensors, numbers, written tensors."""
    b = Builder()
    operands = [Operand(dtype)] * tensors + [Operand("f64", "one")] * numbers
    values = [b.load(i, o.register) for i, o in enumerate(operands)]
    for value in values[tensors:]:
        value.weak = True
    made = step(KernelScalars(b), values[:tensors], values[tensors:])
    for value in made:
        b.store(len(operands), value)
        operands.append(Operand(dtype, written=True))
    return Kernel(tuple(operands), tuple(b.instructions))


def _pulled(p: Any, g: Any, decay: Any, decays: bool) -> Any:
    """The gradient, and where weights decay its pull towards zero."""
    return g + p * decay if decays else g


def _decayed(p: Any, g: Any, decay: Any, decays: bool, decoupled: bool) -> tuple[Any, Any]:
    """Parameter and gradient after the weights' decay, which is in one of them."""
    if decays and decoupled:
        return p * decay, g
    return p, _pulled(p, g, decay, decays)


@functools.cache
def sgd(decays: bool, momentum: bool, nesterov: bool) -> Step:
    """Tensors: parameter, gradient, buffer. Numbers: sign, rate, decay, momentum, share of the gradient."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, *buffers = tensors
        sign, rate, decay, keep, share = numbers
        g = _pulled(p, g * sign, decay, decays)
        if not momentum:
            return [p - g * rate]
        buffer = buffers[0] * keep + g * share
        g = g + buffer * keep if nesterov else buffer
        return [p - g * rate, buffer]

    return step


@functools.cache
def adam(decays: bool, decoupled: bool, amsgrad: bool) -> Step:
    """Tensors: parameter, gradient, mean, square, and the largest square.

    Numbers: sign, rate, decay (or what is left of the parameter after it), and as Adam computes them.
    """

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, mean, square, *largest = tensors
        sign, rate, decay, fresh, beta2, fresh2, scale, eps = numbers
        p, g = _decayed(p, g * sign, decay, decays, decoupled)
        mean = mean + (g - mean) * fresh
        square = square * beta2 + g * g * fresh2
        limit = k.maximum(largest[0], square) if amsgrad else square
        p = p - mean / (k.sqrt(limit) * scale + eps) * rate
        return [p, mean, square, limit] if amsgrad else [p, mean, square]

    return step


@functools.cache
def rmsprop(decays: bool, centered: bool, momentum: bool) -> Step:
    """Tensors: parameter, gradient, square, the gradient's mean, buffer. Numbers: as RMSprop computes them."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, square, *rest = tensors
        sign, rate, decay, alpha, fresh, eps, keep = numbers
        g = _pulled(p, g * sign, decay, decays)
        square = square * alpha + g * g * fresh
        made, scale = [square], square
        if centered:
            mean = rest[0] + (g - rest[0]) * fresh
            made.append(mean)
            scale = square - mean * mean
        move = g / (k.sqrt(scale) + eps)
        if momentum:
            move = rest[-1] * keep + move
            made.append(move)
        return [p - move * rate, *made]

    return step


@functools.cache
def adagrad(decays: bool) -> Step:
    """Tensors: parameter, gradient, sum of squares. Numbers: sign, rate, decay, eps."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, total = tensors
        sign, rate, decay, eps = numbers
        g = _pulled(p, g * sign, decay, decays)
        total = total + g * g
        return [p - g / (k.sqrt(total) + eps) * rate, total]

    return step


@functools.cache
def adadelta(decays: bool) -> Step:
    """Tensors: parameter, gradient, square, moved. Numbers: sign, rate, decay, rho, 1 - rho, eps."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, square, moved = tensors
        sign, rate, decay, rho, fresh, eps = numbers
        g = _pulled(p, g * sign, decay, decays)
        square = square * rho + g * g * fresh
        delta = k.sqrt(moved + eps) / k.sqrt(square + eps) * g
        return [p - delta * rate, square, moved * rho + delta * delta * fresh]

    return step


@functools.cache
def adamax(decays: bool) -> Step:
    """Tensors: parameter, gradient, mean, largest. Numbers: sign, rate, decay, 1 - beta1, beta2, eps."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, mean, largest = tensors
        sign, rate, decay, fresh, beta2, eps = numbers
        g = _pulled(p, g * sign, decay, decays)
        mean = mean + (g - mean) * fresh
        largest = k.maximum(largest * beta2, k.abs(g) + eps)
        return [p - mean / largest * rate, mean, largest]

    return step


@functools.cache
def nadam(decays: bool, decoupled: bool) -> Step:
    """Tensors: parameter, gradient, mean, square.

    Numbers: sign, decay (or what is left), the averages', the square's scale, eps, rates of gradient and mean.
    """

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, mean, square = tensors
        sign, decay, fresh, beta2, fresh2, scale, eps, rate, rate_of_mean = numbers
        p, g = _decayed(p, g * sign, decay, decays, decoupled)
        mean = mean + (g - mean) * fresh
        square = square * beta2 + g * g * fresh2
        root = k.sqrt(square * scale) + eps
        return [p - g / root * rate - mean / root * rate_of_mean, mean, square]

    return step


@functools.cache
def radam(decays: bool, decoupled: bool, rectified: bool) -> Step:
    """Tensors: parameter, gradient, mean, square. Numbers: as RAdam computes them."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, mean, square = tensors
        sign, rate, decay, fresh, beta2, fresh2, eps = numbers
        p, g = _decayed(p, g * sign, decay, decays, decoupled)
        mean = mean + (g - mean) * fresh
        square = square * beta2 + g * g * fresh2
        move = mean * rate
        return [p - (move / (k.sqrt(square) + eps) if rectified else move), mean, square]

    return step


def rprop(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
    """Tensors: parameter, gradient, the one before, size of steps. Numbers: sign, factors and bounds of sizes."""
    p, g, before, size = tensors
    sign, shorter, longer, least, most = numbers
    g = g * sign
    agree = g * before
    size = k.where(agree > 0, size * longer, k.where(agree < 0, size * shorter, size))
    size = k.minimum(k.maximum(size, least), most)
    g = k.where(agree < 0, 0.0, g)
    return [p - k.sign(g) * size, g, size]


@functools.cache
def asgd(decays: bool) -> Step:
    """Tensors: parameter, gradient, average. Numbers: sign, decay, what is left of the parameter, rate, share."""

    def step(k: Any, tensors: list[Any], numbers: list[Any]) -> list[Any]:
        p, g, average = tensors
        sign, decay, left, rate, share = numbers
        g = _pulled(p, g * sign, decay, decays)
        p = p * left - g * rate
        return [p, average + (p - average) * share]

    return step
