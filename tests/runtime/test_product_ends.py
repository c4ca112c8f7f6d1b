"""Programs of products with what follows them: the bits of the operators one by one, on any number of threads."""

import numpy as np
import pytest

import thixo as tx

F = tx.nn.functional


@pytest.fixture(autouse=True)
def threads():
    before = tx.get_num_threads()
    yield
    tx.set_num_threads(before)


def rand(*shape, dtype=tx.float32):
    made = np.random.default_rng(sum(shape)).standard_normal(shape)
    return tx.tensor(made.astype(np.float32)).to(dtype)


def both(function, given, constant=None):
    """Programs with and without the pass; one argument may be a constant."""
    calls = []
    for off in ([], ["product_epilogues"]):
        with tx.static.Graph() as g:
            places = [tx.static.placeholder(t.shape, t.dtype, f"x{i}") for i, t in enumerate(given)]
            args = list(places)
            if constant is not None:
                args[constant] = tx.static.constant(given[constant])
            out = function(*args)
        calls.append(tx.static.Session(g, off=off).bind(out, places))
    return calls


ENDS = {
    "gelu": lambda y, scale, more: F.gelu(y),
    "residual": lambda y, scale, more: y + more,
    "scaled": lambda y, scale, more: F.relu(y * scale - 3) * more,
}
SHAPES = [
    (1, 300, 400),
    (5, 7, 9),
    (60, 70, 3),
    (64, 64, 64),
    (130, 800, 150),
    (700, 90, 200),
    (40, 1, 33),
    (3, 0, 4),
]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [tx.float32, tx.float64, tx.bfloat16, tx.float16], ids=str)
def test_bits_are_those_of_single_steps(end, shape, dtype):
    m, k, n = shape
    given = [rand(*s, dtype=dtype) for s in ((m, k), (n, k), (n,), (n,), (m, n))]

    def f(x, w, b, scale, more):
        return ENDS[end](F.linear(x, w, b), scale, more)

    for constant in (None, 1):
        ended, plain = both(f, given, constant)
        for count in (1, 2, 3, 7):
            tx.set_num_threads(count)
            a, c = ended(*given), plain(*given)
            assert tx.equal(a, c)
    expected = f(*(t.double() for t in given))
    error = 1e-4 if dtype in (tx.float32, tx.float64) else 0.3
    np.testing.assert_allclose(a.double().numpy(), expected.numpy(), rtol=error, atol=error * 10)


def test_batches_and_views():
    x, w, more = rand(2, 3, 40, 16), rand(16, 24), rand(2, 3, 40, 24)
    for f in (
        lambda x, w, more: (x @ w).tanh() + more,
        lambda x, w, more: (x.transpose(0, 1) @ w).tanh() + more.transpose(0, 1),
        lambda x, w, more: (x @ w).tanh() + more[:, :1],
        lambda x, w, more: (x @ w[None].expand(3, 16, 24)).tanh() * more,
        lambda x, w, more: ((x @ w).transpose(-1, -2) + more.transpose(-1, -2)).tanh(),
    ):
        ended, plain = both(f, [x, w, more])
        for count in (1, 2, 3):
            tx.set_num_threads(count)
            assert tx.equal(ended(x, w, more), plain(x, w, more))


def test_weights_that_are_read_and_replaced():
    """The result is never made where something lies that the end still reads."""
    with tx.static.Graph() as g:
        x = tx.static.placeholder((8, 6), tx.float32, "x")
        w = tx.static.variable(rand(8, 8), "w")
        new = w - 0.1 * (x @ x.transpose(0, 1))
        done = tx.static.assign(w, new)
        out = w.sum()
    call = tx.static.Session(g).bind([out, done], [x])
    given, expected = rand(8, 6), rand(8, 8)
    for _ in range(3):
        got = call(given)[0]
        np.testing.assert_allclose(float(got), float(expected.sum()), rtol=1e-4, atol=1e-4)
        expected = expected - 0.1 * (given @ given.transpose(0, 1))
