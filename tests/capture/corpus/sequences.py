"""Sequences and dynamic programs: Viterbi, beams, distances between strings, scans, sorts, searches."""

import math

import numpy as np

import thixo as tx
from tests.capture.corpus.registry import case, t


# Two hidden states (healthy, fever), three observations (normal, cold, dizzy).
def _clinic():
    start = t([0.6, 0.4])
    move = t([[0.7, 0.3], [0.4, 0.6]])
    emit = t([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    return start, move, emit


@case(
    lambda d: (*_clinic(), [0, 1, 2]),
    lambda d: (*_clinic(), [2, 2, 0, 0, 1]),
    answers=[([0, 0, 1], 0.01512), None],
)
def viterbi(start, move, emit, observed):
    best = start * emit[:, observed[0]]
    back = []
    for o in observed[1:]:
        scores = best.unsqueeze(1) * move
        best, where = scores.max(dim=0)
        best = best * emit[:, o]
        back.append(where)
    state = int(best.argmax())
    path = [state]
    for where in reversed(back):
        state = int(where[state])
        path.insert(0, state)
    return path, best.max()


@case(
    lambda d: (*_clinic(), [0, 1, 2]),
    lambda d: (*_clinic(), [1]),
    grad=(0, 1, 2),
    answers=[math.log(0.03628), math.log(0.36)],
)
def forward_algorithm(start, move, emit, observed):
    alpha = tx.log(start) + tx.log(emit[:, observed[0]])
    for o in observed[1:]:
        alpha = tx.logsumexp(alpha[:, None] + move.log(), dim=0) + emit[:, o].log()
    return tx.logsumexp(alpha, dim=0)


@case(
    lambda d: (d.normal(5, 5), 0, 4, 2, 4),
    lambda d: (d.normal(5, 5), 0, 4, 3, 6),
    lambda d: (d.normal(3, 3), 0, 0, 2, 4),
)
def beam_search(scores, start, end, width, longest):
    """The likeliest ways from `start` to `end` of at most `longest` tokens."""
    log_probs = scores.log_softmax(-1)
    beams = [([start], tx.zeros((), dtype=scores.dtype))]
    finished = []
    for _ in range(longest):
        candidates = []
        for tokens, score in beams:
            top, which = log_probs[tokens[-1]].topk(width)
            for p, k in zip(top, which):
                candidates.append((tokens + [int(k)], score + p))
        candidates.sort(key=lambda c: -float(c[1]))
        beams = []
        for tokens, score in candidates[:width]:
            if tokens[-1] == end:
                finished.append((tokens, score / len(tokens)))
            else:
                beams.append((tokens, score))
        if not beams:
            break
    if not finished:
        finished = beams
    return max(finished, key=lambda c: float(c[1]))


def _letters(word):
    return tx.tensor([ord(c) for c in word])


@case(
    lambda d: (_letters("kitten"), _letters("sitting")),
    lambda d: (_letters("abc"), _letters("abc")),
    lambda d: (_letters("sunday"), _letters("saturday")),
    answers=[3, 0, 3],
)
def levenshtein(a, b):
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            if x == y:
                current.append(previous[j - 1])
            else:
                current.append(1 + min(previous[j], current[j - 1], previous[j - 1]))
        previous = current
    return previous[-1]


@case(
    lambda d: (t([1.0, 2.0, 3.0]), t([1.0, 2.2, 2.1, 3.0])),
    lambda d: (t([0.0, 1.0]), t([5.0, 5.5, 7.0])),
    grad=(0, 1),
)
def dynamic_time_warping(a, b):
    n, m = len(a), len(b)
    big = tx.tensor(math.inf, dtype=a.dtype)
    cost = [[big for _ in range(m + 1)] for _ in range(n + 1)]
    cost[0][0] = a.new_zeros(())
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            step = cost[i - 1][j - 1]
            if cost[i - 1][j] < step:
                step = cost[i - 1][j]
            if cost[i][j - 1] < step:
                step = cost[i][j - 1]
            cost[i][j] = (a[i - 1] - b[j - 1]).abs() + step
    return cost[n][m]


@case(
    lambda d: (tx.tensor([1, 2, 3]),),
    lambda d: (tx.tensor([5, -5, 1, 1, 0, 2, 2, 9]),),
    check=lambda r, x: bool((r == x.cumsum(0)).all()),
)
def prefix_sums_by_doubling(x):
    shift = 1
    while shift < x.shape[0]:
        padded = tx.cat([tx.zeros(shift, dtype=x.dtype), x[:-shift]])
        x = x + padded
        shift *= 2
    return x


@case(
    lambda d: (t([4.0, 1.0, 3.0, 2.0]),),
    lambda d: (t([8.0, 3.0, 5.0, 1.0, 7.0, 2.0, 6.0, 4.0]),),
    grad=(0,),
    check=lambda r, x: np.array_equal(r.numpy(force=True), np.sort(x.numpy())),
)
def bitonic_sort(x):
    n = len(x)
    index = tx.arange(n)
    size = 2
    while size <= n:
        stride = size // 2
        while stride > 0:
            partner = index ^ stride
            ascending = (index & size) == 0
            smaller = tx.minimum(x, x[partner])
            larger = tx.maximum(x, x[partner])
            x = tx.where((index < partner) == ascending, smaller, larger)
            stride //= 2
        size *= 2
    return x


@case(
    lambda d: (tx.tensor([1, 3, 5, 7, 9, 11]), 7),
    lambda d: (tx.tensor([1, 3, 5, 7, 9, 11]), 4),
    lambda d: (tx.tensor([2]), 5),
    answers=[(3, True), (2, False), (1, False)],
)
def binary_search(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        value = items[middle]
        if value == wanted:
            return middle, True
        elif value < wanted:
            low = middle + 1
        else:
            high = middle
    return low, False


@case(
    lambda d: (d.normal(8),),
    lambda d: (d.normal(2),),
    lambda d: (d.normal(16),),
    check=lambda r, x: np.allclose(
        r[0].numpy(force=True) + 1j * r[1].numpy(force=True), np.fft.fft(x.numpy())
    ),
    grad=(0,),
)
def fft_by_recursion(x):
    def transform(re, im):
        n = len(re)
        if n == 1:
            return re, im
        even_re, even_im = transform(re[::2], im[::2])
        odd_re, odd_im = transform(re[1::2], im[1::2])
        angle = -2 * math.pi * tx.arange(n // 2, dtype=re.dtype) / n
        c, s = angle.cos(), angle.sin()
        tw_re, tw_im = c * odd_re - s * odd_im, c * odd_im + s * odd_re
        return (
            tx.cat([even_re + tw_re, even_re - tw_re]),
            tx.cat([even_im + tw_im, even_im - tw_im]),
        )

    return transform(x, tx.zeros_like(x))


@case(
    lambda d: (20,),
    lambda d: (50,),
    answers=[
        [2, 3, 5, 7, 11, 13, 17, 19],
        [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47],
    ],
)
def sieve(limit):
    prime = tx.ones(limit, dtype=tx.bool)
    prime[:2] = False
    p = 2
    while p * p < limit:
        if prime[p]:
            prime[p * p :: p] = False
        p += 1
    return prime.nonzero().flatten()


@case(
    lambda d: (t([-2.0, 1.0, -3.0, 4.0, -1.0, 2.0, 1.0, -5.0, 4.0]),),
    lambda d: (t([-3.0, -1.0, -2.0]),),
    answers=[(6.0, 3, 7), (-1.0, 1, 2)],
    grad=(0,),
)
def kadane(x):
    """The largest sum of neighbours, and where it begins and ends."""
    best, best_range = x[0], (0, 1)
    current, start = x[0], 0
    for i in range(1, len(x)):
        if current < 0:
            current, start = x[i], i
        else:
            current = current + x[i]
        if current > best:
            best, best_range = current, (start, i + 1)
    return best, *best_range


@case(
    lambda d: (tx.tensor([10, 9, 2, 5, 3, 7, 101, 18]),),
    lambda d: (tx.tensor([3, 2, 1]),),
    answers=[4, 1],
)
def longest_increasing_subsequence(x):
    lengths = []
    for i in range(len(x)):
        best = 0
        for j in range(i):
            if x[j] < x[i] and lengths[j] > best:
                best = lengths[j]
        lengths.append(best + 1)
    return max(lengths)


@case(
    lambda d: (tx.tensor([2, 3, 4]), t([3.0, 4.0, 5.0]), 5),
    lambda d: (tx.tensor([1, 8]), t([1.0, 50.0]), 7),
    answers=[7.0, 1.0],
    grad=(1,),
)
def knapsack(weights, values, capacity):
    best = [tx.zeros((), dtype=values.dtype)] * (capacity + 1)
    for w, v in zip(weights.tolist(), values):
        for room in range(capacity, w - 1, -1):
            candidate = best[room - w] + v
            if candidate > best[room]:
                best[room] = candidate
    return best[capacity]


@case(
    lambda d: (tx.tensor([1, 1, 2, 3, 3, 3]),),
    lambda d: (tx.tensor([4]),),
    answers=[([1, 2, 3], [2, 1, 3]), ([4], [1])],
)
def run_length_encoding(x):
    values, counts = [], []
    for v in x:
        if values and values[-1] == v:
            counts[-1] += 1
        else:
            values.append(v)
            counts.append(1)
    return values, counts


@case(
    lambda d: (t([1.0, 3.0, 5.0]), t([2.0, 4.0])),
    lambda d: (t([5.0]), t([1.0, 2.0, 3.0])),
    grad=(0, 1),
    answers=[[1, 2, 3, 4, 5], [1, 2, 3, 5]],
)
def merge_sorted(a, b):
    i = j = 0
    merged = []
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            merged.append(a[i])
            i += 1
        else:
            merged.append(b[j])
            j += 1
    merged.extend(a[i:])
    merged.extend(b[j:])
    return tx.stack(merged)


@case(
    lambda d: (d.normal(4, 3), tx.tensor([0, 1])),
    lambda d: (d.normal(6, 3), tx.tensor([0, 1, 1])),
    grad=(0,),
)
def ctc_forward(scores, labels):
    """Minus the log-probability of the labels; the last class is the blank."""
    log_probs = scores.log_softmax(1)
    blank = scores.shape[1] - 1
    extended = [blank]
    for label in labels.tolist():
        extended += [label, blank]
    nothing = tx.tensor(-1e30, dtype=scores.dtype)
    alpha = [nothing for _ in extended]
    alpha[0] = log_probs[0, blank]
    alpha[1] = log_probs[0, extended[1]]
    for frame in log_probs[1:]:
        new = []
        for s, label in enumerate(extended):
            ways = [alpha[s]]
            if s >= 1:
                ways.append(alpha[s - 1])
            if s >= 2 and label != blank and label != extended[s - 2]:
                ways.append(alpha[s - 2])
            new.append(tx.logsumexp(tx.stack(ways), 0) + frame[label])
        alpha = new
    return -tx.logaddexp(alpha[-1], alpha[-2])
