"""A graph as one node of the tape: values, gradients of any order, what it keeps, writes, aliases, threads, errors."""

import gc

import numpy as np
import pytest

import thixo as tx
from thixo.capture.joint import GraphFunction
from thixo.errors import AutogradError, InplaceError
from thixo.nn import functional as F


def compiled(f, *example, **options):
    """The function as one node, of positional tensors; its results as a tuple."""
    graph = tx.jit.trace(f, example, check=False).graph
    function = GraphFunction(graph, **options)
    call = lambda *tensors: tuple(function(tensors))  # noqa: E731
    call.function = function
    return call


def rand(*shape, grad=False, dtype=tx.float64, seed=0):
    made = np.random.default_rng((seed, *shape)).normal(size=shape)
    if dtype.is_complex:
        made = made + 1j * np.random.default_rng((seed + 1, *shape)).normal(size=shape)
    return tx.tensor(made, dtype=dtype, requires_grad=grad)


def leaves(result):
    return result if isinstance(result, tuple) else (result,)


def arrays(tensors):
    return [None if t is None else t.detach().numpy().copy() for t in tensors]


def orders(f, inputs, order=2):
    """Results, and gradients of a sum of squares of what went before, up to an order."""
    wanted = [t for t in inputs if t.requires_grad]
    made = leaves(f(*inputs))
    found = [arrays(made)]
    for _ in range(order):
        parts = [(t.abs() ** 2).sum() for t in made if t is not None and t.requires_grad]
        made = tx.autograd.grad(
            sum(parts[1:], parts[0]), wanted, create_graph=True, allow_unused=True
        )
        found.append(arrays(made))
    return found


def agree(found, expected, tolerance=1e-9):
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert [m is None for m in mine] == [t is None for t in theirs]
        for a, b in zip(mine, theirs, strict=True):
            if a is not None:
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def _chain(x):
    return (x.sin().exp() * x).tanh()


def _product(x, w):
    return ((x @ w).tanh() @ w.t()).sum(1), x.sum()


def _broadcast(x, b):
    return (x * b).sigmoid() + b, (x - x.mean(0)) / (1 + x.var(0))


def _views(x, w):
    y = x.t()[1:, ::2]
    return y.exp().sum(0), x.reshape(-1)[::3] * 2, w[0] * x[:, 0].sum()


def _cut(x, w):
    with tx.no_grad():
        scale = x.max() * 2
    return x * scale + x.detach() * w


def _rows(x, w):
    return F.softmax(x @ w, -1).log(), F.layer_norm(x, (x.shape[-1],)) @ w


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (_chain, [(5, 4)]),
        (_product, [(5, 4), (4, 6)]),
        (_broadcast, [(5, 4), (4,)]),
        (_views, [(5, 4), (3, 2)]),
        (_cut, [(5, 4), (5, 4)]),
        (_rows, [(5, 4), (4, 6)]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_values_and_gradients_of_three_orders(f, shapes):
    made = compiled(f, *(rand(*s) for s in shapes))
    for turn in range(2):  # the second call finds everything made
        inputs = [rand(*s, grad=True, seed=turn) for s in shapes]
        agree(orders(made, inputs, 3), orders(f, inputs, 3))
    for i in range(len(shapes)):  # only some need gradients
        inputs = [rand(*s, grad=i == k) for k, s in enumerate(shapes)]
        agree(orders(made, inputs), orders(f, inputs))
    other = [tuple(7 if n == 5 else n for n in s) for s in shapes]
    inputs = [rand(*s, grad=True) for s in other]
    agree(orders(made, inputs), orders(f, inputs))
    inputs = [rand(*s) for s in shapes]
    agree([arrays(made(*inputs))], [arrays(leaves(f(*inputs)))])
    assert not any(t.requires_grad for t in made(*inputs))


def test_complex_gradients():
    def f(z, w):
        return (z * w).exp().real + (z.conj() @ w).abs(), z.imag * 2

    made = compiled(f, rand(4, 4, dtype=tx.complex128), rand(4, 4, dtype=tx.complex128))
    inputs = [rand(4, 4, grad=True, dtype=tx.complex128, seed=i) for i in range(2)]
    agree(orders(made, inputs), orders(f, inputs))


def test_parameters_are_read_at_each_call():
    model = tx.nn.Sequential(tx.nn.Linear(4, 8), tx.nn.Tanh(), tx.nn.Linear(8, 2))
    made = compiled(model, tx.ones(3, 4))
    optimizer = tx.optim.SGD(model.parameters(), lr=0.1)
    x = rand(6, 4, dtype=tx.float32)
    for _ in range(3):
        losses = []
        for f in (model, lambda x: made(x)[0]):
            optimizer.zero_grad()
            loss = (f(x) ** 2).mean()
            loss.backward()
            losses.append([loss.item(), *(p.grad.numpy().copy() for p in model.parameters())])
        for mine, theirs in zip(losses[1], losses[0], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)
        optimizer.step()


# ---- the tape


def test_it_is_one_node_with_the_graph_s_name():
    y = compiled(_chain, rand(3))(rand(3, grad=True))[0]
    assert "_chainBackward" in repr(y.grad_fn)
    assert len(y.grad_fn.next_functions) == 1


def test_results_that_are_not_used_cost_nothing_and_give_nothing():
    def f(a, b):
        return a.exp(), b.sqrt(), a.argmax()

    made = compiled(f, rand(3), rand(3))
    a, b = rand(3, grad=True), tx.zeros(3, dtype=tx.float64, requires_grad=True)
    first, second, place = made(a, b)
    assert (first.requires_grad, second.requires_grad, place.requires_grad) == (True, True, False)
    mine = tx.autograd.grad(first.sum(), [a, b], allow_unused=True)
    np.testing.assert_allclose(mine[0].numpy(), a.exp().detach().numpy())
    assert mine[1] is None  # and not 0 * inf


def test_hooks_run_and_can_change_gradients():
    made = compiled(_product, rand(5, 4), rand(4, 6))
    seen = []
    for f in (_product, made):
        x, w = rand(5, 4, grad=True), rand(4, 6, grad=True)
        w.register_hook(lambda g: g * 3)
        y = f(x, w)[0]
        y.register_hook(lambda g: g + 1)
        y.sum().backward()
        seen.append([x.grad.numpy(), w.grad.numpy()])
    for mine, theirs in zip(*seen, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)


def test_a_second_backward_needs_retain_graph():
    made = compiled(_chain, rand(3))
    x = rand(3, grad=True)
    y = made(x)[0].sum()
    y.backward(retain_graph=True)
    once = x.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * once)
    with pytest.raises(AutogradError, match="already freed by an earlier backward"):
        y.backward()


def test_what_is_kept_must_not_be_overwritten():
    def f(x, w):
        return x * w, x.exp()

    made = compiled(f, rand(3), rand(3))
    messages = []
    for call in (f, made):
        x, w = rand(3) * 1, rand(3, grad=True)
        y = call(x, w)[0].sum()
        x.add_(1)
        with pytest.raises(InplaceError, match=r"overwritten in place .*test_joint.py") as error:
            y.backward()
        messages.append(str(error.value).partition(": a value it needs")[2])
    assert messages[0].split(", saved")[0] == messages[1].split(", saved")[0]
    for call in (f, made):  # a result that is kept
        y = call(rand(3, grad=True), rand(3))[1]
        with tx.no_grad():
            y.add_(1)
        with pytest.raises(InplaceError):
            y.sum().backward()


def test_what_eager_code_does_not_keep_may_be_overwritten():
    made = compiled(lambda x: x.exp().tanh().sigmoid(), rand(3))
    x = rand(3, grad=True)
    copy = x * 1
    y = made(copy)[0].sum()
    copy.detach().zero_()
    y.backward()
    expected = tx.autograd.grad(x.exp().tanh().sigmoid().sum(), [x])[0]
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy())


def test_gradients_of_gradients_by_what_was_kept():
    made = compiled(lambda x: x.exp().tanh(), rand(3))
    x = rand(3, grad=True)
    (g,) = tx.autograd.grad(made(x)[0].sum(), [x], create_graph=True)
    assert g.requires_grad
    (second,) = tx.autograd.grad(g.sum(), [x], create_graph=True)
    (third,) = tx.autograd.grad(second.sum(), [x])
    eager = x.exp().tanh().sum()
    for found in (g, second, third):
        (eager,) = tx.autograd.grad(eager.sum(), [x], create_graph=True)
        np.testing.assert_allclose(found.detach().numpy(), eager.detach().numpy(), rtol=1e-9)


# ---- what is kept


def held(f, inputs) -> int:
    """Bytes that live after a forward call besides its inputs and results."""
    results = leaves(f(*inputs))  # makes what is made once
    del results
    gc.collect()
    before = tx._core.memory_stats()["in_use"]
    results = leaves(f(*inputs))
    gc.collect()
    after = tx._core.memory_stats()["in_use"]
    return after - before - sum(t.numel() * t.dtype.itemsize for t in results)


def test_a_chain_of_pointwise_keeps_only_its_input():
    def f(x):
        for _ in range(5):
            x = (x.sin() * x).tanh().exp()
        return x.sum()

    made = compiled(f, rand(64, 64))
    x = rand(64, 64, grad=True)
    assert held(made, [x]) < 64
    assert held(f, [x]) > 5 * x.numel() * 8
    (one,) = made.function._recorded.values()
    assert [v.name for v in one.halves.kept] == ["x"]


def test_an_mlp_keeps_no_more_than_eager():
    model = tx.nn.Sequential(
        tx.nn.Linear(64, 96), tx.nn.ReLU(), tx.nn.Linear(96, 96), tx.nn.GELU(), tx.nn.Linear(96, 8)
    )
    made = compiled(model, tx.ones(32, 64))
    x = rand(32, 64, dtype=tx.float32)
    mine, theirs = held(made, [x]), held(model, [x])
    assert mine <= theirs
    assert mine <= 4 * 32 * (96 + 96 + 96) + 512


class Block(tx.nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = tx.nn.LayerNorm(size), tx.nn.LayerNorm(size)
        self.qkv, self.out = tx.nn.Linear(size, 3 * size), tx.nn.Linear(size, size)
        self.up, self.down = tx.nn.Linear(size, 4 * size), tx.nn.Linear(4 * size, size)

    def forward(self, x):
        batch, time, size = x.shape
        q, k, v = self.qkv(self.first(x)).split(size, -1)
        q, k, v = (
            t.reshape(batch, time, self.heads, size // self.heads).transpose(1, 2)
            for t in (q, k, v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, time, size))
        return x + self.down(F.gelu(self.up(self.second(x))))


def test_a_transformer_block_keeps_no_more_than_eager():
    block = Block(32, 4)
    graph = tx.jit.trace(block, tx.ones(2, 16, 32), dynamic=False, check=False).graph
    function = GraphFunction(graph)
    made = lambda x: tuple(function([x]))  # noqa: E731
    x = rand(2, 16, 32, dtype=tx.float32)
    assert held(made, [x]) <= held(block, [x])
    grads = []
    for f in (block, lambda x: made(x)[0]):
        block.zero_grad()
        f(x).pow(2).sum().backward()
        grads.append([p.grad.numpy().copy() for p in block.parameters()])
    for mine, theirs in zip(*grads, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=2e-4)


def test_a_budget_trades_memory_for_computing():
    def f(x, *weights):
        for w in weights:
            x = (x @ w).tanh()
        return x.sum()

    inputs = [rand(64, 64, grad=True, seed=i) for i in range(6)]
    plain = compiled(f, *inputs)
    tight = compiled(f, *inputs, budget=0.5)
    assert held(tight, inputs) < 0.6 * held(plain, inputs)
    agree(orders(tight, inputs), orders(f, inputs))


def test_an_unknown_budget_is_refused():
    with pytest.raises(tx.errors.ArgumentError, match="memory budget"):
        compiled(_chain, rand(3), budget=-1)(rand(3, grad=True))


# ---- random numbers


def test_the_same_numbers_are_drawn():
    def f(x, w):
        y = F.dropout(x @ w, 0.5, training=True)
        return (y * tx.rand(y.shape, dtype=y.dtype)).tanh() + tx.randn(y.shape, dtype=y.dtype)

    made = compiled(f, rand(5, 4), rand(4, 6))
    inputs = [rand(5, 4, grad=True), rand(4, 6, grad=True)]
    states = []
    found = []
    for call in (f, made):
        tx.manual_seed(3)
        found.append(orders(call, inputs))
        states.append(tx.get_rng_state().tolist())
    agree(found[1], found[0])
    assert states[0] == states[1]
