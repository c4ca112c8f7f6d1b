"""Which nodes of a graph run together as one kernel.

Nodes are taken in order. Each joins the groups of those that it reads, and these each other, where all of them run over
the same places, along the same rows, and nothing outside of the group would have to wait for one part of it while
another waits for that. What reads the same large value joins too. A group that turns out to be no kernel is cut in two.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from thixo.graph.control import is_random
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.sizes import sizes_in
from thixo.graph.trace import finders_of_sizes
from thixo.symbolic import Dim, Size

MOST_NODES = 64
MOST_OPERANDS = 15
MOST_WALKS = 8  # along a row
CHEAP = 3  # instructions that may be done again for each place of a larger space
SEARCH = 100  # units that may have to move so that two can be one
SMALL = 16384  # elements: so few are worth no second kernel

Space = tuple[str, ...]  # the sizes that are not 1, in order


@dataclass(eq=False)
class Grouped:
    """Nodes that are to be one kernel."""

    number: int
    members: list[int]
    space: Space
    row: frozenset[int] | None = None  # places in `space` that make up the row
    walks: int = 0


def _found_sizes(graph: Graph) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The nodes that decide how large something is that a node meets, and those that meet what a node decides."""
    finders = finders_of_sizes(graph)
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    if finders:
        at = {n: i for i, n in enumerate(graph.nodes)}
        for i, node in enumerate(graph.nodes):
            met = sizes_in([*node.args, *(v.type.shape for v in node.outputs)])
            names = {name for size in met for name in size.symbols if name in finders}
            for one in sorted({at[finders[name]] for name in names} - {i}):
                before.setdefault(i, []).append(one)
                after.setdefault(one, []).append(i)
    return before, after


def space_of(shape: Iterable[Size]) -> Space:
    """What a shape is to a loop nest: axes of size 1 are none."""
    return tuple(str(s) for s in shape if isinstance(s, Dim) or s != 1)


class Grouping:
    """Groups of one graph."""

    def __init__(self, graph: Graph, kinds: Any) -> None:
        self.graph = graph
        self.kinds = kinds  # tells what a node is to a kernel; see `passes/fuse.py`
        self.nodes = graph.nodes
        self.makers = {v: i for i, n in enumerate(self.nodes) for v in n.outputs}
        self.readers: dict[Value, list[int]] = {}
        self.inputs: list[list[Value]] = []
        for i, n in enumerate(self.nodes):
            read = list(dict.fromkeys(n.inputs))
            self.inputs.append(read)
            for v in read:
                self.readers.setdefault(v, []).append(i)
        self.results = set(graph.results())
        self.group: list[Grouped | None] = [None] * len(self.nodes)
        self.before: list[int] = []  # the random node that must come first, or -1
        self.after = [-1] * len(self.nodes)
        last = -1
        random: dict[int, bool] = {}
        for i, n in enumerate(self.nodes):
            drawn = is_random(n, random)
            self.before.append(last if drawn else -1)
            if drawn:
                if last >= 0:
                    self.after[last] = i
                last = i
        self.finders, self.found = _found_sizes(graph)
        self.waits: list[list[int] | None] = [None] * len(self.nodes)
        self.order = list(range(len(self.nodes)))
        self.now = 0  # the node that is looked at
        self.touched: dict[Value, int] = {}  # a node whose group reads a value of full size
        self.free: set[int] = set()  # nodes that are made of numbers and sizes alone

    def run(self) -> list[Grouped]:
        """All groups, of one node or more."""
        for i, node in enumerate(self.nodes):
            self.now = i
            kind = self.kinds.kind(node)
            if kind is None:
                continue
            if kind != "rows" and not any(
                self.makers.get(v, -1) not in self.free for v in self.inputs[i]
            ):
                self.free.add(i)
            elif kind == "view":
                self._view(i)
            else:
                self._compute(i, kind)
        found = {id(g): g for g in self.group if g is not None}
        return list(found.values())

    # ---- one node

    def _candidates(self, i: int) -> list[Grouped]:
        found: dict[int, Grouped] = {}
        for v in self.inputs[i]:
            g = self.group[self.makers[v]] if v in self.makers else None
            if g is not None:
                found.setdefault(id(g), g)
        return sorted(found.values(), key=lambda g: -len(g.members))

    def _view(self, i: int) -> None:
        """A view belongs to the group that makes what it shows; nobody gains if it begins one."""
        (g,) = self._candidates(i) or (None,)
        if g is not None and self._fits(g, i, space_of(self.nodes[i].outputs[0].shape), None, 0):
            self._join(g, i)

    def _compute(self, i: int, kind: str) -> None:
        node = self.nodes[i]
        row: frozenset[int] | None = None
        walks = 0
        if kind == "rows":
            space, row = self.kinds.rows(node)
            walks = 1 if len(node.outputs) == 1 and self._is_smaller(node, space) else 2
        else:
            space = space_of(node.outputs[0].shape)
        home: Grouped | None = None
        for g in self._candidates(i):
            if home is None:
                if self._fits(g, i, space, row, walks):
                    self._join(g, i, space, row, walks)
                    home = g
            elif g is not home and self.group[g.members[0]] is g:
                self._try_merge(home, g)
        if home is None:
            home = Grouped(i, [i], space, row, walks)
            self.group[i] = home
        for v in self.inputs[i]:
            other = self.group[self.touched[v]] if v in self.touched else None
            if other is not None and other is not home and space_of(v.shape) == home.space:
                self._try_merge(home, other)
        for v in self.inputs[i]:
            if space_of(v.shape) == home.space and home.space:
                self.touched[v] = i

    def _is_smaller(self, node: Node, space: Space) -> bool:
        return space_of(node.outputs[0].shape) != space

    # ---- what fits

    def _fits(
        self, g: Grouped, i: int, space: Space, row: frozenset[int] | None, walks: int
    ) -> bool:
        """Whether a node that reads from a group may be part of it."""
        if len(g.members) >= MOST_NODES or g.walks + walks > MOST_WALKS:
            return False
        if space != g.space:
            if row is None and g.row is not None and space == self._kept(g):
                pass  # one for each row
            elif g.row is None and _contains(space, g.space):
                if not self._is_prologue(g, (i,)):
                    return False
            else:
                return False
        elif row is not None and g.row is not None and row != g.row:
            return False
        if not self._rows_pay(g, i, space, row):
            return False
        if self._operands([*g.members, i]) > MOST_OPERANDS:
            return False
        return self._bring_together(g.number, i)

    def _kept(self, g: Grouped) -> Space:
        assert g.row is not None
        return tuple(s for d, s in enumerate(g.space) if d not in g.row)

    def _is_prologue(self, g: Grouped, others: Iterable[int]) -> bool:
        """Whether a group of fewer places may be computed again for each place of a larger space."""
        if g.space and sum(self.kinds.cost(self.nodes[m]) for m in g.members) > CHEAP:
            return False
        members = {*g.members, *others}
        return all(
            v not in self.results and members.issuperset(self.readers.get(v, ()))
            for m in g.members
            for v in self.nodes[m].outputs
        )

    def _rows_pay(self, g: Grouped, i: int, space: Space, row: frozenset[int] | None) -> bool:
        """All places as one row can be cut among threads only where nothing of full size is written."""
        whole = row if row is not None else g.row
        if whole is None or len(whole) < len(space if row is not None else g.space):
            return True
        if _elements(g.space) <= SMALL:
            return True
        if row is None and space == g.space:
            return False  # what follows a sum of everything
        members = {*g.members, i}
        return all(
            v not in self.results and members.issuperset(self.readers.get(v, ()))
            for m in g.members
            for v in self.nodes[m].outputs
            if space_of(v.shape) == g.space
        )

    def _outside(self, members: Iterable[int]) -> set[Value]:
        inside = set(members)
        return {
            v
            for m in inside
            for v in self.inputs[m]
            if self.makers.get(v, -1) not in inside and self.makers.get(v, -1) not in self.free
        }

    def _operands(self, members: list[int]) -> int:
        inside = set(members)
        written = sum(
            v in self.results or any(r not in inside for r in self.readers.get(v, ()))
            for m in inside
            for v in self.nodes[m].outputs
        )
        return written + len(self._outside(inside))

    # ---- joining

    def _join(
        self,
        g: Grouped,
        i: int,
        space: Space | None = None,
        row: frozenset[int] | None = None,
        walks: int = 0,
    ) -> None:
        g.members.append(i)
        g.walks += walks
        made = space if space is not None else space_of(self.nodes[i].outputs[0].shape)
        if len(made) > len(g.space):
            g.space = made
        if row is not None:
            g.row = row
        self.group[i] = g

    def _try_merge(self, a: Grouped, b: Grouped) -> None:
        if len(a.members) + len(b.members) > MOST_NODES or a.walks + b.walks > MOST_WALKS:
            return
        if a.space != b.space:
            if b.row is not None or not _contains(a.space, b.space):
                return
            if not self._is_prologue(b, a.members):
                return
        elif a.row is not None and b.row is not None and a.row != b.row:
            return
        both = [*a.members, *b.members]
        row = a.row if a.row is not None else b.row
        if row is not None and len(row) == len(a.space) and _elements(a.space) > SMALL:
            return
        if self._operands(both) > MOST_OPERANDS:
            return
        if not self._bring_together(a.number, b.number):
            return
        self.order[a.number] = self.order[b.number] = min(
            self.order[a.number], self.order[b.number]
        )
        a.members = sorted(both)
        a.walks += b.walks
        a.row = row
        for m in b.members:
            self.group[m] = a

    # ---- order
    #
    # `order` says for each unit (a group, by its number, or a node alone) where it stands among all, so that everything
    # comes after what it waits for. Two units can be one if no other must run between them; those that stand between
    # then move to one side or the other.

    def _unit(self, i: int) -> int:
        g = self.group[i]
        return i if g is None else g.number

    def _nodes(self, unit: int) -> Iterable[int]:
        g = self.group[unit]
        return (unit,) if g is None else g.members

    def _waits_for(self, i: int) -> list[int]:
        """The nodes that must run before a node."""
        found = self.waits[i]
        if found is None:
            found = self.waits[i] = [self.makers[v] for v in self.inputs[i] if v in self.makers]
            found += self.finders.get(i, ())
            if self.before[i] >= 0:
                found.append(self.before[i])
        return found

    def _sources(self, unit: int) -> set[int]:
        """The units that must run before one, and perhaps itself."""
        g = self.group[unit]
        if g is None:
            nodes: Iterable[int] = self._waits_for(unit)
        else:
            nodes = {m for i in g.members for m in self._waits_for(i)}
        group = self.group
        return {m if (of := group[m]) is None else of.number for m in nodes}

    def _followers(self, unit: int) -> Iterator[int]:
        """The units that wait for one, of those that were looked at already."""
        for i in self._nodes(unit):
            for v in self.nodes[i].outputs:
                for r in self.readers.get(v, ()):
                    if r < self.now:
                        yield self._unit(r)
            for r in self.found.get(i, ()):
                if r < self.now:
                    yield self._unit(r)
            if 0 <= self.after[i] < self.now:
                yield self._unit(self.after[i])

    def _reach(self, first: Iterable[int], step: Any, inside: Any, avoid: int) -> set[int] | None:
        """The units reached from some by steps inside of a range; None if one must not be, or they are too many."""
        order = self.order
        found: set[int] = set()
        # The first in order comes first: a way to what must not be reached leads there.
        pending = [(order[u], u) for u in first if inside(order[u])]
        heapq.heapify(pending)
        while pending:
            u = heapq.heappop(pending)[1]
            if u in found:
                continue
            if u == avoid or len(found) >= SEARCH:
                return None
            found.add(u)
            for w in step(u):
                if w not in found and inside(order[w]):
                    heapq.heappush(pending, (order[w], w))
        return found

    def _bring_together(self, a: int, b: int) -> bool:
        """Order units so that these two can be one; False where something must run between them."""
        if self.order[a] > self.order[b]:
            a, b = b, a
        low = self.order[a]
        others = (u for u in self._sources(b) if u not in (a, b))
        back = self._reach(others, self._sources, lambda o: o >= low, a)
        if back is None:
            return False
        if not back:
            return True
        high = max(self.order[u] for u in back)
        ahead = (u for u in self._followers(a) if u not in (a, b))
        forth = self._reach(ahead, self._followers, lambda o: o <= high, -1)
        if forth is None:
            return False
        places = sorted([low, *(self.order[u] for u in (*back, *forth))])
        units = [*sorted(back, key=self.order.__getitem__), a]
        units += sorted(forth, key=self.order.__getitem__)
        for u, place in zip(units, places, strict=True):
            self.order[u] = place
        self.order[b] = self.order[a]
        return True


def _contains(large: Space, small: Space) -> bool:
    """Whether the sizes of the one are among those of the other, in order."""
    rest = iter(large)
    return len(small) < len(large) and all(s in rest for s in small)


def _elements(space: Space) -> int:
    total = 1
    for s in space:
        if not s.isdigit():
            return SMALL + 1
        total *= int(s)
    return total
