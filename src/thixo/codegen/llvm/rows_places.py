"""Row kernels that reduce nothing, with lanes across rows.

Few rows: the last walk where a kernel was cut into walks (rowwise_walks.py). A row is a channel, and all places of all
images lie along it: each place is one vector or a few. Next to so little work addresses count, so several places are taken
at a time, pointers move on by sums alone, and the mask of the lanes is made once.

Many rows: the gradient of cross entropy where classes lie far apart. Down all places of a few rows, each vector would be in
another page, and where rows of memory do not begin at whole lines two vectors write every line, the second when the cache has
long lost it. So memory is taken in its own order: some places of one vector of rows, then of the next.
"""

from __future__ import annotations

from thixo.codegen.kernel import Operand
from thixo.codegen.llvm.lanes import Lanes
from thixo.codegen.llvm.rows_across import Block, Places
from thixo.codegen.llvm.rows_ahead import if_fetched
from thixo.codegen.llvm.rows_stages import Stages

PLACES = 4  # at a time
MANY = 64  # vectors of rows side by side: what is one for each row stays in the nearest cache
AHEAD = 32  # places between what is computed and what is fetched into the cache: 2 kB of sixteen float32


class FewRows(Block):
    """One vector of rows."""

    def __init__(self, places: Places, lanes: Lanes) -> None:
        super().__init__(places, lanes, 1, lanes.count, True)
        f, operands = self.f, self.kernel.operands
        self.moving = [k for k, o in enumerate(operands) if o.view in ("full", "column")]
        self.steps = {
            k: [f.mul(self.strides[k][2], n) for n in range(PLACES + 1)] for k in self.moving
        }
        ahead = if_fetched(f, AHEAD)
        self.ahead = {k: f.mul(self.strides[k][2], ahead) for k in self.moving}
        self.at = {k: f.variable("ptr", align=8) for k in self.moving}

    def write(self, row: str) -> None:
        """All places of these rows."""
        f = self.f
        self.enter(row)
        with f.loop(0, "%segments") as segment:
            self.turn_to(segment)
            for k in self.moving:
                f.store("ptr", self.places[k], self.at[k])
            whole = f.op(f"and i64 %columns, {-PLACES}")
            before = self.first
            with f.loop(0, whole, PLACES) as i:
                self.some(PLACES, f.add(before, i))
            with f.loop(whole, "%columns") as i:
                self.some(1, f.add(before, i))
        for walk in self.plan.walks:
            self.define(walk.uniform)

    def some(self, count: int, number: str) -> None:
        """So many places from where the pointers are; the first one's number in its row."""
        f, operands = self.f, self.kernel.operands
        first = {k: f.load("ptr", self.at[k]) for k in self.moving}
        for n in range(count):
            self.first = f.add(number, n)
            for k in self.moving:
                self.places[k] = f.at(first[k], self.steps[k][n]) if n else first[k]
                if count > 1 and operands[k].view == "full" and (not n or operands[k].bytes > 1):
                    f.prefetch(f.at(self.places[k], self.ahead[k]), write=operands[k].written)
            for walk in self.plan.walks:
                self.body(walk, [], "0", fetches=False)
        for k in self.moving:
            f.store("ptr", f.at(first[k], self.steps[k][count]), self.at[k])

    def fetch_ahead(self, operand: Operand, base: str, stride: str, i: str) -> None:
        """Done for several places at a time."""


def whole_lines(plan: Stages) -> bool:
    """Whether rows may be entered again and again: nothing of a row alone is written, or sought for each lane."""
    return not any(plan.kernel.body[v].op in ("store", "pick") for v in plan.before) and not any(
        walk.uniform for walk in plan.walks
    )


class ManyRows:
    """Vectors of rows side by side, some places of each at a time."""

    def __init__(self, places: Places, lanes: Lanes) -> None:
        self.f, self.count = places.f, lanes.count
        self.whole = Block(places, lanes, 1, lanes.count)
        self.rest = Block(places, lanes, 1, lanes.count, True)

    def write(self) -> None:
        """All rows."""
        f = self.f
        with f.loop(0, "%rows", MANY * self.count) as start:
            stop = f.min(f.add(start, MANY * self.count), "%rows")
            vectors = f.mul(f.div(f.sub(stop, start), self.count), self.count)
            middle = f.add(start, vectors)
            with f.loop(0, "%segments") as segment, f.loop(0, "%columns", PLACES) as first:
                last = f.min(f.add(first, PLACES), "%columns")
                for block, begin, end in (
                    (self.whole, start, middle),
                    (self.rest, middle, stop),
                ):
                    with f.loop(begin, end, self.count) as row:
                        block.enter(row)
                        block.turn_to(segment)
                        with f.loop(first, last) as i:
                            for walk in block.plan.walks:
                                block.body(walk, [], i, fetches=False)
