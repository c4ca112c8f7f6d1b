"""Nested containers: flattened, rebuilt, mapped, named."""

import gc
import weakref
from collections import OrderedDict, namedtuple

import pytest

from thixo.errors import ArgumentError
from thixo.pytree import (
    register,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_paths,
    tree_unflatten,
)

Point = namedtuple("Point", "x y")

TREES = [
    3,
    None,
    (),
    [1, (2, {"a": 3, "b": [4, None]})],
    Point(1, [2, 3]),
    OrderedDict(b=1, a=(2,)),
    {"z": {}, "y": []},
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_there_and_back(tree):
    leaves, structure = tree_flatten(tree)
    again = tree_unflatten(structure, leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert tree_flatten(again)[1] == structure
    assert len(tree_paths(tree)) == len(leaves)


def test_structures_differ_where_containers_do():
    structures = [tree_flatten(t)[1] for t in ([1], (1,), {"a": 1}, {"b": 1}, Point(1, 2), 1)]
    assert all((a == b) == (a is b) for a in structures for b in structures)


def test_map():
    assert tree_map(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]) == [11, {"k": 22}]
    with pytest.raises(ArgumentError, match="containers differ"):
        tree_map(lambda a, b: a, [1], (1,))


def test_leaves_by_choice():
    assert tree_leaves([(1, 2), [3]], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2), 3]


def test_a_registered_class():
    class Box:
        def __init__(self, content, label):
            self.content, self.label = content, label

    register(Box, lambda b: ((b.content,), b.label), lambda label, c: Box(c[0], label))
    made = tree_map(lambda x: x + 1, {"box": Box([1, 2], "mine")})["box"]
    assert (made.content, made.label) == ([2, 3], "mine")
    assert tree_flatten(Box(1, "a"))[1] != tree_flatten(Box(1, "b"))[1]


def test_wrong_numbers_of_leaves():
    _, structure = tree_flatten([1, 2])
    with pytest.raises(ArgumentError, match="needs 2 leaves, got 1"):
        tree_unflatten(structure, [1])
    with pytest.raises(ArgumentError, match="needs a class"):
        register("list", None, None)


def test_leaves_are_not_kept():
    class Leaf:
        pass

    gc.disable()
    try:
        leaf = Leaf()
        known = weakref.ref(leaf)
        leaves, tree = tree_flatten([leaf, (leaf,)])
        tree_unflatten(tree, leaves)
        del leaf, leaves
        assert known() is None
    finally:
        gc.enable()
