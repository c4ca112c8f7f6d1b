"""A recorded segment as a graph: recorded once more, on symbolic tensors.

With a second segment of the same outline, which had other sizes, the sizes that differ are symbols. What both had is taken
to hold for others: numbers that followed a size are expressions of it. `Served` has all that was taken for granted, and
says of a third segment whether it holds there too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture.segment_keys import Key, Record, is_number
from thixo.capture.windows import Step, Window, look, steps_to
from thixo.device import cpu
from thixo.dtype import DType
from thixo.graph.ir import Graph, Type
from thixo.graph.operators import call_arguments
from thixo.graph.trace import Trace
from thixo.graph.typing import pointwise_type
from thixo.ops import public as tx
from thixo.symbolic import Dim
from thixo.tensor import tensor


class NotCompiled(Exception):
    """This segment runs operator by operator."""


class Given(NamedTuple):
    """Where an input comes from: a tensor of the segment by its place, the memory around one, or a number."""

    place: int
    hull: Window | None = None
    number: DType | None = None

    def of(self, tensors: Sequence[Any], numbers: Sequence[float]) -> Any:
        """The tensor to feed."""
        if self.number is not None:
            return tensor(numbers[self.place], dtype=self.number)
        one = tensors[self.place]
        if self.hull is None:
            return one
        return tx.as_strided(one, self.hull.sizes, self.hull.strides, self.hull.offset)


class Sizes:
    """Numbers of two segments as one: where they differ, an expression of symbols."""

    def __init__(self) -> None:
        self.symbols: dict[tuple[int, int], Dim] = {}

    def of_input(self, before: int, now: int) -> Any:
        """The size of an input."""
        if before == now:
            return now
        if min(before, now) < 2:
            raise NotCompiled  # 0 and 1 mean other things than other sizes
        pair = (before, now)
        if pair not in self.symbols:
            self.symbols[pair] = Dim(f"n{len(self.symbols)}", hint=now, low=2)
        return self.symbols[pair]

    def joined(self, before: Any, now: Any) -> Any:
        """What two numbers, or two tuples of them, have in common."""
        if isinstance(now, tuple):
            return tuple(self.joined(a, b) for a, b in zip(before, now, strict=True))
        if before == now or not isinstance(now, int):
            return now
        for (a, b), size in self.symbols.items():
            if a and b and before % a == 0 and now % b == 0 and before // a == now // b:
                return size * (now // b)
        for (a, b), size in self.symbols.items():
            for (c, d), other in self.symbols.items():
                if before == a * c and now == b * d:
                    return size * other
            if before - a == now - b:
                return size + (now - b)
        raise NotCompiled


class Served(NamedTuple):
    """Which segments a graph with symbols serves."""

    inputs: list[tuple[int, tuple[Any, ...]]]  # place, sizes
    made: list[tuple[int, tuple[Any, ...]]]
    same: list[tuple[int, int]]  # places with one window
    views: list[tuple[int, int, list[Step]]]  # place, place of the whole, how it is seen there
    ints: list[Any]

    def holds(self, key: Key, guards: Sequence[Any]) -> bool:
        """Whether all that was taken for granted is so for this one."""
        sizes: dict[str, int] = {}
        for place, expected in self.inputs:
            for size, actual in zip(expected, key.windows[place].sizes, strict=True):
                if not isinstance(size, Dim):
                    if size != actual:
                        return False
                elif actual < 2 or sizes.setdefault(str(size), actual) != actual:
                    return False

        def now(a: Any) -> Any:
            if isinstance(a, tuple | list):
                return tuple(map(now, a))
            return a.evaluate(sizes) if isinstance(a, Dim) else a

        windows = key.windows
        if not all(guard.holds(sizes) for guard in guards):
            return False
        if any(now(a) != b for a, b in zip(self.ints, key.ints, strict=True)):
            return False
        if any(now(expected) != windows[place].sizes for place, expected in self.made):
            return False
        if any(windows[a] != windows[b] for a, b in self.same):
            return False
        for place, whole, steps in self.views:
            found = steps_to(windows[whole], windows[place])
            if found is None or now(found) != now(steps):
                return False
        return True


class Retrace:
    """One segment while it becomes a graph."""

    def __init__(
        self, key: Key, records: Sequence[Record], changing: set[int], other: Key | None = None
    ) -> None:
        self.key, self.other = key, other
        self.changing = changing  # places of numbers that are inputs
        self.sizes = Sizes()
        self.served = Served([], [], [], [], [])
        self.trace = Trace("segment")
        self.trace.cuts = False
        self.trace.source = "lazy"  # where it is looked at means nothing
        self.inputs: list[Given] = []
        self.made: list[int] = []  # the place of each output
        self._boxes: dict[Window, Any] = {}
        self._firsts: dict[Window, int] = {}  # where a window came first
        self._roots: dict[int, Window] = {}
        self._outside: dict[int, dict[Window, int]] = {}  # memory from outside: its windows
        self._place = self._int = self._number = 0
        self._survey(records)
        enabled = _core.set_grad_enabled(False)
        try:
            with self.trace:
                for record in records:
                    self._replay(record)
                for place in self.made:  # as they are now, after all writes
                    self.trace.output(self._boxes[key.windows[place]])
        finally:
            _core.set_grad_enabled(enabled)
        self.graph: Graph = self.trace.finish()
        by_value = dict(zip(self.graph.inputs, self.inputs, strict=True))
        self.changed = [by_value[v] for v in self.graph.mutations]

    def _survey(self, records: Sequence[Record]) -> None:
        """Where windows stand, which memory comes from outside, and in what window all of it can be seen."""
        made: set[int] = set()
        written: set[int] = set()
        place = 0
        for record in records:
            for i in range(_count_tensors(record.slots)):
                window = self.key.windows[place]
                self._firsts.setdefault(window, place)
                if window.memory not in made:
                    self._outside.setdefault(window.memory, {}).setdefault(window, place)
                if record.writes and i == 0:
                    written.add(window.memory)
                place += 1
            for _ in record.results:
                made.add(self.key.windows[place].memory)
                self._firsts.setdefault(self.key.windows[place], place)
                place += 1
        for memory, windows in self._outside.items():
            if memory in written:
                self._roots[memory] = _root_of(windows)

    # ---- windows and boxes

    def _next_box(self) -> Any:
        place = self._place
        self._place += 1
        window = self.key.windows[place]
        if window in self._boxes:
            self.served.same.append((place, self._firsts[window]))
            return self._boxes[window]
        root = self._roots.get(
            window.memory, window
        )  # of what nobody writes each window is an input
        if root not in self._boxes:
            self._input(root)
        if window not in self._boxes:
            steps = steps_to(root, window)
            if steps is None:
                raise NotCompiled
            if self.other is not None:
                steps = self._common_steps(place, self._firsts[root], steps)
            self._boxes[window] = look(self._boxes[root], steps)
        return self._boxes[window]

    def _common_steps(self, place: int, whole: int, steps: list[Step]) -> list[Step]:
        assert self.other is not None
        before = steps_to(self.other.windows[whole], self.other.windows[place])
        if before is None or [s[0] for s in before] != [s[0] for s in steps]:
            raise NotCompiled
        common = [self.sizes.joined(a, b) for a, b in zip(before, steps, strict=True)]
        self.served.views.append((place, whole, common))
        return common

    def _input(self, window: Window) -> None:
        windows = self._outside[window.memory]
        shape: tuple[Any, ...] = window.sizes
        if window in windows:
            place = windows[window]
            self.inputs.append(Given(place))
            if self.other is not None:
                before = self.other.windows[place].sizes
                shape = tuple(map(self.sizes.of_input, before, window.sizes))
                self.served.inputs.append((place, shape))
        elif self.other is None:
            self.inputs.append(Given(next(iter(windows.values())), hull=window))
        else:
            raise NotCompiled
        name = f"x{len(self.inputs)}"
        self._boxes[window] = self.trace.input(name, Type(window.dtype, shape, cpu))

    def _symbolic(self, a: Any) -> Any:
        if isinstance(a, _core.Tensor):
            return self._next_box()
        if isinstance(a, list | tuple):
            return type(a)(self._symbolic(one) for one in a)
        if a.__class__ is int:
            place = self._int
            self._int += 1
            if self.other is not None:
                a = self.sizes.joined(self.other.ints[place], a)
                self.served.ints.append(a)
        return a

    # ---- records

    def _replay(self, record: Record) -> None:
        op = record.op
        numbers: dict[int, int] = {}  # which arguments are numbers that change
        slots: list[Any] = []
        for param, a in zip(op.sig.params, record.slots, strict=True):
            if is_number(op, param, a):
                if self._number in self.changing:
                    numbers[len(slots)] = self._number
                self._number += 1
                slots.append(a)
            else:
                slots.append(self._symbolic(a))
        if numbers:
            compute = pointwise_type(op, record.slots).compute
            for at, place in numbers.items():
                slots[at] = self._number_input(place, compute)
        if record.writes:
            self.trace.aliases.write(op, slots)
            return
        positional, named = call_arguments(op, slots)
        result = op.operator(*positional, **named)
        boxes = [result] if isinstance(result, _core.Tensor) else list(result)
        for box in boxes:
            window = self.key.windows[self._place]
            self._roots[window.memory] = window
            self._boxes[window] = box
            if self.other is not None:
                self.served.made.append((self._place, tuple(box.shape)))
            if window.memory in self.key.wanted or not op.total:
                self.made.append(self._place)
            self._place += 1

    def _number_input(self, place: int, dtype: DType) -> Any:
        if not (dtype.is_floating_point or dtype.is_complex):
            raise NotCompiled
        box = self.trace.input(f"s{len(self.inputs)}", Type(dtype, (), cpu))
        self.inputs.append(Given(place, number=dtype))
        return box


def _count_tensors(a: Any) -> int:
    if isinstance(a, _core.Tensor):
        return 1
    return sum(map(_count_tensors, a)) if isinstance(a, list | tuple) else 0


def _root_of(windows: dict[Window, int]) -> Window:
    """A window in which all of them can be seen: one of them, or all elements from the first to the last."""
    first = min(w.offset for w in windows)
    last = max(w.offset + _reach(w) for w in windows)
    any_one = next(iter(windows))
    hull = any_one._replace(offset=first, sizes=(last - first + 1,), strides=(1,))
    for root in (*sorted(windows, key=lambda w: -_count(w.sizes)), hull):
        if not _overlaps(root) and all(steps_to(root, w) is not None for w in windows):
            return root
    raise NotCompiled


def _count(sizes: Sequence[int]) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _reach(window: Window) -> int:
    return sum((n - 1) * s for n, s in zip(window.sizes, window.strides, strict=True))


def _overlaps(window: Window) -> bool:
    return any(n > 1 and s == 0 for n, s in zip(window.sizes, window.strides, strict=True))
