"""`tx.compile(freeze=True)`: weights are constants while nobody writes them."""

import copy

import pytest

import thixo as tx
from thixo.capture.frozen import Frozen


@pytest.fixture
def net():
    tx.manual_seed(3)
    made = tx.nn.Sequential(
        tx.nn.Conv2d(3, 8, 3, padding=1), tx.nn.BatchNorm2d(8), tx.nn.ReLU(),
        tx.nn.Conv2d(8, 16, 3), tx.nn.BatchNorm2d(16), tx.nn.Flatten(), tx.nn.Linear(16 * 36, 5),
    )  # fmt: skip
    for _ in range(2):
        made(tx.randn(4, 3, 8, 8) * 2 + 1)
    return made.eval()


def close(a, b):
    assert tx.allclose(a, b, atol=1e-4, rtol=1e-4)


def entry_of(compiled):
    (one,) = compiled._compiled_function._graphs.entries
    return one


def test_weights_are_constants_of_the_program(net):
    quick = tx.compile(net, freeze=True)
    with tx.no_grad():
        for size in (2, 2, 5):
            x = tx.randn(size, 3, 8, 8)
            close(quick(x), net(x))
    frozen = entry_of(quick).run
    assert isinstance(frozen, Frozen)
    program = frozen.state.function._plain._executor.graph
    assert len(program.inputs) == 2  # the image, and one that nothing reads
    names = [n.op.full_name for n in program.nodes]
    assert not any("norm" in name or name == "fused" for name in names)  # they are folded


@pytest.mark.parametrize("change", ["in place", "loaded", "other", "swapped", "buffer"])
def test_what_changes_is_noticed(net, change):
    quick = tx.compile(net, freeze=True)
    x = tx.randn(2, 3, 8, 8)
    with tx.no_grad():
        for _ in range(4):
            before = quick(x)
            close(before, net(x))
        assert quick._compiled_function._calls(entry_of(quick))  # without Python
        if change == "in place":
            net[0].weight.mul_(2)
        elif change == "loaded":
            net.load_state_dict({k: v * 1.5 for k, v in net.state_dict().items()})
        elif change == "other":
            net[6].bias = tx.nn.Parameter(tx.full((5,), 3.0))
        elif change == "swapped":
            net[3].weight.data = tx.randn(16, 8, 3, 3)
        else:
            net[1].running_mean.add_(1)
        for _ in range(4):
            after = quick(x)
            close(after, net(x))
    for p in net.parameters():
        p.requires_grad_(True)
    assert quick(x).requires_grad
    assert not tx.allclose(after, before, atol=1e-3)


def test_a_step_of_an_optimizer_is_noticed(net):
    quick, twin = tx.compile(net, freeze=True), copy.deepcopy(net)
    x = tx.randn(2, 3, 8, 8)
    for one in (net, twin):
        optimizer = tx.optim.SGD(one.parameters(), 0.1)
        run = quick if one is net else one
        for _ in range(3):
            with tx.no_grad():
                answer = run(x)
            optimizer.zero_grad()
            run(x).sum().backward()  # through the graph whose weights are inputs
            optimizer.step()
        with tx.no_grad():
            last = run(x)
        if one is net:
            wanted = answer, last
    close(wanted[0], answer)
    close(wanted[1], last)


def test_training_writes_statistics(net):
    quick, twin = tx.compile(net, freeze=True), copy.deepcopy(net)
    x = tx.randn(4, 3, 8, 8)
    net.train()
    twin.train()
    with tx.no_grad():
        for _ in range(2):
            close(quick(x), twin(x))
        close(net[1].running_mean, twin[1].running_mean)
        net.eval()
        twin.eval()
        close(quick(x), twin(x))


def test_a_weight_that_is_returned_is_itself():
    weight, other = tx.randn(3, 3), tx.ones(3)

    @tx.compile(freeze=True)
    def f(x):
        return weight, weight[0], x @ weight + other

    x = tx.randn(2, 3)
    for _ in range(2):
        whole, row, y = f(x)
        assert whole is weight
        assert row.data_ptr() == weight.data_ptr()
        close(y, x @ weight + 1)
    other.add_(1)
    close(f(x)[2], x @ weight + 2)


def test_other_memory_is_noticed():
    weight = tx.full((2, 2), 3.0)
    f = tx.compile(lambda x: x @ weight, freeze=True)
    with tx.no_grad():
        for value in (3.0, 1.0, 2.0):
            weight.data = tx.full((2, 2), value)
            for _ in range(4):
                assert tx.equal(f(tx.ones(2, 2)), tx.full((2, 2), 2 * value))


def test_nothing_to_freeze():
    f = tx.compile(lambda x: x * 2, freeze=True)
    assert tx.equal(f(tx.ones(3)), tx.full((3,), 2.0))
    (entry,) = f._graphs.entries
    assert not isinstance(entry.run, Frozen)
