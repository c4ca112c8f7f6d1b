"""Defects that were found once: each stays away."""

import pytest

import thixo as tx
from thixo.errors import AutogradError, IndexOutOfRange, ShapeError, ValueRangeError

NAN = float("nan")


def test_nanmedian_gives_no_gradient_to_nan():
    x = tx.tensor([NAN, 2.0, 1.0, NAN, 2.0], requires_grad=True)
    x.nanmedian().backward()
    assert x.grad.tolist() == [0, 0.5, 0, 0, 0.5]


def test_a_class_out_of_range_is_named_by_the_loss():
    with pytest.raises(IndexOutOfRange, match=r"target holds classes 0 to 3.*0 to 2"):
        tx.nn.functional.cross_entropy(tx.ones(2, 3), tx.tensor([0, 3]))


@pytest.mark.parametrize("value", [300, -1, 256])
def test_integers_that_do_not_fit_are_refused(value):
    with pytest.raises(ValueRangeError, match=f"{value} does not fit in .*uint8"):
        tx.tensor([1, value], dtype=tx.uint8)
    assert tx.tensor([0, 255], dtype=tx.uint8).tolist() == [0, 255]
    assert tx.tensor([1], dtype=tx.uint8).add_(255).tolist() == [0]  # arithmetic wraps


def test_a_complex_result_has_no_gradient_of_its_own():
    z = tx.ones(2, dtype=tx.complex64, requires_grad=True)
    for back in (lambda: z.sum().backward(), lambda: tx.autograd.grad(z.sum(), z)):
        with pytest.raises(AutogradError, match=r"real result, this is c64\[\]"):
            back()
    z.sum().abs().backward()
    assert z.grad.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["tanh_", "sigmoid_", "exp_", "sqrt_"])
def test_second_gradients_of_writes_through_views(name):
    def loss(x):
        y = x * 1
        getattr(y[1:], name)()
        return (y * y * y).sum()

    x = tx.tensor([0.5, 0.7, 0.9], dtype=tx.float64, requires_grad=True)
    assert tx.autograd.gradgradcheck(loss, (x,))
    (g,) = tx.autograd.grad(loss(x), x, create_graph=True)
    (h,) = tx.autograd.grad((g * g).sum(), x)
    assert tx.isfinite(h).all()


def test_gradients_of_index_arrays_around_an_empty_slice():
    x = tx.ones(4, 2, 3, requires_grad=True)
    x[tx.tensor([1, 0]), 1:1, tx.tensor([[0, 1]])].sum().backward()
    x[1:0, None, -2:, tx.tensor([-2])].sum().backward()
    assert x.grad.shape == x.shape
    assert not x.grad.any()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: tx.zeros(2**63), ValueRangeError),  # no 64-bit number at all
        (lambda: tx.zeros(2**70), ValueRangeError),
        (lambda: tx.empty(2**62), ShapeError),  # a number, but too many bytes
        (lambda: tx.eye(2**40), ShapeError),
        (lambda: tx.arange(2**62), ShapeError),
        (lambda: tx.linspace(0, 1, 2**62), ShapeError),
    ],
)
def test_sizes_beyond_any_memory_are_refused_by_name(make, error):
    with pytest.raises(error, match="does not fit in 64 bits"):
        make()
