"""Random typed graphs from a seed.

Operators are dealt from a shuffled deck, so that a run of graphs has every one of them. Arguments come from the
operator's samples; arrays among them become inputs, constants, or values that the graph has already, cast, sliced and moved
into the sample's range as need be.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

import thixo as tx
from tests.fuzz import motifs
from tests.fuzz.builder import Item, Rejected, Scope, every_size
from tests.fuzz.flow import add_control
from tests.fuzz.material import Source, dtypes_of, operators, samples_of
from thixo import _core
from thixo.dtype import from_numpy_dtype
from thixo.graph import Graph
from thixo.graph.ir import values_in
from thixo.graph.trace import remove_dead
from thixo.ops.base import gradient_rules
from thixo.ops.samples import SIZES, Sample


class Made:
    """A random graph, what it was made of, and inputs for it."""

    def __init__(self, seed: int, graph: Graph, sources: list[Source], used: set[str]) -> None:
        self.seed = seed
        self.graph = graph
        self.sources = sources
        self.used = used  # operators
        self.has_control = any(n.op.kind == "control" for n in graph.nodes)

    def inputs(self, sizes: dict[str, int] | None = None) -> list[np.ndarray]:
        """Arrays for the inputs, at the example's sizes or others."""
        return [s.at(sizes or SIZES) for s in self.sources]

    def admits(self, sizes: dict[str, int]) -> bool:
        """Whether every guard about the graph's own sizes holds there."""
        for guard in self.graph.guards:
            try:
                if not guard.holds(sizes):
                    return False
            except Exception:  # a size that the data decide
                continue
        return True


class Generator:
    """Graphs by number: the same number gives the same graph whatever was made before it."""

    def __init__(self, seed: int = 0, smooth: bool = False) -> None:
        self.seed = seed
        self.smooth = smooth  # graphs with control flow, in float64, to differentiate
        self.table = [op for op in operators() if not smooth or _has_slope(op)]

    def graphs(self, count: int, start: int = 0) -> Iterator[Made]:
        """The first graphs from a number on."""
        for number in range(start, start + count):
            yield self.make(number)

    def deck(self, number: int) -> Iterator[Any]:
        """Operators in a random order; graphs that follow each other go on where the last one ended."""
        per_graph = 16
        place = number * per_graph
        while True:
            turn, at = divmod(place, len(self.table))
            order = list(range(len(self.table)))
            Random(f"{self.seed} deck {turn}").shuffle(order)
            for i in order[at:]:
                yield self.table[i]
            place += len(self.table) - at

    def make(self, number: int) -> Made:
        """One graph."""
        rng = Random(f"{self.seed} graph {number}")
        was = _core.set_grad_enabled(False)
        try:
            return _Growth(rng, number, self.deck(number), self.smooth).run()
        finally:
            _core.set_grad_enabled(was)


class _Growth:
    def __init__(self, rng: Random, number: int, deck: Iterator[Any], smooth: bool) -> None:
        self.rng = rng
        self.smooth = smooth
        self.number = number
        self.deck = deck
        self.used: set[str] = set()

    def run(self) -> Made:
        rng = self.rng
        scope = Scope(rng, "main", smooth=self.smooth)
        wanted = int(rng.lognormvariate(3.1, 0.4)) + 4
        control = self.smooth or rng.random() < 0.5
        with scope.trace:
            scope.input("every_size", every_size())
            scope.items.clear()
            steps = 0
            while len(scope.graph.nodes) < wanted and steps < 60:
                steps += 1
                if control and rng.random() < 0.18:
                    self.attempt(add_control, scope, self)
                self.step(scope)
            if control and not any(n.op.kind == "control" for n in scope.graph.nodes):
                for _ in range(6):
                    if self.attempt(add_control, scope, self):
                        break
            self._finish(scope)
        graph = scope.graph
        if rng.random() < 0.7:
            remove_dead(graph)
        return Made(self.number, graph, scope.sources, self.used)

    def attempt(self, function: Any, *args: Any) -> bool:
        """Take a step if it can be taken."""
        try:
            function(*args)
        except Rejected:
            return False
        return True

    def step(self, scope: Scope) -> None:
        """One more operator, or something that passes look for."""
        chance = self.rng.random()
        if chance < 0.12 and scope.items:
            self.attempt(motifs.add, scope)
        elif chance < 0.17 and scope.items:
            self.attempt(motifs.write, scope)
        else:
            op = next(self.deck)
            for _ in range(3):
                if self.attempt(self.operator, scope, op):
                    self.used.add(op.full_name)
                    return

    def operator(self, scope: Scope, op: Any) -> None:
        """An operator on one of its samples."""
        rng = self.rng
        dtypes = dtypes_of(op)
        dtype = dtypes[0] if rng.random() < 0.45 else rng.choice(dtypes)
        if self.smooth:
            dtype = tx.float64 if tx.float64 in op.dtypes else tx.complex128
        sizes = None if scope.symbolic and rng.random() < 0.75 else SIZES
        samples = samples_of(op, dtype, sizes)
        if not samples:
            raise ValueError("no samples")
        place = rng.randrange(len(samples))
        sample = samples[place]
        if self.smooth and not sample.grad:
            raise ValueError("a kink")
        arrays = iter(range(len(sample.arrays)))
        again: list[Any] = []

        def make(x: Any) -> Any:
            if not isinstance(x, np.ndarray):
                return x
            item = self.argument(scope, op, sample, Source(x, op, dtype, place, next(arrays)))
            again.append(item)
            return item

        given = sample.map(make)
        names = list(given.kwargs)

        def function(*arguments: Any) -> Any:
            positional = list(arguments[: len(given.args)])
            if sample.before is not None:
                positional[0] = sample.before(positional[0])
            if op.sig.name.endswith("_"):
                positional[0] = positional[0].clone()
            result = op.operator(
                *positional, **dict(zip(names, arguments[len(given.args) :], strict=True))
            )
            if sample.after is not None:
                result = (
                    sample.after(*result) if isinstance(result, tuple) else sample.after(result)
                )
            return result

        arguments = (*given.args, *given.kwargs.values())
        scope.apply(function, *arguments)
        if rng.random() < 0.04 and not op.random:
            scope.apply(function, *arguments)  # the same once more

    def argument(self, scope: Scope, op: Any, sample: Sample, source: Source) -> Item:
        """What stands where a sample has an array."""
        rng, array = self.rng, source.array
        dtype = from_numpy_dtype(array.dtype)
        wild = op.kind in ("pointwise", "view") and rng.random() < 0.3
        chance = (
            0.75
            if dtype.is_floating_point
            else 0.5
            if dtype is tx.bool or op.kind == "view"
            else 0.25
        )
        if self.smooth and "linalg" in op.__module__:
            chance = 0.0  # a matrix of equal rows has no solution that moves smoothly
        if self.smooth and dtype.is_integer and op.sig.name in ONE_AT_A_PLACE:
            chance = 0.0
        if scope.items and sample.before is None and rng.random() < chance:
            try:
                low, high = (None, None) if wild or dtype is tx.bool else _range(array)
                found = scope.fit(source.dims, dtype, low, high)
                if found is not None:
                    return found
            except Rejected:
                pass
        plain = all(type(s) is int for s in source.dims)
        if plain and (scope.depth or rng.random() < 0.3):
            return scope.constant(array)
        if scope.depth:
            raise ValueError("a body has no inputs of its own")
        return scope.input("x", source)

    def _finish(self, scope: Scope) -> None:
        """Outputs: what nothing reads yet, and some that are read."""
        rng, graph = self.rng, scope.graph
        read = {v for n in graph.nodes for v in values_in(n.args)}
        values = [scope.trace.value_of(i.tensor) for i in scope.items]
        made = {v for n in graph.nodes for v in n.outputs}
        loose = [v for v in dict.fromkeys(values) if v in made and v not in read]
        others = [v for v in dict.fromkeys(values) if v in read]
        rng.shuffle(loose)
        graph.outputs = loose[: rng.choice([4, 8, 12])]
        graph.outputs += rng.sample(others, min(len(others), rng.choice([0, 0, 1, 2])))
        if not graph.outputs:
            graph.outputs = values[-1:]


# What they give is not what their slopes say, on purpose, or not the same from one call to the next.
NO_SLOPE = {"detach", "detach_copy"}
# By declaration each of several values at one place gets that place's gradient, though only one of them stays.
ONE_AT_A_PLACE = {"place_at_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d"}


def _has_slope(op: Any) -> bool:
    if op.random or op.full_name in NO_SLOPE or not {tx.float64, tx.complex128} & set(op.dtypes):
        return False
    return op.kind == "composite" or bool(gradient_rules(op))


def _range(array: np.ndarray) -> tuple[Any, Any]:
    if not array.size:
        return None, None
    if array.dtype.kind == "c":
        return 0, float(np.abs(array).max())
    wide = array.astype(np.float64) if array.dtype.kind not in "iu" else array
    return wide.min().item(), wide.max().item()
