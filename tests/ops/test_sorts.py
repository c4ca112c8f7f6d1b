"""Short rows, which are sorted side by side: every dtype and length, equals in order, NaN last, both directions.

And the gradients of sorted columns, which go back to where the elements were.
"""

import numpy as np
import pytest

import thixo as tx
from thixo.errors import IndexOutOfRange

DTYPES = {
    "bool": np.bool_, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8,
    "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64, "float16": np.float16, "bfloat16": np.float32,
    "float32": np.float32, "float64": np.float64,
}  # fmt: skip
LENGTHS = [
    1,
    2,
    7,
    8,
    9,
    15,
    16,
    17,
    31,
    33,
    64,
    65,
    127,
    128,
    129,
    200,
    257,
    512,
    513,
    1023,
    1024,
    1025,
]


def numbers(rng, dtype, shape, few):
    """Any numbers; or few that are equal again and again, the extremes among them."""
    kind = DTYPES[dtype]
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in (np.float16, np.float32, np.float64):
        some = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -2.0], kind)
        return rng.choice(some, shape) if few else rng.integers(-100, 100, shape).astype(kind)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    some = np.array([low, high, 0, 1], kind)
    return rng.choice(some, shape) if few else rng.integers(low, high, shape, kind, endpoint=True)


def places(x, descending):
    """Of sorted rows, by their ranks: equal elements have equal ones, and NaN the greatest."""
    ranks = np.unique(x, return_inverse=True, equal_nan=True)[1].reshape(x.shape)
    return np.argsort(-ranks if descending else ranks, axis=-1, kind="stable")


def same_bits(found, expected):
    """Every bit is the same, those of zeros and NaN too."""
    if found.dtype == tx.bfloat16:  # widened to float32, which keeps all of its numbers
        np.testing.assert_array_equal(found.float().numpy(), expected)
    else:
        assert found.numpy().tobytes() == expected.tobytes()


def tensor(x, dtype):
    return tx.tensor(x).to(getattr(tx, dtype))


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length(dtype, few):
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        for rows in (1, 3, 8, 19) if n < 300 else (2, 9):
            x = numbers(rng, dtype, (rows, n), few)
            t = tensor(x, dtype)
            for descending in (False, True):
                order = places(x, descending)
                values, found = tx.sort(t, 1, descending)
                np.testing.assert_array_equal(found.numpy(), order, f"{n} {rows}")
                same_bits(values, np.take_along_axis(x, order, 1))
                np.testing.assert_array_equal(tx.argsort(t, 1, descending).numpy(), order)
                if dtype == "bool":
                    continue
                k = int(rng.integers(0, n + 1))
                values, found = tx.topk(t, k, 1, descending)
                np.testing.assert_array_equal(found.numpy(), order[:, :k], f"{n} {rows} {k}")
                same_bits(values, np.take_along_axis(x, order, 1)[:, :k])


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float32", "float64"])
def test_one_rank_of_short_rows(dtype):
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        for few in (False, True):
            x = numbers(rng, dtype, (13, n), few)
            t, order = tensor(x, dtype), places(x, False)
            k = int(rng.integers(1, n + 1))
            values, found = tx.kthvalue(t, k, 1)
            np.testing.assert_array_equal(found.numpy(), order[:, k - 1])
            same_bits(values, np.take_along_axis(x, order, 1)[:, k - 1])
            there = n - np.isnan(x).sum(1)
            rank = np.where(there < n, there, (n - 1) // 2)
            expected = np.take_along_axis(order, rank[:, None], 1)[:, 0]
            np.testing.assert_array_equal(tx.median(t, 1)[1].numpy(), expected)
            if dtype.startswith("float"):
                rank = np.maximum(there - 1, 0) // 2
                expected = np.take_along_axis(order, rank[:, None], 1)[:, 0]
                np.testing.assert_array_equal(tx.nanmedian(t, 1)[1].numpy(), expected)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_axis_and_stride(dtype, threads):
    rng = np.random.default_rng(2)
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        for shape in ((71, 113), (300, 20), (5, 1000), (9, 70, 33), (0, 5), (5, 0), (2, 0, 3)):
            x = numbers(rng, dtype, shape, True)
            wide = np.repeat(np.repeat(x, 2, -1), 3, 0)
            views = (
                tensor(x, dtype),
                tensor(np.ascontiguousarray(x.swapaxes(-1, -2)), dtype).transpose(-1, -2),
                tensor(wide, dtype)[::3, ..., ::2],
            )
            for t in views:
                for axis in range(-len(shape), len(shape)):
                    moved = np.moveaxis(x, axis, -1)
                    order = np.moveaxis(places(moved, False), -1, axis)
                    values, found = tx.sort(t, axis)
                    np.testing.assert_array_equal(found.numpy(), order)
                    same_bits(values, np.take_along_axis(x, order, axis))
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_columns_of_targets_larger_than_a_cache(dtype, threads):
    rng = np.random.default_rng(3)
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        for shape, length in (
            ((1500, 1003), 1500),
            ((1100, 1031), 700),
            ((1000, 1100), 9),
            ((2, 900, 1300), 900),
        ):
            places = rng.integers(0, shape[-2], (*shape[:-2], length, shape[-1]))
            g = rng.integers(-5, 6, places.shape).astype(dtype)
            into = rng.integers(-5, 6, shape).astype(dtype)
            expected, axes = into.copy(), list(np.ogrid[tuple(map(slice, places.shape))])
            axes[-2] = places
            np.add.at(expected, tuple(axes), g)
            found = tx.scatter_add(tx.tensor(into), -2, tx.tensor(places), tx.tensor(g))
            np.testing.assert_array_equal(found.numpy(), expected)
    finally:
        tx.set_num_threads(before)


def test_gradients_of_sorted_columns():
    rng = np.random.default_rng(4)
    x, g = (
        rng.standard_normal((1201, 907), np.float32),
        rng.standard_normal((1201, 907), np.float32),
    )
    expected = np.empty_like(g)
    np.put_along_axis(expected, np.argsort(x, 0, kind="stable"), g, 0)
    for t in (tx.tensor(x), tx.tensor(np.ascontiguousarray(x.T)).T):
        t = t.requires_grad_()
        found = tx.autograd.grad(tx.sort(t, 0)[0], t, tx.tensor(g))[0]
        np.testing.assert_array_equal(found.numpy(), expected)


def test_a_place_beyond_large_columns_is_an_error():
    places = np.zeros((1000, 700), np.int64)
    places[-1, -1] = 1000
    with pytest.raises(IndexOutOfRange, match="1000"):
        tx.zeros(1000, 700).scatter_add(0, tx.tensor(places), tx.ones(1000, 700))
