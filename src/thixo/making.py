"""How tensors are made from Python data, from NumPy arrays and from the memory of other libraries."""

from typing import Any

import numpy as np

from thixo import _core
from thixo._core import Tensor
from thixo.device import as_device
from thixo.dtype import DType, as_dtype, from_numpy_dtype, get_default_dtype
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of the data: a number, nested lists of numbers, an array.

    >>> import thixo as tx
    >>> tx.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    as_device(device)
    dtype = None if dtype is None else as_dtype(dtype, "tensor")
    if isinstance(data, Tensor):
        made = data.detach().clone()
        if dtype is not None and made.dtype is not dtype:
            made = made.to(dtype)
    else:
        made = _core.from_numpy(_array(data, dtype))
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """The data as a tensor, without a copy where that is possible.

    >>> import thixo as tx
    >>> x = tx.ones(2)
    >>> tx.as_tensor(x) is x
    True
    """
    dtype = None if dtype is None else as_dtype(dtype, "as_tensor")
    if isinstance(data, Tensor):
        as_device(device)
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    lent = isinstance(data, np.ndarray) and data.flags.writeable
    if lent and (dtype is None or from_numpy_dtype(data.dtype) is dtype):
        return from_numpy(data)
    return tensor(data, dtype=dtype, device=device)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The object as a tensor; `copy` says whether it must (True) or must not (False) be copied.

    >>> import thixo as tx
    >>> tx.asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    dtype = None if dtype is None else as_dtype(dtype, "asarray")
    if copy:
        return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)
    if hasattr(obj, "__dlpack__") and not isinstance(obj, (Tensor, np.ndarray)):
        made = from_dlpack(obj)
        made = made if dtype is None or made.dtype is dtype else made.to(dtype)
    else:
        made = as_tensor(obj, dtype, device)
    if copy is False and not _shares(made, obj):
        raise ValueRangeError(
            f"asarray: copy=False, but {describe(obj)} can only be had by copying"
        )
    return made.requires_grad_() if requires_grad else made


def _shares(made: Tensor, obj: Any) -> bool:
    if isinstance(obj, Tensor):
        return made is obj
    if isinstance(obj, np.ndarray):
        return np.shares_memory(made._ndarray(), obj)
    return hasattr(obj, "__dlpack__")


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor over the memory of a NumPy array: a change in one is seen in the other.

    >>> import numpy as np, thixo as tx
    >>> a = np.zeros(2)
    >>> t = tx.from_numpy(a); a[0] = 1.0; t
    tensor([1., 0.], dtype=thixo.float64)
    """
    return _core.from_numpy(array)


def is_tensor(obj: Any) -> bool:
    """Whether the object is a Tensor.

    >>> import thixo as tx
    >>> tx.is_tensor(tx.ones(1)), tx.is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)


def construct(*args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(data)` or `Tensor(2, 3)`: the default float dtype, as older code expects."""
    if not args:
        return public.zeros((0,), **kwargs)
    if len(args) == 1 and isinstance(args[0], Tensor) and not kwargs:
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=kwargs.pop("dtype", get_default_dtype()), **kwargs)
    return public.zeros(tuple(args), **kwargs)


def _array(data: Any, dtype: DType | None) -> np.ndarray:
    """A fresh array for nested Python data, with PyTorch's default dtypes."""
    if isinstance(data, np.ndarray):
        from_numpy_dtype(data.dtype)
        return _copied(data, data.dtype.newbyteorder("=") if dtype is None else dtype.numpy)
    if hasattr(data, "__array__") or isinstance(data, np.generic):
        return _array(np.asarray(data), dtype)
    found = _nested(data)
    try:
        array = np.array(found)
        if array.dtype.kind == "f" and _are_large_integers(array, found):
            array = np.array(found, np.uint64)  # NumPy alone makes floats of [2**63, 1]
    except (ValueError, OverflowError) as error:
        raise _explain(data) from error
    if array.dtype == object:
        raise _explain(data)
    if dtype is None:
        if array.dtype.kind == "f" or (array.size == 0 and array.dtype.kind != "b"):
            dtype = get_default_dtype()
        elif array.dtype.kind == "c":
            dtype = get_default_dtype().to_complex()
        elif array.dtype.kind not in "biu":
            raise _explain(data)
    elif array.dtype.kind not in "biufc":
        raise _explain(data)
    elif array.dtype.kind == "c" and not dtype.is_complex:
        raise DTypeError(f"tensor: complex numbers do not fit in {dtype}")
    elif array.dtype.kind in "iu" and dtype.numpy.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        info = np.iinfo(dtype.numpy)
        if low < info.min or high > info.max:
            raise ValueRangeError(
                f"tensor: {low if low < info.min else high} does not fit in {dtype}, which holds "
                f"{info.min} to {info.max}"
            )
    with np.errstate(all="ignore"):
        return array if dtype is None else array.astype(dtype.numpy)


_LINE = 64  # bytes: what a processor moves at once, and vectors should not lie across


def _copied(data: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy that begins where a line of memory does, as tensors made here do, if it is large enough to matter."""
    bytes = data.size * dtype.itemsize
    if bytes < 4096 or not data.flags.c_contiguous:
        return np.array(data, dtype=dtype)
    room = np.empty(bytes + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    made = room[start : start + bytes].view(dtype).reshape(data.shape)
    np.copyto(made, data, casting="unsafe")
    return made


def _are_large_integers(array: np.ndarray, data: Any) -> bool:
    if not (np.abs(array) >= 2.0**63).any():
        return False
    return all(isinstance(x, int) for x in np.array(data, dtype=object).flat)


def _nested(data: Any) -> Any:
    """Lists with tensors in them become lists of arrays; anything else stays."""
    if isinstance(data, Tensor):
        return data.detach().numpy() if data.ndim else data.item()
    if isinstance(data, (list, tuple)):
        return [_nested(x) for x in data]
    return data


def _explain(data: Any) -> Exception:
    """Why nested data is no tensor: ragged, or not numbers."""
    where: list[int] = []

    def walk(x: Any) -> Exception | None:
        if isinstance(x, (list, tuple)):
            for i, item in enumerate(x):
                where.append(i)
                found = walk(item)
                if found:
                    return found
                where.pop()
            sizes = {np.shape(_nested(item)) if _regular(item) else None for item in x}
            if len(sizes) > 1:
                lengths = [len(i) if isinstance(i, (list, tuple)) else "a number" for i in x]
                place = "".join(f"[{i}]" for i in where) or "the outer list"
                return ShapeError(
                    f"tensor: nested lists must be rectangular; at {place} the items have lengths "
                    f"{lengths[:8]}"
                )
            return None
        if isinstance(x, int) and not -(2**63) <= x < 2**64:
            return ArgumentError(f"tensor: the integer {x} does not fit in 64 bits")
        if isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
            return None
        place = "".join(f"[{i}]" for i in where)
        return ArgumentError(f"tensor: data{place} is {describe(x)}, which is no number")

    return walk(data) or ArgumentError(
        f"tensor: cannot make a tensor of {describe(data)}: no dtype holds all of its numbers"
    )


def _regular(data: Any) -> bool:
    try:
        return np.array(_nested(data)).dtype != object
    except (ValueError, OverflowError):
        return False


# ---- DLPack


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of any object with `__dlpack__`, or of a capsule it gave.

    >>> import numpy as np, thixo as tx
    >>> tx.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    as_device(device)
    if type(ext_tensor).__name__ == "PyCapsule":
        made = _core.from_dlpack(ext_tensor)
    elif hasattr(ext_tensor, "__dlpack__"):
        made = _core.from_dlpack(_capsule(ext_tensor))
    else:
        raise ArgumentError(
            f"from_dlpack: an object with __dlpack__ is needed, got {describe(ext_tensor)}"
        )
    return made.clone() if copy else made


def _capsule(source: Any) -> Any:
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # from before version 1
        return source.__dlpack__()
