"""Every operator gives its reference's values, in every dtype it claims."""

import checks
import pytest

import thixo as tx
from thixo.ops.samples import OTHER_SIZES


def test_values(op):
    if op.random:
        pytest.skip("its values are drawn")
    for dtype in op.dtypes:
        checks.check_values(op, dtype)


def test_values_at_other_sizes(op):
    if op.random:
        pytest.skip("its values are drawn")
    for sizes in OTHER_SIZES:
        checks.check_values(op, checks.main_dtype(op), sizes)


def test_layouts(op):
    if op.random:
        pytest.skip("its values are drawn")
    checks.check_layouts(op, checks.main_dtype(op))
    if tx.int64 in op.dtypes:
        checks.check_layouts(op, tx.int64)


def test_inplace(op):
    if not op.inplace or op.random:
        pytest.skip("it has no in-place form")
    assert any(checks.check_inplace(op, dtype) for dtype in op.dtypes)
