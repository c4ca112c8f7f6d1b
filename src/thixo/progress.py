"""What takes long says so: nothing for two seconds, then one line on the standard error that changes as work goes on.

>>> with task("compiling graph f"):
...     for i in range(3):
...         step("binding nodes", i, 3)

On a terminal the line is rewritten, and gone at the end; elsewhere a line comes every ten seconds. `THIXO_PROGRESS=0` in the
environment turns it off.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from thixo import config

PATIENCE = 2.0  # seconds without a word
ON_TERMINAL, ELSEWHERE = 0.2, 10.0  # seconds between two lines


class _Task:
    def __init__(self, name: str) -> None:
        self.name = name
        self.due = time.monotonic() + PATIENCE
        self.shown = False

    def show(self, now: float, what: str, done: int, total: int) -> None:
        part = f": {what}" + (f", {done:,} of {total:,}" if total else "")
        text = f"thixo: {self.name}{part}"
        on_terminal = sys.stderr.isatty()
        self.due = now + (ON_TERMINAL if on_terminal else ELSEWHERE)
        self.shown = self.shown or on_terminal
        print(f"\r\x1b[K{text}" if on_terminal else text, end="" if on_terminal else "\n", file=sys.stderr, flush=True)  # fmt: skip

    def clear(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Active(threading.local):
    task: _Task | None = None


_active = _Active()


@contextmanager
def task(name: str) -> Iterator[None]:
    """Work that may take long; one inside of another is part of it.

    >>> with task("loading"):
    ...     pass
    """
    if _active.task is not None or not config.progress:
        yield
        return
    _active.task = one = _Task(name)
    try:
        yield
    finally:
        _active.task = None
        one.clear()


def step(what: str, done: int = 0, total: int = 0) -> None:
    """Say how far the task of this thread is; next to nothing where there is none or it is not time to speak.

    >>> step("binding nodes", 10, 200)
    """
    one = _active.task
    if one is not None:
        now = time.monotonic()
        if now >= one.due:
            one.show(now, what, done, total)
