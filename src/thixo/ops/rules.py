"""What gradient rules share. All of it is public operators, so rules trace and differentiate again."""

from collections.abc import Sequence
from typing import Any

from thixo.ops import public as tx
from thixo.shape import normalize_dim


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
    return hasattr(x, "dtype") and hasattr(x, "shape")


def real_if(x: Any, real: bool) -> Any:
    """The real part where `real` says so: a gradient towards a real input."""
    return x.real if real and is_complex(x) else x


def reduced_dims(dim: int | Sequence[int] | None, ndim: int, operation: str) -> tuple[int, ...]:
    """The axes a reduction runs over, ascending; all of them for None or ()."""
    if dim is None or (isinstance(dim, Sequence) and len(dim) == 0):
        return tuple(range(ndim))
    if not isinstance(dim, Sequence):
        dim = (dim,)
    return tuple(sorted(normalize_dim(d, ndim, operation) for d in dim))


def keep_dims(x: Any, input_type: Any, dim: Any, keepdim: bool) -> Any:
    """A reduction's result (or its gradient) with size-1 axes where `input` was reduced."""
    if keepdim or len(input_type.shape) == 0:  # dim 0 of a scalar reduces nothing
        return x
    for d in reduced_dims(dim, len(input_type.shape), "gradient"):
        x = tx.unsqueeze(x, d)
    return x


def unreduce(g: Any, input_type: Any, dim: Any, keepdim: bool) -> Any:
    """A reduction's gradient, repeated over the axes that were reduced: input's shape again."""
    return tx.expand(keep_dims(g, input_type, dim, keepdim), tuple(input_type.shape))


def where_zero(condition: Any, x: Any) -> Any:
    """x, but 0 (and no NaN from x) where the condition holds."""
    return tx.where(condition, 0, x)
