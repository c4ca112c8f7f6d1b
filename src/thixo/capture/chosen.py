"""Which values a graph's outputs may be because a branch or a loop leaves them: only for those flags are worth their nodes.

What is looked at is where values pass through as they are, or through views. No node is made.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from thixo.capture.reached import loop_parts
from thixo.graph.control import CALL, COND, FUSED, SCAN, SWITCH, WHILE_LOOP
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.own_memory import is_view

# Values that something may be, or look at; and whether a branch or a loop decides.
May = frozenset[tuple[Value, bool]]
_NOTHING: May = frozenset()


def chosen_among(graph: Graph, sources: Collection[Value]) -> set[Value]:
    """The sources that an output may be on some paths alone.

    >>> scripted = tx.jit.script(lambda x, y: x + y if x.sum() > 0 else y)
    >>> _ = scripted(tx.ones(2), tx.ones(2))
    >>> chosen_among(scripted.graph, scripted.graph.inputs)
    {y: f32[n]}
    """
    may: dict[Value, May] = {
        v: frozenset([(v, False)]) for v in (*graph.inputs, *graph.constants) if v in sources
    }
    _follow(graph, may, sources)
    return {source for v in graph.outputs for source, chosen in may.get(v, _NOTHING) if chosen}


def _follow(graph: Graph, may: dict[Value, May], sources: Collection[Value]) -> None:
    """Note what each value may be."""
    for node in graph.nodes:
        for value, found in zip(node.outputs, _of_node(node, may), strict=False):
            if found:
                may[value] = found
        for value in node.outputs:
            if value in sources and value not in may:
                may[value] = frozenset([(value, False)])


def _of_node(node: Node, may: dict[Value, May]) -> list[May]:
    """What the results of a node may be."""
    if is_view(node):
        return [may.get(node.args[0], _NOTHING)] * len(node.outputs)
    if node.op in (CALL, FUSED):
        return _inside(node.args[0], [may.get(v, _NOTHING) for v in node.args[1]])
    if node.op in (COND, SWITCH):
        graphs = node.args[1:3] if node.op is COND else node.args[1]
        given = [may.get(v, _NOTHING) for v in node.args[-1]]
        branches = [_inside(graph, given) for graph in graphs]
        return [_decided(parts) for parts in zip(*branches, strict=True)]
    if node.op in (WHILE_LOOP, SCAN):
        return _of_loop(node, may)
    return []


def _of_loop(node: Node, may: dict[Value, May]) -> list[May]:
    """What is left of the state after any number of turns; rows are new memory."""
    body, state, others = loop_parts(node)
    beside = [may.get(v, _NOTHING) for v in others]
    now = [_decided([may.get(v, _NOTHING)]) for v in state]
    while True:
        after = _inside(body, [*now, *beside])
        new = [_decided(parts) for parts in zip(now, after[: len(state)], strict=True)]
        if new == now:
            return now
        now = new


def _inside(graph: Graph, given: Sequence[May]) -> list[May]:
    """What the outputs of a graph inside may be whose inputs may be this."""
    if not any(given):
        return [_NOTHING] * len(graph.outputs)
    may = {v: one for v, one in zip(graph.inputs, given, strict=True) if one}
    _follow(graph, may, ())
    return [may.get(v, _NOTHING) for v in graph.outputs]


def _decided(parts: Sequence[May]) -> May:
    return frozenset((source, True) for part in parts for source, _ in part)
