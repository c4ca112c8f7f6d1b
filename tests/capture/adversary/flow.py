"""Control flow at its edges: exits through finally, errors in branches, names that may not be there, match, generators."""

import contextlib

import thixo as tx
from tests.capture.adversary.registry import COUNTED, VECTORS, hostile, t


@hostile()
def return_through_finally(x):
    y = x
    try:
        if x > 0:
            return y * 2
        y = y + 1
    finally:
        y = y * 100
    return y


@hostile()
def finally_overrules_return(x):
    try:
        if x > 0:
            return x * 2
    finally:
        return x * 7  # noqa: B012


@hostile(*COUNTED)
def break_through_finally(x, n):
    seen = []
    for i in range(n):
        try:
            if x * i > 3:
                break
            seen.append(i)
        finally:
            seen.append(-1)
    return x, seen


@hostile()
def raised_and_caught_in_one_branch(x):
    try:
        if x > 0:
            raise KeyError("k")
        return x
    except KeyError:
        return x * 10


@hostile()
def raised_uncaught_in_one_branch(x):
    if x < 0:
        raise ValueError("negative")
    return x * 2


@hostile()
def error_of_a_callee(x):
    def check(value):
        if value < 0:
            raise LookupError("below zero")
        return value

    try:
        return check(x) + 1
    except LookupError as error:
        return x * len(str(error))


@hostile()
def error_as_a_name(x):
    error = 1
    try:
        if x > 0:
            raise ValueError("gone after the block")
    except ValueError as error:  # noqa: F841
        pass
    try:
        return x * error
    except UnboundLocalError:
        return x * 50


@hostile()
def else_of_try(x):
    try:
        y = 1 // (1 if x > 0 else 0)
    except ZeroDivisionError:
        y = 10
    else:
        y = y + 1
    return x * y


@hostile()
def raise_from_within(x):
    try:
        try:
            if x > 0:
                raise KeyError(1)
        except KeyError as inner:
            raise ValueError(2) from inner
    except ValueError as outer:
        return x * 4, type(outer.__cause__).__name__
    return x, "none"


@hostile()
def failing_assert(x):
    try:
        assert x > 0, f"is {x.item()}"
    except AssertionError as error:
        return x * 2, str(error)
    return x, ""


@hostile()
def name_of_one_branch(x):
    if x > 0:
        y = x * 2
    return y  # noqa: F821


@hostile()
def name_of_one_branch_never_read(x):
    if x > 0:
        y = x * 2
        z = y + 1
    else:
        z = x
    return z


@hostile()
def name_deleted_in_one_branch(x):
    y = x * 2
    if x > 0:
        del y
        y = x + 5
    return y


@hostile()
def name_deleted_for_good(x):
    y = x * 2
    if x > 0:
        del y
    try:
        return y
    except UnboundLocalError:
        return x * 9


@hostile(*COUNTED)
def name_of_a_loop_after_it(x, n):
    for i in range(n):  # noqa: B007
        if x * i > 3:
            break
    return x * i


@hostile(*COUNTED)
def else_of_a_loop_with_return(x, n):
    while n > 0:
        n -= 1
        x = x + 1
        if x > 4:
            return x * 100
    else:
        x = x - 0.5
    return x


@hostile(*VECTORS)
def two_loops_left_at_once(v):
    for a in v:
        for b in v:
            if a + b > 3:
                break
        else:
            continue
        break
    return a * 2 + b


@hostile()
def kinds_differ(x):
    return x * 2 if x > 0 else None


@hostile()
def kinds_differ_before_use(x):
    y = None
    if x > 0:
        y = x * 3
    if y is None:
        y = x - 1
    return y


@hostile()
def string_chosen_by_a_tensor(x):
    mode = "up" if x > 0 else "down"
    return x * 2 if mode == "up" else -x


@hostile()
def shapes_differ(x):
    y = x.reshape(1) if x > 0 else tx.stack([x, x])
    return y * 2


@hostile(*COUNTED)
def rank_grows_in_a_loop(x, n):
    for _ in range(n):
        x = tx.stack([x, x])
    return x.sum(), x.ndim


@hostile(*COUNTED)
def dtype_changes_in_a_loop(x, n):
    total = 0
    for i in range(n):
        total = total + (i if x > 0 else i * 0.5)
    return x * total, type(total).__name__


@hostile()
def match_on_values(x):
    match int(x) % 3:
        case 0:
            return x
        case 1 | 2 if x > 0:
            return x * 3
        case other:
            return x * other


@hostile()
def match_on_structure(x):
    value = [x, x * 2] if x > 0 else {"k": x}
    match value:
        case [a, b]:
            return a + b * 2
        case {"k": a}:
            return a * 10


@hostile(*COUNTED)
def generator_function(x, n):
    def parts():
        for i in range(n):
            if x * i > 4:
                return
            yield x * i

    return sum(parts(), x)


@hostile()
def generator_that_is_sent_to(x):
    def doubled():
        got = yield x
        while True:
            got = yield got * 2

    g = doubled()
    next(g)
    return g.send(x + 1) + g.send(x + 2)


@hostile(*COUNTED)
def generator_left_early(x, n):
    closed = []

    def parts():
        try:
            for i in range(10):
                yield x * i
        finally:
            closed.append(1)

    g = parts()
    for i, p in zip(range(n), g):  # noqa: B007
        if p > 2:
            break
    g.close()
    return x * len(closed)


@hostile()
def yield_from_another(x):
    def inner():
        yield x
        return x * 5

    def outer():
        last = yield from inner()
        yield last

    return sum(outer())


@hostile()
def lazily_filtered(x):
    return sum(filter(lambda v: v > 0, [x, -x, x - 1])), list(map(bool, [x > 0, x > 1]))


@hostile()
def effects_and_short_circuits(x):
    seen = []

    def note(value, word):
        seen.append(word)
        return value

    _ = note(x > 0, "a") and note(x > 1, "b") or note(x < -1, "c")
    _ = 0 < note(x, "d") < note(x * 2, "e")
    return x, seen


@hostile()
def value_of_and(x):
    return (x > 0 and x * 2) + (x < 0 or x * 3), (0 or x), (None and x)


@hostile()
def suppressed(x):
    with contextlib.suppress(ValueError):
        if x > 0:
            raise ValueError
        x = x * 2
    return x


class _Swallow:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self.log

    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else "out")
        return kind is KeyError


@hostile()
def with_that_swallows(x):
    log = []
    with _Swallow(log) as seen:
        seen.append("body")
        if x > 0:
            raise KeyError
        x = x + 1
    return x, log


@hostile(lambda: (t(9.0),), lambda: (t(0.5),))
def while_walrus(x):
    turns = 0
    while (x := x / 2) > 1 and (turns := turns + 1) < 10:
        pass
    return x, turns


@hostile(lambda: (t(1.0), 60), lambda: (t(3.0), 5))
def deep_recursion(x, n):
    def down(value, depth):
        if depth == 0 or value > 50:
            return value
        return down(value + 1, depth - 1)

    return down(x, n)


@hostile(
    lambda: (t(1.0), 10**9),
)
def endless_recursion(x, n):
    def down(value, depth):
        return down(value, depth - 1) if depth else value

    try:
        return down(x, n)
    except RecursionError:
        return x * 3
