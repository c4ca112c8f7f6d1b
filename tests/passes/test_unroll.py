"""Loops of a known number of turns become their turns."""

import pytest

import thixo as tx
from thixo.graph import Interpreter, parse
from thixo.graph.control import subgraphs
from thixo.passes import optimize
from thixo.passes.unroll import unroll_loops

WHILE = """
graph more(x: f32[r], i: i64[], w: f32[r]) {
  p: bool[] = lt(i, 3)
  return p
}

graph turn(x: f32[r], i: i64[], w: f32[r]) {
  a: f32[r] = mul(x, w)
  y: f32[r] = sin(a)
  j: i64[] = add(i, 1)
  return y, j
}

graph main(x: f32[n], w: f32[n]) {
  zero: i64[] = constant(0)
  y: f32[n], i: i64[] = while_loop(test=more, body=turn, state=[x, zero], captured=[w])
  return y, i
}
"""

SCAN = """
graph turn(s: f32[r], x: f32[r], w: f32[r]) {
  a: f32[r] = mul(s, w)
  y: f32[r] = add(a, x)
  return y, a
}

graph main(s: f32[n], x: f32[3, n], w: f32[n]) {
  y: f32[n], rows: f32[3, n] = scan(body=turn, state=[s], slices=[x], captured=[w], length=3, reverse=False)
  return y, rows
}
"""


def unrolled(text):
    graph = parse(text).verify()
    result = optimize(graph, only=["unroll"])
    return graph, result


def same(graph, other, *inputs):
    for a, b in zip(Interpreter(graph).run(*inputs), Interpreter(other).run(*inputs), strict=True):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_a_while_loop_with_a_counter():
    graph, result = unrolled(WHILE)
    assert result.counts == {"unroll": 1}
    assert not subgraphs(result.graph)
    names = [v.name for v in result.graph.values()]
    assert len(set(names)) == len(names)
    assert [n.op.full_name for n in result.graph.nodes] == ["mul", "sin", "add"] * 3
    same(graph, result.graph, tx.randn(4), tx.randn(4))


@pytest.mark.parametrize("back", ["False", "True"])
def test_a_scan_of_known_length(back):
    graph, result = unrolled(SCAN.replace("reverse=False", f"reverse={back}"))
    assert result.counts == {"unroll": 1}
    same(graph, result.graph, tx.randn(4), tx.randn(3, 4), tx.randn(4))


def test_a_limit_counts_as_a_test():
    graph, result = unrolled(WHILE.replace("captured=[w])", "captured=[w], limit=2)"))
    assert len(result.graph.nodes) == 6
    same(graph, result.graph, tx.randn(4), tx.randn(4))


def test_no_turn_at_all():
    graph, result = unrolled(WHILE.replace("constant(0)", "constant(7)"))
    assert not result.graph.nodes
    same(graph, result.graph, tx.randn(4), tx.randn(4))


@pytest.mark.parametrize("change", [
    ("lt(i, 3)", "lt(i, 3000)"),  # too many turns
    ("  p: bool[] = lt(i, 3)", "  s: f32[] = sum(x)\n  p: bool[] = lt(s, 3)"),  # the data decide
    ("graph main(x: f32[n], w: f32[n]) {\n  zero: i64[] = constant(0)", "graph main(x: f32[n], w: f32[n], zero: i64[]) {"),
])  # fmt: skip
def test_what_is_not_known_stays_a_loop(change):
    text = WHILE.replace(*change)
    _, result = unrolled(text)
    assert not result.counts


def test_loops_in_loops_and_in_branches():
    inner = WHILE.replace("graph main(", "graph inner(").replace("return y, i\n", "return y\n")
    text = (
        inner
        + """
graph other(x: f32[r], w: f32[r]) {
  y: f32[r] = neg(x)
  return y
}

graph outer(s: f32[r], x: f32[r]) {
  y: f32[r] = call(graph=inner, inputs=[s, x])
  return y
}

graph main(p: bool[], s: f32[n], x: f32[2, n]) {
  y: f32[n] = scan(body=outer, state=[s], slices=[x], captured=[], length=2)
  z: f32[n] = cond(p, then=inner, other=other, inputs=[y, s])
  return z
}"""
    )
    graph = parse(text).verify()
    result = optimize(graph, off=["fuse"] if "fuse" in tx.passes.PASSES else [])
    assert not any(
        n.op.full_name in ("scan", "while_loop")
        for g in (result.graph, *subgraphs(result.graph))
        for n in g.nodes
    )
    for p in (True, False):
        same(graph, result.graph, tx.tensor(p), tx.randn(4), tx.randn(2, 4))


def test_a_user_may_ask_for_more():
    graph = parse(WHILE.replace("lt(i, 3)", "lt(i, 30)"))
    assert unroll_loops(graph) == 0
    assert unroll_loops(graph, turns=50, nodes=1000) == 1
    assert len(graph.verify().nodes) == 90
