"""Gradients against finite differences, along random directions.

The loss is a random projection of the results. Its derivative along a random direction of all inputs
at once must be what the gradients say: a rule that is wrong in any element fails with near certainty,
at the cost of a few evaluations. The second order does the same to the gradients themselves.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from checks import call, name_of, on_tensors, samples_of, to_array

import thixo as tx
from thixo.dtype import DType
from thixo.ops.samples import Sample

STEP = 1e-5
DIRECTIONS = 2
TOLERANCE = 2e-5


def check_gradients(op: Any, dtype: DType) -> int:
    """First and second gradients of each sample; how many samples had a gradient."""
    count = 0
    for number, sample in enumerate(samples_of(op, dtype)):
        if sample.grad:
            count += _check_sample(op, dtype, sample, number)
    return count


def _check_sample(op: Any, dtype: DType, sample: Sample, number: int) -> int:
    rng = np.random.default_rng(number)
    what = name_of(op, sample, dtype)
    places = [np.asarray(a) for a in sample.arrays]
    moving = [i for i, a in enumerate(places) if a.dtype.kind in "fc" and a.size]
    if not moving:
        return 0

    def run(arrays: list[np.ndarray], grad: bool) -> tuple[list[Any], list[Any]]:
        """The leaves that move, and the results, at these values of the moving arrays."""
        leaves: list[Any] = []
        position = iter(range(len(places)))
        new = dict(zip(moving, arrays, strict=True))

        def make(x: Any) -> Any:
            i = next(position)
            t = tx.from_numpy(np.array(new.get(i, places[i]), order="C"))
            if i in new:
                leaves.append(t.requires_grad_(True) if grad else t)
            return t

        results = [t for t in call(op, on_tensors(sample, make)) if _differentiable(t)]
        return leaves, results

    start = [places[i] for i in moving]
    _, results = run(start, True)
    outputs = [i for i, t in enumerate(results) if t.requires_grad]
    if not outputs:
        return 0
    weights = [_like(rng, to_array(results[i])) for i in outputs]

    def loss(arrays: list[np.ndarray], weights: list[np.ndarray]) -> float:
        _, found = run(arrays, False)
        return sum(inner(w, to_array(found[i])) for i, w in zip(outputs, weights, strict=True))

    def gradients(
        arrays: list[np.ndarray], weights: list[np.ndarray], again: bool
    ) -> tuple[list[Any], list[Any], list[Any]]:
        inputs, found = run(arrays, True)
        seeds = [tx.from_numpy(w.copy()).requires_grad_(again) for w in weights]
        made = tx.autograd.grad(
            [found[i] for i in outputs], inputs, seeds, create_graph=again, allow_unused=True
        )
        return inputs, seeds, [_zero_if_none(g, x) for g, x in zip(made, inputs, strict=True)]

    _, _, first = gradients(start, weights, False)
    for g, x in zip(first, start, strict=True):
        assert tuple(g.shape) == x.shape, f"{what}: a gradient has shape {tuple(g.shape)}"
        assert to_array(g).dtype == x.dtype, f"{what}: a gradient has dtype {g.dtype}"
    _check_directions(
        lambda a: loss(a, weights), start, [to_array(g) for g in first], rng, f"{what}: gradient"
    )
    _check_second(gradients, start, weights, rng, what)
    return 1


def _check_second(
    gradients: Callable[..., Any],
    start: list[np.ndarray],
    weights: list[np.ndarray],
    rng: np.random.Generator,
    what: str,
) -> None:
    """The gradient of a projection of the gradients, in inputs and incoming gradients both."""
    count = len(start)
    inputs, seeds, first = gradients(start, weights, True)
    projections = [_like(rng, x) for x in start]

    def projected(arrays: list[np.ndarray]) -> float:
        _, _, found = gradients(arrays[:count], arrays[count:], False)
        return sum(inner(p, to_array(g)) for p, g in zip(projections, found, strict=True))

    from_here = [i for i, g in enumerate(first) if g.requires_grad]
    point = [*start, *weights]
    if from_here:
        made = tx.autograd.grad(
            [first[i] for i in from_here],
            [*inputs, *seeds],
            [tx.from_numpy(projections[i].copy()) for i in from_here],
            allow_unused=True,
        )
        second = [
            to_array(_zero_if_none(g, x)) for g, x in zip(made, [*inputs, *seeds], strict=True)
        ]
    else:
        second = [np.zeros_like(x) for x in point]
    _check_directions(projected, point, second, rng, f"{what}: second gradient")


def _check_directions(
    function: Callable[[list[np.ndarray]], float],
    start: list[np.ndarray],
    gradient: list[np.ndarray],
    rng: np.random.Generator,
    what: str,
) -> None:
    for _ in range(DIRECTIONS):
        direction = [_like(rng, x) for x in start]
        claimed = sum(inner(g, d) for g, d in zip(gradient, direction, strict=True))
        forward, back = (
            function([np.asarray(x + s * STEP * d) for x, d in zip(start, direction, strict=True)])
            for s in (1, -1)
        )
        measured = (forward - back) / (2 * STEP)
        if np.isnan(measured) and np.isnan(claimed):
            continue
        scale = 1 + abs(measured) + 1e-6 * abs(forward) / STEP
        assert abs(claimed - measured) <= TOLERANCE * scale, (
            f"{what} along a random direction is {claimed:.8g}, finite differences give {measured:.8g}"
        )


def inner(a: np.ndarray, b: np.ndarray) -> float:
    """The real inner product; a complex number counts as two reals."""
    if np.iscomplexobj(a) and np.iscomplexobj(b):
        return float(np.sum(a.real * b.real) + np.sum(a.imag * b.imag))
    return float(np.sum(np.real(a) * np.real(b)))


def _like(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    made = rng.uniform(-1, 1, x.shape)
    return np.asarray(made + 1j * rng.uniform(-1, 1, x.shape) if np.iscomplexobj(x) else made)


def _differentiable(t: Any) -> bool:
    # A result in a narrower type is too coarse for finite differences.
    return isinstance(t, tx.Tensor) and t.dtype in (tx.float64, tx.complex128)


def _zero_if_none(g: Any, x: Any) -> Any:
    return tx.zeros_like(x) if g is None else g
