"""One walk over a graph that may put other values in the place of a node's results."""

from collections.abc import Callable, Sequence
from typing import Any

from thixo.graph.control import graphs_in
from thixo.graph.ir import Graph, Node, Value, with_some_values

_VALUES = frozenset((Value,))

# Sees a node whose arguments are already replaced; gives values for its results, or None to keep it.
Replace = Callable[[Node], "Sequence[Value] | None"]


def sweep(graph: Graph, replace: Replace) -> int:
    """Walk once from the first node to the last; how many nodes were replaced. In place.

    `replace` may append nodes to `graph.nodes`: they stand before the next one.
    """
    new: dict[Value, Value] = {}
    pending, graph.nodes = graph.nodes, []
    count = 0
    for node in pending:
        if new:
            node.args = with_some_values(node.args, new)
        found = replace(node)
        if found is None:
            graph.nodes.append(node)
            continue
        count += 1
        for old, value in zip(node.outputs, found, strict=True):
            new[old] = value
    if new:
        graph.outputs = [new.get(v, v) for v in graph.outputs]
        graph.mutations = {k: new.get(v, v) for k, v in graph.mutations.items()}
    return count


def in_all_graphs(graph: Graph, change: Callable[[Graph], int]) -> int:
    """Do something to a graph and to those inside of it, each once."""
    from thixo.graph.control import subgraphs

    return sum(change(one) for one in (*subgraphs(graph), graph))


def has_graphs(node: Node) -> bool:
    """Whether a node has graphs among its arguments."""
    return next(graphs_in(node), None) is not None


def use_counts(graph: Graph) -> dict[Value, int]:
    """How often each value is read: by nodes, and as a result."""
    uses: dict[Value, int] = {}
    for values in (*(n.inputs for n in graph.nodes), graph.results()):
        for v in values:
            uses[v] = uses.get(v, 0) + 1
    return uses


def key_of(node: Node) -> Any:
    """Equal for nodes that compute the same from the same values."""
    return node.op.full_name, _key(node.args)


def _key(a: Any) -> Any:
    if a.__class__ is Value:
        return a
    if isinstance(a, Graph):
        return "id", id(a)
    if isinstance(a, tuple | list):
        if _VALUES.issuperset(map(type, a)):  # which are nothing but themselves
            return type(a).__name__, tuple(a)
        return type(a).__name__, tuple([_key(e) for e in a])
    if isinstance(a, slice):
        return "slice", _key((a.start, a.stop, a.step))
    if isinstance(a, float):
        return "float", a.hex()  # 0.0 is not -0.0, and NaN is NaN
    if isinstance(a, complex):
        return "complex", a.real.hex(), a.imag.hex()
    return type(a).__name__, str(a)
