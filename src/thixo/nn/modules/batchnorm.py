"""Batch norm layers, and the running statistics they share with instance norm."""

from typing import Any

import thixo as tx
from thixo.errors import ShapeError, describe
from thixo.graph.trace import stored
from thixo.nn import functional as F
from thixo.nn import init
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter


class RunningNorm(Module):
    """Scale, shift and running statistics of each channel."""

    ranks: tuple[int, ...]  # of inputs that are taken
    _version = 2

    def __init__(
        self, num_features: int, eps: float, momentum: float | None, affine: bool,
        track_running_stats: bool, device: Any, dtype: Any, bias: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        made = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(tx.empty(num_features, **made)) if wanted else None
            self.register_parameter(name, value)
        for name in ("running_mean", "running_var"):
            self.register_buffer(
                name, tx.zeros(num_features, **made) if track_running_stats else None
            )
        count = tx.tensor(0) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, no statistics."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_rank(self, input: Any) -> None:
        if input.ndim not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise ShapeError(
                f"{type(self).__name__}: input is {describe(input)}; it must have {ranks} dimensions"
            )

    def _check_channels(self, input: Any, axis: int) -> None:
        if input.shape[axis] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}: input is {describe(input)}; it must have "
                f"{self.num_features} channels"
            )

    def _statistics(self, written: bool) -> tuple[Any, Any]:
        """Mean and variance to write to, or as they are kept: in a declared graph an earlier training pass may be pending."""
        mean, var = self.running_mean, self.running_var
        return (mean, var) if written else (stored(mean), stored(var))

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(RunningNorm):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        )

    def forward(self, input: Any) -> Any:
        """Normalise each channel over the batch; in evaluation by the running statistics."""
        self._check_rank(input)
        self._check_channels(input, 1)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain average of all batches
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        mean, var = self._statistics(by_batch)
        return F.batch_norm(
            input, mean if keep else None, var if keep else None,
            self.weight, self.bias, by_batch, momentum, self.eps,
        )  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """Batch norm of features (batch, channels) or signals (batch, channels, length).

    >>> layer = tx.nn.BatchNorm1d(3)
    >>> layer(tx.randn(8, 3)).mean(0).abs().max() < 1e-5
    tensor(True)
    """

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch norm of images (batch, channels, height, width).

    >>> layer = tx.nn.BatchNorm2d(3).eval()
    >>> layer(tx.ones(2, 3, 4, 4)).shape
    Size([2, 3, 4, 4])
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch norm of volumes (batch, channels, depth, height, width).

    >>> tx.nn.BatchNorm3d(2)(tx.ones(1, 2, 2, 2, 2)).shape
    Size([1, 2, 2, 2, 2])
    """

    ranks = (5,)
