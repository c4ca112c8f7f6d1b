"""The examples beside the same programs in PyTorch: same weights, same batches, the same losses.

No part of the test suite: PyTorch is needed to run it. From the root of the repository:

    PYTHONPATH=src python tests/outside/torch_parity.py [--write bench/results/examples.md]

It runs 20 steps of each program in both, and 200 in Thixo alone, and fails if a loss differs by more than
1e-4 or does not fall by a third.
"""

import argparse
import itertools
import math
import platform
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

import thixo as tx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import char_gpt  # noqa: E402
import digits  # noqa: E402
import lstm  # noqa: E402

STEPS = 20
LONG = 200
TOLERANCE = 1e-4


# ---- the three models and their steps, in PyTorch


def torch_digits():
    def layer(inputs, outputs):
        return [
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]

    return nn.Sequential(
        *layer(1, 16),
        *layer(16, 32),
        nn.MaxPool2d(2),
        *layer(32, 32),
        nn.Flatten(),
        nn.Linear(512, 10),
    )


def train_digits(model, batches, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=digits.PEAK)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, digits.PEAK, total_steps=steps)
    for images, labels in batches:
        loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        yield loss.item()


class TorchAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(char_gpt.WIDTH, 3 * char_gpt.WIDTH)
        self.out = nn.Linear(char_gpt.WIDTH, char_gpt.WIDTH)

    def forward(self, x):
        heads = char_gpt.HEADS
        q, k, v = (
            part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in self.mix(x).chunk(3, dim=-1)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).flatten(2))


class TorchBlock(nn.Module):
    def __init__(self):
        super().__init__()
        width = char_gpt.WIDTH
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = TorchAttention()
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class TorchGPT(nn.Module):
    def __init__(self):
        super().__init__()
        letters, width = len(char_gpt.ALPHABET), char_gpt.WIDTH
        self.letters = nn.Embedding(letters, width)
        self.places = nn.Embedding(char_gpt.CONTEXT, width)
        self.blocks = nn.Sequential(*(TorchBlock() for _ in range(char_gpt.LAYERS)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)

    def forward(self, text):
        x = self.letters(text) + self.places(torch.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def train_gpt(model, batches, steps):
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=char_gpt.PEAK,
        betas=(0.9, 0.95),
    )
    warm = min(50, steps // 10 + 1)

    def rate(done):
        if done < warm:
            return (done + 1) / warm
        return 0.1 + 0.45 * (1 + math.cos(math.pi * (done - warm) / max(1, steps - warm)))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    for text, following in batches:
        loss = F.cross_entropy(model(text).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        yield loss.item()


class TorchWriter(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(len(lstm.ALPHABET), 48)
        self.memory = nn.LSTM(48, lstm.WIDTH)
        self.head = nn.Linear(lstm.WIDTH, len(lstm.ALPHABET))

    def forward(self, text, state):
        hidden, state = self.memory(self.letters(text), state)
        return self.head(hidden), state


def train_lstm(model, batches, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=lstm.RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, lstm.RATE / 20)
    state = None
    for text, following in batches:
        scores, state = model(text, state)
        loss = F.cross_entropy(scores.flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        state = tuple(s.detach() for s in state)
        yield loss.item()


# ---- side by side


@dataclass
class Result:
    """What one example did."""

    name: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    long: list[float] = field(default_factory=list)
    our_time: float = 0.0
    their_time: float = 0.0

    @property
    def difference(self):
        return max(abs(a - b) for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def end(self):
        return sum(self.long[-10:]) / 10

    @property
    def good(self):
        return self.difference <= TOLERANCE and self.end <= self.long[0] * 2 / 3


class Clock:
    """Processor time between ticks."""

    def __init__(self):
        self.times = [time.process_time()]

    def tick(self, loss):
        self.times.append(time.process_time())

    def median(self):
        return statistics.median(b - a for a, b in itertools.pairwise(self.times))


def copy_weights(ours, theirs):
    """Every parameter and buffer by its name; the names must be the same."""
    state = {
        name: torch.from_numpy(x.detach().numpy().copy()) for name, x in ours.state_dict().items()
    }
    theirs.load_state_dict(state, strict=True)


def compare(example, torch_model, torch_train):
    result = Result(example.__name__)
    model = example.build(0)
    copy_weights(model, torch_model)
    batches = list(itertools.islice(example.batches(0), STEPS))
    clock = Clock()
    result.ours = example.train(model, STEPS, seed=0, report=clock.tick)
    result.our_time = clock.median()
    same = [tuple(torch.from_numpy(x.numpy().copy()) for x in batch) for batch in batches]
    clock = Clock()
    for loss in torch_train(torch_model, same, STEPS):
        result.theirs.append(loss)
        clock.tick(loss)
    result.their_time = clock.median()
    result.long = example.train(example.build(0), LONG, seed=0)
    return result


def report(results):
    yield "# The examples beside PyTorch"
    yield ""
    yield "    PYTHONPATH=src python tests/outside/torch_parity.py --write bench/results/examples.md"
    yield ""
    yield (
        f"Thixo {tx.__version__}, torch {torch.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()}, one thread each. Weights are copied by name, batches are the same; "
        f"times are medians of processor time; Thixo's include the making of batches."
    )
    yield ""
    yield "| example | largest difference of a loss in 20 steps | loss, first step to mean of the last ten of 200 | ms a step, Thixo | ms a step, torch |"
    yield "|---|---|---|---|---|"
    for r in results:
        yield (
            f"| {r.name} | {r.difference:.1e} | {r.long[0]:.3f} to {r.end:.3f} "
            f"({r.end / r.long[0] - 1:+.0%}) | {r.our_time * 1e3:.0f} | {r.their_time * 1e3:.0f} |"
        )
    for r in results:
        yield ""
        yield f"## {r.name}"
        yield ""
        yield "| step | Thixo | torch |"
        yield "|---|---|---|"
        for i, (a, b) in enumerate(zip(r.ours, r.theirs, strict=True)):
            yield f"| {i} | {a:.7f} | {b:.7f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", type=Path, help="where to write the report")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tx.set_num_threads(1)
    results = [
        compare(digits, torch_digits(), train_digits),
        compare(char_gpt, TorchGPT(), train_gpt),
        compare(lstm, TorchWriter(), train_lstm),
    ]
    text = "\n".join(report(results)) + "\n"
    if options.write:
        options.write.write_text(text)
    print(text)
    bad = [r.name for r in results if not r.good]
    if bad:
        sys.exit(f"not as they should be: {', '.join(bad)}")


if __name__ == "__main__":
    main()
