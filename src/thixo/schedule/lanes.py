"""Nodes that run side by side: small ones that do not wait for each other.

A large product or a kernel over a large array uses all threads by itself, and is best off alone. Between two of these lies a
stretch of small nodes, each too small to be worth sharing out. There the nodes themselves are shared out: a *strand* is
what must run one after the other; strands that wait for nothing of each other are a *section*; a section is dealt out to a few
*lanes*, which threads take. At its end all wait for each other.

What is decided here depends on the graph and its sizes, not on the number of threads: a plan of memory is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from thixo.schedule.flow import Flow

LANES = 8  # of a section at most: enough to even out bad guesses, each with memory of its own
THREADS = 2  # with which it must pay

# Seconds. A node may be shared out by the pool itself from POOLED on, which costs MEETING; lanes cost that once in a section.
ALONE = 60e-6
POOLED = 8e-6
MEETING = 3e-6
GAIN = 2e-6  # that a section must save
FASTER = 1.15  # and so many times as fast it must be

PART = 8  # strands that meet are one, while they are less than this part of a stretch


class Section(NamedTuple):
    """Positions [begin, ends[-1]) of an order, dealt out to lanes: each begins where the one before ends."""

    begin: int
    ends: tuple[int, ...]

    @property
    def last(self) -> int:
        """The last position."""
        return self.ends[-1] - 1


def side_by_side(
    flow: Flow, order: Sequence[int], seconds: Sequence[float], alone: Sequence[bool]
) -> tuple[list[int], list[Section]]:
    """An order of the same nodes in which those that may run side by side follow each other, and where they are."""
    found: list[int] = []
    sections: list[Section] = []
    stretch: list[int] = []
    for number in order:
        if alone[number]:
            _stretch(flow, stretch, seconds, found, sections)
            stretch = []
            found.append(number)
        else:
            stretch.append(number)
    _stretch(flow, stretch, seconds, found, sections)
    return found, sections


def _stretch(
    flow: Flow,
    numbers: list[int],
    seconds: Sequence[float],
    order: list[int],
    sections: list[Section],
) -> None:
    """Put a stretch of small nodes at the end of an order."""
    groups = []
    if len(numbers) > 1 and sum(seconds[n] for n in numbers) > MEETING + GAIN:
        for strands in _levels(flow, numbers, seconds):
            lanes = _dealt(strands, seconds)
            if lanes is not None:
                groups.append(lanes)
    if not groups:
        order += numbers
        return
    for one in _gathered(flow, numbers, groups):
        if isinstance(one, int):
            order.append(one)
            continue
        begin, ends = len(order), []
        for lane in groups[one[0]]:
            order += lane
            ends.append(len(order))
        sections.append(Section(begin, tuple(ends)))


def _levels(flow: Flow, numbers: list[int], seconds: Sequence[float]) -> list[list[list[int]]]:
    """The nodes of a stretch, level by level, as strands: who waits for two strands begins a new one on the next level."""
    level: dict[int, int] = {}
    above: dict[int, int] = {}  # the strands as trees, each of which has its first node for a root
    work: dict[int, float] = {}  # of a strand, by its root
    least = sum(seconds[n] for n in numbers) / PART

    def root(number: int) -> int:
        top = number
        while above[top] != top:
            top = above[top]
        while above[number] != top:
            above[number], number = top, above[number]
        return top

    for number in numbers:
        before = [n for n in flow.before[number] if n in level]
        if not before and not seconds[number]:
            continue  # another look at what is there already
        top = max((level[n] for n in before), default=0)
        roots = sorted({root(n) for n in before if level[n] == top})
        total = sum(work[r] for r in roots) + seconds[number]
        above[number] = number
        level[number] = top
        if len(roots) == 1 or (roots and total <= least):
            for one in (*roots[1:], number):
                above[one] = roots[0]
            work[roots[0]] = total
        else:
            level[number] = top + (len(roots) > 1)
            work[number] = seconds[number]
    found: list[dict[int, list[int]]] = [{} for _ in range(1 + max(level.values(), default=-1))]
    for number, at in level.items():
        found[at].setdefault(root(number), []).append(number)
    return [list(strands.values()) for strands in found]


def _dealt(strands: list[list[int]], seconds: Sequence[float]) -> list[list[int]] | None:
    """The lanes of a section; None where one after the other is as good."""
    if len(strands) < 2:
        return None
    work = [sum(seconds[n] for n in strand) for strand in strands]
    together = sum(_with_pool(seconds[n]) for strand in strands for n in strand)
    if together < GAIN + MEETING:
        return None
    count = min(LANES, len(strands))
    lanes: list[list[int]] = [[] for _ in range(count)]
    load = [(0.0, i) for i in range(count)]
    for i in sorted(range(len(strands)), key=lambda i: (-work[i], i)):
        least, lane = heappop(load)
        lanes[lane] += strands[i]
        heappush(load, (least + work[i], lane))
    busy = [0.0] * THREADS
    for least, _ in sorted(load, reverse=True):
        heapify(busy)
        heappush(busy, heappop(busy) + least)
    apart = max(busy) + MEETING
    if together - apart < GAIN or together < FASTER * apart:
        return None
    return lanes


def _with_pool(seconds: float) -> float:
    """What a node takes that has all threads for itself."""
    return seconds if seconds < POOLED else seconds / THREADS + MEETING


def _gathered(
    flow: Flow, numbers: list[int], groups: list[list[list[int]]]
) -> list[int | tuple[int]]:
    """The order of a stretch with each group in one place: of those that can be next, whoever comes first in the old order.

    Groups are of different levels and hold all of their level but for what nothing else waits for, so they never wait for each
    other in a circle.
    """
    rank = {number: i for i, number in enumerate(numbers)}
    owner: dict[int, int | tuple[int]] = {n: n for n in numbers}
    first: dict[int | tuple[int], int] = {n: rank[n] for n in numbers}
    for i, lanes in enumerate(groups):
        members = [n for lane in lanes for n in lane]
        owner.update(dict.fromkeys(members, (i,)))
        first[i,] = min(rank[n] for n in members)
    waits: dict[int | tuple[int], set[int | tuple[int]]] = {}
    after: dict[int | tuple[int], list[int | tuple[int]]] = {}
    for number in numbers:
        one = owner[number]
        own = waits.setdefault(one, set())
        for before in flow.before[number]:
            other = owner.get(before)
            if other is not None and other != one and other not in own:
                own.add(other)
                after.setdefault(other, []).append(one)
    left = {one: len(own) for one, own in waits.items()}
    ready = [(first[one], one) for one, count in left.items() if not count]
    heapify(ready)
    found = []
    while ready:
        _, one = heappop(ready)
        found.append(one)
        for later in after.get(one, ()):
            left[later] -= 1
            if not left[later]:
                heappush(ready, (first[later], later))
    assert len(found) == len(waits), "sections wait for each other"
    return found


def without(
    order: list[int], sections: Sequence[Section], extra: int
) -> tuple[list[int], list[Section]]:
    """The same without a node that does nothing and is in no section."""
    at = order.index(extra)
    moved = [
        one if one.begin < at else Section(one.begin - 1, tuple(end - 1 for end in one.ends))
        for one in sections
    ]
    return order[:at] + order[at + 1 :], moved
