"""Products of all turns in one, and parts that are put side by side."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Interpreter, parse
from thixo.graph.control import SCAN, product_in
from thixo.passes import optimize

LOOP = """
graph turn(h: f64[m, k], total: f64[j, k], x: f64[m, j], w: f64[j, k], u: f64[k, k]) {
  a: f64[m, k] = matmul(x, w)
  ut: f64[k, k] = transpose(u, 0, 1)
  b: f64[m, k] = matmul(h, ut)
  c: f64[m, k] = sub(a, b)
  y: f64[m, k] = tanh(c)
  xt: f64[j, m] = transpose(x, 0, 1)
  g: f64[j, k] = matmul(xt, y)
  more: f64[j, k] = add(total, g)
  wt: f64[k, j] = transpose(w, 0, 1)
  z: f64[m, j] = matmul(y, wt)
  return y, more, z
}

graph main(h: f64[2, 3], total: f64[4, 3], x: f64[9, 2, 4], w: f64[4, 3], u: f64[3, 3]) {
  y: f64[2, 3], t: f64[4, 3], z: f64[9, 2, 4] = scan(body=turn, state=[h, total], slices=[x], captured=[w, u], length=9, reverse=BACK)
  return y, t, z
}
"""


def _draw(graph, seed=0):
    rng = np.random.default_rng(seed)
    return [tx.tensor(rng.standard_normal([int(s) for s in v.type.shape])) for v in graph.inputs]


@pytest.mark.parametrize("back", [False, True])
def test_only_what_needs_the_state_stays_in_the_loop(back):
    graph = parse(LOOP.replace("BACK", str(back)))
    result = optimize(graph, only=["hoist", "dead"])
    (loop,) = (n for n in result.graph.nodes if n.op is SCAN)
    assert [n.op.full_name for n in loop.args[0].nodes] == ["matmul", "sub", "tanh"]
    assert sum(n.op.full_name == "matmul" for n in result.graph.nodes) == 3
    assert result.counts["hoist"] == 1
    inputs = _draw(graph)
    for a, b in zip(
        Interpreter(graph).run(*inputs), Interpreter(result.graph).run(*inputs), strict=True
    ):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


def test_a_state_that_is_read_stays_in_the_loop():
    text = LOOP.replace("BACK", "False").replace("return y, more, z", "return y, more, z, total")
    text = text.replace("z: f64[9, 2, 4] = scan", "z: f64[9, 2, 4], s: f64[9, 4, 3] = scan")
    graph = parse(text)
    result = optimize(graph, only=["hoist", "dead"])
    (loop,) = (n for n in result.graph.nodes if n.op is SCAN)
    assert len(loop.args[1]) == 2
    inputs = _draw(graph)
    for a, b in zip(
        Interpreter(graph).run(*inputs), Interpreter(result.graph).run(*inputs), strict=True
    ):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-12, atol=1e-12)


def test_gradients_of_a_recurrent_network_are_products_of_all_turns():
    with tx.static.Graph() as g:
        x = tx.static.placeholder((12, 2, 4), tx.float64, "x")
        wx, wh, b = (
            tx.static.variable(tx.tensor(np.random.default_rng(i).standard_normal(shape)), f"w{i}")
            for i, shape in enumerate(((4, 6), (3, 6), (6,)))
        )

        def cell(h, row):
            gate, new = (row @ wx + h @ wh + b).chunk(2, -1)
            h = tx.sigmoid(gate) * h + tx.tanh(new)
            return h, h

        last, rows = tx.static.scan(cell, tx.zeros((2, 3), dtype=tx.float64), x)
        slopes = tx.static.gradients((last * last).sum() + rows.sum(), [wx, wh, b])
    session = tx.static.Session(g)
    for node in session.program(slopes).nodes:
        if node.op is SCAN:
            names = [n.op.full_name for n in node.args[0].nodes]
            ended = [n for n in node.args[0].nodes if product_in(n) is not None]
            assert names.count("matmul") + len(ended) == 1
            assert "slice_scatter" not in names
    data = np.random.default_rng(7).standard_normal((12, 2, 4))
    plain = tx.static.Session(g, executor="serial", off=("hoist", "pieces"))
    for a, c in zip(session.run(slopes, {x: data}), plain.run(slopes, {x: data}), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(c), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("second", "joined"), [((2, 4), True), ((1, 3), False), ((3, 5), False)])
def test_parts_are_joined_where_they_fill_the_whole(second, joined):
    graph = parse(f"""
    graph main(x: f32[2], y: f32[2]) {{
      zero: f32[{max(4, second[1])}] = zeros(size=({max(4, second[1])},))
      a: f32[{max(4, second[1])}] = slice_scatter(zero, x, 0, 0, 2)
      b: f32[{max(4, second[1])}] = slice_scatter(zero, y, 0, {second[0]}, {second[1]})
      c: f32[{max(4, second[1])}] = add(a, b)
      return c
    }}""")
    result = optimize(graph, only=["pieces", "dead"])
    assert ("cat" in [n.op.full_name for n in result.graph.nodes]) == joined
    inputs = [tx.tensor([1.0, 2.0]), tx.tensor([3.0, 4.0])]
    (a,), (b,) = Interpreter(graph).run(*inputs), Interpreter(result.graph).run(*inputs)
    assert a.tolist() == b.tolist()
