"""Gradients of control flow: each operator's graphs are differentiated, and the same operator runs them back.

What the way back needs becomes further results of the way forward: of a branch as they are (zeros for the branch that
was not taken), of a loop stacked; see `loops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thixo.autodiff.loops import need_no_draws, scan_rule, while_rule
from thixo.autodiff.partition import Halves
from thixo.autodiff.recording import (
    both_halves,
    closed_types,
    extend,
    further_types,
    places,
    record,
)
from thixo.autodiff.used import ALWAYS, Use
from thixo.dtype import bool as bool_
from thixo.graph.control import CALL, COND, SWITCH
from thixo.graph.control_types import instantiate
from thixo.graph.effects import without_effects
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.graph.sizes import symbols_in
from thixo.graph.trace import Trace, make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim, same

if TYPE_CHECKING:
    from thixo.autodiff.reverse import Reverse


# ---- call


def _call_rule(reverse: Reverse, node: Node) -> None:
    graph, inputs = node.args
    wanted = places(inputs, reverse.active)
    given = places(node.outputs, reverse.gradients)
    flagged, asked = _flags(reverse, node.outputs, given, inputs, wanted)
    halves = both_halves(reverse, graph, wanted, given, flagged, asked)
    types = further_types(node, instantiate(halves.forward, [v.type for v in inputs], "call"))
    outputs = node.outputs
    saved = extend(reverse, node, (halves.forward, inputs), types)
    kept = [inputs[i] for i in halves.kept]
    seeds = _seeds(reverse, outputs, given, flagged)
    found = record(reverse.trace, CALL, halves.backward, [*kept, *saved, *seeds])
    uses = {
        i: Use(f if isinstance(f, bool) else reverse.tensor(found[f]))
        for i, f in zip(asked, halves.asked, strict=True)
    }
    _give(reverse, inputs, wanted, found, uses)


def _flags(
    reverse: Reverse,
    outputs: Sequence[Value],
    given: Sequence[int],
    inputs: Sequence[Value],
    wanted: Sequence[int],
) -> tuple[list[int], list[int]]:
    """The results whose gradients have flags, and the inputs of which it is asked whether they were used."""
    flagged = [i for i in given if reverse.uses.of(outputs[i]).flag is not True]
    return flagged, [i for i in wanted if reverse.uses.matter(inputs[i])]


def _seeds(
    reverse: Reverse, outputs: Sequence[Value], given: Sequence[int], flagged: Sequence[int]
) -> list[Value]:
    """The gradients of some results, then the flags of some."""
    uses = reverse.uses
    seeds = [reverse.trace.value_of(uses.clean(outputs[i])) for i in given]
    return seeds + [uses.value(uses.of(outputs[i]).flag) for i in flagged]


def _give(
    reverse: Reverse,
    inputs: Sequence[Value],
    wanted: Sequence[int],
    found: Sequence[Value],
    uses: dict[int, Use],
) -> None:
    """Hand gradients to inputs; what is never used gets none."""
    for i, value in zip(wanted, found, strict=False):
        use = uses.get(i, ALWAYS)
        if use.flag is not False:
            reverse.add(inputs[i], reverse.tensor(value), use)


def _fused_rule(reverse: Reverse, node: Node) -> None:
    # What it now has to give as well may not fit into one kernel: passes put it together anew.
    node.op = CALL
    _call_rule(reverse, node)


# ---- cond, switch


def _cond_rule(reverse: Reverse, node: Node) -> None:
    pred, then, other, inputs = node.args
    forwards, types, run_back = _branch_rule(reverse, node, [then, other], inputs)
    saved = extend(reverse, node, (pred, *forwards, inputs), types)
    run_back(
        lambda backwards, values: record(reverse.trace, COND, pred, *backwards, values),
        saved,
        lambda flags: reverse.uses.chosen(pred, *flags),
    )


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
    flagged, asked = _flags(reverse, outputs, given, inputs, wanted)
    halves = [both_halves(reverse, b, wanted, given, flagged, asked) for b in branches]
    closed = closed_types([v.type for v in inputs])
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
        for branch in branches:
            need_no_draws(branch)
        graphs = list(branches)
        outer: list[Type] = []
    else:
        graphs = [_with_all_saved(h, closed, saved, k) for k, h in enumerate(halves)]
        outer = instantiate(graphs[0], [v.type for v in inputs], "cond")[count:]

    def run_back(record: Any, more: list[Value], chosen: Any = None) -> None:
        seeds = _seeds(reverse, outputs, given, flagged)
        values = [*inputs, *more, *seeds]
        types = closed_types([v.type for v in values])
        told: dict[tuple[bool | int, ...], int] = {}  # flags of all branches -> which result
        for each in zip(*(h.asked for h in halves), strict=True):
            plain = all(isinstance(f, bool) for f in each)
            if not plain or (chosen is None and len(set(each)) > 1):
                told.setdefault(each, len(wanted) + len(told))
        backwards = [
            _branch_back(
                h, types, len(inputs), [len(s) for s in saved], k, again, [made[k][i] for i in given], given,
                [each[k] for each in told],
            )
            for k, h in enumerate(halves)
        ]  # fmt: skip
        found = record(backwards, values)
        uses: dict[int, Use] = {}
        for i, *flags in zip(asked, *(h.asked for h in halves), strict=True):
            place = told.get(tuple(flags))
            if place is not None:
                uses[i] = Use(reverse.tensor(found[place]))
            else:
                uses[i] = Use(flags[0] if len(set(flags)) == 1 else chosen(flags))
        _give(reverse, inputs, wanted, found, uses)

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
    told: Sequence[bool | int],
) -> Graph:
    """The way back of one branch, from all inputs, all that was saved, and the gradients of results of these shapes.

    It gives gradients, then what it is to tell of their flags.
    """
    with Trace(f"{halves.backward.name}_all") as trace:
        given = [trace.value_of(trace.input(f"x{i}", t)) for i, t in enumerate(types)]
        if again:
            made = record(trace, CALL, without_effects(halves.forward), given[:inputs])
            own, seeds = made[len(made) - halves.saved :], given[inputs:]
            shapes = [made[i].type for i in places]
        else:
            start = inputs + sum(saved[:which])
            own, seeds = given[start : start + saved[which]], given[inputs + sum(saved) :]
        kept = [given[i] for i in halves.kept]
        flags = seeds[len(shapes) :]
        seeds = [_sized(trace, seed, shape) for seed, shape in zip(seeds, shapes, strict=False)]
        found = record(trace, CALL, halves.backward, [*kept, *own, *seeds, *flags])
        trace.graph.outputs = found[: len(halves.wanted)]
        for flag in told:
            if isinstance(flag, bool):
                known = trace.value_of(tx.full((), flag, dtype=bool_))
            else:
                known = found[flag]
            trace.graph.outputs.append(known)
    return trace.finish()


def _sized(trace: Trace, seed: Value, wanted: Type) -> Value:
    """A gradient whose sizes only the branch knows: it has as many rows as the branch made."""
    for axis, (has, size) in enumerate(zip(seed.type.shape, wanted.shape, strict=True)):
        if isinstance(has, Dim) and has.hint is None and not same(has, size):
            rows = tx.index_select(make_symbolic(seed), axis, tx.arange(size))
            seed = trace.value_of(rows)
    return seed


def _show_rule(reverse: Reverse, node: Node) -> None:
    use = reverse.uses.settle(node.outputs)
    reverse.add(node.args[0], reverse.gradient(node.outputs[0]), use)


# ---- gradients of users' own


def _own_rule(reverse: Reverse, node: Node) -> None:
    back, values, inputs, kept = node.args
    use = reverse.uses.settle(node.outputs)
    if use.flag is not True:
        use = Use(use.flag, True)
    gradients = [reverse.trace.value_of(reverse.gradient(v)) for v in node.outputs]
    shown = dict(zip(values, node.outputs, strict=True))  # as which gradients reach them
    found = record(reverse.trace, CALL, back, [*gradients, *(shown.get(v, v) for v in kept)])
    for value, gradient in zip(inputs, found, strict=True):
        reverse.add(value, reverse.tensor(gradient), use)


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
