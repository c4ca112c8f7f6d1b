"""Whole training steps as one graph: gradients, optimizers' states and schedules do what they do in eager mode."""

import numpy as np
import pytest

import thixo as tx
from thixo import nn, optim
from thixo.nn import functional as F

OPTIMIZERS = [
    (optim.SGD, {"lr": 0.1}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (optim.SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    (optim.Adam, {"lr": 0.01}),
    (optim.Adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    (optim.AdamW, {"lr": 0.01}),
    (optim.Adamax, {"lr": 0.01}),
    (optim.NAdam, {"lr": 0.01}),
    (optim.RAdam, {"lr": 0.01}),
    (optim.RMSprop, {"lr": 0.01, "momentum": 0.5, "centered": True}),
    (optim.Adagrad, {"lr": 0.01, "lr_decay": 0.1}),
    (optim.Adadelta, {"lr": 0.5}),
    (optim.Rprop, {"lr": 0.01}),
    (optim.ASGD, {"lr": 0.01}),
]


def net():
    tx.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))


def batches(count, rows=4):
    tx.manual_seed(1)
    return [(tx.randn(rows, 5), tx.randint(0, 3, (rows,))) for _ in range(count)]


def train(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def same(one, other, rtol=1e-5):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol, 1e-6)


def gradients(model):
    return [p.grad for p in model.parameters()]


@pytest.mark.parametrize(("kind", "options"), OPTIMIZERS, ids=lambda x: getattr(x, "__name__", ""))
def test_steps_of_optimizers(kind, options):
    eager, captured = net(), net()
    one, other = kind(eager.parameters(), **options), kind(captured.parameters(), **options)
    step = tx.jit.script(lambda x, y: train(captured, other, x, y))
    for i, (x, y) in enumerate(batches(6)):
        expected = train(eager, one, x, y)
        # Eager and captured steps alternate.
        found = train(captured, other, x, y) if i == 3 else step(x, y)
        assert found == pytest.approx(expected, rel=1e-5)
    same(captured.parameters(), eager.parameters())
    same(gradients(captured), gradients(eager), 1e-4)
    assert len(step.graphs) == 1
    left, right = one.state_dict()["state"], other.state_dict()["state"]
    for number, state in left.items():
        same([right[number][key] for key in state], state.values(), 1e-4)


def test_parameters_and_states_are_updated_where_they_lie():
    model = net()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    step = tx.jit.script(lambda x, y: train(model, optimizer, x, y))
    (x, y), *rest = batches(3)
    step(x, y)
    params = list(model.parameters())
    tensors = [*params, *(optimizer.state[p]["exp_avg"] for p in params)]
    places = [t.data_ptr() for t in tensors]
    before = [t.detach().clone() for t in tensors]
    for x, y in rest:
        step(x, y)
    assert [t.data_ptr() for t in tensors] == places
    assert all((a != b).any() for a, b in zip(tensors, before, strict=True))
    assert all(p.is_leaf and p.requires_grad for p in params)
    assert [optimizer.state[p]["step"].item() for p in params] == [3.0] * 4


@pytest.mark.parametrize(
    "kind",
    [
        lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5),
        lambda o: optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=9),  # moves betas too
    ],
)
def test_a_schedule_changes_rates_without_a_new_graph(kind):
    def run(through):
        model = net()
        optimizer = optim.Adam(model.parameters(), lr=0.1)
        schedule = kind(optimizer)

        def step(x, y):
            loss = train(model, optimizer, x, y)
            schedule.step()
            return loss

        called = through(step)
        losses = [called(x, y) for x, y in batches(6)]
        return losses, optimizer.param_groups[0]["lr"], schedule.last_epoch, called

    losses, rate, epoch, _ = run(lambda f: f)
    found, found_rate, found_epoch, step = run(tx.jit.script)
    np.testing.assert_allclose(found, losses, 1e-5)
    assert (found_rate, found_epoch) == (rate, epoch)
    assert len(step.graphs) == 1


def test_a_plateau_sees_the_loss():
    def run(through):
        model = net()
        optimizer = optim.SGD(model.parameters(), lr=0.0)
        schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
        optimizer.param_groups[0]["lr"] = 1e-6
        called = through(lambda x, y: schedule.step(train(model, optimizer, x, y)))
        for x, y in batches(1) * 6:
            called(x, y)
        return optimizer.param_groups[0]["lr"]

    assert run(tx.jit.script) == run(lambda f: f)


def accumulate(model, optimizer, parts, to_none):
    optimizer.zero_grad(set_to_none=to_none)
    total = 0.0
    for x, y in parts:
        loss = F.cross_entropy(model(x), y) / len(parts)
        loss.backward()
        total = total + loss.detach()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    return total


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_of_parts_add_up(to_none):
    eager, captured = net(), net()
    one, other = (optim.SGD(m.parameters(), lr=0.1) for m in (eager, captured))
    step = tx.jit.script(accumulate)
    for _ in range(3):
        expected = accumulate(eager, one, batches(3), to_none)
        assert step(captured, other, batches(3), to_none).item() == pytest.approx(expected.item())
    same(captured.parameters(), eager.parameters())
    same(gradients(captured), gradients(eager))


def test_a_gradient_that_is_there_is_added_to_in_place():
    w = tx.tensor([1.0, 2.0], requires_grad=True)

    def slope(x):
        (w * x).sum().backward()

    step = tx.jit.script(slope)
    step(tx.tensor([1.0, 1.0]))
    grad = w.grad
    for _ in range(2):
        step(tx.tensor([2.0, 3.0]))
    assert w.grad is grad
    np.testing.assert_allclose(grad.numpy(), [5.0, 7.0])
    assert len(step.graphs) == 2  # without a gradient, and with one


def test_gradients_of_arguments():
    x = tx.tensor([1.0, 2.0], requires_grad=True)

    def slope(x):
        (x**3).sum().backward()
        doubled = x.grad * 2
        x.grad = None
        (x**2).sum().backward()
        return doubled

    found = tx.jit.script(slope)(x)
    np.testing.assert_allclose(found.numpy(), [6.0, 24.0])
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0])


def test_what_is_computed_after_backward_has_a_history():
    model = net()

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss, model(x)

    loss, logits = tx.jit.script(step)(*batches(1)[0])
    logits.sum().backward()
    with pytest.raises(tx.errors.AutogradError, match="freed"):
        loss.backward()


def through_a_branch(x, w):
    y = x * w
    if y.sum() > 0:
        y = y * w
    else:
        y = y + w**3
    turns = 0
    while y.sum() < 10:
        y = y + w * w
        turns += 1
    (y * y).sum().backward()
    return turns


def through_rows(x, w):
    total = tx.zeros((), dtype=tx.float64)
    for row in x:
        total = tx.tanh(total + (row * w).sum())
    total.backward()
    return total.detach()


@pytest.mark.parametrize("function", [through_a_branch, through_rows])
def test_backward_through_branches_and_loops(function):
    step = tx.jit.script(function)
    for values in ([1.0, 2.0], [-1.0, -2.0], [3.0, -1.0]):
        x = tx.tensor(values, dtype=tx.float64)
        if function is through_rows:
            x = x.unsqueeze(1) * tx.tensor([1.0, -0.5], dtype=tx.float64)
        w, v = (tx.tensor([0.5, 0.7], dtype=tx.float64, requires_grad=True) for _ in range(2))
        expected = function(x, w)
        found = step(x, v)
        assert float(found) == pytest.approx(float(expected))
        np.testing.assert_allclose(v.grad.numpy(), w.grad.numpy(), 1e-12)
        assert not v.grad.requires_grad


def test_training_until_it_is_good():
    def fit(model, optimizer, x, y):
        loss, turns = tx.tensor(9.0), 0
        while loss > 0.9 and turns < 50:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            loss = loss.detach()
            turns += 1
        return turns, loss

    found = []
    for through in (lambda f: f, tx.jit.script):
        model = net()
        turns, loss = through(fit)(model, optim.SGD(model.parameters(), lr=0.5), *batches(1)[0])
        found.append((turns, loss.item(), list(model.parameters())))
    assert found[0][0] == found[1][0] > 2
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-5)
    same(found[1][2], found[0][2])


def test_a_state_that_is_loaded_counts():
    model = net()
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    step = tx.jit.script(lambda x, y: train(model, optimizer, x, y))
    x, y = batches(1)[0]
    losses = [step(x, y) for _ in range(4)]
    tx.manual_seed(0)
    with tx.no_grad():
        for p, q in zip(model.parameters(), net().parameters(), strict=True):
            p.copy_(q)
    optimizer.load_state_dict(optim.Adam(model.parameters(), lr=0.1).state_dict())
    np.testing.assert_allclose([step(x, y) for _ in range(4)], losses, 1e-5)


def refusal(f, *args):
    with pytest.raises(tx.errors.CaptureError) as caught:
        tx.jit.script(f)(*args)
    return str(caught.value)


def test_what_a_step_cannot_be():
    model = net()
    x, y = batches(1)[0]
    hooked = optim.SGD(model.parameters(), lr=0.1)
    hooked.register_step_pre_hook(lambda *a: None)
    assert "step(): the optimizer has hooks; remove them before" in refusal(
        train, model, hooked, x, y
    )
    again = optim.LBFGS(model.parameters())
    assert "LBFGS.step(): it has no rule for one step" in refusal(train, model, again, x, y)

    def inside(x, y):
        return train(model, optim.SGD(model.parameters(), lr=0.1), x, y)

    assert "SGD(...): it keeps state of its own" in refusal(inside, x, y)
    w = tx.ones(2, requires_grad=True)
    history = w * 2

    def outside(x):
        (history * x).sum().backward()

    assert "a tensor from outside has a history" in refusal(outside, tx.ones(2))
    assert "tensors outside of what is captured" in refusal(lambda h: h.sum().backward(), history)
    assert w.grad is None

    def early(x, y):
        schedule.step()
        return train(model, plain, x, y)

    plain = optim.SGD(model.parameters(), lr=0.1)
    schedule = optim.lr_scheduler.StepLR(plain, 1)
    assert "step the schedule last" in refusal(early, x, y)
    assert schedule.last_epoch == 0


def test_a_refused_step_leaves_no_state():
    model = net()
    optimizer = optim.Adam(model.parameters(), lr=0.1)

    def step(x, y):
        loss = train(model, optimizer, x, y)
        input("next?")
        return loss

    refusal(step, *batches(1)[0])
    assert all(not state for state in optimizer.state.values())
    assert gradients(model) == [None] * 4


def write_then_use(w, x):
    with tx.no_grad():
        w.mul_(0.5)
    return (w * w * x).sum()


def data_then_use(w, x):
    w.data -= 0.1 * x
    return (w * w * x).sum()


def descend_then_use(w, x):
    (w * x).sum().backward()
    with tx.no_grad():
        w -= 0.1 * w.grad
    w.grad.zero_()
    return (w * w).sum()


def twice_through(w, x):
    loss = (w * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return w.grad + 0


def of_second_order(w, x):
    (g,) = tx.autograd.grad((w * w * x).sum(), w, create_graph=True)
    (g * g).sum().backward()
    return g.detach()


def of_a_value_between(w, x):
    y = w * x
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad


def of_a_leaf_made_inside(w, x):
    v = w.detach().clone().requires_grad_()
    (v * v * x).sum().backward()
    return v.grad


def through_a_hook(w, x):
    y = w * x
    y.register_hook(lambda g: g * 3)
    y.sum().backward()
    return y.detach()


def forgotten_on_a_path(w, x):
    loss = (w * x).sum()
    loss.backward()
    if loss > 2:
        w.grad = None
    return loss.detach()


@pytest.mark.parametrize(
    "function",
    [
        write_then_use, data_then_use, descend_then_use, twice_through, of_second_order, of_a_value_between,
        of_a_leaf_made_inside, through_a_hook, forgotten_on_a_path,
    ],
)  # fmt: skip
def test_gradients_are_those_of_eager_code(function):
    for values in ([3.0, 4.0], [-3.0, 0.4]):
        found = []
        for through in (lambda f: f, tx.jit.script):
            w, x = tx.tensor([1.0, 2.0], requires_grad=True), tx.tensor(values)
            called = through(function)
            results = []
            for _ in range(2):
                results.append(called(w, x))
                if results[-1].requires_grad:
                    results[-1].backward()
            found.append([*results, w, *([] if w.grad is None else [w.grad])])
        same(found[1], found[0])


def test_a_result_whose_graph_is_gone_says_so():
    w = tx.ones(2, requires_grad=True)

    def slope(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    loss = tx.jit.script(slope)(tx.ones(2))
    assert loss.requires_grad
    with pytest.raises(tx.errors.AutogradError, match="the graph was already freed"):
        loss.backward()


def test_a_gradient_that_was_taken_inside_has_no_history():
    def f(x):
        y = x.detach().requires_grad_()
        (y * y * 3).backward()
        return x * y.grad if x > 0 else y.grad

    x = tx.tensor(0.5, requires_grad=True)
    for function in (f, tx.jit.script(f)):
        result = function(x)
        assert result.item() == 1.5
        assert tx.autograd.grad(result, x)[0].item() == 3


def test_hooks_count_inside_only():
    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: g * 3)
        return y

    assert "a result with gradients: a tensor has a hook" in refusal(
        hooked, tx.ones(2, requires_grad=True)
    )


def test_a_parameter_that_is_frozen_later():
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    step = tx.jit.script(lambda x, y: train(model, optimizer, x, y))
    x, y = batches(1)[0]
    step(x, y)
    model[0].weight.requires_grad_(False)
    before = model[0].weight.detach().clone()
    step(x, y)
    assert (model[0].weight == before).all()
    assert model[0].weight.grad is None
    model[0].weight.requires_grad_(True)
    step(x, y)
    assert (model[0].weight != before).any()
    assert len(step.graphs) == 2


def test_a_parameter_that_is_replaced_is_no_longer_the_optimizers():
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    step = tx.jit.script(lambda x, y: train(model, optimizer, x, y))
    x, y = batches(1)[0]
    step(x, y)
    old = model[2].bias
    model[2].bias = nn.Parameter(tx.zeros(3))
    before = old.detach().clone()
    step(x, y)
    assert (model[2].bias == 0).all()
    assert (old == before).all()
    assert model[2].bias.grad is not None


def test_requires_grad_is_set_for_good():
    def freeze(x):
        w.requires_grad_(False)
        return (v * x + w).sum()

    w, v = tx.ones(2, requires_grad=True), tx.ones(2, requires_grad=True)
    tx.jit.script(freeze)(tx.ones(2)).backward()
    assert not w.requires_grad
    assert w.grad is None
    np.testing.assert_allclose(v.grad.numpy(), [1.0, 1.0])


class ByData(optim.Optimizer):
    """A user's own step, as many write it."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data.add_(p.grad, alpha=-group["lr"])


class ByRule(optim.Optimizer):
    """A user's own rule for one parameter."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def _update(self, group, param, grad, state):
        param.sub_(grad * group["lr"])


@pytest.mark.parametrize("kind", [ByData, ByRule])
def test_optimizers_of_users(kind):
    eager, captured = net(), net()
    one, other = kind(eager.parameters(), 0.1), kind(captured.parameters(), 0.1)
    step = tx.jit.script(train)
    for x, y in batches(3):
        assert step(captured, other, x, y) == pytest.approx(train(eager, one, x, y), rel=1e-5)
    same(captured.parameters(), eager.parameters())
    assert len(step.graphs) == 1


def test_data_is_the_memory_of_its_tensor():
    def overwrite(w, x):
        w.data.mul_(x)
        w.data[0] = 7.0
        return (w * w).sum()

    found = []
    for through in (lambda f: f, tx.jit.script):
        w = tx.tensor([1.0, 2.0], requires_grad=True)
        through(overwrite)(w, tx.tensor([3.0, 4.0])).backward()
        found.append([w, w.grad])
    same(found[1], found[0])

    def of_a_result(w):
        y = w * 2
        y.data.mul_(3)
        return y

    assert "a write through detach" in refusal(of_a_result, tx.ones(2, requires_grad=True))


def test_a_cycle_moves_the_momentum_without_a_new_graph():
    found = []
    for through in (lambda f: f, tx.jit.script):
        model = net()
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        schedule = optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=9)
        step = through(lambda x, y, m=model, o=optimizer: train(m, o, x, y))
        losses = []
        for x, y in batches(6):
            losses.append(step(x, y))
            schedule.step()
        found.append(losses)
    np.testing.assert_allclose(found[1], found[0], 1e-5)
    assert len(step.graphs) == 1
