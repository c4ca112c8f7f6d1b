"""Weights that never change are packed once; a program gives what eager code gives, whatever reads them."""

import numpy as np
import pytest

import thixo as tx
from thixo import _core
from thixo.pytree import tree_leaves

F = tx.nn.functional


def weights(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("kernel", "stride", "size"), [(3, 1, 14), (3, 2, 13), (5, 1, 9), (1, 2, 8)]
)
def test_convolutions_by_constants(kernel, stride, size):
    x, w, b = tx.tensor(weights(2, 24, size, size)), weights(40, 24, kernel, kernel), weights(40)
    with tx.static.Graph() as g:
        place = tx.static.placeholder((2, 24, size, size), tx.float32, "x")
        y = F.conv2d(place, tx.static.constant(w), tx.static.constant(b), stride, kernel // 2)
    call = tx.static.Session(g).bind(y, [place])
    expected = F.conv2d(x, tx.tensor(w), tx.tensor(b), stride, kernel // 2)
    for _ in range(2):
        np.testing.assert_allclose(call(x).numpy(), expected.numpy(), rtol=1e-4, atol=1e-3)
    odd = x.clone()
    odd[0, 0, 0, 0] = float("inf")  # Winograd's sums are then not those of the definition
    expected = F.conv2d(odd, tx.tensor(w), tx.tensor(b), stride, kernel // 2)
    assert tx.equal(call(odd).isfinite(), expected.isfinite())


@pytest.mark.parametrize("rows", [1, 7, 40, 300])
@pytest.mark.parametrize(("inner", "outer"), [(64, 96), (700, 130)])
def test_products_by_constants(rows, inner, outer):
    x, w, b = tx.tensor(weights(2, rows, inner)), weights(outer, inner), weights(outer)
    with tx.static.Graph() as g:
        place = tx.static.placeholder((2, rows, inner), tx.float32, "x")
        kept = tx.static.constant(w)
        y = F.linear(place, kept, tx.static.constant(b)), place @ kept.transpose(0, 1)
    call = tx.static.Session(g).bind(list(y), [place])
    expected = F.linear(x, tx.tensor(w), tx.tensor(b)), x @ tx.tensor(w).transpose(0, 1)
    for _ in range(2):
        for made, one in zip(call(x), expected, strict=True):
            np.testing.assert_allclose(made.numpy(), one.numpy(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("axis", [0, -1])
def test_caches_get_the_lines_that_are_written(axis):
    first = weights(4, 5, 6)
    with tx.static.Graph() as g:
        cache = tx.static.variable(first.copy(), "cache", trainable=False)
        at = tx.static.placeholder((2,), tx.int64, "at")
        rows = tx.static.placeholder((2, 5, 6) if axis == 0 else (4, 5, 2), tx.float32, "rows")
        new = tx.index_copy(cache, axis, at, rows * 2)
        step = [new.sum(), tx.static.assign(cache, new)]
    session = tx.static.Session(g)
    call = session.bind(step, [at, rows])
    expected = tx.tensor(first)
    for places in ([0, 2], [3, 1], [2, 2]):
        given = tx.tensor(weights(*(rows.shape)) + places[0])
        call(tx.tensor(places), given)
        expected = tx.index_copy(expected, axis, tx.tensor(places), given * 2)
        assert tx.equal(session.run(cache), expected)
    with pytest.raises(IndexError):
        call(tx.tensor([0, 9]), tx.ones(rows.shape))
    assert tx.equal(session.run(cache), expected)


def test_one_row_meets_a_matrix_that_no_cache_holds():
    w = np.arange(1026 * 1028, dtype=np.float32).reshape(1026, 1028) % 7
    for rows in (1, 3):
        x = np.arange(rows * 1028, dtype=np.float32).reshape(rows, 1028) % 5
        assert np.array_equal(F.linear(tx.tensor(x), tx.tensor(w)).numpy(), x @ w.T)


@pytest.mark.parametrize("executor", ["sunk", "ready", "frames", "serial"])
def test_what_a_constant_was_made_of_may_change(executor):
    array, x = weights(130, 70), tx.tensor(weights(3, 130))
    tensor, lent = tx.tensor(array), tx.from_numpy(array)  # the second shares memory with the array
    wanted = (x @ tensor).numpy().copy()
    with tx.static.Graph() as g:
        place = tx.static.placeholder((3, 130), tx.float32, "x")
        y = [place @ tx.static.constant(c) for c in (array, tensor, lent)]
        y.append(place @ (tx.static.constant(array) * 2))  # computed while it is compiled
    session = tx.static.Session(g, executor=executor)
    call = session.bind(y, [place])
    array *= 3  # before it is compiled
    tensor *= 3
    for _ in range(3):
        for made, factor in zip(call(x), (1, 1, 1, 2), strict=True):
            np.testing.assert_allclose(made.numpy(), factor * wanted, rtol=1e-4, atol=1e-4)
        array *= 3
        tensor *= 3


@pytest.mark.parametrize("executor", ["sunk", "ready", "frames", "serial"])
def test_arrays_in_graphs_are_taken_as_they_are_when_they_come(executor):
    array, x = weights(130, 70), tx.tensor(weights(3, 130))
    wanted = (x @ tx.tensor(array)).numpy().copy()
    graph = tx.graph.Graph("f")
    place = graph.input("x", "f32[3, 130]")
    weight = graph.constant("w", array)
    graph.outputs = [graph.call("matmul", place, weight), graph.call("neg", weight)]
    run = tx.runtime.executor.executor(graph, executor)
    first = -array
    array *= 3
    for _ in range(3):
        made, other = run([x])
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-4, atol=1e-4)
        assert other.numpy().tolist() == first.tolist()
        array *= 3


def conv_net():
    x = tx.static.placeholder((4, 8, 20, 20), tx.float32, "x")
    y = F.relu(F.conv2d(x, tx.static.constant(weights(32, 8, 3, 3)), padding=1))
    y = F.max_pool2d(F.conv2d(y, tx.static.constant(weights(64, 32, 3, 3)), stride=2), 2)
    return x, y.flatten(1) @ tx.static.constant(weights(64 * 16, 40))


def conv_step():
    x = tx.static.placeholder((4, 8, 20, 20), tx.float32, "x")
    w = tx.static.variable(weights(32, 8, 3, 3), "w")
    v = tx.static.variable(weights(32, 32, 5, 5), "v")
    loss = F.conv2d(F.relu(F.conv2d(x, w, padding=1)), v, stride=2).square().mean()
    return x, [loss, *tx.static.gradients(loss, [w, v])]


def perceptron_step():
    x = tx.static.placeholder((128, 300), tx.float32, "x")
    w = tx.static.variable(weights(300, 200) / 20, "w")
    v = tx.static.variable(weights(200, 50) / 20, "v")
    loss = (tx.tanh(x @ w) @ v).square().mean()
    return x, [loss, tx.optim.Adam([w, v], 1e-3).minimize(loss)]


def attention():
    x = tx.static.placeholder((2, 4, 70, 32), tx.float32, "x")
    w = tx.static.constant(weights(32, 32))
    y = F.scaled_dot_product_attention(x @ w, x, x, is_causal=True)
    return x, [y, tx.static.gradients(y.sum(), [x])]


def loop():
    x = tx.static.placeholder((6, 32, 64), tx.float32, "x")
    w = tx.static.constant(weights(64, 200) / 8)
    v = tx.static.constant(weights(200, 64) / 8)

    def turn(state, row):
        return tx.tanh((state + row) @ w) @ v, None

    return x, tx.static.scan(turn, tx.zeros(32, 64), x)[0]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("model", [conv_net, conv_step, perceptron_step, attention, loop])
def test_memory_is_what_was_said_before_the_run(model, threads):
    before = tx.get_num_threads()
    tx.set_num_threads(threads)
    try:
        with tx.static.Graph() as g:
            x, fetches = model()
        session = tx.static.Session(g, poisoned=True)
        feed = {x: weights(*x.shape)}
        plan = session.plan(fetches, feed)
        (program,) = session._program(tree_leaves(fetches)).executor([tx.tensor(feed[x])]).programs
        assert program.memory == plan.needs
        _core.reset_scratch_peak()
        session.run(fetches, feed)
        assert program.memory["prepared"] == plan.needs["prepared"]  # now they are there
        assert 0 <= plan.needs["arena"] - program.high_water <= 64
        assert _core.scratch_peak() <= plan.needs["scratch"]
        assert f"{plan.needs['prepared']:,} of prepared weights" in str(plan)
    finally:
        tx.set_num_threads(before)
