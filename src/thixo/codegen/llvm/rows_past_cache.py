"""Results of row kernels with lanes across rows that no cache holds: a few places at a time are computed into memory that is
near, and written from there past the cache, so that memory is not read first only to be overwritten.

Which is worth it is a matter of bytes and caches: the caller says so (`%fetches`, see `rows.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from thixo.codegen.llvm.emit import Function, vector
from thixo.codegen.llvm.rows_stages import Stages, Walk
from thixo.codegen.llvm.target import Target

if TYPE_CHECKING:
    from thixo.codegen.llvm.rows_across import Block

PAST_CACHE = 1 << 62  # as kPastCache in core/rows.h
WORD = 4  # bytes; what a mask leaves out or takes


class Near:
    """Places of the results of one walk, of all rows that lie side by side."""

    def __init__(self, f: Function, plan: Stages, walk: Walk, rows: int, places: int) -> None:
        operands, body = plan.kernel.operands, plan.kernel.body
        self.f, self.operands = f, operands
        self.pitch, self.memory = {}, {}
        for at in sorted({body[v].attribute[0] for v in walk.stores}):
            self.pitch[at] = rows * operands[at].bytes + 64
            self.memory[at] = f.variable(f"[{places * self.pitch[at]} x i8]")
        self.wanted = f.compare("sge", "%fetches", PAST_CACHE)

    @staticmethod
    def fits(plan: Stages, walk: Walk, target: Target) -> bool:
        """Whether a walk's results can be written so."""
        operands, body = plan.kernel.operands, plan.kernel.body
        stored = [operands[body[v].attribute[0]] for v in walk.stores]
        return target.streams and all(o.view == "full" and o.bytes % WORD == 0 for o in stored)

    def redirect(self, block: Block, row: str, first: str) -> None:
        """A block, which begins with this row of the stretch, writes its places from `first` on to memory that is near, if wanted."""
        f = self.f
        block.places, block.strides = list(block.places), [list(s) for s in block.strides]
        for at, pitch in self.pitch.items():
            offset = f.sub(f.mul(row, self.operands[at].bytes), f.mul(first, pitch))
            near = f.at(self.memory[at], offset)
            block.places[at] = f.choose(self.wanted, "ptr", near, block.places[at])
            block.strides[at][2] = f.choose(self.wanted, "i64", pitch, block.strides[at][2])

    def write_out(
        self, block: Block, start: str, rows: str, segment: str, first: str, last: str
    ) -> None:
        """The places from `first` to `last` of rows from `start` on, where they belong; `block` knows where that is."""
        f = self.f
        for at, pitch in self.pitch.items():
            bytes, strides = self.operands[at].bytes, block.own_strides[at]
            base = f.at(f.at(block.bases[at], f.mul(start, bytes)), f.mul(segment, strides[1]))
            with f.loop(first, last) as i:
                to = f.at(base, f.mul(i, strides[2]))
                near = f.at(self.memory[at], f.mul(f.sub(i, first), pitch))
                copy_past(f, block.lanes.target, to, near, f.mul(rows, bytes))


def copy_past(f: Function, target: Target, to: str, source: str, bytes: str) -> None:
    """Whole words from near memory to far memory: whole lines past the cache, what is before and behind them as usual."""
    size = target.vector_bytes
    count = size // WORD
    type = vector("i32", count)

    def part(begin: str, words: str) -> None:
        mask = f.mask(words, count)
        f.masked_store(type, f.masked_load(type, f.at(source, begin), mask), f.at(to, begin), mask)

    address = f.op(f"ptrtoint ptr {to} to i64")
    head = f.min(f.op(f"and i64 {f.sub(0, address)}, {size - 1}"), bytes)
    part("0", f.div(head, WORD))
    end = f.add(head, f.mul(f.div(f.sub(bytes, head), size), size))
    with f.loop(head, end, size) as i:
        f.store_past(type, f.load(type, f.at(source, i), WORD), f.at(to, i), size)
    part(end, f.div(f.sub(bytes, end), WORD))


__all__ = ["PAST_CACHE", "Near", "copy_past"]
