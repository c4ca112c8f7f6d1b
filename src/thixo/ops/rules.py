"""What gradient rules of several files share: operands that are tensors or plain numbers."""

from typing import Any


def conj(x: Any) -> Any:
    """The complex conjugate of a tensor or a number; a real one is returned as it is.

    >>> conj(1 + 2j)
    (1-2j)
    """
    if isinstance(x, complex):
        return x.conjugate()
    return x.conj() if is_complex(x) else x


def is_complex(x: Any) -> bool:
    """Whether a tensor, a type or a number is complex."""
    dtype = getattr(x, "dtype", None)
    return isinstance(x, complex) if dtype is None else dtype.is_complex


def is_tensor(x: Any) -> bool:
    """Whether an operand is a tensor and no plain number."""
    return hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, type)
