"""Layers that resize."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class Upsample(Module):
    """Resize to `size`, or by `scale_factor`; see `nn.functional.interpolate` for the modes.

    >>> tx.nn.Upsample(scale_factor=2, mode="bilinear")(tx.ones(1, 1, 3, 3)).shape
    Size([1, 1, 6, 6])
    """

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.size = size
        self.scale_factor = (
            tuple(map(float, scale_factor))
            if isinstance(scale_factor, (tuple, list))
            else float(scale_factor) if scale_factor else None
        )  # fmt: skip
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Any) -> Any:
        """Resize."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Size or factor, and the mode."""
        which = "size" if self.scale_factor is None else "scale_factor"
        return f"{which}={getattr(self, which)}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images by the nearest pixel.

    >>> tx.nn.UpsamplingNearest2d(scale_factor=2)(tx.ones(1, 1, 3, 3)).shape
    Size([1, 1, 6, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images bilinearly, with aligned corners.

    >>> tx.nn.UpsamplingBilinear2d(scale_factor=2)(tx.ones(1, 1, 3, 3)).shape
    Size([1, 1, 6, 6])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
