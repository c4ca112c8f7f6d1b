"""Dicts and sets of which the data decide what is in them."""

from collections import defaultdict

import pytest

import thixo as tx
from thixo.errors import CaptureError

WAYS = pytest.mark.parametrize("way", [tx.jit.script, tx.compile], ids=["script", "compile"])


def optional(x):
    out = {"a": x}
    if x.sum() > 0:
        out["b"] = x * 2
    return out


def asked(x):
    out = optional(x)
    return out["b"] if "b" in out else out["a"] * 5


def got(x):
    out = optional(x)
    return out.get("b", x * 3), out.get("c", 1.0), out.get("b") is None


def counted(x):
    out = optional(x)
    return len(out), bool(out), x


def gone_over(x):
    total = x
    for key, value in optional(x).items():
        total = total + value * len(key)
    for value in optional(x).values():
        total = total * value
    names = [key + "!" for key in optional(x)], list(optional(x)), list(optional(x).values())
    return total, names, sum(optional(x).values())


def removed(x):
    parts = {"a": x, "b": x * 2, "c": x * 3}
    if x.sum() > 0:
        del parts["b"]
    else:
        parts.pop("a")
    return parts


def grown(x):
    out = optional(x)
    out["c"] = x + 1
    more = dict(out, d=x)
    if "b" in out:
        more["e"] = out["b"]
    return out, more, out.copy()


def popped(x):
    out = optional(x)
    first, second = out.pop("b", x * 7), out.pop("a")
    out["b"] = x
    return first, second, out


def made_inside(x):
    out = {}
    if x.sum() > 0:
        out["a"] = {"n": 1}
    if "a" in out:
        out["a"]["x"] = x
    return out


def one_of_two(x):
    out = {}
    if x.sum() > 0:
        out["up"] = x
    else:
        out["down"] = -x
    return out


def with_a_factory(x):
    counts = defaultdict(int)
    if x.sum() > 0:
        counts["up"] += 1
    counts["up"] += 1
    if x[0] > 0:
        counts["first"] += 2
    return counts, counts["up"], counts["first"]


def elements(x):
    seen = {"a"}
    if x.sum() > 0:
        seen.add("b")
    seen.add("c")
    return seen, len(seen), "c" in seen, "b" in seen, seen.copy()


PROGRAMS = [
    optional, asked, got, counted, gone_over, removed, grown, popped, made_inside, one_of_two, with_a_factory, elements,
]  # fmt: skip


def shown(x):
    if isinstance(x, dict):
        return [type(x).__name__, *((k, shown(v)) for k, v in x.items())]
    if isinstance(x, tuple | list):
        return [shown(e) for e in x]
    if isinstance(x, set):
        return sorted(x)
    return x.tolist() if isinstance(x, tx.Tensor) else x


@WAYS
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_in_python(way, program):
    captured = way(program)
    for values in ([1.0, 2.0, 3.0], [-1.0, 2.0, -3.0], [2.0, -1.0, -3.0]):
        x = tx.tensor(values)
        assert shown(captured(x)) == shown(program(x))


@WAYS
def test_gradients(way):
    def f(x):
        out = {"a": x * x}
        if x.sum() > 0:
            out["b"] = x.exp()
        return sum(out.values()).sum()

    for start in (1.0, -1.0):
        found = []
        for one in (f, way(f)):
            x = tx.full((2,), start, requires_grad=True)
            one(x).backward()
            found.append(x.grad.tolist())
        assert found[0] == pytest.approx(found[1])


@WAYS
def test_a_dict_of_the_caller(way):
    def note(x, found, seen):
        if x.sum() > 0:
            found["positive"] = x * 2
            seen.add("positive")

    captured = way(note)
    for sign in (1.0, -1.0, 1.0):
        x = tx.ones(2) * sign
        ours, theirs = ({"a": 1}, {"a"}), ({"a": 1}, {"a"})
        captured(x, *ours)
        note(x, *theirs)
        assert shown(ours) == shown(theirs)


@WAYS
def test_a_key_that_is_missing(way):
    captured = way(lambda x: optional(x)["b"])
    assert captured(tx.ones(2)).tolist() == [2, 2]
    with pytest.raises(KeyError, match="b"):
        captured(-tx.ones(2))


def refused(f):
    with pytest.raises(CaptureError) as error:
        tx.jit.script(f)(tx.ones(2))
    return str(error.value)


def test_the_order_of_keys_is_one():
    def other_order(x):
        out = {}
        if x.sum() > 0:
            out["a"], out["b"] = x, x
        else:
            out["b"], out["a"] = x, x
        return out

    assert "the keys of a dict are in another order on one path; add them in one order" in refused(
        other_order
    )

    def set_anew(x):
        out = optional(x)
        out["c"] = x
        out["b"] = x
        return out

    assert "the place of the key 'b' among the others would differ between paths" in refused(
        set_anew
    )


def test_what_is_not_known_of_them():
    assert "a dict: the data decide what is in it; " in refused(lambda x: optional(x) == {})

    def listed(x):
        seen = {1}
        if x.sum() > 0:
            seen.add(2)
        for e in seen:
            x = x + e
        return x

    assert "a set: the data decide what is in it; " in refused(listed)
