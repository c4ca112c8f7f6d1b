"""Branches and loops of a static graph, as functions of Python callables.

A callable is called once, while the graph is declared, and recorded as a graph of its own. What it uses from outside
(tensors of the graph, parameters) becomes an input of that graph; it cannot write to it. These are the functions `tx.cond`
and so on (capture/flow.py), which may be used here too.
"""

from collections.abc import Callable, Sequence
from typing import Any

from thixo.capture import flow
from thixo.errors import ArgumentError, describe, user_line
from thixo.graph.effects import SHOW
from thixo.graph.trace import current_trace, make_symbolic
from thixo.static.graph import current
from thixo.tensor import as_tensor


def cond(pred: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """What one of two functions returns; only the one that is chosen runs.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((), tx.float32, "x")
    ...     y = tx.static.cond(x > 0, lambda: x * 2, lambda: -x)
    >>> session = tx.static.Session(g)
    >>> session.run(y, {x: tx.tensor(3.0)}), session.run(y, {x: tx.tensor(-3.0)})
    (tensor(6.), tensor(3.))
    """
    current("cond")
    return flow.cond(pred, then, other)


def switch(index: Any, branches: Sequence[Callable[[], Any]]) -> Any:
    """What one of several functions returns, by number; the last one for a number out of range.

    >>> with tx.static.Graph() as g:
    ...     i = tx.static.placeholder((), tx.int64, "i")
    ...     y = tx.static.switch(i, [lambda: tx.zeros(1), lambda: tx.ones(1)])
    >>> tx.static.Session(g).run(y, {i: tx.tensor(1)})
    tensor([1.])
    """
    current("switch")
    return flow.switch(index, branches)


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
    return flow.while_loop(test, body, state, limit)


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
    return flow.scan(body, state, slices, length, reverse)


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
    trace = current_trace()
    assert trace is not None
    value = trace.graph.call(SHOW, trace.value_of(as_tensor(x)), source=user_line(), text=text)
    trace.noted(trace.graph.nodes[-1])
    trace.own([value])
    return make_symbolic(value)
