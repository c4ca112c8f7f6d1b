"""Control flow by hand: branches and loops as functions of functions.

Where values are there (eager and lazy code) these are Python's own branches and loops. Inside of `jit.trace`, `jit.script`
and `tx.static` they become nodes of the graph: all branches are part of it, and loops run as often as the data say.
"""

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.capture import flow_nodes
from thixo.capture.builtin import REPLACED
from thixo.capture.flow_values import (
    name_of,
    need_function,
    need_limit,
    need_operands,
    need_state,
    number,
    tensors,
    truth,
)
from thixo.errors import ArgumentError, ShapeError, describe
from thixo.graph.control_types import equal
from thixo.ops import public as tx
from thixo.pytree import Tree, tree_flatten, tree_unflatten
from thixo.symbolic import Dim


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """What one of two functions returns; only the one that is chosen runs.

    `pred` is a bool or a tensor of one bool. Both functions take the operands, may use other tensors around them, and return
    tensors in the same containers. In a graph both are recorded when the graph is made; their results may differ in sizes
    and in whether they have gradients, and what they write to parameters and buffers is written if they run. A result
    that is one of their inputs is a copy there: do not write to either of them afterwards.

    >>> def f(x):
    ...     return tx.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,))
    >>> f(tx.ones(2)), f(-tx.ones(2))
    (tensor([2., 2.]), tensor([1., 1.]))
    >>> traced = tx.jit.trace(f, tx.ones(2))
    >>> traced(tx.ones(2)), traced(-tx.ones(2))
    (tensor([2., 2.]), tensor([1., 1.]))
    """
    need_function("cond", "true_fn", true_fn)
    need_function("cond", "false_fn", false_fn)
    operands = need_operands("cond", operands)
    chosen = truth("cond", "pred", pred)
    if isinstance(chosen, _core.Tensor):
        if _core.is_tracing():
            return flow_nodes.branches("cond", chosen, [true_fn, false_fn], operands)
        chosen = bool(chosen)
    return _run("cond", true_fn if chosen else false_fn, operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], operands: Sequence[Any] = ()) -> Any:
    """What one of several functions returns, by number; the last one for a number out of range.

    `index` is a whole number or a tensor of one. All else is as it is with `cond`.

    >>> steps = [lambda x: x + 1, lambda x: x * 10, lambda x: -x]
    >>> [tx.switch(tx.tensor(i), steps, (tx.tensor(2.0),)).item() for i in (0, 1, 2, 7)]
    [3.0, 20.0, -2.0, -2.0]
    """
    if not isinstance(branches, tuple | list):
        raise ArgumentError(f"switch: needs a list of functions, got {describe(branches)}")
    if not branches:
        raise ArgumentError("switch: needs at least one function, got none")
    for i, f in enumerate(branches):
        need_function("switch", f"branches[{i}]", f)
    operands = need_operands("switch", operands)
    chosen = number("switch", index)
    if isinstance(chosen, _core.Tensor):
        if _core.is_tracing():
            return flow_nodes.branches("switch", chosen, list(branches), operands)
        chosen = int(chosen)
    return _run("switch", branches[chosen if 0 <= chosen < len(branches) else -1], operands)


def _run(what: str, f: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """One function, now."""
    made = flow_nodes.call(f, *operands)
    leaves, tree = tensors(what, f"results of {name_of(f, 'a function')}", made)
    return flow_nodes.rebuilt(tree, leaves)


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried: Any,
    limit: int | None = None,
) -> Any:
    """Run `body_fn` on the carried values while `cond_fn` says so, at most `limit` times; the last values.

    A tuple or list of values is handed to both functions as arguments, anything else as one argument. `body_fn` returns what it
    got in the same containers, of the same dtypes and shapes.

    >>> tx.while_loop(lambda y, n: y < 100, lambda y, n: (y * 2, n + 1), (tx.tensor(3.0), 0))
    (tensor(192.), tensor(6))
    """
    need_function("while_loop", "cond_fn", cond_fn)
    need_function("while_loop", "body_fn", body_fn)
    limit = need_limit("while_loop", limit)
    is_several = isinstance(carried, tuple | list)
    state, tree = tensors("while_loop", "carried values", carried)
    if _core.is_tracing():
        found = flow_nodes.while_loop(cond_fn, body_fn, state, tree, is_several, limit)
        return flow_nodes.rebuilt(tree, found)
    now = tree_unflatten(tree, state)
    turns = 0
    while limit is None or turns < limit:
        args = now if is_several else (now,)
        if not truth("while_loop", "what cond_fn returns", cond_fn(*args)):
            break
        made = body_fn(*args)
        if is_several and isinstance(made, tuple | list) and type(made) is not type(now):
            made = type(now)(made)
        after = tensors("while_loop", "what body_fn returns", made)
        need_state("while_loop", (state, tree), after)
        state, turns = after[0], turns + 1
        now = tree_unflatten(tree, state)
    return now


def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any = None,
    length: Any = None,
    reverse: bool = False,
    *,
    dim: int = 0,
) -> Any:
    """Run `f(carry, x)` for each slice `x` of `xs`; the last carry, and the results stacked.

    `f` returns the new carry, as it got it, and what is stacked along a new first axis, which may be None. Slices are taken
    along `dim` of all tensors in `xs`. Without `xs` it runs `length` times and gets None for them.

    >>> tx.scan(lambda total, x: (total + x, total + x), tx.tensor(0.0), tx.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([1., 3., 6.]))
    >>> tx.scan(lambda n, _: (n * 2, None), 1, length=5)
    (tensor(32), None)
    """
    need_function("scan", "f", f)
    state, tree = tensors("scan", "values of init", init)
    rows, row_tree = tensors("scan", "values of xs", xs)
    length = _length("scan", rows, length, dim)
    rows = [tx.movedim(r, dim, 0) if dim else r for r in rows]
    if _core.is_tracing():
        return flow_nodes.scan("scan", f, (state, tree), (rows, row_tree), length, reverse)
    return _scan_now("scan", f, (state, tree), (rows, row_tree), length, reverse)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """`f(x, *args)` for each slice along the first axis of the tensors in `xs`, stacked.

    >>> tx.map(lambda x, w: (x * w).sum(), tx.ones(3, 2), tx.tensor([1.0, 2.0]))
    tensor([3., 3., 3.])
    """
    need_function("map", "f", f)
    rows, row_tree = tensors("map", "values of xs", xs)
    if not rows:
        raise ArgumentError("map: needs a tensor to go over, got none")
    length = _length("map", rows, None, 0)

    def step(_: Any, row: Any) -> Any:
        return (), flow_nodes.call(f, row, *args)

    step.__name__ = name_of(f, "map_body")
    state: tuple[list[Any], Tree] = ([], tree_flatten(())[1])
    if _core.is_tracing():
        return flow_nodes.scan("map", step, state, (rows, row_tree), length, False)[1]
    return _scan_now("map", step, state, (rows, row_tree), length, False)[1]


def _length(what: str, rows: Sequence[Any], length: Any, dim: int) -> Any:
    """How many slices there are."""
    if length is not None and (
        isinstance(length, bool) or not isinstance(length, int | Dim) or not length >= 0
    ):
        raise ArgumentError(f"{what}: length must be a number of turns, got {describe(length)}")
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise ArgumentError(f"{what}: dim must be the number of an axis, got {describe(dim)}")
    if not rows and length is None:
        raise ArgumentError(f"{what}: needs xs, or a length")
    for x in rows:
        if not -x.ndim <= dim < x.ndim:
            raise ShapeError(f"{what}: {describe(x)} has no axis {dim} to slice")
        size = x.shape[dim]
        if length is None:
            length = size
        elif not equal(size, length):
            raise ShapeError(
                f"{what}: all tensors of xs must have {length} slices along axis {dim}, one is {describe(x)}"
            )
    return length


def _scan_now(
    what: str,
    f: Callable[[Any, Any], Any],
    start: tuple[list[Any], Tree],
    rows: tuple[list[Any], Tree],
    length: int,
    reverse: bool,
) -> Any:
    state, tree = start
    if not length:
        return _scan_none(what, f, start, rows)
    made: list[list[Any]] = []
    stacked_tree = None
    for i in reversed(range(length)) if reverse else range(length):
        row = tree_unflatten(rows[1], [x[i] for x in rows[0]])
        carry, stacked = flow_nodes.both_results(what, f(tree_unflatten(tree, state), row))
        after = tensors(what, "the carry that f returns", carry)
        need_state(what, (state, tree), after)
        state = after[0]
        leaves, shape = tensors(what, "what f returns", stacked)
        if stacked_tree is not None:
            need_state(f"{what}: what is stacked", (made[0], stacked_tree), (leaves, shape))
        stacked_tree = shape
        made.append(leaves)
    if reverse:
        made.reverse()
    assert stacked_tree is not None
    columns = [tx.stack(list(column)) for column in zip(*made, strict=True)]
    return tree_unflatten(tree, state), tree_unflatten(stacked_tree, columns)


def _scan_none(what: str, f: Any, start: tuple[list[Any], Tree], rows: Any) -> Any:
    """No turns at all: `f` is recorded once, for the types of what it would have stacked."""
    from thixo.graph.trace import Trace

    state, tree = start
    with Trace(what):
        _, stacked = flow_nodes.scan(what, f, start, rows, 0, False)
        leaves, stacked_tree = tree_flatten(stacked)
        kinds = [(tuple(leaf.shape), leaf.dtype) for leaf in leaves]
    columns = [tx.zeros(shape, dtype=dtype) for shape, dtype in kinds]
    return tree_unflatten(tree, state), tree_unflatten(stacked_tree, columns)


for _function in (cond, switch, while_loop, scan, map):
    REPLACED[_function] = _function  # captured code calls them as they are
