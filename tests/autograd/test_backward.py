"""backward and grad: values, orders, accumulation, and what happens to the graph."""

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ArgumentError, AutogradError, ShapeError


def leaf(*values, dtype=None):
    return tx.tensor(list(values), dtype=dtype or tx.float64, requires_grad=True)


def test_gradient_of_a_polynomial():
    x = leaf(1.0, 2.0, -3.0)
    (x**3 + 2 * x).sum().backward()
    assert x.grad.tolist() == [5.0, 14.0, 29.0]


def test_gradients_add_up_over_calls_and_over_uses():
    x = leaf(2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [7.0]
    y = leaf(2.0)
    z = y * y
    (z + z * y + y).sum().backward()  # 2y + 3y^2 + 1
    assert y.grad.tolist() == [17.0]


def test_grad_is_added_in_place_so_that_other_holders_see_it():
    x = leaf(1.0)
    (x * 2).sum().backward()
    held = x.grad
    (x * 3).sum().backward()
    assert held is x.grad
    assert held.tolist() == [5.0]


def test_grad_can_be_set_and_reset():
    x = leaf(1.0, 2.0)
    x.grad = tx.tensor([10.0, 20.0], dtype=tx.float64)
    x.sum().backward()
    assert x.grad.tolist() == [11.0, 21.0]
    x.grad = None
    assert x.grad is None
    with pytest.raises(
        ShapeError, match=r"grad must be like its tensor: got f64\[3\] for f64\[2\]"
    ):
        x.grad = tx.ones(3, dtype=tx.float64)
    with pytest.raises(ArgumentError, match="grad must be a Tensor or None, got int"):
        x.grad = 3


@pytest.mark.parametrize("create_graph", [False, True])
def test_two_leaves_never_share_their_grad(create_graph):
    a, b = leaf(1.0), leaf(2.0)
    (a + b).sum().backward(create_graph=create_graph)
    assert a.grad.data_ptr() != b.grad.data_ptr()
    with tx.no_grad():
        a.grad.zero_()
    assert b.grad.tolist() == [1.0]


def test_grad_is_not_the_seed_nor_another_result():
    x, seed = leaf(1.0, 2.0), tx.ones(2, dtype=tx.float64)
    x.clone().backward(seed)
    seed.zero_()
    assert x.grad.tolist() == [1.0, 1.0]


def test_broadcast_operands_get_gradients_of_their_own_shape():
    row, column = tx.ones(3, requires_grad=True), tx.ones(2, 1, requires_grad=True)
    scalar = tx.tensor(2.0, requires_grad=True)
    (row * column * scalar).sum().backward()
    assert row.grad.tolist() == [4.0] * 3
    assert column.grad.tolist() == [[6.0], [6.0]]
    assert scalar.grad.item() == 6.0


def test_gradients_have_the_dtype_of_their_leaf():
    half = tx.ones(2, dtype=tx.float16, requires_grad=True)
    real = tx.ones(2, dtype=tx.float64, requires_grad=True)
    z = tx.ones(2, dtype=tx.complex64, requires_grad=True)
    (half * real * z).abs().sum().backward()
    assert (half.grad.dtype, real.grad.dtype, z.grad.dtype) == (
        tx.float16,
        tx.float64,
        tx.complex64,
    )


def test_third_order_by_create_graph():
    x = leaf(2.0)
    y = (x**4).sum()
    (first,) = tx.autograd.grad(y, x, create_graph=True)
    (second,) = tx.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = tx.autograd.grad(second.sum(), x, create_graph=True)
    (fourth,) = tx.autograd.grad(third.sum(), x)
    values = [v.item() for v in (first, second, third, fourth)]
    assert values == [32.0, 48.0, 48.0, 24.0]
    assert not fourth.requires_grad


def test_higher_orders_of_exp_and_sin():
    x = leaf(0.3)
    for f, derivatives in [
        (tx.exp, [np.exp(0.3)] * 4),
        (tx.sin, [np.cos(0.3), -np.sin(0.3), -np.cos(0.3), np.sin(0.3)]),
    ]:
        y = f(x)
        for expected in derivatives:
            (y,) = tx.autograd.grad(y.sum(), x, create_graph=True)
            assert y.item() == pytest.approx(expected, rel=1e-12)


def test_backward_with_create_graph_makes_grad_part_of_the_graph():
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    g, x.grad = x.grad, None
    g.sum().backward()
    assert x.grad.item() == 18.0


def test_gradient_penalty_mixes_orders():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (g,) = tx.autograd.grad((x * x * w).sum(), x, create_graph=True)  # 2xw
    ((g * g).sum() + (w * x).sum()).backward()
    assert w.grad.tolist() == [8 * 3.0 + 1.0, 8 * 4 * 4.0 + 2.0]  # 8 x^2 w + x


def test_retain_graph_allows_a_second_backward():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0
    with pytest.raises(AutogradError, match="already freed by an earlier backward"):
        y.backward()


def test_a_second_backward_through_shared_parts_says_so():
    x = leaf(2.0)
    shared = x.exp()
    first, second = shared.sum(), (shared * 2).sum()
    first.backward()
    with pytest.raises(AutogradError, match="already freed"):
        second.backward()


def test_seed_of_a_non_scalar():
    x = leaf(1.0, 2.0)
    with pytest.raises(ShapeError, match=r"one element, this is f64\[2\]; reduce it first"):
        (x * 2).backward()
    (x * 2).backward(tx.tensor([1.0, 10.0], dtype=tx.float64))
    assert x.grad.tolist() == [2.0, 20.0]
    with pytest.raises(ShapeError, match=r"the gradient is f64\[3\], the result is f64\[2\]"):
        (x * 2).backward(tx.ones(3, dtype=tx.float64))
    with pytest.raises(ArgumentError, match="the gradient must be a Tensor"):
        (x * 2).backward(3)


def test_backward_from_a_leaf():
    x = tx.tensor(5.0, requires_grad=True)
    x.backward()
    assert x.grad.item() == 1.0


def test_several_roots():
    x = leaf(1.0, 2.0)
    a, b = (x * 2).sum(), x * 3
    tx.autograd.backward([a, b], [None, tx.tensor([1.0, 10.0], dtype=tx.float64)])
    assert x.grad.tolist() == [5.0, 32.0]
    with pytest.raises(ArgumentError, match="2 outputs but 1 gradients"):
        tx.autograd.backward([a, b], [None])


def test_the_same_root_twice_counts_twice():
    x = leaf(1.0)
    y = (x * 2).sum()
    tx.autograd.backward([y, y])
    assert x.grad.item() == 4.0


def test_a_root_that_is_part_of_another():
    x = leaf(3.0)
    y = x * x
    z = y * 2
    tx.autograd.backward([z.sum(), y.sum()])
    assert x.grad.item() == 18.0


def test_backward_only_for_some_inputs():
    a, b = leaf(2.0), leaf(3.0)
    hidden = a * b
    (hidden * hidden).sum().backward(inputs=[a])
    assert a.grad.item() == 36.0
    assert b.grad is None
    hidden = a * b
    (hidden * hidden).sum().backward(inputs=[hidden])
    assert hidden.grad.item() == 12.0
    assert b.grad is None
    with pytest.raises(ArgumentError, match="inputs is empty"):
        (a * b).sum().backward(inputs=[])
    with pytest.raises(AutogradError, match="input 0, f32"):
        (a * b).sum().backward(inputs=[tx.ones(1)])


def test_grad_leaves_every_grad_alone():
    x, w = leaf(1.0), leaf(2.0)
    (g,) = tx.autograd.grad((x * w).sum(), x)
    assert g.item() == 2.0
    assert x.grad is None
    assert w.grad is None


def test_grad_for_a_tensor_in_the_middle_and_its_leaf():
    x = leaf(2.0)
    h = x * 3
    y = h * h
    gh, gx = tx.autograd.grad(y.sum(), (h, x))
    assert (gh.item(), gx.item()) == (12.0, 36.0)


def test_grad_of_unused_inputs():
    x, unused = leaf(1.0), leaf(1.0, 2.0)
    with pytest.raises(AutogradError, match=r"input 1, f64\[2\], was not used .*allow_unused=True"):
        tx.autograd.grad((x * 2).sum(), (x, unused))
    _, none = tx.autograd.grad((x * 2).sum(), (x, unused), allow_unused=True)
    assert none is None
    _, zeros = tx.autograd.grad((x * 2).sum(), (x, unused), materialize_grads=True)
    assert zeros.tolist() == [0.0, 0.0]
    with pytest.raises(AutogradError, match=r"input 0, f32.* does not require grad"):
        tx.autograd.grad((x * 2).sum(), tx.ones(1))


def test_grad_stops_at_what_is_asked_for():
    """Nodes behind the requested inputs do not run: a poisoned one there is not reached."""
    calls = []

    class Loud(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g

    x = leaf(1.0)
    h = Loud.apply(x)
    tx.autograd.grad((h * 2).sum(), h)
    assert calls == []


def test_arguments_of_the_wrong_kind():
    x = leaf(1.0)
    with pytest.raises(ArgumentError, match="outputs must be Tensors"):
        tx.autograd.grad([3], x)
    with pytest.raises(ArgumentError, match="inputs must be a Tensor or a list"):
        tx.autograd.grad((x * 2).sum(), 3)
    with pytest.raises(ArgumentError, match="backward: a Tensor is needed, got int"):
        tx.Tensor.backward(3)


def test_integer_results_carry_no_gradient():
    x = leaf(1.5, 2.5)
    assert not x.argmax().requires_grad
    assert not (x > 2).requires_grad
    values, indices = x.sort()
    assert values.requires_grad
    assert not indices.requires_grad


def test_only_what_gradients_need_is_recorded():
    x, data = leaf(1.0), tx.ones(1, dtype=tx.float64)
    assert (data * data).grad_fn is None
    y = x * data
    assert y.grad_fn.next_functions[1][0] is None
    assert set(y.grad_fn.saved) == {"other"}  # dy/dx needs data; x itself is not kept


def test_complex_gradients_follow_the_convention():
    """The gradient of a real loss L at z is dL/dRe z + i dL/dIm z."""
    z = tx.tensor([3.0 + 4.0j], dtype=tx.complex128, requires_grad=True)
    (z * z.conj()).real.sum().backward()  # |z|^2
    assert z.grad.tolist() == [6.0 + 8.0j]
    with pytest.raises(ShapeError, match="one element"):
        tx.ones(2, dtype=tx.complex64, requires_grad=True).backward()


def test_empty_tensors_have_empty_gradients():
    x = tx.zeros(0, 3, requires_grad=True)
    (x * 2).sum().backward()
    assert tuple(x.grad.shape) == (0, 3)


def test_branches_that_die_do_not_disturb():
    x = leaf(1.0)
    dead = x * 2
    del dead
    (x * 3).sum().backward()
    assert x.grad.item() == 3.0


def test_a_step_of_plain_training_converges():
    tx.manual_seed(0)
    w = tx.zeros(3, requires_grad=True)
    data, target = tx.randn(20, 3), None
    target = data @ tx.tensor([1.0, -2.0, 0.5])
    for _ in range(200):
        loss = ((data @ w - target) ** 2).mean()
        loss.backward()
        with tx.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
    assert np.allclose(w.detach().numpy(), [1.0, -2.0, 0.5], atol=1e-3)
