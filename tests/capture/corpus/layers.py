"""Small networks with buffers, masks, modes and caches, as people write them in their own projects."""

import math

import thixo as tx
from tests.capture.corpus.registry import call, case, t
from thixo import nn
from thixo.nn import functional as F


@case(
    lambda d: (d.normal(2, 3, 4), None),
    lambda d: (d.normal(2, 5, 4), tx.tensor([3, 5])),
    lambda d: (d.normal(1, 1, 4), tx.tensor([1])),
    build=lambda c: c(4).eval(),
    grad=(0,),
)
class MaskedAttention(nn.Module):
    """Looks back only; with lengths, not at padding either."""

    def __init__(self, size):
        super().__init__()
        self.project = nn.Linear(size, 3 * size)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("past", tx.ones(8, 8, dtype=tx.bool).tril())

    def forward(self, x, lengths):
        batch, time, size = x.shape
        q, k, v = self.project(x).split(size, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(size)  # (batch, time, time)
        scores = scores.masked_fill(~self.past[:time, :time], -1e9)
        if lengths is not None:
            padding = tx.arange(time)[None, :] >= lengths[:, None]  # (batch, time)
            scores = scores.masked_fill(padding[:, None, :], -1e9)
        weights = self.drop(scores.softmax(-1))
        return weights @ v


@case(
    lambda d: (d.normal(4, 3), True),
    lambda d: (d.normal(4, 3), False),
    lambda d: (d.normal(1, 3), True),
    build=lambda c: c(3),
    mutates=True,
)
class RunningRange(nn.Module):
    """Scales by the range seen in training."""

    def __init__(self, size):
        super().__init__()
        self.register_buffer("low", tx.zeros(size))
        self.register_buffer("high", tx.ones(size))
        self.register_buffer("batches", tx.tensor(0))

    def forward(self, x, training):
        self.train(training)
        if self.training and len(x) > 1:
            with tx.no_grad():
                self.low = tx.minimum(self.low, x.amin(0))
                self.high = tx.maximum(self.high, x.amax(0))
                self.batches += 1
        return (x - self.low) / (self.high - self.low)


@case(
    lambda d: (d.normal(2, 3), ("a",)),
    lambda d: (d.normal(2, 3), ("a", "b")),
    lambda d: (d.normal(2, 3), ()),
    build=lambda c: c(),
    grad=(0,),
)
class Adapters(nn.Module):
    """A layer that is fixed, and small ones that are added by name."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(3, 3)
        self.extra = nn.ModuleDict(
            {name: nn.Sequential(nn.Linear(3, 1), nn.Linear(1, 3)) for name in "abc"}
        )

    def forward(self, x, names):
        out = self.base(x)
        for name, module in self.extra.items():
            if name in names:
                out = out + 0.5 * module(x)
        return out


@case(
    lambda d: (d.normal(2, 4),),
    lambda d: (d.normal(2, 4) * 30,),
    build=lambda c: c(4),
    grad=(0,),
)
class GatedResidual(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.body = nn.Sequential(nn.Linear(size, size), nn.GELU())
        self.gate = nn.Parameter(tx.zeros(1))

    @property
    def openness(self):
        return tx.sigmoid(self.gate)

    def forward(self, x):
        skip = x
        if x.abs().max() > 10:
            x = self.norm(x)
        return skip + self.openness * self.body(x)


@case(
    lambda d: (d.normal(1, 2, 5, 5),),
    lambda d: (d.normal(2, 2, 3, 3),),
    lambda d: (d.normal(1, 2, 9, 8),),
    build=lambda c: c().eval(),
    grad=(0,),
)
class Pyramid(nn.Module):
    """Halves while it can, then adds the levels up again."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2d(2, 2, 3, padding=1)
        self.norm = nn.BatchNorm2d(2)

    def forward(self, x):
        levels = []
        while min(x.shape[-2:]) >= 2:
            x = self.norm(self.mix(x)).tanh()
            levels.append(x)
            x = F.avg_pool2d(x, 2)
        total = x.mean((2, 3))
        for level in reversed(levels):
            total = total + level.mean(dim=(2, 3))
        return total


@case(
    lambda d: (tx.tensor([[1, 2, 0]]),),
    lambda d: (tx.tensor([[1, 2, 3, 3], [0, 0, 0, 0]]),),
    lambda d: (tx.tensor([[0]]),),
    build=lambda c: c(5, 3),
    parameters=True,
)
class BagOfWords(nn.Module):
    def __init__(self, words, size):
        super().__init__()
        self.table = nn.Embedding(words, size, padding_idx=0)
        self.empty = nn.Parameter(tx.randn(size))

    def forward(self, ids):
        rows = []
        for sentence in ids:
            real = sentence[sentence != 0]
            if real.numel() == 0:
                rows.append(self.empty)
                continue
            rows.append(self.table(real).mean(0))
        return tx.stack(rows)


@case(
    lambda d: (d.normal(3, 2), 0),
    lambda d: (d.normal(4, 2), 2),
    lambda d: (d.normal(2, 2), 5),
    build=lambda c: c(2),
    grad=(0,),
)
class SinePositions(nn.Module):
    """Adds positions from a table that grows when it is too short."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.scale = nn.Parameter(tx.tensor(0.3))

    @staticmethod
    def table(length, size):
        places = tx.arange(length, dtype=tx.float64).unsqueeze(1)
        rates = tx.exp(tx.arange(0, size, 2, dtype=tx.float64) * (-math.log(1e4) / size))
        out = tx.zeros(length, size, dtype=tx.float64)
        out[:, 0::2] = tx.sin(places * rates)
        out[:, 1::2] = tx.cos(places * rates)
        return out

    def forward(self, x, offset):
        needed = len(x) + offset
        length = 4
        while length < needed:
            length *= 2
        return x + self.scale * self.table(length, self.size)[offset:needed]


@case(
    lambda d: (d.normal(3),),
    lambda d: (d.normal(3) * 20,),
    build=lambda c: c(3),
    grad=(0,),
)
class Equilibrium(nn.Module):
    """The fixed point of a layer, found by repetition."""

    def __init__(self, size, limit=60):
        super().__init__()
        self.layer = nn.Linear(size, size)
        self.limit = limit

    def step(self, z, x):
        return tx.tanh(0.3 * self.layer(z) + x)

    def forward(self, x):
        z = tx.zeros_like(x)
        for count in range(self.limit):
            new = self.step(z, x)
            if (new - z).abs().max() < 1e-9:
                break
            z = new
        return new


@case(
    lambda d: (d.normal(4, 3), 2),
    lambda d: (d.normal(3, 3), 3),
    lambda d: (d.normal(4, 3), 0),
    build=lambda c: c(3),
    grad=(0,),
)
class MessagePassing(nn.Module):
    """Rounds of messages along a ring, each node hearing its two neighbours."""

    def __init__(self, size):
        super().__init__()
        self.message = nn.Linear(2 * size, size)
        self.update = nn.GRUCell(size, size)

    def forward(self, nodes, rounds):
        for _ in range(rounds):
            heard = []
            for i in range(len(nodes)):
                left, right = nodes[i - 1], nodes[(i + 1) % len(nodes)]
                heard.append(self.message(tx.cat([left, right])))
            nodes = self.update(tx.stack(heard), nodes)
        return nodes.sum(0)


@case(
    lambda d: (d.normal(2, 3), tx.tensor([0, 1])),
    lambda d: (d.normal(3, 3), tx.tensor([1, -1, 0])),
    lambda d: (d.normal(2, 3), tx.tensor([-1, -1])),
    build=lambda c: c(),
    grad=(0,),
)
class LossInForward(nn.Module):
    """A model that returns its loss; rows labelled -1 have none."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 2)

    def forward(self, x, labels):
        logits = self.head(x)
        known = labels >= 0
        if not known.any():
            return {"logits": logits, "loss": logits.sum() * 0}
        if known.all():
            loss = F.cross_entropy(logits, labels)
        else:
            loss = F.cross_entropy(logits[known], labels[known])
        return {"logits": logits, "loss": loss}


@case(
    lambda d: call(d.normal(2, 4)),
    lambda d: call(d.normal(2, 4), return_hidden=True),
    lambda d: call(d.normal(2, 4), upto=1, return_hidden=True),
    build=lambda c: c([4, 3, 3, 2]).eval(),
    grad=(0,),
)
class Perceptron(nn.Module):
    def __init__(self, sizes, p=0.2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.p = p

    def forward(self, x, upto=None, return_hidden=False):
        hidden = []
        last = len(self.layers) - 1
        for i, layer in enumerate(self.layers):
            if upto is not None and i > upto:
                break
            x = layer(x)
            if i < last:
                x = F.dropout(x.relu(), self.p, training=self.training)
            hidden.append(x)
        return (x, hidden) if return_hidden else x


@case(
    lambda d: (t([0.1, 0.2]), t([0.1, 0.3])),
    lambda d: (t([1.0, 2.0]), t([-1.0, 3.0])),
    build=lambda c: c(0.5),
    grad=(0, 1),
)
class MarginLoss(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def extra_repr(self):
        return f"margin={self.margin}"

    def forward(self, a, b):
        gap = (a - b).square().sum().sqrt()
        slack = gap - self.margin
        return slack * slack if slack > 0 else gap * 0.01
