"""Sizes that are open in a graph and plain numbers for Python: as keys, under conditions, as bits."""

import pytest

import thixo as tx


def in_containers(v):
    n = v.shape[0]
    seen, table = {2, 3}, {3: "three", n: "n"}
    seen.add(n)
    seen.discard(n + 1)
    table[n * 2 - 4] = "other"
    found = len(seen), sorted(table), table.get(3), n in {3, 5}, n in {4: 1}, len({(n, 1), (3, 1)})
    return (
        found,
        len({q % 2 for q in (n, 1, 2)}),
        {q: q for q in (n, 3)},
        len(frozenset([n, 3]) | {4}),
    )


def as_numbers(v):
    n = v.shape[0]
    return n & 1, 1 << n, abs(n - 4), n ^ 3


def behind_a_tensors_condition(v):
    n = 3 - v.shape[0]
    turn = 0
    while v.sum() < 100 and turn < n % 5:
        turn += 1
        n = 4
    return n, (v.sum() if v.sum() < 100 and n > 0 else v.sum() * 2)


def divided_by(v):
    n = v.shape[0] * 3 % 9
    found = []
    for divide in (lambda: 6 // n, lambda: 7 % n, lambda: divmod(v.shape[0], n), lambda: n // 0):
        try:
            found.append(divide())
        except ZeroDivisionError as error:
            found.append(str(error))
    try:
        6 // n  # nobody looks at it
        found.append("divided")
    except ZeroDivisionError:
        pass
    return found


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.parametrize(
    "function", [in_containers, as_numbers, behind_a_tensors_condition, divided_by]
)
def test_every_size_gives_what_python_gives(function, make):
    captured = make(function)
    for size in (3, 4, 2, 5, 3, 1, 6, 7):
        v = tx.ones(size)
        assert str(captured(v)) == str(function(v))


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
def test_a_size_of_zero_is_no_divisor(make):
    captured = make(lambda v: v * (12 // (v.shape[0] - 3)))
    assert captured(tx.ones(5)).tolist() == [6] * 5
    with pytest.raises(ZeroDivisionError):
        captured(tx.ones(3))


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
def test_gradients_of_loops_whose_variables_become_others_of_equal_size(make):
    def f(x, y, v, w):
        for _ in v:
            return v * 1
        for _ in range(2):
            while x < 4:
                v = v if y < 2 else w
                return w
        return v

    def gradients(call, size):
        given = [tx.ones(*shape, requires_grad=True) for shape in ((), (), (size,), (size,))]
        call(*given).sum().backward()
        return [None if t.grad is None else t.grad.tolist() for t in given]

    captured = make(f)
    for size in (3, 4, 5):
        assert gradients(captured, size) == gradients(f, size)
