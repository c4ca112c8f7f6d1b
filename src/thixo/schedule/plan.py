"""Schedule: the order of a graph's nodes and the lifetimes of its values. Plan: the same for known sizes, with offsets."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thixo.errors import ArgumentError, describe
from thixo.graph.control import graphs_in, product_in, subgraphs
from thixo.graph.control_types import bind_sizes
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.schedule.cost import NOTHING, Cost, control_cost, cost_of, declared_flops, near_seconds
from thixo.schedule.course import Course, Lane, Places, pieces_of, places
from thixo.schedule.donations import Pair, donate, grant, wishes
from thixo.schedule.flow import ARENA, DYNAMIC, OUTSIDE, Flow, aligned
from thixo.schedule.lanes import ALONE, side_by_side, without
from thixo.schedule.order import lower_peak
from thixo.symbolic import Dim

MANY_OBJECTS = 2000  # that are new; Python would look through all that there are
KEPT_PLANS = 64  # of one schedule, for sizes seen before

# Nodes run side by side where that needs no more than this times the memory, or no more than so many bytes more.
MOST = 1.25
ALWAYS = 1 << 20


def schedule(graph: Graph, side_by_side: bool = True) -> Schedule:
    """An order of a graph's nodes that keeps little alive, and how long each value lives.

    Its plans let small nodes that do not wait for each other run side by side, unless told otherwise.

    >>> graph = tx.jit.trace(lambda x: (x.exp() + x.tanh()).sum(), tx.ones(1000)).graph
    >>> found = schedule(graph)
    >>> [node.op.full_name for node in found.order]
    ['exp', 'tanh', 'add', 'sum']
    >>> found.bind({"n": 1000}).arena
    8064
    """
    known: dict[int, Schedule] = {}
    wished = wishes(graph)
    with without_collecting():
        for inner in subgraphs(graph):
            known[id(inner)] = Schedule(inner, known, side_by_side, wished.get(id(inner), ()))
        return Schedule(graph, known, side_by_side)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Large graphs make millions of small lists, none in a cycle: looking for cycles would take half of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if gc.get_count()[0] > MANY_OBJECTS and not gc.get_freeze_count():
                _make_old()
            gc.enable()


_compiled = itertools.count(1)


def _make_old() -> None:
    """What was made lives long: count it as old now, in place of looking through all of it. Now and then old garbage goes."""
    if next(_compiled) % 8:
        gc.freeze()
        gc.unfreeze()
    else:
        gc.collect()


class Schedule:
    """What is known of a graph's run before sizes are: `schedule` makes it.

    >>> graph = tx.jit.trace(lambda x: x.exp().neg().t().contiguous(), tx.ones(2, 3)).graph
    >>> found = schedule(graph)
    >>> {a.name: b.name for a, b in found.memory_of.items()}
    {'neg': 'exp', 'transpose': 'exp'}
    """

    def __init__(
        self,
        graph: Graph,
        known: Mapping[int, Schedule] | None = None,
        side_by_side: bool = True,
        wished: Iterable[Pair] = (),
    ) -> None:
        known = known or {}
        self.graph = graph
        self.side_by_side = side_by_side
        self.inner: dict[int, Schedule] = {}  # by the identity of a graph inside of a node
        for node in graph.nodes:
            for one in graphs_in(node):
                self.inner[id(one)] = known[id(one)]
        self._flow = flow = Flow(graph, [self._work(node) for node in graph.nodes])
        donate(flow, lambda called: self.inner[id(called)].granted)
        grant(flow, wished)
        self._course = Course(flow, *lower_peak(flow))
        self._numbers, self._sharing = self._course.numbers, self._course.sharing
        self.order: list[Node] = [graph.nodes[i] for i in self._numbers]
        self._plans: dict[tuple[int, ...], Plan] = {}

    def _work(self, node: Node) -> int:
        """Guessed bytes of a node's region."""
        if node.op.kind != "control" or node.op.full_name == "fused":
            return 0
        keeps = _keeps_results(node)
        return max((self.inner[id(g)]._guessed(keeps) for g in graphs_in(node)), default=0)

    @property
    def guessed_peak(self) -> int:
        """The greatest sum of living bytes at the sizes of the example."""
        return self._sharing.peak

    def _guessed(self, with_results: bool) -> int:
        flow = self._flow
        total = self.guessed_peak
        if with_results:
            total += sum(aligned(flow._size(v.type)[0]) for v in self.graph.outputs)
        return total

    # ---- who shares memory

    @cached_property
    def memory_of(self) -> dict[Value, Value]:
        """Values that lie in another's memory, and that other: views, and results that go over what is read last."""
        return _memory_of(self._course)

    @cached_property
    def view_of(self) -> dict[Value, Value]:
        """Values that are views (also reshapes that copy nothing), and the value whose memory they show."""
        flow = self._flow
        root = flow.root
        return {value: root[f] for value, f in flow.family.items() if root[f] is not value}

    @cached_property
    def lifetimes(self) -> dict[Value, tuple[int, int]]:
        """For each memory in the arena, by its first value: the positions of its first and last node."""
        return {self._flow.root[f]: span for f, span in self._course.lifetimes().items()}

    @cached_property
    def dynamic(self) -> set[Value]:
        """Values whose size the data decide; their memory comes when they do."""
        flow = self._flow
        if DYNAMIC not in flow.state:
            return set(flow.dynamic)
        return {v for v, f in flow.family.items() if flow.state[f] == DYNAMIC} | flow.dynamic

    @cached_property
    def results(self) -> set[Value]:
        """Values whose memory outlives the run: what is returned, or what that is a view of."""
        flow = self._flow
        wanted = {flow.family[v] for v in self.graph.results()}
        return {flow.root[f] for f in wanted if flow.state[f] != OUTSIDE}

    @cached_property
    def donated(self) -> dict[Value, Value]:
        """Inputs and constants that change, with the new value that may be written into their memory.

        Whoever reads the old value, and whatever can fail, comes before in the order.
        """
        flow = self._flow
        return {flow.root[old]: flow.root[new] for new, old in flow.donations.items()}

    @cached_property
    def replaced(self) -> dict[Value, Value]:
        """Inputs and constants that change in some lines only, with the new value, which may be the old memory from the node
        on that makes it. Whoever reads the old value comes before; what can fail may come after, and the lines are
        put back then.
        """
        flow = self._flow
        return {flow.root[old]: flow.root[new] for new, old in flow.replacements.items()}

    @property
    def granted(self) -> set[Pair]:
        """Which results a call of this graph may write over which of its inputs, by their numbers."""
        return self._flow.granted

    @cached_property
    def is_short(self) -> bool:
        """Whether it has no loops that the data end, and does nothing that is seen outside, at any depth."""
        return not any(
            n.op.random or n.op.full_name == "while_loop"
            for g in (self.graph, *subgraphs(self.graph))
            for n in g.nodes
        )

    # ---- what it costs

    @cached_property
    def cost(self) -> dict[Node, Cost]:
        """The guessed cost of each node."""
        return {node: self._cost(node) for node in self.order}

    def _cost(self, node: Node) -> Cost:
        if node.op.kind != "control":
            return cost_of(node)
        return control_cost(node, [self.inner[id(g)].total for g in graphs_in(node)])

    @cached_property
    def total(self) -> Cost:
        """The cost of all nodes."""
        return Cost(*map(sum, zip(NOTHING, *self.cost.values(), strict=True)))

    @cached_property
    def critical(self) -> dict[Node, float]:
        """Seconds from the start of each node to the end of the longest chain of nodes after it."""
        flow = self._flow
        nodes = self.graph.nodes
        longest = [0.0] * len(flow.before)
        found = {}
        for number in reversed(self._all_numbers()):
            own = self.cost[nodes[number]].seconds if number < len(nodes) else 0.0
            longest[number] += own
            for before in flow.before[number]:
                longest[before] = max(longest[before], longest[number])
            if number < len(nodes):
                found[nodes[number]] = longest[number]
        return found

    def _all_numbers(self) -> list[int]:
        """The order with the node that does nothing where it belongs."""
        extra = range(len(self.graph.nodes), len(self._flow.before))
        numbers = list(self._numbers)
        for number in extra:
            before = self._flow.before[number]
            place = max((p for p, n in enumerate(numbers) if n in before), default=-1)
            numbers.insert(place + 1, number)
        return numbers

    @cached_property
    def needs(self) -> dict[Node, list[Node]]:
        """For each node those that must run before it, whatever memory they use."""
        flow, nodes = self._flow, self.graph.nodes
        found = {}
        for number, node in enumerate(nodes):
            before = sorted(flow.before[number])
            if before and before[-1] >= len(nodes):  # stands for all that can fail
                before = sorted({*before[:-1], *flow.before[before[-1]]})
            found[node] = [nodes[i] for i in before]
        return found

    # ---- sizes

    @cached_property
    def symbols(self) -> list[str]:
        """The sizes that a plan needs, by name."""
        return sorted(self._flow._bound)

    def bind(self, sizes: Mapping[str, int] | None = None) -> Plan:
        """The plan for these sizes, by the names they have in the graph.

        >>> graph = tx.jit.trace(lambda x: x.exp().sum(), tx.ones(10)).graph
        >>> schedule(graph).bind({"n": 100})
        <Plan of graph traced: arena 448 bytes, peak 448>
        """
        given = sizes or {}
        for name, size in given.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 0:
                raise ArgumentError(
                    f"plan of graph {self.graph.name}: a size is a number, 0 or more; {name} is {describe(size)}"
                )
        missing = [name for name in self.symbols if name not in given]
        if missing:
            raise ArgumentError(
                f"plan of graph {self.graph.name}: no size for {', '.join(missing)}; "
                f"it needs {', '.join(self.symbols)}"
            )
        key = tuple(int(given[name]) for name in self.symbols)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= KEPT_PLANS:
                del self._plans[next(iter(self._plans))]
            with without_collecting():
                plan = Plan(self, dict(zip(self.symbols, key, strict=True)))
            self._plans[key] = plan
        return plan

    def __str__(self) -> str:
        from thixo.schedule.show import schedule_text

        return schedule_text(self)

    def __repr__(self) -> str:
        return f"<Schedule of graph {self.graph.name}: {len(self.order)} nodes>"


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
        return _memory_of(self._course)

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
        if _keeps_results(node):
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


def _memory_of(course: Course) -> dict[Value, Value]:
    flow, slot = course.flow, course.sharing.slot
    found = {}
    for value, family in flow.family.items():
        first = flow.root[slot[family]]
        if first is not value:
            found[value] = first
    return found


def _keeps_results(node: Node) -> bool:
    return node.op.full_name in ("while_loop", "scan")
