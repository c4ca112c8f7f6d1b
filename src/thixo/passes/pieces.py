"""A sum of pieces that are zero outside of their own part is those parts side by side.

Gradients of a value that was cut in slices are such sums: each slice gives its part with zeros around it.

>>> def f(x, y):
...     zeros = tx.zeros(4)
...     return tx.slice_scatter(zeros, x, 0, 0, 2) + tx.slice_scatter(zeros, y, 0, 2, 4)
>>> with tx.static.Graph() as g:
...     x, y = tx.static.placeholder((2,)), tx.static.placeholder((2,))
...     z = f(x, y)
>>> [node.op.full_name for node in tx.static.Session(g).program([z]).nodes]
['cat']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo.graph.ir import Graph, Node, Value, same_shape
from thixo.graph.text import node_text
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.simplify import filled_with
from thixo.passes.sweep import in_all_graphs, sweep, use_counts
from thixo.symbolic import Size

_is_zero = filled_with(0)


class _Piece(NamedTuple):
    start: int
    end: int
    value: Value


@graph_pass("pieces")
def join_pieces(graph: Graph, firings: list[Firing]) -> int:
    """Put parts side by side that were added up with zeros around them."""
    return in_all_graphs(graph, lambda one: _change(one, firings))


def _change(graph: Graph, firings: list[Firing]) -> int:
    if not any(n.op.full_name == "slice_scatter" for n in graph.nodes):
        return 0
    uses = use_counts(graph)
    makers: dict[Value, Node] = {}

    def replace(node: Node) -> Sequence[Value] | None:
        pieces = _pieces(node, makers, uses) if _is_plain_sum(node) else None
        if pieces is not None and _fill(pieces[1], node.outputs[0], pieces[0]):
            firings.append(Firing("parts with zeros around them", node_text(node), node.source))
            parts = [p.value for p in sorted(pieces[1], key=lambda p: p.start)]
            return (_joined(graph, parts, pieces[0], node, makers, uses),)
        makers.update(dict.fromkeys(node.outputs, node))
        return None

    return sweep(graph, replace)


def _joined(
    graph: Graph,
    parts: list[Value],
    dim: int,
    node: Node,
    makers: dict[Value, Node],
    uses: dict[Value, int],
) -> Value:
    """Parts side by side. What a reshape of each would copy first is joined as it is, and then reshaped."""
    whole = node.outputs[0].type
    before = [_before_reshape(v, makers, uses) for v in parts]
    if dim % whole.ndim == whole.ndim - 1 and all(before):
        given = [v for v in before if v is not None]
        if len({v.type.shape[-1] for v in given}) == 1:
            made = graph.call("cat", given, whole.ndim - 1, source=node.source)
            return graph.call("reshape", made, tuple(whole.shape), source=node.source)
    return graph.call("cat", parts, dim, source=node.source)


def _before_reshape(v: Value, makers: dict[Value, Node], uses: dict[Value, int]) -> Value | None:
    """What a value was before its last two axes became one, if nobody else reads it."""
    maker = makers.get(v)
    if maker is None or maker.op.full_name != "reshape" or uses.get(v) != 1:
        return None
    before = maker.args[0]
    shape, now = before.type.shape, v.type.shape
    if len(shape) != len(now) + 1 or not same_shape(shape[:-2], now[:-1]):
        return None
    return before if all(type(s) is int for s in shape[-2:]) else None


def _is_plain_sum(node: Node) -> bool:
    if node.op.full_name != "add":
        return False
    a, b, alpha = node.args
    whole = node.outputs[0].type
    return alpha == 1 and all(isinstance(v, Value) and v.type == whole for v in (a, b))


def _pieces(
    node: Node, makers: dict[Value, Node], uses: dict[Value, int]
) -> tuple[int, list[_Piece]] | None:
    """The axis and the parts of a sum, if every term is a part with zeros around it."""
    found: list[_Piece] = []
    axes = set()
    todo: list[Any] = list(node.args[:2])
    while todo:
        value = todo.pop()
        made = makers.get(value)
        if made is None or uses[value] != 1:
            return None
        if _is_plain_sum(made):
            todo += made.args[:2]
            continue
        if made.op.full_name != "slice_scatter":
            return None
        around, part, dim, start, _, step = made.args
        if step != 1 or not _is_zero(makers.get(around)) or part.type.dtype is not value.type.dtype:
            return None
        axis = dim + value.type.ndim if dim < 0 else dim
        length, size = value.type.shape[axis], part.type.shape[axis]
        begin = 0 if start is None else start
        if not all(isinstance(n, int) for n in (length, size, begin)):
            return None
        begin = max(0, begin + length) if begin < 0 else begin
        if not same_shape(_across(part, axis), _across(value, axis)):
            return None  # equal by a guard only: what is joined would be of another type
        axes.add(axis)
        found.append(_Piece(begin, begin + size, part))
    return (axes.pop(), found) if len(axes) == 1 else None


def _across(value: Value, axis: int) -> tuple[Size, ...]:
    """The sizes along all other axes."""
    return value.type.shape[:axis] + value.type.shape[axis + 1 :]


def _fill(pieces: list[_Piece], whole: Value, axis: int) -> bool:
    """Whether the parts lie side by side from one end to the other."""
    at = 0
    for piece in sorted(pieces, key=lambda p: p.start):
        if piece.start != at or piece.end <= at:
            return False
        at = piece.end
    return bool(at == whole.type.shape[axis])
