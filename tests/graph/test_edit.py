"""Edits by hand: what is refused, and that undo gives back the graph."""

import pytest

from thixo.errors import ArgumentError, GraphError
from thixo.graph import parse
from thixo.graph.edit import Editor

TEXT = """
graph f(x: f32[n], k: i64[n]) {
  y: f32[n] = tanh(x)           # model.py:2
  z: f32[n] = exp(y)            # model.py:3
  w: f32[n] = add(z, y)         # model.py:4
  x <- z
  return w
}"""


@pytest.fixture
def graph():
    return parse(TEXT)


def test_a_needed_node_stays(graph):
    editor = Editor(graph)
    with pytest.raises(GraphError, match=r"remove: y is needed by z: .*model.py:3"):
        editor.remove(graph.nodes[0])
    with pytest.raises(GraphError, match="remove: w is a result of graph f"):
        editor.remove(graph.nodes[2])
    assert graph == parse(TEXT)


def test_a_replacement_must_have_the_type_and_be_there_in_time(graph):
    editor = Editor(graph)
    y, z, w = (n.outputs[0] for n in graph.nodes)
    with pytest.raises(GraphError, match="the types differ"):
        editor.replace(y, graph.inputs[1])
    with pytest.raises(GraphError, match="w is not defined there"):
        editor.replace(y, w)
    assert graph == parse(TEXT)
    editor.replace(y, graph.inputs[0])
    graph.verify()
    assert str(graph.nodes[1]) == "z: f32[n] = exp(x)"
    editor.undo()
    assert graph == parse(TEXT)
    editor.replace(z, y)  # also what the graph changes and returns
    assert str(graph).count("x <- y") == 1
    editor.undo()
    assert graph == parse(TEXT)


def test_an_inserted_node_must_find_its_inputs(graph):
    editor = Editor(graph)
    y, z, _ = graph.nodes
    with pytest.raises(GraphError, match="insert neg: z is not defined there"):
        editor.insert("neg", z.outputs[0], before=z)
    made = editor.insert("neg", y.outputs[0], before=z)
    editor.replace(z.outputs[0], made)
    editor.remove(z)
    graph.verify()
    assert [n.op.full_name for n in graph.nodes] == ["tanh", "neg", "add"]
    editor.undo(3)
    assert graph == parse(TEXT)
    with pytest.raises(ArgumentError, match="there are 0 edits"):
        editor.undo()


def test_a_value_can_be_replaced_by_something_made_of_it(graph):
    editor = Editor(graph)
    y, z, _ = graph.nodes
    twice = editor.insert("mul", y.outputs[0], 2, before=z)
    editor.replace(y.outputs[0], twice)
    graph.verify()
    assert [str(n).split(" = ")[1] for n in graph.nodes] == [
        "tanh(x)",
        "mul(y, 2)",
        "exp(mul)",
        "add(z, mul)",
    ]


def test_a_node_of_another_graph_is_refused(graph):
    with pytest.raises(GraphError, match="is no node of graph f"):
        Editor(graph).remove(parse(TEXT).nodes[2])


def test_what_is_no_part_of_a_graph_is_refused():
    graph = parse("graph f(x: f32[n]) {\n  y: f32[n] = tanh(x)\n  return y\n}")
    editor = Editor(graph)
    edits = [lambda: editor.replace("x", "y"), lambda: editor.remove("y"), lambda: editor.undo(-1),
             lambda: editor.insert("mul", graph.inputs[0], "x")]  # fmt: skip
    for edit in edits:
        with pytest.raises(ArgumentError):
            edit()
    with pytest.raises(GraphError, match=r"did you mean .*'tanh'"):
        editor.insert("tahn", graph.inputs[0])
    assert str(graph.nodes[0]) == "y: f32[n] = tanh(x)"
