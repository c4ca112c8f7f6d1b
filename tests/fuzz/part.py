"""What one worker of the fuzzer's command does.

A module of its own: a process that is started afresh imports what it is to run by its name, and a package's `__main__` has none.
"""

from __future__ import annotations

import faulthandler
import warnings
from typing import Any

import thixo as tx
from tests.fuzz.differential import Tally, all_ways, check, each_pass
from tests.fuzz.generate import Generator
from thixo.schedule import lanes

PATIENCE = 300  # seconds for one part: only a hang takes that long


def run_part(arguments: tuple[int, int, Any]) -> Tally:
    """So many graphs from a number on, as the command's options say."""
    start, count, options = arguments
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(PATIENCE, exit=True)
    tx.set_num_threads(options.threads)
    if options.side_by_side:  # as if it always paid
        lanes.GAIN, lanes.FASTER = -1.0, 0.0
    tally = Tally()
    generator = Generator(options.seed)
    ways = all_ways(options.executor)
    if options.passes:
        ways = each_pass(options.passes)
    for made in generator.graphs(count, start):
        alone = (
            each_pass() if made.seed < options.start + options.alone and not options.passes else []
        )
        failure = check(made, [*ways, *alone], tally)
        if failure is not None:
            tally.failures.append(failure)
    faulthandler.cancel_dump_traceback_later()
    return tally
