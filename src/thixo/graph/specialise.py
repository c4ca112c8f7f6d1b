"""A graph for particular sizes: its types are made anew with numbers in the place of some symbols.

Symbolic sizes are at least 2, since 0 and 1 have rules of their own: a size of 1 is broadcast and squeezed. For those
a graph is made in which every rule sees the number; and one for sizes that come often.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from thixo.errors import GraphError, ShapeError, ThixoError, at_line
from thixo.graph.control import graphs_in
from thixo.graph.ir import Graph, Node, Type, Value, with_values
from thixo.graph.sizes import symbol_name
from thixo.graph.trace import Trace
from thixo.graph.typing import result_types
from thixo.symbolic import Dim, Guard, Size, compare, guards


def specialise(graph: Graph, sizes: Mapping[str, int], inside: bool = False) -> Graph:
    """A copy of a graph with numbers for these sizes; graphs in it too where they need it, with `inside` all of them.

    >>> graph = tx.jit.trace(lambda x: x.squeeze(0), tx.ones(2, 3)).graph
    >>> specialise(graph, {"n": 1}).outputs
    [squeeze: f32[m]]
    """
    return _Specialiser(graph, dict(sizes), {}, inside).made


class _Specialiser:
    def __init__(
        self, graph: Graph, sizes: dict[str, Size], known: dict[Any, Graph], inside: bool
    ) -> None:
        self.graph = graph
        self.inside = inside
        self.sizes = sizes
        self.known = known  # graphs inside, by identity and sizes
        self.values: dict[Value, Value] = {}
        self.made = Graph(graph.name)
        self.made._names = dict(graph._names)
        self.trace = Trace(graph=self.made)
        for value in graph.inputs:
            self.made.inputs.append(self._renamed(value))
        for value, data in graph.constants.items():
            self.made.constants[self._renamed(value)] = data
        with guards() as assumed:
            for guard in graph.guards:
                self._guard(guard)
            for node in graph.nodes:
                self._node(node)
        self.made.guards += [g for g in assumed if str(g) not in set(map(str, self.made.guards))]
        self.made.outputs = [self.values[v] for v in graph.outputs]
        self.made.mutations = {self.values[k]: self.values[v] for k, v in graph.mutations.items()}

    def _renamed(self, value: Value) -> Value:
        type = value.type
        made = Value(value.name, Type(type.dtype, self._sized(type.shape), type.device))
        self.values[value] = made
        return made

    def _sized(self, a: Any) -> Any:
        if isinstance(a, Dim):
            return a.substitute(self.sizes)
        if isinstance(a, tuple | list):
            return type(a)(self._sized(e) for e in a)
        if isinstance(a, slice):
            return slice(*(self._sized(e) for e in (a.start, a.stop, a.step)))
        return a

    def _guard(self, guard: Guard) -> None:
        left, right = self._sized(guard.left), self._sized(guard.right)
        answer = compare(left, guard.op, right)
        if answer is None:
            self.made.guards.append(guard._replace(left=left, right=right))
        elif answer is not guard.result:
            where = f" ({guard.line})" if guard.line else ""
            sizes = ", ".join(f"{k} = {v}" for k, v in self.sizes.items())
            raise ShapeError(
                f"graph {self.graph.name}: it needs {guard}; with {sizes} that is not so{where}"
            )

    def _node(self, node: Node) -> None:
        args = self._sized(with_values(node.args, self.values))
        try:
            if node.op.kind == "control":
                args = self._inner(node, args)
            types = self.trace._with_own_sizes(args, result_types(node.op, args))
        except ThixoError as error:
            at_line(error, node.source)
            raise
        if len(types) != len(node.outputs):
            raise GraphError(
                f"graph {self.graph.name}: {node.op.full_name} has {len(types)} results with sizes "
                f"{self.sizes}, {len(node.outputs)} with others ({node.source})"
            )
        outputs = []
        for old, type in zip(node.outputs, types, strict=True):
            for size, now in zip(old.type.shape, type.shape, strict=False):
                name = symbol_name(size)
                if name is not None and name not in self.sizes and not _is_named(now, name):
                    self.sizes[name] = now  # one that the data decide has another name now
            made = self.values[old] = Value(old.name, type)
            outputs.append(made)
        self.made.nodes.append(Node(node.op, args, outputs, node.source))

    # ---- graphs inside

    def _inner(self, node: Node, args: tuple[Any, ...]) -> tuple[Any, ...]:
        types = _given_types(node.op, args)
        new = {id(g): self._one(g, types) for g in graphs_in(node)}

        def replaced(a: Any) -> Any:
            if isinstance(a, Graph):
                return new[id(a)]
            if isinstance(a, tuple | list) and any(isinstance(e, Graph) for e in a):
                return type(a)(map(replaced, a))
            return a

        return tuple(map(replaced, args))

    def _one(self, graph: Graph, types: Sequence[Type]) -> Graph:
        sizes: dict[str, Size] = {}
        for value, given in zip(graph.inputs, types, strict=True):
            for size, actual in zip(value.type.shape, given.shape, strict=False):
                name = symbol_name(size)
                if name is not None and isinstance(actual, int) and isinstance(size, Dim):
                    low, high = size.bounds
                    if (
                        self.inside
                        or (low and actual < low)
                        or (high is not None and actual > high)
                    ):
                        sizes[name] = actual
        if not sizes:
            return graph
        key = (id(graph), tuple(sorted(sizes.items())))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = _Specialiser(graph, sizes, self.known, self.inside).made
        return found


def _is_named(size: Size, name: str) -> bool:
    return symbol_name(size) == name


def _given_types(op: Any, args: tuple[Any, ...]) -> list[Type]:
    """The types that a node of control flow hands to its graphs."""
    given = {p.name: a for p, a in zip(op.sig.params, args, strict=True)}
    found: list[Type] = []
    names: tuple[str, ...] = ("inputs", "state", "slices", "captured")
    if "back" in given:  # own_gradient: its graph takes gradients of the values
        names = ("values", "kept")
    for name in names:
        for value in given.get(name, ()):
            type = value.type
            if name == "slices":
                type = Type(type.dtype, type.shape[1:], type.device)
            found.append(type)
    return found
