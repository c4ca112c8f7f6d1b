"""What every schedule is."""

from typing import Any

from thixo.errors import ArgumentError, describe
from thixo.optim.arguments import check_argument, check_constructor
from thixo.optim.optimizer import Optimizer
from thixo.tensor import Tensor


def put_lr(group: dict[str, Any], lr: float) -> None:
    """Set a group's learning rate; a tensor keeps its identity."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = lr


class LRScheduler:
    """The base of schedules. A subclass gives the rates for step `last_epoch` in `get_lr`.

    >>> class Halve(tx.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
    >>> optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=1.0)
    >>> schedule = Halve(optimizer)
    >>> schedule.step(); schedule.get_last_lr()
    [0.5]
    """

    def __init_subclass__(cls) -> None:
        check_constructor(cls)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(
                f"{type(self).__name__}: an Optimizer is needed, got {describe(optimizer)}"
            )
        check_argument(type(self).__name__, "last_epoch", int, last_epoch)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", float(lr) if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise ArgumentError(
                    f"{type(self).__name__}: group {i} has no 'initial_lr', which is needed to resume "
                    f"at last_epoch={last_epoch}"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self.step()

    def get_lr(self) -> list[float]:
        """The rate of each group for step `last_epoch`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def _rates(self) -> list[float]:
        """The rates the groups have now."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Go to the next step (or to a given one) and set the rates."""
        check_argument(type(self).__name__, "epoch", int | None, epoch)
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            rates = self.get_lr() if closed is None else closed()
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            put_lr(group, lr)
        self._last_lr = self._rates()

    def get_last_lr(self) -> list[float]:
        """The rates that were set last."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """All of the schedule's state but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", *self._unsaved())}

    def _unsaved(self) -> tuple[str, ...]:
        """Attributes that are no state, such as functions."""
        return ()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""
        self.__dict__.update(state_dict)
