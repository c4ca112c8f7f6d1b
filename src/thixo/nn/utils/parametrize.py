"""Parameters that are computed from others: `weight` becomes a function of what is really trained."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import thixo as tx
from thixo.errors import ArgumentError, ShapeError, describe
from thixo.nn.modules.container import ModuleDict, ModuleList
from thixo.nn.modules.module import Module
from thixo.nn.parameter import Parameter
from thixo.tensor import Tensor

_cache: dict[int, Any] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Inside, each parametrised tensor is computed once.

    >>> with tx.nn.utils.parametrize.cached():
    ...     pass
    """
    global _cache
    outer, _cache = _cache, ({} if _cache is None else _cache)
    try:
        yield
    finally:
        _cache = outer


class ParametrizationList(ModuleList):
    """The functions that one tensor goes through; `original` is what is trained.

    >>> layer = tx.nn.Linear(2, 2)
    >>> _ = register_parametrization(layer, "weight", tx.nn.Identity())
    >>> layer.parametrizations.weight.original.shape
    Size([2, 2])
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        value: Any = original
        with tx.no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        parts = list(value) if isinstance(value, (tuple, list)) else [value]
        self.is_tensor = not isinstance(value, (tuple, list))
        self.ntensors = len(parts)
        trained = isinstance(original, Parameter)
        for i, part in enumerate(parts):
            name = "original" if self.is_tensor else f"original{i}"
            if trained:
                part = part if isinstance(part, Parameter) else Parameter(part.detach())
                part.requires_grad_(original.requires_grad)
                self.register_parameter(name, part)
            else:
                self.register_buffer(name, part)

    def forward(self) -> Any:
        """The tensor that the originals stand for."""
        modules = list(self)
        if self.is_tensor:
            x = modules[0](self.original)
        else:
            x = modules[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in modules[1:]:
            x = module(x)
        return x

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that the tensor becomes `value`."""
        with tx.no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise NotImplementedError(
                        f"{type(module).__name__} has no right_inverse: the tensor cannot be assigned"
                    )
                new = module.right_inverse(new)
            parts = [new] if self.is_tensor else list(new)
            for i, part in enumerate(parts):
                name = "original" if self.is_tensor else f"original{i}"
                getattr(self, name).copy_(part)


def _property(name: str) -> property:
    def get(self: Module) -> Any:
        functions = self.parametrizations[name]
        if _cache is None:
            return functions()
        key = id(functions)
        if key not in _cache:
            _cache[key] = functions()
        return _cache[key]

    def put(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _own_class(module: Module) -> None:
    """Give the module a class of its own, on which properties can stand."""
    base = type(module)
    module.__class__ = type(
        f"Parametrized{base.__name__}", (base,), {"_unparametrized": base, "__doc__": base.__doc__}
    )


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """From now on `module.<tensor_name>` is `parametrization(original)`.

    >>> class Symmetric(tx.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = tx.nn.Linear(3, 3)
    >>> _ = tx.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    if is_parametrized(module, tensor_name):
        functions = module.parametrizations[tensor_name]
        if not unsafe:
            _check_type(functions(), parametrization, tensor_name)
        functions.append(parametrization)
        return module
    own = tensor_name in module._parameters or tensor_name in module._buffers
    if not own or getattr(module, tensor_name) is None:
        raise ArgumentError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}"
        )
    original = getattr(module, tensor_name)
    functions = ParametrizationList([parametrization], original, unsafe)
    if not unsafe:
        made = functions()
        if not isinstance(made, Tensor) or tuple(made.shape) != tuple(original.shape):
            raise ShapeError(
                f"register_parametrization: {type(parametrization).__name__} makes "
                f"{describe(made)} of {describe(original)}; shapes must stay unless unsafe=True"
            )
    if not hasattr(type(module), "_unparametrized"):
        _own_class(module)
        module.parametrizations = ModuleDict()
    delattr(module, tensor_name)
    module.parametrizations[tensor_name] = functions
    setattr(type(module), tensor_name, _property(tensor_name))
    return module


def _check_type(value: Tensor, parametrization: Module, name: str) -> None:
    made = parametrization(value)
    if tuple(made.shape) != tuple(value.shape) or made.dtype != value.dtype:
        raise ShapeError(
            f"register_parametrization: {type(parametrization).__name__} makes {describe(made)} of "
            f"{name}, which is {describe(value)}"
        )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrised tensor (of that name).

    >>> is_parametrized(tx.nn.Linear(1, 1))
    False
    """
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return bool(parametrizations) if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make the tensor a plain one again, with its computed value or with the original one.

    >>> layer = tx.nn.Linear(1, 1)
    >>> _ = register_parametrization(layer, "weight", tx.nn.Identity())
    >>> remove_parametrizations(layer, "weight")
    Linear(in_features=1, out_features=1, bias=True)
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(
            f"remove_parametrizations: {tensor_name!r} of {type(module).__name__} is not parametrised"
        )
    functions = module.parametrizations[tensor_name]
    if not leave_parametrized and not functions.is_tensor:
        raise ArgumentError(
            "remove_parametrizations: leave_parametrized=False needs a single original tensor"
        )
    first = functions.original if functions.is_tensor else functions.original0
    with tx.no_grad():
        value = functions().detach().clone() if leave_parametrized else functions.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(first, Parameter):
        value = value if isinstance(value, Parameter) else Parameter(value, first.requires_grad)
        module.register_parameter(tensor_name, value)
    else:
        module.register_buffer(tensor_name, value)
    if not len(module.parametrizations):
        delattr(module, "parametrizations")
        module.__class__ = type(module)._unparametrized  # type: ignore[attr-defined]
    return module
