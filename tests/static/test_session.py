"""Declaring a graph and running parts of it."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thixo as tx
from thixo.errors import ThixoError

static = tx.static


def line_graph():
    with static.Graph("line") as g:
        x = static.placeholder((None,), tx.float32, "x")
        w = static.variable(2.0, name="w")
        y = x * w + 1
    return g, x, w, y


def test_nothing_is_computed_while_a_graph_is_declared():
    with static.Graph():
        x = static.placeholder((None,), tx.float32, "x")
        y = tx.zeros(10**12).sum() + x  # would not fit into memory
    assert tuple(y.shape) == tuple(x.shape)


def test_fetches_have_the_structure_they_are_given_in():
    g, x, w, y = line_graph()
    found = static.Session(g).run({"a": [y, "w"], "b": (w,)}, {x: [1.0, 2.0]})
    assert found["a"][0].tolist() == [3, 5]
    assert found["a"][1].item() == found["b"][0].item() == 2


def test_only_what_a_fetch_needs_is_fed_and_runs(capsys):
    with static.Graph() as g:
        x = static.placeholder((), tx.float32, "x")
        z = static.placeholder((), tx.float32, "z")
        y = static.print(x * 2, "y is")
        other = static.print(z * 3, "other is")
    session = static.Session(g)
    assert session.run(y, {x: 2.0}).item() == 4
    assert capsys.readouterr().out == "y is tensor(4.)\n"
    session.run([y, other], {x: 1.0, z: 1.0})
    assert capsys.readouterr().out == "y is tensor(2.)\nother is tensor(3.)\n"


def test_variables_change_only_where_an_assignment_is_fetched():
    with static.Graph() as g:
        w = static.variable(1.0, name="w")
        up = static.assign(w, w + 1)
        y = w * 10
    session = static.Session(g)
    assert session.run(y).item() == 10
    assert session.run([y, up])[0].item() == 10  # reads see the value before the run
    assert session.run(y).item() == 20
    assert session.run("assign") is None
    assert session.run(w).item() == 3


def test_state_is_written_only_after_everything_succeeded():
    with static.Graph() as g:
        i = static.placeholder((1,), tx.int64, "i")
        w = static.variable([1.0, 2.0], name="w")
        up = static.assign(w, w + 1)
        y = tx.index_select(w, 0, i)  # fails for an index out of range
    session = static.Session(g)
    with pytest.raises(ThixoError):
        session.run([up, y], {i: [7]})
    assert session.run(w).tolist() == [1, 2]


@settings(max_examples=40, deadline=None)
@given(n=st.integers(0, 4), m=st.integers(0, 4))
def test_any_size_can_be_fed(n, m):
    x = tx.arange(n * m).reshape(n, m).to(tx.float32)
    got = SIZES.run(SIZE_FETCHES, {"x": x})
    for a, b in zip(got, size_program(x), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        assert a.tolist() == b.tolist()


def size_program(x):
    centred = x - x.sum(0, keepdim=True)
    return [centred, tx.cat([x, x], 0), x.reshape(-1), (x * x).sum(1), x.t() @ x, x.squeeze(0)]


with static.Graph() as _sizes:
    SIZE_FETCHES = size_program(static.placeholder((None, None), tx.float32, "x"))
SIZES = static.Session(_sizes)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_gradients_and_loops_for_any_size(n):
    w0 = tx.ones(3)
    with static.Graph() as g:
        x = static.placeholder((None, 3), tx.float32, "x")
        w = static.variable(w0, name="w")
        last, rows = static.scan(lambda s, row: (s + row * w, s.sum()), tx.zeros(3), x)
        (slope,) = static.gradients((last * last).sum(), [w])
    data = tx.arange(3 * n).reshape(n, 3).to(tx.float32)
    found, stacked = static.Session(g).run([slope, rows], {x: data})
    assert found.tolist() == (2 * data.sum(0) * data.sum(0)).tolist()
    assert tuple(stacked.shape) == (n,)


def test_equal_names_are_equal_sizes():
    with static.Graph() as g:
        x = static.placeholder(("n", 2), tx.float32, "x")
        y = static.placeholder(("n", 2), tx.float32, "y")
        z = x + y
    session = static.Session(g)
    with pytest.raises(ThixoError, match=r"y: f32\[n, 2\] is fed f32\[3,2\]: axis 0 must be 4"):
        session.run(z, {x: tx.ones(4, 2), y: tx.ones(3, 2)})


def test_sizes_that_were_taken_to_be_equal_are_checked():
    with static.Graph() as g:
        x = static.placeholder((None,), tx.float32, "x")
        y = static.placeholder((None,), tx.float32, "y")
        z = x + y
    session = static.Session(g)
    assert session.run(z, {x: [1.0, 2.0], y: [1.0, 2.0]}).tolist() == [2, 4]
    with pytest.raises(ThixoError, match=r"needs n == m.*\(test_session.py:\d+\)"):
        session.run(z, {x: tx.ones(3), y: tx.ones(4)})


def test_bind_gives_what_run_gives_for_any_size():
    g, x, w, y = line_graph()
    session = static.Session(g)
    call = session.bind([y, w], [x])
    for n in (3, 1, 0, 3):
        data = tx.arange(n).to(tx.float32)
        assert call(data)[0].tolist() == session.run(y, {x: data}).tolist()
    with pytest.raises(ThixoError, match="takes 1 tensors"):
        call()
    with pytest.raises(ThixoError, match="another dtype"):
        call(tx.ones(3, dtype=tx.float64))


def test_bind_keeps_every_structure():
    with static.Graph() as g:
        x = static.placeholder((), tx.float32, "x")
        w = static.variable(0.0, name="w")
        up = static.assign(w, w + 1)
        y = x * 2
    session = static.Session(g)
    for fetches in (y, up, [y, x], (y, w), [up, y], (y, up, w), {"a": y, "b": [up, x]}, [[y], up]):
        found = session.bind(fetches, [x])(tx.tensor(3.0))
        again = session.run(fetches, {x: 3.0})
        assert shape_of(found) == shape_of(again)


def shape_of(found):
    """A structure with "tensor" for each tensor."""
    if isinstance(found, dict):
        return {k: shape_of(v) for k, v in found.items()}
    if isinstance(found, list | tuple):
        return type(found)(map(shape_of, found))
    return None if found is None else "tensor"


def test_bind_runs_assignments():
    with static.Graph() as g:
        x = static.placeholder((), tx.float32, "x")
        w = static.variable(0.0, name="w")
        add = static.assign(w, w + x)
    session = static.Session(g)
    call = session.bind(add, [x])
    assert call(tx.tensor(2.0)) is None
    call(tx.tensor(3.0))
    assert session.run(w).item() == 5


def test_a_session_works_while_a_graph_is_declared():
    g, x, _, y = line_graph()
    with static.Graph():
        assert static.Session(g).run(y, {x: [1.0]}).tolist() == [3]


def test_a_graph_can_grow_after_it_ran():
    g, x, _, y = line_graph()
    session = static.Session(g)
    session.run(y, {x: [1.0]})
    with g:
        z = y * 10
    assert session.run([y, z], {x: [1.0]})[1].tolist() == [30]


def test_passes_can_be_switched_off_by_name():
    with static.Graph() as g:
        x = static.placeholder((2,), tx.float32, "x")
        y = x.neg().neg()
    assert len(static.Session(g).program(y).nodes) == 0
    assert len(static.Session(g, off=["simplify"]).program(y).nodes) >= 1


def test_a_budget_of_memory_keeps_less():
    with static.Graph() as g:
        x = static.placeholder((256, 64), tx.float32, "x")
        w = static.variable(tx.eye(64) * 0.5, name="w")
        h = x
        for _ in range(6):
            h = tx.nn.functional.gelu(h @ w)
        (slope,) = static.gradients(h.sum(), [w])
    usual, tight = static.Session(g), static.Session(g, budget=0.6)
    data = tx.randn(256, 64)
    peaks = [tx.schedule.schedule(s.program(slope)).bind({}).peak for s in (usual, tight)]
    assert peaks[1] < 0.8 * peaks[0]
    a, b = (s.run(slope, {x: data}) for s in (usual, tight))
    assert tx.allclose(a, b, rtol=1e-4, atol=1e-4)


def test_threads_may_run_at_once():
    with static.Graph() as g:
        x = static.placeholder((None,), tx.float32, "x")
        w = static.variable(tx.zeros(64), name="w")
        up = static.assign(w, w + 1)
        spread = (w + x.sum()).max() - w.min() - x.sum()
    session = static.Session(g)
    data, wrong = tx.zeros(7), []

    def turn(fetch):
        for _ in range(50):
            found = session.run(fetch, {x: data})
            if found is not None and found.item() != 0:
                wrong.append(found.item())

    threads = [threading.Thread(target=turn, args=(f,)) for f in (up, spread, up, spread)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert session.run(w).tolist() == [100] * 64


def test_random_operators_draw_anew_in_each_run_and_follow_the_seed():
    with static.Graph() as g:
        y = tx.rand(4)
    session = static.Session(g)
    tx.manual_seed(3)
    first, second = session.run(y).tolist(), session.run(y).tolist()
    assert first != second
    tx.manual_seed(3)
    assert tx.rand(4).tolist() == first


def test_scopes_are_in_names():
    with static.Graph() as g:
        with static.name_scope("a"):
            x = static.placeholder((2,), tx.float32, "x")
            with static.name_scope("b"):
                w = static.variable(2.0, name="w")
                x * w
        with static.device("cpu"):
            static.placeholder((2,), tx.float32, "z")
    session = static.Session(g)
    assert session.run("a/b/mul", {"a/x": tx.ones(2)}).tolist() == [2, 2]


def test_control_dependencies_happen_before():
    with static.Graph() as g:
        n = static.variable(0.0, name="n")
        up = static.assign(n, n + 1)
        with static.control_dependencies([up]):
            y = n * 10
        z = n * 1
    session = static.Session(g)
    assert session.run(y).item() == 10
    assert session.run(z).item() == 1  # needs no assignment
    assert session.run([y, z])[1].item() == 1


def test_the_later_of_two_assignments_counts():
    with static.Graph() as g:
        n = static.variable(0.0, name="n")
        first = static.assign(n, 1.0)
        second = static.assign(n, 2.0)
    session = static.Session(g)
    session.run([second, first])
    assert session.run(n).item() == 2


def test_values_from_outside_are_variables_that_share_their_memory():
    outer = tx.ones(3)
    with static.Graph() as g:
        y = outer * 2
    session = static.Session(g)
    outer.add_(1)
    assert session.run(y).tolist() == [4, 4, 4]


def test_numpy_arrays_can_be_fed():
    g, x, _, y = line_graph()
    assert static.Session(g).run(y, {x: np.ones(2, np.float32)}).tolist() == [3, 3]
