"""From a graph and the sizes of its inputs to a native program: values, memory, steps.

Every value gets a tensor without memory, made once; views are taken of these tensors here and cost nothing later. A
node becomes one step, prepared as far as sizes allow. What lives only inside of a call lies in one arena, whose places are
planned here; inputs, constants and results lie outside.

Sizes that the data decide are known only while the program runs: nodes that meet them are Python steps, on tensors made
then. Everything else of the program stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.codegen.builder import NotLowered
from thixo.codegen.group import Group, lower_group
from thixo.dtype import ALL, uint8
from thixo.errors import ShapeError
from thixo.graph.constants import type_of
from thixo.graph.control import is_random
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.operators import call_arguments
from thixo.graph.sizes import sizes_in
from thixo.ops import public as tx
from thixo.runtime import kernels, rows
from thixo.runtime.base import fresh
from thixo.runtime.flow import Flow
from thixo.symbolic import Dim

ALIGNMENT = 64
_BY_SHORT = {dtype.short: dtype for dtype in ALL}
# A rough machine, to tell long steps from short ones.
_BYTES_A_SECOND = 8e9
_STEP_SECONDS = 2e-7

Run = Callable[[Graph, Sequence[Any]], list[Any]]  # of a graph inside of a node, on tensors


class NotStatic(Exception):
    """Something that a native step needs to know is decided by the data."""


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


class Context:
    """What the programs inside of one program share: those that are alike, and how graphs run from Python."""

    def __init__(self, run: Run, kernels: Kernels, parallel: bool = False) -> None:
        self.run = run
        self.kernels = kernels
        self.parallel = parallel  # steps of the outermost program run several at once
        self.programs: dict[Any, Any] = {}

    def inner(self, graph: Graph, given: Sequence[Any], private: bool = False) -> Binding:
        """A graph inside of a node, bound to inputs like these."""
        if private or self.parallel:
            return Binding(graph, given, self)
        key = (id(graph), *((tuple(t.shape), t.stride()) for t in given))
        found = self.programs.get(key)
        if found is None:
            found = self.programs[key] = Binding(graph, given, self)
        return found


class _Machine(Interpreter):
    """Runs single nodes, on values whose sizes the data decided."""

    run_graph: Run

    def _run_inside(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        return self.run_graph(graph, inputs)


class Binding:
    """Makes the program of a graph for inputs of these sizes and strides."""

    def __init__(
        self, graph: Graph, given: Sequence[Any], context: Context, parallel: bool = False
    ) -> None:
        self.graph = graph
        self.context = context
        self.flow = Flow() if parallel else None
        self.program = _core.Program(graph.name)
        self.machine = _Machine(graph, "eager")
        self.machine.run_graph = context.run
        self.tensors: dict[Value, Any] = {}  # also those that are made while it runs
        self.root: dict[Value, Value] = {}  # whose memory a value is
        self.scratch: list[
            tuple[Any, int, int]
        ] = []  # tensors, and the first and last node that need them
        self.born: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        self._values(given)
        if self.dynamic:
            self.program.call_python(-1, self._begin, ())
            if self.flow is not None:
                self.flow.add(-1, 1, (), (), ordered=True)
        for position, node in enumerate(graph.nodes):
            self.position = position
            self._node(node)
            if self.flow is not None:
                self._flow_of(node)
        self.position = len(graph.nodes)
        self._finish()

    # ---- values

    def _values(self, given: Sequence[Any]) -> None:
        graph, machine = self.graph, self.machine
        machine._bind_inputs(dict(zip(graph.inputs, given, strict=True)))
        machine._check(machine._guards_at.get(-1, ()))
        self.sizes = dict(machine.sizes)
        for value, like in zip(graph.inputs, given, strict=True):
            self.root[value] = value
            self.tensors[value] = self._tensor(value, like.stride())
            self.program.input(self.tensors[value])
        for value, data in graph.constants.items():
            tensor = machine.backend.input(data, value)
            machine._compare(value, type_of(tensor), f"constant {value.name}")
            self.root[value] = value
            self.tensors[value] = self._tensor(value, tensor.stride())
            self.program.constant(self.tensors[value], tensor)
        self.dynamic = {
            v for n in graph.nodes for v in n.outputs if any(map(self._is_open, v.type.shape))
        }

    def _is_open(self, size: Any) -> bool:
        return isinstance(size, Dim) and any(name not in self.sizes for name in size.symbols)

    def _shape(self, value: Value) -> list[int]:
        return [s.evaluate(self.sizes) if isinstance(s, Dim) else int(s) for s in value.type.shape]

    def _tensor(self, value: Value, strides: Sequence[int] | None = None) -> Any:
        return self.program.value(value.type.dtype, self._shape(value), strides)

    def _scratch(self, like: Any) -> Any:
        """Memory for this step alone, of the kind of a tensor; or of so many bytes."""
        if isinstance(like, int):
            made = self.program.value(uint8, [like], None)
        else:
            made = self.program.value(like.dtype, list(like.shape), None)
        self.scratch.append((made, self.position, self.position))
        return made

    def _begin(self) -> Sequence[Any]:
        self.machine.sizes = dict(self.sizes)
        return ()

    # ---- nodes

    def _node(self, node: Node) -> None:
        self.in_python = False
        for value in values_in(node.args):
            if value in self.root:
                self.last[self.root[value]] = self.position
        if self._meets_open_sizes(node):
            return self._python(node)
        args = self.machine.arguments(node, self.tensors)
        if node.op.kind == "control":
            native: Any = getattr(self, f"_{node.op.full_name}", self._in_python)
            try:
                return native(node, args)
            except NotStatic:
                return self._python(node)
        seen = self._seen(node, args)
        if seen is not None:
            (value,) = node.outputs
            self.tensors[value] = seen
            self.root[value] = self.root[node.args[0]]
            return None
        self._made(node)
        return self._operator(node, args)

    def _meets_open_sizes(self, node: Node) -> bool:
        values = (*values_in(node.args), *node.outputs)
        if node.op.full_name == "while_loop":  # it may have results of open length
            values = (*values_in(node.args), *node.outputs[: len(node.args[2])])
        return any(v in self.dynamic for v in values) or any(
            map(self._is_open, sizes_in(node.args))
        )

    def _made(self, node: Node, count: int | None = None) -> tuple[Any, ...]:
        """Tensors for a node's results, from here on."""
        made = []
        for value in node.outputs[:count]:
            self.root[value] = value
            self.born[value] = self.last[value] = self.position
            self.tensors[value] = self._tensor(value)
            made.append(self.tensors[value])
        return tuple(made)

    def _seen(self, node: Node, args: list[Any]) -> Any:
        """A result that is another look at the memory of the first argument, or None."""
        if not node.args or not isinstance(node.args[0], Value):
            return None
        if node.op.full_name == "reshape":
            try:
                return tx.view(args[0], self._shape(node.outputs[0]))
            except ShapeError:
                return None
        if node.op.kind != "view" and node.op.full_name != "detach":
            return None
        positional, named = call_arguments(node.op, args)
        return node.op.operator(*positional, **named)

    def _operator(self, node: Node, args: list[Any]) -> None:
        positional, named = call_arguments(node.op, args)
        results = tuple(self.tensors[v] for v in node.outputs)
        self.program.operator(
            self.position,
            self._seconds(node),
            node.op.operator,
            (*positional, *named.values()),
            tuple(named) or None,
            results,
        )

    def _seconds(self, node: Node) -> float:
        """How long a node may take: from the bytes that it moves."""
        count = sum(
            math.prod(self._shape(v)) * v.type.dtype.itemsize
            for v in (*values_in(node.args), *node.outputs)
            if v not in self.dynamic
        )
        return count / _BYTES_A_SECOND + _STEP_SECONDS

    def _copy(self, to: Any, source: Any) -> None:
        seconds = 2 * math.prod(to.shape) * to.dtype.itemsize / _BYTES_A_SECOND
        self.program.copy(self.position, seconds, to, source)

    # ---- nodes that meet sizes which the data decide

    def _in_python(self, node: Node, args: Sequence[Any]) -> None:
        raise NotStatic  # what it does, it does in Python: prints

    def _python(self, node: Node) -> None:
        machine, tensors, dynamic = self.machine, self.tensors, self.dynamic
        static = [v for v in node.outputs if v not in dynamic]
        for value in static:
            self.root[value] = value
            self.born[value] = self.last[value] = self.position
            tensors[value] = self._tensor(value)
        gone = [v for v in machine._last_use.get(self.position, ()) if v in dynamic]
        guards = machine._guards_at.get(self.position, ())

        def step() -> Sequence[Any]:
            args = machine.arguments(node, tensors)
            results = list(machine.run_node(node, args))
            planned = [tensors[v] for v in values_in(node.args) if v not in dynamic]
            for i, (value, result) in enumerate(zip(node.outputs, results, strict=True)):
                machine._bind(value, result, node)
                if value in dynamic:
                    if any(_core.shares_memory(result, p) for p in planned):
                        results[i] = result = result.clone()  # what it looks at lives no longer
                    tensors[value] = result
            machine._check(guards)
            for value in gone:
                tensors.pop(value, None)
            return results

        places = tuple(None if v in dynamic else tensors[v] for v in node.outputs)
        self.program.call_python(self.position, step, places)
        self.in_python = True

    # ---- control flow

    def _inner(self, graph: Graph, given: Sequence[Any], private: bool = False) -> Binding:
        bound = self.context.inner(graph, given, private)
        if any(v in bound.dynamic for v in graph.outputs):
            raise NotStatic(graph.name)
        return bound

    def _room(self, *inner: Binding) -> Any:
        """Memory for the arenas of programs of which one runs at a time."""
        most = max(b.program.arena_bytes for b in inner)
        return self._scratch(most) if most else None

    def _call(self, node: Node, args: list[Any]) -> None:
        graph, given = args
        inner = self._inner(graph, given)
        made = self._made(node)
        self.program.call(self.position, described(inner, self._room(inner), given, made))

    def _fused(self, node: Node, args: list[Any]) -> None:
        body, given = args
        found = self.context.kernels.find(body)
        if found is None or not self._kernel(node, body, given, *found):
            self._call(node, args)

    def _kernel(self, node: Node, body: Graph, given: list[Any], group: Group, code: Any) -> bool:
        """One kernel for a fused node; False where these sizes have none."""
        inside = Interpreter(body, "eager")
        inside._bind_inputs(dict(zip(body.inputs, given, strict=True)))
        shape = tuple(fixed(s, inside.sizes) for s in group.shape)
        made = self._made(node)
        operands = []
        for placed, operand in zip(group.operands, group.kernel.operands, strict=True):
            if placed.what == "number":
                operands.append((fixed(placed.which, inside.sizes), _BY_SHORT[operand.dtype]))
            else:
                operands.append(
                    ((given if placed.what == "input" else made)[placed.which], placed.axes)
                )
        return bool(
            self.program.kernel(
                self.position, self._seconds(node), code, shape, group.reduced, tuple(operands)
            )
        )

    def _cond(self, node: Node, args: list[Any]) -> None:
        index, then, other, given = args
        self._choose(node, index, [then, other], given)

    def _switch(self, node: Node, args: list[Any]) -> None:
        self._choose(node, *args)

    def _choose(self, node: Node, index: Any, graphs: list[Graph], given: list[Any]) -> None:
        inner = [self._inner(graph, given) for graph in graphs]
        made, room = self._made(node), self._room(*inner)
        self.program.switch(
            self.position, index, tuple(described(b, room, given, made) for b in inner)
        )

    def _contiguous(self, like: Any) -> Any:
        return self.program.value(like.dtype, list(like.shape), None)

    def _state(self, state: list[Any], made: Sequence[Any]) -> tuple[Any, ...]:
        """(where it begins, where it ends, a second place) for each value that goes from turn to turn."""
        found = []
        for given, last in zip(state, made, strict=True):
            first = given
            if not given.is_contiguous():
                first = self._scratch(given)
                self._copy(first, given)
            found.append((first, last, self._scratch(last)))
        return tuple(found)

    def _while_loop(self, node: Node, args: list[Any]) -> None:
        test_graph, body_graph, state, captured, limit = args
        given = [*map(self._contiguous, state), *captured]
        test = self._inner(test_graph, given, private=True)
        body = self._inner(body_graph, given, private=True)
        count = len(state)
        made = self._made(node, count)
        rows = [(v.type.dtype, body._shape(v)) for v in body_graph.outputs[count:]]
        verdict = self._scratch(test.tensors[test_graph.outputs[0]])
        number = self.program.while_loop(
            self.position, test.program, self._room(test), verdict, body.program, self._room(body),
            self._state(state, made), tuple(captured),
            tuple(dtype.itemsize * math.prod(shape) for dtype, shape in rows),
            -1 if limit is None else limit,
        )  # fmt: skip
        if rows:
            self._take_rows(node, node.outputs[count:], number, rows)

    def _take_rows(self, node: Node, values: Sequence[Value], number: int, rows: list[Any]) -> None:
        """A step that makes tensors of what a loop stacked; their length is known only now."""
        machine, tensors, program = self.machine, self.tensors, self.program
        guards = machine._guards_at.get(self.position, ())

        def step() -> Sequence[Any]:
            for which, (value, (dtype, shape)) in enumerate(zip(values, rows, strict=True)):
                tensors[value] = program.stacked(number, which, dtype, shape)
                machine._bind(value, tensors[value], node)
            machine._check(guards)
            return [tensors[v] for v in values]

        # Rows whose number is known after all have their planned place.
        static = [v for v in values if v not in self.dynamic]
        for value in static:
            self.root[value] = value
            self.born[value] = self.last[value] = self.position
            tensors[value] = self._tensor(value)
        places = tuple(tensors[v] if v in static else None for v in values)
        program.call_python(self.position, step, places)
        self.in_python = True

    def _scan(self, node: Node, args: list[Any]) -> None:
        body_graph, state, slices, captured, length, reverse = args
        parts = [
            self.program.value(t.dtype, list(t.shape)[1:], list(t.stride())[1:]) for t in slices
        ]
        given = [*map(self._contiguous, state), *parts, *captured]
        body = self._inner(body_graph, given, private=True)
        made, count = self._made(node), len(state)
        self.program.scan(
            self.position, body.program, self._room(body), self._state(state, made[:count]),
            tuple(slices), tuple(captured), made[count:], length, reverse,
        )  # fmt: skip

    # ---- several at once

    def _flow_of(self, node: Node) -> None:
        """The steps of a node wait for those that make what it reads; draws and Python keep their order."""
        assert self.flow is not None
        read = {self.root.get(v, v) for v in values_in(node.args)}
        ordered = is_random(node) or self.in_python
        self.flow.add(self.position, self.program.steps, read, node.outputs, ordered)

    # ---- memory, results, names

    def _finish(self) -> None:
        graph, program = self.graph, self.program
        taken: set[Value] = set()
        last_results: list[Value | None] = []
        for value in graph.results():
            if value in self.dynamic:
                program.output(None)
                last_results.append(value)
                continue
            last_results.append(None)
            if self.root[value] is value and value in self.born and value not in taken:
                taken.add(value)
                program.output(self.tensors[value])
                continue
            copied = self._contiguous(self.tensors[value])
            self.last[self.root[value]] = self.position
            self._copy(copied, self.tensors[value])
            if self.flow is not None:
                self.flow.add(self.position, program.steps, {self.root[value]}, (), False)
            program.output(copied)
        pieces = [
            (self.tensors[v], self.born[v], self.last[v]) for v in self.born if v not in taken
        ]
        pieces += self.scratch
        if self.flow is None:
            offsets, total = plan([(first, last, memory(t)) for t, first, last in pieces])
        else:
            users: dict[int, list[int]] = {
                id(self.tensors[v]): self.flow.users[v] for v in self.born
            }
            offsets, total = self.flow.plan(
                [(first, users.get(id(t), [first]), memory(t)) for t, first, _ in pieces]
            )
            program.flow(self.flow.before())
        program.arena(total, tuple((t, o) for (t, _, _), o in zip(pieces, offsets, strict=True)))
        nodes = graph.nodes
        program.names(tuple(n.op.full_name for n in nodes), tuple(n.source or "" for n in nodes))
        if self.dynamic:
            self._finish_open(last_results)

    def _finish_open(self, results: list[Value | None]) -> None:
        """What a call leaves is taken away, also after an error."""
        machine, tensors, sizes = self.machine, self.tensors, self.sizes

        def finish(made: list[Any] | None) -> list[Any] | None:
            if made is not None:
                for i, value in enumerate(results):
                    if value is not None:
                        made[i] = tensors[value]
                made = fresh(made, ())
            for value in self.dynamic:
                tensors.pop(value, None)
            machine.sizes = dict(sizes)
            return made

        self.program.finisher = finish


def fixed(size: Any, sizes: dict[str, int]) -> Any:
    """A size, or another number, where the symbols are known."""
    return size.evaluate(sizes) if isinstance(size, Dim) else size


def described(inner: Binding, room: Any, given: Sequence[Any], results: Sequence[Any]) -> Any:
    """An inner program as the native side takes it."""
    program = inner.program
    return (program, room if program.arena_bytes else None, tuple(given), tuple(results))


def memory(tensor: Any) -> int:
    """The bytes that a tensor needs in an arena."""
    return -(-math.prod(tensor.shape) * tensor.dtype.itemsize // ALIGNMENT) * ALIGNMENT


def plan(pieces: Sequence[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Offsets for pieces of (first position, last position, bytes), and the length of the arena.

    >>> plan([(0, 1, 64), (1, 2, 128), (2, 3, 64)])
    ([0, 64, 0], 192)
    """
    offsets = [0] * len(pieces)
    living: list[tuple[int, int, int]] = []  # offset, end, last position
    total = 0
    for i in sorted(range(len(pieces)), key=lambda i: pieces[i][0]):
        first, last, count = pieces[i]
        living = [one for one in living if one[2] >= first]
        at = 0
        for begin, end, _ in sorted(living):
            if begin - at >= count:
                break
            at = max(at, end)
        offsets[i] = at
        if count:
            living.append((at, at + count, last))
        total = max(total, at + count)
    return offsets, total
