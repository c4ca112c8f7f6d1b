"""First and second gradients against finite differences, in float64 and complex128."""

import pytest
from gradient_checks import check_gradients

import thixo as tx


@pytest.mark.over(lambda op: tx.float64 in op.dtypes)
def test_gradients(op):
    check_gradients(op, tx.float64)


@pytest.mark.over(lambda op: tx.complex128 in op.dtypes)
def test_complex_gradients(op):
    check_gradients(op, tx.complex128)
