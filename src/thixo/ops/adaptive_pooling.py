"""Pooling to a wanted size: bins of nearly equal length.

A bin's places are looked up with integer arithmetic on `arange`, so everything follows symbolic sizes.
"""

from typing import Any

from thixo.dtype import FLOATS
from thixo.errors import ArgumentError, ShapeError, ValueRangeError, describe
from thixo.ops import pooling_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.ops.windows import per_axis, require
from thixo.shape import is_symbolic


def _wanted(op: str, axes: int, input: Any, output_size: Any) -> tuple[Any, ...]:
    """The sizes to reach; None keeps the input's."""
    if input.ndim not in (axes + 1, axes + 2) or any(n == 0 for n in input.shape[-axes - 1 :]):
        raise ShapeError(
            f"{op}: input is {describe(input)}; it must be (batch, channels, sizes) or (channels, "
            f"sizes) with {axes} sizes, and only the batch may be empty"
        )
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,)
    if len(given) == 1:
        given *= axes
    if len(given) != axes:
        raise ArgumentError(f"{op}: output_size is {output_size!r}; it must be an int or {axes}")
    sizes = tuple(n if w is None else w for w, n in zip(given, input.shape[-axes:], strict=True))
    sizes = per_axis(op, "output_size", sizes, axes)
    require(op, "output_size", sizes, 0)
    return sizes


def _longest(size: Any, bins: Any) -> Any:
    """The most places a bin has."""
    if is_symbolic(size) or is_symbolic(bins):
        return (size + bins - 1) // bins + 1
    return max((-(-(i + 1) * size // bins) - i * size // bins for i in range(bins)), default=1)


def _bins(size: Any, bins: Any, device: Any) -> tuple[Any, Any, Any]:
    """(first place of each bin, one past its last, all its places with a tail that may be beyond)."""
    number = tx.arange(bins, device=device)
    divisor = 1 if isinstance(bins, int) and bins == 0 else bins  # without bins nothing is divided
    start = number * size // divisor
    stop = -(-(number + 1) * size // divisor)
    return start, stop, start.unsqueeze(1) + tx.arange(_longest(size, bins), device=device)


def _spread(x: Any, axis: int, size: Any, places: Any) -> Any:
    """x with `axis` replaced by two: the bins, and the places of each (beyond the end: the last)."""
    bins, length = places.shape
    looked_up = x.index_select(axis, places.clamp(max=size - 1).flatten())
    return looked_up.unflatten(axis, (bins, length))


def _along(flags: Any, axis: int, ndim: int) -> Any:
    """A (bins, length) table shaped to meet axes `axis` and `axis + 1` of `ndim` axes."""
    return flags.reshape(*(1,) * axis, *flags.shape, *(1,) * (ndim - axis - 2))


def _adaptive_avg_pool(op: str, axes: int, input: Any, output_size: Any) -> Any:
    sizes = _wanted(op, axes, input, output_size)
    x = widened(input)
    if all(not is_symbolic(bins) and bins == 1 for bins in sizes):
        return x.mean(tuple(range(input.ndim - axes, input.ndim)), keepdim=True).to(input.dtype)
    for axis, bins in enumerate(sizes, input.ndim - axes):
        size = x.shape[axis]
        if not is_symbolic(bins) and bins == 0:
            x = x.narrow(axis, 0, 0)
        elif not is_symbolic(bins) and bins == 1:
            x = x.mean(axis, keepdim=True)
        elif not is_symbolic(size) and not is_symbolic(bins) and size % bins == 0:
            x = x.unflatten(axis, (bins, size // bins)).mean(axis + 1)
        else:
            start, stop, places = _bins(size, bins, x.device)
            x = _spread(x, axis, size, places)
            inside = _along(places < stop.unsqueeze(1), axis, x.ndim)
            count = (stop - start).reshape(bins, *(1,) * (x.ndim - axis - 2))
            x = tx.where(inside, x, 0).sum(axis + 1) / count
    return x.to(input.dtype)


class AdaptiveAvgPool1d(Composite):
    """Averages over `output_size` bins of nearly equal length.

    >>> tx.nn.functional.adaptive_avg_pool1d(tx.tensor([[1.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[1.5000, 3.5000]])
    """

    signature = "adaptive_avg_pool1d(input, output_size: ints) -> y"
    namespace = "nn.functional"
    aliases = ("adaptive_avg_pool1d",)
    dtypes = FLOATS

    def compose(input, output_size):
        return _adaptive_avg_pool("adaptive_avg_pool1d", 1, input, output_size)

    reference = slow.adaptive_avg_pool(1)

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 2), 3)
        yield Sample(s.real(2, s.m + 4), 1)
        yield Sample(s.real(s.n, 1, 4), 6)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 5), (-1,)), ValueRangeError, "output_size")
        yield Bad(Sample(s.real(2, 3, 5), (2, 2)), ArgumentError, "output_size")
        yield Bad(Sample(s.real(5), 2), ShapeError, "(batch, channels, sizes)")


class AdaptiveAvgPool2d(Composite):
    """Averages over a grid of bins of nearly equal size; None keeps a size.

    >>> tx.nn.functional.adaptive_avg_pool2d(tx.arange(8.0).reshape(1, 2, 4), (1, 2))
    tensor([[[2.5000, 4.5000]]])
    """

    signature = "adaptive_avg_pool2d(input, output_size: any) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size):
        return _adaptive_avg_pool("adaptive_avg_pool2d", 2, input, output_size)

    reference = slow.adaptive_avg_pool(2)

    def samples(s):
        yield Sample(s.real(s.n, 2, s.m + 2, 5), (3, 2))
        yield Sample(s.real(2, s.m + 4, 5), 1)
        yield Sample(s.real(2, s.m, 5), (None, 3))


class AdaptiveAvgPool3d(Composite):
    """Averages over a grid of boxes of nearly equal size; None keeps a size.

    >>> tx.nn.functional.adaptive_avg_pool3d(tx.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """

    signature = "adaptive_avg_pool3d(input, output_size: any) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size):
        return _adaptive_avg_pool("adaptive_avg_pool3d", 3, input, output_size)

    reference = slow.adaptive_avg_pool(3)

    def samples(s):
        yield Sample(s.real(2, 1, s.m + 1, 3, 4), (3, 2, None))


def _adaptive_max_pool(op: str, axes: int, input: Any, output_size: Any, with_indices: bool) -> Any:
    sizes = _wanted(op, axes, input, output_size)
    lead = input.ndim - axes
    x, number, inside = input, None, None
    for i, bins in enumerate(sizes):
        axis, size = lead + 2 * i, input.shape[lead + i]
        _, stop, places = _bins(size, bins, x.device)
        x = _spread(x, axis, size, places)
        here = _along(places, 2 * i, 2 * axes)
        valid = _along(places < stop.unsqueeze(1), 2 * i, 2 * axes)
        number = here if number is None else number * size + here
        inside = valid if inside is None else inside & valid
    order = [*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)]  # the bins, then the places of each
    x = tx.where(inside, x, float("-inf"))
    x = x.permute(*range(lead), *(lead + i for i in order)).flatten(lead + axes)
    values, which = x.max(-1)
    if not with_indices:
        return values
    number = number.permute(*order).flatten(axes).expand(x.shape)
    return values, number.gather(-1, which.unsqueeze(-1)).squeeze(-1)


class AdaptiveMaxPool1d(Composite):
    """The largest value of each of `output_size` bins; with `return_indices` also where it was.

    >>> tx.nn.functional.adaptive_max_pool1d(tx.tensor([[1.0, 5.0, 3.0, 4.0]]), 2)
    tensor([[5., 4.]])
    """

    signature = "adaptive_max_pool1d(input, output_size: ints, return_indices: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size, return_indices):
        return _adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, return_indices)

    reference = slow.adaptive_max_pool(1)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2), 3)
        yield Sample(s.distinct(2, s.m + 4), 1, True)

    def bad(s):
        yield Bad(Sample(s.real(2, 3, 5), (-1,)), ValueRangeError, "output_size")
        yield Bad(Sample(s.real(5), 2), ShapeError, "(batch, channels, sizes)")


class AdaptiveMaxPool2d(Composite):
    """The largest value of each bin of a grid; with `return_indices` also where it was.

    >>> tx.nn.functional.adaptive_max_pool2d(tx.arange(8.0).reshape(1, 2, 4), (1, 2))
    tensor([[[5., 7.]]])
    """

    signature = "adaptive_max_pool2d(input, output_size: any, return_indices: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size, return_indices):
        return _adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, return_indices)

    reference = slow.adaptive_max_pool(2)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2, 5), (3, 2))
        yield Sample(s.distinct(2, s.m + 4, 5), (2, None), True)


class AdaptiveMaxPool3d(Composite):
    """The largest value of each box of a grid; with `return_indices` also where it was.

    >>> tx.nn.functional.adaptive_max_pool3d(tx.arange(8.0).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """

    signature = "adaptive_max_pool3d(input, output_size: any, return_indices: bool = False) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size, return_indices):
        return _adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size, return_indices)

    reference = slow.adaptive_max_pool(3)

    def samples(s):
        yield Sample(s.distinct(2, 1, s.m + 1, 3, 4), (3, 2, 2))
        yield Sample(s.distinct(1, s.m + 1, 3, 4), 2, True)


class AdaptiveMaxPool1dWithIndices(Composite):
    """`adaptive_max_pool1d` that always gives the indices too.

    >>> tx.nn.functional.adaptive_max_pool1d_with_indices(tx.tensor([[1.0, 5.0, 3.0]]), 1)[1]
    tensor([[1]])
    """

    signature = (
        "adaptive_max_pool1d_with_indices(input, output_size: ints, return_indices: bool = False) "
        "-> (values, indices)"
    )
    namespace = "nn.functional"
    aliases = ("adaptive_max_pool1d",)
    dtypes = FLOATS

    def compose(input, output_size, return_indices):
        return _adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, True)

    reference = slow.adaptive_max_pool(1, always=True)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2), 3)


class AdaptiveMaxPool2dWithIndices(Composite):
    """`adaptive_max_pool2d` that always gives the indices too.

    >>> tx.nn.functional.adaptive_max_pool2d_with_indices(tx.arange(8.0).reshape(1, 2, 4), 1)[1]
    tensor([[[7]]])
    """

    signature = (
        "adaptive_max_pool2d_with_indices(input, output_size: any, return_indices: bool = False) "
        "-> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size, return_indices):
        return _adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, True)

    reference = slow.adaptive_max_pool(2, always=True)

    def samples(s):
        yield Sample(s.distinct(s.n, 2, s.m + 2, 3), 2)


class AdaptiveMaxPool3dWithIndices(Composite):
    """`adaptive_max_pool3d` that always gives the indices too.

    >>> x = tx.arange(8.0).reshape(1, 2, 2, 2)
    >>> tx.nn.functional.adaptive_max_pool3d_with_indices(x, 1)[1]
    tensor([[[[7]]]])
    """

    signature = (
        "adaptive_max_pool3d_with_indices(input, output_size: any, return_indices: bool = False) "
        "-> (values, indices)"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, output_size, return_indices):
        return _adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size, True)

    reference = slow.adaptive_max_pool(3, always=True)

    def samples(s):
        yield Sample(s.distinct(2, s.m + 1, 3, 3), 2)
