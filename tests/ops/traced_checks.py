"""Operators and their gradients as graphs: traced with symbols, printed, parsed, run at other sizes."""

from typing import Any

import numpy as np

import thixo as tx
from checks import call, compare_all, name_of, on_tensors, samples_of, to_array
from thixo.capture.trace import Trace
from thixo.dtype import DType, from_numpy_dtype
from thixo.errors import TraceError
from thixo.graph import Graph, Interpreter, Type, parse
from thixo.ops.samples import OTHER_SIZES, SIZES, Sample, symbolic_sizes

SEEDS = "seed"  # names of the inputs that hold incoming gradients


class Traced:
    """A sample's graph, with or without its gradients, and how to run it on other arrays."""

    def __init__(self, op: Any, sample: Sample, gradient: bool) -> None:
        self.op = op
        self.gradient = gradient
        self.leaves: list[int] = []  # which arrays gradients are taken of
        trace = Trace(op.sig.name)
        with trace:
            self._trace(trace, sample)
        self.graph = trace.finish()

    def _trace(self, trace: Trace, sample: Sample) -> None:
        # One input that is never read binds every symbol, also those that are only in attributes.
        trace.input("every_size", Type(tx.bool, tuple(symbolic_sizes().values())))
        tensors: list[Any] = []

        def make(array: np.ndarray) -> Any:
            dims = getattr(array, "dims", array.shape)
            dtype = from_numpy_dtype(array.dtype)
            moves = self.gradient and (dtype.is_floating_point or dtype.is_complex)
            if moves:
                self.leaves.append(len(tensors))
            tensors.append(trace.input(f"x{len(tensors)}", Type(dtype, dims), requires_grad=moves))
            return tensors[-1]

        results = call(self.op, on_tensors(sample, make))
        self.kept = [i for i, t in enumerate(results) if isinstance(t, tx.Tensor)]
        results = [results[i] for i in self.kept]
        if not self.gradient:
            for t in results:
                trace.output(t)
            return
        self.outputs = [i for i, t in enumerate(results) if t.requires_grad]
        if not self.outputs or not self.leaves:
            self.found: list[int] = []
            return
        seeds = [
            trace.input(f"{SEEDS}{i}", Type(results[i].dtype, tuple(results[i].shape)))
            for i in self.outputs
        ]
        made = tx.autograd.grad(
            [results[i] for i in self.outputs],
            [tensors[i] for i in self.leaves],
            seeds,
            allow_unused=True,
        )
        self.found = [i for i, g in enumerate(made) if g is not None]
        for i in self.found:
            trace.output(made[i])

    def eager(self, sample: Sample, rng: np.random.Generator) -> tuple[list[Any], list[np.ndarray]]:
        """What eager gives for another sample of the same kind, and the graph's inputs for it."""
        tensors: list[Any] = []

        def make(array: np.ndarray) -> Any:
            tensors.append(tx.from_numpy(np.array(array, order="C")))
            if len(tensors) - 1 in self.leaves:
                tensors[-1].requires_grad_(True)
            return tensors[-1]

        results = call(self.op, on_tensors(sample, make))
        results = [results[i] for i in self.kept]
        if not self.gradient:
            return results, []
        seeds = [_seed(rng, to_array(results[i])) for i in self.outputs]
        made = tx.autograd.grad(
            [results[i] for i in self.outputs],
            [tensors[i] for i in self.leaves],
            list(map(tx.from_numpy, seeds)),
            allow_unused=True,
        )
        return [made[i] for i in self.found], seeds


def check_traced(op: Any, dtype: DType, gradient: bool = False) -> int:
    """Each sample's graph survives its text and equals eager at two other sizes, in the reference."""
    others = [list(samples_of(op, dtype, sizes)) for sizes in OTHER_SIZES]
    count = 0
    for number, sample in enumerate(samples_of(op, dtype, symbolic_sizes())):
        if gradient and not sample.grad:
            continue
        what = f"{name_of(op, sample, dtype)}{' gradient' if gradient else ''} traced"
        try:
            traced = Traced(op, sample, gradient)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        if not traced.graph.outputs:
            continue
        graph = there_and_back(traced.graph, what)
        for sizes, samples in zip(OTHER_SIZES, others, strict=True):
            _run_at(traced, graph, samples[number], sizes, f"{what} at {sizes}")
        count += 1
    return count


def _run_at(
    traced: Traced, graph: Graph, sample: Sample, sizes: dict[str, int], what: str
) -> None:
    rng = np.random.default_rng(7)
    wanted, seeds = traced.eager(sample, rng)
    every_size = np.zeros([sizes[name] for name in SIZES], bool)
    inputs = [every_size, *(np.array(a) for a in sample.arrays), *seeds]
    try:
        got = Interpreter(graph, "reference").run(*inputs)
    except TraceError as error:
        raise AssertionError(f"{what}: {error}\n{graph}") from error
    compare_all(got, [to_array(t) for t in wanted], f"{what}\n{graph}", tolerance=1e-6)


def there_and_back(graph: Graph, what: str) -> Graph:
    """The graph that its text says, verified and equal."""
    try:
        graph.verify()
        again = parse(str(graph), {v.name: d for v, d in graph.constants.items()})
        again.verify()
    except Exception as error:
        raise AssertionError(f"{what}: {error}\n{graph}") from error
    assert again == graph, f"{what}: the text reads back as another graph\n{graph}\n{again}"
    return again


def _seed(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    made = rng.uniform(-1, 1, like.shape)
    if np.iscomplexobj(like):
        made = made + 1j * rng.uniform(-1, 1, like.shape)
    return made.astype(like.dtype)
