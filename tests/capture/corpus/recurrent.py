"""Recurrence, padding and lengths, caches, decoding until an end token."""

import math

import thixo as tx
from tests.capture.corpus.registry import case
from thixo import nn
from thixo.nn import functional as F


@case(
    lambda d: (d.normal(4, 2, 3), None),
    lambda d: (d.normal(2, 2, 3), d.normal(2, 5)),
    build=lambda c: c(3, 5),
    grad=(0,),
)
class ElmanNetwork(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.n_hidden = n_hidden
        self.inner = nn.Linear(n_in + n_hidden, n_hidden)

    def forward(self, x, h=None):
        if h is None:
            h = x.new_zeros(x.shape[1], self.n_hidden)
        outputs = []
        for step in x:
            h = tx.tanh(self.inner(tx.cat([step, h], dim=1)))
            outputs.append(h)
        return tx.stack(outputs), h


@case(
    lambda d: (d.normal(2, 4, 3), tx.tensor([4, 2])),
    lambda d: (d.normal(3, 3, 3), tx.tensor([1, 2, 1])),
    build=lambda c: c(3, 4),
    grad=(0,),
)
class PaddedRecurrence(nn.Module):
    """Rows past their length keep their state; the loop ends with the longest row."""

    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.cell = nn.RNNCell(n_in, n_hidden)

    def forward(self, x, lengths):
        h = tx.zeros(x.size(0), self.cell.hidden_size, dtype=x.dtype)
        for i in range(lengths.max()):
            new = self.cell(x[:, i], h)
            running = (i < lengths).unsqueeze(1)
            h = tx.where(running, new, h)
        return h


@case(lambda d: (d.normal(3, 2),), lambda d: (d.normal(5, 2),), build=lambda c: c(2, 3), grad=(0,))
class LstmByHand(nn.Module):
    def __init__(self, n_in, n):
        super().__init__()
        self.gates = nn.Linear(n_in + n, 4 * n)
        self.n = n

    def forward(self, sequence):
        h = c = tx.zeros(self.n, dtype=sequence.dtype)
        for x in sequence.unbind(0):
            i, f, g, o = self.gates(tx.cat((x, h))).chunk(4)
            c = tx.sigmoid(f) * c + tx.sigmoid(i) * tx.tanh(g)
            h = tx.sigmoid(o) * tx.tanh(c)
        return h, c


@case(
    lambda d: (d.normal(3, 2), False),
    lambda d: (d.normal(3, 2), True),
    build=lambda c: c(2, 3),
    grad=(0,),
)
class GruBothWays(nn.Module):
    def __init__(self, n_in, n):
        super().__init__()
        self.cell = nn.GRUCell(n_in, n)

    def run(self, steps):
        h = tx.zeros(1, self.cell.hidden_size, dtype=tx.float64)
        for x in steps:
            h = self.cell(x[None], h)
        return h

    def forward(self, sequence, both):
        forward = self.run(sequence)
        if not both:
            return forward
        return tx.cat([forward, self.run(reversed(sequence))], dim=-1)


@case(
    lambda d: ([d.normal(3, 2), d.normal(1, 2)],),
    lambda d: ([d.normal(2, 2)] * 3,),
    build=lambda c: c(),
    grad=(0,),
)
class RaggedList(nn.Module):
    """Sequences of several lengths in a list, padded here."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(2, 3, batch_first=True)

    def forward(self, sequences):
        longest = max(len(s) for s in sequences)
        padded = tx.stack([F.pad(s, (0, 0, 0, longest - len(s))) for s in sequences])
        out, _ = self.rnn(padded)
        last = [out[i, len(s) - 1] for i, s in enumerate(sequences)]
        return tx.stack(last)


class _Cache:
    def __init__(self):
        self.keys, self.values = [], []

    def __len__(self):
        return len(self.keys)

    def extend(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return tx.stack(self.keys), tx.stack(self.values)


@case(
    lambda d: (d.normal(3, 4), _Cache(), 8),
    lambda d: (d.normal(5, 4), _Cache(), 2),
    build=lambda c: c(4),
    parameters=True,
    mutates=True,
)
class CachedAttention(nn.Module):
    """One token at a time; only the last `window` of the cache is looked at."""

    def __init__(self, size):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(size, size, bias=False) for _ in range(3))

    def forward(self, tokens, cache, window):
        outputs = []
        for x in tokens:
            keys, values = cache.extend(self.k(x), self.v(x))
            if len(cache) > window:
                keys, values = keys[-window:], values[-window:]
            weights = F.softmax(keys @ self.q(x) / math.sqrt(x.numel()), dim=0)
            outputs.append(weights @ values)
        return tx.stack(outputs)


@case(
    lambda d: (d.normal(5, 5), 0, 4, 10),
    lambda d: (d.normal(5, 5), 1, 1, 10),
    lambda d: (-10 * tx.eye(3) + tx.tensor([9.0, 5.0, 0.0]), 0, 2, 3),
)
def greedy_decode(table, start, end, limit):
    token = tx.tensor(start)
    out = [token]
    while len(out) < limit:
        token = table[token].argmax()
        out.append(token)
        if token == end:
            break
    return tx.stack(out)


class _Decoder(nn.Module):
    def __init__(self, words=5, size=4):
        super().__init__()
        self.embed = nn.Embedding(words, size)
        self.cell = nn.GRUCell(size, size)
        self.out = nn.Linear(size, words)

    def step(self, token, h):
        h = self.cell(self.embed(token), h)
        return self.out(h), h


@case(
    lambda d: (d.normal(2, 4), tx.tensor([[1, 2, 3], [0, 4, 2]]), [True, True, True]),
    lambda d: (d.normal(2, 4), tx.tensor([[1, 2, 3], [0, 4, 2]]), [True, False, False]),
    build=lambda c: c(),
    grad=(0,),
)
class TeacherForcing(_Decoder):
    def forward(self, h, target, forced):
        token = tx.zeros(len(target), dtype=tx.int64)
        loss = 0.0
        for i, teach in enumerate(forced):
            logits, h = self.step(token, h)
            loss += F.cross_entropy(logits, target[:, i])
            token = target[:, i] if teach else logits.argmax(-1)
        return loss / len(forced)


@case(
    lambda d: (d.normal(3, 4), 6),
    lambda d: (d.normal(1, 4) * 4, 6),
    lambda d: (d.normal(3, 4), 2),
    build=lambda c: c(),
)
class DecodeUntilAllEnd(_Decoder):
    """A batch, in which each row ends by itself; ended rows are padded with the end token."""

    def forward(self, h, limit, end=3):
        token = tx.zeros(h.shape[0], dtype=tx.int64)
        ended = tx.zeros(h.shape[0], dtype=tx.bool)
        words = []
        for _ in range(limit):
            logits, h = self.step(token, h)
            token = logits.argmax(dim=1).masked_fill(ended, end)
            words.append(token)
            ended = ended | (token == end)
            if ended.all():
                break
        return tx.stack(words, dim=1)


@case(lambda d: (d.normal(4, 3),), lambda d: (d.normal(2, 3),), build=lambda c: c(), grad=(0,))
class AdaptiveComputation(nn.Module):
    """Thinks about each input until its halting probabilities sum to one."""

    def __init__(self):
        super().__init__()
        self.think = nn.Linear(3, 3)
        self.halt = nn.Linear(3, 1)

    def forward(self, inputs):
        results = []
        for x in inputs:
            spent, answer = x.new_zeros(1), tx.zeros_like(x)
            for _ in range(10):
                x = self.think(x).tanh()
                p = self.halt(x).sigmoid()
                if spent + p > 0.99:
                    answer = answer + (1 - spent) * x
                    break
                spent = spent + p
                answer = answer + p * x
            results.append(answer)
        return tx.stack(results)


@case(
    lambda d: (d.normal(6, 2), 2),
    lambda d: (d.normal(6, 2), 4),
    build=lambda c: c(),
    parameters=True,
    detaches=True,
)
class TruncatedHistory(nn.Module):
    """The state is cut from its history every few steps."""

    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(2, 3)

    def forward(self, x, every):
        h = tx.zeros(1, 3, dtype=tx.float64)
        for i, step in enumerate(x):
            if i % every == 0:
                h = h.detach()
            h = self.cell(step.unsqueeze(0), h)
        return h


@case(
    lambda d: (d.normal(2, 3, 4), [tx.tensor(2), tx.tensor(3)]),
    lambda d: (d.normal(3, 3, 4), [tx.tensor(1)] * 3),
    grad=(0,),
)
def mean_over_lengths(batch, lengths):
    means = []
    for rows, n in zip(batch, lengths):
        total = rows.new_zeros(rows.shape[-1])
        i = 0
        while i < n:
            total = total + rows[i]
            i += 1
        means.append(total / n)
    return tx.stack(means)
