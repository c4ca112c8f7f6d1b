"""A graph as one node of the dynamic graph: compiled forward, compiled backward.

Where nothing needs gradients a call runs one native program. Where something does, forward and backward are differentiated
together for exactly the inputs that need gradients, cut in two (`halves.py`), compiled, and recorded on the tape as one node.
The way back is a graph that runs by the same means, so gradients of gradients follow.

Captured tensors (parameters) are handed over as inputs at each call. What the graph changes is written by the program at its
end; only where the tape must know of the write it is done by the operator `copy_`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.autodiff.reverse import Reverse
from thixo.capture.halves import Halves
from thixo.capture.reached import with_flags
from thixo.capture.recorded import Program, Recorded
from thixo.capture.results import Results
from thixo.errors import ThixoError
from thixo.graph.ir import Graph, Value
from thixo.graph.specialise import specialise
from thixo.graph.trace import untraced
from thixo.ops import public as tx
from thixo.runtime.base import Executor
from thixo.symbolic import Dim


class GraphFunction:
    """A callable of tensors that does what a graph says, as one node of the tape.

    `budget` is one of memory for what is kept for backward: bytes, or a part of what is kept without one. With `small_sizes` a size
    of 0 or 1 gets a graph of its own, which is right where no Python decided by sizes while the graph was made. `sizes` are
    names of sizes that `with_sizes` tells besides those of the inputs.

    >>> graph = tx.jit.trace(lambda x: (x * x).sum(), tx.ones(2)).graph
    >>> square = GraphFunction(graph)
    >>> x = tx.tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> (y,) = square([x])
    >>> y.backward(); y, x.grad
    (tensor(14., grad_fn=<traced...>), tensor([2., 4., 6.]))
    """

    def __init__(
        self,
        graph: Graph,
        *,
        budget: int | float | None = None,
        small_sizes: bool = False,
        sizes: Sequence[str] = (),
        run_by: str | type[Executor] = "sunk",
    ) -> None:
        self._budget = budget
        self._small_sizes = small_sizes
        self._run_by = run_by
        self._live = {v: d for v, d in graph.constants.items() if isinstance(d, _core.Tensor)}
        self._tensors = tuple(self._live.values())
        self._inputs = [*graph.inputs, *self._live]
        self._sizes = tuple(sizes)
        self._results = Results(graph, self._inputs, sizes)
        self.graph = self._results.told_apart(graph)
        self._changed = [self._inputs.index(v) for v in graph.mutations]
        self._plain: Program | None = None
        self._recorded: dict[Any, Recorded] = {}
        self._unmoved: set[Any] = set()  # sets of inputs that no result moves with
        self._special: dict[Any, GraphFunction] = {}

    def __call__(self, tensors: Sequence[Any]) -> list[Any]:
        """The graph's outputs; what it changes is changed."""
        given = (*tensors, *self._tensors)
        if _core.is_anomaly():
            return self._watched(tensors)[0]
        try:
            results, computed = self._compute(given)
        except ThixoError as error:
            self._explain(error, given)
            raise
        return results.of(computed, given)

    def with_sizes(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and what the symbolic sizes were: those of inputs, and those of `sizes` that the data decided.

        >>> graph = tx.jit.trace(lambda x: x[x > 1] + 1, tx.ones(3)).graph
        >>> (decided,) = graph.outputs[0].shape
        >>> y, sizes = GraphFunction(graph, sizes=[str(decided)]).with_sizes([tx.tensor([1.0, 2.0, 3.0])])
        >>> y, sizes["n"], sizes[str(decided)]
        ([tensor([3., 4.])], 3, 2)
        """
        given = (*tensors, *self._tensors)
        if _core.is_anomaly():
            return self._watched(tensors)
        try:
            results, computed = self._compute(given)
        except ThixoError as error:
            self._explain(error, given)
            raise
        return results.of(computed, given), results.all_sizes(computed, given)

    def _watched(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """Operator by operator, each at the user's line, for those who look for NaN."""
        from thixo.capture.debug import LineByLine

        return LineByLine(self.graph, keeps=False, finds_nan=True).called(tensors)

    def _explain(self, error: ThixoError, given: Sequence[Any]) -> None:
        """Say with which types and sizes a program failed."""
        from thixo.capture.debug import note_types

        note_types(error, self.graph, given)

    def _compute(self, given: tuple[Any, ...]) -> tuple[Results, list[Any]]:
        """What has memory of its own, and how the outputs are found there."""
        if _core.is_grad_enabled():
            needs = [t.requires_grad for t in given]
            if True in needs and (found := self._record(given, needs)) is not None:
                return found
        program = self._plain
        if program is not None:
            computed = program.quick(given)
            if computed is not None:
                return self._results, computed
        special = self._specialised(given)
        if special is not None:
            return special._compute(given)
        if program is None:
            program = self._plain = Program(self._pure(self._changed), self._run_by, self._budget)
        return self._results, program(given)

    def program_for(self, tensors: Sequence[Any]) -> Any:
        """The native program that ran without gradients for tensors like these, if its results are the outputs; else None."""
        executor = self._plain._executor if self._plain is not None else None
        if self._tensors or self._changed or not self._results.is_plain:
            return None
        if executor is None or getattr(executor, "_room", True):
            return None
        return next((p for p in executor.programs if p.fits(tensors)), None)

    def _pure(self, written: Sequence[int], more: Sequence[Value] = ()) -> Graph:
        """The graph with captured tensors as inputs; it writes the inputs at some places and gives more values."""
        old, made = self.graph, Graph(self.graph.name)
        made.inputs = list(self._inputs)
        made.constants = {v: d for v, d in old.constants.items() if v not in self._live}
        made.nodes, made.guards = list(old.nodes), list(old.guards)
        made.outputs = [*self._results.computed, *more]
        past = self._results.past
        new = {self._inputs[i]: old.mutations[self._inputs[i]] for i in written}
        made.mutations = {k: past.get(v, v) for k, v in new.items()}
        made._names = dict(old._names)
        return made

    # ---- with gradients

    def _record(
        self, given: tuple[Any, ...], needs: list[bool]
    ) -> tuple[Results, list[Any]] | None:
        """A call that the tape knows of; None where no result moves with what needs gradients."""
        key = tuple(needs)
        if key in self._unmoved:
            return None
        one = self._recorded.get(key)
        if one is None and self._moves(needs) is False:
            self._unmoved.add(key)
            return None
        if one is None:
            special = self._specialised(given)
            if special is not None:
                return special._compute(given)
            one = self._recorded.setdefault(key, self._recorder(needs))
        elif self._small_sizes and (special := self._specialised(given)) is not None:
            return special._compute(given)
        computed = one(given)
        for place, at in one.copied:
            tx.copy_(given[place], computed[at])
        return self._results, computed

    def _moves(self, needs: list[bool]) -> bool:
        """Whether gradients flow from a result, or from what is written for the tape to see."""
        wanted = [i for i, needed in enumerate(needs) if needed]
        moved = _depending(self._pure(()), wanted)
        if any(v in moved for v in self.graph.outputs):
            return True
        if any(not look.computed for look in self._results.every_look()):
            return True  # a view of an input has its history
        changed = [(i, self.graph.mutations[self._inputs[i]]) for i in self._changed]
        return any(v not in self._results.past and (v in moved or needs[i]) for i, v in changed)

    def _recorder(self, needs: list[bool]) -> Recorded:
        wanted = [i for i, needed in enumerate(needs) if needed]
        written: list[int] = []
        copied: list[int] = []
        moved = _depending(self._pure(()), wanted) if self._changed else set()
        for i in self._changed:
            new = self.graph.mutations[self._inputs[i]]
            # Past the tape: what was written under no_grad, and buffers.
            past = new in self._results.past or (new not in moved and not needs[i])
            (written if past else copied).append(i)
        more = [self.graph.mutations[self._inputs[i]] for i in copied]
        pure, flags = with_flags(self._pure(written, more), wanted)
        count = len(self._results.computed)
        lasting = range(len(self.graph.inputs), len(self._inputs))
        return Recorded(
            Halves(pure, wanted, lasting, copied, self._budget),
            [(i, count + k) for k, i in enumerate(copied)],
            self._run_by,
            lambda graph: GraphFunction(graph, run_by=self._run_by),
            flags,
        )

    # ---- sizes of 0 and 1

    def _specialised(self, given: tuple[Any, ...]) -> GraphFunction | None:
        if not self._small_sizes:
            return None
        small = {}
        for name, (i, axis) in self._results.sizes.items():
            value, tensor = self._inputs[i], given[i]
            if axis < len(tensor.shape) and tensor.shape[axis] < 2:
                size = value.type.shape[axis]
                if isinstance(size, Dim) and tensor.shape[axis] < (size.bounds[0] or 0):
                    small[name] = tensor.shape[axis]
        if not small:
            return None
        key = tuple(sorted(small.items()))
        found = self._special.get(key)
        if found is None:
            with untraced():
                graph = specialise(self.graph, small)
            made = GraphFunction(graph, budget=self._budget, sizes=self._sizes, run_by=self._run_by)
            found = self._special.setdefault(key, made)
        return found


def _depending(graph: Graph, wanted: Sequence[int]) -> set[Value]:
    return Reverse(graph, [graph.inputs[i] for i in wanted]).active
