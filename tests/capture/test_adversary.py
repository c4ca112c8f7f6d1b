"""Hostile constructs on every route: Python's result, or a refusal; never another result."""

import pytest

from tests.capture.adversary import CASES
from tests.programs.check import judge
from tests.programs.routes import ROUTES, available

# What is known to be wrong: the case, the route, and why.
KNOWN = {
    ("run_by_a_thread", "trace"): "the thread has no trace; its error stays there, as Python's do",
}

pytestmark = pytest.mark.filterwarnings("ignore")


def test_there_are_many():
    assert len(CASES) >= 160


@pytest.mark.parametrize("route", available())
@pytest.mark.parametrize("case", CASES.values(), ids=repr)
def test_a_hostile_construct_is_right_or_refused(case, route, request):
    name = (case.function.__name__, route)
    if name in KNOWN:
        request.applymarker(pytest.mark.xfail(reason=KNOWN[name], strict=True))
    verdict = judge(case, ROUTES[route])
    assert verdict.kind != "wrong", verdict.reason
