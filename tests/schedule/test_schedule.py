"""Schedules: orders are valid, memory that is in use is not written, peaks are what they are said to be."""

import gc
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.errors import ArgumentError
from thixo.graph import Graph, parse
from thixo.graph.effects import CHECK
from thixo.graph.ir import Node, values_in
from thixo.schedule import schedule
from thixo.schedule.flow import ALIGNMENT
from thixo.schedule.order import share

sys.path.insert(0, str(Path(__file__).parent))
from scheduled_graphs import random_graph

SIZES = {"n": 3, "m": 50}
seeds = st.integers(0, 10**6)


def graph_of(text):
    return parse(text).verify()


@given(seeds, st.integers(1, 60))
@settings(max_examples=25)
def test_orders_are_valid(seed, size):
    graph = random_graph(seed, size)
    graph.verify()
    order = schedule(graph).order
    assert sorted(map(id, order)) == sorted(map(id, graph.nodes))
    known = {*graph.inputs, *graph.constants}
    for node in order:
        assert known.issuperset(values_in(node.args))
        known.update(node.outputs)
    drawn = [n for n in graph.nodes if n.op.full_name == "rand"]
    assert [n for n in order if n.op.full_name == "rand"] == drawn
    assert schedule(graph).order == order


@given(seeds, st.integers(1, 60))
@settings(max_examples=25)
def test_the_peak_is_not_above_that_of_the_given_order(seed, size):
    found = schedule(random_graph(seed, size))
    given_order = share(found._flow, list(range(len(found.order))))
    assert found._sharing.peak <= given_order.peak


def memory_in_use(plan):
    """By brute force: for each position the stretches of the arena that hold something still needed then."""
    one = plan.schedule
    graph = one.graph
    root = {v: one.view_of.get(v, v) for v in graph.values()}
    position = {node: p for p, node in enumerate(plan.order)}
    born = {v: position[n] for n in graph.nodes for v in n.outputs if root[v] is v}
    last = dict(born)
    for node in graph.nodes:
        for value in values_in(node.args):
            if root[value] in last:
                last[root[value]] = max(last[root[value]], position[node])
    for value in graph.results():
        last[root[value]] = len(plan.order)
    return born, last


@given(seeds, st.integers(1, 70))
@settings(max_examples=25)
def test_nothing_is_written_where_something_is_still_needed(seed, size):
    graph = random_graph(seed, size)
    plan = schedule(graph).bind(SIZES)
    born, last = memory_in_use(plan)
    spans = {v: (plan.offset[v], plan.offset[v] + plan.bytes[v]) for v in plan.offset}
    assert all(b % ALIGNMENT == 0 and e <= plan.arena for b, e in spans.values())
    pointwise = {"exp", "tanh", "neg", "sigmoid", "add", "mul", "maximum"}
    for position, node in enumerate(plan.order):
        region = plan.regions.get(node)
        for value, (begin, end) in spans.items():
            if begin == end or not born[value] <= position <= last[value]:
                continue
            if region is not None and region.bytes:
                assert end <= region.offset or begin >= region.offset + region.bytes
            for made in node.outputs:
                if made is value or made not in spans or spans[made][0] == spans[made][1]:
                    continue
                apart = end <= spans[made][0] or begin >= spans[made][1]
                if apart:
                    continue
                # Overwritten in place: by an operator that goes element by element, and never read again.
                assert node.op.full_name in pointwise
                assert last[value] == position
                assert spans[made] == (begin, end)
                for read in values_in(node.args):
                    if plan.schedule.view_of.get(read, read) is value:
                        assert read is value or plan.schedule._flow.is_whole(read)


@given(seeds, st.integers(1, 70))
@settings(max_examples=25)
def test_an_independent_simulation_has_the_same_peak(seed, size):
    plan = schedule(random_graph(seed, size), side_by_side=False).bind(SIZES)
    one = plan.schedule
    born, last = memory_in_use(plan)
    peak = 0
    for position, node in enumerate(one.order):
        alive = {}
        for value in plan.offset:
            if born[value] <= position <= last[value]:
                alive[one.memory_of.get(value, value)] = -(-plan.bytes[value] // 64) * 64
        region = plan.regions.get(node)
        peak = max(peak, sum(alive.values()) + (region.bytes if region is not None else 0))
    assert plan.peak == peak
    assert peak <= plan.arena <= 1.5 * peak


@given(seeds, st.integers(1, 40))
@settings(max_examples=25)
def test_with_its_conflicts_any_order_is_safe(seed, size):
    import random

    graph = random_graph(seed, size)
    one = schedule(graph)
    plan = one.bind(SIZES)
    waits = {node: set(one.needs[node]) for node in one.order}
    for before, after in plan.conflicts:
        waits[after].add(before)
    assert all(plan.order.index(b) < plan.order.index(a) for a, bs in waits.items() for b in bs)
    # Run in a random order that keeps to both, and note who wrote each byte last.
    pick = random.Random(seed)
    left, done, arena = list(one.order), set(), {}
    root = {v: one.view_of.get(v, v) for v in graph.values()}
    while left:
        node = pick.choice([n for n in left if waits[n] <= done])
        left.remove(node)
        done.add(node)
        for value in values_in(node.args):
            value = root[value]
            if value in plan.offset:
                places = range(plan.offset[value], plan.offset[value] + plan.bytes[value], 4)
                assert all(arena[p] is value for p in places)
        region = plan.regions.get(node)
        if region is not None:
            arena.update(dict.fromkeys(range(region.offset, region.offset + region.bytes, 4), node))
        for value in node.outputs:
            if value in plan.offset:
                places = range(plan.offset[value], plan.offset[value] + plan.bytes[value], 4)
                arena.update(dict.fromkeys(places, value))


def test_a_branch_that_ends_small_runs_to_its_end_before_the_next_begins():
    graph = Graph("f")
    x = graph.input("x", "f32[1000]")
    wide = [graph.call("expand", x, (100, 1000)) for _ in range(4)]
    large = [graph.call("exp", w) for w in wide]
    small = [graph.call("sum", v) for v in large]
    total = small[0]
    for value in small[1:]:
        total = graph.call("add", total, value)
    graph.outputs = [total]
    plan = schedule(graph).bind()
    assert plan.peak < 2 * 400_000


def test_parts_inside_of_nodes_are_regions_of_the_outer_arena():
    graph = graph_of(
        """
graph inner(x: f32[r]) {
  a: f32[r] = exp(x)
  b: f32[r] = sum(a, dim=0, keepdim=True)
  y: f32[r] = mul(a, b)
  return y
}
graph main(x: f32[n]) {
  a: f32[n] = exp(x)
  b: f32[n] = call(graph=inner, inputs=[a])
  y: f32[n] = add(a, b)
  return y
}""".replace("b: f32[r] = sum", "b: f32[1] = sum")
    )
    plan = schedule(graph).bind({"n": 32})
    (region,) = plan.regions.values()
    assert region.bytes == region.plans[0].arena == 128 + 64
    assert plan.peak == 128 + 128 + region.bytes


def test_sizes_that_data_decide_stay_outside_and_keep_their_order():
    def f(x):
        places = tx.nonzero(x)
        return places.sum() + tx.zeros(places.shape[0], 2).sum() + x.exp().sum()

    graph = tx.jit.trace(f, tx.tensor([0.0, 1.0, 2.0])).graph
    found = schedule(graph)
    names = [n.op.full_name for n in found.order]
    assert names.index("nonzero_places") < names.index("zeros")
    assert {v.name for v in found.dynamic} >= {"zeros"}
    plan = found.bind({"n": 3})
    assert not found.dynamic & set(plan.offset)
    assert "the data decide" in str(plan)


def test_updates_go_into_the_memory_of_what_they_update():
    graph = graph_of("""
graph step(w: f32[4, 4], x: f32[4, 4]) {
  y: f32[4, 4] = matmul(x, w)
  g: f32[4, 4] = matmul(y, w)
  new: f32[4, 4] = sub(w, g)
  w <- new
  return y
}""")
    found = schedule(graph)
    assert {a.name: b.name for a, b in found.donated.items()} == {"w": "new"}
    assert "into w" in str(found.bind())


@pytest.mark.parametrize("change", [
    ("return y", "return y, w"),  # the old value is returned
    ("return y", "return y, new"),  # the new value is returned too
    ("new: f32[4, 4] = sub(w, g)\n", "new: f32[4, 4] = sub(w, g)\n  z: f32[4, 4] = mul(w, w)\n"),  # read later
    ("new: f32[4, 4] = sub(w, g)", "t: f32[4, 4] = transpose(w, 0, 1)\n  new: f32[4, 4] = sub(w, t)"),
    ("new: f32[4, 4] = sub(w, g)", "new: f32[4, 4] = matmul(w, g)"),  # reads w while it writes
])  # fmt: skip
def test_no_update_overwrites_what_is_needed(change):
    text = """
graph step(w: f32[4, 4], x: f32[4, 4]) {
  y: f32[4, 4] = matmul(x, w)
  g: f32[4, 4] = matmul(y, w)
  new: f32[4, 4] = sub(w, g)
  w <- new
  return y
}"""
    assert not schedule(graph_of(text.replace(*change))).donated


def test_updates_wait_for_what_can_fail():
    graph = graph_of("""
graph step(w: f32[4], v: f32[4], i: i64[2]) {
  a: f32[4] = exp(w)
  part: f32[2] = index_select(a, 0, i)
  new: f32[4] = add(w, a)
  late: f32[2] = index_select(v, 0, i)
  w <- new
  v <- a
  return part, late
}""")
    assert not schedule(graph).donated  # `late` may fail after both
    graph.nodes[2], graph.nodes[3] = graph.nodes[3], graph.nodes[2]
    found = schedule(graph)
    assert [v.name for v in found.donated] == ["w"]
    names = [n.outputs[0].name for n in found.order]
    assert names.index("new") > max(names.index("part"), names.index("late"))


def test_updates_wait_for_checks():
    graph = graph_of("""
graph step(w: f32[4], ok: bool[]) {
  new: f32[4] = exp(w)
  w <- new
  return ok
}""")
    graph.nodes.append(Node(CHECK, (graph.inputs[1], [], "ValueError", ""), [], None))
    assert not schedule(graph).donated
    graph.nodes.reverse()
    found = schedule(graph)
    assert [v.name for v in found.donated] == ["w"]
    assert [n.op.full_name for n in found.order] == ["check", "exp"]


def test_missing_sizes_are_named():
    graph = graph_of("graph f(x: f32[n, m]) {\n  y: f32[n, m] = exp(x)\n  return y\n}")
    with pytest.raises(ArgumentError, match="no size for m; it needs m, n"):
        schedule(graph).bind({"n": 2})
    assert "4*m*n" in str(graph.plan())


def test_plans_are_made_once_for_each_size():
    found = schedule(random_graph(1, 20))
    assert found.bind(SIZES) is found.bind(dict(SIZES)) is not found.bind({"n": 4, "m": 50})


class CountedList(list):
    """A list that counts how often something in it is looked at."""

    looks = 0

    def __getitem__(self, place):
        CountedList.looks += 1
        return super().__getitem__(place)


def test_work_grows_in_proportion_to_the_graph(monkeypatch):
    from thixo.schedule import flow

    looks = []
    real = flow.Flow._inside
    monkeypatch.setattr(flow.Flow, "_inside", lambda *args: CountedList(real(*args)))
    for size in (500, 2000):
        CountedList.looks = 0
        schedule(random_graph(3, size, control=False))
        looks.append(CountedList.looks)
    assert 0 < looks[1] < 6 * looks[0]


def test_deep_graphs_are_no_problem():
    graph = Graph("deep")
    value = graph.input("x", "f32[2, 3]")
    for i in range(5000):
        value = graph.call("transpose" if i % 3 else "exp", value, *((0, 1) if i % 3 else ()))
    graph.outputs = [graph.call("reshape", value, (6,))]
    assert schedule(graph).bind().arena <= 128


def test_what_is_printed_keeps_its_order_though_another_would_take_less_memory():
    graph = graph_of("""
graph f(x: f32[1000]) {
  a: f32[1000] = exp(x)
  p: f32[1000] = show(a, text='first')
  b: f32[] = sum(x)
  q: f32[] = show(b, text='second')
  c: f32[] = sum(p)
  return c, q
}""")
    order = [n.args[1] for n in schedule(graph).order if n.op.full_name == "show"]
    assert order == ["first", "second"]


def test_a_plan_needs_sizes_that_can_be():
    one = schedule(graph_of("graph f(x: f32[n]) {\n  y: f32[n] = exp(x)\n  return y\n}"))
    with pytest.raises(ArgumentError, match="0 or more; n is -3"):
        one.bind({"n": -3})


@pytest.mark.parametrize("user_freezes", [False, True])
def test_garbage_is_collected_again_after_a_large_graph(user_freezes):
    if not user_freezes:
        gc.unfreeze()  # what conftest.py froze
    enabled, frozen = gc.isenabled(), gc.get_freeze_count()
    try:
        for _ in range(9):
            schedule(random_graph(1, 400)).bind(SIZES)
            assert gc.isenabled() == enabled
            assert gc.get_freeze_count() == frozen
    finally:
        gc.freeze()
