"""What follows a product runs on the parts of its result, with the same bits."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Graph, Interpreter, parse
from thixo.graph.control import product_in, simple_end
from thixo.passes import optimize
from thixo.runtime.executor import EXECUTORS, executor


def rand(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def names(graph):
    return [n.op.sig.name for n in graph.nodes]


def inside(graph):
    return [n.op.sig.name for n in graph.nodes[0].args[0].nodes]


def test_activation_scale_and_residual_go_with_it():
    graph = Graph("block")
    x, w, b = (
        graph.input(n, t) for n, t in (("x", "f32[n, 6]"), ("w", "f32[5, 6]"), ("b", "f32[5]"))
    )
    more, scale = graph.input("more", "f32[n, 5]"), graph.input("scale", "f32[5]")
    y = graph.call("nn.functional.linear", x, w, b)
    y = graph.call("add", graph.call("mul", graph.call("relu", y), scale), more)
    graph.outputs = [y]
    made = optimize(graph)
    assert names(made.graph) == ["fused"]
    assert inside(made.graph) == ["linear", "relu", "mul", "add"]
    assert made.counts["product_epilogues"] == 1
    assert product_in(made.graph.nodes[0]) is not None
    given = [tx.tensor(rand(*s)) for s in ((3, 6), (5, 6), (5,), (3, 5), (5,))]
    for a, c in zip(
        Interpreter(made.graph).run(*given), Interpreter(graph).run(*given), strict=True
    ):
        assert tx.equal(a, c)
    assert names(optimize(graph, off=["product_epilogues"]).graph) == ["linear", "fused"]


def test_what_others_read_stays():
    graph = Graph("read")
    x, w = graph.input("x", "f32[3, 6]"), graph.input("w", "f32[6, 5]")
    y = graph.call("matmul", x, w)
    graph.outputs = [graph.call("relu", y), y]
    assert "product_epilogues" not in optimize(graph).counts
    graph.outputs = [graph.call("relu", y), graph.call("sum", y)]
    assert "product_epilogues" not in optimize(graph).counts


@pytest.mark.parametrize("other", ["f32[2, 3, 5]", "f64[3, 5]"])
def test_what_has_another_type_stays(other):
    graph = Graph("wider")
    x, w = graph.input("x", "f32[3, 6]"), graph.input("w", "f32[6, 5]")
    graph.outputs = [graph.call("add", graph.call("matmul", x, w), graph.input("z", other))]
    assert "product_epilogues" not in optimize(graph).counts


def test_what_is_written_over_the_old_value_stays():
    """The product would need memory of its own, and the new value would be copied."""
    text = """
graph step(w: f32[4, 5], x: f32[4, 3], g: f32[3, 5]) {
  y: f32[4, 5] = matmul(x, g)
  z: f32[4, 5] = mul(y, 0.1)
  v: f32[4, 5] = sub(w, z)
  w <- v
  return
}
"""
    assert names(optimize(parse(text)).graph) == ["matmul", "fused"]
    text = text.replace("  w <- v\n  return", "  return v")
    assert names(optimize(parse(text)).graph) == ["fused"]


def meeting(m, k, n, count=2):
    """relu of a sum of products."""
    graph = Graph("meet")
    w = graph.input("w", f"f32[{k}, {n}]")
    total = None
    for i in range(count):
        product = graph.call("matmul", graph.input(f"x{i}", f"f32[{m}, {k}]"), w)
        total = product if total is None else graph.call("add", total, product)
    graph.outputs = [graph.call("relu", total)]
    return graph


def test_two_small_products_that_meet_stay():
    assert "product_epilogues" not in optimize(meeting(3, 6, 5)).counts


@pytest.mark.parametrize("count", [2, 3])
def test_of_large_products_that_meet_the_last_takes_what_follows(count):
    graph = optimize(meeting(200, 300, 210, count)).graph
    assert names(graph) == ["matmul"] * (count - 1) + ["fused"]
    w, *xs = given = [tx.randn(300, 210), *(tx.randn(200, 300) for _ in range(count))]
    total = xs[0] @ w
    for x in xs[1:]:
        total = total + x @ w
    for name in EXECUTORS:
        (found,) = executor(graph, name)(given)
        np.testing.assert_array_equal(found.numpy(), tx.relu(total).numpy())


def test_a_size_that_the_product_sums_over_may_be_a_number_behind_it():
    text = """
graph covariance(x: f32[n, b]) {
  sizes n ~ 3, b ~ 5
  y: f32[b, n] = transpose(x, dim0=0, dim1=1)
  m: f32[n, n] = matmul(x, y)
  d: f32[n, n] = true_divide(m, b - 1)
  return d
}
"""
    graph = optimize(parse(text)).graph
    assert [n.op.full_name for n in graph.nodes] == ["transpose", "fused"]
    x = tx.randn(4, 7)
    for name in EXECUTORS:
        (found,) = executor(graph, name)([x])
        np.testing.assert_allclose(found.numpy(), (x @ x.t() / 6).numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32"])
@pytest.mark.parametrize("sizes", [(512, 512, 512), (130, 900, 70), (200, 0, 210), (40, 300, 3)])
def test_what_tiles_do_at_the_end_has_the_bits_of_the_operators(dtype, sizes):
    """Sums of products and relu, on any number of threads; NaN and infinities stay."""
    m, k, n = sizes
    random = np.random.default_rng(m)

    def matrix(*shape):
        made = random.integers(-9, 9, shape) if dtype == "int32" else random.standard_normal(shape)
        return tx.tensor(made).to(getattr(tx, dtype))

    x, w, u, v, more = (matrix(*s) for s in ((m, k), (k, n), (m, k), (k, n), (m, n)))
    if dtype != "int32" and k:
        x[3] = float("nan")
        u[5, 0] = float("inf")
        more[7] = -float("inf")
    ends = [
        lambda x, w, u, v, more: (x @ w + u @ v).relu(),
        lambda x, w, u, v, more: (u @ v + more).relu(),
        lambda x, w, u, v, more: more + x @ w,
        lambda x, w, u, v, more: (x @ w).relu(),
        lambda x, w, u, v, more: (x @ w + more[0]).relu(),
        lambda x, w, u, v, more: tx.add(more, x @ w, alpha=2).relu(),
        lambda x, w, u, v, more: (u @ v + w[0, 0] if k else u @ v).relu(),
    ]
    before = tx.get_num_threads()
    for end in ends:
        wanted = end(x, w, u, v, more).float().numpy()
        compiled = tx.compile(end)
        try:
            for threads in (1, 2, 3, 7):
                tx.set_num_threads(threads)
                found = compiled(x, w, u, v, more).float().numpy()
                np.testing.assert_array_equal(found, wanted)
        finally:
            tx.set_num_threads(before)


def test_only_sums_and_relu_are_simple():
    def end_of(*calls):
        graph = Graph("end")
        y, z = graph.input("y", "f32[4, 5]"), graph.input("z", "f32[4, 5]")
        value = y
        for name, *others in calls:
            value = graph.call(name, *(value if o == "y" else z if o == "z" else o for o in others))
        graph.outputs = [value]
        found = simple_end(graph)
        return found and (found[0] is z, found[1])

    assert end_of(("add", "y", "z")) == (True, False)
    assert end_of(("add", "z", "y"), ("relu", "y")) == (True, True)
    assert end_of(("relu", "y")) == (False, True)
    assert end_of(("add", "y", "y")) is None
    assert end_of(("add", "y", 2.0)) is None
    assert end_of(("relu", "y"), ("add", "y", "z")) is None
    assert end_of(("add", "y", "z"), ("tanh", "y")) is None
    assert end_of(("tanh", "y")) is None
