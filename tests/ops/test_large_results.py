"""Results of 16 MiB and more are written past the cache: they are the same numbers, wherever they begin."""

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


def test_rows_are_those_of_a_small_array(arrays):
    a = arrays[0]
    for function in (tx.softmax, tx.log_softmax):
        whole = function(tx.tensor(a), 1).numpy()
        few = function(tx.tensor(a[1000:1010]), 1).numpy()
        np.testing.assert_array_equal(whole[1000:1010], few)
        np.testing.assert_array_equal(whole[-10:], function(tx.tensor(a[-10:]), 1).numpy())
