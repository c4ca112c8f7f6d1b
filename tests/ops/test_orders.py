"""Operands that lie in another order than their shape: the same numbers, and results that need not be turned."""

import numpy as np
import pytest

import thixo as tx


@pytest.fixture
def rng():
    return np.random.default_rng(0)


SHAPES = [(37, 203), (130, 129), (16, 128), (1, 300), (5, 4)]


def turned(a):
    """The same elements, the last two axes the other way round in memory."""
    return tx.tensor(np.ascontiguousarray(np.swapaxes(a, -1, -2))).transpose(-1, -2)


@pytest.mark.parametrize("shape", [*SHAPES, (3, 41, 67)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_gradients_and_results_in_tiles(rng, shape, dtype):
    a, b, g = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(3))
    np.testing.assert_array_equal((turned(a) * tx.tensor(b)).numpy(), a * b)
    np.testing.assert_array_equal((tx.tensor(a) - turned(b)).numpy(), a - b)
    if dtype != np.int16:
        x, y = turned(a).requires_grad_(), tx.tensor(b).requires_grad_()
        into_x, into_y = tx.autograd.grad(x * y, [x, y], tx.tensor(g))
        np.testing.assert_array_equal(into_x.numpy(), g * b)
        np.testing.assert_array_equal(into_y.numpy(), g * a)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_rows_of_turned_operands(rng, shape, dim):
    a = rng.standard_normal(shape, np.float32)
    plain, other = tx.tensor(a).requires_grad_(), turned(a).requires_grad_()
    g = tx.tensor(rng.standard_normal(np.sum(a, dim).shape).astype(np.float32))
    for function in (tx.var, tx.amax, tx.logsumexp):
        of_plain = tx.autograd.grad(function(plain, dim), plain, g)[0]
        of_other = tx.autograd.grad(function(other, dim), other, g)[0]
        np.testing.assert_allclose(of_other.numpy(), of_plain.numpy(), rtol=1e-5, atol=1e-6)
    if min(shape) > 1:  # nothing was turned on the way
        assert tx.autograd.grad(tx.var(other, dim), other, g)[0].stride() == other.stride()


def test_norms_of_turned_operands(rng):
    a = rng.standard_normal((6, 5, 7, 9), np.float32)
    expected = (a - a.mean((0, 2, 3), keepdims=True)) / np.sqrt(
        a.var((0, 2, 3), keepdims=True) + 1e-5
    )
    normal = tx.nn.functional.batch_norm(turned(a), None, None, training=True)
    np.testing.assert_allclose(normal.numpy(), expected, rtol=1e-4, atol=1e-5)
    expected = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    normal = tx.nn.functional.layer_norm(turned(a), (9,))
    np.testing.assert_allclose(normal.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(3000, 2), (777, 13), (129, 64), (2100, 323), (50, 99)])
def test_short_rows_that_repeat(rng, shape, dtype, threads):
    """Of one operand and of two, in place, beside a column and a number."""
    rows, columns = shape
    x, row, column, other = (
        rng.integers(-5, 6, s).astype(dtype) for s in (shape, (columns,), (rows, 1), (1, columns))
    )
    a, r, c, o = (tx.tensor(v) for v in (x, row, column, other))
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        np.testing.assert_array_equal((a * r).numpy(), x * row)
        np.testing.assert_array_equal((r * c).numpy(), row * column)
        np.testing.assert_array_equal(
            tx.where(r == o, a, o).numpy(), np.where(row == other, x, other)
        )
        np.testing.assert_array_equal(tx.add(a, r, alpha=2).numpy(), x + 2 * row)
        a *= r
        np.testing.assert_array_equal(a.numpy(), x * row)
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "complex64", "bool"])
@pytest.mark.parametrize("shape", [(3000, 2), (777, 13), (300, 130), (90, 530), (70, 1024), (6, 5)])
def test_columns(rng, shape, dtype, threads):
    """A number for each row: alone, turned, cut out of a larger array, in place, in a batch."""
    rows, columns = shape
    wide = rng.integers(-5, 6, (2, rows, columns + 3)).astype(dtype)
    column = rng.integers(-5, 6, (2, rows, 1)).astype(dtype)
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        w, c = tx.tensor(wide), tx.tensor(column)
        x, a = wide[0, :, :columns].copy(), tx.tensor(wide[0, :, :columns].copy())
        np.testing.assert_array_equal((a * c[0]).numpy(), x * column[0])
        np.testing.assert_array_equal((c[0] * turned(x)).numpy(), x * column[0])
        np.testing.assert_array_equal((turned(x.T) * c[0].T).numpy(), x.T * column[0].T)
        np.testing.assert_array_equal((w[:, :, 1:-2] * c).numpy(), wide[:, :, 1:-2] * column)
        np.testing.assert_array_equal(
            (w[:, ::2] * c[:, ::2]).numpy(), wide[:, ::2] * column[:, ::2]
        )
        converted = (w[:, :, 1:-2].to(tx.float32) * c.to(tx.float32)).numpy()
        if dtype != "complex64":
            expected = wide[:, :, 1:-2].astype("f4") * column.astype("f4")
            np.testing.assert_array_equal(converted, expected)
        w[:, :, 2:-1] *= c
        wide[:, :, 2:-1] *= column
        np.testing.assert_array_equal(w.numpy(), wide)
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("dtype", [tx.bfloat16, tx.float16])
def test_columns_of_half_types(rng, dtype):
    x, column = rng.integers(-5, 6, (83, 77)), rng.integers(-5, 6, (83, 1))
    a, c = tx.tensor(x.astype("f4")).to(dtype), tx.tensor(column.astype("f4")).to(dtype)
    np.testing.assert_array_equal((a * c).float().numpy(), x * column)


def test_division_by_zero_in_a_column_is_found(rng):
    column = np.ones((40, 1), np.int64)
    x = rng.integers(1, 9, (40, 100))
    np.testing.assert_array_equal((tx.tensor(x) // tx.tensor(column)).numpy(), x)
    column[33] = 0
    with pytest.raises((ZeroDivisionError, tx.errors.ThixoError)):
        tx.tensor(x) // tx.tensor(column)


def test_rows_too_many_for_the_cache(rng):
    """They are written past it: rows of whole lines, and others."""
    for shape in ((30_000, 128), (4000, 1024), (7000, 600)):
        x, row = rng.standard_normal(shape, np.float32), rng.standard_normal(shape[1], np.float32)
        np.testing.assert_array_equal((tx.tensor(x) + tx.tensor(row)).numpy(), x + row)
        column = x[:, :1].copy()
        np.testing.assert_array_equal((tx.tensor(x) * tx.tensor(column)).numpy(), x * column)
