"""Shapes: tuples of sizes, each an int or a symbolic `Dim`.

The functions here serve shape rules and kernels alike; with plain ints they cost little.

>>> n = Dim("n", hint=5, low=2)
>>> broadcast_shapes((n, 1), (3,)), numel((n, 3)), normalize_dim(-1, 2, "sum")
((n, 3), 3*n, 1)
"""

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError, ValueRangeError
from thixo.symbolic import (
    Dim,
    Guard,
    Size,
    compare,
    dim_max,
    dim_min,
    evaluate,
    fresh_dim,
    guards,
    hint_of,
    is_symbolic,
    parse_dim,
    same,
)

__all__ = [
    "Dim",
    "Guard",
    "Size",
    "as_shape",
    "broadcast_shapes",
    "compare",
    "contiguous_strides",
    "dim_max",
    "dim_min",
    "evaluate",
    "fresh_dim",
    "guards",
    "hint_of",
    "is_symbolic",
    "normalize_dim",
    "normalize_dims",
    "numel",
    "parse_dim",
    "reduced_shape",
    "same",
    "shape_text",
]

Shape = tuple[Any, ...]


def numel(shape: Iterable[Size]) -> Any:
    """How many elements a shape has.

    >>> numel((2, 3)), numel(()), numel((4, 0))
    (6, 1, 0)
    """
    count: Any = 1
    for size in shape:
        count = count * size
    return count


def shape_text(shape: Iterable[Size]) -> str:
    """A shape as messages print it: [2,3].

    >>> shape_text((2, 3))
    '[2,3]'
    """
    return f"[{','.join(map(str, shape))}]"


def broadcast_shapes(*shapes: Sequence[Size], op: str = "broadcast_shapes") -> Shape:
    """The shape that arrays of these shapes broadcast to.

    >>> broadcast_shapes((2, 1), (3,), ())
    (2, 3)
    """
    ndim = max(map(len, shapes), default=0)
    result: list[Size] = [1] * ndim
    for shape in shapes:
        offset = ndim - len(shape)
        for axis, size in enumerate(shape, offset):
            have = result[axis]
            if type(have) is int and have == 1:  # whatever the other is: there is nothing to ask
                result[axis] = size
                continue
            if size is have or same(size, have) or _is_one(size):
                continue
            if _is_one(have):
                result[axis] = size
            elif have != size:
                listed = " and ".join(map(shape_text, shapes))
                raise ShapeError(
                    f"{op}: shapes {listed} do not broadcast: axis {axis - ndim} has sizes {have} "
                    f"and {size}; they must be equal, or one of them 1"
                )
    return tuple(result)


def _is_one(size: Size) -> bool:
    return size == 1


def normalize_dim(dim: Any, ndim: int, op: str) -> int:
    """The number of an axis counted from the front; a 0-d tensor counts as having one axis.

    >>> normalize_dim(-1, 3, "sum"), normalize_dim(0, 0, "sum")
    (2, 0)
    """
    if type(dim) is not int:
        dim = _as_int(dim, op)
    count = ndim or 1
    if -count <= dim < count:
        return dim + count if dim < 0 else dim
    axes = "1 axis" if ndim == 1 else f"{ndim} axes"
    raise IndexOutOfRange(
        f"{op}: dim {dim} is out of range for a tensor of {axes}; needs {-count} to {count - 1}"
    )


def normalize_dims(dims: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Axes counted from the front, each once; None is all of them, an int is one.

    >>> normalize_dims((-1, 0), 3, "sum"), normalize_dims(None, 2, "sum"), normalize_dims(1, 2, "sum")
    ((2, 0), (0, 1), (1,))
    """
    if dims is None:
        return tuple(range(ndim))
    if not isinstance(dims, tuple | list):
        return (normalize_dim(dims, ndim, op),)
    found = tuple([normalize_dim(d, ndim, op) for d in dims])
    if len(set(found)) != len(found):
        raise ValueRangeError(f"{op}: dim {tuple(dims)} names an axis twice")
    return found


def _as_int(dim: Any, op: str) -> int:
    try:
        if isinstance(dim, bool):
            raise TypeError
        return operator.index(dim)
    except TypeError:
        raise ArgumentError(f"{op}: dim must be an int, got {dim!r}") from None


def reduced_shape(shape: Shape, dims: tuple[int, ...], keepdim: bool) -> Shape:
    """A shape after a reduction over (normalised) axes.

    >>> reduced_shape((2, 3, 4), (0, 2), False), reduced_shape((2, 3, 4), (0, 2), True)
    ((3,), (1, 3, 1))
    """
    if keepdim:
        return tuple(1 if i in dims else s for i, s in enumerate(shape))
    return tuple(s for i, s in enumerate(shape) if i not in dims)


def contiguous_strides(shape: Sequence[Size]) -> Shape:
    """The strides, in elements, of an array laid out row after row.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides: list[Size] = []
    step: Any = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * (size if isinstance(size, Dim) else size or 1)
    return tuple(reversed(strides))


def as_shape(sizes: Any, op: str) -> Shape:
    """A shape from an int or a sequence of sizes, checked.

    >>> as_shape(3, "zeros"), as_shape([2, 3], "zeros")
    ((3,), (2, 3))
    """
    if isinstance(sizes, int | Dim):
        sizes = (sizes,)
    try:
        shape = tuple(s if isinstance(s, Dim) else operator.index(s) for s in sizes)
    except TypeError:
        raise ArgumentError(f"{op}: sizes must be ints, got {sizes!r}") from None
    for size in shape:
        if not isinstance(size, Dim) and size < 0:
            raise ValueRangeError(f"{op}: sizes must not be negative, got {shape_text(shape)}")
    return shape
