"""Operators that move, sort and scan data: any shape, stride and dtype, any number of threads."""

import itertools

import numpy as np
import pytest

import thixo as tx
from thixo.errors import IndexOutOfRange

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64"]
REAL = [d for d in DTYPES if d != "complex64"]


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def draw(rng, shape, dtype):
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return rng.integers(0, 100, shape).astype(dtype)
    values = rng.standard_normal(shape) * 8
    return (values + 1j * rng.standard_normal(shape) if dtype == "complex64" else values).astype(
        dtype
    )


def strided(rng, array):
    """The same elements in memory of another order: transposed, with gaps, backwards or broadcast."""
    order = rng.permutation(array.ndim)
    wide = np.zeros([2 * n for n in np.array(array.shape)[order]], array.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in order)]
    view[...] = np.transpose(array, order)
    return tx.from_numpy(wide)[tuple(slice(None, None, 2) for _ in order)].permute(
        *np.argsort(order).tolist()
    )


def turned(array):
    """The same elements with the last two axes the other way round in memory."""
    if array.ndim < 2:
        return tx.from_numpy(array)
    return tx.from_numpy(np.ascontiguousarray(array.swapaxes(-1, -2))).transpose(-1, -2)


def same(result, expected):
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result.is_contiguous()


SHAPES = [(7,), (5, 6), (3, 1, 4), (2, 3, 4, 5), (0, 3), (4, 0, 2), (130, 70)]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_rows_of_any_length_are_joined_and_padded(rng, dtype):
    widths = (1, 7, 31, 32, 33, 63, 513, 2048, 4099, 16384, 16417)  # some of them vector by vector
    parts = [draw(rng, (3, width), dtype) for width in widths]
    joined = np.concatenate(parts, 1)
    same(tx.cat([tx.from_numpy(x) for x in parts], 1), joined)
    for x in parts:
        same(tx.nn.functional.pad(tx.from_numpy(x), (1, 2)), np.pad(x, ((0, 0), (1, 2))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_moves_of_whole_arrays(rng, shape, dtype):
    x = draw(rng, shape, dtype)
    for t in (tx.from_numpy(x), strided(rng, x)):
        for d in range(x.ndim):
            parts = [t, t.narrow(d, 0, x.shape[d] // 2), t]
            cut = np.split(x, [x.shape[d] // 2], d)[0]
            same(tx.cat(parts, d), np.concatenate([x, cut, x], d))
            same(tx.stack([t, t], d), np.stack([x, x], d))
            same(tx.flip(t, (d,)), np.flip(x, d))
            same(tx.roll(t, -3, d), np.roll(x, -3, d))
        same(tx.roll(t, 2), np.roll(x, 2))
        same(tx.flip(t, tuple(range(x.ndim))), np.flip(x))
        if x.ndim > 1:
            for k in (-2, 0, 1, 100):
                same(tx.tril(t, k), np.tril(x, k))
                same(tx.triu(t, k), np.triu(x, k))
        width = [(1, 2) if d % 2 else (0, 3) for d in range(x.ndim)]
        pad = [n for pair in reversed(width) for n in pair]
        same(tx.nn.functional.pad(t, pad), np.pad(x, width))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_reads_by_index_along_an_axis_that_lies_outside(rng, dtype):
    """Rows that lie side by side are picked several at a time, of any length; pieces of rows likewise."""
    for rows, places, count in ((4, 40, 3), (19, 23, 300), (37, 130, 261)):
        x = rng.integers(-99, 99, (2, places, rows)).astype(dtype)
        index = rng.integers(0, places, count)
        turned = tx.from_numpy(x).transpose(1, 2)
        same(tx.index_select(turned, 2, tx.from_numpy(index)), x.transpose(0, 2, 1)[:, :, index])
    for width in (*range(1, 40), 127, 200):
        x = rng.integers(-99, 99, (17, width)).astype(dtype)
        index = rng.integers(0, 17, 50)
        same(tx.index_select(tx.from_numpy(x), 0, tx.from_numpy(index)), x[index])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_copies_of_transposed_planes(rng, dtype):
    """Of any size, since they are turned in blocks: the last ones overlap."""
    for rows, columns in itertools.product((1, 3, 4, 5, 7, 15, 33), (3, 4, 6, 16, 37)):
        x = rng.integers(-99, 99, (19, rows, columns)).astype(dtype)
        same(tx.from_numpy(x).transpose(1, 2).contiguous(), np.ascontiguousarray(x.swapaxes(1, 2)))
        wide = tx.zeros(19, columns, rows + 3, dtype=getattr(tx, dtype))
        wide[:, :, 1 : rows + 1] = tx.from_numpy(x).transpose(1, 2)
        want = np.pad(x.swapaxes(1, 2), ((0, 0), (0, 0), (1, 2)))
        np.testing.assert_array_equal(wide.numpy(), want)


def test_pads_that_cut():
    x = tx.arange(12.0).reshape(3, 4)
    assert tx.nn.functional.pad(x, (-1, 2), value=9.0).tolist()[0] == [1, 2, 3, 9, 9]
    assert tx.nn.functional.pad(x, (0, 0, -3, 0)).shape == (0, 4)
    assert tx.nn.functional.pad(x, (-4, 2, 0, 0), value=5.0).tolist() == [[5, 5]] * 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_reads_by_index(rng, shape, dtype):
    x = draw(rng, shape, dtype)
    for t in (tx.from_numpy(x), strided(rng, x)):
        for d, n in enumerate(shape):
            for count in (0, 1, 5, 300):
                index = rng.integers(0, n, count)
                same(tx.index_select(t, d, tx.from_numpy(index)), np.take(x, index, d))
            small = rng.integers(0, n, 4).astype(np.int32)
            same(tx.index_select(t, d, tx.from_numpy(small)), np.take(x, small, d))
            along = rng.integers(0, n, shape)
            same(tx.gather(t, d, tx.from_numpy(along)), np.take_along_axis(x, along, d))
            line = rng.integers(0, n, [n if i == d else 1 for i in range(len(shape))])
            wide = np.broadcast_to(line, shape)
            same(
                tx.gather(t, d, tx.from_numpy(line).expand(*shape)), np.take_along_axis(x, wide, d)
            )
            at = (slice(None),) * d
            signed = rng.integers(-n, n, (2, 3))
            np.testing.assert_array_equal(t[(*at, tx.from_numpy(signed))].numpy(), x[(*at, signed)])
        flat = rng.integers(-x.size, x.size, (3, 4))
        same(tx.take(t, tx.from_numpy(flat)), x.reshape(-1)[flat])
        mask = rng.random(shape) < 0.4
        same(t[tx.from_numpy(mask)], x[mask])
        same(tx.masked_select(t, strided(rng, mask)), x[mask])
        same(
            t[tx.from_numpy(mask.reshape(shape[0], -1)[:, 0])], x[mask.reshape(shape[0], -1)[:, 0]]
        )
        same(tx.nonzero(t), np.argwhere(x))


def test_advanced_indices_agree_with_numpy(rng):
    x = draw(rng, (4, 5, 6), "float32")
    t = tx.from_numpy(x)
    i, j = rng.integers(-4, 4, (3, 1)), rng.integers(-5, 5, 2)
    k = rng.integers(0, 6, 2)
    for index in (
        (i, j),
        (i, slice(None), k),
        (slice(None), j, k),
        (slice(1, 3), j),
        (..., k),
        (i, ...),
        (None, j[:1]),
        (slice(None), None, j),
        (2, j),
        (j % 4, slice(1, None, 2), k),
        [0, 2, -1],
        (slice(None), [1, 1]),
    ):
        given = tuple(tx.from_numpy(p) if isinstance(p, np.ndarray) else p for p in index)
        given = given if isinstance(index, tuple) else index
        np.testing.assert_array_equal(t[given].numpy(), x[index], err_msg=str(index))


def test_assignment_by_index(rng):
    x = draw(rng, (6, 5), "float32")

    def check(index, value):
        expected, t = x.copy(), tx.from_numpy(x.copy())
        given = tx.from_numpy(index) if isinstance(index, np.ndarray) else index
        expected[index] = value
        t[given] = tx.from_numpy(value) if isinstance(value, np.ndarray) else value
        np.testing.assert_array_equal(t.numpy(), expected)

    rows = draw(rng, (2, 5), "float32")
    for index in (np.array([1, -2]), [0, 3], slice(1, 3), slice(None, 4, 2)):
        for value in (rows, rows[0], 2, 1.5, np.float32(3)):
            check(index, value)
    check(x > 0, 0)
    check(x > 0, -1.5)
    check((slice(None), 2), 7)
    check(..., 1.0)
    t = tx.from_numpy(x.copy())
    t[tx.tensor([0, 1, 2])] = t[1:4]  # read before it is written
    np.testing.assert_array_equal(t.numpy()[:3], x[1:4])
    with pytest.raises(IndexOutOfRange, match="setitem"):
        t[tx.tensor([6])] = 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s])
def test_writes_by_index(rng, shape, dtype):
    x = draw(rng, shape, dtype)
    add = np.logical_or if dtype == "bool" else np.add
    for t in (tx.from_numpy(x), strided(rng, x)):
        for d, n in enumerate(shape):
            index = rng.integers(0, n, 40)
            source = draw(rng, (*shape[:d], 40, *shape[d + 1 :]), dtype)
            expected = np.moveaxis(x.astype("float32") if dtype == "float16" else x.copy(), d, 0)
            add.at(expected, index, np.moveaxis(source, d, 0))
            expected = np.moveaxis(expected, 0, d).astype(dtype)
            lines = tx.from_numpy(index)
            same(tx.index_add(t, d, lines, strided(rng, source)), expected)
            inplace = tx.from_numpy(x.copy()).index_add_(d, lines, tx.from_numpy(source))
            same(inplace, expected)
            zeros = tx.zeros(shape, dtype=t.dtype)
            by_sum = tx.index_sum(tx.from_numpy(source), d, lines, n)
            same(by_sum, tx.index_add(zeros, d, lines, tx.from_numpy(source)).numpy())
            order = rng.permutation(n)
            expected = x.copy()
            np.moveaxis(expected, d, 0)[order] = np.moveaxis(x, d, 0)
            same(tx.index_copy(t, d, tx.from_numpy(order), t), expected)
            expected = x.copy()
            np.moveaxis(expected, d, 0)[index[:3]] = 1
            same(tx.index_fill(t, d, tx.from_numpy(index[:3]), 1), expected)
            along = rng.integers(0, n, shape)
            expected = x.astype("float32") if dtype == "float16" else x.copy()
            places = list(np.ogrid[tuple(slice(m) for m in shape)])
            places[d] = along
            add.at(expected, tuple(places), x)
            same(tx.scatter_add(t, d, tx.from_numpy(along), t), expected.astype(dtype))
            by_sum = tx.scatter_sum(t, d, tx.from_numpy(along), shape)
            same(by_sum, tx.scatter_add(zeros, d, tx.from_numpy(along), t).numpy())
            unique = np.argsort(rng.random(shape), d)
            expected = x.copy()
            np.put_along_axis(expected, unique, x, d)
            same(tx.scatter(t, d, strided(rng, unique), t), expected)
            same(tx.scatter_sum(t, d, strided(rng, unique), shape, distinct=True), expected)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
@pytest.mark.parametrize("shape", SHAPES)
def test_scans(rng, shape, dtype):
    x = draw(rng, shape, dtype)
    if dtype in ("float16", "float32"):
        x = np.round(x)  # sums of small whole numbers are exact in any order
    if dtype == "float16":
        x = np.sign(x)
    for t in (tx.from_numpy(x), strided(rng, x), turned(x)):
        for d in range(x.ndim):
            wide = np.int64 if "int" in dtype else x.dtype
            expected = np.add.accumulate(x, d, dtype=wide)
            same(tx.cumsum(t, d), expected)
            backwards = np.add.accumulate(np.flip(x, d), d, dtype=wide)
            same(tx.cumsum(t, d, reverse=True), np.flip(backwards, d))
            if dtype == "complex64":
                continue
            if "int" in dtype:
                same(tx.cumprod(t, d), np.multiply.accumulate(x, d, dtype=wide))
            values, places = tx.cummax(t, d)
            same(values, np.maximum.accumulate(x, d))
            np.testing.assert_array_equal(np.take_along_axis(x, places.numpy(), d), values.numpy())
            same(tx.cummin(t, d).values, np.minimum.accumulate(x, d))


def test_long_sums_are_accurate(rng):
    x = rng.random(300_007, dtype=np.float32)
    exact = np.cumsum(x.astype(np.float64))
    np.testing.assert_allclose(tx.cumsum(tx.from_numpy(x), 0).numpy(), exact, rtol=1e-6)
    zeros = tx.full((5000,), -0.0)
    assert np.signbit(tx.cumsum(zeros, 0).numpy()).all()
    assert np.signbit(tx.cumsum(zeros.reshape(100, 50).t(), 1).numpy()).all()


@pytest.mark.parametrize("n", [1041, 5000, 100_003])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64"])
def test_long_sums_of_whole_numbers_are_exact(rng, n, dtype):
    x = rng.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
    for row in (x, x[: n - n % 3].reshape(3, -1)):
        t = tx.from_numpy(row)
        same(tx.cumsum(t, -1), np.cumsum(row, -1, dtype=np.int64))
        backwards = np.cumsum(np.flip(row, -1), -1, dtype=np.int64)
        same(tx.cumsum(t, -1, reverse=True), np.flip(backwards, -1))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 5000, 100_003])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_sums_from_the_end_are_those_of_flipped_rows(rng, n, dtype):
    for shape in ((n,), (2, n), (11, n), (n, 5)):
        t, d = tx.from_numpy(draw(rng, shape, dtype)), shape.index(n)
        expected = tx.flip(tx.cumsum(tx.flip(t, (d,)), d), (d,))
        same(tx.cumsum(t, d, reverse=True), expected.numpy())


@pytest.mark.parametrize("shape", [(33, 50), (3, 19, 40), (2, 3, 16, 64), (8, 1), (0, 9), (9, 0)])
def test_scans_of_rows_that_lie_otherwise(rng, shape):
    x = rng.standard_normal(shape, dtype=np.float32)
    for d in range(x.ndim):
        same(tx.cumsum(turned(x), d), np.cumsum(x.astype(np.float64), d).astype(np.float32))
        same(tx.cumprod(turned(x), d), np.cumprod(x.astype(np.float64), d).astype(np.float32))
        same(tx.cumsum(turned(x), d, dtype=tx.float64), np.cumsum(x.astype(np.float64), d))


@pytest.mark.parametrize("dtype", [*DTYPES, "complex128"])
def test_sums_of_whole_rows(rng, dtype):
    source = draw(rng, (50, 3, 33), "complex64" if dtype == "complex128" else dtype).astype(dtype)
    rows = rng.integers(0, 20, 50)
    rows[rows == 7] = 8  # nothing comes to it
    add = np.logical_or if dtype == "bool" else np.add
    expected = np.zeros((20, 3, 33), "float32" if dtype == "float16" else dtype)
    add.at(expected, rows, source)
    expected = expected.astype(dtype)
    index = tx.from_numpy(rows)
    same(tx.index_sum(tx.from_numpy(source), 0, index, 20), expected)
    same(tx.index_sum(strided(rng, source), 0, index, 20), expected)
    same(tx.index_sum(tx.from_numpy(source).unsqueeze(0), 1, index.int(), 20), expected[None])
    gaps = tx.from_numpy(np.repeat(source, 2, 0))[::2]
    same(tx.index_sum(gaps, 0, index, 20), expected)
    negative = tx.from_numpy(np.where(rows % 2, rows - 20, rows))
    same(tx.place_sum(gaps, (negative,), (20, 3, 33)), expected)
    pair = (tx.from_numpy(rows // 5), tx.from_numpy(rows % 5))
    same(tx.place_sum(gaps, pair, (4, 5, 3, 33)), expected.reshape(4, 5, 3, 33))
    for wrong in (20, -21):
        with pytest.raises(IndexOutOfRange, match=str(wrong)):
            tx.place_sum(gaps[:1], (tx.tensor([wrong]),), (20, 3, 33))
    assert tx.index_sum(gaps[:0], 0, index[:0], 0).shape == (0, 3, 33)
    if dtype in ("float32", "float64"):  # as in zeros that are added to
        none = tx.full((1, 40), -0.0, dtype=gaps.dtype)
        assert not np.signbit(tx.index_sum(none, 0, tx.tensor([0]), 1).numpy()).any()


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [*SHAPES, (3, 1000), (70_000,)])
def test_sorts(rng, shape, dtype):
    x = draw(rng, shape, dtype)
    for t in (tx.from_numpy(x), strided(rng, x)):
        for d in range(x.ndim):
            order = np.argsort(x, d, kind="stable")
            values, places = tx.sort(t, d)
            same(places, order)
            same(values, np.take_along_axis(x, order, d))
            same(tx.argsort(t, d), order)
            back = np.argsort(np.flip(x, d), d, kind="stable")
            back = np.flip(x.shape[d] - 1 - back, d)
            values, places = tx.sort(t, d, descending=True)
            same(places, back)
            if dtype == "bool" or x.shape[d] == 0:
                continue
            for k in {0, 1, x.shape[d] // 3, x.shape[d]}:
                values, places = tx.topk(t, k, d)
                first = np.take(back, np.arange(k), d)
                same(places, first)
                same(values, np.take_along_axis(x, first, d))
            k = x.shape[d] // 2
            values, places = tx.kthvalue(t, k + 1, d)
            same(places, np.take(order, k, d))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [20, 100, 5000, 100_000])
def test_nan_is_last_and_zeros_are_equal(rng, n, dtype):
    x = rng.choice([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -2.0], n).astype(dtype)
    order = np.argsort(x, kind="stable")
    values, places = tx.sort(tx.from_numpy(x))
    np.testing.assert_array_equal(places.numpy(), order)
    np.testing.assert_array_equal(np.signbit(values.numpy()), np.signbit(x[order]))
    values, places = tx.topk(tx.from_numpy(x), 2)
    assert np.isnan(values.numpy()).all()
    assert places.tolist() == np.flatnonzero(np.isnan(x))[:2].tolist()


def test_sets_and_searches(rng):
    for dtype in REAL:
        x = draw(rng, (40, 50), dtype)
        values, inverse, counts = tx.unique(
            tx.from_numpy(x), return_inverse=True, return_counts=True
        )
        expected = np.unique(x, return_inverse=True, return_counts=True)
        same(values, expected[0])
        same(inverse, expected[1].reshape(x.shape))
        same(counts, expected[2])
        if dtype == "bool":
            continue
        edges = np.sort(draw(rng, 33, dtype))
        for right in (False, True):
            found = tx.searchsorted(tx.from_numpy(edges), tx.from_numpy(x), right=right)
            same(found, np.searchsorted(edges, x, "right" if right else "left"))
    for high in (30, 5000):
        many = rng.integers(0, high, 10_001)
        same(tx.bincount(tx.from_numpy(many)), np.bincount(many))
    numbers = rng.integers(0, 30, 500)
    same(tx.bincount(tx.from_numpy(numbers), minlength=40), np.bincount(numbers, minlength=40))
    same(tx.nn.functional.one_hot(tx.from_numpy(numbers), 30), np.eye(30, dtype=np.int64)[numbers])


def results(rng):
    """Large cases of everything that works on threads, floats that depend on order included."""
    x = tx.from_numpy(rng.standard_normal((513, 300), dtype=np.float32))
    line = tx.from_numpy(rng.standard_normal(200_003, dtype=np.float32))
    rows = tx.from_numpy(rng.integers(0, 513, 4000))
    picks = tx.from_numpy(rng.integers(0, 300, (513, 300)))
    source = tx.from_numpy(rng.standard_normal((4000, 300), dtype=np.float32))
    narrow = tx.from_numpy(rng.standard_normal((200_003, 3), dtype=np.float32))
    buckets = tx.from_numpy(rng.integers(0, 700, 200_003))
    yield tx.cat([x, x.flip(0)], 1)
    yield tx.index_select(x, 0, rows)
    yield tx.index_select(x.t(), 1, rows)
    yield tx.index_add(x, 0, rows, source)
    yield tx.index_add(tx.zeros(700, 3), 0, buckets, narrow)
    yield tx.index_sum(source, 0, rows, 513)
    yield tx.index_sum(source.bfloat16(), 0, rows, 20_000)
    yield tx.scatter_add(x, 1, picks, x)
    yield tx.scatter_add(x.t(), 0, picks.t(), x.t())
    yield tx.scatter_add(tx.zeros(700), 0, buckets, line)
    yield tx.put(tx.zeros(700), buckets, line, True)
    yield tx.index_put(tx.zeros(700), (buckets,), line)
    yield from (tx.cumsum(line, 0), tx.cumsum(x, 0), tx.cumsum(x, 1), tx.cumprod(x, 0))
    yield from (tx.cumsum(x.t(), 1), tx.cumsum(x.t(), 0), tx.cumsum(line.double(), 0))
    yield from (tx.cumsum(line, 0, reverse=True), tx.cumsum(x, 0, reverse=True))
    yield from tx.sort(line)
    yield from tx.sort(x, 0)
    yield from tx.topk(x, 20)
    yield x[x > 0.3]
    yield tx.nonzero(x > 0.3)
    yield from tx.unique(buckets, return_inverse=True, return_counts=True)


def test_results_do_not_depend_on_threads():
    before = tx.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3, 7):
            tx.set_num_threads(threads)
            found.append([r.numpy().tobytes() for r in results(np.random.default_rng(1))])
    finally:
        tx.set_num_threads(before)
    assert found[0] == found[1] == found[2] == found[3]


def test_an_index_out_of_range_is_named_and_changes_nothing():
    x = tx.arange(6.0).reshape(3, 2)
    for wrong in (3, -1, 10**15):
        index = tx.tensor([0, wrong])
        for call in (
            lambda i: tx.index_select(x, 0, i),
            lambda i: tx.index_add(x, 0, i, tx.ones(2, 2)),
            lambda i: x.index_add_(0, i, tx.ones(2, 2)),
            lambda i: x.index_copy_(0, i, tx.ones(2, 2)),
            lambda i: tx.gather(x, 0, i.unsqueeze(1)),
            lambda i: x.scatter_add_(0, i.unsqueeze(1), tx.ones(2, 1)),
            lambda i: tx.nn.functional.embedding(i, x),
        ):
            with pytest.raises(IndexOutOfRange, match=str(wrong)):
                call(index)
    for wrong in (3, -4):
        with pytest.raises(IndexOutOfRange, match=f"index {wrong} is out of range for axis 0"):
            x[tx.tensor([0, wrong])]
    assert x.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_gradients_of_reads_are_sums():
    table = tx.zeros(4, 3, requires_grad=True)
    rows = tx.tensor([1, 1, 3])
    for read in (
        lambda: table[rows],
        lambda: table.index_select(0, rows),
        lambda: tx.nn.functional.embedding(rows, table),
        lambda: table.gather(0, rows.unsqueeze(1).expand(3, 3)),
    ):
        table.grad = None
        read().backward(tx.arange(9.0).reshape(3, 3))
        assert table.grad.tolist() == [[0, 0, 0], [3, 5, 7], [0, 0, 0], [6, 7, 8]]
    table.grad = None
    (table[1] + table[2:3] + table[[0]]).sum().backward()
    assert table.grad.tolist() == [[1] * 3, [1] * 3, [1] * 3, [0] * 3]


def test_zero_dimensions():
    x = tx.tensor(3.0)
    assert tx.nn.functional.pad(x, ()).item() == 3
    assert tx.flip(x, ()).item() == tx.roll(x, 1).item() == 3
    assert tx.cumsum(x, 0).item() == tx.sort(x).values.item() == tx.argsort(x).item() + 3 == 3
    assert tx.index_select(x, 0, tx.tensor([0])).item() == tx.take(x, tx.tensor(0)).item() == 3
    assert tx.gather(x, 0, tx.tensor(0)).item() == tx.median(x).item() == 3
    assert tx.topk(x, 1).values.item() == tx.kthvalue(x, 1).values.item() == 3
    assert tx.stack([x, x]).tolist() == [3, 3]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_sorts_of_every_short_length_keep_equals_in_order(dtype):
    rng = np.random.default_rng(0)
    for length in (*range(1, 40), 63, 64, 65, 71, 113, 127, 128, 129, 200, 255, 256, 257):
        for high in (2, 5, 100):  # many equals, and few
            x = rng.integers(-high, high, (6, length)).astype(dtype)
            values, places = tx.sort(tx.tensor(x), dim=1, stable=True)
            wanted = np.argsort(x, axis=1, kind="stable")
            np.testing.assert_array_equal(places.numpy(), wanted)
            np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, wanted, 1))
            places = tx.sort(tx.tensor(x), dim=1, descending=True, stable=True)[1].numpy()
            wanted = np.argsort(-x.astype(np.float64), axis=1, kind="stable")
            np.testing.assert_array_equal(places, wanted)
