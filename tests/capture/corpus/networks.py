"""Modules whose forward branches, loops and selects."""

import math

import thixo as tx
from tests.capture.corpus.registry import case, t
from thixo import nn
from thixo.nn import functional as F


@case(
    lambda d: (d.normal(2, 3) + 1,),
    lambda d: (d.normal(2, 3) - 1,),
    build=lambda c: c(3),
    grad=(0,),
)
class BranchInForward(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.positive = nn.Linear(size, size)
        self.negative = nn.Linear(size, size, bias=False)

    def forward(self, x):
        if x.mean() > 0:
            return self.positive(x)
        return self.negative(x).tanh()


@case(lambda d: (d.normal(2, 4), 3), lambda d: (d.normal(2, 4), 1), build=lambda c: c(4), grad=(0,))
class DepthArgument(nn.Module):
    def __init__(self, size, depth=4):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(size, size) for _ in range(depth)])
        self.scale = nn.Parameter(tx.ones(size))

    def forward(self, x, depth):
        for block in self.blocks[:depth]:
            x = x + self.scale * tx.tanh(block(x))
        return x


@case(
    lambda d: (d.normal(1, 3) * 0.1,),
    lambda d: (d.normal(1, 3) * 8,),
    build=lambda c: c(),
    grad=(0,),
)
class EarlyExit(nn.Module):
    """Answers as soon as one class is likely enough."""

    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.heads = nn.ModuleList(nn.Linear(3, 2) for _ in range(3))

    def forward(self, x):
        for stage, head in zip(self.stages, self.heads):
            x = F.relu(stage(x)) + x
            probabilities = F.softmax(head(x), dim=-1)
            if probabilities.max() > 0.9:
                break
        return probabilities


@case(
    lambda d: (d.normal(2, 4), "left"),
    lambda d: (d.normal(2, 4), "right"),
    build=lambda c: c(),
    grad=(0,),
)
class ChooseByName(nn.Module):
    def __init__(self):
        super().__init__()
        self.choices = nn.ModuleDict(
            {"left": nn.Linear(4, 2), "right": nn.Sequential(nn.Linear(4, 3), nn.ReLU())}
        )

    def forward(self, x, name):
        y = self.choices[name](x)
        if name == "right":
            y = y[:, :2]
        return y


@case(
    lambda d: (d.normal(4, 3),), lambda d: (d.normal(1, 3),), build=lambda c: c(3, 4, 2), grad=(0,)
)
class MixtureOfExperts(nn.Module):
    """Each row goes to the k best experts; an expert that nobody chose is not run."""

    def __init__(self, size, count, k):
        super().__init__()
        self.router = nn.Linear(size, count)
        self.experts = nn.ModuleList([nn.Linear(size, size) for _ in range(count)])
        self.k = k

    def forward(self, x):
        weights, chosen = self.router(x).topk(self.k, dim=-1)
        weights = weights.softmax(-1)
        out = tx.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, slots = tx.where(chosen == number)
            if rows.numel() == 0:
                continue
            update = expert(x[rows]) * weights[rows, slots].unsqueeze(-1)
            out = out.index_add(0, rows, update)
        return out


@case(
    lambda d: (d.normal(3, 4), True),
    lambda d: (d.normal(3, 4), False),
    build=lambda c: c(),
    random=True,
    grad=(0,),
)
class StochasticDepth(nn.Module):
    def __init__(self, depth=4, drop=0.5):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])
        self.drop = drop

    def forward(self, x, training):
        for layer in self.layers:
            if training:
                if tx.rand(()) < self.drop:
                    continue
                x = x + layer(x).relu() / (1 - self.drop)
            else:
                x = x + layer(x).relu()
        return x


@case(
    lambda d: (d.normal(4, 3), True),
    lambda d: (d.normal(4, 3), False),
    build=lambda c: c(),
    mutates=True,
    grad=(0,),
)
class NormByHand(nn.Module):
    """Batch normalisation with running statistics."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", tx.zeros(3))
        self.register_buffer("var", tx.ones(3))
        self.weight = nn.Parameter(tx.ones(3))

    def forward(self, x, training):
        if training:
            mean, var = x.mean(0), x.var(0, unbiased=False)
            with tx.no_grad():
                self.mean.mul_(0.9).add_(0.1 * mean)
                self.var.mul_(0.9).add_(0.1 * var)
        else:
            mean, var = self.mean, self.var
        return self.weight * (x - mean) / tx.sqrt(var + 1e-5)


@case(
    lambda d: (d.normal(4, 3), "train"),
    lambda d: (d.normal(4, 3), "eval"),
    build=lambda c: c(),
    random=True,
    mutates=True,
    grad=(0,),
)
class DropoutAndNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.4))
        self.head = nn.Linear(5, 2)

    def forward(self, x, phase):
        if phase == "eval":
            self.eval()
        else:
            self.train()
        return self.head(self.body(x))


@case(
    lambda d: (tx.tensor([0, 2, 1]), True),
    lambda d: (tx.tensor([3, 3]), False),
    build=lambda c: c(),
    parameters=True,
    check=lambda r, *_: r.shape[-1] == 4,
)
class TiedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(4, 3)
        self.mix = nn.Linear(3, 3)
        self.out = nn.Linear(3, 4, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens, mixed):
        h = self.embed(tokens)
        if mixed:
            h = self.mix(h).tanh()
        return self.out(h)


@case(
    lambda d: (d.normal(1, 1, 6, 6),),
    lambda d: (d.normal(2, 1, 4, 4),),
    build=lambda c: c(),
    grad=(0,),
)
class ConvUntilSmall(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1)
        self.norm = nn.LayerNorm(1)

    def forward(self, x):
        while x.shape[-1] > 2:
            x = F.avg_pool2d(self.conv(x).tanh(), 2, ceil_mode=True)
        return self.norm(x.flatten(2).transpose(1, 2)).sum(1) + x.mean((2, 3))


@case(
    lambda d: (d.normal(2, 4, 6), None, False),
    lambda d: (d.normal(2, 4, 6), None, True),
    lambda d: (d.normal(2, 3, 6), tx.tensor([[1, 1, 0], [1, 1, 1]]).bool(), False),
    build=lambda c: c(6, 2),
    grad=(0,),
)
class SelfAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)

    def forward(self, x, keep=None, causal=False):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (batch, head, time, time)
        if keep is not None:
            scores = scores.masked_fill(~keep[:, None, None, :], float("-inf"))
        if causal:
            future = tx.triu(tx.ones(n, n, dtype=tx.bool), diagonal=1)
            scores = scores.masked_fill(future, float("-inf"))
        mixed = scores.softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, n, c))


class _Block(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.f = nn.Linear(n_in, n_out)
        self.shortcut = nn.Identity() if n_in == n_out else nn.Linear(n_in, n_out, bias=False)

    def forward(self, x):
        return F.gelu(self.f(x)) + self.shortcut(x)


@case(
    lambda d: (d.normal(2, 3), False),
    lambda d: (d.normal(2, 3), True),
    build=lambda c: c([3, 3, 4]),
    grad=(0,),
)
class ResidualStack(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            setattr(self, f"block{i}", _Block(a, b))
        self.depth = len(sizes) - 1

    def forward(self, x, keep_all):
        features = [x]
        for i in range(self.depth):
            features.append(getattr(self, f"block{i}")(features[-1]))
        if keep_all:
            return tx.cat(features, dim=-1)
        return features[-1]


@case(
    lambda d: (t([[1.0, 2.0, 3.0]]),),
    lambda d: (t([[9.0, 2.0, 3.0]]),),
    build=lambda c: c(),
    grad=(0,),
)
class SquashingUnit(nn.Module):
    """Iterates its own layer until the state is inside a box."""

    limit = 2.0

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tx.eye(3) * 0.6)

    def inside(self, x):
        return bool((x.abs() <= self.limit).all())

    def forward(self, x):
        while not self.inside(x):
            x = x @ self.weight
        return x


@case(
    lambda d: (d.normal(3, 2), [nn.ReLU(), nn.Tanh()]),
    lambda d: (d.normal(3, 2), [nn.Sigmoid()]),
    lambda d: (d.normal(3, 2), []),
    grad=(0,),
)
def list_of_activations(x, layers):
    for layer in layers:
        x = layer(x)
        if isinstance(layer, nn.Tanh):
            x = x * 2
    return x
