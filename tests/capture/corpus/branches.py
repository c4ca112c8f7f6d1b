"""Branches that depend on values: if, elif, else, early returns, ternaries, and, or, not."""

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(lambda d: (t([1.0, 2.0]),), lambda d: (t([-1.0, -2.0]),), grad=(0,), answers=[[2, 4], [1, 4]])
def double_or_square(x):
    if x.sum() > 0:
        return x * 2
    else:
        return x * x


@case(
    lambda d: (d.uniform(4, low=2.0, high=3.0),),
    lambda d: (d.uniform(4, low=0.2, high=0.8),),
    lambda d: (d.uniform(4, low=-0.8, high=-0.2),),
    lambda d: (d.uniform(4, low=-3.0, high=-2.0),),
    grad=(0,),
)
def four_regimes(x):
    m = x.mean()
    if m > 1:
        y = tx.log(x)
    elif m > 0:
        y = x**3
    elif m > -1:
        y = tx.sin(x) * 0.5
    else:
        y = tx.exp(x)
    return y + m


@case(
    lambda d: (d.uniform(3, low=0.5), d.uniform(3, low=0.5)),
    lambda d: (d.uniform(3, low=0.5), -d.uniform(3, low=0.5)),
    lambda d: (-d.uniform(3, low=0.5), d.uniform(3, low=0.5)),
    lambda d: (-d.uniform(3, low=0.5), -d.uniform(3, low=0.5)),
    grad=(0, 1),
)
def quadrant(a, b):
    if a.sum() > 0:
        if b.sum() > 0:
            out = a * b
        else:
            out = a - b
    else:
        if b.sum() > 0:
            out = b / (1 + a * a)
        else:
            out = a + b
            out = out * out
    return out


@case(
    lambda d: (t([0.5, 0.5]),),
    lambda d: (t([5.0, 1.0]),),
    lambda d: (t([2.0, 50.0]),),
    lambda d: (t([-3.0, 1.0]),),
    answers=[[0.5, 0.5], [2.5, 0.5], [0.2, 5], [0, 1]],
    grad=(0,),
)
def early_returns(x):
    if (x < 0).any():
        return tx.relu(x)
    norm = x.sum()
    if norm < 2:
        return x
    if norm < 10:
        return x / 2
    return x / 10


@case(
    lambda d: (t(3.0), t(4.0)),
    lambda d: (t(4.0), t(3.0)),
    grad=(0, 1),
    answers=[1.0, 1.0],
)
def absolute_difference(a, b):
    return a - b if a > b else b - a


@case(
    lambda d: (t(-0.5),),
    lambda d: (t(0.4),),
    lambda d: (t(1.5),),
    grad=(0,),
    answers=[0.0, 0.4, 1.0],
)
def clamp_by_ternaries(v):
    zero = tx.zeros((), dtype=v.dtype)
    return zero if v < 0 else (v if v <= 1 else tx.ones_like(v))


@case(
    lambda d: (t([0.1, 0.2, 0.3]), 0.0, 1.0),
    lambda d: (t([0.1, 2.0, 0.3]), 0.0, 1.0),
    lambda d: (t([-0.1, 0.2, 0.3]), 0.0, 1.0),
    grad=(0,),
)
def inside_interval(x, low, high):
    if low <= x.min() and x.max() <= high:
        return x.prod()
    if low < x.mean() < high:
        return x.sum() * 10
    return -x.sum()


@case(
    lambda d: (t(0.5), t(0.5)),
    lambda d: (t(0.5), t(-0.5)),
    lambda d: (t(-0.5), t(0.5)),
    lambda d: (t(-0.5), t(-0.25)),
)
def logic_words(p, q):
    first = p > 0
    second = q > 0
    score = 0
    if first and second:
        score = score + 1
    if first or second:
        score = score + 10
    if not first:
        score = score + 100
    if first and not second or q < p:
        score = score + 1000
    return score


@case(
    lambda d: (t([0.0, 1.0]), t([3.0, 4.0])),
    lambda d: (t([0.0, 0.0]), t([3.0, 4.0])),
    grad=(0, 1),
)
def value_of_or(weights, fallback):
    chosen = weights if (weights > 0.5).any() else fallback
    return chosen / chosen.sum()


@case(
    lambda d: (t([2.0, -1.0, 4.0]),),
    lambda d: (t([-2.0, -1.0, -4.0]),),
    lambda d: (t([-2.0, 7.0, 9.0]),),
    grad=(0,),
)
def first_positive(x):
    if x[0] > 0:
        found = x[0]
    elif x[1] > 0:
        found = x[1]
    elif x[2] > 0:
        found = x[2]
    else:
        found = x.sum() * 0
    return found * 3.0


@case(
    lambda d: (t([[1.0, 2.0], [3.0, 4.0]]),),
    lambda d: (t([[1.0, 2.0], [2.0, 4.0]]),),
    grad=(0,),
    answers=[[[-2, 1], [1.5, -0.5]], [[0.04, 0.08], [0.08, 0.16]]],
)
def inverse_or_pseudoinverse(m):
    det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    if det.abs() > 1e-3:
        adjugate = tx.stack([tx.stack([m[1, 1], -m[0, 1]]), tx.stack([-m[1, 0], m[0, 0]])])
        return adjugate / det
    # Of rank one: the transpose over the squared Frobenius norm.
    return m.T / (m * m).sum()


@case(
    lambda d: (t(1.0), t(-3.0), t(2.0)),
    lambda d: (t(1.0), t(2.0), t(5.0)),
    lambda d: (t(1.0), t(-2.0), t(1.0)),
    lambda d: (t(0.0), t(2.0), t(-1.0)),
    answers=[(2, [1, 2]), (0, [-1, 2]), (1, [1, 1]), (1, [0.5, 0.5])],
)
def quadratic_roots(a, b, c):
    """The roots, or real and imaginary part where they are complex, and how many are real."""
    if a == 0:
        root = -c / b
        return 1, tx.stack([root, root])
    disc = b * b - 4 * a * c
    if disc == 0:
        root = -b / (2 * a)
        return 1, tx.stack([root, root])
    if disc > 0:
        s = disc.sqrt()
        return 2, tx.stack([(-b - s) / (2 * a), (-b + s) / (2 * a)])
    return 0, tx.stack([-b / (2 * a), (-disc).sqrt() / (2 * a)])


@case(
    lambda d: (t([1.0, 1.2, 1.1]), 0.5),
    lambda d: (t([1.0, 9.0, 1.0]), 0.5),
    grad=(0,),
)
def normalise_when_skewed(x, limit):
    share = x.max() / x.sum()
    if share > limit:
        x = x.sqrt()
        x = x / x.sum()
    return x * share


@case(
    lambda d: (t([3.0, 1.0, 2.0]),),
    lambda d: (t([1.0, 2.0, 3.0]),),
    lambda d: (t([3.0, 2.0, 1.0]),),
    grad=(0,),
    answers=[[1, 2, 3], [1, 2, 3], [1, 2, 3]],
)
def sort_three(x):
    a, b, c = x[0], x[1], x[2]
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return tx.stack((a, b, c))


@case(
    lambda d: (t([0.0, 3.0]), t([4.0, 0.0])),
    lambda d: (t([1.0, 1.0]), t([1.0, 1.0])),
    grad=(),
    answers=["far", "same"],
)
def name_of_distance(a, b):
    gap = tx.linalg.norm(a - b)
    if gap == 0:
        return "same"
    if gap < 1:
        return "near"
    return "far"


@case(
    lambda d: (t([1.0, -2.0]), True),
    lambda d: (t([1.0, -2.0]), False),
    lambda d: (t([-1.0, -2.0]), True),
    grad=(0,),
)
def branch_then_same_tail(x, negate):
    scale = tx.tensor(1.0, dtype=tx.float64)
    offset = 0.0
    if negate:
        scale = -scale
    if (x > 0).any():
        offset = x.max()
        scale = scale * 2
    return x * scale + offset


@case(
    lambda d: (t(0.3), t(0.7)),
    lambda d: (t(1.3), t(0.7)),
    lambda d: (t(0.9), t(0.7)),
    grad=(0, 1),
)
def piecewise_energy(r, cutoff):
    """A spring inside the cutoff, its tangent outside, nothing beyond twice that."""

    def spring(v):
        return 0.5 * v * v

    if r <= cutoff:
        return spring(r)
    inside = spring(cutoff)
    if r >= 1.5 * cutoff:
        return inside * 2
    return inside + cutoff * (r - cutoff)


@case(
    lambda d: (tx.tensor([True, False]), t([1.0, 2.0])),
    lambda d: (tx.tensor([True, True]), t([1.0, 2.0])),
    lambda d: (tx.tensor([False, False]), t([1.0, 2.0])),
    grad=(1,),
    answers=[[1, -2], [2, 3], [0, 0]],
)
def all_any_none(mask, x):
    if mask.all():
        y = x + 1
    elif mask.any():
        y = tx.where(mask, x, -x)
    else:
        y = x * 0
    return y
