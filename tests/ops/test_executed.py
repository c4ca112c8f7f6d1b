"""Every operator and its gradient as a graph, through every executor: the bits of the serial one."""

import checks
import numpy as np
import pytest
from checks import call, name_of, on_tensors, samples_of
from traced_checks import SERVED, Traced, _at_sizes

import thixo as tx
from thixo.graph.interpret import GuardError
from thixo.ops.samples import SIZES, symbolic_sizes
from thixo.runtime.executor import EXECUTORS, executor

OPTIONS = {"sunk": {"poisoned": True}, "ready": {"poisoned": True}}
OTHERS = sorted(set(EXECUTORS) - {"serial"})


def bits(tensors):
    return [(t.dtype, tuple(t.shape), t.numpy().tobytes()) for t in tensors]


def check(op, gradient):
    dtype, sizes = checks.main_dtype(op), SERVED[0]
    others = list(samples_of(op, dtype, sizes))
    for number, sample in enumerate(samples_of(op, dtype, symbolic_sizes())):
        if gradient and not sample.grad:
            continue
        if not any(isinstance(t, tx.Tensor) for t in call(op, on_tensors(others[number]))):
            continue
        traced = Traced(op, sample, gradient)
        if not traced.graph.outputs:
            continue
        other = _at_sizes(sample, others[number])
        _, seeds = traced.eager(other, np.random.default_rng(7))
        every_size = np.zeros([sizes[name] for name in SIZES], bool)
        inputs = [every_size, *(np.array(a) for a in other.arrays), *seeds]
        tensors = [tx.tensor(x) for x in inputs]
        tx.manual_seed(0)
        try:
            wanted = bits(executor(traced.graph, "serial")(tensors))
        except GuardError:
            continue
        for name in OTHERS:
            run = executor(traced.graph, name, **OPTIONS.get(name, {}))
            for _ in range(2):  # as it is made, and as it is
                tx.manual_seed(0)
                found = bits(run(tensors))
                assert found == wanted, f"{name}: {name_of(op, sample, dtype)}\n{traced.graph}"


def test_executed(op):
    check(op, gradient=False)


@pytest.mark.over(lambda op: checks.main_dtype(op).kind in "fc")
def test_executed_gradient(op):
    check(op, gradient=True)
