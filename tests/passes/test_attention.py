"""Attention written out is found, and nothing else is taken for it."""

import math

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Interpreter
from thixo.passes import optimize

Q = (2, 3, 6, 4)


def rand(*shape):
    return tx.tensor(np.random.default_rng(len(shape)).normal(size=shape))


def names(graph):
    return [n.op.full_name for n in graph.nodes]


def check(function, *inputs):
    graph = tx.jit.trace(function, inputs).graph
    result = optimize(graph, off=["fuse"])
    for a, b in zip(
        Interpreter(result.graph).run(*inputs), Interpreter(graph).run(*inputs), strict=True
    ):
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-12, 1e-12)
    return result


def test_a_query_that_may_attend_to_nothing_is_nan_as_written():
    inputs = rand(*Q), rand(*Q), rand(*Q)
    mask = tx.zeros(6, 6, dtype=tx.float64)
    mask[2] = -math.inf
    mask[4, :3] = -math.inf
    made = check(lambda q, k, v, m: (q @ k.transpose(-2, -1) + m).softmax(-1) @ v, *inputs, mask)
    (found,) = Interpreter(made.graph).run(*inputs, mask)
    assert found[:, :, 2].isnan().all()
    assert not found[:, :, [0, 1, 3, 4, 5]].isnan().any()
    made = check(lambda q, k, v, m: (q @ k.transpose(-2, -1)).masked_fill(m, -math.inf).softmax(-1) @ v,
                 *inputs, mask < 0)  # fmt: skip
    assert "nn.functional.attention" in names(made.graph)


@pytest.mark.parametrize("function", [
    lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-1) @ v,
    lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(4)).softmax(-1) @ v,
    lambda q, k, v: ((q * 0.5) @ k.transpose(2, 3)).softmax(3) @ v,
    lambda q, k, v: (0.25 * (q @ k.permute(0, 1, 3, 2))).softmax(-1) @ v,
])  # fmt: skip
def test_scores_may_be_scaled_anywhere(function):
    inputs = rand(*Q), rand(2, 3, 5, 4), rand(2, 3, 5, 7)
    result = check(function, *inputs)
    assert names(result.graph) == ["nn.functional.attention"]
    assert result.counts["attention"] == 1


def test_masks_are_added_or_choose():
    inputs = rand(*Q), rand(*Q), rand(*Q)
    mask = rand(6, 6)
    made = check(
        lambda q, k, v, m: (q @ k.transpose(-2, -1) * 0.5 + m).softmax(-1) @ v, *inputs, mask
    )
    assert "nn.functional.attention" in names(made.graph)
    allowed = tx.tensor(np.tri(6, dtype=bool))
    made = check(lambda q, k, v, m: tx.where(m, q @ k.transpose(-2, -1), float("-inf")).softmax(-1) @ v,
                 *inputs, allowed)  # fmt: skip
    assert "nn.functional.attention" in names(made.graph)
    made = check(lambda q, k, v, m: (q @ k.transpose(-2, -1)).masked_fill(m, float("-inf")).softmax(-1) @ v,
                 *inputs, ~allowed)  # fmt: skip
    assert "nn.functional.attention" in names(made.graph)


@pytest.mark.parametrize("function", [
    lambda q, k, v: (q @ k.transpose(-2, -1)).softmax(-2) @ v,
    lambda q, k, v: (q @ k).softmax(-1) @ v,
    lambda q, k, v: (q @ k.transpose(-2, -1)).tanh().softmax(-1) @ v,
    lambda q, k, v: (lambda p: (p @ v, p.sum()))((q @ k.transpose(-2, -1)).softmax(-1)),
])  # fmt: skip
def test_other_things_stay_as_they_are(function):
    inputs = rand(2, 4, 4), rand(2, 4, 4), rand(2, 4, 4)
    assert "nn.functional.attention" not in names(check(function, *inputs).graph)


def test_it_can_be_left_out():
    q = rand(*Q)
    graph = tx.jit.trace(lambda q: (q @ q.transpose(-2, -1)).softmax(-1) @ q, (q,)).graph
    assert "softmax" in names(optimize(graph, off=["attention"]).graph)
