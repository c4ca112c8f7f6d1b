"""Differences and areas of sampled functions: diff, gradient, trapezoid, cumulative_trapezoid."""

from itertools import pairwise

import numpy as np

from thixo.dtype import COMPLEX, FLOATS, INTEGERS, SIGNED, get_default_dtype
from thixo.dtype import bool as bool_
from thixo.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
    ValueRangeError,
    describe,
)
from thixo.ops import public as tx
from thixo.ops.base import Composite
from thixo.ops.reduce_references import along
from thixo.ops.reduce_rules import require_dtype
from thixo.ops.rules import is_tensor
from thixo.ops.samples import Bad, Sample
from thixo.shape import dim_max, normalize_dim, normalize_dims


def _part(x, dim, start, length):
    return tx.narrow(x, dim, start, length)


# ---- differences


class Diff(Composite):
    """The n-th difference of neighbours along an axis; of bools, whether they differ.

    >>> tx.diff(tx.tensor([1, 4, 9, 16]))
    tensor([3, 5, 7])
    """

    signature = "diff(input, n: int = 1, dim: int = -1, prepend: tensor? = None, append: tensor? = None) -> y"

    def compose(input, n, dim, prepend, append):
        if input.ndim == 0:
            raise ShapeError(f"diff: input is {describe(input)}; needs at least one axis")
        if n < 0:
            raise ValueRangeError(f"diff: n is {n}; needs a number of differences, 0 or more")
        d = normalize_dim(dim, input.ndim, "diff")
        if n == 0:
            return tx.clone(input)
        for name, extra in (("prepend", prepend), ("append", append)):
            _check_extra(name, extra, input, d)
        parts = [x for x in (prepend, input, append) if x is not None]
        y = tx.cat(parts, d) if len(parts) > 1 else input
        subtract = tx.logical_xor if y.dtype is bool_ else tx.sub
        for _ in range(n):
            size = y.shape[d]
            if size == 0:
                return y if y is not input else tx.clone(y)
            y = subtract(_part(y, d, 1, size - 1), _part(y, d, 0, size - 1))
        return y

    def reference(input, n, dim, prepend, append):
        parts = [x for x in (prepend, input, append) if x is not None and (n or x is input)]

        def differences(values):
            for _ in range(n):
                pairs = pairwise(values)
                values = [a != b if isinstance(a, bool) else b - a for a, b in pairs]
            return values

        array = np.concatenate(parts, dim)
        length = max(array.shape[dim] - n, 0)
        if array.size == 0 or length == 0:
            shape = list(array.shape)
            shape[dim] = length
            return np.zeros(shape, array.dtype)
        return along(array, dim, differences).astype(array.dtype)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m), 2, 1)
        yield Sample(s.real(s.n, s.m), 1, -2)
        yield Sample(s.real(s.n, s.m), 0)
        yield Sample(s.real(2, 3), 5)
        yield Sample(s.real(0, 3), 1, 0)
        yield Sample(s.real(s.n, s.m), 1, 1, s.real(s.n, 2))
        yield Sample(s.real(s.n, s.m), 2, 0, s.real(1, s.m), s.real(2, s.m))

    def bad(s):
        yield Bad(Sample(s.real()), ShapeError, "needs at least one axis")
        yield Bad(Sample(s.real(3), -1), ValueRangeError, "n is -1")
        yield Bad(Sample(s.real(2, 3), prepend=s.real(3)), ShapeError, "prepend is")
        yield Bad(Sample(s.real(2, 3), append=s.real(3, 1)), ShapeError, "append is")


def _check_extra(name, extra, input, d):
    if extra is None:
        return
    fits = extra.ndim == input.ndim and all(
        i == d or a == b for i, (a, b) in enumerate(zip(extra.shape, input.shape, strict=True))
    )
    if not fits:
        raise ShapeError(
            f"diff: {name} is {describe(extra)}, input is {describe(input)}; "
            f"needs the same sizes but along axis {d}"
        )


class Gradient(Composite):
    """Estimates of the derivative along each axis (of `dim`) by central differences.

    >>> tx.gradient(tx.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """

    signature = (
        "gradient(input, *, spacing: any = None, dim: ints? = None, edge_order: int = 1) -> tensors"
    )
    method = False
    dtypes = SIGNED + FLOATS + COMPLEX

    def compose(input, spacing, dim, edge_order):
        require_dtype("gradient", input, Gradient.dtypes)
        dims = normalize_dims(dim, input.ndim, "gradient")
        if edge_order not in (1, 2):
            raise ValueRangeError(f"gradient: edge_order is {edge_order}; needs 1 or 2")
        for d in dims:
            if input.ndim == 0 or input.shape[d] < edge_order + 1:
                raise ShapeError(
                    f"gradient: input is {describe(input)}; needs at least {edge_order + 1} elements "
                    f"along axis {d} for edge_order {edge_order}"
                )
        steps = _spacings(input, spacing, dims)
        x = input if input.dtype.kind in "fc" else input.to(get_default_dtype())
        return tuple(
            _derivative(x, d, step, edge_order) for d, step in zip(dims, steps, strict=True)
        )

    def reference(input, spacing, dim, edge_order):
        dims = range(input.ndim) if dim is None else dim
        if spacing is None:
            spacing = [1.0] * len(dims)
        elif not isinstance(spacing, list | tuple):
            spacing = [spacing] * len(dims)
        return [
            np.gradient(input, np.asarray(h) if np.ndim(h) else h, axis=d, edge_order=edge_order)
            for d, h in zip(dims, spacing, strict=True)
        ]

    def samples(s):
        yield Sample(s.real(s.n + 1))
        yield Sample(s.real(s.n + 1, s.m + 1), edge_order=2)
        yield Sample(s.real(s.n + 1, s.m + 1), spacing=0.5, dim=(1,))
        yield Sample(s.real(s.n + 1, s.m + 1), spacing=[0.5, 2.0], dim=(1, 0), edge_order=2)
        if s.dtype.kind == "f":
            grid = [s.array([0.0, 0.5, 1.5, 1.75]), s.array([1.0, 3.0, 3.5])]
            yield Sample(s.real(4, 3), spacing=grid)
            yield Sample(s.real(4, 3), spacing=grid, edge_order=2)

    def bad(s):
        yield Bad(Sample(s.real(3, 3), edge_order=3), ValueRangeError, "edge_order is 3")
        yield Bad(Sample(s.real(3, 1)), ShapeError, "needs at least 2 elements along axis 1")
        yield Bad(Sample(s.real(3, 3), dim=(1, 1)), ValueRangeError, "names an axis twice")
        yield Bad(Sample(s.real(3, 3), dim=3), IndexOutOfRange, "dim 3 is out of range")
        yield Bad(
            Sample(s.real(3, 3), spacing=[0.1]), ArgumentError, "needs one for each of 2 axes"
        )
        yield Bad(Sample(s.real(3), spacing="wide"), ArgumentError, "spacing is")


def _spacings(input, spacing, dims):
    if spacing is None:
        return [1] * len(dims)
    if isinstance(spacing, int | float | complex) and not isinstance(spacing, bool):
        return [spacing] * len(dims)
    if not isinstance(spacing, list | tuple):
        raise ArgumentError(
            f"gradient: spacing is {describe(spacing)}; needs a number, a list of numbers or a list "
            "of 1-d tensors"
        )
    if len(spacing) != len(dims):
        raise ArgumentError(
            f"gradient: spacing has {len(spacing)} entries; needs one for each of {len(dims)} axes"
        )
    for d, step in zip(dims, spacing, strict=True):
        if is_tensor(step) and (step.ndim != 1 or step.shape[0] != input.shape[d]):
            raise ShapeError(
                f"gradient: the coordinates along axis {d} are {describe(step)}; needs one axis of "
                f"size {input.shape[d]}"
            )
    return list(spacing)


def _derivative(x, d, step, edge_order):
    size = x.shape[d]

    def at(start, length=1):
        return _part(x, d, start, length)

    if not is_tensor(step):
        inner = (at(2, size - 2) - at(0, size - 2)) / (2 * step)
        if edge_order == 1:
            first, last = (at(1) - at(0)) / step, (at(size - 1) - at(size - 2)) / step
        else:
            first = (-1.5 * at(0) + 2 * at(1) - 0.5 * at(2)) / step
            last = (1.5 * at(size - 1) - 2 * at(size - 2) + 0.5 * at(size - 3)) / step
        return tx.cat((first, inner, last), d)

    # Uneven steps: the parabola through three neighbours, with steps h before and k after the middle.
    shape = [1] * x.ndim
    shape[d] = size - 1
    steps = tx.reshape(tx.diff(step), tuple(shape))

    def gap(start, length=1):
        return _part(steps, d, start, length)

    h, k = gap(0, size - 2), gap(1, size - 2)
    inner = (
        -k / (h * (h + k)) * at(0, size - 2)
        + (k - h) / (h * k) * at(1, size - 2)
        + h / (k * (h + k)) * at(2, size - 2)
    )
    if edge_order == 1:
        first = (at(1) - at(0)) / gap(0)
        last = (at(size - 1) - at(size - 2)) / gap(size - 2)
    else:
        h, k = gap(0), gap(1)
        first = (
            -(2 * h + k) / (h * (h + k)) * at(0)
            + (h + k) / (h * k) * at(1)
            - h / (k * (h + k)) * at(2)
        )
        h, k = gap(size - 3), gap(size - 2)
        last = (
            k / (h * (h + k)) * at(size - 3)
            - (h + k) / (h * k) * at(size - 2)
            + (2 * k + h) / (k * (h + k)) * at(size - 1)
        )
    return tx.cat((first, inner, last), d)


# ---- areas


def _panels(op, y, x, dx, dim):
    """The area under each step of a polygon along an axis, and that axis; y's last size less one."""
    if y.dtype is bool_:
        raise DTypeError(f"{op}: y is {describe(y)}; needs a numeric dtype")
    if y.ndim == 0:
        raise ShapeError(f"{op}: y is {describe(y)}; needs at least one axis")
    d = normalize_dim(dim, y.ndim, op)
    size = y.shape[d]
    panels = dim_max(size - 1, 0)
    after = dim_max(size - panels, 0)  # 1, and 0 where there is nothing at all
    heights = _part(y, d, after, panels) + _part(y, d, 0, panels)
    if x is None:
        return heights * (dx / 2), d
    if x.dtype is bool_:
        raise DTypeError(f"{op}: x is {describe(x)}; needs a numeric dtype")
    axis_of_x = 0 if x.ndim == 1 else x.ndim - y.ndim + d
    if x.ndim == 0 or axis_of_x < 0 or x.shape[axis_of_x] != size:
        raise ShapeError(
            f"{op}: x is {describe(x)}, y is {describe(y)}; needs one x for each of the {size} samples "
            f"along axis {d}"
        )
    widths = _part(x, axis_of_x, after, panels) - _part(x, axis_of_x, 0, panels)
    if x.ndim == 1:
        widths = tx.reshape(widths, (panels, *([1] * (y.ndim - d - 1))))
    return heights * widths / 2, d + max(x.ndim - y.ndim, 0)


def _area_reference(y, x, dx, dim, cumulative):
    if x is not None and x.ndim == 1 and y.ndim > 1:
        x = x.reshape([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)])
    if x is not None:
        y, x = np.broadcast_arrays(y, x)
    size = y.shape[dim]
    rows = np.moveaxis(y, dim, -1)
    places = np.arange(size) * dx if x is None else np.moveaxis(x, dim, -1)
    places = np.broadcast_to(places, rows.shape)
    kind = np.result_type(rows, places, np.float64)
    found = np.zeros((*rows.shape[:-1], max(size - 1, 0)), kind)
    for i in np.ndindex(*rows.shape[:-1]):
        area = 0
        for j in range(size - 1):
            area += (rows[i][j] + rows[i][j + 1]) * (places[i][j + 1] - places[i][j]) / 2
            found[(*i, j)] = area
    if cumulative:
        return np.moveaxis(found, -1, dim)
    return found[..., -1] if size > 1 else np.zeros(found.shape[:-1], kind)


def _area_samples(s):
    yield Sample(s.real(s.n))
    yield Sample(s.real(s.n, s.m), dx=0.5, dim=0)
    yield Sample(s.real(s.n, s.m), dx=2)
    yield Sample(s.real(s.n, s.m), s.real(s.m))
    yield Sample(s.real(s.n, s.m), s.real(s.n), dim=0)
    yield Sample(s.real(s.n, s.m), s.real(1, s.m), dim=1)
    yield Sample(s.real(s.n, s.m, s.k), s.real(s.m, s.k), dim=-2)
    yield Sample(s.real(s.n, s.m), s.real(s.k, s.n, s.m))
    yield Sample(s.real(1))
    yield Sample(s.real(3, 0))


def _area_bad(s):
    yield Bad(Sample(s.real()), ShapeError, "needs at least one axis")
    yield Bad(Sample(s.real(3), s.real(2)), ShapeError, "needs one x for each of the 3 samples")
    yield Bad(Sample(s.bools(3)), DTypeError, "")


class Trapezoid(Composite):
    """The area under a polygon through the points (x, y), or through y at steps of `dx`.

    >>> tx.trapezoid(tx.tensor([1.0, 2.0, 4.0]))
    tensor(4.5000)
    """

    signature = "trapezoid(y, x: tensor? = None, *, dx: scalar = 1, dim: int = -1) -> area"
    aliases = ("trapz",)
    method = False
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(y, x, dx, dim):
        panels, d = _panels("trapezoid", y, x, dx, dim)
        return tx.sum(panels, d)

    def reference(y, x, dx, dim):
        return _area_reference(y, x, dx, dim, False)

    samples = _area_samples
    bad = _area_bad


class CumulativeTrapezoid(Composite):
    """The area under a polygon up to each of its points but the first.

    >>> tx.cumulative_trapezoid(tx.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])
    """

    signature = (
        "cumulative_trapezoid(y, x: tensor? = None, *, dx: scalar = 1, dim: int = -1) -> area"
    )
    method = False
    dtypes = INTEGERS + FLOATS + COMPLEX

    def compose(y, x, dx, dim):
        panels, d = _panels("cumulative_trapezoid", y, x, dx, dim)
        return tx.cumsum(panels, d)

    def reference(y, x, dx, dim):
        return _area_reference(y, x, dx, dim, True)

    samples = _area_samples
    bad = _area_bad
