"""Layers that drop values at random in training."""

from typing import Any

from thixo.errors import ValueRangeError
from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class _DropoutNd(Module):
    function: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueRangeError(
                f"{type(self).__name__}: p is {p}; a probability is between 0 and 1"
            )
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """In training, drop with probability p; otherwise the input."""
        return getattr(F, self.function)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero elements with probability p and scale up the rest.

    >>> tx.nn.Dropout(0.2).eval()(tx.ones(3))
    tensor([1., 1., 1.])
    """

    function = "dropout"


class Dropout1d(_DropoutNd):
    """Zero whole channels of signals (batch, channels, length).

    >>> tx.nn.Dropout1d(0.2).eval()(tx.ones(1, 2, 2)).sum()
    tensor(4.)
    """

    function = "dropout1d"


class Dropout2d(_DropoutNd):
    """Zero whole channels of images (batch, channels, height, width).

    >>> tx.nn.Dropout2d(0.2).eval()(tx.ones(1, 2, 2, 2)).sum()
    tensor(8.)
    """

    function = "dropout2d"


class Dropout3d(_DropoutNd):
    """Zero whole channels of volumes (batch, channels, depth, height, width).

    >>> tx.nn.Dropout3d(0.2).eval()(tx.ones(1, 2, 1, 2, 2)).sum()
    tensor(8.)
    """

    function = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout for self-normalising networks, which keeps mean and variance.

    >>> tx.nn.AlphaDropout(0.2).eval()(tx.ones(3))
    tensor([1., 1., 1.])
    """

    function = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    >>> tx.nn.FeatureAlphaDropout(0.2).eval()(tx.ones(1, 2, 2)).sum()
    tensor(4.)
    """

    function = "feature_alpha_dropout"
