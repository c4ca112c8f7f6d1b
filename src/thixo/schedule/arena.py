"""Places in one piece of memory for what lives at different times.

Each piece of memory has a first and a last position at which it is alive. Pieces that are alive together must not
overlap; the arena is as long as the highest end. No arena can be shorter than the greatest sum of living bytes.

Walking through time with a list of free blocks, taking the smallest that fits, is fast and mostly reaches that bound. Where
it does not, the same is tried from the end of time, and largest first, and the shortest arena is taken. Of many pieces a walk that
comes within 1/256 of the bound is good enough.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np

FEW = 3000  # pieces: with more of them only the walks through time are tried
QUICK = 256  # pieces: placing more of them largest first takes long, and is not tried for the last of the bytes
NEAR = 256  # what part of them that is

Piece = tuple[int, int, int]  # first position, last position, bytes


def lower_bound(pieces: Sequence[Piece]) -> int:
    """The greatest sum of bytes alive at one position."""
    change: dict[int, int] = {}
    for first, last, count in pieces:
        change[first] = change.get(first, 0) + count
        change[last + 1] = change.get(last + 1, 0) - count
    living = most = 0
    for position in sorted(change):
        living += change[position]
        most = max(most, living)
    return most


def place(pieces: Sequence[Piece]) -> tuple[list[int], int]:
    """An offset for each piece, and the length of the arena.

    >>> place([(0, 1, 64), (1, 2, 128), (2, 3, 64)])
    ([0, 64, 0], 192)
    """
    bound = lower_bound(pieces)
    best = _through_time(pieces)
    enough = bound if len(pieces) <= QUICK else bound + bound // NEAR
    if best[1] <= enough:
        return best
    end = max(last for _, last, _ in pieces)
    turned = [(end - last, end - first, count) for first, last, count in pieces]
    found = _through_time(turned)
    best = min(best, found, key=lambda f: f[1])
    if best[1] > enough and len(pieces) <= FEW:
        found = _largest_first(pieces)
        best = min(best, found, key=lambda f: f[1])
    return best


def _through_time(pieces: Sequence[Piece]) -> tuple[list[int], int]:
    births: dict[int, list[int]] = {}
    deaths: dict[int, list[int]] = {}
    for i, (first, last, count) in enumerate(pieces):
        if count:
            births.setdefault(first, []).append(i)
            deaths.setdefault(last + 1, []).append(i)
    memory = _Free()
    offsets = [0] * len(pieces)
    for position in sorted({*births, *deaths}):
        for i in deaths.get(position, ()):
            memory.give(offsets[i], pieces[i][2])
        for i in sorted(births.get(position, ()), key=lambda i: -pieces[i][2]):
            offsets[i] = memory.take(pieces[i][2])
    return offsets, memory.end


class _Free:
    """The free blocks below an end that moves up."""

    def __init__(self) -> None:
        self.end = 0
        self._blocks: list[tuple[int, int]] = []  # (bytes, offset), smallest first
        self._at: dict[int, int] = {}  # offset -> bytes
        self._until: dict[int, int] = {}  # end -> offset

    def take(self, count: int) -> int:
        place = bisect_left(self._blocks, (count, -1))
        if place < len(self._blocks):
            size, offset = self._blocks[place]
            self._remove(offset, size)
            if size > count:
                self._add(offset + count, size - count)
            return offset
        offset = self._until.get(self.end, self.end)  # a free block at the end grows
        if offset < self.end:
            self._remove(offset, self.end - offset)
        self.end = offset + count
        return offset

    def give(self, offset: int, count: int) -> None:
        before = self._until.get(offset)
        if before is not None:
            self._remove(before, offset - before)
            count += offset - before
            offset = before
        after = self._at.get(offset + count)
        if after is not None:
            self._remove(offset + count, after)
            count += after
        self._add(offset, count)

    def _add(self, offset: int, count: int) -> None:
        insort(self._blocks, (count, offset))
        self._at[offset] = count
        self._until[offset + count] = offset

    def _remove(self, offset: int, count: int) -> None:
        del self._blocks[bisect_left(self._blocks, (count, offset))]
        del self._at[offset]
        del self._until[offset + count]


def _largest_first(pieces: Sequence[Piece]) -> tuple[list[int], int]:
    """Each piece into the smallest gap between those placed before that are alive with it."""
    table = np.array(pieces, np.int64).reshape(-1, 3)
    first, last, count = table[:, 0], table[:, 1], table[:, 2]
    order = np.lexsort((first, first - last, -count))
    offsets = np.zeros(len(pieces), np.int64)
    placed = np.zeros(len(pieces), bool)
    for i in order:
        if not count[i]:
            continue
        near = placed & (first <= last[i]) & (last >= first[i])
        begins = offsets[near]
        ends = begins + count[near]
        turn = np.argsort(begins, kind="stable")
        begins, ends = begins[turn], np.maximum.accumulate(ends[turn])
        starts = np.concatenate(([0], ends))  # where each gap begins; the last has no end
        gaps = begins - starts[:-1]
        fits = np.flatnonzero(gaps >= count[i])
        chosen = fits[np.argmin(gaps[fits])] if len(fits) else len(gaps)
        offsets[i] = starts[chosen]
        placed[i] = True
    return offsets.tolist(), int((offsets + count).max(initial=0))
