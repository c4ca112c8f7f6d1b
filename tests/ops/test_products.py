"""Matrix products of the sizes at which plans change: values, and the same bits on any number of threads."""

import numpy as np
import pytest

import thixo as tx

# Rows, k, columns. Rows of the second matrix begin lines of the cache where columns are a multiple of 16; rows of the first are
# 4 KiB apart where k is 1024. The last ones are few rows by a matrix that no near cache holds.
SIZES = [
    (160, 300, 192), (201, 513, 208), (150, 1024, 64), (256, 200, 512), (173, 900, 176), (190, 40, 340), (155, 300, 1104),
    (5, 700, 1000), (9, 600, 1537), (17, 500, 960), (18, 90, 1100),
]  # fmt: skip


@pytest.fixture
def threads():
    before = tx.get_num_threads()
    yield tx.set_num_threads
    tx.set_num_threads(before)


def matrix(rows, columns, turned, dtype):
    """Numbers whose products and sums are exact, as they lie or transposed."""
    values = np.random.default_rng(rows + columns).integers(-8, 9, (rows, columns)).astype(dtype)
    return tx.tensor(np.ascontiguousarray(values.T)).t() if turned else tx.tensor(values)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "turned", [(False, False), (True, False), (False, True), (True, True)], ids=str
)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_are_right_in_every_layout(size, turned, dtype, threads):
    m, k, n = size
    a, b = matrix(m, k, turned[0], dtype), matrix(k, n, turned[1], dtype)
    wanted = a.numpy() @ b.numpy()
    for count in (1, 3):
        threads(count)
        np.testing.assert_array_equal((a @ b).numpy(), wanted)


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)], ids=str)
@pytest.mark.parametrize("size", [*SIZES, (130, 1700, 200), (140, 2048, 70)], ids=str)
def test_products_of_bfloat16_are_rounded_once(size, turned, threads):
    m, k, n = size
    a, b = matrix(m, k, turned[0], "float32"), matrix(k, n, turned[1], "float32")
    wanted = tx.tensor(a.numpy() @ b.numpy()).to(tx.bfloat16).float().numpy()
    for count in (1, 3):
        threads(count)
        found = a.to(tx.bfloat16) @ b.to(tx.bfloat16)
        np.testing.assert_array_equal(found.float().numpy(), wanted)


@pytest.mark.parametrize("size", [(45, 63, 70), (30, 1601, 33), (200, 127, 226)], ids=str)
def test_rows_of_odd_length_do_not_meet_the_next_row(size):
    m, k, n = size
    a, b = matrix(m, k, False, "float32"), matrix(k, n, False, "float32")
    wanted = tx.tensor(a.numpy() @ b.numpy()).to(tx.bfloat16).float().numpy()
    odd = a.to(tx.bfloat16)
    odd[1::2, 0] = np.nan
    found = (odd @ b.to(tx.bfloat16)).float().numpy()
    np.testing.assert_array_equal(found[::2], wanted[::2])
    assert np.isnan(found[1::2]).all()


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_any_number_of_threads_gives_the_same_bits(size, threads):
    m, k, n = size
    a, b = tx.randn(m, k), tx.randn(k, n)
    threads(1)
    first = (a @ b).numpy()
    np.testing.assert_allclose(first, a.double().numpy() @ b.double().numpy(), rtol=1e-4, atol=1e-4)
    for count in (2, 3, 7):
        threads(count)
        np.testing.assert_array_equal((a @ b).numpy(), first)
