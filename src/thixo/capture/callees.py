"""Calls at run time: users' functions are converted, what can be part of a graph is called, all else is refused."""

import functools
import importlib
import inspect
import operator
import os
import types
from typing import Any

from thixo import _core
from thixo.capture.builtin import REPLACED, is_pure
from thixo.capture.container_calls import call_builtin
from thixo.capture.convert import APART, PLAIN, TELLING, convert, is_converted
from thixo.capture.frames import Capture, current
from thixo.capture.functions import APPLY, apply_captured
from thixo.capture.journal import CONTAINERS
from thixo.capture.operators import spread
from thixo.capture.paths import Assumed, Path, look, path_of, read
from thixo.capture.plain_calls import LEAVE_OUT, call_operator, flat, name_of, new, plain_call
from thixo.capture.refusal import Refused
from thixo.capture.values import (
    UNSET,
    Choice,
    Symbolic,
    Union,
)


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
        return call_builtin(f, args, kwargs)
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
    found = next((x for x in flat((*args, *kwargs.values())) if isinstance(x, Union)), None)
    if found is None:
        return None

    def put(x: Any, one: Any) -> Any:
        if x is found:
            return one
        if type(x) in (list, tuple):
            return type(x)(put(e, one) for e in x)
        return {k: put(e, one) for k, e in x.items()} if type(x) is dict else x

    return found, put


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
    raise Refused(f"a call of {name_of(f)}", "it is not known what it does", LEAVE_OUT)


def _call_module(f: Any, args: Any, kwargs: Any) -> Any:
    if f.__dict__.get("_hooked"):
        raise Refused(f"a call of {type(f).__name__}", "it has hooks", "remove them before")
    capture = current()
    path = path_of(capture, f)
    if path is not None:
        read(capture, path.step("attr", "_hooked"), f.__dict__.get("_hooked"))
        code = getattr(f.forward, "__code__", None)
        way = path.step("attr", "forward")
        if "forward" in f.__dict__:
            read(capture, way, f.forward)
        elif code is not None:  # an object may get its own later
            capture.guards.setdefault((way.key, "code"), Assumed(way, "code", code))
    return call(f.forward, *args, **kwargs)


def call_function(f: types.FunctionType, args: Any, kwargs: Any) -> Any:
    """Call a Python function, converted where it has to be."""
    from thixo.capture.hooks import Hooks

    if args:
        _note_method(f, args[0])
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
        raise Refused(f"a call of {name_of(f)}", refused, LEAVE_OUT)
    if module.startswith(_TRAINING):
        form = importlib.import_module("thixo.optim.captured").form_of(f)
        if form is not None:
            return form(*args, **kwargs)
    if module.startswith("thixo.nn.modules") and f.__name__ in _LISTS and args:
        return read_members(f, args, kwargs)
    if module.startswith("thixo.") and not module.startswith(_AS_USERS):
        return plain_call(f, args, kwargs)
    _refuse_environment(f, args)
    made = convert(f, Hooks(f), APART if current().attempts else PLAIN)
    _note_defaults(f)
    if f.__module__ != "logging":
        return made(*args, **kwargs)
    try:
        return made(*args, **kwargs)
    except Refused:
        raise Refused(
            "logging", "a graph keeps no log", "print, or log outside of what is captured"
        ) from None


def _note_method(f: types.FunctionType, owner: Any) -> None:
    """Note that a function was found on a class: another one may come in its place."""
    capture = current()
    kind = owner if isinstance(owner, type) else type(owner)
    if path_of(capture, f) is not None or kind.__module__ == "builtins":
        return
    if isinstance(owner, _core.Tensor | Symbolic):
        return
    for k in kind.__mro__:
        for name, member in k.__dict__.items():
            steps = _steps_to(f, member)
            if steps is not None:
                if inspect.getattr_static(kind, name) is not member:
                    kind = k  # one behind it, by super()
                path = Path(kind, kind.__name__).step("attr", name)
                for step in steps:
                    path = path.step("attr", step)
                read(capture, path, f)
                return


def _steps_to(f: types.FunctionType, member: Any) -> tuple[str, ...] | None:
    """From what a class gives to the function behind it; None where it is not behind it."""
    if member is f:
        return ()
    if isinstance(member, staticmethod) and member.__func__ is f:
        return ()
    if isinstance(member, property) and f in (member.fget, member.fset):
        return ("fget",) if member.fget is f else ("fset",)
    return ("__func__",) if isinstance(member, classmethod) and member.__func__ is f else None


def _refuse_environment(f: types.FunctionType, args: Any) -> None:
    """Refuse to read what the process was started with, which may change like anything outside, and nothing tells."""
    asks = f.__module__ == "os" and f.__name__.endswith("env")
    if asks or (args and isinstance(args[0], os._Environ)):
        raise Refused(
            "the environment",
            "it may be another one at each call",
            "read it outside of what is captured",
        )


def attempt(f: Any, args: Any, kwargs: Any) -> Any:
    """A call inside of try: whether it raised, what it returned, and the exception."""
    from thixo.capture.hooks import Hooks

    function = f.__func__ if isinstance(f, types.MethodType) else f
    if not isinstance(function, types.FunctionType) or not _is_users(function):
        return False, call(f, *args, **kwargs), UNSET
    if isinstance(f, types.MethodType):
        _reach(f, "__self__", "__func__")
        args = (f.__self__, *args)
    if args:
        _note_method(function, args[0])
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
        raise Refused(f"a call of {name_of(f)}", "it is not known whose it lists", LEAVE_OUT)
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
    _reach(f, "__self__", "__func__")
    users = isinstance(function, types.FunctionType) and not _module_of(function)
    if isinstance(owner, _core.Tensor) and not users:
        return call_operator(f, args, kwargs)
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
            read(capture, path.step("attr", name), part)
            look(capture, part)
