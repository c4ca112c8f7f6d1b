"""A graph as one node of the tape: writes, results that share memory, loops and branches, threads, processes, errors."""

import os
import threading

import numpy as np
import pytest

import thixo as tx
from tests.capture.test_joint import agree, arrays, compiled, leaves, orders, rand
from thixo.capture.joint import GraphFunction
from thixo.errors import InplaceError, ShapeError, ThixoError
from thixo.graph import parse
from thixo.graph.interpret import GuardError


def same_memory(a, b):
    return tx._core.shares_memory(a, b)


# ---- writes


def test_a_buffer_is_written_in_place():
    count, mean = tx.zeros(()), tx.zeros(4, dtype=tx.float64)

    def f(x, w):
        y = x * w
        with tx.no_grad():
            mean.mul_(0.9).add_(y.mean(0), alpha=0.1)
            count.add_(1)
        return y - mean

    made = compiled(f, rand(5, 4), rand(4))
    expected = np.zeros(4)
    for turn in range(3):
        x, w = rand(5, 4, seed=turn), rand(4, grad=turn > 0)
        (y,) = made(x, w)
        expected = 0.9 * expected + 0.1 * (x.numpy() * w.detach().numpy()).mean(0)
        np.testing.assert_allclose(mean.numpy(), expected)
        np.testing.assert_allclose(y.detach().numpy(), x.numpy() * w.detach().numpy() - expected)
        assert count.item() == turn + 1
        assert y.requires_grad == (turn > 0)
        assert not mean.requires_grad
        if turn:
            y.sum().backward()
            np.testing.assert_allclose(w.grad.numpy(), x.numpy().sum(0))


def test_an_input_with_a_history_is_written():
    def f(x, w):
        x.mul_(w)
        x[0] = w * 2
        return x.sum(0)

    made = compiled(f, rand(5, 4), rand(4))
    found = []
    for call in (f, made):
        x, w = rand(5, 4, grad=True), rand(4, grad=True)
        y = x * 1
        z = leaves(call(y, w))[0]
        grads = tx.autograd.grad((z**2).sum() + (y**3).sum(), [x, w])
        found.append([arrays([y, z]), arrays(grads)])
    agree(found[1], found[0])


def test_an_input_without_a_history_gets_one():
    def f(x, w):
        x.add_(w)

    made = compiled(f, rand(4), rand(4))
    for call in (f, made):
        x, w = rand(4), rand(4, grad=True)
        call(x, w)
        assert x.requires_grad
        (x * x).sum().backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * x.detach().numpy())


def test_a_parameter_is_written_past_the_tape():
    def f(w, x):
        loss = (w * x).sum()
        with tx.no_grad():
            w.sub_(x, alpha=0.5)
        return loss

    made = compiled(f, rand(4, grad=True), rand(4))
    w, x = rand(4, grad=True), rand(4)
    before = w.detach().numpy().copy()
    (loss,) = made(w, x)
    np.testing.assert_allclose(w.detach().numpy(), before - 0.5 * x.numpy())
    assert w.is_leaf
    assert w._version > 0
    loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), x.numpy())


def test_an_error_leaves_everything_as_it_was():
    total = tx.zeros(3)

    def f(x, i):
        total.add_(x)
        return x.index_select(0, i)

    made = compiled(f, tx.ones(3), tx.tensor([0, 1]))
    with pytest.raises(ThixoError, match=r"test_joint_memory.py:\d+"):
        made(tx.ones(3), tx.tensor([0, 7]))
    assert total.tolist() == [0, 0, 0]


# ---- results that share memory


def test_results_are_inputs_or_views_of_them():
    def f(x, y):
        return x, x.t(), y[1:], y.detach(), x * 2

    made = compiled(f, rand(3, 4), rand(5))
    for grad in (False, True):
        x, y = rand(3, 4, grad=grad) * 1, rand(5, grad=grad) * 1
        a, b, c, d, e = made(x, y)
        assert a is x
        assert same_memory(b, x)
        assert b.stride() == x.t().stride()
        assert same_memory(c, y)
        assert same_memory(d, y)
        assert not d.requires_grad
        assert not same_memory(e, x)
        assert e.requires_grad == grad
        with tx.no_grad():
            y.zero_()
        assert c.tolist() == [0] * 4


def test_results_look_at_each_other():
    def f(x):
        y = x * 2
        return y, y[0], y.t(), y

    made = compiled(f, rand(3, 4))
    x = rand(3, 4, grad=True)
    a, b, c, d = made(x)
    assert a is d
    assert same_memory(a, b)
    assert same_memory(a, c)
    b.mul_(3)
    assert np.array_equal(a[0].detach().numpy(), 6 * x[0].detach().numpy())
    (grad,) = tx.autograd.grad(a.sum() + c.sum(), [x])
    assert grad.tolist() == [[12] * 4, [4] * 4, [4] * 4]


def test_what_was_written_is_the_result():
    def f(x):
        x.add_(1)
        return x, x[0]

    made = compiled(f, rand(3, 4))
    x = rand(3, 4)
    y, row = made(x)
    assert y is x
    assert same_memory(row, x)
    assert np.array_equal(x[0].numpy(), row.numpy())


def test_a_result_that_is_transposed_lies_as_it_does_without_a_graph():
    y = compiled(lambda x: (x * 2).t(), rand(3, 4))(rand(3, 4))[0]
    assert y.stride() == (1, 4)


# ---- sizes


def test_sizes_of_0_and_1():
    def f(x, w):
        return (x * w).sum(0), x.mean(-1)

    made = compiled(f, rand(3, 4), rand(3, 4), small_sizes=True)
    for shape in ((1, 4), (3, 1), (1, 1), (0, 4), (5, 2)):
        inputs = [rand(*shape, grad=True), rand(*shape, grad=True, seed=1)]
        agree(orders(made, inputs), orders(f, inputs))
        inputs = [rand(*shape), rand(*shape)]
        agree([arrays(made(*inputs))], [arrays(f(*inputs))])
    with pytest.raises(ShapeError, match="sizes 0 and 1 need a graph of their own"):
        compiled(f, rand(3, 4), rand(3, 4))(rand(1, 4), rand(1, 4))


def test_sizes_that_no_kept_value_says():
    made = compiled(lambda x: (x.sum(0) * 3, x.shape[0] * x.sum()), rand(3, 4))
    x = rand(5, 4, grad=True)
    _y, z = made(x)
    assert [v.name for v in next(iter(made.function._recorded.values())).halves.kept] == []
    (grad,) = tx.autograd.grad(z, [x])
    assert grad.tolist() == [[5.0] * 4] * 5


def test_sizes_that_the_data_decide():
    def f(x, w):
        return (x[x > 0] * w).exp(), x[x > 0].sum()

    made = compiled(f, rand(9), rand(1))
    for seed in range(3):
        inputs = [rand(9, grad=True, seed=seed), rand(1, grad=True)]
        agree(orders(made, inputs), orders(f, inputs))


def test_guards_and_types():
    def f(x):
        return x * 2 if x.shape[0] > 3 else x

    made = compiled(f, rand(5))
    for grad in (False, True):
        with pytest.raises(GuardError, match="it was traced where"):
            made(rand(3, grad=grad))
        with pytest.raises(ShapeError, match="input x must be"):
            made(rand(3, 3, grad=grad))


# ---- loops and branches

FLOW = """
graph more(x: f64[m], i: i64[], w: f64[m]) {
  p: bool[] = lt(i, 5)
  return p
}

graph step(x: f64[m], i: i64[], w: f64[m]) {
  a: f64[m] = mul(x, w)
  b: f64[m] = sin(a)
  j: i64[] = add(i, 1)
  return b, j
}

graph then(x: f64[m], w: f64[m]) {
  y: f64[m] = mul(x, w)
  return y
}

graph other(x: f64[m], w: f64[m]) {
  y: f64[m] = exp(x)
  return y
}

graph main(x: f64[m], w: f64[m], zero: i64[], pred: bool[]) {
  y: f64[m], n: i64[] = while_loop(test=more, body=step, state=[x, zero], captured=[w])
  noise: f64[m] = rand((m,), dtype=f64)
  u: f64[m] = mul(y, noise)
  z: f64[m] = cond(pred=pred, then=then, other=other, inputs=[u, w])
  t: f64[m] = sqrt(x)
  return z, t, n
}
"""


def test_loops_and_branches():
    from thixo.graph import Interpreter

    graph = parse(FLOW)
    function = GraphFunction(graph)
    for pred in (True, False):
        rest = (tx.tensor(0), tx.tensor(pred))
        found = []
        for call in (lambda g: Interpreter(graph).run(*g), function):
            tx.manual_seed(5)
            x, w = rand(4, grad=True).abs(), rand(4, grad=True)
            one = lambda *g, call=call, rest=rest: tuple(call([*g, *rest])[:1])  # noqa: E731
            inputs = [x.detach().requires_grad_(), w]
            found.append([*orders(one, inputs), [tx.get_rng_state().numpy()]])
        agree(found[1], found[0])


def test_a_part_of_the_results_of_a_graph_with_loops():
    function = GraphFunction(parse(FLOW))
    x = tx.zeros(4, dtype=tx.float64, requires_grad=True)  # the slope of sqrt there has no end
    w = rand(4, grad=True)
    z, _t, n = function([x, w, tx.tensor(0), tx.tensor(True)])
    gx, gw = tx.autograd.grad(z.sum(), [x, w], retain_graph=True)
    assert np.isfinite(gx.numpy()).all()
    assert np.isfinite(gw.numpy()).all()
    assert n.item() == 5


# ---- several at once


def test_threads():
    def f(x, w):
        return ((x @ w).tanh() @ w.t()).sum(0)

    made = compiled(f, rand(5, 4), rand(4, 6))
    expected, found, errors = {}, {}, []
    for i in range(4):
        inputs = [rand(5 + i, 4, grad=True, seed=i), rand(4, 6, grad=True, seed=i)]
        expected[i] = orders(f, inputs)

    def work(i):
        try:
            for _ in range(20):
                inputs = [rand(5 + i, 4, grad=True, seed=i), rand(4, 6, grad=True, seed=i)]
                found[i] = orders(made, inputs)
                agree(found[i], expected[i])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert len(found) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork():
    def f(x, w):
        return (x @ w).tanh().sum(0)

    made = compiled(f, rand(64, 64), rand(64, 64))
    inputs = [rand(64, 64, grad=True, seed=i) for i in range(2)]
    expected = orders(made, inputs, 1)
    child = os.fork()
    if not child:
        status = 1
        try:
            agree(orders(made, inputs, 1), expected)
            agree(
                orders(made, [rand(3, 64, grad=True), inputs[1]], 1),
                orders(f, [rand(3, 64, grad=True), inputs[1]], 1),
            )
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_an_input_that_is_kept_and_written_by_the_graph():
    def f(x, w):
        y = (x * w).sum()
        x.add_(1)
        return y

    made = compiled(f, rand(4), rand(4))
    x, w = rand(4), rand(4, grad=True)
    before = x.numpy().copy()
    (y,) = made(x, w)
    y.backward()  # the graph keeps what it was before
    np.testing.assert_allclose(w.grad.numpy(), before)
    np.testing.assert_allclose(x.numpy(), before + 1)


def test_a_write_that_others_would_see_is_refused():
    def f(x, y):
        x.add_(y)

    made = compiled(f, rand(4), rand(4))
    x = rand(6)
    with pytest.raises(ThixoError, match="share memory"):
        made(x[:4], x[1:5])
    with pytest.raises(InplaceError, match="cannot be written"):
        made(rand(1).expand(4), rand(4))


def test_sizes_that_are_returned():
    def f(x):
        positive = x[x > 0]
        return positive * 2, positive.shape[0] + x.shape[0]

    traced = tx.jit.trace(f, rand(9))
    for grad in (False, True):
        x = rand(7, grad=grad)
        found, size = traced(x)
        assert size == 7 + int((x > 0).sum())
        assert found.requires_grad == grad
    with pytest.raises(ThixoError, match="no value of the graph says what nothing is"):
        GraphFunction(traced.graph, sizes=["nothing"])


def quadrant(a, b):
    if a.sum() > 0:
        if b.sum() > 0:
            out = a * b
        else:
            out = a - b
    else:
        if b.sum() > 0:
            out = b / (1 + a * a)
        else:
            out = a + b
            out = out * out
    return out


def turns(a, b):
    while (a * a).sum() < 100:
        a = a * 1.5 + b
    return a


@pytest.mark.parametrize("f", [quadrant, turns])
def test_branches_and_loops_whose_sizes_are_equal_by_a_guard(f):
    from thixo.capture.captured import capture_call

    graph = capture_call(f, (rand(3), rand(3)), {}).graph
    function = GraphFunction(graph)
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        inputs = [(rand(4).abs() * s + 0.1 * s).requires_grad_() for s in signs]
        found = orders(lambda *g: tuple(function(g)), inputs)
        agree(found, orders(f, inputs))
