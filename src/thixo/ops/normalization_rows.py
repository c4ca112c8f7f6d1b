"""Normalisation in one step: statistics, scale and shift for each row at once, and its gradients.

Layer norm scales each place along the row, batch norm each row; weight and bias come in the shape in which they
broadcast. The rules for second derivatives are in public operators.
"""

from typing import Any

import numpy as np

from thixo.codegen.builder import NotLowered
from thixo.dtype import FLOATS, bfloat16, float16, float32
from thixo.errors import ShapeError, describe
from thixo.ops import normalization_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dims, numel


def _statistic(input, dim, op):
    dims = normalize_dims(dim, input.ndim, op)
    shape = tuple(1 if i in dims else n for i, n in enumerate(input.shape))
    return shape, float32 if input.dtype in (float16, bfloat16) else input.dtype


def _check_broadcast(op: str, input: Any, **values: Any) -> None:
    for name, value in values.items():
        if value is None:
            continue
        sizes = tuple(value.shape)
        pairs = zip(sizes, tuple(input.shape)[input.ndim - len(sizes) :], strict=False)
        if len(sizes) > input.ndim or any(a != b and a != 1 for a, b in pairs):
            raise ShapeError(
                f"{op}: {name} is {describe(value)}, which does not broadcast to input, {describe(input)}"
            )


def _is_row_value(value: Any, ndim: int, dims: tuple[int, ...]) -> bool:
    """Whether a value is the same along each row."""
    extra = ndim - value.ndim
    return all(d < extra or value.shape[d - extra] == 1 for d in dims)


def _broadcast_dims(value: Any, input_shape: Any) -> tuple[int, ...]:
    """Axes of the input along which a value repeats."""
    extra = len(input_shape) - value.ndim
    return tuple(d for d in range(len(input_shape)) if d < extra or value.shape[d - extra] == 1)


class ScaledStandardize(Op):
    """Values less their mean, over their deviation, along some axes; scaled and shifted. And the statistics.

    >>> x, weight = tx.tensor([1.0, 3.0]), tx.tensor([2.0, 2.0])
    >>> tx.nn.functional.scaled_standardize(x, weight, None, (0,), 0.0)[0]
    tensor([-2.,  2.])
    """

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
        dims = normalize_dims(dim, input.ndim, "scaled_standardize")
        F = tx.nn.functional
        into_weight = into_bias = None
        if weight is None or _is_row_value(weight, input.ndim, dims):
            into_input, into_weight, into_bias = F.standardize_gradients(
                g_y, input, mean, rstd, weight, dims, eps
            )
            if bias_type is not None and not _is_row_value(bias_type, input.ndim, dims):
                into_bias = g_y
        else:
            into_input = None
            if needs[0]:
                into_input = F.standardize_gradient(g_y, input, mean, rstd, weight, dims, eps)
            if needs[1] or needs[2]:
                over = _broadcast_dims(weight, input.shape)
                into_weight, into_bias = F.standardize_slopes(
                    g_y, input, mean, rstd, dims, over, eps
                )
                if bias_type is not None and tuple(bias_type.shape) != tuple(weight.shape):
                    into_bias = g_y
        return (
            into_input,
            into_weight if weight is not None else None,
            into_bias if bias_type is not None else None,
        )

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


def _slow_statistics(input, dim, eps):
    y, _, var = slow.standardize(input, dim, eps)
    return y, (var + eps) ** -0.5


def _check_grad(op: str, grad: Any, input: Any) -> None:
    if tuple(grad.shape) != tuple(input.shape):
        raise ShapeError(
            f"{op}: grad is {describe(grad)}, input is {describe(input)}; needs one shape"
        )


def _second_order(g_y, g_slope, grad, h, rstd, weight, dims, count):
    """Gradients at grad and input of P(weight * grad), and of slope = sum(grad h), for gradients g_y and g_slope.

    Mean and deviation are functions of the input: their part is in its gradient.
    """
    u, grad = widened(g_y), widened(grad)
    scale = 1 if weight is None else widened(weight)
    c = grad * scale
    back = _project(u, h, rstd, dims)
    along_u, along_c = tx.sum(u * h, dims, True), tx.sum(c * h, dims, True)
    inner = tx.sum(u * (c - tx.mean(c, dims, True)), dims, True)
    value = rstd * (inner - along_u * along_c / count)
    through_h = (rstd / count) * (u * along_c + c * along_u)
    through_h = -through_h if g_slope is None else g_slope * grad - through_h
    into_input = _project(through_h, h, rstd, dims) - rstd * h * (value / count)
    return back * scale, into_input, None if weight is None else grad * back


def _row_statistics(k, input, mean, rstd, eps):
    if mean is None:
        mean = k.reduce_sum(input) / k.columns()
    if rstd is None:
        rstd = 1.0 / k.sqrt(k.reduce_sum((input - mean) ** 2) / k.columns() + eps)
    return (input - mean) * rstd, rstd


def _slow_gradient(grad, input, weight, dim, eps):
    dims = tuple(dim)
    h, rstd = _slow_statistics(input, dims, eps)
    c = grad if weight is None else grad * weight
    n = int(np.prod([input.shape[d] for d in dims]))
    first, second = (np.sum(v, axis=dims, keepdims=True) for v in (c, c * h))
    return rstd / n * (n * c - first - h * second), h


class StandardizeGradient(Op):
    """The gradient of `scaled_standardize` at its input.

    `mean` and `rstd`, the input's own statistics, are computed where they are None.

    >>> x = tx.tensor([1.0, 3.0])
    >>> tx.nn.functional.standardize_gradient(x, x, None, None, None, (0,), 0.0)
    tensor([0., 0.])
    """

    signature = (
        "standardize_gradient(grad, input, mean: tensor?, rstd: tensor?, weight: tensor?, dim: ints, "
        "eps: float) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(grad, input, mean, rstd, weight, dim, eps):
        _check_grad("standardize_gradient", grad, input)
        _check_broadcast("standardize_gradient", input, mean=mean, rstd=rstd, weight=weight)
        normalize_dims(dim, input.ndim, "standardize_gradient")
        return Spec(tuple(input.shape), input.dtype)

    def kernel(grad, input, mean, rstd, weight, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize_gradient")
        count = input.dtype.type(max(1, numel(input.shape[d] for d in dims)))
        h, rstd = _array_statistics(input, mean, rstd, dims, eps)
        c = grad if weight is None else grad * weight.astype(input.dtype)
        first = c.sum(axis=dims, keepdims=True) / count
        second = (c * h).sum(axis=dims, keepdims=True) / count
        return rstd * (c - first - h * second)

    def rows(k, grad, input, mean, rstd, weight, eps):
        h, rstd = _row_statistics(k, input, mean, rstd, eps)
        c = grad if weight is None else grad * k.number(weight, input)
        first, second = k.reduce_sum(c), k.reduce_sum(c * h)
        return rstd * (c - first / k.columns() - h * (second / k.columns()))

    def vjp(g, grad, input, mean, rstd, weight, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize_gradient")
        h, rstd = _public_statistics(input, mean, rstd, dims, eps)
        count = numel(input.shape[d] for d in dims)
        into = _second_order(g, None, grad, h, rstd, weight, dims, count)
        return into[0], into[1], None, None, into[2]

    def reference(grad, input, mean, rstd, weight, dim, eps):
        return _slow_gradient(grad, input, weight, dim, eps)[0]

    def samples(s):
        n, m = s.n, s.m
        yield Sample(s.real(n, m), s.real(n, m), None, None, s.real(m), (1,), 0.1)
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, None, (0, 2), 0.1)
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, s.real(3, 1), (0, 2), 0.1)

    def bad(s):
        given = (s.real(2), s.real(2, 3), None, None, None, (1,), 0.1)
        yield Bad(Sample(*given), ShapeError, "needs one shape")


class StandardizeGradients(Op):
    """`standardize_gradient` where weight is one for each row; and for each row the sums of grad * y0 and of grad.

    y0 is the standardized input before scale and shift: the sums are the gradients of weight and bias.

    >>> x = tx.tensor([1.0, 3.0])
    >>> tx.nn.functional.standardize_gradients(x, x, None, None, None, (0,), 0.0)
    standardize_gradients(y=tensor([0., 0.]), slope=tensor([2.]), total=tensor([4.]))
    """

    signature = (
        "standardize_gradients(grad, input, mean: tensor?, rstd: tensor?, weight: tensor?, dim: ints, "
        "eps: float) -> (y, slope, total)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(grad, input, mean, rstd, weight, dim, eps):
        op = "standardize_gradients"
        _check_grad(op, grad, input)
        _check_broadcast(op, input, mean=mean, rstd=rstd, weight=weight)
        dims = normalize_dims(dim, input.ndim, op)
        if weight is not None and not _is_row_value(weight, input.ndim, dims):
            raise ShapeError(
                f"{op}: weight is {describe(weight)}; it must have size 1 along dim {dims}"
            )
        each = Spec(*_statistic(input, dim, op))
        return Spec(tuple(input.shape), input.dtype), each, each

    def kernel(grad, input, mean, rstd, weight, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize_gradients")
        count = input.dtype.type(max(1, numel(input.shape[d] for d in dims)))
        h, rstd = _array_statistics(input, mean, rstd, dims, eps)
        total, slope = grad.sum(axis=dims, keepdims=True), (grad * h).sum(axis=dims, keepdims=True)
        scale = rstd if weight is None else rstd * weight.astype(input.dtype)
        return scale * (grad - total / count - h * (slope / count)), slope, total

    def rows(k, grad, input, mean, rstd, weight, eps):
        h, rstd = _row_statistics(k, input, mean, rstd, eps)
        slope, total = k.reduce_sum(grad * h), k.reduce_sum(grad)
        scale = rstd if weight is None else rstd * k.number(weight, input)
        return scale * (grad - total / k.columns() - h * (slope / k.columns())), slope, total

    def vjp(g_y, g_slope, g_total, grad, input, mean, rstd, weight, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize_gradients")
        h, rstd = _public_statistics(input, mean, rstd, dims, eps)
        count = numel(input.shape[d] for d in dims)
        into = _second_order(g_y, g_slope, grad, h, rstd, weight, dims, count)
        return into[0] + g_slope * h + g_total, into[1], None, None, into[2]

    def reference(grad, input, mean, rstd, weight, dim, eps):
        dims = tuple(dim)
        y, h = _slow_gradient(grad, input, weight, dim, eps)
        return y, np.sum(grad * h, axis=dims, keepdims=True), np.sum(grad, axis=dims, keepdims=True)

    def samples(s):
        n, m = s.n, s.m
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, None, (0, 2), 0.1)
        yield Sample(s.real(n, 3, m), s.real(n, 3, m), None, None, s.real(3, 1), (0, 2), 0.1)

    def bad(s):
        given = (s.real(2, 3), s.real(2, 3), None, None, s.real(3), (1,), 0.1)
        yield Bad(Sample(*given), ShapeError, "must have size 1")


class StandardizeSlopes(Op):
    """The gradients of weight and bias of `scaled_standardize` where they differ along the row.

    `dim` are the axes of a row, `over` those along which weight repeats: grad * y0 and grad are added up over
    them. `mean` and `rstd`, the input's own statistics, are computed where they are None.

    >>> x = tx.tensor([[1.0, 3.0]])
    >>> tx.nn.functional.standardize_slopes(x, x, None, None, (1,), (0,), 0.0).weight
    tensor([[-1.,  3.]])
    """

    signature = (
        "standardize_slopes(grad, input, mean: tensor?, rstd: tensor?, dim: ints, over: ints, eps: float) "
        "-> (weight, bias)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(grad, input, mean, rstd, dim, over, eps):
        _check_grad("standardize_slopes", grad, input)
        _check_broadcast("standardize_slopes", input, mean=mean, rstd=rstd)
        each = Spec(*_statistic(input, over, "standardize_slopes"))
        return each, each

    def kernel(grad, input, mean, rstd, dim, over, eps):
        over = normalize_dims(over, input.ndim, "standardize_slopes")
        dims = normalize_dims(dim, input.ndim, "standardize_slopes")
        h, _ = _array_statistics(input, mean, rstd, dims, eps)
        return (grad * h).sum(axis=over, keepdims=True), grad.sum(axis=over, keepdims=True)

    def rows(k, grad, input, mean, rstd):
        if mean is None or rstd is None:
            raise NotLowered("statistics of other rows than these")
        return k.reduce_sum(grad * ((input - mean) * rstd)), k.reduce_sum(grad)

    def row_axes(grad, input, mean, rstd, dim, over, eps):
        return normalize_dims(over, input.ndim, "standardize_slopes")

    def vjp(g_weight, g_bias, grad, input, mean, rstd, dim, eps):
        dims = normalize_dims(dim, input.ndim, "standardize_slopes")
        h, rstd = _public_statistics(input, mean, rstd, dims, eps)
        into_input = _project(g_weight * widened(grad), h, rstd, dims)
        return g_weight * h + g_bias, into_input, None, None

    def reference(grad, input, mean, rstd, dim, over, eps):
        h, _ = _slow_statistics(input, dim, eps)
        over = tuple(over)
        return np.sum(grad * h, axis=over, keepdims=True), np.sum(grad, axis=over, keepdims=True)

    def samples(s):
        yield Sample(s.real(s.n, s.m), s.real(s.n, s.m), None, None, (1,), (0,), 0.1)
        yield Sample(s.real(s.n, 3, s.m), s.real(s.n, 3, s.m), None, None, (1, 2), (0,), 0.1)

    def bad(s):
        given = (s.real(2), s.real(2, 3), None, None, (1,), (0,), 0.1)
        yield Bad(Sample(*given), ShapeError, "needs one shape")
