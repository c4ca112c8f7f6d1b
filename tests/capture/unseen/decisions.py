"""Branches as converters of source test them: exits in odd places, names on one side only, conditions with effects."""

import thixo as tx
from tests.capture.corpus.registry import t
from tests.capture.unseen.table import unseen

SEEN = []


@unseen(lambda d: (t(3.0),), lambda d: (t(-3.0),), lambda d: (t(0.0),), grad=(0,))
def sign_by_nested_returns(x):
    if x >= 0:
        if x > 0:
            return x * 1
        return x * 0
    return -x


@unseen(
    lambda d: (t([1.0, -2.0, 3.0, 9.0]),), lambda d: (t([1.0, 1.0]),), lambda d: (t([-1.0, 7.0]),)
)
def return_from_a_nested_loop(x):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] + x[j] > 4:
                return i, j, x[i] + x[j]
    return -1, -1, x.sum()


@unseen(
    lambda d: (t(2.0), t(1.0)), lambda d: (t(1.0), t(2.0)), lambda d: (t(-1.0), t(2.0)), grad=(0, 1)
)
def names_on_one_side(a, b):
    if a > b:
        extra = a * b
    if a > b:
        return extra + 1
    scale = 2.0 if a > 0 else None
    if scale is not None:
        a = a * scale
    return a - b


def noted(x, name, log):
    log.append(name)
    return x


@unseen(lambda d: (t(1.0), t(1.0)), lambda d: (t(-1.0), t(1.0)), lambda d: (t(1.0), t(-1.0)))
def conditions_with_effects(a, b):
    log = []
    both = noted(a, "a", log) > 0 and noted(b, "b", log) > 0
    either = noted(b, "c", log) > 0 or noted(a, "d", log) > 0
    return bool(both), bool(either), len(log)


@unseen(lambda d: (t(0.2), 2), lambda d: (t(0.7), 2), lambda d: (t(0.7), 0), grad=(0,))
def python_and_tensor_conditions(x, mode):
    if mode and x > 0.5:
        y = x * mode
    elif mode or x > 0.6:
        y = x + 10
    else:
        y = -x
    return y


@unseen(
    lambda d: (d.normal(4), tx.tensor(0)),
    lambda d: (d.normal(4), tx.tensor(2)),
    lambda d: (d.normal(4), tx.tensor(7)),
    grad=(0,),
)
def switch_by_a_list(x, k):
    branches = [tx.sin, tx.cos, lambda v: v * v]
    which = min(max(int(k), 0), len(branches) - 1)
    result = x
    for i, f in enumerate(branches):
        if i == which:
            result = f(x)
    return result


@unseen(lambda d: (t(5.0),), lambda d: (t(0.5),), lambda d: (t(-2.0),), prints=True)
def prints_on_some_paths(x):
    print("begin")
    if x > 1:
        print("large", x.item())
    elif x > 0:
        print(f"small {x.item():.2f}")
        return x * 10
    print("end")
    return x


@unseen(lambda d: (t(4.0),), lambda d: (t(-4.0),), changes=("SEEN",))
def global_list_on_some_paths(x):
    SEEN.append("called")
    if x > 0:
        SEEN.append("positive")
        return x.sqrt()
    SEEN.extend(["negative", len(SEEN)])
    return (-x).sqrt()


@unseen(lambda d: (t(3.0), t(4.0)), lambda d: (t(-3.0), t(4.0)), grad=(0, 1))
def ternaries_in_arguments(a, b):
    return tx.add(a if a > 0 else -a, b * 2 if b > a else b, alpha=2 if a.ndim == 0 else 3)


@unseen(lambda d: (t(0.5),), lambda d: (t(3.5),), lambda d: (t(30.0),), grad=(0,))
def chain_of_comparisons(x):
    if 0 < x <= 1 < 2:
        return x
    if not 1 < x < 10:
        return x / 10
    return x * x


@unseen(
    lambda d: (t([1.0, 2.0]), True),
    lambda d: (t([-1.0, 2.0]), True),
    lambda d: (t([1.0, 2.0]), False),
)
def bools_of_python_and_tensors(x, flag):
    ok = flag
    ok &= bool((x > 0).all())
    count = sum([bool(v > 1) for v in x])
    return ok, count, int(ok) + count


@unseen(lambda d: (t(3.0),), lambda d: (t(-3.0),))
def raises_on_one_path(x):
    try:
        if x.ndim > 0:
            raise ValueError("a single number")
    except ValueError:
        return x.sum()
    return x if x > 0 else x * 0


@unseen(lambda d: (d.normal(3, 3),), lambda d: (-d.normal(3, 3).abs(),), grad=(0,))
def writes_on_some_paths(x):
    y = x.clone()
    if x.trace() > 0:
        y[0] = 0.0
        y[:, 1] += 1
    else:
        y.mul_(2)
    return y


@unseen(lambda d: (t(7.0),), lambda d: (t(70.0),), lambda d: (t(-1.0),))
def while_with_three_exits(x):
    n = 0
    while x < 100:
        n += 1
        if x < 0:
            return n, "negative"
        x = x * 1.5
        if n % 4 == 0:
            x = x + 1
            continue
        if x > 90:
            break
    else:
        return n, "end"
    return n, "break"


@unseen(
    lambda d: (d.normal(4), d.normal(4) > 0),
    lambda d: (d.normal(4), tx.zeros(4, dtype=tx.bool)),
    grad=(0,),
)
def mask_or_default(x, mask):
    if not mask.any():
        return x.mean()
    chosen = tx.where(mask, x, 0.0)
    return chosen.sum() / mask.sum()
