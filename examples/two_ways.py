"""One training, two ways: a Python loop that runs as it is written, and a graph that is declared and then run.

Both learn to read handwritten digits with the same network, from the same weights, on the same batches. Each has a process
of its own with one thread, which tells after every step its loss, how long the step took and how much memory the process
has come to hold since the training began. The losses must be equal.

    python examples/two_ways.py
    python examples/two_ways.py --steps 2000 --width 512
"""

import argparse
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table

import thixo as tx
from thixo import nn
from thixo.data import digits
from thixo.nn import functional as F

STEPS = 1000
BATCH = 128
WIDTH = 256
RATE = 1e-3
TOLERANCE = 1e-4  # of a loss; a graph adds some numbers up in another order than the loop

Step = Callable[[tx.Tensor, tx.Tensor], float]


class Report(NamedTuple):
    """What a process says after a step."""

    step: int
    loss: float
    seconds: float  # of this step
    memory: float  # megabytes that the process has grown by


def network(width: int) -> nn.Module:
    """The same weights each time."""
    tx.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )


def batches(steps: int) -> Iterator[tuple[tx.Tensor, tx.Tensor]]:
    """The same images and labels each time."""
    images, labels = digits()
    images = images.reshape(len(images), 64)
    generator = tx.Generator().manual_seed(0)
    for _ in range(steps):
        chosen = tx.randint(0, len(images), (BATCH,), generator=generator)
        yield images[chosen], labels[chosen]


def eager(width: int) -> Step:
    """A step as it is written."""
    net = network(width)
    optimizer = tx.optim.Adam(net.parameters(), lr=RATE)

    def step(images: tx.Tensor, labels: tx.Tensor) -> float:
        loss = F.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def static(width: int) -> Step:
    """The same step, declared; it serves batches of any size."""
    net = network(width)
    with tx.static.Graph("digits") as graph:
        images = tx.static.placeholder((None, 64), tx.float32, "images")
        labels = tx.static.placeholder((None,), tx.int64, "labels")
        loss = F.cross_entropy(net(images), labels)
        train = tx.optim.Adam(net.parameters(), lr=RATE).minimize(loss)
    run = tx.static.Session(graph).bind([loss, train], [images, labels])
    return lambda images, labels: run(images, labels)[0].item()


WAYS = {"eager loop": eager, "static graph": static}


def megabytes() -> float:
    """The most memory that this process has held."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def work(way: str, steps: int, width: int, out: Connection) -> None:
    """Train one way and report every step."""
    tx.set_num_threads(1)
    data = list(batches(steps))
    step = WAYS[way](width)
    before = megabytes()
    for number, (images, labels) in enumerate(data, 1):
        started = time.perf_counter()
        loss = step(images, labels)
        seconds = time.perf_counter() - started
        out.send(Report(number, loss, seconds, megabytes() - before))
    out.close()


def together(steps: int, width: int, show: Callable[[dict[str, list[Report]]], None]) -> None:
    """Run both ways at once; `show` is given all reports again and again."""
    context = multiprocessing.get_context("spawn")
    reports: dict[str, list[Report]] = {way: [] for way in WAYS}
    pipes, processes = {}, []
    for way in WAYS:
        pipes[way], end = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(way, steps, width, end), daemon=True)
        process.start()
        end.close()
        processes.append(process)
    while pipes:
        for way, pipe in list(pipes.items()):
            try:
                while pipe.poll(0.02):
                    reports[way].append(pipe.recv())
            except EOFError:
                del pipes[way]
        show(reports)
    for process in processes:
        process.join()
    if any(len(done) != steps for done in reports.values()):
        raise SystemExit("a training ended before its last step")


def table(reports: dict[str, list[Report]], steps: int) -> Table:
    """Both ways side by side."""
    made = Table(title=f"{steps:,} steps of Adam, batches of {BATCH}")
    made.add_column("")
    for way in reports:
        made.add_column(way, justify="right", min_width=14)
    rows = {
        "steps": lambda r: f"{r[-1].step:,}",
        "loss": lambda r: f"{r[-1].loss:.6f}",
        "first step": lambda r: f"{r[0].seconds * 1e3:.1f} ms",
        "a step (median)": lambda r: f"{statistics.median(x.seconds for x in r) * 1e3:.3f} ms",
        "all steps": lambda r: f"{sum(x.seconds for x in r):.2f} s",
        "memory added": lambda r: f"{r[-1].memory:.1f} MB",
    }
    for name, text in rows.items():
        made.add_row(name, *(text(r) if r else "" for r in reports.values()))
    return made


def need_equal(reports: dict[str, list[Report]]) -> float:
    """Refuse losses that differ; the largest difference of two."""
    largest = 0.0
    for a, b in zip(*reports.values(), strict=True):
        assert abs(a.loss - b.loss) <= TOLERANCE * max(1.0, abs(a.loss)), (
            f"step {a.step}: losses differ: {a.loss} and {b.loss}"
        )
        largest = max(largest, abs(a.loss - b.loss))
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--width", type=int, default=WIDTH, help="of the hidden layers")
    options = parser.parse_args()
    console = Console()
    last: dict[str, list[Report]] = {}
    with Live(console=console, refresh_per_second=10) as live:

        def show(reports: dict[str, list[Report]]) -> None:
            last.update(reports)
            live.update(table(reports, options.steps))

        together(options.steps, options.width, show)
    largest = need_equal(last)
    console.print(f"Losses agree at every step; the largest difference is {largest:.1e}.")


if __name__ == "__main__":
    main()
