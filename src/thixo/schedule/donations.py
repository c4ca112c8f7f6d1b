"""New values that are written over the old ones: who may, and what must run before.

The given order of nodes decides, so that no two wishes contradict each other. A call writes a result over one of its inputs
where its graph allows that: whoever calls wishes it (`wishes`), the graph that is called grants it (`grant`), and its own
readers of that input then come before.
"""

from collections.abc import Callable, Iterable, Mapping

from thixo.graph.control import CALL, graphs_in
from thixo.graph.ir import Graph, Node, Value
from thixo.schedule.flow import RESULT, Flow

Pair = tuple[int, int]  # an input of a graph, and the result that goes over it


def wishes(graph: Graph) -> dict[int, set[Pair]]:
    """Which results of called graphs, by their identity, are new values of what they are given."""
    found: dict[int, set[Pair]] = {}
    if graph.mutations:
        old = {new: old for old, new in graph.mutations.items()}
        for node in graph.nodes:
            if node.op is CALL:
                for pair in wished(node, old):
                    found.setdefault(id(node.args[0]), set()).add(pair)
    return found


def wished(node: Node, old: Mapping[Value, Value]) -> list[Pair]:
    """The results of a call that are new values of what it is given; `old` has the old values, by the new ones."""
    changed = [(k, old[v]) for k, v in enumerate(node.outputs) if v in old]
    if not changed:
        return []
    at = {v: i for i, v in enumerate(node.args[1])}
    return [(at[v], k) for k, v in changed if v in at]


def grant(flow: Flow, pairs: Iterable[Pair]) -> None:
    """Let results of a called graph be written over its inputs: all its nodes that read one come before."""
    graph = flow.graph
    values = [(graph.inputs[i], graph.outputs[k], (i, k)) for i, k in sorted(pairs)]
    if not values:
        return
    rules = _Rules(flow, {old for old, _, _ in values})
    for old, new, pair in values:
        if rules.allow(old, new):
            rules.keep_order(old, new)
            flow.granted.add(pair)


def donate(flow: Flow, granted: Callable[[Graph], set[Pair]]) -> None:
    """New values of inputs and constants that may be written over the old ones: all who read those come before,
    and so does whatever can fail."""
    graph, nodes = flow.graph, flow.nodes
    if not graph.mutations:
        return
    rules = _Rules(flow, set(graph.mutations))
    known: dict[int, bool] = {}
    failing = [i for i, n in enumerate(nodes) if can_fail(n, known)]
    last_failing = failing[-1] if failing else -1
    called = _called(graph, granted)
    taken = []
    for old, new in graph.mutations.items():
        maker = flow.maker.get(new, -1)
        if maker < 0 or not rules.are_apart(old, new):
            continue
        there, here = flow.family[old], flow.family[new]
        if nodes[maker].op.full_name == "index_copy" and rules.replaces_lines(old, new):
            flow.replacements[here] = there
            rules.keep_order(old, new)
            continue
        if maker <= last_failing:
            continue
        if rules.comes_last(old, new, new in called):
            flow.donations[here] = there
            rules.keep_order(old, new)
            taken.append(maker)
    if taken and failing:
        # One node that does nothing stands between all that can fail and all that overwrites.
        barrier = len(nodes)
        flow.before.append(set(failing))
        flow.reads.append(())
        flow.makes.append(())
        flow.reuse.append([])
        flow.work = [*flow.work, 0]
        for maker in taken:
            flow.before[maker].add(barrier)


def _called(graph: Graph, granted: Callable[[Graph], set[Pair]]) -> set[Value]:
    """New values that calls make where the old ones are, as the graphs that they call allow."""
    old = {new: old for old, new in graph.mutations.items()}
    found: set[Value] = set()
    for node in graph.nodes:
        if node.op is CALL:
            allowed = granted(node.args[0])
            found.update(node.outputs[k] for i, k in wished(node, old) if (i, k) in allowed)
    return found


class _Rules:
    """When a value may be written over another one."""

    def __init__(self, flow: Flow, values: set[Value]) -> None:
        self.flow = flow
        results = flow.graph.results()
        self.counts: dict[Value, int] = {}
        for value in results:
            self.counts[value] = self.counts.get(value, 0) + 1
        self.readers, seen_as = _readers(flow, values)
        # A reshape of what comes from outside may be a look at it.
        self.results = {flow.family[v] for v in results if v in flow.family}
        self.results |= {flow.family[seen_as[v]] for v in results if v in seen_as}

    def are_apart(self, old: Value, new: Value) -> bool:
        """Whether the new value is made once, and the old one not returned."""
        flow = self.flow
        if self.counts[new] > 1 or (old.type is not new.type and old.type != new.type):
            return False
        there, here = flow.family[old], flow.family[new]
        return flow.root[here] is new and there not in self.results and flow.state[here] == RESULT

    def allow(self, old: Value, new: Value) -> bool:
        """Whether a node may write the new value where the old one is."""
        return new in self.flow.maker and self.are_apart(old, new) and self.comes_last(old, new)

    def comes_last(self, old: Value, new: Value, called: bool = False) -> bool:
        """Whether nobody reads the old value after its place is taken; `called` if a call does so that is allowed to."""
        flow, readers = self.flow, self.readers[old]
        maker = flow.maker[new]
        if not readers or readers[-1] != maker:  # they are in order
            return not readers or readers[-1] < maker
        if called:
            return readers.count(maker) == 1
        there, here = flow.family[old], flow.family[new]
        return any(f == here and there in fit for f, fit in flow.reuse[maker])

    def keep_order(self, old: Value, new: Value) -> None:
        """Whoever reads the old value comes before who makes the new one."""
        maker, readers = self.flow.maker[new], self.readers[old]
        if readers != [maker]:
            self.flow.before[maker].update(r for r in readers if r != maker)

    def replaces_lines(self, old: Value, new: Value) -> bool:
        """Whether an `index_copy` gives the old value with some lines replaced, and nobody reads the old one later or beside.

        Such a write can be undone for little memory, so it need not wait for what can fail.
        """
        maker = self.flow.maker[new]
        node, readers = self.flow.nodes[maker], self.readers[old]
        return (
            node.args[0] is old and readers.count(maker) == 1 and all(r <= maker for r in readers)
        )


def _readers(flow: Flow, values: set[Value]) -> tuple[dict[Value, list[int]], dict[Value, Value]]:
    """Who reads these values, also through views and through reshapes that may be views; and whose views there are."""
    origin: dict[Value, Value] = {v: v for v in values}
    found: dict[Value, list[int]] = {v: [] for v in values}
    for number, node in enumerate(flow.nodes):
        for value in node.inputs:
            if value in origin:
                found[origin[value]].append(number)
        source = node.args[0] if node.args else None
        may_be_view = node.op.kind == "view" or node.op.full_name in ("reshape", "detach")
        if may_be_view and isinstance(source, Value) and source in origin:
            origin.update(dict.fromkeys(node.outputs, origin[source]))
    return found, origin


def can_fail(node: Node, known: dict[int, bool] | None = None) -> bool:
    """Whether values, and not only types, may make a node raise; `known` has what was found of graphs, by their identity."""
    known = {} if known is None else known
    if node.op.kind == "control":
        if not node.outputs:
            return True  # it is there for what it does: it checks, or prints to a file that may be closed
        for graph in graphs_in(node):
            if id(graph) not in known:
                known[id(graph)] = any(can_fail(n, known) for n in graph.nodes)
            if known[id(graph)]:
                return True
        return False
    return not (node.op.kind == "view" or getattr(node.op, "total", False))
