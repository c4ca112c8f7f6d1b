"""thixo.testing: what is close, what is not, and what the message says."""

import numpy as np
import pytest

import thixo as tx
from thixo.dtype import ALL
from thixo.errors import ArgumentError, ValueRangeError
from thixo.testing import assert_allclose, assert_close, make_tensor

nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (tx.tensor([1.0, 2.0]), tx.tensor([1.0, 2.0 + 1e-6])),
        (tx.tensor([1.0], dtype=tx.bfloat16), tx.tensor([1.01], dtype=tx.bfloat16)),
        (tx.tensor([inf, -inf]), tx.tensor([inf, -inf])),
        (tx.zeros(0, 3), tx.zeros(0, 3)),
        (1.0, 1.0 + 1e-9),
        (1, 1),
        (tx.tensor(1.0), 1.0),
        (tx.tensor([2**62 + 1]), tx.tensor([2**62 + 1])),
        ([tx.ones(2), {"a": None, "b": "x"}], (tx.ones(2), {"b": "x", "a": None})),
        (np.float32(1), np.float32(1)),
        (tx.tensor([1 + 1j]), tx.tensor([1 + 1.000001j])),
    ],
    ids=range(11),
)
def test_close(actual, expected):
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "words"),
    [
        (tx.tensor([1.0, 2.0]), tx.tensor([1.0, 2.1]), r"1 of 2 elements differ \(50.0%\)"),
        (
            tx.tensor([1.0, 2.0]),
            tx.tensor([1.0, 2.5]),
            r"0.5 at index \(1,\): 2 is not 2.5; allowed",
        ),
        (tx.tensor(nan), tx.tensor(nan), "nan is not nan"),
        (tx.tensor(1e30), tx.tensor(inf), "1e\\+30 is not inf"),
        (tx.tensor(inf), tx.tensor(-inf), "inf is not -inf"),
        (tx.tensor([2**62 + 1]), tx.tensor([2**62]), "4611686018427387905 is not"),
        (tx.ones(2), tx.ones(3), r"the shapes differ: f32\[2\] is not f32\[3\]"),
        (tx.ones(2), tx.ones(2, dtype=tx.float64), "the dtypes differ: float32 is not float64"),
        ([1], [1, 2], "the lengths differ: 1 is not 2"),
        ({"a": 1}, {"b": 1}, r"the keys differ: \['b'\] are missing, \['a'\] are too many"),
        ({"a": [1, 2.0]}, {"a": [1, 3.0]}, r"\['a'\]\[1\]: 1 of 1 elements differ"),
        (None, 1, "None is not 1"),
        ("a", "b", "'a' is not 'b'"),
        (tx.tensor([1j]), tx.tensor([2j]), "1 of 1"),
        (tx.tensor([True]), tx.tensor([False]), "1 is not 0"),
    ],
    ids=range(15),
)
def test_not_close(actual, expected, words):
    with pytest.raises(AssertionError, match=words):
        assert_close(actual, expected)


def test_options():
    assert_close(tx.tensor(nan), tx.tensor(nan), equal_nan=True)
    assert_close(tx.ones(2), tx.ones(2, dtype=tx.float64), check_dtype=False)
    assert_close(tx.tensor(1.0), tx.tensor(1.5), rtol=0, atol=0.5)
    x = tx.ones(2, 3)
    assert_close(x, tx.ones(3, 2).T)
    with pytest.raises(AssertionError, match="the strides differ"):
        assert_close(x, tx.ones(3, 2).T, check_stride=True)
    with pytest.raises(AssertionError, match="the classes differ"):
        assert_close(x, np.ones((2, 3), np.float32), allow_subclasses=False)
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match=r"^mine: 1 of 1"):
        assert_close(1, 2, msg=lambda text: "mine: " + text)
    with pytest.raises(ValueRangeError, match="both rtol and atol or neither"):
        assert_close(1, 2, rtol=1.0)
    with pytest.raises(ArgumentError, match="cannot compare"):
        assert_close(object(), 1)
    assert_allclose(tx.tensor([1.0, nan]), [1, nan])


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_make_tensor(dtype):
    x = make_tensor(4, 5, dtype=dtype)
    assert x.dtype is dtype
    assert x.shape == (4, 5)
    assert make_tensor((), dtype=dtype).shape == ()
    apart = make_tensor((3, 4), dtype=dtype, noncontiguous=True)
    assert not apart.is_contiguous()
    assert apart.shape == (3, 4)
    assert bool((make_tensor(100, dtype=dtype, exclude_zero=True) != 0).all())
    if dtype.is_floating_point:
        within = make_tensor(100, dtype=dtype, low=0, high=1, requires_grad=True)
        assert within.requires_grad
        assert 0 <= within.min().item() <= within.max().item() <= 1
