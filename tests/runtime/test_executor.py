"""Executors: one interface, the same values, errors with the user's line."""

import threading

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ArgumentError, GraphError, ShapeError
from thixo.graph import Graph, parse
from thixo.runtime.executor import EXECUTORS, executor

NAMES = sorted(EXECUTORS)
COUNTER = """
graph step(x: f32[n], total: f32[n]) {
  y: f32[n] = mul(x, 2.0)
  now: f32[n] = add(total, y)
  total <- now
  return y
}
"""
WRONG = """
graph pick(x: f32[n], i: i64[2]) {
  y: f32[2] = index_select(x, 0, i)      # model.py:31
  return y
}
"""
LOOP = """
graph below(x: f64[m], i: i64[]) {
  p: bool[] = lt(i, 5)
  return p
}

graph body(x: f64[m], i: i64[]) {
  y: f64[m] = mul(x, 2.0)
  j: i64[] = add(i, 1)
  return y, j, y
}

graph powers(x: f64[m], zero: i64[]) {
  sizes steps >= 0
  last: f64[m], n: i64[], all: f64[steps, m] = while_loop(test=below, body=body, state=[x, zero], captured=[])
  return last, all
}
"""


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_results_are_outputs_then_changes(name):
    x, total = tx.tensor([1.0, 2.0]), tx.tensor([10.0, 10.0])
    y, now = executor(parse(COUNTER), name)([x, total])
    assert y.tolist() == [2, 4]
    assert now.tolist() == [12, 14]
    assert total.tolist() == [10, 10]


def test_results_are_nobody_elses_memory(name):
    graph = Graph("f")
    x = graph.input("x", "f32[n, m]")
    c = graph.constant("c", tx.ones(3))
    view = graph.call("transpose", x, 0, 1)
    twice = graph.call("add", x, x)
    graph.outputs = [x, view, c, twice, twice]
    given = tx.arange(6.0).reshape(2, 3)
    results = executor(graph, name)([given])
    kept = [r.tolist() for r in results]
    for r in results:
        r += 100
    assert given.tolist() == kept[0]
    assert graph.constants[c].tolist() == [1, 1, 1]
    again = executor(graph, name)([given])
    assert [r.tolist() for r in again] == kept
    assert [r.tolist() for r in results] == [(np.array(k) + 100).tolist() for k in kept]


def test_results_have_no_history(name):
    x = tx.ones(2, requires_grad=True)
    (y,) = executor(parse("graph f(x: f32[n]) {\n  y: f32[n] = neg(x)\n  return y\n}"), name)([x])
    assert not y.requires_grad


def test_sizes_change_from_call_to_call(name):
    run = executor(parse(COUNTER), name)
    for n in (2, 5, 3, 2):
        y, _ = run([tx.ones(n), tx.zeros(n)])
        assert y.tolist() == [2] * n


def test_errors_carry_the_line_of_the_node(name):
    with pytest.raises(IndexError, match=r"index_select.*\(model.py:31\)$"):
        executor(parse(WRONG), name)([tx.ones(3), tx.tensor([0, 7])])


def test_inputs_are_checked(name):
    run = executor(parse(COUNTER), name)
    with pytest.raises(GraphError, match="graph step: takes 2 inputs \\(x, total\\), got 1"):
        run([tx.ones(2)])
    with pytest.raises(ShapeError, match="graph step: input x must be f32\\[n\\], is f64\\[2\\]"):
        run([tx.ones(2, dtype=tx.float64), tx.ones(2)])
    with pytest.raises(
        ShapeError, match="graph step: input total must be f32\\[n\\], is f32\\[3\\]"
    ):
        run([tx.ones(2), tx.ones(3)])
    with pytest.raises(ShapeError, match="size n must be at least 2, is 1"):
        run([tx.ones(1), tx.ones(1)])


def test_inner_values(name):
    run = executor(parse(COUNTER), name)
    y = next(v for v in run.graph.values() if v.name == "y")
    results = run.inner([y, "now", "x"], [tx.tensor([1.0, 2.0]), tx.zeros(2)])
    assert [r.tolist() for r in results] == [[2, 4], [2, 4], [2, 4], [2, 4], [1, 2]]
    with pytest.raises(GraphError, match="graph step has no value q"):
        run.inner(["q"], [tx.ones(2), tx.ones(2)])


def test_loops(name):
    run = executor(parse(LOOP), name)
    last, every = run([tx.tensor([1.0, 3.0], dtype=tx.float64), tx.tensor(0)])
    assert last.tolist() == [32, 96]
    assert every.tolist() == [[2.0**i, 3 * 2.0**i] for i in range(1, 6)]
    last, every = run([tx.ones(4, dtype=tx.float64), tx.tensor(9)])
    assert last.tolist() == [1] * 4
    assert every.shape == (0, 4)


def test_threads_share_an_executor(name):
    run = executor(parse(LOOP), name)
    wrong = []

    def work(seed):
        x = tx.full((64,), float(seed), dtype=tx.float64)
        for _ in range(20):
            last, _ = run([x, tx.tensor(0)])
            if last.tolist() != [seed * 32.0] * 64:
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_unknown_names_and_options():
    graph = parse(COUNTER)
    with pytest.raises(ArgumentError, match="executor: there is none called 'fast'; there are"):
        executor(graph, "fast")
    with pytest.raises(ArgumentError, match="unknown option colour for graph step"):
        executor(graph, "serial", colour=1)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_that_are_no_tensors_are_refused_alike(name):
    run = executor(parse("graph f(x: f32[n]) {\n  y: f32[n] = neg(x)\n  return y\n}"), name)
    with pytest.raises(ArgumentError, match=r"x: f32\[n\] needs a tensor or an array, got None"):
        run([None])
    with pytest.raises(ArgumentError, match="needs a list of 1 inputs, got 3"):
        run(3)
    with pytest.raises(GraphError, match=r"no value yy .*did you mean 'y'"):
        run.inner(["yy"], [tx.zeros(2)])
