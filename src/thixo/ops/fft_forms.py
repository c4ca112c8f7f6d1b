"""Fourier transforms over one and over two axes, and what goes with them: frequencies and shifts."""

from typing import Any

import numpy as np

from thixo.dtype import get_default_dtype
from thixo.errors import DTypeError, IndexOutOfRange, ValueRangeError, describe
from thixo.ops import fft_references as slow
from thixo.ops import public as tx
from thixo.ops.base import Composite, Creation, Spec
from thixo.ops.fft import (
    REALS,
    TAKES,
    axes_and_sizes,
    check_norm,
    check_sizes,
    half_axes,
    require_real,
)
from thixo.ops.loops import build
from thixo.ops.samples import Bad, Sample
from thixo.shape import normalize_dims

# ---- one axis


def _one_axis(op: str, transform: Any, input: Any, n: Any, dim: int, norm: Any) -> Any:
    """The transform over several axes, given one; wrong arguments are refused in the user's words."""
    check_norm(op, norm)
    s = None if n is None else (n,)
    if n is not None and n < 1:
        raise ValueRangeError(f"{op}: n is {n}; there must be at least 1 point to transform")
    if op in ("fft.irfft", "fft.hfft"):
        half_axes(op, input, s, (dim,))
    else:
        check_sizes(op, input, axes_and_sizes(op, input, s, (dim,))[1])
    if op in ("fft.rfft", "fft.ihfft"):
        require_real(op, input)
    return transform(input, s, (dim,), norm)


def _one_axis_samples(s):
    yield Sample(s.real(s.n))
    yield Sample(s.real(s.n, s.m), dim=0, norm="ortho")
    yield Sample(s.real(s.n, 4), n=7, norm="forward")
    yield Sample(s.real(6, s.m), n=4, dim=-2, norm="backward")


def _one_axis_bad(s):
    yield Bad(Sample(s.real(3), norm="x"), ValueRangeError, "norm is 'x'")
    yield Bad(Sample(s.real(3), n=0), ValueRangeError, "at least 1 point")
    yield Bad(Sample(s.real(3), dim=1), IndexOutOfRange, "dim 1")
    yield Bad(Sample(s.real()), IndexOutOfRange, "has no axes")


class Fft(Composite):
    """The discrete Fourier transform along an axis.

    >>> tx.fft.fft(tx.ones(4)).real
    tensor([4., 0., 0., 0.])
    """

    signature = "fft(input, n: int? = None, dim: int = -1, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, n, dim, norm):
        return _one_axis("fft.fft", tx.fft.fftn, input, n, dim, norm)

    reference = slow.one_axis(slow.fftn)
    samples = _one_axis_samples
    bad = _one_axis_bad


class Ifft(Composite):
    """The inverse of `fft.fft`.

    >>> tx.fft.ifft(tx.fft.fft(tx.ones(3))).real
    tensor([1., 1., 1.])
    """

    signature = "ifft(input, n: int? = None, dim: int = -1, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, n, dim, norm):
        return _one_axis("fft.ifft", tx.fft.ifftn, input, n, dim, norm)

    reference = slow.one_axis(slow.ifftn)
    samples = _one_axis_samples
    bad = _one_axis_bad


class Rfft(Composite):
    """The transform of real input along an axis: the half of it that is not a mirror image.

    >>> tx.fft.rfft(tx.ones(4)).real
    tensor([4., 0., 0.])
    """

    signature = "rfft(input, n: int? = None, dim: int = -1, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = REALS

    def compose(input, n, dim, norm):
        return _one_axis("fft.rfft", tx.fft.rfftn, input, n, dim, norm)

    reference = slow.one_axis(slow.rfftn)
    samples = _one_axis_samples
    bad = _one_axis_bad


class Irfft(Composite):
    """The inverse of `fft.rfft`; the result has 2 (size - 1) points unless `n` says otherwise.

    >>> tx.fft.irfft(tx.fft.rfft(tx.ones(4)))
    tensor([1., 1., 1., 1.])
    """

    signature = "irfft(input, n: int? = None, dim: int = -1, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, n, dim, norm):
        return _one_axis("fft.irfft", tx.fft.irfftn, input, n, dim, norm)

    reference = slow.one_axis(slow.irfftn)
    samples = _one_axis_samples
    bad = _one_axis_bad


class Hfft(Composite):
    """The (real) transform of a signal that mirrors itself, conjugated, given half of it.

    >>> tx.fft.hfft(tx.ones(3))
    tensor([4., 0., 0., 0.])
    """

    signature = "hfft(input, n: int? = None, dim: int = -1, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, n, dim, norm):
        return _one_axis("fft.hfft", tx.fft.hfftn, input, n, dim, norm)

    reference = slow.one_axis(slow.hfftn)
    samples = _one_axis_samples
    bad = _one_axis_bad


class Ihfft(Composite):
    """The inverse of `fft.hfft`: half of the inverse transform of real input.

    >>> tx.fft.ihfft(tx.ones(4)).real
    tensor([1., 0., 0.])
    """

    signature = "ihfft(input, n: int? = None, dim: int = -1, norm: str? = None) -> y"
    namespace = "fft"
    dtypes = REALS

    def compose(input, n, dim, norm):
        return _one_axis("fft.ihfft", tx.fft.ihfftn, input, n, dim, norm)

    reference = slow.one_axis(slow.ihfftn)
    samples = _one_axis_samples
    bad = _one_axis_bad


# ---- two axes


def _two_axes(op: str, transform: Any, input: Any, s: Any, dim: Any, norm: Any) -> Any:
    check_norm(op, norm)
    if op in ("fft.irfft2", "fft.hfft2"):
        half_axes(op, input, s, dim)
    else:
        check_sizes(op, input, axes_and_sizes(op, input, s, dim)[1])
    if op in ("fft.rfft2", "fft.ihfft2"):
        require_real(op, input)
    return transform(input, s, dim, norm)


def _two_axes_samples(s):
    yield Sample(s.real(s.n, s.m))
    yield Sample(s.real(s.n, s.m, s.k), dim=(0, 2), norm="ortho")
    yield Sample(s.real(s.k, 4, 3), s=(3, 5), norm="forward")
    yield Sample(s.real(4, s.k, 6), s=(-1, 4), dim=(0, -1), norm="backward")


def _two_axes_bad(s):
    yield Bad(Sample(s.real(3, 3), norm="x"), ValueRangeError, "norm is 'x'")
    yield Bad(Sample(s.real(3)), IndexOutOfRange, "dim -2")
    yield Bad(Sample(s.real(3, 3), dim=(0, 0)), ValueRangeError, "names an axis twice")


class Fft2(Composite):
    """The discrete Fourier transform over two axes, the last ones by default.

    >>> tx.fft.fft2(tx.ones(2, 2)).real
    tensor([[4., 0.],
            [0., 0.]])
    """

    signature = "fft2(input, s: ints? = None, dim: ints = (-2, -1), norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, s, dim, norm):
        return _two_axes("fft.fft2", tx.fft.fftn, input, s, dim, norm)

    reference = slow.fftn
    samples = _two_axes_samples
    bad = _two_axes_bad


class Ifft2(Composite):
    """The inverse of `fft.fft2`.

    >>> tx.fft.ifft2(tx.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """

    signature = "ifft2(input, s: ints? = None, dim: ints = (-2, -1), norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, s, dim, norm):
        return _two_axes("fft.ifft2", tx.fft.ifftn, input, s, dim, norm)

    reference = slow.ifftn
    samples = _two_axes_samples
    bad = _two_axes_bad


class Rfft2(Composite):
    """The transform of real input over two axes, half of the last one.

    >>> tx.fft.rfft2(tx.ones(2, 4)).shape
    Size([2, 3])
    """

    signature = "rfft2(input, s: ints? = None, dim: ints = (-2, -1), norm: str? = None) -> y"
    namespace = "fft"
    dtypes = REALS

    def compose(input, s, dim, norm):
        return _two_axes("fft.rfft2", tx.fft.rfftn, input, s, dim, norm)

    reference = slow.rfftn
    samples = _two_axes_samples
    bad = _two_axes_bad


class Irfft2(Composite):
    """The inverse of `fft.rfft2`.

    >>> tx.fft.irfft2(tx.ones(2, 3)).shape
    Size([2, 4])
    """

    signature = "irfft2(input, s: ints? = None, dim: ints = (-2, -1), norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, s, dim, norm):
        return _two_axes("fft.irfft2", tx.fft.irfftn, input, s, dim, norm)

    reference = slow.irfftn
    samples = _two_axes_samples
    bad = _two_axes_bad


class Hfft2(Composite):
    """The (real) transform over two axes of a signal given by half of its last axis.

    >>> tx.fft.hfft2(tx.ones(2, 3)).shape
    Size([2, 4])
    """

    signature = "hfft2(input, s: ints? = None, dim: ints = (-2, -1), norm: str? = None) -> y"
    namespace = "fft"
    dtypes = TAKES

    def compose(input, s, dim, norm):
        return _two_axes("fft.hfft2", tx.fft.hfftn, input, s, dim, norm)

    reference = slow.hfftn
    samples = _two_axes_samples
    bad = _two_axes_bad


class Ihfft2(Composite):
    """The inverse of `fft.hfft2`.

    >>> tx.fft.ihfft2(tx.ones(2, 4)).shape
    Size([2, 3])
    """

    signature = "ihfft2(input, s: ints? = None, dim: ints = (-2, -1), norm: str? = None) -> y"
    namespace = "fft"
    dtypes = REALS

    def compose(input, s, dim, norm):
        return _two_axes("fft.ihfft2", tx.fft.ihfftn, input, s, dim, norm)

    reference = slow.ihfftn
    samples = _two_axes_samples
    bad = _two_axes_bad


# ---- frequencies


def _frequency_type(op: str, n: Any, d: float, dtype: Any) -> Any:
    if n < 0:
        raise ValueRangeError(f"{op}: n is {n}; it must not be negative")
    if d == 0:
        raise ValueRangeError(f"{op}: d is 0; the distance between samples must not be")
    dtype = get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise DTypeError(f"{op}: dtype is {dtype.name}; it must be floating point")
    return dtype


class Fftfreq(Creation):
    """The frequency of each point of `fft.fft`, for samples a distance d apart.

    >>> tx.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """

    signature = (
        "fftfreq(n: int, d: float = 1.0, *, dtype: dtype? = None, device: device? = None, "
        "requires_grad: bool = False) -> y"
    )
    namespace = "fft"

    def infer(n, d, dtype, device, requires_grad):
        return Spec((n,), _frequency_type("fft.fftfreq", n, d, dtype))

    def kernel(n, d, dtype, device, requires_grad):
        return np.fft.fftfreq(n, d) if n else np.empty(0)

    def reference(n, d, dtype, device, requires_grad):
        return build((n,), float, lambda i: (i[0] if 2 * i[0] < n else i[0] - n) / (n * d))

    def samples(s):
        yield Sample(s.n)
        yield Sample(7, d=0.5)
        yield Sample(0)

    def bad(s):
        yield Bad(Sample(-1), ValueRangeError, "must not be negative")


class Rfftfreq(Creation):
    """The frequency of each point of `fft.rfft`, for samples a distance d apart.

    >>> tx.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """

    signature = (
        "rfftfreq(n: int, d: float = 1.0, *, dtype: dtype? = None, device: device? = None, "
        "requires_grad: bool = False) -> y"
    )
    namespace = "fft"

    def infer(n, d, dtype, device, requires_grad):
        return Spec((n // 2 + 1,), _frequency_type("fft.rfftfreq", n, d, dtype))

    def kernel(n, d, dtype, device, requires_grad):
        with np.errstate(all="ignore"):
            return np.arange(n // 2 + 1) / np.float64(n * d)

    def reference(n, d, dtype, device, requires_grad):
        return build((n // 2 + 1,), float, lambda i: i[0] / n / d)

    def samples(s):
        yield Sample(s.n)
        yield Sample(7, d=0.5)
        yield Sample(1)

    def bad(s):
        yield Bad(Sample(-1), ValueRangeError, "must not be negative")


# ---- shifts


def _shifted(op: str, input: Any, dim: Any, back: bool) -> Any:
    if dim is not None and dim and input.ndim == 0:
        raise IndexOutOfRange(f"{op}: dim is {dim}, but input, {describe(input)}, has no axes")
    dims = normalize_dims(dim, input.ndim, op)
    sizes = [input.shape[d] for d in dims]
    if not dims:
        return input.clone()
    return tx.roll(input, [(n + 1) // 2 if back else n // 2 for n in sizes], dims)


class Fftshift(Composite):
    """A spectrum with its zero frequency moved to the middle of each axis.

    >>> tx.fft.fftshift(tx.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """

    signature = "fftshift(input, dim: ints? = None) -> y"
    namespace = "fft"

    def compose(input, dim):
        return _shifted("fft.fftshift", input, dim, back=False)

    def reference(input, dim):
        return np.fft.fftshift(input, dim)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m, s.k), dim=(0, -1))

    def bad(s):
        yield Bad(Sample(s.real(3), dim=1), IndexOutOfRange, "dim 1")


class Ifftshift(Composite):
    """The inverse of `fft.fftshift`.

    >>> tx.fft.ifftshift(tx.fft.fftshift(tx.arange(5)))
    tensor([0, 1, 2, 3, 4])
    """

    signature = "ifftshift(input, dim: ints? = None) -> y"
    namespace = "fft"

    def compose(input, dim):
        return _shifted("fft.ifftshift", input, dim, back=True)

    def reference(input, dim):
        return np.fft.ifftshift(input, dim)

    def samples(s):
        yield Sample(s.real(s.n))
        yield Sample(s.real(s.n, s.m))
        yield Sample(s.real(s.n, s.m, s.k), dim=(0, -1))

    def bad(s):
        yield Bad(Sample(s.real(3), dim=1), IndexOutOfRange, "dim 1")
