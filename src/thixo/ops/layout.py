"""Shape and stride arithmetic that views, indexing and creation share. Sizes may be `Dim`s."""

from collections.abc import Callable, Sequence
from typing import Any

from thixo.errors import ArgumentError, IndexOutOfRange, ShapeError
from thixo.ops.base import Spec
from thixo.shape import contiguous_strides, dim_max, dim_min, numel, same, shape_text

Geometry = tuple[tuple[Any, ...], tuple[Any, ...], Any]  # shape, strides, offset


def same_type_as(geometry: Callable[..., Geometry]) -> Callable[..., Spec]:
    """The type rule of a view whose geometry already says its shape."""

    def infer(input: Any, *arguments: Any) -> Spec:
        shape = tuple(input.shape)
        return Spec(geometry(shape, contiguous_strides(shape), 0, *arguments)[0], input.dtype)

    return infer


def resolve_shape(shape: Sequence[Any], target: Sequence[Any], operation: str) -> tuple[Any, ...]:
    """The target shape with its -1 worked out, checked to have as many elements as `shape`.

    >>> resolve_shape((2, 6), (3, -1), "view")
    (3, 4)
    """
    count = numel(shape)
    unknown = [i for i, size in enumerate(target) if isinstance(size, int) and size == -1]
    if len(unknown) > 1:
        raise ShapeError(f"{operation}: only one size can be -1, got {shape_text(target)}")
    if any(isinstance(size, int) and size < -1 for size in target):
        raise ShapeError(f"{operation}: sizes cannot be negative, got {shape_text(target)}")
    known = numel(size for i, size in enumerate(target) if i not in unknown)
    if not unknown:
        if known != count:
            raise ShapeError(
                f"{operation}: {shape_text(shape)} has {count} elements, "
                f"{shape_text(target)} needs {known}"
            )
        return tuple(target)
    if known == 0:
        raise ShapeError(
            f"{operation}: -1 is ambiguous in {shape_text(target)} because another size is 0"
        )
    if count % known != 0:
        raise ShapeError(
            f"{operation}: {shape_text(shape)} has {count} elements, "
            f"which is no multiple of {known} for {shape_text(target)}"
        )
    result = list(target)
    result[unknown[0]] = count // known
    return tuple(result)


def regroup_strides(
    shape: Sequence[Any], strides: Sequence[Any], target: Sequence[Any]
) -> tuple[Any, ...] | None:
    """The strides that show the same memory in another shape; None where only a copy can.

    >>> regroup_strides((2, 3), (3, 1), (6,)), regroup_strides((2, 3), (1, 2), (6,))
    ((1,), None)
    """
    if any(size == 0 for size in shape):
        return contiguous_strides(target)
    runs: list[tuple[Any, Any]] = []  # elements and stride of axes that lie one after the other
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = (runs[-1][0] * size, stride)
        else:
            runs.append((size, stride))
    result = []
    left, step = runs.pop() if runs else (1, 1)
    for size in reversed(target):
        if size != 1 and left == 1 and runs:
            left, step = runs.pop()
        result.append(step)
        if left % size != 0:
            return None
        left, step = left // size, step * size
    return tuple(reversed(result)) if left == 1 and not runs else None


def slice_bounds(
    start: Any, end: Any, step: Any, size: Any, operation: str = "slice"
) -> tuple[Any, Any]:
    """Where a slice starts and how many elements it has; bounds beyond the ends are cut.

    >>> slice_bounds(-3, None, 2, 5), slice_bounds(4, 2, 1, 5)
    ((2, 2), (4, 0))
    """
    if step <= 0:
        raise ArgumentError(
            f"{operation}: step must be positive, got {step}; use flip to reverse an axis"
        )
    first = 0 if start is None else _bound(start, size)
    last = size if end is None else _bound(end, size)
    length = last if isinstance(first, int) and first == 0 else dim_max(last - first, 0)
    return first, length if step == 1 else (length + step - 1) // step


def _bound(value: Any, size: Any) -> Any:
    if value < 0:
        return dim_max(value + size, 0)
    return dim_min(value, size)


def broadcasts_to(shape: Sequence[Any], target: Sequence[Any]) -> bool:
    """Whether a tensor of one shape can be repeated to fill another.

    >>> broadcasts_to((1, 3), (4, 2, 3)), broadcasts_to((2, 3), (3,))
    (True, False)
    """
    extra = len(target) - len(shape)
    return extra >= 0 and all(
        same(n, wanted) or n == 1 or n == wanted
        for n, wanted in zip(shape, target[extra:], strict=True)
    )


def position(index: Any, size: Any, operation: str, dim: int) -> Any:
    """An index counted from the front, or the error that names it, its axis and the size."""
    if not -size <= index < size:
        raise IndexOutOfRange(
            f"{operation}: index {index} is out of range for axis {dim} with size {size}"
        )
    return index + size if index < 0 else index
