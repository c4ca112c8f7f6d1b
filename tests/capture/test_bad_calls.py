"""Recursion without an end, values that leak out of a captured function, and graphs called with other types."""

import json

import pytest

import thixo as tx
from thixo.errors import ArgumentError, CaptureError, ShapeError, TraceError

HERE = "test_bad_calls.py"


def without_end(x, n=0):
    return without_end(x + 1, n + 1)


def until_small(x):
    if x.sum() > 0:
        return until_small(x - 1)
    return x


def test_recursion_without_an_end_is_pythons_error():
    for way in (
        lambda: tx.jit.script(without_end)(tx.ones(2)),
        lambda: tx.compile(without_end)(tx.ones(2)),
        lambda: tx.jit.trace(without_end, tx.ones(2)),
    ):
        with pytest.raises(RecursionError):
            way()
    assert (tx.ones(2) + 1).tolist() == [2, 2]  # nothing is being recorded any more


def test_recursion_that_a_tensor_ends():
    with pytest.raises(CaptureError, match="recursion: it ends where a tensor says so"):
        tx.jit.script(until_small)(tx.ones(2) * 3)
    compiled = tx.compile(until_small)
    for data in (tx.ones(2) * 3, -tx.ones(2)):
        assert compiled(data).tolist() == until_small(data).tolist()


def test_recursion_by_hand():
    def f(x):
        return tx.cond(x.sum() > 0, lambda: f(x - 1), lambda: x)

    assert f(tx.ones(2) * 3).tolist() == [0, 0]
    with pytest.raises(TraceError, match=r"recursion: .*use a loop.*test_bad_calls.py"):
        tx.jit.trace(f, tx.ones(2))
    assert (tx.ones(2) + 1).tolist() == [2, 2]


@pytest.mark.parametrize("way", [tx.jit.script, tx.compile])
def test_values_that_a_captured_function_keeps_elsewhere_are_real(way):
    kept = []

    def f(x):
        y = x * 2
        kept.append(y)
        return y + 1

    found = way(f)
    for n in (1, 2):
        found(tx.ones(2) * n)
    assert [k.tolist() for k in kept] == [[2, 2], [4, 4]]


def test_a_value_that_leaks_out_of_a_trace_names_function_and_line():
    kept = []

    def f(x):
        y = x * 2
        kept.append(y)
        return y + 1

    traced = tx.jit.trace(f, tx.ones(2), check=False)
    origin = f"it was made in f at {HERE}:{f.__code__.co_firstlineno + 1}"
    for use in (
        lambda: kept[0] + 1,
        lambda: kept[0].add_(1),
        lambda: tx.jit.trace(lambda x: x + kept[0], tx.ones(2)),
        lambda: tx.jit.script(lambda x: x + kept[0])(tx.ones(2)),
    ):
        with pytest.raises(TraceError) as caught:
            use()
        assert origin in str(caught.value)
        assert str(caught.value).endswith(f"({HERE}:{use.__code__.co_firstlineno})")
    assert traced(tx.ones(3)).tolist() == [3, 3, 3]


def test_a_trace_that_is_called_with_other_types():
    traced = tx.jit.trace(lambda x: x * 2, tx.ones(2, 3))
    for wrong, kind, text in (
        (tx.ones(2), ShapeError, "must be f32[n, m], is f32[2]"),
        (tx.ones(2, 3, dtype=tx.float64), ShapeError, "must be f32[n, m], is f64[2, 3]"),
        (tx.ones(1, 3), ShapeError, "size n must be at least 2, is 1"),
        (3, ArgumentError, "argument 0 must be a tensor, got 3"),
        ([tx.ones(2, 3)], ArgumentError, "trace it again for other arguments"),
    ):
        with pytest.raises(kind) as caught:
            traced(wrong)
        assert text in str(caught.value)
        assert f"({HERE}:" in str(caught.value)


@pytest.mark.parametrize("way", [tx.jit.script, tx.compile])
def test_other_types_get_a_graph_of_their_own(way):
    found = way(lambda x: x * 2)
    for data in (tx.ones(2, 3), tx.ones(2), tx.ones(2, dtype=tx.int64), tx.ones(1), tx.ones(0)):
        made = found(data)
        assert made.dtype is data.dtype
        assert made.tolist() == (data * 2).tolist()
    assert found(3) == 6


def test_a_refusal_inside_of_a_library_names_the_users_line_first():
    def dumped(x):
        return len(json.dumps({"a": 1}, indent=1)) + x.sum()

    line = dumped.__code__.co_firstlineno + 1
    where = rf"\(test_bad_calls\.py:{line}, in encoder\.py:\d+\)$"
    with pytest.raises(CaptureError, match=where):
        tx.jit.script(dumped)(tx.ones(3))
