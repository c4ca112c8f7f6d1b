"""Forward mode on graphs: beside each value its tangent, computed as the value is.

An operator's tangent follows from its gradient rule: the rule is linear in the gradient it gets, so the gradient of the
rule by that is the tangent's rule. There is no second table. A node with graphs gets graphs that carry tangents: a loop
has the tangents of its state beside the state, and keeps nothing for later. Gradients of tangents and tangents of
gradients are these passes one after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.autodiff.depending import has_gradient, is_differentiable
from thixo.autodiff.reverse import Reverse
from thixo.errors import AutogradError, ThixoError
from thixo.graph.control import CALL, COND, FUSED, SCAN, SWITCH, WHILE_LOOP, room, room_needed
from thixo.graph.ir import Graph, Node, Value, map_values, values_in
from thixo.graph.trace import Trace, remove_dead
from thixo.graph.typing import result_types
from thixo.ops import public as tx


def tangent_graph(graph: Graph, wrt: Sequence[Value] | None = None) -> Graph:
    """A graph that takes the tangents of some inputs after its inputs and returns those of its outputs after them.

    `wrt` are the inputs that move; by default all that can. Outputs without gradients (integers) have no tangent.

    >>> graph = tx.graph.parse("graph f(x: f32[n]) {\\n  y: f32[n] = mul(x, x)\\n  return y\\n}")
    >>> both = tangent_graph(graph)
    >>> tx.graph.Interpreter(both).run(tx.tensor([1.0, 2.0]), tx.tensor([1.0, 10.0]))
    [tensor([1., 4.]), tensor([ 2., 40.])]
    """
    chosen = [v for v in graph.inputs if has_gradient(v.type.dtype)] if wrt is None else list(wrt)
    for value in chosen:
        if value not in graph.inputs or not has_gradient(value.type.dtype):
            raise AutogradError(f"tangents: {value} is no input that can move")
    places = [graph.inputs.index(v) for v in chosen]
    outputs = [i for i, v in enumerate(graph.outputs) if has_gradient(v.type.dtype)]
    with room(room_needed(graph)):
        return _with_tangents(graph, places, outputs, {})


def _with_tangents(
    graph: Graph, moved: Sequence[int], wanted: Sequence[int], known: dict[Any, Any]
) -> Graph:
    """A graph that takes tangents of the inputs at `moved`, and gives those of the outputs at `wanted`, at the end."""
    key = (id(graph), tuple(moved), tuple(wanted))
    found = known.get(key)
    if found is None:
        made = graph.copy()
        made.name = f"{graph.name}_tangent"
        inputs = list(made.inputs)
        tangents = {inputs[i]: made.input(f"t_{inputs[i].name}", inputs[i].type) for i in moved}
        given = Forward(made, tangents, known).run([made.outputs[i] for i in wanted])
        made.outputs = [*made.outputs, *given]
        found = known[key] = (graph, made)  # keeps the graph alive, and so its identity
    return found[1]


class Forward:
    """One pass over one graph, in place."""

    def __init__(self, graph: Graph, tangents: dict[Value, Value], known: dict[Any, Any]) -> None:
        self.graph = graph
        self.known = known  # graphs inside that have their tangents already
        self.trace = Trace(graph=graph)
        self.trace.cuts = False  # the tape is off, and tangents can be differentiated
        self.tangents = tangents

    def run(self, outputs: Sequence[Value]) -> list[Value]:
        """The tangents of some values."""
        pending, self.graph.nodes = self.graph.nodes, []
        was_enabled = _core.set_grad_enabled(False)
        try:
            with self.trace:
                for node in pending:
                    self.trace.source = node.source
                    self._step(node)
                self.trace.source = None
                return [self.tangent(v) for v in outputs]
        finally:
            _core.set_grad_enabled(was_enabled)

    def tangent(self, value: Value) -> Value:
        """The tangent of a value, zeros if it does not move."""
        found = self.tangents.get(value)
        if found is None:
            made = tx.zeros(tuple(value.type.shape), dtype=value.type.dtype)
            found = self.tangents[value] = self.trace.value_of(made)
        return found

    def _step(self, node: Node) -> None:
        moves = any(v in self.tangents for v in values_in(node.args))
        if not moves or not is_differentiable(node):
            self.graph.nodes.append(node)
            return
        try:
            if node.op.kind == "control":
                _RULES[node.op.full_name](self, node)
            else:
                self.graph.nodes.append(node)
                self._operator(node)
        except ThixoError as error:
            if not str(error).startswith("tangent of "):
                error.args = (f"tangent of {node.op.full_name}: {error}",)
            raise

    # ---- an operator: the gradient of its gradient rule

    def _operator(self, node: Node) -> None:
        small = Graph("tangent")
        inside = {v: small.input(v.name, v.type) for v in dict.fromkeys(values_in(node.args))}
        outputs = [Value(small.fresh_name(v.name), v.type) for v in node.outputs]
        small.nodes = [
            Node(node.op, map_values(node.args, inside.__getitem__), outputs, node.source)
        ]
        moved = [v for v in inside if v in self.tangents]
        back = Reverse(small, [inside[v] for v in moved])
        flowing = [i for i, v in enumerate(outputs) if v in back.active]
        seeds = [small.input(f"u{i}", outputs[i].type) for i in flowing]
        back.trace.own(seeds)
        gradients = back.run([outputs[i] for i in flowing], seeds)
        directions = [small.input(f"t{i}", v.type) for i, v in enumerate(moved)]
        again = Reverse(small, seeds)
        small.outputs = again.run(gradients, directions)
        remove_dead(small)
        seen = {str(g) for g in self.graph.guards}
        self.graph.guards.extend(g for g in small.guards if str(g) not in seen)
        new = {inside[v]: v for v in inside}
        new.update(zip(outputs, node.outputs, strict=True))
        new.update(zip(directions, (self.tangents[v] for v in moved), strict=True))
        made = self._spliced(small, outputs, new, dict(zip(seeds, flowing, strict=True)), node)
        for i, value in zip(flowing, made, strict=True):
            self.tangents[node.outputs[i]] = value

    def _spliced(
        self,
        small: Graph,
        outputs: list[Value],
        new: dict[Value, Value],
        seeds: dict[Value, int],
        node: Node,
    ) -> list[Value]:
        """The nodes of a small graph here; what it says of the operator itself is there already."""
        for value, data in small.constants.items():
            new[value] = self.graph.constant(value.name, data)
            self.trace.own([new[value]])

        def here(value: Value) -> Value:
            if value not in new and value in seeds:  # linear in it: any value does
                zeros = tx.zeros(tuple(value.type.shape), dtype=value.type.dtype)
                new[value] = self.trace.value_of(zeros)
            return new[value]

        for n in small.nodes:
            if n.outputs[0] is outputs[0]:
                continue
            args = map_values(n.args, here)
            types = [v.type for v in n.outputs]
            made = self.graph.add(n.op, args, types, [v.name for v in n.outputs], node.source)
            self.trace.own(made.outputs)
            new.update(zip(n.outputs, made.outputs, strict=True))
        return [here(v) for v in small.outputs]

    # ---- nodes with graphs

    def put(self, node: Node, args: tuple[Any, ...], outputs: Sequence[Value | int]) -> None:
        """A node again with other arguments; a number among its results is the tangent of that old one."""
        result_types(node.op, args)  # what the graphs inside assume of sizes is assumed here too
        old = node.outputs
        made = []
        for one in outputs:
            if isinstance(one, int):
                value = Value(self.graph.fresh_name(f"t_{old[one].name}"), old[one].type)
                self.tangents[old[one]] = value
                self.trace.own([value])
                one = value
            made.append(one)
        node.args, node.outputs = args, tuple(made)
        self.graph.nodes.append(node)

    def moved(self, values: Sequence[Value]) -> list[int]:
        """The places of the values that move."""
        return [i for i, v in enumerate(values) if v in self.tangents]


def _flowing(graphs: Sequence[Graph], moved: Sequence[int]) -> list[int]:
    """The outputs that move in some of these graphs where these inputs do."""
    active = [Reverse(g, [g.inputs[i] for i in moved]).active for g in graphs]
    return [
        i
        for i in range(len(graphs[0].outputs))
        if any(g.outputs[i] in a for g, a in zip(graphs, active, strict=True))
    ]


def _call(forward: Forward, node: Node) -> None:
    graph, inputs = node.args
    moved = forward.moved(inputs)
    given = _flowing([graph], moved)
    inner = _with_tangents(graph, moved, given, forward.known)
    values = [*inputs, *(forward.tangents[inputs[i]] for i in moved)]
    if node.op is FUSED:
        node.op = CALL  # what tangents are made of need not be what one kernel can do
    forward.put(node, (inner, values), [*node.outputs, *given])


def _choice(forward: Forward, node: Node) -> None:
    branches = list(node.args[1:3]) if node.op is COND else list(node.args[1])
    inputs = node.args[-1]
    moved = forward.moved(inputs)
    given = _flowing(branches, moved)
    made = [_with_tangents(b, moved, given, forward.known) for b in branches]
    values = [*inputs, *(forward.tangents[inputs[i]] for i in moved)]
    args = (node.args[0], *made, values) if node.op is COND else (node.args[0], made, values)
    forward.put(node, args, [*node.outputs, *given])


def _scan(forward: Forward, node: Node) -> None:
    body, state, slices, captured, length, back = node.args
    loop = _Loop(forward, body, state, slices, captured)
    args = (loop.body(), loop.state(), loop.slices(), loop.captured(), length, back)
    forward.put(node, args, loop.outputs(node))


def _while(forward: Forward, node: Node) -> None:
    test, body, state, captured, limit = node.args
    loop = _Loop(forward, body, state, [], captured)
    args = (loop.test(test), loop.body(), loop.state(), loop.captured(), limit)
    forward.put(node, args, loop.outputs(node))


class _Loop:
    """A loop whose state, slices and captured values are each followed by their tangents."""

    def __init__(
        self,
        forward: Forward,
        body: Graph,
        state: list[Value],
        slices: list[Value],
        captured: list[Value],
    ) -> None:
        self.forward = forward
        self.graph = body
        self.groups = (state, slices, captured)
        given = [*state, *slices, *captured]
        self.n, self.m = len(state), len(slices)
        moved = set(forward.moved(given))
        while True:  # state that does not move at first may move after a turn
            self.given = _flowing([body], sorted(moved))
            more = {i for i in self.given if i < self.n} - moved
            if not more:
                break
            moved |= more
        self.moved = sorted(moved)
        self.given = sorted({*self.given, *(i for i in self.moved if i < self.n)})
        starts = (0, self.n, self.n + self.m, len(given))
        self.parts = [[i for i in self.moved if a <= i < b] for a, b in itertools.pairwise(starts)]
        self.starts = starts

    def _group(self, which: int) -> list[Value]:
        values, start = self.groups[which], self.starts[which]
        return [*values, *(self.forward.tangent(values[i - start]) for i in self.parts[which])]

    def state(self) -> list[Value]:
        return self._group(0)

    def slices(self) -> list[Value]:
        return self._group(1)

    def captured(self) -> list[Value]:
        return self._group(2)

    def _ordered(self, inputs: list[Value], tangents: dict[int, Value]) -> list[Value]:
        made: list[Value] = []
        for start, end, part in zip(self.starts, self.starts[1:], self.parts, strict=False):
            made += [*inputs[start:end], *(tangents[i] for i in part)]
        return made

    def body(self) -> Graph:
        made = _with_tangents(self.graph, self.moved, self.given, self.forward.known).copy()
        count = len(self.graph.inputs)
        tangents = dict(zip(self.moved, made.inputs[count:], strict=True))
        made.inputs = self._ordered(made.inputs[:count], tangents)
        plain = len(self.graph.outputs)
        moving = dict(zip(self.given, made.outputs[plain:], strict=True))
        old = made.outputs[:plain]
        made.outputs = [
            *old[: self.n],
            *(moving[i] for i in self.given if i < self.n),
            *old[self.n :],
            *(moving[i] for i in self.given if i >= self.n),
        ]
        return made

    def test(self, test: Graph) -> Graph:
        made = test.copy()
        inputs = list(made.inputs)
        tangents = {i: made.input(f"t_{inputs[i].name}", inputs[i].type) for i in self.moved}
        made.inputs = self._ordered(inputs, tangents)
        return made

    def outputs(self, node: Node) -> list[Value | int]:
        old = node.outputs
        return [
            *old[: self.n],
            *(i for i in self.given if i < self.n),
            *old[self.n :],
            *(i for i in self.given if i >= self.n),
        ]


_RULES: dict[str, Any] = {
    CALL.full_name: _call,
    FUSED.full_name: _call,
    COND.full_name: _choice,
    SWITCH.full_name: _choice,
    SCAN.full_name: _scan,
    WHILE_LOOP.full_name: _while,
}
