"""Numbers from outside that are another one at each call: after some values they are inputs, and nothing is captured again."""

import copy

import pytest

import thixo as tx
from thixo import nn
from thixo.capture.open_numbers import VALUES

CALLS = 9
total = 0


class Counting(nn.Module):
    """Counts its calls, and computes with what it counted."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.calls, self.rate = 0, 0.5

    def forward(self, x):
        self.calls += 1
        self.rate *= 0.9
        if self.calls % 4 == 0:
            x = x * 2
        return self.layer(x) * self.rate + self.calls


def test_attributes():
    tx.manual_seed(0)
    eager = Counting()
    module = copy.deepcopy(eager)
    compiled = tx.compile(module.forward, fullgraph=True)
    for _ in range(CALLS):
        x = tx.randn(2, 3)
        tx.testing.assert_close(compiled(x), eager(x))
        assert (module.calls, module.rate) == (eager.calls, eager.rate)
        assert type(module.calls) is int
    assert len(compiled.graphs) == VALUES


def test_arguments():
    def power(x, n, scale=1.0):
        for _ in range(n):
            x = x * scale
        return x.sum(), n + 1

    compiled = tx.compile(power, fullgraph=True)
    for n in range(CALLS):
        (value, following), (wanted, _) = (
            compiled(tx.ones(2), n, scale=1.0 + n / 8),
            power(tx.ones(2), n, 1.0 + n / 8),
        )
        tx.testing.assert_close(value, wanted)
        assert following == n + 1
    assert len(compiled.graphs) == VALUES


def test_globals_and_cells():
    count = 0

    def add(x):
        global total
        nonlocal count
        total += 1
        count += 2
        return x + total * 10 + count

    compiled = tx.compile(add, fullgraph=True)
    assert [compiled(tx.zeros(1)).item() for _ in range(CALLS)] == [
        12.0 * (i + 1) for i in range(CALLS)
    ]
    assert (total, count) == (CALLS, 2 * CALLS)
    assert len(compiled.graphs) == VALUES


def test_changed_on_some_paths():
    def make():
        seen = 0

        def f(x):
            nonlocal seen
            if x.sum() > 0:
                seen += 1
            return x * seen

        return f

    compiled, eager = tx.compile(make()), make()
    for i in range(CALLS):
        x = tx.tensor([1.0 if i % 2 else -1.0])
        assert compiled(x).item() == eager(x).item()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, n: x.reshape(n, -1),
        lambda x, n: [x, x + 1, x + 2, x + 3, x + 4][n],
        lambda x, n: {1: x, 2: -x}.get(n),
        lambda x, n: (x, f"{n}", isinstance(n, int)),
        lambda x, n: tx.zeros(n) + x[:n],
        lambda x, n: x**n,
        lambda x, n: x // n,
    ],
    ids=["sizes", "elements", "keys", "text", "slices", "powers", "quotients"],
)
def test_numbers_that_decide_the_program(f):
    """What cannot be captured so is captured for each value, with the same result."""
    compiled, x = tx.compile(f), tx.arange(1.0, 13.0)
    for n in (1, 2, 3, 4, 2, 1):
        found, wanted = compiled(x, n), f(x, n)
        if isinstance(wanted, tuple):
            assert found[1:] == wanted[1:]
            found, wanted = found[0], wanted[0]
        assert (found is None) == (wanted is None)
        if wanted is not None:
            tx.testing.assert_close(found, wanted)


def test_another_type_is_another_program():
    compiled = tx.compile(lambda x, n: x + n)
    whole = tx.ones(2, dtype=tx.int64)
    for n in (1, 2, 3, 4, 0.5, 1.5, True, 2**70 // 2**69, 7):
        found, wanted = compiled(whole, n), whole + n
        assert found.dtype is wanted.dtype
        tx.testing.assert_close(found, wanted)


def test_not_where_sizes_are_fixed():
    compiled = tx.compile(lambda x, n: x + n, dynamic=False)
    for n in range(5):
        compiled(tx.ones(2), n)
    assert len(compiled.graphs) == 5


def test_explain_says_so():
    compiled = tx.compile(lambda x, n: x + n)
    for n in range(4):
        compiled(tx.ones(2), n)
    assert "n was 0, is another whole number, and may be any from now on" in str(
        tx.explain(compiled, tx.ones(2), 5)
    )
