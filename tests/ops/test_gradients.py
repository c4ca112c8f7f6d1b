"""First and second gradients against finite differences, in float64 and complex128."""

import pytest
from gradient_checks import check_gradients

import thixo as tx


@pytest.mark.parametrize("dtype", [tx.float64, tx.complex128], ids=["float64", "complex128"])
def test_gradients(op, dtype):
    if dtype not in op.dtypes:
        pytest.skip("it does not claim that dtype")
    check_gradients(op, dtype)
