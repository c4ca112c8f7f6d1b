"""tx.compile: what it takes, when it captures, what it keeps, and that results are those of the function."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest

import thixo as tx
from thixo.capture import compile_cache
from thixo.graph.interpret import Interpreter

SCALE = 3.0


def same(a, b):
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def graphs(f) -> int:
    return len(tx.explain(f).graphs)


# ---- what it takes


def test_a_decorator_with_and_without_arguments():
    @tx.compile
    def f(x):
        """Twice."""
        return x * 2

    @tx.compile(fullgraph=True, dynamic=True, name="thrice")
    def g(x):
        return x * 3

    same(f(tx.ones(3)), tx.full((3,), 2.0))
    same(g(tx.ones(3)), tx.full((3,), 3.0))
    assert (f.__name__, f.__doc__, g.__name__) == ("f", "Twice.", "thrice")


def test_methods_serve_all_objects_with_one_graph():
    class Scaled:
        def __init__(self, w):
            self.w = w
            self.calls = []

        @tx.compile
        def times(self, x):
            self.calls.append("times")
            return x * self.w

        @tx.compile
        @staticmethod
        def plus(x):
            return x + 1

        @tx.compile
        @classmethod
        def name(cls, x):
            return x * len(cls.__name__)

    one, other = Scaled(tx.ones(3) * 2), Scaled(tx.ones(3) * 5)
    same(one.times(tx.ones(3)), tx.full((3,), 2.0))
    same(other.times(tx.ones(3)), tx.full((3,), 5.0))
    one.times(tx.ones(3))
    assert (one.calls, other.calls) == (["times"] * 2, ["times"])
    assert graphs(Scaled.times) == 1
    same(one.plus(tx.ones(2)), tx.full((2,), 2.0))
    same(one.name(tx.ones(2)), tx.full((2,), 6.0))
    bound = tx.compile(one.times)
    same(bound(tx.ones(3)), tx.full((3,), 2.0))


def test_a_module_shares_its_state():
    net = tx.nn.Sequential(tx.nn.Linear(3, 4), tx.nn.Dropout(0.5), tx.nn.Linear(4, 2))
    quick = tx.compile(net)
    x = tx.randn(5, 3)
    tx.manual_seed(3)
    quick(x).sum().backward()
    got = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    tx.manual_seed(3)
    net(x).sum().backward()
    for a, b in zip(got, net.parameters(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.grad.numpy(), rtol=1e-6)
    assert list(quick.state_dict()) == list(net.state_dict())
    quick.eval()
    assert not any(m.training for m in net.modules())
    same(quick(x), net(x))
    net.train()
    assert quick.training
    assert isinstance(quick, tx.nn.Sequential)
    assert "Dropout" in repr(quick)
    other = tx.nn.Sequential(tx.nn.Linear(3, 4), tx.nn.Dropout(0.5), tx.nn.Linear(4, 2))
    quick.load_state_dict(other.state_dict())
    quick.eval()
    same(net(x), other.eval()(x))
    same(quick(x), net(x))


def test_a_module_is_compiled_in_place_copied_and_pickled():
    net = tx.nn.Linear(3, 2)
    x = tx.randn(4, 3)
    want = net(x)
    net.compile(fullgraph=True)
    same(net(x), want)
    assert tx.explain(net).is_whole
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), tx.compile(net)):
        same(twin(x), want)
    assert copy.deepcopy(net).weight is not net.weight
    handle = net.register_forward_hook(lambda m, i, o: o * 2)
    with pytest.raises(tx.errors.CaptureError, match="it has hooks"):
        net(x)
    handle.remove()
    same(net(x), want)


def test_source_that_is_not_known_runs_lazily():
    scope = {"tx": tx}
    exec("@tx.compile\ndef f(x):\n    return (x * 2).sum() if x.sum() > 0 else -x", scope)
    f = scope["f"]
    same(f(tx.ones(3)), tx.tensor(6.0))
    same(f(-tx.ones(3)), tx.ones(3))
    assert "its source is not known" in tx.explain(f).breaks[0].reason
    same(tx.compile(tx.sin)(tx.zeros(2)), tx.zeros(2))


def test_a_generator_yields_what_it_does():
    @tx.compile
    def halves(x):
        for _ in range(3):
            x = x / 2
            yield x

    assert [y.item() for y in halves(tx.tensor(8.0))] == [4.0, 2.0, 1.0]


def test_what_is_no_function_is_refused():
    with pytest.raises(
        tx.errors.ArgumentError, match=r"needs a function, a method or a Module, got 3"
    ):
        tx.compile(3)
    with pytest.raises(tx.errors.ArgumentError, match="needs a function"):
        tx.compile(tx.nn.Linear)
    with pytest.raises(tx.errors.ArgumentError, match=r"there is no backend 'nativ'.*'native'"):
        tx.compile(lambda x: x, backend="nativ")
    with pytest.raises(tx.errors.ArgumentError, match="dynamic must be True, False or None"):
        tx.compile(lambda x: x, dynamic="yes")


# ---- when it captures


def test_a_new_size_needs_no_new_graph():
    f = tx.compile(lambda x: (x * x).sum(0))
    for n in (2, 3, 7, 100):
        same(f(tx.ones(n, 2)), tx.full((2,), float(n)))
    assert graphs(f) == 1
    f(tx.ones(1, 2)), f(tx.ones(0, 2))
    assert graphs(f) == 3
    fixed = tx.compile(lambda x: x + 1, dynamic=False)
    fixed(tx.ones(2)), fixed(tx.ones(3))
    assert graphs(fixed) == 2


def test_recompiles_say_what_changed():
    global SCALE

    def f(x, n=1):
        return x * n * SCALE

    compiled = tx.compile(f)
    compiled(tx.ones(2))
    compiled(tx.ones(2), 2)
    compiled(tx.ones(2, dtype=tx.float64), 2)
    SCALE = 4.0
    try:
        same(compiled(tx.ones(2)), tx.full((2,), 4.0))
    finally:
        SCALE = 3.0
    with tx.no_grad():
        compiled(tx.ones(2), 2)
    reasons = [one.reason for one in tx.explain(compiled).recompiles]
    assert reasons[1:] == [
        "x was f32[...], is f64[...]",
        f"{__name__}['SCALE'] was 3.0, is 4.0",
        "gradients were on, are off",
    ]
    assert all(one.line.startswith("test_compile.py:") for one in tx.explain(compiled).recompiles)
    same(compiled(tx.ones(2)), tx.full((2,), 3.0))


def test_the_number_of_graphs_is_bounded():
    f = tx.compile(lambda x, text: x + len(text))
    for n in range(compile_cache.LIMIT + 5):
        same(f(tx.zeros(2), "a" * n), tx.full((2,), float(n)))
    assert graphs(f) == compile_cache.LIMIT
    assert "has 32 graphs" in tx.explain(f).given_up
    same(f(tx.zeros(2), "a"), tx.ones(2))  # those it has still serve


def test_what_was_refused_is_not_tried_again(monkeypatch):
    tries = []
    capture = compile_cache.capture_call
    monkeypatch.setattr(
        compile_cache, "capture_call", lambda *a, **k: tries.append(1) or capture(*a, **k)
    )

    @tx.compile
    def f(x, n):
        time.time()
        return x + n

    for n in range(10):
        for _ in range(3):
            same(f(tx.zeros(2), n), tx.full((2,), float(n)))
    assert (
        len(tries) == 2 * compile_cache.PATIENCE + 1
    )  # with open sizes, then with these; once with any n
    assert "met the same cause" in tx.explain(f).given_up


def test_fullgraph_says_why_not():
    @tx.compile(fullgraph=True)
    def f(x):
        time.time()
        return x

    with pytest.raises(
        tx.errors.CaptureError,
        match=r"^compile: f cannot be captured: a call of time: it is not known what it does; call it outside of what "
        r"is captured \(test_compile.py:\d+\)$",
    ):
        f(tx.ones(2))


def test_modes_turn_it_off():
    f = tx.compile(lambda x: x + 1)
    tx.set_mode("eager")
    try:
        f(tx.ones(2))
    finally:
        tx.set_mode("graph")
    assert not f.graphs
    f(tx.ones(2))
    assert len(f.graphs) == 1


# ---- what a call does


def test_errors_are_those_of_the_function_with_all_that_came_before(capsys):
    seen = []

    @tx.compile
    def f(x):
        print("sum", x.sum())
        seen.append(1)
        x.mul_(2)
        if x.sum() < 0:
            raise ValueError(f"negative: {x.sum()}")
        print("end")
        return x + 1

    same(f(tx.ones(2)), tx.full((2,), 3.0))
    x = -tx.ones(2)
    with pytest.raises(ValueError, match=r"^negative: -4\.0\n"):
        f(x)
    assert seen == [1, 1]
    same(x, tx.full((2,), -2.0))
    assert capsys.readouterr().out == "sum tensor(2.)\nend\nsum tensor(-2.)\n"


def test_a_step_that_fails_leaves_the_model_as_it_was():
    tx.manual_seed(1)
    model = tx.nn.Sequential(tx.nn.Linear(6, 8), tx.nn.ReLU(), tx.nn.Linear(8, 3))
    optimizer = tx.optim.Adam(model.parameters(), 0.1)

    @tx.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = tx.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if loss > 100:
            raise ValueError("diverged")
        return loss.detach()

    x, y = tx.randn(4, 6), tx.tensor([0, 1, 2, 0])
    for _ in range(4):
        step(x, y)
    before = [p.detach().clone() for p in model.parameters()]
    with pytest.raises(IndexError):
        step(x, tx.tensor([0, 1, 3, 0]))
    for p, old in zip(model.parameters(), before, strict=True):
        same(p.detach(), old)
    twin = copy.deepcopy(model)
    with pytest.raises(ValueError, match="diverged"):  # after the update, which happened once
        step(x * 1e4, tx.tensor([1, 2, 0, 1]))
    loss = tx.nn.functional.cross_entropy(twin(x * 1e4), tx.tensor([1, 2, 0, 1]))
    assert loss > 100
    for p, old in zip(model.parameters(), before, strict=True):
        assert not tx.equal(p, old)
        assert (p - old).abs().max() < 0.5
    assert len(step.graphs) == 1


def test_random_numbers_are_those_of_eager():
    def f(x):
        return x + tx.rand(3) if x.sum() > 0 else tx.randn(3)

    compiled = tx.compile(f)
    for x in (tx.ones(3), -tx.ones(3), tx.ones(3)):
        tx.manual_seed(5)
        want = f(x)
        after = tx.rand(1)
        tx.manual_seed(5)
        same(compiled(x), want)
        same(tx.rand(1), after)


def test_shared_memory_is_left_to_python():
    @tx.compile
    def f(x, y):
        x += 1
        return x * y

    base = tx.ones(4)
    same(f(base[:2], base[2:]), tx.full((2,), 2.0))
    base = tx.ones(4)
    same(f(base[:3], base[1:]), tx.tensor([4.0, 4.0, 2.0]))
    same(base, tx.tensor([2.0, 2.0, 2.0, 1.0]))


def test_gradients_of_gradients_inside_eager_code():
    f = tx.compile(lambda x, w: (x * w).tanh().sum())
    x, w = tx.randn(3), tx.randn(3, requires_grad=True)

    def second(g):
        (first,) = tx.autograd.grad(g(x, w * 2), w, create_graph=True)
        return tx.autograd.grad((first * first).sum(), w)[0]

    np.testing.assert_allclose(
        second(f).numpy(), second(lambda x, w: (x * w).tanh().sum()).numpy(), rtol=1e-5
    )


def test_compiled_functions_inside_of_compiled_ones_are_one_graph():
    inner = tx.compile(lambda x: x * 2)
    outer = tx.compile(lambda x: inner(x) + inner(x + 1), fullgraph=True)
    same(outer(tx.ones(2)), tx.full((2,), 6.0))
    assert (len(outer.graphs), len(inner.graphs)) == (1, 0)
    layer = tx.compile(tx.nn.Linear(2, 2))
    net = tx.compile(tx.nn.Sequential(layer, tx.nn.ReLU()), fullgraph=True)
    assert net(tx.ones(3, 2)).shape == (3, 2)


def test_threads_may_be_the_first_to_call():
    net = tx.compile(tx.nn.Sequential(tx.nn.Linear(4, 8), tx.nn.Tanh(), tx.nn.Linear(8, 2)))
    x = tx.randn(6, 4)
    found, ready = [], threading.Barrier(4)

    def work():
        ready.wait()
        for _ in range(20):
            found.append(net(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (len(found), graphs(net)) == (80, 1)
    for y in found:
        same(y, found[0])


# ---- backends


@pytest.mark.parametrize("backend", ["native", "reference", "eager", "of the test"])
def test_backends_give_the_same(backend):
    seen = []

    def own(graph):
        seen.append(graph)
        return Interpreter(graph, "eager").run_all

    tx.register_backend("of the test", own)
    state = tx.zeros(3)

    @tx.compile(backend=backend)
    def f(x, w):
        state.add_(x.detach())
        return (x * w).exp().sum(), x + w

    x, w = tx.ones(3), tx.full((3,), 0.5, requires_grad=True)
    for i in range(2):
        total, moved = f(x, w)
        total.backward()
        np.testing.assert_allclose(total.item(), 3 * np.exp(0.5), rtol=1e-6)
        same(moved, tx.full((3,), 1.5))
        np.testing.assert_allclose(w.grad.numpy(), (i + 1) * np.exp(0.5), rtol=1e-6)
        same(state, tx.full((3,), i + 1.0))
    assert bool(seen) == (backend == "of the test")


def test_a_backend_that_gives_nonsense_is_told_so():
    f = tx.compile(lambda x: x + 1, backend=lambda graph: lambda *tensors: [])
    with pytest.raises(tx.errors.ArgumentError, match=r"gave 0 results for graph .*, which has 1"):
        f(tx.ones(2))


def test_a_whole_graph_raises_what_the_function_raises():
    """The error is the function's own, with the sizes of the call, and what came before it has happened."""
    seen = []

    @tx.compile(fullgraph=True)
    def f(x):
        seen.append("called")
        return x @ x

    with pytest.raises(tx.errors.ShapeError, match=r"input is f32\[2,3\]"):
        f(tx.ones(2, 3))
    assert seen == ["called"]
    same(f(tx.ones(2, 2)), tx.full((2, 2), 2.0))
