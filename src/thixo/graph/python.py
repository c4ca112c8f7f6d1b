"""A graph as Python that people can read, import and run.

>>> graph = tx.jit.trace(lambda x, w: (x * w).sum(1), (tx.ones(2, 3), tx.ones(3))).graph
>>> print(python_text(graph))
import thixo as tx
<BLANKLINE>
<BLANKLINE>
def traced(x, w):
    mul = tx.mul(x, w)  # ...:1
    sum = tx.sum(mul, dim=(1,))  # ...:1
    return sum
"""

import builtins
import keyword
import math
from collections.abc import Callable
from typing import Any

from thixo.device import device
from thixo.dtype import DType
from thixo.errors import ArgumentError, GraphError, describe
from thixo.graph.constants import data_text
from thixo.graph.control import subgraphs
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.symbolic import Dim

_TAKEN = frozenset(keyword.kwlist) | {"tx"} | (frozenset(dir(builtins)) - {"sum", "abs", "pow", "all", "any", "round"})  # fmt: skip


def python_text(graph: Graph) -> str:
    """The source of a module with one function for each graph; the last is the graph itself.

    Large constants are not in the text: they are arguments of the function, by name.

    >>> graph = tx.graph.parse("graph f(x: f32[n]) {\\n  y: f32[n] = exp(x)\\n  return y\\n}")
    >>> python_text(graph).splitlines()[-3:]
    ['def f(x):', '    y = tx.exp(x)', '    return y']
    """
    if not isinstance(graph, Graph):
        raise ArgumentError(
            f"python_text: needs a graph.Graph, got {describe(graph)}; of a declared graph take session.program(fetches)"
        )
    writer = _Module(graph)
    return "\n\n\n".join(["import thixo as tx", *writer.functions()])


class _Module:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names: dict[int, str] = {}
        for one in (*subgraphs(graph), graph):
            name = _free(one.name, self.names.values())
            self.names[id(one)] = name

    def functions(self) -> list[str]:
        inner = [_Function(one, self.names, True).text() for one in subgraphs(self.graph)]
        return [*inner, _Function(self.graph, self.names, False).text()]


class _Function:
    """Writes one graph."""

    def __init__(self, graph: Graph, graphs: dict[int, str], inner: bool) -> None:
        self.graph = graph
        self.inner = inner
        self.graphs = graphs
        self.values: dict[Value, str] = {}
        self.lines: list[str] = []
        taken: set[str] = set(graphs.values())
        for value in graph.values():
            self.values[value] = _free(value.name, taken)
            taken.add(self.values[value])
        self.used = {n for node in graph.nodes for s in sizes_in(node.args) for n in symbols_in(s)}
        for node in graph.nodes:
            if node.op.kind == "control":  # a loop without turns makes empty results
                self.used.update(
                    n for v in node.outputs for s in v.type.shape for n in symbols_in(s)
                )

    def text(self) -> str:
        graph = self.graph
        large = [v for v, data in graph.constants.items() if data_text(data) == "..."]
        if large and self.inner:
            raise GraphError(f"graph {graph.name}: a graph inside of another has a large constant")
        header = ", ".join(self.values[v] for v in graph.inputs)
        if large:
            header += (", *, " if header else "*, ") + ", ".join(self.values[v] for v in large)
        self._bind_sizes(graph.inputs)
        for value, data in graph.constants.items():
            if value not in large:
                text = data_text(data)
                self._line(f"{self.values[value]} = tx.tensor({_number_text(text)}, dtype={_dtype(value.type.dtype)})")  # fmt: skip
        for node in graph.nodes:
            self._node(node)
        for target, new in graph.mutations.items():
            self._line(f"{self.values[target]}.copy_({self.values[new]})")
        self._line(f"return {', '.join(self.values[v] for v in graph.outputs)}".rstrip())
        return "\n".join([f"def {self.graphs[id(graph)]}({header}):", *self.lines])

    def _line(self, code: str, source: str | None = None, depth: int = 1) -> None:
        self.lines.append("    " * depth + code + (f"  # {source}" if source else ""))

    def _bind_sizes(self, values: Any) -> None:
        for value in values:
            for axis, size in enumerate(value.type.shape):
                name = symbol_name(size)
                if name is not None and name in self.used:
                    self.used.discard(name)
                    self._line(f"{name} = {self.values[value]}.shape[{axis}]")

    def _node(self, node: Node) -> None:
        results = ", ".join(self.values[v] for v in node.outputs)
        if node.op.kind == "control":
            _CONTROL[node.op.full_name](self, node, results)
        else:
            self._line(f"{results} = tx.{node.op.full_name}({self._arguments(node)})", node.source)
        self._bind_sizes(node.outputs)

    def _arguments(self, node: Node) -> str:
        parts, in_order = [], True
        for p, a in zip(node.op.sig.params, node.args, strict=True):
            if not p.holds_tensors and type(a) is type(p.default) and a == p.default:
                in_order = False
                continue
            if a is None and p.default is None:
                in_order = False
                continue
            text = self._argument(a)
            if in_order and not p.keyword_only and p.holds_tensors:
                parts.append(text)
            else:
                in_order = False
                parts.append(f"{p.name}={text}")
        return ", ".join(parts)

    def _argument(self, a: Any) -> str:
        if isinstance(a, Value):
            return self.values[a]
        if isinstance(a, Dim):
            return str(a)
        if isinstance(a, DType):
            return _dtype(a)
        if isinstance(a, device):
            return f"tx.device({str(a)!r})"
        if isinstance(a, float) and not math.isfinite(a):
            return f"float('{a}')"
        if isinstance(a, tuple):
            inner = ", ".join(map(self._argument, a))
            return f"({inner},)" if len(a) == 1 else f"({inner})"
        if isinstance(a, list):
            return f"[{', '.join(map(self._argument, a))}]"
        if isinstance(a, slice):
            return f"slice({', '.join(map(self._argument, (a.start, a.stop, a.step)))})"
        return repr(a)

    def listed(self, values: list[Value]) -> str:
        """Values between commas."""
        return ", ".join(self.values[v] for v in values)


# ---- control flow: as people write it


def _call(to: _Function, node: Node, results: str) -> None:
    graph, inputs = node.args
    to._line(f"{results} = {to.graphs[id(graph)]}({to.listed(inputs)})", node.source)


def _cond(to: _Function, node: Node, results: str) -> None:
    pred, then, other, inputs = node.args
    for word, graph in ((f"if {to.values[pred]}:", then), ("else:", other)):
        to._line(word, node.source)
        to._line(f"{results} = {to.graphs[id(graph)]}({to.listed(inputs)})", depth=2)


def _switch(to: _Function, node: Node, results: str) -> None:
    index, branches, inputs = node.args
    for i, graph in enumerate(branches):
        last = i == len(branches) - 1
        word = "if True:" if len(branches) == 1 else "else:" if last else f"{'if' if i == 0 else 'elif'} {to.values[index]} == {i}:"  # fmt: skip
        to._line(word, node.source)
        to._line(f"{results} = {to.graphs[id(graph)]}({to.listed(inputs)})", depth=2)


def _while(to: _Function, node: Node, results: str) -> None:
    test, body, state, captured, limit = node.args
    stacked = list(node.outputs[len(state) :])
    names = [to.values[v] for v in node.outputs[: len(state)]]
    given = ", ".join([*names, *(to.values[v] for v in captured)])
    to._line(f"{', '.join(names)} = {to.listed(state)}", node.source)
    rows = [f"{to.values[v]}_rows" for v in stacked]
    for row in rows:
        to._line(f"{row} = []")
    turns = f"{to.values[node.outputs[0]]}_turns" if node.outputs else "turns"
    if limit is not None:
        to._line(f"{turns} = 0")
    bound = "" if limit is None else f"{turns} < {limit} and "
    to._line(f"while {bound}{to.graphs[id(test)]}({given}):")
    _body(to, body, names, rows, given)
    if limit is not None:
        to._line(f"{turns} += 1", depth=2)
    _stack(to, stacked, rows)


def _scan(to: _Function, node: Node, results: str) -> None:
    body, state, slices, captured, length, back = node.args
    stacked = list(node.outputs[len(state) :])
    names = [to.values[v] for v in node.outputs[: len(state)]]
    if names:
        to._line(f"{', '.join(names)} = {to.listed(state)}", node.source)
    rows = [f"{to.values[v]}_rows" for v in stacked]
    for row in rows:
        to._line(f"{row} = []")
    turn = f"{to.values[node.outputs[0]]}_turn"
    order = f"range({to._argument(length)})"
    to._line(f"for {turn} in {f'reversed({order})' if back else order}:", node.source)
    given = ", ".join([*names, *(f"{to.values[v]}[{turn}]" for v in slices), *(to.values[v] for v in captured)])  # fmt: skip
    _body(to, body, names, rows, given)
    _stack(to, stacked, rows, "[::-1]" if back else "")


def _body(to: _Function, body: Graph, names: list[str], rows: list[str], given: str) -> None:
    made = [f"{r}_new" for r in rows]
    to._line(f"{', '.join([*names, *made])} = {to.graphs[id(body)]}({given})", depth=2)
    for row, new in zip(rows, made, strict=True):
        to._line(f"{row}.append({new})", depth=2)


def _stack(to: _Function, stacked: list[Value], rows: list[str], order: str = "") -> None:
    for value, row in zip(stacked, rows, strict=True):
        shape = to._argument((0, *value.type.shape[1:]))
        empty = f"tx.empty({shape}, dtype={_dtype(value.type.dtype)})"
        to._line(f"{to.values[value]} = tx.stack({row}{order}) if {row} else {empty}")


def _show(to: _Function, node: Node, results: str) -> None:
    x, text = node.args
    shown = f"{text!r}, {to.values[x]}" if text else to.values[x]
    to._line(f"print({shown})", node.source)
    to._line(f"{results} = {to.values[x]}")


_CONTROL: dict[str, Callable[[_Function, Node, str], None]] = {
    "call": _call,
    "fused": _call,
    "cond": _cond,
    "switch": _switch,
    "while_loop": _while,
    "scan": _scan,
    "show": _show,
}


def _dtype(dtype: DType) -> str:
    return f"tx.{dtype.name}"


def _number_text(text: str) -> str:
    return text.replace("nan", "float('nan')").replace("inf", "float('inf')")


def _free(name: str, taken: Any) -> str:
    found, number = name, 0
    while found in _TAKEN or found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
