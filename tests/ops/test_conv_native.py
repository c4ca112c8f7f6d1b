"""Convolutions and pooling on native kernels: the same numbers as the declarations' NumPy kernels.

Every way to compute them (tiles, panels, planes, products, Winograd, dot products) is met by some shape below.
"""

import numpy as np
import pytest

import thixo as tx
from thixo.ops import convolution, pooling

F = tx.nn.functional

# batch, groups, inner, outer, sizes, kernel, stride, padding, dilation
SHAPES = [
    (1, 1, 3, 5, (17,), (4,), (3,), (2,), (2,)),
    (2, 1, 7, 13, (19, 23), (3, 5), (2, 1), (1, 3), (1, 2)),
    (3, 1, 16, 33, (14, 14), (3, 3), (2, 2), (1, 1), (1, 1)),
    (5, 1, 31, 17, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 1, 24, 40, (9, 12), (3, 3), (1, 1), (0, 2), (1, 1)),
    (9, 1, 130, 70, (7, 7), (5, 5), (1, 1), (2, 2), (1, 1)),
    (2, 3, 5, 4, (11, 10), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 8, 1, 1, (13, 35), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 6, 1, 2, (15, 14), (5, 5), (2, 2), (2, 2), (1, 1)),
    (2, 7, 1, 1, (70,), (5,), (2,), (2,), (1,)),
    (3, 21, 1, 1, (9, 10), (5, 5), (1, 2), (2, 2), (1, 1)),
    (2, 18, 1, 1, (4, 5, 6), (3, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 2)),
    (2, 1, 3, 20, (70, 66), (5, 5), (2, 2), (2, 2), (1, 1)),
    (2, 1, 100, 90, (7, 6), (3, 3), (2, 2), (1, 1), (1, 1)),
    (4, 1, 19, 67, (13, 9), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 2, 9, 6, (8, 8), (1, 1), (2, 2), (0, 0), (1, 1)),
    (3, 1, 1, 6, (6, 7), (2, 2), (1, 1), (3, 3), (1, 1)),
    (2, 1, 4, 6, (5, 6, 7), (3, 2, 3), (2, 1, 2), (1, 0, 1), (1, 2, 1)),
    (1, 1, 2, 3, (5, 5), (5, 5), (4, 4), (0, 0), (1, 1)),
    (1, 1, 3, 2, (9, 9), (1, 1), (3, 2), (0, 1), (1, 1)),
    (1, 1, 31, 1, (12, 8), (1, 1), (1, 3), (1, 1), (3, 2)),
    # taps above and below the image: some rows of results have few of them, or none
    (4, 1, 20, 24, (6, 9), (5, 5), (1, 1), (2, 2), (1, 1)),
    (3, 2, 17, 30, (5, 8), (7, 3), (1, 1), (3, 1), (1, 1)),
    (3, 1, 18, 33, (8, 8), (5, 5), (2, 2), (4, 2), (1, 1)),
    (2, 1, 40, 20, (3, 20), (3, 3), (1, 1), (6, 6), (2, 2)),
    (2, 1, 33, 18, (3, 4, 9), (3, 5, 3), (1, 1, 1), (1, 2, 1), (1, 1, 1)),
    (9, 1, 190, 70, (4, 5), (5, 5), (1, 1), (2, 2), (1, 1)),
    # taps left and right of it: some places of a tile have few of them; none has all, or some taps have no place
    (4, 1, 60, 40, (8, 8), (5, 5), (1, 1), (2, 2), (1, 1)),
    (3, 1, 50, 64, (7, 6), (5, 5), (1, 1), (4, 4), (1, 1)),
    (9, 1, 40, 70, (2, 2), (5, 5), (1, 1), (2, 2), (1, 1)),
    (3, 1, 64, 40, (6, 31), (5, 5), (1, 2), (2, 2), (1, 1)),
]
TOLERANCE = {tx.float64: 1e-12, tx.float32: 4e-6, tx.float16: 2e-3, tx.bfloat16: 2e-2}


def arrays(shape, dtype):
    batch, groups, inner, outer, sizes, kernel, stride, padding, dilation = shape
    rng = np.random.default_rng(len(sizes) + inner)
    x = rng.standard_normal((batch, groups * inner, *sizes))
    w = rng.standard_normal((groups * outer, inner, *kernel))
    bias = rng.standard_normal(groups * outer)
    window = (stride, padding, dilation, groups)
    return *(tx.tensor(a, dtype=dtype) for a in (x, w, bias)), window


def exact(t):
    return np.asarray(t.to(tx.float64))


def close(ours, wanted, dtype):
    assert tuple(ours.shape) == wanted.shape
    scale = np.abs(wanted).max(initial=1e-30)
    assert np.abs(exact(ours) - wanted).max(initial=0) <= TOLERANCE[dtype] * scale


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_three_agree_with_numpy(shape, dtype):
    x, w, bias, window = arrays(shape, dtype)
    y = F.convolve(x, w, *window, bias)
    wanted = convolution.Convolve.kernel(exact(x), exact(w), *window, exact(bias))
    close(y, wanted, dtype)
    g = tx.tensor(np.random.default_rng(1).standard_normal(wanted.shape), dtype=dtype)
    sizes, kernel = tuple(x.shape[2:]), tuple(w.shape[2:])
    close(
        F.convolve_transposed(g, w, sizes, *window),
        convolution.ConvolveTransposed.kernel(exact(g), exact(w), sizes, *window),
        dtype,
    )
    close(
        F.convolve_weight(x, g, kernel, *window),
        convolution.ConvolveWeight.kernel(exact(x), exact(g), kernel, *window),
        dtype,
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_threads_change_no_bit(shape):
    x, w, bias, window = arrays(shape, tx.float32)
    sizes, kernel = tuple(x.shape[2:]), tuple(w.shape[2:])

    def everything():
        y = F.convolve(x, w, *window, bias)
        return (
            y,
            F.convolve_transposed(y, w, sizes, *window),
            F.convolve_weight(x, y, kernel, *window),
        )

    before = tx.get_num_threads()
    try:
        tx.set_num_threads(1)
        wanted = [np.asarray(t) for t in everything()]
        for threads in (2, 3, 7):
            tx.set_num_threads(threads)
            for a, b in zip(everything(), wanted, strict=True):
                assert np.array_equal(np.asarray(a), b)
    finally:
        tx.set_num_threads(before)


@pytest.mark.parametrize("batch", [1, 2, 8])
@pytest.mark.parametrize(("channels", "size"), [(64, 28), (96, 14), (256, 14)])
def test_threads_change_no_bit_of_large_ones(batch, channels, size):
    x = tx.randn(batch, channels, size, size)
    w = tx.randn(channels, channels, 3, 3)
    before = tx.get_num_threads()
    window = ((1, 1), (1, 1), (1, 1), 1)
    try:
        results = []
        for threads in (1, 2, 3):
            tx.set_num_threads(threads)
            y = F.convolve(x, w, *window)
            results.append(
                (
                    y,
                    F.convolve_transposed(y, w, (size, size), *window),
                    F.convolve_weight(x, y, (3, 3), *window),
                )
            )
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert np.array_equal(np.asarray(a), np.asarray(b))
    finally:
        tx.set_num_threads(before)


# Weights that no near cache holds, and images that are gone through by strips.
HEAVY = [
    (5, 1, 160, 256, (9, 8), (3, 3), (2, 2), (1, 1), (1, 1)),
    (11, 1, 170, 230, (8, 8), (3, 3), (2, 1), (1, 1), (1, 1)),
    (1, 1, 3, 40, (131, 250), (5, 5), (1, 2), (2, 2), (1, 1)),
    (1, 1, 230, 250, (13, 14), (3, 3), (1, 1), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("shape", HEAVY, ids=str)
def test_large_ones_agree_with_numpy_on_any_number_of_threads(shape):
    x, w, bias, window = arrays(shape, tx.float32)
    sizes, kernel = tuple(x.shape[2:]), tuple(w.shape[2:])
    y = convolution.Convolve.kernel(exact(x), exact(w), *window, exact(bias))
    g = tx.tensor(np.random.default_rng(1).standard_normal(y.shape), dtype=tx.float32)
    wanted = (
        y,
        convolution.ConvolveTransposed.kernel(exact(g), exact(w), sizes, *window),
        convolution.ConvolveWeight.kernel(exact(x), exact(g), kernel, *window),
    )
    before = tx.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            tx.set_num_threads(threads)
            results.append(
                (
                    F.convolve(x, w, *window, bias),
                    F.convolve_transposed(g, w, sizes, *window),
                    F.convolve_weight(x, g, kernel, *window),
                )
            )
    finally:
        tx.set_num_threads(before)
    for ours in results:
        for a, first, b in zip(ours, results[0], wanted, strict=True):
            assert np.array_equal(np.asarray(a), np.asarray(first))
            close(a, b, tx.float32)


def test_layouts_of_the_input_do_not_matter():
    x = tx.randn(2, 9, 11, 5)
    w = tx.randn(8, 5, 3, 3)
    window = ((1, 1), (1, 1), (1, 1), 1)
    turned = x.permute(0, 3, 1, 2)
    assert np.array_equal(
        np.asarray(F.convolve(turned, w, *window)),
        np.asarray(F.convolve(turned.contiguous(), w, *window)),
    )
    wide = tx.randn(1, 1, 9, 11).expand(2, 5, 9, 11)
    assert np.array_equal(
        np.asarray(F.convolve(wide, w, *window)),
        np.asarray(F.convolve(wide.contiguous(), w, *window)),
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["input", "weight"])
def test_odd_numbers_go_where_the_definition_takes_them(value, place):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 16, 12, 12)).astype(np.float32)
    w = rng.standard_normal((16, 16, 3, 3)).astype(np.float32)
    (x if place == "input" else w)[1, 3, 2, 1] = value
    window = ((1, 1), (1, 1), (1, 1), 1)
    with np.errstate(invalid="ignore"):
        for ours, wanted in (
            (
                F.convolve(tx.tensor(x), tx.tensor(w), *window),
                convolution.Convolve.kernel(x, w, *window, None),
            ),
            (
                F.convolve_transposed(tx.tensor(x), tx.tensor(w), (12, 12), *window),
                convolution.ConvolveTransposed.kernel(x, w, (12, 12), *window),
            ),
        ):
            ours = np.asarray(ours)
            assert np.array_equal(np.isnan(ours), np.isnan(wanted))
            assert np.array_equal(np.isinf(ours), np.isinf(wanted))


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("tap", [(0, 0), (0, 2), (4, 1)])
def test_odd_weights_meet_the_zeros_around_small_images(value, tap):
    shape = (4, 1, 20, 24, (6, 9), (5, 5), (1, 1), (2, 2), (1, 1))
    x, w, bias, window = arrays(shape, tx.float32)
    w[3, 7, tap[0], tap[1]] = value
    with np.errstate(invalid="ignore"):
        wanted = convolution.Convolve.kernel(exact(x), exact(w), *window, exact(bias))
        g = tx.tensor(np.random.default_rng(1).standard_normal(wanted.shape), dtype=tx.float32)
        back = convolution.ConvolveTransposed.kernel(exact(g), exact(w), (6, 9), *window)
    for got, of in (
        (F.convolve(x, w, *window, bias), wanted),
        (F.convolve_transposed(g, w, (6, 9), *window), back),
    ):
        np.testing.assert_array_equal(np.isnan(exact(got)), np.isnan(of))
        np.testing.assert_array_equal(np.isinf(exact(got)), np.isinf(of))


def test_an_odd_weight_changes_no_bit_of_other_channels():
    x, w, bias, window = arrays((8, 1, 64, 64, (8, 8), (5, 5), (1, 1), (2, 2), (1, 1)), tx.float32)
    before = np.asarray(F.convolve(x, w, *window, bias))
    w[9, 5, 0, 1] = np.inf
    after = np.asarray(F.convolve(x, w, *window, bias))
    others = np.arange(64) != 9
    np.testing.assert_array_equal(after[:, others], before[:, others])
    assert np.isnan(after[:, 9]).any()


@pytest.mark.parametrize("place", ["input", "output"])
def test_odd_numbers_in_the_gradient_of_the_weight(place):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 32, 16, 16)).astype(np.float32)
    g = rng.standard_normal((4, 32, 16, 16)).astype(np.float32)
    (x if place == "input" else g)[1, 3, 0, 15] = (
        np.inf
    )  # taps that never meet a corner stay finite
    window = ((1, 1), (1, 1), (1, 1), 1)
    ours = np.asarray(F.convolve_weight(tx.tensor(x), tx.tensor(g), (3, 3), *window))
    with np.errstate(invalid="ignore"):
        wanted = convolution.ConvolveWeight.kernel(x, g, (3, 3), *window)
    assert np.array_equal(np.isfinite(ours), np.isfinite(wanted))
    assert 0 < np.isfinite(ours).sum() < ours.size


@pytest.mark.parametrize("stride", [1, (2,), (2, 1)])
@pytest.mark.parametrize("padding", [0, 1, (1, 2), "same", "valid"])
def test_conv2d_is_the_same_with_and_without_a_tape(stride, padding):
    if padding == "same" and stride != 1:
        stride = 1
    x, w, b = tx.randn(2, 6, 9, 11), tx.randn(4, 3, 3, 4), tx.randn(4)
    plain = F.conv2d(x, w, b, stride, padding, 1, 2)
    recorded = F.conv2d(x, w.detach().requires_grad_(), b, stride, padding, 1, 2)
    assert recorded.requires_grad
    assert np.array_equal(np.asarray(plain), np.asarray(recorded.detach()))


@pytest.mark.parametrize(
    "arguments", [(2,), (3, 2, 1), ((3, 2), (1, 2), (1, 0)), (3, 2, 1, True)], ids=str
)
@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("shape", [(2, 3, 10, 13), (3, 8, 7)], ids=str)
def test_pools_are_the_same_with_and_without_a_tape(kind, arguments, shape):
    pool = getattr(F, f"{kind}_pool2d")
    if arguments[-1] is True:
        arguments = (*arguments[:3], 1, True) if kind == "max" else arguments
    x = tx.randn(*shape)
    plain, recorded = pool(x, *arguments), pool(x.detach().requires_grad_(), *arguments)
    assert recorded.requires_grad
    assert np.array_equal(np.asarray(plain), np.asarray(recorded.detach()))


@pytest.mark.parametrize("sizes", [1, (3, 2), (7, 5), (12, 1), (10, 14)], ids=str)
def test_adaptive_averages_are_near_with_and_without_a_tape(sizes):
    x = tx.randn(2, 3, 10, 13)
    plain = F.adaptive_avg_pool2d(x, sizes)
    recorded = F.adaptive_avg_pool2d(x.detach().requires_grad_(), sizes)
    assert recorded.requires_grad
    assert np.allclose(np.asarray(plain), np.asarray(recorded.detach()), atol=1e-6)


def test_huge_numbers_that_sum_to_finite_ones_stay_finite():
    x = np.full((1, 16, 8, 8), 3e38, np.float32)
    w = np.zeros((16, 16, 3, 3), np.float32)
    w[:, 0, 1, 1] = 0.5
    y = np.asarray(F.convolve(tx.tensor(x), tx.tensor(w), (1, 1), (1, 1), (1, 1), 1))
    assert np.allclose(y, 1.5e38)


def test_empty_batch():
    x, w = tx.zeros(0, 3, 8, 8), tx.ones(4, 3, 3, 3)
    y = F.convolve(x, w, (1, 1), (1, 1), (1, 1), 1)
    assert tuple(y.shape) == (0, 4, 8, 8)
    assert tuple(F.convolve_transposed(y, w, (8, 8), (1, 1), (1, 1), (1, 1), 1).shape) == (
        0,
        3,
        8,
        8,
    )
    assert not np.asarray(F.convolve_weight(x, y, (3, 3), (1, 1), (1, 1), (1, 1), 1)).any()


POOLS = [
    ((2, 3, 17), (3,), (2,), (1,), (1,), False),
    ((2, 3, 13, 37), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((3, 14, 15), (2, 2), (2, 2), (0, 0), (1, 1), True),
    ((1, 2, 9, 33), (3, 2), (1, 3), (1, 1), (2, 1), True),
    ((2, 2, 5, 6, 7), (2, 3, 2), (1, 2, 2), (1, 1, 0), (1, 1, 2), False),
]


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_largest_values_and_places(pool, dtype):
    shape, *window = pool
    x = np.random.default_rng(2).integers(-3, 3, shape).astype(np.float64)  # many are equal
    x[..., 0] = -np.inf
    x.reshape(-1)[5::31] = np.nan
    values, indices = F.max_pool_with_indices(tx.tensor(x, dtype=dtype), *window)
    wanted, places = pooling.MaxPoolWithIndices.kernel(x, *window)
    assert np.array_equal(exact(values), wanted, equal_nan=True)
    assert np.array_equal(np.asarray(indices), places)
    alone = F.max_pool_values(tx.tensor(x, dtype=dtype), *window)
    assert np.array_equal(exact(alone), wanted, equal_nan=True)


def test_gradients_of_overlapping_windows_add_up():
    x = tx.tensor(np.random.default_rng(3).standard_normal((2, 3, 9, 9)), requires_grad=True)
    F.max_pool2d(x, 3, 1, 1).sum().backward()
    assert float(x.grad.sum()) == 2 * 3 * 81
    _, indices = F.max_pool_with_indices(x.detach(), (3, 3), (1, 1), (1, 1), (1, 1), False)
    counts = np.stack([np.bincount(p, minlength=81) for p in np.asarray(indices).reshape(6, 81)])
    assert np.array_equal(np.asarray(x.grad).reshape(6, 81), counts)
