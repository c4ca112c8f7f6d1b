"""Lazy mode: what is recorded, when it runs, and that nobody can tell by the results."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest

import thixo as tx
from thixo import _core
from thixo.capture import segments


@pytest.fixture(autouse=True)
def at_once():
    """Structures are compiled when they first come, and none is left from another test."""
    segments.forget()
    before, segments.Settings.sights = segments.Settings.sights, 1
    yield
    segments.Settings.sights = before
    segments.forget()


def waits(tensor) -> bool:
    return _core.lazy_awaits(tensor)


# ---- what is recorded, and when it runs


def test_operators_record_and_types_are_known():
    with tx.lazy():
        x = tx.ones(2, 3) * 2 + 1
        y = x.t() @ x
        assert waits(x)
        assert waits(y)
        assert y.shape == (3, 3)
        assert y.dtype is tx.float32
        assert not y.requires_grad
        assert y.stride() == (3, 1)
        assert y.is_contiguous()
        assert y.numel() == 9
        assert len(y) == 3
        assert waits(x)
        assert waits(y)
    assert not waits(y)
    assert y.tolist() == [[18.0] * 3] * 3


LOOKS = {
    "item": lambda x: x.item(),
    "bool": bool,
    "float": float,
    "int": int,
    "print": str,
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "array": np.asarray,
    "pointer": lambda x: x.data_ptr(),
    "pickle": pickle.dumps,
    "buffer": memoryview,
    "capsule": lambda x: x.__dlpack__(),
    "index": lambda x: tx.arange(30)[x.long()],
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_a_look_runs_what_was_recorded(look):
    with tx.lazy():
        x = tx.tensor([3.0]) * 2 - 1
        y = x * x
        assert waits(y)
        look(y[0] if look is LOOKS["index"] else y)
        assert not waits(y)
        assert y.item() == 25.0


def test_questions_of_type_run_nothing():
    with tx.lazy():
        x = tx.ones(3, 4, requires_grad=True) * 2
        y = x.reshape(4, 3).t()[1:]
        repr(y.shape), y.dtype, y.device, y.requires_grad, y.grad_fn, y.is_leaf, y.ndim, y._version
        tx.is_tensor(y), y.is_floating_point(), y.element_size(), y.storage_offset(), y.size(0)
        assert waits(y)


def test_a_long_segment_runs_by_itself():
    before = _core.lazy_limit(50)
    try:
        with tx.lazy():
            x = tx.zeros(3)
            for _ in range(120):
                x = x + 1
            assert _core.lazy_recorded() < 50
        assert x.tolist() == [120.0] * 3
    finally:
        _core.lazy_limit(before)


def test_what_nobody_holds_is_not_computed(monkeypatch):
    seen = []
    real = segments.Compiled.__call__

    def spy(self, *given):
        seen.append(self.run.graph)
        real(self, *given)

    monkeypatch.setattr(segments.Compiled, "__call__", spy)
    with tx.lazy():
        x = tx.ones(8)
        a = x * 2
        b = a + 1
        dead = b @ x
        del a, dead
        c = b.exp()
        del b
    assert c[0].item() == pytest.approx(np.exp(3.0))
    (graph,) = seen
    assert len(graph.outputs) == 1
    assert "matmul" not in [node.op.full_name for node in graph.nodes]


# ---- memory


def test_writes_and_views():
    def program():
        base = tx.arange(12.0).reshape(3, 4) * 1
        row, column, flat = base[1], base[:, 2], base.view(-1)
        row += 10
        column.mul_(2)
        flat[0] = -1
        base.t()[3] = 7
        other = base.clone()
        base.zero_()
        tx.add(other, 1, out=base)
        base[tx.tensor([0, 2]), 1] = tx.tensor([5.0, 6.0])
        return base, row, column, flat, other

    with tx.lazy():
        found = program()
    for one, other in zip(found, program(), strict=True):
        assert one.tolist() == other.tolist()
        assert one._version == other._version


def test_a_write_after_a_read_does_not_reach_it():
    x = tx.ones(3)
    with tx.lazy():
        y = x + 1
        x.add_(10)
        z = x + 1
    assert (y.tolist(), x.tolist(), z.tolist()) == ([2.0] * 3, [11.0] * 3, [12.0] * 3)


def test_memory_that_others_hold_is_read_and_written_at_once():
    array = np.ones(3, np.float32)
    x = tx.from_numpy(array)
    with tx.lazy():
        y = x + 1
        array[0] = 50  # too late for y
        x.mul_(3)
        assert array.tolist() == [150.0, 3.0, 3.0]
        z = tx.ones(3) * 2
        shared = z.numpy()
        w = z + 1
        shared[1] = 9
        z += 1
        assert shared.tolist() == [3.0, 10.0, 3.0]
    assert y.tolist() == [2.0, 2.0, 2.0]
    assert w.tolist() == [3.0, 3.0, 3.0]


def test_other_data():
    with tx.lazy():
        x = tx.ones(2) * 2
        y = x + 1
        x.data = tx.zeros(3)
        z = x + 1
    assert y.tolist() == [3.0, 3.0]
    assert z.tolist() == [1.0, 1.0, 1.0]


def test_copies():
    with tx.lazy():
        x = tx.arange(3.0) * 2
        pair = copy.deepcopy([x, x])
        loaded = pickle.loads(pickle.dumps(x + 1))
        x.zero_()
    assert pair[0] is pair[1]
    assert pair[0].tolist() == [0.0, 2.0, 4.0]
    assert loaded.tolist() == [1.0, 3.0, 5.0]


# ---- gradients


def test_gradients_are_recorded():
    def program(look):
        w = tx.tensor([1.0, 2.0, 3.0], requires_grad=True)
        seen = []
        w.register_hook(lambda g: seen.append(g) or g * 2)
        y = w * w
        y.retain_grad()
        (y.exp() / 10).sum().backward()
        if look:
            assert waits(w.grad)
            assert waits(y.grad)
        (w[1:] * 3).sum().backward()
        with tx.no_grad():
            w -= 0.1 * w.grad
        return [w, w.grad, y.grad, *seen]

    with tx.lazy():
        found = program(True)
    for one, other in zip(found, program(False), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-6)


def test_second_order():
    def program():
        x = tx.tensor([0.5, 1.5], requires_grad=True)
        (g,) = tx.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = tx.autograd.grad((g * g).sum(), x)
        return g, h

    with tx.lazy():
        found = program()
    for one, other in zip(found, program(), strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-6)


def test_what_was_overwritten_is_missed_at_backward():
    with tx.lazy():
        x = tx.ones(2, requires_grad=True)
        y = x.exp()
        z = y * 2
        y.add_(1)
        with pytest.raises(tx.errors.InplaceError, match=r"version 1.*version 0"):
            z.sum().backward()
        with pytest.raises(tx.errors.InplaceError, match="a leaf"):
            x.add_(1)


def test_functions_of_users():
    class Double(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + x * 0

    with tx.lazy():
        x = tx.ones(3, requires_grad=True)
        Double.apply(x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]


def test_random_numbers_are_those_of_eager_code():
    def program():
        tx.manual_seed(3)
        x = tx.randn(4)
        y = tx.nn.functional.dropout(x * 2, 0.5)
        z = tx.rand(4) + y
        z.uniform_()
        return x, y, z, tx.rand(2)

    with tx.lazy():
        found = program()
    for one, other in zip(found, program(), strict=True):
        assert one.tolist() == other.tolist()


# ---- errors


def test_errors_of_types_come_at_once():
    with tx.lazy():
        x = tx.ones(2) * 2
        with pytest.raises(tx.errors.ShapeError, match=r"test_lazy\.py:\d+"):
            x + tx.ones(3)
        with pytest.raises(tx.errors.ShapeError):
            x.add_(tx.ones(2, 2))
        with pytest.raises(tx.errors.DTypeError):
            tx.ones(2, dtype=tx.int64).add_(x)
        assert x.tolist() == [2.0, 2.0]


def line_of(function, offset) -> str:
    return f"test_lazy.py:{function.__code__.co_firstlineno + offset}"


def test_errors_of_values_name_the_line_that_recorded():
    def record(x):
        return x // tx.zeros(2, dtype=tx.int64)

    with tx.lazy():
        before = tx.ones(2) * 3
        bad = record(tx.ones(2, dtype=tx.int64))
        worse = bad + 1
        after = before + 1
        with pytest.raises(tx.ThixoError, match="division by zero") as caught:
            worse.tolist()
        assert line_of(record, 1) in str(caught.value)
        with pytest.raises(tx.ThixoError, match="division by zero"):
            bad.tolist()  # it never will be there
        assert before.tolist() == [3.0, 3.0]
        assert after.tolist() == [4.0, 4.0]


def test_an_error_of_what_nobody_holds_is_an_error():
    @tx.lazy
    def f():
        tx.ones(2, dtype=tx.int64) // 0
        kept.append(tx.ones(2) + 1)

    kept: list = []
    with pytest.raises(tx.ThixoError, match="division by zero"):
        f()
    (x,) = kept
    assert x.tolist() == [2.0, 2.0]


# ---- threads, processes


def test_each_thread_records_for_itself():
    found = {}

    def work(n):
        with tx.lazy():
            x = tx.zeros(4)
            for _ in range(20):
                x = x + n
            found[n] = x.sum()

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: x.item() for n, x in found.items()} == {n: 80.0 * n for n in range(6)}


def test_a_tensor_handed_to_another_thread_is_computed_first():
    found = []
    with tx.lazy():
        x = tx.ones(3) * 4
        y = x + 1

        def work():
            found.append((y * 2).tolist())
            x.zero_()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert found == [[10.0, 10.0, 10.0]]
        assert x.tolist() == [0.0] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_process_sees_what_was_recorded():
    with tx.lazy():
        x = tx.ones(3) * 5
        child = os.fork()
        if child == 0:
            os._exit(0 if x.tolist() == [5.0] * 3 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# ---- modes


def test_modes():
    assert tx.get_mode() == "graph"
    tx.set_mode("lazy")
    try:
        x = tx.ones(2) * 3
        assert waits(x)
        assert tx.get_mode() == "lazy"
        tx.set_mode("eager")
        assert not waits(x)
        assert not waits(x + 1)
    finally:
        tx.set_mode("graph")
    with pytest.raises(
        tx.errors.ArgumentError, match="there is no mode 'lasy'; did you mean 'lazy'"
    ):
        tx.set_mode("lasy")


def test_lazy_is_a_decorator_and_nests():
    @tx.lazy
    def f(x):
        with tx.lazy():
            y = x + 1
        assert waits(y)
        return y * 2

    assert not waits(f(tx.ones(2)))
    assert f(tx.ones(2)).tolist() == [4.0, 4.0]


# ---- programs


def compiled() -> list:
    return [one for family in segments._families.values() for one in family.members]


def test_a_structure_is_compiled_once():
    with tx.lazy():
        x = tx.ones(3)
        for _ in range(10):
            x = (x * 1.5 + 1).relu()
            x.sum().item()
    assert len(compiled()) <= 2


def test_numbers_that_change_are_inputs():
    x = tx.ones(3)
    with tx.lazy():
        for step in range(10):
            x = x - (x * 2) * (0.5 / (step + 2))
            x[0].item()
    expected = np.ones(3, np.float32)
    for step in range(10):
        expected = expected - (expected * 2) * np.float32(0.5 / (step + 2))
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-6)
    assert len(compiled()) <= 2


def test_sizes_that_change_are_symbols():
    model = tx.nn.Sequential(tx.nn.Linear(4, 8), tx.nn.ReLU(), tx.nn.Linear(8, 2))
    tx.manual_seed(0)
    batches = [tx.randn(n, 4) for n in (3, 5, 9, 16, 33, 2, 7)]

    def outputs(x):
        y = model(x)
        shown = tx.cat([y, x.reshape(-1, 2)[: x.shape[0]]], 1)
        return shown - shown.mean(0), y.t()[:, 1:] * x.shape[0]

    with tx.lazy():
        found = []
        for x in batches:
            found.append(outputs(x))
            found[-1][0].sum().item()
    for x, pair in zip(batches, found, strict=True):
        for one, other in zip(pair, outputs(x), strict=True):
            np.testing.assert_allclose(
                one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6
            )
    assert len({id(one) for one in compiled()}) <= 4


def test_sizes_that_only_seemed_to_go_together():
    def f(x, y, k):
        return (x.sum(0) + y.sum(0)) * 2, x[:k] * 2 + 1

    arguments = [(3, 3, 2), (5, 5, 4), (7, 4, 3), (6, 6, 2), (1, 5, 1), (9, 9, 8)]
    for n, m, k in arguments:
        x, y = tx.arange(2.0 * n).reshape(n, 2), tx.ones(m, 2)
        with tx.lazy():
            found = f(x, y, k)
        for one, other in zip(found, f(x, y, k), strict=True):
            assert one.tolist() == other.tolist()


def test_the_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(segments, "MOST_FAMILIES", 4)
    segments.Settings.sights = 9
    with tx.lazy():
        for n in range(1, 20):
            ((tx.ones(n) + 1) * 2).sum().item()
    assert len(segments._families) == 4
    assert len(segments._outlines) <= 4
