"""Gradients of control flow: each operator's graphs are differentiated, and the same operator runs them back.

What the way back needs becomes further results of the way forward: of a branch as they are (zeros for the branch that
was not taken), of a scan stacked, of a while loop in lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thixo.autodiff.partition import Halves, differentiate
from thixo.errors import AutogradError
from thixo.graph.control import CALL, COND, SCAN, SWITCH
from thixo.graph.control_types import instantiate
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.graph.sizes import symbol_name, symbols_in
from thixo.graph.trace import Trace, make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim, Size

if TYPE_CHECKING:
    from thixo.autodiff.reverse import Reverse


def _halves(reverse: Reverse, graph: Graph, wanted: Sequence[int], given: Sequence[int]) -> Halves:
    """Both directions of a graph; equal graphs are differentiated once."""
    key = (id(graph), tuple(wanted), tuple(given))
    found = reverse.known.get(key)
    if found is None:
        found = reverse.known[key] = (graph, differentiate(graph, wanted, given))  # keeps the graph alive
    return found[1]


def _extend(reverse: Reverse, node: Node, args: tuple[Any, ...], types: Sequence[Type]) -> list[Value]:
    """Give a forward node other arguments and more results."""
    trace, graph = reverse.trace, reverse.graph
    for type in types:
        graph._reserve_symbols(type)
    more = [Value(graph.fresh_name("saved"), type) for type in types]
    node.args = args
    node.outputs = (*node.outputs, *more)
    trace.own(more)
    return more


def _places(values: Sequence[Value], among: Any) -> list[int]:
    return [i for i, v in enumerate(values) if v in among]


def _record(trace: Trace, op: Any, *args: Any, **kwargs: Any) -> list[Value]:
    made = trace.graph.call(op, *args, source=trace.source, **kwargs)
    found = list(made) if isinstance(made, tuple) else [made]
    trace.own(found)
    return found


# ---- call


def _call_rule(reverse: Reverse, node: Node) -> None:
    graph, inputs = node.args
    wanted = _places(inputs, reverse.active)
    given = _places(node.outputs, reverse.gradients)
    halves = _halves(reverse, graph, wanted, given)
    count = len(node.outputs)
    types = instantiate(halves.forward, [v.type for v in inputs], "call")[count:]
    outputs = node.outputs
    saved = _extend(reverse, node, (halves.forward, inputs), types)
    gradients = [reverse.trace.value_of(reverse.gradient(outputs[i])) for i in given]
    kept = [inputs[i] for i in halves.kept]
    found = _record(reverse.trace, CALL, halves.backward, [*kept, *saved, *gradients])
    for i, value in zip(wanted, found, strict=True):
        reverse.add(inputs[i], reverse.tensor(value))


# ---- cond, switch


def _cond_rule(reverse: Reverse, node: Node) -> None:
    pred, then, other, inputs = node.args
    forwards, run_back = _branch_rule(reverse, node, [then, other], inputs)
    saved = _extend(reverse, node, (pred, *forwards.graphs, inputs), forwards.types)
    run_back(lambda backwards, values: _record(reverse.trace, COND, pred, *backwards, values), saved)


def _switch_rule(reverse: Reverse, node: Node) -> None:
    index, branches, inputs = node.args
    forwards, run_back = _branch_rule(reverse, node, branches, inputs)
    saved = _extend(reverse, node, (index, forwards.graphs, inputs), forwards.types)
    run_back(lambda backwards, values: _record(reverse.trace, SWITCH, index, backwards, values), saved)


class _Forwards:
    """Branches that return what the way back needs, of all branches; and the types of that."""

    def __init__(self, graphs: list[Graph], types: list[Type]) -> None:
        self.graphs = graphs
        self.types = types


def _branch_rule(reverse: Reverse, node: Node, branches: Sequence[Graph], inputs: list[Value]) -> Any:
    wanted = _places(inputs, reverse.active)
    given = _places(node.outputs, reverse.gradients)
    outputs = node.outputs
    halves = [_halves(reverse, b, wanted, given) for b in branches]
    closed = _closed([v.type for v in inputs])
    count = len(outputs)
    saved = [instantiate(h.forward, closed, "cond")[count:] for h in halves]
    bound = {n for t in closed for s in t.shape for n in symbols_in(s)}
    # A size that only the taken branch knows: nothing is saved, the way back computes the branch once more.
    again = any(n not in bound for types in saved for t in types for s in t.shape for n in symbols_in(s))
    if again:
        graphs = list(branches)
        outer: list[Type] = []
    else:
        graphs = [_with_all_saved(h, closed, saved, k) for k, h in enumerate(halves)]
        outer = instantiate(graphs[0], [v.type for v in inputs], "cond")[count:]

    def run_back(record: Any, more: list[Value]) -> None:
        gradients = [reverse.trace.value_of(reverse.gradient(outputs[i])) for i in given]
        values = [*inputs, *more, *gradients]
        types = _closed([v.type for v in values])
        backwards = [
            _branch_back(h, types, len(inputs), [len(s) for s in saved], k, again)
            for k, h in enumerate(halves)
        ]
        for i, value in zip(wanted, record(backwards, values), strict=True):
            reverse.add(inputs[i], reverse.tensor(value))

    return _Forwards(graphs, outer), run_back


def _with_all_saved(halves: Halves, types: list[Type], saved: list[list[Type]], which: int) -> Graph:
    """A branch that returns its results, then what every branch saves: its own, and zeros."""
    with Trace(f"{halves.forward.name}_all") as trace:
        inputs = [trace.value_of(trace.input(f"x{i}", t)) for i, t in enumerate(types)]
        made = _record(trace, CALL, halves.forward, inputs)
        count = len(made) - halves.saved
        trace.graph.outputs = made[:count]
        for k, group in enumerate(saved):
            if k == which:
                trace.graph.outputs += made[count:]
            else:
                zeros = [tx.zeros(tuple(t.shape), dtype=t.dtype) for t in group]
                trace.graph.outputs += [trace.value_of(z) for z in zeros]
    return trace.finish()


def _branch_back(
    halves: Halves, types: list[Type], inputs: int, saved: list[int], which: int, again: bool
) -> Graph:
    """The way back of one branch, from all inputs, all that was saved, and the gradients."""
    with Trace(f"{halves.backward.name}_all") as trace:
        given = [trace.value_of(trace.input(f"x{i}", t)) for i, t in enumerate(types)]
        if again:
            made = _record(trace, CALL, halves.forward, given[:inputs])
            own, seeds = made[len(made) - halves.saved :], given[inputs:]
        else:
            start = inputs + sum(saved[:which])
            own, seeds = given[start : start + saved[which]], given[inputs + sum(saved) :]
        kept = [given[i] for i in halves.kept]
        trace.graph.outputs = _record(trace, CALL, halves.backward, [*kept, *own, *seeds])
    return trace.finish()


def _closed(types: Sequence[Type]) -> list[Type]:
    """The types as those of a graph's inputs: each size is a symbol, or made of such."""
    bound = {n for t in types for s in t.shape if (n := symbol_name(s)) is not None}
    new: dict[str, Dim] = {}

    def size(s: Size) -> Size:
        if not isinstance(s, Dim) or all(n in bound for n in s.symbols):
            return s
        low, high = s.bounds
        return new.setdefault(str(s), Dim(f"s{len(new)}", s.hint, low or 0, high))

    return [Type(t.dtype, [size(s) for s in t.shape], t.device) for t in types]


# ---- scan


def _scan_rule(reverse: Reverse, node: Node) -> None:
    body, state, slices, captured, length, back = node.args
    n, m = len(state), len(slices)
    active = _active_state(body, [v in reverse.active for v in (*state, *slices, *captured)], n)
    wanted = [i for i, a in enumerate(active) if a]
    states = [i for i in wanted if i < n]
    outputs = node.outputs
    stacked = [i for i in range(n, len(outputs)) if outputs[i] in reverse.gradients]
    halves = _halves(reverse, body, wanted, [*states, *stacked])
    kept_states = [i for i in halves.kept if i < n]
    kept_slices = [i for i in halves.kept if n <= i < n + m]
    kept_captured = [i for i in halves.kept if i >= n + m]

    forward = _scan_forward(halves, kept_states)
    saved_types = [
        Type(t.dtype, (length, *t.shape), t.device) for t in _saved_types(forward, node, len(outputs))
    ]
    saved = _extend(
        reverse, node, (forward, state, slices, captured, length, back), saved_types
    )
    way_back = _scan_backward(halves, kept_states, kept_slices, kept_captured, n, m)
    trace = reverse.trace
    carried = [trace.value_of(reverse.gradient(outputs[i])) for i in states]
    sums = [trace.value_of(reverse.zeros(captured[i - n - m])) for i in wanted if i >= n + m]
    found = _record(
        trace,
        SCAN,
        way_back,
        [*carried, *sums],
        [
            *saved,
            *(slices[i - n] for i in kept_slices),
            *(trace.value_of(reverse.gradient(outputs[i])) for i in stacked),
        ],
        [captured[i - n - m] for i in kept_captured],
        length=length,
        reverse=not back,
    )
    gradients = [found[i] for i in range(len(carried))]
    rows = found[len(carried) + len(sums) :]
    added = found[len(carried) : len(carried) + len(sums)]
    targets = [
        *((state[i], g) for i, g in zip(states, gradients, strict=True)),
        *zip((slices[i - n] for i in wanted if n <= i < n + m), rows, strict=True),
        *zip((captured[i - n - m] for i in wanted if i >= n + m), added, strict=True),
    ]
    for target, value in targets:
        reverse.add(target, reverse.tensor(value))


def _active_state(body: Graph, active: list[bool], n: int) -> list[bool]:
    """Which inputs of a body gradients flow to, with the state that gets some on the way round."""
    from thixo.autodiff.reverse import Reverse

    active = list(active)
    while True:
        flowing = Reverse(body, [v for v, a in zip(body.inputs, active, strict=True) if a]).active
        more = [body.outputs[i] in flowing and not active[i] for i in range(n)]
        if not any(more):
            return active
        for i, new in enumerate(more):
            active[i] = active[i] or new


def _saved_types(forward: Graph, node: Node, count: int) -> list[Type]:
    body, state, slices, captured, _, _ = node.args
    rows = [Type(v.type.dtype, v.type.shape[1:], v.type.device) for v in slices]
    given = [*(v.type for v in state), *rows, *(v.type for v in captured)]
    return instantiate(forward, given, "scan")[count:]


def _scan_forward(halves: Halves, kept_states: list[int]) -> Graph:
    """The body, which also returns the state that it got, where the way back asks for it."""
    forward = halves.forward.copy()
    forward.outputs = [*forward.outputs, *(forward.inputs[i] for i in kept_states)]
    return forward


def _scan_backward(
    halves: Halves,
    kept_states: list[int],
    kept_slices: list[int],
    kept_captured: list[int],
    n: int,
    m: int,
) -> Graph:
    """The body of the way back: (gradients of state, sums for captured), (saved, slices, gradients), captured."""
    backward = halves.backward
    kept = {i: v for i, v in zip(halves.kept, backward.inputs, strict=False)}
    own = backward.inputs[len(halves.kept) : len(halves.kept) + halves.saved]
    seeds = backward.inputs[len(halves.kept) + halves.saved :]
    states = [i for i in halves.wanted if i < n]
    sums = [i for i in halves.wanted if i >= n + m]
    with Trace(f"{backward.name}_step") as trace:
        new: dict[Value, Value] = {}

        def take(name: str, value: Value) -> None:
            new[value] = trace.value_of(trace.input(name, value.type))

        for seed in seeds[: len(states)]:
            take(seed.name, seed)
        totals = [
            trace.input(f"sum{i}", halves.forward.inputs[i].type) for i in sums
        ]
        for value in (*own, *(kept[i] for i in kept_states), *(kept[i] for i in kept_slices)):
            take(value.name, value)
        for seed in seeds[len(states) :]:
            take(seed.name, seed)
        for i in kept_captured:
            take(kept[i].name, kept[i])
        found = _record(trace, CALL, backward, [new[v] for v in backward.inputs])
        by_place = dict(zip(halves.wanted, found, strict=True))
        trace.graph.outputs = [by_place[i] for i in states]
        for i, total in zip(sums, totals, strict=True):
            trace.graph.outputs.append(trace.value_of(tx.add(total, make_symbolic(by_place[i]))))
        trace.graph.outputs += [by_place[i] for i in halves.wanted if n <= i < n + m]
    return trace.finish()


def _while_rule(reverse: Reverse, node: Node) -> None:
    raise AutogradError("gradients of while_loop: not there yet")


CONTROL_RULES = {
    "call": _call_rule,
    "cond": _cond_rule,
    "switch": _switch_rule,
    "scan": _scan_rule,
    "while_loop": _while_rule,
}
