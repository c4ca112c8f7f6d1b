"""Images in other arrangements: pixel and channel shuffles, and patches (unfold, fold)."""

from typing import Any

import numpy as np

from thixo.dtype import COMPLEX, FLOATS
from thixo.errors import ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.ops.windows import output_size, per_axis, require


class PixelShuffle(Composite):
    """Channels spread over space: (..., C*r*r, H, W) becomes (..., C, H*r, W*r).

    >>> tx.nn.functional.pixel_shuffle(tx.zeros(1, 8, 3, 4), 2).shape
    Size([1, 2, 6, 8])
    """

    signature = "pixel_shuffle(input, upscale_factor: int) -> y"
    namespace = "nn.functional"
    aliases = ("pixel_shuffle",)

    def compose(input, upscale_factor):
        r = upscale_factor
        if r < 1:
            raise ValueRangeError(f"pixel_shuffle: upscale_factor must be positive, got {r}")
        if input.ndim < 3 or input.shape[-3] % (r * r) != 0:
            raise ShapeError(
                f"pixel_shuffle: needs (..., channels, height, width) with channels a multiple of "
                f"{r * r}, input is {describe(input)}"
            )
        *batch, c, h, w = input.shape
        n = len(batch)
        x = tx.reshape(input, (*batch, c // (r * r), r, r, h, w))
        x = tx.permute(x, (*range(n), n, n + 3, n + 1, n + 4, n + 2))  # (..., c, h, r, w, r)
        return tx.reshape(x, (*batch, c // (r * r), h * r, w * r))

    def reference(input, upscale_factor):
        *batch, c, h, w = input.shape
        r = upscale_factor
        return build(
            (*batch, c // r**2, h * r, w * r),
            input.dtype,
            lambda i: input[
                (*i[:-3], i[-3] * r * r + i[-2] % r * r + i[-1] % r, i[-2] // r, i[-1] // r)
            ],
        )

    def samples(s):
        yield Sample(s.real(s.k, 4 * s.n, s.m, s.k), 2)
        yield Sample(s.real(9, 2, s.k), 3)
        yield Sample(s.real(s.n, s.m, s.k), 1)
        yield Sample(s.real(0, 4, s.n, s.m), 2)

    def bad(s):
        yield Bad(Sample(s.real(6, 2, 2), 2), ShapeError, "multiple of 4")
        yield Bad(Sample(s.real(4, 2, 2), 0), ValueRangeError, "must be positive")


class PixelUnshuffle(Composite):
    """Space folded into channels: (..., C, H*r, W*r) becomes (..., C*r*r, H, W).

    >>> tx.nn.functional.pixel_unshuffle(tx.zeros(1, 2, 6, 8), 2).shape
    Size([1, 8, 3, 4])
    """

    signature = "pixel_unshuffle(input, downscale_factor: int) -> y"
    namespace = "nn.functional"
    aliases = ("pixel_unshuffle",)

    def compose(input, downscale_factor):
        r = downscale_factor
        if r < 1:
            raise ValueRangeError(f"pixel_unshuffle: downscale_factor must be positive, got {r}")
        if input.ndim < 3 or input.shape[-1] % r != 0 or input.shape[-2] % r != 0:
            raise ShapeError(
                f"pixel_unshuffle: needs (..., channels, height, width) with height and width "
                f"multiples of {r}, input is {describe(input)}"
            )
        *batch, c, h, w = input.shape
        n = len(batch)
        x = tx.reshape(input, (*batch, c, h // r, r, w // r, r))
        x = tx.permute(x, (*range(n), n, n + 2, n + 4, n + 1, n + 3))  # (..., c, r, r, h, w)
        return tx.reshape(x, (*batch, c * r * r, h // r, w // r))

    def reference(input, downscale_factor):
        *batch, c, h, w = input.shape
        r = downscale_factor
        return build(
            (*batch, c * r * r, h // r, w // r),
            input.dtype,
            lambda i: input[
                (
                    *i[:-3],
                    i[-3] // (r * r),
                    i[-2] * r + i[-3] // r % r,
                    i[-1] * r + i[-3] % r,
                )
            ],
        )

    def samples(s):
        yield Sample(s.real(s.k, s.n, 2 * s.m, 2 * s.k), 2)
        yield Sample(s.real(2, 3, 6), 3)
        yield Sample(s.real(s.n, s.m, s.k), 1)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4), 2), ShapeError, "multiples of 2")


class ChannelShuffle(Composite):
    """The channels of groups dealt out in turn: (g, c) channels in the order (c, g).

    >>> tx.nn.functional.channel_shuffle(tx.arange(4).reshape(1, 4, 1), 2).ravel()
    tensor([0, 2, 1, 3])
    """

    signature = "channel_shuffle(input, groups: int) -> y"
    namespace = "nn.functional"
    aliases = ("channel_shuffle",)

    def compose(input, groups):
        if groups < 1:
            raise ValueRangeError(f"channel_shuffle: groups must be positive, got {groups}")
        if input.ndim < 3 or input.shape[1] % groups != 0:
            raise ShapeError(
                f"channel_shuffle: needs (batch, channels, sizes) with channels a multiple of "
                f"{groups}, input is {describe(input)}"
            )
        n, c, *sizes = input.shape
        x = tx.reshape(input, (n, groups, c // groups, *sizes))
        return tx.reshape(tx.transpose(x, 1, 2), (n, c, *sizes))

    def reference(input, groups):
        each = input.shape[1] // groups
        order = [g * each + i for i in range(each) for g in range(groups)]
        return np.stack([input[:, c] for c in order], 1)

    def samples(s):
        yield Sample(s.real(s.k, 2 * s.n, s.m, s.k), 2)
        yield Sample(s.real(s.k, 6, s.m), 3)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 4), 2), ShapeError, "multiple of 2")


def window_arguments(
    operation: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Any, Any, Any, Any]:
    """The four numbers of a 2-d window, a pair each, checked."""
    kernel = per_axis(operation, "kernel_size", kernel_size, 2)
    dilation = per_axis(operation, "dilation", dilation, 2)
    padding = per_axis(operation, "padding", padding, 2)
    stride = per_axis(operation, "stride", stride, 2)
    require(operation, "kernel_size", kernel, 1)
    require(operation, "dilation", dilation, 1)
    require(operation, "padding", padding, 0)
    require(operation, "stride", stride, 1)
    return kernel, dilation, padding, stride


def window_places(
    operation: str, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Any, ...]:
    """How many windows there are in each direction; at least one is needed."""
    places = tuple(map(output_size, size, kernel, stride, padding, dilation))
    if any(n < 1 for n in places):
        raise ShapeError(
            f"{operation}: no window of {tuple(kernel)} fits an image of {tuple(size)} padded by "
            f"{tuple(padding)}"
        )
    return places


class UnfoldPatches(Op):
    """The patches of images under a sliding window, a column each (im2col).

    >>> tx.nn.functional.unfold(tx.zeros(2, 3, 10, 12), (4, 5)).shape
    Size([2, 60, 56])
    """

    signature = (
        "unfold(input, kernel_size: ints, dilation: ints = 1, padding: ints = 0, stride: ints = 1)"
        " -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX

    def infer(input, kernel_size, dilation=1, padding=0, stride=1):
        window = window_arguments("unfold", kernel_size, dilation, padding, stride)
        if input.ndim not in (3, 4) or any(isinstance(n, int) and n == 0 for n in input.shape[-3:]):
            raise ShapeError(
                f"unfold: needs (batch, channels, height, width), the batch left out or not and "
                f"nothing else empty, input is {describe(input)}"
            )
        *batch, c, h, w = input.shape
        rows, columns = window_places("unfold", (h, w), *window)
        return Spec((*batch, c * window[0][0] * window[0][1], rows * columns), input.dtype)

    def kernel(input, kernel_size, dilation=1, padding=0, stride=1):
        (kh, kw), dil, (ph, pw), step = window_arguments(
            "unfold", kernel_size, dilation, padding, stride
        )
        images = input if input.ndim == 4 else input[None]
        n, c, h, w = images.shape
        rows, columns = window_places("unfold", (h, w), (kh, kw), dil, (ph, pw), step)
        wide = np.pad(images, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
        patches = np.empty((n, c, kh, kw, rows, columns), input.dtype)
        for i, j in np.ndindex(kh, kw):
            y, x = i * dil[0], j * dil[1]
            patches[:, :, i, j] = wide[
                :, :, y : y + rows * step[0] : step[0], x : x + columns * step[1] : step[1]
            ][:, :, :rows, :columns]
        return patches.reshape(*input.shape[:-3], c * kh * kw, rows * columns)

    def vjp(g, input_type, kernel_size, dilation, padding, stride):
        size = tuple(input_type.shape[-2:])
        return tx.nn.functional.fold(g, size, kernel_size, dilation, padding, stride)

    def reference(input, kernel_size, dilation=1, padding=0, stride=1):
        (kh, kw), dil, pad, step = window_arguments(
            "unfold", kernel_size, dilation, padding, stride
        )
        *batch, c, h, w = input.shape
        rows, columns = window_places("unfold", (h, w), (kh, kw), dil, pad, step)

        def element(index):
            *image, row, column = index
            channel, tap = divmod(row, kh * kw)
            y = column // columns * step[0] + tap // kw * dil[0] - pad[0]
            x = column % columns * step[1] + tap % kw * dil[1] - pad[1]
            return input[(*image, channel, y, x)] if 0 <= y < h and 0 <= x < w else 0

        return build((*batch, c * kh * kw, rows * columns), input.dtype, element)

    def samples(s):
        yield Sample(s.real(s.k, s.n, s.m + 1, s.m), 2)
        yield Sample(s.real(s.n, s.m + 2, s.m + 1), (2, 3), padding=1, stride=(2, 1))
        yield Sample(s.real(1, 2, s.m + 3, s.m + 3), 2, dilation=2, padding=(0, 1), stride=2)
        yield Sample(s.real(0, s.n, 3, 3), 2)

    def bad(s):
        yield Bad(Sample(s.real(2, 2), 2), ShapeError, "needs (batch, channels")
        yield Bad(Sample(s.real(1, 2, 2, 2), 3), ShapeError, "no window")
        yield Bad(Sample(s.real(1, 2, 2, 2), 0), ValueRangeError, "kernel_size")


class FoldPatches(Op):
    """Images from their patches; where patches overlap they are added (col2im).

    >>> tx.nn.functional.fold(tx.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """

    signature = (
        "fold(input, output_size: ints, kernel_size: ints, dilation: ints = 1, padding: ints = 0, "
        "stride: ints = 1) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS + COMPLEX

    def infer(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
        size = per_axis("fold", "output_size", output_size, 2)
        window = window_arguments("fold", kernel_size, dilation, padding, stride)
        taps = window[0][0] * window[0][1]
        if input.ndim not in (2, 3) or input.shape[-2] % taps != 0:
            raise ShapeError(
                f"fold: needs (batch, channels * {taps}, patches), the batch left out or not, "
                f"input is {describe(input)}"
            )
        rows, columns = window_places("fold", size, *window)
        if input.shape[-1] != rows * columns:
            raise ShapeError(
                f"fold: an image of {size} has {rows} * {columns} patches, input is {describe(input)}"
            )
        *batch, height, _ = input.shape
        return Spec((*batch, height // taps, *size), input.dtype)

    def kernel(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
        h, w = per_axis("fold", "output_size", output_size, 2)
        (kh, kw), dil, (ph, pw), step = window_arguments(
            "fold", kernel_size, dilation, padding, stride
        )
        rows, columns = window_places("fold", (h, w), (kh, kw), dil, (ph, pw), step)
        c = input.shape[-2] // (kh * kw)
        patches = input.reshape(-1, c, kh, kw, rows, columns)
        wide = np.zeros((len(patches), c, h + 2 * ph, w + 2 * pw), input.dtype)
        for i, j in np.ndindex(kh, kw):
            y, x = i * dil[0], j * dil[1]
            wide[
                :,
                :,
                y : y + (rows - 1) * step[0] + 1 : step[0],
                x : x + (columns - 1) * step[1] + 1 : step[1],
            ] += patches[:, :, i, j]
        images = wide[:, :, ph : ph + h, pw : pw + w]
        return np.ascontiguousarray(images).reshape(*input.shape[:-2], c, h, w)

    def vjp(g, kernel_size, dilation, padding, stride):
        return tx.nn.functional.unfold(g, kernel_size, dilation, padding, stride)

    def reference(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
        h, w = per_axis("fold", "output_size", output_size, 2)
        (kh, kw), dil, pad, step = window_arguments("fold", kernel_size, dilation, padding, stride)
        _, columns = window_places("fold", (h, w), (kh, kw), dil, pad, step)
        *batch, height, _ = input.shape
        result = np.zeros((*batch, height // (kh * kw), h, w), input.dtype)
        for index in np.ndindex(*input.shape):
            *image, row, column = index
            channel, tap = divmod(row, kh * kw)
            y = column // columns * step[0] + tap // kw * dil[0] - pad[0]
            x = column % columns * step[1] + tap % kw * dil[1] - pad[1]
            if 0 <= y < h and 0 <= x < w:
                result[(*image, channel, y, x)] += input[index]
        return result

    def samples(s):
        yield Sample(s.real(s.k, 4 * s.n, s.m * s.m), (s.m + 1, s.m + 1), 2)
        yield Sample(s.real(2 * 6, 2 * 3), (3, 3), (2, 3), padding=1, stride=(2, 1))
        yield Sample(s.real(1, 4, 4), (5, 4), 2, dilation=2, padding=(0, 1), stride=2)

    def bad(s):
        yield Bad(Sample(s.real(1, 3, 4), (3, 3), 2), ShapeError, "channels * 4")
        yield Bad(Sample(s.real(1, 4, 5), (3, 3), 2), ShapeError, "2 * 2 patches")
