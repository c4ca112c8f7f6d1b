"""Graph, Node and Value: the one description of a program that everything else works on.

A graph is pure. A node applies an operator of the table to values and attributes and makes new
values; nothing is written twice, and the order of nodes is an order in which they can run.

>>> from thixo.graph import Graph
>>> graph = Graph("f")
>>> x = graph.input("x", "f32[n, m]")
>>> graph.outputs = [graph.call("tanh", x, name="y")]
>>> print(graph)
graph f(x: f32[n, m]) {
  y: f32[n, m] = tanh(x)
  return y
}
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from thixo import _core
from thixo.device import cpu, device
from thixo.dtype import BY_SHORT, DType
from thixo.symbolic import Dim, Guard, Size, same

# Words of the text form: no value, size or graph is called so.
RESERVED = frozenset(
    "graph return guard sizes constant nan inf None True False slice complex device dtype max min"
    " and or not if else for in is lambda".split()
) | frozenset(BY_SHORT)


class Type:
    """What is known of a tensor before it exists: dtype, shape (ints and Dims), device.

    >>> Type(tx.float32, (2, 3))
    f32[2, 3]
    """

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, dtype: DType, shape: Iterable[Size], device: device = cpu) -> None:
        self.dtype = dtype
        self.shape: tuple[Size, ...] = tuple(shape)
        self.device = device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Type):
            return NotImplemented
        return (
            self.dtype is other.dtype
            and same_shape(self.shape, other.shape)
            and self.device == other.device
        )

    def __hash__(self) -> int:
        return hash((self.dtype.code, len(self.shape)))

    def __repr__(self) -> str:
        place = "" if self.device == cpu else f"@{self.device}"
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]{place}"


class Value:
    """Something a graph computes with: an input, a constant, or a result of a node.

    >>> Value("x", Type(tx.float32, (2, 3)))
    x: f32[2, 3]
    """

    __slots__ = ("__weakref__", "name", "type")

    def __init__(self, name: str, type: Type) -> None:
        self.name = name
        self.type = type

    # Shape and dtype rules take a value as they take a tensor.

    @property
    def shape(self) -> tuple[Size, ...]:
        """Sizes of the axes."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.type.dtype

    @property
    def device(self) -> device:
        """Where it lives."""
        return self.type.device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.type.shape)

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"


class Node:
    """One application of an operator.

    `args` has one entry for each parameter of the operator's signature, in order: a Value where a
    tensor is, a list of Values for a `tensors` parameter, and the plain attribute elsewhere.

    >>> tx.jit.trace(lambda x: x.sum(0), tx.ones(2, 3)).graph.nodes
    [sum: f32[m] = sum(x, dim=(0,))]
    """

    __slots__ = ("args", "op", "outputs", "source")

    def __init__(
        self, op: Any, args: Sequence[Any], outputs: Iterable[Value], source: str | None = None
    ) -> None:
        self.op = op  # its declaration, from thixo.ops.base.TABLE
        self.args = tuple(args)
        self.outputs = tuple(outputs)
        self.source = source  # "train.py:12"

    @property
    def inputs(self) -> list[Value]:
        """The values it reads, in order."""
        found: list[Value] = _core.collect_values(self.args)
        return found

    @property
    def attrs(self) -> dict[str, Any]:
        """The arguments that are no values, by the names of their parameters."""
        named = zip(self.op.sig.params, self.args, strict=True)
        return {p.name: a for p, a in named if next(values_in((a,)), None) is None}

    def __repr__(self) -> str:
        from thixo.graph.text import node_text

        return node_text(self)


_core.set_graph_classes(Value, Node)


class Graph:
    """A program: inputs, nodes in an order they can run in, outputs.

    `constants` are tensors that were captured, with their data. `guards` are what was assumed of
    symbolic sizes. `mutations` say which inputs and constants a caller will find changed, and the
    value each one then has.

    >>> print(tx.jit.trace(lambda x: x + x, tx.ones(2)).graph)
    graph traced(x: f32[n]) {
      sizes n ~ 2
      add: f32[n] = add(x, x)  # ...:1
      return add
    }
    """

    __slots__ = ("constants", "guards", "inputs", "mutations", "name", "nodes", "outputs", "_names")

    def __init__(self, name: str = "main") -> None:
        self.name = name
        self.inputs: list[Value] = []
        self.constants: dict[Value, Any] = {}  # a Tensor or a NumPy array each
        self.guards: list[Guard] = []
        self.nodes: list[Node] = []
        self.outputs: list[Value] = []
        self.mutations: dict[Value, Value] = {}
        self._names: dict[str, int] = {}  # taken names, and the last number appended to each

    # ---- building

    def _reserve_symbols(self, type: Type) -> None:
        # Values and symbolic sizes share one set of names, so that a name in the text is one thing.
        for size in type.shape:
            if isinstance(size, Dim):
                for symbol in size.symbols:
                    self._names.setdefault(symbol, 0)

    def fresh_name(self, wish: str) -> str:
        """The wished name, with a number appended if it is taken."""
        name = wish if wish.isidentifier() else "".join(c if c.isalnum() else "_" for c in wish)
        if not name.isidentifier():
            name = f"v{name}"
        taken = self._names
        if name not in taken and name not in RESERVED:
            taken[name] = 0
            return name
        number = taken.get(name, 0)
        while True:
            number += 1
            found = f"{name}_{number}"
            if found not in taken:
                taken[name] = number
                taken[found] = 0
                return found

    def input(self, name: str, type: Type | str) -> Value:
        """Add an input."""
        value = self._value(name, type)
        self.inputs.append(value)
        return value

    def constant(self, name: str, data: Any) -> Value:
        """Add a captured tensor, or an array as it is now."""
        from thixo.graph.constants import as_it_is, type_of

        value = self._value(name, type_of(data))
        self.constants[value] = as_it_is(data)
        return value

    def _value(self, name: str, type: Type | str) -> Value:
        if isinstance(type, str):
            from thixo.graph.parser import parse_type

            type = parse_type(type)
        self._reserve_symbols(type)
        return Value(self.fresh_name(name), type)

    def add(
        self,
        op: Any,
        args: Sequence[Any],
        types: Sequence[Type],
        names: Sequence[str] | None = None,
        source: str | None = None,
    ) -> Node:
        """Append a node whose arguments are in signature order and whose result types are known."""
        for type in types:
            self._reserve_symbols(type)
        if names is None:
            names = result_names(op, len(types))
        outputs = tuple(
            Value(self.fresh_name(name), type) for name, type in zip(names, types, strict=True)
        )
        node = Node(op, args, outputs, source)
        self.nodes.append(node)
        return node

    def call(
        self, op: Any, *args: Any, name: str | None = None, source: str | None = None, **kwargs: Any
    ) -> Any:
        """Append a node from a call as a user would write it; its types follow from the operator.

        Returns the Value, or a tuple of them where there are several.
        """
        from thixo.graph.operators import bind, find
        from thixo.graph.typing import result_types

        op = find(op) if isinstance(op, str) else op
        bound = bind(op, args, kwargs)
        types = result_types(op, bound)
        wishes = None if name is None else [name] * len(types)
        node = self.add(op, bound, types, wishes, source)
        return node.outputs[0] if len(node.outputs) == 1 else node.outputs

    # ---- looking

    def values(self) -> Iterator[Value]:
        """Every value, in the order of definition."""
        yield from self.inputs
        yield from self.constants
        for node in self.nodes:
            yield from node.outputs

    def users(self) -> dict[Value, list[Node]]:
        """The nodes that read each value."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in dict.fromkeys(values_in(node.args)):
                found.setdefault(value, []).append(node)
        return found

    def results(self) -> list[Value]:
        """What must be computed: outputs, then the new values of what is changed."""
        return [*self.outputs, *self.mutations.values()]

    def verify(self) -> "Graph":
        """Check that the graph is well formed and its types are those of the operators' rules."""
        from thixo.graph.verify import verify

        verify(self)
        return self

    def plan(self, sizes: Mapping[str, int] | None = None) -> Any:
        """The order in which the nodes will run, the bytes of each and the peak; print it to see a table.

        Without sizes, where the graph has symbolic ones, bytes are expressions of them.

        >>> graph = tx.jit.trace(lambda x: (x.exp() * x).sum(), tx.ones(1000)).graph
        >>> print(graph.plan({"n": 1000}))
        plan of graph traced with n = 1000
           node       group  bytes    offset  living
        0  exp = exp         4,000         0   4,032
        1  mul = mul                over exp   4,032
        2  sum = sum             4    result   4,032
        arena 4,032 bytes, peak of living values 4,032; inputs and constants 4,000, results 4
        """
        from thixo.schedule import schedule

        found = schedule(self)
        return found if sizes is None and found.symbols else found.bind(sizes)

    def copy(self) -> "Graph":
        """The same graph made of new nodes and values, inner graphs too; constants share their data."""
        from thixo.graph.control import subgraphs

        copies: dict[int, Graph] = {}
        for graph in subgraphs(self):
            copies[id(graph)] = graph._copy(copies)
        return self._copy(copies)

    def _copy(self, inner: "dict[int, Graph]") -> "Graph":
        made = Graph(self.name)
        parts = (self.inputs, self.constants, *[n.outputs for n in self.nodes])
        new = {v: Value(v.name, v.type) for values in parts for v in values}
        made.inputs = [new[v] for v in self.inputs]
        made.constants = {new[v]: data for v, data in self.constants.items()}
        made.guards = list(self.guards)
        for n in self.nodes:
            args = with_values(n.args, new)
            if n.op.kind == "control":
                args = _map_graphs(n.op, args, inner)
            made.nodes.append(Node(n.op, args, [new[v] for v in n.outputs], n.source))
        made.outputs = [new[v] for v in self.outputs]
        made.mutations = {new[k]: new[v] for k, v in self.mutations.items()}
        made._names = dict(self._names)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        from thixo.graph.constants import same_data
        from thixo.graph.control import subgraphs
        from thixo.graph.text import graph_text

        # The text says everything but the data of large constants, which it has in the same order.
        if graph_text(self, sources=False) != graph_text(other, sources=False):
            return False
        pairs = zip((self, *subgraphs(self)), (other, *subgraphs(other)), strict=True)
        return all(
            all(map(same_data, a.constants.values(), b.constants.values())) for a, b in pairs
        )

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        from thixo.graph.text import graph_text

        return graph_text(self)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes>"


# ---- values inside of arguments


def values_in(args: Iterable[Any]) -> Iterator[Value]:
    """The values in arguments, also those inside of lists, tuples and slices."""
    if args.__class__ is not tuple and args.__class__ is not list:
        args = list(args)
    return iter(_core.collect_values(args))


# Classes of arguments that hold no values; looking at these takes less than asking what else they are.
PLAIN = frozenset((int, float, bool, str, type(None)))


def map_values(args: Any, function: Callable[[Any], Any]) -> Any:
    """The same arguments with each value replaced."""
    kind = args.__class__
    if kind is Value:
        return function(args)
    if kind in PLAIN:
        return args
    if kind is tuple or isinstance(args, tuple):
        return tuple([map_values(a, function) for a in args])
    if isinstance(args, list):
        return [map_values(a, function) for a in args]
    if isinstance(args, slice):
        parts = map_values((args.start, args.stop, args.step), function)
        return slice(*parts)
    return args


def with_values(args: Any, new: dict[Value, Any]) -> Any:
    """The same arguments with each value replaced by what a table has for it."""
    return _core.map_values(args, new, False)


def with_some_values(args: Any, new: dict[Value, Any]) -> Any:
    """The same; values that the table does not have stay."""
    return _core.map_values(args, new, True)


def _map_graphs(op: Any, args: Sequence[Any], new: dict[int, Graph]) -> list[Any]:
    """The arguments of a control operator with each graph replaced."""
    made = list(args)
    for place, p in enumerate(op.sig.params):
        if p.kind == "graph":
            made[place] = new[id(args[place])]
        elif p.kind == "graphs":
            made[place] = type(args[place])(new[id(g)] for g in args[place])
    return made


def result_names(op: Any, count: int) -> list[str]:
    """What the results of an operator are called where nobody says otherwise."""
    outputs = [o.rstrip("!") for o in op.sig.outputs]
    if count == len(outputs) > 1:
        return outputs
    return [op.sig.name] * count


def same_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether two shapes are the same expressions; decides nothing about symbols."""
    return len(a) == len(b) and all(map(same, a, b))
