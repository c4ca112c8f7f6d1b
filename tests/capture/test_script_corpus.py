"""jit.script on the corpus: what it does on all sets of arguments is what eager does, or it is refused with a line."""

import re
from pathlib import Path

import pytest

from tests.capture.corpus import CASES
from tests.capture.scripted import check

# The cases that are captured. One leaves the list only where its graph was not all that Python does.
CAPTURED = frozenset(Path(__file__).with_name("captured.txt").read_text().split())


@pytest.mark.parametrize("case", CASES.values(), ids=repr)
def test_script_is_the_function_or_is_refused(case):
    refusal = check(case)
    if refusal is not None:
        assert case.name not in CAPTURED, refusal
        assert re.search(
            r" cannot be captured: .+: .+ \(([\w.<> \[\]-]+:\d+, in )?[\w.<> \[\]-]+:\d+\)$",
            refusal,
            re.DOTALL,
        ), refusal


def test_the_list_names_cases():
    assert set(CASES) >= CAPTURED
