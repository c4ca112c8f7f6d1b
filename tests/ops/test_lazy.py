"""Every operator in lazy mode, in each layout of its inputs: values, strides, aliases and gradients are those of eager mode."""

import checks
import numpy as np
import pytest

import thixo as tx
from thixo import _core
from thixo.ops.samples import Maker


def as_it_lies(array: np.ndarray) -> tx.Tensor:
    return tx.from_numpy(np.array(array))


def turned(array: np.ndarray) -> tx.Tensor:
    """The same numbers, the last axis first in memory."""
    return tx.from_numpy(np.array(array.T).T) if array.ndim > 1 else as_it_lies(array)


def steps(t: tx.Tensor) -> list[int]:
    """Strides, where they lead somewhere."""
    return [s for n, s in zip(t.shape, t.stride(), strict=True) if n > 1 and t.numel()]


def perform(op, sample, make, gradient: bool):
    """What one can see of a call: results, their layout, which inputs they share memory with, gradients."""
    given: list[tx.Tensor] = []

    def tensor(array):
        given.append(make(array))
        if gradient and (given[-1].is_floating_point() or given[-1].is_complex()):
            given[-1].requires_grad_()
        return given[-1]

    try:
        results = checks.call(op, checks.on_tensors(sample, tensor))
    except tx.ThixoError as error:
        return type(error)
    results = [t for t in results if isinstance(t, tx.Tensor)]
    layouts = [(t.dtype, t.shape, steps(t), t.storage_offset()) for t in results]
    shared = [[_core.shares_memory(t, x) for x in given] for t in results]
    found = []
    if gradient:
        outputs = [t for t in results if t.requires_grad]
        inputs = [x for x in given if x.requires_grad]
        if outputs and inputs:
            ones = [tx.ones_like(t) * 0.5 for t in outputs]
            try:
                found = tx.autograd.grad(outputs, inputs, ones, allow_unused=True)
            except tx.errors.AutogradError as error:  # there is none
                return type(error)
    values = [None if t is None else t.detach() for t in (*results, *found)]
    return layouts, shared, values


def check(op, dtype, make, gradient=False):
    for eager, recorded in zip(
        checks.samples_of(op, dtype), checks.samples_of(op, dtype), strict=True
    ):
        expected = perform(op, eager, make, gradient)
        with tx.lazy():
            found = perform(op, recorded, make, gradient)
        if isinstance(expected, type):
            assert found is expected
            continue
        assert found[:2] == expected[:2], eager
        for one, other in zip(found[2], expected[2], strict=True):
            assert (one is None) == (other is None)
            if other is not None and not op.full_name.startswith("empty"):
                tolerance = checks.TOLERANCE.get(other.dtype.name, 0)
                np.testing.assert_allclose(
                    checks.to_array(one), checks.to_array(other), rtol=tolerance, atol=tolerance
                )


@pytest.mark.parametrize("make", [as_it_lies, turned])
def test_lazy(op, make):
    check(op, checks.main_dtype(op), make)


@pytest.mark.over(lambda op: checks.main_dtype(op).kind in "fc")
def test_lazy_gradient(op):
    check(op, checks.main_dtype(op), as_it_lies, gradient=True)


@pytest.mark.over(lambda op: hasattr(op, "bad"))
def test_lazy_errors(op):
    """The words and the line of eager mode; where the data are at fault, when they are looked at."""
    for bad in op.bad(Maker(checks.main_dtype(op))):
        with tx.lazy():
            checks.check_bad(op, bad, settle=_core.lazy_settle_here)
