"""Loops at run time: Python's as long as Python decides, a node from the moment on that a tensor does."""

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.capture.control import (
    Get,
    Put,
    append,
    known_tensors,
    predicate,
    settled,
)
from thixo.capture.control_turns import Loop
from thixo.capture.frames import Inner, current
from thixo.capture.items import GoneOver, Items, as_items
from thixo.capture.numbers import as_tensor
from thixo.capture.refusal import Refused
from thixo.capture.slots import LoopClash
from thixo.capture.values import Number, decides
from thixo.graph.body import together
from thixo.graph.control import SCAN, WHILE_LOOP, is_random
from thixo.graph.trace import current_trace
from thixo.ops import public as tx
from thixo.symbolic import Dim

TURNS = 2000  # of a loop that Python unrolls


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
