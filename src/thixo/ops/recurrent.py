"""Long short-term memory over whole sequences; see `recurrent_parts.py`."""

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


class LSTMLayer(Op):
    """One layer of long short-term memory in one direction: outputs, last state, and what its gradient needs.

    The gates (input, forget, cell, output) follow each other in the weights' first axis. `nn.LSTM` runs it.

    >>> x, h, w, u = tx.ones(5, 2, 3), tx.zeros(2, 4), tx.zeros(16, 3), tx.zeros(16, 4)
    >>> y, h, c, *_ = tx.nn.functional.lstm_layer(x, h, h + 1, w, u)
    >>> y.shape, c[0]
    (Size([5, 2, 4]), tensor([0.0312, 0.0312, 0.0312, 0.0312]))
    """

    total = True
    signature = (
        "lstm_layer(input, h, c, weight_ih, weight_hh, bias_ih = None, bias_hh = None, "
        "reverse: bool = False) -> (y, last_h, last_c, gates, cells)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    nondifferentiable = ("gates", "cells")

    def infer(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse):
        states = {"h": h, "c": c}
        check_layer("lstm_layer", 4, input, states, weight_ih, weight_hh, bias_ih, bias_hh)
        time, batch, _ = input.shape
        hidden, dtype = weight_hh.shape[1], input.dtype
        state = Spec((batch, hidden), dtype)
        return (
            Spec((time, batch, hidden), dtype),
            state,
            state,
            Spec((time, batch, 4 * hidden), kept(dtype)),
            Spec((time, batch, hidden), kept(dtype)),
        )

    def kernel(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse):
        shares = share_of_input(input, weight_ih, bias_ih)
        shares = shares if bias_hh is None else shares + bias_hh
        y = np.empty((*input.shape[:2], weight_hh.shape[1]), input.dtype)
        cells, gates = np.empty_like(y), np.empty_like(shares)
        for t in times(len(input), reverse):
            take, forget, cell, give = np.split(shares[t] + h @ weight_hh.T, 4, axis=-1)
            take, forget, give, cell = sigmoid(take), sigmoid(forget), sigmoid(give), np.tanh(cell)
            c = forget * c + take * cell
            h = give * np.tanh(c)
            y[t], cells[t], gates[t] = h, c, np.concatenate([take, forget, cell, give], axis=-1)
        return y, h.copy(), c.copy(), gates, cells

    def vjp(
        g_y, g_last_h, g_last_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, y, gates,
        cells, reverse, needs,
    ):  # fmt: skip
        g, g_h, g_c = tx.nn.functional.lstm_layer_backward(
            g_y, g_last_h, g_last_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, gates,
            cells, reverse,
        )  # fmt: skip
        wanted = (needs[0], *needs[3:7])
        g_input, g_h, *rest = layer_gradients(g, g, g_h, input, h, y, weight_ih, reverse, wanted)
        return g_input, g_h, g_c, *rest

    def reference(input, h, c, weight_ih, weight_hh, bias_ih=None, bias_hh=None, reverse=False):
        time, batch, _ = input.shape
        hidden = weight_hh.shape[1]
        y, cells, gates = np.zeros((time, batch, hidden)), np.zeros((time, batch, hidden)), np.zeros((time, batch, 4 * hidden))  # fmt: skip
        last_h, last_c = np.array(h, float), np.array(c, float)
        for b in range(batch):
            for t in range(time)[:: -1 if reverse else 1]:
                sums = [weight_ih[i] @ input[t, b] + weight_hh[i] @ last_h[b] for i in range(4 * hidden)]  # fmt: skip
                for bias in (bias_ih, bias_hh):
                    sums = sums if bias is None else [s + e for s, e in zip(sums, bias, strict=True)]  # fmt: skip
                for u in range(hidden):
                    take, forget, give = (0.5 * (1 + math.tanh(sums[k * hidden + u] / 2)) for k in (0, 1, 3))  # fmt: skip
                    cell = math.tanh(sums[2 * hidden + u])
                    last_c[b, u] = forget * last_c[b, u] + take * cell
                    y[t, b, u], cells[t, b, u] = give * math.tanh(last_c[b, u]), last_c[b, u]
                    gates[t, b, u::hidden] = take, forget, cell, give
                last_h[b] = y[t, b]
        return y, last_h, last_c, gates, cells

    def samples(s):
        h, c = s.real(s.n, s.k), s.real(s.n, s.k)
        w, u = s.real(4 * s.k, s.m), s.real(4 * s.k, s.k)
        biases = s.real(4 * s.k), s.real(4 * s.k)
        yield Sample(s.real(3, s.n, s.m), h, c, w, u, *biases)
        yield Sample(s.real(2, s.n, s.m), h, c, w, u, reverse=True)
        yield Sample(s.real(1, s.n, s.m), h, c, w, u, None, biases[1])

    def bad(s):
        x, h = s.real(2, 3, 4), s.real(3, 5)
        w, u = s.real(20, 4), s.real(20, 5)
        yield Bad(Sample(x[0], h, h, w, u), ShapeError, "(time, batch, features)")
        yield Bad(Sample(x[:0], h, h, w, u), ShapeError, "at least one time")
        yield Bad(Sample(x, h[:2], h, w, u), ShapeError, "h is")
        yield Bad(Sample(x, h, h, w[:, :3], u), ShapeError, "weight_ih is")
        yield Bad(Sample(x, h, h, w, u[1:]), ShapeError, "(4 hidden, hidden)")
        yield Bad(Sample(x, h, h, w, u, s.real(5)), ShapeError, "bias_ih is")


class LSTMLayerBackward(Op):
    """Back through time: gradients of what goes into the gates of `lstm_layer`, and of its first state.

    Its gates and cells, where they are known, save the way there. They follow from the other arguments, and so have
    no gradients of their own.

    >>> g, one, x, w = tx.ones(5, 2, 4), tx.ones(2, 4), tx.ones(5, 2, 3), tx.zeros(16, 3)
    >>> into, _, _ = tx.nn.functional.lstm_layer_backward(g, one, one, x, one, one, w, tx.zeros(16, 4))
    >>> into.shape
    Size([5, 2, 16])
    """

    total = True
    signature = (
        "lstm_layer_backward(g_y, g_h, g_c, input, h, c, weight_ih, weight_hh, bias_ih = None, "
        "bias_hh = None, gates = None, cells = None, reverse: bool = False) "
        "-> (g_gates, g_first_h, g_first_c)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(
        g_y, g_h, g_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, gates, cells, reverse
    ):
        op, states = "lstm_layer_backward", {"h": h, "c": c}
        check_layer(op, 4, input, states, weight_ih, weight_hh, bias_ih, bias_hh)
        hidden = weight_hh.shape[1]
        wanted = {"g_y": (g_y, "all"), "g_h": (g_h, "state"), "g_c": (g_c, "state")}
        wanted |= {"gates": (gates, "4"), "cells": (cells, "all")}
        check_gradients(op, input, hidden, wanted)
        time, batch, _ = input.shape
        state = Spec((batch, hidden), g_y.dtype)
        return Spec((time, batch, 4 * hidden), g_y.dtype), state, state

    def kernel(
        g_y, g_h, g_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, gates, cells, reverse
    ):
        if gates is None or cells is None:
            *_, gates, cells = LSTMLayer.kernel(
                input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse
            )
        made = np.empty(gates.shape, g_y.dtype)
        order = times(len(g_y), reverse)
        for step in reversed(range(len(order))):
            t = order[step]
            take, forget, cell, give = np.split(gates[t], 4, axis=-1)
            before = cells[order[step - 1]] if step else c
            squashed = np.tanh(cells[t])
            g = g_y[t] + g_h
            g_c = g_c + g * give * (1 - squashed * squashed)
            parts = (
                g_c * cell * take * (1 - take), g_c * before * forget * (1 - forget),
                g_c * take * (1 - cell * cell), g * squashed * give * (1 - give),
            )  # fmt: skip
            made[t] = np.concatenate(parts, axis=-1)
            g_h = made[t] @ weight_hh
            g_c = g_c * forget
        return made, np.array(g_h), np.array(g_c)

    def vjp(
        g_g_gates, g_g_first_h, g_g_first_c, g_y, g_h, g_c, input, h, c, weight_ih, weight_hh,
        bias_ih, bias_hh, reverse,
    ):  # fmt: skip
        given = (g_y, g_h, g_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh)
        made = through_steps(
            lambda *tensors: _back(*tensors, reverse), given, (g_g_gates, g_g_first_h, g_g_first_c)
        )
        return *made, None, None

    def reference(
        g_y, g_h, g_c, input, h, c, weight_ih, weight_hh, bias_ih=None, bias_hh=None, gates=None,
        cells=None, reverse=False,
    ):  # fmt: skip
        if gates is None:
            *_, gates, cells = LSTMLayer.reference(
                input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse
            )
        time, batch, hidden = g_y.shape
        made = np.zeros((time, batch, 4, hidden))
        g_h, g_c = np.array(g_h, float), np.array(g_c, float)
        rows = weight_hh.reshape(4, hidden, hidden)
        for b in range(batch):
            for step in range(time)[::-1]:
                t = time - 1 - step if reverse else step
                last = t + 1 if reverse else t - 1
                for u in range(hidden):
                    take, forget, cell, give = gates[t, b].reshape(4, hidden)[:, u]
                    e, past = math.exp(2 * cells[t, b, u]), cells[last, b, u] if step else c[b, u]
                    squashed, slope = (e - 1) / (e + 1), 4 * e / (e + 1) ** 2
                    g = g_y[t, b, u] + g_h[b, u]
                    inner = g_c[b, u] + g * give * slope
                    made[t, b, :, u] = (
                        inner * cell * (take - take**2), inner * past * (forget - forget**2),
                        inner * take * (1 - cell**2), g * squashed * (give - give**2),
                    )  # fmt: skip
                    g_c[b, u] = inner * forget
                g_h[b] = [sum((made[t, b, k] * rows[k][:, u]).sum() for k in range(4)) for u in range(hidden)]  # fmt: skip
        return made.reshape(time, batch, 4 * hidden), g_h, g_c

    def samples(s):
        state = [s.real(s.n, s.k) for _ in range(4)]
        w, u, b = s.real(4 * s.k, s.m), s.real(4 * s.k, s.k), s.real(4 * s.k)
        x, g = s.real(3, s.n, s.m), s.real(3, s.n, s.k)
        yield Sample(g, *state[:2], x, *state[2:], w, u, b, b)
        two = s.real(2, s.n, s.k), s.real(2, s.n, s.m)
        yield Sample(two[0], *state[:2], two[1], *state[2:], w, u, reverse=True)
        # What is given must be the layer's results for gradients to be right.
        known = s.real(3, s.n, 4 * s.k), s.real(3, s.n, s.k)
        yield Sample(g, *state[:2], x, *state[2:], w, u, None, b, *known, grad=False)
        yield Sample(g, *state[:2], x, *state[2:], w, u, b, None, *known, reverse=True, grad=False)

    def bad(s):
        g, h, u = s.real(2, 3, 5), s.real(3, 5), s.real(20, 5)
        x, w, gates = s.real(2, 3, 4), s.real(20, 4), s.real(2, 3, 20)
        yield Bad(Sample(g[0], h, h, x, h, h, w, u), ShapeError, "g_y is")
        yield Bad(Sample(g, h[1:], h, x, h, h, w, u), ShapeError, "g_h is")
        yield Bad(Sample(g, h, h, x, h, h, w, u, None, None, gates[1:]), ShapeError, "gates is")


def _back(
    g_y: Any, g_h: Any, g_c: Any, input: Any, h: Any, c: Any, weight_ih: Any, weight_hh: Any,
    bias_ih: Any, bias_hh: Any, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """What `lstm_layer_backward` computes, in operators that have gradients themselves."""
    steps = []
    shares = tx.nn.functional.linear(input, weight_ih, bias_ih)
    for t in times(input.shape[0], reverse):
        sums = shares[t] + tx.nn.functional.linear(h, weight_hh, bias_hh)
        take, forget, cell, give = sums.chunk(4, -1)
        take, forget, cell, give = take.sigmoid(), forget.sigmoid(), cell.tanh(), give.sigmoid()
        new = forget * c + take * cell
        squashed = new.tanh()
        steps.append((t, c, take, forget, cell, give, squashed))
        h, c = give * squashed, new
    into: list[Any] = [None] * len(steps)
    for t, past, take, forget, cell, give, squashed in reversed(steps):
        g = g_y[t] + g_h
        g_c = g_c + g * give * (1 - squashed * squashed)
        parts = [
            g_c * cell * take * (1 - take), g_c * past * forget * (1 - forget),
            g_c * take * (1 - cell * cell), g * squashed * give * (1 - give),
        ]  # fmt: skip
        into[t] = tx.cat(parts, -1)
        g_h = tx.matmul(into[t], weight_hh)
        g_c = g_c * forget
    return tx.stack(into), g_h, g_c
