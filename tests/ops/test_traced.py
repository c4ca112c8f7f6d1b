"""Every operator and its gradient as a graph with symbolic sizes, run at two other sizes."""

import checks
import pytest
from traced_checks import check_traced

import thixo as tx


def test_traced(op):
    check_traced(op, checks.main_dtype(op))


def test_traced_gradient(op):
    dtype = checks.main_dtype(op)
    if not (dtype.is_floating_point or dtype.is_complex):
        pytest.skip("it has no gradient to trace")
    check_traced(op, dtype, gradient=True)


def test_traced_with_whole_numbers(op):
    if tx.int64 not in op.dtypes or checks.main_dtype(op) is tx.int64:
        pytest.skip("not for whole numbers")
    check_traced(op, tx.int64)
