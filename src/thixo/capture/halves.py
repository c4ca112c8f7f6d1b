"""A graph and its gradient as a forward graph and backward graphs, cut where the fewest bytes are kept.

`Halves.forward` computes what the graph computes and, after it, what the way back needs besides inputs and results.
`Halves.backward` is a graph for each set of results that have gradients: what is not used costs nothing. What the forward graph keeps counts
as results too, since gradients of gradients flow there; so a backward graph is differentiated by the same means.

What eager code would keep decides what may be kept of the caller's own tensors: an input that no gradient rule reads may be
overwritten before backward, so it is not kept, though it may be the smaller choice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from typing import NamedTuple

from thixo.autodiff.partition import guards_within, unbound_sizes
from thixo.autodiff.reverse import Reverse
from thixo.capture.cut import cut_within
from thixo.errors import InternalError
from thixo.graph.effects import without_effects
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.sizes import symbol_name
from thixo.graph.trace import remove_dead
from thixo.schedule.cost import bytes_of

KEPT_TURNS = 128  # of a while loop, as in `autodiff.gradient_graph`


class Backward(NamedTuple):
    """The way back from some of the results."""

    graph: Graph  # kept values, inputs that say how large something is, gradients -> gradients
    kept: tuple[int, ...]  # which of what is kept it reads
    sizes: tuple[int, ...]  # inputs of which only the sizes matter, none of them kept
    given: tuple[int, ...]  # results that have gradients
    wanted: tuple[int, ...]  # inputs that get gradients, as places among those that were asked for


class Halves:
    """Both directions of a graph for gradients by the inputs at `wanted`.

    Inputs at `lasting` live on anyway, those at `changed` are overwritten by the caller after the call.

    >>> graph = tx.jit.trace(lambda x: x.sin().exp().tanh(), tx.ones(8)).graph
    >>> Halves(graph, (0,)).kept
    [x: f32[n]]
    """

    def __init__(
        self,
        graph: Graph,
        wanted: Sequence[int],
        lasting: Collection[int] = (),
        changed: Collection[int] = (),
        budget: int | float | None = None,
    ) -> None:
        self.graph = graph
        self.base = base = graph.copy()
        self.hidden: list[Value] = []  # kept values that are neither inputs nor results
        self.wanted = tuple(wanted)
        self.inputs = list(base.inputs)
        self.results = list(base.outputs)
        self._lasting = {base.inputs[i] for i in lasting}
        self._held = set(base.inputs) - {base.inputs[i] for i in changed} - set(base.mutations)
        joint = _sharing(base)
        reverse = Reverse(joint, [base.inputs[i] for i in wanted], KEPT_TURNS)
        self.flows = [v in reverse.active for v in base.outputs]
        self.all_given = given = tuple(i for i, flows in enumerate(self.flows) if flows)
        # Rules of control flow change the forward node: another set of results would change it otherwise.
        self.is_fixed = any(
            n.op.kind == "control" and any(v in reverse.active for v in n.outputs)
            for n in base.nodes
        )
        second, gradients, seeds = self._reversed(joint, reverse, given)
        base.nodes = joint.nodes[: reverse.forward_nodes]  # those of loops keep more now
        base._names = dict(joint._names)
        self.active = reverse.active
        self.kept = self._choose(second, gradients, budget)
        self.kept += self._size_bearers(second, gradients, seeds)
        self.hidden = [v for v in self.kept if v not in self.results and v not in self._held]
        self.flows += [v in self.active for v in self.hidden]
        self.sized = self._sized_inputs()
        self.forward = self._forward()
        self._backwards = {given: self._backward(joint, second, gradients, given, seeds)}

    # ---- the way back

    def backward(self, given: tuple[int, ...]) -> Backward:
        """The way back where the results at these places have gradients; hidden ones follow the graph's own."""
        found = self._backwards.get(given)
        if found is None:
            joint = _sharing(self.base)
            reverse = Reverse(joint, [self.inputs[i] for i in self.wanted], KEPT_TURNS)
            second, gradients, seeds = self._reversed(joint, reverse, given)
            found = self._backward(joint, second, gradients, given, seeds)
            self._backwards[given] = found
        return found

    def whole(self, given: tuple[int, ...]) -> Graph:
        """The gradients from the inputs, with nothing kept: all inputs and the gradients of results -> gradients."""
        made = without_effects(self.graph)
        made.name = f"{made.name}_gradients"
        inputs, results = list(made.inputs), list(made.outputs)
        chosen = [results[i] for i in given]
        seeds = [made.input(f"g_{v.name}", v.type) for v in chosen]
        reverse = Reverse(made, [inputs[i] for i in self.wanted], KEPT_TURNS)
        made.outputs = reverse.run(chosen, seeds)
        made.mutations = {}
        remove_dead(made)
        return made

    def _reversed(
        self, joint: Graph, reverse: Reverse, given: Sequence[int]
    ) -> tuple[list[Node], list[Value | None], list[Value]]:
        """The nodes of the gradients, what they give (None where nothing is reached), and where they begin."""
        ports = [*self.results, *self.hidden]
        chosen = [ports[i] for i in given]
        seeds = [joint.input(f"g_{v.name}", v.type) for v in chosen]
        reverse.trace.own(seeds)
        found = reverse.run(chosen, seeds)
        gradients = [
            g if v in reverse.gradients else None for g, v in zip(found, reverse.wrt, strict=True)
        ]
        live = Graph()
        live.inputs = joint.inputs
        live.nodes = joint.nodes[reverse.forward_nodes :]
        live.outputs = [g for g in gradients if g is not None]
        remove_dead(live)
        return live.nodes, gradients, seeds

    def _backward(
        self,
        joint: Graph,
        second: list[Node],
        gradients: list[Value | None],
        given: tuple[int, ...],
        seeds: list[Value],
    ) -> Backward:
        made = Graph(f"{self.base.name}_backward")
        made.outputs = [g for g in gradients if g is not None]
        made.nodes = [*self._repeated(second, made.outputs), *second]
        made.constants = dict(joint.constants)
        read = {v for n in made.nodes for v in values_in(n.args)} | set(made.outputs)
        kept = [i for i, v in enumerate(self.kept) if v in read or v in self._bearers]
        values = [self.kept[i] for i in kept]
        sizes: list[int] = []
        for name in unbound_sizes(made, [*values, *seeds]):
            known = next((i for i, v in enumerate(self.kept) if _says(v, name)), None)
            if known is not None:
                kept.append(known)
                continue
            place = next((i for i in self.sized if _says(self.inputs[i], name)), None)
            if place is None:
                raise InternalError(f"graph {made.name}: nothing says what {name} is")
            if place not in sizes:
                sizes.append(place)
        kept = sorted(set(kept))
        values = [self.kept[i] for i in kept]
        made.inputs = [*values, *(self.inputs[i] for i in sizes), *seeds]
        made._names = dict(joint._names)
        made.guards = guards_within(joint.guards, made)
        remove_dead(made)
        wanted = tuple(i for i, g in enumerate(gradients) if g is not None)
        return Backward(made.copy(), tuple(kept), tuple(sizes), given, wanted)

    def _repeated(self, second: Sequence[Node], outputs: Sequence[Value]) -> list[Node]:
        """The forward nodes that the way back runs once more."""
        maker = {v: n for n in self.base.nodes for v in n.outputs}
        there = set(self.kept)
        todo = [v for n in second for v in values_in(n.args)]
        todo += outputs
        found: set[Node] = set()
        while todo:
            value = todo.pop()
            node = maker.get(value)
            if node is None or value in there or node in found:
                continue
            found.add(node)
            todo += values_in(node.args)
        return [n for n in self.base.nodes if n in found]

    # ---- the way forward

    def _forward(self) -> Graph:
        made = copy(self.base)
        made.outputs = [*self.results, *self.hidden]
        made.nodes = list(self.base.nodes)
        made.constants = dict(self.base.constants)
        remove_dead(made)
        return made.copy()

    def _choose(
        self,
        second: Sequence[Node],
        gradients: Sequence[Value | None],
        budget: int | float | None,
    ) -> list[Value]:
        """What is kept."""
        nodes = self.base.nodes
        forward = {v for n in nodes for v in n.outputs} | set(self.inputs)
        read = {v: None for n in second for v in values_in(n.args) if v in forward}
        read.update((g, None) for g in gradients if g is not None and g in forward)
        by_eager = self._kept_by_eager(read)
        results = set(self.results)

        def weight(value: Value) -> int | None:
            size = bytes_of(value.type)
            if value in self._held:  # the caller's own tensor
                if value not in by_eager:
                    return None
                return 1 if value in self._lasting else size // 4 + 1
            if value in results and value not in by_eager:
                return None
            return size + 1

        return cut_within(budget, nodes, list(read), weight, self.base.constants)

    def _kept_by_eager(self, read: Collection[Value]) -> set[Value]:
        """The values whose memory the tape would keep: those that rules read, and what they are views of."""
        maker = {v: n for n in self.base.nodes for v in n.outputs}
        found = set(read)
        todo = list(read)
        while todo:
            node = maker.get(todo.pop())
            if node is not None and (node.op.kind == "view" or node.op.full_name == "reshape"):
                base = node.args[0]
                if base not in found:
                    found.add(base)
                    todo.append(base)
        return found

    def _size_bearers(
        self, second: list[Node], gradients: list[Value | None], seeds: list[Value]
    ) -> list[Value]:
        """Values that are kept because only they say how large something is that the data decided."""
        part = Graph()
        part.outputs = [g for g in gradients if g is not None]
        part.nodes = [*self._repeated(second, part.outputs), *second]
        self._bearers: list[Value] = []
        for name in unbound_sizes(part, [*self.kept, *seeds]):
            if any(_says(v, name) for v in (*self.inputs, *self._bearers)):
                continue
            found = [v for n in self.base.nodes for v in n.outputs if _says(v, name)]
            if found:
                self._bearers.append(min(found, key=lambda v: bytes_of(v.type)))
        return self._bearers

    def _sized_inputs(self) -> list[int]:
        """Inputs that together say every size which no kept value says."""
        known = {n for v in self.kept for s in v.type.shape if (n := symbol_name(s)) is not None}
        found: list[int] = []
        for i, value in enumerate(self.inputs):
            names = {n for s in value.type.shape if (n := symbol_name(s)) is not None}
            if not names <= known:
                known |= names
                found.append(i)
        return found


def _sharing(graph: Graph) -> Graph:
    """A graph of the same nodes and values, to which others can be added."""
    made = Graph(graph.name)
    made.inputs, made.nodes = list(graph.inputs), list(graph.nodes)
    made.outputs, made.mutations = list(graph.outputs), dict(graph.mutations)
    made.constants, made.guards = dict(graph.constants), list(graph.guards)
    made._names = dict(graph._names)
    return made


def _says(value: Value, name: str) -> bool:
    return any(symbol_name(s) == name for s in value.type.shape)
