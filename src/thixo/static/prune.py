"""The part of a graph that some fetches need, as a program of its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from thixo import _core
from thixo.errors import GraphError
from thixo.graph import ir
from thixo.graph.sizes import symbols_in
from thixo.static.graph import Graph, Operation


def prune(graph: Graph, fetches: Sequence[ir.Value | Operation]) -> ir.Graph:
    """A program whose inputs are the needed placeholders, then the needed variables.

    Its outputs are the fetched values, its mutations the assignments that happen. It shares nodes and values with the
    graph: copy it before changing it.
    """
    program = graph.program
    made = ir.Graph(program.name)
    made.outputs = [f for f in fetches if isinstance(f, ir.Value)]
    need = _Need(graph)
    for fetch in fetches:
        need.add(fetch)
    kept = _kept(program, need, graph.controls)
    made.nodes = kept
    changed = {k: v for k, v in need.assigned.items() if k is not v}
    wanted = need.values | set(changed)
    made.inputs = [v for v in graph.placeholders if v in wanted]
    made.inputs += [v for v in graph.variables if v in wanted]
    made.constants = {v: d for v, d in program.constants.items() if v in wanted}
    made.mutations = changed
    made._names = dict(program._names)
    if program.guards:
        made_values = (*made.inputs, *(v for n in kept for v in n.outputs))
        types = {id(v.type): v.type for v in made_values}
        bound = {name for t in types.values() for size in t.shape for name in symbols_in(size)}
        made.guards = [
            g for g in program.guards if {*symbols_in(g.left), *symbols_in(g.right)} <= bound
        ]
    return made


def _kept(program: ir.Graph, need: "_Need", controls: Mapping[ir.Value, Any]) -> list[ir.Node]:
    """The nodes that are needed; what they read is needed too, and what must have happened before them."""
    values = need.values
    if not controls:
        found: list[ir.Node] = _core.needed_nodes(program.nodes, values)
        return found
    kept = []
    for node in reversed(program.nodes):
        if not values.isdisjoint(node.outputs):
            values.update(ir.values_in(node.args))
            for one in controls.get(node.outputs[0], ()):
                need.add(one)
            kept.append(node)
    kept.reverse()
    return kept


class _Need:
    def __init__(self, graph: Graph) -> None:
        self.values: set[ir.Value] = set()
        self.assigned: dict[ir.Value, ir.Value] = {}
        self._graph = graph
        self._at = {o: i for i, o in enumerate(graph.operations.values())}
        self._by: dict[ir.Value, int] = {}

    def add(self, what: Any) -> None:
        """Need a value, or what an operation does."""
        if not isinstance(what, Operation):
            self.values.add(what)
            return
        at = self._at.get(what)
        if at is None:
            raise GraphError(f"graph {self._graph.name}: {what!r} is no operation of it")
        self.values.update(what.needed)
        self.values.update(what.assigned.values())
        for target, value in what.assigned.items():
            if self._by.get(target, -1) <= at:  # of two assignments the later one counts
                self._by[target] = at
                self.assigned[target] = value
