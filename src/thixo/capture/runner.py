"""Running a captured graph. The one place that decides how: another way to run it is put here."""

from copy import copy
from typing import Any

from thixo.capture.function import write_changes
from thixo.capture.joint import GraphFunction
from thixo.errors import GraphError, InternalError, TraceError
from thixo.graph.control import subgraphs
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph
from thixo.graph.trace import finders_of_sizes

MANY = 1000  # graphs inside of one: a recursion that was unrolled, which takes longer to compile than to run


class Runner:
    """Runs a graph on tensors, differentiably, and writes what it changes.

    It is compiled and one node of the tape. Where it cannot be compiled it runs operator by operator.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._interpreter: Interpreter | None = None
        if len(subgraphs(graph)) > MANY:
            self._interpreter = Interpreter(graph, "eager")
            return
        self._function = GraphFunction(graph, sizes=list(finders_of_sizes(graph)))

    def __call__(self, tensors: list[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes of this call."""
        if self._interpreter is None:
            try:
                return self._function.with_sizes(tensors)
            except (GraphError, InternalError, TraceError):  # before anything was run
                self._interpreter = Interpreter(self.graph, "eager")
        return self._interpreted(self._interpreter, tensors)

    def _interpreted(
        self, general: Interpreter, tensors: list[Any]
    ) -> tuple[list[Any], dict[str, int]]:
        interpreter = copy(general)  # it holds the sizes of one call
        interpreter._inside = {}
        results = interpreter.run_all(*tensors)
        count = len(self.graph.outputs)
        outputs, changes = results[:count], results[count:]
        if changes:
            write_changes(self.graph, tensors, outputs, changes)
        return outputs, interpreter.sizes
