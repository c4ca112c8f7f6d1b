"""x[index] and x[index] = value in full.

An index is taken in two steps. Integers, slices, None and Ellipsis give a view. Then tensors, arrays, lists
and masks pick elements of that view: the axes they stand on are moved to the front, `index_get` or
`index_set` does the work, and the new axes go where the old ones were if those were neighbours, else to the front.
No operator makes negative strides: a slice with a negative step is one with a positive step, and a flip, which copies.
"""

import functools
import operator
from typing import Any, NamedTuple

import numpy as np

from thixo import _core
from thixo.dtype import bool as bool_
from thixo.dtype import int64, uint8
from thixo.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    TraceError,
    ValueRangeError,
    describe,
)
from thixo.ops import public as tx
from thixo.ops.indexing import joint_shape
from thixo.ops.layout import broadcasts_to
from thixo.shape import Dim, shape_text

Tensor = Any


class Picks(NamedTuple):
    """Index tensors on axes of a view: (axis, its number in x, integer tensor), in order."""

    view: Tensor
    picks: list[tuple[int, int, Tensor]]
    mask: Tensor | None  # the one mask on the first axes, where that is all there is
    reversed: tuple[int, ...]  # axes of the view to be read from their end
    copies: tuple["Copy", ...]  # taken on the way to the view, which is of the last of them


class Copy(NamedTuple):
    """One slice of a tensor at a place that is not known while tracing: no view, so writes are put back."""

    whole: Tensor
    axis: int
    place: Tensor
    part: Tensor


def getitem(x: Tensor, index: Any) -> Tensor:
    """x[index].

    >>> import thixo as tx
    >>> x = tx.arange(6).reshape(2, 3)
    >>> x[:, [2, 0]], x[x > 3]
    (tensor([[2, 0],
            [5, 3]]), tensor([4, 5]))
    """
    found = resolve(x, index, "index")
    if found.reversed:
        found = found._replace(view=tx.flip(found.view, found.reversed))
    return pick(found) if found.picks else found.view


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """x[index] = value.

    >>> import thixo as tx
    >>> x = tx.zeros(3)
    >>> x[[0, 2]] = tx.tensor([1.0, 2.0]); x
    tensor([1., 0., 2.])
    """
    found = resolve(x, index, "setitem")
    value = as_value(value, x)
    if found.reversed:
        read = tx.flip(found.view, found.reversed)
        write(found._replace(view=read), value)
        tx.copy_(found.view, tx.flip(read, found.reversed))
    else:
        write(found, value)
    for whole, axis, place, part in reversed(found.copies):
        tx.index_copy_(whole, axis, place, tx.unsqueeze(part, axis))


def write(found: Picks, value: Tensor) -> None:
    """Put a value where an index leads."""
    if not found.picks:
        value = without_leading_ones(value, found.view.ndim)
        require_broadcast(value, tuple(found.view.shape))
        tx.copy_(found.view, value)
        return
    if found.mask is not None and value.ndim == 0:
        mask = found.mask
        rest = [1] * (found.view.ndim - mask.ndim)
        tx.masked_fill_(found.view, tx.reshape(mask, (*mask.shape, *rest)), value)
        return
    order, tensors, axes, back = arrangement(found)
    target = in_order(found.view, order)
    write = shown_as("index_set_", "setitem")
    write(target, tensors, to_front(value, target, tensors, back), False, axes)


def index_put(x: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor:
    """A copy of x with values written, or added, at x[indices]."""
    if not isinstance(indices, list | tuple):
        raise ArgumentError(
            f"index_put: indices must be a tuple of tensors, got {describe(indices)}"
        )
    index = tuple(slice(None) if i is None else i for i in indices)
    found = resolve(x, index, "index_put")
    if not found.picks:
        raise ArgumentError("index_put: needs at least one index tensor, got none")
    if values.dtype is not x.dtype:
        raise DTypeError(
            f"index_put: input and values must have one dtype, input is {describe(x)}, "
            f"values is {describe(values)}"
        )
    order, tensors, axes, back = arrangement(found)
    target = in_order(found.view, order)
    values = to_front(values, target, tensors, back)
    written = tx.index_set(target, tensors, values, accumulate, axes)
    return in_order(written, tuple(order.index(d) for d in range(len(order))))


# ---- reading an index


def resolve(x: Tensor, index: Any, operation: str) -> Picks:
    """Apply the integers, slices, None and Ellipsis; collect the tensors and masks."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [i if is_plain(i) else as_index(i, operation) for i in items]
    items = without_ellipsis(x, items, operation)
    view = x
    picks: list[tuple[int, int, Tensor]] = []
    masks: list[Tensor] = []
    backward_axes: list[int] = []
    copies: list[Copy] = []
    axis = place = 0  # of the view, and of x (for messages)
    for item in items:
        if item is None:
            view = tx.unsqueeze(view, axis)
            axis += 1
        elif isinstance(item, bool):
            view = tx.unsqueeze(view, axis)
            picks.append((axis, place, tx.zeros((1 if item else 0,), dtype=int64)))
            axis += 1
        elif isinstance(item, slice):
            view, backwards = cut(view, axis, item, operation)
            if backwards:
                backward_axes.append(axis)
            axis += 1
            place += 1
        elif isinstance(item, int | Dim):
            view = select(view, axis, item, place, x, operation)
            place += 1
        elif item.dtype is bool_:
            if item.ndim == 0:
                view, item = tx.unsqueeze(view, axis), tx.reshape(item, (1,))
                place -= 1
            require_fit(item, view, axis, place, x, operation)
            for d, picked in enumerate(tx.nonzero(item, as_tuple=True)):
                picks.append((axis + d, place + d, picked))
            masks.append(item)
            axis += item.ndim
            place += item.ndim
        elif item.ndim == 0 and operation != "index_put":
            known = value_of(item)
            if known is None:
                copies.append(one_of(view, axis, item))
                view = copies[-1].part
            else:
                view = select(view, axis, known, place, x, operation)
            place += 1
        else:
            picks.append((axis, place, item))
            axis += 1
            place += 1
    if view is x and not picks:
        view = tx.view(x, tuple(x.shape))
    first_only = len(masks) == 1 and len(picks) == masks[0].ndim and picks[0][0] == 0
    first_only = first_only and tuple(masks[0].shape) == tuple(view.shape[: masks[0].ndim])
    mask = masks[0] if first_only else None
    return Picks(view, picks, mask, tuple(backward_axes), tuple(copies))


def is_plain(item: Any) -> bool:
    """Whether an item gives a view (or is a bool, which stands for a new axis)."""
    return item is None or item is Ellipsis or isinstance(item, int | slice | Dim)


def as_index(item: Any, operation: str) -> Any:
    """A list, an array or a number of another library as an index tensor or an int."""
    if isinstance(item, _core.Tensor):
        if not (item.dtype.is_integer or item.dtype is bool_):
            raise DTypeError(
                f"{operation}: an index tensor must hold integers or bool, got {describe(item)}"
            )
        if item.dtype is uint8:
            raise DTypeError(
                f"{operation}: {describe(item)} could be a mask or integers; convert it to bool or int64"
            )
        return item
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, list | tuple | range | np.ndarray):
        return as_index(_from_array(item, operation), operation)
    try:
        return operator.index(item)
    except TypeError:
        raise ArgumentError(
            f"{operation}: an index is made of ints, slices, None, Ellipsis, tensors and lists, "
            f"got {describe(item)}"
        ) from None


def _from_array(item: Any, operation: str) -> Tensor:
    if isinstance(item, list | tuple) and any(hasattr(i, "dtype") for i in item):
        return tx.stack([_as_tensor(i) for i in item])
    try:
        array = np.array(item)
    except ValueError:
        array = np.array(None)
    if array.size == 0 and not isinstance(item, np.ndarray):
        array = array.astype(np.int64)
    if array.dtype == object:
        raise ArgumentError(
            f"{operation}: a list in an index must be of ints or bools, got {describe(item)}"
        )
    return _core.from_numpy(array)


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, _core.Tensor) else _core.from_numpy(np.array(value))


def without_ellipsis(x: Tensor, items: list[Any], operation: str) -> list[Any]:
    """The items with Ellipsis written out as slices, checked against the number of axes."""
    used = 0
    for item in items:
        if item is None or item is Ellipsis or isinstance(item, bool):
            continue
        used += item.ndim if getattr(item, "dtype", None) is bool_ else 1
    if used > x.ndim:
        raise IndexOutOfRange(
            f"{operation}: too many indices: {used} for {describe(x)}, which has {x.ndim} axes"
        )
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexOutOfRange(
            f"{operation}: an index can have one Ellipsis (...), got {len(places)}"
        )
    if not places:
        return items
    i = places[0]
    return [*items[:i], *[slice(None)] * (x.ndim - used), *items[i + 1 :]]


def cut(view: Tensor, axis: int, item: slice, operation: str) -> tuple[Tensor, bool]:
    """A slice of one axis, and whether it is to be reversed; bounds may be 0-d integer tensors."""
    start, end, step = (bound(b, operation) for b in (item.start, item.stop, item.step))
    step = 1 if step is None else step
    if step == 0:
        raise ValueRangeError(f"{operation}: the step of a slice must not be 0")
    backwards = step < 0
    if backwards:
        start, end, step = forwards(start, end, step, view.shape[axis], operation)
    if start is None and end is None and step == 1:
        return view, backwards
    return tx.slice(view, axis, start, end, step), backwards


def forwards(start: Any, end: Any, step: int, size: Any, operation: str) -> tuple[Any, Any, int]:
    """The slice with a positive step that has the elements of one with a negative step."""
    if start is None and end is None and step == -1:
        return None, None, 1
    if any(isinstance(bound, Dim) for bound in (start, end, size)):
        raise TraceError(
            f"{operation}: a slice with step {step} of an axis of size {size}, which is not known "
            "while tracing; reverse the axis with flip, then slice it"
        )
    places = range(size)[slice(start, end, step)]
    return (places[-1], places[0] + 1, -step) if places else (0, 0, 1)


def bound(value: Any, operation: str) -> Any:
    """The bound of a slice as an int or a symbolic size."""
    if value is None or isinstance(value, Dim):
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise ArgumentError(
            f"{operation}: the bounds of a slice must be ints, got {describe(value)}"
        ) from None


def value_of(item: Tensor) -> int | None:
    """The number that a 0-d integer tensor holds; None while it is not known."""
    return None if item._value is not None else int(item.item())


def select(view: Tensor, axis: int, number: Any, place: int, x: Tensor, operation: str) -> Tensor:
    """The slice that a number names, as a view."""
    size = view.shape[axis]
    if not -size <= number < size:
        raise IndexOutOfRange(
            f"{operation}: {number} is out of range for axis {place} of {describe(x)}, "
            f"which has size {size}"
        )
    return tx.select(view, axis, number)


def one_of(view: Tensor, axis: int, item: Tensor) -> Copy:
    """The slice that a 0-d integer tensor names whose value is not known: a copy."""
    place = tx.reshape(tx.where(item < 0, item + view.shape[axis], item), (1,))
    return Copy(view, axis, place, tx.squeeze(tx.index_select(view, axis, place), axis))


def require_fit(
    mask: Tensor, view: Tensor, axis: int, place: int, x: Tensor, operation: str
) -> None:
    """Refuse a mask of another shape than the axes it stands on; one of size 0 picks nothing."""
    for d, size in enumerate(mask.shape):
        if size not in (view.shape[axis + d], 0):
            raise IndexOutOfRange(
                f"{operation}: the mask {describe(mask)} does not fit {describe(x)}: axis {place + d} "
                f"has size {view.shape[axis + d]}, the mask {size}"
            )


# ---- elements by index tensors


def arrangement(found: Picks) -> tuple[tuple[int, ...], list[Tensor], tuple[int, ...], int]:
    """The order of axes with the indexed ones first, their tensors, and what x calls them.

    The last is the axis at which the picked elements' axes stand in the result.
    """
    axes = [axis for axis, _, _ in found.picks]
    names = tuple(place for _, place, _ in found.picks)
    rest = [d for d in range(found.view.ndim) if d not in axes]
    neighbours = axes == list(range(axes[0], axes[0] + len(axes)))
    return (*axes, *rest), [t for _, _, t in found.picks], names, axes[0] if neighbours else 0


def in_order(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """x with its axes in another order, or x itself if that is its own."""
    return x if order == tuple(range(len(order))) else tx.permute(x, order)


@functools.cache
def shown_as(operator: str, name: str) -> Any:
    """An operator under the name that its messages say: brackets have none of its own."""
    return getattr(tx, operator).renamed(name)


def pick(found: Picks) -> Tensor:
    """The elements that the index tensors name."""
    order, tensors, axes, back = arrangement(found)
    y = shown_as("index_get", "index")(in_order(found.view, order), tensors, axes)
    new = y.ndim - (len(order) - len(tensors))  # axes that the index tensors bring
    if back == 0:
        return y
    before = range(new, new + back)
    return tx.permute(y, (*before, *range(new), *range(new + back, y.ndim)))


def to_front(value: Tensor, target: Tensor, tensors: list[Tensor], back: int) -> Tensor:
    """A value for x[index] with the axes of the index tensors moved to the front."""
    first = joint_shape("setitem", tensors)
    rest = tuple(target.shape[len(tensors) :])
    value = without_leading_ones(value, len(first) + len(rest))
    if back == 0 or value.ndim == 0:
        return value
    shape = (*rest[:back], *first, *rest[back:])
    require_broadcast(value, shape)
    new = len(first)
    order = (*range(back, back + new), *range(back), *range(back + new, len(shape)))
    return tx.permute(tx.expand(value, shape), order)


def require_broadcast(value: Tensor, shape: tuple[Any, ...]) -> None:
    """Refuse a value that does not fill the place it is written to."""
    if not broadcasts_to(value.shape, shape):
        raise ShapeError(
            f"setitem: the value must broadcast to {shape_text(shape)}, value is {describe(value)}"
        )


def without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """A value with more axes than its target, if those are of size 1, without them."""
    extra = value.ndim - ndim
    if extra <= 0 or any(n != 1 for n in value.shape[:extra]):
        return value
    return tx.reshape(value, tuple(value.shape[extra:]))


def as_value(value: Any, x: Tensor) -> Tensor:
    """What is assigned as a tensor of x's dtype."""
    if not isinstance(value, _core.Tensor):
        if isinstance(value, int | float | complex | Dim):
            return tx.full((), value, dtype=x.dtype)
        value = _core.from_numpy(np.array(value))
    return value if value.dtype is x.dtype else tx.cast(value, x.dtype)
