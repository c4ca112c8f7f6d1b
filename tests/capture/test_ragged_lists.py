"""Lists whose length the data decide, gone over in other orders and with numbers."""

import pytest

import thixo as tx


def collected(v):
    found = []
    for p in v:
        found.append(p)
        if p > 1.6:
            break
    return found


def backwards(v):
    turns, last = 0, v[0]
    for q in reversed(collected(v)):
        turns = turns + 1
        last = last * 0.5 + q
    return turns, last


def numbered(v):
    total, places = v[0], 0
    for i, q in enumerate(collected(v), 1):
        total = total + q * i
        places = places + i
    return total, places


def numbered_without_ends(v):
    found = []
    for p in v:
        if p > 1:
            found.append(p)
    return [i * q for i, q in enumerate(found)], [q * 2 for q in reversed(found)]


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.parametrize("function", [backwards, numbered, numbered_without_ends])
@pytest.mark.filterwarnings("error")
def test_it_is_what_python_does(function, make):
    captured = make(function)
    for values in ([1.0, 1.5, 0.5], [1.7, 1.0, 2.0], [1.2, 1.7, 1.0]):
        v = tx.tensor(values)
        assert str(captured(v)) == str(function(v))


def test_a_list_beside_one_whose_length_the_data_decide_is_refused():
    def f(v):
        return [q * r for q, r in zip([1, 2, 3], collected(v))]  # noqa: B905

    with pytest.raises(tx.errors.CaptureError, match="the data decide how long it is"):
        tx.jit.script(f)(tx.tensor([1.0, 1.7, 1.0]))
