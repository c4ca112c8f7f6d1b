"""What rules of control flow do to the graph that is differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thixo.autodiff.partition import Halves, differentiate
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.graph.sizes import symbol_name
from thixo.graph.trace import Trace
from thixo.symbolic import Dim, Size, same

if TYPE_CHECKING:
    from thixo.autodiff.reverse import Reverse


def both_halves(
    reverse: Reverse,
    graph: Graph,
    wanted: Sequence[int],
    given: Sequence[int],
    flagged: Sequence[int] = (),
    asked: Sequence[int] = (),
) -> Halves:
    """Both directions of a graph; equal graphs are differentiated once."""
    key = (id(graph), tuple(wanted), tuple(given), tuple(flagged), tuple(asked))
    found = reverse.known.get(key)
    if found is None:
        found = reverse.known[key] = (
            graph,
            differentiate(graph, wanted, given, reverse.kept_turns, flagged, asked),
        )  # keeps the graph alive
    return found[1]


def extend(
    reverse: Reverse, node: Node, args: tuple[Any, ...], types: Sequence[Type]
) -> list[Value]:
    """Give a forward node other arguments and more results."""
    trace, graph = reverse.trace, reverse.graph
    for type in types:
        graph._reserve_symbols(type)
    more = [Value(graph.fresh_name("saved"), type) for type in types]
    node.args = args
    node.outputs = (*node.outputs, *more)
    trace.own(more)
    return more


def further_types(node: Node, types: Sequence[Type]) -> list[Type]:
    """The types that follow those of a node's results, with sizes that the data decide called as they are there."""
    known: dict[str, Size] = {}
    for value, type in zip(node.outputs, types, strict=False):
        for mine, theirs in zip(value.type.shape, type.shape, strict=True):
            name = symbol_name(theirs)
            if name is not None and not same(mine, theirs):
                known[name] = mine
    return [
        Type(t.dtype, [s.substitute(known) if isinstance(s, Dim) else s for s in t.shape], t.device)
        for t in types[len(node.outputs) :]
    ]


def places(values: Sequence[Value], among: Any) -> list[int]:
    """Where the values are that are among others."""
    return [i for i, v in enumerate(values) if v in among]


def record(trace: Trace, op: Any, *args: Any, **kwargs: Any) -> list[Value]:
    """Append a node of control flow; its results."""
    made = trace.graph.call(op, *args, source=trace.source, **kwargs)
    found = list(made) if isinstance(made, tuple) else [made]
    trace.own(found)
    return found


def closed_types(types: Sequence[Type]) -> list[Type]:
    """The types as those of a graph's inputs: each size is a symbol, or made of such."""
    bound = {n for t in types for s in t.shape if (n := symbol_name(s)) is not None}
    new: dict[str, Dim] = {}

    def size(s: Size) -> Size:
        if not isinstance(s, Dim) or all(n in bound for n in s.symbols):
            return s
        low, high = s.bounds
        return new.setdefault(str(s), Dim(f"s{len(new)}", s.hint, low or 0, high))

    return [Type(t.dtype, [size(s) for s in t.shape], t.device) for t in types]
