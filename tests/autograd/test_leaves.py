"""Leaves, detach, .data, copies: what is part of the tape and what is not."""

import copy

import pytest

import thixo as tx
from thixo.errors import ArgumentError, AutogradError, DTypeError, InplaceError


def leaf(*values):
    return tx.tensor(list(values), dtype=tx.float64, requires_grad=True)


def test_who_is_a_leaf():
    x = leaf(1.0)
    y = x * 2
    assert x.is_leaf
    assert not y.is_leaf
    assert y.detach().is_leaf
    assert tx.ones(2).is_leaf  # requires nothing
    assert (tx.ones(2) * 2).is_leaf
    assert y.grad_fn is not None
    assert x.grad_fn is None
    assert y.output_nr == 0


def test_requires_grad_of_results():
    x, plain = leaf(1.0), tx.ones(1, dtype=tx.float64)
    assert (x + plain).requires_grad
    assert not (plain + plain).requires_grad
    assert tx.cat([plain, x]).requires_grad
    assert not x.detach().requires_grad
    assert not tx.tensor(x.tolist()).requires_grad
    assert not tx.tensor(x).requires_grad


def test_requires_grad_can_be_switched_on_leaves():
    x = tx.ones(2)
    assert x.requires_grad_() is x
    assert x.requires_grad
    x.requires_grad = False
    assert not (x * 2).requires_grad
    x.requires_grad_(True)
    assert (x * 2).requires_grad
    x.requires_grad_(requires_grad=False)
    assert not x.requires_grad


def test_requires_grad_cannot_be_switched_off_in_the_middle():
    y = leaf(1.0) * 2
    y.requires_grad_()  # it does already
    with pytest.raises(
        AutogradError, match=r"only be switched off on leaf tensors; .* MulBackward; use detach\(\)"
    ):
        y.requires_grad = False


@pytest.mark.parametrize("dtype", [tx.int64, tx.bool, tx.uint8])
def test_only_floating_tensors_require_grad(dtype):
    message = r"only floating-point and complex tensors can require grad"
    with pytest.raises(DTypeError, match=message):
        tx.ones(2, dtype=dtype).requires_grad_()
    with pytest.raises(DTypeError, match=message):
        tx.ones(2, dtype=dtype, requires_grad=True)
    with pytest.raises(DTypeError, match=message):
        tx.tensor([1], dtype=dtype, requires_grad=True)


def test_detach_shares_memory_and_counts_writes():
    x = leaf(1.0, 2.0)
    y = x.exp()  # keeps its result
    d = y.detach()
    assert d.data_ptr() == y.data_ptr()
    d.zero_()
    with pytest.raises(InplaceError, match="was overwritten in place"):
        y.sum().backward()


def test_data_shares_memory_and_does_not_count_writes():
    x = leaf(1.0, 2.0)
    y = x.exp()
    version = y._version
    y.data.zero_()
    assert y._version == version
    y.sum().backward()  # on the user's own risk
    assert x.grad.tolist() == [0.0, 0.0]
    assert not x.data.requires_grad


def test_data_of_a_leaf_can_be_written_and_replaced():
    x = leaf(1.0, 2.0)
    x.data.mul_(3)
    x.data[0] = 7.0
    assert x.tolist() == [7.0, 6.0]
    x.data = tx.ones(3, dtype=tx.float64)
    assert x.requires_grad
    assert x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(ArgumentError, match="data must be a Tensor"):
        x.data = [1.0]
    with pytest.raises(DTypeError, match=r"i64\[1\] cannot require grad"):
        x.data = tx.tensor([1])


def test_new_data_is_seen_by_a_gradient_that_was_accumulating():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    x.grad = None
    x.data = tx.ones(3, 3)
    (x * x).sum().backward()
    assert tuple(x.grad.shape) == (3, 3)
    assert x.grad.dtype is tx.float32


def test_detach_in_place():
    x = leaf(1.0)
    y = x * 2
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    base = x * 2
    view = base[0:1]
    with pytest.raises(AutogradError, match=r"views cannot be detached in place; use detach\(\)"):
        view.detach_()


def test_a_value_detached_after_it_was_saved_is_noticed_at_second_order():
    x = leaf(1.0)
    h = x.sin()
    y = (h * h).sum()
    h.detach_()
    (g,) = tx.autograd.grad(y, x, retain_graph=True)  # first order is right
    assert g.item() == pytest.approx(0.9092974268256817)
    with pytest.raises(
        AutogradError, match=r"was detached in place \(detach_\) after it was saved"
    ):
        tx.autograd.grad(y, x, create_graph=True)


def test_a_leaf_that_requires_grad_is_not_written_in_place():
    x = leaf(1.0, 2.0)
    with pytest.raises(
        InplaceError, match=r"mul_: a leaf f64\[2\] that requires grad.*no_grad\(\)"
    ):
        x.mul_(2)
    with pytest.raises(InplaceError, match="a leaf"):
        x += 1
    with pytest.raises(InplaceError, match=r"leaf f64\[2\]"):
        x[0] = 5.0
    with pytest.raises(InplaceError, match=r"a view of a leaf f64\[2\]"):
        x[0:1].zero_()
    assert x.tolist() == [1.0, 2.0]
    with tx.no_grad():
        x.mul_(2)
        x[0] = 5.0
    assert x.tolist() == [5.0, 4.0]
    assert x.requires_grad
    assert x.is_leaf


def test_a_leaf_written_under_no_grad_has_a_new_value_for_later_operations():
    x = leaf(3.0)
    with tx.no_grad():
        x.fill_(5.0)
    (x * x).sum().backward()
    assert x.grad.item() == 10.0


def test_a_leaf_becomes_a_result_by_a_recorded_write():
    buffer, x = tx.zeros(2, dtype=tx.float64), leaf(1.0, 2.0)
    buffer.copy_(x)
    assert buffer.requires_grad
    assert not buffer.is_leaf
    (buffer * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_copies():
    x = leaf(1.0)
    x.grad = tx.ones(1, dtype=tx.float64)
    x.note = ["kept"]
    twin = copy.deepcopy(x)
    assert twin.requires_grad
    assert twin.grad.tolist() == [1.0]
    assert twin.note == ["kept"]
    assert twin.note is not x.note
    assert twin.data_ptr() != x.data_ptr()
    with pytest.raises(AutogradError, match=r"only leaf tensors can be deep-copied.*detach\(\)"):
        copy.deepcopy(x * 2)


def test_numpy_of_a_tensor_that_requires_grad():
    x = leaf(1.0)
    with pytest.raises(AutogradError, match=r"requires grad.*use detach\(\)\.numpy\(\)"):
        x.numpy()
    assert x.numpy(force=True).tolist() == [1.0]
    assert x.detach().numpy().tolist() == [1.0]


def test_clone_is_part_of_the_tape():
    x = leaf(2.0)
    y = x.clone()
    y.mul_(3)
    y.sum().backward()
    assert x.tolist() == [2.0]
    assert x.grad.item() == 3.0


def test_numbers_read_from_a_tensor_leave_the_tape():
    x = leaf(2.0)
    y = x * x.item()
    y.sum().backward()
    assert x.grad.item() == 2.0
    assert float(x) == 2.0
    assert int(x) == 2
    assert bool(x) is True
