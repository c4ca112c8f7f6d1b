"""Gated recurrent units over whole sequences; see `recurrent_parts.py`."""

import math
from typing import Any

import numpy as np

from thixo.dtype import FLOATS
from thixo.errors import ShapeError
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.recurrent_parts import (
    check_gradients,
    check_layer,
    kept,
    layer_gradients,
    share_of_input,
    sigmoid,
    through_steps,
    times,
)
from thixo.ops.samples import Bad, Sample


class GRULayer(Op):
    """One layer of gated recurrent units in one direction: outputs, last state, and what its gradient needs.

    The gates (reset, keep, new) follow each other in the weights' first axis; beside them the state's share in the
    last one is kept. `nn.GRU` runs it.

    >>> x, h, w, u = tx.ones(5, 2, 3), tx.ones(2, 4), tx.zeros(12, 3), tx.zeros(12, 4)
    >>> y, h, _ = tx.nn.functional.gru_layer(x, h, w, u)
    >>> y.shape, h[0]
    (Size([5, 2, 4]), tensor([0.0312, 0.0312, 0.0312, 0.0312]))
    """

    total = True
    signature = (
        "gru_layer(input, h, weight_ih, weight_hh, bias_ih = None, bias_hh = None, "
        "reverse: bool = False) -> (y, last_h, gates)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    nondifferentiable = ("gates",)

    def infer(input, h, weight_ih, weight_hh, bias_ih, bias_hh, reverse):
        check_layer("gru_layer", 3, input, {"h": h}, weight_ih, weight_hh, bias_ih, bias_hh)
        time, batch, _ = input.shape
        hidden, dtype = weight_hh.shape[1], input.dtype
        return (
            Spec((time, batch, hidden), dtype),
            Spec((batch, hidden), dtype),
            Spec((time, batch, 4 * hidden), kept(dtype)),
        )

    def kernel(input, h, weight_ih, weight_hh, bias_ih, bias_hh, reverse):
        shares = share_of_input(input, weight_ih, bias_ih)
        hidden = weight_hh.shape[1]
        y = np.empty((*input.shape[:2], hidden), input.dtype)
        gates = np.empty((*input.shape[:2], 4 * hidden), input.dtype)
        for t in times(len(input), reverse):
            x_reset, x_keep, x_new = np.split(shares[t], 3, axis=-1)
            h_reset, h_keep, h_new = np.split(share_of_input(h, weight_hh, bias_hh), 3, axis=-1)
            reset, keep = sigmoid(x_reset + h_reset), sigmoid(x_keep + h_keep)
            new = np.tanh(x_new + reset * h_new)
            h = (1 - keep) * new + keep * h
            y[t], gates[t] = h, np.concatenate([reset, keep, new, h_new], axis=-1)
        return y, h.copy(), gates

    def vjp(
        g_y, g_last_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, gates, reverse, needs
    ):
        to_input, to_state, g_h = tx.nn.functional.gru_layer_backward(
            g_y, g_last_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, gates, reverse
        )
        wanted = (needs[0], *needs[2:6])
        return layer_gradients(to_input, to_state, g_h, input, h, y, weight_ih, reverse, wanted)

    def reference(input, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, reverse=False):
        time, batch, _ = input.shape
        hidden = weight_hh.shape[1]
        y, gates = np.zeros((time, batch, hidden)), np.zeros((time, batch, 4 * hidden))
        last = np.array(h, float)
        for b in range(batch):
            for t in range(time)[:: -1 if reverse else 1]:
                x = weight_ih @ input[t, b] + (0 if bias_ih is None else bias_ih)
                s = weight_hh @ last[b] + (0 if bias_hh is None else bias_hh)
                for u in range(hidden):
                    reset = 0.5 * (1 + math.tanh((x[u] + s[u]) / 2))
                    keep = 0.5 * (1 + math.tanh((x[hidden + u] + s[hidden + u]) / 2))
                    new = math.tanh(x[2 * hidden + u] + reset * s[2 * hidden + u])
                    y[t, b, u] = new + keep * (last[b, u] - new)
                    gates[t, b, u::hidden] = reset, keep, new, s[2 * hidden + u]
                last[b] = y[t, b]
        return y, last, gates

    def samples(s):
        h, w, u = s.real(s.n, s.k), s.real(3 * s.k, s.m), s.real(3 * s.k, s.k)
        biases = s.real(3 * s.k), s.real(3 * s.k)
        yield Sample(s.real(3, s.n, s.m), h, w, u, *biases)
        yield Sample(s.real(2, s.n, s.m), h, w, u, reverse=True)
        yield Sample(s.real(1, s.n, s.m), h, w, u, None, biases[1])

    def bad(s):
        x, h, w, u = s.real(2, 3, 4), s.real(3, 5), s.real(15, 4), s.real(15, 5)
        yield Bad(Sample(x[0], h, w, u), ShapeError, "(time, batch, features)")
        yield Bad(Sample(x, h[:2], w, u), ShapeError, "h is")
        yield Bad(Sample(x, h, w, u[1:]), ShapeError, "(3 hidden, hidden)")


class GRULayerBackward(Op):
    """Back through time: gradients of what input and state add to the gates of `gru_layer`, and of its first state.

    Its results, where they are known, save the way there. They follow from the other arguments, and so have no
    gradients of their own.

    >>> g, one, x, w = tx.ones(5, 2, 4), tx.ones(2, 4), tx.ones(5, 2, 3), tx.zeros(12, 3)
    >>> into, _, _ = tx.nn.functional.gru_layer_backward(g, one, x, one, w, tx.zeros(12, 4))
    >>> into.shape
    Size([5, 2, 12])
    """

    total = True
    signature = (
        "gru_layer_backward(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih = None, "
        "bias_hh = None, y = None, gates = None, reverse: bool = False) "
        "-> (g_input_gates, g_state_gates, g_first_h)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, gates, reverse):
        op = "gru_layer_backward"
        check_layer(op, 3, input, {"h": h}, weight_ih, weight_hh, bias_ih, bias_hh)
        hidden = weight_hh.shape[1]
        wanted = {"g_y": (g_y, "all"), "g_h": (g_h, "state"), "y": (y, "all"), "gates": (gates, "4")}  # fmt: skip
        check_gradients(op, input, hidden, wanted)
        time, batch, _ = input.shape
        all_gates = Spec((time, batch, 3 * hidden), g_y.dtype)
        return all_gates, all_gates, Spec((batch, hidden), g_y.dtype)

    def kernel(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, gates, reverse):
        if y is None or gates is None:
            y, _, gates = GRULayer.kernel(input, h, weight_ih, weight_hh, bias_ih, bias_hh, reverse)
        to_input = np.empty((*g_y.shape[:2], weight_hh.shape[0]), g_y.dtype)
        to_state = np.empty_like(to_input)
        order = times(len(g_y), reverse)
        for step in reversed(range(len(order))):
            t = order[step]
            reset, keep, new, share = np.split(gates[t], 4, axis=-1)
            g, before = g_y[t] + g_h, y[order[step - 1]] if step else h
            to_new = g * (1 - keep) * (1 - new * new)
            parts = [
                to_new * share * reset * (1 - reset), g * (before - new) * keep * (1 - keep), to_new
            ]  # fmt: skip
            to_input[t] = np.concatenate(parts, axis=-1)
            to_state[t] = np.concatenate([*parts[:2], to_new * reset], axis=-1)
            g_h = to_state[t] @ weight_hh + g * keep
        return to_input, to_state, np.array(g_h)

    def vjp(
        g_g_input_gates, g_g_state_gates, g_g_first_h, g_y, g_h, input, h, weight_ih, weight_hh,
        bias_ih, bias_hh, reverse,
    ):  # fmt: skip
        given = (g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh)
        gradients = (g_g_input_gates, g_g_state_gates, g_g_first_h)
        return *through_steps(lambda *t: _back(*t, reverse), given, gradients), None, None

    def reference(
        g_y, g_h, input, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, y=None, gates=None,
        reverse=False,
    ):  # fmt: skip
        if y is None:
            y, _, gates = GRULayer.reference(
                input, h, weight_ih, weight_hh, bias_ih, bias_hh, reverse
            )
        time, batch, hidden = g_y.shape
        to_input, to_state = (np.zeros((time, batch, 3 * hidden)) for _ in range(2))
        g_h = np.array(g_h, float)
        for b in range(batch):
            for step in range(time)[::-1]:
                t = time - 1 - step if reverse else step
                before = y[t + 1 if reverse else t - 1, b] if step else h[b]
                carried = np.zeros(hidden)
                for u in range(hidden):
                    reset, keep, new, share = gates[t, b].reshape(4, hidden)[:, u]
                    g = g_y[t, b, u] + g_h[b, u]
                    inner = g * (1 - keep) * (1 - new**2)
                    carried[u] = g * keep
                    first = inner * share * (reset - reset**2)
                    second = g * (before[u] - new) * (keep - keep**2)
                    to_input[t, b, u::hidden] = first, second, inner
                    to_state[t, b, u::hidden] = first, second, inner * reset
                g_h[b] = [float(to_state[t, b] @ weight_hh[:, u]) + carried[u] for u in range(hidden)]  # fmt: skip
        return to_input, to_state, g_h

    def samples(s):
        g_h, h = s.real(s.n, s.k), s.real(s.n, s.k)
        w, u, b = s.real(3 * s.k, s.m), s.real(3 * s.k, s.k), s.real(3 * s.k)
        x, g = s.real(3, s.n, s.m), s.real(3, s.n, s.k)
        yield Sample(g, g_h, x, h, w, u, b, b)
        yield Sample(s.real(2, s.n, s.k), g_h, s.real(2, s.n, s.m), h, w, u, reverse=True)
        # What is given must be the layer's results for gradients to be right.
        known = s.real(3, s.n, s.k), s.real(3, s.n, 4 * s.k)
        yield Sample(g, g_h, x, h, w, u, None, b, *known, grad=False)
        yield Sample(g, g_h, x, h, w, u, b, None, *known, reverse=True, grad=False)

    def bad(s):
        g, h, x = s.real(2, 3, 5), s.real(3, 5), s.real(2, 3, 4)
        w, u = s.real(15, 4), s.real(15, 5)
        yield Bad(Sample(g[0], h, x, h, w, u), ShapeError, "g_y is")
        yield Bad(Sample(g, h[1:], x, h, w, u), ShapeError, "g_h is")
        yield Bad(Sample(g, h, x, h, w, u, None, None, g[1:]), ShapeError, "y is")


def _back(
    g_y: Any, g_h: Any, input: Any, h: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any,
    bias_hh: Any, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """What `gru_layer_backward` computes, in operators that have gradients themselves."""
    steps = []
    shares = tx.nn.functional.linear(input, weight_ih, bias_ih)
    for t in times(input.shape[0], reverse):
        x_reset, x_keep, x_new = shares[t].chunk(3, -1)
        h_reset, h_keep, h_new = tx.nn.functional.linear(h, weight_hh, bias_hh).chunk(3, -1)
        reset, keep = (x_reset + h_reset).sigmoid(), (x_keep + h_keep).sigmoid()
        new = (x_new + reset * h_new).tanh()
        steps.append((t, h, reset, keep, new, h_new))
        h = (1 - keep) * new + keep * h
    to_input: list[Any] = [None] * len(steps)
    to_state: list[Any] = [None] * len(steps)
    for t, before, reset, keep, new, share in reversed(steps):
        g = g_y[t] + g_h
        to_new = g * (1 - keep) * (1 - new * new)
        to_reset = to_new * share * reset * (1 - reset)
        to_keep = g * (before - new) * keep * (1 - keep)
        to_input[t] = tx.cat([to_reset, to_keep, to_new], -1)
        to_state[t] = tx.cat([to_reset, to_keep, to_new * reset], -1)
        g_h = tx.matmul(to_state[t], weight_hh) + g * keep
    return tx.stack(to_input), tx.stack(to_state), g_h
