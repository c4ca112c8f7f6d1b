"""Branches and loops on the tape of captured code, so that gradients which are taken inside flow through them."""

from collections.abc import Sequence
from typing import Any

from thixo import _core
from thixo.autodiff.control import CONTROL_RULES
from thixo.autodiff.reverse import Reverse, has_gradient
from thixo.capture.refusal import Refused
from thixo.errors import ThixoError
from thixo.graph.ir import Node, Value, values_in
from thixo.graph.trace import Trace, current_trace, make_symbolic


def remember(trace: Any, value: Value, tensor: Any) -> None:
    """Note which tensor a value was, with its history at that time."""
    if value in trace.histories:
        return
    if not tensor.is_leaf:
        ghost = make_symbolic(value)
        _core.become(ghost, tensor)
        tensor = ghost
    trace.histories[value] = tensor


def attach(trace: Any, node: Node, tensors: Sequence[Any], flags: Sequence[bool]) -> None:
    """Give the results of a node of control flow their history."""
    inputs = [v for v in dict.fromkeys(values_in(node.args)) if v in trace.histories]
    if not inputs:
        for tensor, flag in zip(tensors, flags, strict=True):
            if flag:
                tensor.requires_grad_(True)
        return
    context = _Context(trace, node, inputs)
    handle = _core.function_node(context, tuple(trace.histories[v] for v in inputs))
    _core.save_function(handle, (), ())
    _core.attach_function(handle, tuple(tensors), tuple(flags), (-1,) * len(tensors))


class _Context:
    """The way back through one node: its rule, recorded into the same graph."""

    def __init__(self, trace: Trace, node: Node, inputs: list[Value]) -> None:
        self._name = f"{node.op.full_name}Backward"
        self._trace = trace
        self._node = node
        self._inputs = inputs
        self._outputs = node.outputs

    def _run_backward(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        kind = "a branch" if "cond" in self._name or "switch" in self._name else "a loop"
        if _core.is_grad_enabled():
            raise Refused(
                "create_graph=True", f"gradients of gradients flow through {kind} of tensors", "take them outside"
            )  # fmt: skip
        if current_trace() is not self._trace:
            raise Refused(
                "gradients", f"they flow out of a branch or a loop, through {kind} before it", "take them outside"
            )  # fmt: skip
        try:
            return _OneNode(self._trace, self._node, self._inputs).back(self._outputs, gradients)
        except ThixoError as error:
            raise Refused("gradients", f"through {kind}: {error}") from error


class _OneNode(Reverse):
    """Reverse mode on a single node of a graph that is being recorded."""

    def __init__(self, trace: Trace, node: Node, inputs: list[Value]) -> None:
        self.graph = trace.graph
        self.kept_turns = None
        self.wrt = inputs
        self.trace = trace
        self.gradients = {}
        self.known = {}
        self._tensors = {}
        self.active = {*inputs, *node.outputs}
        self.forward_nodes = 0
        self._node = node

    def back(self, outputs: Sequence[Value], gradients: Sequence[Any]) -> tuple[Any, ...]:
        source, self.trace.source = self.trace.source, self._node.source
        count = len(self.graph.nodes)
        try:
            for value, gradient in zip(outputs, gradients, strict=True):
                if gradient is not None:
                    self.add(value, gradient)
            CONTROL_RULES[self._node.op.full_name](self, self._node)
        finally:
            self.trace.source = source
        made = [v for node in self.graph.nodes[count:] for v in node.outputs]
        self.trace._ungraded.update(v for v in made if has_gradient(v.type.dtype))
        return tuple(self.gradients.get(v) for v in self.wrt)
