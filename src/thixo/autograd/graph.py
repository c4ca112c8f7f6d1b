"""Walking the tape: nodes, and hooks on them."""

from collections.abc import Callable
from typing import Any

from thixo._core import Node
from thixo.tensor import RemovableHandle

__all__ = ["Node", "register_hook", "register_prehook"]

Node.__doc__ = """A step of the tape: `grad_fn` of what it made.

`name()` says which operator ran and `source` where; `next_functions` are the steps that made its
inputs, each with the number of the result; `saved` is what it keeps. A leaf's step has its `variable`.

>>> x = tx.ones(2, requires_grad=True)
>>> node = (x * x).sum().grad_fn
>>> node.name(), [step.name() for step, _ in node.next_functions]
('SumBackward', ['MulBackward'])
"""


class _NodeHooks:
    """The hooks around one node; the engine calls `before` and `after`."""

    def __init__(self) -> None:
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}
        self.count = 0

    def add(
        self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]
    ) -> RemovableHandle:
        self.count += 1
        key = self.count
        hooks[key] = hook
        return RemovableHandle(lambda: hooks.pop(key, None))

    def before(self, grads: tuple[Any, ...]) -> Any:
        for hook in list(self.pre.values()):
            changed = hook(grads)
            grads = grads if changed is None else changed
        return grads

    def after(self, made: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        for hook in list(self.post.values()):
            changed = hook(made, given)
            made = made if changed is None else changed
        return made


def _hooks(node: Node) -> _NodeHooks:
    found = node._hooks(None)
    return node._hooks(_NodeHooks()) if found is None else found


def register_hook(node: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_inputs, grad_outputs)` after this node ran in backward.

    >>> import thixo as tx
    >>> y = tx.ones(1, requires_grad=True) * 2
    >>> handle = tx.autograd.graph.register_hook(y.grad_fn, lambda made, given: print(given))
    >>> y.backward()
    (tensor([1.]),)
    """
    hooks = _hooks(node)
    return hooks.add(hooks.post, hook)


def register_prehook(node: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(grad_outputs)` before this node runs in backward.

    >>> import thixo as tx
    >>> y = tx.ones(1, requires_grad=True) * 2
    >>> handle = tx.autograd.graph.register_prehook(y.grad_fn, print)
    >>> y.backward()
    (tensor([1.]),)
    """
    hooks = _hooks(node)
    return hooks.add(hooks.pre, hook)
