"""Convolution layers."""

from typing import Any

import thixo as tx
from thixo.errors import ValueRangeError
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def each(value: Any, axes: int) -> tuple[int, ...]:
    """One number for each axis.

    >>> each(3, 2), each((1, 2), 2)
    ((3, 3), (1, 2))
    """
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes


class _ConvNd(Module):
    """What all convolution layers share."""

    axes: int
    transposed = False
    output_padding: tuple[int, ...]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, groups: int, bias: bool, padding_mode: str, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        name, axes = type(self).__name__, self.axes
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueRangeError(
                f"{name}: groups={groups} must divide in_channels={in_channels} and "
                f"out_channels={out_channels}"
            )
        if padding_mode not in _PADDING_MODES:
            raise ValueRangeError(
                f"{name}: padding_mode is {padding_mode!r}; it must be one of {_PADDING_MODES}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, axes)
        self.stride = each(stride, axes)
        self.padding: Any = padding if isinstance(padding, str) else each(padding, axes)
        self.dilation = each(dilation, axes)
        self.output_padding = (0,) * axes
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueRangeError(
                    f"{name}: padding is {padding!r}; the words are 'same', 'valid'"
                )
            if padding == "same" and any(s != 1 for s in self.stride):
                raise ValueRangeError(f"{name}: padding='same' needs stride 1, not {self.stride}")
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        made = {"device": device, "dtype": dtype}
        self.weight = Parameter(tx.empty(first, second // groups, *self.kernel_size, **made))
        if bias:
            self.bias = Parameter(tx.empty(out_channels, **made))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias from uniform(-b, b) with b = 1 / sqrt(fan in)."""
        init.fan_in_uniform_(self.weight, self.bias)

    def _edges(self) -> list[int]:
        """What `F.pad` is given for another padding mode than zeros: last axis first."""
        if self.padding == "valid":
            return [0] * (2 * self.axes)
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [v for t in reversed(total) for v in (t // 2, t - t // 2)]
        return [v for p in reversed(self.padding) for v in (p, p)]

    def forward(self, input: Any) -> Any:
        """Convolve (batch, channels, sizes), or the same without a batch."""
        conv = getattr(F, f"conv{self.axes}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._edges(), mode=self.padding_mode)
            padding = 0
        return conv(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """Channels, window, and what is not the default."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        parts.append(f"stride={self.stride}")
        if self.padding != (0,) * self.axes:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self.axes:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * self.axes:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class Conv1d(_ConvNd):
    """Convolution of signals (batch, channels, length).

    >>> tx.nn.Conv1d(2, 4, 3, padding=1)(tx.ones(1, 2, 8)).shape
    Size([1, 4, 8])
    """

    axes = 1

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip


class Conv2d(Conv1d):
    """Convolution of images (batch, channels, height, width).

    >>> layer = tx.nn.Conv2d(3, 8, 3, stride=2)
    >>> layer(tx.ones(1, 3, 9, 9)).shape
    Size([1, 8, 4, 4])
    >>> layer
    Conv2d(3, 8, kernel_size=(3, 3), stride=(2, 2))
    """

    axes = 2


class Conv3d(Conv1d):
    """Convolution of volumes (batch, channels, depth, height, width).

    >>> tx.nn.Conv3d(1, 2, 2)(tx.ones(1, 1, 3, 3, 3)).shape
    Size([1, 2, 2, 2, 2])
    """

    axes = 3


class ConvTranspose1d(_ConvNd):
    """Transposed convolution of signals, which upsamples by its stride.

    >>> tx.nn.ConvTranspose1d(2, 4, 2, stride=2)(tx.ones(1, 2, 3)).shape
    Size([1, 4, 6])
    """

    axes = 1
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros" or isinstance(padding, str):
            raise ValueRangeError(
                f"{type(self).__name__}: only padding with zeros, in numbers, is there"
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip
        self.output_padding = each(output_padding, self.axes)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """Spread the input; `output_size` chooses among the sizes that would convolve to it."""
        extra = self.output_padding if output_size is None else self._extra(input, output_size)
        conv = getattr(F, f"conv_transpose{self.axes}d")
        return conv(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip

    def _extra(self, input: Any, output_size: Any) -> tuple[int, ...]:
        wanted = tuple(output_size)[-self.axes :]
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                input.shape[-self.axes :], self.stride, self.padding, self.dilation,
                self.kernel_size, strict=True,
            )
        ]  # fmt: skip
        most = [m + s - 1 for m, s in zip(least, self.stride, strict=True)]
        if any(not a <= w <= b for a, w, b in zip(least, wanted, most, strict=True)):
            raise ValueRangeError(
                f"{type(self).__name__}: output_size is {wanted}; it must be from {least} to {most}"
            )
        return tuple(w - a for w, a in zip(wanted, least, strict=True))


class ConvTranspose2d(ConvTranspose1d):
    """Transposed convolution of images.

    >>> tx.nn.ConvTranspose2d(2, 1, 3, stride=2)(tx.ones(1, 2, 3, 3)).shape
    Size([1, 1, 7, 7])
    """

    axes = 2


class ConvTranspose3d(ConvTranspose1d):
    """Transposed convolution of volumes.

    >>> tx.nn.ConvTranspose3d(2, 1, 2)(tx.ones(1, 2, 2, 2, 2)).shape
    Size([1, 1, 3, 3, 3])
    """

    axes = 3
