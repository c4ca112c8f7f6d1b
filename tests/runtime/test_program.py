"""Native programs: kernels of fused nodes, memory, inputs of many kinds, what goes wrong."""

import gc
import os
import signal
import weakref

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Graph, parse
from thixo.runtime.executor import executor
from thixo.runtime.program_control import ControlFlow
from thixo.runtime.sunk import Sunk
from thixo.schedule import schedule
from thixo.schedule.arena import place

FUSED = """
graph body(x: f32[n, m], w: f32[m], b: f32[]) {
  y: f32[n, m] = mul(x, w)
  z: f32[n, m] = add(y, b)
  t: f32[n, m] = tanh(z)
  s: f32[n] = amax(t, dim=(1,))
  return t, s
}

graph main(x: f32[k, j], w: f32[j], b: f32[]) {
  t: f32[k, j], s: f32[k] = fused(graph=body, inputs=[x, w, b])
  u: f32[k, j] = neg(t)
  return u, s
}
"""
CHAIN = """
graph main(x: f32[n], w: f32[n], b: f32[n]) {
  a: f32[n] = mul(x, w)
  c: f32[n] = add(a, b)
  d: f32[n] = tanh(c)
  e: f32[] = sum(d)
  return e
}
"""
BRANCHES = """
graph main(x: f32[n, n], w: f32[n, n], v: f32[n, n]) {
  a: f32[n, n] = matmul(x, w)
  b: f32[n, n] = matmul(x, v)
  c: f32[n, n] = add(a, b)
  d: f32[n, n] = relu(c)
  return d
}
"""
NATIVE = ["ready", "sunk"]


def same(graph, inputs, **options):
    wanted = executor(graph, "serial")(inputs)
    for name in NATIVE:
        found = executor(graph, name, **options)(inputs)
        assert [t.tolist() for t in found] == [t.tolist() for t in wanted], name


def test_fused_nodes_are_one_step_without_python():
    graph = parse(FUSED)
    x, w, b = tx.randn(5, 7), tx.randn(7), tx.tensor(0.25)
    same(graph, [x, w, b])
    same(graph, [x.t().contiguous().t(), w, b])
    run = Sunk(graph)
    run([x, w, b])
    (program,) = run.programs
    assert program.steps == 2
    assert not program.python


@pytest.mark.parametrize("shape", [(3, 5), (64, 300), (2, 40000)])
def test_large_and_small_sizes(shape):
    n, m = shape
    same(parse(FUSED), [tx.randn(n, m), tx.randn(m), tx.tensor(0.5)])


def test_plain_operators_need_no_python():
    run = Sunk(parse(CHAIN))
    x = tx.randn(16)
    assert run([x, x, x])[0].item() == ((x * x + x).tanh()).sum().item()
    assert not run.programs[0].python
    run = Sunk(parse(BRANCHES))
    run([tx.ones(4, 4)] * 3)
    assert not run.programs[0].python


def test_a_bound_program_is_called_with_tensors():
    bound = Sunk(parse(CHAIN)).bind([tx.ones(3)] * 3)
    assert bound(tx.ones(3), tx.ones(3), tx.zeros(3))[0].item() == pytest.approx(3 * np.tanh(1))
    assert bound(tx.ones(9), tx.ones(9), tx.zeros(9))[0].item() == pytest.approx(9 * np.tanh(1))
    with pytest.raises(tx.errors.GraphError, match="takes 3 inputs"):
        bound(tx.ones(3))
    with pytest.raises(tx.errors.ShapeError, match="graph main: input w must be"):
        bound(tx.ones(3), tx.ones(4), tx.ones(3))


def test_programs_of_many_sizes_are_bounded():
    run = Sunk(parse(CHAIN))
    for n in range(2, 40):
        run([tx.ones(n)] * 3)
    assert len(run.programs) <= 16


def test_strided_inputs():
    x = tx.arange(24.0).reshape(4, 6)
    for given in (x, x.t(), x[:, ::2], x[1:3], x[:1].expand(4, 6)):
        w = tx.arange(float(given.shape[1]))
        same(parse(FUSED), [given, w, tx.tensor(1.0)])


def test_branches_at_once_are_right():
    for n in (3, 96, 200):
        same(parse(BRANCHES), [tx.randn(n, n) for _ in range(3)])
    graph = Graph("wide")
    x = graph.input("x", "f32[n]")
    total = x
    for i in range(200):
        branch = graph.call("mul", x, float(i))
        for _ in range(3):
            branch = graph.call("tanh", branch)
        total = graph.call("add", total, branch)
    graph.outputs = [total]
    run = executor(graph, "ready", poisoned=True)
    wanted = executor(graph, "serial")([tx.ones(50)])[0].tolist()
    for _ in range(20):
        assert run([tx.ones(50)])[0].tolist() == wanted


def test_memory_is_reused_and_what_is_used_is_what_was_planned():
    graph = Graph("deep")
    x = graph.input("x", "f32[n]")
    for _ in range(30):
        x = graph.call("tanh", x)
    graph.outputs = [x]
    run = Sunk(graph, poisoned=True)
    run([tx.ones(1000)])
    (program,) = run.programs
    assert program.arena_bytes == 4032  # each over the one before
    assert 0 < program.arena_bytes - program.high_water <= 64


def test_plan_keeps_living_memory_apart():
    rng = np.random.default_rng(0)
    pieces = [
        (int(a), int(a + rng.integers(0, 9)), int(rng.integers(0, 9)) * 64)
        for a in rng.integers(0, 50, 200)
    ]
    offsets, total = place(pieces)
    for i, (first, last, count) in enumerate(pieces):
        assert offsets[i] + count <= total
        for j in range(i):
            begin, end, other = pieces[j]
            if first <= end and begin <= last and count and other:
                assert offsets[i] + count <= offsets[j] or offsets[j] + other <= offsets[i]


def test_constants_are_their_owner_s():
    weight = tx.tensor([1.0, 2.0])
    graph = Graph("f")
    x = graph.input("x", "f32[2]")
    graph.outputs = [graph.call("mul", x, graph.constant("w", weight))]
    run = Sunk(graph)
    assert run([tx.ones(2)])[0].tolist() == [1, 2]
    weight += 1
    assert run([tx.ones(2)])[0].tolist() == [2, 3]
    weight.data = tx.tensor([5.0, 6.0])
    assert run([tx.ones(2)])[0].tolist() == [5, 6]


def test_a_constant_that_changes_its_shape_is_refused():
    weight = tx.ones(4)
    graph = Graph("f")
    x = graph.input("x", "f32[4]")
    graph.outputs = [graph.call("mul", x, graph.constant("w", weight))]
    run = Sunk(graph)
    run([tx.ones(4)])
    weight.data = tx.ones(2)
    with pytest.raises(
        tx.errors.ThixoError, match=r"graph f: constant w must be f32\[4\], is f32\[2\]"
    ):
        run([tx.ones(4)])


def test_sizes_that_the_data_decide():
    graph = parse("""
    graph f(x: f32[n, m], w: f32[n, m]) {
      sizes k >= 0
      y: f32[n, m] = mul(x, w)
      places: i64[k, 2] = nonzero_places(y)
      first: i64[k] = select(places, 1, 0)
      total: i64[] = sum(first)
      z: f32[n, m] = add(y, total)
      return places, z
    }""")
    x = tx.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    for name in NATIVE:
        run = executor(graph, name, poisoned=True)
        for given in (x, x + 1, x * 0, x):
            wanted = executor(graph, "serial")([given, given])
            found = run([given, given])
            assert [t.tolist() for t in found] == [t.tolist() for t in wanted]


def test_an_error_in_the_middle_leaves_a_program_usable():
    graph = parse("""
    graph pick(x: f32[n], i: i64[m]) {
      z: f32[n] = neg(x)
      y: f32[m] = index_select(z, 0, i)      # model.py:31
      return y
    }""")
    for name in NATIVE:
        run = executor(graph, name)
        assert run([tx.ones(3), tx.tensor([0, 2])])[0].tolist() == [-1, -1]
        with pytest.raises(IndexError, match=r"\(model.py:31\)$"):
            run([tx.ones(3), tx.tensor([0, 7])])
        assert run([tx.ones(3), tx.tensor([0, 2])])[0].tolist() == [-1, -1]


def test_lines_of_nodes_inside_of_loops():
    graph = parse("""
    graph body(i: i64[], x: f32[n]) {
      j: i64[] = add(i, 1)
      k: i64[1] = reshape(j, shape=(1,))
      y: f32[1] = index_select(x, 0, k)      # inside.py:7
      return j
    }

    graph more(i: i64[], x: f32[n]) {
      p: bool[] = lt(i, 100)
      return p
    }

    graph main(i: i64[], x: f32[n]) {
      last: i64[] = while_loop(test=more, body=body, state=[i], captured=[x])      # outside.py:3
      return last
    }""")
    with pytest.raises(IndexError, match=r"\(inside.py:7\)$"):
        Sunk(graph)([tx.tensor(0), tx.ones(5)])


def test_programs_die_with_their_executor():
    run = Sunk(parse(CHAIN))
    run([tx.ones(4)] * 3)
    gone = weakref.ref(run)
    del run
    gc.collect()
    assert gone() is None


def test_after_a_fork():
    run = executor(parse(BRANCHES), "ready")
    given = [tx.ones(100, 100)] * 3
    wanted = run(given)[0].tolist()
    child = os.fork()
    if child == 0:
        os._exit(0 if run(given)[0].tolist() == wanted else 1)
    assert os.waitpid(child, 0)[1] == 0


SWAP = """
graph swap(a: f32[n], b: f32[n], c: f32[n]) {
  s: f32[n] = add(a, b)
  t: f32[n] = mul(c, 0.5)
  a <- b
  b <- a
  c <- t
  return s, c
}
"""


def test_what_a_graph_changes_can_be_written_in_place():
    for name in NATIVE:
        run = executor(parse(SWAP), name, writes=True)
        a, b, c = tx.tensor([1.0, 2.0]), tx.tensor([3.0, 4.0]), tx.tensor([8.0, 8.0])
        s, old = run([a, b, c])
        assert (s.tolist(), old.tolist()) == ([4, 6], [8, 8])
        assert (a.tolist(), b.tolist(), c.tolist()) == ([3, 4], [1, 2], [4, 4])
        assert a._version == 1
        s, old = run([a, b, c])
        assert (a.tolist(), b.tolist(), c.tolist()) == ([1, 2], [3, 4], [2, 2])
        whole = tx.arange(6.0)
        with pytest.raises(tx.errors.ArgumentError, match="inputs 0 and 2 share memory"):
            run([whole[:2], tx.ones(2), whole[1:3]])
        assert whole.tolist() == [0, 1, 2, 3, 4, 5]


def test_nothing_is_written_where_a_later_node_fails():
    graph = parse("""
    graph step(w: f32[n], i: i64[m]) {
      v: f32[n] = mul(w, 2.0)
      y: f32[m] = index_select(w, 0, i)
      w <- v
      return y
    }""")
    for name in NATIVE:
        run, w = executor(graph, name, writes=True), tx.ones(3)
        run([w, tx.tensor([0, 1])])
        with pytest.raises(IndexError):
            run([w, tx.tensor([0, 9])])
        assert w.tolist() == [2, 2, 2]


def test_updates_go_over_the_old_values():
    graph = parse("""
    graph step(w: f32[n], g: f32[n]) {
      d: f32[n] = mul(g, 0.1)
      v: f32[n] = sub(w, d)
      w <- v
      return d
    }""")
    run, w = Sunk(graph, writes=True), tx.ones(4)
    place = w.data_ptr()
    run([w, tx.ones(4)])
    assert w.data_ptr() == place
    assert w.tolist() == [tx.tensor(1.0).sub(tx.tensor(0.1)).item()] * 4
    assert run.programs[0].steps == 2


def test_the_arena_is_the_plan_s():
    graph = Graph("mixed")
    x = graph.input("x", "f32[n, m]")
    a = graph.call("exp", x)
    b = graph.call("tanh", a)
    c = graph.call("add", a, b)
    d = graph.call("transpose", c, 0, 1)
    e = graph.call("matmul", c, d)
    graph.outputs = [graph.call("sum", e)]
    run = Sunk(graph, poisoned=True)
    given = [tx.randn(30, 20)]
    assert run(given)[0].item() == executor(graph, "serial")(given)[0].item()
    planned = schedule(graph).bind({"n": 30, "m": 20})
    assert run.programs[0].arena_bytes == planned.arena
    assert planned.arena - 64 < run.programs[0].high_water <= planned.arena


def test_loops_live_in_the_plan_s_arena():
    graph = parse("""
    graph more(x: f32[n], i: i64[]) {
      p: bool[] = lt(i, 7)
      return p
    }

    graph body(x: f32[n], i: i64[]) {
      y: f32[n] = mul(x, 0.5)
      z: f32[n] = tanh(y)
      w: f32[n] = add(z, x)
      j: i64[] = add(i, 1)
      return w, j
    }

    graph main(x: f32[n], i: i64[]) {
      y: f32[n] = exp(x)
      z: f32[n], j: i64[] = while_loop(test=more, body=body, state=[y, i], captured=[])
      r: f32[n] = neg(z)
      return r
    }""")
    run = Sunk(graph, poisoned=True)
    given = [tx.randn(100), tx.tensor(0)]
    assert run(given)[0].tolist() == executor(graph, "serial")(given)[0].tolist()
    assert run.programs[0].arena_bytes == schedule(graph).bind({"n": 100}).arena


def test_memory_of_steps_that_run_at_once_is_apart():
    rng = np.random.default_rng(3)
    for _ in range(20):
        graph = Graph("random")
        values = [graph.input("x", "f32[n]"), graph.input("y", "f32[n]")]
        for _ in range(60):
            a, b = (values[-1 - int(i)] for i in rng.integers(0, min(8, len(values)), 2))
            values.append(graph.call("sub", a, b))
        graph.outputs = values[-2:]
        given = [tx.randn(30), tx.randn(30)]
        wanted = [t.tolist() for t in executor(graph, "serial")(given)]
        run = executor(graph, "ready", poisoned=True)
        assert [t.tolist() for t in run(given)] == wanted
        assert run.programs[0].arena_bytes < 60 * 128


def test_memory_of_many_branches_is_used_again():
    graph = Graph("wide")
    x = graph.input("x", "f32[n]")
    ends = []
    for i in range(100):
        branch = graph.call("mul", x, float(i))
        for _ in range(9):
            branch = graph.call("tanh", branch)
        ends.append(graph.call("sum", branch))
    graph.outputs = ends
    run = executor(graph, "ready")
    run([tx.ones(16)])
    assert run.programs[0].arena_bytes <= 100 * 2 * 64


def test_an_endless_loop_can_be_interrupted():
    graph = parse("""
    graph more(x: f32[n]) {
      first: f32[] = select(x, 0, 0)
      p: bool[] = lt(first, 2.0)
      return p
    }

    graph body(x: f32[n]) {
      y: f32[n] = mul(x, 1.0)
      return y
    }

    graph main(x: f32[n]) {
      y: f32[n] = while_loop(test=more, body=body, state=[x], captured=[])
      return y
    }""")

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for name in NATIVE:
            run = executor(graph, name)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                run([tx.ones(3)])
            assert run([tx.full((3,), 5.0)])[0].tolist() == [5, 5, 5]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("dim", "kept"), [(0, "1, 4"), (1, "3, 1")])
def test_parts_of_complex_results_may_be_known_at_different_times(dim, kept):
    text = f"""
graph body(x: f32[3, 4]) {{
  s: f32[{kept}] = sum(x, dim=({dim},), keepdim=True)
  y: c128[{kept}] = cast(s, dtype=c128)
  e: f32[3, 4] = true_divide(x, s)
  z: c64[3, 4] = cast(e, dtype=c64)
  return y, z
}}

graph main(x: f32[3, 4]) {{
  y: c128[{kept}], z: c64[3, 4] = fused(graph=body, inputs=[x])
  return y, z
}}
"""
    x = tx.arange(12, dtype=tx.float32).reshape(3, 4)
    y, z = executor(parse(text), "sunk")([x])
    total = x.sum(dim, keepdim=True)
    assert tx.equal(y, total.to(tx.complex128))
    assert tx.equal(z, (x / total).to(tx.complex64))


LOOP_OF_OPEN_LENGTH = """
graph more(x: f64[n], w: f64[n]) {
  s: f64[] = sum(x)
  p: bool[] = lt(s, 20.0)
  return p
}

graph turn(x: f64[n], w: f64[n]) {
  y: f64[n] = add(x, w)
  return y, x
}

graph back(g: f64[n], x: f64[n], w: f64[n]) {
  a: f64[n] = mul(g, x)
  b: f64[n] = sub(a, w)
  return b, a
}

graph main(x: f64[n], w: f64[n]) {
  y: f64[n], rows: f64[steps, n] = while_loop(test=more, body=turn, state=[x], captured=[w])
  g: f64[n], made: f64[steps, n] = scan(body=back, state=[w], slices=[rows], captured=[w], length=steps, reverse=True)
  t: f64[n] = sum(made, dim=(0,))
  return y, g, t, made
}
"""


@pytest.mark.parametrize("name", ["sunk", "ready"])
def test_a_scan_whose_length_the_data_decide_runs_natively(name):
    graph = parse(LOOP_OF_OPEN_LENGTH)
    run = executor(graph, name)
    for start in (1.0, 0.25, 3.0, 1.0):  # of another length each time
        x, w = tx.full((3,), start, dtype=tx.float64), tx.tensor([0.5, 0.25, 0.125]).double()
        found, wanted = run([x, w]), executor(graph, "serial")([x, w])
        for a, b in zip(found, wanted, strict=True):
            assert a.tolist() == b.tolist()


@pytest.mark.parametrize("name", ["sunk", "ready"])
def test_a_step_may_wait_for_any_number_of_others(name):
    parts = "\n".join(f"  a{i}: f32[n] = mul(x, {float(i)})" for i in range(100))
    names = ", ".join(f"a{i}" for i in range(100))
    graph = parse(
        f"graph main(x: f32[n]) {{\n{parts}\n  y: f32[100*n] = cat([{names}])\n  return y\n}}"
    )
    (found,) = executor(graph, name)([tx.tensor([1.0, 2.0])])
    assert found.tolist() == [float(i * k) for i in range(100) for k in (1, 2)]


def test_a_result_that_is_a_view_of_all_that_a_node_made_is_made_in_place():
    text = """
graph f(x: f32[n, m]) {
  a: f32[n, m] = exp(x)
  s: f32[m] = sum(a, dim=(0,))
  b: f32[m, 1] = unsqueeze(s, dim=1)
  return b
}
"""
    graph = parse(text)
    inputs = [tx.randn(5, 7)]
    for name in ("sunk", "ready"):
        run = executor(graph, name)
        (found,) = run(inputs)
        assert found.shape == (7, 1)
        assert np.array_equal(found.numpy(), executor(graph, "serial")(inputs)[0].numpy())
        if name == "sunk":
            assert run.programs[0].arena_bytes == graph.plan({"n": 5, "m": 7}).arena


def test_fused_nodes_that_get_no_kernel_read_what_they_overwrite_first(monkeypatch):
    with tx.static.Graph() as g:
        a = tx.static.variable([1.0, 2.0, 3.0], name="a")
        b = tx.static.variable([5.0, 7.0, 9.0], name="b")
        both = [tx.static.assign(a, a.exp() * 0.5 + b), tx.static.assign(b, a * b + a.sin())]
    usual, other = (tx.static.Session(g) for _ in range(2))
    assert len(usual.program(both).nodes) == 1
    usual.run(both)
    expected = usual.run([a, b])
    monkeypatch.setattr(ControlFlow, "_kernel", lambda *given: False)
    other.load(a, [1.0, 2.0, 3.0])
    other.load(b, [5.0, 7.0, 9.0])
    other.run(both)
    for found, wanted in zip(other.run([a, b]), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
