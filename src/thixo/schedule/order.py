"""An order in which nodes can run that keeps little alive.

Finding the best order is as hard as a problem can be; here a few cheap orders are made and the one with the lowest peak is
taken. The given order is one of them, so the peak never grows. Each is made in one walk with a heap.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from thixo.schedule.flow import ARENA, Flow

MANY = 30_000  # nodes: with more of them fewer orders are tried


class Sharing(NamedTuple):
    """Who shares memory with whom in an order, and how long it lives."""

    slot: list[int]  # of each family: the first family in the same memory
    last: list[int]  # of each family in the arena: the position of its last reader
    peak: int  # the greatest sum of living bytes
    living: list[int]  # the sum at each position


def lower_peak(flow: Flow) -> tuple[list[int], Sharing]:
    """The best of some orders of the graph's nodes, and who shares memory in it."""
    given = list(range(len(flow.nodes)))
    best, sharing = given, share(flow, given)
    floor = max((_least(flow, i) for i in given), default=0)
    after = _after(flow)
    rank = list(range(len(flow.before)))
    if len(rank) > len(
        given
    ):  # the node that does nothing: as late as anything that must come before it
        rank[-1] = max(flow.before[-1], default=-1)
    for kind in ("free",) if len(given) > MANY else ("free", "deep", "least"):
        if sharing.peak <= floor:
            break
        base = _depth_first(flow) if kind == "deep" else rank
        order = _greedy(flow, after, base, patient=kind != "least")
        found = share(flow, order)
        if found.peak < sharing.peak:
            best, sharing = order, found
    return best, sharing


def share(flow: Flow, order: list[int], kept: Collection[int] = ()) -> Sharing:
    """Lifetimes in an order; results go over what a node reads last where they may, but not over families in `kept`."""
    reads, makes, size, state = flow.reads_inside, flow.makes_inside, flow.size, flow.state
    last = [-1] * len(size)
    for position, number in enumerate(order):
        for f in makes[number]:
            last[f] = position
        for f in reads[number]:
            last[f] = position
    slot = list(range(len(size)))
    taken: set[int] = set()
    living = peak = 0
    course = []
    for position, number in enumerate(order):
        for made, candidates in flow.reuse[number]:
            if state[made] != ARENA:
                continue
            for f in candidates:
                free = f not in taken and f not in kept
                if last[f] == position and state[f] == ARENA and free:
                    slot[made] = slot[f]
                    taken.add(f)
                    living -= size[f]
                    break
        for f in makes[number]:
            living += size[f]
        now = living + flow.work[number]
        course.append(now)
        if now > peak:
            peak = now
        for f in reads[number]:
            if last[f] == position and f not in taken:
                living -= size[f]
        for f in makes[number]:
            if last[f] == position:
                living -= size[f]
    return Sharing(slot, last, peak, course)


def _least(flow: Flow, number: int) -> int:
    """What lives while a node runs, in any order."""
    size = flow.size
    total = flow.work[number]
    for f in flow.reads_inside[number]:
        total += size[f]
    for f in flow.makes_inside[number]:
        total += size[f]
    for _, candidates in flow.reuse[number]:
        total -= size[candidates[0]]
    return total


def _after(flow: Flow) -> list[list[int]]:
    after: list[list[int]] = [[] for _ in flow.before]
    for number, before in enumerate(flow.before):
        for one in before:
            after[one].append(number)
    return after


def _greedy(flow: Flow, after: list[list[int]], base: list[int], patient: bool) -> list[int]:
    """Always the ready node that frees most; where none frees anything, the next of the base order if `patient`,
    else the one that needs least."""
    reads, makes, size = flow.reads_inside, flow.makes_inside, flow.size
    count = len(flow.before)
    waiting = [len(b) for b in flow.before]
    # How many nodes still read a family, and which one does where there is one left: the sum of their numbers.
    readers = [0] * len(size)
    reader = [0] * len(size)
    growth = [0] * count
    for number in range(count):
        for f in reads[number]:
            readers[f] += 1
            reader[f] += number
    for number in range(count):
        total = 0
        for f in makes[number]:
            if readers[f]:
                total += size[f]
        for f in reads[number]:
            if readers[f] == 1:
                total -= size[f]
        growth[number] = total

    def key(number: int) -> tuple[int, int, int]:
        change = growth[number]
        if patient and change > 0:
            return (1, base[number], number)
        return (0, change, base[number])

    heap = [(*key(n), n) for n in range(count) if not waiting[n]]
    heapify(heap)
    done = bytearray(count)
    order: list[int] = []
    total = len(flow.nodes)
    while heap:
        *_, number = heappop(heap)
        if done[number]:
            continue
        done[number] = 1
        if number < total:
            order.append(number)
        for f in reads[number]:
            readers[f] -= 1
            reader[f] -= number
            if readers[f] == 1 and size[f]:
                other = reader[f]
                growth[other] -= size[f]
                if not waiting[other]:
                    heappush(heap, (*key(other), other))
        for one in after[number]:
            waiting[one] -= 1
            if not waiting[one]:
                heappush(heap, (*key(one), one))
    return order


def _depth_first(flow: Flow) -> list[int]:
    """A rank for each node: what a result needs stands just before it, what needs most memory first."""
    count = len(flow.before)
    need = [0] * count  # bytes to get this far, were the graph a tree
    rank = [-1] * count
    made = [sum([flow.size[f] for f in makes]) for makes in flow.makes_inside]
    following = 0
    used = bytearray(count)
    for before in flow.before:
        for one in before:
            used[one] = 1
    children: list[list[int] | None] = [None] * count
    # The given order is a topological one but for the node that does nothing, which needs no bytes.
    for number in range(len(flow.nodes)):
        parts = sorted(flow.before[number], key=lambda n: (made[n] - need[n], n))
        held = most = 0
        for part in parts:
            most = max(most, held + need[part])
            held += made[part]
        need[number] = max(most, held + made[number] + flow.work[number])
        children[number] = parts
    for number in range(len(flow.nodes), count):
        children[number] = sorted(flow.before[number])
    for top in range(count):
        if used[top] or rank[top] >= 0:
            continue
        stack = [(top, iter(children[top] or ()))]
        while stack:
            number, rest = stack[-1]
            for part in rest:
                if rank[part] < 0:
                    stack.append((part, iter(children[part] or ())))
                    break
            else:
                stack.pop()
                if rank[number] < 0:
                    rank[number] = following
                    following += 1
    return rank
