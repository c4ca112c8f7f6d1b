"""Running a captured graph. The one place that decides how: another way to run it is put here."""

from copy import copy
from typing import Any

from thixo import _core
from thixo.autodiff.depending import depending, has_gradient
from thixo.capture.function import write_changes
from thixo.capture.joint import GraphFunction
from thixo.capture.results import outputs_of_run
from thixo.capture.tape import attach
from thixo.errors import GraphError, InternalError, TraceError, user_line
from thixo.graph.control import CALL, subgraphs
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph
from thixo.graph.sizes import symbol_name
from thixo.graph.trace import Trace, current_trace, finders_of_sizes, make_symbolic

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
        trace = current_trace()
        if trace is not None:
            return self._recorded(trace, tensors)
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
        return outputs_of_run(self.graph, tensors, outputs), interpreter.sizes

    def _recorded(self, trace: Trace, tensors: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The graph as one call in another trace, on the tape of what is traced."""
        graph = self.graph.copy()
        changed = list(graph.mutations.values())
        graph.outputs, graph.mutations = [*graph.outputs, *changed], {}
        values = [trace.value_of(t) for t in tensors]
        goes_on = _core.is_grad_enabled()
        if goes_on:
            values = [trace._with_gradient_cut(v) for v in values]
        trace.graph.call(CALL, graph, values, source=trace.source or user_line())
        node = trace.graph.nodes[-1]
        trace.own(node.outputs)
        made = [make_symbolic(v) for v in node.outputs]
        if goes_on:
            graded = zip(graph.inputs, tensors, strict=True)
            moving = depending(graph, [v for v, t in graded if t.requires_grad])
            flags = [v in moving for v in graph.outputs]
            attach(trace, node, dict(zip(values, tensors, strict=True)), made, flags)
        elif trace.cuts:
            trace._ungraded.update(v for v in node.outputs if has_gradient(v.dtype))
        count = len(self.graph.outputs)
        outputs, changes = made[:count], made[count:]
        if changes:
            write_changes(self.graph, tensors, outputs, changes)
        inside = [*graph.inputs, *graph.outputs]
        sizes: dict[str, Any] = {}
        for value, outer in zip(inside, [*values, *node.outputs], strict=True):
            for size, actual in zip(value.type.shape, outer.type.shape, strict=True):
                name = symbol_name(size)
                if name is not None:
                    sizes.setdefault(name, actual)
        return outputs, sizes
