"""Everyday Python around tensors: arguments of all kinds, small classes, containers, closures, contexts."""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import operator
import typing

import thixo as tx
from tests.capture.corpus.registry import call, t
from tests.capture.unseen.table import unseen

Pair = collections.namedtuple("Pair", "low high")


class Norm(enum.Enum):
    NONE = "none"
    L1 = "l1"
    MAX = "max"


class Span(typing.NamedTuple):
    start: float
    width: float = 1.0

    def holds(self, x):
        return (x >= self.start) & (x < self.start + self.width)


@unseen(
    lambda d: (d.normal(4), d.normal(4)),
    lambda d: call(d.normal(4), d.normal(4), scale=3.0),
    lambda d: call(d.normal(2), d.normal(2), d.normal(2), d.normal(2), scale=-1.0, shift=2),
    grad=(0, 1),
)
def arguments_of_all_kinds(a, b, /, *rest, scale=1.0, **more):
    total = a * scale - b
    for i, r in enumerate(rest, start=1):
        total = total + r / i
    for name in sorted(more):
        total = total + more[name] * len(name)
    return total


@unseen(
    lambda d: (d.normal(5), Norm.NONE),
    lambda d: (d.normal(5), Norm.L1),
    lambda d: (d.normal(5), Norm.MAX),
    grad=(0,),
)
def chosen_by_an_enum(x, norm):
    table = {Norm.L1: lambda v: v.abs().sum(), Norm.MAX: lambda v: v.abs().max()}
    if norm not in table:
        return x
    size = table[norm](x)
    return x / size if size > 0 else x


@unseen(lambda d: (Pair(d.normal(3), d.normal(3)),), lambda d: (Pair(t([5.0]), t([1.0])),))
def namedtuple_in_order(pair):
    low, high = pair
    if (low > high).any():
        pair = pair._replace(low=tx.minimum(low, high), high=tx.maximum(low, high))
    return pair.high - pair.low, pair._fields


@unseen(lambda d: (d.uniform(6) * 3,), lambda d: (t([0.1, 0.2]),), grad=(0,))
def spans_with_methods(x):
    spans = [Span(0.0), Span(1.0, 0.5), Span(2.0)]
    return [tx.where(s.holds(x), x, 0.0).sum() * (i + 1) for i, s in enumerate(spans)]


@dataclasses.dataclass
class Moments:
    count: int = 0
    mean: float = 0.0
    spread: float = 0.0

    def push(self, x):
        self.count += 1
        delta = x - self.mean
        self.mean = self.mean + delta / self.count
        self.spread = self.spread + delta * (x - self.mean)


@unseen(lambda d: (d.normal(5),), lambda d: (d.normal(8),), grad=(0,))
def running_moments(x):
    m = Moments()
    for v in x:
        m.push(v)
    variance = m.spread / (m.count - 1) if m.count > 1 else 0.0
    return m.mean, variance


@unseen(lambda d: (d.normal(3, 4),), lambda d: (d.normal(5, 2),), grad=(0,))
def pipeline_of_functions(x):
    steps = [
        functools.partial(tx.clamp, min=-1.0),
        operator.methodcaller("tanh"),
        lambda v: v - v.mean(dim=-1, keepdim=True),
    ]
    return functools.reduce(lambda value, step: step(value), steps, x)


@unseen(lambda d: (d.normal(4), 3), lambda d: (d.normal(4), 0), grad=(0,))
def closure_that_counts(x, n):
    calls = 0

    def step(v):
        nonlocal calls
        calls += 1
        return v * 0.5 + calls

    for _ in range(n):
        x = step(x)
    return x, calls


@unseen(lambda d: (d.normal(3), d.normal(3)), lambda d: (-d.normal(3), t([9.0, 9.0, 9.0])))
def swap_in_a_dict(a, b):
    pair = {"a": a, "b": b}
    if pair["a"].sum() < pair["b"].sum():
        pair["a"], pair["b"] = pair["b"], pair["a"]
    pair.update(c=pair["a"] - pair["b"])
    return {name: value.sum() for name, value in pair.items()}


@contextlib.contextmanager
def scaled(log, by):
    log.append("in")
    try:
        yield by * 2
    finally:
        log.append("out")


@unseen(lambda d: (d.normal(3),), lambda d: (-d.normal(3).abs(),), grad=(0,))
def own_context_manager(x):
    log = []
    with scaled(log, 1.5) as factor:
        y = x * factor
        if y.sum() > 0:
            y = y + 1
    return y, log


@unseen(lambda d: (d.normal(2, 6),), lambda d: (d.normal(4, 3),), grad=(0,))
def shapes_by_arithmetic(x):
    rows, columns = x.shape
    n = rows * columns
    square = next(k for k in range(n, 0, -1) if n % k == 0 and k * k <= n)
    return x.reshape(square, n // square).sum(-1), x.ndim, x.numel() // 2


class Stack:
    def __init__(self, *items):
        self.items = list(items)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __add__(self, other):
        return Stack(*self.items, *other.items)

    def __bool__(self):
        return bool(self.items)


@unseen(lambda d: (d.normal(3),), lambda d: (-d.normal(3),), grad=(0,))
def own_container(x):
    s = Stack(x, x * 2)
    empty = Stack()
    if s and not empty:
        s = s + Stack(-x)
    total = 0.0
    for i in range(len(s)):
        total = total + s[i] * (i + 1)
    return total


@unseen(
    lambda d: (d.normal(4), d.normal(4), d.normal(4)),
    lambda d: (d.normal(2), d.normal(2), d.normal(2)),
    grad=(0, 1),
)
def pairs_of_all(a, b, c):
    named = {"a": a, "b": b, "c": c}
    best, who = None, ""
    for (n, x), (m, y) in itertools.combinations(named.items(), 2):
        score = (x * y).sum()
        if best is None or score > best:
            best = score
            who = n + m
    return best, who


@unseen(
    lambda d: (d.normal(6), slice(1, 5, 2)), lambda d: (d.normal(6), slice(None, -1)), grad=(0,)
)
def slices_as_values(x, where):
    first, *middle, last = x[where].unbind()
    return first + last * len(middle), x[..., where].shape


@unseen(
    lambda d: (d.normal(3), None, "sum"),
    lambda d: (d.normal(3), d.normal(3), "sum"),
    lambda d: (d.normal(3), d.normal(3), "mean"),
    grad=(0,),
)
def optional_and_getattr(x, weight, reduce):
    y = x if weight is None else x * weight
    made = getattr(y, reduce)()
    return made.clamp(max=1.0) if isinstance(made, tx.Tensor) and hasattr(made, "clamp") else made


@unseen(lambda d: (d.normal(3), d.normal(3)), lambda d: (d.normal(3), None))
def walrus_and_try(x, y):
    try:
        z = x + y
    except TypeError as error:
        z = x
        note = type(error).__name__
    else:
        note = "fine"
    finally:
        z = z * 2
    if (s := z.sum()) > 0:
        z = z / s
    return z, note, s
