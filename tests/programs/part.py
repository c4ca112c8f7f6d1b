"""What one worker of the command does: `python -m tests.programs.part DESCRIPTOR`, which the command starts (`tests/workers.py`)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from tests.programs.check import PATIENCE, Failure, Tally, Verdict, check
from tests.programs.program import Generator
from tests.programs.routes import ROUTES
from tests.workers import serve

PART = 16  # programs that a worker does at a time
TIDY = 8  # programs between two looks for what is no longer used


def run_part(
    start: int, count: int, options: Any, begin: Callable[[int], None] = lambda _: None
) -> Tally:
    """So many programs from a number on; `begin` is told each one's number."""
    tally, generator = Tally(), Generator(options.seed)
    gc.disable()  # graphs are many objects that refer to each other: looking through them all the time is slow
    for number in range(start, start + count):
        begin(number)
        whole = number % options.whole == 0
        check(number, generator.make(number), options.routes, tally, whole)
        if number % TIDY == 0:
            gc.collect()
    return tally


def failed(number: int, reason: str, options: Any) -> Tally:
    """What a program gives that ended its process."""
    found = Tally()
    program = Generator(options.seed).make(number)
    verdict = Verdict("wrong", reason)
    found.failures.append(Failure(number, program, "/".join(options.routes), verdict))
    return found


if __name__ == "__main__":
    serve(run_part, PATIENCE * (len(ROUTES) + 2))  # for loops in native code
