"""Running a graph node by node.

`Interpreter` is made to be subclassed: `run_node` is where a node meets its arguments. Two backends
come with it. "eager" calls the operators on tensors; "reference" calls the references of the operator
table on NumPy arrays, in float64, rounded to each node's dtype: slow, and the judge of everything else.
"""

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from thixo import _core
from thixo.dtype import DType, from_numpy_dtype
from thixo.dtype import bool as bool_
from thixo.errors import ArgumentError, GraphError, ShapeError, TraceError, describe
from thixo.graph.constants import as_array, type_of
from thixo.graph.control import room, room_needed
from thixo.graph.ir import Graph, Node, Type, Value, map_values, values_in
from thixo.graph.layouts import laid_well, looks_at_memory
from thixo.graph.operators import call_arguments
from thixo.graph.sizes import symbol_name
from thixo.graph.typing import pointwise_type, promoted_params
from thixo.symbolic import Dim, Guard


class GuardError(TraceError):
    """Sizes for which a graph was not made: a guard does not hold.

    Fails:  traced(tx.ones(6))      # traced where n == 4
    Fixed:  tx.jit.trace(f, tx.ones(6))(tx.ones(6))
    """

    def __init__(self, guard: Guard, message: str) -> None:
        super().__init__(message)
        self.guard = guard


class Interpreter:
    """Runs a graph on a backend.

    >>> import numpy as np
    >>> from thixo.graph import parse
    >>> graph = parse("graph f(x: f64[n]) {\\n  y: f64[n] = neg(x)\\n  return y\\n}")
    >>> Interpreter(graph, "reference").run(np.array([1.0, 2.0]))
    [array([-1., -2.])]
    """

    def __init__(self, graph: Graph, backend: "str | Backend" = "eager") -> None:
        self.graph = graph
        self.backend = BACKENDS[backend]() if isinstance(backend, str) else backend
        self.sizes: dict[str, int] = {}
        self._inside: dict[int, Interpreter] = {}  # of the graphs in arguments of nodes
        self._guards_at = _places_of_guards(graph)
        self._room = room_needed(graph)

    @cached_property
    def _last_use(self) -> dict[int, list[Value]]:
        return _last_uses(self.graph)

    def run(self, *inputs: Any) -> list[Any]:
        """The graph's outputs for these inputs."""
        return self.run_all(*inputs)[: len(self.graph.outputs)]

    def run_all(self, *inputs: Any) -> list[Any]:
        """The outputs, then the new values of what the graph changes."""
        with room(self._room):
            return self._run_all(*inputs)

    def _run_all(self, *inputs: Any) -> list[Any]:
        graph, backend = self.graph, self.backend
        self.need_inputs(inputs)
        self.sizes = {}
        values: dict[Value, Any] = {}
        for value, given in zip(graph.inputs, inputs, strict=True):
            values[value] = backend.input(given, value)
        self._bind_inputs(values)
        for value, data in graph.constants.items():
            values[value] = backend.input(data, value)
        self._check(self._guards_at.get(-1, ()))
        for position, node in enumerate(graph.nodes):
            args = self.arguments(node, values)
            results = self.run_node(node, args)
            if len(results) != len(node.outputs):
                raise GraphError(
                    f"graph {graph.name}: {node.op.full_name} gave {len(results)} results in place "
                    f"of {len(node.outputs)}"
                )
            for value, result in zip(node.outputs, results, strict=True):
                self._bind(value, result, node)
                values[value] = result
            for value in self._last_use.get(position, ()):
                values.pop(value, None)
            self._check(self._guards_at.get(position, ()))
        return [values[v] for v in graph.results()]

    def need_inputs(self, inputs: Sequence[Any]) -> None:
        """Refuse another number of inputs than the graph has."""
        graph = self.graph
        if not isinstance(inputs, Sequence):
            raise ArgumentError(
                f"graph {graph.name}: needs a list of {len(graph.inputs)} inputs, got {describe(inputs)}"
            )
        if len(inputs) != len(graph.inputs):
            names = ", ".join(v.name for v in graph.inputs)
            raise GraphError(
                f"graph {graph.name}: takes {len(graph.inputs)} inputs ({names}), got {len(inputs)}"
            )

    def arguments(self, node: Node, values: dict[Value, Any]) -> list[Any]:
        """A node's arguments, with values and sizes filled in."""
        return [self._fill(a, values) for a in node.args]

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """The results of one node; override this to look at nodes or to replace them."""
        if node.op.kind == "control":
            return node.op.run(self._run_inside, _Machine(self, node), *args)
        return self.backend.apply(node, args)

    def _run_inside(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        one = self._inside.get(id(graph))
        if one is None:
            one = copy(self)  # a subclass keeps what it has
            one.graph = graph
            one._inside = {}
            one._room = 0  # there is enough already
            one.__dict__.pop("_last_use", None)
            one._guards_at = _places_of_guards(graph)
            self._inside[id(graph)] = one
        return one.run(*inputs)

    # ---- sizes

    def _fill(self, a: Any, values: dict[Value, Any]) -> Any:
        if isinstance(a, Value):
            return values[a]
        if isinstance(a, Dim):
            return a.evaluate(self.sizes)
        if isinstance(a, tuple | list):
            return type(a)(
                [values[e] if e.__class__ is Value else self._fill(e, values) for e in a]
            )
        return map_values(a, values.__getitem__)

    def _bind_inputs(self, values: dict[Value, Any]) -> None:
        left = []
        types = {id(v.type): v.type for v in self.graph.inputs}
        fixed = {i for i, one in types.items() if Dim not in map(type, one.shape)}
        for value in self.graph.inputs:
            given, wanted = values[value], value.type
            if (
                id(wanted) in fixed
                and given.dtype is wanted.dtype
                and tuple(given.shape) == wanted.shape
            ):
                continue
            found = type_of(given)
            left.append((value, found))
            if found.dtype is not value.type.dtype or found.ndim != value.type.ndim:
                raise ShapeError(
                    f"graph {self.graph.name}: input {value.name} must be {value.type}, is {found}"
                )
            for size, actual in zip(value.type.shape, found.shape, strict=True):
                name = symbol_name(size)
                if name is not None and name not in self.sizes:
                    self._bind_symbol(size, name, actual, f"input {value.name}")
        for value, found in left:
            self._compare(value, found, f"input {value.name}")

    def _bind_symbol(self, size: Any, name: str, actual: Any, what: str) -> None:
        low, high = size.bounds
        if (low is not None and actual < low) or (high is not None and actual > high):
            limits = f"at least {low}" if high is None else f"{low} to {high}"
            raise ShapeError(
                f"graph {self.graph.name}: {what}: size {name} must be {limits}, is {actual}; "
                "sizes 0 and 1 need a graph of their own"
            )
        self.sizes[name] = actual

    def _bind(self, value: Value, result: Any, node: Node) -> None:
        shape = tuple(result.shape)
        for size, actual in zip(value.type.shape, shape, strict=False):
            if isinstance(size, Dim):
                name = symbol_name(size)
                if name is not None and name not in self.sizes:
                    self._bind_symbol(size, name, actual, value.name)
        self._compare(value, Type(result_dtype(result), shape), value.name, node)

    def _compare(self, value: Value, found: Type, what: str, node: Node | None = None) -> None:
        expected = [s.evaluate(self.sizes) if isinstance(s, Dim) else s for s in value.type.shape]
        if list(found.shape) != expected or found.dtype is not value.type.dtype:
            where = f" ({node.source})" if node is not None and node.source else ""
            sizes = ", ".join(f"{k} = {v}" for k, v in self.sizes.items())
            given = f", with {sizes}" if sizes else ""
            raise ShapeError(
                f"graph {self.graph.name}: {what} must be {value.type}, is {found}{given}{where}"
            )

    def _check(self, guards: Sequence[Guard]) -> None:
        for guard in guards:
            if not guard.holds(self.sizes):
                where = f" ({guard.line})" if guard.line else ""
                sizes = ", ".join(f"{k} = {v}" for k, v in self.sizes.items())
                raise GuardError(
                    guard,
                    f"graph {self.graph.name}: it was traced where {guard}, which these inputs do not "
                    f"satisfy ({sizes}); trace it again with an example of that kind{where}",
                )


class _Machine:
    """What control flow asks of values."""

    def __init__(self, interpreter: Interpreter, node: Node) -> None:
        self._backend = interpreter.backend
        self._sizes = interpreter.sizes
        self._node = node

    def truth(self, value: Any) -> bool:
        return bool(value)

    def number(self, value: Any) -> int:
        return int(value)

    def at(self, value: Any, place: int) -> Any:
        return value[place]

    def stack(self, rows: list[list[Any]], state: int) -> list[Any]:
        """One result for each column, along a new first axis; they follow the state among the results."""
        if rows:
            columns = [list(column) for column in zip(*rows, strict=True)]
            rows.clear()
            made = []
            for (
                column
            ) in columns:  # what is stacked is let go before the next: a loop may keep much
                made.append(self._backend.stack(column))
                column.clear()
            return made
        types = [v.type for v in self._node.outputs[state:]]
        shapes = [
            [0, *(s.evaluate(self._sizes) if isinstance(s, Dim) else s for s in t.shape[1:])]
            for t in types
        ]
        return [self._backend.empty(s, t.dtype) for s, t in zip(shapes, types, strict=True)]


def _last_uses(graph: Graph) -> dict[int, list[Value]]:
    """The values that no later node reads, by the position of the last one that does."""
    last: dict[Value, int] = {}
    for position, node in enumerate(graph.nodes):
        for value in node.outputs:
            last[value] = position
        for value in values_in(node.args):
            last[value] = position
    found: dict[int, list[Value]] = {}
    keep = set(graph.results())
    for value, position in last.items():
        if value not in keep:
            found.setdefault(position, []).append(value)
    return found


def _places_of_guards(graph: Graph) -> dict[int, list[Guard]]:
    """Where each guard's sizes are all known: -1 before the first node, else after that node."""
    if not graph.guards:
        return {}
    place: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        for value in node.outputs:
            for size in value.type.shape:
                name = symbol_name(size)
                if name is not None:
                    place.setdefault(name, position)
    for value in graph.inputs:
        for size in value.type.shape:
            place.update(dict.fromkeys(size.symbols if isinstance(size, Dim) else (), -1))
    found: dict[int, list[Guard]] = {}
    for guard in graph.guards:
        names = [n for s in (guard.left, guard.right) if isinstance(s, Dim) for n in s.symbols]
        found.setdefault(max((place.get(n, -1) for n in names), default=-1), []).append(guard)
    return found


def result_dtype(x: Any) -> DType:
    """The DType of a tensor's or an array's elements."""
    return x.dtype if isinstance(x.dtype, DType) else from_numpy_dtype(x.dtype)


# ---- backends


class Backend:
    """What an interpreter computes with."""

    def input(self, given: Any, value: Value) -> Any:
        """An input or a constant as this backend keeps it."""
        raise NotImplementedError(f"{type(self).__name__} has no input")

    def apply(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """A node's results from its arguments in signature order."""
        raise NotImplementedError(f"{type(self).__name__} has no apply")

    def stack(self, parts: list[Any]) -> Any:
        """Values of one type along a new first axis."""
        raise NotImplementedError(f"{type(self).__name__} has no stack")

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        """A value without elements."""
        raise NotImplementedError(f"{type(self).__name__} has no empty")


class EagerBackend(Backend):
    """Calls the operators on tensors, with the tape if the tensors ask for it."""

    def input(self, given: Any, value: Value) -> Any:
        """Arrays become tensors."""
        if isinstance(given, np.ndarray | np.generic):
            from thixo.tensor import from_numpy

            return from_numpy(np.array(given))
        if not isinstance(given, _core.Tensor):
            raise ArgumentError(f"graph: {value} needs a tensor or an array, got {describe(given)}")
        return given

    def apply(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """Call the operator as a user would."""
        if looks_at_memory(node.op):
            args = laid_well(node.op, args)
        positional, named = call_arguments(node.op, args)
        result = node.op.operator(*positional, **named)
        return result if isinstance(result, tuple | list) else (result,)

    def stack(self, parts: list[Any]) -> Any:
        """As `tx.stack`."""
        from thixo.ops import public as tx

        return tx.stack(parts)

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        """As `tx.empty`."""
        from thixo.ops import public as tx

        return tx.empty(tuple(shape), dtype=dtype)


class ReferenceBackend(Backend):
    """Calls the references of the operator table on NumPy arrays."""

    def input(self, given: Any, value: Value) -> Any:
        """Tensors become arrays."""
        return as_array(given)

    def apply(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """Compute in float64 and round each result once."""
        if node.op.random:  # what is drawn is data: it comes from the generator, as eager draws it
            return self._draw(node, args)
        results = apply_reference(node.op, args)
        if len(results) != len(node.outputs):
            return results
        return [
            round_to(result, value.type.dtype)
            for result, value in zip(results, node.outputs, strict=True)
        ]

    def stack(self, parts: list[Any]) -> Any:
        """As `numpy.stack`."""
        return np.stack(parts)

    def empty(self, shape: Sequence[int], dtype: DType) -> Any:
        """As `numpy.empty`."""
        return np.empty(tuple(shape), dtype.numpy)

    def _draw(self, node: Node, args: list[Any]) -> Sequence[Any]:
        eager = EagerBackend()
        tensors = [
            eager.input(a, v) if isinstance(v, Value) else a
            for a, v in zip(args, node.args, strict=True)
        ]
        return [as_array(t) for t in eager.apply(node, tensors)]


BACKENDS: dict[str, Any] = {"eager": EagerBackend, "reference": ReferenceBackend}


class Typed:
    """An array as shape and dtype rules see a tensor."""

    __slots__ = ("dtype", "shape")

    def __init__(self, array: np.ndarray) -> None:
        self.shape = array.shape
        self.dtype = from_numpy_dtype(array.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


def apply_reference(op: Any, args: Sequence[Any]) -> list[Any]:
    """An operator's reference on arrays, in float64 and complex128; one result or several.

    A pointwise operator's arguments are converted to their common dtype first, as eager does it.
    """
    args = list(args)
    if op.kind == "pointwise":
        typed = [Typed(a) if isinstance(a, np.ndarray) else a for a in args]
        common = pointwise_type(op, typed).compute
        for i in promoted_params(op):
            if isinstance(args[i], np.ndarray):
                args[i] = round_to(args[i], common)
    found = op.reference(*map(_widen, args))
    if isinstance(found, list) or (isinstance(found, tuple) and len(op.sig.outputs) > 1):
        return list(found)
    return list(found) if op.sig.many else [found]


def _widen(a: Any) -> Any:
    if isinstance(a, np.ndarray):
        dtype = from_numpy_dtype(a.dtype)
        if dtype.is_floating_point:
            return a.astype(np.float64)
        return a.astype(np.complex128) if dtype.is_complex else a
    if isinstance(a, list | tuple):
        return type(a)(map(_widen, a))
    return a


def round_to(x: Any, dtype: DType) -> np.ndarray:
    """An array's elements as those of a dtype; integers wrap, complex to real drops a part."""
    array = np.asarray(x)
    target = dtype.numpy
    if array.dtype == target:
        return array
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array != 0 if dtype is bool_ else array.real
    with np.errstate(all="ignore"):
        return array.astype(target)
