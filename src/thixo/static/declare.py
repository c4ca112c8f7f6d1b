"""What is written inside of a declaration: placeholders, variables, assignments, scopes, gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from thixo import _core
from thixo.autodiff import add_gradients
from thixo.device import as_device, device
from thixo.errors import ArgumentError, AutogradError, GraphError, TraceError, describe, user_line
from thixo.graph import ir
from thixo.graph.trace import make_symbolic, untraced
from thixo.static.graph import (
    Declaration,
    Operation,
    Placeholder,
    current,
    innermost,
    need_own,
    operation,
)
from thixo.symbolic import Dim

# An unknown size has no example. Where a rule must choose, all unknown sizes are taken to be equal, large, and to divide
# by small numbers, since that is what most programs need; what was chosen is a guard that each run checks.
LIKELY = 5040


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
    _need_name(name, "placeholder")
    graph = declaration.graph
    dtype = get_default_dtype() if dtype is None else dtype
    if isinstance(shape, int | str) or not isinstance(shape, Sequence):
        raise ArgumentError(
            f"static.placeholder(shape, dtype, name): shape must be a tuple, got {describe(shape)}"
        )
    if not isinstance(dtype, DType):
        raise ArgumentError(
            f"static.placeholder(shape, dtype, name): dtype must be a dtype, got {describe(dtype)}"
        )
    known = {n: s for v in graph.values() for d in v.type.shape if isinstance(d, Dim)
             for n, s in _atoms(d).items()}  # fmt: skip
    sizes = [_size(declaration, size, known) for size in shape]
    value = graph.input(name, ir.Type(dtype, sizes, declaration.owner.device))
    declaration.own([value])
    declaration.owner.placeholders[value] = Placeholder(value, user_line())
    declaration.owner.keep_name(value, name)
    return make_symbolic(value)


def _need_name(name: Any, what: str) -> None:
    if not isinstance(name, str):
        raise ArgumentError(f"static.{what}: name must be a string, got {describe(name)}")


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
    _need_name(name, "variable")
    if getattr(initial, "_value", None) is not None:
        initial = _computed(declaration, initial)
    with untraced():
        data = _concrete(initial, dtype)
        data = data.detach().clone()
    trainable = trainable and (data.dtype.is_floating_point or data.dtype.is_complex)
    value = declaration.new_variable(data, name, trainable)
    declaration.owner.keep_name(value, name)
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
    declaration = current("constant")  # in a branch or a body too: they get it from outside
    if getattr(data, "_value", None) is not None:
        data = _computed(declaration, data)
    with untraced():
        given = _concrete(data, dtype).detach().numpy()
    value = declaration.graph.constant(name, given)  # an array, as it is now
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
    where = owner.variable_of(target, "static.assign")
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
    if not isinstance(name, str) or not name.replace("/", "_").isidentifier():
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
