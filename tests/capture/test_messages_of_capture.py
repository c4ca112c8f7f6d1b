"""Whatever capture refuses, it says where, what, why and what to write instead; and that runs."""

import re

import pytest

import thixo as tx
from tests.capture.causes import CAUSES
from tests.capture.causes.cause import run
from tests.capture.corpus import snapshot
from thixo.capture import compile_backends

LEAST = 40
PLAIN = "result = f(*args)"


def expected(result):
    return [snapshot(x.detach()) if isinstance(x, tx.Tensor) else x for x in flat(result)]


def flat(result):
    return [y for x in result for y in flat(x)] if isinstance(result, tuple | list) else [result]


def test_there_are_many_causes():
    reasons = {re.sub(r"model.py:\d+", "", c.message) for c in CAUSES.values()}
    assert len(reasons) >= LEAST


@pytest.mark.parametrize("cause", CAUSES.values(), ids=repr)
def test_the_whole_message(cause, monkeypatch):
    monkeypatch.setattr(compile_backends, "_registered", {})  # other tests may have named some
    with pytest.raises(cause.error) as error:
        run(cause, cause.bad, cause.call)
    assert str(error.value) == cause.message


@pytest.mark.parametrize("cause", CAUSES.values(), ids=repr)
def test_the_remedy_runs(cause):
    found = run(cause, cause.mended, cause.mended_call)
    if cause.same:
        assert expected(found) == expected(run(cause, cause.mended, PLAIN))
