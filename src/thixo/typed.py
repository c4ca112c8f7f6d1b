"""Tensors by their element type, as older PyTorch programs write them: `FloatTensor`, `LongTensor`.

>>> import thixo as tx
>>> tx.LongTensor([1, 2])
tensor([1, 2])
>>> isinstance(tx.ones(2), tx.FloatTensor)
True

New programs say `tx.tensor([1, 2], dtype=tx.int64)`.
"""

from typing import Any

from thixo.dtype import BY_NAME, DType
from thixo.ops import public
from thixo.queries import TYPED
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


def _typed(name: str) -> Any:
    dtype = BY_NAME[TYPED[name]]
    doc = (
        f"A tensor of {dtype.name}, from sizes or from data.\n\n"
        f">>> {name}([1, 0]).dtype\nthixo.{dtype.name}\n"
    )
    return _Typed(name, (), {"dtype": dtype, "__doc__": doc, "__module__": __name__})


FloatTensor = _typed("FloatTensor")
DoubleTensor = _typed("DoubleTensor")
HalfTensor = _typed("HalfTensor")
BFloat16Tensor = _typed("BFloat16Tensor")
LongTensor = _typed("LongTensor")
IntTensor = _typed("IntTensor")
ShortTensor = _typed("ShortTensor")
CharTensor = _typed("CharTensor")
ByteTensor = _typed("ByteTensor")
BoolTensor = _typed("BoolTensor")
