"""Methods of Python's own objects at run time: containers, texts, numbers."""

import types
from collections import deque
from typing import Any

from thixo import _core
from thixo.capture import partial, ragged
from thixo.capture.builtin import REPLACED, SYNTAX, is_pure
from thixo.capture.frames import Capture, current
from thixo.capture.journal import CONTAINERS
from thixo.capture.keys import pinned
from thixo.capture.operators import spread
from thixo.capture.paths import look
from thixo.capture.plain_calls import LEAVE_OUT, call_operator, flat, name_of, new, plain_call
from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import call_told, is_told
from thixo.capture.values import Choice, Symbolic, is_partial, is_ragged

_MUTATORS = frozenset(
    "append extend insert pop remove clear update setdefault add discard sort reverse popitem "
    "appendleft popleft extendleft rotate move_to_end".split()
)
_BLIND = frozenset(
    ("append", "extend", "add", "appendleft", "update")
)  # do not look at what is there


def call_builtin(f: Any, args: Any, kwargs: Any) -> Any:
    """A function that is not written in Python."""
    owner = getattr(f, "__self__", None)
    name = f.__name__
    capture = current()
    if isinstance(owner, (_core.Tensor, *CONTAINERS)) and name[:2] == "__" and name[2:-2] in SYNTAX:
        return SYNTAX[name[2:-2]](owner, *args, **kwargs)
    if isinstance(owner, _core.Tensor):
        return call_operator(f, args, kwargs)
    if isinstance(owner, set | frozenset):  # one element, or several
        args = tuple([pinned(e) for e in a] if isinstance(a, list) else pinned(a) for a in args)
    elif isinstance(owner, dict) and args and name != "update":
        args = (pinned(args[0]), *args[1:])
    if isinstance(owner, list | dict | set | deque):
        for a in (*args, *kwargs.values()):
            look(capture, a)
        if is_partial(owner) and not kwargs:
            known = partial.call(owner, name, args)
            if known is not None:
                return known()
        if isinstance(owner, list) and is_ragged(owner) and not kwargs:
            change = ragged.change(owner, name, args)
            if change is not None:
                return change()
        if name in _MUTATORS:
            return _mutate(capture, f, owner, name, args, kwargs)
        look(capture, owner)
        return _call_on_container(f, owner, name, args, kwargs)
    if isinstance(owner, str | bytes | tuple | int | float | complex | range | frozenset | slice):
        look(capture, owner)
        if any(isinstance(a, Symbolic | _core.Tensor) for a in flat((*args, *kwargs.values()))):
            return _text_method(owner, name, args, kwargs)
        for a in args:
            look(capture, a)
        if is_told(owner) or any(map(is_told, (*args, *kwargs.values()))):
            return call_told(getattr(type(owner), name), owner, *args, **kwargs)
        return new(f(*args, **kwargs))
    if is_pure(f) or name_of(f) == "object.__init__":
        return plain_call(f, args, kwargs)
    if isinstance(f, types.MethodDescriptorType) and args:  # list.append(x, 1)
        from thixo.capture.callees import call

        return call(getattr(args[0], name), *args[1:], **kwargs)
    raise Refused(f"a call of {name_of(f)}", "it is not known what it does", LEAVE_OUT)


def _text_method(owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    from thixo.capture.effects import formatted

    if isinstance(owner, str) and name == "format":
        return formatted(owner, args, kwargs)
    if isinstance(owner, tuple) and name in ("index", "count"):
        return _search(owner, name, *args)
    raise Refused(
        f"{type(owner).__name__}.{name}",
        "an argument is known only when the program runs",
        "use tensors",
    )


def _search(owner: Any, name: str, x: Any) -> Any:
    raise Refused(
        f".{name}", "it compares with something the data decide", "use a tensor and argmax"
    )


def _call_on_container(f: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    if isinstance(owner, list | deque) and name in ("index", "count"):
        if any(isinstance(e, Symbolic | _core.Tensor) for e in (*owner, *args)):
            return _search(owner, name, *args)
        if is_told(owner) or any(map(is_told, args)):
            return call_told(getattr(type(owner), name), owner, *args)
    if args and isinstance(args[0], Choice) and isinstance(owner, dict):
        return spread(args[0], lambda one: f(one, *args[1:], **kwargs))
    return new(f(*args, **kwargs))


def _mutate(capture: Capture, f: Any, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
    from thixo.capture.builtin_sequences import iterate

    if name not in _BLIND:
        look(capture, owner)
    if name in ("extend", "update", "extendleft") and args:
        args = (iterate(args[0]) if not isinstance(args[0], dict) else args[0], *args[1:])
        args = (list(args[0]) if not isinstance(args[0], dict) else args[0], *args[1:])
        if isinstance(owner, set):
            args = (list(map(pinned, args[0])), *args[1:])
        elif isinstance(owner, dict) and not isinstance(args[0], dict):
            args = ([(pinned(k), v) for k, v in args[0]], *args[1:])
    if name == "sort":
        made = REPLACED[sorted](list(owner), **kwargs)
        capture.changing(owner)
        owner[:] = made
        return None
    if any(isinstance(a, Symbolic) for a in args) and name in (
        "insert",
        "pop",
        "add",
        "remove",
        "rotate",
        "discard",
        "setdefault",
    ):
        if (name != "insert" and not (name == "setdefault")) or isinstance(args[0], Symbolic):
            raise Refused(
                f".{name}",
                "its place or element is known only when the program runs",
                "use a tensor",
            )
    if name in ("remove",) and any(isinstance(e, Symbolic | _core.Tensor) for e in (*owner, *args)):
        return _search(owner, name, *args)
    if name == "remove" and isinstance(owner, list) and (is_told(owner) or is_told(args[0])):
        raise Refused(".remove", "it compares objects", "use del and a place")
    if isinstance(owner, set) and any(isinstance(a, _core.Tensor) for a in args):
        raise Refused(f"set.{name}", "a set of tensors depends on identity", "use a list")
    capture.changing(owner, grows=name in ("append", "extend"))
    return f(*args, **kwargs)
