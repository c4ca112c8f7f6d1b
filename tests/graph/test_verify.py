"""What the verifier refuses, and that it says where."""

import numpy as np
import pytest

from thixo.errors import GraphError
from thixo.graph import Graph, Node, Value, parse, parse_type
from thixo.graph.operators import find


@pytest.fixture
def graph():
    return parse("""
    graph f(x: f32[n, m], w: f32[m]) {
      y: f32[n, m] = mul(x, w)             # train.py:12
      z: f32[n] = sum(y, dim=(1,))         # train.py:13
      return z
    }""")


def refused(graph: Graph, words: str) -> str:
    with pytest.raises(GraphError) as error:
        graph.verify()
    assert words in str(error.value)
    return str(error.value)


def test_a_good_graph_passes(graph):
    assert graph.verify() is graph


def test_use_before_definition(graph):
    graph.nodes.reverse()
    message = refused(graph, "its input 'y' is not defined before")
    assert "graph f: node z: f32[n] = sum(y" in message
    assert message.endswith("(train.py:13)")


def test_a_value_of_another_graph(graph):
    graph.nodes[1].args = (Value("y", parse_type("f32[n, m]")), *graph.nodes[1].args[1:])
    refused(graph, "its input 'y' belongs to another graph")


def test_a_name_twice(graph):
    graph.nodes[1].outputs[0].name = "y"
    refused(graph, "'y' is defined twice")


def test_a_name_that_is_a_size(graph):
    graph.nodes[0].outputs[0].name = "n"
    refused(graph, "'n' is the name of a value and of a size")


def test_a_name_that_is_a_word(graph):
    graph.nodes[0].outputs[0].name = "return"
    refused(graph, "'return' is no name for a value")


@pytest.mark.parametrize(
    "type", ["f64[n, m]", "f32[m, n]", "f32[n]", "f32[n, m, 1]", "f32[n, m + 1]"]
)
def test_a_type_that_is_not_the_rule_s(graph, type):
    graph.nodes[0].outputs[0].type = parse_type(type)
    refused(graph, f"y is {type}, its rule gives f32[n, m]")


def test_a_wrong_number_of_arguments(graph):
    graph.nodes[0].args = graph.nodes[0].args[:1]
    refused(graph, "has 1 arguments")


def test_a_wrong_number_of_results(graph):
    graph.nodes[0].outputs = (*graph.nodes[0].outputs, Value("more", parse_type("f32[n]")))
    refused(graph, "has 2 results, its rule gives 1")


def test_arguments_of_the_wrong_kind(graph):
    x = graph.inputs[0]
    graph.nodes[1].args = (3.0, *graph.nodes[1].args[1:])
    refused(graph, "input must be a value, is 3.0")
    graph.nodes[0].args = (x, "text")
    refused(graph, "other must be a value or a number, is 'text'")


def test_a_rule_that_refuses_is_quoted_with_the_line():
    graph = parse("""
    graph f(x: f32[3], y: f32[4]) {
      z: f32[3] = add(x, y)    # train.py:7
      return z
    }""")
    message = refused(graph, "do not broadcast")
    assert message.endswith("(train.py:7)")
    assert message.count("(train.py") == 1


def test_an_operator_that_is_not_in_the_table(graph):
    class Fake:
        full_name = "fake"
        sig = graph.nodes[0].op.sig

    graph.nodes[0].op = Fake
    refused(graph, "is no operator of the table")


def test_an_output_that_is_not_defined(graph):
    graph.outputs = [Value("q", parse_type("f32[n]"))]
    refused(graph, "the output 'q' is not defined in it")


def test_a_size_that_nothing_binds(graph):
    x = graph.inputs[0]
    graph.nodes.insert(0, Node(find("tanh"), (x,), [Value("t", parse_type("f32[k, m]"))]))
    refused(graph, "t is f32[k, m], its rule gives f32[n, m]")
    other = parse("graph g(x: f32[2*n]) {\n  return x\n}")
    refused(other, "nothing says how large n is")


def test_a_guard_of_unknown_sizes(graph):
    text = str(graph).replace("{\n", "{\n  guard q == 3\n", 1)
    refused(parse(text), "guard q == 3: nothing says how large q is")


def test_a_type_that_holds_only_under_a_guard():
    text = """
    graph f(x: f32[n], y: f32[m]) {
      sizes n ~ 3, m ~ 3
      z: f32[n] = add(x, y)
      return z
    }"""
    refused(parse(text), "its type needs n == m, which is no guard of the graph")
    parse(text.replace("z:", "guard n == m\n      z:")).verify()


def test_what_cannot_change(graph):
    y, z = graph.nodes[0].outputs[0], graph.nodes[1].outputs[0]
    graph.mutations = {y: y}
    refused(graph, "y <- y: only inputs and constants can change")
    graph.mutations = {graph.inputs[0]: z}
    refused(graph, "x <- z: f32[n, m] becomes f32[n]")


def test_a_constant_has_no_symbols():
    graph = Graph("f")
    constant = graph.constant("c", np.zeros(3))
    constant.type = parse_type("f64[n]")
    refused(graph, "has a symbolic size")


def test_sizes_that_the_data_decide():
    graph = Graph("f")
    x = graph.input("x", "f32[n, m]")
    found = graph.call("nonzero_places", x)
    graph.outputs = [graph.call("sum", found, dim=0)]
    again = parse(str(graph.verify()))
    assert again == graph
    again.verify()
