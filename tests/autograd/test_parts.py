"""Gradients of parts of a tensor are added where they belong, and nowhere else."""

import numpy as np
import pytest

import thixo as tx


def whole_gradient(parts, shape):
    """What the parts' gradients add up to: (index, gradient) pairs."""
    total = np.zeros(shape, np.float32)
    for index, g in parts:
        total[index] += g
    return total


def test_overlapping_slices_add_up():
    x = tx.randn(6, 5, requires_grad=True)
    indices = [
        np.s_[1:4],
        np.s_[2],
        np.s_[:, 3],
        np.s_[::2, 1:],
        np.s_[-1, -2],
        np.s_[2],
        np.s_[3:3],
    ]
    pairs = []
    loss = 0.0
    for number, index in enumerate(indices):
        part = x[index]
        g = tx.randn(part.shape, generator=tx.Generator().manual_seed(number))
        pairs.append((index, g.numpy()))
        loss = loss + (part * g).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), whole_gradient(pairs, (6, 5)), rtol=1e-5)


def test_parts_and_the_whole():
    x = tx.randn(4, 3, requires_grad=True)
    y = x * 2  # not a leaf: its gradient is made here
    (y.sum() + y[1].sum() + (y * 3).sum() + y[:, 2].sum() + y[1:3].sum()).backward()
    expected = np.full((4, 3), 4.0)
    expected[1] += 1
    expected[:, 2] += 1
    expected[1:3] += 1
    np.testing.assert_array_equal(x.grad.numpy(), 2 * expected)


def test_a_gradient_that_others_hold_is_not_written():
    """The gradient of an addition is one tensor for both of its inputs."""
    a, b = tx.zeros(3, requires_grad=True), tx.zeros(3, requires_grad=True)
    u, v = a * 1, b * 1
    g = tx.ones(3)
    early = u[0] + v[2]  # older than the sum, so delivered after it
    (u + v).backward(g, retain_graph=True)
    assert g.tolist() == [1, 1, 1]
    a.grad = b.grad = None
    tx.autograd.backward([u + v, early], [g, tx.ones(())])
    assert a.grad.tolist() == [2, 1, 1]
    assert b.grad.tolist() == [1, 1, 2]
    assert g.tolist() == [1, 1, 1]


def test_what_hooks_and_retain_grad_have_seen_stays_as_it_was():
    x = tx.ones(3, requires_grad=True)
    y = x * 1
    seen = []
    part = y[1]
    z = y + 0
    z.register_hook(lambda g: seen.append(g))
    z.retain_grad()
    (z.sum() + 5 * part).backward()
    assert seen[0].tolist() == z.grad.tolist() == [1, 1, 1]
    assert x.grad.tolist() == [1, 6, 1]


def test_memory_of_numpy_is_not_written():
    memory = np.ones(3, np.float32)

    class FromOutside(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return tx.from_numpy(memory)

    x = tx.zeros(3, requires_grad=True)
    y = x * 1
    part = y[2]
    (FromOutside.apply(y).sum() + part).backward()
    assert memory.tolist() == [1, 1, 1]
    assert x.grad.tolist() == [1, 1, 2]


def test_a_gradient_that_is_broadcast_is_made_whole_first():
    x = tx.zeros(2, 3, requires_grad=True)
    y = x * 1
    first = y[0, 1]
    (y.sum() + first).backward()  # the gradient of sum is one number, seen from everywhere
    assert x.grad.tolist() == [[1, 2, 1], [1, 1, 1]]


def test_twice_with_the_graph_kept_and_never_without():
    x = tx.ones(3, requires_grad=True)
    y = (x * 2)[1:].sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [0, 4, 4]
    with pytest.raises(tx.errors.AutogradError, match="already freed"):
        y.backward()


def test_second_gradients_go_through_parts():
    x = tx.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**3
    (g,) = tx.autograd.grad(y[1:].sum() + y[0] * 2, x, create_graph=True)
    (h,) = tx.autograd.grad(g[2] + g[0], x)
    assert g.tolist() == [6, 12, 27]
    assert h.tolist() == [12, 0, 18]


def test_only_the_inputs_asked_for():
    x, w = tx.ones(4, requires_grad=True), tx.ones(4, requires_grad=True)
    y, z = x * 3, w * 5
    g, part = tx.autograd.grad(y[1:3].sum() + z[0] + y[2], [x, y])
    assert g.tolist() == [0, 3, 6, 0]
    assert part.tolist() == [0, 1, 2, 0]
    assert w.grad is None


def test_signed_zeros_and_nan_arrive_as_they_are():
    x = tx.zeros(3, requires_grad=True)
    x[1:].backward(tx.tensor([-0.0, float("nan")]))
    assert str(x.grad.tolist()) == "[0.0, -0.0, nan]"


def test_many_parts_cost_what_the_tensor_costs():
    """Each of n parts once made a gradient of the whole: n times n."""
    n = 4000
    x = tx.randn(n, 256, requires_grad=True)
    rows = (x * 1).unbind(0)
    total = rows[0]
    for row in rows[1:]:
        total = total + row
    total.sum().backward()
    assert bool((x.grad == 1).all())
