"""A traced function: a graph with the containers of its arguments and results around it."""

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.joint import GraphFunction
from thixo.errors import ArgumentError, TraceError, describe
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph
from thixo.graph.trace import current_trace
from thixo.ops import public as tx
from thixo.pytree import Tree, tree_flatten, tree_unflatten
from thixo.symbolic import Dim


class Output(NamedTuple):
    """One leaf of what the function returns: a graph output, or something Python knew."""

    position: int | None  # which output of the graph
    value: Any  # else: a size, which is evaluated, or any other object


class TracedFunction:
    """What `jit.trace` returns. Call it as the function it was made from.

    `graph` is what was recorded, `code` its text.

    >>> double = tx.jit.trace(lambda x: x + x, tx.ones(2))
    >>> double(tx.ones(3))
    tensor([2., 2., 2.])
    """

    def __init__(
        self, graph: Graph, inputs: Tree, fixed: dict[int, Any], outputs: Tree, leaves: list[Output]
    ) -> None:
        self.graph = graph
        self._inputs = inputs
        self._fixed = fixed  # arguments that are no tensors, by position: part of the trace
        self._outputs = outputs
        self._leaves = leaves
        self._interpreter = Interpreter(graph, "eager")
        returned = [n for o in leaves if isinstance(o.value, Dim) for n in o.value.symbols]
        self._returns_sizes = bool(returned)
        self._function = GraphFunction(graph, sizes=returned)
        self.__name__ = graph.name

    @property
    def code(self) -> str:
        """The graph as text."""
        return str(self.graph)

    def __str__(self) -> str:
        return str(self.graph)

    def __repr__(self) -> str:
        return f"<traced function {self.graph.name}: {len(self.graph.nodes)} nodes>"

    def __call__(self, *args: Any) -> Any:
        """Run the graph on other arguments of the same kinds.

        It is compiled, and one node of the tape. Where tensors are symbolic, in another trace, its nodes are recorded there.
        """
        if current_trace() is not None:
            return self.interpreted(*args)
        tensors = self._flatten(args)
        sizes: dict[str, int] = {}
        if self._returns_sizes:
            outputs, sizes = self._function.with_sizes(tensors)
        else:
            outputs = self._function(tensors)
        leaves = [self._leaf(o, outputs, sizes) for o in self._leaves]
        return tree_unflatten(self._outputs, leaves)

    def interpreted(self, *args: Any) -> Any:
        """The same operator by operator, as the function itself would run.

        >>> double = tx.jit.trace(lambda x: x + x, tx.ones(2))
        >>> double.interpreted(tx.ones(3))
        tensor([2., 2., 2.])
        """
        tensors = self._flatten(args)
        interpreter = copy(self._interpreter)  # it holds the sizes of one call
        results = interpreter.run_all(*tensors)
        count = len(self.graph.outputs)
        outputs, changes = results[:count], results[count:]
        if changes:
            write_changes(self.graph, tensors, outputs, changes)
        leaves = [self._leaf(o, outputs, interpreter.sizes) for o in self._leaves]
        return tree_unflatten(self._outputs, leaves)

    def _flatten(self, args: Sequence[Any]) -> list[Any]:
        leaves, tree = tree_flatten(tuple(args))
        name = self.graph.name
        if tree != self._inputs:
            raise ArgumentError(
                f"{name}: was traced with arguments {self._inputs}, got {tree}; "
                "trace it again for other arguments"
            )
        tensors = []
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, _core.Tensor):
                if position in self._fixed:
                    raise ArgumentError(
                        f"{name}: argument {position} was {self._fixed[position]!r} when it was traced, "
                        f"got a tensor {describe(leaf)}"
                    )
                tensors.append(leaf)
            elif position not in self._fixed:
                raise ArgumentError(f"{name}: argument {position} must be a tensor, got {leaf!r}")
            elif not _equal(leaf, self._fixed[position]):
                raise TraceError(
                    f"{name}: argument {position} was {self._fixed[position]!r} when it was traced and "
                    f"is part of the graph, got {leaf!r}; trace it again"
                )
        self._refuse_overlap(tensors)
        return tensors

    def _refuse_overlap(self, tensors: list[Any]) -> None:
        """A write to one tensor that shows in another is not in the graph, which knew them as two."""
        graph = self.graph
        if not graph.mutations:
            return
        known = [*zip(graph.inputs, tensors, strict=True), *graph.constants.items()]
        for value, tensor in known:
            if value not in graph.mutations:
                continue
            for other, second in known:
                if other is not value and _core.shares_memory(tensor, second):
                    raise ArgumentError(
                        f"{graph.name}: writes into {value.name}, whose memory {other.name} shares; pass a copy of one "
                        "of them"
                    )

    def _leaf(self, output: Output, outputs: list[Any], sizes: dict[str, int]) -> Any:
        if output.position is not None:
            return outputs[output.position]
        value = output.value
        return value.evaluate(sizes) if isinstance(value, Dim) else value


def write_changes(graph: Graph, tensors: list[Any], outputs: list[Any], changes: list[Any]) -> None:
    """Write the new values of inputs and captured tensors, after everything was computed."""
    where = dict(zip(graph.inputs, tensors, strict=True))
    targets: list[Any] = [where.get(v, graph.constants.get(v)) for v in graph.mutations]
    for i, output in enumerate(outputs):
        if any(_core.shares_memory(output, t) for t in targets):
            outputs[i] = output.clone()
    if len(targets) > 1:
        changes = [new.clone() for new in changes]
    for target, new in zip(targets, changes, strict=True):
        if target.is_leaf and target.requires_grad:
            enabled = _core.set_grad_enabled(False)
            try:
                tx.copy_(target, new)
            finally:
                _core.set_grad_enabled(enabled)
        else:
            tx.copy_(target, new)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))
