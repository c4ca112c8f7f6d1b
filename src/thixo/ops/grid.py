"""Sampling at free places, and the grids of places that an affine map gives."""

import itertools
from typing import Any

from thixo.dtype import FLOATS, int64
from thixo.errors import DTypeError, ShapeError, ValueRangeError, describe
from thixo.ops import public as tx
from thixo.ops import resample_references as slow
from thixo.ops.base import Composite
from thixo.ops.precision import widened
from thixo.ops.resample import cubic
from thixo.ops.samples import Bad, Sample
from thixo.shape import numel

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _reflected(x: Any, size: Any, align: bool) -> Any:
    """Places outside mirrored inside, as often as needed: at the pixels' centres, or at their edges."""
    low = 0.0 if align else -0.5
    span = size - 1 if align else size
    if span == 0:
        return x * 0
    x = tx.abs(x - low)
    rest = tx.fmod(x, span)
    turns = tx.floor(x / span).detach()
    return tx.where(tx.fmod(turns, 2) == 0, rest + low, span - rest + low)


def _inside(x: Any, size: Any, padding: str, align: bool) -> Any:
    """Coordinates brought into the image, unless zeros surround it."""
    if padding == "reflection":
        x = _reflected(x, size, align)
    return x if padding == "zeros" else tx.clamp(x, 0, size - 1)


def _lookup(flat: Any, places: list[Any], sizes: Any) -> tuple[Any, Any]:
    """(pixels at whole-numbered places, whether those are inside the image)."""
    number, valid = None, None
    for place, n in zip(places, sizes, strict=True):
        inside = (place >= 0) & (place <= n - 1)
        valid = inside if valid is None else valid & inside
        index = tx.clamp(place.detach().to(int64), 0, n - 1)
        number = index if number is None else number * n + index
    batch, channels = flat.shape[:2]
    number = number.reshape(batch, 1, numel(number.shape[1:])).expand(batch, channels, -1)
    return flat.gather(2, number), valid


def _sample(input: Any, grid: Any, mode: str, padding: str, align: bool) -> Any:
    dtype = input.dtype
    input, grid = widened(input), widened(grid)
    axes = input.ndim - 2
    sizes = tuple(input.shape[2:])
    flat = input.flatten(2)
    # the grid's last axis counts (x, y, z): the image's axes from the last
    coordinates = []
    for i, n in enumerate(sizes):
        c = grid.select(-1, axes - 1 - i)
        coordinates.append((c + 1) * (n - 1) / 2 if align else ((c + 1) * n - 1) / 2)
    each: list[list[tuple[Any, Any]]] = []  # for each axis, (place, weight) of its neighbours
    for x, n in zip(coordinates, sizes, strict=True):
        if mode == "bicubic":
            left = tx.floor(x).detach()
            taps = [_inside(left + o, n, padding, align) for o in (-1, 0, 1, 2)]
            each.append(list(zip(taps, cubic(x - left), strict=True)))
            continue
        x = _inside(x, n, padding, align)
        if mode == "nearest":
            each.append([(tx.round(x), None)])
        else:
            left = tx.floor(x).detach()
            each.append([(left, left + 1 - x), (left + 1, x - left)])
    total = None
    shape = tuple(grid.shape[1:-1])
    for corner in itertools.product(*each):
        pixels, valid = _lookup(flat, [place for place, _ in corner], sizes)
        weight = None
        for _, share in corner:
            weight = share if weight is None else weight * share
        if weight is None:
            weight = tx.ones_like(valid, dtype=input.dtype)
        weight = tx.where(valid, weight, 0).flatten(1).unsqueeze(1)
        total = pixels * weight if total is None else total + pixels * weight
    return total.reshape(*input.shape[:2], *shape).to(dtype)


def _check(op: str, input: Any, grid: Any, mode: str, padding: str) -> None:
    given = f"input is {describe(input)}, grid is {describe(grid)}"
    if input.ndim not in (4, 5) or grid.ndim != input.ndim:
        raise ShapeError(f"{op}: {given}; both must have 4 dimensions, or both 5")
    if grid.shape[0] != input.shape[0] or grid.shape[-1] != input.ndim - 2:
        raise ShapeError(
            f"{op}: {given}; grid must have input's batch and {input.ndim - 2} coordinates last"
        )
    if grid.dtype != input.dtype:
        raise DTypeError(f"{op}: {given}; the dtypes must agree")
    if any(n == 0 for n in input.shape[2:]):
        raise ShapeError(f"{op}: {given}; input must not be empty")
    if mode not in _MODES:
        raise ValueRangeError(f"{op}: mode is {mode!r}; it must be one of {_MODES}")
    if padding not in _PADDINGS:
        raise ValueRangeError(f"{op}: padding_mode is {padding!r}; it must be one of {_PADDINGS}")
    if mode == "bicubic" and input.ndim == 5:
        raise ShapeError(f"{op}: {given}; mode 'bicubic' is for images (4 dimensions) only")


class GridSample(Composite):
    """Values of images (or volumes) at the places that `grid` gives, in coordinates from -1 to 1.

    >>> image = tx.tensor([[[[1.0, 3.0]]]])
    >>> grid = tx.tensor([[[[0.0, 0.0]]]])
    >>> tx.nn.functional.grid_sample(image, grid, align_corners=True)
    tensor([[[[2.]]]])
    """

    signature = (
        "grid_sample(input, grid, mode: str = 'bilinear', padding_mode: str = 'zeros', "
        "align_corners: bool? = None) -> y"
    )
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(input, grid, mode, padding_mode, align_corners):
        _check("grid_sample", input, grid, mode, padding_mode)
        return _sample(input, grid, mode, padding_mode, bool(align_corners))

    reference = slow.grid_sample

    def samples(s):
        x, places = s.real(2, 2, 4, 5), s.real(2, 3, s.m, 2, low=-1.4, high=1.4)
        for padding in _PADDINGS:
            yield Sample(x, places, "bilinear", padding, True)
            yield Sample(x, places, "bicubic", padding, False)
        yield Sample(x, places, "nearest")
        yield Sample(
            s.real(1, 2, 3, 2, 3),
            s.real(1, 2, 2, s.m, 3, low=-1.2, high=1.2),
            "bilinear",
            "reflection",
        )

    def bad(s):
        x, places = s.real(2, 2, 4, 5), s.real(2, 3, 3, 2)
        yield Bad(Sample(x, s.real(1, 3, 3, 2)), ShapeError, "input's batch")
        yield Bad(Sample(x, places, "cubic"), ValueRangeError, "mode is 'cubic'")
        yield Bad(Sample(x, places, padding_mode="wrap"), ValueRangeError, "padding_mode")
        yield Bad(Sample(x[0], places), ShapeError, "4 dimensions")


def _numbered(op: str, input: Any, grid: Any, mode: int, padding: int, align: bool) -> Any:
    if not 0 <= mode < 3 or not 0 <= padding < 3:
        raise ValueRangeError(
            f"{op}: interpolation_mode is {mode}, padding_mode is {padding}; each is 0, 1 or 2"
        )
    _check(op, input, grid, _MODES[mode], _PADDINGS[padding])
    return _sample(input, grid, _MODES[mode], _PADDINGS[padding], align)


def _numbered_reference(input, grid, mode, padding, align):
    return slow.grid_sample(input, grid, _MODES[mode], _PADDINGS[padding], align)


class GridSampler(Composite):
    """`nn.functional.grid_sample` with numbers for the modes.

    >>> image, grid = tx.tensor([[[[1.0, 3.0]]]]), tx.tensor([[[[0.0, 0.0]]]])
    >>> tx.grid_sampler(image, grid, 0, 0, True)
    tensor([[[[2.]]]])
    """

    signature = (
        "grid_sampler(input, grid, interpolation_mode: int, padding_mode: int, "
        "align_corners: bool) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(input, grid, interpolation_mode, padding_mode, align_corners):
        return _numbered(
            "grid_sampler", input, grid, interpolation_mode, padding_mode, align_corners
        )

    reference = _numbered_reference

    def samples(s):
        yield Sample(s.real(2, 2, 4, 5), s.real(2, 3, s.m, 2, low=-1.4, high=1.4), 0, 2, False)


class GridSampler2d(Composite):
    """`grid_sampler` of images.

    >>> image, grid = tx.tensor([[[[1.0, 3.0]]]]), tx.tensor([[[[0.0, 0.0]]]])
    >>> tx.grid_sampler_2d(image, grid, 0, 0, True)
    tensor([[[[2.]]]])
    """

    signature = (
        "grid_sampler_2d(input, grid, interpolation_mode: int, padding_mode: int, "
        "align_corners: bool) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(input, grid, interpolation_mode, padding_mode, align_corners):
        if input.ndim != 4:
            raise ShapeError(f"grid_sampler_2d: input is {describe(input)}; it needs 4 dimensions")
        return _numbered(
            "grid_sampler_2d", input, grid, interpolation_mode, padding_mode, align_corners
        )

    reference = _numbered_reference

    def samples(s):
        yield Sample(s.real(2, 2, 4, 5), s.real(2, 3, s.m, 2, low=-1.4, high=1.4), 0, 1, True)


class GridSampler3d(Composite):
    """`grid_sampler` of volumes.

    >>> volume, grid = tx.tensor([[[[[1.0, 3.0]]]]]), tx.tensor([[[[[0.0, 0.0, 0.0]]]]])
    >>> tx.grid_sampler_3d(volume, grid, 0, 0, True)
    tensor([[[[[2.]]]]])
    """

    signature = (
        "grid_sampler_3d(input, grid, interpolation_mode: int, padding_mode: int, "
        "align_corners: bool) -> y"
    )
    method = False
    dtypes = FLOATS

    def compose(input, grid, interpolation_mode, padding_mode, align_corners):
        if input.ndim != 5:
            raise ShapeError(f"grid_sampler_3d: input is {describe(input)}; it needs 5 dimensions")
        return _numbered(
            "grid_sampler_3d", input, grid, interpolation_mode, padding_mode, align_corners
        )

    reference = _numbered_reference

    def samples(s):
        yield Sample(
            s.real(1, 2, 3, 2, 3), s.real(1, 2, 2, s.m, 3, low=-1.2, high=1.2), 0, 1, False
        )


class AffineGrid(Composite):
    """The places that affine maps `theta` (batch, axes, axes + 1) send the pixels of a size to.

    >>> theta = tx.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> tx.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """

    signature = "affine_grid(theta, size: ints, align_corners: bool? = None) -> y"
    namespace = "nn.functional"
    dtypes = FLOATS

    def compose(theta, size, align_corners):
        op = "affine_grid"
        axes = len(size) - 2
        if axes not in (2, 3):
            raise ShapeError(f"{op}: size is {tuple(size)}; it must have 4 or 5 entries")
        if any(n < 1 for n in size):
            raise ValueRangeError(f"{op}: size is {tuple(size)}; each must be at least 1")
        if theta.ndim != 3 or tuple(theta.shape) != (size[0], axes, axes + 1):
            raise ShapeError(
                f"{op}: theta is {describe(theta)}; for size {tuple(size)} it must be "
                f"[{size[0]},{axes},{axes + 1}]"
            )
        sizes = tuple(size[2:])
        columns = []  # x, y, z, 1
        for i, n in enumerate(sizes):
            line = tx.arange(n, dtype=theta.dtype, device=theta.device)
            if n == 1:
                line = line * 0
            else:
                line = line * 2 / (n - 1) - 1 if align_corners else (line * 2 + 1) / n - 1
            line = line.reshape(*(n if j == i else 1 for j in range(axes))).expand(sizes)
            columns.insert(0, line.flatten())
        columns.append(tx.ones_like(columns[0]))
        base = tx.stack(columns, 1)  # (places, axes + 1)
        grid = tx.matmul(base, theta.transpose(1, 2))
        return grid.reshape(size[0], *sizes, axes)

    reference = slow.affine_grid

    def samples(s):
        yield Sample(s.real(s.n, 2, 3), (s.n, 1, s.m, 3), align_corners=True)
        yield Sample(s.real(2, 2, 3), (2, 1, 4, s.m))
        yield Sample(s.real(2, 3, 4), (2, 1, 3, 2, s.m))

    def bad(s):
        yield Bad(Sample(s.real(2, 2, 2), (2, 1, 3, 3)), ShapeError, "theta is")
        yield Bad(Sample(s.real(2, 2, 3), (2, 1, 0, 3)), ValueRangeError, "at least 1")
