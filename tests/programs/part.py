"""What one worker of the command does, and how the command starts, feeds and outlives workers."""

from __future__ import annotations

import faulthandler
import multiprocessing
import multiprocessing.connection
import resource
import signal
from collections.abc import Iterator
from typing import Any

from tests.programs.check import PATIENCE, Failure, Tally, Verdict, check
from tests.programs.program import Generator

PART = 20  # programs that a worker does at a time


def run_part(
    start: int, count: int, seed: int, routes: list[str], begin: Any = lambda _: None
) -> Tally:
    """So many programs from a number on; `begin` is told each one's number."""
    tally, generator = Tally(), Generator(seed)
    for number in range(start, start + count):
        begin(number)
        check(number, generator.make(number), routes, tally)
    return tally


def _work(pipe: Any, seed: int, routes: list[str]) -> None:
    faulthandler.enable()

    def begin(number: int) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + PATIENCE * (
            len(routes) + 2
        )  # for loops in native code
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        pipe.send(number)

    while True:
        try:
            start, count = pipe.recv()
        except EOFError:
            return
        pipe.send(run_part(start, count, seed, routes, begin))


class Worker:
    """A process, its part, and the number of the program that it is at."""

    def __init__(self, seed: int, routes: list[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, seed, routes), daemon=True)
        self.process.start()
        theirs.close()
        self.part = (0, 0)
        self.at: int | None = None

    def give(self, part: tuple[int, int]) -> None:
        self.part, self.at = part, None
        self.pipe.send(part)


def run_parts(
    parts: list[tuple[int, int]], count: int, seed: int, routes: list[str]
) -> Iterator[Tally]:
    """What each part gives. A process that dies is a failure of the program it was at; another goes on after it."""
    waiting = parts[::-1]
    workers = [Worker(seed, routes) for _ in range(min(count, len(waiting)))]
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
                    yield _died(worker, waiting, seed, routes)
                    workers += [Worker(seed, routes)] if waiting else []
                    if waiting:
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
                    worker.pipe.close()
                    worker.process.join()
    finally:
        for worker in workers:
            worker.process.kill()


def _died(worker: Worker, waiting: list[tuple[int, int]], seed: int, routes: list[str]) -> Tally:
    worker.process.join()
    code = worker.process.exitcode or 0
    if worker.at is None:
        raise RuntimeError(f"a worker ended with {code} before its first program")
    start, count = worker.part
    for first, last in ((start, worker.at), (worker.at + 1, start + count)):
        if first < last:
            waiting.append((first, last - first))
    name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    program = Generator(seed).make(worker.at)
    found = Tally()
    reason = Verdict("wrong", f"the process died ({name})")
    found.failures.append(Failure(worker.at, program, "/".join(routes), reason))
    return found
