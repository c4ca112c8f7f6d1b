"""Batch norm of inference is gone where statistics and weights are constants."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Graph, Interpreter
from thixo.passes import optimize

F = tx.nn.functional


def rand(*shape, low=-1.0):
    return np.random.default_rng(len(shape)).uniform(low, 1.0, shape)


def network(bias):
    graph = Graph("net")
    x = graph.input("x", "f64[n, 3, 8, 8]")
    weight = graph.constant("weight", rand(4, 3, 3, 3))
    names = {"mean": rand(4), "var": rand(4, low=0.5), "gain": rand(4), "shift": rand(4)}
    mean, var, gain, shift = (graph.constant(n, d) for n, d in names.items())
    added = graph.constant("b", rand(4)) if bias else None
    y = graph.call("nn.functional.convolve", x, weight, (1, 1), (1, 1), (1, 1), 1, added)
    scale = graph.call("mul", graph.call("rsqrt", graph.call("add", var, 1e-5)), gain)
    rest = graph.call("sub", shift, graph.call("mul", mean, scale))
    scale, rest = (graph.call("reshape", v, (1, 4, 1, 1)) for v in (scale, rest))
    z = graph.call("addcmul", rest, y, scale)
    graph.outputs = [graph.call("relu", z)]
    return graph, y


@pytest.mark.parametrize("bias", [False, True])
def test_scale_and_shift_go_into_weights(bias):
    graph, _ = network(bias)
    result = optimize(graph)
    assert [n.op.sig.name for n in result.graph.nodes] == ["convolve", "relu"]
    assert result.counts["batch_norm"] == 1
    x = tx.tensor(rand(2, 3, 8, 8))
    (found,), (expected,) = Interpreter(result.graph).run(x), Interpreter(graph).run(x)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-12, 1e-12)
    off = optimize(graph, off=["batch_norm", "fuse"]).graph
    assert [n.op.sig.name for n in off.nodes] == ["convolve", "addcmul", "relu"]


def test_what_others_read_stays():
    graph, y = network(False)
    graph.outputs.append(y)
    assert "batch_norm" not in optimize(graph).counts


def test_weights_that_may_change_stay():
    graph, _ = network(False)
    graph.constants = {
        v: tx.tensor(d) if v.name == "weight" else d for v, d in graph.constants.items()
    }
    assert "batch_norm" not in optimize(graph).counts


def test_a_scale_along_another_axis_stays():
    graph = Graph("net")
    x = graph.input("x", "f64[n, 3, 8, 8]")
    y = graph.call(
        "nn.functional.convolve",
        x,
        graph.constant("w", rand(8, 3, 3, 3)),
        (1, 1),
        (1, 1),
        (1, 1),
        1,
    )
    graph.outputs = [graph.call("mul", y, graph.constant("s", rand(8)))]
    assert "batch_norm" not in optimize(graph).counts
