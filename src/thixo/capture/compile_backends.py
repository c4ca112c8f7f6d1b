"""What runs the graphs of compiled functions: compiled programs, the NumPy reference, eager replay, or a user's own.

A backend is a function that takes a graph and gives a callable: of the graph's inputs as tensors, to the list of its outputs, with the
new values of what it changes (`graph.mutations`) behind them. Forward and backward graphs are handed to it alike, so
gradients work with any backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from thixo import _core
from thixo.capture.function import write_changes
from thixo.capture.joint import GraphFunction
from thixo.errors import ArgumentError, GraphError, InternalError, TraceError, nearest
from thixo.graph.constants import as_array
from thixo.graph.control import subgraphs
from thixo.graph.interpret import EagerBackend, Interpreter
from thixo.graph.ir import Graph, Node
from thixo.ops import public as tx
from thixo.runtime.base import Executor, fresh
from thixo.schedule.donations import can_fail

Build = Callable[[Graph], Callable[..., Sequence[Any]]]
Run = Callable[[Sequence[Any]], tuple[list[Any], dict[str, int]]]

MANY = 1000  # graphs inside of one: a recursion that was unrolled, which takes longer to compile than to run


class BackendError(ArgumentError):
    """A backend of a user's that does not do what one must.

    Fails:  tx.compile(f, backend=lambda graph: None)(x)
    Fixed:  tx.compile(f, backend=lambda graph: Interpreter(graph).run_all)(x)
    """


_registered: dict[str, Build] = {}


def register_backend(name: str, build: Build) -> None:
    """Give a backend a name that `tx.compile(backend=...)` knows.

    >>> from thixo.graph.interpret import Interpreter
    >>> seen = []
    >>> def watched(graph):
    ...     seen.append(len(graph.nodes))
    ...     return Interpreter(graph).run_all
    >>> tx.register_backend("watched", watched)
    >>> tx.compile(lambda x: x + 1, backend="watched")(tx.ones(2)), seen
    (tensor([2., 2.]), [1])
    """
    if not callable(build) or not isinstance(name, str) or not name:
        raise ArgumentError(
            f"register_backend: needs a name and a function of a graph, got {name!r} and {build!r}"
        )
    if name in ("native", "eager", "reference"):
        raise ArgumentError(
            f"register_backend: {name!r} is one of Thixo's own; choose another name"
        )
    _registered[name] = build


def checked_backend(backend: Any) -> Any:
    """A backend as `tx.compile` takes it, or an error that says which there are."""
    if callable(backend):
        return backend
    known = ["native", "reference", "eager", *_registered]
    if backend not in known:
        raise ArgumentError(
            f"compile: there is no backend {backend!r}{nearest(str(backend), known)}; "
            f"there are {', '.join(known)}, and any function of a graph"
        )
    return backend


def runner(
    graph: Graph, sizes: Sequence[str], backend: Any, budget: int | float | None = None
) -> Run:
    """Something that runs a graph on tensors, as a part of the tape; it gives outputs and those sizes."""
    if backend == "eager" or len(subgraphs(graph)) > MANY:
        return Replay(graph)
    if backend == "native":
        function = GraphFunction(graph, budget=budget, sizes=sizes)
    else:
        if backend == "reference":
            build: Build = _reference
        else:
            build = backend if callable(backend) else _registered[backend]
        function = GraphFunction(graph, budget=budget, sizes=sizes, run_by=_executor_of(build))
    run: Run = function.with_sizes if sizes else lambda tensors: (function(tensors), {})
    return run if backend != "native" else Compiled(graph, function, run)


class Compiled:
    """A compiled graph; where it turns out that it cannot be compiled, it is replayed."""

    def __init__(self, graph: Graph, function: GraphFunction, run: Run) -> None:
        self.function = function
        self.replayed = False
        self._graph = graph
        self._run = run

    def __call__(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes that are asked for."""
        try:
            return self._run(tensors)
        except (GraphError, InternalError, TraceError):  # before anything was run
            if self.replayed:
                raise
            self._run, self.replayed = Replay(self._graph), True
            return self._run(tensors)


class Replay:
    """Operator by operator, on the tape, as the function itself would."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._interpreter = Interpreter(graph, "eager")

    def __call__(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes of this call."""
        interpreter = copy(self._interpreter)  # it holds the sizes of one call
        interpreter._inside = {}
        results = interpreter.run_all(*tensors)
        count = len(self.graph.outputs)
        outputs, changes = results[:count], results[count:]
        if changes:
            write_changes(self.graph, list(tensors), outputs, changes)
        return outputs, interpreter.sizes


def _reference(graph: Graph) -> Callable[..., Sequence[Any]]:
    def run(*tensors: Any) -> list[Any]:
        found = _Reference(graph, "reference").run_all(*[as_array(t) for t in tensors])
        return [_core.from_numpy(array.copy()) for array in found]

    return run


class _Reference(Interpreter):
    """The references of operators, which know no errors of values: those are what the operators themselves raise."""

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """The results of one node."""
        if node.op.kind != "control" and not node.op.random and can_fail(node):
            EagerBackend().apply(node, _as_tensors(args))
        return super().run_node(node, args)


def _as_tensors(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(_as_tensors, x))
    return _core.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x


def _executor_of(build: Build) -> type[Executor]:
    """An executor that hands graphs to a backend."""
    return type("Handed", (_Handed,), {"name": "backend", "build": staticmethod(build)})


class _Handed(Executor):
    """Lets a backend run a graph, without the tape; writes what the graph changes."""

    build: Build

    def __init__(self, graph: Graph, writes: bool = False) -> None:
        super().__init__(graph)
        self._writes = writes
        try:
            self._run = self.build(graph)
        except Exception as error:
            raise BackendError(
                f"compile: the backend raised {type(error).__name__} for graph {graph.name}: {error}"
            ) from error
        if not callable(self._run):
            raise BackendError(
                f"compile: the backend gave {self._run!r} for graph {graph.name}; it must give a callable of tensors"
            )

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs; what the graph changes is written, or follows."""
        graph = self.graph
        enabled = _core.set_grad_enabled(False)
        try:
            found = self._run(*inputs)
            results = list(found) if isinstance(found, list | tuple) else [found]
            wanted = len(graph.outputs) + len(graph.mutations)
            if len(results) != wanted:
                raise BackendError(
                    f"compile: the backend gave {len(results)} results for graph {graph.name}, which has {wanted}: "
                    "its outputs, then the new values of what it changes"
                )
            taken = [t for t in (*inputs, *graph.constants.values()) if isinstance(t, _core.Tensor)]
            results = fresh(results, taken)
            if not self._writes:
                return results
            count = len(graph.outputs)
            where = dict(zip(graph.inputs, inputs, strict=True))
            for value, new in zip(graph.mutations, results[count:], strict=True):
                tx.copy_(where[value], new)
            return results[:count]
        finally:
            _core.set_grad_enabled(enabled)
