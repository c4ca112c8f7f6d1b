"""Containers: what they hold, in which order, and what they refuse."""

from collections import OrderedDict

import pytest

import thixo as tx
from thixo import nn
from thixo.errors import IndexOutOfRange


def test_sequential_runs_in_order():
    net = nn.Sequential(OrderedDict(twice=nn.Linear(1, 1), act=nn.ReLU()))
    net.twice.weight.data.fill_(2)
    net.twice.bias.data.fill_(-1)
    assert net(tx.tensor([[3.0]])).item() == 5
    assert list(net._modules) == ["twice", "act"]
    assert net[0] is net.twice
    assert isinstance(net[-1], nn.ReLU)


def test_sequential_is_a_list():
    a, b, c = nn.Identity(), nn.ReLU(), nn.Tanh()
    net = nn.Sequential(a, b)
    net.append(c)
    net.insert(0, c)
    assert list(net) == [c, a, b, c]
    assert list(net[1:3]) == [a, b]
    assert isinstance(net[1:3], nn.Sequential)
    del net[0]
    assert list(net._modules) == ["0", "1", "2"]
    net[0] = b
    assert net[0] is b
    assert net.pop(0) is b
    assert b in net
    assert len(net + nn.Sequential(a)) == 3
    assert len(net * 2) == 4
    with pytest.raises(IndexOutOfRange, match="index 5 is out of range for 2"):
        net[5]
    with pytest.raises(TypeError, match="a Module or None"):
        net.append(3)


def test_module_list():
    layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(2)])
    layers += [nn.Linear(1, 1)]
    layers.extend([nn.ReLU()])
    assert len(layers) == 4
    assert len(list(layers.parameters())) == 6
    assert [n for n, _ in layers.named_parameters()][-1] == "2.bias"
    assert isinstance(layers[:2], nn.ModuleList)
    with pytest.raises(NotImplementedError):
        layers(1)
    assert repr(layers) == (
        "ModuleList(\n"
        "  (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n"
        "  (3): ReLU()\n"
        ")"
    )


def test_module_dict():
    layers = nn.ModuleDict({"a": nn.Linear(1, 1)})
    layers["b"] = nn.ReLU()
    layers.update([("c", nn.Tanh())])
    assert list(layers.keys()) == ["a", "b", "c"]
    assert "b" in layers
    assert isinstance(layers.pop("b"), nn.ReLU)
    assert len(layers) == 2
    del layers["c"]
    assert [n for n, _ in layers.named_parameters()] == ["a.weight", "a.bias"]
    layers.clear()
    assert not list(layers.values())


def test_parameter_list():
    values = nn.ParameterList([tx.ones(2), nn.Parameter(tx.zeros(1))])
    values.append(tx.ones(3))
    values += [tx.ones(4)]
    assert len(values) == 4
    assert all(isinstance(v, nn.Parameter) for v in values)
    assert [n for n, _ in values.named_parameters()] == ["0", "1", "2", "3"]
    assert len(values[1:3]) == 2
    values[0] = tx.zeros(5)
    assert values[0].shape == (5,)
    assert values[-1].shape == (4,)
    with pytest.raises(TypeError, match="a list of values"):
        values.extend(tx.ones(1))


def test_parameter_dict():
    values = nn.ParameterDict({"a": tx.ones(2)})
    values["b"] = tx.zeros(1)
    assert [n for n, _ in values.named_parameters()] == ["a", "b"]
    assert values.get("c") is None
    assert values.setdefault("c", tx.ones(1)).item() == 1
    assert values.pop("a").shape == (2,)
    assert sorted(values) == ["b", "c"]
    assert sorted(values | {"d": tx.ones(1)}) == ["b", "c", "d"]
    del values["b"]
    assert next(iter(values.items()))[0] == "c"
    with pytest.raises(KeyError):
        values["nothing"]
