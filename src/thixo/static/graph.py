"""A graph that is declared: placeholders, variables, and what is computed from them.

Inside of `with graph:` every operator call is recorded and nothing is computed. A tensor of the graph is a symbolic
tensor: it has a type and stands for a value. Variables are inputs of the graph that keep their data between runs;
tensors from outside that turn up, such as the parameters of a Module, become variables that share their memory.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple

from thixo import _core
from thixo.device import as_device
from thixo.errors import ArgumentError, GraphError, describe, nearest, user_line
from thixo.graph import ir
from thixo.graph.constants import type_of
from thixo.graph.trace import Trace, current_trace, make_symbolic
from thixo.static.state import Readers


class Placeholder(NamedTuple):
    """A value that each run is fed."""

    value: ir.Value
    source: str | None


class Variable(NamedTuple):
    """A value that is kept between runs, in `data`."""

    value: ir.Value
    data: Any  # a concrete tensor, written in place
    trainable: bool
    source: str | None


class Operation:
    """Something a run does, rather than computes: the assignments that happen if it is fetched.

    >>> with tx.static.Graph() as g:
    ...     count = tx.static.variable(0.0, name="count")
    ...     up = tx.static.assign(count, count + 1)
    >>> session = tx.static.Session(g)
    >>> session.run(up), session.run(up), session.run(count)
    (None, None, tensor(2.))
    """

    __slots__ = ("assigned", "graph", "name", "needed", "source")

    def __init__(
        self,
        graph: Graph,
        name: str,
        assigned: dict[ir.Value, ir.Value],
        needed: Sequence[ir.Value],
        source: str | None,
    ) -> None:
        self.graph = graph
        self.name = name
        self.assigned = assigned  # variable -> what it becomes
        self.needed = tuple(needed)  # values that are computed for what computing them does
        self.source = source

    def __repr__(self) -> str:
        return f"<operation {self.name}: {', '.join(v.name for v in self.assigned)}>"


class _Values(ir.Graph):
    """The graph's program; its names begin with those of the scopes that are open."""

    __slots__ = ("prefix",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.prefix = ""

    def fresh_name(self, wish: str) -> str:
        """The wished name in the scope."""
        return super().fresh_name(self.prefix + wish)


class Graph:
    """A computation that is declared once and run many times, by a `Session`.

    >>> with tx.static.Graph("line") as g:
    ...     x = tx.static.placeholder((None,), tx.float32, "x")
    ...     w = tx.static.variable(2.0, name="w")
    ...     y = x * w + 1
    >>> print(g)
    graph line(x: f32[n], w: f32[]) {
      sizes n ~ 5040
      mul: f32[n] = mul(x, w)    # ...:4
      add: f32[n] = add(mul, 1)  # ...:4
      return
    }
    >>> tx.static.Session(g).run(y, {x: tx.tensor([1.0, 2.0])})
    tensor([3., 5.])
    """

    def __init__(self, name: str = "main") -> None:
        if not isinstance(name, str) or re.fullmatch(r"\w+", name) is None:  # as files have it
            raise ArgumentError(
                f"static.Graph: a name is letters, digits and _, got {describe(name)}"
            )
        self.program: ir.Graph = _Values(name)
        self.placeholders: dict[ir.Value, Placeholder] = {}
        self.variables: dict[ir.Value, Variable] = {}
        self.operations: dict[str, Operation] = {}
        self.labels: dict[str, ir.Value] = {}  # names that the user gave
        self.frozen = False
        self.device = as_device(None)
        # The operations and values that must have happened before a node, by its first result.
        self.controls: dict[ir.Value, tuple[Any, ...]] = {}
        # The state of optimizers: by identity the optimizer, and its variables for each variable.
        self.slots: dict[int, tuple[Any, dict[Any, dict[str, ir.Value]]]] = {}
        self.lock = Readers()
        self.declaration = Declaration(self)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.program.name

    # ---- declaring

    def __enter__(self) -> Graph:
        self.declaration._need_open()
        self.declaration.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.declaration.__exit__(kind, error, traceback)

    def freeze(self) -> Graph:
        """Allow no more declarations.

        >>> g = tx.static.Graph("done").freeze()
        >>> with g:
        ...     pass
        Traceback (most recent call last):
        ...
        thixo.errors.GraphError: graph done: it is frozen; nothing can be added to it ...
        """
        self.frozen = True
        return self

    # ---- looking

    def value_of(self, x: Any, what: str) -> ir.Value:
        """The value that a tensor of this graph, or a name, stands for."""
        if isinstance(x, str):
            return self._named(x, what)
        if isinstance(x, ir.Value):
            value: ir.Value | None = x
        else:
            value = getattr(x, "_value", None)
            if value is None and isinstance(x, _core.Tensor):
                known = self.declaration.constants.get(id(x))
                value = None if known is None else known[1]
        if value is None:
            raise GraphError(
                f"{what}: needs a tensor, a name or an operation of graph {self.name}, got {describe(x)}"
            )
        if value not in self.declaration._own:
            raise GraphError(f"{what}: {value} belongs to another graph than {self.name}")
        return value

    def variable_of(self, target: Any, what: str) -> ir.Value:
        """The variable that a tensor is, also where it was written."""
        declaration = self.declaration
        known = declaration.constants.get(id(target))
        boxes = zip(declaration.inputs, declaration._input_values, strict=True)
        own = next((v for tensor, v in boxes if tensor is target), None)
        value = known[1] if known else own or self.value_of(target, what)
        if value not in self.variables:
            raise GraphError(
                f"{what}: {value} is no variable, and keeps nothing; make it with static.variable"
            )
        return value

    def _named(self, name: str, what: str) -> ir.Value:
        for label in (name, name.replace("/", "_")):
            if label in self.labels:
                return self.labels[label]
        value = self._found(name)
        if value is not None:
            return value
        names = (*self.labels, *self.operations, *(v.name for v in self.program.values()))
        raise GraphError(
            f"{what}: graph {self.name} has nothing that is called {name!r}{nearest(name, names)}"
        )

    def _found(self, name: str) -> ir.Value | None:
        wanted = name.replace("/", "_").replace(".", "_")
        for value in self.program.values():
            if value.name in (wanted, f"v{wanted}"):  # no name begins with a number
                return value
        return None

    def keep_name(self, value: ir.Value, name: str) -> None:
        """Let a value be found by the name that the user gave, where the program had to write it another way."""
        program: Any = self.program
        full = program.prefix + name
        if value.name != full and full not in self.labels and self._found(full) is None:
            self.labels[full] = value

    def tensor(self, name: str) -> Any:
        """The tensor of this name.

        >>> with tx.static.Graph() as g:
        ...     x = tx.static.placeholder((2,), tx.float32, "x")
        >>> g.tensor("x")
        traced(f32[2])
        """
        return make_symbolic(self._named(name, "tensor"))

    def source_of(self, value: ir.Value) -> str | None:
        """The line that declared a value."""
        found = self.placeholders.get(value) or self.variables.get(value)
        if found is not None:
            return found.source
        for node in self.program.nodes:
            if value in node.outputs:
                return node.source
        return None

    def __str__(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        return (
            f"<Graph {self.name}: {len(self.placeholders)} placeholders, {len(self.variables)} variables, "
            f"{len(self.program.nodes)} nodes>"
        )


class Declaration(Trace):
    """The trace of a graph that is declared, entered as often as the user likes."""

    declares = True

    def __init__(self, owner: Graph) -> None:
        super().__init__(graph=owner.program)
        self.owner = owner
        self.kept: list[Any] = []
        self.reads: list[dict[ir.Value, ir.Value]] = []  # what variables are in the control scopes
        self.after: list[tuple[Any, ...]] = []  # what the control scopes wait for

    def __enter__(self) -> Trace:
        if any(d is self for d in _declarations()):
            raise GraphError(f"graph {self.owner.name}: it is being declared already, further out")
        super().__enter__()
        for tensor, value in self.constants.values():  # what was written stays written
            if value in self.graph.mutations:
                _core.set_value(tensor, self.graph.mutations[value])
        return self

    def value_of(self, tensor: Any) -> ir.Value:
        """The value of a tensor; one from outside becomes a variable."""
        value = tensor._value
        if value is None:
            known = self.constants.get(id(tensor))
            value = self._capture(tensor) if known is None else known[1]
        elif value not in self._own:
            raise GraphError(
                f"graph {self.owner.name}: {value} belongs to another graph; feed its value through a placeholder"
            )
        for reads in reversed(self.reads):
            if value in reads:
                return reads[value]
        return value

    def stored(self, tensor: Any) -> Any:
        """The variable itself, though it was written in place: whether that happens is known when something is fetched."""
        known = self.constants.get(id(tensor))
        return tensor if known is None else make_symbolic(known[1])

    def _capture(self, tensor: Any) -> ir.Value:
        name = self.names.get(id(tensor)) or _name_in_module(tensor) or "c"
        value = self.new_variable(tensor, name, bool(tensor.requires_grad and tensor.is_leaf))
        self.constants[id(tensor)] = (tensor, value)
        if tensor.requires_grad and tensor.is_leaf:
            self._gradients[value] = tensor.grad
        return value

    def new_variable(self, data: Any, name: str, trainable: bool) -> ir.Value:
        """An input that keeps its data."""
        self._need_open()
        value = self.graph.input(name, self._shared([type_of(data)])[0])
        self.own([value])
        self.owner.variables[value] = Variable(value, data, trainable, user_line())
        return value

    def record(self, op: Any, args: Sequence[Any]) -> Any:
        """Append a node, and what must have happened before it."""
        self._need_open()
        results = super().record(op, args)
        self.noted(self.graph.nodes[-1])
        return results

    def noted(self, node: ir.Node) -> None:
        """Remember what a new node waits for."""
        if self.after and node.outputs:
            self.owner.controls[node.outputs[0]] = tuple(x for scope in self.after for x in scope)

    def _need_open(self) -> None:
        if self.owner.frozen:
            raise GraphError(f"graph {self.owner.name}: it is frozen; nothing can be added to it")

    def writes(self) -> dict[ir.Value, ir.Value]:
        """The variables that were written in place so far, and what they become."""
        found = {v: t._value for t, v in self.constants.values() if t._value is not None}
        for tensor, value in zip(self.inputs, self._input_values, strict=True):
            if tensor._value is not value:
                found[value] = tensor._value
        return found


def _name_in_module(tensor: Any) -> str:
    """What the Module that is being called, and those around it, call one of its tensors."""
    path: list[str] = []
    inner: Any = None
    frame: Any = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        parts = ("_modules",) if path else ("_parameters", "_buffers")
        wanted = inner if path else tensor
        for part in parts if owner is not inner else ():
            held = getattr(owner, part, None)
            if isinstance(held, dict):
                found = next((n for n, x in held.items() if x is wanted), None)
                if found is not None:
                    path.insert(0, found)
                    inner = owner
                    break
        frame = frame.f_back
    return "_".join(path)


def _declarations() -> list[Any]:
    from thixo.graph.trace import _active

    return list(_active.stack)


def current(what: str) -> Declaration:
    """The declaration that is going on in this thread."""
    for trace in reversed(_declarations()):
        if isinstance(trace, Declaration):
            return trace
    raise GraphError(
        f"static.{what}: no graph is being declared here; write `with graph:` around it"
    )


def innermost(what: str) -> Declaration:
    """The declaration that is going on, which is not inside of a branch or a loop."""
    found = current(what)
    if current_trace() is not found:
        raise GraphError(
            f"static.{what}: not inside of a branch or the body of a loop; declare it before"
        )
    return found


def operation(
    owner: Graph, name: str, assigned: dict[ir.Value, ir.Value], needed: Sequence[ir.Value] = ()
) -> Operation:
    """Enter an operation under a name of its own."""
    found, number = name, 0
    while found in owner.operations:
        number += 1
        found = f"{name}_{number}"
    made = Operation(owner, found, assigned, needed, user_line())
    owner.operations[found] = made
    return made


def need_own(owner: Graph, one: Operation, what: str) -> None:
    """Refuse an operation of another graph."""
    if one.graph is not owner:
        raise GraphError(f"{what}: {one!r} belongs to graph {one.graph.name}, not to {owner.name}")
