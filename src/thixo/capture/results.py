"""Results that share memory, as eager code would have it.

A graph has values, no memory. A result that is an input, or looks at one through views, is that tensor or a view of it; so are
results that look at one another, and what a call wrote. The program computes what has memory of its own; the views are
taken afterwards, by the operators themselves, so that the tape knows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.origins import with_origins
from thixo.errors import ArgumentError
from thixo.graph.control import FUSED, subgraphs
from thixo.graph.interpret import EagerBackend
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.sizes import sizes_in, symbol_name
from thixo.schedule.cost import elements
from thixo.symbolic import Dim

_EAGER = EagerBackend()


class Look(NamedTuple):
    """Where a result is: something computed, or an input, seen through views."""

    computed: bool
    place: int  # among what is computed, or among the inputs
    views: tuple[Node, ...]


class Results:
    """What a program must compute, and how a graph's outputs are found there and among its inputs.

    >>> graph = tx.jit.trace(lambda x: (x[0], x * 2), tx.ones(2, 3)).graph
    >>> Results(graph, graph.inputs).computed
    [mul: f32[n, m]]
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[Value], wanted_sizes: Iterable[str] = ()
    ) -> None:
        self._graph = graph
        self._maker = {v: n for n in graph.nodes for v in n.outputs}
        self._at = {v: i for i, v in enumerate(inputs)}
        # New values that were made under no_grad: a node says so, behind which is the value itself.
        self.past = {
            v: n.args[0]
            for v in graph.mutations.values()
            if (n := self._maker.get(v)) is not None and n.op.full_name == "detach"
        }
        # After the call a changed input is its new value.
        self._written = {
            v: old
            for old, new in graph.mutations.items()
            for v in (new, self.past.get(new, new))
            if v not in self._at
        }
        self._changed = graph.mutations
        self.sizes = _places_of_sizes(inputs)
        found = [self._followed(v) for v in graph.outputs]
        makers = (self._maker.get(root) for root, _ in found)
        self._chosen = any(
            n is not None and n.op.kind == "control" and n.op is not FUSED for n in makers
        )
        users: dict[Value, set[Value]] = {}
        for value, (root, _) in zip(graph.outputs, found, strict=True):
            users.setdefault(root, set()).add(value)
        self.computed: list[Value] = []
        self.looks: list[Look] = []
        for value, (root, views) in zip(graph.outputs, found, strict=True):
            self.looks.append(self._look(value, root, views, len(users[root]) > 1))
        # A detach of what nobody else sees says only that there are no gradients.
        seen = [look.place for look in self.looks if look.computed]
        self._marks = {
            node
            for look in self.looks
            for node in look.views
            if look.computed and seen.count(look.place) == 1 and node.op.full_name == "detach"
        }
        # By output: what it is where a flag among the computed values says so, in place of its look.
        self.others: dict[int, list[tuple[int, Look]]] = {}
        self.unclear: set[int] = set()  # outputs that may be views of which nothing says where
        self.is_plain = self.looks == [Look(True, i, ()) for i in range(len(self.looks))]
        # Sizes that the data decide: values of that size are computed too.
        self._decided: dict[str, tuple[int, int]] = {}
        for name in wanted_sizes:
            if name not in self.sizes:
                self._decided[name] = self._bearer(name)
        self._sized = any(sizes_in(n.args) for look in self.looks for n in look.views)

    def every_look(self) -> Iterator[Look]:
        """Where each output is, or may be."""
        yield from self.looks
        for others in self.others.values():
            yield from (look for _, look in others)

    def may_meet(self, output: int, other: int) -> bool:
        """Whether flags say when two outputs are the same memory: one is the other, or both are views of a third."""

        def memory(at: int, looks: Iterable[Look]) -> set[tuple[bool, int]]:
            return {(look.computed, look.place) for look in (self.looks[at], *looks)}

        first, second = (
            memory(at, (look for _, look in self.others.get(at, ()))) for at in (output, other)
        )
        return not first.isdisjoint(second)

    def told_apart(self, graph: Graph) -> Graph:
        """A graph that also says which branch's results are inputs, or other outputs, and were not computed."""
        if not self._chosen:  # nothing that branches or loops leave is handed out
            return graph
        sources: dict[Value, Look] = {v: Look(True, i, ()) for i, v in enumerate(self.computed)}
        sources.update((v, Look(False, self._at[old], ())) for v, old in self._written.items())
        left = ((v, i) for v, i in self._at.items() if v not in self._changed)
        sources.update((v, Look(False, i, ())) for v, i in left)
        made, found = with_origins(graph, sources, self.sizes)
        for output, origins in enumerate(found):
            own = self.looks[output]
            for (source, views), flag in origins.items():
                if views is None:
                    self.unclear.add(output)
                    continue
                look = sources[source]._replace(views=views)
                if (look.computed, look.place) == (own.computed, own.place):
                    continue
                if flag not in self.computed:
                    self.computed.append(flag)
                place = self.computed.index(flag)
                self.others.setdefault(output, []).append((place, look))
        if not self.others:
            return graph
        self.is_plain = False
        looks = (look for others in self.others.values() for _, look in others)
        self._sized = self._sized or any(sizes_in(n.args) for look in looks for n in look.views)
        return made

    def _bearer(self, name: str) -> tuple[int, int]:
        """Which of the computed values says a size, and along which axis."""
        known = [*self.computed, *self._maker]
        found = (v for v in known if any(symbol_name(s) == name for s in v.type.shape))
        value = next(found, None)
        if value is None:
            raise ArgumentError(f"sizes: no value of the graph says what {name} is")
        if value not in self.computed:
            self.computed.append(value)
        axis = [symbol_name(s) for s in value.type.shape].index(name)
        return self.computed.index(value), axis

    def _followed(self, value: Value) -> tuple[Value, list[Node]]:
        """The value whose memory a value looks at, and the views from there."""
        views: list[Node] = []
        while value not in self._at and value not in self._written:
            node = self._maker.get(value)
            if node is None or not self._is_view(node):
                break
            views.append(node)
            value = node.args[0]
        views.reverse()
        return value, views

    def _is_view(self, node: Node) -> bool:
        if node.op.kind != "view" and node.op.full_name != "reshape":
            return False
        if len(node.outputs) != 1 or len(list(values_in(node.args))) != 1:
            return False
        return all(n in self.sizes for s in sizes_in(node.args) for n in s.symbols)

    def _look(self, value: Value, root: Value, views: list[Node], shared: bool) -> Look:
        if root in self._written:
            return Look(False, self._at[self._written[root]], tuple(views))
        if root in self._at and root not in self._changed:
            return Look(False, self._at[root], tuple(views))
        if root in self._at or not (shared or elements(root.type) <= elements(value.type)):
            root, views = value, []  # nobody sees the rest of what it looks at
        if root not in self.computed:
            self.computed.append(root)
        return Look(True, self.computed.index(root), tuple(views))

    def of(self, computed: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The outputs."""
        if self.is_plain:
            return list(computed[: len(self.looks)])
        sizes = self.sizes_of(given) if self._sized else {}
        found = []
        for output, own in enumerate(self.looks):
            others = self.others.get(output, ())
            look = next((other for flag, other in others if computed[flag].item()), own)
            tensor = computed[look.place] if look.computed else given[look.place]
            found.append(self._seen(look, tensor, sizes))
        return found

    def of_run(self, outputs: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        """The outputs of a graph that ran operator by operator, where nodes with graphs hand one tensor out twice."""
        constants = [d for g in subgraphs(self._graph) for d in g.constants.values()]
        taken: list[tuple[int, Any]] = [(-1, d) for d in constants if isinstance(d, _core.Tensor)]
        found = list(outputs)
        for output, look in enumerate(self.looks):
            if output in self.others:
                continue  # it may be another's
            if not look.computed:
                found[output] = self._seen(look, given[look.place], self.sizes_of(given))
                continue
            tensor = found[output]
            if any(at != look.place and _core.shares_memory(tensor, t) for at, t in taken):
                found[output] = tensor = tensor.clone()
            taken.append((look.place, tensor))
        return found

    def _seen(self, look: Look, tensor: Any, sizes: Mapping[str, int]) -> Any:
        """A tensor through views."""
        for node in look.views:
            if node in self._marks and not tensor.requires_grad:
                continue
            args = [tensor, *(_filled(a, sizes) for a in node.args[1:])]
            (tensor,) = _EAGER.apply(node, args)
        return tensor

    def sizes_of(self, given: Sequence[Any]) -> dict[str, int]:
        """The sizes that inputs say, by name."""
        return {name: given[i].shape[axis] for name, (i, axis) in self.sizes.items()}

    def all_sizes(self, computed: Sequence[Any], given: Sequence[Any]) -> dict[str, int]:
        """These, and those that the data decided."""
        found = self.sizes_of(given)
        found.update((n, computed[i].shape[axis]) for n, (i, axis) in self._decided.items())
        return found


def outputs_of_run(graph: Graph, tensors: Sequence[Any], found: Sequence[Any]) -> list[Any]:
    """The outputs of a graph that ran operator by operator, after what it changes was changed."""
    live = {v: d for v, d in graph.constants.items() if isinstance(d, _core.Tensor)}
    results = Results(graph, [*graph.inputs, *live])
    results.told_apart(graph)
    return results.of_run(found, [*tensors, *live.values()])


def _places_of_sizes(inputs: Sequence[Value]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for i, value in enumerate(inputs):
        for axis, size in enumerate(value.type.shape):
            name = symbol_name(size)
            if name is not None:
                found.setdefault(name, (i, axis))
    return found


def _filled(a: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(a, Dim):
        return a.evaluate(sizes)
    if isinstance(a, tuple | list):
        return type(a)(_filled(e, sizes) for e in a)
    if isinstance(a, slice):
        return slice(*(_filled(e, sizes) for e in (a.start, a.stop, a.step)))
    return a
