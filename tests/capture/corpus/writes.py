"""Writes into tensors: through views, slices, masks and indices, in loops and branches."""

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(lambda d: (d.normal(5),), lambda d: (d.normal(5) * 9,), lambda d: (d.normal(8),), grad=(0,))
def saturate_by_mask(x):
    y = x.clone()
    y[y > 2] = 2.0
    y[y < -2] = -2.0
    for v in y:
        if v.abs() == 2:
            y = y * 0.5
    return y


@case(
    lambda d: (d.normal(3, 4), 1.0),
    lambda d: (d.normal(3, 4), -5.0),
    lambda d: (d.normal(2, 2), -9.0),
    grad=(0,),
)
def rows_below_a_mean(m, limit):
    out = m * 1
    means = m.mean(1)
    if (means < limit).any():
        out[means < limit] = out[means < limit] * 3 + 1
    out[..., 0] += m.shape[1]
    return out


@case(lambda d: (d.normal(4, 4),), lambda d: (d.normal(5, 5),), grad=(0,))
def border_and_inside(image):
    framed = tx.zeros_like(image)
    framed[1:-1, 1:-1] = image[1:-1, 1:-1] * 2
    framed[0] = image[0]
    framed[:, -1] = image[:, 0]
    n = 0
    while n < len(image):
        framed[n, n] = framed[n, n] + n
        n += 1
    return framed


@case(lambda d: (d.normal(6),), lambda d: (d.normal(9),), lambda d: (d.normal(1),), grad=(0,))
def running_sum_in_place(x):
    total = x.clone()
    for i in range(1, len(total)):
        total[i] += total[i - 1] * 0.5
    return total


@case(lambda d: (d.normal(3, 3),), lambda d: (d.normal(3, 3).T - 3,), grad=(0,))
def symmetric_by_a_view(m):
    a = m.clone()
    mirrored = a.transpose(0, 1)
    if a.trace() > -4:
        a += m.T
    else:
        mirrored[0, 2] = a[0, 2] * 2
    a.diagonal().fill_(1.0)
    return mirrored @ a


@case(
    lambda d: (d.normal(2, 3), [0, 2]),
    lambda d: (d.normal(2, 3), [1]),
    lambda d: (d.normal(2, 5), [4, 0, 3]),
    grad=(0,),
)
def zero_some_columns(m, columns):
    m = m.clone()
    for c in columns:
        m[:, c] = 0
    return m.sum(1) / (m.size(1) - len(columns))


@case(lambda d: (d.normal(4),), lambda d: (d.normal(7),), grad=(0,))
def reverse_by_swaps(x):
    y = x + 0
    i, j = 0, len(y) - 1
    while i < j:
        y[i], y[j] = y[j].clone(), y[i].clone()
        i, j = i + 1, j - 1
    return y * tx.arange(len(y))


@case(
    lambda d: (d.normal(5), tx.tensor([0, 1, 0, 2, 1]), 3),
    lambda d: (d.normal(2), tx.tensor([4, 4]), 5),
    grad=(0,),
)
def scatter_by_a_loop(values, places, size):
    sums = tx.zeros(size, dtype=values.dtype)
    for place, value in zip(places, values):
        sums[place] += value * value
    again = tx.zeros(size, dtype=values.dtype).index_add(0, places, values * values)
    return sums, sums - again


@case(
    lambda d: (d.normal(3), True),
    lambda d: (d.normal(3), False),
    grad=(0,),
)
def copy_or_view(x, copy):
    base = tx.stack([x, x * 2])
    part = base[0].clone() if copy else base[0]
    part *= 10
    return base.sum(0)


@case(
    lambda d: (d.normal(2, 3),),
    lambda d: (d.normal(4, 3),),
    lambda d: (d.normal(4, 1),),
    mutates=True,
)
def normalise_the_argument(batch):
    for row in batch:
        row -= row.mean()
        spread = row.abs().max()
        if spread > 0:
            row /= spread
    return None


@case(
    lambda d: (d.normal(6), 2), lambda d: (d.normal(12), 3), lambda d: (d.normal(6), 6), grad=(0,)
)
def blocks_of_a_view(x, size):
    y = x.clone()
    blocks = y.view(-1, size)  # (blocks, size)
    for k, block in enumerate(blocks):
        if block[0] > block[-1]:
            block.neg_()
        else:
            blocks[k, 0] = k
    return y


@case(
    lambda d: (d.uniform(3, 3, low=0.1), 2),
    lambda d: (d.uniform(3, 3, low=0.1), 5),
    grad=(0,),
)
def triangle_filled_by_loops(seed, n):
    """Each entry from those above and to the left, as in Pascal's triangle."""
    table = tx.zeros(n, n, dtype=seed.dtype)
    for i in range(n):
        for j in range(n):
            if i == 0 or j == 0:
                table[i, j] = seed[i % 3, j % 3]
            elif i < j:
                continue
            else:
                table[i, j] = table[i - 1, j] + table[i, j - 1] - table[i - 1, j - 1] * 0.5
    return table


@case(
    lambda d: (d.normal(4), 0.0),
    lambda d: (d.normal(4), 0.9),
    lambda d: (d.normal(4) + 5, 0.9),
    grad=(0,),
)
def chain_of_in_place_operators(x, momentum):
    y = x.clone()
    if momentum:
        y.mul_(momentum).add_(x, alpha=1 - momentum)
    y.clamp_(max=3.0)
    if (y == 3).all():
        y.zero_()
    return y.sub_(0.25).square_()


@case(
    lambda d: (d.normal(2, 2), 2),
    lambda d: (d.normal(2, 2), 0),
    lambda d: (d.normal(3, 2), 4),
    grad=(0,),
)
def grown_by_concatenation(x, times):
    for i in range(times):
        x = tx.cat([x, x[-1:] * 0.5], dim=0)
        if len(x) > 5:
            x = x[1:]
    return x[None, ..., :]


@case(
    lambda d: (t([1.0, 2.0, 3.0]), tx.tensor([True, False, True])),
    lambda d: (t([1.0, 2.0, 3.0]), tx.tensor([False, False, False])),
    lambda d: (t([1.0, 2.0, 3.0]), tx.tensor([True, True, True])),
    grad=(0,),
    answers=[[1, 0, 3], [-1, -2, -3], [6, 12, 18]],
)
def kept_by_mask(x, keep):
    out = tx.zeros_like(x)
    out[keep] = x[keep]
    if keep.all():
        out *= keep.sum() * 2
    elif not keep.any():
        out -= x
    return out


@case(
    lambda d: (d.normal(3, 2), d.normal(3, 2)),
    lambda d: (d.normal(3, 2), d.normal(3, 2) + 9),
    grad=(0, 1),
)
def best_so_far(values, news):
    best = values.clone()
    improved = news > best
    best[improved] = news[improved]
    if improved.all():
        best[0, :] = best[0].flip(0)
    changed = tx.zeros(len(best), dtype=tx.bool)
    changed |= improved.any(1)
    return best, changed
