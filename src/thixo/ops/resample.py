"""Images resized: each new place looks up its neighbours along one axis after the other."""

import math
from typing import Any

from thixo.dtype import ALL, FLOATS, float32, int64
from thixo.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops import resample_references as slow
from thixo.ops.base import Composite
from thixo.ops.plain import real, whole
from thixo.ops.precision import widened
from thixo.ops.samples import Bad, Sample
from thixo.shape import is_symbolic

_RANK = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}
_MODES = ("nearest", "nearest-exact", "area", *_RANK)


def cubic(t: Any, a: float = -0.75) -> list[Any]:
    """The weights of the four neighbours of a place that is `t` beyond the second (Keys, 1981).

    >>> cubic(0.0)
    [0.0, 1.0, 0.0, 0.0]
    """

    def near(x: Any) -> Any:  # |x| <= 1
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:  # 1 <= |x| <= 2
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _width(size: Any, wanted: Any, factor: float | None, align: bool) -> Any:
    """How many old places a new place is wide."""
    if align:
        return (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return 1 / factor if factor is not None and factor > 0 else size / wanted


def _scale(x: Any, axis: int, wanted: Any, factor: float | None, align: bool, dtype: Any) -> Any:
    """`_width` as a number, or as a tensor where it follows from sizes that are symbols."""
    size = x.shape[axis]
    given = factor is not None and factor > 0 and not align
    if given or not (is_symbolic(size) or is_symbolic(wanted)):
        return _width(size, wanted, factor, align)
    over, under = (size - 1, wanted - 1) if align else (size, wanted)
    return tx.ones(1, dtype=dtype, device=x.device) * over / under


def _along(weight: Any, axis: int, ndim: int) -> Any:
    return weight.reshape(weight.shape[0], *(1,) * (ndim - axis - 1))


def _nearest(x: Any, axis: int, wanted: Any, factor: float | None, exact: bool) -> Any:
    size = x.shape[axis]
    # in float32, whatever the values are, so that ties fall as they do in PyTorch
    place = tx.arange(wanted, dtype=float32, device=x.device)
    if exact:
        place = place + 0.5
    source = (place * _scale(x, axis, wanted, factor, False, float32)).to(int64)
    return x.index_select(axis, tx.clamp(source, max=size - 1))


def _source(x: Any, axis: int, wanted: Any, factor: float | None, align: bool) -> Any:
    place = tx.arange(wanted, dtype=x.dtype, device=x.device)
    scale = _scale(x, axis, wanted, factor, align, x.dtype)
    return place * scale if align else (place + 0.5) * scale - 0.5


def _linear(x: Any, axis: int, wanted: Any, factor: float | None, align: bool) -> Any:
    last = x.shape[axis] - 1
    source = tx.clamp(_source(x, axis, wanted, factor, align), min=0)
    left = tx.clamp(source.to(int64), max=last)
    share = _along(source - left, axis, x.ndim)
    a, b = x.index_select(axis, left), x.index_select(axis, tx.clamp(left + 1, max=last))
    return a * (1 - share) + b * share


def _cubic(x: Any, axis: int, wanted: Any, factor: float | None, align: bool) -> Any:
    last = x.shape[axis] - 1
    source = _source(x, axis, wanted, factor, align)
    left = tx.floor(source)
    total = None
    for offset, weight in enumerate(cubic(source - left), -1):
        tap = x.index_select(axis, tx.clamp(left.to(int64) + offset, 0, last))
        part = tap * _along(weight, axis, x.ndim)
        total = part if total is None else total + part
    return total


def _antialiased(
    x: Any, axis: int, wanted: Any, factor: float | None, align: bool, mode: str
) -> Any:
    """Each new place averages all the old ones under a filter as wide as the reduction."""
    # the width of the filter decides how many taps there are, so these sizes must be known
    size, wanted = int(x.shape[axis]), int(wanted)
    scale = _width(size, wanted, factor, align)
    stretch = max(scale, 1.0)
    support = (1 if mode == "bilinear" else 2) * stretch
    place = tx.arange(wanted, dtype=x.dtype, device=x.device)
    center = (place + 0.5) * scale
    start = tx.clamp((center - support + 0.5).to(int64), min=0)
    stop = tx.clamp((center + support + 0.5).to(int64), max=size)
    length = math.ceil(support) * 2 + 1
    taps = start.unsqueeze(1) + tx.arange(length, device=x.device)  # (place, tap)
    distance = tx.abs((taps - center.unsqueeze(1) + 0.5) / stretch)
    if mode == "bilinear":
        weight = tx.clamp(1 - distance, min=0)
    else:
        _, near, _, _ = cubic(distance, -0.5)
        far, _, _, _ = cubic(distance - 1, -0.5)
        weight = tx.where(distance < 1, near, tx.where(distance < 2, far, 0))
    weight = tx.where(taps < stop.unsqueeze(1), weight, 0)
    weight = weight / weight.sum(1, keepdim=True)
    looked_up = x.index_select(axis, tx.clamp(taps, max=size - 1).flatten())
    looked_up = looked_up.unflatten(axis, (wanted, length))
    return (looked_up * weight.reshape(wanted, length, *(1,) * (x.ndim - axis - 1))).sum(axis + 1)


# ---- arguments


def _times(size: Any, factor: float) -> Any:
    whole = is_symbolic(size) and factor.is_integer()
    return size * int(factor) if whole else math.floor(float(size) * factor)


def _sizes(
    op: str, input: Any, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[tuple[Any, ...], list[float | None]]:
    """The wanted sizes, and the factors that decide where places lie (None: the sizes do)."""
    axes = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ArgumentError(f"{op}: give either size or scale_factor")
    given = scale_factor if size is None else size
    values = list(given) if isinstance(given, (tuple, list)) else [given] * axes
    if len(values) != axes:
        raise ArgumentError(
            f"{op}: input is {describe(input)}, which has {axes} sizes; got {given!r} for them"
        )
    if size is not None:
        if recompute:
            raise ArgumentError(f"{op}: recompute_scale_factor has no meaning with size")
        sizes, factors = [whole(op, "size", v) for v in values], [None] * axes
    else:
        factors = [real(op, "scale_factor", v) for v in values]
        if not all(math.isfinite(f) for f in factors):
            raise ValueRangeError(f"{op}: scale_factor is {given!r}; it must be finite")
        sizes = [_times(n, f) for n, f in zip(input.shape[2:], factors, strict=True)]
        if recompute:
            factors = [None] * axes
    for n, m in zip(input.shape[2:], sizes, strict=True):
        if m <= 0 or n == 0:
            raise ShapeError(
                f"{op}: input is {describe(input)}, the wanted sizes are {sizes}; none may be 0"
            )
    return tuple(sizes), factors


def _interpolate(
    op: str, input: Any, size: Any, scale_factor: Any, mode: str, align_corners: bool | None,
    recompute: bool | None, antialias: bool,
) -> Any:  # fmt: skip
    if mode not in _MODES:
        raise ValueRangeError(f"{op}: mode is {mode!r}; it must be one of {_MODES}")
    if align_corners is not None and mode not in _RANK:
        raise ArgumentError(f"{op}: align_corners has no meaning for mode {mode!r}")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f"{op}: antialias needs mode 'bilinear' or 'bicubic', not {mode!r}")
    if not 3 <= input.ndim <= 5 or _RANK.get(mode, input.ndim) != input.ndim:
        wanted = f"{_RANK[mode]}" if mode in _RANK else "3 to 5"
        raise ShapeError(
            f"{op}: input is {describe(input)}; mode {mode!r} needs {wanted} dimensions: "
            f"(batch, channels, sizes)"
        )
    sizes, factors = _sizes(op, input, size, scale_factor, recompute)
    if mode == "area":
        pool = getattr(tx.nn.functional, f"adaptive_avg_pool{input.ndim - 2}d")
        return pool(input, sizes)
    align = bool(align_corners)
    if mode.startswith("nearest"):
        for axis, (m, f) in enumerate(zip(sizes, factors, strict=True), 2):
            input = _nearest(input, axis, m, f, mode == "nearest-exact")
        return input
    if not input.dtype.is_floating_point:
        raise DTypeError(f"{op}: input is {describe(input)}; mode {mode!r} needs a floating type")
    x = widened(input)
    for axis, (m, f) in enumerate(zip(sizes, factors, strict=True), 2):
        if antialias:
            x = _antialiased(x, axis, m, f, align, mode)
        elif mode == "bicubic":
            x = _cubic(x, axis, m, f, align)
        else:
            x = _linear(x, axis, m, f, align)
    return x.to(input.dtype)


class Interpolate(Composite):
    """Resize signals, images or volumes, to `size` or by `scale_factor`.

    `mode` is nearest, nearest-exact, linear (for 3-d input), bilinear, bicubic (4-d), trilinear (5-d)
    or area. With `align_corners` the centres of the corner pixels stay where they are, not their edges.

    >>> x = tx.tensor([[[1.0, 3.0]]])
    >>> tx.nn.functional.interpolate(x, size=4)
    tensor([[[1., 1., 3., 3.]]])
    >>> tx.nn.functional.interpolate(x, scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """

    signature = (
        "interpolate(input, size: any = None, scale_factor: any = None, mode: str = 'nearest', "
        "align_corners: bool? = None, recompute_scale_factor: bool? = None, "
        "antialias: bool = False) -> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
        return _interpolate(
            "interpolate", input, size, scale_factor, mode, align_corners, recompute_scale_factor,
            antialias,
        )  # fmt: skip

    reference = slow.interpolate

    def samples(s):
        yield Sample(s.real(s.n, 2, 4), 6)
        yield Sample(s.real(s.n, 2, s.m), None, 2)
        yield Sample(s.real(s.n, 2, 4, 3), (2, 5), mode="nearest-exact")
        yield Sample(s.real(2, 1, 3, 4, 2), None, 1.5)
        if s.dtype not in FLOATS:
            return
        yield Sample(s.real(s.n, 2, 4), None, 1.7, "linear")
        yield Sample(s.real(s.n, 2, s.m), s.m + 3, None, "linear", True)
        yield Sample(s.real(s.n, 2, 4, 3), (3, 5), None, "bilinear", True)
        yield Sample(s.real(s.n, 2, 4, 3), (2, 7), None, "bilinear")
        yield Sample(s.real(s.n, 1, 4, 3), (6, 2), None, "bicubic", False)
        yield Sample(s.real(s.n, 1, 4, 3), None, (1.5, 2.0), "bicubic", True)
        yield Sample(s.real(1, 1, 3, 4, 2), (2, 5, 3), None, "trilinear")
        yield Sample(s.real(s.n, 1, 5, 4), (3, 2), None, "area")
        yield Sample(s.real(s.n, 1, 7, 6), (3, 4), None, "bilinear", antialias=True)
        yield Sample(s.real(s.n, 1, 7, 6), (3, 8), None, "bicubic", antialias=True)

    def bad(s):
        x = s.real(1, 1, 4)
        yield Bad(Sample(x), ArgumentError, "size or scale_factor")
        yield Bad(Sample(x, 2, 2), ArgumentError, "size or scale_factor")
        yield Bad(Sample(x, (2, 2)), ArgumentError, "has 1 sizes")
        yield Bad(Sample(x, 2, mode="cubic"), ValueRangeError, "mode is 'cubic'")
        yield Bad(Sample(x, 2, mode="bilinear"), ShapeError, "needs 4 dimensions")
        yield Bad(Sample(x, 2, align_corners=True), ArgumentError, "align_corners")
        yield Bad(Sample(x, 0), ShapeError, "none may be 0")
        yield Bad(Sample(x, 2, antialias=True), ArgumentError, "antialias")


class Upsample(Composite):
    """`interpolate` under its old name.

    >>> tx.nn.functional.upsample(tx.tensor([[[1.0, 3.0]]]), 4)
    tensor([[[1., 1., 3., 3.]]])
    """

    signature = (
        "upsample(input, size: any = None, scale_factor: any = None, mode: str = 'nearest', "
        "align_corners: bool? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, size, scale_factor, mode, align_corners):
        return _interpolate("upsample", input, size, scale_factor, mode, align_corners, None, False)

    reference = slow.interpolate

    def samples(s):
        yield Sample(s.real(s.n, 2, 4), 6)


class UpsampleNearest(Composite):
    """`interpolate` with mode "nearest".

    >>> tx.nn.functional.upsample_nearest(tx.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """

    signature = "upsample_nearest(input, size: any = None, scale_factor: any = None) -> y"
    namespace = "nn.functional"
    dtypes = ALL

    def compose(input, size, scale_factor):
        return _interpolate(
            "upsample_nearest", input, size, scale_factor, "nearest", None, None, False
        )

    reference = slow.interpolate

    def samples(s):
        yield Sample(s.real(s.n, 2, 4), 6)
        yield Sample(s.real(s.n, 2, 4, 3), None, (2, 1.5))


class UpsampleBilinear(Composite):
    """`interpolate` with mode "bilinear" and aligned corners.

    >>> tx.nn.functional.upsample_bilinear(tx.tensor([[[[1.0, 3.0]]]]), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """

    signature = "upsample_bilinear(input, size: any = None, scale_factor: any = None) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, size, scale_factor):
        return _interpolate(
            "upsample_bilinear", input, size, scale_factor, "bilinear", True, None, False
        )

    def reference(input, size=None, scale_factor=None):
        return slow.interpolate(input, size, scale_factor, "bilinear", True)

    def samples(s):
        yield Sample(s.real(s.n, 2, 4, 3), 6)
        yield Sample(s.real(s.n, 2, 4, 3), None, 1.5)
