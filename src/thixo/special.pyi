"""Special functions of mathematics."""

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

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind, order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind, order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind, order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind, order 1."""
def chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the first kind of degree n."""
def chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the second kind of degree n."""
def chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the third kind of degree n."""
def chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the fourth kind of degree n."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma."""
def digamma_(input: Tensor) -> Tensor:
    """Derivative of lgamma."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Entropy of one probability: -input * log(input), 0 at 0, -inf below."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function."""
def erf_(input: Tensor) -> Tensor:
    """Error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfc_(input: Tensor) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input**2) * erfc(input), which does not underflow."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose erf is input; infinite at -1 and 1, NaN beyond."""
def erfinv_(input: Tensor) -> Tensor:
    """The number whose erf is input; infinite at -1 and 1, NaN beyond."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of input."""
def exp2_(input: Tensor) -> Tensor:
    """2 to the power of input."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function 1 / (1 + exp(-input))."""
def expit_(input: Tensor) -> Tensor:
    """The logistic function 1 / (1 + exp(-input))."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, exact for small input."""
def expm1_(input: Tensor) -> Tensor:
    """exp(input) - 1, exact for small input."""
def gammainc(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Lower incomplete gamma function of input up to other, as a part of the whole."""
def gammainc_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Lower incomplete gamma function of input up to other, as a part of the whole."""
def gammaincc(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Upper incomplete gamma function of input from other on, as a part of the whole."""
def gammaincc_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Upper incomplete gamma function of input from other on, as a part of the whole."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def gammaln_(input: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def hermite_polynomial_h(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Physicist's Hermite polynomial of degree n."""
def hermite_polynomial_he(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Probabilist's Hermite polynomial of degree n."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def i0_(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i0 scaled by exp(-|input|)."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """i1 scaled by exp(-|input|)."""
def laguerre_polynomial_l(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Laguerre polynomial of degree n."""
def legendre_polynomial_p(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Legendre polynomial of degree n."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact for small input."""
def log1p_(input: Tensor) -> Tensor:
    """log(1 + input), exact for small input."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of ndtr(input), which does not underflow."""
def log_softmax(input: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax along an axis, without a detour through small numbers."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given."""
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials along the axes `dim`, without overflow."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def modified_bessel_i0_(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind, order 1."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p."""
def multigammaln_(input: Tensor, p: _int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The probability that a standard normal variable is below input."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number that a standard normal variable is below with probability input."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma."""
def psi_(input: Tensor) -> Tensor:
    """Derivative of lgamma."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with that many decimals; a half goes to the even neighbour."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """The nearest number with that many decimals; a half goes to the even neighbour."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """modified_bessel_k0 scaled by exp(input)."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """modified_bessel_k1 scaled by exp(input)."""
def shifted_chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the first kind at 2 * input - 1 of degree n."""
def shifted_chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the second kind at 2 * input - 1 of degree n."""
def shifted_chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the third kind at 2 * input - 1 of degree n."""
def shifted_chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial of the fourth kind at 2 * input - 1 of degree n."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def softmax(input: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Shares that add up to 1 along an axis: exp(x) over the sum of exp(x)."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Spherical Bessel function of the first kind, order 0: sin(input) / input."""
def xlog1py(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input * log1p(other), and 0 where input is 0 (unless other is NaN)."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), and 0 where input is 0 (unless other is NaN)."""
def xlogy_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """input * log(other), and 0 where input is 0 (unless other is NaN)."""
def zeta(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz zeta function: the sum of (n + other)**-input over n = 0, 1, ..."""
