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

# What is known to be wrong, and why.
KNOWN = {
    "clipped_like_an_optimizer": "a path that is not taken sends zeros to an infinite gradient"
}

pytestmark = pytest.mark.filterwarnings("ignore")


def test_there_are_many():
    assert len(UNSEEN) >= 60
    assert set(UNSEEN) >= CAPTURED


def expect(case, request):
    if case.name in KNOWN:
        request.applymarker(pytest.mark.xfail(reason=KNOWN[case.name], strict=False))


@pytest.mark.parametrize("case", UNSEEN.values(), ids=repr)
def test_script_is_the_function_or_is_refused(case, request):
    expect(case, request)
    refusal = check(case)
    assert refusal is None or case.name not in CAPTURED, refusal


@pytest.mark.parametrize("route", ALWAYS)
@pytest.mark.parametrize("case", UNSEEN.values(), ids=repr)
def test_other_routes_are_the_function(case, route, request):
    if route != "lazy":
        expect(case, request)
    assert check(case, ALWAYS[route]) is None
