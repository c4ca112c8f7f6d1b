"""The trace of a graph inside of a graph: of a branch, or of a loop's body.

What it uses from outside becomes an input.
"""

from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.errors import TraceError
from thixo.graph.ir import Type, Value
from thixo.graph.sizes import sizes_in, symbol_name
from thixo.graph.trace import Trace
from thixo.symbolic import Dim, Size


class Body(Trace):
    """The trace of a branch or of a loop's body."""

    def __init__(self, name: str, outer: Trace) -> None:
        super().__init__(name)
        self.outer = outer
        self.captured: list[Value] = []  # of the outer graph, in the order of the inputs for them
        self._inside: dict[Value, Value] = {}
        self._seen: dict[int, tuple[Any, Any]] = {}  # tensors from outside, and what they denoted
        self.tensors: dict[Value, Any] = {}  # whose values the captured ones are
        self._sizes: dict[Any, Dim] = {}

    def restore(self) -> list[tuple[Any, Any]]:
        """Let tensors from outside denote what they did; those that were written, and what they were."""
        written = [(t, v) for t, v in self._seen.values() if t._value is not v]
        for tensor, value in written:
            _core.set_value(tensor, value) if value is not None else _core.become(tensor, None)
        return written

    def state(self, value: Value, name: str) -> Any:
        """An input for a value that the caller hands over."""
        return self.input(name, self.own_type(value.type))

    def own_type(self, type: Type) -> Type:
        """A type in this graph's own sizes: an expression of outer sizes is one size here."""
        return Type(type.dtype, [self._own_size(s) for s in type.shape], type.device)

    def _own_size(self, size: Size) -> Size:
        if not isinstance(size, Dim) or symbol_name(size) is not None:
            return size
        found = self._sizes.get(size)
        if found is None:
            low, high = size.bounds
            found = self._sizes[size] = Dim(
                self.graph.fresh_name("size"), size.hint, max(low or 0, 0), high
            )
        return found

    def value_of(self, tensor: Any) -> Value:
        """The value here of a tensor; one from outside becomes an input."""
        value = tensor._value
        if value is not None and value in self._own:
            return value
        outer = self.outer.value_of(tensor)
        self._seen.setdefault(id(tensor), (tensor, value))
        self.tensors.setdefault(outer, tensor)
        return self.capture(outer)

    def capture(self, outer: Value) -> Value:
        """The input for a value of the outer graph."""
        found = self._inside.get(outer)
        if found is None:
            found = self._inside[outer] = self.graph.input(outer.name, self.own_type(outer.type))
            self.own([found])
            self.captured.append(outer)
        return found

    def bind_sizes(self) -> None:
        """Capture values that say how large the sizes are that were used from outside."""
        bound = {symbol_name(s) for v in self.graph.inputs for s in v.type.shape}
        for node in list(self.graph.nodes):
            for size in sizes_in(node.args):
                for name in size.symbols.keys() - bound:
                    bound.add(name)
                    self.capture(carrier(self.outer, name, self.graph.name))
            bound.update(n for v in node.outputs for s in sizes_in(v.type.shape) for n in s.symbols)


def carrier(trace: Trace, name: str, who: str) -> Value:
    """A value of a graph that says how large a size is."""
    for value in trace.graph.values():
        if any(symbol_name(s) == name for s in value.type.shape):
            return value
    if isinstance(trace, Body):
        return trace.capture(carrier(trace.outer, name, who))
    raise TraceError(
        f"a size that the data decide: {who} uses {name}, which is known only in the branch or the turn of a loop that made "
        "it; use tx.where and masks, which keep sizes"
    )


def together(bodies: Sequence[Body], given: int) -> list[Value]:
    """Give bodies the same inputs: after those they were given, the union of what they captured."""
    every = list(dict.fromkeys(v for b in bodies for v in b.captured))
    for body in bodies:
        own = body.graph.inputs[:given]
        body.graph.inputs = [*own, *(body.capture(v) for v in every)]
    return every
