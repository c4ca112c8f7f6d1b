"""Who may look at variables, and who may write them."""

import threading
from types import TracebackType


class Readers:
    """A lock that many readers or one writer can hold.

    >>> lock = Readers()
    >>> with lock, lock:
    ...     lock.readers
    2
    """

    def __init__(self) -> None:
        self.readers = 0
        self._changed = threading.Condition()
        self._waiting = 0
        self.writing = Writer(self)

    def __enter__(self) -> None:
        with self._changed:
            self.readers += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._changed:
            self.readers -= 1
            if self._waiting and not self.readers:
                self._changed.notify_all()


class Writer:
    """The other side of a lock: entered when nobody reads, and then nobody does."""

    def __init__(self, lock: Readers) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        lock = self._lock
        lock._changed.acquire()
        lock._waiting += 1
        try:
            while lock.readers:
                lock._changed.wait()
        except BaseException:
            lock._waiting -= 1
            lock._changed.release()
            raise
        lock._waiting -= 1  # held until the end: readers wait to be counted

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock._changed.notify_all()
        self._lock._changed.release()
