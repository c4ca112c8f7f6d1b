"""Functions about data types."""

from typing import Any

from thixo.array_api.promotion import result_type
from thixo.device import as_device
from thixo.dtype import (
    BOOL,
    COMPLEX,
    FLOATS,
    PROMOTION,
    SIGNED,
    UNSIGNED,
    DType,
    finfo,
    iinfo,
)
from thixo.errors import ArgumentError, DTypeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.tensor import Tensor

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

KINDS: dict[str, tuple[DType, ...]] = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": FLOATS,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + FLOATS + COMPLEX,
}


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """The array in another dtype; without `copy` the array itself where it has that dtype.

    A complex array has two real ones in it, so it must be asked for its `real` or `imag` first.

    >>> xp.astype(xp.asarray([1.7, -1.7]), xp.int32)
    tensor([ 1, -1], dtype=thixo.int32)
    """
    if x.dtype.is_complex and not dtype.is_complex and dtype is not BOOL[0]:
        raise DTypeError(
            f"astype: {describe(x)} is complex and {dtype.name} is not; take real(x) or imag(x)"
        )
    as_device(device)
    if not copy and x.dtype is dtype:
        return x
    return tx.to(x, dtype, copy=True)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether `to` holds what `from_` becomes when the two meet.

    >>> xp.can_cast(xp.int8, xp.int16), xp.can_cast(xp.int16, xp.int8)
    (True, False)
    """
    given = from_.dtype if isinstance(from_, Tensor) else from_
    for dtype in (given, to):
        if not isinstance(dtype, DType):
            raise ArgumentError(f"can_cast: needs dtypes or an array, got {describe(dtype)}")
    return PROMOTION[given.code][to.code] is to


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is `kind`, of the kind named by a string, or one of several.

    >>> xp.isdtype(xp.int8, "integral"), xp.isdtype(xp.int8, ("bool", xp.int16))
    (True, False)
    """
    if not isinstance(dtype, DType):
        raise ArgumentError(f"isdtype: needs a dtype, got {describe(dtype)}")
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, DType):
        return dtype is kind
    if not isinstance(kind, str):
        raise ArgumentError(f"isdtype: kind must be a dtype or a string, got {describe(kind)}")
    if kind not in KINDS:
        raise ValueRangeError(f"isdtype: there is no kind {kind!r}; known: {', '.join(KINDS)}")
    return dtype in KINDS[kind]
