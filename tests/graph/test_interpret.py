"""Running graphs: both backends, sizes, guards, subclasses."""

import numpy as np
import pytest

import thixo as tx
from thixo.errors import GraphError, ShapeError, TraceError
from thixo.graph import Graph, Interpreter, parse

F = """
graph f(x: f32[n, m], w: f32[m]) {
  y: f32[n, m] = mul(x, w)
  z: f32[n] = sum(y, dim=(1,))
  return z, y
}"""


def test_both_backends_agree():
    graph = parse(F)
    rng = np.random.default_rng(0)
    x, w = rng.random((3, 4), np.float32), rng.random(4, np.float32)
    z, y = Interpreter(graph, "reference").run(x, w)
    np.testing.assert_allclose(y, x * w)
    assert y.dtype == np.float32
    assert z.shape == (3,)
    again = Interpreter(graph).run(tx.tensor(x), tx.tensor(w))
    np.testing.assert_allclose(again[0].numpy(), z, rtol=1e-6)


def test_a_graph_serves_other_sizes():
    run = Interpreter(parse(F), "reference").run
    for n, m in ((2, 9), (7, 3)):
        assert run(np.ones((n, m), np.float32), np.ones(m, np.float32))[0].tolist() == [m] * n


def test_inputs_are_checked():
    run = Interpreter(parse(F), "reference").run
    x, w = np.ones((3, 4), np.float32), np.ones(4, np.float32)
    with pytest.raises(GraphError, match="takes 2 inputs \\(x, w\\), got 1"):
        run(x)
    with pytest.raises(ShapeError, match="input x must be f32\\[n, m\\], is f64\\[3, 4\\]"):
        run(x.astype(np.float64), w)
    with pytest.raises(
        ShapeError, match="input w must be f32\\[m\\], is f32\\[5\\], with n = 3, m = 4"
    ):
        run(x, np.ones(5, np.float32))
    with pytest.raises(ShapeError, match="size n must be at least 2, is 1"):
        run(x[:1], w)


def test_guards_are_checked_with_their_line():
    graph = parse(F.replace("  y:", "  guard n == 2*m      # model.py:31\n  y:"))
    run = Interpreter(graph, "reference").run
    run(np.ones((4, 2), np.float32), np.ones(2, np.float32))
    with pytest.raises(TraceError) as error:
        run(np.ones((3, 2), np.float32), np.ones(2, np.float32))
    assert "where n == 2*m" in str(error.value)
    assert str(error.value).endswith("(model.py:31)")


def test_sizes_in_attributes_are_filled_in():
    graph = Graph("f")
    x = graph.input("x", "f32[n, m]")
    n, m = x.shape
    graph.outputs = [graph.call("reshape", x, (n * m,)), graph.call("mul", x, n)]
    for backend in ("eager", "reference"):
        flat, times = Interpreter(parse(str(graph)), backend).run(np.ones((5, 2), np.float32))
        assert tuple(flat.shape) == (10,)
        assert float(times[0, 0]) == 5


def test_sizes_that_the_data_decide_are_bound_when_known():
    graph = Graph("f")
    x = graph.input("x", "f32[n, m]")
    found = graph.call("nonzero_places", x)
    graph.outputs = [found, graph.call("reshape", found, (found.shape[0] * 2,))]
    array = np.array([[1, 0, 2], [0, 0, 3]], np.float32)
    for backend in ("eager", "reference"):
        found, flat = Interpreter(parse(str(graph)).verify(), backend).run(array)
        assert tuple(found.shape) == (3, 2)
        assert tuple(flat.shape) == (6,)


def test_the_reference_rounds_once_per_node():
    graph = parse("""
    graph f(x: f16[n], y: bf16[n]) {
      a: f16[n] = add(x, x)
      b: f32[n] = add(x, y)
      c: f16[n] = exp(x)
      return a, b, c
    }""").verify()
    x = np.array([0.1, 1.5], np.float16)
    y = np.array([2.0, 3.0]).astype(tx.bfloat16.numpy)
    a, b, c = Interpreter(graph, "reference").run(x, y)
    assert (a.dtype, b.dtype) == (np.float16, np.float32)
    np.testing.assert_array_equal(b, x.astype(np.float32) + y.astype(np.float32))
    np.testing.assert_array_equal(c, np.exp(x.astype(np.float64)).astype(np.float16))


def test_promotion_in_the_reference_is_eager_s():
    graph = Graph("f")
    i, b = graph.input("i", "u8[n]"), graph.input("b", "bool[n]")
    h = graph.input("h", "f64[]")
    graph.outputs = [
        graph.call("add", i, i), graph.call("add", i, 0.5), graph.call("mul", i, h),
        graph.call("add", b, 1), graph.call("tanh", i), graph.call("lt", i, h),
    ]  # fmt: skip
    arrays = [np.array([200, 7], np.uint8), np.array([True, False]), np.array(1.5)]
    reference = Interpreter(graph, "reference").run(*arrays)
    eager = Interpreter(graph).run(*map(tx.tensor, arrays))
    for a, b in zip(reference, eager, strict=True):
        assert str(tx.tensor(a).dtype) == str(b.dtype)
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-6)
    assert reference[0].tolist() == [144, 14]


def test_constants_and_changes():
    graph = Graph("f")
    x = graph.input("x", "f32[n]")
    c = graph.constant("c", np.array([10.0], np.float32))
    y = graph.call("add", x, c)
    graph.outputs, graph.mutations = [y], {x: y}
    outputs = Interpreter(graph, "reference").run_all(np.array([1, 2], np.float32))
    assert [o.tolist() for o in outputs] == [[11, 12], [11, 12]]


def test_a_subclass_sees_every_node():
    class Count(Interpreter):
        seen: tuple[str, ...] = ()

        def run_node(self, node, args):
            self.seen += (node.op.full_name,)
            return super().run_node(node, args)

    run = Count(parse(F), "reference")
    run.run(np.ones((2, 2), np.float32), np.ones(2, np.float32))
    assert run.seen == ("mul", "sum")


def test_values_are_dropped_after_their_last_use():
    graph = Graph("f")
    value = graph.input("x", "f64[n]")
    for _ in range(50):
        value = graph.call("neg", value)
    graph.outputs = [value]
    alive = []

    class Watch(Interpreter):
        def arguments(self, node, values):
            alive.append(len(values))
            return super().arguments(node, values)

    Watch(graph, "reference").run(np.ones(3))
    assert max(alive) <= 2


def test_a_result_of_another_type_is_a_clear_error():
    class Wrong(Interpreter):
        def run_node(self, node, args):
            return [args[0].astype(np.float64)]

    with pytest.raises(ShapeError, match="y must be f32\\[n, m\\], is f64\\[2, 2\\]"):
        Wrong(parse(F), "reference").run(np.ones((2, 2), np.float32), np.ones(2, np.float32))


def test_the_reference_draws_what_eager_draws():
    graph = parse(
        "graph f(x: f32[n]) {\n  r: f32[2, n] = rand(size=(2, n), dtype=f32)\n  return r\n}"
    )
    found = []
    for backend, x in (("eager", tx.zeros(3)), ("reference", np.zeros(3, np.float32))):
        tx.manual_seed(0)
        found.append(np.asarray(Interpreter(graph, backend).run(x)[0]))
    assert np.array_equal(*found)
