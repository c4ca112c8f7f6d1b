"""Softmax and its kin. An entry of -inf is masked: its share is exactly 0."""

import math
import warnings

import numpy as np

from thixo.dtype import FLOATS, float64
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.reduce_references import along, converted
from thixo.ops.reduce_rules import as_type
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim


def _infer(op, input, dim, dtype):
    normalize_dim(dim, input.ndim, op)
    result = dtype or input.dtype
    if not result.is_floating_point:
        raise DTypeError(
            f"{op}: input is {describe(input)}; needs a floating-point dtype (or one as dtype=)"
        )
    return Spec(input.shape, result)


def _shifted(input, dim, dtype):
    """The input less its maximum along the axis, as an array with that axis last."""
    x = as_type(input, dtype)
    x = np.moveaxis(x, dim, -1) if x.ndim else x.reshape(1)
    top = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    return x - top  # NaN for a row of -inf or with +inf, as PyTorch


def _back(y, ndim, dim):
    return np.moveaxis(y, -1, dim) if ndim else y.reshape(())


def _samples(s):
    given = {} if s.dtype.is_floating_point else {"dtype": float64}
    yield Sample(s.real(s.n), 0, **given)
    yield Sample(s.real(s.n, s.m), 1, **given)
    yield Sample(s.real(s.n, s.m, s.k), -2, **given)
    yield Sample(s.real(), 0, **given)
    yield Sample(s.real(s.n, 0), 1, **given)
    yield Sample(s.real(s.n, s.m), 0, dtype=float64)
    if s.dtype.is_floating_point:
        yield Sample(s.real(s.n, s.m, low=-60, high=60), 1, grad=False)
        rows = [[1.0, -math.inf, 2.0], [-math.inf] * 3, [math.inf, 0.0, 1.0], [math.nan, 0.0, 1.0]]
        yield Sample(s.array(rows), 1, grad=False)


def _bad(s):
    yield Bad(Sample(s.real(2, 3), 2), IndexOutOfRange, "dim 2 is out of range")
    yield Bad(Sample(s.ints(2, 3), 1), DTypeError, "needs a floating-point dtype")


def _shares(values):
    if any(v == math.inf or v != v for v in values) or all(v == -math.inf for v in values):
        return [math.nan] * len(values)
    top = max(values)
    weights = [math.exp(v - top) for v in values]
    whole = math.fsum(weights)
    return [w / whole for w in weights]


def _log_shares(values):
    if any(v == math.inf or v != v for v in values) or all(v == -math.inf for v in values):
        return [math.nan] * len(values)
    whole = math.fsum(math.exp(v) for v in values)
    return [v - math.log(whole) for v in values]


class Softmax(Op):
    """Shares that add up to 1 along an axis: exp(x) over the sum of exp(x).

    >>> tx.softmax(tx.tensor([0.0, 0.0, -float("inf")]), 0)
    tensor([0.5000, 0.5000, 0.0000])
    """

    total = True
    signature = "softmax(input, dim: int, dtype: dtype? = None) -> y"
    aliases = ("special.softmax",)

    def infer(input, dim, dtype):
        return _infer("softmax", input, dim, dtype)

    def kernel(input, dim, dtype):
        weights = np.exp(_shifted(input, dim, dtype))
        weights /= np.add.reduce(weights, axis=-1, keepdims=True)
        return _back(weights, input.ndim, dim)

    row_type = "float"

    def rows(k, input):
        weights = k.exp(input - k.reduce_max(input))
        return weights * (1.0 / k.reduce_sum(weights))

    def vjp(g, y, dim):
        return tx.softmax_gradient(g, y, dim)

    def reference(input, dim, dtype):
        return along(converted(input, dtype), dim, _shares)

    samples = _samples
    bad = _bad


class LogSoftmax(Op):
    """The logarithm of softmax along an axis, without a detour through small numbers.

    >>> tx.log_softmax(tx.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """

    total = True
    signature = "log_softmax(input, dim: int, dtype: dtype? = None) -> y"
    aliases = ("special.log_softmax",)

    def infer(input, dim, dtype):
        return _infer("log_softmax", input, dim, dtype)

    def kernel(input, dim, dtype):
        x = _shifted(input, dim, dtype)
        y = x - np.log(np.add.reduce(np.exp(x), axis=-1, keepdims=True))
        return _back(y, input.ndim, dim)

    row_type = "float"

    def rows(k, input):
        shifted = input - k.reduce_max(input)
        return shifted - k.log(k.reduce_sum(k.exp(shifted)))

    def vjp(g, y, dim):
        return tx.log_softmax_gradient(g, y, dim)

    def reference(input, dim, dtype):
        return along(converted(input, dtype), dim, _log_shares)

    samples = _samples
    bad = _bad


# ---- their gradients, one walk each


def _gradient_infer(op, grad, output, dim):
    if tuple(grad.shape) != tuple(output.shape):
        raise ShapeError(
            f"{op}: grad is {describe(grad)}, output is {describe(output)}; needs one shape"
        )
    normalize_dim(dim, output.ndim, op)
    return Spec(tuple(output.shape), output.dtype)


def _gradient_samples(s):
    yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), 1)
    yield Sample(s.real(s.n, s.m, s.k), s.real(s.n, s.m, s.k), 0)
    yield Sample(s.real(s.n, s.m, s.k), s.real(s.n, s.m, s.k), -2)
    yield Sample(s.real(), s.real(), 0)
    yield Sample(s.real(s.n, 0), s.real(s.n, 0), 1)


def _gradient_bad(s):
    yield Bad(Sample(s.real(2, 3), s.real(3, 2), 0), ShapeError, "needs one shape")


def _axis_last(array, dim):
    return np.moveaxis(array, dim, -1) if array.ndim else array.reshape(1)


class SoftmaxGradient(Op):
    """The gradient of `softmax` at its input, from that of its result and the result.

    >>> tx.softmax_gradient(tx.tensor([1.0, 0.0]), tx.tensor([0.5, 0.5]), 0)
    tensor([ 0.2500, -0.2500])
    """

    total = True
    signature = "softmax_gradient(grad, output, dim: int) -> y"
    dtypes = FLOATS
    method = False

    def infer(grad, output, dim):
        return _gradient_infer("softmax_gradient", grad, output, dim)

    def kernel(grad, output, dim):
        inner = np.add.reduce(_axis_last(grad * output, dim), axis=-1, keepdims=True)
        return _back(_axis_last(output, dim) * (_axis_last(grad, dim) - inner), output.ndim, dim)

    def rows(k, grad, output):
        return output * (grad - k.reduce_sum(grad * output))

    def vjp_grad(g, output, dim):
        return tx.softmax_gradient(g, output, dim)  # it is its own transpose

    def vjp_output(g, grad, output, dim):
        return g * (grad - tx.sum(grad * output, dim, True)) - grad * tx.sum(g * output, dim, True)

    def reference(grad, output, dim):
        def one(values):
            half = len(values) // 2
            g, y = values[:half], values[half:]
            inner = math.fsum(a * b for a, b in zip(g, y, strict=True))
            return [b * (a - inner) for a, b in zip(g, y, strict=True)] * 2

        return _of_pairs(one, grad, output, dim)

    samples = _gradient_samples
    bad = _gradient_bad


class LogSoftmaxGradient(Op):
    """The gradient of `log_softmax` at its input, from that of its result and the result.

    >>> tx.log_softmax_gradient(tx.tensor([1.0, 0.0]), tx.log(tx.tensor([0.5, 0.5])), 0)
    tensor([ 0.5000, -0.5000])
    """

    total = True
    signature = "log_softmax_gradient(grad, output, dim: int) -> y"
    dtypes = FLOATS
    method = False

    def infer(grad, output, dim):
        return _gradient_infer("log_softmax_gradient", grad, output, dim)

    def kernel(grad, output, dim):
        whole = np.add.reduce(_axis_last(grad, dim), axis=-1, keepdims=True)
        return _back(
            _axis_last(grad, dim) - np.exp(_axis_last(output, dim)) * whole, output.ndim, dim
        )

    def rows(k, grad, output):
        return grad - k.exp(output) * k.reduce_sum(grad)

    def vjp_grad(g, output, dim):
        return g - tx.sum(g * tx.exp(output), dim, True)

    def vjp_output(g, grad, output, dim):
        return -g * tx.exp(output) * tx.sum(grad, dim, True)

    def reference(grad, output, dim):
        def one(values):
            half = len(values) // 2
            whole = math.fsum(values[:half])
            return [
                a - math.exp(b) * whole for a, b in zip(values[:half], values[half:], strict=True)
            ] * 2

        return _of_pairs(one, grad, output, dim)

    samples = _gradient_samples
    bad = _gradient_bad


def _of_pairs(function, grad, output, dim):
    """A function of two lists, given as one behind the other, along an axis of both arrays."""
    if not output.ndim:
        return function([float(grad), float(output)])[0]
    both = np.concatenate([grad, output], axis=dim)
    return np.take(along(both, dim, function), range(output.shape[dim]), axis=dim)


# ---- nn.functional


def _implied(op, input, dim):
    """The axis PyTorch takes where none is given."""
    if dim is not None:
        return dim
    warnings.warn(f"{op}: give dim; without it the axis depends on input's shape", stacklevel=4)
    return 0 if input.ndim in (0, 1, 3) else 1


class FunctionalSoftmax(Composite):
    """Shares that add up to 1 along an axis: exp(x) over the sum of exp(x).

    >>> tx.nn.functional.softmax(tx.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """

    signature = "softmax(input, dim: int? = None, _stacklevel: int = 3, dtype: dtype? = None) -> y"
    namespace = "nn.functional"

    def compose(input, dim, _stacklevel, dtype):
        return tx.softmax(input, _implied("softmax", input, dim), dtype)

    def reference(input, dim, _stacklevel, dtype):
        return along(converted(input, dtype), dim, _shares)

    samples = _samples
    bad = _bad


class FunctionalLogSoftmax(Composite):
    """The logarithm of softmax along an axis, without a detour through small numbers.

    >>> tx.nn.functional.log_softmax(tx.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """

    signature = (
        "log_softmax(input, dim: int? = None, _stacklevel: int = 3, dtype: dtype? = None) -> y"
    )
    namespace = "nn.functional"

    def compose(input, dim, _stacklevel, dtype):
        return tx.log_softmax(input, _implied("log_softmax", input, dim), dtype)

    def reference(input, dim, _stacklevel, dtype):
        return along(converted(input, dtype), dim, _log_shares)

    samples = _samples
    bad = _bad


class Softmin(Composite):
    """Softmax of the negated input: the least has the greatest share.

    >>> tx.nn.functional.softmin(tx.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """

    signature = "softmin(input, dim: int? = None, _stacklevel: int = 3, dtype: dtype? = None) -> y"
    namespace = "nn.functional"

    def compose(input, dim, _stacklevel, dtype):
        return tx.softmax(tx.neg(input), _implied("softmin", input, dim), dtype)

    def reference(input, dim, _stacklevel, dtype):
        return along(converted(-input, dtype), dim, _shares)

    def samples(s):
        yield Sample(s.real(s.n), 0)
        yield Sample(s.real(s.n, s.m), 1)
        yield Sample(s.real(s.n, s.m, s.k), -2, dtype=float64)
        yield Sample(s.real(), 0)

    bad = _bad
    dtypes = FLOATS
