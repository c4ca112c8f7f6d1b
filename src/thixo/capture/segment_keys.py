"""Recorded segments without their data: their outline, which has no sizes, and the sizes beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.windows import Window


class Record(NamedTuple):
    """A call as the native core recorded it."""

    op: Any
    slots: tuple[Any, ...]
    results: tuple[Any, ...]
    writes: bool
    needed: bool


class Key:
    """What a segment does: its outline, and in order its windows on memory, whole numbers and other numbers."""

    def __init__(self, records: Sequence[Record], wanted: set[int]) -> None:
        self.windows: list[Window] = []
        self.ints: list[int] = []
        self.numbers: list[float] = []
        self._memories: dict[int, int] = {}  # in the order in which they come
        parts: list[Any] = []
        for record in records:
            op = record.op
            parts.append(op)
            parts.append(record.writes)
            for param, a in zip(op.sig.params, record.slots, strict=True):
                if is_number(op, param, a):
                    self.numbers.append(a)
                    parts.append(float)
                else:
                    self._add(parts, a)
            for t in record.results:
                self._add(parts, t)
        held = [number for memory, number in self._memories.items() if memory in wanted]
        parts.append(tuple(held))
        self.wanted = frozenset(held)
        self.outline = tuple(parts)

    def _add(self, parts: list[Any], a: Any) -> None:
        kind = a.__class__
        if kind is _core.Tensor:
            memory, offset, sizes, strides = _core.lazy_window(a)
            number = self._memories.setdefault(memory, len(self._memories))
            self.windows.append(Window(number, offset, sizes, strides, a.dtype))
            parts.append((number, len(sizes), a.dtype))
        elif kind is int:
            self.ints.append(a)
            parts.append(int)
        elif kind is tuple or kind is list:
            parts.append((kind, len(a)))
            for one in a:
                self._add(parts, one)
        elif kind is float:
            parts.append(a.hex())
        elif kind is complex:
            parts.append((a.real.hex(), a.imag.hex()))
        elif kind is slice:
            parts.append((kind, a.start, a.stop, a.step))
        else:
            parts.append(kind)
            parts.append(a)


def is_number(op: Any, param: Any, a: Any) -> bool:
    """Whether an argument is a number beside tensors, which may as well be an input."""
    return a.__class__ is float and op.kind == "pointwise" and param.kind == "operand"


def same_number(a: float, b: float) -> bool:
    """Whether two numbers are one, signs of zeros included."""
    return (a == b and str(a) == str(b)) or (a != a and b != b)
