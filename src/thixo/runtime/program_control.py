"""Steps of native programs for nodes with graphs inside: inner programs whose inputs and results are places of the outer one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thixo.codegen.group import Group
from thixo.dtype import ALL
from thixo.graph.control import CALL, product_in, simple_end
from thixo.graph.ir import Graph, Node, Value, map_values
from thixo.ops import public as tx
from thixo.runtime.batch import Pending
from thixo.schedule.plan import Region
from thixo.symbolic import Dim

if TYPE_CHECKING:
    from thixo.runtime.program import Binding

_BY_SHORT = {dtype.short: dtype for dtype in ALL}


FEW_ROWS = 64  # that threads cannot share well
LEAST_BLOCKS = 4 * 32768  # elements, and places of a row, from which rows are worth cutting
LEAST_PLACES = 256


class NotStatic(Exception):
    """Something that a native step needs to know is decided by the data."""


class Shared:
    """What the parts of a Binding have in common; it sets them up."""

    program: Any
    machine: Any
    plan: Any
    position: int
    dynamic: set[Value]
    tensors: dict[Value, Any]
    root: dict[Value, Value]
    born: dict[Value, int]
    last: dict[Value, int]
    held: dict[Value, Any]
    scratch: list[tuple[Any, int, int]]
    sizes: dict[str, int]
    _scratch: Any
    _copy: Any


class ControlFlow(Shared):
    """The part of a Binding that is about control flow: a method for each of its operators."""

    # What a Binding has; see there.
    context: Any
    donated: dict[Value, Any]
    in_python: bool
    _is_open: Any
    _made: Any
    _seconds: Any
    _tensor: Any

    def _inner(
        self,
        graph: Graph,
        given: Sequence[Any],
        private: bool = False,
        over: tuple[tuple[int, int], ...] = (),
    ) -> Binding:
        bound = self.context.inner(graph, given, private, over)
        if any(v in bound.dynamic for v in graph.outputs):
            raise NotStatic(graph.name)
        return bound

    def _region(self, node: Node, *inner: Binding) -> Region | None:
        """The part of the arena that is planned for these programs, if they fit."""
        region = None if self.plan is None else self.plan.regions.get(node)
        if region is None:
            return None
        fits = [b.program.arena_bytes <= p.arena for b, p in zip(inner, region.plans, strict=True)]
        return region if all(fits) else None

    def _room(self, region: Region | None, *inner: Binding) -> Any:
        """Memory for the arenas of programs of which one runs at a time."""
        most = max(b.program.arena_bytes for b in inner)
        return self._scratch(most, None if region is None else region.offset) if most else None

    def _call(self, node: Node, args: list[Any]) -> None:
        graph, given = args
        over: tuple[tuple[int, int], ...] = ()
        if node.op is CALL and not self.donated.keys().isdisjoint(node.outputs):
            at = {id(t): i for i, t in enumerate(given)}
            taken = [(k, self.donated.get(v)) for k, v in enumerate(node.outputs)]
            over = tuple((at[id(t)], k) for k, t in taken if id(t) in at)
        inner = self._inner(graph, given, over=over)
        made = self._made(node)
        # A fused node may have results where its inputs are, which its kernel allows and its nodes one by one do not.
        results = made if node.op is CALL else [self._scratch(t) for t in made]
        self.program.call(
            self.position,
            described(inner, self._room(self._region(node, inner), inner), given, results),
        )
        for to, source in zip(made, results, strict=True):
            if to is not source:
                self._copy(to, source)

    def _fused(self, node: Node, args: list[Any]) -> None:
        body, given = args
        product = product_in(node)
        if product is not None:
            return self._ended_product(node, product, args)
        found = self.context.kernels.find(body)
        if found is None or not self._kernel(node, body, given, *found):
            self._call(node, args)

    def _kernel(self, node: Node, body: Graph, given: list[Any], group: Group, code: Any) -> bool:
        """One kernel for a fused node; False where these sizes have none."""
        sizes = self.context.kernels.sizes(body, given)
        shape, operands = _operands(group, sizes, given, self._made(node, any_layout=True))
        if group.kind == "rows" and self._by_walks(node, group, shape, operands):
            return True
        return bool(
            self.program.kernel(
                self.position, self._seconds(node), code, shape, group.reduced, operands
            )
        )

    def _ended_product(self, node: Node, product: Node, args: list[Any]) -> None:
        """A product and a kernel on the parts of its result; one after the other where parts lie otherwise."""
        body, given = args
        ends = self.context.kernels.ends(body)
        found = self.context.kernels.find(ends)
        if found is None:
            return self._call(node, args)
        group, (code, grain, results) = found
        inside = dict(zip(body.inputs, given, strict=True))
        (made,) = self._made(node)
        inside[product.outputs[0]] = made
        operator, arguments = product.op.operator, map_values(product.args, inside.__getitem__)
        values = [inside[v] for v in ends.inputs]
        sizes = self.context.kernels.sizes(
            body, given
        )  # those that the product sums over among them
        shape, operands = _operands(group, sizes, values, [made])
        seconds = self._seconds(node)
        if self.program.product(
            self.position,
            seconds,
            operator,
            tuple(arguments),
            made,
            code,
            shape,
            operands,
            _simple(ends, inside, operands),
        ):
            return None
        self.program.operator(self.position, seconds, operator, tuple(arguments), None, (made,))
        self.program.kernel(
            self.position, seconds, (code, grain, results), shape, group.reduced, operands
        )
        return None

    def _by_walks(
        self, node: Node, group: Group, shape: Sequence[int], operands: Sequence[tuple[Any, Any]]
    ) -> bool:
        """A kernel for each walk along the rows, where these are few, long, and side by side."""
        kept = [d for d, r in enumerate(group.reduced) if not r and shape[d] > 1]
        if len(kept) != 1 or not 1 < shape[kept[0]] <= FEW_ROWS:
            return False
        rows = shape[kept[0]]
        if math.prod(shape) < LEAST_BLOCKS or math.prod(shape) // rows < LEAST_PLACES:
            return False
        for (tensor, axes), operand in zip(operands, group.kernel.operands, strict=True):
            if operand.view == "full" and not _is_across(tensor, axes, shape, kept[0]):
                return False
        found = self.context.kernels.walks(group.kernel)
        if found is None:
            return False
        stages, dtypes = found
        axes = tuple(0 if d == kept[0] else -1 for d in range(len(shape)))
        between = []
        for dtype in dtypes:
            # A few numbers, which stay with the program: they are no part of what is planned.
            between.append(self.program.value(_BY_SHORT[dtype], [rows], None))
            self.program.constant(between[-1], tx.zeros((rows,), dtype=_BY_SHORT[dtype]), False)
        seconds = self._seconds(node) / len(stages)
        pending: Pending | None = None
        for stage, code in stages:
            given = tuple(
                operands[i] if i >= 0 else (between[-1 - i], axes) for i in stage.operands
            )
            try:
                if not self.program.kernel(
                    self.position, seconds, code, shape, group.reduced, given
                ):  # what ran before it is computed again
                    return False
            except Pending as error:  # all of them are asked for at once
                pending = error
        if pending is not None:
            raise pending
        return True

    def _cond(self, node: Node, args: list[Any]) -> None:
        index, then, other, given = args
        self._choose(node, index, [then, other], given)

    def _switch(self, node: Node, args: list[Any]) -> None:
        self._choose(node, *args)

    def _choose(self, node: Node, index: Any, graphs: list[Graph], given: list[Any]) -> None:
        inner = [self._inner(graph, given) for graph in graphs]
        made, room = self._made(node), self._room(self._region(node, *inner), *inner)
        self.program.switch(
            self.position, index, tuple(described(b, room, given, made) for b in inner)
        )

    def _contiguous(self, like: Any) -> Any:
        return self.program.value(like.dtype, list(like.shape), None)

    def _state(
        self, state: list[Any], made: Sequence[Any], region: Region | None
    ) -> tuple[Any, ...]:
        """(where it begins, where it ends, a second place) for each value that goes from turn to turn."""
        found = []
        for i, (given, last) in enumerate(zip(state, made, strict=True)):
            first = given
            if not given.is_contiguous():
                first = self._scratch(given)
                self._copy(first, given)
            other = self._scratch(last, None if region is None else region.results[-1][i])
            found.append((first, last, other))
        return tuple(found)

    def _while_loop(self, node: Node, args: list[Any]) -> None:
        test_graph, body_graph, state, captured, limit = args
        given = [*map(self._contiguous, state), *captured]
        test = self._inner(test_graph, given, private=True)
        body = self._inner(body_graph, given, private=True)
        count = len(state)
        made = self._made(node, count)
        rows = [(v.type.dtype, body._shape(v)) for v in body_graph.outputs[count:]]
        region = self._region(node, test, body)
        answer = test.tensors[test_graph.outputs[0]]
        verdict = self._scratch(answer, None if region is None else region.results[0][0])
        number = self.program.while_loop(
            self.position, test.program, self._room(region, test), verdict, body.program,
            self._room(region, body), self._state(state, made, region), tuple(captured),
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
        region = self._region(node, body)
        self.program.scan(
            self.position, body.program, self._room(region, body),
            self._state(state, made[:count], region), tuple(slices), tuple(captured), made[count:],
            length, reverse,
        )  # fmt: skip

    def _open_scan(self, node: Node) -> None:
        """A scan whose length the data decide: where its rows are is told to the native step before it runs."""
        body_graph, state, slices, captured, _, reverse = node.args
        count = len(state)
        stacked = node.outputs[count:]
        known = (*state, *captured, *node.outputs[:count])
        if any(v in self.dynamic for v in known) or any(v not in self.dynamic for v in stacked):
            raise NotStatic(node.op.full_name)
        parts = [self._row(v) for v in slices]
        given = [self._contiguous(self.tensors[v]) for v in state]
        others = [self.tensors[v] for v in captured]
        body = self._inner(body_graph, [*given, *parts, *others], private=True)
        machine, tensors, program, held = self.machine, self.tensors, self.program, self.held
        rows = [(v, tuple(self._row(v).shape)) for v in stacked]
        guards = machine._guards_at.get(self.position, ())
        gone = [v for v in machine._last_use.get(self.position, ()) if v in self.dynamic]
        number = -1

        def begin() -> Sequence[Any]:
            args = machine.arguments(node, tensors)
            length = args[4]
            over = tuple(t.contiguous() for t in args[2])
            for value, shape in rows:
                tensors[value] = tx.empty((length, *shape), dtype=value.type.dtype)
                machine._bind(value, tensors[value], node)
            program.scan_over(number, length, over, tuple(tensors[v] for v in stacked))
            held[node.outputs[0]] = over
            machine._check(guards)
            return ()

        def end() -> Sequence[Any]:
            held.clear()
            for value in gone:
                tensors.pop(value, None)
            return ()

        made = self._made(node, count)
        start = self._state([tensors[v] for v in state], made, None)
        program.call_python(self.position, begin, ())
        number = program.scan(
            self.position, body.program, self._room(None, body), start,
            tuple(self._row(v, 1) for v in slices), tuple(others),
            tuple(self._row(v, 1) for v in stacked), 1, reverse,
        )  # fmt: skip
        program.call_python(self.position, end, ())
        self.in_python = True

    def _row(self, value: Value, *before: int) -> Any:
        """One slice along the first axis of a value, whose other sizes are known."""
        sizes = value.type.shape[1:]
        if any(map(self._is_open, sizes)):
            raise NotStatic(value.name)
        shape = [fixed(s, self.sizes) for s in sizes]
        return self.program.value(value.type.dtype, [*before, *shape], None)


def _is_across(tensor: Any, axes: Sequence[int], shape: Sequence[int], rows: int) -> bool:
    """Whether neighbours in memory are places of neighbouring rows, and places lie one after the other."""
    strides = tensor.stride()
    own = [0 if axis < 0 else strides[axis] for axis in axes]
    step = shape[rows]
    for d in reversed(range(len(shape))):
        if d != rows and shape[d] > 1:
            if own[d] != step:
                return False
            step *= shape[d]
    return bool(own[rows] == 1)


def fixed(size: Any, sizes: dict[str, int]) -> Any:
    """A size, or another number, where the symbols are known."""
    return size.evaluate(sizes) if isinstance(size, Dim) else size


def _simple(
    ends: Graph, inside: dict[Value, Any], operands: Sequence[tuple[Any, Any]]
) -> tuple[int, bool] | None:
    """What follows a product, as the program takes it: the operand that is added, or -1, and whether relu comes then."""
    found = simple_end(ends)
    if found is None or found[0] is None:
        return found and (-1, found[1])
    at = [i for i, (tensor, _) in enumerate(operands) if tensor is inside[found[0]]]
    return (at[0], found[1]) if len(at) == 1 else None


def _operands(
    group: Group, sizes: dict[str, int], given: Sequence[Any], made: Sequence[Any]
) -> tuple[tuple[int, ...], tuple[tuple[Any, Any], ...]]:
    """The sizes that a kernel runs over, and its operands, as the program takes them."""
    operands: list[tuple[Any, Any]] = []
    for placed, operand in zip(group.operands, group.kernel.operands, strict=True):
        if placed.what == "number":
            operands.append((fixed(placed.which, sizes), _BY_SHORT[operand.dtype]))
        else:
            tensors = given if placed.what == "input" else made
            operands.append((tensors[placed.which], placed.axes))
    return tuple(fixed(s, sizes) for s in group.shape), tuple(operands)


def described(inner: Binding, room: Any, given: Sequence[Any], results: Sequence[Any]) -> Any:
    """An inner program as the native side takes it."""
    program = inner.program
    return (program, room if program.arena_bytes else None, tuple(given), tuple(results))
