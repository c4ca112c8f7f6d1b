"""Which values the way forward keeps for the way back: a minimum cut.

What the way back reads can be kept, or made again from other values that are kept. A path leads from every value that
cannot be made again (an input, a product, a random number) through cheap nodes to each value that is read; whatever is
kept must cut all of these paths. The cut of the fewest bytes is found by maximum flow. Of several such cuts the one nearest
to the way back is taken: it repeats least.

With a budget of memory costlier nodes may be repeated too, those first that free most for their time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from thixo.errors import ArgumentError
from thixo.graph.control import is_random
from thixo.graph.ir import Node, Value, values_in
from thixo.schedule.cost import bytes_of, cost_of, elements

WITHOUT_END = 1 << 62

Weight = Callable[[Value], int | None]  # bytes that keeping a value takes; None: it is not kept


def smallest_cut(
    nodes: Sequence[Node],
    read: Iterable[Value],
    weight: Weight,
    is_cheap: Callable[[Node], bool],
    there: Collection[Value] = (),
) -> list[Value]:
    """The values to keep, so that all that is read follows from them by cheap nodes; in the order of their making.

    Values that are `there` anyway (constants) need not be kept.

    >>> graph = tx.jit.trace(lambda x: x.sin().exp().tanh(), tx.ones(8)).graph
    >>> read = [graph.inputs[0], *(v for n in graph.nodes for v in n.outputs)]
    >>> smallest_cut(graph.nodes, read, lambda v: bytes_of(v.type), repeats_free)
    [x: f32[n]]
    """
    maker = {v: n for n in nodes for v in n.outputs}
    flow = Flow()
    number: dict[Value, int] = {}
    todo = list(dict.fromkeys(read))
    for value in todo:
        number[value] = flow.add_pair(weight(value))
        flow.edge(number[value] + 1, flow.sink)
    while todo:
        value = todo.pop()
        node = maker.get(value)
        if node is None or not is_cheap(node):
            flow.edge(flow.source, number[value])
            continue
        for one in dict.fromkeys(values_in(node.args)):
            if one in there:
                continue
            if one not in number:
                number[one] = flow.add_pair(weight(one))
                todo.append(one)
            flow.edge(number[one] + 1, number[value])
    behind = flow.behind_the_cut()
    kept = [v for v, at in number.items() if at not in behind and at + 1 in behind]
    order = {v: i for i, v in enumerate(v for n in nodes for v in n.outputs)}
    return sorted(kept, key=lambda v: order.get(v, -1))


class Flow:
    """A network in which the maximum flow from source to sink is found, level by level."""

    source, sink = 0, 1

    def __init__(self) -> None:
        self._to: list[int] = []  # edges stand in pairs: one, then the same the other way
        self._left: list[int] = []  # what may still flow
        self._edges: list[list[int]] = [[], []]

    def add_pair(self, most: int | None) -> int:
        """Two places, the second one more than the first, between which so much may flow (None: any amount)."""
        at = len(self._edges)
        self._edges += [[], []]
        self.edge(at, at + 1, WITHOUT_END if most is None else most)
        return at

    def edge(self, begin: int, end: int, most: int = WITHOUT_END) -> None:
        """So much may flow from one place to another."""
        self._edges[begin].append(len(self._to))
        self._edges[end].append(len(self._to) + 1)
        self._to += [end, begin]
        self._left += [most, 0]

    def behind_the_cut(self) -> set[int]:
        """The places from which the sink can still be reached when no more can flow."""
        while (level := self._levels()) is not None:
            self._fill(level)
        found, todo = {self.sink}, [self.sink]
        while todo:
            at = todo.pop()
            for e in self._edges[at]:
                one = self._to[e]
                if self._left[e ^ 1] and one not in found:
                    found.add(one)
                    todo.append(one)
        return found

    def _levels(self) -> list[int] | None:
        """How far each place is from the source; None where the sink is out of reach."""
        level = [-1] * len(self._edges)
        level[self.source] = 0
        todo = deque([self.source])
        while todo:
            at = todo.popleft()
            for e in self._edges[at]:
                one = self._to[e]
                if self._left[e] and level[one] < 0:
                    level[one] = level[at] + 1
                    todo.append(one)
        return level if level[self.sink] >= 0 else None

    def _fill(self, level: list[int]) -> None:
        """Let flow what can, always one level on."""
        turn = [0] * len(self._edges)
        path: list[int] = []  # edges from the source
        at = self.source
        while True:
            if at == self.sink:
                amount = min(self._left[e] for e in path)
                first = len(path)
                for i, e in enumerate(path):
                    self._left[e] -= amount
                    self._left[e ^ 1] += amount
                    if not self._left[e] and i < first:
                        first = i
                at = self._to[path[first] ^ 1]
                del path[first:]
                continue
            edges = self._edges[at]
            while turn[at] < len(edges):
                e = edges[turn[at]]
                if self._left[e] and level[self._to[e]] == level[at] + 1:
                    break
                turn[at] += 1
            if turn[at] < len(edges):
                path.append(edges[turn[at]])
                at = self._to[path[-1]]
            elif not path:
                return
            else:
                level[at] = -1
                at = self._to[path.pop() ^ 1]


# ---- what may be repeated


def repeats_free(node: Node) -> bool:
    """Whether a node only looks, fills, or makes each element from one element: it costs next to nothing in another kernel."""
    op = node.op
    if op.kind == "control" or op.random:
        return False
    if op.kind in ("pointwise", "view"):
        return True
    if not op.total or op.cost is not None or hasattr(op, "rows") or len(node.outputs) != 1:
        return False
    read = list(values_in(node.args))
    if not read:
        return not getattr(op, "counts", False)
    return len(read) == 1 and elements(read[0].type) == elements(node.outputs[0].type)


def repeats_rightly(node: Node) -> bool:
    """Whether a node gives the same once more, whatever it costs."""
    return node.op.kind != "control" and not is_random(node) and bool(node.op.total)


def cut_within(
    budget: int | float | None,
    nodes: Sequence[Node],
    read: Sequence[Value],
    weight: Weight,
    there: Collection[Value],
) -> list[Value]:
    """The smallest cut; with a budget (bytes, or a part of what is kept without one) more nodes are repeated until it is met."""

    best = smallest_cut(nodes, read, weight, repeats_free, there)
    if budget is None:
        return best
    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise ArgumentError(
            f"memory budget: must be bytes or a part of what is kept, is {budget!r}"
        )

    def kept_bytes(kept: list[Value]) -> int:
        return sum(bytes_of(v.type) for v in kept)

    limit = budget if isinstance(budget, int) else int(budget * kept_bytes(best))
    if kept_bytes(best) <= limit:
        return best
    costly = [n for n in nodes if not repeats_free(n) and repeats_rightly(n)]
    costly.sort(key=lambda n: cost_of(n).seconds / (1 + sum(bytes_of(v.type) for v in n.outputs)))

    def repeating(count: int) -> list[Value]:
        chosen: set[Any] = set(costly[:count])
        return smallest_cut(nodes, read, weight, lambda n: repeats_free(n) or n in chosen, there)

    low, high = 0, len(costly)  # too few of them; enough, or all there are
    while high - low > 1:
        middle = (low + high) // 2
        if kept_bytes(repeating(middle)) <= limit:
            high = middle
        else:
            low = middle
    return repeating(high)
