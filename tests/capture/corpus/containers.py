"""Lists, dicts, tuples, named tuples, dataclasses, comprehensions, slices, unpacking, star arguments."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import thixo as tx
from tests.capture.corpus.registry import call, case, t

Moments = namedtuple("Moments", ["mean", "spread"])


class Bounds(NamedTuple):
    low: tx.Tensor
    high: tx.Tensor

    def width(self):
        return self.high - self.low


@dataclass
class Particle:
    position: tx.Tensor
    velocity: tx.Tensor
    trail: list = field(default_factory=list)


@dataclass(frozen=True)
class Settings:
    rate: float = 0.1
    steps: int = 3
    centred: bool = False


@case(lambda d: (t([0.5, -0.2, 0.8]),), lambda d: (t([1.5, 2.0]),), grad=(0,))
def append_then_stack(x):
    kept = []
    for v in x:
        kept.append(v.exp())
        if v > 1:
            kept.append(v)
    return tx.stack(kept).cumsum(0)


@case(
    lambda d: (d.normal(3) - 3, d.normal(3)),
    lambda d: (d.normal(3).abs(), d.normal(3).abs() + 2),
    grad=(0, 1),
)
def dict_of_tensors(x, y):
    env = {"x": x, "y": y, "sum": x + y}
    env["product"] = env["x"] * env["y"]
    if env["sum"].sum() > 2:
        env.pop("x")
    else:
        env["y"] = -env["y"]
    return {name: value * 2 for name, value in env.items()}


@case(lambda d: (d.normal(5),), lambda d: (t([1.0, 1.1, 1.2]),), grad=(0,))
def moments_as_a_namedtuple(x):
    m = Moments(mean=x.mean(), spread=x.var())
    if m.spread > 0.25:
        m = m._replace(spread=m.spread.sqrt())
    mean, spread = m
    return m, mean / (1 + spread)


@case(
    lambda d: (Bounds(t([0.0, 1.0]), t([1.0, 3.0])), t([0.5, 4.0])),
    lambda d: (Bounds(t([0.0, 1.0]), t([1.0, 3.0])), t([0.5, 2.0])),
    lambda d: (Bounds(t([2.0, 1.0]), t([1.0, 3.0])), t([0.5, 2.0])),
    grad=(0, 1),
)
def typed_tuple_with_method(box, point):
    if (box.width() < 0).any():
        box = Bounds(low=tx.minimum(*box), high=tx.maximum(*box))
    if (point > box.high).any() or (point < box.low).any():
        point = tx.maximum(tx.minimum(point, box.high), box.low)
    return (point - box.low) / box.width()


@case(
    lambda d: (Particle(t([0.0, 1.0]), t([1.0, -0.6])), 3),
    lambda d: (Particle(t([0.0, 1.0]), t([1.0, 0.0])), 2),
    mutates=True,
)
def dataclass_with_a_trail(p, steps):
    for _ in range(steps):
        p.position = p.position + p.velocity
        if p.position[1] < 0:
            p.velocity = p.velocity * tx.tensor([1.0, -1.0])
        p.trail.append(p.position)
    return tx.stack(p.trail)


@case(
    lambda d: (d.normal(4), Settings()),
    lambda d: (d.normal(4), Settings(rate=0.5, steps=1, centred=True)),
    grad=(0,),
)
def frozen_settings(x, settings):
    if settings.centred:
        x = x - x.mean()
        settings = replace(settings, rate=settings.rate / 2)
    for _ in range(settings.steps):
        x = x - settings.rate * x**3
    return x


@case(
    lambda d: (d.normal(6),),
    lambda d: (d.normal(6).abs(),),
    grad=(0,),
)
def comprehensions(x):
    squares = [v * v for v in x]
    positive = [v for v in x if v > 0]
    table = [[a * b for b in x[:2]] for a in x[:3]]
    pairs = {i: s for i, s in enumerate(squares) if i % 2 == 0}
    return sum(positive) + sum(pairs.values()) + sum(sum(row) for row in table)


@case(lambda d: (d.normal(7),), lambda d: (d.normal(3),), grad=(0,))
def starred_unpacking(x):
    first, *middle, last = x
    head, (second, *_) = x[0], list(x[1:])
    if not len(middle) > 3:
        return first * last + middle[0]
    a, b, *rest = middle
    return first * last + a - b + sum(rest) + head * second


@case(lambda d: (d.normal(2, 6),), lambda d: (d.normal(4, 6),), grad=(0,))
def slices(m):
    rows = m.shape[0]
    left, right = m[:, :3], m[:, 3:]
    even = m[::2, 1:-1]
    out = left * right.flip(1)
    if rows > 2:
        out = out[1:-1]
    return out.sum() + even[..., -1].prod() + m[-1, None, 2:4].sum()


@case(
    lambda d: (d.normal(3), d.normal(3)),
    lambda d: (d.normal(3), d.normal(3), d.normal(3), d.normal(3)),
    lambda d: call(d.normal(3), scale=t(2.0), shift=0.5),
    grad=(0,),
)
def star_arguments(first, *others, scale=1.0, **extra):
    total = first
    for k, x in enumerate(others):
        total = total + x * (k + 1)
    for name in sorted(extra):
        total = total + extra[name] * len(name)
    return total * scale


def _affine(x, /, weight=1.0, *, bias=0.0):
    return x * weight + bias


@case(
    lambda d: (d.normal(3), {"weight": 2.0}),
    lambda d: (d.normal(3), {"bias": t(1.0), "weight": t(-1.0)}),
    lambda d: (d.normal(3), {}),
    grad=(0,),
)
def forwarded_keywords(x, options):
    if "bias" not in options:
        options = {**options, "bias": x.mean()}
    args = (x,) if "weight" in options else (x, 3.0)
    return _affine(*args, **options)


@case(lambda d: (d.normal(8), 3), lambda d: (d.normal(4), 2), grad=(0,))
def moving_average_by_deque(x, width):
    window = deque(maxlen=width)
    averages = []
    for v in x:
        window.append(v)
        if len(window) == width:
            averages.append(sum(window) / width)
    return tx.stack(averages)


@case(
    lambda d: (d.normal(5), [0, 1, 0, 1, 1]),
    lambda d: (d.normal(5), [2, 2, 1, 2, 0]),
    grad=(0,),
)
def group_by_label(values, labels):
    groups = defaultdict(list)
    for v, label in zip(values, labels):
        groups[label].append(v)
    means = OrderedDict()
    for label in sorted(groups):
        means[label] = tx.stack(groups[label]).mean()
    return dict(means)


@case(
    lambda d: ({"w": d.normal(2, 2), "b": d.normal(2)}, d.normal(3, 2)),
    lambda d: ({"w": d.normal(2, 2)}, d.normal(3, 2)),
    grad=(0, 1),
)
def optional_entry(params, x):
    y = x @ params["w"]
    if (b := params.get("b")) is not None:
        y = y + b
    return y.relu()


@case(
    lambda d: ([(d.normal(3, 4), d.normal(4)), (d.normal(4, 2), d.normal(2))], d.normal(3)),
    lambda d: ([(d.normal(3, 2), None)], d.normal(3)),
    grad=(0, 1),
)
def layers_in_a_list_of_tuples(layers, x):
    *hidden, (w_out, b_out) = layers
    for w, b in hidden:
        x = tx.tanh(x @ w + b)
    out = x @ w_out
    return out if b_out is None else out + b_out


@case(
    lambda d: (t([3.0, 1.0, 2.0]), t([[1.0, 2.0], [3.0, 4.0]])),
    lambda d: (t([1.0, 2.0]), t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
    grad=(0, 1),
)
def sort_a_list_of_pairs(keys, rows):
    pairs = sorted(((float(k), i) for i, k in enumerate(keys)), key=lambda pair: -pair[0])
    ordered = [rows[i % len(rows)] * keys[i] for _, i in pairs]
    return tx.cat(ordered), [i for _, i in pairs]


@case(
    lambda d: (t([1.0, 5.0, 2.0, 8.0]),),
    lambda d: (t([8.0, 5.0, 2.0]),),
    answers=[([1, 5, 8], [0, 1, 3]), ([8], [0])],
)
def running_records(x):
    records, where = [], []
    for i, v in enumerate(x):
        if not records or v > records[-1]:
            records += [v]
            where.append(i)
    return records, where
