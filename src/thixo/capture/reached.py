"""Which inputs a result depends on, where branches and turns of loops decide.

On the tape a tensor that was not used has no gradient, which is not the same as one of zeros: an optimizer passes it by. A
graph has all branches, so what was used is computed beside the results, as bool[] values: flags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo.autodiff.depending import flowing, has_gradient, is_differentiable
from thixo.dtype import bool as bool_
from thixo.graph.control import CALL, COND, FUSED, SCAN, SWITCH, WHILE_LOOP, draws
from thixo.graph.ir import Graph, Node, Type, Value, values_in
from thixo.ops.base import gradient_rules
from thixo.symbolic import Dim

# For each source (any key) that may be reached: True, or a value of the graph that says so.
Flags = dict[Any, Any]
_BOOL = Type(bool_, ())


def with_flags(graph: Graph, wanted: Sequence[int]) -> tuple[Graph, list[Flags]]:
    """A graph that also says which of the inputs at `wanted` its outputs depend on.

    The flags of an output are True, or the place of an output of the new graph. An input that never counts is not there.

    >>> def f(x, y):
    ...     return x * 2 if x.sum() > 0 else y * x
    >>> scripted = tx.jit.script(f)
    >>> _ = scripted(tx.ones(2), tx.ones(2))
    >>> graph, flags = with_flags(scripted.graph, [0, 1])
    >>> flags, graph.outputs[1]
    ([{0: True, 1: 1}], logical_not: bool[])
    """
    if not any(n.op.kind == "control" and n.outputs for n in graph.nodes):
        return graph, []
    sources: list[Flags] = [{} for _ in graph.inputs]
    for i in wanted:
        sources[i] = {i: True}
    made, found = Shadow(graph, sources).run()
    more: dict[Value, int] = {}
    count = len(made.outputs)
    shown = [
        {k: f if f is True else more.setdefault(f, count + len(more)) for k, f in flags.items()}
        for flags in found
    ]
    made.outputs = [*made.outputs, *more]
    return made, shown


class Shadow:
    """One graph with what its inputs depend on; nodes are added for flags that are not known."""

    def __init__(self, graph: Graph, sources: Sequence[Flags]) -> None:
        self.old = graph
        self.graph = made = Graph(graph.name)
        made.inputs, made.outputs = list(graph.inputs), list(graph.outputs)
        made.constants, made.guards = dict(graph.constants), list(graph.guards)
        made.mutations, made._names = dict(graph.mutations), dict(graph._names)
        self.flags: dict[Value, Flags] = dict(zip(graph.inputs, sources, strict=True))
        self._known: dict[Any, Value] = {}

    def run(self) -> tuple[Graph, list[Flags]]:
        """The graph, and what each output depends on."""
        for node in self.old.nodes:
            self._step(node)
        return self.graph, [self.flags.get(v, {}) for v in self.old.outputs]

    def _step(self, node: Node) -> None:
        step = _STEPS.get(node.op)
        if step is not None and any(self.flags.get(v) for v in values_in(node.args)):
            step(self, node)
            return
        self.graph.nodes.append(node)
        self.through(node)

    def through(self, node: Node) -> None:
        """What the results of a node without graphs, or of one that nothing reaches, depend on."""
        if not is_differentiable(node):
            return
        if node.op.kind == "control":
            read = list(values_in(node.args))
        else:
            places = {p for _, serves, _ in gradient_rules(node.op) for p in serves}
            read = list(values_in([node.args[p] for p in sorted(places)]))
        flags = self.union([self.flags.get(v, {}) for v in read if has_gradient(v.dtype)])
        if flags:
            self.give(node, [flags if flows else {} for flows in flowing(node)])

    def give(self, node: Node, flags: Sequence[Flags]) -> None:
        """What the results of a node depend on."""
        for value, one in zip(node.outputs, flags, strict=False):
            if one and self.counts(value):
                self.flags[value] = one

    def counts(self, value: Value) -> bool:
        """Whether a value may depend on anything."""
        return has_gradient(value.dtype)

    def beside(self, node: Node) -> list[Flags]:
        """What that depends on which a loop's body gets besides the state."""
        return [self.flags.get(v, {}) for v in loop_parts(node)[2]]

    def left(self, flags: list[Flags], count: int) -> list[Flags]:
        """What the results of a loop depend on whose body gives this: so many of state, then rows."""
        return flags

    # ---- flags

    def union(self, parts: Sequence[Flags]) -> Flags:
        """What something depends on that is made of some others."""
        parts = [p for p in parts if p]
        if len(parts) < 2:
            return parts[0] if parts else {}
        found: dict[Any, list[Any]] = {}
        for part in parts:
            for key, flag in part.items():
                found.setdefault(key, []).append(flag)
        return {key: self.either(flags) for key, flags in found.items()}

    def either(self, flags: Sequence[Any]) -> Any:
        """Whether one of some flags is set; False where there is none."""
        flags = [f for f in dict.fromkeys(flags) if f is not False]
        if any(f is True for f in flags):
            return True
        if not flags:
            return False
        made = flags[0]
        for one in flags[1:]:
            made = self._call("logical_or", made, one)
        return made

    def chosen(self, test: Value, then: Any, other: Any) -> Any:
        """One flag or another."""
        if then is other:
            return then
        if then is True:
            return test if other is False else self._call("logical_or", test, other)
        if other is True:
            never = self._call("logical_not", test)
            return never if then is False else self._call("logical_or", never, then)
        parts = []
        if then is not False:
            parts.append(self._call("logical_and", test, then))
        if other is not False:
            parts.append(self._call("logical_and", self._call("logical_not", test), other))
        return self.either(parts)

    def value(self, flag: Any) -> Value:
        """A flag as a value."""
        return flag if isinstance(flag, Value) else self._call("full", (), flag)

    def _call(self, op: str, *args: Any) -> Value:
        key = (op, *args)
        found = self._known.get(key)
        if found is None:
            named: dict[str, Any] = {"dtype": bool_} if op == "full" else {}
            found = self._known[key] = self.graph.call(op, *args, **named)
        return found

    # ---- graphs inside

    def inner(
        self, graphs: Sequence[Graph], inputs: Sequence[Value], flags: Sequence[Flags] | None = None
    ) -> tuple[Any, ...]:
        """The shadows of graphs that get some inputs, what each gives, and the flags that go in besides."""
        if flags is None:
            flags = [self.flags.get(v, {}) for v in inputs]
        going = list(dict.fromkeys(f for one in flags for f in one.values() if f is not True))
        made = []
        for graph in graphs:
            shadow = type(self)(graph, [{} for _ in graph.inputs])
            own = {f: shadow.graph.input("flag", _BOOL) for f in going}
            for value, one in zip(graph.inputs, flags, strict=True):
                shadow.flags[value] = {k: f if f is True else own[f] for k, f in one.items()}
            made.append((shadow, shadow.run()[1]))
        return [s for s, _ in made], [f for _, f in made], going


def _call_step(shadow: Shadow, node: Node) -> None:
    graph, inputs = node.args
    (one,), (flags,), going = shadow.inner([graph], inputs)
    more = list(dict.fromkeys(f for part in flags for f in part.values() if f is not True))
    if not more:
        shadow.graph.nodes.append(node)
        shadow.give(node, flags)
        return
    one.graph.outputs += more
    new = _extended(shadow, node, (one.graph, [*inputs, *going]), len(more))
    found = dict(zip(more, new.outputs[len(node.outputs) :], strict=True))
    shadow.give(new, [{k: f if f is True else found[f] for k, f in part.items()} for part in flags])


def _branch_step(shadow: Shadow, node: Node) -> None:
    is_cond = node.op is COND
    inputs = node.args[-1]
    graphs = node.args[1:3] if is_cond else node.args[1]
    shadows, flags, going = shadow.inner(graphs, inputs)
    more: dict[tuple[Any, ...], int] = {}  # flags of each branch -> the place of the result
    made: list[dict[Any, Any]] = []
    for at in range(len(node.outputs)):
        parts = [branch[at] for branch in flags]
        found: dict[Any, Any] = {}
        for key in dict.fromkeys(k for part in parts for k in part):
            each = tuple(part.get(key, False) for part in parts)
            if all(f is True for f in each):
                found[key] = True
            elif is_cond and all(isinstance(f, bool) for f in each):
                found[key] = each
            else:
                found[key] = more.setdefault(each, len(more))
        made.append(found)
    new = node
    if more:
        for i, one in enumerate(shadows):
            one.graph.outputs += [one.value(each[i]) for each in more]
        inner = [s.graph for s in shadows]
        args = (node.args[0], *inner) if is_cond else (node.args[0], inner)
        new = _extended(shadow, node, (*args, [*inputs, *going]), len(more))
    else:
        shadow.graph.nodes.append(node)
    extra = new.outputs[len(node.outputs) :]

    def of(flag: Any) -> Any:
        if isinstance(flag, tuple):
            return shadow.chosen(node.args[0], *flag)
        return flag if flag is True else extra[flag]

    shadow.give(new, [{k: of(f) for k, f in found.items()} for found in made])


def _extended(shadow: Shadow, node: Node, args: tuple[Any, ...], count: int) -> Node:
    """A node with other arguments and more results, which are flags."""
    more = [Value(shadow.graph.fresh_name("flag"), _BOOL) for _ in range(count)]
    made = Node(node.op, args, (*node.outputs, *more), node.source)
    shadow.graph.nodes.append(made)
    return made


def _loop_step(shadow: Shadow, node: Node) -> None:
    """A loop. Where each turn does the same, it counts only whether there was one; else flags are carried."""
    body, state, others = loop_parts(node)
    before = [shadow.flags.get(v, {}) for v in state]
    beside = shadow.beside(node)
    (_one,), (first,), _ = shadow.inner([body], [*state, *others], [*before, *beside])
    first = shadow.left(first, len(state))
    if any(f is not True for part in (*before, *first) for f in part.values()):
        _carry(shadow, node)
        return
    count = len(state)
    now = [
        dict.fromkeys(part, True) if shadow.counts(v) else {}
        for v, part in zip(state, first, strict=False)
    ]
    second = shadow.left(type(shadow)(body, [*now, *beside]).run()[1], count)
    if any(a.keys() != b.keys() for a, b in zip(first, second, strict=True)) or any(
        f is not True for part in second for f in part.values()
    ):
        _carry(shadow, node)
        return
    if all(a.keys() == b.keys() for a, b in zip(before, now, strict=True)) and len(first) == count:
        shadow.graph.nodes.append(node)
        shadow.give(node, before)
        return
    ran = _has_turns(shadow, node)
    if ran is None:
        _carry(shadow, node)
        return
    shadow.graph.nodes.append(node)
    if ran is True:
        shadow.give(node, first)
        return
    found = []
    for i, part in enumerate(first):
        old = before[i] if i < count else {}
        keys = dict.fromkeys((*old, *part))
        found.append({k: shadow.chosen(ran, k in part, k in old) for k in keys})
    shadow.give(node, found)


def loop_parts(node: Node) -> tuple[Graph, list[Value], list[Value]]:
    """The body, the state, and what a body gets besides: slices (as a whole), captured values."""
    if node.op is SCAN:
        body, state, slices, captured = node.args[:4]
        return body, state, [*slices, *captured]
    _, body, state, captured = node.args[:4]
    return body, state, captured


def _has_turns(shadow: Shadow, node: Node) -> Any:
    """Whether there is a turn: True, or a value; None where it cannot be asked."""
    if node.op is SCAN:
        length = node.args[4]
        low = length.bounds[0] if isinstance(length, Dim) else length
        return True if low is not None and low >= 1 else None
    test, _, state, captured = node.args[:4]
    return None if draws(test, {}) else shadow.graph.call(CALL, test, [*state, *captured])


def _carry(shadow: Shadow, node: Node) -> None:
    """A loop that carries a flag for each of its state and each source, and one for each row that it gives."""
    body, state, _others = loop_parts(node)
    count, rows = len(state), len(node.outputs) - len(state)
    before = [shadow.flags.get(v, {}) for v in state]
    beside = shadow.beside(node)
    keys = list(dict.fromkeys(k for part in (*before, *beside) for k in part))
    classes: dict[Any, list[Any]] = {}
    for key in keys:
        pattern = tuple(part.get(key, False) for part in (*before, *beside))
        classes.setdefault(pattern, []).append(key)
    moving = [i for i, v in enumerate(state) if shadow.counts(v)]
    start: list[Value] = []
    going = list(dict.fromkeys(f for part in beside for f in part.values() if f is not True))
    made = type(shadow)(body, [{} for _ in body.inputs])
    inputs = made.graph.inputs
    own_state, own_others = inputs[:count], inputs[count:]
    carried: list[Value] = []
    for c, pattern in enumerate(classes):
        for i in moving:
            start.append(shadow.value(pattern[i]))
            carried.append(Value(made.graph.fresh_name("flag"), _BOOL))
            made.flags[own_state[i]][c] = carried[-1]
        for _ in range(rows):
            start.append(shadow.value(False))
            carried.append(Value(made.graph.fresh_name("flag"), _BOOL))
    passed = {f: Value(made.graph.fresh_name("flag"), _BOOL) for f in going}
    for c, pattern in enumerate(classes):
        for value, flag in zip(own_others, pattern[count:], strict=True):
            if flag is not False:
                made.flags[value][c] = True if flag is True else passed[flag]
    made.graph.inputs = [*own_state, *carried, *own_others, *passed.values()]
    found = shadow.left(made.run()[1], count)
    new: list[Value] = []
    for c in range(len(classes)):
        new += [made.value(found[i].get(c, False)) for i in moving]
        for r in range(rows):
            old = carried[c * (len(moving) + rows) + len(moving) + r]
            new.append(made.value(made.either([old, found[count + r].get(c, False)])))
    outputs = made.graph.outputs
    made.graph.outputs = [*outputs[:count], *new, *outputs[count:]]
    values = [*state, *start]
    if node.op is SCAN:
        slices, captured = node.args[2:4]
        args = (made.graph, values, slices, [*captured, *going], *node.args[4:])
    else:
        test = _with_inputs(node.args[0], count, len(carried), len(going))
        args = (test, made.graph, values, [*node.args[3], *going], *node.args[4:])
    more = [Value(shadow.graph.fresh_name("flag"), _BOOL) for _ in new]
    outputs = [*node.outputs[:count], *more, *node.outputs[count:]]
    shadow.graph.nodes.append(Node(node.op, args, outputs, node.source))
    width = len(moving) + rows
    for c, names in enumerate(classes.values()):
        ends = more[c * width : (c + 1) * width]
        places = [*moving, *range(count, count + rows)]
        for place, flag in zip(places, ends, strict=True):
            if shadow.counts(node.outputs[place]):
                own = shadow.flags.setdefault(node.outputs[place], {})
                own.update((name, flag) for name in names)


def _with_inputs(test: Graph, at: int, carried: int, last: int) -> Graph:
    """A loop's test that also gets flags, which it does not look at."""
    made = Graph(test.name)
    made._names = dict(test._names)
    flags = [Value(made.fresh_name("flag"), _BOOL) for _ in range(carried + last)]
    made.inputs = [*test.inputs[:at], *flags[:carried], *test.inputs[at:], *flags[carried:]]
    made.constants, made.guards = dict(test.constants), list(test.guards)
    made.nodes, made.outputs = list(test.nodes), list(test.outputs)
    return made


_STEPS: dict[Any, Any] = {
    CALL: _call_step,
    FUSED: _call_step,
    COND: _branch_step,
    SWITCH: _branch_step,
    WHILE_LOOP: _loop_step,
    SCAN: _loop_step,
}
