"""Operators and pure functions at run time: they are called as they are, with arguments that a graph can hold."""

import functools
import operator
from collections import deque
from typing import Any

from thixo import _core
from thixo.capture.builtin import METHODS, is_pure
from thixo.capture.effects import check
from thixo.capture.frames import current
from thixo.capture.numbers import weak
from thixo.capture.operators import as_plain_tensor
from thixo.capture.paths import look, path_of
from thixo.capture.refusal import Refused
from thixo.capture.stand_ins import call_told, is_told, special, whole_number
from thixo.capture.values import Maybe, Mixed, Number, Symbolic, is_ragged
from thixo.dtype import DType, float32
from thixo.graph.trace import current_trace, make_symbolic
from thixo.ops import public as tx

LEAVE_OUT = "call it outside of what is captured"


def call_operator(f: Any, args: Any, kwargs: Any) -> Any:
    """An operator, with numbers that the data decide as tensors."""
    owner = getattr(f, "__self__", None)
    name = getattr(f, "__name__", "")
    if isinstance(owner, _core.Tensor):
        special = METHODS.get(name.lstrip("_"))
        if special is not None:
            return special(owner, *args, **kwargs)
    capture = current()
    if name == "stack" and args and is_ragged(args[0]) and len(args) + len(kwargs) == 1:
        return _stack_ragged(args[0])
    for a in (*args, *kwargs.values()):
        look(capture, a)
    if kwargs.get("requires_grad"):
        raise Refused(name, "a graph makes no leaves of a tape", LEAVE_OUT)
    every = [*args, *kwargs.values(), owner]
    other = next((a for a in every if isinstance(a, _core.Tensor)), None)
    args = [_argument(a, other, name) for a in args]
    kwargs = {k: _argument(a, other, name) for k, a in kwargs.items()}
    return f(*args, **kwargs)


def _stack_ragged(x: list[Any]) -> Any:
    """The elements of a list that are there, stacked."""
    values = [e.value if isinstance(e, Maybe) else e for e in x]
    if not all(isinstance(v, _core.Tensor) for v in values):
        raise Refused("stack", "a list of other than tensors", "make it one of tensors")
    flags = [e.flag.tensor if isinstance(e, Maybe) else tx.full((), True) for e in x]
    check(tx.any(tx.stack(flags)), "RuntimeError", "stack: needs at least one tensor, got none")
    return tx.stack(values)[tx.stack(flags)]


def _argument(a: Any, other: Any, what: str) -> Any:
    if isinstance(a, Number):
        if other is not None:
            return weak(a, other)
        return tx.to(a.tensor, float32) if a.kind == "float" else a.tensor
    if isinstance(a, _core.Tensor):
        if _is_number_outside(a):
            trace = current_trace()
            assert trace is not None
            return make_symbolic(
                trace.value_of(a)
            )  # else code that wants a number would take it now
        return a
    if isinstance(a, Mixed):
        return as_plain_tensor(a, what)
    if isinstance(a, Symbolic):
        raise Refused(what, f"an argument is {a!r}", "use tensors")
    a = whole_number(a)
    if special(a, "float") is not None:
        raise Refused(what, f"an argument is a {type(a).__name__}", "use float(x)")
    if type(a) in (list, tuple):
        current().readable(a)
        if any(
            isinstance(e, Symbolic | list | tuple) or _is_number_outside(e) or is_told(e) for e in a
        ):
            return type(a)(_element(e, what) for e in a)
    return a


def _is_number_outside(a: Any) -> bool:
    """Whether it is a tensor from outside that code may take for the number it is now."""
    return isinstance(a, _core.Tensor) and a._value is None and not a.ndim and not a.requires_grad


def _element(a: Any, what: str) -> Any:
    if isinstance(a, Number):
        raise Refused(what, "a list has a number in it that the data decide", "make it a tensor")
    return _argument(a, None, what)


def plain_call(f: Any, args: Any, kwargs: Any) -> Any:
    """A function that is called as it is: pure, or a part of Thixo that records."""
    from thixo.capture.builtin import as_callable
    from thixo.capture.builtin_sequences import iterate
    from thixo.capture.items import Items

    capture = current()
    what = name_of(f)
    if not isinstance(f, type) and kwargs.get("requires_grad"):
        raise Refused(f"a call of {what}", "a graph makes no leaves of a tape", LEAVE_OUT)
    for a in (*args, *kwargs.values()):
        look(capture, a)
        capture.advancing(a)
        if not is_pure(f) and path_of(capture, a) is not None and hasattr(a, "__dict__"):
            if not callable(a) or hasattr(a, "forward"):
                raise Refused(
                    f"a call of {what}", f"it gets a {type(a).__name__} from outside", LEAVE_OUT
                )
    if getattr(f, "__module__", None) == "itertools":
        args = [iterate(a) if isinstance(a, _core.Tensor | Items) else a for a in args]
    if is_pure(f) and not _is_blind(f) and any(map(is_told, (*args, *kwargs.values()))):
        return call_told(f, *args, **kwargs)
    given = [as_callable(_argument(a, None, what)) for a in args]
    named = {k: as_callable(_argument(a, None, what)) for k, a in kwargs.items()}
    return new(f(*given, **named))


_BLIND = (
    callable, object, type, functools.partial, functools.wraps, functools.update_wrapper, staticmethod, classmethod,
    property, deque, operator.itemgetter, operator.methodcaller,
)  # fmt: skip


def _is_blind(f: Any) -> bool:
    """Whether a pure function does not look at the objects that it gets."""
    return f in _BLIND or getattr(f, "__module__", None) == "itertools" or isinstance(f, DType)


def new(x: Any) -> Any:
    """Note a container that a call made."""
    if isinstance(x, list | dict | set | deque):
        capture = current()
        if id(x) not in capture.created and path_of(capture, x) is None:
            capture.made(x)
    return x


def flat(x: Any) -> Any:
    """The elements of lists and tuples within each other."""
    for e in x:
        if type(e) in (list, tuple):
            yield from flat(e)
        else:
            yield e


def name_of(f: Any) -> str:
    """What a function is called in messages."""
    return str(getattr(f, "__qualname__", None) or type(f).__name__)
