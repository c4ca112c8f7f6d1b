"""Optimizers whose steps follow the history of squared gradients, or only of their signs."""

from typing import Any

import thixo as tx
from thixo.graph.trace import current_trace
from thixo.optim import fused
from thixo.optim.arguments import Number, Pair
from thixo.optim.optimizer import (
    Optimizer,
    Params,
    Step,
    check,
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


class Adadelta(Optimizer):
    """Steps of the size that earlier steps had, relative to the gradients (Zeiler, 2012).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.Adadelta([p])
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> bool(p < 1)
    True
    """

    def __init__(
        self, params: Params, lr: Number = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check(
            "Adadelta", lr=(lr, lr >= 0), rho=(rho, 0 <= rho <= 1), eps=(eps, eps >= 0),
            weight_decay=(weight_decay, weight_decay >= 0),
        )  # fmt: skip
        no_gradient_of_steps("Adadelta", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                "maximize": maximize, "capturable": capturable, "foreach": foreach,
                "differentiable": differentiable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        zeros(state, param, "square_avg", "acc_delta")

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        if same_step(ready) is None:
            return ready
        decay, rho = group["weight_decay"], group["rho"]
        sign = -1 if group["maximize"] else 1
        numbers = (sign, group["lr"], decay, rho, 1 - rho, group["eps"])
        kernel, names = fused.adadelta(bool(decay)), ("square_avg", "acc_delta")
        return [] if in_one_kernel(ready, kernel, names, numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        counted(state)
        rho, eps = group["rho"], group["eps"]
        g = real(with_decay(group, param, grad))
        square, moved = real(state["square_avg"]), real(state["acc_delta"])
        square.mul_(rho).addcmul_(g, g, value=1 - rho)
        delta = (moved + eps).sqrt_() / (square + eps).sqrt_() * g
        moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        real(param).sub_(delta * group["lr"])


class Adagrad(Optimizer):
    """Steps that shrink with the sum of all squared gradients (Duchi and others, 2011).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.Adagrad([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check(
            "Adagrad", lr=(lr, lr >= 0), lr_decay=(lr_decay, lr_decay >= 0),
            weight_decay=(weight_decay, weight_decay >= 0), eps=(eps, eps >= 0),
            initial_accumulator_value=(initial_accumulator_value, initial_accumulator_value >= 0),
        )  # fmt: skip
        no_gradient_of_steps("Adagrad", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                "maximize": maximize, "differentiable": differentiable, "fused": fused,
            },
        )  # fmt: skip
        for group in self.param_groups:  # the sums exist from the start, as PyTorch's do
            for param in group["params"]:
                if current_trace() is not None:  # in a graph they are its variables
                    continue
                self._start(group, param.detach(), self.state[param])

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        value = group["initial_accumulator_value"]
        value = complex(value, value) if param.dtype.is_complex else value
        state["step"] = new_count()
        state["sum"] = tx.full_like(param, value)

    def share_memory(self) -> None:
        """For several processes: memory is shared with forked ones as it is."""

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        step = same_step(ready)
        if step is None:
            return ready
        decay, rate = group["weight_decay"], group["lr"] / (1 + step * group["lr_decay"])
        numbers = (-1 if group["maximize"] else 1, rate, decay, group["eps"])
        return [] if in_one_kernel(ready, fused.adagrad(bool(decay)), ("sum",), numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        step = counted(state)
        g, total = real(with_decay(group, param, grad)), real(state["sum"])
        total.addcmul_(g, g, value=1)
        lr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        real(param).sub_(g / total.sqrt().add_(group["eps"]) * lr)


class RMSprop(Optimizer):
    """Gradients over the root of their running mean square (Hinton).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.RMSprop([p], lr=0.01)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0, momentum: float = 0, centered: bool = False,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        check(
            "RMSprop", lr=(lr, lr >= 0), alpha=(alpha, alpha >= 0), eps=(eps, eps >= 0),
            weight_decay=(weight_decay, weight_decay >= 0), momentum=(momentum, momentum >= 0),
        )  # fmt: skip
        no_gradient_of_steps("RMSprop", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                "maximize": maximize, "differentiable": differentiable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        zeros(state, param, "square_avg")
        if group["momentum"]:
            zeros(state, param, "momentum_buffer")
        if group["centered"]:
            zeros(state, param, "grad_avg")

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        if same_step(ready) is None:
            return ready
        decay, momentum, centered = group["weight_decay"], group["momentum"], group["centered"]
        alpha, sign = group["alpha"], -1 if group["maximize"] else 1
        numbers = (sign, group["lr"], decay, alpha, 1 - alpha, group["eps"], momentum)
        names = ["square_avg"]
        names += ["grad_avg"] if centered else []
        names += ["momentum_buffer"] if momentum else []
        kernel = fused.rmsprop(bool(decay), centered, bool(momentum))
        return [] if in_one_kernel(ready, kernel, names, numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        counted(state)
        alpha = group["alpha"]
        g, square = real(with_decay(group, param, grad)), real(state["square_avg"])
        square.mul_(alpha).addcmul_(g, g, value=1 - alpha)
        scale = square
        if group["centered"]:
            mean = real(state["grad_avg"])
            mean.lerp_(g, 1 - alpha)
            scale = square - mean * mean
        g = g / scale.sqrt().add_(group["eps"])
        if group["momentum"]:
            g = real(state["momentum_buffer"]).mul_(group["momentum"]).add_(g)
        real(param).sub_(g * group["lr"])


class Rprop(Optimizer):
    """Steps by the sign of the gradient, longer while it stays the same (Riedmiller, 1993).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.Rprop([p], lr=0.1)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-2, etas: Pair = (0.5, 1.2),
        step_sizes: Pair = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check("Rprop", lr=(lr, lr >= 0), etas=(etas, 0 < etas[0] < 1 < etas[1]))
        no_gradient_of_steps("Rprop", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
                "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        lr = complex(group["lr"], group["lr"]) if param.dtype.is_complex else group["lr"]
        state["step"] = new_count()
        zeros(state, param, "prev")
        state["step_size"] = tx.full_like(param, lr)

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        if same_step(ready) is None:
            return ready
        numbers = (-1 if group["maximize"] else 1, *group["etas"], *group["step_sizes"])
        return [] if in_one_kernel(ready, fused.rprop, ("prev", "step_size"), numbers) else ready

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        counted(state)
        shorter, longer = group["etas"]
        least, most = group["step_sizes"]
        g, before, size = real(grad), real(state["prev"]), real(state["step_size"])
        agree = g * before
        new = tx.where(agree > 0, size * longer, tx.where(agree < 0, size * shorter, size))
        size.copy_(tx.clamp(new, least, most))
        g = tx.where(agree < 0, 0.0, g)
        real(param).sub_(tx.sign(g) * size)
        before.copy_(g)


class ASGD(Optimizer):
    """Gradient descent with the average of all parameters kept beside (Polyak and Juditsky, 1992).

    >>> p = tx.nn.Parameter(tx.tensor([1.0]))
    >>> optimizer = tx.optim.ASGD([p], lr=0.1, lambd=0.0)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.8000])
    """

    def __init__(
        self, params: Params, lr: Number = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
        t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        check("ASGD", lr=(lr, lr >= 0), weight_decay=(weight_decay, weight_decay >= 0))
        no_gradient_of_steps("ASGD", differentiable)
        super().__init__(
            params,
            {
                "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0,
                "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
                "differentiable": differentiable, "capturable": capturable,
            },
        )  # fmt: skip

    def _start(self, group: dict[str, Any], param: Tensor, state: dict[str, Any]) -> None:
        state["step"] = new_count()
        state["eta"] = tx.tensor(float(group["lr"]))
        state["mu"] = tx.tensor(1.0)
        zeros(state, param, "ax")

    def _go_on(self, group: dict[str, Any], state: dict[str, Any], step: Any) -> None:
        """The rate and the average's share of the next step."""
        lr = group["lr"]
        state["eta"].fill_(lr / (1 + group["lambd"] * lr * step) ** group["alpha"])
        late = step - group["t0"]
        late = tx.clamp(late, min=1) if isinstance(late, Tensor) else max(1, late)
        state["mu"].fill_(1 / late)

    def _update_together(self, group: dict[str, Any], ready: list[Step]) -> list[Step]:
        for param, _, state in ready:
            if not state:
                self._start(group, param, state)
        step, eta, share = (same_number(ready, name) for name in ("step", "eta", "mu"))
        if step is None or eta is None or share is None:
            return ready
        decay = group["weight_decay"]
        numbers = (-1 if group["maximize"] else 1, decay, 1 - group["lambd"] * eta, eta, share)
        if not in_one_kernel(ready, fused.asgd(bool(decay)), ("ax",), numbers):
            return ready
        for _, _, state in ready:
            self._go_on(group, state, step + 1)
        return []

    def _update(
        self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]
    ) -> None:
        if not state:
            self._start(group, param, state)
        step = counted(state)
        grad = with_decay(group, param, grad)
        eta, average = number(state["eta"]), state["ax"]
        param.mul_(1 - group["lambd"] * eta).sub_(grad * eta)
        average.add_((param - average) * number(state["mu"]))
        self._go_on(group, state, step)
