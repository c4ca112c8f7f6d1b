"""Pooling layers."""

from typing import Any

from thixo.nn import functional as F
from thixo.nn.modules.module import Module


class _Pool(Module):
    """A layer that calls one function with its own attributes."""

    function: str
    options: tuple[str, ...]
    shown: tuple[str, ...] = ()

    def _keep(self, **options: Any) -> None:
        for name, value in options.items():
            setattr(self, name, value)

    def forward(self, input: Any) -> Any:
        """Pool (batch, channels, sizes), or the same without a batch."""
        return getattr(F, self.function)(
            input, **{name: getattr(self, name) for name in self.options}
        )

    def extra_repr(self) -> str:
        """The options."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.shown or self.options)


class MaxPool1d(_Pool):
    """The largest value in each window of a signal.

    >>> tx.nn.MaxPool1d(2)(tx.tensor([[1.0, 5.0, 2.0, 3.0]]))
    tensor([[5., 3.]])
    """

    function = "max_pool1d"
    options = ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
    shown = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self._keep(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride,
            padding=padding, dilation=dilation, return_indices=return_indices,
            ceil_mode=ceil_mode,
        )  # fmt: skip


class MaxPool2d(MaxPool1d):
    """The largest value in each window of an image.

    >>> tx.nn.MaxPool2d(2)(tx.ones(1, 3, 4, 6)).shape
    Size([1, 3, 2, 3])
    """

    function = "max_pool2d"


class MaxPool3d(MaxPool1d):
    """The largest value in each window of a volume.

    >>> tx.nn.MaxPool3d(2)(tx.ones(1, 3, 4, 6, 2)).shape
    Size([1, 3, 2, 3, 1])
    """

    function = "max_pool3d"


class AvgPool1d(_Pool):
    """The average of each window of a signal.

    >>> tx.nn.AvgPool1d(2)(tx.tensor([[1.0, 5.0, 2.0, 4.0]]))
    tensor([[3., 3.]])
    """

    function = "avg_pool1d"
    options: tuple[str, ...] = (
        "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad",
    )  # fmt: skip
    shown = ("kernel_size", "stride", "padding")

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._keep(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride,
            padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad,
        )  # fmt: skip


class AvgPool2d(AvgPool1d):
    """The average of each window of an image.

    >>> tx.nn.AvgPool2d(2)(tx.ones(1, 3, 4, 6)).shape
    Size([1, 3, 2, 3])
    """

    function = "avg_pool2d"
    options: tuple[str, ...] = (*AvgPool1d.options, "divisor_override")

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


class AvgPool3d(AvgPool2d):
    """The average of each window of a volume.

    >>> tx.nn.AvgPool3d(2)(tx.ones(1, 3, 4, 6, 2)).shape
    Size([1, 3, 2, 3, 1])
    """

    function = "avg_pool3d"


class LPPool1d(_Pool):
    """The p-norm of each window of a signal.

    >>> tx.nn.LPPool1d(2, 2)(tx.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    function = "lp_pool1d"
    options = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self._keep(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool2d(LPPool1d):
    """The p-norm of each window of an image.

    >>> tx.nn.LPPool2d(2, 2)(tx.ones(1, 2, 2))
    tensor([[[2.]]])
    """

    function = "lp_pool2d"


class LPPool3d(LPPool1d):
    """The p-norm of each window of a volume.

    >>> tx.nn.LPPool3d(1, 2)(tx.ones(1, 2, 2, 2))
    tensor([[[[8.]]]])
    """

    function = "lp_pool3d"


class _AdaptivePool(_Pool):
    options: tuple[str, ...] = ("output_size",)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptivePool):
    """Averages over a wanted number of bins.

    >>> tx.nn.AdaptiveAvgPool1d(2)(tx.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5000, 3.5000]])
    """

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """Averages of an image over a wanted grid of bins; None keeps a size.

    >>> tx.nn.AdaptiveAvgPool2d((1, None))(tx.ones(1, 2, 5, 3)).shape
    Size([1, 2, 1, 3])
    """

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """Averages of a volume over a wanted grid of bins; None keeps a size.

    >>> tx.nn.AdaptiveAvgPool3d(1)(tx.ones(1, 2, 5, 3, 3)).shape
    Size([1, 2, 1, 1, 1])
    """

    function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_AdaptivePool):
    """The largest values of a wanted number of bins.

    >>> tx.nn.AdaptiveMaxPool1d(2)(tx.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[2., 4.]])
    """

    function = "adaptive_max_pool1d"
    options = ("output_size", "return_indices")
    shown = ("output_size",)

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The largest values of an image's bins.

    >>> tx.nn.AdaptiveMaxPool2d(2)(tx.ones(1, 2, 5, 3)).shape
    Size([1, 2, 2, 2])
    """

    function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(AdaptiveMaxPool1d):
    """The largest values of a volume's bins.

    >>> tx.nn.AdaptiveMaxPool3d(1)(tx.ones(1, 2, 5, 3, 3)).shape
    Size([1, 2, 1, 1, 1])
    """

    function = "adaptive_max_pool3d"


class FractionalMaxPool2d(_Pool):
    """The largest values of windows at random places.

    >>> tx.nn.FractionalMaxPool2d(2, output_ratio=0.5)(tx.ones(1, 2, 6, 6)).shape
    Size([1, 2, 3, 3])
    """

    function = "fractional_max_pool2d"
    options = ("kernel_size", "output_size", "output_ratio", "return_indices", "_random_samples")
    shown = ("kernel_size", "output_size", "output_ratio")

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.register_buffer("_random_samples", _random_samples, persistent=False)
        self._keep(
            kernel_size=kernel_size, output_size=output_size, output_ratio=output_ratio,
            return_indices=return_indices,
        )  # fmt: skip


class FractionalMaxPool3d(FractionalMaxPool2d):
    """The largest values of boxes at random places.

    >>> tx.nn.FractionalMaxPool3d(2, output_size=2)(tx.ones(1, 2, 6, 6, 6)).shape
    Size([1, 2, 2, 2, 2])
    """

    function = "fractional_max_pool3d"


class MaxUnpool1d(_Pool):
    """Puts pooled values back where `MaxPool1d` found them.

    >>> y, where = tx.nn.MaxPool1d(2, return_indices=True)(tx.tensor([[1.0, 5.0]]))
    >>> tx.nn.MaxUnpool1d(2)(y, where)
    tensor([[0., 5.]])
    """

    function = "max_unpool1d"
    options = ("kernel_size", "stride", "padding")

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self._keep(
            kernel_size=kernel_size, stride=kernel_size if stride is None else stride,
            padding=padding,
        )  # fmt: skip

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:  # type: ignore[override]
        """Spread the values; `output_size` chooses among the sizes that would pool to the input's."""
        function = getattr(F, self.function)
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(MaxUnpool1d):
    """Puts pooled values back where `MaxPool2d` found them.

    >>> y, where = tx.nn.MaxPool2d(2, return_indices=True)(tx.ones(1, 2, 4, 4))
    >>> tx.nn.MaxUnpool2d(2)(y, where).sum()
    tensor(8.)
    """

    function = "max_unpool2d"


class MaxUnpool3d(MaxUnpool1d):
    """Puts pooled values back where `MaxPool3d` found them.

    >>> y, where = tx.nn.MaxPool3d(2, return_indices=True)(tx.ones(1, 2, 4, 4, 2))
    >>> tx.nn.MaxUnpool3d(2)(y, where).sum()
    tensor(8.)
    """

    function = "max_unpool3d"
