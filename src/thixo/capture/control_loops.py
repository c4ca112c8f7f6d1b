"""Loops at run time: Python's as long as Python decides, a node from the moment on that a tensor does."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.capture.control import (
    Get,
    Left,
    Put,
    append,
    assign,
    known_tensors,
    predicate,
    settled,
    trace_branch,
)
from thixo.capture.copies import Turns, tensors_by_place
from thixo.capture.frames import Inner, current
from thixo.capture.items import GoneOver, Items, as_items
from thixo.capture.merge import Frozen, _split, freeze
from thixo.capture.numbers import as_tensor
from thixo.capture.paths import note_old
from thixo.capture.refusal import Refused
from thixo.capture.slots import LoopClash, Slot, leaves, slot_of
from thixo.capture.values import Maybe, Number, decides
from thixo.graph.body import together
from thixo.graph.control import SCAN, WHILE_LOOP, is_random
from thixo.graph.trace import current_trace, make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim

TURNS = 2000  # of a loop that Python unrolls
ROUNDS = 12


def while_(test: Any, body: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    """A while statement. Its test runs as often as Python would run it."""
    turns = 0
    while True:
        go = settled(test())
        if decides(go):
            break
        if not go:
            return
        body()
        turns += 1
        if turns > TURNS:
            raise Refused("while", f"more than {TURNS} turns are unrolled", "let a tensor decide")
    box = [Number("bool", predicate(go))]

    def turn(rows: Any) -> None:
        body()
        box[0] = settled(test())

    try:
        while_node(box, turn, get, put, names)
    except Refused as refusal:
        _nested(Number("bool", predicate(go)), test, body, (get, put, names), refusal, 0)


def _nested(go: Any, test: Any, body: Any, state: Any, refusal: Refused, depth: int) -> None:
    """A loop that no node holds as branches inside of branches, as far as Python bounds the number of its turns."""
    from thixo.capture.control import if_

    capture = current()
    capture.nested += 1
    if depth == NESTED or capture.nested > MOST_NESTED:
        raise refusal

    def then() -> None:
        body()
        again = settled(test())
        turns = 0
        while not decides(again) and again:
            body()
            again = settled(test())
            turns += 1
            if turns > TURNS:
                raise refusal
        if decides(again):
            _nested(again, test, body, state, refusal, depth + 1)

    if_(go, then, lambda: None, *state)


NESTED = 10  # turns of a loop that become branches
MOST_NESTED = 150  # of all loops together


def while_node(
    box: list[Any],
    turn: Any,
    get: Get,
    put: Put,
    names: Sequence[str],
    look_at_writes: Callable[[Sequence[Any]], None] | None = None,
    **named: Any,
) -> None:
    """A loop that goes on while what is in the box is true."""

    def get_all() -> tuple[Any, ...]:
        go = box[0]
        if decides(go) and not (isinstance(go, Number) and go.kind == "bool"):
            go = Number("bool", predicate(go))
        return (go if decides(go) else bool(go), *(() if get is None else get()))

    def put_all(values: Any) -> None:
        box[0] = values[0]
        if put is not None:
            put(tuple(values[1:]))

    loop = Loop(turn, get_all, put_all, ["whether the loop goes on", *map(_shown, names)])
    loop.slots[0].forms = [loop_form()]
    loop.settle([])
    if look_at_writes is not None:
        look_at_writes(loop.tensors)
    outer = current_trace()
    assert outer is not None
    test = Inner("test", outer)
    with test:
        state = [test.input(v.name, test.own_type(v.type)) for v in loop.state]
        test.output(state[0])
    captured = together([test, loop.frame], len(loop.state))
    args = (test.graph, loop.frame.graph, loop.state)
    tensors = {**known_tensors([test, loop.frame]), **loop.given}
    values = append(outer, WHILE_LOOP, args, captured, loop.graded, tensors, **named)
    loop.finish(values)


def loop_form() -> Any:
    from thixo.capture.carry import Carry

    return Carry("number", kind="bool")


def for_(items: Any, body: Any, go: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    """A for statement; `go` asks whether it was left."""
    found = as_items(items)
    if not isinstance(found, Items):
        _unrolled(found, body, go, get, put, names)
    elif isinstance(found.length, int):
        _unrolled(found.listed(), body, go, get, put, names)
    elif go is None and isinstance(found.length, Dim):
        try:
            _scan_node(found, body, get, put, names)
        except LoopClash:
            if not found.length >= 1:
                raise
            body(found.first())
            _scan_node(found.rest(), body, get, put, names)
    else:
        _counted(found, body, go, get, put, names)


def _unrolled(items: Any, body: Any, go: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    from thixo.capture.control import if_

    turns = 0
    capture = current()
    trace = current_trace()
    assert trace is not None
    lazily = not isinstance(items, list | tuple | range | dict | set | str)
    open_end = False  # a tensor says whether Python would take another one
    gone_over, source = GoneOver(items), iter(items)
    while True:
        gone_over.check()
        nodes, changed = len(trace.graph.nodes), sum(map(len, capture.journal.levels))
        try:
            item = next(source)
        except StopIteration:
            item = _END
        if open_end and lazily:
            acts = any(is_random(n) for n in trace.graph.nodes[nodes:])
            if acts or changed != sum(map(len, capture.journal.levels)):
                raise Refused(
                    "a generator in a loop that a tensor ends",
                    "it does more than yield",
                    "use a list",
                )
        if item is _END:
            return
        turns += 1
        if turns > TURNS:
            raise Refused("for", f"more than {TURNS} turns are unrolled", "loop over a tensor")
        more = True if go is None else go()
        if decides(more):
            open_end = True
            if turns == TESTED and _as_loop(items, turns - 1, body, go, get, put, names):
                return
            if turns > OPEN_TURNS:
                raise Refused(
                    "for",
                    f"more than {OPEN_TURNS} turns that a tensor may end are unrolled",
                    "use while",
                )
            if_(more, lambda item=item: body(item), lambda: None, get, put, names)
        elif more:
            body(item)
        else:
            return
        if go is not None:
            more = go()
            open_end = decides(more)
            if not open_end and not more:
                return  # nothing more is taken from an iterator


_END = object()
TESTED = 4  # turns after which an unrolled loop that a tensor may end is tried as a loop
OPEN_TURNS = 200


def _as_loop(
    items: Any, done: int, body: Any, go: Any, get: Get, put: Put, names: Sequence[str]
) -> bool:
    """Go on with a long range as a loop in the graph, if that can be."""
    if not isinstance(items, range) or len(items) - done < TESTED:
        return False
    rest = items[done:]
    start, step = rest.start, rest.step

    def place(i: Number) -> Number:
        return Number("int", i.tensor * step + start)

    try:
        length = Number("int", as_tensor(len(rest)))
        _counted(Items(length, [], lambda rows: None, place), body, go, get, put, names)
    except Refused:
        return False
    return True


def _counted(items: Items, body: Any, go: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    """A loop that a tensor may end, by number of turns."""
    place: list[Any] = [Number("int", as_tensor(0))]
    length = Number("int", as_tensor(items.length))

    def more() -> Any:
        there = Number("bool", place[0].tensor < length.tensor)
        left = True if go is None else go()
        if decides(left):
            return Number("bool", tx.logical_and(there.tensor, predicate(left)))
        return there if left else False

    box = [more()]

    def turn(rows: Any) -> None:
        now = place[0]
        body(items.at(now))
        place[0] = Number("int", now.tensor + 1)
        box[0] = more()

    def get_all() -> tuple[Any, ...]:
        return (place[0], *(() if get is None else get()))

    def put_all(values: Any) -> None:
        place[0] = values[0]
        if put is not None:
            put(tuple(values[1:]))

    while_node(box, turn, get_all, put_all, ["the number of the turn", *names])


def _scan_node(items: Items, body: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    loop = Loop(lambda rows: body(items.build(rows)), get, put, list(map(_shown, names)))
    rows = items.slices
    if not _core.is_grad_enabled():  # rows are views that are taken here
        rows = [tx.detach(s) if s.requires_grad else s for s in rows]
    loop.settle(rows)
    outer = current_trace()
    assert outer is not None
    captured = together([loop.frame], len(loop.state) + len(rows))
    slices = [outer.value_of(s) for s in rows]
    args = (loop.frame.graph, loop.state, slices)
    tensors = {**known_tensors([loop.frame]), **loop.given}
    loop.finish(append(outer, SCAN, args, captured, loop.graded, tensors, length=items.length))


def _shown(name: str) -> str:
    return f"variable {name}" if name.isidentifier() else name


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


__all__ = ["for_", "make_symbolic", "while_"]
