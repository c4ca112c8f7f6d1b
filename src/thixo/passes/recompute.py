"""Computing again in place of keeping: under a budget of memory, values that cost little are made a second time where they
are needed late, so that they need not live until then.

In the graph of a training step these are values of the way forward that the way back reads: an activation is made again from
what it was made of, if that is there anyway, or if keeping that in place of several values made of it takes less. First
nodes that move memory more than they compute are repeated, so that time grows little; only where these do not reach the
budget, products and the like are too. Nothing random is. Every value stays the same to the last bit.
"""

from __future__ import annotations

from typing import Any

from thixo.errors import ArgumentError
from thixo.graph.ir import Graph, Node, Value, values_in, with_some_values
from thixo.graph.text import node_text
from thixo.passes.manager import Firing

Wish = tuple[
    int, int, list[Node]
]  # a family, where it is needed next, the nodes that make it again

ROUNDS = 48  # the peak is somewhere else after each change
CHAIN = 12  # nodes that may be repeated for one value
CHEAP = 4  # operations for each element that is read or made: more of them are not repeated


def recompute(graph: Graph, budget: int | float, firings: list[Firing] | None = None) -> int:
    """Repeat cheap nodes until the peak of living values is within the budget: bytes, or a part of the peak as it is.

    How many nodes were added; fewer than needed where there is nothing to repeat. Costly ones are repeated only where cheap
    ones are not enough. Sizes are those of the example.

    >>> def f(x, w):
    ...     for _ in range(6):
    ...         x = (x @ w).exp().sin()
    ...     return x.sum()
    >>> example = (tx.ones(64, 64), tx.ones(64, 64))
    >>> graph = tx.autodiff.gradient_graph(tx.jit.trace(f, example).graph)
    >>> before = tx.schedule.schedule(graph).guessed_peak
    >>> recompute(graph, 0.7) > 0, tx.schedule.schedule(graph).guessed_peak <= 0.7 * before
    (True, True)
    """
    from thixo.schedule import schedule

    if isinstance(budget, bool) or not isinstance(budget, int | float) or not budget > 0:
        raise ArgumentError(
            f"recompute: the budget must be bytes or a part of the peak, is {budget!r}"
        )
    one = schedule(graph)
    limit = budget if isinstance(budget, int) else int(one.guessed_peak * min(budget, 1.0))
    best, best_peak = _snapshot(graph), one.guessed_peak
    added = kept = noted = 0
    found: list[Firing] = []
    stale = 0
    costly = False
    for _ in range(ROUNDS):
        if one.guessed_peak <= limit:
            break
        graph.nodes = list(one.order)
        made = 0 if stale > 3 else _Lightening(graph, one, limit, found, costly).run()
        if not made:
            if costly:
                break
            costly, stale, added = True, 0, kept
            _restore(graph, best)
            one = schedule(graph)
            continue
        added += made
        one = schedule(graph)
        if one.guessed_peak < best_peak:
            graph.nodes = list(one.order)
            best, best_peak = _snapshot(graph), one.guessed_peak
            kept, noted, stale = added, len(found), 0
        else:
            stale += 1
    _restore(graph, best)
    if firings is not None:
        firings.extend(found[:noted])
    return kept


def _snapshot(graph: Graph) -> list[tuple[Node, Any]]:
    return [(node, node.args) for node in graph.nodes]


def _restore(graph: Graph, snapshot: list[tuple[Node, Any]]) -> None:
    for node, args in snapshot:
        node.args = args
    graph.nodes = [node for node, _ in snapshot]


class _Lightening:
    """One round: values that live through the peak without being read there end before it and are made again after it."""

    def __init__(
        self, graph: Graph, one: Any, limit: int, firings: list[Firing], costly: bool
    ) -> None:
        self.graph = graph
        self.costly = costly  # what computes much may be repeated too
        self.one = one
        self.firings = firings
        self.flow = flow = one._flow
        course = one._sharing.living
        self.peak = max(range(len(course)), key=course.__getitem__)
        self.excess = course[self.peak] - limit
        self.maker: dict[Value, int] = {}
        self.readers: dict[int, list[int]] = {}  # of each family: positions
        for position, node in enumerate(one.order):
            for value in node.outputs:
                self.maker[value] = position
            for value in values_in(node.args):
                self.readers.setdefault(flow.family[value], []).append(position)
        self.last = one._sharing.last
        self.changing = {flow.family[v] for v in one.donated}
        self.gone: set[int] = set()  # families that end at the peak now
        self.pinned: set[int] = set()  # that something made in this round reads
        self.before: dict[int, list[Node]] = {}  # new nodes, by the position that they stand before

    def run(self) -> int:
        """How many nodes were added."""
        count = 0
        for saved, group in self._candidates():
            if self.excess <= 0:
                break
            reads = {self._family(v) for _, _, chain in group for v in self._read(chain)}
            if not self.gone.isdisjoint(reads) or any(f in self.pinned for f, _, _ in group):
                continue
            self.excess -= saved
            new: dict[tuple[int, Value], Value] = {}
            for family, place, chain in group:
                count += self._repeat(family, place, chain, new)
        self.graph.nodes = [
            node
            for position, one in enumerate(self.one.order)
            for node in (*self.before.get(position, ()), one)
        ]
        return count

    def _family(self, value: Value) -> int:
        return self.flow.family[value]

    def _candidates(self) -> list[tuple[int, list[Wish]]]:
        """Bytes that are saved, and how: values that are made again from the same kept ones belong together. What frees
        most for its cost comes first."""
        flow = self.flow
        groups: dict[tuple[int, ...], list[Wish]] = {}
        for family, positions in self.readers.items():
            born = self.maker.get(flow.root[family], -1)
            if (
                not flow.size[family]
                or born < 0
                or born >= self.peak
                or self.last[family] <= self.peak
            ):
                continue
            if self.peak in positions:
                continue
            place = min(p for p in positions if p > self.peak)
            found = self._chain(family, place)
            if found is not None:
                chain, longer = found
                groups.setdefault(longer or (-1, family), []).append((family, place, chain))
        wishes = []
        for longer, group in groups.items():
            saved = sum(flow.size[f] for f, _, _ in group)
            if longer[0] >= 0:
                saved -= sum(flow.size[f] for f in longer if self.last[f] < self.peak)
            seconds = sum(self.one.cost[n].seconds for n in {n for _, _, c in group for n in c})
            if saved > 0 and not (longer[0] >= 0 and self._ends_at_peak(longer, group)):
                wishes.append((seconds / saved, group[0][0], saved, group))
        wishes.sort(key=lambda w: w[:2])
        return [(saved, group) for _, _, saved, group in wishes]

    def _ends_at_peak(self, longer: tuple[int, ...], group: list[Wish]) -> bool:
        """Whether what would be kept longer is among what would be let go."""
        return not {f for f, _, _ in group}.isdisjoint(longer)

    def _chain(self, family: int, place: int) -> tuple[list[Node], tuple[int, ...]] | None:
        """The nodes that make a family's late values from what is there at a place, in order, and the families that must be
        kept longer for it; None if there are too many."""
        late = {
            v
            for p in set(self.readers[family])
            if p > self.peak
            for v in values_in(self.one.order[p].args)
            if self._family(v) == family
        }
        needed: dict[int, Node] = {}
        longer: set[int] = set()
        stack = list(late)
        while stack:
            position = self.maker[stack.pop()]
            if position in needed:
                continue
            node = self.one.order[position]
            needed[position] = node
            if not self._is_cheap(node) or len(needed) > CHAIN:
                return None
            for value in values_in(node.args):
                if self._family(value) != family and self._is_there(value, place):
                    continue
                if value not in self.maker or self._family(value) in self.changing:
                    return None
                if self._family(value) == family or self._is_cheap(
                    self.one.order[self.maker[value]]
                ):
                    stack.append(value)
                else:
                    longer.add(self._family(value))
        if family in longer:
            return None
        return [needed[p] for p in sorted(needed)], tuple(sorted(longer))

    def _is_there(self, value: Value, place: int) -> bool:
        family = self._family(value)
        if family in self.changing:
            return False
        return not self.flow.size[family] or self.last[family] >= place

    def _is_cheap(self, node: Node) -> bool:
        op = node.op
        if op.full_name == "fused":
            return self.costly or all(self._is_cheap_part(n) for n in node.args[0].nodes)
        if op.kind == "control" or op.random or any(v in self.flow.dynamic for v in node.outputs):
            return False
        if op.kind in ("view", "pointwise"):
            return True
        cost = self.one.cost[node]
        itemsize = max((v.type.dtype.itemsize for v in node.outputs), default=1)
        return bool(op.total) and (self.costly or cost.flops * itemsize <= CHEAP * cost.bytes)

    def _is_cheap_part(self, node: Node) -> bool:
        op = node.op
        return op.kind in ("view", "pointwise") or bool(
            op.total and op.cost is None and not op.random
        )

    def _read(self, chain: list[Node]) -> list[Value]:
        made = {v for node in chain for v in node.outputs}
        return [v for node in chain for v in values_in(node.args) if v not in made]

    def _repeat(
        self, family: int, place: int, chain: list[Node], known: dict[tuple[int, Value], Value]
    ) -> int:
        """Make the late values again, and let the late readers have them; `known`: made before for the same place."""
        graph = self.graph
        new: dict[Value, Value] = {}
        count = 0
        for node in chain:
            again = [known.get((place, v)) for v in node.outputs]
            if None in again:
                args = with_some_values(node.args, new)
                again = [Value(graph.fresh_name(v.name), v.type) for v in node.outputs]
                made = Node(node.op, args, [v for v in again if v is not None], node.source)
                self.before.setdefault(place, []).append(made)
                self.firings.append(Firing("computed again", node_text(node), node.source))
                count += 1
            for old, value in zip(node.outputs, again, strict=True):
                assert value is not None
                new[old] = known[place, old] = value
        self.pinned.update(self._family(v) for v in self._read(chain))
        self.gone.add(family)
        late = {v: w for v, w in new.items() if self._family(v) == family}
        for position in sorted(set(self.readers[family])):
            if position > self.peak:
                reader = self.one.order[position]
                reader.args = with_some_values(reader.args, late)
        return count
