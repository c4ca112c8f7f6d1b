"""The end of a native program: which tensors are results, what is written back, and where everything lies in the arena."""

from __future__ import annotations

import math
from typing import Any

from thixo.dtype import int64
from thixo.graph.ir import Graph, Node, Value
from thixo.runtime.base import fresh
from thixo.runtime.program_control import Shared
from thixo.schedule.arena import place
from thixo.schedule.flow import aligned

STEP_SECONDS = 2e-7  # what any step takes


class Ending(Shared):
    """The part of a Binding that comes after its nodes."""

    # What a Binding has; see there.
    graph: Graph
    flow: Any
    nodes: list[Node]
    partial: bool
    donated: dict[Value, Any]
    placed: list[tuple[Any, int]]
    _contiguous: Any

    def _finish(self, writes: bool) -> None:
        graph, program = self.graph, self.program
        taken: set[Value] = set(self.donated)
        open_results: list[Value | None] = []
        for value in graph.outputs if writes else graph.results():
            if value in self.dynamic:
                program.output(None)
                open_results.append(value)
                continue
            open_results.append(None)
            if value in self.donated:  # it is where whoever calls has it, over an input
                program.output(self.tensors[value])
                continue
            root = self.root[value]
            if root in self.born and root not in taken and self._is_whole(value, root):
                taken.add(root)
                program.output(self.tensors[value])
                continue
            copied = self._contiguous(self.tensors[value])
            self._copy_last(copied, value)
            program.output(copied)
        if writes:
            self._write()
        if not self.partial:
            self._arena(taken)
        program.names(
            tuple(n.op.full_name for n in self.nodes), tuple(n.source or "" for n in self.nodes)
        )
        if self.dynamic:
            self._finish_open(open_results)

    def _is_whole(self, value: Value, root: Value) -> bool:
        """Whether a value is all of the memory that it looks at, in order: then a result is made there."""
        if value is root:
            return True
        seen, whole = self.tensors[value], self.tensors[root]
        if seen.storage_offset():  # a part without elements may begin anywhere
            return False
        return bool(seen.is_contiguous()) and memory_of(seen) == memory_of(whole)

    def _copy_last(self, to: Any, value: Value) -> None:
        """A copy after all nodes."""
        self.last[self.root[value]] = self.position
        self._copy(to, self.tensors[value])
        if self.flow is not None:
            self.flow.add(self.position, self.program.steps, {self.root[value]}, (), False)

    def _write(self) -> None:
        """What the graph changes gets its new values, after all else."""
        changed = self.graph.mutations
        self.program.written([self.tensors[old] for old in changed])
        left = {old: new for old, new in changed.items() if new not in self.donated}
        apart: dict[Value, Any] = {}
        for old, new in left.items():
            if self.root[new] in changed and new is not old:
                # It may be overwritten before it is read.
                apart[new] = self._scratch(self.tensors[new])
                self.last[self.root[new]] = self.position
                self._copy(apart[new], self.tensors[new])
        copies = {n.outputs[0]: n for n in self.nodes if n.op.full_name == "index_copy"}
        for old, new in left.items():
            if new is not old:
                self.last[self.root[new]] = self.position
                if new in apart or not self._write_lines(old, new, copies.get(new)):
                    self._copy(self.tensors[old], apart.get(new, self.tensors[new]))
        if self.flow is not None:
            self.flow.add_last(self.position, self.program.steps)

    def _write_lines(self, old: Value, new: Value, node: Node | None) -> bool:
        """Only the lines that differ, where the new value is the old one with lines replaced: caches that grow."""
        if node is None or node.args[0] is not old:
            return False
        _, axis, index, _ = node.args
        if self.root[index] in self.born or self.root[index] in self.graph.mutations:
            return False  # its memory may be used for something else by now
        places, to = self.tensors[index], self.tensors[old]
        if len(places.shape) != 1 or places.dtype != int64 or not to.shape:
            return False
        self.program.copy_lines(
            self.position, STEP_SECONDS, to, self.tensors[new], axis % len(to.shape), places
        )
        return True

    def _arena(self, taken: set[Value]) -> None:
        """Places for what lives only inside of a call."""
        pieces, placed, begin = list(self.scratch), list(self.placed), 0
        planned: Any = {}
        if self.plan is not None:
            planned, begin = self.plan.offset, self.plan.arena
        for value in self.born:
            if value in taken:
                continue
            if value in planned:
                placed.append((self.tensors[value], planned[value]))
            else:
                pieces.append((self.tensors[value], self.born[value], self.last[value]))
        if self.flow is None:
            widened = (lambda a, b: (a, b)) if self.plan is None else self.plan.widened
            offsets, total = place([(*widened(a, b), memory(t)) for t, a, b in pieces])
        else:
            end = [self.position]  # what is written at the very end is read then
            users: dict[int, list[int]] = {
                id(self.tensors[v]): self.flow.users[v] + end * (self.last[v] == self.position)
                for v in self.born
            }
            offsets, total = self.flow.plan(
                [(first, users.get(id(t), [first]), memory(t)) for t, first, _ in pieces]
            )
            self.program.flow(self.flow.before())
        placed += [(t, begin + o) for (t, _, _), o in zip(pieces, offsets, strict=True)]
        self.program.arena(begin + total, tuple(placed))

    def _finish_open(self, results: list[Value | None]) -> None:
        """What a call leaves is taken away, also after an error."""
        machine, tensors, sizes = self.machine, self.tensors, self.sizes

        def finish(made: list[Any] | None) -> list[Any] | None:
            if made is not None:
                for i, value in enumerate(results):
                    if value is not None:
                        made[i] = tensors[value]
                made = fresh(made, ())
            for value in self.dynamic:
                tensors.pop(value, None)
            self.held.clear()
            machine.sizes = dict(sizes)
            return made

        self.program.finisher = finish


def memory_of(tensor: Any) -> int:
    """The bytes of a tensor's elements."""
    return math.prod(tensor.shape) * int(tensor.dtype.itemsize)


def memory(tensor: Any) -> int:
    """The bytes that a tensor needs in an arena."""
    return aligned(memory_of(tensor))
