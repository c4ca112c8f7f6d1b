"""What each example's model computes, beside the same written out by hand."""

import math

import pytest

import thixo as tx
from thixo import nn
from thixo.nn import functional as F


def close(a, b, tolerance=1e-5):
    return float((a - b).abs().max()) < tolerance


# ---- digits


def test_digits_are_held_out(digits):
    learn, held_out = digits.load()
    images, labels = tx.data.digits()
    assert len(learn) == 1437
    assert len(held_out) == 360
    assert bool((held_out.tensors[0][:, 0] == images[-360:]).all())
    assert held_out.tensors[1].tolist() == labels[-360:].tolist()


def test_bent_images_are_still_images(digits):
    learn, _ = digits.load()
    images = learn.tensors[0][:50]
    bent = digits.bend(images, tx.Generator().manual_seed(0))
    assert bent.shape == images.shape
    assert 0 <= float(bent.min()) < float(bent.max()) <= 1
    assert float((bent - images).abs().amax((1, 2, 3)).min()) > 0.1  # each one is another
    assert float(bent.mean()) == pytest.approx(float(images.mean()), rel=0.15)  # the ink is there


def test_digits_are_learned(digits):
    model = digits.build(0)
    chance = digits.accuracy(model, looks=1)
    digits.train(model, 80)
    assert chance < 0.35
    assert digits.accuracy(model, looks=2) > 0.9


# ---- GPT


def test_text_of_the_standard_library(char_gpt):
    text = char_gpt.read(20_000)
    assert tuple(text.shape) == (20_000,)
    written = "".join(char_gpt.ALPHABET[i] for i in text.tolist())
    assert "import " in written
    assert "\n    " in written


def test_windows_are_followed_by_what_follows(char_gpt):
    windows = char_gpt.Windows(tx.arange(10), 4)
    assert len(windows) == 6
    text, following = windows[5]
    assert text.tolist() == [5, 6, 7, 8]
    assert following.tolist() == [6, 7, 8, 9]


def test_gpt_begins_knowing_nothing(char_gpt):
    model = char_gpt.build(0)
    text, following = next(char_gpt.batches(0))
    loss = F.cross_entropy(model(text).flatten(0, 1), following.flatten())
    assert loss.item() == pytest.approx(math.log(len(char_gpt.ALPHABET)), abs=0.2)


def test_gpt_looks_at_nothing_to_come(char_gpt):
    model = char_gpt.build(0).eval()
    text = next(char_gpt.batches(0))[0][:1]
    other = text.clone()
    other[0, 20] = (other[0, 20] + 1) % len(char_gpt.ALPHABET)
    before, after = model(text), model(other)
    assert bool((before[0, :20] == after[0, :20]).all())
    assert not close(before[0, 20], after[0, 20])
    assert not close(before[0, 40], after[0, 40], 1e-6)


def test_attention_is_a_weighted_mean_of_the_past(char_gpt):
    tx.manual_seed(0)
    layer = char_gpt.Attention()
    width, heads = char_gpt.WIDTH, char_gpt.HEADS
    size = width // heads
    x = tx.randn(1, 5, width)
    query, key, value = (layer.mix(x)[0, :, i * width : (i + 1) * width] for i in range(3))
    rows = []
    for time in range(5):
        seen = []
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            score = (key[: time + 1, part] * query[time, part]).sum(-1) / math.sqrt(size)
            weight = score.exp() / score.exp().sum()
            seen.append((weight[:, None] * value[: time + 1, part]).sum(0))
        rows.append(layer.out(tx.cat(seen)))
    assert close(layer(x)[0], tx.stack(rows))


# ---- LSTM


def sigmoid(x):
    return 1 / (1 + (-x).exp())


def lstm_by_hand(layer, x, h, c):
    """(time, batch, features) through the equations of an LSTM, one step after another."""
    n = layer.hidden_size
    outputs = []
    for x_t in x:
        gates = x_t @ layer.weight_ih_l0.T + layer.bias_ih_l0 + h @ layer.weight_hh_l0.T
        gates = gates + layer.bias_hh_l0
        take, forget, new, give = (gates[:, i * n : (i + 1) * n] for i in range(4))
        c = sigmoid(forget) * c + sigmoid(take) * new.tanh()
        h = sigmoid(give) * c.tanh()
        outputs.append(h)
    return tx.stack(outputs), h, c


def test_lstm_is_the_loop_it_stands_for():
    tx.manual_seed(0)
    layer = nn.LSTM(3, 4, dtype=tx.float64)
    x = tx.randn(6, 2, 3, dtype=tx.float64, requires_grad=True)
    h, c = (tx.randn(1, 2, 4, dtype=tx.float64, requires_grad=True) for _ in range(2))
    weights = [x, h, c, *layer.parameters()]

    y, (h_last, c_last) = layer(x, (h, c))
    ours = tx.autograd.grad((y.sin().sum() + h_last.sum() + (c_last**2).sum()), weights)
    z, h_end, c_end = lstm_by_hand(layer, x, h[0], c[0])
    loss = z.sin().sum() + h_end.sum() + (c_end**2).sum()
    theirs = tx.autograd.grad(loss, weights)

    assert close(y, z, 1e-12)
    assert close(h_last[0], h_end, 1e-12)
    assert close(c_last[0], c_end, 1e-12)
    assert all(close(a, b, 1e-11) for a, b in zip(ours, theirs, strict=True))


def test_a_state_carried_over_is_one_long_text(lstm):
    model = lstm.build(0)
    text = next(lstm.batches(0))[0]
    whole, _ = model(text)
    first, state = model(text[:11])
    second, _ = model(text[11:], state)
    assert close(whole, tx.cat([first, second]))


def test_lanes_are_consecutive_text(lstm):
    batches = lstm.batches(0)
    (one, after_one), (two, _) = next(batches), next(batches)
    assert tuple(one.shape) == (lstm.STRETCH, lstm.LANES)
    lane = [*one[:, 3].tolist(), *two[:, 3].tolist()]
    assert "".join(lstm.ALPHABET[i] for i in lane) in lstm.TEXT
    assert bool((after_one[:-1] == one[1:]).all())
    assert bool((after_one[-1] == two[0]).all())


@pytest.mark.parametrize("name", ["char_gpt", "lstm"])
def test_writing(name, request):
    example = request.getfixturevalue(name)
    model = example.build(0)
    text = example.write(model, "The ", 12, seed=1)
    assert text.startswith("The ")
    assert len(text) == 16
    assert (
        text == example.write(model, "The ", 12, seed=1) != example.write(model, "The ", 12, seed=2)
    )
