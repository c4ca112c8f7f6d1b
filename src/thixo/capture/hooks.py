"""What rewritten code calls: one object for each function, which knows its globals and cells."""

import inspect
import types
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thixo import _core
from thixo.capture import control, control_loops, effects, operators
from thixo.capture.builtin import iterate
from thixo.capture.callees import call, call_function, function_path
from thixo.capture.frames import current
from thixo.capture.items import row
from thixo.capture.journal import CONTAINERS, Attribute, Global, Variable
from thixo.capture.numbers import as_tensor, weak
from thixo.capture.paths import Path, look, path_of, read
from thixo.capture.refusal import Refused
from thixo.capture.values import UNSET, Choice, Mixed, Number, Poison, Symbolic, decides, is_ragged
from thixo.graph.trace import make_symbolic
from thixo.ops import public as tx
from thixo.symbolic import Dim

_QUIET = ("thixo", "math", "builtins", "operator", "itertools", "functools", "collections", "copy")


class Hooks:
    """The hooks of one function."""

    if_ = staticmethod(control.if_)
    ifexp = staticmethod(control.ifexp)
    and_ = staticmethod(control.and_)
    or_ = staticmethod(control.or_)
    not_ = staticmethod(control.not_)
    chain = staticmethod(control.chain)
    while_ = staticmethod(control_loops.while_)
    binary = staticmethod(operators.binary)
    unary = staticmethod(operators.unary)
    inplace = staticmethod(operators.inplace)
    compare = staticmethod(operators.compare)
    call = staticmethod(call)
    text = staticmethod(effects.text)
    shown = staticmethod(effects.shown)
    iterate = staticmethod(iterate)

    def __init__(self, f: Any) -> None:
        self.function = f
        self.globals = f.__globals__
        self.places = {n: i for i, n in enumerate(f.__code__.co_freevars)}
        self.cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))

    # ---- variables

    @staticmethod
    def unset() -> Any:
        return UNSET

    @staticmethod
    def var(x: Any, name: str) -> Any:
        return control.usable(x, name)

    @staticmethod
    def deleted(x: Any) -> Any:
        return UNSET

    @staticmethod
    def returned(x: Any) -> Any:
        if isinstance(x, control.Maybe):  # every path has set it
            x = x.value
        if isinstance(x, Poison):
            x.refuse("return")
        return x

    def free(self, name: str) -> Any:
        cell = self.cells[name]
        value = Variable(cell, name).read()
        if value is UNSET:
            raise NameError(
                f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"
            )
        capture = current()
        if not _changed(capture, (id(cell), None)) and not isinstance(value, Symbolic):
            path = function_path(capture, self.function).step("cell", self.places[name])
            read(capture, path, value)
        return control.usable(value, name)

    def glob(self, name: str) -> Any:
        if name not in self.globals:
            found = self.globals.get("__builtins__", {})
            found = vars(found) if isinstance(found, types.ModuleType) else found
            if name not in found:
                raise NameError(f"name '{name}' is not defined")
            return found[name]
        value = self.globals[name]
        capture = current()
        if not _changed(capture, (id(self.globals), name)):
            label = self.globals.get("__name__", "globals")
            read(capture, Path(self.globals, label).step("item", name), value)
        return control.usable(value, name)

    def set_glob(self, name: str, value: Any) -> None:
        capture = current()
        cell = Global(self.globals, name)
        capture.outside[cell.key] = Path(self.globals, self.globals.get("__name__", "globals"))
        capture.journal.write(cell, value)

    def set_free(self, name: str, value: Any) -> None:
        capture = current()
        cell = Variable(self.cells[name], name)
        capture.outside[cell.key] = function_path(capture, self.function).step(
            "closure", self.places[name]
        )
        capture.journal.write(cell, value)

    @staticmethod
    def defined(f: Any, plain: tuple[Any, ...] = (), named: tuple[Any, ...] = ()) -> Any:
        if plain:
            f.__defaults__ = tuple(plain)
        if named:
            f.__kwdefaults__ = dict(named)
        return f

    @staticmethod
    def made(x: Any) -> Any:
        return current().made(x)

    @staticmethod
    def iterator(x: Any) -> Any:
        return current().made_iterator(x)

    @staticmethod
    def mapping(x: Any) -> Any:
        look(current(), x)
        return x

    @staticmethod
    def super_(cls: Any, owner: Any) -> Any:
        return super(cls, owner)

    # ---- attributes

    @staticmethod
    def attr(x: Any, name: Any) -> Any:
        if isinstance(name, Choice):
            return operators.spread(name, lambda n: Hooks.attr(x, n))
        if isinstance(x, Choice):
            return operators.spread(x, lambda v: Hooks.attr(v, name))
        if isinstance(x, Mixed):
            return Hooks.attr(operators.as_plain_tensor(x, f".{name}"), name)
        if isinstance(x, Symbolic):
            raise Refused(f".{name}", f"of {x!r}", "use a tensor")
        if isinstance(x, _core.Tensor):
            return _tensor_attribute(x, name)
        capture = current()
        if name == "__dict__" and id(x) in capture.created:
            return _State(x)
        if name == "__dict__":
            raise Refused(".__dict__", "it shows all of an object", "name what you need")
        member = _member(x, name)
        if isinstance(member, property) and isinstance(member.fget, types.FunctionType):
            return call_function(member.fget, (x,), {})
        fallback = (
            None
            if isinstance(x, type | types.ModuleType)
            else getattr(type(x), "__getattr__", None)
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
            and not _changed(capture, (id(x), name))
            and not isinstance(value, types.MethodType)
        ):
            quiet = isinstance(x, types.ModuleType) and x.__name__.split(".")[0] in _QUIET
            if not quiet:
                read(capture, path.step("attr", name), value)
        elif isinstance(x, type) and not isinstance(value, types.MethodType | types.FunctionType):
            if (x.__module__ or "").split(".")[0] not in _QUIET and not _changed(
                capture, (id(x), name)
            ):
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
        if isinstance(value, control.Maybe):
            found = possible(x, name)
            text = f"'{type(x).__name__}' object has no attribute '{name}'"
            effects.check(value.flag.tensor, "AttributeError", text)
            return value.value if found is None else found.value
        return control.usable(value, f"attribute {name}")

    @staticmethod
    def set_attr(x: Any, name: Any, value: Any) -> None:
        if isinstance(name, Choice):
            operators.spread(name, lambda n: Hooks.set_attr(x, n, value))
            return
        if isinstance(x, Choice):
            operators.spread(x, lambda v: Hooks.set_attr(v, name, value))
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
                raise AttributeError(
                    f"property '{name}' of '{type(x).__name__}' object has no setter"
                )
            call_function(member.fset, (x, value), {})  # type: ignore[arg-type]
            return
        _need_plain_setattr(x, name, value)
        _write(capture, x, Attribute(x, name), value)

    @staticmethod
    def change_attr(x: Any, name: str, op: str, later: Any) -> None:
        Hooks.set_attr(x, name, operators.inplace(op, Hooks.attr(x, name), later()))

    @staticmethod
    def del_attr(x: Any, name: str) -> None:
        if isinstance(_member(x, name), property) or isinstance(x, type | types.ModuleType):
            raise Refused(f"del .{name}", "it is no attribute of one object", "delete it outside")
        Hooks.attr(x, name)
        _write(current(), x, Attribute(x, name), UNSET)

    # ---- items

    @staticmethod
    def slice_(*parts: Any) -> slice:
        for p in parts:
            if isinstance(p, Symbolic | _core.Tensor):
                raise Refused(
                    "a slice", "its bounds are known only when the program runs", "use a mask"
                )
        return slice(*parts)

    @staticmethod
    def item(x: Any, key: Any) -> Any:
        if isinstance(x, Choice):
            return operators.spread(x, lambda v: Hooks.item(v, key))
        if isinstance(key, Choice):
            return operators.spread(key, lambda v: Hooks.item(x, v))
        if isinstance(x, Mixed):
            x = operators.as_plain_tensor(x, "[...]")
        if isinstance(x, _core.Tensor):
            if isinstance(key, Number):
                return row(x, key.tensor)
            return x[_index(key)]
        if is_ragged(x) and type(key) is int and key in (0, -1):
            look(current(), x, ragged=True)
            return _end_of(x if key == 0 else x[::-1])
        look(current(), x)
        if isinstance(key, Number | _core.Tensor) and isinstance(x, list | tuple):
            return _chosen(x, key)
        if isinstance(key, Number | _core.Tensor) and isinstance(x, str) and 0 < len(x) <= 64:
            return Choice(list(x), _place(x, key).tensor)
        if isinstance(key, slice) and hasattr(x, "_modules") and hasattr(x, "forward"):
            return current().made(list(iterate(x))[key])  # layers of a list of layers
        method = operators._user_method(x, "__getitem__")
        if method is not None:
            return call_function(method, (x, key), {})
        if isinstance(x, list) and isinstance(key, slice):
            return current().made(x[key])
        if isinstance(x, defaultdict) and key not in x and x.default_factory is not None:
            Hooks.set_item(x, key, call(x.default_factory))
        return control.usable(x[key], "an element")

    @staticmethod
    def set_item(x: Any, key: Any, value: Any) -> None:
        capture = current()
        if isinstance(x, _core.Tensor):
            if isinstance(value, Number):
                value = weak(value, x)
            elif isinstance(value, Mixed):
                value = (
                    value.tensor
                    if value.kind != "none"
                    else operators.as_plain_tensor(value, "[...] =")
                )
            elif isinstance(value, Symbolic) or _holds_symbols(value):
                raise Refused("[...] =", f"the value is {value!r}", "write a tensor")
            x[key.tensor if isinstance(key, Number) else _index(key)] = value
            return
        method = operators._user_method(x, "__setitem__")
        if method is not None:
            call_function(method, (x, key, value), {})
            return
        if isinstance(x, list) and isinstance(key, Number | _core.Tensor):
            _put(x, key, value)
            return
        if isinstance(key, Choice):
            operators.spread(key, lambda k: Hooks.set_item(x, k, value))
            return
        if isinstance(key, Symbolic | _core.Tensor):
            raise Refused("[...] =", "a key is known only when the program runs", "use a tensor")
        if _is_changeable(x, "[...] ="):
            look(capture, x)
            capture.changing(x)
        x[key] = value

    @staticmethod
    def change_item(x: Any, key: Any, op: str, later: Any) -> None:
        Hooks.set_item(x, key, operators.inplace(op, _at(x, key), later()))

    @staticmethod
    def del_item(x: Any, key: Any) -> None:
        if isinstance(key, Symbolic | _core.Tensor):
            raise Refused("del", "a key is known only when the program runs", "use a tensor")
        method = operators._user_method(x, "__delitem__")
        if method is not None:
            call_function(method, (x, key), {})
            return
        if _is_changeable(x, "del"):
            look(current(), x)
            current().changing(x)
        del x[key]

    @staticmethod
    def unpack(x: Any, count: int, star: int | None) -> Any:
        if isinstance(x, Choice):
            raise Refused("unpacking", f"of {x!r}", "take one part at a time")
        if isinstance(x, _core.Tensor) and star is None and x.ndim:
            size = x.shape[0]
            if size != count:  # a guard, where it is symbolic
                many = (
                    "too many values to unpack" if size > count else "not enough values to unpack"
                )
                raise ValueError(many)
            return [x[i] for i in range(count)]
        items = [control.usable(e, "a part of what is unpacked") for e in iterate(x)]
        if star is not None:
            after = count - star - 1
            if len(items) < count - 1:
                raise ValueError(
                    f"not enough values to unpack (expected at least {count - 1}, got {len(items)})"
                )
            middle = current().made(items[star : len(items) - after])
            parts = [*items[:star], middle, *(items[len(items) - after :] if after else [])]
            return parts
        return items

    # ---- statements

    def for_(self, items: Any, body: Any, go: Any, get: Any, put: Any, names: Any) -> None:
        if isinstance(items, Choice):
            operators.spread(items, lambda v: self.for_(v, body, go, get, put, names))
            return
        from thixo.capture.items import Items

        if is_ragged(items):
            look(current(), items, ragged=True)

            def turn(e: Any) -> None:
                if isinstance(e, control.Maybe):
                    control.if_(e.flag, lambda: body(e.value), lambda: None, get, put, names)
                else:
                    body(e)

            control_loops.for_(list(items), turn, go, get, put, names)
            return
        found = items if isinstance(items, _core.Tensor | Items) else iterate(items)
        control_loops.for_(found, body, go, get, put, names)

    @staticmethod
    def asked(x: Any) -> Any:
        return operators.truth(x)

    @staticmethod
    def truth(x: Any) -> bool:
        found = operators.truth(x)
        if isinstance(found, Number):
            raise Refused(
                "a condition",
                "a tensor decides it inside of a generator or a match",
                "use if in a plain function",
            )
        return found

    @staticmethod
    def subject(x: Any, compares: bool) -> Any:
        if compares and (
            isinstance(x, Symbolic) or (effects.is_open(x) and not isinstance(x, dict))
        ):
            raise Refused("match", "it compares with something the data decide", "use if and elif")
        look(current(), x)
        return x

    @staticmethod
    def assert_(test: Any, message: Any) -> None:
        if not decides(test):
            if not test:
                raise AssertionError(*([] if message is None else [message()]))
            return
        pred = control.predicate(test)
        if current().trying:
            raise Refused(
                "assert", "a tensor decides it inside of try", "return a value that says so"
            )
        text = ""
        values: list[Any] = []
        if message is not None:
            made = message()
            parts = made.parts if isinstance(made, effects.Text) else effects.pieces(made, "s")
            text, values = effects.template(parts)
        trace = control.current_trace()
        assert trace is not None
        effects.node(effects.CHECK, trace.value_of(pred), values, error="AssertionError", text=text)

    @staticmethod
    def raise_(error: Any, cause: Any) -> None:
        if isinstance(error, type) and issubclass(error, BaseException):
            error = error()
        if cause is not None:
            raise error from cause
        raise error

    @staticmethod
    @contextmanager
    def trying() -> Iterator[None]:
        capture = current()
        capture.trying += 1
        trace = control.current_trace()
        assert trace is not None
        before = len(trace.graph.nodes)
        try:
            yield
        finally:
            capture.trying -= 1
        for node in trace.graph.nodes[before:]:
            if _may_raise(node):
                raise Refused(
                    "try", f"{node.op.full_name} may raise when the program runs, where no except is", "test before",
                    node.source,
                )  # fmt: skip

    @staticmethod
    def context(x: Any) -> Any:
        module = type(x).__module__ or ""
        enter = getattr(type(x), "__enter__", None)
        if module.startswith("thixo."):
            if module.startswith(("thixo.autograd", "thixo.determinism")):
                return x
            raise Refused(
                "with", f"{type(x).__name__} is not known to captured code", "use it outside"
            )
        if type(x).__name__ == "_GeneratorContextManager":
            return _Guarded(x)
        if module == "contextlib" and type(x).__name__ in ("nullcontext", "suppress", "ExitStack"):
            if type(x).__name__ == "nullcontext":
                return x
            if type(x).__name__ == "suppress":
                return _Suppressed(x)
            raise Refused("with", f"contextlib.{type(x).__name__}", "use try")
        if isinstance(enter, types.FunctionType):
            return _Guarded(_UserContext(x))
        raise Refused("with", f"{type(x).__name__} is not known to captured code", "use it outside")


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
                Hooks.set_attr(self.owner, name, value)


class _Suppressed:
    """contextlib.suppress: an except around what is inside."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> None:
        self.guard = Hooks.trying()
        self.guard.__enter__()
        self.owner.__enter__()

    def __exit__(self, *error: Any) -> Any:
        try:
            self.guard.__exit__(*error)
        except BaseException as raised:
            if raised is not error[1]:
                raise
        return self.owner.__exit__(*error)


class _Guarded:
    """A context of the user's: it may see and swallow what is raised inside, so nothing is raised there by a tensor."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> Any:
        found = self.owner.__enter__()
        current().trying += 1
        return found

    def __exit__(self, *error: Any) -> Any:
        current().trying -= 1
        return self.owner.__exit__(*error)


class _UserContext:
    """A context of the user's, with its methods converted."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __enter__(self) -> Any:
        return call_function(type(self.owner).__enter__, (self.owner,), {})

    def __exit__(self, *error: Any) -> Any:
        if isinstance(error[1], Refused):
            return False
        return call_function(type(self.owner).__exit__, (self.owner, *error), {})


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


def _changed(capture: Any, key: Any) -> bool:
    return any(key in level for level in capture.journal.levels)


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
    if found is object.__setattr__ or isinstance(x, type):
        return
    if (hasattr(x, "forward") and (type(x).__module__ or "").startswith("thixo.")) or hasattr(
        x, "_parameters"
    ):
        if (
            name in x.__dict__.get("_parameters", ())
            or type(value).__name__ in ("Parameter", "Buffer")
            or hasattr(value, "forward")
        ):
            raise Refused(f".{name} = ...", "a parameter or a module is replaced", "do it outside")
        return
    found(x, name, value)  # of a frozen dataclass: it raises
    raise Refused(
        f".{name} = ...", f"{type(x).__name__} has a __setattr__ of its own", "set it outside"
    )


def _tensor_attribute(x: Any, name: str) -> Any:
    if name in ("grad", "grad_fn", "data", "_version", "is_leaf"):
        raise Refused(
            f".{name}", "a graph has no tape", "use tx.autograd.grad outside of what is captured"
        )
    if name == "requires_grad" and current().some_graded:
        raise Refused(".requires_grad", "the data may decide it", "ask outside")
    return getattr(x, name)


def _index(key: Any) -> Any:
    if isinstance(key, Number):
        return key.tensor
    if isinstance(key, _core.Tensor) and key._value is None and not key.ndim:
        trace = control.current_trace()
        assert trace is not None
        return make_symbolic(trace.value_of(key))  # else its number would be taken now
    if isinstance(key, Symbolic):
        raise Refused("[...]", f"an index is {key!r}", "use a tensor")
    if isinstance(key, tuple):
        return tuple(map(_index, key))
    if isinstance(key, list) and any(isinstance(k, Symbolic | _core.Tensor) for k in key):
        return tx.stack([as_tensor(k) if not isinstance(k, _core.Tensor) else k for k in key])
    return key


def _holds_symbols(x: Any) -> bool:
    return isinstance(x, Symbolic) or (isinstance(x, list | tuple) and any(map(_holds_symbols, x)))


def _is_changeable(x: Any, what: str) -> bool:
    """Whether it is a container that is known here; Python itself has an error for what cannot be changed."""
    if isinstance(x, CONTAINERS):
        return True
    if isinstance(x, str | bytes | tuple | range | frozenset | int | float | None):
        return False
    raise Refused(what, f"a {type(x).__name__} is changed", "use a list, a dict or a tensor")


def _at(x: Any, key: Any) -> Any:
    """What an augmented assignment reads; not kept, so a row need not be a view."""
    if isinstance(x, _core.Tensor) and isinstance(key, Number):
        return x[key.tensor]
    return Hooks.item(x, key)


def _place(x: Any, key: Any) -> Number:
    at = Number("int", key) if isinstance(key, _core.Tensor) else key
    from thixo.capture.effects import check

    size = len(x)
    what = "string" if isinstance(x, str) else "list"
    inside = tx.logical_and(at.tensor >= -size, at.tensor < size)
    check(inside, "IndexError", f"{what} index out of range")
    return Number("int", tx.where(at.tensor < 0, at.tensor + size, at.tensor))


def _chosen(x: Any, key: Any) -> Any:
    """An element of a list at a place that the data decide."""
    if not x:
        raise IndexError("list index out of range")
    place = _place(x, key)

    def part(i: int) -> Any:
        if i == len(x) - 1:
            return x[i]
        test = operators.binary("eq", place, i)
        return control.ifexp(test, lambda: x[i], lambda: part(i + 1), None, None, ())

    return part(0)


def _end_of(x: list[Any]) -> Any:
    """The first element that is there."""

    def part(i: int) -> Any:
        if i == len(x):
            raise IndexError("list index out of range")
        e = x[i]
        if not isinstance(e, control.Maybe):
            return e
        return control.ifexp(e.flag, lambda: e.value, lambda: part(i + 1), None, None, ())

    return part(0)


def _put(x: list[Any], key: Any, value: Any) -> None:
    capture = current()
    look(capture, x)
    place = _place(x, key)
    capture.changing(x)
    for i in range(len(x)):
        test = operators.binary("eq", place, i)
        x[i] = control.ifexp(test, lambda: value, lambda i=i: x[i], None, None, ())


_CALM = ("pointwise", "view", "reduction", "reduce", "rows", "composite", "create")


def _may_raise(node: Any) -> bool:
    name = node.op.full_name
    if name.startswith("linalg.") or node.op.kind == "control":
        return True
    integer = all(not v.type.dtype.is_floating_point for v in node.outputs)
    if name in ("floor_divide", "remainder", "div", "fmod") and integer:
        return True
    return name in (
        "index",
        "gather",
        "index_select",
        "embedding",
        "take",
        "nonzero",
        "check",
        "multinomial",
        "cholesky",
    )


__all__ = ["Dim", "Hooks"]
