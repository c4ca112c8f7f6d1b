"""Processes that check graphs, a part of a run each at a time.

A process stays for the whole run, since importing and warming up take seconds. If one dies (a crash in native code, a graph that takes for
ever), the graph that it was at is a failure, another process takes its place, and the rest of the part is done once more without that graph.
"""

from __future__ import annotations

import multiprocessing.connection
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from tests.fuzz.differential import Failure, Tally
from tests.fuzz.generate import Generator


class Worker:
    """One process, and what it is doing."""

    def __init__(self, options: Any) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        # By a name of its own, so that it can be found and paused by that.
        command = [sys.executable, "-m", "tests.fuzz.part", str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self.pipe.send(options)
        self.part: tuple[int, int] | None = None
        self.at: int | None = None  # the number of the graph that it has begun with

    def give(self, part: tuple[int, int]) -> None:
        """Let it do so many graphs from a number on."""
        self.part, self.at = part, None
        self.pipe.send(part)

    def end(self) -> int:
        """Wait until it is gone; how it ended."""
        self.pipe.close()
        return self.process.wait()


def run_parts(parts: Iterable[tuple[int, int]], count: int, options: Any) -> Iterator[Tally]:
    """What each part, done by one of so many processes, gives; in the order in which they are ready."""
    waiting = list(parts)[::-1]
    workers = [Worker(options) for _ in range(min(count, len(waiting)))]
    for worker in workers:
        worker.give(waiting.pop())
    try:
        while workers:
            for pipe in multiprocessing.connection.wait([w.pipe for w in workers]):
                (worker,) = (w for w in workers if w.pipe is pipe)
                try:
                    told = worker.pipe.recv()
                except (EOFError, ConnectionError):
                    workers.remove(worker)
                    yield _died(worker, waiting, options)
                    if waiting:
                        workers.append(Worker(options))
                        workers[-1].give(waiting.pop())
                    continue
                if isinstance(told, int):
                    worker.at = told
                    continue
                yield told
                if waiting:
                    worker.give(waiting.pop())
                else:
                    workers.remove(worker)
                    worker.end()
    finally:
        for worker in workers:
            worker.process.kill()
            worker.end()


def _died(worker: Worker, waiting: list[tuple[int, int]], options: Any) -> Tally:
    """The failure that ended a process; what is left of its part is put back."""
    code = worker.end()
    assert worker.part is not None
    if worker.at is None:
        raise RuntimeError(f"a worker ended with {code} before its first graph")
    start, count = worker.part
    for first, last in ((start, worker.at), (worker.at + 1, start + count)):
        if first < last:
            waiting.append((first, last - first))
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    found = Tally()
    made = next(iter(Generator(options.seed).graphs(1, worker.at)))
    found.failures.append(
        Failure(worker.at, None, made.graph, made.inputs(), f"the process died ({name})")
    )
    return found
