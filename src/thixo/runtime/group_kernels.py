"""The kernels of fused nodes, as native programs take them."""

from __future__ import annotations

from typing import Any

from thixo.codegen.builder import NotLowered
from thixo.codegen.group import Group, lower_group
from thixo.graph.ir import Graph
from thixo.runtime import kernels, rows


class Kernels:
    """The kernels of fused nodes, by their bodies: made once for all sizes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Graph, Group | None, Any]] = {}

    def find(self, body: Graph) -> tuple[Group, Any] | None:
        """A body's kernel, and what the native side must know of it; None where it runs as a call."""
        known = self._known.get(id(body))
        if known is None:
            known = self._known[id(body)] = (body, *self._made(body))
        _, group, code = known
        return None if group is None or code is None else (group, code)

    def _made(self, body: Graph) -> tuple[Group | None, Any]:
        try:
            group = lower_group(body)
            if group.kind == "rows":
                return group, rows.about(group.kernel)
            code = kernels.address(group.kernel)
            results = sum(o.written for o in group.kernel.operands)
            return group, None if code is None else (code, kernels.grain(group.kernel), results)
        except NotLowered:
            return None, None
