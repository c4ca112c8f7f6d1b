"""Attention that is written out becomes the operator, which never has the matrix of scores in memory.

>>> q = tx.rand(2, 3, 8, 4)
>>> graph = tx.jit.trace(lambda q, k, v: (q @ k.transpose(-2, -1) / 2).softmax(-1) @ v, (q, q, q)).graph
>>> [node.op.full_name for node in tx.passes.optimize(graph).graph.nodes]
['nn.functional.attention']

Scores may be scaled by a number, on either side of the product, and have a mask added or chosen by. It fires where nobody
else reads the scores or their shares. Sums are added up in another order (a few units in the last place). A query that a mask
shuts out from every key gets zeros from the operator, and NaN from a softmax of nothing: that is put back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thixo.errors import ThixoError
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.operators import find
from thixo.graph.text import node_text
from thixo.graph.typing import result_types
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.sweep import in_all_graphs, sweep, use_counts
from thixo.symbolic import guards


@graph_pass("attention")
def recognise_attention(graph: Graph, firings: list[Firing]) -> int:
    """Run softmax(q k^T * scale + mask) v as one operator."""
    return in_all_graphs(graph, lambda one: _change(one, firings))


def _change(graph: Graph, firings: list[Firing]) -> int:
    if not any(n.op.full_name == "softmax" for n in graph.nodes):
        return 0
    uses = use_counts(graph)
    makers: dict[Value, Node] = {}

    def replace(node: Node) -> Sequence[Value] | None:
        found = _Match(makers, uses).of(node) if node.op.full_name == "matmul" else None
        made = None if found is None else _build(graph, found, node)
        if made is not None:
            firings.append(Firing("attention written out", node_text(node), node.source))
            return (made,)
        makers.update(dict.fromkeys(node.outputs, node))
        return None

    return sweep(graph, replace)


def _build(graph: Graph, found: dict[str, Any], node: Node) -> Value | None:
    op = find("nn.functional.attention")
    mask = found["mask"]
    args = [found["query"], found["key"], found["value"], mask, False, found["scale"]]
    negate = find("logical_not")
    try:
        with guards() as kept:
            types = result_types(op, args)
    except ThixoError:
        return None
    if kept or types[0] != node.outputs[0].type:
        return None
    if found["shuts"]:
        (args[3],) = graph.add(negate, [mask], [mask.type], source=node.source).outputs
    y, total = graph.add(op, args, types, source=node.source).outputs
    return y if mask is None else _nan_of_nothing(graph, y, total, node.source)


def _nan_of_nothing(graph: Graph, y: Value, total: Value, source: str | None) -> Value:
    """The results, with NaN for queries that may attend to nothing: their scores' sum is infinite."""

    def add(name: str, *args: Any) -> Value:
        op = find(name)
        return graph.add(op, list(args), result_types(op, list(args)), source=source).outputs[0]

    return add("where", add("eq", add("unsqueeze", total, -1), math.inf), math.nan, y)


class _Match:
    """What attention is made of, from its last product back."""

    def __init__(self, makers: dict[Value, Node], uses: dict[Value, int]) -> None:
        self.makers, self.uses = makers, uses

    def _made_by(self, v: Any, *names: str) -> Node | None:
        """The node that made a value that nobody else reads."""
        node = self.makers.get(v) if isinstance(v, Value) else None
        return (
            node if node is not None and node.op.full_name in names and self.uses[v] == 1 else None
        )

    def of(self, node: Node) -> dict[str, Any] | None:
        shares, value = node.args
        softmax = self._made_by(shares, "softmax")
        if softmax is None or not shares.dtype.is_floating_point:
            return None
        scores, dim, dtype = softmax.args
        if dtype is not None or dim not in (-1, scores.ndim - 1) or scores.ndim < 2:
            return None
        found: dict[str, Any] = {"value": value, "mask": None, "shuts": False, "scale": 1.0}
        scores = self._without_mask(scores, found)
        scores = self._without_scale(scores, found)
        product = self._made_by(scores, "matmul")
        if product is None:
            return None
        query, turned = (self._without_scale(a, found) for a in product.args)
        turn = self.makers.get(turned)
        if turn is None or not _is_transpose(turn) or query.ndim < 2:
            return None
        found["query"], found["key"] = query, turn.args[0]
        return found

    def _without_mask(self, scores: Value, found: dict[str, Any]) -> Value:
        node = self._made_by(scores, "add", "where", "masked_fill")
        if node is None:
            return scores
        if node.op.full_name == "masked_fill":
            inner, mask, number = node.args
            if _is_low(number):
                found["mask"], found["shuts"] = mask, True
                return inner
            return scores
        if node.op.full_name == "where":
            chosen, a, b = node.args
            if _is_low(b) and isinstance(a, Value):
                found["mask"] = chosen
                return a
            if _is_low(a) and isinstance(b, Value):
                found["mask"], found["shuts"] = chosen, True
                return b
            return scores
        a, b, *rest = node.args
        if any(r != 1 for r in rest) or not (isinstance(a, Value) and isinstance(b, Value)):
            return scores
        for inner, mask in ((a, b), (b, a)):
            if self._is_product(inner) and mask.dtype is scores.dtype and mask.ndim >= 2:
                found["mask"] = mask
                return inner
        return scores

    def _is_product(self, v: Value) -> bool:
        return self._made_by(self._without_scale(v, {"scale": 1.0}), "matmul") is not None

    def _without_scale(self, v: Value, found: dict[str, Any]) -> Value:
        node = self._made_by(v, "mul", "true_divide")
        if node is None:
            return v
        a, b = node.args[:2]
        if node.op.full_name == "mul" and isinstance(a, int | float):
            a, b = b, a
        if (
            isinstance(b, bool)
            or not isinstance(b, int | float)
            or not isinstance(a, Value)
            or b == 0
        ):
            return v
        if a.type != v.type:
            return v
        found["scale"] *= b if node.op.full_name == "mul" else 1 / b
        return a


def _is_low(a: Any) -> bool:
    return isinstance(a, float) and a == float("-inf")


def _is_transpose(node: Node) -> bool:
    """Whether a node exchanges the last two axes."""
    ndim = node.outputs[0].ndim
    if ndim < 2:
        return False
    if node.op.full_name == "transpose":
        return {d % ndim for d in node.args[1:3]} == {ndim - 2, ndim - 1}
    if node.op.full_name == "permute":
        order = [d % ndim for d in node.args[1]]
        return order == [*range(ndim - 2), ndim - 1, ndim - 2]
    return False
