"""Gradients of loops.

A scan is differentiated by its body: what the way back needs of each turn is stacked, and a scan from the other end goes
through it. A while loop is the same with a length that the data decide. So that a long one does not keep every turn, it is
cut before: its first turns are kept, the rest runs in segments of segments. Of a segment only the state at its start
is kept, and the way back runs it once more: 10,000 turns keep about a hundred states. How many turns may be kept is the
caller's to say (`kept_turns`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thixo.autodiff.partition import Halves, guards_within
from thixo.autodiff.recording import both_halves, extend, record
from thixo.autodiff.used import ALWAYS, BOOL, Use
from thixo.dtype import bool as bool_
from thixo.errors import GraphError
from thixo.graph.control import CALL, SCAN, WHILE_LOOP
from thixo.graph.control_types import instantiate
from thixo.graph.effects import draws_numbers, without_effects
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.graph.sizes import symbols_in
from thixo.graph.trace import Trace, make_symbolic
from thixo.graph.typing import result_types
from thixo.ops import public as tx
from thixo.symbolic import Dim, Size, guards

if TYPE_CHECKING:
    from thixo.autodiff.reverse import Reverse

KEPT_TURNS = 128  # about so many turns a while loop keeps on its way, where nobody says otherwise


def scan_rule(reverse: Reverse, node: Node) -> None:
    """Gradients through a scan."""
    body, state, slices, captured, length, back = node.args
    _Loop(reverse, node, body, state, slices, captured).run(
        length, back, lambda forward: (forward, state, slices, captured, length, back)
    )


def while_rule(reverse: Reverse, node: Node) -> None:
    """Gradients through a while loop: as through a scan of the turns that it took."""
    test, body, state, captured, limit = node.args
    n = len(state)
    if len(node.outputs) > n:
        length: Size = node.outputs[n].type.shape[0]
    else:
        length = Dim(reverse.graph.fresh_name("steps"), high=limit)
    _Loop(reverse, node, body, state, [], captured).run(
        length, False, lambda forward: (test, forward, state, captured, limit)
    )


class _Loop:
    """One loop and its way back. Places of the body's inputs: state, slices, captured."""

    def __init__(
        self,
        reverse: Reverse,
        node: Node,
        body: Graph,
        state: list[Value],
        slices: list[Value],
        captured: list[Value],
    ) -> None:
        self.reverse = reverse
        self.node = node
        self.state, self.slices, self.captured = state, slices, captured
        self.n, self.m = len(state), len(slices)
        self.outputs = node.outputs
        inputs = [*state, *slices, *captured]
        wanted = _wanted(body, [v in reverse.active for v in inputs], self.n)
        self.stacked = [
            i for i in range(self.n, len(self.outputs)) if self.outputs[i] in reverse.gradients
        ]
        given = [*(i for i in wanted if i < self.n), *self.stacked]
        self.states = [i for i in wanted if i < self.n]
        self.flagged, self.halves = self._flagged(body, wanted, given, inputs)
        if _saves_unknown_sizes(self.halves, len(body.outputs)):
            self.halves = _computing_again(self.halves, body)
        kept = self.halves.kept
        self.kept_states = [i for i in kept if i < self.n]
        self.kept_slices = [i for i in kept if self.n <= i < self.n + self.m]
        self.kept_captured = [i for i in kept if i >= self.n + self.m]
        self.rows = [i for i in wanted if self.n <= i < self.n + self.m]
        self.sums = [i for i in wanted if i >= self.n + self.m]

    def _flagged(
        self, body: Graph, wanted: list[int], given: list[int], inputs: list[Value]
    ) -> tuple[list[int], Halves]:
        """The results whose gradients have flags in some turn (`used.py`), and both directions of a turn with these."""
        reverse, n = self.reverse, self.n
        self.others = [i for i in wanted if i >= n and reverse.uses.matter(inputs[i])]
        self.asked = [*self.states, *self.others]
        flagged = [i for i in given if reverse.uses.flag(self.outputs[i]) is not True]
        while True:
            halves = both_halves(reverse, body, wanted, given, flagged, self.asked)
            told = dict(zip(self.asked, halves.asked, strict=True))
            more = [i for i in self.states if told[i] is not True and i not in flagged]
            if not more:
                return flagged, halves
            flagged = sorted([*flagged, *more])

    def run(self, length: Size, back: bool, rebuild: Any) -> None:
        """Let the forward loop save, record the way back, hand out the gradients."""
        reverse, trace = self.reverse, self.reverse.trace
        forward = self._forward()
        given = [
            *(v.type for v in self.state),
            *(Type(v.type.dtype, v.type.shape[1:], v.type.device) for v in self.slices),
            *(v.type for v in self.captured),
        ]
        turn = instantiate(forward, given, "loop")[len(self.outputs) :]
        types = [Type(t.dtype, (length, *t.shape), t.device) for t in turn]
        saved = extend(reverse, self.node, rebuild(forward), types)

        start = self.n + self.m
        uses, n = reverse.uses, self.n
        carried = [trace.value_of(uses.clean(self.outputs[i])) for i in self.states]
        sums = [trace.value_of(reverse.zeros(self.captured[i - start])) for i in self.sums]
        seeds = [trace.value_of(uses.clean(self.outputs[i])) for i in self.stacked]
        turning = [i for i in self.flagged if i < n]
        flags = [uses.value(uses.flag(self.outputs[i])) for i in turning]
        flags += [uses.value(False) for _ in self.others]
        found = record(
            trace,
            SCAN,
            self._backward(),
            [*carried, *sums, *flags],
            [*saved, *(self.slices[i - self.n] for i in self.kept_slices), *seeds],
            [
                *(self.captured[i - start] for i in self.kept_captured),
                *(uses.value(uses.flag(self.outputs[i])) for i in self.flagged if i >= n),
            ],
            length=length,
            reverse=not back,
        )
        targets = [
            *(self.state[i] for i in self.states),
            *(self.captured[i - start] for i in self.sums),
            *(self.slices[i - self.n] for i in self.rows),
        ]
        places = [*self.states, *self.sums, *self.rows]
        count = len(self.states) + len(self.sums)
        told = found[count : count + len(flags)]
        known = dict(zip([*turning, *self.others], told, strict=True))
        made = [*found[:count], *found[count + len(flags) :]]
        for i, target, value in zip(places, targets, made, strict=True):
            use = Use(reverse.tensor(known[i])) if i in known else ALWAYS
            reverse.add(target, reverse.tensor(value), use)

    def _forward(self) -> Graph:
        """The body, which returns also the state that it got, where the way back asks for it."""
        forward = self.halves.forward.copy()
        forward.outputs = [*forward.outputs, *(forward.inputs[i] for i in self.kept_states)]
        if not self.halves.saved and not self.kept_states:
            # Something must say how many turns there were: a result without elements.
            with Trace(graph=forward) as trace:
                forward.outputs.append(trace.value_of(tx.zeros((0,))))
        return forward

    def _backward(self) -> Graph:
        """One turn back: (gradients of state, sums for captured, flags), (saved, slices, seeds), (captured, flags of seeds)."""
        halves = self.halves
        backward = halves.backward
        end = len(halves.kept) + halves.saved
        kept = dict(zip(halves.kept, backward.inputs, strict=False))
        seeds = backward.inputs[end:]
        seeds, flags = seeds[: len(halves.given)], seeds[len(halves.given) :]
        turning = len([i for i in self.flagged if i < self.n])
        with Trace(f"{backward.name}_turn") as trace:
            new: dict[Value, Value] = {}

            def take(values: list[Value]) -> None:
                for value in values:
                    new[value] = trace.value_of(trace.input(value.name, value.type))

            take(seeds[: len(self.states)])
            totals = [trace.input(f"sum{i}", halves.forward.inputs[i].type) for i in self.sums]
            take(flags[:turning])
            used = {i: trace.input("used", BOOL) for i in self.others}
            take(backward.inputs[len(halves.kept) : end])
            take([kept[i] for i in self.kept_states])
            if not halves.saved and not self.kept_states:
                trace.input("turn", Type(tx.zeros((0,)).dtype, (0,)))
            take([kept[i] for i in self.kept_slices])
            take(seeds[len(self.states) :])
            take([kept[i] for i in self.kept_captured])
            take(flags[turning:])
            found = record(trace, CALL, backward, [new[v] for v in backward.inputs])
            made = dict(zip(halves.wanted, found, strict=False))
            told = dict(zip(self.asked, halves.asked, strict=True))

            def tell(i: int) -> Any:
                flag = told[i]
                if isinstance(flag, bool):
                    return tx.full((), flag, dtype=bool_)
                return make_symbolic(found[flag])

            outputs = [made[i] for i in self.states]
            for i, total in zip(self.sums, totals, strict=True):
                outputs.append(trace.value_of(tx.add(total, make_symbolic(made[i]))))
            outputs += [trace.value_of(tell(i)) for i in self.flagged if i < self.n]
            outputs += [trace.value_of(tx.logical_or(used[i], tell(i))) for i in self.others]
            trace.graph.outputs = [*outputs, *(made[i] for i in self.rows)]
        return trace.finish()


def _wanted(body: Graph, active: list[bool], n: int) -> list[int]:
    """The inputs of a body that gradients flow to, with the state that gets some on the way round."""
    from thixo.autodiff.reverse import Reverse

    while True:
        inputs = [v for v, a in zip(body.inputs, active, strict=True) if a]
        flowing = Reverse(body, inputs).active
        more = [i for i in range(n) if body.outputs[i] in flowing and not active[i]]
        if not more:
            return [i for i, a in enumerate(active) if a]
        for i in more:
            active[i] = True


def _saves_unknown_sizes(halves: Halves, count: int) -> bool:
    """Whether what a turn saves has sizes that are other ones in each turn."""
    bound = {n for v in halves.forward.inputs for s in v.type.shape for n in symbols_in(s)}
    return any(
        name not in bound
        for v in halves.forward.outputs[count:]
        for s in v.type.shape
        for name in symbols_in(s)
    )


def _computing_again(halves: Halves, body: Graph) -> Halves:
    """The same two directions with nothing saved: the way back runs forward once more."""
    need_no_draws(body)
    with Trace(f"{body.name}_again") as trace:
        inputs = [trace.value_of(trace.input(v.name, v.type)) for v in halves.forward.inputs]
        seeds = [
            trace.value_of(trace.input(v.name, v.type))
            for v in halves.backward.inputs[len(halves.kept) + halves.saved :]
        ]
        made = record(trace, CALL, without_effects(halves.forward), inputs)
        saved = made[len(made) - halves.saved :]
        kept = [inputs[i] for i in halves.kept]
        trace.graph.outputs = record(trace, CALL, halves.backward, [*kept, *saved, *seeds])
    return halves._replace(
        forward=body.copy(), backward=trace.finish(), kept=tuple(range(len(inputs))), saved=0
    )


def need_no_draws(body: Graph) -> None:
    """An error where a graph that has to be computed once more would draw other random numbers."""
    if draws_numbers([body]):
        raise GraphError(
            f"gradients: graph {body.name} draws random numbers and makes tensors whose sizes the data decide, "
            "so it cannot be computed once more on the way back; draw the numbers outside of the loop or branch"
        )


# ---- long loops in segments


def cut_long_loops(graph: Graph, nodes: list[Node], turns: int) -> None:
    """Cut while loops that may run for long into first turns and segments of the rest; in place.

    Half of the turns that may be kept are the first ones, so that a short loop pays nothing; the rest is for segments of
    segments, an eighth of the turns each; where that is little, they are nested once more.
    """
    cut: list[Node] = []
    for node in graph.nodes:
        if node.op is WHILE_LOOP and node in nodes:
            cut += _cut(graph, node, turns)
        else:
            cut.append(node)
    graph.nodes = cut


def can_be_cut(node: Node) -> bool:
    """Whether a node is a while loop without a limit that keeps nothing yet, and whose turns give the same once more."""
    if node.op is not WHILE_LOOP or node.args[4] is not None:
        return False
    return len(node.outputs) == len(node.args[2]) and not draws_numbers(node.args[:2])


def _cut(graph: Graph, node: Node, turns: int) -> list[Node]:
    test, body, state, captured, _ = node.args
    names = [v.name for v in node.outputs]
    first = [
        Value(graph.fresh_name(name), v.type) for name, v in zip(names, node.outputs, strict=True)
    ]
    start = Node(WHILE_LOOP, (test, body, state, captured, max(1, turns // 2)), first, node.source)
    length = max(4, turns // 8)
    segments = body
    for _ in range(2 if length >= 8 else 3):
        segments = _segment(test, segments, length)
    node.args = (test, segments, first, captured, None)
    _assume(graph, start)
    _assume(graph, node)
    return [start, node]


def _assume(graph: Graph, node: Node) -> list[Type]:
    """The types of a node's results; what they need becomes guards of the graph: it holds wherever the loop runs."""
    with guards() as assumed:
        types = result_types(node.op, node.args)
    known = {str(g) for g in graph.guards}
    graph.guards += [g for g in assumed if str(g) not in known]
    return types


def _segment(test: Graph, body: Graph, length: int) -> Graph:
    """Some turns of a loop as one graph."""
    made = Graph(f"{body.name}_segment")
    inputs = [made.input(v.name, v.type) for v in body.inputs]
    n = len(body.outputs)
    args = (test, body, inputs[:n], inputs[n:], length)
    made.guards = guards_within(
        [*test.guards, *body.guards], made
    )  # its inputs are of the same sizes
    types = _assume(made, Node(WHILE_LOOP, args, ()))
    node = made.add(WHILE_LOOP, args, types, [v.name for v in body.outputs])
    made.outputs = list(node.outputs)
    return made
