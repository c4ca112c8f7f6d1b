"""out=: the result is what it would be without, wherever it is written, and nothing is written that should not be."""

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ArgumentError, AutogradError, DTypeError, InplaceError, ShapeError

SIZES = [(7,), (40, 33), (300, 1000), (0, 5), ()]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_it_is_given_back_and_holds_the_result(size):
    a, b, out = tx.rand(size), tx.rand(size), tx.full(size, 9.0)
    assert tx.add(a, b, out=out) is out
    np.testing.assert_array_equal(out.numpy(), a.numpy() + b.numpy())


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_it_may_be_memory_that_is_read(shift):
    memory = tx.arange(30_000, dtype=tx.float32)
    before = memory.numpy().copy()
    tx.mul(memory[:-5], 2, out=memory[shift : shift + len(before) - 5])
    expected = before.copy()
    expected[shift : shift + len(before) - 5] = 2 * before[:-5]
    np.testing.assert_array_equal(memory.numpy(), expected)


def test_it_may_have_holes_and_stand_on_its_side():
    a, b = tx.rand(50, 70), tx.rand(50, 70)
    memory = tx.zeros(100, 140)
    tx.sub(a, b, out=memory[::2, 1::2])
    np.testing.assert_array_equal(memory.numpy()[::2, 1::2], a.numpy() - b.numpy())
    assert not memory[1::2].any()
    assert not memory[:, ::2].any()
    side = tx.empty(70, 50)
    tx.sub(a, b, out=side.T)
    np.testing.assert_array_equal(side.numpy(), (a.numpy() - b.numpy()).T)


def test_results_are_converted_to_what_holds_them():
    a, out = tx.tensor([1, 2, 3]), tx.empty(3, dtype=tx.float64)
    tx.add(a, a, out=out)
    assert out.tolist() == [2, 4, 6]
    with pytest.raises(DTypeError, match=r"^add: the result is f32, out is i64"):
        tx.add(tx.rand(3), 1, out=a)
    assert a.tolist() == [1, 2, 3]


def test_what_does_not_fit_is_refused_and_stays_as_it_was():
    a = tx.ones(3)
    out = tx.zeros(4)
    with pytest.raises(ShapeError, match=r"^add: out has shape \[4\], the result is f32\[3\]"):
        tx.add(a, a, out=out)
    with pytest.raises(ArgumentError, match=r"^add: out must be a Tensor, got list"):
        tx.add(a, a, out=[0, 0, 0])
    with pytest.raises(InplaceError, match=r"several elements of out, .* are the same memory"):
        tx.add(a, a, out=out[:1].expand(3))
    with pytest.raises(ShapeError):  # what is wrong with the arguments is said first
        tx.add(a, tx.ones(2), out=out)
    assert not out.any()


def test_gradients_do_not_pass_through_it():
    a, leaf = tx.ones(3), tx.ones(3, requires_grad=True)
    with pytest.raises(AutogradError, match=r"out= does not support gradients"):
        tx.add(leaf, a, out=tx.empty(3))
    with pytest.raises((AutogradError, InplaceError)):
        tx.add(a, a, out=leaf)
    assert leaf.tolist() == [1, 1, 1]
    with tx.no_grad():
        tx.add(leaf, a, out=leaf)
    assert leaf.tolist() == [2, 2, 2]


def test_what_backward_needs_is_missed():
    x, factor = tx.ones(3, requires_grad=True), tx.ones(3)
    y = x * factor
    tx.add(factor, 1, out=factor)
    with pytest.raises(InplaceError):
        y.sum().backward()


def test_what_is_traced_or_recorded_writes_too():
    def f(a, b):
        out = tx.zeros(5)
        tx.mul(a, b, out=out)
        tx.add(out, 1, out=out)
        return out * 2

    a, b = tx.rand(5), tx.rand(5)
    expected = f(a, b).numpy()
    np.testing.assert_allclose(tx.compile(f)(a, b).numpy(), expected, rtol=1e-6)
    tx.set_mode("lazy")
    try:
        np.testing.assert_allclose(f(a, b).numpy(), expected, rtol=1e-6)
    finally:
        tx.set_mode("graph")
