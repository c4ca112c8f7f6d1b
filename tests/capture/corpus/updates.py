"""Optimisers and training tricks written by hand: state, schedules, clipping, line searches."""

import copy
import math

import thixo as tx
from tests.capture.corpus.registry import case, t
from thixo import nn
from thixo.nn import functional as F


def _model():
    tx.manual_seed(3)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()


def _valley(x):
    return (x[0] - 1) ** 2 + 5 * (x[1] + x[0] ** 2) ** 2


@case(
    lambda d: (t([0.5, -0.3]), 3),
    lambda d: (t([0.5, -0.3]), 1),
    grad=(0,),
)
def adam_by_hand(x, steps, rate=0.1, betas=(0.9, 0.99), eps=1e-8):
    m = v = tx.zeros_like(x)
    for step in range(1, steps + 1):
        g = tx.stack([2 * (x[0] - 1) + 20 * x[0] * (x[1] + x[0] ** 2), 10 * (x[1] + x[0] ** 2)])
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g * g
        x = x - rate * (m / (1 - betas[0] ** step)) / ((v / (1 - betas[1] ** step)).sqrt() + eps)
    return x


@case(
    lambda d: (_model(), d.normal(4, 3), 0.01),
    lambda d: (_model(), d.normal(4, 3), 1e6),
    mutates=True,
)
def step_with_clipping(model, x, limit):
    model(x).square().mean().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), limit)
    rate = 0.1
    if norm > limit:
        rate = rate * 0.5
    with tx.no_grad():
        for p in model.parameters():
            p -= rate * p.grad
            p.grad = None
    return norm


@case(
    lambda d: (_model(), d.normal(4, 3), 0.01),
    lambda d: (_model(), d.normal(4, 3), 5.0),
    mutates=True,
)
def clip_each_value(model, x, limit):
    loss = F.smooth_l1_loss(model(x), x[:, :1] * 9)
    loss.backward()
    largest = max(p.grad.abs().max() for p in model.parameters())
    if largest > limit:
        nn.utils.clip_grad_value_(model.parameters(), limit)
        return loss.detach(), sum(int((p.grad.abs() == limit).sum()) for p in model.parameters())
    return loss.detach(), 0


@case(
    lambda d: (t([0.5, -0.3]), 0.1, 4),
    lambda d: (t([0.5, -0.3]), 1.0, 4),
    lambda d: (t([1.0, -1.0]), 0.1, 4),
)
def halve_the_rate_on_trouble(x, rate, limit):
    loss = _valley(x)
    for _ in range(limit):
        x.requires_grad_(True)
        (g,) = tx.autograd.grad(_valley(x), x)
        x = x.detach()
        if g.abs().max() < 1e-6:
            break
        candidate = x - rate * g
        new = _valley(candidate)
        if new > loss:
            rate /= 2
        else:
            x, loss = candidate, new
    return x, rate


@case(
    lambda d: ([d.normal(2), d.normal(3)], [d.normal(2), d.normal(3)], {}, 2),
    lambda d: ([d.normal(2)], [None], {}, 2),
    lambda d: ([d.normal(2), d.normal(3)], [None, d.normal(3)], {1: d.normal(3)}, 1),
    mutates=True,
)
def momentum_in_a_dict(params, grads, state, steps):
    for _ in range(steps):
        for i, (p, g) in enumerate(zip(params, grads)):
            if g is None:
                continue
            if i not in state:
                state[i] = g.clone()
            else:
                state[i].mul_(0.9).add_(g)
            p.sub_(state[i], alpha=0.1)
    return len(state)


def _rate_at(step, warm, total, floor=0.1):
    if step < warm:
        return (step + 1) / warm
    share = min(1.0, (step - warm) / max(1, total - warm))
    return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * share))


@case(
    lambda d: (d.normal(3), 6, 2),
    lambda d: (d.normal(3), 3, 5),
    lambda d: (d.normal(3), 9, 0),
    grad=(0,),
)
def cosine_schedule(w, steps, warm):
    rates = [_rate_at(step, warm, 8) for step in range(steps)]
    for rate in rates:
        w = w - 0.1 * rate * w.sin()
    return w, rates[-1]


@case(
    lambda d: (_model(), d.normal(5, 3), 1),
    lambda d: (_model(), d.normal(5, 3), 3),
)
def average_of_two_models(model, x, rounds):
    slow = copy.deepcopy(model)
    for k in range(rounds):
        with tx.no_grad():
            for p, q in zip(model.parameters(), slow.parameters()):
                q.lerp_(p * (k + 2), 0.1)
    slow.eval()
    gap = (slow(x) - model(x)).abs().mean()
    return gap.item() if gap > 1e-3 else 0.0


@case(
    lambda d: (t([2.0, 1.0]), 1),
    lambda d: (t([2.0, 1.0]), 3),
    grad=(0,),
)
def two_loop_recursion(x, steps):
    """Limited-memory BFGS on a quadratic."""
    scales = t([1.0, 10.0])
    history = []
    g = scales * x
    for _ in range(steps):
        q, alphas = g, []
        for s, y in reversed(history):
            a = (s @ q) / (s @ y)
            alphas.append(a)
            q = q - a * y
        if history:
            s, y = history[-1]
            q = q * (s @ y) / (y @ y)
        for (s, y), a in zip(history, reversed(alphas)):
            q = q + s * (a - (y @ q) / (s @ y))
        new = x - 0.05 * q
        new_g = scales * new
        history.append((new - x, new_g - g))
        x, g = new, new_g
    return x


@case(
    lambda d: (_model(), d.normal(4, 3), ("0.weight",)),
    lambda d: (_model(), d.normal(4, 3), ("0.weight", "2.bias", "2.weight")),
    lambda d: (_model(), d.normal(4, 3), ()),
)
def frozen_by_name(model, x, frozen):
    for name, p in model.named_parameters():
        p.requires_grad_(name not in frozen)
    model(x).sum().backward()
    norms = {n: float(p.grad.norm()) for n, p in model.named_parameters() if p.grad is not None}
    for p in model.parameters():
        p.requires_grad_(True)
        p.grad = None
    return norms


@case(
    lambda d: ([2.0, 1.0, 0.5, 0.6, 0.7, 0.8], 2),
    lambda d: ([2.0, 1.0, 0.5], 2),
    lambda d: ([1.0, 2.0, 3.0, 4.0], 1),
    answers=[(0.5, 4), (0.5, None), (1.0, 1)],
)
def patience(losses, allowed):
    best, waited, stopped = math.inf, 0, None
    for epoch, loss in enumerate(tx.tensor(losses)):
        if loss < best:
            best, waited = loss, 0
        elif (waited := waited + 1) >= allowed:
            stopped = epoch
            break
    return best, stopped


@case(
    lambda d: (t([1.0, 2.0]), 0.5, 2),
    lambda d: (t([0.01, 0.02]), 9.0, 2),
    lambda d: (t([1.0, 2.0]), 0.5, 5),
    grad=(0,),
)
def lasso_by_soft_thresholds(w, strength, rounds):
    target = t([0.8, 0.1])
    for _ in range(rounds):
        w = w - 0.3 * (w - target)
        w = tx.sign(w) * F.relu(w.abs() - 0.3 * strength)
        if (w == 0).all():
            break
    return w


@case(
    lambda d: (d.normal(3), d.normal(4, 3), 2, 0.0),
    lambda d: (d.normal(3), d.normal(6, 3), 4, 0.0),
    lambda d: (d.normal(3), d.normal(5, 3), 2, 0.01),
    grad=(0, 1),
)
def epochs_over_batches(w, data, size, decay):
    seen = 0
    for epoch in range(2):
        for start in range(0, len(data), size):
            batch = data[start : start + size]
            if len(batch) < size and epoch > 0:
                continue
            error = batch @ w - 1
            w = w - 0.1 * (batch.T @ error) / len(batch)
            if decay:
                w = w * (1 - decay)
            seen += len(batch)
    return w, seen
