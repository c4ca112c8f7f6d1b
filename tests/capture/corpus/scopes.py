"""Scopes and functions: nonlocal, global, defaults, keywords, generators, decorators, contexts, cleaning up."""

import contextlib
import functools
import math

import thixo as tx
from tests.capture.corpus.registry import call, case, t

temperature = 2.0
best_loss = math.inf
cache: dict = {}


@case(
    lambda d: (d.normal(4),),
    lambda d: (d.normal(4).abs(),),
    lambda d: (d.normal(7),),
    grad=(0,),
)
def counter_in_a_closure(x):
    negative = 0
    total = tx.zeros((), dtype=x.dtype)

    def add(v):
        nonlocal negative, total
        if v < 0:
            negative += 1
            return
        total = total + v * v

    for v in x:
        add(v)
    return total - negative, negative


@case(
    lambda d: (d.normal(3), 2),
    lambda d: (d.normal(3), 5),
    grad=(0,),
)
def nonlocal_two_levels_up(x, n):
    scale = 1.0

    def outer():
        def inner():
            nonlocal scale
            scale = scale * 0.5 + x.mean()

        for _ in range(n):
            inner()
        return scale

    return outer() * x


@case(
    lambda d: (d.normal(3),),
    lambda d: (d.normal(3) + 9,),
    changes=("best_loss",),
)
def keep_the_best(x):
    global best_loss
    loss = (x * x).mean()
    if loss.item() < 5:
        best_loss = loss.item()
        return x, True
    return x / 2, False


@case(
    lambda d: (d.normal(3), 1),
    lambda d: (d.normal(3), 3),
    changes=("temperature", "cache"),
)
def cooled_by_a_global(x, rounds):
    global temperature
    for k in range(rounds):
        x = x / temperature
        temperature *= 0.9
        cache[k] = float(x[0])
    return x


@case(
    lambda d: call(d.normal(3)),
    lambda d: call(d.normal(3), d.normal(3), d.normal(3)),
    lambda d: call(d.normal(3), d.normal(3), weights=[0.5, 2.0]),
    grad=(0,),
)
def sum_of_any_number(first, /, *more, weights=None, start=0.0):
    total = start
    if weights is None:
        weights = [1.0] * (1 + len(more))
    for w, x in zip(weights, (first, *more)):
        total = total + w * x
    return total


def _blend(a, b, /, share=0.5, *, clip=None):
    mixed = a * share + b * (1 - share)
    return mixed if clip is None else mixed.clamp(-clip, clip)


@case(
    lambda d: (d.normal(3), d.normal(3), {}),
    lambda d: (d.normal(3), d.normal(3), {"share": 0.25, "clip": 0.5}),
    lambda d: (d.normal(3), d.normal(3) * 9, {"clip": 2.0}),
    grad=(0, 1),
)
def keywords_passed_on(a, b, options):
    def run(*pair, **given):
        if "clip" in given and pair[1].abs().max() > 5:
            given = {**given, "share": 1.0}
        return _blend(*pair, **given)

    return run(a, b, **options)


def _bits(n):
    while n:
        yield n % 2
        n //= 2


@case(
    lambda d: (t([[1.0, 1.0], [1.0, 0.0]]), 5),
    lambda d: (t([[1.0, 1.0], [1.0, 0.0]]), 12),
    lambda d: (t([[1.0, 1.0], [1.0, 0.0]]), 1),
    answers=[[[8, 5], [5, 3]], [[233, 144], [144, 89]], [[1, 1], [1, 0]]],
    grad=(0,),
)
def power_from_bits(m, n):
    result = None
    for bit in _bits(n):
        if bit:
            result = m if result is None else result @ m
        m = m @ m
    return result


def _leaves(tree):
    if isinstance(tree, tx.Tensor):
        yield tree
        return
    for branch in tree:
        yield from _leaves(branch)


@case(
    lambda d: ([d.normal(2), [d.normal(2)]],),
    lambda d: ([[], [[d.normal(3)], d.normal(1)], d.normal(2)],),
    grad=(0,),
)
def norm_of_all_leaves(tree):
    squares = (leaf.square().sum() for leaf in _leaves(tree))
    return math.sqrt(2) * sum(squares) ** 0.5


def _pairs(x):
    previous = None
    for v in x:
        if previous is not None:
            yield previous, v
        previous = v


@case(lambda d: (d.normal(4),), lambda d: (d.normal(6) * 3,), lambda d: (d.normal(1),), grad=(0,))
def path_length(x):
    length = (x * 0).sum()
    for a, b in _pairs(x):
        step = (b - a) ** 2
        length += tx.sqrt(step + 1) if step < 1 else step
    return length


def _repeat(times):
    def decorate(function):
        @functools.wraps(function)
        def repeated(x, *args):
            for _ in range(times):
                x = function(x, *args)
            return x

        return repeated

    return decorate


@_repeat(3)
def _squash(x, slope):
    return tx.tanh(x * slope) if x.abs().max() > 0.5 else x


@case(
    lambda d: (d.normal(3) * 5, 0.5),
    lambda d: (d.normal(3) * 0.01, 0.5),
    lambda d: (d.normal(3) * 9, 2.0),
    grad=(0,),
)
def squashed_three_times(x, slope):
    return _squash(x, slope) * _squash.__name__.count("s")


@case(
    lambda d: (t([3.0, 4.0]),),
    lambda d: (t([0.3, 0.4]),),
    grad=(0,),
    detaches=True,
)
def constant_scale(x):
    with tx.no_grad():
        scale = x.norm()
        if scale < 1:
            scale = scale * 0 + 1
    return x / scale


@case(
    lambda d: (d.normal(3), True),
    lambda d: (d.normal(3), False),
    grad=(0,),
    detaches=True,
)
def gradients_on_and_off(x, frozen):
    with tx.set_grad_enabled(not frozen):
        hidden = (x * 3).sin()
    if not frozen:
        hidden = hidden * 2
    with tx.no_grad(), tx.enable_grad():
        y = hidden * x
    return y


class _Timer:
    """Keeps what it was told in order; swallows nothing."""

    def __init__(self, events):
        self.events = events

    def __enter__(self):
        self.events.append("start")
        return self

    def note(self, word):
        self.events.append(word)

    def __exit__(self, *exception):
        self.events.append("stop")
        return False


@case(
    lambda d: (d.normal(3), []),
    lambda d: (d.normal(3) + 5, []),
    mutates=True,
)
def return_from_within(x, events):
    with _Timer(events) as timer, contextlib.suppress(KeyError):
        if x.mean() > 2:
            timer.note("large")
            return x / 2
        timer.note("small")
        x = x * 2
    return x + len(events)


@case(
    lambda d: (d.normal(3), {"depth": 0}),
    lambda d: (d.normal(3) * 50, {"depth": 0}),
    lambda d: (d.normal(0), {"depth": 0}),
    mutates=True,
)
def always_put_back(x, state):
    state["depth"] += 1
    try:
        if len(x) == 0:
            return x.sum()
        y = x.exp().sum() if x.max() < 10 else x.max()
        state["last"] = y.item()
    finally:
        state["depth"] -= 1
    return y


@case(
    lambda d: ({"a": d.normal(2)}, "a"),
    lambda d: ({"a": d.normal(2)}, "b"),
    lambda d: ({"a": -d.normal(2).abs()}, "a"),
    grad=(0,),
)
def looked_up_or_made(table, name):
    try:
        x = table[name]
        if (x < 0).all():
            raise ArithmeticError("all negative")
    except KeyError as missing:
        x = tx.ones(2, dtype=tx.float64) * len(missing.args)
    except (ArithmeticError, OverflowError):
        x = x.abs()
    else:
        x = x + 1
    return x * 3


@case(
    lambda d: (t([4.0, 9.0]),),
    lambda d: (t([4.0, -9.0]),),
    lambda d: (t([]),),
    grad=(0,),
)
def values_named_on_the_way(x):
    if (n := len(x)) == 0:
        return x
    roots = [root for v in x if (root := v.abs().sqrt()) == v**0.5]
    return tx.stack(roots) / n if roots and (low := min(roots)) > 0 else x * n


@case(lambda d: (d.normal(3), 2), lambda d: (d.normal(3), 4), grad=(0,))
def functions_made_in_a_loop(x, n):
    late, early = [], []
    for k in range(1, n + 1):
        late.append(lambda v: v * k)
        early.append(lambda v, k=k: v**k)
    del k
    k = 10 if n > 3 else 1
    return sum(f(x) for f in late) + sum(f(x) for f in early)
