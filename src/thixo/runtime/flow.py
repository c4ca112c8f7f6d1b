"""Which steps of a program wait for which, and memory for steps that run several at once.

Steps of one node follow each other. A node's steps wait for the steps of the nodes that make what it reads. Memory may be
used again by a node that waits, over however many others, for all that used it before: no order is added for memory's sake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

MOST_COMPARED = 2000  # pieces of memory: with more of them none is used twice


class Flow:
    """Steps and what they wait for, in the order in which they are made."""

    def __init__(self) -> None:
        self.users: dict[Any, list[int]] = {}  # the positions at which a value is made and read
        self._after: list[set[int]] = []  # for each step
        self._maker: dict[Any, int] = {}  # the last step of the node that makes a value
        self._ancestors: dict[int, int] = {}  # of a position: a bit for each position before
        self._position: dict[int, int] = {}  # of a step
        self._last_ordered: int | None = None

    def add(
        self, position: int, steps: int, read: Iterable[Any], made: Iterable[Any], ordered: bool
    ) -> None:
        """The steps up to `steps` that are new belong to the node at this position."""
        begin = len(self._after)
        makers = {self._maker[v] for v in read if v in self._maker}
        if ordered and self._last_ordered is not None:
            makers.add(self._last_ordered)
        if steps == begin:  # another look at memory, or nothing
            return
        for value in read:
            self.users.setdefault(value, []).append(position)
        ancestors = _bit(position)
        for maker in makers:
            ancestors |= self._ancestors[self._position[maker]]
        self._ancestors[position] = ancestors | self._ancestors.get(position, 0)
        for step in range(begin, steps):
            self._after.append(makers if step == begin else {step - 1})
            self._position[step] = position
        for value in made:
            self._maker[value] = steps - 1
            self.users.setdefault(value, []).append(position)
        if ordered:
            self._last_ordered = steps - 1

    def add_last(self, position: int, steps: int) -> None:
        """The steps up to `steps` that are new come after all others."""
        begin = len(self._after)
        followed = {before for one in self._after for before in one}
        self._ancestors[position] = sum(map(_bit, {*self._position.values(), position}))
        for step in range(begin, steps):
            self._after.append(set(range(begin)) - followed if step == begin else {step - 1})
            self._position[step] = position

    def before(self) -> tuple[tuple[int, ...], ...]:
        """For each step those that must be done before it."""
        return tuple(tuple(sorted(one)) for one in self._after)

    def plan(self, pieces: Sequence[tuple[int, list[int], int]]) -> tuple[list[int], int]:
        """Offsets for pieces of (position that makes it, positions that use it, bytes), and the length of the arena."""
        offsets, total = [0] * len(pieces), 0
        if len(pieces) > MOST_COMPARED:
            for i, (_, _, count) in enumerate(pieces):
                offsets[i], total = total, total + count
            return offsets, total
        placed: list[tuple[int, int, int]] = []  # offset, end, users as bits
        for i in sorted(range(len(pieces)), key=lambda i: pieces[i][0]):
            first, users, count = pieces[i]
            if not count:
                continue
            done = self._ancestors.get(first, 0) & ~_bit(first)
            taken = sorted((begin, end) for begin, end, bits in placed if bits & ~done)
            at = 0
            for begin, end in taken:
                if begin - at >= count:
                    break
                at = max(at, end)
            offsets[i] = at
            total = max(total, at + count)
            placed.append((at, at + count, sum(map(_bit, {first, *users}))))
        return offsets, total


def _bit(position: int) -> int:
    return 1 << (position + 1)  # -1 is before the first node
