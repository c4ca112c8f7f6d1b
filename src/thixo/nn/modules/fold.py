"""Windows of images as columns, and back."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class _Windows(Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = tuple(options)
        for name, value in options.items():
            setattr(self, name, value)

    def extra_repr(self) -> str:
        """The options."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.options)


class Unfold(_Windows):
    """The windows of images as columns (batch, channels * taps, places).

    >>> tx.nn.Unfold(2)(tx.ones(1, 3, 4, 4)).shape
    Size([1, 12, 9])
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, input: Any) -> Any:
        """Unfold."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(_Windows):
    """Columns of windows added up to images again.

    >>> tx.nn.Fold((4, 4), 2)(tx.ones(1, 12, 9)).shape
    Size([1, 3, 4, 4])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
        stride: Any = 1,
    ) -> None:  # fmt: skip
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding,
            stride=stride,
        )  # fmt: skip

    def forward(self, input: Any) -> Any:
        """Fold."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )
