"""The Python array API standard, version 2024.12, with Thixo's tensors as its arrays."""

# Written by tools/build_stubs.py from the operator table: do not edit.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from thixo._core._native import Generator as Generator, Tensor as Tensor
from thixo.device import device as Device
from thixo.dtype import DType as DType
from thixo.array_api import fft as fft, linalg as linalg
from thixo.array_api.creation import *
from thixo.array_api.data_types import *
from thixo.array_api.elementwise import *
from thixo.array_api.manipulation import *
from thixo.array_api.searching import *
from thixo.array_api.statistical import *
from thixo.array_api.info import Info
from thixo.array_api.linalg import matmul as matmul, matrix_transpose as matrix_transpose, tensordot as tensordot, vecdot as vecdot

_Number = _float | _complex  # an int or a bool is one too

VERSIONS: tuple[_str, ...]
__array_api_version__: _str
e: _float
inf: _float
nan: _float
pi: _float
newaxis: None
bool: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float32: DType
float64: DType
complex64: DType
complex128: DType
def __array_namespace_info__() -> Info: ...
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value; the modulus of a complex number, which is real."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose cosine is input; NaN outside [-1, 1]."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic cosine is input; NaN below 1."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose sine is input; NaN outside [-1, 1]."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic sine is input."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose tangent is input."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
def bitwise_invert(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit changed; logical not for booleans."""
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number that is not below input."""
def conj(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; a real input is returned itself."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine of an angle in radians."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of input."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is not above input."""
def imag(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The imaginary part, which shares memory with the input."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is neither infinite nor NaN."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is infinite, or a part of it for a complex one."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is NaN."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm; NaN for negative real numbers, -inf at 0."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact for small input."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is zero."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number with its sign changed."""
def positive(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input itself; booleans are refused."""
def real(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The real part, which shares memory with a complex input; a real input is returned itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the number; integers give floats."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign bit is set, as it is for -0.0."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine of an angle in radians."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root; NaN for negative real numbers."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input times itself; booleans become integers."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent of an angle in radians."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input without its fractional part."""
