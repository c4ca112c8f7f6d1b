"""Branches and loops on the tape: gradients that are taken inside of what is recorded go through nodes with graphs in them.

Where nothing more is asked for, the node's rule is recorded into the same graph, and the node keeps what its way back needs. For
gradients of gradients, and from inside of a branch, the way back is a graph of its own, from the node's inputs, recorded as one
call. That call is on the tape like the node itself, so any order follows.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any

from thixo import _core
from thixo.autodiff.control import CONTROL_RULES
from thixo.autodiff.depending import has_gradient
from thixo.autodiff.recording import closed_types
from thixo.autodiff.reverse import Reverse
from thixo.autodiff.used import BOOL, Use, Uses
from thixo.capture.counting import Counting
from thixo.capture.frames import Inner, Outer
from thixo.capture.refusal import Refused
from thixo.errors import AutogradError, InplaceError, ThixoError, describe
from thixo.graph.body import carrier
from thixo.graph.control import CALL, COND, SWITCH, draws, room, room_needed
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.sizes import sizes_in, symbol_name
from thixo.graph.trace import Trace, current_trace, make_symbolic
from thixo.graph.typing import result_types


def attach(
    trace: Trace,
    node: Node,
    tensors: Mapping[Value, Any],
    results: Sequence[Any],
    flags: Sequence[bool],
) -> None:
    """Put a node of a graph on the tape: those results that have gradients.

    `tensors` are those that its inputs are the values of.
    """
    values = list(dict.fromkeys(values_in(node.args)))
    bound = {symbol_name(s) for v in values for s in v.type.shape}
    for size in sizes_in(node.args):  # a length that no input says
        values += [carrier(trace, n, "gradients") for n in size.symbols if n not in bound]
    moving = [
        v
        for v in values
        if has_gradient(v.type.dtype) and v in tensors and tensors[v].requires_grad
    ]
    if not moving:
        for tensor, flag in zip(results, flags, strict=True):
            tensor.requires_grad_(flag)
        return
    # Boxes of their own: what is written to the tensors later is not what the node has read.
    inputs = {v: _ghost(v, tensors[v]) for v in moving}
    context = _Context(trace, node, values, inputs)
    context.handle = _core.function_node(context, tuple([tensors[v] for v in moving]))
    _core.save_function(context.handle, (), ())
    _core.attach_function(context.handle, tuple(results), tuple(flags), (-1,) * len(flags))


def _ghost(value: Value, tensor: Any) -> Any:
    """The same value and history in a box of its own; a leaf is its own, gradients end in it."""
    if tensor.is_leaf:
        return tensor
    ghost = make_symbolic(value)
    _core.become(ghost, tensor)
    _core.set_value(ghost, value)
    return ghost


class _Context:
    """What a node of the tape knows of the node of the graph."""

    def __init__(
        self, trace: Trace, node: Node, values: list[Value], inputs: dict[Value, Any]
    ) -> None:
        self._trace, self._node = trace, node
        self._what = "a branch" if node.op in (COND, SWITCH) else "a loop"
        self._name = f"{node.op.full_name.title().replace('_', '')}Backward"
        self._op, self._args, self._outputs = node.op, node.args, node.outputs
        self._source = node.source
        self._values = values
        self._inputs = inputs
        self._denoted = {v: t._value for v, t in inputs.items()}
        self._known: dict[Any, tuple[Graph, list[bool | int]]] = {}
        self.handle: Any = None

    def _run_backward(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        trace = current_trace()
        if trace is None:
            raise AutogradError(
                f"backward of {self._name}: its trace has ended; take gradients inside of the traced function, or "
                "of what it returns"
            )
        counts = trace.counting or Counting(trace, True)
        with counts.paused():
            if trace is self._trace and not _core.is_grad_enabled():
                try:
                    one = _OneNode(trace, self._node, self._inputs, counts)
                    return one.back(self._outputs, gradients)
                except ThixoError as error:
                    raise _refused(trace, f"gradients through {self._what}", str(error)) from error
            return self._called(trace, counts, gradients)

    def _called(self, trace: Trace, counts: Counting, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """The way back as one call."""
        given = tuple([i for i, g in enumerate(gradients) if g is not None])
        flags = {i: f for i in given if (f := counts.of(gradients[i]).flag) is not True}
        known = self._known.get((given, tuple(flags)))
        if known is None:
            known = self._known[given, tuple(flags)] = self._backward(trace, given, flags)
        graph, used = known
        tensors = [self._again(v) for v in self._values]
        tensors += [counts.clean(gradients[i]) for i in given]
        tensors += flags.values()
        values = [trace.value_of(t) for t in tensors]
        goes_on = _core.is_grad_enabled()
        if goes_on:
            values = [trace._with_gradient_cut(v) for v in values]
        trace.graph.call(CALL, graph, values, source=self._source)
        node = trace.graph.nodes[-1]
        trace.own(node.outputs)
        found = [make_symbolic(v) for v in node.outputs]
        if goes_on:
            graded = [has_gradient(t.dtype) for t in found]
            attach(trace, node, dict(zip(values, tensors, strict=True)), found, graded)
        elif trace.cuts:
            trace._ungraded.update(v for v in node.outputs if has_gradient(v.type.dtype))
        for gradient, flag in zip(found, used, strict=False):
            counts.note(gradient, Use(flag if isinstance(flag, bool) else found[flag]))
        return tuple([g if f is not False else None for g, f in zip(found, used, strict=False)])

    def _again(self, value: Value) -> Any:
        """A tensor for one of the inputs."""
        tensor = self._inputs.get(value)
        if tensor is not None and tensor._value is self._denoted[value]:
            return tensor
        if tensor is not None and _core.is_grad_enabled():
            raise InplaceError(
                f"backward of {self._name}: {describe(tensor)} was overwritten in place since, and the gradient of its "
                "gradient needs it; clone it before the write"
            )
        return make_symbolic(value)

    def _backward(
        self, trace: Trace, given: tuple[int, ...], flagged: Container[int]
    ) -> tuple[Graph, list[bool | int]]:
        """The graph from the node's inputs and the gradients of its results, with flags of some, to those of its inputs.

        And whether these are used: a bool, or the place among its results that says so.
        """
        graph = Graph(f"{self._op.full_name}_back")
        seeds = [self._outputs[i] for i in given]
        types = closed_types([v.type for v in (*self._values, *seeds)])
        count = len(self._values)
        inputs = [graph.input(v.name, t) for v, t in zip(self._values, types, strict=False)]
        gradients = [graph.input("g", t) for t in types[count:]]
        flags = {k: graph.input("used", BOOL) for k, i in enumerate(given) if i in flagged}
        inside = dict(zip(self._values, inputs, strict=True))
        args = tuple([_inside(a, inside) for a in self._args])
        node = graph.add(self._op, args, result_types(self._op, args), source=self._source)
        if draws(graph, {}):
            raise _refused(
                trace,
                f"gradients of gradients through {self._what}",
                "it draws random numbers or prints; take them outside of what is captured",
            )
        wanted = [inside[v] for v in self._inputs]
        with room(room_needed(graph)):
            reverse = Reverse(graph, wanted, asked=wanted)
            made = reverse.run([node.outputs[i] for i in given], gradients, flags, wanted)
        told = {f: None for f in reverse.asked if not isinstance(f, bool)}
        places = {f: len(made) + i for i, f in enumerate(told)}
        graph.outputs = [*made, *told]
        return graph, [f if isinstance(f, bool) else places[f] for f in reverse.asked]


def _refused(trace: Trace, what: str, why: str) -> BaseException:
    """What cannot be done, as captured code or as a trace says it."""
    if isinstance(trace, Inner | Outer):
        return Refused(what, *why.split("; ", 1))
    return AutogradError(f"{what}: {why}")


def _inside(a: Any, inside: Mapping[Value, Value]) -> Any:
    if isinstance(a, Value):
        return inside[a]
    return [_inside(e, inside) for e in a] if isinstance(a, list) else a


class _OneNode(Reverse):
    """Reverse mode on a single node of a graph that is being recorded."""

    def __init__(
        self, trace: Trace, node: Node, inputs: Mapping[Value, Any], counts: Counting
    ) -> None:
        self.graph = trace.graph
        self.kept_turns = None
        self.wrt = list(inputs)
        self.trace = trace
        self.gradients = {}
        self.known = {}
        self._tensors = counts.tensors
        self.active = {*inputs, *node.outputs}
        self.forward_nodes = 0
        # Nothing comes behind a leaf that could spoil zeros.
        passing = {v for v, t in inputs.items() if not t.is_leaf}
        self.uses = Uses(self, known={*passing, *node.outputs})
        self._node, self._counts = node, counts

    def back(self, outputs: Sequence[Value], gradients: Sequence[Any]) -> tuple[Any, ...]:
        source, self.trace.source = self.trace.source, self._node.source
        count = len(self.graph.nodes)
        try:
            for value, gradient in zip(outputs, gradients, strict=True):
                if gradient is not None:
                    self.add(value, gradient, self._counts.of(gradient))
            CONTROL_RULES[self._node.op.full_name](self, self._node)
        finally:
            self.trace.source = source
        made = [v for node in self.graph.nodes[count:] for v in node.outputs]
        self.trace._ungraded.update(v for v in made if has_gradient(v.type.dtype))
        for value in self.wrt:
            if value in self.gradients:
                self._counts.note(self.gradients[value], self.uses.of(value))
        return tuple(self.gradients.get(v) for v in self.wrt)
