"""Utilities: clipping, vectors of parameters, padding, parametrisation, attention's backends."""

import numpy as np
import pytest

import thixo as tx
from thixo import nn
from thixo.errors import ArgumentError, AutogradError, ShapeError, ValueRangeError


def with_gradient(*values):
    p = nn.Parameter(tx.zeros(len(values)))
    p.grad = tx.tensor(list(map(float, values)))
    return p


# ---- clipping


def test_clip_by_norm_over_all_parameters():
    a, b, c = with_gradient(3), with_gradient(0, 4), nn.Parameter(tx.ones(1))
    assert nn.utils.clip_grad_norm_([a, b, c], 1.0).item() == pytest.approx(5)
    np.testing.assert_allclose(a.grad.numpy(), [0.6], rtol=1e-5)
    np.testing.assert_allclose(b.grad.numpy(), [0, 0.8], rtol=1e-5)
    assert nn.utils.clip_grad_norm_([a, b], 10.0).item() == pytest.approx(1, rel=1e-5)
    np.testing.assert_allclose(a.grad.numpy(), [0.6], rtol=1e-5)


@pytest.mark.parametrize(("kind", "total"), [(1.0, 7.0), (float("inf"), 4.0)])
def test_clip_by_other_norms(kind, total):
    p = with_gradient(-3, 4)
    assert nn.utils.clip_grad_norm_(p, 1.0, norm_type=kind).item() == total


def test_clip_refuses_infinite_norms_where_asked():
    p = with_gradient(float("inf"))
    with pytest.raises(AutogradError, match="total norm of the gradients is inf"):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)


def test_clip_by_value():
    p = with_gradient(-3, 0.5, 4)
    nn.utils.clip_grad_value_(p, 1.0)
    assert p.grad.numpy().tolist() == [-1, 0.5, 1]


# ---- vectors


def test_parameters_as_a_vector_and_back():
    layer = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,)
    nn.utils.vector_to_parameters(vector.detach() * 0 + 2, layer.parameters())
    assert (layer.weight.detach().numpy() == 2).all()
    with pytest.raises(ShapeError, match="the parameters have 9 elements"):
        nn.utils.vector_to_parameters(tx.ones(8), layer.parameters())
    with pytest.raises(ArgumentError, match="a Tensor is needed"):
        nn.utils.vector_to_parameters([1.0], layer.parameters())


# ---- sequences


def test_padding_and_back():
    rows = [tx.ones(2, 3), tx.ones(4, 3) * 2]
    padded = nn.utils.rnn.pad_sequence(rows, padding_value=-1.0)
    assert padded.shape == (4, 2, 3)
    assert padded.numpy()[2:, 0].tolist() == [[-1.0] * 3] * 2
    left = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_side="left")
    assert left.numpy()[0, :2].tolist() == [[0.0] * 3] * 2
    back = nn.utils.rnn.unpad_sequence(padded, tx.tensor([2, 4]))
    assert [tuple(r.shape) for r in back] == [(2, 3), (4, 3)]


def test_padding_carries_gradients():
    a = tx.ones(2, requires_grad=True)
    nn.utils.rnn.pad_sequence([a, tx.ones(3)]).sum().backward()
    assert a.grad.numpy().tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda f: f([]), ArgumentError, "a list of tensors is needed"),
        (lambda f: f([tx.ones(2, 3), tx.ones(2, 4)]), ShapeError, "agree but for their length"),
        (lambda f: f([tx.ones(2)], padding_side="top"), ValueRangeError, "padding_side is 'top'"),
    ],
)
def test_padding_refuses(call, error, words):
    with pytest.raises(error, match=words):
        call(nn.utils.rnn.pad_sequence)


# ---- parametrisation


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


def test_parametrised_weight_follows_its_original():
    layer = nn.Linear(3, 3)
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    assert nn.utils.parametrize.is_parametrized(layer, "weight")
    assert [n for n, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    w = layer.weight.detach().numpy()
    np.testing.assert_array_equal(w, w.T)
    layer(tx.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    layer.weight = tx.eye(3)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), np.eye(3))
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)
    np.testing.assert_array_equal(layer.weight.detach().numpy(), np.eye(3))


def test_parametrisation_is_computed_once_inside_cached():
    calls = []

    class Counting(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x

    layer = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(layer, "weight", Counting())
    calls.clear()
    with nn.utils.parametrize.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    _ = layer.weight, layer.weight
    assert len(calls) == 3


def test_parametrisation_refuses():
    register = nn.utils.parametrize.register_parametrization
    with pytest.raises(ArgumentError, match="no parameter or buffer 'nothing'"):
        register(nn.Linear(2, 2), "nothing", nn.Identity())
    with pytest.raises(ShapeError, match="shapes must stay"):
        register(nn.Linear(2, 2), "weight", nn.Flatten(0))
    with pytest.raises(ArgumentError, match="is not parametrised"):
        nn.utils.parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")


def test_weight_norm_splits_length_and_direction():
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().numpy().copy()
    nn.utils.parametrizations.weight_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, atol=1e-6)
    layer.parametrizations.weight.original0.data.fill_(2)
    lengths = np.linalg.norm(layer.weight.detach().numpy(), axis=1)
    np.testing.assert_allclose(lengths, 2, rtol=1e-5)


def test_spectral_norm_is_one():
    tx.manual_seed(0)
    layer = nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 5, 3))
    for _ in range(30):
        layer(tx.randn(1, 3, 4, 4))
    w = layer.eval().weight.detach().numpy().reshape(5, -1)
    assert np.linalg.norm(w, 2) == pytest.approx(1, rel=1e-3)


# ---- attention's backends


def test_backends_are_named_and_checked():
    backend = nn.attention.SDPBackend
    with nn.attention.sdpa_kernel([backend.MATH, backend.FLASH_ATTENTION]):
        pass
    with pytest.raises(ArgumentError, match="SDPBackend"), nn.attention.sdpa_kernel("flash"):
        pass
