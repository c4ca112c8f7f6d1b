"""Rewriting by rules that are data: a name, what to look for, what to put in its place.

>>> x = Variable("x")
>>> rule = Rule("x * 1 is x", x * 1, x)
>>> graph = tx.jit.trace(lambda a: a * 1 + 2, tx.ones(3)).graph.copy()
>>> rewrite(graph, [rule], [])
1
>>> [str(node) for node in graph.nodes]
['add: f32[n] = add(a, 2)']

A rule fires only where its replacement has the type of what it replaces, so rules need not say of dtypes and shapes
what the types say already.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from thixo.errors import ThixoError
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.operators import find
from thixo.graph.text import node_text
from thixo.graph.typing import result_types
from thixo.passes.manager import Firing
from thixo.passes.sweep import sweep
from thixo.symbolic import Dim, same


class Expression:
    """A variable, or an operator applied to expressions and attributes."""

    def __add__(self, other: Any) -> "Apply":
        return Apply("add", self, other)

    def __sub__(self, other: Any) -> "Apply":
        return Apply("sub", self, other)

    def __mul__(self, other: Any) -> "Apply":
        return Apply("mul", self, other)

    def __truediv__(self, other: Any) -> "Apply":
        return Apply("true_divide", self, other)

    def __neg__(self) -> "Apply":
        return Apply("neg", self)


class Variable(Expression):
    """Stands for any argument, the same wherever it is named; `test` may ask for more.

    A test sees the node that made a value; what is a view of it passes too.
    """

    def __init__(self, name: str, test: Callable[[Any], bool] | None = None) -> None:
        self.name = name
        self.test = test

    def __repr__(self) -> str:
        return self.name


class Apply(Expression):
    """An operator by name, with its first arguments; those that are not given have their defaults."""

    def __init__(self, op: str, *args: Any) -> None:
        self.op = op
        self.args = args

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(repr, self.args))})"


class Rule:
    """`pattern` may be replaced by `replacement`, which uses the pattern's variables."""

    def __init__(self, name: str, pattern: Apply, replacement: Any) -> None:
        self.name = name
        self.pattern = pattern
        self.replacement = replacement

    def __repr__(self) -> str:
        return f"<rule {self.name}: {self.pattern} -> {self.replacement}>"


def rewrite(graph: Graph, rules: Iterable[Rule], firings: list[Firing]) -> int:
    """Walk over a graph once and apply the first rule that fits at each node; in place."""
    by_operator: dict[str, list[Rule]] = {}
    for rule in rules:
        by_operator.setdefault(rule.pattern.op, []).append(rule)
    makers: dict[Value, Node] = {}

    def replace(node: Node) -> Sequence[Value] | None:
        for rule in by_operator.get(node.op.full_name, ()):
            for args in _orders(node):
                bound: dict[str, Any] = {}
                if not _fits_arguments(rule.pattern, node.op, args, bound, makers):
                    continue
                found = _build(graph, rule.replacement, bound, node)
                if found is not None:
                    firings.append(Firing(rule.name, node_text(node), node.source))
                    return (found,)
        makers.update(dict.fromkeys(node.outputs, node))
        return None

    return sweep(graph, replace)


def _orders(node: Node) -> list[tuple[Any, ...]]:
    """A node's arguments, also the other way round where the operator does not mind."""
    if getattr(node.op, "commutative", False) and len(node.args) >= 2:
        return [node.args, (node.args[1], node.args[0], *node.args[2:])]
    return [node.args]


def _fits_arguments(
    pattern: Apply, op: Any, args: Sequence[Any], bound: dict[str, Any], makers: dict[Value, Node]
) -> bool:
    for place, (parameter, given) in enumerate(zip(op.sig.params, args, strict=True)):
        if place < len(pattern.args):
            if not _fits(pattern.args[place], given, bound, makers):
                return False
        elif not _alike(given, parameter.default):
            return False
    return True


def _fits(pattern: Any, given: Any, bound: dict[str, Any], makers: dict[Value, Node]) -> bool:
    if isinstance(pattern, Variable):
        if pattern.name in bound:
            return _alike(bound[pattern.name], given)
        if pattern.test is not None and not pattern.test(_origin(given, makers)):
            return False
        bound[pattern.name] = given
        return True
    if isinstance(pattern, Apply):
        node = makers.get(given) if isinstance(given, Value) else None
        if node is None or node.op.full_name != pattern.op or len(node.outputs) != 1:
            return False
        return _fits_arguments(pattern, node.op, node.args, bound, makers)
    return _alike(pattern, given)


def _origin(given: Any, makers: dict[Value, Node]) -> Any:
    """The node that made a value, or what the value is a view of."""
    while isinstance(given, Value) and (node := makers.get(given)) is not None:
        shows = node.op.kind == "view" or node.op.full_name == "reshape"
        if not shows or node.outputs[0].dtype is not node.args[0].dtype:
            return node
        given = node.args[0]
    return given


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Value) or isinstance(b, Value):
        return a is b
    if isinstance(a, Dim) or isinstance(b, Dim):
        return isinstance(a, int | Dim) and isinstance(b, int | Dim) and same(a, b)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return (type(a) in (int, float) and type(b) in (int, float) and a == b) or (
        type(a) is type(b) and a == b
    )


def _build(graph: Graph, replacement: Any, bound: dict[str, Any], node: Node) -> Value | None:
    """The replacement's value, if it has the type of the node's result."""
    if isinstance(replacement, Variable):
        found = bound[replacement.name]
        fits = isinstance(found, Value) and found.type == node.outputs[0].type
        return found if fits else None
    op = find(replacement.op)
    args = [bound[a.name] if isinstance(a, Variable) else a for a in replacement.args]
    args += [p.default for p in op.sig.params[len(args) :]]
    try:
        types = result_types(op, args)
    except ThixoError:
        return None
    if len(types) != 1 or types[0] != node.outputs[0].type:
        return None
    return graph.add(op, args, types, [node.outputs[0].name], node.source).outputs[0]
