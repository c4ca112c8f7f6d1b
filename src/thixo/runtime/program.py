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

import numpy as np

from thixo import _core, progress
from thixo.dtype import int64, uint8
from thixo.errors import ShapeError, ThixoError
from thixo.graph.constants import nobody_writes, type_of
from thixo.graph.control import CALL, PRODUCTS, is_random, product_in
from thixo.graph.interpret import Interpreter
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.layouts import lies_well, looks_at_memory, needs_rows
from thixo.graph.operators import call_arguments
from thixo.graph.sizes import sizes_in
from thixo.ops import public as tx
from thixo.runtime.batch import Pending
from thixo.runtime.flow import Flow
from thixo.runtime.group_kernels import Kernels
from thixo.runtime.layouts import channels_last, last_strides
from thixo.runtime.program_control import ControlFlow, NotStatic
from thixo.runtime.program_end import STEP_SECONDS, Ending
from thixo.schedule.plan import Plan
from thixo.schedule.scheduled import Schedule
from thixo.symbolic import Dim

# A rough machine, to tell long steps from short ones.
_BYTES_A_SECOND = 8e9
_FLOPS_A_SECOND = 4e10

Run = Callable[[Graph, Sequence[Any]], list[Any]]  # of a graph inside of a node, on tensors


class Context:
    """What the programs inside of one program share: those that are alike, and how graphs run from Python."""

    def __init__(
        self, run: Run, kernels: Kernels, schedule: Schedule | None, parallel: bool = False
    ) -> None:
        self.run = run
        self.kernels = kernels
        self.parallel = parallel  # steps of the outermost program run several at once
        self.programs: dict[Any, Any] = {}
        self.scope: Any = None  # the lane in which the node that is bound now runs
        self.partial = False  # a kernel is not there yet: all of this is bound again
        self.outermost: Binding | None = None
        self.sizes: dict[str, int] | None = None  # of the outermost, if its inputs were looked at
        self.asked: set[int] = set()  # graphs that have been bound, all their kernels asked for
        self._schedules: dict[int, Schedule] = {}
        todo = [] if schedule is None else [schedule]
        while todo:
            one = todo.pop()
            self._schedules[id(one.graph)] = one
            todo += one.inner.values()

    def plan(self, graph: Graph, sizes: dict[str, int]) -> Plan | None:
        """Order and memory for a graph, if it was scheduled."""
        found = self._schedules.get(id(graph))
        return None if found is None else found.bind({n: sizes[n] for n in found.symbols})

    def inner(
        self,
        graph: Graph,
        given: Sequence[Any],
        private: bool = False,
        over: tuple[tuple[int, int], ...] = (),
    ) -> Binding:
        """A graph inside of a node, bound to inputs like these. Nodes that may run at once never share a program."""
        if private or self.parallel:
            return Binding(graph, given, self, over=over)
        key = (self.scope, id(graph), over, _core.layouts(list(given)))
        found = self.programs.get(key)
        if found is None:
            found = self.programs[key] = Binding(graph, given, self, over=over)
        return found


class _Machine(Interpreter):
    """Runs single nodes, on values whose sizes the data decided."""

    run_graph: Run

    def _run_inside(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        return self.run_graph(graph, inputs)


class Binding(ControlFlow, Ending):
    """Makes the program of a graph for inputs of these sizes and strides."""

    def __init__(
        self,
        graph: Graph,
        given: Sequence[Any],
        context: Context,
        parallel: bool = False,
        writes: bool = False,
        over: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.graph = graph
        self.context = context
        if context.outermost is None:
            context.outermost = self
        self.flow = Flow() if parallel else None
        self.program = _core.Program(graph.name)
        self.machine = _Machine(graph, "eager")
        self.machine.run_graph = context.run
        self.tensors: dict[Value, Any] = {}  # also those that are made while it runs
        self.root: dict[Value, Value] = {}  # whose memory a value is
        self.scratch: list[tuple[Any, int, int]] = []  # with the first and last node that need it
        self.held: dict[Value, Any] = {}  # what a step goes over while it runs
        self.placed: list[tuple[Any, int]] = []  # what has its place in the arena already
        self.born: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        self.partial = False  # some kernels are not there yet: it cannot run
        self._shapes: dict[int, list[int]] = {}  # by the identity of a type
        self._values(given)
        # Who waits for data or runs beside others is not where a plan thinks that it is.
        plain = not self.dynamic and not parallel
        self.plan = context.plan(graph, self.sizes) if plain else None
        self.nodes = graph.nodes if self.plan is None else self.plan.order
        self._donations(writes)
        for i, k in over:  # whoever calls it has a result where an input is
            self.donated[graph.outputs[k]] = self.tensors[graph.inputs[i]]
        self._lay_out()
        if self.dynamic:
            self.program.call_python(-1, self._begin, ())
            if self.flow is not None:
                self.flow.add(-1, 1, (), (), ordered=True)
        outer = context.scope
        try:
            self._bind_nodes()
        finally:
            context.scope = outer
        if not self.dynamic:
            context.asked.add(id(graph))
        self.position = len(self.nodes)
        if not context.partial or context.outermost is not self:  # else nobody looks at the end
            self._finish(writes)

    def _bind_nodes(self) -> None:
        sections = [] if self.plan is None else self.plan.sections
        borders = {at: 0 for one in sections for at in (one.begin, *one.ends)}
        context, outer = self.context, self.context.scope
        for position, node in enumerate(self.nodes):
            progress.step("binding nodes", position, len(self.nodes))
            self.position = position
            if position in borders:
                borders[position] = self.program.steps
                lane = self.plan.lane(position)
                context.scope = outer if lane is None else (outer, id(self), position)
            try:
                self._node(node)
            except Pending:
                # The next program that is made finds the kernel; this one goes on to ask for the others, of the same layouts.
                self._made(node, any_layout=True)
                self.partial = context.partial = True
            if self.flow is not None:
                self._flow_of(node)
        if sections:
            borders[len(self.nodes)] = self.program.steps
            self.program.sections(
                tuple(tuple(borders[at] for at in (one.begin, *one.ends)) for one in sections)
            )

    # ---- values

    def _values(self, given: Sequence[Any]) -> None:
        graph, machine = self.graph, self.machine
        if self.context.outermost is self and self.context.sizes is not None:
            machine.sizes = dict(self.context.sizes)
        else:
            machine._bind_inputs(dict(zip(graph.inputs, given, strict=True)))
        machine._check(machine._guards_at.get(-1, ()))
        self.sizes = dict(machine.sizes)
        self.root.update(zip(graph.inputs, graph.inputs, strict=True))
        self.tensors.update(zip(graph.inputs, self.program.inputs(list(given)), strict=True))
        for value, data in graph.constants.items():
            fixed = isinstance(data, np.ndarray) and value not in graph.mutations
            # Large weights would be copied for each program, and for each of the turns that one is bound in.
            shared = fixed and nobody_writes(data)
            tensor = _core.from_numpy(data) if shared else machine.backend.input(data, value)
            machine._compare(value, type_of(tensor), f"constant {value.name}")
            self.root[value] = value
            self.tensors[value] = self._tensor(value, tensor.stride())
            self.program.constant(self.tensors[value], tensor, fixed)
        types = {id(v.type): v.type for n in graph.nodes for v in n.outputs}
        opened = {i for i, type in types.items() if any(map(self._is_open, type.shape))}
        self.dynamic = set()
        if opened:
            self.dynamic = {v for n in graph.nodes for v in n.outputs if id(v.type) in opened}

    def _is_open(self, size: Any) -> bool:
        return isinstance(size, Dim) and any(name not in self.sizes for name in size.symbols)

    def _shape(self, value: Value) -> list[int]:
        known = self._shapes.get(id(value.type))
        if known is None:
            shape = value.type.shape
            known = [s.evaluate(self.sizes) if isinstance(s, Dim) else int(s) for s in shape]
            self._shapes[id(value.type)] = known
        return known

    def _tensor(self, value: Value, strides: Sequence[int] | None = None) -> Any:
        return self.program.value(value.type.dtype, self._shape(value), strides)

    def _scratch(self, like: Any, offset: int | None = None) -> Any:
        """Memory for this step alone, of the kind of a tensor, or of so many bytes; at a place that is known already."""
        if isinstance(like, int):
            made = self.program.value(uint8, [like], None)
        else:
            made = self.program.value(like.dtype, list(like.shape), None)
        if offset is None:
            self.scratch.append((made, self.position, self.position))
        else:
            self.placed.append((made, offset))
        return made

    def _donations(self, writes: bool) -> None:
        """New values that are made where the old ones are: nothing reads those later, and nothing can fail any more."""
        self.donated: dict[Value, Any] = {}
        self.replaced: dict[Value, Any] = {}  # the same, if lines can be replaced there
        if not writes or self.plan is None:
            return
        for old, new in self.plan.schedule.donated.items():
            if self.tensors[old].is_contiguous():
                self.donated[new] = self.tensors[old]
        for old, new in self.plan.schedule.replaced.items():
            if (
                self.tensors[old].is_contiguous()
                and self.tensors[old].numel()
                and self.tensors[old].shape
            ):
                self.replaced[new] = self.tensors[old]

    def _lay_out(self) -> None:
        """Values that do not lie row by row, if a kernel makes them."""
        known = self.nodes
        if self.dynamic:
            known = [n for n in self.nodes if not self._meets_open_sizes(n)]
        self.last_channels = channels_last(
            self.graph, known, self._shape, self.plan, {*self.donated, *self.dynamic}
        )

    def _begin(self) -> Sequence[Any]:
        self.machine.sizes = dict(self.sizes)
        return ()

    # ---- nodes

    def _node(self, node: Node) -> None:
        self.in_python = False
        if node.op is CALL and self.context.partial and self._was_asked(node.args[0]):
            self.partial = True
            self._made(node)
            return None
        root, last, position = self.root, self.last, self.position
        for value in node.inputs:
            if value in root:
                last[root[value]] = position
        if self._meets_open_sizes(node):
            if node.op.full_name == "scan":
                try:
                    return self._open_scan(node)
                except NotStatic:
                    pass
            return self._python(node)
        args = self.machine.arguments(node, self.tensors)
        if node.op.kind == "control":
            native: Any = getattr(self, f"_{node.op.full_name}", self._in_python)
            try:
                return native(node, args)
            except NotStatic:
                return self._python(node)
        if looks_at_memory(node.op) and not lies_well(node.op, args):
            return self._laid_elsewhere(node, args)
        try:
            seen = self._seen(node, args)
        except ThixoError:  # it is an error when it runs; a branch that is not taken may hold it
            return self._python(node)
        if seen is not None:
            (value,) = node.outputs
            self.tensors[value] = seen
            self.root[value] = self.root[node.args[0]]
            return None
        if node.op.full_name == "index_copy" and self._in_place(node, args):
            return None
        self._made(node, any_layout=True)
        return self._operator(node, args)

    def _was_asked(self, graph: Graph) -> bool:
        """Whether one more call of a graph asks for no kernel that is new."""
        return not self.dynamic and id(graph) in self.context.asked

    def _in_place(self, node: Node, args: list[Any]) -> bool:
        """Lines of what the graph changes are replaced where they are."""
        (value,) = node.outputs
        _, axis, index, source = args
        to = self.replaced.get(value)
        if to is None or index.dtype is not int64 or len(index.shape) != 1 or not index.shape[0]:
            return False
        if len(source.shape) != len(to.shape):  # a number for the only line
            return False
        self.donated[value] = to
        self._made(node)
        saved = self._contiguous(source)
        self.last[value] = self.position
        self.scratch.append((saved, self.position, len(self.nodes)))  # until nothing can fail
        self.program.replace_lines(
            self.position, STEP_SECONDS, to, axis % len(to.shape), index, source, saved
        )
        return True

    def _meets_open_sizes(self, node: Node) -> bool:
        if not self.dynamic:
            return False
        values = (*values_in(node.args), *node.outputs)
        if node.op.full_name == "while_loop":  # it may have results of open length
            values = (*values_in(node.args), *node.outputs[: len(node.args[2])])
        return any(v in self.dynamic for v in values) or any(
            map(self._is_open, sizes_in(node.args))
        )

    def _made(
        self, node: Node, count: int | None = None, any_layout: bool = False
    ) -> tuple[Any, ...]:
        """Tensors for a node's results, from here on."""
        made = []
        position = self.position
        for value in node.outputs[:count]:
            self.root[value] = value
            self.born[value] = self.last[value] = position
            one = self.donated.get(value)
            if one is None:
                strides = None
                if any_layout and value in self.last_channels:
                    strides = last_strides(self._shape(value))
                one = self._tensor(value, strides)
            self.tensors[value] = one
            made.append(one)
        return tuple(made)

    def _seen(self, node: Node, args: list[Any]) -> Any:
        """A result that is another look at the memory of the first argument, or None."""
        if not node.args or not isinstance(node.args[0], Value):
            return None
        if node.op.full_name == "reshape":
            if not self._may_look(node):
                return None
            try:
                return tx.view(args[0], self._shape(node.outputs[0]))
            except ShapeError:
                return None
        if node.op.kind != "view" and node.op.full_name != "detach":
            return None
        if not self._may_look(node):
            return None
        positional, named = call_arguments(node.op, args)
        return node.op.operator(*positional, **named)

    def _may_look(self, node: Node) -> bool:
        """Not where the plan gives it memory of its own: what it looks at may be gone when it is used."""
        if self.plan is None or node.outputs[0] in self.plan.schedule.view_of:
            return True
        return self.root[node.args[0]] not in self.born

    def _laid_elsewhere(self, node: Node, args: list[Any]) -> None:
        """An operator that looks at memory, on a value that does not lie as it takes it to."""
        if not needs_rows(node.op, args):
            return self._python(node)
        rows = self._scratch(args[0])
        self._copy(rows, args[0])
        self._made(node)
        return self._operator(node, [rows, *args[1:]])

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
        """How long a node may take: from the bytes that it moves, and what a product computes."""
        count = sum(
            math.prod(self._shape(v)) * v.type.dtype.itemsize
            for v in (*values_in(node.args), *node.outputs)
            if v not in self.dynamic
        )
        seconds = count / _BYTES_A_SECOND + STEP_SECONDS
        if node.op.full_name in PRODUCTS or product_in(node) is not None:
            inner = self._shape(next(values_in(node.args)))[-1]
            seconds += 2 * inner * math.prod(self._shape(node.outputs[0])) / _FLOPS_A_SECOND
        return seconds

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

    # ---- several at once

    def _flow_of(self, node: Node) -> None:
        """The steps of a node wait for those that make what it reads; draws and Python keep their order."""
        assert self.flow is not None
        read = {self.root.get(v, v) for v in values_in(node.args)}
        ordered = is_random(node) or self.in_python
        self.flow.add(self.position, self.program.steps, read, node.outputs, ordered)
