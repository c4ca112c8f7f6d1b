"""Control flow in the graph: operators whose arguments are graphs.

A graph that stands in an argument is closed: what it needs comes in through its inputs, and its symbolic sizes
are its own, bound by the types it is given. One graph may stand in many nodes.

    call(graph, inputs)                              what the graph makes of the inputs
    fused(graph, inputs)                             the same; the graph is to become one kernel
    cond(pred, then, other, inputs)                  one of two graphs
    switch(index, branches, inputs)                  one of several; the last for an index out of range
    while_loop(test, body, state, captured, limit)   body while test says so, at most `limit` times
    scan(body, state, slices, captured, length)      body once for each slice along the first axis

A body takes the state, then one slice of each, then what is captured, which stays as it is. It gives the new state, then
results that are stacked along a new first axis: of a while loop as long as the number of its turns, which the data decide.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thixo.dtype import bool as bool_
from thixo.dtype import int64
from thixo.errors import GraphError, ShapeError
from thixo.graph.control_types import alternatives, equal, instantiate, need_scalar, need_state
from thixo.graph.ir import Graph, Node, Type, Value
from thixo.ops.signature import parse
from thixo.symbolic import Size, fresh_dim

# Runs a graph on what an executor keeps for its inputs.
Run = Callable[[Graph, Sequence[Any]], list[Any]]

CONTROL: "dict[str, Control]" = {}


class Control:
    """An operator with graphs in its arguments: the types of its results, and what it does.

    `run` gets a function that runs a graph, and a machine that looks at values (truth, number, at, stack).
    """

    kind = "control"
    random = False  # its graphs may be: see `is_random`
    first_alone = None
    version = 1

    def __init__(
        self, signature: str, infer: Callable[..., list[Type]], run: Callable[..., list[Any]]
    ) -> None:
        self.sig = parse(signature)
        self.full_name = self.sig.name
        self.infer = infer
        self.run = run
        CONTROL[self.full_name] = self

    def __repr__(self) -> str:
        return f"<control {self.sig.text}>"


def _call_types(graph: Graph, inputs: Sequence[Any]) -> list[Type]:
    return instantiate(graph, [v.type for v in inputs], "call")


def _call(run: Run, machine: Any, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    return run(graph, inputs)


CALL = Control("call(graph: graph, inputs: tensors) -> tensors", _call_types, _call)


def _fused_types(graph: Graph, inputs: Sequence[Any]) -> list[Type]:
    return instantiate(graph, [v.type for v in inputs], "fused")


# Whoever compiles makes one kernel of it (codegen/group.py); to all others it is a call.
FUSED = Control("fused(graph: graph, inputs: tensors) -> tensors", _fused_types, _call)

PRODUCTS = ("matmul", "nn.functional.linear")


def product_in(node: Node) -> Node | None:
    """The matrix product that a fused node begins with; a pointwise kernel on its result follows."""
    first = node.args[0].nodes[:1] if node.op is FUSED else ()
    return next((n for n in first if n.op.full_name in PRODUCTS), None)


def ends_of(body: Graph) -> Graph:
    """What follows the product in the body of a fused node: its first input is the product's result."""
    product, *nodes = body.nodes
    ends = Graph(f"{body.name}_end")
    read = {v for n in nodes for v in n.inputs}
    ends.inputs = [product.outputs[0], *(v for v in body.inputs if v in read)]
    ends.constants = {v: d for v, d in body.constants.items() if v in read}
    ends.nodes, ends.outputs = nodes, list(body.outputs)
    return ends


def simple_end(ends: Graph) -> tuple[Value | None, bool] | None:
    """What is added to a product, and whether relu follows, where that is all: tiles do it in registers. Else None."""
    value, nodes, added = ends.inputs[0], list(ends.nodes), None
    if nodes and nodes[0].op.full_name == "add":
        first, second, alpha = nodes.pop(0).args
        added = second if first is value else first
        if added is value or not isinstance(added, Value) or value not in (first, second):
            return None
        if alpha != 1 or added not in ends.inputs:
            return None
        value = ends.nodes[0].outputs[0]
    relu = [n.op.full_name for n in nodes] == ["relu"] and nodes[0].args[0] is value
    return (added, relu) if relu or not nodes else None


def _cond_types(pred: Any, then: Graph, other: Graph, inputs: Sequence[Any]) -> list[Type]:
    need_scalar(pred, bool_, "cond: pred")
    return alternatives([then, other], [v.type for v in inputs], "cond")


def _cond(
    run: Run, machine: Any, pred: Any, then: Graph, other: Graph, inputs: Sequence[Any]
) -> list[Any]:
    return run(then if machine.truth(pred) else other, inputs)


COND = Control(
    "cond(pred, then: graph, other: graph, inputs: tensors) -> tensors", _cond_types, _cond
)


def _switch_types(index: Any, branches: Sequence[Graph], inputs: Sequence[Any]) -> list[Type]:
    need_scalar(index, int64, "switch: index")
    if not branches:
        raise GraphError("switch: needs at least one branch, got none")
    return alternatives(branches, [v.type for v in inputs], "switch")


def _switch(
    run: Run, machine: Any, index: Any, branches: Sequence[Graph], inputs: Sequence[Any]
) -> list[Any]:
    number = machine.number(index)
    return run(branches[number if 0 <= number < len(branches) else -1], inputs)


SWITCH = Control(
    "switch(index, branches: graphs, inputs: tensors) -> tensors", _switch_types, _switch
)


def _while_types(
    test: Graph, body: Graph, state: Sequence[Any], captured: Sequence[Any], limit: int | None
) -> list[Type]:
    given = [v.type for v in (*state, *captured)]
    verdict = instantiate(test, given, "while_loop: test")
    if len(verdict) != 1 or verdict[0].dtype is not bool_ or verdict[0].shape != ():
        found = ", ".join(map(str, verdict))
        raise GraphError(f"while_loop: the test must give one bool[], gives {found or 'nothing'}")
    types = instantiate(body, given, "while_loop: body")
    kept = [v.type for v in state]  # by these very sizes: a turn may call them by equal ones
    need_state(kept, types[: len(kept)], "while_loop")
    steps = fresh_dim("steps", high=limit)
    return [*kept, *(_stacked(t, steps) for t in types[len(kept) :])]


def _stacked(type: Type, length: Size) -> Type:
    return Type(type.dtype, (length, *type.shape), type.device)


def _while(
    run: Run,
    machine: Any,
    test: Graph,
    body: Graph,
    state: Sequence[Any],
    captured: Sequence[Any],
    limit: int | None,
) -> list[Any]:
    now = list(state)
    rows: list[list[Any]] = []
    while (limit is None or len(rows) < limit) and machine.truth(run(test, [*now, *captured])[0]):
        made = run(body, [*now, *captured])
        now = made[: len(now)]
        rows.append(made[len(now) :])
    return [*now, *machine.stack(rows, len(now))]


WHILE_LOOP = Control(
    "while_loop(test: graph, body: graph, state: tensors, captured: tensors, *, "
    "limit: int? = None) -> tensors",
    _while_types,
    _while,
)


def _scan_types(
    body: Graph,
    state: Sequence[Any],
    slices: Sequence[Any],
    captured: Sequence[Any],
    length: Size,
    reverse: bool,
) -> list[Type]:
    for v in slices:
        if not v.type.shape or not equal(v.type.shape[0], length):
            raise ShapeError(f"scan: slices must have {length} along their first axis, got {v}")
    rows = [Type(v.type.dtype, v.type.shape[1:], v.type.device) for v in slices]
    kept = [v.type for v in state]
    types = instantiate(body, [*kept, *rows, *(v.type for v in captured)], "scan: body")
    need_state(kept, types[: len(kept)], "scan")
    return [*kept, *(_stacked(t, length) for t in types[len(kept) :])]


def _scan(
    run: Run,
    machine: Any,
    body: Graph,
    state: Sequence[Any],
    slices: Sequence[Any],
    captured: Sequence[Any],
    length: int,
    reverse: bool,
) -> list[Any]:
    now = list(state)
    rows: list[list[Any]] = []
    for i in reversed(range(length)) if reverse else range(length):
        made = run(body, [*now, *(machine.at(x, i) for x in slices), *captured])
        now = made[: len(now)]
        rows.append(made[len(now) :])
    if reverse:
        rows.reverse()
    return [*now, *machine.stack(rows, len(now))]


SCAN = Control(
    "scan(body: graph, state: tensors, slices: tensors, captured: tensors, *, "
    "length: int, reverse: bool = False) -> tensors",
    _scan_types,
    _scan,
)


# ---- graphs inside of nodes


def graphs_in(node: Node) -> Iterator[Graph]:
    """The graphs in a node's arguments."""
    if getattr(node.op, "kind", "") != "control":
        return
    if (node.op is CALL or node.op is FUSED) and len(node.args) == 2:
        yield node.args[0]
        return
    for p, a in zip(node.op.sig.params, node.args, strict=True):
        if p.kind == "graph":
            yield a
        elif p.kind == "graphs":
            yield from a


def subgraphs(graph: Graph) -> list[Graph]:
    """All graphs inside of a graph, each once, inner ones before those that they are part of."""
    found: dict[int, Graph] = {}
    stack: list[tuple[Graph, Iterator[Graph]]] = [(graph, _direct(graph))]
    around = {id(graph)}  # those on the stack
    while stack:
        at, inner = stack[-1]
        following = next(inner, None)
        if following is None:
            stack.pop()
            around.discard(id(at))
            if at is not graph:
                found.setdefault(id(at), at)
        elif id(following) not in found:
            if id(following) in around:
                raise GraphError(f"graph {following.name} is part of itself")
            around.add(id(following))
            stack.append((following, _direct(following)))
    return list(found.values())


FRAMES = 40  # calls of Python for one graph inside of another, at most
SHALLOW = 20  # graphs inside of one another for which Python's usual limit is enough


def room_needed(graph: Graph) -> int:
    """The depth of Python's calls that may walk into graphs inside of graphs; 0 where its usual limit is enough."""
    depth: dict[int, int] = {}
    for one in (*subgraphs(graph), graph):  # inner ones first
        depth[id(one)] = 1 + max((depth[id(inner)] for inner in _direct(one)), default=0)
    return 1000 + FRAMES * depth[id(graph)] if depth[id(graph)] > SHALLOW else 0


_rooms: list[int] = []  # limits that someone, in any thread, needs now
_usual = 0  # the limit before that
_lock = threading.Lock()


@contextlib.contextmanager
def room(needed: int) -> Iterator[None]:
    """Let calls go so deep in here. Outside the limit is what it was: C code that others call relies on it.

    >>> import sys
    >>> usual = sys.getrecursionlimit()
    >>> with room(usual + 1000):
    ...     sys.getrecursionlimit() - usual
    1000
    >>> sys.getrecursionlimit() == usual
    True
    """
    global _usual
    if not needed:
        yield
        return
    with _lock:
        if not _rooms:
            _usual = sys.getrecursionlimit()
        _rooms.append(needed)
        sys.setrecursionlimit(max(_usual, *_rooms))
    try:
        yield
    finally:
        with _lock:
            _rooms.remove(needed)
            sys.setrecursionlimit(max(_usual, *_rooms) if _rooms else _usual)


def _direct(graph: Graph) -> Iterator[Graph]:
    """The graphs in a graph's nodes, each once."""
    found: dict[int, Graph] = {}
    for node in graph.nodes:
        if node.op is CALL and node.args:
            found[id(node.args[0])] = node.args[0]
        elif getattr(node.op, "kind", "") == "control":
            found.update((id(g), g) for g in graphs_in(node))
    return iter(found.values())


def draws(graph: Graph, known: dict[int, bool]) -> bool:
    """Whether a graph draws random numbers, or does something, at any depth; `known` remembers it of every graph inside."""
    found = known.get(id(graph))
    if found is None:
        for one in (*subgraphs(graph), graph):
            known[id(one)] = any(
                n.op.random or any(known[id(g)] for g in graphs_in(n)) for n in one.nodes
            )
        found = known[id(graph)]
    return found


def is_random(node: Node, known: dict[int, bool] | None = None) -> bool:
    """Whether a node draws random numbers, or does something, itself or inside of its graphs.

    Who asks for many nodes of a graph hands in a dictionary that remembers it of the graphs inside.
    """
    if node.op.random or node.op.kind != "control":
        return bool(node.op.random)
    return any(draws(top, {} if known is None else known) for top in graphs_in(node))
