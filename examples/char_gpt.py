"""A small GPT that learns to write Python, character by character.

It reads the standard library of the Python that runs it, and in the end writes something of its own.

    python examples/char_gpt.py
    python examples/char_gpt.py --steps 2000 --save gpt.safetensors
"""

import argparse
import itertools
import math
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import thixo as tx
from thixo import nn
from thixo.data import DataLoader, Dataset, RandomSampler
from thixo.nn import functional as F

STEPS = 600
BATCH = 16
CONTEXT = 64  # characters the model sees at once
WIDTH = 96
HEADS = 4
LAYERS = 3
PEAK = 3e-3  # learning rate
ALPHABET = "\n" + "".join(map(chr, range(32, 127)))


def read(limit: int = 1_000_000) -> tx.Tensor:
    """The beginning of the standard library's source, as numbers of letters in the alphabet."""
    pieces, size = [], 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        pieces.append(path.read_text(encoding="utf-8", errors="replace").expandtabs())
        size += len(pieces[-1])
        if size >= limit:
            break
    codes = np.frombuffer("".join(pieces)[:limit].encode("ascii", "replace"), np.uint8)
    return tx.from_numpy(np.maximum(codes.astype(np.int64) - 31, 0))  # "\n" is 0, " " is 1


class Windows(Dataset):
    """Stretches of the text: the characters, and those that follow each of them."""

    def __init__(self, text: tx.Tensor, size: int) -> None:
        self.text, self.size = text, size

    def __len__(self) -> int:
        return len(self.text) - self.size

    def __getitem__(self, start: int) -> tuple[tx.Tensor, tx.Tensor]:
        end = start + self.size
        return self.text[start:end], self.text[start + 1 : end + 1]


class Attention(nn.Module):
    """Each character looks at those before it."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        """What each character learns from its past."""
        batch, time, _ = x.shape
        split = self.mix(x).view(batch, time, 3, HEADS, WIDTH // HEADS)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind()  # (batch, head, time, size)
        y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, time, WIDTH))


class Block(nn.Module):
    """Attention, then a network for each character, each added to what came in."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(approximate="tanh"), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        """The next layer's input."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """From characters (batch, time) to scores of what follows each (batch, time, letter)."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(ALPHABET), WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(ALPHABET), bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                # What is added to the stream of all layers begins smaller.
                last = name.endswith(("out.weight", "mlp.2.weight"))
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * LAYERS) if last else 0.02)

    def forward(self, text: tx.Tensor) -> tx.Tensor:
        """The scores."""
        x = self.letters(text) + self.places(tx.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def build(seed: int) -> GPT:
    """The model, with weights drawn from a seed."""
    tx.manual_seed(seed)
    return GPT()


def batches(seed: int, size: int = BATCH) -> Iterator[tuple[tx.Tensor, tx.Tensor]]:
    """Characters and their followers without end, from anywhere in the text."""
    windows = Windows(read(), CONTEXT)
    generator = tx.Generator().manual_seed(seed)
    sampler = RandomSampler(windows, replacement=True, generator=generator)
    while True:
        yield from DataLoader(windows, size, sampler=sampler, drop_last=True)


def recipe(
    model: nn.Module, steps: int
) -> tuple[tx.optim.Optimizer, tx.optim.lr_scheduler.LRScheduler]:
    """AdamW that decays matrices alone, and a rate that warms up and then follows a cosine."""
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = tx.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.95))
    warm = min(50, steps // 10 + 1)

    def rate(done: int) -> float:
        if done < warm:
            return (done + 1) / warm
        return 0.1 + 0.45 * (1 + math.cos(math.pi * (done - warm) / max(1, steps - warm)))

    return optimizer, tx.optim.lr_scheduler.LambdaLR(optimizer, rate)


def step(
    model: nn.Module, optimizer: tx.optim.Optimizer, text: tx.Tensor, following: tx.Tensor
) -> float:
    """Learn from one batch; the loss before that."""
    scores = model(text)
    loss = F.cross_entropy(scores.flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def train(
    model: nn.Module,
    steps: int = STEPS,
    seed: int = 0,
    report: Callable[[float], None] = lambda loss: None,
) -> list[float]:
    """The losses of so many steps; `report` is told each one."""
    model.train()
    optimizer, schedule = recipe(model, steps)
    losses = []
    for text, following in itertools.islice(batches(seed), steps):
        losses.append(step(model, optimizer, text, following))
        schedule.step()
        report(losses[-1])
    return losses


@tx.no_grad()
def write(model: nn.Module, prompt: str, length: int, seed: int = 0, heat: float = 0.8) -> str:
    """The prompt and what the model thinks comes after it."""
    generator = tx.Generator().manual_seed(seed)
    model.eval()
    text = [ALPHABET.index(letter) for letter in prompt]
    for _ in range(length):
        scores = model(tx.tensor([text[-CONTEXT:]]))[0, -1]
        odds = F.softmax(scores / heat, dim=-1)
        text.append(int(tx.multinomial(odds, 1, generator=generator)))
    return "".join(ALPHABET[number] for number in text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=300, help="how much to write in the end")
    parser.add_argument("--save", metavar="FILE", help="write the weights")
    options = parser.parse_args()
    console = Console()
    model = build(options.seed)
    count = sum(p.numel() for p in model.parameters())
    console.print(
        f"A GPT of {count:,} weights reads the standard library, {CONTEXT} letters at a time."
    )
    columns = (
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total}  loss {task.fields[loss]:.3f} "),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=options.steps, loss=math.nan)
        train(
            model,
            options.steps,
            options.seed,
            lambda loss: progress.update(task, advance=1, loss=loss),
        )
    console.print(write(model, "def ", options.length, options.seed), markup=False, highlight=False)
    if options.save:
        tx.save(model.state_dict(), options.save)
        console.print(f"weights are in {options.save}")


if __name__ == "__main__":
    main()
