"""What the recurrent layers of `recurrent.py`, `recurrent_gru.py` and `recurrent_plain.py` share.

A layer's gradient has two parts: back through time, which is an operator of its own, and products over all times at
once. The gradient of the former goes through its steps, written in public operators.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thixo import _core
from thixo.dtype import float32, float64
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx

Tensors = Sequence[Any]


def check_layer(
    op: str, gates: int, input: Any, states: dict[str, Any], weight_ih: Any, weight_hh: Any,
    bias_ih: Any, bias_hh: Any,
) -> None:  # fmt: skip
    """Refuse what does not fit together; `states` are those to begin with, by name."""
    if input.ndim != 3:
        raise ShapeError(f"{op}: input is {describe(input)}; it must be (time, batch, features)")
    if input.shape[0] == 0:
        raise ShapeError(f"{op}: input is {describe(input)}; there must be at least one time")
    if weight_hh.ndim != 2 or weight_hh.shape[0] != gates * weight_hh.shape[1]:
        rows = f"{gates} hidden" if gates > 1 else "hidden"
        raise ShapeError(f"{op}: weight_hh is {describe(weight_hh)}; it must be ({rows}, hidden)")
    hidden = weight_hh.shape[1]
    wanted = {name: (state, (input.shape[1], hidden)) for name, state in states.items()}
    wanted |= {
        "weight_ih": (weight_ih, (gates * hidden, input.shape[2])),
        "weight_hh": (weight_hh, (gates * hidden, hidden)),
        "bias_ih": (bias_ih, (gates * hidden,)),
        "bias_hh": (bias_hh, (gates * hidden,)),
    }
    for name, (given, shape) in wanted.items():
        if given is None:
            continue
        if tuple(given.shape) != shape:
            raise ShapeError(
                f"{op}: {name} is {describe(given)}; with input {describe(input)} and hidden size "
                f"{hidden} it must be {list(shape)}"
            )
        if given.dtype != input.dtype:
            raise DTypeError(
                f"{op}: dtypes differ: input is {describe(input)}, {name} is {describe(given)}"
            )


def check_gradients(op: str, input: Any, hidden: Any, wanted: dict[str, tuple[Any, str]]) -> None:
    """Refuse tensors of other shapes than their kind has: "state", "all" times, or so many "gates"."""
    time, batch, _ = input.shape
    shapes = {"state": (batch, hidden), "all": (time, batch, hidden)}
    for name, (given, kind) in wanted.items():
        shape = shapes.get(kind) or (time, batch, int(kind) * hidden)
        if given is not None and tuple(given.shape) != shape:
            raise ShapeError(
                f"{op}: {name} is {describe(given)}; with input {describe(input)} and hidden size "
                f"{hidden} it must be {list(shape)}"
            )


def kept(dtype: Any) -> Any:
    """The dtype of what the gradient needs: that of the computation."""
    return float64 if dtype == float64 else float32


def times(count: int, reverse: bool) -> list[int]:
    """In the order of the steps."""
    return list(range(count)[:: -1 if reverse else 1])


def sigmoid(x: np.ndarray) -> np.ndarray:
    """In NumPy."""
    return 1 / (1 + np.exp(-x))


def share_of_input(input: Any, weight: Any, bias: Any) -> np.ndarray:
    """What the inputs of all times add to the gates."""
    made = np.matmul(input, weight.T)
    return made if bias is None else made + bias


def layer_gradients(
    to_input: Any, to_state: Any, g_h: Any, input: Any, h: Any, y: Any, weight_ih: Any, reverse: bool,
    needs: Sequence[bool],
) -> tuple[Any, ...]:  # fmt: skip
    """Of input, h, weights and biases: products over all times.

    `to_input` and `to_state` are gradients of what input and state add to the gates; `needs` is of input, weights
    and biases.
    """
    flat = to_input.flatten(0, 1)  # (time * batch, gates)
    g_input = tx.matmul(to_input, weight_ih) if needs[0] else None
    g_ih = tx.matmul(flat.mT, input.flatten(0, 1)) if needs[1] else None
    g_hh = None
    if needs[2]:
        # The state that each step began with: the output of the one before, and at first h.
        time = input.shape[0]
        first, rest = (time - 1, slice(None, -1)) if reverse else (0, slice(1, None))
        before = y[1:] if reverse else y[:-1]
        g_hh = tx.matmul(to_state[first].mT, h)
        if time > 1:
            g_hh = g_hh + tx.matmul(to_state[rest].flatten(0, 1).mT, before.flatten(0, 1))
    same = to_state is to_input
    g_bias_ih = flat.sum(0) if needs[3] or (same and needs[4]) else None
    if not needs[4]:
        g_bias_hh = None
    elif same:
        # Both biases add to the same sums. Each gets a gradient of its own: one tensor in two places could be
        # written twice.
        g_bias_hh = g_bias_ih.clone() if needs[3] else g_bias_ih
    else:
        g_bias_hh = to_state.flatten(0, 1).sum(0)
    return g_input, g_h, g_ih, g_hh, g_bias_ih if needs[3] else None, g_bias_hh


def through_steps(
    steps: Callable[..., Tensors], tensors: Tensors, gradients: Tensors
) -> tuple[Any, ...]:
    """The gradients of a function written in public operators, by a tape of its own: None where there is none.

    They can be differentiated again while the tape records.
    """
    again = _core.is_grad_enabled()
    _core.set_grad_enabled(True)
    try:
        # Each tensor for itself: what one has to do with another is not this function's.
        own = [None if t is None else _apart(t, again) for t in tensors]
        made = tuple(steps(*own))
        wanted = tuple(t for t in own if t is not None)
        found = iter(_core.backward(made, tuple(gradients), wanted, False, again, again))
    finally:
        _core.set_grad_enabled(again)
    return tuple(None if t is None else next(found) for t in tensors)


def _apart(tensor: Any, again: bool) -> Any:
    """The same tensor as a beginning of its own, which gradients reach; what is recorded goes on where it came from."""
    if again and tensor.requires_grad:
        return tensor.view_as(tensor)
    if tensor._value is None:
        return tensor.detach().requires_grad_()
    made = tensor.view_as(tensor)
    return made if made.requires_grad else made.requires_grad_()
