"""How one batch is made: from indices, or from the next items of a stream."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from thixo.data.collate import default_collate
from thixo.data.dataset import Subset, TensorDataset


class StreamEndedError(Exception):
    """A stream has no more items. (StopIteration would be swallowed on its way.)"""


class FetchByIndex:
    """Items at given indices: a list of them for a batch, a single one where there are no batches."""

    def __init__(self, dataset: Any, batched: bool, collate_fn: Callable[[Any], Any]) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate_fn = collate_fn
        # Stacked tensors can be indexed by a whole batch at once: the same values, in one step.
        quick = collate_fn is default_collate and isinstance(dataset, TensorDataset | Subset)
        self.collated = dataset.collated if batched and quick else None

    def __call__(self, where: Any) -> Any:
        """The batch of the items at these indices."""
        if not self.batched:
            return self.collate_fn(self.dataset[where])
        if self.collated is not None and all(type(i) is int for i in where):
            batch = self.collated(where)
            if batch is not None:
                return batch
        many = getattr(self.dataset, "__getitems__", None)
        items = [self.dataset[i] for i in where] if many is None else many(where)
        return self.collate_fn(items)


class FetchFromStream:
    """The next items of a stream: `batch_size` of them, or one where that is None."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None,
        drop_last: bool,
        collate_fn: Callable[[Any], Any],
    ) -> None:
        self.items: Iterator[Any] = iter(dataset)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.collate_fn = collate_fn

    def __call__(self, where: Any) -> Any:
        """The next batch; where it is is known."""
        items = list(itertools.islice(self.items, self.batch_size or 1))
        if not items or (self.drop_last and len(items) < (self.batch_size or 1)):
            raise StreamEndedError
        return self.collate_fn(items[0] if self.batch_size is None else items)
