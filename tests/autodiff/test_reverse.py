"""Gradients as a pass: against finite differences, through control flow, twice."""

import numpy as np
import pytest

import thixo as tx
from tests.fuzz.gradients import LOOP
from thixo.autodiff import add_gradients, gradient_graph
from thixo.errors import ArgumentError, AutogradError
from thixo.graph import Graph, Interpreter, parse

PLAIN = """
graph main(x: f64[n, m], w: f64[m, k], b: f64[k]) {
  a: f64[n, k] = matmul(x, w)
  c: f64[n, k] = add(a, b)
  t: f64[n, k] = tanh(c)
  u: f64[n, k] = mul(t, b)
  p: f64[n, k] = softmax(u, dim=-1)
  l: f64[n, k] = log(p)
  s: f64[] = sum(l)
  return s
}
"""
CELL = """
graph cell(h: f64[m], x: f64[m], w: f64[m, m]) {
  a: f64[m] = matmul(w, h)
  b: f64[m] = add(a, x)
  c: f64[m] = tanh(b)
  d: f64[m] = mul(c, x)
  return c, d
}

graph run(x: f64[n, m], h: f64[m], w: f64[m, m]) {
  last: f64[m], all: f64[n, m] = scan(body=cell, state=[h], slices=[x], captured=[w], length=n, reverse=BACK)
  s: f64[] = sum(all)
  return s
}
"""
SCAN = CELL.replace("graph run", "graph main").replace("BACK", "False")
SCAN_BACK = SCAN.replace("reverse=False", "reverse=True")
CALLS = (
    CELL.replace("BACK", "False")
    + """
graph main(x: f64[n, m], h: f64[m], w: f64[m, m]) {
  y: f64[] = call(graph=run, inputs=[x, h, w])
  z: f64[] = call(graph=run, inputs=[x, h, w])
  t: f64[] = mul(y, z)
  return t
}
"""
)
BRANCH = (
    CELL.replace("BACK", "False")
    + """
graph plain(x: f64[n, m], h: f64[m], w: f64[m, m]) {
  e: f64[n, m] = exp(x)
  f: f64[n, m] = mul(e, h)
  s: f64[] = sum(f)
  return s
}

graph third(x: f64[n, m], h: f64[m], w: f64[m, m]) {
  s: f64[] = sum(w)
  return s
}

graph main(x: f64[n, m], h: f64[m], w: f64[m, m], p: WHICH) {
  y: f64[] = CHOICE
  z: f64[] = mul(y, y)
  return z
}
"""
)
COND = BRANCH.replace("WHICH", "bool[]").replace(
    "CHOICE", "cond(p, then=run, other=plain, inputs=[x, h, w])"
)
SWITCH = BRANCH.replace("WHICH", "i64[]").replace(
    "CHOICE", "switch(p, branches=[run, plain, third], inputs=[x, h, w])"
)
WHILE = LOOP
LINEAR = WHILE.replace("b: f64[m] = sin(a)", "b: f64[m] = neg(a)").replace(
    "a: f64[m] = mul(x, w)", "a: f64[m] = mul(x, 0.1)"
)
LOOP_IN_BRANCH = (
    WHILE.replace("graph main", "graph looped")
    + """
graph direct(x: f64[m], w: f64[m], most: i64[]) {
  a: f64[m] = mul(x, w)
  s: f64[] = sum(a)
  return s
}

graph main(x: f64[m], w: f64[m], most: i64[], p: bool[]) {
  y: f64[] = cond(p, then=looped, other=direct, inputs=[x, w, most])
  return y
}
"""
)
BRANCH_IN_LOOP = """
graph more(x: f64[m], i: i64[], w: f64[m], most: i64[]) {
  p: bool[] = lt(i, most)
  return p
}

graph up(x: f64[m], w: f64[m]) {
  a: f64[m] = mul(x, w)
  b: f64[m] = sin(a)
  return b
}

graph down(x: f64[m], w: f64[m]) {
  a: f64[m] = add(x, w)
  b: f64[m] = tanh(a)
  return b
}

graph step(x: f64[m], i: i64[], w: f64[m], most: i64[]) {
  rest: i64[] = remainder(i, 2)
  odd: bool[] = eq(rest, 1)
  y: f64[m] = cond(odd, then=up, other=down, inputs=[x, w])
  z: f64[m] = add(y, x)
  j: i64[] = add(i, 1)
  return z, j
}

graph main(x: f64[m], w: f64[m], most: i64[]) {
  zero: i64[] = sub(most, most)
  y: f64[m], turns: i64[] = while_loop(test=more, body=step, state=[x, zero], captured=[w, most])
  s: f64[] = sum(y)
  return s
}
"""


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape) * 0.6


MATRICES = (draw(4, 3), draw(3), draw(3, 3))
CASES = {
    "plain": (PLAIN, (draw(4, 3), draw(3, 2), draw(2))),
    "scan": (SCAN, MATRICES),
    "scan from the end": (SCAN_BACK, MATRICES),
    "two calls of one graph": (CALLS, MATRICES),
    "two fused graphs": (CALLS.replace("call(", "fused("), MATRICES),
    "cond, true": (COND, (*MATRICES, np.array(True))),
    "cond, false": (COND, (*MATRICES, np.array(False))),
    **{f"switch {i}": (SWITCH, (*MATRICES, np.array(i))) for i in (0, 1, 2, 9)},
    **{f"while {i}": (WHILE, (draw(3), draw(3), np.array(i))) for i in (0, 1, 5, 64, 65, 90)},
    "a loop that keeps nothing": (LINEAR, (draw(3), draw(3), np.array(70))),
    "loop in branch": (LOOP_IN_BRANCH, (draw(3), draw(3), np.array(7), np.array(True))),
    "branch beside a loop": (LOOP_IN_BRANCH, (draw(3), draw(3), np.array(7), np.array(False))),
    "branch in loop": (BRANCH_IN_LOOP, (draw(3), draw(3), np.array(70))),
}  # fmt: skip


def run(graph: Graph, inputs) -> list[np.ndarray]:
    return Interpreter(graph, "reference").run(*inputs)


def slope(graph: Graph, inputs, which: int) -> np.ndarray:
    """Finite differences of a graph's first output by one input."""
    made = np.zeros_like(inputs[which])
    for i in np.ndindex(made.shape):
        values = []
        for step in (1e-6, -1e-6):
            moved = [np.array(x) for x in inputs]
            moved[which][i] += step
            values.append(run(graph, moved)[0])
        made[i] = (values[0] - values[1]) / 2e-6
    return made


def graded(graph: Graph) -> list[int]:
    return [i for i, v in enumerate(graph.inputs) if v.type.dtype is tx.float64]


@pytest.mark.parametrize("case", CASES)
def test_first_gradients_are_the_slopes(case):
    text, inputs = CASES[case]
    graph = parse(text).verify()
    both = gradient_graph(graph)
    both.verify()
    assert parse(str(both)) == both
    value, *gradients = run(both, inputs)
    assert np.allclose(value, run(graph, inputs)[0])
    for which, gradient in zip(graded(graph), gradients, strict=True):
        np.testing.assert_allclose(gradient, slope(graph, inputs, which), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("case", [c for c in CASES if c not in ("while 90", "while 64")])
def test_second_gradients_are_the_slopes_of_the_first(case):
    text, inputs = CASES[case]
    graph = gradient_graph(parse(text))
    squares = [graph.call("sum", graph.call("mul", g, g)) for g in graph.outputs[1:]]
    total = squares[0]
    for square in squares[1:]:
        total = graph.call("add", total, square)
    wrt = [graph.inputs[i] for i in graded(graph)]
    graph.outputs = [total, *add_gradients(graph, [total], wrt)]
    graph.verify()
    _, *gradients = run(graph, inputs)
    for which, gradient in zip(graded(graph), gradients, strict=True):
        np.testing.assert_allclose(gradient, slope(graph, inputs, which), rtol=1e-4, atol=1e-6)


def test_a_long_loop_keeps_few_states():
    kept = []

    class Watched(Interpreter):
        def run_node(self, node, args):
            made = super().run_node(node, args)
            if node.op.full_name == "while_loop":
                kept.extend(len(m) for m in made[len(node.args[2]) :])
            return made

    Watched(gradient_graph(parse(WHILE)), "reference").run(draw(3), draw(3), np.array(600))
    assert (
        max(kept) == 64
    )  # the first turns; then a state for 256 of the others, and 16 and 16 inside
    assert max(k for k in kept if k < 64) == 16


def peak_of(graph: Graph, *inputs) -> int:
    """Bytes that a run holds beyond its inputs, by the allocator's own count."""
    given = [tx.from_numpy(np.asarray(x)) for x in inputs]
    run = Interpreter(graph)
    before = tx._core.memory_stats()["in_use"]
    tx._core.memory_reset_peak()
    run.run(*given)
    return tx._core.memory_stats()["peak"] - before


def test_a_long_loop_fits_in_250_states():
    # 2,000 turns here; `python -m tests.fuzz.gradients` goes through 10,000.
    state = draw(4096)
    both = gradient_graph(parse(WHILE))
    assert peak_of(both, state, draw(4096) * 0.1, np.array(2000)) < 220 * state.nbytes


@pytest.mark.parametrize(("turns", "most"), [(16, 60), (64, 160), (None, 2000)])
def test_how_many_turns_are_kept_is_the_caller_s_to_say(turns, most):
    state, weights = draw(512), draw(512) * 0.1
    both = gradient_graph(parse(WHILE), kept_turns=turns)
    states = peak_of(both, state, weights, np.array(400)) / state.nbytes
    assert states < most
    if turns is None:
        assert states > 800  # two values a turn
    given = [tx.from_numpy(np.asarray(x)) for x in (state, weights, 400)]
    found = Interpreter(both).run(*given)[1]
    wanted = Interpreter(gradient_graph(parse(WHILE))).run(*given)[1]
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)


def test_a_budget_that_is_none_is_refused():
    with pytest.raises(ArgumentError, match="kept_turns must be"):
        gradient_graph(parse(WHILE), kept_turns=1)


MASKED = """
graph then(x: f64[n], v: f64[]) {
  sizes nonzero >= 0
  places: i64[nonzero, 1] = nonzero_places(x)
  i: i64[nonzero] = select(places, dim=1, index=0)
  y: f64[n] = index_set(x, [i], v, axes=(0,))
  return y
}

graph other(x: f64[n], v: f64[]) {
  y: f64[n] = mul(x, v)
  return y
}

graph main(p: bool[], x: f64[n], v: f64[]) {
  y: f64[n] = cond(p, then=then, other=other, inputs=[x, v])
  z: f64[n] = mul(y, y)
  s: f64[] = sum(z)
  return s
}
"""


@pytest.mark.parametrize("x", [(0.0, 0.0, 0.0), (0.0, 0.0, 3.0), (1.0, 0.0, 3.0)])
def test_a_branch_may_write_to_as_many_places_as_the_data_say(x):
    both = gradient_graph(parse(MASKED)).verify()
    given = tx.tensor(x, dtype=tx.float64), tx.tensor(2.0, dtype=tx.float64)
    _, gx, gv = Interpreter(both).run(tx.tensor(True), *given)
    assert gx.tolist() == [0.0, 0.0, 0.0]
    assert gv.item() == 4.0 * sum(one != 0 for one in x)


def test_a_value_that_nothing_depends_on_gets_zeros():
    graph = parse("graph f(x: f32[3], y: f32[2]) {\n  s: f32[] = sum(x)\n  return s\n}")
    _, by_x, by_y = Interpreter(gradient_graph(graph)).run(tx.ones(3), tx.ones(2))
    assert by_x.tolist() == [1.0, 1.0, 1.0]
    assert by_y.tolist() == [0.0, 0.0]


def test_equal_graphs_are_differentiated_once():
    both = gradient_graph(parse(CALLS))
    calls = [n for n in both.nodes if n.op.full_name == "call"]
    assert len(calls) == 4
    assert len({id(n.args[0]) for n in calls}) == 2


def test_what_has_no_gradient_is_refused():
    graph = parse("graph f(x: i64[3]) {\n  s: i64[] = sum(x)\n  return s\n}")
    with pytest.raises(AutogradError, match="x: i64"):
        add_gradients(graph, graph.outputs, graph.inputs)


def test_a_failing_rule_is_named_once_however_deep_it_stands():
    graph = parse(WHILE.replace("mul(x, w)", "mul(x, 'w')"))
    with pytest.raises(ArgumentError) as error:
        gradient_graph(graph)
    assert str(error.value).count("gradient of ") == 1
    assert str(error.value).startswith("gradient of mul: ")


def test_a_result_with_axes_needs_a_seed():
    graph = parse("graph f(x: f32[3]) {\n  y: f32[3] = exp(x)\n  return y\n}")
    with pytest.raises(AutogradError, match="is no scalar"):
        gradient_graph(graph)
    seed = graph.input("seed", "f32[3]")
    graph.outputs = add_gradients(graph, graph.outputs, graph.inputs[:1], [seed])
    assert Interpreter(graph).run(tx.zeros(3), tx.ones(3) * 2)[0].tolist() == [2.0, 2.0, 2.0]


def test_gradient_nodes_carry_the_line_of_what_they_differentiate():
    graph = parse(
        "graph f(x: f32[3]) {\n  y: f32[3] = exp(x)  # model.py:7\n  s: f32[] = sum(y)  # model.py:8\n  return s\n}"
    )
    made = [n.source for n in gradient_graph(graph).nodes[2:]]
    assert "model.py:7" in made
    assert "model.py:8" in made


WRITTEN = """
graph f(v: f64[h], w: f64[r], b: f64[]) {
  sizes h ~ 2, r ~ 2
  guard h == r
  part: f64[r - 1] = slice(w, start=1)
  value: f64[r - 1] = copy(part, b)
  new: f64[r] = slice_scatter(w, value, start=1)
  y: f64[h] = add(v, new)
  s: f64[] = sum(y)
  return s
}
"""


def test_a_size_that_is_1_in_the_example_is_not_taken_to_be_1():
    gradients = gradient_graph(parse(WRITTEN))  # returns the sum, then the gradients
    given = [tx.tensor(x, dtype=tx.float64) for x in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], 0.5)]
    found = Interpreter(gradients).run(*given)
    assert [x.tolist() for x in found[-3:]] == [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], 2.0]
