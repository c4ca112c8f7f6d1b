"""Functions that a module calls around its forward and backward."""

import itertools
from typing import Any

import thixo as tx
from thixo.errors import ArgumentError, describe
from thixo.tensor import RemovableHandle, Tensor

_numbers = itertools.count()
_CALLED = ("pre", "post", "backward", "backward_pre")  # by a call of the module


class Hooks:
    """What a Module knows of hooks. The dictionaries are made when the first hook is registered."""

    def _init_hooks(self) -> None:
        self.__dict__["_hooked"] = False

    def _hooks_of(self, kind: str) -> dict[int, Any]:
        hooks = self.__dict__.setdefault("_hooks", {})
        return hooks.setdefault(kind, {})

    def _add_hook(self, kind: str, hook: Any, first: bool = False) -> RemovableHandle:
        if not callable(hook):
            raise ArgumentError(
                f"{type(self).__name__}: a hook must be a function, got {describe(hook)}"
            )
        hooks = self._hooks_of(kind)
        number = next(_numbers)
        hooks[number] = hook
        if first:
            rest = [k for k in hooks if k != number]
            for key in rest:
                hooks[key] = hooks.pop(key)
        self._count_hooks()

        def remove() -> None:
            hooks.pop(number, None)
            self._count_hooks()

        return RemovableHandle(remove)

    def _count_hooks(self) -> None:
        """Take note whether a call must look at hooks at all."""
        hooks = self.__dict__["_hooks"]
        self.__dict__["_hooked"] = any(hooks.get(kind) for kind in _CALLED)

    def register_forward_pre_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments.

        >>> layer = tx.nn.Identity()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> layer(tx.zeros(1))
        tensor([1.])
        """
        return self._add_hook("pre", _Flagged(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Any,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output.

        >>> layer = tx.nn.Identity()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output * 2)
        >>> layer(tx.ones(1))
        tensor([2.])
        """
        return self._add_hook("post", _Flagged(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward; its result replaces grad_output."""
        return self._add_hook("backward_pre", _Flagged(hook), prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after backward; its result replaces grad_input.

        >>> layer = tx.nn.Identity()
        >>> handle = layer.register_full_backward_hook(lambda module, gi, go: (gi[0] * 10,))
        >>> x = tx.ones(1, requires_grad=True)
        >>> layer(x).sum().backward()
        >>> x.grad
        tensor([10.])
        """
        return self._add_hook("backward", _Flagged(hook), prepend)

    register_backward_hook = register_full_backward_hook

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook in list(self._hooks_of("pre").values()):
            if hook.with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise ArgumentError(
                            f"{type(self).__name__}: a forward pre-hook with kwargs must return "
                            f"(args, kwargs) or None, got {describe(changed)}"
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        watch = None
        if self._hooks_of("backward") or self._hooks_of("backward_pre"):
            watch = _BackwardWatch(self)
            args = watch.inputs(args)
        called: set[int] = set()
        try:
            result = self.forward(*args, **kwargs)  # type: ignore[attr-defined]
            for number, hook in list(self._hooks_of("post").items()):
                called.add(number)
                changed = (
                    hook(self, args, kwargs, result)
                    if hook.with_kwargs
                    else hook(self, args, result)
                )
                if changed is not None:
                    result = changed
        except Exception:
            for number, hook in list(self._hooks_of("post").items()):
                if hook.always_call and number not in called:
                    hook(self, args, kwargs, None) if hook.with_kwargs else hook(self, args, None)
            raise
        return result if watch is None else watch.outputs(result)


class _Flagged:
    """A hook with how it wants to be called."""

    def __init__(self, hook: Any, with_kwargs: bool = False, always_call: bool = False) -> None:
        if not callable(hook):
            raise ArgumentError(f"a hook must be a function, got {describe(hook)}")
        self.hook = hook
        self.with_kwargs = with_kwargs
        self.always_call = always_call

    def __call__(self, *args: Any) -> Any:
        return self.hook(*args)


class _BackwardWatch:
    """Sees the gradients that enter and leave one call of a module."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.grad_output: tuple[Any, ...] = ()
        self.count = 0  # of arguments
        self.places: list[int] = []  # of the arguments that carry gradients

    def inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, passed through a node whose backward calls the hooks."""
        self.count = len(args)
        self.places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad]
        if not self.places or not tx.is_grad_enabled():
            self.places = []
            return args
        passed = _pass_through()(self.leaving, *(args[i] for i in self.places))
        args_list = list(args)
        for i, tensor in zip(self.places, passed, strict=True):
            args_list[i] = tensor
        return tuple(args_list)

    def outputs(self, result: Any) -> Any:
        """The results, passed through a node whose backward takes note of their gradients."""
        tensors = [result] if isinstance(result, Tensor) else result
        if not isinstance(tensors, list | tuple) or not tx.is_grad_enabled():
            return result
        places = [i for i, t in enumerate(tensors) if isinstance(t, Tensor) and t.requires_grad]
        if not places:
            return result

        def entering(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            whole = [None] * len(tensors)
            for i, g in zip(places, grads, strict=True):
                whole[i] = g
            return tuple(self.entering(tuple(whole))[i] for i in places)

        passed = _pass_through()(entering, *(tensors[i] for i in places))
        if isinstance(result, Tensor):
            return passed[0]
        new = list(tensors)
        for i, tensor in zip(places, passed, strict=True):
            new[i] = tensor
        return type(result)(*new) if hasattr(result, "_fields") else type(result)(new)

    def entering(self, grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of the results are known."""
        for hook in list(self.module._hooks_of("backward_pre").values()):
            changed = hook(self.module, grad_output)
            if changed is not None:
                grad_output = changed if isinstance(changed, tuple) else (changed,)
        self.grad_output = grad_output
        if not self.places:  # nothing flows further: the hooks hear of it now
            self._call((None,) * self.count)
        return grad_output

    def leaving(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients of the arguments are known."""
        whole: list[Any] = [None] * self.count
        for i, g in zip(self.places, grads, strict=True):
            whole[i] = g
        changed = self._call(tuple(whole))
        return tuple(changed[i] for i in self.places)

    def _call(self, grad_input: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in list(self.module._hooks_of("backward").values()):
            changed = hook(self.module, grad_input, self.grad_output)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(grad_input):
                    raise ArgumentError(
                        f"{type(self.module).__name__}: a backward hook returned {len(changed)} "
                        f"gradients; needs {len(grad_input)}"
                    )
                grad_input = changed
        return grad_input


_function: Any = None


def _pass_through() -> Any:
    """`apply` of a Function that hands tensors on, and gradients through `see(gradients)`."""
    global _function
    if _function is None:
        from thixo.autograd import Function

        class PassThrough(Function):
            @staticmethod
            def forward(ctx: Any, see: Any, *tensors: Any) -> Any:
                ctx.see = see
                ctx.set_materialize_grads(False)
                return tuple(t.view_as(t) for t in tensors)

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return (None, *ctx.see(grads))

        _function = PassThrough
    return _function.apply
