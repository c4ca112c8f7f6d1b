"""Which axes of the values of a graph are the same axis of one loop nest.

Pointwise operators align axes from the right, row operators add that some are walked along, and a view may give them
another order. An axis of size 1 stands for none: what has it repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from thixo.codegen.builder import NotLowered
from thixo.codegen.rowwise import parameters
from thixo.errors import ThixoError
from thixo.graph.ir import Node, Value, values_in
from thixo.symbolic import Dim, Size, guards, same

# For each axis of a value the number of an axis of the nest; None where its size is 1.
Places = tuple["int | None", ...]

FILLED = {"zeros": 0, "ones": 1, "full": None}  # the number, or it is an argument
SAME = ("clone", "cast")


class Axes:
    """Axes of a nest, found node by node."""

    def __init__(self) -> None:
        self._parent: list[int] = []
        self.sizes: list[Size] = []
        self.places: dict[Value, Places] = {}
        self.reduced: dict[Node, tuple[Places, frozenset[int]]] = {}  # of all operands; of the row

    def find(self, axis: int) -> int:
        """The one that stands for all that are the same."""
        while self._parent[axis] != axis:
            self._parent[axis] = self._parent[self._parent[axis]]
            axis = self._parent[axis]
        return axis

    def of(self, value: Value) -> Places:
        """The axes of a value."""
        return tuple(None if a is None else self.find(a) for a in self.places[value])

    def new(self, shape: Iterable[Size]) -> Places:
        """Axes of their own."""
        return tuple(map(self._new, shape))

    def _new(self, size: Size) -> int | None:
        if is_one(size):
            return None
        self._parent.append(len(self._parent))
        self.sizes.append(size)
        return len(self._parent) - 1

    def add_input(self, value: Value) -> None:
        """Something that comes from outside."""
        if value not in self.places:
            self.places[value] = self.new(value.type.shape)

    def _joined(self, a: int | None, b: int | None) -> int | None:
        if a is None or b is None:
            return b if a is None else a
        a, b = self.find(a), self.find(b)
        if not same(self.sizes[a], self.sizes[b]):
            raise NotLowered(f"axes of the sizes {self.sizes[a]} and {self.sizes[b]} as one")
        self._parent[max(a, b)] = min(a, b)
        return min(a, b)

    def _broadcast(self, values: Sequence[Value]) -> Places:
        ndim = max((v.type.ndim for v in values), default=0)
        found: list[int | None] = [None] * ndim
        for v in values:
            for d, axis in enumerate(self.places[v], ndim - v.type.ndim):
                found[d] = self._joined(found[d], axis)
        return tuple(found)

    def add(self, node: Node) -> None:
        """The axes of a node's results; `NotLowered` where it is of another kind."""
        op = node.op
        for v in values_in(node.args):
            self.add_input(v)
        if op.kind == "pointwise":
            found = [self._broadcast([a for a in node.args if isinstance(a, Value)])]
        elif op.full_name in FILLED:
            found = [self.new(node.outputs[0].type.shape)]
        elif op.full_name in SAME:
            found = [self.places[node.args[0]]]
        elif op.kind == "view" or op.full_name == "reshape":
            found = [self._viewed(node)]
        elif getattr(op, "rows", None) is not None and not hasattr(op, "row_check"):
            found = self._rows(node)
        else:
            raise NotLowered(f"the operator {op.full_name}")
        for v, places in zip(node.outputs, found, strict=True):
            if len(places) != v.type.ndim:
                raise NotLowered(f"{op.full_name}: a result of {v.type.ndim} axes")
            self.places[v] = places

    def _viewed(self, node: Node) -> Places:
        x, y = node.args[0], node.outputs[0]
        if x.type.dtype is not y.type.dtype:
            raise NotLowered(f"{node.op.full_name}: another dtype")
        given = self.places[x]
        if hasattr(node.op, "geometry") and node.op.full_name != "view":
            return self._by_strides(node, x, y)
        # A reshape: all that may change is where axes of size 1 are.
        left = [(a, s) for a, s in zip(given, x.type.shape, strict=True) if not is_one(s)]
        right = [s for s in y.type.shape if not is_one(s)]
        if len(left) != len(right) or not all(
            same(s, t) for (_, s), t in zip(left, right, strict=True)
        ):
            raise NotLowered(f"{node.op.full_name}: elements in another order")
        following = iter(left)
        return tuple(None if is_one(s) else next(following)[0] for s in y.type.shape)

    def _by_strides(self, node: Node, x: Value, y: Value) -> Places:
        """What a view's own rule makes of strides that tell the axes apart."""
        strides = [10 ** (9 + d) for d in range(x.type.ndim)]
        try:
            with guards():
                shape, made, offset = node.op.geometry(x.type.shape, strides, 0, *node.args[1:])
        except (ThixoError, TypeError, ValueError):
            raise NotLowered(f"{node.op.full_name}: not a change of axes") from None
        found: list[int | None] = []
        taken = set()
        for size, step in zip(shape, made, strict=True):
            if is_one(size):
                found.append(None)
            elif isinstance(step, int) and step == 0:
                found.append(self._new(size))
            else:
                at = strides.index(step) if step in strides else -1
                if at < 0 or at in taken or not same(size, x.type.shape[at]):
                    raise NotLowered(f"{node.op.full_name}: not a change of axes")
                taken.add(at)
                found.append(self.places[x][at])
        kept = {d for d, s in enumerate(x.type.shape) if not is_one(s)}
        if offset != 0 or kept - taken:
            raise NotLowered(f"{node.op.full_name}: a part of its input")
        return tuple(found)

    def _rows(self, node: Node) -> list[Places]:
        op = node.op
        named = dict(zip((p.name for p in op.sig.params), node.args, strict=True))
        tensors = [named[n] for n in parameters(op) if isinstance(named[n], Value)]
        full = self._broadcast(tensors)
        dims = row_dims(op, node.args, len(full))
        self.reduced[node] = full, frozenset(a for d in dims if (a := full[d]) is not None)
        kept = [a for d, a in enumerate(full) if d not in dims]
        found: list[Places] = []
        for v in node.outputs:
            if v.type.ndim == len(full):
                found.append(
                    tuple(None if is_one(s) else a for a, s in zip(full, v.type.shape, strict=True))
                )
            elif v.type.ndim == len(kept):
                found.append(tuple(kept))
            else:
                raise NotLowered(f"{op.full_name}: a result of {v.type.ndim} axes")
        return found

    def of_rows(self, node: Node) -> tuple[frozenset[int], frozenset[int]]:
        """All axes of a row operator's operands, and those along which it walks."""
        full, reduced = self.reduced[node]
        return (
            frozenset(self.find(a) for a in full if a is not None),
            frozenset(map(self.find, reduced)),
        )


def is_one(size: Any) -> bool:
    """Whether a size is known to be 1."""
    return not isinstance(size, Dim) and size == 1


def row_dims(op: Any, args: Sequence[Any], ndim: int) -> tuple[int, ...]:
    """The axes that make up a row of a row operator."""
    if hasattr(op, "row_axes"):
        found = op.row_axes(*args)
        if not isinstance(found, tuple):
            raise NotLowered(f"{op.full_name}: the axes of a row")
    else:
        found = args[op.sig.place("dim")]
        if found is None or (isinstance(found, tuple | list) and not found):
            return tuple(range(ndim))
    if isinstance(found, int):
        found = (found,)
    return tuple(sorted({d % ndim for d in found})) if ndim else ()
