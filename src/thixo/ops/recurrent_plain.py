"""Plain recurrent layers over whole sequences; see `recurrent_parts.py`."""

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
    layer_gradients,
    share_of_input,
    through_steps,
    times,
)
from thixo.ops.samples import Bad, Sample


class RNNLayer(Op):
    """One plain recurrent layer in one direction, of tanh or of relu: outputs and last state. `nn.RNN` runs it.

    >>> x, h, w, u = tx.ones(3, 1, 2), tx.zeros(1, 1), tx.ones(1, 2), tx.ones(1, 1)
    >>> y, h = tx.nn.functional.rnn_layer(x, h, w, u, relu=True)
    >>> y.flatten()
    tensor([2., 4., 6.])
    """

    total = True
    signature = (
        "rnn_layer(input, h, weight_ih, weight_hh, bias_ih = None, bias_hh = None, "
        "relu: bool = False, reverse: bool = False) -> (y, last_h)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(input, h, weight_ih, weight_hh, bias_ih, bias_hh, relu, reverse):
        check_layer("rnn_layer", 1, input, {"h": h}, weight_ih, weight_hh, bias_ih, bias_hh)
        time, batch, _ = input.shape
        hidden, dtype = weight_hh.shape[1], input.dtype
        return Spec((time, batch, hidden), dtype), Spec((batch, hidden), dtype)

    def kernel(input, h, weight_ih, weight_hh, bias_ih, bias_hh, relu, reverse):
        shares = share_of_input(input, weight_ih, bias_ih)
        y = np.empty_like(shares)
        for t in times(len(input), reverse):
            sums = shares[t] + share_of_input(h, weight_hh, bias_hh)
            y[t] = h = np.maximum(sums, 0) if relu else np.tanh(sums)
        return y, h.copy()

    def vjp(
        g_y, g_last_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, relu, reverse, needs
    ):
        g, g_h = tx.nn.functional.rnn_layer_backward(
            g_y, g_last_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, relu, reverse
        )
        wanted = (needs[0], *needs[2:6])
        return layer_gradients(g, g, g_h, input, h, y, weight_ih, reverse, wanted)

    def reference(
        input, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, relu=False, reverse=False
    ):
        time, batch, _ = input.shape
        y = np.zeros((time, batch, weight_hh.shape[1]))
        last = np.array(h, float)
        for b in range(batch):
            for t in range(time)[:: -1 if reverse else 1]:
                sums = weight_ih @ input[t, b] + weight_hh @ last[b]
                for bias in (bias_ih, bias_hh):
                    sums = sums if bias is None else sums + bias
                y[t, b] = last[b] = [max(s, 0.0) if relu else math.tanh(s) for s in sums]
        return y, last

    def samples(s):
        h, w, u = s.real(s.n, s.k), s.real(s.k, s.m), s.real(s.k, s.k)
        biases = s.real(s.k), s.real(s.k)
        yield Sample(s.real(3, s.n, s.m), h, w, u, *biases)
        yield Sample(s.real(3, s.n, s.m), h, w, u, *biases, relu=True)
        yield Sample(s.real(2, s.n, s.m), h, w, u, reverse=True)
        yield Sample(s.real(1, s.n, s.m), h, w, u, None, biases[1])

    def bad(s):
        x, h, w, u = s.real(2, 3, 4), s.real(3, 5), s.real(5, 4), s.real(5, 5)
        yield Bad(Sample(x[0], h, w, u), ShapeError, "(time, batch, features)")
        yield Bad(Sample(x, h[:2], w, u), ShapeError, "h is")
        yield Bad(Sample(x, h, w, u[1:]), ShapeError, "(hidden, hidden)")


class RNNLayerBackward(Op):
    """Back through time: gradients of what goes into the steps of `rnn_layer`, and of its first state.

    Its outputs, where they are known, save the way there. They follow from the other arguments, and so have no
    gradients of their own.

    >>> x, one = tx.ones(3, 1, 2), tx.ones(1, 1)
    >>> g, h, w, u = tx.ones(3, 1, 1), tx.zeros(1, 1), tx.ones(1, 2), tx.ones(1, 1)
    >>> into, _ = tx.nn.functional.rnn_layer_backward(g, one, x, h, w, u, relu=True)
    >>> into.flatten()
    tensor([4., 3., 2.])
    """

    total = True
    signature = (
        "rnn_layer_backward(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih = None, "
        "bias_hh = None, y = None, relu: bool = False, reverse: bool = False) "
        "-> (g_gates, g_first_h)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def infer(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, relu, reverse):
        op = "rnn_layer_backward"
        check_layer(op, 1, input, {"h": h}, weight_ih, weight_hh, bias_ih, bias_hh)
        wanted = {"g_y": (g_y, "all"), "g_h": (g_h, "state"), "y": (y, "all")}
        check_gradients(op, input, weight_hh.shape[1], wanted)
        return Spec(tuple(g_y.shape), g_y.dtype), Spec(tuple(g_h.shape), g_y.dtype)

    def kernel(g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, y, relu, reverse):
        if y is None:
            y, _ = RNNLayer.kernel(input, h, weight_ih, weight_hh, bias_ih, bias_hh, relu, reverse)
        made = np.empty_like(g_y)
        for t in reversed(times(len(g_y), reverse)):
            made[t] = (g_y[t] + g_h) * ((y[t] > 0) if relu else 1 - y[t] * y[t])
            g_h = made[t] @ weight_hh
        return made, np.array(g_h)

    def vjp(
        g_g_gates, g_g_first_h, g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh, relu,
        reverse,
    ):  # fmt: skip
        given = (g_y, g_h, input, h, weight_ih, weight_hh, bias_ih, bias_hh)
        made = through_steps(lambda *t: _back(*t, relu, reverse), given, (g_g_gates, g_g_first_h))
        return *made, None

    def reference(
        g_y, g_h, input, h, weight_ih, weight_hh, bias_ih=None, bias_hh=None, y=None, relu=False,
        reverse=False,
    ):  # fmt: skip
        if y is None:
            y, _ = RNNLayer.reference(
                input, h, weight_ih, weight_hh, bias_ih, bias_hh, relu, reverse
            )
        time, batch, hidden = g_y.shape
        made, g_h = np.zeros((time, batch, hidden)), np.array(g_h, float)
        for b in range(batch):
            for t in range(time)[:: 1 if reverse else -1]:
                for u in range(hidden):
                    slope = float(y[t, b, u] > 0) if relu else 1 - y[t, b, u] ** 2
                    made[t, b, u] = (g_y[t, b, u] + g_h[b, u]) * slope
                g_h[b] = [made[t, b] @ weight_hh[:, u] for u in range(hidden)]
        return made, g_h

    def samples(s):
        g_h, h = s.real(s.n, s.k), s.real(s.n, s.k)
        w, u, b = s.real(s.k, s.m), s.real(s.k, s.k), s.real(s.k)
        x, g = s.real(3, s.n, s.m), s.real(3, s.n, s.k)
        yield Sample(g, g_h, x, h, w, u, b, b)
        yield Sample(g, g_h, x, h, w, u, b, relu=True)
        yield Sample(s.real(2, s.n, s.k), g_h, s.real(2, s.n, s.m), h, w, u, reverse=True)
        # What is given must be the layer's results for gradients to be right.
        y = s.real(3, s.n, s.k)
        yield Sample(g, g_h, x, h, w, u, None, b, y, grad=False)
        yield Sample(g, g_h, x, h, w, u, None, b, y, True, True, grad=False)

    def bad(s):
        g, h, x = s.real(2, 3, 5), s.real(3, 5), s.real(2, 3, 4)
        w, u = s.real(5, 4), s.real(5, 5)
        yield Bad(Sample(g[0], h, x, h, w, u), ShapeError, "g_y is")
        yield Bad(Sample(g, h[1:], x, h, w, u), ShapeError, "g_h is")
        yield Bad(Sample(g, h, x, h, w, u, None, None, g[1:]), ShapeError, "y is")


def _back(
    g_y: Any, g_h: Any, input: Any, h: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any,
    bias_hh: Any, relu: bool, reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """What `rnn_layer_backward` computes, in operators that have gradients themselves."""
    steps = []
    shares = tx.nn.functional.linear(input, weight_ih, bias_ih)
    for t in times(input.shape[0], reverse):
        sums = shares[t] + tx.nn.functional.linear(h, weight_hh, bias_hh)
        h = sums.relu() if relu else sums.tanh()
        steps.append((t, (sums > 0).to(sums.dtype) if relu else 1 - h * h))
    into: list[Any] = [None] * len(steps)
    for t, slope in reversed(steps):
        into[t] = (g_y[t] + g_h) * slope
        g_h = tx.matmul(into[t], weight_hh)
    return tx.stack(into), g_h
