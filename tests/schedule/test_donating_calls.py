"""Calls write new values over what they are given, where the graph that they call allows it."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import parse
from thixo.passes import optimize
from thixo.runtime.sunk import Sunk
from thixo.schedule import schedule

UPDATE = """
graph update(w: f32[8, 8], m: f32[8, 8], g: f32[8, 8]) {
  part: f32[8, 8] = mul(m, 0.5)
  moved: f32[8, 8] = add(part, g)
  new: f32[8, 8] = sub(w, moved)
  return new, moved
}

graph step(a: f32[8, 8], ma: f32[8, 8], b: f32[8, 8], mb: f32[8, 8], x: f32[8, 8]) {
  y: f32[8, 8] = matmul(x, a)
  z: f32[8, 8] = matmul(y, b)
  na: f32[8, 8], nma: f32[8, 8] = call(graph=update, inputs=[a, ma, y])
  nb: f32[8, 8], nmb: f32[8, 8] = call(graph=update, inputs=[b, mb, z])
  a <- na
  ma <- nma
  b <- nb
  mb <- nmb
  return z
}"""


def donated(graph):
    return {a.name: b.name for a, b in schedule(graph).donated.items()}


def check_runs(graph, **options):
    """A few runs that write are those of operators one by one, and new values are where the old ones were."""
    rng = np.random.default_rng(0)
    given = [tx.tensor(rng.normal(size=v.type.shape).astype(np.float32)) for v in graph.inputs]
    mine = [t.clone() for t in given]
    run = Sunk(graph, poisoned=True, writes=True, **options)
    plain = Sunk(graph)
    for _ in range(3):
        wanted = plain(given)
        outputs, news = wanted[: len(graph.outputs)], wanted[len(graph.outputs) :]
        for old, new in zip(graph.mutations, news, strict=True):
            given[graph.inputs.index(old)] = new.clone()
        for a, b in zip(run(mine), outputs, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()
        for a, b in zip(mine, given, strict=True):
            assert a.numpy().tobytes() == b.numpy().tobytes()


def test_updates_in_calls_go_into_the_memory_of_what_they_update():
    graph = parse(UPDATE).verify()
    assert donated(graph) == {"a": "na", "ma": "nma", "b": "nb", "mb": "nmb"}
    found = schedule(graph)
    assert found.bind().arena == schedule(parse(UPDATE).verify()).bind().arena
    assert "into a" in str(found.bind())
    check_runs(graph)
    check_runs(graph, side_by_side=False)


def test_a_call_that_may_not_write_there_does_not():
    changes = [
        # the body reads what is overwritten, later, or at other places
        ("sub(w, moved)", "sub(w, moved)\n  late: f32[8, 8] = mul(m, new)", ["a", "b"]),
        ("sub(w, moved)", "matmul(w, moved)", ["ma", "mb"]),
        ("sub(w, moved)", "matmul(moved, m)", ["a", "b"]),
        ("  new: f32", "  t: f32[8, 8] = transpose(w, 0, 1)\n  moved2: f32[8, 8] = add(moved, t)\n  new: f32",
         ["a", "b", "ma", "mb"]),
        ("sub(w, moved)", "sub(moved, moved)", ["a", "b", "ma", "mb"]),
        # the same memory is given twice, or looked at
        ("inputs=[a, ma, y]", "inputs=[a, ma, a]", ["b", "ma", "mb"]),
        ("inputs=[b, mb, z]", "inputs=[b, mb, b]", ["a", "ma", "mb"]),
        # it is read or returned by others
        ("  a <- na", "  late: f32[8, 8] = matmul(a, ma)\n  a <- na", ["b", "mb"]),
        ("return z", "return z, a", ["b", "ma", "mb"]),
        ("return z", "return z, na", ["b", "ma", "mb"]),
        # two calls with the parts of one
        ("inputs=[b, mb, z]", "inputs=[mb, b, z]", []),
    ]  # fmt: skip
    for old, new, left in changes:
        graph = parse(UPDATE.replace(old, new)).verify()
        if left:
            assert sorted(donated(graph)) == sorted(left), new
        check_runs(graph)


def test_a_call_before_something_that_can_fail_writes_elsewhere():
    text = UPDATE.replace("x: f32[8, 8])", "x: f32[8, 8], i: i64[2])")
    early = text.replace("  a <- na", "  late: f32[2, 8] = index_select(x, 0, i)\n  a <- na")
    early = early.replace("return z", "return z, late")
    assert not donated(parse(early).verify())
    choose = "  i: i64[8] = constant([0, 1, 2, 3, 4, 5, 6, 7])\n  d: f32[8, 8] = index_select(moved, 0, i)"
    inside = UPDATE.replace(
        "  new: f32[8, 8] = sub(w, moved)", f"{choose}\n  new: f32[8, 8] = sub(w, d)"
    )
    inside = parse(inside).verify()
    assert not donated(inside)
    assert not [n for n in optimize(inside).graph.nodes if n.op.full_name == "call"]


@pytest.mark.parametrize("strided", [0, 1])
def test_what_lies_otherwise_is_written_too(strided):
    graph = parse(UPDATE).verify()
    rng = np.random.default_rng(1)
    given = [tx.tensor(rng.normal(size=(8, 8)).astype(np.float32)) for _ in graph.inputs]
    given[strided] = given[strided].t()
    wanted = Sunk(graph)(given)[1:]
    Sunk(graph, writes=True, poisoned=True)(given)
    for a, b in zip(given, wanted, strict=False):
        assert a.contiguous().numpy().tobytes() == b.contiguous().numpy().tobytes()
