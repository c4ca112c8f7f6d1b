"""Through which values gradients flow: those that depend on what is asked for, looked at inside of branches and loops too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thixo.dtype import DType
from thixo.graph.control import CALL, COND, FUSED, SCAN, SWITCH, WHILE_LOOP
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.ops.base import gradient_rules

Known = dict[tuple[int, tuple[bool, ...]], list[bool]]


def has_gradient(dtype: DType) -> bool:
    """Whether values of a dtype can have gradients."""
    return dtype.is_floating_point or dtype.is_complex


def is_differentiable(node: Node) -> bool:
    """Whether gradients flow through a node at all."""
    if node.op.kind == "control":
        return True
    return bool(gradient_rules(node.op))


def depending(graph: Graph, wanted: Iterable[Value], known: Known | None = None) -> set[Value]:
    """The values of a graph that move with those that are wanted.

    >>> graph = tx.jit.trace(lambda x, y: (x * y, y + 1), (tx.ones(2), tx.ones(2))).graph
    >>> sorted(v.name for v in depending(graph, graph.inputs[:1]))
    ['mul', 'x']
    """
    known = {} if known is None else known
    found = set(wanted)
    for node in graph.nodes:
        if is_differentiable(node) and any(v in found for v in values_in(node.args)):
            found.update(
                v
                for v, flows in zip(node.outputs, _flowing(node, found, known), strict=True)
                if flows and has_gradient(v.type.dtype)
            )
    return found


def _flowing(node: Node, found: set[Value], known: Known) -> list[bool]:
    """Which of a node's results move."""
    if node.op.kind != "control":
        return flowing(node)

    def moving(values: Sequence[Value]) -> list[bool]:
        return [v in found for v in values]

    if node.op is CALL or node.op is FUSED:
        graph, inputs = node.args
        return _results(graph, moving(inputs), known)
    if node.op is COND or node.op is SWITCH:
        branches: Any = node.args[1:3] if node.op is COND else node.args[1]
        inputs = node.args[-1]
        each = [_results(b, moving(inputs), known) for b in branches]
        return [any(column) for column in zip(*each, strict=True)]
    if node.op is WHILE_LOOP:
        _, body, state, captured, _ = node.args
        return _turning(body, moving(state), moving(captured), known)
    if node.op is SCAN:
        body, state, slices, captured, *_ = node.args
        return _turning(body, moving(state), [*moving(slices), *moving(captured)], known)
    return flowing(node)


def flowing(node: Node) -> list[bool]:
    """Through which results of an operator gradients flow, if they do at all."""
    if node.op.kind == "control" or node.op.sig.many:
        return [True] * len(node.outputs)
    names = [o.rstrip("!") for o in node.op.sig.outputs]
    return [name not in node.op.nondifferentiable for name in names]


def _turning(body: Graph, state: list[bool], others: list[bool], known: Known) -> list[bool]:
    """Of a loop: the state moves with what any turn makes of it."""
    while True:
        made = _results(body, [*state, *others], known)
        after = [a or b for a, b in zip(state, made, strict=False)]
        if after == state:
            return [*state, *made[len(state) :]]
        state = after


def _results(graph: Graph, moving: Sequence[bool], known: Known) -> list[bool]:
    key = (id(graph), tuple(moving))
    found = known.get(key)
    if found is None:
        wanted = [
            v for v, m in zip(graph.inputs, moving, strict=True) if m and has_gradient(v.type.dtype)
        ]
        active = depending(graph, wanted, known)
        found = known[key] = [v in active for v in graph.outputs]
    return found
