"""The type rule on types is the native core's: every pair of dtypes, with axes, without, and numbers."""

import itertools

import pytest

import thixo as tx
from thixo.dtype import ALL
from thixo.errors import ThixoError
from thixo.graph import Type, infer_types
from thixo.graph.operators import bind, find

NUMBERS = [True, 3, 2.5, 1 + 2j]


def native(operator, *args):
    try:
        return operator(*args).dtype
    except ThixoError as error:
        return type(error)


def rule(op, *args):
    types = [Type(a.dtype, tuple(a.shape)) if isinstance(a, tx.Tensor) else a for a in args]
    try:
        (spec,) = infer_types(op, bind(op, types, {}))
    except ThixoError as error:
        return type(error)
    return spec.dtype


@pytest.mark.parametrize("name", ["add", "true_divide", "lt", "pow", "atan2"])
def test_pairs(name):
    op = find(name)
    for a, b in itertools.product(ALL, ALL):
        for left, right in itertools.product([(), (2,)], [(), (2,), (1, 1)]):
            x, y = tx.ones(left, dtype=a), tx.ones(right, dtype=b)
            assert rule(op, x, y) is native(op.operator, x, y), (name, a, b, left, right)


@pytest.mark.parametrize("name", ["add", "true_divide", "lt", "mul"])
def test_numbers(name):
    op = find(name)
    for dtype, number, shape in itertools.product(ALL, NUMBERS, [(), (2,)]):
        x = tx.ones(shape, dtype=dtype)
        assert rule(op, x, number) is native(op.operator, x, number), (dtype, number, shape)


@pytest.mark.parametrize("name", ["abs", "tanh", "neg", "isnan", "floor", "angle"])
def test_one_argument(name):
    op = find(name)
    for dtype in ALL:
        x = tx.ones(2, dtype=dtype)
        if op.kind != "composite":
            assert rule(op, x) is native(op.operator, x), (name, dtype)


def test_the_default_dtype_counts():
    tx.set_default_dtype(tx.float64)
    try:
        assert rule(find("tanh"), tx.ones(2, dtype=tx.int32)) is tx.float64
        assert rule(find("add"), tx.ones(2, dtype=tx.int32), 0.5) is tx.float64
    finally:
        tx.set_default_dtype(tx.float32)


def test_where_promotes_only_its_values():
    (spec,) = infer_types(
        find("where"), [Type(tx.bool, (3, 1)), Type(tx.int8, (2,)), Type(tx.float16, ())]
    )
    assert (spec.shape, spec.dtype) == ((3, 2), tx.float16)
