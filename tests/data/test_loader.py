"""Walks through data sets: order, batches, streams, options that contradict each other."""

import numpy as np
import pytest

import thixo as tx
from thixo.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)
from thixo.errors import ArgumentError, ThixoError, ValueRangeError

WORKERS = [0, 1, 3]


class Squares(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if not 0 <= index < self.size:
            raise IndexError(index)
        return index, float(index) ** 2


class Stream(IterableDataset):
    """Each worker its share, one after another."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        worker = tx.data.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return iter(range(first, self.size, step))

    def __len__(self):
        return self.size


def indices(loader):
    return [batch[0].tolist() for batch in loader]


@pytest.mark.parametrize("workers", WORKERS)
def test_batches_in_order(workers):
    loader = DataLoader(Squares(7), batch_size=3, num_workers=workers)
    assert len(loader) == 3
    assert indices(loader) == indices(loader) == [[0, 1, 2], [3, 4, 5], [6]]
    assert [y.dtype for _, y in loader] == [tx.float64] * 3
    assert indices(DataLoader(Squares(7), 3, drop_last=True, num_workers=workers)) == [
        [0, 1, 2],
        [3, 4, 5],
    ]


@pytest.mark.parametrize("workers", WORKERS)
def test_no_items_no_batches(workers):
    assert indices(DataLoader(Squares(0), 3, num_workers=workers)) == []
    assert indices(DataLoader(Squares(0), 3, shuffle=True, num_workers=workers)) == []
    assert list(DataLoader(Stream(0), 3, num_workers=workers)) == []


def test_shuffle_depends_on_the_seed_alone():
    def walk(seed, workers):
        generator = tx.Generator().manual_seed(seed)
        loader = DataLoader(Squares(20), 6, True, generator=generator, num_workers=workers)
        return [indices(loader), indices(loader)]

    first = walk(1, 0)
    assert first[0] != first[1]  # each epoch its own order
    assert sorted(i for batch in first[0] for i in batch) == list(range(20))
    assert first == walk(1, 0) == walk(1, 2) != walk(2, 0)


def test_the_number_of_workers_changes_no_random_number_after_it():
    def after(workers):
        tx.manual_seed(3)
        found = indices(DataLoader(Squares(9), 2, shuffle=True, num_workers=workers))
        return found, tx.rand(3).tolist()

    assert after(0) == after(1) == after(4)


@pytest.mark.parametrize("workers", WORKERS)
def test_samplers_decide_what_comes(workers):
    picked = DataLoader(Squares(9), 2, sampler=[5, 3, 3], num_workers=workers)
    assert indices(picked) == [[5, 3], [3]]
    loader = DataLoader(Squares(9), batch_sampler=[[8], [], [1, 2]][::2], num_workers=workers)
    assert indices(loader) == [[8], [1, 2]]
    assert len(loader) == 2
    subset = DataLoader(Squares(9), 2, sampler=SubsetRandomSampler([2, 4]), num_workers=workers)
    assert sorted(indices(subset)[0]) == [2, 4]
    planned = BatchSampler(range(4), 3, True)
    assert indices(DataLoader(Squares(9), batch_sampler=planned)) == [[0, 1, 2]]


@pytest.mark.parametrize("workers", WORKERS)
def test_without_batches_items_come_as_they_are(workers):
    arrays = [np.ones(2), np.zeros(3)]
    one, two = DataLoader(arrays, batch_size=None, num_workers=workers)
    assert one.tolist() == [1, 1]
    assert two.tolist() == [0, 0, 0]
    assert list(DataLoader(["a", "b"], batch_size=None, num_workers=workers)) == ["a", "b"]
    assert list(DataLoader(Stream(3), batch_size=None, num_workers=workers)) == [0, 1, 2]


@pytest.mark.parametrize("workers", WORKERS)
def test_collate_fn_makes_the_batch(workers):
    loader = DataLoader(["ab", "c"], 2, collate_fn="+".join, num_workers=workers)
    assert list(loader) == ["ab+c"]
    assert list(DataLoader([1, 2], None, collate_fn=str, num_workers=workers)) == ["1", "2"]


def test_tensor_data_sets_come_in_one_step_with_the_same_values():
    """The quick way for stacked tensors gives what item by item would."""

    class Slow(TensorDataset):
        def __getitem__(self, index):
            return super().__getitem__(index)

    x, y = tx.randn(11, 2, 3), tx.arange(11)
    chosen = [7, 2, 9, 0, 5]
    for quick, slow in (
        (TensorDataset(x, y), Slow(x, y)),
        (Subset(TensorDataset(x, y), chosen), Subset(Slow(x, y), chosen)),
        (Subset(Subset(TensorDataset(x, y), chosen), [1, 3]), Subset(Slow(x, y), [2, 0])),
        (TensorDataset(x.transpose(1, 2)[:, 1:], y), Slow(x.transpose(1, 2)[:, 1:], y)),
    ):
        for a, b in zip(DataLoader(quick, 4), DataLoader(slow, 4), strict=True):
            assert type(a) is type(b) is list
            assert all(
                bool((p == q).all()) and p.dtype == q.dtype for p, q in zip(a, b, strict=True)
            )


def test_a_subclass_that_changes_items_is_asked_for_them():
    class Doubled(TensorDataset):
        def __getitem__(self, index):
            (x,) = super().__getitem__(index)
            return x * 2

    (batch,) = DataLoader(Doubled(tx.arange(3)), 3)
    assert batch.tolist() == [0, 2, 4]

    class Renamed(Subset):
        def __getitem__(self, index):
            return f"item {self.indices[index]}"

    (names,) = DataLoader(Renamed(TensorDataset(tx.arange(3)), [2, 1]), 2)
    assert names == ["item 2", "item 1"]


def test_getitems_gives_many_at_once():
    class Many(Squares):
        def __getitems__(self, wanted):
            return [-i for i in wanted]

    assert [b.tolist() for b in DataLoader(Many(4), 3)] == [[0, -1, -2], [-3]]


def test_a_stream_in_batches():
    assert [b.tolist() for b in DataLoader(Stream(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert len(DataLoader(Stream(5), 2)) == 3
    assert len(DataLoader(Stream(5), 2, drop_last=True)) == 2
    assert len(DataLoader(Stream(5), None)) == 5


def test_a_stream_shared_by_workers_ends_when_each_share_ends():
    batches = [b.tolist() for b in DataLoader(Stream(9), 2, num_workers=2)]
    assert batches == [[0, 2], [1, 3], [4, 6], [5, 7], [8]]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"batch_size": 0}, ValueRangeError, "batch_size must be at least 1, got 0"),
        ({"batch_size": 2.0}, ArgumentError, "batch_size must be an int or None"),
        ({"batch_size": True}, ArgumentError, "batch_size must be an int or None"),
        ({"shuffle": 1}, ArgumentError, "shuffle must be True or False"),
        ({"drop_last": None}, ArgumentError, "drop_last must be True or False"),
        ({"shuffle": True, "sampler": [0]}, ValueRangeError, "shuffle cannot be True"),
        ({"batch_sampler": [[0]], "batch_size": 2}, ValueRangeError, "decides the batches"),
        ({"batch_sampler": [[0]], "shuffle": True}, ValueRangeError, "decides the batches"),
        ({"batch_sampler": [[0]], "sampler": []}, ValueRangeError, "decides the batches"),
        ({"batch_sampler": [[0]], "drop_last": True}, ValueRangeError, "decides the batches"),
        ({"batch_size": None, "drop_last": True}, ValueRangeError, "none can be dropped"),
        ({"num_workers": -1}, ValueRangeError, "num_workers must not be negative"),
        ({"num_workers": 1.0}, ArgumentError, "num_workers must be an int"),
        ({"prefetch_factor": 2}, ValueRangeError, "prefetch_factor=2 is about workers"),
        ({"timeout": 1}, ValueRangeError, "timeout=1 is about workers"),
        ({"persistent_workers": True}, ValueRangeError, "is about workers"),
        ({"num_workers": 1, "timeout": -1}, ValueRangeError, "timeout must not be negative"),
        ({"num_workers": 1, "prefetch_factor": 0}, ValueRangeError, "prefetch_factor must be"),
        ({"multiprocessing_context": "fork"}, ArgumentError, "workers are threads here"),
    ],
)
def test_options_that_make_no_sense(options, error, words):
    with pytest.raises(error, match=words) as caught:
        DataLoader(Squares(3), **options)
    assert "test_loader.py" in str(caught.value)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_a_stream_has_its_own_order(options):
    with pytest.raises(ValueRangeError, match="Stream is a stream"):
        DataLoader(Stream(3), **options)


def test_what_is_no_data_set():
    with pytest.raises(ArgumentError, match="a data set with __getitem__ is needed"):
        DataLoader(iter([1, 2]))

    class Endless(Dataset):
        def __getitem__(self, index):
            return index

    with pytest.raises(ArgumentError, match="Endless has no length"):
        DataLoader(Endless())
    assert [b.tolist() for b in DataLoader(Endless(), 2, sampler=[10**6, 3])] == [[10**6, 3]]


def test_a_loader_does_not_change_once_made():
    loader = DataLoader(Squares(3))
    for name in ("batch_size", "sampler", "dataset", "drop_last", "batch_sampler", "num_workers"):
        with pytest.raises(ThixoError, match=f"{name} cannot be changed any more"):
            setattr(loader, name, 2)
    loader.collate_fn = len
    assert list(loader) == [1, 1, 1]


def test_the_same_classes_under_the_names_of_pytorch():
    from thixo.utils.data import dataloader, dataset, sampler

    for module in (tx.utils.data, dataloader, dataset, sampler):
        for name in module.__all__:
            assert getattr(module, name) is getattr(tx.data, name)
