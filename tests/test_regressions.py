"""Defects that were found once: each stays away."""

import warnings

import pytest

import thixo as tx
from thixo.errors import (
    ArgumentError,
    AutogradError,
    IndexOutOfRange,
    LinearAlgebraError,
    ShapeError,
    ThixoError,
    ValueRangeError,
)

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


# ---- the name in a message is the one that was called


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: tx.subtract(tx.ones(2), tx.ones(3)), "subtract"),
        (lambda: tx.ones(2).subtract_(tx.ones(3)), "subtract_"),
        (lambda: tx.ones(3).tril_(), "tril_"),
        (lambda: tx.cholesky(-tx.eye(2)), "cholesky"),
        (lambda: tx.ones(1).repeat(2**62), "repeat"),
        (lambda: tx.ones(1).expand(2**62), "expand"),
        (lambda: tx.inner(tx.ones(2), tx.ones(3)), "inner"),
        (lambda: tx.bucketize(tx.ones(2), tx.ones(2, 2)), "bucketize"),
    ],
)
def test_a_message_begins_with_the_name_that_was_called(call, name):
    with pytest.raises(ThixoError, match=rf"^{name}: (?!\w+: )"):
        call()


def test_errors_of_a_callback_stay_what_they_are():
    def distance(a, b):
        raise KeyError("mine")

    x = tx.ones(2, 3)
    with pytest.raises(KeyError, match="mine"):
        tx.nn.functional.triplet_margin_with_distance_loss(x, x, x, distance_function=distance)


# ---- arguments that were not looked at


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tx.hsplit(tx.arange(0), 2**63), ValueRangeError, "64 bits"),
        (lambda: tx.hsplit(tx.arange(0), 2**62), ValueRangeError, "too many"),
        (lambda: tx.tensor_split(tx.ones(3), 2**31), ValueRangeError, "too many"),
        (lambda: tx.special.multigammaln(tx.ones(3), 2**31), ValueRangeError, "at most 100000"),
        (lambda: tx.ones(2).stride(2**70), IndexOutOfRange, "dimension 1180591620717411303424"),
        (lambda: tx.histogramdd(tx.ones(2, 0), 3), ShapeError, "last axis must not be empty"),
        (lambda: tx.linalg.pinv(tx.full((2, 3, 4), float("inf"))), LinearAlgebraError, "infinities"),
        (lambda: tx.zeros(3, dtype=tx.uint8).scatter(0, tx.tensor([1]), 300), ValueRangeError, "uint8"),
    ],
)  # fmt: skip
def test_arguments_out_of_all_bounds_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_offsets_beyond_the_corners_are_taken():
    assert tx.tril_indices(2, 2, -(2**63)).shape == (2, 0)
    assert tx.triu_indices(2, 2, -(2**63)).shape == (2, 4)
    assert tx.ones(2, 2).triu(-(2**63)).sum() == 4
    assert tx.nn.functional.avg_pool1d(tx.ones(1, 1, 7), 2, 2**63 - 1).tolist() == [[[1.0]]]
    assert tx.nn.functional.adaptive_max_pool1d(tx.ones(2, 3), 0).shape == (2, 0)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_warn_of_shapes_that_broadcast(name):
    loss = getattr(tx.nn.functional, name)
    with pytest.warns(
        UserWarning, match=rf"{name}: input is f32\[3,1\], target is f32\[3\]"
    ) as seen:
        loss(tx.ones(3, 1), tx.ones(3))
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(tx.ones(3, 1), tx.ones(3, 1))


def test_a_module_warns_at_its_users_line():
    with pytest.warns(UserWarning, match="mse_loss") as seen:
        tx.nn.MSELoss()(tx.ones(3, 1), tx.ones(3))
    assert seen[0].filename == __file__


def test_tracing_is_switched_by_a_bool_only():
    with pytest.raises(ArgumentError, match="a bool is needed"):
        tx._core.set_tracing("yes")
    assert not tx._core.is_tracing()


def test_ignored_classes_cost_nothing_even_where_there_are_none():
    target = tx.full((3,), -100, dtype=tx.int64)
    for scores in (tx.zeros(3, 0), tx.randn(3, 4)):
        losses = tx.nn.functional.cross_entropy(scores, target, reduction="none")
        assert str(losses) == "tensor([0., 0., 0.])"


def test_a_maximum_that_several_windows_found_gets_its_gradient_from_each():
    x = tx.tensor([[[5.0, 5.0]]], requires_grad=True)
    y = tx.nn.functional.max_unpool1d(x, tx.tensor([[[1, 1]]]), 2, stride=1)
    y.backward(tx.tensor([[[1.0, 2.0, 4.0]]]))
    assert y.tolist() == [[[0.0, 5.0, 0.0]]]
    assert x.grad.tolist() == [[[2.0, 2.0]]]
