"""The arguments that everything with a sliding window shares: one number for each axis."""

from typing import Any

from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops.plain import whole


def per_axis(op: str, name: str, value: Any, axes: int) -> tuple[Any, ...]:
    """An int for every axis: `2` and `(2,)` mean the same for each, else one for each is needed.

    >>> per_axis("conv2d", "stride", 2, 2)
    (2, 2)
    """
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(values) == 1:
        values *= axes
    if len(values) != axes:
        raise ArgumentError(
            f"{op}: {name} is {describe(value)}; it must be an int or {axes} of them"
        )
    return tuple(whole(op, name, v) for v in values)


def require(op: str, name: str, values: tuple[Any, ...], least: int) -> None:
    """Refuse numbers below `least`."""
    for value in values:
        if value < least:
            raise ValueRangeError(f"{op}: {name} is {values}; each must be at least {least}")


def exactly(op: str, axes: int, **values: tuple[Any, ...]) -> None:
    """Refuse lists that have not one number for each axis."""
    for name, value in values.items():
        if len(value) != axes:
            raise ArgumentError(
                f"{op}: {name} is {tuple(value)}; it must be {axes} ints, one for each axis"
            )


def output_size(size: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """How many places a window of `kernel` taps has along an axis."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def batched(op: str, input: Any, axes: int) -> tuple[Any, bool]:
    """`input` as (batch, channels, sizes), and whether the batch was missing."""
    if input.ndim == axes + 1:
        return input.unsqueeze(0), True
    if input.ndim != axes + 2:
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must be (batch, channels, sizes), that is "
            f"{axes + 2} dimensions, or {axes + 1} without the batch"
        )
    return input, False
