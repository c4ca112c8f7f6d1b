"""What data come from: data sets with indices, streams, and data sets made of others."""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import thixo as tx
from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, ValueRangeError, describe
from thixo.tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Items by index: a subclass has `__getitem__(index)` and, for most uses, `__len__()`.

    >>> class Squares(tx.data.Dataset):
    ...     def __len__(self): return 4
    ...     def __getitem__(self, index): return index, index ** 2
    >>> (Squares() + Squares())[5]
    (1, 1)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: "Dataset[Any]") -> "ConcatDataset[Any]":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """A stream of items: a subclass has `__iter__()`.

    With several workers each of them walks through the stream; `get_worker_info()` says which worker
    is asking, so that each can take its share.

    >>> class Count(tx.data.IterableDataset):
    ...     def __iter__(self):
    ...         worker = tx.data.get_worker_info()
    ...         first, step = (worker.id, worker.num_workers) if worker else (0, 1)
    ...         return iter(range(first, 6, step))
    >>> [batch.tolist() for batch in tx.data.DataLoader(Count(), batch_size=2)]
    [[0, 1], [2, 3], [4, 5]]
    >>> [batch.tolist() for batch in tx.data.DataLoader(Count(), batch_size=2, num_workers=2)]
    [[0, 2], [1, 3], [4], [5]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __add__(self, other: Any) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of one first size: item i is the i-th entry of each.

    >>> data = tx.data.TensorDataset(tx.arange(6).view(3, 2), tx.tensor([7, 8, 9]))
    >>> len(data), data[1]
    (3, (tensor([2, 3]), tensor(8)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if not tensors:
            raise ArgumentError("TensorDataset: at least one tensor is needed, got none")
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise ArgumentError(f"TensorDataset: tensors are needed, got {describe(tensor)}")
            if tensor.ndim == 0 or tensor.shape[0] != tensors[0].shape[0]:
                raise ShapeError(
                    f"TensorDataset: first sizes differ: {', '.join(map(describe, tensors))}; "
                    f"every tensor must have one entry for each item"
                )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def collated(self, indices: list[int]) -> list[Tensor] | None:
        """The items as one batch, without a tensor for each; None where items are made otherwise."""
        if type(self).__getitem__ is not TensorDataset.__getitem__:
            return None  # a subclass changes them
        places = tx.tensor(indices)
        return [tensor[places] for tensor in self.tensors]


class StackDataset(Dataset[Any]):
    """Data sets side by side: item i is a tuple (or, given by keywords, a dict) of their i-th items.

    >>> data = tx.data.StackDataset(image=[10, 20], label="ab")
    >>> data[1]
    {'image': 20, 'label': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ArgumentError("StackDataset: give data sets by position or by keyword, not both")
        self.datasets: Any = args or kwargs
        lengths = [len(d) for d in (args or kwargs.values())]
        if len(set(lengths)) != 1:
            raise ShapeError(f"StackDataset: lengths differ: {lengths}")
        self._length = lengths[0]

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Data sets one after another.

    >>> data = tx.data.ConcatDataset(["abc", "de"])
    >>> len(data), data[3], data[-1]
    (5, 'd', 'e')
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset: at least one data set is needed, got none")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise ArgumentError(
                    f"ConcatDataset: {type(dataset).__name__} is a stream and has no indices; use "
                    f"ChainDataset"
                )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexOutOfRange(f"ConcatDataset: index {index} in a data set of {len(self)}")
        number = bisect.bisect_right(self.cumulative_sizes, place)
        before = self.cumulative_sizes[number - 1] if number else 0
        return self.datasets[number][place - before]


class ChainDataset(IterableDataset[Any]):
    """Streams one after another.

    >>> class Letters(tx.data.IterableDataset):
    ...     def __init__(self, text): self.text = text
    ...     def __iter__(self): return iter(self.text)
    >>> "".join(Letters("ab") + Letters("c"))
    'abc'
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise ArgumentError(
                    f"ChainDataset: streams are needed, got {describe(dataset)}; use ConcatDataset"
                )
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[T_co]):
    """Some items of a data set, by their indices.

    >>> data = tx.data.Subset("abcdef", [4, 0])
    >>> len(data), data[0], data[1]
    (2, 'e', 'a')
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)

    def collated(self, indices: list[int]) -> Any:
        """The items as one batch, if the data set beneath can make one."""
        inner = getattr(self.dataset, "collated", None)
        if inner is None or type(self).__getitem__ is not Subset.__getitem__:
            return None
        return inner([int(self.indices[i]) for i in indices])


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = None
) -> list[Subset[Any]]:
    """Divide a data set at random into parts of these lengths, or of these shares (which sum to 1).

    >>> parts = tx.data.random_split(range(10), [0.7, 0.3], generator=tx.Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted([*parts[0], *parts[1]]) == list(range(10))
    ([7, 3], True)
    """
    size = len(dataset)
    if any(n < 0 for n in lengths):
        raise ValueRangeError(f"random_split: lengths must not be negative, got {list(lengths)}")
    if any(isinstance(n, float) for n in lengths):
        if not math.isclose(sum(lengths), 1, abs_tol=1e-6):
            raise ValueRangeError(
                f"random_split: shares must sum to 1, got {list(lengths)}, which sum to {sum(lengths)}"
            )
        counts = [math.floor(size * share) for share in lengths]
        for i in range(size - sum(counts)):  # what rounding left over goes to the first parts
            counts[i % len(counts)] += 1
    else:
        counts = [int(n) for n in lengths]
        if sum(counts) != size:
            raise ValueRangeError(
                f"random_split: lengths {counts} sum to {sum(counts)}; the data set has {size} items"
            )
    order = tx.randperm(size, generator=generator).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, counts, strict=True)]
