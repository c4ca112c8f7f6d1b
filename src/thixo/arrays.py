"""Tensors where other libraries expect arrays: NumPy's protocols, DLPack, PyTorch's overrides."""

import operator
from typing import Any

import numpy as np

from thixo import _core
from thixo._core import Tensor
from thixo.errors import ArgumentError, AutogradError, describe
from thixo.ops import public

# ---- NumPy


def _numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """A NumPy array over the same memory; `force` also takes tensors that require grad."""
    if self.requires_grad and not force:
        raise AutogradError(
            "numpy: this tensor requires grad, and a NumPy array carries no gradient; use "
            "detach().numpy()"
        )
    return self._ndarray()


def _array_protocol(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("__array__: another dtype needs a copy, and copy=False")
        return array.astype(dtype)
    return array.copy() if copy else array


def _tolist(self: Tensor) -> Any:
    """Nested Python lists of the elements, or one number."""
    array = self.detach()._ndarray()
    if self.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    return array.tolist()


# NumPy's functions that are Python's operators: Thixo's own serve them, and keep the gradient.
_OPERATORS = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.matmul: operator.matmul,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's functions of elements, given tensors: the result is a tensor, or what `out` says.

    `array + tensor` arrives here as well, and `array += tensor` with that array as `out`.
    """
    if any(_has_own_ufuncs(x) for x in (*inputs, *options.get("out", ()))):
        return NotImplemented
    if method == "__call__" and not options and ufunc in _OPERATORS:
        operands = [_operand(x) for x in inputs]
        if all(isinstance(x, (Tensor, int, float, complex)) for x in operands):
            return _OPERATORS[ufunc](*operands)
    for place in options.get("out", ()):
        if isinstance(place, Tensor):
            raise ArgumentError(
                f"numpy.{ufunc.__name__}: out must be a NumPy array, got the tensor {describe(place)}; NumPy "
                "writes around the tape; use copy_() with the result"
            )
    arrays = [x.numpy() if isinstance(x, Tensor) else x for x in inputs]
    found = getattr(ufunc, method)(*arrays, **options)
    if "out" in options or found is None:
        return found
    if isinstance(found, tuple):
        return tuple(_core.from_numpy(np.asarray(x)) for x in found)
    return _core.from_numpy(np.asarray(found))


def _has_own_ufuncs(x: Any) -> bool:
    """Whether an object of another library wants to decide itself what NumPy's functions make of it."""
    own = getattr(type(x), "__array_ufunc__", np.ndarray.__array_ufunc__)
    return not isinstance(x, Tensor) and own is not np.ndarray.__array_ufunc__


def _operand(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return _core.from_numpy(x)
    return x.item() if isinstance(x, np.generic) else x


def _array_wrap(
    self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """What NumPy's other functions make of a tensor is a tensor again."""
    return _core.from_numpy(np.asarray(array))


# ---- DLPack


def _dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """This tensor's memory as a DLPack capsule."""
    if stream is not None and stream != -1:
        raise ArgumentError(f"__dlpack__: the CPU has no streams, got {stream!r}")
    if dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"__dlpack__: only the CPU (1, 0) is served, asked for {dl_device}")
    if self.requires_grad:
        raise AutogradError("__dlpack__: this tensor requires grad; call detach() first")
    source = self.clone() if copy else self
    return _core.to_dlpack(source, max_version is not None and tuple(max_version) >= (1, 0))


# ---- PyTorch


def _torch_function(
    cls: type,
    func: Any,
    types: Any,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """PyTorch's override protocol: its functions, given Thixo tensors, run Thixo's of the same name.

    Converting is not its job: a call that mixes both kinds of tensor is refused.
    """
    if any(not issubclass(t, Tensor) for t in types):
        raise ArgumentError(
            f"torch.{func.__name__}: tensors of PyTorch and of Thixo cannot be mixed; convert one with "
            "from_dlpack()"
        )
    own = getattr(Tensor, func.__name__, None) or public.find(func.__name__)
    if own is None:
        return NotImplemented
    return own(*args, **(kwargs or {}))


METHODS: dict[str, Any] = {
    "numpy": _numpy,
    "tolist": _tolist,
    "__array__": _array_protocol,
    "__array_priority__": 1000,
    "__array_ufunc__": _array_ufunc,
    "__array_wrap__": _array_wrap,
    "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (1, 0),
    "__torch_function__": classmethod(_torch_function),
}
