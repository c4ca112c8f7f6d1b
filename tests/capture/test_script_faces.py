"""A scripted function is to its surroundings what it was made from: a method, a Module, something to copy."""

import copy
import inspect
import pickle

import pytest

import thixo as tx


class Scaled:
    def __init__(self, by):
        self.by = by

    @tx.jit.script
    def apply(self, x):
        """Scale x."""
        return x * self.by if x.sum() > 0 else x

    @tx.jit.script
    @staticmethod
    def doubled(x):
        return x * 2

    @tx.jit.script
    @classmethod
    def named(cls, x):
        return x * len(cls.__name__)

    def twice(self, x):
        return self.apply(self.apply(x))


class Net(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = tx.nn.Linear(2, 2)

    @tx.jit.script
    def forward(self, x):
        return self.inner(x).relu()


def tripled(x):
    """Three times."""
    return x * 3


@pytest.mark.parametrize("fallback", [False, True])
def test_a_method(fallback):
    class One:
        by = 3

        def apply(self, x):
            return x * self.by

    One.apply = tx.jit.script(One.apply, fallback=fallback)
    one, other = One(), One()
    other.by = 4
    x = tx.ones(2)
    assert [o.apply(x).tolist() for o in (one, other, one)] == [[3, 3], [4, 4], [3, 3]]
    assert One.apply(one, x).tolist() == [3, 3]


def test_methods_of_all_kinds():
    x = tx.ones(2)
    assert Scaled(3).apply(x).tolist() == [3, 3]
    assert Scaled(3).apply(-x).tolist() == [-1, -1]
    assert Scaled.doubled(x).tolist() == Scaled(3).doubled(x).tolist() == [2, 2]
    assert Scaled.named(x).tolist() == Scaled(3).named(x).tolist() == [6, 6]


def test_a_method_inside_of_what_is_captured():
    scaled = Scaled(3)
    for decorate in (tx.compile(fullgraph=True), tx.jit.script):
        assert decorate(lambda x: scaled.twice(x))(tx.ones(2)).tolist() == [9, 9]


def test_a_scripted_forward():
    net = Net()
    x = tx.ones(3, 2)
    expected = net.inner(x).relu()
    assert tx.allclose(net(x), expected)
    net(x).sum().backward()
    assert net.inner.weight.grad is not None


def test_a_module_in_a_class_is_no_method():
    class Holder:
        net = tx.jit.script(tx.nn.ReLU())

    assert Holder().net(-tx.ones(2)).tolist() == [0, 0]


def test_names():
    scripted = tx.jit.script(tripled)
    assert (scripted.__name__, scripted.__qualname__) == ("tripled", "tripled")
    assert (scripted.__module__, scripted.__doc__) == (tripled.__module__, "Three times.")
    assert list(inspect.signature(scripted).parameters) == ["x"]
    assert Scaled.apply.__qualname__ == "Scaled.apply"
    of_module = tx.jit.script(tx.nn.Linear(2, 2))
    assert (of_module.__name__, of_module.__qualname__) == ("Linear", "Linear")


def test_a_module_has_its_state():
    net = tx.nn.Sequential(tx.nn.Linear(2, 3), tx.nn.Dropout(0.5))
    scripted = tx.jit.script(net)
    assert list(scripted.state_dict()) == ["0.weight", "0.bias"]
    assert [n for n, _ in scripted.named_parameters()] == ["0.weight", "0.bias"]
    assert all(a is b for a, b in zip(scripted.parameters(), net.parameters(), strict=True))
    scripted.eval()
    assert not net.training
    assert scripted(tx.ones(1, 2)).tolist() == net(tx.ones(1, 2)).tolist()
    with pytest.raises(AttributeError):
        tx.jit.script(tripled).state_dict  # noqa: B018


@pytest.mark.parametrize("fallback", [False, True])
def test_copies_are_apart(fallback):
    net = tx.nn.Linear(2, 2)
    scripted = tx.jit.script(net, fallback=fallback)
    x = tx.ones(1, 2)
    before = scripted(x).tolist()
    made = copy.deepcopy(scripted)
    with tx.no_grad():
        net.weight.zero_()
    assert made(x).tolist() == before != scripted(x).tolist()
    assert copy.copy(scripted)(x).tolist() == scripted(x).tolist()
    assert pickle.loads(pickle.dumps(made))(x).tolist() == before


def test_compile_of_a_scripted_module():
    net = tx.nn.Linear(2, 2)
    x = tx.ones(1, 2)
    assert tx.allclose(tx.compile(tx.jit.script(net))(x), net(x))
