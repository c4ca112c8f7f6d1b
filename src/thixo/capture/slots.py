"""What a loop carries: variables, cells of the journal and tensors that are written, part by part.

The syntax gives candidates, tracing decides: the body is traced, what it left is compared with what was there, what changed is
carried from then on, until nothing new changes.
"""

from collections.abc import Iterator
from typing import Any

from thixo import _core
from thixo.capture.carry import MISSING, Carry, Clash, alike, form, join
from thixo.capture.merge import Frozen, _split, rebuilt
from thixo.capture.refusal import Refused
from thixo.capture.values import UNSET, Choice, Maybe, Mixed, Number, Poison


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

    def __init__(self, name: str, start: Any) -> None:
        self.name = name
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
            elif both.mode == "choice" and self.flag is False and not _is_plain(new):
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
        if any(f is not None and f.mode == "choice" for f in self.forms):
            kept = [f if f is not None and f.mode != "choice" else None for f in self.forms]
            self.forms = kept
        self.tree = value
        self.carried_flag = True
        return False

    def _lose(self, why: str) -> bool:
        if self.flag is not False:
            raise LoopClash(
                f"{self.name} in a loop", why, "give it its final kind and shape before the loop"
            )
        self.lost = why
        self.forms, self.tree, self.carried_flag = [None], MISSING, False
        return False

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


__all__ = ["UNSET", "LoopClash", "Slot"]
