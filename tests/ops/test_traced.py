"""Every operator and its gradient as a graph with symbolic sizes, run at two other sizes."""

import checks
import pytest
from traced_checks import check_traced

import thixo as tx


def test_traced(op):
    check_traced(op, checks.main_dtype(op))


@pytest.mark.over(lambda op: checks.main_dtype(op).kind in "fc")
def test_traced_gradient(op):
    check_traced(op, checks.main_dtype(op), gradient=True)


@pytest.mark.over(lambda op: tx.int64 in op.dtypes and checks.main_dtype(op) is not tx.int64)
def test_traced_with_whole_numbers(op):
    check_traced(op, tx.int64)
