"""Questions about tensors with plain Python answers, and methods that need no operator of their own.

All are methods of Tensor; those in `__all__` are functions of `tx` too.
"""

from typing import Any

from thixo._core import Tensor
from thixo.dtype import BY_NAME, DType
from thixo.errors import ArgumentError, ShapeError, describe
from thixo.layout import layout, strided
from thixo.ops import public

__all__ = [
    "get_device",
    "is_complex",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "numel",
]

# What older programs call a tensor of each element type.
TYPED = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


def _require_tensor(op: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise ArgumentError(f"{op}: needs a Tensor, got {describe(input)}")


# ---- kinds of numbers


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers.

    >>> tx.is_complex(tx.tensor([1j])), tx.ones(2).is_complex()
    (True, False)
    """
    _require_tensor("is_complex", input)
    return input.dtype.is_complex


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers.

    >>> tx.is_floating_point(tx.ones(2)), tx.tensor([1]).is_floating_point()
    (True, False)
    """
    _require_tensor("is_floating_point", input)
    return input.dtype.is_floating_point


def is_signed(input: Tensor) -> bool:
    """Whether the elements may be negative.

    >>> tx.is_signed(tx.tensor([1])), tx.tensor([1], dtype=tx.uint8).is_signed()
    (True, False)
    """
    _require_tensor("is_signed", input)
    return input.dtype.is_signed


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero.

    >>> tx.is_nonzero(tx.tensor([0.5])), tx.tensor(0).is_nonzero()
    (True, False)
    """
    _require_tensor("is_nonzero", input)
    if input.numel() != 1:
        raise ShapeError(f"is_nonzero: needs one element, input is {describe(input)}")
    return bool(input.item())


def is_conj(input: Tensor) -> bool:
    """Whether a conjugate is still to be taken: never, it is taken at once.

    >>> tx.is_conj(tx.tensor([1j]).conj())
    False
    """
    _require_tensor("is_conj", input)
    return False


def is_neg(input: Tensor) -> bool:
    """Whether a negation is still to be done: never, it is done at once.

    >>> tx.is_neg(-tx.ones(2))
    False
    """
    _require_tensor("is_neg", input)
    return False


# ---- sizes and places


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> tx.numel(tx.ones(2, 3))
    6
    """
    _require_tensor("numel", input)
    return input.numel()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    >>> tx.is_same_size(tx.ones(2, 1), tx.ones(2))
    False
    """
    _require_tensor("is_same_size", input)
    _require_tensor("is_same_size", other)
    return input.shape == other.shape


def get_device(input: Tensor) -> int:
    """The number of the device, -1 for the CPU.

    >>> tx.get_device(tx.ones(2))
    -1
    """
    _require_tensor("get_device", input)
    index = input.device.index
    return -1 if index is None else index


def is_inference(input: Tensor) -> bool:
    """Whether a tensor was made in inference_mode, and so never is part of a tape.

    >>> with tx.inference_mode():
    ...     x = tx.ones(2)
    >>> tx.is_inference(x)
    True
    """
    _require_tensor("is_inference", input)
    return input.is_inference()


# ---- methods only


def _new_tensor(self: Tensor, data: Any, *, dtype: Any = None, **options: Any) -> Tensor:
    """A tensor of data, in this tensor's dtype unless another is given.

    >>> tx.ones(1, dtype=tx.float64).new_tensor([1, 2]).dtype
    thixo.float64
    """
    from thixo.tensor import tensor

    return tensor(data, dtype=dtype or self.dtype, **options)


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The older name of this tensor's type, or the tensor converted to another.

    >>> tx.ones(1).type(), tx.ones(1).type(tx.int64).type()
    ('thixo.FloatTensor', 'thixo.LongTensor')
    """
    if dtype is None:
        named = {value: key for key, value in TYPED.items()}
        return "thixo." + named.get(self.dtype.name, self.dtype.name)
    if isinstance(dtype, str):
        short = dtype.rpartition(".")[2]
        dtype = BY_NAME.get(TYPED.get(short, short))
    wanted = dtype if isinstance(dtype, DType) else getattr(dtype, "dtype", None)
    if not isinstance(wanted, DType):
        raise ArgumentError(f"type: needs a dtype or the name of one, got {describe(dtype)}")
    return self.to(wanted)


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, the other elsewhere.

    >>> x = tx.tensor([-1.0, 2.0])
    >>> x.where(x > 0, 0)
    tensor([0., 2.])
    """
    made: Tensor = public.where(condition, self, other)
    return made


def _polygamma(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma at this tensor.

    >>> tx.tensor([1.0]).polygamma(1)
    tensor([1.6449])
    """
    made: Tensor = public.polygamma(n, self)
    return made


def _layout(self: Tensor) -> layout:
    """How the elements lie in memory: strided.

    >>> tx.ones(2).layout
    thixo.strided
    """
    return strided


METHODS: dict[str, Any] = {
    **{name: globals()[name] for name in __all__ if name not in ("numel", "is_inference")},
    "is_cpu": property(lambda self: True, doc="Whether it is in the memory of the CPU."),
    "is_pinned": lambda self: False,
    "layout": property(_layout),
    "new_tensor": _new_tensor,
    "polygamma": _polygamma,
    "type": _type,
    "where": _where,
}
