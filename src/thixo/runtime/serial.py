"""The executor that runs a graph operator by operator, as eager code would."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from thixo import _core
from thixo.errors import at_line
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Node, Value
from thixo.runtime.base import Executor, fresh, inner_values


class _Located(Interpreter):
    """Says of an error where the node that failed was written."""

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """The results of one node."""
        try:
            return super().run_node(node, args)
        except Exception as error:
            at_line(error, node.source)
            raise


class Serial(Executor):
    """Every node by its eager operator, in the order of the graph, without the tape."""

    name = "serial"

    def __init__(self, graph: Graph, **options: Any) -> None:
        super().__init__(graph, **options)
        self._interpreter = _Located(graph, "eager")

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Run it."""
        return self._run(self._interpreter, inputs)

    def inner(self, values: Sequence[Value | str], inputs: Sequence[Any]) -> list[Any]:
        """Run it and give inner values too."""
        wider = copy(self.graph)
        wider.outputs = [*wider.results(), *inner_values(self.graph, values)]
        wider.mutations = {}
        return self._run(_Located(wider, "eager"), inputs)

    def _run(self, interpreter: Interpreter, inputs: Sequence[Any]) -> list[Any]:
        one = copy(interpreter)  # it holds the sizes of one call
        one._inside = {}
        one.need_inputs(inputs)
        enabled = _core.set_grad_enabled(False)
        try:
            results = one.run_all(*inputs)
        finally:
            _core.set_grad_enabled(enabled)
        taken = [
            t for t in (*inputs, *self.graph.constants.values()) if isinstance(t, _core.Tensor)
        ]
        return fresh(results, taken)
