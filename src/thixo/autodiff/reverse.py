"""Reverse mode on graphs: from the results back, each node by its operator's own gradient rules.

Rules are written with public operators, so what they do is recorded into the same graph as more nodes; gradients of
gradients are the same pass once more. A rule gets the names it asks for: what is read by some rule is all that a
forward run must keep.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from thixo import _core
from thixo.autodiff.control import CONTROL_RULES
from thixo.autodiff.depending import depending, has_gradient
from thixo.autodiff.loops import KEPT_TURNS, can_be_cut, cut_long_loops
from thixo.autodiff.used import ALWAYS, Use, Uses, reads_values
from thixo.errors import ArgumentError, AutogradError, ThixoError
from thixo.graph.control import room, room_needed
from thixo.graph.ir import Graph, Node, Value, values_in
from thixo.graph.trace import Trace, make_symbolic, match
from thixo.ops import public as tx
from thixo.ops.base import Spec, gradient_rules

_NO_FLAGS: Mapping[int, Value] = {}


def gradient_graph(
    graph: Graph, wrt: Sequence[Value] | None = None, *, kept_turns: int | None = KEPT_TURNS
) -> Graph:
    """A graph that returns the gradients of a graph's first output after its outputs.

    `wrt` are the values to differentiate by; by default all inputs that can have a gradient. `kept_turns` is a budget of
    memory: about so many turns of a while loop are kept for the way back, the others are computed once more; None keeps all.

    >>> graph = tx.graph.parse("graph f(x: f32[n]) {\\n  y: f32[] = sum(x)\\n  return y\\n}")
    >>> both = gradient_graph(graph)
    >>> [str(node) for node in both.nodes]
    ['y: f32[] = sum(x)', 'ones: f32[] = ones(...)', 'unsqueeze: ...', 'expand: f32[n] = ...']
    >>> tx.graph.Interpreter(both).run(tx.zeros(3))
    [tensor(0.), tensor([1., 1., 1.])]
    """
    made = graph.copy()
    if wrt is None:
        places = [i for i, v in enumerate(graph.inputs) if has_gradient(v.type.dtype)]
        chosen = [made.inputs[i] for i in places]
    else:
        old = {v: i for i, v in enumerate(graph.values())}
        new = list(made.values())
        chosen = [new[old[v]] for v in wrt]
    found = add_gradients(made, made.outputs[:1], chosen, kept_turns=kept_turns)
    made.outputs.extend(found)
    return made


def add_gradients(
    graph: Graph,
    outputs: Sequence[Value],
    wrt: Sequence[Value],
    seeds: Sequence[Value | None] | None = None,
    *,
    kept_turns: int | None = KEPT_TURNS,
) -> list[Value]:
    """Append the nodes of the gradients of `outputs`, weighted by `seeds` (ones), by each of `wrt`.

    A value that the outputs do not depend on gets zeros. `kept_turns`: see `gradient_graph`.

    >>> graph = tx.graph.parse("graph f(x: f32[]) {\\n  y: f32[] = exp(x)\\n  return y\\n}")
    >>> add_gradients(graph, graph.outputs, graph.inputs)
    [mul: f32[]]
    """
    if seeds is None:
        seeds = [None] * len(outputs)
    for value in wrt:
        if not has_gradient(value.type.dtype):
            raise AutogradError(
                f"gradients: {value} has no gradient; only floating and complex values have"
            )
    if kept_turns is not None and (not isinstance(kept_turns, int) or kept_turns < 2):
        raise ArgumentError(
            f"gradients: kept_turns must be a number of turns, 2 or more, or None; got {kept_turns!r}"
        )
    with room(room_needed(graph)):
        return Reverse(graph, wrt, kept_turns).run(outputs, seeds)


class Reverse:
    """One pass over one graph."""

    def __init__(
        self,
        graph: Graph,
        wrt: Iterable[Value],
        kept_turns: int | None = KEPT_TURNS,
        asked: Iterable[Value] = (),
    ) -> None:
        # `asked`: those of `wrt` of which it is asked whether a path has used them.
        self.graph = graph
        self.kept_turns = kept_turns
        self.wrt = list(wrt)
        self.trace = Trace(graph=graph)
        self.trace.cuts = False  # the tape is off, and gradients of gradients flow
        self.gradients: dict[Value, Any] = {}  # symbolic tensors
        self.known: dict[Any, Any] = {}  # graphs inside that were differentiated already
        self._tensors: dict[Value, Any] = {}
        self.active = self._depending()
        self.forward_nodes = 0  # those before the gradients
        self.uses = Uses(self, asked)

    def run(
        self,
        outputs: Sequence[Value],
        seeds: Sequence[Value | None],
        flags: Mapping[int, Value] = _NO_FLAGS,
        asked: Sequence[Value] = (),
    ) -> list[Value]:
        """The gradients' values.

        `flags` say of some seeds whether they count. Whether those of `asked` were used is in `self.asked` then: a bool, or a value.
        """
        self._cut_loops()
        nodes = list(self.graph.nodes)
        self.forward_nodes = len(nodes)
        was_enabled = _core.set_grad_enabled(False)
        try:
            with self.trace:
                self._seed(outputs, seeds, flags)
                for node in reversed(nodes):
                    self._step(node)
                self.trace.source = None
                found = [self.trace.value_of(self.uses.clean(v)) for v in self.wrt]
                known = [self.uses.flag(v) for v in asked]
                self.asked = [f if isinstance(f, bool) else self.trace.value_of(f) for f in known]
                return found
        finally:
            _core.set_grad_enabled(was_enabled)

    def _cut_loops(self) -> None:
        if self.kept_turns is None:
            return
        long = [
            node
            for node in self.graph.nodes
            if can_be_cut(node) and any(v in self.active for v in node.outputs)
        ]
        if long:
            cut_long_loops(self.graph, long, self.kept_turns)
            self.active = self._depending()
            self.trace.own([v for node in self.graph.nodes for v in node.outputs])

    def _depending(self) -> set[Value]:
        """The values through which gradients flow: those that depend on what is asked for."""
        return depending(self.graph, self.wrt)

    def _seed(
        self,
        outputs: Sequence[Value],
        seeds: Sequence[Value | None],
        flags: Mapping[int, Value],
    ) -> None:
        for i, (value, seed) in enumerate(zip(outputs, seeds, strict=True)):
            if value not in self.active:
                continue
            if seed is None:
                if value.type.shape != ():
                    raise AutogradError(
                        f"gradients: {value} is no scalar; say with which seed its elements count"
                    )
                made = tx.ones((), dtype=value.type.dtype)
            else:
                made = self.tensor(seed)
            self.add(value, made, Use(self.tensor(flags[i])) if i in flags else ALWAYS)

    # ---- one node

    def _step(self, node: Node) -> None:
        if not any(v in self.gradients for v in node.outputs):
            return
        if not any(v in self.active for v in values_in(node.args)):
            return
        self.trace.source = node.source
        try:
            if node.op.kind == "control":
                CONTROL_RULES[node.op.full_name](self, node)
                return
            use = self.uses.settle(node.outputs)
            for rule, serves, sources in gradient_rules(node.op):
                if any(self._wanted(node.args[p]) for p in serves):
                    own = use
                    if use.flag is not True and not use.spoilt and reads_values(node, sources):
                        own = Use(use.flag, True)
                    made = rule(*(self._argument(node, kind, at) for kind, at in sources))
                    for p, g in zip(serves, (made,) if len(serves) == 1 else made, strict=True):
                        self._take(node.args[p], g, own)
        except ThixoError as error:
            if not str(error).startswith(
                "gradient of "
            ):  # else the node inside of a graph is named
                error.args = (f"gradient of {node.op.full_name}: {error}",)
            raise

    def _wanted(self, argument: Any) -> bool:
        return any(v in self.active for v in values_in((argument,)))

    def _argument(self, node: Node, kind: str, at: int) -> Any:
        if kind == "grad":
            return self.gradient(node.outputs[at])
        if kind == "output":
            return self.tensor(node.outputs[at])
        if kind == "needs":
            return tuple(self._wanted(a) for a in node.args)
        given = node.args[at]
        if kind == "type":
            if isinstance(given, list):
                return [Spec(v.type.shape, v.type.dtype) for v in given]
            return Spec(given.type.shape, given.type.dtype) if isinstance(given, Value) else None
        return self._filled(given)

    def _filled(self, argument: Any) -> Any:
        if isinstance(argument, Value):
            return self.tensor(argument)
        if isinstance(argument, tuple | list):
            return type(argument)(map(self._filled, argument))
        if isinstance(argument, slice):
            return slice(*map(self._filled, (argument.start, argument.stop, argument.step)))
        return argument

    def _take(self, argument: Any, gradient: Any, use: Use) -> None:
        if gradient is None:
            return
        if isinstance(argument, Value):
            self.add(argument, gradient, use)
        elif isinstance(argument, list | tuple):
            for one, g in zip(argument, gradient, strict=True):
                self._take(one, g, use)

    # ---- what rules of control flow use too

    def tensor(self, value: Value) -> Any:
        """The symbolic tensor of a value."""
        found = self._tensors.get(value)
        if found is None:
            found = self._tensors[value] = make_symbolic(value)
        return found

    def gradient(self, value: Value) -> Any:
        """The gradient of a value, zeros if nothing was said of it."""
        found = self.gradients.get(value)
        return self.zeros(value) if found is None else found

    def zeros(self, value: Value) -> Any:
        """Zeros of a value's type."""
        return tx.zeros(tuple(value.type.shape), dtype=value.type.dtype)

    def add(self, value: Value, gradient: Any, use: Use = ALWAYS) -> None:
        """One more part of a value's gradient."""
        if value not in self.active:
            return
        gradient = match(gradient, value.type.shape, value.type.dtype)
        self.gradients[value] = self.uses.add(value, gradient, use)
