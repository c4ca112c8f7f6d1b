"""A short run of the gradients' fuzzer."""

import pytest

from tests.fuzz.gradients import run_part
from thixo.autodiff.reverse import Reverse


@pytest.mark.parametrize("part", range(2))
def test_gradients_and_tangents_of_random_graphs_are_slopes(part):
    compared, _, wrong = run_part(1000 * part, 6, seed=1)
    assert compared == 6
    assert not wrong, f"{wrong[0].number}: {wrong[0].what}\n{wrong[0].graph}"


def test_a_rule_that_is_a_little_wrong_is_found(monkeypatch):
    add = Reverse.add

    def off(self, value, gradient, *use):
        add(self, value, gradient * 1.001 if gradient.ndim == 2 else gradient, *use)

    monkeypatch.setattr(Reverse, "add", off)
    wrong = run_part(0, 6, seed=1)[2]
    assert wrong
    assert "the gradient is" in wrong[0].what
