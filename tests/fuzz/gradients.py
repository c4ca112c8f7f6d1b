"""Gradients of random graphs with control flow against finite differences, in float64.

    python -m tests.fuzz.gradients --count 1000 --seed 0

Each graph becomes one number, the sum of the sines of its results. Its gradient, the gradient of that, and its tangent, each
along a random direction, must be the slopes of what they are gradients of. Where the slope itself depends on the step (a
kink, a step, a pole between) nothing can be said, and the graph counts as left out.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import thixo as tx
from tests.fuzz.compare import Moved, as_array
from tests.fuzz.generate import Generator, Made
from tests.fuzz.shrink import as_test
from thixo.autodiff import add_gradients, gradient_graph, tangent_graph
from thixo.autodiff.depending import has_gradient
from thixo.errors import ThixoError
from thixo.graph import Graph, Interpreter, parse
from thixo.graph.control import subgraphs
from thixo.graph.ir import Node
from thixo.graph.trace import remove_dead
from thixo.ops.base import gradient_rules

PART = 20  # graphs that a worker does at a time
STEP = 1e-4
ALLOWED = 2e-5  # relative to 1 + the slope
COARSE = (tx.float32, tx.float16, tx.bfloat16, tx.complex64)  # too coarse to take differences


class Wrong(NamedTuple):
    """A gradient that is not the slope."""

    number: int
    what: str
    graph: Graph
    inputs: list[np.ndarray]


def as_number(made: Made) -> tuple[Graph, list[int]] | None:
    """The graph as a function with one result, and the inputs that move; None if there is nothing to differentiate."""
    graph = made.graph.copy()
    parts = [v for v in graph.outputs if v.type.dtype is tx.float64]
    total = None
    for value in parts:
        one = graph.call("sum", graph.call("sin", value))
        total = one if total is None else graph.call("add", total, one)
    if total is None:
        return None
    graph.outputs, graph.mutations = [total], {}
    remove_dead(graph)
    nodes = [n for g in (graph, *subgraphs(graph)) for n in g.nodes]
    if any(v.type.dtype in COARSE for n in nodes for v in (*n.inputs, *n.outputs)):
        return None
    if any(map(_stops, nodes)):
        return None
    read = {v for n in graph.nodes for v in n.inputs}
    moved = [i for i, v in enumerate(graph.inputs) if v.type.dtype is tx.float64 and v in read]
    return (graph, moved) if moved else None


def _stops(node: Node) -> bool:
    """Whether a node moves with its arguments and its declaration has no gradient (a weighted histogram).

    Not detach: operators have it inside where it changes nothing, and no graph is made of it.
    """
    if node.op.kind == "control" or gradient_rules(node.op) or node.op.full_name == "detach":
        return False
    return any(has_gradient(v.type.dtype) for v in node.inputs) and any(
        has_gradient(v.type.dtype) for v in node.outputs
    )


def check(made: Made) -> Wrong | str | None:
    """The first gradient that is wrong; why nothing could be said; None if all is well."""
    found = as_number(made)
    if found is None:
        return "nothing to differentiate"
    graph, moved = found
    if not any(n.op.kind == "control" for n in graph.nodes):
        return "no control flow"
    inputs = made.inputs()
    rng = np.random.default_rng(made.seed)
    ways = [np.asarray(rng.normal(size=inputs[i].shape)) for i in moved]
    weights = [np.asarray(rng.normal(size=inputs[i].shape)) for i in moved]
    value = lambda g: lambda given: float(run(g, given)[0])  # noqa: E731
    try:
        slope = slope_along(value(graph), inputs, moved, ways)
        first = graph.copy()
        values = [first.inputs[i] for i in moved]
        gradients = add_gradients(first, first.outputs, values)
        products = [
            first.call("sum", first.call("mul", g, first.constant("v", w)))
            if not any(map(_is_symbol, g.shape))
            else first.call("sum", first.call("mul", g, first.input("v", g.type)))
            for g, w in zip(gradients, weights, strict=True)
        ]
        total = products[0]
        for one in products[1:]:
            total = first.call("add", total, one)
        more = [w for g, w in zip(gradients, weights, strict=True) if any(map(_is_symbol, g.shape))]
        wider = [*inputs, *more]
        along = lambda made: sum(float((g * d).sum()) for g, d in zip(made, ways, strict=True))  # noqa: E731
        first.outputs = gradients
        first.verify()
        verdict = _compare("the gradient", made, graph, inputs, slope, first, wider, along)
        if verdict is not None:
            return verdict
        first.outputs = [total]
        second_slope = slope_along(value(first), wider, moved, ways)
        second = first.copy()
        second.outputs = add_gradients(second, second.outputs, [second.inputs[i] for i in moved])
        second.verify()
        verdict = _compare(
            "the second gradient", made, graph, inputs, second_slope, second, wider, along
        )
        if verdict is not None:
            return verdict
        tangent = tangent_graph(graph, [graph.inputs[i] for i in moved])
        tangent.verify()
        return _compare(
            "the tangent",
            made,
            graph,
            inputs,
            slope,
            tangent,
            [*inputs, *ways],
            lambda r: float(r[1]),
        )
    except Unsteady as error:
        return str(error)
    except ThixoError as error:
        return Wrong(made.seed, f"{type(error).__name__}: {error}", graph, inputs)


def _is_symbol(size: Any) -> bool:
    return type(size) is not int


def _compare(
    what: str,
    made: Made,
    graph: Graph,
    inputs: list[np.ndarray],
    slope: float,
    derived: Graph,
    given: list[np.ndarray],
    number: Callable[[list[np.ndarray]], float],
) -> Wrong | str | None:
    """Whether the number that a derived graph's results make is the slope."""
    got = number(run(derived, given))
    allowed = ALLOWED * (1 + abs(slope))
    if abs(got - slope) <= allowed:
        return None
    # Where rounding decides (the deviation of equal numbers, factors of a singular matrix) it says nothing. That is measured:
    # the same graph with every result of every node moved by a rounding error.
    moved = [number(run(derived, given, Moved.by(made.seed, i))) for i in range(6)]
    if not np.isfinite(got) and not np.isfinite(moved).all():
        return f"{what} is not finite"
    if not np.isfinite(moved).all():
        return f"rounding decides {what}"
    spread = 30 * (np.ptp([got, *moved]) if np.isfinite(got) else np.ptp(moved))
    if abs(np.mean(moved) - slope) <= allowed + spread and spread > allowed:
        return f"rounding decides {what}"
    return Wrong(made.seed, f"{what} is {got:.9g}, the slope {slope:.9g}", graph, inputs)


class Unsteady(Exception):
    """There is no slope here that differences would find."""


def run(
    graph: Graph, inputs: Sequence[np.ndarray], kind: Callable[[Graph], Interpreter] = Interpreter
) -> list[np.ndarray]:
    """A graph's outputs, eagerly."""
    try:
        made = kind(graph).run(*(tx.from_numpy(np.array(a, order="C")) for a in inputs))
    except ThixoError as error:
        raise Unsteady(f"does not run: {error}") from error
    return [as_array(t) for t in made]


def slope_along(
    function: Callable[[list[np.ndarray]], float],
    inputs: list[np.ndarray],
    moved: list[int],
    ways: list[np.ndarray],
) -> float:
    """The slope of a function along a direction, if several steps agree on it."""

    def at(t: float) -> float:
        given = list(inputs)
        for i, way in zip(moved, ways, strict=True):
            given[i] = given[i] + t * way
        return function(given)

    def slope(h: float) -> float:
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    found = [slope(h) for h in (STEP, STEP / 3, STEP / 10)]
    if not np.all(np.isfinite(found)):
        raise Unsteady("values are not finite")
    if max(found) - min(found) > ALLOWED / 4 * (1 + abs(found[0])):
        raise Unsteady("the slope depends on the step")
    h = STEP / 10
    if abs(at(h) - 2 * at(0) + at(-h)) / h > 1e-3 * (1 + abs(found[1])):
        raise Unsteady("another slope on the other side")
    if abs(found[0]) > 1e6:
        raise Unsteady("too steep")
    return found[1]


def run_part(start: int, count: int, seed: int) -> tuple[int, dict[str, int], list[Wrong]]:
    """Graphs until so many were compared: how many were left out and why, what was wrong."""
    warnings.simplefilter("ignore")
    generator = Generator(seed, smooth=True)
    compared, number = 0, start
    left_out: dict[str, int] = {}
    wrong: list[Wrong] = []
    while compared < count and number < start + 20 * count:
        found = check(generator.make(number))
        number += 1
        if isinstance(found, str):
            reason = found.split(":")[0]
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        compared += 1
        if found is not None:
            wrong.append(found)
    return compared, left_out, wrong


LOOP = """
graph more(x: f64[m], i: i64[], w: f64[m], most: i64[]) {
  p: bool[] = lt(i, most)
  return p
}

graph step(x: f64[m], i: i64[], w: f64[m], most: i64[]) {
  a: f64[m] = mul(x, w)
  b: f64[m] = sin(a)
  c: f64[m] = add(b, x)
  j: i64[] = add(i, 1)
  return c, j
}

graph main(x: f64[m], w: f64[m], most: i64[]) {
  zero: i64[] = sub(most, most)
  y: f64[m], turns: i64[] = while_loop(test=more, body=step, state=[x, zero], captured=[w, most])
  s: f64[] = sum(y)
  return s
}
"""


def long_loop(turns: int = 10_000, size: int = 4096) -> float:
    """How many times one turn's state the gradient of a long loop holds at most, by the allocator's own count."""
    both = gradient_graph(parse(LOOP))
    state = tx.ones(size, dtype=tx.float64) * 0.3
    inputs = [state, state * 0.1, tx.tensor(turns)]
    before = tx._core.memory_stats()["in_use"]
    tx._core.memory_reset_peak()
    Interpreter(both).run(*inputs)
    return (tx._core.memory_stats()["peak"] - before) / (8 * size)


def _part(arguments: Any) -> Any:
    return run_part(*arguments)


def main() -> int:
    """Run it; 0 if nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.gradients")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the number of the first part")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    parts = [
        (1000 * (options.start + i), min(PART, options.count - n), options.seed)
        for i, n in enumerate(range(0, options.count, PART))
    ]
    compared, left_out, wrong = 0, dict[str, int](), list[Wrong]()
    with contextlib.ExitStack() as stack:
        results: Iterator[Any] = map(_part, parts)
        if options.workers > 1:
            pool = multiprocessing.get_context("spawn").Pool(options.workers)
            results = stack.enter_context(pool).imap_unordered(_part, parts)
        for count, reasons, found in results:
            compared += count
            wrong += found
            for reason, n in reasons.items():
                left_out[reason] = left_out.get(reason, 0) + n
            seconds = time.monotonic() - began
            print(f"\r{compared} of {options.count} graphs, {len(wrong)} wrong, {seconds:.0f} s ", end="", file=sys.stderr, flush=True)  # fmt: skip
    print(file=sys.stderr)
    print(f"{compared} graphs with control flow: first and second gradients and tangents")
    for reason, n in sorted(left_out.items(), key=lambda kv: -kv[1])[:8]:
        print(f"  left out {n:5}  {reason[:90]}")
    for one in wrong:
        print(f"graph {one.number} of seed {options.seed}: {one.what}")
    if wrong:
        smallest = min(wrong, key=lambda w: len(w.graph.nodes))
        print(as_test(smallest.graph, smallest.inputs, smallest.what))
    states = long_loop()
    print(f"a loop of 10,000 turns holds {states:.0f} times its state (at most 250)")
    bad = bool(wrong) or states > 250
    print("failed" if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
