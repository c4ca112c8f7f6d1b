"""Control flow in graphs: types, text, running."""

import sys

import numpy as np
import pytest

from thixo.errors import GraphError, ShapeError
from thixo.graph import Graph, Interpreter, parse, python_text
from thixo.graph.control import is_random, subgraphs

TWICE = """
graph double(x: f64[n]) {
  y: f64[n] = add(x, x)
  return y
}

graph negate(x: f64[n]) {
  y: f64[n] = neg(x)
  return y
}
"""
CHOOSE = (
    TWICE
    + """
graph choose(p: bool[], x: f64[m]) {
  y: f64[m] = cond(p, then=double, other=negate, inputs=[x])
  z: f64[m] = call(graph=double, inputs=[y])
  return z
}
"""
)
FUSED = CHOOSE.replace("call(", "fused(")
COLLATZ = """
graph is_above_one(x: i64[], steps: i64[]) {
  more: bool[] = gt(x, 1)
  return more
}

graph step(x: i64[], steps: i64[]) {
  half: i64[] = floor_divide(x, 2)
  triple: i64[] = mul(x, 3)
  other: i64[] = add(triple, 1)
  rest: i64[] = remainder(x, 2)
  odd: bool[] = eq(rest, 1)
  next: i64[] = where(odd, other, half)
  count: i64[] = add(steps, 1)
  return next, count
}

graph collatz(x: i64[]) {
  zero: i64[] = sub(x, x)
  last: i64[], steps: i64[] = while_loop(test=is_above_one, body=step, state=[x, zero], captured=[])
  return steps
}
"""
SUMS = """
graph body(total: f64[m], row: f64[m], scale: f64[]) {
  scaled: f64[m] = mul(row, scale)
  now: f64[m] = add(total, scaled)
  return now, now
}

graph sums(x: f64[n, m], start: f64[m], scale: f64[]) {
  last: f64[m], all: f64[n, m] = scan(body=body, state=[start], slices=[x], captured=[scale], length=n, reverse=REVERSE)
  return last, all
}
"""

BACKENDS = ["eager", "reference"]


def run(text: str, backend: str, *inputs):
    results = Interpreter(parse(text).verify(), backend).run(*map(np.asarray, inputs))
    return [np.asarray(r if backend == "reference" else r.numpy()) for r in results]


@pytest.mark.parametrize("text", [CHOOSE, FUSED, COLLATZ, SUMS.replace("REVERSE", "False")])
def test_text_reads_back_as_the_same_graph(text):
    graph = parse(text)
    assert parse(str(graph)) == graph
    assert str(graph.copy()) == str(graph)
    assert graph.copy() == graph
    assert not {id(g) for g in subgraphs(graph)} & {id(g) for g in subgraphs(graph.copy())}


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_of_two_graphs_runs(backend):
    x = np.array([1.0, 2.0])
    assert run(CHOOSE, backend, True, x)[0].tolist() == [4.0, 8.0]
    assert run(CHOOSE, backend, False, x)[0].tolist() == [-2.0, -4.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fused_graph_is_a_call_to_those_who_interpret(backend):
    x = np.array([1.0, 2.0])
    assert run(FUSED, backend, True, x)[0].tolist() == [4.0, 8.0]
    assert python_text(parse(FUSED)) == python_text(parse(CHOOSE))
    with pytest.raises(GraphError, match="fused: graph double takes 1 inputs, got 2"):
        parse(FUSED.replace("inputs=[y])", "inputs=[y, y])")).verify()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("start", "steps"), [(1, 0), (6, 8), (27, 111)])
def test_a_loop_runs_as_often_as_its_test_says(backend, start, steps):
    assert run(COLLATZ, backend, start)[0] == steps


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_through_the_slices(backend, reverse):
    x = np.arange(6.0).reshape(3, 2)
    last, every = run(SUMS.replace("REVERSE", str(reverse)), backend, x, np.ones(2), 2.0)
    rows = x[::-1] if reverse else x
    sums = 1 + 2 * np.cumsum(rows, 0)
    assert last.tolist() == sums[-1].tolist()
    assert every.tolist() == (sums[::-1] if reverse else sums).tolist()


def test_equal_graphs_are_one_object_after_parsing():
    graph = parse(CHOOSE)
    cond, call = graph.nodes
    assert cond.args[1] is call.args[0]
    assert [g.name for g in subgraphs(graph)] == ["double", "negate"]


def test_graphs_of_one_name_get_names_of_their_own_in_the_text():
    graph = parse(CHOOSE)
    graph.nodes[0].args[2].name = "double"
    again = parse(str(graph))
    assert [g.name for g in subgraphs(again)] == ["double", "double_1"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (("negate(x: f64[n]) {\n  y: f64[n] = neg(x)", "negate(x: f64[n]) {\n  y: bool[n] = eq(x, x)"),
         GraphError, "must give the same types: (f64[m]) and (bool[m])"),
        (("choose(p: bool[]", "choose(p: i64[]"), GraphError, "cond: pred must be bool[]"),
        (("choose(p: bool[], x: f64[m])", "choose(p: bool[], x: f32[m])"), GraphError,
         "input x of graph double must be f64[n], is f32[m]"),
        (("inputs=[x])", "inputs=[x, x])"), GraphError, "graph double takes 1 inputs, got 2"),
        (("then=double", "then=triple"), GraphError, "there is no graph 'triple' before this one"),
        (("then=double", "then=x"), GraphError, "there is no graph 'x' before this one"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(change, error, words):
    assert change[0] in CHOOSE
    with pytest.raises(error) as caught:
        parse(CHOOSE.replace(*change)).verify()
    assert words in str(caught.value)


def test_a_body_must_keep_the_types_of_the_state():
    text = COLLATZ.replace("return next, count", "return odd, count")
    with pytest.raises(GraphError, match="must give the state as it gets it"):
        parse(text).verify()


def test_sizes_of_a_graph_are_its_own():
    text = TWICE.replace("f64[n]", "f64[n, n]") + (
        "graph f(x: f64[m, 3]) {\n  y: f64[m, 3] = call(graph=double, inputs=[x])\n  return y\n}"
    )
    with pytest.raises((GraphError, ShapeError), match="m"):
        parse(text).verify()
    square = text.replace("m, 3", "m, m")
    assert parse(square).verify().outputs[0].type.shape[0] is not None


def test_a_graph_cannot_be_part_of_itself():
    graph = parse(CHOOSE)
    double = graph.nodes[1].args[0]
    double.nodes.append(graph.nodes[1])
    with pytest.raises(GraphError, match="part of itself"):
        subgraphs(graph)


def test_random_numbers_inside_of_a_graph_are_seen():
    text = (
        TWICE.replace("y: f64[n] = neg(x)", "y: f64[n] = bernoulli(x)")
        + CHOOSE.split("}")[-2]
        + "}"
    )
    graph = parse(text)
    assert is_random(graph.nodes[0])
    assert not is_random(graph.nodes[1])


def test_graphs_may_stand_in_graphs_as_deep_as_one_likes():
    graph = Graph("g")
    graph.outputs = [graph.call("neg", graph.input("x", "f32[n]"))]
    for _ in range(1500):
        outer = Graph("g")
        outer.outputs = [outer.call("call", graph, [outer.input("x", "f32[n]")])]
        graph = outer
    limit = sys.getrecursionlimit()
    assert Interpreter(graph, "reference").run(np.ones(2, np.float32))[0].tolist() == [-1.0, -1.0]
    assert sys.getrecursionlimit() == limit  # or C code of others overflows its stack
