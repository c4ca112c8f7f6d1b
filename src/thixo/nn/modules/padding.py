"""Layers that pad."""

from typing import Any

from thixo.errors import ShapeError, describe
from thixo.nn import functional as F
from thixo.nn.modules.conv import each
from thixo.nn.modules.module import Module


class _Pad(Module):
    axes: int
    mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = each(padding, 2 * self.axes)

    def forward(self, input: Any) -> Any:
        """Pad the last axes: (first of the last axis, its end, first of the one before, ...)."""
        if self.mode != "constant" and input.ndim not in (self.axes + 1, self.axes + 2):
            raise ShapeError(
                f"{type(self).__name__}: input is {describe(input)}; it must have {self.axes + 1} "
                f"or {self.axes + 2} dimensions"
            )
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        """The padding."""
        return str(self.padding)


class ConstantPad1d(_Pad):
    """Pad the last axis with a value.

    >>> tx.nn.ConstantPad1d(1, 9.0)(tx.ones(1, 2))
    tensor([[9., 1., 1., 9.]])
    """

    axes = 1
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        """Pad with the value."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The padding and the value."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """Pad the last two axes with a value.

    >>> tx.nn.ConstantPad2d(1, 9.0)(tx.ones(1, 1, 1)).sum()
    tensor(73.)
    """

    axes = 2


class ConstantPad3d(ConstantPad1d):
    """Pad the last three axes with a value.

    >>> tx.nn.ConstantPad3d(1, 1.0)(tx.ones(1, 1, 1, 1)).sum()
    tensor(27.)
    """

    axes = 3


class ZeroPad1d(ConstantPad1d):
    """Pad the last axis with zeros.

    >>> tx.nn.ZeroPad1d((0, 2))(tx.ones(1, 2))
    tensor([[1., 1., 0., 0.]])
    """

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The padding."""
        return str(self.padding)


class ZeroPad2d(ZeroPad1d):
    """Pad the last two axes with zeros.

    >>> tx.nn.ZeroPad2d(1)(tx.ones(1, 2, 2)).shape
    Size([1, 4, 4])
    """

    axes = 2


class ZeroPad3d(ZeroPad1d):
    """Pad the last three axes with zeros.

    >>> tx.nn.ZeroPad3d(1)(tx.ones(1, 2, 2, 2)).shape
    Size([1, 4, 4, 4])
    """

    axes = 3


class ReflectionPad1d(_Pad):
    """Pad the last axis with its mirror image.

    >>> tx.nn.ReflectionPad1d(1)(tx.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    axes = 1
    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Pad the last two axes with their mirror image.

    >>> tx.nn.ReflectionPad2d(1)(tx.ones(1, 2, 2)).shape
    Size([1, 4, 4])
    """

    axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """Pad the last three axes with their mirror image.

    >>> tx.nn.ReflectionPad3d(1)(tx.ones(1, 2, 2, 2)).shape
    Size([1, 4, 4, 4])
    """

    axes = 3


class ReplicationPad1d(_Pad):
    """Pad the last axis by repeating its ends.

    >>> tx.nn.ReplicationPad1d(1)(tx.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 2., 2.]])
    """

    axes = 1
    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Pad the last two axes by repeating their ends.

    >>> tx.nn.ReplicationPad2d(1)(tx.ones(1, 2, 2)).shape
    Size([1, 4, 4])
    """

    axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """Pad the last three axes by repeating their ends.

    >>> tx.nn.ReplicationPad3d(1)(tx.ones(1, 2, 2, 2)).shape
    Size([1, 4, 4, 4])
    """

    axes = 3


class CircularPad1d(_Pad):
    """Pad the last axis with its other end.

    >>> tx.nn.CircularPad1d(1)(tx.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    axes = 1
    mode = "circular"


class CircularPad2d(CircularPad1d):
    """Pad the last two axes with their other ends.

    >>> tx.nn.CircularPad2d(1)(tx.ones(1, 2, 2)).shape
    Size([1, 4, 4])
    """

    axes = 2


class CircularPad3d(CircularPad1d):
    """Pad the last three axes with their other ends.

    >>> tx.nn.CircularPad3d(1)(tx.ones(1, 2, 2, 2)).shape
    Size([1, 4, 4, 4])
    """

    axes = 3
