"""Wrong arguments are refused, with the words the declaration promises and the user's line."""

import checks
import pytest

from thixo.ops.samples import Maker


def test_bad_samples(op):
    if not hasattr(op, "bad"):
        pytest.skip("it declares no bad samples")
    dtype = checks.main_dtype(op)
    for bad in op.bad(Maker(dtype)):
        checks.check_bad(op, bad)


def test_other_dtypes(op):
    checks.check_dtypes_refused(op)
