"""Which steps of a program wait for which, and memory for steps that run several at once.

Steps of one node follow each other. A node's steps wait for the steps of the nodes that make what it reads. Memory may be
used again by a node that waits, over however many others, for all that used it before: no order is added for memory's sake.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Any


class Flow:
    """Steps and what they wait for, in the order in which they are made."""

    def __init__(self) -> None:
        self.users: dict[Any, list[int]] = {}  # the positions at which a value is made and read
        self._after: list[set[int]] = []  # for each step
        self._maker: dict[Any, int] = {}  # the last step of the node that makes a value
        self._ancestors: dict[int, int] = {}  # of a position: a bit for each position before
        self._makers: dict[int, set[int]] = {}  # the positions that a position waits for
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
        places = {self._position[maker] for maker in makers}
        for place in places:
            ancestors |= self._ancestors[place]
        self._makers.setdefault(position, set()).update(places - {position})
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
        """Offsets for pieces of (position that makes it, positions that use it, bytes), and the length of the arena.

        What nobody else will use after a node is its to pass on to one of those that wait for it.
        """
        offsets, total = [0] * len(pieces), 0
        made: dict[int, list[int]] = {}
        used: dict[int, list[int]] = {}
        for i, (first, users, count) in enumerate(pieces):
            if count:
                made.setdefault(first, []).append(i)
                for position in {first, *users}:
                    used.setdefault(position, []).append(i)
        masks = {
            i: sum(map(_bit, {pieces[i][0], *pieces[i][1]})) for one in made.values() for i in one
        }
        free: dict[
            int, list[tuple[int, int]]
        ] = {}  # bytes and offset, of what a position passes on
        for position in sorted({*self._ancestors, *made}):
            own: list[tuple[int, int]] = []
            for maker in sorted(self._makers.get(position, ())):
                own += free.pop(maker, ())
            own.sort()
            for i in made.get(position, ()):
                count = pieces[i][2]
                at = bisect_left(own, (count, -1))
                if at < len(own):
                    bytes, offsets[i] = own.pop(at)
                    if bytes > count:
                        insort(own, (bytes - count, offsets[i] + count))
                else:
                    offsets[i], total = total, total + count
            done = self._ancestors.get(position, _bit(position))
            for i in used.get(position, ()):
                if not masks[i] & ~done:
                    own.append((pieces[i][2], offsets[i]))
            free[position] = own
        return offsets, total


def _bit(position: int) -> int:
    return 1 << (position + 1)  # -1 is before the first node
