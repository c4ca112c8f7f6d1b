"""Branches and loops of a static graph, as functions of Python callables.

A callable is called once, while the graph is declared, and recorded as a graph of its own. What it uses from outside
(tensors of the graph, parameters) becomes an input of that graph; it cannot write to it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.errors import ArgumentError, GraphError, TraceError, describe, user_line
from thixo.graph import body as graph_body
from thixo.graph import ir
from thixo.graph.body import together
from thixo.graph.control import COND, SCAN, SWITCH, WHILE_LOOP
from thixo.graph.control_types import equal
from thixo.graph.effects import SHOW
from thixo.graph.trace import current_trace, make_symbolic, remove_dead
from thixo.pytree import Tree, tree_flatten, tree_unflatten
from thixo.static.graph import current


class Body(graph_body.Body):
    """The trace of a branch or of a loop's body, which writes to nothing outside."""

    def __exit__(self, *error: Any) -> None:
        written = self.restore()
        super().__exit__(*error)
        if written and error[0] is None:
            raise TraceError(
                f"static: {self.graph.name} writes to {self.outer.value_of(written[0][0])}, which is outside of it; "
                "return the new value"
            )


def _trace_body(
    what: str, function: Callable[..., Any], given: Sequence[tuple[ir.Value, ir.Type]], tree: Tree
) -> tuple[Body, list[Any], Tree]:
    """Record a callable; its trace, the leaves of what it returns, and their structure."""
    outer = current_trace()
    assert outer is not None
    if not callable(function):
        raise ArgumentError(f"static.{what}: needs a function, got {describe(function)}")
    name = getattr(function, "__name__", what)
    body = Body(name if name.isidentifier() else f"{what}_body", outer)
    with body:
        inputs = [body.input(value.name, body.own_type(type)) for value, type in given]
        result = function(*tree_unflatten(tree, inputs))
        leaves, structure = tree_flatten(result)
        for leaf in leaves:
            body.output(_as_tensor(leaf, what))
        remove_dead(body.graph)
        body.bind_sizes()
    return body, leaves, structure


def _as_tensor(x: Any, what: str) -> Any:
    from thixo.tensor import tensor

    if isinstance(x, _core.Tensor):
        return x
    if isinstance(x, bool | int | float | complex):
        return tensor(x)
    raise ArgumentError(f"static.{what}: a function must return tensors, returned {describe(x)}")


def _node(op: Any, args: Sequence[Any], what: str, **named: Any) -> list[Any]:
    """Record a node of control flow; its results as tensors."""
    outer = current_trace()
    assert outer is not None
    source = user_line()
    made = outer.graph.call(op, *args, source=source, **named)
    values = list(made) if isinstance(made, tuple) else [made]
    node = outer.graph.nodes[-1]
    current(what).note(outer, node)
    outer.own(values)
    return [make_symbolic(v) for v in values]


def _values(tensors: Sequence[Any], what: str) -> list[ir.Value]:
    outer = current_trace()
    assert outer is not None
    return [outer.value_of(_as_tensor(t, what)) for t in tensors]


def _need_same(structures: Sequence[Any], what: str) -> None:
    for other in structures[1:]:
        if other != structures[0]:
            raise GraphError(
                f"static.{what}: the functions must return the same structure of tensors"
            )


def cond(pred: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """What one of two functions returns; only the one that is chosen runs.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((), tx.float32, "x")
    ...     y = tx.static.cond(x > 0, lambda: x * 2, lambda: -x)
    >>> session = tx.static.Session(g)
    >>> session.run(y, {x: tx.tensor(3.0)}), session.run(y, {x: tx.tensor(-3.0)})
    (tensor(6.), tensor(3.))
    """
    return _branches("cond", pred, [then, other])


def switch(index: Any, branches: Sequence[Callable[[], Any]]) -> Any:
    """What one of several functions returns, by number; the last one for a number out of range.

    >>> with tx.static.Graph() as g:
    ...     i = tx.static.placeholder((), tx.int64, "i")
    ...     y = tx.static.switch(i, [lambda: tx.zeros(1), lambda: tx.ones(1)])
    >>> tx.static.Session(g).run(y, {i: tx.tensor(1)})
    tensor([1.])
    """
    if not branches:
        raise ArgumentError("static.switch: needs at least one function, got none")
    return _branches("switch", index, branches)


def _branches(what: str, chooser: Any, functions: Sequence[Callable[[], Any]]) -> Any:
    current(what)
    (choice,) = _values([chooser], what)
    traced = [_trace_body(what, f, [], tree_flatten(())[1]) for f in functions]
    _need_same([structure for _, _, structure in traced], what)
    bodies = [body for body, _, _ in traced]
    captured = together(bodies, 0)
    graphs = [b.graph for b in bodies]
    args = (choice, *graphs, captured) if what == "cond" else (choice, graphs, captured)
    results = _node(COND if what == "cond" else SWITCH, args, what)
    return tree_unflatten(traced[0][2], results)


def while_loop(
    test: Callable[..., Any], body: Callable[..., Any], state: Any, limit: int | None = None
) -> Any:
    """Run `body` on the state while `test` says so, at most `limit` times; the last state.

    The state is a tensor, or a tuple or list of them (of any structure), which both functions take as arguments.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((), tx.float32, "x")
    ...     y, n = tx.static.while_loop(
    ...         lambda y, n: y < 100, lambda y, n: (y * 2, n + 1), (x, tx.static.constant(0)))
    >>> tx.static.Session(g).run([y, n], {x: tx.tensor(3.0)})
    [tensor(192.), tensor(6)]
    """
    current("while_loop")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ArgumentError(
            f"static.while_loop: limit must be a number of turns or None, got {describe(limit)}"
        )
    is_several = isinstance(state, tuple | list)
    leaves, tree = tree_flatten(state if is_several else (state,))
    values = _values(leaves, "while_loop")
    given = [(v, v.type) for v in values]
    asked, _, _ = _trace_body("while_loop", test, given, tree)
    turned, _, _ = _trace_body("while_loop", body, given, tree)
    if len(turned.graph.outputs) != len(values):
        raise GraphError(
            f"static.while_loop: the body must return the state as it gets it: {len(values)} tensors, "
            f"returned {len(turned.graph.outputs)}"
        )
    captured = together([asked, turned], len(values))
    _need_state(turned, values, "while_loop")
    args = (asked.graph, turned.graph, values, captured)
    results = _node(WHILE_LOOP, args, "while_loop", limit=limit)
    found = tree_unflatten(tree, results)
    return found if is_several else found[0]


def scan(
    body: Callable[..., Any],
    state: Any,
    slices: Any = (),
    length: Any = None,
    reverse: bool = False,
) -> Any:
    """Run `body(state, slice)` for each slice along the first axis; the last state, and the results stacked.

    The body returns the new state and what is stacked, which may be None. Without slices it runs `length` times and
    gets an empty tuple for them.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((None,), tx.float32, "x")
    ...     last, sums = tx.static.scan(lambda s, row: (s + row, s + row), tx.static.constant(0.0), x)
    >>> tx.static.Session(g).run(sums, {x: tx.tensor([1.0, 2.0, 3.0])})
    tensor([1., 3., 6.])
    """
    current("scan")
    leaves, tree = tree_flatten(state)
    rows, row_tree = tree_flatten(slices)
    values, row_values = _values(leaves, "scan"), _values(rows, "scan")
    for value in row_values:
        if not value.type.shape:
            raise GraphError(f"static.scan: {value} has no first axis to slice")
    if length is None:
        if not row_values:
            raise ArgumentError("static.scan: needs slices, or a length")
        length = row_values[0].type.shape[0]
    given = [(v, v.type) for v in values]
    given += [(v, ir.Type(v.type.dtype, v.type.shape[1:], v.type.device)) for v in row_values]
    _, both = tree_flatten((tree_unflatten(tree, leaves), tree_unflatten(row_tree, rows)))
    parts: list[Any] = []

    def step(now: Any, row: Any) -> Any:
        made = body(now, row)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ArgumentError(
                f"static.scan: the body must return (state, what is stacked), returned {describe(made)}"
            )
        kept, stacked = tree_flatten(made[0]), tree_flatten(() if made[1] is None else made[1])
        parts.append((len(kept[0]), stacked[1], made[1] is None))
        return (*kept[0], *stacked[0])

    step.__name__ = getattr(body, "__name__", "scan")
    turned, _, _ = _trace_body("scan", step, given, both)
    count, stacked_tree, nothing = parts[0]
    if count != len(values):
        raise GraphError(
            f"static.scan: the body must return the state as it gets it: {len(values)} tensors, returned {count}"
        )
    captured = together([turned], len(given))
    _need_state(turned, values, "scan")
    args = (turned.graph, values, row_values, captured)
    results = _node(SCAN, args, "scan", length=length, reverse=reverse)
    stacked = None if nothing else tree_unflatten(stacked_tree, results[len(values) :])
    return tree_unflatten(tree, results[: len(values)]), stacked


def _need_state(body: Body, values: Sequence[ir.Value], what: str) -> None:
    for value, made in zip(values, body.graph.outputs, strict=False):
        want = body.own_type(value.type)
        same = want.dtype is made.type.dtype and want.ndim == made.type.ndim
        if not same or not all(map(equal, want.shape, made.type.shape)):
            raise GraphError(
                f"static.{what}: the body must return the state as it gets it: {value} becomes {made.type}"
            )


def show(x: Any, text: str = "") -> Any:
    """The same tensor, which is printed whenever a run computes it.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((2,), tx.float32, "x")
    ...     y = tx.static.print(x * 2, "doubled:")
    >>> result = tx.static.Session(g).run(y, {x: tx.ones(2)})
    doubled: tensor([2., 2.])
    """
    current("print")
    if not isinstance(text, str):
        raise ArgumentError(f"static.print: text must be a string, got {describe(text)}")
    (value,) = _values([x], "print")
    return _node(SHOW, (value,), "print", text=text)[0]
