"""Attention by its native kernel, against the same in operators that each have their gradient."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Interpreter, Type
from thixo.graph.trace import Trace
from thixo.nn import functional as F
from thixo.ops.attention_core import shares


def drawn(shape, dtype=tx.float64, seed=0, grad=True):
    made = tx.tensor(np.random.default_rng(seed).normal(size=shape), dtype=dtype)
    return made.requires_grad_() if grad else made


def composed(q, k, v, mask=None, is_causal=False):
    return tx.matmul(shares(q, k, mask, is_causal, q.shape[-1] ** -0.5), v)


def gradients(function, leaves, *args, **options):
    y = function(*leaves, *args, **options)
    g = tx.cos(tx.arange(y.numel()) * 1.0).to(y.dtype).reshape(y.shape)
    return [y, *tx.autograd.grad(y, leaves, g)]


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        tx.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


# (lead, queries, keys, features, features of values)
SIZES = [
    ((), 1, 1, 1, 1),
    ((2, 3), 1, 70, 16, 16),
    ((3,), 5, 7, 3, 2),
    ((1, 2), 61, 61, 17, 33),
    ((2,), 130, 67, 40, 8),
    ((), 300, 600, 4, 5),
    ((), 90, 1100, 7, 3),
]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_attention_is_softmax_of_scores_times_values(sizes, is_causal):
    lead, queries, keys, size, width = sizes
    leaves = [
        drawn((*lead, *s), seed=i)
        for i, s in enumerate([(queries, size), (keys, size), (keys, width)])
    ]
    ours = gradients(F.scaled_dot_product_attention, leaves, is_causal=is_causal)
    assert_same(ours, gradients(composed, leaves, is_causal=is_causal))


@pytest.mark.parametrize("shape", [(9, 13), (1, 13), (9, 1), (2, 1, 9, 13), (3, 1, 1)])
@pytest.mark.parametrize("kind", ["bool", "added"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_masks_broadcast(shape, kind, is_causal):
    leaves = [drawn((2, 3, n, 8), seed=n) for n in (9, 13)]
    leaves.append(drawn((2, 3, 13, 5), seed=2))
    open_ = tx.tensor(np.random.default_rng(1).random(shape) < 0.6)
    mask = open_ if kind == "bool" else tx.where(open_, 0.5, -tx.inf).to(tx.float64)
    assert_same(
        gradients(F.scaled_dot_product_attention, leaves, mask, is_causal=is_causal),
        gradients(composed, leaves, mask, is_causal=is_causal),
    )


def test_a_mask_has_a_gradient():
    leaves = [drawn((2, 4, 3), seed=i) for i in range(3)] + [drawn((4, 4), seed=3)]
    assert_same(gradients(F.scaled_dot_product_attention, leaves), gradients(composed, leaves))


def test_a_query_that_may_attend_to_nothing_gives_zeros_and_no_gradient():
    leaves = [drawn((70, 4), seed=i) for i in range(3)]
    mask = tx.ones(70, 70, dtype=tx.bool)
    mask[::3] = False
    y, *grads = gradients(F.scaled_dot_product_attention, leaves, mask)
    assert (y[::3] == 0).all()
    assert (grads[0][::3] == 0).all()
    assert all(bool(tx.isfinite(g).all()) for g in grads)


def test_strides_and_broadcast_batches():
    q = drawn((2, 65, 3, 8), grad=False).transpose(1, 2).requires_grad_()
    k = drawn((3, 8, 70), grad=False, seed=1).transpose(1, 2).requires_grad_()
    v = drawn((1, 3, 70, 12), grad=False, seed=2)[..., ::2].requires_grad_()
    assert_same(
        gradients(F.scaled_dot_product_attention, [q, k, v]), gradients(composed, [q, k, v])
    )


@pytest.mark.parametrize("heads", [2, 6])
def test_grouped_heads(heads):
    leaves = [
        drawn((2, 6, 9, 4)),
        drawn((2, heads, 11, 4), seed=1),
        drawn((2, heads, 11, 4), seed=2),
    ]

    def repeated(q, k, v):
        return composed(q, *(t.repeat_interleave(6 // heads, 1) for t in (k, v)))

    ours = gradients(F.scaled_dot_product_attention, leaves, enable_gqa=True)
    assert_same(ours, gradients(repeated, leaves))


@pytest.mark.parametrize(
    ("dtype", "error"), [(tx.float32, 1e-5), (tx.bfloat16, 0.03), (tx.float16, 0.004)]
)
def test_attention_in_other_dtypes(dtype, error):
    leaves = [drawn((3, 67, 19), dtype, seed=i) for i in range(3)]
    wide = [x.detach().to(tx.float64).requires_grad_() for x in leaves]
    ours = gradients(F.scaled_dot_product_attention, leaves, is_causal=True)
    for a, b in zip(ours, gradients(composed, wide, is_causal=True), strict=True):
        assert a.dtype is dtype
        assert (a.to(tx.float64) - b).abs().max() <= error * b.abs().max()


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("sizes", [(5, 1, 3, 2), (70, 131, 33, 40), (300, 1100, 8, 65)])
def test_bfloat16_is_attention_of_the_same_numbers(sizes, masked, is_causal):
    queries, keys, size, width = sizes
    shapes = [(2, queries, size), (2, keys, size), (2, keys, width)]
    half = [drawn(s, tx.bfloat16, seed=i, grad=False) for i, s in enumerate(shapes)]
    wide = [x.to(tx.float64) for x in half]
    mask = None
    if masked:
        mask = tx.tensor(np.random.default_rng(1).random((queries, keys)) < 0.6)
        mask[1] = False
    ours = F.scaled_dot_product_attention(*half, mask, is_causal=is_causal)
    theirs = composed(*wide, mask, is_causal)
    assert ours.dtype is tx.bfloat16
    assert (ours.to(tx.float64) - theirs).abs().max() <= 0.02 * theirs.abs().max()


@pytest.mark.parametrize("dtype", [tx.float32, tx.bfloat16])
@pytest.mark.parametrize("lead", [(), (5,)])
def test_attention_gives_the_same_bits_on_any_number_of_threads(lead, dtype):
    leaves = [drawn((*lead, 530, 21), dtype, seed=i) for i in range(3)]
    before, found = tx.get_num_threads(), []
    try:
        for count in (1, 2, 3, 7):
            tx.set_num_threads(count)
            made = gradients(F.scaled_dot_product_attention, leaves)
            found.append([t.detach().to(tx.float32).numpy() for t in made])
    finally:
        tx.set_num_threads(before)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_nothing_to_attend_to_and_nobody_who_does(shape):
    queries, keys = shape
    y = F.scaled_dot_product_attention(tx.ones(queries, 3), tx.ones(keys, 3), tx.ones(keys, 2))
    assert y.shape == (queries, 2)
    assert (y == 0).all()


def test_second_gradient_of_attention():
    leaves = tuple(drawn((2, 3, 4), seed=i) for i in range(3))
    assert tx.autograd.gradgradcheck(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), leaves
    )


def test_a_graph_of_gradients_has_gradients():
    leaves = [drawn((2, 3, 4), seed=i) for i in range(4)]
    with Trace("gradients") as trace:
        types = [Type(t.dtype, tuple(t.shape)) for t in leaves]
        *inputs, g = (trace.input(f"x{i}", t, requires_grad=True) for i, t in enumerate(types))
        y = F.scaled_dot_product_attention(*inputs, is_causal=True)
        for made in tx.autograd.grad(y, inputs, g, create_graph=True):
            trace.output(made)
    graph = trace.finish()
    assert "attention_backward" in str(graph)
    assert tx.autograd.gradcheck(lambda *x: tuple(Interpreter(graph).run(*x)), tuple(leaves))
