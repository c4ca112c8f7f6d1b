"""Every operator gives its reference's values, in every dtype it claims."""

import checks
import pytest

import thixo as tx
from thixo.ops.samples import OTHER_SIZES

computes = pytest.mark.over(lambda op: not op.random)


@computes
def test_values(op):
    for dtype in op.dtypes:
        checks.check_values(op, dtype)


@computes
def test_values_at_other_sizes(op):
    for sizes in OTHER_SIZES:
        checks.check_values(op, checks.main_dtype(op), sizes)


@computes
def test_layouts(op):
    checks.check_layouts(op, checks.main_dtype(op))
    if tx.int64 in op.dtypes:
        checks.check_layouts(op, tx.int64)


@pytest.mark.over(lambda op: op.inplace and not op.random)
def test_inplace(op):
    assert sum(checks.check_inplace(op, dtype) for dtype in op.dtypes)


@pytest.mark.over(lambda op: op.inplace and op.kind == "pointwise" and not op.random)
def test_inplace_in_shared_memory(op):
    for dtype in (tx.float64, tx.int64, tx.bool):
        if dtype in op.dtypes:
            checks.check_overlap(op, dtype)
