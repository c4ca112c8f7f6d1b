"""Graphs built by hand: structure, types, names."""

import time

import numpy as np
import pytest

from thixo.dtype import float32, int64
from thixo.errors import ArgumentError, GraphError, ShapeError
from thixo.graph import Graph, Type, parse, parse_type
from thixo.graph.ir import values_in


def two_nodes() -> Graph:
    graph = Graph("f")
    x = graph.input("x", "f32[n, m]")
    w = graph.input("w", "f32[m]")
    y = graph.call("mul", x, w, name="y", source="train.py:12")
    graph.outputs = [graph.call("sum", y, dim=1, name="z")]
    return graph


def test_a_node_keeps_its_arguments_in_the_order_of_the_signature():
    node = two_nodes().nodes[1]
    assert [v.name for v in node.inputs] == ["y"]
    assert node.attrs["dim"] == (1,)
    assert [p.name for p in node.op.sig.params] == ["input", *list(node.attrs)]


def test_types_follow_from_the_operators():
    graph = two_nodes()
    assert str(graph.nodes[0].outputs[0].type) == "f32[n, m]"
    assert str(graph.outputs[0].type) == "f32[n]"


def test_promotion_with_numbers_and_scalars():
    graph = Graph("f")
    whole = graph.input("whole", "i32[n]")
    half = graph.input("half", "f16[]")
    assert str(graph.call("add", whole, 2).type) == "i32[n]"
    assert str(graph.call("add", whole, 2.5).type) == "f32[n]"
    assert str(graph.call("add", whole, half).type) == "f16[n]"
    assert str(graph.call("tanh", whole).type) == "f32[n]"
    assert str(graph.call("lt", whole, 1).type) == "bool[n]"


def test_names_are_made_unique():
    graph = Graph("f")
    x = graph.input("x", "f32[n]")
    names = [graph.call("tanh", x, name=n).name for n in ("y", "y", "x", "n", "f32", "a.b")]
    assert names == ["y", "y_1", "x_1", "n_1", "f32_1", "a_b"]
    graph.outputs = [x]
    graph.verify()


def test_a_wrong_call_is_refused_where_it_is_made():
    graph = Graph("f")
    x = graph.input("x", "f32[3]")
    y = graph.input("y", "f32[4]")
    with pytest.raises(ShapeError, match="do not broadcast"):
        graph.call("add", x, y)
    with pytest.raises(ArgumentError, match="lacks 'other'"):
        graph.call("mul", x)
    with pytest.raises(ArgumentError, match="no such parameter"):
        graph.call("mul", x, y, axis=1)
    with pytest.raises(GraphError, match="no operator 'no_such'"):
        graph.call("no_such", x)


def test_types_compare_by_expression():
    assert parse_type("f32[2*n, m]") == parse_type("f32[n + n, m]")
    assert parse_type("f32[n]") != parse_type("f32[m]")
    assert parse_type("f32[n]") != parse_type("f64[n]")
    assert Type(float32, (2,)) != Type(int64, (2,))


def test_equality_is_of_structure():
    assert two_nodes() == two_nodes()
    other = two_nodes()
    other.nodes[0].source = "elsewhere.py:1"
    assert other == two_nodes()
    other.outputs = [other.inputs[0]]
    assert other != two_nodes()


def test_equality_looks_at_constants():
    a, b = Graph("f"), Graph("f")
    a.constant("c", np.arange(100.0))
    b.constant("c", np.arange(100.0))
    assert a == b
    other = Graph("f")
    other.constant("c", np.where(np.arange(100) == 5, -1.0, np.arange(100.0)))
    assert a != other


def test_a_copy_is_equal_and_separate():
    graph = two_nodes()
    copy = graph.copy()
    assert copy == graph
    assert not set(copy.values()) & set(graph.values())
    copy.verify()
    copy.call("tanh", copy.inputs[0])
    assert len(graph.nodes) == 2


def test_users():
    graph = two_nodes()
    users = graph.users()
    assert users[graph.inputs[0]] == [graph.nodes[0]]
    assert graph.nodes[1].outputs[0] not in users


def test_values_inside_of_lists_are_found():
    graph = Graph("f")
    x, y = graph.input("x", "f32[n]"), graph.input("y", "f32[m]")
    joined = graph.call("cat", [x, y])
    assert str(joined.type) == "f32[m + n]"
    assert list(values_in(graph.nodes[0].args)) == [x, y]


def test_ten_thousand_nodes():
    start = time.perf_counter()
    graph = Graph("deep")
    value = graph.input("x", "f32[n, m]")
    for i in range(10_000):
        value = graph.call("mul", value, value, source=f"deep.py:{i}")
    graph.outputs = [value]
    graph.verify()
    text = str(graph)
    # About half a second here; the bound only catches a cost that grows with the square.
    assert time.perf_counter() - start < 20
    assert parse(text) == graph
