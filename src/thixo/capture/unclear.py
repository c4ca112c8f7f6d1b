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
    if _has_rows(trace, copies, roots) or any(place in results.unclear for _, place in roots):
        raise Refused(
            "a result", "it is a row or a part of a tensor that others know, at a place that the data decide", "return a clone() of it"
        )  # fmt: skip
    for one, other in _pairs(copies, roots):
        if not (results.may_be(one, other) or results.may_be(other, one)):
            raise Refused(
                "results", "on some paths two of them are one tensor, or views of one", "return a clone() of one"
            )  # fmt: skip


def _has_rows(trace: Trace, copies: Copies, roots: Left) -> bool:
    """Whether one is a row, at a place that the data decide, of a tensor that others know after the call."""
    known = {id(root) for root, _ in roots} | set(map(id, trace.inputs))
    rows = [root for root, _ in roots if copies.is_row(root)]
    return any(
        other._value is None or id(other) in known for row in rows for other in copies.others(row)
    )


def _pairs(copies: Copies, roots: Left) -> list[tuple[int, int]]:
    """Places of which the first may be the second for Python, or a view of it."""
    places: dict[int, int] = {}
    for root, place in roots:
        places.setdefault(id(root), place)
    known = [(place, places.get(id(o))) for root, place in roots for o in copies.others(root)]
    return [(one, other) for one, other in known if other is not None and other != one]
