"""Which input a result is, where branches and turns of loops decide.

A result of a branch is a value of its own in a graph. For Python it may be an argument, a parameter or another result, or a view
of one, and a write to one shows in the other. So flags are computed beside such results, as those of `reached.py` are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from thixo.capture.chosen import chosen_among
from thixo.capture.reached import Flags, Shadow
from thixo.graph.control import SCAN
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.own_memory import is_view
from thixo.graph.sizes import sizes_in


class Origin(NamedTuple):
    """What a value is: one that has memory, or a view of it."""

    source: Value
    views: tuple[Node, ...] | None  # None where nothing outside can say which view


def with_origins(
    graph: Graph, sources: Mapping[Value, Any], sizes: Collection[str] = ()
) -> tuple[Graph, list[dict[Origin, Value]]]:
    """A graph with flags besides, and for each output what else it may be, with the value that says so.

    `sizes` are those that inputs say.

    >>> scripted = tx.jit.script(lambda x: x if x.sum() > 0 else -x)
    >>> _ = scripted(tx.ones(2))
    >>> graph, found = with_origins(scripted.graph, dict.fromkeys(scripted.graph.inputs))
    >>> [(origin.source, flag) for one in found for origin, flag in one.items()]
    [(x: f32[n], gt: bool[])]
    """
    wanted = chosen_among(graph, sources)
    if not wanted:
        return graph, [{} for _ in graph.outputs]
    shadow = Origins(graph, [{} for _ in graph.inputs])
    shadow.sources, shadow.sizes = wanted, sizes
    shadow.flags = {
        v: {Origin(v, ()): True} for v in (*graph.inputs, *graph.constants) if v in wanted
    }
    made, found = shadow.run()
    return made, [{k: f for k, f in flags.items() if f is not True} for flags in found]


class Origins(Shadow):
    """A graph with what its values may be."""

    sources: Collection[Value] = ()
    sizes: Collection[str] = ()

    def _step(self, node: Node) -> None:
        super()._step(node)
        for value in node.outputs:
            if value in self.sources and value not in self.flags:
                self.flags[value] = {Origin(value, ()): True}

    def through(self, node: Node) -> None:
        """A view is a view of what its argument is; all else has memory of its own."""
        if not is_view(node):
            return
        known = len(node.outputs) == 1 == len(list(values_in(node.args))) and all(
            name in self.sizes for size in sizes_in(node.args) for name in size.symbols
        )
        seen: Flags = {
            Origin(
                key.source, (*key.views, node) if known and key.views is not None else None
            ): flag
            for key, flag in self.flags.get(node.args[0], {}).items()
            if isinstance(key, Origin)
        }
        self.give(node, [seen] * len(node.outputs))

    def counts(self, value: Value) -> bool:
        """Every value is something."""
        return True

    def beside(self, node: Node) -> list[Flags]:
        """A row is some view of what it is a row of."""
        found = super().beside(node)
        if node.op is SCAN:
            for i in range(len(node.args[2])):
                keys = (k for k in found[i] if isinstance(k, Origin))
                found[i] = {Origin(k.source, None): True for k in keys}
        return found

    def left(self, flags: list[Flags], count: int) -> list[Flags]:
        """Rows are stacked, in new memory."""
        return [*flags[:count], *({} for _ in flags[count:])]
