"""The Tensor's Python face: how tensors are made from Python data, read back, printed and copied.

Arithmetic, indexing and attributes are native; other methods come from the operator table and load when
they are first used.
"""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo import _core, queries
from thixo._core import Tensor
from thixo.device import as_device
from thixo.dtype import DType, from_numpy_dtype, get_default_dtype
from thixo.errors import (
    ArgumentError,
    AutogradError,
    DTypeError,
    ShapeError,
    ValueRangeError,
    describe,
)
from thixo.ops import base as _base  # noqa: F401  (tells the core where operators are)
from thixo.ops import public
from thixo.printing import format_tensor, set_printoptions, tensor_text

__all__ = [
    "Tensor",
    "as_tensor",
    "asarray",
    "from_dlpack",
    "from_numpy",
    "is_tensor",
    "set_printoptions",
    "tensor",
]


# ---- from Python data


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
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=kwargs.pop("dtype", get_default_dtype()), **kwargs)
    return public.zeros(tuple(args), **kwargs)


def _array(data: Any, dtype: DType | None) -> np.ndarray:
    """A fresh array for nested Python data, with PyTorch's default dtypes."""
    if isinstance(data, np.ndarray):
        from_numpy_dtype(data.dtype)
        return np.array(data, dtype=None if dtype is None else dtype.numpy)
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

    return walk(data) or ArgumentError(f"tensor: cannot make a tensor of {describe(data)}")


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


# ---- reading back


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


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Add the gradient of this tensor to `.grad` of every leaf it was computed from."""
    plain = gradient is None and not retain_graph and not create_graph and inputs is None
    if plain and _core.backward_scalar(self):
        return
    from thixo.autograd import backward

    backward(self, gradient, retain_graph, create_graph, inputs)


# ---- hooks


class RemovableHandle:
    """Takes a hook away again: by `remove()`, or at the end of a `with` block."""

    def __init__(self, remove: Any) -> None:
        self._remove = remove

    def remove(self) -> None:
        """Take the hook away; a second call does nothing."""
        if self._remove is not None:
            self._remove()
            self._remove = None

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class _Hook:
    """A hook as the tape holds it: when removed, it is silent wherever the tape still has it."""

    __slots__ = ("__weakref__", "function")

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, grad: Tensor) -> Any:
        return None if self.function is None else self.function(grad)


def _add_hook(tensor: Tensor, function: Any, after: bool) -> RemovableHandle:
    if not callable(function):
        raise ArgumentError(f"register_hook: a function is needed, got {describe(function)}")
    hook = _Hook(function)
    _core.add_hook(tensor, hook, after)
    to_tensor, to_hook = weakref.ref(tensor), weakref.ref(hook)

    def remove() -> None:
        # The tensor may be gone, or moved on by a write in place, while its old node still has the hook.
        owner, found = to_tensor(), to_hook()
        if found is not None:
            found.function = None
            if owner is not None:
                _core.remove_hook(owner, found)

    return RemovableHandle(remove)


def _register_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is known; what it returns replaces it."""
    return _add_hook(self, hook, False)


def _register_after_hook(self: Tensor, hook: Any) -> RemovableHandle:
    """Call `hook(tensor)` when backward has added to this leaf's `.grad`."""
    return _add_hook(self, hook, True)


def _retain_grad(self: Tensor) -> None:
    """Keep `.grad` of this tensor after backward although it is no leaf."""
    _core.retain_grad(self)


def _view_in_place(name: str) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return _core.look_like(self, getattr(self, name)(*args, **kwargs))

    method.__name__ = name + "_"
    method.__doc__ = f"`{name}`, in place: this tensor itself changes its shape."
    return method


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


def _resize(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give this tensor another shape in place; new elements are not initialised."""
    wanted = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    _core.resize_(self, tuple(wanted))
    return self


def _resize_as(self: Tensor, other: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this tensor the shape of another in place; new elements are not initialised."""
    return _resize(self, tuple(other.shape))


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The Array API standard's functions for this tensor."""
    from thixo import array_api

    if api_version is not None and api_version not in array_api.VERSIONS:
        raise ArgumentError(
            f"__array_namespace__: version {api_version!r} is not served; these are: "
            f"{', '.join(array_api.VERSIONS)}"
        )
    return array_api


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """This tensor on a device: the Array API standard's name for `to(device)`."""
    if stream is not None:
        raise ArgumentError(f"to_device: the CPU has no streams, got {stream!r}")
    return self.to(device)


# ---- copies


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise AutogradError(
            "deepcopy: only leaf tensors can be deep-copied; this one was computed from others that "
            "require grad; use detach()"
        )
    from copy import deepcopy

    made = self.detach().clone()
    if type(self) is not Tensor:
        made = _core.as_subclass(made, type(self))
    memo[id(self)] = made
    made.requires_grad_(self.requires_grad)
    if self.grad is not None:
        made.grad = deepcopy(self.grad, memo)
    made.__dict__.update(deepcopy(self.__dict__, memo))
    return made


def _copy(self: Tensor) -> Tensor:
    """Another tensor over the same memory; a deep copy has its own."""
    if not self.is_leaf:
        return self.view(self.shape)
    made = self.detach()
    if type(self) is not Tensor:
        made = _core.as_subclass(made, type(self))
    made.__dict__.update(self.__dict__)
    return made.requires_grad_(self.requires_grad)


def _rebuild(cls: type, array: np.ndarray, requires_grad: bool, state: dict[str, Any]) -> Tensor:
    made = _core.from_numpy(array)
    if cls is not Tensor:
        made = _core.as_subclass(made, cls)
    made.__dict__.update(state)
    return made.requires_grad_(requires_grad)


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    if not self.is_leaf:
        raise AutogradError("pickle: only leaf tensors can be pickled; use detach()")
    array = np.array(self.detach()._ndarray())
    return _rebuild, (type(self), array, self.requires_grad, dict(self.__dict__))


# ---- methods of the table, loaded when first used


class _LazyMethod:
    """Stands for an operator on the class until it is first looked up."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        operator = public.find_method(self.name)
        if operator is None:
            raise AttributeError(f"'Tensor' object has no attribute {self.name!r}")
        declaration = operator.declaration
        bound = property(operator) if getattr(declaration, "attribute", False) else operator
        setattr(Tensor, self.name, bound)
        return getattr(owner if instance is None else instance, self.name)


def _reversed(name: str) -> Any:
    return lambda self, other: getattr(public, name)(other, self)


DOC = """Numbers of one type in a box of some shape: `tensor(data)` makes one, operators make others.

Its methods are the operators (docs/operators) and those of docs/tensor.md.

>>> x = tx.tensor([[1.0, 2.0], [3.0, 4.0]])
>>> x.shape, x.dtype, x.sum().item()
(Size([2, 2]), thixo.float32, 10.0)
"""


def _attach() -> None:
    Tensor.__doc__ = DOC
    own = {
        "numpy": _numpy,
        "__array__": _array_protocol,
        "__array_priority__": 1000,
        "tolist": _tolist,
        "backward": _backward,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__reduce_ex__": _reduce,
        "__dlpack__": _dlpack,
        "__dlpack_device__": lambda self: (1, 0),
        "__repr__": tensor_text,
        "__format__": format_tensor,
        "__complex__": lambda self: complex(self.item()),
        "__contains__": lambda self, value: bool((self == value).any()),
        "__rdiv__": _reversed("div"),
        "__array_namespace__": _array_namespace,
        "to_device": _to_device,
        "register_hook": _register_hook,
        "register_post_accumulate_grad_hook": _register_after_hook,
        "retain_grad": _retain_grad,
        "resize_": _resize,
        "resize_as_": _resize_as,
        "__torch_function__": classmethod(_torch_function),
        **queries.METHODS,
    }
    for name in ("unsqueeze", "squeeze", "t", "transpose", "swapaxes", "swapdims", "as_strided"):
        own[name + "_"] = _view_in_place(name)
    for name in public.method_names():
        if name not in vars(Tensor):
            setattr(Tensor, name, _LazyMethod(name))
    for name, value in own.items():
        setattr(Tensor, name, value)


def _getitem(x: Tensor, index: Any) -> Any:
    from thixo.ops import getitem

    _core.configure(getitem=getitem.getitem, setitem=getitem.setitem)
    return getitem.getitem(x, index)


def _setitem(x: Tensor, index: Any, value: Any) -> None:
    from thixo.ops import getitem

    _core.configure(getitem=getitem.getitem, setitem=getitem.setitem)
    getitem.setitem(x, index, value)


_core.configure(getitem=_getitem, setitem=_setitem)
_attach()
