"""Fusion: pointwise, broadcast and row operators that run together become one node, and that node one kernel.

>>> graph = tx.jit.trace(lambda x, w, b: (x * w + b).tanh(), (tx.ones(4, 3), tx.ones(3), tx.ones(3))).graph
>>> print(tx.passes.optimize(graph).graph)
graph fused_mul_add_tanh(x0: f32[s0, s1], x1: f32[s1], x2: f32[s1]) {
  mul: f32[s0, s1] = mul(x0, x1)
  add: f32[s0, s1] = add(mul, x2)
  tanh: f32[s0, s1] = tanh(add)
  return tanh
}
<BLANKLINE>
graph traced(x: f32[n, m], w: f32[m], b: f32[m]) {
  sizes n ~ 4, m ~ 3
  tanh: f32[n, m] = fused(graph=fused_mul_add_tanh, inputs=[x, w, b])  # ...:1
  return tanh
}

The sizes of a body are its own, so that groups which compute the same of different sizes are one graph and one kernel.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.dtype import get_default_dtype
from thixo.errors import InternalError, ThixoError
from thixo.graph.control import FUSED, graphs_in, subgraphs
from thixo.graph.control_types import instantiate
from thixo.graph.ir import Graph, Node, Type, Value, values_in, with_values
from thixo.graph.text import graph_text, node_text
from thixo.graph.trace import remove_dead
from thixo.graph.typing import result_types
from thixo.passes.groups import Grouping, Space
from thixo.passes.manager import Firing, graph_pass
from thixo.symbolic import Dim, Size, guards

# What is known of single nodes, by all that it follows from: in later graphs too.
_KINDS: dict[Any, tuple[str | None, int]] = {}
MOST_KINDS = 10_000
SHAPED = ("expand", "reshape", "view", "zeros", "ones", "full")  # their argument is their shape


class Unfit(Exception):
    """These nodes are not one kernel."""


@graph_pass("fuse", last=True)
def fuse(graph: Graph, firings: list[Firing]) -> int:
    """Join nodes that run over the same places and rows into nodes that become one kernel each."""
    bodies = Bodies()
    inner = subgraphs(graph)
    fused = {
        id(g) for one in (*inner, graph) for n in one.nodes if n.op is FUSED for g in graphs_in(n)
    }
    return sum(_fuse(one, bodies, firings) for one in (*inner, graph) if id(one) not in fused)


def _fuse(graph: Graph, bodies: Bodies, firings: list[Firing]) -> int:
    grouping = Grouping(graph, bodies)
    made: list[tuple[list[int], Node]] = []
    for group in grouping.run():
        made += _lowered(graph, grouping, sorted(group.members), bodies)
    if not made:
        return 0
    for members, node in made:
        texts = ", ".join(graph.nodes[m].op.full_name for m in members)
        firings.append(Firing(f"{texts} in one kernel", node_text(node), node.source))
    _replace(graph, grouping, made)
    remove_dead(graph)
    return len(made)


def _lowered(
    graph: Graph, grouping: Grouping, members: list[int], bodies: Bodies
) -> list[tuple[list[int], Node]]:
    """The fused nodes of a group: one, or those of its halves."""
    members = _trimmed(grouping, members)
    if sum(bodies.kind(graph.nodes[m]) != "view" for m in members) < 2:
        return []
    try:
        return [(members, bodies.fused(graph, grouping, members))]
    except Unfit:
        half = len(members) // 2
        first = _lowered(graph, grouping, members[:half], bodies)
        return [*first, *_lowered(graph, grouping, members[half:], bodies)]


def _trimmed(grouping: Grouping, members: list[int]) -> list[int]:
    """Without views that show something to others only, or something of others: outside they cost nothing."""
    inside = set(members)
    for m in reversed(members):
        node = grouping.nodes[m]
        if grouping.kinds.kind(node) == "view" and not any(
            r in inside for v in node.outputs for r in grouping.readers.get(v, ())
        ):
            inside.discard(m)
    for m in members:
        node = grouping.nodes[m]
        if (
            m in inside
            and grouping.kinds.kind(node) == "view"
            and not any(grouping.makers.get(v, -1) in inside for v in node.inputs)
        ):
            inside.discard(m)
    return sorted(inside)


def _replace(graph: Graph, grouping: Grouping, made: list[tuple[list[int], Node]]) -> None:
    """Put the fused nodes into the graph, in an order in which everything can run."""
    nodes = graph.nodes
    place = list(range(len(nodes)))
    fused: dict[int, Node] = {}
    for members, node in made:
        last = members[-1]
        fused[last] = node
        for m in members:
            place[m] = last
    waits: dict[int, set[int]] = {}
    for i in range(len(nodes)):
        found = waits.setdefault(place[i], set())
        found.update(place[m] for m in grouping._waits_for(i))
    followers: dict[int, list[int]] = {}
    for i, found in waits.items():
        found.discard(i)
        for m in found:
            followers.setdefault(m, []).append(i)
    ready = [i for i, found in waits.items() if not found]
    heapq.heapify(ready)
    ordered: list[Node] = []
    while ready:
        i = heapq.heappop(ready)
        ordered.append(fused.get(i, nodes[i]))
        for f in followers.get(i, ()):
            waits[f].discard(i)
            if not waits[f]:
                heapq.heappush(ready, f)
    if len(ordered) != len(waits):
        raise InternalError("fuse: groups wait for each other")
    graph.nodes = ordered


class Bodies:
    """The graphs of fused nodes, equal ones once; and what is known of operators as parts of kernels."""

    def __init__(self) -> None:
        self._known: dict[str, Graph | None] = {}
        self._alike: dict[Any, Graph] = {}

    # ---- single nodes

    def cost(self, node: Node) -> int:
        """Instructions for each place, roughly: functions are many."""
        return self._about(node)[1]

    def kind(self, node: Node) -> str | None:
        """What a node is to a kernel: pointwise, rows, view, fill; None where it is no part of one."""
        return self._about(node)[0]

    def _about(self, node: Node) -> tuple[str | None, int]:
        """A node's kind and cost."""
        op = node.op
        if op.kind not in ("pointwise", "view", "generic") or not node.outputs:
            return None, 100
        key: Any = (op, get_default_dtype(), *map(_kind_key, node.args))
        if op.kind == "view" or op.full_name in SHAPED or getattr(op, "rows", None) is not None:
            key = (*key, *(str(v.type) for v in values_in(node.args)))
        found = _KINDS.get(key)
        if found is None:
            # What is no part of a kernel may be so for its sizes alone (equal by a guard), and is elsewhere.
            typed = (*key, *(str(v.type) for v in values_in(node.args)))
            found = _KINDS.get(typed)
            if found is None:
                found = self._find_kind(node)
                if len(_KINDS) >= MOST_KINDS:
                    _KINDS.clear()
                _KINDS[typed if found[0] is None else key] = found
        return found

    def _find_kind(self, node: Node) -> tuple[str | None, int]:
        from thixo.codegen.axes import FILLED, SAME, Axes, NotLowered

        op = node.op
        rows = getattr(op, "rows", None) is not None
        if op.full_name in FILLED:
            return "fill", 0
        if not rows and op.kind == "generic" and op.full_name not in (*SAME, "reshape"):
            return None, 100
        axes = Axes()
        try:
            axes.add(node)
            if op.kind in ("view",) or op.full_name in ("reshape", "clone"):
                return "view", 0
            if rows and not axes.of_rows(node)[1]:
                return None, 100
            # A number that follows from sizes is as good as any other here.
            args = [7 if isinstance(a, Dim) else a for a in node.args]
            graph = Graph("one")
            graph.nodes = [Node(op, args, node.outputs)]
            graph.outputs = list(node.outputs)
            made = self.fused(graph, Grouping(graph, self), [0])
            return "rows" if rows else "pointwise", _cost(made.args[0])
        except (NotLowered, Unfit):
            return None, 100

    def rows(self, node: Node) -> tuple[Space, frozenset[int]]:
        """The places that a row operator runs over, and which of their axes make up a row."""
        from thixo.codegen.axes import Axes

        axes = Axes()
        axes.add(node)
        full = [axes.find(a) for a in axes.reduced[node][0] if a is not None]
        _, reduced = axes.of_rows(node)
        space = tuple(str(axes.sizes[a]) for a in full)
        return space, frozenset(d for d, a in enumerate(full) if a in reduced)

    # ---- fused nodes

    def fused(self, graph: Graph, grouping: Grouping, members: Sequence[int]) -> Node:
        """The node that computes what these nodes do."""
        inside = set(members)
        chosen = _with_free(grouping, members)
        inputs: list[Value] = []
        for m in sorted(chosen):
            for v in grouping.inputs[m]:
                outside = grouping.makers.get(v, -1) not in chosen
                if outside and v not in inputs and not is_number(graph, v):
                    inputs.append(v)
        outputs = [
            v
            for m in members
            for v in grouping.nodes[m].outputs
            if v in grouping.results or any(r not in inside for r in grouping.readers.get(v, ()))
        ]
        nodes = [grouping.nodes[m] for m in sorted(chosen)]
        source = grouping.nodes[members[-1]].source
        alike = _alike_key(graph, nodes, inputs, outputs)
        if alike in self._alike:  # of the same sizes too: there is nothing left to find out
            return Node(FUSED, (self._alike[alike], inputs), outputs, source)
        body = self._shared(body_of(graph, nodes, inputs, outputs))
        try:
            with guards() as kept:
                types = instantiate(body, [v.type for v in inputs], "fuse")
        except ThixoError as error:
            raise Unfit(str(error)) from None
        if kept or any(t != v.type for t, v in zip(types, outputs, strict=True)):
            raise Unfit("types that differ")
        self._alike[alike] = body
        return Node(FUSED, (body, inputs), outputs, source)

    def _shared(self, body: Graph) -> Graph:
        """An equal body that is there already; refused where it is no kernel."""
        from thixo.codegen.group import NotLowered, lowered_group

        key = graph_text(body, sources=False)
        if key not in self._known:
            try:
                lowered_group(body, key)
                self._known[key] = body
            except NotLowered:
                self._known[key] = None
        found = self._known[key]
        if found is None:
            raise Unfit(key)
        return found


def _cost(body: Graph) -> int:
    from thixo.codegen.group import lowered_group
    from thixo.codegen.instructions import FUNCTIONS

    slow = {"div": 8, "sqrt": 8, "rem": 30, "const": 0, "load": 0, "store": 0}
    instructions = lowered_group(body).kernel.body
    return sum(25 if one.op in FUNCTIONS else slow.get(one.op, 1) for one in instructions)


def _kind_key(a: Any) -> Any:
    if isinstance(a, Value):
        return a.type.dtype.short, a.type.ndim == 0
    if isinstance(a, tuple | list):
        return tuple(map(_kind_key, a))
    if isinstance(a, Dim):
        return "size"
    return type(a).__name__, str(a)


def _alike_key(
    graph: Graph, nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value]
) -> Any:
    """Equal for groups that differ in nothing but which values they read and make."""
    numbers: dict[Value, Any] = {v: i for i, v in enumerate(inputs)}

    def key(a: Any) -> Any:
        if isinstance(a, Value):
            found = numbers.get(a)
            if found is None:  # a number that becomes part of the kernel
                data = graph.constants[a]
                found = numbers[a] = (len(numbers), data.tobytes(), str(a.type))
            return "value", found
        if isinstance(a, tuple | list):
            return type(a).__name__, tuple(map(key, a))
        if isinstance(a, float):
            return "float", a.hex()
        return type(a).__name__, str(a)

    body = []
    for node in nodes:
        body.append((node.op.full_name, *map(key, node.args)))
        for v in node.outputs:
            numbers[v] = len(numbers)
    types = tuple(str(v.type) for v in inputs)
    bounds = {
        n: a.bounds
        for v in inputs
        for s in v.shape
        if isinstance(s, Dim)
        for n, a in s.symbols.items()
    }
    return types, tuple(bounds.items()), tuple(body), tuple(numbers[v] for v in outputs)


def is_number(graph: Graph, v: Value) -> bool:
    """Whether a value is a constant without axes that cannot change."""
    return not v.type.ndim and isinstance(graph.constants.get(v), np.ndarray)


def _with_free(grouping: Grouping, members: Sequence[int]) -> set[int]:
    """The nodes, and those that they read which are made of numbers alone."""
    found = set(members)
    pending = list(members)
    while pending:
        for v in grouping.inputs[pending.pop()]:
            m = grouping.makers.get(v, -1)
            if m in grouping.free and m not in found:
                found.add(m)
                pending.append(m)
    return found


def body_of(
    graph: Graph, nodes: Sequence[Node], inputs: Sequence[Value], outputs: Sequence[Value]
) -> Graph:
    """The graph of a fused node: these nodes on these inputs, with sizes of its own."""
    names = [n.op.sig.name for n in nodes if n.op.kind != "view"][-4:]
    body = Graph("_".join(["fused", *dict.fromkeys(names)]))
    sizes: dict[str, Size] = {}
    symbols: dict[str, Size] = {}

    def size(s: Size) -> Size:
        if not isinstance(s, Dim) and s <= 1:
            return s
        if str(s) not in sizes:
            raise Unfit(f"the size {s}, which no input has")
        return sizes[str(s)]

    def attribute(a: Any) -> Any:
        if isinstance(a, Dim):
            if not set(a.symbols) <= set(symbols):
                raise Unfit(f"the size {a}")
            return a.substitute(symbols)
        if isinstance(a, tuple | list):
            return type(a)(map(attribute, a))
        return a

    for v in inputs:
        for s in v.type.shape:
            if str(s) not in sizes and (isinstance(s, Dim) or s > 1):
                low = s.bounds[0] if isinstance(s, Dim) else 2
                made = Dim(f"s{len(sizes)}", None, 2 if low is None else min(low, 2))
                sizes[str(s)] = made
                if isinstance(s, Dim):
                    symbols[str(s)] = made
    new: dict[Value, Value] = {}
    for i, v in enumerate(inputs):
        new[v] = body.input(f"x{i}", Type(v.dtype, [size(s) for s in v.shape], v.device))
    for node in nodes:
        for v in node.inputs:
            if v not in new:
                new[v] = body.constant("c", graph.constants[v])
        args = list(with_values(node.args, new))
        for i, (p, a) in enumerate(zip(node.op.sig.params, args, strict=True)):
            if node.op.full_name in SHAPED and p.name in ("size", "shape"):
                args[i] = tuple(size(s) for s in node.outputs[0].shape)
            elif next(values_in((a,)), None) is None:
                args[i] = attribute(a)
        try:
            with guards() as kept:
                types = result_types(node.op, args)
        except ThixoError as error:
            raise Unfit(str(error)) from None
        if kept:
            raise Unfit("a question about sizes")
        made_node = body.add(node.op, args, types, source=None)
        new.update(zip(node.outputs, made_node.outputs, strict=True))
    body.outputs = [new[v] for v in outputs]
    return body
