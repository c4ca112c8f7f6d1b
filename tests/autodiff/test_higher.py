"""Gradients of gradients, and of what one would not look for."""

import numpy as np
import pytest

import thixo as tx
from tests.fuzz.gradients import slope_along
from thixo.autodiff import add_gradients
from thixo.graph import Interpreter, parse

LAYERS = {
    "lstm": "y: f64[2, 1, 3], h: f64[1, 3], c: f64[1, 3], g: f64[2, 1, 12], s: f64[2, 1, 3] = "
    "nn.functional.lstm_layer(x, u, u, w, v)",
    "gru": "y: f64[2, 1, 3], h: f64[1, 3], g: f64[2, 1, 12] = nn.functional.gru_layer(x, u, w, v)",
}


def value_of(graph):
    """The number that a graph gives, as a function of arrays."""
    return lambda given: Interpreter(graph).run(*map(tx.from_numpy, given))[0].item()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_recurrent_layer_has_third_gradients(layer):
    gates = {"lstm": 12, "gru": 9}[layer]
    text = f"""
graph main(x: f64[2, 1, 2], u: f64[1, 3], w: f64[{gates}, 2], v: f64[{gates}, 3]) {{
  {LAYERS[layer]}
  t: f64[] = sum(y)
  return t
}}
"""
    rng = np.random.default_rng(0)
    graph = parse(text)
    inputs = [rng.normal(size=v.type.shape) for v in graph.inputs]
    way = rng.normal(size=inputs[0].shape)
    for _ in range(3):
        slope = slope_along(value_of(graph.copy()), inputs, [0], [way])
        (gradient,) = add_gradients(graph, graph.outputs, graph.inputs[:1])
        graph.outputs = [graph.call("sum", graph.call("mul", gradient, graph.constant("way", way)))]
        (found,) = Interpreter(graph).run(*map(tx.from_numpy, inputs))
        assert found.item() == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_a_size_that_is_one_where_the_graph_holds_is_summed_over():
    text = """
graph main(x: f64[n]) {
  sizes n ~ 4
  guard max(-min(3, n) + n, 0) == 1
  a: f64[max(-min(3, n) + n, 0)] = slice(x, start=3)
  b: f64[n] = expand(a, size=(n,))
  s: f64[] = sum(b)
  return s
}
"""
    graph = parse(text)
    graph.outputs = add_gradients(graph, graph.outputs, graph.inputs)
    graph.verify()
    assert Interpreter(graph).run(tx.ones(4, dtype=tx.float64))[0].tolist() == [0, 0, 0, 4]


WRITES = {
    "index_copy": lambda t, i, s: tx.index_copy(t, 0, i, s),
    "columns": lambda t, i, s: tx.index_copy(t.T, 1, i, s.T).T,
    "index_put": lambda t, i, s: tx.index_put(t, (i,), s),
    "setitem": lambda t, i, s: tx.index_put(t, (i, tx.tensor([[0], [1]])), s.T).T,
    "scatter": lambda t, i, s: tx.scatter(t, 0, i.unsqueeze(1).expand(4, 2), s),
    "put": lambda t, i, s: tx.put(t, i, s[:, 0].clone()),
}


@pytest.mark.parametrize("write", WRITES)
def test_of_several_writes_to_one_place_the_last_has_the_gradient(write):
    index = tx.tensor([2, 0, 2, 2])
    t = tx.zeros(3, 2, dtype=tx.float64).requires_grad_()
    s = tx.arange(8.0, dtype=tx.float64).reshape(4, 2).requires_grad_()
    (WRITES[write](t, index, s) ** 2).sum().backward()
    expected = 2 * s.detach().numpy() * np.array([[0], [1], [0], [1]])
    if write == "put":
        expected[:, 1] = 0
    assert np.array_equal(s.grad.numpy(), expected)
