"""Adam and its relatives: steps scaled by averages of the gradient and of its square."""

from typing import Any

import thixo as tx
from thixo.optim import fused
from thixo.optim.arguments import Number, Pair
from thixo.optim.optimizer import (
    Optimizer,
    Params,
    Step,
    check,
    check_betas,
    counted,
    in_one_kernel,
    new_count,
    no_gradient_of_steps,
    number,
    real,
    same_number,
    same_step,
    with_decay,
    zeros,
)
from thixo.tensor import Tensor


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2014); with `amsgrad` its scale never shrinks.

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.Adam([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        check(
            name, lr=(lr, lr >= 0), eps=(eps, eps >= 0),
            weight_decay=(weight_decay, weight_decay >= 0),
        )  # fmt: skip
        check_betas(name, betas)
        no_gradient_of_steps(name, differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
                "capturable": capturable, "differentiable": differentiable, "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        zeros(state, param, "exp_avg", "exp_avg_sq")
        if group["amsgrad"]:
            zeros(state, param, "max_exp_avg_sq")

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        amsgrad, decoupled = group["amsgrad"], group["decoupled_weight_decay"]
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        step = same_step(ready)
        if step is None:  # some parameters have had gradients more often than others
            return ready
        step += 1
        beta1, beta2 = group["betas"]
        lr, decay = group["lr"], group["weight_decay"]
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if amsgrad else 2]
        numbers = (
            -1 if group["maximize"] else 1, lr / (1 - beta1**step),
            1 - lr * decay if decoupled else decay, 1 - beta1, beta2, 1 - beta2,
            (1 - beta2**step) ** -0.5, group["eps"],
        )  # fmt: skip
        kernel = fused.adam(bool(decay), decoupled, amsgrad)
        return [] if in_one_kernel(ready, kernel, names, numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        step = counted(state)
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        if group["decoupled_weight_decay"]:
            if group["weight_decay"]:
                param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = with_decay(group, param, grad)
        p, g = real(param), real(grad)
        mean, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
        mean.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        if group["amsgrad"]:
            largest = real(state["max_exp_avg_sq"])
            largest.copy_(tx.maximum(largest, square))
            square = largest
        denominator = (square.sqrt() * (1 - beta2**step) ** -0.5).add_(group["eps"])
        p.sub_(mean / denominator * (lr / (1 - beta1**step)))


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2017).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.AdamW([p], lr=0.1, weight_decay=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.8500])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip


class Adamax(Optimizer):
    """Adam with the largest gradient in place of the mean square.

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.Adamax([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: Number = 2e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
        differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        check(
            "Adamax", lr=(lr, lr >= 0), eps=(eps, eps >= 0),
            weight_decay=(weight_decay, weight_decay >= 0),
        )  # fmt: skip
        check_betas("Adamax", betas)
        no_gradient_of_steps("Adamax", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                "capturable": capturable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        zeros(state, param, "exp_avg", "exp_inf")

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        step = same_step(ready)
        if step is None:
            return ready
        beta1, beta2 = group["betas"]
        decay, rate = group["weight_decay"], group["lr"] / (1 - beta1 ** (step + 1))
        numbers = (-1 if group["maximize"] else 1, rate, decay, 1 - beta1, beta2, group["eps"])
        kernel, names = fused.adamax(bool(decay)), ("exp_avg", "exp_inf")
        return [] if in_one_kernel(ready, kernel, names, numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        step = counted(state)
        beta1, beta2 = group["betas"]
        g = real(with_decay(group, param, grad))
        mean, largest = real(state["exp_avg"]), real(state["exp_inf"])
        mean.lerp_(g, 1 - beta1)
        largest.copy_(tx.maximum(largest * beta2, g.abs() + group["eps"]))
        real(param).sub_(mean / largest * (group["lr"] / (1 - beta1**step)))


class NAdam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.NAdam([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> bool(p < 1)
    True
    """

    def __init__(
        self, params: Params, lr: Number = 2e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check(
            "NAdam", lr=(lr, lr >= 0), eps=(eps, eps >= 0),
            weight_decay=(weight_decay, weight_decay >= 0),
            momentum_decay=(momentum_decay, momentum_decay >= 0),
        )  # fmt: skip
        check_betas("NAdam", betas)
        no_gradient_of_steps("NAdam", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize,
                "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        state["mu_product"] = tx.tensor(1.0, dtype=tx.float32)
        zeros(state, param, "exp_avg", "exp_avg_sq")

    def _momenta(self, group: dict[str, Any], step: Any) -> tuple[Any, Any]:
        """Of this step and of the next."""
        beta1, decay = group["betas"][0], group["momentum_decay"]
        now = beta1 * (1 - 0.5 * 0.96 ** (step * decay))
        return now, beta1 * (1 - 0.5 * 0.96 ** ((step + 1) * decay))

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        step, product = same_step(ready), same_number(ready, "mu_product")
        if step is None or product is None:
            return ready
        step += 1
        now, next_one = self._momenta(group, step)
        product = number(ready[0][2]["mu_product"] * now)  # rounded as the state is
        beta1, beta2 = group["betas"]
        lr, decay, decoupled = group["lr"], group["weight_decay"], group["decoupled_weight_decay"]
        numbers = (
            -1 if group["maximize"] else 1, 1 - lr * decay if decoupled else decay,
            1 - beta1, beta2, 1 - beta2, 1 / (1 - beta2**step), group["eps"],
            lr * (1 - now) / (1 - product), lr * next_one / (1 - product * next_one),
        )  # fmt: skip
        kernel, names = fused.nadam(bool(decay), decoupled), ("exp_avg", "exp_avg_sq")
        if not in_one_kernel(ready, kernel, names, numbers):
            return ready
        for _, _, state in ready:
            state["mu_product"].fill_(product)
        return []

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        step = counted(state)
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        if group["decoupled_weight_decay"]:
            if group["weight_decay"]:
                param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = with_decay(group, param, grad)
        p, g = real(param), real(grad)
        mean, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
        mean.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        now, next_one = self._momenta(group, step)
        product = number(state["mu_product"].mul_(now))
        denominator = (square / (1 - beta2**step)).sqrt_().add_(group["eps"])
        p.sub_(g / denominator * (lr * (1 - now) / (1 - product)))
        p.sub_(mean / denominator * (lr * next_one / (1 - product * next_one)))


class RAdam(Optimizer):
    """Adam with its early variance rectified (Liu and others, 2019).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.RAdam([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.8000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-3, betas: Pair = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        check(
            "RAdam", lr=(lr, lr >= 0), eps=(eps, eps >= 0),
            weight_decay=(weight_decay, weight_decay >= 0),
        )  # fmt: skip
        check_betas("RAdam", betas)
        no_gradient_of_steps("RAdam", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "maximize": maximize, "foreach": foreach, "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        zeros(state, param, "exp_avg", "exp_avg_sq")

    def _rectification(self, beta2: float, step: Any) -> tuple[Any, Any]:
        """The length of the average that the variance is from, and the square of the step's factor."""
        rest, most = 1 - beta2**step, 2 / (1 - beta2) - 1
        length = most - 2 * step * beta2**step / rest
        ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
        return length, ratio * rest

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        step = same_step(ready)
        if step is None:
            return ready
        step += 1
        beta1, beta2 = group["betas"]
        lr, decay, decoupled = group["lr"], group["weight_decay"], group["decoupled_weight_decay"]
        length, factor = self._rectification(beta2, step)
        rectified = length > 5
        rate = lr / (1 - beta1**step) * (factor**0.5 if rectified else 1)
        numbers = (
            -1 if group["maximize"] else 1, rate, 1 - lr * decay if decoupled else decay,
            1 - beta1, beta2, 1 - beta2, group["eps"],
        )  # fmt: skip
        kernel = fused.radam(bool(decay), decoupled, rectified)
        return [] if in_one_kernel(ready, kernel, ("exp_avg", "exp_avg_sq"), numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        step = counted(state)
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        if group["decoupled_weight_decay"]:
            if group["weight_decay"]:
                param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = with_decay(group, param, grad)
        p, g = real(param), real(grad)
        mean, square = real(state["exp_avg"]), real(state["exp_avg_sq"])
        mean.lerp_(g, 1 - beta1)
        square.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        length, factor = self._rectification(beta2, step)
        plain = mean / (1 - beta1**step) * lr
        if isinstance(length, Tensor):  # while tracing both are computed
            scaled = plain * tx.clamp(factor, min=0).sqrt() / (square.sqrt() + group["eps"])
            p.sub_(tx.where(length > 5, scaled, plain))
        elif length > 5:
            p.sub_(plain * factor**0.5 / (square.sqrt() + group["eps"]))
        else:
            p.sub_(plain)
