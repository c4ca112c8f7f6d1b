"""Plan: a schedule for known sizes, with the bytes of each value and their offsets in the arena."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from thixo.graph.control import graphs_in, product_in
from thixo.graph.control_types import bind_sizes
from thixo.graph.ir import Node, Type, Value
from thixo.schedule.cost import declared_flops, near_seconds
from thixo.schedule.course import Course, Lane, Places, pieces_of, places
from thixo.schedule.flow import ARENA, DYNAMIC, aligned
from thixo.schedule.lanes import ALONE, side_by_side, without
from thixo.symbolic import Dim

if TYPE_CHECKING:
    from thixo.schedule.scheduled import Schedule

# Nodes run side by side where that needs no more than this times the memory, or no more than so many bytes more.
MOST = 1.25
ALWAYS = 1 << 20


@dataclass
class Region:
    """The part of an arena that belongs to the graphs inside of a node, while it runs.

    The arenas of all its graphs begin at `offset`. A loop keeps its state behind them, since the old one goes in while
    the new one comes out; a while loop's verdict lies behind the arena of its test. `results` has these places, for each graph,
    counted from the beginning of the outer arena.
    """

    offset: int
    bytes: int
    plans: list[Plan]
    results: list[list[int]]


class Plan:
    """A schedule for known sizes: how many bytes each value has, and where in the arena it lies.

    >>> from thixo.schedule import schedule
    >>> graph = tx.jit.trace(lambda x: x.exp().sum(), tx.ones(10)).graph
    >>> plan = schedule(graph).bind({"n": 100})
    >>> {value.name: (plan.offset[value], plan.bytes[value]) for value in plan.offset}
    {'exp': (0, 400)}
    """

    def __init__(self, schedule: Schedule, sizes: dict[str, int]) -> None:
        self.schedule = schedule
        self.sizes = sizes
        self.bytes: dict[Value, int] = {}  # of what has memory of its own and a known size
        self.offset: dict[Value, int] = {}  # of what has memory in the arena, results in place too
        self.regions: dict[Node, Region] = {}
        self.needs: dict[str, int] | None = None  # of a program that was made of it, in bytes
        self._bytes: dict[int, int] = {}
        self._place()

    def _place(self) -> None:
        one = self.schedule
        flow = one._flow
        known = self._bytes
        for value, state in zip(flow.root, flow.state, strict=True):
            if state != DYNAMIC:
                found = known.get(id(value.type))
                self.bytes[value] = self.bytes_of(value.type) if found is None else found
        for node in one.order:
            region = self._region(node) if node.op.kind == "control" else None
            if region is not None:
                self.regions[node] = region
        course = one._course
        chosen = self._places(course)
        beside = self._side_by_side() if one.side_by_side and not one.dynamic else None
        if beside is not None:
            wider = self._places(beside)
            if wider.arena <= max(chosen.arena * MOST, chosen.arena + ALWAYS):
                course, chosen = beside, wider
        self._take(course, chosen)

    def _places(self, course: Course) -> Places:
        flow = self.schedule._flow
        size = {
            f: aligned(self.bytes[v])
            for f, (v, state) in enumerate(zip(flow.root, flow.state, strict=True))
            if state == ARENA
        }
        work = [
            (flow.nodes[number], position, self.regions[flow.nodes[number]].bytes)
            for position, number in enumerate(course.numbers if self.regions else ())
            if flow.nodes[number] in self.regions
        ]
        return places(course, *pieces_of(course, size, work))

    def _take(self, course: Course, found: Places) -> None:
        flow, slot = self.schedule._flow, course.sharing.slot
        self._course = course
        self.order: list[Node] = [flow.nodes[number] for number in course.numbers]
        self.sections = list(course.sections)  # nodes that run side by side
        self.arena, self.peak = found.arena, found.peak
        for family, value in enumerate(flow.root):
            if flow.state[family] == ARENA:
                self.offset[value] = found.offset[slot[family]]
        for node, region in self.regions.items():
            region.offset = found.offset[node]
            region.results = [[o + region.offset for o in r] for r in region.results]

    # ---- side by side

    def _side_by_side(self) -> Course | None:
        """The course in which small nodes run several at once, where that pays."""
        one, flow = self.schedule, self.schedule._flow
        nodes = flow.nodes
        seconds = [self._seconds(node) for node in nodes]
        alone = [
            s >= ALONE or node.op.random or (node.op.kind == "control" and not self._is_short(node))
            for node, s in zip(nodes, seconds, strict=True)
        ]
        extra = len(flow.before) - len(nodes)  # the node that does nothing
        order, sections = side_by_side(
            flow, one._all_numbers(), seconds + [0.0] * extra, alone + [True] * extra
        )
        if not sections:
            return None
        if extra:
            order, sections = without(order, sections, len(nodes))
        return Course(flow, order, None, sections)

    def _seconds(self, node: Node) -> float:
        """About how long a node takes on one thread, if what it reads is in the cache."""
        op = node.op
        if op.kind == "view":
            return 0.0
        moved, known = 0, self._bytes
        for v in (*node.inputs, *node.outputs):
            moved += known.get(id(v.type)) or self.bytes_of(v.type)
        if op.kind == "control" and op.full_name != "fused":
            region = self.regions.get(node)
            inner = 0.0 if region is None else sum(plan.seconds for plan in region.plans)
            return near_seconds(0, moved) + inner * self._turns(node)
        item = node.outputs[0].type.dtype.itemsize
        elements = sum([self.bytes_of(v.type) for v in node.outputs]) / item
        others = elements * (len(node.args[0].nodes) if op.full_name == "fused" else 1)
        flops: float = declared_flops(node, self._size)
        if product_in(node) is not None:
            flops += 2 * self._size(node.args[1][0].type.shape[-1]) * elements
        return near_seconds(flops, moved, others, item)

    def _size(self, size: Any) -> int:
        return size.evaluate(self.sizes) if isinstance(size, Dim) else int(size)

    @cached_property
    def seconds(self) -> float:
        """About how long all nodes take, one after the other; long where the data decide it."""
        if self.schedule.dynamic:
            return ALONE
        return sum(map(self._seconds, self.schedule.order))

    def _turns(self, node: Node) -> float:
        if node.op.full_name != "scan":
            return 1.0
        return float(self._size(node.args[4]))

    def _is_short(self, node: Node) -> bool:
        """Whether what a node with graphs does is known: no loops that the data end, nothing that is seen outside."""
        if node.op.full_name == "fused":
            return True
        return node in self.regions and all(
            self.schedule.inner[id(g)].is_short for g in graphs_in(node)
        )

    def lane(self, position: int) -> Lane | None:
        """The lane in which the node at a position runs, if others run beside it."""
        return self._course.lane(position) if self.sections else None

    def widened(self, first: int, last: int) -> tuple[int, int]:
        """Positions between which memory is in use that nodes at these two use."""
        return self._course.widened(first, last) if self.sections else (first, last)

    @cached_property
    def lifetimes(self) -> dict[Value, tuple[int, int]]:
        """For each memory in the arena, by its first value: the positions between which it is in use."""
        root, course = self.schedule._flow.root, self._course
        return {root[f]: course.widened(*span) for f, span in course.lifetimes().items()}

    @cached_property
    def memory_of(self) -> dict[Value, Value]:
        """Values that lie in another's memory, and that other."""
        return self._course.memory_of()

    def bytes_of(self, type: Type) -> int:
        """The bytes of a value of some type of the graph."""
        known = self._bytes.get(id(type))
        if known is None:
            known = type.dtype.itemsize
            for size in type.shape:
                known *= size.evaluate(self.sizes) if isinstance(size, Dim) else size
            self._bytes[id(type)] = known
        return known

    def _region(self, node: Node) -> Region | None:
        """What the graphs inside of a node need; nothing where the data decide their sizes."""
        if node.op.kind != "control" or node.op.full_name == "fused":
            return None
        plans: list[Plan] = []
        for graph in graphs_in(node):
            inner = self.schedule.inner[id(graph)]
            if not inner.symbols and not self.schedule.dynamic:
                plans.append(inner.bind())
                continue
            types = self._given(node)
            if types is None:
                return None
            sizes = bind_sizes(graph, types, node.op.full_name)
            plans.append(inner.bind({name: int(sizes[name]) for name in inner.symbols}))
        if not plans:  # it prints
            return None
        results: list[list[int]] = [[] for _ in plans]
        end = max(plan.arena for plan in plans)
        if node.op.full_name == "while_loop":  # its verdict is read before the body runs
            results[0] = [plans[0].arena]
            end = max(end, plans[0].arena + aligned(1))
        if keeps_results(node):
            args = dict(zip((p.name for p in node.op.sig.params), node.args, strict=True))
            for value in plans[-1].schedule.graph.outputs[: len(args["state"])]:
                results[-1].append(end)
                end += aligned(plans[-1].bytes_of(value.type))
        return Region(0, end, plans, results)

    def _given(self, node: Node) -> list[Type] | None:
        """The types that the graphs of a node get, with numbers for sizes."""
        args = dict(zip((p.name for p in node.op.sig.params), node.args, strict=True))
        values: list[Any] = []
        for name in ("state", "slices", "captured", "inputs"):
            values += [(v, name == "slices") for v in args.get(name, ())]
        found = []
        for value, sliced in values:
            if value in self.schedule.dynamic:
                return None
            shape = [s.evaluate(self.sizes) if isinstance(s, Dim) else s for s in value.type.shape]
            found.append(Type(value.type.dtype, shape[1:] if sliced else shape, value.type.device))
        return found

    @cached_property
    def conflicts(self) -> list[tuple[Node, Node]]:
        """Pairs of nodes of which the first must be done before the second starts, since the second writes where the
        first reads or writes. With these, and what nodes read of each other, any order is safe."""
        from thixo.schedule.conflicts import memory_order

        return memory_order(self)

    def __str__(self) -> str:
        from thixo.schedule.show import plan_text

        return plan_text(self)

    def __repr__(self) -> str:
        return f"<Plan of graph {self.schedule.graph.name}: arena {self.arena} bytes, peak {self.peak}>"


def keeps_results(node: Node) -> bool:
    """Whether a node is a loop, whose state is kept from turn to turn behind the arenas of its graphs."""
    return node.op.full_name in ("while_loop", "scan")
