"""A graph on the tape: a node that keeps what its way back needs, and compiled programs for both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.capture.halves import Backward, Halves
from thixo.capture.reached import Flags
from thixo.capture.sized import Sized
from thixo.errors import InplaceError, describe
from thixo.graph.control import draws
from thixo.graph.ir import Graph
from thixo.graph.trace import untraced
from thixo.ops import public as tx
from thixo.random import default_generator
from thixo.runtime.executor import Executor, executor
from thixo.runtime.kept import optimized

Function = Callable[[Sequence[Any]], list[Any]]


class Program:
    """A graph, optimised and compiled when it is first called.

    >>> graph = tx.jit.trace(lambda x: x + 1, tx.ones(2)).graph
    >>> Program(graph)([tx.ones(3)])
    [tensor([2., 2., 2.])]
    """

    def __init__(
        self,
        graph: Graph,
        run_by: str | type[Executor] = "sunk",
        budget: int | float | None = None,
    ) -> None:
        self.graph = graph
        self._run_by = run_by
        self._budget = budget
        self._executor: Any = None
        self.quick: Any = _fits_nothing  # the last native program; None where inputs do not fit

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """What the graph gives for these inputs."""
        found: list[Any] | None = self.quick(given)
        if found is not None:
            return found
        with untraced():
            if self._executor is None:
                options = {"writes": True} if self.graph.mutations else {}
                if self._run_by == "sunk":
                    self._executor = Sized(self.graph, self._budget, **options)
                else:
                    self._executor = executor(optimized(self.graph), self._run_by, **options)
            found = self._executor(given)
        self.quick = next(
            (p.run for p in getattr(self._executor, "programs", ()) if p.fits(given)), self.quick
        )
        return found


def _fits_nothing(given: Sequence[Any]) -> None:
    return None


class Recorded:
    """Both directions, compiled, for one set of inputs that need gradients.

    `copied` are inputs that the tape must see written, each with the place of its new value. `compiled` makes a callable
    of a backward graph. `reached` says of results on which inputs they depend, where branches decide (`reached.py`).
    """

    def __init__(
        self,
        halves: Halves,
        copied: list[tuple[int, int]],
        run_by: str | type[Executor],
        compiled: Callable[[Graph], Function],
        reached: Sequence[Flags] = (),
    ) -> None:
        self.halves = halves
        self.copied = copied
        self._wanted, self._sized = halves.wanted, halves.sized
        self._is_fixed = halves.is_fixed
        self.name = f"{halves.graph.name}Backward"
        self._compiled = compiled
        self._forward = Program(halves.forward, run_by)
        self._ways: dict[Any, tuple[Backward, Function]] = {}
        self._whole: dict[Any, Function] = {}
        ports = {v: i for i, v in reversed(list(enumerate([*halves.results, *halves.hidden])))}
        inputs = {v: i for i, v in enumerate(halves.inputs)}
        # Where each kept value is: among the inputs, or else among what is computed.
        self._kept = [(-1, ports[v]) if v in ports else (inputs[v], -1) for v in halves.kept]
        self._which = tuple(at if at >= 0 and halves.flows[at] else -1 for _, at in self._kept)
        shown = len(halves.results)
        self._flags = tuple(flows and i < shown for i, flows in enumerate(halves.flows))
        self._new = (-1,) * len(self._flags)
        self._draws = draws(halves.graph, {})
        self._reached = [tuple(flags.get(i, False) for i in halves.wanted) for flags in reached]
        self._plan: Any = None

    def __call__(self, given: tuple[Any, ...]) -> list[Any]:
        """What the graph computes, with its history."""
        context = Context(self)
        context.node = node = _core.function_node(context, tuple([given[i] for i in self._wanted]))
        if self._sized:
            context.shapes = {i: given[i].shape for i in self._sized}
        if self._is_fixed:
            context.keep_inputs(given, self._draws)
        made = self._forward(given)
        kept = tuple([made[at] if place < 0 else given[place] for place, at in self._kept])
        _core.save_function(node, kept, self._which)
        flags = self._flags
        if self._reached:
            context.reached = found = [
                [made[f].item() if type(f) is int else f for f in each] for each in self._reached
            ]
            flags = tuple(
                [flows and (i >= len(found) or True in found[i]) for i, flows in enumerate(flags)]
            )
        _core.attach_function(node, tuple(made), flags, self._new)
        if self._is_fixed:
            context.types = [(t.shape, t.dtype) for t in made]
        return made

    # ---- without Python

    def native_plan(self) -> Any:
        """How the core records a call by itself; None where it cannot."""
        if self.copied or self._is_fixed or self._sized or self._reached:
            return None
        if self._plan is None:
            self._plan = _core.GraphPlan(self, self._wanted, self._kept, self._which, self._flags)
        return self._plan

    def back_natively(
        self, plan: Any, kept: tuple[Any, ...], gradients: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """The gradients of such a call; the core is told what it can run the next time."""
        given = tuple([i for i, g in enumerate(gradients) if g is not None])
        way, function = self._way(given)
        values = [kept[i] for i in way.kept] + [gradients[i] for i in given]
        found = function(values)
        whole = len(found) == len(self._wanted)
        places = range(len(found)) if whole else way.wanted
        find = getattr(function, "program_for", None)
        program = find(values) if find is not None else None
        if program is not None and not _core.is_grad_enabled():
            plan.add_way([g is not None for g in gradients], way.kept, places, program)
        if whole:
            return tuple(found)
        placed = dict(zip(places, found, strict=True))
        return tuple([placed.get(i) for i in range(len(self._wanted))])

    # ---- the way back

    def back(self, context: Context, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """The gradients by the inputs that were asked for; None where there are none."""
        found = self._all_back(context, gradients)
        if not context.reached:
            return found
        parts = [
            context.reached[i]
            for i, g in enumerate(gradients[: len(context.reached)])
            if g is not None
        ]
        if any(g is not None for g in gradients[len(context.reached) :]):
            return found  # of gradients: what is inside counts too
        return tuple([g if any(p[i] for p in parts) else None for i, g in enumerate(found)])

    def _all_back(self, context: Context, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        given = tuple([i for i, g in enumerate(gradients) if g is not None])
        kept = _core.load_function(context.node)
        if self._is_fixed and (given != self.halves.all_given or _core.is_grad_enabled()):
            if _core.is_grad_enabled() or context.unchanged():
                return self._from_inputs(context, gradients, given)
            gradients = self._with_zeros(context, gradients)
            given = self.halves.all_given
        way, function = self._way(given)
        values = [kept[i] for i in way.kept]
        for i in way.sizes:
            values.append(_of_size(context.shapes[i], self.halves.inputs[i].type.dtype))
        values += [gradients[i] for i in given]
        found = function(values)
        if len(found) == len(self._wanted):
            return tuple(found)
        placed = dict(zip(way.wanted, found, strict=True))
        return tuple([placed.get(i) for i in range(len(self._wanted))])

    def _way(self, given: tuple[int, ...]) -> tuple[Backward, Function]:
        found = self._ways.get(given)
        if found is None:
            with untraced():
                way = self.halves.backward(given)
            found = self._ways.setdefault(given, (way, self._compiled(way.graph)))
        return found

    def _from_inputs(
        self, context: Context, gradients: tuple[Any, ...], given: tuple[int, ...]
    ) -> tuple[Any, ...]:
        """With all computed once more: what loops and branches kept serves one set of results, and first gradients only."""
        function = self._whole.get(given)
        if function is None:
            with untraced():
                graph = self.halves.whole(given)
            function = self._whole.setdefault(given, self._compiled(graph))
        inputs = context.inputs()
        state = default_generator._get()
        if context.state is not None:
            default_generator._set(*context.state)  # the numbers that were drawn then
        try:
            return tuple(function([*inputs, *[gradients[i] for i in given]]))
        finally:
            if context.state is not None:
                default_generator._set(*state)

    def _with_zeros(self, context: Context, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        found = list(gradients)
        for i in self.halves.all_given:
            if found[i] is None:
                shape, dtype = context.types[i]
                found[i] = tx.zeros(tuple(shape), dtype=dtype)
        return tuple(found)


def _of_size(shape: Sequence[int], dtype: Any) -> Any:
    """A tensor of which only the size matters, in the memory of one element."""
    return tx.expand(tx.zeros((), dtype=dtype), tuple(shape))


class Context:
    """What one node of the tape holds besides what the tape keeps for it."""

    __slots__ = ("_inputs", "_name", "_recorded", "node", "reached", "shapes", "state", "types")

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._name = recorded.name
        self.node: Any = None
        self.shapes: dict[int, Any] = {}
        self.types: list[Any] = []
        self.reached: list[list[bool]] = []  # on which inputs each result depends
        self.state: tuple[int, int] | None = None  # of the generator, before the call
        self._inputs: list[tuple[Any, int]] = []

    def _run_backward(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        return self._recorded.back(self, gradients)

    def keep_inputs(self, given: Sequence[Any], draws: bool) -> None:
        """Remember from what all can be computed once more."""
        self._inputs = [(t, t._version) for t in given]
        if draws:
            self.state = default_generator._get()

    def unchanged(self) -> bool:
        """Whether all inputs are what they were."""
        return all(t._version == version for t, version in self._inputs)

    def inputs(self) -> list[Any]:
        """The inputs as they were."""
        for tensor, version in self._inputs:
            if tensor._version != version:
                raise InplaceError(
                    f"backward of {self._name}: an input, {describe(tensor)}, was overwritten in place, and the "
                    "gradient of its gradient needs what it was; clone it before the write"
                )
        return [t for t, _ in self._inputs]
