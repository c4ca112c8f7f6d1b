"""Row kernels with lanes across rows that walk once: a few places of many rows at a time.

Lanes across rows alone (`rows_across.py`) would go down all places of one block of rows before the next: each place is
another page of memory, and a line of the cache that two blocks share is read for each of them. Here blocks lie side by
side: of a leaf's places all blocks are taken, then those of the next leaf. What accumulates waits in memory meanwhile.
Every row is added up by the same tree as there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thixo.codegen.instructions import BYTES
from thixo.codegen.llvm.emit import Function
from thixo.codegen.llvm.rows_reduce import Accumulator, Tree, combine
from thixo.codegen.llvm.rows_stages import Stages, Walk

if TYPE_CHECKING:
    from thixo.codegen.llvm.rows_across import Block

MOST = 8  # blocks side by side
VISIT = 2  # places of a block before the next block's turn: memory is read in so many streams, which hardware foresees
FORESEEN = 16  # the same where a processor follows more streams by itself, as AMD's do: a leaf
WIDE = 4  # blocks from which on that pays; fewer are visited for a leaf at once
LEVELS = 18  # of the tree: rows of more than 2^17 leaves are walked one vector after the other
ROOM = 1 << 17  # bytes of the stack for what waits


def blocks_of(plan: Stages, lanes: int, groups: int) -> int:
    """How many blocks lie side by side; 1: they do not."""
    if len(plan.walks) != 1 or plan.kept or plan.walks[0].stores or not plan.walks[0].reduces:
        return 1
    body = plan.kernel.body
    if any(one.op == "pick" for one in body):
        return 1
    each = sum(BYTES[body[r].type] for r in plan.walks[0].reduces) * lanes * groups * (LEVELS + 1)
    return min(MOST, ROOM // each)


@dataclass
class Kind:
    """Blocks of one form: what they accumulate, their rows at a time, how many there are, their first row."""

    block: Block
    sums: list[Accumulator]
    tree: Tree
    rows: int
    least: int  # rows for which there is one
    number: str = "0"
    first: str = "0"
    index: str = "0"  # of the block that is meant


class SideBySide:
    """All rows, in stretches of so many blocks."""

    foreseen = FORESEEN

    def __init__(
        self,
        f: Function,
        plan: Stages,
        blocks: int,
        forms: list[tuple[Block, int, int]],
        walk: Walk | None = None,
    ) -> None:
        """`forms`: a block's writer, the most of them that a stretch has, the fewest rows for which there is one."""
        self.f, self.plan, self.walk = f, plan, walk or plan.walks[0]
        self.kinds = []
        for block, most, least in forms:
            sums = [
                Accumulator(block.lanes, plan.kernel.body[r], block.groups, 1, most, LEVELS)
                for r in self.walk.reduces
            ]
            rows = block.lanes.count * block.groups
            self.kinds.append(Kind(block, sums, Tree(f, sums), rows, least))
        self.stretch = blocks * self.kinds[0].rows
        self.leaf = f.variable("i64", align=8)

    def write(self, leaf: int) -> None:
        """The loops."""
        with self.f.loop(0, "%rows", self.stretch) as start:
            self.write_stretch(start, leaf)

    def write_stretch(self, start: str, leaf: int) -> None:
        """The rows from here on."""
        f = self.f
        self.count(start, f.min(f.sub("%rows", start), self.stretch))
        for kind in self.each(enter=False):
            for group in self.groups(kind):
                for one in kind.sums:
                    f.store(one.register, one.start, f.at(one.saved, group, one.register))
        f.store("i64", "0", self.leaf)
        wide = f.compare("sge", self.kinds[0].number, WIDE)
        visit = f.choose(f.compare("sge", "%fetches", 0), "i64", self.foreseen, VISIT)
        step = f.choose(wide, "i64", visit, leaf)
        with f.loop(0, "%segments") as segment, f.loop(0, "%columns", leaf) as place:
            stop = f.min(f.add(place, leaf), "%columns")
            with f.loop(place, stop, step) as first:
                self.visit(segment, first, f.min(f.add(first, step), stop), stop)
            f.store("i64", f.add(f.load("i64", self.leaf), 1), self.leaf)
        for kind in self.each():
            self.finish(kind)
            for r, one in zip(self.walk.reduces, kind.sums, strict=True):
                kind.block.values[r] = [
                    f.load(one.register, f.at(one.saved, g, one.register))
                    for g in range(kind.block.groups)
                ]
            kind.block.define(self.walk.uniform)
            self.ended(kind)

    def entered(self, kind: Kind) -> None:
        """A block's turn begins; a walk among several has more to do here."""

    def turned(self, kind: Kind, first: str, last: str) -> None:
        """Some places of a block come next."""

    def ended(self, kind: Kind) -> None:
        """All of a block's rows are known."""

    def count(self, start: str, rows: str) -> None:
        """How many blocks of each kind these rows make."""
        f = self.f
        for kind in self.kinds:
            kind.first = start
            kind.number = f.div(f.add(rows, kind.rows - kind.least), kind.rows)
            taken = f.mul(kind.number, kind.rows)
            start = f.add(start, taken)
            rows = f.intrinsic("smax", "i64", f.sub(rows, taken), "0")

    def each(self, enter: bool = True) -> Iterator[Kind]:
        """Every block of the stretch; what is written between two of them is its code."""
        f = self.f
        for kind in self.kinds:
            with f.loop(0, kind.number) as index:
                kind.index = index
                for one in kind.sums:
                    one.turn_to(index)
                if enter:
                    kind.block.enter(f.add(kind.first, f.mul(index, kind.rows)))
                    self.entered(kind)
                yield kind

    def push(self, kind: Kind) -> None:
        """Put the leaf that a block saved into its counter, and begin the next.

        Vectors lie in memory here, and a loop goes over them: in registers this would be most of the kernel's code.
        """
        f = self.f
        counter = f.load("i64", self.leaf)
        rest, level = f.variable("i64", counter, align=8), f.variable("i64", "0", align=8)
        with kind.tree.while_left(rest, lambda left: f.op(f"trunc i64 {left} to i1")):
            at = f.load("i64", level)
            self.add_digits(kind, at)
            f.store("i64", f.add(at, 1), level)
        at = f.load("i64", level)
        for group in self.groups(kind):
            for one in kind.tree.trees:
                saved = f.at(one.saved, group, one.register)
                f.store(one.register, f.load(one.register, saved), one.digit(at, group))
                f.store(one.register, one.start, saved)

    def finish(self, kind: Kind) -> None:
        """Add all digits of a block's counter to what it saved last."""
        f = self.f
        if not kind.tree.trees:
            return
        begun = f.load("i64", self.leaf)
        with f.when(f.compare("sgt", begun, 1)):
            rest = f.variable("i64", f.sub(begun, 1), align=8)
            level = f.variable("i64", "0", align=8)
            with kind.tree.while_left(rest, lambda left: f.compare("ne", left, 0)):
                at = f.load("i64", level)
                with f.when(f.op(f"trunc i64 {f.load('i64', rest)} to i1")):
                    self.add_digits(kind, at)
                f.store("i64", f.add(at, 1), level)

    def groups(self, kind: Kind) -> Iterator[str]:
        """Every vector of rows of a block, by a loop."""
        if kind.block.groups == 1:
            yield "0"
            return
        with self.f.loop(0, kind.block.groups) as group:
            yield group

    def add_digits(self, kind: Kind, level: str) -> None:
        """Those of a level, to what the block saved."""
        f = self.f
        for group in self.groups(kind):
            for one in kind.tree.trees:
                saved = f.at(one.saved, group, one.register)
                digit = f.load(one.register, one.digit(level, group))
                total = f.load(one.register, saved)
                f.store(one.register, combine(one.lanes, "add", one.type, digit, total), saved)

    def visit(self, segment: str, first: str, last: str, stop: str) -> None:
        """Some places of every block; they are of the leaf that ends with `stop`."""
        f = self.f
        ends = f.compare("eq", last, stop)
        over = f.compare("eq", stop, "%columns")
        # The very last leaf waits outside of the tree for the end.
        whole = f.op(f"and i1 {over}, {f.compare('eq', f.add(segment, 1), '%segments')}")
        pushes = f.op(f"and i1 {ends}, {f.op(f'xor i1 {whole}, true')}")
        for kind in self.each():
            for one in kind.sums:
                one.restore()
            kind.block.turn_to(segment)
            self.turned(kind, first, last)
            with f.loop(first, last) as i:
                kind.block.body(self.walk, kind.sums, i, fetches=False)
            for one in kind.sums:
                one.save()
            if kind.tree.trees:
                with f.when(pushes):
                    self.push(kind)


def few_enough(f: Function, leaf: int) -> str:
    """Whether the tree of a row has no more levels than there is room for."""
    leaves = f.mul("%segments", f.add(f.div("%columns", leaf), 1))
    return f.compare("sle", leaves, 1 << (LEVELS - 1))
