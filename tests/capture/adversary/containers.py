"""Lists, dicts, sets and tuples that have several names, change while they are walked, or are chosen by a tensor."""

from collections import Counter, OrderedDict, defaultdict, deque

import thixo as tx
from tests.capture.adversary.registry import COUNTED, VECTORS, hostile, t


@hostile()
def list_with_two_names(x):
    a = [x]
    b = a
    if x > 0:
        a.append(x + 1)
    return sum(b)


@hostile()
def two_names_chosen_by_a_tensor(x):
    a, b = [x], [x * 2]
    c = a if x > 0 else b
    c.append(x * 10)
    return sum(a), sum(b), len(a)


def _grow(items, value):
    if value > 0:
        items.append(value)


@hostile()
def list_grown_by_a_callee(x):
    items = [x]
    _grow(items, x * 2)
    _grow(items, -x)
    return sum(items), len(items)


@hostile(lambda: ([t(1.0)], t(2.0)), lambda: ([], t(-2.0)))
def argument_list_grown(items, x):
    if x > 0:
        items.append(x)
    else:
        items.insert(0, x * 3)
    return len(items)


@hostile()
def a_list_in_two_lists(x):
    inner = [x]
    outer = [inner, inner]
    if x > 0:
        outer[0].append(x * 2)
    return sum(outer[1])


@hostile()
def a_list_that_holds_itself(x):
    items = [x]
    items.append(items)
    if x > 0:
        items[1][0] = x * 5
    return items[0]


@hostile(*COUNTED)
def changed_while_walked(x, n):
    items = [x, x * 2]
    total = x * 0
    for value in items:
        total = total + value
        if len(items) < n:
            items.append(value * 0.5)
    return total, len(items)


@hostile()
def removed_while_walked(x):
    items = [1, 2, 3, 4]
    seen = []
    for value in items:
        seen.append(value)
        if x > 0:
            items.remove(value)
    return x * sum(seen), len(items)


@hostile()
def slice_assigned(x):
    items = [x, x, x]
    if x > 0:
        items[1:2] = [x * 2, x * 3, x * 4]
    return sum(items), len(items)


@hostile()
def sorted_by_tensors(x):
    items = sorted([x, x * x, x - 1], key=lambda value: value)
    return items[0] - items[-1]


@hostile()
def sorted_in_place(x):
    items = [(x, 1), (x * x, 2), (-x, 3)]
    items.sort(key=lambda pair: pair[0])
    return x * items[0][1]


@hostile()
def largest_by_key(x):
    return max([x, -x, x * x], key=lambda value: value - 1)


@hostile()
def in_of_tensors(x):
    return x * 2 if x in [x * 1, x + 1] else x * 3


@hostile(*VECTORS)
def in_of_a_tensor(v):
    return v.sum() if 3.0 in v else v.prod()


@hostile()
def index_of_a_tensor(x):
    items = [x * 1, x + 1, tx.tensor(2.0)]
    return x * items.index(2.0) if 2.0 in items else x


@hostile()
def dict_keyed_by_a_tensor(x):
    d = {x: 1, x * 2: 2}
    return x * d[x] + len(d)


@hostile()
def dict_changed_in_a_branch(x):
    d = {}
    if x > 0:
        d["k"] = x
    return d.get("k", x * 7)


@hostile()
def dict_order_from_a_branch(x):
    d = {"a": x, "b": x * 2}
    if x > 0:
        d["a"] = d.pop("a") * 3
    return sum(v * (i + 1) for i, v in enumerate(d.values())), list(d)


@hostile()
def key_chosen_by_a_tensor(x):
    table = {"low": x * 2, "high": x * 3}
    key = "high" if x > 0 else "low"
    return table[key]


@hostile()
def missing_key(x):
    table = {"low": x}
    return table["high" if x > 0 else "low"]


@hostile()
def list_index_chosen_by_a_tensor(x):
    items = [x, x * 2, x * 3]
    return items[int(x.abs()) % 3]


@hostile()
def default_dict(x):
    d = defaultdict(list)
    for i in range(3):
        d[i % 2].append(x * i)
    if x > 0:
        d[5].append(x)
    return sum(sum(v) for v in d.values()), len(d)


@hostile(*COUNTED)
def deque_that_drops(x, n):
    q = deque(maxlen=2)
    for i in range(n):
        q.append(x + i)
        if x > 1:
            q.rotate(1)
    return sum(q, x)


@hostile()
def counter_of_tensors_values(x):
    c = Counter("aab")
    if x > 0:
        c.update("b")
    return x * c["b"], c.most_common(1)[0][0]


@hostile()
def ordered_dict_moved(x):
    d = OrderedDict(a=x, b=x * 2)
    if x > 0:
        d.move_to_end("a")
    return next(iter(d.values()))


@hostile()
def set_in_a_branch(x):
    s = {1, 2}
    if x > 0:
        s.add(3)
    else:
        s.discard(1)
    return x * len(s), sorted(s)


@hostile()
def tuple_with_a_list_inside(x):
    pair = ([x], x)
    if x > 0:
        pair[0].append(x * 4)
    return sum(pair[0])


@hostile()
def augmented_item_of_a_tuple(x):
    pair = ([x], 1)
    try:
        pair[0] += [x * 2]
    except TypeError:
        return sum(pair[0]) * 100
    return sum(pair[0])


@hostile()
def list_times_a_number(x):
    rows = [[x]] * 2
    if x > 0:
        rows[0][0] = x * 9
    return rows[1][0]


@hostile(*COUNTED)
def stack_popped_in_a_loop(x, n):
    stack = [x, x + 1]
    while len(stack) > 0 and n > 0:
        top = stack.pop()
        n -= 1
        if top > 0:
            stack.append(top - 1)
    return x * len(stack), n


@hostile()
def unpacked_twice(x):
    a, (b, *c), d = x, (x + 1, x + 2, x + 3), x + 4
    if x > 0:
        a, b = b, a
        c[0], c[1] = c[1], c[0]
    return a - b * 2 + c[0] * 3 - c[1] + d


@hostile()
def zip_that_ends_early(x):
    it = iter([x, x * 2, x * 3])
    pairs = list(zip([1, 2], it))
    return sum(a * b for a, b in pairs) + next(it, x * 100)
