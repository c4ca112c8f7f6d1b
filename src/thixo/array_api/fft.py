"""The Fourier transform extension."""

from collections.abc import Sequence
from typing import Any, Literal

from thixo.dtype import DType
from thixo.ops import public as tx
from thixo.tensor import Tensor

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip

Norm = Literal["backward", "ortho", "forward"]
Axes = int | Sequence[int] | None


# ---- one axis


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The Fourier transform along an axis, cut or filled with zeros to n elements.

    >>> xp.fft.fft(xp.asarray([1.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """
    return tx.fft.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `fft`.

    >>> xp.fft.ifft(xp.fft.fft(xp.asarray([1.0, 2.0])))
    tensor([1.+0.j, 2.+0.j])
    """
    return tx.fft.ifft(x, n, axis, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The Fourier transform of real elements: the half that says it all.

    >>> xp.fft.rfft(xp.ones(4)).shape
    Size([3])
    """
    return tx.fft.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `rfft`; n says how many elements there were, an even number by default.

    >>> xp.fft.irfft(xp.fft.rfft(xp.asarray([1.0, 2.0, 3.0, 4.0])))
    tensor([1., 2., 3., 4.])
    """
    return tx.fft.irfft(x, n, axis, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The Fourier transform of elements whose second half mirrors the first; the result is real.

    >>> xp.fft.hfft(xp.asarray([1.0 + 0j, 1.0 + 0j]))
    tensor([2., 0.])
    """
    return tx.fft.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `hfft`.

    >>> xp.fft.hfft(xp.fft.ihfft(xp.asarray([2.0, 0.0])))
    tensor([2., 0.])
    """
    return tx.fft.ihfft(x, n, axis, norm)


# ---- several axes


def fftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor:
    """The Fourier transform along several axes, or all, cut or filled to the sizes s.

    >>> xp.fft.fftn(xp.ones((2, 2)))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """
    return tx.fft.fftn(x, s, axes, norm)


def ifftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor:
    """The inverse of `fftn`.

    >>> xp.fft.ifftn(xp.fft.fftn(xp.ones((1, 2))))
    tensor([[1.+0.j, 1.+0.j]])
    """
    return tx.fft.ifftn(x, s, axes, norm)


def rfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor:
    """The Fourier transform of real elements along several axes; the last one gives its half.

    >>> xp.fft.rfftn(xp.ones((4, 4))).shape
    Size([4, 3])
    """
    return tx.fft.rfftn(x, s, axes, norm)


def irfftn(
    x: Tensor, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: Norm = "backward"
) -> Tensor:
    """The inverse of `rfftn`.

    >>> xp.fft.irfftn(xp.fft.rfftn(xp.ones((1, 2))))
    tensor([[1., 1.]])
    """
    return tx.fft.irfftn(x, s, axes, norm)


# ---- frequencies and their order


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of a transform of n samples at distances d.

    >>> xp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return tx.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """The frequencies of the elements that `rfft` gives for n samples at distances d.

    >>> xp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return tx.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: Axes = None) -> Tensor:
    """The transform with frequency zero in the middle.

    >>> xp.fft.fftshift(xp.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return tx.fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: Axes = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> xp.fft.ifftshift(xp.asarray([1, 2, 3]))
    tensor([2, 3, 1])
    """
    return tx.fft.ifftshift(x, axes)
