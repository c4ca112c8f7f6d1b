"""Small programs: modules with state, algorithms on strings of numbers, training by hand, recursion over structures."""

import collections

import thixo as tx
from tests.capture.corpus.registry import t
from tests.capture.unseen.table import unseen


@unseen(
    lambda d: (d.normal(5, 4),), lambda d: (d.normal(2, 4),), grad=(0,), build=lambda cls: cls()
)
class GatedBlock(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.gate = tx.nn.Linear(4, 6), tx.nn.Linear(4, 6)
        self.down = tx.nn.Sequential(tx.nn.LayerNorm(6), tx.nn.Linear(6, 4))
        self.skip = True

    def forward(self, x):
        y = self.down(self.up(x) * tx.sigmoid(self.gate(x)))
        return x + y if self.skip else y


@unseen(
    lambda d: (d.normal(6, 3),),
    lambda d: (d.normal(3, 3) * 9,),
    build=lambda cls: cls(),
    mutates=True,
)
class RunningScale(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", tx.ones(3))
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        if self.training:
            self.scale.mul_(0.9).add_(x.abs().mean(0), alpha=0.1)
        return x / self.scale


@unseen(
    lambda d: (d.normal(4, 3),), lambda d: (d.normal(4, 3) * 5,), grad=(0,), build=lambda cls: cls()
)
class EarlyExit(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = tx.nn.ModuleList(tx.nn.Linear(3, 3) for _ in range(4))

    def forward(self, x):
        for depth, layer in enumerate(self.layers):
            x = tx.tanh(layer(x))
            if x.abs().max() < 0.6:
                return x, depth
        return x, len(self.layers)


@unseen(
    lambda d: (d.normal(3, 4),), lambda d: (d.normal(5, 4),), grad=(0,), build=lambda cls: cls()
)
class Experts(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = tx.nn.ModuleDict({n: tx.nn.Linear(4, 2) for n in ("a", "b", "c")})
        self.router = tx.nn.Linear(4, 3)

    def forward(self, x):
        share = tx.softmax(self.router(x), -1)
        made = [expert(x) * share[:, i : i + 1] for i, expert in enumerate(self.experts.values())]
        return sum(made[1:], made[0])


def depth_of(tree):
    return 1 + max(map(depth_of, tree)) if isinstance(tree, tuple) else 0


def folded(tree, f):
    if isinstance(tree, tuple):
        left, right = tree
        return f(folded(left, f), folded(right, f))
    return tree


@unseen(
    lambda d: ((d.normal(2), (d.normal(2), d.normal(2))),),
    lambda d: (((d.normal(2), d.normal(2)), (d.normal(2), (d.normal(2), d.normal(2)))),),
    grad=(0,),
)
def tree_of_tensors(tree):
    return folded(tree, lambda a, b: a + b if (a > b).any() else a * b), depth_of(tree)


@unseen(lambda d: (d.ints(0, 5, 7), d.ints(0, 5, 6)), lambda d: (d.ints(0, 3, 2), d.ints(0, 3, 9)))
def longest_common_subsequence(a, b):
    table = tx.zeros(len(a) + 1, len(b) + 1, dtype=tx.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = tx.maximum(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


@unseen(lambda d: (d.normal(8, 3), d.normal(8), 5), lambda d: (d.normal(4, 2), d.normal(4), 2))
def least_squares_by_gradients(a, y, steps):
    w = tx.zeros(a.shape[1], dtype=a.dtype)
    best = None
    for step in range(steps):
        residual = a @ w - y
        loss = (residual * residual).mean()
        if best is None or loss < best:
            best = loss
        w = w - 0.1 / (1 + step) * 2 * a.T @ residual / len(y)
    return w, best


@unseen(lambda d: (d.normal(6, 2), d.normal(2, 2)), lambda d: (d.normal(9, 2), d.normal(2, 2)))
def k_means(points, centers):
    for _ in range(3):
        distance = ((points[:, None] - centers[None]) ** 2).sum(-1)
        nearest = distance.argmin(1)
        new = []
        for k in range(centers.shape[0]):
            mine = (nearest == k).to(points.dtype)
            count = mine.sum()
            new.append((points * mine[:, None]).sum(0) / count if count > 0 else centers[k])
        centers = tx.stack(new)
    return centers, nearest


@unseen(lambda d: (d.normal(4), 3), lambda d: (d.normal(2), 1), random=True)
def noise_in_a_loop(x, n):
    for i in range(n):
        x = x + tx.randn(x.shape[0], dtype=x.dtype) / (i + 1)
        if x.sum() > 0:
            x = tx.nn.functional.dropout(x, 0.5)
    return x


@unseen(lambda d: (d.normal(5), d.normal(5)), lambda d: (d.normal(3), d.normal(3)), grad=(0, 1))
def bounded_history(x, y):
    last = collections.deque(maxlen=3)
    counts = collections.Counter()
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        last.append(a * b)
        counts["even" if i % 2 == 0 else "odd"] += 1
    return sum(last), dict(counts)


@unseen(lambda d: (d.normal(3),), lambda d: (d.normal(6),), grad=(0,))
def generator_of_parts(x):
    def halves(v):
        while len(v) > 1:
            middle = len(v) // 2
            yield v[:middle].sum()
            v = v[middle:]
        yield v[0]

    return tx.stack(list(halves(x)))


@unseen(
    lambda d: (d.normal(4, 4), d.normal(4)), lambda d: (d.normal(2, 2), d.normal(2)), grad=(0, 1)
)
def gaussian_elimination(a, b):
    n = len(b)
    rows = [tx.cat([a[i], b[i : i + 1]]) for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            if rows[j][i].abs() > rows[i][i].abs():
                rows[i], rows[j] = rows[j], rows[i]
        rows[i] = rows[i] / rows[i][i]
        for j in range(n):
            if j != i:
                rows[j] = rows[j] - rows[j][i] * rows[i]
    return tx.stack([r[-1] for r in rows])


@unseen(
    lambda d: (t([3.0, 4.0]),), lambda d: (t([0.0, 0.0]),), lambda d: (t([-1e3, 1.0]),), grad=(0,)
)
def clipped_like_an_optimizer(g):
    norm = (g * g).sum().sqrt()
    factor = 1.0 / (norm + 1e-6)
    if factor < 1:
        g = g * factor
    return g, bool(norm > 1)


@unseen(lambda d: (d.normal(5, 5),), lambda d: (d.normal(3, 3),))
def game_of_life_step(x):
    alive = (x > 0).to(tx.int64)
    padded = tx.zeros(x.shape[0] + 2, x.shape[1] + 2, dtype=tx.int64)
    padded[1:-1, 1:-1] = alive
    around = sum(
        padded[1 + i : padded.shape[0] - 1 + i, 1 + j : padded.shape[1] - 1 + j]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    )
    return ((around == 3) | ((around == 2) & (alive == 1))).to(tx.int64)


@unseen(lambda d: (t([1.0, 2.0, 4.0]), t([0.0, 1.0, 1.0])), lambda d: (t([5.0]), t([3.0])))
def weighted_median(values, weights):
    order = tx.argsort(values)
    total, half = 0.0, weights.sum() / 2
    for k in order:
        total = total + weights[k]
        if total >= half:
            return values[k]
    return values[-1]
