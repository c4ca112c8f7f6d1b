"""Convolution in any number of dimensions.

Three primitives are the three partial derivatives of one trilinear form (input, weight, output), so each
one's gradients are the other two, to any order. The functions people call are in `convolution_forms.py`.
"""

import itertools
import math
from typing import Any

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, int64
from thixo.errors import DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import convolution_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.samples import Bad, Sample
from thixo.ops.windows import exactly, output_size, require

DTYPES = FLOATS + COMPLEX + (int64,)
_CHUNK_BYTES = 1 << 26  # columns of this many bytes are unfolded at a time


# ---- arguments


def _check_types(op: str, input: Any, weight: Any, bias: Any = None) -> None:
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype != input.dtype:
            raise DTypeError(
                f"{op}: dtypes differ: input is {describe(input)}, {name} is {describe(other)}; "
                f"they should be the same"
            )


def check(
    op: str, axes: int, input: Any, weight: Any, bias: Any, groups: int, channels_axis: int
) -> None:
    """Check ranks, channels and groups; `channels_axis` is the weight's axis that counts outputs."""
    _check_types(op, input, weight, bias)
    if groups < 1:
        raise ValueRangeError(f"{op}: groups is {groups}; it must be at least 1")
    if weight.ndim != axes + 2:
        raise ShapeError(f"{op}: weight is {describe(weight)}; it must have {axes + 2} dimensions")
    if input.ndim != axes + 2:
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must be (batch, channels, sizes), that is "
            f"{axes + 2} dimensions, or {axes + 1} without the batch"
        )
    first = weight.shape[0]
    if first % groups != 0 or first < groups:
        raise ShapeError(
            f"{op}: weight is {describe(weight)}; its first axis must be a multiple of groups={groups}"
        )
    transposed = channels_axis == 1
    wanted = first if transposed else weight.shape[1] * groups
    if input.shape[1] != wanted:
        rule = "weight's first axis" if transposed else "weight's second axis times groups"
        raise ShapeError(
            f"{op}: channels differ: input is {describe(input)}, weight is {describe(weight)}, "
            f"groups={groups}; input's channels must equal {rule}"
        )
    outputs = weight.shape[1] * groups if transposed else first
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != outputs):
        raise ShapeError(
            f"{op}: bias is {describe(bias)}; it must have one entry for each of {outputs} channels"
        )


def _check_window(op: str, axes: int, stride: Any, padding: Any, dilation: Any) -> None:
    exactly(op, axes, stride=stride, padding=padding, dilation=dilation)
    require(op, "stride", stride, 1)
    require(op, "padding", padding, 0)
    require(op, "dilation", dilation, 1)


def check_fits(op: str, input: Any, weight: Any, sizes: tuple[Any, ...]) -> None:
    """Refuse an empty kernel, and one larger than what it runs over."""
    for k in weight.shape[2:]:
        if k == 0:
            raise ShapeError(f"{op}: weight is {describe(weight)}; its kernel must not be empty")
    for size in sizes:
        if size < 1:
            raise ShapeError(
                f"{op}: the kernel is larger than the padded input: input is {describe(input)}, "
                f"weight is {describe(weight)}"
            )


# ---- kernels: windows become columns, and a matrix product does the rest


def _padded(x: np.ndarray, padding: tuple[int, ...]) -> np.ndarray:
    if not any(padding):
        return x
    sizes = tuple(s + 2 * p for s, p in zip(x.shape[2:], padding, strict=True))
    room = np.zeros(x.shape[:2] + sizes, x.dtype)
    room[(..., *(slice(p, p + s) for p, s in zip(padding, x.shape[2:], strict=True)))] = x
    return room


def _columns(
    x: np.ndarray, kernel: tuple[int, ...], stride: Any, dilation: Any, groups: int
) -> np.ndarray:
    """Padded `x` (batch, channels, sizes) as (batch, groups, channels of a group * taps, places)."""
    axes = len(kernel)
    places = tuple(
        output_size(s, k, t, 0, d)
        for s, k, t, d in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    )
    batch, channels = x.shape[:2]
    steps = x.strides[2:]
    # A step beyond the end is never taken, but NumPy computes with it.
    stride, dilation = (
        tuple(min(v, n) for v, n in zip(values, x.shape[2:], strict=True))
        for values in (stride, dilation)
    )
    windows = np.lib.stride_tricks.as_strided(
        x,
        (batch, channels, *kernel, *places),
        x.strides[:2]
        + tuple(st * d for st, d in zip(steps, dilation, strict=True))
        + tuple(st * t for st, t in zip(steps, stride, strict=True)),
        writeable=False,
    )
    rows = channels // groups * int(np.prod(kernel, dtype=np.int64))
    assert windows.ndim == 2 + 2 * axes
    return windows.reshape(batch, groups, rows, int(np.prod(places, dtype=np.int64)))


def _batches(batch: int, bytes_each: int) -> Any:
    step = max(1, _CHUNK_BYTES // max(1, bytes_each))
    return (slice(i, min(i + step, batch)) for i in range(0, batch, step))


def _column_bytes(channels: int, kernel: Any, places: Any, dtype: np.dtype) -> int:
    return (
        int(channels * np.prod(kernel, dtype=float) * np.prod(places, dtype=float)) * dtype.itemsize
    )


class Convolve(Op):
    """Cross-correlation of a batch with a bank of kernels, and a bias: the primitive beneath `conv1d` to `conv3d`.

    >>> x, w = tx.ones(1, 1, 3), tx.ones(1, 1, 2)
    >>> tx.nn.functional.convolve(x, w, (1,), (0,), (1,), 1)
    tensor([[[2., 2.]]])
    """

    total = True
    signature = (
        "convolve(input, weight, stride: ints, padding: ints, dilation: ints, groups: int, "
        "bias: tensor? = None) -> y"
    )
    images = "channels"
    namespace = "nn.functional"
    dtypes = DTYPES

    def cost(results, input, weight, *window):
        return 2 * math.prod(results[0].shape) * math.prod(weight.shape[1:])

    def infer(input, weight, stride, padding, dilation, groups, bias):
        axes = weight.ndim - 2
        check("convolve", axes, input, weight, bias, groups, 0)
        _check_window("convolve", axes, stride, padding, dilation)
        sizes = tuple(
            map(output_size, input.shape[2:], weight.shape[2:], stride, padding, dilation)
        )
        check_fits("convolve", input, weight, sizes)
        return Spec((input.shape[0], weight.shape[0], *sizes), input.dtype)

    def kernel(input, weight, stride, padding, dilation, groups, bias):
        sizes = tuple(
            map(output_size, input.shape[2:], weight.shape[2:], stride, padding, dilation)
        )
        taps = weight.shape[2:]
        y = np.empty(
            (input.shape[0], groups, weight.shape[0] // groups, int(np.prod(sizes))), input.dtype
        )
        bank = weight.reshape(groups, weight.shape[0] // groups, -1)
        for part in _batches(len(input), _column_bytes(input.shape[1], taps, sizes, input.dtype)):
            columns = _columns(_padded(input[part], padding), taps, stride, dilation, groups)
            np.matmul(bank, columns, out=y[part])
        if bias is not None:
            y += bias.reshape(groups, -1, 1)
        return y.reshape(input.shape[0], weight.shape[0], *sizes)

    def vjp_input(g, input_type, weight, stride, padding, dilation, groups):
        return tx.nn.functional.convolve_transposed(
            g, weight.conj(), tuple(input_type.shape[2:]), stride, padding, dilation, groups
        )

    def vjp_weight(g, input, weight_type, stride, padding, dilation, groups):
        return tx.nn.functional.convolve_weight(
            input.conj(), g, tuple(weight_type.shape[2:]), stride, padding, dilation, groups
        )

    def vjp_bias(g):
        return g.sum((0, *range(2, g.ndim)))

    reference = slow.convolve

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 3), s.real(3, 2, 2), (1,), (0,), (1,), 1)
        yield Sample(s.real(s.n, 4, s.m + 4, 6), s.real(6, 2, 3, 2), (2, 1), (1, 0), (1, 2), 2)
        yield Sample(
            s.real(2, 2, 4, 3, s.m + 2), s.real(2, 1, 2, 2, 3), (1, 2, 1), (0, 1, 1), (1, 1, 1), 2
        )
        yield Sample(s.real(0, 2, 5), s.real(3, 2, 2), (1,), (0,), (1,), 1)
        yield Sample(s.real(s.n, 4, s.m + 2), s.real(6, 2, 3), (1,), (1,), (1,), 2, s.real(6))

    def bad(s):
        yield Bad(
            Sample(s.real(2, 3, 5), s.real(4, 2, 2), (1,), (0,), (1,), 1),
            ShapeError,
            "channels differ",
        )


class ConvolveTransposed(Op):
    """The adjoint of `convolve` in its input: spreads each value over a kernel's footprint.

    >>> x, w = tx.ones(1, 1, 2), tx.ones(1, 1, 2)
    >>> tx.nn.functional.convolve_transposed(x, w, (3,), (1,), (0,), (1,), 1)
    tensor([[[1., 2., 1.]]])
    """

    total = True
    signature = (
        "convolve_transposed(input, weight, output_size: ints, stride: ints, padding: ints, "
        "dilation: ints, groups: int) -> y"
    )
    images = "channels"
    namespace = "nn.functional"
    dtypes = DTYPES

    def cost(results, input, weight, *window):
        return 2 * math.prod(input.shape) * math.prod(weight.shape[1:])

    def infer(input, weight, output_size, stride, padding, dilation, groups):
        op = "convolve_transposed"
        axes = weight.ndim - 2
        check(op, axes, input, weight, None, groups, 1)
        _check_window(op, axes, stride, padding, dilation)
        exactly(op, axes, output_size=output_size)
        back = tuple(map(_places, output_size, weight.shape[2:], stride, padding, dilation))
        check_fits(op, input, weight, tuple(output_size))
        if any(a != b for a, b in zip(back, input.shape[2:], strict=True)):
            raise ShapeError(
                f"{op}: output_size={tuple(output_size)} does not fit: input is {describe(input)}, "
                f"but an output of that size comes from sizes {back}"
            )
        return Spec((input.shape[0], weight.shape[1] * groups, *output_size), input.dtype)

    def kernel(input, weight, output_size, stride, padding, dilation, groups):
        batch, outer, places = input.shape[0], weight.shape[0], input.shape[2:]
        inner, taps = weight.shape[1] * groups, weight.shape[2:]
        room = tuple(o + 2 * p for o, p in zip(output_size, padding, strict=True))
        y = np.zeros((batch, inner, *output_size), input.dtype)
        bank = weight.reshape(groups, outer // groups, -1).swapaxes(1, 2)
        inside = tuple(slice(p, p + o) for p, o in zip(padding, output_size, strict=True))
        for part in _batches(batch, _column_bytes(inner, taps, places, input.dtype)):
            values = input[part].reshape(-1, groups, outer // groups, int(np.prod(places)))
            columns = np.matmul(bank, values).reshape(-1, inner, *taps, *places)
            spread = np.zeros((len(columns), inner, *room), input.dtype)
            for tap in itertools.product(*map(range, taps)):
                reach = tuple(
                    slice(t * d, t * d + (n - 1) * s + 1, s)
                    for t, d, n, s in zip(tap, dilation, places, stride, strict=True)
                )
                spread[(..., *reach)] += columns[(slice(None), slice(None), *tap)]
            y[part] = spread[(..., *inside)]
        return y

    def vjp_input(g, weight, stride, padding, dilation, groups):
        return tx.nn.functional.convolve(g, weight.conj(), stride, padding, dilation, groups)

    def vjp_weight(g, input, weight_type, stride, padding, dilation, groups):
        return tx.nn.functional.convolve_weight(
            g, input.conj(), tuple(weight_type.shape[2:]), stride, padding, dilation, groups
        )

    reference = slow.convolve_transposed

    def samples(s):
        yield Sample(s.real(s.n, 3, s.m), s.real(3, 2, 2), (s.m + 1,), (1,), (0,), (1,), 1)
        yield Sample(
            s.real(s.n, 4, s.m, 3), s.real(4, 1, 3, 2), (2 * s.m + 1, 4), (2, 1), (0, 0), (1, 1), 2
        )
        yield Sample(s.real(2, 2, 3, 3), s.real(2, 3, 2, 2), (6, 5), (2, 2), (1, 1), (2, 2), 1)


class ConvolveWeight(Op):
    """The gradient of `convolve` for its weight: how each tap's view of the input meets the output.

    >>> x, g = tx.ones(1, 1, 3), tx.ones(1, 1, 2)
    >>> tx.nn.functional.convolve_weight(x, g, (2,), (1,), (0,), (1,), 1)
    tensor([[[2., 2.]]])
    """

    total = True
    signature = (
        "convolve_weight(input, output, kernel_size: ints, stride: ints, padding: ints, "
        "dilation: ints, groups: int) -> y"
    )
    images = "any"
    namespace = "nn.functional"
    dtypes = DTYPES

    def cost(results, input, output, *window):
        return 2 * math.prod(output.shape) * math.prod(results[0].shape[1:])

    def infer(input, output, kernel_size, stride, padding, dilation, groups):
        op = "convolve_weight"
        _check_types(op, input, output)
        if input.ndim < 3 or input.ndim != output.ndim:
            raise ShapeError(
                f"{op}: input is {describe(input)}, output is {describe(output)}; both must be "
                "(batch, channels, sizes)"
            )
        _check_window(op, input.ndim - 2, stride, padding, dilation)
        exactly(op, input.ndim - 2, kernel_size=kernel_size)
        require(op, "kernel_size", tuple(kernel_size), 1)
        places = tuple(map(_places, input.shape[2:], kernel_size, stride, padding, dilation))
        same_batch = input.ndim == output.ndim and input.shape[0] == output.shape[0]
        if not same_batch or any(a != b for a, b in zip(places, output.shape[2:], strict=True)):
            raise ShapeError(
                f"{op}: input is {describe(input)}, output is {describe(output)}; with kernel_size="
                f"{tuple(kernel_size)} output's sizes must be {places}, its batch input's"
            )
        if groups < 1 or input.shape[1] % groups != 0 or output.shape[1] % groups != 0:
            raise ShapeError(f"{op}: groups={groups} does not divide the channels")
        return Spec((output.shape[1], input.shape[1] // groups, *kernel_size), input.dtype)

    def kernel(input, output, kernel_size, stride, padding, dilation, groups):
        outer, inner = output.shape[1], input.shape[1]
        places = output.shape[2:]
        rows = inner // groups * int(np.prod(kernel_size, dtype=np.int64))
        y = np.zeros((groups, outer // groups, rows), input.dtype)
        for part in _batches(len(input), _column_bytes(inner, kernel_size, places, input.dtype)):
            columns = _columns(_padded(input[part], padding), kernel_size, stride, dilation, groups)
            values = output[part].reshape(-1, groups, outer // groups, int(np.prod(places)))
            for one, its_columns in zip(values, columns, strict=True):
                y += np.matmul(one, its_columns.swapaxes(1, 2))
        return y.reshape(outer, inner // groups, *kernel_size)

    def vjp_input(g, output, input_type, stride, padding, dilation, groups):
        return tx.nn.functional.convolve_transposed(
            output.conj(), g, tuple(input_type.shape[2:]), stride, padding, dilation, groups
        )

    def vjp_output(g, input, stride, padding, dilation, groups):
        return tx.nn.functional.convolve(input.conj(), g, stride, padding, dilation, groups)

    reference = slow.convolve_weight

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 1), s.real(s.n, 3, s.m), (2,), (1,), (0,), (1,), 1)
        yield Sample(
            s.real(s.n, 4, 5, s.m + 4),
            s.real(s.n, 6, 3, s.m + 2),
            (3, 2),
            (2, 1),
            (1, 0),
            (1, 2),
            2,
        )


_places = output_size  # inside ConvolveTransposed `output_size` is a parameter
