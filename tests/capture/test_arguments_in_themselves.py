"""An argument that contains itself, which nothing can go through to its end."""

import pytest

import thixo as tx
from thixo.errors import CaptureError


def scaled(table, x):
    return x * table["by"]


def table(by):
    made = {"by": by}
    made["me"] = made
    return made


@pytest.mark.filterwarnings("ignore:script. scaled ran as Python")
@pytest.mark.parametrize(
    "decorate",
    [tx.compile, tx.compile(debug=True), tx.jit.script, lambda f: tx.jit.script(f, fallback=True)],
)
def test_it_runs_as_python(decorate):
    f = decorate(scaled)
    for by in (2, 3, 3, 4, 5):
        assert f(table(by), tx.ones(1)).item() == by
    assert f({"by": 7}, tx.ones(1)).item() == 7


def test_fullgraph_says_why():
    with pytest.raises(CaptureError, match="an argument: it contains itself"):
        tx.compile(scaled, fullgraph=True)(table(2), tx.ones(1))
