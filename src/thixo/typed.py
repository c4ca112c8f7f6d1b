"""Tensors by their element type, as older PyTorch programs write them: `FloatTensor`, `LongTensor`.

>>> import thixo as tx
>>> tx.LongTensor([1, 2])
tensor([1, 2])
>>> isinstance(tx.ones(2), tx.FloatTensor)
True

New programs say `tx.tensor([1, 2], dtype=tx.int64)`.
"""

from typing import Any

from thixo.dtype import (
    DType,
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from thixo.dtype import bool as bool_
from thixo.ops import public
from thixo.tensor import Tensor, tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


class _Typed(type):
    """The class of names that make tensors of one element type and recognise them."""

    dtype: DType

    def __call__(cls, *data: Any) -> Tensor:
        """A tensor of sizes, `FloatTensor(2, 3)`, or of data, `FloatTensor([2, 3])`."""
        if len(data) == 1 and not isinstance(data[0], int):
            return tensor(data[0], dtype=cls.dtype)
        made: Tensor = public.empty(data or (0,), dtype=cls.dtype)
        return made

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype


def _typed(name: str, dtype: DType) -> Any:
    doc = (
        f"A tensor of {dtype.name}, from sizes or from data.\n\n"
        f">>> {name}([1, 0]).dtype\nthixo.{dtype.name}\n"
    )
    return _Typed(name, (), {"dtype": dtype, "__doc__": doc, "__module__": __name__})


FloatTensor = _typed("FloatTensor", float32)
DoubleTensor = _typed("DoubleTensor", float64)
HalfTensor = _typed("HalfTensor", float16)
BFloat16Tensor = _typed("BFloat16Tensor", bfloat16)
LongTensor = _typed("LongTensor", int64)
IntTensor = _typed("IntTensor", int32)
ShortTensor = _typed("ShortTensor", int16)
CharTensor = _typed("CharTensor", int8)
ByteTensor = _typed("ByteTensor", uint8)
BoolTensor = _typed("BoolTensor", bool_)
