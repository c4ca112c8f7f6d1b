"""Values from outside that are no tensors: a graph that was made for one is not used for another."""

import array
import datetime
import decimal
import fractions
import pathlib

import numpy as np
import pytest

import thixo as tx
from thixo.capture.held import is_value

X = tx.arange(4.0)
BOX = type("Box", (), {})()
VALUE = None

# Two values, and a use that tells them apart.
VALUES = {
    "slice": (slice(1, 3), slice(0, 4), lambda x, v: x[v]),
    "slices": ((slice(1, 3),), (slice(0, 4),), lambda x, v: x[v]),
    "range": (range(2), range(3), lambda x, v: x * len(v)),
    "frozenset": (frozenset([1]), frozenset([1, 2]), lambda x, v: x * len(v)),
    "shape": (tx.ones(2).shape, tx.ones(3).shape, lambda x, v: x * v[0]),
    "bytes": (b"a", b"bb", lambda x, v: x * len(v)),
    "bytearray": (bytearray(b"a"), bytearray(b"bb"), lambda x, v: x * len(v)),
    "memoryview": (memoryview(b"a"), memoryview(b"bb"), lambda x, v: x * len(v)),
    "array": (array.array("d", [1.0]), array.array("d", [2.0]), lambda x, v: x * v[0]),
    "fraction": (fractions.Fraction(1, 2), fractions.Fraction(1, 4), lambda x, v: x * float(v)),
    "decimal": (decimal.Decimal("1.5"), decimal.Decimal("2.5"), lambda x, v: x * float(v)),
    "float of numpy": (np.float32(2), np.float32(3), lambda x, v: x * float(v)),
    "int of numpy": (np.int64(2), np.int64(3), lambda x, v: x * int(v)),
    "array of numpy": (np.ones(4), np.zeros(4), lambda x, v: x + tx.tensor(v)),
    "path": (pathlib.PurePath("a"), pathlib.PurePath("ab"), lambda x, v: x * len(str(v))),
    "time": (datetime.timedelta(1), datetime.timedelta(2), lambda x, v: x * v.days),
}


@pytest.mark.parametrize("where", ["argument", "keyword", "global", "attribute"])
@pytest.mark.parametrize("name", VALUES)
def test_another_value_is_another_program(name, where):
    global VALUE
    *values, use = VALUES[name]

    def f(x, *given, **named):
        if where == "argument":
            return use(x, given[0])
        if where == "keyword":
            return use(x, named["value"])
        return use(x, VALUE if where == "global" else BOX.value)

    scripted = tx.jit.script(f)
    for value in (*values, values[0]):
        VALUE = BOX.value = value
        given = (value,) if where == "argument" else ()
        named = {"value": value} if where == "keyword" else {}
        try:
            found = scripted(X, *given, **named)
        except tx.errors.CaptureError:
            return  # an error is an answer
        assert str(found) == str(f(X, *given, **named))


def test_an_array_that_was_written_is_another_value():
    numbers = np.ones(4, np.float32)
    scripted = tx.jit.script(lambda x: x + tx.tensor(numbers))
    assert scripted(X).tolist() == [1.0, 2.0, 3.0, 4.0]
    numbers[0] = 5.0
    assert scripted(X).tolist() == [5.0, 2.0, 3.0, 4.0]


def test_functions_of_the_core_are_no_values():
    for f in (tx.sin, tx.Tensor.cos, tx.ones(1).sum, tx.nn.functional.relu):
        assert not is_value(f)
