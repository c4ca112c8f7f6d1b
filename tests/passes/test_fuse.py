"""Fusion: fewer kernels, the same values, and no node that waits for itself."""

import numpy as np
import pytest
from groups import run_group
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.autodiff import gradient_graph
from thixo.codegen.group import lower_group
from thixo.graph import Graph, Interpreter, parse
from thixo.graph.control import FUSED, product_in
from thixo.passes import optimize

F = tx.nn.functional


class Compiled(Interpreter):
    """Runs fused nodes by their kernels."""

    def run_node(self, node, args):
        if node.op is not FUSED or product_in(node) is not None:
            return super().run_node(node, args)
        body, inputs = args
        made = run_group(body, lower_group(body), inputs)
        return [
            tx.tensor(np.asarray(m)).to(v.dtype) for m, v in zip(made, body.outputs, strict=True)
        ]


def fused(graph):
    return [n for n in graph.nodes if n.op is FUSED]


def kernels(graph):
    """Nodes that are no views."""
    return [n for n in graph.nodes if n.op.kind != "view" and n.op.full_name != "reshape"]


def check(graph, *inputs, tolerance=0.0):
    result = optimize(graph)
    expected = Interpreter(graph).run_all(*inputs)
    for a, b in zip(Compiled(result.graph).run_all(*inputs), expected, strict=True):
        assert a.dtype is b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), tolerance, tolerance)
    return result.graph


def traced(function, *inputs):
    return tx.jit.trace(function, inputs).graph


def rand(*shape, dtype=tx.float32):
    return tx.tensor(np.random.default_rng(len(shape)).normal(size=shape)).to(dtype)


def test_pointwise_chain_is_one_kernel():
    inputs = rand(6, 5), rand(5), rand(5)
    made = check(traced(lambda x, w, b: F.gelu(x * w + b), *inputs), *inputs)
    assert len(made.nodes) == 1


def test_rows_after_rows_are_one_kernel():
    inputs = rand(6, 5), rand(5), rand(5)
    graph = traced(lambda x, w, b: F.layer_norm(x.softmax(-1), (5,), w, b), *inputs)
    made = check(graph, *inputs, tolerance=1e-6)
    assert len(made.nodes) == 1


def test_a_sum_and_its_gradients_take_few_kernels():
    inputs = rand(6, 5), rand(5), rand(5)
    graph = gradient_graph(traced(lambda x, w, b: ((x * w + b).tanh()).sum(), *inputs))
    assert len(kernels(check(graph, *inputs, tolerance=1e-5))) <= 2


def test_an_update_of_adam_is_one_kernel():
    text = """
graph adam(p: f32[n, m], g: f32[n, m], mean: f32[n, m], square: f32[n, m], step: f32[], rate: f32[]) {
  a: f32[n, m] = mul(mean, 0.9)
  b: f32[n, m] = mul(g, 0.1)
  mean1: f32[n, m] = add(a, b)
  gg: f32[n, m] = mul(g, g)
  c: f32[n, m] = mul(square, 0.999)
  d: f32[n, m] = mul(gg, 0.001)
  square1: f32[n, m] = add(c, d)
  e: f32[] = pow(0.999, step)
  f: f32[] = rsub(e, 1)
  h: f32[n, m] = true_divide(square1, f)
  i: f32[n, m] = sqrt(h)
  j: f32[n, m] = add(i, 1e-8)
  k: f32[n, m] = true_divide(mean1, j)
  l: f32[n, m] = mul(k, rate)
  q: f32[n, m] = sub(p, l)
  p <- q
  mean <- mean1
  square <- square1
  return
}
"""
    text = text.replace("rsub(e, 1)", "sub(1, e)")
    p, g, mean = rand(4, 3), rand(4, 3), rand(4, 3)
    inputs = p, g, mean, mean * mean, tx.tensor(3.0), tx.tensor(0.01)
    made = check(parse(text), *inputs)
    assert len(made.nodes) == 1


def test_equal_bodies_are_one_graph_whatever_their_sizes():
    def step(p, q, g, h):
        return (p - g * 0.1).tanh(), (q - h * 0.1).tanh()

    inputs = rand(6, 5), rand(3, 7), rand(6, 5), rand(3, 7)
    made = check(traced(step, *inputs), *inputs)
    assert len(made.nodes) == 2
    assert len({id(n.args[0]) for n in made.nodes}) == 1


def test_static_sizes_share_bodies_too():
    graph = Graph("f")
    for k, shape in enumerate([(8, 3), (5, 9)]):
        x = graph.input(f"x{k}", f"f32[{shape[0]}, {shape[1]}]")
        graph.outputs.append(graph.call("tanh", graph.call("mul", x, 2)))
    made = check(graph, rand(8, 3), rand(5, 9))
    assert made.nodes[0].args[0] is made.nodes[1].args[0]


def test_what_others_read_is_written_too():
    def f(x, w):
        y = (x * 2).tanh()
        return y @ w, y.exp() + 1

    inputs = rand(4, 3), rand(3, 2)
    made = check(traced(f, *inputs), *inputs)
    (one,) = fused(made)
    assert len(one.outputs) == 2


def test_nothing_waits_for_itself():
    def f(x, w):
        y = x * 2
        z = (y @ w).tanh()  # between y and the sum
        return y + z

    inputs = rand(4, 4), rand(4, 4)
    check(traced(f, *inputs), *inputs)


def test_siblings_that_read_one_large_value_run_together():
    inputs = (rand(40, 30),)
    made = check(traced(lambda x: (x.sin() * 2, x.cos() + 1), *inputs), *inputs)
    assert len(made.nodes) == 1


def test_rows_are_not_computed_again_for_a_larger_space():
    inputs = rand(5, 4), rand(3, 5, 4)
    made = check(traced(lambda x, y: (x.softmax(-1) * 2) * y + 1, *inputs), *inputs, tolerance=1e-6)
    assert len(made.nodes) == 2


def test_random_numbers_are_drawn_in_order():
    def f(x):
        a = tx.rand(6) + x
        b = tx.rand(6) * a
        return a * 2 + b

    graph = traced(f, rand(6))
    made = optimize(graph).graph
    assert fused(made)
    tx.manual_seed(3)
    expected = Interpreter(graph).run(rand(6))
    tx.manual_seed(3)
    assert (Compiled(made).run(rand(6))[0].numpy() == expected[0].numpy()).all()


def test_bodies_of_loops_are_fused():
    text = """
graph body(h: f32[m], x: f32[m]) {
  a: f32[m] = add(h, x)
  b: f32[m] = tanh(a)
  return b
}

graph main(x: f32[n, m], h: f32[m]) {
  y: f32[m] = scan(body=body, state=[h], slices=[x], captured=[], length=n)
  return y
}
"""
    made = optimize(parse(text)).graph
    assert fused(made.nodes[0].args[0])
    assert optimize(made, only=["fuse"]).counts == {}


def test_it_can_be_left_out_and_is_counted():
    graph = traced(lambda x: x.sin() * 2, rand(4))
    assert not fused(optimize(graph, off=["fuse"]).graph)
    result = optimize(graph, show=True)
    assert result.counts == {"fuse": 1}
    assert "fused(" in result.reports[-1].after
    assert "fused(" not in result.reports[-1].before
    assert result.reports[-1].firings[0].rule == "sin, mul in one kernel"


# ---- random graphs

UNARY = ("neg", "tanh", "relu", "sin", "abs", "sigmoid")
BINARY = ("add", "sub", "mul", "maximum")
EXACT_ROWS = ("amax", "amin")
SUMS = ("sum", "mean", "softmax", "log_softmax", "logsumexp")


@st.composite
def graphs(draw, sums):
    graph = Graph("random")
    values = [
        graph.input("x", "f64[n, m]"), graph.input("y", "f64[n, m]"), graph.input("w", "f64[m]"),
        graph.input("c", "f64[n, 1]"), graph.input("s", "f64[]"), graph.input("q", "f64[m, m]"),
    ]  # fmt: skip
    rows = (*EXACT_ROWS, *(SUMS if sums else ()))
    for _ in range(draw(st.integers(2, 25))):
        kind = draw(
            st.sampled_from(["unary", "binary", "number", "rows", "view", "where", "matmul"])
        )
        x = draw(st.sampled_from(values))
        try:
            if kind == "unary":
                made = graph.call(draw(st.sampled_from(UNARY)), x)
            elif kind == "binary":
                other = draw(st.sampled_from(values))
                made = graph.call(draw(st.sampled_from(BINARY)), x, other)
            elif kind == "number":
                made = graph.call(draw(st.sampled_from(("add", "mul", "sub"))), x, 0.5)
            elif kind == "where":
                made = graph.call(
                    "where", graph.call("gt", x, 0.1), x, draw(st.sampled_from(values))
                )
            elif kind == "rows":
                name, dim = draw(st.sampled_from(rows)), draw(st.integers(0, max(0, x.ndim - 1)))
                if name in ("softmax", "log_softmax"):
                    made = graph.call(name, x, dim)
                else:
                    made = graph.call(name, x, (dim,), draw(st.booleans()))
            elif kind == "matmul":
                made = graph.call("tanh", graph.call("matmul", x, values[5]))
            elif x.ndim == 2 and draw(st.booleans()):
                made = graph.call("transpose", x, 0, 1)
            elif draw(st.booleans()):
                made = graph.call("unsqueeze", x, draw(st.integers(0, x.ndim)))
            else:
                made = graph.call("expand", x, values[0].shape)
        except tx.errors.ThixoError:
            continue
        if made.ndim <= 3:
            values.append(made)
    count = draw(st.integers(1, 3))
    graph.outputs = [draw(st.sampled_from(values[6:] or values)) for _ in range(count)]
    return graph


@pytest.mark.parametrize("sums", [False, True])
def test_random_graphs_keep_their_values(sums):
    @settings(max_examples=100, deadline=None)
    @given(graphs(sums))
    def run(graph):
        sizes = {"n": 3, "m": 4}
        rng = np.random.default_rng(1)
        inputs = [
            tx.tensor(
                rng.normal(size=[s if isinstance(s, int) else s.evaluate(sizes) for s in v.shape])
            )
            for v in graph.inputs
        ]
        check(graph, *inputs, tolerance=1e-9 if sums else 1e-13)

    run()


def test_what_has_as_many_rows_as_a_loop_has_turns_stays_behind_it():
    graph = parse("""
graph more(x: f64[3], i: i64[]) {
  p: bool[] = lt(i, 4)
  return p
}

graph step(x: f64[3], i: i64[]) {
  y: f64[3] = cos(x)
  j: i64[] = add(i, 1)
  return y, j, y
}

graph main(x: f64[3], w: f64[3], zero: i64[]) {
  a: f64[3] = exp(x)
  b: f64[3] = sin(a)
  y: f64[3], n: i64[], rows: f64[steps, 3] = while_loop(test=more, body=step, state=[b, zero], captured=[])
  u: f64[1, 3] = unsqueeze(w, 0)
  e: f64[steps, 3] = expand(u, (steps, 3))
  c: f64[3] = mul(a, b)
  return e, y, c
}
""")
    made = optimize(graph).graph
    inputs = [tx.rand(3, dtype=tx.float64), tx.rand(3, dtype=tx.float64), tx.tensor(0)]
    for mine, theirs in zip(
        Interpreter(made).run(*inputs), Interpreter(graph).run(*inputs), strict=True
    ):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy())


def test_sizes_that_a_guard_makes_equal_do_not_speak_for_the_operator():
    """One node that cannot be fused, for its sizes, leaves others of its operator what they are."""
    total = tx.zeros(3)
    optimize(traced(lambda x: total.add(x), tx.ones(3)))
    inputs = rand(6, 5), rand(5), rand(5)
    assert len(check(traced(lambda x, w, b: (x * w + b).tanh(), *inputs), *inputs).nodes) == 1
