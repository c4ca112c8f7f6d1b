"""Bugs to plant in passes: the fuzzer must find each.

A few are written for one pass. For every pass, also those that are added later, there is one that spoils whatever the pass made:
the first place that it changed gets a wrong argument.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from thixo.graph.control import product_in, subgraphs
from thixo.graph.ir import Graph, Node, Value
from thixo.passes import PASSES, batch_norm, clean, simplify
from thixo.passes.rewrite import Apply, Rule, Variable
from thixo.passes.sweep import in_all_graphs, sweep
from thixo.runtime import layouts, program
from thixo.schedule import lanes

Function = Callable[[Graph, list[Any]], int]


def spoiled(function: Function) -> Function:
    """A pass after whose changes one node that can be told from its neighbours reads its arguments in the wrong order."""

    def run(graph: Graph, firings: list[Any]) -> int:
        done = len(firings)
        changes = function(graph, firings)
        if changes and done == 0:
            for one in (graph, *subgraphs(graph)):
                if _swap(one):
                    break
        return changes

    return run


def _swap(graph: Graph) -> bool:
    """The last node that minds the order of two arguments of one type gets them the other way round."""
    for node in reversed(graph.nodes):
        if node.op.full_name in ("sub", "true_divide", "atan2", "copysign", "where"):
            args = list(node.args)
            first = 1 if node.op.full_name == "where" else 0
            a, b = args[first], args[first + 1]
            if isinstance(a, Value) and isinstance(b, Value) and a is not b and a.type == b.type:
                args[first], args[first + 1] = b, a
                node.args = tuple(args)
                return True
    return False


def _share_by_operator(graph: Graph, firings: list[Any]) -> int:
    """Takes nodes for the same whose attributes differ."""

    def change(one: Graph) -> int:
        known: dict[Any, Node] = {}

        def replace(node: Node) -> Any:
            if node.op.kind == "control" or node.op.random or not node.inputs:
                return None
            key = (node.op.full_name, tuple(map(id, node.inputs)))
            first = known.setdefault(key, node)
            same = len(first.outputs) == len(node.outputs) and all(
                a.type == b.type for a, b in zip(first.outputs, node.outputs, strict=True)
            )
            if first is node or not same:
                return None
            firings.append(simplify.Firing("same", "", None))
            return first.outputs

        return sweep(one, replace)

    return in_all_graphs(graph, change)


def _drop_draws(graph: Graph, firings: list[Any]) -> int:
    """Drops random nodes that nothing reads, so that later ones draw other numbers."""
    from thixo.graph.ir import values_in

    needed = set(graph.results())
    kept = []
    for node in reversed(graph.nodes):
        if any(v in needed for v in node.outputs):
            needed.update(values_in(node.args))
            kept.append(node)
    count = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    return count


def _inline_first_inputs(graph: Graph, firings: list[Any]) -> int:
    """Hands a called graph, for every input, the first argument of that type."""

    def change(one: Graph) -> int:
        def replace(node: Node) -> Any:
            if node.op is not clean.CALL:
                return None
            given = node.args[1]
            node.args = (node.args[0], [next(v for v in given if v.type == w.type) for w in given])
            firings.append(simplify.Firing("inline", "", None))
            return clean._inlined(one, node.args[0], node)

        return sweep(one, replace)

    return in_all_graphs(graph, change)


def _fold_rounded(graph: Graph, firings: list[Any]) -> int:
    """Keeps only a few digits of what it computes."""
    before = {id(d) for g in (graph, *subgraphs(graph)) for d in g.constants.values()}
    changes = PASSES_AS_THEY_ARE["fold"](graph, firings)
    for one in (graph, *subgraphs(graph)):
        for value, data in list(one.constants.items()):
            if id(data) not in before and isinstance(data, np.ndarray) and data.dtype.kind == "f":
                one.constants[value] = np.round(data, 2)
    return changes


def _fold_unscaled(graph: Graph, firings: list[Any]) -> int:
    """Leaves the bias of a convolution as it is while its weight is scaled."""
    scaled = batch_norm._scaled

    def forgetful(weights: Any, factor: Any, offset: Any, before: Any, dtype: Any) -> Any:
        wide, added = scaled(weights, factor, offset, before, dtype)
        return wide, (added - before * factor + before).astype(dtype)

    batch_norm._scaled = forgetful
    try:
        return PASSES_AS_THEY_ARE["batch_norm"](graph, firings)
    finally:
        batch_norm._scaled = scaled


def _forget_ends(graph: Graph, firings: list[Any]) -> int:
    """Gives the product itself for what follows it."""
    changes = PASSES_AS_THEY_ARE["product_epilogues"](graph, firings)
    for one in (graph, *subgraphs(graph)):
        for node in one.nodes:
            product = product_in(node)
            if product is not None:
                node.args[0].outputs = list(product.outputs)
    return changes


def _with_rule(rule: Rule) -> Function:
    def run(graph: Graph, firings: list[Any]) -> int:
        return in_all_graphs(graph, lambda one: simplify.rewrite(one, [rule], firings))

    return run


x, y, a, b = Variable("x"), Variable("y"), Variable("a"), Variable("b")
PASSES_AS_THEY_ARE = {name: one.function for name, one in PASSES.items()}
PLANTS: dict[str, list[tuple[str, Function]]] = {
    "inline": [("the first argument for every input", _inline_first_inputs)],
    "common": [("attributes are not looked at", _share_by_operator)],
    "dead": [("random numbers that nobody reads are not drawn", _drop_draws)],
    "simplify": [
        ("x - y is y - x", _with_rule(Rule("x - y is y - x", x - y, Apply("sub", y, x)))),
        ("|x| is x", _with_rule(Rule("|x| is x", Apply("abs", x), x))),
        (
            "transposed once",
            _with_rule(
                Rule(
                    "t",
                    Apply("transpose", Apply("transpose", x, a, b), a, b),
                    Apply("transpose", x, a, b),
                )
            ),
        ),
        ("relu x is x", _with_rule(Rule("relu x is x", Apply("relu", x), x))),
    ],
    "batch_norm": [("a bias is not scaled", _fold_unscaled)],
    "fold": [("digits are lost", _fold_rounded)],
    "product_epilogues": [("what follows is forgotten", _forget_ends)],
}


def _overlapping(shape: Any) -> list[int]:
    """Strides of channels side by side, with rows that begin one place too early."""
    return layouts.last_strides([*shape[:-1], max(1, shape[-1] - 1)])


def _no_levels(flow: Any, numbers: list[int], seconds: Any) -> list[list[list[int]]]:
    """Takes nodes that wait for each other for such that do not."""
    return [[[n] for n in numbers]]


# Bugs in what is decided when a program is made: the module, the function, and what stands there in its place.
DECISIONS: dict[str, tuple[Any, str, Any]] = {
    "layouts: rows overlap": (program, "last_strides", _overlapping),
    "lanes: they wait for each other": (lanes, "_levels", _no_levels),
}


@contextlib.contextmanager
def decided(what: str) -> Iterator[None]:
    """One of these bugs."""
    module, name, function = DECISIONS[what]
    was = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, was)


def plants_of(name: str) -> list[tuple[str, Function]]:
    """The bugs that there are for a pass."""
    return [
        *PLANTS.get(name, []),
        ("an argument in the wrong place", spoiled(PASSES_AS_THEY_ARE[name])),
    ]


@contextlib.contextmanager
def planted(name: str, function: Function) -> Iterator[None]:
    """A pass with a bug in it."""
    was = PASSES[name].function
    PASSES[name].function = function
    try:
        yield
    finally:
        PASSES[name].function = was
