"""Channels that become pixels, and back."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class PixelShuffle(Module):
    """Channels become pixels: (batch, c * r * r, h, w) to (batch, c, h * r, w * r).

    >>> tx.nn.PixelShuffle(2)(tx.ones(1, 8, 3, 3)).shape
    Size([1, 2, 6, 6])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> Any:
        """Shuffle."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels become channels: what `PixelShuffle` does, undone.

    >>> tx.nn.PixelUnshuffle(2)(tx.ones(1, 2, 6, 6)).shape
    Size([1, 8, 3, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> Any:
        """Unshuffle."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"
