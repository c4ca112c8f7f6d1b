"""The DataLoader: batches of a data set, in order or shuffled, fetched here or by worker threads."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from thixo.data.collate import default_collate, default_convert
from thixo.data.dataset import IterableDataset
from thixo.data.fetch import FetchByIndex, FetchFromStream, StreamEndedError
from thixo.data.sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed
from thixo.data.workers import WorkerWalk
from thixo.errors import ArgumentError, ValueRangeError, describe

T_co = TypeVar("T_co", covariant=True)
_FIXED = frozenset("batch_size batch_sampler dataset drop_last num_workers sampler".split())


class DataLoader(Generic[T_co]):
    """Walks through a data set in batches; each `for` loop over it is one epoch.

    `shuffle=True` takes the items in a new random order every time; `generator` is where that
    order is drawn. `sampler` gives the indices, `batch_sampler` lists of them; `batch_size=None` gives
    items as they are. `collate_fn` makes a batch of a list of items.

    `num_workers` threads fetch up to `prefetch_factor` batches each ahead of need. The order of the
    batches does not depend on their number. An exception in a worker is raised in the loop over the
    loader, with the worker's traceback. Threads share the data set with the program: what one changes,
    all see. Draw random numbers in a worker from `get_worker_info().generator`.

    `pin_memory`, `persistent_workers` and `in_order` are accepted for PyTorch's sake and change nothing:
    there is no other memory to copy to, threads start at once, and the order is always kept.

    >>> import thixo as tx
    >>> data = tx.data.TensorDataset(tx.arange(6))
    >>> loader = tx.data.DataLoader(data, batch_size=4, shuffle=True, num_workers=2)
    >>> len(loader), sorted(x for [batch] in loader for x in batch.tolist())
    (2, [0, 1, 2, 3, 4, 5])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: None = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        streams = isinstance(dataset, IterableDataset)
        _check_batching(dataset, batch_size, shuffle, sampler, batch_sampler, drop_last)
        _check_workers(num_workers, prefetch_factor, timeout, persistent_workers)
        if multiprocessing_context is not None:
            raise ArgumentError(
                "DataLoader: workers are threads here, so multiprocessing_context must be None, got "
                f"{describe(multiprocessing_context)}"
            )
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and not streams:
            shuffled = RandomSampler(dataset, generator=generator) if shuffle else None
            sampler = SequentialSampler(dataset) if shuffled is None else shuffled
        if batch_size is not None and not streams:
            assert sampler is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if collate_fn is None:
            batched = batch_size is not None or batch_sampler is not None
            collate_fn = default_collate if batched else default_convert
        self.dataset = dataset
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn
        self.generator = generator
        self.num_workers = num_workers
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_made", False):
            raise ValueRangeError(
                f"DataLoader: {name} cannot be changed any more: the batches were planned with it; "
                f"make a new loader"
            )
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        # Drawn with and without workers, so that their number changes no later random number.
        seed = draw_seed(self.generator)
        if self.num_workers == 0:
            return self._walk()
        return WorkerWalk(
            self._jobs(),
            self.num_workers,
            self.prefetch_factor or 1,
            self.timeout,
            seed,
            self.dataset,
            self._make_fetch,
            self.worker_init_fn,
        )

    def __len__(self) -> int:
        """How many batches there are, if the data set or the sampler knows its length."""
        if not isinstance(self.dataset, IterableDataset):
            return len(self._jobs())  # type: ignore[arg-type]
        items = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return items
        return items // self.batch_size if self.drop_last else -(-items // self.batch_size)

    def _jobs(self) -> Iterable[Any]:
        """What tells a fetch which batch is next; a stream needs no telling."""
        if isinstance(self.dataset, IterableDataset):
            return itertools.repeat(None)
        jobs = self.sampler if self.batch_sampler is None else self.batch_sampler
        assert jobs is not None
        return jobs

    def _make_fetch(self) -> Callable[[Any], Any]:
        if isinstance(self.dataset, IterableDataset):
            return FetchFromStream(self.dataset, self.batch_size, self.drop_last, self.collate_fn)
        return FetchByIndex(self.dataset, self.batch_sampler is not None, self.collate_fn)

    def _walk(self) -> Iterator[Any]:
        fetch = self._make_fetch()
        for job in self._jobs():
            try:
                batch = fetch(job)
            except StreamEndedError:
                return
            yield batch
            del batch  # or it would live until the next one is made


def _check_batching(
    dataset: Any, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: Any
) -> None:
    """Refuse options that contradict each other."""
    for name, value in (("shuffle", shuffle), ("drop_last", drop_last)):
        if not isinstance(value, bool) and not (name == "shuffle" and value is None):
            raise ArgumentError(f"DataLoader: {name} must be True or False, got {describe(value)}")
    if batch_size is not None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int):
            raise ArgumentError(
                f"DataLoader: batch_size must be an int or None, got {describe(batch_size)}"
            )
        if batch_size < 1:
            raise ValueRangeError(f"DataLoader: batch_size must be at least 1, got {batch_size}")
    if isinstance(dataset, IterableDataset):
        given = {"shuffle": shuffle, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in given.items():
            if value is not None and value is not False:
                raise ValueRangeError(
                    f"DataLoader: {type(dataset).__name__} is a stream: its items come in its own "
                    f"order, so {name} cannot be given, got {describe(value)}"
                )
    elif not hasattr(dataset, "__getitem__"):
        raise ArgumentError(
            f"DataLoader: a data set with __getitem__ is needed, got {describe(dataset)}; derive a "
            f"stream from IterableDataset"
        )
    elif sampler is None and batch_sampler is None and not hasattr(dataset, "__len__"):
        raise ArgumentError(
            f"DataLoader: {type(dataset).__name__} has no length; give it __len__, or give a sampler"
        )
    if sampler is not None and shuffle:
        raise ValueRangeError("DataLoader: a sampler decides the order, so shuffle cannot be True")
    planned = batch_size != 1 or shuffle or sampler is not None or drop_last
    if batch_sampler is not None and planned:
        raise ValueRangeError(
            "DataLoader: a batch_sampler decides the batches, so batch_size, shuffle, sampler and "
            "drop_last cannot be given"
        )
    if batch_size is None and drop_last:
        raise ValueRangeError(
            "DataLoader: batch_size=None makes no batches, so none can be dropped"
        )


def _check_workers(num_workers: Any, prefetch: Any, timeout: Any, persistent: Any) -> None:
    if isinstance(num_workers, bool) or not isinstance(num_workers, int):
        raise ArgumentError(f"DataLoader: num_workers must be an int, got {describe(num_workers)}")
    if num_workers < 0:
        raise ValueRangeError(f"DataLoader: num_workers must not be negative, got {num_workers}")
    if timeout < 0:
        raise ValueRangeError(f"DataLoader: timeout must not be negative, got {timeout}")
    if num_workers == 0:
        given = {"prefetch_factor": prefetch, "timeout": timeout, "persistent_workers": persistent}
        for name, value in given.items():
            if value:
                raise ValueRangeError(
                    f"DataLoader: {name}={value} is about workers, and num_workers is 0"
                )
    elif prefetch is not None and prefetch < 1:
        raise ValueRangeError(f"DataLoader: prefetch_factor must be at least 1, got {prefetch}")
