"""Convolutions as programs run them: together with what follows, and by fewer products where weights are constants.

>>> w = tx.ones(8, 8, 3, 3)
>>> graph = tx.jit.trace(lambda x, w: tx.relu(tx.nn.functional.conv2d(x, w)), (tx.ones(1, 8, 4, 4), w)).graph
>>> [node.op.full_name for node in tx.passes.optimize(graph).graph.nodes]
['nn.functional.convolve_then']

`epilogues` gives the bits that the operators give one by one: a sum, then what is added to it, then nothing below zero.
`winograd` does not: it allows F(4x4, 3x3), whose error is a few times that of the sums themselves (008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.graph.ir import Graph, Node, Value
from thixo.graph.operators import find
from thixo.graph.text import node_text
from thixo.graph.trace import remove_dead
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.sweep import in_all_graphs, sweep, use_counts

_PLAIN, _THEN = "nn.functional.convolve", "nn.functional.convolve_then"
_NOTHING = (None, False, False)  # addend, relu, wide
_WINDOW = (
    (3, 3),
    (1, 1),
    (1, 1),
)  # that Winograd's products can compute: its size, stride, dilation


@graph_pass("epilogues", last=True)
def end_convolutions(graph: Graph, firings: list[Firing]) -> int:
    """Add to what a convolution makes, and cut it off at zero, where it is made."""
    return in_all_graphs(graph, lambda one: _end(one, firings))


def _end(graph: Graph, firings: list[Firing]) -> int:
    if not any(n.op.full_name in (_PLAIN, _THEN) for n in graph.nodes):
        return 0
    uses = use_counts(graph)
    makers: dict[
        Value, tuple[int, Node]
    ] = {}  # convolutions that nobody else reads, with their place

    def ended(node: Node) -> tuple[Any, ...] | None:
        """The convolution, and the arguments of its end."""
        name = node.op.full_name
        if name == "relu" and node.args[0] in makers:
            conv = makers[node.args[0]][1]
            addend, relu, wide = _ends(conv)
            return None if relu else (conv, addend, True, wide)
        if name != "add" or any(r != 1 for r in node.args[2:]):
            return None
        a, b = node.args[:2]
        if not isinstance(a, Value) or not isinstance(b, Value) or a is b or a.type != b.type:
            return None
        # The later one of two: what is added is there then.
        for y in sorted((v for v in (a, b) if v in makers), key=lambda v: -makers[v][0]):
            conv = makers[y][1]
            addend, relu, wide = _ends(conv)
            if addend is None and not relu:
                return conv, b if y is a else a, False, wide
        return None

    def replace(node: Node) -> Sequence[Value] | None:
        found = ended(node)
        if found is not None:
            conv, *ends = found
            firings.append(Firing("end of a convolution", node_text(node), node.source))
            args = (*conv.args[:7], *ends)
            (made,) = graph.add(
                find(_THEN), args, [node.outputs[0].type], [node.outputs[0].name], node.source
            ).outputs
            uses[made] = uses[node.outputs[0]]
            node, values = graph.nodes[-1], (made,)
        else:
            values = None
        if _may_end(node) and uses.get(node.outputs[0]) == 1:
            makers[node.outputs[0]] = len(graph.nodes), node
        return values

    count = sweep(graph, replace)
    if count:
        remove_dead(graph)
    return count


def _ends(conv: Node) -> tuple[Any, ...]:
    return tuple(conv.args[7:]) if conv.op.full_name == _THEN else _NOTHING


def _may_end(node: Node) -> bool:
    return node.op.full_name in (_PLAIN, _THEN) and node.outputs[0].dtype.short == "f32"


@graph_pass("winograd", last=True)
def allow_wide(graph: Graph, firings: list[Firing]) -> int:
    """Allow F(4x4, 3x3) for convolutions by constants, where it is faster: a few times the error of plain sums."""
    return in_all_graphs(graph, lambda one: _widen(one, firings))


def _widen(graph: Graph, firings: list[Firing]) -> int:
    def replace(node: Node) -> Sequence[Value] | None:
        if not _may_end(node):
            return None
        _, weight, stride, _, dilation, *_ = node.args
        addend, relu, wide = _ends(node)
        if wide or not isinstance(graph.constants.get(weight), np.ndarray):
            return None
        if (tuple(weight.shape[2:]), tuple(stride), tuple(dilation)) != _WINDOW:
            return None
        firings.append(Firing("fewer products for a 3x3 window", node_text(node), node.source))
        y = node.outputs[0]
        args = (*node.args[:7], addend, relu, True)
        return graph.add(find(_THEN), args, [y.type], [y.name], node.source).outputs

    return sweep(graph, replace)
