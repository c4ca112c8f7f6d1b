"""The executor that passes tokens: dataflow with frames.

The graph is lowered to a flat dataflow graph (dataflow.py). A vertex runs when all its inputs have come, on whichever thread
is free; so branches, frames and iterations that do not need each other run at the same time. The work of passing
tokens is done under one lock; operators run outside of it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from thixo import _core
from thixo.errors import GraphError, at_line
from thixo.graph.interpret import EagerBackend, GuardError, Interpreter
from thixo.graph.ir import Graph, Value, map_values, values_in
from thixo.runtime.base import Executor, fresh, inner_values
from thixo.runtime.dataflow import Dataflow, Loop, Vertex, lower
from thixo.symbolic import Dim
from thixo.tensor import from_numpy
from thixo.threads import get_num_threads

ITERATIONS = 16  # of one frame that may be under way at a time

_BACKEND = EagerBackend()


class _Dead:
    def __repr__(self) -> str:
        return "dead"


DEAD = _Dead()  # the token that says that nothing will come


class Iteration:
    """One turn of a frame: what has come for vertices that still wait."""

    __slots__ = ("children", "frame", "number", "outstanding", "waiting")

    def __init__(self, frame: Frame, number: int) -> None:
        self.frame = frame
        self.number = number
        self.waiting: dict[Vertex, list[Any]] = {}  # [tokens to come, whether one is dead, tokens]
        self.outstanding = 0  # operators under way, and frames inside
        self.children: dict[Loop, Frame] = {}


class Frame:
    """One run of a loop."""

    def __init__(self, loop: Loop | None, parent: Iteration | None) -> None:
        self.loop = loop
        self.parent = parent
        self.entering = loop.enters if loop is not None else 0
        self.oldest = 0
        self.iterations: dict[int, Iteration] = {}
        self.staying: list[tuple[Vertex, Any]] = []  # what every iteration gets
        self.held: dict[int, list[tuple[Vertex, Any]]] = {}  # for iterations that may not begin yet


class Frames(Executor):
    """Passes tokens through the dataflow graph, on several threads.

    >>> from thixo.graph import parse
    >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = mul(x, x)\\n  return y\\n}")
    >>> Frames(graph)([tx.tensor([1.0, 2.0, 3.0])])
    [tensor([1., 4., 9.])]
    """

    name = "frames"

    def __init__(self, graph: Graph, *, threads: int | None = None, **options: Any) -> None:
        super().__init__(graph, **options)
        self.threads = threads
        self.dataflow = lower(graph)
        for vertex in self.dataflow.vertices:
            if vertex.kind == "constant":
                vertex.extra = _as_tensor(vertex.extra)
        self._interpreter = Interpreter(graph, "eager")

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Run it."""
        checked = copy(self._interpreter)
        checked.sizes = {}
        graph = self.graph
        checked.need_inputs(inputs)
        given = [checked.backend.input(x, v) for x, v in zip(inputs, graph.inputs, strict=True)]
        checked._bind_inputs(dict(zip(graph.inputs, given, strict=True)))
        checked._check(checked._guards_at.get(-1, ()))
        results = _Run(self.dataflow, given, self.threads or get_num_threads()).run()
        taken = [t for t in (*given, *graph.constants.values()) if isinstance(t, _core.Tensor)]
        return fresh(results, taken)

    def inner(self, values: Sequence[Value | str], inputs: Sequence[Any]) -> list[Any]:
        """Run it and give inner values too."""
        wider = copy(self.graph)
        wider.outputs = [*wider.results(), *inner_values(self.graph, values)]
        wider.mutations = {}
        return Frames(wider, threads=self.threads)(inputs)


class _Run:
    """One call: tokens under way."""

    def __init__(self, dataflow: Dataflow, inputs: Sequence[Any], threads: int) -> None:
        self.dataflow = dataflow
        self.threads = threads
        self.changed = threading.Condition()
        self.ready: deque[tuple[Vertex, Iteration, list[Any]]] = deque()
        self.moving: deque[tuple[Vertex, int, Any, Iteration]] = deque()
        self.running = 0
        self.idle = 0
        self.helpers: list[threading.Thread] = []
        self.error: tuple[int, BaseException] | None = None
        self.finished = False
        self.results: dict[Vertex, Any] = {}
        self.touched: dict[Frame, None] = {}  # in which iterations may have ended
        root = Frame(None, None)
        self.root = root.iterations[0] = Iteration(root, 0)
        self.inputs = inputs

    def run(self) -> list[Any]:
        """The results, in order."""
        try:
            with self.changed:
                for vertex, value in zip(self.dataflow.inputs, self.inputs, strict=True):
                    self._emit(vertex, [value], self.root)
                for vertex in self.dataflow.vertices:
                    if not vertex.inputs and vertex.kind != "input":
                        self._fire(vertex, self.root, [])
                self._settle()
            self._work()
        except BaseException as error:
            self._fail(None, error)
        for helper in self.helpers:
            helper.join()
        if self.error is not None:
            raise self.error[1]
        return [self.results[v] for v in self.dataflow.vertices if v.kind == "result"]

    # ---- threads

    def _work(self) -> None:
        """Take what is ready until nothing is left, or something failed."""
        enabled = _core.set_grad_enabled(False)
        try:
            while True:
                with self.changed:
                    while not self.ready and self.running and not self.finished:
                        self.idle += 1
                        self.changed.wait()
                        self.idle -= 1
                    if self.finished or self.error is not None or not self.ready:
                        self.finished = True
                        self.changed.notify_all()
                        return
                    vertex, iteration, given = self.ready.popleft()
                    self.running += 1
                    self._ask_for_help()
                try:
                    made = _compute(vertex, given)
                except BaseException as error:
                    self._fail(vertex, error)
                    return
                with self.changed:
                    self._emit(vertex, made, iteration)
                    iteration.outstanding -= 1
                    self.touched[iteration.frame] = None
                    self._settle()
                    self.running -= 1
                    if self.idle and (self.ready or not self.running):
                        self.changed.notify_all()
        finally:
            _core.set_grad_enabled(enabled)

    def _ask_for_help(self) -> None:
        if not self.ready:
            return
        if self.idle:
            self.changed.notify()
        elif len(self.helpers) + 1 < self.threads:
            helper = threading.Thread(target=self._help, daemon=True)
            self.helpers.append(helper)
            helper.start()

    def _help(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._fail(None, error)

    def _fail(self, vertex: Vertex | None, error: BaseException) -> None:
        """Keep the error of the earliest vertex, and let everybody stop."""
        place = -1 if vertex is None else vertex.number
        if vertex is not None and vertex.node is not None and isinstance(error, Exception):
            at_line(error, vertex.node.source)
        with self.changed:
            if self.error is None or place < self.error[0]:
                self.error = (place, error)
            self.running -= 1
            self.finished = True
            self.changed.notify_all()

    # ---- tokens; all of this under the lock

    def _emit(self, vertex: Vertex, values: Sequence[Any], iteration: Iteration) -> None:
        for targets, value in zip(vertex.targets, values, strict=True):
            for target, slot in targets:
                self.moving.append((target, slot, value, iteration))

    def _dead(self, vertex: Vertex, iteration: Iteration) -> None:
        self._emit(vertex, [DEAD] * vertex.outputs, iteration)

    def _settle(self) -> None:
        """Move tokens and end iterations until nothing is left to do but to compute."""
        self._move()
        while self.touched:
            self._retire(self.touched.popitem()[0])

    def _move(self) -> None:
        """Bring tokens to their vertices until all wait or are ready."""
        while self.moving:
            vertex, slot, value, iteration = self.moving.popleft()
            kind = vertex.kind
            if kind == "enter":
                self._enter(vertex, value, iteration)
            elif kind == "exit":
                if value is not DEAD and iteration.frame.parent is not None:
                    self._emit(vertex, [value], iteration.frame.parent)
            elif kind == "next":
                if value is not DEAD:
                    self._next(vertex, value, iteration)
            elif kind == "merge":
                self._merge(vertex, value, iteration)
            else:
                self._gather(vertex, slot, value, iteration)

    def _gather(self, vertex: Vertex, slot: int, value: Any, iteration: Iteration) -> None:
        """Wait until every input has come; then fire, or pass on that nothing will come."""
        state = iteration.waiting.get(vertex)
        if state is None:
            count = len(vertex.inputs)
            state = iteration.waiting[vertex] = [count, False, [None] * count]
        state[0] -= 1
        if value is DEAD:
            state[1] = True
        else:
            state[2][slot] = value
        if state[0]:
            return
        del iteration.waiting[vertex]
        if state[1]:
            self._dead(vertex, iteration)
        else:
            self._fire(vertex, iteration, state[2])

    def _fire(self, vertex: Vertex, iteration: Iteration, given: list[Any]) -> None:
        kind = vertex.kind
        if kind in ("number", "constant"):
            value = vertex.extra
            self._emit(vertex, [value], iteration)
        elif kind == "result":
            self.results[vertex] = given[0]
        elif kind == "append":
            self._emit(vertex, [(given[0], given[1:])], iteration)
        elif kind == "increment":
            self._emit(vertex, [given[0] + 1], iteration)
        elif kind == "below":
            self._emit(vertex, [given[0] < given[1]], iteration)
        elif kind == "switch":
            way = _way(given[1], vertex.outputs)
            self._emit(
                vertex, [given[0] if i == way else DEAD for i in range(vertex.outputs)], iteration
            )
        else:  # takes time, or may fail
            iteration.outstanding += 1
            self.ready.append((vertex, iteration, given))

    def _merge(self, vertex: Vertex, value: Any, iteration: Iteration) -> None:
        if vertex.extra == "loop":
            self._emit(vertex, [value], iteration)
            return
        state = iteration.waiting.setdefault(vertex, [len(vertex.inputs), True, None])
        state[0] -= 1
        if value is not DEAD:
            state[1] = False
            self._emit(vertex, [value], iteration)
        if not state[0]:
            del iteration.waiting[vertex]
            if state[1]:
                self._dead(vertex, iteration)

    # ---- frames

    def _enter(self, vertex: Vertex, value: Any, outside: Iteration) -> None:
        loop = vertex.loop
        assert loop is not None
        if value is DEAD:
            # A loop's values are all dead or none is: one of them speaks for the loop.
            if vertex.extra == "leads":
                for one in loop.exits:
                    self._dead(one, outside)
            return
        frame = outside.children.get(loop)
        if frame is None:
            frame = outside.children[loop] = Frame(loop, outside)
            outside.outstanding += 1
            frame.iterations[0] = Iteration(frame, 0)
        frame.entering -= 1
        self.touched[frame] = None
        if vertex.extra == "stays":
            frame.staying.append((vertex, value))
            for iteration in frame.iterations.values():
                self._emit(vertex, [value], iteration)
        else:
            self._emit(vertex, [value], frame.iterations[0])

    def _next(self, vertex: Vertex, value: Any, iteration: Iteration) -> None:
        frame, number = iteration.frame, iteration.number + 1
        if number - frame.oldest >= ITERATIONS:
            frame.held.setdefault(number, []).append((vertex, value))
        else:
            self._emit(vertex, [value], self._iteration(frame, number))

    def _iteration(self, frame: Frame, number: int) -> Iteration:
        found = frame.iterations.get(number)
        if found is None:
            found = frame.iterations[number] = Iteration(frame, number)
            for vertex, value in frame.staying:
                self._emit(vertex, [value], found)
        return found

    def _retire(self, frame: Frame) -> None:
        """Let go of iterations, then of the frame, in which nothing is left to do."""
        if frame.loop is None or frame.entering:
            return
        while frame.oldest in frame.iterations and not frame.iterations[frame.oldest].outstanding:
            del frame.iterations[frame.oldest]
            frame.oldest += 1
            newest = frame.oldest + ITERATIONS - 1
            for vertex, value in frame.held.pop(newest, ()):
                self._emit(vertex, [value], self._iteration(frame, newest))
            self._move()
        if not frame.iterations and frame.parent is not None:
            parent = frame.parent
            if parent.children.pop(frame.loop, None) is not None:
                parent.outstanding -= 1
                self.touched[parent.frame] = None


# ---- what vertices compute


def _as_tensor(data: Any) -> Any:
    if isinstance(data, np.ndarray | np.generic):
        return from_numpy(np.array(data))
    return data


def _compute(vertex: Vertex, given: list[Any]) -> Sequence[Any]:
    kind, extra = vertex.kind, vertex.extra
    if kind == "op":
        return _apply(vertex, given)
    if kind == "at":
        x, count, length = given
        return [x[length - 1 - count if extra else count]]
    if kind == "size":
        size, found = extra
        return [size.evaluate(found.read(given))]
    if kind == "stack":
        return [_stack(given, *extra)]
    assert kind == "guard", kind
    guard, found, name = extra
    sizes = found.read(given)
    if not guard.holds(sizes):
        raise GuardError(
            guard, f"graph {name}: it was traced where {guard}, which does not hold here"
        )
    return []


def _way(chosen: Any, ways: int) -> int:
    """Which output of a switch a decision means: truth is the first, a number is itself, or else the last."""
    if isinstance(chosen, bool) or chosen.dtype.short == "bool":
        return 0 if chosen else 1
    number = int(chosen)
    return number if 0 <= number < ways else ways - 1


def _apply(vertex: Vertex, given: list[Any]) -> Sequence[Any]:
    node = vertex.node
    assert node is not None
    names = list(values_in(node.args))
    values = dict(zip(names, given, strict=False))
    sizes = vertex.extra.read(given)

    def fill(a: Any) -> Any:
        if isinstance(a, Dim):
            return a.evaluate(sizes)
        if isinstance(a, tuple | list):
            return type(a)(map(fill, a))
        return map_values(a, values.__getitem__)

    args = [fill(a) for a in node.args]
    if (
        node.op.kind == "control"
    ):  # an effect: it has no graphs inside, and needs nobody to run them
        made = node.op.run(None, None, *args)
    else:
        made = list(_BACKEND.apply(node, args))
    if len(made) != len(node.outputs):
        raise GraphError(
            f"{node.op.full_name} gave {len(made)} results in place of {len(node.outputs)}"
        )
    return [*made, None] if vertex.outputs > len(made) else made


def _stack(given: list[Any], column: int, reverse: bool, sizes: Any, type: Any) -> Any:
    """What was appended turn by turn, along a new first axis."""
    chain, rows = given[0], []
    while chain is not None:
        chain, row = chain
        rows.append(row[column])
    if not reverse:
        rows.reverse()
    if rows:
        return _BACKEND.stack(rows)
    known = sizes.read(given)
    shape = [s.evaluate(known) if isinstance(s, Dim) else s for s in type.shape[1:]]
    return _BACKEND.empty([0, *shape], type.dtype)
