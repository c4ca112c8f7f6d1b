"""Sorting networks for rows that lie side by side: each lane of a vector has a row of its own.

An exchange of two vectors puts the lesser of each lane first, whatever the numbers are: nothing branches, nothing is
moved between lanes. Rows are merged in pairs of sorted runs: the second run is compared backwards with the first,
then both halves are put in order by exchanges over half the distance each time. Every exchange puts the lesser
number at the lower place, so places beyond the end stand for numbers greater than all, and are left out.

    sort_words, least_words    numbers of 64 bits
    sort_pairs, least_pairs    pairs of them, the second of which decides between equals

Who wants a few only need not have all in order: runs of 16 are sorted, and each leaves its least ones among those that
the runs before left.

The driver is core/sort_lanes.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from thixo.codegen.llvm.emit import PLAIN, Function, module, vector
from thixo.codegen.llvm.target import Target

SIDE = 8  # rows that lie side by side, for all targets: narrower ones take some of them at a time
LEAF = 8  # places that a kernel's caller fills up to
MOST = 1024  # places
_RUN = 16  # places sorted in registers

# Exchanges that sort eight; all of one line can be done at once.
_EIGHT = (
    (0, 2), (1, 3), (4, 6), (5, 7),
    (0, 4), (1, 5), (2, 6), (3, 7),
    (0, 1), (2, 3), (4, 5), (6, 7),
    (2, 4), (3, 5),
    (1, 4), (3, 6),
    (1, 2), (3, 4), (5, 6),
)  # fmt: skip

Entry = tuple[str, ...]  # the vectors of one place


class _Network:
    """The function under construction."""

    def __init__(self, name: str, target: Target, vectors: int) -> None:
        parameters = (("ptr noalias", "entries"), ("i64", "count"), ("i64", "rows"))
        self.f = Function(name, parameters, attributes=target.attributes)
        self.lanes = min(SIDE, target.lanes(8))
        self.vec = vector("i64", self.lanes)
        self.vectors = vectors
        self.column = ""  # where the lanes that are sorted now begin
        self.native = (
            target.masks and target.vector_bytes == 64
        )  # the lesser number is one instruction

    def address(self, place: str) -> str:
        return self.f.at(self.column, self.f.mul(place, self.vectors * SIDE), "i64")

    def load(self, address: str) -> Entry:
        parts = (self.f.at(address, SIDE * part, "i64") for part in range(self.vectors))
        return tuple(self.f.load(self.vec, at, 8) for at in parts)

    def store(self, entry: Entry, address: str) -> None:
        for part, value in enumerate(entry):
            self.f.store(self.vec, value, self.f.at(address, SIDE * part, "i64"), 8)

    def exchange(self, entries: list[Entry], low: int, high: int) -> None:
        """The lesser of two entries goes to `low`."""
        f, vec, a, b = self.f, self.vec, entries[low], entries[high]
        if self.vectors == 1 and self.native:
            entries[low] = (f.intrinsic("smin", vec, a[0], b[0]),)
            entries[high] = (f.intrinsic("smax", vec, a[0], b[0]),)
            return
        after = f.op(f"icmp sgt {vec} {a[0]}, {b[0]}")
        if self.vectors == 2:
            flags = vector("i1", self.lanes)
            same = f.op(f"icmp eq {vec} {a[0]}, {b[0]}")
            later = f.op(f"icmp sgt {vec} {a[1]}, {b[1]}")
            after = f.op(f"or {flags} {after}, {f.op(f'and {flags} {same}, {later}')}")
        flags = vector("i1", self.lanes)
        pairs = list(zip(a, b, strict=True))
        entries[low] = tuple(
            f.op(f"select {flags} {after}, {vec} {y}, {vec} {x}") for x, y in pairs
        )
        entries[high] = tuple(
            f.op(f"select {flags} {after}, {vec} {x}, {vec} {y}") for x, y in pairs
        )

    def exchanges(
        self, places: Sequence[str], pairs: Iterable[tuple[int, int]], present: int | None = None
    ) -> None:
        """Exchanges among some places; only the first `present` of them are there."""
        here = len(places) if present is None else present
        addresses = [self.address(place) for place in places[:here]]
        entries = [self.load(at) for at in addresses]
        for low, high in pairs:
            if high < here:
                self.exchange(entries, low, high)
        for entry, at in zip(entries, addresses, strict=True):
            self.store(entry, at)

    # ---- passes over all places

    def leaves(self) -> None:
        """Runs of _RUN places in order, and of LEAF if that is all there is at the end."""
        f = self.f
        merged = [(i, _RUN - 1 - i) for i in range(LEAF)]
        merged += [(h + i, h + j) for h in (0, LEAF) for i, j in _half_cleaners(LEAF // 2)]
        both = [(h + i, h + j) for h in (0, LEAF) for i, j in _EIGHT]
        whole = f.sub("%count", _RUN - 1)
        with f.loop(0, whole, _RUN) as start:
            places = [f.add(start, i) for i in range(_RUN)]
            self.exchanges(places, [*both, *merged])
        with f.loop(f.op(f"and i64 %count, {-_RUN}"), "%count", _RUN) as start:
            self.exchanges([f.add(start, i) for i in range(LEAF)], _EIGHT)

    def gather(self) -> None:
        """The _RUN least entries of all runs go to the first one, in order."""
        f = self.f
        whole = f.op(f"and i64 %count, {-_RUN}")
        with f.loop(str(_RUN), whole, _RUN) as start:
            self.keep_lesser(start, _RUN)
        with f.loop(f.intrinsic("smax", "i64", whole, str(_RUN)), "%count", _RUN) as start:
            self.keep_lesser(start, LEAF)

    def keep_lesser(self, start: str, count: int) -> None:
        """The least of the first run and of another one, of `count` places."""
        addresses = [self.address(str(i)) for i in range(_RUN)]
        kept = [self.load(at) for at in addresses]
        for i in range(count):  # backwards, as in a merge
            pair = [kept[_RUN - 1 - i], self.load(self.address(self.f.add(start, i)))]
            self.exchange(pair, 0, 1)
            kept[_RUN - 1 - i] = pair[0]
        for low, high in _half_cleaners(_RUN // 2):
            self.exchange(kept, low, high)
        for entry, at in zip(kept, addresses, strict=True):
            self.store(entry, at)

    def merge(self, run: int) -> None:
        """Runs of `run` places become runs of twice as many."""
        f, half = self.f, run // 2
        with f.loop(0, f.sub("%count", run), 2 * run) as start:
            room = f.sub("%count", start)
            # The second run backwards; and the first half of the distance, which has the same four places.
            pairs = ((0, 3), (1, 2), (0, 1), (2, 3))
            all_there = f.intrinsic("smax", "i64", f.sub(2 * run, room), "0")
            some_there = f.intrinsic("smax", "i64", f.sub(run + half, room), "0")
            all_there, some_there = f.min(all_there, half), f.min(some_there, half)
            ranges = ((all_there, str(half)), (some_there, all_there), ("0", some_there))
            for missing, (first, last) in enumerate(ranges):
                with f.loop(first, last) as i:
                    low = f.add(start, i)
                    back = f.sub(f.add(start, 2 * run - 1), i)
                    places = (low, f.add(low, half), f.sub(back, half), back)
                    self.exchanges(places, pairs, 4 - missing)
            stop = f.add(start, f.min(room, 2 * run))
            distance = half // 2
            while distance >= LEAF:
                two = distance >= 2 * LEAF
                self.clean(start, stop, distance, two)
                distance //= 4 if two else 2
            with f.loop(start, stop, LEAF) as at:
                self.exchanges([f.add(at, i) for i in range(LEAF)], _half_cleaners(LEAF // 2))

    def clean(self, start: str, stop: str, distance: int, two: bool) -> None:
        """Exchanges over a distance, and over its half if `two`, where the latter is no less than LEAF."""
        f = self.f
        step = distance // 2 if two else distance
        pairs = ((0, 2), (1, 3), (0, 1), (2, 3)) if two else ((0, 1),)
        most = 4 if two else 2
        with f.loop(start, stop, 2 * distance) as group:
            room = f.sub(stop, group)
            first = "0"
            for present in range(most, 1, -1):
                left = f.intrinsic("smax", "i64", f.sub(room, step * (present - 1)), "0")
                last = f.min(left, step)
                with f.loop(first, last) as i:
                    low = f.add(group, i)
                    places = [f.add(low, step * p) for p in range(present)]
                    self.exchanges(places, pairs, present)
                first = last


def _half_cleaners(distance: int) -> Iterator[tuple[int, int]]:
    """Exchanges over a distance, its half and so on, among twice as many places."""
    size = 2 * distance
    while distance:
        yield from ((i, i + distance) for i in range(size) if not i & distance)
        distance //= 2


def network(name: str, target: Target, vectors: int, *, all_places: bool = True) -> Function:
    """Sorts `rows` rows that lie side by side, of `count` entries; a multiple of LEAF, no more than MOST.

    Entry i of row r has its words at entries[(i * vectors + part) * SIDE + r], and they are compared as signed numbers.
    Other rows of the SIDE that there is room for may be sorted too. Not `all_places`: the _RUN least entries come first, in
    order, and what is behind them has no meaning.
    """
    n = _Network(name, target, vectors)
    f = n.f
    with f.loop(0, "%rows", n.lanes) as column:
        n.column = f.at("%entries", column, "i64")
        n.leaves()
        run = _RUN
        while run < MOST and all_places:
            with f.when(f.compare("sgt", "%count", run)):
                n.merge(run)
            run *= 2
        if not all_places:
            n.gather()
    return f


def parts(target: Target) -> Iterator[tuple[str, str]]:
    """(name, module) of each of them."""
    for kind, vectors in (("words", 1), ("pairs", 2)):
        for name, all_places in ((f"sort_{kind}", True), (f"least_{kind}", False)):
            # To combine instructions would make two comparisons of each exchange.
            yield name, module([network(name, target, vectors, all_places=all_places)], PLAIN)
