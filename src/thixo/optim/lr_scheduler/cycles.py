"""Schedules that go up and down: cosines and cycles."""

import math
from collections.abc import Callable
from typing import Any

from thixo.errors import ArgumentError, ValueRangeError
from thixo.optim.arguments import Each
from thixo.optim.lr_scheduler.base import LRScheduler, put_lr
from thixo.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """The rate along half a cosine, from its start to eta_min in T_max steps.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> schedule.step(); round(schedule.get_last_lr()[0], 6)
    0.5
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_max <= 0:
            raise ValueRangeError(f"CosineAnnealingLR: T_max is {T_max}; it must be positive")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates so far, moved along the cosine by one step."""
        step, total, low = self.last_epoch, self.T_max, self.eta_min
        if step == 0:
            return self._rates()
        if self._step_count == 1 and step > 0:
            return self._get_closed_form_lr()
        if (step - 1 - total) % (2 * total) == 0:  # at the bottom: the recursion would divide by 0
            rise = (1 - math.cos(math.pi / total)) / 2
            pairs = zip(self._rates(), self.base_lrs, strict=True)
            return [lr + (base - low) * rise for lr, base in pairs]
        growth = (1 + math.cos(math.pi * step / total)) / (
            1 + math.cos(math.pi * (step - 1) / total)
        )
        return [growth * (lr - low) + low for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine after the other, each T_mult times as long as the one before.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> schedule.step(); schedule.step(); schedule.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not isinstance(T_0, int) or T_0 < 1 or not isinstance(T_mult, int) or T_mult < 1:
            raise ValueRangeError(
                f"CosineAnnealingWarmRestarts: T_0={T_0} and T_mult={T_mult} must be whole numbers "
                f"of at least 1"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """The cosine's value at its present place."""
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:  # type: ignore[override]
        """Go to the next step, or to a place that may lie between two."""
        self._step_count += 1
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueRangeError(
                    f"CosineAnnealingWarmRestarts: epoch is {epoch}; needs 0 or more"
                )
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        self.last_epoch = math.floor(epoch)
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            put_lr(group, lr)
        self._last_lr = self._rates()


def _each(name: str, option: str, value: Any, count: int) -> list[float]:
    values = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(values) != count:
        raise ArgumentError(
            f"{name}: {len(values)} values of {option} for {count} parameter groups"
        )
    return values


def _momentum_option(name: str, optimizer: Optimizer) -> str:
    """How the optimizer calls its momentum: "momentum", or the first of "betas"."""
    for option in ("momentum", "betas"):
        if option in optimizer.defaults:
            return option
    raise ArgumentError(f"{name}: cycle_momentum needs an optimizer with momentum or betas")


def _put_momentum(group: dict[str, Any], option: str, value: float) -> None:
    group[option] = (value, *group["betas"][1:]) if option == "betas" else value


class CyclicLR(LRScheduler):
    """The rate up and down between base_lr and max_lr (Smith, 2015).

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0, momentum=0.9)
    >>> schedule = tx.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Each, max_lr: Each, step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
        cycle_momentum: bool = True, base_momentum: Each = 0.8, max_momentum: Each = 0.9,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        count = len(optimizer.param_groups)
        bases = _each("CyclicLR", "base_lr", base_lr, count)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, bases, strict=True):
                put_lr(group, lr)
        self.max_lrs = _each("CyclicLR", "max_lr", max_lr, count)
        down = step_size_up if step_size_down is None else step_size_down
        if not (0 < step_size_up < math.inf and 0 < down < math.inf):
            raise ValueRangeError(
                f"CyclicLR: step_size_up is {step_size_up}, step_size_down is {down}; they must be positive"
            )
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueRangeError(
                f"CyclicLR: mode is {mode!r}; it must be 'triangular', 'triangular2' or 'exp_range'"
            )
        self.mode = mode
        self.gamma = gamma
        self.scale_fn = scale_fn
        self.scale_mode = (
            scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        )
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.momentum_option = _momentum_option("CyclicLR", optimizer)
            self.base_momentums = _each("CyclicLR", "base_momentum", base_momentum, count)
            self.max_momentums = _each("CyclicLR", "max_momentum", max_momentum, count)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _unsaved(self) -> tuple[str, ...]:
        return ("scale_fn",)

    def _scale(self, x: float) -> float:
        if self.scale_fn is not None:
            return self.scale_fn(x)
        if self.mode == "triangular2":
            return 1 / 2 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[float]:
        """The rates at this place of the cycle; momentum goes the other way."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        share = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        share *= self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, pairs, strict=True):
                _put_momentum(group, self.momentum_option, high - (high - low) * share)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * share for low, high in pairs]


class OneCycleLR(LRScheduler):
    """One rise to max_lr and one long fall far below the start (Smith and Topin, 2017).

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0, momentum=0.9)
    >>> schedule = tx.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> round(schedule.get_last_lr()[0], 6)
    0.04
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: Each, total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: Each = 0.85,
        max_momentum: Each = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
        three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        name = "OneCycleLR"
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError(f"{name}: give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if min(div_factor, final_div_factor) <= 0:
            raise ValueRangeError(
                f"{name}: div_factor is {div_factor}, final_div_factor is {final_div_factor}; they must be "
                f"positive"
            )
        if total_steps <= 0 or not 0 <= pct_start <= 1:
            raise ValueRangeError(
                f"{name}: total_steps={total_steps} must be positive and pct_start={pct_start} "
                f"between 0 and 1"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueRangeError(
                f"{name}: anneal_strategy is {anneal_strategy!r}; it must be 'cos' or 'linear'"
            )
        self.total_steps = total_steps
        self.anneal_strategy = anneal_strategy
        self.cycle_momentum = cycle_momentum
        up = float(pct_start * total_steps) - 1
        # (last step of the phase, from which rate, to which, from which momentum, to which)
        self.phases: list[tuple[float, str, str, str, str]]
        rise = (up, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if three_phase:
            self.phases = [
                rise,
                (2 * up, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self.phases = [
                rise,
                (total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        count = len(optimizer.param_groups)
        if last_epoch == -1:
            for group, lr in zip(
                optimizer.param_groups, _each(name, "max_lr", max_lr, count), strict=True
            ):
                group["initial_lr"] = lr / div_factor
                group["max_lr"] = lr
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self.momentum_option = _momentum_option(name, optimizer)
            if last_epoch == -1:
                low = _each(name, "base_momentum", base_momentum, count)
                high = _each(name, "max_momentum", max_momentum, count)
                for group, a, b in zip(optimizer.param_groups, low, high, strict=True):
                    group["base_momentum"], group["max_momentum"] = a, b
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self.anneal_strategy == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2 * (1 + math.cos(math.pi * share))

    def get_lr(self) -> list[float]:
        """The rates at this place of the cycle; momentum goes the other way."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueRangeError(
                f"OneCycleLR: step {step} is beyond the {self.total_steps} there are"
            )
        begin = 0.0
        rates = []
        for number, (end, *_) in enumerate(self.phases):
            if step <= end or number == len(self.phases) - 1:
                break
            begin = end
        end, lr_from, lr_to, m_from, m_to = self.phases[number]
        share = (step - begin) / (end - begin)
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[lr_from], group[lr_to], share))
            if self.cycle_momentum:
                momentum = self._between(group[m_from], group[m_to], share)
                _put_momentum(group, self.momentum_option, momentum)
        return rates
