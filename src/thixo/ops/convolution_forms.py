"""The convolutions people call: they check, pad and add the bias around the primitives."""

from typing import Any

from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops import convolution_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.convolution import DTYPES, check, check_fits
from thixo.ops.samples import Bad, Sample
from thixo.ops.windows import batched, output_size, per_axis, require


def _with_bias(y: Any, bias: Any, axes: int) -> Any:
    return y if bias is None else y + bias.reshape(bias.shape[0], *(1,) * axes)


def _same_padding(op: str, kernel: Any, stride: Any, dilation: Any) -> tuple[Any, list[Any]]:
    """Symmetric padding, and what must be added at the end of each axis, so that sizes are kept."""
    if any(s != 1 for s in stride):
        raise ValueRangeError(f"{op}: padding='same' is not supported with stride {stride}; use 1")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    return tuple(t // 2 for t in total), [t % 2 for t in total]


def _conv(
    op: str, axes: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> Any:  # fmt: skip
    stride = per_axis(op, "stride", stride, axes)
    dilation = per_axis(op, "dilation", dilation, axes)
    require(op, "stride", stride, 1)
    require(op, "dilation", dilation, 1)
    input, lone = batched(op, input, axes)
    check(op, axes, input, weight, bias, groups, 0)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueRangeError(f"{op}: padding is {padding!r}; the words are 'same' and 'valid'")
        extra = [0] * axes
        pads: tuple[Any, ...] = (0,) * axes
        if padding == "same":
            pads, extra = _same_padding(op, weight.shape[2:], stride, dilation)
        if any(extra):
            input = tx.nn.functional.pad(input, [v for e in reversed(extra) for v in (0, e)])
    else:
        pads = per_axis(op, "padding", padding, axes)
        require(op, "padding", pads, 0)
    sizes = tuple(map(output_size, input.shape[2:], weight.shape[2:], stride, pads, dilation))
    check_fits(op, input, weight, sizes)
    y = tx.nn.functional.convolve(input, weight, stride, pads, dilation, groups, bias)
    return y.squeeze(0) if lone else y


def _conv_transpose(
    op: str, axes: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any,
    output_padding: Any, groups: int, dilation: Any,
) -> Any:  # fmt: skip
    stride = per_axis(op, "stride", stride, axes)
    padding = per_axis(op, "padding", padding, axes)
    extra = per_axis(op, "output_padding", output_padding, axes)
    dilation = per_axis(op, "dilation", dilation, axes)
    require(op, "stride", stride, 1)
    require(op, "dilation", dilation, 1)
    require(op, "padding", padding, 0)
    require(op, "output_padding", extra, 0)
    input, lone = batched(op, input, axes)
    check(op, axes, input, weight, bias, groups, 1)
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e >= s and e >= d:
            raise ValueRangeError(
                f"{op}: output_padding is {extra}; it must be smaller than stride {stride} or "
                f"dilation {dilation}"
            )
    full = tuple(
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(input.shape[2:], stride, dilation, weight.shape[2:], strict=True)
    )
    sizes = tuple(f - 2 * p + e for f, p, e in zip(full, padding, extra, strict=True))
    check_fits(op, input, weight, sizes)
    if all(e < s for e, s in zip(extra, stride, strict=True)):
        y = tx.nn.functional.convolve_transposed(
            input, weight, sizes, stride, padding, dilation, groups
        )
    else:  # an output that a convolution would not map back: the whole footprint, cut or extended
        y = tx.nn.functional.convolve_transposed(
            input, weight, full, stride, (0,) * axes, dilation, groups
        )
        ends = [(-p, n + p - f) for p, n, f in zip(padding, sizes, full, strict=True)]
        y = tx.nn.functional.pad(y, [v for pair in reversed(ends) for v in pair])
    y = _with_bias(y, bias, axes)
    return y.squeeze(0) if lone else y


class Conv1d(Composite):
    """Convolve signals (batch, channels, length) with a bank of kernels (outputs, channels / groups, taps).

    >>> tx.nn.functional.conv1d(tx.tensor([[[1.0, 2.0, 3.0]]]), tx.tensor([[[1.0, -1.0]]]))
    tensor([[[-1., -1.]]])
    """

    signature = (
        "conv1d(input, weight, bias = None, stride: ints = 1, padding: any = 0, dilation: ints = 1, "
        "groups: int = 1) -> y"
    )
    namespace = "nn.functional"
    aliases = ("conv1d",)
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, dilation, groups):
        return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)

    reference = slow.conv

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 2), s.real(3, 2, 3), s.real(3))
        yield Sample(s.real(2, s.m + 2), s.real(3, 2, 2), None, 2, 1)
        yield Sample(s.real(s.n, 4, 6), s.real(2, 2, 2), padding="same", dilation=3, groups=2)
        yield Sample(s.real(s.n, 1, 5), s.real(2, 1, 3), padding="valid")

    def bad(s):
        x, w = s.real(2, 2, 4), s.real(2, 2, 2)
        yield Bad(Sample(x, w, None, -1), ValueRangeError, "stride")
        yield Bad(Sample(x, w, padding=-1), ValueRangeError, "padding")
        yield Bad(Sample(x, w, dilation=0), ValueRangeError, "dilation")
        yield Bad(Sample(x, w, groups=3), ShapeError, "multiple of groups=3")
        yield Bad(Sample(x, w, groups=0), ValueRangeError, "groups is 0")
        yield Bad(Sample(x, w, padding="full"), ValueRangeError, "'same' and 'valid'")
        yield Bad(
            Sample(x, w, stride=2, padding="same"), ValueRangeError, "not supported with stride"
        )
        yield Bad(Sample(x, s.real(2, 2, 7)), ShapeError, "larger than the padded input")
        yield Bad(Sample(x, s.real(2, 2)), ShapeError, "3 dimensions")
        yield Bad(Sample(x, w, s.real(5)), ShapeError, "bias")


class Conv2d(Composite):
    """Convolve images (batch, channels, height, width) with kernels (outputs, channels / groups, height, width).

    >>> tx.nn.functional.conv2d(tx.ones(1, 2, 3, 3), tx.ones(1, 2, 3, 3), padding=1)[0, 0]
    tensor([[ 8., 12.,  8.],
            [12., 18., 12.],
            [ 8., 12.,  8.]])
    """

    signature = (
        "conv2d(input, weight, bias = None, stride: ints = 1, padding: any = 0, dilation: ints = 1, "
        "groups: int = 1) -> y"
    )
    namespace = "nn.functional"
    aliases = ("conv2d",)
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, dilation, groups):
        return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)

    reference = slow.conv

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 2, 5), s.real(3, 2, 3, 2), s.real(3))
        yield Sample(s.real(2, s.m + 3, 5), s.real(3, 2, 2, 2), s.real(3), (2, 1), (0, 1), (1, 2))
        yield Sample(s.real(s.n, 2, 4, 4), s.real(4, 1, 2, 3), padding="same", groups=2)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 5, 5), s.real(4, 2, 2, 2)), ShapeError, "channels differ")
        yield Bad(
            Sample(s.real(2, 2, 5, 5), s.real(4, 2, 2, 2), stride=(1, 1, 1)),
            ArgumentError,
            "stride",
        )


class Conv3d(Composite):
    """Convolve volumes (batch, channels, depth, height, width).

    >>> tx.nn.functional.conv3d(tx.ones(1, 1, 2, 2, 2), tx.ones(1, 1, 2, 2, 2)).item()
    8.0
    """

    signature = (
        "conv3d(input, weight, bias = None, stride: ints = 1, padding: any = 0, dilation: ints = 1, "
        "groups: int = 1) -> y"
    )
    namespace = "nn.functional"
    aliases = ("conv3d",)
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, dilation, groups):
        return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)

    reference = slow.conv

    def samples(s):
        yield Sample(s.real(2, 2, s.m + 1, 3, 3), s.real(2, 2, 2, 2, 2), s.real(2))
        yield Sample(s.real(1, 3, 3, s.n + 1), s.real(2, 1, 2, 2, 2), None, 2, 1)


class ConvTranspose1d(Composite):
    """Transposed convolution of signals: the adjoint of `conv1d`, which upsamples by its stride.

    >>> tx.nn.functional.conv_transpose1d(tx.tensor([[[1.0, 2.0]]]), tx.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 2., 2.]]])
    """

    signature = (
        "conv_transpose1d(input, weight, bias = None, stride: ints = 1, padding: ints = 0, "
        "output_padding: ints = 0, groups: int = 1, dilation: ints = 1) -> y"
    )
    namespace = "nn.functional"
    aliases = ("conv_transpose1d",)
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, output_padding, groups, dilation):
        return _conv_transpose(
            "conv_transpose1d",
            1,
            input,
            weight,
            bias,
            stride,
            padding,
            output_padding,
            groups,
            dilation,
        )

    reference = slow.conv_transpose

    def samples(s):
        yield Sample(s.real(s.n, 3, s.m), s.real(3, 2, 3), s.real(2))
        yield Sample(s.real(4, s.m), s.real(4, 1, 2), None, 3, 1, 2, 2)
        yield Sample(
            s.real(s.n, 2, s.m), s.real(2, 2, 2), stride=1, padding=1, output_padding=1, dilation=3
        )

    def bad(s):
        x, w = s.real(2, 2, 4), s.real(2, 2, 2)
        yield Bad(Sample(x, w, output_padding=1), ValueRangeError, "output_padding")
        yield Bad(Sample(x, s.real(3, 2, 2)), ShapeError, "channels differ")
        yield Bad(Sample(x, w, padding=4), ShapeError, "larger than the padded input")


class ConvTranspose2d(Composite):
    """Transposed convolution of images.

    >>> tx.nn.functional.conv_transpose2d(tx.ones(1, 1, 2, 2), tx.ones(1, 1, 2, 2))[0, 0]
    tensor([[1., 2., 1.],
            [2., 4., 2.],
            [1., 2., 1.]])
    """

    signature = (
        "conv_transpose2d(input, weight, bias = None, stride: ints = 1, padding: ints = 0, "
        "output_padding: ints = 0, groups: int = 1, dilation: ints = 1) -> y"
    )
    namespace = "nn.functional"
    aliases = ("conv_transpose2d",)
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, output_padding, groups, dilation):
        return _conv_transpose(
            "conv_transpose2d",
            2,
            input,
            weight,
            bias,
            stride,
            padding,
            output_padding,
            groups,
            dilation,
        )

    reference = slow.conv_transpose

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m, 3), s.real(2, 3, 3, 2), s.real(3))
        yield Sample(
            s.real(2, s.m, 3), s.real(2, 3, 2, 2), s.real(6), (2, 3), (1, 0), (1, 0), 2, (1, 2)
        )


class ConvTranspose3d(Composite):
    """Transposed convolution of volumes.

    >>> tx.nn.functional.conv_transpose3d(tx.ones(1, 1, 1, 1, 1), tx.ones(1, 1, 2, 2, 2)).shape
    Size([1, 1, 2, 2, 2])
    """

    signature = (
        "conv_transpose3d(input, weight, bias = None, stride: ints = 1, padding: ints = 0, "
        "output_padding: ints = 0, groups: int = 1, dilation: ints = 1) -> y"
    )
    namespace = "nn.functional"
    aliases = ("conv_transpose3d",)
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, output_padding, groups, dilation):
        return _conv_transpose(
            "conv_transpose3d",
            3,
            input,
            weight,
            bias,
            stride,
            padding,
            output_padding,
            groups,
            dilation,
        )

    reference = slow.conv_transpose

    def samples(s):
        yield Sample(s.real(2, 2, s.m, 2, 2), s.real(2, 2, 2, 2, 2), s.real(2))
        yield Sample(s.real(s.n, 2, 2, 2, 2), s.real(2, 2, 2, 1, 2), None, 2, 0, 1)


class Convolution(Composite):
    """Convolution or transposed convolution in as many dimensions as the weight has.

    >>> x, w = tx.ones(1, 1, 3), tx.ones(1, 1, 2)
    >>> tx.convolution(x, w, None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """

    signature = (
        "convolution(input, weight, bias: tensor?, stride: ints, padding: ints, dilation: ints, "
        "transposed: bool, output_padding: ints, groups: int) -> y"
    )
    method = False
    dtypes = DTYPES

    def compose(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
        axes = weight.ndim - 2
        if axes < 1:
            raise ShapeError(
                f"convolution: weight is {describe(weight)}; it must have at least three dimensions"
            )
        if transposed:
            return _conv_transpose(
                "convolution",
                axes,
                input,
                weight,
                bias,
                stride,
                padding,
                output_padding,
                groups,
                dilation,
            )
        return _conv("convolution", axes, input, weight, bias, stride, padding, dilation, groups)

    def reference(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    ):
        if transposed:
            return slow.conv_transpose(
                input, weight, bias, stride, padding, output_padding, groups, dilation
            )
        return slow.conv(input, weight, bias, stride, padding, dilation, groups)

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m), s.real(3, 2, 2), s.real(3), [1], [0], [1], False, [0], 1)
        yield Sample(s.real(s.n, 2, s.m), s.real(2, 3, 2), None, [2], [0], [1], True, [1], 1)
