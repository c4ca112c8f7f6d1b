"""The options that all operators that make tensors share."""

import math
from typing import Any

from thixo.device import as_device
from thixo.dtype import DType, get_default_dtype
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from thixo.shape import Dim, shape_text

MOST_ELEMENTS = 2**59  # of 16 bytes each


def check_options(operation: str, device: Any = None, layout: Any = None) -> None:
    """Refuse a device that does not exist and a layout other than strided."""
    if device is not None:
        as_device(device)
    if layout is not None and not str(layout).endswith("strided"):
        raise ArgumentError(f"{operation}: the only layout is strided, got {layout!r}")


def check_memory_format(operation: str, memory_format: Any) -> None:
    """Refuse a memory format other than those that keep elements in row order."""
    known = ("contiguous_format", "preserve_format")
    if memory_format is not None and not str(memory_format).endswith(known):
        raise ArgumentError(
            f"{operation}: tensors lie row by row; memory_format must be contiguous_format or "
            f"preserve_format, got {memory_format!r}"
        )


def check_size(operation: str, size: tuple[Any, ...]) -> tuple[Any, ...]:
    """A shape without negative sizes, of no more elements than memory can have."""
    known = [n for n in size if not isinstance(n, Dim)]
    if any(n < 0 for n in known):
        raise ValueRangeError(f"{operation}: sizes cannot be negative, got {shape_text(size)}")
    if math.prod(n for n in known if n) > MOST_ELEMENTS:
        raise ShapeError(
            f"{operation}: the size of {shape_text(size)} in bytes does not fit in 64 bits"
        )
    return tuple(size)


def float_type(operation: str, dtype: DType | None) -> DType:
    """The dtype of random floats: the default, or a given floating one."""
    dtype = dtype or get_default_dtype()
    if not (dtype.is_floating_point or dtype.is_complex):
        raise DTypeError(f"{operation}: needs a floating-point dtype, got {dtype.name}")
    return dtype
