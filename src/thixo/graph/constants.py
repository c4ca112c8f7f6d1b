"""The data of captured tensors: as arrays, compared, and in a graph's text."""

import math
from typing import Any

import numpy as np

from thixo.device import as_device, cpu
from thixo.dtype import DType, from_numpy_dtype
from thixo.graph.ir import Type

INLINE = 16  # constants of at most so many elements stand in the text; others are handed to `parse`


def as_array(data: Any) -> np.ndarray:
    """A constant's elements as a NumPy array of its dtype."""
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, np.generic):
        return np.asarray(data)
    return np.asarray(data.detach().numpy())


def as_it_is(data: Any) -> Any:
    """What a graph keeps of a constant: an array as it is now, a tensor itself.

    A tensor is its owner's, who may go on training it. An array that somebody else could write is copied.
    """
    if not isinstance(data, np.ndarray) or nobody_writes(data):
        return data
    made = np.array(data)
    made.flags.writeable = False
    return made


def nobody_writes(array: np.ndarray) -> bool:
    """Whether an array has memory of its own that is read alone."""
    return array.base is None and not array.flags.writeable


def type_of(data: Any) -> Type:
    """The graph type of a tensor or an array."""
    if isinstance(data, np.ndarray | np.generic):
        return Type(from_numpy_dtype(data.dtype), data.shape)
    place = getattr(data, "device", None)
    return Type(data.dtype, tuple(data.shape), cpu if place is None else as_device(place))


def same_data(a: Any, b: Any) -> bool:
    """Whether two constants are equal bit for bit."""
    if a is b:
        return True
    x, y = as_array(a), as_array(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def data_text(data: Any) -> str:
    """A small constant as nested lists of numbers, "..." where it must be handed over beside."""
    array = as_array(data)
    if array.size > INLINE:
        return "..."
    text = _nested(array, from_numpy_dtype(array.dtype))
    if array.dtype.kind not in "biu" and np.isnan(array.astype(np.complex128)).any():
        # A NaN's sign and payload have no text.
        plain = array.copy()
        plain[np.isnan(array.astype(np.complex128))] = math.nan
        if plain.tobytes() != array.tobytes():
            return "..."
    return text


def _nested(array: np.ndarray, dtype: DType) -> str:
    if array.ndim:
        return f"[{', '.join(_nested(a, dtype) for a in array)}]"
    if dtype.is_complex:
        return f"complex({_float(array.real, dtype)}, {_float(array.imag, dtype)})"
    return _float(array, dtype) if dtype.is_floating_point else str(array.item())


def _float(x: Any, dtype: DType) -> str:
    """The shortest decimal that reads back as the same element."""
    wide = float(x)
    if not math.isfinite(wide):
        return repr(wide)
    short = repr(float(str(x)))
    back = np.asarray(float(short)).astype(np.asarray(x).dtype)
    return short if back.tobytes() == np.asarray(x).tobytes() else repr(wide)


def array_from(nested: Any, type: Type) -> np.ndarray:
    """The array that nested lists of numbers stand for."""
    if type.dtype.is_integer and type.dtype.name == "uint64":
        array = np.array(nested, np.uint64)
    elif type.dtype.name == "bfloat16":
        array = np.array(nested, np.float64).astype(type.dtype.numpy)
    else:
        array = np.array(nested, type.dtype.numpy)
    return array.reshape(tuple(int(s) for s in type.shape))
