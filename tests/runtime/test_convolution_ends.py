"""Programs of convolutions with what follows them: the bits of eager code, or a stated error where products are fewer."""

import numpy as np
import pytest

import thixo as tx

F = tx.nn.functional
TOLERANCE = 1e-5  # of the largest result, by F(4x4, 3x3)


@pytest.fixture(autouse=True)
def threads():
    before = tx.get_num_threads()
    yield
    tx.set_num_threads(before)


def rand(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def block(shape, middle, kernel=3, stride=1, groups=1, padding=None, off=()):
    """A program of three convolutions, so that the one between has its channels side by side, and what eager gives."""
    padding = kernel // 2 if padding is None else padding
    first, last = rand(middle, shape[1], 1, 1), rand(8, middle, 1, 1)
    w, b = rand(middle, middle // groups, kernel, kernel), rand(middle)
    other = rand(middle, middle, 1, 1)

    def network(x, first, w, b, other, last):
        x = F.relu(F.conv2d(x, first))
        y = F.conv2d(x, w, b, stride, padding, 1, groups)
        more = F.conv2d(x, other)
        if stride > 1 or padding != kernel // 2:
            more = F.conv2d(F.pad(x, [padding - kernel // 2] * 4), other, None, stride)
        return F.conv2d(F.relu(more + y), last)

    weights = (first, w, b, other, last)
    with tx.static.Graph() as g:
        x = tx.static.placeholder(shape, tx.float32, "x")
        out = network(x, *map(tx.static.constant, weights))
    call = tx.static.Session(g, off=list(off)).bind(out, [x])
    return call, lambda x: network(x, *map(tx.tensor, weights))


SHAPES = [
    ((2, 5, 12, 12), 32, {}),
    ((1, 16, 7, 7), 40, {}),
    ((3, 8, 13, 9), 20, {}),
    ((2, 8, 11, 14), 32, {"groups": 2}),
    ((2, 8, 10, 10), 24, {"padding": 2}),
    ((2, 8, 10, 10), 24, {"padding": 0}),
    ((2, 8, 11, 11), 24, {"kernel": 5}),
    ((2, 8, 12, 12), 32, {"stride": 2}),
    ((2, 8, 9, 9), 32, {"kernel": 1}),
]


@pytest.mark.parametrize(("shape", "middle", "window"), SHAPES)
def test_results_are_those_of_eager_code(shape, middle, window):
    x = tx.tensor(rand(*shape))
    call, eager = block(shape, middle, **window)
    expected = eager(x).numpy()
    tx.set_num_threads(1)
    found = call(x).numpy()
    assert np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max()
    for threads in (2, 3, 7):
        tx.set_num_threads(threads)
        np.testing.assert_array_equal(call(x).numpy(), found)


@pytest.mark.parametrize("bad", [np.inf, np.nan, 3e38])
def test_what_is_not_finite_stays_where_it_is(bad):
    shape = (1, 16, 12, 12)
    x = rand(*shape)
    x[0, 3, 5, 5] = bad
    call, eager = block(shape, 32)
    found, expected = call(tx.tensor(x)), eager(tx.tensor(x))
    assert tx.equal(found.isnan(), expected.isnan())
    assert tx.equal(found.isfinite(), expected.isfinite())


@pytest.mark.parametrize("channels", [64, 256])
@pytest.mark.parametrize("off", [(), ("winograd",)])
def test_the_error_is_as_stated(channels, off):
    x, w = rand(1, channels, 28, 28), rand(channels, channels, 3, 3)
    with tx.static.Graph() as g:
        place = tx.static.placeholder(x.shape, tx.float32, "x")
        y = F.conv2d(tx.neg(place), tx.static.constant(w), None, 1, 1)
        out = F.relu(F.conv2d(F.relu(y), tx.static.constant(rand(1, channels, 1, 1)))), y.abs()
    found = tx.static.Session(g, off=list(off)).run(list(out), {place: tx.tensor(x)})[1].numpy()
    exact = F.conv2d(tx.tensor(x, dtype=tx.float64), tx.tensor(w, dtype=tx.float64), None, 1, 1)
    exact = exact.abs().numpy()
    assert np.abs(found - exact).max() <= (2e-6 if off else TOLERANCE) * exact.max()


def test_graphs_that_ask_for_every_bit_get_it():
    shape = (1, 16, 28, 28)
    x = tx.tensor(rand(*shape))
    exact, _ = block(shape, 64, off=("winograd", "epilogues", "fuse", "batch_norm"))
    ended, _ = block(shape, 64, off=("winograd",))
    np.testing.assert_array_equal(exact(x).numpy(), ended(x).numpy())
