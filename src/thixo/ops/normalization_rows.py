"""Normalisation in one step: statistics, scale and shift for each row at once, and its gradients.

Layer norm scales each place along the row, batch norm each row; weight and bias come in the shape in which they
broadcast. The rules for second derivatives are in public operators.
"""

from typing import Any

import numpy as np

from thixo.dtype import FLOATS, bfloat16, float16, float32
from thixo.errors import ShapeError, describe
from thixo.ops import normalization_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dims, numel


def _statistic(input, dim, op):
    shape = list(input.shape)
    for d in normalize_dims(dim, len(shape), op):
        shape[d] = 1
    return tuple(shape), float32 if input.dtype in (float16, bfloat16) else input.dtype


def _check_broadcast(op: str, input: Any, **values: Any) -> None:
    shape = tuple(input.shape)
    for name, value in values.items():
        if value is None:
            continue
        sizes = tuple(value.shape)
        fits = len(sizes) <= len(shape)
        if fits:
            for a, b in zip(sizes, shape[len(shape) - len(sizes) :], strict=True):
                fits = fits and (a == 1 or a == b)
        if not fits:
            raise ShapeError(
                f"{op}: {name} is {describe(value)}, which does not broadcast to input, {describe(input)}"
            )


def _is_same_along(value: Any, ndim: int, dims: tuple[int, ...]) -> bool:
    """Whether a value repeats along these axes of the input."""
    extra = ndim - value.ndim
    return all(d < extra or value.shape[d - extra] == 1 for d in dims)


def _summed(input: Any, dim: Any, by_row: bool) -> tuple[int, ...]:
    dims = normalize_dims(dim, input.ndim, "standardize_gradients")
    return dims if by_row else tuple(d for d in range(input.ndim) if d not in dims)


class ScaledStandardize(Op):
    """Values less their mean, over their deviation, along some axes; scaled and shifted. And the statistics.

    >>> x, weight = tx.tensor([1.0, 3.0]), tx.tensor([2.0, 2.0])
    >>> tx.nn.functional.scaled_standardize(x, weight, None, (0,), 0.0)[0]
    tensor([-2.,  2.])
    """

    total = True
    signature = (
        "scaled_standardize(input, weight: tensor?, bias: tensor?, dim: ints, eps: float = 1e-5) "
        "-> (y, mean, rstd, var)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    nondifferentiable = ("mean", "rstd", "var")

    def infer(input, weight, bias, dim, eps):
        _check_broadcast("scaled_standardize", input, weight=weight, bias=bias)
        each = Spec(*_statistic(input, dim, "scaled_standardize"))
        return Spec(tuple(input.shape), input.dtype), each, each, each

    def kernel(input, weight, bias, dim, eps):
        dims = normalize_dims(dim, input.ndim, "scaled_standardize")
        count = input.dtype.type(max(1, numel(input.shape[d] for d in dims)))
        mean = input.sum(axis=dims, keepdims=True) / count
        y = input - mean
        var = np.square(y).sum(axis=dims, keepdims=True) / count
        rstd = 1 / np.sqrt(var + input.dtype.type(eps))
        y = y * rstd
        if weight is not None:
            y = y * weight.astype(y.dtype)
        if bias is not None:
            y = y + bias.astype(y.dtype)
        return y, mean, rstd, var

    def rows(k, input, weight, bias, eps):
        mean = k.reduce_sum(input) / k.columns()
        centred = input - mean
        var = k.reduce_sum(centred * centred) / k.columns()
        rstd = 1.0 / k.sqrt(var + eps)
        y = centred * rstd
        if weight is not None:
            y = y * k.number(weight, input)
        if bias is not None:
            y = y + k.number(bias, input)
        return y, mean, rstd, var

    def vjp(g_y, input, weight, bias_type, mean, rstd, dim, eps, needs):
        # Sums of the right kind are summed further to smaller shapes by the engine; any other bias takes all of g.
        dims = normalize_dims(dim, input.ndim, "scaled_standardize")
        others = tuple(d for d in range(input.ndim) if d not in dims)
        lead = bias_type if weight is None else weight
        by_row = lead is None or not _is_same_along(lead, input.ndim, others)
        over = dims if by_row else others
        into_input, slope, total = tx.nn.functional.standardize_gradients(
            g_y, input, mean, rstd, weight, dims, by_row, eps
        )
        if weight is not None and not _is_same_along(weight, input.ndim, over):
            slope = g_y * (widened(input) - mean) * rstd
        if bias_type is not None and not _is_same_along(bias_type, input.ndim, over):
            total = g_y
        return into_input, None if weight is None else slope, None if bias_type is None else total

    def reference(input, weight, bias, dim, eps):
        y, mean, var = slow.standardize(input, dim, eps)
        y = y if weight is None else y * weight
        return y if bias is None else y + bias, mean, (var + eps) ** -0.5, var

    def samples(s):
        yield Sample(s.real(s.n, s.m + 1), s.real(s.m + 1), s.real(s.m + 1), (1,))
        yield Sample(s.real(s.n, 3, s.m), s.real(3, 1), s.real(3, 1), (0, -1), 0.1)
        yield Sample(s.real(s.n, 3, s.m), None, None, (0, -1), 0.1)
        yield Sample(s.real(s.n, 3, s.m), None, s.real(3, 1), (0, 2), 0.1)
        yield Sample(s.real(s.n, 3, s.m), s.real(3, s.m), None, (1, 2), 0.1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3), None, None, (2,)), IndexError, "out of range")
        yield Bad(Sample(s.real(2, 3), s.real(2), None, (1,)), ShapeError, "does not broadcast")


# ---- gradients
#
# With n places in a row, r = rstd and h = (x - mean) r, the gradient at x of a gradient c at h is
#     P(c) = r (c - mean(c) - h mean(c h)),
# which as a map of c is its own transpose; c = weight * grad.


def _project(c: Any, h: Any, rstd: Any, dims: tuple[int, ...]) -> Any:
    return rstd * (c - tx.mean(c, dims, True) - h * tx.mean(c * h, dims, True))


def _public_statistics(input: Any, mean: Any, rstd: Any, dims: tuple[int, ...], eps: float) -> Any:
    """(standardized input, rstd) in public operators; the statistics may be known."""
    x = widened(input)
    if mean is None:
        mean = tx.mean(x, dims, True)
    if rstd is None:
        rstd = tx.rsqrt(tx.var(x, dims, keepdim=True, correction=0) + eps)
    return (x - mean) * rstd, rstd


def _array_statistics(input: Any, mean: Any, rstd: Any, dims: tuple[int, ...], eps: float) -> Any:
    """The same of arrays."""
    count = input.dtype.type(max(1, numel(input.shape[d] for d in dims)))
    if mean is None:
        mean = input.sum(axis=dims, keepdims=True) / count
    if rstd is None:
        square = np.square(input - mean).sum(axis=dims, keepdims=True) / count
        rstd = 1 / np.sqrt(square + input.dtype.type(eps))
    return (input - mean) * rstd, rstd


class StandardizeGradients(Op):
    """The gradient of `scaled_standardize` at its input; and sums of grad * y0 and of grad.

    y0 is the standardized input before scale and shift. The sums go along each row (`by_row`, where weight is one
    for each row) or over all rows (where it is one for each place): they are the gradients of weight and bias.
    `mean` and `rstd`, the input's own statistics, are computed where they are None.

    >>> x = tx.tensor([1.0, 3.0])
    >>> tx.nn.functional.standardize_gradients(x, x, None, None, None, (0,), True, 0.0)
    standardize_gradients(y=tensor([0., 0.]), slope=tensor([2.]), total=tensor([4.]))
    """

    total = True
    signature = (
        "standardize_gradients(grad, input, mean: tensor?, rstd: tensor?, weight: tensor?, dim: ints, "
        "by_row: bool, eps: float) -> (y, slope, total)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(grad, input, mean, rstd, weight, dim, by_row, eps):
        op = "standardize_gradients"
        if tuple(grad.shape) != tuple(input.shape):
            raise ShapeError(
                f"{op}: grad is {describe(grad)}, input is {describe(input)}; needs one shape"
            )
        _check_broadcast(op, input, mean=mean, rstd=rstd, weight=weight)
        each = Spec(*_statistic(input, _summed(input, dim, by_row), op))
        return Spec(tuple(input.shape), input.dtype), each, each

    def kernel(grad, input, mean, rstd, weight, dim, by_row, eps):
        dims = normalize_dims(dim, input.ndim, "standardize_gradients")
        over = _summed(input, dim, by_row)
        count = input.dtype.type(max(1, numel(input.shape[d] for d in dims)))
        h, rstd = _array_statistics(input, mean, rstd, dims, eps)
        c = grad if weight is None else grad * weight.astype(input.dtype)
        first = c.sum(axis=dims, keepdims=True) / count
        second = (c * h).sum(axis=dims, keepdims=True) / count
        slope, total = (v.sum(axis=over, keepdims=True) for v in (grad * h, grad))
        return rstd * (c - first - h * second), slope, total

    def rows(k, grad, input, mean, rstd, weight, by_row, eps):
        if mean is None:
            mean = k.reduce_sum(input) / k.columns()
        if rstd is None:
            rstd = 1.0 / k.sqrt(k.reduce_sum((input - mean) ** 2) / k.columns() + eps)
        h = (input - mean) * rstd
        weight = None if weight is None else k.number(weight, input)
        if by_row:
            slope, total = k.reduce_sum(grad * h), k.reduce_sum(grad)
        else:
            slope, total = k.sum_over_rows(grad * h), k.sum_over_rows(grad)
        if by_row and (weight is None or k.is_uniform(weight)):
            scale = rstd if weight is None else rstd * weight
            return scale * (grad - total / k.columns() - h * (slope / k.columns())), slope, total
        c = grad if weight is None else grad * weight
        first, second = k.reduce_sum(c), k.reduce_sum(c * h)
        return rstd * (c - first / k.columns() - h * (second / k.columns())), slope, total

    def vjp(g_y, g_slope, g_total, grad, input, mean, rstd, weight, dim, eps):
        # Mean and deviation are functions of the input: their part is in its gradient.
        dims = normalize_dims(dim, input.ndim, "standardize_gradients")
        h, rstd = _public_statistics(input, mean, rstd, dims, eps)
        count = numel(input.shape[d] for d in dims)
        u, grad = widened(g_y), widened(grad)
        scale = 1 if weight is None else widened(weight)
        c = grad * scale
        back = _project(u, h, rstd, dims)
        along_u, along_c = tx.sum(u * h, dims, True), tx.sum(c * h, dims, True)
        inner = tx.sum(u * (c - tx.mean(c, dims, True)), dims, True)
        value = rstd * (inner - along_u * along_c / count)
        through_h = g_slope * grad - (rstd / count) * (u * along_c + c * along_u)
        into_input = _project(through_h, h, rstd, dims) - rstd * h * (value / count)
        into_grad = back * scale + g_slope * h + g_total
        return into_grad, into_input, None, None, None if weight is None else grad * back

    def reference(grad, input, mean, rstd, weight, dim, by_row, eps):
        dims = tuple(dim)
        h, _, var = slow.standardize(input, dims, eps)
        c = grad if weight is None else grad * weight
        n = int(np.prod([input.shape[d] for d in dims]))
        first, second = (np.sum(v, axis=dims, keepdims=True) for v in (c, c * h))
        y = (var + eps) ** -0.5 / n * (n * c - first - h * second)
        over = dims if by_row else tuple(d for d in range(input.ndim) if d not in dims)
        return y, *(np.sum(v, axis=over, keepdims=True) for v in (grad * h, grad))

    def samples(s):
        n, m = s.n, s.m
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, None, (0, 2), True, 0.1)
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, s.real(3, 1), (0, 2), True, 0.1)
        yield Sample(s.real(n, m), s.real(n, m), None, None, s.real(m), (1,), False, 0.1)
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, s.real(3, m), (1, 2), False, 0.1)
        yield Sample(s.real(n, m), s.real(n, m), None, None, s.real(n, m), (1,), True, 0.1)

    def bad(s):
        given = (s.real(2), s.real(2, 3), None, None, None, (1,), True, 0.1)
        yield Bad(Sample(*given), ShapeError, "needs one shape")
