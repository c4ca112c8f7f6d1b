"""Training is the same whatever runs it: eager code, a compiled forward pass, a compiled step."""

import numpy as np
import pytest

import thixo as tx
from thixo import nn, optim
from thixo.nn import functional as F

STEPS = 100


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.mix(x).chunk(3, dim=-1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.wide = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = x + self.drop(self.attention(self.first(x)))
        return x + self.drop(self.wide(self.second(x)))


class GPT(nn.Module):
    """Letters, one after the other."""

    def __init__(self, letters=11, length=8, width=16):
        super().__init__()
        self.letters = nn.Embedding(letters, width)
        self.places = nn.Parameter(tx.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList([Block(width, 2) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)

    def forward(self, ids):
        x = self.letters(ids) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Pictures(nn.Module):
    """Convolutions with batch normalization."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 6, 3, stride=2)
        self.norm2 = nn.BatchNorm2d(6)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.first(x)))
        x = F.relu(self.norm2(self.second(F.max_pool2d(x, 2))))
        return self.head(self.drop(x.mean((2, 3))))


class Words(nn.Module):
    """An LSTM."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 6)
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8, 9)

    def forward(self, ids):
        states, _ = self.lstm(self.words(ids))
        return self.head(self.drop(states))


def text(letters, length, rows=4):
    ids = tx.randint(0, letters, (rows, length + 1))
    return ids[:, :-1], ids[:, 1:]


def pictures():
    y = tx.randint(0, 3, (5,))
    return tx.randn(5, 1, 8, 8) + y.reshape(5, 1, 1, 1).float(), y


MODELS = {
    "gpt": (GPT, lambda: text(11, 8), lambda p: optim.AdamW(p, lr=3e-3)),
    "convolutions": (Pictures, pictures, lambda p: optim.SGD(p, lr=0.05, momentum=0.9)),
    "lstm": (Words, lambda: text(9, 6), lambda p: optim.Adam(p, lr=1e-2)),
}


def step(model, optimizer, schedule, forward, x, y):
    optimizer.zero_grad()
    logits = forward(x)
    loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return loss.item()


def losses(name, way):
    kind, data, make = MODELS[name]
    tx.manual_seed(3)
    model = kind()
    optimizer = make(model.parameters())
    schedule = optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, STEPS)
    tx.manual_seed(4)
    batches = [data() for _ in range(4)]
    forward = tx.compile(model) if way == "forward" else model

    def run(x, y):
        return step(model, optimizer, schedule, forward, x, y)

    called = tx.compile(run, fullgraph=True) if way == "step" else run
    tx.manual_seed(5)
    found = [called(*batches[i % 4]) for i in range(STEPS)]
    if way == "step":
        assert len(tx.explain(called).graphs) == 1
    return found, list(model.state_dict().values()), tx.get_rng_state()


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_the_same(name):
    expected, weights, numbers = losses(name, "eager")
    assert expected[-1] < expected[0]
    for way in ("forward", "step"):
        found, trained, drawn = losses(name, way)
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5, err_msg=way)
        assert (drawn == numbers).all(), way
        if name == "convolutions":  # Adam makes as large steps of rounding errors as of gradients
            for a, b in zip(trained, weights, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-3, 1e-4, err_msg=way)
