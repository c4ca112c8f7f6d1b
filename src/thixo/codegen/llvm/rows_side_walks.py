"""Row kernels with lanes across rows that walk several times, side by side: every walk goes through long stretches of memory.

Lanes across rows alone take few rows at a time, so that the next walk finds them in the cache: many short pieces, each in
another page. Where so many places do not stay there, and the processor is quick at long streams, it is better to read
all of memory again in its own order (`rows_side.py`). What is one for each row waits in memory from walk to walk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thixo.codegen.instructions import BYTES
from thixo.codegen.llvm.emit import Function
from thixo.codegen.llvm.rows_past_cache import Near
from thixo.codegen.llvm.rows_side import LEVELS, ROOM, Kind, SideBySide
from thixo.codegen.llvm.rows_stages import Stages, Walk

if TYPE_CHECKING:
    from thixo.codegen.llvm.rows_across import Block

MOST = 16  # blocks side by side: as many as make whole rows of memory are one long stretch
PLACES = 4  # of a block before the next block's turn, which begins with more than that of a single walk does
MANY_OPERANDS = 3  # from so many on that is one place: each place of each of them is another page
MANY = 3  # blocks from which on memory is asked for ahead
SOON = 8, 3  # places between what is computed and what is asked for; the same of many operands
LEVEL = 2, 3  # of the cache that is to hold it, likewise: 3 is the nearest one
HELD = (
    1 << 19
)  # bytes of an operand's block from which on the second cache does not hold it for the next walk


def blocks_of_walks(plan: Stages, lanes: int, groups: int) -> int:
    """How many blocks lie side by side; 1: they do not."""
    body = plan.kernel.body
    if len(plan.walks) < 2 or plan.kept or any(one.op in ("pick", "index") for one in body):
        return 1
    if plan.walks[-1].reduces or any(not w.reduces for w in plan.walks[:-1]):
        return 1
    if any(body[v].type == "bool" for v in held_values(plan)):
        return 1
    summed = sum(BYTES[body[r].type] for w in plan.walks for r in w.reduces)
    return min(MOST, 2 * ROOM // (summed * lanes * groups * (LEVELS + 1)))


def _met(plan: Stages, walk: Walk) -> set[int]:
    """The uniform values that a walk, or what follows from it, needs."""
    body = plan.kernel.body
    return {
        a
        for v in (*walk.computed, *walk.reduces, *walk.stores, *walk.uniform)
        for a in body[v].arguments
        if not plan.varying[a]
    }


def held_values(plan: Stages) -> list[int]:
    """Values of a row that a later walk needs."""
    known: set[int] = set()
    held: set[int] = set()
    for walk in plan.walks:
        held |= _met(plan, walk) & known
        known |= {*walk.uniform, *walk.reduces}
    return sorted(held)


def wanted(f: Function, row_bytes: int) -> str:
    """Whether to: blocks of rows are longer than the second cache, of a processor that foresees long streams by itself."""
    bytes = f.mul(f.mul("%segments", "%columns"), row_bytes)
    long = f.compare("sge", bytes, HELD)
    return f.op(f"and i1 {long}, {f.compare('sge', '%fetches', 0)}")


class SideBySideWalks:
    """All rows, in stretches of so many blocks; of each stretch one walk after the other."""

    def __init__(
        self, f: Function, plan: Stages, blocks: int, forms: list[tuple[Block, int, int]]
    ) -> None:
        self.f, self.plan = f, plan
        self.walks = [_OneWalk(f, plan, blocks, forms, walk) for walk in plan.walks]
        body, held = plan.kernel.body, held_values(plan)
        self.held = [  # for each form, of each value a line for all its blocks
            {
                v: f.variable(f"[{most * block.groups} x {block.lanes.type(body[v].type)}]")
                for v in held
            }
            for block, most, _ in forms
        ]

    def write(self, leaf: int) -> None:
        """The loops."""
        f, known = self.f, set[int]()
        with f.loop(0, "%rows", self.walks[0].stretch) as start:
            for one in self.walks:
                one.held, one.known = self.held, known & _met(self.plan, one.walk)
                one.write_stretch(start, leaf)
                known |= {*one.walk.uniform, *one.walk.reduces}


class _OneWalk(SideBySide):
    """A walk among several: it fetches what those before it have found, and keeps what it finds."""

    held: list[dict[int, str]]
    known: set[int]
    wide: str  # whether so many blocks are left

    def __init__(
        self,
        f: Function,
        plan: Stages,
        blocks: int,
        forms: list[tuple[Block, int, int]],
        walk: Walk,
    ) -> None:
        super().__init__(f, plan, blocks, forms, walk)
        many = sum(o.view == "full" for o in plan.kernel.operands) >= MANY_OPERANDS
        self.foreseen = 1 if many else PLACES
        self.soon, self.level = SOON[many], LEVEL[many]

    def place(self, kind: Kind, v: int, group: int) -> str:
        """Where a block's value of a row waits."""
        f, lanes, groups = self.f, kind.block.lanes, kind.block.groups
        at = f.add(f.mul(kind.index, groups), group)
        line = self.held[self.kinds.index(kind)][v]
        return f.at(line, at, lanes.type(self.plan.kernel.body[v].type))

    def entered(self, kind: Kind) -> None:
        """Fetch what is known of the block's rows."""
        for v in sorted(self.known & self.held[0].keys()):
            type = kind.block.lanes.type(self.plan.kernel.body[v].type)
            kind.block.values[v] = [
                self.f.load(type, self.place(kind, v, g)) for g in range(kind.block.groups)
            ]

    def ended(self, kind: Kind) -> None:
        """Keep what was found."""
        found = {*self.walk.uniform, *self.walk.reduces}
        for v in sorted(found & self.held[0].keys()):
            type = kind.block.lanes.type(self.plan.kernel.body[v].type)
            for g, value in enumerate(kind.block.values[v]):
                self.f.store(type, value, self.place(kind, v, g))

    def turned(self, kind: Kind, first: str, last: str) -> None:
        """Ask for what comes, where a stretch is wide: no hardware foresees short pieces of many long lines.

        Few blocks are as good as one stream, which it does foresee.
        """
        f = self.f
        with f.when(self.wide):
            coming = f.add(first, self.soon), f.add(last, self.soon)
            kind.block.fetch_soon(self.walk, *coming, self.level)

    def write_stretch(self, start: str, leaf: int) -> None:
        """One walk through a stretch of rows; the last reduces nothing."""
        f = self.f
        rows = f.sub("%rows", start)
        self.wide = f.compare("sge", rows, MANY * self.kinds[0].rows)
        if self.walk.reduces:
            super().write_stretch(start, leaf)
            return
        rows = f.min(rows, self.stretch)
        self.count(start, rows)
        near = None
        if Near.fits(self.plan, self.walk, self.kinds[0].block.lanes.target):
            near = Near(f, self.plan, self.walk, self.stretch, self.foreseen)
        with f.loop(0, "%segments") as segment, f.loop(0, "%columns", self.foreseen) as first:
            last = f.min(f.add(first, self.foreseen), "%columns")
            for kind in self.each():
                kind.block.turn_to(segment)
                if near:
                    row = f.add(kind.first, f.mul(kind.index, kind.rows))
                    near.redirect(kind.block, f.sub(row, start), first)
                self.turned(kind, first, last)
                with f.loop(first, last) as i:
                    kind.block.body(self.walk, [], i, fetches=False)
            if near:
                with f.when(near.wanted):
                    near.write_out(self.kinds[0].block, start, rows, segment, first, last)
        for kind in self.each():
            kind.block.define(self.walk.uniform)


__all__ = ["SideBySideWalks", "blocks_of_walks", "wanted"]
