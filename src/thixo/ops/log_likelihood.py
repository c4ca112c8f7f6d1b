"""The logarithm of softmax at one class of each row, without the rest of it: what cross entropy needs."""

import numpy as np

from thixo.dtype import FLOATS, bfloat16, float16, float32, int64
from thixo.errors import DTypeError, IndexOutOfRange, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dim


def _infer(op, input, target, dim):
    sizes = list(input.shape)
    d = normalize_dim(dim, len(sizes), op)
    if sizes:
        sizes[d] = 1
    shape = tuple(sizes)
    if tuple(target.shape) != shape:
        raise ShapeError(f"{op}: target is {describe(target)}; its shape must be {list(shape)}")
    if target.dtype is not int64:
        raise ShapeError(f"{op}: target is {describe(target)}; it must be int64")
    return shape


def _check(op, input, target, dim, ignore_index):
    """Refuse classes that input does not have."""
    classes = input.shape[dim] if input.ndim else 1
    numbers = np.asarray(target.detach().numpy() if hasattr(target, "detach") else target)
    numbers = numbers[numbers != ignore_index]
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < classes):
        raise IndexOutOfRange(
            f"{op}: target holds {numbers.min()} to {numbers.max()}; classes are 0 to {classes - 1}"
        )


class LogLikelihood(Op):
    """The logarithm of softmax along an axis, at one position of each row; and the logarithm of the sum.

    Of rows whose position is `ignore_index`, 0.

    >>> tx.nn.functional.log_likelihood(tx.tensor([[0.0, 0.0]]), tx.tensor([[1]]), 1).y
    tensor([[-0.6931]])
    """

    signature = "log_likelihood(input, target, dim: int, ignore_index: int? = None) -> (y, lse)"
    namespace = "nn.functional"
    dtypes = FLOATS
    nondifferentiable = ("lse",)

    def infer(input, target, dim, ignore_index):
        shape = _infer("log_likelihood", input, target, dim)
        wide = float32 if input.dtype in (float16, bfloat16) else input.dtype
        return Spec(shape, input.dtype), Spec(shape, wide)

    def kernel(input, target, dim, ignore_index):
        _check("log_likelihood", input, target, dim, ignore_index)
        ignored = target == ignore_index
        x = input if input.ndim else input.reshape(1)
        if x.shape[dim] == 0:  # all rows are ignored
            nothing = np.zeros(target.shape, x.dtype)
            return nothing, nothing - np.inf
        top = np.max(x, axis=dim, keepdims=True, initial=-np.inf)
        shifted = x - top
        lse = np.log(np.add.reduce(np.exp(shifted), axis=dim, keepdims=True))
        picked = np.take_along_axis(
            shifted, np.where(ignored, 0, target).reshape(lse.shape), axis=dim
        )
        picked = np.where(ignored.reshape(lse.shape), 0, picked - lse)
        lse = lse + top
        return picked.reshape(target.shape), lse.reshape(target.shape)

    row_positions = "target", "ignore_index"

    def row_check(input, target, dim, ignore_index):
        _check("log_likelihood", input, target, dim, ignore_index)

    def rows(k, input, target, ignore_index):
        top = k.reduce_max(input)
        shifted = input - top
        # The sum is at least 1: what is added for less than exp(-87) does not count, but is slow to compute (subnormal).
        log = k.log(k.reduce_sum(k.exp(k.maximum(shifted, -87.0))))
        picked = k.pick(input, target)
        y = (picked - top) - log
        return k.where(
            _ignored(target, ignore_index), 0.0, y
        ) if ignore_index is not None else y, log + top

    def vjp_input(g_y, input, target, lse, dim, ignore_index):
        return tx.nn.functional.log_likelihood_gradient(g_y, input, target, lse, dim, ignore_index)

    def reference(input, target, dim, ignore_index):
        if not input.ndim:
            return np.zeros(()), input
        lse = np.log(np.sum(np.exp(input), axis=dim, keepdims=True))
        counts = target != ignore_index
        return counts * (np.take_along_axis(input, target * counts, axis=dim) - lse), lse

    def samples(s):
        yield Sample(s.real(s.n, 4), s.ints(s.n, 1, high=4), 1)
        yield Sample(s.real(s.n, 3, s.m), s.ints(s.n, 1, s.m, high=3), 1)
        yield Sample(s.real(4), s.ints(1, high=4), 0)
        yield Sample(s.real(s.n, 4), s.ints(s.n, 1, high=4), 1, ignore_index=2)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), s.ints(2, high=3), 1), ShapeError, "target is")
        yield Bad(
            Sample(s.real(2, 3), s.ints(2, 1, low=5, high=6), 1), IndexError, "classes are 0 to 2"
        )


def _ignored(target, ignore_index):
    """Of values in a kernel, where the number to ignore is one in double precision."""
    return target.cast("f64") == ignore_index


def _lse(input, dim):
    top = np.max(input, axis=dim, keepdims=True, initial=-np.inf)
    return np.log(np.add.reduce(np.exp(input - top), axis=dim, keepdims=True)) + top


class LogLikelihoodGradient(Op):
    """The gradient of `log_likelihood` at its input: grad times (1 at the position, less softmax).

    `lse`, the input's logsumexp along the axis, is computed where it is None. Of rows whose position is `ignore_index`, 0.

    >>> x, target = tx.tensor([[0.0, 0.0]]), tx.tensor([[1]])
    >>> tx.nn.functional.log_likelihood_gradient(tx.tensor([[2.0]]), x, target, None, 1)
    tensor([[-1.,  1.]])
    """

    signature = (
        "log_likelihood_gradient(grad, input, target, lse: tensor?, dim: int, "
        "ignore_index: int? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(grad, input, target, lse, dim, ignore_index):
        shape = _infer("log_likelihood_gradient", input, target, dim)
        if input.dtype is not grad.dtype:
            raise DTypeError(
                f"log_likelihood_gradient: grad is {describe(grad)}, input is {describe(input)}; they must be "
                "of one dtype"
            )
        for name, value in (("grad", grad), ("lse", lse)):
            if value is not None and tuple(value.shape) != shape:
                raise ShapeError(
                    f"log_likelihood_gradient: {name} is {describe(value)}; its shape must be {list(shape)}"
                )
        return Spec(tuple(input.shape), input.dtype)

    def kernel(grad, input, target, lse, dim, ignore_index):
        size = input.shape[dim] if input.ndim else 1
        axis = dim % max(1, input.ndim)
        places = np.arange(size).reshape([size if d == axis else 1 for d in range(input.ndim)])
        lse = _lse(input, dim) if lse is None else lse
        y = grad * ((places == target) - np.exp(input - lse)).astype(input.dtype)
        return np.where(target == ignore_index, y.dtype.type(0), y)

    def rows(k, grad, input, target, lse, ignore_index):
        chosen = k.index() == target.cast("i32")
        if lse is None:
            top = k.reduce_max(input)
            lse = k.log(k.reduce_sum(k.exp(input - top))) + top
        shares = k.exp(input - lse)
        if ignore_index is not None:
            grad = k.where(_ignored(target, ignore_index), 0.0, grad)
        return grad * k.where(chosen, 1.0 - shares, -shares)

    def vjp(g, grad, input, target, lse, dim, ignore_index):
        # With s the shares of softmax: y = grad (1 at target - s), and s moves by s (v - sum(s v)).
        one = tx.nn.functional.log_likelihood_gradient(
            tx.ones_like(grad), input, target, lse, dim, ignore_index
        )
        if ignore_index is not None:
            grad = tx.where(target == ignore_index, 0, grad)
        shares = tx.softmax(widened(input), dim)
        through = shares * widened(g)
        into_input = -widened(grad) * (through - shares * tx.sum(through, dim, True))
        return tx.sum(g * one, dim, True), into_input, None, None

    def reference(grad, input, target, lse, dim, ignore_index):
        grad = grad * (target != ignore_index)
        y = -np.exp(input) / np.sum(np.exp(input), axis=dim, keepdims=True)
        np.put_along_axis(y, target, np.take_along_axis(y, target, axis=dim) + 1, axis=dim)
        return grad * y

    def samples(s):
        yield Sample(s.real(s.n, 1), s.real(s.n, 4), s.ints(s.n, 1, high=4), None, 1)
        target = s.ints(s.n, 1, s.m, high=3)
        yield Sample(s.real(s.n, 1, s.m), s.real(s.n, 3, s.m), target, None, 1)
        yield Sample(
            s.real(s.n, 1), s.real(s.n, 4), s.ints(s.n, 1, high=4), None, 1, ignore_index=2
        )

    def bad(s):
        x, target = s.real(2, 3), s.ints(2, 1, high=3)
        yield Bad(Sample(s.real(2), x, target, None, 1), ShapeError, "its shape must be")
