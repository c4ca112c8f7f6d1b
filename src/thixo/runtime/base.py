"""What all executors have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.errors import ArgumentError, GraphError, nearest
from thixo.graph.ir import Graph, Value


class Executor:
    """Runs one graph; see the module's text for what a call gives.

    Calls may come from several threads at once, and from inside of another call.

    >>> from thixo.graph import parse
    >>> from thixo.runtime.executor import executor
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

    def prepare(self, inputs: Sequence[Any]) -> None:
        """Compile what a call with inputs like these needs, where there is something to compile."""

    def inner(self, values: Sequence[Value | str], inputs: Sequence[Any]) -> list[Any]:
        """What a call gives, then these values from inside of the graph (or those of these names).

        >>> from thixo.graph import parse
        >>> from thixo.runtime.executor import executor
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
            raise GraphError(
                f"graph {graph.name} has no value {name} outside of its inner graphs{nearest(name, every)}"
            )
        found.append(one)
    return found


def fresh(results: Sequence[Any], taken: Sequence[Any]) -> list[Any]:
    """Results that share memory neither with each other nor with tensors that somebody has already."""
    made: list[Any] = []
    for result, alone in zip(results, _core.apart(results, taken), strict=True):
        if not alone:
            result = result.clone()
        made.append(result.detach() if result.requires_grad else result)
    return made
