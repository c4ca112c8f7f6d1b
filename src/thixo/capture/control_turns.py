"""One turn of a loop that becomes a node: it is traced until the forms of what it carries are stable."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from thixo.capture.control import Get, Left, Put, assign, trace_branch
from thixo.capture.copies import Turns, tensors_by_place
from thixo.capture.frames import Inner, current
from thixo.capture.merge import Frozen, _split, freeze
from thixo.capture.paths import note_old
from thixo.capture.refusal import Refused
from thixo.capture.slots import LoopClash, Slot, leaves, slot_of
from thixo.capture.values import Maybe
from thixo.graph.trace import current_trace

ROUNDS = 12  # until the kinds of variables have settled


class Loop:
    """Traces a body until the forms of what it carries are stable."""

    frame: Inner

    def __init__(self, turn: Callable[[Any], None], get: Get, put: Put, names: list[str]) -> None:
        self.capture = current()
        self.clock = self.capture.clock
        self.turn, self.get, self.put = turn, get, put
        self.start = () if get is None else tuple(get())
        self.cells: list[Any] = []
        self.stands_for: dict[
            int, Any
        ] = {}  # id of what a turn begins with -> its place, or the tensor outside
        self.tensors: list[Any] = []
        self.slots = [
            slot_of(n, freeze(v, self.capture), self.capture)
            for n, v in zip(names, self.start, strict=True)
        ]
        self.count = len(self.slots)
        self.stacked: Callable[[], Sequence[Any]] = tuple  # further results of each turn
        self.turns = Turns()

    def settle(self, rows: Sequence[Any]) -> None:
        """Trace the body until it is stable; `frame` and `state` are then there."""
        outer = current_trace()
        assert outer is not None
        for _ in range(ROUNDS):
            first = [slot.encode(self._initial(i)) for i, slot in enumerate(self.slots)]
            given = [t for tensors in first for t in tensors]
            left = trace_branch(
                "body",
                functools.partial(self._body, given=given, rows=rows),
                self.get,
                self.put,
                self.start,
                True,
            )
            if self._compare(left) and not self._shares_more(left, given, rows):
                roots = [outer.aliases._root(r) for r in rows]
                if any(outer.aliases._root(t) is r for t in self.tensors for r in roots):
                    raise Refused(
                        "for", "it writes to the tensor that it goes over", "loop over a clone()"
                    )
                self.state = [outer.value_of(t) for t in given]
                self.given = {outer.value_of(t): t for t in (*given, *rows)}
                self._results(left, given)
                return
        raise Refused(
            "a loop", "the kinds of its variables do not settle", "make them fixed before it"
        )

    def _shares_more(self, left: Left, given: Sequence[Any], rows: Sequence[Any]) -> bool:
        """Whether what a turn begins with may be a tensor that it writes, which was not known."""
        outer = current_trace()
        slots = self.slots[: self.count + len(self.cells)]
        starts = [self._initial(i) for i in range(len(slots))]
        kept = list(left.variables)
        kept += [left.cells[c.key][1] if c.key in left.cells else None for c in self.cells]
        known = self.turns.others
        self.turns.take(
            self.capture.copies,
            (outer, left.frame),
            tensors_by_place(slots, [leaves(_split(x)[1]) for x in starts]),
            tensors_by_place(slots, [leaves(_split(x)[1]) for x in kept]),
            self.stands_for,
        )
        return any(
            key in left.tensors and key not in known.get(place, {})
            for place, others in self.turns.others.items()
            for key in others
        )

    def _initial(self, i: int) -> Any:
        if i < self.count:
            return freeze(self.start[i], self.capture)
        i -= self.count
        if i < len(self.cells):
            return freeze(self.cells[i].read(), self.capture)
        return self.tensors[i - len(self.cells)]

    def _body(self, frame: Inner, given: Sequence[Any], rows: Sequence[Any]) -> None:
        outer = frame.outer
        inputs = []
        for tensor in given:
            value = outer.value_of(tensor)
            inputs.append(frame.input(value.name, frame.own_type(value.type)))
            if tensor.requires_grad:
                inputs[-1].requires_grad_(True)
        slices = []
        for tensor in rows:
            value = outer.value_of(tensor)
            inner = type(value.type)(value.type.dtype, value.type.shape[1:], value.type.device)
            slices.append(frame.input("row", frame.own_type(inner), tensor.requires_grad))
        values = self._decoded(list(inputs))
        if self.put is not None:
            # What was lost is there in Python from the second turn on: nobody may find it unset.
            now = [
                x if slot.lost is None else slot.poison()
                for x, slot in zip(self.start, self.slots, strict=False)
            ]
            self.put([now[i] if v is None else v for i, v in enumerate(values[: self.count])])
        for cell, value in zip(self.cells, values[self.count :], strict=False):
            if value is not None:
                self.capture.journal.write(cell, value)
        for tensor, value in zip(self.tensors, values[self.count + len(self.cells) :], strict=True):
            frame.value_of(tensor)
            frame.aliases.hand(tensor, value)
        carried = sum(slot.width for slot in self.slots[: self.count + len(self.cells)])
        self.stands_for = {id(x): i if i < carried else given[i] for i, x in enumerate(inputs)}
        self.stands_for.update((id(x), of) for x, of in zip(slices, rows, strict=True))
        self.turns.begin(self.capture.copies, inputs)
        kept = [s._value for s in (*slices, *inputs)]
        self.turn(slices)
        for tensor, value in zip((*slices, *inputs), kept, strict=True):
            if tensor._value is not value:
                raise LoopClash(
                    "a write to a tensor in a loop",
                    "the loop carries copies of it",
                    "write to x[i] of a tensor made before the loop",
                )

    def _decoded(self, tensors: list[Any]) -> list[Any]:
        return [slot.decode(tensors) for slot in self.slots]

    def _after(self, left: Left) -> list[Any]:
        cells = [
            _written(left.cells[c.key][1], freeze(c.read(), self.capture), left)
            if c.key in left.cells
            else freeze(c.read(), self.capture)
            for c in self.cells
        ]
        tensors = [left.tensors[id(t)][1] if id(t) in left.tensors else t for t in self.tensors]
        variables = [
            _written(v, slot.start, left)
            for v, slot in zip(left.variables, self.slots, strict=False)
        ]
        return [*variables, *cells, *tensors]

    def _compare(self, left: Left) -> bool:
        stable = True
        for slot, after in zip(self.slots, self._after(left), strict=True):
            stable &= slot.compare(after)
        known = {c.key for c in self.cells}
        new_cells = [
            c for key, (c, _) in left.cells.items()
            if key not in known and not self.capture.made_since(c.owner, self.clock)
        ]  # fmt: skip
        known_tensors = {id(t) for t in self.tensors}
        new_tensors = [t for key, (t, _) in left.tensors.items() if key not in known_tensors]
        at = self.count + len(self.cells)
        for cell in new_cells:
            slot = Slot(str(cell), freeze(cell.read(), self.capture), outlives=True)
            if isinstance(cell.read(), set):
                raise Refused("a set that a loop changes", "a graph has no sets", "use a tensor")
            slot.carry_tensors()
            note_old(self.capture, cell)
            self.slots.insert(at, slot)
            self.cells.append(cell)
            at += 1
        for tensor in new_tensors:
            slot = Slot("a tensor that is written", tensor)
            slot.carry_tensors()
            self.slots.append(slot)
            self.tensors.append(tensor)
        return stable and not new_cells and not new_tensors

    def _results(self, left: Left, given: Sequence[Any]) -> None:
        self.left, self.frame = left, left.frame
        with self.frame:
            made = [
                t
                for slot, after in zip(self.slots, self._after(left), strict=True)
                if slot.is_carried and slot.lost is None
                for t in slot.encode(after)
            ]
            stacked = list(self.stacked())
            for t in (*made, *stacked):
                self.frame.output(t)
            self.frame.finish_body()
        self.graded = [x.requires_grad or y.requires_grad for x, y in zip(given, made, strict=True)]
        self.graded += [t.requires_grad for t in stacked]
        if any(x.requires_grad != y.requires_grad for x, y in zip(given, made, strict=True)):
            self.capture.some_graded = True

    def finish(self, values: list[Any]) -> None:
        """Let the program go on with what the loop left."""
        outer = current_trace()
        assert outer is not None
        made = self._decoded(list(values))
        final = []
        for i, slot in enumerate(self.slots[: self.count]):
            if slot.lost is not None:
                final.append(slot.poison())
            else:
                final.append(self.start[i] if made[i] is None else made[i])
        if self.put is not None:
            self.put(final)
        for cell, value in zip(self.cells, made[self.count :], strict=False):
            if value is not None:
                self.capture.journal.write(cell, value)
        for tensor, value in zip(self.tensors, made[self.count + len(self.cells) :], strict=True):
            assign(outer, tensor, value, [self.left])
        self.turns.end(self.capture.copies, values)


def _written(x: Any, start: Any, left: Left) -> Any:
    """What a variable is behind a turn, which may have written tensors from outside that it did not have before."""
    if x is start:
        return x
    if isinstance(x, Maybe):
        return Maybe(_written(x.value, start, left), x.flag)
    if isinstance(x, Frozen):
        before = start.parts if isinstance(start, Frozen) else []
        made = Frozen(x.origin, x.keys)
        made.parts = [
            _written(part, before[i] if i < len(before) else None, left)
            for i, part in enumerate(x.parts)
        ]
        return made
    return left.tensors[id(x)][1] if id(x) in left.tensors else x
