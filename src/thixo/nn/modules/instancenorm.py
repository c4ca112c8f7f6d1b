"""Instance norm layers: each channel of each sample by itself."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.batchnorm import RunningNorm


class _InstanceNorm(RunningNorm):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Any) -> Any:
        """Normalise each channel of each sample; a batch may be missing."""
        self._check_rank(input)
        lone = input.ndim == self.ranks[0]
        if self.affine:
            self._check_channels(input, 0 if lone else 1)
        x = input.unsqueeze(0) if lone else input
        by_input = self.training or not self.track_running_stats
        y = F.instance_norm(
            x, *self._statistics(by_input), self.weight, self.bias, by_input,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return y.squeeze(0) if lone else y


class InstanceNorm1d(_InstanceNorm):
    """Instance norm of signals (batch, channels, length), or one without batch.

    >>> tx.nn.InstanceNorm1d(2)(tx.randn(3, 2, 5)).shape
    Size([3, 2, 5])
    """

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance norm of images (batch, channels, height, width), or one without batch.

    >>> tx.nn.InstanceNorm2d(2, affine=True)(tx.randn(3, 2, 5, 5)).shape
    Size([3, 2, 5, 5])
    """

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance norm of volumes (batch, channels, depth, height, width), or one without batch.

    >>> tx.nn.InstanceNorm3d(2)(tx.randn(1, 2, 2, 3, 3)).shape
    Size([1, 2, 2, 3, 3])
    """

    ranks = (4, 5)
