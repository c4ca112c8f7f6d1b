"""Gradients of control flow: each operator's graphs are differentiated, and the same operator runs them back.

What the way back needs becomes further results of the way forward: of a branch as they are (zeros for the branch that
was not taken), of a loop stacked; see `loops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thixo.autodiff.loops import scan_rule, while_rule
from thixo.autodiff.partition import Halves
from thixo.autodiff.recording import both_halves, extend, further_types, places, record
from thixo.graph.control import CALL, COND, SWITCH
from thixo.graph.control_types import instantiate
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.graph.sizes import symbol_name, symbols_in
from thixo.graph.trace import Trace, make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim, Size, same

if TYPE_CHECKING:
    from thixo.autodiff.reverse import Reverse


# ---- call


def _call_rule(reverse: Reverse, node: Node) -> None:
    graph, inputs = node.args
    wanted = places(inputs, reverse.active)
    given = places(node.outputs, reverse.gradients)
    halves = both_halves(reverse, graph, wanted, given)
    types = further_types(node, instantiate(halves.forward, [v.type for v in inputs], "call"))
    outputs = node.outputs
    saved = extend(reverse, node, (halves.forward, inputs), types)
    gradients = [reverse.trace.value_of(reverse.gradient(outputs[i])) for i in given]
    kept = [inputs[i] for i in halves.kept]
    found = record(reverse.trace, CALL, halves.backward, [*kept, *saved, *gradients])
    for i, value in zip(wanted, found, strict=True):
        reverse.add(inputs[i], reverse.tensor(value))


def _fused_rule(reverse: Reverse, node: Node) -> None:
    # What it now has to give as well may not fit into one kernel: passes put it together anew.
    node.op = CALL
    _call_rule(reverse, node)


# ---- cond, switch


def _cond_rule(reverse: Reverse, node: Node) -> None:
    pred, then, other, inputs = node.args
    forwards, types, run_back = _branch_rule(reverse, node, [then, other], inputs)
    saved = extend(reverse, node, (pred, *forwards, inputs), types)
    run_back(lambda backwards, values: record(reverse.trace, COND, pred, *backwards, values), saved)


def _switch_rule(reverse: Reverse, node: Node) -> None:
    index, branches, inputs = node.args
    forwards, types, run_back = _branch_rule(reverse, node, branches, inputs)
    saved = extend(reverse, node, (index, forwards, inputs), types)
    run_back(
        lambda backwards, values: record(reverse.trace, SWITCH, index, backwards, values), saved
    )


def _branch_rule(
    reverse: Reverse, node: Node, branches: Sequence[Graph], inputs: list[Value]
) -> Any:
    """Branches that return what the way back needs, of all branches; the types of that; what records the way back."""
    wanted = places(inputs, reverse.active)
    given = places(node.outputs, reverse.gradients)
    outputs = node.outputs
    halves = [both_halves(reverse, b, wanted, given) for b in branches]
    closed = _closed([v.type for v in inputs])
    count = len(outputs)
    saved = [instantiate(h.forward, closed, "cond")[count:] for h in halves]
    bound = {n for t in closed for s in t.shape for n in symbols_in(s)}
    # A size that only the taken branch knows: nothing is saved, the way back computes the branch once more.
    made = [instantiate(b, closed, "cond") for b in branches]
    again = any(
        n not in bound
        for types in (*saved, *([types[i] for i in given] for types in made))
        for t in types
        for s in t.shape
        for n in symbols_in(s)
    )
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
            _branch_back(
                h, types, len(inputs), [len(s) for s in saved], k, again, [made[k][i] for i in given], given
            )
            for k, h in enumerate(halves)
        ]  # fmt: skip
        for i, value in zip(wanted, record(backwards, values), strict=True):
            reverse.add(inputs[i], reverse.tensor(value))

    return graphs, outer, run_back


def _with_all_saved(
    halves: Halves, types: list[Type], saved: list[list[Type]], which: int
) -> Graph:
    """A branch that returns its results, then what every branch saves: its own, and zeros."""
    with Trace(f"{halves.forward.name}_all") as trace:
        inputs = [trace.value_of(trace.input(f"x{i}", t)) for i, t in enumerate(types)]
        made = record(trace, CALL, halves.forward, inputs)
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
    halves: Halves,
    types: list[Type],
    inputs: int,
    saved: list[int],
    which: int,
    again: bool,
    shapes: list[Type],
    places: Sequence[int],
) -> Graph:
    """The way back of one branch, from all inputs, all that was saved, and the gradients of results of these shapes."""
    with Trace(f"{halves.backward.name}_all") as trace:
        given = [trace.value_of(trace.input(f"x{i}", t)) for i, t in enumerate(types)]
        if again:
            made = record(trace, CALL, halves.forward, given[:inputs])
            own, seeds = made[len(made) - halves.saved :], given[inputs:]
            shapes = [made[i].type for i in places]
        else:
            start = inputs + sum(saved[:which])
            own, seeds = given[start : start + saved[which]], given[inputs + sum(saved) :]
        kept = [given[i] for i in halves.kept]
        seeds = [_sized(trace, seed, shape) for seed, shape in zip(seeds, shapes, strict=True)]
        trace.graph.outputs = record(trace, CALL, halves.backward, [*kept, *own, *seeds])
    return trace.finish()


def _sized(trace: Trace, seed: Value, wanted: Type) -> Value:
    """A gradient whose sizes only the branch knows: it has as many rows as the branch made."""
    for axis, (has, size) in enumerate(zip(seed.type.shape, wanted.shape, strict=True)):
        if isinstance(has, Dim) and has.hint is None and not same(has, size):
            rows = tx.index_select(make_symbolic(seed), axis, tx.arange(size))
            seed = trace.value_of(rows)
    return seed


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


def _show_rule(reverse: Reverse, node: Node) -> None:
    reverse.add(node.args[0], reverse.gradient(node.outputs[0]))


# ---- gradients of users' own


def _own_rule(reverse: Reverse, node: Node) -> None:
    back, values, inputs, kept = node.args
    gradients = [reverse.trace.value_of(reverse.gradient(v)) for v in node.outputs]
    shown = dict(zip(values, node.outputs, strict=True))  # as which gradients reach them
    found = record(reverse.trace, CALL, back, [*gradients, *(shown.get(v, v) for v in kept)])
    for value, gradient in zip(inputs, found, strict=True):
        reverse.add(value, reverse.tensor(gradient))


CONTROL_RULES = {
    "own_gradient": _own_rule,
    "show": _show_rule,
    "call": _call_rule,
    "fused": _fused_rule,
    "cond": _cond_rule,
    "switch": _switch_rule,
    "scan": scan_rule,
    "while_loop": while_rule,
}
