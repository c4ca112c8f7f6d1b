"""What programs do with classes, copies, numbers and parameters: captured code gives what Python gives."""

import collections
import copy
import dataclasses
import functools
import inspect
import itertools
import operator

import pytest

import thixo as tx

ROUTES = {
    "compile": tx.compile,
    "fullgraph": lambda f: tx.compile(f, fullgraph=True),
    "script": tx.jit.script,
}
INPUTS = [[1.0, 2.0], [-1.0, -3.0], [0.25, 0.5]]


@pytest.fixture(params=ROUTES.values(), ids=ROUTES)
def route(request):
    return request.param


def shown(x):
    """Types and values, all through."""
    if isinstance(x, tuple | list):
        return [shown(e) for e in x]
    if isinstance(x, tx.Tensor):
        return x.dtype, x.tolist(), x.requires_grad
    return type(x), repr(x)


def agree(function, route, inputs=INPUTS):
    captured = route(function)
    for values in inputs:
        x, y = (tx.tensor(values, requires_grad=True) for _ in range(2))
        expected, found = function(x), captured(y)
        assert shown(found) == shown(expected)
        pairs = [
            [
                r
                for r in (made if isinstance(made, tuple) else (made,))
                if getattr(r, "requires_grad", 0)
            ]
            for made in (expected, found)
        ]
        if pairs[0]:
            for results in pairs:
                sum(r.sum() for r in results).backward()
            assert (x.grad is None) == (y.grad is None)
            assert x.grad is None or tx.allclose(x.grad, y.grad)


# ---- a tensor on some paths, a number on others


def test_a_number_beside_a_tensor_keeps_all_its_digits(route):
    agree(lambda x: x.sum() if x.sum() > 0 else 0.1, route)
    agree(lambda x: (max(x.sum(), 0.1), min(x[0], 16777217)), route)


def clamped(x):
    return min(max(x, 0), 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: clamped(x.sum()) * 2 + clamped(x[0]),
        lambda x: (clamped(x.sum()) / 3, 3 / max(x.sum(), 0.1), max(x.sum(), 0.5) ** 2),
        lambda x: (clamped(x.sum()) == clamped(x[0]), -max(x.sum(), 0.1)),
        lambda x: x.clamp(max(x.min(), 0.1), 5),
        lambda x: sum([max(v, 0.1) for v in x]),
        lambda x: clamped(x.long().sum()) + clamped(x.long()[0]) * 0.3,
    ],
)
def test_numbers_that_may_be_tensors_are_calculated_with(function, route):
    agree(function, route)


def test_a_tensor_is_changed_by_a_number_that_may_be_a_tensor(route):
    def changed(x):
        y = x * 1
        y += max(x.sum(), 0.1)
        y *= min(x.sum(), 3)
        return y

    agree(changed, route)


# ---- classes


class Base:
    scale = 2.0

    def __init__(self, x):
        super().__init__()
        self.x = x

    @property
    def doubled(self):
        return self.x * 2 if self.x.sum() > 0 else self.x

    @classmethod
    def of(cls, x):
        return cls(x)


class Derived(Base):
    @property
    def doubled(self):
        return super().doubled * super().scale

    @classmethod
    def of(cls, x):
        made = super().of(x)
        made.name = "derived"
        return made


def test_super_finds_properties_class_methods_and_attributes(route):
    def used(x):
        made = Derived.of(x)
        return made.doubled, made.name

    agree(used, route)


def test_another_attribute_of_a_base_class_is_seen(monkeypatch):
    compiled = tx.compile(lambda x: Derived(x).doubled, fullgraph=True)
    assert compiled(tx.ones(1)).item() == 4
    monkeypatch.setattr(Base, "scale", 5.0)
    assert compiled(tx.ones(1)).item() == 10


@dataclasses.dataclass(frozen=True)
class Scaled:
    x: object
    by: int = 2

    def __post_init__(self):
        object.__setattr__(self, "product", self.x * self.by)


def test_a_frozen_dataclass_sets_itself_up(route):
    agree(lambda x: (Scaled(x, 3).product, dataclasses.replace(Scaled(x), by=5).product), route)


class Slotted:
    __slots__ = ("first", "second")

    def __init__(self, first):
        self.first, self.second = first, None


def test_none_or_a_tensor_of_some_size_in_an_object(route):
    def either(x):
        made = Slotted(x)
        if x.sum() > 0:
            made.second = x * 2
        return made.second if made.second is not None else made.first

    agree(either, route)


def test_signatures_are_those_of_the_functions(route):
    agree(lambda x: x * len(inspect.signature(clamped).parameters), route)


# ---- copies


def test_one_object_is_one_copy(route):
    def copied(x):
        shared = [1, x.detach() * 2]
        made = copy.deepcopy({"a": shared, "b": shared, "c": shared[1]})
        made["a"].append(3)
        made["c"].add_(1)
        return x * len(made["b"]) + made["a"][1]

    agree(copied, route)


def test_a_copy_of_a_leaf_is_a_leaf_of_its_own():
    for copied in (copy.copy, copy.deepcopy):
        compiled = tx.compile(lambda w: copied(w) * 2 + w)  # noqa: B023  used at once
        w = tx.ones(2, requires_grad=True)
        compiled(w).sum().backward()
        assert w.grad.tolist() == [1.0, 1.0]


# ---- parameters of modules


def net():
    made = tx.nn.Sequential(tx.nn.Linear(2, 2), tx.nn.ReLU())
    with tx.no_grad():
        for p in made.parameters():
            p.fill_(0.5)
    return made


def test_parameters_are_gone_over_once(route):
    layers = net()

    def summed(x):
        each = layers.parameters()
        first = next(each)
        rest = sum(p.sum() for p in each)
        return x * first.sum() + rest + sum((p.sum() for p in each), tx.zeros(()))

    agree(summed, route)


def test_parameters_of_one_module_alone(route):
    layers = net()

    def counted(x):
        return x * len(list(layers.parameters(False))) + len(
            list(layers[0].parameters(recurse=False))
        )

    agree(counted, route)
    agree(lambda x: (x, [n for n, _ in layers.named_parameters(prefix="p")]), route)


def test_a_parameter_that_comes_later_is_listed(route):
    layers = net()
    total = route(
        lambda x: (
            x * sum(p.sum() for p in layers.parameters()) + sum(b.sum() for b in layers.buffers())
        )
    )
    assert total(tx.ones(1)).item() == 3
    layers[0].extra = tx.nn.Parameter(tx.ones(3))
    assert total(tx.ones(1)).item() == 6
    layers[1].register_buffer("count", tx.ones(5))
    assert total(tx.ones(1)).item() == 11
    layers[0].extra = None
    layers.own = tx.nn.Parameter(tx.ones(()))
    assert total(tx.ones(1)).item() == 9


# ---- sizes where Python wants numbers

TABLE = {3: 10.0, 5: 20.0}


def tabulated(x):
    n = x.shape[0]
    known = TABLE[n] if n in TABLE else TABLE.get(n - 1, 1.0)
    return x * known


def kept_by_size(x):
    n = x.shape[0]
    kept = {n: x, (n, "half"): n // 2, **{i: i for i in (n + 1,)}}
    kept[n + 2] = kept.pop(n + 1)
    seen = {n, 3}
    seen.add(n + 1)
    seen.update(x.shape)
    return (
        list(kept),
        sorted(seen),
        4 in seen,
        dict(zip(x.shape, [1], strict=True)),
        dict.fromkeys(x.shape, 2),
        frozenset([n, 3]),
    )


def as_tensors(x):
    n = x.shape[0]
    return tx.tensor(list(x.shape)), x / tx.tensor([n, 2.5, x.sum()]).sum(), tx.tensor(n)


def beside_fractions(x):
    n = x.shape[0]
    return n == 3.0, n != 5.0, n == 4.0, n in (3.0, 4.5), n == 3.5, n == 5 + 0j


@pytest.mark.parametrize("function", [tabulated, kept_by_size, as_tensors, beside_fractions])
def test_sizes_are_keys_and_elements(function, route):
    agree(function, route, [[1.0] * n for n in (3, 5, 4, 1, 6, 3)])


def test_what_is_kept_outside_has_numbers_as_keys(route):
    kept = {}

    def keep(x):
        kept[x.shape[0]] = x.sum()
        return x

    captured = route(keep)
    for n in (3, 5, 3):
        captured(tx.ones(n))
    assert {k: v.item() for k, v in kept.items()} == {3: 3.0, 5: 5.0}
    assert all(type(k) is int for k in kept)


@pytest.mark.parametrize("count", [[3], [[4]], 2, True])
def test_a_tensor_of_one_whole_number_bounds_a_range(count, route):
    def added(x, n):
        for i in range(n):
            x = x + i
        return x

    x, n = tx.ones(2), tx.tensor(count)
    assert route(added)(x, n).tolist() == added(x, n).tolist()


def test_a_fraction_bounds_no_range():
    compiled = tx.compile(lambda x: sum(i * x for i in range(x)))
    with pytest.raises(TypeError, match="only integer tensors"):
        compiled(tx.tensor(3.0))


# ---- counters and chains


def test_counters_are_returned_with_what_they_counted(route):
    def counted(x):
        counts = collections.Counter("abca")
        counts["d"] += x.shape[0]
        if x.sum() > 0:
            counts["a"] += 5
        return counts["a"], counts["z"], list(counts.items()), counts == collections.Counter(counts)

    agree(counted, route)
    found = route(lambda x: collections.Counter([1, 2, 1]))(tx.ones(2))
    assert found == collections.Counter([1, 2, 1])


def test_chains_of_lists_and_tensors(route):
    agree(lambda x: sum(itertools.chain.from_iterable([[x, x * 2], x.unbind(), (1,)])), route)


def changed_by_functions(values, table, seen):
    operator.setitem(values, 0, 5)
    operator.delitem(values, 1)
    operator.iadd(values, [1])
    functools.reduce(operator.iconcat, [values, (2,), [3]])
    list(map(operator.setitem, [table], ["mapped"], [8]))
    operator.ior(table, {"b": 2})
    return operator.isub(seen, {1})


def changed_by_methods(values, table, seen):
    values.__setitem__(0, 7)
    values.__delitem__(1)
    values.__iadd__([4, 5])
    table.__setitem__("c", 3)
    table.__delitem__("a")
    seen.__ior__({9})
    return values.__len__(), table.__contains__("a"), list(values.__iter__())


@pytest.mark.parametrize("change", [changed_by_functions, changed_by_methods])
def test_syntax_by_its_functions_and_methods_changes_what_it_is_given(change, route):
    captured = route(lambda x, *given: (change(*given), x * 2))
    for count in (3, 4, 3):
        given, same = ((list(range(count)), {"a": 1}, {1, 2}) for _ in range(2))
        assert captured(tx.ones(2), *given)[0] == change(*same)
        assert given == same


# ---- exceptions


def test_a_capture_that_fails_names_the_line():
    class Halved(tx.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

        @staticmethod
        def backward(ctx, g):
            return (g,)[1]

    line = Halved.backward.__code__.co_firstlineno + 2
    with pytest.raises(tx.errors.CaptureError, match=f"IndexError: .*idioms.py:{line}"):
        tx.compile(lambda x: Halved.apply(x), fullgraph=True)(tx.ones(2, requires_grad=True))
