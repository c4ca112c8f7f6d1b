"""Functional control flow lowered to dataflow: Switch, Merge, Enter, Exit, NextIteration.

A dataflow graph is flat. Its vertices pass tokens along edges; a token belongs to an iteration of a frame. A loop is a
frame: values come in through `enter`, go round through `next`, leave through `exit`. `merge` takes what comes first of a
loop's start and its turns, or of branches; `switch` sends a value one way and says on the others that nothing will come
(a dead token), which all vertices pass on until a merge.

What runs in an order (random numbers) passes a token of its own from one to the next, through branches and loops.

>>> from thixo.graph import parse
>>> print(lower(parse("graph f(x: f32[n]) {\\n  y: f32[n] = neg(x)\\n  return y\\n}")))
dataflow f
  0: input x
  1: op neg(0)
  2: result(1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo.errors import GraphError
from thixo.graph.control import draws, graphs_in, room, room_needed
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.symbolic import Dim, Size


class Port(NamedTuple):
    """One of the results of a vertex."""

    vertex: Vertex
    which: int = 0


class Loop:
    """A frame as it is written: its vertices run once for each iteration."""

    def __init__(self, name: str, parent: Loop | None) -> None:
        self.name = name
        self.parent = parent
        self.enters = 0
        self.exits: list[Vertex] = []


class Vertex:
    """Something that takes one token from each input and gives tokens."""

    __slots__ = ("extra", "inputs", "kind", "loop", "node", "number", "outputs", "targets")

    def __init__(
        self, kind: str, inputs: Sequence[Port], outputs: int, loop: Loop | None, node: Node | None
    ) -> None:
        self.kind = kind
        self.inputs = list(inputs)
        self.outputs = outputs
        self.loop = loop  # the frame that it runs in; of an enter: that it leads into
        self.node = node
        self.number = -1
        self.extra: Any = None
        self.targets: list[
            list[tuple[Vertex, int]]
        ] = []  # of each output: who gets it, as which input

    def __repr__(self) -> str:
        given = ", ".join(_port_text(p) for p in self.inputs)
        name = f" {self.node.op.full_name}" if self.node is not None and self.kind == "op" else ""
        if self.kind in ("input", "number"):
            return f"{self.kind} {self.extra}" + (f"({given})" if given else "")
        where = f"  @{self.loop.name}" if self.loop is not None else ""
        return f"{self.kind}{name}({given}){where}"


def _port_text(port: Port) -> str:
    number = str(port.vertex.number)
    return number if port.vertex.outputs == 1 else f"{number}.{port.which}"


class Sizes(NamedTuple):
    """Where a vertex finds sizes: name, which of its inputs, which axis of that."""

    found: tuple[tuple[str, int, int], ...]

    def read(self, given: Sequence[Any]) -> dict[str, int]:
        """The sizes in what a vertex is given."""
        return {name: int(given[place].shape[axis]) for name, place, axis in self.found}


class Dataflow:
    """The flat form of a graph, which the frames executor runs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.vertices: list[Vertex] = []
        self.inputs: list[Vertex] = []
        self.loops: list[Loop] = []

    def __str__(self) -> str:
        lines = [f"dataflow {self.graph.name}"]
        lines += [f"  {v.number}: {v}" for v in self.vertices]
        return "\n".join(lines)

    def verify(self) -> Dataflow:
        """Raise a GraphError unless every edge stays in its frame or crosses it by enter and exit, each loop's merge
        has a start and a turn, and there is no cycle without a `next`."""
        for v in self.vertices:
            inside = v.loop.parent if v.kind == "enter" and v.loop is not None else v.loop
            for port in v.inputs:
                if not 0 <= port.which < port.vertex.outputs:
                    self._fail(v, f"{_port_text(port)} is no result")
                source = port.vertex
                given = source.loop.parent if source.kind == "exit" and source.loop else source.loop
                if given is not inside:
                    self._fail(v, f"its input {_port_text(port)} is of another frame")
            if v.kind == "merge" and v.extra == "loop":
                kinds = [p.vertex.kind for p in v.inputs]
                if kinds != ["enter", "next"]:
                    self._fail(v, f"merges {kinds} in place of an enter and a next")
        self._refuse_cycles()
        return self

    def _refuse_cycles(self) -> None:
        waiting = {v: sum(p.vertex.kind != "next" for p in v.inputs) for v in self.vertices}
        ready = [v for v, count in waiting.items() if not count]
        seen = 0
        while ready:
            v = ready.pop()
            seen += 1
            if v.kind == "next":
                continue
            for targets in v.targets:
                for target, _ in targets:
                    waiting[target] -= 1
                    if not waiting[target]:
                        ready.append(target)
        if seen < len(self.vertices):
            stuck = next(v for v, count in waiting.items() if count)
            self._fail(stuck, "is part of a cycle without a next")

    def _fail(self, vertex: Vertex, problem: str) -> None:
        raise GraphError(f"dataflow {self.graph.name}: vertex {vertex.number}: {vertex}: {problem}")


def lower(graph: Graph) -> Dataflow:
    """The dataflow of a graph; its results are the graph's outputs, then the new values of what it changes."""
    with room(room_needed(graph)):
        return _Lowering(graph).run()


class _Scope(NamedTuple):
    """Where vertices are put: the frame, a port that says that we got there, and the sizes known."""

    loop: Loop | None
    pivot: Port | None


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self.made = Dataflow(graph)
        self._random: dict[int, bool] = {}

    def run(self) -> Dataflow:
        made = self.made
        graph = made.graph
        scope = _Scope(None, None)
        inputs = []
        for value in graph.inputs:
            vertex = self._add("input", [], scope)
            vertex.extra = value.name
            made.inputs.append(vertex)
            inputs.append(Port(vertex))
        effect = self._number(None, scope, None) if self._draws(graph) else None
        values, _ = self._graph(graph, inputs, scope, effect)
        for value in graph.results():
            self._add("result", [values[value]], scope, 0)
        for v in made.vertices:
            v.targets = [[] for _ in range(v.outputs)]
        for v in made.vertices:
            for slot, port in enumerate(v.inputs):
                port.vertex.targets[port.which].append((v, slot))
        return made

    def _add(
        self,
        kind: str,
        inputs: Sequence[Port],
        scope: _Scope,
        outputs: int = 1,
        node: Node | None = None,
    ) -> Vertex:
        vertex = Vertex(kind, inputs, outputs, scope.loop, node)
        vertex.number = len(self.made.vertices)
        self.made.vertices.append(vertex)
        return vertex

    def _number(self, value: Any, scope: _Scope, trigger: Port | None) -> Port:
        """A value that is known now, given when the trigger comes."""
        trigger = trigger or scope.pivot
        vertex = self._add("number", [] if trigger is None else [trigger], scope)
        vertex.extra = value
        return Port(vertex)

    def _draws(self, graph: Graph) -> bool:
        return draws(graph, self._random)

    # ---- graphs and plain nodes

    def _graph(
        self, graph: Graph, inputs: Sequence[Port], scope: _Scope, effect: Port | None
    ) -> tuple[dict[Value, Port], Port | None]:
        values = dict(zip(graph.inputs, inputs, strict=True))
        sizes: dict[str, tuple[Port, int]] = {}
        for value in graph.inputs:
            _note_sizes(value, values[value], sizes)
        given = set(sizes)
        for value, data in graph.constants.items():
            values[value] = self._number(data, scope, None)
            values[value].vertex.kind = "constant"
        for node in graph.nodes:
            ports, effect = self._node(node, values, sizes, scope, effect)
            for value, port in zip(node.outputs, ports, strict=True):
                values[value] = port
                _note_sizes(value, port, sizes)
        for guard in graph.guards:
            names = {n for s in (guard.left, guard.right) for n in symbols_in(s)}
            if names - given:  # about sizes that the data decide
                inside, found = self._sizes([guard.left, guard.right], sizes, 0)
                vertex = self._add("guard", inside, scope, 0)
                vertex.extra = (guard, found, graph.name)
        return values, effect

    def _sizes(
        self, used: Sequence[Any], sizes: dict[str, tuple[Port, int]], start: int
    ) -> tuple[list[Port], Sizes]:
        """Ports whose values say how large the sizes are that are used."""
        ports: list[Port] = []
        found = []
        for name in dict.fromkeys(n for s in sizes_in(list(used)) for n in s.symbols):
            port, axis = sizes[name]
            if port not in ports:
                ports.append(port)
            found.append((name, start + ports.index(port), axis))
        return ports, Sizes(tuple(found))

    def _node(
        self,
        node: Node,
        values: dict[Value, Port],
        sizes: dict[str, tuple[Port, int]],
        scope: _Scope,
        effect: Port | None,
    ) -> tuple[list[Port], Port | None]:
        if next(graphs_in(node), None) is not None:
            return self._control(node, values, sizes, scope, effect)
        reads = [values[v] for v in values_in(node.args)]
        carriers, found = self._sizes(node.args, sizes, len(reads))
        inputs = [*reads, *carriers]
        if node.op.random and effect is not None:
            inputs.append(effect)
        elif not inputs and scope.pivot is not None:
            inputs.append(scope.pivot)
        count = len(node.outputs)
        vertex = self._add("op", inputs, scope, count + bool(node.op.random), node)
        vertex.extra = found
        if node.op.random:
            effect = Port(vertex, count)
        return [Port(vertex, i) for i in range(count)], effect

    # ---- control flow

    def _control(
        self,
        node: Node,
        values: dict[Value, Port],
        sizes: dict[str, tuple[Port, int]],
        scope: _Scope,
        effect: Port | None,
    ) -> tuple[list[Port], Port | None]:
        args = dict(zip((p.name for p in node.op.sig.params), node.args, strict=True))
        ports = {
            name: [values[v] for v in args[name]]
            for name in ("inputs", "state", "slices", "captured")
            if name in args
        }
        inside = any(self._draws(g) for g in graphs_in(node))
        passed = effect if inside else None
        match node.op.full_name:
            case "cond":
                branches = [args["then"], args["other"]]
                found, passed = self._branches(
                    branches, values[args["pred"]], ports["inputs"], scope, passed
                )
            case "switch":
                found, passed = self._branches(
                    args["branches"], values[args["index"]], ports["inputs"], scope, passed
                )
            case "while_loop" | "scan":
                found, passed = self._loop(node, args, ports, sizes, scope, passed)
            case _:  # call, fused: what they contain, in their place
                graph = args["graph"]
                found_values, passed = self._graph(graph, ports["inputs"], scope, passed)
                found = [found_values[v] for v in graph.outputs]
        return found, passed if inside else effect

    def _switch(self, port: Port, chosen: Port, ways: int, scope: _Scope) -> Vertex:
        return self._add("switch", [port, chosen], scope, ways)

    def _branches(
        self,
        graphs: Sequence[Graph | None],
        chosen: Port,
        inputs: Sequence[Port],
        scope: _Scope,
        effect: Port | None,
    ) -> tuple[list[Port], Port | None]:
        """One of several graphs. In the place of a graph None stands for one that says False."""
        ways = len(graphs)
        split = {p: self._switch(p, chosen, ways, scope) for p in dict.fromkeys(inputs)}
        pivots = self._switch(chosen, chosen, ways, scope)
        effects = self._switch(effect, chosen, ways, scope) if effect is not None else None
        results: list[list[Port]] = []
        after: list[Port] = []
        for way, graph in enumerate(graphs):
            here = _Scope(scope.loop, Port(pivots, way))
            passed = Port(effects, way) if effects is not None else None
            if graph is None:
                results.append([self._number(False, here, None)])
            else:
                given = [Port(split[p], way) for p in inputs]
                values, passed = self._graph(graph, given, here, passed)
                results.append([values[v] for v in graph.outputs])
            if passed is not None:
                after.append(passed)
        merged = [Port(self._add("merge", column, scope)) for column in zip(*results, strict=True)]
        return merged, Port(self._add("merge", after, scope)) if after else None

    def _loop(
        self,
        node: Node,
        args: dict[str, Any],
        ports: dict[str, list[Port]],
        sizes: dict[str, tuple[Port, int]],
        outer: _Scope,
        effect: Port | None,
    ) -> tuple[list[Port], Port | None]:
        state, captured, slices = ports["state"], ports["captured"], ports.get("slices", [])
        body, test = args["body"], args.get("test")
        loop = Loop(f"{body.name}_{len(self.made.loops)}", outer.loop)
        self.made.loops.append(loop)
        everything = [*state, *captured, *slices]
        trigger = everything[0] if everything else None
        start = self._number(0, outer, trigger)
        bound = self._bound(args, sizes, outer, trigger)
        columns = len(body.outputs) - len(state)

        # What goes round: the number of turns, the state, what is stacked, the order of effects.
        first = [start, *state]
        if columns:
            first.append(self._number(None, outer, trigger))
        if effect is not None:
            first.append(effect)
        scope = _Scope(loop, None)
        merges = []
        for place, port in enumerate(first):
            enter = self._enter(port, scope, "leads" if place == 0 else "starts")
            merge = self._add("merge", [Port(enter)], scope)
            merge.extra = "loop"
            merges.append(Port(merge))
        kept = [Port(self._enter(p, scope, "stays")) for p in (*captured, *slices)]
        limit = Port(self._enter(bound, scope, "stays")) if bound is not None else None
        n = len(state)
        scope = _Scope(loop, merges[0])
        current = merges[1 : n + 1]
        # What goes round besides is first looked at by the test, if there is one that draws random numbers.
        passing = merges[-1] if effect is not None else None
        going, passing = self._goes_on(test, limit, merges[0], [*current, *kept], scope, passing)
        round_trip = [*merges[:-1], passing] if passing is not None else merges
        turns = [self._switch(p, going, 2, scope) for p in round_trip]
        inside = [Port(self._switch(p, going, 2, scope)) for p in kept]
        here = _Scope(loop, Port(turns[0]))
        rows = self._rows(inside[len(captured) :], Port(turns[0]), limit, going, args, scope, here)
        values, after = self._graph(
            body,
            [*(Port(t) for t in turns[1 : n + 1]), *rows, *inside[: len(captured)]],
            here,
            Port(turns[-1]) if effect is not None else None,
        )
        made = [values[v] for v in body.outputs]
        following = [Port(self._add("increment", [Port(turns[0])], here)), *made[:n]]
        if columns:
            following.append(Port(self._add("append", [Port(turns[n + 1]), *made[n:]], here)))
        if after is not None and effect is not None:
            following.append(after)
        for start_or_turn, port in zip(merges, following, strict=True):
            start_or_turn.vertex.inputs.append(Port(self._add("next", [port], here)))
        exits = [self._add("exit", [Port(t, 1)], here) for t in turns]
        loop.exits = exits
        found = [Port(e) for e in exits[1 : n + 1]]
        for column in range(columns):
            shape = node.outputs[n + column].type.shape[1:]
            carriers, known = self._sizes(shape, sizes, 1)
            vertex = self._add("stack", [Port(exits[n + 1]), *carriers], outer, 1, node)
            vertex.extra = (column, bool(args.get("reverse")), known, node.outputs[n + column].type)
            found.append(Port(vertex))
        return found, Port(exits[-1]) if effect is not None else None

    def _bound(
        self,
        args: dict[str, Any],
        sizes: dict[str, tuple[Port, int]],
        outer: _Scope,
        trigger: Port | None,
    ) -> Port | None:
        """How many turns there are at most."""
        most: Size | None = args.get("length", args.get("limit"))
        if not isinstance(most, Dim):
            return None if most is None else self._number(most, outer, trigger)
        carriers, found = self._sizes([most], sizes, 0)
        vertex = self._add("size", carriers, outer)
        vertex.extra = (most, found)
        return Port(vertex)

    def _enter(self, port: Port, scope: _Scope, how: str) -> Vertex:
        vertex = self._add("enter", [port], scope)
        vertex.extra = how
        assert scope.loop is not None
        scope.loop.enters += 1
        return vertex

    def _goes_on(
        self,
        test: Graph | None,
        limit: Port | None,
        count: Port,
        given: Sequence[Port],
        scope: _Scope,
        effect: Port | None,
    ) -> tuple[Port, Port | None]:
        """Whether there is another turn: below the limit, and if the test says so."""
        below = None
        if limit is not None:
            below = Port(self._add("below", [count, limit], scope))
        if test is None:
            assert below is not None
            return below, effect
        given = given[: len(test.inputs)]
        if below is not None:
            draws = effect if self._draws(test) else None
            found, passed = self._branches([test, None], below, given, scope, draws)
            return found[0], passed if draws is not None else effect
        values, passed = self._graph(test, given, scope, effect)
        return values[test.outputs[0]], passed

    def _rows(
        self,
        slices: Sequence[Port],
        count: Port,
        limit: Port | None,
        going: Port,
        args: dict[str, Any],
        scope: _Scope,
        here: _Scope,
    ) -> list[Port]:
        if not slices or limit is None:
            return []
        length = Port(self._switch(limit, going, 2, scope))
        found = []
        for port in slices:
            vertex = self._add("at", [port, count, length], here)
            vertex.extra = bool(args.get("reverse"))
            found.append(Port(vertex))
        return found


def _note_sizes(value: Value, port: Port, sizes: dict[str, tuple[Port, int]]) -> None:
    for axis, size in enumerate(value.type.shape):
        name = symbol_name(size)
        if name is not None:
            sizes.setdefault(name, (port, axis))
