"""The way of a compiled function's call that needs no Python: what the native core checks, and what it then runs.

After Python has found that a graph serves a call, everything that this depended on is written down as places in memory and what is there
(`Watch` in the core): entries of dicts, cells, elements of lists, code of functions, classes. As long as all of them are the same
objects, the same graph serves. Where one is not, Python looks again: it may be another object that is equal.
"""

from __future__ import annotations

import functools
from types import FunctionType, MethodType, ModuleType
from typing import Any

from thixo import _core
from thixo.capture.compile_backends import Compiled
from thixo.capture.held import Held
from thixo.capture.paths import Argument, Assumed, Path, SameAs, Scalar
from thixo.capture.plans import Call
from thixo.random import default_generator

_HEAP = 1 << 9  # a class that can be changed
_EQUAL = (int, float, str)
_TABLES = ("_parameters", "_buffers", "_modules")  # of a Module
_MOST = 16  # arguments


class Unsupported(Exception):
    """Something that only Python can look at."""


class Places:
    """Collects what the core is to look at."""

    def __init__(self, arguments: list[Any]) -> None:
        self._arguments = arguments
        self._dicts: dict[int, tuple[Any, list[Any], dict[Any, Any]]] = {}
        self._cells: dict[int, Any] = {}
        self._lists: dict[int, Any] = {}
        self._functions: dict[int, Any] = {}
        self._classes: dict[int, Any] = {}
        self._types: dict[int, Any] = {}

    def spec(self) -> dict[str, list[Any]]:
        """What `_core.Guarded` takes."""
        dicts = []
        for dict_, whole, keys in self._dicts.values():
            there = [(k, v) for k, v in keys.items() if v is not _MISSING]
            if whole:
                there = list(dict_.items())
            dicts.append((dict_, bool(whole), there, [k for k, v in keys.items() if v is _MISSING]))
        return {
            "dicts": dicts,
            "cells": list(self._cells.values()),
            "lists": [(x, tuple(x)) for x in self._lists.values()],
            "functions": list(self._functions.values()),
            "classes": list(self._classes.values()),
            "types": list(self._types.values()),
        }

    def assume(self, one: Assumed) -> None:
        """What has to stay so that something assumed holds."""
        if one.how == "missing":
            self._missing(one.path)
            return
        found = self.follow(one.path)
        if one.how in ("equal", "is"):
            if isinstance(one.value, Held):
                raise Unsupported  # what it holds may change
            return
        if one.how == "holds" and isinstance(one.value, SameAs):
            self.follow(one.value.path)
            return
        if one.how == "type":
            self._classes[id(found)] = found
        elif one.how == "code" and isinstance(found, FunctionType | MethodType):
            function = found.__func__ if isinstance(found, MethodType) else found
            if not isinstance(function, FunctionType):
                raise Unsupported
            self._functions[id(function)] = function
        elif one.how == "length" and type(found) is list:
            self._lists[id(found)] = found
        elif one.how == "keys" and type(found) is dict:
            self._dict(found)[1].append(True)
        elif not (one.how in ("length", "keys") and type(found) in (tuple, frozenset)):
            raise Unsupported

    def _missing(self, path: Path) -> None:
        *before, (how, key) = path.steps
        x = self.follow(Path(path.start, path.label, tuple(before)))
        if how == "item" and type(x) is dict and key not in x:
            self._dict(x)[2][key] = _MISSING
            return
        state = getattr(x, "__dict__", None)
        if how != "attr" or type(state) is not dict or hasattr(x, key):
            raise Unsupported
        self._type(type(x))
        self._classes[id(x)] = x
        for table in (state, *(state.get(t) for t in _TABLES)):
            if type(table) is dict:
                self._dict(table)[2][key] = _MISSING

    def follow(self, path: Path) -> Any:
        """What a path leads to; each step is looked at from now on."""
        start = path.start
        found = self._arguments[start.position] if isinstance(start, Argument) else start
        for how, key in path.steps:
            found = self._step(found, how, key)
        return found

    def _step(self, x: Any, how: str, key: Any) -> Any:
        if how == "attr":
            return self._attribute(x, key)
        if how == "item":
            if type(x) is dict:
                return self._entry(x, key)
            if type(x) is list and isinstance(key, int):
                self._lists[id(x)] = x
                return x[key]
            if isinstance(x, tuple) and type(x).__getitem__ is tuple.__getitem__:
                return x[key]
        elif how in ("cell", "closure") and isinstance(x, FunctionType):
            cell = x.__closure__[key]  # type: ignore[index]
            return self._cell(cell) if how == "cell" else cell
        elif how == "default" and isinstance(x, FunctionType):
            self._functions[id(x)] = x
            return x.__defaults__[key]  # type: ignore[index]
        elif how == "kwdefault" and isinstance(x, FunctionType):
            self._functions[id(x)] = x
            return self._entry(x.__kwdefaults__, key)  # type: ignore[arg-type]
        raise Unsupported

    def _cell(self, cell: Any) -> Any:
        self._cells[id(cell)] = (cell, cell.cell_contents)
        return cell.cell_contents

    def _dict(self, x: dict[Any, Any]) -> tuple[Any, list[Any], dict[Any, Any]]:
        return self._dicts.setdefault(id(x), (x, [], {}))

    def _entry(self, x: dict[Any, Any], key: Any) -> Any:
        found = x[key]
        self._dict(x)[2][key] = found
        return found

    def _attribute(self, x: Any, name: str) -> Any:
        kind = type(x)
        if name == "cell_contents" and kind.__name__ == "cell":
            return self._cell(x)
        if isinstance(x, ModuleType):
            return self._entry(x.__dict__, name)
        if isinstance(x, type):
            if kind is not type or any(
                hasattr(k.__dict__.get(name), "__set__") for k in kind.__mro__
            ):
                raise Unsupported
            self._type(x)
            return getattr(x, name)
        if kind.__getattribute__ is not object.__getattribute__:
            raise Unsupported
        self._type(kind)
        self._classes[id(x)] = x
        on_class = next((k.__dict__[name] for k in kind.__mro__ if name in k.__dict__), _MISSING)
        if on_class is not _MISSING and hasattr(type(on_class), "__set__"):
            raise Unsupported  # a property, a slot
        state = getattr(x, "__dict__", None)
        if state is None:
            if on_class is _MISSING:
                raise Unsupported
            return getattr(x, name)
        if type(state) is not dict:
            raise Unsupported
        if name in state:
            return self._entry(state, name)
        self._dict(state)[2][name] = _MISSING
        if on_class is not _MISSING:
            return getattr(x, name)
        for table in _TABLES:
            inner = state.get(table)
            if type(inner) is dict:
                self._entry(state, table)
                if name in inner:
                    return self._entry(inner, name)
                self._dict(inner)[2][name] = _MISSING
        raise Unsupported

    def _type(self, kind: type) -> None:
        for one in kind.__mro__:
            if one.__flags__ & _HEAP:
                self._types[id(kind)] = kind
                return


class _Missing:
    pass


_MISSING = _Missing()


class _Place:
    """Stands for a tensor of a call: an output of the graph, or (negative) an input."""

    def __init__(self, at: int) -> None:
        self.at = at


def quick_spec(entry: Any, args: tuple[Any, ...]) -> dict[str, Any] | None:
    """What `_core.Guarded` needs to serve calls like this one, which has just been served; None where Python is needed."""
    run, captured = entry.run, entry.captured
    if not isinstance(run, Compiled) or run.replayed or captured.sizes or entry.says:
        return None
    if len(args) > _MOST or any(isinstance(a, list | tuple | dict | set) for a in args):
        return None  # containers may hold other tensors at each call
    try:
        # The call itself may have changed what it depends on.
        return _spec(entry, args) if captured.fits(args, {}) else None
    except (Unsupported, AttributeError, LookupError, TypeError, ValueError, RuntimeError):
        return None


def _spec(entry: Any, args: tuple[Any, ...]) -> dict[str, Any] | None:
    captured, function = entry.captured, entry.run.function
    if not all(one.holds([args, {}]) for one in captured.assumed):
        return None  # the call itself has changed what it depends on
    arguments: list[Any] = []
    places: dict[int, int] = {}
    for i, arg in enumerate(args):
        if isinstance(arg, _core.Tensor):
            first = places.setdefault(id(arg), i)
            arguments.append(("tensor", None, arg.requires_grad, first))
        elif type(arg) in _EQUAL:
            arguments.append(("equal", arg, False, i))
        else:
            arguments.append(("same", arg, False, i))
    watch = Places([args, {}])
    for one in captured.assumed:
        watch.assume(one)
    matters = _core.is_grad_enabled() or bool(captured.needs)
    inputs: list[Any] = [(i, None, -1) for i in places.values()]
    if len(inputs) != captured.given:
        return None
    for path in captured.paths:
        if isinstance(path, Scalar):
            if path.is_of_argument:
                return None
            inputs.append((-2, functools.partial(path.fetch, []), -1))
            continue
        tensor = watch.follow(path)
        inputs.append((-1, tensor, int(tensor.requires_grad) if matters else -1))
    inputs += [(-1, t, int(t.requires_grad) if matters else -1) for t in function._tensors]
    given = [args[i] if i >= 0 else t() if i == -2 else t for i, t, _ in inputs]
    found = _program(function, given)
    if found is None:
        return None
    program, plan = found
    return {
        "arguments": arguments,
        "inputs": inputs,
        "watch": watch.spec(),
        "grad": _core.is_grad_enabled(),
        "program": program,
        "plan": plan,
        "generator": default_generator if entry.draws and entry.may_fail else None,
        "outputs": _outputs(captured, function, inputs, plan is not None),
        "owner": entry,
    }


def _program(function: Any, given: list[Any]) -> tuple[Any, Any] | None:
    """The native program that served these inputs, and how it is recorded."""
    plan = None
    made = function._plain
    if _core.is_grad_enabled():
        needs = tuple(t.requires_grad for t in given)
        if True in needs:
            recorded = function._recorded.get(needs)
            plan = recorded.native_plan() if recorded is not None else None
            if plan is None:
                return None
            made = recorded._forward
    executor = getattr(made, "_executor", None)
    if executor is None or getattr(executor, "_room", True):
        return None
    for program in executor.programs:
        if program.fits(given):
            return program, plan
    return None


def _place(look: Any, recorded: bool) -> int | None:
    """Where an output is among what the program gives, or (negative) among its inputs; None if it is a view of that."""
    if any(recorded or not look.computed or n.op.full_name != "detach" for n in look.views):
        return None
    return look.place if look.computed else -1 - look.place


def _outputs(captured: Any, function: Any, inputs: list[Any], recorded: bool) -> Any:
    """Which results a call returns, where it returns one or a tuple of them; else what makes the result."""
    results = function._results
    places = [_place(look, recorded) for look in results.looks]
    if None not in places and not captured.changes:
        call = Call([(), {}], [_Place(-1 - i) for i in range(captured.given)])
        call.outputs = [_Place(at) for at in places if at is not None]
        try:
            found = captured.result(call)
        except Exception:  # it looks at values
            found = None
        if isinstance(found, _Place):
            return found.at
        if type(found) is tuple and found and all(isinstance(p, _Place) for p in found):
            return tuple(p.at for p in found)

    def finish(args: tuple[Any, ...], computed: list[Any]) -> Any:
        given = [args[i] if i >= 0 else t for i, t, _ in inputs]
        return captured.finished(args, {}, given, results.of(computed, given), {})

    return finish
