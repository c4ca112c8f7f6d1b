"""Whole sequences through one recurrent layer.

A layer's gradient has two parts: back through time, which is an operator of its own, and products over all times at
once. With a graph of gradients the rule writes out every step in public operators instead, so that it can be
differentiated again.
"""

import math
from typing import Any

import numpy as np

from thixo import _core
from thixo.dtype import FLOATS, float32, float64
from thixo.errors import DTypeError, ShapeError, describe
from thixo.ops import public as tx
from thixo.ops.base import Op, Spec
from thixo.ops.samples import Bad, Sample


def _check(op: str, input: Any, h: Any, c: Any, weight_ih: Any, weight_hh: Any, *biases: Any) -> None:  # fmt: skip
    if input.ndim != 3:
        raise ShapeError(f"{op}: input is {describe(input)}; it must be (time, batch, features)")
    if input.shape[0] == 0:
        raise ShapeError(f"{op}: input is {describe(input)}; there must be at least one time")
    if weight_hh.ndim != 2 or weight_hh.shape[0] != 4 * weight_hh.shape[1]:
        raise ShapeError(f"{op}: weight_hh is {describe(weight_hh)}; it must be (4 hidden, hidden)")
    hidden = weight_hh.shape[1]
    wanted = {
        "h": (h, (input.shape[1], hidden)),
        "c": (c, (input.shape[1], hidden)),
        "weight_ih": (weight_ih, (4 * hidden, input.shape[2])),
        "weight_hh": (weight_hh, (4 * hidden, hidden)),
        "bias_ih": (biases[0], (4 * hidden,)),
        "bias_hh": (biases[1], (4 * hidden,)),
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


def _kept(dtype: Any) -> Any:
    """The dtype of what the gradient needs: that of the computation."""
    return float64 if dtype == float64 else float32


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class LSTMLayer(Op):
    """One layer of long short-term memory in one direction: outputs, last state, and what its gradient needs.

    The gates (input, forget, cell, output) follow each other in the weights' first axis. `nn.LSTM` runs it.

    >>> x, h, w, u = tx.ones(5, 2, 3), tx.zeros(2, 4), tx.zeros(16, 3), tx.zeros(16, 4)
    >>> y, h, c, *_ = tx.nn.functional.lstm_layer(x, h, h + 1, w, u)
    >>> y.shape, c[0]
    (Size([5, 2, 4]), tensor([0.0312, 0.0312, 0.0312, 0.0312]))
    """

    signature = (
        "lstm_layer(input, h, c, weight_ih, weight_hh, bias_ih = None, bias_hh = None, "
        "reverse: bool = False) -> (y, last_h, last_c, gates, cells)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    nondifferentiable = ("gates", "cells")

    def infer(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse):
        _check("lstm_layer", input, h, c, weight_ih, weight_hh, bias_ih, bias_hh)
        time, batch, _ = input.shape
        hidden, dtype = weight_hh.shape[1], input.dtype
        state = Spec((batch, hidden), dtype)
        return (
            Spec((time, batch, hidden), dtype),
            state,
            state,
            Spec((time, batch, 4 * hidden), _kept(dtype)),
            Spec((time, batch, hidden), _kept(dtype)),
        )

    def kernel(input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, reverse):
        shares = np.matmul(input, weight_ih.T)
        for bias in (bias_ih, bias_hh):
            shares = shares if bias is None else shares + bias
        y = np.empty((*input.shape[:2], weight_hh.shape[1]), input.dtype)
        cells, gates = np.empty_like(y), np.empty_like(shares)
        for t in range(len(input))[:: -1 if reverse else 1]:
            take, forget, cell, give = np.split(shares[t] + h @ weight_hh.T, 4, axis=-1)
            take, forget, cell, give = (
                _sigmoid(take),
                _sigmoid(forget),
                np.tanh(cell),
                _sigmoid(give),
            )
            c = forget * c + take * cell
            h = give * np.tanh(c)
            y[t], cells[t], gates[t] = h, c, np.concatenate([take, forget, cell, give], axis=-1)
        return y, h.copy(), c.copy(), gates, cells

    def vjp(
        g_y, g_last_h, g_last_c, input, h, c, weight_ih, weight_hh, bias_ih, bias_hh, y, gates,
        cells, reverse, needs,
    ):  # fmt: skip
        if _core.is_grad_enabled():
            return _written_out(
                g_y,
                g_last_h,
                g_last_c,
                input,
                h,
                c,
                weight_ih,
                weight_hh,
                bias_ih,
                bias_hh,
                reverse,
            )
        g, g_h, g_c = tx.nn.functional.lstm_layer_backward(
            g_y, g_last_h, g_last_c, c, weight_hh, gates, cells, reverse
        )
        flat = g.flatten(0, 1)  # (time * batch, 4 hidden)
        g_input = tx.matmul(g, weight_ih) if needs[0] else None
        g_ih = tx.matmul(flat.mT, input.flatten(0, 1)) if needs[3] else None
        g_hh = None
        if needs[4]:
            # The state that each step began with: the output of the one before, and at first h.
            time = input.shape[0]
            first, rest = (time - 1, slice(None, -1)) if reverse else (0, slice(1, None))
            before = y[1:] if reverse else y[:-1]
            g_hh = tx.matmul(g[first].mT, h)
            if time > 1:
                g_hh = g_hh + tx.matmul(g[rest].flatten(0, 1).mT, before.flatten(0, 1))
        bias = flat.sum(0) if needs[5] or needs[6] else None
        # Both biases add to the same sums. Each gets a gradient of its own: one tensor in two places could be written twice.
        second = bias.clone() if needs[5] and needs[6] else bias
        return g_input, g_h, g_c, g_ih, g_hh, bias, second

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

    >>> g, one = tx.ones(5, 2, 4), tx.ones(2, 4)
    >>> gates, cells = tx.full((5, 2, 16), 0.5), tx.zeros(5, 2, 4)
    >>> into, _, _ = tx.nn.functional.lstm_layer_backward(g, one, one, one, tx.zeros(16, 4), gates, cells)
    >>> into.shape
    Size([5, 2, 16])
    """

    signature = (
        "lstm_layer_backward(g_y, g_h, g_c, c, weight_hh, gates, cells, reverse: bool = False) "
        "-> (g_gates, g_first_h, g_first_c)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS
    vjp = (
        None  # the rule of lstm_layer writes its steps out where gradients of gradients are wanted
    )

    def infer(g_y, g_h, g_c, c, weight_hh, gates, cells, reverse):
        if g_y.ndim != 3 or g_y.shape[0] == 0:
            raise ShapeError(
                f"lstm_layer_backward: g_y is {describe(g_y)}; it must be (time, batch, hidden), at least one time"
            )
        time, batch, hidden = g_y.shape
        wanted = {
            "g_h": (g_h, (batch, hidden)),
            "g_c": (g_c, (batch, hidden)),
            "c": (c, (batch, hidden)),
            "weight_hh": (weight_hh, (4 * hidden, hidden)),
            "gates": (gates, (time, batch, 4 * hidden)),
            "cells": (cells, (time, batch, hidden)),
        }
        for name, (given, shape) in wanted.items():
            if tuple(given.shape) != shape:
                raise ShapeError(
                    f"lstm_layer_backward: {name} is {describe(given)}; with g_y {describe(g_y)} it "
                    f"must be {list(shape)}"
                )
        state = Spec((batch, hidden), g_y.dtype)
        return Spec((time, batch, 4 * hidden), g_y.dtype), state, state

    def kernel(g_y, g_h, g_c, c, weight_hh, gates, cells, reverse):
        made = np.empty(gates.shape, g_y.dtype)
        order = list(range(len(g_y))[:: -1 if reverse else 1])
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

    def reference(g_y, g_h, g_c, c, weight_hh, gates, cells, reverse=False):
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
        state = [s.real(s.n, s.k) for _ in range(3)]
        u, gates, cells = s.real(4 * s.k, s.k), s.real(3, s.n, 4 * s.k), s.real(3, s.n, s.k)
        yield Sample(s.real(3, s.n, s.k), *state, u, gates, cells)
        yield Sample(s.real(3, s.n, s.k), *state, u, gates, cells, reverse=True)

    def bad(s):
        g, h, u = s.real(2, 3, 5), s.real(3, 5), s.real(20, 5)
        gates, cells = s.real(2, 3, 20), s.real(2, 3, 5)
        yield Bad(Sample(g[0], h, h, h, u, gates, cells), ShapeError, "g_y is")
        yield Bad(Sample(g, h[1:], h, h, u, gates, cells), ShapeError, "g_h is")
        yield Bad(Sample(g, h, h, h, u, gates[:, :, 1:], cells), ShapeError, "gates is")


def _written_out(
    g_y: Any, g_h: Any, g_c: Any, input: Any, h: Any, c: Any, weight_ih: Any, weight_hh: Any,
    bias_ih: Any, bias_hh: Any, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of lstm_layer, every step in operators that have gradients themselves."""
    steps = []
    order = list(range(input.shape[0])[:: -1 if reverse else 1])
    for t in order:
        share = tx.nn.functional.linear(input[t], weight_ih, bias_ih)
        sums = share + tx.nn.functional.linear(h, weight_hh, bias_hh)
        take, forget, cell, give = sums.chunk(4, -1)
        take, forget, cell, give = take.sigmoid(), forget.sigmoid(), cell.tanh(), give.sigmoid()
        new = forget * c + take * cell
        squashed = new.tanh()
        steps.append((t, h, c, take, forget, cell, give, squashed))
        h, c = give * squashed, new
    into: list[Any] = [None] * len(order)
    g_hh = 0
    for t, before, past, take, forget, cell, give, squashed in reversed(steps):
        g = g_y[t] + g_h
        g_c = g_c + g * give * (1 - squashed * squashed)
        parts = [
            g_c * cell * take * (1 - take), g_c * past * forget * (1 - forget),
            g_c * take * (1 - cell * cell), g * squashed * give * (1 - give),
        ]  # fmt: skip
        into[t] = tx.cat(parts, -1)
        g_hh = g_hh + tx.matmul(into[t].mT, before)
        g_h = tx.matmul(into[t], weight_hh)
        g_c = g_c * forget
    made = tx.stack(into)
    flat = made.flatten(0, 1)
    g_ih = tx.matmul(flat.mT, input.flatten(0, 1))
    bias = flat.sum(0)
    return tx.matmul(made, weight_ih), g_h, g_c, g_ih, g_hh, bias, bias
