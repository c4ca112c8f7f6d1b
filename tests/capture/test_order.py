"""The order in which Python evaluates the parts of a statement, where they change what the others see."""

import pytest

import thixo as tx


class Box:
    def __init__(self):
        self.n, self.items, self.inner = 0, [0, 0, 0], None

    def bump(self, by=1):
        self.n += by
        return self.n


def value_before_place(v):
    box = Box()
    w = v * 1.0
    w[box.n] = v[0] * box.bump()
    box.items[box.bump() - 2] = box.n + box.bump() * 10
    return w, box.items, box.n


def value_before_owner(v):
    box, other = Box(), Box()

    def change():
        nonlocal box
        box = other
        return v.sum()

    box.n = change()
    return box.n, other.n


def targets_from_left_to_right(v):
    i, items = 0, [v[0], v[1], v[0]]
    items[i], i, items[i] = v[1] * 2, 2, v[0] * 3
    i, items[i] = 1, items[0]
    return i, items


def place_before_the_value_of_an_augmented_one(v):
    box = Box()
    box.items[box.n] += box.bump() * 5
    box.n += box.bump()
    return box.items, box.n, v


@pytest.mark.parametrize("make", [tx.jit.script, tx.compile])
@pytest.mark.parametrize(
    "function",
    [
        value_before_place,
        value_before_owner,
        targets_from_left_to_right,
        place_before_the_value_of_an_augmented_one,
    ],
)
@pytest.mark.filterwarnings("error")
def test_the_order_is_pythons(function, make):
    v = tx.tensor([1.5, -2.0])
    assert str(make(function)(v)) == str(function(v))
