"""Errors: their classes, their messages' last words (the user's line), and how they travel."""

import copy
import pickle
import re
from multiprocessing import get_context

import numpy as np
import pytest

from thixo import errors
from thixo.errors import ShapeError, ThixoError, describe

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, ThixoError)]


def fail() -> None:
    raise ShapeError("cat: sizes differ")


def test_message_ends_with_the_users_line():
    with pytest.raises(ShapeError, match=r"^cat: sizes differ \(test_errors\.py:\d+\)$"):
        fail()


def test_line_is_added_once():
    first = ShapeError("cat: sizes differ")
    again = ShapeError(str(first))
    assert str(again) == str(first)


def test_line_is_the_first_one_outside_of_thixo():
    from thixo.shape import normalize_dim

    with pytest.raises(errors.IndexOutOfRange, match=r"\(test_errors\.py:\d+\)$"):
        normalize_dim(3, 2, "sum")


@pytest.mark.parametrize("cls", CLASSES)
def test_class_shows_a_failing_and_a_fixed_example(cls):
    assert re.search(r"Fails:  \S", cls.__doc__)
    assert re.search(r"Fixed:  \S", cls.__doc__)


@pytest.mark.parametrize("cls", CLASSES)
def test_errors_survive_pickle_and_copy(cls):
    error = cls("op: what arrived; what was needed")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert str(twin) == str(error)


def _raise_in_child(_):
    raise ShapeError("view: 6 elements do not fit [4]")


def test_errors_come_back_from_another_process():
    with get_context("spawn").Pool(1) as pool, pytest.raises(ShapeError, match="do not fit"):
        pool.map(_raise_in_child, [0])


def test_built_in_classes_catch_them():
    pairs = [
        (errors.ShapeError, ValueError),
        (errors.DTypeError, TypeError),
        (errors.IndexOutOfRange, IndexError),
        (errors.ArgumentError, TypeError),
        (errors.ValueRangeError, ValueError),
        (errors.DomainError, ZeroDivisionError),
        (errors.OutOfMemory, MemoryError),
        (errors.InplaceError, errors.AutogradError),
    ]
    for ours, theirs in pairs:
        assert issubclass(ours, theirs)
        assert issubclass(ours, RuntimeError)


def test_describe_says_dtype_and_shape():
    assert describe(np.zeros((2, 3), np.float32)) == "f32[2,3]"
    assert describe(np.zeros((), np.complex128)) == "c128[]"
    assert describe([np.zeros(2, np.int64), np.zeros(0, bool)]) == "[i64[2], bool[0]]"
    assert describe("rows") == "'rows' (str)"
    assert describe(None) == "None"
    assert len(describe("x" * 10_000)) < 100
