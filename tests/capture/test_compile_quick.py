"""Calls of compiled functions without Python: when they are, and that every change is seen."""

import gc
import weakref

import numpy as np
import pytest

import thixo as tx

FACTOR = 2.0


def same(a, b):
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def native_calls(f) -> int:
    compiled = getattr(f, "_compiled_function", f)
    return sum(compiled._calls(entry) for entry in compiled._graphs.entries)


def warm(f, *args):
    """Call it until the core serves it alone."""
    for _ in range(3):
        f(*args)
    before = native_calls(f)
    result = f(*args)
    assert native_calls(f) == before + 1
    return result


def test_globals_closures_and_defaults_are_seen():
    global FACTOR
    offset = 1.0

    def plus(x):
        return x + offset

    def f(x, scale=3.0):
        return plus(x) * FACTOR * scale

    compiled = tx.compile(f)
    same(warm(compiled, tx.ones(2)), tx.full((2,), 12.0))
    offset = 2.0
    same(compiled(tx.ones(2)), tx.full((2,), 18.0))
    FACTOR = 1.0
    try:
        same(compiled(tx.ones(2)), tx.full((2,), 9.0))
    finally:
        FACTOR = 2.0
    f.__defaults__ = (1.0,)
    same(compiled(tx.ones(2)), tx.full((2,), 6.0))
    plus.__code__ = (lambda x: x - offset).__code__
    same(compiled(tx.ones(2)), tx.full((2,), -2.0))


def test_other_globals_may_change():
    scope = globals()
    compiled = tx.compile(lambda x: x * FACTOR)
    x = tx.ones(2)
    warm(compiled, x)
    before = native_calls(compiled)
    try:
        for i in range(5):
            scope["_unrelated"] = i
            compiled(x)
    finally:
        del scope["_unrelated"]
    assert native_calls(compiled) == before + 5


class Scaled(tx.nn.Module):
    """A layer with what layers have."""

    unit = 1.0

    def __init__(self):
        super().__init__()
        self.linear = tx.nn.Linear(2, 2)
        self.scale = 2.0
        self.steps = [1.0, 2.0]
        self.table = {"a": 1.0}

    def forward(self, x):
        y = self.linear(x) * self.scale * self.unit * self.table["a"]
        for s in self.steps:
            y = y + s
        return y if self.training else -y


def _set_scale(m):
    m.scale = 3.0


def _set_parameter(m):
    m.linear.weight = tx.nn.Parameter(tx.ones(2, 2))


def _set_module(m):
    m.linear = tx.nn.Linear(2, 2)


def _write_parameter(m):
    with tx.no_grad():
        m.linear.bias.add_(1)


def _grow(m):
    m.steps.append(5.0)


def _exchange(m):
    m.steps[0] = 4.0


def _set_entry(m):
    m.table["a"] = 2.0


def _evaluate(m):
    m.eval()


def _set_on_class(m):
    Scaled.unit = 5.0


def _hide_class(m):
    m.unit = 7.0


def _own_forward(m):
    bias = m.linear.bias
    m.linear.forward = lambda x: x * 9 + bias


def _hook(m):
    m.linear.register_forward_hook(lambda m, i, o: o * 10)


def _freeze(m):
    m.linear.weight.requires_grad_(False)


@pytest.mark.parametrize(
    "change",
    [
        _set_scale, _set_parameter, _set_module, _write_parameter, _grow, _exchange, _set_entry, _evaluate, _set_on_class,
        _hide_class, _own_forward, _hook, _freeze,
    ],
)  # fmt: skip
def test_changes_of_a_module_are_seen(change):
    net = Scaled()
    compiled = tx.compile(net)
    x = tx.randn(3, 2)
    same(warm(compiled, x), net(x))
    try:
        change(net)
        for _ in range(4):
            same(compiled(x), net(x))
        gradients = []
        for f in (compiled, net):
            net.zero_grad()
            f(x).sum().backward()
            gradients.append([p.grad for p in net.parameters()])
        for a, b in zip(*gradients, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    finally:
        Scaled.unit = 1.0


def test_gradients_of_any_order():
    def f(x, w, b):
        return (x * w + b).tanh().sum()

    compiled = tx.compile(f)
    x, w, b = tx.randn(4), tx.randn(4, requires_grad=True), tx.randn(4, requires_grad=True)
    for _ in range(4):
        w.grad = b.grad = None
        y = compiled(x, w, b)
        y.backward()
    assert native_calls(compiled)
    assert repr(y.grad_fn).startswith("<fBackward from test_compile_quick.py:")
    want = tx.autograd.grad(f(x, w, b), [w, b])
    same(w.grad, want[0])
    same(b.grad, want[1])
    with pytest.raises(tx.errors.AutogradError, match="was already freed"):
        y.backward()

    def second(g):
        (first,) = tx.autograd.grad(g(x, w, b), w, create_graph=True)
        return tx.autograd.grad((first * first).sum(), [w, b])

    for one, other in zip(second(compiled), second(f), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)
    kept = compiled(x, w, b)
    x.add_(1)
    with pytest.raises(tx.errors.InplaceError):
        kept.backward()


def test_some_results_without_gradients():
    compiled = tx.compile(lambda x, w: ((x * w).exp(), (x + w).sin(), x > 0))
    x, w = tx.randn(3), tx.randn(3, requires_grad=True)
    for _ in range(3):
        compiled(x, w)
    a, b, flag = compiled(x, w)
    assert native_calls(compiled)
    assert not flag.requires_grad
    same(tx.autograd.grad(a.sum(), w, retain_graph=True)[0], (x * w).exp() * x)
    same(tx.autograd.grad(b.sum(), w)[0], (x + w).cos())


def test_kinds_of_arguments_are_told_apart():
    compiled = tx.compile(lambda x, y, n: x * y + n)
    x, y = tx.ones(2), tx.full((2,), 3.0)
    same(warm(compiled, x, y, 1), tx.full((2,), 4.0))
    same(compiled(x, x, 1), tx.full((2,), 2.0))
    same(compiled(x, y, 2), tx.full((2,), 5.0))
    same(compiled(x, y, 1.0), tx.full((2,), 4.0))
    assert compiled(x, y, True).dtype == tx.float32
    same(compiled(tx.ones(3), tx.ones(3), 1), tx.full((3,), 2.0))
    assert compiled(x.double(), y.double(), 1).dtype == tx.float64
    assert compiled(x.requires_grad_(), y, 1).requires_grad
    with tx.no_grad():
        assert not compiled(x, y, 1).requires_grad
    same(compiled(x, y, n=1), tx.full((2,), 4.0))
    same(compiled(tx.ones(4)[::2], y, 1), tx.full((2,), 4.0))
    for dtype in (tx.float64, tx.float32):
        tx.set_default_dtype(dtype)
        assert compiled(tx.tensor([1, 2]), tx.tensor([1, 2]), 0.5).dtype == dtype


def test_errors_and_random_numbers_are_those_of_python():
    def f(x, i):
        return tx.rand(2) + x[i]

    compiled = tx.compile(f)
    x = tx.arange(3.0)
    warm(compiled, x, tx.tensor([0, 1]))
    for index in ([2, 0], [1, 7], [0, 0]):
        found = []
        for g in (compiled, f):
            tx.manual_seed(4)
            try:
                found.append(g(x, tx.tensor(index)).tolist())
            except IndexError as error:
                found.append(str(error).split(" (")[0])
            found.append(tx.rand(1).item())
        assert found[:2] == found[2:]


def test_state_is_written_and_attributes_change():
    class Counter:
        def __init__(self):
            self.total = tx.zeros(2)
            self.last = None

        @tx.compile
        def add(self, x):
            self.total += x
            self.last = x * 2
            return self.total.sum()

    one, other = Counter(), Counter()
    for i in range(1, 6):
        assert one.add(tx.ones(2)).item() == 2 * i
        same(one.last, tx.full((2,), 2.0))
    same(one.total, tx.full((2,), 5.0))
    assert other.add(tx.ones(2)).item() == 2
    assert native_calls(Counter.add)


def test_calls_that_change_what_they_depend_on_are_left_to_python():
    counts = {"calls": 0}

    def f(x, table):
        table.setdefault(len(table), x * 2)
        counts["calls"] += 1
        return x * counts["calls"]

    compiled = tx.compile(f)
    table: dict = {}
    for i in range(1, 6):
        same(compiled(tx.ones(2), table), tx.full((2,), float(i)))
        assert len(table) == i
    counter = tx.compile(lambda x: f(x, {}))
    for i in range(6, 10):
        same(counter(tx.ones(2)), tx.full((2,), float(i)))


def test_a_compiled_function_goes_with_its_last_reference():
    def make():
        net = tx.nn.Linear(2, 2)
        compiled = tx.compile(lambda x: net(x).sum())
        for _ in range(4):
            compiled(tx.ones(3, 2)).backward()
        assert native_calls(compiled)
        return weakref.ref(net), weakref.ref(compiled)

    found = make()
    gc.collect()
    assert [r() for r in found] == [None, None]
