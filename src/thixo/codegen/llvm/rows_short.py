"""Rows of one leaf, in blocks: where their vectors end is the same for all of them, and there is no tree to keep.

What a row costs beside its places is most of a short one. Here a row of a few vectors is walked without any loop. Each row is
added up in the same order as any other.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.rows import STEPS, lanes_of, only_reads, prepare
from thixo.codegen.llvm.rows_reduce import Accumulator
from thixo.codegen.llvm.rows_stages import Walk
from thixo.codegen.llvm.target import Target

if TYPE_CHECKING:
    from thixo.codegen.llvm.rows_blocks import AlongBlocks

UNROLLED = 3  # vectors of a row without a loop, where code for a vector is long
FEW_LANES = 8  # that may be taken one by one


def masks_fit(operand: Operand, target: Target, lanes: int) -> bool:
    """Whether some lanes of an operand are read and written quickly: many narrow ones may be taken one by one."""
    return target.masks and (operand.bytes >= 4 or target.vector_bytes == 64 or lanes <= FEW_LANES)


def fit_short_forms(kernel: Kernel, target: Target) -> bool:
    """Whether what a row costs besides its places can be saved."""
    plan, body = prepare(kernel), kernel.body
    lanes = lanes_of(plan, target)
    if lanes == 1 or len(plan.kept) > len(plan.places):
        return False
    if len(plan.walks) == 1 and not only_reads(kernel):
        return False
    moved = {
        body[v].attribute[0]
        for w in plan.walks
        for v in (*w.computed, *w.stores)
        if body[v].op in ("load", "store")
    }
    return all(masks_fit(kernel.operands[at], target, lanes) for at in moved)


class ShortRows:
    """The forms of the walks of a block of such rows."""

    def __init__(self, rows: AlongBlocks) -> None:
        """What all rows share, written before the first."""
        f, self.rows = rows.f, rows
        plan, body, count = rows.plan, rows.kernel.body, rows.count
        self.fits = f.compare("eq", "%segments", 1)
        # None at all are not fewer than one.
        leaf = STEPS * min(map(rows.copies, plan.walks)) * count
        short = f.compare("ult", f.sub("%columns", 1), leaf)
        self.fits = f.op(f"and i1 {self.fits}, {short}")
        computed = [v for w in plan.walks for v in w.computed if v not in w.fetched]
        for at in sorted({body[v].attribute[0] for v in computed if body[v].op == "load"}):
            moves = f.compare("ne", rows.strides[at][2], 0)
            self.fits = f.op(f"and i1 {self.fits}, {moves}")
        steps = {count, *(rows.copies(walk) * count for walk in plan.walks)}
        self.ends = {step: f.mul(f.div("%columns", step), step) for step in sorted(steps)}
        self.left = f.sub("%columns", self.ends[count])
        self.rest = f.compare("ne", self.left, 0)
        # The last of few vectors may be a whole one.
        self.number = f.div(f.add("%columns", count - 1), count)
        self.last = f.sub("%columns", f.mul(f.sub(self.number, 1), count))
        for left in (self.left, self.last):
            rows.vectors.keep_mask(left)

    def write(self, walk: Walk) -> None:
        """All rows of a block, in the form for their length."""
        f, rows = self.rows.f, self.rows
        copies = most = rows.copies(walk)
        few = f.compare(
            "slt", "%columns", copies * rows.count
        )  # else they are added up side by side
        if not only_reads(rows.kernel):
            most = min(copies, UNROLLED) if walk.reduces else UNROLLED
            enough = f.compare("sle", self.number, most)
            few = f.op(f"and i1 {few}, {enough}") if walk.reduces else enough
        with f.when(few):
            for number in range(1, most + 1):
                with f.when(f.compare("eq", self.number, number)):
                    rows.each_row(walk, functools.partial(self.some_vectors, number))
        with f.unless(few):
            rows.each_row(walk, self.walk)

    @contextlib.contextmanager
    def row(self, walk: Walk, copies: int) -> Iterator[list[Accumulator]]:
        """What one row accumulates."""
        rows, body = self.rows, self.rows.kernel.body
        sums = [Accumulator(rows.vectors, body[r], 1, copies) for r in walk.reduces]
        for one in sums:
            one.reset()
        rows.first, rows.places = "0", rows.rows
        moving, rows.moving = rows.moving, [None] * len(rows.moving)
        yield sums
        rows.moving = moving
        for r, one in zip(walk.reduces, sums, strict=True):
            rows.found(r, one.folded()[0])

    def some_vectors(self, number: int, walk: Walk) -> None:
        """A row of so many: one after the other, without a loop."""
        rows = self.rows
        with self.row(walk, 1) as sums:
            for n in range(number):
                left = self.last if n == number - 1 else None
                rows.body(rows.vectors, walk, sums, str(n * rows.count), 0, left)

    def walk(self, walk: Walk) -> None:
        """Along one row."""
        rows, f = self.rows, self.rows.f
        copies = rows.copies(walk)
        with self.row(walk, copies) as sums:
            begin = "0"
            for side in dict.fromkeys((copies, 1)):
                end = self.ends[side * rows.count]
                with f.loop(begin, end, side * rows.count) as i:
                    for copy in range(side):
                        rows.body(rows.vectors, walk, sums, i, copy)
                begin = end
            with f.when(self.rest):
                rows.body(rows.vectors, walk, sums, begin, 0, self.left)
