"""Operators and their gradients as graphs: traced with symbols, printed, parsed, run at other sizes."""

from typing import Any

import numpy as np
from checks import Later, call, compare_all, name_of, on_tensors, samples_of, to_array

import thixo as tx
from thixo.dtype import DType, from_numpy_dtype
from thixo.graph import Graph, Interpreter, Type, parse
from thixo.graph.interpret import GuardError
from thixo.graph.trace import Trace
from thixo.ops.samples import SIZES, Sample, symbolic_sizes
from thixo.symbolic import Dim

# Two sets of sizes that order the symbols as the example does: a graph must serve them. In the third the
# order is another: there a graph may refuse by a guard, and must not be wrong.
SERVED = ({"n": 5, "m": 6, "k": 3, "b": 8}, {"n": 4, "m": 9, "k": 3, "b": 10})
OTHER_ORDER = {"n": 7, "m": 5, "k": 6, "b": 4}


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
            trace.input(f"seed{i}", Type(results[i].dtype, tuple(results[i].shape)))
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
    sets = (*SERVED, OTHER_ORDER)
    others = [list(samples_of(op, dtype, sizes)) for sizes in sets]
    count = 0
    for number, sample in enumerate(samples_of(op, dtype, symbolic_sizes())):
        if gradient and not sample.grad:
            continue
        what = f"{name_of(op, sample, dtype)}{' gradient' if gradient else ''} traced"
        if not any(isinstance(t, tx.Tensor) for t in call(op, on_tensors(others[0][number]))):
            continue  # it answers with Python's own numbers, which a graph has none of
        try:
            traced = Traced(op, sample, gradient)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"{what}: {error!r}") from error
        if not traced.graph.outputs:
            continue
        graph = there_and_back(traced.graph, what)
        for sizes, samples in zip(sets, others, strict=True):
            other = _at_sizes(sample, samples[number])
            _run_at(traced, graph, other, sizes, f"{what} at {sizes}")
        count += 1
    return count


def _at_sizes(sample: Sample, other: Sample) -> Sample:
    """The other sample, with the numbers that the traced one drew: they are part of the graph."""
    args = tuple(map(_merge, sample.args, other.args))
    kwargs = {k: _merge(v, other.kwargs[k]) for k, v in sample.kwargs.items()}
    return Sample(*args, grad=sample.grad, before=other.before, after=other.after, **kwargs)


def _merge(a: Any, b: Any) -> Any:
    if isinstance(a, list | tuple):
        return type(a)(map(_merge, a, b)) if len(a) == len(b) else b
    if isinstance(a, slice):
        return slice(*map(_merge, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    return b if isinstance(a, np.ndarray | Dim) else a


def _run_at(traced: Traced, graph: Graph, sample: Sample, sizes: dict[str, int], what: str) -> None:
    rng = np.random.default_rng(7)
    wanted, seeds = traced.eager(sample, rng)
    every_size = np.zeros([sizes[name] for name in SIZES], bool)
    inputs = [every_size, *(np.array(a) for a in sample.arrays), *seeds]
    tx.manual_seed(0)
    try:
        got = Interpreter(graph, "reference").run(*inputs)
    except GuardError as error:
        # Sizes 0 and 1 have graphs of their own.
        if sizes is OTHER_ORDER or error.guard.right in (0, 1):
            return
        raise AssertionError(f"{what}: {error}\n{graph}") from error
    told = Later(lambda: f"{what}\n{graph}")
    compare_all(got, [to_array(t) for t in wanted], told, tolerance=1e-6)


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
    made = np.asarray(rng.uniform(-1, 1, like.shape))
    if np.iscomplexobj(like):
        made = made + 1j * rng.uniform(-1, 1, like.shape)
    return np.asarray(made).astype(like.dtype)
