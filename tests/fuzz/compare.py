"""When two runs of a graph agree.

First the plain question: are the results within what rounding may do, by dtype and depth, with NaN and infinities in
the same places? Where they are not, a graph may be one that makes small differences large (a rounded number that falls
to the other side of a step, a pole). That is measured: the graph runs again with every result of every node moved by a
rounding error, and results may differ by as much as that moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import thixo as tx
from thixo.dtype import DType, from_numpy_dtype
from thixo.errors import ThixoError
from thixo.graph import Graph, Interpreter
from thixo.graph.control import graphs_in, subgraphs
from thixo.graph.interpret import apply_reference, round_to
from thixo.graph.ir import Node, Value, values_in

# Relative to 1 + the largest element; what the half types have of bits, and some operators' own error.
STEP = {"float64": 1e-10, "float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}
EXACT = "float64"


def _part(dtype: DType) -> str:
    """The float type whose rounding a dtype has."""
    if dtype.is_complex:
        return "float64" if dtype.name == "complex128" else "float32"
    return dtype.name if dtype.is_floating_point else EXACT


def tolerances(graph: Graph) -> list[float]:
    """What each result may be off by: its coarsest dtype on the way, times how many roundings there are."""
    known: dict[Value, tuple[float, int]] = {}
    for value in (*graph.inputs, *graph.constants):
        known[value] = (STEP[_part(value.type.dtype)], 1)
    for node in graph.nodes:
        sources = [known[v] for v in values_in(node.args)]
        step = max((s for s, _ in sources), default=0.0)
        depth = max((d for _, d in sources), default=0) + 1
        for inner in (g for top in graphs_in(node) for g in (top, *subgraphs(top))):
            step = max([step, *(STEP[_part(v.type.dtype)] for v in inner.values())])
            depth += 2 * len(inner.nodes)
        for value in node.outputs:
            known[value] = (max(step, STEP[_part(value.type.dtype)]), depth)
    return [step * (1 + depth / 4) for step, depth in (known[v] for v in graph.results())]


def difference(
    got: np.ndarray, wanted: np.ndarray, allowed: float, spread: Any = None
) -> str | None:
    """Why two results differ, in words; None where they agree."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"is {got.dtype}{list(got.shape)} in place of {wanted.dtype}{list(wanted.shape)}"
    if from_numpy_dtype(got.dtype).kind in "biu":
        wrong = got != wanted
        if spread is not None:
            wrong &= spread == 0
        return f"{int(wrong.sum())} of {wrong.size} elements differ" if wrong.any() else None
    a, b = got.astype(np.complex128), wanted.astype(np.complex128)
    nan, finite = np.isnan(b), np.isfinite(b)
    steady = np.ones(b.shape, bool) if spread is None else np.isfinite(spread)
    if not np.array_equal(np.isnan(a)[steady], nan[steady]):
        return "NaN in other places"
    odd = ~finite & ~nan & steady
    if not np.array_equal(a[odd], b[odd]):
        return "infinities in other places"
    ok = finite & steady
    with np.errstate(all="ignore"):
        off = np.abs(a[ok] - b[ok])
    limit = allowed * (1 + np.abs(b[ok]).max(initial=0))
    if spread is not None:
        limit = limit + 30 * spread[ok]
    wrong = ~(off <= limit)
    if wrong.any():
        return f"off by {np.max(off[wrong]):.3g}, allowed {np.max(limit):.3g}"
    return None


class Moved(Interpreter):
    """Moves every result of every node by about a rounding error."""

    rng: np.random.Generator

    @classmethod
    def by(cls, *seed: int) -> Callable[[Graph], Moved]:
        """Makes one that moves them in a way of its own."""

        def make(graph: Graph) -> Moved:
            made = cls(graph)
            made.rng = np.random.default_rng(seed)
            return made

        return make

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        return [self._moved(r) for r in super().run_node(node, args)]

    def _moved(self, t: Any) -> Any:
        name = _part(t.dtype)
        if not (t.dtype.is_floating_point or t.dtype.is_complex) or not t.numel():
            return t
        size = {"float64": 2e-15, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}[name]
        array = np.asarray(t.detach().numpy())
        wide = np.complex128 if t.dtype.is_complex else np.float64
        with np.errstate(all="ignore"):
            noise = 1 + size * self.rng.uniform(-1, 1, array.shape)
            moved = array.astype(wide) * noise + size * 1e-3 * self.rng.uniform(-1, 1, array.shape)
            return tx.from_numpy(np.asarray(moved).astype(array.dtype))


def spreads(
    graph: Graph, inputs: Sequence[np.ndarray], seed: int, runs: int = 6
) -> list[Any] | None:
    """How far each element of each result moves where nodes are moved; infinite where even its kind changes.

    None if the graph does not always run then, or the shapes of its results change.
    """
    found: list[list[np.ndarray]] = []
    for number in range(runs):
        run = Moved.by(seed, number)(graph)
        tx.manual_seed(seed)
        try:
            found.append(as_arrays(run.run_all(*map(tx.from_numpy, map(np.array, inputs)))))
        except ThixoError:
            return None
    made = []
    for column in zip(*found, strict=True):
        if len({c.shape for c in column}) > 1:
            return None
        stack = np.stack([c.astype(np.complex128) for c in column])
        with np.errstate(all="ignore"):
            moved = np.abs(stack - stack[0]).max(0)
        kinds = np.stack([np.isnan(stack) * 2 + np.isinf(stack)])[0]
        changing = (kinds != kinds[0]).any(0)
        steady = np.where(np.isnan(moved), 0.0, moved)
        made.append(np.where(changing, np.inf, steady))
    return made


def disagreement(
    graph: Graph,
    inputs: Sequence[np.ndarray],
    got: Sequence[np.ndarray],
    reference: Sequence[np.ndarray],
    eager: Sequence[np.ndarray],
    seed: int,
) -> str | None:
    """Why results are not those of the graph; None if they are."""
    if len(got) != len(reference):
        return f"{len(got)} results in place of {len(reference)}"
    allowed = tolerances(graph)
    by_eager = [difference(*three) for three in zip(got, eager, allowed, strict=True)]
    by_reference = [difference(*three) for three in zip(got, reference, allowed, strict=True)]
    wrong = [i for i, (a, b) in enumerate(zip(by_eager, by_reference, strict=True)) if a and b]
    if not wrong:
        return None
    moved = spreads(graph, inputs, seed)
    if moved is None:
        return None
    for i in wrong:
        found = difference(got[i], eager[i], allowed[i], moved[i])
        if found is not None:
            return f"result {i} ({graph.results()[i]}): {found}"
    return None


class Judged(Interpreter):
    """Runs eagerly and holds each node, by itself, to its operator's reference."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, "eager")
        self.problems: list[str] = []

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """The results, after the comparison."""
        results = super().run_node(node, args)
        if node.op.kind == "control" or node.op.random or node.op.full_name in UNJUDGED:
            return results
        with np.errstate(all="ignore"):
            wanted = apply_reference(node.op, _arrays(args))
        for value, result, want in zip(node.outputs, results, wanted, strict=True):
            dtype = value.type.dtype
            coarse = max(
                [STEP[_part(dtype)], *(STEP[_part(v.type.dtype)] for v in values_in(node.args))]
            )
            found = difference(as_array(result), round_to(want, dtype), 4 * coarse)
            if found is not None:
                self.problems.append(f"{node}: {found}")
        return results


# Their results are not unique (signs of vectors, memory that nobody set), or their conditions decide how many digits are right.
UNJUDGED: set[str] = set()


def as_array(t: Any) -> np.ndarray:
    """A result's data."""
    return np.array(t.detach().numpy()) if isinstance(t, tx.Tensor) else np.asarray(t)


def as_arrays(results: Sequence[Any]) -> list[np.ndarray]:
    """Results' data."""
    return list(map(as_array, results))


def _arrays(a: Any) -> Any:
    if isinstance(a, tx.Tensor):
        return as_array(a)
    return type(a)(map(_arrays, a)) if isinstance(a, list | tuple) else a
