"""Which values of a program have their channels side by side in memory.

Convolutions compute with channels innermost and copy images that lie otherwise. A value that goes from one of them to
another, through operators that take any strides, is kept that way: no copy is left in between. Results of a program keep
the strides that eager gives them, and so does whatever is looked at through views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thixo.graph.control import product_in
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.schedule.plan import Plan

LEAST_CHANNELS = 8  # fewer leave most of a vector empty

Shape = Callable[[Value], Sequence[int]]


def channels_last(
    graph: Graph, nodes: Iterable[Node], shape: Shape, plan: Plan | None, fixed: set[Value]
) -> set[Value]:
    """Values that a program for `graph` lays out with their channels side by side; `fixed` are not among them."""
    nodes = list(nodes)
    if not any(_images(n) == "channels" for n in nodes):
        return set()
    chosen: dict[Value, Node] = {}  # with who makes it
    readers: dict[Value, list[Node]] = {}
    banned = fixed.union(graph.results())
    for node in nodes:
        for value in values_in(node.args):
            if value in chosen:
                if _takes_any(node):
                    readers[value].append(node)
                else:
                    banned.add(value)
        if _may_choose(node):
            for value in node.outputs:
                if value not in banned and _has_channels(node, value, shape):
                    chosen[value] = node
                    readers[value] = []
    if not any(_images(n) == "channels" for n in chosen.values()):
        return set()
    left = {v for v in chosen if v not in banned}
    together = _in_one_memory(plan)
    while True:
        wrong = {v for v in left if not _pays(v, chosen[v], readers[v], left)}
        for group in together:
            if not group <= left:
                wrong |= group & left
        if not wrong:
            return left
        left -= wrong


def last_strides(shape: Sequence[int]) -> list[int]:
    """The strides of an image of this shape whose channels are side by side.

    >>> last_strides([2, 3, 4, 5])
    [60, 1, 15, 3]
    """
    strides = [1] * len(shape)
    step = shape[1]
    for d in (*range(len(shape) - 1, 1, -1), 0):
        strides[d] = step
        step *= shape[d]
    return strides


def _is_kernel(node: Node) -> bool:
    return node.op.kind == "pointwise" or (
        node.op.full_name == "fused" and product_in(node) is None
    )


def _images(node: Node) -> str:
    """How its declaration says that it takes images."""
    return getattr(node.op, "images", "ordered")


def _is_pool(node: Node) -> bool:
    if _images(node) != "kept":
        return False
    input = node.args[0].type
    return len(input.shape) == len(node.args[1]) + 2 and input.dtype.short in ("f32", "f64")


def _may_choose(node: Node) -> bool:
    if _images(node) == "channels":
        return bool(node.args[node.op.sig.place("groups")] == 1)
    return _is_kernel(node) or _is_pool(node)


def _takes_any(node: Node) -> bool:
    if _is_kernel(node) or _is_pool(node):
        return True
    return _images(node) in ("any", "channels")


def _has_channels(node: Node, value: Value, shape: Shape) -> bool:
    sizes = value.type.shape
    if not 3 <= len(sizes) <= 5:
        return False
    if not value.type.dtype.is_floating_point and not _is_kernel(node):
        return False
    known = shape(value)
    return known[1] >= LEAST_CHANNELS and any(s > 1 for s in known[2:])


def _pays(value: Value, node: Node, readers: list[Node], left: set[Value]) -> bool:
    """Whether this layout is that of what a node reads, and somebody reads it so."""
    if _is_kernel(node):
        alike = [v for v in values_in(node.args) if v.type.shape == value.type.shape]
        there = sum(v in left for v in alike)
        if not there or 2 * there < len(alike):
            return False
    if _is_pool(node) and node.args[0] not in left:
        return False
    for reader in readers:
        if _is_pool(reader):
            if reader.outputs[0] in left:
                return True
            continue
        if not _is_kernel(reader):
            return True
        outputs = [v for v in reader.outputs if v.type.shape == value.type.shape]
        if not outputs or any(v in left for v in outputs):
            return True
    return False


def _in_one_memory(plan: Plan | None) -> list[set[Any]]:
    """Values of which one is written over another, place by place: they lie alike."""
    if plan is None:
        return []
    groups: dict[Value, set[Any]] = {}
    views = plan.schedule.view_of
    for value, first in plan.schedule.memory_of.items():
        if value not in views:
            groups.setdefault(first, {first}).add(value)
    return list(groups.values())
