"""The state of one capture, and the traces of its branches and loop bodies."""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import GeneratorType
from typing import Any

from thixo import _core
from thixo.capture.copies import Copies
from thixo.capture.journal import CONTAINERS, Content, Journal
from thixo.capture.past_tape import KeepingAliases, KeepingTrace, WholeTrace
from thixo.capture.refusal import Refused
from thixo.capture.values import Poison, is_partial, is_ragged
from thixo.graph import trace as tracing
from thixo.graph.alias import Aliases
from thixo.graph.body import Body
from thixo.graph.sizes import symbols_in
from thixo.graph.trace import Trace, make_symbolic, remove_dead
from thixo.guards import keep
from thixo.symbolic import Dim

DEPTH = 60  # branches inside of branches: a recursion that no graph ends
VALUES = 700_000  # that all branches together take, make and leave, where those are limited: what tracing them costs


class Capture:
    """What one capture knows: who was there before, who was made inside, what was changed."""

    def __init__(
        self, converts: bool = True, most: int | None = None, open: frozenset[Any] = frozenset()
    ) -> None:
        self.open = open  # keys of paths to numbers that are inputs
        self.converts = converts  # whether users' functions are rewritten
        self.most = most  # branches that may be traced: a recursion can have very many
        self.branches = 0
        self.values = 0  # that branches take, make and leave, of all of them together
        self.journal = Journal()
        self.sources: dict[int, tuple[Any, Any]] = {}  # id -> an object from outside, and its path
        self.ways: dict[int, list[Any]] = {}  # id -> all paths by which an object was found
        self.guards: dict[Any, Any] = {}  # what was assumed of things from outside
        self.tensors: dict[int, tuple[Any, Any]] = {}  # id -> a tensor from outside, and its path
        self.given: dict[int, tuple[Any, Any]] = {}  # id -> an argument's tensor, and its path
        self.branched: set[int] = set()  # ids of arguments' tensors that are no leaves of the tape
        self.asked_of: list[Any] = []  # tensors that requires_grad_() was called of
        self.freed: set[Any] = set()  # values that backward has gone through
        self.later: list[Any] = []  # what is done in Python after each call
        self.scheduled: dict[int, Any] = {}  # what a schedule changes after the call
        self.counts: dict[Any, Any] = {}  # which parameters of an optimizer share a count of steps
        self.scalars: dict[Any, Any] = {}  # numbers from outside that are inputs, by their path
        self.originals: dict[int, Any] = {}  # the caller's own tensors among the arguments
        self.callers: dict[int, Any] = {}  # the same by the ids of those that stand for them
        self.takes_gradients = False  # whether gradients are taken inside
        self.only_inside: str | None = None  # why gradients that are taken outside would be others
        self.undo: list[Any] = []  # what is taken back where the capture fails
        self.looked: dict[int, Any] = {}  # containers whose content has been looked at
        self.copies = Copies()  # tensors that are others for Python, or views of them
        self.created: dict[int, tuple[Any, int]] = {}  # id -> an object made inside, and when
        self.errors: dict[int, tuple[BaseException, int]] = {}  # id -> an exception, and when
        self.frozen: dict[
            int, tuple[Any, str]
        ] = {}  # objects that may not change any more, and why
        self.poisoned: dict[int, Poison] = {}
        self.merged: dict[int, Any] = {}  # references to tensors that are one of several for Python
        self.outside: dict[Any, Any] = {}  # key of a cell that was there before -> its owner's path
        self.clock = 0
        self.depth = 0
        self.iterators: dict[int, tuple[Any, int]] = {}  # made inside, and when
        self.began = 0  # when the innermost branch began
        self.asked = False  # whether requires_grad_() was called
        self.some_graded = False  # whether a tensor requires gradients on some paths only
        self.trying = 0
        self.attempts = False  # whether calls inside of try are taken apart
        self.runs_again = False  # whether the function itself runs where the graph raises
        self.nested = 0  # turns of loops that became branches
        self.switched: str | None = None  # the line that last switched a mode, past its block
        self.kept: list[Any] = []  # what must live as long as its id is used

    def made(self, x: Any) -> Any:
        """Note an object that captured code made."""
        self.clock += 1
        self.created[id(x)] = (x, self.clock)
        return x

    def made_error(self, error: BaseException) -> BaseException:
        """Note an exception that captured code made, or that Python raised there."""
        if id(error) not in self.errors:
            self.clock += 1
            self.errors[id(error)] = (error, self.clock)
        return error

    def made_iterator(self, x: Any) -> Any:
        """Note an iterator that captured code made; a generator ends when nobody else knows it any more."""
        key = id(x)
        if key not in self.iterators:
            self.clock += 1
            kept: Any = x
            if isinstance(x, GeneratorType):
                kept = weakref.ref(x, lambda _: self.iterators.pop(key, None))
            self.iterators[key] = (kept, self.clock)
        return x

    def made_since(self, x: Any, clock: int) -> bool:
        """Whether an object was made after some moment."""
        found = self.created.get(id(x)) or self.errors.get(id(x))
        return found is not None and found[0] is x and found[1] > clock

    def advancing(self, x: Any) -> None:
        """Refuse to take from an iterator that others go on with."""
        if not hasattr(type(x), "__next__") or isinstance(x, CONTAINERS):
            return
        found = self.sources.get(id(x))
        if found is not None and found[0] is x:
            raise Refused(
                "an iterator from outside",
                "where it stands is not part of a graph",
                "make it inside",
            )
        when = self.iterators.get(id(x), (None, -1))
        if self.depth and (when[0] is None or when[1] <= self.began):
            raise Refused(
                "an iterator",
                "it goes on under a tensor's condition",
                "make it there, or use a list",
            )

    def content(self, x: Any) -> Content:
        """The cell of a container's content, about to change."""
        reason = self.frozen.get(id(x))
        if reason is not None:
            raise Refused(f"a change of a {type(x).__name__}", reason[1], "change a copy, list(x)")
        self.kept.append(x)
        return Content(x, self.poisoned)

    def changing(self, x: Any, grows: bool = False) -> None:
        """Note a container before it is changed; one that grows at its end may have any elements before that."""
        self.readable(x, grows)
        self.journal.note(self.content(x))

    def readable(self, x: Any, ragged: bool = False) -> None:
        """Refuse a container whose content depends on the path in a way that no graph has."""
        if not ragged and is_ragged(x):
            raise Refused(
                "a list",
                "the data decide how long it is",
                "loop over it, stack it or return it, or use a mask",
            )
        if not ragged and is_partial(x):
            raise Refused(
                f"a {type(x).__name__}",
                "the data decide what is in it",
                "ask with in or len(), return it, or read a dict with [], get() or a loop",
            )
        if self.poisoned and isinstance(x, CONTAINERS):
            found = self.poisoned.get(id(x))
            if found is not None:
                found.refuse(f"a {type(x).__name__}")


class _Active(threading.local):
    def __init__(self) -> None:
        self.stack: list[Capture] = []


_active = _Active()


def current() -> Capture:
    """The capture of this thread."""
    if not _active.stack:
        raise Refused("a captured function", "it is called after its capture has ended")
    return _active.stack[-1]


@contextmanager
def capturing(capture: Capture) -> Iterator[None]:
    """Make a capture the current one."""
    _active.stack.append(capture)
    try:
        yield
    finally:
        _active.stack.pop()


class CaptureAliases(KeepingAliases):
    """Refuses writes that Python's views would show and copies here would not."""

    def __init__(self, trace: Any, outer: Aliases | None = None) -> None:
        super().__init__(trace, outer)
        self.handed: dict[int, Any] = {}  # what a loop carries and has gradients

    def assign(self, target: Any, result: Any) -> None:
        current().copies.written(self._root(target))
        super().assign(target, result)

    def hand(self, target: Any, value: Any) -> None:
        """What a tensor is where a turn of a loop begins: nobody wrote it."""
        root = self._root(target)
        current().copies.written(root)
        if value.requires_grad:
            self.handed[id(root)] = root
        Aliases.assign(self, target, value)

    def _is_leaf(self, root: Any) -> bool:
        """Whether it is a leaf of the tape for Python, too: an argument that was computed outside is none."""
        return super()._is_leaf(root) and id(root) not in current().branched

    def _has_history(self, tensor: Any) -> bool:
        return super()._has_history(tensor) or id(tensor) in self.handed


class InnerAliases(CaptureAliases):
    """Views of tensors from outside stay views inside."""

    def __init__(self, trace: Any, outer: Aliases) -> None:
        super().__init__(trace, outer)
        self._histories: list[tuple[Any, Any]] = []  # tensors from outside, and what they were

    def _point(self, tensor: Any, new: Any) -> None:
        if tensor._value is not None and tensor._value not in self.trace._own:
            self.trace.value_of(tensor)  # seen, so that it is taken back
            self._histories.append((tensor, self._was(tensor)))
        super()._point(tensor, new)

    def _was(self, tensor: Any) -> Any:
        was = make_symbolic(tensor._value)
        _core.become(was, tensor)
        return was

    def take_back(self) -> None:
        """Tensors from outside get the history that they had."""
        for tensor, was in reversed(self._histories):
            _core.become(tensor, was)
        self._histories = []


def node_key(op: Any, args: Any) -> Any:
    """Equal for nodes that compute the same; None for those that draw or do something."""
    if op.random or op.kind == "control":
        return None
    try:
        key = (op.full_name, _part(args))
        hash(key)
    except TypeError:
        return None
    return key


def _part(a: Any) -> Any:
    if isinstance(a, tuple | list):
        return (type(a), tuple(map(_part, a)))
    if isinstance(a, slice):
        return (slice, _part((a.start, a.stop, a.step)))
    if isinstance(a, float):
        return (float, a.hex())
    if isinstance(a, Dim):
        return (Dim, str(a))
    return (type(a), a) if isinstance(a, bool | int | str | type(None)) else (type(a), id(a))


class _Inside(KeepingTrace):
    """What the traces of a captured function, of its branches and of its loops' bodies have in common."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.numbers = {}

    def key_of(self, op: Any, args: Any) -> Any:
        return node_key(op, args)

    def way_back(self, name: str) -> Any:
        return way_back(name, self)

    def value_of(self, tensor: Any) -> Any:
        current().copies.need_fresh(tensor)
        return super().value_of(tensor)

    def concretize(self, what: str, text: str) -> None:
        _refuse_value(what, text)


class Inner(_Inside, Body):
    """The trace of a branch or a loop's body. It may be entered several times; writes to tensors are kept."""

    aliases: InnerAliases

    def __init__(self, name: str, outer: Trace) -> None:
        super().__init__(name, outer)
        self.aliases = InnerAliases(self, outer.aliases)
        self.cuts = outer.cuts
        self.written: list[tuple[Any, Any]] = []  # tensors from outside, and what they became

    def __enter__(self) -> "Inner":
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        _core.set_tracing(self._was_tracing)
        tracing._active.stack.pop()
        self._guards.__exit__(*error)

    def end(self) -> None:
        """Take writes to tensors from outside back; keep what they became."""
        for tensor, before in self._seen.values():
            if tensor._value is not before and self.aliases.record_of(tensor) is None:
                self.written.append((tensor, make_symbolic(tensor._value)))
        self.restore()
        self.aliases.take_back()

    def hand_guards_on(self) -> None:
        """What was assumed of sizes from outside is assumed there: not every body becomes a part of a node."""
        if not self.graph.guards:
            return
        expressions = {str(own): size for size, own in self._sizes.items()}
        known: set[str] = set()
        trace: Any = self
        while isinstance(trace, Body):
            trace = trace.outer
            known.update(
                n for v in trace.graph.values() for s in v.type.shape for n in symbols_in(s)
            )
        for guard in self.graph.guards:
            left, right = (
                s.substitute(expressions) if isinstance(s, Dim) else s
                for s in (guard.left, guard.right)
            )
            if {n for s in (left, right) for n in symbols_in(s)} <= known:
                keep(guard._replace(left=left, right=right))

    def finish_body(self) -> None:
        """Remove what no result needs, and say how large all sizes are."""
        graph = self.graph
        current().values += len(graph.inputs) + len(graph.nodes) + len(graph.outputs)
        remove_dead(graph)
        self.bind_sizes()


def way_back(name: str, outer: Trace) -> Any:
    """The trace of the way back of a user's Function."""
    from thixo.capture.functions import Back

    return Back(name, outer)


def need_path(capture: Capture, tensor: Any) -> None:
    """Refuse a view of a tensor from outside that no node takes: another call may find another tensor there."""
    known = capture.tensors.get(id(tensor))
    if known is not None and known[0] is tensor:
        return
    for other, path in capture.tensors.values():
        if _core.shares_memory(other, tensor):
            raise Refused(
                "a tensor", f"it is a view of {path} that was taken past the graph",
                "take it by x[...], x.view() or x.detach(), or outside of what is captured",
            )  # fmt: skip


class Outer(_Inside, WholeTrace):
    """The trace of a captured function."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.aliases = CaptureAliases(self)

    def value_of(self, tensor: Any) -> Any:
        if tensor._value is None and id(tensor) not in self.constants:
            need_path(current(), tensor)
        return super().value_of(tensor)


def _refuse_value(what: str, text: str) -> None:
    raise Refused(
        what,
        f"it needs the value of a tensor {text} while the program is captured",
        "keep it a tensor, or leave this part out of what is captured",
    )
