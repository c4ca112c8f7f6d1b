"""Equal layers become calls of one graph, so that everything after this is done for one of them.

The nodes of a deep model, of its gradient and of its optimizer are the same run of nodes over and over, with other inputs. A
node's colour is everything about it but which values it reads. A run repeats where colours are equal at some distance.
It is cut into blocks; those that read from each other and from outside in the same way are one graph.

What is seen through views is handed over, not the views: a result must be memory of its own. Who reads them from another block
looks anew. Whatever could be done with constants that differ from layer to layer is worth more than time, so those stay.

Calls that make new values of what the graph changes write them over the old ones, where all that such a call makes can be
written so and it cannot fail. Others are put in place again after all other passes (`put_in_place`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from thixo import _core
from thixo.graph.control import CALL
from thixo.graph.ir import Graph, Node, Type, Value, values_in, with_values
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.graph.text import node_text
from thixo.passes.clean import inlined, share_common
from thixo.passes.manager import Firing, graph_pass
from thixo.passes.sweep import sweep
from thixo.symbolic import Dim

BLOCKS = 16  # equal ones; of fewer all can as well be looked at
NODES = 1000  # in all of them
LEAST = 9  # nodes of one block: a smaller graph is put in place
DISTANCES = 24  # that are tried, those that were seen most often
SMALL = 16  # elements of a constant that may be compared


@graph_pass("repeats", first=True)
def join_repeats(graph: Graph, firings: list[Firing]) -> int:
    """Make equal layers calls of one graph, where there are many."""
    found = outlined(graph)
    for node in found.nodes:
        if node.op is CALL and found is not graph:
            firings.append(Firing("one of many equal layers", node_text(node), node.source))
    changes = 0 if found is graph else sum(n.op is CALL for n in found.nodes)
    graph.nodes = found.nodes
    return changes


def put_in_place(graph: Graph, firings: list[Firing]) -> int:
    """Inline calls that make new values of what a graph changes, where only single nodes can write over the old ones."""
    old = {new: old for old, new in graph.mutations.items()}
    writes = _Writes(old) if old else None

    def replace(node: Node) -> Sequence[Value] | None:
        if node.op is not CALL or writes is None or writes.over_its_inputs(node):
            return None
        firings.append(Firing("inline a call that changes something", node_text(node), node.source))
        return inlined(graph, node.args[0], node.args[1], node.source, node.outputs)

    changes = sweep(graph, replace)
    return changes + share_common.function(graph, firings) if changes else 0


class _Writes:
    """Which calls can write all new values that they make over what they are given."""

    def __init__(self, old: dict[Value, Value]) -> None:
        self.old = old
        self.failing: dict[int, bool] = {}
        self.granted: dict[Any, bool] = {}

    def over_its_inputs(self, node: Node) -> bool:
        from thixo.schedule.donations import can_fail, grant, wished
        from thixo.schedule.flow import Flow

        wanted = sum(v in self.old for v in node.outputs)
        if not wanted:
            return True
        pairs, body = tuple(wished(node, self.old)), node.args[0]
        if len(pairs) < wanted or can_fail(node, self.failing):
            return False
        key = (id(body), pairs)
        if key not in self.granted:
            flow = Flow(body, [0] * len(body.nodes))
            grant(flow, pairs)
            self.granted[key] = len(flow.granted) == wanted
        return self.granted[key]


def outlined(graph: Graph) -> Graph:
    """A graph with calls in the place of its equal layers, which shares nodes and values with it; itself if there are none."""
    if len(graph.nodes) < NODES:
        return graph
    return _Outline(graph).run()


class _Run(NamedTuple):
    """Nodes that are equal at a distance, from the first to the last."""

    begin: int
    end: int
    distance: int


class _Block(NamedTuple):
    """Nodes that may become a call: views of what others make, then those of the run."""

    nodes: list[Node]
    own: int  # how many of them are not those of others
    inputs: list[Value]
    form: tuple[int, bytes]  # equal for blocks that read in the same way


class _Outline:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes = graph.nodes
        self.results = set(graph.results())
        # For each node a number for all about it but which values it reads, and those; who makes each value.
        self.colours: list[int]
        self.reads: list[list[Value]]
        self.maker: dict[Value, int]
        self.colours, self.reads, self.maker = _core.colours(
            [*graph.inputs, *graph.constants], graph.nodes, _Types().shared, _key
        )

    def run(self) -> Graph:
        runs = self._runs()
        spans = [s for run in runs for s in self._spans(run)]
        if not spans:
            return self.graph
        self.inside = [-1] * len(self.nodes)  # the span that a node is in
        for number, (begin, end) in enumerate(spans):
            self.inside[begin:end] = [number] * (end - begin)
        blocks = [self._block(begin, end) for begin, end in spans]
        alike: dict[Any, list[int]] = {}
        for number, block in enumerate(blocks):
            alike.setdefault(block.form, []).append(number)
        chosen = [g for g in alike.values() if len(g) >= BLOCKS]
        while True:
            wanted = self._wanted(blocks, spans, chosen)
            calls = [
                self._calls([blocks[n] for n in group], group, places)
                for group, places in zip(chosen, wanted, strict=True)
            ]
            if all(calls):
                break
            # Those that stay as they are read what they read, not what a call would: others must hand that out too.
            chosen = [group for group, made in zip(chosen, calls, strict=True) if made]
        if not chosen:
            return self.graph
        call_of = {
            number: call for made in calls for number, call in made
        }  # by the number of a span
        return self._with_calls(spans, call_of)

    def _with_calls(self, spans: list[tuple[int, int]], calls: dict[int, Node]) -> Graph:
        """The graph with calls in the place of some spans."""
        made = Graph(self.graph.name)
        for part in ("inputs", "constants", "guards", "outputs", "mutations", "_names"):
            setattr(made, part, getattr(self.graph, part))
        at = 0
        for number in sorted(calls, key=spans.__getitem__):
            begin, end = spans[number]
            made.nodes += (*self.nodes[at:begin], calls[number])
            at = end
        made.nodes += self.nodes[at:]
        return made

    # ---- runs of nodes that repeat

    def _runs(self) -> list[_Run]:
        """Runs that do not overlap, long ones first."""
        array = np.array(self.colours)
        order = np.argsort(array, kind="stable")
        again = order[1:][
            array[order[1:]] == array[order[:-1]]
        ]  # places of colours that were there before
        before = order[:-1][array[order[1:]] == array[order[:-1]]]
        distances, counts = np.unique(again - before, return_counts=True)
        often = np.argsort(-counts, kind="stable")[:DISTANCES]
        found: list[_Run] = []
        for distance, count in zip(distances[often].tolist(), counts[often].tolist(), strict=True):
            if distance < LEAST or count < BLOCKS - 1:
                continue
            same = np.zeros(len(array) - distance + 2, dtype=np.int8)
            same[1:-1] = array[:-distance] == array[distance:]
            edges = np.flatnonzero(np.diff(same)).reshape(-1, 2).tolist()
            for begin, end in edges:
                if (end - begin) // distance >= BLOCKS - 1:
                    found.append(_Run(begin, end + distance, distance))
        found.sort(key=lambda r: (r.begin - r.end, r.distance))
        taken = np.zeros(len(array), dtype=bool)
        kept = []
        for run in found:
            if not taken[run.begin : run.end].any() and run.end - run.begin >= NODES // 4:
                taken[run.begin : run.end] = True
                kept.append(run)
        return kept if taken.sum() >= NODES else []

    def _spans(self, run: _Run) -> Iterator[tuple[int, int]]:
        """A run cut into blocks, where the fewest values go from one to the next."""
        begin, end, distance = run
        crossing = [0] * (3 * distance + 1)
        for i in range(begin, min(end, begin + 3 * distance)):
            for v in dict.fromkeys(self.reads[i]):
                m = self.maker.get(v, -1)
                if m >= begin:
                    crossing[m - begin + 1] += 1
                    crossing[i - begin + 1] -= 1
        for i in range(1, len(crossing)):
            crossing[i] += crossing[i - 1]
        first = min(range(distance), key=lambda o: (crossing[distance + o], o))
        for at in range(begin + first, end - distance + 1, distance):
            yield at, at + distance

    # ---- blocks

    def _seen_from(self, i: int, number: int) -> list[int]:
        """The views that lead from memory of another span to this value, outermost first; none if it is not one."""
        found: list[int] = []
        while i >= 0 and self.inside[i] not in (-1, number) and self._is_view(i):
            found.append(i)
            i = self.maker.get(self.nodes[i].args[0], -1)
        return found[::-1]

    def _is_view(self, i: int) -> bool:
        node = self.nodes[i]
        if node.op.full_name == "reshape":  # it copies what does not lie in order
            m = self.maker.get(node.args[0], -1)
            return m < 0 or self.nodes[m].op.kind != "view" or self.nodes[m].op.keeps_axes
        return bool(node.op.kind == "view") and next(values_in(node.args[1:]), None) is None

    def _block(self, begin: int, end: int) -> _Block:
        number = self.inside[begin]
        places = list(range(begin, end))
        inputs, form = _core.block_form(self.nodes, self.reads, self.colours, places)
        views: dict[int, None] = {}
        for m in map(self.maker.get, inputs):
            if m is not None and self.inside[m] >= 0 and self._is_view(m):
                views.update(dict.fromkeys(self._seen_from(m, number)))
        if views:
            places = [*views, *places]
            inputs, form = _core.block_form(self.nodes, self.reads, self.colours, places)
        return _Block([self.nodes[i] for i in places], end - begin, inputs, (len(views), form))

    def _wanted(
        self, blocks: list[_Block], spans: list[tuple[int, int]], chosen: list[list[int]]
    ) -> list[set[tuple[int, int]]]:
        """For each group of blocks which results others read, if these blocks become calls: of which node, and which of its."""
        group = {number: i for i, numbers in enumerate(chosen) for number in numbers}
        read = set(self.results)
        at = 0
        for number in sorted(group, key=spans.__getitem__):
            read.update(blocks[number].inputs)
            read.update(*self.reads[at : spans[number][0]])
            at = spans[number][1]
        read.update(*self.reads[at:])
        found: list[set[tuple[int, int]]] = [set() for _ in chosen]
        for v, m in zip(read, map(self.maker.get, read), strict=True):
            number = -1 if m is None else self.inside[m]
            if m is not None and number in group:
                outputs = self.nodes[m].outputs
                which = 0 if len(outputs) == 1 else outputs.index(v)
                found[group[number]].add((m - spans[number][0], which))
        return found

    def _calls(
        self, blocks: list[_Block], numbers: list[int], wanted: set[tuple[int, int]]
    ) -> list[tuple[int, Node]]:
        """A call for each of some blocks that are equal; none where one graph does not do."""
        fixed = self._constants(blocks)
        if fixed is None:
            return []
        first = blocks[0]
        skipped = len(first.nodes) - first.own
        places = [(place + skipped, k) for place, k in sorted(wanted)]
        body = self._body(first, fixed, places)
        if body is None:
            return []
        made = []
        for number, block in zip(numbers, blocks, strict=True):
            given = block.inputs
            if fixed:
                given = [v for i, v in enumerate(given) if i not in fixed]
            outputs = [block.nodes[place].outputs[k] for place, k in places]
            made.append((number, Node(CALL, (body, given), outputs, block.nodes[skipped].source)))
        return made

    def _constants(self, blocks: list[_Block]) -> set[int] | None:
        """Which inputs are the same constant for all blocks; None if there are constants that differ."""
        constants, changed = self.graph.constants, self.graph.mutations
        found = set()
        for i in range(len(blocks[0].inputs)):
            values = [b.inputs[i] for b in blocks]
            if constants.keys().isdisjoint(values):
                continue
            if all(v is values[0] for v in values):
                if isinstance(constants[values[0]], np.ndarray) and values[0] not in changed:
                    found.add(i)
                continue
            data = [constants.get(v) for v in values]
            if not all(_same_number(data[0], d) for d in data):
                return None
            found.add(i)
        return found

    def _body(self, block: _Block, fixed: set[int], places: list[tuple[int, int]]) -> Graph | None:
        names = dict.fromkeys(n.op.sig.name for n in block.nodes if n.op.kind != "view")
        body = Graph("_".join(["repeated", *list(names)[:4]]))
        new: dict[Value, Value] = {}
        for i, v in enumerate(block.inputs):
            if i in fixed:
                new[v] = body.constant(v.name, self.graph.constants[v])
            else:
                new[v] = body.input(v.name, v.type)
        bound = {symbol_name(s) for v in body.inputs for s in v.type.shape}
        for node in block.nodes:
            sizes = sizes_in([*node.args, *(v.type.shape for v in node.outputs)])
            if any(name not in bound for s in sizes for name in s.symbols):
                return None  # a size that only others know, or that the data decide
            args = with_values(node.args, new)
            types = [v.type for v in node.outputs]
            made = body.add(node.op, args, types, [v.name for v in node.outputs], node.source)
            new.update(zip(node.outputs, made.outputs, strict=True))
        if any(
            name not in bound for v in body.inputs for s in v.type.shape for name in symbols_in(s)
        ):
            return None
        body.guards = [
            g
            for g in self.graph.guards
            if all(n in bound for s in (g.left, g.right) for n in symbols_in(s))
        ]
        body.outputs = [new[block.nodes[place].outputs[k]] for place, k in places]
        return body


def _same_number(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.size > SMALL:
        return False
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class _Types:
    """Equal types become one object, so that they are compared faster, here and by all that follows."""

    def __init__(self) -> None:
        self.equal: dict[Any, Type] = {}

    def shared(self, type: Type) -> Type:
        """The object that stands for a type."""
        shape = tuple([str(s) if isinstance(s, Dim) else s for s in type.shape])
        return self.equal.setdefault((type.dtype.code, shape, str(type.device)), type)


def _key(a: Any) -> Any:
    """What tells an argument from others that is no value, number, text, list or tuple."""
    if a.__class__ is Graph:
        return id(a)
    if a.__class__ is slice:
        return slice, _part_key(a.start), _part_key(a.stop), _part_key(a.step)
    return a.__class__, str(a)


def _part_key(a: Any) -> Any:
    return id(a.type) if a.__class__ is Value else _key(a)
