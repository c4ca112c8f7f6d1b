"""`thixo.pytree` with PyTorch's names and orders of arguments.

>>> leaves, spec = tree_flatten({"a": 1, "b": (2, 3)})
>>> tree_unflatten([10 * x for x in leaves], spec)
{'a': 10, 'b': (20, 30)}
"""

from collections.abc import Callable, Iterable
from typing import Any

from thixo import pytree
from thixo.pytree import Tree as TreeSpec
from thixo.pytree import register as register_pytree_node
from thixo.pytree import tree_flatten, tree_leaves, tree_map

__all__ = [
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The nested container of that structure, with these leaves."""
    return pytree.tree_unflatten(treespec, leaves)


def tree_structure(tree: Any) -> TreeSpec:
    """The structure without the leaves."""
    return tree_flatten(tree)[1]


def tree_map_only(kind: Any, function: Callable[[Any], Any], tree: Any) -> Any:
    """The same containers, with `function` applied to the leaves of one class (or several).

    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(lambda x: function(x) if isinstance(x, kind) else x, tree)


def tree_all(predicate: Callable[[Any], bool], tree: Any) -> bool:
    """Whether the predicate holds for every leaf."""
    return all(map(predicate, tree_leaves(tree)))


def tree_any(predicate: Callable[[Any], bool], tree: Any) -> bool:
    """Whether the predicate holds for some leaf."""
    return any(map(predicate, tree_leaves(tree)))
