"""Samplers: in which order, and how often, the items of a data set come."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import thixo as tx
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe

T_co = TypeVar("T_co", covariant=True)
_BLOCK = 4096  # draws at a time, where there may be very many


class Sampler(Generic[T_co]):
    """An order of indices: a subclass has `__iter__()` and, where it is known, `__len__()`.

    >>> class Backwards(tx.data.Sampler):
    ...     def __init__(self, data): self.data = data
    ...     def __iter__(self): return iter(range(len(self.data) - 1, -1, -1))
    >>> list(tx.data.DataLoader("abc", sampler=Backwards("abc"), batch_size=None))
    ['c', 'b', 'a']
    """

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class SequentialSampler(Sampler[int]):
    """Each index once, in order.

    >>> list(tx.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Each index once in a random order, or, with `replacement`, indices drawn one by one.

    Without a generator each walk takes its seed from the default generator, so `tx.manual_seed`
    decides the orders, and what is drawn during the walk does not change them.

    >>> generator = tx.Generator().manual_seed(0)
    >>> sorted(tx.data.RandomSampler("abcd", generator=generator))
    [0, 1, 2, 3]
    >>> len(list(tx.data.RandomSampler("abcd", replacement=True, num_samples=9)))
    9
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise ArgumentError(
                f"RandomSampler: replacement must be True or False, got {describe(replacement)}"
            )
        if num_samples is not None:
            _require_count("RandomSampler", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """How many indices one walk gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, left = len(self.data_source), self.num_samples
        if size == 0 and left > 0:
            raise ValueRangeError(
                f"RandomSampler: {left} indices are asked of a data set without items"
            )
        generator = own_generator(self.generator)
        while left > 0:
            if self.replacement:
                drawn = tx.randint(size, (min(left, _BLOCK),), generator=generator).tolist()
            else:
                drawn = tx.randperm(size, generator=generator).tolist()[:left]
            yield from drawn
            left -= len(drawn)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices, each once, in a random order.

    >>> sorted(tx.data.SubsetRandomSampler([7, 3, 5]))
    [3, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = tx.randperm(len(self.indices), generator=own_generator(self.generator))
        for place in order.tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn in proportion to their weights.

    >>> list(tx.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=3))
    [1, 1, 1]
    >>> sorted(tx.data.WeightedRandomSampler([0.0, 1.0, 2.0], num_samples=2, replacement=False))
    [1, 2]
    """

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        _require_count("WeightedRandomSampler", num_samples)
        if not isinstance(replacement, bool):
            raise ArgumentError(
                f"WeightedRandomSampler: replacement must be True or False, got "
                f"{describe(replacement)}"
            )
        self.weights = tx.as_tensor(weights, dtype=tx.float64)
        if self.weights.ndim != 1:
            raise ShapeError(
                f"WeightedRandomSampler: weights is {describe(self.weights)}; it must have 1 dimension"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        generator = own_generator(self.generator)
        drawn = tx.multinomial(
            self.weights, self.num_samples, self.replacement, generator=generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of `batch_size`; the last one may be shorter.

    >>> list(tx.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    >>> list(tx.data.BatchSampler(range(5), batch_size=2, drop_last=True))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _require_count("BatchSampler", batch_size, "batch_size")
        if not isinstance(drop_last, bool):
            raise ArgumentError(
                f"BatchSampler: drop_last must be True or False, got {describe(drop_last)}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def own_generator(generator: Any) -> Any:
    """The given generator, or a new one whose seed the default generator draws."""
    return generator if generator is not None else tx.Generator().manual_seed(draw_seed(None))


def draw_seed(generator: Any) -> int:
    """A seed from a generator, or from the default one."""
    return int(tx.randint(2**63 - 1, (), generator=generator))


def _require_count(owner: str, value: Any, name: str = "num_samples") -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{owner}: {name} must be an int, got {describe(value)}")
    if value < 1:
        raise ValueRangeError(f"{owner}: {name} must be at least 1, got {value}")
