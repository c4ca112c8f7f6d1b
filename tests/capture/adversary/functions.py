"""Functions: closures that change, late binding, shadowed names, odd signatures, decorators, async."""

import asyncio
import functools
import operator

import thixo as tx
from tests.capture.adversary.registry import COUNTED, hostile


@hostile()
def late_bound_loop_variable(x):
    fs = [lambda a: a * i for i in range(3)]  # noqa: B023
    gs = [lambda a, i=i: a * i for i in range(3)]
    return fs[0](x) + gs[1](x)


@hostile(*COUNTED)
def closure_changed_after_it_was_made(x, n):
    k = 1

    def f(a):
        return a * k

    before = f(x)
    k = n
    if x > 0:
        k = k + 10
    return before, f(x)


@hostile()
def nonlocal_in_a_branch(x):
    total = 0

    def add(value):
        nonlocal total
        if value > 0:
            total = total + value
        return total

    add(x)
    add(-x * 2)
    return total + x * 0


@hostile()
def nonlocal_two_levels(x):
    a = x

    def outer():
        b = x * 2

        def inner():
            nonlocal a, b
            a, b = b, a

        inner()
        return b

    return outer() + a * 10


@hostile()
def function_chosen_by_a_tensor(x):
    f = tx.sin if x > 0 else tx.cos
    return f(x)


@hostile()
def function_defined_in_a_branch(x):
    if x > 0:

        def f(a):
            return a * 2
    else:

        def f(a):
            return a - 5

    return f(x)


def _max(a, b):
    return a - b


@hostile()
def shadowed_builtins(x):
    max, len, range = _max, lambda v: 7, lambda n: [n, n]  # noqa: A001
    total = max(x, x * 3) + len([x])
    for i in range(2):
        total = total + i
    return total


@hostile()
def print_shadowed(x):
    lines = []
    print = lines.append  # noqa: A001
    if x > 0:
        print("positive")
    print("done")
    return x * len(lines)


@hostile()
def isinstance_of_chosen(x):
    n = 1 if x > 0 else 2
    return x * (10 if isinstance(n, int) else 20), type(n).__name__


@hostile()
def star_arguments(x):
    def f(a, /, b=2, *rest, c, d=3, **more):
        return a * b + sum(rest) * c + d + sum(more.values())

    return f(x, *[x, 1.0, x * 2], c=3, **{"e": x, "d": 5})


@hostile()
def default_is_a_tensor(x):
    def f(a, b=x * 2):
        return a + b

    x = x * 100
    return f(x)


@hostile()
def mutable_default_within(x):
    def f(a, seen=[]):  # noqa: B006
        seen.append(a)
        return sum(seen)

    return f(x) + f(x * 2), len(f.__defaults__[0])


def _doubling(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        result = f(*args, **kwargs)
        return result * 2 if result > 0 else result

    return inner


@_doubling
def _shifted(x):
    return x - 1


@hostile()
def decorated(x):
    return _shifted(x), _shifted.__name__


@hostile()
def partial_and_reduce(x):
    add = functools.partial(operator.add, x)
    return functools.reduce(lambda a, b: a * b if b > 0 else a - b, [x, x * 2, x - 1], add(1))


@functools.singledispatch
def _kind(value):
    return 1


@_kind.register
def _(value: int):
    return 2


@hostile()
def single_dispatch(x):
    return x * _kind(3) + _kind(x)


@hostile()
def async_function(x):
    async def f(a):
        return a * 2 if a > 0 else a

    return asyncio.run(f(x))


@hostile()
def names_from_exec(x):
    scope = {"x": x}
    exec("y = x * 3 if x > 0 else x", scope)
    return scope["y"]


@hostile()
def eval_of_text(x):
    return eval("x * 2 + 1")


@hostile()
def locals_read(x):
    a = x * 2  # noqa: F841
    if x > 0:
        b = 1  # noqa: F841
    return x * len(locals())


@hostile()
def comprehension_has_its_own_scope(x):
    i = 5
    total = sum([x * i for i in range(3)])
    return total * i


@hostile()
def walrus_in_a_comprehension(x):
    values = [last := x * i for i in range(3)]
    return last + sum(values)


@hostile()
def class_body_with_conditions(x):
    class Made:
        if x > 0:
            k = x * 2
        else:
            k = x - 1
        twice = k * 2

        def get(self):
            return self.k + self.twice

    return Made().get()


@hostile()
def lambda_in_a_ternary(x):
    return (lambda a: a * 2 if a > 1 else a * 3)(x) if x > 0 else (lambda: x)()


@hostile()
def function_compared_with_is(x):
    f = tx.sin
    g = f if x > 0 else tx.cos
    return x * 2 if g is f else x * 3


@hostile()
def tensor_compared_with_is(x):
    y = x
    if x > 0:
        y = x + 0
    return x * 2 if y is x else x


@hostile()
def none_compared_with_equals(x):
    return x * 2 if (x == None) is False else x * 3  # noqa: E711
