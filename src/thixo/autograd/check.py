"""Gradients compared with finite differences."""

from collections.abc import Callable
from typing import Any

import numpy as np

from thixo import _core
from thixo._core import Tensor
from thixo.autograd.backward import grad
from thixo.autograd.modes import enable_grad
from thixo.errors import ArgumentError, AutogradError
from thixo.ops import public as tx


class GradcheckError(AutogradError):
    """A gradient differs from what finite differences say."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    **_: Any,
) -> bool:
    """Whether the gradients of `func` agree with finite differences in float64.

    >>> import thixo as tx
    >>> x = tx.tensor([0.5, -1.0], dtype=tx.float64, requires_grad=True)
    >>> tx.autograd.gradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise ArgumentError("gradcheck: no input requires grad, so there is nothing to check")
    for x in wanted:
        if x.dtype.name not in ("float64", "complex128"):
            raise ArgumentError(
                f"gradcheck: finite differences need float64 or complex128, an input is {x.dtype}"
            )
    try:
        _check(func, inputs, wanted, eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any
) -> bool:
    """Whether the second derivatives of `func` agree with finite differences.

    >>> import thixo as tx
    >>> x = tx.tensor([0.5, -1.0], dtype=tx.float64, requires_grad=True)
    >>> tx.autograd.gradgradcheck(lambda x: x.sin() * x, (x,))
    True
    """
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    with enable_grad():
        outputs = _differentiable(func(*inputs))
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = tuple(_random_like(y, rng) for y in outputs)
    else:
        given = (grad_outputs,) if isinstance(grad_outputs, Tensor) else grad_outputs
        seeds = tuple(g.detach().requires_grad_() for g in given)
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def first_order(*arguments: Any) -> tuple[Tensor, ...]:
        xs, gs = arguments[: len(inputs)], arguments[len(inputs) :]
        ys = _differentiable(func(*xs))
        found = grad(ys, [xs[i] for i in places], gs, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None and g.requires_grad)

    if not first_order(*inputs, *seeds):
        return True  # a constant gradient
    return gradcheck(first_order, (*inputs, *seeds), **options)


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    outputs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    return tuple(y for y in outputs if isinstance(y, Tensor) and y.requires_grad)


def _random_like(y: Tensor, rng: np.random.Generator) -> Tensor:
    values = rng.standard_normal(tuple(y.shape))
    if y.dtype.is_complex:
        values = values + 1j * rng.standard_normal(tuple(y.shape))
    return _core.from_numpy(np.asarray(values)).requires_grad_()


def _check(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    wanted: list[Tensor],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
) -> None:
    with enable_grad():
        outputs = _differentiable(func(*inputs))
    for o, y in enumerate(outputs):
        for part in ("real", "imag") if y.dtype.is_complex else ("real",):
            analytic = _analytic(y, wanted, part)
            again = _analytic(y, wanted, part)
            for i, x in enumerate(wanted):
                if not np.allclose(analytic[i], again[i], atol=nondet_tol, rtol=0, equal_nan=True):
                    raise GradcheckError(
                        f"gradcheck: the gradient of result {o} for input {i} differs between two runs"
                    )
                numeric = _numeric(func, inputs, x, o, part, eps)
                if not np.allclose(analytic[i], numeric, atol=atol, rtol=rtol, equal_nan=True):
                    raise GradcheckError(
                        f"gradcheck: result {o}, input {i}: the gradient and finite differences differ\n"
                        f"gradient:\n{analytic[i]}\nfinite differences:\n{numeric}"
                    )


def _analytic(y: Tensor, wanted: list[Tensor], part: str) -> list[np.ndarray]:
    """Rows: elements of y. Columns: elements of each input, as dL/dRe + i dL/dIm."""
    rows: list[list[np.ndarray]] = [[] for _ in wanted]
    for k in range(y.numel()):
        seed = np.zeros(tuple(y.shape), y.dtype.numpy)
        seed.reshape(-1)[k] = 1 if part == "real" else 1j
        found = grad([y], wanted, [_core.from_numpy(seed)], retain_graph=True, allow_unused=True)
        for i, g in enumerate(found):
            value = tx.zeros_like(wanted[i]) if g is None else g
            rows[i].append(np.array(value.detach().numpy()).reshape(-1))
    return [
        np.stack(r) if r else np.zeros((0, w.numel())) for r, w in zip(rows, wanted, strict=True)
    ]


def _numeric(
    func: Callable[..., Any], inputs: tuple[Any, ...], x: Tensor, o: int, part: str, eps: float
) -> np.ndarray:
    flat = np.array(x.detach().numpy()).reshape(-1)
    columns = []
    for k in range(flat.size):
        slope: Any = 0
        for step in (eps, 1j * eps) if x.dtype.is_complex else (eps,):
            ends = []
            for sign in (1, -1):
                moved = flat.copy()
                moved[k] += sign * step
                there = _core.from_numpy(moved.reshape(tuple(x.shape))).requires_grad_()
                replaced = tuple(there if a is x else a for a in inputs)
                y = _differentiable(func(*replaced))[o].detach().numpy()
                ends.append(np.array(getattr(y, part)).reshape(-1))
            slope = slope + (ends[0] - ends[1]) / (2 * eps) * (1j if step != eps else 1)
        columns.append(slope)
    if not columns:
        return np.zeros((0, 0)) if not flat.size else np.zeros((1, flat.size))
    return np.stack(columns, axis=1)
