"""Whole training steps, named arguments, containers and numbers that the native core serves alone."""

import pytest

import thixo as tx
from thixo import nn, optim


def native_calls(f):
    return sum(f._calls(entry) for entry in f._graphs.entries)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)
        self.calls, self.scale = 0, 1.0

    def forward(self, x):
        self.calls += 1
        return self.last(tx.relu(self.first(x))) * self.scale


def pair(make_optimizer, zero_last=False):
    """Two equal models with their steps: eager, compiled."""

    def one():
        tx.manual_seed(0)
        net = Net()
        optimizer = make_optimizer(net.parameters())

        def step(x):
            if not zero_last:
                optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            if zero_last:
                optimizer.zero_grad()
            return loss.item()

        return net, optimizer, step

    eager, compiled = one(), one()
    return eager, (*compiled[:2], tx.compile(compiled[2]))


def same(eager, compiled, x, calls=1):
    for _ in range(calls):
        assert eager[2](x) == pytest.approx(compiled[2](x), rel=1e-4)
    assert eager[0].calls == compiled[0].calls
    for a, b in zip(eager[0].parameters(), compiled[0].parameters(), strict=True):
        assert tx.allclose(a, b, rtol=1e-4, atol=1e-6)
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert a.grad.shape == b.grad.shape
            assert tx.allclose(a.grad, b.grad, rtol=1e-3, atol=1e-6)
        one, other = eager[1].state.get(a, {}), compiled[1].state.get(b, {})
        assert list(one) == list(other)
        for key in one:
            assert one[key] is other[key] or tx.allclose(one[key], other[key], rtol=1e-3, atol=1e-6)


OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: optim.Adam(p, lr=0.01),
}


@pytest.mark.parametrize("zero_last", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_needs_no_python(name, zero_last):
    eager, compiled = pair(OPTIMIZERS[name], zero_last)
    x = tx.randn(5, 3)
    same(eager, compiled, x, 8)
    before = native_calls(compiled[2])
    same(eager, compiled, x, 4)
    assert native_calls(compiled[2]) == before + 4


def _set_rate(net, optimizer):
    optimizer.param_groups[0]["lr"] *= 0.5


def _set_option(net, optimizer):
    optimizer.param_groups[0]["weight_decay"] = 0.1


def _count_more(net, optimizer):
    optimizer.state[net.last.bias]["step"].add_(5)


def _replace_state(net, optimizer):
    state = optimizer.state[net.last.bias]
    state["exp_avg"] = tx.ones(2)


def _clear_state(net, optimizer):
    optimizer.state.clear()


def _freeze(net, optimizer):
    net.first.weight.requires_grad_(False)


def _replace_layer(net, optimizer):
    net.first = nn.Linear(3, 4)
    with tx.no_grad():
        net.first.weight.fill_(0.1)
        net.first.bias.fill_(0.2)


def _give_gradient(net, optimizer):
    net.last.bias.grad = tx.ones(2)


def _set_counter(net, optimizer):
    net.calls = 100


def _set_scale(net, optimizer):
    net.scale = 2.0


CHANGES = [
    _set_rate, _set_option, _count_more, _replace_state, _clear_state, _freeze, _replace_layer, _give_gradient,
    _set_counter, _set_scale,
]  # fmt: skip


@pytest.mark.parametrize("zero_last", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_between_steps_is_seen(change, zero_last):
    eager, compiled = pair(OPTIMIZERS["adam"], zero_last)
    x = tx.randn(5, 3)
    same(eager, compiled, x, 8)
    assert native_calls(compiled[2])
    for net, optimizer, _ in (eager, compiled):
        change(net, optimizer)
    same(eager, compiled, x, 4)


def test_another_rate_needs_no_python():
    eager, compiled = pair(OPTIMIZERS["adam"])
    x = tx.randn(5, 3)
    same(eager, compiled, x, 8)
    before = native_calls(compiled[2])
    for _ in range(3):
        for _, optimizer, _ in (eager, compiled):
            optimizer.param_groups[0]["lr"] *= 0.9
        same(eager, compiled, x)
    assert native_calls(compiled[2]) == before + 3


def test_named_arguments():
    @tx.compile
    def f(x, *, by, and_):
        return x * by + and_

    x, y = tx.ones(3), tx.ones(3)
    for _ in range(4):
        assert f(x, by=2.0, and_=y).tolist() == [3.0] * 3
    before = native_calls(f)
    assert f(x, by=2.0, and_=y * 2).tolist() == [4.0] * 3
    assert native_calls(f) == before + 1
    assert f(x, and_=y, by=3.0).tolist() == [4.0] * 3
    assert f(x, by=y, and_=2.0).tolist() == [3.0] * 3
    with pytest.raises(TypeError):
        f(x, by=2.0)


def test_containers_of_tensors():
    @tx.compile
    def f(batch, pair):
        return batch["x"] * 2 + batch["y"][0], pair[0] - pair[1]

    x, y = tx.ones(2), tx.full((2,), 3.0)
    for _ in range(4):
        f({"x": x, "y": [y]}, (x, y))
    before = native_calls(f)
    a, b = f({"x": y, "y": [x]}, (y, x))
    assert native_calls(f) == before + 1
    assert a.tolist() == [7.0] * 2
    assert b.tolist() == [2.0] * 2
    a, b = f({"y": [x], "x": y}, (x, x))  # another order, and one tensor twice
    assert a.tolist() == [7.0] * 2
    assert b.tolist() == [0.0] * 2
    a, b = f({"x": x, "y": (y, y)}, [x, y])
    assert a.tolist() == [5.0] * 2
    assert b.tolist() == [-2.0] * 2


def test_a_number_that_changes_at_each_call():
    f = tx.compile(lambda x, n: x * n)
    x = tx.ones(2)
    for i in range(8):
        assert f(x, float(i)).tolist() == [float(i)] * 2
    before = native_calls(f)
    for i in range(8, 12):
        assert f(x, float(i)).tolist() == [float(i)] * 2
    assert native_calls(f) == before + 4
    assert f(tx.ones(2, dtype=tx.int64), 3).dtype is tx.int64
    assert f(x, True).tolist() == [1.0] * 2
    assert f(x, 2**62).tolist() == pytest.approx([2.0**62] * 2)


def test_a_failure_leaves_what_was_written_before():
    table = nn.Embedding(4, 3)
    optimizer = optim.Adam(table.parameters(), lr=0.1)

    @tx.compile
    def step(places):
        optimizer.zero_grad()
        loss = table(places).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(5):
        step(tx.tensor([0, 1]))
    assert native_calls(step)
    weight, count = table.weight.tolist(), optimizer.state[table.weight]["step"].item()
    with pytest.raises(Exception, match=r"4|range|index"):
        step(tx.tensor([0, 9]))
    assert table.weight.tolist() == weight
    assert optimizer.state[table.weight]["step"].item() == count


def test_results_in_containers():
    @tx.compile
    def f(x):
        both = [x, x + 1]
        return {"loss": x.sum(), "parts": both, "mean": (x.mean().item(), None)}

    for i in range(5):
        found = f(tx.full((2,), float(i)))
    before = native_calls(f)
    x = tx.tensor([1.0, 3.0])
    found = f(x)
    assert native_calls(f) == before + 1
    assert list(found) == ["loss", "parts", "mean"]
    assert found["loss"].item() == 4.0
    assert found["parts"][0] is x
    assert found["parts"][1].tolist() == [2.0, 4.0]
    assert found["mean"] == (2.0, None)
    assert f(x)["parts"] is not found["parts"]


def test_one_list_at_two_places_of_a_result():
    def f(x):
        both = [x + 1]
        return both, {"again": both}

    f = tx.compile(f)
    for _ in range(5):
        first, second = f(tx.ones(2))
        assert first is second["again"]


def test_a_variable_of_a_closure_that_counts():
    def make():
        count = 0

        def f(x):
            nonlocal count
            count += 1
            return x * count

        return tx.compile(f)

    f = make()
    for i in range(1, 9):
        assert f(tx.ones(1)).item() == i
    before = native_calls(f)
    for i in range(9, 13):
        assert f(tx.ones(1)).item() == i
    assert native_calls(f) == before + 4


def test_gradients_of_arguments_are_set_without_python():
    @tx.compile
    def step(x, w, b):
        w.grad = b.grad = None
        tx.tanh(x * w + b).sum().backward()
        return w.grad

    def eager(x, w, b):
        w.grad = b.grad = None
        tx.tanh(x * w + b).sum().backward()
        return w.grad

    pairs = [[tx.randn(16).requires_grad_() for _ in range(2)] for _ in range(2)]
    for i in range(6):
        x, (w, b) = tx.randn(16), pairs[i % 2]
        found = step(x, w, b)
        assert found is w.grad  # as eager code has it
        gradients = w.grad.clone(), b.grad.clone()
        eager(x, w, b)
        assert tx.allclose(w.grad, gradients[0])
        assert tx.allclose(b.grad, gradients[1])
    assert native_calls(step) >= 4


def test_one_tensor_at_two_places_is_one_object():
    kept = {}

    @tx.compile
    def f(x):
        y = x * 2
        kept["y"] = y
        return y, [y]

    for _ in range(4):
        y, (z,) = f(tx.ones(3))
        assert y is z
        assert kept["y"] is y
