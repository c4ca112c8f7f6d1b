"""What the native core looks at before it runs a compiled function's program: places in memory and what is there."""

from __future__ import annotations

from collections import defaultdict
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from thixo import _core
from thixo.capture.asked import Answer
from thixo.capture.held import Held, Kind
from thixo.capture.journal import CONTAINERS
from thixo.capture.leaf_hooks import NoHooks
from thixo.capture.paths import AllEqual, Apart, Argument, Assumed, Path, SameAs
from thixo.dtype import float32, float64

_HEAP = 1 << 9  # a class that can be changed
_TABLES = ("_parameters", "_buffers", "_modules")  # of a Module


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
        self._gradients: dict[int, Any] = {}
        self._kinds: dict[int, Any] = {}
        self._counts: list[Any] = []

    def spec(self) -> dict[str, list[Any]]:
        """What `_core.Guarded` takes."""
        dicts = []
        for dict_, whole, keys in self._dicts.values():
            there = [(k, v) for k, v in keys.items() if v is not _MISSING]
            missing = [k for k, v in keys.items() if v is _MISSING]
            dicts.append((dict_, tuple(dict_) if whole else None, there, missing))
        return {
            "dicts": dicts,
            "cells": list(self._cells.values()),
            "lists": [(x, tuple(x)) for x in self._lists.values()],
            "functions": list(self._functions.values()),
            "classes": list(self._classes.values()),
            "types": list(self._types.values()),
            "gradients": list(self._gradients.values()),
            "kinds": list(self._kinds.values()),
            "counts": self._counts,
        }

    def assume(self, one: Assumed) -> None:
        """What has to stay so that something assumed holds."""
        if one.how == "missing":
            self._missing(one.path)
            return
        found = self.follow(one.path)
        if isinstance(found, _core.Tensor) and one.path.is_of_argument and not _is_of_program(one):
            raise Unsupported  # another tensor at each call
        if one.how in ("equal", "is"):
            if isinstance(one.value, Kind) and isinstance(found, _core.Tensor):
                self._kinds[id(found)] = found
            elif isinstance(one.value, Held):
                raise Unsupported  # what it holds may change
            return
        if one.how == "holds" and isinstance(one.value, SameAs):
            self.follow(one.value.path)
            return
        if isinstance(one.value, Answer) and one.path.is_of_argument:
            return
        if one.how == "holds" and isinstance(one.value, Apart):
            self._apart(one.value.paths)
            return
        if one.how == "holds" and isinstance(one.value, AllEqual):
            self.counts(one.path, one.value.counts)
            return
        if one.how == "holds" and isinstance(one.value, NoHooks):
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

    def _apart(self, paths: list[Path]) -> None:
        """Objects are the same ones as long as the core serves; of containers among the arguments it looks at each other only."""
        found = [self.follow(path) for path in paths]
        if isinstance(found[0], CONTAINERS) and len({p.is_of_argument for p in paths}) > 1:
            raise Unsupported

    def _missing(self, path: Path) -> None:
        *before, (how, key) = path.steps
        x = self.follow(Path(path.start, path.label, tuple(before)))
        if isinstance(x, _core.Tensor) and path.is_of_argument:
            raise Unsupported  # another tensor at each call
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

    def counts(self, path: Path, of: Any) -> list[Any]:
        """Counts that an object has, which are to stay equal; they are found by paths of their own too."""
        counts = of(self.follow(path))
        if not counts or any(t.dtype not in (float32, float64) or t.numel() != 1 for t in counts):
            raise Unsupported
        self._counts.append(tuple(counts))
        return counts

    def follow(self, path: Path) -> Any:
        """What a path leads to; each step is looked at from now on."""
        start, steps = path.start, list(path.steps)
        if not isinstance(start, Argument):
            found = start
        else:
            found = self._arguments[start.position]
            while steps and type(found) in (tuple, list, dict):  # looked at by their leaves
                found = found[steps.pop(0)[1]]
            if steps and isinstance(found, _core.Tensor):
                raise Unsupported  # another tensor at each call
        for how, key in steps:
            found = self._step(found, how, key)
        return found

    def number(self, path: Path) -> tuple[Any, Any]:
        """The dict or cell where a number is found, and its key there; the way to it is looked at."""
        if path.is_of_argument or not path.steps:
            raise Unsupported
        *before, (how, key) = path.steps
        owner = self.follow(Path(path.start, path.label, tuple(before)))
        if how == "item" and type(owner) is dict:
            return owner, key
        if how == "cell" and isinstance(owner, FunctionType):
            return owner.__closure__[key], None  # type: ignore[index]
        if how != "attr":
            raise Unsupported
        if key == "cell_contents" and isinstance(owner, CellType):
            return owner, None
        return self.attribute(owner, key), key

    def attribute(self, owner: Any, name: str) -> dict[str, Any]:
        """The dict of an object where an attribute is, or is set."""
        if isinstance(owner, ModuleType):
            return owner.__dict__
        kind = type(owner)
        state = getattr(owner, "__dict__", None)
        if (
            isinstance(owner, type)
            or type(state) is not dict
            or name not in state
            or kind.__getattribute__ is not object.__getattribute__
            or any(hasattr(k.__dict__.get(name), "__set__") for k in kind.__mro__)
        ):
            raise Unsupported
        self._type(kind)
        self._classes[id(owner)] = owner
        for table in _TABLES:  # where a Module's names are looked for when they are set
            inner = state.get(table)
            if type(inner) is dict:
                if name in inner:
                    raise Unsupported
                self._entry(state, table)
                self._dict(inner)[2][name] = _MISSING
        return state

    def _step(self, x: Any, how: str, key: Any) -> Any:
        if how == "attr":
            if key == "grad" and isinstance(x, _core.Tensor) and x.is_leaf:
                self._gradients[id(x)] = (x, x.grad)
                return x.grad
            return self._attribute(x, key)
        if how == "state":  # of an optimizer, for a parameter
            state, group = self._attribute(x, "state"), self._attribute(x, "param_groups")
            for step in (key[0], "params", key[1]):
                group = self._step(group, "item", step)
            if type(state) not in (dict, defaultdict) or group not in state:
                raise Unsupported
            return self._entry(state, group)
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
        if kind in (MethodType, property) and name in ("__func__", "__self__", "fget", "fset"):
            return getattr(x, name)  # which never changes
        if isinstance(x, type):
            if kind.__getattribute__ is not type.__getattribute__ or any(
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


def _is_of_program(one: Assumed) -> bool:
    """Whether a program, which is made for exact sizes and strides, says what was assumed of an argument's tensor."""
    return isinstance(one.value, Answer) and one.value.name in ("is_contiguous", "stride")


class _Missing:
    pass


_MISSING = _Missing()
