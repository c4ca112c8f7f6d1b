"""Both ways of running a captured function, compared: the graph as a compiled program, and the function as Python.

The Python run is the one that counts: its result is returned, what it changes stays changed. The graph runs before it on copies of all
tensors, from the same state of the random numbers, and prints nothing. Where results differ, the first operator that
differs is looked for: in the program against the graph's own operators one by one, then in the graph against the user's
variables, line by line.
"""

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thixo import _core
from thixo.capture.debug import LineByLine, Names, call_text
from thixo.capture.joint import GraphFunction
from thixo.capture.plans import Call
from thixo.capture.rerun import Failed
from thixo.capture.watch import watching
from thixo.errors import VerificationError
from thixo.graph.constants import as_array
from thixo.graph.ir import Graph, Node, Value
from thixo.graph.trace import finders_of_sizes, untraced
from thixo.pytree import tree_flatten
from thixo.random import get_rng_state, set_rng_state

Compute = Callable[[Graph, Sequence[Any]], list[Any]]


def verified(captured: Any, f: Any, args: Any, kwargs: Any, name: str) -> Any:
    """What the function returns as Python, if the graph gives the same; else an error that names an operator."""
    tensors = captured.inputs(args, kwargs)
    state = get_rng_state()
    try:
        captured.need_own_memory(tensors)
    except Failed:  # it is left to Python
        return f(*args, **kwargs)
    copies = [_copy(t) for t in tensors]
    before = [_copy(t) for t in tensors]
    try:
        with _quietly():
            outputs, sizes = _program(captured.graph).with_sizes(copies)
    except Exception as error:
        set_rng_state(state)
        result = f(*args, **kwargs)  # raises the same, or not
        if isinstance(
            error, OverflowError
        ):  # Python's numbers are wider: such a call is left to it
            return result
        raise VerificationError(
            f"verify: {name}: the graph raises {type(error).__name__}, Python does not: {error}"
        ) from error
    call = Call([args, kwargs], copies[: captured.given])
    call.outputs, call.sizes = outputs, sizes
    found = _arrays(captured.result(call))
    set_rng_state(state)
    seen: list[tuple[str, str, np.ndarray]] = []
    with watching(lambda variable, t, line: seen.append((variable, line, _array(t)))):
        result = f(*args, **kwargs)
    expected = _arrays(result)
    after = get_rng_state()
    written = [
        (v.name, _array(copy), _array(t))
        for v, copy, t in zip(captured.graph.inputs, copies, tensors, strict=True)
        if v in captured.graph.mutations
    ]
    wrong = _first_wrong(found, expected, written)
    if wrong is None:
        return result
    try:
        set_rng_state(state)
        with _quietly():
            where = first_difference(captured.graph, before)
            if where is None:
                set_rng_state(state)
                where = _by_variables(captured.graph, captured.variables, before, seen)
    finally:
        set_rng_state(after)
    raise VerificationError(f"verify: {name}: {wrong}; {where or _NOWHERE}")


_NOWHERE = "no variable of the function differs: it depends on something besides its arguments"


def _program(graph: Graph) -> GraphFunction:
    return GraphFunction(graph, sizes=list(finders_of_sizes(graph)))


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _copy(t: Any) -> Any:
    made = t.detach().clone()
    return made.requires_grad_(True) if t.requires_grad else made


def _array(t: Any) -> np.ndarray:
    return np.array(as_array(t.detach()), copy=True)


def _arrays(x: Any) -> list[Any]:
    leaves, _ = tree_flatten(x)
    return [_array(leaf) if isinstance(leaf, _core.Tensor) else leaf for leaf in leaves]


# ---- comparing


def difference(a: Any, b: Any) -> str | None:
    """How two values differ; None if they agree as well as their dtype allows.

    >>> import numpy as np
    >>> difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]))
    'the largest difference is 0.5, at [1]: 2.0 and 2.5'
    """
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return None if type(a) is type(b) and (a == b or a != a) else f"{a!r} and {b!r}"
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"one is {a.dtype.name}{list(a.shape)}, the other {b.dtype.name}{list(b.shape)}"
    if a.dtype.kind in "biu":
        apart = a != b
        if not apart.any():
            return None
        distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
    else:
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        x, y = a.astype(wide), b.astype(wide)
        tolerance = 1e-6 if a.dtype.itemsize >= 8 else 1e-2 if a.dtype.itemsize == 2 else 1e-4
        if np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
            return None
        with np.errstate(all="ignore"):
            distance = np.abs(x - y)
        distance = np.where(np.isclose(x, y, tolerance, tolerance, equal_nan=True), 0.0, distance)
        distance = np.where(np.isnan(distance), np.inf, distance)
    place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    at = f", at [{', '.join(map(str, map(int, place)))}]" if place else ""
    return f"the largest difference is {distance[place]:.4g}{at}: {a[place]} and {b[place]}"


def _first_wrong(found: list[Any], expected: list[Any], written: list[Any]) -> str | None:
    if len(found) != len(expected):
        return f"the graph gives {len(found)} results, Python {len(expected)}"
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        how = difference(a, b)
        if how is not None:
            return f"result {i} of the graph is not Python's: {how}"
    for variable, a, b in written:
        how = difference(a, b)
        if how is not None:
            return f"{variable}, which is written, is not what Python makes of it: {how}"
    return None


# ---- looking for the operator


def first_difference(
    graph: Graph, tensors: Sequence[Any], compute: Compute | None = None
) -> str | None:
    """The first operator whose result a compiled program computes otherwise than it does by itself; None if all agree.

    `compute` runs a graph; by default as a native program.
    """
    compute = compute or _compiled
    state = get_rng_state()
    eager = _Kept(graph)
    eager.run_all(*[_copy(t) for t in tensors])
    shown = [v for node in graph.nodes for v in node.outputs if v in eager.by_value]
    for values in ([*shown], *([v] for v in shown)):
        # All at once first; then one by one, since what is fused may be wrong only where it is.
        set_rng_state(state)
        given = compute(_giving(graph, values), [_copy(t) for t in tensors])
        for value, result in zip(values, given, strict=True):
            how = difference(_array(result), eager.by_value[value][1])
            if how is not None:
                node, _ = eager.by_value[value]
                return (
                    f"the first operator that differs is {_shown(node, eager.texts[value])}: {how}"
                )
    return None


def _compiled(graph: Graph, tensors: Sequence[Any]) -> list[Any]:
    with untraced():
        return GraphFunction(graph)(list(tensors))


def _giving(graph: Graph, values: Sequence[Value]) -> Graph:
    """The same graph, which gives other values and changes nothing."""
    made = Graph(graph.name)
    made.inputs, made.constants = list(graph.inputs), dict(graph.constants)
    made.nodes, made.guards = list(graph.nodes), list(graph.guards)
    made.outputs, made._names = list(values), dict(graph._names)
    return made


class _Kept(LineByLine):
    """Keeps what each node of the outermost graph gives."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, keeps=False)
        self.by_value: dict[Value, tuple[Node, np.ndarray]] = {}
        self.texts: dict[Value, str] = {}
        self._outermost = {id(node) for node in graph.nodes}

    def run_node(self, node: Node, args: list[Any]) -> Sequence[Any]:
        """The results of one node."""
        results = super().run_node(node, args)
        if id(node) in self._outermost:
            for value, result in zip(node.outputs, results, strict=True):
                self.by_value[value] = (node, _array(result))
                self.texts[value] = call_text(node, args)
        return results


def _shown(node: Node, text: str, variable: str = "") -> str:
    name = f"{variable} = " if variable else ""
    return f"{name}{text} at {node.source or 'an unknown line'}"


def _by_variables(
    graph: Graph, names: Names, tensors: Sequence[Any], seen: Sequence[Any]
) -> str | None:
    """The first variable of the user's that the graph holds otherwise than Python did, and what computed it."""
    run = LineByLine(graph, names)
    run.called([_copy(t) for t in tensors])
    held: dict[tuple[str, str], list[Any]] = {}
    for one in run.kept:
        held.setdefault((one.name, one.line), []).append(one)
    counts: dict[tuple[str, str], int] = {}
    for variable, line, array in seen:
        place = counts.get((variable, line), 0)
        counts[variable, line] = place + 1
        known = held.get((variable, line), [])
        if place >= len(known):
            continue
        how = difference(_array(known[place].value), array)
        if how is not None:
            return f"the first operator that differs is {known[place].operator}, which makes {variable} at {line}: {how}"
    return None


__all__ = ["difference", "first_difference", "verified"]
