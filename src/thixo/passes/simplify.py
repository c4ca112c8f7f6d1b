"""Algebra that changes no bit of any result, and the values of what is constant."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from thixo.errors import ThixoError
from thixo.graph.control import is_random
from thixo.graph.interpret import EagerBackend
from thixo.graph.ir import Graph, Node, Value, map_values, values_in
from thixo.graph.sizes import sizes_in
from thixo.graph.text import node_text
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.rewrite import Apply, Rule, Variable, rewrite
from thixo.passes.sweep import has_graphs, in_all_graphs, sweep


def filled_with(number: float) -> Any:
    """Whether a value is the result of a node that fills a tensor with one number."""
    names = {0: ("zeros", "zeros_like"), 1: ("ones", "ones_like")}[int(number)]

    def test(node: Any) -> bool:
        if not isinstance(node, Node):
            return False
        name = node.op.full_name
        return name in names or (name == "full" and node.args[1] == number)

    return test


x, y, c = Variable("x"), Variable("y"), Variable("c")
a, b, s, t = Variable("a"), Variable("b"), Variable("s"), Variable("t")
one = Variable("one", filled_with(1))
zero = Variable("zero", filled_with(0))

RULES = [
    Rule("x * 1 is x", x * 1, x),
    Rule("x * ones is x", x * one, x),
    Rule("x / 1 is x", x / 1, x),
    Rule("x / ones is x", x / one, x),
    Rule("x - 0 is x", x - 0, x),
    Rule("x - zeros is x", x - zero, x),
    Rule("x ** 1 is x", Apply("pow", x, 1), x),
    Rule("-(-x) is x", Apply("neg", Apply("neg", x)), x),
    Rule("not not x is x", Apply("logical_not", Apply("logical_not", x)), x),
    Rule("|-x| is |x|", Apply("abs", Apply("neg", x)), Apply("abs", x)),
    Rule("|(|x|)| is |x|", Apply("abs", Apply("abs", x)), Apply("abs", x)),
    Rule("relu(relu x) is relu x", Apply("relu", Apply("relu", x)), Apply("relu", x)),
    Rule("x if c else x is x", Apply("where", c, x, x), x),
    Rule("max(x, x) is x", Apply("maximum", x, x), x),
    Rule("min(x, x) is x", Apply("minimum", x, x), x),
    Rule("transposed back", Apply("transpose", Apply("transpose", x, a, b), a, b), x),
    Rule("transposed back", Apply("transpose", Apply("transpose", x, a, b), b, a), x),
    Rule("a shape twice", Apply("reshape", Apply("reshape", x, s), t), Apply("reshape", x, t)),
    Rule("the shape it has", Apply("reshape", x, s), x),
    Rule("the size it has", Apply("expand", x, s), x),
]


@graph_pass("simplify")
def simplify(graph: Graph, firings: list[Firing]) -> int:
    """Apply exact algebraic rules."""
    return in_all_graphs(graph, lambda one: rewrite(one, RULES, firings))


FOLDED_ELEMENTS = (
    4096  # results larger than this, and than what they come from, would make the graph larger
)


@graph_pass("fold")
def fold_constants(graph: Graph, firings: list[Firing]) -> int:
    """Compute now what depends on constants alone. Captured tensors are no constants here: they may change."""
    backend = EagerBackend()

    def change(one: Graph) -> int:
        def replace(node: Node) -> Sequence[Value] | None:
            if has_graphs(node):
                return None
            inputs = list(values_in(node.args))
            if not all(isinstance(one.constants.get(v), np.ndarray) for v in inputs):
                return None
            if (
                (not inputs and not getattr(node.op, "counts", False))
                or is_random(node)
                or next(iter(sizes_in(node.args)), None)
            ):
                return None
            elements = [int(np.prod([int(n) for n in v.type.shape])) for v in node.outputs if not any(sizes_in(list(v.type.shape)))]  # fmt: skip
            given = max((one.constants[v].size for v in inputs), default=0)
            if len(elements) < len(node.outputs) or sum(elements) > max(FOLDED_ELEMENTS, given):
                return None
            tensors = {v: backend.input(one.constants[v], v) for v in inputs}
            try:
                made = backend.apply(node, list(map_values(node.args, tensors.__getitem__)))
            except ThixoError:
                return None  # it fails when it runs, as it should
            firings.append(Firing("constant", node_text(node), node.source))
            return [
                one.constant(v.name, np.array(m.detach().numpy()))
                for v, m in zip(node.outputs, made, strict=True)
            ]

        return sweep(one, replace)

    return in_all_graphs(graph, change)
