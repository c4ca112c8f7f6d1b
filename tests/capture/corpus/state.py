"""Objects with attributes, counters, lists changed in place, writes into tensors, views and aliases."""

import thixo as tx
from tests.capture.corpus.registry import case, t

calls = 0
history: list = []
registry_of_names = {"seen": 0}


class Counter:
    def __init__(self, limit):
        self.limit = limit
        self.count = 0

    def bump(self, by=1):
        self.count += by
        return self.count >= self.limit


class RunningMean:
    """Mean and count of all values so far."""

    def __init__(self, size):
        self.mean = tx.zeros(size, dtype=tx.float64)
        self.n = 0

    def update(self, batch):
        for row in batch:
            self.n += 1
            self.mean = self.mean + (row - self.mean) / self.n
        return self.mean


@case(
    lambda d: (Counter(3), d.normal(5)),
    lambda d: (Counter(1), d.normal(5)),
    mutates=True,
    grad=(1,),
)
def counter_object(counter, x):
    out = x
    while not counter.bump():
        out = out * 0.5 + x.sin()
    return out


@case(
    lambda d: (d.normal(4, 2),),
    lambda d: (d.normal(1, 2),),
    build=lambda c: c(2).update,
    mutates=True,
    grad=(0,),
)
class MeanOfRows(RunningMean):
    """A method that changes its object."""


@case(
    lambda d: ([d.normal(2)], d.normal(2)), lambda d: ([d.normal(2)] * 4, d.normal(2)), mutates=True
)
def append_to_a_given_list(items, x):
    items.append(x)
    if len(items) > 3:
        del items[0]
    return sum(items)


@case(
    lambda d: ({"a": d.normal(2)}, "a", d.normal(2)),
    lambda d: ({"a": d.normal(2)}, "b", d.normal(2)),
    mutates=True,
)
def update_a_given_dict(store, key, x):
    if key in store:
        store[key] = store[key] + x
    else:
        store[key] = x * 10
    store.setdefault("count", 0)
    store["count"] += 1
    return store[key]


@case(lambda d: (d.normal(5),), lambda d: (d.normal(5).abs(),), grad=(0,))
def write_into_a_clone(x):
    y = x.clone()
    y[0] = 0.0
    y[1:3] *= 2
    if x.min() < 0:
        y[-1] = x.sum()
    return y


@case(lambda d: (d.normal(5).abs(),), lambda d: (d.normal(5),), mutates=True)
def write_into_the_argument(x):
    """Numbers below zero become zero in the caller's tensor too."""
    for i in range(len(x)):
        if x[i] < 0:
            x[i] = 0.0
    x += 1
    return x.sum()


@case(lambda d: (d.normal(3, 4), 1), lambda d: (d.normal(3, 4), -1), grad=(0,))
def view_sees_the_write(m, row):
    base = m * 1.0
    view = base.view(-1)
    column = base[:, 1]
    view[2] = 5.0
    if row >= 0:
        base[row].mul_(3.0)
    else:
        column.add_(1.0)
    return view.sum() + column.prod() + base[0, 2]


@case(
    lambda d: (t([1.0, 2.0]),),
    lambda d: (t([-1.0, -2.0]),),
    mutates=True,
    answers=[[3, 4], [-1, -2]],
)
def alias_of_the_argument(x):
    y = x
    if x.sum() > 0:
        y += 2
        z = x
    else:
        z = y
    return z


@case(
    lambda d: (t([1.0, 2.0]),),
    lambda d: (t([-1.0, -2.0]),),
    grad=(0,),
    answers=[[20.25, 110.25], [-45, -81]],
)
def augmented_assignments(x):
    y = x * 1
    y += x
    y -= 0.5
    y *= 2
    if y.sum() > 0:
        y **= 2
        y /= 4
    n = 7
    n //= 2
    n %= 2
    n <<= 3
    n |= 1
    return y * n


@case(lambda d: (d.normal(3),), lambda d: (d.normal(3) - 5,), changes=("calls", "history"))
def changes_globals(x):
    global calls
    calls += 1
    if x.mean() > -1:
        history.append(float(x[0]))
        calls += 10
    return x * calls


@case(lambda d: (d.normal(3),), lambda d: (d.normal(5),), changes=("registry_of_names",))
def changes_a_global_dict(x):
    for v in x:
        registry_of_names["seen"] += 1
    registry_of_names["last"] = len(x)
    return x.sum() + registry_of_names["seen"]


class Account:
    fee = 0.25

    def __init__(self, balance):
        self._balance = balance
        self.log = []

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        self.log.append(value - self._balance)
        self._balance = value

    @staticmethod
    def tax(amount):
        return amount * 0.5 if amount > 10 else amount * 0.1

    @classmethod
    def empty(cls):
        return cls(tx.zeros((), dtype=tx.float64))

    def __add__(self, other):
        return type(self)(self.balance + other.balance)


@case(
    lambda d: (Account(t(10.0)), t(4.0)),
    lambda d: (Account(t(100.0)), t(40.0)),
    mutates=True,
    answers=[5.35, 39.75],
)
def properties_and_operators(account, amount):
    account.balance = account.balance - amount - Account.fee
    account.balance -= Account.tax(amount)
    both = account + Account.empty()
    return both.balance


@case(lambda d: (d.normal(4), 2), lambda d: (d.normal(4), 6), grad=(0,))
def ring_buffer(x, pushes):
    buffer = tx.zeros(3, dtype=x.dtype)
    position = 0
    for k in range(pushes):
        buffer[position] = x[k % 4] * k
        position = (position + 1) % 3
    return buffer, position


@case(lambda d: (d.normal(3, 3),), lambda d: (d.normal(3, 3) * 0.1,), grad=(0,))
def masked_writes(m):
    y = m.clone()
    big = y.abs() > 0.5
    if big.any():
        y[big] = y[big].sign() * 0.5
    y[tx.arange(3), tx.arange(3)] = 1.0
    y[:, 0], y[:, 1] = y[:, 1].clone(), y[:, 0].clone()
    return y


@case(
    lambda d: (tx.tensor([1, 5, 1, 2]), 6),
    lambda d: (tx.tensor([0]), 2),
    answers=[[0, 2, 1, 0, 0, 1], [1, 0]],
)
def histogram_by_writes(values, bins):
    counts = tx.zeros(bins, dtype=tx.int64)
    for v in values:
        counts[v] += 1
    return counts


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)
        return self

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)


@case(
    lambda d: (["x", "y", "+", "x", "*"], t(2.0), t(3.0)),
    lambda d: (["x", "y", "-"], t(2.0), t(3.0)),
    grad=(1, 2),
    answers=[10.0, -1.0],
)
def reverse_polish(program, x, y):
    stack = Stack()
    for word in program:
        if word == "x":
            stack.push(x)
        elif word == "y":
            stack.push(y)
        else:
            b, a = stack.pop(), stack.pop()
            if word == "+":
                stack.push(a + b)
            elif word == "-":
                stack.push(a - b)
            else:
                stack.push(a * b)
    assert len(stack) == 1
    return stack.pop()


@case(lambda d: (d.normal(4), 0.9), lambda d: (d.normal(4) * 5, 0.9), mutates=True)
def in_place_operators(x, decay):
    x.mul_(decay).add_(0.1)
    if x.norm() > 3:
        x.clamp_(-1, 1)
    x[0].zero_()
    return x
