"""Random graphs as one node of the tape: values, first and second gradients and the generator are those of eager code."""

import warnings

import numpy as np
import pytest

import thixo as tx
from tests.fuzz.generate import Generator
from thixo.capture.joint import GraphFunction
from thixo.errors import ThixoError
from thixo.graph import Graph, Interpreter
from thixo.random import default_generator

GRAPHS = 4  # of each part


class Found:
    """What a call gives: results, gradients, gradients of these, and where the generator stands."""

    def __init__(self, call, arrays, like=None):
        tx.manual_seed(3)
        tensors = [_tensor(a) for a in arrays]
        moving = [t for t in tensors if t.requires_grad]
        results = call(tensors)
        # A branch that is not taken may be all that moves a result: eager code knows it, a graph does not.
        self.moved = [r.requires_grad for r in results]
        self.results = _arrays(results)
        self.generator = default_generator._get()
        chosen = self.moved if like is None else like.moved
        parts = [r for r, moves in zip(results, chosen, strict=True) if moves]
        rng = np.random.default_rng(0)
        weights = [tx.tensor(rng.normal(size=tuple(r.shape))).to(r.dtype) for r in parts]
        first = second = [None] * len(moving)
        if parts:
            first = tx.autograd.grad(parts, moving, weights, create_graph=True, allow_unused=True)
        self.moved_first = [g is not None and g.requires_grad for g in first]
        chosen = self.moved_first if like is None else like.moved_first
        sums = [
            (g.abs() ** 2).sum().to(tx.float64)
            for g, moves in zip(first, chosen, strict=True)
            if moves
        ]
        if sums:
            second = tx.autograd.grad(sum(sums[1:], sums[0]), moving, allow_unused=True)
        self.first, self.second = _arrays(first), _arrays(second)


def _tensor(array):
    made = tx.from_numpy(np.array(array, order="C"))
    if made.dtype.is_floating_point or made.dtype.is_complex:
        return made.requires_grad_() * 1
    return made


def _arrays(tensors):
    return [None if t is None else t.detach().numpy().copy() for t in tensors]


def close(a, b, tolerance):
    """Whether two arrays agree; no gradient is as good as one of zeros."""
    if a is None or b is None:
        return (a is None and b is None) or not np.any(b if a is None else a)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return np.array_equal(a, b)
    a, b = a.astype(np.complex128), b.astype(np.complex128)
    largest = np.abs(a[np.isfinite(a)]).max(initial=0)
    with np.errstate(all="ignore"):
        return np.allclose(a, b, tolerance, tolerance * largest + 1e-9, equal_nan=True)


def without_writes(graph: Graph) -> Graph:
    made = graph.copy()
    made.mutations = {}
    return made


@pytest.mark.parametrize("smooth", [True, False], ids=["smooth", "any"])
@pytest.mark.parametrize("part", range(2))
def test_random_graphs(part, smooth):
    warnings.simplefilter("ignore")
    tolerance = 1e-6 if smooth else 1e-3
    compared = 0
    for made in Generator(7, smooth=smooth).graphs(GRAPHS, start=GRAPHS * part):
        graph = without_writes(made.graph)
        try:
            expected = Found(lambda t, g=graph: Interpreter(g).run(*t), made.inputs())
        except ThixoError:
            continue  # it has no gradient, or does not run on its example
        found = Found(GraphFunction(graph), made.inputs(), like=expected)
        where = f"graph {made.seed}"
        for name in ("results", "first", "second"):
            pairs = zip(getattr(found, name), getattr(expected, name), strict=True)
            assert all(close(a, b, tolerance) for a, b in pairs), f"{where}: {name}"
        assert found.generator == expected.generator, where
        if not made.has_control:
            assert found.moved == expected.moved, where
        compared += 1
    assert compared >= GRAPHS // 2
