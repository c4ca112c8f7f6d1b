"""From a graph that fails to a small one that fails: drop outputs, cut nodes off, unfold and thin inner graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import thixo as tx
from tests.fuzz.compare import as_array
from thixo.graph import Graph, Interpreter
from thixo.graph.control import CALL, COND, SWITCH, graphs_in, subgraphs
from thixo.graph.ir import Node, Value, map_values, values_in
from thixo.graph.sizes import symbols_in
from thixo.graph.text import constant_data
from thixo.graph.trace import remove_dead

Fails = Callable[[Graph, Sequence[np.ndarray]], Any]


class Shrinker:
    """Makes a graph smaller as long as it still fails."""

    def __init__(
        self, graph: Graph, inputs: Sequence[np.ndarray], fails: Fails, patience: int = 400
    ) -> None:
        self.graph = graph
        self.inputs = list(inputs)
        self.fails = fails
        self.patience = patience  # how many smaller graphs are tried

    def run(self) -> tuple[Graph, list[np.ndarray]]:
        """The smallest that was found."""
        steps = [self._fewer_results, self._cut, self._open, self._thin, self._drop_inputs]
        changed = True
        while changed and self.patience > 0:
            changed = False
            for step in steps:
                changed |= step()
        return self.graph, self.inputs

    def _try(self, graph: Graph, inputs: Sequence[np.ndarray]) -> bool:
        if self.patience <= 0:
            return False
        self.patience -= 1
        remove_dead(graph)
        try:
            if not self.fails(graph, inputs):
                return False
        except Exception:  # it is no graph any more
            return False
        self.graph, self.inputs = graph, list(inputs)
        return True

    def _fewer_results(self) -> bool:
        count = len(self.graph.outputs)
        if count > 1 or self.graph.mutations:
            for keep in range(count):
                made = self.graph.copy()
                made.outputs, made.mutations = [made.outputs[keep]], {}
                if self._try(made, self.inputs):
                    return True
        for drop in reversed(range(count)) if count > 1 else ():
            made = self.graph.copy()
            del made.outputs[drop]
            if self._try(made, self.inputs):
                return True
        return False

    def _cut(self) -> bool:
        """Make inputs of what a node computes."""
        changed = False
        data = self._values()
        number = len(self.graph.nodes) - 2
        while number >= 0 and self.patience > 0:
            number = min(number, len(self.graph.nodes) - 2)
            if number < 0:
                break
            node = self.graph.nodes[number]
            if all(v.name in data for v in node.outputs):
                made = self.graph.copy()
                cut = made.nodes.pop(number)
                inputs = list(self.inputs)
                for value in cut.outputs:
                    made.inputs.append(value)
                    inputs.append(data[value.name])
                changed |= self._try(*_without_unused(made, inputs))
            number -= 1
        return changed

    def _values(self) -> dict[str, np.ndarray]:
        """What every value is, where its sizes are known before the run."""
        bound = {n for v in self.graph.inputs for s in v.type.shape for n in symbols_in(s)}
        found: dict[str, np.ndarray] = {}

        class Seen(Interpreter):
            def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
                made = super().run_node(node, args)
                if self.graph is outer:
                    for value, result in zip(node.outputs, made, strict=True):
                        if all(n in bound for s in value.type.shape for n in symbols_in(s)):
                            found[value.name] = as_array(result)
                return made

        outer = self.graph
        tx.manual_seed(0)
        try:
            Seen(outer).run(*(tx.from_numpy(np.array(a, order="C")) for a in self.inputs))
        except Exception:
            return found
        return found

    def _open(self) -> bool:
        """Calls of one branch in the place of a choice."""
        for number, node in enumerate(self.graph.nodes):
            if node.op is not COND and node.op is not SWITCH:
                continue
            for which in range(len(list(graphs_in(node)))):
                made = self.graph.copy()
                one = made.nodes[number]
                one.args, one.op = (list(graphs_in(one))[which], one.args[-1]), CALL
                if self._try(made, self.inputs):
                    return True
        return False

    def _thin(self) -> bool:
        """Inside of inner graphs: another value of the same type in the place of a node's."""
        for place, inner in enumerate(subgraphs(self.graph)):
            for number in reversed(range(len(inner.nodes))):
                for output in range(len(inner.nodes[number].outputs)):
                    value = inner.nodes[number].outputs[output]
                    others = [
                        i for i, v in enumerate(_before(inner, number)) if v.type == value.type
                    ]
                    for other in others[:2]:
                        made = self.graph.copy()
                        one = subgraphs(made)[place]
                        _replace(
                            one, one.nodes[number].outputs[output], _before(one, number)[other]
                        )
                        remove_dead(one)
                        if len(one.nodes) < len(inner.nodes) and self._try(made, self.inputs):
                            return True
        return False

    def _drop_inputs(self) -> bool:
        graph, inputs = _without_unused(self.graph.copy(), self.inputs)
        return len(inputs) < len(self.inputs) and self._try(graph, inputs)


def _before(graph: Graph, number: int) -> list[Value]:
    return [*graph.inputs, *graph.constants, *(v for n in graph.nodes[:number] for v in n.outputs)]


def _replace(graph: Graph, old: Value, new: Value) -> None:
    for node in graph.nodes:
        node.args = map_values(node.args, lambda v: new if v is old else v)
    graph.outputs = [new if v is old else v for v in graph.outputs]


def _without_unused(graph: Graph, inputs: Sequence[np.ndarray]) -> tuple[Graph, list[np.ndarray]]:
    """Without inputs that nothing reads, if their sizes are known from others."""
    remove_dead(graph)
    read = {v for n in graph.nodes for v in values_in(n.args)} | set(graph.results())
    read |= set(graph.mutations)
    keep = [i for i, v in enumerate(graph.inputs) if v in read]
    given = list(graph.inputs)
    graph.inputs = [given[i] for i in keep]
    try:
        graph.verify()
    except Exception:
        graph.inputs = given
        return graph, list(inputs)
    return graph, [inputs[i] for i in keep]


def as_test(graph: Graph, inputs: Sequence[np.ndarray], how: str) -> str:
    """A test that one can paste: the graph as text, its data as arrays."""
    large = {n: d for n, d in constant_data(graph).items() if as_array(d).size > 16}
    lines = ['GRAPH = """', *str(graph).splitlines(), '"""']
    if large:
        lines.append("CONSTANTS = {")
        lines += [f"    {name!r}: {_array_text(as_array(data))}," for name, data in large.items()]
        lines.append("}")
    lines += ["INPUTS = [", *(f"    {_array_text(a)}," for a in inputs), "]", f"# {how}"]
    return "\n".join(lines)


def _array_text(array: np.ndarray) -> str:
    if array.dtype.kind == "V" or array.dtype.name == "bfloat16":
        return f"np.array({array.astype(np.float64).tolist()}).astype(tx.bfloat16.numpy)"
    if not array.size:
        return f"np.zeros({array.shape}, np.{array.dtype.name})"
    values = repr(array.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({values}, np.{array.dtype.name})"
