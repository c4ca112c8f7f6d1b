"""jit.trace on the corpus: a trace does what the function does, or it is refused with a line; nothing is baked in."""

import re

import numpy as np
import pytest

import thixo as tx
from tests.capture.corpus import CASES, perform
from tests.capture.corpus.registry import parts, tensors

# A trace knows no keywords, and does not promise to see globals change.
TRACED = [case for case in CASES.values() if not case.changes and not case.arguments(0).kwargs]


@pytest.mark.parametrize("case", TRACED, ids=repr)
def test_a_trace_is_the_function_or_is_refused(case):
    example = tuple(case.arguments(0).args)
    for index in range(len(case.sets)):
        if case.arguments(index).kwargs:
            continue
        refusals: list[str] = []

        def traced(target, refusals=refusals):
            try:
                return tx.jit.trace(target, example)
            except tx.ThixoError as refusal:
                refusals.append(str(refusal))
                return lambda *args: None

        try:
            run = perform(case, index, through=traced)
        except tx.ThixoError as refusal:  # of these arguments
            refusals.append(str(refusal))
        if refusals:
            assert re.search(r"\(\w+\.py:\d+\)$", refusals[0]), refusals[0]
            # The trace's own check is for what it cannot see: state of Python's.
            assert case.mutates or "is not that of the function" not in refusals[0]
            continue
        expected = perform(case, index)
        compare(list(leaves(run.result)), list(leaves(expected.result)))
        if case.grad and not case.mutates:
            compare(gradients(case, run), gradients(case, expected))


def gradients(case, run) -> list:
    """Of the weighted sum of all results, with respect to the arguments that the case names."""
    outputs = [y for y in tensors(run.result) if y.requires_grad]
    inputs = [
        x
        for where in case.grad
        if isinstance(where, int)
        for x in tensors(run.arguments.args[where])
        if x.requires_grad
    ]
    if not outputs:
        return []
    rng = np.random.default_rng(0)
    weights = [tx.tensor(rng.normal(size=tuple(y.shape))).to(y.dtype) for y in outputs]
    return list(tx.autograd.grad(outputs, inputs, weights, allow_unused=True))


def leaves(value):
    """The tensors and plain values of a result, in order."""
    inner = parts(value)
    if inner is None:
        yield value
    else:
        for _, item in inner:
            yield from leaves(item)


def compare(found: list, expected: list) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(other, tx.Tensor):
            if one is None:  # an argument that was not used has no gradient, or one of zeros
                one = tx.zeros_like(other)
            assert one.dtype == other.dtype
            np.testing.assert_allclose(
                one.detach().numpy(), other.detach().numpy(), rtol=1e-6, atol=1e-9
            )
        elif isinstance(other, float):
            assert one == pytest.approx(other, nan_ok=True)
        elif isinstance(other, int | str | None):
            assert one == other
