"""What two paths left, as one: containers part by part, and what is in them by a common form."""

import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from thixo import _core
from thixo.capture.carry import MISSING, Clash, alike, form, join, looked_up
from thixo.capture.frames import Capture
from thixo.capture.values import UNSET, Maybe, Number, Poison, Symbolic, Text, Union, Unset
from thixo.dtype import int64
from thixo.errors import user_line
from thixo.ops import public as tx

DICTS = (dict, OrderedDict, defaultdict, Counter)


class Frozen:
    """A container or an object as it was at some moment: its class and its parts."""

    def __init__(self, origin: Any, keys: Any) -> None:
        self.origin = origin
        self.keys = keys
        self.parts: list[Any] = []

    @property
    def structure(self) -> Any:
        """What two of them have in common if they can be one."""
        return (type(self.origin), self.keys)


def freeze(x: Any, capture: Capture, seen: dict[int, Frozen] | None = None) -> Any:
    """Containers and objects made inside, taken apart, so that changes from now on do not show."""
    seen = {} if seen is None else seen
    if isinstance(x, Maybe):
        return Maybe(freeze(x.value, capture, seen), x.flag)
    if isinstance(x, Union):
        made = Union([freeze(o, capture, seen) for o in x.options], x.index)
        made.origin = x if x.origin is None else x.origin
        return made
    if id(x) in seen:
        return seen[id(x)]
    if id(x) in capture.poisoned:
        return capture.poisoned[id(x)]
    kind = type(x)
    if kind in (list, tuple, deque) or (isinstance(x, tuple) and hasattr(x, "_fields")):
        found = seen[id(x)] = Frozen(x, len(x))
        found.parts = [freeze(e, capture, seen) for e in x]
    elif kind in DICTS:
        found = seen[id(x)] = Frozen(x, tuple(x))
        found.parts = [freeze(e, capture, seen) for e in x.values()]
    elif id(x) in capture.created and not callable(x) and attributes(x) is not None:
        state = attributes(x)
        assert state is not None
        found = seen[id(x)] = Frozen(x, tuple(state))
        found.parts = [freeze(e, capture, seen) for e in state.values()]
    else:
        return x
    return found


def attributes(x: Any) -> dict[str, Any] | None:
    """An object's own attributes, in its dict or its slots; None where they are hidden."""
    slots = [n for c in type(x).__mro__ for n in _slots(c) if n not in ("__dict__", "__weakref__")]
    state = {n: getattr(x, n) for n in slots if hasattr(x, n)}
    inner = getattr(x, "__dict__", None)
    if inner is None and not slots:
        return None
    if isinstance(x, _core.Tensor | type) or type(x).__module__ == "builtins":
        return None
    return {**state, **(inner or {})}


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


def rebuilt(frozen: Frozen, parts: list[Any]) -> Any:
    """A new container or object of the same class with other parts."""
    origin = frozen.origin
    kind: Any = type(origin)
    if kind is defaultdict:
        return kind(origin.default_factory, zip(frozen.keys, parts, strict=True))
    if kind is Counter:  # it would count pairs
        counts: Any = Counter()
        dict.update(counts, zip(frozen.keys, parts, strict=True))
        return counts
    if kind in DICTS:
        return kind(zip(frozen.keys, parts, strict=True))
    if kind is deque:
        return deque(parts, origin.maxlen)
    if isinstance(origin, tuple) and hasattr(origin, "_fields"):
        return kind(*parts)
    if kind in (list, tuple):
        return kind(parts)
    made = kind.__new__(kind)
    fill(made, frozen.keys, parts)
    return made


def fill(made: Any, names: Any, parts: list[Any]) -> None:
    """Set attributes, whatever the class says to that."""
    for text, part in zip(names, parts, strict=True):
        object.__setattr__(made, text, part)


def aligned(x: Any, y: Any) -> tuple[Any, Any]:
    """The contents of a dict on two paths with the keys of both, where these have one order; what a path lacks is not set there."""
    if not (isinstance(x, Frozen) and isinstance(y, Frozen)):
        return x, y
    if type(x.origin) is not dict or type(y.origin) is not dict or x.keys == y.keys:
        return x, y
    common = [k for k in x.keys if k in y.keys]
    if common != [k for k in y.keys if k in x.keys]:
        return x, y
    keys: list[Any] = []
    rest = list(y.keys)
    for key in x.keys:
        if key in y.keys:
            at = rest.index(key)
            keys += rest[:at]
            rest = rest[at + 1 :]
        keys.append(key)
    keys += rest
    return _with_keys(x, keys), _with_keys(y, keys)


def aligned_sets(x: set[Any], y: set[Any]) -> tuple[Frozen, Frozen]:
    """Sets of two paths as dicts with the elements of both."""
    sides = [
        {e.value: Maybe(True, e.flag) for e in one if isinstance(e, Maybe)}
        | {e: True for e in one if not isinstance(e, Maybe)}
        for one in (x, y)
    ]
    keys = list(dict.fromkeys([*sides[0], *sides[1]]))
    made = []
    for side in sides:
        frozen = Frozen(side, tuple(side))
        frozen.parts = list(side.values())
        made.append(_with_keys(frozen, keys))
    return made[0], made[1]


def as_set(found: dict[Any, Any]) -> set[Any]:
    """What `aligned_sets` became, as a set."""
    return {Maybe(k, v.flag) if isinstance(v, Maybe) else k for k, v in found.items()}


def _with_keys(x: Frozen, keys: list[Any]) -> Frozen:
    parts = dict(zip(x.keys, x.parts, strict=True))
    made = Frozen(dict.fromkeys(keys), tuple(keys))
    made.parts = [parts.get(k, UNSET) for k in keys]
    return made


# How to make a merged value of the node's results.
Maker = Callable[[list[Any]], Any]


OPTIONS = 8  # values that one variable may be


class _Index:
    """How the number of an option travels: what it is by itself, and the places of the options among all."""

    mode, width = "index", 1

    def encode(self, x: Any) -> list[Any]:
        if x is MISSING:
            return [tx.full((), 0, dtype=int64)]
        index, places = x
        return [tx.full((), places[0], dtype=int64) if index is None else looked_up(places, index)]


def _go_together(a: Any, b: Any) -> bool:
    if isinstance(a, Frozen) or isinstance(b, Frozen):
        return False
    try:
        join(form(a), form(b))
    except Clash:
        return False
    return True


class Merger:
    """Merges the values of two branches. `out(x, y, form)` makes results of both and gives their places."""

    def __init__(self, capture: Capture, out: Callable[..., list[int]], clock: int) -> None:
        self.capture = capture
        self.out = out
        self.clock = clock  # when the branches began
        self._known: dict[tuple[int, int], Maker] = {}
        self._partner: dict[tuple[int, int], int] = {}
        self._made: dict[tuple[int, int], Any] = {}

    def merge(self, x: Any, y: Any, name: str) -> Maker:
        """A maker for what is x on one path and y on the other."""
        (set_x, x), (set_y, y) = _split(x), _split(y)
        if set_x is False and set_y is False:
            return lambda results: UNSET
        inner = self._core(x, y, name)
        if set_x is True and set_y is True:
            return inner
        if (
            set_x is set_y
        ):  # what no path changed is no result: there may be many elements like that
            return lambda results: Maybe(inner(results), set_x)
        (place,) = self.out(set_x, set_y, form(True))
        return lambda results: Maybe(inner(results), Number("bool", results[place]))

    def _core(self, x: Any, y: Any, name: str) -> Maker:
        if x is MISSING and y is MISSING:
            return lambda results: UNSET
        for one in (x, y):
            if isinstance(one, Poison):
                return lambda results: one
        if isinstance(x, Union) or isinstance(y, Union):
            if isinstance(x, Union) and isinstance(y, Union) and x.index is y.index:
                return lambda results: x.origin  # what is in its options is merged by the journal
            return self._union(x, y, name)
        if isinstance(x, Frozen) or isinstance(y, Frozen):
            return self._container(x, y, name)
        if x is not MISSING and y is not MISSING:
            if x is y or (not isinstance(x, _core.Tensor) and alike(x, y)):
                return lambda results: x
        elif isinstance(x, Text) or isinstance(y, Text):
            return self._text(x, y, name)
        elif not isinstance(x, _core.Tensor | Symbolic) and not isinstance(
            y, _core.Tensor | Symbolic
        ):
            only = y if x is MISSING else x
            if form(only).mode == "choice" and not hasattr(only, "index"):
                return lambda results: only
        try:
            both = form(y) if x is MISSING else form(x) if y is MISSING else join(form(x), form(y))
        except Clash as clash:
            if x is not MISSING and y is not MISSING:
                return self._union(x, y, name)
            poison = Poison(f"{name} {clash}", user_line())
            return lambda results: poison
        places = self.out(x, y, both)
        return lambda results: both.decode([results[p] for p in places])

    def _container(self, x: Any, y: Any, name: str) -> Maker:
        if isinstance(x, Frozen) and isinstance(y, Frozen):
            if x.origin is y.origin and not _immutable(x.origin):
                return lambda results: x.origin  # its content is merged by the journal
            if type(x.origin) is list and type(y.origin) is list:
                pairs = list(itertools.zip_longest(x.parts, y.parts, fillvalue=UNSET))
            elif x.structure != y.structure:
                return self._union(x, y, name)
            else:
                pairs = list(zip(x.parts, y.parts, strict=True))
        elif x is MISSING or y is MISSING:
            one = y if x is MISSING else x
            if not _immutable(one.origin) and not self.capture.made_since(one.origin, self.clock):
                return lambda results: one.origin
            pairs = [(MISSING, p) if x is MISSING else (p, MISSING) for p in one.parts]
        else:
            return self._union(x, y, name)
        key = (id(x), id(y))
        known = self._known.get(key)
        if known is not None:
            return known
        one = y if x is MISSING or (y is not MISSING and len(y.parts) > len(x.parts)) else x
        frozen = not _immutable(one.origin) and not self._own(key, (x, y))
        self._known[key] = lambda results: self._made[key]  # where it holds itself
        makers = [self.merge(a, b, f"a part of {name}") for a, b in pairs]

        def make(results: list[Any]) -> Any:
            if key not in self._made:
                made = rebuilt(one, [m(results) for m in makers])
                self._made[key] = made if isinstance(made, tuple) else self.capture.made(made)
                if frozen:
                    reason = (
                        f"{name} may be one of two {type(made).__name__}s that are known elsewhere"
                    )
                    self.capture.frozen[id(made)] = (made, reason)
            return self._made[key]

        self._known[key] = make
        return make

    def _own(self, key: tuple[int, int], sides: tuple[Any, Any]) -> bool:
        """Whether both were made in their branches, and nothing else is matched with either."""
        own = True
        for side, one in enumerate(sides):
            if one is MISSING:
                continue
            own &= self.capture.made_since(one.origin, self.clock)
            other = self._partner.setdefault((side, key[side]), key[1 - side])
            own &= other == key[1 - side]
        return own

    def _union(self, x: Any, y: Any, name: str) -> Maker:
        """Values of two kinds: both are there, and a number says which it is."""
        sides = [
            one.options if isinstance(one, Union) else [one] for one in (x, y) if one is not MISSING
        ]
        if sum(map(len, sides)) > OPTIONS:
            return self._clash(x, y, name)
        pairs: list[list[Any]] = []
        numbers: list[Any] = [MISSING, MISSING]
        for side, one in enumerate((x, y)):
            if one is MISSING:
                continue
            options = one.options if isinstance(one, Union) else [one]
            numbers[side] = (
                one.index if isinstance(one, Union) else None,
                [self._pair(pairs, side, o) for o in options],
            )
        makers = [self._core(a, b, name) for a, b in pairs]
        (place,) = self.out(*numbers, _Index())
        return lambda results: Union([m(results) for m in makers], results[place])

    @staticmethod
    def _pair(pairs: list[list[Any]], side: int, value: Any) -> int:
        """The place of a value among the options, with one of the other side that has its form."""
        for place, pair in enumerate(pairs):
            if side == 1 and pair[1] is MISSING and _go_together(pair[0], value):
                pair[1] = value
                return place
        pairs.append([value, MISSING] if side == 0 else [MISSING, value])
        return len(pairs) - 1

    def _text(self, x: Any, y: Any, name: str) -> Maker:
        """Text with values in it, of one path."""
        makers: list[Any] = []
        for part in (y if x is MISSING else x).parts:
            if isinstance(part, str):
                makers.append(part)
                continue
            pair = (MISSING, part[0]) if x is MISSING else (part[0], MISSING)
            makers.append((self._core(*pair, name), *part[1:]))
        return lambda results: Text(
            [m if isinstance(m, str) else (m[0](results), *m[1:]) for m in makers]
        )

    def _clash(self, x: Any, y: Any, name: str) -> Maker:
        reason = f"{name} is {_what(x)} on one path and {_what(y)} on another"
        poison = Poison(reason, user_line())
        return lambda results: poison


def _immutable(x: Any) -> bool:
    return isinstance(x, tuple)


def _split(x: Any) -> tuple[Any, Any]:
    if isinstance(x, Unset):
        return False, MISSING
    if isinstance(x, Maybe):
        return x.flag, x.value
    return True, x


def _what(x: Any) -> str:
    if isinstance(x, Frozen):
        kind = type(x.origin).__name__
        return (
            f"a {kind} of {len(x.parts)}"
            if isinstance(x.origin, list | tuple | dict)
            else f"a {kind}"
        )
    return "None" if x is None else f"a {type(x).__name__}"


__all__ = ["Frozen", "Merger", "attributes", "fill", "freeze", "rebuilt", "tx"]
