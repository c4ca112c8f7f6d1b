"""Closures, nested functions, lambdas, recursion, higher-order functions, decorators, generators."""

import functools
import itertools
import operator

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(lambda d: (t([0.1, 0.3, 0.2]), 2.0), lambda d: (t([1.0, 2.0]), 0.0), grad=(0,))
def closure_over_arguments(x, threshold):
    def gate(v):
        if v.sum() > threshold:
            return v * 2
        return v - threshold

    return gate(x) + gate(x * 10)


@case(lambda d: (d.normal(4), 3), lambda d: (d.normal(4), 5), grad=(0,))
def function_that_returns_a_function(x, power):
    def raiser(n):
        def apply(v):
            out = v
            for _ in range(n - 1):
                out = out * v
            return out

        return apply

    cube = raiser(power)
    return cube(x) + raiser(2)(x)


@case(lambda d: (d.normal(4), "relu"), lambda d: (d.normal(4), "swish"), grad=(0,))
def table_of_lambdas(x, name):
    activations = {
        "relu": lambda v: tx.maximum(v, tx.zeros_like(v)),
        "swish": lambda v: v * tx.sigmoid(v),
        "leaky": lambda v, slope=0.1: tx.where(v > 0, v, slope * v),
    }
    return activations[name](x) + activations["leaky"](x)


@case(
    lambda d: (tx.tensor(5),),
    lambda d: (tx.tensor(0),),
    lambda d: (tx.tensor(10),),
    answers=[120, 1, 3628800],
)
def factorial(n):
    if n <= 1:
        return tx.ones_like(n)
    return n * factorial(n - 1)


@case(lambda d: (t(1.5), 6), lambda d: (t(1.5), 9), lambda d: (t(1.5), 0), grad=(0,))
def power_by_squaring(x, n):
    if n == 0:
        return tx.ones_like(x)
    half = power_by_squaring(x, n // 2)
    if n % 2:
        return half * half * x
    return half * half


def _is_even(n):
    return True if n == 0 else _is_odd(n - 1)


def _is_odd(n):
    return False if n == 0 else _is_even(n - 1)


@case(lambda d: (d.normal(3), 4), lambda d: (d.normal(3), 7), grad=(0,))
def mutual_recursion(x, n):
    if _is_even(n):
        return x.cos()
    return x.sin() * n


def _tree_sum(node):
    if isinstance(node, tx.Tensor):
        return node.sum()
    if isinstance(node, dict):
        return sum(_tree_sum(child) for child in node.values())
    return sum(map(_tree_sum, node))


@case(
    lambda d: ([d.normal(2), [d.normal(3), d.normal(1)]],),
    lambda d: ({"a": d.normal(2), "b": [d.normal(2)] * 2, "c": (d.normal(1), {"d": d.normal(4)})},),
    grad=(0,),
)
def recursion_over_a_tree(tree):
    return _tree_sum(tree) ** 2


@case(lambda d: (d.normal(3), 2), lambda d: (d.normal(3), 4), grad=(0,))
def composed(x, times):
    def compose(*functions):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), functions)

    step = compose(tx.sin, lambda v: v + 1, tx.sqrt)
    return compose(*[step] * times)(x)


def _twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(function(*args, **kwargs))

    return wrapper


def _clipped(limit):
    def decorate(function):
        def inner(x):
            y = function(x)
            if y.abs().max() > limit:
                y = y * (limit / y.abs().max())
            return y

        return inner

    return decorate


@_twice
@_clipped(limit=3.0)
def _grow(x):
    return x * x + x


@case(lambda d: (t([0.1, 0.2]),), lambda d: (t([1.5, 0.2]),), lambda d: (t([4.0, 0.2]),), grad=(0,))
def decorated_helpers(x):
    return _grow(x) + 1


@case(lambda d: (d.normal(4), 0.5), lambda d: (d.normal(4), 0.0), grad=(0,))
def partial_application(x, weight):
    def mix(a, b, weight=1.0):
        return a * weight + b * (1 - weight) if weight else b

    halfway = functools.partial(mix, weight=weight)
    with_mean = functools.partial(halfway, x.mean())
    return with_mean(b=x)


def _windows(x, size):
    for start in range(len(x) - size + 1):
        yield x[start : start + size]


@case(lambda d: (d.normal(6), 3), lambda d: (d.normal(4), 2), grad=(0,))
def generator_of_windows(x, size):
    return tx.stack([w.max() - w.min() for w in _windows(x, size)])


def _iterates(f, x):
    while True:
        yield x
        x = f(x)


@case(lambda d: (t(0.5),), lambda d: (t(2.5),), grad=(0,), answers=[None, None])
def endless_generator(x):
    """Cosine's iterates until two of them are close."""
    before = None
    for v in _iterates(tx.cos, x):
        if before is not None and (v - before).abs() < 0.05:
            break
        before = v
    return v


def _flatten(nested):
    for item in nested:
        if isinstance(item, (list, tuple)):
            yield from _flatten(item)
        else:
            yield item


@case(
    lambda d: ([d.normal(2), (d.normal(2), [d.normal(2)])],),
    lambda d: ([[[d.normal(3)], d.normal(3)], d.normal(3), [d.normal(3)]],),
    grad=(0,),
)
def yield_from_nested(nested):
    flat = list(_flatten(nested))
    return tx.cat(flat) * len(flat)


@case(lambda d: (d.normal(5),), lambda d: (d.normal(5).abs() + 1,), grad=(0,))
def map_filter_reduce(x):
    kept = list(filter(lambda v: v > 0, map(lambda v: v - 0.1, x)))
    return functools.reduce(operator.mul, kept, tx.ones((), dtype=x.dtype)) + sum(
        a * b for a, b in itertools.combinations(kept, 2)
    )


@case(lambda d: (d.normal(4), False), lambda d: (d.normal(4), True), grad=(0,))
def conditional_definition(x, smooth):
    if smooth:

        def act(v):
            return tx.log1p(v.exp())
    else:
        act = tx.relu
    return act(x - 0.2)


@case(lambda d: (t([0.2, 0.4]), 0.1), lambda d: (t([0.2, 1.4]), 0.1), grad=(0,))
def numeric_gradient_of_a_function(x, h):
    def f(v):
        return (v**3).sum() if v.max() < 1 else (v**2).sum()

    def partials():
        for i in range(len(x)):
            step = tx.zeros_like(x)
            step[i] = h
            yield (f(x + step) - f(x - step)) / (2 * h)

    return tx.stack(tuple(partials()))


@case(lambda d: (tx.tensor(9),), lambda d: (tx.tensor(4),), answers=[34, 3])
def memoised_fibonacci(n):
    cache = {0: 0, 1: 1}

    def fib(k):
        if k not in cache:
            cache[k] = fib(k - 1) + fib(k - 2)
        return cache[k]

    return fib(int(n))


@case(
    lambda d: (t([3.0, 1.0, 2.0, 5.0, 4.0]),),
    lambda d: (t([2.0, 1.0]),),
    lambda d: (t([7.0]),),
    grad=(0,),
    answers=[[1, 2, 3, 4, 5], [1, 2], [7]],
)
def quicksort(x):
    if len(x) <= 1:
        return x
    pivot, rest = x[0], x[1:]
    return tx.cat([quicksort(rest[rest < pivot]), pivot[None], quicksort(rest[rest >= pivot])])
