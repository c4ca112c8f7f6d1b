"""A graph in numbers: which node makes and reads which memory, and which must run before which.

Values that are views of one another are one *family*: they share memory whatever the order is. A family has a root, the
value whose node makes the memory. What lies outside of the arena is an input or a constant, a result of the graph, or
something whose size the data decide.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from thixo.graph.control import draws, graphs_in
from thixo.graph.ir import Graph, Node, Type, Value, same_shape, values_in
from thixo.graph.sizes import sizes_in, symbol_name
from thixo.ops.layout import regroup_strides
from thixo.schedule.cost import bytes_of
from thixo.shape import contiguous_strides
from thixo.symbolic import Dim

ARENA, OUTSIDE, RESULT, DYNAMIC = range(4)
ALIGNMENT = 64


def aligned(count: int) -> int:
    """Bytes up to the next place where a value may begin."""
    return -(-count // ALIGNMENT) * ALIGNMENT


class Flow:
    """The numbers of one graph. Nodes are numbered as they stand there; `barrier` is one more that does nothing."""

    def __init__(self, graph: Graph, work: Sequence[int]) -> None:
        self.graph = graph
        self.nodes = graph.nodes
        self.work = work  # bytes that a node needs only while it runs
        self.family: dict[Value, int] = {}
        self.root: list[Value] = []
        self.state: list[int] = []
        self.size: list[int] = []  # guessed bytes in the arena, 0 for what is not there
        self.reads: list[tuple[int, ...]] = []  # families, each once
        self.makes: list[tuple[int, ...]] = []
        self.before: list[set[int]] = []  # nodes that must run before
        self.reuse: list[list[tuple[int, list[int]]]] = []  # family made, families it may overwrite
        self.donations: dict[int, int] = {}  # family of a new value -> that of the old one
        self.replacements: dict[int, int] = {}  # the same, of old values with lines replaced
        self.granted: set[tuple[int, int]] = (
            set()
        )  # inputs over which whoever calls this may get which results
        self.dynamic: set[Value] = set()
        self._sizes: dict[int, tuple[int, bool]] = {}  # by the identity of a type
        self._layouts: dict[Value, bool] = {}
        self._strides: dict[Value, tuple[list[int], list[int]] | None] = {}
        self._numbers: dict[str, int] = {}  # one for each symbol, as sizes for the example
        self.maker: dict[Value, int] = {}
        self._bound = {
            n for v in graph.inputs for s in v.type.shape if (n := symbol_name(s)) is not None
        }
        self._collect()
        self._order_sizes()

    @cached_property
    def reads_inside(self) -> list[tuple[int, ...]]:
        """The same as `reads` without what is not in the arena; to be asked for when the order of nodes is known to be all there."""
        return self._inside(self.reads)

    @cached_property
    def makes_inside(self) -> list[tuple[int, ...]]:
        """The same of `makes`."""
        return self._inside(self.makes)

    def _inside(self, of_nodes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        inside = [state == ARENA for state in self.state]
        return [tuple([f for f in families if inside[f]]) for families in of_nodes]

    # ---- memory

    def _collect(self) -> None:
        graph, family, maker, sizes = self.graph, self.family, self.maker, self._sizes
        results = set(graph.results())
        outside = (*graph.inputs, *graph.constants)
        self.root += outside
        family.update(zip(outside, range(len(outside)), strict=True))
        self.state += [OUTSIDE] * len(outside)
        self.size += [0] * len(outside)
        last_effect = -1
        effects: dict[int, bool] = {}
        for number, node in enumerate(self.nodes):
            reads = node.inputs
            self.before.append({maker[v] for v in reads if v in maker})
            seen = [family[v] for v in reads]
            self.reads.append(tuple(seen if len(seen) < 2 else dict.fromkeys(seen)))
            if self._is_view(node):
                shared = family[node.args[0]]
                for value in node.outputs:
                    family[value] = shared
                    maker[value] = number
                    if value in results and self.state[shared] == ARENA:
                        self.state[shared], self.size[shared] = RESULT, 0
                    if self._size(value.type)[1]:
                        self.dynamic.add(value)
                self.makes.append(())
                self.reuse.append([])
                continue
            first = len(self.root)
            for value in node.outputs:
                state = RESULT if value in results else ARENA
                size, dynamic = sizes.get(id(value.type)) or self._size(value.type)
                if dynamic:
                    self.dynamic.add(value)
                    state = DYNAMIC
                family[value] = len(self.root)
                self.root.append(value)
                self.state.append(state)
                self.size.append(size if state == ARENA else 0)
                maker[value] = number
            self.makes.append(tuple(range(first, len(self.root))))
            self.reuse.append(self._overwritable(node, reads))
            if node.op.random or any(draws(g, effects) for g in graphs_in(node)):
                if last_effect >= 0:
                    self.before[number].add(last_effect)
                last_effect = number

    def _size(self, type: Type) -> tuple[int, bool]:
        known = self._sizes.get(id(type))
        if known is None:
            bound = self._bound
            dynamic = any(
                name not in bound for s in type.shape if isinstance(s, Dim) for name in s.symbols
            )
            known = self._sizes[id(type)] = aligned(bytes_of(type)), dynamic
        return known

    def _is_view(self, node: Node) -> bool:
        op = node.op
        if op.kind == "view":
            return bool(node.args) and isinstance(node.args[0], Value)
        if op.full_name != "reshape":
            return False
        # Of what comes from outside the strides are known only when it comes.
        source = node.args[0]
        if self.state[self.family[source]] == OUTSIDE:
            return False
        return self.is_whole(source) or self._splits(node)

    def _splits(self, node: Node) -> bool:
        """Whether a reshape of part of a memory only cuts axes, or joins those that follow each other there."""
        source = node.args[0]
        known = self._strides_of(source)
        if known is None:
            return False
        try:
            wanted = [_number(s, self._numbers) for s in node.outputs[0].type.shape]
        except IndexError:
            return False
        return _reshaped(*known, wanted) is not None

    def _strides_of(self, value: Value) -> tuple[list[int], list[int]] | None:
        """Sizes and strides of a value in its family's memory, with numbers for symbols; None where they are not known."""
        root = self.root[self.family[value]]
        chain = []
        while value is not root and value not in self._strides:
            chain.append(value)
            value = self.nodes[self.maker[value]].args[0]
        try:
            if value is root and value not in self._strides:
                shape = [_number(s, self._numbers) for s in value.type.shape]
                self._strides[value] = shape, list(contiguous_strides(shape))
            for one in reversed(chain):
                node = self.nodes[self.maker[one]]
                known = self._strides[node.args[0]]
                self._strides[one] = None if known is None else self._step(node, one, *known)
                value = one
        except IndexError:  # more symbols than there are numbers for
            return None
        return self._strides[value]

    def _step(
        self, node: Node, value: Value, shape: list[int], strides: list[int]
    ) -> tuple[list[int], list[int]] | None:
        if node.op.full_name == "detach":
            return shape, strides
        if node.op.full_name == "reshape":
            wanted = [_number(s, self._numbers) for s in value.type.shape]
            found = _reshaped(shape, strides, wanted)
            return None if found is None else (wanted, found)
        if value.type.dtype.itemsize != node.args[0].type.dtype.itemsize:
            return None
        rest = [_numbers(a, self._numbers) for a in node.args[1:]]
        try:
            made = node.op.geometry(tuple(shape), tuple(strides), 0, *rest)
        except Exception:  # its sizes do not go together, so nothing is known
            return None
        return list(made[0]), list(made[1])

    def is_whole(self, value: Value) -> bool:
        """Whether a value is all of its family's memory, element after element."""
        root, layouts = self.root[self.family[value]], self._layouts
        chain = []
        at = value
        while at is not root and at not in layouts:
            chain.append(at)
            at = self.nodes[self.maker[at]].args[0]
        whole = at is root or layouts[at]
        for one in reversed(chain):
            whole = whole and _keeps_layout(self.nodes[self.maker[one]])
            layouts[one] = whole
        return whole

    def _overwritable(self, node: Node, reads: list[Value]) -> list[tuple[int, list[int]]]:
        """For each result the families that it may overwrite, if nothing reads them later."""
        if node.op.kind == "pointwise" or node.op.full_name == "cast":
            numbers = [self.family[v] for v in reads]
            if [self.root[f] for f in numbers] == reads:  # no views among them
                output = node.outputs[0]
                kind = output.type
                alike = [f for f, v in zip(numbers, reads, strict=True) if _alike(v.type, kind)]
                return [(self.family[output], alike)] if alike else []
            pairs = {(v, o) for o in node.outputs for v in reads if _alike(v.type, o.type)}
        elif node.op.full_name == "fused":
            pairs = _fused_pairs(node)
        else:
            return []
        found = []
        for output in node.outputs:
            fit = []
            for v in dict.fromkeys(reads):
                if (v, output) not in pairs or not self.is_whole(v):
                    continue
                number = self.family[v]
                # Another look at the same memory must see each element at the same place.
                if all(
                    w is v
                    or self.family[w] != number
                    or ((w, output) in pairs and self.is_whole(w))
                    for w in reads
                ):
                    fit.append(number)
            if fit:
                found.append((self.family[output], fit))
        return found

    # ---- order beyond values

    def _order_sizes(self) -> None:
        """Who uses a size that the data decide runs after who finds it."""
        if not any(dynamic for _, dynamic in self._sizes.values()):
            return
        finder: dict[str, int] = {}
        for number, node in enumerate(self.nodes):
            used: set[str] = {n for s in sizes_in(node.args) for n in s.symbols}
            for value in node.outputs:
                for size in value.type.shape:
                    used.update(size.symbols if isinstance(size, Dim) else ())
            for name in used - self._bound:
                if finder.setdefault(name, number) != number:
                    self.before[number].add(finder[name])


def _alike(a: Type, b: Type) -> bool:
    return a is b or (a.dtype.itemsize == b.dtype.itemsize and same_shape(a.shape, b.shape))


# ---- fused nodes


def _fused_pairs(node: Node) -> set[tuple[Value, Value]]:
    """Inputs and outputs of a fused node that are read and written element by element, at the same place."""
    body, inputs = node.args
    if not all(n.op.kind == "pointwise" or n.op.full_name == "cast" for n in body.nodes):
        return set()
    shapes = {v: v.type.shape for n in body.nodes for v in n.outputs}
    uneven = {
        v
        for n in body.nodes
        for v in values_in(n.args)
        if not same_shape(v.type.shape, shapes[n.outputs[0]])
    }
    found = set()
    for given, inside in zip(inputs, body.inputs, strict=True):
        if inside in uneven:
            continue
        for made, value in zip(node.outputs, body.outputs, strict=True):
            if value in shapes and _alike(inside.type, value.type):
                found.add((given, made))
    return found


# ---- layouts of views


def _keeps_layout(node: Node) -> bool:
    """Whether a view of values that lie in order shows all of them in order, whatever the sizes are."""
    if node.op.full_name in ("reshape", "detach"):
        return True
    source = node.args[0]
    numbers: dict[str, int] = {}
    try:
        shape = [_number(s, numbers) for s in source.type.shape]
        rest = [_numbers(a, numbers) for a in node.args[1:]]
        found = node.op.geometry(tuple(shape), contiguous_strides(shape), 0, *rest)
    except Exception:  # its sizes do not go together, so nothing is known
        return False
    made, strides, offset = found
    if offset != 0 or math.prod(made) != math.prod(shape):
        return False
    if node.outputs[0].type.dtype.itemsize != source.type.dtype.itemsize:
        return False
    return all(
        size == 1 or stride == wanted
        for size, stride, wanted in zip(made, strides, contiguous_strides(made), strict=True)
    )


_PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179)


def _number(size: Any, numbers: dict[str, int]) -> int:
    """A symbolic size as a number that no other one has."""
    if not isinstance(size, Dim):
        return int(size)
    for name in size.symbols:
        if name not in numbers:
            numbers[name] = _PRIMES[len(numbers)]
    return size.evaluate(numbers)


def _numbers(a: Any, numbers: dict[str, int]) -> Any:
    if isinstance(a, Dim):
        return _number(a, numbers)
    return type(a)(_numbers(e, numbers) for e in a) if isinstance(a, list | tuple) else a


def _reshaped(
    shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> list[int] | None:
    """Strides that show the same elements in another shape, or None where only a copy does."""
    if math.prod(shape) != math.prod(wanted):
        return None
    found = regroup_strides(shape, strides, wanted)
    return None if found is None else list(found)
