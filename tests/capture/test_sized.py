"""The sizes that come first have a graph of their own; all others share one."""

import pytest

import thixo as tx
from thixo.capture.sized import Sized


def newton(x, a):
    n = tx.zeros((), dtype=tx.int64)
    r = x * x - a
    while tx.sqrt((r * r).sum()) > 1e-4:
        x = x - 0.25 * r / (2.0 * x)
        r = x * x - a
        n = n + 1
    return x, n


def executor_of(f):
    return f._graphs.entries[0].run.function._plain._executor


def test_first_sizes_are_numbers_in_loops():
    f = tx.compile(newton)
    for size in (8, 8, 5, 5, 3, 8):
        x, a = tx.ones(size), tx.rand(size) + 0.5
        for found, expected in zip(f(x, a), newton(x, a), strict=True):
            assert found.shape == expected.shape
            assert tx.allclose(found, expected)
    run = executor_of(f)
    assert len(f.graphs) == 1
    assert [str(s) for s in run._special.graph.inputs[0].shape] == ["8"]
    body = next(n for n in run.graph.nodes if n.op.full_name == "while_loop").args[1]
    assert all(isinstance(s, int) for v in body.inputs for s in v.shape)
    assert [n.op.full_name for n in body.nodes].count("fused") == 1


def test_large_graphs_without_loops_are_shared_by_all_sizes():
    f = tx.compile(lambda x: (x * 2).exp().sum(1))
    assert f(tx.zeros(2, 3)).shape == (2,)
    assert f(tx.zeros(4, 3)).shape == (4,)
    assert executor_of(f)._special is None


def test_what_does_not_hold_for_the_first_sizes_is_said_as_for_others():
    graph = tx.jit.trace(lambda x, y: (x + y).sum(), (tx.ones(3), tx.ones(3))).graph
    with pytest.raises(tx.errors.ShapeError):
        Sized(graph)([tx.ones(3), tx.ones(4)])
    assert Sized(graph)([tx.ones(4), tx.ones(4)])[0].item() == 8


def test_gradients_of_first_and_other_sizes():
    f = tx.compile(lambda x: (x * x).sin().sum())
    for size in (4, 7, 4):
        x = tx.randn(size).requires_grad_()
        f(x).backward()
        assert tx.allclose(x.grad, 2 * x.detach() * (x.detach() * x.detach()).cos())


def test_inputs_of_other_ranks_are_refused_as_before():
    graph = tx.jit.trace(lambda x, y: (x * y).sum(), (tx.ones(3, 2), tx.ones(3, 2))).graph
    with pytest.raises(tx.errors.ShapeError):
        Sized(graph)([tx.ones(3), tx.ones(3)])


def test_users_own_gradients_of_first_and_other_sizes():
    class Doubled(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(w)
            return (x * w).sum()

        @staticmethod
        def backward(ctx, g):
            (w,) = ctx.saved_tensors
            return 2 * g * w, None

    f = tx.compile(lambda x, w: Doubled.apply(x, w) * 3)
    for size in (4, 7, 4):
        x, w = tx.randn(size).requires_grad_(), tx.randn(size)
        f(x, w).backward()
        assert tx.allclose(x.grad, 6 * w)
