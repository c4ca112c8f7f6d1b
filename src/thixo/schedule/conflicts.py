"""Which nodes must wait for which because they use the same memory at different times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from thixo.graph.ir import Node
from thixo.schedule.flow import ARENA, aligned

if TYPE_CHECKING:
    from thixo.schedule.plan import Plan


def memory_order(plan: Plan) -> list[tuple[Node, Node]]:
    """The pairs of `Plan.conflicts`."""
    one = plan.schedule
    numbers, slot = plan._course.numbers, plan._course.sharing.slot
    flow, order = one._flow, plan.order
    # Who touches a memory, in order: for each first family the positions of makers and readers.
    touched: dict[int, list[int]] = {}
    for position, number in enumerate(numbers):
        for f in dict.fromkeys([*flow.reads[number], *flow.makes[number]]):
            if flow.state[f] == ARENA:
                touched.setdefault(slot[f], []).append(position)
    pairs: dict[tuple[int, int], None] = {}
    writes: dict[int, list[tuple[int, int, list[int]]]] = {}  # position -> (begin, end, touchers)
    made_at = {f: p for p, n in enumerate(numbers) for f in flow.makes[n]}
    members: dict[int, list[int]] = {}
    for f in made_at:
        members.setdefault(slot[f], []).append(f)
    for f, positions in touched.items():
        # Each further maker of one memory comes after all that touched it before.
        makers = sorted({made_at[g] for g in members[f]})
        for maker in makers[1:]:
            pairs.update(dict.fromkeys((p, maker) for p in set(positions) if p < maker))
        begin = plan.offset[flow.root[f]]
        end = begin + aligned(plan.bytes[flow.root[f]])
        if end > begin:
            writes.setdefault(makers[0], []).append((begin, end, sorted(set(positions))))
    for position, node in enumerate(order):
        region = plan.regions.get(node)
        if region is not None and region.bytes:
            writes.setdefault(position, []).append(
                (region.offset, region.offset + region.bytes, [position])
            )
    for before, maker in _overlaps(writes):
        pairs.update(dict.fromkeys((p, maker) for p in before if p != maker))
    return [(order[a], order[b]) for a, b in sorted(pairs)]


def _overlaps(
    writes: Mapping[int, list[tuple[int, int, list[int]]]],
) -> list[tuple[list[int], int]]:
    """For each write the touchers of what lay there last."""
    # The arena as stretches, each with who touched it last: cut at every border that occurs.
    borders = sorted(
        {b for group in writes.values() for begin, end, _ in group for b in (begin, end)}
    )
    index = {b: i for i, b in enumerate(borders)}
    owner: list[list[int] | None] = [None] * len(borders)
    found = []
    for position in sorted(writes):
        fresh = []
        for begin, end, touchers in writes[position]:
            before: dict[int, list[int]] = {}
            for i in range(index[begin], index[end]):
                one = owner[i]
                if one is not None:
                    before[id(one)] = one
                fresh.append((i, touchers))
            found += [(one, position) for one in before.values()]
        for i, touchers in fresh:
            owner[i] = touchers
    return found
