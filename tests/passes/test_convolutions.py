"""What follows a convolution runs with it, with the same bits; by constants it may take fewer products."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Graph, Interpreter
from thixo.passes import optimize

WINDOW = (1, 1), (1, 1), (1, 1), 1


def rand(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def convolved(graph, x, outer=6, taps=3):
    weight = graph.constant("w", rand(outer, x.shape[1], taps, taps))
    bias = graph.constant("b", rand(outer))
    window = ((1, 1), (taps // 2, taps // 2), (1, 1), 1)
    return graph.call("nn.functional.convolve", x, weight, *window, bias)


def names(graph):
    return [n.op.sig.name for n in graph.nodes]


def agrees(graph, result, *inputs):
    for a, b in zip(Interpreter(result).run(*inputs), Interpreter(graph).run(*inputs), strict=True):
        assert tx.equal(a, b)


def test_what_is_added_and_relu_go_with_it():
    graph = Graph("block")
    x = graph.input("x", "f32[n, 6, 5, 7]")
    y = graph.call("relu", convolved(graph, x))
    graph.outputs = [graph.call("relu", graph.call("add", x, convolved(graph, y)))]
    made = optimize(graph, off=["winograd"])
    assert names(made.graph) == ["convolve_then", "convolve_then"]
    assert made.counts["epilogues"] == 3
    assert [n.args[8:] for n in made.graph.nodes] == [(True, False), (True, False)]
    agrees(graph, made.graph, tx.tensor(rand(2, 6, 5, 7)))
    assert names(optimize(graph, off=["epilogues", "winograd", "fuse"]).graph) == [
        "convolve", "relu", "convolve", "add", "relu",
    ]  # fmt: skip


def test_the_later_of_two_takes_the_other():
    graph = Graph("both")
    x = graph.input("x", "f32[2, 6, 5, 7]")
    first, second = convolved(graph, x), convolved(graph, x, taps=1)
    graph.outputs = [graph.call("relu", graph.call("add", first, second))]
    made = optimize(graph, off=["winograd"]).graph
    assert names(made) == ["convolve", "convolve_then"]
    assert made.nodes[1].args[7] is made.nodes[0].outputs[0]
    agrees(graph, made, tx.tensor(rand(2, 6, 5, 7)))


def test_what_others_read_stays():
    graph = Graph("read")
    x = graph.input("x", "f32[2, 6, 5, 7]")
    y = convolved(graph, x)
    graph.outputs = [graph.call("relu", y), y]
    assert "epilogues" not in optimize(graph).counts
    graph.outputs = [graph.call("add", y, y)]
    assert "epilogues" not in optimize(graph).counts


def test_what_has_another_shape_or_factor_stays():
    graph = Graph("read")
    x, small = graph.input("x", "f32[2, 6, 5, 7]"), graph.input("s", "f32[7]")
    graph.outputs = [graph.call("add", convolved(graph, x), small)]
    assert "epilogues" not in optimize(graph).counts
    graph.outputs = [graph.call("add", convolved(graph, x), x, alpha=2)]
    assert "epilogues" not in optimize(graph).counts


@pytest.mark.parametrize(("taps", "constant", "fires"), [(3, True, 1), (1, True, 0), (3, False, 0)])
def test_fewer_products_are_allowed_for_constants(taps, constant, fires):
    graph = Graph("net")
    x = graph.input("x", "f32[n, 6, 5, 7]")
    y = convolved(graph, x, taps=taps)
    if not constant:
        graph.constants = {v: tx.tensor(d) for v, d in graph.constants.items()}
    graph.outputs = [y]
    made = optimize(graph)
    assert made.counts.get("winograd", 0) == fires
    assert sum(n.args[-1] is True for n in made.graph.nodes) == fires
    assert "winograd" not in optimize(graph, off=["winograd"]).counts
