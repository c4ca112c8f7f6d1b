"""What one worker of the fuzzer's command does: `python -m tests.fuzz.part DESCRIPTOR`, which the command starts (`tests/workers.py`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import thixo as tx
from tests.fuzz import machine_code
from tests.fuzz.differential import LANES, Failure, Tally, all_ways, check, each_pass, few_are_many
from tests.fuzz.generate import Generator
from tests.workers import serve

PART = 50  # graphs that a worker does at a time
SIDE_BY_SIDE = 9  # one part in so many has small nodes side by side, on two threads
PATIENCE = 200  # seconds of the processor for one graph: only a hang takes that long


def run_part(
    start: int, count: int, options: Any, begin: Callable[[int], None] = lambda _: None
) -> Tally:
    """So many graphs from a number on, as the command's options say; `begin` is told each one's number."""
    warnings.simplefilter("ignore")
    part = start // PART
    aside = options.side_by_side or part % SIDE_BY_SIDE == 0
    tx.set_num_threads(2 if part % SIDE_BY_SIDE == 0 else options.threads)
    machine_code.use(part)
    tally = Tally()
    generator = Generator(options.seed)
    ways = all_ways(options.executor)
    if options.passes:
        ways = each_pass(options.passes)
    for number in range(start, start + count):
        begin(number)
        (made,) = generator.graphs(1, number)
        alone = (
            each_pass() if made.seed < options.start + options.alone and not options.passes else []
        )
        with few_are_many(LANES if aside else {}):
            failure = check(made, [*ways, *alone], tally)
        if failure is not None:
            tally.failures.append(failure)
    return tally


def failed(number: int, reason: str, options: Any) -> Tally:
    """What a graph gives that ended its process."""
    found = Tally()
    (made,) = Generator(options.seed).graphs(1, number)
    found.failures.append(Failure(number, None, made.graph, made.inputs(), reason))
    return found


if __name__ == "__main__":
    serve(run_part, PATIENCE)
