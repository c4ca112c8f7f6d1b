"""A step in one kernel gives what the optimizer's own update gives, tensor by tensor."""

import numpy as np
import pytest

import thixo as tx

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "maximize": True}),
    ("Adamax", {"lr": 0.01}),
    ("Adamax", {"lr": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "maximize": True}),
    ("Adagrad", {"lr": 0.01, "lr_decay": 0.1}),
    ("Adagrad", {"lr": 0.01, "weight_decay": 0.1, "initial_accumulator_value": 0.3}),
    ("Adadelta", {}),
    ("Adadelta", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01}),
    ("RAdam", {"lr": 0.01, "betas": (0.9, 0.7), "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Rprop", {"lr": 0.01, "step_sizes": (0.008, 0.013)}),
    ("Rprop", {"lr": 0.01, "maximize": True}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "t0": 1}),
    ("ASGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
]
SHAPES = [(3, 5), (), (17,), (0, 4), (70_001,)]


def train(name, options, dtype, together):
    rng = np.random.default_rng(1)
    params = [tx.nn.Parameter(tx.tensor(rng.standard_normal(s), dtype=dtype)) for s in SHAPES]
    optimizer = getattr(tx.optim, name)(params, **options)
    if not together:
        optimizer._update_together = lambda group, ready: ready
    for _ in range(4):
        for p in params:
            p.grad = tx.tensor(rng.standard_normal(tuple(p.shape)), dtype=dtype)
        optimizer.step()
    return params, optimizer


@pytest.mark.parametrize("dtype", [tx.float32, tx.float64])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_same_step(name, options, dtype):
    fused, one = train(name, options, dtype, True)
    plain, other = train(name, options, dtype, False)
    close = {"rtol": 1e-5, "atol": 1e-6} if dtype is tx.float32 else {"rtol": 1e-12, "atol": 1e-13}
    for p, q in zip(fused, plain, strict=True):
        tx.testing.assert_close(p, q, **close)
        states = one.state[p], other.state[q]
        assert states[0].keys() == states[1].keys()
        for key in states[0]:
            tx.testing.assert_close(states[0][key], states[1][key], **close)


def test_a_step_is_a_write_that_the_tape_sees():
    p = tx.nn.Parameter(tx.ones(3))
    loss = (p * p).sum()
    p.grad = tx.ones(3)
    tx.optim.SGD([p], lr=0.1).step()
    with pytest.raises(tx.errors.InplaceError):
        loss.backward()


def test_what_is_not_contiguous_or_of_another_dtype_is_updated_too():
    p, q = tx.nn.Parameter(tx.ones(4, 3)), tx.nn.Parameter(tx.ones(2, dtype=tx.float64))
    p.grad, q.grad = tx.ones(3, 4).T, tx.ones(2, dtype=tx.float64)
    tx.optim.Adam([p, q], lr=0.5).step()
    tx.testing.assert_close(p.detach(), tx.full((4, 3), 0.5))
    tx.testing.assert_close(q.detach(), tx.full((2,), 0.5, dtype=tx.float64))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same_bits(threads):
    before = tx.get_num_threads()
    expected, _ = train("Adam", {"lr": 0.01}, tx.float32, True)
    tx.set_num_threads(threads)
    try:
        found, _ = train("Adam", {"lr": 0.01}, tx.float32, True)
    finally:
        tx.set_num_threads(before)
    assert all(tx.equal(p, q) for p, q in zip(expected, found, strict=True))
