"""A short run of the gradients' fuzzer."""

import pytest

from tests.fuzz.gradients import run_part


@pytest.mark.parametrize("part", range(2))
def test_gradients_and_tangents_of_random_graphs_are_slopes(part):
    compared, _, wrong = run_part(1000 * part, 6, seed=1)
    assert compared == 6
    assert not wrong, f"{wrong[0].number}: {wrong[0].what}\n{wrong[0].graph}"
