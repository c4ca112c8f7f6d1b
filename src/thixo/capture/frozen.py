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
from thixo.graph.constants import as_array
from thixo.graph.ir import Graph
from thixo.graph.sizes import symbols_in

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
    versions: list[int]
    run: Run


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
        seen = {look.place for look in function._results.looks if not look.computed}
        self.places = [
            i
            for i, (value, path) in enumerate(zip(graph.inputs[first:], paths, strict=True), first)
            # Numbers change, and what is returned, or seen by what is returned, is the caller's own.
            if not isinstance(path, Scalar)
            and i not in seen
            and not any(symbols_in(s) for s in value.type.shape)
        ]
        frozen = set(self.places)
        self._left = [i for i in range(len(graph.inputs)) if i not in frozen]
        self._state: _State | None = None

    def __call__(self, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, int]]:
        """The outputs, and the sizes that are asked for."""
        if _core.is_grad_enabled() and any(t.requires_grad for t in tensors):
            return self._others(tensors)
        found = [tensors[i] for i in self.places]
        versions = [t._version for t in found]
        state = self._state
        if (
            state is None
            or state.versions != versions
            or any(a is not b for a, b in zip(state.tensors, found, strict=True))
        ):
            state = self._state = self._made(found, versions)
        return state.run([tensors[i] for i in self._left])

    def _made(self, tensors: list[Any], versions: list[int]) -> _State:
        old, made = self._graph, Graph(self._graph.name)
        made.inputs = [old.inputs[i] for i in self._left]
        made.constants = dict(old.constants)
        for i, tensor in zip(self.places, tensors, strict=True):
            made.constants[old.inputs[i]] = array = np.array(as_array(tensor))
            array.flags.writeable = False
        made.nodes, made.guards = list(old.nodes), list(old.guards)
        made.outputs = list(old.outputs)
        made._names = dict(old._names)
        return _State(tensors, versions, GraphFunction(made, sizes=self._sizes).with_sizes)
