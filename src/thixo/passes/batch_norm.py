"""Batch norm of inference folded into the convolution before it.

With statistics and weights that are constants, `convolve(x, w) * scale + shift` for each channel is a convolution by
`w * scale`, with `shift` as its bias: nothing is left to do at run time. Products are rounded once more and sums in
another order: results agree to a few units in the last place of the largest term.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.graph.ir import Graph, Node, Value
from thixo.graph.text import node_text
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.sweep import in_all_graphs, sweep, use_counts


@graph_pass("batch_norm")
def fold_batch_norm(graph: Graph, firings: list[Firing]) -> int:
    """Fold a scale and a shift of each channel, which are constants, into a convolution by constant weights."""
    return in_all_graphs(graph, lambda one: _change(one, firings))


def _change(graph: Graph, firings: list[Firing]) -> int:
    if not any(n.op.full_name == "nn.functional.convolve" for n in graph.nodes):
        return 0
    uses = use_counts(graph)
    makers: dict[Value, Node] = {}

    def replace(node: Node) -> Sequence[Value] | None:
        made = _folded(graph, node, makers, uses)
        if made is not None:
            firings.append(Firing("batch norm in a convolution", node_text(node), node.source))
            makers[made] = graph.nodes[-1]
            uses[made] = uses[node.outputs[0]]
            return (made,)
        makers.update(dict.fromkeys(node.outputs, node))
        return None

    return sweep(graph, replace)


def _folded(
    graph: Graph, node: Node, makers: dict[Value, Node], uses: dict[Value, int]
) -> Value | None:
    found = _affine(node)
    if found is None:
        return None
    for y, scale, shift in found:
        maker = makers.get(y) if isinstance(y, Value) else None
        if maker is None or maker.op.full_name != "nn.functional.convolve" or uses[y] != 1:
            continue
        if y.type != node.outputs[0].type or y.dtype.short not in ("f32", "f64"):
            continue
        x, weight, *places, bias = maker.args
        weights = graph.constants.get(weight)
        channels = weight.shape[0]
        factor = _for_channels(graph, scale, y, channels)
        offset = _for_channels(graph, shift, y, channels)
        before = np.zeros((), y.dtype.numpy) if bias is None else graph.constants.get(bias)
        if any(not isinstance(d, np.ndarray) for d in (weights, factor, offset, before)):
            continue
        made = _scaled(weights, factor, offset, before, y.dtype.numpy)
        kernel = graph.constant(weight.name, made[0])
        added = graph.constant("shift", made[1])
        args = (x, kernel, *places, added)
        return graph.add(
            maker.op, args, [y.type], [node.outputs[0].name], maker.source or node.source
        ).outputs[0]
    return None


def _scaled(weights: Any, factor: Any, offset: Any, before: Any, dtype: Any) -> tuple[Any, Any]:
    wide = weights.astype(np.float64) * factor.reshape(-1, *(1,) * (weights.ndim - 1))
    added = before.astype(np.float64) * factor + offset
    return wide.astype(dtype), np.broadcast_to(added, (weights.shape[0],)).astype(dtype)


def _affine(node: Node) -> list[tuple[Any, Any, Any]] | None:
    """(y, scale, shift) that a node might be: y * scale + shift."""
    name = node.op.full_name
    if name == "addcmul":
        shift, a, b, value = node.args
        return [(a, b, shift), (b, a, shift)] if value == 1 else None
    if name == "mul":
        a, b = node.args[:2]
        return [(a, b, 0), (b, a, 0)]
    if name == "add" and all(r == 1 for r in node.args[2:]):
        a, b = node.args[:2]
        return [(a, 1, b), (b, 1, a)]
    return None


def _for_channels(graph: Graph, v: Any, y: Value, channels: Any) -> Any:
    """A constant as numbers for each channel, in double precision; None where it is another thing."""
    if isinstance(v, bool) or not isinstance(channels, int):
        return None
    if isinstance(v, int | float):
        return np.full(channels, v, np.float64)
    data = graph.constants.get(v) if isinstance(v, Value) else None
    if not isinstance(data, np.ndarray) or data.dtype != y.dtype.numpy or data.ndim > y.ndim:
        return None
    shape = (1,) * (y.ndim - data.ndim) + data.shape
    if any(s != 1 for d, s in enumerate(shape) if d != 1) or shape[1] not in (1, channels):
        return None
    return np.broadcast_to(data.astype(np.float64).reshape(-1), (channels,)).copy()
