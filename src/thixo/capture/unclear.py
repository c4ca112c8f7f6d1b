"""Results that are others' memory for Python where nothing in a graph says when, or where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo.capture.copies import Copies
from thixo.capture.refusal import Refused
from thixo.capture.results import Results
from thixo.graph.ir import Graph
from thixo.graph.trace import Trace

Left = Sequence[tuple[Any, int]]  # tensors that are handed out, and their places among the results


def refuse_unclear(graph: Graph, trace: Trace, copies: Copies, left: Left) -> None:
    """Refuse results that whoever writes them would write elsewhere in Python, and here would not."""
    roots = [(trace.aliases._root(tensor), place) for tensor, place in left]
    if not any(copies.others(root) for root, _ in roots):
        return
    results = Results(graph, graph.inputs)
    results.told_apart(graph)
    if any(place in results.unclear for _, place in roots):
        raise Refused(
            "a result", "it is a part of a tensor that others know, and the data decide which", "return a clone() of it"
        )  # fmt: skip
    for one, other in _pairs(trace, copies, roots):
        if not results.may_meet(one, other):
            raise Refused(
                "results", "on some paths two of them are one tensor, or views of one", "return a clone() of one"
            )  # fmt: skip


def _pairs(trace: Trace, copies: Copies, roots: Left) -> list[tuple[int, int]]:
    """Places of which the first may be the second for Python, or a view of it, both made inside."""
    inputs = set(map(id, trace.inputs))
    places: dict[int, int] = {}
    for root, place in roots:
        if root._value is not None and id(root) not in inputs:
            places.setdefault(id(root), place)
    known = [(place, places.get(id(o))) for root, place in roots for o in copies.others(root)]
    return [(one, other) for one, other in known if other is not None and other != one]
