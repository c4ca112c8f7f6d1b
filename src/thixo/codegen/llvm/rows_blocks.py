"""Rows in blocks, with lanes along the row: what is one for each row is computed for all rows of a block at once.

To fold the lanes of each row's sum, and a logarithm of it, take longer than a short row itself, and the next row waits
for that. Here the rows of a block are walked one after the other, then their sums and what is made of them are lanes
of one vector, then comes the next walk.
"""

from __future__ import annotations

from collections.abc import Callable

from thixo.codegen.instructions import BYTES, Instruction, is_float
from thixo.codegen.kernel import Kernel
from thixo.codegen.llvm.lanes import REGISTER
from thixo.codegen.llvm.rows import Along, lanes_of, prepare
from thixo.codegen.llvm.rows_reduce import across_rows
from thixo.codegen.llvm.rows_short import ShortRows, fit_short_forms, masks_fit
from thixo.codegen.llvm.rows_stages import Stages, Walk
from thixo.codegen.llvm.target import Target

LEAST = 4  # uniform instructions that are worth it
MOST_OPERANDS = 2  # of full size: with more, rows that are walked again are better walked alone
NEAREST = 8192  # bytes of a block that is walked again, which stays in the nearest cache
LONG = 1024  # bytes of a row that is walked again, from which on it is walked alone; half of it with more operands


def _uniform(plan: Stages) -> list[int]:
    return [*plan.before, *(v for w in plan.walks for v in w.uniform)]


def _used(plan: Stages, walk: Walk) -> list[int]:
    """The uniform values that a walk meets."""
    body = plan.kernel.body
    met = {
        a
        for v in (*walk.computed, *walk.reduces, *walk.stores)
        if v not in walk.fetched
        for a in body[v].arguments
        if not plan.varying[a]
    }
    return sorted(met)


def few_operands(kernel: Kernel) -> bool:
    """Whether the nearest cache has room for many rows."""
    return sum(operand.view == "full" for operand in kernel.operands) <= MOST_OPERANDS


def gains(kernel: Kernel, target: Target) -> bool:
    """Whether there is much to compute for each row, of a kind that lanes can do."""
    plan, body = prepare(kernel), kernel.body
    if lanes_of(plan, target) == 1:
        return False
    short = fit_short_forms(kernel, target)
    if plan.kept and not short:
        return False  # what a row keeps is nearest while it is walked alone
    ones = [body[v] for v in _uniform(plan)]
    if any(one.op in ("div", "rem") and not is_float(one.type) for one in ones):
        return False  # a lane without a row would divide by anything
    if any(body[v].type == "bool" for w in plan.walks for v in (*_used(plan, w), *w.reduces)):
        return False
    if any(one.op in ("load", "store") and one.type == "bool" for one in ones):
        return False
    if len(plan.walks) == 1:
        return bool(plan.walks[0].reduces)
    if short:
        return True
    if not few_operands(kernel):
        return False
    return sum(one.op not in ("load", "store", "const", "columns", "pick") for one in ones) >= LEAST


class AlongBlocks(Along):
    """Rows block by block."""

    def widest_operand(self) -> int:
        """Bytes of an element of the widest operand of full size."""
        return max((o.bytes for o in self.kernel.operands if o.view == "full"), default=1)

    def run(self) -> None:
        """All blocks."""
        f, count = self.f, self.count
        body = self.kernel.body
        held = {v for w in self.plan.walks for v in _used(self.plan, w)}
        held |= {v for v in _uniform(self.plan) if body[v].op in ("load", "pick")}
        held = {v for v in held if body[v].op != "const"}
        self.held: dict[int, str] = {}  # a line of lanes for each
        self.values: dict[int, str] = {}  # the same as a vector
        self.aside: dict[str, str] = {}  # for what is stored, by its type
        self.ends = {  # of each reduction the rows' vectors, before their lanes are folded
            r: f.variable(f"[{count} x {self.vectors.type(body[r].type)}]")
            for w in self.plan.walks
            for r in w.reduces
        }
        for r, ends in self.ends.items():
            with f.loop(0, count) as lane:
                zero = self.vectors.constant(0, body[r].type)
                f.store(self.vectors.type(body[r].type), zero, self.end(r, ends, lane))
        for v in sorted(held):
            type = self.vectors.type(body[v].type)
            self.held[v] = f.variable(type, self.vectors.constant(0, body[v].type))
        short = ShortRows(self) if fit_short_forms(self.kernel, self.target) else None
        if len(self.plan.walks) == 1:
            self.blocks(str(count), short)
            return
        row_bytes = f.intrinsic("umax", "i64", f.mul(self.total, self.widest_operand()), "1")
        # Longer rows are better walked again at once: what is folded for a block is little beside them, and the next rows
        # come from memory meanwhile.
        suits = f.compare("slt", row_bytes, LONG if few_operands(self.kernel) else LONG // 2)
        if short:
            suits = f.op(f"and i1 {suits}, {short.fits}")
        with f.when(suits):
            most = f.intrinsic("umax", "i64", f.min(f.div(NEAREST, row_bytes), count), "1")
            self.blocks(most, short)
        with f.unless(suits):
            Along(self.kernel, f, self.target).write()

    def blocks(self, most: str, short: ShortRows | None) -> None:
        """All rows, so many in a block."""
        f = self.f
        with f.loop(0, "%rows", most) as start:
            self.start = start
            self.some = f.min(most, f.sub("%rows", start))
            self.values = {}
            self.define(self.plan.before)
            for walk in self.plan.walks:
                if short is None:
                    self.each_row(walk, self.walk)
                elif len(self.plan.walks) > 1:
                    short.write(walk)
                else:
                    with f.when(short.fits):
                        short.write(walk)
                    with f.unless(short.fits):
                        self.each_row(walk, self.walk)
                for r in walk.reduces:
                    self.fold(r)
                self.define(walk.uniform)

    def masks_fit(self, at: int) -> bool:
        """Whether some lanes of an operand are read and written quickly: many narrow ones may be taken one by one."""
        return masks_fit(self.kernel.operands[at], self.target, self.count)

    def each_row(self, walk: Walk, write: Callable[[Walk], None]) -> None:
        """A walk along every row of the block."""
        with self.f.loop(0, self.some) as lane:
            self.lane = lane
            self.enter_row(self.f.add(self.start, lane))
            self.fetch(walk)
            write(walk)

    def line(self, v: int) -> str:
        """The values of all rows of the block."""
        return self.f.load(self.vectors.type(self.kernel.body[v].type), self.held[v])

    def place(self, v: int, lane: str) -> str:
        """Where a row's value is in its line."""
        return self.f.at(self.held[v], lane, REGISTER[self.kernel.body[v].type])

    def fetch(self, walk: Walk) -> None:
        """This row's values, for a walk that meets them."""
        f, body = self.f, self.kernel.body
        for v in _used(self.plan, walk):
            one = body[v]
            if one.op == "const":
                self.uniform[v] = self.single.constant(one.attribute, one.type)
                self.splats[v] = self.vectors.constant(one.attribute, one.type)
                continue
            element = REGISTER[one.type]
            self.uniform[v] = f.load(element, self.place(v, self.lane), BYTES[one.type])
            self.splats[v] = f.splat(element, self.uniform[v], self.count)

    def end(self, r: int, ends: str, lane: str) -> str:
        """Where a row's vector is."""
        return self.f.at(ends, lane, self.vectors.type(self.kernel.body[r].type))

    def found(self, number: int, value: str) -> None:
        """What a row's reduction found."""
        type = self.vectors.type(self.kernel.body[number].type)
        self.f.store(type, value, self.end(number, self.ends[number], self.lane))

    def fold(self, r: int) -> None:
        """A reduction's vectors of all rows in one."""
        one = self.kernel.body[r]
        type = self.vectors.type(one.type)
        rows = [self.f.load(type, self.end(r, self.ends[r], str(n))) for n in range(self.count)]
        self.values[r] = across_rows(self.vectors, one.attribute, one.type, rows)
        if r in self.held:
            self.f.store(type, self.values[r], self.held[r])

    def define(self, numbers: list[int]) -> None:
        """Uniform values of all rows of the block."""
        f, body, operands = self.f, self.kernel.body, self.kernel.operands
        stored: dict[int, list[str]] = {}
        for i in numbers:
            one = body[i]
            if one.op == "store":
                at, part = one.attribute
                parts = stored.setdefault(at, [""] * operands[at].parts)
                parts[part] = self.values[one.arguments[0]]
                if all(parts):
                    self.spread(at, one.type, parts)
                continue
            if one.op in ("load", "pick"):
                self.collect(i, one)
                value = self.line(i)
            elif one.op == "columns":
                value = f.splat("i64", self.total, self.count)
            else:
                types = [body[a].type for a in one.arguments]
                value = self.vectors.run(one, types, [self.values[a] for a in one.arguments])
            self.values[i] = value
            if i in self.held and one.op not in ("load", "pick"):
                f.store(self.vectors.type(one.type), value, self.held[i])

    def collect(self, i: int, one: Instruction) -> None:
        """An element for each row, into a line."""
        f, (at, part) = self.f, one.attribute
        operand, element = self.kernel.operands[at], REGISTER[one.type]
        with f.loop(0, self.some) as lane:
            row = f.at(self.bases[at], f.mul(f.add(self.start, lane), self.strides[at][0]))
            if one.op == "pick":
                position = one.arguments[0]
                if position in self.held:
                    place = f.load("i64", self.place(position, lane), 8)
                else:
                    place = f.op(f"extractelement <{self.count} x i64> {self.values[position]}, i64 {lane}")  # fmt: skip
                self.rows = [row] * len(self.bases)
                row = self.picked(at, place)
            value = self.single.load(operand, row)[part]
            f.store(element, value, self.place(i, lane), BYTES[one.type])

    def spread(self, at: int, type: str, parts: list[str]) -> None:
        """A result for each row, from vectors."""
        f, operand = self.f, self.kernel.operands[at]
        lines = []
        for number, value in enumerate(parts):
            key = f"{type}{number}"
            if key not in self.aside:
                self.aside[key] = f.variable(self.vectors.type(type))
            f.store(self.vectors.type(type), value, self.aside[key])
            lines.append(self.aside[key])
        if self.masks_fit(at):
            first = f.at(self.bases[at], f.mul(self.start, operand.bytes))
            dense = f.compare("eq", self.strides[at][0], operand.bytes)
            with f.when(dense):
                self.vectors.store(operand, parts, first, self.some)
            singles = f.choose(dense, "i64", 0, self.some)
        else:
            singles = self.some
        with f.loop(0, singles) as lane:
            row = f.at(self.bases[at], f.mul(f.add(self.start, lane), self.strides[at][0]))
            element = REGISTER[type]
            values = [f.load(element, f.at(line, lane, element), BYTES[type]) for line in lines]
            self.single.store(operand, values, row)
