"""Connectionist temporal classification: the likelihood of labels, over all ways to align them with time.

The forward-backward recursion (Graves, 2006) runs in log space over the labels with blanks between them.
The loss's gradient is the time each label occupies; that of the occupancy is its own primitive, so
second derivatives work.
"""

from typing import Any, NamedTuple

import numpy as np

from thixo import _core
from thixo.dtype import float32, float64, int64
from thixo.errors import AutogradError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import loss_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Op, Spec
from thixo.ops.loss_reduction import reduced, reduction_of
from thixo.ops.plain import whole
from thixo.ops.samples import Bad, Sample

_DTYPES = (float32, float64)


# ---- the recursion, for a whole batch at each time


class _Problem(NamedTuple):
    states: np.ndarray  # (batch, states): the labels with a blank before, between and after them
    skips: np.ndarray  # (batch, states): may it be entered from two states before?
    final: np.ndarray  # (batch, states): may a path end here?
    steps: np.ndarray  # (batch): how many times there are


def _problem(log_probs: Any, targets: Any, steps: Any, lengths: Any, blank: int) -> _Problem:
    time, batch, classes = log_probs.shape
    for name, values, most in (("input", steps, time), ("target", lengths, targets.shape[1])):
        if batch and (values.min() < 0 or values.max() > most):
            raise ValueRangeError(
                f"ctc_loss: {name}_lengths holds {values.min()} to {values.max()}; "
                f"needs 0 to {most}"
            )
    states = np.full((batch, 2 * targets.shape[1] + 1), blank, np.int64)
    used = np.arange(targets.shape[1]) < lengths[:, None]
    labels = np.where(used, targets, blank)
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise ValueRangeError(
            f"ctc_loss: targets holds {labels.min()} to {labels.max()}; needs 0 to {classes - 1}"
        )
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, bool)
    skips[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    number = np.arange(states.shape[1])
    last = 2 * lengths[:, None]
    final = (number == last) | ((number == last - 1) & (last > 0))
    return _Problem(states, skips, final, np.asarray(steps))


def _shifted(a: np.ndarray, by: int, fill: float) -> np.ndarray:
    """Entry s - by of each row at s (by may be negative)."""
    out = np.full_like(a, fill)
    if abs(by) >= a.shape[1]:
        return out
    if by > 0:
        out[:, by:] = a[:, :-by]
    else:
        out[:, :by] = a[:, -by:]
    return out


def _log_sum(*terms: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """log of the sum of exponentials, and the share each term has in it."""
    top = np.maximum.reduce(terms)
    safe = np.where(np.isinf(top), 0, top)
    parts = [np.exp(t - safe) for t in terms]
    total = sum(parts)
    return np.log(total) + safe, [p / np.where(total == 0, 1, total) for p in parts]


def _sweep(x: np.ndarray, p: _Problem, v: np.ndarray | None, forward: bool) -> tuple[Any, Any]:
    """Log-weights of all partial paths that reach each (time, batch, state), and their derivative along v."""
    time, batch, states = x.shape
    weights = np.full(x.shape, -np.inf)
    slopes = np.zeros(x.shape)
    entry = np.zeros((batch, states), bool)
    if forward:
        entry[:, :2] = True
        valid = (
            np.arange(states)
            <= np.where(p.final, np.arange(states), -1).max(1, initial=-1)[:, None]
        )
        entry &= valid
    else:
        entry = p.final
    step = 1 if forward else -1
    skips = p.skips if forward else _shifted(p.skips, -2, False)
    for t in range(time)[::step]:
        begins = (t == 0) & (p.steps > 0) if forward else t == p.steps - 1
        begins = np.broadcast_to(begins, (batch,))[:, None] & entry
        before = t - step
        if 0 <= before < time:
            old, old_slope = weights[before], slopes[before]
            terms = [old, _shifted(old, step, -np.inf)]
            terms.append(np.where(skips, _shifted(old, 2 * step, -np.inf), -np.inf))
            total, shares = _log_sum(*terms)
            slope = shares[0] * old_slope
            slope += shares[1] * _shifted(old_slope, step, 0)
            slope += shares[2] * _shifted(old_slope, 2 * step, 0)
        else:
            total, slope = np.full((batch, states), -np.inf), np.zeros((batch, states))
        inside = (t < p.steps)[:, None]
        weights[t] = np.where(inside, np.where(begins, 0, total) + x[t], -np.inf)
        if v is not None:
            slopes[t] = np.where(inside, np.where(begins, 0, slope) + v[t], 0)
    return weights, slopes


def _solve(log_probs: Any, problem: _Problem, v: Any = None) -> tuple[Any, Any, Any]:
    """(log-likelihood of each sample, occupancy of each class at each time, its derivative along v)."""
    time, batch, classes = log_probs.shape
    rows = np.arange(batch)[:, None]
    x = log_probs[:, rows, problem.states].astype(np.float64)
    vx = None if v is None else v[:, rows, problem.states].astype(np.float64)
    with np.errstate(all="ignore"):
        ahead, d_ahead = _sweep(x, problem, vx, True)
        behind, d_behind = _sweep(x, problem, vx, False)
        last = np.maximum(problem.steps - 1, 0)
        ends = np.full(problem.states.shape, -np.inf)
        d_ends = np.zeros(problem.states.shape)
        if time:
            ends = np.where(problem.final, ahead[last, np.arange(batch)], -np.inf)
            d_ends = d_ahead[last, np.arange(batch)]
        likelihood, shares = _log_sum(*ends.T) if ends.shape[1] else (np.full(batch, -np.inf), [])
        # without any time, only the empty labelling has a path
        nothing = (problem.steps == 0) & problem.final[:, 0]
        likelihood = np.where(nothing, 0.0, likelihood)
        gamma = np.exp(ahead + behind - x - likelihood[:, None])
        gamma[~np.isfinite(gamma)] = 0  # labels that no path spells occupy nothing
        occupancy = np.zeros((time, batch, classes))
        moved = np.zeros((time, batch, classes))
        if vx is not None:
            d_likelihood = sum(w * d for w, d in zip(shares, d_ends.T, strict=True))
            change = gamma * (d_ahead + d_behind - vx - d_likelihood[:, None])
            change[~np.isfinite(change)] = 0
        for s in range(problem.states.shape[1]):
            where = (slice(None), np.arange(batch), problem.states[:, s])
            occupancy[where] += gamma[:, :, s]
            if vx is not None:
                moved[where] += change[:, :, s]
    return likelihood, occupancy, moved


# ---- the three primitives


class CtcNegativeLogLikelihood(Op):
    """Minus the log-probability of each sample's labels; `log_probs` is (time, batch, classes).

    >>> logs = tx.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> one = tx.tensor([1])
    >>> tx.nn.functional.ctc_negative_log_likelihood(logs, tx.tensor([[1]]), one + 1, one, 0)
    tensor([0.2877])
    """

    signature = (
        "ctc_negative_log_likelihood(log_probs, targets, input_lengths, target_lengths, blank: int) "
        "-> y"
    )
    namespace = "nn.functional"
    dtypes = _DTYPES

    def infer(log_probs, targets, input_lengths, target_lengths, blank):
        _check(log_probs, targets, input_lengths, target_lengths, blank)
        return Spec((log_probs.shape[1],), log_probs.dtype)

    def kernel(log_probs, targets, input_lengths, target_lengths, blank):
        problem = _problem(log_probs, targets, input_lengths, target_lengths, blank)
        return -_solve(log_probs, problem)[0]

    def vjp_log_probs(g, log_probs, targets, input_lengths, target_lengths, blank):
        occupancy = tx.nn.functional.ctc_occupancy(
            log_probs, targets, input_lengths, target_lengths, blank
        )
        return -occupancy * g.unsqueeze(1)

    def reference(log_probs, targets, input_lengths, target_lengths, blank):
        rows = zip(
            np.moveaxis(log_probs, 1, 0), targets, input_lengths, target_lengths, strict=True
        )
        return np.array([slow.ctc_loss(x[:t], list(y[:n]), blank) for x, y, t, n in rows])

    def samples(s):
        yield Sample(*_example(s), 0)
        x, y, *lengths = _example(s)
        yield Sample(x, y - 1, *lengths, 2)


class CtcOccupancy(Op):
    """The expected presence of each class at each time, given the labels.

    >>> logs = tx.tensor([[[0.5, 0.5]]]).log()
    >>> one = tx.tensor([1])
    >>> tx.nn.functional.ctc_occupancy(logs, tx.tensor([[1]]), one, one, 0)
    tensor([[[0., 1.]]])
    """

    signature = "ctc_occupancy(log_probs, targets, input_lengths, target_lengths, blank: int) -> y"
    namespace = "nn.functional"
    dtypes = _DTYPES

    def infer(log_probs, targets, input_lengths, target_lengths, blank):
        _check(log_probs, targets, input_lengths, target_lengths, blank)
        return Spec(tuple(log_probs.shape), log_probs.dtype)

    def kernel(log_probs, targets, input_lengths, target_lengths, blank):
        problem = _problem(log_probs, targets, input_lengths, target_lengths, blank)
        return _solve(log_probs, problem)[1]

    def vjp_log_probs(g, log_probs, targets, input_lengths, target_lengths, blank):
        # the occupancy is a gradient, so its Jacobian is symmetric
        return tx.nn.functional.ctc_occupancy_along(
            log_probs, g, targets, input_lengths, target_lengths, blank
        )

    def reference(log_probs, targets, input_lengths, target_lengths, blank):
        y = np.zeros_like(log_probs)
        for b, (t, n) in enumerate(zip(input_lengths, target_lengths, strict=True)):
            y[:t, b] = slow.ctc_occupancy(log_probs[:t, b], list(targets[b, :n]), blank)
        return y

    def samples(s):
        # its gradient is the second one of the likelihood, and tested there
        yield Sample(*_example(s), 0, grad=False)


class CtcOccupancyAlong(Op):
    """The derivative of `ctc_occupancy` along a direction in `log_probs`.

    >>> logs = tx.tensor([[[0.5, 0.5]]]).log()
    >>> one = tx.tensor([1])
    >>> tx.nn.functional.ctc_occupancy_along(logs, logs, tx.tensor([[1]]), one, one, 0).sum()
    tensor(0.)
    """

    signature = (
        "ctc_occupancy_along(log_probs, direction, targets, input_lengths, target_lengths, "
        "blank: int) -> y"
    )
    namespace = "nn.functional"
    dtypes = _DTYPES

    def infer(log_probs, direction, targets, input_lengths, target_lengths, blank):
        _check(log_probs, targets, input_lengths, target_lengths, blank)
        if tuple(direction.shape) != tuple(log_probs.shape):
            raise ShapeError(
                f"ctc_occupancy_along: direction is {describe(direction)}, log_probs is "
                f"{describe(log_probs)}; the shapes must agree"
            )
        return Spec(tuple(log_probs.shape), log_probs.dtype)

    def kernel(log_probs, direction, targets, input_lengths, target_lengths, blank):
        problem = _problem(log_probs, targets, input_lengths, target_lengths, blank)
        return _solve(log_probs, problem, direction)[2]

    def vjp(g):
        raise AutogradError("ctc_loss: only first and second derivatives are available")

    def reference(log_probs, direction, targets, input_lengths, target_lengths, blank):
        y = np.zeros_like(log_probs)
        for b, (t, n) in enumerate(zip(input_lengths, target_lengths, strict=True)):
            labels = list(targets[b, :n])
            y[:t, b] = slow.ctc_occupancy(log_probs[:t, b], labels, blank, direction[:t, b])
        return y

    def samples(s):
        x, *rest = _example(s)
        yield Sample(x, s.real(4, 2, 3), *rest, 0, grad=False)


def _example(s: Any) -> tuple[Any, ...]:
    """Three classes: labels 1 2 and 2 2 (which needs a blank between), over 4 and 3 times."""
    labels = s.array([[1, 2], [2, 2]], int64)
    return s.real(4, 2, 3, low=-2, high=0), labels, s.array([4, 3], int64), s.array([2, 2], int64)


def _check(log_probs: Any, targets: Any, steps: Any, lengths: Any, blank: int) -> None:
    op = "ctc_loss"
    if log_probs.ndim != 3:
        raise ShapeError(
            f"{op}: log_probs is {describe(log_probs)}; it must be (time, batch, classes)"
        )
    if not 0 <= blank < log_probs.shape[2]:
        raise ValueRangeError(f"{op}: blank is {blank}; there are {log_probs.shape[2]} classes")
    batch = log_probs.shape[1]
    for name, value in (("input_lengths", steps), ("target_lengths", lengths)):
        if tuple(value.shape) != (batch,):
            raise ShapeError(
                f"{op}: {name} is {describe(value)}; it must have one entry for each of {batch} samples"
            )
    if targets.ndim != 2 or targets.shape[0] != batch:
        raise ShapeError(
            f"{op}: targets is {describe(targets)}; it must be (batch, labels) with a batch of {batch}"
        )


# ---- what people call


def _lengths(op: str, name: str, value: Any, like: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        value = value.ravel().tolist()
    if isinstance(value, _core.Tensor):
        if not value.dtype.is_integer:
            raise DTypeError(f"{op}: {name} is {describe(value)}; it must hold integers")
        return value.to(int64).reshape(-1)
    values = value if isinstance(value, (tuple, list)) else [value]
    lengths = [whole(op, name, v) for v in values]
    return tx.cat([tx.full((1,), n, dtype=int64, device=like.device) for n in lengths])


class CtcLoss(Composite):
    """CTC loss of log-probabilities (time, batch, classes) with labels, padded or in one row.

    As in PyTorch the gradient is meant for scores that `log_softmax` made into `log_probs`: what its
    own gradient takes away is left in.

    >>> logs = tx.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> tx.nn.functional.ctc_loss(logs, tx.tensor([[1]]), [2], [1])
    tensor(0.2877)
    """

    signature = (
        "ctc_loss(log_probs, targets, input_lengths: any, target_lengths: any, blank: int = 0, "
        "reduction: str = 'mean', zero_infinity: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = _DTYPES

    def compose(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
        op = "ctc_loss"
        reduction = reduction_of(op, None, None, reduction)
        steps = _lengths(op, "input_lengths", input_lengths, log_probs)
        lengths = _lengths(op, "target_lengths", target_lengths, log_probs)
        if not targets.dtype.is_integer:
            raise DTypeError(f"{op}: targets is {describe(targets)}; it must hold integers")
        lone = log_probs.ndim == 2
        x = log_probs.unsqueeze(1) if lone else log_probs
        labels = targets.to(int64)
        if lone and labels.ndim == 1:
            labels = labels.unsqueeze(0)
        elif labels.ndim == 1:  # one row after the other: cut it, with room for the longest
            start = (lengths.cumsum(0) - lengths).unsqueeze(1)
            number = tx.arange(labels.shape[0], device=x.device)
            places = tx.clamp(start + number, max=labels.shape[0] - 1)
            labels = labels[places]
        loss = tx.nn.functional.ctc_negative_log_likelihood(x, labels, steps, lengths, blank)
        used = tx.arange(x.shape[0], device=x.device).unsqueeze(1) < steps
        mass = tx.where(used, tx.exp(x).sum(2), 0).sum(0)
        loss = loss + (mass - mass.detach())
        if zero_infinity:
            loss = tx.where(tx.isinf(loss), 0, loss)
        if reduction == "mean":
            loss = loss / tx.clamp(lengths, min=1)
        if lone and reduction == "none":
            return loss.squeeze(0)
        return reduced(loss, reduction)

    def reference(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    ):
        lone = log_probs.ndim == 2
        x = log_probs[:, None] if lone else log_probs
        lengths = [int(n) for n in np.atleast_1d(target_lengths)]
        starts = np.cumsum([0, *lengths])
        rows = np.atleast_2d(targets)
        if targets.ndim == 1 and not lone:
            rows = [targets[a : a + n] for a, n in zip(starts, lengths, strict=False)]
        losses = [
            slow.ctc_loss(x[:t, b], list(y[:n]), blank)
            for b, (t, y, n) in enumerate(
                zip(np.atleast_1d(input_lengths), rows, lengths, strict=True)
            )
        ]
        if zero_infinity:
            losses = [0.0 if np.isinf(v) else v for v in losses]
        if reduction == "mean":
            losses = [v / max(n, 1) for v, n in zip(losses, lengths, strict=True)]
        return slow.reduced(losses[0] if lone else losses, None, None, reduction)

    def samples(s):
        x, y, t, n = _example(s)
        # the gradient is not that of the value alone, see above: kept out of difference tests
        yield Sample(x, y, t, n, grad=False)
        yield Sample(x, y.ravel(), [4, 3], [2, 2], reduction="none", grad=False)
        yield Sample(x, y, t, s.array([1, 0], int64), reduction="sum", grad=False)
        yield Sample(x[:, 0], y[0], [3], [2], grad=False)
        yield Sample(x, y, s.array([1, 2], int64), n, zero_infinity=True, grad=False)

    def bad(s):
        x, y, t, n = _example(s)
        yield Bad(Sample(x, y, t, n, 3), ValueRangeError, "blank is 3")
        yield Bad(Sample(x, y, t + 1, n), ValueRangeError, "input_lengths holds")
        yield Bad(Sample(x, y, [4], n), ShapeError, "input_lengths")
        yield Bad(Sample(x, y + 2, t, n), ValueRangeError, "targets holds")


class TopCtcLoss(Composite):
    """`nn.functional.ctc_loss` in the form of PyTorch's top-level function: reduction is 0, 1 or 2.

    >>> logs = tx.tensor([[[0.5, 0.5]], [[0.5, 0.5]]]).log()
    >>> tx.ctc_loss(logs, tx.tensor([[1]]), [2], [1], 0, 2)
    tensor(0.2877)
    """

    signature = (
        "ctc_loss(log_probs, targets, input_lengths: any, target_lengths: any, blank: int = 0, "
        "reduction: int = 1, zero_infinity: bool = False) -> y"
    )
    method = False
    dtypes = _DTYPES

    def compose(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
        if reduction not in (0, 1, 2):
            raise ValueRangeError(
                f"ctc_loss: reduction is {reduction}; it must be 0 (none), 1 (mean) or 2 (sum)"
            )
        word = ("none", "mean", "sum")[reduction]
        return tx.nn.functional.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, blank, word, zero_infinity
        )

    def reference(
        log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
    ):
        word = ("none", "mean", "sum")[reduction]
        return CtcLoss.reference(
            log_probs, targets, input_lengths, target_lengths, blank, word, zero_infinity
        )

    def samples(s):
        yield Sample(*_example(s), 0, 2, grad=False)
