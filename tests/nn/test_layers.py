"""Layers against the arithmetic they stand for, written out with NumPy."""

import math

import numpy as np
import pytest

import thixo as tx
from thixo import nn
from thixo.errors import ShapeError, ThixoError, ValueRangeError


def array(t):
    return t.detach().numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def weights(layer):
    return {name: array(p) for name, p in layer.named_parameters()}


# ---- recurrent


def gru_step(x, h, w, end=""):
    xs = np.split(x @ w["weight_ih" + end].T + w["bias_ih" + end], 3, -1)
    hs = np.split(h @ w["weight_hh" + end].T + w["bias_hh" + end], 3, -1)
    reset, keep = sigmoid(xs[0] + hs[0]), sigmoid(xs[1] + hs[1])
    return (1 - keep) * np.tanh(xs[2] + reset * hs[2]) + keep * h


def lstm_step(x, state, w, end=""):
    h, c = state
    gates = x @ w["weight_ih" + end].T + w["bias_ih" + end]
    gates = gates + h @ w["weight_hh" + end].T + w["bias_hh" + end]
    i, f, g, o = np.split(gates, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def test_lstm_layers_and_directions():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    w = weights(layer)
    x = tx.randn(5, 2, 3)
    y, (h, c) = layer(x)
    outputs, last = array(x), []
    for number in range(2):
        directions = []
        for end in ("", "_reverse"):
            state = (np.zeros((2, 4)), np.zeros((2, 4)))
            made = []
            for t in range(5)[:: -1 if end else 1]:
                state = lstm_step(outputs[t], state, w, f"_l{number}{end}")
                made.append(state[0])
            directions.append(np.stack(made[::-1] if end else made))
            last.append(state)
        outputs = np.concatenate(directions, -1)
    np.testing.assert_allclose(array(y), outputs, atol=1e-5)
    np.testing.assert_allclose(array(h), np.stack([s[0] for s in last]), atol=1e-5)
    np.testing.assert_allclose(array(c), np.stack([s[1] for s in last]), atol=1e-5)


def test_gru_and_its_cell_agree_with_the_formula():
    layer, x = nn.GRU(3, 4, batch_first=True), tx.randn(2, 5, 3)
    y, h = layer(x)
    state = np.zeros((2, 4))
    for t in range(5):
        state = gru_step(array(x)[:, t], state, weights(layer), "_l0")
    np.testing.assert_allclose(array(y)[:, -1], state, atol=1e-5)
    np.testing.assert_allclose(array(h)[0], state, atol=1e-5)
    cell = nn.GRUCell(3, 4)
    made = cell(x[:, 0], tx.ones(2, 4))
    np.testing.assert_allclose(
        array(made), gru_step(array(x)[:, 0], np.ones((2, 4)), weights(cell)), atol=1e-5
    )


def test_cells_and_layers_agree():
    for kind in ("RNN", "LSTM", "GRU"):
        layer, cell = getattr(nn, kind)(3, 4), getattr(nn, kind + "Cell")(3, 4)
        cell.load_state_dict({k.replace("_l0", ""): v for k, v in layer.state_dict().items()})
        x, state = tx.randn(4, 2, 3), None
        for t in range(4):
            state = cell(x[t], state)
        y, _ = layer(x)
        h = state[0] if kind == "LSTM" else state
        np.testing.assert_allclose(array(y[-1]), array(h), atol=1e-5)


def test_recurrent_layers_refuse():
    layer = nn.LSTM(3, 4)
    with pytest.raises(ShapeError, match=r"must be \(time, batch, 3\)"):
        layer(tx.ones(5, 2, 4))
    with pytest.raises(ShapeError, match="initial state"):
        layer(tx.ones(5, 2, 3), (tx.ones(1, 1, 4), tx.ones(1, 2, 4)))
    with pytest.raises(ValueRangeError, match="nonlinearity is 'sin'"):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.raises(ShapeError, match="the state is"):
        nn.GRUCell(3, 4)(tx.ones(2, 3), tx.ones(2, 5))


# ---- attention


def test_attention_weights_are_probabilities_and_masks_shut():
    layer = nn.MultiheadAttention(8, 2)
    x = tx.randn(5, 3, 8)
    shut = tx.triu(tx.ones(5, 5, dtype=tx.bool), 1)
    y, shares = layer(x, x, x, attn_mask=shut, average_attn_weights=False)
    assert shares.shape == (3, 2, 5, 5)
    np.testing.assert_allclose(array(shares.sum(-1)), 1, atol=1e-5)
    assert (array(shares)[..., np.triu(np.ones((5, 5), bool), 1)] == 0).all()
    again, none = layer(x, x, x, attn_mask=shut, need_weights=False, is_causal=True)
    assert none is None
    np.testing.assert_allclose(array(again), array(y), atol=1e-5)


def test_attention_is_the_formula():
    layer = nn.MultiheadAttention(4, 2, batch_first=True)
    q, k, v = tx.randn(1, 3, 4), tx.randn(1, 5, 4), tx.randn(1, 5, 4)
    y, _ = layer(q, k, v)
    w, b = array(layer.in_proj_weight), array(layer.in_proj_bias)
    qp, kp, vp = (
        array(t)[0] @ w[i * 4 : i * 4 + 4].T + b[i * 4 : i * 4 + 4] for i, t in enumerate((q, k, v))
    )
    heads = []
    for h in range(2):
        part = slice(2 * h, 2 * h + 2)
        scores = np.exp(qp[:, part] @ kp[:, part].T / math.sqrt(2))
        heads.append(scores / scores.sum(-1, keepdims=True) @ vp[:, part])
    wanted = np.concatenate(heads, -1) @ array(layer.out_proj.weight).T + array(layer.out_proj.bias)
    np.testing.assert_allclose(array(y)[0], wanted, atol=1e-5)


def test_transformers_norm_order():
    x = tx.randn(4, 2, 8)
    after = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    before = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, norm_first=True)
    before.load_state_dict(after.state_dict())

    def attend(z):
        return after.self_attn(z, z, z, need_weights=False)[0]

    def network(z):
        return after.linear2(after.linear1(z).relu())

    y = after.norm1(x + attend(x))
    np.testing.assert_allclose(array(after(x)), array(after.norm2(y + network(y))), atol=1e-5)
    y = x + attend(after.norm1(x))
    np.testing.assert_allclose(array(before(x)), array(y + network(after.norm2(y))), atol=1e-5)


def test_transformer_decodes_without_seeing_the_future():
    net = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0)
    src, tgt = tx.randn(3, 1, 8), tx.randn(4, 1, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    y = array(net(src, tgt, tgt_mask=mask))
    changed = tgt.clone()
    changed[3] = 9.0
    z = array(net(src, changed, tgt_mask=mask))
    np.testing.assert_allclose(y[:3], z[:3], atol=1e-5)
    assert np.abs(y[3] - z[3]).max() > 1e-3


# ---- normalisation


def test_batch_norm_keeps_running_statistics():
    layer = nn.BatchNorm2d(2, momentum=0.3)
    x = tx.randn(4, 2, 3, 3) * 2 + 1
    layer(x)
    mean = array(x).mean((0, 2, 3))
    var = array(x).var((0, 2, 3), ddof=1)
    np.testing.assert_allclose(array(layer.running_mean), 0.3 * mean, rtol=1e-4)
    np.testing.assert_allclose(array(layer.running_var), 0.7 + 0.3 * var, rtol=1e-4)
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    y = layer(x)
    shape = (1, 2, 1, 1)
    scaled = (array(x) - array(layer.running_mean).reshape(shape)) / np.sqrt(
        array(layer.running_var).reshape(shape) + layer.eps
    )
    np.testing.assert_allclose(array(y), scaled, atol=1e-4)
    assert layer.num_batches_tracked.item() == 1
    layer.reset_running_stats()
    assert array(layer.running_var).tolist() == [1, 1]


def test_batch_norm_averages_without_momentum():
    layer = nn.BatchNorm1d(1, momentum=None, affine=False)
    batches = [tx.randn(5, 1) for _ in range(3)]
    for batch in batches:
        layer(batch)
    mean = np.mean([array(b).mean() for b in batches])
    np.testing.assert_allclose(array(layer.running_mean)[0], mean, atol=1e-6)


def test_norms_refuse_other_ranks_and_channels():
    with pytest.raises(ShapeError, match="must have 4 dimensions"):
        nn.BatchNorm2d(3)(tx.ones(2, 3))
    with pytest.raises(ShapeError, match="must have 3 channels"):
        nn.BatchNorm1d(3)(tx.ones(2, 4))
    with pytest.raises(ShapeError, match="more than one value"):
        nn.BatchNorm1d(3)(tx.ones(1, 3))
    with pytest.raises(ValueRangeError, match="must divide"):
        nn.GroupNorm(2, 3)


# ---- dropout


@pytest.mark.parametrize("kind", ["Dropout", "AlphaDropout"])
def test_dropout_keeps_the_mean(kind):
    tx.manual_seed(0)
    layer = getattr(nn, kind)(0.3)
    y = array(layer(tx.randn(100_000)))
    assert abs(y.mean()) < 0.02
    if kind == "Dropout":
        assert abs((y == 0).mean() - 0.3) < 0.01
    else:
        assert abs(y.std() - 1) < 0.02
    x = tx.randn(5)
    assert layer.eval()(x) is x


def test_channels_drop_whole():
    tx.manual_seed(0)
    y = array(nn.Dropout2d(0.5)(tx.ones(20, 30, 4, 4)))
    per_channel = y.reshape(600, 16)
    assert set(np.unique(per_channel)) == {0.0, 2.0}
    assert (per_channel.min(1) == per_channel.max(1)).all()
    lone = array(nn.Dropout1d(0.5)(tx.ones(200, 7)))
    assert (lone.min(1) == lone.max(1)).all()
    assert 0 < (lone[:, 0] == 0).mean() < 1


def test_dropout_has_the_gradient_of_its_mask():
    tx.manual_seed(1)
    x = tx.ones(50, requires_grad=True)
    y = nn.Dropout(0.5)(x)
    y.sum().backward()
    assert np.array_equal(array(x.grad), array(y))


def test_dropout_is_repeatable_and_can_write_in_place():
    tx.manual_seed(3)
    first = array(nn.functional.dropout(tx.ones(10)))
    tx.manual_seed(3)
    assert np.array_equal(array(nn.functional.dropout(tx.ones(10))), first)
    x = tx.ones(10)
    tx.manual_seed(3)
    assert nn.functional.dropout(x, inplace=True) is x
    assert np.array_equal(array(x), first)
    with pytest.raises(ValueRangeError, match="p is 2"):
        nn.Dropout(2)


# ---- tables, convolutions


def test_embedding_padding_row_gets_no_gradient():
    layer = nn.Embedding(4, 2, padding_idx=1)
    assert array(layer.weight)[1].tolist() == [0, 0]
    layer(tx.tensor([0, 1, 1, 2, 2])).sum().backward()
    assert array(layer.weight.grad)[:, 0].tolist() == [1, 0, 2, 0]


def test_embedding_scales_by_frequency_and_norm():
    layer = nn.Embedding(3, 2, scale_grad_by_freq=True)
    layer(tx.tensor([0, 2, 2])).sum().backward()
    assert array(layer.weight.grad)[:, 0].tolist() == [1, 0, 1]
    layer = nn.Embedding.from_pretrained(tx.tensor([[3.0, 4.0], [6.0, 8.0]]), max_norm=1.0)
    layer(tx.tensor([0]))
    np.testing.assert_allclose(array(layer.weight), [[0.6, 0.8], [6.0, 8.0]], rtol=1e-5)
    assert not layer.weight.requires_grad


def test_convolution_padding_modes():
    x = tx.randn(1, 2, 5, 6)
    layer = nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect")
    padded = tx.from_numpy(np.pad(array(x), [(0, 0), (0, 0), (1, 1), (1, 1)], mode="reflect"))
    wanted = nn.functional.conv2d(padded, layer.weight, layer.bias)
    np.testing.assert_allclose(array(layer(x)), array(wanted), atol=1e-5)


def test_transposed_convolution_to_a_wanted_size():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = tx.ones(1, 1, 3, 3)
    assert layer(x, output_size=(8, 7)).shape == (1, 1, 8, 7)
    with pytest.raises(ValueRangeError, match=r"from \[7, 7\] to \[8, 8\]"):
        layer(x, output_size=(9, 7))


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        lambda: nn.Conv2d(3, 4, 3, padding="most"),
        lambda: nn.Conv2d(3, 4, 3, stride=2, padding="same"),
        lambda: nn.Conv2d(3, 4, 3, padding_mode="wrap"),
        lambda: nn.MultiheadAttention(5, 2),
        lambda: nn.Embedding(3, 2, padding_idx=3),
        lambda: nn.Hardtanh(2.0, 1.0),
        lambda: nn.Linear(2, 3)(tx.ones(4)),
        lambda: nn.Conv1d(2, 3, 2)(tx.ones(1, 5, 4)),
        lambda: nn.ReflectionPad1d(1)(tx.ones(2)),
        lambda: nn.CrossEntropyLoss()(tx.ones(2, 3), tx.ones(3, dtype=tx.int64)),
    ],
)
def test_wrong_use_is_refused(make):
    with pytest.raises(ThixoError, match=r"\(test_layers\.py:\d+\)$"):
        make()


# ---- all together


def test_a_small_network_learns():
    tx.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    x = tx.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = tx.tensor([[0.0], [1.0], [1.0], [0.0]])
    optimizer = tx.optim.Adam(net.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    assert ((net(x) > 0) == (y > 0.5)).all()


def test_every_layer_is_where_pytorchs_users_look():
    from thixo.nn.modules import activation, container, conv, dropout, linear, sparse

    assert activation.MultiheadAttention is nn.MultiheadAttention
    assert container.ModuleList is nn.ModuleList
    assert conv.Conv2d is nn.Conv2d
    assert dropout.Dropout is nn.Dropout
    assert linear.NonDynamicallyQuantizableLinear is not nn.Linear
    assert sparse.Embedding is nn.Embedding
    assert nn.modules.normalization.LayerNorm is nn.LayerNorm
    assert nn.modules.pixelshuffle.PixelShuffle is nn.PixelShuffle
    assert nn.modules.rnn.LSTM is nn.LSTM
    assert nn.modules.transformer.TransformerEncoder is nn.TransformerEncoder
