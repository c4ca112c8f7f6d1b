"""Special methods of users' classes that code which is not written in Python calls, and what containers and numbers hold."""

import math
import operator
from collections import Counter, deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import thixo as tx
from tests.capture.test_guards_of_arguments import agrees, both, x


class Shown:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __repr__(self) -> str:
        return f"Shown({self.v})"


class Written(Shown):
    def __str__(self) -> str:
        return f"<{self.v}>"

    def __format__(self, spec: str) -> str:
        return f"{self.v}:{spec}"


@dataclass
class Record:
    v: Any
    w: Any = None


TEXTS = [
    lambda v, x: (x, str(v)),
    lambda v, x: (x, repr(v), f"{v!r:>12}"),
    lambda v, x: (x, f"{v}{v!s}"),
    lambda v, x: (x, "%s %r" % (v, [v])),  # noqa: UP031
    lambda v, x: (x, "%s" % v),  # noqa: UP031
    lambda v, x: (x, "{} {!r}".format(v, v)),  # noqa: UP032
    lambda v, x: (x, format(v)),
    lambda v, x: (x, f"{[v]}", str({"a": (v,)}), repr([v])),
]


@both
@pytest.mark.parametrize("f", TEXTS)
@pytest.mark.parametrize("kind", [Shown, Written, Record])
def test_text_of_objects(capture: Any, f: Any, kind: Any) -> None:
    agrees(capture, f, *[lambda v=v: (kind(v), x()) for v in (1, 1, 1, 2, kind(3), kind(4), 1)])


@both
def test_print_of_objects(capture: Any, capsys: pytest.CaptureFixture[str]) -> None:
    held = Shown(None)
    f = capture(lambda v, x: (print(v, [v], held), x)[1])
    for v in (1, 1, 1, 2, 1):
        held.v = [Shown(v)]
        f(Shown(v), x())
        assert capsys.readouterr().out == f"Shown({v}) [Shown({v})] Shown([Shown({v})])\n"


@both
def test_text_of_modules(capture: Any) -> None:
    one = tx.nn.Sequential(tx.nn.Linear(2, 2))
    two = tx.nn.Sequential(tx.nn.Linear(2, 2), tx.nn.ReLU())
    agrees(
        capture,
        lambda n, x: (x, str(n)),
        lambda: (one, x()),
        lambda: (two, x()),
        lambda: (one, x()),
    )


def test_text_of_objects_with_tensors() -> None:
    calls = [lambda v=v: (Shown(x() * v), x()) for v in (1, 1, 2)]
    for f in TEXTS:
        agrees(tx.compile, f, *calls)


class Whole:
    def __init__(self, v: int) -> None:
        self.v = v

    def __int__(self) -> int:
        return self.v

    def __float__(self) -> float:
        return self.v + 0.5

    def __complex__(self) -> complex:
        return complex(self.v)

    def __abs__(self) -> int:
        return self.v + 1

    def __round__(self, digits: int = 0) -> int:
        return self.v + 2

    def __floor__(self) -> int:
        return self.v + 4

    def __divmod__(self, other: Any) -> Any:
        return self.v, other

    def __index__(self) -> int:
        return self.v

    def __reversed__(self) -> Any:
        return iter([self.v, 1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whole) and self.v == other.v

    def __hash__(self) -> int:
        return self.v


LISTED = [1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize(
    "f",
    [
        lambda b, x: x * int(b),
        lambda b, x: x * float(b),
        lambda b, x: (x, complex(b)),
        lambda b, x: x * abs(b),
        lambda b, x: x * round(b),
        lambda b, x: x * math.floor(b),
        lambda b, x: x * math.sqrt(b),
        lambda b, x: x * divmod(b, 2)[0],
        lambda b, x: x * operator.index(b),
        lambda b, x: (x, bin(b), chr(b)),
        lambda b, x: (x, "ab" * b, [1] * b),
        lambda b, x: x[b],
        lambda b, x: x[b:],
        lambda b, x: x * LISTED[b],
        lambda b, x: x * sum(LISTED[b:]),
        lambda b, x: x * sum(range(b)),
        lambda b, x: x.reshape(b, -1),
        lambda b, x: [x * i for i in reversed(b)],
        lambda b, x: x * 2 if b != Whole(1) else x,
        lambda b, x: x * 2 if b in (Whole(2), 7) else x,
        lambda b, x: x * 2 if Whole(2) in [b, 7] else x,
        lambda b, x: x * [Whole(3), Whole(2), Whole(1)].index(b),
        lambda b, x: x * [Whole(2), Whole(1)].count(b),
        lambda b, x: x * ((b, 1) == (Whole(2), 1)),
    ],
)
@both
def test_special_methods(capture: Any, f: Any) -> None:
    agrees(capture, f, *[lambda v=v: (Whole(v), tx.ones(6)) for v in (1, 1, 1, 2, 3, 1)])


@pytest.mark.parametrize(
    "f",
    [
        lambda b, x: x * {Whole(1): 1.0, Whole(2): 2.0}.get(b, 9.0),
        lambda b, x: x * (2 if b in {Whole(1), Whole(3)} else 1),
        lambda b, x: x * len({b, Whole(2)}),
        lambda b, x: x * hash(b),
    ],
)
def test_hashes(f: Any) -> None:
    agrees(tx.compile, f, *[lambda v=v: (Whole(v), x()) for v in (1, 1, 1, 2, 3, 1)])
    with pytest.raises(tx.errors.CaptureError, match=r"hash|as a key or in a set"):
        tx.jit.script(f)(Whole(1), x())


class Plain:
    pass


@pytest.mark.parametrize(
    "same",
    [
        lambda s, k: s is k,
        lambda s, k: s == k,
        lambda s, k: s in [Plain(), k],
        lambda s, k: s in (k,),
    ],
)
def test_which_object_it_is(same: Any) -> None:
    k = Plain()
    calls = [lambda o=o: (o, x()) for o in (k, k, k, Plain(), k)]
    agrees(tx.compile, lambda s, x: x * 2 if same(s, k) else x, *calls)


def test_objects_that_are_compared_by_what_they_hold() -> None:
    calls = [lambda v=v: (SimpleNamespace(v=1), SimpleNamespace(v=v), x()) for v in (1, 1, 1, 2)]
    agrees(tx.compile, lambda a, b, x: x * 2 if a == b else x, *calls)


@pytest.mark.parametrize(
    ("f", "values"),
    [
        (
            lambda s, x: x * s["a"] + sum(s.values()) + ("b" in s),
            [Counter("aab"), Counter("aaac"), Counter("b")],
        ),
        (lambda s, x: x * 2 if 1 in s else x + len(s), [{1}, {2}, {2, 3}]),
        (lambda s, x: x * 2 if 1 in s else x + len(s), [frozenset([1]), frozenset([2])]),
        (lambda s, x: x * s[0] + sum(s), [deque([1]), deque([2]), deque([2, 3])]),
        (
            lambda s, x: x * sum(s),
            [{"a": 1}.values(), {"a": 2}.values(), {1: 2}.keys(), {5: 2}.keys()],
        ),
        (lambda s, x: (x, [repr(k) for k in s]), [{1: 2}, {True: 2}, {1.0: 2}]),
        (lambda s, x: (x * s, type(s).__name__), [1.0, np.float64(1.0), 1, True]),
    ],
)
@both
def test_what_arguments_hold(capture: Any, f: Any, values: Any) -> None:
    agrees(capture, f, *[lambda v=v: (v, x()) for v in [values[0]] * 3 + values + [values[0]]])


class Named(int):
    def __str__(self) -> str:
        return f"number {int(self)}"


class Array:
    def __init__(self, v: Any) -> None:
        self.v = v

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.v)


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda n, x: (x * n, str(n), f"{n}", math.sqrt(n)), Named),
        (lambda e, x: (x, str(e)), ValueError),
        (lambda a, x: x + tx.tensor(a), Array),
    ],
)
def test_what_objects_are_made_of(f: Any, kind: Any) -> None:
    agrees(tx.compile, f, *[lambda v=v: (kind(v), x()) for v in (1, 1, 1, 2)])
