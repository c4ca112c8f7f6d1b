"""Choices: chained comparisons, names set on one side, Python's and tensors' truth mixed, membership."""

import math

import thixo as tx
from tests.capture.corpus.registry import call, case, t


@case(
    lambda d: (t(15.0),),
    lambda d: (t(-5.0),),
    lambda d: (t(28.0),),
    lambda d: (t(41.0),),
    grad=(0,),
)
def comfort(celsius):
    if 10 <= celsius < 25:
        score = 1 - ((celsius - 18) / 10) ** 2
    elif 0 < celsius < 10 or 25 <= celsius <= 35:
        score = 0.5 - (celsius - 18).abs() / 100
    else:
        score = -celsius.abs()
    return score


@case(
    lambda d: (t(1.0), t(2.0), t(3.0)),
    lambda d: (t(3.0), t(2.0), t(1.0)),
    lambda d: (t(1.0), t(3.0), t(2.0)),
    grad=(0, 1, 2),
)
def monotone(a, b, c):
    if a < b < c:
        return c - a
    if a > b > c:
        return a - c
    return b * (0 < a != c)


@case(
    lambda d: (t([0.3, 0.4]), t(1.0)),
    lambda d: (t([3.0, 4.0]), t(1.0)),
    lambda d: (t([3.0, -4.0]), t(-1.0)),
    grad=(0, 1),
)
def set_on_one_side(x, limit):
    too_long = x.norm() > limit
    if too_long:
        excess = x.norm() - limit
        shrink = limit / x.norm()
    y = x * 2
    if too_long and limit > 0:
        y = y * shrink
    if too_long:
        y = y - excess
    return y


@case(
    lambda d: (d.normal(3) * 0.1, None),
    lambda d: (d.normal(3) * 0.1, d.uniform(3)),
    lambda d: (d.uniform(3, low=2.0, high=3.0), None),
    lambda d: (d.normal(3) * 9, d.uniform(3)),
    grad=(0,),
)
def optional_mask(scores, keep):
    have = keep is not None
    if have and (keep > 0.5).any():
        scores = scores.masked_fill(keep < 0.5, -1e3)
    top = scores.max()
    return scores if not have and top < 1 else scores - top


@case(
    lambda d: (t([1.0, 2.0, 3.0]),),
    lambda d: (t([1.0, -2.0, 3.0]),),
    lambda d: (t([-1.0, -2.0]),),
    grad=(0,),
)
def all_or_any_of_them(x):
    if all(v > 0 for v in x):
        return x.log().sum()
    if any(v > 0 for v in x):
        return x[x > 0].sum()
    return -x.prod()


@case(
    lambda d: ([d.normal(2), d.normal(2)],),
    lambda d: ([d.normal(2), d.normal(3)],),
    lambda d: ([d.normal(1)],),
    grad=(0,),
)
def agree_in_size(parts):
    same = all(p.shape == parts[0].shape for p in parts[1:])
    if same and len(parts) > 1:
        return sum(parts)
    elif not same:
        return tx.cat(parts)
    return parts[0] * 10


@case(
    lambda d: (t([0.2, 0.9]), 1),
    lambda d: (t([0.9, 0.2]), 1),
    lambda d: (t([0.4, 0.2]), 0),
    grad=(0,),
)
def label_and_prediction(p, label):
    guess = p.argmax()
    right = guess == label
    certain = p.max() > 0.5
    if right and certain:
        return p[label] * 0.1
    if not right and certain:
        return -(1 - p[guess]).log() * 2
    return -p[label].log()


@case(
    lambda d: (t(0.4), t(1.0)),
    lambda d: (t(2.4), t(1.0)),
    lambda d: (t(2.4), t(-1.0)),
    lambda d: (t(-2.4), t(-1.0)),
    grad=(0, 1),
)
def deep_decision_tree(a, b):
    if a > 0:
        if a > 1:
            if b > 0:
                leaf = a * b
            else:
                leaf = a / b
        else:
            leaf = a + b
        weight = 2.0
    else:
        if b < 0:
            if a < b:
                leaf = b - a
                if leaf > 1:
                    leaf = leaf.sqrt()
            else:
                leaf = a - b
        else:
            leaf = b
        weight = 0.5
    return leaf * weight


@case(
    lambda d: (t([3.0, 4.0]), "euclid"),
    lambda d: (t([3.0, -4.0]), "manhattan"),
    lambda d: (t([3.0, 4.0]), 3),
    lambda d: (t([3.0, 4.0]), math.inf),
    answers=[5.0, 7.0, 91 ** (1 / 3), 4.0],
    grad=(0,),
)
def norm_of_a_kind(x, kind):
    if kind in ("euclid", "l2"):
        p = 2
    elif kind in {"manhattan", "l1"}:
        p = 1
    elif isinstance(kind, str):
        raise ValueError(f"unknown norm {kind!r}")
    else:
        p = kind
    if p == math.inf:
        return x.abs().max()
    return x.abs().pow(p).sum() ** (1 / p)


@case(
    lambda d: (t(0.5), t(0.8)),
    lambda d: (t(-0.5), t(0.8)),
    lambda d: (t(0.0), t(0.8)),
    grad=(1,),
)
def words_that_give_values(a, b):
    """`and` and `or` give one of their operands, not a truth value."""
    first = a and b
    second = a or b
    return first * 3 + second + (a > 0 and b > 0) + (not a)


@case(
    lambda d: (t([1.5, 5.0, 2.0]), t([1.0, 1.0, 1.0])),
    lambda d: (t([1.0, 10.0, 2.0]), t([1.3, 9.0, 1.0])),
    lambda d: (t([1.0, 0.5, 2.0]), t([1.1, 0.9, 3.0])),
    grad=(0, 1),
)
def xor_of_votes(a, b):
    votes = 0
    for x, y in zip(a, b):
        if (x > y) ^ (y > 5):
            votes += 1
    winner = a if votes >= 2 else b
    return winner * votes


@case(
    lambda d: (d.normal(4),),
    lambda d: (d.normal(4) * tx.nan,),
    lambda d: (tx.stack([t(tx.inf), t(1.0), t(-2.0), t(tx.nan)]),),
    grad=(0,),
)
def cleaned(x):
    bad = ~tx.isfinite(x)
    if not bad.any():
        return x - x.mean()
    if bad.all():
        return tx.zeros_like(x)
    good = x[~bad]
    return tx.where(bad, good.mean(), x)


@case(
    lambda d: call(d.normal(2, 3)),
    lambda d: call(d.normal(2, 3), keepdim=True),
    lambda d: call(d.normal(2, 3) * 0, eps=1.0),
    grad=(0,),
)
def safe_normalise(x, *, keepdim=False, eps=0.0):
    length = (x * x).sum(-1, keepdim=True)
    if (length < 1e-8).any():
        assert eps > 0, "a row of zeros needs eps"
        length = length + eps
    y = x / length
    return (y, length.sqrt()) if keepdim else y


@case(
    lambda d: (t([2.0, 1.0]),),
    lambda d: (t([1.0, 2.0]),),
    lambda d: (t([1.5, 1.5]),),
)
def compare_as_text(x):
    a, b = x
    order = "<" if a < b else ">" if a > b else "="
    answer = f"{float(a):.2f} {order} {float(b):.2f}"
    if order != "=":
        answer += f" by {abs(float(a - b)):.1%}"
    return answer, len(answer)


@case(
    lambda d: (t(3.0), t(0.5)),
    lambda d: (t(0.1), t(0.5)),
    lambda d: (t(-3.0), t(0.5)),
    grad=(0,),
    answers=[2.5, 0.0, -2.5],
)
def shrink(v, amount):
    sign = 1 if v > 0 else -1
    return sign * (v.abs() - amount) if v.abs() > amount else v * 0


@case(
    lambda d: (d.normal(3), 1e-3, 3),
    lambda d: (d.normal(3), 1e3, 3),
    lambda d: (d.normal(3), 1e-3, 0),
    grad=(0,),
)
def why_it_stopped(x, tolerance, limit):
    reason = "limit"
    count = 0
    while True:
        if count == limit:
            break
        step = 0.5 * x.sin()
        x = x - step
        count += 1
        if step.abs().max() < tolerance:
            reason = "converged"
            break
    return x, reason, count
