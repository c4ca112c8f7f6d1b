"""Values that a graph changes in some lines only: written where they are, and put back if something fails later."""

import pytest

import thixo as tx
from thixo.errors import IndexOutOfRange
from thixo.graph import parse
from thixo.runtime.executor import executor
from thixo.schedule import schedule

static = tx.static


def cached(axis=0, shape=(3, 4), count=2, executor="sunk"):
    """A program that replaces lines of a cache, reads them, and may fail after that."""
    lines = list(shape)
    lines[axis] = count
    with static.Graph() as g:
        cache = static.variable(tx.zeros(shape), "cache")
        at = static.placeholder((count,), tx.int64, "at")
        rows = static.placeholder(lines, tx.float32, "rows")
        later = static.placeholder((1,), tx.int64, "later")
        new = tx.index_copy(cache, axis, at, rows)
        total = new.sum()
        picked = tx.index_select(rows, axis, later)
        kept = static.assign(cache, new)
    session = static.Session(g, executor=executor)
    return session, session.bind([total, picked, kept], [at, rows, later])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lines_of_a_cache_are_replaced(axis):
    session, call = cached(axis, (3, 4, 5))
    wanted = tx.zeros(3, 4, 5)
    lines = [3, 4, 5]
    lines[axis] = 2
    for turn, places in enumerate(([0, 2], [1, 1], [2, 0])):
        rows = tx.arange(float(tx.zeros(lines).numel())).reshape(lines) + 100 * turn
        at = tx.tensor(places)
        wanted = tx.index_copy(wanted, axis, at, rows)
        total, _, _ = call(at, rows, tx.tensor([0]))
        assert total.item() == wanted.sum().item()
        assert session.run("cache").tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("at", "later"), [([0, 1], 5), ([1, 1], 7), ([0, 3], 0), ([-1, 0], 0)], ids=str
)
@pytest.mark.parametrize("executor", ["sunk", "ready"])
def test_what_fails_later_leaves_the_cache_as_it_was(at, later, executor):
    session, call = cached(executor=executor)
    rows = tx.arange(8.0).reshape(2, 4) + 1
    call(tx.tensor([0, 2]), rows, tx.tensor([0]))
    before = session.run("cache").tolist()
    with pytest.raises(IndexOutOfRange, match="out of range for axis 0"):
        call(tx.tensor(at), rows * 10, tx.tensor([later]))
    assert session.run("cache").tolist() == before
    call(tx.tensor([1, 1]), rows * 10, tx.tensor([1]))
    assert session.run("cache")[1].tolist() == (rows * 10)[1].tolist()


GRAPH = """
graph main(cache: f32[4, 3], at: i64[1], row: f32[1, 3]) {
  %s
  new: f32[4, 3] = index_copy(cache, dim=0, index=at, source=row)
  %s
  cache <- new
  return %s
}
"""


def replaced(before="", after="", returned="new"):
    graph = parse(GRAPH % (before, after, returned))
    return graph, schedule(graph).replaced


def test_a_cache_is_replaced_where_nobody_reads_the_old_one_later():
    assert replaced(returned="new")[1] == {}  # the result is the caller's own
    one = "sum: f32[] = sum(new)"
    assert [v.name for v in replaced("", one, "sum")[1].values()] == ["new"]
    early = "sum: f32[] = sum(cache)"
    assert [v.name for v in replaced(early, "", "sum")[1].values()] == ["new"]
    assert replaced("", early, "sum")[1] == {}
    seen = "flat: f32[12] = reshape(cache, shape=(12,))"
    late = "sum: f32[] = sum(flat)"
    assert replaced(seen, late, "sum")[1] == {}
    assert replaced(seen, "", "flat")[1] == {}


@pytest.mark.parametrize("name", ["serial", "ready", "sunk"])
def test_a_look_at_a_variable_shows_it_as_it_was(name):
    with static.Graph() as g:
        w = static.variable(tx.arange(6.0), "w")
        x = static.placeholder((6,), tx.float32, "x")
        seen = w.reshape(2, 3)
        kept = static.assign(w, w + x)
    session = static.Session(g, executor=name)
    for turn in range(2):
        found, _ = session.run([seen, kept], {x: tx.ones(6)})
        assert found.tolist() == (tx.arange(6.0).reshape(2, 3) + turn).tolist()


ATTENTION = """
graph main(q: f32[2, 3, n, 8], k: f32[2, 3, n, 8], v: f32[2, 3, n, 8], g: f32[2, 3, n, 8]) {
  y: f32[2, 3, n, 8], l: f32[2, 3, n] = nn.functional.attention(q, k, v, attn_mask=None, is_causal=True, scale=0.5)
  a: f32[2, 3, n, 8], b: f32[2, 3, n, 8], c: f32[2, 3, n, 8] = nn.functional.attention_backward(g, q, k, v, y, l, attn_mask=None, is_causal=True, scale=0.5)
  return y, l, a, b, c
}
"""


@pytest.mark.parametrize("n", [2, 40, 150])
def test_attention_of_a_program_needs_no_python(n):
    graph = parse(ATTENTION)
    whole = tx.randn(2, n, 12, 8)
    inputs = [t.permute(0, 2, 1, 3) for t in whole.chunk(4, 2)]  # heads side by side
    run = executor(graph, "sunk")
    found = run(inputs)
    wanted = executor(graph, "serial")(inputs)
    assert [t.tolist() for t in found] == [t.tolist() for t in wanted]
    assert not run.programs[0].python


def test_executors_agree_on_a_changed_cache():
    graph, _ = replaced("early: f32[] = sum(cache)", "sum: f32[] = sum(new)", "early, sum")
    inputs = [tx.arange(12.0).reshape(4, 3), tx.tensor([2]), tx.ones(1, 3)]
    wanted = [t.tolist() for t in executor(graph, "serial")(inputs)]
    for name in ("ready", "sunk", "frames"):
        assert [t.tolist() for t in executor(graph, name)(inputs)] == wanted
