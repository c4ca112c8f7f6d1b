"""Functions that nobody tuned capture to: script is right or refuses, lazy and compile are right."""

from pathlib import Path

import pytest

import thixo as tx
from tests.capture.scripted import check
from tests.capture.test_lazy_corpus import lazily
from tests.capture.unseen import UNSEEN

# What script makes one graph of. One leaves the list only where its graph was not all that Python does.
CAPTURED = frozenset(
    Path(__file__).with_name("unseen").joinpath("captured.txt").read_text().split()
)
ALWAYS = {"lazy": lazily} | ({"compile": tx.compile} if hasattr(tx, "compile") else {})

pytestmark = pytest.mark.filterwarnings("ignore")


def test_there_are_many():
    assert len(UNSEEN) >= 60
    assert set(UNSEEN) >= CAPTURED


@pytest.mark.parametrize("case", UNSEEN.values(), ids=repr)
def test_script_is_the_function_or_is_refused(case):
    refusal = check(case)
    assert refusal is None or case.name not in CAPTURED, refusal


@pytest.mark.parametrize("route", ALWAYS)
@pytest.mark.parametrize("case", UNSEEN.values(), ids=repr)
def test_other_routes_are_the_function(case, route):
    assert check(case, ALWAYS[route]) is None
