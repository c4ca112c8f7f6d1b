"""Gradients of reductions that are row functions themselves: each is one walk or two along the row.

Gradients and results of the reduction arrive with axes of size 1 where it reduced.
"""

import math

import numpy as np

from thixo.dtype import FLOATS
from thixo.errors import ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.reduce_references import over_axes
from thixo.ops.reduce_rules import axes, reduced_shape
from thixo.ops.samples import Bad, Sample


def _infer(op, input, dim, **kept):
    dims = axes(dim, input.ndim, op)
    shape = reduced_shape(input.shape, dims, True)
    for name, value in kept.items():
        if tuple(value.shape) != tuple(shape):
            raise ShapeError(
                f"{op}: {name} is {describe(value)}; its shape must be {list(shape)}, that of the reduction"
            )
    return Spec(tuple(input.shape), input.dtype)


def _samples(s):
    yield Sample(s.real(s.n, 1), s.real(s.n, s.m), s.real(s.n, 1), (1,))
    yield Sample(s.real(1, s.m, 1), s.real(s.n, s.m, s.k), s.real(1, s.m, 1), (0, -1))
    yield Sample(s.real(), s.real(), s.real(), ())


def _bad(s):
    yield Bad(
        Sample(s.real(2), s.real(2, 3), s.real(2, 1), (1,)), ShapeError, "that of the reduction"
    )


class LogsumexpGradient(Op):
    """The gradient of `logsumexp` at its input: the shares of softmax, times the result's gradient.

    >>> x = tx.tensor([0.0, 0.0])
    >>> tx.logsumexp_gradient(tx.tensor([2.0]), x, tx.logsumexp(x, 0, True), (0,))
    tensor([1., 1.])
    """

    total = True
    signature = "logsumexp_gradient(grad, input, output, dim: ints) -> y"
    dtypes = FLOATS
    method = False

    def infer(grad, input, output, dim):
        return _infer("logsumexp_gradient", input, dim, grad=grad, output=output)

    def kernel(grad, input, output, dim):
        return grad * np.exp(input - output)

    def rows(k, grad, input, output):
        return grad * k.exp(input - output)

    def vjp_grad(g, input, output, dim):
        dims = axes(dim, input.ndim, "logsumexp_gradient")
        return tx.sum(g * tx.exp(input - output), dims, True)

    def vjp_input(g, y):
        return g * y

    def vjp_output(g, y, dim):
        return -tx.sum(g * y, axes(dim, y.ndim, "logsumexp_gradient"), True)

    def reference(grad, input, output, dim):
        return grad * np.exp2((input - output) * np.log2(np.e))

    samples = _samples
    bad = _bad


class ExtremeGradient(Op):
    """The gradient of `amax` or `amin` at its input: in equal parts to all that attain the extreme.

    `output`, the extreme itself, is computed where it is None.

    >>> tx.extreme_gradient(tx.tensor([3.0]), tx.tensor([1.0, 5.0, 5.0]), None, (0,), True)
    tensor([0.0000, 1.5000, 1.5000])
    """

    total = True
    signature = "extreme_gradient(grad, input, output: tensor?, dim: ints, largest: bool) -> y"
    dtypes = FLOATS
    method = False

    def infer(grad, input, output, dim, largest):
        given = {} if output is None else {"output": output}
        return _infer("extreme_gradient", input, dim, grad=grad, **given)

    def kernel(grad, input, output, dim, largest):
        dims = axes(dim, input.ndim, "extreme_gradient")
        if output is None:
            output = (np.maximum if largest else np.minimum).reduce(input, axis=dims, keepdims=True)
        attains = (input == output) | (input != input)
        shares = np.add.reduce(attains, axis=dims, keepdims=True)
        return np.where(attains, np.true_divide(grad, shares), np.zeros((), grad.dtype))

    def rows(k, grad, input, output, largest):
        if output is None:
            output = k.reduce_max(input) if largest else k.reduce_min(input)
        attains = (input == output) | (input != input)  # a NaN in input is what output is
        zero = k.constant(0.0, grad)
        share = grad / k.reduce_sum(k.where(attains, k.constant(1.0, grad), zero))
        return k.where(attains, share, zero)

    def vjp_grad(g, input, output, dim, largest):
        dims = axes(dim, input.ndim, "extreme_gradient")
        one = tx.ones(reduced_shape(input.shape, dims, True), dtype=input.dtype)
        return tx.sum(tx.extreme_gradient(one, input, output, dims, largest) * g, dims, True)

    def reference(grad, input, output, dim, largest):
        top = over_axes(input, dim, True, max if largest else min)
        attains = (input == top).astype(float)
        ties = over_axes(attains, dim, True, lambda values: float(sum(values)))
        return np.where(attains > 0, grad / np.maximum(ties, 1), 0.0)

    def samples(s):
        yield Sample(s.real(s.n, 1), s.distinct(s.n, s.m), None, (1,), True)
        yield Sample(s.real(1, s.m, 1), s.distinct(s.n, s.m, s.k), None, (0, -1), False)
        yield Sample(s.real(1), s.array([2, 1, 2]), s.array([2]), (0,), True, grad=False)
        yield Sample(s.real(), s.real(), None, (), True)

    def bad(s):
        given = (s.real(2), s.real(2, 3), s.real(2, 1), (1,), True)
        yield Bad(Sample(*given), ShapeError, "that of the reduction")


class Deviation(Op):
    """Values less their mean along some axes, times a factor: the gradient of a variance.

    >>> tx.deviation(tx.tensor([1.0, 3.0]), tx.tensor([10.0]), (0,))
    tensor([-10.,  10.])
    """

    total = True
    signature = "deviation(input, scale, dim: ints) -> y"
    dtypes = FLOATS
    method = False

    def infer(input, scale, dim):
        return _infer("deviation", input, dim, scale=scale)

    def kernel(input, scale, dim):
        dims = axes(dim, input.ndim, "deviation")
        wide = input.astype(np.float64)
        size = math.prod(input.shape[d] for d in dims)
        return (wide - np.true_divide(np.add.reduce(wide, axis=dims, keepdims=True), size)) * scale

    def rows(k, input, scale):
        x = k.wide(input)
        return (x - k.reduce_sum(x) / k.columns()) * k.wide(scale)

    def vjp_input(g, scale, dim):
        return tx.deviation(g, scale, dim)  # it is its own transpose

    def vjp_scale(g, input, scale, dim):
        return tx.sum(
            g * tx.deviation(input, tx.ones_like(scale), dim), axes(dim, g.ndim, "deviation"), True
        )

    def reference(input, scale, dim):
        mean = over_axes(input, dim, True, lambda values: math.fsum(values) / max(1, len(values)))
        return (input - mean) * scale

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, 1), (1,))
        yield Sample(s.real(s.n, s.m, s.k), s.real(1, s.m, 1), (0, -1))
        yield Sample(s.real(), s.real(), ())

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.real(3), (1,)), ShapeError, "that of the reduction")
