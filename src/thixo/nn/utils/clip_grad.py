"""Gradients kept from growing too large."""

from collections.abc import Iterable
from typing import Any

import thixo as tx
from thixo.errors import AutogradError
from thixo.tensor import Tensor


def _tensors(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def get_total_norm(
    tensors: Iterable[Tensor] | Tensor, norm_type: float = 2.0, error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """The norm of all tensors taken as one vector.

    >>> tx.nn.utils.get_total_norm([tx.tensor([3.0]), tx.tensor([4.0])])
    tensor(5.)
    """
    norm_type = float(norm_type)
    with tx.no_grad():
        norms = [tx.linalg.vector_norm(t.detach(), norm_type) for t in _tensors(tensors)]
        if not norms:
            return tx.tensor(0.0)
        total = tx.linalg.vector_norm(tx.stack(norms), norm_type)
    if error_if_nonfinite and not bool(tx.isfinite(total)):
        raise AutogradError(
            f"clip_grad_norm_: the total norm of the gradients is {total.item()}, so they cannot be "
            f"scaled; pass error_if_nonfinite=False to scale them anyway"
        )
    return total


def clip_grads_with_norm_(
    parameters: Iterable[Tensor] | Tensor, max_norm: float, total_norm: Tensor,
    foreach: bool | None = None,
) -> None:  # fmt: skip
    """Scale gradients in place by max_norm / total_norm, where that is below 1.

    >>> p = tx.nn.Parameter(tx.zeros(1))
    >>> (p * 8).sum().backward()
    >>> tx.nn.utils.clip_grads_with_norm_([p], 2.0, tx.tensor(4.0))
    >>> p.grad
    tensor([4.0000])
    """
    with tx.no_grad():
        factor = tx.clamp(max_norm / (total_norm + 1e-6), max=1.0)
        for parameter in _tensors(parameters):
            if parameter.grad is not None:
                parameter.grad.mul_(factor.to(parameter.grad.dtype))


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor, max_norm: float, norm_type: float = 2.0,
    error_if_nonfinite: bool = False, foreach: bool | None = None,
) -> Tensor:  # fmt: skip
    """Scale all gradients in place so that their norm, as one vector, is at most `max_norm`.

    Gives the norm they had.

    >>> p = tx.nn.Parameter(tx.zeros(2))
    >>> (p * tx.tensor([3.0, 4.0])).sum().backward()
    >>> tx.nn.utils.clip_grad_norm_([p], 1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    parameters = _tensors(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, float(max_norm), total)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """`clip_grad_norm_` under its old name.

    >>> tx.nn.utils.clip_grad_norm([], 1.0)
    tensor(0.)
    """
    return clip_grad_norm_(*args, **kwargs)


def clip_grad_value_(
    parameters: Iterable[Tensor] | Tensor, clip_value: float, foreach: bool | None = None
) -> None:
    """Clip each gradient's elements in place to [-clip_value, clip_value].

    >>> p = tx.nn.Parameter(tx.zeros(2))
    >>> (p * tx.tensor([3.0, -0.5])).sum().backward()
    >>> tx.nn.utils.clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    with tx.no_grad():
        for parameter in _tensors(parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(min=-bound, max=bound)
