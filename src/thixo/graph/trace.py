"""Recording: operators that meet symbolic tensors become nodes of a graph.

While a `Trace` is active the native core hands every operator call to it. A tensor made inside is
symbolic: it has a type and a graph value, no data. A concrete tensor that turns up was captured from
outside and becomes a constant. Gradient rules are written with public operators, so `backward` inside
of a traced function is recorded like anything else.
"""

import contextlib
import importlib
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from thixo import _core
from thixo.device import cpu
from thixo.dtype import DType
from thixo.errors import TraceError, describe, user_line
from thixo.graph.alias import Aliases
from thixo.graph.control import is_random
from thixo.graph.ir import Graph, Node, Type, Value, values_in
from thixo.graph.sizes import sizes_in, symbol_name, symbols_in
from thixo.graph.typing import result_types
from thixo.guards import assumed, guards
from thixo.ops import view_strided
from thixo.symbolic import Dim, same


class _Active(threading.local):
    def __init__(self) -> None:
        self.stack: list[Trace] = []


_active = _Active()

# The name, inputs and nodes of the last traces: for messages about tensors that have left them.
_ended: deque[tuple[str, list[Value], list[Node]]] = deque(maxlen=4)


def current_trace() -> "Trace | None":
    """The innermost trace of this thread."""
    return _active.stack[-1] if _active.stack else None


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Compute here, whatever is being recorded.

    >>> with Trace("f"), untraced():
    ...     print(tx.ones(2) + 1)
    tensor([2., 2.])
    """
    was = _core.set_tracing(False)
    try:
        yield
    finally:
        _core.set_tracing(was)


class Trace:
    """A graph that is being recorded.

    >>> from thixo.graph import parse_type
    >>> with Trace("f") as trace:
    ...     x = trace.input("x", parse_type("f32[n]"))
    ...     y = trace.output(x * 2)
    >>> graph = trace.finish()
    >>> graph.nodes
    [mul: f32[n] = mul(x, 2)]
    """

    # Whether what is recorded runs later and often: what Python objects keep is then made while it is recorded.
    declares = False
    # Whether a user's function is traced, whose tensors may leave it.
    is_users = False
    # Whether no_grad means something: a graph says then that no gradients flow there.
    cuts = True
    # While the tape takes gradients inside of captured code: which of them count.
    counting: Any = None

    def __init__(self, name: str = "main", graph: Graph | None = None) -> None:
        self.graph = Graph(name) if graph is None else graph  # one that is there goes on growing
        self.source: str | None = (
            None  # the user's line for all that is recorded; else found on the stack
        )
        self.inputs: list[Any] = []  # the symbolic tensors that stand for inputs made here
        self._input_values: list[Value] = []
        self.constants: dict[int, tuple[Any, Value]] = {}  # id -> the captured tensor, its value
        self.names: dict[int, str] = {}  # id of a tensor -> what it is called if captured
        self.aliases = Aliases(self)
        self._gradients: dict[Value, Any] = {}  # the .grad captured tensors had
        self.adopted: set[Value] = set()  # constants made of data inside, which the graph keeps
        self._own: set[Value] = set(self.graph.values())
        self._ungraded: set[Value] = set()  # made where gradients were off
        self._detached: dict[Value, Value] = {}
        self._guards: Any = None
        self._types: dict[Any, Type] = {}  # of fixed sizes, on this machine
        self._last: list[Any] = []
        self.by_hand: Any = None  # what control flow by hand knows of this trace
        self.need_fresh: Any = None  # asked of each tensor that is used, where such control flow is
        self.numbers: dict[Any, Node] | None = (
            None  # while there: what was computed of single numbers, once each
        )

    # ---- being active

    def __enter__(self) -> "Trace":
        install()
        self._guards = guards()
        kept = self._guards.__enter__()
        kept.extend(self.graph.guards)
        self.graph.guards = kept
        _active.stack.append(self)
        self._was_tracing = _core.set_tracing(True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _core.set_tracing(self._was_tracing)
        _active.stack.pop()
        self._guards.__exit__(kind, error, traceback)
        if self.is_users:
            _ended.append((self.graph.name, list(self.graph.inputs), list(self.graph.nodes)))
        self._record_mutations()
        left = self._take_back_gradients()
        if left is not None and error is None:
            raise TraceError(
                f"trace: backward() left a gradient in {left}, which is captured; a graph cannot do that: "
                "take gradients with tx.autograd.grad and return them"
            )

    def stored(self, tensor: Any) -> Any:
        """What a read gets that does not ask for the writes of this trace; only declared graphs tell them apart."""
        return tensor

    def _record_mutations(self) -> None:
        # A captured tensor that was written denotes its new value until here; the data never changed.
        # What was written under no_grad is marked: whoever runs the graph writes it past the tape.
        marked = (lambda value: value) if self.declares else self._with_gradient_cut
        for tensor, value in self.constants.values():
            if tensor._value is not None:
                self.graph.mutations[value] = marked(tensor._value)
                _core.become(tensor, None)
        for tensor, value in zip(self.inputs, self._input_values, strict=True):
            if tensor._value is not value:
                self.graph.mutations[value] = marked(tensor._value)

    def _take_back_gradients(self) -> Value | None:
        """Captured tensors get the .grad they had; one whose .grad was written, if any."""
        found = None
        for tensor, value in self.constants.values():
            grad = tensor.grad if tensor.is_leaf else None
            if grad is not None and grad._value is not None:
                tensor.grad = self._gradients.get(value)
                found = value
        return found

    # ---- the border of the graph

    def input(self, name: str, type: Type, requires_grad: bool = False) -> Any:
        """A symbolic tensor for a new input."""
        value = self.graph.input(name, type)
        self._own.add(value)
        tensor = make_symbolic(value)
        if requires_grad:
            tensor.requires_grad_(True)
        self.inputs.append(tensor)
        self._input_values.append(value)
        return tensor

    def value_of(self, tensor: Any) -> Value:
        """The graph value of a tensor: its own if it is symbolic, else a constant's."""
        if self.need_fresh is not None:
            self.need_fresh(tensor)
        value = tensor._value
        if value is not None:
            if value not in self._own:
                raise TraceError(
                    f"trace: a tensor {describe(tensor)} of another trace is used here{_origin([tensor])}; a traced tensor "
                    "means something only inside of the function that is traced"
                )
            return value
        known = self.constants.get(id(tensor))
        if known is None:
            wish = self.names.get(id(tensor), "c")
            value = self.graph.constant(wish, tensor)
            self._own.add(value)
            self.constants[id(tensor)] = (tensor, value)
            if tensor.requires_grad and tensor.is_leaf:
                self._gradients[value] = tensor.grad
            return value
        return known[1]

    def noted(self, node: Node) -> None:
        """A node was added to the graph by hand; declared graphs remember what it waits for."""

    def own(self, values: Sequence[Value]) -> None:
        """Take values that were added to the graph by hand for its own."""
        self._own.update(values)

    def output(self, tensor: Any) -> Value:
        """Make a tensor a result of the graph."""
        value = self._with_gradient_cut(self.value_of(tensor))
        self.graph.outputs.append(value)
        return value

    def finish(self) -> Graph:
        """The recorded graph, without the nodes that nothing needs."""
        remove_dead(self.graph)
        return self.graph

    # ---- what the native core calls

    def record(self, op: Any, args: Sequence[Any]) -> Any:
        """Append the node of an operator call; its results as symbolic tensors."""
        graded = _core.is_grad_enabled()
        counting = self.counting
        if counting is not None:
            args = counting.meet(op, args)
        bound = tuple(
            self._argument(p.kind, a, graded) for p, a in zip(op.sig.params, args, strict=True)
        )
        numbers = self.numbers
        key = None if numbers is None else self.key_of(op, bound)
        if key is not None:
            key = (key, graded)  # what no gradients flow through is another value
        node = None if numbers is None else numbers.get(key)
        if node is None:
            types = self._shared(self._with_own_sizes(bound, result_types(op, bound)))
            node = self.graph.add(op, bound, types, source=self.source or user_line())
            self._own.update(node.outputs)
            if numbers is not None and key is not None:
                numbers[key] = node
        if not graded and self.cuts:
            self._ungraded.update(v for v in node.outputs if _has_gradient(v.type.dtype))
        if counting is not None:
            counting.made(args, node)
        results = self.aliases.results(op, args, node)
        self._last = results  # the native core takes them by their insides: keep them until it has
        return results[0] if len(results) == 1 and not op.sig.many else tuple(results)

    def key_of(self, op: Any, args: Sequence[Any]) -> Any:
        """Equal for nodes that are recorded once while `numbers` is there; None for those that are not."""
        return _number_key(op, args)

    def _shared(self, types: list[Type]) -> list[Type]:
        """One object for equal types: all that looks at many values is faster."""
        found = []
        for t in types:
            shared = t.device is cpu and Dim not in map(type, t.shape)
            found.append(self._types.setdefault((t.dtype, t.shape), t) if shared else t)
        return found

    def _with_own_sizes(self, args: tuple[Any, ...], types: list[Type]) -> list[Type]:
        """Sizes that the data decide, numbered by graph: the same program gives the same text."""
        if not any(isinstance(s, Dim) for t in types for s in t.shape):
            return types
        known = {n for v in values_in(args) for s in v.type.shape for n in symbols_in(s)}
        known.update(n for s in sizes_in(args) for n in s.symbols)
        new: dict[str, Any] = {}
        for t in types:
            for size in t.shape:
                for name, atom in symbols_in(size).items():
                    if name not in known and name not in new:
                        wish = self.graph.fresh_name(name.rstrip("0123456789"))
                        new[name] = Dim(wish, atom.hint, *atom.bounds)
        if not new:
            return types
        return [
            Type(
                t.dtype, [s.substitute(new) if isinstance(s, Dim) else s for s in t.shape], t.device
            )
            for t in types
        ]

    def _argument(self, kind: str, a: Any, graded: bool) -> Any:
        if isinstance(a, _core.Tensor):
            value = self.value_of(a)
            return self._with_gradient_cut(value) if graded else value
        if isinstance(a, list | tuple):
            made = [self._argument("", e, graded) for e in a]
            return made if kind == "tensors" or isinstance(a, list) else tuple(made)
        if isinstance(a, slice):
            return slice(*self._argument("", (a.start, a.stop, a.step), graded))
        if isinstance(a, np.generic):
            return a.item()
        if kind == "generator" and a is not None:
            raise TraceError(
                "trace: a Generator cannot be part of a graph; draw from the default one, or outside"
            )
        return a

    def _with_gradient_cut(self, value: Value) -> Value:
        """A value made under no_grad, where gradients are on: a node says that none flow through."""
        if value not in self._ungraded:
            return value
        found = self._detached.get(value)
        if found is None:
            from thixo.graph.operators import find

            node = self.graph.add(find("detach"), (value,), [value.type], source=user_line())
            found = self._detached[value] = node.outputs[0]
            self._own.add(found)
        return found

    def concretize(self, what: str, text: str) -> None:
        """Someone asks for the value of a tensor of this type: an error."""
        _refuse_value(self, what, text)

    def adopt(self, tensor: Any) -> Any:
        """A tensor made from data inside of the function: a constant whose writes stay inside."""
        value = self.graph.constant("c", tensor)
        self._own.add(value)
        self.adopted.add(value)
        self.constants[id(tensor)] = (tensor, value)  # keeps the data alive
        return make_symbolic(value)


def _number_key(op: Any, args: Sequence[Any]) -> Any:
    """Equal for nodes that compute the same from the same single numbers; None for all other nodes."""
    if op.random or (op.kind != "pointwise" and op.full_name != "cast"):
        return None
    parts = [op]
    for a in args:
        if isinstance(a, Value) and not a.type.shape:
            parts.append(id(a))
        elif a.__class__ in (int, bool, str, DType) or a is None:
            parts += (a.__class__, a)
        elif a.__class__ is float:
            parts.append(a.hex())
        else:
            return None
    return tuple(parts)


def make_symbolic(value: Value, strides: Sequence[int] | None = None) -> Any:
    """A tensor without data that denotes a graph value."""
    hints = [size_hint(s) for s in value.type.shape]
    return _core.symbolic(value, tuple(hints), value.type.dtype.code, strides)


def size_hint(size: Any) -> int:
    """A size in the example; some number for a size that the data decide."""
    if not isinstance(size, Dim):
        return size
    hint = size.hint
    return 2 if hint is None else hint


def _has_gradient(dtype: DType) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def remove_dead(graph: Graph) -> None:
    """Drop nodes and constants that no result needs; random nodes stay, they advance the generator."""
    needed = set(graph.results())
    finders = finders_of_sizes(graph)  # who says how large something is, is needed too
    wanted: set[Node] = set()
    kept: list[Node] = []
    random: dict[int, bool] = {}
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.outputs) or node in wanted or is_random(node, random):
            needed.update(node.inputs)
            kept.append(node)
            if finders:
                used = sizes_in([*node.args, *(v.type.shape for v in node.outputs)])
                wanted.update(finders[n] for size in used for n in size.symbols if n in finders)
    kept.reverse()
    graph.nodes = kept
    if finders:
        lost = {name for name, node in finders.items() if node not in wanted}
        graph.guards = [
            g
            for g in graph.guards
            if lost.isdisjoint(n for s in (g.left, g.right) for n in symbols_in(s))
        ]
    graph.constants = {
        v: d for v, d in graph.constants.items() if v in needed or v in graph.mutations
    }


def finders_of_sizes(graph: Graph) -> dict[str, Node]:
    """The node that binds each size which the data decide."""
    made = {id(v.type): v.type for n in graph.nodes for v in n.outputs}
    if not any(isinstance(s, Dim) for t in made.values() for s in t.shape):
        return {}
    types = {id(v.type): v.type for v in graph.inputs}
    known = {n for t in types.values() for s in t.shape for n in symbols_in(s)}
    found: dict[str, Node] = {}
    seen = set(types)
    for node in graph.nodes:
        for value in node.outputs:
            if id(value.type) in seen:
                continue
            seen.add(id(value.type))
            for size in value.type.shape:
                name = symbol_name(size)
                if name is not None and name not in known:
                    found.setdefault(name, node)
    return found


# ---- hooks: the native core calls these, the trace of the thread answers


def _trace(operation: str, args: Sequence[Any] = ()) -> Trace:
    if not _active.stack:
        raise TraceError(
            f"{operation}: a traced tensor is used after its trace has ended{_origin(args)}; return what you need from "
            "the traced function, or, of a declared graph, go on inside of `with graph:` or fetch it with Session.run"
        )
    return _active.stack[-1]


def _origin(args: Sequence[Any]) -> str:
    """In which of the last traces a tensor was made, and where."""
    values = {a._value for a in args if isinstance(a, _core.Tensor) and a._value is not None}
    for name, inputs, nodes in reversed(_ended):
        for value in inputs:
            if value in values:
                return f": it is the argument {value.name} of {name}"
        for node in nodes:
            if not values.isdisjoint(node.outputs):
                return f": it was made in {name} at {node.source or 'an unknown line'}"
    return ""


def stored(tensor: Any) -> Any:
    """A tensor as it is kept between runs, even where a graph that is being declared has written to it before.

    >>> stored(tx.tensor(1.0))
    tensor(1.)
    """
    trace = current_trace()
    return tensor if trace is None or tensor is None else trace.stored(tensor)


def _record(op: Any, args: tuple[Any, ...]) -> Any:
    return _trace(op.sig.name, args).record(op, args)


def _write(op: Any, args: tuple[Any, ...]) -> None:
    _trace(op.sig.name + "_", args).aliases.write(op, args)


def _adopt(tensor: Any) -> Any:
    return _trace("tensor", (tensor,)).adopt(tensor)


def _concretize(what: str, dtype: DType, shape: tuple[Any, ...]) -> None:
    text = f"{dtype.short}[{','.join(map(str, shape))}]"
    if not _active.stack:
        raise TraceError(
            f"{what} needs the value of a tensor {text} of a graph, which has one only while the graph runs: "
            "fetch it with Session.run, or return it from the traced function"
        )
    _active.stack[-1].concretize(what, text)


def _refuse_value(trace: Trace, what: str, text: str) -> None:
    if trace.declares:
        raise TraceError(
            f"{what} needs the value of a tensor {text}, which is only declared here and has none yet. Choose "
            "with tx.where or tx.static.cond in place of if, repeat with tx.static.while_loop in place of while, "
            "keep numbers as 0-d tensors, or fetch it with Session.run"
        )
    raise TraceError(
        f"trace: {what} needs the value of a tensor {text}, which is not known while tracing; it would "
        "be baked in for this example. Choose with tx.where in place of if, keep numbers as 0-d tensors, "
        "capture branches and loops with tx.jit.script, or leave this part out of the traced function"
    )


def match(grad: Any, shape: Sequence[Any], dtype: DType) -> Any:
    """A gradient as its input needs it: summed where it was broadcast, rounded, made real."""
    from thixo.ops import public as tx

    extra = len(grad.shape) - len(shape)
    repeated = [
        i
        for i, size in enumerate(shape, extra)
        if not same(size, grad.shape[i]) and _is_repeated(size, grad.shape[i])
    ]
    if extra or repeated:
        grad = tx.sum(grad, dim=(*range(extra), *repeated), keepdim=True)
        if extra or any(isinstance(shape[i - extra], Dim) for i in repeated):
            grad = tx.reshape(grad, tuple(shape))
    if grad.dtype is dtype:
        return grad
    if grad.dtype.is_complex and not dtype.is_complex:
        grad = tx.real(grad)
    return grad if grad.dtype is dtype else tx.to(grad, dtype)


def _match(grad: Any, shape: Sequence[Any], dtype: DType) -> Any:
    """A gradient that a node of the tape gets."""
    grad = match(grad, shape, dtype)
    trace = current_trace()
    if trace is None or trace.counting is None:
        return grad
    return trace.counting.arrived(grad)


def _is_repeated(size: Any, given: Any) -> bool:
    """Whether a size is 1 where its gradient has another, by a guard that the graph has already where it is symbolic.

    Two symbolic sizes that are both 1 in the example are equal, unless the graph was told that the first is always 1.
    """
    if not isinstance(size, Dim) or size.hint != 1:
        return not isinstance(size, Dim) and size == 1
    return not isinstance(given, Dim) or given.hint != 1 or assumed(size, "==", 1)


_installed = False


def install() -> None:
    """Give the native core its hooks, once."""
    global _installed
    if _installed:
        return
    importlib.import_module("thixo.tensor")  # methods of tensors
    _core.set_trace_hook(_record)
    _core.set_trace_inplace_hook(_write)
    _core.set_trace_constant_hook(_adopt)
    _core.set_concretize_hook(_concretize)
    _core.configure(match_symbolic=_match)
    view_strided.traced_memory = lambda t: _trace("as_strided").aliases.memory_of(t)
    _installed = True
