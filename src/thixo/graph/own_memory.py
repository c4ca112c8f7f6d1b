"""Memory of its own for what leaves a graph.

Equal expressions are one value of a graph, and what is made of Python's numbers is a constant that the graph keeps. In Python each
is a tensor in memory of its own, which whoever gets it may write. So for each value one tensor leaves as that value; for any other
it is copied. Views of a tensor are views of its copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thixo import _core
from thixo.errors import user_line
from thixo.graph.ir import Node, Value
from thixo.graph.operators import find

if TYPE_CHECKING:
    from thixo.graph.trace import Trace

_NOBODY = object()  # whose memory the graph's own constants are


class OwnMemory:
    """Which tensor of a trace has which value for its memory."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._makers: dict[Value, tuple[Node, int]] = {}
        self._looked = 0  # nodes
        # Tensors from outside have theirs before anything leaves.
        self._owners: dict[Value, Any] = dict.fromkeys(trace.adopted, _NOBODY)
        self._outside: dict[int, Any] = {}
        known = [t for t, v in trace.constants.values() if v not in trace.adopted]
        for tensor in (*known, *trace.inputs):
            self._outside[id(tensor)] = tensor
            self._owners.setdefault(self._memory(trace.value_of(tensor))[0], tensor)
        self._copies: dict[int, tuple[Any, Value]] = {}  # by the id of a tensor that is no view

    def value_of(self, tensor: Any) -> Value:
        """The value of a tensor that leaves: of memory that no other tensor has."""
        value = self.trace.value_of(tensor)
        root = self.trace.aliases._root(tensor)
        source = self.trace.value_of(root)
        known = self._copies.get(id(root))
        if known is None:
            memory, copied_there = self._memory(source)
            owner = self._owners.setdefault(memory, root)
            # A reshape of what is outside looks at it or copies it as its strides decide, at each call.
            if owner is root or (copied_there and id(owner) in self._outside):
                return value
            known = self._copies[id(root)] = (root, self._copy(source, root))
        return self._seen(known[1], source, value)

    def _memory(self, value: Value) -> tuple[Value, bool]:
        """The value that one looks at through views, and whether there is a reshape among these."""
        reshaped = False
        while (found := self._view(value)) is not None:
            reshaped |= found[0].op.full_name == "reshape"
            value = found[0].args[0]
        return value, reshaped

    def _view(self, value: Value) -> tuple[Node, int] | None:
        """The node that makes a value as a view, and which of its results it is."""
        nodes = self.trace.graph.nodes
        for node in nodes[self._looked :]:
            self._makers.update((v, (node, i)) for i, v in enumerate(node.outputs))
        self._looked = len(nodes)
        found = self._makers.get(value)
        if found is None or not is_view(found[0]):
            return None
        return found

    def _copy(self, source: Value, root: Any) -> Value:
        trace = self.trace
        if id(root) in self._outside:  # it is written: what it becomes is the copy
            made = self._append(find("clone"), (source, None), source)
            if source in trace._ungraded:
                trace._ungraded.add(made)
            _core.set_value(root, made)
            return made
        return self._cloned(source)

    def _cloned(self, value: Value) -> Value:
        given = self.trace._with_gradient_cut(value)
        return self._append(find("clone"), (given, None), value)

    def _seen(self, copy: Value, source: Value, value: Value) -> Value:
        """A copy through the views by which a value looks at what was copied."""
        views: list[tuple[Node, int, Value]] = []
        at = value
        while at is not source:
            found = self._view(at)
            if found is None:  # it is no view of it in the graph
                return self._cloned(value)
            views.append((*found, at))
            at = found[0].args[0]
        for node, output, old in reversed(views):
            copy = self._append(node.op, (copy, *node.args[1:]), *node.outputs, output=output)
            if old in self.trace._ungraded:
                self.trace._ungraded.add(copy)
        return copy

    def _append(self, op: Any, args: Any, *like: Value, output: int = 0) -> Value:
        trace = self.trace
        source = trace.source or user_line()
        node = trace.graph.add(op, args, [v.type for v in like], source=source)
        trace.own(node.outputs)
        return node.outputs[output]


def is_view(node: Node) -> bool:
    """Whether a node's results look at the memory of its first argument, or may do so."""
    return (node.op.kind == "view" or node.op.full_name == "reshape") and isinstance(
        node.args[0], Value
    )
