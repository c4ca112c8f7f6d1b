"""Branches and loops of Python callables."""

import pytest

import thixo as tx

static = tx.static


def test_only_the_chosen_branch_runs(capsys):
    with static.Graph() as g:
        x = static.placeholder((), tx.float32, "x")
        y = static.cond(
            x > 0, lambda: static.print(x * 2, "then"), lambda: static.print(-x, "other")
        )
    session = static.Session(g)
    assert session.run(y, {x: 3.0}).item() == 6
    assert session.run(y, {x: -3.0}).item() == 3
    assert capsys.readouterr().out == "then tensor(6.)\nother tensor(3.)\n"


def test_branches_share_what_they_use_from_outside_and_have_gradients():
    layer = tx.nn.Linear(3, 3)
    with static.Graph() as g:
        x = static.placeholder((None, 3), tx.float32, "x")
        y = static.cond(x.sum() > 0, lambda: layer(x).tanh(), lambda: (x * layer.bias) * 2)
        slopes = static.gradients((y * y).sum(), [layer.weight, layer.bias])
    session = static.Session(g)
    for data in (tx.ones(2, 3), -tx.ones(4, 3), tx.ones(1, 3)):
        z = layer(data).tanh() if data.sum() > 0 else data * layer.bias * 2
        expected = tx.autograd.grad((z * z).sum(), [layer.weight, layer.bias], allow_unused=True)
        for a, b in zip(session.run(slopes, {x: data}), expected, strict=True):
            assert tx.allclose(a, tx.zeros_like(a) if b is None else b)


def test_switch():
    with static.Graph() as g:
        i = static.placeholder((), tx.int64, "i")
        x = static.placeholder((2,), tx.float32, "x")
        y = static.switch(i, [lambda: x + 1, lambda: x * 3, lambda: -x])
    session = static.Session(g)
    assert [session.run(y, {i: k, x: tx.ones(2)})[0].item() for k in (0, 1, 2, 9)] == [2, 3, -1, -1]


def test_while_loops_nest_with_branches_and_differentiate():
    with static.Graph() as g:
        x = static.placeholder((None,), tx.float64, "x")
        w = static.variable(1.5, name="w", dtype=tx.float64)

        def body(s, n):
            grown = static.cond(s.sum() > 4, lambda: s * w, lambda: s + w)
            return grown, n + 1

        last, turns = static.while_loop(lambda s, n: s.sum() < 50, body, (x, static.constant(0)))
        (slope,) = static.gradients(last.sum(), [w])
    session = static.Session(g)

    def eager(data, w):
        s, n = data, 0
        while s.sum() < 50:
            s, n = (s * w if s.sum() > 4 else s + w), n + 1
        return s, n

    for data in (tx.ones(3, dtype=tx.float64), tx.ones(1, dtype=tx.float64)):
        weight = tx.tensor(1.5, dtype=tx.float64, requires_grad=True)
        s, n = eager(data, weight)
        s.sum().backward()
        found = session.run([last, turns, slope], {x: data})
        assert tx.allclose(found[0], s)
        assert found[1].item() == n
        assert found[2].item() == pytest.approx(weight.grad.item())


def test_bodies_may_use_sizes_from_outside():
    with static.Graph() as g:
        x = static.placeholder((None, 3), tx.float32, "x")
        y = static.placeholder((), tx.float32, "y")
        z = static.cond(y > 0, lambda: tx.ones(x.shape[0]) * y, lambda: tx.zeros(x.shape[0]))
    session = static.Session(g)
    assert session.run(z, {x: tx.ones(4, 3), y: 2.0}).tolist() == [2, 2, 2, 2]
    assert session.run(z, {x: tx.ones(1, 3), y: -2.0}).tolist() == [0]


def test_bodies_may_use_expressions_of_sizes():
    with static.Graph() as g:
        x = static.placeholder((None,), tx.float32, "x")
        double = tx.cat([x, x])
        y = static.while_loop(lambda s: s.sum() < 20, lambda s: s + double, double)
    session = static.Session(g)
    assert session.run(y, {x: tx.ones(3)}).tolist() == [4.0] * 6
    assert session.run(y, {x: tx.ones(1)}).tolist() == [10.0] * 2


def test_scans_in_reverse_and_over_structures():
    with static.Graph() as g:
        x = static.placeholder((None, 2), tx.float32, "x")

        def step(state, rows):
            total = state["total"] + rows["a"] * rows["b"]
            return {"total": total}, (total, rows["a"])

        last, (totals, rows) = static.scan(
            step, {"total": tx.zeros(2)}, {"a": x, "b": x * 2}, reverse=True
        )
        counted, nothing = static.scan(lambda s, _: (s + 1, None), static.constant(0), length=5)
    data = tx.arange(6).reshape(3, 2).to(tx.float32)
    found = static.Session(g).run([last["total"], totals, rows, counted], {x: data})
    assert nothing is None
    assert found[3].item() == 5
    assert found[0].tolist() == (2 * data * data).sum(0).tolist()
    assert found[1][0].tolist() == found[0].tolist()
    assert found[2].tolist() == data.tolist()


def test_a_recurrent_layer_as_a_scan_equals_the_loop():
    cell = tx.nn.RNNCell(3, 4)
    with static.Graph() as g:
        x = static.placeholder((None, None, 3), tx.float32, "x")

        def step(h, row):
            h = cell(row, h)
            return h, h

        _, y = static.scan(step, tx.zeros(x.shape[1], 4), x)
        slopes = static.gradients(y.sum(), list(cell.parameters()))
    data = tx.randn(6, 2, 3)
    h, rows = tx.zeros(2, 4), []
    for t in range(6):
        h = cell(data[t], h)
        rows.append(h)
    expected = tx.autograd.grad(tx.stack(rows).sum(), list(cell.parameters()))
    found = static.Session(g).run([y, *slopes], {x: data})
    assert tx.allclose(found[0], tx.stack(rows))
    for a, b in zip(found[1:], expected, strict=True):
        assert tx.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_state_of_a_loop_may_be_a_list():
    with static.Graph() as g:
        a = static.placeholder((None,), tx.float64, "a")
        x, n = static.while_loop(
            lambda x, n: ((x * x - a).abs() > 1e-9 * a).any() & (n < 50),
            lambda x, n: ((x + a / x) / 2, n + 1),
            [a * 0.5 + 0.5, tx.tensor(0)],
        )
        (slope,) = static.gradients(x.sum(), [a])
    given = tx.tensor([2.0, 9.0, 100.0], dtype=tx.float64)
    root, turns, found = static.Session(g).run([x, n, slope], {a: given})
    assert turns.item() == 6
    assert tx.allclose(root, given.sqrt())
    assert tx.allclose(found, 0.5 / given.sqrt())


@pytest.mark.parametrize("executor", ["serial", "frames", "ready", "sunk"])
def test_prints_keep_their_order_on_every_executor(executor, capsys):
    with static.Graph() as g:
        x = static.placeholder((None,), tx.float32, "x")
        shown = static.print(x * 2, "first")
        static.print(x.sum(), "not fetched")

        def body(y, n):
            y = static.cond(
                y > 3, lambda: static.print(y * 2, "big"), lambda: static.print(y * 2, "small")
            )
            return y, n + 1

        start = static.print(x.sum(), "second")
        y, _ = static.while_loop(lambda y, n: n < 3, body, (start, static.constant(0)))
        last = static.print(y, "last")
    static.Session(g, executor=executor).run([last, shown], {x: [1.0, 0.5]})
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert words == ["first", "second", "small", "small", "big", "last"]


def test_a_constant_may_be_declared_inside_of_a_branch():
    with static.Graph() as g:
        x = static.placeholder((2,), tx.float32, "x")
        y = static.cond(x.sum() > 0, lambda: x + static.constant([1.0, 2.0]), lambda: x)
    assert static.Session(g).run(y, {x: [1.0, 1.0]}).tolist() == [2, 3]
