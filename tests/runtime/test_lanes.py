"""Steps of native programs side by side: the same bits on any number of threads, whoever calls, whatever goes wrong."""

import threading

import pytest

import thixo as tx
from thixo.graph import Graph, parse
from thixo.runtime.executor import executor
from thixo.runtime.sunk import Ready, Sunk
from thixo.schedule import lanes

INNER = """
graph turn(s: f32[m], x: f32[m]) {
  y: f32[m] = tanh(x)
  t: f32[m] = add(s, y)
  return t, y
}

graph twice(x: f32[r, m]) {
  a: f32[r, m] = mul(x, 2.0)
  b: f32[r, m] = tanh(a)
  c: f32[r, m] = sub(b, x)
  return c
}

graph deeper(x: f32[r, m]) {
  a: f32[r, m] = call(graph=twice, inputs=[x])
  b: f32[r, m] = exp(x)
  c: f32[r, m] = call(graph=twice, inputs=[b])
  d: f32[r, m] = add(a, c)
  return d
}

graph main(x: f32[n, m], y: f32[n, m], p: bool[], s: f32[m]) {
  a: f32[n, m] = call(graph=deeper, inputs=[x])
  b: f32[n, m] = call(graph=deeper, inputs=[y])
  c: f32[n, m] = cond(p, then=twice, other=deeper, inputs=[x])
  t: f32[m], u: f32[n, m] = scan(body=turn, state=[s], slices=[y], captured=[], length=n)
  v: f32[m], w: f32[n, m] = scan(body=turn, state=[s], slices=[x], captured=[], length=n)
  d: f32[n, m] = add(a, b)
  e: f32[n, m] = add(c, u)
  f: f32[n, m] = add(d, e)
  g: f32[n, m] = add(f, w)
  h: f32[m] = add(t, v)
  return g, h
}
"""


@pytest.fixture(autouse=True)
def wherever_they_can(monkeypatch):
    """As if it always paid, and with any number of threads."""
    monkeypatch.setattr(lanes, "GAIN", -1.0)
    monkeypatch.setattr(lanes, "FASTER", 0.0)
    before = tx.get_num_threads()
    yield
    tx.set_num_threads(before)


def wide(branches=40):
    graph = Graph("wide")
    x, y = graph.input("x", "f32[n, n]"), graph.input("y", "f32[n, n]")
    ends = []
    for i in range(branches):
        one = graph.call("mul", x, float(i))
        two = graph.call("matmul", one, y)
        three = graph.call("tanh", two)
        ends.append(graph.call("add", three, one))
    while len(ends) > 1:
        ends = [graph.call("sub", *ends[i : i + 2]) for i in range(0, len(ends) - 1, 2)]
    graph.outputs = ends
    return graph


def values(results):
    return [t.tolist() for t in results]


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_bits_do_not_depend_on_threads(threads):
    graph, given = wide(), [tx.randn(9, 9), tx.randn(9, 9)]
    wanted = values(executor(graph, "serial")(given))
    tx.set_num_threads(threads)
    run = Sunk(graph, poisoned=True)
    for _ in range(200):
        assert values(run(given)) == wanted
    assert 0 < run.programs[0].arena_bytes - run.programs[0].high_water <= 64


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_lanes_that_run_the_same_inner_graph_do_not_meet(threads):
    graph = parse(INNER)
    tx.set_num_threads(threads)
    for p in (True, False):
        given = [tx.randn(5, 6), tx.randn(5, 6), tx.tensor(p), tx.randn(6)]
        wanted = values(executor(graph, "serial")(given))
        run = Sunk(graph, poisoned=True)
        for _ in range(200):
            assert values(run(given)) == wanted


def test_several_threads_call_at_once():
    tx.set_num_threads(3)
    graph = wide(12)
    run = Sunk(graph)
    given = [[tx.randn(n, n), tx.randn(n, n)] for n in (3, 8, 8, 17)]
    wanted = [values(executor(graph, "serial")(one)) for one in given]
    wrong = []

    def calls(i):
        for _ in range(150):
            if values(run(given[i])) != wanted[i]:
                wrong.append(i)

    threads = [threading.Thread(target=calls, args=(i,)) for i in range(len(given))]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


def test_errors_say_the_line_and_leave_the_program_usable():
    graph = parse("""
    graph main(x: f32[n], i: i64[k], y: f32[n]) {
      a: f32[k] = index_select(x, 0, i)    # model.py:3
      b: f32[n] = tanh(y)                  # model.py:4
      c: f32[n] = exp(b)                   # model.py:5
      return a, c
    }""")
    run = Sunk(graph)
    x, right, wrong = tx.arange(4.0), tx.tensor([1, 2]), tx.tensor([1, 9])
    for _ in range(3):
        assert run([x, right, x])[0].tolist() == [1.0, 2.0]
        with pytest.raises(tx.errors.ThixoError, match=r"model.py:3"):
            run([x, wrong, x])


def test_what_fails_beside_others_leaves_a_cache_as_it_was():
    with tx.static.Graph() as g:
        cache = tx.static.variable(tx.zeros(3, 4), "cache")
        rows = tx.static.placeholder((2, 4), tx.float32, "rows")
        at = tx.static.placeholder((2,), tx.int64, "at")
        new = tx.index_copy(cache, 0, at, rows)
        results = [tx.index_select(rows, 0, at), new.sum(), rows.exp().sum()]
        results.append(tx.static.assign(cache, new))
    session = tx.static.Session(g)
    call = session.bind(results, [rows, at])
    given = tx.arange(8.0).reshape(2, 4)
    call(given, tx.tensor([0, 1]))
    before = session.run("cache").tolist()
    with pytest.raises(tx.errors.ThixoError, match="out of range"):
        call(given + 1, tx.tensor([2, 0]))
    assert session.run("cache").tolist() == before


def meeting(after=()):
    """Two products whose sum goes on; `after` says what follows."""
    graph = Graph("meeting")
    x, w = graph.input("x", "f32[n, k]"), graph.input("w", "f32[k, m]")
    y, v = graph.input("y", "f32[n, j]"), graph.input("v", "f32[m, j]")
    b = graph.input("b", "f32[m]")
    total = graph.call(
        "add", graph.call("matmul", x, w), graph.call("nn.functional.linear", y, v, b)
    )
    ends = [total]
    for name in after:
        ends.append(graph.call(name, ends[-1]))
    graph.outputs = [*ends[-1:], graph.call("mul", total, 0.5)]
    return graph


def random(n, k, j, m):
    return [tx.randn(n, k), tx.randn(k, m), tx.randn(n, j), tx.randn(m, j), tx.randn(m)]


@pytest.mark.parametrize("kind", [Sunk, Ready])
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("n", "k", "j", "m"), [(96, 96, 96, 96), (64, 5, 200, 33), (131, 64, 64, 64), (500, 17, 2, 8)]
)
def test_rows_of_steps_that_meet_are_shared_out(n, k, j, m, threads, kind):
    graph, given = meeting(["tanh", "neg"]), random(n, k, j, m)
    wanted = values(executor(graph, "serial")(given))
    tx.set_num_threads(threads)
    run = kind(graph, poisoned=True)
    for _ in range(50):
        assert values(run(given)) == wanted
    assert run.programs[0].bands == (kind is Sunk or n * m * (k + j) > 400_000)  # if it pays
    assert 0 <= run.programs[0].arena_bytes - run.programs[0].high_water <= 64


def test_rows_that_need_other_rows_are_not_shared_out():
    """A product whose second factor is made beside it, and sums down the rows, wait for all of it."""
    graph = Graph("crossed")
    x, w = graph.input("x", "f32[96, 96]"), graph.input("w", "f32[96, 96]")
    a, b = graph.call("matmul", x, w), graph.call("matmul", w, x)
    graph.outputs = [graph.call("matmul", a, b)]
    given = [tx.randn(96, 96), tx.randn(96, 96)]
    wanted = values(executor(graph, "serial")(given))
    tx.set_num_threads(2)
    for kind in (Sunk, Ready):
        run = kind(graph, poisoned=True)
        for _ in range(50):
            assert values(run(given)) == wanted
        assert run.programs[0].bands == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_bands_wait_for_each_other_and_for_others(threads):
    """Some meet in a chain, one has a product that others read too, and steps between them run as before."""
    graph = Graph("chained")
    x, w = graph.input("x", "f32[n, n]"), graph.input("w", "f32[n, n]")
    before, ends = x, []
    for i in range(4):
        scaled = graph.call("mul", w, 1.0 / (i + 2))
        pair = graph.call("matmul", before, scaled), graph.call("matmul", x, scaled)
        if i == 2:
            ends.append(graph.call("sum", pair[0]))
        met = graph.call("tanh", graph.call("add", *pair))
        ends.append(graph.call("exp", met))
        before = graph.call("mul", met, graph.call("sigmoid", before))
    graph.outputs = [*ends, before]
    given = [tx.randn(96, 96), tx.randn(96, 96) / 8]
    wanted = values(executor(graph, "serial")(given))
    tx.set_num_threads(threads)
    run = Ready(graph, poisoned=True)
    for _ in range(50):
        assert values(run(given)) == wanted
    assert run.programs[0].bands == 3


def test_memory_that_is_used_again_keeps_rows_together():
    """The plan may give a later step memory that other rows of an earlier one still read."""
    graph = Graph("chain")
    x, w = graph.input("x", "f32[128, 64]"), graph.input("w", "f32[64, 64]")
    ends = []
    for i in range(2):
        one = graph.call("matmul", graph.call("mul", x, float(i + 1)), w)
        two = graph.call("matmul", graph.call("tanh", one), w)
        ends.append(graph.call("exp", two))
    graph.outputs = [graph.call("neg", graph.call("add", *ends))]
    given = [tx.randn(128, 64), tx.randn(64, 64) / 8]
    wanted = values(executor(graph, "serial")(given))
    for threads in (1, 2, 4):
        tx.set_num_threads(threads)
        for kind in (Sunk, Ready):
            run = kind(graph, poisoned=True)
            for _ in range(50):
                assert values(run(given)) == wanted
