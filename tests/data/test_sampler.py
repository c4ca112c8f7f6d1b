"""In which order, and how often, items come."""

import pytest

import thixo as tx
from thixo.data import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from thixo.errors import ArgumentError, ShapeError, ValueRangeError


def test_sequential():
    assert list(SequentialSampler("abcd")) == [0, 1, 2, 3]
    assert len(SequentialSampler("abcd")) == 4


def test_random_is_a_new_permutation_every_time():
    sampler = RandomSampler(range(40), generator=tx.Generator().manual_seed(0))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(40))
    assert first != second != list(range(40))


def test_random_follows_the_default_seed_and_nothing_drawn_meanwhile():
    def walk(draw):
        tx.manual_seed(5)
        found = []
        for index in RandomSampler(range(20)):
            found.append(index)
            if draw:
                tx.rand(7)
        return found

    assert walk(False) == walk(True)


def test_random_with_replacement_draws_every_index_about_equally():
    sampler = RandomSampler(
        range(4), replacement=True, num_samples=10_000, generator=tx.Generator().manual_seed(0)
    )
    counts = tx.tensor(list(sampler)).bincount()
    assert len(sampler) == 10_000
    assert bool(((counts - 2500).abs() < 250).all())


@pytest.mark.parametrize(("asked", "size"), [(3, 10), (10, 10), (25, 10)])
def test_random_without_replacement_repeats_only_when_more_are_asked(asked, size):
    drawn = list(RandomSampler(range(size), num_samples=asked))
    assert len(drawn) == asked
    for i in range(0, asked, size):
        assert len(set(drawn[i : i + size])) == len(drawn[i : i + size])


def test_random_of_nothing():
    assert list(RandomSampler([])) == []
    with pytest.raises(ValueRangeError, match="3 indices are asked of a data set without items"):
        list(RandomSampler([], replacement=True, num_samples=3))


def test_subset_random_gives_the_indices_it_was_given():
    sampler = SubsetRandomSampler([4, 8, 15, 16, 23, 42], generator=tx.Generator().manual_seed(3))
    assert sorted(sampler) == [4, 8, 15, 16, 23, 42]
    assert len(sampler) == 6


def test_weights_are_proportions():
    generator = tx.Generator().manual_seed(0)
    drawn = list(WeightedRandomSampler([1.0, 0.0, 3.0], 8000, generator=generator))
    counts = tx.tensor(drawn).bincount(minlength=3).tolist()
    assert counts[1] == 0
    assert abs(counts[2] / counts[0] - 3) < 0.3
    assert sorted(WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("drop_last", "wanted"), [(False, [[0, 1, 2], [3, 4, 5], [6]]), (True, [[0, 1, 2], [3, 4, 5]])]
)
def test_batches_of_indices(drop_last, wanted):
    sampler = BatchSampler(range(7), 3, drop_last)
    assert list(sampler) == wanted
    assert len(sampler) == len(wanted)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: RandomSampler("ab", num_samples=0),
            ValueRangeError,
            "num_samples must be at least 1",
        ),
        (lambda: RandomSampler("ab", num_samples=1.5), ArgumentError, "must be an int, got 1.5"),
        (lambda: RandomSampler("ab", replacement=2), ArgumentError, "must be True or False"),
        (lambda: WeightedRandomSampler([[1.0]], 1), ShapeError, "must have 1 dimension"),
        (lambda: WeightedRandomSampler([1.0], -1), ValueRangeError, "at least 1, got -1"),
        (lambda: BatchSampler("ab", 0, False), ValueRangeError, "batch_size must be at least 1"),
        (lambda: BatchSampler("ab", True, False), ArgumentError, "batch_size must be an int"),
        (lambda: BatchSampler("ab", 2, None), ArgumentError, "drop_last must be True or False"),
    ],
)
def test_refuses(make, error, words):
    with pytest.raises(error, match=words):
        make()
