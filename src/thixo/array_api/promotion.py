"""The standard's promotion: an array counts by its dtype whatever its rank, a number by its category.

PyTorch lets a 0-d tensor take part by its category only, so functions of two arrays first bring their
arguments together here; the operator then sees one dtype.
"""

from typing import Any

from thixo.dtype import DType, combine, int64, type_of_number, uint64
from thixo.errors import ArgumentError, describe
from thixo.ops import public as tx
from thixo.tensor import Tensor, tensor

Number = bool | int | float | complex


def result_type(*arrays_and_dtypes: Tensor | DType | Number) -> DType:
    """The dtype that an operation between these arrays, dtypes and numbers gives.

    >>> import thixo.array_api as xp
    >>> xp.result_type(xp.asarray(1.0, dtype=xp.float64), xp.ones(3), 2)
    thixo.float64
    """
    arrays: list[DType] = []
    numbers: list[DType] = []
    for value in arrays_and_dtypes:
        if isinstance(value, DType):
            arrays.append(value)
        elif isinstance(value, Tensor):
            arrays.append(value.dtype)
        elif isinstance(value, Number):
            numbers.append(type_of_number(value))
        else:
            raise ArgumentError(
                f"result_type: needs arrays, dtypes and numbers, got {describe(value)}"
            )
    return combine(arrays, [], numbers)


def together(*operands: Tensor | Number, op: str) -> tuple[Tensor, ...]:
    """The operands as arrays of their common dtype."""
    for operand in operands:
        if not isinstance(operand, Tensor | Number):
            raise ArgumentError(f"{op}: needs arrays or numbers, got {describe(operand)}")
    if not any(isinstance(operand, Tensor) for operand in operands):
        raise ArgumentError(f"{op}: needs at least one array, got {describe(operands)}")
    common = result_type(*operands)
    return tuple(convert(operand, common) for operand in operands)


def convert(operand: Any, dtype: DType) -> Tensor:
    """An array or number as an array of a dtype."""
    if not isinstance(operand, Tensor):
        return tensor(operand, dtype=dtype)
    return operand if operand.dtype is dtype else tx.to(operand, dtype)


def accumulator(x: Tensor, dtype: DType | None) -> DType:
    """The dtype of a sum: integers grow to 64 bits and keep their sign, other types stay.

    The standard asks for this in `sum`, `prod`, `cumulative_sum`, `cumulative_prod` and `trace`.
    """
    if dtype is not None:
        return dtype
    if x.dtype.kind == "u":
        return uint64
    return int64 if x.dtype.kind in "bi" else x.dtype
