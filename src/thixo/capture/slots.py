"""What a loop carries: variables, cells of the journal and tensors that are written, part by part.

The syntax gives candidates, tracing decides: the body is traced, what it left is compared with what was there, what changed is
carried from then on, until nothing new changes.
"""

import re
from collections.abc import Iterator
from types import MemberDescriptorType
from typing import Any

from thixo import _core
from thixo.capture.carry import MISSING, Carry, Clash, alike, form, join
from thixo.capture.frames import Capture
from thixo.capture.merge import Frozen, _split, rebuilt
from thixo.capture.refusal import Refused
from thixo.capture.values import UNSET, Choice, Maybe, Mixed, Number, Poison, Symbolic
from thixo.errors import raised_at


class LoopClash(Refused):
    """A variable that changes its kind between turns; the first turn may be the only one that is different."""


def leaves(x: Any) -> Iterator[Any]:
    """The parts of something frozen that are no containers."""
    if isinstance(x, Frozen):
        for part in x.parts:
            yield from leaves(part)
    else:
        yield x


def outline(x: Any) -> Any:
    """The containers of something frozen, without what is in them."""
    return (x.structure, tuple(map(outline, x.parts))) if isinstance(x, Frozen) else None


def with_leaves(x: Any, parts: Iterator[Any]) -> Any:
    """A new value of the same containers with other parts."""
    if isinstance(x, Frozen):
        return rebuilt(x, [with_leaves(p, parts) for p in x.parts])
    return next(parts)


class Slot:
    """One thing that a loop may change."""

    def __init__(self, name: str, start: Any, outlives: bool = False) -> None:
        self.name = name
        self.outlives = outlives  # whether others see it: an attribute, a global
        self.flag, self.start = _split(start)
        self.tree = self.start
        self.carried_flag = self.flag is not True and self.flag is not False
        self.forms: list[Carry | None] = [None] * len(list(leaves(self.tree)))
        self.lost: str | None = None  # why it is not known behind the loop

    def carry_tensors(self) -> None:
        """Carry tensors from the start: a variable that is assigned mostly changes."""
        if self.start is MISSING:
            return
        try:
            self.forms = [form(x) if _moves(x) else None for x in leaves(self.tree)]
        except Clash as clash:
            self._lose(f"it {clash}")

    @property
    def is_carried(self) -> bool:
        return self.carried_flag or any(f is not None for f in self.forms)

    @property
    def width(self) -> int:
        """How many tensors carry it."""
        return sum(f.width for f in self.forms if f is not None) + self.carried_flag

    def compare(self, after: Any) -> bool:
        """Take in what a turn left; whether nothing new has to be carried."""
        flag, value = _split(after)
        if value is MISSING and self.start is MISSING:
            return True
        if self.lost is not None:
            return True
        if isinstance(value, Poison) or any(isinstance(x, Poison | Maybe) for x in leaves(value)):
            return self._lose(
                value.reason if isinstance(value, Poison) else "a part of it is not always set"
            )
        if isinstance(value, Frozen) and isinstance(self.tree, Frozen):
            if value.origin is self.tree.origin and not isinstance(value.origin, tuple):
                return True  # the same object; its content has a slot of its own
        if self.tree is MISSING:
            return self._begin(value)
        stable = True
        if flag is not True and not self.carried_flag:
            self.carried_flag, stable = True, False
        if value is MISSING:
            return stable
        if outline(value) != outline(self.tree):
            return self._lose("its parts change from turn to turn")
        for i, (old, new) in enumerate(zip(leaves(self.tree), leaves(value), strict=True)):
            known = self.forms[i]
            if known is None and (old is new or alike(old, new)):
                continue
            try:
                both = join(known or form(old), form(new))
            except Clash as clash:
                return self._lose(f"it {clash}")
            if both.mode == "number":
                both = both._replace(known=None)
            elif both.mode == "choice" and self.flag is False and not self._stays(new):
                return self._lose("it is another object in each turn")
            if known is None or (both != known and not _same(both, known)):
                self.forms[i], stable = both, False
        return stable

    def _begin(self, value: Any) -> bool:
        """A variable that the loop sets first."""
        try:
            self.forms = [form(x)._replace(known=None) for x in leaves(value)]
        except Clash as clash:
            return self._lose(str(clash))
        # One object need not be carried; which of several it is has to.
        self.forms = [
            None if f is not None and f.mode == "choice" and not isinstance(x, Choice) else f
            for f, x in zip(self.forms, leaves(value), strict=True)
        ]
        self.tree = value
        self.carried_flag = True
        return False

    def _lose(self, why: str) -> bool:
        if self.flag is not False or self.outlives:
            raise LoopClash(
                f"{self.name} in a loop", why, "give it its final kind and shape before the loop"
            )
        self.lost = why
        self.forms, self.tree, self.carried_flag = [None], MISSING, False
        return False

    def _stays(self, x: Any) -> bool:
        """Whether there are only some such objects, so that a loop need not make new ones."""
        return _is_plain(x)

    def poison(self) -> Poison:
        """What stands behind the loop for what was lost."""
        return Poison(f"{self.name} is set in a loop that a tensor ends, and {self.lost}")

    def encode(self, x: Any) -> list[Any]:
        """The tensors that carry a value."""
        flag, value = _split(x)
        parts = [MISSING] * len(self.forms) if value is MISSING else list(leaves(value))
        made = []
        for f, part in zip(self.forms, parts, strict=True):
            if f is not None:
                made += f.encode(part)
        if self.carried_flag:
            made += form(True).encode(flag)
        return made

    def decode(self, tensors: list[Any]) -> Any:
        """The value of tensors, which are taken from the front of the list."""
        if self.lost is not None or not self.is_carried:
            return None
        parts = []
        for f, old in zip(self.forms, leaves(self.tree), strict=True):
            if f is None:
                parts.append(old)
            else:
                parts.append(f.decode([tensors.pop(0) for _ in range(f.width)]))
        made = with_leaves(self.tree, iter(parts))
        if not self.carried_flag:
            return made
        flag = Number("bool", tensors.pop(0))
        return Maybe(made, flag)


class KeptSlot(Slot):
    """The exception that a try statement keeps of a loop inside of it.

    Each time that the body is traced it makes another one. Those that say the same are one here:
    nobody else knows them. One that was there before the loop stays itself.
    """

    def __init__(self, start: Any, capture: Capture) -> None:
        super().__init__("an exception", start)
        self.capture = capture
        self.clock = capture.clock
        self.first: list[Any] = []
        self.line: str | None = None  # where the one is raised that is another in each turn

    def compare(self, after: Any) -> bool:
        flag, value = _split(self._as_first(after))
        if self.lost is None and any(x is None for x in _options(value)):
            return self._lose("what it says changes from turn to turn")
        return super().compare(value if flag is True else Maybe(value, flag))

    def encode(self, x: Any) -> list[Any]:
        return super().encode(self._as_first(x))

    def poison(self) -> Poison:
        reason = f"it is raised in a loop that a tensor ends, and {self.lost}"
        return Poison(reason, self.line, "give it the same arguments in each turn")

    def _stays(self, x: Any) -> bool:
        return True

    def _as_first(self, x: Any) -> Any:
        """A value with the exceptions that were seen first; None for one that changes by the turn."""
        flag, value = _split(x)
        if isinstance(value, Choice):
            made = [self._first(o) for o in value.options]
            value = made[0] if all(o is made[0] for o in made) else Choice(made, value.index)
        else:
            value = self._first(value)
        return value if flag is True else Maybe(value, flag)

    def _first(self, error: Any) -> Any:
        if not self.capture.made_since(error, self.clock):
            return error
        for known in self.first:
            if known is error or _says_the_same(known, error):
                return known
        if not _says_plain_things(error):
            self.line = raised_at(error)
            return None
        self.first.append(error)
        return error


_KEPT = re.compile(r"_error\d+")  # what try statements call it (exits.py)


def slot_of(name: str, start: Any, capture: Capture) -> Slot:
    """The slot of a variable."""
    if _KEPT.fullmatch(name.removeprefix("variable ")):
        return KeptSlot(start, capture)
    return Slot(name, start)


def _options(x: Any) -> list[Any]:
    return x.options if isinstance(x, Choice) else [x]


def _said(error: BaseException) -> dict[Any, Any]:
    """All that can be read of an exception but what it was raised from, by places and names."""
    made: dict[Any, Any] = {**dict(enumerate(error.args)), **vars(error)}
    for kind in type(error).__mro__:
        members = [n for n, m in vars(kind).items() if isinstance(m, MemberDescriptorType)]
        made.update((n, getattr(error, n, UNSET)) for n in members)
    return made


def _says_plain_things(error: BaseException) -> bool:
    for x in _said(error).values():
        if x is not UNSET and (isinstance(x, Symbolic) or not _is_plain(x)):
            return False
    return error.__cause__ is None or _says_plain_things(error.__cause__)


def _says_the_same(a: Any, b: Any) -> bool:
    if a is None or b is None or type(a) is not type(b):
        return a is b
    one, two = _said(a), _said(b)
    if list(one) != list(two) or not all(map(alike, one.values(), two.values())):
        return False
    return _says_the_same(a.__cause__, b.__cause__)


def _is_plain(x: Any) -> bool:
    """Whether there are only some such objects, so that a loop need not make new ones."""
    if isinstance(x, Choice):
        return all(map(_is_plain, x.options))
    return x is None or isinstance(x, bool | int | float | str | bytes | complex | type | Number)


def _moves(x: Any) -> bool:
    return isinstance(x, _core.Tensor | Number | Mixed | Choice)


def _same(a: Carry, b: Carry) -> bool:
    return (
        a.mode == b.mode
        and a.dtype is b.dtype
        and a.kind == b.kind
        and len(a.options) == len(b.options)
    )


__all__ = ["UNSET", "LoopClash", "Slot", "slot_of"]
