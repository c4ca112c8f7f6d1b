"""Plain numbers out of arguments that may be anything: an int, a real number, or a clear refusal."""

import math
import operator
from typing import Any

import numpy as np

from thixo.errors import ArgumentError, DTypeError, ValueRangeError, describe
from thixo.shape import is_symbolic


def whole(op: str, name: str, value: Any) -> Any:
    """An int (or a symbolic size) from what was given: an int, NumPy's, or a 0-d integer tensor.

    >>> whole("narrow", "start", 2)
    2
    """
    if is_symbolic(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        if getattr(value, "ndim", None) == 0 and getattr(dtype, "kind", "") in ("i", "u"):
            return int(value.item())
    elif not isinstance(value, bool | float | str):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise ArgumentError(f"{op}: {name} must be an int, got {describe(value)}")


def real(op: str, name: str, value: Any) -> float:
    """A real number from what was given.

    >>> real("interpolate", "scale_factor", 2)
    2.0
    """
    if isinstance(value, int | float) or hasattr(value, "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise ArgumentError(f"{op}: {name} must be a real number, got {describe(value)}")


def ordered(op: str, **numbers: Any) -> None:
    """Refuse numbers that have no order: complex ones, and nan.

    >>> ordered("hardtanh", min_val=-1.0, max_val=1.0)
    """
    for name, value in numbers.items():
        if isinstance(value, complex) or (isinstance(value, float) and math.isnan(value)):
            raise ArgumentError(f"{op}: {name} must be a real number, got {describe(value)}")


def number_in(op: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """A number as an element of a NumPy dtype: an integer must fit, a negative one wraps if unsigned.

    >>> number_in("scatter", -1, np.dtype(np.uint8))
    np.uint8(255)
    """
    if isinstance(value, complex) and dtype.kind != "c":
        raise DTypeError(f"{op}: the complex {value} does not fit in {dtype.name}")
    if dtype.kind in "iu":
        most = int(np.iinfo(dtype).max)
        if not -most - 1 <= value <= most:  # nan is refused too
            raise ValueRangeError(f"{op}: {value} does not fit in {dtype.name}")
        value = int(value) % 2 ** (8 * dtype.itemsize) if dtype.kind == "u" else int(value)
    return dtype.type(value)
