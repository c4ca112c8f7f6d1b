"""A container from outside that is changed first and looked at after: what counts is what it held before the call."""

import collections

import pytest

import thixo as tx


class Listed(list):
    pass


class Holder:
    def __init__(self):
        self.data = [1]


def append_then_len(s, x):
    s.append(1)
    return x * len(s)


def add_to_a_list_of_an_object(s, x):
    s.data.append(s.data[-1] + 1)
    return x * sum(s.data)


def blind_append_to_a_list_of_an_object(s, x):
    s.data.append(2)
    return x * len(s.data)


def extend_twice(s, x):
    s.extend([1, 2])
    s.extend([3])
    return x * s[0] * len(s)


def update_then_sum(s, x):
    s.update({len(s): 2})
    return x * sum(s.values())


def add_then_len(s, x):
    s.add(7)
    s.add(len(s) + 10)
    return x * len(s)


def append_left(s, x):
    s.appendleft(2)
    return x * len(s)


def count_up(s, x):
    s["n"] += 1
    return x * s["n"]


CASES = [
    (append_then_len, lambda: [1]),
    (append_then_len, lambda: Listed([1])),
    (append_then_len, lambda: collections.UserList([1])),
    (append_then_len, lambda: collections.deque([1])),
    (append_left, lambda: collections.deque([1], maxlen=3)),
    (add_to_a_list_of_an_object, Holder),
    (blind_append_to_a_list_of_an_object, Holder),
    (extend_twice, lambda: [5]),
    (extend_twice, lambda: Listed([5])),
    (update_then_sum, lambda: {0: 1}),
    (update_then_sum, lambda: collections.OrderedDict({0: 1})),
    (update_then_sum, lambda: collections.defaultdict(int)),
    (add_then_len, lambda: {1}),
    (count_up, lambda: collections.defaultdict(int)),
    (count_up, lambda: collections.Counter()),
    (count_up, lambda: collections.OrderedDict(n=1)),
]


def results(f, s, given):
    found = [(f(s, tx.ones(1)) if given else f(tx.ones(1))).item() for _ in range(5)]
    return found, list(s.data if isinstance(s, Holder) else s)


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("decorate", [tx.compile, tx.jit.script])
@pytest.mark.parametrize(("f", "make"), CASES)
def test_as_in_python(f, make, decorate, given):
    s = make()
    g = decorate(f if given else lambda x: f(s, x))
    assert results(g, s, given) == results(f, make(), True)
