"""The reference backend raises what the operators raise."""

import pytest

import thixo as tx
from thixo.errors import DomainError, LinearAlgebraError, ValueRangeError

FUNCTIONS = [
    (lambda x, n: 1 // n * x, DomainError),
    (lambda x, n: 1 % n * x if x.sum() > 0 else x, DomainError),
    (lambda x, n: tx.linalg.inv(x.reshape(1, 2).expand(2, 2)) * n, LinearAlgebraError),
    (lambda x, n: tx.nn.functional.one_hot(n + 5, 2), ValueRangeError),
]


@pytest.mark.parametrize(("f", "kind"), FUNCTIONS)
@pytest.mark.parametrize("backend", ["reference", "eager", "native"])
def test_errors_of_values(f, kind, backend):
    x, n = tx.tensor([1.0, 2.0]), tx.tensor(0)
    compiled = tx.compile(f, backend=backend)
    with pytest.raises(kind) as expected:
        f(x, n)
    with pytest.raises(kind) as found:
        compiled(x, n)
    assert str(found.value) == str(expected.value)
