"""Attributes at run time: reads are noted, writes go into the journal, properties are converted."""

import dataclasses
import inspect
import types
from typing import Any

from thixo import _core
from thixo.capture import asked, control, effects, gradients, operators
from thixo.capture.callees import call_function
from thixo.capture.frames import current
from thixo.capture.journal import Attribute
from thixo.capture.open_numbers import read_number
from thixo.capture.paths import Path, look, path_of, read
from thixo.capture.refusal import Refused
from thixo.capture.values import UNSET, Choice, Mixed, Symbolic
from thixo.ops import public as tx

# What classes say of setting and deleting that is no more than an entry of the object's dict.
_PLAIN_SETTERS = (object.__setattr__, types.SimpleNamespace.__setattr__)
_PLAIN_DELETERS = (object.__delattr__, types.SimpleNamespace.__delattr__)
_QUIET = ("thixo", "math", "builtins", "operator", "itertools", "functools", "collections", "copy")


def attr(x: Any, name: Any) -> Any:
    """`x.name`"""
    if isinstance(name, Choice):
        return operators.spread(name, lambda n: attr(x, n))
    if isinstance(x, Choice):
        return operators.spread(x, lambda v: attr(v, name))
    if isinstance(x, Mixed):
        return attr(operators.as_plain_tensor(x, f".{name}"), name)
    if isinstance(x, Symbolic):
        raise Refused(f".{name}", f"of {x!r}", "use a tensor")
    if isinstance(x, _core.Tensor):
        return _tensor_attribute(x, name)
    capture = current()
    if id(x) in capture.scheduled:
        raise Refused(
            f".{name}", "a schedule changes it at the end of the call", "step the schedule last"
        )
    if name == "__dict__" and id(x) in capture.created:
        return _State(x)
    if name == "__dict__":
        raise Refused(".__dict__", "it shows all of an object", "name what you need")
    if isinstance(x, super):
        return _of_super(x, name)
    member = _member(x, name)
    if isinstance(member, property) and isinstance(member.fget, types.FunctionType):
        return call_function(member.fget, (x,), {})
    if isinstance(type(x).__getattribute__, types.FunctionType):
        raise Refused(
            f".{name}", f"{type(x).__name__} has a __getattribute__ of its own", "use __getattr__"
        )
    fallback = (
        None if isinstance(x, type | types.ModuleType) else getattr(type(x), "__getattr__", None)
    )
    if isinstance(fallback, types.FunctionType) and not (fallback.__module__ or "").startswith(
        "thixo."
    ):
        try:
            object.__getattribute__(x, name)
        except AttributeError:
            return call_function(fallback, (x, name), {})
    value = getattr(x, name)
    path = path_of(capture, x)
    if (
        path is not None
        and not changed(capture, (id(x), name))
        and (not isinstance(value, types.MethodType) or name in getattr(x, "__dict__", ()))
        and not _is_method_of(value, x)
    ):
        value = read_number(capture, path.step("attr", name), value)
    elif isinstance(x, type) and not isinstance(value, types.MethodType | types.FunctionType):
        if (x.__module__ or "").split(".")[0] not in _QUIET and not changed(capture, (id(x), name)):
            read(capture, Path(x, x.__name__).step("attr", name), value)
    elif (
        path is None
        and not isinstance(x, type | types.ModuleType)
        and name not in getattr(x, "__dict__", {})
    ):
        kind = type(x)
        if (
            name in dir(kind)
            and not callable(value)
            and (kind.__module__ or "").split(".")[0] not in _QUIET
            and not hasattr(member, "__set__")
        ):
            read(capture, Path(kind, kind.__name__).step("attr", name), value)
    if path is not None and isinstance(value, types.MethodType):
        _note_method(capture, path, x, name, value)
    if isinstance(value, control.Maybe):
        found = possible(x, name)
        text = f"'{type(x).__name__}' object has no attribute '{name}'"
        effects.check(value.flag.tensor, "AttributeError", text)
        return value.value if found is None else found.value
    return control.usable(value, f"attribute {name}")


def _note_method(capture: Any, path: Path, x: Any, name: str, method: types.MethodType) -> None:
    """Note which function a method is of: the class may get another one, the object one of its own."""
    function = method.__func__
    if isinstance(function, types.FunctionType) and name not in getattr(x, "__dict__", ()):
        read(capture, path.step("attr", name).step("attr", "__func__"), function)


def _of_super(x: Any, name: str) -> Any:
    """`super().name`: of the first class behind this one that has it."""
    classes = x.__self_class__.__mro__
    for kind in classes[classes.index(x.__thisclass__) + 1 :]:
        if name in kind.__dict__:
            member = kind.__dict__[name]
            if isinstance(member, property) and isinstance(member.fget, types.FunctionType):
                return call_function(member.fget, (x.__self__,), {})
            value = getattr(x, name)
            if not callable(value):
                read(current(), Path(kind, kind.__name__).step("attr", name), value)
            return value
    return getattr(x, name)


def _is_method_of(value: Any, x: Any) -> bool:
    """Whether it is a method of an object's, such as a dict's `values`, which is made anew at each look."""
    if isinstance(value, types.BuiltinMethodType) and not isinstance(x, types.ModuleType):
        return value.__self__ is x
    return False


def set_attr(x: Any, name: Any, value: Any) -> None:
    """`x.name = value`"""
    if isinstance(name, Choice):
        operators.spread(name, lambda n: set_attr(x, n, value))
        return
    if isinstance(x, Choice):
        operators.spread(x, lambda v: set_attr(v, name, value))
        return
    if isinstance(x, _core.Tensor) and name == "grad":
        gradients.set_gradient(x, value)
        return
    if isinstance(x, _core.Tensor) and name == "data" and isinstance(value, _core.Tensor):
        _set_data(x, value)
        return
    if isinstance(x, _core.Tensor | Symbolic):
        raise Refused(f".{name} = ...", "an attribute of a tensor is set", "return it instead")
    if isinstance(x, type | types.ModuleType):
        raise Refused(
            f".{name} = ...", "an attribute of a class or a module is set", "set it outside"
        )
    capture = current()
    reason = capture.frozen.get(id(x))
    if reason is not None:
        raise Refused(f".{name} = ...", reason[1], "set it before the condition")
    member = _member(x, name)
    if isinstance(member, property):
        if member.fset is None:
            raise AttributeError(f"property '{name}' of '{type(x).__name__}' object has no setter")
        call_function(member.fset, (x, value), {})  # type: ignore[arg-type]
        return
    _need_plain_setattr(x, name, value)
    _write(capture, x, Attribute(x, name), value)


def set_plain_attr(x: Any, name: Any, value: Any) -> None:
    """`object.__setattr__(x, name, value)`, past what its class says to that."""
    capture = current()
    if (
        not isinstance(name, str)
        or id(x) not in capture.created
        or isinstance(_member(x, name), property)
    ):
        raise Refused(
            "object.__setattr__", "of other than an object that is made inside", "set it outside"
        )
    _write(capture, x, Attribute(x, name), value)


def _set_data(x: Any, value: Any) -> None:
    """`x.data = value`: the tensor has other elements, and the tape does not know."""
    if tuple(value.shape) != tuple(x.shape) or value.dtype is not x.dtype:
        raise Refused(".data = ...", "its shape or dtype changes", "set it outside")
    was = _core.set_grad_enabled(False)
    try:
        x.copy_(value)
    finally:
        _core.set_grad_enabled(was)


def change_attr(x: Any, name: str, op: str, later: Any) -> None:
    """`x.name += ...`; `later` computes the other side."""
    if isinstance(x, _core.Tensor) and name == "data":
        other = later()
        was = _core.set_grad_enabled(False)
        try:
            operators.inplace(op, x, other)
        finally:
            _core.set_grad_enabled(was)
        return
    set_attr(x, name, operators.inplace(op, attr(x, name), later()))


def del_attr(x: Any, name: str) -> None:
    """`del x.name`"""
    if isinstance(_member(x, name), property) or isinstance(x, type | types.ModuleType):
        raise Refused(f"del .{name}", "it is no attribute of one object", "delete it outside")
    attr(x, name)
    found: Any = type(x).__delattr__
    if found not in _PLAIN_DELETERS and not _is_own(found):
        _refuse_own_code(x, name, "__delattr__", "delete it outside")
    _write(current(), x, Attribute(x, name), UNSET)


def possible(x: Any, name: Any) -> Any:
    """An attribute that an object has on some paths only: a Maybe; else None."""
    if isinstance(x, Symbolic | _core.Tensor | type | types.ModuleType) or not isinstance(
        name, str
    ):
        return None
    found = Attribute(x, name).read()
    if not isinstance(found, control.Maybe):
        return None
    if not isinstance(_member(x, name), types.MemberDescriptorType | None):
        raise Refused(
            f".{name}", "on some paths it is the object's, on others its class's", "set it always"
        )
    return found


class _State:
    """The `__dict__` of an object that captured code made."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def _refuse(self, *args: Any) -> Any:
        raise Refused(".__dict__", "it shows all of an object", "name what you need")

    __getattr__ = __getitem__ = __setitem__ = __delitem__ = _refuse
    __iter__ = __len__ = __contains__ = __eq__ = __or__ = _refuse

    def update(self, *given: Any, **named: Any) -> None:
        for part in (*given, named):
            look(current(), part)
            for name, value in dict(part).items():
                set_attr(self.owner, name, value)


def _member(x: Any, name: str) -> Any:
    """What the class of an object says of an attribute; code of the user's that is no property is refused."""
    if isinstance(x, type | types.ModuleType):
        return None
    member = inspect.getattr_static(type(x), name, None)
    kind = type(member)
    if kind.__name__ == "cached_property":
        raise Refused(f".{name}", "a cached property keeps its result", "use a property")
    for method in ("__get__", "__set__"):
        if isinstance(getattr(kind, method, None), types.FunctionType):
            if not (kind.__module__ or "").startswith(("thixo.", "enum")):
                raise Refused(
                    f".{name}", f"a descriptor of class {kind.__name__} runs code", "use a property"
                )
    return member


def _write(capture: Any, x: Any, cell: Any, value: Any) -> None:
    path = path_of(capture, x)
    if path is not None:
        capture.outside[cell.key] = path
    elif id(x) not in capture.created:
        if isinstance(x, type):
            capture.outside[cell.key] = Path(x, x.__name__)
    capture.kept.append(x)
    capture.journal.write(cell, value)


def _need_plain_setattr(x: Any, name: str, value: Any) -> None:
    found: Any = type(x).__setattr__
    if found in _PLAIN_SETTERS or isinstance(x, type):
        return
    if _is_own(found) and (hasattr(x, "forward") or hasattr(x, "_parameters")):
        if (
            name in x.__dict__.get("_parameters", ())
            or type(value).__name__ in ("Parameter", "Buffer")
            or hasattr(value, "forward")
        ):
            raise Refused(f".{name} = ...", "a parameter or a module is replaced", "do it outside")
        return
    _refuse_own_code(x, name, "__setattr__", "set it outside")


def _is_own(f: Any) -> bool:
    return (getattr(f, "__module__", None) or "").startswith("thixo.")


def _refuse_own_code(x: Any, name: str, method: str, remedy: str) -> None:
    """Refuse an attribute that a class sets or deletes by code of its own. That is not run here: what it does would stay done."""
    kind = next(k for k in type(x).__mro__ if method in k.__dict__)
    made = getattr(kind.__dict__[method], "__code__", None)
    if dataclasses.is_dataclass(kind) and made is not None and made.co_filename == "<string>":
        if type(x) is kind or any(name == one.name for one in dataclasses.fields(kind)):
            done = "assign to" if method == "__setattr__" else "delete"
            raise dataclasses.FrozenInstanceError(f"cannot {done} field {name!r}")
    construct = f".{name} = ..." if method == "__setattr__" else f"del .{name}"
    raise Refused(construct, f"{type(x).__name__} has a {method} of its own", remedy)


def _tensor_attribute(x: Any, name: str) -> Any:
    if name == "grad":
        return gradients.gradient_of(x)
    if name == "data":
        return tx.detach(x)
    if asked.is_hung(x, name):
        return asked.hung(x, name)
    if name == "nbytes":
        return x.numel() * x.element_size()
    if name in ("grad_fn", "_version") or (name == "is_leaf" and current().some_graded):
        raise Refused(
            f".{name}", "a graph has no tape", "use tx.autograd.grad outside of what is captured"
        )
    if name == "requires_grad" and current().some_graded:
        raise Refused(".requires_grad", "the data may decide it", "ask outside")
    if name in asked.PLACED:
        return _place_of(x, name)
    found = getattr(x, name)
    if name == "requires_grad" and id(x) in current().tensors:
        read(current(), current().tensors[id(x)][1].step("attr", name), found)
    return found


def _place_of(x: Any, name: str) -> Any:
    """Where a tensor came from."""
    if name == "is_leaf":  # which is a part of the kind of a call
        return x.is_leaf and id(x) not in current().branched
    if name == "_base" and not asked.answer(x, name):
        raise Refused("._base", "a graph has no views of tensors outside", "ask outside")
    return None if name == "_base" else asked.answer(x, name)


def changed(capture: Any, key: Any) -> bool:
    return any(key in level for level in capture.journal.levels)
