"""Gradients of users' own in a graph.

What a user's `Function` computes is recorded as it is. Behind it stands a node `own_gradient` that hands its values on, and says how to come back: a graph
that makes gradients of the inputs from those of the results and from what was kept. Reverse mode calls that graph; whoever only
runs the graph takes the node out (`forward_only`).

    own_gradient(back, values, inputs, kept)    the values; `back` takes gradients of them, then `kept`
"""

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.autograd import function
from thixo.errors import user_line
from thixo.graph.body import Body
from thixo.graph.control import Control, Run, subgraphs
from thixo.graph.ir import Graph, Type, Value, with_some_values
from thixo.graph.trace import Trace, current_trace, make_symbolic, match, remove_dead


def _types(
    back: Graph, values: Sequence[Any], inputs: Sequence[Any], kept: Sequence[Any]
) -> list[Type]:
    return [v.type for v in values]


def _run(
    run: Run, machine: Any, back: Graph, values: Sequence[Any], inputs: Any, kept: Any
) -> list[Any]:
    if not _core.is_grad_enabled() or not all(isinstance(v, _core.Tensor) for v in values):
        return list(values)
    way: Any = _Way(lambda given: run(back, given), values, kept)
    return list(function.apply(way, function.FunctionCtx(way), tuple(inputs), {}))


class _Way:
    """A Function of values that are there, for graphs that run operator by operator."""

    __name__ = "own_gradient"

    def __init__(self, back: Any, values: Sequence[Any], kept: Sequence[Any]) -> None:
        self._back, self._values, self._kept = back, values, kept

    def forward(self, ctx: Any, *inputs: Any) -> tuple[Any, ...]:
        made = {id(v): v.detach() for v in self._values}
        ctx.save_for_backward(*(made.get(id(v), v) for v in self._kept))
        return tuple(made[id(v)] for v in self._values)

    def backward(self, ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return tuple(self._back([*gradients, *ctx.saved_tensors]))


OWN_GRADIENT = Control(
    "own_gradient(back: graph, values: tensors, inputs: tensors, kept: tensors) -> tensors",
    _types,
    _run,
)


def record(
    inputs: Sequence[Any], outputs: Sequence[Any], back: Callable[[list[Any]], Sequence[Any]]
) -> list[Any]:
    """The outputs with a gradient of their own: `back` makes gradients of all inputs (or None) from those of the outputs."""
    trace = current_trace()
    assert trace is not None
    body = trace.way_back("back") if hasattr(trace, "way_back") else Body("back", trace)
    body.cuts = False  # gradients of gradients flow through the way back
    was = _core.set_grad_enabled(False)
    try:
        with body:
            given = [trace.value_of(o) for o in outputs]
            gradients = [body.input(f"g_{v.name}", body.own_type(v.type)) for v in given]
            made = back(gradients)
            chosen = [(x, g) for x, g in zip(inputs, made, strict=True) if g is not None]
            for x, g in chosen:
                body.output(_matched(body, x, g))
            remove_dead(body.graph)
            body.bind_sizes()
        body.restore()
    finally:
        _core.set_grad_enabled(was)
    sources = [trace._with_gradient_cut(trace.value_of(x)) for x, _ in chosen]
    kept = [trace._with_gradient_cut(v) if v not in given else v for v in body.captured]
    trace.graph.call(OWN_GRADIENT, body.graph, given, sources, kept, source=user_line())
    node = trace.graph.nodes[-1]
    trace.own(node.outputs)
    return [make_symbolic(v) for v in node.outputs]


def passed_to(trace: Trace, value: Value, source: Value) -> Value:
    """A value whose gradient is that of another one of its type: a leaf that was overwritten is still that leaf."""
    back = Graph("passed")
    back.outputs = [back.input("g", Body("sizes", trace).own_type(value.type))]
    trace.graph.call(OWN_GRADIENT, back, [value], [source], [], source=trace.source or user_line())
    (made,) = trace.graph.nodes[-1].outputs
    trace.own([made])
    return made


def _matched(body: Trace, x: Any, gradient: Any) -> Any:
    value = body.value_of(x)
    return match(gradient, value.type.shape, value.type.dtype)


def forward_only(graph: Graph) -> Graph:
    """A graph without what is there for gradients alone.

    >>> graph = tx.jit.trace(lambda x: x + 1, tx.ones(2)).graph
    >>> forward_only(graph) is graph
    True
    """
    if not any(n.op is OWN_GRADIENT for one in (graph, *subgraphs(graph)) for n in one.nodes):
        return graph
    made = graph.copy()
    for one in (made, *subgraphs(made)):
        _forget(one)
    return made


def _forget(graph: Graph) -> None:
    new: dict[Value, Value] = {}
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if new:
            node.args = with_some_values(node.args, new)
        if node.op is OWN_GRADIENT:
            new.update(zip(node.outputs, node.args[1], strict=True))
        else:
            graph.nodes.append(node)
    graph.outputs = [new.get(v, v) for v in graph.outputs]
    graph.mutations = {k: new.get(v, v) for k, v in graph.mutations.items()}
    remove_dead(graph)


def _in_graph(
    context: Any, inputs: Sequence[Any], outputs: tuple[Any, ...], differentiable: Sequence[bool]
) -> tuple[Any, ...]:
    """The results of a Function that is traced, with its gradient as a part of the graph."""
    chosen = [o for o, flag in zip(outputs, differentiable, strict=True) if flag]

    def back(gradients: list[Any]) -> Sequence[Any]:
        given = iter(gradients)
        return context._run_backward(
            tuple(next(given) if flag else None for flag in differentiable)
        )

    made = iter(record(inputs, chosen, back)) if chosen else iter(())
    return tuple(next(made) if flag else o for o, flag in zip(outputs, differentiable, strict=True))


function.in_graph = _in_graph
