"""3x3 convolutions of images with their channels side by side, and their gradients: the numbers of float64, on any threads."""

import itertools

import numpy as np
import pytest

import thixo as tx

F = tx.nn.functional
static = tx.static

# batch, channels of the three convolutions after the first, size
CASES = [
    (5, (16, 16, 16), (32, 32)),
    (3, (20, 36, 70), (17, 14)),
    (40, (64, 64, 16), (8, 8)),
    (2, (33, 96, 130), (9, 30)),
]


def arrays(batch, channels, size):
    rng = np.random.default_rng(batch)
    sizes = (3, *channels)
    made = [rng.standard_normal((batch, 3, *size))]
    for i, o in itertools.pairwise(sizes):
        made.append(rng.standard_normal((o, i, 3, 3)) * (2 / (9 * i)) ** 0.5)
    return made


def loss(x, *weights):
    for w in weights:
        x = tx.tanh(F.conv2d(x, w, None, 1, 1))
    return (x * x).mean()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_those_of_float64_on_any_threads(case):
    given = arrays(*case)
    exact = [tx.tensor(a, requires_grad=i > 0) for i, a in enumerate(given)]
    wanted = loss(*exact)
    wanted.backward()
    x, *weights = (tx.tensor(a.astype(np.float32)) for a in given)
    with static.Graph() as g:
        place = static.placeholder(x.shape, tx.float32, "x")
        kept = [static.variable(w, f"w{i}") for i, w in enumerate(weights)]
        value = loss(place, *kept)
        slopes = static.gradients(value, kept)
    step = static.Session(g).bind([value, slopes], [place])
    threads, first = tx.get_num_threads(), None
    try:
        for count in (1, 2, 3):
            tx.set_num_threads(count)
            found, gradients = step(x)
            assert float(found) == pytest.approx(wanted.item(), rel=1e-5)
            made = [np.asarray(one) for one in gradients]
            for one, w in zip(made, exact[1:], strict=True):
                right = np.asarray(w.grad)
                assert np.abs(one - right).max() <= 2e-5 * np.abs(right).max()
            first = first or made
            for one, same in zip(made, first, strict=True):
                assert np.array_equal(one, same)
    finally:
        tx.set_num_threads(threads)
