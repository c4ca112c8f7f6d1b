"""What a function does before it raises is done, whichever way it is captured, and the exception has the user's line."""

import traceback

import pytest

import thixo as tx

WAYS = {
    "compile": tx.compile,
    "compile_debug": tx.compile(debug=True),
    "compile_verify": tx.compile(verify=True),
    "script": tx.jit.script,
    "script_debug": lambda f: tx.jit.script(f, debug=True),
    "script_verify": lambda f: tx.jit.script(f, verify=True),
    "script_fallback": lambda f: tx.jit.script(f, fallback=True),
}


class Kept:
    count = 0


def raising(buffer, seen, kept, table, weight, x):
    seen.append(1)
    buffer.add_(1)
    kept.count += 1
    table["n"] = table.get("n", 0) + 1
    with tx.no_grad():
        weight.mul_(2)
    print("at", x.sum())
    noise = tx.rand(())
    if x.sum() > 3:
        raise ValueError("late")
    return x + 0 * noise


def world():
    return tx.zeros(2), [], Kept(), {}, tx.nn.Parameter(tx.ones(1))


def state(buffer, seen, kept, table, weight):
    return buffer.tolist(), list(seen), kept.count, dict(table), weight.tolist()


def history(f, printed):
    tx.manual_seed(0)
    given, found = world(), []
    for x in ([1.0, 2.0], [2.0, 4.0], [0.0, 1.0], [9.0, 9.0], [8.0, 8.0], [7.0, 7.0], [1.0, 1.0]):
        try:
            found.append(f(*given, tx.tensor(x)).tolist())
        except ValueError as error:
            frames = traceback.extract_tb(error.__traceback__)
            found.append((str(error), frames[-1].name, frames[-1].line))
        found.append((state(*given), tx.rand(1).item(), printed()))
    return found


@pytest.mark.parametrize("way", WAYS)
def test_all_is_done_that_comes_before(way, capsys):
    printed = lambda: capsys.readouterr().out  # noqa: E731
    assert history(WAYS[way](raising), printed) == history(raising, printed)


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_need_more_than_64_bits(way):
    def f(x):
        return int(x.sum()) ** 60

    g = WAYS[way](f)
    for x in (tx.ones(2), tx.tensor([1.0, 2.0])):
        assert g(x) == f(x)


@pytest.mark.parametrize("way", WAYS)
def test_arguments_that_share_memory(way):
    def f(y, x):
        if x.sum() > 2:
            y[0] += 1
        return y * 2 + x

    g = WAYS[way](f)
    for _ in range(3):
        a, b = tx.tensor([1.0, 2.0]), tx.tensor([1.0, 2.0])
        assert g(a[:], a).tolist() == f(b[:], b).tolist()
        assert a.tolist() == b.tolist()


def test_an_assertion_says_its_values_after_a_print(capsys):
    @tx.jit.script
    def f(x):
        print("before")
        assert x.sum() < 3, f"too large: {x.tolist()!r:>12}"
        return x

    f(tx.ones(2))
    with pytest.raises(AssertionError, match=r"too large:   .2.0, 2.0"):
        f(tx.ones(2) * 2)
    assert capsys.readouterr().out == "before\nbefore\n"
