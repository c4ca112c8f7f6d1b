"""What one worker of the fuzzer's command does: `python -m tests.fuzz.part DESCRIPTOR`, which `workers.py` starts."""

from __future__ import annotations

import faulthandler
import resource
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import thixo as tx
from tests.fuzz import machine_code
from tests.fuzz.differential import LANES, Tally, all_ways, check, each_pass, few_are_many
from tests.fuzz.generate import Generator

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


def limit_processor() -> None:
    """Give this process so much more time; it is stopped, with a traceback, when that is used up."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + PATIENCE, most))


def main() -> None:
    """Do parts until there are no more."""
    pipe = Connection(int(sys.argv[1]))
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)
    options = pipe.recv()

    def begin(number: int) -> None:
        limit_processor()
        pipe.send(number)

    while True:
        try:
            start, count = pipe.recv()
        except EOFError:
            return
        pipe.send(run_part(start, count, options, begin))


if __name__ == "__main__":
    main()
