"""Recurrent layers by the native sequence operators, against the same steps written out."""

import numpy as np
import pytest

import thixo as tx
from thixo.nn import functional as F


def written_out(x, h, c, w, u, b, d, reverse=False):
    """`lstm_layer` in operators that each have their gradient."""
    outputs = [None] * len(x)
    for t in range(len(x))[:: -1 if reverse else 1]:
        gates = F.linear(x[t], w, b) + F.linear(h, u, d)
        i, f, z, o = gates.chunk(4, -1)
        c = tx.sigmoid(f) * c + tx.sigmoid(i) * tx.tanh(z)
        h = tx.sigmoid(o) * tx.tanh(c)
        outputs[t] = h
    return tx.stack(outputs), h, c


def arguments(steps, batch, inputs, hidden, dtype=tx.float64, seed=0):
    draw = np.random.default_rng(seed)
    shapes = [(steps, batch, inputs), (batch, hidden), (batch, hidden), (4 * hidden, inputs)]
    shapes += [(4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
    return [tx.tensor(draw.normal(size=s) * 0.5, dtype=dtype).requires_grad_() for s in shapes]


def gradients(function, leaves, **options):
    results = function(*leaves, **options)[:3]
    seeds = [tx.cos(tx.arange(r.numel()) * 1.0).to(r.dtype).reshape(r.shape) for r in results]
    return [*results, *tx.autograd.grad(results, leaves, seeds)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (5, 3, 4, 2), (7, 37, 5, 17), (3, 2, 33, 40)])
def test_lstm_layer_is_its_steps(sizes, reverse):
    leaves = arguments(*sizes)
    ours = gradients(F.lstm_layer, leaves, reverse=reverse)
    theirs = gradients(written_out, leaves, reverse=reverse)
    for a, b in zip(ours, theirs, strict=True):
        tx.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "error"), [(tx.float32, 1e-5), (tx.bfloat16, 0.06), (tx.float16, 0.01)]
)
def test_lstm_layer_in_other_dtypes(dtype, error):
    leaves = arguments(6, 5, 3, 9, dtype)
    wide = [x.detach().to(tx.float64).requires_grad_() for x in leaves]
    for a, b in zip(gradients(F.lstm_layer, leaves), gradients(written_out, wide), strict=True):
        assert a.dtype is dtype
        assert (a.to(tx.float64) - b).abs().max() <= error * b.abs().max()


def test_lstm_layer_gives_the_same_bits_on_any_number_of_threads():
    leaves = arguments(4, 71, 19, 23, tx.float32)
    before, found = tx.get_num_threads(), []
    try:
        for count in (1, 2, 3, 7):
            tx.set_num_threads(count)
            found.append([t.detach().numpy() for t in gradients(F.lstm_layer, leaves)])
    finally:
        tx.set_num_threads(before)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_lstm_layer_takes_any_strides():
    leaves = arguments(4, 3, 5, 6)
    x, h, c, w, u, b, d = (t.detach() for t in leaves)
    turned = [
        x.transpose(0, 2).contiguous().transpose(0, 2),
        h.T.contiguous().T,
        c,
        w.T.contiguous().T,
    ]
    spread = [u.repeat(2, 1)[: len(u)], b.unsqueeze(1).repeat(1, 2)[:, 0], d]
    for a, e in zip(F.lstm_layer(*turned, *spread), F.lstm_layer(x, h, c, w, u, b, d), strict=True):
        tx.testing.assert_close(a, e)


def test_lstm_layer_takes_an_empty_batch():
    y, h, c, *_ = F.lstm_layer(*arguments(3, 0, 4, 2))
    assert (y.shape, h.shape, c.shape) == ((3, 0, 2), (0, 2), (0, 2))


def test_second_gradient_of_an_lstm():
    layer = tx.nn.LSTM(2, 3, bidirectional=True, dtype=tx.float64)
    x = tx.randn(3, 2, 2, dtype=tx.float64).requires_grad_()
    assert tx.autograd.gradgradcheck(lambda x: layer(x)[0], (x,))
