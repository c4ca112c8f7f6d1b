"""Element types: promotion, casts, limits, conversion to and from NumPy."""

import copy
import itertools
import pickle

import ml_dtypes
import numpy as np
import pytest

import thixo as tx
from thixo.dtype import (
    ALIASES,
    ALL,
    BY_NAME,
    COMPLEX,
    FLOATS,
    INTEGERS,
    SIGNED,
    UNSIGNED,
    as_dtype,
    category,
    combine,
    from_numpy_dtype,
    type_of_number,
)
from thixo.errors import ArgumentError, DTypeError

PAIRS = list(itertools.product(ALL, ALL))


def test_there_is_one_object_for_each_type():
    for t in ALL:
        assert pickle.loads(pickle.dumps(t)) is t
        assert copy.deepcopy(t) is t
        assert getattr(tx, t.name) is t
        assert repr(t) == f"thixo.{t.name}"
    assert tx.float is tx.float32
    assert tx.long is tx.int64
    assert isinstance(tx.float32, tx.dtype)
    assert set(ALIASES) & set(BY_NAME) == set()


def test_codes_are_those_of_the_core():
    short = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128".split()
    assert [t.short for t in ALL] == short
    assert [t.code for t in ALL] == list(range(15))


@pytest.mark.parametrize("t", ALL)
def test_numpy_round_trip(t):
    assert t.numpy.itemsize == t.itemsize
    assert from_numpy_dtype(t.numpy) is t
    assert from_numpy_dtype(t.numpy.newbyteorder()) is t or t.itemsize == 1


def test_numpy_types_without_a_twin_are_refused():
    with pytest.raises(DTypeError, match="datetime64"):
        from_numpy_dtype(np.dtype("M8[s]"))
    with pytest.raises(DTypeError, match=r"float8|known|convert"):
        from_numpy_dtype(np.dtype(ml_dtypes.float8_e4m3fn))


def meet(a, b):
    """Where two types meet, or None: the same rule from first principles."""
    try:
        return tx.promote_types(a, b)
    except DTypeError:
        return None


def test_promotion_is_commutative_and_idempotent():
    for a, b in PAIRS:
        assert meet(a, b) is meet(b, a)
    for t in ALL:
        assert meet(t, t) is t


def test_promotion_of_integers_is_numpys_where_an_integer_holds_both():
    for a, b in itertools.product(INTEGERS, INTEGERS):
        want = np.promote_types(a.numpy, b.numpy)
        if want.kind == "f":
            assert meet(a, b) is None  # uint64 with a signed type
        else:
            assert meet(a, b).numpy == want


def test_floats_swallow_integers_and_complex_swallows_floats():
    for a, b in PAIRS:
        if category(a) < category(b) and category(b) == 2:
            assert meet(a, b) is b
        if b in COMPLEX:
            assert meet(a, b) is (tx.complex128 if tx.float64 in (a, b) or tx.complex128 in (a, b) else tx.complex64)  # fmt: skip
    assert meet(tx.float16, tx.bfloat16) is tx.float32


def test_uint64_and_signed_have_no_common_type():
    for t in SIGNED:
        with pytest.raises(DTypeError, match=r"uint64.*no common type"):
            tx.promote_types(tx.uint64, t)


class Like:
    """Something with a dtype and a shape."""

    def __init__(self, dtype, *shape):
        self.dtype, self.shape = dtype, shape


def test_numbers_and_0d_tensors_count_by_category_alone():
    assert tx.result_type(Like(tx.float16, 3), Like(tx.float64)) is tx.float16
    assert tx.result_type(Like(tx.int8, 3), Like(tx.int64)) is tx.int8
    assert tx.result_type(Like(tx.int8, 3), 2.5) is tx.float32
    assert tx.result_type(Like(tx.uint8, 3), -1) is tx.uint8
    assert tx.result_type(Like(tx.bool, 3), 2) is tx.int64
    assert tx.result_type(Like(tx.float64, 3), 2j) is tx.complex128
    assert tx.result_type(Like(tx.float32, 3), Like(tx.complex128)) is tx.complex64
    assert tx.result_type(Like(tx.int8), Like(tx.float16)) is tx.float16
    assert tx.result_type(2, 2.5) is tx.float32
    with pytest.raises(ArgumentError, match="number"):
        tx.result_type("two")
    with pytest.raises(ArgumentError):
        combine([], [], [])


def test_default_dtype():
    try:
        tx.set_default_dtype(tx.float64)
        assert type_of_number(1.5) is tx.float64
        assert type_of_number(1j) is tx.complex128
        assert tx.finfo().bits == 64
    finally:
        tx.set_default_dtype(tx.float32)
    with pytest.raises(DTypeError, match="floating-point"):
        tx.set_default_dtype(tx.int64)


def test_casts_may_not_lower_the_category():
    for a, b in PAIRS:
        assert tx.can_cast(a, b) == (category(a) <= category(b))


@pytest.mark.parametrize("t", FLOATS)
def test_limits_of_floats(t):
    ours = tx.finfo(t)
    theirs = ml_dtypes.finfo(t.numpy)
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
        assert getattr(ours, name) == float(getattr(theirs, name))
    assert ours.dtype is t


def test_limits_of_integers_and_complex():
    for t in SIGNED + UNSIGNED:
        assert (tx.iinfo(t).min, tx.iinfo(t).max) == (np.iinfo(t.numpy).min, np.iinfo(t.numpy).max)
    assert tx.finfo(tx.complex128).bits == 64
    with pytest.raises(DTypeError, match="iinfo"):
        tx.finfo(tx.int8)
    with pytest.raises(DTypeError, match="finfo"):
        tx.iinfo(tx.float32)
    with pytest.raises(DTypeError):
        tx.iinfo(tx.bool)


def test_names_and_python_types_give_dtypes():
    assert as_dtype("bf16") is tx.bfloat16
    assert as_dtype("double") is tx.float64
    assert as_dtype(bool) is tx.bool
    assert as_dtype(int) is tx.int64
    with pytest.raises(DTypeError, match="'float31' is no dtype"):
        as_dtype("float31")
    with pytest.raises(ArgumentError, match="zeros: needs a dtype, got 3"):
        as_dtype(3, "zeros")


def test_devices():
    assert tx.device("cpu") == tx.device("cpu:0") == tx.device("cpu", 0)
    assert str(tx.device("cpu")) == "cpu"
    assert pickle.loads(pickle.dumps(tx.device("cpu"))) == tx.device("cpu")
    with pytest.raises(tx.errors.DeviceError, match="no device 'gpu'; available: cpu"):
        tx.device("gpu")
    with pytest.raises(tx.errors.DeviceError, match="available: cpu"):
        tx.device("cpu:7")
    with pytest.raises(ArgumentError):
        tx.device(3)
