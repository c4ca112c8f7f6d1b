"""Loops whose number of turns is known, and small: their turns one after the other, each with names of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.errors import ThixoError
from thixo.graph.control import SCAN, WHILE_LOOP, graphs_in, is_random, subgraphs
from thixo.graph.control_types import instantiate
from thixo.graph.interpret import EagerBackend, Interpreter
from thixo.graph.ir import Graph, Node, Type, Value, values_in
from thixo.graph.operators import bind, find
from thixo.graph.sizes import sizes_in
from thixo.graph.text import node_text
from thixo.graph.typing import result_types
from thixo.passes.clean import inlined
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.sweep import in_all_graphs, sweep
from thixo.symbolic import Dim

TURNS = 8  # a loop of more turns stays a loop
NODES = 96  # as does one whose turns together have more nodes than this


@graph_pass("unroll")
def unroll(graph: Graph, firings: list[Firing]) -> int:
    """Put the turns of short loops one after the other."""
    return unroll_loops(graph, firings=firings)


def unroll_loops(
    graph: Graph, turns: int = TURNS, nodes: int = NODES, firings: list[Firing] | None = None
) -> int:
    """Unroll loops of at most so many turns, with at most so many nodes after it; how many there were. In place.

    The number of turns is known of a scan with a number for its length, and of a while loop whose test depends on
    nothing but numbers that are known before, such as a counter.

    >>> from thixo.graph import parse
    >>> graph = parse('''
    ... graph step(s: f32[n], x: f32[n]) {
    ...   y: f32[n] = add(s, x)
    ...   return y
    ... }
    ... graph main(s: f32[n], x: f32[2, n]) {
    ...   y: f32[n] = scan(body=step, state=[s], slices=[x], captured=[], length=2)
    ...   return y
    ... }''')
    >>> unroll_loops(graph)
    1
    >>> for node in graph.nodes:
    ...     print(node)
    select: f32[n] = select(x, dim=0, index=0)
    y_1: f32[n] = add(s, select)
    select_1: f32[n] = select(x, dim=0, index=1)
    y_2: f32[n] = add(y_1, select_1)
    """

    def change(one: Graph) -> int:
        makers: dict[Value, Node] = {}

        def replace(node: Node) -> Sequence[Value] | None:
            makers.update(dict.fromkeys(node.outputs, node))
            if node.op not in (SCAN, WHILE_LOOP):
                return None
            body = node.args[0] if node.op is SCAN else node.args[1]
            most = min(turns, nodes // max(1, _count(body)))
            count = _scan_turns(node) if node.op is SCAN else _while_turns(one, node, makers, most)
            if count is None or count > most or not _fits(node, body, count):
                return None
            if firings is not None:
                firings.append(Firing(f"{count} turns", node_text(node), node.source))
            found = _unrolled(one, node, body, count)
            return found

        return sweep(one, replace)

    return in_all_graphs(graph, change)


def _count(graph: Graph) -> int:
    return sum(len(g.nodes) for g in (graph, *subgraphs(graph)))


def _scan_turns(node: Node) -> int | None:
    length = node.args[4]
    return length if isinstance(length, int) else None


# ---- the turns themselves


def _given(node: Node) -> tuple[list[Value], list[Value], list[Value]]:
    """State, slices and what is captured."""
    if node.op is SCAN:
        return node.args[1], node.args[2], node.args[3]
    return node.args[2], [], node.args[3]


def _fits(node: Node, body: Graph, count: int) -> bool:
    """Whether every turn has the types that the loop's results say, and no size that the data decide."""
    state, slices, captured = _given(node)
    if len(node.outputs) > len(state) and (node.op is WHILE_LOOP or not count):
        return False  # as many rows as turns: another type than before
    known = {n for v in body.inputs for s in v.type.shape if isinstance(s, Dim) for n in s.symbols}
    for made in body.nodes:
        for size in (s for v in made.outputs for s in v.type.shape if isinstance(s, Dim)):
            if not known.issuperset(size.symbols):
                return False
    rows = [Type(v.type.dtype, v.type.shape[1:], v.type.device) for v in slices]
    try:
        types = instantiate(
            body, [*(v.type for v in state), *rows, *(v.type for v in captured)], ""
        )
    except ThixoError:
        return False
    return all(a == v.type for a, v in zip(types, state, strict=False)) and all(
        a == v.type for a, v in zip(types, node.outputs[: len(state)], strict=False)
    )


def _unrolled(graph: Graph, node: Node, body: Graph, count: int) -> list[Value]:
    state, slices, captured = _given(node)
    back = node.op is SCAN and node.args[5]
    now = list(state)
    rows: list[list[Value]] = []
    for turn in reversed(range(count)) if back else range(count):
        parts = [_add(graph, node, "select", x, 0, turn) for x in slices]
        made = inlined(graph, body, [*now, *parts, *captured], node.source)
        now = made[: len(now)]
        rows.append(made[len(now) :])
    if back:
        rows.reverse()
    stacked = []
    for column in zip(*rows, strict=True):
        parts = [_add(graph, node, "unsqueeze", row, 0) for row in column]
        stacked.append(_add(graph, node, "cat", parts, 0))
    return [*now, *stacked]


def _add(graph: Graph, node: Node, name: str, *args: Any) -> Value:
    op = find(name)
    bound = bind(op, args, {})
    return graph.add(op, bound, result_types(op, bound), None, node.source).outputs[0]


# ---- how often a while loop turns


def _while_turns(graph: Graph, node: Node, makers: dict[Value, Node], most: int) -> int | None:
    """The number of turns, if it depends on known numbers alone and is not above `most`."""
    test, body, state, _, limit = node.args
    known: dict[int, Any] = {}
    for place, value in enumerate(state):
        number = _known(graph, value, makers)
        if number is not None:
            known[place] = number
    while True:  # what a turn makes of them must depend on nothing else
        steps = {k: _part(body, body.outputs[k], known) for k in known}
        lost = [k for k, part in steps.items() if part is None]
        if not lost:
            break
        for k in lost:
            del known[k]
    verdict = _part(test, test.outputs[0], known)
    if verdict is None:
        return None
    places = list(known)
    try:
        for turn in range(most + 1):
            given = [known[k] for k in places]
            if turn == limit or not bool(Interpreter(verdict).run(*given)[0]):
                return turn
            found = [Interpreter(steps[k]).run(*given)[0] for k in places if steps[k] is not None]  # type: ignore[arg-type]
            known = dict(zip(places, found, strict=True))
    except ThixoError:
        return None  # it fails when it runs, as it should
    return None


def _known(graph: Graph, value: Value, makers: dict[Value, Node]) -> Any:
    """A 0-d value that is the same in every run. Captured tensors are not: they may change."""
    if value.type.shape != ():
        return None
    data = graph.constants.get(value)
    if isinstance(data, np.ndarray):
        return EagerBackend().input(data, value)
    node = makers.get(value)
    if node is None or node.op.kind == "control" or node.op.random or len(node.outputs) != 1:
        return None
    if next(values_in(node.args), None) is not None or sizes_in(list(node.args)):
        return None
    try:
        return EagerBackend().apply(node, list(node.args))[0]
    except ThixoError:
        return None


def _part(graph: Graph, result: Value, known: dict[int, Any]) -> Graph | None:
    """The part of a body that makes one result, if it takes nothing but known values and constants."""
    inputs = [graph.inputs[k] for k in known]
    needed = {result}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.outputs):
            continue
        if is_random(node) or next(graphs_in(node), None) is not None:
            return None
        if sizes_in(list(node.args)) or any(sizes_in(list(v.type.shape)) for v in node.outputs):
            return None
        needed.update(values_in(node.args))
        nodes.append(node)
    made = {v for node in nodes for v in node.outputs}
    constants = {v: d for v, d in graph.constants.items() if v in needed}
    if any(v not in made and v not in constants and v not in inputs for v in needed):
        return None
    if any(not isinstance(d, np.ndarray) for d in constants.values()):
        return None
    part = Graph(graph.name)
    part.inputs, part.constants = inputs, constants
    part.nodes, part.outputs = nodes[::-1], [result]
    return part
