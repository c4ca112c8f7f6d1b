"""A graph turns into Python that computes the same."""

import sys
from pathlib import Path

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ThixoError
from thixo.graph import Graph, Interpreter, parse
from thixo.graph.python import python_text

sys.path.insert(0, str(Path(__file__).parent.parent / "autodiff"))
from test_reverse import CASES

from thixo.autodiff import gradient_graph


def run_source(graph: Graph, inputs, **constants):
    room: dict = {}
    exec(compile(python_text(graph), graph.name, "exec"), room)
    made = room[graph.name](*inputs, **constants)
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("case", CASES)
def test_python_computes_what_the_graph_computes(case):
    text, inputs = CASES[case]
    graph = gradient_graph(parse(text))
    tensors = [tx.tensor(np.asarray(x)) for x in inputs]
    expected = Interpreter(graph).run(*tensors)
    for a, b in zip(expected, run_source(graph, tensors), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_names_that_python_has_are_avoided():
    graph = parse(
        "graph f(x: f32[n]) {\n  len: f32[n] = exp(x)\n  tx: f32[n] = neg(len)\n  return tx\n}"
    )
    assert run_source(graph, [tx.zeros(2)])[0].tolist() == [-1.0, -1.0]


def test_attributes_sizes_and_constants_are_written_out():
    graph = parse(
        """
        graph f(x: f32[n, m]) {
          c: f32[2] = constant([0.5, inf])
          z: f64[n, 2*m] = zeros(size=(n, 2*m), dtype=f64)
          return z, c
        }"""
    )
    z, c = run_source(graph, [tx.ones(2, 3)])
    assert z.shape == (2, 6)
    assert z.dtype is tx.float64
    assert c.tolist() == [0.5, float("inf")]


def test_a_large_constant_is_an_argument():
    weight = tx.randn(20)
    graph = tx.jit.trace(lambda x: x * weight, tx.ones(20)).graph
    name = next(iter(graph.constants)).name
    made = run_source(graph, [tx.ones(20)], **{name: weight})
    assert made[0].tolist() == weight.tolist()


def test_what_a_graph_changes_is_changed():
    graph = parse("graph f(x: f32[2]) {\n  y: f32[2] = exp(x)\n  x <- y\n  return\n}")
    x = tx.zeros(2)
    run_source(graph, [x])
    assert x.tolist() == [1.0, 1.0]


def test_what_is_printed_is_printed_by_the_source(capsys):
    graph = parse(
        "graph f(x: f32[n]) {\n  y: f32[n] = show(x, text='he said \"x\":')\n  return y\n}"
    )
    (y,) = run_source(graph, [tx.ones(1)])
    assert y.tolist() == [1]
    assert capsys.readouterr().out == 'he said "x": tensor([1.])\n'


def test_a_declared_graph_is_no_program():
    with pytest.raises(ThixoError, match=r"take session.program\(fetches\)"):
        python_text(tx.static.Graph("g"))
