"""tx.compile where people put it: on modules, methods and callables of all kinds, and on what they do with them."""

import asyncio
import copy
import functools
import gc
import inspect
import pickle
import sys
import weakref

import pytest

import thixo as tx
from thixo.capture import sized

X = tx.ones(3, 2)


class Net(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = tx.nn.Linear(2, 2)
        self.register_buffer("count", tx.zeros(()))
        self.calls = 0

    def forward(self, x, double=True):
        self.count.add_(1)
        self.calls += 1
        y = self.layer(x)
        return y * 2 if double and y.sum() > 0 else y


class Scale:
    by = 2.0

    @tx.compile
    def method(self, x):
        return x * self.by

    @staticmethod
    @tx.compile
    def static(x):
        return x * 3

    @classmethod
    @tx.compile
    def of_class(cls, x):
        return x * cls.by

    def __call__(self, x):
        return x * 5


def first(x):
    return x.flatten()[0].item()


# ---- modules


def _gradients_within(budget, monkeypatch):
    """Of a step that is compiled: the loss, the gradients, and the peak of what it plans to use."""
    optimized, seen = sized.optimized, []
    monkeypatch.setattr(
        sized,
        "optimized",
        lambda *args, **options: seen.append(optimized(*args, **options)) or seen[-1],
    )
    tx.manual_seed(0)
    layers = [part for _ in range(12) for part in (tx.nn.Linear(32, 32), tx.nn.GELU())]
    net, x = tx.nn.Sequential(*layers), tx.randn(256, 32)

    @tx.compile(fullgraph=True, budget=budget)
    def step(x):
        loss = (net(x) ** 2).mean()
        loss.backward()
        return loss.detach()

    loss = step(x)
    monkeypatch.undo()
    return loss.item(), [p.grad for p in net.parameters()], seen[-1].plan().peak


@pytest.mark.parametrize("budget", [0.3, 300_000])
def test_a_budget_takes_less_memory_and_changes_no_result(budget, monkeypatch):
    loss, gradients, peak = _gradients_within(None, monkeypatch)
    found, others, less = _gradients_within(budget, monkeypatch)
    assert found == loss
    assert all(bool((a == b).all()) for a, b in zip(gradients, others, strict=True))
    # A part is one of what is needed before operators are joined.
    assert less <= (budget if isinstance(budget, int) else peak / 2)


@pytest.mark.parametrize("budget", [0, -1, True, "little"])
def test_a_budget_is_a_number_above_zero(budget):
    with pytest.raises(tx.errors.ArgumentError, match="compile: budget must be bytes of memory"):
        tx.compile(lambda x: x, budget=budget)


def test_a_module_keeps_its_state_and_its_names():
    net = Net()
    called = tx.compile(net)
    found = called(X)
    assert found.tolist() == copy.deepcopy(net)(X).tolist()
    assert (net.calls, net.count.item()) == (1, 1.0)
    assert list(called.state_dict()) == list(net.state_dict())
    assert len(list(called.parameters())) == 2


def test_a_copy_of_a_compiled_module_has_its_own_weights():
    one = tx.compile(Net())
    one(X)
    other = copy.deepcopy(one)
    with tx.no_grad():
        for p in other.parameters():
            p.zero_()
    assert other(X).abs().sum().item() == 0
    assert one(X).abs().sum().item() > 0


def test_weights_that_are_loaded_or_converted_are_used():
    net = Net()
    called = tx.compile(net)
    called(X)
    net.load_state_dict({n: tx.zeros_like(v) for n, v in net.state_dict().items()})
    assert called(X).abs().sum().item() == 0
    net.double()
    assert called(X.double()).dtype is tx.float64


def test_training_and_evaluation_differ():
    called = tx.compile(tx.nn.Dropout(0.5))
    called.eval()
    assert called(X).tolist() == X.tolist()
    called.train()
    assert called(tx.ones(100)).unique().tolist() == [0.0, 2.0]


def test_a_compiled_module_is_pickled():
    called = tx.compile(tx.nn.Linear(2, 2))
    again = pickle.loads(pickle.dumps(called))
    assert again(X).tolist() == called(X).tolist()


# ---- callables


def test_methods_of_all_kinds():
    one, other = Scale(), Scale()
    other.by = 7.0
    assert first(one.method(X)) == 2.0
    assert first(other.method(X)) == 7.0
    assert first(Scale.method(one, X)) == 2.0
    assert first(Scale.static(X)) == first(one.static(X)) == 3.0
    assert first(one.of_class(X)) == 2.0
    assert first(tx.compile(one)(X)) == 5.0


def test_a_partial_an_operator_and_a_function_of_a_string():
    scope = {}
    exec("def f(x):\n    return x * 2 if x.sum() > 0 else -x", scope)
    assert first(tx.compile(functools.partial(lambda x, by: x * by, by=4.0))(X)) == 4.0
    assert first(tx.compile(tx.neg)(X)) == -1.0
    called = tx.compile(scope["f"])
    assert (first(called(X)), first(called(-X))) == (2.0, 1.0)


def test_a_generator_and_a_coroutine():
    def parts(x):
        for i in range(3):
            yield x * i

    async def doubled(x):
        return x * 2

    assert [first(p) for p in tx.compile(parts)(X)] == [0.0, 1.0, 2.0]
    assert first(asyncio.run(tx.compile(doubled)(X))) == 2.0


def test_it_looks_like_the_function():
    def f(x: int, y=2):
        """Text."""
        return x

    called = tx.compile(f)
    assert (called.__name__, called.__doc__, called.__wrapped__) == ("f", "Text.", f)
    assert inspect.signature(called) == inspect.signature(f)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        called()


# ---- memory


def used_and_forgotten():
    net, given = Net(), tx.ones(1000)
    tx.compile(lambda x: net(x))(X)
    tx.compile(net)(X)
    tx.compile(lambda x: x * 2)(given)
    return weakref.ref(net), weakref.ref(given)


def test_what_is_no_longer_used_is_freed():
    gone = used_and_forgotten()
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_results_are_the_callers():
    called = tx.compile(lambda x: x * 2)
    one = called(tx.ones(3))
    called(tx.zeros(3))
    assert one.tolist() == [2.0, 2.0, 2.0]


def test_views_and_the_argument_itself_are_returned_as_such():
    x = tx.ones(3)
    same, tail = tx.compile(lambda x: (x, x[1:]))(x)
    assert same is x
    tail.add_(1)
    assert x.tolist() == [1.0, 2.0, 2.0]


def test_writes_reach_the_whole_of_a_view_and_all_that_share_it():
    x = tx.ones(4)
    tx.compile(lambda v: v.mul_(3))(x[1:3])
    assert x.tolist() == [1.0, 3.0, 3.0, 1.0]
    called = tx.compile(lambda a, b: (a.add_(1), b * 2)[1])
    y = tx.ones(2)
    assert called(y, tx.ones(2)).tolist() == [2.0, 2.0]
    assert called(y, y).tolist() == [6.0, 6.0]
    assert called(y, y[:]).tolist() == [8.0, 8.0]


# ---- kinds of tensors, and the tape


def test_tensors_of_all_kinds():
    def f(x):
        return (x * 2).sum(0) if x.ndim else x * 2

    called = tx.compile(f)
    kinds = [tx.int64, tx.bool, tx.complex64, tx.bfloat16]
    given = [tx.ones(2, 3, dtype=kind) for kind in kinds]
    given += [tx.ones(4, 6).t(), tx.tensor(3.0), tx.ones(0, 3), tx.ones(1, 1)]
    for x in given:
        assert called(x).tolist() == f(x).tolist()
        assert called(x).dtype is f(x).dtype


def test_gradients_follow_the_mode_of_the_call():
    w = tx.ones(2, requires_grad=True)
    called = tx.compile(lambda x: x * w)
    with tx.no_grad():
        assert not called(tx.ones(2)).requires_grad
    with tx.inference_mode():
        assert not called(tx.ones(2)).requires_grad
    assert called(tx.ones(2)).requires_grad


def test_the_tape_is_used_twice_and_differentiated_twice():
    x = tx.tensor([2.0], requires_grad=True)
    y = tx.compile(lambda x: (x**3).sum())(x)
    (slope,) = tx.autograd.grad(y, [x], create_graph=True)
    (bend,) = tx.autograd.grad(slope.sum(), [x])
    assert (slope.item(), bend.item()) == (12.0, 12.0)
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24.0


def test_a_value_that_the_tape_needs_is_missed():
    w, x = tx.ones(2, requires_grad=True), tx.ones(2)
    y = tx.compile(lambda x: (x * w).sum())(x)
    x.add_(5)
    with pytest.raises(RuntimeError):
        y.backward()


# ---- what leaves it


def test_it_ends_the_program_where_python_would():
    def f(x):
        if x.sum() > 0:
            sys.exit(3)
        return x

    called = tx.compile(f)
    called(-X)
    with pytest.raises(SystemExit) as end:
        called(X)
    assert end.value.code == 3


def test_an_interrupt_goes_through():
    def f(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tx.compile(f)(X)
