"""Schedules that go one way: steps, powers, lines, or a function of the user's."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thixo.errors import ArgumentError, ValueRangeError, describe
from thixo.optim.arguments import check_argument
from thixo.optim.lr_scheduler.base import LRScheduler
from thixo.optim.optimizer import Optimizer


def _functions(name: str, given: Any, count: int) -> list[Callable[[int], float]]:
    functions = list(given) if isinstance(given, (list, tuple)) else [given] * count
    if not all(map(callable, functions)):
        raise ArgumentError(
            f"{name}: lr_lambda must be a function or a list of them, got {describe(given)}"
        )
    if len(functions) != count:
        raise ArgumentError(f"{name}: {len(functions)} functions for {count} parameter groups")
    return functions


class LambdaLR(LRScheduler):
    """The initial rate times a function of the step.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions(type(self).__name__, lr_lambda, len(optimizer.param_groups))
        super().__init__(optimizer, last_epoch)

    def _unsaved(self) -> tuple[str, ...]:
        return ("lr_lambdas",)

    def state_dict(self) -> dict[str, Any]:
        """The state; of functions only objects have one that can be saved."""
        saved = [None if hasattr(f, "__code__") else dict(vars(f)) for f in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""
        state = dict(state_dict)
        for function, saved in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if saved is not None:
                vars(function).update(saved)
        super().load_state_dict(state)

    def get_lr(self) -> list[float]:
        """Initial rates times the functions."""
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]


class MultiplicativeLR(LambdaLR):
    """The rate before times a function of the step.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> schedule.step(); schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[float]:
        """Rates so far times the functions."""
        if self.last_epoch == 0:
            return self._rates()
        pairs = zip(self._rates(), self.lr_lambdas, strict=True)
        return [lr * function(self.last_epoch) for lr, function in pairs]


class StepLR(LRScheduler):
    """The rate times gamma every `step_size` steps.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(3): schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if step_size <= 0:
            raise ValueRangeError(f"StepLR: step_size is {step_size}; it must be positive")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates so far, times gamma at every multiple of step_size."""
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [lr * self.gamma for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each milestone.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> for _ in range(3): schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if isinstance(milestones, Iterable) and getattr(milestones, "ndim", 1) == 1:
            milestones = list(milestones)
        check_argument("MultiStepLR", "milestones", Sequence[int], milestones)
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates so far, times gamma where there is a milestone."""
        factor = self.gamma ** self.milestones[self.last_epoch]
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times gamma every step.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule.step(); schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates so far times gamma."""
        factor = 1.0 if self.last_epoch == 0 else self.gamma
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times a factor for the first `total_iters` steps.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 <= factor <= 1:
            raise ValueRangeError(f"ConstantLR: factor is {factor}; it must be between 0 and 1")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates so far, times the factor at first and divided by it at the end."""
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [lr / self.factor for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        factor = self.factor if self.last_epoch < self.total_iters else 1.0
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes in a line from start_factor to end_factor.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> schedule.step(); schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
        total_iters: int = 5, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1:
            raise ValueRangeError(
                f"LinearLR: start_factor is {start_factor}; needs above 0, up to 1"
            )
        if not 0 <= end_factor <= 1:
            raise ValueRangeError(f"LinearLR: end_factor is {end_factor}; needs 0 to 1")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, step: int) -> float:
        done = min(self.total_iters, step) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done

    def get_lr(self) -> list[float]:
        """Rates so far, times the factor's growth in this step."""
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self.last_epoch > self.total_iters:
            return self._rates()
        growth = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [lr * growth for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The rate times (1 - step / total_iters) ** power.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> schedule.step(); schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Rates so far, times the polynomial's decay in this step."""
        step, total = self.last_epoch, self.total_iters
        if step == 0 or step > total:
            return self._rates()
        decay = ((1 - step / total) / (1 - (step - 1) / total)) ** self.power
        return [lr * decay for lr in self._rates()]

    def _get_closed_form_lr(self) -> list[float]:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1 - done) ** self.power for base in self.base_lrs]
