"""Module: what it registers, lists, saves, loads, moves, copies and prints, and what it refuses."""

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import thixo as tx
from thixo import nn
from thixo.errors import ArgumentError, DTypeError, SerializationError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 2, bias=False)
        self.scale = nn.Parameter(tx.ones(1))
        self.register_buffer("seen", tx.zeros(1))
        self.register_buffer("scratch", tx.zeros(2), persistent=False)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).relu()) * self.scale


KEYS = [
    "scale", "seen", "first.weight", "first.bias", "norm.weight", "norm.bias",
    "norm.running_mean", "norm.running_var", "norm.num_batches_tracked", "last.weight",
]  # fmt: skip


# ---- members


def test_members_are_listed_by_dotted_names():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "scale", "first.weight", "first.bias", "norm.weight", "norm.bias", "last.weight",
    ]  # fmt: skip
    assert [n for n, _ in net.named_buffers()] == [
        "seen", "scratch", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked",
    ]  # fmt: skip
    assert [n for n, _ in net.named_modules()] == ["", "first", "norm", "last"]
    assert [n for n, _ in net.named_children()] == ["first", "norm", "last"]
    assert list(net.parameters(recurse=False)) == [net.scale]


def test_shared_members_are_listed_once():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    assert len(list(net.named_parameters(remove_duplicate=False))) == 4
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_lookup_by_dotted_name():
    net = Net()
    assert net.get_submodule("first") is net.first
    assert net.get_submodule("") is net
    assert net.get_parameter("first.weight") is net.first.weight
    assert net.get_buffer("norm.running_mean") is net.norm.running_mean
    net.set_submodule("first", nn.Identity())
    assert isinstance(net.first, nn.Identity)
    with pytest.raises(AttributeError, match="no module 'nothing'"):
        net.get_submodule("nothing.weight")
    with pytest.raises(AttributeError, match="no parameter"):
        net.get_parameter("last.bias")


def test_assignment_replaces_and_refuses():
    net = Net()
    net.scale = nn.Parameter(tx.zeros(1))
    assert net.scale.item() == 0
    net.scale = None
    assert "scale" not in dict(net.named_parameters())
    with pytest.raises(TypeError, match="parameter 'scale'; it must be a Parameter or None"):
        net.scale = tx.ones(1)
    with pytest.raises(TypeError, match="module 'first'"):
        net.first = 3
    with pytest.raises(TypeError, match="buffer 'seen'"):
        net.seen = "all"
    net.seen = tx.ones(1)
    assert net._buffers["seen"].item() == 1
    net.first = nn.Identity()
    del net.first
    assert not hasattr(net, "first")


def test_plain_attributes_stay_plain():
    net = Net()
    net.width = 3
    net.table = tx.ones(2)
    assert net.width == 3
    assert "table" not in dict(net.named_buffers())
    net.width = nn.Parameter(tx.ones(1))
    assert "width" in dict(net.named_parameters())
    assert "width" not in vars(net)


def test_members_before_init_are_refused():
    class Hasty(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"call super\(\).__init__\(\) first"):
        Hasty()

    class Forgetful(nn.Module):
        def __init__(self):
            self.width = 3

    assert Forgetful().width == 3
    with pytest.raises(AttributeError, match="first"):
        _ = Forgetful().weight


def test_names_are_checked():
    net = nn.Module()
    with pytest.raises(ArgumentError, match="without dots"):
        net.register_parameter("a.b", nn.Parameter(tx.ones(1)))
    with pytest.raises(ArgumentError, match="without dots"):
        net.register_buffer("", tx.ones(1))
    with pytest.raises(KeyError, match="already has an attribute 'forward'"):
        net.add_module("forward", nn.Identity())
    with pytest.raises(TypeError, match="a Parameter or None"):
        net.register_parameter("p", tx.ones(1))


def test_missing_attribute_and_forward():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        _ = Net().nothing
    with pytest.raises(NotImplementedError, match="has no forward"):
        nn.Module()(1)
    assert "first" in dir(Net())


def test_buffers_that_are_assigned():
    class Kept(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(tx.ones(1))
            self.passing = nn.Buffer(tx.ones(1), persistent=False)

    assert [n for n, _ in Kept().named_buffers()] == ["kept", "passing"]
    assert list(Kept().state_dict()) == ["kept"]


# ---- modes


def test_train_and_eval_reach_all():
    net = Net().eval()
    assert not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())
    with pytest.raises(ArgumentError, match="True or False"):
        net.train("yes")


def test_apply_goes_from_the_leaves_up():
    seen = []
    Net().apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "BatchNorm1d", "Linear", "Net"]


def test_gradients_are_forgotten_or_zeroed():
    net = Net()
    net(tx.randn(5, 3)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(p.grad.abs().sum().item() == 0 for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not net(tx.randn(5, 3)).requires_grad


def test_conversion_keeps_whole_numbers_and_identity():
    net = Net()
    weight = net.first.weight
    net(tx.randn(5, 3)).sum().backward()
    net.double()
    assert net.first.weight is weight
    assert weight.dtype is tx.float64
    assert weight.grad.dtype is tx.float64
    assert net.norm.running_mean.dtype is tx.float64
    assert net.norm.num_batches_tracked.dtype is tx.int64
    assert net.to(tx.float16).first.bias.dtype is tx.float16
    assert net.bfloat16().scale.dtype is tx.bfloat16
    assert net.float().cpu().to("cpu", tx.float32).scale.dtype is tx.float32
    assert net.to(tx.ones(1, dtype=tx.float64)).scale.dtype is tx.float64
    with pytest.raises(DTypeError, match="floating-point or complex"):
        net.to(tx.int64)
    with pytest.raises(ArgumentError, match="unknown argument 'kind'"):
        net.to(kind=3)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(tx.errors.DeviceError):
        Net().cuda()


# ---- state


def test_state_dict_lists_what_is_kept():
    net = Net()
    state = net.state_dict()
    assert isinstance(state, OrderedDict)
    assert list(state) == KEYS
    assert not any(t.requires_grad for t in state.values())
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert next(iter(net.state_dict(prefix="net."))) == "net.scale"
    net.scale.data.fill_(7)
    assert state["scale"].item() == 7  # the same memory


def test_loading_copies_values_in():
    a, b = Net(), Net()
    a(tx.randn(5, 3))
    weight = b.first.weight
    assert str(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert b.first.weight is weight
    for name, value in a.state_dict().items():
        assert np.array_equal(value.numpy(), b.state_dict()[name].numpy())
    a.first.weight.data.fill_(0)
    assert b.first.weight.abs().sum().item() > 0


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    net = Net()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    state = Net().state_dict()
    del state["scale"]
    state["more"] = tx.ones(1)
    state["first.weight"] = tx.ones(2, 2)
    state["last.weight"] = "text"
    with pytest.raises(SerializationError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    for words in (
        "does not fit Net", "unexpected keys: 'more'", "missing keys: 'scale'",
        "first.weight: size mismatch: the state has f32[2,2], f32[4,3] is needed",
        "last.weight: a Tensor is needed",
    ):  # fmt: skip
        assert words in text
    for name, value in net.state_dict().items():
        assert np.array_equal(value.numpy(), before[name].numpy())


def test_missing_keys_are_reported_when_not_strict():
    state = Net().state_dict()
    del state["scale"]
    state["more"] = tx.ones(1)
    state["first.more"] = tx.ones(1)
    result = Net().load_state_dict(state, strict=False)
    assert result.missing_keys == ["scale"]
    assert result.unexpected_keys == ["more", "first.more"]
    with pytest.raises(ArgumentError, match="a dictionary is needed"):
        Net().load_state_dict([1])


def test_loading_by_assignment():
    net = Net()
    state = {k: v.clone() for k, v in Net().state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert isinstance(net.first.weight, nn.Parameter)
    net.first.weight.data.fill_(5)
    assert state["first.weight"].numpy().max() == 5


def test_extra_state_travels_along():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    a, b = Counting(), Counting()
    a.count = 3
    assert list(a.state_dict()) == ["_extra_state"]
    b.load_state_dict(a.state_dict())
    assert b.count == 3


def test_hooks_around_the_state():
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(more=tx.ones(1)))
    assert list(net.state_dict()) == ["weight", "bias", "more"]

    def rename(module, state, prefix, *rest):
        state[prefix + "weight"] = state.pop(prefix + "old_weight")

    other = nn.Linear(1, 1)
    other.register_load_state_dict_pre_hook(rename)
    other.load_state_dict({"old_weight": tx.ones(1, 1), "bias": tx.ones(1)})
    assert other.weight.item() == 1

    def forgive(module, keys):
        keys.missing_keys.clear()

    other.register_load_state_dict_post_hook(forgive)
    other.load_state_dict({"old_weight": tx.zeros(1, 1)})
    assert other.weight.item() == 0


def test_saved_files_hold_a_model(tmp_path):
    net, other = Net(), Net()
    tx.save(net.state_dict(), tmp_path / "net.safetensors")
    other.load_state_dict(tx.load(tmp_path / "net.safetensors"))
    x = tx.randn(5, 3)
    net.eval(), other.eval()
    assert np.array_equal(net(x).detach().numpy(), other(x).detach().numpy())


# ---- hooks


def test_forward_hooks_see_and_change():
    layer = nn.Linear(2, 2)
    seen = []

    def before(module, args):
        seen.append("before")
        return (args[0] * 0,)

    def after(module, args, output):
        seen.append("after")
        return output + 1

    handles = [layer.register_forward_pre_hook(before), layer.register_forward_hook(after)]
    y = layer(tx.ones(2))
    np.testing.assert_allclose(y.detach().numpy(), layer.bias.detach().numpy() + 1, rtol=1e-6)
    assert seen == ["before", "after"]
    for handle in handles:
        handle.remove()
    layer(tx.ones(2))
    assert len(seen) == 2


def test_forward_hooks_with_keywords_and_order():
    class Scaled(nn.Module):
        def forward(self, x, factor=1.0):
            return x * factor

    layer, seen = Scaled(), []
    layer.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"factor": kwargs["factor"] * 2}), with_kwargs=True
    )
    layer.register_forward_hook(lambda m, a, k, y: seen.append(k["factor"]), with_kwargs=True)
    layer.register_forward_hook(lambda m, a, y: seen.append("first"), prepend=True)
    assert layer(tx.ones(1), factor=3.0).item() == 6
    assert seen == ["first", 6.0]


def test_forward_hook_that_is_always_called():
    class Broken(nn.Module):
        def forward(self, x):
            raise KeyError("broken")

    layer, seen = Broken(), []
    layer.register_forward_hook(lambda m, a, y: seen.append(y), always_call=True)
    with pytest.raises(KeyError):
        layer(1)
    assert seen == [None]


def test_backward_hooks_see_and_change_gradients():
    layer = nn.Linear(2, 3)
    seen = {}

    def hook(module, grad_input, grad_output):
        seen["input"], seen["output"] = grad_input[0].clone(), grad_output[0].clone()
        return (grad_input[0] * 10,)

    layer.register_full_backward_hook(hook)
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    x = tx.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    np.testing.assert_allclose(seen["output"].numpy(), np.full((1, 3), 2.0))
    plain = layer.weight.detach().numpy().sum(0) * 2
    np.testing.assert_allclose(seen["input"].numpy()[0], plain, rtol=1e-5)
    np.testing.assert_allclose(x.grad.numpy()[0], plain * 10, rtol=1e-5)


def test_backward_hook_without_input_gradients():
    layer, seen = nn.Linear(2, 3), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].shape)))
    layer(tx.ones(1, 2)).sum().backward()
    assert seen == [((None,), (1, 3))]


def test_hooks_must_be_functions():
    with pytest.raises(ArgumentError, match="must be a function"):
        nn.Identity().register_forward_hook(3)


# ---- copies and text


def test_deepcopy_and_pickle_are_independent():
    net = Net()
    net(tx.randn(5, 3))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(other.state_dict()) == KEYS
        assert isinstance(other.first.weight, nn.Parameter)
        assert other.first.weight.requires_grad
        other.first.weight.data.fill_(0)
        assert net.first.weight.abs().sum().item() > 0
        assert not other.norm.training or other(tx.randn(5, 3)).shape == (5, 2)


def test_deepcopy_keeps_sharing():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    other = copy.deepcopy(net)
    assert other[0].weight is other[1].weight
    assert other[0].weight is not net[0].weight


def test_printing():
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)"
    )
    assert repr(nn.Module()) == "Module()"


def test_parameter():
    p = nn.Parameter(tx.ones(2))
    assert isinstance(p, tx.Tensor)
    assert p.is_leaf
    assert repr(p).startswith("Parameter containing:\ntensor([1., 1.]")
    assert not nn.Parameter(tx.ones(2), requires_grad=False).requires_grad
    assert not isinstance(p * 2, nn.Parameter)
    with pytest.raises(ArgumentError, match="a Tensor is needed"):
        nn.Parameter([1.0])
