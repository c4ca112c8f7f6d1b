"""One graph, every way to run it, one judge."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import thixo as tx
from tests.fuzz.compare import Judged, as_arrays, disagreement, spreads
from tests.fuzz.generate import Made
from tests.fuzz.material import BINDINGS
from thixo.errors import InternalError, LinearAlgebraError, ThixoError
from thixo.graph import Graph, Interpreter, parse
from thixo.graph.control import subgraphs
from thixo.graph.text import constant_data
from thixo.ops.samples import SIZES
from thixo.passes import PASSES, optimize, repeats
from thixo.runtime import layouts
from thixo.runtime.executor import EXECUTORS, executor
from thixo.schedule import lanes
from thixo.symbolic import Dim

# Random graphs are small: two nodes that follow each other are enough to be taken for layers, and two channels to lie side by side.
SMALL: dict[Any, dict[str, Any]] = {
    repeats: {"BLOCKS": 2, "NODES": 0, "LEAST": 1},
    layouts: {"LEAST_CHANNELS": 2},
}
# As if it always paid to run nodes side by side.
LANES: dict[Any, dict[str, Any]] = {lanes: {"GAIN": -1.0, "FASTER": 0.0}}


@contextlib.contextmanager
def few_are_many(chosen: dict[Any, dict[str, Any]] = SMALL) -> Iterator[None]:
    """Let what is meant for large programs be done to small ones."""
    with contextlib.ExitStack() as stack:
        for module, names in chosen.items():
            for name, value in names.items():
                stack.callback(setattr, module, name, getattr(module, name))
                setattr(module, name, value)
        yield


class Way(NamedTuple):
    """A way to run a graph: which executor, after which passes (None: all of them)."""

    executor: str
    passes: tuple[str, ...] | None

    def __str__(self) -> str:
        return f"{self.executor}, {'all passes' if self.passes is None else ' '.join(self.passes) or 'no pass'}"

    def prepare(
        self, graph: Graph, optimized: dict[Any, Graph] | None = None
    ) -> Callable[[Sequence[Any]], list[Any]]:
        """What runs the graph. Passes give the same each time: `optimized` keeps what they gave for the next executor."""
        optimized = {} if optimized is None else optimized
        if self.passes not in optimized:
            optimized[self.passes] = optimize(graph, only=self.passes).graph
        # A poisoned arena shows a step that reads what nothing wrote.
        options = {"poisoned": True} if self.executor == "sunk" else {}
        return executor(optimized[self.passes].copy(), self.executor, **options)


def all_ways(names: Iterable[str] | None = None) -> list[Way]:
    """Every executor with all passes."""
    return [Way(name, None) for name in (names or EXECUTORS)]


def each_pass(names: Iterable[str] | None = None) -> list[Way]:
    """Each pass alone, operator by operator."""
    return [Way("serial", (name,)) for name in (names or PASSES)]


class Failure(NamedTuple):
    """A graph that a way to run it gets wrong."""

    number: int
    way: Way | None  # None: the graph itself is wrong
    graph: Graph
    inputs: list[np.ndarray]
    reason: str


class Unfit(Exception):
    """The graph does not run on these inputs, in the reference or eagerly."""


class Truth:
    """What a graph's results are on some inputs."""

    def __init__(
        self, graph: Graph, inputs: Sequence[np.ndarray], seed: int, quick: bool = False
    ) -> None:
        self.graph, self.inputs, self.seed = graph, list(inputs), seed
        try:
            tx.manual_seed(seed)
            self.eager = as_arrays(Interpreter(graph, "eager").run_all(*self.tensors()))
            tx.manual_seed(seed)
            self.reference = self.eager
            if not quick:
                with np.errstate(all="ignore"):
                    self.reference = as_arrays(Interpreter(graph, "reference").run_all(*inputs))
        except Exception as error:  # references say in their own words what they do not take
            raise Unfit(str(error)) from error

    def tensors(self, turned: bool = False) -> list[Any]:
        """The inputs as tensors of their own, maybe with their axes the other way round in memory."""
        return [
            _turned(a) if turned else tx.from_numpy(np.array(a, order="C")) for a in self.inputs
        ]

    def judge(self, run: Callable[[Sequence[Any]], list[Any]], turned: bool = False) -> str | None:
        """Why a way to run the graph is wrong; None if it is right."""
        tensors = self.tensors(turned)
        tx.manual_seed(self.seed)
        try:
            got = as_arrays(run(tensors))
        except InternalError as error:
            return f"InternalError: {error}"
        except Exception as error:
            # A matrix that is singular or not by its last bits: such a graph does not always run when its nodes are moved.
            decided = isinstance(error, LinearAlgebraError)
            if decided and spreads(self.graph, self.inputs, self.seed) is None:
                return None
            return f"{type(error).__name__}: {error}"
        changed = [
            i
            for i, (t, a) in enumerate(zip(tensors, self.inputs, strict=True))
            if not _same_bits(t, a)
        ]
        if changed:
            return f"input {changed[0]} was written to"
        return disagreement(self.graph, self.inputs, got, self.reference, self.eager, self.seed)


def well_formed(graph: Graph) -> str | None:
    """Why a graph is none, or is not what its text says."""
    try:
        graph.verify()
        text = str(graph)
        again = parse(text, constant_data(graph))
        again.verify()
        if again != graph:
            return "the text reads back as another graph"
        if again.copy() != graph:
            return "a copy is another graph"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


class Tally:
    """What a run of the fuzzer saw."""

    def __init__(self) -> None:
        self.graphs = 0
        self.control = 0
        self.symbolic = 0
        self.empty = 0  # with a value that has no elements
        self.sizes: list[int] = []
        self.dtypes: dict[str, int] = {}  # in how many graphs
        self.runs = 0
        self.unfit = 0
        self.bindings = 0
        self.used: dict[str, int] = {}
        self.failures: list[Failure] = []

    def add(self, other: Tally) -> None:
        """Take in what another part of the run saw."""
        self.graphs += other.graphs
        self.control += other.control
        self.symbolic += other.symbolic
        self.empty += other.empty
        self.sizes += other.sizes
        self.runs += other.runs
        self.unfit += other.unfit
        self.bindings += other.bindings
        self.failures += other.failures
        for mine, theirs in ((self.used, other.used), (self.dtypes, other.dtypes)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count

    def see(self, made: Made) -> None:
        """Count a graph."""
        graphs = (made.graph, *subgraphs(made.graph))
        types = [v.type for g in graphs for v in g.values()]
        self.graphs += 1
        self.control += made.has_control
        self.symbolic += any(
            isinstance(s, Dim) for v in made.graph.inputs[1:] for s in v.type.shape
        )
        self.empty += any(s == 0 for t in types for s in t.shape if type(s) is int)
        self.sizes.append(sum(len(g.nodes) for g in graphs))
        for kind, names in ((self.used, made.used), (self.dtypes, {t.dtype.name for t in types})):
            for name in names:
                kind[name] = kind.get(name, 0) + 1


@few_are_many()
def check(made: Made, ways: Sequence[Way], tally: Tally, quick: bool = False) -> Failure | None:
    """Run a graph in some ways at several sizes; the first thing that is wrong.

    `quick` compares with eager alone, at the example's sizes.
    """
    graph = made.graph
    tally.see(made)
    problem = None if quick else well_formed(graph)
    if problem is not None:
        return Failure(made.seed, None, graph, made.inputs(), problem)
    prepared: list[tuple[Way, Any]] = []
    optimized: dict[Any, Graph] = {}
    for way in ways:
        try:
            prepared.append((way, way.prepare(graph, optimized)))
        except Exception as error:
            return Failure(made.seed, way, graph, made.inputs(), f"{type(error).__name__}: {error}")
    sets = [SIZES, *(b for b in BINDINGS if made.admits(b))]
    for turn, sizes in enumerate(sets[: 1 if quick else 2]):
        inputs = made.inputs(sizes)
        try:
            truth = Truth(graph, inputs, made.seed, quick)
        except Unfit:
            tally.unfit += 1
            continue
        tally.bindings += 1
        for way, run in prepared:
            tally.runs += 1
            problem = truth.judge(run, turned=turn == 1)
            if problem is not None:
                return Failure(made.seed, way, graph, inputs, problem)
    return None


@few_are_many()
def fails(graph: Graph, inputs: Sequence[np.ndarray], way: Way | None, seed: int) -> str | None:
    """Why a graph fails in one way on these inputs; None if it does not, or is no graph."""
    if way is None:
        return well_formed(graph)
    if well_formed(graph) is not None:
        return None
    try:
        truth = Truth(graph, inputs, seed)
    except Unfit:
        return None
    try:
        run = way.prepare(graph)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return truth.judge(run) or truth.judge(run, turned=True)


def operator_problems(made: Made) -> list[str]:
    """Nodes whose eager results are not those of their operators' references."""
    run = Judged(made.graph)
    tx.manual_seed(made.seed)
    try:
        run.run(*(tx.from_numpy(np.array(a, order="C")) for a in made.inputs()))
    except (ThixoError, ArithmeticError, ValueError):
        return []
    return run.problems


def _turned(array: np.ndarray) -> Any:
    if array.ndim < 2:
        return tx.from_numpy(np.array(array, order="C"))
    order = tuple(reversed(range(array.ndim)))
    return tx.from_numpy(np.ascontiguousarray(array.transpose(order))).permute(order)


def _same_bits(t: Any, array: np.ndarray) -> bool:
    return np.ascontiguousarray(t.numpy()).tobytes() == np.ascontiguousarray(array).tobytes()
