"""Channels side by side between convolutions: what a program gives is what eager code gives, in eager's strides."""

import numpy as np
import pytest

import thixo as tx
from thixo.codegen.builder import Builder
from thixo.codegen.interpret import interpret
from thixo.codegen.kernel import Kernel, Operand
from thixo.codegen.rowwise_walks import walks
from thixo.graph.ir import Graph
from thixo.runtime import program
from thixo.runtime.layouts import last_strides
from thixo.runtime.sunk import Sunk

F = tx.nn.functional
static = tx.static


@pytest.fixture
def laid_out(monkeypatch):
    """The names of the values that programs lay out with their channels side by side."""
    names: set[str] = set()
    choose = program.channels_last

    def seen(graph: Graph, *rest):
        found = choose(graph, *rest)
        names.update(v.name for v in found)
        return found

    monkeypatch.setattr(program, "channels_last", seen)
    return names


def numbers(*shape, dtype=tx.float32, scale=1.0):
    made = np.random.default_rng(sum(shape)).standard_normal(shape) * scale
    return tx.tensor(made.astype(np.float32)).to(dtype)


def block(p, x):
    """A residual block as networks have it: strides, a single tap, statistics of the batch."""

    def part(x, name, stride):
        w = p[name]
        y = F.conv2d(x, w, None, stride, w.shape[-1] // 2)
        return F.batch_norm(y, None, None, p[name + "s"], p[name + "b"], True)

    x = F.relu(part(x, "a", 1))
    y = part(F.relu(part(x, "b", 2)), "c", 1)
    x = F.relu(part(x, "d", 2) + y)
    return F.relu(x + part(x, "e", 1)).mean((2, 3)) @ p["out"]


def parameters(first, second, dtype):
    shapes = {"a": (first, 3, 3), "b": (second, first, 3), "c": (second, second, 3)}
    shapes |= {"d": (second, first, 1), "e": (second, second, 1)}
    p = {}
    for name, (o, i, k) in shapes.items():
        p[name] = numbers(o, i, k, k, dtype=dtype, scale=(2 / (i * k * k)) ** 0.5)
        p[name + "s"], p[name + "b"] = numbers(o, dtype=dtype) + 1.5, numbers(o, dtype=dtype)
    p["out"] = numbers(second, 3, dtype=dtype)
    return p


CASES = [
    (8, 16, 32, 16, tx.float32),
    (3, 16, 48, 9, tx.float32),
    (5, 20, 24, 14, tx.float32),
    (2, 8, 16, 7, tx.float64),
    (9, 16, 64, 32, tx.float32),  # long enough for a kernel of each walk
    (11, 20, 40, 37, tx.float32),  # the same, with channels and places that fill no vectors
]


@pytest.mark.parametrize(("batch", "first", "second", "size", "dtype"), CASES)
def test_training_is_that_of_eager_code(batch, first, second, size, dtype, laid_out):
    p = parameters(first, second, dtype)
    x, target = numbers(batch, 3, size, size, dtype=dtype), tx.arange(batch) % 3
    with static.Graph() as g:
        place = static.placeholder(x.shape, dtype, "x")
        wanted = static.placeholder(target.shape, tx.int64, "target")
        kept = {n: static.variable(t, n) for n, t in p.items()}
        loss = F.cross_entropy(block(kept, place), wanted)
        fetches = [loss, *static.gradients(loss, list(kept.values()))]
    q = {n: t.clone().requires_grad_() for n, t in p.items()}
    expected = F.cross_entropy(block(q, x), target)
    expected.backward()
    expected = [expected.detach(), *(t.grad for t in q.values())]
    first_bits = None
    threads = tx.get_num_threads()
    try:
        for count in (1, 2):
            tx.set_num_threads(count)
            made = static.Session(g).run(fetches, {place: x, wanted: target})
            assert {"convolve", "relu", "convolve_transposed"} <= laid_out
            bits = [t.numpy().tobytes() for t in made]
            first_bits = first_bits or bits
            assert bits == first_bits  # whatever the number of threads
    finally:
        tx.set_num_threads(threads)
    tolerance = 1e-10 if dtype == tx.float64 else 2e-4
    for one, other in zip(made, expected, strict=True):
        assert one.stride() == other.stride()
        error = (one - other).abs().max() / (other.abs().max() + 1e-6)
        assert float(error) < tolerance


@pytest.mark.parametrize("executor", ["sunk", "ready"])
def test_what_is_fetched_lies_as_eager_code_lays_it(executor, laid_out):
    x, w = numbers(2, 16, 6, 6), numbers(16, 16, 3, 3, scale=0.1)
    with static.Graph() as g:
        place = static.placeholder(x.shape, tx.float32, "x")
        kept = static.variable(w, "w")
        first = F.conv2d(place, kept, None, 1, 1)
        second = F.conv2d(F.relu(first), kept, None, 1, 1)
        third = F.conv2d(F.relu(second), kept, None, 1, 1)
        seen = second.reshape(2, -1)
        fetches = [first, seen, third]
    made = static.Session(g, executor=executor).run(fetches, {place: x})
    first = F.conv2d(x, w, None, 1, 1)
    second = F.conv2d(F.relu(first), w, None, 1, 1)
    expected = first, second.reshape(2, -1), F.conv2d(F.relu(second), w, None, 1, 1)
    for one, other in zip(made, expected, strict=True):
        assert one.is_contiguous()
        assert one.stride() == other.stride()
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)
    assert "convolve" not in laid_out


def test_a_poisoned_arena_shows_nothing(laid_out):
    x, w = numbers(4, 16, 10, 10), numbers(16, 16, 3, 3, scale=0.1)
    with static.Graph() as g:
        place = static.placeholder(x.shape, tx.float32, "x")
        y = place
        for _ in range(4):
            y = F.relu(F.conv2d(y, static.constant(w), None, 1, 1) + 0.1)
        total = y.sum()
    graph = static.Session(g).program([total])
    found = Sunk(graph, poisoned=True)([x])[0]
    y = x
    for _ in range(4):
        y = F.relu(F.conv2d(y, w, None, 1, 1) + 0.1)
    np.testing.assert_allclose(float(found), float(y.sum()), rtol=1e-5)
    assert laid_out


def test_weights_that_are_not_finite():
    """Their gradient is that of the definition, in which no zeros of padding take part."""
    x, w = numbers(2, 16, 6, 6), numbers(16, 16, 3, 3)
    w[3, 4, 1, 1] = float("inf")
    with static.Graph() as g:
        place, kept = static.placeholder(x.shape, tx.float32, "x"), static.variable(w, "w")
        y = F.relu(place * 2.0)
        loss = F.conv2d(F.relu(F.conv2d(y, kept, None, 1, 0)), kept, None, 1, 0).sum()
        slope = static.gradients(loss, [place])[0]
    made = static.Session(g).run(slope, {place: x})
    x.requires_grad_()
    y = F.relu(x * 2.0)
    F.conv2d(F.relu(F.conv2d(y, w, None, 1, 0)), w, None, 1, 0).sum().backward()
    assert np.array_equal(np.isnan(made.numpy()), np.isnan(x.grad.numpy()))


def test_strides_of_channels_side_by_side():
    x = tx.zeros(2, 5, 6, 7, 3).permute(0, 4, 1, 2, 3)
    assert tuple(last_strides(list(x.shape))) == x.stride()


def test_a_kernel_for_each_walk_does_what_the_kernel_does():
    b = Builder()
    x, scale, count = b.load(0, "f32"), b.load(1, "f32"), b.columns().cast("f32")
    mean = b.reduce("add", x) / count
    centred = x - mean
    var = b.reduce("add", centred * centred) / count
    b.store(2, centred * var * scale)
    b.store(3, mean)
    read, each = Operand("f32"), Operand("f32", "row")
    results = Operand("f32", "full", True), Operand("f32", "row", True)
    kernel = Kernel((read, each, *results), tuple(b.instructions))
    made = walks(kernel)
    assert made is not None
    assert len(made.stages) == 2  # the variance does not wait for the mean
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(s).astype(np.float32) for s in ((5, 40), (5, 1))]
    expected, found = ([np.zeros((5, n), np.float32) for n in (40, 1)] for _ in range(2))
    interpret(kernel, [*given, *expected])
    arrays = [*given, *found]
    kept = [np.zeros((5, 1), np.float32) for _ in made.kept]
    for stage in made.stages:
        interpret(stage.kernel, [arrays[i] if i >= 0 else kept[-1 - i] for i in stage.operands], 40)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


def test_one_walk_is_no_chain_of_kernels():
    b = Builder()
    b.store(1, b.reduce("add", b.load(0, "f32")))
    kernel = Kernel((Operand("f32"), Operand("f32", "row", True)), tuple(b.instructions))
    assert walks(kernel) is None


@pytest.mark.parametrize("dtype", [tx.float32, tx.float64, tx.float16])
def test_largest_values_between_convolutions(dtype, laid_out):
    x = numbers(2, 3, 17, 18, dtype=dtype)
    first, second = (numbers(*s, dtype=dtype, scale=0.2) for s in ((24, 3, 7, 7), (16, 24, 3, 3)))

    def model(x, first, second):
        y = F.max_pool2d(F.relu(F.conv2d(x, first, None, 2, 3)), 3, 2, 1)
        return F.conv2d(y, second, None, 1, 1)

    with static.Graph() as g:
        place = static.placeholder(x.shape, dtype, "x")
        pooled = model(place, static.constant(first), static.constant(second))
    call = static.Session(g).bind(pooled, [place])
    found, expected = call(x), model(x, first, second)
    tolerance = 1e-2 if dtype is tx.float16 else 1e-5
    np.testing.assert_allclose(
        found.double().numpy(), expected.double().numpy(), tolerance, tolerance
    )
    assert bool(laid_out) == (dtype is not tx.float16)


def test_results_of_one_kernel_lie_alike(laid_out):
    """One that is looked at through a view, and one that a convolution reads, come of the same fused kernel."""
    with static.Graph() as g:
        x = static.placeholder((2, 8, 5, 4), tx.float32, "x")
        v = static.placeholder((8, 8, 3, 3), tx.float32, "v")
        y = F.conv2d(x, v, padding=1)
        z = tx.tanh(y)
        looked_at = (y + z).reshape(2, 8, 20)
        last = F.conv2d(z, v, padding=1)
    feeds = numbers(2, 8, 5, 4), numbers(8, 8, 3, 3, scale=0.1)
    got = static.Session(g).bind([last, looked_at], [x, v])(*feeds)
    y = F.conv2d(*feeds, padding=1)
    z = tx.tanh(y)
    wanted = F.conv2d(z, feeds[1], padding=1), (y + z).reshape(2, 8, 20)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-5)
