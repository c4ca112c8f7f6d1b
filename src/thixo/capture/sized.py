"""Programs of a graph with symbolic sizes: the sizes that come first get a graph of their own.

Most functions are called with the same sizes for ever, and where sizes are numbers more can be one kernel: what is summed to
one number where that is small, and what meets in loops and branches, whose graphs name their sizes anew. Other sizes share one graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo.errors import ThixoError
from thixo.graph.control import graphs_in
from thixo.graph.ir import Graph, Node, values_in
from thixo.graph.sizes import symbol_name
from thixo.graph.specialise import specialise
from thixo.passes.groups import SMALL
from thixo.runtime.executor import executor
from thixo.runtime.kept import optimized
from thixo.symbolic import Dim

MOST = 300  # nodes of a graph without loops and branches: larger ones have larger kernels


class Sized:
    """An executor of a graph that knows which sizes came first.

    >>> graph = tx.jit.trace(lambda x: (x * x).sum(), tx.ones(2)).graph
    >>> run = Sized(graph)
    >>> run([tx.ones(3)]), run([tx.ones(4)]), len(run.programs)
    ([tensor(3.)], [tensor(4.)], 2)
    """

    def __init__(self, graph: Graph, budget: int | float | None = None, **options: Any) -> None:
        self._graph = graph
        self._budget = budget  # of memory
        # Steps side by side take some memory.
        self._options = options if budget is None else {**options, "side_by_side": False}
        self._places = _places(graph)
        self._first: dict[str, int] | None = None  # the sizes that came first, and what runs them
        self._special: Any = None
        self._general: Any = None

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """Run it."""
        found: list[Any] = self._for(given)(given)
        return found

    @property
    def graph(self) -> Graph:
        """The graph that ran first, after all passes."""
        found: Graph = (self._special or self._general).graph
        return found

    @property
    def programs(self) -> list[Any]:
        """The native programs that were made so far and are kept."""
        return [
            p for one in (self._special, self._general) if one is not None for p in one.programs
        ]

    @property
    def _room(self) -> int:
        return max(one._room for one in (self._special, self._general) if one is not None)

    def _for(self, given: Sequence[Any]) -> Any:
        sizes = self._sizes(given)
        if self._first is None and sizes:
            self._first = sizes
            self._special = self._made_for(sizes)
        if self._special is not None and sizes == self._first:
            return self._special
        if self._general is None:
            self._general = self._made(self._graph)
        return self._general

    def _sizes(self, given: Sequence[Any]) -> dict[str, int]:
        """What the sizes are; none where inputs are not what the graph takes, which it says itself."""
        try:
            sizes = {name: given[i].shape[axis] for name, (i, axis) in self._places.items()}
            for value, tensor in zip(self._graph.inputs, given, strict=True):
                known = tuple(
                    s.evaluate(sizes) if isinstance(s, Dim) else s for s in value.type.shape
                )
                if tensor.dtype is not value.type.dtype or tuple(tensor.shape) != known:
                    return {}
        except (LookupError, AttributeError, ThixoError, ValueError):
            return {}
        return sizes

    def _made_for(self, sizes: dict[str, int]) -> Any:
        if not _pays(self._graph, sizes):
            return None
        try:
            return self._made(specialise(self._graph, sizes, inside=True))
        except Exception:  # without it the graph runs too, and says itself what is wrong
            return None

    def _made(self, graph: Graph) -> Any:
        return executor(optimized(graph, budget=self._budget), "sunk", **self._options)


def _places(graph: Graph) -> dict[str, tuple[int, int]]:
    """Where the inputs say the sizes."""
    found: dict[str, tuple[int, int]] = {}
    for i, value in enumerate(graph.inputs):
        for axis, size in enumerate(value.type.shape):
            name = symbol_name(size)
            if name is not None:
                found.setdefault(name, (i, axis))
    return found


def _pays(graph: Graph, sizes: dict[str, int]) -> bool:
    """Whether numbers in place of sizes lead to other kernels."""
    if any(True for node in graph.nodes for _ in graphs_in(node)):
        return True
    return len(graph.nodes) <= MOST and any(_is_small_sum(node, sizes) for node in graph.nodes)


def _is_small_sum(node: Node, sizes: dict[str, int]) -> bool:
    if getattr(node.op, "rows", None) is None or any(v.type.ndim for v in node.outputs):
        return False
    return all(_elements(v.type.shape, sizes) <= SMALL for v in values_in(node.args))


def _elements(shape: Sequence[Any], sizes: dict[str, int]) -> int:
    total = 1
    for size in shape:
        known = size.substitute(sizes) if isinstance(size, Dim) else size
        if isinstance(known, Dim):
            return SMALL + 1  # the data decide it
        total *= known
    return total
