"""The course of a run: nodes in order, who shares memory with whom then, and which of them run side by side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from thixo.graph.ir import Value
from thixo.schedule.arena import Piece, lower_bound, place
from thixo.schedule.flow import Flow
from thixo.schedule.lanes import Section
from thixo.schedule.order import Sharing, share


class Lane(NamedTuple):
    """Positions [begin, end) that one thread runs, in a section."""

    begin: int
    end: int
    section: Section


class Course:
    """An order of a graph's nodes, by their numbers."""

    def __init__(
        self,
        flow: Flow,
        numbers: list[int],
        sharing: Sharing | None = None,
        sections: Sequence[Section] = (),
    ) -> None:
        self.flow = flow
        self.numbers = numbers
        self.sections = sections
        self.lanes: list[Lane] = []
        for one in sections:
            for begin, end in zip((one.begin, *one.ends), one.ends, strict=False):
                self.lanes.append(Lane(begin, end, one))
        self._begins = [lane.begin for lane in self.lanes]
        self.sharing = share(flow, numbers, self._wide()) if sharing is None else sharing

    def lane(self, position: int) -> Lane | None:
        """The lane in which a position is, if it is in one."""
        at = bisect_right(self._begins, position) - 1
        return self.lanes[at] if at >= 0 and position < self.lanes[at].end else None

    def widened(self, first: int, last: int) -> tuple[int, int]:
        """Positions between which memory is in use: all of a section may run while one of its nodes does."""
        begin, end = self.lane(first), self.lane(last)
        return (
            first if begin is None else begin.section.begin,
            last if end is None else end.section.last,
        )

    def _wide(self) -> set[int]:
        """Families that several lanes of a section touch: none of them may write there."""
        seen: dict[tuple[int, int], int] = {}
        found = set()
        for lane in self.lanes:
            for number in self.numbers[lane.begin : lane.end]:
                for f in self.flow.reads[number]:
                    if seen.setdefault((f, lane.section.begin), lane.begin) != lane.begin:
                        found.add(f)
        return found

    def lifetimes(self) -> dict[int, tuple[int, int]]:
        """For each memory in the arena, by its first family: the positions of its first and last node."""
        flow, sharing = self.flow, self.sharing
        born: dict[int, int] = {}
        died: dict[int, int] = {}
        slot, last = sharing.slot, sharing.last
        for position, number in enumerate(self.numbers):
            for f in flow.makes_inside[number]:
                first = slot[f]
                born.setdefault(first, position)
                died[first] = max(died.get(first, 0), last[f])
        return {f: (born[f], died[f]) for f in born}

    def memory_of(self) -> dict[Value, Value]:
        """Values that lie in another's memory, and that other."""
        flow, slot = self.flow, self.sharing.slot
        found = {}
        for value, family in flow.family.items():
            first = flow.root[slot[family]]
            if first is not value:
                found[value] = first
        return found


class Places(NamedTuple):
    """Where pieces of memory lie, by whose they are."""

    offset: dict[Hashable, int]
    arena: int
    peak: int  # the greatest sum of living bytes


def places(course: Course, owners: Sequence[Hashable], pieces: Sequence[Piece]) -> Places:
    """A place for each piece. Lanes of a section never share memory; what lives only in one of them shares that lane's."""
    if not course.sections:
        offsets, arena = place(pieces)
        return Places(dict(zip(owners, offsets, strict=True)), arena, lower_bound(pieces))
    outer: list[Piece] = []
    names: list[Hashable] = []
    inside: dict[int, list[tuple[Hashable, Piece]]] = {}  # by where a lane begins
    for owner, (first, last, count) in zip(owners, pieces, strict=True):
        lane = course.lane(first)
        if lane is not None and last < lane.end:
            inside.setdefault(lane.begin, []).append((owner, (first, last, count)))
        else:
            outer.append((*course.widened(first, last), count))
            names.append(owner)
    blocks: dict[Hashable, dict[Hashable, int]] = {}
    for begin, members in inside.items():
        lane = course.lane(begin)
        assert lane is not None
        offsets, total = place([piece for _, piece in members])
        name: Hashable = ("lane", begin)
        blocks[name] = dict(zip((owner for owner, _ in members), offsets, strict=True))
        names.append(name)
        outer.append((lane.section.begin, lane.section.last, total))
    offsets, arena = place(outer)
    found: dict[Hashable, int] = {}
    for owner, offset in zip(names, offsets, strict=True):
        if owner in blocks:
            found.update((one, offset + o) for one, o in blocks[owner].items())
        else:
            found[owner] = offset
    return Places(found, arena, lower_bound(outer))


def pieces_of(
    course: Course, size: Mapping[int, int], work: Iterable[tuple[Hashable, int, int]]
) -> tuple[list[Hashable], list[Piece]]:
    """What needs a place, and whose it is: memory by its first family, and what single nodes need while they run, as
    (owner, position, bytes)."""
    owners: list[Hashable] = []
    pieces: list[Piece] = []
    for family, (first, last) in course.lifetimes().items():
        owners.append(family)
        pieces.append((first, last, size[family]))
    for owner, position, count in work:
        owners.append(owner)
        pieces.append((position, position, count))
    return owners, pieces
