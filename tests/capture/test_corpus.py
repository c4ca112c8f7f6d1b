"""The corpus in eager mode: what it is, that it runs, and that its arguments lead along different paths."""

import sys
from collections import Counter

import numpy as np
import pytest

import thixo as tx
from tests.capture.corpus import CASES, THEMES, Case, Run, perform, snapshot
from tests.capture.corpus.constructs import CONSTRUCTS, constructs
from tests.capture.corpus.registry import tensors

FOLDER = sys.modules["tests.capture.corpus"].__path__[0]

every_case = pytest.mark.parametrize("case", CASES.values(), ids=repr)


def test_the_corpus_never_loses_a_function():
    by_theme = Counter(case.theme for case in CASES.values())
    assert len(CASES) >= 397  # more may come; none goes
    assert set(by_theme) == set(THEMES)
    assert min(by_theme.values()) >= 10
    assert all(len(case.sets) >= 2 for case in CASES.values())
    assert sum(bool(case.grad or case.parameters) for case in CASES.values()) >= 100


def test_every_construct_is_in_several_functions():
    uses = Counter(name for case in CASES.values() for name in constructs(case))
    assert {name: uses[name] for name in CONSTRUCTS if uses[name] < 3} == {}


class Steps:
    """Which instructions of the corpus were run, and how often; ternaries and `and` count, being opcodes."""

    def __init__(self):
        self.counts: Counter = Counter()

    def __enter__(self):
        self.outer = sys.gettrace()
        sys.settrace(self.enter)
        return self

    def __exit__(self, *exception):
        sys.settrace(self.outer)

    def enter(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        if frame.f_code.co_filename.endswith("registry.py"):
            return None
        frame.f_trace_opcodes = True
        return self.step

    def step(self, frame, event, argument):
        if event == "opcode":
            code = frame.f_code
            self.counts[code.co_qualname, code.co_firstlineno, frame.f_lasti] += 1
        return self.step


def traced(case: Case, index: int) -> tuple[Run, Counter]:
    steps = Steps()

    def watch(function):
        def watched(*args, **kwargs):
            with steps:
                return function(*args, **kwargs)

        return watched

    return perform(case, index, through=watch), steps.counts


@every_case
def test_case(case):
    """Runs, finite, the same twice, along different paths, with the effects it declares."""
    runs, paths = [], []
    for index in range(len(case.sets)):
        given = case.arguments(index)
        run, path = traced(case, index)
        again = perform(case, index)
        assert snapshot(again.result) == snapshot(run.result), f"set {index}: another result"
        assert again.printed == run.printed
        assert again.after == run.after
        assert snapshot(again.globals) == snapshot(run.globals)
        for tensor in tensors(run.result):
            if tensor.is_floating_point():
                assert np.isfinite(tensor.detach().numpy()).all(), f"set {index} is not finite"
        if case.answers is not None and case.answers[index] is not None:
            close(run.result, case.answers[index])
        if case.check is not None:
            assert case.check(run.result, *given.args, **given.kwargs), f"set {index}"
        runs.append(run)
        paths.append(path)
    for index in range(1, len(paths)):
        assert paths[index] != paths[0], f"set {index} takes the path of set 0"
    assert any(run.printed for run in runs) == case.prints
    assert any(run.drew for run in runs) == case.random
    assert any(run.before != run.after for run in runs) == case.mutates
    scope = vars(sys.modules[case.function.__module__])
    for name in case.changes:
        assert any(snapshot(run.globals[name]) != snapshot(scope[name]) for run in runs)


def close(result, answer) -> None:
    if isinstance(answer, list | tuple) and not isinstance(result, tx.Tensor):
        assert len(result) == len(answer)
        for one, other in zip(result, answer, strict=True):
            close(one, other)
    elif isinstance(answer, str | bool | None):
        assert result == answer
    else:
        value = result.detach().numpy() if isinstance(result, tx.Tensor) else result
        np.testing.assert_allclose(value, answer, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.grad or case.parameters], ids=repr
)
def test_gradients_are_those_of_finite_differences(case):
    compared = 0
    for index in range(len(case.sets)):
        run = perform(case, index)
        wanted = differentiated(case, run.target, run.arguments)
        assert wanted
        rng = np.random.default_rng(index)
        outputs = differentiable(run.result)
        if not outputs:
            continue  # a path whose result is constant
        compared += 1
        weights = [tx.tensor(rng.normal(size=tuple(y.shape))) for y in outputs]
        grads = tx.autograd.grad(outputs, wanted, weights, allow_unused=True)
        if case.detaches:
            continue
        directions = [rng.normal(size=tuple(x.shape)) for x in wanted]
        slope = sum(
            float((grad.numpy() * way).sum())
            for grad, way in zip(grads, directions, strict=True)
            if grad is not None
        )
        step = 1e-6
        ahead = moved(case, index, directions, step, weights)
        behind = moved(case, index, directions, -step, weights)
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=2e-5, atol=2e-6)
    assert compared


def differentiated(case: Case, target, arguments) -> list:
    """The arguments that the case names, and the parameters of its module."""
    chosen = [
        arguments.args[where] if isinstance(where, int) else arguments.kwargs[where]
        for where in case.grad
    ]
    owner = getattr(target, "__self__", target)
    if case.parameters and isinstance(owner, tx.nn.Module):
        chosen.append(list(owner.parameters()))
    return [x for x in tensors(chosen) if x.is_floating_point() and x.requires_grad]


def moved(case: Case, index: int, directions: list, step: float, weights: list) -> float:
    """The weighted sum of the outputs when the arguments are moved by `step` along `directions`."""

    def shift(target, arguments):
        with tx.no_grad():
            for x, way in zip(differentiated(case, target, arguments), directions, strict=True):
                x.add_(tx.tensor(way), alpha=step)

    outputs = differentiable(perform(case, index, prepare=shift).result)
    return sum(float((y.detach() * w).sum()) for y, w in zip(outputs, weights, strict=True))


def differentiable(result) -> list:
    return [y for y in tensors(result) if y.is_floating_point() and y.requires_grad]
