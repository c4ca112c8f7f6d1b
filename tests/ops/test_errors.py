"""Wrong arguments are refused, with the words the declaration promises and the user's line."""

import checks
import pytest

from thixo.ops.samples import Maker


@pytest.mark.over(lambda op: hasattr(op, "bad"))
def test_bad_samples(op):
    for bad in op.bad(Maker(checks.main_dtype(op))):
        checks.check_bad(op, bad)


def test_other_dtypes(op):
    checks.check_dtypes_refused(op)
