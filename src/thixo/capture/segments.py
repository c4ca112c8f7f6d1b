"""Recorded segments as graphs: found by their structure, compiled, kept.

The native core hands over a segment as it was recorded. Its key says everything but the data: operators, arguments,
which windows of which memory they read and write, and which of it somebody still holds. Numbers are part of it until they
change; then they are inputs. The first time a structure comes it runs operator by operator. When it comes again it is
recorded once more, on symbolic tensors, and becomes a program.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.windows import Window, looker
from thixo.device import cpu
from thixo.dtype import DType
from thixo.graph.ir import Graph, Type
from thixo.graph.operators import call_arguments
from thixo.graph.trace import Trace
from thixo.graph.typing import pointwise_type
from thixo.ops import public as tx
from thixo.runtime.executor import executor
from thixo.runtime.kept import optimized
from thixo.tensor import tensor

MOST_FAMILIES = 512  # structures that are remembered
MOST_MEMBERS = 4  # programs of one structure, by its numbers
LEAST = 2  # operators that are worth a program


class Settings:
    """What tests and measurements change."""

    sights = 2  # a structure is compiled when it comes for this time; 0: never
    strict = False  # what cannot be compiled raises, in place of running operator by operator


class NotCompiled(Exception):
    """This segment runs operator by operator."""


class Record(NamedTuple):
    """A call as the native core recorded it."""

    op: Any
    slots: tuple[Any, ...]
    results: tuple[Any, ...]
    writes: bool
    needed: bool


# ---- keys


class Key:
    """A segment without its data: what tells its structure from others, its tensors and its numbers in order."""

    def __init__(self, records: Sequence[Record], wanted: set[int]) -> None:
        self.tensors: list[Any] = []
        self.numbers: list[float] = []
        self._memories: dict[int, int] = {}
        parts: list[Any] = []
        for record in records:
            op = record.op
            parts.append(op)
            parts.append(record.writes)
            pointwise = op.kind == "pointwise"
            for param, a in zip(op.sig.params, record.slots, strict=True):
                if pointwise and a.__class__ is float and param.kind == "operand":
                    self.numbers.append(a)
                    parts.append(float)
                else:
                    self._add(parts, a)
            for t in record.results:
                self._add(parts, t)
        parts.append(tuple(wanted_here(self._memories, wanted)))
        self.structure = tuple(parts)

    def _add(self, parts: list[Any], a: Any) -> None:
        kind = a.__class__
        if kind is _core.Tensor:
            memory, offset, sizes, strides = _core.lazy_window(a)
            self.tensors.append(a)
            number = self._memories.setdefault(memory, len(self._memories))
            parts.append((number, offset, sizes, strides, a.dtype))
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


def wanted_here(memories: dict[int, int], wanted: set[int]) -> list[int]:
    """The numbers of the memories that somebody outside holds."""
    return [number for memory, number in memories.items() if memory in wanted]


# ---- recorded once more, on symbolic tensors


class Given(NamedTuple):
    """Where an input comes from: a tensor of the segment by its place, the memory around one, or a number."""

    place: int
    hull: Window | None = None
    number: DType | None = None

    def of(self, key: Key) -> Any:
        """The tensor to feed."""
        if self.number is not None:
            return tensor(key.numbers[self.place], dtype=self.number)
        if self.hull is None:
            return key.tensors[self.place]
        return tx.as_strided(
            key.tensors[self.place], self.hull.sizes, self.hull.strides, self.hull.offset
        )


class Tracing:
    """One segment while it becomes a graph."""

    def __init__(self, records: Sequence[Record], wanted: set[int], changing: set[int]) -> None:
        self.wanted = wanted
        self.changing = changing  # places of numbers that are inputs
        self.trace = Trace("segment")
        self.trace.cuts = False
        self.trace.source = "lazy"  # where it is looked at means nothing
        self.inputs: list[Given] = []
        self.made: list[int] = []  # place of the tensor that each output is
        self._boxes: dict[Window, Any] = {}
        self._roots: dict[int, Window] = {}
        self._outside: dict[
            int, dict[Window, int]
        ] = {}  # memory from outside: its windows, their places
        self._places: dict[Window, int] = {}  # of what is made
        self._number = 0
        self._survey(records)
        enabled = _core.set_grad_enabled(False)
        try:
            with self.trace:
                for record in records:
                    self._replay(record)
                self._give(records)
        finally:
            _core.set_grad_enabled(enabled)
        self.graph = self.trace.finish()
        by_value = dict(zip(self.graph.inputs, self.inputs, strict=True))
        self.changed = [by_value[v] for v in self.graph.mutations]

    def _survey(self, records: Sequence[Record]) -> None:
        """Where tensors stand, and which memory comes from outside and is written."""
        made: set[int] = set()
        touched: dict[int, dict[Window, int]] = {}
        written: set[int] = set()
        place = 0
        for record in records:
            for t in _tensors(record.slots):
                window = window_of(t)
                if window.memory not in made:
                    touched.setdefault(window.memory, {}).setdefault(window, place)
                place += 1
            if record.writes:
                written.add(window_of(record.slots[0]).memory)
            for t in record.results:
                window = window_of(t)
                made.add(window.memory)
                self._places[window] = place
                place += 1
        for memory, windows in touched.items():
            self._outside[memory] = windows
            if memory in written:
                self._roots[memory] = _root_of(windows)

    # ---- windows and boxes

    def _box(self, t: Any) -> Any:
        window = window_of(t)
        found = self._boxes.get(window)
        if found is not None:
            return found
        root = self._roots.get(window.memory)
        if root is None:
            root = window  # memory that nobody writes: each window of it is an input
        if root not in self._boxes:
            self._input(root)
        if window not in self._boxes:
            look = looker(root, window)
            if look is None:
                raise NotCompiled
            self._boxes[window] = look(self._boxes[root])
        return self._boxes[window]

    def _input(self, window: Window) -> None:
        windows = self._outside[window.memory]
        if window in windows:
            self.inputs.append(Given(windows[window]))
        else:
            self.inputs.append(Given(next(iter(windows.values())), hull=window))
        name = f"x{len(self.inputs)}"
        self._boxes[window] = self.trace.input(name, Type(window.dtype, window.sizes, cpu))

    def _symbolic(self, a: Any) -> Any:
        if isinstance(a, _core.Tensor):
            return self._box(a)
        if isinstance(a, list | tuple):
            return type(a)(self._symbolic(one) for one in a)
        return a

    # ---- records

    def _replay(self, record: Record) -> None:
        op = record.op
        slots = []
        compute: DType | None = None
        for param, a in zip(op.sig.params, record.slots, strict=True):
            if op.kind == "pointwise" and a.__class__ is float and param.kind == "operand":
                place = self._number
                self._number += 1
                if place in self.changing:
                    if compute is None:
                        compute = pointwise_type(op, record.slots).compute
                    slots.append(self._number_input(place, compute))
                    continue
            slots.append(self._symbolic(a))
        if record.writes:
            self.trace.aliases.write(op, slots)
            return
        positional, named = call_arguments(op, slots)
        made = op.operator(*positional, **named)
        boxes = [made] if isinstance(made, _core.Tensor) else list(made)
        for t, box in zip(record.results, boxes, strict=True):
            window = window_of(t)
            self._roots[window.memory] = window
            self._boxes[window] = box

    def _number_input(self, place: int, dtype: DType) -> Any:
        if not (dtype.is_floating_point or dtype.is_complex):
            raise NotCompiled
        box = self.trace.input(f"s{len(self.inputs)}", Type(dtype, (), cpu))
        self.inputs.append(Given(place, number=dtype))
        return box

    def _give(self, records: Sequence[Record]) -> None:
        for record in records:
            for t in record.results:
                window = window_of(t)
                if window.memory in self.wanted or not record.op.total:
                    self.trace.output(self._boxes[window])
                    self.made.append(self._places[window])


def window_of(t: Any) -> Window:
    """Where a tensor lies."""
    memory, offset, sizes, strides = _core.lazy_window(t)
    return Window(memory, offset, sizes, strides, t.dtype)


def _tensors(a: Any) -> list[Any]:
    if isinstance(a, _core.Tensor):
        return [a]
    if isinstance(a, list | tuple):
        return [t for one in a for t in _tensors(one)]
    return []


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _root_of(windows: dict[Window, int]) -> Window:
    """A window in which all of them can be seen: one of them, or all elements from the first to the last."""
    first = min(w.offset for w in windows)
    last = max(w.offset + _reach(w) for w in windows)
    any_one = next(iter(windows))
    hull = any_one._replace(offset=first, sizes=(last - first + 1,), strides=(1,))
    for root in (*sorted(windows, key=lambda w: -_count(w.sizes)), hull):
        if not _overlaps(root) and all(looker(root, w) is not None for w in windows):
            return root
    raise NotCompiled


def _reach(window: Window) -> int:
    return sum((n - 1) * s for n, s in zip(window.sizes, window.strides, strict=True))


def _overlaps(window: Window) -> bool:
    return any(n > 1 and s == 0 for n, s in zip(window.sizes, window.strides, strict=True))


# ---- programs


class Compiled:
    """A segment's program, and where its inputs come from and its results go."""

    def __init__(
        self, key: Key, records: Sequence[Record], wanted: set[int], changing: set[int]
    ) -> None:
        traced = Tracing(records, wanted, changing)
        self.fixed = {i: x for i, x in enumerate(key.numbers) if i not in changing}
        self.inputs = traced.inputs
        self.made, self.changed = traced.made, traced.changed
        graph: Graph = traced.graph
        graph.verify()
        self.run = executor(optimized(graph), "sunk")

    def fits(self, numbers: Sequence[float]) -> bool:
        """Whether the numbers that it was compiled with are these."""
        return all(_same(numbers[i], x) for i, x in self.fixed.items())

    def __call__(self, key: Key) -> None:
        """Run it on a segment's tensors."""
        found = self.run([one.of(key) for one in self.inputs])
        count = len(self.made)
        for one, result in zip(self.changed, found[count:], strict=True):
            one.of(key).data.copy_(result)  # past the version, which the recording has moved on
        for place, result in zip(self.made, found[:count], strict=True):
            _core.lazy_fulfil(key.tensors[place], result)


def _same(a: float, b: float) -> bool:
    return (a == b and str(a) == str(b)) or (a != a and b != b)


class Family:
    """Segments of one structure."""

    def __init__(self) -> None:
        self.sights = 0
        self.members: list[Compiled] = []
        self.numbers: list[float] | None = None
        self.changing: set[int] = set()
        self.refused = False

    def look(self, key: Key, records: Sequence[Record], wanted: set[int]) -> Compiled | None:
        """The program for a segment; None where it runs operator by operator."""
        for one in self.members:
            if one.fits(key.numbers):
                return one
        self.sights += 1
        if self.numbers is not None:
            pairs = zip(self.numbers, key.numbers, strict=True)
            self.changing.update(i for i, (a, b) in enumerate(pairs) if not _same(a, b))
        self.numbers = key.numbers
        if self.refused or not Settings.sights or self.sights < Settings.sights:
            return None
        try:
            made = Compiled(key, records, wanted, self.changing)
        except Exception:
            self.refused = True
            if Settings.strict:
                raise
            return None
        self.members = [made, *self.members[: MOST_MEMBERS - 1]]
        return made


_families: OrderedDict[Any, Family] = OrderedDict()
_lock = threading.RLock()


def run(recorded: list[Any], wanted: set[int]) -> bool:
    """Run a segment compiled; False where the native core has to run it operator by operator."""
    records = [Record(*one) for one in recorded if one[4]]
    if len(records) < LEAST:
        return False
    key = Key(records, wanted)
    with _lock:
        family = _families.get(key.structure)
        if family is None:
            family = _families[key.structure] = Family()
            if len(_families) > MOST_FAMILIES:
                _families.popitem(last=False)
        else:
            _families.move_to_end(key.structure)
        program = family.look(key, records, wanted)
        if program is None:
            return False
        try:
            program(key)
        except Exception:
            return False  # operator by operator, whose error names the line
    return True


def forget() -> None:
    """Drop all programs."""
    with _lock:
        _families.clear()
