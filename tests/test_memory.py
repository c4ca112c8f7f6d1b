"""What lives how long: graphs, cycles, long tapes, subclasses, the end of the process."""

import gc
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest

import thixo as tx


def in_use():
    gc.collect()
    return tx._core.memory_stats()["in_use"]


class Marker:
    """Something that can be watched dying."""


# ---- graphs


def test_backward_frees_what_the_graph_kept():
    x = tx.ones(1000, requires_grad=True)
    (x * 1).sum().backward()  # .grad is there from now on
    base = in_use()
    y = x
    for _ in range(50):
        y = (y * 1.5).tanh()
    loss = y.sum()
    assert in_use() > base + 50 * 4000
    loss.backward()
    del y
    assert in_use() < base + 4096  # the loss, small things


def test_a_graph_that_is_dropped_is_freed_at_once():
    x = tx.ones(1000, requires_grad=True)
    base = in_use()
    gc.disable()
    try:
        y = x
        for _ in range(50):
            y = (y * 1.5).tanh()
        del y
        assert tx._core.memory_stats()["in_use"] == base
    finally:
        gc.enable()


def test_tensors_in_the_middle_die_when_nobody_needs_them():
    x = tx.ones(4, requires_grad=True)
    h = x * 2
    reference = weakref.ref(h)
    y = h + 1  # needs no value of h
    del h
    assert reference() is None
    y.sum().backward()
    assert x.grad.tolist() == [2.0] * 4


def test_gradients_on_the_way_are_not_kept():
    x = tx.ones(100_000, requires_grad=True)
    y = x
    for _ in range(20):
        y = y + 1
    loss = y.sum()
    del y
    before = in_use()
    tx._core.memory_reset_peak()
    loss.backward()
    assert tx._core.memory_stats()["peak"] < before + 4 * 400_000


def test_retained_graphs_are_freed_with_their_last_result():
    x = tx.ones(1000, requires_grad=True)
    base = in_use()
    y = x.exp().sum()
    y.backward(retain_graph=True)
    x.grad = None
    assert in_use() > base
    del y
    assert in_use() == base


def test_training_steps_do_not_grow():
    weights = [tx.ones(20, 20, requires_grad=True) for _ in range(3)]

    def step():
        y = tx.ones(5, 20)
        for w in weights:
            y = (y @ w).tanh()
        y.sum().backward()
        for w in weights:
            w.grad = None

    step()
    base, objects = in_use(), len(gc.get_objects())
    for _ in range(100):
        step()
    assert in_use() == base
    assert abs(len(gc.get_objects()) - objects) < 50


# ---- long tapes


def test_a_tape_of_a_million_nodes_runs_back_and_is_freed():
    base = in_use()
    x = tx.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.item() == 1.0
    del y, x
    assert in_use() == base


def test_a_tape_of_a_million_nodes_is_dropped_without_recursion():
    x = tx.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y * 1.0001
    del y
    z = x
    for _ in range(300_000):
        z = z * z  # each node also keeps the tensors before it
    del z


def test_long_chains_of_functions_and_of_gradients_are_dropped_without_recursion():
    class Same(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x = x  # a Python object in each link
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    y = tx.ones(1, requires_grad=True)
    for _ in range(100_000):
        y = Same.apply(y)
    del y
    grad = tx.ones(1)
    for _ in range(200_000):
        above = tx.ones(1)
        above.grad = grad
        grad = above
    del grad, above


def test_long_chains_of_attributes_are_dropped_without_recursion():
    t = tx.ones(1)
    for _ in range(200_000):
        above = tx.ones(1)
        above.below = t
        t = above
    del t, above


def test_long_chains_of_writes_in_place():
    x = tx.ones(4, requires_grad=True)
    y = x * 1
    for i in range(3000):
        y[i % 4] *= 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4


# ---- cycles


def test_a_tensor_that_refers_to_itself_is_collected():
    t, marker = tx.ones(1), Marker()
    t.itself, t.marker = t, marker
    reference = weakref.ref(marker)
    del t, marker
    gc.collect()
    assert reference() is None


def test_the_collector_sees_what_a_tensor_holds():
    t = tx.ones(1, requires_grad=True)
    t.note = note = ["note"]
    assert any(note is v for d in gc.get_referents(t) if isinstance(d, dict) for v in d.values())

    def hook(g):
        return None

    h = t * 2
    t.register_hook(hook)
    h.register_hook(hook)
    for owner in (t, h):
        inner = [r for x in gc.get_referents(owner) for r in gc.get_referents(x)]
        assert any(r is hook for r in inner)
    assert gc.is_tracked(t)


def test_what_several_share_is_not_collected():
    """Hooks on a node that another tensor's graph still needs must survive a collection."""
    calls = []
    x = tx.ones(1, requires_grad=True)
    h = x * 2
    held = [h]
    h.register_hook(lambda g: calls.append((g.item(), held[0].item())))
    y = h * 3
    del h
    for _ in range(3):
        gc.collect()
    y.sum().backward()
    assert calls == [(3.0, 2.0)]


def test_a_cycle_deep_in_a_graph_is_collected():
    marker = Marker()
    x = tx.ones(1, requires_grad=True)
    h = x + 1
    y = h + 1
    for _ in range(10):
        y = y + 1
    h.register_hook(lambda g, y=y, marker=marker: None)
    reference = weakref.ref(marker)
    del h, y, marker
    gc.collect()
    assert reference() is None


def test_collecting_in_the_middle_of_everything():
    """A collection at every allocation must not disturb a computation."""
    old = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        x = tx.ones(3, requires_grad=True)
        h = x.exp()
        h.register_hook(lambda g: g * 2)
        h.retain_grad()
        (h[0:2] * h[1:]).sum().backward()
        list(tx.ones(4, 2))
        str(tx.ones(3))
    finally:
        gc.set_threshold(*old)
    assert np.allclose(x.grad.numpy(), np.e**2 * np.array([2.0, 4.0, 2.0]))


# ---- objects


def test_one_object_for_one_tensor():
    x = tx.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad is x.grad
    assert x.grad._base is None
    view = x.detach()[0:1]
    assert view._base is view._base


def test_weak_references_and_attributes():
    x = tx.ones(2)
    reference = weakref.ref(x, lambda r: died.append(True))
    died = []
    x.note = "kept"
    assert reference() is x
    assert x.__dict__ == {"note": "kept"}
    del x
    assert reference() is None
    assert died == [True]
    assert {tx.ones(1): 1}  # tensors are hashed by identity
    with pytest.raises(AttributeError):
        _ = tx.ones(1).no_such_thing


class Named(tx.Tensor):
    """A subclass with its own state."""

    def shout(self):
        return self.name.upper()


def test_subclasses():
    t = Named(tx.ones(2))
    t.name = "weights"
    assert isinstance(t, tx.Tensor)
    assert t.shout() == "WEIGHTS"
    assert (t * 2).tolist() == [2.0, 2.0]
    reference = weakref.ref(t)
    t.itself = t
    del t
    gc.collect()
    assert reference() is None


def test_a_subclass_with_del_may_come_back():
    saved = []

    class Phoenix(tx.Tensor):
        def __del__(self):
            saved.append(self)

    t = Phoenix(tx.full((2,), 3.0))
    del t
    assert saved[0].tolist() == [3.0, 3.0]
    saved.clear()
    gc.collect()


def test_memory_outlives_a_tensor_that_moves_on():
    t = tx.full((4,), 7.0)
    array, view, buffer = t.numpy(), t[1:3], memoryview(t)
    capsule_side = np.from_dlpack(t)
    t.resize_(100_000)
    t.fill_(1.0)
    other = tx.full((4,), 7.0)
    held = other.numpy()
    other.data = tx.zeros(2)
    trash = [tx.full((4,), float(i)) for i in range(100)]
    assert array.tolist() == capsule_side.tolist() == buffer.tolist() == held.tolist() == [7.0] * 4
    assert view.tolist() == [7.0, 7.0]
    del trash


def test_arrays_keep_the_memory_of_dead_tensors_and_the_reverse():
    array = (tx.ones(1000) * 3).numpy()
    tensor = tx.from_numpy(np.full(1000, 4.0))
    gc.collect()
    trash = [tx.zeros(1000) for _ in range(20)]
    assert array.sum() == 3000
    assert tensor.sum().item() == 4000.0
    del trash


# ---- the end of the process


def run(program, timeout=120):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


ENDS = {
    "live tensors": """
        import thixo as tx
        x = tx.ones(3, requires_grad=True)
        y = (x * x).exp()
        y.itself = y
    """,
    "hooks": """
        import thixo as tx
        x = tx.ones(3, requires_grad=True)
        y = x * 2
        x.register_hook(lambda g: y)
        y.register_hook(lambda g: [x, y].clear())
        y.sum().backward()
    """,
    "generators": """
        import thixo as tx
        @tx.no_grad()
        def rows():
            for r in tx.ones(3, 3):
                yield r
        running = rows()
        next(running)
        g = tx.Generator()
        tx.manual_seed(3)
    """,
    "a pool of threads": """
        import thixo as tx
        tx.set_num_threads(4)
        x = tx.ones(3_000_000)
        y = x + x
    """,
    "threads that still run": """
        import threading, thixo as tx
        x = tx.ones(200_000)
        def work():
            while True:
                x + x
        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        x + x
    """,
    "foreign memory": """
        import numpy as np, thixo as tx
        a = tx.from_numpy(np.ones(5))
        b = np.from_dlpack(tx.ones(5))
        c = memoryview(tx.ones(5))
        d = tx.from_dlpack(np.ones(3))
        e = tx.ones(3).__dlpack__()
    """,
    "functions and modules": """
        import thixo as tx
        class F(tx.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.y = x * 2
                ctx.me = ctx
                return ctx.y
            @staticmethod
            def backward(ctx, g):
                return g
        net = tx.nn.Sequential(tx.nn.Linear(2, 2), tx.nn.ReLU())
        out = F.apply(net(tx.ones(1, 2)))
        out.sum().backward()
    """,
    "a long tape": """
        import thixo as tx
        x = y = tx.ones(1, requires_grad=True)
        for _ in range(200_000):
            y = y + 1
    """,
    "an object that uses tensors when it dies": """
        import thixo as tx
        class Late:
            def __init__(self):
                self.t = tx.ones(2, requires_grad=True)
            def __del__(self):
                (self.t * 2).sum().backward()
        late = Late()
        for _ in range(2):  # the operators are loaded
            (late.t * 2).sum().backward()
        late.me = late
    """,
}


@pytest.mark.parametrize("name", ENDS)
def test_the_process_ends_quietly(name):
    assert run(ENDS[name]) == (0, "", "")
