"""Equal layers are one graph that is called, and nothing else changes."""

import numpy as np
import pytest

import thixo as tx
from thixo import nn
from thixo.graph.control import CALL
from thixo.passes import optimize, repeats
from thixo.runtime import batch, cache, kernels, sunk
from thixo.static import Graph, Session, constant, placeholder


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(repeats, "BLOCKS", 4)
    monkeypatch.setattr(repeats, "NODES", 40)
    monkeypatch.setattr(repeats, "LEAST", 3)


class Layer(nn.Module):
    """Reads the stream twice and a part of a product, so that views go from its forward to its backward pass."""

    def __init__(self, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 2 * width)
        self.back = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        a, b = self.wide(self.norm(x)).chunk(2, -1)
        return x + self.drop(self.back((a.tanh() * b).transpose(0, 1).contiguous().transpose(0, 1)))


def trained(layers: int, off=(), dropout=0.0, batch=None, executor="sunk") -> list:
    """Losses and parameters of a few steps."""
    tx.manual_seed(3)
    model = nn.Sequential(*[Layer(6, dropout) for _ in range(layers)])
    with Graph() as g:
        x = placeholder((batch, 6), tx.float32, "x")
        loss = model(x).square().mean()
        step = tx.optim.AdamW(model.parameters(), 0.01).minimize(loss)
    session = Session(g, executor, off=off)
    found = [session.run([loss, step], {x: tx.ones(5, 6)})[0] for _ in range(3)]
    return [t.detach().numpy() for t in (*found, *model.parameters())]


def deep(x):
    """As many nodes as make a layer worth a graph of its own."""
    for _ in range(3):
        x = (x * 2.0).tanh().exp().sin()
    return x


def calls(graph) -> list:
    return [n for n in graph.nodes if n.op is CALL]


@pytest.mark.parametrize(("batch", "executor"), [(None, "sunk"), (5, "ready"), (None, "serial")])
def test_training_is_the_same_bit_for_bit(batch, executor):
    plain = trained(6, ("repeats", "fuse"), batch=batch, executor=executor)
    for a, b in zip(plain, trained(6, ("fuse",), batch=batch, executor=executor), strict=True):
        assert a.tobytes() == b.tobytes()


def test_fused_training_is_nearly_the_same():
    for a, b in zip(trained(6, ("repeats", "fuse")), trained(6), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_random_numbers_are_drawn_in_the_same_order():
    plain = trained(6, ("repeats", "fuse"), dropout=0.4)
    for a, b in zip(plain, trained(6, ("fuse",), dropout=0.4), strict=True):
        assert a.tobytes() == b.tobytes()


def program(model, x, off=()):
    with Graph() as g:
        given = placeholder(x, tx.float32, "x")
        loss = model(given).square().mean()
        step = tx.optim.AdamW(model.parameters(), 0.01).minimize(loss)
    return Session(g, off=off).program([loss, step])


def test_layers_share_a_graph_and_what_changes_is_written_in_place():
    model = nn.Sequential(*[Layer(6) for _ in range(8)])
    graph = program(model, (5, 6))
    found = calls(graph)
    assert len(found) >= 2 * 6  # forward and backward passes, but for those at the ends
    assert len({id(n.args[0]) for n in found}) == 3  # and updates
    changed = set(graph.mutations.values())
    donated = set(graph.plan().schedule.donated.values())
    assert sum(v in changed for n in found for v in n.outputs) >= 3 * 4 * 6
    assert all(v in donated for n in found for v in n.outputs if v in changed)
    flat = program(model, (5, 6), off=["repeats"])
    assert not calls(flat)
    assert len(donated) >= len(flat.plan().schedule.donated) > 0


def test_compiling_looks_at_one_of_many_layers():
    sizes = []
    for layers in (7, 10):
        graph = program(nn.Sequential(*[Layer(6) for _ in range(layers)]), (5, 6), ["fuse"])
        changed = {id(v) for v in graph.mutations.values()}
        sizes.append(sum(not any(id(v) in changed for v in n.outputs) for n in calls(graph)))
    assert sizes[1] - sizes[0] == 2 * 3  # calls: forward and backward


def test_constants_that_differ_stay_where_passes_can_use_them():
    with Graph() as g:
        x = placeholder((4,), tx.float32, "x")
        y = x
        for i in range(12):
            y = deep(y * constant(np.full(4, i + 1.0, np.float32)))
    assert not calls(Session(g).program(y))


def test_a_number_that_all_layers_share_is_part_of_the_graph():
    with Graph() as g:
        x = placeholder((4,), tx.float32, "x")
        shared = constant(np.arange(4, dtype=np.float32))
        y = x
        for _ in range(12):
            y = deep(y * shared + constant(np.float32(0.5)))
    graph = Session(g, off=["fuse"]).program(y)
    assert len(calls(graph)) == 12
    (body,) = {id(n.args[0]): n.args[0] for n in calls(graph)}.values()
    assert len(body.inputs) == 1
    assert len(body.constants) == 2
    value = tx.randn(4)
    assert (
        Session(g).run(y, {x: value}).tolist()
        == Session(g, off=["repeats"]).run(y, {x: value}).tolist()
    )


def test_layers_that_stay_as_they_are_may_read_views_made_in_layers_that_become_calls():
    with Graph() as g:
        x = placeholder((4,), tx.float32, "x")
        y, views = x, []
        for _ in range(12):
            y = deep(y * 1.5)
            views.append(y.expand(3, 4).transpose(0, 1))
        z = x
        for i, view in enumerate(
            views
        ):  # constants differ here, so each stays where passes can use them
            z = deep(z * constant(np.full(4, i + 1.0, np.float32)) + view.sum(1))
    graph = Session(g, off=["fuse"]).program(z)
    assert len(calls(graph)) == 12
    value = tx.randn(4)
    same = (Session(g, off=off).run(z, {x: value}).tolist() for off in ((), ["repeats"]))
    np.testing.assert_allclose(*same, rtol=1e-6)


def test_results_inside_of_a_layer_are_given():
    inner = []
    with Graph() as g:
        x = placeholder((4,), tx.float32, "x")
        y = x
        for i in range(12):
            y = deep(y * 1.5)
            if i % 3 == 0:
                inner.append((y + 1.0).reshape(2, 2).t())
    value = tx.randn(4)
    fetches = [y, *inner]
    for a, b in zip(
        Session(g).run(fetches, {x: value}),
        Session(g, off=["repeats", "fuse"]).run(fetches, {x: value}),
        strict=True,
    ):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_it_is_a_pass_with_a_name():
    graph = tx.jit.trace(_many_times, tx.ones(3)).graph
    made = optimize(graph)
    assert made.counts["repeats"] == 12
    assert "repeats" not in optimize(graph, off=["repeats"]).counts


def _many_times(x):
    for _ in range(12):
        x = deep(x * 1.5)
    return x


def test_numbers_that_parameters_share_are_recorded_once():
    model = nn.Sequential(*[Layer(6) for _ in range(3)])
    with Graph() as g:
        x = placeholder((5, 6), tx.float32, "x")
        before = len(g.program.nodes)
        tx.optim.AdamW(model.parameters(), 0.01).minimize(model(x).square().mean())
    made = g.program.nodes[before:]
    numbers = [n for n in made if n.op.full_name == "pow" and not n.outputs[0].type.shape]
    assert 0 < len(numbers) <= 3  # two rates and a root, however many parameters there are


@pytest.mark.parametrize("executor", ["sunk", "ready"])
def test_kernels_that_are_not_there_yet_are_asked_for_once(executor, tmp_path, monkeypatch):
    known = trained(6, executor=executor)
    finished = []

    class Counted(batch.Batch):
        def finish(self):
            finished.append(super().finish())
            return finished[-1]

    monkeypatch.setattr(sunk, "Batch", Counted)
    monkeypatch.setattr(kernels, "_addresses", {})
    cache.use(tmp_path)
    try:
        again = trained(6, executor=executor)
    finally:
        cache.use(None)
    assert finished == [True, False]  # the second turn finds all of them
    for a, b in zip(known, again, strict=True):
        assert a.tobytes() == b.tobytes()
