"""Threads that fetch batches ahead, in order.

Batch i is fetched by worker i modulo their number, and each worker has a queue of its own for results, so
reading the queues in turn gives the batches in order, and which worker made a batch depends on nothing
but its number.
"""

import atexit
import collections
import dataclasses
import itertools
import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import thixo as tx
from thixo.data.fetch import StreamEndedError
from thixo.errors import ThixoError

_here = threading.local()
_STOP = object()
_LAST_WAIT = 5.0  # seconds a worker may take to finish its batch when the program ends


@dataclasses.dataclass
class WorkerInfo:
    """Which worker of a loader is running: its number, how many there are, its seed and data set.

    `generator` is the worker's own: draws from it are the same in every run with the same seed,
    which draws from the default generator, shared by all threads, are not.

    >>> data = [1, 2, 3]
    >>> WorkerInfo(id=0, num_workers=2, seed=7, dataset=data, generator=tx.Generator()).num_workers
    2
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    generator: Any


def get_worker_info() -> WorkerInfo | None:
    """The worker of a `DataLoader` that runs this code; None outside of workers.

    >>> class Who(tx.data.Dataset):
    ...     def __len__(self): return 4
    ...     def __getitem__(self, index): return tx.data.get_worker_info().id
    >>> [batch.item() for batch in tx.data.DataLoader(Who(), num_workers=2)]
    [0, 1, 0, 1]
    >>> tx.data.get_worker_info() is None
    True
    """
    return getattr(_here, "info", None)


class _Crew:
    """The threads of one walk and the queues between them and the walk.

    It knows nothing of the walk, so that a walk given up half-way is collected, and then dismisses its crew.
    """

    def __init__(self, count: int) -> None:
        self.jobs: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(count)]
        self.results: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(count)]
        self.threads: list[threading.Thread] = []
        self.dismissed = False

    def start(self, *arguments: Any) -> None:
        """Start a thread for each pair of queues; `arguments` are those of `_work`."""
        _crews.add(self)
        for number in range(len(self.jobs)):
            thread = threading.Thread(
                target=_work, args=(self, number, *arguments), name=f"loader-{number}", daemon=True
            )
            thread.start()
            self.threads.append(thread)

    def dismiss(self) -> None:
        """Tell every worker to end after what it is doing. Nothing is waited for: the garbage
        collector may call this from anywhere."""
        self.dismissed = True
        for jobs in self.jobs:
            jobs.put(_STOP)
        _crews.discard(self)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the workers have ended."""
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(timeout)


_crews: set[_Crew] = set()


@atexit.register
def _end_all() -> None:
    """Let no worker run on into a Python that is being taken apart."""
    crews = list(_crews)
    for crew in crews:
        crew.dismiss()
    for crew in crews:
        crew.join(_LAST_WAIT)


def _work(
    crew: _Crew,
    number: int,
    seed: int,
    dataset: Any,
    make_fetch: Callable[[], Callable[[Any], Any]],
    init: Callable[[int], Any] | None,
) -> None:
    """What a worker does: take a job, put (batch, None) or (None, what went wrong)."""
    jobs, results = crew.jobs[number], crew.results[number]
    seed += number
    generator = tx.Generator().manual_seed(seed % 2**63)
    _here.info = WorkerInfo(number, len(crew.jobs), seed, dataset, generator)
    fetch = None
    while True:
        job = jobs.get()
        if job is _STOP or crew.dismissed:
            return
        try:
            if fetch is None:
                if init is not None:
                    init(number)
                fetch = make_fetch()
            batch = fetch(job)
        except BaseException as error:
            results.put((None, error))
            return
        results.put((batch, None))
        del batch  # or it would live until the next one is made


class WorkerWalk:
    """One walk through a data set with workers: the batches, in order."""

    def __init__(
        self,
        jobs: Iterable[Any],
        count: int,
        ahead: int,
        timeout: float,
        seed: int,
        dataset: Any,
        make_fetch: Callable[[], Callable[[Any], Any]],
        init: Callable[[int], Any] | None,
    ) -> None:
        self._jobs = iter(jobs)
        self._timeout = timeout
        self._alive = [True] * count
        self._turns = itertools.cycle(range(count))
        self._sent: collections.deque[tuple[int, Any]] = collections.deque()
        self._process = os.getpid()
        self._crew = _Crew(count)
        self._ending = weakref.finalize(self, self._crew.dismiss)
        self._ending.atexit = False  # _end_all does it, and waits
        self._crew.start(seed, dataset, make_fetch, init)
        for _ in range(count * ahead):
            self._send()

    def __iter__(self) -> "WorkerWalk":
        return self

    def __next__(self) -> Any:
        if self._process != os.getpid():
            raise ThixoError(
                "DataLoader: this walk was begun in a parent process, and its worker threads do not "
                "exist in this one; call iter(loader) here"
            )
        while self._sent:
            worker, job = self._sent.popleft()
            if not self._alive[worker]:
                continue
            batch, error = self._receive(worker)
            if isinstance(error, StreamEndedError):
                self._alive[worker] = False
                continue
            if error is not None:
                self._fail(error, worker, job)
            self._send()
            return batch
        self.close()
        raise StopIteration

    def close(self) -> None:
        """End the workers and wait for them; there are no batches after this."""
        self._sent.clear()
        self._ending()
        self._crew.join()

    def _send(self) -> None:
        """Give the next job, if there is one, to the worker whose turn it is."""
        turns = itertools.islice(self._turns, len(self._alive))
        worker = next((w for w in turns if self._alive[w]), None)
        if worker is None:
            return
        try:
            job = next(self._jobs)
        except StopIteration:
            return
        self._sent.append((worker, job))
        self._crew.jobs[worker].put(job)

    def _receive(self, worker: int) -> tuple[Any, BaseException | None]:
        try:
            return self._crew.results[worker].get(timeout=self._timeout or None)
        except queue.Empty:
            self._sent.clear()
            self._ending()  # without waiting for a worker that hangs
            raise ThixoError(
                f"DataLoader: worker {worker} gave no batch within timeout={self._timeout} seconds"
            ) from None

    def _fail(self, error: BaseException, worker: int, job: Any) -> None:
        """Raise a worker's exception here: the same object, with its own traceback."""
        self.close()
        items = "" if job is None else f", fetching {job}"
        if isinstance(error, StopIteration):  # raised here it would end the user's loop in silence
            raise RuntimeError(f"worker {worker} raised StopIteration{items}") from error
        error.add_note(f"raised in worker {worker} of a DataLoader{items}")
        try:
            raise error
        finally:
            del error  # its traceback holds this frame, which would hold it
