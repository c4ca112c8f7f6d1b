"""Random programs with views and writes through them: Thixo, NumPy, traces and gradients agree."""

from statistics import median

import numpy as np
from hypothesis import HealthCheck, given, reject, settings
from programs import OnNumPy, OnThixo, Program, programs

import thixo as tx
from thixo.errors import InplaceError

COMMON = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)  # fmt: skip


def on_numpy(program: Program) -> list[np.ndarray]:
    return program.run(OnNumPy, [x.copy() for x in program.inputs])


def tensors(program: Program, **options) -> list[tx.Tensor]:
    return [tx.tensor(x, **options) for x in program.inputs]


def agree(got, wanted, program: Program) -> None:
    assert len(got) == len(wanted)
    for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
        a = a.detach().numpy()
        assert a.shape == b.shape, f"variable {i} of {program}"
        assert a.dtype == b.dtype, f"variable {i} of {program}"
        np.testing.assert_array_equal(a, b, err_msg=f"variable {i} of {program}")


def test_programs_agree_with_numpy():
    lengths = []

    @settings(COMMON, max_examples=250)
    @given(programs())
    def run(program):
        lengths.append(len(program.statements))
        agree(program.run(OnThixo, tensors(program)), on_numpy(program), program)

    run()
    assert median(lengths) >= 10


def test_traced_programs_agree_with_numpy():
    lengths = []

    @settings(COMMON, max_examples=120)
    @given(programs())
    def run(program):
        lengths.append(len(program.statements))
        program.run(OnThixo, tensors(program))  # leaves out what lies otherwise than on NumPy

        def f(*inputs):
            return program.run(OnThixo, list(inputs))[len(inputs) :]

        traced = tx.jit.trace(f, tuple(tensors(program)), check=False)
        given = tensors(program)
        results = traced(*given)
        agree([*given, *results], on_numpy(program), program)

    run()
    assert median(lengths) >= 10


def _losses(program: Program, variables, weights):
    return sum((v * w).sum() for v, w in zip(variables, weights, strict=True))


def test_gradients_of_programs_agree_with_finite_differences():
    tried = []

    @settings(COMMON, max_examples=100)
    @given(programs(smooth=True))
    def run(program):
        rng = np.random.default_rng(0)
        weights = [rng.uniform(-1, 1, v.shape) for v in on_numpy(program)]

        def loss(inputs):
            variables = program.run(OnNumPy, [x.copy() for x in inputs])
            return float(_losses(program, variables, weights))

        leaves = tensors(program, requires_grad=True)
        variables = program.run(OnThixo, [x * 1 for x in leaves])
        total = _losses(program, variables, [tx.tensor(w) for w in weights])
        if not total.requires_grad:
            reject()
        try:
            found = tx.autograd.grad(total, leaves, allow_unused=True)
        except InplaceError:
            reject()  # it overwrites what its gradient needs, and is told so
        direction = [rng.uniform(-1, 1, x.shape) for x in program.inputs]
        claimed = sum(
            float((g.numpy() * d).sum())
            for g, d in zip(found, direction, strict=True)
            if g is not None
        )
        step = 1e-5
        forward, back = (
            loss([x + s * step * d for x, d in zip(program.inputs, direction, strict=True)])
            for s in (1, -1)
        )
        measured = (forward - back) / (2 * step)
        if not np.isfinite(measured) or abs(forward) > 1e6:
            reject()  # too large for finite differences
        assert abs(claimed - measured) <= 1e-4 * (1 + abs(measured)), program
        tried.append(program)

    run()
    assert len(tried) >= 30
