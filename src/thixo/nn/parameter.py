"""Tensors that modules own: parameters are trained, buffers are only kept."""

from typing import Any

import thixo as tx
from thixo import _core
from thixo.errors import ArgumentError, describe
from thixo.tensor import Tensor


class Parameter(Tensor):
    """A tensor that is trained: assigned to a module's attribute it joins `module.parameters()`.

    >>> p = tx.nn.Parameter(tx.ones(2))
    >>> p.requires_grad
    True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> "Parameter":
        """Wrap the memory of `data`; what it was computed from is forgotten."""
        made: Parameter = _core.as_subclass(_given("Parameter", data).detach(), cls)
        return made.requires_grad_(requires_grad)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        """All is done by `__new__`."""


class Buffer(Tensor):
    """A tensor that a module keeps and moves but does not train, such as a running mean.

    >>> class Scale(tx.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = tx.nn.Buffer(tx.ones(1))
    >>> list(Scale().state_dict())
    ['factor']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> "Buffer":
        """Wrap the memory of `data`; `persistent` buffers are part of the state dict."""
        made: Buffer = _core.as_subclass(_given("Buffer", data).detach(), cls)
        made.persistent = persistent
        return made

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        """All is done by `__new__`."""


def _given(what: str, data: Any) -> Tensor:
    if data is None:
        return tx.empty(0)
    if not isinstance(data, Tensor):
        raise ArgumentError(f"{what}: a Tensor is needed, got {describe(data)}")
    return data
