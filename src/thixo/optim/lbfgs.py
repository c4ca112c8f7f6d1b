"""Limited-memory BFGS: steps by an estimate of the inverse Hessian from the last gradients."""

from collections.abc import Callable
from typing import Any

import thixo as tx
from thixo.errors import ArgumentError, ValueRangeError
from thixo.optim.arguments import Number
from thixo.optim.optimizer import Optimizer, Params, check, real
from thixo.tensor import Tensor


class LBFGS(Optimizer):
    """L-BFGS on all parameters as one vector; `step` needs a closure that recomputes the loss.

    >>> p = tx.nn.Parameter(tx.tensor([3.0, -2.0]))
    >>> optimizer = tx.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (p * p).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> bool((p.abs() < 1e-4).all())
    True
    """

    def __init__(
        self, params: Params, lr: Number = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check("LBFGS", lr=(lr, lr >= 0))
        if line_search_fn not in (None, "strong_wolfe"):
            raise ValueRangeError(
                f"LBFGS: line_search_fn is {line_search_fn!r}; it must be 'strong_wolfe' or None"
            )
        super().__init__(
            params,
            {
                "lr": lr, "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
                "history_size": history_size, "line_search_fn": line_search_fn,
            },
        )  # fmt: skip
        if len(self.param_groups) != 1:
            raise ArgumentError("LBFGS: all parameters must be in one group")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # ---- parameters and gradients as vectors

    def _gradient(self) -> Tensor:
        parts = []
        for p in self._params:
            g = tx.zeros_like(p) if p.grad is None else p.grad
            parts.append(real(g.detach()).reshape(-1))
        return tx.cat(parts)

    def _move(self, length: Any, direction: Tensor) -> None:
        start = 0
        for p in self._params:
            target = real(p.detach())
            count = target.numel()
            target.add_(direction[start : start + count].reshape(target.shape) * length)
            start += count

    def _evaluate(self, closure: Callable[[], Any], length: Any, direction: Tensor) -> Any:
        """Loss and gradient a step away; the parameters come back to where they were."""
        before = [p.detach().clone() for p in self._params]
        self._move(length, direction)
        with tx.enable_grad():
            loss = float(closure())
        gradient = self._gradient()
        for p, old in zip(self._params, before, strict=True):
            p.detach().copy_(old)
        return loss, gradient

    # ---- stepping

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Up to `max_iter` iterations; gives the loss before the first."""
        if closure is None:
            raise ArgumentError("LBFGS: step needs a closure that recomputes the loss")
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with tx.no_grad():
            return self._iterate(closure, group, state)

    def _iterate(self, closure: Any, group: dict[str, Any], state: dict[str, Any]) -> Any:
        with tx.enable_grad():
            first_loss = closure()
        loss, evaluations = float(first_loss), 1
        state["func_evals"] += 1
        gradient = self._gradient()
        if float(gradient.abs().max()) <= group["tolerance_grad"]:
            return first_loss
        direction, length = state.get("d"), state.get("t")
        last_gradient, last_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            direction = self._direction(group, state, gradient, last_gradient, direction, length)
            last_gradient, last_loss = gradient.clone(), loss
            length = group["lr"]
            if state["n_iter"] == 1:  # nothing is known of the scale yet
                length = min(1.0, 1.0 / float(gradient.abs().sum())) * group["lr"]
            slope = float((gradient * direction).sum())
            if slope > -group["tolerance_change"]:
                break
            used = 0
            if group["line_search_fn"] is not None:
                found = _strong_wolfe(
                    lambda t, d=direction: self._evaluate(closure, t, d),
                    length, float(direction.abs().max()), loss, gradient, slope, direction,
                    group["tolerance_change"],
                )  # fmt: skip
                loss, gradient, length, used = found
                self._move(length, direction)
            else:
                self._move(length, direction)
                if iterations != group["max_iter"]:
                    with tx.enable_grad():
                        loss = float(closure())
                    gradient = self._gradient()
                    used = 1
            evaluations += used
            state["func_evals"] += used
            moved = float(tx.abs(direction * length).max())
            if (
                evaluations >= group["max_eval"]
                or float(gradient.abs().max()) <= group["tolerance_grad"]
                or moved <= group["tolerance_change"]
                or abs(loss - last_loss) < group["tolerance_change"]
            ):
                break
        state.update(d=direction, t=length, prev_flat_grad=last_gradient, prev_loss=last_loss)
        return first_loss

    def _direction(
        self, group: dict[str, Any], state: dict[str, Any], gradient: Tensor, last: Any,
        direction: Any, length: Any,
    ) -> Tensor:  # fmt: skip
        """Minus the gradient times the inverse Hessian that the history describes."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -gradient
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = gradient - last, direction * length
        curvature = float((change * step).sum())
        if curvature > 1e-10:
            if len(changes) == group["history_size"]:
                for history in (changes, steps, inverses):
                    history.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / float((change * change).sum())
        q = -gradient
        shares = []
        for y, s, inverse in zip(
            reversed(changes), reversed(steps), reversed(inverses), strict=True
        ):
            share = float((s * q).sum()) * inverse
            q = q - y * share
            shares.append(share)
        r = q * state["H_diag"]
        for y, s, inverse, share in zip(changes, steps, inverses, reversed(shares), strict=True):
            r = r + s * (share - float((y * r).sum()) * inverse)
        return r


def _cubic_minimum(a: Any, b: Any, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points (place, value, slope) is least, within bounds."""
    (x1, f1, g1), (x2, f2, g2) = a, b
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2
    d2 = square**0.5
    if x1 <= x2:
        least = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        least = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(least, low), high)


class _Point:
    """A trial step: its length, loss, gradient and slope along the direction."""

    def __init__(self, t: float, loss: float, gradient: Tensor, slope: float) -> None:
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope

    @property
    def curve(self) -> tuple[float, float, float]:
        return self.t, self.loss, self.slope


def _strong_wolfe(
    evaluate: Any, length: float, reach: float, loss: float, gradient: Tensor, slope: float,
    direction: Tensor, tolerance: float, c1: float = 1e-4, c2: float = 0.9, most: int = 25,
) -> tuple[float, Tensor, float, int]:  # fmt: skip
    """A step that lowers the loss enough and flattens the slope (Nocedal and Wright, chapter 3).

    First the step grows until an interval holds such a point, then the interval shrinks around it.
    """

    def at(t: float) -> _Point:
        value, grad = evaluate(t)
        return _Point(t, value, grad, float((grad * direction).sum()))

    start = _Point(0.0, loss, gradient.clone(), slope)
    before, now, evaluations = start, at(length), 1

    def too_high(p: _Point) -> bool:
        return p.loss > loss + c1 * p.t * slope

    done, trials = False, 0
    bracket = [start, now]
    while trials < most:
        if too_high(now) or (trials > 1 and now.loss >= before.loss):
            bracket = [before, now]
            break
        if abs(now.slope) <= -c2 * slope:
            bracket, done = [now], True
            break
        if now.slope >= 0:
            bracket = [before, now]
            break
        bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
        t = _cubic_minimum(before.curve, now.curve, bounds)
        before, now = now, at(t)
        evaluations += 1
        trials += 1
    else:
        bracket = [start, now]
    stalled = False
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    while not done and trials < most:
        if abs(bracket[1].t - bracket[0].t) * reach < tolerance:
            break
        t = _cubic_minimum(bracket[0].curve, bracket[1].curve)
        left, right = sorted((bracket[0].t, bracket[1].t))
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            # near an end: once is fine, twice in a row is no progress
            if stalled or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        now = at(t)
        evaluations += 1
        trials += 1
        if too_high(now) or now.loss >= bracket[low].loss:
            bracket[high] = now
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        if abs(now.slope) <= -c2 * slope:
            done = True
        elif now.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = now
    best = bracket[low] if len(bracket) > 1 else bracket[0]
    return best.loss, best.gradient, best.t, evaluations
