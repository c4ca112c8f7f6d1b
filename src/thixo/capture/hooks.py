"""What rewritten code calls: one object for each function, which knows its globals and cells."""

import builtins
import sys
import types
from collections.abc import Callable
from typing import Any

from thixo import _core
from thixo.capture import (
    attributes,
    contexts,
    control,
    control_loops,
    effects,
    elements,
    operators,
    partial,
)
from thixo.capture.attributes import changed
from thixo.capture.builtin_objects import getattr_
from thixo.capture.builtin_sequences import iterate
from thixo.capture.callees import attempt, call, function_path
from thixo.capture.frames import current
from thixo.capture.journal import Global, Variable
from thixo.capture.keys import pinned
from thixo.capture.matching import meets
from thixo.capture.open_numbers import read_number
from thixo.capture.paths import Assumed, Path, look, read
from thixo.capture.refusal import RaisedInTry, Refused, Several, refusal_of
from thixo.capture.values import (
    UNSET,
    Choice,
    Number,
    Poison,
    Symbolic,
    decides,
    is_partial,
    is_ragged,
)
from thixo.errors import ThixoError


def _template(made: Any) -> tuple[str, list[Any]]:
    """The text of an exception as that of a node, and its values."""
    parts = made.parts if isinstance(made, effects.Text) else effects.pieces(made, "s")
    return effects.template(parts)


def _there(x: Any, may_be: Callable[[Any], bool]) -> Any:
    """A value where it is known that it is there, and that it is one of those that it may be."""
    while isinstance(x, control.Maybe):
        x = x.value
    if not isinstance(x, Choice):
        return x
    fitting = [may_be(o) for o in x.options]
    if all(fitting) or not any(fitting):
        return x
    one = x.options[fitting.index(True)]
    if sum(fitting) == 1:
        return one
    return Choice([o if fits else one for o, fits in zip(x.options, fitting, strict=True)], x.index)


def _made(error: Any) -> Any:
    """What `raise` raises: a class is called."""
    if isinstance(error, type) and issubclass(error, BaseException):
        return current().made_error(error())
    if isinstance(error, BaseException):
        current().errors.setdefault(id(error), (error, 0))  # who made it is not known
    return error


def _look_by_patterns(x: Any, names: tuple[str, ...], by_place: bool, known: set[int]) -> None:
    """Note the attributes that patterns of classes may look at, of an object and of what is in it."""
    if id(x) in known or isinstance(x, _core.Tensor | Symbolic | type | types.ModuleType | str):
        return
    known.add(id(x))
    parts: list[Any] = []
    if isinstance(x, list | tuple | dict):
        parts += x.values() if isinstance(x, dict) else x
    if type(x).__module__ != "builtins":
        placed = getattr(type(x), "__match_args__", ()) if by_place else ()
        parts += [getattr_(x, name, None) for name in (*names, *placed)]
    for part in parts:
        _look_by_patterns(part, names, by_place, known)


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
    attr = staticmethod(attributes.attr)
    change_attr = staticmethod(attributes.change_attr)
    del_attr = staticmethod(attributes.del_attr)
    slice_ = staticmethod(elements.slice_)
    item = staticmethod(elements.item)
    change_item = staticmethod(elements.change_item)
    del_item = staticmethod(elements.del_item)
    unpack = staticmethod(elements.unpack)
    trying = staticmethod(contexts.trying)
    context = staticmethod(contexts.context)

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
        if not changed(capture, (id(cell), None)) and not isinstance(value, Symbolic):
            path = function_path(capture, self.function).step("cell", self.places[name])
            value = read_number(capture, path, value)
        return control.usable(value, name)

    def glob(self, name: str) -> Any:
        if name not in self.globals:
            found = self.globals.get("__builtins__", {})
            found = vars(found) if isinstance(found, types.ModuleType) else found
            if name not in found:
                raise NameError(f"name '{name}' is not defined")
            return self._builtin(name, found)
        value = self.globals[name]
        capture = current()
        if not changed(capture, (id(self.globals), name)):
            label = self.globals.get("__name__", "globals")
            value = read_number(capture, Path(self.globals, label).step("item", name), value)
        return control.usable(value, name)

    def _builtin(self, name: str, found: dict[str, Any]) -> Any:
        """A name of Python's own, as long as no global variable hides it."""
        if (self.globals.get("__name__") or "").startswith("thixo."):
            return found[name]
        path = Path(self.globals, self.globals.get("__name__", "globals")).step("item", name)
        guards = current().guards
        guards.setdefault((path.key, "missing"), Assumed(path, "missing", name))
        return read(current(), Path(found, "builtins").step("item", name), found[name])

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
    def put_attr(value: Any, x: Any, name: Any) -> None:
        attributes.set_attr(x, name, value)

    @staticmethod
    def put_item(value: Any, x: Any, key: Any) -> None:
        elements.set_item(x, key, value)

    @staticmethod
    def made(x: Any) -> Any:
        return current().made(x)

    @staticmethod
    def key(x: Any) -> Any:
        return pinned(x)

    @staticmethod
    def keys(x: Any) -> Any:
        return map(pinned, x)

    @staticmethod
    def iterator(x: Any) -> Any:
        return current().made_iterator(x)

    @staticmethod
    def consumed(f: Any, listed: Any, lazily: Any) -> Any:
        """A generator that is an argument: a list where it is gone through at once."""
        return listed() if getattr(builtins, getattr(f, "__name__", ""), None) is f else lazily()

    @staticmethod
    def mapping(x: Any) -> Any:
        look(current(), x)
        return x

    @staticmethod
    def super_(cls: Any, owner: Any) -> Any:
        return super(cls, owner)

    # ---- statements

    def for_(self, items: Any, body: Any, go: Any, get: Any, put: Any, names: Any) -> None:
        if isinstance(items, Choice):
            operators.spread(items, lambda v: self.for_(v, body, go, get, put, names))
            return
        from thixo.capture.items import GoneOver, Items

        if is_partial(items):
            items = partial.view(items, "keys")
        if is_ragged(items):
            look(current(), items, ragged=True)
            gone_over = GoneOver(items)

            def turn(e: Any) -> None:
                if isinstance(e, control.Maybe):
                    control.if_(e.flag, lambda: body(e.value), lambda: None, get, put, names)
                else:
                    body(e)
                gone_over.check()

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
    def subject(x: Any, patterns: Any, names: tuple[str, ...], by_place: bool) -> Any:
        if isinstance(x, Choice) or any(meets(p, x) for p in patterns):
            raise Refused("match", "it compares with something the data decide", "use if and elif")
        look(current(), x)
        if names or by_place:
            _look_by_patterns(x, names, by_place, set())
        return x

    @staticmethod
    def assert_(test: Any, message: Any) -> None:
        if not decides(test):
            if not test:
                raise AssertionError(*([] if message is None else [message()]))
            return
        pred = control.predicate(test)
        if current().trying:
            raise RaisedInTry(
                "assert", "a tensor decides it inside of try", "return a value that says so"
            )
        text = ""
        values: list[Any] = []
        if message is not None:
            made = message()
            try:
                text, values = _template(made)
            except Refused:
                if not current().runs_again:  # the function itself will say it
                    raise
        trace = control.current_trace()
        assert trace is not None
        effects.node(effects.CHECK, trace.value_of(pred), values, error="AssertionError", text=text)

    @staticmethod
    def attempt(f: Any, *args: Any, **kwargs: Any) -> Any:
        return attempt(f, args, kwargs)

    @staticmethod
    def attempted(ended: Any) -> Any:
        return ended[0]

    @staticmethod
    def outcome(ended: Any) -> Any:
        return _there(ended[1], lambda o: o is not UNSET)

    @staticmethod
    def failure(ended: Any) -> Any:
        return Hooks.kept(ended[2])

    KEPT = (Exception, Several)  # what a block keeps for the try statement around it

    @staticmethod
    def caught() -> Any:
        """The exception that a block raised, for the try statement around it."""
        error = sys.exc_info()[1]
        if isinstance(error, Several):
            return error.errors
        if isinstance(error, ThixoError):
            raise refusal_of(error) from error
        assert error is not None
        return current().made_error(error)

    @staticmethod
    def kept(x: Any, *caught: Any) -> Any:
        """The exception that was kept, where there is one; of the classes that were caught."""
        x = _there(x, lambda o: o is not UNSET)
        if isinstance(x, Poison):
            x.refuse("raise")
        kinds = [k for one in caught for k in (one if isinstance(one, tuple) else (one,))]
        if kinds and all(isinstance(k, type) for k in kinds):
            x = _there(x, lambda o: isinstance(o, tuple(kinds)))
        return x

    @staticmethod
    def unhandled(error: Any, *handled: Any) -> None:
        """Raise what no handler catches."""
        options = error.options if isinstance(error, Choice) else [error]
        left = [o for o in options if not isinstance(o, handled)]
        if len(left) > 1:
            raise Several(error)
        if left:
            raise left[0]

    @staticmethod
    def raise_(error: Any, cause: Any) -> None:
        if isinstance(error, Choice):
            raise Several(Choice([_made(o) for o in error.options], error.index))
        error = _made(error)
        if isinstance(cause, Choice):
            raise Refused(
                "raise",
                "what it is from is one of several exceptions",
                "name it in an except of its own",
            )
        if cause is not None:
            raise error from cause
        raise error
