"""Nested containers as a flat list of leaves and a structure, and back.

One registry serves tracing, `autograd.Function`, data loading and export. Tuples, lists, dicts,
named tuples and None are known; `register` adds a class.

>>> leaves, tree = tree_flatten({"a": 1, "b": [2, (3, None)]})
>>> leaves
[1, 2, 3]
>>> tree_unflatten(tree, [10, 20, 30])
{'a': 10, 'b': [20, (30, None)]}
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from thixo.errors import ArgumentError


class Container(NamedTuple):
    """How a class comes apart and is made again."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]  # object -> (children, the rest of it)
    unflatten: Callable[[Any, list[Any]], Any]  # (the rest, children) -> object
    names: Callable[[Any], Iterable[Any]]  # object -> what each child is called


def _same_classes(keys: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether keys that are equal are of the same classes: 1 and True are not."""
    return all(type(a) is type(b) for a, b in zip(keys, others, strict=True))


class Tree:
    """The structure that is left when the leaves are taken out; two are equal if alike."""

    __slots__ = ("children", "count", "kind", "rest")

    def __init__(self, kind: type | None, rest: Any, children: tuple["Tree", ...]) -> None:
        self.kind = kind  # None: a leaf
        self.rest = rest
        self.children = children
        self.count: int = 1 if kind is None else sum(c.count for c in children)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tree)
            and self.kind is other.kind
            and self.rest == other.rest
            and (self.kind not in (dict, OrderedDict) or _same_classes(self.rest[1], other.rest[1]))
            and self.children == other.children
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.count, len(self.children)))

    def __repr__(self) -> str:
        return f"Tree({tree_unflatten(self, ['*'] * self.count)!r})"


_LEAF = Tree(None, None, ())
_CONTAINERS: dict[type, Container] = {}


def register(
    kind: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, list[Any]], Any],
    names: Callable[[Any], Iterable[Any]] | None = None,
) -> None:
    """Make instances of a class containers.

    `flatten(object)` returns its children and whatever else is needed to make it again, a value
    that can be compared; `unflatten(rest, children)` makes it. `names(object)` says what the
    children are called in messages.

    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> register(Pair, lambda p: ((p.a, p.b), None), lambda rest, children: Pair(*children))
    >>> tree_map(lambda x: x + 1, Pair(1, 2)).b
    3
    """
    if not isinstance(kind, type):
        raise ArgumentError(f"pytree.register: needs a class, got {kind!r}")
    _CONTAINERS[kind] = Container(flatten, unflatten, names or (lambda x: range(10**9)))


def _find(x: Any) -> Container | None:
    found = _CONTAINERS.get(type(x))
    if found is None and isinstance(x, tuple) and hasattr(x, "_fields"):
        return _NAMED_TUPLE
    return found


_NAMED_TUPLE = Container(
    lambda x: (tuple(x), type(x)), lambda rest, children: rest(*children), lambda x: x._fields
)
register(tuple, lambda x: (x, None), lambda rest, children: tuple(children))
register(list, lambda x: (x, None), lambda rest, children: list(children))
for _kind in (dict, OrderedDict):
    register(
        _kind,
        lambda x: (list(x.values()), (type(x), tuple(x))),
        lambda rest, children: rest[0](zip(rest[1], children, strict=True)),
        lambda x: x,
    )
register(type(None), lambda x: ((), None), lambda rest, children: None)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Tree]:
    """The leaves in order, and the structure without them."""
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, is_leaf, leaves)


# These two are no functions inside of functions: such a one that calls itself is a cycle, which would keep all leaves
# until Python collects garbage, and tensors are large.


def _taken_apart(x: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> Tree:
    container = None if is_leaf is not None and is_leaf(x) else _find(x)
    if container is None:
        leaves.append(x)
        return _LEAF
    children, rest = container.flatten(x)
    return Tree(type(x), rest, tuple(_taken_apart(c, is_leaf, leaves) for c in children))


def _put_together(t: Tree, leaves: Iterator[Any]) -> Any:
    if t.kind is None:
        return next(leaves)
    children = [_put_together(c, leaves) for c in t.children]
    container = _CONTAINERS.get(t.kind) or _NAMED_TUPLE
    return container.unflatten(t.rest, children)


def tree_unflatten(tree: Tree, leaves: Iterable[Any]) -> Any:
    """The nested container of that structure, with these leaves."""
    leaves = list(leaves)
    if len(leaves) != tree.count:
        raise ArgumentError(f"tree_unflatten: needs {tree.count} leaves, got {len(leaves)}")
    return _put_together(tree, iter(leaves))


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same containers, with each leaf replaced by `function` of it.

    >>> tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, structure = tree_flatten(tree)
    columns = [leaves]
    for other in others:
        more, shape = tree_flatten(other)
        if shape != structure:
            raise ArgumentError(f"tree_map: containers differ: {structure} and {shape}")
        columns.append(more)
    return tree_unflatten(structure, [function(*row) for row in zip(*columns, strict=True)])


def tree_paths(tree: Any) -> list[str]:
    """What each leaf is called, as Python would write it after the container's name.

    >>> tree_paths({"a": 1, "b": [2, 3]})
    ["['a']", "['b'][0]", "['b'][1]"]
    """
    paths: list[str] = []

    def visit(x: Any, path: str) -> None:
        container = _find(x)
        if container is None:
            paths.append(path)
            return
        children, _ = container.flatten(x)
        for name, child in zip(container.names(x), children, strict=False):
            field = isinstance(x, tuple) and isinstance(name, str)
            visit(child, f"{path}.{name}" if field else f"{path}[{name!r}]")

    visit(tree, "")
    return paths
