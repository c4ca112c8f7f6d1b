"""Functions that rearrange arrays, and `take` and `take_along_axis`."""

from collections.abc import Sequence

from thixo.array_api.promotion import together
from thixo.dtype import int64
from thixo.errors import DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.shape import normalize_dim
from thixo.tensor import Tensor

__all__ = [
    "broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis",
    "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "take", "take_along_axis",
    "tile", "unstack",
]  # fmt: skip

Axes = int | tuple[int, ...]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays stretched to their common shape, without copies.

    >>> [a.shape for a in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [Size([2, 3]), Size([2, 3])]
    """
    return list(tx.broadcast_tensors(*arrays)) if arrays else []


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array stretched to a shape, without a copy.

    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return tx.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """The arrays one after the other along an axis; None flattens them first.

    >>> xp.concat([xp.asarray([1]), xp.asarray([2.5])])
    tensor([1.0000, 2.5000])
    """
    parts = together(*arrays, op="concat")
    for part in parts:
        if part.ndim == 0 and axis is not None:
            raise ShapeError(f"concat: needs arrays with axes, got {describe(part)}; see stack")
    if axis is None:
        return tx.cat([tx.reshape(part, (-1,)) for part in parts], 0)
    axis = normalize_dim(axis, parts[0].ndim, "concat")
    return tx.cat(parts, axis)


def expand_dims(x: Tensor, /, axis: Axes) -> Tensor:
    """The array with a new axis of size 1 at each place given, counted in the result.

    >>> xp.expand_dims(xp.ones(3), 0).shape
    Size([1, 3])
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = x.ndim + len(axes)
    for place in sorted(normalize_dim(a, ndim, "expand_dims") for a in axes):
        x = tx.unsqueeze(x, place)
    return x


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """The array with its elements in reverse along the axes given, or along all.

    >>> xp.flip(xp.asarray([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return tx.flip(x, tuple(range(x.ndim)) if axis is None else axis)


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """The array with axes moved to other places; the others keep their order.

    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    Size([3, 4, 2])
    """
    return tx.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The array with its axes in another order.

    >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
    Size([4, 2, 3])
    """
    return tx.permute(x, axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Each element several times in a row; None flattens first (`thixo.repeat` tiles instead).

    >>> xp.repeat(xp.asarray([1, 2]), xp.asarray([2, 3]))
    tensor([1, 1, 2, 2, 2])
    """
    if isinstance(repeats, Tensor):
        if not repeats.dtype.is_integer:
            raise DTypeError(f"repeat: repeats must be integers, got {describe(repeats)}")
        repeats = repeats.to(int64)
    return tx.repeat_interleave(x, repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape; `copy` True always copies, False never.

    >>> xp.reshape(xp.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    made = tx.reshape(x, shape)
    if copy:
        return tx.clone(made) if _overlap(made, x) else made
    if copy is False and not _overlap(made, x):
        raise ValueRangeError(
            f"reshape: copy=False, but {describe(x)} with strides {tuple(x.stride())} can have "
            f"the shape {tuple(made.shape)} only as a copy"
        )
    return made


def _overlap(made: Tensor, x: Tensor) -> bool:
    return made is x or made.numel() == 0 or made.data_ptr() == x.data_ptr()


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """The array moved along axes; what falls off one end comes back at the other.

    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if axis is None:
        return tx.reshape(tx.roll(tx.reshape(x, (-1,)), shift, 0), tuple(x.shape))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    return tx.roll(x, shifts, axes)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """The array without the axes given, which must be of size 1.

    >>> xp.squeeze(xp.ones((1, 3)), 0).shape
    Size([3])
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    places = [normalize_dim(a, x.ndim, "squeeze") for a in axes]
    for place in places:
        if x.shape[place] != 1:
            raise ShapeError(f"squeeze: axis {place} of {describe(x)} is not of size 1")
    return tx.squeeze(x, tuple(places)) if places else x


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """The arrays as slices along a new axis.

    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])
    """
    return tx.stack(together(*arrays, op="stack"), axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Copies of the whole array side by side, so many along each axis.

    >>> xp.tile(xp.asarray([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    return tx.tile(x, repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis.

    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(tx.unbind(x, axis))


# ---- indexing by an array


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The slices of an axis that the indices name; the axis may be left out if there is one.

    >>> xp.take(xp.asarray([[1, 2, 3]]), xp.asarray([2, 0]), axis=1)
    tensor([[3, 1]])
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueRangeError(f"take: {describe(x)} has several axes; say which: axis=")
        axis = 0
    axis = normalize_dim(axis, x.ndim, "take")
    return x[(slice(None),) * axis + (_integers(indices, "take"),)]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """The elements that the indices name along an axis, each in its own place of the others.

    >>> x = xp.asarray([[3, 1, 2]]); xp.take_along_axis(x, xp.argsort(x))
    tensor([[1, 2, 3]])
    """
    return tx.take_along_dim(x, _integers(indices, "take_along_axis"), axis)


def _integers(indices: Tensor, op: str) -> Tensor:
    if not indices.dtype.is_integer:
        raise DTypeError(f"{op}: indices must be integers, got {describe(indices)}")
    return indices.to(int64)
