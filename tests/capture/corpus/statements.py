"""Statements: with, assert, print, try and finally, del, global, nonlocal, match, walrus, f-strings."""

import contextlib
from dataclasses import dataclass

import thixo as tx
from tests.capture.corpus.registry import case, t

total_calls = 0
SCALE = 3.0


@case(lambda d: (d.normal(3), 0.5), lambda d: (d.normal(3), 50.0), grad=(0,), detaches=True)
def with_no_grad(x, limit):
    with tx.no_grad():
        norm = x.norm()
        scale = limit / norm
    if norm > limit:
        x = x * scale
    return x.sum() + x.detach().max() * x


class Section:
    """Counts how often it was entered and left."""

    def __init__(self):
        self.entered = self.left = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, kind, error, trace):
        self.left += 1
        return False


@case(
    lambda d: (Section(), d.normal(3)), lambda d: (Section(), d.normal(5)), mutates=True, grad=(1,)
)
def users_context_manager(section, x):
    total = 0
    for v in x:
        with section as inner:
            total = total + v * inner.entered - inner.left
    return total


@contextlib.contextmanager
def _doubled(settings):
    old = settings["scale"]
    settings["scale"] = old * 2
    try:
        yield settings["scale"]
    finally:
        settings["scale"] = old


@case(
    lambda d: (d.normal(3), {"scale": 1.0}),
    lambda d: (d.normal(3).abs() + 1, {"scale": 1.0}),
    grad=(0,),
)
def generator_as_context_manager(x, settings):
    with _doubled(settings) as scale, contextlib.nullcontext():
        if x.sum() > 3:
            return x * scale * settings["scale"]
        y = x + scale
    return y * settings["scale"]


@case(lambda d: (t([0.2, 0.3]),), lambda d: (t([1.0, 3.0]),), grad=(0,))
def assert_with_message(p):
    if p.sum() > 1:
        p = p / p.sum()
    else:
        p = tx.cat([p, 1 - p.sum(0, keepdim=True)])
    assert (p >= 0).all(), f"negative probabilities: {p}"
    assert abs(p.sum() - 1) < 1e-9, "they do not sum to one"
    return -(p * p.log()).sum()


@case(
    lambda d: (t([1.5, 2.5]), 3),
    lambda d: (t([-1.5, 2.0]), 1),
    prints=True,
    answers=[[12, 20], [-3, 4]],
)
def print_values(x, n):
    print("start", x)
    for i in range(n):
        x = x * 2
        print(f"step {i}: {float(x[0]):.2f}", end="; ")
    print()
    if (x < 0).any():
        print("negative", x.min().item(), sep=" = ")
    return x


@case(lambda d: ([], d.normal(3)), lambda d: ([], d.normal(3) + 9), mutates=True, grad=(1,))
def try_finally(log, x):
    try:
        log.append("in")
        if x.mean() > 5:
            return x / 10
        x = x * 2
    finally:
        log.append("out")
    log.append("after")
    return x


@case(
    lambda d: (t([4.0, 2.0]), "0"), lambda d: (t([4.0, 2.0]), "one"), lambda d: (t([4.0, 2.0]), "7")
)
def try_except_else(x, text):
    try:
        index = int(text)
        value = x[index]
    except ValueError:
        value = x.sum()
    except IndexError:
        value = x.prod()
    else:
        value = value * 100
    return value


@case(
    lambda d: (d.normal(3), {"a": t(1.0), "b": t(2.0)}),
    lambda d: (d.normal(3), {"a": t(1.0)}),
    mutates=True,
)
def del_names_and_items(x, table):
    temporary = x * 2
    y = temporary.exp()
    del temporary
    if "b" in table:
        y = y + table["b"]
        del table["b"]
    rows = [x, y, x + y]
    del rows[1:]
    return rows[0] * y


@case(lambda d: (d.normal(3), 2), lambda d: (d.normal(3), 5), changes=("total_calls",), grad=(0,))
def global_and_nonlocal(x, n):
    global total_calls
    count = 0

    def step(v):
        nonlocal count
        count += 1
        return v + 1 / count

    for _ in range(n):
        x = step(x)
    total_calls += count
    return x * SCALE


@case(lambda d: (t([5.0, 3.0, 1.2]),), lambda d: (t([0.5, 3.0, 1.2]),), grad=(0,))
def walrus(x):
    if (top := x.max()) > 4:
        x = x - top
    parts = [y for v in x if (y := v * v) > 1]
    i = 0
    while (i := i + 1) < 3:
        x = x + 0.1 * i
    return x.sum() + sum(parts)


@dataclass
class Circle:
    radius: tx.Tensor


@dataclass
class Box:
    width: tx.Tensor
    height: tx.Tensor


@case(
    lambda d: ([Circle(t(2.0)), Box(t(2.0), t(3.0))],),
    lambda d: ([Box(t(2.0), t(2.0)), {"side": t(4.0)}, None],),
    lambda d: ([[t(3.0), t(4.0)], Circle(t(1.0))],),
    grad=(0,),
)
def match_on_shapes(shapes):
    area = 0
    for shape in shapes:
        match shape:
            case Circle(radius=r):
                area = area + 3.0 * r * r
            case Box(width=w, height=h) if abs(w - h) < 0.01:
                area = area + w**2
            case Box(width=w, height=h):
                area = area + w * h
            case {"side": s}:
                area = area + s * s / 2
            case [a, b]:
                area = area + a * b / 2
            case _:
                area = area + 1
    return area


@case(
    lambda d: (d.normal(3), "sin"),
    lambda d: (d.normal(3), ("scale", 2)),
    lambda d: (d.normal(3), 7),
    grad=(0,),
)
def match_on_commands(x, command):
    match command:
        case "sin" | "sine":
            return x.sin()
        case ("scale", factor):
            return x * factor
        case int(n) if n > 5:
            return x + n
    return x


@case(lambda d: (t([1.0, 2.0]),), lambda d: (t([-3.0, 2.0]),), grad=(0,))
def assignments_of_all_kinds(x):
    a = b = x * 2
    (c, d), e = (a, b + 1), x.sum()
    c, d = d, c
    pair = [0, 0]
    pair[0], pair[1] = c[0], d[1]
    f: tx.Tensor = c - d
    if e < 0:
        a = b = e
    return a.sum() + b.sum() + f.sum() + pair[0] * pair[1]


@case(lambda d: (t([0.9, 0.1]),), lambda d: (t([5.0, 0.1]),), grad=(0,))
def while_true_with_pass(x):
    """A docstring, a pass, an ellipsis, and a loop that only break ends."""
    tries = 0
    while True:
        tries += 1
        if tries > 20:
            break
        elif x.sum() < 1.5:
            pass
        else:
            x = x * 0.7
            continue
        ...
        break
    return x * tries


@case(
    lambda d: (t(-2.0),), lambda d: (t(0.5),), lambda d: (t(1.5),), lambda d: (t(9.0),), grad=(0,)
)
def nested_ternaries(x):
    return (-x if x < -1 else x * x) if x < 1 else (x + 1 if x < 2 else x.log())


@case(
    lambda d: (t([1.25, 2.0]),),
    lambda d: (t([-1.0]),),
    answers=["2 values, mean 1.625, max +2.0", "1 value, mean -1.000"],
)
def describe_in_words(x):
    noun = "value" if len(x) == 1 else "values"
    text = f"{len(x)} {noun}, mean {x.mean().item():.3f}"
    if x.max() > 0:
        text += f", max {x.max().item():+}"
    return text


def _checked(x):
    if x.min() < 0:
        raise ValueError("negative")
    return x.sqrt()


@case(
    lambda d: (t([4.0, 9.0]),),
    lambda d: (t([-4.0, 9.0]),),
    grad=(0,),
    answers=[[2, 3], [-0.4, 0.9]],
)
def exception_from_a_helper(x):
    try:
        return _checked(x)
    except ValueError as error:
        return x / (10 if "negative" in str(error) else 1)


@case(lambda d: (t([1.0, 2.0]), [1, 2, 3]), lambda d: (t([1.0, 2.0]), []), grad=(0,))
def underscore_and_conditional_import(x, items):
    if items:
        import math

        x = x * math.pi
    for _ in items:
        x = x + 1
    _, last = x
    return last
