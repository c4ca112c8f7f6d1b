"""Kernels that a program needs, compiled side by side.

While a `Batch` is open, whoever asks for a kernel that is neither in this process nor on disk gets `Pending`, and threads
begin to compile it. So a program is bound in two turns: one that asks for all it needs, and one that finds it there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, Self

from thixo.threads import get_num_threads

_of_thread = threading.local()

# A thread that comes back from LLVM waits until the one that runs Python lets it in. Kernels take a dozen such calls each:
# while there are threads that compile, the wait is shorter than it is otherwise.
_TURN = 0.0005  # seconds
_turns = threading.Lock()
_shortened: list[float] = []  # what the wait was before, for each batch with threads


class Pending(Exception):
    """The kernel is being compiled: ask again when the batch is finished."""


class Batch:
    """Jobs that threads work at from when they are added; what they give is kept when the batch is finished.

    >>> kept = []
    >>> with Batch() as batch:
    ...     batch.add("two", lambda: 1 + 1, kept.append)
    ...     batch.finish()
    True
    >>> kept
    [2]
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._jobs: list[tuple[str, Callable[[], Any]]] = []  # the next one is the last
        self._wake = threading.Condition()
        self._open = True  # more may come: threads wait for it
        self._keep: dict[str, Callable[[Any], None]] = {}
        self._made: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._outer = current()
        _of_thread.batch = self
        return self

    def __exit__(self, *error: object) -> None:
        _of_thread.batch = self._outer
        self._jobs.clear()
        self._join()

    def add(self, name: str, job: Callable[[], Any], keep: Callable[[Any], None]) -> None:
        """A job, unless there is one of this name; `keep` gets its result in the thread that finishes the batch."""
        if name in self._names:
            return
        self._names.add(name)
        self._keep[name] = keep
        with self._wake:
            self._jobs.append((name, job))
            self._wake.notify()
        if len(self._threads) < get_num_threads() - 1:  # the caller is one more
            if not self._threads:
                _shorten()
            self._threads.append(threading.Thread(target=self._wait_and_work, daemon=True))
            self._threads[-1].start()

    def finish(self) -> bool:
        """Wait for all jobs and keep their results; False if there were none."""
        if not self._names:
            return False
        self._work()
        self._join()
        if self._error is not None:
            raise self._error
        for name, made in self._made.items():
            self._keep[name](made)
        self._names.clear()
        self._made.clear()
        return True

    def _join(self) -> None:
        with self._wake:
            self._open = False
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()
        if self._threads:
            _lengthen()
        self._threads.clear()
        self._open = True

    def _wait_and_work(self) -> None:
        while self._error is None and (self._open or self._jobs):
            self._work()
            with self._wake:
                if self._error is None and self._open and not self._jobs:
                    self._wake.wait()

    def _work(self) -> None:
        while self._error is None:
            try:
                name, job = self._jobs.pop()
            except IndexError:
                return
            try:
                self._made[name] = job()
            except BaseException as error:  # it is the caller's
                self._error = error
                self._jobs.clear()


def _shorten() -> None:
    with _turns:
        _shortened.append(sys.getswitchinterval())
        sys.setswitchinterval(min(_TURN, *_shortened))


def _lengthen() -> None:
    with _turns:
        before = _shortened.pop()
        if not _shortened:
            sys.setswitchinterval(before)


def current() -> Batch | None:
    """The batch that this thread has opened, if any."""
    return getattr(_of_thread, "batch", None)


def all_of(asks: Iterable[Callable[[], Any]]) -> list[Any]:
    """What each of these gives; where some are pending, all have been asked for."""
    found = []
    pending: Pending | None = None
    for ask in asks:
        try:
            found.append(ask())
        except Pending as error:
            pending = error
    if pending is not None:
        raise pending
    return found
