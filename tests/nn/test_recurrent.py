"""Recurrent layers by the native sequence operators, against the same steps written out."""

import functools

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Interpreter, Type
from thixo.graph.trace import Trace
from thixo.nn import functional as F


def over_time(step, states):
    """A layer that does one step after the other, each in operators that have their gradient."""

    def layer(x, *rest, reverse=False):
        state, (w, u, b, d) = rest[:states], rest[states:]
        outputs = [None] * len(x)
        for t in range(len(x))[:: -1 if reverse else 1]:
            state = step(F.linear(x[t], w, b), F.linear(state[0], u, d), *state)
            outputs[t] = state[0]
        return (tx.stack(outputs), *state)

    return layer


def lstm_step(x, s, h, c):
    i, f, z, o = (x + s).chunk(4, -1)
    c = tx.sigmoid(f) * c + tx.sigmoid(i) * tx.tanh(z)
    return tx.sigmoid(o) * tx.tanh(c), c


def gru_step(x, s, h):
    (xr, xz, xn), (sr, sz, sn) = x.chunk(3, -1), s.chunk(3, -1)
    z = tx.sigmoid(xz + sz)
    return ((1 - z) * tx.tanh(xn + tx.sigmoid(xr + sr) * sn) + z * h,)


# kind: (layer, the same written out, gates, states)
KINDS = {
    "LSTM": (F.lstm_layer, over_time(lstm_step, 2), 4, 2),
    "GRU": (F.gru_layer, over_time(gru_step, 1), 3, 1),
    "RNN": (F.rnn_layer, over_time(lambda x, s, h: (tx.tanh(x + s),), 1), 1, 1),
    "RNN_RELU": (
        functools.partial(F.rnn_layer, relu=True),
        over_time(lambda x, s, h: (tx.relu(x + s),), 1),
        1,
        1,
    ),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def arguments(kind, steps, batch, inputs, hidden, dtype=tx.float64, seed=0):
    draw = np.random.default_rng(seed)
    _, _, gates, states = KINDS[kind]
    shapes = [(steps, batch, inputs), *[(batch, hidden)] * states, (gates * hidden, inputs)]
    shapes += [(gates * hidden, hidden), (gates * hidden,), (gates * hidden,)]
    return [tx.tensor(draw.normal(size=s) * 0.5, dtype=dtype).requires_grad_() for s in shapes]


def gradients(kind, function, leaves, **options):
    results = function(*leaves, **options)[: 1 + KINDS[kind][3]]
    seeds = [tx.cos(tx.arange(r.numel()) * 1.0).to(r.dtype).reshape(r.shape) for r in results]
    return [*results, *tx.autograd.grad(results, leaves, seeds)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (5, 3, 4, 2), (7, 37, 5, 17), (3, 2, 33, 40)])
@kinds
def test_a_layer_is_its_steps(kind, sizes, reverse):
    leaves = arguments(kind, *sizes)
    ours, theirs = (gradients(kind, f, leaves, reverse=reverse) for f in KINDS[kind][:2])
    for a, b in zip(ours, theirs, strict=True):
        tx.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "error"), [(tx.float32, 1e-5), (tx.bfloat16, 0.06), (tx.float16, 0.01)]
)
@kinds
def test_a_layer_in_other_dtypes(kind, dtype, error):
    leaves = arguments(kind, 6, 5, 3, 9, dtype)
    wide = [x.detach().to(tx.float64).requires_grad_() for x in leaves]
    layer, written_out, *_ = KINDS[kind]
    for a, b in zip(
        gradients(kind, layer, leaves), gradients(kind, written_out, wide), strict=True
    ):
        assert a.dtype is dtype
        assert (a.to(tx.float64) - b).abs().max() <= error * b.abs().max()


@kinds
def test_a_layer_gives_the_same_bits_on_any_number_of_threads(kind):
    leaves = arguments(kind, 4, 71, 19, 23, tx.float32)
    before, found = tx.get_num_threads(), []
    try:
        for count in (1, 2, 3, 7):
            tx.set_num_threads(count)
            found.append([t.detach().numpy() for t in gradients(kind, KINDS[kind][0], leaves)])
    finally:
        tx.set_num_threads(before)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@kinds
def test_a_layer_takes_any_strides(kind):
    leaves = [t.detach() for t in arguments(kind, 4, 3, 5, 6)]
    turned = [t.transpose(0, -1).contiguous().transpose(0, -1) for t in leaves]
    turned[-1] = leaves[-1].unsqueeze(1).repeat(1, 2)[:, 0]
    layer = KINDS[kind][0]
    for a, e in zip(layer(*turned), layer(*leaves), strict=True):
        tx.testing.assert_close(a, e)


@kinds
def test_a_layer_takes_an_empty_batch(kind):
    layer, _, _, states = KINDS[kind]
    y, *last = layer(*arguments(kind, 3, 0, 4, 2))
    assert y.shape == (3, 0, 2)
    assert all(state.shape == (0, 2) for state in last[:states])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_second_gradient_of_a_layer(kind):
    layer = getattr(tx.nn, kind)(2, 3, bidirectional=True, dtype=tx.float64)
    x = tx.randn(3, 2, 2, dtype=tx.float64).requires_grad_()
    assert tx.autograd.gradgradcheck(lambda x: layer(x)[0], (x,))


@kinds
def test_a_graph_of_gradients_has_gradients(kind):
    layer, *_ = KINDS[kind]
    leaves = arguments(kind, 3, 2, 2, 2)
    leaves.append(tx.randn(3, 2, 2, dtype=tx.float64).requires_grad_())
    with Trace("gradients") as trace:
        types = [Type(t.dtype, tuple(t.shape)) for t in leaves]
        *inputs, g = (trace.input(f"x{i}", t, requires_grad=True) for i, t in enumerate(types))
        for made in tx.autograd.grad(layer(*inputs)[0], inputs, g, create_graph=True):
            trace.output(made)
    graph = trace.finish()
    assert "layer_backward" in str(graph)
    assert tx.autograd.gradcheck(lambda *x: tuple(Interpreter(graph).run(*x)), tuple(leaves))
