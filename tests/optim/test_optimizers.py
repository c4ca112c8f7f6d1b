"""Optimizers: the numbers PyTorch 2.13 gives on a small problem, exact resuming, groups and refusals."""

import pickle

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ArgumentError, SerializationError, ValueRangeError

# (optimizer, options, parameters after 7 steps, or 3 of LBFGS, from [1, -2, 0.5] on `loss_of`)
GOLDEN = [
    ("SGD", {"lr": 0.1}, [0.340782961451, -1.08926401199, -0.0204720182482]),
    ("SGD", {"lr": 0.1, "momentum": 0.9}, [-0.795374569769, 0.575915390043, -0.262586523004]),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1},
        [-0.640984063904, 0.438710038304, -0.409812372201],
    ),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        [-0.646353881442, 0.327036493342, -0.0858876470318],
    ),
    ("SGD", {"lr": 0.1, "maximize": True}, [2.9726944689, -15.3317604473, 4.67228335649]),
    ("Adam", {"lr": 0.1}, [0.322612304345, -1.32345079854, -0.130000169718]),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.001, "weight_decay": 0.2},
        [0.368295250977, -1.36296383844, -0.0384237459585],
    ),
    (
        "Adam",
        {"lr": 0.1, "amsgrad": True, "betas": (0.2, 0.3)},
        [0.427453447016, -1.43068232711, 0.0383918528492],
    ),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3}, [0.19808160327, -1.0177447515, -0.153916131981]),
    (
        "Adadelta",
        {"rho": 0.5, "weight_decay": 0.1},
        [0.986682141412, -1.98668272733, 0.48670294744],
    ),
    (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5},
        [0.707970325308, -1.6974669174, 0.220869125496],
    ),
    ("RMSprop", {"lr": 0.05}, [-0.122648002913, -0.789253497695, -0.0666467312397]),
    (
        "RMSprop",
        {"lr": 0.05, "momentum": 0.5, "centered": True},
        [-0.248405685766, -0.285016166598, -0.0550646193121],
    ),
    (
        "Adamax",
        {"lr": 0.1, "weight_decay": 0.1},
        [0.410265127429, -1.40975340817, -0.0149289529428],
    ),
    ("NAdam", {"lr": 0.1}, [0.498189190581, -1.50018813839, 0.0562538478211]),
    (
        "NAdam",
        {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1},
        [0.453021647023, -1.39491532682, 0.0441876055046],
    ),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.99)}, [0.386547279631, -1.0649228056, -0.116441737521]),
    (
        "RAdam",
        {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1},
        [0.360487074269, -0.994751303021, -0.111746745648],
    ),
    ("Rprop", {"lr": 0.1}, [-0.2915904, -0.7084096, -0.14048]),
    ("ASGD", {"lr": 0.1, "t0": 2}, [0.340762104353, -1.08921180196, -0.0204714769351]),
    ("LBFGS", {"lr": 0.5, "max_iter": 2}, [0.265131723444, -1.13869812032, 0.0458553129378]),
    (
        "LBFGS",
        {"line_search_fn": "strong_wolfe", "max_iter": 3},
        [-0.215931853479, -0.399381165381, -0.0635539699591],
    ),
]


def loss_of(p):
    a = tx.tensor([1.0, 0.5, 3.0], dtype=tx.float64)
    return (a * p**2).sum() / 2 + (p**4).sum() / 20 + p.sum() / 5


def start(name, options):
    p = tx.nn.Parameter(tx.tensor([1.0, -2.0, 0.5], dtype=tx.float64))
    return p, getattr(tx.optim, name)([p], **options)


def steps(p, optimizer, count):
    def closure():
        optimizer.zero_grad()
        loss = loss_of(p)
        loss.backward()
        return loss

    for _ in range(count):
        optimizer.step(closure)


@pytest.mark.parametrize(("name", "options", "wanted"), GOLDEN)
def test_steps_are_pytorchs(name, options, wanted):
    p, optimizer = start(name, options)
    steps(p, optimizer, 3 if name == "LBFGS" else 7)
    np.testing.assert_allclose(p.detach().numpy(), wanted, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("name", "options"), [case[:2] for case in GOLDEN])
def test_saved_state_resumes_exactly(name, options):
    p, optimizer = start(name, options)
    steps(p, optimizer, 2)
    q = tx.nn.Parameter(p.detach().clone())
    other = getattr(tx.optim, name)([q], lr=0.123)
    other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    steps(p, optimizer, 3)
    steps(q, other, 3)
    assert np.array_equal(p.detach().numpy(), q.detach().numpy())
    assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


def test_loaded_state_is_a_copy():
    p, optimizer = start("Adam", {})
    steps(p, optimizer, 1)
    _, other = start("Adam", {})
    other.load_state_dict(optimizer.state_dict())
    before = optimizer.state[p]["exp_avg"].clone()
    other.state[other.param_groups[0]["params"][0]]["exp_avg"].fill_(9)
    assert np.array_equal(optimizer.state[p]["exp_avg"].numpy(), before.numpy())


def test_complex_parameters_step_as_pairs_of_reals():
    z = tx.nn.Parameter(tx.tensor([1 + 2j]))
    pair = tx.nn.Parameter(tx.tensor([1.0, 2.0]))
    for p in (z, pair):
        optimizer = tx.optim.Adam([p], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            parts = tx.view_as_real(p) if p is z else p
            (parts.reshape(2) ** 2 * tx.tensor([1.0, 5.0])).sum().backward()
            optimizer.step()
    np.testing.assert_allclose([z.item().real, z.item().imag], pair.detach().numpy(), rtol=1e-6)


def test_groups_have_their_own_options():
    a, b = tx.nn.Parameter(tx.ones(1)), tx.nn.Parameter(tx.ones(1))
    optimizer = tx.optim.SGD([{"params": a}, {"params": [b], "lr": 0.5}], lr=0.1)
    (a + b).sum().backward()
    optimizer.step()
    assert a.item() == pytest.approx(0.9)
    assert b.item() == pytest.approx(0.5)


def test_named_parameters_keep_their_names():
    layer = tx.nn.Linear(2, 1)
    optimizer = tx.optim.SGD(layer.named_parameters(), lr=0.1)
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]


def test_parameters_without_gradient_stay():
    a, b = tx.nn.Parameter(tx.ones(1)), tx.nn.Parameter(tx.ones(1))
    optimizer = tx.optim.Adam([a, b], lr=0.1)
    a.sum().backward()
    optimizer.step()
    assert b.item() == 1
    assert b not in optimizer.state


def test_zero_grad_forgets_or_zeroes():
    p, optimizer = start("SGD", {"lr": 0.1})
    loss_of(p).backward()
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.abs().sum().item() == 0
    optimizer.zero_grad()
    assert p.grad is None


def test_hooks_around_steps():
    p, optimizer = start("SGD", {"lr": 0.1})
    seen = []
    handle = optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    steps(p, optimizer, 1)
    handle.remove()
    steps(p, optimizer, 1)
    assert seen == ["before", "after", "after"]


def test_step_gives_the_closures_loss():
    p, optimizer = start("SGD", {"lr": 0.1})
    optimizer.zero_grad()
    wanted = loss_of(p).item()

    def closure():
        loss = loss_of(p)
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == wanted


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda p: tx.optim.SGD([], lr=0.1), ValueRangeError, "empty"),
        (lambda p: tx.optim.SGD(p, lr=0.1), ArgumentError, "a list of parameters is needed"),
        (lambda p: tx.optim.SGD([p], lr=-1.0), ValueRangeError, "lr is -1.0"),
        (lambda p: tx.optim.SGD([p], lr=0.1, nesterov=True), ValueRangeError, "nesterov needs"),
        (lambda p: tx.optim.Adam([p], betas=(1.0, 0.9)), ValueRangeError, "betas is (1.0, 0.9)"),
        (lambda p: tx.optim.SGD([p, p], lr=0.1), ArgumentError, "given twice"),
        (lambda p: tx.optim.SGD([p * 2], lr=0.1), ArgumentError, "no leaf"),
        (lambda p: tx.optim.SGD([3], lr=0.1), ArgumentError, "must be tensors"),
        (lambda p: tx.optim.SGD([{"lr": 1.0}]), ArgumentError, "a dictionary with 'params'"),
        (lambda p: tx.optim.LBFGS([p]).step(), ArgumentError, "needs a closure"),
        (lambda p: tx.optim.LBFGS([p], line_search_fn="x"), ValueRangeError, "line_search_fn"),
        (
            lambda p: tx.optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []}),
            SerializationError,
            "groups of [] parameters",
        ),
    ],
)
def test_wrong_use_is_refused(make, error, words):
    p = tx.nn.Parameter(tx.ones(2))
    with pytest.raises(error) as caught:
        make(p)
    assert words in str(caught.value)
    assert "test_optimizers.py" in str(caught.value)


def test_printing():
    _, optimizer = start("SGD", {"lr": 0.1})
    assert "lr: 0.1" in repr(optimizer)
    assert repr(optimizer).startswith("SGD (\nParameter Group 0")
