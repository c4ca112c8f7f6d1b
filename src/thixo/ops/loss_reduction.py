"""What every loss shares: how the losses of single elements become the result."""

import warnings
from typing import Any

from thixo.errors import ShapeError, ValueRangeError, describe, user_level
from thixo.shape import broadcast_shapes, is_symbolic

REDUCTIONS = ("none", "mean", "sum")


def reduction_of(op: str, size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction to use; the two old switches, where given, decide it.

    >>> reduction_of("mse_loss", None, None, "sum"), reduction_of("mse_loss", None, False, "mean")
    ('sum', 'none')
    """
    if size_average is not None or reduce is not None:
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"
    if reduction not in REDUCTIONS:
        raise ValueRangeError(f"{op}: reduction is {reduction!r}; it must be one of {REDUCTIONS}")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """The losses themselves, their mean or their sum."""
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def check_broadcast(op: str, input: Any, target: Any) -> None:
    """Refuse a target that does not broadcast with the input, in the loss's own name."""
    try:
        broadcast_shapes(tuple(input.shape), tuple(target.shape))
    except ShapeError:
        raise ShapeError(
            f"{op}: shapes differ: input is {describe(input)}, target is {describe(target)}"
        ) from None


def warn_of_broadcast(op: str, input: Any, target: Any) -> None:
    """Say so where shapes differ: (n, 1) against (n) compares all pairs, which is rarely meant."""
    a, b = tuple(input.shape), tuple(target.shape)
    if any(map(is_symbolic, (*a, *b))):
        differ = len(a) != len(b)  # sizes may turn out the same
    else:
        differ = a != b
    if differ:
        warnings.warn(
            f"{op}: input is {describe(input)}, target is {describe(target)}; they broadcast to "
            f"{list(broadcast_shapes(a, b))}, which is rarely meant: give both the same shape",
            UserWarning,
            stacklevel=user_level(),
        )


def check_same_shape(op: str, input: Any, target: Any) -> None:
    """Refuse a target of another shape."""
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(
            f"{op}: shapes differ: input is {describe(input)}, target is {describe(target)}; "
            f"they must be the same"
        )


def weighted(op: str, loss: Any, input: Any, weight: Any, reduction: str) -> Any:
    """Weigh each element's loss; a mean is then the weighted one."""
    if weight is None:
        return reduced(loss, reduction)
    if tuple(weight.shape) != tuple(input.shape):
        raise ShapeError(
            f"{op}: weight is {describe(weight)}, input is {describe(input)}; the shapes must agree"
        )
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return reduced(loss, reduction)
