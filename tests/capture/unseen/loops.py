"""Loops as libraries of loop operators test them: carried state, trip counts, scans, nested loops, fixed points."""

import math

import thixo as tx
from tests.capture.corpus.registry import t
from tests.capture.unseen.table import unseen


@unseen(lambda d: (tx.tensor(5),), lambda d: (tx.tensor(0),), lambda d: (tx.tensor(11),))
def triangular_number(n):
    total = tx.tensor(0)
    i = tx.tensor(1)
    while i <= n:
        total = total + i
        i = i + 1
    return total


@unseen(lambda d: (d.normal(3), tx.tensor(4)), lambda d: (d.normal(3), tx.tensor(0)), grad=(0,))
def power_by_squaring(x, n):
    result = tx.ones_like(x)
    base, k = x, int(n)
    while k:
        if k & 1:
            result = result * base
        base = base * base
        k >>= 1
    return result


@unseen(lambda d: (d.normal(7),), lambda d: (d.normal(1),), grad=(0,))
def prefix_sums_by_hand(x):
    out = tx.zeros_like(x)
    acc = tx.zeros((), dtype=x.dtype)
    for i in range(x.shape[0]):
        acc = acc + x[i]
        out[i] = acc
    return out


@unseen(lambda d: (d.normal(8),), lambda d: (d.normal(5),), grad=(0,))
def hillis_steele_scan(x):
    n, step = x.shape[0], 1
    while step < n:
        shifted = tx.cat([tx.zeros(step, dtype=x.dtype), x[:-step]])
        x = x + shifted
        step *= 2
    return x


@unseen(lambda d: (d.normal(4), d.normal(4)), lambda d: (d.normal(9), d.normal(9)), grad=(0, 1))
def linear_recurrence(a, b):
    h = tx.zeros((), dtype=a.dtype)
    history = []
    for decay, value in zip(a, b, strict=True):
        h = tx.tanh(decay) * h + value
        history.append(h)
    return tx.stack(history), h


@unseen(lambda d: (t(27.0),), lambda d: (t(1e4),), lambda d: (t(0.5),), grad=(0,))
def cube_root_to_tolerance(a):
    x = a / 3 + 1
    while True:
        new = (2 * x + a / (x * x)) / 3
        if abs(new - x) < 1e-10:
            return new
        x = new


@unseen(lambda d: (d.normal(3, 4), 2.0), lambda d: (d.normal(3, 4), 0.1), grad=(0,))
def nested_loops_with_a_limit(x, limit):
    used, total = 0, tx.zeros((), dtype=x.dtype)
    for row in x:
        spent = 0.0
        for v in row:
            if spent + abs(v) > limit:
                break
            spent = spent + abs(v)
            used += 1
        total = total + spent
    return total, used


@unseen(lambda d: (d.ints(0, 9, 12),), lambda d: (d.ints(0, 3, 5),))
def majority_vote(x):
    candidate, count = -1, 0
    for v in x:
        if count == 0:
            candidate, count = int(v), 1
        elif v == candidate:
            count += 1
        else:
            count -= 1
    return candidate


@unseen(lambda d: (d.normal(10), 3), lambda d: (d.normal(4), 2), grad=(0,))
def sliding_maximum(x, width):
    found = []
    for i in range(len(x) - width + 1):
        best = x[i]
        for j in range(i + 1, i + width):
            best = x[j] if x[j] > best else best
        found.append(best)
    return tx.stack(found)


@unseen(lambda d: (d.uniform(4, 4), 1e-6), lambda d: (d.uniform(2, 2), 1e-1))
def page_rank(links, tolerance):
    n = links.shape[0]
    links = links / links.sum(0, keepdim=True)
    rank = tx.full((n,), 1 / n, dtype=links.dtype)
    turns = 0
    while True:
        new = 0.15 / n + 0.85 * links @ rank
        turns += 1
        if (new - rank).abs().sum() < tolerance:
            break
        rank = new
    return new, turns


@unseen(
    lambda d: (tx.tensor([3, 1, 2]),),
    lambda d: (tx.tensor([1, 2, 3, 4]),),
    lambda d: (tx.tensor([5, 4, 3, 2, 1]),),
)
def sort_by_insertion(x):
    x = x.clone()
    for i in range(1, x.shape[0]):
        j = i
        while j > 0 and x[j - 1] > x[j]:
            x[j - 1], x[j] = x[j].clone(), x[j - 1].clone()
            j -= 1
    return x


@unseen(lambda d: (t(0.3), t(0.2)), lambda d: (t(0.9), t(-1.1)), lambda d: (t(2.0), t(0.0)))
def tent_map_cycle(x, y):
    for step in range(100):
        x, y = 1 - 1.4 * x * x + y, 0.3 * x
        if x.abs() > 50:
            return step, "escaped"
        if (x - y).abs() < 1e-2:
            return step, "met"
    return -1, "neither"


@unseen(lambda d: (d.normal(3), tx.tensor(3)), lambda d: (d.normal(3), tx.tensor(1)), grad=(0,))
def loop_that_defines_a_name(x, n):
    for i in range(int(n)):
        last = x * (i + 1)
    return last + i


@unseen(lambda d: (d.normal(5),), lambda d: (-d.normal(5).abs(),), grad=(0,))
def loop_with_an_else(x):
    for v in x:
        if v > 0.5:
            found = v * 2
            break
    else:
        found = x.sum()
    return found


@unseen(lambda d: (t(0.5), 6), lambda d: (t(-0.7), 9), grad=(0,))
def chebyshev_by_recurrence(x, n):
    before, now = tx.ones_like(x), x
    rows = [before, now]
    for _ in range(2, n):
        before, now = now, 2 * x * now - before
        rows.append(now)
    return tx.stack(rows).sum(), math.isfinite(now)
