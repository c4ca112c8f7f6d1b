"""The Tensor's Python face: its methods, hooks and copies.

Arithmetic, indexing and attributes are native; other methods come from the operator table and load when
they are first used.
"""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo import _core, arrays, queries
from thixo._core import Tensor
from thixo.errors import ArgumentError, AutogradError, describe
from thixo.making import (
    as_tensor,
    asarray,
    construct,
    from_dlpack,
    from_numpy,
    is_tensor,
    tensor,
)
from thixo.ops import base as _base  # noqa: F401  (tells the core where operators are)
from thixo.ops import public
from thixo.printing import format_tensor, set_printoptions, tensor_text

__all__ = [
    "Tensor",
    "as_tensor",
    "asarray",
    "construct",
    "from_dlpack",
    "from_numpy",
    "is_tensor",
    "set_printoptions",
    "tensor",
]


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

    __slots__ = ("__weakref__", "function", "leaf")

    def __init__(self, function: Any, leaf: int) -> None:
        self.function = function
        self.leaf = leaf  # which leaf it is on; 0 where it is on what was computed

    def __call__(self, grad: Tensor) -> Any:
        return None if self.function is None else self.function(grad)


# Hooks on leaves, which run in whatever backward reaches them, and how often one was given: another number says that there
# may be more. What captures code asks before it makes a graph of a backward, and at each call whether that still holds.
LEAF_HOOKS: dict[str, int] = {"given": 0}
_on_leaves: weakref.WeakValueDictionary[int, _Hook] = weakref.WeakValueDictionary()


def hooked_leaves() -> set[int]:
    """The ids of the leaves that have hooks.

    >>> p = tx.ones(2, requires_grad=True)
    >>> with p.register_hook(print):
    ...     id(p) in hooked_leaves()
    True
    >>> id(p) in hooked_leaves()
    False
    """
    hooks = [ref() for ref in _on_leaves.valuerefs()]  # other threads may give some meanwhile
    return {hook.leaf for hook in hooks if hook is not None and hook.function is not None}


def _add_hook(tensor: Tensor, function: Any, after: bool) -> RemovableHandle:
    if not callable(function):
        raise ArgumentError(f"register_hook: a function is needed, got {describe(function)}")
    hook = _Hook(function, id(tensor) if tensor.is_leaf else 0)
    _core.add_hook(tensor, hook, after)
    if hook.leaf:
        _on_leaves[id(hook)] = hook
        LEAF_HOOKS["given"] += 1
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


def _requires_grad(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether operations on this tensor are recorded, and return it."""
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise ArgumentError(
            f"requires_grad_: requires_grad must be True or False, got {describe(requires_grad)}"
        )
    return _native_requires_grad(self, requires_grad)


_native_requires_grad = Tensor.requires_grad_


def _retain_grad(self: Tensor) -> None:
    """Keep `.grad` of this tensor after backward although it is no leaf."""
    _core.retain_grad(self)


def _view_in_place(name: str) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return _core.look_like(self, getattr(self, name)(*args, **kwargs))

    method.__name__ = name + "_"
    method.__doc__ = f"`{name}`, in place: this tensor itself changes its shape."
    return method


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


def _contains(self: Tensor, value: Any) -> bool:
    """Whether any element equals the value."""
    if not isinstance(value, (Tensor, np.ndarray, np.generic, int, float, complex)):
        raise ArgumentError(
            f"in: only a Tensor or a number can be an element of {describe(self)}, got {describe(value)}"
        )
    equal: Any = self == value
    return bool(equal.any())


def _round(self: Tensor, digits: int | None = None) -> Any:
    """What `round(x)` and `round(x, digits)` mean: a tensor, so that gradients and graphs go on."""
    x: Any = self
    return x.round() if digits is None else x.round(decimals=digits)


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return a // b, a % b


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
        "backward": _backward,
        "__copy__": _copy,
        "__deepcopy__": _deepcopy,
        "__reduce_ex__": _reduce,
        "__repr__": tensor_text,
        "__format__": format_tensor,
        "__complex__": lambda self: complex(self.item()),
        "__contains__": _contains,
        "__reversed__": lambda self: self.flip(0) if self.ndim else self,
        "__round__": _round,
        "__trunc__": lambda self: int(self.item()),
        "__divmod__": _divmod,
        "__rdivmod__": lambda self, other: _divmod(other, self),
        "__rdiv__": _reversed("div"),
        "__array_namespace__": _array_namespace,
        "to_device": _to_device,
        "register_hook": _register_hook,
        "register_post_accumulate_grad_hook": _register_after_hook,
        "requires_grad_": _requires_grad,
        "retain_grad": _retain_grad,
        "resize_": _resize,
        "resize_as_": _resize_as,
        **arrays.METHODS,
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
