"""Sessions whose variables are constants."""

import re

import numpy as np
import pytest

import thixo as tx
from thixo.errors import GraphError
from thixo.runtime.executor import EXECUTORS

static = tx.static


@pytest.fixture
def network():
    tx.manual_seed(0)
    layers = [tx.nn.Conv2d(3, 8, 3, padding=1), tx.nn.BatchNorm2d(8), tx.nn.ReLU()]
    model = tx.nn.Sequential(*layers, tx.nn.Flatten(), tx.nn.Linear(8 * 64, 5)).eval()
    with static.Graph() as g:
        x = static.placeholder((None, 3, 8, 8), tx.float32, "x")
        y = model(x)
    return model, g, x, y


def agree(found, expected):
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("executor", sorted(EXECUTORS))
def test_a_frozen_module_computes_the_same_with_its_batch_norm_folded(network, executor):
    model, g, x, y = network
    session = static.Session(g, executor=executor, freeze=True)
    images = tx.randn(2, 3, 8, 8)
    agree(session.run(y, {x: images}), model(images))
    text = str(session.program(y))
    assert "batch_norm" not in text
    assert "weight: f32[5, 512] = constant" in text


def change_in_place(model, images):
    with tx.no_grad():
        model[4].bias += 1


def change_by_a_step(model, images):
    model(images).sum().backward()
    tx.optim.SGD(model.parameters(), lr=0.1).step()


def change_memory(model, images):
    model[4].bias.data = tx.zeros(5)


@pytest.mark.parametrize("change", [change_in_place, change_by_a_step, change_memory])
def test_a_change_of_a_frozen_variable_is_noticed(network, change):
    model, g, x, y = network
    session = static.Session(g, freeze=True)
    bound = session.bind(y, [x])
    images = tx.randn(2, 3, 8, 8)
    before = bound(images)
    agree(session.run(y, {x: images}), before)
    change(model, images)
    assert not tx.allclose(before, model(images))
    agree(bound(images), model(images))
    agree(session.run(y, {x: images}), model(images))


def test_what_another_session_writes_is_noticed_and_results_are_nobodys_memory():
    with static.Graph() as g:
        w = static.variable([1.0, 2.0], name="w")
        twice = static.assign(w, w * 2)
    frozen = static.Session(g, freeze=True)
    found = frozen.run(w)
    found += 1
    assert frozen.run(w).tolist() == [1.0, 2.0]
    static.Session(g).run(twice)
    assert frozen.run(w).tolist() == [2.0, 4.0]
    frozen.load(w, [5.0, 5.0])
    assert frozen.run(w).tolist() == [5.0, 5.0]


def test_operations_that_change_variables_are_refused():
    with static.Graph() as g:
        w = static.variable([1.0, 2.0], name="w")
        twice = static.assign(w, w * 2)
    message = (
        "Session.run: these fetches change w: f32[2], and with freeze=True variables are constants; "
        "fetch them in another session of this graph (test_freeze.py:"
    )
    with pytest.raises(GraphError, match=re.escape(message)):
        static.Session(g, freeze=True).run(twice)
