"""Every run gives the same bits, on any number of threads: also where many results meet in one place."""

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ArgumentError

F = tx.nn.functional
RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 700), np.float32)
FEW = RNG.integers(0, 40, (300, 700))  # places that are named again and again
LINE = FEW.reshape(-1)


def gradient(function, *arrays):
    leaves = [tx.tensor(a, requires_grad=True) for a in arrays]
    y = function(*leaves)
    y.backward(tx.linspace(-1, 1, y.numel()).reshape(y.shape))
    return [x.grad for x in leaves]


IMAGES = RNG.standard_normal((5, 7, 33, 29), np.float32)
WEIGHT = RNG.standard_normal((11, 7, 3, 3), np.float32)
PLACES = RNG.uniform(-1, 1, (5, 40, 40, 2)).astype(np.float32)
CASES = {
    "scatter_add": lambda: tx.zeros(300, 40).scatter_add(1, tx.tensor(FEW), tx.tensor(X)),
    "scatter, places named twice": lambda: tx.zeros(300, 40).scatter(
        1, tx.tensor(FEW), tx.tensor(X)
    ),
    "index_add": lambda: tx.zeros(40, 700).index_add(0, tx.tensor(FEW[:, 0]), tx.tensor(X)),
    "index_put, places named twice": lambda: tx.zeros(40).index_put(
        (tx.tensor(LINE),), tx.tensor(X.reshape(-1))
    ),
    "index_put, added up": lambda: tx.zeros(40).index_put(
        (tx.tensor(LINE),), tx.tensor(X.reshape(-1)), accumulate=True
    ),
    "bincount with weights": lambda: tx.bincount(tx.tensor(LINE), tx.tensor(X.reshape(-1))),
    "sum": lambda: tx.tensor(X).sum(),
    "cumsum": lambda: tx.tensor(X.reshape(-1)).cumsum(0),
    "sort of equal elements": lambda: tx.sort(tx.tensor(LINE))[1],
    "topk of equal elements": lambda: tx.topk(tx.tensor(FEW), 9)[1],
    "matmul": lambda: tx.tensor(X) @ tx.tensor(X.T),
    "gather backward": lambda: gradient(lambda x: x.gather(1, tx.tensor(FEW)), X),
    "embedding backward": lambda: gradient(
        lambda w: F.embedding(tx.tensor(LINE[:9000]), w), X[:40]
    ),
    "conv2d backward": lambda: gradient(lambda x, w: F.conv2d(x, w, padding=1), IMAGES, WEIGHT),
    "max_pool2d backward": lambda: gradient(lambda x: F.max_pool2d(x, 3, 1, 1), IMAGES),
    "grid_sample backward": lambda: gradient(
        lambda x, p: F.grid_sample(x, p, align_corners=False), IMAGES, PLACES
    ),
    "interpolate backward": lambda: gradient(
        lambda x: F.interpolate(x, (50, 61), mode="bilinear"), IMAGES
    ),
    "dropout": lambda: F.dropout(tx.tensor(X), 0.3),
    "normal": lambda: tx.randn(300, 700),
}


def bits(value):
    values = value if isinstance(value, list) else [value]
    return [v.detach().numpy().tobytes() for v in values]


@pytest.fixture
def _threads():
    before = tx.get_num_threads()
    yield
    tx.set_num_threads(before)
    tx.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_on_any_number_of_threads(name):
    seen = []
    for threads in (1, 2, 3, 7, 2):
        tx.set_num_threads(threads)
        tx.use_deterministic_algorithms(threads == 3)
        tx.manual_seed(0)
        seen.append(bits(CASES[name]()))
    assert all(one == seen[0] for one in seen[1:])


def test_the_last_of_several_values_is_written():
    places = tx.tensor([1, 0, 1, 1])
    values = tx.tensor([1.0, 2.0, 3.0, 4.0])
    assert tx.zeros(2).scatter(0, places, values).tolist() == [2.0, 4.0]
    assert tx.zeros(2).index_put((places,), values).tolist() == [2.0, 4.0]


def test_empty_memory_holds_zeros():
    for _ in range(3):
        tx.ones(1000)  # what is freed is given out again
        assert tx.empty(1000).sum().item() == 0


@pytest.mark.usefixtures("_threads")
def test_the_switch_says_what_it_was_told():
    tx.use_deterministic_algorithms(True, warn_only=True)
    assert tx.are_deterministic_algorithms_enabled()
    assert tx.is_deterministic_algorithms_warn_only_enabled()
    tx.use_deterministic_algorithms(False)
    assert not tx.are_deterministic_algorithms_enabled()
    assert not tx.is_deterministic_algorithms_warn_only_enabled()
    with pytest.raises(ArgumentError, match="mode is"):
        tx.use_deterministic_algorithms("yes")
