"""Calls at run time: users' functions are converted, operators and pure functions are called, all else is refused."""

import functools
import importlib
import inspect
import operator
import os
import types
from collections import deque
from typing import Any

from thixo import _core
from thixo.capture import partial, ragged
from thixo.capture.builtin import METHODS, REPLACED, SYNTAX, is_pure
from thixo.capture.convert import APART, PLAIN, TELLING, convert, is_converted
from thixo.capture.effects import check
from thixo.capture.frames import Capture, current
from thixo.capture.functions import APPLY, apply_captured
from thixo.capture.journal import CONTAINERS
from thixo.capture.keys import pinned
from thixo.capture.numbers import weak
from thixo.capture.operators import as_plain_tensor, spread
from thixo.capture.paths import Assumed, Path, look, path_of, read
from thixo.capture.refusal import Refused
from thixo.capture.values import (
    UNSET,
    Choice,
    Maybe,
    Mixed,
    Number,
    Symbolic,
    Union,
    is_partial,
    is_ragged,
)
from thixo.dtype import float32
from thixo.graph.trace import current_trace, make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim


def call(f: Any, *args: Any, **kwargs: Any) -> Any:
    """What a call in captured code does."""
    made = _called(f, args, kwargs)
    if hasattr(type(made), "__next__"):
        current().made_iterator(made)
    return made


def _called(f: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(f, Choice):
        return spread(f, lambda one: call(one, *args, **kwargs))
    if isinstance(f, Symbolic):
        raise Refused("a call", f"of {f!r}", "call a function")
    if isinstance(f, functools.partial):
        _reach(f, "func", "args", "keywords")
        return call(f.func, *f.args, *args, **{**f.keywords, **kwargs})
    chosen = _union_among(f, args, kwargs)
    if chosen is not None:
        return spread(
            chosen[0], lambda one: call(f, *chosen[1](args, one), **chosen[1](kwargs, one))
        )
    if isinstance(f, _core.Operator):
        return call_operator(f, args, kwargs)
    try:
        replaced = REPLACED.get(f)
    except TypeError:
        replaced = None
    if replaced is not None:
        return replaced(*args, **kwargs)
    if isinstance(f, _GETTERS):
        return _call_getter(f, *args, **kwargs)
    if isinstance(f, types.MethodType):
        return _call_method(f, args, kwargs)
    if isinstance(f, types.FunctionType):
        return call_function(f, args, kwargs)
    if isinstance(f, type):
        from thixo.capture.instances import instantiate

        return instantiate(f, args, kwargs)
    if isinstance(
        f, types.BuiltinFunctionType | types.MethodWrapperType | types.MethodDescriptorType
    ):
        return _call_builtin(f, args, kwargs)
    return _call_object(f, args, kwargs)


_GETTERS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)


def _call_getter(f: Any, x: Any) -> Any:
    """What `operator` makes of names: it looks at objects as captured code does."""
    from thixo.capture.attributes import attr
    from thixo.capture.elements import item

    kind, given = type(f), f.__reduce__()[1]
    if kind is operator.methodcaller:
        made, given = f.__reduce__()[:2]
        named = made.keywords if isinstance(made, functools.partial) else {}
        name, *more = (*made.args, *given) if isinstance(made, functools.partial) else given
        return call(attr(x, name), *more, **named)
    if kind is operator.itemgetter:
        found = tuple(item(x, key) for key in given)
    else:
        found = tuple(functools.reduce(attr, name.split("."), x) for name in given)
    return found if len(found) > 1 else found[0]


def _union_among(f: Any, args: Any, kwargs: Any) -> Any:
    """A Union among the arguments of what is not converted and looks at them, and how another value takes its place."""
    owner = getattr(f, "__self__", None)
    if isinstance(f, types.MethodType) and not isinstance(owner, _core.Tensor):
        return None
    if isinstance(owner, CONTAINERS):
        return None
    if isinstance(f, types.FunctionType) and not (is_pure(f) or _module_of(f) or f in REPLACED):
        return None
    if isinstance(f, type) and f.__module__ not in ("builtins", "collections"):
        return None
    found = next((x for x in _flat((*args, *kwargs.values())) if isinstance(x, Union)), None)
    if found is None:
        return None

    def put(x: Any, one: Any) -> Any:
        if x is found:
            return one
        if type(x) in (list, tuple):
            return type(x)(put(e, one) for e in x)
        return {k: put(e, one) for k, e in x.items()} if type(x) is dict else x

    return found, put


def _flat(x: Any) -> Any:
    for e in x:
        if type(e) in (list, tuple):
            yield from _flat(e)
        else:
            yield e


def _call_object(f: Any, args: Any, kwargs: Any) -> Any:
    if "stands_for" in getattr(f, "__dict__", ()):
        return call(
            f.stands_for, *args, **kwargs
        )  # a compiled function is a part of what is captured
    method = getattr(type(f), "__call__", None)  # noqa: B004  which one it is
    if isinstance(method, types.FunctionType):
        name = type(f).__module__ or ""
        if name.startswith("thixo.") and not hasattr(f, "forward"):
            return plain_call(f, args, kwargs)
        if hasattr(f, "forward"):
            return _call_module(f, args, kwargs)
        return call_function(method, (f, *args), kwargs)
    if is_pure(f):
        return plain_call(f, args, kwargs)
    raise Refused(f"a call of {_name(f)}", "it is not known what it does", LEAVE_OUT)


LEAVE_OUT = "call it outside of what is captured"


def _call_module(f: Any, args: Any, kwargs: Any) -> Any:
    if f.__dict__.get("_hooked"):
        raise Refused(f"a call of {type(f).__name__}", "it has hooks", "remove them before")
    capture = current()
    path = path_of(capture, f)
    if path is not None:
        read(capture, path.step("attr", "_hooked"), f.__dict__.get("_hooked"))
        code = getattr(f.forward, "__code__", None)
        if "forward" not in f.__dict__ and code is not None:  # an object may get its own later
            way = path.step("attr", "forward")
            capture.guards.setdefault((way.key, "code"), Assumed(way, "code", code))
    return call(f.forward, *args, **kwargs)


def call_function(f: types.FunctionType, args: Any, kwargs: Any) -> Any:
    """Call a Python function, converted where it has to be."""
    from thixo.capture.hooks import Hooks

    if is_converted(f.__code__):
        return f(*args, **kwargs)
    if hasattr(f, "stands_for"):
        return call(f.stands_for, *args, **kwargs)
    if f.__name__ in ("_replace", "_make", "_asdict") and args and _is_named_tuple(args[0]):
        return new(f(*args, **kwargs))
    module = _module_of(f)
    if is_pure(f):
        return plain_call(f, args, kwargs)
    refused = _refused_of_own(module, f.__name__)
    if refused:
        raise Refused(f"a call of {_name(f)}", refused, LEAVE_OUT)
    if module.startswith(_TRAINING):
        form = importlib.import_module("thixo.optim.captured").form_of(f)
        if form is not None:
            return form(*args, **kwargs)
    if module.startswith("thixo.nn.modules") and f.__name__ in _LISTS and args:
        return read_members(f, args, kwargs)
    if module.startswith("thixo.") and not module.startswith(_AS_USERS):
        return plain_call(f, args, kwargs)
    made = convert(f, Hooks(f), APART if current().attempts else PLAIN)
    _note_defaults(f)
    return made(*args, **kwargs)


def attempt(f: Any, args: Any, kwargs: Any) -> Any:
    """A call inside of try: whether it raised, what it returned, and the exception."""
    from thixo.capture.hooks import Hooks

    function = f.__func__ if isinstance(f, types.MethodType) else f
    if not isinstance(function, types.FunctionType) or not _is_users(function):
        return False, call(f, *args, **kwargs), UNSET
    if isinstance(f, types.MethodType):
        _reach(f, "__self__", "__func__")
        args = (f.__self__, *args)
    made = convert(function, Hooks(function), TELLING)
    _note_defaults(function)
    return made(*args, **kwargs)


def _is_users(f: types.FunctionType) -> bool:
    """Whether a function is a user's, and neither a generator nor converted already."""
    code = f.__code__
    special = is_converted(code) or hasattr(f, "stands_for") or f in REPLACED or is_pure(f)
    return not special and not _module_of(f) and not code.co_flags & inspect.CO_GENERATOR


# Functions of Thixo's that change parameters are converted as users' are.
_AS_USERS = ("thixo.nn.modules", "thixo.nn.utils.convert_parameters")
_STATES = (
    "thixo.random",
    "thixo.threads",
    "thixo.config",
    "thixo.determinism",
    "thixo.printing",
)


def _refused_of_own(module: str, name: str) -> str:
    """Why a function of Thixo's cannot be part of a graph; empty where it can."""
    if module.startswith(_STATES) or name in ("set_default_dtype", "set_mode", "register_backend"):
        return "it changes a state of Thixo's"
    if module.startswith("thixo.serialization"):
        return "a graph has no files"
    if module.startswith("thixo.capture") and name == "explain":
        return "it captures and runs what it explains"
    return ""


# What changes gradients, parameters and states has a form of its own.
_TRAINING = ("thixo.optim", "thixo.nn.utils.clip_grad", "thixo.nn.modules.module")
_PACKAGE = os.path.dirname(_core.__path__[0]) + os.sep


def _module_of(f: types.FunctionType) -> str:
    """The module of a function of Thixo's own; empty for others, whatever name the scope has that they are defined in."""
    return f.__module__ or "" if f.__code__.co_filename.startswith(_PACKAGE) else ""


_LISTS = {
    "parameters": "named_parameters",
    "named_parameters": "named_parameters",
    "buffers": "named_buffers",
    "named_buffers": "named_buffers",
}


def read_members(f: Any, args: Any, kwargs: Any) -> Any:
    """The parameters or buffers of a Module, each by its own path."""
    given = inspect.signature(f).bind(*args, **kwargs).arguments
    owner, prefix = given.pop("self"), given.pop("prefix", "")
    capture = current()
    path = path_of(capture, owner)
    if path is None or any(isinstance(x, Symbolic | _core.Tensor) for x in given.values()):
        raise Refused(f"a call of {_name(f)}", "it is not known whose it lists", LEAVE_OUT)
    named = _LISTS[f.__name__]
    kind = named.replace("named", "")  # the table of a Module that they are in
    places = {"": path}
    for name, module in _modules(owner, given):
        if name:
            above, _, last = name.rpartition(".")
            places[name] = places[above].step("attr", last)
            read(capture, places[name], module)
        _note_tables(capture, places[name], module, kind)
    found = []
    for name, tensor in getattr(owner, named)(**given):
        above, _, last = name.rpartition(".")
        read(capture, places[above].step("attr", last), tensor)
        found.append((f"{prefix}.{name}" if prefix else name, tensor))
    return iter(found if f.__name__ == named else [t for _, t in found])


def _modules(owner: Any, given: dict[str, Any]) -> Any:
    whole = given.get("recurse", True)
    return owner.named_modules(remove_duplicate=False) if whole else [("", owner)]


def _note_tables(capture: Capture, path: Path, module: Any, kind: str) -> None:
    """Note which modules and which tensors of a kind a Module has."""
    read(capture, path.step("attr", "_modules"), module._modules)
    look(capture, module._modules)
    way = path.step("attr", kind)
    keys = tuple(getattr(module, kind))
    capture.guards.setdefault((way.key, "keys"), Assumed(way, "keys", keys))


def _is_named_tuple(x: Any) -> bool:
    kind = x if isinstance(x, type) else type(x)
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _note_defaults(f: types.FunctionType) -> None:
    capture = current()
    path = path_of(capture, f)
    if path is None:
        return
    for i, value in enumerate(f.__defaults__ or ()):
        read(capture, path.step("default", i), value)
    for key, value in (f.__kwdefaults__ or {}).items():
        read(capture, path.step("kwdefault", key), value)


def function_path(capture: Capture, f: Any) -> Path:
    """The path of a function; one that is found nowhere else stays what it is."""
    return path_of(capture, f) or Path(f, f"<{getattr(f, '__qualname__', type(f).__name__)}>")


def _call_method(f: types.MethodType, args: Any, kwargs: Any) -> Any:
    owner, function = f.__self__, f.__func__
    if isinstance(owner, _core.Tensor):
        return call_operator(f, args, kwargs)
    _reach(f, "__self__", "__func__")
    if function is APPLY:
        return apply_captured(owner, args, kwargs)
    if isinstance(function, types.FunctionType):
        return call_function(function, (owner, *args), kwargs)
    return call(function, owner, *args, **kwargs)


def _reach(f: Any, *names: str) -> None:
    """Note what a method or a partial from outside brings along: it may change, or another may come in its place."""
    capture = current()
    path = path_of(capture, f)
    if path is not None:
        for name in names:
            part = getattr(f, name)
            if path_of(capture, part) is None:
                read(capture, path.step("attr", name), part)
            look(capture, part)


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
    if type(a) in (list, tuple):
        current().readable(a)
        if any(isinstance(e, Symbolic | list | tuple) or _is_number_outside(e) for e in a):
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
    what = _name(f)
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
    given = [as_callable(_argument(a, None, what)) for a in args]
    named = {k: as_callable(_argument(a, None, what)) for k, a in kwargs.items()}
    return new(f(*given, **named))


def new(x: Any) -> Any:
    """Note a container that a call made."""
    if isinstance(x, list | dict | set | deque):
        capture = current()
        if id(x) not in capture.created and path_of(capture, x) is None:
            capture.made(x)
    return x


_MUTATORS = frozenset(
    "append extend insert pop remove clear update setdefault add discard sort reverse popitem "
    "appendleft popleft extendleft rotate move_to_end".split()
)
_BLIND = frozenset(
    ("append", "extend", "add", "appendleft", "update")
)  # do not look at what is there


def _call_builtin(f: Any, args: Any, kwargs: Any) -> Any:
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
        if any(isinstance(a, Symbolic | _core.Tensor) for a in _flat((*args, *kwargs.values()))):
            return _text_method(owner, name, args, kwargs)
        for a in args:
            look(capture, a)
        return new(f(*args, **kwargs))
    if is_pure(f) or _name(f) == "object.__init__":
        return plain_call(f, args, kwargs)
    if isinstance(f, types.MethodDescriptorType) and args:  # list.append(x, 1)
        return call(getattr(args[0], name), *args[1:], **kwargs)
    raise Refused(f"a call of {_name(f)}", "it is not known what it does", LEAVE_OUT)


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
    if isinstance(owner, set) and any(isinstance(a, _core.Tensor) for a in args):
        raise Refused(f"set.{name}", "a set of tensors depends on identity", "use a list")
    capture.changing(owner, grows=name in ("append", "extend"))
    return f(*args, **kwargs)


def _name(f: Any) -> str:
    return str(getattr(f, "__qualname__", None) or type(f).__name__)


__all__ = ["Dim", "call", "call_function", "call_operator"]
