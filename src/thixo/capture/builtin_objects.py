"""Built-in functions that look at objects: print, str, isinstance, type, getattr, copy."""

import copy
import dataclasses
from typing import Any

from thixo import _core
from thixo.capture import asked, control, operators
from thixo.capture.effects import Text, is_open, say, shown
from thixo.capture.frames import current
from thixo.capture.paths import look, note_missing
from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import show
from thixo.capture.values import Choice, Mixed, Number, Symbolic, kind_of
from thixo.ops import public as tx
from thixo.symbolic import Dim


def print_(
    *args: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: bool = False
) -> None:
    if file is None:
        say(args, " " if sep is None else sep, "\n" if end is None else end)
        return
    from thixo.capture.callees import call

    if any(map(is_open, args)):
        raise Refused(
            "print", "values that the data decide go to a file", "print them to the screen"
        )
    text = (" " if sep is None else sep).join(map(str, args))
    for part in (text, "\n" if end is None else end):
        if part:
            call(file.write, part)


def isinstance_(x: Any, kinds: Any) -> Any:
    if isinstance(x, Choice):
        return operators.spread(x, lambda v: isinstance(v, kinds))
    if isinstance(x, Number):
        return issubclass({"bool": bool, "int": int, "float": float}[x.kind], kinds)
    if isinstance(x, Dim):
        return issubclass(int, kinds)
    if isinstance(x, Mixed):
        other = (
            type(None) if x.kind == "none" else {"bool": bool, "int": int, "float": float}[x.kind]
        )
        if isinstance(x.tensor, kinds) == issubclass(other, kinds):
            return isinstance(x.tensor, kinds)
        return x.flag if issubclass(other, kinds) else control.not_(x.flag)
    if isinstance(x, _core.Tensor) and _tell_tensors_apart(kinds):
        return (
            issubclass(asked.answer(x, "class"), kinds)
            if asked.is_from(x)
            else isinstance(x, kinds)
        )
    return isinstance(x, kinds)


def _tell_tensors_apart(kinds: Any) -> bool:
    """Whether it matters of which class a tensor is."""
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    return any(
        _tell_tensors_apart(k) if isinstance(k, tuple)
        else isinstance(k, type) and issubclass(k, _core.Tensor) and k is not _core.Tensor
        for k in every
    )  # fmt: skip


def type_(x: Any, *rest: Any) -> Any:
    if rest:
        raise Refused("type", "a class is made", "define it outside")
    kind = kind_of(x)
    if isinstance(x, Mixed | Choice):
        raise Refused("type", f"of {x!r}", "use one kind of value on all paths")
    if isinstance(x, _core.Tensor) and asked.is_from(x):
        return asked.answer(x, "class")
    return {"bool": bool, "int": int, "float": float}[kind] if kind else type(x)


def getattr_(x: Any, name: str, *default: Any) -> Any:
    from thixo.capture.attributes import attr, possible

    found = possible(x, name)
    if found is not None and default:
        return control.ifexp(found.flag, lambda: found.value, lambda: default[0], None, None, ())
    try:
        return attr(x, name)
    except AttributeError:
        note_missing(current(), x, name)
        if default:
            return default[0]
        raise


def hasattr_(x: Any, name: str) -> Any:
    from thixo.capture.attributes import possible

    found = possible(x, name)
    if found is not None:
        return found.flag
    try:
        getattr_(x, name)
    except AttributeError:
        return False
    return True


def setattr_(x: Any, name: str, value: Any) -> None:
    from thixo.capture.attributes import set_attr

    set_attr(x, name, value)


def object_setattr(x: Any, name: str, value: Any) -> None:
    """`object.__setattr__`, as frozen dataclasses set their own attributes."""
    from thixo.capture.attributes import set_plain_attr

    set_plain_attr(x, name, value)


def str_(*args: Any) -> Any:
    if len(args) == 1 and is_open(args[0]):
        return args[0] if isinstance(args[0], Text) else shown(args[0], ord("s"), "")
    look(current(), args[0] if args else None)
    return show(args[0], "s") if len(args) == 1 else str(*args)


def repr_(x: Any) -> Any:
    return shown(x, ord("r"), "")


def format_(x: Any, spec: Any = "") -> Any:
    return shown(x, -1, spec)


def copy_(x: Any) -> Any:
    if isinstance(x, _core.Tensor):
        raise Refused(
            "copy.copy", "of a tensor: it is a leaf of its own", "use clone() or detach()"
        )
    if isinstance(x, Symbolic):
        return x
    if type(x) in (list, dict, set, tuple):
        look(current(), x)
        return current().made(copy.copy(x)) if not isinstance(x, tuple) else x
    raise Refused("copy.copy", f"how a {type(x).__name__} is copied is not known", "make a new one")


def deepcopy_(x: Any, memo: dict[int, Any] | None = None) -> Any:
    memo = {} if memo is None else memo
    if isinstance(x, Symbolic | str | int | float | bool | type(None)):
        return x
    if id(x) not in memo:
        memo[id(x)] = _deep(x, memo)
    return memo[id(x)]


def _deep(x: Any, memo: dict[int, Any]) -> Any:
    if isinstance(x, _core.Tensor):
        if x.requires_grad:
            raise Refused(
                "copy.deepcopy", "of a tensor that requires gradients: a graph makes no leaves of a tape",
                "use detach().clone()",
            )  # fmt: skip
        return tx.clone(x)
    look(current(), x)
    if type(x) is tuple:
        return tuple(deepcopy_(e, memo) for e in x)
    if type(x) in (list, dict):
        made = memo[id(x)] = current().made(type(x)())  # it may hold itself
        if type(x) is list:
            made.extend(deepcopy_(e, memo) for e in x)
        else:
            made.update((k, deepcopy_(v, memo)) for k, v in x.items())
        return made
    raise Refused(
        "copy.deepcopy", f"how a {type(x).__name__} is copied is not known", "make a new one"
    )


def replace(x: Any, **changes: Any) -> Any:
    from thixo.capture.attributes import attr
    from thixo.capture.callees import call

    given = {f.name: attr(x, f.name) for f in dataclasses.fields(x) if f.init}
    return call(type(x), **{**given, **changes})
