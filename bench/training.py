"""Whole training steps, plain eager code on both sides, against PyTorch in the same process.

python -m bench training [--threads 1 2] [--rounds 20] [--only TEXT] [--seed N] [--keep NAME]

Each model is written once and runs on both libraries: they have the same names. Beside the sizes of
shared/design/performance.md each has a case with batch and width drawn from a seed.
"""

import argparse
import itertools
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench import report
from bench.measure import Ratio, compare

Step = Callable[[], Any]  # one step of training; gives the loss
Make = Callable[[Any], Step]


def _normal(draw: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (draw.standard_normal(shape) * scale).astype(np.float32)


def _set_parameters(model: Any, library: Any) -> None:
    """The same numbers on both sides, in the order of the parameters."""
    draw = np.random.default_rng(0)
    with library.no_grad():
        for name, p in model.named_parameters():
            if "bias" in name:
                p.zero_()
            elif p.ndim > 1:
                fan = int(np.prod(p.shape[1:]))
                p.copy_(library.tensor(_normal(draw, *p.shape, scale=fan**-0.5)))


def _trained(library: Any, model: Any, optimizer: Any, loss: Callable[[], Any]) -> Step:
    def step() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach()

    return step


# ---- models


def mlp(batch: int, widths: tuple[int, ...]) -> Make:
    """Linear layers with relu between, Adam."""

    def make(library: Any) -> Step:
        nn, draw = library.nn, np.random.default_rng(1)
        layers: list[Any] = []
        for i, o in itertools.pairwise(widths):
            layers += [nn.Linear(i, o), nn.ReLU()]
        model = nn.Sequential(*layers[:-1])
        _set_parameters(model, library)
        x = library.tensor(_normal(draw, batch, widths[0]))
        y = library.tensor(draw.integers(0, widths[-1], batch))
        optimizer = library.optim.Adam(model.parameters(), 1e-3, fused=True)
        return _trained(library, model, optimizer, lambda: nn.functional.cross_entropy(model(x), y))

    return make


def resnet(batch: int, widths: tuple[int, ...], blocks: int = 2) -> Make:
    """The residual network of CIFAR, momentum."""

    def make(library: Any) -> Step:
        nn, draw = library.nn, np.random.default_rng(1)

        def convolved(i: int, o: int, size: int, stride: int) -> Any:
            conv = nn.Conv2d(i, o, size, stride, size // 2, bias=False)
            return nn.Sequential(conv, nn.BatchNorm2d(o))

        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self, i: int, o: int, stride: int) -> None:
                super().__init__()
                self.first, self.second = convolved(i, o, 3, stride), convolved(o, o, 3, 1)
                self.short = convolved(i, o, 1, stride) if i != o else nn.Identity()

            def forward(self, x: Any) -> Any:
                y = self.second(nn.functional.relu(self.first(x)))
                return nn.functional.relu(self.short(x) + y)

        layers: list[Any] = [convolved(3, widths[0], 3, 1), nn.ReLU()]
        i = widths[0]
        for s, w in enumerate(widths):
            for b in range(blocks):
                layers.append(Block(i, w, 2 if s and not b else 1))
                i = w
        layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(i, 10)]
        model = nn.Sequential(*layers)
        _set_parameters(model, library)
        x = library.tensor(_normal(draw, batch, 3, 32, 32))
        y = library.tensor(draw.integers(0, 10, batch))
        optimizer = library.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)
        return _trained(library, model, optimizer, lambda: nn.functional.cross_entropy(model(x), y))

    return make


def gpt(batch: int, time_: int, width: int, heads: int, layers: int = 4, words: int = 512) -> Make:
    """A small transformer that predicts the next word, AdamW."""

    def make(library: Any) -> Step:
        nn, draw = library.nn, np.random.default_rng(1)
        F = nn.functional

        class Layer(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any) -> Any:
                n, t, c = x.shape
                q, k, v = (
                    part.reshape(n, t, heads, c // heads).transpose(1, 2)
                    for part in self.qkv(self.norm1(x)).chunk(3, -1)
                )
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.out(y.transpose(1, 2).reshape(n, t, c))
                return x + self.down(F.gelu(self.up(self.norm2(x))))

        class Model(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.words, self.places = nn.Embedding(words, width), nn.Embedding(time_, width)
                self.layers = nn.ModuleList([Layer() for _ in range(layers)])
                self.norm = nn.LayerNorm(width)

            def forward(self, text: Any) -> Any:
                x = self.words(text) + self.places.weight
                for layer in self.layers:
                    x = layer(x)
                return F.linear(self.norm(x), self.words.weight)

        model = Model()
        _set_parameters(model, library)
        text = draw.integers(0, words, (batch, time_ + 1))
        x = library.tensor(np.ascontiguousarray(text[:, :-1]))
        y = library.tensor(text[:, 1:].reshape(-1))
        optimizer = library.optim.AdamW(model.parameters(), 3e-4, weight_decay=0.01, fused=True)
        return _trained(
            library,
            model,
            optimizer,
            lambda: F.cross_entropy(model(x).reshape(batch * time_, words), y),
        )

    return make


def lstm_module(batch: int, width: int, steps: int = 128) -> Make:
    """nn.LSTM forward and backward."""

    def make(library: Any) -> Step:
        draw = np.random.default_rng(1)
        model = library.nn.LSTM(width, width)
        _set_parameters(model, library)
        x = library.tensor(_normal(draw, steps, batch, width))

        def step() -> Any:
            model.zero_grad()
            y, _ = model(x)
            loss = (y[-1] * y[-1]).mean()
            loss.backward()
            return loss.detach() + model.weight_hh_l0.grad.norm()

        return step

    return make


def lstm_loop(batch: int, width: int, steps: int = 128) -> Make:
    """The same cell written out, one step after the other."""

    def make(library: Any) -> Step:
        draw = np.random.default_rng(0)
        wx = library.tensor(_normal(draw, width, 4 * width, scale=0.08)).requires_grad_()
        wh = library.tensor(_normal(draw, width, 4 * width, scale=0.08)).requires_grad_()
        b = library.zeros(4 * width).requires_grad_()
        x = library.tensor(_normal(draw, steps, batch, width))

        def step() -> Any:
            wx.grad = wh.grad = b.grad = None
            h = c = library.zeros(batch, width)
            for now in x.unbind(0):
                gates = library.mm(now, wx) + library.mm(h, wh) + b
                i, f, z, o = gates.chunk(4, -1)
                c = library.sigmoid(f) * c + library.sigmoid(i) * library.tanh(z)
                h = library.sigmoid(o) * library.tanh(c)
            loss = (h * h).mean()
            loss.backward()
            return loss.detach() + wh.grad.norm()

        return step

    return make


# ---- running them


def cases(seed: int) -> Iterator[tuple[str, Make]]:
    """(name, maker), those of performance.md and those of the seed."""
    r = random.Random(seed)
    batch, a, b = r.randrange(20, 300), r.randrange(64, 900), r.randrange(32, 500)
    yield "MLP 784-512-256-10, batch 128", mlp(128, (784, 512, 256, 10))
    yield f"MLP 784-{a}-{b}-10, batch {batch}", mlp(batch, (784, a, b, 10))
    yield "CIFAR ResNet, batch 64", resnet(64, (16, 32, 64))
    batch, w = r.randrange(5, 80), r.randrange(8, 25)
    yield (
        f"CIFAR ResNet, widths {w} {2 * w} {4 * w}, batch {batch}",
        resnet(batch, (w, 2 * w, 4 * w)),
    )
    yield "GPT 4x256, batch 8 of 128", gpt(8, 128, 256, 4)
    batch, time_, heads, size = (
        r.randrange(2, 9),
        r.randrange(50, 200),
        r.randrange(2, 7),
        r.randrange(24, 72),
    )
    yield (
        f"GPT 4x{heads * size}, {heads} heads, batch {batch} of {time_}",
        gpt(batch, time_, heads * size, heads),
    )
    batch, width = r.randrange(4, 70), r.randrange(40, 300)
    for name, make in (("nn.LSTM", lstm_module), ("LSTM loop", lstm_loop)):
        yield f"{name} 128 steps, batch 32, width 128", make(32, 128)
        yield f"{name} 128 steps, batch {batch}, width {width}", make(batch, width)


def _agree(name: str, ours: Step, peer: Step) -> None:
    """Five steps must go the same way: outputs, gradients and updates are in them."""
    for i in range(5):
        a, b = float(ours()), float(peer())
        if not np.isclose(a, b, rtol=2e-3):
            raise SystemExit(f"{name}: step {i} gives {a} here and {b} there")


def run(threads: int, rounds: int, only: str, seed: int) -> list[Ratio]:
    """All cases with so many threads on both sides."""
    import torch

    import thixo

    torch.set_num_threads(threads)
    thixo.set_num_threads(threads)
    rows = []
    for name, make in cases(seed):
        if only.lower() not in name.lower():
            continue
        ours, peer = make(thixo), make(torch)
        _agree(name, ours, peer)
        row = compare(
            f"{name}, {threads} threads", ours, peer, target=1.1, rounds=rounds, seconds=0.02
        )
        print(f"{row.case}: {row.median:.2f} ({row.lower:.2f} - {row.upper:.2f}), "
              f"ours {row.ours_us / 1e3:.2f} ms, torch {row.peer_us / 1e3:.2f} ms", flush=True)  # fmt: skip
        rows.append(row)
    return rows


def main() -> int:
    """Run, print, keep; exit 1 if a target was missed."""
    parser = argparse.ArgumentParser(
        prog="python -m bench training", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", default="training", help="name of the file in bench/results")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}")
    rows = [
        row
        for threads in options.threads
        for row in run(threads, options.rounds, options.only, seed)
    ]
    report.show(f"training steps against torch eager, seed {seed}", rows)
    if not options.only:
        print(f"kept in {report.keep(options.keep, rows, ['thixo', 'torch', 'numpy'])}")
    return 0 if all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
