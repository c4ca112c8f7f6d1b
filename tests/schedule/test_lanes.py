"""Nodes side by side: which ones, and that their memory is their own while others run."""

import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thixo.graph import Graph
from thixo.graph.ir import values_in
from thixo.schedule import lanes, schedule

sys.path.insert(0, str(Path(__file__).parent))
from scheduled_graphs import random_graph

SIZES = {"n": 3, "m": 50}
seeds = st.integers(0, 10**6)


def lanes_of(plan, section):
    borders = (section.begin, *section.ends)
    return [plan.order[a:b] for a, b in zip(borders, section.ends, strict=False)]


def products(size, count=2):
    graph = Graph("products")
    x = [graph.input(f"x{i}", f"f32[{size}, {size}]") for i in range(2 * count)]
    made = [graph.call("matmul", a, b) for a, b in zip(x[::2], x[1::2], strict=True)]
    total = made[0]
    for one in made[1:]:
        total = graph.call("add", total, one)
    graph.outputs = [graph.call("relu", total)]
    return graph


def test_small_products_run_side_by_side():
    plan = schedule(products(96)).bind()
    (section,) = plan.sections
    assert [[n.op.full_name for n in lane] for lane in lanes_of(plan, section)] == [["matmul"]] * 2
    assert "0 to 1 run side by side, in 2 lanes" in str(plan)


def test_large_and_very_small_ones_do_not():
    for size in (8, 1024):
        assert not schedule(products(size)).bind().sections
    assert not schedule(products(96), side_by_side=False).bind().sections


def test_a_thousand_branches_are_dealt_out_evenly():
    graph = Graph("wide")
    x = graph.input("x", "f32[256]")
    ends = []
    for i in range(1000):
        branch = graph.call("mul", x, float(i))
        for _ in range(3):
            branch = graph.call("tanh", branch)
        ends.append(graph.call("sum", branch))
    graph.outputs = ends
    plan = schedule(graph).bind()
    (section,) = plan.sections
    sizes = [len(lane) for lane in lanes_of(plan, section)]
    assert len(sizes) == lanes.LANES
    assert max(sizes) - min(sizes) <= 5
    assert plan.arena <= lanes.LANES * 2 * 1024  # branches of a lane use the same memory


def test_nodes_that_draw_stay_where_they_are():
    graph = Graph("draws")
    x = graph.input("x", "f32[96, 96]")
    draws = [graph.call("rand", (96, 96)) for _ in range(2)]
    graph.outputs = [graph.call("matmul", x, one) for one in draws]
    plan = schedule(graph).bind()
    order = [n for n in plan.order if n.op.full_name == "rand"]
    assert order == graph.nodes[:2]
    for section in plan.sections:
        assert not any(n in order for n in plan.order[section.begin : section.last + 1])


@pytest.fixture
def wherever_they_can(monkeypatch):
    monkeypatch.setattr(lanes, "GAIN", -1.0)
    monkeypatch.setattr(lanes, "FASTER", 0.0)


@given(seeds, st.integers(2, 70), st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whoever_is_faster_memory_is_safe(wherever_they_can, seed, size, control):
    graph = random_graph(seed, size, control)
    one = schedule(graph)
    plan = one.bind(SIZES)
    assert sorted(map(id, plan.order)) == sorted(map(id, graph.nodes))
    pick = random.Random(seed)
    root = {v: one.view_of.get(v, v) for v in graph.values()}
    arena, done = {}, set()

    def span(value):
        return range(plan.offset[value], plan.offset[value] + plan.bytes[value], 4)

    def begin(node):
        """What it reads is there, and it writes where nobody else reads now."""
        assert all(n in done for n in one.needs[node])
        for value in map(root.get, values_in(node.args)):
            if value in plan.offset:
                assert all(arena[p] is value for p in span(value))
        region = plan.regions.get(node)
        if region is not None:
            arena.update(dict.fromkeys(range(region.offset, region.offset + region.bytes, 4), node))
        for value in node.outputs:
            if value in plan.offset:
                arena.update(dict.fromkeys(span(value), value))
        done.add(node)

    position = 0
    for section in [*plan.sections, None]:
        for node in plan.order[position : section.begin if section else None]:
            begin(node)
        if section is None:
            break
        left = lanes_of(plan, section)
        while any(left):
            lane = pick.choice([lane for lane in left if lane])
            # While a node runs, one of every other lane may run: their results and what they read stay apart.
            for other in left:
                if other is not lane and other:
                    touched = {root[v] for v in values_in(other[0].args)} | set(other[0].outputs)
                    for a in lane[0].outputs:
                        for b in touched:
                            if a in plan.offset and b in plan.offset:
                                assert not set(span(a)) & set(span(b))
            begin(lane.pop(0))
        position = section.last + 1
