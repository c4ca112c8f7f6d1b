"""Dicts and sets beside tensors: loops over items, comprehensions, counts, groups, work lists."""

import itertools
from collections import Counter, OrderedDict, defaultdict, deque

import thixo as tx
from tests.capture.corpus.registry import case, t


@case(
    lambda d: ({"a": d.normal(2), "b": d.normal(2)}, 10.0),
    lambda d: ({"a": d.normal(2) * 50, "b": d.normal(2)}, 10.0),
    lambda d: ({"a": d.normal(2)}, 10.0),
    grad=(0,),
)
def clip_each_by_norm(grads, limit):
    clipped = {}
    for name, g in grads.items():
        norm = g.norm()
        clipped[name] = g * (limit / norm) if norm > limit else g
    return clipped


@case(
    lambda d: ({"w": d.normal(2, 2), "b": d.normal(2)}, {"w": 0.1}),
    lambda d: ({"w": d.normal(2, 2), "b": d.normal(2), "c": d.normal(1)}, {"w": 0.1, "c": 0.5}),
    grad=(0,),
)
def penalty_by_name(params, strengths):
    penalty = sum(
        strengths[name] * (p * p).sum() for name, p in params.items() if name in strengths
    )
    free = {name for name in params if name not in strengths}
    return penalty, len(free)


@case(
    lambda d: (tx.tensor([3, 1, 3, 2]),),
    lambda d: (tx.tensor([5, 5, 5]),),
    lambda d: (tx.tensor([1, 2, 1, 2]),),
    answers=[(3, 2), (5, 3), (1, 2)],
)
def most_common(values):
    """The smallest of the most frequent values, and how often it comes."""
    counts = Counter(values.tolist())
    top = max(counts.values())
    candidates = {v for v, n in counts.items() if n == top}
    return min(candidates), top


@case(
    lambda d: (d.normal(4), [0, 1, 0, 1]),
    lambda d: (d.normal(4), [2, 2, 2, 2]),
    lambda d: (d.normal(6), [0, 1, 2, 0, 1, 2]),
    grad=(0,),
)
def mean_of_each_group(x, groups):
    members = defaultdict(list)
    for value, group in zip(x, groups, strict=True):
        members[group].append(value)
    return {group: tx.stack(values).mean() for group, values in sorted(members.items())}


@case(
    lambda d: ({"x": d.normal(2)}, {"y": d.normal(2)}),
    lambda d: ({"x": d.normal(2)}, {"x": d.normal(2)}),
    lambda d: ({"x": d.normal(2)}, {}),
    grad=(0,),
)
def merged_dicts(left, right):
    both = {**left, **right}
    for name in left.keys() & right.keys():
        both[name] = left[name] + 2 * right[name]
    ordered = OrderedDict(sorted(both.items(), reverse=True))
    first, *rest = ordered.values()
    return first - sum(rest) if rest else first


@case(
    lambda d: ([1, 2, 2, 3, 5], d.normal(6)),
    lambda d: ([1, 1, 1], d.normal(6)),
    grad=(1,),
)
def distinct_rows_once(indices, table):
    seen = set()
    total = tx.zeros((), dtype=table.dtype)
    for index in indices:
        if index in seen:
            continue
        seen.add(index)
        total = total + table[index] ** 2
    return total * len(seen)


@case(
    lambda d: (t([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]), 0),
    lambda d: (t([[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]), 0),
    lambda d: (t([[0, 1], [1, 0]]), 1),
    answers=[[0, 1, 2], [0, 1, 2, 3], [1, 0]],
)
def breadth_first(links, start):
    visited, order, waiting = {start}, [], deque([start])
    while waiting:
        node = waiting.popleft()
        order.append(node)
        for other, linked in enumerate(links[node]):
            if linked and other not in visited:
                visited.add(other)
                waiting.append(other)
    return order


@case(
    lambda d: ({"c": ["a", "b"], "b": ["a"], "a": []}, t(2.0)),
    lambda d: ({"c": [], "b": ["c"], "a": ["b", "c"]}, t(2.0)),
    lambda d: ({"a": ["b"], "b": ["a"]}, t(2.0)),
    grad=(1,),
)
def in_order_of_needs(needs, x):
    """Each name's value is x plus those it needs; zero where they need each other."""
    values = {}
    waiting = dict(needs)
    while waiting:
        ready = [name for name, wanted in waiting.items() if all(w in values for w in wanted)]
        if not ready:
            return x * 0
        for name in ready:
            values[name] = x + sum(values[w] for w in waiting.pop(name))
    return sum(values[name] * (k + 1) for k, name in enumerate(sorted(values)))


@case(
    lambda d: (d.normal(3), ["scale", "shift"]),
    lambda d: (d.normal(3), ["shift", "scale", "shift"]),
    lambda d: (d.normal(3), []),
    grad=(0,),
)
def steps_by_name(x, steps):
    table = {
        "scale": lambda v: v * 3,
        "shift": lambda v: v + 1,
    }
    for step in steps:
        x = table[step](x)
    return x


@case(
    lambda d: (d.normal(3, 3),),
    lambda d: (d.normal(2, 3),),
    lambda d: (d.normal(3, 3) + 10 * t([[1.0], [0.0], [0.0]]),),
    grad=(0,),
)
def pairwise_distances_by_key(rows):
    gaps = {
        (i, j): (rows[i] - rows[j]).norm() for i, j in itertools.combinations(range(len(rows)), 2)
    }
    nearest = min(gaps, key=lambda pair: gaps[pair])
    total = sum(gaps.values())
    if total > 20:
        del gaps[nearest]
    return gaps, nearest


@case(
    lambda d: (t([0.2, 0.3, 0.5]), "abc"),
    lambda d: (t([0.1, 0.12, 0.17, 0.4]), "abcd"),
    lambda d: (t([1.0]), "a"),
    grad=(0,),
)
def huffman(weights, letters):
    """The mean length of the code, and the code of each letter."""
    codes = {letter: "" for letter in letters}
    heap = [(w, letter) for w, letter in zip(weights, letters)]
    cost = weights.new_zeros(())
    while len(heap) > 1:
        heap.sort(key=lambda entry: (float(entry[0]), entry[1]))
        (a, left), (b, right), *heap = heap
        for letter in left:
            codes[letter] = "0" + codes[letter]
        for letter in right:
            codes[letter] = "1" + codes[letter]
        cost = cost + a + b
        heap.append((a + b, left + right))
    return cost * weights.sum(), codes


@case(
    lambda d: ({"a": {"w": d.normal(2), "b": None}, "n": 3},),
    lambda d: (
        {"a": {"w": d.normal(2), "b": d.normal(2)}, "n": [d.normal(2), {"k": d.normal(2)}]},
    ),
    grad=(0,),
)
def walk_nested_containers(tree):
    found = {}

    def visit(node, path):
        if isinstance(node, dict):
            for key, child in node.items():
                visit(child, (*path, key))
        elif isinstance(node, (list, tuple)):
            for i, child in enumerate(node):
                visit(child, path + (str(i),))
        elif isinstance(node, tx.Tensor):
            found["/".join(path)] = node.square().sum()

    visit(tree, ())
    return found


@case(
    lambda d: (d.normal(2), {"rate": 0.5}),
    lambda d: (d.normal(2), {"rate": 0.5, "decay": 0.1}),
    lambda d: (d.normal(2), {"rate": 0.5, "decay": 0.1, "nesterov": True}),
    grad=(0,),
)
def settings_with_defaults(x, given):
    settings = {"rate": 1.0, "decay": 0.0, "nesterov": False} | given
    rate, decay = settings.pop("rate"), settings.pop("decay", 0)
    if decay:
        x = x - decay * x
    if settings.get("nesterov"):
        x = x + rate * x.sin()
    return x * rate


@case(
    lambda d: (["the", "cat", "the"], d.normal(4, 2)),
    lambda d: (["a", "dog", "and", "a", "cat"], d.normal(4, 2)),
    lambda d: ([], d.normal(4, 2)),
    grad=(1,),
)
def embedding_by_words(words, table):
    index = {word: i for i, word in enumerate(["<unknown>", "the", "cat", "dog"])}
    rows = [table[index.get(word, 0)] for word in words]
    unknown = sum(1 for word in words if word not in index)
    if not rows:
        return table[0] * 0, unknown
    return tx.stack(rows).mean(0), unknown


@case(
    lambda d: (tx.tensor([1, 2, 3, 4]), tx.tensor([3, 4, 5])),
    lambda d: (tx.tensor([1, 2]), tx.tensor([3, 4])),
    lambda d: (tx.tensor([1, 1, 2]), tx.tensor([2, 1])),
    answers=[2 / 5, 0.0, 1.0],
)
def jaccard(a, b):
    left, right = {int(v) for v in a}, {int(v) for v in b}
    common = left & right
    if not common:
        return 0.0
    return len(common) / len(left | right)
