"""What a path does not use has no gradient, also where its derivative is infinite: captured code is like eager code."""

import linecache

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import thixo as tx

pytestmark = pytest.mark.filterwarnings("ignore")

# Derivatives at 0 are infinite, or multiply what is infinite.
SHARP = ["x.sqrt()", "x.log()", "1.0 / x", "x ** 0.5", "(x * x).sqrt()", "x.abs().sqrt() * 2.0"]
USES = [
    "    if y > 2:\n        y = y * n\n",
    "    if y > 2:\n        y = y + n\n    else:\n        y = y * y\n",
    "    if y <= 2:\n        y = y * 2.0\n    else:\n        y = n * n\n",
    "    k = 0\n    while y > 2 and k < 2:\n        y = y * n\n        k += 1\n",
    "    for row in m:\n        if row.sum() > 9:\n            y = y + n * row.sum()\n",
    "    for row in m:\n        if row.sum() > 9:\n            y = y * n\n        n = (n * 0.0).sqrt()\n",
    "    if y > 2:\n        n = n.sqrt()\n    if y > 2:\n        y = y + n\n",
    "    if y < 2:\n        y = y * y\n        if y > 2:\n            y = y + n.sqrt()\n",
    "    n = n + y\n",
    "    z = n\n    while y < 2:\n        y = y * 2.0 + y * y + 1.0\n        z = z.sqrt()\n",
    "    y = tx.cond(y > 2, lambda a, b: a * b, lambda a, b: a * 3.0, (y, n))\n",
]


def program(sharp, uses):
    lines = ["def f(x, y, m):\n", f"    n = {sharp}\n", *uses, "    return y * y + 0.5 * y\n"]
    text = "".join(lines)
    return defined(text), text


def defined(text):
    names = {"tx": tx}
    file = f"<unused path {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names["f"]


def gradients(f, at, y):
    x, y = (tx.tensor(v, dtype=tx.float64, requires_grad=True) for v in (at, y))
    result = f(x, y, tx.ones(2, 3, dtype=tx.float64))
    first = tx.autograd.grad(result, [x, y], create_graph=True, allow_unused=True)
    moving = [g for g in first if g is not None and g.requires_grad]
    second = tx.autograd.grad(sum(moving), [x, y], allow_unused=True) if moving else ()
    return [result, *first, *second]


def show(values):
    return [v if v is None else round(v.item(), 9) for v in values]


def compare(way, sharp, uses, at, y):
    f, text = program(sharp, uses)
    wanted, found = show(gradients(f, at, y)), show(gradients(way(f), at, y))
    assert str(wanted) == str(found), text


@pytest.mark.parametrize("way", [tx.jit.script, tx.compile], ids=["script", "compile"])
@pytest.mark.parametrize("use", range(len(USES)))
def test_first_and_second_order(way, use):
    compare(way, "x.sqrt()", [USES[use]], 0.0, 0.5)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SHARP),
    st.lists(st.sampled_from(USES), min_size=1, max_size=2),
    st.sampled_from([0.0, 0.0, 1.5]),
    st.sampled_from([0.5, 3.0]),
)
def test_small_programs(sharp, uses, at, y):
    compare(tx.jit.script, sharp, uses, at, y)


@pytest.mark.parametrize("way", [tx.jit.script, tx.compile], ids=["script", "compile"])
def test_a_norm_that_is_not_used(way):
    def clipped(g):
        norm = (g * g).sum().sqrt()
        factor = 1.0 / (norm + 1e-6)
        if factor < 1:
            g = g * factor
        return g

    x = tx.zeros(2, requires_grad=True)
    way(clipped)(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


# ---- gradients that captured code takes itself

INSIDE = """
    made = tx.autograd.grad(y * y + 0.5 * y, [x, a], create_graph=True, materialize_grads=True)
    more = tx.autograd.grad(made[0] + made[1] * made[1], [x, a], materialize_grads=True)
    return y, *made, *more
"""
ONCE = """
    return y, *tx.autograd.grad(y * y + 0.5 * y, [x, a], materialize_grads=True)
"""
LEAVES = """
    x.grad, a.grad = tx.ones_like(x), tx.zeros_like(a)
    (y * y + 0.5 * y).backward()
    return y, x.grad, a.grad
"""
NESTED = [
    "    if a < 2:\n        for row in m:\n            if y > 2:\n                y = y * n\n        y = y * 1.5\n",
    "    if a > 2:\n        k = 0\n        while k < 2:\n            y = y + n\n            k += 1\n",
    "    y = tx.switch(a.long(), [lambda p, q: p * 2.0, lambda p, q: p * q], (y, n))\n",
    "    y = tx.scan(lambda c, r: (tx.cond(r.sum() > 9, lambda c: c * n, lambda c: c * 2.0, (c,)), c), y, m)[0]\n",
]


def taken_inside(way, sharp, uses, end, at, start):
    text = "".join(
        ["def f(x, a, m):\n", "    y = a * 1.0\n", f"    n = {sharp}\n", *uses, end.lstrip("\n")]
    )
    f = defined(text)

    def results(f):
        x, a = (tx.tensor(v, dtype=tx.float64, requires_grad=True) for v in (at, start))
        return show(f(x, a, tx.ones(2, 3, dtype=tx.float64)))

    assert str(results(way(f))) == str(results(f)), text


@pytest.mark.parametrize("way", [tx.jit.script, tx.compile], ids=["script", "compile"])
@pytest.mark.parametrize("end", [INSIDE, ONCE, LEAVES], ids=["twice", "once", "leaves"])
@pytest.mark.parametrize("use", range(len(USES) + len(NESTED)))
def test_gradients_taken_inside(way, end, use):
    uses = [*USES, *NESTED][use]
    taken_inside(way, "x.sqrt()", [uses], end, 0.0, 0.5)
    taken_inside(way, "x.sqrt()", [uses], end, 1.5, 3.0 if "switch" not in uses else 1.0)


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SHARP),
    st.lists(st.sampled_from([*USES, *NESTED]), min_size=1, max_size=2),
    st.sampled_from([INSIDE, ONCE, LEAVES]),
    st.sampled_from([0.0, 0.0, 1.5]),
    st.sampled_from([0.5, 1.0]),
)
def test_small_programs_that_take_gradients_inside(sharp, uses, end, at, start):
    taken_inside(tx.jit.script, sharp, uses, end, at, start)
