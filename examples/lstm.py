"""An LSTM that learns to write English from Python's own manual.

The text is cut into lanes that are read side by side from beginning to end, and the state at the end of one
stretch is where the next one begins; gradients stop there.

    python examples/lstm.py
    python examples/lstm.py --steps 2000 --save lstm.safetensors
"""

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from pydoc_data.topics import topics

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import thixo as tx
from thixo import nn
from thixo.data import DataLoader, TensorDataset
from thixo.nn import functional as F

STEPS = 500
LANES = 32
STRETCH = 32  # characters between two updates
WIDTH = 128
RATE = 4e-3
State = tuple[tx.Tensor, tx.Tensor] | None

TEXT = "".join(topics[name] for name in sorted(topics))
TEXT = TEXT[:400_000].encode("ascii", "replace").decode()
ALPHABET = sorted(set(TEXT))


class Writer(nn.Module):
    """From characters (time, lane) and a state to scores of what follows, and the next state."""

    def __init__(self) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(ALPHABET), 48)
        self.memory = nn.LSTM(48, WIDTH)
        self.head = nn.Linear(WIDTH, len(ALPHABET))

    def forward(self, text: tx.Tensor, state: State = None) -> tuple[tx.Tensor, State]:
        """The scores (time, lane, letter) and the state after the last character."""
        hidden, state = self.memory(self.letters(text), state)
        return self.head(hidden), state


def build(seed: int) -> Writer:
    """The model, with weights drawn from a seed."""
    tx.manual_seed(seed)
    return Writer()


def batches(seed: int) -> Iterator[tuple[tx.Tensor, tx.Tensor]]:
    """Stretches of every lane, (time, lane), and the characters that follow; without end.

    The seed says where in the text the first lane begins.
    """
    numbers = {letter: number for number, letter in enumerate(ALPHABET)}
    text = tx.tensor([numbers[letter] for letter in TEXT]).roll(-1009 * seed)
    length = len(text) // LANES
    lanes = text[: LANES * length].view(LANES, length).T  # (time, lane)
    pairs = TensorDataset(lanes[:-1], lanes[1:])
    loader = DataLoader(pairs, STRETCH, drop_last=True)  # in order: a batch is the next stretch
    while True:
        yield from loader


def step(
    model: nn.Module,
    optimizer: tx.optim.Optimizer,
    text: tx.Tensor,
    following: tx.Tensor,
    state: State = None,
) -> tuple[float, State]:
    """Learn from one stretch; the loss before that, and the state to go on from."""
    scores, state = model(text, state)
    loss = F.cross_entropy(scores.flatten(0, 1), following.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    assert state is not None
    return loss.item(), (state[0].detach(), state[1].detach())


def recipe(
    model: nn.Module, steps: int
) -> tuple[tx.optim.Optimizer, tx.optim.lr_scheduler.LRScheduler]:
    """Adam, and a learning rate that follows half a cosine."""
    optimizer = tx.optim.Adam(model.parameters(), lr=RATE)
    return optimizer, tx.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, RATE / 20)


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
    state: State = None
    for text, following in itertools.islice(batches(seed), steps):
        loss, state = step(model, optimizer, text, following, state)
        schedule.step()
        losses.append(loss)
        report(loss)
    return losses


@tx.no_grad()
def write(model: nn.Module, prompt: str, length: int, seed: int = 0, heat: float = 0.7) -> str:
    """The prompt and what the model thinks comes after it."""
    generator = tx.Generator().manual_seed(seed)
    model.eval()
    written, state = list(prompt), None
    text = tx.tensor([[ALPHABET.index(letter)] for letter in prompt])  # (time, 1)
    for _ in range(length):
        scores, state = model(text, state)
        odds = F.softmax(scores[-1] / heat, dim=-1)
        text = tx.multinomial(odds, 1, generator=generator)
        written.append(ALPHABET[int(text)])
    return "".join(written)


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
    console.print(f"An LSTM of {count:,} weights reads Python's manual in {LANES} lanes.")
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
    console.print(write(model, "The ", options.length, options.seed), markup=False, highlight=False)
    if options.save:
        tx.save(model.state_dict(), options.save)
        console.print(f"weights are in {options.save}")


if __name__ == "__main__":
    main()
