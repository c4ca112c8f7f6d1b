"""The graphs of one compiled function: which serves a call, when one more is captured, and when that is given up.

A call belongs to a kind: dtypes and ranks of its tensors, values of all else (`script.kinds_of`). Of a kind there may be several
graphs, since each assumes something of globals, closures and attributes. What was refused is not tried again for its kind,
and for no kind once one cause has come up some times; the number of graphs is bounded. All that has no graph runs lazily.
"""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from thixo import _core
from thixo.capture import captured as capturing
from thixo.capture.captured import Captured, capture_call
from thixo.capture.compile_backends import BackendError, Compiled, runner
from thixo.capture.compile_reasons import why
from thixo.capture.debug import named
from thixo.capture.frozen import frozen
from thixo.capture.open_numbers import OpenNumber, OpenNumbers
from thixo.capture.refusal import Refused, refusal_of_raised
from thixo.capture.rerun import Failed, changing_nothing
from thixo.capture.script import kinds_of
from thixo.dtype import get_default_dtype
from thixo.errors import user_line
from thixo.graph import effects
from thixo.graph.control import draws, subgraphs
from thixo.progress import task
from thixo.schedule.donations import can_fail

LIMIT = 32  # graphs of one function
BRANCHES = 500  # that may be traced for one graph
PATIENCE = 3  # times that one cause is met, or that a graph fails, before it is given up


class Options(NamedTuple):
    """What `tx.compile` was told."""

    fullgraph: bool
    dynamic: bool | None
    backend: Any
    verify: bool = False
    debug: bool = False
    freeze: bool = False
    budget: int | float | None = None  # of memory


@dataclass
class Break:
    """Something that was not captured, so that calls run lazily."""

    construct: str
    reason: str
    remedy: str
    line: str | None
    count: int = 1  # kinds of calls that it stopped
    error: Any = field(default=None, repr=False)

    def __str__(self) -> str:
        text = f"{self.line or 'unknown line'}: {self.construct}: {self.reason}"
        return f"{text}; {self.remedy}" if self.remedy else text


@dataclass
class Recompile:
    """Why there is one graph more."""

    reason: str
    line: str | None  # of the call

    def __str__(self) -> str:
        return f"{self.line or 'unknown line'}: {self.reason}"


class Entry:
    """One graph with what runs it."""

    def __init__(self, captured: Captured, options: Options) -> None:
        self.captured = captured
        self.calls = 0
        self.failures = 0
        self.run = runner(captured.graph, captured.sizes, options.backend, options.budget)
        if options.freeze and isinstance(self.run, Compiled):
            own = (captured.graph, captured.paths, self.run.function, captured.sizes)
            self.run = frozen(*own, others=self.run)
        self.draws = draws(captured.graph, {})
        every = [n for g in (captured.graph, *subgraphs(captured.graph)) for n in g.nodes]
        self.says = any(n.op in (effects.SAY, effects.SHOW) for n in every)
        self.may_fail = any(map(can_fail, captured.graph.nodes))
        self._lock: Any = threading.RLock()  # until it has run once
        _new.add(self)

    def __call__(self, args: Any, kwargs: Any) -> Any:
        """Run it. Raises Failed where nothing has been changed and Python has to do it."""
        lock = self._lock
        if lock is None:
            return self._called(args, kwargs)
        with lock, task(f"compiling {self.captured.graph.name}"):
            result = self._called(args, kwargs)
        self._lock = None
        _new.discard(self)
        return result

    def _called(self, args: Any, kwargs: Any) -> Any:
        captured = self.captured
        tensors = captured.inputs(args, kwargs)
        captured.need_own_memory(tensors)
        with changing_nothing(self.draws, BackendError):
            outputs, sizes = self.run(tensors)
        self.calls += 1
        return captured.finished(args, kwargs, tensors, outputs, sizes)


def _without_end() -> Refused:
    return Refused(
        "an argument",
        "it contains itself, or is nested too deeply to look at",
        "pass the parts",
        user_line(),
    )


@dataclass
class Kind:
    """Calls that are alike in all that can be told from their arguments."""

    entries: list[Entry] = field(default_factory=list)
    broken: bool = False


class Graphs:
    """All that is known of one function."""

    def __init__(self, function: Any, name: str, options: Options) -> None:
        self.function = function
        self.name = name
        self.options = options
        self.kinds: dict[Any, Kind] = {}
        self.breaks: list[Break] = []
        self.recompiles: list[Recompile] = []
        self.given_up: str | None = None  # why nothing more is captured
        self.lazy_calls = 0
        self.numbers = OpenNumbers()
        self._lock = threading.RLock()

    @property
    def entries(self) -> list[Entry]:
        """All graphs, as they came."""
        return [e for kind in list(self.kinds.values()) for e in kind.entries]

    def find(self, args: Any, kwargs: Any) -> Entry | None:
        """The graph for a call, captured if need be; None if the call is to run lazily."""
        try:
            key = self._key(args, kwargs)
        except RecursionError:
            self._note_break(Kind(), _without_end())
            return None
        kind = self.kinds.get(key)
        if kind is not None:
            for entry in kind.entries:
                if entry.captured.fits(args, kwargs):
                    return entry
            if kind.broken and not self.options.fullgraph:
                return None
        if self.given_up and not self.options.fullgraph:
            return None
        with _forking, self._lock:
            return self._captured(key, args, kwargs)

    def _key(self, args: Any, kwargs: Any) -> Any:
        kinds = kinds_of(*self.numbers.kind(args, kwargs))
        return (kinds, get_default_dtype(), _core.is_inference_mode())

    def _captured(self, key: Any, args: Any, kwargs: Any) -> Entry | None:
        kind = self.kinds.setdefault(key, Kind())
        for entry in kind.entries:
            if entry.captured.fits(args, kwargs):  # another thread was first
                return entry
        if kind.broken and not self.options.fullgraph:
            return None
        entries = self.entries
        if len(entries) >= LIMIT:
            self.given_up = f"it has {LIMIT} graphs, and this call needs another one"
            return None
        if self.options.dynamic is not False:
            before = self.numbers.open
            self.numbers.look(args, kwargs, [e.captured for e in kind.entries])
            if self.numbers.open != before:
                key = self._key(args, kwargs)
                kind = self.kinds.setdefault(key, Kind())
        known = [k for k, one in self.kinds.items() if one.entries]
        reason = why(self.function, known, key, kind.entries, args, kwargs)
        try:
            with task(f"capturing {self.name}"):
                if self.options.verify or self.options.debug:
                    made, variables = named(lambda: self._capture(args, kwargs))
                    made.variables = variables
                else:
                    made = self._capture(args, kwargs)
        except Refused as refusal:
            self._note_break(kind, refusal)
            return None
        except Exception as error:
            # It raises, or capture itself is at fault: Python says which.
            if self.options.fullgraph:
                self.function(*args, **kwargs)  # its own error, which knows the sizes
            raised = refusal_of_raised(error)
            self._note_break(kind, raised)
            return None
        if entries:
            self.recompiles.append(Recompile(reason, user_line()))
        entry = Entry(made, self.options)
        kind = self.kinds.setdefault(self._key(args, kwargs), Kind())
        if any(isinstance(p, OpenNumber) for p in made.paths):  # it serves more calls than others
            kind.entries = [entry, *kind.entries]
        else:
            kind.entries = [*kind.entries, entry]
        return entry

    def _capture(self, args: Any, kwargs: Any) -> Captured:
        """With symbolic sizes where that works; else for these sizes, since some programs depend on them."""
        made: Captured | None = None
        if self.numbers.open:
            try:
                return self._checked(
                    capture_call(self.function, args, kwargs, most=BRANCHES, open=self.numbers.open)
                )
            except (Refused, Exception):  # without them it may do, and raises again if it does
                self.numbers.shut()
        if self.options.dynamic is not False:
            try:
                made = capture_call(self.function, args, kwargs, most=BRANCHES)
            except (Refused, Exception):  # it may have needed a size where a number was wanted
                if self.options.dynamic:
                    raise
        if made is None:
            made = capture_call(self.function, args, kwargs, fixed=True, most=BRANCHES)
        return self._checked(made)

    def _checked(self, made: Captured) -> Captured:
        if made.makes_leaves:
            raise Refused(
                "requires_grad_()", "a graph makes no leaves of a tape", "call it outside of what is compiled"
            )  # fmt: skip
        return made

    def _note_break(self, kind: Kind, refusal: Refused) -> None:
        kind.broken = True
        for known in self.breaks:
            if (known.construct, known.line) == (refusal.construct, refusal.line):
                known.count += 1
                if known.count >= PATIENCE:
                    self.given_up = f"{PATIENCE} kinds of calls met the same cause"
                break
        else:
            known = Break(refusal.construct, refusal.reason, refusal.remedy, refusal.line)
            if len(self.breaks) < LIMIT:
                self.breaks.append(known)
            else:
                self.given_up = f"{LIMIT} causes stopped it"
        if self.options.fullgraph:
            raise refusal.error(self.name, "compile")

    def failed(self, entry: Entry, failure: Failed) -> bool:
        """A graph's call was left to Python: one that does so often is dropped. Whether it was."""
        entry.failures += 1
        if entry.failures < PATIENCE or entry.calls > 8 * entry.failures:
            return False
        with self._lock:
            for kind in self.kinds.values():
                if entry in kind.entries:
                    kind.entries = [e for e in kind.entries if e is not entry]
                    kind.broken = True
        self.breaks.append(Break("a graph", str(failure), "", entry.captured.graph.name))
        return True


# A fork waits until nobody captures: a child has one thread, which would wait for the others' locks for ever.
_forking = threading.RLock()
_new: weakref.WeakSet[Entry] = weakref.WeakSet()  # graphs that have not run to the end yet


def _take() -> None:
    _forking.acquire()
    capturing._lock.acquire()


def _give() -> None:
    capturing._lock.release()
    _forking.release()


def _give_in_child() -> None:
    _give()
    for entry in list(_new):
        if entry._lock is not None:
            entry._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give, after_in_child=_give_in_child)
