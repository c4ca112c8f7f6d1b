"""A graph and its gradient as two graphs: one that runs forward, one that runs backward.

The forward graph returns what it did, then what the backward graph needs of what was computed on the way. The backward
graph takes inputs of the first that it needs, what was saved, and the gradients of the results.
"""

from collections.abc import Sequence
from typing import NamedTuple

from thixo.graph.ir import Graph, Value, values_in
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.graph.trace import remove_dead
from thixo.symbolic import Guard


class Halves(NamedTuple):
    """Both directions of a graph."""

    forward: Graph  # inputs -> outputs, saved
    backward: Graph  # inputs at the places `kept`, saved, gradients of outputs at `given` -> gradients at `wanted`
    kept: tuple[int, ...]
    saved: int
    given: tuple[int, ...]
    wanted: tuple[int, ...]
    # Flags (`used.py`): those of `given` at some places come in after the gradients; of `asked` it is known whether they were
    # used (a bool), or the backward graph says it after the gradients (a place there).
    flagged: tuple[int, ...] = ()
    asked: tuple[bool | int, ...] = ()


def differentiate(
    graph: Graph,
    wanted: Sequence[int],
    given: Sequence[int],
    kept_turns: int | None,
    flagged: Sequence[int] = (),
    asked: Sequence[int] = (),
) -> Halves:
    """Both directions, for gradients by the inputs at `wanted` where the outputs at `given` have some.

    The gradients of the outputs at `flagged` have flags; of the inputs at `asked` it is asked whether they were used.
    """
    from thixo.autodiff.reverse import Reverse
    from thixo.autodiff.used import BOOL

    joint = graph.copy()
    inputs = list(joint.inputs)
    outputs = list(joint.outputs)
    seeds = [joint.input(f"g_{outputs[i].name}", outputs[i].type) for i in given]
    flags = {given.index(i): joint.input(f"used_{outputs[i].name}", BOOL) for i in flagged}
    chosen = [inputs[i] for i in asked]
    pass_back = Reverse(joint, [inputs[i] for i in wanted], kept_turns, chosen)
    gradients = pass_back.run([outputs[i] for i in given], seeds, flags, chosen)
    seeds += flags.values()
    told = {f: None for f in pass_back.asked if not isinstance(f, bool)}
    places = {f: len(gradients) + i for i, f in enumerate(told)}
    gradients += told
    count = pass_back.forward_nodes
    first, second = joint.nodes[:count], joint.nodes[count:]

    read = {v for node in second for v in values_in(node.args)} | set(gradients)
    saved = [v for node in first for v in node.outputs if v in read]
    kept = [i for i, v in enumerate(inputs) if v in read]
    backward = Graph(f"{graph.name}_backward")
    backward.nodes = second
    backward.outputs = gradients
    backward.constants = dict(joint.constants)
    backward.inputs = [*inputs, *saved, *seeds]  # sizes are known from any of them
    remove_dead(backward)
    kept += carriers(backward, inputs, kept, [*saved, *seeds])
    backward.inputs = [*(inputs[i] for i in kept), *saved, *seeds]

    forward = Graph(f"{graph.name}_forward")
    forward.inputs = inputs
    forward.nodes = first
    forward.outputs = [*outputs, *saved]
    forward.constants = dict(joint.constants)
    for half in (forward, backward):
        remove_dead(half)
        half._names = dict(joint._names)
        half.guards = guards_within(joint.guards, half)
    return Halves(
        forward.copy(),
        backward.copy(),
        tuple(kept),
        len(saved),
        tuple(given),
        tuple(wanted),
        tuple(flagged),
        tuple([f if isinstance(f, bool) else places[f] for f in pass_back.asked]),
    )


def _plain(value: Value) -> list[str]:
    return [n for s in value.type.shape if (n := symbol_name(s)) is not None]


def _bound(values: Sequence[Value]) -> set[str]:
    return {name for v in values for name in _plain(v)}


def unbound_sizes(graph: Graph, given: Sequence[Value]) -> list[str]:
    """The sizes that a graph needs and none of the values that it is given says."""
    bound = _bound(given)
    # Also an input of n + 1 elements needs another that says what n is.
    sizes = (s for v in given for s in v.type.shape)
    missing = {n: None for s in sizes for n in symbols_in(s) if n not in bound}
    for node in graph.nodes:
        made = [s for v in node.outputs for s in v.type.shape]
        for size in (*made, *sizes_in(node.args)):
            for name in symbols_in(size):
                if name not in bound:
                    missing.setdefault(name)
        bound.update(n for v in node.outputs for n in _plain(v) if n not in missing)
    return list(missing)


def carriers(
    graph: Graph, inputs: Sequence[Value], kept: Sequence[int], others: Sequence[Value]
) -> list[int]:
    """Inputs that a graph needs only because their types say how large something is."""
    found: list[int] = []
    for name in unbound_sizes(graph, [*(inputs[i] for i in kept), *others]):
        place = next((i for i, v in enumerate(inputs) if name in _plain(v)), None)
        if place is not None and place not in found and place not in kept:
            found.append(place)
    return found


def guards_within(guards: Sequence[Guard], half: Graph) -> list[Guard]:
    """Those of a graph's guards that speak of sizes which a part of it knows."""
    bound = _bound(half.inputs)
    bound.update(n for node in half.nodes for v in node.outputs for n in _plain(v))
    return [g for g in guards if all(n in bound for s in (g.left, g.right) for n in symbols_in(s))]
