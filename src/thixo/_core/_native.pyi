# Written by tools/build_stubs.py from the operator table: do not edit.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np

from thixo._core import Size
from thixo.device import device as Device
from thixo.dtype import DType
from thixo.tensor import RemovableHandle

_Number = _float | _complex  # an int or a bool is one too

class _ATau(NamedTuple):
    a: Tensor
    tau: Tensor

class _EigenvaluesEigenvectors(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _FirstSecond(NamedTuple):
    first: Tensor
    second: Tensor

class _G_gatesG_first_h(NamedTuple):
    g_gates: Tensor
    g_first_h: Tensor

class _G_gatesG_first_hG_first_c(NamedTuple):
    g_gates: Tensor
    g_first_h: Tensor
    g_first_c: Tensor

class _G_input_gatesG_state_gatesG_first_h(NamedTuple):
    g_input_gates: Tensor
    g_state_gates: Tensor
    g_first_h: Tensor

class _G_queryG_keyG_value(NamedTuple):
    g_query: Tensor
    g_key: Tensor
    g_value: Tensor

class _HistBin_edges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _InverseInfo(NamedTuple):
    inverse: Tensor
    info: Tensor

class _LInfo(NamedTuple):
    L: Tensor
    info: Tensor

class _LdPivots(NamedTuple):
    LD: Tensor
    pivots: Tensor

class _LdPivotsInfo(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class _LuPivots(NamedTuple):
    LU: Tensor
    pivots: Tensor

class _LuPivotsInfo(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _MantissaExponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _MinMax(NamedTuple):
    min: Tensor
    max: Tensor

class _PLU(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _QR(NamedTuple):
    Q: Tensor
    R: Tensor

class _ResultInfo(NamedTuple):
    result: Tensor
    info: Tensor

class _SignLogabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _SolutionCloned_coefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _SolutionResidualsRankSingular_values(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class _StdMean(NamedTuple):
    std: Tensor
    mean: Tensor

class _USV(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class _USVh(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _ValuesIndices(NamedTuple):
    values: Tensor
    indices: Tensor

class _ValuesIndicesInverse_indicesCounts(NamedTuple):
    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor

class _ValuesInverse_indicesCounts(NamedTuple):
    values: Tensor
    inverse_indices: Tensor
    counts: Tensor

class _VarMean(NamedTuple):
    var: Tensor
    mean: Tensor

class _YLast_h(NamedTuple):
    y: Tensor
    last_h: Tensor

class _YLast_hGates(NamedTuple):
    y: Tensor
    last_h: Tensor
    gates: Tensor

class _YLast_hLast_cGatesCells(NamedTuple):
    y: Tensor
    last_h: Tensor
    last_c: Tensor
    gates: Tensor
    cells: Tensor

class _YLogsumexp(NamedTuple):
    y: Tensor
    logsumexp: Tensor

class _YLse(NamedTuple):
    y: Tensor
    lse: Tensor

class _YMask(NamedTuple):
    y: Tensor
    mask: Tensor

class _YMeanRstd(NamedTuple):
    y: Tensor
    mean: Tensor
    rstd: Tensor

class _YMeanRstdVar(NamedTuple):
    y: Tensor
    mean: Tensor
    rstd: Tensor
    var: Tensor

class _YMeanVar(NamedTuple):
    y: Tensor
    mean: Tensor
    var: Tensor

class _YSlopeTotal(NamedTuple):
    y: Tensor
    slope: Tensor
    total: Tensor

class Tensor:
    """An array of numbers that knows how it was computed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    shape: Size
    dtype: DType
    device: Device
    layout: Any
    ndim: _int
    itemsize: _int
    nbytes: _int
    data: Tensor
    grad: Tensor | None
    requires_grad: _bool
    is_cuda: _bool
    is_quantized: _bool
    is_sparse: _bool
    @property
    def grad_fn(self) -> Node | None: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def output_nr(self) -> _int: ...
    @property
    def retains_grad(self) -> _bool: ...
    @property
    def _base(self) -> Tensor | None: ...
    @property
    def _value(self) -> Any: ...
    @property
    def _version(self) -> _int: ...
    def _ndarray(self) -> np.ndarray[Any, Any]: ...
    def data_ptr(self) -> _int: ...
    def detach(self) -> Tensor: ...
    def detach_(self) -> Self: ...
    def dim(self) -> _int: ...
    def ndimension(self) -> _int: ...
    def element_size(self) -> _int: ...
    def is_contiguous(self, memory_format: Any = None) -> _bool: ...
    def is_inference(self) -> _bool: ...
    def item(self) -> Any: ...
    def nelement(self) -> _int: ...
    def numel(self) -> _int: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self: ...
    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    def storage_offset(self) -> _int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def numpy(self, *, force: _bool = False) -> np.ndarray[Any, Any]: ...
    def tolist(self) -> Any: ...
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Sequence[Tensor] | Tensor | None = None,
    ) -> None: ...
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle: ...
    def register_post_accumulate_grad_hook(
        self, hook: Callable[[Tensor], None]
    ) -> RemovableHandle: ...
    def retain_grad(self) -> None: ...
    def where(self, condition: Tensor, other: Tensor | _Number) -> Tensor: ...
    def polygamma(self, n: _int) -> Tensor: ...
    def to_device(self, device: Device | _str, /, *, stream: Any = None) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, *, api_version: _str | None = None) -> ModuleType: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> Any: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any: ...
    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Tensor: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __reversed__(self) -> Tensor: ...
    def __round__(self, digits: _int | None = None) -> Tensor: ...
    def __trunc__(self) -> _int: ...
    def __divmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> _complex: ...
    def __index__(self) -> _int: ...
    def __len__(self) -> _int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, value: Any) -> _bool: ...
    def __hash__(self) -> _int: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: dict[_int, Any]) -> Self: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __add__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __radd__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __iadd__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __and__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rand__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __iand__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __floordiv__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rfloordiv__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __lshift__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rlshift__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ilshift__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __matmul__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rmatmul__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __mod__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rmod__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __imod__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __mul__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rmul__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __imul__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __or__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ror__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ior__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __pow__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rpow__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ipow__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __rshift__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rrshift__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __irshift__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __sub__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rsub__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __isub__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __truediv__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rtruediv__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __itruediv__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __xor__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __rxor__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ixor__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Self: ...
    def __eq__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...  # type: ignore[override]
    def __ge__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __gt__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __le__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __lt__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...
    def __ne__(self, other: Tensor | _Number | np.ndarray[Any, Any]) -> Tensor: ...  # type: ignore[override]
    @property
    def H(self) -> Tensor:
        """A matrix conjugated and transposed; only for a matrix or a 0-d tensor."""
    @property
    def T(self) -> Tensor:
        """The input with its axes in reverse order."""
    def abs(self) -> Tensor:
        """Absolute value; the modulus of a complex number, which is real."""
    def abs_(self) -> Self:
        """Absolute value; the modulus of a complex number, which is real."""
    def absolute(self) -> Tensor:
        """Absolute value; the modulus of a complex number, which is real."""
    def absolute_(self) -> Self:
        """Absolute value; the modulus of a complex number, which is real."""
    def acos(self) -> Tensor:
        """Angle whose cosine is input; NaN outside [-1, 1]."""
    def acos_(self) -> Self:
        """Angle whose cosine is input; NaN outside [-1, 1]."""
    def acosh(self) -> Tensor:
        """Number whose hyperbolic cosine is input; NaN below 1."""
    def acosh_(self) -> Self:
        """Number whose hyperbolic cosine is input; NaN below 1."""
    def add(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Sum of input and alpha times other."""
    def add_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Self:
        """Sum of input and alpha times other."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * sum of batch1[i] @ batch2[i]`."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * sum of batch1[i] @ batch2[i]`."""
    def addcdiv(self, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1) -> Tensor:
        """Input plus value times the quotient of tensor1 and tensor2."""
    def addcdiv_(self, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1) -> Self:
        """Input plus value times the quotient of tensor1 and tensor2."""
    def addcmul(self, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1) -> Tensor:
        """Input plus value times the product of tensor1 and tensor2."""
    def addcmul_(self, tensor1: Tensor | _Number, tensor2: Tensor | _Number, *, value: _Number = 1) -> Self:
        """Input plus value times the product of tensor1 and tensor2."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)`; input is broadcast."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * (mat1 @ mat2)`; input is broadcast."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (mat @ vec)`."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * (mat @ vec)`."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * outer(vec1, vec2)`."""
    def adjoint(self) -> Tensor:
        """Matrices conjugated and transposed."""
    def all(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements, or all along the axes `dim`, are true (not 0)."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Whether all elements are close, as a Python bool."""
    def amax(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """The greatest element, or the greatest along the axes `dim`; equal ones share the gradient."""
    def amin(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """The least element, or the least along the axes `dim`; equal ones share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _MinMax:
        """The least and the greatest element, or those along the axis `dim`."""
    def angle(self) -> Tensor:
        """The angle of a complex number in radians; 0 or pi for real ones."""
    def any(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element, or any along the axes `dim`, is true (not 0)."""
    def arccos(self) -> Tensor:
        """Angle whose cosine is input; NaN outside [-1, 1]."""
    def arccos_(self) -> Self:
        """Angle whose cosine is input; NaN outside [-1, 1]."""
    def arccosh(self) -> Tensor:
        """Number whose hyperbolic cosine is input; NaN below 1."""
    def arccosh_(self) -> Self:
        """Number whose hyperbolic cosine is input; NaN below 1."""
    def arcsin(self) -> Tensor:
        """Angle whose sine is input; NaN outside [-1, 1]."""
    def arcsin_(self) -> Self:
        """Angle whose sine is input; NaN outside [-1, 1]."""
    def arcsinh(self) -> Tensor:
        """Number whose hyperbolic sine is input."""
    def arcsinh_(self) -> Self:
        """Number whose hyperbolic sine is input."""
    def arctan(self) -> Tensor:
        """Angle whose tangent is input."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
    def arctan2_(self, other: Tensor) -> Self:
        """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
    def arctan_(self) -> Self:
        """Angle whose tangent is input."""
    def arctanh(self) -> Tensor:
        """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
    def arctanh_(self) -> Self:
        """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the greatest element, in the flat order or along the axis `dim`."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the least element, in the flat order or along the axis `dim`."""
    def argsort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = False) -> Tensor:
        """Where the elements in ascending (or descending) order along an axis came from."""
    def argwhere(self) -> Tensor:
        """The indices of the elements that are not 0, a row each."""
    def as_strided(self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A view on the input's memory with any sizes and strides, also overlapping ones."""
    def as_strided_scatter(self, src: Tensor, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """A copy of the input with the window that as_strided would show replaced."""
    def asin(self) -> Tensor:
        """Angle whose sine is input; NaN outside [-1, 1]."""
    def asin_(self) -> Self:
        """Angle whose sine is input; NaN outside [-1, 1]."""
    def asinh(self) -> Tensor:
        """Number whose hyperbolic sine is input."""
    def asinh_(self) -> Self:
        """Number whose hyperbolic sine is input."""
    def atan(self) -> Tensor:
        """Angle whose tangent is input."""
    def atan2(self, other: Tensor) -> Tensor:
        """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
    def atan2_(self, other: Tensor) -> Self:
        """Angle of the point (other, input) seen from the origin, in (-pi, pi]."""
    def atan_(self) -> Self:
        """Angle whose tangent is input."""
    def atanh(self) -> Tensor:
        """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
    def atanh_(self) -> Self:
        """Number whose hyperbolic tangent is input; infinite at -1 and 1, NaN beyond."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Tensor:
        """`beta * input + alpha * (batch1 @ batch2)`, pair by pair."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = 1, alpha: _Number = 1) -> Self:
        """`beta * input + alpha * (batch1 @ batch2)`, pair by pair."""
    def bernoulli(self, p: _float | None = None, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element gives (or with probability p), else 0."""
    def bernoulli_(self, p: Any = 0.5, *, generator: Generator | None = None) -> Self:
        """Fill with 1 with probability p, a number or a tensor that broadcasts, else with 0."""
    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """The elements as bfloat16: 16-bit floats with the range of 32-bit ones."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each whole number occurs, or the sum of the weights where it does."""
    def bitwise_and(self, other: Tensor | _Number) -> Tensor:
        """The bits that both have."""
    def bitwise_and_(self, other: Tensor | _Number) -> Self:
        """The bits that both have."""
    def bitwise_invert(self) -> Tensor:
        """Every bit changed; logical not for booleans."""
    def bitwise_invert_(self) -> Self:
        """Every bit changed; logical not for booleans."""
    def bitwise_left_shift(self, other: Tensor | _Number) -> Tensor:
        """Input with its bits moved up; 0 where they leave the number."""
    def bitwise_left_shift_(self, other: Tensor | _Number) -> Self:
        """Input with its bits moved up; 0 where they leave the number."""
    def bitwise_not(self) -> Tensor:
        """Every bit changed; logical not for booleans."""
    def bitwise_not_(self) -> Self:
        """Every bit changed; logical not for booleans."""
    def bitwise_or(self, other: Tensor | _Number) -> Tensor:
        """The bits that one of them has."""
    def bitwise_or_(self, other: Tensor | _Number) -> Self:
        """The bits that one of them has."""
    def bitwise_right_shift(self, other: Tensor | _Number) -> Tensor:
        """Input with its bits moved down; the sign stays."""
    def bitwise_right_shift_(self, other: Tensor | _Number) -> Self:
        """Input with its bits moved down; the sign stays."""
    def bitwise_xor(self, other: Tensor | _Number) -> Tensor:
        """The bits that exactly one of them has."""
    def bitwise_xor_(self, other: Tensor | _Number) -> Self:
        """The bits that exactly one of them has."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of the matrices of two batches, pair by pair."""
    def bool(self, memory_format: Any = None) -> Tensor:
        """The elements as bool: whether each is not 0."""
    def broadcast_to(self, size: _int | Sequence[_int]) -> Tensor:
        """The input repeated to a shape it broadcasts to, without a copy."""
    def byte(self, memory_format: Any = None) -> Tensor:
        """The elements as 8-bit unsigned integers."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with random numbers from the Cauchy distribution."""
    def cdouble(self, memory_format: Any = None) -> Tensor:
        """The elements as complex numbers of 64-bit floats."""
    def ceil(self) -> Tensor:
        """The smallest whole number that is not below input."""
    def ceil_(self) -> Self:
        """The smallest whole number that is not below input."""
    def celu_(self, alpha: _Number = 1.0) -> Self:
        """The input where it is positive, alpha * (exp(input / alpha) - 1) elsewhere."""
    def cfloat(self, memory_format: Any = None) -> Tensor:
        """The elements as complex numbers of 32-bit floats."""
    def char(self, memory_format: Any = None) -> Tensor:
        """The elements as 8-bit integers."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """L, lower triangular, with `A = L @ L^H`; or U with `A = U^H @ U`."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A, from its Cholesky factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """The solution of `A X = input`, from the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of one size, the last maybe smaller."""
    def clamp(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Input brought into the range from min to max; max where the two are crossed."""
    def clamp_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Self:
        """Input brought into the range from min to max; max where the two are crossed."""
    def clamp_max(self, max: Tensor | _Number) -> Tensor:
        """Input, but nowhere more than max."""
    def clamp_max_(self, max: Tensor | _Number) -> Self:
        """Input, but nowhere more than max."""
    def clamp_min(self, min: Tensor | _Number) -> Tensor:
        """Input, but nowhere less than min."""
    def clamp_min_(self, min: Tensor | _Number) -> Self:
        """Input, but nowhere less than min."""
    def clip(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Tensor:
        """Input brought into the range from min to max; max where the two are crossed."""
    def clip_(self, min: Tensor | _Number | None = None, max: Tensor | _Number | None = None) -> Self:
        """Input brought into the range from min to max; max where the two are crossed."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy of its own."""
    def combinations(self, r: _int = 2, with_replacement: _bool = False) -> Tensor:
        """All choices of r elements of a vector, a row each, in order."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real input is returned itself."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate, in memory of its own."""
    def conj_physical_(self) -> Self:
        """The complex conjugate, in memory of its own."""
    def contiguous(self, memory_format: Any = None) -> Tensor:
        """The tensor itself if its elements lie in order without gaps, else a copy that does."""
    def copy_(self, src: Tensor | _Number, non_blocking: _bool = False) -> Self:
        """The source, broadcast to the input's shape and converted to its dtype; `copy_` writes it there."""
    def copysign(self, other: Tensor | _Number) -> Tensor:
        """The magnitude of input with the sign of other."""
    def copysign_(self, other: Tensor | _Number) -> Self:
        """The magnitude of input with the sign of other."""
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables (rows) from observations (columns)."""
    def cos(self) -> Tensor:
        """Cosine of an angle in radians."""
    def cos_(self) -> Self:
        """Cosine of an angle in radians."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
    def cosh_(self) -> Self:
        """Hyperbolic cosine."""
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False) -> Tensor:
        """How many elements, in all or along the axes `dim`, are not 0."""
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables (rows) from observations (columns), weighted if asked."""
    def cpu(self, memory_format: Any = None) -> Tensor:
        """The tensor in the memory of the CPU; itself if it is there."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The cross products of the vectors along an axis: the first of size 3 if none is named."""
    def cummax(self, dim: _int) -> _ValuesIndices:
        """The greatest element up to each, along an axis, and where it is (the last of equals)."""
    def cummin(self, dim: _int) -> _ValuesIndices:
        """The least element up to each, along an axis, and where it is (the last of equals)."""
    def cumprod(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """The product of the elements up to each, along an axis; integers and bool multiply in int64."""
    def cumprod_(self, dim: _int, *, dtype: DType | None = None) -> Self:
        """The product of the elements up to each, along an axis; integers and bool multiply in int64."""
    def cumsum(self, dim: _int, *, dtype: DType | None = None, reverse: _bool = False) -> Tensor:
        """The sum of the elements up to each, along an axis; integers and bool add up in int64."""
    def cumsum_(self, dim: _int, *, dtype: DType | None = None, reverse: _bool = False) -> Self:
        """The sum of the elements up to each, along an axis; integers and bool add up in int64."""
    def deg2rad(self) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Self:
        """Degrees to radians."""
    def det(self) -> Tensor:
        """The determinant of a square matrix."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A vector's diagonal matrix, or a matrix's diagonal as a copy."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices whose diagonals are the last axis of the input; all else is 0."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """The matrix with all elements of the input on a diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """The elements input[..., i, ..., i + offset, ...] of two axes, as a last axis."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of the input with a diagonal of two axes replaced."""
    def diff(self, n: _int = 1, dim: _int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
        """The n-th difference of neighbours along an axis; of bools, whether they differ."""
    def digamma(self) -> Tensor:
        """Derivative of lgamma."""
    def digamma_(self) -> Self:
        """Derivative of lgamma."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The p-norm of the difference of two tensors."""
    def div(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
    def div_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Self:
        """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
    def divide(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Tensor:
        """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
    def divide_(self, other: Tensor | _Number, *, rounding_mode: _str | None = None) -> Self:
        """Quotient, or with rounding_mode "trunc" or "floor" the rounded one, in the operands' dtype."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors, element by element."""
    def double(self, memory_format: Any = None) -> Tensor:
        """The elements as 64-bit floats."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Pieces one behind the other: along axis 2."""
    def elu(self, alpha: _Number = 1.0) -> Tensor:
        """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""
    def elu_(self, alpha: _Number = 1.0) -> Self:
        """The input where it is positive, alpha * (exp(input) - 1) elsewhere."""
    def eq(self, other: Tensor | _Number) -> Tensor:
        """Whether the elements are equal."""
    def eq_(self, other: Tensor | _Number) -> Self:
        """Whether the elements are equal."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same sizes and elements, as a Python bool."""
    def erf(self) -> Tensor:
        """Error function."""
    def erf_(self) -> Self:
        """Error function."""
    def erfc(self) -> Tensor:
        """1 - erf(input), exact where that is small."""
    def erfc_(self) -> Self:
        """1 - erf(input), exact where that is small."""
    def erfinv(self) -> Tensor:
        """The number whose erf is input; infinite at -1 and 1, NaN beyond."""
    def erfinv_(self) -> Self:
        """The number whose erf is input; infinite at -1 and 1, NaN beyond."""
    def exp(self) -> Tensor:
        """e to the power of input."""
    def exp2(self) -> Tensor:
        """2 to the power of input."""
    def exp2_(self) -> Self:
        """2 to the power of input."""
    def exp_(self) -> Self:
        """e to the power of input."""
    @overload
    def expand(self, *size: _int) -> Tensor:
        """The input repeated along axes of size 1, and along new ones in front, without a copy."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """The input expanded to the shape of another tensor."""
    def expm1(self) -> Tensor:
        """exp(input) - 1, exact for small input."""
    def expm1_(self) -> Self:
        """exp(input) - 1, exact for small input."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with random numbers from the exponential distribution with rate lambd."""
    def fill(self, value: Tensor | _Number) -> Tensor:
        """One value, a number or a 0-d tensor, in the shape and dtype of the input."""
    def fill_(self, value: Tensor | _Number) -> Self:
        """One value, a number or a 0-d tensor, in the shape and dtype of the input."""
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = False) -> Self:
        """The input with one number on the main diagonal, where all indices are equal."""
    def fix(self) -> Tensor:
        """Input without its fractional part."""
    def fix_(self) -> Self:
        """Input without its fractional part."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The axes from `start_dim` to `end_dim` run together into one."""
    @overload
    def flip(self, *dims: _int) -> Tensor:
        """The input with the order of the elements reversed along some axes."""
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """The input with its columns in reverse order."""
    def flipud(self) -> Tensor:
        """The input with its rows in reverse order."""
    def float(self, memory_format: Any = None) -> Tensor:
        """The elements as 32-bit floats."""
    def float_power(self, exponent: Tensor | _Number) -> Tensor:
        """Input to the power of exponent, computed in float64 or complex128."""
    def float_power_(self, exponent: Tensor | _Number) -> Self:
        """Input to the power of exponent, computed in float64 or complex128."""
    def floor(self) -> Tensor:
        """The largest whole number that is not above input."""
    def floor_(self) -> Self:
        """The largest whole number that is not above input."""
    def floor_divide(self, other: Tensor | _Number) -> Tensor:
        """Quotient rounded down."""
    def floor_divide_(self, other: Tensor | _Number) -> Self:
        """Quotient rounded down."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger element, the other one where one is NaN."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller element, the other one where one is NaN."""
    def fmod(self, other: Tensor | _Number) -> Tensor:
        """What division rounded towards zero leaves: it has the sign of input."""
    def fmod_(self, other: Tensor | _Number) -> Self:
        """What division rounded towards zero leaves: it has the sign of input."""
    def frac(self) -> Tensor:
        """The fractional part, with the sign of input."""
    def frac_(self) -> Self:
        """The fractional part, with the sign of input."""
    def frexp(self) -> _MantissaExponent:
        """The mantissa in [0.5, 1) and the power of two whose product is input."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """The elements that `index` names along an axis: y[i][j] = input[index[i][j]][j] for dim 0."""
    def gcd(self, other: Tensor) -> Tensor:
        """Greatest common divisor."""
    def gcd_(self, other: Tensor) -> Self:
        """Greatest common divisor."""
    def ge(self, other: Tensor | _Number) -> Tensor:
        """Whether input is greater than or equal to other."""
    def ge_(self, other: Tensor | _Number) -> Self:
        """Whether input is greater than or equal to other."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Self:
        """Fill with the number of trials up to the first success, each of which has probability p."""
    def geqrf(self) -> _ATau:
        """A QR factorisation as LAPACK keeps it: R above, the reflections below, and their factors."""
    def ger(self, vec2: Tensor) -> Tensor:
        """Every product of an element of one vector with one of another."""
    def greater(self, other: Tensor | _Number) -> Tensor:
        """Whether input is greater than other."""
    def greater_(self, other: Tensor | _Number) -> Self:
        """Whether input is greater than other."""
    def greater_equal(self, other: Tensor | _Number) -> Tensor:
        """Whether input is greater than or equal to other."""
    def greater_equal_(self, other: Tensor | _Number) -> Self:
        """Whether input is greater than or equal to other."""
    def gt(self, other: Tensor | _Number) -> Tensor:
        """Whether input is greater than other."""
    def gt_(self, other: Tensor | _Number) -> Self:
        """Whether input is greater than other."""
    def half(self, memory_format: Any = None) -> Tensor:
        """The elements as 16-bit floats."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """The input, but 0 within lambd of 0."""
    def hardsigmoid(self) -> Tensor:
        """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1."""
    def hardsigmoid_(self) -> Self:
        """A line through (0, 1/2) with slope 1/6, cut off at 0 and 1."""
    def hardswish(self) -> Tensor:
        """Input times hardsigmoid of input."""
    def hardswish_(self) -> Self:
        """Input times hardsigmoid of input."""
    def hardtanh(self, min_val: _float = -1.0, max_val: _float = 1.0) -> Tensor:
        """Input brought into [min_val, max_val]; the gradient is 0 at the ends."""
    def hardtanh_(self, min_val: _float = -1.0, max_val: _float = 1.0) -> Self:
        """Input brought into [min_val, max_val]; the gradient is 0 at the ends."""
    def hash_tensor(self, dim: _int | Sequence[_int] | None = None, *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """The bits of all elements, or of those along the axes `dim`, each in 64 of them, xored together."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below zero and for NaN, 1 above, values at zero."""
    def heaviside_(self, values: Tensor) -> Self:
        """0 below zero and for NaN, 1 above, values at zero."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements fall into each of `bins` equal bins from `min` to `max` (or of the data)."""
    def histogram(self, bins: Tensor | _Number = 100, *, range: Any = None, weight: Tensor | None = None, density: _bool = False) -> _HistBin_edges:
        """How many elements (or what weight) fall into bins, given as a number or by their edges."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Pieces side by side: along axis 1, or axis 0 of a vector."""
    def hypot(self, other: Tensor) -> Tensor:
        """Length of the hypotenuse: the root of the sum of the squares, without overflow on the way."""
    def hypot_(self, other: Tensor) -> Self:
        """Length of the hypotenuse: the root of the sum of the squares, without overflow on the way."""
    def i0(self) -> Tensor:
        """Modified Bessel function of the first kind, order 0."""
    def i0_(self) -> Self:
        """Modified Bessel function of the first kind, order 0."""
    def igamma(self, other: Tensor | _Number) -> Tensor:
        """Lower incomplete gamma function of input up to other, as a part of the whole."""
    def igamma_(self, other: Tensor | _Number) -> Self:
        """Lower incomplete gamma function of input up to other, as a part of the whole."""
    def igammac(self, other: Tensor | _Number) -> Tensor:
        """Upper incomplete gamma function of input from other on, as a part of the whole."""
    def igammac_(self, other: Tensor | _Number) -> Self:
        """Upper incomplete gamma function of input from other on, as a part of the whole."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part, which shares memory with the input."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Tensor:
        """A copy of the input with alpha times the source added to the slices that the index names."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = 1) -> Self:
        """A copy of the input with alpha times the source added to the slices that the index names."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """A copy of the input with the slices that the index names replaced by those of the source."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """A copy of the input with the slices that the index names replaced by those of the source."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | _Number) -> Tensor:
        """A copy of the input with the slices that the index names set to one value."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | _Number) -> Self:
        """A copy of the input with the slices that the index names set to one value."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of the input with values written, or added, where a tuple of index tensors says."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = False) -> Self:
        """A copy of the input with values written, or added, where a tuple of index tensors says."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """A copy of the input whose slices are reduced with the slices of the source sent to them."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = True) -> Self:
        """A copy of the input whose slices are reduced with the slices of the source sent to them."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices along an axis that a vector of indices names."""
    def index_set_(self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False, axes: _int | Sequence[_int] | None = None) -> Self:
        """A copy of the input with values written, or added, where index tensors on the first axes say."""
    def inner(self, other: Tensor) -> Tensor:
        """The dot products of all vectors along the last axes of two tensors."""
    def int(self, memory_format: Any = None) -> Tensor:
        """The elements as 32-bit integers."""
    def inverse(self) -> Tensor:
        """The inverse of a square matrix."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Whether |input - other| <= atol + rtol * |other|; equal infinities are close."""
    def isfinite(self) -> Tensor:
        """Whether the number is neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Whether the number is infinite, or a part of it for a complex one."""
    def isnan(self) -> Tensor:
        """Whether the number is NaN."""
    def isneginf(self) -> Tensor:
        """Whether the number is negative infinity."""
    def isposinf(self) -> Tensor:
        """Whether the number is positive infinity."""
    def isreal(self) -> Tensor:
        """Whether the number has no imaginary part."""
    def istft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, normalized: _bool = False, onesided: _bool | None = None, length: _int | None = None, return_complex: _bool = False) -> Tensor:
        """The signal whose `stft` comes nearest to the input: pieces added up, divided by their windows."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: each element of the input times all of `other`."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _ValuesIndices:
        """The k-th least element along an axis (k counts from 1), and where it is."""
    def lcm(self, other: Tensor) -> Tensor:
        """Least common multiple."""
    def lcm_(self, other: Tensor) -> Self:
        """Least common multiple."""
    def ldexp(self, other: Tensor) -> Tensor:
        """Input times 2 to the power of other."""
    def ldexp_(self, other: Tensor) -> Self:
        """Input times 2 to the power of other."""
    def le(self, other: Tensor | _Number) -> Tensor:
        """Whether input is less than or equal to other."""
    def le_(self, other: Tensor | _Number) -> Self:
        """Whether input is less than or equal to other."""
    def leaky_relu(self, negative_slope: _float = 0.01) -> Tensor:
        """The input where it is positive, negative_slope times it elsewhere."""
    def leaky_relu_(self, negative_slope: _float = 0.01) -> Self:
        """The input where it is positive, negative_slope times it elsewhere."""
    def lerp(self, end: Tensor, weight: Tensor | _Number) -> Tensor:
        """The point at weight on the way from input to end."""
    def lerp_(self, end: Tensor, weight: Tensor | _Number) -> Self:
        """The point at weight on the way from input to end."""
    def less(self, other: Tensor | _Number) -> Tensor:
        """Whether input is less than other."""
    def less_(self, other: Tensor | _Number) -> Self:
        """Whether input is less than other."""
    def less_equal(self, other: Tensor | _Number) -> Tensor:
        """Whether input is less than or equal to other."""
    def less_equal_(self, other: Tensor | _Number) -> Self:
        """Whether input is less than or equal to other."""
    def lgamma(self) -> Tensor:
        """Logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Self:
        """Logarithm of the absolute value of the gamma function."""
    def log(self) -> Tensor:
        """Natural logarithm; NaN for negative real numbers, -inf at 0."""
    def log10(self) -> Tensor:
        """Logarithm to base 10."""
    def log10_(self) -> Self:
        """Logarithm to base 10."""
    def log1p(self) -> Tensor:
        """log(1 + input), exact for small input."""
    def log1p_(self) -> Self:
        """log(1 + input), exact for small input."""
    def log2(self) -> Tensor:
        """Logarithm to base 2."""
    def log2_(self) -> Self:
        """Logarithm to base 2."""
    def log_(self) -> Self:
        """Natural logarithm; NaN for negative real numbers, -inf at 0."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Generator | None = None) -> Self:
        """Fill with random numbers whose logarithm is normally distributed."""
    def log_softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """The logarithm of softmax along an axis, without a detour through small numbers."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """log(exp(input) + exp(other)) without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """log2(2**input + 2**other) without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithm of the sum of exponentials up to each element, along an axis."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; NaN where it is negative."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both elements are non-zero."""
    def logical_and_(self, other: Tensor) -> Self:
        """Whether both elements are non-zero."""
    def logical_not(self) -> Tensor:
        """Whether the element is zero."""
    def logical_not_(self) -> Self:
        """Whether the element is zero."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether one of the elements is non-zero."""
    def logical_or_(self, other: Tensor) -> Self:
        """Whether one of the elements is non-zero."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether exactly one of the elements is non-zero."""
    def logical_xor_(self, other: Tensor) -> Self:
        """Whether exactly one of the elements is non-zero."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given."""
    def logit_(self, eps: _float | None = None) -> Self:
        """log(p / (1 - p)), with p clamped to [eps, 1 - eps] if eps is given."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """The logarithm of the sum of exponentials along the axes `dim`, without overflow."""
    def long(self, memory_format: Any = None) -> Tensor:
        """The elements as 64-bit integers."""
    def lt(self, other: Tensor | _Number) -> Tensor:
        """Whether input is less than other."""
    def lt_(self, other: Tensor | _Number) -> Self:
        """Whether input is less than other."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> tuple[Tensor, ...]:
        """What `linalg.lu_factor_ex` gives, `info` only with `get_infos`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The solution of `A X = input` from the packed factors of A."""
    def lu_unpack(self, LU_pivots: Tensor, unpack_data: _bool = True, unpack_pivots: _bool = True) -> _PLU:
        """The permutation and the two triangles of what `linalg.lu_factor` packed."""
    @property
    def mH(self) -> Tensor:
        """Matrices conjugated and transposed."""
    @property
    def mT(self) -> Tensor:
        """The input with its last two axes exchanged."""
    def masked_fill(self, mask: Tensor, value: Tensor | _Number) -> Tensor:
        """Input with value where the mask holds."""
    def masked_fill_(self, mask: Tensor, value: Tensor | _Number) -> Self:
        """Input with value where the mask holds."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """The input with its elements replaced, in order, by those of the source where the mask is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """The input with its elements replaced, in order, by those of the source where the mask is true."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask is true, as a vector in row order."""
    def matmul(self, other: Tensor) -> Tensor:
        """The product of two matrices, of batches of them (broadcast), or with a vector on either side."""
    def matrix_exp(self) -> Tensor:
        """The exponential of a square matrix: the sum of its powers A^k / k!."""
    def matrix_power(self, n: _int) -> Tensor:
        """A square matrix times itself, n factors in all; a negative n takes the inverse."""
    @overload
    def max(self) -> Tensor:
        """The greatest element; with `dim` the greatest along it and where; with `other` elementwise."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor) -> Tensor:
        """The larger element; NaN if either is. Equal elements share the gradient."""
    def mean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The mean of all elements, or along the axes `dim`."""
    @overload
    def median(self) -> Tensor:
        """The median of all elements, the lower of two middle ones; with `dim` along it, and where."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    @overload
    def min(self) -> Tensor:
        """The least element; with `dim` the least along it and where; with `other` elementwise."""
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller element; NaN if either is. Equal elements share the gradient."""
    def mish(self) -> Tensor:
        """Input times the hyperbolic tangent of softplus of input."""
    def mish_(self) -> Self:
        """Input times the hyperbolic tangent of softplus of input."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _ValuesIndices:
        """The most frequent element along an axis, the least of equally frequent ones, and its last place."""
    def moveaxis(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """The axes `source` moved to the places `destination`; the others keep their order."""
    def movedim(self, source: _int | Sequence[_int], destination: _int | Sequence[_int]) -> Tensor:
        """The axes `source` moved to the places `destination`; the others keep their order."""
    def msort(self) -> Tensor:
        """The elements in ascending order along the first axis."""
    def mul(self, other: Tensor | _Number) -> Tensor:
        """Product of two tensors, element by element."""
    def mul_(self, other: Tensor | _Number) -> Self:
        """Product of two tensors, element by element."""
    def multinomial(self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None) -> Tensor:
        """Places drawn from each row of weights, without putting them back unless told to."""
    def multiply(self, other: Tensor | _Number) -> Tensor:
        """Product of two tensors, element by element."""
    def multiply_(self, other: Tensor | _Number) -> Self:
        """Product of two tensors, element by element."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Logarithm of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p: _int) -> Self:
        """Logarithm of the multivariate gamma function of dimension p."""
    def nan_to_num(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Tensor:
        """Input with NaN, positive and negative infinity replaced: by 0 and the dtype's extremes."""
    def nan_to_num_(self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None) -> Self:
        """Input with NaN, positive and negative infinity replaced: by 0 and the dtype's extremes."""
    def nanmean(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The mean along the axes `dim` of the elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """The median of what is not NaN; with `dim` along it, and where."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> _ValuesIndices: ...
    def nanquantile(self, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear') -> Tensor:
        """The q-quantiles of what is not NaN, of all elements or along the axis `dim`."""
    def nansum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The sum along the axes `dim`, with NaN counted as 0."""
    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor:
        """`length` elements of an axis from `start` on."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of `length` elements of an axis from `start` on."""
    def ne(self, other: Tensor | _Number) -> Tensor:
        """Whether the elements differ."""
    def ne_(self, other: Tensor | _Number) -> Self:
        """Whether the elements differ."""
    def neg(self) -> Tensor:
        """The number with its sign changed."""
    def neg_(self) -> Self:
        """The number with its sign changed."""
    def negative(self) -> Tensor:
        """The number with its sign changed."""
    def negative_(self) -> Self:
        """The number with its sign changed."""
    @overload
    def new_empty(self, *size: _int, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor:
        """A tensor without meaning yet in a new shape, with the dtype and device of another."""
    @overload
    def new_empty(self, size: Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor: ...
    def new_empty_strided(self, size: _int | Sequence[_int], stride: _int | Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor:
        """A tensor without meaning yet, with given sizes and strides and the dtype of another."""
    def new_full(self, size: _int | Sequence[_int], fill_value: _Number, *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor:
        """One number in a new shape, with the dtype and device of a tensor."""
    @overload
    def new_ones(self, *size: _int, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor:
        """Ones in a new shape, with the dtype and device of a tensor."""
    @overload
    def new_ones(self, size: Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor: ...
    @overload
    def new_zeros(self, *size: _int, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor:
        """Zeros in a new shape, with the dtype and device of a tensor."""
    @overload
    def new_zeros(self, size: Sequence[_int], *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False, layout: Any = None, pin_memory: _bool = False) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """The next number that the dtype has after input, towards other."""
    def nextafter_(self, other: Tensor) -> Self:
        """The next number that the dtype has after input, towards other."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor:
        """The indices of the elements that are not 0: a row each, or a tuple of one vector per axis."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first `size` indices of elements that are not 0; rows that are missing hold fill_value."""
    def norm(self, p: Any = 'fro', dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The p-norm of all elements, or along the axes `dim`; "fro" is 2, "nuc" sums singular values."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with random numbers from a normal distribution."""
    def not_equal(self, other: Tensor | _Number) -> Tensor:
        """Whether the elements differ."""
    def not_equal_(self, other: Tensor | _Number) -> Self:
        """Whether the elements differ."""
    def orgqr(self, tau: Tensor) -> Tensor:
        """The first columns of a product of reflections I - tau v v^H, given as `geqrf` keeps them."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """The product of the Q of `geqrf` (input, input2 its factors) with input3, on either side."""
    def outer(self, vec2: Tensor) -> Tensor:
        """Every product of an element of one vector with one of another."""
    @overload
    def permute(self, *dims: _int) -> Tensor:
        """The input with its axes in another order."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor: ...
    def pin_memory(self, device: Any = None) -> Tensor:
        """The tensor itself: there is no device yet that would read pinned memory faster."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The pseudo-inverse; singular values up to rcond times the largest are dropped."""
    def positive(self) -> Tensor:
        """The input itself; booleans are refused."""
    def pow(self, exponent: Tensor | _Number) -> Tensor:
        """Input to the power of exponent."""
    def pow_(self, exponent: Tensor | _Number) -> Self:
        """Input to the power of exponent."""
    def prelu(self, weight: Tensor) -> Tensor:
        """The input where it is positive, weight times it elsewhere; one weight, or one per channel."""
    def prod(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The product of all elements, or along the axes `dim`; integers and bool multiply in int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """A copy of the input with elements written, or added, by their number in the flat input."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """A copy of the input with elements written, or added, by their number in the flat input."""
    def qr(self, some: _bool = True) -> _QR:
        """Q with orthonormal columns and R, upper triangular; Q is square with `some=False`."""
    def quantile(self, q: Tensor | _Number, dim: _int | None = None, keepdim: _bool = False, *, interpolation: _str = 'linear') -> Tensor:
        """The q-quantiles of all elements, or along the axis `dim`; several q come as a first axis."""
    def rad2deg(self) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Self:
        """Radians to degrees."""
    def random_(self, from_: _int | None = None, to: _int | None = None, *, generator: Generator | None = None) -> Self:
        """Fill with random whole numbers: random_(), random_(to) or random_(from, to)."""
    def ravel(self) -> Tensor:
        """All elements on one axis, in row order."""
    @property
    def real(self) -> Tensor:
        """The real part, which shares memory with a complex input; a real input is returned itself."""
    def reciprocal(self) -> Tensor:
        """One over the number; integers give floats."""
    def reciprocal_(self) -> Self:
        """One over the number; integers give floats."""
    def relu(self) -> Tensor:
        """The input where it is positive, 0 elsewhere."""
    def relu_(self) -> Self:
        """The input where it is positive, 0 elsewhere."""
    def remainder(self, other: Tensor | _Number) -> Tensor:
        """What division rounded down leaves: it has the sign of other."""
    def remainder_(self, other: Tensor | _Number) -> Self:
        """What division rounded down leaves: it has the sign of other."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """Each slice along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Self:
        """Each slice along `dim` whose p-norm is above `maxnorm`, scaled down to it."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor:
        """The input repeated along each axis, as a copy."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor: ...
    def repeat_interleave(self, repeats: Any = None, dim: _int | None = None, *, output_size: _int | None = None) -> Tensor:
        """Each element repeated, all its copies side by side; without dim the input is flattened."""
    @overload
    def reshape(self, *shape: _int) -> Tensor:
        """The same elements in another shape: a view where strides allow it, else a copy."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor: a view where strides allow it, else a copy."""
    def resolve_conj(self) -> Tensor:
        """The input itself: conjugates are computed when they are asked for."""
    def resolve_neg(self) -> Tensor:
        """The input itself: negatives are computed when they are asked for."""
    def roll(self, shifts: _int | Sequence[_int], dims: _int | Sequence[_int] | None = None) -> Tensor:
        """The elements shifted along axes; what leaves at one end enters at the other."""
    def rot90(self, k: _int = 1, dims: _int | Sequence[_int] = (0, 1)) -> Tensor:
        """The input turned by k quarters in the plane of two axes."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest number with that many decimals; a half goes to the even neighbour."""
    def round_(self, *, decimals: _int = 0) -> Self:
        """The nearest number with that many decimals; a half goes to the even neighbour."""
    def rsqrt(self) -> Tensor:
        """One over the square root."""
    def rsqrt_(self) -> Self:
        """One over the square root."""
    def rsub(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Other less alpha times input: subtraction with its operands exchanged."""
    def scatter(self, dim: _int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None) -> Tensor:
        """A copy of the input with elements replaced, added or multiplied at places along an axis."""
    def scatter_(self, dim: _int, index: Tensor, src: Tensor | _Number | None = None, *, value: _Number | None = None, reduce: _str | None = None) -> Self:
        """A copy of the input with elements replaced, added or multiplied at places along an axis."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """A copy of the input with elements added: y[index[i][j]][j] += src[i][j] for dim 0."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """A copy of the input with elements added: y[index[i][j]][j] += src[i][j] for dim 0."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Tensor:
        """A copy of the input whose elements are reduced with all source elements sent to them."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = True) -> Self:
        """A copy of the input whose elements are reduced with all source elements sent to them."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """One slice of the input across an axis, which disappears."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of the input with one slice across an axis replaced."""
    def selu_(self) -> Self:
        """elu with the scale and alpha that keep mean 0 and variance 1."""
    def sgn(self) -> Tensor:
        """The sign of a real number; of a complex one, the point on the unit circle in its direction."""
    def sgn_(self) -> Self:
        """The sign of a real number; of a complex one, the point on the unit circle in its direction."""
    def short(self, memory_format: Any = None) -> Tensor:
        """The elements as 16-bit integers."""
    def sigmoid(self) -> Tensor:
        """The logistic function 1 / (1 + exp(-input))."""
    def sigmoid_(self) -> Self:
        """The logistic function 1 / (1 + exp(-input))."""
    def sign(self) -> Tensor:
        """-1, 0 or 1 with the sign of the number; 0 for NaN."""
    def sign_(self) -> Self:
        """-1, 0 or 1 with the sign of the number; 0 for NaN."""
    def signbit(self) -> Tensor:
        """Whether the sign bit is set, as it is for -0.0."""
    def silu(self) -> Tensor:
        """Input times sigmoid of input."""
    def silu_(self) -> Self:
        """Input times sigmoid of input."""
    def sin(self) -> Tensor:
        """Sine of an angle in radians."""
    def sin_(self) -> Self:
        """Sine of an angle in radians."""
    def sinc(self) -> Tensor:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinc_(self) -> Self:
        """sin(pi x) / (pi x), and 1 at 0."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
    def sinh_(self) -> Self:
        """Hyperbolic sine."""
    def slice_scatter(self, src: Tensor, dim: _int = 0, start: _int | None = None, end: _int | None = None, step: _int = 1) -> Tensor:
        """A copy of the input with a slice along an axis replaced."""
    def slogdet(self) -> _SignLogabsdet:
        """The sign (or phase) of the determinant, and the logarithm of its magnitude."""
    def softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """Shares that add up to 1 along an axis: exp(x) over the sum of exp(x)."""
    def sort(self, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = False) -> _ValuesIndices:
        """The elements in ascending (or descending) order along an axis, and where they came from."""
    def split(self, split_size_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of one size, the last maybe smaller, or pieces of given sizes."""
    def split_with_sizes(self, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of the given sizes."""
    def sqrt(self) -> Tensor:
        """Square root; NaN for negative real numbers."""
    def sqrt_(self) -> Self:
        """Square root; NaN for negative real numbers."""
    def square(self) -> Tensor:
        """Input times itself; booleans become integers."""
    def square_(self) -> Self:
        """Input times itself; booleans become integers."""
    def squeeze(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """The input without its axes of size 1: all of them, or those named."""
    def std(self, dim: Any = None, unbiased: Any = None, keepdim: _bool = False, *, correction: _float | None = None) -> Tensor:
        """The standard deviation of all elements, or along the axes `dim`: the root of `var`."""
    def stft(self, n_fft: _int, hop_length: _int | None = None, win_length: _int | None = None, window: Tensor | None = None, center: _bool = True, pad_mode: _str = 'reflect', normalized: _bool = False, onesided: _bool | None = None, return_complex: _bool | None = None, align_to_window: _bool | None = None) -> Tensor:
        """The spectrum of each piece of n_fft points of a signal, taken every hop_length points."""
    def sub(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Input less alpha times other."""
    def sub_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Self:
        """Input less alpha times other."""
    def subtract(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Tensor:
        """Input less alpha times other."""
    def subtract_(self, other: Tensor | _Number, *, alpha: _Number = 1) -> Self:
        """Input less alpha times other."""
    def sum(self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The sum of all elements, or along the axes `dim`; integers and bool add up in int64."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor:
        """The input summed to a shape that broadcasts to its own."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _USV:
        """U, S, V with `input = U @ diag(S) @ V^H`; square U and V with `some=False`."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """The input with two axes exchanged."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """The input with two axes exchanged."""
    def t(self) -> Tensor:
        """A matrix transposed; a tensor with fewer than two axes is returned as it is."""
    def take(self, index: Tensor) -> Tensor:
        """Elements by their number in the flat input, negative ones from the end."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """gather with an index that broadcasts; without dim the input and index are flattened."""
    def tan(self) -> Tensor:
        """Tangent of an angle in radians."""
    def tan_(self) -> Self:
        """Tangent of an angle in radians."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self) -> Self:
        """Hyperbolic tangent."""
    def tensor_split(self, indices_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """A number of pieces whose sizes differ by one at most, or pieces between given indices."""
    def threshold_(self, threshold: _float, value: _float) -> Self:
        """The input where it is above threshold, value elsewhere."""
    @overload
    def tile(self, *dims: _int) -> Tensor:
        """The input repeated along its last axes, as a copy."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor: ...
    def to(self, target: Any = None, second: Any = None, third: Any = None, fourth: Any = None, *, dtype: DType | None = None, device: Device | _str | None = None, other: Any = None, non_blocking: _bool = False, copy: _bool = False, memory_format: Any = None) -> Tensor:
        """The tensor in another dtype or on another device; the tensor itself if nothing changes."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _ValuesIndices:
        """The k greatest (or least) elements along an axis, best first, and where they are."""
    def trace(self) -> Tensor:
        """The sum of a matrix's diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """The input with two axes exchanged."""
    def triangular_solve(self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False) -> _SolutionCloned_coefficient:
        """The solution of `A X = input` for a triangular A, and a copy of A."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of matrices; all above the given diagonal is 0."""
    def tril_(self, diagonal: _int = 0) -> Self:
        """The lower triangle of matrices; all above the given diagonal is 0."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of matrices; all below the given diagonal is 0."""
    def triu_(self, diagonal: _int = 0) -> Self:
        """The upper triangle of matrices; all below the given diagonal is 0."""
    def true_divide(self, other: Tensor | _Number) -> Tensor:
        """Quotient; integers give floats."""
    def true_divide_(self, other: Tensor | _Number) -> Self:
        """Quotient; integers give floats."""
    def trunc(self) -> Tensor:
        """Input without its fractional part."""
    def trunc_(self) -> Self:
        """Input without its fractional part."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype of another."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The slices along an axis, which disappears."""
    def unflatten(self, dim: _int, sizes: _int | Sequence[_int]) -> Tensor:
        """One axis split into several; one of their sizes may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of `size` elements of an axis, one every `step`; they become the last axis."""
    def uniform_(self, from_: _float = 0.0, to: _float = 1.0, *, generator: Generator | None = None) -> Self:
        """Fill with random numbers between two bounds, each value equally likely."""
    def unique(self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """The distinct elements (or slices along `dim`), always in order; each NaN is its own."""
    def unique_consecutive(self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None) -> Any:
        """One of each run of equal neighbours (elements, or slices along `dim`)."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` pieces of one size, each a tensor of its own."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of one size, the last maybe smaller, each a tensor of its own."""
    def unsafe_split_with_sizes(self, split_sizes: _int | Sequence[_int], dim: _int = 0) -> tuple[Tensor, ...]:
        """Pieces of the given sizes, each a tensor of its own."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """The input with a new axis of size 1 at place `dim`."""
    def var(self, dim: Any = None, unbiased: Any = None, keepdim: _bool = False, *, correction: _float | None = None) -> Tensor:
        """The variance of all elements, or along the axes `dim`: squares over size less `correction`."""
    def vdot(self, other: Tensor) -> Tensor:
        """The dot product of two vectors, the first one conjugated."""
    @overload
    def view(self, *shape: _int) -> Tensor:
        """The same elements in another shape, without a copy; one size may be -1."""
    @overload
    def view(self, shape: Sequence[_int]) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of another tensor, without a copy."""
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """Pieces one below the other: along axis 0."""
    def xlogy(self, other: Tensor | _Number) -> Tensor:
        """input * log(other), and 0 where input is 0 (unless other is NaN)."""
    def xlogy_(self, other: Tensor | _Number) -> Self:
        """input * log(other), and 0 where input is 0 (unless other is NaN)."""
    def zero_(self) -> Self:
        """Zeros in the shape and dtype of the input; `zero_` writes them there."""
    def as_strided_(self, size: _int | Sequence[_int], stride: _int | Sequence[_int], storage_offset: _int | None = None) -> Self:
        """A view on the input's memory with any sizes and strides, also overlapping ones."""
    def get_device(input: Tensor) -> _int:
        """The number of the device, -1 for the CPU."""
    def is_complex(input: Tensor) -> _bool:
        """Whether the elements are complex numbers."""
    def is_conj(input: Tensor) -> _bool:
        """Whether a conjugate is still to be taken: never, it is taken at once."""
    @property
    def is_cpu(self) -> Any: ...
    def is_floating_point(input: Tensor) -> _bool:
        """Whether the elements are floating-point numbers."""
    def is_neg(input: Tensor) -> _bool:
        """Whether a negation is still to be done: never, it is done at once."""
    def is_nonzero(input: Tensor) -> _bool:
        """Whether the only element is not zero."""
    def is_pinned(self) -> Any: ...
    def is_same_size(input: Tensor, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""
    def is_signed(input: Tensor) -> _bool:
        """Whether the elements may be negative."""
    def new_tensor(self, data: Any, *, dtype: Any = None, **options: Any) -> Tensor:
        """A tensor of data, in this tensor's dtype unless another is given."""
    def resize_(self, *sizes: Any, memory_format: Any = None) -> Tensor:
        """Give this tensor another shape in place; new elements are not initialised."""
    def resize_as_(self, other: Tensor, *, memory_format: Any = None) -> Tensor:
        """Give this tensor the shape of another in place; new elements are not initialised."""
    def squeeze_(self, dim: _int | Sequence[_int] | None = None) -> Self:
        """The input without its axes of size 1: all of them, or those named."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """The input with two axes exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """The input with two axes exchanged."""
    def t_(self) -> Self:
        """A matrix transposed; a tensor with fewer than two axes is returned as it is."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """The input with two axes exchanged."""
    def type(self, dtype: Any = None, non_blocking: _bool = False) -> Any:
        """The older name of this tensor's type, or the tensor converted to another."""
    def unsqueeze_(self, dim: _int) -> Self:
        """The input with a new axis of size 1 at place `dim`."""

class Node:
    """A step of the tape."""

    def name(self) -> _str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, _int], ...]: ...
    def __getattr__(self, name: _str) -> Any: ...

class Operator:
    """An operator of the table, to be called."""

    def __init__(self, **parts: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getattr__(self, name: _str) -> Any: ...

class Program:
    """A graph bound to sizes, as native steps."""

    fallback: Any
    finisher: Any
    poisoned: _bool
    def __init__(self, name: _str) -> None: ...
    def __call__(self, *inputs: Any) -> list[Any]: ...
    def __getattr__(self, name: _str) -> Any: ...

class Guarded:
    """A callable that runs a native program where all is as it was."""

    _slow: Any
    _quick: _int
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, owner: Any, kind: Any = None) -> Any: ...
    def _add_quick(self, spec: dict[_str, Any]) -> None: ...
    def _calls(self, owner: Any) -> _int: ...
    def _forget(self) -> None: ...

class GraphPlan:
    """How the tape records a graph that runs without Python."""

    def __init__(self, recorded: Any, wanted: Any, kept: Any, which: Any, flows: Any) -> None: ...
    def add_way(self, given: Any, kept: Any, places: Any, program: Any) -> None: ...

class Generator:
    """A stream of random numbers."""

    def __init__(self, device: Any = None) -> None: ...
    def manual_seed(self, seed: _int) -> Self: ...
    def seed(self) -> _int: ...
    def initial_seed(self) -> _int: ...
    def get_state(self) -> Tensor: ...
    def set_state(self, state: Tensor) -> Self: ...
    def __getattr__(self, name: _str) -> Any: ...

default_generator: Generator

def add_hook(*args: Any, **kwargs: Any) -> Any: ...
def apart(*args: Any, **kwargs: Any) -> Any: ...
def as_subclass(*args: Any, **kwargs: Any) -> Any: ...
def attach_function(*args: Any, **kwargs: Any) -> Any: ...
def backward(*args: Any, **kwargs: Any) -> Any: ...
def backward_scalar(*args: Any, **kwargs: Any) -> Any: ...
def become(*args: Any, **kwargs: Any) -> Any: ...
def block_form(*args: Any, **kwargs: Any) -> Any: ...
def bump_version(*args: Any, **kwargs: Any) -> Any: ...
def collect_values(*args: Any, **kwargs: Any) -> Any: ...
def colours(*args: Any, **kwargs: Any) -> Any: ...
def configure(*args: Any, **kwargs: Any) -> Any: ...
def empty_strided(*args: Any, **kwargs: Any) -> Any: ...
def from_dlpack(*args: Any, **kwargs: Any) -> Any: ...
def from_numpy(*args: Any, **kwargs: Any) -> Any: ...
def function_node(*args: Any, **kwargs: Any) -> Any: ...
def get_num_threads(*args: Any, **kwargs: Any) -> Any: ...
def guards_switch(*args: Any, **kwargs: Any) -> Any: ...
def hint_strides(*args: Any, **kwargs: Any) -> Any: ...
def host_target(*args: Any, **kwargs: Any) -> Any: ...
def is_anomaly(*args: Any, **kwargs: Any) -> Any: ...
def is_grad_enabled(*args: Any, **kwargs: Any) -> Any: ...
def is_inference_mode(*args: Any, **kwargs: Any) -> Any: ...
def is_tracing(*args: Any, **kwargs: Any) -> Any: ...
def layouts(*args: Any, **kwargs: Any) -> Any: ...
def lazy_awaits(*args: Any, **kwargs: Any) -> Any: ...
def lazy_fulfil(*args: Any, **kwargs: Any) -> Any: ...
def lazy_is_on(*args: Any, **kwargs: Any) -> Any: ...
def lazy_limit(*args: Any, **kwargs: Any) -> Any: ...
def lazy_recorded(*args: Any, **kwargs: Any) -> Any: ...
def lazy_set_everywhere(*args: Any, **kwargs: Any) -> Any: ...
def lazy_set_here(*args: Any, **kwargs: Any) -> Any: ...
def lazy_settle_all(*args: Any, **kwargs: Any) -> Any: ...
def lazy_settle_here(*args: Any, **kwargs: Any) -> Any: ...
def lazy_window(*args: Any, **kwargs: Any) -> Any: ...
def load_function(*args: Any, **kwargs: Any) -> Any: ...
def look_like(*args: Any, **kwargs: Any) -> Any: ...
def map_values(*args: Any, **kwargs: Any) -> Any: ...
def memory_reset_peak(*args: Any, **kwargs: Any) -> Any: ...
def memory_stats(*args: Any, **kwargs: Any) -> Any: ...
def memory_trim(*args: Any, **kwargs: Any) -> Any: ...
def needed_nodes(*args: Any, **kwargs: Any) -> Any: ...
def profiler_range(*args: Any, **kwargs: Any) -> Any: ...
def profiler_start(*args: Any, **kwargs: Any) -> Any: ...
def profiler_stop(*args: Any, **kwargs: Any) -> Any: ...
def quicken(*args: Any, **kwargs: Any) -> Any: ...
def remove_hook(*args: Any, **kwargs: Any) -> Any: ...
def reset_scratch_peak(*args: Any, **kwargs: Any) -> Any: ...
def resize_(*args: Any, **kwargs: Any) -> Any: ...
def retain_grad(*args: Any, **kwargs: Any) -> Any: ...
def run_together(*args: Any, **kwargs: Any) -> Any: ...
def save_function(*args: Any, **kwargs: Any) -> Any: ...
def scratch_peak(*args: Any, **kwargs: Any) -> Any: ...
def set_anomaly(*args: Any, **kwargs: Any) -> Any: ...
def set_concretize_hook(*args: Any, **kwargs: Any) -> Any: ...
def set_default_float(*args: Any, **kwargs: Any) -> Any: ...
def set_grad_enabled(*args: Any, **kwargs: Any) -> Any: ...
def set_graph_classes(*args: Any, **kwargs: Any) -> Any: ...
def set_inference_mode(*args: Any, **kwargs: Any) -> Any: ...
def set_num_threads(*args: Any, **kwargs: Any) -> Any: ...
def set_trace_constant_hook(*args: Any, **kwargs: Any) -> Any: ...
def set_trace_hook(*args: Any, **kwargs: Any) -> Any: ...
def set_trace_inplace_hook(*args: Any, **kwargs: Any) -> Any: ...
def set_tracing(*args: Any, **kwargs: Any) -> Any: ...
def set_value(*args: Any, **kwargs: Any) -> Any: ...
def shares_memory(*args: Any, **kwargs: Any) -> Any: ...
def shipped_kernel(*args: Any, **kwargs: Any) -> Any: ...
def special1(*args: Any, **kwargs: Any) -> Any: ...
def special2(*args: Any, **kwargs: Any) -> Any: ...
def symbolic(*args: Any, **kwargs: Any) -> Any: ...
def to_dlpack(*args: Any, **kwargs: Any) -> Any: ...
def user_source(*args: Any, **kwargs: Any) -> Any: ...
