"""The native core: Tensor, Operator, the tape and its engine, kernels, thread pool.

The C++ library in `core/` knows nothing of Python; `binding/` makes it the module `_native`. Here the
binding learns the Python objects it speaks of: error classes, dtypes, devices, symbolic sizes.
"""

import os

from thixo import errors, shape
from thixo._core._native import *  # noqa: F403
from thixo._core._native import Tensor, configure, set_default_float
from thixo.device import device
from thixo.dtype import ALL, default_listeners

__all__ = ["Tensor", "Size"]


class Size(tuple[int, ...]):
    """The sizes of a tensor: a tuple that can count its elements.

    >>> Size((2, 3)).numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """The product of the sizes."""
        return shape.numel(self)

    def __repr__(self) -> str:
        return f"Size({list(self)})"

    def __add__(self, other: tuple[int, ...]) -> "Size":  # type: ignore[override]
        return Size(tuple(self) + tuple(other))

    def __getitem__(self, index):  # type: ignore[no-untyped-def, override]
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part


configure(
    package=os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), ""),
    errors=(
        errors.ShapeError,
        errors.DTypeError,
        errors.DeviceError,
        errors.IndexOutOfRange,
        errors.ArgumentError,
        errors.AutogradError,
        errors.InplaceError,
        errors.OutOfMemory,
        errors.InternalError,
        errors.ValueRangeError,
    ),
    lead_error=errors.lead_error,
    dtypes=ALL,
    dim=shape.Dim,
    size=Size,
    device=device("cpu"),
    device_class=device,
)
default_listeners.append(set_default_float)
