"""Control flow by hand where it is recorded: functions become graphs inside of a node.

Inside of captured code (`jit.script`) users' functions are converted like all others, and what they change besides tensors is in
the capture's journal. A trace (`jit.trace`) and a declared graph have no capture: they get one that converts nothing.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from thixo.capture import callees, control, control_loops, control_turns
from thixo.capture.carry import form
from thixo.capture.control import append, assign, known_tensors, trace_branch
from thixo.capture.copies import note_results
from thixo.capture.flow_values import (
    name_of,
    need_same_kinds,
    need_same_structure,
    need_state,
    tensors,
    truth,
)
from thixo.capture.frames import Capture, Inner, Outer, capturing, current
from thixo.capture.numbers import as_tensor
from thixo.capture.paths import look
from thixo.capture.refusal import Refused
from thixo.capture.values import Number
from thixo.errors import ArgumentError, ThixoError, TraceError, describe
from thixo.graph.body import together
from thixo.graph.control import COND, SCAN, SWITCH
from thixo.graph.trace import current_trace
from thixo.pytree import Tree, tree_unflatten


def call(f: Any, *args: Any) -> Any:
    """Call a user's function; inside of captured code as that calls functions."""
    return callees.call(f, *args) if _converts() else f(*args)


def _converts() -> bool:
    return isinstance(current_trace(), Inner | Outer) and current().converts


def rebuilt(tree: Tree, leaves: Sequence[Any]) -> Any:
    """A structure of leaves; captured code knows its containers for its own."""
    made = tree_unflatten(tree, leaves)
    if _converts():
        _note_made(made)
    return made


def _note_made(x: Any) -> None:
    if isinstance(x, list | dict | tuple):
        if not isinstance(x, tuple):
            current().made(x)
        for part in x.values() if isinstance(x, dict) else x:
            _note_made(part)


@contextmanager
def recording(what: str) -> Iterator[None]:
    """Inside of captured code nothing; a trace gets the capture that branches and loops need."""
    trace = current_trace()
    if trace is None:
        raise TraceError(
            f"{what}: a traced tensor is used after its trace has ended; return what you need from the function"
        )
    if isinstance(trace, Inner | Outer):
        yield
        return
    capture = trace.by_hand
    if capture is None:
        capture = trace.by_hand = Capture(converts=False)
        trace.aliases.before_write = functools.partial(_as_trace_error, capture.copies.written)
        trace.need_fresh = functools.partial(_as_trace_error, capture.copies.need_fresh)
    try:
        with capturing(capture):
            yield
    except Refused as refusal:
        cause = refusal.__cause__
        if isinstance(cause, ThixoError):
            raise cause from None
        raise TraceError(f"{what}: {refusal.text()}") from cause


def _as_trace_error(check: Callable[[Any], None], tensor: Any) -> None:
    try:
        check(tensor)
    except Refused as refusal:
        raise TraceError(f"trace: {refusal.text()}") from None


def _need_no_writes(what: str, name: str, tensors: Sequence[Any]) -> None:
    """A declared graph has assignments for that."""
    trace: Any = current_trace()
    declares = trace
    while hasattr(declares, "outer"):
        declares = declares.outer
    if tensors and declares.declares:
        raise TraceError(
            f"{what}: {name} writes to {trace.value_of(tensors[0])}, which is outside of it; "
            "return the new value"
        )


# ---- branches


def branches(what: str, chosen: Any, functions: Sequence[Any], operands: Sequence[Any]) -> Any:
    """A cond or switch node of functions."""
    with recording(what):
        for operand in operands:
            look(current(), operand)
        names = [name_of(f, f"branch_{i}") for i, f in enumerate(functions)]
        sides = [_Side(what, f, name, operands) for f, name in zip(functions, names, strict=True)]
        clock = current().clock
        left = [trace_branch(s.name, s.run, None, None, None) for s in sides]
        there = [i for i, one in enumerate(left) if not one.never]
        if not there:
            raise Refused(what, "every function raises an exception", "raise without a condition")
        need_same_structure(what, [names[i] for i in there], [sides[i].tree for i in there])
        need_same_kinds(what, [names[i] for i in there], [sides[i].leaves for i in there])
        if any(one.cells for one in left):
            found = list(_by_statements(what, chosen, sides))
        else:
            found = _node(what, chosen, sides, left, clock)
        return rebuilt(sides[there[0]].tree, found)


class _Side:
    """One function and what it returned last."""

    def __init__(self, what: str, f: Any, name: str, operands: Sequence[Any]) -> None:
        self.what, self.f, self.name, self.operands = what, f, name, operands
        self.leaves: list[Any] = []
        self.tree: Tree = None  # type: ignore[assignment]

    def run(self, frame: Any = None) -> tuple[Any, ...]:
        made = call(self.f, *self.operands)
        self.leaves, self.tree = tensors(self.what, f"results of {self.name}", made)
        return tuple(self.leaves)


def _by_statements(what: str, chosen: Any, sides: Sequence[_Side]) -> tuple[Any, ...]:
    """As if it were written with if and elif: what the functions change besides tensors is merged."""
    if len(sides) == 1:
        return sides[0].run()
    first = Number("bool", chosen if what == "cond" else chosen == 0)

    def others() -> tuple[Any, ...]:
        # Negative numbers choose the last one, as all that are too large do.
        following = chosen if what == "cond" else _next(chosen)
        return _by_statements(what, following, sides[1:])

    made: tuple[Any, ...] = control.ifexp(first, sides[0].run, others, None, None, ())
    return made


def _next(chosen: Any) -> Any:
    return chosen - 1


def _node(what: str, chosen: Any, sides: Any, left: Any, clock: int) -> list[Any]:
    outer = current_trace()
    assert outer is not None
    frames = [one.frame for one in left]
    given = next(s.leaves for s, one in zip(sides, left, strict=True) if not one.never)
    for side, one in zip(sides, left, strict=True):
        _need_no_writes(what, side.name, [t for t, _ in one.tensors.values()])
        if one.never:
            with one.frame:
                side.leaves = [form(leaf)._nothing()[0] for leaf in given]
    targets = list({key: t for one in left for key, (t, _) in one.tensors.items()}.items())
    results = []
    for side, one in zip(sides, left, strict=True):
        new = [one.tensors[key][1] if key in one.tensors else t for key, t in targets]
        results.append([*side.leaves, *new])
        with one.frame:
            for t in results[-1]:
                one.frame.output(t)
            one.frame.finish_body()
    graded = [any(t.requires_grad for t in column) for column in zip(*results, strict=True)]
    if any(len({t.requires_grad for t in column}) > 1 for column in zip(*results, strict=True)):
        current().some_graded = True
    captured = together(frames, 0)
    graphs = [f.graph for f in frames]
    place = outer.value_of(chosen)
    args = (place, *graphs) if what == "cond" else (place, graphs)
    op = COND if what == "cond" else SWITCH
    values = append(outer, op, args, captured, graded, known_tensors(frames))
    count = len(given)
    kept = [(i, *(r[i] for r in results)) for i in range(count)]
    note_results(current().copies, kept, values, frames)
    for (_, tensor), value in zip(targets, values[count:], strict=True):
        assign(outer, tensor, value, left)
    return values[:count]


# ---- loops


def while_loop(
    cond_fn: Any, body_fn: Any, state: list[Any], tree: Tree, is_several: bool, limit: int | None
) -> list[Any]:
    """A while_loop node of functions."""
    now = list(state)

    def get() -> tuple[Any, ...]:
        return tuple(now)

    def put(values: Any) -> None:
        now[:] = values

    def args() -> Any:
        made = rebuilt(tree, now)
        return made if is_several else (made,)

    def test() -> Number:
        found = truth("while_loop", "what cond_fn returns", call(cond_fn, *args()))
        return Number("bool", as_tensor(found) if isinstance(found, bool) else found)

    def turn(rows: Any) -> None:
        before = list(now)
        made = in_kind(tree, call(body_fn, *args()))
        after = tensors("while_loop", "what body_fn returns", made)
        need_state("while_loop", (before, tree), after)
        now[:] = after[0]
        box[0] = test()

    with recording("while_loop"):
        box = [test()]
        names = [f"part {i} of the state" for i in range(len(now))]
        control_loops.while_node(
            box, turn, get, put, names, functools.partial(_need_no_writes, "while_loop", "the body"),
            limit=limit,
        )  # fmt: skip
        return now


def in_kind(tree: Tree, made: Any) -> Any:
    """A tuple in the place of a list, or a list in that of a tuple, counts as what was handed over."""
    if tree.kind in (tuple, list) and type(made) in (tuple, list):
        return tree.kind(made)
    return made


def both_results(what: str, made: Any) -> tuple[Any, Any]:
    """What a function of a scan returns: the carry, and what is stacked."""
    if not isinstance(made, tuple | list) or len(made) != 2:
        raise ArgumentError(
            f"{what}: f must return (carry, what is stacked), returned {_shown(made)}"
        )
    return made[0], made[1]


def _shown(x: Any) -> str:
    return f"a {type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else describe(x)


def scan(
    what: str,
    f: Callable[[Any, Any], Any],
    start: tuple[list[Any], Tree],
    rows: tuple[list[Any], Tree],
    length: Any,
    reverse: bool,
) -> Any:
    """A scan node of a function: the last carry, and the results stacked."""
    tree, now = start[1], list(start[0])
    stacked: tuple[list[Any], Any] = ([], None)

    def get() -> tuple[Any, ...]:
        return tuple(now)

    def put(values: Any) -> None:
        now[:] = values

    def turn(slices: Any) -> None:
        nonlocal stacked
        before = list(now)
        step = call if what == "scan" else _plainly
        made = step(f, rebuilt(tree, before), rebuilt(rows[1], list(slices)))
        carry, more = both_results(what, made)
        after = tensors(what, "the carry that f returns", carry)
        need_state(what, (before, tree), after)
        stacked = tensors(what, "what f returns", more)
        now[:] = after[0]

    with recording(what):
        outer = current_trace()
        assert outer is not None
        loop = control_turns.Loop(
            turn, get, put, [f"part {i} of the carry" for i in range(len(now))]
        )
        loop.stacked = lambda: stacked[0]
        loop.settle(rows[0])
        _need_no_writes(what, name_of(f, "the body"), loop.tensors)
        captured = together([loop.frame], len(loop.state) + len(rows[0]))
        slices = [outer.value_of(s) for s in rows[0]]
        args = (loop.frame.graph, loop.state, slices)
        known = {**known_tensors([loop.frame]), **loop.given}
        values = append(
            outer, SCAN, args, captured, loop.graded, known, length=length, reverse=reverse
        )
        loop.finish(values[: len(loop.state)])
        return rebuilt(tree, now), rebuilt(stacked[1], values[len(loop.state) :])


def _plainly(f: Any, *args: Any) -> Any:
    return f(*args)


__all__ = ["branches", "call", "rebuilt", "scan", "while_loop"]
