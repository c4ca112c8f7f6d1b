"""From items to a batch."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import thixo as tx
from thixo.data import default_collate, default_convert
from thixo.errors import ArgumentError, ShapeError

Pair = namedtuple("Pair", "x y")


@pytest.mark.parametrize(
    ("items", "wanted", "dtype"),
    [
        ([1, 2], [1, 2], tx.int64),
        ([True, False], [True, False], tx.bool),
        ([0.1, 0.2], [0.1, 0.2], tx.float64),
        ([1j, 2.0 + 0j], [1j, 2.0 + 0j], tx.complex64),
        ([np.float32(1), np.float32(2)], [1.0, 2.0], tx.float32),
        ([np.int16([1, 2]), np.int16([3, 4])], [[1, 2], [3, 4]], tx.int16),
        ([tx.tensor([1, 2]), tx.tensor([3, 4])], [[1, 2], [3, 4]], tx.int64),
        ([tx.tensor(1.5), tx.tensor(2.5)], [1.5, 2.5], tx.float32),
    ],
)
def test_leaves_become_tensors(items, wanted, dtype):
    batch = default_collate(items)
    assert batch.tolist() == wanted
    assert batch.dtype == dtype


def test_containers_keep_their_structure():
    items = [
        (i, "ab"[i], {"z": [float(i), (i, i)], "p": Pair(i, tx.ones(2) * i)}) for i in range(2)
    ]
    number, letters, rest = default_collate(items)
    assert number.tolist() == [0, 1]
    assert letters == ["a", "b"]
    assert isinstance(rest, dict)
    assert list(rest) == ["z", "p"]
    assert rest["z"][0].tolist() == [0.0, 1.0]
    assert rest["z"][1][1].tolist() == [0, 1]
    assert isinstance(rest["p"], Pair)
    assert tuple(rest["p"].y.shape) == (2, 2)
    assert isinstance(default_collate([OrderedDict(a=1)]), OrderedDict)


def test_a_batch_of_tensors_has_their_gradients():
    a, b = tx.ones(2, requires_grad=True), tx.ones(2, requires_grad=True)
    (default_collate([a, b]) * tx.tensor([[1.0], [2.0]])).sum().backward()
    assert a.grad.tolist() == [1, 1]
    assert b.grad.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("items", "error", "words"),
    [
        ([], ArgumentError, "a list of items is needed"),
        ([object()], ArgumentError, "cannot batch .* give the DataLoader a collate_fn"),
        ([None, None], ArgumentError, "cannot batch None"),
        ([np.array(["a"])], ArgumentError, "cannot batch"),
        ([tx.ones(2), tx.ones(3)], ShapeError, r"item 0 is f32\[2\], item 1 is f32\[3\]"),
        ([{"a": [1, tx.ones(2)]}, {"a": [1, tx.ones(1)]}], ShapeError, r"at item\['a'\]\[1\]"),
        ([Pair(1, np.ones(2)), Pair(1, np.ones(3))], ShapeError, r"sizes differ at item\.y"),
        ([{"a": 1}, {"b": 1}], ShapeError, r"keys differ: item 0 has \['a'\], item 1 has \['b'\]"),
        ([(1, 2), (1,)], ShapeError, "lengths differ: item 0 has 2 parts"),
        ([(1, 2), 3], ShapeError, "lengths differ"),
    ],
)
def test_refuses(items, error, words):
    with pytest.raises(error, match=words):
        default_collate(items)


def test_convert_changes_arrays_alone():
    data = {"x": (np.ones(2, np.float32), "text", 3), "t": tx.ones(1), "p": Pair(np.int8(1), None)}
    made = default_convert(data)
    assert made["x"][0].dtype == tx.float32
    assert made["x"][1:] == ["text", 3]
    assert made["t"] is data["t"]
    assert made["p"].x.dtype == tx.int8
    assert made["p"].y is None
