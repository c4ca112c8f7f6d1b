"""Wrong arguments are refused in words: no operator, optimizer or schedule lets Python's own errors out."""

import inspect
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import thixo as tx
from thixo.errors import InternalError, ThixoError

PARTS = 8
CALLS = 25  # of each operator; `fuzz_operators.py` makes more by hand

JUNK = [
    None, "a", b"x", 1j, -1, 0, 3, 0.5, 2**70, 1e300, float("nan"), [], (), [1, 2], ("a", "b"), [None], {}, object(), int,
    np.array(2), np.zeros(3), np.float32(0.5), tx.ones(2), tx.tensor(1.0), tx.tensor(1j), lambda x: x, True,
]  # fmt: skip
GIVEN = {
    "T_max": 5, "T_0": 5, "base_lr": 0.1, "max_lr": 1.0, "total_steps": 5, "lr_lambda": lambda step: 1.0, "step_size": 2,
    "milestones": [2], "gamma": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("part", range(PARTS))
def test_operators_refuse_junk(part, tmp_path):
    program = pathlib.Path(__file__).with_name("fuzz_operators.py")
    log = tmp_path / "calls"
    with log.open("w") as calls:
        ran = subprocess.run(
            [sys.executable, str(program), "--calls", str(CALLS), "--part", f"{part}/{PARTS}"],
            stdout=subprocess.PIPE, stderr=calls, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )  # fmt: skip
    last = "\n".join(log.read_text().splitlines()[-12:])
    assert ran.returncode == 0, f"the program did not survive its last call:\n{last}"
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    words = [f"{f['call']}\n    {f['error']} at {f['where']}: {f['message']}" for f in found]
    assert not found, f"{len(found)} calls were not refused clearly:\n" + "\n".join(words)


def classes(module, base):
    found = (c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, base))
    return sorted({c for c in found if c is not base}, key=lambda c: c.__name__)


def arguments_of(cls):
    return [name for name in inspect.signature(cls).parameters if name != "self"]


def refused(make):
    """Runs something that may work, or fail with an error of ours."""
    try:
        make()
    except InternalError:
        raise
    except ThixoError:
        pass


@pytest.mark.parametrize("cls", classes(tx.optim, tx.optim.Optimizer))
def test_optimizers_refuse_junk(cls):
    for name in arguments_of(cls):
        for junk in JUNK:
            p = tx.nn.Parameter(tx.ones(2))
            p.grad = tx.ones(2)
            refused(lambda given={"params": [p], name: junk}: cls(**given))
            refused(lambda group={"params": [p], name: junk}: cls([group], lr=0.1))


@pytest.mark.parametrize("cls", classes(tx.optim.lr_scheduler, tx.optim.lr_scheduler.LRScheduler))
def test_schedules_refuse_junk(cls):
    names = arguments_of(cls)

    def run(name, junk):
        optimizer = tx.optim.SGD([tx.nn.Parameter(tx.ones(2))], lr=0.1, momentum=0.9)
        given = {n: GIVEN[n] for n in names if n in GIVEN}
        if "schedulers" in names:
            steps = tx.optim.lr_scheduler.StepLR
            given["schedulers"] = [steps(optimizer, 2), steps(optimizer, 3)]
        given |= {"optimizer": optimizer, name: junk}
        schedule = cls(**given)
        for _ in range(3):
            schedule.step(*([1.0] if cls.__name__ == "ReduceLROnPlateau" else []))

    for name in names:
        for junk in JUNK:
            refused(lambda name=name, junk=junk: run(name, junk))


@pytest.mark.parametrize(
    "call",
    [
        lambda: tx.optim.SGD([tx.nn.Parameter(tx.ones(1))], lr="a"),
        lambda: tx.optim.AdamW([{"params": [tx.nn.Parameter(tx.ones(1))], "lr": "a"}]),
        lambda: tx.optim.Adam([tx.nn.Parameter(tx.ones(1))], lr=1j),
    ],
)
def test_a_rate_that_is_no_number_is_named(call):
    with pytest.raises(tx.errors.ArgumentError, match=r"^\w+: lr must be a real number, got "):
        call()
