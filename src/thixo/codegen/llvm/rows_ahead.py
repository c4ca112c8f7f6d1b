"""What row kernels with lanes along the row ask of memory before they need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.llvm.emit import Function
from thixo.codegen.llvm.lanes import Lanes
from thixo.codegen.llvm.rows_stages import Stages, Walk

LINE = 64  # bytes of a line of the cache
NEAR = 2048  # bytes between what is computed and what is fetched ahead, at least
SHORT = 4096  # bytes of a row that the nearest cache holds beside the next one, for each operand
OUTGROWS = 48 << 10  # bytes of all lines of a row that the nearest cache does not hold
HELD = 1 << 20  # the same of the second one, at most
LIGHT = 12  # instructions of a walk that waits for memory


def if_fetched(f: Function, distance: str | int) -> str:
    """A distance; where nothing is fetched ahead it is none, and to ask for the place itself costs little."""
    return f.op(f"and i64 {distance}, %fetches")


class AsksAhead:
    """The part of a kernel that does so."""

    f: Function
    kernel: Kernel
    plan: Stages
    asks: bool  # for memory ahead of time
    strides: list[list[str]]  # of each operand, as the kernel is given them
    moving: list[str | None]  # of each operand, a mask for its offsets
    places: list[str]  # where each operand's stretch is

    if TYPE_CHECKING:

        def address(
            self, base: str, operand: Operand, moving: str | None, i: str, skip: int
        ) -> str:
            """Of the place `skip` after i."""

    def prepare_ahead(self) -> None:
        """What is the same for all rows."""
        self.ahead = [
            self.distance(o, s) if self.asks and o.view == "full" else ""
            for o, s in zip(self.kernel.operands, self.strides, strict=True)
        ]
        if self.rests():
            self.wants_next = self.next_is_wanted()

    def distance(self, operand: Operand, strides: list[str]) -> str:
        """How far ahead memory is fetched: later walks over a row leave it idle, and no hardware looks beyond a page.

        Short rows: the same place of one of the next rows; long ones: further on in this one. Of rows in several
        segments: the same place of the next.
        """
        f = self.f
        row = f.mul("%columns", operand.bytes)
        count = f.add(f.div(NEAR, f.intrinsic("umax", "i64", row, "1")), 1)
        short = f.compare("sle", row, SHORT)
        within = f.choose(short, "i64", f.mul(strides[0], count), NEAR)
        found = f.choose(f.compare("sgt", "%segments", 1), "i64", strides[1], within)
        return if_fetched(f, found)

    def fetch_ahead(self, lanes: Lanes, at: int, place: str, skip: int) -> None:
        """What the same place of a later row needs."""
        operand = self.kernel.operands[at]
        if self.asks and lanes.count > 1 and skip * operand.bytes % LINE == 0:
            self.f.prefetch(self.f.at(place, self.ahead[at]), write=operand.written)

    def rests(self) -> bool:
        """Whether memory has nothing to do on the last walk, since all was read before, and has been waited for."""
        *before, last = self.plan.walks or [Walk()]
        return bool(before) and not last.first and all(w.cost <= LIGHT for w in before)

    def next_is_wanted(self) -> str:
        """Whether to ask for the next row on the last walk: no cache but the second one holds a row, and nobody else asks."""
        f = self.f
        lines = sum(o.bytes for o in self.kernel.operands if o.view in ("full", "column"))
        row = f.mul("%columns", lines)
        held = f.op(f"and i1 {f.compare('sge', row, OUTGROWS)}, {f.compare('sle', row, HELD)}")
        alone = f.op(f"and i1 {f.compare('sge', '%fetches', 0)}, {f.compare('eq', '%segments', 1)}")
        return f.op(f"and i1 {held}, {alone}")

    def fetch_next(self, i: str, count: int) -> None:
        """Ask for places of the next row."""
        for at in sorted(set().union(*(w.first for w in self.plan.walks))):
            operand, moving = self.kernel.operands[at], self.moving[at]
            row = self.f.at(self.places[at], self.strides[at][0])
            for skip in range(0, count, max(1, LINE // operand.bytes)):
                place = self.address(row, operand, moving, i, skip)
                self.f.prefetch(place, level=2)
