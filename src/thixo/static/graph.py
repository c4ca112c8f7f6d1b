"""A graph that is declared: placeholders, variables, and what is computed from them.

Inside of `with graph:` every operator call is recorded and nothing is computed. A tensor of the graph is a symbolic
tensor: it has a type and stands for a value. Variables are inputs of the graph that keep their data between runs;
tensors from outside that turn up, such as the parameters of a Module, become variables that share their memory.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from thixo import _core
from thixo.autodiff import add_gradients
from thixo.device import as_device, device
from thixo.errors import ArgumentError, AutogradError, GraphError, TraceError, describe, user_line
from thixo.graph import ir
from thixo.graph.constants import type_of
from thixo.graph.trace import Trace, current_trace, make_symbolic, untraced
from thixo.static.state import Readers
from thixo.symbolic import Dim

# An unknown size has no example. Where a rule must choose, all unknown sizes are taken to be equal, large, and to divide
# by small numbers, since that is what most programs need; what was chosen is a guard that each run checks.
LIKELY = 5040


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

    def _named(self, name: str, what: str) -> ir.Value:
        if name in self.labels:
            return self.labels[name]
        wanted = name.replace("/", "_").replace(".", "_")
        for value in self.program.values():
            if value.name in (wanted, f"v{wanted}"):  # no name begins with a number
                return value
        raise GraphError(f"{what}: graph {self.name} has nothing that is called {name!r}")

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
        value = self.graph.input(name, type_of(data))
        self.own([value])
        self.owner.variables[value] = Variable(value, data, trainable, user_line())
        return value

    def record(self, op: Any, args: Sequence[Any]) -> Any:
        """Append a node, and what must have happened before it."""
        self._need_open()
        results = super().record(op, args)
        self.note(self, self.graph.nodes[-1])
        return results

    def note(self, trace: Trace, node: ir.Node) -> None:
        """Remember what a new node waits for."""
        if self.after and trace is self and node.outputs:
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


# ---- what is declared


def placeholder(shape: Sequence[Any], dtype: Any = None, name: str = "x") -> Any:
    """A tensor that each run is fed. A size is a number, a name, or None where it is not known.

    Equal names are equal sizes. Any size can be fed, 0 and 1 too.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((None, 3), tx.float32, "x")
    ...     y = x.sum(0)
    >>> session = tx.static.Session(g)
    >>> session.run(y, {x: tx.ones(4, 3)}), session.run(y, {x: tx.ones(0, 3)})
    (tensor([4., 4., 4.]), tensor([0., 0., 0.]))
    """
    from thixo.dtype import DType, get_default_dtype

    declaration = innermost("placeholder")
    graph = declaration.graph
    dtype = get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, DType):
        raise ArgumentError(f"static.placeholder: dtype must be a dtype, got {describe(dtype)}")
    if isinstance(shape, int | str) or not isinstance(shape, Sequence):
        raise ArgumentError(f"static.placeholder: shape must be a tuple, got {describe(shape)}")
    known = {n: s for v in graph.values() for d in v.type.shape if isinstance(d, Dim)
             for n, s in _atoms(d).items()}  # fmt: skip
    sizes = [_size(declaration, size, known) for size in shape]
    value = graph.input(name, ir.Type(dtype, sizes, declaration.owner.device))
    declaration.own([value])
    declaration.owner.placeholders[value] = Placeholder(value, user_line())
    return make_symbolic(value)


def _atoms(size: Dim) -> dict[str, Dim]:
    return {n: Dim(n, a.hint, *_bounds(a)) for n, a in size.symbols.items()}


def _bounds(atom: Any) -> tuple[int, int | None]:
    low, high = atom.bounds
    return low or 0, high


_LETTERS = "nmkhpqrstuvwdijabcefgloxyz"


def _size(declaration: Declaration, size: Any, known: dict[str, Dim]) -> Any:
    if isinstance(size, Dim):
        return size
    if size is None:
        taken = declaration.graph._names
        letters = (f"{c}{i or ''}" for i in range(10**6) for c in _LETTERS)
        size = next(c for c in letters if c not in taken)
    if isinstance(size, str):
        if size not in known:
            if not size.isidentifier() or size in ir.RESERVED:
                raise ArgumentError(f"static.placeholder: {size!r} is no name for a size")
            if size in declaration.graph._names:
                raise ArgumentError(
                    f"static.placeholder: {size!r} is the name of a tensor, not of a size"
                )
            known[size] = Dim(size, LIKELY, 2)
            declaration.graph._names[size] = 0
        return known[size]
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise ArgumentError(
            f"static.placeholder: a size is a number, a name or None, got {describe(size)}"
        )
    return size


def variable(initial: Any, name: str = "w", trainable: bool = True, dtype: Any = None) -> Any:
    """A tensor that is kept between runs and begins with these values.

    >>> with tx.static.Graph() as g:
    ...     w = tx.static.variable([1.0, 2.0], name="w")
    >>> tx.static.Session(g).run(w)
    tensor([1., 2.])

    The initial values may be computed in place: `variable(tx.randn(3, 4) * 0.1)`.
    """
    declaration = innermost("variable")
    if getattr(initial, "_value", None) is not None:
        initial = _computed(declaration, initial)
    with untraced():
        data = _concrete(initial, dtype)
        data = data.detach().clone()
    trainable = trainable and (data.dtype.is_floating_point or data.dtype.is_complex)
    value = declaration.new_variable(data, name, trainable)
    tensor = make_symbolic(value)
    declaration.inputs.append(tensor)
    declaration._input_values.append(value)
    return tensor


def _computed(declaration: Declaration, initial: Any) -> Any:
    """The value of a tensor that follows from nothing but numbers, such as `tx.randn(3)` in a declaration."""
    from thixo.graph.interpret import Interpreter

    wanted = declaration.value_of(initial)
    part = ir.Graph("initial")
    needed, part.outputs = {wanted}, [wanted]
    for node in reversed(declaration.graph.nodes):
        if any(v in needed for v in node.outputs):
            needed.update(ir.values_in(node.args))
            part.nodes.insert(0, node)
    part.constants = {v: d for v, d in declaration.graph.constants.items() if v in needed}
    unknown = [v for v in declaration.graph.inputs if v in needed]
    if unknown:
        raise TraceError(
            f"static: what a variable or a constant begins with must be known, and this depends on "
            f"{unknown[0].name}, which a run decides"
        )
    with untraced():
        return Interpreter(part).run()[0]


def constant(data: Any, name: str = "c", dtype: Any = None) -> Any:
    """A tensor that never changes; what follows from constants alone is computed once.

    >>> with tx.static.Graph() as g:
    ...     y = tx.static.constant([1.0, 2.0]) * 2
    >>> tx.static.Session(g).run(y)
    tensor([2., 4.])
    """
    declaration = innermost("constant")
    if getattr(data, "_value", None) is not None:
        data = _computed(declaration, data)
    with untraced():
        copy = _concrete(data, dtype).detach().clone().numpy()  # an array: nobody can change it
    value = declaration.graph.constant(name, copy)
    declaration.own([value])
    return make_symbolic(value)


def _concrete(data: Any, dtype: Any) -> Any:
    from thixo.tensor import tensor

    if isinstance(data, _core.Tensor):
        return data if dtype is None else data.to(dtype)
    return tensor(data, dtype=dtype)


def named(tensor: Any, name: str) -> Any:
    """The same tensor, which can now be fetched by this name, from a loaded graph too.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((), tx.float32, "x")
    ...     y = tx.static.named(x * 2, "doubled")
    >>> tx.static.Session(g).run("doubled", {"x": 4.0})
    tensor(8.)
    """
    declaration = innermost("named")
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"static.named: needs a name, got {describe(name)}")
    if name in declaration.owner.labels or name in declaration.owner.operations:
        raise GraphError(f"static.named: something is called {name!r} already")
    declaration.owner.labels[name] = declaration.value_of(tensor)
    return tensor


# ---- state


def assign(target: Any, value: Any, name: str = "assign") -> Operation:
    """An operation that gives a variable a new value, after everything else in the run has succeeded.

    Whoever reads the variable in the same run gets the old value, unless inside of
    `control_dependencies([operation])`.

    >>> with tx.static.Graph() as g:
    ...     w = tx.static.variable(1.0)
    ...     double = tx.static.assign(w, w * 2)
    >>> session = tx.static.Session(g)
    >>> session.run([w, double]), session.run(w)
    ([tensor(1.), None], tensor(2.))
    """
    declaration = innermost("assign")
    owner = declaration.owner
    where = _variable(owner, target, "static.assign")
    from thixo.ops import public as tx

    if not isinstance(value, _core.Tensor):
        value = constant(value, dtype=where.type.dtype)
    made = declaration.value_of(value)
    if made.type.dtype is not where.type.dtype:
        raise GraphError(f"static.assign: {where} cannot become {made.type}; convert it with .to")
    if not ir.same_shape(made.type.shape, where.type.shape):
        value = tx.expand(value, tuple(where.type.shape))
        made = declaration.value_of(value)
    return operation(owner, name, {where: made})


def _variable(owner: Graph, target: Any, what: str) -> ir.Value:
    declaration = owner.declaration
    known = declaration.constants.get(id(target))
    boxes = zip(declaration.inputs, declaration._input_values, strict=True)
    own = next((v for tensor, v in boxes if tensor is target), None)  # also where it was written
    value = known[1] if known else own or owner.value_of(target, what)
    if value not in owner.variables:
        raise GraphError(
            f"{what}: {value} is no variable, and keeps nothing; make it with static.variable"
        )
    return value


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


def group(operations: Sequence[Any], name: str = "group") -> Operation:
    """One operation that does all of these; tensors among them are computed, for what that does.

    >>> with tx.static.Graph() as g:
    ...     a, b = tx.static.variable(0.0, name="a"), tx.static.variable(0.0, name="b")
    ...     both = tx.static.group([tx.static.assign(a, a + 1), tx.static.assign(b, b - 1)])
    >>> session = tx.static.Session(g)
    >>> session.run(both), session.run([a, b])
    (None, [tensor(1.), tensor(-1.)])
    """
    owner = innermost("group").owner
    assigned: dict[ir.Value, ir.Value] = {}
    needed: list[ir.Value] = []
    for one in operations:
        if isinstance(one, Operation):
            need_own(owner, one, "static.group")
            assigned.update(one.assigned)
            needed.extend(one.needed)
        else:
            needed.append(owner.value_of(one, "static.group"))
    return operation(owner, name, assigned, needed)


def need_own(owner: Graph, one: Operation, what: str) -> None:
    """Refuse an operation of another graph."""
    if one.graph is not owner:
        raise GraphError(f"{what}: {one!r} belongs to graph {one.graph.name}, not to {owner.name}")


# ---- scopes


@contextlib.contextmanager
def name_scope(name: str) -> Iterator[str]:
    """Let the names of what is declared inside begin with this one.

    >>> with tx.static.Graph() as g:
    ...     with tx.static.name_scope("layer"):
    ...         w = tx.static.variable(1.0, name="w")
    >>> tx.static.Session(g).run("layer/w")
    tensor(1.)
    """
    program: Any = current("name_scope").owner.program
    if not name.replace("/", "_").isidentifier():
        raise ArgumentError(f"static.name_scope: {name!r} is no name")
    before = program.prefix
    program.prefix = f"{before}{name.replace('/', '_')}_"
    try:
        yield program.prefix
    finally:
        program.prefix = before


@contextlib.contextmanager
def device_scope(where: str | device) -> Iterator[device]:
    """Let placeholders that are declared inside live on this device.

    >>> with tx.static.Graph() as g, tx.static.device("cpu"):
    ...     x = tx.static.placeholder((2,), tx.float32)
    """
    owner = current("device").owner
    before, owner.device = owner.device, as_device(where)
    try:
        yield owner.device
    finally:
        owner.device = before


@contextlib.contextmanager
def control_dependencies(operations: Sequence[Any]) -> Iterator[None]:
    """Let these happen in any run that needs something that is declared inside, and before it.

    A variable that one of them assigns is read inside with its new value.

    >>> with tx.static.Graph() as g:
    ...     n = tx.static.variable(0.0, name="n")
    ...     with tx.static.control_dependencies([tx.static.assign(n, n + 1)]):
    ...         y = n * 10
    >>> session = tx.static.Session(g)
    >>> session.run(y), session.run(y), session.run(n)
    (tensor(10.), tensor(20.), tensor(2.))
    """
    declaration = innermost("control_dependencies")
    owner = declaration.owner
    waits: list[Any] = []
    reads: dict[ir.Value, ir.Value] = {}
    for one in operations:
        if isinstance(one, Operation):
            need_own(owner, one, "static.control_dependencies")
            reads.update(one.assigned)
            waits.append(one)
        else:
            waits.append(owner.value_of(one, "static.control_dependencies"))
    declaration.after.append(tuple(waits))
    declaration.reads.append(reads)
    try:
        yield
    finally:
        declaration.after.pop()
        declaration.reads.pop()


# ---- gradients


def gradients(loss: Any, variables: Sequence[Any], seed: Any = None) -> list[Any]:
    """The gradients of a scalar by each of these tensors, as more of the graph.

    A tensor with axes needs a `seed` of its shape: how much each element counts.

    >>> with tx.static.Graph() as g:
    ...     x = tx.static.placeholder((), tx.float32, "x")
    ...     (slope,) = tx.static.gradients(x * x * x, [x])
    ...     (curve,) = tx.static.gradients(slope, [x])
    >>> tx.static.Session(g).run([slope, curve], {x: tx.tensor(2.0)})
    [tensor(12.), tensor(12.)]
    """
    declaration = innermost("gradients")
    output = declaration.value_of(_need_tensor(loss, "loss"))
    wrt = [declaration.value_of(_need_tensor(v, "a variable")) for v in variables]
    start = None if seed is None else declaration.value_of(seed)
    if start is None and output.type.shape != ():
        raise AutogradError(
            f"static.gradients: {output} is no scalar; reduce it (.sum(), .mean()) or give a seed of its shape"
        )
    graph = declaration.graph
    mine = graph.guards
    found = add_gradients(graph, [output], wrt, [start])
    known = {str(g) for g in mine}
    mine.extend(g for g in graph.guards if str(g) not in known)
    graph.guards = mine  # the ones that this declaration goes on collecting
    declaration.own([v for node in graph.nodes for v in node.outputs])
    return [make_symbolic(v) for v in found]


def _need_tensor(x: Any, what: str) -> Any:
    if not isinstance(x, _core.Tensor):
        raise ArgumentError(f"static.gradients: {what} must be a tensor, got {describe(x)}")
    return x
