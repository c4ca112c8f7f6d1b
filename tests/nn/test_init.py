"""Initialisers: the distribution each one promises."""

import math

import numpy as np
import pytest

import thixo as tx
from thixo import nn
from thixo.errors import ShapeError, ValueRangeError


@pytest.fixture(autouse=True)
def seeded():
    tx.manual_seed(0)


def drawn(name, *args, shape=(200, 100), **options):
    return getattr(nn.init, name)(tx.empty(*shape), *args, **options).numpy()


@pytest.mark.parametrize(
    ("name", "options", "std"),
    [
        ("uniform_", {"a": -1.0, "b": 3.0}, 4 / math.sqrt(12)),
        ("normal_", {"mean": 1.0, "std": 0.5}, 0.5),
        ("xavier_uniform_", {"gain": 2.0}, 2 * math.sqrt(2 / 300)),
        ("xavier_normal_", {}, math.sqrt(2 / 300)),
        ("kaiming_uniform_", {"nonlinearity": "relu"}, math.sqrt(2 / 100)),
        ("kaiming_normal_", {"mode": "fan_out"}, math.sqrt(2 / 200)),
        ("kaiming_normal_", {"a": 1.0}, math.sqrt(1 / 100)),
    ],
)
def test_spread(name, options, std):
    values = drawn(name, **options)
    assert values.std() == pytest.approx(std, rel=0.03)
    assert values.mean() == pytest.approx(
        1.0 if "mean" in options or ("a" in options and "b" in options) else 0.0, abs=0.03
    )


def test_uniform_bounds():
    values = drawn("uniform_", -0.5, 0.25)
    assert values.min() >= -0.5
    assert values.max() < 0.25


def test_truncated_normal():
    values = drawn("trunc_normal_", 0.0, 1.0, -1.0, 2.0)
    assert values.min() >= -1
    assert values.max() <= 2
    # the mean of a normal distribution cut to [-1, 2]
    density = [math.exp(-x * x / 2) / math.sqrt(2 * math.pi) for x in (-1.0, 2.0)]
    mass = (math.erf(2 / math.sqrt(2)) + math.erf(1 / math.sqrt(2))) / 2
    assert values.mean() == pytest.approx((density[0] - density[1]) / mass, abs=0.02)


def test_constants():
    assert (drawn("constant_", 0.3, shape=(2, 2)) == np.float32(0.3)).all()
    assert (drawn("ones_", shape=(3,)) == 1).all()
    assert (drawn("zeros_", shape=(3,)) == 0).all()
    assert np.array_equal(drawn("eye_", shape=(2, 3)), np.eye(2, 3))


def test_dirac_hands_its_input_on():
    x = tx.randn(1, 4, 6, 6)
    weight = nn.init.dirac_(tx.empty(4, 2, 3, 3), groups=2)
    y = nn.functional.conv2d(x, weight, padding=1, groups=2)
    np.testing.assert_allclose(y.numpy(), x.numpy(), atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal(shape):
    w = drawn("orthogonal_", 2.0, shape=shape).reshape(shape[0], -1)
    small = w @ w.T if w.shape[0] < w.shape[1] else w.T @ w
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-4)


def test_sparse():
    w = drawn("sparse_", 0.3, shape=(10, 4))
    assert ((w == 0).sum(0) == 3).all()


def test_gains_and_fans():
    assert nn.init.calculate_gain("tanh") == 5 / 3
    assert nn.init.calculate_gain("leaky_relu", 1) == 1
    assert nn.init.calculate_gain("selu") == 0.75
    assert nn.init.fans(tx.empty(2, 3)) == (3, 2)
    with pytest.raises(ValueRangeError, match="unknown nonlinearity"):
        nn.init.calculate_gain("sin")
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        nn.init.xavier_uniform_(tx.empty(3))
    with pytest.raises(ValueRangeError, match="mode is 'fan'"):
        nn.init.kaiming_normal_(tx.empty(3, 3), mode="fan")


def test_parameters_are_written_outside_of_the_tape():
    p = nn.Parameter(tx.zeros(3, 3))
    assert nn.init.xavier_normal_(p) is p
    assert p.is_leaf
    assert p.requires_grad


@pytest.mark.parametrize(
    ("layer", "bound"),
    [
        (lambda: nn.Linear(64, 50), 1 / 8),
        (lambda: nn.Conv2d(4, 32, 4), 1 / 8),
        (lambda: nn.LSTM(8, 64), 1 / 8),
        (lambda: nn.Bilinear(64, 8, 4), 1 / 8),
    ],
)
def test_layers_begin_within_their_bounds(layer, bound):
    for p in layer().parameters():
        values = p.detach().numpy()
        assert np.abs(values).max() <= bound
        if values.size > 100:
            assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.2)


def test_other_layers_begin_as_pytorchs():
    assert nn.Embedding(500, 20).weight.detach().numpy().std() == pytest.approx(1, rel=0.05)
    attention = nn.MultiheadAttention(64, 4)
    assert (attention.in_proj_bias.detach().numpy() == 0).all()
    bound = math.sqrt(6 / (64 * 4))
    assert np.abs(attention.in_proj_weight.detach().numpy()).max() <= bound
    assert nn.PReLU().weight.item() == 0.25
    assert (nn.LayerNorm(3).weight.detach().numpy() == 1).all()
