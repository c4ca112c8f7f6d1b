"""The verifier: is this a graph, and are its types those of the operators' own rules?"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo.errors import GraphError, ThixoError
from thixo.graph.control import CALL, CONTROL, graphs_in, subgraphs
from thixo.graph.ir import RESERVED, Graph, Node, Type, Value, values_in
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.graph.text import attribute_text, node_text, symbols_of
from thixo.graph.typing import result_types
from thixo.ops.base import TABLE
from thixo.symbolic import Dim, Size, guards

_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Checked(NamedTuple):
    """A node that was found right: its arguments and results then, sizes that it brings, guards that it needs.

    Graphs inside of nodes change in place, but to whoever hands them inputs they are what they take and give (`faces`).
    """

    args: tuple[Any, ...]
    outputs: tuple[Value, ...]
    bound: tuple[str, ...]
    guards: tuple[str, ...]
    faces: list[Any]


Known = dict[Node, Checked]

_VALUES = frozenset((Value,))
FEW = 3  # values that are as well looked at one by one


def verify(graph: Graph, known: Known | None = None) -> None:
    """Raise a GraphError that names the node and its line unless the graph is well formed.

    Who verifies a graph again after changes keeps what is known of its nodes: rules are not asked twice for a node that
    stayed as it was.

    >>> graph = tx.jit.trace(lambda x: x.exp(), tx.ones(2)).graph
    >>> verify(graph)
    >>> graph.nodes.clear()
    >>> verify(graph)
    Traceback (most recent call last):
    ...
    thixo.errors.GraphError: graph traced: the output 'exp' is not defined in it ...
    """
    for inner in subgraphs(graph):
        if inner.mutations:
            raise GraphError(
                f"graph {inner.name}: it is part of another graph and may change nothing; return the new value"
            )
        _Verifier(inner, known).run()
    _Verifier(graph, known).run()


class _Verifier:
    def __init__(self, graph: Graph, known: Known | None) -> None:
        self.graph = graph
        self.known = known
        self.defined: set[Value] = set()
        self.names: set[str] = set()
        self.symbols = set(symbols_of(graph))
        self.bound: set[str] = set()  # sizes known so far, from inputs and results of nodes
        self.sized: set[int] = set()  # types, by identity, of which all sizes are known
        self.calls: set[tuple[int, ...]] = set()  # graphs and types, by identity, of calls
        self.guarded = {str(g) for g in graph.guards}
        # Said the other way round it is the same.
        self.guarded.update(
            str(g._replace(left=g.right, op=_TURNED[g.op], right=g.left)) for g in graph.guards
        )

    def run(self) -> None:
        graph = self.graph
        self._define_all((*graph.inputs, *graph.constants), None)
        self._bind_inputs()
        for node in graph.nodes:
            self._check_node(node)
        self._check_results()
        self._check_guards()

    def _fail(self, problem: str, node: Node | None = None) -> None:
        where = f"graph {self.graph.name}"
        if node is None:
            raise GraphError(f"{where}: {problem}")
        line = f" ({node.source})" if node.source else ""
        raise GraphError(f"{where}: node {_short(node)}: {problem}{line}")

    def _define_all(self, values: Sequence[Value], node: Node | None) -> None:
        """Take values for defined, all at once where there is nothing wrong with any of them."""
        names = {v.name for v in values} if len(values) > FEW else set()
        if (
            len(names) == len(values)
            and names.isdisjoint(self.names)
            and names.isdisjoint(RESERVED)
            and names.isdisjoint(self.symbols)
            and self.defined.isdisjoint(values)
            and all(map(str.isidentifier, names))
        ):
            self.names |= names
            self.defined.update(values)
            return
        for value in values:
            self._define(value, node)

    def _define(self, value: Value, node: Node | None) -> None:
        name = value.name
        if value in self.defined or name in self.names:
            self._fail(f"{name!r} is defined twice", node)
        if name in RESERVED or not name.isidentifier():
            self._fail(f"{name!r} is no name for a value", node)
        if name in self.symbols:
            self._fail(f"{name!r} is the name of a value and of a size", node)
        self.names.add(name)
        self.defined.add(value)

    def _bind_inputs(self) -> None:
        for type in {id(v.type): v.type for v in self.graph.inputs}.values():
            for size in type.shape:
                name = symbol_name(size)
                if name is not None:
                    self.bound.add(name)
        for value in self.graph.inputs:
            self._check_sizes(value, None)
        for value in self.graph.constants:
            if any(isinstance(s, Dim) for s in value.type.shape):
                self._fail(f"constant {value} has a symbolic size")

    def _check_sizes(self, value: Value, node: Node | None) -> None:
        if id(value.type) in self.sized:
            return
        for size in value.type.shape:
            if isinstance(size, Dim):
                for name in size.symbols:
                    if name not in self.bound:
                        what = f"input {value}" if node is None else value.name
                        self._fail(f"{what}: nothing says how large {name} is", node)
        self.sized.add(id(value.type))

    # ---- nodes

    def _check_node(self, node: Node) -> None:
        op = node.op
        name = getattr(op, "full_name", "")
        if TABLE.get(name) is not op and CONTROL.get(name) is not op:
            self._fail(f"{op!r} is no operator of the table", node)
        if len(node.args) != len(op.sig.params):
            self._fail(
                f"has {len(node.args)} arguments, {op.sig.text!r} takes {len(op.sig.params)}", node
            )
        read = node.inputs
        for value in () if self.defined.issuperset(read) else read:
            if value not in self.defined:
                foreign = value.name in self.names
                problem = "belongs to another graph" if foreign else "is not defined before"
                self._fail(f"its input {value.name!r} {problem}", node)
        if self.known is not None and self._is_known(node, self.known.get(node)):
            self._define_all(node.outputs, node)
            return
        for p, a in zip(op.sig.params, node.args, strict=True):
            self._check_argument(node, p, a)
        self._define_all(node.outputs, node)
        if op is CALL and self.known is None:
            call = (id(node.args[0]), *(id(v.type) for v in (*read, *node.outputs)))
            if call in self.calls:
                return  # as another one, which was found right
            if not self._check_types(node)[1]:
                self.calls.add(call)
            return
        needed, bound = self._check_types(node)
        if self.known is not None:
            self.known[node] = Checked(node.args, node.outputs, bound, needed, _faces(node))

    def _is_known(self, node: Node, checked: Checked | None) -> bool:
        if (
            checked is None
            or checked.outputs != node.outputs
            or not self.guarded.issuperset(checked.guards)
        ):
            return False
        if not _same_arguments(checked.args, node.args):
            return False
        if checked.faces and not _same_arguments(checked.faces, _faces(node)):
            return False
        self.bound.update(checked.bound)
        return True

    def _check_argument(self, node: Node, p: Any, a: Any) -> None:
        if a is None and p.optional:
            return
        if p.kind == "tensor" and not isinstance(a, Value):
            self._fail(f"{p.name} must be a value, is {a!r}", node)
        if p.kind == "operand" and not isinstance(a, Value | bool | int | float | complex | Dim):
            self._fail(f"{p.name} must be a value or a number, is {a!r}", node)
        if p.kind == "tensors":
            if not (isinstance(a, list) and _VALUES.issuperset(map(type, a))):
                self._fail(f"{p.name} must be a list of values, is {a!r}", node)
            return
        if p.kind in ("graph", "graphs"):
            graphs = a if p.kind == "graphs" else (a,)
            if not isinstance(graphs, tuple | list) or not all(
                isinstance(g, Graph) for g in graphs
            ):
                self._fail(f"{p.name} must be {p.kind}, is {a!r}", node)
        elif not isinstance(a, Value):
            try:
                attribute_text(a)
            except GraphError as error:
                self._fail(f"{p.name}: {_reason(error)}", node)
        for size in sizes_in(a):
            for name in size.symbols:
                if name not in self.bound:
                    self._fail(f"{p.name}: nothing says how large {name} is", node)

    def _check_types(self, node: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The guards that it needs, and the names of sizes that it brings."""
        with guards() as assumed:
            try:
                inferred = result_types(node.op, node.args)
            except ThixoError as error:
                self._fail(_reason(error), node)
        for guard in assumed:
            if str(guard) not in self.guarded:
                self._fail(f"its type needs {guard}, which is no guard of the graph", node)
        if len(inferred) != len(node.outputs):
            self._fail(f"has {len(node.outputs)} results, its rule gives {len(inferred)}", node)
        made = self._match_new_sizes(node, inferred)
        for value, type in zip(node.outputs, inferred, strict=True):
            if made:
                shape = [s.substitute(made) if isinstance(s, Dim) else s for s in type.shape]
                type = Type(type.dtype, shape, type.device)
            if value.type is not type and value.type != type:
                self._fail(f"{value.name} is {value.type}, its rule gives {type}", node)
            self._check_sizes(value, node)
        return tuple(map(str, assumed)), tuple(n for s in made.values() for n in symbols_in(s))

    def _match_new_sizes(self, node: Node, inferred: list[Type]) -> dict[str, Size]:
        """Sizes that the data decide: what the rule calls them now -> what the graph calls them."""
        if all(v.type is type for v, type in zip(node.outputs, inferred, strict=True)):
            return {}
        known = {n for v in values_in(node.args) for s in v.type.shape for n in symbols_in(s)}
        known.update(n for s in sizes_in(node.args) for n in s.symbols)
        made: dict[str, Size] = {}
        for value, type in zip(node.outputs, inferred, strict=True):
            for size, wanted in zip(value.type.shape, type.shape, strict=False):
                name, theirs = symbol_name(size), symbol_name(wanted)
                if theirs is None or theirs in known or theirs in made or name is None:
                    continue
                made[theirs] = size
                self.bound.add(name)
        return made

    # ---- what is returned

    def _check_results(self) -> None:
        for value in self.graph.outputs:
            if value not in self.defined:
                self._fail(f"the output {value.name!r} is not defined in it")
        changeable = {*self.graph.inputs, *self.graph.constants}
        for target, value in self.graph.mutations.items():
            if target not in changeable:
                self._fail(f"{target.name} <- {value.name}: only inputs and constants can change")
            if value not in self.defined:
                self._fail(f"{target.name} <- {value.name}: {value.name!r} is not defined in it")
            same_axes = len(target.type.shape) == len(value.type.shape)
            if target.type.dtype is not value.type.dtype or not same_axes:
                self._fail(f"{target.name} <- {value.name}: {target.type} becomes {value.type}")

    def _check_guards(self) -> None:
        for guard in self.graph.guards:
            for size in (guard.left, guard.right):
                for name in symbols_in(size):
                    if name not in self.bound:
                        self._fail(f"guard {guard}: nothing says how large {name} is")


def _faces(node: Node) -> list[Any]:
    return [
        part
        for g in graphs_in(node)
        for part in (*(v.type for v in (*g.inputs, *g.outputs)), len(g.inputs), *g.guards)
    ]


def _same_arguments(a: Any, b: Any) -> bool:
    """Whether arguments are the very same values, numbers and graphs; equal is not enough, as 1 is True."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(_same_arguments, a, b))
    return False


def _short(node: Node) -> str:
    try:
        text = node_text(node)
    except (GraphError, ValueError, AttributeError):  # it is broken, which is why we are here
        return ", ".join(v.name for v in node.outputs)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _reason(error: ThixoError) -> str:
    """An error's message without the line it ends in: the node has its own."""
    return re.sub(r" \([^()\n]+:\d+\)$", "", str(error))
