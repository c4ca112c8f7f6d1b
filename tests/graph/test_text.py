"""The text form and its way back."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thixo.dtype import BY_CODE, bfloat16, float32
from thixo.errors import GraphError
from thixo.graph import Graph, parse
from thixo.graph.text import attribute_text
from thixo.symbolic import Dim

F = """\
graph f(x: f32[n, m], w: f32[m]) {
  y: f32[n, m] = mul(x, w)  # train.py:12
  z: f32[n] = sum(y, dim=(1,))
  return z, y
}"""


def test_the_text_is_what_people_read():
    graph = parse(F)
    assert str(graph) == F
    assert graph.nodes[0].source == "train.py:12"
    graph.verify()


def test_the_example_of_the_design_note():
    note = Path(__file__).parents[2] / "docs/design/002-graph.md"
    there_and_back(parse(note.read_text().split("```")[1]).verify())


def there_and_back(graph: Graph) -> Graph:
    data = {v.name: d for v, d in graph.constants.items()}
    again = parse(str(graph), data)
    assert again == graph
    assert str(again) == str(graph)
    return again


def test_defaults_are_left_out_and_come_back():
    graph = parse(F)
    assert graph.nodes[1].attrs["keepdim"] is False
    assert "keepdim" not in str(graph)


@pytest.mark.parametrize(
    "value",
    [0.0, -0.0, math.nan, math.inf, -math.inf, 1e-300, 0.1, 3, -3, True, 2**80, 1 + 2j, complex(-0.0, math.nan)],
)  # fmt: skip
def test_numbers_as_operands(value):
    graph = Graph("f")
    x = graph.input("x", "c128[n]")
    graph.outputs = [graph.call("add", x, value)]
    (node,) = there_and_back(graph).nodes
    assert repr(node.args[1]) == repr(value)
    assert type(node.args[1]) is type(value)


ATTRIBUTES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.complex_numbers() | st.sampled_from(BY_CODE) | st.just(...)
    | st.sampled_from([Dim("n", low=2), Dim("n") * 2 + 1, Dim("n") // Dim("m"), Dim("n") - 3]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.builds(slice, st.none() | st.integers(), st.none() | st.integers(), st.none()),
    max_leaves=6,
)  # fmt: skip


@given(ATTRIBUTES)
def test_any_attribute_reads_back(attribute):
    from thixo.graph.parser import _expression, _Parser

    parser = _Parser("graph f(x: f32[n, m]) {\n  return x\n}", {})
    text = attribute_text(attribute)
    assert "\n" not in text
    again = parser._argument(_expression(text))
    assert attribute_text(again) == text
    assert type(again) is type(attribute)


def test_comments_and_strings_with_hashes():
    text = """
    # a comment first
    graph f(x: f32[n]) {   # about f
      # and inside
      y: f32[n] = nn.functional.gelu(x, approximate='tanh')  # the fast one
      return y  # done
    }"""
    graph = parse(text)
    assert graph.nodes[0].source is None
    assert graph.nodes[0].attrs["approximate"] == "tanh"
    graph.nodes[0].args = (graph.nodes[0].args[0], "# a 'quoted' \\ # b.py:3")
    assert there_and_back(graph).nodes[0].args[1] == "# a 'quoted' \\ # b.py:3"


def test_several_results():
    text = """\
graph f(x: f32[n, m]) {
  values: f32[n, 2], indices: i64[n, 2] = topk(x, k=2)
  return indices
}"""
    assert str(there_and_back(parse(text).verify())) == text


def test_expressions_of_sizes():
    graph = Graph("f")
    graph.input("m_is", "bool[m]")
    x = graph.input("x", "f32[n, 2*m + 1]")
    graph.outputs = [graph.call("reshape", x, (-1,)), graph.call("cat", [x, x])]
    again = there_and_back(graph)
    again.verify()
    assert str(again.outputs[1].type) == "f32[2*n, 2*m + 1]"


def test_bounds_hints_and_guards():
    text = """\
graph f(x: f32[n, m]) {
  sizes n ~ 5, m >= 0 ~ 3, 1 <= k <= 9
  guard n > 3            # train.py:4
  guard n != 2*m
  y: f32[k] = tanh(z)
  return y
}"""
    text = text.replace("(x: f32[n, m])", "(x: f32[n, m], z: f32[k])")
    graph = there_and_back(parse(text).verify())
    n, m = graph.inputs[0].shape
    assert (n.hint, m.hint, m.bounds) == (5, 3, (0, None))
    assert graph.guards[0].line == "train.py:4"
    assert [str(g) for g in graph.guards] == ["n > 3", "n != 2*m"]


def test_mutations():
    text = """\
graph f(x: f32[n]) {
  y: f32[n] = add(x, 1)
  x <- y
  return
}"""
    graph = there_and_back(parse(text).verify())
    assert graph.mutations == {graph.inputs[0]: graph.nodes[0].outputs[0]}
    assert graph.outputs == []


@pytest.mark.parametrize("dtype", BY_CODE)
def test_small_constants_stand_in_the_text(dtype):
    rng = np.random.default_rng(0)
    array = (rng.standard_normal((2, 3)) * 10).astype(
        np.complex64 if dtype.is_complex else np.float32
    )
    graph = Graph("f")
    graph.outputs = [graph.constant("c", array.astype(dtype.numpy))]
    again = parse(str(graph))
    assert again == graph
    assert "..." not in str(graph)


@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5), np.array([], np.float32), np.zeros((0, 3)), np.array([-0.0, math.inf, 0.1]),
        np.array([2**64 - 1], np.uint64), np.array([0.1, 1 / 3], np.float16), np.array([True]),
        np.array([0.1, 3.3], bfloat16.numpy), np.array([[1e-45, 3.4e38]], np.float32),
    ],
)  # fmt: skip
def test_unusual_constants(array):
    graph = Graph("f")
    graph.outputs = [graph.constant("c", array)]
    assert parse(str(graph)) == graph


def test_large_constants_are_handed_over():
    graph = Graph("f")
    weights = np.arange(100, dtype=np.float32)
    graph.outputs = [graph.constant("weights", weights)]
    assert "weights: f32[100] = constant(...)" in str(graph)
    (kept,) = graph.constants.values()
    assert there_and_back(graph).constants.popitem()[1] is kept
    with pytest.raises(GraphError, match="hand it to parse"):
        parse(str(graph))
    with pytest.raises(GraphError, match="its data f32\\[3\\]"):
        parse(str(graph), {"weights": np.zeros(3, np.float32)})


def test_a_nan_with_a_payload_is_handed_over():
    odd = np.array([0xFFC00001], np.uint32).view(np.float32)
    graph = Graph("f")
    graph.outputs = [graph.constant("c", odd)]
    assert "constant(...)" in str(graph)
    there_and_back(graph)


def test_many_inputs_stand_on_lines_of_their_own():
    graph = Graph("f")
    for i in range(20):
        graph.input(f"parameter_{i}", "f32[n, m]")
    graph.outputs = graph.inputs[:1]
    assert max(map(len, str(graph).split("\n"))) <= 100
    there_and_back(graph)


BAD = {
    "needs a first line": "y = 3",
    "line 2: 'z' is not defined": "graph f(x: f32[n]) {\n  return z\n}",
    "line 2: there is no operator 'nope'": "graph f(x: f32[n]) {\n  y: f32[n] = nope(x)\n  return y\n}",
    "line 3: 'y' is defined twice": "graph f(x: f32[n]) {\n  y: f32[n] = tanh(x)\n  y: f32[n] = tanh(x)\n  return y\n}",
    "cannot read the type 'q32": "graph f(x: q32[n]) {\n  return x\n}",
    "there is no return": "graph f(x: f32[n]) {\n}",
    "closing '}' is missing": "graph f(x: f32[n]) {\n  return x",
    "text after the closing": "graph f(x: f32[n]) {\n  return x\n}\nmore",
    "statement after return": "graph f(x: f32[n]) {\n  return x\n  y: f32[n] = tanh(x)\n}",
    "cannot read 'hello'": "graph f(x: f32[n]) {\n  hello\n  return x\n}",
    "cannot read the guard": "graph f(x: f32[n]) {\n  guard n\n  return x\n}",
    "line 2: invalid syntax": "graph f(x: f32[n]) {\n  y: f32[n] = tanh(x,,)\n  return y\n}",
    "lacks 'other'": "graph f(x: f32[n]) {\n  y: f32[n] = mul(x)\n  return y\n}",
    "'f32' is no name for a value": "graph f(f32: f32[n]) {\n  return f32\n}",
    "cannot read the argument": "graph f(x: f32[n]) {\n  y: f32[n] = mul(x, lambda: 1)\n  return y\n}",
    "is no data for": "graph f() {\n  c: f32[3] = constant([1.0])\n  return c\n}",
}  # fmt: skip


@pytest.mark.parametrize("words", BAD)
def test_wrong_text_is_refused_with_its_line(words):
    with pytest.raises(GraphError) as error:
        parse(BAD[words])
    assert words in str(error.value)


def test_an_attribute_without_text_is_refused():
    graph = Graph("f")
    x = graph.input("x", "f32[n]")
    graph.outputs = [graph.call("mul", x, x)]
    graph.nodes[0].args = (x, object())
    with pytest.raises(GraphError, match="no text form"):
        str(graph)


def test_dtypes_and_devices_as_attributes():
    from thixo.device import device

    assert attribute_text((float32, device("cpu"))) == "(f32, device('cpu'))"
