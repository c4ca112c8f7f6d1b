"""Discrete Fourier transforms."""

# Written by tools/build_stubs.py from the operator table: do not edit.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from thixo._core._native import Generator as Generator, Tensor as Tensor
from thixo.device import device as Device
from thixo.dtype import DType as DType

_Number = _float | _complex  # an int or a bool is one too

def fft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The discrete Fourier transform along an axis."""
def fft2(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The discrete Fourier transform over two axes, the last ones by default."""
def fftfreq(n: _int, d: _float = 1.0, *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The frequency of each point of `fft.fft`, for samples a distance d apart."""
def fftn(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The discrete Fourier transform over several axes (all, if none are named)."""
def fftshift(input: Tensor, dim: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """A spectrum with its zero frequency moved to the middle of each axis."""
def hfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The (real) transform of a signal that mirrors itself, conjugated, given half of it."""
def hfft2(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The (real) transform over two axes of a signal given by half of its last axis."""
def hfftn(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The transform of half a signal whose other half mirrors it, conjugated: it is real."""
def ifft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.fft`."""
def ifft2(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.fft2`."""
def ifftn(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.fftn`."""
def ifftshift(input: Tensor, dim: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.fftshift`."""
def ihfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.hfft`: half of the inverse transform of real input."""
def ihfft2(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.hfft2`."""
def ihfftn(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """Half of the inverse transform of real input: the inverse of `fft.hfftn`."""
def irfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.rfft`; the result has 2 (size - 1) points unless `n` says otherwise."""
def irfft2(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft.rfft2`."""
def irfftn(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real tensor whose half spectrum the input is: the inverse of `fft.rfftn`."""
def rfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The transform of real input along an axis: the half of it that is not a mirror image."""
def rfft2(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] = (-2, -1), norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The transform of real input over two axes, half of the last one."""
def rfftfreq(n: _int, d: _float = 1.0, *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The frequency of each point of `fft.rfft`, for samples a distance d apart."""
def rfftn(input: Tensor, s: _int | Sequence[_int] | None = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The transform of real input: half of the last axis, since the other half mirrors it."""
