"""The corpus in lazy mode: it does what it does in eager mode, in every respect that one can see."""

import numpy as np
import pytest

import thixo as tx
from tests.capture.corpus import CASES, perform, snapshot
from tests.capture.corpus.registry import tensors
from tests.capture.test_traced_corpus import compare, leaves
from thixo.capture import segments


def lazily(function):
    """The function, recorded; what it returns has run when it is back."""

    def recorded(*args, **kwargs):
        with tx.lazy():
            return function(*args, **kwargs)

    return recorded


def gradients(run, wanted) -> list:
    """Of a weighted sum of all results, with respect to everything that was given and requires grad."""
    outputs = [y for y in tensors(run.result) if y.requires_grad]
    if not outputs or not wanted:
        return []
    rng = np.random.default_rng(0)
    weights = [tx.tensor(rng.normal(size=tuple(y.shape))).to(y.dtype) for y in outputs]
    return list(tx.autograd.grad(outputs, wanted, weights, allow_unused=True))


def given(run) -> list:
    owner = getattr(run.target, "__self__", run.target)
    found = tensors([run.arguments.args, run.arguments.kwargs, owner])
    return [x for x in found if x.is_leaf and x.requires_grad]


def close(one, other) -> None:
    """Snapshots: the same structure and the same numbers, up to the rounding that fusing them changes."""
    if isinstance(other, tuple) and len(other) == 4 and isinstance(other[2], bytes):
        assert one[:2] == other[:2]
        dtype = np.dtype(getattr(tx, other[0].removeprefix("thixo.")).numpy)
        a, b = (np.frombuffer(x[2], dtype) for x in (one, other))
        if a.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
        else:
            assert (a == b).all()
        assert (one[3] is None) == (other[3] is None)
        if other[3] is not None:
            close(one[3], other[3])
    elif isinstance(other, tuple):
        assert len(one) == len(other)
        for x, y in zip(one, other, strict=True):
            close(x, y)
    elif isinstance(other, float):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9, nan_ok=True)
    else:
        assert one == other


@pytest.mark.parametrize("case", CASES.values(), ids=repr)
def test_lazy_is_eager(case, monkeypatch):
    for index in range(len(case.sets)):
        # What comes once runs operator by operator; every second set is compiled at once.
        monkeypatch.setattr(segments.Settings, "sights", 2 - index % 2)
        expected, run = perform(case, index), perform(case, index, through=lazily)
        assert run.printed == expected.printed
        compare(list(leaves(run.result)), list(leaves(expected.result)))
        close(run.after, expected.after)
        close(snapshot(run.globals), snapshot(expected.globals))
        assert run.drew == expected.drew
        compare(gradients(run, given(run)), gradients(expected, given(expected)))
