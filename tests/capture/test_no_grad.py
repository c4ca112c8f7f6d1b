"""What is computed and written under no_grad: gradients are those of the tape, in branches and loops too."""

import pytest

import thixo as tx


def computed_again(y):
    with tx.no_grad():
        first, mean = y[0], y.mean()
    return y[0] + y.mean() * 2 + first * mean


def computed_before(y):
    mean = y.mean()
    with tx.no_grad():
        same = y.mean()
    return mean * 3 + same


def written(y):
    b = y * 2
    with tx.no_grad():
        b *= 0.6
    return b * b


def written_like_another(y):
    b = y * 2
    with tx.no_grad():
        other = b * 0.6
        b *= 0.6
    return b + other * 5


def views(y):
    b = y * 2
    c = b[0]
    with tx.no_grad():
        c *= 2
        d = b[0]
    return b * 3 + c + d * b[0]


def written_in_a_branch(y):
    b = y * 2
    if y.sum() > 0:
        with tx.no_grad():
            b *= 0.6
    return b * 3


def written_and_used_in_a_branch(y):
    b = y * 2
    if y.sum() > 0:
        with tx.no_grad():
            b *= 0.6
        c = b * b
    else:
        c = b + 1
    return c * 3


def two_writes_in_branches(y):
    b = y * 2
    for i in range(3):
        if y.sum() > i:
            b *= 0.5
            with tx.no_grad():
                b += 1
    return b * 3


def two_writes_in_a_loop(y):
    b = y * 2
    while b.sum() > 1:
        b *= 0.7
        with tx.no_grad():
            b[0] *= 0.5
            b *= 1.1
    return b * 3


def written_first_in_a_loop(y):
    b = y * 2
    while b.sum() > 1:
        with tx.no_grad():
            b *= 0.5
        b += 0.01
        b *= 0.7
    return b * 3


def loops_inside(y):
    b = y * 2
    with tx.no_grad():
        while b.sum() > 1:
            b *= 0.7
        for p in y:
            b += p
    return b * 3


FUNCTIONS = [
    computed_again, computed_before, written, written_like_another, views, written_in_a_branch,
    written_and_used_in_a_branch, two_writes_in_branches, two_writes_in_a_loop, written_first_in_a_loop, loops_inside,
]  # fmt: skip


def called(function, values):
    y = tx.tensor(values, requires_grad=True)
    result = function(y)
    result.sum().backward()
    return result.tolist(), y.grad.tolist()


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_gradients_are_those_of_the_tape(function, make):
    captured = make(function)
    for values in ([1.0, 2.0], [-1.0, -2.0], [3.0, 4.0]):
        found, expected = called(captured, values), called(function, values)
        assert found[0] == pytest.approx(expected[0])
        assert found[1] == pytest.approx(expected[1])


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
def test_a_parameter_that_is_written_and_used_in_a_loop(make):
    def f(p, x):
        for row in x:
            if row > 0:
                with tx.no_grad():
                    p *= 0.5
            x = x + (p + row) * 2
        return x.sum()

    def gradients(call):
        p, x = tx.tensor(2.0, requires_grad=True), tx.tensor([1.0, -2.0, 3.0], requires_grad=True)
        call(p, x).backward()
        return p.item(), p.grad.item(), x.grad.tolist()

    expected, found = gradients(f), gradients(make(f))
    assert found[:2] == pytest.approx(expected[:2])
    assert found[2] == pytest.approx(expected[2])


def written_through_a_view(v):
    first = v[0]
    first *= 3.0
    return v * v


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.filterwarnings("ignore")
def test_a_view_of_a_leaf_is_not_written_and_one_of_what_was_computed_is(make):
    with pytest.raises(tx.errors.InplaceError):
        make(written_through_a_view)(tx.tensor([1.0, 2.0], requires_grad=True))
    found = [called(lambda y, f=f: f(y * 1.0), [1.0, 2.0]) for f in (written_through_a_view, make(written_through_a_view))]  # fmt: skip
    assert found[0] == found[1]


def detached_turn_by_turn(x):
    state, total = x * 0, 0
    for _ in range(3):
        state = (state + x).sin()
        total = total + state.sum()
        state.detach_()
    return total


def detached_after_others_used_it(x):
    y = x * 2
    z = y * 3
    y.detach_().mul_(5)
    return z + y * x


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.parametrize("f", [detached_turn_by_turn, detached_after_others_used_it])
def test_no_gradient_flows_through_what_is_detached_in_place(f, make):
    x, captured = tx.tensor([0.3, 0.4], requires_grad=True), make(f)
    found, expected = captured(x), f(x)
    tx.testing.assert_close(found, expected)
    (grad,), (wanted,) = (tx.autograd.grad(y.sum(), [x]) for y in (found, expected))
    tx.testing.assert_close(grad, wanted)


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
def test_a_tensor_from_outside_that_is_detached_in_place_stays_so(make):
    def f(holder):
        holder["x"].detach_()
        return holder["x"] * 2

    captured = make(f)
    for _ in range(2):
        holder = {"x": tx.ones(2, requires_grad=True)}
        assert not captured(holder).requires_grad
        assert not holder["x"].requires_grad


def written_at_the_start(y):
    with tx.no_grad():
        y *= 1.1
    return y + y * y


def written_through_views(y):
    tail = y[1:]
    with tx.no_grad():
        y.mul_(3)
        tail.add_(1)
    return y * tail.sum()


def written_detached(y):
    y.detach().mul_(2)
    y.detach()[1:].add_(1)
    return y * y


@pytest.mark.parametrize("of", [lambda y: y, lambda y: y * 2])
@pytest.mark.parametrize(
    "make", [lambda f, y: tx.jit.trace(f, y), lambda f, y: tx.jit.script(f)], ids=["trace", "script"]
)  # fmt: skip
@pytest.mark.parametrize(
    "f",
    [written, views, written_at_the_start, written_through_views, written_detached],
)  # fmt: skip
def test_a_tensor_that_is_written_past_the_tape_keeps_its_history(f, make, of):
    captured = make(f, tx.tensor([0.5, 2.0, 1.0], requires_grad=True))
    values = [1.0, 2.0, -3.0]
    found, expected = (called(lambda y, g=g: g(of(y)), values) for g in (captured, f))
    assert found[0] == pytest.approx(expected[0])
    assert found[1] == pytest.approx(expected[1])


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
def test_gradients_of_what_follows_a_step_inside(make):
    def f(w, x):
        (gradient,) = tx.autograd.grad(((w * x) ** 2).sum(), [w])
        with tx.no_grad():
            w.sub_(0.1 * gradient)
        return ((w * x) ** 2).sum()

    def gradients(call):
        w, x = (tx.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [0.5, -1.0]))
        call(w, x).backward()
        return w.tolist(), w.grad.tolist(), x.grad.tolist()

    for found, expected in zip(gradients(make(f)), gradients(f), strict=True):
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("capture", [tx.jit.script, tx.compile])
def test_rows_that_are_gone_over_under_no_grad_have_no_history(capture):
    def last(v):
        a = 1.9
        with tx.no_grad():
            for row in v:
                a = row
        return a, v * 2

    v = tx.tensor([0.5, -0.7, -1.3], requires_grad=True)
    row, twice = capture(last)(v)
    assert not row.requires_grad
    (row + twice.sum()).backward()
    assert v.grad.tolist() == [2.0, 2.0, 2.0]
