"""Stochastic gradient descent."""

from typing import Any

import thixo as tx
from thixo.errors import ValueRangeError
from thixo.optim import fused
from thixo.optim.arguments import Number
from thixo.optim.optimizer import (
    Optimizer,
    Params,
    Step,
    check,
    counted,
    is_on,
    new_count,
    no_gradient_of_steps,
    with_decay,
    zeros,
)
from thixo.tensor import Tensor


class SGD(Optimizer):
    """Steps against the gradient, with momentum if wanted.

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.SGD([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.8000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: Number = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check(
            "SGD", lr=(lr, lr >= 0), momentum=(momentum, momentum >= 0),
            weight_decay=(weight_decay, weight_decay >= 0),
        )  # fmt: skip
        no_gradient_of_steps("SGD", differentiable)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueRangeError("SGD: nesterov needs a momentum and no dampening")
        super().__init__(
            params,
            {
                "lr": lr, "momentum": momentum, "dampening": dampening,
                "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
                "foreach": foreach, "differentiable": differentiable, "fused": fused,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        if group["momentum"]:
            zeros(state, param, "momentum_buffer")
            if group["dampening"]:  # then the first step is not as the others
                state["step"] = new_count()

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        momentum = group["momentum"]
        taken = [r for r in ready if not momentum or r[2].get("momentum_buffer") is not None]
        if not taken:
            return ready
        groups = [(p, g, s["momentum_buffer"]) if momentum else (p, g) for p, g, s in taken]
        step = fused.sgd(bool(group["weight_decay"]), bool(momentum), group["nesterov"])
        numbers = (
            -1 if group["maximize"] else 1, group["lr"], group["weight_decay"], momentum,
            1 - group["dampening"],
        )  # fmt: skip
        if not fused.run(step, (0, 2) if momentum else (0,), groups, numbers):
            return ready
        return [r for r in ready if momentum and r[2].get("momentum_buffer") is None]

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        grad = with_decay(group, param, grad)
        momentum = group["momentum"]
        if is_on(momentum):
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone()
            elif "step" in state:
                later = buffer * momentum + grad * (1 - group["dampening"])
                buffer.copy_(tx.where(counted(state) > 1, later, grad))
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        param.sub_(grad * group["lr"])
