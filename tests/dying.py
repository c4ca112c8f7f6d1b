"""A worker for the test of `tests/workers.py`: it gives its numbers back, and dies at one of them."""

import os
import signal

from tests.workers import serve


def run_part(start, count, options, begin):
    """The numbers of a part; the process ends at the one that the options name."""
    for number in range(start, start + count):
        begin(number)
        if number == options["dies_at"]:
            os.kill(os.getpid(), signal.SIGKILL)
    return list(range(start, start + count))


if __name__ == "__main__":
    serve(run_part, 100)
