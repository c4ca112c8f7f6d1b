"""Large gradients of operands that were broadcast: computed and summed in one walk, in every layout."""

import numpy as np
import pytest

import thixo as tx

# The shape of the result, and of what is broadcast to it: along the last axis, the first, some between, in new axes.
SHAPES = [
    ((300, 211), (300, 1)),
    ((300, 211), (211,)),
    ((211, 1, 300), (300,)),
    ((5, 128, 7, 11), (1, 128, 1, 1)),
    ((5, 128, 70), (5, 1, 70)),
    ((40, 50, 33), (50, 1)),
    ((40, 1000), ()),  # one sum of everything
    ((2, 30_000), (2, 1)),  # few long rows
    ((40_000, 1), (1,)),
]
OPERATORS = {
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "atan2": tx.atan2,
    "maximum": tx.maximum,
    "addcmul": lambda a, b: tx.addcmul(b, a, b, value=3),
}


def uniform(shape, seed, dtype="float32"):
    x = np.random.default_rng(seed).uniform(0.5, 2, shape)
    return tx.tensor(x, dtype=getattr(tx, dtype))


def gradients(function, a, b, g, dtype=None):
    """Those of both operands; in another dtype by rules that are run one by one."""
    if dtype:
        a, b, g = (t.to(dtype) for t in (a, b, g))
    leaves = [t.detach().requires_grad_() for t in (a, b)]
    found = tx.autograd.grad(function(*leaves), leaves, g, create_graph=dtype is not None)
    return [t.detach() for t in found]


def assert_right(function, a, b, g, tolerance=3e-6):
    found = gradients(function, a, b, g)
    for ours, exact, like in zip(
        found, gradients(function, a, b, g, tx.float64), (a, b), strict=True
    ):
        assert ours.shape == like.shape
        assert ours.dtype == like.dtype
        scale = max(1.0, float(exact.abs().max()))
        np.testing.assert_allclose(
            ours.double().numpy() / scale, exact.numpy() / scale, atol=tolerance
        )


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(("whole", "part"), SHAPES)
def test_both_operands_get_theirs(name, whole, part):
    assert_right(OPERATORS[name], uniform(whole, 0), uniform(part, 1), uniform(whole, 2))


@pytest.mark.parametrize(("whole", "part"), SHAPES[:6])
@pytest.mark.parametrize("which", ["a", "g", "both", "strided"])
def test_operands_in_other_orders(whole, part, which):
    a, b, g = uniform(whole, 0), uniform(part, 1), uniform(whole, 2)
    turn = lambda t: t.transpose(0, -1).contiguous().transpose(0, -1)  # noqa: E731
    if which == "strided":
        a = uniform((*whole, 2), 3)[..., 1]
    else:
        a, g = (turn(a) if which != "g" else a), (turn(g) if which != "a" else g)
    assert_right(OPERATORS["mul"], a, b, g)


def test_a_gradient_that_repeats():
    a, b = uniform((300, 200), 0), uniform((200,), 1)
    for g in (tx.ones(1, 1).expand(300, 200), uniform((300, 1), 2).expand(300, 200)):
        assert_right(OPERATORS["div"], a, b, g)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "complex64"])
def test_other_dtypes(dtype):
    a, b, g = (uniform(s, n, dtype) for n, s in enumerate([(300, 200), (300, 1), (300, 200)]))
    mine = gradients(OPERATORS["mul"], a, b, g)
    wide = tx.complex128 if dtype == "complex64" else tx.float64
    exact = gradients(OPERATORS["mul"], a, b, g, wide)
    tolerance = {"float64": 1e-13, "complex64": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}[dtype]
    for ours, right in zip(mine, exact, strict=True):
        assert str(ours.dtype) == str(a.dtype)
        np.testing.assert_allclose(ours.to(wide).numpy(), right.numpy(), rtol=tolerance)


def test_two_operands_broadcast_over_different_axes():
    row, column = uniform((400,), 0), uniform((300, 1), 1)
    assert_right(OPERATORS["mul"], row, column, uniform((300, 400), 2))
    assert_right(OPERATORS["div"], column, row, uniform((300, 400), 2))


def test_nan_and_infinity_stay_in_their_row():
    a, b = uniform((300, 200), 0), uniform((300, 1), 1)
    a[3, 7], a[5, 0] = float("nan"), float("inf")
    _, found = gradients(OPERATORS["mul"], a, b, tx.ones(300, 200))
    assert found.isnan().nonzero().tolist() == [[3, 0]]
    assert found.isinf().nonzero().tolist() == [[5, 0]]


@pytest.mark.parametrize(("whole", "part"), SHAPES[:4])
def test_threads_change_nothing(whole, part):
    a, b, g = uniform(whole, 0), uniform(part, 1), uniform(whole, 2)
    before, results = tx.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            tx.set_num_threads(threads)
            results.append([t.numpy() for t in gradients(OPERATORS["div"], a, b, g)])
    finally:
        tx.set_num_threads(before)
    for other in results[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(results[0], other, strict=True))


def test_second_gradients_go_on_from_it():
    a, b = uniform((300, 200), 0).requires_grad_(), uniform((200,), 1).requires_grad_()
    loss = (a * b).square().sum()
    (first,) = tx.autograd.grad(loss, b, create_graph=True)
    (second,) = tx.autograd.grad(first.sum(), b)
    expected = 2 * a.detach().square().sum(0)
    np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-5)
