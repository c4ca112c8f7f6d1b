"""A schedule that waits for a measure to stop improving."""

import math
from typing import Any

from thixo.errors import ArgumentError, ValueRangeError
from thixo.optim.arguments import Each, Number, check_argument
from thixo.optim.lr_scheduler.base import LRScheduler, put_lr
from thixo.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The rate times a factor when a measure has not improved for `patience` steps.

    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = tx.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    >>> for loss in (1.0, 1.0, 1.0): schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Each = 0,
        eps: float = 1e-8,
    ) -> None:  # fmt: skip
        name = "ReduceLROnPlateau"
        if factor >= 1:
            raise ValueRangeError(f"{name}: factor is {factor}; it must be below 1")
        if mode not in ("min", "max"):
            raise ValueRangeError(f"{name}: mode is {mode!r}; it must be 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueRangeError(
                f"{name}: threshold_mode is {threshold_mode!r}; it must be 'rel' or 'abs'"
            )
        count = len(optimizer.param_groups)
        self.min_lrs: list[Any] = (
            list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        )
        if len(self.min_lrs) != count:
            raise ArgumentError(f"{name}: {len(self.min_lrs)} values of min_lr for {count} groups")
        self.optimizer = optimizer
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = self._rates()
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def _is_better(self, value: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            wanted = self.best * (1 + sign * self.threshold)
        else:
            wanted = self.best + sign * self.threshold
        return sign * value > sign * wanted

    @property
    def in_cooldown(self) -> bool:
        """Whether it still waits after the last change."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of a measure; lower the rates if it has been bad for too long."""
        check_argument("ReduceLROnPlateau", "metrics", Number, metrics)
        check_argument("ReduceLROnPlateau", "epoch", int | None, epoch)
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                old = float(group["lr"])
                new = max(old * self.factor, least)
                if old - new > self.eps:
                    put_lr(group, new)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._rates()
