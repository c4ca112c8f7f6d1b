"""The frames executor: the same values as operator by operator, whatever is nested in what."""

import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.errors import GraphError, ThixoError
from thixo.graph import Graph, Interpreter, parse
from thixo.graph.control import CALL, COND, SCAN, SWITCH, WHILE_LOOP
from thixo.graph.operators import find
from thixo.graph.typing import result_types
from thixo.runtime.dataflow import Port, lower
from thixo.runtime.executor import executor
from thixo.runtime.frames import Frames

STATE = ("f64[m]", "f64[m]", "i64[]")  # x, w, i -> x, i


class Programs:
    """Random graphs of one signature, nested in each other."""

    def __init__(self, seed: int, draws: bool) -> None:
        self.pick = random.Random(seed)
        self.draws = draws
        self.count = 0

    def graph(self, depth: int, rows: bool = False) -> Graph:
        pick = self.pick
        self.count += 1
        graph = Graph(f"g{self.count}")
        x, w, i = (graph.input(n, t) for n, t in zip("xwi", STATE, strict=True))

        def op(name, *args):
            declared = find(name)
            bound = [*args, *(p.default for p in declared.sig.params[len(args) :])]
            return graph.add(declared, bound, result_types(declared, bound)).outputs[0]

        def control(kind, *args):
            return graph.add(kind, args, kind.infer(*args)).outputs

        values = [x]
        for _ in range(pick.randrange(1, 5)):
            y, v = pick.choice(values), pick.choice([*values, w])
            kind = pick.randrange(9 if depth else 4)
            if kind == 0:
                values.append(op("sin", y))
            elif kind == 1:
                values.append(op(pick.choice(["add", "mul", "maximum"]), y, v))
            elif kind == 2:
                values.append(op("sub", y, op("ones", tuple(x.shape), tx.float64)))
            elif kind == 3 and self.draws:
                values.append(op("add", y, op("rand", tuple(x.shape), None, tx.float64)))
            elif kind == 4:
                found = control(
                    COND, op("lt", i, pick.randrange(4)), *self.graphs(2, depth), [y, v, i]
                )
                values.append(found[0])
            elif kind == 5:
                found = control(SWITCH, i, tuple(self.graphs(3, depth)), [y, v, i])
                values.append(found[0])
            elif kind == 6:
                values.append(control(CALL, self.graph(depth - 1), [y, v, i])[0])
            elif kind == 7:
                limit = pick.choice([None, 0, 2, 20])
                body = self.loop_body(depth)
                found = control(WHILE_LOOP, self.test(), body, [y, op("mul", i, 0)], [v], limit)
                values.append(found[0])
                if len(found) > 2:
                    values.append(op("add", y, op("sum", found[2], (0,))))
            elif kind == 8:
                inside = self.graph(depth - 1)
                body = Graph(f"turn{self.count}")
                s, j, row, c = (
                    body.input(n, t)
                    for n, t in (("s", STATE[0]), ("j", "i64[]"), ("r", STATE[0]), ("c", STATE[0]))
                )
                made = body.add(
                    CALL, (inside, [s, row, j]), CALL.infer(inside, [s, row, j])
                ).outputs
                body.add(find("add"), (made[0], c, 1), [s.type])
                body.outputs = [body.nodes[-1].outputs[0], made[1], made[0]]
                table = op("expand", v, (3, *v.shape))
                args = (body, [y, i], [table], [w], 3, bool(pick.randrange(2)))
                found = control(SCAN, *args)
                values += [found[0], op("sum", found[2], (0,))]
        graph.outputs = [op("tanh", values[-1]), op("add", i, pick.randrange(2))]
        return graph

    def graphs(self, count: int, depth: int) -> list[Graph]:
        return [self.graph(depth - 1) for _ in range(count)]

    def test(self) -> Graph:
        text = f"graph test(x: f64[k], i: i64[], w: f64[k]) {{\n  p: bool[] = lt(i, {self.pick.randrange(4)})\n  return p\n}}"
        return parse(text)

    def loop_body(self, depth: int) -> Graph:
        inside = self.graph(depth - 1)
        body = Graph(f"body{self.count}")
        x, i, w = (body.input(n, t) for n, t in (("x", STATE[0]), ("i", "i64[]"), ("w", STATE[0])))
        made = body.add(CALL, (inside, [x, w, i]), CALL.infer(inside, [x, w, i])).outputs
        following = body.add(find("add"), (i, 1, 1), [i.type]).outputs[0]
        body.outputs = [made[0], following, *([made[0]] if self.pick.randrange(2) else [])]
        return body


@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
@settings(max_examples=30)
def test_the_same_values_as_operator_by_operator(seed, draws, threads):
    graph = Programs(seed, draws).graph(3)
    graph.verify()
    inputs = [
        tx.linspace(-1, 1, 5, dtype=tx.float64),
        tx.ones(5, dtype=tx.float64),
        tx.tensor(seed % 4),
    ]
    tx.manual_seed(7)
    expected = Interpreter(graph).run(*inputs)
    frames = Frames(graph, threads=threads)
    frames.dataflow.verify()
    tx.manual_seed(7)
    for got, wanted in zip(frames(inputs), expected, strict=True):
        assert got.tolist() == wanted.tolist()


LOOP = """
graph more(x: f32[r], i: i64[]) {
  p: bool[] = lt(i, 40)
  return p
}

graph turn(x: f32[r], i: i64[]) {
  y: f32[r] = add(x, i)
  j: i64[] = add(i, 1)
  return y, j, y
}

graph main(x: f32[n], zero: i64[]) {
  y: f32[n], i: i64[], rows: f32[steps, n] = while_loop(test=more, body=turn, state=[x, zero], captured=[])
  return y, rows
}
"""


def test_more_iterations_than_may_be_under_way_at_a_time():
    y, rows = Frames(parse(LOOP))([tx.zeros(2), tx.tensor(0)])
    assert y.tolist() == [780.0, 780.0]
    assert tuple(rows.shape) == (40, 2)
    assert rows[3].tolist() == [6.0, 6.0]


def test_a_loop_without_turns_stacks_nothing():
    y, rows = Frames(parse(LOOP))([tx.ones(2), tx.tensor(50)])
    assert y.tolist() == [1.0, 1.0]
    assert tuple(rows.shape) == (0, 2)


def test_independent_operators_run_at_the_same_time(monkeypatch):
    """Both products wait for each other: one after the other they would wait for ever."""
    from thixo.runtime import frames

    meeting = threading.Barrier(2, timeout=60)
    apply = frames._apply

    def meet(vertex, given):
        if vertex.node.op.full_name == "matmul":
            meeting.wait()
        return apply(vertex, given)

    monkeypatch.setattr(frames, "_apply", meet)
    graph = tx.jit.trace(lambda a, b: (a @ a, b @ b), (tx.ones(3, 3), tx.ones(3, 3))).graph
    first, second = Frames(graph, threads=2)([tx.ones(3, 3), tx.ones(3, 3)])
    assert first.tolist() == second.tolist() == [[3.0] * 3] * 3


def test_errors_have_the_line_and_nothing_hangs():
    def f(x, i):
        return x.index_select(0, i) + 1, (x @ x.T).exp()

    graph = tx.jit.trace(f, (tx.ones(4, 4), tx.tensor([0, 1]))).graph
    run = executor(graph, "frames", threads=3)
    with pytest.raises(ThixoError, match=r"test_frames\.py:"):
        run([tx.ones(4, 4), tx.tensor([0, 9])])
    assert run([tx.ones(4, 4), tx.tensor([0, 1])])[0].shape == (2, 4)


def test_inner_values_can_be_asked_for():
    graph = parse("graph f(x: f32[n]) {\n  y: f32[n] = neg(x)\n  z: f32[n] = exp(y)\n  return z\n}")
    z, y = executor(graph, "frames").inner(["y"], [tx.ones(2)])
    assert y.tolist() == [-1.0, -1.0]
    assert z.tolist() == y.exp().tolist()


def test_the_dataflow_prints_and_is_verified():
    flow = lower(parse(LOOP)).verify()
    text = str(flow)
    for word in ("enter(", "merge(", "switch(", "next(", "exit(", "@turn_0"):
        assert word in text
    merge = next(v for v in flow.vertices if v.kind == "merge")
    turn, merge.inputs[1] = merge.inputs[1], merge.inputs[0]
    with pytest.raises(GraphError, match="in place of an enter and a next"):
        flow.verify()
    merge.inputs[1] = turn
    inside = next(v for v in flow.vertices if v.kind == "op")
    inside.inputs[0] = Port(flow.inputs[0])
    with pytest.raises(GraphError, match="another frame"):
        flow.verify()


def test_graphs_in_graphs_are_lowered_at_any_depth():
    graph = parse("graph f(x: f32[3]) {\n  y: f32[3] = add(x, 1.0)\n  return y\n}")
    for i in range(2000):
        outer = Graph(f"f{i}")
        x = outer.input("x", "f32[3]")
        outer.outputs = [outer.call(CALL, graph, [x])]
        graph = outer
    assert Frames(graph)([tx.zeros(3)])[0].tolist() == [1, 1, 1]
