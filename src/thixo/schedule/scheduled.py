"""Schedule: the order of a graph's nodes and the lifetimes of its values, before sizes are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from thixo.errors import ArgumentError, describe
from thixo.graph.control import graphs_in, subgraphs
from thixo.graph.ir import Graph, Node, Value
from thixo.schedule.collecting import without_collecting
from thixo.schedule.cost import NOTHING, Cost, control_cost, cost_of
from thixo.schedule.course import Course
from thixo.schedule.donations import Pair, donate, grant, wishes
from thixo.schedule.flow import DYNAMIC, OUTSIDE, Flow, aligned
from thixo.schedule.order import lower_peak
from thixo.schedule.plan import Plan, keeps_results

KEPT_PLANS = 64  # of one schedule, for sizes seen before


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
        keeps = keeps_results(node)
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
        return self._course.memory_of()

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
