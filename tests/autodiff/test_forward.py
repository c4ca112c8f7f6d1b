"""Tangents: against finite differences, through control flow, and mixed with gradients."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # its cases are here too

from test_reverse import CASES, WHILE, graded, run

import thixo as tx
from thixo.autodiff import add_gradients, gradient_graph, tangent_graph
from thixo.errors import AutogradError
from thixo.graph import Graph, Interpreter, parse


def directions(graph: Graph, inputs):
    rng = np.random.default_rng(3)
    return [np.asarray(rng.normal(size=inputs[i].shape)) for i in graded(graph)]


def slope(graph: Graph, inputs, ways) -> float:
    values = []
    for step in (1e-6, -1e-6):
        moved = [np.array(x) for x in inputs]
        for i, way in zip(graded(graph), ways, strict=False):
            moved[i] = moved[i] + step * way
        values.append(run(graph, moved)[0])
    return (values[0] - values[1]) / 2e-6


@pytest.mark.parametrize("case", CASES)
def test_tangents_are_slopes(case):
    text, inputs = CASES[case]
    graph = parse(text)
    both = tangent_graph(graph)
    both.verify()
    assert parse(str(both)) == both
    ways = directions(graph, inputs)
    value, tangent = run(both, [*inputs, *ways])
    assert np.allclose(value, run(graph, inputs)[0])
    np.testing.assert_allclose(tangent, slope(graph, inputs, ways), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("case", ["plain", "scan", "cond, true", "branch in loop"])
def test_the_tangent_of_a_gradient_is_the_gradient_of_a_tangent(case):
    text, inputs = CASES[case]
    graph = parse(text)
    ways = directions(graph, inputs)
    first = gradient_graph(graph)
    both = tangent_graph(first)
    count = len(graded(graph))
    hessian_times_way = run(both, [*inputs, *ways])[-count:]
    tangent = tangent_graph(graph)
    wrt = [tangent.inputs[i] for i in graded(graph)]
    tangent.outputs = add_gradients(tangent, [tangent.outputs[1]], wrt)
    for a, b in zip(run(tangent, [*inputs, *ways]), hessian_times_way, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_loop_keeps_nothing_for_its_tangent():
    both = tangent_graph(parse(WHILE))
    given = [tx.zeros(4096, dtype=tx.float64) + 0.1 for _ in range(2)]
    given += [tx.tensor(500), *(tx.ones(4096, dtype=tx.float64) for _ in range(2))]
    before = tx._core.memory_stats()["in_use"]
    tx._core.memory_reset_peak()
    Interpreter(both).run(*given)
    assert tx._core.memory_stats()["peak"] - before < 20 * 4096 * 8


def test_outputs_that_cannot_move_have_no_tangent():
    graph = parse(
        "graph f(x: f32[n], i: i64[n]) {\n  v: f32[n], p: i64[n] = sort(x)\n  return v, p, i\n}"
    )
    both = tangent_graph(graph)
    assert [str(v.type) for v in both.outputs] == ["f32[n]", "i64[n]", "i64[n]", "f32[n]"]
    found = Interpreter(both).run(tx.tensor([3.0, 1.0]), tx.tensor([0, 1]), tx.tensor([10.0, 20.0]))
    assert found[3].tolist() == [20.0, 10.0]


def test_what_cannot_move_is_refused():
    graph = parse("graph f(x: i64[3]) {\n  return x\n}")
    with pytest.raises(AutogradError, match="is no input that can move"):
        tangent_graph(graph, graph.inputs)
