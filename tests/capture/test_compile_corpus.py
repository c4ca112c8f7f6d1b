"""tx.compile on the corpus: what it does on all sets of arguments is what eager does, always."""

import pytest

import thixo as tx
from tests.capture.corpus import CASES
from tests.capture.scripted import agree, turns


@pytest.mark.parametrize("case", CASES.values(), ids=repr)
def test_compiled_is_the_function(case):
    agree(case, turns(case, tx.compile), turns(case, lambda target: target))
