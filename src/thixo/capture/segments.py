"""Programs of recorded segments: found by their structure, compiled, kept.

The first time a structure comes it runs operator by operator; when it comes again it is compiled. Numbers are part of a
program until they change, then they are inputs. Sizes are part of it until the same operators come with others, then they
are symbols, and the program serves all of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeVar

from thixo import _core
from thixo.capture.retrace import NotCompiled, Retrace
from thixo.capture.segment_keys import Key, Record, same_number
from thixo.runtime.executor import executor
from thixo.runtime.kept import optimized

MOST_FAMILIES = 512  # structures that are remembered, and outlines of them
MOST_MEMBERS = 4  # programs of one structure, and of one outline
MOST_TRIES = 4  # that an outline is compiled with symbols in vain
LEAST = 2  # operators that are worth a program


class Settings:
    """What tests and measurements change."""

    sights = 2  # a structure is compiled when it comes for this time; 0: never
    strict = False  # what cannot be compiled raises, in place of running operator by operator


class Compiled:
    """A segment's program, and where its inputs come from and its results go."""

    def __init__(
        self, key: Key, records: Sequence[Record], changing: set[int], other: Key | None = None
    ) -> None:
        traced = Retrace(key, records, changing, other)
        self.fixed = {i: x for i, x in enumerate(key.numbers) if i not in changing}
        self.inputs, self.made, self.changed = traced.inputs, traced.made, traced.changed
        self.served = traced.served
        traced.graph.verify()
        self.guards = traced.graph.guards
        self.run = executor(optimized(traced.graph), "sunk")

    def fits(self, numbers: Sequence[float]) -> bool:
        """Whether the numbers that it was compiled with are these."""
        return all(same_number(numbers[i], x) for i, x in self.fixed.items())

    def serves(self, key: Key) -> bool:
        """Of one with symbols: whether it does what a segment of the same outline does."""
        return self.fits(key.numbers) and self.served.holds(key, self.guards)

    def __call__(self, tensors: Sequence[Any], numbers: Sequence[float]) -> None:
        """Run it on a segment's tensors."""
        found = self.run([one.of(tensors, numbers) for one in self.inputs])
        count = len(self.made)
        for one, result in zip(self.changed, found[count:], strict=True):
            one.of(tensors, numbers).data.copy_(
                result
            )  # past the version, which the recording has moved on
        for place, result in zip(self.made, found[:count], strict=True):
            _core.lazy_fulfil(tensors[place], result)


class Outline:
    """Segments that differ in sizes and numbers alone."""

    def __init__(self) -> None:
        self.example: Key | None = None
        self.members: list[Compiled] = []
        self.changing: set[int] = set()
        self.tries = 0

    def program(self, key: Key, records: Sequence[Record]) -> Compiled | None:
        """A program with symbols that serves a structure which comes for the first time."""
        for one in self.members:
            if one.serves(key):
                return one
        other, self.example = self.example, key
        if other is None or self.tries >= MOST_TRIES:
            return None
        self.changing |= changed(other.numbers, key.numbers)
        self.tries += 1
        made = compiled(key, records, self.changing, other)
        if made is not None:
            self.members = [made, *self.members[: MOST_MEMBERS - 1]]
        return made


class Family:
    """Segments of one structure."""

    def __init__(self) -> None:
        self.sights = 0
        self.members: list[Compiled] = []
        self.numbers: list[float] | None = None
        self.changing: set[int] = set()
        self.refused = False

    def known(self, numbers: Sequence[float]) -> Compiled | None:
        """A program that is there, for segments with these numbers."""
        for one in self.members:
            if one.fits(numbers):
                return one
        return None

    def program(self, key: Key, records: Sequence[Record], outline: Outline) -> Compiled | None:
        """A new program for a segment; None where it runs operator by operator."""
        self.sights += 1
        if self.numbers is not None:
            self.changing |= changed(self.numbers, key.numbers)
        self.numbers = key.numbers
        made = outline.program(key, records) if self.sights == 1 else None
        if made is None:
            if self.sights < Settings.sights:
                return None
            made = compiled(key, records, self.changing)
            self.refused = made is None
        if made is not None:
            self.members = [made, *self.members[: MOST_MEMBERS - 1]]
        return made


def compiled(
    key: Key, records: Sequence[Record], changing: set[int], other: Key | None = None
) -> Compiled | None:
    """A segment's program; None where it has none."""
    try:
        return Compiled(key, records, set(changing), other)
    except NotCompiled:
        return None
    except Exception:
        if Settings.strict:
            raise
        return None


def changed(before: Sequence[float], now: Sequence[float]) -> set[int]:
    """The places of numbers that are others now."""
    pairs = zip(before, now, strict=True)
    return {i for i, (a, b) in enumerate(pairs) if not same_number(a, b)}


# ---- what is kept

T = TypeVar("T")

_families: OrderedDict[Any, Family] = OrderedDict()
_outlines: OrderedDict[Any, Outline] = OrderedDict()
_lock = threading.RLock()


def _entry(table: OrderedDict[Any, T], key: Any, make: type[T]) -> T:
    found = table.get(key)
    if found is None:
        found = table[key] = make()
        if len(table) > MOST_FAMILIES:
            table.popitem(last=False)
    else:
        table.move_to_end(key)
    return found


def run(
    code: bytes,
    tensors: list[Any],
    numbers: list[float],
    recorded: list[Any] | None = None,
    wanted: set[int] | None = None,
) -> bool | None:
    """Run a segment compiled; False where the native core has to run it operator by operator.

    The code is what the native core makes of a structure. Where that is not known, None asks for the records.
    """
    if not Settings.sights:
        return False
    with _lock:
        family = _entry(_families, code, Family)
        program = family.known(numbers)
        if program is None and not family.refused:
            if recorded is None or wanted is None:
                return None
            records = [Record(*one) for one in recorded if one[4]]
            key = Key(records, wanted)
            program = family.program(key, records, _entry(_outlines, key.outline, Outline))
        if program is None:
            return False
        try:
            program(tensors, numbers)
        except Exception:
            return False  # operator by operator, whose error names the line
    return True


def forget() -> None:
    """Drop all programs."""
    with _lock:
        _families.clear()
        _outlines.clear()
