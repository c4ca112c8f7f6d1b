"""Thixo: tensors with gradients, run as you write them."""

# Written by tools/build_stubs.py from the operator table: do not edit.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from thixo._core._native import Generator as Generator, Tensor as Tensor, _ATau, _FirstSecond, _HistBin_edges, _MantissaExponent, _MinMax, _PLU, _QR, _SignLogabsdet, _SolutionCloned_coefficient, _StdMean, _USV, _ValuesIndices, _ValuesIndicesInverse_indicesCounts, _ValuesInverse_indicesCounts, _VarMean, _YMask, _YMeanRstd
from thixo.device import device as Device
from thixo.dtype import DType as DType
from thixo import array_api as array_api
from thixo import autodiff as autodiff
from thixo import autograd as autograd
from thixo import config as config
from thixo import data as data
from thixo import errors as errors
from thixo import fft as fft
from thixo import graph as graph
from thixo import jit as jit
from thixo import linalg as linalg
from thixo import masked as masked
from thixo import nn as nn
from thixo import ops as ops
from thixo import optim as optim
from thixo import passes as passes
from thixo import profiler as profiler
from thixo import random as random
from thixo import schedule as schedule
from thixo import signal as signal
from thixo import special as special
from thixo import static as static
from thixo import testing as testing
from thixo import utils as utils
from thixo._core import Size as Size
from thixo.autograd import enable_grad as enable_grad
from thixo.autograd import inference_mode as inference_mode
from thixo.autograd import is_grad_enabled as is_grad_enabled
from thixo.autograd import is_inference_mode_enabled as is_inference_mode_enabled
from thixo.autograd import no_grad as no_grad
from thixo.autograd import set_grad_enabled as set_grad_enabled
from thixo.capture.compile import compile as compile
from thixo.capture.compile_backends import register_backend as register_backend
from thixo.capture.compile_explain import explain as explain
from thixo.capture.flow import cond as cond
from thixo.capture.flow import map as map
from thixo.capture.flow import scan as scan
from thixo.capture.flow import switch as switch
from thixo.capture.flow import while_loop as while_loop
from thixo.capture.lazy import get_mode as get_mode
from thixo.capture.lazy import lazy as lazy
from thixo.capture.lazy import set_mode as set_mode
from thixo.determinism import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from thixo.determinism import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from thixo.determinism import use_deterministic_algorithms as use_deterministic_algorithms
from thixo.device import device as device
from thixo.dtype import can_cast as can_cast
from thixo.dtype import DType as dtype
from thixo.dtype import finfo as finfo
from thixo.dtype import get_default_dtype as get_default_dtype
from thixo.dtype import iinfo as iinfo
from thixo.dtype import promote_types as promote_types
from thixo.dtype import result_type as result_type
from thixo.dtype import set_default_dtype as set_default_dtype
from thixo.errors import ThixoError as ThixoError
from thixo.layout import contiguous_format as contiguous_format
from thixo.layout import layout as layout
from thixo.layout import memory_format as memory_format
from thixo.layout import preserve_format as preserve_format
from thixo.layout import strided as strided
from thixo.making import as_tensor as as_tensor
from thixo.making import asarray as asarray
from thixo.making import from_dlpack as from_dlpack
from thixo.making import from_numpy as from_numpy
from thixo.making import is_tensor as is_tensor
from thixo.making import tensor as tensor
from thixo.printing import set_printoptions as set_printoptions
from thixo.queries import get_device as get_device
from thixo.queries import is_complex as is_complex
from thixo.queries import is_conj as is_conj
from thixo.queries import is_floating_point as is_floating_point
from thixo.queries import is_inference as is_inference
from thixo.queries import is_neg as is_neg
from thixo.queries import is_nonzero as is_nonzero
from thixo.queries import is_same_size as is_same_size
from thixo.queries import is_signed as is_signed
from thixo.queries import numel as numel
from thixo.random import default_generator as default_generator
from thixo.random import get_rng_state as get_rng_state
from thixo.random import initial_seed as initial_seed
from thixo.random import manual_seed as manual_seed
from thixo.random import seed as seed
from thixo.random import set_rng_state as set_rng_state
from thixo.serialization import load as load
from thixo.serialization import save as save
from thixo.shape import broadcast_shapes as broadcast_shapes
from thixo.threads import get_num_threads as get_num_threads
from thixo.threads import set_num_threads as set_num_threads
from thixo.typed import BFloat16Tensor as BFloat16Tensor
from thixo.typed import BoolTensor as BoolTensor
from thixo.typed import ByteTensor as ByteTensor
from thixo.typed import CharTensor as CharTensor
from thixo.typed import DoubleTensor as DoubleTensor
from thixo.typed import FloatTensor as FloatTensor
from thixo.typed import HalfTensor as HalfTensor
from thixo.typed import IntTensor as IntTensor
from thixo.typed import LongTensor as LongTensor
from thixo.typed import ShortTensor as ShortTensor

_Number = _float | _complex  # an int or a bool is one too

__version__: _str
bfloat16: DType
bool: DType
cdouble: DType
cfloat: DType
complex128: DType
complex64: DType
double: DType
e: _float
float16: DType
float32: DType
float64: DType
float: DType
half: DType
inf: _float
int16: DType
int32: DType
int64: DType
int8: DType
int: DType
long: DType
nan: _float
newaxis: None
pi: _float
short: DType
uint16: DType
uint32: DType
uint64: DType
uint8: DType

def H(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix conjugated and transposed; only for a matrix or a 0-d tensor."""
def T(input: Tensor) -> Tensor:
    """The input with its axes in reverse order."""
def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value; the modulus of a complex number, which is real."""
def abs_(input: Tensor) -> Tensor:
    """Absolute value; the modulus of a complex number, which is real."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value; the modulus of a complex number, which is real."""
def absolute_(input: Tensor) -> Tensor:
    """Absolute value; the modulus of a complex number, which is real."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose cosine is input; NaN outside [-1, 1]."""
def acos_(input: Tensor) -> Tensor:
    """Angle whose cosine is input; NaN outside [-1, 1]."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic cosine is input; NaN below 1."""
def acosh_(input: Tensor) -> Tensor:
    """Number whose hyperbolic cosine is input; NaN below 1."""
def adaptive_avg_pool1d(input: Tensor, output_size: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """Averages over `output_size` bins of nearly equal length."""
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int], return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`adaptive_max_pool1d` that always gives the indices too."""
def add(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Sum of input and alpha times other."""
def add_(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Sum of input and alpha times other."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * sum of batch1[i] @ batch2[i]`."""
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """`beta * input + alpha * sum of batch1[i] @ batch2[i]`."""
def addcdiv(input: Tensor, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Input plus value times the quotient of tensor1 and tensor2."""
def addcdiv_(input: Tensor, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1) -> Tensor:
    """Input plus value times the quotient of tensor1 and tensor2."""
def addcmul(input: Tensor, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Input plus value times the product of tensor1 and tensor2."""
def addcmul_(input: Tensor, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1) -> Tensor:
    """Input plus value times the product of tensor1 and tensor2."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`; input is broadcast."""
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`; input is broadcast."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """`beta * input + alpha * (mat @ vec)`."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`."""
def adjoint(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrices conjugated and transposed."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input."""
def all(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements, or all along the axes `dim`, are true (not 0)."""
def allclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False, *, out: Tensor | None = None) -> _bool:
    """Whether all elements are close, as a Python bool."""
def alpha_dropout(input: Tensor, p: _float, train: _bool, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.alpha_dropout` in the form of PyTorch's top-level function."""
def amax(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The greatest element, or the greatest along the axes `dim`; equal ones share the gradient."""
def amin(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The least element, or the least along the axes `dim`; equal ones share the gradient."""
def aminmax(input: Tensor, *, dim: _int | None = None, keepdim: _bool = False, out: tuple[Tensor, ...] | None = None) -> _MinMax:
    """The least and the greatest element, or those along the axis `dim`."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of a complex number in radians; 0 or pi for real ones."""
def any(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element, or any along the axes `dim`, is true (not 0)."""
def arange(start: _Number | None = None, end: _Number | None = None, step: _Number = 1, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """The numbers from start up to, not including, end in steps."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose cosine is input; NaN outside [-1, 1]."""
def arccos_(input: Tensor) -> Tensor:
    """Angle whose cosine is input; NaN outside [-1, 1]."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic cosine is input; NaN below 1."""
def arccosh_(input: Tensor) -> Tensor:
    """Number whose hyperbolic cosine is input; NaN below 1."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose sine is input; NaN outside [-1, 1]."""
def arcsin_(input: Tensor) -> Tensor:
    """Angle whose sine is input; NaN outside [-1, 1]."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic sine is input."""
def arcsinh_(input: Tensor) -> Tensor:
    """Number whose hyperbolic sine is input."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose tangent is input."""
def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
def arctan2_(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
def arctan_(input: Tensor) -> Tensor:
    """Angle whose tangent is input."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
def arctanh_(input: Tensor) -> Tensor:
    """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
def argmax(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The position of the greatest element, in the flat order or along the axis `dim`."""
def argmin(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The position of the least element, in the flat order or along the axis `dim`."""
def argsort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = False, out: Tensor | None = None) -> Tensor:
    """Where the elements in ascending (or descending) order along an axis came from."""
def argwhere(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The indices of the elements that are not 0, a row each."""
def as_strided(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
    """A view on the input's memory with any sizes and strides, also overlapping ones."""
def as_strided_copy(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of what as_strided shows."""
def as_strided_scatter(input: Tensor, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with the window that as_strided would show replaced."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose sine is input; NaN outside [-1, 1]."""
def asin_(input: Tensor) -> Tensor:
    """Angle whose sine is input; NaN outside [-1, 1]."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic sine is input."""
def asinh_(input: Tensor) -> Tensor:
    """Number whose hyperbolic sine is input."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle whose tangent is input."""
def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
def atan2_(input: Tensor, other: Tensor) -> Tensor:
    """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
def atan_(input: Tensor) -> Tensor:
    """Angle whose tangent is input."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
def atanh_(input: Tensor) -> Tensor:
    """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
@overload
def atleast_1d(*tensors: Tensor) -> Any:
    """Each tensor with one axis at least."""
@overload
def atleast_1d(tensors: Sequence[Tensor]) -> Any: ...
@overload
def atleast_2d(*tensors: Tensor) -> Any:
    """Each tensor with two axes at least; a new one comes first."""
@overload
def atleast_2d(tensors: Sequence[Tensor]) -> Any: ...
@overload
def atleast_3d(*tensors: Tensor) -> Any:
    """Each tensor with three axes at least: a vector in the middle one, a matrix in the first two."""
@overload
def atleast_3d(tensors: Sequence[Tensor]) -> Any: ...
def avg_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, ceil_mode: _bool = False, count_include_pad: _bool = True, *, out: Tensor | None = None) -> Tensor:
    """The average of each window of a signal."""
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, pair by pair."""
def baddbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
    """`beta * input + alpha * (batch1 @ batch2)`, pair by pair."""
def bartlett_window(window_length: _int, periodic: _bool = True, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """A triangle from 0 to 1 and back, as `signal.windows.bartlett`."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.batch_norm` in the argument order of PyTorch's top-level function."""
def bernoulli(input: Tensor, p: _float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that each element gives (or with probability p), else 0."""
def bernoulli_(input: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 1 with probability p, a number or a tensor that broadcasts, else with 0."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """A quadratic form of two inputs for each output: input1 @ weight[o] @ input2 + bias[o]."""
def bincount(input: Tensor, weights: Tensor | None = None, minlength: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """How often each whole number occurs, or the sum of the weights where it does."""
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Random counts of successes among `count` trials with probability `prob` each."""
def bit_view(input: Tensor, dtype: DType, grow: _int = 1, shrink: _int = 1) -> Tensor:
    """The same bytes as `grow` smaller elements each, or as elements of `shrink` together."""
def bitwise_and(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that both have."""
def bitwise_and_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The bits that both have."""
def bitwise_invert(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit changed; logical not for booleans."""
def bitwise_invert_(input: Tensor) -> Tensor:
    """Every bit changed; logical not for booleans."""
def bitwise_left_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input with its bits moved up; 0 where they leave the number."""
def bitwise_left_shift_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Input with its bits moved up; 0 where they leave the number."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit changed; logical not for booleans."""
def bitwise_not_(input: Tensor) -> Tensor:
    """Every bit changed; logical not for booleans."""
def bitwise_or(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that one of them has."""
def bitwise_or_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The bits that one of them has."""
def bitwise_right_shift(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input with its bits moved down; the sign stays."""
def bitwise_right_shift_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Input with its bits moved down; the sign stays."""
def bitwise_xor(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The bits that exactly one of them has."""
def bitwise_xor_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The bits that exactly one of them has."""
def blackman_window(window_length: _int, periodic: _bool = True, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Blackman's window, as `signal.windows.blackman`."""
@overload
def block_diag(*tensors: Tensor, out: Tensor | None = None) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
@overload
def block_diag(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of the matrices of two batches, pair by pair."""
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each repeated to the shape they all broadcast to."""
@overload
def broadcast_tensors(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]: ...
def broadcast_to(input: Tensor, size: _int | Sequence[_int]) -> Tensor:
    """The input repeated to a shape it broadcasts to, without a copy."""
def bucketize(input: Tensor | _Number, boundaries: Tensor, *, out_int32: _bool = False, right: _bool = False, out: Tensor | None = None) -> Tensor:
    """Which of the intervals between sorted boundaries each value falls into."""
@overload
def cartesian_prod(*tensors: Tensor, out: Tensor | None = None) -> Tensor:
    """All combinations of one element from each vector, a row each."""
@overload
def cartesian_prod(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def cast(input: Tensor, dtype: DType, *, out: Tensor | None = None) -> Tensor:
    """The elements converted to another dtype."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along an axis; all other sizes must agree."""
def cauchy_(input: Tensor, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers from the Cauchy distribution."""
def cdist(x1: Tensor, x2: Tensor, p: _float = 2.0, compute_mode: _str = 'use_mm_for_euclid_dist_if_necessary', *, out: Tensor | None = None) -> Tensor:
    """The p-norm distance of each point (row) of x1 from each of x2, for each batch."""
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number that is not below input."""
def ceil_(input: Tensor) -> Tensor:
    """The smallest whole number that is not below input."""
def celu(input: Tensor, alpha: _Number = 1.0, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
def celu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
@overload
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that takes the least work."""
@overload
def chain_matmul(matrices: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """The channels of groups dealt out in turn: (g, c) channels in the order (c, g)."""
def checked_range(input: Tensor, low: _float, high: _float, where: _str, *, out: Tensor | None = None) -> Tensor:
    """The tensor itself, refused where an element lies outside of [low, high]."""
def checked_weights(input: Tensor, where: _str, *, out: Tensor | None = None) -> Tensor:
    """The weights themselves, refused where one is negative or all of them are 0."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """L, lower triangular, with `A = L @ L^H`; or U with `A = U^H @ U`."""
def cholesky_inverse(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, from its Cholesky factor."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = input`, from the Cholesky factor of A."""
def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size, the last maybe smaller."""
def clamp(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Input brought into the range from min to max; max where the two are crossed."""
def clamp_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """Input brought into the range from min to max; max where the two are crossed."""
def clamp_max(input: Tensor, max: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input, but nowhere more than max."""
def clamp_max_(input: Tensor, max: Tensor | _Number) -> Tensor:
    """Input, but nowhere more than max."""
def clamp_min(input: Tensor, min: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input, but nowhere less than min."""
def clamp_min_(input: Tensor, min: Tensor | _Number) -> Tensor:
    """Input, but nowhere less than min."""
def clip(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Input brought into the range from min to max; max where the two are crossed."""
def clip_(input: Tensor, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
    """Input brought into the range from min to max; max where the two are crossed."""
def clone(input: Tensor, *, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """A copy of its own."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined side by side; a vector is a column."""
def combination_indices(n: _int, r: _int, with_replacement: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index tuples of all choices of r among n elements, a row each."""
def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """All choices of r elements of a vector, a row each, in order."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their real and imaginary parts."""
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along an axis; all other sizes must agree."""
def concatenate(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors joined along an axis; all other sizes must agree."""
def conj(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; a real input is returned itself."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, in memory of its own."""
def conj_physical_(input: Tensor) -> Tensor:
    """The complex conjugate, in memory of its own."""
def constant_pad_nd(input: Tensor, pad: _int | Sequence[_int], value: _Number = 0, *, out: Tensor | None = None) -> Tensor:
    """The input with a number added before and after its last axes; negative amounts cut."""
def contiguous(input: Tensor, memory_format: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The tensor itself if its elements lie in order without gaps, else a copy that does."""
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: Any = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Convolve signals (batch, channels, length) with a bank of kernels (outputs, channels / groups, taps)."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: Any = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Convolve images (batch, channels, height, width) with kernels (outputs, channels / groups, height, width)."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: Any = 0, dilation: _int | Sequence[_int] = 1, groups: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """Convolve volumes (batch, channels, depth, height, width)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Transposed convolution of signals: the adjoint of `conv1d`, which upsamples by its stride."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Transposed convolution of images."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: _int | Sequence[_int] = 1, padding: _int | Sequence[_int] = 0, output_padding: _int | Sequence[_int] = 0, groups: _int = 1, dilation: _int | Sequence[_int] = 1, *, out: Tensor | None = None) -> Tensor:
    """Transposed convolution of volumes."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: _int | Sequence[_int], padding: _int | Sequence[_int], dilation: _int | Sequence[_int], transposed: _bool, output_padding: _int | Sequence[_int], groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Convolution or transposed convolution in as many dimensions as the weight has."""
def copy(input: Tensor, src: Tensor | _Number, non_blocking: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The source, broadcast to the input's shape and converted to its dtype; `copy_` writes it there."""
def copy_(input: Tensor, src: Tensor | _Number, non_blocking: _bool = False) -> Tensor:
    """The source, broadcast to the input's shape and converted to its dtype; `copy_` writes it there."""
def copysign(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The magnitude of input with the sign of other."""
def copysign_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """The magnitude of input with the sign of other."""
def corrcoef(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The correlation coefficients of variables (rows) from observations (columns)."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine of an angle in radians."""
def cos_(input: Tensor) -> Tensor:
    """Cosine of an angle in radians."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """Hyperbolic cosine."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None) -> Tensor:
    """The cosine of the angle between x1 and x2 along an axis; lengths count at least `eps`."""
def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """How many elements, in all or along the axes `dim`, are not 0."""
def cov(input: Tensor, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """The covariance matrix of variables (rows) from observations (columns), weighted if asked."""
def cross(input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross products of the vectors along an axis: the first of size 3 if none is named."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = 0, reduction: _int = 1, zero_infinity: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.ctc_loss` in the form of PyTorch's top-level function: reduction is 0, 1 or 2."""
def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The greatest element up to each, along an axis, and where it is (the last of equals)."""
def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The least element up to each, along an axis, and where it is (the last of equals)."""
def cumprod(input: Tensor, dim: _int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The product of the elements up to each, along an axis; integers and bool multiply in int64."""
def cumprod_(input: Tensor, dim: _int, *, dtype: DType | None = None) -> Tensor:
    """The product of the elements up to each, along an axis; integers and bool multiply in int64."""
def cumsum(input: Tensor, dim: _int, *, dtype: DType | None = None, reverse: _bool = False, out: Tensor | None = None) -> Tensor:
    """The sum of the elements up to each, along an axis; integers and bool add up in int64."""
def cumsum_(input: Tensor, dim: _int, *, dtype: DType | None = None, reverse: _bool = False) -> Tensor:
    """The sum of the elements up to each, along an axis; integers and bool add up in int64."""
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The area under a polygon up to each of its points but the first."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees to radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """Degrees to radians."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of a square matrix."""
def detach(input: Tensor) -> Tensor:
    """The same memory, outside of the tape."""
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input, outside of the tape."""
def deviation(input: Tensor, scale: Tensor, dim: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """Values less their mean along some axes, times a factor: the gradient of a variance."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A vector's diagonal matrix, or a matrix's diagonal as a copy."""
def diag_embed(input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """Matrices whose diagonals are the last axis of the input; all else is 0."""
def diagflat(input: Tensor, offset: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The matrix with all elements of the input on a diagonal."""
def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """The elements input[..., i, ..., i + offset, ...] of two axes, as a last axis."""
def diagonal_copy(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of a diagonal of two axes."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with a diagonal of two axes replaced."""
def diff(input: Tensor, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """The n-th difference of neighbours along an axis; of bools, whether they differ."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Derivative of lgamma."""
def digamma_(input: Tensor) -> Tensor:
    """Derivative of lgamma."""
def dist(input: Tensor, other: Tensor, p: _float = 2, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of the difference of two tensors."""
def div(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
def div_(input: Tensor, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
    """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
def divide(input: Tensor | _Number, other: Tensor | _Number, *, rounding_mode: _str | None = None, out: Tensor | None = None) -> Tensor:
    """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
def divide_(input: Tensor, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
    """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors, element by element."""
def dropout(input: Tensor, p: _float, train: _bool, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.dropout` in the form of PyTorch's top-level function."""
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces one behind the other: along axis 2."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one behind the other, along axis 2."""
def einsum(equation: Any, *operands: Any, out: Tensor | None = None) -> Tensor:
    """The sum of products that an equation such as "ij,jk->ik" names."""
def elu(input: Tensor, alpha: _Number = 1.0, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""
def elu_(input: Tensor, alpha: _Number = 1.0) -> Tensor:
    """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = -1, scale_grad_by_freq: _bool = False, sparse: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.embedding` in the argument order of PyTorch's top-level function."""
@overload
def empty(*size: _int, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """A tensor whose elements hold nothing of meaning yet."""
@overload
def empty(size: Sequence[_int], *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor: ...
def empty_like(input: Tensor, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """A tensor without meaning yet, in the shape and dtype of another."""
def empty_permuted(size: _int | Sequence[_int], physical_layout: _int | Sequence[_int], *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor without meaning yet whose axes lie in memory in the order physical_layout."""
def empty_strided(size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor without meaning yet, with given sizes and strides."""
def eq(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements are equal."""
def eq_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether the elements are equal."""
def equal(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> _bool:
    """Whether two tensors have the same sizes and elements, as a Python bool."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Error function."""
def erf_(input: Tensor) -> Tensor:
    """Error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfc_(input: Tensor) -> Tensor:
    """1 - erf(input), exact where that is small."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose erf is input; infinite at -1 and 1, NaN beyond."""
def erfinv_(input: Tensor) -> Tensor:
    """The number whose erf is input; infinite at -1 and 1, NaN beyond."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of input."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of input."""
def exp2_(input: Tensor) -> Tensor:
    """2 to the power of input."""
def exp_(input: Tensor) -> Tensor:
    """e to the power of input."""
@overload
def expand(input: Tensor, *size: _int) -> Tensor:
    """The input repeated along axes of size 1, and along new ones in front, without a copy."""
@overload
def expand(input: Tensor, size: Sequence[_int]) -> Tensor: ...
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """The input expanded to the shape of another tensor."""
def expand_copy(input: Tensor, size: _int | Sequence[_int], *, implicit: _bool = False, out: Tensor | None = None) -> Tensor:
    """The input repeated along axes of size 1, as a copy."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, exact for small input."""
def expm1_(input: Tensor) -> Tensor:
    """exp(input) - 1, exact for small input."""
def exponential_(input: Tensor, lambd: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers from the exponential distribution with rate lambd."""
def extreme_gradient(grad: Tensor, input: Tensor, output: Tensor | None, dim: _int | Sequence[_int], largest: _bool, *, out: Tensor | None = None) -> Tensor:
    """The gradient of `amax` or `amin` at its input: in equal parts to all that attain the extreme."""
def eye(n: _int, m: _int | None = None, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.feature_alpha_dropout` in the form of PyTorch's top-level function."""
def feature_dropout(input: Tensor, p: _float, train: _bool, *, out: Tensor | None = None) -> Tensor:
    """Dropout of whole channels, in the form of PyTorch's top-level function."""
def fill(input: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """One value, a number or a 0-d tensor, in the shape and dtype of the input."""
def fill_(input: Tensor, value: Tensor | _Number) -> Tensor:
    """One value, a number or a 0-d tensor, in the shape and dtype of the input."""
def fill_diagonal(input: Tensor, fill_value: _Number, wrap: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The input with one number on the main diagonal, where all indices are equal."""
def fill_diagonal_(input: Tensor, fill_value: _Number, wrap: _bool = False) -> Tensor:
    """The input with one number on the main diagonal, where all indices are equal."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input without its fractional part."""
def fix_(input: Tensor) -> Tensor:
    """Input without its fractional part."""
def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1, *, out: Tensor | None = None) -> Tensor:
    """The axes from `start_dim` to `end_dim` run together into one."""
@overload
def flip(input: Tensor, *dims: _int, out: Tensor | None = None) -> Tensor:
    """The input with the order of the elements reversed along some axes."""
@overload
def flip(input: Tensor, dims: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
def fliplr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input with its columns in reverse order."""
def flipud(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input with its rows in reverse order."""
def float_power(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input to the power of exponent, computed in float64 or complex128."""
def float_power_(input: Tensor, exponent: Tensor | _Number) -> Tensor:
    """Input to the power of exponent, computed in float64 or complex128."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is not above input."""
def floor_(input: Tensor) -> Tensor:
    """The largest whole number that is not above input."""
def floor_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Quotient rounded down."""
def floor_divide_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Quotient rounded down."""
def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger element, the other one where one is NaN."""
def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller element, the other one where one is NaN."""
def fmod(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """What division rounded towards zero leaves: it has the sign of input."""
def fmod_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """What division rounded towards zero leaves: it has the sign of input."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fractional part, with the sign of input."""
def frac_(input: Tensor) -> Tensor:
    """The fractional part, with the sign of input."""
def frexp(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _MantissaExponent:
    """The mantissa in [0.5, 1) and the power of two whose product is input."""
def full(size: _int | Sequence[_int], fill_value: _Number, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor filled with one number."""
def full_like(input: Tensor, fill_value: _Number, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """One number in the shape and dtype of another tensor."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """The elements that `index` names along an axis: y[i][j] = input[index[i][j]][j] for dim 0."""
def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Greatest common divisor."""
def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor."""
def ge(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is greater than or equal to other."""
def ge_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is greater than or equal to other."""
def geometric_(input: Tensor, p: _float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials up to the first success, each of which has probability p."""
def geqrf(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _ATau:
    """A QR factorisation as LAPACK keeps it: R above, the reflections below, and their factors."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every product of an element of one vector with one of another."""
def gradient(input: Tensor, *, spacing: Any = None, dim: _int | Sequence[_int] | None = None, edge_order: _int = 1) -> tuple[Tensor, ...]:
    """Estimates of the derivative along each axis (of `dim`) by central differences."""
def greater(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is greater than other."""
def greater_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is greater than other."""
def greater_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is greater than or equal to other."""
def greater_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is greater than or equal to other."""
def grid_count(input: Tensor, bin_edges: Sequence[Tensor], weight: Tensor | None = None, density: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """How many points (rows of the last axis), or what weight, fall into each cell of a grid."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.grid_sample` with numbers for the modes."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool, *, out: Tensor | None = None) -> Tensor:
    """`grid_sampler` of images."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool, *, out: Tensor | None = None) -> Tensor:
    """`grid_sampler` of volumes."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enabled: _bool = True, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.group_norm` with the switch that PyTorch's top-level function has."""
def gt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is greater than other."""
def gt_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is greater than other."""
def hamming_window(window_length: _int, periodic: _bool = True, alpha: _float = 0.54, beta: _float = 0.46, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Hamming's window: alpha less beta cosines."""
def hann_window(window_length: _int, periodic: _bool = True, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Hann's window, as `signal.windows.hann`."""
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The input, but 0 within lambd of 0."""
def hardsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1."""
def hardsigmoid_(input: Tensor) -> Tensor:
    """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1."""
def hardswish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input times hardsigmoid of input."""
def hardswish_(input: Tensor) -> Tensor:
    """Input times hardsigmoid of input."""
def hardtanh(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """Input brought into [min_val, max_val]; the gradient is 0 at the ends."""
def hardtanh_(input: Tensor, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
    """Input brought into [min_val, max_val]; the gradient is 0 at the ends."""
def hash_tensor(input: Tensor, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, mode: _int = 0, out: Tensor | None = None) -> Tensor:
    """The bits of all elements, or of those along the axes `dim`, each in 64 of them, xored together."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below zero and for NaN, 1 above, values at zero."""
def heaviside_(input: Tensor, values: Tensor) -> Tensor:
    """0 below zero and for NaN, 1 above, values at zero."""
def histc(input: Tensor, bins: _int = 100, min: _float = 0, max: _float = 0, *, out: Tensor | None = None) -> Tensor:
    """How many elements fall into each of `bins` equal bins from `min` to `max` (or of the data)."""
def histogram(input: Tensor, bins: Tensor | _Number = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False, out: tuple[Tensor, ...] | None = None) -> _HistBin_edges:
    """How many elements (or what weight) fall into bins, given as a number or by their edges."""
def histogramdd(input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _HistBin_edges:
    """How many points (rows of the last axis), or what weight, fall into the cells of a grid."""
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces side by side: along axis 1, or axis 0 of a vector."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined side by side: along axis 1, or axis 0 of vectors."""
def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Length of the hypotenuse: the root of the sum of the squares, without overflow on the way."""
def hypot_(input: Tensor, other: Tensor) -> Tensor:
    """Length of the hypotenuse: the root of the sum of the squares, without overflow on the way."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def i0_(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def igamma(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Lower incomplete gamma function of input up to other, as a part of the whole."""
def igamma_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Lower incomplete gamma function of input up to other, as a part of the whole."""
def igammac(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Upper incomplete gamma function of input from other on, as a part of the whole."""
def igammac_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Upper incomplete gamma function of input from other on, as a part of the whole."""
def imag(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The imaginary part, which shares memory with the input."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """A copy of the input with alpha times the source added to the slices that the index names."""
def index_add_(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
    """A copy of the input with alpha times the source added to the slices that the index names."""
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with the slices that the index names replaced by those of the source."""
def index_copy_(input: Tensor, dim: _int, index: Tensor, source: Tensor) -> Tensor:
    """A copy of the input with the slices that the index names replaced by those of the source."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with the slices that the index names set to one value."""
def index_fill_(input: Tensor, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor:
    """A copy of the input with the slices that the index names set to one value."""
def index_get(input: Tensor, indices: Sequence[Tensor], axes: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The elements that index tensors name on the first axes; all other axes are kept whole."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with values written, or added, where a tuple of index tensors says."""
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of the input with values written, or added, where a tuple of index tensors says."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of the input whose slices are reduced with the slices of the source sent to them."""
def index_reduce_(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """A copy of the input whose slices are reduced with the slices of the source sent to them."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices along an axis that a vector of indices names."""
def index_set(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False, axes: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with values written, or added, where index tensors on the first axes say."""
def index_set_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False, axes: _int | Sequence[_int] | None = None) -> Tensor:
    """A copy of the input with values written, or added, where index tensors on the first axes say."""
def index_sum(source: Tensor, dim: _int, index: Tensor, size: _int, *, out: Tensor | None = None) -> Tensor:
    """Zeros of a size along an axis, with the slices of source added at an index."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot products of all vectors along the last axes of two tensors."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.instance_norm` in the argument order of PyTorch's top-level function."""
def interleave_index(repeats: Tensor, output_size: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """Each place i as often as repeats[i] says: the index that repeat_interleave selects by."""
def inverse(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix."""
def is_member(elements: Tensor, test_elements: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether each element is among the test elements."""
def isclose(input: Tensor, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|; equal infinities are close."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is neither infinite nor NaN."""
def isin(elements: Tensor | _Number, test_elements: Tensor | _Number, *, assume_unique: _bool = False, invert: _bool = False, out: Tensor | None = None) -> Tensor:
    """Whether each element is among the test elements (or, with `invert`, is not)."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is infinite, or a part of it for a complex one."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is NaN."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is negative infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number is positive infinity."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the number has no imaginary part."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The signal whose `stft` comes nearest to the input: pieces added up, divided by their windows."""
def kaiser_window(window_length: _int, periodic: _bool = True, beta: _float = 12.0, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, pin_memory: _bool = False, requires_grad: _bool = False, out: Tensor | None = None) -> Tensor:
    """Kaiser's window, as `signal.windows.kaiser`."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of the input times all of `other`."""
def kthvalue(input: Tensor, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The k-th least element along an axis (k counts from 1), and where it is."""
def layer_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = None, bias: Tensor | None = None, eps: _float = 1e-05, cudnn_enable: _bool = True, *, out: Tensor | None = None) -> Tensor:
    """`nn.functional.layer_norm` with the switch that PyTorch's top-level function has."""
def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Least common multiple."""
def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input times 2 to the power of other."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """Input times 2 to the power of other."""
def le(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is less than or equal to other."""
def le_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is less than or equal to other."""
def leaky_relu(input: Tensor, negative_slope: _float = 0.01, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, negative_slope times it elsewhere."""
def leaky_relu_(input: Tensor, negative_slope: _float = 0.01) -> Tensor:
    """The input where it is positive, negative_slope times it elsewhere."""
def lerp(input: Tensor, end: Tensor, weight: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """The point at weight on the way from input to end."""
def lerp_(input: Tensor, end: Tensor, weight: Tensor | _Number) -> Tensor:
    """The point at weight on the way from input to end."""
def less(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is less than other."""
def less_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is less than other."""
def less_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is less than or equal to other."""
def less_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is less than or equal to other."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def lgamma_(input: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def linear_recurrence(input: Tensor, decay: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """y_i = decay_i y_(i-1) + input_i along an axis, from y = 0."""
def linspace(start: Tensor | _Number, end: Tensor | _Number, steps: _int, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Evenly spaced numbers from start to end, both included."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm; NaN for negative real numbers, -inf at 0."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """Logarithm to base 10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact for small input."""
def log1p_(input: Tensor) -> Tensor:
    """log(1 + input), exact for small input."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """Logarithm to base 2."""
def log_(input: Tensor) -> Tensor:
    """Natural logarithm; NaN for negative real numbers, -inf at 0."""
def log_normal_(input: Tensor, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers whose logarithm is normally distributed."""
def log_softmax(input: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax along an axis, without a detour through small numbers."""
def log_softmax_gradient(grad: Tensor, output: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """The gradient of `log_softmax` at its input, from that of its result and the result."""
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(exp(input) + exp(other)) without overflow."""
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log2(2**input + 2**other) without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials up to each element, along an axis."""
def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the determinant; NaN where it is negative."""
def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether both elements are non-zero."""
def logical_and_(input: Tensor, other: Tensor) -> Tensor:
    """Whether both elements are non-zero."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is zero."""
def logical_not_(input: Tensor) -> Tensor:
    """Whether the element is zero."""
def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether one of the elements is non-zero."""
def logical_or_(input: Tensor, other: Tensor) -> Tensor:
    """Whether one of the elements is non-zero."""
def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether exactly one of the elements is non-zero."""
def logical_xor_(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one of the elements is non-zero."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given."""
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given."""
def logspace(start: Tensor | _Number, end: Tensor | _Number, steps: _int, base: _float = 10.0, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Powers of `base` with evenly spaced exponents from start to end."""
def logsumexp(input: Tensor, dim: _int | Sequence[_int], keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of exponentials along the axes `dim`, without overflow."""
def logsumexp_gradient(grad: Tensor, input: Tensor, output: Tensor, dim: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """The gradient of `logsumexp` at its input: the shares of softmax, times the result's gradient."""
def lt(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether input is less than other."""
def lt_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether input is less than other."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False) -> tuple[Tensor, ...]:
    """What `linalg.lu_factor_ex` gives, `info` only with `get_infos`."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The solution of `A X = input` from the packed factors of A."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> _PLU:
    """The permutation and the two triangles of what `linalg.lu_factor` packed."""
def mH(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrices conjugated and transposed."""
def mT(input: Tensor) -> Tensor:
    """The input with its last two axes exchanged."""
def masked_fill(input: Tensor, mask: Tensor, value: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input with value where the mask holds."""
def masked_fill_(input: Tensor, mask: Tensor, value: Tensor | _Number) -> Tensor:
    """Input with value where the mask holds."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input with its elements replaced, in order, by those of the source where the mask is true."""
def masked_scatter_(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """The input with its elements replaced, in order, by those of the source where the mask is true."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask is true, as a vector in row order."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices, of batches of them (broadcast), or with a vector on either side."""
def matrix_exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of a square matrix: the sum of its powers A^k / k!."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix times itself, n factors in all; a negative n takes the inverse."""
@overload
def max(input: Tensor) -> Tensor:
    """The greatest element; with `dim` the greatest along it and where; with `other` elementwise."""
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def max_dim(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The greatest elements along an axis and their positions, the first of equals."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value in each window of a signal; with `return_indices` also where it was."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """`max_pool1d` that always gives the indices too."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value in each window of an image; with `return_indices` also where it was."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> _ValuesIndices: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, return_indices: Literal[False] = False, *, out: Tensor | None = None) -> Tensor:
    """The largest value in each window of a volume; with `return_indices` also where it was."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = None, padding: _int | Sequence[_int] = 0, dilation: _int | Sequence[_int] = 1, ceil_mode: _bool = False, *, return_indices: Literal[True]) -> _ValuesIndices: ...
def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The larger element; NaN if either is. Equal elements share the gradient."""
def mean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The mean of all elements, or along the axes `dim`."""
@overload
def median(input: Tensor) -> Tensor:
    """The median of all elements, the lower of two middle ones; with `dim` along it, and where."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices: ...
def median_dim(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The median along an axis (of all, without one) and where it is; the lower of two middle ones."""
@overload
def meshgrid(*tensors: Tensor, indexing: _str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids of several vectors: grid i repeats vector i along all other axes."""
@overload
def meshgrid(tensors: Sequence[Tensor], *, indexing: _str | None = None) -> tuple[Tensor, ...]: ...
@overload
def min(input: Tensor) -> Tensor:
    """The least element; with `dim` the least along it and where; with `other` elementwise."""
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def min_dim(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The least elements along an axis and their positions, the first of equals."""
def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smaller element; NaN if either is. Equal elements share the gradient."""
def mish(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input times the hyperbolic tangent of softplus of input."""
def mish_(input: Tensor) -> Tensor:
    """Input times the hyperbolic tangent of softplus of input."""
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices."""
def mode(input: Tensor, dim: _int = -1, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The most frequent element along an axis, the least of equally frequent ones, and its last place."""
def moveaxis(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """The axes `source` moved to the places `destination`; the others keep their order."""
def movedim(input: Tensor, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
    """The axes `source` moved to the places `destination`; the others keep their order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in ascending order along the first axis."""
def mul(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Product of two tensors, element by element."""
def mul_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Product of two tensors, element by element."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Places drawn from each row of weights, without putting them back unless told to."""
def multiply(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Product of two tensors, element by element."""
def multiply_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Product of two tensors, element by element."""
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p."""
def mvlgamma_(input: Tensor, p: _int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension p."""
def nan_to_num(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Input with NaN, positive and negative infinity replaced: by 0 and the dtype's extremes."""
def nan_to_num_(input: Tensor, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
    """Input with NaN, positive and negative infinity replaced: by 0 and the dtype's extremes."""
def nanmean(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The mean along the axes `dim` of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor) -> Tensor:
    """The median of what is not NaN; with `dim` along it, and where."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices: ...
def nanmedian_dim(input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The median of what is not NaN along an axis (of all, without one), and where it is."""
def nanquantile(input: Tensor, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
    """The q-quantiles of what is not NaN, of all elements or along the axis `dim`."""
def nansum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sum along the axes `dim`, with NaN counted as 0."""
def narrow(input: Tensor, dim: _int, start: Any, length: _int) -> Tensor:
    """`length` elements of an axis from `start` on."""
def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of `length` elements of an axis from `start` on."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: tuple[Tensor, ...] | None = None) -> _YMeanRstd:
    """Batch norm together with the batch's mean and reciprocal standard deviation (empty when not training)."""
def native_dropout(input: Tensor, p: _float, train: _bool | None, *, out: tuple[Tensor, ...] | None = None) -> _YMask:
    """Dropout together with the mask of what was kept."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float, *, out: tuple[Tensor, ...] | None = None) -> _YMeanRstd:
    """Group norm of (N, C, HxW) values, with each group's mean and reciprocal standard deviation."""
def native_layer_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None, bias: Tensor | None, eps: _float, *, out: tuple[Tensor, ...] | None = None) -> _YMeanRstd:
    """Layer norm together with each sample's mean and reciprocal standard deviation."""
def ne(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements differ."""
def ne_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether the elements differ."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number with its sign changed."""
def neg_(input: Tensor) -> Tensor:
    """The number with its sign changed."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number with its sign changed."""
def negative_(input: Tensor) -> Tensor:
    """The number with its sign changed."""
@overload
def new_empty(input: Tensor, *size: _int, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor without meaning yet in a new shape, with the dtype and device of another."""
@overload
def new_empty(input: Tensor, size: Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
def new_empty_strided(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor without meaning yet, with given sizes and strides and the dtype of another."""
def new_full(input: Tensor, size: _int | Sequence[_int], fill_value: _Number, *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """One number in a new shape, with the dtype and device of a tensor."""
@overload
def new_ones(input: Tensor, *size: _int, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Ones in a new shape, with the dtype and device of a tensor."""
@overload
def new_ones(input: Tensor, size: Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def new_zeros(input: Tensor, *size: _int, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Zeros in a new shape, with the dtype and device of a tensor."""
@overload
def new_zeros(input: Tensor, size: Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The next number that the dtype has after input, towards other."""
def nextafter_(input: Tensor, other: Tensor) -> Tensor:
    """The next number that the dtype has after input, towards other."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor:
    """The indices of the elements that are not 0: a row each, or a tuple of one vector per axis."""
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero_places(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The indices of the elements that are not 0, a row each, in row order."""
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None) -> Tensor:
    """The first `size` indices of elements that are not 0; rows that are missing hold fill_value."""
def norm(input: Tensor, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The p-norm of all elements, or along the axes `dim`; "fro" is 2, "nuc" sums singular values."""
def normal(mean: Tensor | _Number = 0.0, std: Tensor | _Number = 1.0, size: _int | Sequence[_int] | None = None, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Random numbers from normal distributions; mean and std are tensors, or numbers with a size."""
def normal_(input: Tensor, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers from a normal distribution."""
def normal_draw(mean: Tensor, std: Tensor | _Number, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Random numbers from normal distributions with these means and deviations."""
def not_equal(input: Tensor, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Whether the elements differ."""
def not_equal_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Whether the elements differ."""
@overload
def ones(*size: _int, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor of ones."""
@overload
def ones(size: Sequence[_int], *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
def ones_like(input: Tensor, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Ones in the shape and dtype of another tensor."""
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections I - tau v v^H, given as `geqrf` keeps them."""
def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The product of the Q of `geqrf` (input, input2 its factors) with input3, on either side."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every product of an element of one vector with one of another."""
def pair_indices(n: _int, *, out: tuple[Tensor, ...] | None = None) -> _FirstSecond:
    """All pairs of numbers below n, the first less than the second: 0 and 1, 0 and 2, ..."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
def pca_lowrank(A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2, *, out: tuple[Tensor, ...] | None = None) -> _USV:
    """The q principal components of the rows of A, approximately."""
def pdist(input: Tensor, p: _float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The p-norm distances of all pairs of points (rows): 0 and 1, 0 and 2, ..., 1 and 2, ..."""
@overload
def permute(input: Tensor, *dims: _int) -> Tensor:
    """The input with its axes in another order."""
@overload
def permute(input: Tensor, dims: Sequence[_int]) -> Tensor: ...
def permute_copy(input: Tensor, dims: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with its axes in another order."""
def pinverse(input: Tensor, rcond: _float = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """The pseudo-inverse; singular values up to rcond times the largest are dropped."""
def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels spread over space: (..., C*r*r, H, W) becomes (..., C, H*r, W*r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Space folded into channels: (..., C, H*r, W*r) becomes (..., C*r*r, H, W)."""
def place_sum(values: Tensor, indices: Sequence[Tensor], shape: _int | Sequence[_int], axes: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """Zeros of a shape, with values added at the places that index tensors name on its first axes."""
def poisson(input: Tensor, generator: Generator | None = None, *, out: Tensor | None = None) -> Tensor:
    """Random counts from the Poisson distribution with each element as rate."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from their modulus and angle."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma."""
def positive(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input itself; booleans are refused."""
def pow(input: Tensor | _Number, exponent: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Input to the power of exponent."""
def pow_(input: Tensor, exponent: Tensor | _Number) -> Tensor:
    """Input to the power of exponent."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, weight times it elsewhere; one weight, or one per channel."""
def prod(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The product of all elements, or along the axes `dim`; integers and bool multiply in int64."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with elements written, or added, by their number in the flat input."""
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
    """A copy of the input with elements written, or added, by their number in the flat input."""
def qr(input: Tensor, some: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> _QR:
    """Q with orthonormal columns and R, upper triangular; Q is square with `some=False`."""
def quantile(input: Tensor, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear', out: Tensor | None = None) -> Tensor:
    """The q-quantiles of all elements, or along the axis `dim`; several q come as a first axis."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians to degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """Radians to degrees."""
@overload
def rand(*size: _int, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Random numbers, each value in [0, 1) equally likely."""
@overload
def rand(size: Sequence[_int], *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Random numbers in [0, 1) in the shape and dtype of another tensor."""
def randint(low: Any, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Random whole numbers from low (0 if left out) to high - 1."""
def randint_like(input: Tensor, low: Any, high: Any = None, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Random whole numbers in the shape and dtype of another tensor."""
@overload
def randn(*size: _int, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Random numbers from the standard normal distribution."""
@overload
def randn(size: Sequence[_int], *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Random normal numbers in the shape and dtype of another tensor."""
def random_(input: Tensor, from_: _int | None = None, to: _int | None = None, *, generator: Generator | None = None) -> Tensor:
    """Fill with random whole numbers: random_(), random_(to) or random_(from, to)."""
def random_integers(low: _int, high: _int, size: _int | Sequence[_int], *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """Random whole numbers from low to high - 1."""
def randperm(n: _int, *, generator: Generator | None = None, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """The numbers from 0 to n - 1 in a random order."""
def ravel(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All elements on one axis, in row order."""
def real(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The real part, which shares memory with a complex input; a real input is returned itself."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the number; integers give floats."""
def reciprocal_(input: Tensor) -> Tensor:
    """One over the number; integers give floats."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input where it is positive, 0 elsewhere."""
def relu_(input: Tensor) -> Tensor:
    """The input where it is positive, 0 elsewhere."""
def remainder(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """What division rounded down leaves: it has the sign of other."""
def remainder_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """What division rounded down leaves: it has the sign of other."""
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None) -> Tensor:
    """Each slice along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
def renorm_(input: Tensor, p: _float, dim: _int, maxnorm: _float) -> Tensor:
    """Each slice along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
@overload
def repeat(input: Tensor, *repeats: _int, out: Tensor | None = None) -> Tensor:
    """The input repeated along each axis, as a copy."""
@overload
def repeat(input: Tensor, repeats: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
def repeat_interleave(input: Tensor, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Each element repeated, all its copies side by side; without dim the input is flattened."""
def replace_nonfinite(input: Tensor, nan: _float, posinf: _float, neginf: _float, *, out: Tensor | None = None) -> Tensor:
    """Input with these numbers in place of NaN and the infinities."""
@overload
def reshape(input: Tensor, *shape: _int, out: Tensor | None = None) -> Tensor:
    """The same elements in another shape: a view where strides allow it, else a copy."""
@overload
def reshape(input: Tensor, shape: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
def reshape_as(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same elements in the shape of another tensor: a view where strides allow it, else a copy."""
def resolve_conj(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input itself: conjugates are computed when they are asked for."""
def resolve_neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input itself: negatives are computed when they are asked for."""
def rms_norm(input: Tensor, normalized_shape: _int | Sequence[_int], weight: Tensor | None = None, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """Divide each sample by the root of its mean square over the last axes, then scale."""
def roll(input: Tensor, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """The elements shifted along axes; what leaves at one end enters at the other."""
def rot90(input: Tensor, k: _int = 1, dims: _int | Sequence[_int] = (0, 1), *, out: Tensor | None = None) -> Tensor:
    """The input turned by k quarters in the plane of two axes."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with that many decimals; a half goes to the even neighbour."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """The nearest number with that many decimals; a half goes to the even neighbour."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one below the other; a vector is a row."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """One over the square root."""
def rsqrt_(input: Tensor) -> Tensor:
    """One over the square root."""
def rsub(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Other less alpha times input: subtraction with its operands exchanged."""
def scalar_tensor(s: _Number, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A 0-d tensor of a number, of the default float type unless another is given."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None, out: Tensor | None = None) -> Tensor:
    """A copy of the input with elements replaced, added or multiplied at places along an axis."""
def scatter_(input: Tensor, dim: _int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None) -> Tensor:
    """A copy of the input with elements replaced, added or multiplied at places along an axis."""
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with elements added: y[index[i][j]][j] += src[i][j] for dim 0."""
def scatter_add_(input: Tensor, dim: _int, index: Tensor, src: Tensor) -> Tensor:
    """A copy of the input with elements added: y[index[i][j]][j] += src[i][j] for dim 0."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True, out: Tensor | None = None) -> Tensor:
    """A copy of the input whose elements are reduced with all source elements sent to them."""
def scatter_reduce_(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
    """A copy of the input whose elements are reduced with all source elements sent to them."""
def scatter_set(input: Tensor, dim: _int, index: Tensor, src: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with elements replaced: y[index[i][j]][j] = src[i][j] for dim 0."""
def scatter_sum(src: Tensor, dim: _int, index: Tensor, shape: _int | Sequence[_int], distinct: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Zeros of a shape, with elements added along an axis: y[index[i][j]][j] += src[i][j] for dim 0."""
def searchsorted(sorted_sequence: Tensor, input: Tensor | _Number, *, out_int32: _bool = False, right: _bool = False, side: _str | None = None, sorter: Tensor | None = None, out: Tensor | None = None) -> Tensor:
    """Where values would go in sorted sequences (of the last axis) so that these stay sorted."""
def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """One slice of the input across an axis, which disappears."""
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of one slice across an axis, which disappears."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with one slice across an axis replaced."""
def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """elu with the scale and alpha that keep mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """elu with the scale and alpha that keep mean 0 and variance 1."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of a real number; of a complex one, the point on the unit circle in its direction."""
def sgn_(input: Tensor) -> Tensor:
    """The sign of a real number; of a complex one, the point on the unit circle in its direction."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function 1 / (1 + exp(-input))."""
def sigmoid_(input: Tensor) -> Tensor:
    """The logistic function 1 / (1 + exp(-input))."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1 with the sign of the number; 0 for NaN."""
def sign_(input: Tensor) -> Tensor:
    """-1, 0 or 1 with the sign of the number; 0 for NaN."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign bit is set, as it is for -0.0."""
def silu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input times sigmoid of input."""
def silu_(input: Tensor) -> Tensor:
    """Input times sigmoid of input."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine of an angle in radians."""
def sin_(input: Tensor) -> Tensor:
    """Sine of an angle in radians."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """Hyperbolic sine."""
def slice(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
    """Every `step`-th element of an axis from `start` up to, not including, `end`."""
def slice_copy(input: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of every `step`-th element of an axis from `start` up to `end`."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with a slice along an axis replaced."""
def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _SignLogabsdet:
    """The sign (or phase) of the determinant, and the logarithm of its magnitude."""
def softmax(input: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """Shares that add up to 1 along an axis: exp(x) over the sum of exp(x)."""
def softmax_gradient(grad: Tensor, output: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """The gradient of `softmax` at its input, from that of its result and the result."""
def sort(input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = False, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The elements in ascending (or descending) order along an axis, and where they came from."""
def split(tensor: Tensor, split_size_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size, the last maybe smaller, or pieces of given sizes."""
def split_copy(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Copies of pieces of one size, the last maybe smaller."""
def split_with_sizes(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes."""
def split_with_sizes_copy(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Copies of pieces of the given sizes."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root; NaN for negative real numbers."""
def sqrt_(input: Tensor) -> Tensor:
    """Square root; NaN for negative real numbers."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input times itself; booleans become integers."""
def square_(input: Tensor) -> Tensor:
    """Input times itself; booleans become integers."""
def squeeze(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """The input without its axes of size 1: all of them, or those named."""
def squeeze_copy(input: Tensor, dim: _int | Sequence[_int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input without its axes of size 1: all of them, or those named."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape joined along a new axis."""
def std(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The standard deviation of all elements, or along the axes `dim`: the root of `var`."""
def std_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: _bool = False, *, correction: _float | None = None, out: tuple[Tensor, ...] | None = None) -> _StdMean:
    """The standard deviation and the mean, of all elements or along the axes `dim`."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None, *, out: Tensor | None = None) -> Tensor:
    """The spectrum of each piece of n_fft points of a signal, taken every hop_length points."""
def strided_view(input: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int, input_stride: _int | Sequence[_int], input_offset: _int) -> Tensor:
    """The window `size, stride, storage_offset` on the memory of a tensor whose own is known."""
def sub(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Input less alpha times other."""
def sub_(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Input less alpha times other."""
def subtract(input: Tensor | _Number, other: Tensor | _Number, *, alpha: _Number = 1, out: Tensor | None = None) -> Tensor:
    """Input less alpha times other."""
def subtract_(input: Tensor, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
    """Input less alpha times other."""
def sum(input: Tensor, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or along the axes `dim`; integers and bool add up in int64."""
@overload
def sum_to_size(input: Tensor, *size: _int, out: Tensor | None = None) -> Tensor:
    """The input summed to a shape that broadcasts to its own."""
@overload
def sum_to_size(input: Tensor, size: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> _USV:
    """U, S, V with `input = U @ diag(S) @ V^H`; square U and V with `some=False`."""
def svd_lowrank(A: Tensor, q: _int | None = 6, niter: _int = 2, M: Tensor | None = None, *, out: tuple[Tensor, ...] | None = None) -> _USV:
    """The q largest singular values and their vectors, approximately; M is taken from A first."""
def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """The input with two axes exchanged."""
def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """The input with two axes exchanged."""
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a tensor with fewer than two axes is returned as it is."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of a matrix, transposed."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elements by their number in the flat input, negative ones from the end."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None) -> Tensor:
    """gather with an index that broadcasts; without dim the input and index are flattened."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent of an angle in radians."""
def tan_(input: Tensor) -> Tensor:
    """Tangent of an angle in radians."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
def tensor_split(input: Tensor, indices_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
    """A number of pieces whose sizes differ by one at most, or pieces between given indices."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """The products of two tensors, summed over pairs of their axes."""
def threshold(input: Tensor, threshold: _float, value: _float, *, out: Tensor | None = None) -> Tensor:
    """The input where it is above threshold, value elsewhere."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """The input where it is above threshold, value elsewhere."""
@overload
def tile(input: Tensor, *dims: _int, out: Tensor | None = None) -> Tensor:
    """The input repeated along its last axes, as a copy."""
@overload
def tile(input: Tensor, dims: Sequence[_int], *, out: Tensor | None = None) -> Tensor: ...
def to(input: Tensor, target: Any = None, second: Any = None, third: Any = None, fourth: Any = None, *, dtype: DType | None = None, device: Device | _str | None = None, other: Any = None, non_blocking: _bool = False, copy: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """The tensor in another dtype or on another device; the tensor itself if nothing changes."""
def topk(input: Tensor, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndices:
    """The k greatest (or least) elements along an axis, best first, and where they are."""
def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of a matrix's diagonal."""
def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """The input with two axes exchanged."""
def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with two axes exchanged."""
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The area under a polygon through the points (x, y), or through y at steps of `dx`."""
def trapz(y: Tensor, x: Tensor | None = None, *, dx: _Number = 1, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The area under a polygon through the points (x, y), or through y at steps of `dx`."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False, *, out: tuple[Tensor, ...] | None = None) -> _SolutionCloned_coefficient:
    """The solution of `A X = input` for a triangular A, and a copy of A."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The lower triangle of matrices; all above the given diagonal is 0."""
def tril_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The lower triangle of matrices; all above the given diagonal is 0."""
def tril_indices(row: _int, col: _int, offset: _int = 0, *, dtype: DType | None = None, device: Device | _str | None = None, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """The row and column numbers of a lower triangle, as a (2, count) tensor."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The upper triangle of matrices; all below the given diagonal is 0."""
def triu_(input: Tensor, diagonal: _int = 0) -> Tensor:
    """The upper triangle of matrices; all below the given diagonal is 0."""
def triu_indices(row: _int, col: _int, offset: _int = 0, *, dtype: DType | None = None, device: Device | _str | None = None, layout: Any = None, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """The row and column numbers of an upper triangle, as a (2, count) tensor."""
def true_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Quotient; integers give floats."""
def true_divide_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """Quotient; integers give floats."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Input without its fractional part."""
def trunc_(input: Tensor) -> Tensor:
    """Input without its fractional part."""
def trunc_divide(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Quotient rounded towards zero: div with rounding_mode "trunc"."""
def type_as(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The tensor in the dtype of another."""
def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, which disappears."""
def unbind_copy(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """Copies of the slices along an axis, which disappears."""
def unflatten(input: Tensor, dim: _int, sizes: _int | Sequence[_int], *, out: Tensor | None = None) -> Tensor:
    """One axis split into several; one of their sizes may be -1."""
def unfold(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor:
    """Windows of `size` elements of an axis, one every `step`; they become the last axis."""
def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the windows of an axis."""
def uniform_(input: Tensor, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers between two bounds, each value equally likely."""
def unique(input: Tensor, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, out: Tensor | None = None) -> Any:
    """The distinct elements (or slices along `dim`), always in order; each NaN is its own."""
def unique_all(input: Tensor, dim: _int | None = None, *, out: tuple[Tensor, ...] | None = None) -> _ValuesIndicesInverse_indicesCounts:
    """The distinct elements (or slices along `dim`) in order, where each is first, and how often."""
def unique_consecutive(input: Tensor, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None, *, out: Tensor | None = None) -> Any:
    """One of each run of equal neighbours (elements, or slices along `dim`)."""
def unique_runs(input: Tensor, dim: _int | None = None, *, out: tuple[Tensor, ...] | None = None) -> _ValuesInverse_indicesCounts:
    """One of each run of equal neighbours (elements, or slices along `dim`), and how long it is."""
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each axis of `shape`, of indices into the flat tensor."""
def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size, each a tensor of its own."""
def unsafe_split(tensor: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size, the last maybe smaller, each a tensor of its own."""
def unsafe_split_with_sizes(input: Tensor, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
    """Pieces of the given sizes, each a tensor of its own."""
def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """The input with a new axis of size 1 at place `dim`."""
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of the input with a new axis of size 1."""
def vander(x: Tensor, N: _int | None = None, increasing: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The powers of each element, a row each: x**(N-1) ... x**0, or in increasing order."""
def var(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: _bool = False, *, correction: _float | None = None, out: Tensor | None = None) -> Tensor:
    """The variance of all elements, or along the axes `dim`: squares over size less `correction`."""
def var_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: _bool = False, *, correction: _float | None = None, out: tuple[Tensor, ...] | None = None) -> _VarMean:
    """The variance and the mean, of all elements or along the axes `dim`."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot product of two vectors, the first one conjugated."""
@overload
def view(input: Tensor, *shape: _int) -> Tensor:
    """The same elements in another shape, without a copy; one size may be -1."""
@overload
def view(input: Tensor, shape: Sequence[_int]) -> Tensor: ...
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The same elements in the shape of another tensor, without a copy."""
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers on the last axis as complex numbers."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of pairs of real numbers as complex ones."""
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as real numbers: a last axis of size 2 holds real and imaginary part."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of complex numbers as pairs of real ones."""
def view_copy(input: Tensor, size: Any, *, out: Tensor | None = None) -> Tensor:
    """A copy of the elements in another shape."""
def view_dtype(input: Tensor, dtype: DType) -> Tensor:
    """The same bytes read as another element type; the last axis changes its size to fit."""
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Pieces one below the other: along axis 0."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors joined one below the other; a vector is a row."""
def where(condition: Tensor, input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """Elements of input where the condition holds, of other elsewhere."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Tensor | None = None) -> Tensor:
    """input * log(other), and 0 where input is 0 (unless other is NaN)."""
def xlogy_(input: Tensor, other: Tensor | _Number) -> Tensor:
    """input * log(other), and 0 where input is 0 (unless other is NaN)."""
def zero(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Zeros in the shape and dtype of the input; `zero_` writes them there."""
def zero_(input: Tensor) -> Tensor:
    """Zeros in the shape and dtype of the input; `zero_` writes them there."""
@overload
def zeros(*size: _int, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor:
    """A tensor of zeros."""
@overload
def zeros(size: Sequence[_int], *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, pin_memory: _bool = False, out: Tensor | None = None) -> Tensor: ...
def zeros_like(input: Tensor, *, dtype: DType | None = None, layout: Any = None, device: Device | _str | None = None, requires_grad: _bool = False, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """Zeros in the shape and dtype of another tensor."""
