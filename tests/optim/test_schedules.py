"""Schedules: the rates PyTorch 2.13 sets, resuming, and refusals."""

import pickle

import pytest

import thixo as tx
from thixo.errors import ArgumentError, ValueRangeError

schedules = tx.optim.lr_scheduler


def optimizer_of(lr=1.0):
    return tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr=lr, momentum=0.9)


# (schedule, the rate before any step and after each of 8)
RATES = [
    (lambda s, o: s.StepLR(o, 3, 0.5), [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]),
    (
        lambda s, o: s.MultiStepLR(o, [2, 5, 5], 0.5),
        [1.0, 1.0, 0.5, 0.5, 0.5, 0.125, 0.125, 0.125, 0.125],
    ),
    (
        lambda s, o: s.ExponentialLR(o, 0.9),
        [1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.4782969, 0.43046721],
    ),
    (
        lambda s, o: s.CosineAnnealingLR(o, 4, 0.1),
        [1.0, 0.8681980515, 0.55, 0.2318019485, 0.1, 0.2318019485, 0.55, 0.8681980515, 1.0],
    ),
    (
        lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.1),
        [1.0, 0.55, 1.0, 0.8681980515, 0.55, 0.2318019485, 1.0, 0.9657457896, 0.8681980515],
    ),
    (
        lambda s, o: s.LinearLR(o, 0.25, 1.0, 4),
        [0.25, 0.4375, 0.625, 0.8125, 1.0, 1.0, 1.0, 1.0, 1.0],
    ),
    (lambda s, o: s.ConstantLR(o, 0.5, 3), [0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    (
        lambda s, o: s.PolynomialLR(o, 6, 2.0),
        [1.0, 0.6944444444, 0.4444444444, 0.25, 0.1111111111, 0.02777777778, 0.0, 0.0, 0.0],
    ),
    (
        lambda s, o: s.LambdaLR(o, lambda i: 1 / (i + 1)),
        [1.0, 0.5, 0.3333333333, 0.25, 0.2, 0.1666666667, 0.1428571429, 0.125, 0.1111111111],
    ),
    (
        lambda s, o: s.MultiplicativeLR(o, lambda i: 0.8),
        [1.0, 0.8, 0.64, 0.512, 0.4096, 0.32768, 0.262144, 0.2097152, 0.16777216],
    ),
    (
        lambda s, o: s.OneCycleLR(o, 2.0, total_steps=10),
        [
            0.08,
            1.04,
            2.0,
            1.900969264,
            1.623491308,
            1.222524044,
            0.7774839561,
            0.3765166921,
            0.09903873597,
        ],
    ),
    (
        lambda s, o: s.OneCycleLR(
            o, 2.0, total_steps=10, anneal_strategy="linear", three_phase=True
        ),
        [0.08, 1.04, 2.0, 1.04, 0.08, 0.0640016, 0.0480032, 0.0320048, 0.0160064],
    ),
    (lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, 3), [0.1, 0.55, 1.0, 0.7, 0.4, 0.1, 0.55, 1.0, 0.7]),
    (
        lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, mode="triangular2"),
        [0.1, 0.55, 1.0, 0.55, 0.1, 0.325, 0.55, 0.325, 0.1],
    ),
    (
        lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, mode="exp_range", gamma=0.9),
        [0.1, 0.505, 0.829, 0.42805, 0.1, 0.3657205, 0.5782969, 0.315233605, 0.1],
    ),
    (
        lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.9)], [3]),
        [0.5, 0.5, 1.0, 1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049],
    ),
    (
        lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 2), s.ExponentialLR(o, 0.9)]),
        [0.5, 0.45, 0.81, 0.729, 0.6561, 0.59049, 0.531441, 0.4782969, 0.43046721],
    ),
]


@pytest.mark.parametrize(("make", "wanted"), RATES)
def test_rates_are_pytorchs(make, wanted):
    optimizer = optimizer_of()
    schedule = make(schedules, optimizer)
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(8):
        schedule.step()
        rates.append(optimizer.param_groups[0]["lr"])
        assert schedule.get_last_lr() == [rates[-1]]
    assert rates == pytest.approx(wanted, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("make", [case[0] for case in RATES])
def test_saved_state_resumes(make):
    first, second = optimizer_of(), optimizer_of()
    schedule = make(schedules, first)
    for _ in range(3):
        schedule.step()
    other = make(schedules, second)
    other.load_state_dict(pickle.loads(pickle.dumps(schedule.state_dict())))
    second.load_state_dict(first.state_dict())
    for _ in range(4):
        schedule.step()
        other.step()
        assert first.param_groups[0]["lr"] == second.param_groups[0]["lr"]


def test_each_group_keeps_its_own_rate():
    a, b = tx.nn.Parameter(tx.ones(1)), tx.nn.Parameter(tx.ones(1))
    optimizer = tx.optim.SGD([{"params": a}, {"params": b, "lr": 0.1}], lr=1.0)
    schedule = schedules.StepLR(optimizer, 1, 0.5)
    schedule.step()
    assert schedule.get_last_lr() == [0.5, 0.05]


def test_plateau_waits_lowers_and_cools_down():
    optimizer = optimizer_of()
    schedule = schedules.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2
    )
    rates = []
    for loss in (1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5):
        schedule.step(tx.tensor(loss))
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2]


def test_momentum_cycles_against_the_rate():
    optimizer = optimizer_of()
    schedule = schedules.OneCycleLR(optimizer, 1.0, total_steps=5, pct_start=0.4)
    momenta = []
    for _ in range(3):
        momenta.append(optimizer.param_groups[0]["momentum"])
        schedule.step()
    assert momenta[:2] == pytest.approx([0.95, 0.85])
    assert momenta[2] > 0.85


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda s, o: s.StepLR("adam", 3), ArgumentError, "must be an Optimizer"),
        (lambda s, o: s.StepLR(o, 3, last_epoch=4), ArgumentError, "initial_lr"),
        (lambda s, o: s.ConstantLR(o, 2.0), ValueRangeError, "factor is 2.0"),
        (lambda s, o: s.LinearLR(o, 0.0), ValueRangeError, "start_factor"),
        (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueRangeError, "T_0=0"),
        (lambda s, o: s.OneCycleLR(o, 1.0), ArgumentError, "give total_steps"),
        (lambda s, o: s.CyclicLR(o, 0.1, 1.0, mode="saw"), ValueRangeError, "mode is 'saw'"),
        (lambda s, o: s.ReduceLROnPlateau(o, factor=1.5), ValueRangeError, "factor is 1.5"),
        (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]), ArgumentError, "0 milestones"),
        (lambda s, o: s.LambdaLR(o, [abs, abs]), ArgumentError, "2 functions for 1"),
    ],
)
def test_wrong_use_is_refused(make, error, words):
    with pytest.raises(error) as caught:
        make(schedules, optimizer_of())
    assert words in str(caught.value)
