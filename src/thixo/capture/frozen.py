"""`tx.compile(freeze=True)`: parameters and buffers as constants of a graph, while nobody writes them.

Passes then fold batch norms into the convolutions before them, and programs prepare weights once. That is for calls that need no
gradients and write nothing; all others run as without it. The core counts writes (`_version`): after one, or with another
tensor in the place of one, constants are made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thixo import _core
from thixo.capture.joint import GraphFunction
from thixo.capture.paths import Scalar
from thixo.graph.constants import as_array, type_of
from thixo.graph.ir import Graph, Value
from thixo.graph.sizes import symbols_in
from thixo.ops import public as tx

Run = Callable[[Sequence[Any]], tuple[list[Any], dict[str, int]]]


def frozen(
    graph: Graph, paths: Sequence[Any], function: GraphFunction, sizes: Sequence[str], others: Run
) -> Run:
    """What runs a graph with constants where it can have some; else `others`, which runs it as it is."""
    made = Frozen(graph, paths, function, sizes, others)
    return made if made.places and not graph.mutations else others


class _State(NamedTuple):
    """A graph with constants, and what these were made of."""

    tensors: list[Any]
    written: list[Any]
    held: list[Any]  # their memory, which thus is nobody else's
    function: GraphFunction
    mark: Any  # the last input of the function, which nothing reads

    def unwritten(self) -> Any:
        """The mark, for the native core; raises where a tensor was written since, so that Python looks."""
        if _written(self.tensors) != self.written:
            raise LookupError("a tensor was written")
        return self.mark


class Frozen:
    """Runs a graph whose inputs from outside of a call are constants; `others` runs it where they cannot be.

    `paths` say where the last inputs are found, as in `Captured`.
    """

    def __init__(
        self,
        graph: Graph,
        paths: Sequence[Any],
        function: GraphFunction,
        sizes: Sequence[str],
        others: Run,
    ) -> None:
        self._graph = graph
        self._sizes = sizes
        self._others = others
        first = len(graph.inputs) - len(paths)
        seen = {look.place for look in function._results.every_look() if not look.computed}
        self.places = [
            i
            for i, (value, path) in enumerate(zip(graph.inputs[first:], paths, strict=True), first)
            # Numbers change, and what is returned, or seen by what is returned, is the caller's own.
            if not isinstance(path, Scalar)
            and i not in seen
            and not any(symbols_in(s) for s in value.type.shape)
        ]
        frozen = set(self.places)
        self.left = [i for i in range(len(graph.inputs)) if i not in frozen]
        self.state: _State | None = None
        self.is_renewed = False  # whether there were other constants before; whoever keeps programs with these resets it

    def __call__(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes that are asked for."""
        if _core.is_grad_enabled() and any(t.requires_grad for t in tensors):
            return self._others(tensors)
        found = [tensors[i] for i in self.places]
        written = _written(found)
        state = self.state
        if (
            state is None
            or state.written != written
            or any(a is not b for a, b in zip(state.tensors, found, strict=True))
        ):
            self.is_renewed = state is not None
            state = self.state = self._made(found, written)
        return state.function.with_sizes([*[tensors[i] for i in self.left], state.mark])

    def _made(self, tensors: list[Any], written: list[Any]) -> _State:
        old, made = self._graph, Graph(self._graph.name)
        made._names = dict(old._names)
        mark = tx.zeros(())
        unread = Value(made.fresh_name("mark"), type_of(mark))
        made.inputs = [*[old.inputs[i] for i in self.left], unread]
        made.constants = dict(old.constants)
        for i, tensor in zip(self.places, tensors, strict=True):
            made.constants[old.inputs[i]] = array = np.array(as_array(tensor))
            array.flags.writeable = False
        made.nodes, made.guards = list(old.nodes), list(old.guards)
        made.outputs = list(old.outputs)
        held = [t.detach() for t in tensors]
        return _State(tensors, written, held, GraphFunction(made, sizes=self._sizes), mark)


def _written(tensors: Sequence[Any]) -> list[Any]:
    """Where tensors lie and how often that was written."""
    return [(t.data_ptr(), t._version) for t in tensors]
