"""What control flow by hand takes and gives: conditions, functions, and structures of tensors."""

from collections.abc import Callable, Sequence
from typing import Any

from thixo import _core
from thixo.capture.carry import _same_shape
from thixo.capture.numbers import as_tensor
from thixo.capture.values import Choice, Mixed, Number
from thixo.dtype import bool as bool_
from thixo.dtype import float32, int64
from thixo.errors import ArgumentError, DTypeError, GraphError, ShapeError, describe
from thixo.ops import public as tx
from thixo.pytree import Tree, tree_flatten, tree_unflatten
from thixo.symbolic import Dim
from thixo.tensor import tensor


def need_function(what: str, which: str, f: Any) -> Callable[..., Any]:
    """A function, or an error."""
    if not callable(f):
        raise ArgumentError(f"{what}: {which} must be a function, got {describe(f)}")
    return f  # type: ignore[no-any-return]


def need_operands(what: str, operands: Any) -> tuple[Any, ...]:
    """The arguments of the functions as a tuple."""
    if not isinstance(operands, tuple | list):
        raise ArgumentError(
            f"{what}: operands must be a tuple or a list of what the functions take, got {describe(operands)}; "
            "write (x,) for one"
        )
    return tuple(operands)


def need_limit(what: str, limit: Any) -> int | None:
    """A number of turns, or None."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ArgumentError(
            f"{what}: limit must be a number of turns or None, got {describe(limit)}"
        )
    return limit


def truth(what: str, which: str, x: Any) -> Any:
    """A condition: a Python bool, or a tensor bool[]."""
    if isinstance(x, Number) and x.kind == "bool":
        return x.tensor
    if isinstance(x, bool):
        return x
    if not isinstance(x, _core.Tensor):
        raise ArgumentError(f"{what}: {which} must be a bool or a tensor bool[], got {_shown(x)}")
    if any(not isinstance(s, int) or s != 1 for s in x.shape):
        raise ShapeError(
            f"{what}: {which} must be one bool, got {describe(x)}; say x.any() or x.all()"
        )
    if x.dtype is not bool_:
        raise DTypeError(
            f"{what}: {which} must be a bool, got {describe(x)}; compare it, as x != 0"
        )
    return tx.reshape(x, ()) if x.ndim else x


def number(what: str, x: Any) -> Any:
    """A number of a branch: a Python int, or a tensor i64[]."""
    if isinstance(x, Number) and x.kind == "int":
        return x.tensor
    if isinstance(x, int) and not isinstance(x, bool):
        return x
    if not isinstance(x, _core.Tensor):
        raise ArgumentError(
            f"{what}: index must be a whole number or a tensor of one, got {_shown(x)}"
        )
    if any(not isinstance(s, int) or s != 1 for s in x.shape):
        raise ShapeError(f"{what}: index must be one whole number, got {describe(x)}")
    if x.dtype.kind not in "iu":
        raise DTypeError(f"{what}: index must be a whole number, got {describe(x)}")
    x = tx.reshape(x, ()) if x.ndim else x
    return x if x.dtype is int64 else tx.to(x, int64)


def _shown(x: Any) -> str:
    return repr(x) if isinstance(x, Number) else describe(x)


def tensors(what: str, whose: str, x: Any) -> tuple[list[Any], Tree]:
    """The leaves of a structure as tensors, and the structure; numbers become tensors."""
    leaves, tree = tree_flatten(x)
    return [_tensor(what, whose, leaf) for leaf in leaves], tree


def _tensor(what: str, whose: str, x: Any) -> Any:
    if isinstance(x, _core.Tensor):
        return x
    if isinstance(x, Number):
        return tx.to(x.tensor, float32) if x.kind == "float" else x.tensor
    if isinstance(x, Dim):
        return as_tensor(x)
    if isinstance(x, bool | int | float | complex):
        return tensor(x)
    if isinstance(x, Mixed | Choice):
        raise ArgumentError(f"{what}: {whose} must be tensors, one is {x!r}")
    raise ArgumentError(f"{what}: {whose} must be tensors in any containers, one is {describe(x)}")


def name_of(f: Any, otherwise: str) -> str:
    """What a function is called in messages and graphs."""
    name = getattr(f, "__name__", type(f).__name__)
    return name if name.isidentifier() else otherwise


def need_same_structure(what: str, whose: Sequence[str], trees: Sequence[Tree]) -> None:
    """Refuse functions that return different containers."""
    for name, tree in zip(whose[1:], trees[1:], strict=True):
        if tree != trees[0]:
            raise GraphError(
                f"{what}: the functions must return the same structure of tensors: {whose[0]} returns "
                f"{_outline(trees[0])}, {name} returns {_outline(tree)}"
            )


def need_same_kinds(what: str, whose: Sequence[str], leaves: Sequence[Sequence[Any]]) -> None:
    """Refuse results of different dtypes or ranks; sizes may differ."""
    for name, other in zip(whose[1:], leaves[1:], strict=True):
        for i, (a, b) in enumerate(zip(leaves[0], other, strict=True)):
            if a.dtype is not b.dtype or a.ndim != b.ndim:
                raise GraphError(
                    f"{what}: the functions must return the same types: result {i} of {whose[0]} is "
                    f"{describe(a)}, of {name} {describe(b)}"
                )


def need_state(
    what: str, before: tuple[Sequence[Any], Tree], after: tuple[Sequence[Any], Tree]
) -> None:
    """Refuse a body that makes another structure, dtype or shape of its state."""
    if before[1] != after[1]:
        raise GraphError(
            f"{what}: the body must return the state as it gets it: {_outline(before[1])}, returns "
            f"{_outline(after[1])}"
        )
    for i, (a, b) in enumerate(zip(before[0], after[0], strict=True)):
        if a.dtype is not b.dtype or not _same_shape(tuple(a.shape), tuple(b.shape)):
            raise GraphError(
                f"{what}: the body must return the state as it gets it: part {i} is {describe(a)} and "
                f"becomes {describe(b)}"
            )


def _outline(tree: Tree) -> str:
    if tree.kind is None:
        return "a tensor"
    text = repr(tree_unflatten(tree, [_Star()] * tree.count))
    return "None" if text == "None" else f"{text} (* is a tensor)" if tree.count else text


class _Star:
    def __repr__(self) -> str:
        return "*"
