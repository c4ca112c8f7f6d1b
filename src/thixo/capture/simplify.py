"""Sizes that a trace found to be equal become one symbol."""

from typing import Any

from thixo.graph.ir import Graph, Type
from thixo.graph.sizes import symbol_name
from thixo.graph.typing import result_types
from thixo.symbolic import Dim, Guard, Size, compare, guards


def unify_sizes(graph: Graph, numbers: bool = False) -> "tuple[Graph, dict[str, Size]]":
    """Replace symbols that guards say are equal to others, or to numbers; the graph, and what was replaced.

    The guard is then part of the input types, which name one symbol twice.
    """
    replaced: dict[str, Size] = {}
    kept: list[Guard] = []
    for guard in graph.guards:
        left, right = (_replace(s, replaced) for s in (guard.left, guard.right))
        equal = (guard.op == "==") == guard.result and guard.op in ("==", "!=")
        new = _solve(left, right, numbers) if equal else None
        if new is None:
            kept.append(guard)
            continue
        name, size = new
        replaced = {k: _replace(v, {name: size}) for k, v in replaced.items()}
        replaced[name] = size
    if not replaced:
        return graph, replaced
    graph.guards = []
    for guard in kept:
        left, right = (_replace(s, replaced) for s in (guard.left, guard.right))
        if compare(left, guard.op, right) is not guard.result:
            graph.guards.append(guard._replace(left=left, right=right))
    types: dict[int, Type] = {}
    for value in graph.values():
        value.type = types.setdefault(id(value.type), _replace_type(value.type, replaced))
    for node in graph.nodes:
        node.args = _replace_in(node.args, replaced)
    _guard_new_sizes(graph)
    return graph, replaced


def _guard_new_sizes(graph: Graph) -> None:
    """Keep what the types assume of sizes that took a symbol's place.

    A symbol is known to be neither 0 nor 1; an expression that replaced it may be either.
    """
    known = {str(g) for g in graph.guards}
    for node in graph.nodes:
        with guards() as assumed:
            result_types(node.op, node.args)
        for guard in assumed:
            if str(guard) not in known:
                known.add(str(guard))
                graph.guards.append(guard)


def _solve(left: Size, right: Size, numbers: bool) -> tuple[str, Size] | None:
    """Which symbol an equality gives away, and what it is. For numbers on request: their guard names a line."""
    for side, number in ((left, right), (right, left)):
        name = symbol_name(side)
        if numbers and name is not None and not isinstance(number, Dim):
            return name, number
    if not isinstance(left, Dim) or not isinstance(right, Dim):
        return None
    for side, other in ((right, left), (left, right)):
        name = symbol_name(side)
        if name is not None and name not in other.symbols:
            return name, other
    return None


def _replace(size: Size, replaced: dict[str, Size]) -> Size:
    return size.substitute(replaced) if isinstance(size, Dim) and replaced else size


def _replace_type(type: Type, replaced: dict[str, Size]) -> Type:
    return Type(type.dtype, [_replace(s, replaced) for s in type.shape], type.device)


def _replace_in(a: Any, replaced: dict[str, Size]) -> Any:
    if isinstance(a, Dim):
        return _replace(a, replaced)
    if isinstance(a, tuple | list):
        return type(a)(_replace_in(e, replaced) for e in a)
    if isinstance(a, slice):
        return slice(*(_replace_in(e, replaced) for e in (a.start, a.stop, a.step)))
    return a
