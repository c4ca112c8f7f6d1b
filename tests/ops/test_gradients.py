"""First and second gradients against finite differences, in float64 and complex128."""

import pytest
from gradient_checks import check_gradients

import thixo as tx

# Operators whose gradient the samples cannot show, and what does.
SHOWN_ELSEWHERE = {
    "cholesky_solve": "test_linear_algebra.py moves triangular factors only",
    "cholesky_inverse": "test_linear_algebra.py moves triangular factors only",
    "nn.functional.ctc_occupancy": "the second gradient of ctc_negative_log_likelihood",
    "nn.functional.ctc_occupancy_along": "refuses: it would be the third one",
}


def has_gradient(op):
    """Whether the declaration has a gradient rule that some result can use."""
    rules = [getattr(op, "vjp", None), *(getattr(op, f"vjp_{p.name}", None) for p in op.sig.params)]
    return any(rules) and set(op.sig.outputs) != set(op.nondifferentiable) and not op.random


@pytest.mark.over(lambda op: tx.float64 in op.dtypes)
def test_gradients(op):
    count = check_gradients(op, tx.float64)
    shown = count or op.full_name in SHOWN_ELSEWHERE
    assert shown or not has_gradient(op), f"{op.full_name}: no sample for its gradient"


@pytest.mark.over(lambda op: tx.complex128 in op.dtypes)
def test_complex_gradients(op):
    check_gradients(op, tx.complex128)
