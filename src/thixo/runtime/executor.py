"""Executors: the ways to run a graph, behind one interface.

An executor is made once for a graph and called with its inputs. What it gives are the graph's outputs, then the new
values of what the graph changes (`graph.mutations`), in order; nothing outside of it is written. All give the same
values; they differ in what they do before the first call and in what a call costs.

    serial    operator by operator, as eager code would run it: the judge of the others

>>> from thixo.graph import parse
>>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = mul(x, x)\\n  return y\\n}")
>>> executor(graph, "serial")([tx.tensor([1.0, 2.0, 3.0])])
[tensor([1., 4., 9.])]
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from thixo import _core
from thixo.errors import ArgumentError, GraphError, at_line
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Node, Value


class Executor:
    """Runs one graph; see the module's text for what a call gives.

    Calls may come from several threads at once, and from inside of another call.

    >>> from thixo.graph import parse
    >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = neg(x)\\n  return y\\n}")
    >>> executor(graph, "serial")
    <serial executor of graph f>
    """

    name = ""

    def __init__(self, graph: Graph, **options: Any) -> None:
        if options:
            raise ArgumentError(
                f"executor {self.name}: unknown option {', '.join(sorted(options))} for graph {graph.name}"
            )
        self.graph = graph

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs, then the new values of what the graph changes, as new tensors without history."""
        raise NotImplementedError(f"{type(self).__name__} has no call")

    def inner(self, values: Sequence[Value | str], inputs: Sequence[Any]) -> list[Any]:
        """What a call gives, then these values from inside of the graph (or those of these names).

        >>> from thixo.graph import parse
        >>> text = "graph f(x: f32[n]) {\\n  y: f32[n] = neg(x)\\n  z: f32[n] = exp(y)\\n  return z\\n}"
        >>> executor(parse(text), "serial").inner(["y"], [tx.zeros(2)])
        [tensor([1., 1.]), tensor([-0., -0.])]
        """
        raise NotImplementedError(f"{type(self).__name__} has no inner")

    def __repr__(self) -> str:
        return f"<{self.name} executor of graph {self.graph.name}>"


def inner_values(graph: Graph, values: Sequence[Value | str]) -> list[Value]:
    """Values of a graph, by themselves or by name."""
    every = {v.name: v for v in graph.values()}
    found = []
    for value in values:
        one = every.get(value if isinstance(value, str) else value.name)
        if one is None or not (isinstance(value, str) or one is value):
            name = value if isinstance(value, str) else value.name
            raise GraphError(f"graph {graph.name} has no value {name} outside of its inner graphs")
        found.append(one)
    return found


# ---- operator by operator


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
        enabled = _core.set_grad_enabled(False)
        try:
            results = one.run_all(*inputs)
        finally:
            _core.set_grad_enabled(enabled)
        taken = [
            t for t in (*inputs, *self.graph.constants.values()) if isinstance(t, _core.Tensor)
        ]
        return fresh(results, taken)


def fresh(results: Sequence[Any], taken: Sequence[Any]) -> list[Any]:
    """Results that share memory neither with each other nor with tensors that somebody has already."""
    made: list[Any] = []
    for result in results:
        if any(_core.shares_memory(result, t) for t in (*taken, *made)):
            result = result.clone()
        made.append(result.detach() if result.requires_grad else result)
    return made


EXECUTORS: dict[str, type[Executor]] = {"serial": Serial}


def executor(graph: Graph, name: str = "serial", **options: Any) -> Executor:
    """An executor of a graph, by name."""
    if name not in EXECUTORS:
        raise ArgumentError(
            f"executor: there is none called {name!r}; there are {', '.join(sorted(EXECUTORS))}"
        )
    return EXECUTORS[name](graph, **options)
