"""Gradients of users' own (`autograd.Function`) in graphs: of traces, of scripts, of any order."""

import numpy as np
import pytest

import thixo as tx


class Root(tx.autograd.Function):
    """A root with a gradient that is nobody else's."""

    @staticmethod
    def forward(ctx, x, scale):
        y = x.clamp(min=0).sqrt()
        ctx.save_for_backward(y, x)
        ctx.scale = scale
        return y, y.detach() * 2

    @staticmethod
    def backward(ctx, g, h):
        y, x = ctx.saved_tensors
        return g * 7 * ctx.scale * y + h * x, None


class Signed(tx.autograd.Function):
    """Its way back branches by a tensor."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if x.sum() > 0:
            return g * 5
        return g * 7


class Counted(tx.autograd.Function):
    """One result of two has a gradient; the context is set up apart."""

    @staticmethod
    def forward(x):
        return x * 3, (x > 0).sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        return g * 11


def straight(x):
    a, b = Root.apply(x, 0.5)
    return a * x + b


def branched(x):
    a, b = Root.apply(x, 0.5)
    if a.sum() > 2:
        a = a * Root.apply(b, 2.0)[0]
    return a * x + b


def back_that_branches(x):
    return Signed.apply(x) * x


def counted(x):
    y, n = Counted.apply(x)
    return y * n


def in_a_loop(x):
    y = x
    while y.sum() < 40:
        y = Signed.apply(y)
    return y


def both_orders(f, values):
    x = tx.tensor(values, dtype=tx.float64, requires_grad=True)
    y = f(x)
    (g,) = tx.autograd.grad(y.sum(), x, create_graph=True)
    found = [y, g]
    if g.requires_grad:
        found += tx.autograd.grad((g * g).sum(), x, allow_unused=True, materialize_grads=True)
    return [t.detach().numpy() for t in found]


EXAMPLES = ([1.0, 4.0], [0.1, 0.2], [3.0, 9.0])


@pytest.mark.parametrize("function", [straight, branched, back_that_branches, counted, in_a_loop])
def test_scripts_have_them(function):
    scripted = tx.jit.script(function)
    for values in EXAMPLES:
        for found, expected in zip(
            both_orders(scripted, values), both_orders(function, values), strict=False
        ):
            np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("function", [straight, counted])
@pytest.mark.parametrize("graded", [False, True])
def test_traces_have_them_whatever_they_were_traced_with(function, graded):
    traced = tx.jit.trace(function, tx.ones(2, dtype=tx.float64, requires_grad=graded))
    for values in EXAMPLES:
        expected = both_orders(function, values)
        for way in (traced, traced.interpreted):
            for found, wanted in zip(both_orders(way, values), expected, strict=False):
                np.testing.assert_allclose(found, wanted)


def test_gradients_that_are_taken_inside():
    def slope(x):
        x = x * 1
        a, b = Root.apply(x, 0.5)
        (g,) = tx.autograd.grad((a * b).sum(), x)
        return g

    x = tx.tensor([1.0, 4.0], requires_grad=True)
    expected = slope(x).numpy()
    np.testing.assert_allclose(tx.jit.script(slope)(x).detach().numpy(), expected)
    np.testing.assert_allclose(tx.jit.trace(slope, x)(x).detach().numpy(), expected)


def test_backward_inside_of_a_step():
    w = tx.tensor([1.0, 4.0], requires_grad=True)
    tx.jit.script(lambda: straight(w).sum().backward())()
    found, w.grad = w.grad.numpy(), None
    straight(w).sum().backward()
    np.testing.assert_allclose(found, w.grad.numpy())


def test_declared_graphs_have_them():
    with tx.static.Graph() as graph:
        x = tx.static.placeholder((None,), tx.float64)
        y = straight(x)
        (g,) = tx.static.gradients(y.sum(), [x])
    session = tx.static.Session(graph)
    for values in EXAMPLES:
        expected = both_orders(straight, values)
        found = session.run([y, g], {x: np.array(values)})
        np.testing.assert_allclose(found[0].numpy(), expected[0])
        np.testing.assert_allclose(found[1].numpy(), expected[1])


def test_a_trace_refuses_a_way_back_that_looks_at_values():
    with pytest.raises(tx.errors.TraceError, match="not known while tracing"):
        tx.jit.trace(back_that_branches, tx.ones(2))
