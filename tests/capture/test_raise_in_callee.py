"""Exceptions inside of try that functions raise which are called there, where a tensor says so."""

import pytest

import thixo as tx


def checked(x):
    if x.min() < 0:
        raise ValueError("negative")
    return x.sqrt()


def both(x):
    y = checked(x - 1)
    if y.sum() > 3:
        raise TypeError("big")
    return y + 1


class Counter:
    def __init__(self):
        self.calls = 0

    def small(self, x):
        self.calls += 1
        if x.sum() > 3:
            raise KeyError("k")
        self.calls += 1


def returned(x):
    try:
        return checked(x)
    except ValueError as error:
        return x / (10 if "negative" in str(error) else 1)


def assigned(x):
    try:
        y = checked(x)
        z = y * 2
    except (ValueError, TypeError):
        z = x * 0
    else:
        z = z + 1
    finally:
        x = x * 1
    return z


def deeper(x):
    try:
        r = both(x)
    except ValueError:
        return x
    except TypeError:
        return x * 2
    return r * 3


def of_an_object(x):
    counter = Counter()
    try:
        counter.small(x)
    except KeyError:
        return x * counter.calls
    return x + counter.calls


def sure(x):
    assert x.min() > 0
    return x + 1


def an_assertion(x):
    try:
        return sure(x)
    except AssertionError:
        return x


def beside_python(x):
    try:
        n = int("3")
        y = checked(x)
        return y * n
    except ValueError:
        return x


@pytest.mark.parametrize("way", [tx.jit.script, tx.compile], ids=["script", "compile"])
@pytest.mark.parametrize(
    "f",
    [returned, assigned, deeper, of_an_object, an_assertion, beside_python],
    ids=lambda f: f.__name__,
)
def test_as_in_python(way, f):
    captured = way(f)
    for values in ([4.0, 9.0], [-4.0, 9.0], [1.0, 1.1], [5.0, 1.2]):
        found = []
        for one in (f, captured):
            x = tx.tensor(values, requires_grad=True)
            made = one(x)
            (gradient,) = tx.autograd.grad(made.sum(), x)
            found.append((made.tolist(), gradient.tolist()))
        assert found[0] == found[1]
    if way is tx.jit.script:
        assert captured.graph is not None
