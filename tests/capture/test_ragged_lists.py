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


def cut_and_changed(v):
    found = [p for p in v if p > 1]
    parts = found[:1], found[1:], found[-1:], found[:-1], found[-2:2]
    if found:
        found[0] = v.sum()
        found[-1] = found[-1] * 0.5
    if len(found) > 1:
        found.pop()
    found.insert(0, v[0])
    found.reverse()
    return parts, found, [p * i for i, p in enumerate(found[:2], 1)]


def shortened(v):
    found = [p for p in v if p > 1]
    del found[1:]
    return found, len(found)


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.parametrize("function", [cut_and_changed, shortened])
@pytest.mark.filterwarnings("error")
def test_cut_and_changed(function, make):
    captured = make(function)
    for values in ([1.0, 1.5, 0.5], [1.7, 1.0, 2.0], [1.2, 1.7, 1.1], [0.5, 0.5, 0.5]):
        v = tx.tensor(values)
        assert str(captured(v)) == str(function(v))


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
def test_nothing_to_take_is_an_error(make):
    def f(v):
        found = [p for p in v if p > 1]
        return found.pop(), found

    captured = make(f)
    assert str(captured(tx.tensor([1.0, 1.5]))) == str(f(tx.tensor([1.0, 1.5])))
    with pytest.raises(IndexError):
        captured(tx.tensor([1.0, 0.5]))


def test_a_list_with_many_elements_that_may_be_missing_is_not_taken_apart():
    def f(v):
        found = []
        for i in range(4):
            for p in found[:4]:
                v = v + p
            for p in v:
                if p > i:
                    found.append(p)
        return v

    with pytest.raises(tx.errors.CaptureError, match="the data decide how long it is"):
        tx.jit.script(f)(tx.tensor([0.5, 1.5, 2.5, 3.5, 4.5, 5.5]))
