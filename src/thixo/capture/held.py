"""Values of other libraries that captured code may look into: they are compared by what they hold.

A fraction, a date, a path or a number of NumPy's stays what it is. An array or a buffer may be written: what it held is copied.
"""

import array
import sys
from typing import Any

import numpy as np

from thixo import _core

BUFFERS = np.ndarray | bytearray | memoryview | array.array
LIBRARIES = sys.stdlib_module_names | {"numpy"}


class Held:
    """What an array or a buffer held at some moment."""

    def __init__(self, x: Any) -> None:
        self.kind = type(x)
        data = np.asarray(x)
        self.content = (data.dtype.str, data.shape, data.tobytes())

    def is_of(self, x: Any) -> bool:
        """Whether another one holds the same."""
        return type(x) is self.kind and Held(x).content == self.content

    def __repr__(self) -> str:
        return f"a {self.kind.__name__} {self.content[0][1:]}{list(self.content[1])}"


class Kind(Held):
    """What was asked of a tensor whose numbers the program does not read: its dtype, sizes and device."""

    def __init__(self, x: Any) -> None:
        self.kind = type(x)
        self.content = (x.dtype, tuple(x.shape), x.device)

    def is_of(self, x: Any) -> bool:
        """Whether another tensor is of that kind."""
        return isinstance(x, _core.Tensor) and Kind(x).content == self.content

    def __repr__(self) -> str:
        return f"a tensor {self.content[0]} {list(self.content[1])}"


def held(x: Any) -> Any:
    """What to compare others with; None for objects that are no such values."""
    if isinstance(x, BUFFERS):
        return Held(x)
    return x if is_value(x) else None


def is_value(x: Any) -> bool:
    """Whether an object of a library stays what it is, and is equal to others that hold the same."""
    kind = type(x)
    module = kind.__module__
    return (
        isinstance(module, str)  # functions of the core have one each, their class has none
        and module != "builtins"
        and module.partition(".")[0] in LIBRARIES
        and kind.__eq__ is not object.__eq__
        and kind.__hash__ not in (None, object.__hash__)
        and not hasattr(x, "__dict__")
        and not callable(x)
    )
