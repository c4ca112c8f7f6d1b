"""What captured code found outside is changed between two calls: the second call sees it, however it was found."""

import collections
import functools
import operator
import types

import pytest

import thixo as tx
from tests.capture.test_captured_calls import WAYS

CASES = {}


def change(make):
    """Enter a maker of two functions: one that is captured, and one that changes what the first finds."""
    CASES[make.__name__] = make
    return make


class Scale:
    def __init__(self):
        self.by, self.items, self.tensor = 3.0, [1.0], tx.ones(1)

    def apply(self, x, plus=0.0):
        return x * self.by + plus + sum(self.items) + self.tensor


def applied(scale, x):
    return scale.apply(x)


def changes_of(scale):
    """A change of a number, a list, a tensor, a tensor's content, one after the other."""
    yield setattr(scale, "by", 5.0)
    yield scale.items.append(2.0)
    yield setattr(scale, "tensor", tx.full((1,), 9.0))
    yield scale.tensor.add_(1)
    yield setattr(scale, "items", [0.5])


HOLDERS = {
    "method": lambda s: s.apply,
    "partial": lambda s: functools.partial(s.apply, plus=1.0),
    "partial_with_an_object": lambda s: functools.partial(applied, s),
    "partial_of_a_partial": lambda s: functools.partial(functools.partial(s.apply), plus=1.0),
    "method_in_a_list": lambda s: [s.apply],
    "partial_in_a_dict": lambda s: {"f": functools.partial(s.apply)},
    "method_as_an_attribute": lambda s: types.SimpleNamespace(f=s.apply),
    "method_called_by_name": lambda s: types.SimpleNamespace(
        f=functools.partial(operator.methodcaller("apply", tx.ones(1)), s)
    ),
}


def function_of(held):
    if isinstance(held, list):
        return lambda x: held[0](x)
    if isinstance(held, dict):
        return lambda x: held["f"](x)
    if isinstance(held, types.SimpleNamespace):
        return lambda x: held.f(x) if not isinstance(held.f, functools.partial) else held.f()
    return held


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("given", [False, True], ids=["captured", "argument"])
def test_what_methods_and_partials_bring_along(holder, way, given):
    scale = Scale()
    f = function_of(HOLDERS[holder](scale))
    called = WAYS[way]((lambda x, g: g(x)) if given else f)
    x = tx.ones(1)
    more = (f,) if given else ()
    assert called(x, *more).item() == f(x).item()
    for _ in changes_of(scale):
        assert called(x, *more).item() == f(x).item()


# ---- other things


@change
def a_namespace():
    n = types.SimpleNamespace(by=2.0)
    return lambda x: x * n.by, lambda: setattr(n, "by", 3.0)


@change
def a_view_of_a_dict():
    table = {"a": 2.0}
    view = types.MappingProxyType(table)
    return lambda x: x * view["a"], lambda: table.update(a=3.0)


@change
def an_attribute_by_attrgetter():
    n, get = types.SimpleNamespace(m=types.SimpleNamespace(by=2.0)), operator.attrgetter("m.by")
    return lambda x: x * get(n), lambda: setattr(n.m, "by", 3.0)


@change
def elements_by_itemgetter():
    table, get = {"a": 2.0, "b": 1.0}, operator.itemgetter("a", "b")
    return lambda x: x * sum(get(table)), lambda: table.update(b=3.0)


@change
def which_object_it_is():
    one, other = types.SimpleNamespace(), types.SimpleNamespace()
    chosen = [one]
    return lambda x: x if chosen[0] is one else -x, lambda: chosen.__setitem__(0, other)


@change
def an_attribute_that_was_missing():
    n = types.SimpleNamespace()
    return lambda x: x if hasattr(n, "flag") else -x, lambda: setattr(n, "flag", 1)


@change
def an_attribute_with_a_default():
    n = types.SimpleNamespace()
    return lambda x: x * getattr(n, "by", 2.0), lambda: setattr(n, "by", 3.0)


@change
def an_attribute_that_goes():
    n = types.SimpleNamespace(flag=1)
    return lambda x: x if hasattr(n, "flag") else -x, lambda: delattr(n, "flag")


@change
def the_size_of_a_tensor():
    table = {"w": tx.ones(2)}
    return lambda x: x * table["w"].shape[0], lambda: table.update(w=tx.ones(3))


@change
def the_dtype_of_a_tensor():
    table = {"w": tx.ones(2)}
    f = lambda x: x * (2 if table["w"].dtype == tx.float32 else 3)  # noqa: E731
    return f, lambda: table.update(w=tx.ones(2, dtype=tx.float64))


@change
def whether_a_tensor_requires_gradients():
    w = tx.ones(2)
    return lambda x: x * (2 if w.requires_grad else 3), lambda: w.requires_grad_()


@change
def the_forward_of_one_layer():
    layer = tx.nn.Identity()
    return lambda x: layer(x), lambda: setattr(layer, "forward", lambda x: x * 100)


@change
def the_layers_of_a_list():
    layers = tx.nn.ModuleList([tx.nn.Identity()])
    return lambda x: x * len(layers), lambda: layers.append(tx.nn.Identity())


@change
def a_counter():
    counts = collections.Counter(a=2)
    return lambda x: x * counts["a"], lambda: counts.update(a=1)


@change
def defaults_of_a_function():
    def g(x, by=2.0):
        return x * by

    return lambda x: g(x), lambda: setattr(g, "__defaults__", (3.0,))


@change
def the_code_of_a_function():
    def g(x):
        return x * 2

    def other(x):
        return x * 3

    return lambda x: g(x), lambda: setattr(g, "__code__", other.__code__)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name, way):
    f, changes = CASES[name]()
    called, x = WAYS[way](f), tx.ones(1)
    before = called(x).item()
    assert before == f(x).item()
    changes()
    assert called(x).item() == f(x).item() != before


@pytest.mark.parametrize("way", WAYS)
def test_the_default_dtype_may_change(way):
    called = WAYS[way](lambda x: tx.ones(2) * 2)
    assert called(tx.ones(1)).dtype is tx.float32
    tx.set_default_dtype(tx.float64)
    try:
        assert called(tx.ones(1)).dtype is tx.float64
    finally:
        tx.set_default_dtype(tx.float32)


# ---- parts of tensors

PARTS = {
    "element": lambda t: t[0] * 2,
    "elements": lambda t: t[1:] + t[..., 0] + t[None, 1],
    "detached": lambda t: t.detach(),
    "data": lambda t: t.data + t.data[1],
    "rows": lambda t: sum(i * row for i, row in enumerate(t)),
    "unpacked": lambda t: (lambda a, *rest: a - rest[1])(*t),
    "zipped": lambda t: tx.stack([a * b for a, b in zip(t, t * 2, strict=True)]),
    "by_a_method": lambda t: t.__getitem__(1),
    "by_a_function": lambda t: operator.getitem(t, 1) + operator.itemgetter(2)(t),
    "mapped": lambda t: sum(map(tx.Tensor.detach, [t, t * 2])),
    "copied": lambda t: tx.tensor(t) * 2,
    "made_of_numbers": lambda t: tx.as_tensor([t[0], 1.0]) + tx.tensor([t.sum(), t[1]]),
    "as_a_number": lambda t: tx.ones(1) * float(t[0]) + t[1].item(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_tensor_is_that_of_the_tensor_which_is_there_now(part, way):
    take = PARTS[part]
    called = WAYS[way](lambda holder: take(holder.tensor))
    for values in ([1.0, 2.0, 4.0], [3.0, -1.0, 0.5], [7.0, 8.0, -9.0, 1.0]):
        holder = types.SimpleNamespace(tensor=tx.tensor(values))
        assert called(holder).tolist() == take(holder.tensor).tolist()


def write_an_element(t):
    t[0].add_(1)


def write_a_slice(t):
    rest = t[1:]
    rest *= 2


def write_what_is_detached(t):
    t.detach().mul_(3)


def write_rows(t):
    for row in t:
        row.sub_(t[0])


def write_what_was_read(t):
    t[1] += t[0]
    t[0], t[2] = t[2].clone(), t[0].clone()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "write",
    [write_an_element, write_a_slice, write_what_is_detached, write_rows, write_what_was_read],
)
def test_what_is_written_through_a_view_is_the_tensor_which_is_there_now(write, way):
    called = WAYS[way](lambda holder: write(holder.tensor))
    for values in ([1.0, 2.0, 4.0], [3.0, -1.0, 0.5], [7.0, 8.0, -9.0, 1.0]):
        holder, same = (types.SimpleNamespace(tensor=tx.tensor(values)) for _ in range(2))
        write(same.tensor)
        called(holder)
        assert holder.tensor.tolist() == same.tensor.tolist()
