"""jit.trace: what is recorded, what is refused, and that it runs as the function does."""

from numbers import Integral

import numpy as np
import pytest

import thixo as tx
from thixo.errors import ArgumentError, ShapeError, TraceError
from thixo.graph import Interpreter, parse
from thixo.graph.interpret import GuardError

RNG = np.random.default_rng(0)


def rand(*shape, requires_grad=False):
    return tx.tensor(RNG.random(shape, np.float32), requires_grad=requires_grad)


def equal(a, b):
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_a_straight_line():
    def f(x, w):
        return (x * w).tanh().sum(dim=1)

    traced = tx.jit.trace(f, (tx.ones(3, 4), tx.ones(4)))
    assert [n.op.full_name for n in traced.graph.nodes] == ["mul", "tanh", "sum"]
    assert [str(v) for v in traced.graph.inputs] == ["x: f32[n, m]", "w: f32[m]"]
    x, w = rand(6, 2), rand(2)
    equal(traced(x, w), f(x, w))


def test_the_text_names_the_lines_of_the_function():
    traced = tx.jit.trace(lambda x: x.exp(), tx.ones(3))
    assert "# test_trace.py:" in traced.code
    again = parse(traced.code)
    assert again == traced.graph


def test_sizes_of_one_are_their_own():
    traced = tx.jit.trace(lambda x: x * 2, tx.ones(1, 3))
    assert str(traced.graph.inputs[0].type) == "f32[1, n]"
    with pytest.raises(ShapeError, match="must be f32\\[1, n\\], is f32\\[2, 3\\]"):
        traced(tx.ones(2, 3))
    with pytest.raises(ShapeError, match="at least 2"):
        traced(tx.ones(1, 1))


def test_fixed_and_chosen_sizes():
    def f(x):
        return x + 1

    assert str(tx.jit.trace(f, tx.ones(3, 4), dynamic=False).graph.inputs[0].type) == "f32[3, 4]"
    chosen = tx.jit.trace(f, tx.ones(3, 4), dynamic={"x": [-1]})
    assert str(chosen.graph.inputs[0].type) == "f32[3, n]"
    with pytest.raises(ArgumentError, match="dynamic names 'y'"):
        tx.jit.trace(f, tx.ones(3), dynamic={"y": [0]})


def test_equal_sizes_become_one_symbol():
    traced = tx.jit.trace(lambda a, b: a @ b + b.sum(0), (tx.ones(3, 4), tx.ones(4, 5)))
    assert [str(v.type) for v in traced.graph.inputs] == ["f32[n, m]", "f32[m, h]"]
    assert not traced.graph.guards
    with pytest.raises(ShapeError, match="input b must be f32\\[m, h\\]"):
        traced(tx.ones(3, 4), tx.ones(5, 5))


def test_a_question_about_a_size_is_a_guard():
    def f(x):
        return x * 2 if x.shape[0] > 3 else x

    traced = tx.jit.trace(f, tx.ones(5))
    assert [str(g) for g in traced.graph.guards] == ["n > 3"]
    equal(traced(tx.ones(9)), f(tx.ones(9)))
    with pytest.raises(TraceError, match=r"traced where n > 3.*test_trace.py"):
        traced(tx.ones(2))


def test_sizes_can_be_returned_and_used():
    def f(x):
        rows, columns = x.shape
        return x.reshape(columns, rows), rows * columns

    traced = tx.jit.trace(f, tx.ones(3, 4))
    y, count = traced(tx.arange(10).reshape(5, 2).float())
    assert tuple(y.shape) == (2, 5)
    assert count == 10


READS = {
    "if": lambda x: x if x.sum() > 0 else -x,
    "item": lambda x: x * x.max().item(),
    "float": lambda x: x * float(x[0]),
    "int": lambda x: x[: int(x[0])],
    "numpy": lambda x: x + tx.from_numpy(np.sin(x.numpy())),
    "tolist": lambda x: x.tolist(),
    "index": lambda x: [1, 2, 3][x.long()[0]],
    "and": lambda x: x.any() and x,
}


@pytest.mark.parametrize("name", READS)
def test_reading_a_value_is_refused_with_its_line(name):
    with pytest.raises(TraceError) as error:
        tx.jit.trace(READS[name], tx.ones(3))
    assert "not known while tracing" in str(error.value)
    assert "test_trace.py:" in str(error.value)


def test_containers():
    def f(batch, scale):
        return {"sum": batch["x"] + batch["y"][0], "both": (batch["x"], scale)}

    example = ({"x": tx.ones(3), "y": [tx.ones(3)]}, 2.5)
    traced = tx.jit.trace(f, example)
    assert [v.name for v in traced.graph.inputs] == ["batch_x", "batch_y_0"]
    out = traced({"x": tx.ones(4), "y": [tx.zeros(4)]}, 2.5)
    assert out["sum"].tolist() == [1, 1, 1, 1]
    assert out["both"][1] == 2.5
    with pytest.raises(TraceError, match=r"argument 2 was 2.5 when it was traced"):
        traced({"x": tx.ones(4), "y": [tx.zeros(4)]}, 3.0)
    with pytest.raises(ArgumentError, match="was traced with arguments"):
        traced({"x": tx.ones(4)}, 2.5)
    with pytest.raises(ArgumentError, match="must be a tensor"):
        traced({"x": 1, "y": [tx.zeros(4)]}, 2.5)


def test_captured_tensors_are_shared_constants():
    weight = tx.tensor([1.0, 2.0, 3.0], requires_grad=True)
    traced = tx.jit.trace(lambda x: x * weight, tx.ones(2, 3))
    assert "constant([1.0, 2.0, 3.0])" in traced.code
    traced(tx.ones(4, 3)).sum().backward()
    assert weight.grad.tolist() == [4, 4, 4]
    with tx.no_grad():
        weight.mul_(10)
    assert traced(tx.ones(2, 3))[0].tolist() == [10, 20, 30]


def test_tensors_made_inside_are_made_anew():
    def f(x):
        made = tx.zeros(3)
        made[1] = x.sum()
        listed = tx.tensor([1.0, 2.0])
        listed += x.sum()
        return made, listed

    traced = tx.jit.trace(f, tx.ones(4))
    for _ in range(2):
        made, listed = traced(tx.ones(5))
        assert made.tolist() == [0, 5, 0]
        assert listed.tolist() == [6, 7]


def test_gradients_inside():
    def f(x, w):
        loss = (x @ w).tanh().sum()
        return tx.autograd.grad(loss, [x, w])

    def example(n):
        return rand(n, 4, requires_grad=True), rand(4, 2, requires_grad=True)

    traced = tx.jit.trace(f, example(3))
    args = example(6)
    for a, b in zip(traced(*args), f(*args), strict=True):
        equal(a, b)


def test_second_gradients_and_backward_inside():
    def f(x):
        (g,) = tx.autograd.grad((x**3).sum(), [x], create_graph=True)
        g.sum().backward()
        return x.grad

    traced = tx.jit.trace(f, rand(3, requires_grad=True))
    x = rand(5, requires_grad=True)
    np.testing.assert_allclose(traced(x).detach().numpy(), 6 * x.detach().numpy(), rtol=1e-6)
    assert x.grad is None


def test_backward_into_a_captured_tensor_is_refused():
    weight = tx.ones(3, requires_grad=True)

    def f(x):
        (x * weight).sum().backward()
        return x

    with pytest.raises(TraceError, match="left a gradient in"):
        tx.jit.trace(f, tx.ones(3))
    assert weight.grad is None
    weight.grad = tx.tensor([1.0, 2.0, 3.0])

    def g(x):
        f(x)
        raise KeyError("mine")

    with pytest.raises(KeyError):
        tx.jit.trace(g, tx.ones(3))
    assert weight.grad.tolist() == [1, 2, 3]


def test_gradients_flow_through_a_traced_function():
    def f(x):
        with tx.no_grad():
            scale = x.max() * 2
        return x * scale + x.detach() * x

    traced = tx.jit.trace(f, rand(4))
    x = rand(6, requires_grad=True)
    (mine,) = tx.autograd.grad(traced(x).sum(), [x])
    (theirs,) = tx.autograd.grad(f(x).sum(), [x])
    equal(mine, theirs)


# ---- writes


def test_a_write_to_an_input_is_done_by_the_call():
    def f(x, y):
        x.mul_(2)
        x[0] = y
        return x + 1

    traced = tx.jit.trace(f, (tx.ones(3, 2), tx.ones(2)))
    assert [v.name for v in traced.graph.mutations] == ["x"]
    x, y = rand(5, 2), rand(2)
    other = x.clone()
    equal(traced(x, y), f(other, y))
    equal(x, other)


def _through_select(x):
    x[1].add_(10)
    return x * 1


def _through_views_of_views(x):
    view = x.t()[1:, ::2]
    view.mul_(3)
    return x.sum(0), view * 1


def _seen_by_older_views(x):
    row, column = x[0], x[:, 1]
    flat = x.reshape(-1)
    x.add_(1)
    row.zero_()
    return row * 1, column * 1, flat * 1


def _siblings(x):
    a, b = x[:2], x[1:]
    a.mul_(2)
    b.add_(a[-1])
    return a + 0, b + 0


def _copy_is_no_view(x):
    copy = x.t().contiguous()
    clone = x.clone()
    copy.zero_()
    clone.add_(5)
    return x * 1, copy, clone


def _transposed_reshape_is_a_copy(x):
    flat = x.t().reshape(-1)
    flat.zero_()
    return x * 1, flat


def _slices_and_masks(x):
    y = x.clone()
    y[:, 1:] = 7
    y[y > 6] = -1
    y[[0, 1], [1, 0]] += 3
    return y


def _diagonal_and_unsqueeze(x):
    x.diagonal().add_(100)
    x.unsqueeze(0).transpose(1, 2)[0, 0] *= 2
    return x.sum()


def _in_place_operators(x):
    y = x * 1
    y += 1
    y *= y
    y /= 2
    y -= x
    return y.clamp_(max=3)


def _at_a_place_that_is_not_known(x):
    row = x.sum(1).argmax()
    y = x.clone()
    y[row] = 7
    y[row, 1] += 1
    y[:2, row] = x[-2:, row]
    y[row - 1, [0, 2]] *= 3
    y[x[:, 0].argmax() - x.shape[0]] = y[0] * 2
    x[row] = x[0]
    return y


WRITES = [
    _at_a_place_that_is_not_known, _through_select, _through_views_of_views, _seen_by_older_views, _siblings, _copy_is_no_view,
    _transposed_reshape_is_a_copy, _slices_and_masks, _diagonal_and_unsqueeze, _in_place_operators,
]  # fmt: skip


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__.strip("_"))
def test_writes_through_views(f):
    traced = tx.jit.trace(f, rand(3, 4))
    assert (
        parse(traced.code, {v.name: d for v, d in traced.graph.constants.items()}) == traced.graph
    )
    x = rand(5, 6)
    other = x.clone()
    mine, theirs = traced(x), f(other)
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (mine, theirs)), strict=True):
        equal(a, b)
    equal(x, other)


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__.strip("_"))
def test_gradients_through_writes(f):
    def loss(x):
        results = f(x * 1)
        results = results if isinstance(results, tuple) else (results,)
        return tx.autograd.grad(sum((r * r).sum() for r in results), [x])[0]

    traced = tx.jit.trace(loss, rand(3, 4, requires_grad=True))
    x = rand(5, 6, requires_grad=True)
    np.testing.assert_allclose(traced(x).numpy(), loss(x).numpy(), rtol=1e-5)


def test_a_write_to_a_captured_tensor():
    count = tx.zeros(())

    def f(x):
        count.add_(1)
        return x * count

    traced = tx.jit.trace(f, tx.ones(2))
    assert count.item() == 0  # neither the trace nor its check has changed it
    assert traced(tx.ones(2)).tolist() == [1, 1]
    assert traced(tx.ones(2)).tolist() == [2, 2]
    assert count.item() == 2


def test_inputs_that_trade_places():
    def f(a, b):
        old = a.clone()
        a.copy_(b)
        b.copy_(old)

    traced = tx.jit.trace(f, (tx.ones(2), tx.zeros(2)))
    a, b = tx.tensor([1.0, 2.0]), tx.tensor([3.0, 4.0])
    assert traced(a, b) is None
    assert (a.tolist(), b.tolist()) == ([3, 4], [1, 2])


# ---- what is around it


def test_random_numbers_are_drawn_at_each_call():
    traced = tx.jit.trace(lambda x: x + tx.rand(3), tx.zeros(3))
    tx.manual_seed(0)
    first, second = traced(tx.zeros(3)), traced(tx.zeros(3))
    assert first.tolist() != second.tolist()
    tx.manual_seed(0)
    equal(first, tx.rand(3))


def test_the_check_finds_what_a_trace_cannot_see():
    calls = []

    def f(x):
        calls.append(1)
        return x * len(calls)

    with pytest.raises(TraceError, match="is not that of the function"):
        tx.jit.trace(f, tx.ones(2))


def test_a_traced_tensor_outside_of_its_trace():
    kept = []

    def f(x):
        kept.append(x)
        return x

    tx.jit.trace(f, tx.ones(2), check=False)
    with pytest.raises(TraceError, match="trace has ended: it is the argument x of f; return"):
        kept[0] + 1
    with pytest.raises(TraceError, match="of another trace"):
        tx.jit.trace(lambda x: x + kept[0], tx.ones(2))


def test_an_error_in_the_function_is_the_user_s_own():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tx.jit.trace(f, tx.ones(2))
    assert (tx.ones(2) + 1).tolist() == [2, 2]


def test_wrong_shapes_inside_name_the_line():
    with pytest.raises(ShapeError, match=r"test_trace.py"):
        tx.jit.trace(lambda x: x + tx.ones(3), tx.ones(2))


def test_what_is_not_needed_is_not_in_the_graph():
    def f(x):
        x.exp()
        return x + 1

    assert len(tx.jit.trace(f, tx.ones(2)).graph.nodes) == 1


def test_sizes_that_the_data_decide():
    def f(x):
        return x[x > 0] * 2

    traced = tx.jit.trace(f, tx.tensor([1.0, -1.0, 2.0]))
    x = tx.tensor([-1.0, 1.0, 2.0, 3.0])
    equal(traced(x), f(x))


def test_tracing_inside_of_tracing():
    inner = tx.jit.trace(lambda x: x * 2, tx.ones(3))
    outer = tx.jit.trace(lambda x: inner(x) + 1, tx.ones(4))
    assert outer(tx.ones(5)).tolist() == [3] * 5


def test_the_reference_backend_runs_a_trace():
    def f(x, w):
        return tx.nn.functional.softmax(x @ w, dim=-1)

    traced = tx.jit.trace(f, (rand(3, 4), rand(4, 5)))
    x, w = np.random.default_rng(0).random((2, 6, 6)).astype(np.float32)
    (got,) = Interpreter(traced.graph, "reference").run(x, w)
    np.testing.assert_allclose(got, f(tx.tensor(x), tx.tensor(w)).numpy(), rtol=1e-5)


def test_wrong_use():
    with pytest.raises(ArgumentError, match="needs a function"):
        tx.jit.trace(3, tx.ones(2))


def _fills(x, table):
    table["a"] = x.to(tx.int64)


def _appends(x, found):
    found.append(x * 2)


@pytest.mark.parametrize(
    ("f", "given", "what"),
    [
        (_fills, {"a": tx.ones(2)}, "its argument table_a"),
        (_appends, [tx.ones(2)], "its arguments"),
    ],
)
def test_a_function_that_changes_its_containers_is_refused(f, given, what):
    with pytest.raises(TraceError, match=rf"{f.__name__} changes {what}: .*return the new value"):
        tx.jit.trace(f, (tx.ones(3), given))


# ---- modules


class Small(tx.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = tx.nn.Linear(4, 5)
        self.norm = tx.nn.BatchNorm1d(5)
        self.out = tx.nn.Linear(5, 2)

    def forward(self, x):
        return self.out(self.norm(self.hidden(x)).relu())


def test_a_module():
    model = Small().eval()
    traced = tx.jit.trace(model, rand(3, 4))
    names = [v.name for v in traced.graph.constants]
    assert {"hidden_weight", "hidden_bias", "out_weight", "norm_running_mean"} <= set(names)
    x = rand(7, 4)
    equal(traced(x), model(x))
    traced(x).sum().backward()
    assert model.hidden.weight.grad is not None


def test_a_module_in_training_changes_its_buffers():
    model, other = Small(), Small()
    other.load_state_dict(model.state_dict())
    traced = tx.jit.trace(model, rand(3, 4))
    assert model.norm.num_batches_tracked.item() == 0
    for _ in range(2):
        x = rand(6, 4)
        equal(traced(x), other(x))
    for name, buffer in model.named_buffers():
        equal(buffer, dict(other.named_buffers())[name])
    assert model.norm.num_batches_tracked.item() == 2


def test_a_step_of_training():
    model = Small().eval()
    parameters = list(model.parameters())

    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        gradients = tx.autograd.grad(loss, parameters)
        with tx.no_grad():
            for p, g in zip(parameters, gradients, strict=True):
                p -= 0.1 * g
        return loss

    traced = tx.jit.trace(step, (rand(3, 4), rand(3, 2)))
    assert len(traced.graph.mutations) == len(parameters)
    other = Small().eval()
    other.load_state_dict(model.state_dict())
    x, y = rand(8, 4), rand(8, 2)
    losses = [traced(x, y).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    model.load_state_dict(other.state_dict())
    np.testing.assert_allclose([step(x, y).item() for _ in range(5)], losses, rtol=1e-6)


@pytest.mark.parametrize(
    "make", [lambda p: tx.optim.SGD(p, lr=0.1), lambda p: tx.optim.SGD(p, lr=0.1, momentum=0.9),
             lambda p: tx.optim.Adam(p)], ids=["sgd", "momentum", "adam"]
)  # fmt: skip
def test_a_step_of_an_optimizer_is_refused_and_changes_nothing(make):
    model = Small().eval()
    optimizer = make(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        optimizer.step()

    with pytest.raises(TraceError, match=r"\.step: while tracing.*test_trace.py"):
        tx.jit.trace(step, (rand(3, 4), rand(3, 2)))
    step(rand(3, 4), rand(3, 2))  # its state has no traced tensors


def test_who_says_how_large_something_is_is_needed():
    def f(x):
        return tx.zeros(tx.nonzero(x).shape[0], 2) + 1

    traced = tx.jit.trace(f, tx.tensor([0.0, 1.0, 2.0]))
    assert traced(tx.tensor([3.0, 0.0, 1.0, 2.0])).shape == (3, 2)
    smaller = tx.passes.optimize(traced.graph).graph
    assert tx.graph.Interpreter(smaller).run(tx.ones(5))[0].shape == (5, 2)


def test_a_trace_that_writes_refuses_arguments_that_share_memory():
    def f(a, b):
        a.add_(1)
        return b * 2

    traced = tx.jit.trace(f, (tx.ones(3), tx.ones(3)))
    w = tx.ones(4)
    for a, b in ((w, w), (w[1:], w[:2])):
        with pytest.raises(tx.errors.ArgumentError, match="writes into a, whose memory b shares"):
            traced(a, b)
    assert (w == 1).all()
    assert traced(w, tx.ones(4)).tolist() == [2, 2, 2, 2]


def test_tracing_leaves_the_random_numbers_alone_and_sees_a_seed_set_inside():
    def seeded(x):
        tx.manual_seed(3)
        return x * tx.rand(())

    state = tx.get_rng_state()
    with pytest.raises(tx.errors.TraceError, match="is not that of the function"):
        tx.jit.trace(seeded, tx.ones(2))
    assert (tx.get_rng_state() == state).all()


def test_an_open_size_is_an_int_where_a_function_asks():
    def f(x):
        n = x.shape[0]
        if not isinstance(n, int) or not isinstance(n, Integral) or n in (1, 2, 5):
            return x * 0
        return x + n

    traced = tx.jit.trace(f, tx.ones(3))
    assert traced(tx.ones(4)).tolist() == f(tx.ones(4)).tolist() == [5.0] * 4
    with pytest.raises(GuardError, match="n != 5"):
        traced(tx.ones(5))
