"""Branches at run time: a Python condition chooses as ever, a tensor makes both sides part of the graph.

Variables travel by `get()` and `put(values)`; everything else that a branch changes is in the journal.
"""

import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from thixo import _core
from thixo.capture.carry import MISSING, Carry, looked_up
from thixo.capture.copies import note_results
from thixo.capture.effects import fail
from thixo.capture.frames import DEPTH, VALUES, Inner, current
from thixo.capture.journal import Content
from thixo.capture.merge import Merger, aligned, aligned_sets, as_set, freeze
from thixo.capture.numbers import OPERATORS, as_tensor, calculate
from thixo.capture.paths import LOOKED, look, note_old
from thixo.capture.refusal import RaisedInTry, Refused, refusal_of
from thixo.capture.tape import attach
from thixo.capture.values import (
    Choice,
    Maybe,
    Mixed,
    Number,
    Poison,
    Symbolic,
    Union,
    Unset,
    decides,
    is_open_size,
    is_partial,
    is_ragged,
)
from thixo.errors import ThixoError, user_line
from thixo.graph.body import together
from thixo.graph.control import COND
from thixo.graph.ir import Value
from thixo.graph.trace import Trace, current_trace, make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim

Get = Callable[[], tuple[Any, ...]] | None
Put = Callable[[Any], None] | None


class Left:
    """What a branch left: variables, cells, tensors written; `never` if it raises."""

    def __init__(self, frame: Inner) -> None:
        self.frame = frame
        self.variables: list[Any] = []
        self.cells: dict[Any, tuple[Any, Any]] = {}
        self.tensors: dict[int, tuple[Any, Any]] = {}
        self.never = False


def predicate(c: Any) -> Any:
    """A condition as a bool[] tensor."""
    if isinstance(c, Union):
        from thixo.capture.operators import spread, truth

        return predicate(spread(c, lambda one: truth(one)))
    if isinstance(c, Choice):
        return looked_up([bool(o) for o in c.options], c.index)
    if isinstance(c, Mixed):
        if c.kind == "none":
            return tx.logical_and(tx.logical_not(c.flag.tensor), truth_of(c.tensor))
        return truth_of(c.tensor)
    if isinstance(c, Number):
        return truth_of(c.tensor)
    if isinstance(c, _core.Tensor):
        return truth_of(c)
    raise Refused("a condition", f"it is {c!r}", "use a tensor or a number")


def truth_of(tensor: Any) -> Any:
    """A tensor of one element as bool[]."""
    if any(not isinstance(s, int) or s != 1 for s in tensor.shape):
        shape = ", ".join(map(str, tensor.shape))
        raise Refused(
            "a condition", f"a tensor of shape [{shape}] has no one truth", "say x.any() or x.all()"
        )
    if tensor.ndim:
        tensor = tx.reshape(tensor, ())
    return tensor if tensor.dtype.kind == "b" else tensor != 0


def trace_branch(
    name: str, run: Callable[[Inner], Any], get: Get, put: Put, start: Any, loop: bool = False
) -> Left:
    """Trace one side; everything it changed is taken back."""
    capture, outer = current(), current_trace()
    assert outer is not None
    frame = Inner(name, outer)
    left = Left(frame)
    capture.journal.begin()
    capture.depth += 1
    began, capture.began = capture.began, capture.clock
    mode = _core.is_grad_enabled()
    ended = False
    capture.branches += 1
    try:
        if capture.most is not None and capture.values > VALUES:
            raise Refused(
                "branches", f"to trace them takes too long: {capture.branches} so far, with {capture.values} values that they take, make and leave",
                "use a loop of tensors, or leave this part out",
            )  # fmt: skip
        if capture.most is not None and capture.branches > capture.most:
            raise Refused(
                "branches", f"there are more than {capture.most}, those of calls and loops that were taken apart included",
                "use a loop of tensors, or leave this part out",
            )  # fmt: skip
        if capture.depth > DEPTH:
            raise Refused(
                "recursion", "it ends where a tensor says so, which no graph can hold", "use a loop"
            )
        with frame:
            try:
                run(frame)
            except ThixoError as error:
                raise refusal_of(error) from error
            except Exception as error:
                if loop:
                    raise Refused(
                        f"raise {type(error).__name__}",
                        "every turn of a loop raises it",
                        "raise before the loop",
                    ) from error
                if capture.trying:
                    raise RaisedInTry(
                        f"raise {type(error).__name__}", "it is raised under a tensor's condition inside of try",
                        "return a value that says so",
                    ) from error  # fmt: skip
                fail(error)
                left.never = True
            if _core.is_grad_enabled() is not mode:
                raise Refused(
                    "set_grad_enabled",
                    "it is set under a tensor's condition",
                    "use a with around it",
                )
            seen: dict[int, Any] = {}
            values = () if get is None else get()
            left.variables = [freeze(v, capture, seen) for v in values]
            journal = capture.journal.levels[-1]
            after = {key: (cell, cell.read()) for key, (cell, _) in journal.items()}
            left.cells = {
                key: (cell, _content(value, capture, seen)) for key, (cell, value) in after.items()
            }
            frame.end()
            ended = True
    finally:
        capture.depth -= 1
        capture.began = began
        _core.set_grad_enabled(mode)
        capture.journal.take_back()
        if not ended:
            frame.restore()
        if put is not None:
            put(start)
    frame.hand_guards_on()
    left.tensors = {id(t): (t, new) for t, new in frame.written}
    return left


def _content(value: Any, capture: Any, seen: dict[int, Any]) -> Any:
    return freeze(value, capture, seen) if not isinstance(value, set) else value


def cond(test: Any, then: Any, other: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    """Trace both sides, merge what they leave, and append one node."""
    capture, outer = current(), current_trace()
    assert outer is not None
    pred = predicate(test)
    start = None if get is None else get()
    clock = capture.clock
    a = trace_branch("then", lambda frame: then(), get, put, start)
    b = trace_branch("other", lambda frame: other(), get, put, start)
    if a.never and b.never:
        raise Refused("if", "both sides raise an exception", "raise without a condition")
    results: tuple[list[Any], list[Any]] = ([], [])

    kept: list[tuple[int, Any, Any]] = []  # tensors among the results

    def out(x: Any, y: Any, both: Carry) -> list[int]:
        if both.mode in ("tensor", "mixed"):
            kept.append((len(results[0]), x, y))
        for side, value, left in ((0, x, a), (1, y, b)):
            with left.frame:
                results[side].extend(both.encode(value))
        return list(range(len(results[0]) - both.width, len(results[0])))

    merger = Merger(capture, out, clock)
    gone = [MISSING if side.never else None for side in (a, b)]

    def sides(x: Any, y: Any) -> tuple[Any, Any]:
        return (x if gone[0] is None else MISSING), (y if gone[1] is None else MISSING)

    variables = [
        merger.merge(*sides(x, y), _shown(n))
        for x, y, n in zip(a.variables, b.variables, names, strict=True)
    ]
    cells: list[tuple[Any, Any]] = []
    for key, (cell, _) in {**a.cells, **b.cells}.items():
        if capture.made_since(cell.owner, clock):
            continue
        now = freeze(cell.read(), capture)
        pair = [side.cells[key][1] if key in side.cells else now for side in (a, b)]
        if key not in a.cells or key not in b.cells:
            note_old(capture, cell)
        if isinstance(cell, Content) and not (a.never or b.never):
            if isinstance(pair[0], set) and isinstance(pair[1], set) and _is_small(pair):
                maker = merger.merge(*aligned_sets(*pair), str(cell))
                cells.append((cell, lambda values, maker=maker: as_set(maker(values))))
                continue
            if isinstance(cell.read(), set):
                poison = Poison("what is in a set differs between paths", user_line())
                pair = [pair[0] if pair[0] == pair[1] else poison] * 2
            if type(cell.owner) in (dict, defaultdict):
                pair = list(aligned(*pair))
        cells.append((cell, merger.merge(*sides(*pair), str(cell))))
    tensors = []
    copies = list(kept)
    for key, (tensor, _) in {**a.tensors, **b.tensors}.items():
        pair = [side.tensors[key][1] if key in side.tensors else tensor for side in (a, b)]
        tensors.append((tensor, merger.merge(*sides(*pair), "a tensor that is written")))
    graded = [x.requires_grad or y.requires_grad for x, y in zip(*results, strict=True)]
    if any(x.requires_grad != y.requires_grad for x, y in zip(*results, strict=True)):
        capture.some_graded = True
    values = _cond_node(outer, pred, (a.frame, b.frame), results, graded)
    made = [m(values) for m in variables]
    if put is not None:
        put(made)
    note_results(capture.copies, copies, values, (a.frame, b.frame))
    for cell, maker in cells:
        value = maker(values)
        if isinstance(value, Union) and isinstance(cell, Content):
            value = _different(value, str(cell))
        capture.journal.write(cell, value)
    for tensor, maker in tensors:
        new = maker(values)
        if isinstance(new, Poison):
            new.refuse("a write to a tensor")
        assign(outer, tensor, new, [a, b])


def _is_small(sets: Sequence[set[Any]]) -> bool:
    """Whether asking for each element that may be missing makes few branches."""
    return not any(isinstance(e, Maybe) for one in sets for e in one)


def _different(found: Union, name: str) -> Poison:
    """What is said of a container whose contents on two paths do not go together."""
    keys = [set(o) for o in found.options if isinstance(o, dict)]
    if len(keys) == 2 and keys[0] == keys[1]:
        return Poison(
            f"the keys of {name} are in another order on one path", user_line(), "add them in one order"
        )  # fmt: skip
    return Poison(f"what is in {name} differs between paths", user_line())


def assign(outer: Trace, tensor: Any, new: Any, sides: Sequence[Left]) -> None:
    """Write what branches or a loop's body wrote; past the tape where they did so under no_grad."""
    made = [(s.frame, s.tensors[id(tensor)][1]) for s in sides if id(tensor) in s.tensors]
    if not all(_is_past_tape(frame, new._value) for frame, new in made):
        outer.aliases.assign(tensor, new)
        return
    outer._ungraded.add(new._value)
    enabled = _core.set_grad_enabled(False)
    try:
        outer.aliases.assign(tensor, new)
    finally:
        _core.set_grad_enabled(enabled)


def _is_past_tape(frame: Inner, value: Any) -> bool:
    """Whether a tensor that became this had no write that the tape knows."""
    known = frame.known_to_the_tape(value)
    return known in frame._ungraded or (known is not value and known in frame.graph.inputs)


def _shown(name: str) -> str:
    return "the result" if name == "_result" else f"variable {name}"


def _cond_node(
    outer: Trace, pred: Any, frames: tuple[Inner, Inner], results: Any, graded: Sequence[bool]
) -> list[Any]:
    for frame, tensors in zip(frames, results, strict=True):
        with frame:
            for t in tensors:
                frame.output(t)
            frame.finish_body()
    captured = together(frames, 0)
    graphs = [f.graph for f in frames]
    return append(
        outer, COND, (outer.value_of(pred), *graphs), captured, graded, known_tensors(frames)
    )


def known_tensors(frames: Sequence[Inner]) -> dict[Any, Any]:
    """The tensors from outside that bodies use, by their values there."""
    return {value: t for frame in frames for value, t in frame.tensors.items()}


def append(
    outer: Trace,
    op: Any,
    args: Sequence[Any],
    captured: Sequence[Any],
    graded: Sequence[bool],
    tensors: Mapping[Any, Any],
    **named: Any,
) -> list[Any]:
    """Append a node of control flow; its results as tensors, with gradients where `graded` says so.

    `tensors` are those that it uses, by their values.
    """
    # Under no_grad a choice of tensors is these tensors, gradients and all; what is computed has none: bodies say so.
    enabled = _core.is_grad_enabled() or any(graded)
    if enabled:
        captured = [outer._with_gradient_cut(v) for v in captured]
        args = [_cut(outer, a) for a in args]
    try:
        outer.graph.call(op, *args, list(captured), source=outer.source or user_line(), **named)
    except ThixoError as error:
        raise refusal_of(error) from error
    node = outer.graph.nodes[-1]
    outer.noted(node)
    outer.own(node.outputs)
    made = [make_symbolic(value) for value in node.outputs]
    moving = []
    for tensor, value, wanted in zip(made, node.outputs, graded, strict=True):
        floating = value.type.dtype.is_floating_point or value.type.dtype.is_complex
        if not enabled and floating and outer.cuts:
            outer._ungraded.add(value)
        moving.append(wanted and floating)
        current().merged[id(tensor)] = weakref.ref(tensor)
    if any(moving):
        attach(outer, node, tensors, made, moving)
    return made


def _cut(outer: Trace, a: Any) -> Any:
    """Values that a loop begins with: those made under no_grad have no gradients."""
    if not isinstance(a, list) or not all(isinstance(v, Value) for v in a):
        return a
    return [outer._with_gradient_cut(v) for v in a]


def settled(test: Any) -> Any:
    """Something that is asked for its truth, as a tensor, a number or a plain object."""
    if isinstance(test, bool | Symbolic | _core.Tensor):
        return test
    if is_open_size(test):
        return Number("bool", as_tensor(test) != 0)
    if is_ragged(test):
        flags = [e.flag.tensor for e in test if isinstance(e, Maybe)]
        return True if len(flags) < len(test) else Number("bool", tx.any(tx.stack(flags)))
    if is_partial(test):
        look(current(), test, ragged=True)
        parts = test.values() if isinstance(test, dict) else test
        flags = [v.flag.tensor for v in parts if isinstance(v, Maybe)]
        return True if len(flags) < len(test) else Number("bool", tx.any(tx.stack(flags)))
    if isinstance(test, LOOKED):
        look(current(), test)
        return test
    for name in ("__bool__", "__len__"):
        method = getattr(type(test), name, None)
        if isinstance(method, FunctionType) and not isinstance(test, type | Dim):
            from thixo.capture.callees import call_function

            return call_function(method, (test,), {})
    return test


# ---- what rewritten code calls


def if_(test: Any, then: Any, other: Any, get: Get, put: Put, names: Sequence[str]) -> None:
    """An if statement."""
    test = settled(test)
    if decides(test):
        cond(test, then, other, get, put, names)
    elif test:
        then()
    else:
        other()


def ifexp(test: Any, then: Any, other: Any, get: Get, put: Put, names: Sequence[str]) -> Any:
    """`a if test else b`, with the variables that its parts set."""
    test = settled(test)
    if not decides(test):
        return then() if test else other()
    box: list[Any] = [None]

    def run(part: Any) -> Any:
        def branch() -> None:
            box[0] = part()

        return branch

    def get_all() -> tuple[Any, ...]:
        return (box[0], *(() if get is None else get()))

    def put_all(values: Any) -> None:
        box[0] = values[0]
        if put is not None:
            put(tuple(values[1:]))

    cond(test, run(then), run(other), get_all, put_all, ("the value of a choice", *names))
    return usable(box[0], "the value of a choice")


def and_(parts: Sequence[Any], get: Get, put: Put, names: Sequence[str]) -> Any:
    """`a and b and ...`"""
    x = parts[0]()
    if len(parts) == 1:
        return x
    test = settled(x)
    if not decides(test):
        return and_(parts[1:], get, put, names) if test else x
    return ifexp(
        test, lambda: and_(parts[1:], get, put, names), lambda: _settled(x, False), get, put, names
    )


def or_(parts: Sequence[Any], get: Get, put: Put, names: Sequence[str]) -> Any:
    """`a or b or ...`"""
    x = parts[0]()
    if len(parts) == 1:
        return x
    test = settled(x)
    if not decides(test):
        return x if test else or_(parts[1:], get, put, names)
    return ifexp(
        test, lambda: _settled(x, True), lambda: or_(parts[1:], get, put, names), get, put, names
    )


def _settled(x: Any, truth: bool) -> Any:
    """What a bool is where its truth is known; anything else is itself."""
    return truth if isinstance(x, Number) and x.kind == "bool" else x


def chain(
    ops: Sequence[str], parts: Sequence[Any], get: Get, put: Put, names: Sequence[str]
) -> Any:
    """`a < b < c`: each part once, no further than the first that is false."""
    from thixo.capture.operators import compare

    def step(i: int, left: Any) -> Any:
        right = parts[i + 1]()
        found = compare(ops[i], left, right)
        if i == len(ops) - 1:
            return found
        return and_([lambda: found, lambda: step(i + 1, right)], get, put, names)

    return step(0, parts[0]())


def not_(x: Any) -> Any:
    """`not x`"""
    test = settled(x)
    return Number("bool", tx.logical_not(predicate(test))) if decides(test) else not test


def usable(x: Any, name: str) -> Any:
    """A variable's value where it is read."""
    if isinstance(x, Maybe):
        from thixo.capture.effects import check

        text = f"cannot access local variable '{name}' where it is not associated with a value"
        check(x.flag.tensor, "UnboundLocalError", text)
        return usable(x.value, name)
    if isinstance(x, Unset):
        raise UnboundLocalError(
            f"cannot access local variable '{name}' where it is not associated with a value"
        )
    if isinstance(x, Poison):
        x.refuse(f"variable {name}" if name.isidentifier() else name)
    return x


__all__ = ["OPERATORS", "calculate", "cond", "if_", "ifexp"]
