"""The kernels of fused nodes, as native programs take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thixo.codegen.builder import NotLowered
from thixo.codegen.group import Group, lowered_group
from thixo.codegen.kernel import Kernel
from thixo.codegen.rowwise_walks import Stage, walks
from thixo.graph.control import ends_of
from thixo.graph.ir import Graph
from thixo.graph.sizes import symbol_name
from thixo.runtime import kernels, rows


class Kernels:
    """The kernels of fused nodes, by their bodies: made once for all sizes."""

    def __init__(self) -> None:
        self._groups: dict[int, tuple[Graph, Group | None]] = {}
        self._known: dict[int, tuple[Group, Any] | None] = {}
        self._walks: dict[str, tuple[list[tuple[Stage, Any]], tuple[str, ...]] | None] = {}
        self._ends: dict[int, tuple[Graph, Graph]] = {}
        self._symbols: dict[int, list[tuple[str, int, int]]] = {}

    def find(self, body: Graph) -> tuple[Group, Any] | None:
        """A body's kernel, and what the native side must know of it; None where it runs as a call."""
        if id(body) not in self._known:
            self._known[id(body)] = self._made(body)  # raises Pending while its code is made
        return self._known[id(body)]

    def ends(self, body: Graph) -> Graph:
        """What follows the product of a body; the same graph for the same body."""
        if id(body) not in self._ends:
            self._ends[id(body)] = body, ends_of(body)
        return self._ends[id(body)][1]

    def walks(self, kernel: Kernel) -> tuple[list[tuple[Stage, Any]], tuple[str, ...]] | None:
        """A row kernel as one kernel for each walk, and the dtypes of what they keep; None where it is none."""
        if kernel.key not in self._walks:
            found = walks(kernel)
            self._walks[kernel.key] = (
                None
                if found is None
                else ([(s, rows.about(s.kernel)) for s in found.stages], found.kept)
            )
        return self._walks[kernel.key]

    def sizes(self, body: Graph, given: Sequence[Any]) -> dict[str, int]:
        """What the sizes of a body that was found are where its inputs are these tensors."""
        places = self._symbols.get(id(body))
        if places is None:
            found: dict[str, tuple[str, int, int]] = {}
            for i, value in enumerate(body.inputs):
                for axis, size in enumerate(value.type.shape):
                    name = symbol_name(size)
                    if name is not None:
                        found.setdefault(name, (name, i, axis))
            places = self._symbols[id(body)] = list(found.values())
        return {name: given[i].shape[axis] for name, i, axis in places}

    def _made(self, body: Graph) -> tuple[Group, Any] | None:
        if id(body) not in self._groups:
            try:
                self._groups[id(body)] = body, lowered_group(body)
            except NotLowered:
                self._groups[id(body)] = body, None
        group = self._groups[id(body)][1]
        if group is None:
            return None
        try:
            if group.kind == "rows":
                return group, rows.about(group.kernel)
            code = kernels.address(group.kernel)
        except NotLowered:
            return None
        results = sum(o.written for o in group.kernel.operands)
        return None if code is None else (group, (code, kernels.grain(group.kernel), results))
