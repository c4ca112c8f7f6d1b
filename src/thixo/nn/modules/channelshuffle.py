"""Channels interleaved."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class ChannelShuffle(Module):
    """Interleave the channels of groups.

    >>> tx.nn.ChannelShuffle(2)(tx.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Any) -> Any:
        """Shuffle."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"
