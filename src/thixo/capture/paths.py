"""How captured code reached what was there before, and what it assumed of it.

A path starts at an argument or at an object that stays (the function, a module) and goes on by attributes, items and cells.
Tensors found at the end of a path are fetched anew for every call; all else is compared with what it was.
"""

from collections import deque
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.frames import Capture
from thixo.capture.held import held
from thixo.capture.journal import Attribute, Content, Global
from thixo.capture.refusal import Refused
from thixo.capture.values import UNSET, Symbolic, alike
from thixo.device import device
from thixo.dtype import float64
from thixo.tensor import tensor

PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice, type(...))
_METHODS = (BuiltinFunctionType, MethodType)
_VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))
LOOKED = (list, tuple, dict, set, frozenset, deque, MappingProxyType)


class Path:
    """A way to an object: a start, then steps."""

    def __init__(self, start: Any, label: str, steps: tuple[tuple[str, Any], ...] = ()) -> None:
        self.start = start  # an Argument, or the object itself
        self.label = label
        self.steps = steps

    def step(self, how: str, key: Any) -> "Path":
        return Path(self.start, self.label, (*self.steps, (how, key)))

    @property
    def key(self) -> Any:
        start = self.start if isinstance(self.start, Argument) else id(self.start)
        return (start, self.steps)

    @property
    def is_of_argument(self) -> bool:
        return isinstance(self.start, Argument)

    def fetch(self, leaves: list[Any]) -> Any:
        """What is there now."""
        found = leaves[self.start.position] if isinstance(self.start, Argument) else self.start
        for how, key in self.steps:
            if how == "attr":
                found = getattr(found, key)
            elif how == "item":
                found = found[key]
            elif how == "cell":
                found = found.__closure__[key].cell_contents
            elif how == "closure":
                found = found.__closure__[key]
            elif how == "entry":
                found = list(found)[key]
            elif how == "state":  # of an optimizer, for a parameter
                group, place = key
                found = dict.get(found.state, found.param_groups[group]["params"][place])
                if found is None:
                    raise LookupError("no state")
            elif how == "call":
                found = getattr(found, key)()
            elif how == "default":
                found = found.__defaults__[key]
            elif how == "kwdefault":
                found = found.__kwdefaults__[key]
            else:
                found = getattr(found, how)
        return found

    def __str__(self) -> str:
        text = self.label
        for how, key in self.steps:
            text += (
                f".{key}" if how == "attr" else f"[{key!r}]" if how == "item" else f".<{how} {key}>"
            )
        return text


class Scalar(Path):
    """A way to a number, which is an input of the graph: it may be another one at each call."""

    _last: tuple[float, Any] | None = None

    def fetch(self, leaves: list[Any]) -> Any:
        found = super().fetch(leaves)
        if not isinstance(found, int | float):
            raise TypeError("a number was expected")
        known = self._last
        if known is None or known[0] != found:
            known = self._last = (float(found), tensor(float(found), dtype=float64))
        return known[1]


class Argument(NamedTuple):
    """A leaf of the arguments, by its position."""

    position: int


class Assumed(NamedTuple):
    """Something that was assumed of what a path leads to."""

    path: Path
    how: str  # "equal", "is", "type", "code", "length", "keys"
    value: Any

    def holds(self, leaves: list[Any]) -> bool:
        """Whether it is still so."""
        try:
            found = self.path.fetch(leaves)
        except (AttributeError, LookupError, TypeError, ValueError):
            return self.how == "missing"
        if self.how == "equal":
            return alike(found, self.value)
        if self.how == "is":
            # A method is made anew whenever it is looked up, and equal if it is the same one's.
            return found is self.value or (isinstance(found, _METHODS) and found == self.value)
        if self.how == "type":
            return type(found) is self.value
        if self.how == "code":
            return getattr(found, "__code__", None) is self.value
        if self.how == "length":
            return len(found) == self.value
        if self.how == "keys":
            return tuple(found) == self.value and all(
                type(a) is type(b) for a, b in zip(found, self.value, strict=True)
            )
        if self.how == "holds":
            return bool(self.value(found, leaves))
        return False

    def __str__(self) -> str:
        return f"{self.path} {self.how} {self.value!r}"


class SameAs:
    """Assumed: what is found here is found by another path too, and is one input of the graph."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, found: Any, leaves: list[Any]) -> bool:
        return found is self.path.fetch(leaves)

    def __repr__(self) -> str:
        return str(self.path)


class Apart:
    """Assumed: some paths lead to one object each, since the program changes one of these."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __call__(self, found: Any, leaves: list[Any]) -> bool:
        return len({id(path.fetch(leaves)) for path in self.paths}) == len(self.paths)

    def __repr__(self) -> str:
        return f"another object than {', '.join(map(str, self.paths[1:]))}"


class AllEqual:
    """Assumed: counts that an object has are equal."""

    def counts(self, found: Any) -> list[Any]:
        """The counts: tensors of one element."""
        raise NotImplementedError

    def __call__(self, found: Any, leaves: list[Any]) -> bool:
        return len({t.item() for t in self.counts(found)}) == 1


def read(capture: Capture, path: Path, value: Any) -> Any:
    """Note that captured code read something that was there before."""
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, _core.Tensor):
        if value._value is None or id(value) in capture.tensors:
            known = capture.tensors.setdefault(id(value), (value, path))[1]
            if known.key != path.key:
                capture.guards.setdefault(
                    (path.key, "holds"), Assumed(path, "holds", SameAs(known))
                )
        return value
    if isinstance(value, BuiltinFunctionType) and type(value.__self__) in LOOKED:
        return value  # a method of a container: what is assumed of the container says it
    how, seen = assumption(value)
    capture.guards.setdefault((path.key, how), Assumed(path, how, seen))
    if not isinstance(value, PLAIN):
        note_same(capture, path, value, how)
        capture.ways.setdefault(id(value), []).append(path)
    return value


def note_same(capture: Capture, path: Path, value: Any, how: str) -> None:
    """Note where an object is. What is read of it is looked for where it was found first: it has to be that one."""
    known = capture.sources.setdefault(id(value), (value, path))[1]
    if known.key != path.key and how == "type":
        capture.guards.setdefault((path.key, "holds"), Assumed(path, "holds", SameAs(known)))


def note_apart(capture: Capture) -> list[Assumed]:
    """Note that what is changed and what else was looked at are not one object; what was noted."""
    found: dict[type, Assumed] = {}
    for key, (cell, _) in capture.journal.levels[0].items():
        kind = type(cell.owner)
        path = capture.outside.get(key) or path_of(capture, cell.owner)
        if path is None or type(cell) not in (Attribute, Content) or kind in found:
            continue
        paths = [p for x, p in capture.sources.values() if type(x) is kind]
        if len(paths) > 1 and id(cell.owner) not in capture.created:
            found[kind] = Assumed(paths[0], "holds", Apart(paths))
    capture.guards.update(((one.path.key, "apart"), one) for one in found.values())
    return list(found.values())


def assumption(value: Any) -> tuple[str, Any]:
    """What is assumed of an object from outside: how it is compared, and with what."""
    if isinstance(value, (*PLAIN, device)):
        return "equal", value
    known = held(value)
    if known is not None:
        return "equal", known
    if isinstance(value, FunctionType):
        return "code", value.__code__
    fixed = (type, ModuleType, BuiltinFunctionType, MethodType, Enum, _core.Operator)
    if isinstance(value, fixed) or (callable(value) and not hasattr(value, "__dict__")):
        return "is", value
    if type(value).__module__.startswith("thixo") and not hasattr(value, "__dict__"):
        return "is", value  # a dtype, a device
    return "type", type(value)


def note_missing(capture: Capture, x: Any, name: str) -> None:
    """Note that an object from outside was asked for an attribute that it does not have."""
    path = path_of(capture, x)
    if path is not None:
        path = path.step("attr", name)
        capture.guards.setdefault((path.key, "missing"), Assumed(path, "missing", name))


def note_identity(capture: Capture, x: Any) -> None:
    """Note that it counted which object it is, wherever it was found."""
    for path in capture.ways.get(id(x), ()):
        capture.guards.setdefault((path.key, "is"), Assumed(path, "is", x))


def path_of(capture: Capture, x: Any) -> Path | None:
    """The path of an object from outside."""
    found = capture.sources.get(id(x))
    return found[1] if found is not None and found[0] is x else None


def note_old(capture: Capture, cell: Any) -> None:
    """Note that what a cell held before the function ran may be what it holds afterwards."""
    if any(cell.key in level for level in capture.journal.levels):
        return  # it was set before: that is no longer from outside
    path = capture.outside.get(cell.key) or path_of(capture, cell.owner)
    if path is None:
        return
    if isinstance(cell, Content):
        look(capture, cell.owner)
    elif cell.read() is not UNSET:
        if isinstance(cell, Attribute):
            path = path.step("attr", cell.name)
        elif isinstance(cell, Global):
            path = path.step("item", cell.name)
        else:
            path = path.step("attr", "cell_contents")
        read(capture, path, cell.read())


def _before(capture: Capture, x: Any) -> Any:
    """What a container held before captured code changed it, such as by an append, which looks at nothing."""
    key = (id(x), None)
    for level in capture.journal.levels:
        if key in level:
            held = level[key][1]
            return held if isinstance(held, LOOKED) else x
    return x


def look(capture: Capture, x: Any, ragged: bool = False) -> None:
    """Note that the content of a container from outside is looked at: its length, its keys, all that is in it."""
    if isinstance(x, _VIEWS):  # of a dict
        path = path_of(capture, x)
        if path is not None and id(x) not in capture.looked:
            capture.looked[id(x)] = x
            look(capture, read(capture, path.step("attr", "mapping"), x.mapping))
        return
    if not isinstance(x, LOOKED):
        return
    capture.readable(x, ragged)
    if id(x) in capture.looked:
        return
    path = path_of(capture, x)
    if path is None:
        return
    capture.looked[id(x)] = x
    x = _before(capture, x)
    if isinstance(x, dict | MappingProxyType):
        if not all(isinstance(k, PLAIN) for k in x):
            raise Refused("a dict from outside", "its keys are not plain values", "use strings")
        capture.guards.setdefault((path.key, "keys"), Assumed(path, "keys", tuple(x)))
        for key, value in x.items():
            read(capture, path.step("item", key), value)
            look(capture, value)
    elif isinstance(x, set | frozenset):
        if not all(isinstance(k, PLAIN) for k in x):
            raise Refused("a set from outside", "it holds other than plain values", "use a tuple")
        capture.guards.setdefault((path.key, "keys"), Assumed(path, "keys", tuple(x)))
    else:
        capture.guards.setdefault((path.key, "length"), Assumed(path, "length", len(x)))
        for i, value in enumerate(x):
            read(capture, path.step("item", i), value)
            look(capture, value)
