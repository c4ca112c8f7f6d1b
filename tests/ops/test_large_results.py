"""Results that are too many for a cache are written past the cache: they are the same numbers, wherever they begin."""

import numpy as np
import pytest

import thixo as tx

ROWS, COLUMNS = 2101, 2003  # 16.8 MB, and rows that begin anywhere in a line of the cache


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    return [rng.standard_normal((ROWS, COLUMNS), np.float32) for _ in range(3)]


@pytest.mark.parametrize("threads", [1, 2])
def test_pointwise_results(arrays, threads):
    a, b, g = arrays
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        x, y = tx.tensor(a).requires_grad_(), tx.tensor(b).requires_grad_()
        product = x * y
        np.testing.assert_array_equal(product.detach().numpy(), a * b)
        into_x, into_y = tx.autograd.grad(product, [x, y], tx.tensor(g))
        np.testing.assert_array_equal(into_x.numpy(), g * b)
        np.testing.assert_array_equal(into_y.numpy(), g * a)
        np.testing.assert_array_equal((tx.tensor(a) + tx.tensor(b[0])).numpy(), a + b[0])
        z = tx.tensor(a)
        z += tx.tensor(b)  # in place
        np.testing.assert_array_equal(z.numpy(), a + b)
        part = tx.zeros(ROWS + 1, COLUMNS).flatten()[3 : 3 + ROWS * COLUMNS].view(ROWS, COLUMNS)
        tx.mul(tx.tensor(a), tx.tensor(b), out=part)
        np.testing.assert_array_equal(part.numpy(), a * b)
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 3, 7])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int8", "complex64", "bool"])
def test_pointwise_results_of_other_dtypes(arrays, dtype, threads):
    a, b = ((10 * x).astype(np.int8).astype(dtype) for x in arrays[:2])
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        x, y = tx.tensor(a), tx.tensor(b)
        for rows in (slice(None), slice(0, 1), 5):  # arrays, a row that is repeated, a column of it
            other = b[rows] if rows != 5 else b[:, 5:6]
            z = y[rows] if rows != 5 else y[:, 5:6]
            np.testing.assert_array_equal((x * z).numpy(), a * other)
            np.testing.assert_array_equal((x == z).numpy(), a == other)
        np.testing.assert_array_equal(x.T.contiguous().numpy(), a.T)
        np.testing.assert_array_equal((x.T * y[:, :1].T).numpy(), a.T * b[:, :1].T)
        np.testing.assert_array_equal(x.to(tx.float32).numpy(), a.real.astype(np.float32))
    finally:
        tx.set_num_threads(before)


def test_rows_are_those_of_a_small_array(arrays):
    a = arrays[0]
    for function in (tx.softmax, tx.log_softmax):
        whole = function(tx.tensor(a), 1).numpy()
        few = function(tx.tensor(a[1000:1010]), 1).numpy()
        np.testing.assert_array_equal(whole[1000:1010], few)
        np.testing.assert_array_equal(whole[-10:], function(tx.tensor(a[-10:]), 1).numpy())


@pytest.mark.parametrize("threads", [1, 2])
def test_products_of_few_terms(arrays, threads):
    a, b = arrays[0][:, :3], arrays[1][:3]
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        outer = tx.outer(tx.tensor(a[:, 0]), tx.tensor(b[0])).numpy()
        np.testing.assert_array_equal(outer, np.outer(a[:, 0], b[0]))
        whole = (tx.tensor(a) @ tx.tensor(b)).numpy()
        np.testing.assert_array_equal(whole[-40:], (tx.tensor(a[-40:]) @ tx.tensor(b)).numpy())
        np.testing.assert_allclose(whole, a @ b, rtol=1e-5, atol=1e-5)
    finally:
        tx.set_num_threads(before)


def test_sums_of_rows_by_index(arrays):
    a = arrays[0]
    rows = np.random.default_rng(1).integers(0, ROWS, 900)
    expected = np.zeros((ROWS, COLUMNS), np.float32)
    np.add.at(expected, rows, a[:900])
    found = tx.index_sum(tx.tensor(a[:900]), 0, tx.tensor(rows), ROWS)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_layer_norm_and_its_gradients():
    rows, columns = 8209, 2051  # 67 MB
    a = np.random.default_rng(2).standard_normal((rows, columns), np.float32)
    weight = np.linspace(-1, 1, columns, dtype=np.float32)
    x, w = tx.tensor(a).requires_grad_(), tx.tensor(weight).requires_grad_()
    y = tx.nn.functional.layer_norm(x, (columns,), w)
    few = tx.nn.functional.layer_norm(x.detach()[-9:], (columns,), w.detach())
    np.testing.assert_array_equal(y.detach().numpy()[-9:], few.numpy())
    into_x, into_w = tx.autograd.grad(y, [x, w], tx.tensor(a))
    standard = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(into_w.numpy(), (a * standard).sum(0), rtol=1e-4)
    part = tx.tensor(a[-9:]).requires_grad_()
    tx.nn.functional.layer_norm(part, (columns,), w).backward(tx.tensor(a[-9:]))
    np.testing.assert_allclose(into_x.numpy()[-9:], part.grad.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("shape", [(2100, 1), (4200, 70), (2100, 600), (700, 70, 3)])
def test_columns_longer_than_a_cache_are_standardized(shape: tuple[int, ...], dtype: str) -> None:
    """Each channel is a row with its places far apart: walked again, side by side with its neighbours."""
    rng = np.random.default_rng(3)
    values = (rng.standard_normal(shape) + 2).astype(dtype)
    weight, g = (
        rng.standard_normal(shape[1]).astype(dtype),
        rng.standard_normal(shape).astype(dtype),
    )
    axes, channels = (0, *range(2, len(shape))), (1, -1, *(1,) * (len(shape) - 2))
    found = []
    for threads in (1, 2, 3, 7):
        before = tx.get_num_threads()
        tx.set_num_threads(threads)
        try:
            x = tx.tensor(values).requires_grad_()
            y = tx.nn.functional.batch_norm(x, None, None, tx.tensor(weight), None, True)
            found.append([y.detach().numpy(), tx.autograd.grad(y, [x], tx.tensor(g))[0].numpy()])
        finally:
            tx.set_num_threads(before)
    x64, w64 = values.astype("float64"), weight.astype("float64").reshape(channels)
    rstd = 1 / np.sqrt(x64.var(axis=axes, keepdims=True) + 1e-5)
    h, c = (x64 - x64.mean(axis=axes, keepdims=True)) * rstd, g * w64
    slope = rstd * (c - c.mean(axes, keepdims=True) - h * (c * h).mean(axes, keepdims=True))
    tolerance = 5e-3 if dtype == "float16" else 1e-4
    np.testing.assert_allclose(found[0][0], h * w64, tolerance, tolerance)
    np.testing.assert_allclose(found[0][1], slope, tolerance, tolerance)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("order", ["ascending", "transposed"])
def test_elements_placed_along_an_axis(axis: int, order: str) -> None:
    """Lines of what is written are asked for ahead where it is in no near cache, of wrong places too."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((1201, 1103))
    places = np.argsort(values, axis)
    expected = np.zeros_like(values)
    np.put_along_axis(expected, places, values, axis)
    x, index = tx.tensor(values), tx.tensor(places)
    if order == "transposed":
        x, index = x.t().contiguous().t(), index.t().contiguous().t()
    zeros = tx.zeros(1201, 1103, dtype=tx.float64)
    np.testing.assert_array_equal(zeros.scatter(axis, index, x).numpy(), expected)
    np.testing.assert_array_equal(zeros.scatter_add(axis, index, x).numpy(), expected)
    for wrong in (1 << 62, -(1 << 62), 1203):
        places[600, 700] = wrong
        with pytest.raises(tx.ThixoError, match=r"\d"):
            zeros.scatter_(axis, tx.tensor(places), x)
        assert not zeros.numpy().any()
