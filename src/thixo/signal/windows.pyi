"""Windows: weights that fade a stretch of samples out at its ends."""

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

def bartlett(M: _int, *, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """A triangle from 0 to 1 and back."""
def blackman(M: _int, *, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Blackman's window: two cosines."""
def cosine(M: _int, *, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Half a wave of the sine, which comes near 0 but not to it."""
def exponential(M: _int, *, center: _float | None = None, tau: _float = 1.0, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """exp(-|i - center| / tau); the center is the middle unless `sym` is False."""
def gaussian(M: _int, *, std: _float = 1.0, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The bell curve of standard deviation `std`, in weights."""
def general_cosine(M: _int, *, a: Any, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """A sum of cosines with the weights `a`: a[0] - a[1] cos(t) + a[2] cos(2 t) - ..."""
def general_hamming(M: _int, *, alpha: _float = 0.54, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """alpha less (1 - alpha) cosines: Hamming's window for 0.54, Hann's for 0.5."""
def hamming(M: _int, *, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Hamming's window: one cosine, which ends at 0.08."""
def hann(M: _int, *, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Hann's window: one cosine, which ends at 0."""
def kaiser(M: _int, *, beta: _float = 12.0, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Kaiser's window, narrow in frequency; the larger `beta`, the faster it fades."""
def nuttall(M: _int, *, sym: _bool = True, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Nuttall's window with a continuous first derivative: three cosines."""
