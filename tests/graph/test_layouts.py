"""Operators that look at memory, in graphs, where values have none."""

import numpy as np
import pytest

import thixo as tx
from thixo.graph import Interpreter, parse
from thixo.passes import optimize
from thixo.runtime.executor import EXECUTORS, executor

x = np.arange(24, dtype=np.float32).reshape(4, 6)


def turned(array):
    """The same numbers, transposed in memory."""
    return tx.from_numpy(np.ascontiguousarray(array.T)).T


LOOKS = {
    "view": ("f32[24]", "view(x, shape=(24,))", x.reshape(24)),
    "bit_view": ("i32[4, 6]", "bit_view(x, dtype=i32, grow=1, shrink=1)", x.view(np.int32)),
    "smaller": ("u8[4, 24]", "bit_view(x, dtype=u8, grow=4, shrink=1)", x.view(np.uint8)),
    "window": (
        "f32[5, 2]",
        "strided_view(x, size=(5, 2), stride=(4, 1), storage_offset=3, input_stride=(6, 1), input_offset=0)",
        np.lib.stride_tricks.as_strided(x.ravel()[3:], (5, 2), (16, 4)),
    ),
    "in columns": (
        "f32[3]",
        "strided_view(x, size=(3,), stride=(2,), storage_offset=1, input_stride=(1, 4), input_offset=0)",
        x.T.ravel()[1:6:2],
    ),
}


@pytest.mark.parametrize("name", [None, *EXECUTORS])
@pytest.mark.parametrize("look", LOOKS)
def test_what_they_show_does_not_depend_on_where_a_value_lies(look, name):
    type, call, wanted = LOOKS[look]
    graph = parse(f"graph f(x: f32[4, 6]) {{\n  y: {type} = {call}\n  return y\n}}")
    run = Interpreter(graph).run if name is None else executor(graph, name)
    for given in (tx.from_numpy(x.copy()), turned(x), tx.from_numpy(np.repeat(x, 2, 1))[:, ::2]):
        (y,) = run(given) if name is None else run([given])
        assert np.array_equal(y.numpy(), wanted)


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_repeated_element_is_copied_before_a_window_looks_at_it(name):
    text = """
graph f(x: f32[4]) {
  a: f32[1] = slice(x, start=0, end=1)
  b: f32[5] = expand(a, size=(5,))
  y: f32[2] = strided_view(b, size=(2,), stride=(1,), storage_offset=1, input_stride=(1,), input_offset=0)
  return y
}
"""
    run = executor(optimize(parse(text)).graph, name)
    assert run([tx.arange(4.0) + 7])[0].tolist() == [7, 7]


@pytest.mark.parametrize("axes", [(1, 0), (0, 1)])
def test_pairs_become_complex_wherever_they_lie(axes):
    text = (
        "graph f(x: f32[4, 2]) {\n  y: c64[4] = view_as_complex(x)\n  z: c64[4] = neg(y)\n"
        "  return z\n}"
    )
    pairs = x[:, :2].copy()
    given = tx.from_numpy(np.ascontiguousarray(pairs.transpose(axes))).permute(axes)
    for name in EXECUTORS:
        (z,) = executor(parse(text), name)([given])
        assert np.array_equal(z.numpy(), -pairs[:, 0] - 1j * pairs[:, 1])


def test_a_traced_window_is_one_on_the_memory_of_what_a_view_looks_at():
    functions = [
        lambda t: t.t().as_strided((3, 2), (1, 6)),
        lambda t: t[1:].as_strided((2, 2), (1, 3)),
        lambda t: t[1:, 2:].as_strided((2,), (5,), 3),
        lambda t: t[:, 1].as_strided((3,), (1,)),
    ]
    for f in functions:
        traced = tx.jit.trace(f, tx.from_numpy(x.copy()))
        other = tx.from_numpy(x[::-1].copy())
        assert tx.equal(traced(other), f(other))


def test_an_expand_to_its_own_shape_assumes_nothing_of_sizes():
    with tx.graph.trace.Trace("f") as trace:
        t = trace.input("t", tx.graph.parse_type("f32[n]"))
        wide = t.unsqueeze(1).expand(t.shape[0], t.shape[0] - 1).reshape(-1)
        trace.output(wide.expand(tuple(wide.shape)))
    graph = trace.finish()
    assert parse(str(graph)).verify() == graph


def test_a_repeated_axis_assumes_nothing_of_a_size_that_the_data_decide():
    with tx.graph.trace.Trace("f") as trace:
        t = trace.input("t", tx.graph.parse_type("f32[n]"))
        found = tx.nonzero(t)
        trace.output(t.sum().reshape(1, 1).expand(found.shape[0], 3))
    graph = trace.finish()
    assert not graph.guards
    (y,) = Interpreter(graph).run(tx.tensor([0.0, 2.0]))
    assert y.tolist() == [[2, 2, 2]]


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_window_that_reaches_outside_is_an_error_only_where_it_is_taken(name):
    text = """
graph there(x: f32[3, m]) {
  y: f32[m, 4] = strided_view(x, size=(m, 4), stride=(1, m), storage_offset=0, input_stride=(m, 1), input_offset=0)
  s: f32[] = sum(y)
  return s
}

graph here(x: f32[3, m]) {
  s: f32[] = sum(x)
  return s
}

graph f(p: bool[], x: f32[3, m]) {
  s: f32[] = cond(p, then=there, other=here, inputs=[x])
  return s
}
"""
    run = executor(parse(text), name)
    assert run([tx.tensor(False), tx.ones(3, 5)])[0].item() == 15
    with pytest.raises(tx.errors.ThixoError):
        run([tx.tensor(True), tx.ones(3, 5)])
