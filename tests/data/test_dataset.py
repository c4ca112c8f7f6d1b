"""Data sets, data sets made of others, and splitting them."""

import numpy as np
import pytest

import thixo as tx
from thixo.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, ValueRangeError


class Stream(IterableDataset):
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __len__(self):
        return len(self.items)


def test_tensor_dataset_gives_the_entries_of_each_tensor():
    images, labels = tx.randn(5, 2, 3), tx.arange(5)
    data = TensorDataset(images, labels)
    assert len(data) == 5
    image, label = data[3]
    assert bool((image == images[3]).all())
    assert int(label) == 3
    some, their = data[1:3]
    assert tuple(some.shape) == (2, 2, 3)
    assert their.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("tensors", "error", "words"),
    [
        ((), ArgumentError, "at least one tensor"),
        ((tx.ones(2), tx.ones(3)), ShapeError, r"first sizes differ: f32\[2\], f32\[3\]"),
        ((tx.ones(()),), ShapeError, "first sizes differ"),
        ((np.ones(2),), ArgumentError, "tensors are needed"),
    ],
)
def test_tensor_dataset_refuses(tensors, error, words):
    with pytest.raises(error, match=words):
        TensorDataset(*tensors)


def test_concat_counts_across_its_parts_from_both_ends():
    data = ConcatDataset([range(3), [], range(10, 12)])
    assert [data[i] for i in range(5)] == [0, 1, 2, 10, 11]
    assert [data[-i] for i in range(1, 6)] == [11, 10, 2, 1, 0]
    assert data.cumulative_sizes == [3, 3, 5]
    for index in (5, -6):
        with pytest.raises(IndexOutOfRange, match=f"index {index} in a data set of 5"):
            data[index]


def test_concat_and_chain_know_which_is_which():
    with pytest.raises(ArgumentError, match="is a stream and has no indices; use ChainDataset"):
        ConcatDataset([Stream("ab")])
    with pytest.raises(ArgumentError, match="at least one data set"):
        ConcatDataset([])
    with pytest.raises(ArgumentError, match="use ConcatDataset"):
        list(ChainDataset([[1, 2]]))
    both = Stream("ab") + Stream("c")
    assert list(both) == ["a", "b", "c"]
    assert len(both) == 3


def test_adding_data_sets_concatenates_them():
    data = TensorDataset(tx.arange(2)) + TensorDataset(tx.arange(2, 5))
    assert isinstance(data, ConcatDataset)
    assert [int(x) for (x,) in data] == [0, 1, 2, 3, 4]


def test_a_data_set_without_getitem_says_so():
    class Nothing(Dataset):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no __getitem__"):
        Nothing()[0]
    with pytest.raises(NotImplementedError, match="has no __iter__"):
        iter(type("Still", (IterableDataset,), {})())


def test_stack_puts_data_sets_side_by_side():
    assert StackDataset([1, 2], "ab")[1] == (2, "b")
    named = StackDataset(number=[1, 2], letter="ab")
    assert named[0] == {"number": 1, "letter": "a"}
    assert len(named) == 2
    with pytest.raises(ShapeError, match=r"lengths differ: \[2, 3\]"):
        StackDataset("ab", "abc")
    with pytest.raises(ArgumentError, match="by position or by keyword"):
        StackDataset("ab", more="ab")


def test_subset_of_a_subset():
    data = Subset(Subset(range(100, 110), [9, 5, 1]), [2, 0])
    assert list(data) == [101, 109]
    assert len(data) == 2


@pytest.mark.parametrize(
    ("size", "lengths", "wanted"),
    [
        (10, [7, 3], [7, 3]),
        (10, [0, 10, 0], [0, 10, 0]),
        (10, [0.5, 0.25, 0.25], [6, 2, 2]),
        (11, [1 / 3, 1 / 3, 1 / 3], [4, 4, 3]),
        (0, [0.5, 0.5], [0, 0]),
    ],
)
def test_random_split_divides_everything_once(size, lengths, wanted):
    parts = random_split(range(size), lengths)
    assert [len(p) for p in parts] == wanted
    assert sorted(x for part in parts for x in part) == list(range(size))


def test_random_split_is_decided_by_its_generator():
    def split(seed):
        generator = tx.Generator().manual_seed(seed)
        return [list(p) for p in random_split(range(50), [20, 30], generator)]

    assert split(1) == split(1) != split(2)


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([3, 3], r"lengths \[3, 3\] sum to 6; the data set has 10 items"),
        ([0.5, 0.6], "shares must sum to 1"),
        ([-1, 11], "must not be negative"),
    ],
)
def test_random_split_refuses(lengths, words):
    with pytest.raises(ValueRangeError, match=words):
        random_split(range(10), lengths)


def test_digits_are_what_they_should_be():
    images, labels = tx.data.digits()
    assert tuple(images.shape) == (1797, 8, 8)
    assert images.dtype == tx.float32
    assert labels.dtype == tx.int64
    counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert labels.bincount().tolist() == counts
    assert float(images.min()) == 0
    assert float(images.max()) == 1
