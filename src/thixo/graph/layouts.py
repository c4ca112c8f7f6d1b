"""Memory in graphs, for the few operators that look at it.

A value of a graph is numbers, not memory. Operators that see elements as they lie (`view`, `view_as_complex`, `bit_view`,
`strided_view`) mean the memory of a value that lies row by row, or as their own arguments say. Whatever runs a graph may
have laid a value out otherwise: an input came transposed, a pass left a copy out. Such a value is copied into place first.
"""

from collections.abc import Sequence
from typing import Any

from thixo.errors import ShapeError
from thixo.ops import public as tx
from thixo.ops.view_strided import extent
from thixo.shape import contiguous_strides


def looks_at_memory(op: Any) -> bool:
    """Whether what an operator shows depends on how its first argument lies."""
    return op.kind == "view" and getattr(op, "layout_matters", False)


def lies_well(op: Any, args: Sequence[Any]) -> bool:
    """Whether the first of an operator's arguments lies as the operator takes it to lie."""
    tensor = args[0]
    if op.full_name == "strided_view":
        return tensor.storage_offset() == args[5] and _same(tensor, args[4])
    try:
        op.geometry(tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), *args[1:])
    except ShapeError:
        return False
    return True


def _same(tensor: Any, strides: Sequence[int]) -> bool:
    shape = tensor.shape
    return 0 in shape or all(
        size == 1 or have == want
        for size, have, want in zip(shape, tensor.stride(), strides, strict=True)
    )


def needs_rows(op: Any, args: Sequence[Any]) -> bool:
    """Whether a copy that lies row by row is what an operator takes its first argument to be."""
    if op.full_name != "strided_view":
        return True
    return args[5] == 0 and tuple(args[4]) == tuple(contiguous_strides(args[0].shape))


def laid_well(op: Any, args: list[Any]) -> list[Any]:
    """An operator's arguments, the first of them copied to where the operator looks if it does not lie there."""
    if lies_well(op, args):
        return args
    tensor = args[0]
    if needs_rows(op, args):
        return [tx.clone(tensor), *args[1:]]
    shape, strides, offset = tuple(tensor.shape), args[4], args[5]
    memory = tensor.new_zeros((extent(shape, strides, offset),))
    placed = tx.as_strided(memory, shape, strides, offset)
    placed.copy_(tensor)
    return [placed, *args[1:]]
