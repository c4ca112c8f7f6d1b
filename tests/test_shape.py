"""Symbolic sizes: arithmetic, text, guards; and the functions of shapes."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, TraceError, ValueRangeError
from thixo.shape import (
    Dim,
    as_shape,
    broadcast_shapes,
    compare,
    contiguous_strides,
    dim_max,
    dim_min,
    evaluate,
    fresh_dim,
    guards,
    is_symbolic,
    normalize_dim,
    normalize_dims,
    numel,
    parse_dim,
    reduced_shape,
    same,
)

n, m, k = (Dim(name, hint=hint, low=2) for name, hint in (("n", 6), ("m", 4), ("k", 3)))

# ---- expressions, as Python text: eval gives their meaning, parse_dim the symbolic size

leaves = st.sampled_from(["n", "m", "k", "n", "m", "0", "1", "2", "3", "5"])


def join(parts):
    binary = st.tuples(parts, st.sampled_from(["+", "-", "*", "//", "%"]), parts)
    call = st.tuples(st.sampled_from(["max", "min"]), parts, parts)
    return st.one_of(
        binary.map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        call.map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        parts.map(lambda t: f"-({t})"),
    )


expressions = st.recursive(leaves, join, max_leaves=8)
values = st.fixed_dictionaries({name: st.integers(0, 9) for name in "nmk"})


@settings(max_examples=400, deadline=None)
@given(expressions, values)
def test_a_size_means_what_its_text_means(text, sizes):
    try:
        want = eval(text, {**sizes, "max": max, "min": min})
        size = parse_dim(text)
    except ZeroDivisionError:
        return
    got = evaluate(size, sizes)
    assert got == want
    back = parse_dim(str(size))
    assert same(back, size)
    assert hash(back) == hash(size)
    assert same(pickle.loads(pickle.dumps(size)), size)
    if isinstance(size, Dim):
        low, high = size.bounds
        assert low is None or low <= got
        assert high is None or got <= high


@settings(max_examples=200, deadline=None)
@given(expressions, expressions, values, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_what_is_known_without_sizes_holds_for_all(a, b, sizes, op):
    try:
        left, right = parse_dim(a), parse_dim(b)
        known = compare(left, op, right)
        want = eval(f"({a}) {op} ({b})", {**sizes, "max": max, "min": min})
    except ZeroDivisionError:
        return
    assert known is None or known == want


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (2 * n + 1, "2*n + 1"),
        (n * m, "m*n"),
        (n * n - 1, "n**2 - 1"),
        (3 - n, "-n + 3"),
        ((n + 1) // 2, "(n + 1)//2"),
        (2 * ((n + 1) // 2), "2*((n + 1)//2)"),
        (n % 4 + m, "m + n%4"),
        (dim_max(n, m), "max(m, n)"),
        (dim_min(n, 5) // 2, "min(5, n)//2"),
    ],
)
def test_text(size, text):
    assert str(size) == text
    assert same(parse_dim(text), size)


def test_canonical_forms():
    assert n - n == 0
    assert isinstance(n - n, int)
    assert same((n + m) * (n - m), n * n - m * m)
    assert same(n * m * k // (n * m), k)
    assert same((n * m + m) // (n + 1), m)
    assert same((4 * n + 6) // 4, n + 1)
    assert same((6 * n) // 4, (3 * n) // 2)
    assert same((n // 2) // 3, n // 6)
    assert (2 * n) % 2 == 0
    assert same(dim_max(n, n + 1), n + 1)
    assert same(dim_max(n, 1), n)  # n is at least 2
    assert same(-(-n // 1), n)
    assert divmod(2 * n + 1, 2) == (n, 1)
    assert divmod(7, n) == (7 // n, 7 % n)
    assert same(n**3, n * n * n)


def test_numbers_of_numpy_mix_in():
    assert same(n + np.int64(2), n + 2)
    assert same(n * np.int32(3), 3 * n)
    assert same(n // np.int64(2), n // 2)


def test_unreadable_text_is_refused():
    for text in ("", "n +", "n if m else k", "f(n)", "n[0]", "'n'", "1.5", "max(n)"):
        with pytest.raises(ArgumentError, match="cannot read"):
            parse_dim(text)
    with pytest.raises(ArgumentError, match="no name"):
        Dim("2n")


def test_substitution():
    assert same((n * m + k).substitute({"m": 3}), 3 * n + k)
    assert same(((n + 1) // 2).substitute({"n": 2 * m}), (2 * m + 1) // 2)
    with pytest.raises(ArgumentError, match="no value for m"):
        (n * m).evaluate({"n": 2})


# ---- guards


def test_questions_are_answered_by_the_hint_and_kept():
    with guards() as kept:
        assert n > 5
        assert n != m
        assert not n == m  # noqa: SIM201  (another question than n != m)
        assert n > 5  # asked twice, kept once
        assert int(k) == 3
        assert n * 2 == n + n  # needs no hint
        assert n >= 2  # nor does this: n is at least 2
        assert n != 1
    assert [str(g) for g in kept] == ["n > 5", "n != m", "k == 3"]
    assert all(g.line.startswith("test_shape.py:") for g in kept)
    assert kept[0].holds({"n": 7})
    assert not kept[0].holds({"n": 5})


def test_innermost_collection_gets_the_guard():
    with guards() as outer:
        with guards() as inner:
            assert n > 3
        assert m > 3
    assert [str(g) for g in outer] == ["m > 3"]
    assert [str(g) for g in inner] == ["n > 3"]


def test_guards_are_of_one_thread():
    with guards() as kept:
        thread = threading.Thread(target=lambda: n > 3)
        thread.start()
        thread.join()
    assert kept == []


def test_sizes_as_numbers_are_fixed_by_guard():
    with guards() as kept:
        assert list(range(k)) == [0, 1, 2]
        assert 1 / m == 0.25
        assert bool(n)
        assert n * 0.5 == 3.0
    assert [str(g) for g in kept] == ["k == 3", "m == 4", "n == 6"]


def test_a_size_that_data_decide_cannot_be_branched_on():
    found = fresh_dim("found")
    with pytest.raises(TraceError, match="not known while tracing"):
        bool(found > 3)
    with pytest.raises(TraceError, match="must be a number"):
        int(found)
    with guards() as kept:
        assert found != 1  # taken to be neither 0 nor 1 ...
        assert found != 0
    assert len(kept) == 2  # ... which is checked when it is known
    assert not kept[0].holds({str(found): 1})


def test_fresh_sizes_differ():
    assert not same(fresh_dim("u"), fresh_dim("u"))


# ---- shapes


def test_broadcasting():
    assert broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert broadcast_shapes((0,), (1,)) == (0,)
    assert broadcast_shapes() == ()
    with guards() as kept:
        assert broadcast_shapes((n, 1), (m,)) == (n, m)
        assert broadcast_shapes((n, m), (n, m)) == (n, m)
    assert kept == []
    with pytest.raises(ShapeError, match=r"add: shapes \[2,3\] and \[4\] .* axis -1 .* 3 and 4"):
        broadcast_shapes((2, 3), (4,), op="add")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), min_size=1, max_size=3))
def test_broadcasting_is_numpys(shapes):
    try:
        want = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ShapeError):
            broadcast_shapes(*shapes)
    else:
        assert broadcast_shapes(*shapes) == want


def test_axes():
    assert [normalize_dim(d, 3, "sum") for d in (0, 2, -1, -3)] == [0, 2, 2, 0]
    assert normalize_dim(-1, 0, "sum") == 0
    with pytest.raises(
        IndexOutOfRange, match=r"sum: dim 2 is out of range .* 2 axes; needs -2 to 1"
    ):
        normalize_dim(2, 2, "sum")
    with pytest.raises(IndexOutOfRange):
        normalize_dim(1, 0, "sum")
    with pytest.raises(ArgumentError, match="sum: dim must be an int, got 'rows'"):
        normalize_dim("rows", 2, "sum")
    with pytest.raises(ArgumentError):
        normalize_dim(1.0, 2, "sum")
    with pytest.raises(ValueRangeError, match="names an axis twice"):
        normalize_dims((0, -2), 2, "sum")
    assert normalize_dims(None, 3, "sum") == (0, 1, 2)


def test_shapes():
    assert numel((2, n)) == 2 * n
    assert contiguous_strides((n, m, 2)) == (2 * m, 2, 1)
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert reduced_shape((2, n, 4), (1,), True) == (2, 1, 4)
    assert is_symbolic((2, n))
    assert not is_symbolic((2, 3))
    assert as_shape([np.int64(2), n], "zeros") == (2, n)
    with pytest.raises(ValueRangeError, match=r"zeros: sizes must not be negative, got \[-1\]"):
        as_shape(-1, "zeros")
    with pytest.raises(ArgumentError, match="zeros: sizes must be ints"):
        as_shape((2.5,), "zeros")
