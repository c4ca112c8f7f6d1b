"""The types of control flow: what a graph gives where it is handed these types."""

from collections.abc import Sequence
from typing import Any

from thixo.errors import GraphError, ShapeError
from thixo.graph.ir import Graph, Type
from thixo.graph.sizes import symbol_name, symbols_in
from thixo.symbolic import Dim, Size, fresh_dim, same


def instantiate(graph: Graph, given: Sequence[Type], what: str) -> list[Type]:
    """The types of a graph's results where its inputs have these types.

    >>> from thixo.graph import parse, parse_type
    >>> graph = parse("graph f(x: f32[n]) {\\n  y: f32[2*n] = cat([x, x])\\n  return y\\n}")
    >>> instantiate(graph, [parse_type("f32[m + 1]")], "f")
    [f32[2*m + 2]]
    """
    if len(given) != len(graph.inputs):
        raise GraphError(
            f"{what}: graph {graph.name} takes {len(graph.inputs)} inputs, got {len(given)}"
        )
    sizes = bind_sizes(graph, given, what)
    for guard in graph.guards:
        names = {n for s in (guard.left, guard.right) for n in symbols_in(s)}
        if not names <= set(sizes):
            continue  # of a size that data inside decide: who runs the graph looks at it
        if not _holds(guard, sizes):
            raise ShapeError(
                f"{what}: graph {graph.name} was made for {guard} (with {_shown(sizes)})"
            )
    types = {id(v.type): v.type for v in graph.outputs}
    made = {i: _substituted(t, sizes) for i, t in types.items()}
    return [made[id(v.type)] for v in graph.outputs]


def bind_sizes(graph: Graph, types: Sequence[Type], what: str) -> dict[str, Size]:
    """What the sizes of a graph are where its inputs have these types."""
    sizes: dict[str, Size] = {}
    given_types = {id(t): t for t in types}
    fixed = {i for i, t in given_types.items() if _is_fixed(t)}
    # What is not known to be right by its very type.
    left = [
        (v, given)
        for v, given in zip(graph.inputs, types, strict=True)
        if v.type is not given or id(given) not in fixed
    ]
    for value, given in left:
        wanted = value.type
        if (
            wanted.dtype is not given.dtype
            or wanted.ndim != given.ndim
            or wanted.device != given.device
        ):
            raise ShapeError(
                f"{what}: input {value.name} of graph {graph.name} must be {wanted}, is {given}"
            )
        for size, actual in zip(wanted.shape, given.shape, strict=True):
            name = symbol_name(size)
            if name is not None and name not in sizes and isinstance(size, Dim):
                low, high = size.bounds
                if (low and not _at_least(actual, low)) or (high and not _at_least(high, actual)):
                    limits = f"at least {low}" if high is None else f"{low} to {high}"
                    raise ShapeError(
                        f"{what}: size {name} of graph {graph.name} must be {limits}, is {actual}"
                    )
                sizes[name] = actual
    for value, given in left:
        for size, actual in zip(value.type.shape, given.shape, strict=True):
            expected = size.substitute(sizes) if isinstance(size, Dim) else size
            if not equal(expected, actual):
                raise ShapeError(
                    f"{what}: input {value.name} of graph {graph.name} must be {value.type}, is {given}"
                )
    return sizes


def _is_fixed(given: Type) -> bool:
    return Dim not in map(type, given.shape)


def _substituted(type: Type, sizes: dict[str, Size]) -> Type:
    if _is_fixed(type):
        return type
    shape = []
    for size in type.shape:
        if isinstance(size, Dim):
            for name, atom in size.symbols.items():
                if name not in sizes:  # the data decide it
                    low, high = atom.bounds
                    sizes[name] = fresh_dim(name, atom.hint, low or 0, high)
            size = size.substitute(sizes)
        shape.append(size)
    return Type(type.dtype, shape, type.device)


def alternatives(graphs: Sequence[Graph], given: list[Type], what: str) -> list[Type]:
    """What one of some graphs gives: they must agree, but for sizes, which the data decide where they differ."""
    found = instantiate(graphs[0], given, what)
    for graph in graphs[1:]:
        types = instantiate(graph, given, what)
        if len(types) != len(found) or any(map(_other_kind, types, found)):
            raise GraphError(
                f"{what}: all branches must give the same types: "
                f"({_listed(found)}) and ({_listed(types)})"
            )
        found = list(map(_joined, found, types))
    return found


def _other_kind(a: Type, b: Type) -> bool:
    return a.dtype is not b.dtype or a.device != b.device or a.ndim != b.ndim


def _joined(a: Type, b: Type) -> Type:
    if a is b or (_is_fixed(a) and a.shape == b.shape):
        return a
    return Type(a.dtype, list(map(_joined_size, a.shape, b.shape)), a.device)


def _joined_size(a: Size, b: Size) -> Size:
    if same(a, b):
        return a
    hints = [s.hint if isinstance(s, Dim) else s for s in (a, b)]
    if None not in hints and hints[0] == hints[1] and equal(a, b):
        return a
    return fresh_dim("chosen")


def need_state(before: list[Type], after: list[Type], what: str) -> None:
    """Refuse a body that changes the types of its state."""
    if len(after) < len(before) or any(map(_differ, before, after)):
        raise GraphError(
            f"{what}: the body must give the state as it gets it: ({_listed(before)}), gives ({_listed(after)})"
        )


def need_scalar(value: Any, dtype: Any, what: str) -> None:
    """Refuse what decides and is no 0-d tensor of this dtype."""
    if value.dtype is not dtype or value.shape != ():
        raise GraphError(f"{what} must be {dtype.short}[], is {value.type}")


def _differ(a: Type, b: Type) -> bool:
    return (
        a.dtype is not b.dtype
        or a.device != b.device
        or a.ndim != b.ndim
        or not all(map(equal, a.shape, b.shape))
    )


def equal(a: Size, b: Size) -> bool:
    """Whether two sizes are equal; a question about symbols becomes a guard."""
    return same(a, b) or bool(a == b)


def _at_least(a: Size, b: Size) -> bool:
    return bool(a >= b)


def _holds(guard: Any, sizes: dict[str, Size]) -> bool:
    left, right = (
        s.substitute(sizes) if isinstance(s, Dim) else s for s in (guard.left, guard.right)
    )
    found = {
        "==": lambda: equal(left, right),
        "!=": lambda: not equal(left, right),
        "<": lambda: bool(left < right),
        "<=": lambda: bool(left <= right),
        ">": lambda: bool(left > right),
        ">=": lambda: bool(left >= right),
    }[guard.op]()
    return found == guard.result


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


def _shown(sizes: dict[str, Size]) -> str:
    return ", ".join(f"{k} = {v}" for k, v in sizes.items())
