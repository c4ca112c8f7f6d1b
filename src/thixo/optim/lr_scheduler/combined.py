"""Schedules made of others."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from thixo.errors import ArgumentError
from thixo.optim.lr_scheduler.base import LRScheduler, put_lr
from thixo.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    _schedulers: list[Any]

    def _unsaved(self) -> tuple[str, ...]:
        return ("_schedulers",)

    def state_dict(self) -> dict[str, Any]:
        """The state, with that of each schedule."""
        inner = [s.state_dict() for s in self._schedulers]
        return {**super().state_dict(), "_schedulers": inner}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""
        state = dict(state_dict)
        for schedule, saved in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            schedule.load_state_dict(saved)
        super().load_state_dict(state)


class SequentialLR(_Combined):
    """One schedule after the other, each from its milestone on.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> warm = tx.optim.lr_scheduler.ConstantLR(optimizer, 0.1, total_iters=2)
    >>> then = tx.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    >>> schedule = tx.optim.lr_scheduler.SequentialLR(optimizer, [warm, then], milestones=[2])
    >>> rates = []
    >>> for _ in range(4): rates += schedule.get_last_lr(); schedule.step()
    >>> rates
    [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        name = "SequentialLR"
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                f"{name}: {len(schedulers)} schedules need {max(len(schedulers) - 1, 0)} milestones, "
                f"got {len(milestones)}"
            )
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ArgumentError(f"{name}: all schedules must be of the same optimizer")
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # the schedules have all begun: go back, and begin with the first alone
        for group in optimizer.param_groups:
            put_lr(group, group["initial_lr"])
        for schedule in self._schedulers:
            schedule.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Step the schedule whose turn it is; one whose milestone this is begins."""
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            schedule.step(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once, each acting on what the others left.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> a = tx.optim.lr_scheduler.ConstantLR(optimizer, 0.5, total_iters=9)
    >>> b = tx.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    >>> schedule = tx.optim.lr_scheduler.ChainedScheduler([a, b])
    >>> schedule.step(); schedule.get_last_lr()
    [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ArgumentError("ChainedScheduler: at least one schedule is needed")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        if any(s.optimizer is not optimizer for s in schedulers):
            raise ArgumentError("ChainedScheduler: all schedules must be of the same optimizer")
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = self._rates()

    def step(self) -> None:  # type: ignore[override]
        """Step them all, in order."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = self._rates()
