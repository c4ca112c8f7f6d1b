"""Operators that leave out the elements a mask hides: `tx.masked.mean(x, mask=seen)`."""

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

def amax(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The largest element that counts; the dtype's least number where none does."""
def amin(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The least element that counts; the dtype's largest number where none does."""
def argmax(input: Tensor, dim: _int | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where the largest element that counts is, as a number of the input's dtype (or `dtype`)."""
def argmin(input: Tensor, dim: _int | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where the least element that counts is, as a number of the input's dtype (or `dtype`)."""
def cumprod(input: Tensor, dim: _int, *, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The product up to each element along an axis, of those that count, in the input's dtype."""
def cumsum(input: Tensor, dim: _int, *, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The sum up to each element along an axis, of those that count, in the input's dtype."""
def log_softmax(input: Tensor, dim: _int, *, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The logarithm of `masked.softmax`: -inf where an element does not count."""
def logaddexp(input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """log(exp(input) + exp(other)) over what counts of each; -inf where neither does."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials of the elements that count; -inf where none does."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of the elements that count; NaN where none does."""
def median(input: Tensor, dim: _int = -1, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The median along an axis of the elements that count and are not NaN; NaN where none is."""
def norm(input: Tensor, ord: _float = 2.0, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The norm of order `ord` of the elements that count: (sum |x|^ord)^(1/ord)."""
def normalize(input: Tensor, ord: _float, dim: _int, *, eps: _float = 1e-12, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The elements that count over their norm of order `ord`, or over `eps` if that is larger."""
def prod(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The product of the elements that count; 1 where none does."""
def softmax(input: Tensor, dim: _int, *, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Shares that add up to 1 over the elements that count: 0 elsewhere, NaN where none counts."""
def softmin(input: Tensor, dim: _int, *, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """`masked.softmax` of the negated input: the least element has the largest share."""
def std(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, *, correction: _float | None = None, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation of the elements that count: the root of `masked.var`."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of the elements that count; 0 where none does."""
def var(input: Tensor, dim: _int | Sequence[_int] | None = None, unbiased: _bool | None = None, *, correction: _float | None = None, keepdim: _bool = False, dtype: DType | None = None, mask: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The variance of the elements that count: squares over their number less `correction` (1)."""
