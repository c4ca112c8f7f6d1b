"""The executor that sinks a whole graph into one native program.

A program is made for the sizes and strides of the inputs that come, and kept: the next call with such inputs enters
native code once. `Sunk.bind` gives that program itself, for callers to whom a microsecond matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from thixo import _core
from thixo.graph.control import room, room_needed
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Value
from thixo.progress import task
from thixo.runtime.base import Executor, inner_values
from thixo.runtime.batch import Batch
from thixo.runtime.group_kernels import Kernels
from thixo.runtime.program import Binding, Context
from thixo.schedule import schedule
from thixo.schedule.collecting import without_collecting
from thixo.schedule.plan import Plan
from thixo.schedule.scheduled import Schedule

KEPT = 16  # programs of one graph, those that were used last
KEPT_INNER = 16  # sets of inner values that were asked for


class _Given(list[Any]):
    """Inputs that were looked at, and the sizes that they have."""

    sizes: dict[str, int]


class Sunk(Executor):
    """One native program for each kind of inputs.

    >>> from thixo.graph import parse
    >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = mul(x, x)\\n  return y\\n}")
    >>> Sunk(graph)([tx.tensor([1.0, 2.0, 3.0])])
    [tensor([1., 4., 9.])]
    """

    name = "sunk"
    parallel = False  # whether steps that do not wait for each other run at once

    def __init__(
        self,
        graph: Graph,
        *,
        poisoned: bool = False,
        writes: bool = False,
        side_by_side: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(graph, **options)
        self.side_by_side = side_by_side  # small steps that do not wait for each other
        self.writes = writes  # what the graph changes is written here, and is no result
        self._poisoned = poisoned
        self._room = room_needed(graph)
        self._schedule: Schedule | None = None
        self._kernels = Kernels()
        self._programs: list[Any] = []  # used last, first
        self._inside: dict[
            int, Sunk
        ] = {}  # of graphs in nodes that meet sizes which the data decide
        self._wider: dict[tuple[Value, ...], Sunk] = {}

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Run it."""
        if self._room:
            with room(self._room):
                return self._run(inputs)
        return self._run(inputs)

    def prepare(self, inputs: Sequence[Any]) -> None:
        """Make the program for inputs like these, if there is none."""
        with room(self._room):
            self._kept(self._checked(inputs))

    def _run(self, inputs: Sequence[Any]) -> list[Any]:
        for program in self._programs:
            results = program.run(inputs)
            if results is not None:
                return results
        return self._first(inputs)

    def bind(self, inputs: Sequence[Any]) -> Any:
        """A callable for inputs like these, one argument each; others are served too, not as fast.

        >>> from thixo.graph import parse
        >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = neg(x)\\n  return y\\n}")
        >>> Sunk(graph).bind([tx.ones(2)])(tx.tensor([1.0, -2.0]))
        [tensor([-1.,  2.])]
        """
        with room(self._room):
            return self._make(self._checked(inputs))

    def plan(self, inputs: Sequence[Any]) -> Plan:
        """The plan of a call with inputs like these, with what the program needs besides; nothing runs yet.

        >>> from thixo.graph import parse
        >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = neg(x)\\n  return y\\n}")
        >>> Sunk(graph).plan([tx.ones(2)]).needs
        {'arena': 0, 'prepared': 0, 'scratch': 0}
        """
        with room(self._room):
            given = self._checked(inputs)
            program = self._kept(given)
        found = copy((self._schedule or schedule(self.graph)).bind(given.sizes))
        found.needs = program.memory
        return found

    def inner(self, values: Sequence[Value | str], inputs: Sequence[Any]) -> list[Any]:
        """Run it and give inner values too."""
        key = tuple(inner_values(self.graph, values))
        wider = self._wider.get(key)
        if wider is None:
            graph = copy(self.graph)
            graph.outputs = [*graph.results(), *key]
            graph.mutations = {}
            wider = type(self)(graph, poisoned=self._poisoned, side_by_side=self.side_by_side)
            if len(self._wider) >= KEPT_INNER:
                self._wider.pop(next(iter(self._wider)))
            self._wider[key] = wider
        return wider(inputs)

    @property
    def programs(self) -> list[Any]:
        """The native programs that were made so far and are kept."""
        return list(self._programs)

    # ---- inputs of a new kind

    def _checked(self, inputs: Sequence[Any]) -> _Given:
        """The inputs as tensors; errors say which of them is wrong."""
        checker = Interpreter(self.graph, "eager")
        checker.need_inputs(inputs)
        given = _Given(
            checker.backend.input(x, v) for x, v in zip(inputs, self.graph.inputs, strict=True)
        )
        checker._bind_inputs(dict(zip(self.graph.inputs, given, strict=True)))
        given.sizes = checker.sizes
        return given

    def _kept(self, given: _Given) -> Any:
        """The program for these inputs, made now if there is none."""
        for program in self._programs:
            if program.fits(given):
                return program
        return self._new(given)

    def _new(self, given: _Given) -> Any:
        program = self._make(given)
        self._programs = [program, *self._programs[: KEPT - 1]]
        return program

    def _first(self, inputs: Sequence[Any]) -> list[Any]:
        given = self._checked(inputs)
        for program in self._programs:  # they may have been arrays
            results = program.run(given)
            if results is not None:
                return results
        program = self._new(given)
        results = program.run(given)
        assert results is not None
        return results

    def _make(self, given: _Given) -> Any:
        with task(f"compiling graph {self.graph.name}"), without_collecting():
            return self._made(given)

    def _made(self, given: _Given) -> Any:
        if self._schedule is None and not self.parallel:
            self._schedule = schedule(self.graph, self.side_by_side)
        enabled = _core.set_grad_enabled(False)
        try:
            with Batch() as batch:
                while True:
                    context = Context(
                        self._run_inside, self._kernels, self._schedule, self.parallel
                    )
                    context.sizes = given.sizes
                    bound = Binding(self.graph, given, context, self.parallel, self.writes)
                    if not batch.finish():  # nothing was left out for want of a kernel
                        break
            program = bound.program
        finally:
            _core.set_grad_enabled(enabled)
        program.fallback = self._others
        program.poisoned = self._poisoned
        return program

    def _others(self, *inputs: Any) -> list[Any]:
        return self(inputs)

    def _run_inside(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        one = self._inside.get(id(graph))
        if one is None:
            one = self._inside[id(graph)] = type(self)(graph)
        return one(inputs)


class Ready(Sunk):
    """The same program, its steps run as soon as what they need is there, several at once on the thread pool.

    Of the steps that are ready the one with the longest way to the end goes first. Cheap ones are run by the thread that
    made them ready; those that need Python by the thread that called.

    >>> from thixo.graph import parse
    >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[n] = mul(x, x)\\n  return y\\n}")
    >>> Ready(graph)([tx.tensor([1.0, 2.0, 3.0])])
    [tensor([1., 4., 9.])]
    """

    name = "ready"
    parallel = True
