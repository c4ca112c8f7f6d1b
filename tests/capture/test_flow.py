"""Control flow by hand: the plain Python run is the judge of every other way to run it."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.errors import ArgumentError, DTypeError, GraphError, ShapeError, ThixoError
from thixo.pytree import tree_leaves

f64 = tx.float64


def numbers(*values, grad=True):
    return tx.tensor(values, dtype=f64, requires_grad=grad)


def lazily(f):
    def run(*args):
        with tx.lazy():
            return f(*args)

    return run


def seen(f, args, second):
    """Values, gradients and gradients of gradients of a function."""
    args = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
    results = tree_leaves(f(*args))
    found = [r.detach().numpy() for r in results]
    graded = [r for r in results if r.requires_grad]
    wanted = [a for a in args if a.requires_grad]
    if graded and wanted:
        total = sum((r * r).sum() for r in graded)
        slopes = tx.autograd.grad(total, wanted, create_graph=second, allow_unused=True)
        found += [None if s is None else s.detach().numpy() for s in slopes]
        moving = [s for s in slopes if s is not None and s.requires_grad]
        if second and moving:
            more = tx.autograd.grad(sum((s * s).sum() for s in moving), wanted, allow_unused=True)
            found += [None if s is None else s.numpy() for s in more]
    return found + [a.detach().numpy() for a in args]


def alike(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        # A branch that was not taken has zeros in a graph, and no gradient at all on the tape.
        if a is None or b is None:
            assert not np.any(a if b is None else b) or a is b
        else:
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def everywhere(f, *sets, second=True, compiled=False):
    """Compare a trace, a scripted function and lazy code with eager code on several sets of arguments."""
    ways = [tx.jit.trace(f, sets[0]), tx.jit.script(f), lazily(f)]
    if compiled:
        ways.append(tx.compile(f, fullgraph=True))
    for args in sets:
        expected = seen(f, args, second)
        for way in ways:
            alike(seen(way, args, second), expected)
    return ways


# ---- branches


def test_only_one_branch_runs_and_both_are_in_the_graph():
    def f(x, w):
        return tx.cond(x.sum() > 0, lambda x, w: (x * w).sin(), lambda x, w: x * x - w, (x, w))

    traced, *_ = everywhere(
        f, (numbers(1, 2), numbers(3, 4)), (numbers(-1, -2, -3), numbers(1, 2, 3)), compiled=True
    )
    assert [n.op.full_name for n in traced.graph.nodes].count("cond") == 1


def test_structures_closures_and_python_values():
    class Pair(NamedTuple):
        a: object
        b: object

    scale = 3.0
    weight = numbers(0.5, 1.5, grad=False)

    def f(x):
        def big(given):
            return {"out": Pair(given["x"] * weight * scale, [given["x"]]), "none": None}

        def small(given):
            return {"out": Pair(given["x"].exp(), [weight + given["n"]]), "none": None}

        return tx.cond(x.sum() > 1, big, small, ({"x": x, "n": 2},))

    everywhere(f, (numbers(1, 2),), (numbers(-1, -2),))
    assert type(tx.jit.trace(f, numbers(1, 2))(numbers(1, 2))["out"]) is Pair


def test_closures_over_parameters_have_gradients():
    layer = tx.nn.Linear(2, 2, dtype=f64)

    def f(x):
        return tx.cond(x.sum() > 0, lambda: layer(x).tanh(), lambda: x * layer.bias)

    for way in (tx.jit.trace(f, numbers(1, 2)), tx.jit.script(f)):
        for x in (numbers(1, 2), numbers(-1, -2)):
            expected = tx.autograd.grad(f(x).sum(), list(layer.parameters()), allow_unused=True)
            found = tx.autograd.grad(way(x).sum(), list(layer.parameters()), allow_unused=True)
            for a, b in zip(found, expected, strict=True):
                zeros = a is None or not a.numpy().any()
                assert zeros if b is None else tx.allclose(a, b)


def test_branches_may_return_their_inputs_and_differ_in_gradients():
    fixed = numbers(7, 8, grad=False)
    everywhere(
        lambda x: tx.cond(x.sum() > 0, lambda a, b: (a, b), lambda a, b: (b, a * 2), (x, fixed)),
        (numbers(1, 2),),
        (numbers(-1, -2),),
    )


def test_branches_may_differ_in_a_size():
    def f(x):
        y = tx.cond(x.sum() > 0, lambda: x[:2] * 2, lambda: tx.cat([x, x]).exp())
        return y * 3, y.sum()

    everywhere(f, (numbers(1, 2, 3),), (numbers(-1, -2, -3),), (numbers(-1, -2, -3, -4),))

    def chosen(x):
        return tx.cond(x.sum() > 0, lambda: x[x > 1] * x.sum(), lambda: x[x < 0].sin()).sum()

    everywhere(chosen, (numbers(1, 2, 3),), (numbers(-1, -2, 2),))


def test_a_write_in_a_branch_happens_if_it_runs():
    net = tx.nn.BatchNorm1d(2, dtype=f64)
    count = tx.zeros(1)

    def f(x):
        def train():
            count.add_(1)
            return net(x)

        y = tx.cond(x.sum() > 0, train, lambda: x * 2) + count[0]
        y, _ = tx.scan(lambda y, _: (net(y), None), y, length=2)
        return tx.while_loop(lambda y, n: n < count, lambda y, n: (net(y), n + 1), (y, 0))[0]

    x, y = tx.randn(4, 2, dtype=f64).abs(), -tx.randn(4, 2, dtype=f64).abs()

    def run(way):
        with tx.no_grad():
            count.zero_()
            net.reset_running_stats()
        results = [way(a).detach().numpy() for a in (x, y, x)]
        return [*results, net.running_mean.numpy().copy(), count.numpy().copy()]

    ways = (tx.jit.trace(f, x), tx.jit.script(f), lazily(f))
    expected = run(f)
    for way in ways:
        for a, b in zip(run(way), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_view_that_a_branch_writes_through():
    def f(x):
        y = x * 1
        row = y[0]

        def write():
            row.mul_(10)
            return y.sum()

        total = tx.cond(x.sum() > 0, write, lambda: y.sum())
        return total, y, row

    data = numbers(1, 2, 3, 4).reshape(2, 2).detach()
    everywhere(f, (data,), (-data,), second=False)


def test_scripted_branches_change_lists_and_attributes():
    class Box:
        def __init__(self):
            self.total = tx.zeros(2, dtype=f64)

    box, log = Box(), []

    def f(x):
        def big(x):
            log.append(x.sum())
            box.total = x
            return x * 2

        return tx.cond(x.sum() > 0, big, lambda x: x, (x,))

    scripted = tx.jit.script(f)
    for values in ((1, 2), (-1, -2), (3, 4)):
        scripted(numbers(*values, grad=False))
    assert [x.item() for x in log] == [3, 7]
    assert box.total.tolist() == [3, 4]


def test_exceptions_in_a_branch_are_raised_where_it_runs():
    def f(x):
        def bad():
            raise ValueError("too large")

        return tx.cond(x.sum() > 5, bad, lambda: x)

    for way in (f, tx.jit.trace(f, numbers(1, 2)), tx.jit.script(f)):
        assert way(numbers(1, 2)).tolist() == [1, 2]
        with pytest.raises(ValueError, match="too large"):
            way(numbers(5, 2))


def test_switch_counts_from_zero_and_the_last_one_takes_the_rest():
    def f(x, i):
        branches = [lambda x: x + 1, lambda x: x * x, lambda x: x.sin()]
        return tx.switch(i, branches, (x,))

    sets = [(numbers(1, 2), tx.tensor(i)) for i in (0, 1, 2, 3, -1)]
    traced, *_ = everywhere(f, *sets)
    assert "switch" in [n.op.full_name for n in traced.graph.nodes]
    assert tx.switch(1, [lambda: 1, lambda: 2]).item() == 2
    assert tx.switch(tx.tensor([1], dtype=tx.int32), [lambda: 1, lambda: 2]).item() == 2


def test_branches_nest():
    def f(x):
        def outer(x):
            return tx.cond(x[0] > 1, lambda y: y * x, lambda y: y + x, (x * 2,))

        return tx.cond(x.sum() > 0, outer, lambda x: x * x * x, (x,))

    everywhere(f, (numbers(2, 3),), (numbers(0.5, 3),), (numbers(-2, -3),))


# ---- loops


def test_while_loops_carry_structures():
    def f(x, w):
        def body(state, n):
            return {"y": state["y"] * w + 1}, n + 1

        state, n = tx.while_loop(
            lambda state, n: (state["y"].sum() < 100) & (n < 20), body, ({"y": x}, 0)
        )
        return state["y"], n

    sets = [(numbers(1, 2), numbers(1.5, 2)), (numbers(100, 2), numbers(1, 2))]
    everywhere(f, *sets, compiled=True)


def test_a_loop_has_a_limit_and_takes_one_value_too():
    def f(x):
        return tx.while_loop(lambda y: y.sum() < 1e9, lambda y: y * 2, x, limit=3)

    everywhere(f, (numbers(1, 2),), (numbers(1e9, 2),))
    assert tx.while_loop(lambda y: True, lambda y: y + 1, 0, limit=4).item() == 4
    assert tx.while_loop(lambda x, y: x < 3, lambda x, y: (x + 1, y), [0, 1])[0].item() == 3


def test_a_loop_writes_to_what_is_outside():
    total = tx.zeros(2, dtype=f64)

    def f(x):
        def body(n):
            total.add_(x)
            return n + 1

        return tx.while_loop(lambda n: n < x.sum(), body, 0), total * 1

    ways = (tx.jit.trace(f, tx.tensor([1.0, 2.0], dtype=f64)), tx.jit.script(f))
    for way in ways:
        total.zero_()
        assert way(tx.tensor([1.0, 2.0], dtype=f64))[0].item() == 3
        assert total.tolist() == [3, 6]


def test_scan_carries_and_stacks():
    def f(x, w):
        def step(h, row):
            h = (h * w + row["a"]).tanh()
            return h, {"h": h, "twice": row["b"] * 2}

        return tx.scan(step, w * 0, {"a": x, "b": x.sum(1)})

    a = tx.randn(3, 2, dtype=f64)
    b = tx.randn(5, 2, dtype=f64)
    w = numbers(0.5, -1)
    everywhere(f, (a.requires_grad_(), w), (b.requires_grad_(), w), compiled=True)


def test_scan_in_reverse_along_another_axis_and_by_length():
    def f(x):
        last, sums = tx.scan(lambda s, c: (s + c, s * c), x[:, 0] * 0, x, reverse=True, dim=1)
        power, none = tx.scan(lambda p, _: (p * 2, None), 1, length=x.shape[0])
        assert none is None
        return last, sums, power

    everywhere(f, (tx.randn(3, 4, dtype=f64),), (tx.randn(2, 5, dtype=f64),))


def test_map_stacks_what_a_function_returns():
    w = numbers(2, 3)

    def f(x):
        return tx.map(lambda row, w: {"s": (row * w).sum(), "r": row.exp()}, x, w)

    everywhere(f, (tx.randn(3, 2, dtype=f64).requires_grad_(),))


def test_nothing_to_scan_gives_empty_results_of_the_right_types():
    carry, out = tx.scan(lambda c, x: (c + x.sum(), (x.exp(), x > 0)), 0.0, tx.zeros(0, 3))
    assert carry.item() == 0
    assert out[0].shape == (0, 3)
    assert out[1].dtype is tx.bool
    assert tx.map(lambda x: tx.stack([x, x]), tx.zeros(0, 4)).shape == (0, 2, 4)
    for way in (tx.jit.script, lambda f: tx.jit.trace(f, tx.zeros(0, 3), check=False)):
        made = way(lambda x: tx.map(lambda row: row.sum(), x))(tx.zeros(0, 3))
        assert made.shape == (0,)


def test_gradients_inside_of_the_captured_function():
    def f(x):
        y = tx.cond(x.sum() > 0, lambda: (x * x).sin(), lambda: x.exp())
        y = tx.while_loop(lambda y: y.sum() < 3, lambda y: y * x.exp() + 0.5, y)
        y, _ = tx.scan(lambda y, r: (y * r + y.sin(), None), y, x)
        (slope,) = tx.autograd.grad((y * y).sum(), x, create_graph=True)
        (bend,) = tx.autograd.grad((slope * slope).sum(), x, create_graph=True)
        return y, slope, bend

    everywhere(f, (numbers(0.1, 0.2),), (numbers(-0.3, 0.1),), second=False)


def test_dropout_in_a_branch_draws_the_same_numbers_as_eager_code():
    def f(x):
        return tx.cond(x.sum() > 0, lambda: tx.nn.functional.dropout(x, 0.5), lambda: x)

    x = numbers(*range(1, 50))
    results = []
    for way in (f, tx.jit.trace(f, x, check=False), tx.jit.script(f)):
        tx.manual_seed(3)
        y = way(x)
        (slope,) = tx.autograd.grad(y.sum(), x)
        results.append((y.tolist(), slope.tolist()))
    assert results[0] == results[1] == results[2]


def test_static_graphs_take_the_same_functions():
    with tx.static.Graph() as g:
        x = tx.static.placeholder((None,), tx.float64, "x")
        y = tx.cond(x.sum() > 0, lambda a: a * 2, lambda a: -a, (x,))
        last, sums = tx.scan(lambda s, r: (s + r, s), tx.zeros((), dtype=f64), y)
        mapped = tx.map(lambda r: r * r, x)
        (slope,) = tx.static.gradients(last + mapped.sum(), [x])
    session = tx.static.Session(g)
    for values in ((1.0, 2.0, 3.0), (-1.0, -2.0)):
        data = numbers(*values)
        y = data * 2 if data.sum() > 0 else -data
        (expected,) = tx.autograd.grad(y.sum() + (data * data).sum(), data)
        found = session.run([last, sums, slope], {x: data.detach()})
        assert found[0].item() == y.sum().item()
        assert found[1].shape == (len(values),)
        assert found[2].tolist() == expected.tolist()


# ---- random programs


def steps():
    """Functions of a vector that keep its length, with control flow inside of control flow."""
    plain = st.sampled_from(
        [lambda x: x.sin(), lambda x: x * x, lambda x: x + 1, lambda x: -x, lambda x: x.cumsum(0)]
    )

    def more(inner):
        pair = st.tuples(inner, inner)
        return st.one_of(
            pair.map(lambda p: lambda x: p[1](p[0](x))),
            pair.map(lambda p: lambda x: tx.cond(x.sum() > 0, *p, (x,))),
            pair.map(lambda p: lambda x: tx.cond(x[0] > 1, lambda: p[0](x), lambda: x * p[1](x))),
            st.tuples(inner, inner, inner).map(
                lambda p: lambda x: tx.switch(x.sum().to(tx.int64) % 3, p, [x])
            ),
            inner.map(
                lambda f: (
                    lambda x: tx.while_loop(
                        lambda y, n: (n < 3) & (y.sum().abs() < 5),
                        lambda y, n: (f(y), n + 1),
                        (x, 0),
                    )[0]
                )
            ),
            inner.map(lambda f: lambda x: tx.scan(lambda c, r: (f(c) * r.cos(), None), x, x)[0]),
            inner.map(lambda f: lambda x: tx.map(lambda r: f(x * r.cos()).mean(), x)),
        )

    return st.recursive(plain, more, max_leaves=5)


@settings(max_examples=25, deadline=None)
@given(steps(), st.integers(0, 10**6))
def test_random_programs_are_the_same_everywhere(f, seed):
    draws = np.random.default_rng(seed)
    sets = [(tx.tensor(draws.normal(size=n), requires_grad=True),) for n in (3, 3, 4)]
    traced = tx.jit.trace(f, sets[0], check=False)
    for args in sets:
        expected = seen(f, args, False)
        if all(e is None or np.isfinite(e).all() for e in expected):
            alike(seen(traced, args, False), expected)


# ---- bad input


X = numbers(1, 2)

WRONG = {
    "cond: pred must be one bool, got bool[2]; say x.any() or x.all()": (
        ShapeError, lambda: tx.cond(X > 0, lambda: X, lambda: X)
    ),
    "cond: pred must be a bool, got f64[]; compare it, as x != 0": (
        DTypeError, lambda: tx.cond(X.sum(), lambda: X, lambda: X)
    ),
    "cond: pred must be a bool or a tensor bool[], got 1": (
        ArgumentError, lambda: tx.cond(1, lambda: X, lambda: X)
    ),
    "cond: true_fn must be a function, got": (ArgumentError, lambda: tx.cond(True, X, lambda: X)),
    "cond: operands must be a tuple or a list": (
        ArgumentError, lambda: tx.cond(True, lambda x: x, lambda x: x, X)
    ),
    "cond: results of name must be tensors in any containers, one is 'word'": (
        ArgumentError, lambda: tx.cond(True, name, lambda: X)
    ),
    "switch: needs at least one function, got none": (ArgumentError, lambda: tx.switch(0, [])),
    "switch: needs a list of functions": (ArgumentError, lambda: tx.switch(0, lambda: X)),
    "switch: branches[1] must be a function, got 3": (
        ArgumentError, lambda: tx.switch(0, [lambda: X, 3])
    ),
    "switch: index must be a whole number, got f64[]": (
        DTypeError, lambda: tx.switch(X.sum(), [lambda: X])
    ),
    "switch: index must be a whole number or a tensor of one, got True": (
        ArgumentError, lambda: tx.switch(True, [lambda: X])
    ),
    "while_loop: limit must be a number of turns or None, got -1": (
        ArgumentError, lambda: tx.while_loop(lambda x: True, lambda x: x, X, limit=-1)
    ),
    "while_loop: what cond_fn returns must be one bool": (
        ShapeError, lambda: tx.while_loop(lambda x: x > 0, lambda x: x, X)
    ),
    "the body must return the state as it gets it: part 0 is f64[2] and becomes": (
        GraphError, lambda: tx.while_loop(lambda x: x.sum() > 0, lambda x: tx.cat([x, x]), X)
    ),
    "part 0 is f64[2] and becomes f32[2]": (
        GraphError, lambda: tx.while_loop(lambda x: x.sum() > 0, lambda x: x.to(tx.float32), X)
    ),
    "gets it: (*, *) (* is a tensor), returns a tensor": (
        GraphError, lambda: tx.while_loop(lambda x, y: x.sum() > 0, lambda x, y: x, (X, X))
    ),
    "scan: f must return (carry, what is stacked), returned f64[]": (
        ArgumentError, lambda: tx.scan(lambda c, x: c + x, X.sum(), X)
    ),
    "scan: all tensors of xs must have 2 slices along axis 0, one is f64[3]": (
        ShapeError, lambda: tx.scan(lambda c, x: (c, x), 0.0, (X, numbers(1, 2, 3)))
    ),
    "scan: all tensors of xs must have 3 slices": (
        ShapeError, lambda: tx.scan(lambda c, x: (c, x), 0.0, X, length=3)
    ),
    "scan: f64[] has no axis 0 to slice": (
        ShapeError, lambda: tx.scan(lambda c, x: (c, x), 0.0, X.sum())
    ),
    "scan: needs xs, or a length": (ArgumentError, lambda: tx.scan(lambda c, x: (c, x), 0.0)),
    "scan: length must be a number of turns, got -2": (
        ArgumentError, lambda: tx.scan(lambda c, x: (c, x), 0.0, length=-2)
    ),
    "map: needs a tensor to go over, got none": (ArgumentError, lambda: tx.map(lambda x: x, ())),
    "map: f must be a function": (ArgumentError, lambda: tx.map(X, X)),
}  # fmt: skip


def name():
    return "word"


@pytest.mark.parametrize("text", WRONG)
def test_bad_input(text):
    kind, call = WRONG[text]
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
    assert str(caught.value).endswith(f"(test_flow.py:{call.__code__.co_firstlineno})")


BRANCHES = {
    "the functions must return the same structure of tensors: then returns a tensor, other returns "
    "(*, *) (* is a tensor)": lambda x: (x, x),
    "the functions must return the same types: result 0 of then is f64[n], of other "
    "f32[n]": lambda x: x.to(tx.float32),
    "result 0 of then is f64[n], of other f64[]": lambda x: x.sum(),
}


@pytest.mark.parametrize("text", BRANCHES)
def test_branches_that_differ(text):
    other = BRANCHES[text]

    def f(x):
        def then():
            return x

        return tx.cond(x.sum() > 0, then, named(lambda: other(x), "other"))

    def named(function, word):
        function.__name__ = word
        return function

    with pytest.raises(GraphError) as caught:
        tx.jit.trace(f, X)
    assert text in str(caught.value)
    assert f"(test_flow.py:{f.__code__.co_firstlineno + 4})" in str(caught.value)


def test_a_loop_that_changes_its_state_is_refused_while_it_is_captured():
    def f(x):
        return tx.while_loop(lambda x: x.sum() < 9, lambda x: x.to(tx.float32), x)

    for way in (lambda: tx.jit.trace(f, X), lambda: tx.jit.script(f)(X)):
        with pytest.raises(
            ThixoError, match=r"gets it: part 0 is f64\[(n|2)\] and becomes"
        ) as caught:
            way()
        assert f"test_flow.py:{f.__code__.co_firstlineno + 1})" in str(caught.value)


def test_a_result_that_may_be_an_input_is_not_written():
    def f(x):
        y = tx.cond(x.sum() > 0, lambda: x, lambda: x + 1)
        y.add_(1)
        return x

    def g(x):
        y = tx.cond(x.sum() > 0, lambda: x, lambda: x + 1)
        x.add_(1)
        return y * 2

    for way in (lambda h: tx.jit.trace(h, tx.ones(2)), lambda h: tx.jit.script(h)(tx.ones(2))):
        with pytest.raises(ThixoError, match=r"write to a clone\(\)"):
            way(f)
        with pytest.raises(ThixoError, match=r"take a clone\(\)"):
            way(g)
