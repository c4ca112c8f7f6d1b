"""The text form of a graph: what people read and `parse` reads back.

    graph f(x: f32[n, m], w: f32[m]) {
      y: f32[n, m] = mul(x, w)        # train.py:12
      return y
    }

Lines before the nodes, where there are any:

    sizes n ~ 4, m >= 1              sizes are at least 2 unless said; ~ is the size in the example
    guard n == 2*m                   what was assumed of sizes
    c: f32[2] = constant([0.5, 1.0]) a captured tensor; constant(...) where its data is kept beside

and after them, for each input or constant that the caller finds changed, `x <- y`. Graphs that stand in arguments
(of `cond`, `while_loop`...) are written before the one that they are part of, which calls them by name.
"""

import math
from typing import Any

from thixo.device import device
from thixo.dtype import DType
from thixo.errors import GraphError
from thixo.graph.constants import data_text
from thixo.graph.control import graphs_in, subgraphs
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.symbolic import Dim

LEAST = 2  # a symbolic size is at least this; sizes 0 and 1 are specialised
_WIDTH = 100

Names = dict[int, str]  # what the graphs inside of one are called, by identity


def graph_text(graph: Graph, sources: bool = True) -> str:
    """A graph as text; the graphs inside of it stand before it."""
    names = graph_names(graph)
    return "\n\n".join(_block(one, names, sources) for one in (*subgraphs(graph), graph))


def graph_names(graph: Graph) -> Names:
    """What a graph and those inside of it are called in the text: each by a name of its own."""
    names: Names = {}
    taken: set[str] = set()
    last: dict[str, int] = {}  # number that was appended to a name
    for one in (*subgraphs(graph), graph):
        name, number = one.name, last.get(one.name, 0)
        while name in taken:
            number += 1
            name = f"{one.name}_{number}"
        last[one.name] = number
        taken.add(name)
        names[id(one)] = name
    return names


def constant_data(graph: Graph) -> dict[str, Any]:
    """The data of all constants, inner graphs' too, by the names that `parse` takes beside the text.

    >>> import numpy as np
    >>> graph = Graph("f")
    >>> graph.outputs = [graph.constant("c", np.zeros(20))]
    >>> list(constant_data(graph))
    ['f.c']
    >>> tx.graph.parse(str(graph), constant_data(graph)) == graph
    True
    """
    names = graph_names(graph)
    return {
        f"{names[id(one)]}.{value.name}": data
        for one in (*subgraphs(graph), graph)
        for value, data in one.constants.items()
    }


def _block(graph: Graph, names: Names, sources: bool) -> str:
    types: dict[int, str] = {}  # by identity: most values share their type objects
    lines: list[tuple[str, str | None]] = []
    sizes = _sizes_text(graph)
    if sizes:
        lines.append((f"sizes {sizes}", None))
    for guard in graph.guards:
        lines.append((f"guard {guard}", guard.line))
    for value, data in graph.constants.items():
        lines.append((f"{_typed(value, types)} = constant({data_text(data)})", None))
    lines += [(_node_text(node, types, names), node.source) for node in graph.nodes]
    lines += [(f"{target.name} <- {v.name}", None) for target, v in graph.mutations.items()]
    outputs = ", ".join(v.name for v in graph.outputs)
    lines.append((f"return {outputs}".rstrip(), None))

    text = [_header(graph, types, names[id(graph)])]
    if not sources:
        return "\n".join([*text, *(f"  {code}" for code, _ in lines), "}"])
    known = [len(code) for code, source in lines if source and len(code) < 70]
    column = max(known, default=0)
    for code, source in lines:
        if source:
            text.append(f"  {code:<{column}}  # {source}")
        else:
            text.append(f"  {code}")
    text.append("}")
    return "\n".join(text)


def _header(graph: Graph, types: dict[int, str], name: str) -> str:
    inputs = [_typed(v, types) for v in graph.inputs]
    line = f"graph {name}({', '.join(inputs)}) {{"
    if len(line) <= _WIDTH:
        return line
    return f"graph {name}(\n" + "".join(f"    {i},\n" for i in inputs) + ") {"


def _typed(value: Value, types: dict[int, str]) -> str:
    return f"{value.name}: {_type_text(value.type, types)}"


def _type_text(type: Type, types: dict[int, str]) -> str:
    text = types.get(id(type))
    if text is None:
        text = types[id(type)] = repr(type)
    return text


def _sizes_text(graph: Graph) -> str:
    parts = []
    for name, atom in symbols_of(graph).items():
        low, high = atom.bounds
        text = name
        if high is not None:
            text = f"{low} <= {name} <= {high}"
        elif low != LEAST:
            text = f"{name} >= {low}"
        if atom.hint is not None:
            text += f" ~ {atom.hint}"
        if text != name:
            parts.append(text)
    return ", ".join(parts)


def symbols_of(graph: Graph) -> dict[str, Any]:
    """The symbols in a graph's types, by name, in the order of appearance."""
    found: dict[str, Any] = {}
    parts = (graph.inputs, graph.constants, *[n.outputs for n in graph.nodes])
    for type in {id(v.type): v.type for values in parts for v in values}.values():
        for size in type.shape:
            if isinstance(size, Dim):
                for name, atom in sorted(size.symbols.items()):  # as the size may be written
                    found.setdefault(name, atom)
    return found


# ---- nodes


def node_text(node: Node) -> str:
    """A node as a line of its graph's text, without its source."""
    return _node_text(node, {}, {id(g): g.name for g in graphs_in(node)})


def _node_text(node: Node, types: dict[int, str], names: Names) -> str:
    results = ", ".join(
        [f"{v.name}: {types.get(id(v.type)) or _type_text(v.type, types)}" for v in node.outputs]
    )
    results = results or "()"
    return f"{results} = {node.op.full_name}({_arguments_text(node, names)})"


def _arguments_text(node: Node, names: Names) -> str:
    parts = []
    in_order = True  # nothing was left out so far, so no name is needed
    for p, a in zip(node.op.sig.params, node.args, strict=True):
        if _is_default(a, p.default):
            in_order = False
            continue
        if p.kind == "graph":
            text = names[id(a)]
        elif p.kind == "graphs":
            text = f"[{', '.join(names[id(g)] for g in a)}]"
        else:
            text = attribute_text(a)
        if in_order and not p.keyword_only and p.holds_tensors:
            parts.append(text)
        else:
            in_order = False
            parts.append(f"{p.name}={text}")
    return ", ".join(parts)


def _is_default(a: Any, default: Any) -> bool:
    if a is default:
        return True
    if isinstance(a, Value | Dim) or type(a) is not type(default):
        return False
    # By text: it tells 0.0 from -0.0 and knows that NaN is NaN.
    return attribute_text(a) == attribute_text(default)


def attribute_text(a: Any) -> str:
    """An argument as text."""
    writer = _WRITERS.get(type(a))
    if writer is not None:
        return writer(a)
    if isinstance(a, tuple):  # a named tuple
        return _tuple(tuple(a))
    raise GraphError(f"graph: an attribute has no text form: {a!r} ({type(a).__name__})")


def _float(a: float) -> str:
    return repr(a) if math.isfinite(a) else {math.inf: "inf", -math.inf: "-inf"}.get(a, "nan")


def _tuple(a: tuple[Any, ...]) -> str:
    inner = ", ".join(map(attribute_text, a))
    return f"({inner},)" if len(a) == 1 else f"({inner})"


_WRITERS: dict[type, Any] = {
    Value: lambda a: a.name,
    int: repr,
    bool: repr,
    type(None): repr,
    str: repr,
    float: _float,
    complex: lambda a: f"complex({_float(a.real)}, {_float(a.imag)})",
    Dim: str,
    DType: lambda a: a.short,
    device: lambda a: f"device({str(a)!r})",
    Type: repr,
    type(Ellipsis): lambda a: "...",
    tuple: _tuple,
    list: lambda a: (
        f"[{', '.join([e.name if e.__class__ is Value else attribute_text(e) for e in a])}]"
    ),
    slice: lambda a: f"slice({', '.join(map(attribute_text, (a.start, a.stop, a.step)))})",
}
