"""Recognise handwritten digits: a small convolutional network on 8x8 images.

It learns from the first 1,437 images and is asked about the last 360, which it has never seen. Those were
written by other people, so each image it learns from is turned, stretched and moved a little,
differently every time.

    python examples/digits.py                       three networks, from three seeds
    python examples/digits.py --seed 7 --save digits.safetensors
"""

import argparse
import functools
import itertools
import math
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import thixo as tx
from thixo import nn
from thixo.data import DataLoader, TensorDataset, digits
from thixo.nn import functional as F

STEPS = 600
BATCH = 64
LEARN = 1437  # images to learn from; the others are held out
PEAK = 5e-3  # learning rate


def build(seed: int) -> nn.Module:
    """The network, with weights drawn from a seed."""
    tx.manual_seed(seed)
    return nn.Sequential(
        *layer(1, 16),
        *layer(16, 32),
        nn.MaxPool2d(2),  # 8x8 to 4x4
        *layer(32, 32),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 10),
    )


def layer(inputs: int, outputs: int) -> list[nn.Module]:
    """A 3x3 convolution, normalised."""
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
    return [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]


def load() -> tuple[TensorDataset, TensorDataset]:
    """What to learn from, and what to be asked about."""
    images, labels = digits()
    images = images.unsqueeze(1)  # (image, channel, row, column)
    return (
        TensorDataset(images[:LEARN], labels[:LEARN]),
        TensorDataset(images[LEARN:], labels[LEARN:]),
    )


def bend(images: tx.Tensor, generator: tx.Generator) -> tx.Tensor:
    """Each image turned, stretched, slanted and moved at random."""

    def draw(amount: float) -> tx.Tensor:
        return (2 * tx.rand(len(images), generator=generator) - 1) * amount

    turn, stretch = draw(0.25), 1 + draw(0.2)
    across = tx.stack([stretch * turn.cos(), draw(0.2) - turn.sin(), draw(0.2)], dim=1)
    down = tx.stack([turn.sin(), stretch * turn.cos(), draw(0.2)], dim=1)
    places = F.affine_grid(tx.stack([across, down], dim=1), images.shape, align_corners=False)
    return F.grid_sample(images, places, align_corners=False)


def batches(seed: int) -> Iterator[tuple[tx.Tensor, tx.Tensor]]:
    """Images and labels without end: each epoch in a new order."""
    generator = tx.Generator().manual_seed(seed)
    learn, _ = load()
    loader = DataLoader(learn, BATCH, shuffle=True, drop_last=True, generator=generator)
    while True:
        for images, labels in loader:
            yield bend(images, generator), labels


def recipe(
    model: nn.Module, steps: int
) -> tuple[tx.optim.Optimizer, tx.optim.lr_scheduler.LRScheduler]:
    """The optimizer, and a learning rate that rises and then falls to nothing."""
    optimizer = tx.optim.AdamW(model.parameters(), lr=PEAK)
    return optimizer, tx.optim.lr_scheduler.OneCycleLR(optimizer, PEAK, total_steps=steps)


def step(
    model: nn.Module, optimizer: tx.optim.Optimizer, images: tx.Tensor, labels: tx.Tensor
) -> float:
    """Learn from one batch; the loss before that."""
    loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
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
    for images, labels in itertools.islice(batches(seed), steps):
        losses.append(step(model, optimizer, images, labels))
        schedule.step()
        report(losses[-1])
    return losses


def accuracy(model: nn.Module, looks: int = 16) -> float:
    """The share of the held-out images that are recognised, looking at each from several sides."""
    _, held_out = load()
    images, labels = held_out.tensors
    generator = tx.Generator().manual_seed(0)
    model.eval()
    with tx.no_grad():
        odds = F.softmax(model(images), dim=1)
        for _ in range(looks):
            odds += F.softmax(model(bend(images, generator)), dim=1)
    return (odds.argmax(dim=1) == labels).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--save", metavar="FILE", help="write the weights of the last network")
    options = parser.parse_args()
    console = Console()
    console.print(f"Learning from {LEARN:,} images of digits; 360 others are held out.")
    columns = (
        TextColumn("seed {task.fields[seed]}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total}  loss {task.fields[loss]:.3f} "),
        TimeElapsedColumn(),
        TextColumn("{task.fields[result]}"),
    )
    with Progress(*columns, console=console) as progress:
        for seed in options.seed:
            task = progress.add_task("", total=options.steps, seed=seed, loss=math.nan, result="")
            model = build(seed)
            show = functools.partial(progress.update, task, advance=1)
            train(model, options.steps, seed, lambda loss, show=show: show(loss=loss))
            share = accuracy(model)
            progress.update(task, result=f"held out: [bold]{share:.2%}[/] right")
    if options.save:
        tx.save(model.state_dict(), options.save)
        console.print(f"weights are in {options.save}")


if __name__ == "__main__":
    main()
