"""tx.profiler: every operator, backward and ranges, on all threads; nothing when it is off."""

import json
import threading

import pytest

import thixo as tx
from thixo import _core
from thixo.errors import ArgumentError, ShapeError, ThixoError, ValueRangeError
from thixo.profiler import ProfilerActivity, profile, record_function


def names(prof):
    return [e.name for e in prof.events()]


def test_calls_are_recorded_in_order_and_only_inside():
    x = tx.ones(3)
    x.exp()
    with profile() as prof:
        (x + 1).tanh()
    x.exp()
    assert names(prof) == ["add", "tanh"]
    assert all(e.cpu_time_total > 0 and e.kind == "operator" for e in prof.events())


def test_backward_and_what_runs_inside_of_it():
    x = tx.ones(4, 4, requires_grad=True)
    with profile() as prof:
        (x @ x).sum().backward()
    steps = [e for e in prof.events() if e.kind == "backward"]
    assert [e.name for e in steps] == ["SumBackward", "MatmulBackward", "AccumulateGrad"]
    (product,) = (e for e in steps if e.name == "MatmulBackward")
    inside = [e.name for e in product.cpu_children]
    assert inside.count("matmul") == 2
    assert all(e.is_backward for e in product.cpu_children)
    assert [e.is_backward for e in prof.events() if e.name == "matmul"] == [False, True, True]


def test_composites_have_children_and_time_of_their_own():
    x = tx.ones(4, 8)
    with profile() as prof:
        tx.nn.functional.layer_norm(x, (8,))
    (whole,) = (e for e in prof.events() if e.name == "nn.functional.layer_norm")
    assert whole.cpu_children
    assert all(c.cpu_parent is whole for c in whole.cpu_children)
    inside = sum(c.cpu_time_total for c in whole.cpu_children)
    assert whole.self_cpu_time_total == pytest.approx(whole.cpu_time_total - inside)


def test_indexing_in_place_and_optimizers_are_seen():
    w = tx.ones(4, requires_grad=True)
    optimizer = tx.optim.SGD([w], lr=0.1)
    w.sum().backward()
    with profile() as prof:
        w.detach()[1]
        w.detach()[0] = 2.0
        w.detach().add_(1)
        optimizer.step()
    assert {"getitem", "setitem", "add_", "optim.fused_step"} <= set(names(prof))


def test_ranges_hold_what_runs_in_them():
    with profile() as prof, record_function("outer"):
        tx.ones(2).exp()
        with record_function("inner"):
            tx.ones(2).log()
    (outer,) = (e for e in prof.events() if e.name == "outer")
    assert [c.name for c in outer.cpu_children] == ["ones", "exp", "inner"]
    assert [c.name for c in outer.cpu_children[-1].cpu_children] == ["ones", "log"]


def test_a_range_ends_with_an_error():
    with profile() as prof:
        with pytest.raises(ShapeError), record_function("bad"):
            tx.ones(2) + tx.ones(3)
        tx.ones(2)
    assert [c.name for c in prof.events()[0].cpu_children] == ["ones", "ones", "add"]
    assert names(prof)[-1] == "ones"


def test_a_decorated_function_may_call_itself():
    @record_function("down")
    def down(n):
        return tx.ones(1) if n == 0 else down(n - 1)

    down(2)  # no profiler: nothing happens
    with profile() as prof:
        down(2)
    (row,) = (e for e in prof.key_averages() if e.key == "down")
    outermost = max(e.cpu_time_total for e in prof.events() if e.name == "down")
    assert row.count == 3
    assert row.cpu_time_total == outermost  # not three times what is inside


def test_shapes_and_memory_where_asked_for():
    x = tx.ones(64, 32)
    with profile(record_shapes=True, profile_memory=True) as prof:
        y = tx.cat([x, x])
    (e,) = (e for e in prof.events() if e.name == "cat")
    assert e.input_shapes == ((64, 32), (64, 32))
    assert e.cpu_memory_usage == y.numel() * 4
    with profile() as plain:
        tx.cat([x, x])
    assert plain.events()[0].input_shapes == ()
    assert plain.events()[0].cpu_memory_usage == 0


def test_threads_are_told_apart():
    def work(function):
        for _ in range(50):
            function(tx.ones(3))

    with profile() as prof:
        others = [threading.Thread(target=work, args=(f,)) for f in (tx.exp, tx.log)]
        for other in others:
            other.start()
        work(tx.sin)
        for other in others:
            other.join()
    found = {
        name: {e.thread for e in prof.events() if e.name == name} for name in ("exp", "log", "sin")
    }
    assert sorted(len(t) for t in found.values()) == [1, 1, 1]
    assert len(set.union(*found.values())) == 3
    assert all(names(prof).count(name) == 50 for name in found)


def test_what_a_thread_begins_before_or_ends_after_is_left_out():
    inside, leave = threading.Event(), threading.Event()

    def work():
        with record_function("long"):
            inside.set()
            leave.wait(30)

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        inside.wait(30)
    with profile() as later:
        leave.set()
        thread.join()
    assert "long" not in names(prof) + names(later)


def test_averages_and_their_table():
    with profile(record_shapes=True, profile_memory=True) as prof:
        for n in (2, 2, 300):
            tx.ones(n, n).exp()
    (row,) = (e for e in prof.key_averages() if e.key == "exp")
    assert row.count == 3
    assert row.cpu_time == pytest.approx(row.cpu_time_total / 3)
    by_shape = [e for e in prof.key_averages(group_by_input_shape=True) if e.key == "exp"]
    assert [(e.count, e.input_shapes) for e in by_shape] == [(2, ((2, 2),)), (1, ((300, 300),))]
    table = prof.table(sort_by="count", row_limit=1).splitlines()
    assert table[0].split("  ")[0] == "Name"
    assert len(table) == 5
    assert "[[300, 300]]" in prof.key_averages(group_by_input_shape=True).table()
    assert "KiB" in prof.table()
    assert prof.events().table() == prof.key_averages().table()


def test_the_trace_is_what_chrome_reads(tmp_path):
    with profile(record_shapes=True) as prof, record_function("all"):
        tx.ones(2, 3).exp()
    prof.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    whole = trace[0]
    assert [e["name"] for e in trace] == ["all", "ones", "exp"]
    for e in trace:
        assert e["ph"] == "X"
        assert whole["ts"] <= e["ts"]
        assert e["ts"] + e["dur"] <= whole["ts"] + whole["dur"] + 1e-3
    assert trace[2]["args"]["Input Dims"] == [[2, 3]]


def test_one_at_a_time_and_none_without_a_start():
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        with pytest.raises(ThixoError, match="running already"), profile():
            pass
        tx.ones(2)
    assert names(prof) == ["ones"]
    with pytest.raises(ThixoError, match="not running"):
        prof.stop()


def test_an_error_inside_stops_it():
    with pytest.raises(ShapeError), profile() as prof:
        tx.ones(2).reshape(3)
    assert names(prof) == ["ones", "reshape"]
    assert _core.profiler_start(False, False)
    _core.profiler_stop()


def test_wrong_arguments_say_what_is_needed():
    with pytest.raises(ArgumentError, match="a str is needed"):
        record_function(3)
    with pytest.raises(ArgumentError, match=r"ProfilerActivity\.CPU is needed"):
        profile(activities=["cpu"])
    with pytest.raises(ValueRangeError, match="one of cpu_time_total"):
        profile().table(sort_by="name")


def test_results_and_gradients_are_the_same_under_it():
    def step():
        x = tx.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        y = tx.nn.functional.gelu(x @ x.T).sum()
        y.backward()
        return y.item(), x.grad.tolist()

    plain = step()
    with profile(record_shapes=True, profile_memory=True):
        assert step() == plain
