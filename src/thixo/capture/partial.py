"""Dicts and sets of which the data decide what is in them.

A value of a dict that is there on some paths only, and such an element of a set, is a Maybe. Reading the key is checked when the program
runs; `in`, `get`, `len` and loops ask its flag. The order of keys is that in which they were added, so a key may be set anew only
where it has the same place on all paths.
"""

from typing import Any

from thixo.capture import control
from thixo.capture.effects import check
from thixo.capture.frames import current
from thixo.capture.paths import PLAIN, look
from thixo.capture.refusal import Refused
from thixo.capture.values import Maybe, Symbolic
from thixo.ops import public as tx

_VIEWS = ("keys", "values", "items")


def flag_of(x: Any, key: Any) -> Any:
    """Whether a key or an element is there: a bool, or a Number."""
    look(current(), x, ragged=True)
    if isinstance(x, set):
        return _found(x, key).flag if _found(x, key) is not None else key in x
    if key not in x:
        return False
    return x[key].flag if isinstance(x[key], Maybe) else True


def item(x: dict[Any, Any], key: Any) -> Any:
    """`x[key]`"""
    look(current(), x, ragged=True)
    found = x.get(key)
    factory = getattr(x, "default_factory", None)
    if factory is not None and (key not in x or isinstance(found, Maybe)):
        return _made(x, key, factory)
    if not isinstance(found, Maybe):
        return x[key]
    if current().trying:
        raise Refused("[...]", "the data decide inside of try whether a key is there", "use get()")
    check(found.flag.tensor, "KeyError", str(key))
    return control.usable(found.value, "an element")


def _made(x: Any, key: Any, factory: Any) -> Any:
    """What a dict with a factory has for a key that may be missing: it is there from now on."""
    from thixo.capture.callees import call as called

    old = x.get(key)
    if isinstance(old, Maybe):
        new = control.ifexp(old.flag, lambda: old.value, lambda: called(factory), None, None, ())
    else:
        new = called(factory)
    set_item(x, key, control.usable(new, "an element"))
    return x[key]


def get(x: dict[Any, Any], key: Any, default: Any = None) -> Any:
    """`x.get(key, default)`"""
    flag = flag_of(x, key)
    if isinstance(flag, bool):
        return x[key] if flag else default
    return control.ifexp(flag, lambda: x[key].value, lambda: default, None, None, ())


def pop(x: dict[Any, Any], key: Any, *default: Any) -> Any:
    """`x.pop(key, default)`"""
    found = get(x, key, *default) if default or key not in x else item(x, key)
    if not default and key not in x:
        raise KeyError(key)
    current().changing(x, grows=True)
    x.pop(key, None)
    return found


def set_item(x: dict[Any, Any], key: Any, value: Any) -> None:
    """`x[key] = value`"""
    capture = current()
    look(capture, x, ragged=True)
    if isinstance(x.get(key), Maybe) and next(reversed(x)) != key:
        raise Refused(
            "[...] =",
            f"the place of the key {key!r} among the others would differ between paths",
            "set it on all paths before the others",
        )
    capture.changing(x, grows=True)
    x[key] = value


def add(x: set[Any], element: Any) -> None:
    """`x.add(element)`"""
    current().changing(x, grows=True)
    x.discard(_found(x, element))
    x.add(element)


def _found(x: set[Any], element: Any) -> Any:
    return next((e for e in x if isinstance(e, Maybe) and e.value == element), None)


def view(x: Any, name: str) -> list[Any]:
    """`x.keys()`, `x.values()` or `x.items()`, as a list of which the data decide what is in it."""
    capture = current()
    if isinstance(x, set):
        capture.readable(x)  # which says that it is not: nobody knows its order
    look(capture, x, ragged=True)
    found = []
    for key, value in x.items():
        there = value.value if isinstance(value, Maybe) else value
        one = key if name == "keys" else there if name == "values" else (key, there)
        found.append(Maybe(one, value.flag) if isinstance(value, Maybe) else one)
    return capture.made(found)


def call(x: Any, name: str, args: tuple[Any, ...]) -> Any:
    """A method that knows such containers; None where there is none."""
    if isinstance(x, set) and name != "copy":
        plain = name == "add" and len(args) == 1 and isinstance(args[0], PLAIN)
        return (lambda: add(x, *args)) if plain else None
    if name == "copy" and not args:
        return lambda: copied(x)
    if name == "pop" and 1 <= len(args) <= 2 and not isinstance(args[0], Symbolic):
        return lambda: pop(x, *args)
    if name in _VIEWS and not args:
        return lambda: view(x, name)
    if name == "get" and 1 <= len(args) <= 2 and not isinstance(args[0], Symbolic):
        return lambda: get(x, *args)
    return None


def copied(x: Any) -> Any:
    """`dict(x)`, `set(x)` or `x.copy()`"""
    look(current(), x, ragged=True)
    made = set(x) if isinstance(x, set) else x.copy()
    return current().made(made)


def length(x: Any) -> Any:
    """`len(x)`, as a tensor."""
    parts = x.values() if isinstance(x, dict) else x
    flags = [p.flag.tensor for p in parts if isinstance(p, Maybe)]
    return tx.sum(tx.stack(flags)) + (len(x) - len(flags))
