"""Running a captured graph. The one place that decides how: another way to run it is put here."""

from copy import copy
from typing import Any

from thixo.capture.function import write_changes
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph


class Runner:
    """Runs a graph on tensors, differentiably, and writes what it changes."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._interpreter = Interpreter(graph, "eager")

    def __call__(self, tensors: list[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes of this call."""
        interpreter = copy(self._interpreter)  # it holds the sizes of one call
        interpreter._inside = {}
        results = interpreter.run_all(*tensors)
        count = len(self.graph.outputs)
        outputs, changes = results[:count], results[count:]
        if changes:
            write_changes(self.graph, tensors, outputs, changes)
        return outputs, interpreter.sizes
