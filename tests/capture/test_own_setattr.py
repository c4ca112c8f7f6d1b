"""Classes that set, delete or find attributes by code of their own: what that does is done once for each call."""

import dataclasses
import functools
import threading
import types

import pytest

import thixo as tx
from thixo.errors import CaptureError


class Counted:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name != "log":
            self.log.append(name)

    def __delattr__(self, name):
        object.__delattr__(self, name)
        self.log.append(f"no {name}")


class CountedModule(tx.nn.Module):
    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "n":
            self.log.append(value)


def counted(cls):
    made = cls()
    made.log = []
    made.n = 0
    return made


MAKERS = [
    lambda: counted(types.SimpleNamespace),
    lambda: counted(Exception),
    lambda: counted(threading.local),
    lambda: counted(lambda: functools.partial(max)),
    lambda: counted(Counted),
    lambda: counted(CountedModule),
]


@pytest.mark.parametrize("make", MAKERS)
def test_an_attribute_is_set_once_a_call(make):
    def f(s, x):
        s.n += 1
        return x * s.n

    expected, found = make(), make()
    compiled = tx.compile(f)
    for _ in range(3):
        assert compiled(found, tx.ones(2)).tolist() == f(expected, tx.ones(2)).tolist()
        assert (found.n, found.log) == (expected.n, expected.log)


@pytest.mark.parametrize("make", MAKERS)
def test_script_refuses_or_is_right(make):
    def f(s, x):
        s.n += 1
        return x * s.n

    s, scripted = make(), tx.jit.script(f)
    if type(s) is types.SimpleNamespace:  # it sets as any object does
        assert (scripted(s, tx.ones(2)).tolist(), s.n) == ([1.0, 1.0], 1)
        return
    with pytest.raises(CaptureError, match=r"__setattr__ of its own; .*test_own_setattr.py:"):
        scripted(s, tx.ones(2))
    assert s.n == 0


def test_an_attribute_is_deleted_once():
    s = counted(Counted)

    @tx.compile
    def f(x):
        del s.n
        return x

    f(tx.ones(2))
    assert s.log == ["n", "no n"]
    with pytest.raises(AttributeError):
        f(tx.ones(2))


def test_an_attribute_that_a_class_looks_up_itself():
    looked = []

    class Looking:
        n = 2

        def __getattribute__(self, name):
            if name == "n":
                looked.append(name)
            return object.__getattribute__(self, name)

    s = Looking()
    f = tx.compile(lambda x: x * s.n)
    assert f(tx.ones(2)).tolist() == f(tx.ones(2)).tolist() == [2.0, 2.0]
    assert looked == ["n", "n"]


def test_a_frozen_dataclass_raises_as_in_python():
    @dataclasses.dataclass(frozen=True)
    class Point:
        x: int = 0

    def f(p, x):
        p.x = 1
        return x

    for g in (f, tx.compile(f), tx.jit.script(f)):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
            g(Point(), tx.ones(2))
