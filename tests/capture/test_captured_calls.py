"""Captured functions called from threads, after a fork, for ever new arguments, and with what changes around them."""

import functools
import gc
import multiprocessing
import threading
import warnings

import numpy as np
import pytest

import thixo as tx
from thixo import progress
from thixo.capture import captured as capturing

WAYS = {"script": tx.jit.script} | ({"compile": tx.compile} if hasattr(tx, "compile") else {})
THREADS = 8


@pytest.fixture(params=WAYS)
def way(request):
    return WAYS[request.param]


def at_once(count, work):
    """Run `work(i)` in so many threads that begin together; what each gave."""
    gate, found, raised = threading.Barrier(count), [None] * count, []

    def run(i):
        gate.wait()
        try:
            found[i] = work(i)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    if raised:
        raise raised[0]
    return found


def in_a_child(work):
    """What `work` says in a forked process."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=lambda: there.send(work()), daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there are threads
        child.start()
    try:
        assert here.poll(60), "the child waits for ever"
        return here.recv()
    finally:
        child.kill()
        child.join()


def branched(x, w):
    for _ in range(3):
        x = tx.tanh(x @ w)
        if x.sum() > 0:
            x = x * 0.5
    return x


# ---- threads


def test_eight_threads_call_it_for_the_first_time(way):
    def f(x, w):
        return branched(x, w).sum()

    called, w = way(f), tx.randn(4, 4)
    given = [tx.randn(3, 4, requires_grad=True) for _ in range(THREADS)]

    def work(i):
        y = called(given[i], w)
        y.backward()
        return y.item(), given[i].grad.numpy().copy()

    for (value, gradient), x in zip(at_once(THREADS, work), given, strict=True):
        again = x.detach().requires_grad_()
        y = f(again, w)
        y.backward()
        assert value == pytest.approx(y.item(), rel=1e-5)
        np.testing.assert_allclose(gradient, again.grad.numpy(), rtol=1e-5, atol=1e-6)
    assert len(called.graphs) == 1


def test_threads_with_arguments_of_many_kinds(way):
    called = [way(lambda x, k=k: x * k if x.sum() > k else x - k) for k in range(3)]

    def work(i):
        for turn in range(9):
            k, size = (i + turn) % 3, 2 + (i + turn) % 4
            x = tx.ones(size)
            expected = x * k if size > k else x - k
            assert called[k](x).tolist() == expected.tolist()

    at_once(THREADS, work)


def test_functions_that_call_each_other_are_captured_at_once(way):
    inner = way(lambda x: x + 1 if x.sum() > 0 else x - 1)
    outer = way(lambda x: inner(x) * 2)
    again = way(lambda x: outer(x) - inner(x))
    x = tx.ones(3)
    found = at_once(6, lambda i: (inner, outer, again)[i % 3](x).tolist())
    assert found == [[2.0] * 3, [4.0] * 3, [2.0] * 3] * 2


def test_a_captured_function_that_calls_itself(way):
    @way
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * 2

    assert power(tx.ones(2), 3).tolist() == [8.0, 8.0]


# ---- processes


def test_a_child_uses_what_its_parent_captured_and_captures_more(way):
    called = way(branched)
    x, w = tx.randn(3, 4), tx.randn(4, 4)
    expected = called(x, w).tolist()
    fresh = way(lambda v: v * 2 if v.sum() > 0 else -v)

    def work():
        return called(x, w).tolist(), called(tx.ones(5, 4), w).shape[0], fresh(tx.ones(2)).tolist()

    assert in_a_child(work) == (expected, 5, [2.0, 2.0])


def test_a_child_that_is_born_while_another_thread_captures(way):
    began, go_on = threading.Event(), threading.Event()

    thread = threading.Thread(target=lambda: capture_slowly(began, go_on), daemon=True)
    thread.start()
    assert began.wait(20)
    threading.Timer(0.2, go_on.set).start()  # a fork waits until the capture is done
    called = way(lambda x: x * 2 if x.sum() > 0 else -x)
    assert in_a_child(lambda: called(tx.ones(2)).tolist()) == [2.0, 2.0]
    thread.join(20)


def capture_slowly(began, go_on):
    with capturing._lock:
        began.set()
        go_on.wait(20)


# ---- ever new arguments


def test_the_number_of_graphs_is_bounded(way):
    called = way(lambda x, n: x * n)
    x = tx.ones(2)
    for n in range(150):
        assert called(x, n).tolist() == [n, n]
    assert len(called.graphs) <= 64
    for n in (0, 149):
        assert called(x, n).tolist() == [n, n]


def test_memory_does_not_grow_with_new_arguments(way):
    called = way(lambda x, text: x * len(text))
    x = tx.ones(2)

    def objects():
        gc.collect()
        return len(gc.get_objects())

    for n in range(80):
        called(x, "a" * n)
    before = objects()
    for n in range(80, 160):
        called(x, "a" * n)
    assert objects() < before * 1.05 + 2000


# ---- what changes around it


def test_a_closure_that_is_written_between_calls(way):
    scale, log = 2.0, []

    def f(x):
        log.append(scale)
        return x * scale

    def rescale(to):
        nonlocal scale
        scale = to

    called = way(f)
    assert called(tx.ones(1)).item() == 2.0
    rescale(5.0)
    assert called(tx.ones(1)).item() == 5.0
    rescale(tx.tensor(3.0))
    assert called(tx.ones(1)).item() == 3.0
    assert [float(x) for x in log] == [2.0, 5.0, 3.0]


def test_a_closure_that_the_function_itself_writes(way):
    count = 0

    def f(x):
        nonlocal count
        count += 1
        if x.sum() > 0:
            count += 10
        return x * count

    called = way(f)
    assert [called(x).item() for x in (tx.ones(1), -tx.ones(1), tx.ones(1))] == [11.0, -12.0, 23.0]
    assert count == 23


def test_a_global_function_that_is_replaced(way):
    scope = {"f": lambda x: x + 1}
    called = way(lambda x: scope["f"](x))
    assert called(tx.ones(1)).item() == 2.0
    scope["f"] = lambda x: x - 1
    assert called(tx.ones(1)).item() == 0.0


def test_an_exception_in_a_branch_leaves_nothing_half_done(way):
    class State:
        def __init__(self):
            self.calls, self.total = 0, tx.zeros(())

    state = State()

    def f(x):
        state.calls += 1
        if x.sum() < 0:
            raise ValueError("negative")
        state.total = state.total + x.sum()
        return state.total

    called = way(f)
    assert called(tx.ones(2)).item() == 2.0
    for _ in range(2):
        with pytest.raises(ValueError) as error:
            called(-tx.ones(2))
        assert str(error.value) == "negative"
    assert called(tx.ones(2)).item() == 4.0
    assert state.total.item() == 4.0


def test_the_same_exception_from_another_branch_names_its_values(way):
    def f(x):
        if x.max() > 5:
            raise ValueError(f"too large: {x.max().item():.0f}")
        if x.min() < -5:
            raise IndexError("too small")
        return x.sum()

    called = way(f)
    assert called(tx.ones(2)).item() == 2.0
    for value, kind, text in ((7.0, ValueError, "too large: 7"), (-7.0, IndexError, "too small")):
        with pytest.raises(kind) as error:
            called(tx.full((2,), value))
        assert str(error.value) == text


def test_a_generator_that_is_consumed_inside(way):
    def parts(x, n):
        for i in range(n):
            yield x * i

    called = way(lambda x, n: sum(parts(x, n), tx.zeros(2)))
    assert called(tx.ones(2), 4).tolist() == [6.0, 6.0]
    assert called(tx.ones(2), 0).tolist() == [0.0, 0.0]


def test_a_function_of_a_string_has_no_source():
    scope = {}
    exec("def f(x):\n    return x * 2 if x.sum() > 0 else -x", scope)
    with pytest.raises(tx.errors.CaptureError, match="its source is not known"):
        tx.jit.script(scope["f"])(tx.ones(2))
    if "compile" in WAYS:  # it runs all the same
        called = WAYS["compile"](scope["f"])
        assert called(tx.ones(2)).tolist() == [2.0, 2.0]
        assert called(-tx.ones(2)).tolist() == [1.0, 1.0]


def test_a_recursion_without_an_end(way):
    def f(x):
        return f(x + 1)

    with pytest.raises((RecursionError, tx.errors.CaptureError)):
        way(f)(tx.ones(1))


def test_a_partial_and_a_bound_method(way):
    class Scale:
        by = 3.0

        def apply(self, x, plus=0.0):
            return x * self.by + plus

    scale = Scale()
    called = way(functools.partial(scale.apply, plus=1.0))
    assert called(tx.ones(1)).item() == 4.0
    scale.by = 5.0
    assert called(tx.ones(1)).item() == 6.0


# ---- what takes long says so


def test_progress_is_shown_when_capturing_takes_over_two_seconds(way, monkeypatch, capsys):
    now = [0.0]

    class Clock:
        def monotonic(self):
            now[0] += 0.5  # every look at the clock is half a second later
            return now[0]

    monkeypatch.setattr(progress, "time", Clock())
    monkeypatch.setattr(progress.config, "progress", True)

    def slowly(x):
        for i in range(12):
            x = x + i if x.sum() > 0 else x - i
        return x

    way(slowly)(tx.ones(3))
    assert "thixo: " in capsys.readouterr().err
