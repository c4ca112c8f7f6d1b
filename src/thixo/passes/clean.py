"""Passes that remove: nodes nobody needs, nodes that compute the same, calls of small graphs."""

from collections.abc import Sequence
from typing import Any

from thixo.graph.control import CALL, is_random
from thixo.graph.control_types import bind_sizes
from thixo.graph.ir import Graph, Node, Type, Value, same_shape, with_values
from thixo.graph.operators import find
from thixo.graph.text import node_text
from thixo.graph.trace import remove_dead
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.sweep import in_all_graphs, key_of, sweep, use_counts
from thixo.symbolic import Dim, Size


@graph_pass("inline")
def inline(graph: Graph, firings: list[Firing]) -> int:
    """Put a graph that is called in one place only, or is small, where its call stands."""

    def change(one: Graph) -> int:
        uses: dict[int, int] = {}
        for node in one.nodes:
            if node.op is CALL:
                uses[id(node.args[0])] = uses.get(id(node.args[0]), 0) + 1

        def replace(node: Node) -> Sequence[Value] | None:
            if node.op is not CALL:
                return None
            called = node.args[0]
            if uses[id(called)] > 1 and len(called.nodes) > SMALL:
                return None
            if not _takes_exactly(called, node.args[1]):
                return None
            firings.append(Firing("inline a call", node_text(node), node.source))
            return inlined(one, called, node.args[1], node.source, node.outputs)

        return sweep(one, replace)

    return in_all_graphs(graph, change)


SMALL = (
    8  # nodes: a graph of so few is worth more in place than as one piece of code for many calls
)


def _takes_exactly(called: Graph, inputs: Sequence[Value]) -> bool:
    """Whether a graph's inputs are of the very sizes that it is given; where a guard alone says so, types inside would be others."""
    sizes = bind_sizes(called, [v.type for v in inputs], "inline")
    return all(
        same_shape(_with_sizes(mine.type.shape, sizes), given.type.shape)
        for mine, given in zip(called.inputs, inputs, strict=True)
    )


def inlined(
    graph: Graph,
    called: Graph,
    inputs: Sequence[Value],
    source: str | None,
    outputs: Sequence[Value] = (),
) -> list[Value]:
    """Append the nodes of another graph with these inputs, under names of their own; what it returns."""
    sizes = bind_sizes(called, [v.type for v in inputs], "inline")
    new: dict[Value, Value] = dict(zip(called.inputs, inputs, strict=True))
    for value, data in called.constants.items():
        new[value] = graph.constant(value.name, data)
    renamed: dict[str, Size] = dict(sizes)
    for value, mine in zip(called.outputs, outputs, strict=False):
        for theirs, size in zip(value.type.shape, mine.type.shape, strict=True):
            if isinstance(theirs, Dim) and len(theirs.symbols) == 1 and str(theirs) not in renamed:
                renamed[str(theirs)] = size  # a size that the data decide keeps the caller's name
    for n in called.nodes:
        args = _with_sizes(with_values(n.args, new), renamed)
        types = []
        for v in n.outputs:
            for size in v.type.shape:
                for name, atom in (size.symbols if isinstance(size, Dim) else {}).items():
                    if name not in renamed:
                        low, high = atom.bounds
                        renamed[name] = Dim(graph.fresh_name(name), atom.hint, low or 0, high)
            types.append(_with_sizes_in(v.type, renamed))
        made = graph.add(n.op, args, types, [v.name for v in n.outputs], n.source or source)
        new.update(zip(n.outputs, made.outputs, strict=True))
    return [new[v] for v in called.outputs]


def _with_sizes_in(type: Type, sizes: dict[str, Size]) -> Type:
    return Type(type.dtype, _with_sizes(type.shape, sizes), type.device)


def _with_sizes(a: Any, sizes: dict[str, Size]) -> Any:
    if isinstance(a, Dim):
        return a.substitute(sizes)
    if isinstance(a, tuple | list):
        return type(a)(_with_sizes(e, sizes) for e in a)
    if isinstance(a, slice):
        return slice(*(_with_sizes(e, sizes) for e in (a.start, a.stop, a.step)))
    return a


@graph_pass("common")
def share_common(graph: Graph, firings: list[Firing]) -> int:
    """Compute once what several nodes compute from the same values."""

    def change(one: Graph) -> int:
        known: dict[object, Node] = {}
        random: dict[int, bool] = {}

        def replace(node: Node) -> Sequence[Value] | None:
            if is_random(node, random):
                return None
            first = known.setdefault(key_of(node), node)
            if first is node or any(
                a.type != b.type for a, b in zip(first.outputs, node.outputs, strict=True)
            ):
                return None
            firings.append(Firing("same as before", node_text(node), node.source))
            return first.outputs

        return sweep(one, replace)

    return in_all_graphs(graph, change)


@graph_pass("dead")
def remove_dead_nodes(graph: Graph, firings: list[Firing]) -> int:
    """Drop what no result needs: nodes, and results beside the first that have an operator without them."""

    def change(one: Graph) -> int:
        before = one.nodes
        remove_dead(one)
        kept = set(map(id, one.nodes))
        for node in before:
            if id(node) not in kept:
                firings.append(Firing("not needed", node_text(node), node.source))
        return len(before) - len(one.nodes) + _first_results(one, firings)

    return in_all_graphs(graph, change)


def _first_results(graph: Graph, firings: list[Firing]) -> int:
    if all(n.op.first_alone is None for n in graph.nodes):
        return 0
    uses = use_counts(graph)

    def replace(node: Node) -> Sequence[Value] | None:
        name = node.op.first_alone
        if name is None or any(v in uses for v in node.outputs[1:]):
            return None
        firings.append(Firing("only the first result", node_text(node), node.source))
        first = node.outputs[0]
        made = graph.add(find(name), node.args, [first.type], [first.name], node.source)
        return made.outputs * len(node.outputs)

    return sweep(graph, replace)
