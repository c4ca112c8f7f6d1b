"""Processes that do a long run of numbered checks, a part each at a time: what the commands of the fuzzers share.

A process stays for the whole run, since importing and warming up take seconds. If one dies (a crash in native code, a check that takes for
ever), what it was at is a failure, another process takes its place, and the rest of the part is done once more without that number.
"""

from __future__ import annotations

import faulthandler
import multiprocessing.connection
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

Part = tuple[int, int]  # the first number, and how many


class Worker:
    """One process, and what it is doing."""

    def __init__(self, module: str, options: Any) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        # By a name of its own, so that it can be found and paused by that.
        command = [sys.executable, "-m", module, str(theirs.fileno())]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        self.pipe.send(options)
        self.part: Part = (0, 0)
        self.at: int | None = None  # the number that it has begun with

    def give(self, part: Part) -> None:
        """Let it do so many from a number on."""
        self.part, self.at = part, None
        self.pipe.send(part)

    def end(self) -> int:
        """Wait until it is gone; how it ended."""
        self.pipe.close()
        return self.process.wait()

    def died(self, waiting: list[Part]) -> tuple[int, str]:
        """The number that ended it, and how; what is left of its part is put back."""
        code = self.end()
        if self.at is None:
            raise RuntimeError(f"a worker ended with {code} before it began")
        start, count = self.part
        for first, last in ((start, self.at), (self.at + 1, start + count)):
            if first < last:
                waiting.append((first, last - first))
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return self.at, f"the process died ({name})"


def run_parts(
    parts: Iterable[Part],
    count: int,
    module: str,
    options: Any,
    failed: Callable[[int, str], Any],
) -> Iterator[Any]:
    """What each part, done by one of so many processes of a module, gives; `failed` makes it of a number that ended one."""
    waiting = list(parts)[::-1]
    workers = [Worker(module, options) for _ in range(min(count, len(waiting)))]
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
                    yield failed(*worker.died(waiting))
                    if waiting:
                        workers.append(Worker(module, options))
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


def limit_processor(seconds: int) -> None:
    """Give this process so much more time; it is stopped, with a traceback, when that is used up."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, most))


def serve(run_part: Callable[..., Any], patience: int) -> None:
    """What a worker's process does: parts until there are no more, each number with so many seconds of the processor.

    `run_part(start, count, options, begin)` tells `begin` each number before it begins with it.
    """
    pipe = Connection(int(sys.argv[1]))
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)
    options = pipe.recv()

    def begin(number: int) -> None:
        limit_processor(patience)
        pipe.send(number)

    while True:
        try:
            start, count = pipe.recv()
        except EOFError:
            return
        pipe.send(run_part(start, count, options, begin))
