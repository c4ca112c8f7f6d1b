"""Changing a graph by hand, safely: each edit keeps the graph well formed or is refused, and can be undone.

>>> graph = tx.graph.parse('''
... graph f(x: f32[n]) {
...   y: f32[n] = tanh(x)
...   z: f32[n] = exp(y)
...   return z
... }''')
>>> editor = Editor(graph)
>>> y, z = graph.nodes
>>> other = editor.insert("sigmoid", y.args[0], before=z, name="h")
>>> editor.replace(y.outputs[0], other)
>>> editor.remove(y)
>>> [str(node) for node in graph.nodes]
['h: f32[n] = sigmoid(x)', 'z: f32[n] = exp(h)']
>>> editor.undo(3)
>>> [str(node) for node in graph.nodes]
['y: f32[n] = tanh(x)', 'z: f32[n] = exp(y)']
"""

from collections.abc import Callable
from typing import Any

from thixo.errors import ArgumentError, GraphError, describe
from thixo.graph.ir import Graph, Node, Value, map_values, values_in
from thixo.graph.operators import bind, find
from thixo.graph.text import node_text
from thixo.graph.typing import result_types


class Editor:
    """Edits of one graph, newest last.

    Nodes are those of `graph.nodes`; values come from them, from `graph.inputs` and `graph.constants`.

    >>> graph = tx.jit.trace(lambda x: x.exp(), tx.ones(2)).graph
    >>> Editor(graph).remove(graph.nodes[0])
    Traceback (most recent call last):
    ...
    thixo.errors.GraphError: remove: exp is a result of graph traced...
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._undo: list[Callable[[], None]] = []

    def insert(
        self,
        op: Any,
        *args: Any,
        before: Node | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Put a new node before another, or at the end; its value, or a tuple of them."""
        op = find(op) if isinstance(op, str) else op
        bound = bind(op, args, kwargs)
        for p, a in zip(op.sig.params, bound, strict=True):
            if p.holds_tensors and isinstance(a, str):
                raise ArgumentError(
                    f"insert {op.full_name}: {p.name} must be a value, got {describe(a)}"
                )
        place = len(self.graph.nodes) if before is None else self._place(before)
        self._need_defined(list(values_in(bound)), place, f"insert {op.full_name}")
        types = result_types(op, bound)
        node = self.graph.add(op, bound, types, None if name is None else [name] * len(types))
        self.graph.nodes.insert(place, self.graph.nodes.pop())
        self._undo.append(lambda: self.graph.nodes.remove(node))
        return node.outputs[0] if len(node.outputs) == 1 else node.outputs

    def replace(self, old: Value, new: Value) -> None:
        """Let everything that reads `old` read `new`, which must have its type and be there in time."""
        for value in (old, new):
            if not isinstance(value, Value):
                raise ArgumentError(f"replace: needs values of the graph, got {describe(value)}")
        if old.type != new.type:
            raise GraphError(f"replace: {new} cannot stand for {old}: the types differ")
        graph = self.graph
        readers = [
            (i, n)
            for i, n in enumerate(graph.nodes)
            if old in set(values_in(n.args)) and new not in n.outputs
        ]
        first = min((i for i, _ in readers), default=len(graph.nodes))
        self._need_defined([new], first, f"replace {old.name}")
        before = [(n, n.args) for _, n in readers]
        outputs, mutations = graph.outputs, graph.mutations
        for _, node in readers:
            node.args = map_values(node.args, lambda v: new if v is old else v)
        graph.outputs = [new if v is old else v for v in outputs]
        graph.mutations = {k: new if v is old else v for k, v in mutations.items()}

        def undo() -> None:
            for node, args in before:
                node.args = args
            graph.outputs, graph.mutations = outputs, mutations

        self._undo.append(undo)

    def remove(self, node: Node) -> None:
        """Take out a node whose results nobody reads."""
        place = self._place(node)
        for reader in self.graph.nodes:
            for value in values_in(reader.args):
                if value in node.outputs:
                    raise GraphError(
                        f"remove: {value.name} is needed by {node_text(reader)}"
                        + (f" ({reader.source})" if reader.source else "")
                    )
        for value in self.graph.results():
            if value in node.outputs:
                raise GraphError(f"remove: {value.name} is a result of graph {self.graph.name}")
        del self.graph.nodes[place]
        self._undo.append(lambda: self.graph.nodes.insert(place, node))

    def undo(self, count: int = 1) -> None:
        """Take back the last edits."""
        if not 0 <= count <= len(self._undo):
            raise ArgumentError(f"undo: there are {len(self._undo)} edits, not {count}")
        for _ in range(count):
            self._undo.pop()()

    def _place(self, node: Node) -> int:
        if not isinstance(node, Node):
            raise ArgumentError(f"edit: needs a node of the graph, got {describe(node)}")
        for i, one in enumerate(self.graph.nodes):
            if one is node:
                return i
        raise GraphError(f"edit: {node_text(node)} is no node of graph {self.graph.name}")

    def _need_defined(self, values: list[Value], place: int, what: str) -> None:
        graph = self.graph
        known = {*graph.inputs, *graph.constants}
        known.update(v for n in graph.nodes[:place] for v in n.outputs)
        for value in values:
            if value not in known:
                raise GraphError(f"{what}: {value.name} is not defined there")
