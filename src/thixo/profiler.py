"""Where time goes: every operator call, step of backward and range of your own, on all threads.

>>> x = tx.ones(4, 3, requires_grad=True)
>>> with tx.profiler.profile() as prof:
...     with tx.profiler.record_function("loss"):
...         y = (x * 2).sum()
...     y.backward()
>>> [(e.key, e.count) for e in prof.key_averages() if e.key in ("loss", "sum")]
[('loss', 1), ('sum', 1)]

`print(prof.table())` shows a table, `prof.export_chrome_trace("trace.json")` writes a file for chrome://tracing or
ui.perfetto.dev. While no profiler runs, an operator pays for the test of one flag.
"""

import contextlib
import enum
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

from thixo import _core
from thixo.errors import ArgumentError, ThixoError, ValueRangeError, describe

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerActivity",
    "TimeRange",
    "profile",
    "record_function",
]

_KINDS = ("operator", "backward", "range")


class ProfilerActivity(enum.Enum):
    """What can be profiled: the CPU.

    >>> tx.profiler.profile(activities=[tx.profiler.ProfilerActivity.CPU]).events()
    []
    """

    CPU = 0


class TimeRange(NamedTuple):
    """Start and end of an event, in microseconds of a clock that never goes back."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """Microseconds from start to end."""
        return self.end - self.start


@dataclass(eq=False)
class FunctionEvent:
    """One call of an operator, one step of backward, or one range that `record_function` named."""

    name: str
    kind: str  # operator, backward or range
    is_backward: bool  # it is a step of backward, or ran inside one
    thread: int  # threads are numbered by their first event
    time_range: TimeRange
    cpu_memory_usage: int = (
        0  # bytes in use at its end less those at its start, with profile_memory
    )
    input_shapes: tuple[tuple[int, ...], ...] = ()  # of its tensors, with record_shapes
    cpu_parent: "FunctionEvent | None" = field(default=None, repr=False)
    cpu_children: "list[FunctionEvent]" = field(default_factory=list, repr=False)

    @property
    def key(self) -> str:
        """The name, by which averages are made."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from its start to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """The same, without the time of events inside of it."""
        return self.cpu_time_total - sum(c.cpu_time_total for c in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Its bytes, without those of events inside of it."""
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)


@dataclass
class FunctionEventAvg:
    """All events of one name: how many, and how long together."""

    key: str
    input_shapes: tuple[tuple[int, ...], ...] = ()
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds of one of them, on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent) -> None:
        """Count one more; what runs inside an event of the same name is in that one's total already."""
        self.count += 1
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        outer = event.cpu_parent
        while outer is not None and outer.name != event.name:
            outer = outer.cpu_parent
        if outer is None:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage


_COLUMNS = {
    "cpu_time_total": "CPU total",
    "self_cpu_time_total": "Self CPU",
    "cpu_time": "CPU time avg",
    "cpu_memory_usage": "CPU Mem",
    "self_cpu_memory_usage": "Self CPU Mem",
    "count": "# of Calls",
}


class EventList(list[Any]):
    """Events, or their averages."""

    def key_averages(self, group_by_input_shape: bool = False) -> "EventList":
        """Events of one name (and, if asked for, of the same input shapes) taken together.

        >>> with tx.profiler.profile(record_shapes=True) as prof:
        ...     a, b = tx.ones(2) + 1, tx.ones(3) + 1
        >>> found = prof.events().key_averages(group_by_input_shape=True)
        >>> [e.input_shapes for e in found if e.key == "add"]
        [((2,),), ((3,),)]
        """
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else ()
            found.setdefault((event.name, shapes), FunctionEventAvg(event.name, shapes)).add(event)
        return EventList(found.values())

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds that all of them took."""
        return float(sum(e.self_cpu_time_total for e in self))

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """As a table, the largest first by a column such as `self_cpu_time_total`, `cpu_time_total` or `count`.

        >>> with tx.profiler.profile() as prof:
        ...     y = tx.ones(3).exp()
        >>> print(prof.key_averages().table(sort_by="count", row_limit=1).split()[0])
        Name
        """
        if sort_by is not None and sort_by not in _COLUMNS:
            raise ValueRangeError(
                f"table: sort_by is {describe(sort_by)}; one of {', '.join(_COLUMNS)} is needed"
            )
        rows = list(self)
        if rows and isinstance(rows[0], FunctionEvent):
            rows = list(self.key_averages())
        if sort_by is not None:
            rows.sort(key=lambda e: getattr(e, sort_by), reverse=True)
        return _table(rows, row_limit, self.self_cpu_time_total)


def _table(rows: Sequence[FunctionEventAvg], limit: int, total: float) -> str:
    names = [
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "# of Calls",
    ]
    with_memory = any(r.cpu_memory_usage or r.self_cpu_memory_usage for r in rows)
    with_shapes = any(r.input_shapes for r in rows)
    names += ["CPU Mem", "Self CPU Mem"] * with_memory + ["Input Shapes"] * with_shapes
    lines = [names]
    for r in rows[:limit]:
        line = [
            r.key,
            _share(r.self_cpu_time_total, total),
            _time(r.self_cpu_time_total),
            _share(r.cpu_time_total, total),
            _time(r.cpu_time_total),
            _time(r.cpu_time),
            str(r.count),
        ]
        if with_memory:
            line += [_bytes(r.cpu_memory_usage), _bytes(r.self_cpu_memory_usage)]
        if with_shapes:
            line.append(str([list(s) for s in r.input_shapes]))
        lines.append(line)
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]

    def shown(line: list[str]) -> str:
        first = line[0].ljust(widths[0])
        return "  ".join([first, *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])

    rule = "  ".join("-" * w for w in widths)
    body = [shown(line).rstrip() for line in lines]
    return "\n".join([body[0], rule, *body[1:], rule, f"Self CPU time total: {_time(total)}"])


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "0.00%"


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _bytes(count: int) -> str:
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"


class profile:  # noqa: N801  (PyTorch's name, as the next one)
    """Record what runs inside a `with` block, or from `start()` to `stop()`, on every thread.

    `record_shapes` keeps the shapes of operators' tensors, `profile_memory` how much memory they took. One profiler
    can run at a time. Threads that kernels use inside an operator are part of its time.

    >>> with tx.profiler.profile(record_shapes=True) as prof:
    ...     y = tx.ones(2, 3).exp()
    >>> [e.input_shapes for e in prof.events() if e.name == "exp"]
    [((2, 3),)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
    ) -> None:
        for activity in activities or ():
            if not isinstance(activity, ProfilerActivity):
                raise ArgumentError(
                    f"profile: an activity is {describe(activity)}; ProfilerActivity.CPU is needed"
                )
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self._events = EventList()
        self._running = False

    def start(self) -> None:
        """Record from now on."""
        if not _core.profiler_start(self.record_shapes, self.profile_memory):
            raise ThixoError(
                "profile: a profiler is running already; one at a time can, so stop that one first"
            )
        self._running = True

    def stop(self) -> None:
        """Record no more; the events are there."""
        if not self._running:
            raise ThixoError("profile: this profiler is not running; start() it first")
        self._running = False
        self._events = EventList(_nested(_core.profiler_stop()))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def events(self) -> EventList:
        """Every event, in the order of their starts."""
        return EventList(self._events)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Events of one name taken together; see `EventList.key_averages`."""
        return self._events.key_averages(group_by_input_shape)

    def table(self, sort_by: str | None = "self_cpu_time_total", row_limit: int = 100) -> str:
        """The averages as a table, what costs most first.

        >>> with tx.profiler.profile() as prof:
        ...     y = tx.ones(3).exp()
        >>> prof.table().splitlines()[-1].startswith("Self CPU time total: ")
        True
        """
        return self.key_averages().table(sort_by, row_limit)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events for chrome://tracing, or ui.perfetto.dev.

        >>> with tx.profiler.profile() as prof:
        ...     y = tx.ones(3).exp()
        >>> prof.export_chrome_trace("trace.json")
        """
        process = os.getpid()
        found = []
        for e in self._events:
            args: dict[str, Any] = {"backward": e.is_backward}
            if self.record_shapes:
                args["Input Dims"] = e.input_shapes
            if self.profile_memory:
                args["Bytes"] = e.cpu_memory_usage
            found.append(
                {
                    "ph": "X",
                    "name": e.name,
                    "cat": e.kind,
                    "ts": e.time_range.start,
                    "dur": e.cpu_time_total,
                    "pid": process,
                    "tid": e.thread,
                    "args": args,
                }
            )
        with open(path, "w") as file:
            json.dump({"displayTimeUnit": "ms", "traceEvents": found}, file)


def _nested(rows: list[Any]) -> list[FunctionEvent]:
    """Events from what the core wrote down, each with those inside of it."""
    # Of two that start and end together the outer one ends later, and so comes later in its thread's rows.
    order = sorted(range(len(rows)), key=lambda i: (rows[i][3], rows[i][4], -rows[i][5], -i))
    events: list[FunctionEvent] = []
    open_events: list[FunctionEvent] = []
    for i in order:
        name, kind, backward, thread, start, end, size, shapes = rows[i]
        time = TimeRange(start / 1e3, end / 1e3)
        event = FunctionEvent(name, _KINDS[kind], backward, thread, time, size, shapes)
        while open_events and (
            open_events[-1].thread != thread or open_events[-1].time_range.end < time.end
        ):
            open_events.pop()
        if open_events:
            event.cpu_parent = open_events[-1]
            open_events[-1].cpu_children.append(event)
        open_events.append(event)
        events.append(event)
    return sorted(events, key=lambda e: e.time_range.start)


class record_function(contextlib.ContextDecorator):  # noqa: N801
    """Give a block of code, or a function, a name in the profile.

    >>> @tx.profiler.record_function("square")
    ... def square(x):
    ...     return x * x
    >>> with tx.profiler.profile() as prof:
    ...     y = square(tx.ones(2))
    >>> [(e.name, len(e.cpu_children)) for e in prof.events() if e.kind == "range"]
    [('square', 1)]
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"record_function: name is {describe(name)}; a str is needed")
        self.name = name
        self._open: list[Any] = []

    def _recreate_cm(self) -> Self:  # a decorated function may run on several threads at once
        return type(self)(self.name)

    def __enter__(self) -> Self:
        self._open.append(_core.profiler_range(self.name))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._open.pop()  # the range ends with its last reference
