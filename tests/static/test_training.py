"""Training in a graph equals training in a loop."""

import pytest

import thixo as tx
from thixo.runtime.executor import EXECUTORS

static = tx.static
F = tx.nn.functional


def model(norm=False):
    tx.manual_seed(0)
    layers = [tx.nn.Linear(5, 8), tx.nn.Tanh(), tx.nn.Linear(8, 3)]
    if norm:
        layers.insert(1, tx.nn.BatchNorm1d(8))
    return tx.nn.Sequential(*layers)


def data():
    tx.manual_seed(1)
    return tx.randn(16, 5), tx.randint(0, 3, (16,))


def eager_losses(net, optimizer, steps=10, clip=None):
    x, y = data()
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        if clip:
            tx.nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        losses.append(loss.item())
    return losses


def declared(net, make, **options):
    with static.Graph() as g:
        x = static.placeholder((None, 5), tx.float32, "x")
        y = static.placeholder((None,), tx.int64, "y")
        loss = F.cross_entropy(net(x), y)
        step = make(net.parameters()).minimize(loss, **options)
    return static.Session(g), x, y, loss, step


def static_losses(net, make, steps=10, **options):
    session, x, y, loss, step = declared(net, make, **options)
    a, b = data()
    return [session.run([loss, step], {x: a, y: b})[0].item() for _ in range(steps)]


OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {}),
    ("Adamax", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("Adadelta", {}),
    ("Adagrad", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Rprop", {}),
    ("ASGD", {}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS, ids=str)
def test_every_optimizer_makes_the_same_steps_in_a_graph(name, options):
    def make(params):
        return getattr(tx.optim, name)(params, lr=0.05, **options)

    net = model()
    expected = eager_losses(net, make(net.parameters()))
    net = model()
    found = static_losses(net, make)
    assert found == pytest.approx(expected, rel=1e-4)
    assert found[-1] != found[0]


@pytest.mark.parametrize("executor", sorted(EXECUTORS))
def test_every_executor_trains_alike(executor):
    def make(params):
        return tx.optim.SGD(params, lr=0.05, momentum=0.9)

    net = model(norm=True)
    expected = eager_losses(net, make(net.parameters()))
    other = model(norm=True)
    session, x, y, loss, step = declared(other, make)
    session = static.Session(session.graph, executor=executor)
    a, b = data()
    train = session.bind([loss, step], [x, y])
    found = [train(a, b)[0].item() for _ in range(5)]
    found += [session.run([loss, step], {x: a, y: b})[0].item() for _ in range(5)]
    assert found == pytest.approx(expected, rel=1e-4)
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        assert tx.allclose(p, q, rtol=1e-4, atol=1e-6)


def test_lbfgs_says_that_it_cannot_be_part_of_a_graph():
    net = model()
    with pytest.raises(tx.ThixoError, match=r"LBFGS.*cannot be part of a graph"):
        declared(net, tx.optim.LBFGS)


def test_the_parameters_of_a_module_are_trained_in_place():
    net = model()
    before = net[0].weight.detach().clone()
    static_losses(net, lambda p: tx.optim.SGD(p, lr=0.1), steps=1)
    assert not tx.equal(before, net[0].weight.detach())
    assert net[0].weight.grad is None


def test_parameters_are_called_as_the_module_calls_them():
    net = model(norm=True)
    session, *_ = declared(net, lambda p: tx.optim.Adam(p, lr=0.1))
    assert tx.equal(session.run("0.weight"), net[0].weight.detach())
    assert tx.equal(session.run("1.running_mean"), net[1].running_mean)
    assert session.run("adam_v0_weight_exp_avg").shape == (8, 5)


def test_running_means_change_with_the_train_operation_only():
    def make(params):
        return tx.optim.SGD(params, lr=0.1)

    net = model(norm=True)
    expected = eager_losses(net, make(net.parameters()))
    other = model(norm=True)
    session, x, y, loss, step = declared(other, make)
    a, b = data()
    found = []
    for _ in range(10):
        session.run(loss, {x: a, y: b})  # changes nothing
        found.append(session.run([loss, step], {x: a, y: b})[0].item())
    assert found == pytest.approx(expected, rel=1e-4)
    assert tx.allclose(net[1].running_mean, other[1].running_mean)
    assert other[1].num_batches_tracked.item() == 10


def test_gradients_are_clipped_as_in_the_loop():
    net = model()
    expected = eager_losses(net, tx.optim.SGD(net.parameters(), lr=0.5), clip=0.1)
    found = static_losses(model(), lambda p: tx.optim.SGD(p, lr=0.5), clip_norm=0.1)
    assert found == pytest.approx(expected, rel=1e-4)


def test_the_learning_rate_may_be_fed():
    with static.Graph() as g:
        w = static.variable(1.0, name="w")
        rate = static.placeholder((), tx.float32, "rate")
        step = tx.optim.SGD([w], lr=rate).minimize(w * 3)
    session = static.Session(g)
    session.run(step, {rate: 0.5})
    session.run(step, {rate: 0.25})
    assert session.run(w).item() == 1 - 1.5 - 0.75


def test_a_schedule_is_a_variable_that_is_assigned():
    with static.Graph() as g:
        w = static.variable(1.0, name="w")
        rate = static.variable(0.5, name="rate", trainable=False)
        slower = static.assign(rate, rate * 0.5)
        step = static.group([tx.optim.Adam([w], lr=rate).minimize(w * 3), slower])
    session = static.Session(g)
    session.run(step)
    session.run(step)
    assert session.run(w).item() == pytest.approx(1 - 0.5 - 0.25, abs=1e-5)


def test_some_of_the_variables_can_be_trained():
    with static.Graph() as g:
        a, b = static.variable(1.0, name="a"), static.variable(1.0, name="b")
        step = tx.optim.SGD([a, b], lr=0.5).minimize(a * b, [b])
    session = static.Session(g)
    session.run(step)
    assert session.run([a, b]) == [1, 0.5]


def test_dropout_draws_what_eager_draws():
    net = tx.nn.Sequential(tx.nn.Linear(5, 8), tx.nn.Dropout(0.5), tx.nn.Linear(8, 3))
    x, _ = data()
    with static.Graph() as g:
        place = static.placeholder((None, 5), tx.float32, "x")
        out = net(place)
    tx.manual_seed(5)
    found = static.Session(g).run(out, {place: x})
    tx.manual_seed(5)
    assert tx.equal(found, net(x).detach())


def test_digits_train_to_the_losses_of_the_loop():
    images, labels = tx.data.digits()
    images, labels = images[:512].reshape(512, 64), labels[:512]

    def network():
        tx.manual_seed(0)
        return tx.nn.Sequential(tx.nn.Linear(64, 64), tx.nn.ReLU(), tx.nn.Linear(64, 10))

    net = network()
    optimizer = tx.optim.Adam(net.parameters(), lr=1e-2)
    expected = []
    batches = [slice(i, i + 100) for i in range(0, 512, 100)] * 3  # the last one is smaller
    for batch in batches:
        loss = F.cross_entropy(net(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    net = network()
    with static.Graph() as g:
        x = static.placeholder((None, 64), tx.float32, "x")
        y = static.placeholder((None,), tx.int64, "y")
        loss = F.cross_entropy(net(x), y)
        step = tx.optim.Adam(net.parameters(), lr=1e-2).minimize(loss)
    train = static.Session(g).bind([loss, step], [x, y])
    found = [train(images[batch], labels[batch])[0].item() for batch in batches]
    assert found == pytest.approx(expected, rel=1e-4)
    assert found[-1] < found[0] / 2


def test_a_module_may_be_made_where_the_graph_is_declared():
    net = model()
    tx.manual_seed(0)
    with static.Graph() as g:
        x = static.placeholder((None, 5), tx.float32, "x")
        y = static.placeholder((None,), tx.int64, "y")
        inside = tx.nn.Sequential(tx.nn.Linear(5, 8), tx.nn.Tanh(), tx.nn.Linear(8, 3))
        loss = F.cross_entropy(inside(x), y)
        step = tx.optim.SGD(inside.parameters(), lr=0.1).minimize(loss)
    session, (a, b) = static.Session(g), data()
    losses = [session.run([loss, step], {x: a, y: b})[0].item() for _ in range(3)]
    assert losses == static_losses(net, lambda p: tx.optim.SGD(p, lr=0.1), 3)


def test_a_budget_of_memory_changes_no_loss():
    losses = []
    for budget in (None, 0.4):
        tx.manual_seed(0)
        layers = [m for _ in range(6) for m in (tx.nn.Linear(5, 5), tx.nn.GELU())]
        net = tx.nn.Sequential(*layers, tx.nn.Linear(5, 3))
        session, x, y, loss, step = declared(net, lambda p: tx.optim.SGD(p, lr=0.5))
        session = static.Session(session.graph, budget=budget)
        a, b = data()
        losses.append([session.run([loss, step], {x: a, y: b})[0].item() for _ in range(4)])
    assert losses[0] == losses[1]
    assert losses[0][0] != losses[0][-1]


@pytest.mark.parametrize("before", [True, False])
def test_evaluation_in_the_graph_of_the_training_uses_the_stored_statistics(before):
    """Wherever it is declared: fetching it is no training pass."""
    net, (x_data, y_data) = model(norm=True), data()
    with static.Graph() as g:
        x = static.placeholder((None, 5), tx.float32, "x")
        y = static.placeholder((None,), tx.int64, "y")
        loss = F.cross_entropy(net(x), y)
        if before:
            step = tx.optim.SGD(net.parameters(), lr=0.1).minimize(loss)
        evaluated = net.eval()(x)
        if not before:
            step = tx.optim.SGD(net.parameters(), lr=0.1).minimize(loss)
    session = static.Session(g)
    for _ in range(5):
        session.run(step, {x: x_data, y: y_data})
    assert net[1].num_batches_tracked == 5
    tx.testing.assert_close(session.run(evaluated, {x: x_data}), net(x_data).detach())
