"""Module: what networks are built of.

A module is a plain class with a `forward`. Parameters, buffers and other modules assigned to its
attributes are registered by that, so that they can be listed, moved, saved and loaded together.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import thixo as tx
from thixo.device import as_device
from thixo.dtype import DType
from thixo.errors import ArgumentError, DTypeError, describe
from thixo.graph.trace import current_trace, untraced
from thixo.nn.modules.hooks import Hooks
from thixo.nn.modules.state import StateDict
from thixo.nn.parameter import Buffer, Parameter
from thixo.tensor import Tensor

M = TypeVar("M", bound="Module")


def _made_at_once(init: Callable[..., None]) -> Callable[..., None]:
    """An `__init__` that computes where a graph is being declared too: a module keeps its parameters between runs."""

    @functools.wraps(init)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        trace = current_trace()
        if trace is None or not trace.declares:
            init(self, *args, **kwargs)
        else:
            with untraced():
                init(self, *args, **kwargs)

    return made


class Module(Hooks, StateDict):
    """The base of all layers and networks.

    >>> class Net(tx.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = tx.nn.Linear(2, 3)
    ...         self.out = tx.nn.Linear(3, 1)
    ...     def forward(self, x):
    ...         return self.out(self.hidden(x).relu())
    >>> net = Net()
    >>> net(tx.ones(4, 2)).shape
    Size([4, 1])
    >>> [name for name, _ in net.named_parameters()]
    ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
    """

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, "Module | None"]
    _non_persistent: set[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = _made_at_once(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args or kwargs:
            raise ArgumentError(
                f"{type(self).__name__}: Module.__init__ takes no arguments, got {args or kwargs!r}"
            )
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_modules"] = {}
        state["_non_persistent"] = set()
        self._init_hooks()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; a subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__} has no forward method")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102
        if self.__dict__.get("_hooked"):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    # ---- attributes

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if isinstance(value, Parameter):
            self._need_init("parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._need_init("modules")
            self._forget(name, "_modules")
            state["_modules"][name] = value
        elif isinstance(value, Buffer):
            self._need_init("buffers")
            self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(self._cannot(name, value, "parameter", "a Parameter"))
            state["_parameters"][name] = None
        elif name in state.get("_modules", ()):
            if value is not None:
                raise TypeError(self._cannot(name, value, "module", "a Module"))
            state["_modules"][name] = None
        elif name in state.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(self._cannot(name, value, "buffer", "a Tensor"))
            state["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            members = state.get(kind)
            if members is not None and name in members:
                return members[name]
        hint = "" if "_modules" in state else "; call super().__init__() first"
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._non_persistent.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        members = [*self._parameters, *self._buffers, *self._modules]
        return sorted({*object.__dir__(self), *(m for m in members if m.isidentifier())})

    def _need_init(self, what: str) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: cannot assign {what} before Module.__init__() ran; call "
                f"super().__init__() first"
            )

    def _forget(self, name: str, kept: str) -> None:
        """Make way for a member of the same name; one of the same kind keeps its place in the order."""
        self.__dict__.pop(name, None)
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind != kept:
                self.__dict__[kind].pop(name, None)
        self._non_persistent.discard(name)

    def _cannot(self, name: str, value: Any, kind: str, wanted: str) -> str:
        return (
            f"{type(self).__name__}: cannot assign {describe(value)} to {kind} {name!r}; it must be "
            f"{wanted} or None"
        )

    def _check_name(self, kind: str, name: Any, members: dict[str, Any]) -> None:
        self._need_init(f"{kind}s")
        if not isinstance(name, str) or not name or "." in name:
            raise ArgumentError(
                f"{type(self).__name__}: the name of a {kind} must be a string without dots, got "
                f"{name!r}"
            )
        if name not in members and hasattr(self, name):
            raise KeyError(f"{type(self).__name__} already has an attribute {name!r}")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None reserves the name."""
        self._check_name("parameter", name, self.__dict__.get("_parameters", {}))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(self._cannot(name, param, "parameter", "a Parameter"))
        if param is not None and not param.is_leaf:
            raise ArgumentError(
                f"{type(self).__name__}: parameter {name!r} was computed from other tensors; a "
                f"parameter must be a leaf"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves with the module; a persistent one is part of the state dict."""
        self._check_name("buffer", name, self.__dict__.get("_buffers", {}))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(self._cannot(name, tensor, "buffer", "a Tensor"))
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent.discard(name)
        else:
            self._non_persistent.add(name)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a module under a name; it is then an attribute too."""
        self._check_name("module", name, self.__dict__.get("_modules", {}))
        if module is not None and not isinstance(module, Module):
            raise TypeError(self._cannot(name, module, "module", "a Module"))
        self._modules[name] = module

    register_module = add_module

    # ---- walking

    def named_modules(
        self, memo: set["Module"] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, "Module"]]:
        """This module and all below it with their dotted names, parents first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator["Module"]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """The modules directly below, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        """The modules directly below."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for above, module in modules:
            for name, value in module.__dict__[kind].items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{above}.{name}" if above else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names."""
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once: what an optimizer is given."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> "Module":
        """The module of a dotted name; "" is this one."""
        module: Module = self
        for part in target.split(".") if target else ():
            found = module._modules.get(part)
            if not isinstance(found, Module):
                raise AttributeError(f"{type(module).__name__} has no module {part!r} ({target})")
            module = found
        return module

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Put a module in the place of a dotted name; `strict` asks that there was one."""
        if not target:
            raise ArgumentError("set_submodule: the name must not be empty")
        above, _, name = target.rpartition(".")
        parent = self.get_submodule(above)
        if strict and name not in parent._modules:
            raise AttributeError(f"{type(parent).__name__} has no module {name!r} ({target})")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name."""
        above, _, name = target.rpartition(".")
        found = self.get_submodule(above)._parameters.get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no parameter {target!r}")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        above, _, name = target.rpartition(".")
        found = self.get_submodule(above)._buffers.get(name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no buffer {target!r}")
        return found

    # ---- changing all at once

    def apply(self: M, fn: Callable[["Module"], Any]) -> M:
        """Call `fn` on every module below and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: M, mode: bool = True) -> M:
        """Switch to training, where dropout drops and batch norm uses the batch."""
        if not isinstance(mode, bool):
            raise ArgumentError(f"train: mode must be True or False, got {describe(mode)}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: M) -> M:
        """Switch off what is for training only."""
        return self.train(False)

    def compile(self, **options: Any) -> None:
        """Make calls of this module run as compiled graphs, in place; options are those of `tx.compile`.

        >>> net = tx.nn.Linear(2, 3)
        >>> net.compile(fullgraph=True)
        >>> net(tx.ones(4, 2)).shape
        Size([4, 3])
        """
        from thixo.capture.compile import compile_in_place

        compile_in_place(self, **options)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Say whether the parameters shall get gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the parameters' gradients, or set them to zero."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad = tx.zeros_like(parameter.grad)

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Replace the data of every parameter, gradient and buffer."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            grad = parameter.grad
            parameter.grad = None
            parameter.data = fn(parameter.detach())
            if grad is not None:
                parameter.grad = fn(grad.detach()).requires_grad_(grad.requires_grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Move or convert parameters and buffers in place: `to(dtype)`, `to(device)`, `to(tensor)`.

        Only floating-point and complex tensors change their dtype.

        >>> tx.nn.Linear(2, 2).to(tx.float64).weight.dtype
        thixo.float64
        """
        dtype = _wanted_dtype(args, kwargs)
        if dtype is None:
            return self
        if not (dtype.is_floating_point or dtype.is_complex):
            raise DTypeError(f"to: a module's dtype must be floating-point or complex, got {dtype}")

        def convert(t: Tensor) -> Tensor:
            return t.to(dtype) if t.dtype.is_floating_point or t.dtype.is_complex else t

        return self._apply(convert)

    def type(self: M, dst_type: DType) -> M:
        """Convert every parameter and buffer, whole numbers too."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self: M) -> M:
        """Convert to float32."""
        return self.to(tx.float32)

    def double(self: M) -> M:
        """Convert to float64."""
        return self.to(tx.float64)

    def half(self: M) -> M:
        """Convert to float16."""
        return self.to(tx.float16)

    def bfloat16(self: M) -> M:
        """Convert to bfloat16."""
        return self.to(tx.bfloat16)

    def cpu(self: M) -> M:
        """Move to the CPU."""
        return self.to("cpu")

    def cuda(self: M, device: Any = None) -> M:
        """Move to a GPU."""
        return self.to("cuda" if device is None else device)

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """Move to a device without keeping the values."""
        as_device(device)
        return self._apply(tx.empty_like, recurse)

    def share_memory(self: M) -> M:
        """For several processes: memory is shared with forked ones as it is."""
        return self

    # ---- printing

    def extra_repr(self) -> str:
        """What stands between the brackets of this module's own line when it is printed."""
        return ""

    def _get_name(self) -> str:
        return self.__class__.__name__

    def __repr__(self) -> str:
        own = self.extra_repr()
        lines = []
        for name, module in self._modules.items():
            text = repr(module).split("\n")
            lines.append(f"({name}): " + "\n  ".join(text))
        if not lines:
            inner = own.split("\n")
            body = own if len(inner) < 2 else "\n  " + "\n  ".join(inner) + "\n"
            return f"{self._get_name()}({body})"
        if own:
            lines = [*own.split("\n"), *lines]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _wanted_dtype(args: tuple[Any, ...], kwargs: dict[str, Any]) -> DType | None:
    """The dtype that the arguments of `to` ask for; devices are checked on the way."""
    known = {"device", "dtype", "non_blocking", "memory_format", "tensor"}
    for name in kwargs:
        if name not in known:
            raise ArgumentError(f"to: unknown argument {name!r}; known: {', '.join(sorted(known))}")
    dtype = kwargs.get("dtype")
    as_device(kwargs.get("device"))
    like = kwargs.get("tensor")
    for value in (*args, like):
        if isinstance(value, DType):
            dtype = value
        elif isinstance(value, Tensor):
            dtype = value.dtype
        elif value is not None and not isinstance(value, bool):
            as_device(value)
    return dtype
