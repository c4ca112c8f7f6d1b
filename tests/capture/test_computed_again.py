"""What the way back computes once more: it prints nothing a second time and draws no other random numbers."""

import pytest

import thixo as tx

MAKERS = [tx.jit.script, tx.compile]


def leaf(value):
    return tx.tensor(value, dtype=tx.float64, requires_grad=True)


def gradients(function, *values):
    """Of a call's result, with how the generator was left by call and way back."""
    tx.manual_seed(3)
    arguments = [leaf(v) for v in values]
    result = function(*arguments)
    after = tx.get_rng_state().tolist()
    result.backward()
    assert tx.get_rng_state().tolist() == after
    return [result.item(), after, *(a.grad.tolist() for a in arguments)]


@pytest.mark.parametrize("make", MAKERS)
def test_a_print_in_a_branch_whose_other_results_have_no_gradient(make, capsys):
    kept = []

    def f(x, y, items):
        if y > 0.6:
            items.extend([x, y])
        else:
            print("small", f"{y.item():.1f}")
        return x + y

    make(f)(leaf(1.0), leaf(0.2), kept).backward()
    assert capsys.readouterr().out == "small 0.2\n"
    assert kept == []


@pytest.mark.parametrize("make", MAKERS)
def test_a_print_in_a_long_loop(make, capsys):
    def f(x, y):
        while x < 200:
            x = x + y
            if x > 199:
                print("big")
        return x * y

    assert make(f)(leaf(1.0), leaf(1.0)).backward() is None
    assert capsys.readouterr().out == "big\n"


@pytest.mark.parametrize("make", MAKERS)
def test_random_numbers_in_a_long_loop(make):
    def f(x, y):
        while x < 200:
            x = x + y * tx.rand((), dtype=tx.float64) * y
        return x * y

    expected = gradients(f, 1.0, 1.0)
    found = gradients(make(f), 1.0, 1.0)
    assert found[1] == expected[1]
    assert found[0] == pytest.approx(expected[0])
    assert found[2:] == pytest.approx(expected[2:])


@pytest.mark.parametrize("make", MAKERS)
def test_random_numbers_of_a_size_that_a_branch_decides(make, capsys):
    def chosen(v):
        print("in")
        w = v[v > 0]
        return (w * w * tx.rand_like(w)).sum()

    def f(x, v):
        return (chosen(v) if x > 0 else v.sum()) * x

    expected = gradients(f, 1.0, [1.0, -2.0, 3.0])
    found = gradients(make(f), 1.0, [1.0, -2.0, 3.0])
    assert capsys.readouterr().out == "in\nin\n"
    assert found[:2] == [pytest.approx(expected[0]), expected[1]]
    assert found[2] == pytest.approx(expected[2])
    assert found[3] == pytest.approx(expected[3])
